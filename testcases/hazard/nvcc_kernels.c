/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels as nvcc compiles them (gpu/kernels.cu), two launches on two streams:
 * nvcc_kernels [CASE [fixed]].  Nothing is declared: what they access is computed
 * from their PTX.  `fixed` adds the edge that a case lacks; the cases after the
 * planted ones lack nothing.
 * EXPECT: KRT-RACE-WAW error certain both count=1
 * MENTIONS: KRT-RACE-WAW "ptx-range"
 * ARGS: waw fixed
 * EXPECT: none
 * ARGS: raw
 * EXPECT: KRT-RACE-RAW error certain both count=1
 * ARGS: raw fixed
 * EXPECT: none
 * ARGS: war
 * EXPECT: KRT-RACE-WAR error certain both count=1
 * ARGS: war fixed
 * EXPECT: none
 * ARGS: stride
 * EXPECT: KRT-RACE-RAW error certain both count=1
 * ARGS: stride fixed
 * EXPECT: none
 * ARGS: copy
 * EXPECT: KRT-RACE-RAW error certain both count=1
 * ARGS: copy fixed
 * EXPECT: none
 * ARGS: set
 * EXPECT: KRT-RACE-WAR error certain both count=1
 * ARGS: set fixed
 * EXPECT: none
 * ARGS: halves_meet
 * EXPECT: KRT-RACE-WAW error certain both count=1
 * ARGS: halves_meet fixed
 * EXPECT: none
 * ARGS: even_even
 * EXPECT: KRT-RACE-WAW error certain both count=1
 * ARGS: even_even fixed
 * EXPECT: none
 * ARGS: structs
 * EXPECT: KRT-RACE-RAW error certain both count=1
 * ARGS: structs fixed
 * EXPECT: none
 * ARGS: templates
 * EXPECT: KRT-RACE-RAW error certain both count=1
 * ARGS: templates fixed
 * EXPECT: none
 * ARGS: functors
 * EXPECT: KRT-RACE-RAW error certain both count=1
 * ARGS: functors fixed
 * EXPECT: none
 * ARGS: variables
 * EXPECT: KRT-RACE-RAW error certain both count=1
 * ARGS: variables fixed
 * EXPECT: none
 * ARGS: tables fixed
 * EXPECT: none
 * ARGS: weights
 * EXPECT: none
 * ARGS: weights_struct
 * EXPECT: none
 * ARGS: halves
 * EXPECT: none
 * ARGS: halves_guarded
 * EXPECT: none
 * ARGS: even_odd
 * EXPECT: none
 * ARGS: halves_copied
 * EXPECT: none
 * ARGS: tables_apart
 * EXPECT: none
 * ARGS: atomics
 * EXPECT: none
 * ARGS: nothing
 * EXPECT: none
 * ARGS: never_touched
 * EXPECT: none
 * ARGS: never_touched_freed
 * EXPECT: none
 * ARGS: variables_read
 * EXPECT: none
 * ARGS: in_a_graph
 * EXPECT: KRT-GRAPH-UNORDERED-NODES error certain both count=1
 * ARGS: in_a_graph fixed
 * EXPECT: none
 * ARGS: freed fixed
 * EXPECT: none
 * ARGS: freed
 * EXPECT: KRT-FREE-IN-USE error certain both count=1
 */
#include "prog.h"
#include "nvcc_kernels.h"

enum { N = 4096, B = 64, G = N / B, W = 64 };

static CUmodule module;
static CUstream s[4];
static CUevent done;
static bool fixed;
static CUdeviceptr a, b, c, d;

#define RUN(kernel, gx, gy, on, ...)                                                               \
	do {                                                                                       \
		CUfunction f_;                                                                     \
		void *args_[] = {__VA_ARGS__};                                                     \
		CU(cuModuleGetFunction(&f_, module, kernel));                                      \
		CU(cuLaunchKernel(f_, gx, gy, 1, B, 1, 1, 0, on, args_, NULL));                    \
	} while (0)

/* The edge that the planted races lack. */
#define EDGE()                                                                                     \
	do {                                                                                       \
		CU(cuEventRecord(done, s[0]));                                                     \
		if (fixed)                                                                         \
			CU(cuStreamWaitEvent(s[1], done, 0));                                      \
	} while (0)

#define FILL_(on, p, n, v)                                                                         \
	do {                                                                                       \
		CUdeviceptr p_ = (p);                                                              \
		uint64_t n_ = (n);                                                                 \
		float v_ = (v);                                                                    \
		RUN("fill", G, 1, on, &p_, &n_, &v_);                                              \
	} while (0)
#define SCALE(on, in, out)                                                                         \
	do {                                                                                       \
		CUdeviceptr i_ = (in), o_ = (out);                                                 \
		uint64_t n_ = N;                                                                   \
		float v_ = 2;                                                                      \
		RUN("scale", G, 1, on, &i_, &o_, &n_, &v_);                                        \
	} while (0)
