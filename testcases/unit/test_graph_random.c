/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random stories of graphs: made, cloned, nested, updated, launched, with memory of
 * every kind that comes and goes around them.  Whatever happens, also with damaged
 * records of graphs, nothing crashes and nothing leaks; and what a story cannot contain
 * is not found in it.
 */
#include <criterion/criterion.h>

#include "analyzer/engine_int.h"
#include "graph_build.h"
#include "graph_ptx.h"

#define GRAPHS 6
#define EXECS  5

static struct world w;
static struct graph_build built[GRAPHS];
static uint64_t seed;

/* What a story leaves out. */
static struct {
	bool one_stream; /* all work on one */
	bool no_end;	 /* memory stays */
	bool sync;	 /* all is waited for, after every call */
	bool damage;	 /* instead: there is damage in records of nodes and graphs */
} only;

static uint32_t below(uint32_t n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(seed >> 33) % n;
}

static uint64_t some_stream(void)
{
	return 0x101 + (only.one_stream ? 0 : below(3));
}

static uint64_t some_device(void)
{
	return DEV + below(8) * 0x10000;
}

static uint64_t some_block(void)
{
	return DEV + 0x200000 + below(16) * 0x1000;
}

static uint64_t some_address(void)
{
	switch (below(6)) {
	case 0:
		return HEAP + below(4) * 0x100;
	case 1:
		return PIN + below(3) * 0x10000;
	case 2:
		return some_block();
	default:
		return some_device() + below(3) * 64;
	}
}

static uint64_t some_node(void)
{
	return (0x301 + below(GRAPHS)) * 16 + 1 + below(5);
}

/* --- graphs ------------------------------------------------------------------------------ */

static void some_copy(struct graph_build *b)
{
	CUDA_MEMCPY3D m = {.srcMemoryType = 1 + below(4),
			   .srcHost = (void *)(uintptr_t)some_address(),
			   .srcDevice = some_address(),
			   .srcArray = (void *)(uintptr_t)(0x900 + below(2)),
			   .dstMemoryType = 1 + below(4),
			   .dstHost = (void *)(uintptr_t)some_address(),
			   .dstDevice = some_address(),
			   .dstArray = (void *)(uintptr_t)(0x900 + below(2)),
			   .WidthInBytes = below(100),
			   .Height = below(5),
			   .Depth = below(3),
			   .srcPitch = below(200),
			   .dstPitch = below(200)};

	graph_node(b, CU_GRAPH_NODE_TYPE_MEMCPY, &m, sizeof(m));
}

static void some_struct(struct graph_build *b)
{
	struct {
		struct krt_node_kernel k;
		struct krt_params h;
		uint64_t p[3];
	} u = {.h = {.kernel = 8, .len = 24}, .p = {1, some_address(), some_address()}};

	graph_node(b, CU_GRAPH_NODE_TYPE_KERNEL, &u, sizeof(u));
}

/* One that is known by its PTX. */
static void some_known(struct graph_build *b)
{
	uint64_t p = some_address(), q = some_address();
	uint32_t grid = 1 + below(100);

	switch (below(5)) {
	case 0:
		graph_kernel(b, below(2) ? SOLID_READ : SOLID_WRITE, grid, p, below(6000));
		break;
	case 1:
		graph_kernel(b, below(2) ? ROWS_READ : ROWS_WRITE, grid, p, below(70),
			     4 * below(200), 4 * below(5));
		break;
	case 2:
		graph_kernel(b, ASKED, grid, p, q, below(6000));
		break;
	case 3:
		graph_kernel(b, CHASE, grid, p, q, 0);
		break;
	default:
		graph_kernel(b, BACK, grid, p, below(300));
		break;
	}
}

