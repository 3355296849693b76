/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stand-in for libnccl.so.2: one process drives all ranks, calls of all of them
 * are in one group (what a real one would wait for ever without).  Float sums.
 * Each rank stages its part in memory that all devices reach, and adds up the
 * parts when all are there.
 */
#include "fake.h"

enum { OK, CUDA_ERROR = 1, INVALID_ARGUMENT = 4, INVALID_USAGE = 5, FLOAT = 7, STAGE = 1 << 16 };

struct world;
struct comm {
	struct world *world;
	int rank;
	CUcontext ctx;
	CUevent ready, done;
	bool busy; /* done was recorded */
};
struct world {
	int n;
	uint64_t stage; /* STAGE bytes a rank */
	struct comm comm[8];
};

static struct call {
	struct comm *comm;
	uint64_t send, recv;
	size_t count;
	int gather; /* the parts stay beside each other */
	CUstream stream;
} calls[32];
static unsigned ncalls, depth;

EXPORT int ncclCommInitAll(struct comm **comms, int n, const int *devices);
EXPORT int ncclCommDestroy(struct comm *c);
EXPORT int ncclCommCount(struct comm *c, int *n);
EXPORT int ncclCommUserRank(struct comm *c, int *rank);
EXPORT int ncclGroupStart(void);
EXPORT int ncclGroupEnd(void);
EXPORT int ncclAllReduce(uint64_t send, uint64_t recv, size_t count, int type, int op,
			 struct comm *c, CUstream stream);
EXPORT int ncclAllGather(uint64_t send, uint64_t recv, size_t count, int type, struct comm *c,
			 CUstream stream);

int ncclCommInitAll(struct comm **comms, int n, const int *devices)
{
	struct world *w = calloc(1, sizeof(*w));
	CUcontext before;
	void *host;

	if (!w || n < 1 || n > 8 || cuCtxGetCurrent(&before))
		return INVALID_ARGUMENT;
	w->n = n;
	if (cuMemHostAlloc(&host, (size_t)n * STAGE, CU_MEMHOSTALLOC_PORTABLE))
		return CUDA_ERROR;
	w->stage = (uintptr_t)host;
	for (int i = 0; i < n; i++) {
		struct comm *c = &w->comm[i];

		c->world = w;
		c->rank = i;
		if (cuDevicePrimaryCtxRetain(&c->ctx, devices ? devices[i] : i) ||
		    cuCtxSetCurrent(c->ctx) || cuEventCreate(&c->ready, CU_EVENT_DISABLE_TIMING) ||
		    cuEventCreate(&c->done, CU_EVENT_DISABLE_TIMING))
			return CUDA_ERROR;
		comms[i] = c;
	}
	return cuCtxSetCurrent(before) ? CUDA_ERROR : OK;
}

int ncclCommDestroy(struct comm *c)
{
	CUcontext before;

	cuCtxGetCurrent(&before);
	cuCtxSetCurrent(c->ctx);
	cuEventDestroy(c->ready);
	cuEventDestroy(c->done);
	cuCtxSetCurrent(before);
	if (!--c->world->n) {
		cuMemFreeHost((void *)(uintptr_t)c->world->stage);
		free(c->world);
	}
	return OK;
}

int ncclCommCount(struct comm *c, int *n)
{
	*n = c->world->n;
	return OK;
}

int ncclCommUserRank(struct comm *c, int *rank)
{
	*rank = c->rank;
	return OK;
}

static bool stage_part(struct call *k)
{
	struct world *w = k->comm->world;
	struct vector_args v = {
		k->send, w->stage + (uint64_t)k->comm->rank * STAGE, (int64_t)k->count, 1, 1, 1, 0};

	if (cuCtxSetCurrent(k->comm->ctx))
		return false;
	for (int r = 0; r < w->n; r++) /* what the last call staged has been used */
		if (w->comm[r].busy && cuStreamWaitEvent(k->stream, w->comm[r].done, 0))
			return false;
	return fake_launch("lib_vector", k->stream, &v) &&
	       !cuEventRecord(k->comm->ready, k->stream);
}

static bool take_parts(struct call *k)
{
	struct world *w = k->comm->world;
	struct sum_args s = {.to = k->recv, .n = (int64_t)k->count};
	bool ok = !cuCtxSetCurrent(k->comm->ctx);

	for (int r = 0; ok && r < w->n; r++) {
		ok = !cuStreamWaitEvent(k->stream, w->comm[r].ready, 0);
		s.from[r] = w->stage + (uint64_t)r * STAGE;
	}
	for (int r = 0; ok && k->gather && r < w->n; r++) {
		struct sum_args one = {.from = {w->stage + (uint64_t)r * STAGE},
				       .to = k->recv + (uint64_t)r * k->count * sizeof(float),
				       .n = (int64_t)k->count};

		ok = fake_launch("lib_sum", k->stream, &one);
	}
	if (ok && !k->gather)
		ok = fake_launch("lib_sum", k->stream, &s);
	return ok && !cuEventRecord(k->comm->done, k->stream);
}

static int run(void)
{
	CUcontext before;
	bool ok = !cuCtxGetCurrent(&before);

	for (unsigned i = 0; ok && i < ncalls; i++)
		ok = stage_part(&calls[i]);
	for (unsigned i = 0; ok && i < ncalls; i++)
		ok = take_parts(&calls[i]);
	for (unsigned i = 0; ok && i < ncalls; i++)
		calls[i].comm->busy = true;
	ncalls = 0;
	return !cuCtxSetCurrent(before) && ok ? OK : CUDA_ERROR;
}

int ncclGroupStart(void)
{
	depth++;
	return OK;
}

int ncclGroupEnd(void)
{
	if (!depth)
		return INVALID_USAGE;
	return --depth || !ncalls ? OK : run();
}

static int call(struct call k, int type)
{
	if (type != FLOAT || k.count * sizeof(float) > STAGE || ncalls == 32)
		return INVALID_ARGUMENT;
	if (!depth && k.comm->world->n > 1)
		return INVALID_USAGE;
	calls[ncalls++] = k;
	return depth ? OK : run();
}

int ncclAllReduce(uint64_t send, uint64_t recv, size_t count, int type, int op, struct comm *c,
		  CUstream stream)
{
	return op ? INVALID_ARGUMENT : call((struct call){c, send, recv, count, 0, stream}, type);
}

int ncclAllGather(uint64_t send, uint64_t recv, size_t count, int type, struct comm *c,
		  CUstream stream)
{
	return call((struct call){c, send, recv, count, 1, stream}, type);
}
