/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A replica of a real dispatch path: an executor serves requests with a transient
 * device pool, a pinned staging pool, two uploads and a params upload, device
 * clears, a launch loop on one stream a session, and a readback of a sub-range,
 * padded.  A completion event guards the recycling of everything a request holds.
 * The error path synchronises before it recycles, and leaks rather than recycles
 * when completion cannot be proven.  Two sessions share the pools.
 *
 * Without arguments it is right, and silent; each argument removes one protection.
 *
 * ARGS: recycle-staging
 * EXPECT: KRT-HOST-WRITE-RACE error certain both count>=3
 * SIM-WRONG: a request computes with the next one's inputs
 * ARGS: recycle-device
 * EXPECT: KRT-RACE-WAR error certain both count>=3
 * SIM-WRONG: a request computes with the next one's inputs
 * ARGS: skip-event
 * EXPECT: KRT-EVENT-UNRECORDED warning certain both count>=1
 * EXPECT: KRT-HOST-READ-RACE error certain both count=2
 * SIM-WRONG: the answer is not there yet
 * GUARD: KRT-EVENT-UNRECORDED
 * ARGS: skip-error-sync
 * EXPECT: KRT-HOST-WRITE-RACE error certain both count>=3
 * EXPECT: KRT-RACE-WAW error certain both count>=3
 * ARGS: recycle-unproven
 * EXPECT: KRT-HOST-WRITE-RACE error certain both count>=3
 * EXPECT: KRT-RACE-WAW error certain both count>=3
 * ARGS: readback-past
 * EXPECT: KRT-COPY-BOUNDS error certain both count>=1
 */
#include "prog.h"
#include "gate.h"

enum {
	ELEMS = 1024, /* of an input, of the result */
	BLOCK = 4 * ELEMS,
	NBLOCKS = 32,
	SESSIONS = 2,
	ITERATIONS = 3,
	WANTED = 100, /* elements of the answer, at the end of the result */
	PAD = 64,     /* bytes: readbacks are padded to this */
};

/* Equal blocks of one slab; the block given back last goes out first. */
struct pool {
	char *base;
	int free[NBLOCKS], nfree;
};

struct session {
	CUstream stream;
	CUdeviceptr result;
};

struct request {
	struct session *session;
	uint32_t id;
	char *stage[3]; /* first input, second input, params */
	char *answer;	/* pinned, of a pool of its own */
	CUdeviceptr in[3];
	CUevent done;
	size_t from; /* where the answer begins in the readback */
	bool failed, leaked;
};

static struct pool device_pool, staging_pool, answer_pool;
static bool recycle_staging, recycle_device, skip_event, skip_error_sync, recycle_unproven,
	readback_past;
static int leaks;

static void pool_init(struct pool *p, void *base)
{
	p->base = base;
	for (p->nfree = 0; p->nfree < NBLOCKS; p->nfree++)
		p->free[p->nfree] = NBLOCKS - 1 - p->nfree;
}

static char *take(struct pool *p)
{
	MUST(p->nfree > 0);
	return p->base + (size_t)BLOCK * (size_t)p->free[--p->nfree];
}

static void give(struct pool *p, const char *block)
{
	p->free[p->nfree++] = (int)((block - p->base) / BLOCK);
}

static CUdeviceptr take_device(void)
{
	return (CUdeviceptr)(uintptr_t)take(&device_pool);
}

static void give_inputs(struct request *r)
{
	for (int i = 2; i >= 0; i--)
		give(&device_pool, (char *)(uintptr_t)r->in[i]);
}

static void give_stages(struct request *r)
{
	for (int i = 2; i >= 0; i--)
		give(&staging_pool, r->stage[i]);
}

static CUresult launch(struct request *r, int iteration, unsigned threads)
{
	CUstream s = r->session->stream;
	CUdeviceptr dst = r->session->result, src = r->in[iteration & 1];
	uint32_t n = ELEMS;
	uint64_t cycles = iteration ? 0 : SLOW / 2;
	void *args[] = {&dst, &src, &n, &cycles};

	READS(s, src, BLOCK);
	READS(s, r->in[2], PAD);
	UPDATES(s, dst, BLOCK);
	return cuLaunchKernel(prog.add, 1, 1, 1, threads, 1, 1, 0, s, args, NULL);
}

/* The answer: the last WANTED elements, widened to whole pads. */
static CUresult read_back(struct request *r)
{
	size_t begin = BLOCK - 4 * WANTED, end = BLOCK, len;

	r->from = begin % PAD;
	begin -= r->from;
	len = (end - begin + PAD - 1) / PAD * PAD;
	if (readback_past)
		len += PAD;
	else if (begin + len > BLOCK)
		len = BLOCK - begin;
	return cuMemcpyDtoHAsync(r->answer, r->session->result + begin, len, r->session->stream);
}