#define SAXPY(on, x, y)                                                                            \
	do {                                                                                       \
		CUdeviceptr x_ = (x), y_ = (y);                                                    \
		uint64_t n_ = N;                                                                   \
		float v_ = 2;                                                                      \
		RUN("saxpy", 4, 1, on, &x_, &y_, &n_, &v_);                                        \
	} while (0)
#define ROWS(on, p, first)                                                                         \
	do {                                                                                       \
		CUdeviceptr p_ = (p);                                                              \
		int w_ = W, f1_ = (first);                                                         \
		float v_ = 1;                                                                      \
		RUN("rows", N / W / 2, 1, on, &p_, &w_, &f1_, &v_);                                \
	} while (0)

struct view {
	CUdeviceptr data;
	int n;
};
struct job {
	struct view in, out;
	float by;
};
#define WORK(on, from, to)                                                                         \
	do {                                                                                       \
		struct job j_ = {{(from), N}, {(to), N}, 2};                                       \
		RUN("work", G, 1, on, &j_);                                                        \
	} while (0)
#define APPLY(on, which, from, to)                                                                 \
	do {                                                                                       \
		CUdeviceptr i_ = (from), o_ = (to);                                                \
		int n_ = N;                                                                        \
		RUN("_Z5applyIfLi" which "EEvPKT_PS0_i", G, 1, on, &i_, &o_, &n_);                 \
	} while (0)
#define EACH(on, from, to)                                                                         \
	do {                                                                                       \
		struct {                                                                           \
			CUdeviceptr x, y;                                                          \
		} f1_ = {(from), (to)};                                                            \
		int n_ = N;                                                                        \
		RUN("_Z4eachI7doubledEviT_", G, 1, on, &n_, &f1_);                                 \
	} while (0)
#define USE_TABLE(on, out)                                                                         \
	do {                                                                                       \
		CUdeviceptr o_ = (out);                                                            \
		RUN("use_table", 16, 1, on, &o_);                                                  \
	} while (0)
#define BATCHED(on, table)                                                                         \
	do {                                                                                       \
		CUdeviceptr t_ = (table);                                                          \
		int n_ = N;                                                                        \
		float v_ = 1;                                                                      \
		RUN("batched", G, 2, on, &t_, &n_, &v_);                                           \
	} while (0)
#define HISTOGRAM(on, in, bins)                                                                    \
	do {                                                                                       \
		CUdeviceptr i_ = (in), o_ = (bins);                                                \
		int n_ = N;                                                                        \
		RUN("histogram", G, 1, on, &i_, &n_, &o_);                                         \
	} while (0)
#define UNUSED(on, given, out)                                                                     \
	do {                                                                                       \
		CUdeviceptr i_ = (given), o_ = (out);                                              \
		RUN("unused", 1, 1, on, &i_, &o_);                                                 \
	} while (0)

static void waw(void)
{
	FILL_(s[0], a, N, 1);
	EDGE();
	FILL_(s[1], a, N, 2);
}

static void raw(void)
{
	SCALE(s[0], a, b);
	EDGE();
	SCALE(s[1], b, c);
}

static void war(void)
{
	SCALE(s[0], a, b);
	EDGE();
	FILL_(s[1], a, N, 3);
}

static void stride(void)
{
	SAXPY(s[0], a, b);
	EDGE();
	SAXPY(s[1], b, c);
}

static void copy(void)
{
	SCALE(s[0], a, b);
	EDGE();
	CU(cuMemcpyDtoDAsync(c, b, 4 * N, s[1]));
}

static void set(void)
{
	SCALE(s[0], a, b);
	EDGE();
	CU(cuMemsetD32Async(a, 0, N, s[1]));
}

static void halves_meet(void)
{
	FILL_(s[0], a, N / 2 + 1, 1);
	EDGE();
	FILL_(s[1], a + 2 * N, N / 2, 2);
}

static void even_even(void)
{
	ROWS(s[0], a, 0);
	EDGE();
	ROWS(s[1], a, 0);
}

static void structs(void)
{
	WORK(s[0], a, b);
	EDGE();
	WORK(s[1], b, c);
}

static void templates(void)
{
	APPLY(s[0], "0", a, b);
	EDGE();
	APPLY(s[1], "1", b, c);
}

static void functors(void)
{
	EACH(s[0], a, b);
	EDGE();
	EACH(s[1], b, c);
}

static void variables(void)
{
	float v = 1;

	RUN("set_table", 16, 1, s[0], &v);
	EDGE();
	USE_TABLE(s[1], a);
}

/* A table of two pointers, copied from the host. */
static CUdeviceptr pointers(CUdeviceptr x, CUdeviceptr y)
{
	CUdeviceptr table, host[2] = {x, y};

	CU(cuMemAlloc(&table, sizeof(host)));
	CU(cuMemcpyHtoD(table, host, sizeof(host)));
	CU(cuCtxSynchronize()); /* a copy from pageable memory may be staged */
	return table;
}

static void tables(void)
{
	CUdeviceptr t = pointers(a, b), u = pointers(b, c);

	BATCHED(s[0], t);
	EDGE();
	BATCHED(s[1], u);
}

