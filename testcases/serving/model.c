/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A model compiled ahead of time: two dense layers and a mask, its kernels embedded
 * as PTX, its weights made up.  Built as a shared library (model.h).
 */
#include "model.h"

#include <stdlib.h>

/* clang-format off */
#define HEAD \
	"	.reg .pred %p<4>;\n" \
	"	.reg .b32 %r<24>;\n" \
	"	.reg .b64 %rd<16>;\n" \
	"	mov.u32 %r1, %ctaid.x;\n" \
	"	mov.u32 %r2, %ntid.x;\n" \
	"	mov.u32 %r3, %tid.x;\n" \
	"	mad.lo.s32 %r4, %r1, %r2, %r3;\n"

static const char kernels[] =
	".version 7.0\n"
	".target sm_50\n"
	".address_size 64\n"
	/* y[i] = sum over k of x[i / nout][k] * w[i % nout][k] */
	".visible .entry model_dense(.param .u64 x, .param .u64 w, .param .u64 y, .param .u32 nin,\n"
	"	.param .u32 nout, .param .u32 rows)\n"
	"{\n"
	HEAD
	"	ld.param.u32 %r5, [nin];\n"
	"	ld.param.u32 %r6, [nout];\n"
	"	ld.param.u32 %r7, [rows];\n"
	"	mul.lo.s32 %r7, %r7, %r6;\n"
	"	setp.ge.u32 %p1, %r4, %r7;\n"
	"	@%p1 ret;\n"
	"	div.u32 %r8, %r4, %r6;\n"
	"	rem.u32 %r9, %r4, %r6;\n"
	"	mul.lo.s32 %r8, %r8, %r5;\n"
	"	mul.lo.s32 %r9, %r9, %r5;\n"
	"	ld.param.u64 %rd1, [x];\n"
	"	mul.wide.u32 %rd2, %r8, 4;\n"
	"	add.s64 %rd1, %rd1, %rd2;\n"
	"	ld.param.u64 %rd3, [w];\n"
	"	mul.wide.u32 %rd4, %r9, 4;\n"
	"	add.s64 %rd3, %rd3, %rd4;\n"
	"	mov.u32 %r10, 0;\n"
	"	mov.u32 %r11, 0;\n"
	"NEXT:\n"
	"	ld.global.u32 %r12, [%rd1];\n"
	"	ld.global.u32 %r13, [%rd3];\n"
	"	mad.lo.s32 %r10, %r12, %r13, %r10;\n"
	"	add.s64 %rd1, %rd1, 4;\n"
	"	add.s64 %rd3, %rd3, 4;\n"
	"	add.s32 %r11, %r11, 1;\n"
	"	setp.lt.u32 %p2, %r11, %r5;\n"
	"	@%p2 bra NEXT;\n"
	"	ld.param.u64 %rd5, [y];\n"
	"	mul.wide.u32 %rd6, %r4, 4;\n"
	"	add.s64 %rd5, %rd5, %rd6;\n"
	"	st.global.u32 [%rd5], %r10;\n"
	"	ret;\n"
	"}\n"
	/* y[i] = 0 where row i / nout is not live */
	".visible .entry model_mask(.param .u64 y, .param .u64 live, .param .u32 nout, .param .u32 rows)\n"
	"{\n"
	HEAD
	"	ld.param.u32 %r6, [nout];\n"
	"	ld.param.u32 %r7, [rows];\n"
	"	mul.lo.s32 %r7, %r7, %r6;\n"
	"	setp.ge.u32 %p1, %r4, %r7;\n"
	"	@%p1 ret;\n"
	"	ld.param.u64 %rd1, [live];\n"
	"	ld.global.u32 %r8, [%rd1];\n"
	"	div.u32 %r9, %r4, %r6;\n"
	"	setp.lt.u32 %p2, %r9, %r8;\n"
	"	@%p2 ret;\n"
	"	ld.param.u64 %rd5, [y];\n"
	"	mul.wide.u32 %rd6, %r4, 4;\n"
	"	add.s64 %rd5, %rd5, %rd6;\n"
	"	mov.u32 %r10, 0;\n"
	"	st.global.u32 [%rd5], %r10;\n"
	"	ret;\n"
	"}\n"
	/* s[i] = sum over k of y[i][k] */
	".visible .entry model_sum(.param .u64 s, .param .u64 y, .param .u32 n, .param .u32 rows)\n"
	"{\n"
	HEAD
	"	ld.param.u32 %r6, [n];\n"
	"	ld.param.u32 %r7, [rows];\n"
	"	setp.ge.u32 %p1, %r4, %r7;\n"
	"	@%p1 ret;\n"
	"	mul.lo.s32 %r8, %r4, %r6;\n"
	"	ld.param.u64 %rd1, [y];\n"
	"	mul.wide.u32 %rd2, %r8, 4;\n"
	"	add.s64 %rd1, %rd1, %rd2;\n"
	"	mov.u32 %r10, 0;\n"
	"	mov.u32 %r11, 0;\n"
	"NEXT:\n"
	"	ld.global.u32 %r12, [%rd1];\n"
	"	add.s32 %r10, %r10, %r12;\n"
	"	add.s64 %rd1, %rd1, 4;\n"
	"	add.s32 %r11, %r11, 1;\n"
	"	setp.lt.u32 %p2, %r11, %r6;\n"
	"	@%p2 bra NEXT;\n"
	"	ld.param.u64 %rd5, [s];\n"
	"	mul.wide.u32 %rd6, %r4, 4;\n"
	"	add.s64 %rd5, %rd5, %rd6;\n"
	"	st.global.u32 [%rd5], %r10;\n"
	"	ret;\n"
	"}\n";
