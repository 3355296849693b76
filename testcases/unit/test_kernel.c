/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches whose access is known by their PTX: what they meet among copies, other
 * kernels and the ends of memory, and with which confidence; access with gaps
 * against all bytes written down.
 */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "analyzer/engine_int.h"
#include "analyzer/image_store.h"
#include "rec_build.h"

#define S1 0x101ull
#define S2 0x102ull
#define S3 0x103ull
#define E1 0x201ull
#define NB 1
#define N  4096

#define expect(w, text)	    cr_assert_str_eq(world_close(w), text)
#define expect_all(w, text) cr_assert_str_eq(world_close_as(w, true), text)

#define HEAD(name, params)                                                                         \
	".visible .entry " name "(" params ")\n{\n"                                                \
	".reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<16>;\n"                                  \
	"mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mov.u32 %r3, %ntid.x;\n"                      \
	"ld.param.u64 %rd1, [p];\n"
/* p[i] for i < n */
#define SOLID(name, op)                                                                            \
	HEAD(name, ".param .u64 p, .param .u64 n")                                                 \
	"ld.param.u32 %r4, [n]; mad.lo.u32 %r5, %r1, %r3, %r2; setp.ge.u32 %p1, %r5, %r4;\n"       \
	"@%p1 ret; mul.wide.u32 %rd2, %r5, 4; add.s64 %rd3, %rd1, %rd2;\n" op " ret;\n}\n"
/* a row for each block, pitch bytes apart, of n words, stride bytes apart */
#define ROWS(name, op)                                                                             \
	HEAD(name, ".param .u64 p, .param .u64 n, .param .u64 pitch, .param .u64 stride")          \
	"ld.param.u32 %r4, [n]; setp.ge.u32 %p1, %r2, %r4; @%p1 ret;\n"                            \
	"ld.param.u32 %r6, [pitch]; ld.param.u32 %r7, [stride];\n"                                 \
	"mul.lo.s32 %r5, %r1, %r6; mad.lo.s32 %r5, %r2, %r7, %r5;\n"                               \
	"cvt.s64.s32 %rd2, %r5; add.s64 %rd3, %rd1, %rd2;\n" op " ret;\n}\n"
#define READ  "ld.global.u32 %r8, [%rd3];"
#define WRITE "st.global.u32 [%rd3], %r1;"
#define ADD   "red.global.add.u32 [%rd3], 1;"

