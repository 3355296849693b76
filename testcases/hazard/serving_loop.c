/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A serving loop as it should be, and with one fault at a time by argument.
 *
 * A model comes in a shared library with its kernels inside.  For each bucket of
 * batch sizes, and for each of two slots, a graph is captured on a side stream after
 * a warm-up: it fetches how many rows are live from pinned memory and runs the model
 * from a static input to a static output.  A request is padded to its bucket, staged
 * in pinned memory, copied into the static input on a copy stream, and replayed;
 * what follows the model runs eagerly, in temporaries of the pool.  A second thread
 * hands the answers out, one request behind, so that the device has work while it
 * waits.  All memory but the weights is the pool's.
 *
 * EXPECT: none
 * ARGS: fresh-input
 * EXPECT: KRT-GRAPH-STALE-INPUT note likely both count>=1
 * ARGS: block-returned
 * EXPECT: KRT-GRAPH-STALE-ADDR error certain both count>=1
 * ARGS: staging-freed
 * EXPECT: KRT-GRAPH-STALE-HOST error certain both count>=1
 * ARGS: capture-each
 * EXPECT: KRT-PERF-CAPTURE-STORM note certain both count=1
 * ARGS: item
 * EXPECT: KRT-PERF-SYNC-HOT note certain both count=1
 * ARGS: alloc
 * EXPECT: KRT-PERF-ALLOC-HOT note certain both count=1
 */
#include "blocks.h"
#include "../serving/model.h"

#include <libgen.h>

enum { BUCKETS = 3, SLOTS = 2, REQUESTS = 64, FAULT_AT = 24 };

static const uint32_t bucket_rows[BUCKETS] = {2, 4, 8};

enum fault { NONE, FRESH_INPUT, BLOCK_RETURNED, STAGING_FREED, CAPTURE_EACH, ITEM, ALLOC };
static const char *const fault_names[] = {
	"", "fresh-input", "block-returned", "staging-freed", "capture-each", "item", "alloc"};
static enum fault fault;

/* What a captured graph names. */
struct plan {
	CUgraphExec exec;
	CUdeviceptr x, live, hidden, y; /* static */
	uint32_t *live_from;		/* pinned; the graph fetches it */
	uint32_t *staged;		/* pinned */
	uint32_t rows;
};

/* One request in flight. */
struct slot {
	struct plan plan[BUCKETS];
	uint32_t *answer; /* pinned */
	CUevent fed, done;
	uint32_t want[8], live;
	bool busy;
	/* of the request before last, the faults' */
	CUdeviceptr fresh, scratch;
	CUgraphExec exec;
	uint32_t *item; /* pinned */
};

static struct {
	const struct model_api *api;
	void *model;
	struct blocks device, inputs, host;
	CUstream compute, copy, side;
	struct slot slot[SLOTS];
	/* submitted, and answered */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	uint32_t submitted, answered, wrong;
	bool closing;
} server = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static uint32_t *host_u32(size_t n)
{
	return blocks_host(blocks_alloc(&server.host, 4 * n, NULL));
}

/* --- the model --------------------------------------------------------------------- */