static void some_nodes(struct graph_build *b, int depth)
{
	uint64_t v[2] = {1 + below(2) + 0x200, some_address()};

	for (uint32_t i = 0, n = 1 + below(5); i < n; i++) {
		uint32_t bodies, what = below(depth < 2 ? 12 : 9), *nodes;

		switch (what) {
		case 0:
			graph_set(b, some_address(), 1 + below(300));
			break;
		case 1:
			graph_copy(b, some_address(), some_address(), 1 + below(5000));
			break;
		case 2:
			if (below(3))
				some_known(b);
			else
				graph_kernel(b, 7, 1, some_address());
			break;
		case 3:
			some_copy(b);
			break;
		case 4:
			graph_node(b, CU_GRAPH_NODE_TYPE_HOST, v, sizeof(v));
			break;
		case 5:
			graph_node(b, CU_GRAPH_NODE_TYPE_WAIT_EVENT + below(2), v, 8);
			break;
		case 6:
			graph_alloc(b, DEV + 0x400000 + below(3) * 0x1000, 0x1000);
			break;
		case 7:
			graph_free(b, DEV + 0x400000 + below(3) * 0x1000);
			break;
		case 8:
			some_struct(b);
			break;
		default:
			bodies = below(3);
			graph_hold(b, bodies);
			for (uint32_t k = 0; k < (bodies ? bodies : 1); k++) {
				graph_enter(b, 0x390 + below(3));
				some_nodes(b, depth + 1);
				graph_leave(b);
			}
			graph_held(b);
			break;
		}
		nodes = &b->level[b->depth - 1].nodes;
		if (i && below(3))
			graph_edge(b, below(*nodes), below(*nodes));
	}
}

static void build(uint32_t g)
{
	graph_open(&built[g], 0x301 + g);
	some_nodes(&built[g], 0);
	while (built[g].depth)
		graph_leave(&built[g]);
}

static uint32_t nodes_of(uint32_t g)
{
	struct krt_graph_rec r = {0};

	if (built[g].at)
		memcpy(&r, built[g].words, sizeof(r));
	return r.nodes;
}

static struct krt_node_rec *node_of(uint32_t g, uint32_t i)
{
	char *p = graph_bytes(&built[g]) + sizeof(struct krt_graph_rec);

	for (; i--;)
		p += ((struct krt_node_rec *)(void *)p)->size;
	return (void *)p;
}

/* A record of a graph or node as it is, or damaged. */
static void graph_rec(unsigned kind, const void *rec, uint32_t len)
{
	static uint64_t words[6000];
	char *p = (char *)words;
	uint64_t v;

	memcpy(p, rec, len);
	for (uint32_t n = only.damage ? below(4) : 0; n--;) {
		uint32_t at = below(len) & ~3u, size = below(2) ? 4 : 8;

		v = below(2) ? below(64) : UINT64_MAX >> below(64);
		memcpy(p + at, &v, at + size <= len ? size : 4);
	}
	if (only.damage && !below(10))
		len = below(len + 1);
	call_blob(&w, 255, kind, p, len);
}

static void random_node(uint32_t g)
{
	const struct krt_node_rec *r = node_of(g, below(nodes_of(g)));

	graph_rec(KRT_BLOB_NODE, r, r->size);
}

static void whole_blob(uint32_t g)
{
	graph_rec(KRT_BLOB_GRAPH, built[g].words, (uint32_t)built[g].at);
}

static void capture(uint32_t g)
{
	struct krt_capture_rec c = {.id = 1, .graph = 0x301 + g, .status = 1};
	uint64_t s = some_stream();
	bool good = only.sync || below(8);

	build(g);
	call_begin(&w, KRT_API_cuStreamBeginCapture_v2, A(s), A(0));
	call_blob(&w, 255, KRT_BLOB_CAPTURE, &c, sizeof(c));
	call_end(&w, 0);
	for (uint32_t i = 0; i < nodes_of(g); i++) {
		const struct krt_node_rec *r = node_of(g, i);

		if (!below(4))
			access_note(&w, s, some_address(), below(100), 1 + below(7));
		if (!below(4) && !only.no_end)
			block_alloc(&w, 0x71, some_block(), 0x1000 << below(3), s);
		if (!below(4) && !only.no_end)
			block_free(&w, some_block());
		call_begin(&w, KRT_API_cuLaunchKernel, A(0xf0), A(1), A(1), A(1), A(1), A(1), A(1),
			   A(0), A(s), A(0), A(0));
		call_blob(&w, 255, KRT_BLOB_CAPTURE, &c, sizeof(c));
		if (below(8))
			graph_rec(KRT_BLOB_NODE, r, r->size);
		call_end(&w, 0);
	}
	c.status = good ? 0 : 2;
	call_begin(&w, KRT_API_cuStreamEndCapture, A(s), A(0));
	if (good)
		call_out(&w, 1, 0x301 + g);
	call_blob(&w, 255, KRT_BLOB_CAPTURE, &c, sizeof(c));
	call_end(&w, good ? 0 : 901);
}