static const char text[] =
	".version 7.0\n.target sm_50\n.address_size 64\n"
	SOLID("solid_read", READ) SOLID("solid_write", WRITE) SOLID("solid_add", ADD)
	ROWS("rows_read", READ) ROWS("rows_write", WRITE)
	/* q[i] = 0, i < n, where *p says so */
	HEAD("asked", ".param .u64 p, .param .u64 q, .param .u64 n")
	"ld.global.u32 %r6, [%rd1]; setp.eq.u32 %p2, %r6, 0; @%p2 ret; ld.param.u64 %rd4, [q];\n"
	"ld.param.u32 %r4, [n]; mad.lo.u32 %r5, %r1, %r3, %r2; setp.ge.u32 %p1, %r5, %r4;\n"
	"@%p1 ret; mul.wide.u32 %rd2, %r5, 4; add.s64 %rd3, %rd4, %rd2; " WRITE " ret;\n}\n"
	/* p[*q] is written */
	HEAD("scatter", ".param .u64 p, .param .u64 q")
	"ld.param.u64 %rd4, [q]; ld.global.u32 %r4, [%rd4]; mul.wide.u32 %rd2, %r4, 4;\n"
	"add.s64 %rd3, %rd1, %rd2; " WRITE " ret;\n}\n"
	/* p[*q] is read */
	HEAD("gather", ".param .u64 p, .param .u64 q")
	"ld.param.u64 %rd4, [q]; ld.global.u32 %r4, [%rd4]; mul.wide.u32 %rd2, %r4, 4;\n"
	"add.s64 %rd3, %rd1, %rd2; " READ " ret;\n}\n"
	/* waits for *p, then writes q[0] */
	HEAD("await", ".param .u64 p, .param .u64 q")
	"ld.param.u64 %rd3, [q];\nAGAIN: ld.volatile.global.u32 %r8, [%rd1]; setp.ne.u32 %p1, %r8, 1;\n"
	"@%p1 bra AGAIN; " WRITE " ret;\n}\n"
	/* sets p[0] behind a fence, and writes q[0] */
	HEAD("tell", ".param .u64 p, .param .u64 q")
	"ld.param.u64 %rd3, [q]; " WRITE " membar.gl; st.volatile.global.u32 [%rd1], %r3; ret;\n}\n"
	/* p[i] is written for i < n; the PTX has n at 48, a driver may have it elsewhere */
	HEAD("aligned", ".param .u64 p, .param .align 32 .b8 m[16], .param .u64 n")
	"ld.param.u32 %r4, [n]; mad.lo.u32 %r5, %r1, %r3, %r2; setp.ge.u32 %p1, %r5, %r4;\n"
	"@%p1 ret; mul.wide.u32 %rd2, %r5, 4; add.s64 %rd3, %rd1, %rd2;\n" WRITE " ret;\n}\n"
	/* a struct with two pointers: *p.b = *p.a */
	".visible .entry pair(.param .align 8 .b8 p[24])\n{\n.reg .b32 %r<3>; .reg .b64 %rd<4>;\n"
	"ld.param.u64 %rd1, [p]; ld.param.u64 %rd2, [p+8]; ld.global.u32 %r1, [%rd1];\n"
	"st.global.u32 [%rd2], %r1; ret;\n}\n";

enum {
	SOLID_READ = 11, SOLID_WRITE, SOLID_ADD, ROWS_READ, ROWS_WRITE, ASKED, SCATTER, GATHER, AWAIT,
	TELL, PAIR, ALIGNED, UNKNOWN,
};

static int text_of(struct krt_image_store *store, unsigned process, const uint32_t *ids, uint32_t n,
		   const char *name, uint32_t arch, struct krt_image_text *out)
{
	(void)store, (void)process, (void)ids, (void)n, (void)arch;
	if (!strcmp(name, "unknown"))
		return KRT_IMAGE_NO_TEXT;
	out->text = text;
	out->len = sizeof(text) - 1;
	out->hash = 1;
	return KRT_IMAGE_FOUND;
}

static void open_with(struct world *w, const struct krt_engine_config *cfg)
{
	static const uint32_t packed[] = {24}, apart[] = {8, 16, 8};

	world_open(w, cfg);
	if (!w->e)
		return;
	context(w, 0xc0, 0, true);
	stream(w, S1, NB);
	stream(w, S2, NB);
	stream(w, S3, NB);
	event(w, E1);
	kernel(w, SOLID_READ, "solid_read", 2, NULL);
	kernel(w, SOLID_WRITE, "solid_write", 2, NULL);
	kernel(w, SOLID_ADD, "solid_add", 2, NULL);
	kernel(w, ROWS_READ, "rows_read", 4, NULL);
	kernel(w, ROWS_WRITE, "rows_write", 4, NULL);
	kernel(w, ASKED, "asked", 3, NULL);
	kernel(w, SCATTER, "scatter", 2, NULL);
	kernel(w, GATHER, "gather", 2, NULL);
	kernel(w, AWAIT, "await", 2, NULL);
	kernel(w, TELL, "tell", 2, NULL);
	kernel(w, PAIR, "pair", 1, packed);
	kernel(w, ALIGNED, "aligned", 3, apart);
	kernel(w, UNKNOWN, "unknown", 2, NULL);
	alloc(w, DEV, N);
	alloc(w, DEV + 0x10000, N); /* an index, a flag */
}
#define AUX (DEV + 0x10000)