static void freed(void)
{
	CUdeviceptr x;

	CU(cuMemAllocAsync(&x, 4 * N, s[0]));
	CU(cuStreamSynchronize(s[0]));
	FILL_(s[0], x, N, 1);
	EDGE();
	CU(cuMemFreeAsync(x, s[1]));
}

static void in_a_graph(void)
{
	CUgraph g;
	CUgraphExec x;

	CU(cuStreamBeginCapture(s[0], CU_STREAM_CAPTURE_MODE_GLOBAL));
	CU(cuEventRecord(done, s[0]));
	CU(cuStreamWaitEvent(s[1], done, 0));
	APPLY(s[0], "0", a, b);
	EDGE();
	APPLY(s[1], "1", b, c);
	CU(cuEventRecord(done, s[1]));
	CU(cuStreamWaitEvent(s[0], done, 0));
	CU(cuStreamEndCapture(s[0], &g));
	CU(cuGraphInstantiateWithFlags(&x, g, 0));
	for (int i = 0; i < 2; i++)
		CU(cuGraphLaunch(x, s[0]));
	CU(cuStreamSynchronize(s[0]));
	CU(cuGraphExecDestroy(x));
	CU(cuGraphDestroy(g));
}

/* --- nothing is missing in these --- */

static void weights(void)
{
	CUdeviceptr out[4] = {b, c, d, d + 4 * N};

	for (int k = 0; k < 3; k++)
		for (int i = 0; i < 4; i++)
			SCALE(s[i], a, out[i]);
}

static void weights_struct(void)
{
	CUdeviceptr out[4] = {b, c, d, d + 4 * N};

	for (int k = 0; k < 3; k++)
		for (int i = 0; i < 4; i++)
			WORK(s[i], a, out[i]);
}

static void halves(void)
{
	FILL_(s[0], a, N / 2, 1);
	FILL_(s[1], a + 2 * N, N / 2, 2);
}

/* The guard, not the grid, keeps them apart. */
static void halves_guarded(void)
{
	FILL_(s[0], a, N / 2 - 5, 1);
	FILL_(s[1], a + 4 * (N / 2 - 5), N / 2, 2);
}

static void even_odd(void)
{
	ROWS(s[0], a, 0);
	ROWS(s[1], a, 1);
}

static void halves_copied(void)
{
	FILL_(s[0], a, N / 2, 1);
	CU(cuMemsetD32Async(a + 2 * N, 0, N / 2, s[1]));
}

static void tables_apart(void)
{
	CUdeviceptr t = pointers(a, b), u = pointers(c, d);

	BATCHED(s[0], t);
	BATCHED(s[1], u);
}

static void atomics(void)
{
	HISTOGRAM(s[0], a, d);
	HISTOGRAM(s[1], a, d);
}

/* The range is empty: n is 0. */
static void nothing(void)
{
	FILL_(s[0], a, N, 1);
	FILL_(s[1], a, 0, 2);
}

static void never_touched(void)
{
	FILL_(s[0], a, N, 1);
	UNUSED(s[1], a, b);
}

static void never_touched_freed(void)
{
	CUdeviceptr x;

	CU(cuMemAllocAsync(&x, 4 * N, s[0]));
	CU(cuStreamSynchronize(s[0]));
	UNUSED(s[1], x, b);
	CU(cuMemFreeAsync(x, s[0]));
}

static void variables_read(void)
{
	USE_TABLE(s[0], a);
	USE_TABLE(s[1], b);
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
#define CASE(f) {#f, f}
	CASE(waw),	    CASE(raw),		  CASE(war),	       CASE(stride),	CASE(copy),
	CASE(set),	    CASE(halves_meet),	  CASE(even_even),     CASE(structs),	CASE(templates),
	CASE(functors),	    CASE(variables),	  CASE(tables),	       CASE(freed),	CASE(in_a_graph),
	CASE(weights),	    CASE(weights_struct), CASE(halves),	       CASE(halves_guarded),
	CASE(even_odd),	    CASE(halves_copied),  CASE(tables_apart),  CASE(atomics),	CASE(nothing),
	CASE(never_touched), CASE(never_touched_freed), CASE(variables_read),
};

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "waw";
	void (*run)(void) = NULL;

	fixed = argc > 2 && !strcmp(argv[2], "fixed");
	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		if (!strcmp(cases[i].name, name))
			run = cases[i].run;
	MUST(run);
	prog_start();
	CU(cuModuleLoadData(&module, nvcc_kernels_ptx));
	for (int i = 0; i < 4; i++) {
		char text[8];

		snprintf(text, sizeof(text), "s%d", i);
		s[i] = stream_nb(text);
	}
	done = event();
	a = device_u32("a", N);
	b = device_u32("b", N);
	c = device_u32("c", N);
	d = device_u32("d", 2 * N);
	set_now(a, 0, N);
	set_now(b, 0, N);
	set_now(c, 0, N);
	set_now(d, 0, 2 * N);
	run();
	CU(cuCtxSynchronize());
	printf("%s\n", name);
	CU(cuEventDestroy(done));
	CU(cuModuleUnload(module));
	prog_end();
	return 0;
}
