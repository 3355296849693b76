/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drives the allocator that the PyTorch feed *replace* installs, without PyTorch:
 * torch_alloc CASE; exits 0 when all of it held.  Run under libkrtsan.so.
 */
#define _GNU_SOURCE
#include "prog.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <sys/wait.h>

#define MIB (1ull << 20)
#define PAIR(a, b) (a), (b)

static void *(*alloc)(size_t, int, void *);
static void (*release)(void *, size_t, int, void *);
static void (*use)(void *, void *);
static void *(*base)(void *, size_t *);
static void (*empty_cache)(void);
static void (*pool_begin)(int, uint64_t, uint64_t, void *);
static void (*pool_end)(int, uint64_t, uint64_t);
static void (*pool_release)(int, uint64_t, uint64_t);
static unsigned (*stats)(int, int64_t *, unsigned);
static void (*reset)(int, int);

static void *sym(const char *name)
{
	void *p = dlsym(RTLD_DEFAULT, name);

	MUST(p);
	return p;
}

/* Figure: allocation 0, segment 1, ..., allocated_bytes 4, reserved_bytes 5; all: current, peak, allocated, freed. */
static int64_t figure(unsigned what, unsigned which)
{
	int64_t s[128];
	unsigned n = stats(0, s, 128);

	MUST(n == 9 * 3 * 4 + 5);
	return s[what * 12 + which];
}