static void open3(struct world *w)
{
	static const struct krt_engine_config cfg = {
		.hot_min = 16, .possible_max = 1000, .text = text_of};

	open_with(w, &cfg);
}

/* blocks of 64 threads */
static void go(struct world *w, uint64_t s, uint32_t k, unsigned blocks, unsigned n,
	       const uint64_t *params)
{
	struct {
		struct krt_params head;
		uint64_t p[8];
	} b = {.head = {.kernel = k, .len = n * 8}};

	memcpy(b.p, params, n * 8);
	call_begin(w, KRT_API_cuLaunchKernel, A(0xf0), A(blocks), A(1), A(1), A(64), A(1), A(1), A(0),
		   A(s), A(0), A(0));
	call_blob(w, 9, KRT_BLOB_PARAMS, &b, (uint32_t)(sizeof(b.head) + n * 8));
	call_end(w, 0);
}
#define GO(w, s, k, blocks, ...)                                                                   \
	go(w, s, k, blocks, sizeof((uint64_t[]){__VA_ARGS__}) / 8, (const uint64_t[]){__VA_ARGS__})

/* --- ranges ------------------------------------------------------------------------------ */

Test(ranges, every_byte_is_certain)
{
	struct world w;

	open3(&w);
	GO(&w, S1, SOLID_WRITE, 4, DEV, 200);
	GO(&w, S2, SOLID_READ, 4, DEV + 796, 10);
	GO(&w, S3, SOLID_READ, 4, DEV + 800, 10);
	expect_all(&w, "RACE-RAW:error:1");
}

Test(ranges, reads_are_silent)
{
	struct world w;

	open3(&w);
	GO(&w, S1, SOLID_READ, 4, DEV, 200);
	GO(&w, S2, SOLID_READ, 4, DEV, 200);
	GO(&w, S2, GATHER, 1, DEV, AUX);
	GO(&w, S3, GATHER, 1, DEV, AUX);
	GO(&w, S3, ROWS_READ, 8, DEV, 4, 256, 8);
	d2h(&w, PIN, DEV, N, S3);
	expect_all(&w, "");
}

Test(ranges, guard_of_none)
{
	struct world w;

	open3(&w);
	GO(&w, S1, SOLID_WRITE, 4, DEV, 0);
	set(&w, DEV, N, S2);
	call(&w, cuMemFreeAsync, A(DEV), A(S2));
	expect_all(&w, "");
}

Test(ranges, in_order)
{
	struct world w;

	open3(&w);
	GO(&w, S1, SOLID_WRITE, 4, DEV, 200);
	record(&w, E1, S1);
	wait_event(&w, S2, E1);
	GO(&w, S2, SOLID_WRITE, 4, DEV, 100);
	GO(&w, S2, ASKED, 4, DEV, DEV + 4, 100);
	expect_all(&w, "");
}

/* A hull against every byte, and against a hull. */
Test(ranges, hulls_are_likely)
{
	struct world w;

	open3(&w);
	GO(&w, S1, ASKED, 4, AUX, DEV, 100);
	set(&w, DEV + 396, 16, S2);
	expect_all(&w, "RACE-WAW:warning:1");
	open3(&w);
	GO(&w, S1, ASKED, 4, AUX, DEV, 100);
	GO(&w, S2, ASKED, 4, AUX, DEV + 200, 100);
	expect_all(&w, "RACE-WAW:warning:1");
	open3(&w);
	GO(&w, S1, ASKED, 4, AUX, DEV, 100);
	GO(&w, S2, ASKED, 4, AUX, DEV + 400, 100);
	set(&w, DEV + 1000, 16, S3);
	expect_all(&w, "");
}