static void graph_step(void)
{
	uint32_t g = below(GRAPHS);
	uint64_t x = 0x401 + below(EXECS);
	struct krt_frame_rec frame = {
		.sp = HEAP + below(0x400), .low = HEAP - 0x100000, .high = HEAP + 0x100000};

	if (!nodes_of(g)) {
		build(g);
		return;
	}
	switch (below(12)) {
	case 0:
		build(g);
		break;
	case 1:
		capture(g);
		break;
	case 2:
	case 3:
		call_begin(&w, KRT_API_cuGraphInstantiateWithFlags, A(0), A(0x301 + g),
			   A(below(5)));
		call_out(&w, 0, x);
		if (below(16))
			whole_blob(g);
		call_end(&w, 0);
		break;
	case 4:
		call_begin(&w, KRT_API_cuGraphExecUpdate_v2, A(x), A(0x301 + g), A(0));
		whole_blob(g);
		call_end(&w, below(4) ? 0 : 910);
		break;
	case 5:
		call_begin(&w, KRT_API_cuGraphExecKernelNodeSetParams_v2, A(x), A(some_node()),
			   A(0));
		random_node(g);
		call_end(&w, 0);
		break;
	case 6:
		call_begin(&w, KRT_API_cuGraphKernelNodeSetParams_v2, A(some_node()), A(0));
		if (below(5))
			random_node(g);
		call_end(&w, 0);
		break;
	case 7:
		call(&w, cuGraphDestroy, A(0x301 + g));
		break;
	case 8:
		if (below(3))
			call(&w, cuGraphNodeSetEnabled, A(x), A(some_node()), A(below(2)));
		else
			exec_destroy(&w, x);
		break;
	case 9:
		call_begin(&w, KRT_API_cuGraphClone, A(0), A(0x301 + below(GRAPHS)));
		call_out(&w, 0, 0x301 + g);
		whole_blob(g);
		call_end(&w, 0);
		break;
	case 10:
		call_begin(&w, KRT_API_cuGraphAddChildGraphNode, A(0), A(0x301 + g), A(0), A(0),
			   A(0x301 + below(GRAPHS)));
		call_out(&w, 0, some_node());
		random_node(g);
		call_end(&w, 0);
		break;
	default:
		call_begin(&w, KRT_API_cuGraphLaunch, A(x), A(some_stream()));
		if (!only.no_end && below(2))
			call_blob(&w, 255, KRT_BLOB_FRAME, &frame, sizeof(frame));
		call_end(&w, 0);
		break;
	}
}

/* --- memory and work ------------------------------------------------------------------------ */

static void end_step(void)
{
	switch (below(10)) {
	case 0:
		call(&w, cuMemFree_v2, A(some_device()));
		break;
	case 1:
		block_alloc(&w, 0x71, some_block(), 0x1000 << below(3), some_stream());
		break;
	case 2:
		block_free(&w, some_block());
		break;
	case 3:
		call(&w, free, A(HEAP + below(0x500)), A(below(0x300)));
		break;
	case 4:
		call(&w, cuMemFreeHost, A(PIN + below(3) * 0x10000));
		break;
	case 5:
		call(&w, cuMemHostUnregister, A(HEAP + below(4) * 0x100));
		break;
	case 6:
		call(&w, cuMemUnmap, A(some_device()), A(0x10000));
		break;
	case 7:
		call(&w, cuMemFreeAsync, A(some_device()), A(some_stream()));
		break;
	case 8:
		call(&w, cuMemRelease, A(0x91 + below(2)));
		break;
	default:
		if (!below(20) && !only.one_stream) /* it ends streams as well */
			call(&w, cuDevicePrimaryCtxReset_v2, A(0));
		else
			call(&w, cuArrayDestroy, A(0x900 + below(2)));
		break;
	}
}

