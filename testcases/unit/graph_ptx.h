/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels of the tests of graphs that are known by their PTX.  Parameters are words
 * of 8 bytes.
 */
#ifndef KRT_GRAPH_PTX_H
#define KRT_GRAPH_PTX_H

#include "analyzer/image_store.h"
#include "rec_build.h"

/* clang-format off */
/* p[i] for i < n; rows of n words, pitch apart, their words stride apart */
#define PTX_HEAD(name, params) \
	".visible .entry " name "(" params ")\n{\n" \
	".reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<16>;\n" \
	"mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mov.u32 %r3, %ntid.x;\n" \
	"ld.param.u64 %rd1, [p];\n"
/* i < n: 4 * i in %rd2 */
#define PTX_INDEX \
	"ld.param.u32 %r4, [n]; mad.lo.u32 %r5, %r1, %r3, %r2; setp.ge.u32 %p1, %r5, %r4;\n" \
	"@%p1 ret; mul.wide.u32 %rd2, %r5, 4;\n"
#define PTX_SOLID(name, op) \
	PTX_HEAD(name, ".param .u64 p, .param .u64 n") PTX_INDEX \
	"add.s64 %rd3, %rd1, %rd2;\n" op " ret;\n}\n"
#define PTX_ROWS(name, op) \
	PTX_HEAD(name, ".param .u64 p, .param .u64 n, .param .u64 pitch, .param .u64 stride") \
	PTX_ROWS_AT(op)
/* the same where *f says so */
#define PTX_ROWS_IF(name, op) \
	PTX_HEAD(name, ".param .u64 p, .param .u64 n, .param .u64 pitch, .param .u64 stride, .param .u64 f") \
	"ld.param.u64 %rd4, [f]; ld.global.u32 %r6, [%rd4]; setp.eq.u32 %p2, %r6, 0; @%p2 ret;\n" \
	PTX_ROWS_AT(op)
#define PTX_ROWS_AT(op) \
	"ld.param.u32 %r4, [n]; setp.ge.u32 %p1, %r2, %r4; @%p1 ret;\n" \
	"ld.param.u32 %r6, [pitch]; ld.param.u32 %r7, [stride];\n" \
	"mul.lo.s32 %r5, %r1, %r6; mad.lo.s32 %r5, %r2, %r7, %r5;\n" \
	"cvt.s64.s32 %rd2, %r5; add.s64 %rd3, %rd1, %rd2;\n" op " ret;\n}\n"
#define PTX_READ  "ld.global.u32 %r8, [%rd3];"
#define PTX_WRITE "st.global.u32 [%rd3], %r1;"

static const char graph_ptx[] =
	".version 7.0\n.target sm_50\n.address_size 64\n"
	PTX_SOLID("solid_read", PTX_READ)
	PTX_SOLID("solid_write", PTX_WRITE)
	PTX_ROWS("rows_read", PTX_READ)
	PTX_ROWS("rows_write", PTX_WRITE)
	PTX_ROWS_IF("rows_read_if", PTX_READ)
	PTX_ROWS_IF("rows_write_if", PTX_WRITE)
	/* writes q[i] where *p is not 0 */
	PTX_HEAD("asked", ".param .u64 p, .param .u64 q, .param .u64 n")
	"ld.global.u32 %r6, [%rd1]; setp.eq.u32 %p2, %r6, 0; @%p2 ret; ld.param.u64 %rd4, [q];\n"
	PTX_INDEX
	"add.s64 %rd3, %rd4, %rd2; " PTX_WRITE " ret;\n}\n"
	/* p[*p] is read, q is not used */
	PTX_HEAD("chase", ".param .u64 p, .param .u64 q, .param .u64 n")
	"ld.global.u32 %r4, [%rd1]; mul.wide.u32 %rd2, %r4, 4; add.s64 %rd3, %rd1, %rd2;\n"
	PTX_READ " ret;\n}\n"
	/* p[-1 - i] for i < n */
	PTX_HEAD("back", ".param .u64 p, .param .u64 n")
	PTX_INDEX
	"sub.s64 %rd3, %rd1, %rd2; add.s64 %rd3, %rd3, -4;\n" PTX_WRITE " ret;\n}\n";
/* clang-format on */

enum {
	SOLID_READ = 11,
	SOLID_WRITE,
	ROWS_READ,
	ROWS_WRITE,
	ROWS_READ_IF,
	ROWS_WRITE_IF,
	ASKED,
	CHASE,
	BACK
};

static int graph_ptx_text(struct krt_image_store *store, unsigned process, const uint32_t *ids,
			  uint32_t n, const char *name, uint32_t arch, struct krt_image_text *out)
{
	(void)store, (void)process, (void)ids, (void)n, (void)name, (void)arch;
	out->text = graph_ptx;
	out->len = sizeof(graph_ptx) - 1;
	out->hash = 1;
	return KRT_IMAGE_FOUND;
}

static const struct krt_engine_config graph_ptx_config = {
	.hot_min = 16, .possible_max = 1000, .text = graph_ptx_text};

static inline void graph_ptx_kernels(struct world *w)
{
	kernel(w, SOLID_READ, "solid_read", 2, NULL);
	kernel(w, SOLID_WRITE, "solid_write", 2, NULL);
	kernel(w, ROWS_READ, "rows_read", 4, NULL);
	kernel(w, ROWS_WRITE, "rows_write", 4, NULL);
	kernel(w, ROWS_READ_IF, "rows_read_if", 5, NULL);
	kernel(w, ROWS_WRITE_IF, "rows_write_if", 5, NULL);
	kernel(w, ASKED, "asked", 3, NULL);
	kernel(w, CHASE, "chase", 3, NULL);
	kernel(w, BACK, "back", 2, NULL);
}

#endif