/* A hull is no order and ends nothing. */
Test(ranges, hull_replaces_nothing)
{
	struct world w;

	open3(&w);
	set(&w, DEV, 64, S1);
	record(&w, E1, S1);
	wait_event(&w, S2, E1);
	GO(&w, S2, ASKED, 1, AUX, DEV, 16);
	d2h(&w, PIN, DEV, 64, S3);
	expect(&w, "RACE-RAW:error:1 RACE-RAW:warning:1");
}

Test(ranges, sure_write_ends_hulls_before)
{
	struct world w;

	open3(&w);
	GO(&w, S1, ASKED, 1, AUX, DEV, 16);
	set(&w, DEV, 64, S1);
	record(&w, E1, S1);
	wait_event(&w, S2, E1);
	d2h(&w, PIN, DEV, 64, S2);
	expect_all(&w, "");
}

/* Of an index in memory only where it counts from is known. */
Test(ranges, data_dependent)
{
	struct world w;

	open3(&w);
	GO(&w, S1, SCATTER, 1, DEV, AUX);
	set(&w, DEV + 512, 64, S2);
	expect_all(&w, "?RACE-WAW:1");
	open3(&w);
	GO(&w, S1, SCATTER, 1, DEV, AUX);
	set(&w, DEV, 64, S2);
	expect_all(&w, "RACE-WAW:warning:1");
	open3(&w);
	GO(&w, S1, SCATTER, 1, DEV, AUX);
	GO(&w, S2, GATHER, 1, DEV, AUX);
	expect_all(&w, "?RACE-RAW:1");
}

Test(ranges, unknown_kernels_as_before)
{
	struct world w;

	open3(&w);
	launch(&w, S1, UNKNOWN, DEV, 7);
	GO(&w, S2, SOLID_READ, 1, DEV, 10);
	GO(&w, S2, SOLID_WRITE, 1, DEV + 64, 10);
	expect_all(&w, "?RACE-RAW:1 ?RACE-WAR:1");
	open3(&w);
	GO(&w, S2, SOLID_READ, 1, DEV, 10);
	launch(&w, S1, UNKNOWN, DEV, 7);
	expect_all(&w, "?RACE-WAR:1");
}

Test(ranges, structs)
{
	struct world w;

	open3(&w);
	GO(&w, S1, PAIR, 1, DEV, DEV + 64, 0);
	GO(&w, S2, SOLID_WRITE, 1, DEV + 64, 1);
	expect_all(&w, "RACE-WAW:error:1");
	open3(&w);
	GO(&w, S1, PAIR, 1, DEV, AUX, DEV + 64);
	GO(&w, S2, SOLID_WRITE, 1, DEV + 64, 1);
	expect_all(&w, "");
}

/* Where the driver has a parameter counts, not where the PTX would have it. */
Test(ranges, layout_of_the_driver)
{
	struct world w;

	open3(&w);
	GO(&w, S1, ALIGNED, 4, DEV, 1, 2, 200);
	GO(&w, S2, SOLID_READ, 4, DEV + 796, 10);
	GO(&w, S3, SOLID_READ, 4, DEV + 800, 10);
	expect_all(&w, "RACE-RAW:error:1");
}

/* --- gaps --------------------------------------------------------------------------------- */

Test(gaps, rows_and_elements)
{
	struct world w;

	/* even and odd rows, even and odd elements */
	open3(&w);
	GO(&w, S1, ROWS_WRITE, 20, DEV, 16, 128, 4);
	GO(&w, S2, ROWS_WRITE, 20, DEV + 64, 16, 128, 4);
	expect_all(&w, "");
	open3(&w);
	GO(&w, S1, ROWS_WRITE, 1, DEV, 64, 0, 8);
	GO(&w, S2, ROWS_WRITE, 1, DEV + 4, 64, 0, 8);
	set(&w, DEV + 12, 4, S2);
	expect_all(&w, "");
	open3(&w);
	GO(&w, S1, ROWS_WRITE, 20, DEV, 16, 128, 4);
	GO(&w, S2, ROWS_WRITE, 20, DEV + 60, 16, 128, 4);
	cr_assert(strstr(world_close(&w), "RACE-WAW:"));
	open3(&w);
	GO(&w, S1, ROWS_WRITE, 1, DEV, 64, 0, 8);
	set(&w, DEV + 12, 5, S2); /* few pieces are taken one by one */
	expect_all(&w, "RACE-WAW:error:1");
}