static void begin_step(void)
{
	switch (below(5)) {
	case 0:
		alloc(&w, some_device(), 0x10000 >> below(5));
		break;
	case 1:
		alloc_pinned(&w, PIN + below(3) * 0x10000, 0x1000);
		break;
	case 2:
		call(&w, cuMemHostRegister_v2, A(HEAP + below(4) * 0x100), A(0x100), A(0));
		break;
	case 3:
		call(&w, cuMemMap, A(some_device()), A(0x1000), A(0), A(0x91 + below(2)), A(0));
		break;
	default:
		alloc_async(&w, some_device(), 0x1000, some_stream());
		break;
	}
}

static void work_step(void)
{
	uint64_t s = some_stream();

	switch (below(7)) {
	case 0:
		set(&w, some_address(), 1 + below(5000), s);
		break;
	case 1:
		d2d(&w, some_address(), some_address(), 1 + below(5000), s);
		break;
	case 2:
		if (below(2))
			launch(&w, s, 7, some_address());
		else if (below(2))
			launch(&w, s, SOLID_WRITE, some_address(), 1);
		else
			launch(&w, s, ASKED, some_address(), some_address(), 1);
		break;
	case 3:
		record(&w, 0x201, s);
		wait_event(&w, some_stream(), 0x201);
		break;
	case 4:
		sync_stream(&w, s);
		break;
	case 5:
		host_write(&w, some_address(), below(2000));
		break;
	default:
		host_read(&w, some_address(), below(2000));
		break;
	}
}

static const char *story(unsigned number)
{
	static const uint32_t size[] = {24};

	seed = number * 7919 + 1;
	memset(built, 0, sizeof(built));
	world_open(&w, &graph_ptx_config);
	context(&w, 0xc0, 0, true);
	for (uint64_t s = 0; s < 3; s++)
		stream(&w, 0x101 + s, 1);
	event(&w, 0x201);
	event(&w, 0x202);
	kernel(&w, 7, "k", 1, NULL);
	kernel(&w, 8, "ks", 1, size);
	graph_ptx_kernels(&w);
	for (uint64_t i = 0; only.no_end && i < 8; i++)
		alloc(&w, DEV + i * 0x10000, 0x10000);
	for (uint64_t i = 0; only.no_end && i < 3; i++)
		alloc_pinned(&w, PIN + i * 0x10000, 0x1000);
	alloc(&w, DEV + 0x200000, 0x20000);
	pool_create(&w, 0x71, 1, "p");
	for (uint32_t n = 50 + below(400); n--;) {
		uint32_t what = below(8);

		if (what < 4)
			graph_step();
		else if (what < 6)
			work_step();
		else if (!only.no_end && what < 7)
			end_step();
		else if (!only.no_end)
			begin_step();
		if (only.sync)
			sync_ctx(&w);
		cr_assert(w.rc == 0 || only.damage);
	}
	if (below(2))
		mark(&w, KRT_MARK_EXITING);
	return world_close(&w);
}

static bool has(const char *found, const char *rule)
{
	return strstr(found, rule) != NULL;
}

Test(stories, whatever_happens)
{
	for (unsigned i = 0; i < 400; i++)
		story(i);
}

Test(stories, damaged_records)
{
	only.damage = true;
	for (unsigned i = 0; i < 600; i++)
		story(i);
}

Test(stories, memory_that_stays_is_never_stale)
{
	only.no_end = true;
	for (unsigned i = 0; i < 400; i++) {
		const char *found = story(i);

		cr_assert(!has(found, "STALE-ADDR") && !has(found, "STALE-HOST") &&
				  !has(found, "FREE-IN-USE"),
			  "%u: %s", i, found);
	}
}

Test(stories, one_stream_never_overlaps)
{
	only.one_stream = true;
	for (unsigned i = 0; i < 400; i++) {
		const char *found = story(i);

		cr_assert(!has(found, "EXEC-OVERLAP") && !has(found, " RACE-"), "%u: %s", i,
			  found);
	}
}

Test(stories, what_is_waited_for_meets_nothing)
{
	only.sync = true;
	for (unsigned i = 0; i < 400; i++) {
		const char *found = story(i);

		cr_assert(!has(found, "EXEC-OVERLAP") && !has(found, "RACE:") &&
				  !has(found, "IN-USE"),
			  "%u: %s", i, found);
	}
}