static CUstream stream(void)
{
	CUstream s;

	CU(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	return s;
}

static void caching(void)
{
	CUstream s1 = stream(), s2 = stream();
	void *a, *b, *c, *d;
	size_t size = 0;

	errno = 77;
	a = alloc(1000, 0, s1);
	MUST(a && !((uintptr_t)a % 512) && errno == 77);
	MUST(figure(4, 0) == 1024 && figure(5, 0) == 2 * (int64_t)MIB && figure(8, 0) == 1000);
	b = alloc(1, 0, s1);
	MUST((char *)b == (char *)a + 1024);
	MUST(base(b, &size) == a && size == 2 * MIB);
	release(a, 1000, 0, s1);
	c = alloc(700, 0, s2);
	MUST(c != a); /* another stream's block is another stream's */
	d = alloc(513, 0, s1);
	MUST(d == a);
	release(b, 1, 0, s1);
	release(d, 513, 0, s1);
	release(c, 700, 0, s2);
	MUST(figure(0, 0) == 0 && figure(0, 2) == 4 && figure(1, 0) == 2);
	/* joined again: the whole segment fits */
	a = alloc(MIB, 0, s1);
	b = alloc(MIB, 0, s1);
	MUST(figure(1, 0) == 2 && (char *)b - (char *)a == (ptrdiff_t)MIB);
	release(a, MIB, 0, s1);
	release(b, MIB, 0, s1);
	/* large ones: segments of 20 MiB, or of their own size; the rest of one is split off above 1 MiB */
	a = alloc(5 * MIB, 0, s1);
	b = alloc(14 * MIB, 0, s1);
	MUST(figure(1, 0) == 3 && (char *)b - (char *)a == 5 * (ptrdiff_t)MIB);
	c = alloc(31 * MIB, 0, s1);
	MUST(figure(5, 0) == (2 + 2 + 20 + 32) * (int64_t)MIB);
	release(c, 31 * MIB, 0, s1);
	MUST(alloc(31 * MIB, 0, s1) == c); /* whole: less than 1 MiB would be left */
	release(c, 31 * MIB, 0, s1);
	release(a, 5 * MIB, 0, s1);
	release(b, 14 * MIB, 0, s1);
	MUST(figure(4, 1) >= 36 * (int64_t)MIB);
	reset(0, 1);
	MUST(figure(4, 1) == 0);
	reset(0, 0);
	MUST(figure(0, 2) == 0);
	empty_cache();
	MUST(figure(1, 0) == 0 && figure(5, 0) == 0);
	MUST(!alloc(0, 0, s1));
	release(NULL, 0, 0, s1);
}

static void other_streams(void)
{
	CUstream s1 = stream(), s2 = stream();
	void *a = alloc(4096, 0, s1), *b;
	uint32_t *flag;

	/* s2 waits for the host: the block is in use until the host says so */
	CU(cuMemHostAlloc((void **)&flag, 4096, CU_MEMHOSTALLOC_DEVICEMAP));
	*flag = 0;
	CU(cuStreamWaitValue32(s2, (CUdeviceptr)(uintptr_t)flag, 1, CU_STREAM_WAIT_VALUE_EQ));
	CU(cuMemsetD8Async((CUdeviceptr)(uintptr_t)a, 1, 4096, s2));
	use(a, s2);
	use(a, s2);
	use(a, s1); /* its own: nothing to wait for */
	release(a, 4096, 0, s1);
	MUST(figure(0, 0) == 0 && figure(2, 0) == 1); /* not allocated, still active */
	b = alloc(4096, 0, s1);
	MUST(b != a);
	*(volatile uint32_t *)flag = 1;
	CU(cuStreamSynchronize(s2));
	MUST(alloc(4096, 0, s1) == a);
	MUST(figure(2, 0) == 2);
	release(a, 4096, 0, s1);
	release(b, 4096, 0, s1);
	CU(cuMemFreeHost(flag));
	empty_cache();
	MUST(figure(1, 0) == 0);
}

static void capture(void)
{
	CUstream s = stream(), s2 = stream();
	void *out = alloc(4096, 0, s), *in = alloc(4096, 0, s), *t, *u, *held, *other, *plain;
	CUgraph graph;
	CUgraphExec exec;

	CU(cuMemsetD8Async((CUdeviceptr)(uintptr_t)in, 3, 4096, s));
	CU(cuStreamSynchronize(s));
	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	pool_begin(0, PAIR(0, 7), NULL);
	t = alloc(4096, 0, s); /* a segment, although a capture is under way */
	MUST(base(t, NULL) != base(out, NULL));
	CU(cuMemcpyDtoDAsync((CUdeviceptr)(uintptr_t)t, (CUdeviceptr)(uintptr_t)in, 4096, s));
	release(t, 4096, 0, s);
	u = alloc(4096, 0, s);
	MUST(u == t); /* the graph's own */
	CU(cuMemcpyDtoDAsync((CUdeviceptr)(uintptr_t)u, (CUdeviceptr)(uintptr_t)in, 4096, s));
	CU(cuMemcpyDtoDAsync((CUdeviceptr)(uintptr_t)out, (CUdeviceptr)(uintptr_t)u, 4096, s));
	held = alloc(4096, 0, s);
	use(held, s2);
	release(held, 4096, 0, s);
	MUST(alloc(4096, 0, s) != held); /* used elsewhere: not again in this capture */
	other = alloc(4096, 0, s2);      /* a stream that does not capture */
	MUST(base(other, NULL) != base(u, NULL));
	use(in, s2);
	release(in, 4096, 0, s); /* its event has to wait for the end of the capture */
	pool_end(0, PAIR(0, 7));
	CU(cuStreamEndCapture(s, &graph));
	CU(cuGraphInstantiate(&exec, graph, 0));
	CU(cuGraphDestroy(graph));
	plain = alloc(4096, 0, s);
	MUST(base(plain, NULL) != base(u, NULL)); /* what the graph has stays with it */
	release(u, 4096, 0, s);
	MUST(alloc(4096, 0, s) != u);
	CU(cuStreamSynchronize(s));
	CU(cuGraphExecDestroy(exec));
	empty_cache();
	MUST(figure(1, 0) >= 3); /* the graphs' pool is still held */
	pool_release(0, PAIR(0, 7));
}

#define THREADS 4
static _Atomic unsigned char taken[4u << 20]; /* one a unit of 512 bytes, by the low bits of its number */

static void *work(void *arg)
{
	unsigned seed = (unsigned)(uintptr_t)arg;
	CUstream s;
	void *held[64] = { 0 };
	size_t size[64];
	CUcontext ctx;

	CU(cuDevicePrimaryCtxRetain(&ctx, 0));
	CU(cuCtxSetCurrent(ctx));
	s = stream();
	for (unsigned i = 0; i < 4000; i++) {
		unsigned k = (unsigned)rand_r(&seed) % 64;

		if (held[k]) {
			for (size_t u = 0; u < (size[k] + 511) / 512; u++)
				MUST(atomic_exchange(&taken[((uintptr_t)held[k] / 512 + u) % sizeof(taken)], 0) == 1);
			release(held[k], size[k], 0, s);
			held[k] = NULL;
		} else {
			size[k] = 1 + (size_t)rand_r(&seed) % (rand_r(&seed) % 8 ? 20000 : 3000000);
			held[k] = alloc(size[k], 0, s);
			MUST(held[k]);
			for (size_t u = 0; u < (size[k] + 511) / 512; u++)
				MUST(atomic_exchange(&taken[((uintptr_t)held[k] / 512 + u) % sizeof(taken)], 1) == 0);
		}
	}
	for (unsigned k = 0; k < 64; k++)
		if (held[k])
			release(held[k], size[k], 0, s);
	return NULL;
}

static void threads(void)
{
	pthread_t t[THREADS];

	for (uintptr_t i = 0; i < THREADS; i++)
		MUST(!pthread_create(&t[i], NULL, work, (void *)(i + 1)));
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	MUST(figure(0, 0) == 0 && figure(4, 0) == 0 && figure(2, 0) == 0);
	MUST(figure(0, 2) == figure(0, 3) && figure(4, 2) == figure(4, 3));
	empty_cache();
	MUST(figure(1, 0) == 0 && figure(5, 0) == 0);
}

static void exhausted(void)
{
	CUstream s = stream();
	void *a = alloc(3000, 0, s), *b;

	release(a, 3000, 0, s);
	MUST(!alloc((size_t)1 << 50, 0, s)); /* and what was cached was given back before */
	MUST(!alloc(SIZE_MAX, 0, s) && !alloc(1, 63, s) && !alloc(1, 64, s) && !alloc(1, -1, s));
	b = alloc(3000, 0, s);
	MUST(b);
	release(b, 3000, 0, s);
}

static void forked(void)
{
	CUstream s = stream();
	void *a = alloc(3000, 0, s), *b;
	int status;
	pid_t pid = fork();

	if (!pid) {
		release(a, 3000, 0, s); /* as a destructor that runs in the child */
		use(a, s);
		empty_cache();
		_exit(alloc(100, 0, s) ? 1 : 0);
	}
	MUST(waitpid(pid, &status, 0) == pid && !status);
	b = alloc(3000, 0, s);
	MUST(b != a);
	release(a, 3000, 0, s);
	MUST(alloc(3000, 0, s) == a);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*fn)(void);
	} cases[] = { { "caching", caching }, { "other_streams", other_streams }, { "capture", capture },
		      { "threads", threads }, { "exhausted", exhausted }, { "forked", forked } };

	*(void **)&alloc = sym("krtsan_torch_alloc");
	*(void **)&release = sym("krtsan_torch_free");
	*(void **)&use = sym("krtsan_torch_record_stream");
	*(void **)&base = sym("krtsan_torch_base");
	*(void **)&empty_cache = sym("krtsan_torch_empty_cache");
	*(void **)&pool_begin = sym("krtsan_torch_pool_begin");
	*(void **)&pool_end = sym("krtsan_torch_pool_end");
	*(void **)&pool_release = sym("krtsan_torch_pool_release");
	*(void **)&stats = sym("krtsan_torch_stats");
	*(void **)&reset = sym("krtsan_torch_reset");
	CU(cuInit(0));
	for (unsigned i = 0; argc > 1 && i < sizeof(cases) / sizeof(*cases); i++)
		if (!strcmp(argv[1], cases[i].name)) {
			/* as under the runtime: the primary context, current on this thread or not yet */
			if (i) {
				CUcontext ctx;

				CU(cuDevicePrimaryCtxRetain(&ctx, 0));
				CU(cuCtxSetCurrent(ctx));
			} else {
				void *first = alloc(1, 0, NULL);
				CUcontext ctx;

				MUST(first && !cuCtxGetCurrent(&ctx) && !ctx);
				release(first, 1, 0, NULL);
				empty_cache();
				CU(cuDevicePrimaryCtxRetain(&ctx, 0));
				CU(cuCtxSetCurrent(ctx));
				reset(0, 0);
				reset(0, 1);
			}
			cases[i].fn();
			return 0;
		}
	return 2;
}