/* Many launches of different gaps: what is remembered is bounded. */
Test(gaps, bounded)
{
	struct world w;
	size_t used;

	open3(&w);
	for (unsigned i = 0; i < 500; i++)
		GO(&w, S1, ROWS_WRITE, 10, DEV + i % 7 * 4, 3, 64 + i % 250, 8);
	used = w.e->heap.used;
	for (unsigned i = 0; i < 2000; i++)
		GO(&w, i & 1 ? S1 : S2, ROWS_READ, 10, DEV + i % 7 * 4, 3, 64 + i % 250, 8 + i % 3);
	cr_assert_lt(w.e->heap.used, used + (4u << 20));
	world_close(&w);
}

static uint64_t seed = 1;

static unsigned rnd(unsigned n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (unsigned)(seed >> 33) % n;
}

struct rows {
	unsigned at, rows, n, pitch, stride;
	bool write;
	uint8_t byte[N];
};

static void draw(struct rows *r)
{
	memset(r, 0, sizeof(*r));
	r->rows = 1 + rnd(12);
	r->n = 1 + rnd(8);
	r->stride = 4 * (1 + rnd(4));
	r->pitch = r->stride * r->n + 4 * rnd(12);
	r->at = 4 * rnd(64);
	r->write = rnd(2);
	for (unsigned y = 0; y < r->rows; y++)
		for (unsigned x = 0; x < r->n; x++)
			memset(r->byte + r->at + y * r->pitch + x * r->stride, 1, 4);
}

/* Those that meet are told; of the same pitch and stride no others are. */
Test(gaps, against_bytes)
{
	struct rows r[2];
	unsigned told = 0, silent = 0;

	for (unsigned round = 0; round < 3000; round++) {
		bool meet = false, found;
		struct world w;

		draw(&r[0]);
		draw(&r[1]);
		if (rnd(2)) {
			unsigned at = r[1].at;
			bool write = r[1].write;

			r[1] = r[0];
			r[1].write = write;
			r[1].at = at;
			memset(r[1].byte, 0, N);
			for (unsigned y = 0; y < r[1].rows; y++)
				for (unsigned x = 0; x < r[1].n; x++)
					memset(r[1].byte + at + y * r[1].pitch + x * r[1].stride, 1, 4);
		}
		open3(&w);
		for (unsigned i = 0; i < 2; i++)
			GO(&w, i ? S2 : S1, r[i].write ? ROWS_WRITE : ROWS_READ, r[i].rows,
			   DEV + r[i].at, r[i].n, r[i].pitch, r[i].stride);
		for (unsigned i = 0; i < N; i++)
			meet |= r[0].byte[i] && r[1].byte[i];
		meet &= r[0].write || r[1].write;
		found = *world_close(&w);
		cr_assert(!meet || found, "round %u", round);
		if (!r[0].write && !r[1].write)
			cr_assert(!found, "round %u", round);
		told += found && !meet;
		silent += !found;
	}
	/* what is told beyond the bytes is the exception */
	cr_assert(told < 300 && silent > 300, "%u %u", told, silent);
}

/* --- the ends of memory ------------------------------------------------------------------------ */

