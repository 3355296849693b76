/* SPDX-License-Identifier: Apache-2.0 */
/* Launches inside library calls: which of them count as touching what, and when. */
#include <criterion/criterion.h>

#include "interposer/library.h"
#include "rec_build.h"

#define S1 0x5100ull
#define S2 0x5200ull
#define N  4096ull

static void open2(struct world *w, const struct krt_engine_config *cfg)
{
	world_open(w, cfg);
	if (!w->e) /* no memory, as asked for */
		return;
	thread(w, 1, 1);
	context(w, 0xc0, 0, true);
	stream(w, S1, 1);
	stream(w, S2, 1);
	for (unsigned i = 0; i < 8; i++)
		alloc(w, DEV + i * 0x100000, N);
	alloc_pinned(w, PIN, 8 * N);
	kernel(w, 7, "opaque", 1, (const uint32_t[]){8});
	kernel(w, 8, "handed", 1, (const uint32_t[]){8});
}

#define BUF(i) (DEV + (i)*0x100000ull)

#define expect(w, text) cr_assert_str_eq(world_close(w), text)

/* A record with words behind its arguments; later launches are made inside it. */
static void lib_call(struct world *w, unsigned id, unsigned number, const uint64_t *args,
		     const uint64_t *words)
{
	const struct krt_lib_fn *f = &krt_lib_fn[id];
	uint64_t all[KRT_LIB_MAX_WORDS] = {0};
	unsigned n = f->argc + krt_lib_words(f);

	memcpy(all, args, f->argc * 8u);
	if (words)
		memcpy(all + f->argc, words, krt_lib_words(f) * 8u);
	w->library = (uint16_t)number;
	call_begin(w, KRT_API_library_call, A(id), A(n), A(0xf00));
	call_blob(w, 2, KRT_BLOB_BYTES, all, n * 8);
	call_end(w, 0);
}

/* y = x, N bytes each. */
static void copy(struct world *w, unsigned number, uint64_t x, uint64_t y)
{
	lib_call(w, KRT_LIB_FN_cublasScopy_v2, number, (uint64_t[]){0x1, N / 4, x, 1, y, 1}, NULL);
}

static void opaque(struct world *w, uint64_t s)
{
	launch_of(w, KRT_API_cuLaunchKernel, s, 7, 1, (uint64_t[]){0});
}

Test(library_calls, launch_inside)
{
	struct world w;

	open2(&w, NULL);
	copy(&w, 1, BUF(0), BUF(1));
	opaque(&w, S1);
	w.library = 0;
	d2h(&w, PIN, BUF(0), N, S2); /* both read */
	d2h(&w, PIN + N, BUF(1), N, S2);
	expect(&w, "RACE-RAW:error:1");
}

Test(library_calls, launch_outside_or_in_another)
{
	struct world w;

	open2(&w, NULL);
	copy(&w, 1, BUF(0), BUF(1));
	w.library = 0;
	opaque(&w, S1);
	w.library = 2; /* whose own record was lost */
	opaque(&w, S1);
	w.library = 0;
	d2h(&w, PIN, BUF(1), N, S2);
	expect(&w, "");
}

Test(library_calls, thread_gone)
{
	struct world w;

	open2(&w, NULL);
	copy(&w, 1, BUF(0), BUF(1));
	thread(&w, 1, 2); /* the lane is another one's now, whose numbers begin anew */
	opaque(&w, S1);
	w.library = 0;
	d2h(&w, PIN, BUF(1), N, S2);
	expect(&w, "");
}

Test(library_calls, calls_read_together)
{
	struct world w;

	open2(&w, NULL);
	copy(&w, 1, BUF(0), BUF(1));
	opaque(&w, S1);
	copy(&w, 2, BUF(0), BUF(2));
	opaque(&w, S2);
	w.library = 0;
	expect(&w, "");
}

Test(library_calls, written_twice)
{
	struct world w;

	open2(&w, NULL);
	copy(&w, 1, BUF(0), BUF(1));
	opaque(&w, S1);
	copy(&w, 2, BUF(2), BUF(1));
	opaque(&w, S2);
	w.library = 0;
	expect(&w, "RACE-WAW:error:1");
}

