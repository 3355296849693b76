/* SPDX-License-Identifier: Apache-2.0 */
/* Order of the simulated device: streams, events, the legacy rule, blocking calls, adversarial
 * orders. */
#include "test.h"

/* Keeps stream s busy until release(): a wait for a word of pinned memory. */
static volatile uint32_t *gate_word;
static uint32_t gate_value;

static void gate(CUstream s)
{
	void *p;

	if (!gate_word) {
		CU(cuMemHostAlloc(&p, 4096, CU_MEMHOSTALLOC_DEVICEMAP));
		gate_word = p;
	}
	CU(cuStreamWaitValue32(s, (CUdeviceptr)(uintptr_t)gate_word, ++gate_value,
			       CU_STREAM_WAIT_VALUE_GEQ));
}

static void *releaser(void *arg)
{
	struct timespec ts = {0, 60000000};

	(void)arg;
	nanosleep(&ts, NULL);
	*gate_word = gate_value;
	return NULL;
}

/* Does the call wait for the stream that the gate keeps busy? */
#include <pthread.h>
#define WAITS(s, call)                                                                             \
	__extension__({                                                                            \
		pthread_t t_;                                                                      \
		bool waited_;                                                                      \
		pthread_create(&t_, NULL, releaser, NULL);                                         \
		CU(call);                                                                          \
		waited_ = *gate_word == gate_value;                                                \
		pthread_join(t_, NULL);                                                            \
		CU(cuStreamSynchronize(s));                                                        \
		waited_;                                                                           \
	})