Test(ends, frees)
{
	struct world w;

	open3(&w);
	GO(&w, S1, ASKED, 1, AUX, DEV, 4);
	call(&w, cuMemFreeAsync, A(DEV), A(S2));
	expect_all(&w, "FREE-IN-USE:error:1");
	open3(&w);
	GO(&w, S1, GATHER, 1, DEV, AUX);
	call(&w, cuMemFreeAsync, A(DEV), A(S2));
	expect_all(&w, "FREE-IN-USE:error:1");
	open3(&w); /* a pointer that is not used */
	GO(&w, S1, PAIR, 1, AUX, AUX + 64, DEV);
	call(&w, cuMemFreeAsync, A(DEV), A(S2));
	expect_all(&w, "");
	open3(&w); /* one past the end of what is freed, and of what is before it */
	GO(&w, S1, SOLID_WRITE, 1, AUX, 0);
	call(&w, cuMemFreeAsync, A(AUX), A(S2));
	expect_all(&w, "");
}

Test(ends, dead_pointers)
{
	struct world w;

	open3(&w);
	call(&w, cuMemFree_v2, A(DEV));
	GO(&w, S1, ASKED, 1, AUX, DEV, 4);
	expect_all(&w, "UAF-STREAM:error:1");
	open3(&w);
	call(&w, cuMemFree_v2, A(DEV));
	GO(&w, S1, SOLID_READ, 1, DEV, 0);
	GO(&w, S1, PAIR, 1, AUX, AUX + 64, DEV);
	expect_all(&w, "");
}

Test(ends, blocks)
{
	struct world w;

	open3(&w);
	pool_create(&w, 0x9001, 1, "pool");
	block_alloc(&w, 0x9001, DEV, 1024, S1);
	GO(&w, S1, ASKED, 1, AUX, DEV, 16);
	block_free(&w, DEV);
	block_alloc(&w, 0x9001, DEV, 1024, S2);
	set(&w, DEV, 64, S2);
	expect_all(&w, "REUSE-RACE:error:1");
	open3(&w); /* both read */
	pool_create(&w, 0x9001, 1, "pool");
	block_alloc(&w, 0x9001, DEV, 1024, S1);
	GO(&w, S1, SOLID_READ, 1, DEV, 16);
	GO(&w, S1, GATHER, 1, DEV, AUX);
	block_free(&w, DEV);
	block_alloc(&w, 0x9001, DEV, 1024, S2);
	GO(&w, S2, SOLID_READ, 1, DEV, 16);
	expect_all(&w, "");
	open3(&w); /* the rows of the one, the gaps between them of the other */
	pool_create(&w, 0x9001, 1, "pool");
	block_alloc(&w, 0x9001, DEV, N, S1);
	GO(&w, S1, ROWS_WRITE, 20, DEV, 16, 128, 4);
	block_free(&w, DEV);
	block_alloc(&w, 0x9001, DEV, N, S2);
	GO(&w, S2, ROWS_WRITE, 20, DEV + 64, 16, 128, 4);
	expect_all(&w, "");
	open3(&w); /* a hull stays within its block */
	pool_create(&w, 0x9001, 1, "pool");
	block_alloc(&w, 0x9001, DEV, 1024, S1);
	block_alloc(&w, 0x9001, DEV + 1024, 1024, S2);
	GO(&w, S1, ASKED, 8, AUX, DEV, 400);
	set(&w, DEV + 1024, 512, S2);
	expect_all(&w, "");
}

/* --- kernels that wait for each other --------------------------------------------------------------- */

