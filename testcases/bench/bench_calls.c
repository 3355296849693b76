/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host cost of the driver calls that matter.  Driver API only, so that the same
 * program runs on a card and on the simulated driver.
 *
 *   calls serve CPU       answers each line "SCALE ROUND" on stdin with a short round:
 *                         lines "@ ROW ns", the least of some batches, and "@ end";
 *                         suite.py asks several such processes in turn.  Pinned to CPU.
 *   calls prefetch CPU    the same with a loop that fills pinned buffers and uploads them,
 *                         times in microseconds a buffer
 *   calls graphs ROUNDS   prints the wall time of each launch of a graph of 10, 1,000
 *                         and 10,000 nodes in turn, to take the driver's part off
 */
#define _GNU_SOURCE
#include "cuabi.h"
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CHECK(call)                                                                         \
	do {                                                                                \
		CUresult r_ = (call);                                                       \
		if (r_ != CUDA_SUCCESS) {                                                   \
			fprintf(stderr, "%s: %d\n", #call, (int)r_);                        \
			exit(2);                                                            \
		}                                                                           \
	} while (0)

#define PREFETCH_MAX (64u << 20)

static const char ptx[] = ".version 7.0\n.target sm_50\n.address_size 64\n"
			  ".visible .entry empty(.param .u64 p, .param .u32 n)\n{\n\tret;\n}\n";

static CUdevice dev;
static CUfunction fn;
static CUstream a, b;
static CUevent e;
static CUdeviceptr p;
static void *h;
static CUgraphExec graph[3];
static const unsigned nodes[] = {10, 1000, 10000};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* ---- what is measured ---- */

static void launch(void)
{
	unsigned n = 1;
	void *args[] = {&p, &n};

	CHECK(cuLaunchKernel(fn, 1, 1, 1, 1, 1, 1, 0, a, args, NULL));
}

static void record_wait(void)
{
	CHECK(cuEventRecord(e, a));
	CHECK(cuStreamWaitEvent(b, e, 0));
}

static void set(void)
{
	CHECK(cuMemsetD8Async(p, 0, 4096, a));
}

static void copy(void)
{
	CHECK(cuMemcpyHtoDAsync(p, h, 4096, a));
}

static void graph10(void)
{
	CHECK(cuGraphLaunch(graph[0], a));
}

static void graph1000(void)
{
	CHECK(cuGraphLaunch(graph[1], a));
}

static void graph10000(void)
{
	CHECK(cuGraphLaunch(graph[2], a));
}

/*
 * Two pinned buffers in turn: each is filled once the upload from it before is known to
 * be over.
 */
static void *host[2];
static CUevent uploaded[2];
static CUdeviceptr target;

static void prefetch(size_t size)
{
	static unsigned turn;

	turn ^= 1;
	CHECK(cuEventSynchronize(uploaded[turn]));
	memset(host[turn], (int)turn, size);
	CHECK(cuMemcpyHtoDAsync(target, host[turn], size, a));
	CHECK(cuEventRecord(uploaded[turn], a));
}

static void prefetch_4k(void)
{
	prefetch(4096);
}

static void prefetch_1m(void)
{
	prefetch(1 << 20);
}

static void prefetch_64m(void)
{
	prefetch(PREFETCH_MAX);
}

/* What a program does between two calls: the caches are its own again. */
static void other_work(void)
{
	static char memory[1 << 20];

	for (size_t i = 0; i < sizeof(memory); i += 64)
		memory[i]++;
}

static const struct row {
	const char *name;
	void (*call)(void);
	unsigned calls, batches; /* at scale 1 */
	unsigned every;          /* so many rounds */
	void (*between)(void);   /* each call is timed alone, after this */
	double unit;             /* ns */
} singles[] = {
	{"launch", launch, 100, 10, 1, NULL, 1},
	{"launch_cold", launch, 20, 5, 1, other_work, 1},
	{"record_wait", record_wait, 100, 10, 1, NULL, 1},
	{"set", set, 100, 10, 1, NULL, 1},
	{"copy", copy, 100, 10, 1, NULL, 1},
	{"graph_10", graph10, 10, 10, 1, NULL, 1},
	{"graph_1000", graph1000, 1, 10, 2, NULL, 1},
	{"graph_10000", graph10000, 1, 3, 8, NULL, 1},
	{NULL, NULL, 0, 0, 0, NULL, 0},
}, prefetches[] = {
	{"prefetch_4k", prefetch_4k, 200, 4, 1, NULL, 1e3},
	{"prefetch_1m", prefetch_1m, 20, 4, 1, NULL, 1e3},
	{"prefetch_64m", prefetch_64m, 4, 1, 1, NULL, 1e3},
	{NULL, NULL, 0, 0, 0, NULL, 0},
};

static double batch(const struct row *r, unsigned calls)
{
	double sum = 0, begin;

	CHECK(cuCtxSynchronize());
	begin = now();
	for (unsigned i = 0; i < calls; i++) {
		if (r->between) {
			r->between();
			begin = now();
		}
		r->call();
		if (r->between)
			sum += now() - begin;
	}
	if (!r->between)
		sum = now() - begin;
	CHECK(cuCtxSynchronize());
	return sum / calls;
}

static void round_of(const struct row *r, double scale)
{
	unsigned calls = (unsigned)(r->calls * scale), batches = (unsigned)(r->batches * scale);
	double best = 1e30;

	batch(r, 1); /* warm again */
	for (unsigned i = 0; i < (batches ? batches : 1); i++) {
		double t = batch(r, calls ? calls : 1);

		best = t < best ? t : best;
	}
	printf("@ %s %.1f\n", r->name, best / r->unit);
}

static void serve(const struct row *rows, int cpu)
{
	cpu_set_t one;
	char line[64];

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one); /* this thread alone */
	puts("@ ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		char *end;
		double scale = strtod(line, &end);
		unsigned long round = strtoul(end, NULL, 10);

		for (const struct row *r = rows; r->name; r++)
			if (round % r->every == r->every - 1)
				round_of(r, scale);
		puts("@ end");
		fflush(stdout);
	}
}