/* The upper triangle of a matrix by one stream, the lower one without the diagonal by another. */
Test(library_calls, triangles_apart)
{
	uint64_t words[KRT_NR_BLAS_WORDS] = {[KRT_BLAS_MODE] =
						     KRT_BLAS_ALPHA_HOST | KRT_BLAS_BETA_HOST,
					     [KRT_BLAS_ALPHA] = 0x3f800000};
	struct world w;

	open2(&w, NULL);
	lib_call(&w, KRT_LIB_FN_cublasSsyrk_v2, 1,
		 (uint64_t[]){1, 1, 0, 31, 4, 8, BUF(0), 32, 8, BUF(1), 32}, words);
	opaque(&w, S1);
	lib_call(&w, KRT_LIB_FN_cublasSsyrk_v2, 2,
		 (uint64_t[]){1, 0, 0, 31, 4, 8, BUF(0), 32, 8, BUF(1) + 4, 32}, words);
	opaque(&w, S2);
	w.library = 0;
	expect(&w, "");
	/* two upper ones */
	open2(&w, NULL);
	for (unsigned i = 0; i < 2; i++) {
		lib_call(&w, KRT_LIB_FN_cublasSsyrk_v2, i + 1,
			 (uint64_t[]){1, 1, 0, 31, 4, 8, BUF(0), 32, 8, BUF(1), 32}, words);
		opaque(&w, i ? S2 : S1);
	}
	w.library = 0;
	expect(&w, "RACE-WAW:error:1");
}

/* A workspace counts for launches that are given an address in it. */
static const char *workspaces(bool given)
{
	static char text[200];
	struct world w;
	uint64_t words[KRT_NR_BLAS_WORDS] = {
		[KRT_BLAS_WORKSPACE] = BUF(3), [KRT_BLAS_WORKBYTES] = N};

	open2(&w, NULL);
	for (unsigned i = 0; i < 2; i++) {
		lib_call(&w, KRT_LIB_FN_cublasScopy_v2, i + 1,
			 (uint64_t[]){0x1, N / 4, BUF(0), 1, BUF(1 + i), 1}, words);
		launch_of(&w, KRT_API_cuLaunchKernel, i ? S2 : S1, 8, 1,
			  (uint64_t[]){given ? BUF(3) + 64 : 5});
	}
	w.library = 0;
	snprintf(text, sizeof(text), "%s", world_close(&w));
	return text;
}

Test(library_calls, workspace)
{
	cr_assert_str_eq(workspaces(false), "");
	cr_assert(strstr(workspaces(true), ":warning:"));
	cr_assert(!strstr(workspaces(true), ":error:"));
}

/* --- groups ---------------------------------------------------------------------------- */

static void all_reduce(struct world *w, unsigned number, unsigned group, uint64_t buffer,
		       uint64_t comm, uint64_t s)
{
	lib_call(w, KRT_LIB_FN_ncclAllReduce, number,
		 (uint64_t[]){buffer, buffer, N / 4, 7, 0, comm, s},
		 (uint64_t[KRT_NR_NCCL_WORDS]){[KRT_LIB_GROUP] = group});
}

static void group_end(struct world *w, unsigned number, unsigned group)
{
	lib_call(w, KRT_LIB_FN_ncclGroupEnd, number, (uint64_t[1]){0},
		 (uint64_t[KRT_NR_NCCL_WORDS]){[KRT_LIB_GROUP] = group});
}

/* Two ranks, each on its stream; what is fetched of which, too early. */
static void group(struct world *w, unsigned end_of, bool first, bool second)
{
	open2(w, NULL);
	all_reduce(w, 1, 5, BUF(0), 0xa, S1);
	all_reduce(w, 2, 5, BUF(1), 0xb, S2);
	group_end(w, 3, end_of);
	if (first)
		opaque(w, S1);
	if (second)
		opaque(w, S2);
	w->library = 0;
	d2h(w, PIN, BUF(0), N, S2);
	d2h(w, PIN + N, BUF(1), N, S1);
}

Test(library_calls, groups)
{
	struct world w;

	group(&w, 5, true, true);
	expect(&w, "RACE-RAW:error:2");
	/* each launch is its own communicator's */
	group(&w, 5, true, false);
	expect(&w, "RACE-RAW:error:1");
	group(&w, 5, false, true);
	expect(&w, "RACE-RAW:error:1");
	/* the end of another group, whose calls were lost */
	group(&w, 6, true, true);
	expect(&w, "");
}

Test(library_calls, one_communicator_on_two_streams)
{
	struct world w;

	open2(&w, NULL);
	all_reduce(&w, 1, 5, BUF(0), 0xa, S1);
	all_reduce(&w, 2, 5, BUF(1), 0xa, S2);
	group_end(&w, 3, 5);
	opaque(&w, S1); /* stands for both */
	w.library = 0;
	d2h(&w, PIN, BUF(1), N, S2);
	expect(&w, "RACE-RAW:error:1");
}

/* A library that works on a stream of its own beside the program's: no race with itself. */
Test(library_calls, another_stream_beside)
{
	struct world w;

	open2(&w, NULL);
	copy(&w, 1, BUF(0), BUF(1));
	opaque(&w, S1);
	opaque(&w, S2);
	w.library = 0;
	expect(&w, "");
	open2(&w, NULL);
	all_reduce(&w, 1, 5, BUF(0), 0xa, S1);
	all_reduce(&w, 2, 5, BUF(1), 0xa, S2);
	group_end(&w, 3, 5);
	opaque(&w, S1);
	opaque(&w, S2);
	w.library = 0;
	expect(&w, "");
}