/* clang-format on */

struct weights {
	uint32_t first[MODEL_HIDDEN * MODEL_IN], second[MODEL_OUT * MODEL_HIDDEN];
};

struct model {
	CUmodule module;
	CUfunction dense, mask, sum;
	CUdeviceptr first, second;
};

#define TRY(call)                                                                                  \
	do {                                                                                       \
		CUresult r_ = (call);                                                              \
		if (r_ != CUDA_SUCCESS)                                                            \
			return r_;                                                                 \
	} while (0)

static void weights(struct weights *w)
{
	for (uint32_t i = 0; i < MODEL_HIDDEN * MODEL_IN; i++)
		w->first[i] = i * 7 % 11;
	for (uint32_t i = 0; i < MODEL_OUT * MODEL_HIDDEN; i++)
		w->second[i] = i * 5 % 13;
}

static CUresult model_open(void **out)
{
	struct model *m = calloc(1, sizeof(*m));
	static struct weights w;

	if (!m)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*out = m;
	TRY(cuModuleLoadData(&m->module, kernels));
	TRY(cuModuleGetFunction(&m->dense, m->module, "model_dense"));
	TRY(cuModuleGetFunction(&m->mask, m->module, "model_mask"));
	TRY(cuModuleGetFunction(&m->sum, m->module, "model_sum"));
	TRY(cuMemAlloc(&m->first, sizeof(w.first)));
	TRY(cuMemAlloc(&m->second, sizeof(w.second)));
	weights(&w);
	TRY(cuMemcpyHtoD(m->first, w.first, sizeof(w.first)));
	TRY(cuMemcpyHtoD(m->second, w.second, sizeof(w.second)));
	return cuCtxSynchronize();
}

static void model_close(void *model)
{
	struct model *m = model;

	cuCtxSynchronize();
	cuMemFree(m->first);
	cuMemFree(m->second);
	cuModuleUnload(m->module);
	free(m);
}

static CUresult dense(struct model *m, CUdeviceptr x, CUdeviceptr w, CUdeviceptr y, uint32_t nin,
		      uint32_t nout, uint32_t rows, CUstream stream)
{
	void *args[] = {&x, &w, &y, &nin, &nout, &rows};

	return cuLaunchKernel(m->dense, (nout * rows + 63) / 64, 1, 1, 64, 1, 1, 0, stream, args,
			      NULL);
}

static CUresult model_run(void *model, CUdeviceptr x, CUdeviceptr live, CUdeviceptr hidden,
			  CUdeviceptr y, uint32_t rows, CUstream stream)
{
	struct model *m = model;
	uint32_t nout = MODEL_OUT;
	void *args[] = {&y, &live, &nout, &rows};

	TRY(dense(m, x, m->first, hidden, MODEL_IN, MODEL_HIDDEN, rows, stream));
	TRY(dense(m, hidden, m->second, y, MODEL_HIDDEN, MODEL_OUT, rows, stream));
	return cuLaunchKernel(m->mask, (nout * rows + 63) / 64, 1, 1, 64, 1, 1, 0, stream, args,
			      NULL);
}

static CUresult model_score(void *model, CUdeviceptr y, CUdeviceptr spare, CUdeviceptr score,
			    uint32_t rows, CUstream stream)
{
	struct model *m = model;
	uint32_t n = MODEL_OUT, one = 1;
	void *sum[] = {&spare, &y, &n, &rows}, *copy[] = {&score, &spare, &one, &rows};

	TRY(cuLaunchKernel(m->sum, 1, 1, 1, 64, 1, 1, 0, stream, sum, NULL));
	return cuLaunchKernel(m->sum, 1, 1, 1, 64, 1, 1, 0, stream, copy, NULL);
}

static uint32_t model_expected(const uint32_t x[MODEL_IN])
{
	uint32_t hidden[MODEL_HIDDEN] = {0}, score = 0;
	static struct weights w;

	weights(&w);
	for (int i = 0; i < MODEL_HIDDEN; i++)
		for (int k = 0; k < MODEL_IN; k++)
			hidden[i] += x[k] * w.first[i * MODEL_IN + k];
	for (int i = 0; i < MODEL_OUT; i++)
		for (int k = 0; k < MODEL_HIDDEN; k++)
			score += hidden[k] * w.second[i * MODEL_HIDDEN + k];
	return score;
}

extern const struct model_api model;
__attribute__((visibility("default"))) const struct model_api model = {
	.open = model_open,
	.close = model_close,
	.run = model_run,
	.score = model_score,
	.expected = model_expected,
};