Test(sync, flags)
{
	struct world w;

	open3(&w); /* who sets the flag */
	GO(&w, S1, AWAIT, 1, AUX, DEV);
	set(&w, AUX, 4, S2);
	expect(&w, "");
	open3(&w);
	GO(&w, S1, AWAIT, 1, AUX, DEV);
	GO(&w, S2, TELL, 1, AUX, DEV);
	expect(&w, "");
	open3(&w); /* a large set is no flag */
	GO(&w, S1, AWAIT, 1, AUX, DEV);
	set(&w, AUX, 1024, S2);
	expect(&w, "RACE-WAR:warning:1");
	open3(&w); /* a word may be a flag */
	GO(&w, S1, AWAIT, 1, AUX, DEV);
	GO(&w, S2, SOLID_WRITE, 1, DEV, 1);
	expect(&w, "");
	open3(&w); /* one that writes more than a flag */
	GO(&w, S1, AWAIT, 1, AUX, DEV);
	GO(&w, S2, SOLID_WRITE, 4, DEV, 64);
	expect(&w, "RACE-WAW:warning:1");
	open3(&w); /* what follows it comes after whoever set the flag */
	GO(&w, S2, SOLID_WRITE, 4, DEV, 64);
	GO(&w, S1, AWAIT, 1, AUX, DEV + 0x800);
	GO(&w, S1, SOLID_READ, 4, DEV, 64);
	expect(&w, "");
	open3(&w); /* two of one sort: a barrier of the kernel's own is none between launches */
	GO(&w, S1, AWAIT, 1, AUX, DEV);
	GO(&w, S2, AWAIT, 1, AUX, DEV);
	expect(&w, "RACE-WAW:warning:1");
}

Test(sync, atomics)
{
	struct world w;

	open3(&w);
	GO(&w, S1, SOLID_ADD, 1, DEV, 64);
	GO(&w, S2, SOLID_ADD, 1, DEV, 64);
	expect_all(&w, "");
	open3(&w);
	GO(&w, S1, SOLID_ADD, 1, DEV, 64);
	set(&w, DEV, 256, S2);
	expect_all(&w, "RACE-WAW:error:1");
	open3(&w);
	GO(&w, S1, SOLID_ADD, 1, DEV, 64);
	GO(&w, S2, SOLID_READ, 1, DEV, 64);
	expect_all(&w, "RACE-RAW:error:1");
	open3(&w);
	launch_coop(&w, S1, SOLID_ADD, DEV, 1);
	launch_coop(&w, S2, SOLID_ADD, DEV, 1);
	expect_all(&w, "COOP-SHARED:error:1");
}

/* --- patterns ---------------------------------------------------------------------------------------- */

static void draw_pattern(struct krt_pattern *p, uint64_t lo, uint64_t hi, uint8_t *byte)
{
	*p = krt_pattern_solid(lo, hi);
	memset(byte, 0, N);
	if (rnd(3)) {
		p->row = 1 + rnd(40);
		p->pitch = p->row + 1 + rnd(40);
		p->rows = UINT64_MAX;
		p->stride = p->width = p->row;
	}
	if (rnd(2)) {
		p->width = 1 + rnd(6);
		p->stride = p->width + 1 + rnd(6);
		if (p->rows > 1) {
			p->row = p->width + p->stride * rnd(4);
			/* or they touch, and pieces begin anew */
			p->pitch = p->row + (rnd(4) ? 1 + rnd(40) : 0);
		}
	}
	p->at = lo - rnd(50);
	for (uint64_t x = lo; x < hi; x++) {
		uint64_t d = x - p->at;

		if (p->rows > 1)
			d %= p->pitch;
		if (p->rows > 1 && d >= p->row)
			continue;
		byte[x] = p->stride <= p->width || d % p->stride < p->width;
	}
}