Test(library_calls, alone_after_a_group)
{
	struct world w;

	open2(&w, NULL);
	all_reduce(&w, 1, 5, BUF(0), 0xa, S1);
	group_end(&w, 2, 5);
	all_reduce(&w, 3, 0, BUF(1), 0xa, S1);
	opaque(&w, S1);
	w.library = 0;
	d2h(&w, PIN, BUF(0), N, S2); /* the group launched nothing */
	d2h(&w, PIN + N, BUF(1), N, S2);
	expect(&w, "RACE-RAW:error:1");
}

/* --- plans ------------------------------------------------------------------------------- */

static void plan(struct world *w, unsigned handle, unsigned points)
{
	lib_call(w, KRT_LIB_FN_cufftPlan1d, 0, (uint64_t[]){0xf00, points, 0x29, 1},
		 (uint64_t[KRT_NR_FFT_WORDS]){[KRT_FFT_PLAN] = handle});
}

static void transform(struct world *w, unsigned number, unsigned handle, uint64_t in, uint64_t out,
		      uint64_t s)
{
	lib_call(w, KRT_LIB_FN_cufftExecC2C, number,
		 (uint64_t[]){handle | 0xbad00000000ull, in, out, 1}, NULL);
	opaque(w, s);
	w->library = 0;
}

Test(library_calls, plans)
{
	struct world w;

	open2(&w, NULL);
	plan(&w, 3, 256); /* half of a buffer */
	transform(&w, 1, 3, BUF(0), BUF(1), S1);
	set(&w, BUF(1) + N / 2, N / 2, S2);
	set(&w, BUF(0), 8, S2);
	expect(&w, "RACE-WAR:error:1");

	/* destroyed: the handle is nobody's */
	open2(&w, NULL);
	plan(&w, 3, 256);
	lib_call(&w, KRT_LIB_FN_cufftDestroy, 0, (uint64_t[]){3},
		 (uint64_t[KRT_NR_FFT_WORDS]){[KRT_FFT_PLAN] = 3});
	transform(&w, 1, 3, BUF(0), BUF(1), S1);
	set(&w, BUF(1) + N / 2, N / 2, S2);
	expect(&w, "");

	/* callbacks: set before the sizes are */
	open2(&w, NULL);
	lib_call(&w, KRT_LIB_FN_cufftXtSetJITCallback, 0, (uint64_t[]){3, 0, 0, 0, 0, 0},
		 (uint64_t[KRT_NR_FFT_WORDS]){[KRT_FFT_PLAN] = 3});
	plan(&w, 3, 256);
	transform(&w, 1, 3, BUF(0), BUF(1), S1);
	set(&w, BUF(0) + 64, 8, S2);
	expect(&w, "");
}

/* --- damage ------------------------------------------------------------------------------- */

Test(library_calls, damaged_records)
{
	struct world w;
	uint64_t words[4] = {0};

	open2(&w, NULL);
	w.library = 1;
	for (unsigned id = 0; id < KRT_NR_LIB_FNS + 2; id++) { /* too short, or of no function */
		call_begin(&w, KRT_API_library_call, A(id), A(4), A(0xf00));
		call_blob(&w, 2, KRT_BLOB_BYTES, words, sizeof(words));
		call_end(&w, 0);
		cr_assert(w.rc == 0);
		opaque(&w, S1);
	}
	w.library = 0;
	d2h(&w, PIN, BUF(1), N, S2);
	expect(&w, "");
}

static bool story(unsigned long fail_at)
{
	struct krt_engine_config cfg = {.hot_min = 16, .possible_max = 1000, .fail_at = fail_at};
	struct world w;
	bool failed;

	open2(&w, &cfg);
	if (!w.e)
		return true;
	plan(&w, 3, 256);
	transform(&w, 1, 3, BUF(0), BUF(1), S1);
	all_reduce(&w, 2, 5, BUF(0), 0xa, S1);
	group_end(&w, 3, 5);
	opaque(&w, S1);
	copy(&w, 4, BUF(2), BUF(3));
	opaque(&w, S2);
	w.library = 0;
	d2h(&w, PIN, BUF(1), N, S2);
	failed = w.rc != 0;
	world_close(&w);
	return failed;
}

Test(library_calls, any_allocation_may_fail)
{
	unsigned long n = 1;

	while (n < 5000 && story(n))
		n++;
	cr_assert(n > 50 && n < 5000, "%lu", n);
}