/* Takes what the request needs and enqueues all of it; on failure the caller cleans up. */
static CUresult submit(struct request *r, unsigned threads)
{
	CUstream s = r->session->stream;
	CUresult err;

	for (uint32_t i = 0; i < 3; i++) {
		r->stage[i] = take(&staging_pool);
		r->in[i] = take_device();
	}
	r->answer = take(&answer_pool);
	for (uint32_t i = 0; i < 3; i++) {
		size_t bytes = i < 2 ? BLOCK : PAD;

		krtsan_host_write(r->stage[i], bytes);
		host_fill((uint32_t *)r->stage[i], 10 * r->id + i, bytes / 4);
		CU(cuMemcpyHtoDAsync(r->in[i], r->stage[i], bytes, s));
	}
	CU(cuMemsetD32Async(r->session->result, 0, ELEMS, s));
	for (int i = 0; i < ITERATIONS; i++) {
		err = launch(r, i, threads);
		if (err)
			return err;
	}
	err = read_back(r);
	if (err)
		return err;
	if (!skip_event)
		CU(cuEventRecord(r->done, s));
	if (recycle_staging)
		give_stages(r);
	if (recycle_device)
		give_inputs(r);
	return CUDA_SUCCESS;
}

/* A request that failed half-way: its uploads and clears may still run. */
static void clean_up(struct request *r, bool cannot_wait)
{
	r->failed = true;
	if (cannot_wait) {
		/* A device that may never come back is asked once. */
		if (cuStreamQuery(r->session->stream) != CUDA_SUCCESS && !recycle_unproven) {
			r->leaked = true;
			leaks++;
			return;
		}
	} else if (!skip_error_sync && cuStreamSynchronize(r->session->stream) != CUDA_SUCCESS) {
		r->leaked = true;
		leaks++;
		return;
	}
	give(&answer_pool, r->answer);
	give_stages(r);
	give_inputs(r);
}

static void retire(struct request *r)
{
	uint32_t want = (10 * r->id) * 2 + (10 * r->id + 1);

	if (r->failed)
		return;
	CU(cuEventSynchronize(r->done));
	krtsan_host_read(r->answer + r->from, 4 * WANTED);
	check_u32("answer", *(volatile uint32_t *)(r->answer + r->from), want);
	give(&answer_pool, r->answer);
	if (!recycle_staging)
		give_stages(r);
	if (!recycle_device)
		give_inputs(r);
}

int main(int argc, char **argv)
{
	const struct {
		const char *name;
		bool *flag;
	} switches[] = {
		{"recycle-staging", &recycle_staging},
		{"recycle-device", &recycle_device},
		{"skip-event", &skip_event},
		{"skip-error-sync", &skip_error_sync},
		{"recycle-unproven", &recycle_unproven},
		{"readback-past", &readback_past},
	};
	struct request requests[8];
	struct session sessions[SESSIONS];
	struct gate gate;
	uint32_t n = 0, nrequests;
	CUresult err;
	CUdeviceptr slab;
	void *pinned, *answers;

	for (int i = 1; i < argc; i++) {
		bool known = false;

		for (size_t k = 0; k < sizeof(switches) / sizeof(*switches); k++)
			if (!strcmp(argv[i], switches[k].name))
				known = *switches[k].flag = true;
		MUST(known);
	}
	prog_start();
	gate = gate_new();
	CU(cuMemAlloc(&slab, NBLOCKS * BLOCK));
	krtsan_name((void *)(uintptr_t)slab, NBLOCKS * BLOCK, "transient pool");
	pool_init(&device_pool, (void *)(uintptr_t)slab);
	CU(cuMemHostAlloc(&pinned, NBLOCKS * BLOCK, CU_MEMHOSTALLOC_PORTABLE));
	krtsan_name(pinned, NBLOCKS * BLOCK, "staging pool");
	pool_init(&staging_pool, pinned);
	CU(cuMemHostAlloc(&answers, NBLOCKS * BLOCK, CU_MEMHOSTALLOC_PORTABLE));
	krtsan_name(answers, NBLOCKS * BLOCK, "answer pool");
	pool_init(&answer_pool, answers);
	for (int i = 0; i < SESSIONS; i++) {
		sessions[i].stream = stream_nb("session");
		sessions[i].result = device_u32("result", ELEMS);
	}

	/* Two in flight. Without its event nothing may be told of later requests. */
	nrequests = skip_event ? 2 : 6;
	for (n = 0; n < nrequests; n++) {
		struct request *r = &requests[n];

		*r = (struct request){.session = &sessions[n % SESSIONS], .id = n, .done = event()};
		/* The third one has a launch that the driver refuses. */
		err = submit(r, n == 2 && !skip_event ? 1 << 20 : 64);
		if (n >= 1)
			retire(&requests[n - 1]);
		if (err != CUDA_SUCCESS)
			clean_up(r, false);
	}
	retire(&requests[n - 1]);

	/* A device that hangs: the failed request's memory must not go to the next one. */
	if (!skip_event && !readback_past) {
		struct request *hung = &requests[6], *next = &requests[7];

		*hung = (struct request){.session = &sessions[0], .id = 6, .done = event()};
		*next = (struct request){.session = &sessions[1], .id = 7, .done = event()};
		gate_close(&gate, hung->session->stream);
		MUST(submit(hung, 1 << 20) != CUDA_SUCCESS);
		clean_up(hung, true);
		MUST(submit(next, 64) == CUDA_SUCCESS);
		n = 8;
		gate_open(&gate);
		retire(next);
		printf("leaked: %d\n", leaks);
	}

	CU(cuCtxSynchronize());
	for (uint32_t i = 0; i < n; i++)
		CU(cuEventDestroy(requests[i].done));
	CU(cuMemFree(slab));
	CU(cuMemFreeHost(pinned));
	CU(cuMemFreeHost(answers));
	gate_free(&gate);
	prog_end();
	return 0;
}