/* Beside the program's own folder. */
static void model_find(void)
{
	char self[4096] = "", path[4200];
	void *library;

	MUST(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	snprintf(path, sizeof(path), "%s/serving/model.so", dirname(dirname(self)));
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		fprintf(stderr, "%s\n", dlerror());
	MUST(library);
	server.api = dlsym(library, MODEL_SYMBOL);
	MUST(server.api);
}

static CUgraphExec capture(struct plan *p, CUstream side)
{
	CUgraphExec exec;
	CUgraph graph;

	CU(cuStreamBeginCapture(side, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	CU(cuMemcpyHtoDAsync(p->live, p->live_from, 4, side));
	CU(server.api->run(server.model, p->x, p->live, p->hidden, p->y, p->rows, side));
	CU(cuStreamEndCapture(side, &graph));
	CU(cuGraphInstantiate(&exec, graph, 0));
	CU(cuGraphDestroy(graph));
	return exec;
}

static void plan_open(struct plan *p, uint32_t rows, CUstream side)
{
	p->rows = rows;
	p->x = blocks_alloc(&server.device, 4 * rows * MODEL_IN, side);
	p->live = blocks_alloc(&server.device, 4, side);
	p->hidden = blocks_alloc(&server.device, 4 * rows * MODEL_HIDDEN, side);
	p->y = blocks_alloc(&server.device, 4 * rows * MODEL_OUT, side);
	p->live_from = host_u32(1);
	p->staged = host_u32(rows * MODEL_IN);
	/* warm-up, eagerly */
	host_fill(p->live_from, rows, 1);
	CU(cuMemsetD32Async(p->x, 0, rows * MODEL_IN, side));
	CU(cuMemcpyHtoDAsync(p->live, p->live_from, 4, side));
	CU(server.api->run(server.model, p->x, p->live, p->hidden, p->y, p->rows, side));
	CU(cuStreamSynchronize(side));
	p->exec = capture(p, side);
	CU(cuGraphUpload(p->exec, side));
}

/* --- answers ------------------------------------------------------------------------ */

static void answer(uint32_t i)
{
	struct slot *s = &server.slot[i % SLOTS];

	CU(cuEventSynchronize(s->done));
	krtsan_host_read(s->answer, 4 * s->live);
	for (uint32_t r = 0; r < s->live; r++)
		server.wrong += s->answer[r] != s->want[r];
}

/* One behind, as long as requests come. */
static void *answers(void *arg)
{
	(void)arg;
	CU(cuCtxSetCurrent(prog_context));
	pthread_mutex_lock(&server.lock);
	for (;;) {
		while (!server.closing && server.answered + 1 >= server.submitted)
			pthread_cond_wait(&server.changed, &server.lock);
		if (server.answered == server.submitted)
			break;
		pthread_mutex_unlock(&server.lock);
		answer(server.answered);
		pthread_mutex_lock(&server.lock);
		server.slot[server.answered % SLOTS].busy = false;
		server.answered++;
		pthread_cond_broadcast(&server.changed);
	}
	pthread_mutex_unlock(&server.lock);
	return NULL;
}

/* --- requests ----------------------------------------------------------------------- */

static struct slot *slot_take(uint32_t i)
{
	struct slot *s = &server.slot[i % SLOTS];

	pthread_mutex_lock(&server.lock);
	while (s->busy)
		pthread_cond_wait(&server.changed, &server.lock);
	s->busy = true;
	pthread_mutex_unlock(&server.lock);
	return s;
}

static void slot_submit(void)
{
	pthread_mutex_lock(&server.lock);
	server.submitted++;
	pthread_cond_broadcast(&server.changed);
	pthread_mutex_unlock(&server.lock);
}

static struct plan *plan_for(struct slot *s, uint32_t live)
{
	unsigned b = 0;

	while (bucket_rows[b] < live)
		b++;
	return &s->plan[b];
}

/* The request's rows, padded with zeros, and what is to come out. */
static void stage(struct slot *s, struct plan *p, uint32_t i)
{
	krtsan_host_write(p->staged, 4 * p->rows * MODEL_IN);
	host_fill(p->staged, 0, p->rows * MODEL_IN);
	for (uint32_t r = 0; r < s->live; r++) {
		for (uint32_t k = 0; k < MODEL_IN; k++)
			p->staged[r * MODEL_IN + k] = (i * 31 + r * 17 + k) % 97;
		s->want[r] = server.api->expected(p->staged + r * MODEL_IN);
	}
	krtsan_host_write(p->live_from, 4);
	host_fill(p->live_from, s->live, 1);
}

/* What a fault left behind at the slot's request before: answered, so done with. */
static void clean_up(struct slot *s)
{
	if (s->fresh)
		blocks_free(&server.inputs, s->fresh);
	if (s->scratch)
		CU(cuMemFree(s->scratch));
	if (s->exec)
		CU(cuGraphExecDestroy(s->exec));
	s->fresh = s->scratch = 0;
	s->exec = NULL;
}

static void request(uint32_t i)
{
	struct slot *s = slot_take(i);
	bool faulty = fault && i >= FAULT_AT;
	CUdeviceptr spare, score, x;
	CUgraphExec exec;
	struct plan *p;

	clean_up(s);
	s->live = 1 + i * 5 % 8;
	p = plan_for(s, s->live);
	stage(s, p, i);
	x = p->x;
	exec = p->exec;
	if (faulty && fault == FRESH_INPUT)
		x = s->fresh = blocks_alloc(&server.inputs, 4 * p->rows * MODEL_IN, server.copy);
	if (i == FAULT_AT && fault == BLOCK_RETURNED)
		blocks_free(&server.device, p->hidden);
	if (i == FAULT_AT && fault == STAGING_FREED)
		blocks_free(&server.host, (CUdeviceptr)(uintptr_t)p->live_from);

	/* into the static input, while the request before runs */
	CU(cuMemcpyHtoDAsync(x, p->staged, 4 * p->rows * MODEL_IN, server.copy));
	CU(cuEventRecord(s->fed, server.copy));
	CU(cuStreamWaitEvent(server.compute, s->fed, 0));
	if (faulty && fault == CAPTURE_EACH) {
		struct plan exact = *p;

		exact.rows = s->live;
		exec = s->exec = capture(&exact, server.side);
	}
	CU(cuGraphLaunch(exec, server.compute));

	/* what is not captured: temporaries of the stream that uses them */
	spare = blocks_alloc(&server.device, 4 * p->rows, server.compute);
	score = blocks_alloc(&server.device, 4 * p->rows, server.compute);
	CU(server.api->score(server.model, p->y, spare, score, p->rows, server.compute));
	blocks_free(&server.device, spare);
	if (faulty && fault == ALLOC) {
		CU(cuMemAlloc(&s->scratch, 4096));
		CU(cuMemsetD32Async(s->scratch, 0, 1024, server.compute));
	}
	if (faulty && fault == ITEM) {
		CU(cuMemcpyDtoHAsync(s->item, score, 4, server.compute));
		CU(cuStreamSynchronize(server.compute));
	}
	CU(cuMemcpyDtoHAsync(s->answer, score, 4 * p->rows, server.compute));
	blocks_free(&server.device, score);
	CU(cuEventRecord(s->done, server.compute));
	slot_submit();
}

int main(int argc, char **argv)
{
	pthread_t worker;

	for (unsigned i = 1; argc > 1 && i < sizeof(fault_names) / sizeof(*fault_names); i++)
		if (!strcmp(argv[1], fault_names[i]))
			fault = i;
	MUST(argc < 2 || fault);
	prog_start();
	model_find();
	CU(server.api->open(&server.model));
	blocks_open(&server.device, "device pool", 1 << 20);
	blocks_open(&server.inputs, "request tensors", 1 << 16);
	blocks_open_host(&server.host, "staging pool", 1 << 16);
	server.compute = stream_nb("compute");
	server.copy = stream_nb("copy");
	server.side = stream_nb("capture");
	for (int i = 0; i < SLOTS; i++) {
		struct slot *s = &server.slot[i];

		for (int b = 0; b < BUCKETS; b++)
			plan_open(&s->plan[b], bucket_rows[b], server.side);
		s->answer = host_u32(8);
		s->item = host_u32(1);
		s->fed = event();
		s->done = event();
	}
	CU(cuStreamSynchronize(server.side));

	MUST(!pthread_create(&worker, NULL, answers, NULL));
	for (uint32_t i = 0; i < REQUESTS; i++)
		request(i);
	pthread_mutex_lock(&server.lock);
	server.closing = true;
	pthread_cond_broadcast(&server.changed);
	pthread_mutex_unlock(&server.lock);
	pthread_join(worker, NULL);
	check_u32("wrong answers", server.wrong, 0);

	for (int i = 0; i < SLOTS; i++) {
		struct slot *s = &server.slot[i];

		clean_up(s);
		for (int b = 0; b < BUCKETS; b++)
			CU(cuGraphExecDestroy(s->plan[b].exec));
		CU(cuEventDestroy(s->fed));
		CU(cuEventDestroy(s->done));
	}
	server.api->close(server.model);
	blocks_close(&server.device);
	blocks_close(&server.inputs);
	blocks_close(&server.host);
	prog_end();
	return 0;
}
