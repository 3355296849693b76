/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host cost of the driver calls that matter.  Driver API only, so that the same
 * program runs on a card and on the simulated driver.
 *
 *   calls serve CPU       answers each line "SCALE ROUND" on stdin with a short round:
 *                         lines "@ ROW ns", the least of some batches, and "@ end";
 *                         suite.py asks several such processes in turn.  Pinned to CPU.
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
} rows[] = {
	{"launch", launch, 100, 10, 1, NULL},
	{"launch_cold", launch, 20, 5, 1, other_work},
	{"record_wait", record_wait, 100, 10, 1, NULL},
	{"set", set, 100, 10, 1, NULL},
	{"copy", copy, 100, 10, 1, NULL},
	{"graph_10", graph10, 10, 10, 1, NULL},
	{"graph_1000", graph1000, 1, 10, 2, NULL},
	{"graph_10000", graph10000, 1, 3, 8, NULL},
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
	printf("@ %s %.1f\n", r->name, best);
}

static void serve(int cpu)
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

		for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
			if (round % rows[i].every == 0)
				round_of(&rows[i], scale);
		puts("@ end");
		fflush(stdout);
	}
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
	if (!strcmp(argv[1], "serve"))
		serve(atoi(argv[2]));
	else
		graphs((unsigned)atoi(argv[2]));
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