Test(patterns, against_bytes)
{
	static uint8_t x[N], y[N];
	struct krt_heap heap = {0};
	struct krt_patterns all = {0};

	for (unsigned round = 0; round < 20000; round++) {
		uint64_t lo = 60 + rnd(100), hi = lo + 1 + rnd(500);
		struct krt_pattern a, b, c, d;
		bool meet = false;

		draw_pattern(&a, lo, hi, x);
		draw_pattern(&b, lo, hi, y);
		for (uint64_t i = lo; i < hi; i++)
			meet |= x[i] && y[i];
		cr_assert_eq(krt_pattern_share(&a, &b), meet, "round %u", round);
		cr_assert(!meet || krt_pattern_meet(&a, &b), "round %u", round);
		cr_assert_eq(krt_patterns_meet(&a, &b), meet, "round %u", round);
		/* under numbers they are the same */
		cr_assert(krt_pattern_of(&all, krt_pattern_id(&heap, &all, &a), lo, hi, &c));
		cr_assert(krt_pattern_of(&all, krt_pattern_id(&heap, &all, &b), lo, hi, &d));
		cr_assert_eq(krt_pattern_share(&c, &d), meet, "round %u", round);
		cr_assert_eq(krt_pattern_meet(&c, &d), krt_pattern_meet(&a, &b), "round %u", round);
		if (!(round % 1000)) {
			krt_patterns_unmark(&all);
			krt_patterns_sweep(&all);
		}
	}
	/* too many: gaps that are not known */
	for (unsigned i = 0; i < KRT_PATTERNS_MAX + 10; i++) {
		struct krt_pattern p = krt_pattern_solid(0, UINT64_MAX);

		p.rows = 2;
		p.row = 4;
		p.pitch = 8 + i;
		krt_pattern_id(&heap, &all, &p);
	}
	{
		struct krt_pattern p = krt_pattern_solid(0, UINT64_MAX);

		p.rows = 2;
		p.row = 4;
		p.pitch = 1000000;
		cr_assert_eq(krt_pattern_id(&heap, &all, &p), KRT_PATTERN_LOST);
		cr_assert(!krt_pattern_of(&all, KRT_PATTERN_LOST, 0, 8, &p));
		krt_patterns_unmark(&all);
		krt_patterns_sweep(&all);
		p.rows = 2;
		p.row = 4;
		p.pitch = 1000000;
		cr_assert_neq(krt_pattern_id(&heap, &all, &p), KRT_PATTERN_LOST);
	}
	krt_patterns_free(&heap, &all);
	cr_assert_eq(heap.used, 0);
}

/* --- memory --------------------------------------------------------------------------------------------- */

/* Every allocation of the engine fails once. */
Test(memory, out_of_memory)
{
	struct krt_engine_config cfg = {.hot_min = 16, .possible_max = 1000, .text = text_of};
	bool failed = true;

	for (cfg.fail_at = 1; failed; cfg.fail_at++) {
		struct world w;

		cr_assert_lt(cfg.fail_at, 4000);
		open_with(&w, &cfg);
		if (!w.e)
			continue;
		pool_create(&w, 0x9001, 1, "pool");
		block_alloc(&w, 0x9001, DEV, 1024, S1);
		GO(&w, S1, ROWS_WRITE, 20, DEV, 16, 128, 4);
		GO(&w, S2, ROWS_WRITE, 20, DEV + 64, 16, 128, 4);
		GO(&w, S2, ASKED, 1, AUX, DEV, 16);
		GO(&w, S3, GATHER, 1, DEV, AUX);
		GO(&w, S3, PAIR, 1, DEV, AUX, 0);
		GO(&w, S1, SOLID_ADD, 1, AUX, 8);
		GO(&w, S2, SOLID_READ, 1, AUX, 8);
		launch(&w, S1, UNKNOWN, DEV, AUX);
		block_free(&w, DEV);
		block_alloc(&w, 0x9001, DEV, 1024, S2);
		set(&w, DEV, 64, S2);
		for (unsigned i = 0; i < 40; i++)
			GO(&w, S1, SOLID_READ, 1, AUX, i);
		failed = w.e->heap.failed;
		world_close(&w);
	}
}

/* What is known by PTX is kept within a limit, and made again where it is asked for again. */
Test(memory, evaluations)
{
	struct world w;

	open3(&w);
	for (unsigned i = 0; i < 1000; i++)
		GO(&w, S1, SOLID_READ, 1 + i % 7, DEV, i % 50);
	cr_assert_lt(w.e->insights.bytes, 1u << 20);
	GO(&w, S2, SOLID_WRITE, 1, DEV + 4 * 40, 1);
	expect_all(&w, "RACE-WAR:error:1");
}