static void prefetches_open(void)
{
	for (unsigned i = 0; i < 2; i++) {
		CHECK(cuMemHostAlloc(&host[i], PREFETCH_MAX, 0));
		CHECK(cuEventCreate(&uploaded[i], CU_EVENT_DISABLE_TIMING));
	}
	CHECK(cuMemAlloc(&target, PREFETCH_MAX));
}

static void prefetches_close(void)
{
	for (unsigned i = 0; i < 2; i++) {
		CHECK(cuMemFreeHost(host[i]));
		CHECK(cuEventDestroy(uploaded[i]));
	}
	CHECK(cuMemFree(target));
}

static void graphs(unsigned rounds)
{
	for (unsigned i = 0; i < 3 * rounds; i++) {
		double begin;

		CHECK(cuStreamSynchronize(a));
		for (unsigned k = 0; k < 20; k++) /* what ran meanwhile had the caches */
			CHECK(cuStreamQuery(a));
		begin = now();
		CHECK(cuGraphLaunch(graph[i % 3], a));
		printf("%.0f\n", now() - begin);
	}
	CHECK(cuStreamSynchronize(a));
}

static CUgraphExec star(unsigned n)
{
	CUgraphNode first = NULL, node;
	CUgraphExec x;
	CUgraph g;

	CHECK(cuGraphCreate(&g, 0));
	for (unsigned i = 0; i < n; i++) {
		CHECK(cuGraphAddEmptyNode(&node, g, i ? &first : NULL, i ? 1 : 0));
		first = i ? first : node;
	}
	CHECK(cuGraphInstantiate(&x, g, 0));
	CHECK(cuGraphDestroy(g));
	return x;
}

int main(int argc, char **argv)
{
	CUcontext ctx;
	CUmodule mod;

	if (argc != 3)
		return 2;
	CHECK(cuInit(0));
	CHECK(cuDeviceGet(&dev, 0));
	CHECK(cuDevicePrimaryCtxRetain(&ctx, dev));
	CHECK(cuCtxSetCurrent(ctx));
	CHECK(cuModuleLoadData(&mod, ptx));
	CHECK(cuModuleGetFunction(&fn, mod, "empty"));
	CHECK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
	CHECK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
	CHECK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
	CHECK(cuMemAlloc(&p, 1 << 20));
	CHECK(cuMemHostAlloc(&h, 1 << 20, 0));
	for (unsigned i = 0; i < 3; i++)
		graph[i] = star(nodes[i]);
	if (!strcmp(argv[1], "serve")) {
		serve(singles, atoi(argv[2]));
	} else if (!strcmp(argv[1], "prefetch")) {
		prefetches_open();
		serve(prefetches, atoi(argv[2]));
		prefetches_close();
	} else {
		graphs((unsigned)atoi(argv[2]));
	}
	CHECK(cuCtxSynchronize());
	for (unsigned i = 0; i < 3; i++)
		CHECK(cuGraphExecDestroy(graph[i]));
	CHECK(cuMemFreeHost(h));
	CHECK(cuMemFree(p));
	CHECK(cuEventDestroy(e));
	CHECK(cuStreamDestroy(b));
	CHECK(cuStreamDestroy(a));
	CHECK(cuDevicePrimaryCtxRelease(dev));
	return 0;
}
