/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interpreter's single-instruction expectations (testcases/ptx/rows.h) on
 * whatever driver is there: on a real GPU it shows whether they are true.
 * Prints each difference and "N rows, N differ"; exit code 1 if any does.
 */
#include "../ptx/rows.h"
#include "cuabi.h"
#include <string.h>

static unsigned total, differ;

#define CHECK(call)                                                                         \
	do {                                                                                \
		CUresult r_ = (call);                                                       \
		if (r_ != CUDA_SUCCESS) {                                                   \
			fprintf(stderr, "%s: %d\n", #call, (int)r_);                        \
			exit(2);                                                            \
		}                                                                           \
	} while (0)

static void run_rows(const char *group, const struct row *rows, size_t n)
{
	size_t len = 0;
	char *text = rows_text(rows, n, &len);
	CUdeviceptr out;
	CUmodule mod;

	if (!text)
		exit(2);
	CHECK(cuModuleLoadData(&mod, text));
	CHECK(cuMemAlloc_v2(&out, 8));
	for (size_t i = 0; i < n; i++) {
		uint64_t a = rows[i].a, b = rows[i].b, c = rows[i].c, got = 0;
		void *params[] = { &out, &a, &b, &c };
		char name[32];
		CUfunction fn;

		sprintf(name, "k%zu", i);
		CHECK(cuModuleGetFunction(&fn, mod, name));
		CHECK(cuLaunchKernel(fn, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
		CHECK(cuCtxSynchronize());
		CHECK(cuMemcpyDtoH_v2(&got, out, 8));
		total++;
		if (got != rows[i].want) {
			differ++;
			printf("%s %zu: %s (%#llx, %#llx, %#llx): %#llx instead of %#llx\n", group,
			       i, rows[i].code, (unsigned long long)a, (unsigned long long)b,
			       (unsigned long long)c, (unsigned long long)got,
			       (unsigned long long)rows[i].want);
		}
	}
	CHECK(cuMemFree_v2(out));
	CHECK(cuModuleUnload(mod));
	free(text);
}

int main(void)
{
	CUdevice dev;
	CUcontext ctx;

	CHECK(cuInit(0));
	CHECK(cuDeviceGet(&dev, 0));
	CHECK(cuDevicePrimaryCtxRetain(&ctx, dev));
	CHECK(cuCtxSetCurrent(ctx));
#define GROUP_RUN(NAME) rows_##NAME(run_rows);
	ROW_GROUPS(GROUP_RUN)
	printf("%u rows, %u differ\n", total, differ);
	return differ != 0;
}