static void block_frees(void)
{
	CUdeviceptr a, b, m;
	CUstream s;
	void *h, *r = aligned_alloc(4096, 8192);
	bool doc = getenv("KRTSAN_OPTIONS") && strstr(getenv("KRTSAN_OPTIONS"), "documented");

	test_ctx(0);
	CU(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	CU(cuMemAlloc(&a, 4 << 20));
	CU(cuMemAllocManaged(&m, 4096, CU_MEM_ATTACH_GLOBAL));
	CU(cuMemHostAlloc(&h, 4096, 0));
	CU(cuMemHostRegister(r, 8192, 0));
	CU(cuMemAllocAsync(&b, 4096, s));
	CU(cuStreamSynchronize(s));

	gate(s);
	CHECK(!WAITS(s, cuMemFree(b)));
	gate(s);
	CHECK(WAITS(s, cuMemFree(a)) == !doc);
	gate(s);
	CHECK(WAITS(s, cuMemFree(m)) == !doc);
	gate(s);
	CHECK(WAITS(s, cuMemHostUnregister(r)) == !doc);
	gate(s);
	CHECK(WAITS(s, cuMemFreeHost(h)) == !doc);
	gate(s);
	CHECK(!WAITS(s, cuMemAlloc(&a, 1 << 20)));
	gate(s);
	CHECK(!WAITS(s, cuMemHostAlloc(&h, 4096, 0)));
	gate(s);
	CHECK(!WAITS(s, cuMemHostRegister(r, 4096, 0)));
	gate(s);
	CHECK(!WAITS(s, cuMemAllocManaged(&m, 4096, CU_MEM_ATTACH_GLOBAL)));
	free(r);
}

static void block_pool(void)
{
	CUdeviceptr p;
	CUstream s, t;

	test_ctx(0);
	CU(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	CU(cuStreamCreate(&t, CU_STREAM_NON_BLOCKING));
	gate(s);
	CHECK(!WAITS(s, cuMemAllocAsync(&p, 4096, t)));
	gate(s);
	CHECK(!WAITS(s, cuMemFreeAsync(p, t)));
}

static void block_objects(void)
{
	CUstream s, t;
	CUevent e;
	size_t a, b;

	test_ctx(0);
	CU(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	gate(s);
	CHECK(!WAITS(s, cuEventCreate(&e, 0)));
	gate(s);
	CHECK(!WAITS(s, cuEventDestroy(e)));
	gate(s);
	CHECK(!WAITS(s, cuStreamCreate(&t, 0)));
	gate(s);
	CHECK(!WAITS(s, cuStreamDestroy(t)));
	gate(s);
	CHECK(!WAITS(s, cuMemGetInfo(&a, &b)));
}

static void block_unmap(void)
{
	CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
				    .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
	CUmemGenericAllocationHandle h;
	CUdeviceptr d;
	CUstream s;

	test_ctx(0);
	CU(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	CU(cuMemCreate(&h, 2 << 20, &prop, 0));
	CU(cuMemAddressReserve(&d, 2 << 20, 0, 0, 0));
	CU(cuMemMap(d, 2 << 20, 0, h, 0));
	gate(s);
	CHECK(!WAITS(s, cuMemUnmap(d, 2 << 20)));
	CU(cuMemRelease(h));
	CU(cuMemAddressFree(d, 2 << 20));
}

static void block_copies(void)
{
	static char big[4 << 20], small[16384];
	CUdeviceptr d, d2;
	CUstream nb, bl;
	void *pin;

	test_ctx(0);
	CU(cuStreamCreate(&nb, CU_STREAM_NON_BLOCKING));
	CU(cuStreamCreate(&bl, 0));
	CU(cuMemAlloc(&d, sizeof big));
	CU(cuMemAlloc(&d2, sizeof big));
	CU(cuMemHostAlloc(&pin, sizeof big, 0));
	gate(nb);
	CHECK(!WAITS(nb, cuMemcpyHtoD(d, pin, 4096)));
	gate(nb);
	CHECK(!WAITS(nb, cuMemcpyDtoH(pin, d, 4096)));
	gate(nb);
	CHECK(!WAITS(nb, cuStreamSynchronize(NULL)));
	gate(bl);
	CHECK(WAITS(bl, cuMemcpyHtoD(d, pin, 4096)));
	gate(bl);
	CHECK(WAITS(bl, cuMemcpyDtoH(pin, d, 4096)));
	gate(bl);
	CHECK(!WAITS(bl, cuMemcpyDtoD(d, d2, 4096)));
	gate(bl);
	CHECK(!WAITS(bl, cuMemsetD8(d, 1, 4096)));
	gate(bl);
	CHECK(WAITS(bl, cuStreamSynchronize(NULL)));

	gate(nb);
	CHECK(!WAITS(nb, cuMemcpyHtoDAsync(d, small, sizeof small, nb)));
	gate(nb);
	CHECK(WAITS(nb, cuMemcpyHtoDAsync(d, big, sizeof big, nb)));
	/* Its own transfer is still to come. */
	CU(cuMemcpyHtoDAsync(d, big, sizeof big, nb));
	FAILS(CUDA_ERROR_NOT_READY, cuStreamQuery(nb));
	gate(nb);
	CHECK(WAITS(nb, cuMemcpyDtoHAsync(small, d, 64, nb)));
	gate(nb);
	CHECK(WAITS(nb, cuMemcpyDtoHAsync(big, d, sizeof big, nb)));
	CU(cuMemcpyDtoHAsync(big, d, sizeof big, nb));
	CU(cuStreamQuery(nb));
	gate(nb);
	CHECK(!WAITS(nb, cuMemcpyDtoHAsync(pin, d, 4096, nb)));
	CU(cuMemcpyHtoD(d, small, sizeof small));
	CU(cuStreamQuery(NULL));
}

static void doc_copies(void)
{
	static char small[64];
	CUdeviceptr d, m;
	CUstream bl;
	void *pin;

	test_ctx(0);
	CU(cuStreamCreate(&bl, 0));
	CU(cuMemAlloc(&d, 4096));
	CU(cuMemAllocManaged(&m, 4096, CU_MEM_ATTACH_GLOBAL));
	CU(cuMemHostAlloc(&pin, 4096, 0));
	CU(cuMemcpyHtoD(d, small, sizeof small));
	FAILS(CUDA_ERROR_NOT_READY, cuStreamQuery(NULL));
	CU(cuStreamSynchronize(NULL));
	CU(cuMemcpyHtoD(m, pin, 4096));
	CU(cuStreamQuery(NULL));
	CU(cuMemcpyHtoD(m, small, sizeof small));
	FAILS(CUDA_ERROR_NOT_READY, cuStreamQuery(NULL));
	gate(bl);
	CHECK(!WAITS(bl, cuStreamSynchronize(NULL)));
	gate(bl);
	CHECK(!WAITS(bl, cuMemcpyDtoHAsync(small, d, 64, bl)));
}

static uint32_t word(CUdeviceptr d)
{
	uint32_t v = 0;

	CU(cuMemcpyDtoH(&v, d, 4));
	return v;
}

static void fifo(void)
{
	CUdeviceptr d;
	CUstream s;

	test_ctx(0);
	CU(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	CU(cuMemAlloc(&d, 4));
	for (uint32_t i = 1; i <= 2000; i++)
		CU(cuMemsetD32Async(d, i, 1, s));
	CU(cuStreamSynchronize(s));
	CHECK(word(d) == 2000);
}

static void legacy(void)
{
	CUdeviceptr d, e;
	CUstream a, b, nb;

	test_ctx(0);
	CU(cuStreamCreate(&a, 0));
	CU(cuStreamCreate(&b, 0));
	CU(cuStreamCreate(&nb, CU_STREAM_NON_BLOCKING));
	CU(cuMemAlloc(&d, 4096));
	CU(cuMemAlloc(&e, 4096));
	/* a, then legacy, then b: one chain. */
	for (int i = 0; i < 20; i++) {
		CU(cuMemsetD32Async(d, 10, 1024, a));
		CU(cuMemcpyDtoDAsync(e, d, 4096, NULL));
		CU(cuMemsetD32Async(d, 20, 1024, b));
		CU(cuStreamSynchronize(b));
		CHECK(word(e) == 10);
		CHECK(word(d) == 20);
		CU(cuMemsetD32(e, 0, 1024));
	}
	CU(cuCtxSynchronize());
	/* A non-blocking stream is not in it. */
	CU(cuMemsetD32Async(d, 1, 1024, nb));
	CU(cuMemcpyDtoDAsync(e, d, 4096, NULL));
	CU(cuCtxSynchronize());
	CHECK(word(e) == 20);
}

/* Two operations on two streams, with an edge or without. */
static uint32_t pair(bool edge)
{
	CUdeviceptr x, y;
	CUstream a, b;
	CUevent e;
	uint32_t v;

	CU(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
	CU(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
	CU(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
	CU(cuMemAlloc(&x, 4));
	CU(cuMemAlloc(&y, 4));
	CU(cuMemsetD32(x, 0, 1));
	CU(cuCtxSynchronize());
	CU(cuMemsetD32Async(x, 7, 1, a));
	CU(cuEventRecord(e, a));
	if (edge)
		CU(cuStreamWaitEvent(b, e, 0));
	CU(cuMemcpyDtoDAsync(y, x, 4, b));
	CU(cuStreamSynchronize(a));
	CU(cuStreamSynchronize(b));
	v = word(y);
	CU(cuMemFree(x));
	CU(cuMemFree(y));
	CU(cuEventDestroy(e));
	CU(cuStreamDestroy(a));
	CU(cuStreamDestroy(b));
	return v;
}

static void in_seeds(void (*f)(void))
{
	for (int seed = 1; seed <= 20; seed++) {
		char v[16];
		int st;

		fflush(NULL);
		if (!fork()) {
			snprintf(v, sizeof v, "%d", seed);
			setenv("KRTSAN_SIM_SEED", v, 1);
			f();
			_exit(0);
		}
		wait(&st);
		CHECK(st == 0);
	}
}

static void adversary_body(void)
{
	test_ctx(0);
	for (int i = 0; i < 5; i++) {
		CHECK(pair(false) == 0);
		CHECK(pair(true) == 7);
	}
}

static void adversary(void)
{
	in_seeds(adversary_body);
}

static void in_order(void)
{
	test_ctx(0);
	for (int i = 0; i < 5; i++)
		CHECK(pair(false) == 7);
}

/* Far more than any queue holds, behind a wait that only the program can end. */
static void deep_queue(void)
{
	CUdeviceptr d;
	CUstream s, t;

	test_ctx(0);
	CU(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	CU(cuStreamCreate(&t, CU_STREAM_NON_BLOCKING));
	CU(cuMemAlloc(&d, 8));
	gate(s);
	for (uint32_t i = 0; i < 3000; i++)
		CU(cuMemsetD32Async(d, i, 1, s));
	for (uint32_t i = 0; i < 3000; i++)
		CU(cuMemsetD32Async(d + 4, i, 1, t));
	CU(cuStreamSynchronize(t));
	CHECK(word(d + 4) == 2999);
	*gate_word = gate_value;
	CU(cuStreamSynchronize(s));
	CHECK(word(d) == 2999);
}

/* Late reads of the host's buffers, missing waits of the host. */
static void host_body(void)
{
	CUdeviceptr d;
	CUstream s;
	volatile uint32_t *p;
	void *v;

	test_ctx(0);
	CU(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	CU(cuMemAlloc(&d, 4));
	CU(cuMemHostAlloc(&v, 4096, 0));
	p = v;
	*p = 1;
	CU(cuMemcpyHtoDAsync(d, v, 4, s));
	*p = 2; /* too early */
	CU(cuStreamSynchronize(s));
	CHECK(word(d) == 2);
	*p = 3;
	CU(cuMemcpyHtoDAsync(d, v, 4, s));
	CU(cuStreamSynchronize(s));
	*p = 4;
	CHECK(word(d) == 3);
	CU(cuMemcpyDtoHAsync(v, d, 4, s));
	CHECK(*p == 4); /* too early */
	CU(cuStreamSynchronize(s));
	CHECK(*p == 3);
}

static void host_races(void)
{
	in_seeds(host_body);
}

static void events(void)
{
	CUdeviceptr d, out;
	CUstream a, b, c;
	CUevent e, never;

	test_ctx(0);
	CU(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
	CU(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
	CU(cuStreamCreate(&c, CU_STREAM_NON_BLOCKING));
	CU(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
	CU(cuEventCreate(&never, 0));
	CU(cuMemAlloc(&d, 4));
	CU(cuMemAlloc(&out, 4));

	/* Never recorded: complete, and no edge. */
	CU(cuEventQuery(never));
	CU(cuEventSynchronize(never));
	CU(cuStreamWaitEvent(a, never, 0));

	/* A wait binds to the record at the call, whatever comes later. */
	CU(cuMemsetD32Async(d, 1, 1, a));
	CU(cuEventRecord(e, a));
	CU(cuStreamWaitEvent(b, e, 0));
	gate(c);
	CU(cuEventRecord(e, c));
	CU(cuMemcpyDtoDAsync(out, d, 4, b));
	CU(cuStreamSynchronize(b));
	CHECK(word(out) == 1);
	FAILS(CUDA_ERROR_NOT_READY, cuEventQuery(e));
	FAILS(CUDA_ERROR_NOT_READY, cuEventQuery(e));
	*gate_word = gate_value;
	CU(cuEventSynchronize(e));
	CU(cuEventQuery(e));

	/* Overwritten before the wait: the first record's work is not waited for. */
	CU(cuMemsetD32Async(d, 2, 1, a));
	CU(cuEventRecord(e, a));
	CU(cuEventRecord(e, c));
	CU(cuStreamWaitEvent(b, e, 0));
	CU(cuMemcpyDtoDAsync(out, d, 4, b));
	CU(cuStreamSynchronize(b));
	CHECK(word(out) == 1);

	/* Destroyed while pending: the wait stays. */
	CU(cuCtxSynchronize());
	CU(cuMemsetD32Async(d, 3, 1, a));
	CU(cuEventRecord(e, a));
	CU(cuStreamWaitEvent(b, e, 0));
	CU(cuEventDestroy(e));
	CU(cuStreamDestroy(a));
	CU(cuMemcpyDtoDAsync(out, d, 4, b));
	CU(cuStreamSynchronize(b));
	CHECK(word(out) == 3);
	FAILS(CUDA_ERROR_INVALID_HANDLE, cuEventRecord(e, b));
	FAILS(CUDA_ERROR_INVALID_HANDLE, cuStreamSynchronize(a));
}

static void elapsed(void)
{
	CUdeviceptr d;
	CUevent a, b;
	float ms = 0, ms2 = 0;

	test_ctx(0);
	CU(cuMemAlloc(&d, 64 << 20));
	CU(cuEventCreate(&a, 0));
	CU(cuEventCreate(&b, 0));
	for (int i = 0; i < 2; i++) {
		CU(cuEventRecord(a, NULL));
		CU(cuMemsetD8Async(d, 0, 64 << 20, NULL));
		CU(cuEventRecord(b, NULL));
		if (!i)
			FAILS(CUDA_ERROR_NOT_READY, cuEventElapsedTime(&ms, a, b));
		CU(cuEventSynchronize(b));
		CU(cuEventElapsedTime(i ? &ms2 : &ms, a, b));
	}
	CHECK(ms > 5 && ms < 8 && ms == ms2);
}

static void queries(void)
{
	CUdeviceptr d;
	CUstream s;
	int n = 0;

	test_ctx(0);
	CU(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	CU(cuMemAlloc(&d, 4));
	for (uint32_t i = 0; i < 500; i++)
		CU(cuMemsetD32Async(d, i, 1, s));
	FAILS(CUDA_ERROR_NOT_READY, cuStreamQuery(s));
	while (cuStreamQuery(s) == CUDA_ERROR_NOT_READY)
		n++;
	CHECK(n > 2 && n < 500);
	CHECK(word(d) == 499);
}

/* The program makes no call: queued work goes on, and ends when it looks only. */
static void idle(void)
{
	CUdeviceptr d;
	CUstream s;
	volatile uint32_t *p;
	struct timespec ts = {0, 200000000};
	void *v;

	test_ctx(0);
	CU(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	CU(cuMemHostAlloc(&v, 4096, CU_MEMHOSTALLOC_DEVICEMAP));
	CU(cuMemHostGetDevicePointer(&d, v, 0));
	p = v;
	CU(cuMemsetD32Async(d, 1, 1, s));
	while (*p != 1)
		;
	CU(cuMemsetD32Async(d, 2, 1, s));
	nanosleep(&ts, NULL);
	CHECK(*p == 2);
}

static volatile int seen;
static CUdeviceptr fn_dev;
static CUresult fn_call;

static void fn(void *arg)
{
	seen = *(volatile int *)arg;
	fn_call = cuMemsetD32Async(fn_dev, 1, 1, NULL);
}

static void cb(CUstream s, CUresult r, void *arg)
{
	(void)s;
	seen = r == CUDA_SUCCESS ? *(volatile int *)arg + 1 : -1;
}

static void hostfn(void)
{
	CUstream s;
	void *v;

	test_ctx(0);
	CU(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	CU(cuMemHostAlloc(&v, 4096, 0));
	CU(cuMemAlloc(&fn_dev, 4));
	CU(cuMemsetD32Async((CUdeviceptr)(uintptr_t)v, 41, 1, s));
	CU(cuLaunchHostFunc(s, fn, v));
	CU(cuStreamSynchronize(s));
	CHECK(seen == 41 && fn_call == CUDA_ERROR_NOT_PERMITTED);
	CU(cuStreamAddCallback(s, cb, v, 0));
	CU(cuStreamSynchronize(s));
	CHECK(seen == 42);
}

static volatile int may_return;

static void slow_fn(void *arg)
{
	(void)arg;
	while (!may_return)
		usleep(1000);
}

/* A host function that waits for the program: the device and other calls go on. */
static void hostfn_slow(void)
{
	CUdeviceptr d;
	CUstream s, t;

	test_ctx(0);
	CU(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	CU(cuStreamCreate(&t, CU_STREAM_NON_BLOCKING));
	CU(cuMemAlloc(&d, 4));
	CU(cuLaunchHostFunc(s, slow_fn, NULL));
	CU(cuMemsetD32Async(d, 5, 1, t));
	usleep(100000);
	CU(cuStreamSynchronize(t));
	FAILS(CUDA_ERROR_NOT_READY, cuStreamQuery(s));
	may_return = 1;
	CU(cuStreamSynchronize(s));
}

static void values(void)
{
	CUdeviceptr f, d;
	CUstream a, b;

	test_ctx(0);
	CU(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
	CU(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
	CU(cuMemAlloc(&f, 64));
	CU(cuMemAlloc(&d, 4));
	CU(cuMemsetD32(f, 0, 16));
	CU(cuMemsetD32(d, 0, 1));
	CU(cuCtxSynchronize());
	CU(cuStreamWaitValue64(b, f, 1ull << 40, CU_STREAM_WAIT_VALUE_GEQ));
	CU(cuMemsetD32Async(d, 9, 1, b));
	FAILS(CUDA_ERROR_NOT_READY, cuStreamQuery(b));
	FAILS(CUDA_ERROR_NOT_READY, cuStreamQuery(b));
	CHECK(word(d) == 0);
	CU(cuStreamWriteValue64(a, f, 1ull << 40, 0));
	CU(cuStreamSynchronize(b));
	CHECK(word(d) == 9);
	/* Nobody will ever write: calls for other streams stay possible. */
	CU(cuStreamWaitValue32(b, f + 32, 1, CU_STREAM_WAIT_VALUE_EQ));
	CU(cuMemsetD32Async(d, 10, 1, a));
	CU(cuStreamSynchronize(a));
	CHECK(word(d) == 10);
	FAILS(CUDA_ERROR_INVALID_VALUE, cuStreamWaitValue32(b, f + 1, 1, 0));
}

static void pools(void)
{
	CUdeviceptr p, q, r, out;
	CUmemoryPool pool;
	CUstream a, b;
	CUevent e;
	int off = 0;
	uint64_t keep = UINT64_MAX;

	test_ctx(0);
	CU(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
	CU(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
	CU(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
	CU(cuMemAlloc(&out, 4));
	CU(cuDeviceGetDefaultMemPool(&pool, 0));
	CU(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
	/* Same stream: the address comes again. */
	CU(cuMemAllocAsync(&p, 4096, a));
	CU(cuMemFreeAsync(p, a));
	CU(cuMemAllocAsync(&q, 4096, a));
	CHECK(p == q);
	/* Other stream: again, behind a wait that the driver puts in. */
	CU(cuMemsetD32Async(q, 1, 1, a));
	CU(cuMemcpyDtoDAsync(out, q, 4, a));
	CU(cuMemFreeAsync(q, a));
	CU(cuMemAllocAsync(&r, 4096, b));
	CHECK(r == q);
	CU(cuMemsetD32Async(r, 2, 1, b));
	CU(cuStreamSynchronize(b));
	CHECK(word(out) == 1 && word(r) == 2);
	CU(cuMemFreeAsync(r, b));
	CU(cuCtxSynchronize());
	/* Without the internal wait: only what has completed, or what an event orders. */
	CU(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, &off));
	CU(cuMemAllocAsync(&p, 4096, a));
	CU(cuMemFreeAsync(p, a));
	CU(cuMemAllocAsync(&q, 4096, b));
	CHECK(p != q);
	CU(cuEventRecord(e, a));
	CU(cuStreamWaitEvent(b, e, 0));
	CU(cuMemAllocAsync(&r, 4096, b));
	CHECK(r == p);
	CU(cuMemFreeAsync(r, b));
	CU(cuStreamSynchronize(b));
	CU(cuMemAllocAsync(&p, 4096, a));
	CHECK(p == r); /* the free was seen to have completed */
}

/* Used before its allocation, used after its free, in device order. */
static void pool_body(void)
{
	CUdeviceptr p, out;
	CUstream a, b;

	test_ctx(0);
	CU(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
	CU(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
	CU(cuMemAlloc(&out, 4));
	CU(cuMemAllocAsync(&p, 4096, a));
	CU(cuMemsetD32Async(p, 1, 1, b));
	CU(cuMemcpyDtoDAsync(out, p, 4, a));
	CU(cuCtxSynchronize());
	CHECK(word(out) != 1);
	CU(cuMemsetD32Async(p, 1, 1, a));
	CU(cuStreamSynchronize(a));
	CU(cuMemcpyDtoDAsync(out, p, 4, b));
	CU(cuMemFreeAsync(p, a));
	CU(cuCtxSynchronize());
	CHECK(word(out) != 1);
}

static void pool_misuse(void)
{
	in_seeds(pool_body);
}

static void batches(void)
{
	CUmemcpyAttributes at = {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL};
	CUdeviceptr d[2], s[2];
	size_t n[2] = {4, 4}, idx = 0;
	uint32_t src[2] = {1, 2};
	CUstream a;

	test_ctx(0);
	CU(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
	CU(cuMemAlloc(&d[0], 4));
	CU(cuMemAlloc(&d[1], 4));
	s[0] = (CUdeviceptr)(uintptr_t)&src[0];
	s[1] = (CUdeviceptr)(uintptr_t)&src[1];
	CU(cuMemcpyBatchAsync(d, s, n, 2, &at, &idx, 1, a));
	src[0] = src[1] = 0;
	CU(cuStreamSynchronize(a));
	CHECK(word(d[0]) == 1 && word(d[1]) == 2);
	src[0] = 5;
	at.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
	CU(cuMemcpyBatchAsync(d, s, n, 2, &at, &idx, 1, a));
	src[0] = 6; /* too early */
	CU(cuStreamSynchronize(a));
	CHECK(word(d[0]) == 6);
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpyBatchAsync(d, s, n, 2, &at, &idx, 1, NULL));
}

static void per_thread(void)
{
	CUdeviceptr d, e;

	test_ctx(0);
	CU(cuMemAlloc(&d, 4));
	CU(cuMemAlloc(&e, 4));
	CU(cuMemsetD32(d, 0, 1));
	CU(cuCtxSynchronize());
	/* A per-thread stream is a blocking one. */
	CU(cuMemsetD32Async(d, 1, 1, CU_STREAM_PER_THREAD));
	CU(cuMemcpyDtoDAsync(e, d, 4, CU_STREAM_LEGACY));
	CU(cuStreamSynchronize(CU_STREAM_LEGACY));
	CHECK(word(e) == 1);
	CU(cuMemsetD32Async_ptsz(d, 2, 1, NULL));
	CU(cuStreamSynchronize_ptsz(NULL));
	CHECK(word(d) == 2);
}

/* It is no operation: nothing of the legacy stream that others wait for. */
static void wait_unrecorded(void)
{
	CUstream a, b;
	CUevent e;

	test_ctx(0);
	CU(cuStreamCreate(&a, 0));
	CU(cuStreamCreate(&b, 0));
	CU(cuEventCreate(&e, 0));
	gate(a);
	CU(cuStreamWaitEvent(NULL, e, 0));
	CHECK(!WAITS(a, cuStreamSynchronize(b)));
	CU(cuEventRecord(e, b));
	gate(a);
	CU(cuStreamWaitEvent(NULL, e, 0));
	CU(cuEventRecord(e, b));
	CHECK(WAITS(a, cuStreamSynchronize(b)));
}

static void trace_body(void)
{
	adversary_body();
	host_body();
	pool_body();
}

static char *trace_of(int seed)
{
	char name[] = "/tmp/sim-trace-XXXXXX", v[16];
	int fd = mkstemp(name), st;
	char *buf = calloc(1, 1 << 20);

	fflush(NULL);
	if (!fork()) {
		snprintf(v, sizeof v, "%d", seed);
		setenv("KRTSAN_SIM_SEED", v, 1);
		setenv("KRTSAN_SIM_TRACE", "1", 1);
		dup2(fd, 2);
		trace_body();
		_exit(0);
	}
	wait(&st);
	CHECK(st == 0);
	lseek(fd, 0, SEEK_SET);
	CHECK(read(fd, buf, (1 << 20) - 1) > 100);
	close(fd);
	unlink(name);
	return buf;
}

static void determinism(void)
{
	for (int seed = 1; seed <= 5; seed++) {
		char *a = trace_of(seed), *b = trace_of(seed);

		CHECK(!strcmp(a, b));
		free(a);
		free(b);
	}
}

static const struct test tests[] = {
	{"block-frees", block_frees, NULL},
	{"block-frees-documented", block_frees, "sim_view=documented"},
	{"block-pool", block_pool, NULL},
	{"block-objects", block_objects, NULL},
	{"block-unmap", block_unmap, NULL},
	{"block-copies", block_copies, NULL},
	{"block-copies-documented", doc_copies, "x=1:sim_view=documented"},
	{"fifo", fifo, NULL},
	{"legacy", legacy, NULL},
	{"adversary", adversary, NULL},
	{"in-order", in_order, "sim_seed=0"},
	{"deep-queue", deep_queue, NULL},
	{"host-races", host_races, NULL},
	{"events", events, NULL},
	{"wait-unrecorded", wait_unrecorded, NULL},
	{"elapsed", elapsed, NULL},
	{"queries", queries, NULL},
	{"idle", idle, NULL},
	{"hostfn", hostfn, NULL},
	{"hostfn-slow", hostfn_slow, NULL},
	{"values", values, NULL},
	{"pools", pools, NULL},
	{"pool-misuse", pool_misuse, NULL},
	{"batches", batches, NULL},
	{"per-thread", per_thread, NULL},
	{"determinism", determinism, NULL},
	{NULL, NULL, NULL},
};

int main(int argc, char **argv)
{
	return test_main(tests, argc, argv);
}
