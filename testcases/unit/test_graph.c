/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs: records decoded, what nodes touch, stale addresses, launches beside
 * other work.  As many silent cases as loud ones.
 */
#include <criterion/criterion.h>

#include "analyzer/engine_int.h"
#include "graph_build.h"

#define S1 0x101ull
#define S2 0x102ull
#define E1 0x201ull
#define G1 0x301ull
#define G2 0x302ull
#define X1 0x401ull
#define X2 0x402ull
#define NB 1
#define N  4096
#define K  7 /* a kernel of one pointer */
#define KS 8 /* of one struct of 24 bytes */

#define expect(w, text)	    cr_assert_str_eq(world_close(w), text)
#define expect_all(w, text) cr_assert_str_eq(world_close_as(w, true), text)

static void open2(struct world *w)
{
	static const uint32_t struct_size[] = {24};

	world_open(w, NULL);
	context(w, 0xc0, 0, true);
	stream(w, S1, NB);
	stream(w, S2, NB);
	event(w, E1);
	kernel(w, K, "scale", 1, NULL);
	kernel(w, KS, "gather", 1, struct_size);
	alloc(w, DEV, N);
}

static void gone(struct world *w, uint64_t addr)
{
	call(w, cuMemFree_v2, A(addr));
}

static void heap_end(struct world *w, uint64_t addr, uint64_t len)
{
	call(w, free, A(addr), A(len));
}

static void hop(struct world *w, uint64_t from, uint64_t to)
{
	record(w, E1, from);
	wait_event(w, to, E1);
}

static void ends(struct world *w)
{
	mark(w, KRT_MARK_EXITING);
}

/* --- nodes -------------------------------------------------------------------------------- */

static struct graph_build *one_kernel(uint64_t graph, uint64_t addr)
{
	static struct graph_build b[4];
	struct graph_build *g = &b[graph & 3];

	graph_open(g, graph);
	graph_kernel(g, K, 1, addr);
	return g;
}

static uint32_t host_copy(struct graph_build *b, uint64_t d, uint64_t h, uint64_t n)
{
	CUDA_MEMCPY3D m = {.srcMemoryType = CU_MEMORYTYPE_HOST,
			   .srcHost = (const void *)(uintptr_t)h,
			   .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			   .dstDevice = d,
			   .WidthInBytes = n,
			   .Height = 1,
			   .Depth = 1};

	return graph_node(b, CU_GRAPH_NODE_TYPE_MEMCPY, &m, sizeof(m));
}

static uint32_t struct_kernel(struct graph_build *b, uint64_t word)
{
	struct {
		struct krt_node_kernel k;
		struct krt_params h;
		uint64_t p[3];
	} u = {.k = {.func = 0xf0, .grid = {1, 1, 1}, .block = {1, 1, 1}},
	       .h = {.kernel = KS, .len = 24},
	       .p = {1, word, 2}};

	return graph_node(b, CU_GRAPH_NODE_TYPE_KERNEL, &u, sizeof(u));
}

static void exec_set(struct world *w, uint64_t exec, uint64_t node, struct graph_build *b)
{
	call_begin(w, KRT_API_cuGraphExecKernelNodeSetParams_v2, A(exec), A(node), A(0));
	node_blob(w, b, 0);
	call_end(w, 0);
}

static void enable(struct world *w, uint64_t exec, uint64_t node, bool on)
{
	call(w, cuGraphNodeSetEnabled, A(exec), A(node), A(on));
}

/* --- decoding ----------------------------------------------------------------------------- */

static uint32_t copy_on_host(struct graph_build *b, uint64_t to, uint64_t from, uint64_t n)
{
	CUDA_MEMCPY3D m = {.srcMemoryType = CU_MEMORYTYPE_HOST,
			   .srcHost = (const void *)(uintptr_t)from,
			   .dstMemoryType = CU_MEMORYTYPE_HOST,
			   .dstHost = (void *)(uintptr_t)to,
			   .WidthInBytes = n,
			   .Height = 1,
			   .Depth = 1};

	return graph_node(b, CU_GRAPH_NODE_TYPE_MEMCPY, &m, sizeof(m));
}

static struct krt_graph_image *image(struct krt_heap *h, struct graph_build *b)
{
	while (b->depth)
		graph_leave(b);
	return krt_graph_image_new(h, b->words, (uint32_t)b->at);
}

static bool has_edge(const struct krt_graph_image *g, uint32_t from, uint32_t to)
{
	for (uint32_t i = 0; i < g->edges; i++)
		if (g->edge[i].from == from && g->edge[i].to == to)
			return true;
	return false;
}

Test(decode, flat)
{
	struct krt_heap h __attribute__((cleanup(krt_heap_end))) = {0};
	struct graph_build b;
	struct krt_graph_image *g;

	graph_open(&b, G1);
	graph_set(&b, DEV, 64);
	graph_copy(&b, DEV + 64, DEV, 64);
	graph_edge_as(&b, 0, 1, 1);
	g = image(&h, &b);
	cr_assert(g && g->nodes == 2 && g->edges == 1 && g->graph == G1 && !g->unread);
	cr_assert(g->edge[0].from == 0 && g->edge[0].to == 1 && g->edge[0].from_port == 1);
	cr_assert(g->node[1].type == KRT_GNODE_MEMCPY && g->node[1].holder == KRT_GNODE_NONE &&
		  g->node[1].end == 1 && g->node[1].node == G1 * 16 + 2 && g->node[1].len == 200);
	krt_graph_image_unref(g);
	cr_assert_eq(h.used, 0);
}

Test(decode, nested)
{
	struct krt_heap h __attribute__((cleanup(krt_heap_end))) = {0};
	struct graph_build b;
	struct krt_graph_image *g;

	/* 0: set; 1: child {2: set, 3: set} 4: end; 5: set; edges 0 -> 1 -> 5 */
	graph_open(&b, G1);
	graph_set(&b, DEV, 64);
	graph_hold(&b, 0);
	graph_enter(&b, G2);
	graph_set(&b, DEV, 64);
	graph_set(&b, DEV, 64);
	graph_edge(&b, 0, 1);
	graph_leave(&b);
	graph_held(&b);
	graph_set(&b, DEV, 64);
	graph_edge(&b, 0, 1);
	graph_edge(&b, 1, 2);
	g = image(&h, &b);
	cr_assert(g && g->nodes == 6);
	cr_assert(g->node[1].flags & KRT_GN_HOLDER && g->node[1].end == 4);
	cr_assert(g->node[4].type == KRT_GNODE_END && g->node[4].end == 1 &&
		  g->node[4].node == g->node[1].node);
	cr_assert(g->node[2].holder == 1 && g->node[3].holder == 1 && g->node[2].graph == G2);
	cr_assert(has_edge(g, 0, 1) && has_edge(g, 1, 2) && has_edge(g, 2, 3) && has_edge(g, 3, 4) &&
		  has_edge(g, 4, 5) && has_edge(g, 1, 4));
	cr_assert(!has_edge(g, 1, 3) && !has_edge(g, 1, 5));
	krt_graph_image_unref(g);
	cr_assert_eq(h.used, 0);
}

Test(decode, conditional)
{
	struct krt_heap h __attribute__((cleanup(krt_heap_end))) = {0};
	struct graph_build b;
	struct krt_graph_image *g;

	graph_open(&b, G1);
	graph_hold(&b, 2);
	for (int i = 0; i < 2; i++) {
		graph_enter(&b, G2 + i);
		graph_set(&b, DEV, 64);
		graph_leave(&b);
	}
	graph_held(&b);
	g = image(&h, &b);
	cr_assert(g && g->nodes == 4);
	cr_assert(!(g->node[0].flags & KRT_GN_MAYBE) && !(g->node[3].flags & KRT_GN_MAYBE));
	cr_assert(g->node[1].flags & KRT_GN_MAYBE && g->node[2].flags & KRT_GN_MAYBE);
	cr_assert(g->node[1].body == 0 && g->node[2].body == 1);
	krt_graph_image_unref(g);
	cr_assert_eq(h.used, 0);
}

Test(decode, memory_of_its_own)
{
	struct krt_heap h __attribute__((cleanup(krt_heap_end))) = {0};
	struct graph_build b;
	struct krt_graph_image *g;

	graph_open(&b, G1);
	graph_alloc(&b, DEV + N, 64);
	graph_alloc(&b, DEV, 64);
	graph_free(&b, DEV);
	g = image(&h, &b);
	cr_assert(g && g->mems == 2);
	cr_assert(krt_graph_image_mem(g, DEV + 63)->free == 2);
	cr_assert(krt_graph_image_mem(g, DEV + N)->free == KRT_GNODE_NONE);
	cr_assert(!krt_graph_image_mem(g, DEV + 64) && !krt_graph_image_mem(g, DEV - 1));
	krt_graph_image_unref(g);
	cr_assert_eq(h.used, 0);
}

Test(decode, too_deep)
{
	struct krt_heap h __attribute__((cleanup(krt_heap_end))) = {0};
	uint64_t words[3 * 2 * 200] = {0};
	uint32_t len = sizeof(words);

	/* child in child in child */
	for (uint32_t at = 0, i = 0; i < 200; i++) {
		struct krt_graph_rec r = {.size = len - at, .nodes = i < 199};
		struct krt_node_rec n = {.size = len - at - 24, .type = KRT_GNODE_GRAPH};

		memcpy((char *)words + at, &r, sizeof(r));
		memcpy((char *)words + at + 24, &n, sizeof(n));
		at += 48;
	}
	cr_assert_null(krt_graph_image_new(&h, words, len));
	cr_assert_eq(h.used, 0);
}

static uint64_t seed = 1;

static uint32_t random32(void)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(seed >> 33);
}

static void build_something(struct graph_build *b)
{
	uint64_t event = E1;

	graph_open(b, G1);
	graph_set(b, DEV, 64);
	graph_copy(b, DEV + 64, DEV, 64);
	graph_kernel(b, K, 1, DEV);
	graph_hold(b, 2);
	for (int i = 0; i < 2; i++) {
		graph_enter(b, G2 + i);
		graph_set(b, DEV, 64);
		host_copy(b, DEV, HEAP, 64);
		graph_edge(b, 0, 1);
		graph_leave(b);
	}
	graph_held(b);
	graph_alloc(b, DEV + 0x100000, 64);
	graph_free(b, DEV + 0x100000);
	graph_node(b, CU_GRAPH_NODE_TYPE_EVENT_RECORD, &event, 8);
	for (uint32_t i = 0; i < 6; i++)
		graph_edge(b, i, i + 1);
	while (b->depth)
		graph_leave(b);
}

Test(decode, damaged)
{
	struct graph_build good, bad;

	build_something(&good);
	for (int round = 0; round < 400; round++) {
		uint32_t len = (uint32_t)good.at, flips = 1 + random32() % 4;
		struct world w;

		bad = good;
		for (uint32_t i = 0; i < flips; i++) {
			uint32_t at = random32() % len;

			if (random32() & 1)
				graph_bytes(&bad)[at] ^= (char)(1u << random32() % 8);
			else
				memset(graph_bytes(&bad) + at / 4 * 4, random32() & 1 ? 0xff : 0, 4);
		}
		if (!(random32() % 4))
			len = random32() % (len + 1);
		open2(&w);
		call_begin(&w, KRT_API_cuGraphInstantiateWithFlags, A(0), A(G1), A(0));
		call_out(&w, 0, X1);
		call_blob(&w, 255, KRT_BLOB_GRAPH, bad.words, len);
		call_end(&w, 0);
		graph_launch(&w, X1, S1);
		call_begin(&w, KRT_API_cuGraphExecUpdate_v2, A(X1), A(G1), A(0));
		call_blob(&w, 255, KRT_BLOB_GRAPH, bad.words, len);
		call_end(&w, 0);
		gone(&w, DEV);
		graph_launch(&w, X1, S2);
		cr_assert_eq(w.rc, 0);
		world_close(&w);
	}
}

/* --- stale addresses ----------------------------------------------------------------------- */

Test(stale, freed)
{
	struct world w;

	open2(&w);
	capture_all(&w, S1, G1, one_kernel(G1, DEV), X1);
	graph_launch(&w, X1, S1);
	sync_stream(&w, S1);
	gone(&w, DEV);
	graph_launch(&w, X1, S1);
	expect(&w, "GRAPH-STALE-ADDR:error:1");
}

Test(stale, not_freed)
{
	struct world w;

	open2(&w);
	alloc(&w, DEV + 0x10000, N);
	capture_all(&w, S1, G1, one_kernel(G1, DEV), X1);
	gone(&w, DEV + 0x10000);
	graph_launch(&w, X1, S1);
	sync_stream(&w, S1);
	graph_launch(&w, X1, S1);
	expect(&w, "");
}

Test(stale, words_name_everything)
{
	struct krt_report *r;
	struct world w;

	open2(&w);
	name(&w, DEV, N, "input");
	capture_all(&w, S1, G1, one_kernel(G1, DEV), X1);
	gone(&w, DEV);
	alloc(&w, DEV, N);
	graph_launch(&w, X1, S1);
	r = world_report(&w);
	cr_assert_eq(r->nfindings, 1);
	cr_assert(strstr(r->finding[0].message, "kernel node scale (captured by cuLaunchKernel #"));
	cr_assert(strstr(r->finding[0].message, "\"input\""));
	cr_assert(strstr(r->finding[0].message, "cuMemFree #"));
	cr_assert(strstr(r->finding[0].message, "its address is that of device buffer"));
	cr_assert_str_eq(r->finding[0].buffer.freed_by, "cuMemFree");
	cr_assert(r->finding[0].buffer.freed_seq);
	cr_assert_str_eq(r->finding[0].current.api, "cuGraphLaunch");
	cr_assert_str_eq(r->finding[0].previous.api, "cuLaunchKernel");
	krt_report_destroy(r);
	krt_engine_destroy(w.e);
}

Test(stale, recycled)
{
	struct world w;

	open2(&w);
	capture_all(&w, S1, G1, one_kernel(G1, DEV), X1);
	gone(&w, DEV);
	alloc(&w, DEV, N);
	graph_launch(&w, X1, S1);
	expect(&w, "GRAPH-STALE-ADDR:error:1");
}

Test(stale, never_launched_again)
{
	struct world w;

	open2(&w);
	capture_all(&w, S1, G1, one_kernel(G1, DEV), X1);
	graph_launch(&w, X1, S1);
	sync_stream(&w, S1);
	gone(&w, DEV);
	ends(&w);
	expect(&w, "");
}

Test(stale, killed_before_it_could)
{
	struct world w;

	open2(&w);
	capture_all(&w, S1, G1, one_kernel(G1, DEV), X1);
	graph_launch(&w, X1, S1);
	sync_stream(&w, S1);
	gone(&w, DEV);
	expect(&w, "GRAPH-STALE-ADDR:note:1");
}

Test(stale, note_is_one_an_executable)
{
	static struct graph_build b;
	struct world w;

	open2(&w);
	alloc(&w, DEV + 0x10000, N);
	graph_open(&b, G1);
	graph_kernel(&b, K, 1, DEV);
	graph_kernel(&b, K, 1, DEV + 0x10000);
	capture_all(&w, S1, G1, &b, X1);
	gone(&w, DEV);
	gone(&w, DEV + 0x10000);
	expect(&w, "GRAPH-STALE-ADDR:note:1");
}

Test(stale, note_is_not_said_twice)
{
	struct world w;

	open2(&w);
	capture_all(&w, S1, G1, one_kernel(G1, DEV), X1);
	gone(&w, DEV);
	graph_launch(&w, X1, S1);
	expect(&w, "GRAPH-STALE-ADDR:error:1");
}

Test(stale, destroyed)
{
	struct world w;

	open2(&w);
	capture_all(&w, S1, G1, one_kernel(G1, DEV), X1);
	gone(&w, DEV);
	exec_destroy(&w, X1);
	expect(&w, "");
}

Test(stale, node_updated)
{
	for (int cured = 0; cured < 2; cured++) {
		struct world w;

		open2(&w);
		alloc(&w, DEV + 0x10000, N);
		capture_all(&w, S1, G1, one_kernel(G1, DEV), X1);
		gone(&w, DEV);
		exec_set(&w, X1, G1 * 16 + 1,
			 one_kernel(G2, cured ? DEV + 0x10000 : DEV + 8));
		graph_launch(&w, X1, S1);
		cr_assert_str_eq(world_close(&w), cured ? "" : "GRAPH-STALE-ADDR:error:1");
	}
}

Test(stale, whole_graph_updated)
{
	for (int cured = 0; cured < 2; cured++) {
		static struct graph_build b;
		struct world w;

		open2(&w);
		alloc(&w, DEV + 0x10000, N);
		capture_all(&w, S1, G1, one_kernel(G1, DEV), X1);
		if (!cured)
			gone(&w, DEV);
		b = *one_kernel(G2, cured ? DEV + 0x10000 : DEV);
		capture_all(&w, S1, G2, &b, 0);
		exec_update(&w, X1, G2, &b);
		if (cured)
			gone(&w, DEV);
		graph_launch(&w, X1, S1);
		cr_assert_str_eq(world_close(&w), cured ? "" : "GRAPH-STALE-ADDR:error:1");
	}
}

/* The n-th of a type with the n-th of that type, wherever the others stand. */
Test(stale, update_matches_by_type)
{
	static struct graph_build a, b;
	struct world w;

	open2(&w);
	alloc(&w, DEV + 0x10000, N);
	graph_open(&a, G1);
	graph_kernel(&a, K, 1, DEV);
	graph_set(&a, DEV + 0x10000, 64);
	graph_kernel(&a, K, 1, DEV + 0x10000);
	graph_edge(&a, 1, 2);
	capture_all(&w, S1, G1, &a, X1);
	enable(&w, X1, G1 * 16 + 1, false); /* the first kernel */
	graph_open(&b, G2);
	graph_set(&b, DEV + 0x10000, 64);
	graph_kernel(&b, K, 1, DEV); /* becomes the first kernel: it stays disabled */
	graph_kernel(&b, K, 1, DEV + 0x10000);
	capture_all(&w, S1, G2, &b, 0);
	exec_update(&w, X1, G2, &b);
	gone(&w, DEV);
	graph_launch(&w, X1, S1);
	expect(&w, "");
}

Test(stale, update_that_failed)
{
	static struct graph_build b;
	struct world w;

	open2(&w);
	alloc(&w, DEV + 0x10000, N);
	capture_all(&w, S1, G1, one_kernel(G1, DEV), X1);
	b = *one_kernel(G2, DEV + 0x10000);
	capture_all(&w, S1, G2, &b, 0);
	call_begin(&w, KRT_API_cuGraphExecUpdate_v2, A(X1), A(G2), A(0));
	call_end(&w, 910);
	gone(&w, DEV);
	graph_launch(&w, X1, S1);
	expect(&w, "GRAPH-STALE-ADDR:error:1");
}

Test(stale, update_that_does_not_fit)
{
	static struct graph_build b;
	struct krt_report *r;
	struct world w;

	open2(&w);
	capture_all(&w, S1, G1, one_kernel(G1, DEV), X1);
	graph_open(&b, G2);
	graph_kernel(&b, K, 1, DEV);
	graph_kernel(&b, K, 1, DEV);
	exec_update(&w, X1, G2, &b);
	gone(&w, DEV);
	graph_launch(&w, X1, S1);
	r = world_report(&w);
	cr_assert_eq(r->nfindings, 0);
	cr_assert(r->process[0].coverage.reasons & 1u << KRT_REASON_GRAPH);
	krt_report_destroy(r);
	krt_engine_destroy(w.e);
}

Test(stale, disabled)
{
	for (int again = 0; again < 2; again++) {
		struct world w;

		open2(&w);
		capture_all(&w, S1, G1, one_kernel(G1, DEV), X1);
		enable(&w, X1, G1 * 16 + 1, false);
		gone(&w, DEV);
		graph_launch(&w, X1, S1);
		if (again)
			enable(&w, X1, G1 * 16 + 1, true);
		graph_launch(&w, X1, S1);
		cr_assert_str_eq(world_close(&w), again ? "GRAPH-STALE-ADDR:error:1" : "");
	}
}

Test(stale, word_inside_a_struct)
{
	for (int alive = 0; alive < 2; alive++) {
		static struct graph_build b;
		struct world w;

		open2(&w);
		if (!alive)
			gone(&w, DEV);
		graph_open(&b, G1);
		struct_kernel(&b, DEV + 16);
		capture_all(&w, S1, G1, &b, X1);
		if (alive)
			gone(&w, DEV);
		else
			alloc(&w, DEV, N);
		graph_launch(&w, X1, S1);
		ends(&w);
		cr_assert_str_eq(world_close(&w), alive ? "GRAPH-STALE-ADDR:warning:1" : "");
	}
}

/* Lists of addresses of which a launch fills in some: the rest is left over. */
Test(stale, word_of_a_large_struct)
{
	static const uint32_t size[] = {2048};
	static struct graph_build b;
	struct {
		struct krt_node_kernel k;
		struct krt_params h;
		uint64_t p[256];
	} u = {.k = {.func = 0xf0, .grid = {1, 1, 1}, .block = {1, 1, 1}},
	       .h = {.kernel = 9, .len = 2048},
	       .p = {[200] = DEV + 16}};
	struct world w;

	open2(&w);
	kernel(&w, 9, "multi", 1, size);
	graph_open(&b, G1);
	graph_node(&b, CU_GRAPH_NODE_TYPE_KERNEL, &u, sizeof(u));
	capture_all(&w, S1, G1, &b, X1);
	gone(&w, DEV);
	graph_launch(&w, X1, S1);
	expect_all(&w, "?GRAPH-STALE-ADDR:1");
}

/* As of an elementwise kernel: a few addresses, and tables of which a launch fills in some. */
Test(stale, word_of_a_struct_with_tables)
{
	static const uint32_t size[] = {528};
	static struct graph_build b;
	struct {
		struct krt_node_kernel k;
		struct krt_params h;
		uint64_t p[66];
	} u = {.k = {.func = 0xf0, .grid = {1, 1, 1}, .block = {1, 1, 1}},
	       .h = {.kernel = 9, .len = 528},
	       .p = {[3] = 77, [40] = DEV}};
	struct world w;

	open2(&w);
	kernel(&w, 9, "elementwise", 1, size);
	graph_open(&b, G1);
	graph_node(&b, CU_GRAPH_NODE_TYPE_KERNEL, &u, sizeof(u));
	capture_all(&w, S1, G1, &b, X1);
	gone(&w, DEV);
	graph_launch(&w, X1, S1);
	expect_all(&w, "?GRAPH-STALE-ADDR:1");
}

Test(stale, capture_that_failed)
{
	struct krt_capture_rec r = {.id = 1, .graph = G1, .status = 2};
	struct graph_build *b = one_kernel(G1, DEV);
	struct world w;

	open2(&w);
	capture_begin(&w, S1, G1);
	captured(&w, b, 0, S1);
	call_begin(&w, KRT_API_cuStreamEndCapture, A(S1), A(0));
	call_blob(&w, 255, KRT_BLOB_CAPTURE, &r, sizeof(r));
	call_end(&w, 901);
	gone(&w, DEV);
	alloc(&w, DEV, N);
	/* the handles of its nodes come again, by a way that is not seen */
	instantiate(&w, X1, G1, b);
	graph_launch(&w, X1, S1);
	ends(&w);
	expect(&w, "CAPTURE-ISOLATION:error:1");
}

Test(stale, context_gone_is_no_note)
{
	struct world w;

	open2(&w);
	capture_all(&w, S1, G1, one_kernel(G1, DEV), X1);
	call(&w, cuDevicePrimaryCtxReset_v2, A(0));
	expect(&w, "");
}

Test(stale, added_by_hand)
{
	static struct graph_build b;
	struct krt_report *r;
	struct world w;

	open2(&w);
	graph_open(&b, G1);
	graph_kernel(&b, K, 1, DEV);
	call_begin(&w, KRT_API_cuGraphAddKernelNode_v2, A(0), A(G1), A(0), A(0), A(0));
	call_out(&w, 0, G1 * 16 + 1);
	node_blob(&w, &b, 0);
	call_end(&w, 0);
	gone(&w, DEV);
	alloc(&w, DEV, N);
	instantiate(&w, X1, G1, &b);
	graph_launch(&w, X1, S1);
	r = world_report(&w);
	cr_assert_eq(r->nfindings, 1);
	cr_assert(strstr(r->finding[0].message, "(added by cuGraphAddKernelNode #"));
	cr_assert_str_eq(r->finding[0].previous.what, "add");
	krt_report_destroy(r);
	krt_engine_destroy(w.e);
}

Test(stale, from_birth)
{
	for (int again = 0; again < 2; again++) {
		struct graph_build *b = one_kernel(G1, DEV);
		struct world w;

		open2(&w);
		capture_all(&w, S1, G1, b, 0);
		gone(&w, DEV);
		if (again)
			alloc(&w, DEV, N);
		instantiate(&w, X1, G1, b);
		graph_launch(&w, X1, S1);
		expect(&w, "GRAPH-STALE-ADDR:error:1");
	}
}

Test(stale, freed_before_the_node_was_made)
{
	struct world w;

	open2(&w);
	gone(&w, DEV);
	alloc(&w, DEV, N);
	capture_all(&w, S1, G1, one_kernel(G1, DEV), X1);
	graph_launch(&w, X1, S1);
	ends(&w);
	expect(&w, "");
}

Test(stale, template_edited)
{
	struct graph_build *b = one_kernel(G1, DEV);
	struct graph_build *to;
	struct world w;

	open2(&w);
	alloc(&w, DEV + 0x10000, N);
	capture_all(&w, S1, G1, b, 0);
	gone(&w, DEV);
	to = one_kernel(G2, DEV + 0x10000);
	node_at(to, 0)->node = G1 * 16 + 1;
	call_begin(&w, KRT_API_cuGraphKernelNodeSetParams_v2, A(G1 * 16 + 1), A(0));
	node_blob(&w, to, 0);
	call_end(&w, 0);
	instantiate(&w, X1, G1, to);
	graph_launch(&w, X1, S1);
	expect(&w, "");
}

Test(stale, copies_and_sets)
{
	for (int set = 0; set < 2; set++) {
		static struct graph_build b;
		struct world w;

		open2(&w);
		alloc(&w, DEV + 0x10000, N);
		graph_open(&b, G1);
		if (set)
			graph_set(&b, DEV, 64);
		else
			graph_copy(&b, DEV + 0x10000, DEV, 64);
		capture_all(&w, S1, G1, &b, X1);
		gone(&w, DEV);
		graph_launch(&w, X1, S1);
		expect(&w, "GRAPH-STALE-ADDR:error:1");
	}
}

Test(stale, in_a_conditional)
{
	static struct graph_build b;
	struct world w;

	open2(&w);
	graph_open(&b, G1);
	graph_hold(&b, 1);
	graph_enter(&b, G2);
	graph_set(&b, DEV, 64);
	graph_leave(&b);
	graph_held(&b);
	instantiate(&w, X1, G1, &b);
	gone(&w, DEV);
	graph_launch(&w, X1, S1);
	expect(&w, "GRAPH-STALE-ADDR:warning:1");
}

Test(stale, in_a_child)
{
	static struct graph_build b;
	struct world w;

	open2(&w);
	graph_open(&b, G1);
	graph_hold(&b, 0);
	graph_enter(&b, G2);
	graph_set(&b, DEV, 64);
	graph_leave(&b);
	graph_held(&b);
	instantiate(&w, X1, G1, &b);
	gone(&w, DEV);
	graph_launch(&w, X1, S1);
	expect(&w, "GRAPH-STALE-ADDR:error:1");
}

/* The nodes of a copy are other nodes, made when those of the original were. */
Test(stale, clone)
{
	static struct graph_build b, copy;
	struct krt_report *r;
	struct world w;

	open2(&w);
	graph_open(&b, G1);
	graph_kernel(&b, K, 1, DEV);
	capture_all(&w, S1, G1, &b, 0);
	graph_open(&copy, G2);
	graph_kernel(&copy, K, 1, DEV);
	gone(&w, DEV);
	alloc(&w, DEV, N);
	call_begin(&w, KRT_API_cuGraphClone, A(0), A(G1));
	call_out(&w, 0, G2);
	graph_blob(&w, &copy);
	call_end(&w, 0);
	call(&w, cuGraphDestroy, A(G1));
	instantiate(&w, X1, G2, &copy);
	graph_launch(&w, X1, S1);
	r = world_report(&w);
	cr_assert_eq(r->nfindings, 1);
	cr_assert(strstr(r->finding[0].message, "captured by cuLaunchKernel"));
	krt_report_destroy(r);
	krt_engine_destroy(w.e);
}

Test(stale, child_graph_is_a_copy)
{
	static struct graph_build inner, outer;
	struct world w;

	open2(&w);
	graph_open(&inner, G2);
	graph_kernel(&inner, K, 1, DEV);
	capture_all(&w, S1, G2, &inner, 0);
	gone(&w, DEV);
	alloc(&w, DEV, N);
	graph_open(&outer, G1);
	graph_hold(&outer, 0);
	graph_enter(&outer, 0x399);
	graph_kernel(&outer, K, 1, DEV);
	graph_leave(&outer);
	graph_held(&outer);
	call_begin(&w, KRT_API_cuGraphAddChildGraphNode, A(0), A(G1), A(0), A(0), A(G2));
	call_out(&w, 0, G1 * 16 + 1);
	node_blob(&w, &outer, 0);
	call_end(&w, 0);
	instantiate(&w, X1, G1, &outer);
	graph_launch(&w, X1, S1);
	expect(&w, "GRAPH-STALE-ADDR:error:1");
}

Test(stale, graph_destroyed_executable_goes_on)
{
	struct world w;

	open2(&w);
	capture_all(&w, S1, G1, one_kernel(G1, DEV), X1);
	call(&w, cuGraphDestroy, A(G1));
	graph_launch(&w, X1, S1);
	sync_stream(&w, S1);
	gone(&w, DEV);
	graph_launch(&w, X1, S1);
	expect(&w, "GRAPH-STALE-ADDR:error:1");
}

Test(stale, handle_of_an_executable_again)
{
	struct world w;

	open2(&w);
	alloc(&w, DEV + 0x10000, N);
	capture_all(&w, S1, G1, one_kernel(G1, DEV), X1);
	exec_destroy(&w, X1);
	gone(&w, DEV);
	capture_all(&w, S1, G2, one_kernel(G2, DEV + 0x10000), X1);
	graph_launch(&w, X1, S1);
	expect(&w, "");
}

Test(stale, memory_of_the_graph)
{
	static struct graph_build b;
	struct world w;

	open2(&w);
	graph_open(&b, G1);
	graph_alloc(&b, DEV + 0x100000, N);
	graph_kernel(&b, K, 1, DEV + 0x100000);
	graph_set(&b, DEV + 0x100000, 64);
	graph_free(&b, DEV + 0x100000);
	for (uint32_t i = 0; i < 3; i++)
		graph_edge(&b, i, i + 1);
	capture_all(&w, S1, G1, &b, X1);
	graph_launch(&w, X1, S1);
	graph_launch(&w, X1, S2);
	ends(&w);
	expect(&w, "");
}

Test(stale, stream_ordered_memory)
{
	struct world w;

	open2(&w);
	alloc_async(&w, DEV + 0x10000, N, S1);
	capture_all(&w, S1, G1, one_kernel(G1, DEV + 0x10000), X1);
	graph_launch(&w, X1, S1);
	call(&w, cuMemFreeAsync, A(DEV + 0x10000), A(S1));
	graph_launch(&w, X1, S1);
	expect(&w, "GRAPH-STALE-ADDR:error:1");
}

/* --- mapped memory --- */

static void map(struct world *w, uint64_t addr, uint64_t handle)
{
	call(w, cuMemMap, A(addr), A(N), A(0), A(handle), A(0));
}

static void create(struct world *w, uint64_t handle)
{
	call_begin(w, KRT_API_cuMemCreate, A(0), A(N), A(0), A(0));
	call_out(w, 0, handle);
	call_end(w, 0);
}

Test(stale, unmapped)
{
	for (int how = 0; how < 3; how++) {
		struct world w;

		open2(&w);
		create(&w, 0x91);
		create(&w, 0x92);
		map(&w, DEV + 0x10000, 0x91);
		capture_all(&w, S1, G1, one_kernel(G1, DEV + 0x10000), X1);
		call(&w, cuMemUnmap, A(DEV + 0x10000), A(N));
		if (how)
			map(&w, DEV + 0x10000, how == 1 ? 0x91 : 0x92);
		graph_launch(&w, X1, S1);
		ends(&w);
		cr_assert_str_eq(world_close(&w), how == 0   ? "GRAPH-STALE-ADDR:error:1"
						  : how == 1 ? ""
							     : "GRAPH-STALE-ADDR:warning:1");
	}
}

Test(stale, mapped_again_and_unmapped_again)
{
	struct world w;

	open2(&w);
	create(&w, 0x91);
	map(&w, DEV + 0x10000, 0x91);
	capture_all(&w, S1, G1, one_kernel(G1, DEV + 0x10000), X1);
	for (int i = 0; i < 3; i++) {
		call(&w, cuMemUnmap, A(DEV + 0x10000), A(N));
		map(&w, DEV + 0x10000, 0x91);
		graph_launch(&w, X1, S1);
		sync_stream(&w, S1);
	}
	call(&w, cuMemUnmap, A(DEV + 0x10000), A(N));
	graph_launch(&w, X1, S1);
	expect(&w, "GRAPH-STALE-ADDR:error:1");
}

/* --- pools' blocks --- */

#define P 0x71

static void open_pool(struct world *w)
{
	open2(w);
	alloc(w, DEV + 0x100000, 0x10000);
	pool_create(w, P, 1, "pool");
}
#define B0 (DEV + 0x100000)
#define B1 (DEV + 0x101000)

Test(blocks, returned)
{
	struct krt_report *r;
	struct world w;

	open_pool(&w);
	block_alloc(&w, P, B0, N, S1);
	capture_all(&w, S1, G1, one_kernel(G1, B0), X1);
	block_free(&w, B0);
	graph_launch(&w, X1, S1);
	r = world_report(&w);
	cr_assert_eq(r->nfindings, 1);
	cr_assert_eq(r->finding[0].rule, KRT_RULE_GRAPH_STALE_ADDR);
	cr_assert_eq(r->finding[0].level, KRT_LEVEL_ERROR);
	cr_assert(strstr(r->finding[0].message, "has returned it since"));
	krt_report_destroy(r);
	krt_engine_destroy(w.e);
}

Test(blocks, returned_and_recycled)
{
	struct krt_report *r;
	struct world w;

	open_pool(&w);
	block_alloc(&w, P, B0, N, S1);
	capture_all(&w, S1, G1, one_kernel(G1, B0), X1);
	block_free(&w, B0);
	block_alloc(&w, P, B0, N, S1);
	name(&w, B0, N, "theirs");
	graph_launch(&w, X1, S1);
	r = world_report(&w);
	cr_assert_eq(r->nfindings, 1);
	cr_assert(strstr(r->finding[0].message, "\"theirs\""));
	krt_report_destroy(r);
	krt_engine_destroy(w.e);
}

Test(blocks, another_one_returned)
{
	struct world w;

	open_pool(&w);
	block_alloc(&w, P, B0, N, S1);
	block_alloc(&w, P, B1, N, S1);
	capture_all(&w, S1, G1, one_kernel(G1, B0), X1);
	block_free(&w, B1);
	block_alloc(&w, P, B1, N, S1);
	graph_launch(&w, X1, S1);
	ends(&w);
	expect(&w, "");
}

Test(blocks, memory_gone_with_its_blocks_is_one_finding)
{
	struct world w;

	open_pool(&w);
	block_alloc(&w, P, B0, N, S1);
	capture_all(&w, S1, G1, one_kernel(G1, B0), X1);
	gone(&w, DEV + 0x100000);
	graph_launch(&w, X1, S1);
	expect(&w, "GRAPH-STALE-ADDR:error:1");
}

/* What a framework does: temporaries, and an output that gets the bytes of one. */
Test(blocks, temporaries_of_the_capture)
{
	static struct graph_build b;
	struct world w;

	open_pool(&w);
	graph_open(&b, G1);
	graph_kernel(&b, K, 1, B0);
	graph_kernel(&b, K, 1, B1);
	graph_kernel(&b, K, 1, B0);
	capture_begin(&w, S1, G1);
	block_alloc(&w, P, B0, N, S1);
	captured(&w, &b, 0, S1);
	block_alloc(&w, P, B1, N, S1);
	captured(&w, &b, 1, S1);
	block_free(&w, B0);
	block_alloc(&w, P, B0, N, S1); /* the output */
	captured(&w, &b, 2, S1);
	block_free(&w, B1);
	capture_end(&w, S1, G1);
	instantiate(&w, X1, G1, &b);
	graph_launch(&w, X1, S1);
	kernel_reads(&w, S1, B0, N);
	graph_launch(&w, X1, S1);
	block_free(&w, B0); /* dropped by the program, kept by the graph's pool */
	graph_launch(&w, X1, S1);
	ends(&w);
	expect(&w, "");
}

/* The block had another owner before the capture, whose set may still run at the launch. */
static void after_a_former_owner(struct world *w, bool wait)
{
	static struct graph_build b;

	open_pool(w);
	graph_open(&b, G1);
	graph_set(&b, B0, N);
	block_alloc(w, P, B0, N, S2);
	set(w, B0, N, S2);
	record(w, E1, S2);
	block_free(w, B0);
	capture_begin(w, S1, G1);
	block_alloc(w, P, B0, N, S1);
	captured(w, &b, 0, S1);
	capture_end(w, S1, G1);
	instantiate(w, X1, G1, &b);
	if (wait)
		wait_event(w, S1, E1);
	graph_launch(w, X1, S1);
	ends(w);
}

Test(blocks, former_owner_at_work)
{
	struct world w;

	after_a_former_owner(&w, false);
	expect(&w, "GRAPH-EXEC-OVERLAP:error:1");
}

Test(blocks, former_owner_waited_for)
{
	struct world w;

	after_a_former_owner(&w, true);
	expect(&w, "");
}

/* The graph runs; its block is given back and the next owner begins. */
static void returned_in_flight(struct world *w, bool wait)
{
	open_pool(w);
	block_alloc(w, P, B0, N, S1);
	capture_all(w, S1, G1, one_kernel(G1, B0), X1);
	graph_launch(w, X1, S1);
	record(w, E1, S1);
	block_free(w, B0);
	block_alloc(w, P, B0, N, S2);
	if (wait)
		wait_event(w, S2, E1);
	launch(w, S2, K, B0);
	ends(w);
}

Test(blocks, returned_in_flight)
{
	struct krt_report *r;
	struct world w;

	returned_in_flight(&w, false);
	r = world_report(&w);
	cr_assert_eq(r->nfindings, 1);
	cr_assert_eq(r->finding[0].rule, KRT_RULE_REUSE_RACE);
	cr_assert_eq(r->finding[0].level, KRT_LEVEL_ERROR);
	cr_assert_str_eq(r->finding[0].previous.api, "cuGraphLaunch");
	cr_assert_str_eq(r->finding[0].buffer.freed_by, "block free");
	krt_report_destroy(r);
	krt_engine_destroy(w.e);
}

Test(blocks, returned_when_done)
{
	struct world w;

	returned_in_flight(&w, true);
	expect(&w, "");
}

static void private_pool(struct world *w, bool in_capture)
{
	struct graph_build *b = one_kernel(G1, B0);

	open_pool(w);
	capture_begin(w, S1, G1);
	block_alloc(w, P, B0, N, S1);
	captured(w, b, 0, S1);
	capture_end(w, S1, G1);
	instantiate(w, X1, G1, b);
	block_free(w, B0);
	if (in_capture)
		capture_begin(w, S1, G2);
	block_alloc(w, P, B0, N, S1);
	if (in_capture)
		capture_end(w, S1, G2);
	graph_launch(w, X1, S1);
	ends(w);
}

Test(blocks, of_a_capture_given_to_somebody_outside)
{
	struct world w;

	private_pool(&w, false);
	expect(&w, "GRAPH-STALE-ADDR:error:1");
}

Test(blocks, of_a_capture_given_to_another_capture)
{
	struct world w;

	private_pool(&w, true);
	expect(&w, "");
}

/* A launch is work of the owner that the block had. */
Test(blocks, handed_on_while_a_launch_runs)
{
	static const char *const text[] = {"REUSE-RACE:error:1", "REUSE-RACE:error:1",
					   "REUSE-RACE:error:1", ""};

	for (int how = 0; how < 4; how++) {
		static struct graph_build b;
		struct world w;

		open_pool(&w);
		block_alloc(&w, P, B0, N, S1);
		graph_open(&b, G1);
		if (how == 1)
			graph_kernel(&b, K, 1, B0);
		else
			graph_set(&b, B0, 64);
		capture_all(&w, S1, G1, &b, X1);
		graph_launch(&w, X1, S1);
		exec_destroy(&w, X1);
		block_free(&w, B0);
		block_alloc(&w, P, B0, N, S2);
		if (how == 3)
			hop(&w, S1, S2);
		if (how == 2)
			launch(&w, S2, K, B0);
		else
			set(&w, B0, 64, S2);
		ends(&w);
		cr_assert_str_eq(world_close(&w), text[how], "%d", how);
	}
}

/* S35: what outlives the capture got the bytes of a temporary. */
static void squatter(struct world *w, int how)
{
	struct graph_build *b = one_kernel(G1, B0);

	open_pool(w);
	capture_begin(w, S1, G1);
	block_alloc(w, P, B0, N, S1);
	captured(w, b, 0, S1);
	block_free(w, B0);
	block_alloc(w, P, B0, N, S1);
	capture_end(w, S1, G1);
	instantiate(w, X1, G1, b);
	if (how == 1)
		kernel_writes(w, S1, B0, N); /* eager use */
	if (how == 2)
		capture_all(w, S1, G2, one_kernel(G2, B0), X2); /* by another graph */
	if (how == 4) {
		static struct graph_build other;

		graph_open(&other, G2);
		graph_set(&other, B0, 64);
		capture_all(w, S1, G2, &other, X2);
	}
	if (how == 3)
		block_free(w, B0);
	graph_launch(w, X1, S1);
	ends(w);
}

Test(blocks, temporary_under_a_block_that_lives)
{
	struct world w;

	squatter(&w, 1);
	expect(&w, "GRAPH-STALE-ADDR:error:1");
	squatter(&w, 2); /* an address may have come to it in another way */
	expect(&w, "GRAPH-STALE-ADDR:warning:1");
	squatter(&w, 4);
	expect(&w, "GRAPH-STALE-ADDR:error:1");
}

/* A kernel of the graph may write the block: nothing is known of it. */
Test(blocks, temporary_in_a_graph_that_is_not_understood)
{
	struct {
		struct krt_node_kernel k;
		struct krt_params h;
	} u = {.k = {.func = 0xf1, .grid = {1, 1, 1}, .block = {1, 1, 1}},
	       .h = {.kernel = 0, .len = KRT_PARAMS_UNKNOWN}};
	static struct graph_build b;
	struct world w;

	open_pool(&w);
	graph_open(&b, G1);
	graph_kernel(&b, K, 1, B0);
	graph_node(&b, CU_GRAPH_NODE_TYPE_KERNEL, &u, sizeof(u));
	graph_edge(&b, 0, 1);
	capture_begin(&w, S1, G1);
	block_alloc(&w, P, B0, N, S1);
	captured(&w, &b, 0, S1);
	block_free(&w, B0);
	block_alloc(&w, P, B0, N, S1);
	captured(&w, &b, 1, S1);
	capture_end(&w, S1, G1);
	instantiate(&w, X1, G1, &b);
	kernel_writes(&w, S1, B0, N);
	graph_launch(&w, X1, S1);
	ends(&w);
	expect(&w, "");
}

/* That the capture gave the temporary back changes nothing for who reads the output. */
Test(blocks, output_in_the_bytes_of_a_temporary)
{
	static struct graph_build b;
	struct world w;

	for (int ordered = 0; ordered < 2; ordered++) {
		open_pool(&w);
		graph_open(&b, G1);
		graph_set(&b, B0, 64);
		graph_set(&b, B0, 64);
		graph_edge(&b, 0, 1);
		capture_begin(&w, S1, G1);
		block_alloc(&w, P, B0, N, S1);
		captured(&w, &b, 0, S1);
		block_free(&w, B0);
		block_alloc(&w, P, B0, N, S1);
		captured(&w, &b, 1, S1);
		capture_end(&w, S1, G1);
		instantiate(&w, X1, G1, &b);
		graph_launch(&w, X1, S1);
		if (ordered)
			hop(&w, S1, S2);
		set(&w, B0, 64, S2);
		ends(&w);
		expect(&w, ordered ? "" : "GRAPH-EXEC-OVERLAP:error:1");
	}
}

Test(blocks, temporary_under_a_block_that_nobody_uses)
{
	struct world w;

	squatter(&w, 0);
	expect(&w, "");
	squatter(&w, 3);
	expect(&w, "");
}

/* --- host memory ------------------------------------------------------------------------------ */

static struct graph_build *one_upload(uint64_t h)
{
	static struct graph_build b;

	graph_open(&b, G1);
	host_copy(&b, DEV, h, 64);
	return &b;
}

Test(host, pinned_freed)
{
	for (int bad = 0; bad < 2; bad++) {
		struct world w;

		open2(&w);
		alloc_pinned(&w, PIN, N);
		alloc_pinned(&w, PIN + 0x10000, N);
		capture_all(&w, S1, G1, one_upload(PIN), X1);
		call(&w, cuMemFreeHost, A(bad ? PIN : PIN + 0x10000));
		graph_launch(&w, X1, S1);
		cr_assert_str_eq(world_close(&w), bad ? "GRAPH-STALE-HOST:error:1" : "");
	}
}

Test(host, unregistered)
{
	for (int again = 0; again < 2; again++) {
		struct world w;

		open2(&w);
		call(&w, cuMemHostRegister_v2, A(HEAP), A(N), A(0));
		capture_all(&w, S1, G1, one_upload(HEAP), X1);
		call(&w, cuMemHostUnregister, A(HEAP));
		if (again)
			call(&w, cuMemHostRegister_v2, A(HEAP), A(N), A(0));
		graph_launch(&w, X1, S1);
		ends(&w);
		cr_assert_str_eq(world_close(&w), again ? "" : "GRAPH-STALE-HOST:error:1");
	}
}

Test(host, registered_heap_freed)
{
	struct world w;

	open2(&w);
	call(&w, cuMemHostRegister_v2, A(HEAP), A(N), A(0));
	capture_all(&w, S1, G1, one_upload(HEAP), X1);
	graph_launch(&w, X1, S1);
	sync_stream(&w, S1);
	heap_end(&w, HEAP - 64, N + 128);
	graph_launch(&w, X1, S1);
	sync_stream(&w, S1);
	call(&w, cuMemHostUnregister, A(HEAP));
	ends(&w);
	expect(&w, "GRAPH-STALE-HOST:error:1");
}

Test(host, heap_freed)
{
	for (int bad = 0; bad < 2; bad++) {
		struct world w;

		open2(&w);
		capture_all(&w, S1, G1, one_upload(HEAP), X1);
		heap_end(&w, bad ? HEAP - 64 : HEAP + 64, 128);
		graph_launch(&w, X1, S1);
		ends(&w);
		cr_assert_str_eq(world_close(&w), bad ? "GRAPH-STALE-HOST:error:1" : "");
	}
}

Test(host, heap_freed_before_instantiation)
{
	struct graph_build *b = one_upload(HEAP);
	struct world w;

	open2(&w);
	capture_all(&w, S1, G1, b, 0);
	heap_end(&w, HEAP, 64);
	instantiate(&w, X1, G1, b);
	graph_launch(&w, X1, S1);
	expect(&w, "GRAPH-STALE-HOST:error:1");
}

Test(host, heap_freed_before_the_capture)
{
	struct world w;

	open2(&w);
	heap_end(&w, HEAP, 64);
	capture_all(&w, S1, G1, one_upload(HEAP), X1);
	graph_launch(&w, X1, S1);
	ends(&w);
	expect(&w, "");
}

Test(host, user_data_of_a_function)
{
	static struct graph_build b;
	uint64_t v[2] = {0xf00, HEAP + 8};
	struct world w;

	open2(&w);
	graph_open(&b, G1);
	graph_node(&b, CU_GRAPH_NODE_TYPE_HOST, v, sizeof(v));
	capture_all(&w, S1, G1, &b, X1);
	heap_end(&w, HEAP, 64);
	graph_launch(&w, X1, S1);
	expect(&w, "GRAPH-STALE-HOST:warning:1");
}

static void launch_from(struct world *w, uint64_t exec, uint64_t s, uint64_t sp, uint64_t low)
{
	struct krt_frame_rec r = {.sp = sp, .low = low, .high = low ? low + 0x800000 : 0};

	call_begin(w, KRT_API_cuGraphLaunch, A(exec), A(s));
	call_blob(w, 255, KRT_BLOB_FRAME, &r, sizeof(r));
	call_end(w, 0);
}

#define STACK 0x7ffd00000000ull

Test(host, on_a_stack)
{
	static const struct {
		uint32_t thread;
		uint64_t sp, low;
		const char *text;
	} cases[] = {
		{1, STACK + 0x1000, STACK - 0x10000, "GRAPH-STALE-HOST:error:1"}, /* returned */
		{1, STACK - 0x100, STACK - 0x10000, ""},  /* the frame may be there yet */
		{2, STACK + 0x1000, STACK - 0x10000, ""}, /* another thread's stack */
		{1, STACK + 0x1000, STACK + 0x800, ""},	  /* another stack of the thread */
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct graph_build *b = one_upload(STACK);
		struct world w;

		open2(&w);
		thread(&w, 0, 1);
		node_at(b, 0)->flags |= KRT_NODE_STACK;
		capture_all(&w, S1, G1, b, X1);
		thread(&w, 1, cases[i].thread);
		launch_from(&w, X1, S1, cases[i].sp, cases[i].low);
		ends(&w);
		cr_assert_str_eq(world_close(&w), cases[i].text, "case %u", i);
	}
}

/* --- launches beside other work ----------------------------------------------------------------- */

static struct graph_build *reads_first_half(void)
{
	static struct graph_build b;

	graph_open(&b, G1);
	graph_copy(&b, DEV + N / 2, DEV, N / 2);
	return &b;
}

Test(overlap, input_written_on_another_stream)
{
	for (int ordered = 0; ordered < 2; ordered++) {
		struct world w;

		open2(&w);
		capture_all(&w, S1, G1, reads_first_half(), X1);
		set(&w, DEV, 64, S2);
		if (ordered)
			hop(&w, S2, S1);
		graph_launch(&w, X1, S1);
		cr_assert_str_eq(world_close(&w), ordered ? "" : "GRAPH-EXEC-OVERLAP:error:1");
	}
}

Test(overlap, input_written_before_the_executable_was_made)
{
	for (int ordered = 0; ordered < 2; ordered++) {
		struct world w;

		open2(&w);
		set(&w, DEV, 64, S2);
		if (ordered)
			sync_stream(&w, S2);
		capture_all(&w, S1, G1, reads_first_half(), X1);
		graph_launch(&w, X1, S1);
		cr_assert_str_eq(world_close(&w), ordered ? "" : "GRAPH-EXEC-OVERLAP:error:1");
	}
}

Test(overlap, input_written_while_it_runs)
{
	for (int ordered = 0; ordered < 2; ordered++) {
		struct world w;

		open2(&w);
		capture_all(&w, S1, G1, reads_first_half(), X1);
		graph_launch(&w, X1, S1);
		if (ordered)
			hop(&w, S1, S2);
		set(&w, DEV, 64, S2);
		cr_assert_str_eq(world_close(&w), ordered ? "" : "GRAPH-EXEC-OVERLAP:error:1");
	}
}

Test(overlap, words)
{
	struct krt_report *r;
	struct world w;

	open2(&w);
	capture_all(&w, S1, G1, reads_first_half(), X1);
	graph_launch(&w, X1, S1);
	set(&w, DEV, 64, S2);
	r = world_report(&w);
	cr_assert_eq(r->nfindings, 1);
	cr_assert(strstr(r->finding[0].message,
			 ", whose copy node (captured by cuMemcpyHtoDAsync #"));
	cr_assert_str_eq(r->finding[0].previous.api, "cuGraphLaunch");
	cr_assert_eq(r->finding[0].buffer.len, 64);
	krt_report_destroy(r);
	krt_engine_destroy(w.e);
}

Test(overlap, reads_and_other_bytes)
{
	struct world w;

	open2(&w);
	alloc(&w, DEV + 0x10000, N);
	capture_all(&w, S1, G1, reads_first_half(), X1);
	d2d(&w, DEV + 0x10000, DEV, 64, S2); /* both read */
	graph_launch(&w, X1, S1);
	d2d(&w, DEV + 0x10000, DEV, 64, S2);
	set(&w, DEV + 0x10000, 64, S2); /* nobody's */
	expect(&w, "");
}

Test(overlap, one_stream)
{
	struct world w;

	open2(&w);
	capture_all(&w, S1, G1, reads_first_half(), X1);
	for (int i = 0; i < 5; i++) {
		set(&w, DEV, 64, S1);
		graph_launch(&w, X1, S1);
		d2h(&w, HEAP, DEV + N / 2, 64, S1);
	}
	expect(&w, "");
}

/* Launches of one executable follow each other; the copies around them do not. */
Test(overlap, chain_on_two_streams)
{
	struct world w;

	open2(&w);
	capture_all(&w, S1, G1, reads_first_half(), X1);
	graph_launch(&w, X1, S1);
	graph_launch(&w, X1, S2);
	graph_launch(&w, X1, S1);
	expect(&w, "");
	open2(&w);
	capture_all(&w, S1, G1, reads_first_half(), X1);
	graph_launch(&w, X1, S1);
	set(&w, DEV, 64, S2); /* meets the first launch, and is before the second */
	graph_launch(&w, X1, S2);
	d2h(&w, HEAP, DEV + N / 2, 64, S1); /* meets the second */
	expect(&w, "GRAPH-EXEC-OVERLAP:error:2");
}

/* What the first stream held before its launch is done when the second launch begins. */
Test(overlap, chain_carries_order)
{
	struct world w;

	open2(&w);
	alloc(&w, DEV + 0x10000, N);
	capture_all(&w, S1, G1, reads_first_half(), X1);
	set(&w, DEV + 0x10000, 64, S1);
	graph_launch(&w, X1, S1);
	graph_launch(&w, X1, S2);
	set(&w, DEV + 0x10000, 64, S2);
	expect(&w, "");
}

static void two_executables(struct world *w, uint64_t addr, int order)
{
	static struct graph_build b;

	open2(w);
	alloc(w, DEV + 0x10000, N);
	capture_all(w, S1, G1, reads_first_half(), X1);
	graph_open(&b, G2);
	graph_set(&b, addr, 64);
	capture_all(w, S2, G2, &b, X2);
	graph_launch(w, X1, S1);
	if (order == 1)
		hop(w, S1, S2);
	if (order == 2)
		sync_stream(w, S1);
	graph_launch(w, X2, S2);
}

Test(overlap, two_executables)
{
	struct world w;

	two_executables(&w, DEV, 0);
	expect(&w, "GRAPH-EXEC-OVERLAP:error:1");
	two_executables(&w, DEV, 1);
	expect(&w, "");
	two_executables(&w, DEV, 2);
	expect(&w, "");
	two_executables(&w, DEV + 0x10000, 0);
	expect(&w, "");
}

Test(overlap, two_executables_again_and_again)
{
	struct world w;

	two_executables(&w, DEV, 0);
	graph_launch(&w, X2, S2);
	graph_launch(&w, X1, S1);
	expect(&w, "GRAPH-EXEC-OVERLAP:error:3");
}

Test(overlap, destroyed_while_it_runs)
{
	struct world w;

	open2(&w);
	capture_all(&w, S1, G1, reads_first_half(), X1);
	graph_launch(&w, X1, S1);
	exec_destroy(&w, X1);
	set(&w, DEV, 64, S2);
	expect(&w, "GRAPH-EXEC-OVERLAP:error:1");
}

/* A launch goes on with the parameters it was launched with. */
Test(overlap, updated_while_it_runs)
{
	static struct graph_build b;
	struct world w;

	open2(&w);
	alloc(&w, DEV + 0x10000, N);
	capture_all(&w, S1, G1, reads_first_half(), X1);
	graph_launch(&w, X1, S1);
	graph_open(&b, G2);
	graph_copy(&b, DEV + 0x10000 + N / 2, DEV + 0x10000, N / 2);
	capture_all(&w, S1, G2, &b, 0);
	exec_update(&w, X1, G2, &b);
	graph_launch(&w, X1, S1);
	set(&w, DEV, 64, S2);		/* the first launch */
	set(&w, DEV + 0x10000, 64, S2); /* the second */
	expect(&w, "GRAPH-EXEC-OVERLAP:error:2");
}

Test(overlap, kernel_of_which_a_pointer_is_known)
{
	struct world w;

	open2(&w);
	capture_all(&w, S1, G1, one_kernel(G1, DEV), X1);
	set(&w, DEV, 64, S2);
	graph_launch(&w, X1, S1);
	expect(&w, "GRAPH-EXEC-OVERLAP:warning:1");
	open2(&w);
	capture_all(&w, S1, G1, one_kernel(G1, DEV), X1);
	set(&w, DEV + 64, 64, S2); /* beside the pointer: nothing is known */
	graph_launch(&w, X1, S1);
	expect(&w, "");
	open2(&w);
	capture_all(&w, S1, G1, one_kernel(G1, DEV), X1);
	launch(&w, S2, K, DEV);
	graph_launch(&w, X1, S1);
	expect_all(&w, "?GRAPH-EXEC-OVERLAP:1");
}

Test(overlap, pointer_of_a_kernel_beside_a_copy_node)
{
	struct world w;

	open2(&w);
	capture_all(&w, S1, G1, reads_first_half(), X1);
	graph_launch(&w, X1, S1);
	launch(&w, S2, K, DEV + N / 2);
	expect(&w, "GRAPH-EXEC-OVERLAP:warning:1");
}

Test(overlap, in_a_conditional)
{
	static struct graph_build b;
	struct world w;

	open2(&w);
	graph_open(&b, G1);
	graph_hold(&b, 1);
	graph_enter(&b, G2);
	graph_set(&b, DEV, 64);
	graph_leave(&b);
	graph_held(&b);
	instantiate(&w, X1, G1, &b);
	set(&w, DEV, 64, S2);
	graph_launch(&w, X1, S1);
	expect(&w, "GRAPH-EXEC-OVERLAP:warning:1");
}

/* What was declared before a captured launch is the node's. */
static void declared_node(struct world *w, uint64_t touched, bool set_again)
{
	struct graph_build *b = one_kernel(G1, DEV);

	open2(w);
	capture_begin(w, S1, G1);
	access_note(w, S1, DEV, 64, 1);
	captured(w, b, 0, S1);
	capture_end(w, S1, G1);
	instantiate(w, X1, G1, b);
	if (set_again)
		exec_set(w, X1, G1 * 16 + 1, one_kernel(G2, DEV));
	set(w, touched, 64, S2);
	graph_launch(w, X1, S1);
}

Test(overlap, declared_of_a_captured_launch)
{
	struct world w;

	declared_node(&w, DEV, false);
	expect(&w, "GRAPH-EXEC-OVERLAP:error:1");
	declared_node(&w, DEV + 64, false);
	expect_all(&w, "");
	declared_node(&w, DEV, true);
	expect(&w, "GRAPH-EXEC-OVERLAP:warning:1");
}

Test(overlap, declared_is_used_up_by_the_captured_launch)
{
	struct graph_build *b = one_kernel(G1, DEV);
	struct world w;

	open2(&w);
	capture_begin(&w, S1, G1);
	access_note(&w, S1, DEV, 64, 2);
	captured(&w, b, 0, S1);
	capture_end(&w, S1, G1);
	launch_of(&w, KRT_API_cuLaunchKernel, S1, 0, 0, NULL);
	d2h(&w, HEAP, DEV, 64, S2);
	expect(&w, "");
}

Test(overlap, capture_touches_nothing)
{
	struct world w;

	open2(&w);
	set(&w, DEV, 64, S2);
	capture_all(&w, S1, G1, reads_first_half(), X1);
	host_write(&w, PIN, 64);
	expect(&w, "");
}

Test(overlap, freed_while_it_runs)
{
	struct world w;

	open2(&w);
	capture_all(&w, S1, G1, one_kernel(G1, DEV), X1);
	graph_launch(&w, X1, S1);
	gone(&w, DEV);
	ends(&w);
	expect(&w, "FREE-IN-USE:warning:1"); /* drivers wait */
	open2(&w);
	alloc_async(&w, DEV + 0x10000, N, S1);
	hop(&w, S1, S2);
	capture_all(&w, S1, G1, one_kernel(G1, DEV + 0x10000), X1);
	graph_launch(&w, X1, S1);
	call(&w, cuMemFreeAsync, A(DEV + 0x10000), A(S2));
	ends(&w);
	expect(&w, "FREE-IN-USE:error:1");
	open2(&w);
	alloc_async(&w, DEV + 0x10000, N, S1);
	capture_all(&w, S1, G1, one_kernel(G1, DEV + 0x10000), X1);
	graph_launch(&w, X1, S1);
	call(&w, cuMemFreeAsync, A(DEV + 0x10000), A(S1));
	ends(&w);
	expect(&w, "");
}

Test(overlap, host_memory_freed_while_it_runs)
{
	for (int ordered = 0; ordered < 2; ordered++) {
		struct world w;

		open2(&w);
		capture_all(&w, S1, G1, one_upload(HEAP), X1);
		graph_launch(&w, X1, S1);
		if (ordered)
			sync_stream(&w, S1);
		heap_end(&w, HEAP, 64);
		ends(&w);
		cr_assert_str_eq(world_close(&w), ordered ? "" : "HOST-FREE-IN-USE:error:1");
	}
}

Test(overlap, host_writes_the_source)
{
	for (int ordered = 0; ordered < 2; ordered++) {
		struct world w;

		open2(&w);
		alloc_pinned(&w, PIN, N);
		capture_all(&w, S1, G1, one_upload(PIN), X1);
		host_write(&w, PIN, 64);
		graph_launch(&w, X1, S1);
		host_read(&w, PIN, 64); /* both read */
		if (ordered)
			sync_stream(&w, S1);
		host_write(&w, PIN, 64);
		cr_assert_str_eq(world_close(&w), ordered ? "" : "HOST-WRITE-RACE:error:1");
	}
}

Test(overlap, host_reads_the_result)
{
	for (int ordered = 0; ordered < 2; ordered++) {
		static struct graph_build b;
		CUDA_MEMCPY3D m = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
				   .srcDevice = DEV,
				   .dstMemoryType = CU_MEMORYTYPE_HOST,
				   .dstHost = (void *)(uintptr_t)PIN,
				   .WidthInBytes = 64,
				   .Height = 1,
				   .Depth = 1};
		struct world w;

		open2(&w);
		alloc_pinned(&w, PIN, N);
		graph_open(&b, G1);
		graph_node(&b, CU_GRAPH_NODE_TYPE_MEMCPY, &m, sizeof(m));
		capture_all(&w, S1, G1, &b, X1);
		graph_launch(&w, X1, S1);
		if (ordered)
			sync_stream(&w, S1);
		host_read(&w, PIN, 64);
		host_read(&w, PIN + 64, 64);
		cr_assert_str_eq(world_close(&w), ordered ? "" : "HOST-READ-RACE:error:1");
	}
}

Test(overlap, event_nodes)
{
	for (int node = 0; node < 2; node++) {
		static struct graph_build b;
		uint64_t ev = E1;
		struct world w;

		/* a record node orders who waits for the event afterwards */
		open2(&w);
		graph_open(&b, G1);
		graph_set(&b, DEV, 64);
		if (node) {
			graph_node(&b, CU_GRAPH_NODE_TYPE_EVENT_RECORD, &ev, 8);
			graph_edge(&b, 0, 1);
		}
		instantiate(&w, X1, G1, &b);
		record(&w, E1, S1);
		graph_launch(&w, X1, S1);
		wait_event(&w, S2, E1);
		set(&w, DEV, 64, S2);
		cr_assert_str_eq(world_close(&w), node ? "" : "GRAPH-EXEC-OVERLAP:error:1");
		/* a wait node waits for the record that is there at the launch */
		open2(&w);
		graph_open(&b, G1);
		if (node)
			graph_node(&b, CU_GRAPH_NODE_TYPE_WAIT_EVENT, &ev, 8);
		graph_set(&b, DEV, 64);
		instantiate(&w, X1, G1, &b);
		set(&w, DEV, 64, S2);
		record(&w, E1, S2);
		graph_launch(&w, X1, S1);
		cr_assert_str_eq(world_close(&w), node ? "" : "GRAPH-EXEC-OVERLAP:error:1");
	}
}

Test(overlap, rows)
{
	for (int between = 0; between < 2; between++) {
		static struct graph_build b;
		CUDA_MEMSET_NODE_PARAMS m = {
			.dst = DEV, .pitch = 256, .elementSize = 4, .width = 16, .height = 8};
		struct world w;

		open2(&w);
		graph_open(&b, G1);
		graph_node(&b, CU_GRAPH_NODE_TYPE_MEMSET, &m, sizeof(m));
		instantiate(&w, X1, G1, &b);
		set(&w, DEV + 256 + (between ? 64 : 63), 64, S2);
		graph_launch(&w, X1, S1);
		cr_assert_str_eq(world_close(&w), between ? "" : "GRAPH-EXEC-OVERLAP:error:1");
	}
}

/* Of an operation with many rows each is looked at. */
Test(overlap, rows_of_the_other_side)
{
	for (int between = 0; between < 2; between++) {
		static struct graph_build b;
		struct world w;

		open2(&w);
		alloc(&w, DEV + 0x100000, 0x100000);
		graph_open(&b, G1);
		graph_set(&b, DEV + 0x100000 + 200 * 256 + (between ? 16 : 15), 16);
		instantiate(&w, X1, G1, &b);
		call(&w, cuMemsetD2D8Async, A(DEV + 0x100000), A(256), A(0), A(16), A(400), A(S2));
		graph_launch(&w, X1, S1);
		cr_assert_str_eq(world_close(&w), between ? "" : "GRAPH-EXEC-OVERLAP:error:1");
	}
}

Test(overlap, memory_that_the_graph_leaves_behind)
{
	static struct graph_build b;
	struct world w;

	open2(&w);
	graph_open(&b, G1);
	graph_alloc(&b, DEV + 0x100000, N);
	graph_set(&b, DEV + 0x100000, 64);
	graph_edge(&b, 0, 1);
	instantiate(&w, X1, G1, &b);
	graph_launch(&w, X1, S1);
	d2h(&w, HEAP, DEV + 0x100000, 64, S2);
	expect(&w, "GRAPH-EXEC-OVERLAP:error:1");
}

Test(overlap, stale_is_not_said_as_overlap_too)
{
	struct world w;

	open2(&w);
	capture_all(&w, S1, G1, reads_first_half(), X1);
	gone(&w, DEV);
	alloc(&w, DEV, N);
	set(&w, DEV, 64, S2);
	graph_launch(&w, X1, S1);
	expect(&w, "GRAPH-STALE-ADDR:error:1");
}

Test(overlap, ignored)
{
	struct world w;

	open2(&w);
	capture_all(&w, S1, G1, reads_first_half(), X1);
	set(&w, DEV, 64, S2);
	w.flags = KRT_RF_IGNORE;
	graph_launch(&w, X1, S1);
	w.flags = 0;
	set(&w, DEV, 64, S2);
	expect(&w, "");
}

Test(overlap, memory_not_allocated_yet)
{
	for (int ordered = 0; ordered < 2; ordered++) {
		static struct graph_build b;
		struct world w;

		open2(&w);
		alloc_async(&w, DEV + 0x10000, N, S2);
		if (ordered)
			hop(&w, S2, S1);
		graph_open(&b, G1);
		graph_set(&b, DEV + 0x10000, 64);
		capture_all(&w, S1, G1, &b, X1);
		graph_launch(&w, X1, S1);
		graph_launch(&w, X1, S1);
		ends(&w);
		cr_assert_str_eq(world_close(&w), ordered ? "" : "UBA-STREAM:error:1");
	}
}

/* A kernel that is given a flag may wait for who sets it. */
Test(overlap, flag_that_a_node_may_spin_on)
{
	for (int flag = 0; flag < 2; flag++) {
		static struct graph_build b;
		struct world w;

		open2(&w);
		alloc(&w, DEV + 0x10000, N);
		graph_open(&b, G1);
		graph_kernel(&b, K, 1, DEV + 0x10000);
		graph_set(&b, DEV, 64);
		graph_edge(&b, 0, 1);
		capture_all(&w, S1, G1, &b, X1);
		set(&w, DEV, 64, S2);
		call(&w, cuStreamWriteValue32_v2, A(S2), A(DEV + 0x10000 + (flag ? 0 : 64)), A(1),
		     A(0));
		graph_launch(&w, X1, S1);
		cr_assert_str_eq(world_close(&w), flag ? "" : "GRAPH-EXEC-OVERLAP:error:1");
	}
}

Test(overlap, nodes_that_wait_for_what_is_not_seen)
{
	static struct graph_build b;
	struct {
		uint64_t n;
		CUstreamBatchMemOpParams op;
	} m = {.n = 1};
	struct world w;

	open2(&w);
	m.op.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
	m.op.waitValue.address = DEV + 0x800;
	graph_open(&b, G1);
	graph_node(&b, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, &m, sizeof(m));
	graph_set(&b, DEV, 64);
	graph_edge(&b, 0, 1);
	instantiate(&w, X1, G1, &b);
	set(&w, DEV, 64, S2);
	graph_launch(&w, X1, S1);
	expect(&w, "");
}

/* --- what is not known ----------------------------------------------------------------------------- */

static bool graph_reason(struct world *w, unsigned reason)
{
	struct krt_report *r = world_report(w);
	bool has = r->process[0].coverage.reasons & 1u << reason;

	cr_assert_eq(r->nfindings, 0);
	krt_report_destroy(r);
	krt_engine_destroy(w->e);
	return has;
}

Test(unknown, executable)
{
	struct world w;

	open2(&w);
	graph_launch(&w, X1, S1);
	cr_assert(graph_reason(&w, KRT_REASON_GRAPH));
}

Test(unknown, not_read)
{
	static struct graph_build b;
	struct world w;

	open2(&w);
	call_begin(&w, KRT_API_cuGraphInstantiateWithFlags, A(0), A(G1), A(0));
	call_out(&w, 0, X1);
	call_end(&w, 0);
	graph_launch(&w, X1, S1);
	graph_launch(&w, X1, S2);
	cr_assert(graph_reason(&w, KRT_REASON_GRAPH));
	open2(&w);
	graph_open(&b, G1);
	graph_set(&b, DEV, 64);
	node_at(&b, 0)->flags = KRT_NODE_UNREAD;
	instantiate(&w, X1, G1, &b);
	cr_assert(graph_reason(&w, KRT_REASON_GRAPH));
	open2(&w);
	graph_open(&b, G1);
	graph_set(&b, DEV, 64);
	instantiate(&w, X1, G1, &b);
	cr_assert(!graph_reason(&w, KRT_REASON_GRAPH));
}

Test(unknown, launches_from_the_device)
{
	static struct graph_build b;
	struct world w;

	open2(&w);
	graph_open(&b, G1);
	graph_set(&b, DEV, 64);
	call_begin(&w, KRT_API_cuGraphInstantiateWithFlags, A(0), A(G1), A(4));
	call_out(&w, 0, X1);
	graph_blob(&w, &b);
	call_end(&w, 0);
	cr_assert(graph_reason(&w, KRT_REASON_UNSUPPORTED));
	for (uint64_t flags = 0; flags < 8; flags += 4) {
		uint64_t params[4] = {flags};

		open2(&w);
		graph_open(&b, G1);
		graph_set(&b, DEV, 64);
		call_begin(&w, KRT_API_cuGraphInstantiateWithParams, A(0), A(G1), A(0));
		call_out(&w, 0, X1);
		call_blob(&w, 2, KRT_BLOB_BYTES, params, sizeof(params));
		graph_blob(&w, &b);
		call_end(&w, 0);
		cr_assert_eq(graph_reason(&w, KRT_REASON_UNSUPPORTED), flags == 4);
	}
}

/* --- against a plain way to do it --------------------------------------------------------------------- */

struct piece {
	uint64_t from, len;
	bool write;
};

static bool meets(const struct piece *a, uint32_t n, const struct piece *b, uint32_t m)
{
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < m; k++)
			if ((a[i].write || b[k].write) && a[i].from < b[k].from + b[k].len &&
			    b[k].from < a[i].from + a[i].len)
				return true;
	return false;
}

static struct piece random_piece(void)
{
	return (struct piece){.from = random32() % 1000,
			      .len = 1 + random32() % (random32() & 1 ? 8 : 200),
			      .write = random32() & 1};
}

/* Nodes of copies and sets; a copy's other side is out of the way. */
static void pieces_to_graph(struct graph_build *b, uint64_t graph, const struct piece *p, uint32_t n)
{
	graph_open(b, graph);
	for (uint32_t i = 0; i < n; i++) {
		if (p[i].write)
			graph_set(b, DEV + p[i].from, p[i].len);
		else
			graph_copy(b, DEV + 0x100000 + (graph & 1) * 0x10000 + 256 * i,
				   DEV + p[i].from, p[i].len);
		if (i)
			graph_edge(b, i - 1, i);
	}
}

Test(footprint, agrees_with_pairs_of_pieces)
{
	for (int round = 0; round < 400; round++) {
		static struct graph_build a, b;
		struct piece p[12], q[12], x = random_piece();
		uint32_t n = 1 + random32() % 12, m = 1 + random32() % 12;
		int how = round % 4;
		struct world w;
		bool want;

		for (uint32_t i = 0; i < 12; i++) {
			p[i] = random_piece();
			q[i] = random_piece();
			if (how == 3) { /* both only read, mostly */
				p[i].write = !(random32() % 16);
				q[i].write = !(random32() % 16);
			}
		}
		open2(&w);
		alloc(&w, DEV + 0x100000, 0x40000);
		pieces_to_graph(&a, G1, p, n);
		pieces_to_graph(&b, G2, q, m);
		instantiate(&w, X1, G1, &a);
		instantiate(&w, X2, G2, &b);
		if (how == 0 && x.write) /* before */
			set(&w, DEV + x.from, x.len, S2);
		else if (how == 0)
			d2d(&w, DEV + 0x130000, DEV + x.from, x.len, S2);
		graph_launch(&w, X1, S1);
		if (how == 1 && x.write) /* after */
			set(&w, DEV + x.from, x.len, S2);
		else if (how == 1)
			d2d(&w, DEV + 0x130000, DEV + x.from, x.len, S2);
		if (how > 1)
			graph_launch(&w, X2, S2);
		ends(&w);
		want = how > 1 ? meets(p, n, q, m) : meets(p, n, &x, 1);
		cr_assert_eq(strstr(world_close(&w), "EXEC-OVERLAP:error") != NULL, want,
			     "round %d", round);
	}
}

Test(footprint, ranges_of_the_heap_that_end)
{
	for (int round = 0; round < 30; round++) {
		struct piece p[40], end = {.from = random32() % 60000,
					   .len = 1 + random32() % (random32() & 1 ? 64 : 9000)};
		unsigned want = 0;
		char text[64];
		struct world w;

		open2(&w);
		alloc(&w, DEV + 0x100000, 0x100000);
		for (uint32_t i = 0; i < 40; i++) {
			static struct graph_build b;

			p[i].from = random32() % 16 * (random32() & 1 ? 4096 : 100);
			p[i].len = 1 + random32() % (random32() & 1 ? 64 : 20000);
			want += p[i].from < end.from + end.len && end.from < p[i].from + p[i].len;
			graph_open(&b, 0x1000 + i);
			host_copy(&b, DEV + 0x100000 + i * 0x6000, HEAP + p[i].from, p[i].len);
			instantiate(&w, 0x2000 + i, 0x1000 + i, &b);
		}
		heap_end(&w, HEAP + end.from, end.len);
		for (uint64_t i = 0; i < 40; i++)
			graph_launch(&w, 0x2000 + i, S1);
		ends(&w);
		snprintf(text, sizeof(text), want ? "GRAPH-STALE-HOST:error:%u" : "", want);
		cr_assert_str_eq(world_close(&w), text, "round %d", round);
	}
}

/* --- cost --------------------------------------------------------------------------------------------- */

/* Work of launches over n nodes, with copies around them. */
static uint64_t work(uint32_t n)
{
	size_t len = sizeof(struct krt_graph_rec) + (size_t)n * (24 + 40);
	uint64_t *words = calloc(1, len), steps;
	struct krt_graph_rec r = {.size = (uint32_t)len, .graph = G1, .nodes = n};
	char *p = (char *)words + sizeof(r);
	struct {
		struct krt_rec_call call;
		uint64_t args[3];
	} *rec;
	struct krt_blob blob = {.arg = 255, .kind = KRT_BLOB_GRAPH, .len = (uint32_t)len};
	struct krt_blob out = {.arg = 0, .len = 8};
	uint64_t exec = X1;
	size_t size;
	struct world w;
	char *q;

	memcpy(words, &r, sizeof(r));
	for (uint32_t i = 0; i < n; i++, p += 64) {
		struct krt_node_rec k = {.size = 64, .type = KRT_GNODE_MEMSET, .node = 1000 + i};
		uint64_t set[5] = {DEV + 0x1000000 + i * 128ull, 0, 1ull << 32, 64, 1};

		memcpy(p, &k, sizeof(k));
		memcpy(p + sizeof(k), set, sizeof(set));
	}
	open2(&w);
	alloc(&w, DEV + 0x1000000, 0x1000000);
	/* too long for the world's buffer */
	call_begin(&w, KRT_API_cuGraphInstantiateWithFlags, A(0), A(G1), A(0));
	size = w.at + 16 + sizeof(blob) + len;
	rec = calloc(1, size);
	memcpy(rec, &w.u, w.at);
	q = (char *)rec + w.at;
	memcpy(q, &out, sizeof(out));
	memcpy(q + 8, &exec, 8);
	memcpy(q + 16, &blob, sizeof(blob));
	memcpy(q + 24, words, len);
	rec->call.t1 = w.ticket++;
	rec->call.h.size = (uint32_t)size;
	cr_assert_eq(krt_engine_feed(w.e, &rec->call.h, size, 0), 0);
	free(rec);
	free(words);
	graph_launch(&w, X1, S1);
	steps = w.e->graphs.steps;
	for (int i = 0; i < 100; i++) {
		set(&w, DEV + 0x1000000, 64, S1);
		graph_launch(&w, X1, S1);
	}
	steps = w.e->graphs.steps - steps;
	cr_assert_str_eq(world_close(&w), "");
	return steps;
}

Test(cost, launch_does_not_walk)
{
	uint64_t few = work(10), many = work(10000);

	/* a look-up of a range among 10,000 takes ten steps more than one among ten */
	cr_assert_leq(many, few + 100 * 12, "%lu and %lu", few, many);
}

/* A graph for each launch, and nothing is ever waited for. */
Test(cost, graphs_without_end)
{
	size_t used = 0;
	struct world w;

	open2(&w);
	for (int i = 0; i < 2400; i++) {
		static struct graph_build b;

		graph_open(&b, G1);
		graph_copy(&b, DEV + N / 2, DEV, N / 2);
		instantiate(&w, X1, G1, &b);
		set(&w, DEV + i % 64, 64, S1);
		graph_launch(&w, X1, S1);
		exec_destroy(&w, X1);
		if (i == 1600)
			used = w.e->heap.used;
		if (i > 1600)
			cr_assert_leq(w.e->heap.used, used + 65536);
	}
	world_close(&w);
}

Test(cost, nothing_stays)
{
	size_t used = 0;
	struct world w;

	open2(&w);
	for (int i = 0; i < 400; i++) { /* the order looks back a thousand calls */
		capture_all(&w, S1, G1, reads_first_half(), X1);
		graph_launch(&w, X1, S1);
		sync_stream(&w, S1);
		exec_destroy(&w, X1);
		call(&w, cuGraphDestroy, A(G1));
		if (i == 200)
			used = w.e->heap.used;
		if (i > 200)
			cr_assert_leq(w.e->heap.used, used + 4096);
	}
	world_close(&w);
}

/* --- what the brute-force judge found --------------------------------------------------- */

/* The one finding of the world: how many bytes from where it names. */
static bool names(struct world *w, uint64_t from, uint64_t end)
{
	struct krt_report *r = world_report(w);
	bool ok = r && r->nfindings == 1 && r->finding[0].current.range_base == from &&
		  r->finding[0].current.range_base + r->finding[0].current.range_len == end;

	krt_report_destroy(r);
	krt_engine_destroy(w->e);
	return ok;
}

/* Sets of the first and the third KiB, in a graph. */
static struct graph_build *two_pieces(uint64_t graph, uint64_t a, uint64_t b)
{
	static struct graph_build build[4];
	struct graph_build *g = &build[graph & 3];

	graph_open(g, graph);
	graph_set(g, a, 1024);
	graph_set(g, b, 1024);
	return g;
}

/* Bytes of an operation and a launch in two pieces are named from the first to the last. */
Test(judged, all_pieces_are_named)
{
	struct world w;

	open2(&w); /* the launch in hand */
	instantiate(&w, X1, G1, two_pieces(G1, DEV, DEV + 2048));
	set(&w, DEV, N, S2);
	graph_launch(&w, X1, S1);
	cr_assert(names(&w, DEV, DEV + 3072));
	open2(&w); /* before the executable was made */
	set(&w, DEV, N, S2);
	instantiate(&w, X1, G1, two_pieces(G1, DEV, DEV + 2048));
	graph_launch(&w, X1, S1);
	cr_assert(names(&w, DEV, DEV + 3072));
	open2(&w); /* the operation in hand */
	instantiate(&w, X1, G1, two_pieces(G1, DEV, DEV + 2048));
	graph_launch(&w, X1, S1);
	set(&w, DEV, N, S2);
	cr_assert(names(&w, DEV, DEV + 3072));
	open2(&w); /* two launches */
	instantiate(&w, X1, G1, two_pieces(G1, DEV, DEV + 2048));
	instantiate(&w, X2, G2, two_pieces(G2, DEV, DEV + 2048));
	graph_launch(&w, X1, S1);
	graph_launch(&w, X2, S2);
	cr_assert(names(&w, DEV, DEV + 3072));
	open2(&w); /* no further than the operation goes */
	instantiate(&w, X1, G1, two_pieces(G1, DEV, DEV + 2048));
	graph_launch(&w, X1, S1);
	set(&w, DEV + 512, 1024, S2);
	cr_assert(names(&w, DEV + 512, DEV + 1024));
}

/* Two launches that meet in two buffers have two findings. */
Test(judged, launches_meet_in_every_buffer)
{
	for (int both = 0; both < 2; both++) {
		struct world w;

		open2(&w);
		w.stack = 1; /* of another origin than the first */
		alloc(&w, DEV + 0x10000, N);
		w.stack = 0;
		instantiate(&w, X1, G1, two_pieces(G1, DEV, DEV + 0x10000));
		instantiate(&w, X2, G2,
			    two_pieces(G2, DEV, both ? DEV + 0x10000 : DEV + 1024));
		graph_launch(&w, X1, S1);
		graph_launch(&w, X2, S2);
		expect(&w, both ? "GRAPH-EXEC-OVERLAP:error:2" : "GRAPH-EXEC-OVERLAP:error:1");
	}
}

/* A node whose two buffers both are gone: each is told, with where it was from. */
Test(judged, every_dead_buffer_of_a_node)
{
	struct graph_build b;
	struct krt_report *r;
	struct world w;

	open2(&w);
	w.stack = 1;
	alloc(&w, DEV + 0x10000, N);
	w.stack = 0;
	graph_open(&b, G1);
	graph_copy(&b, DEV, DEV + 0x10000, 1024);
	instantiate(&w, X1, G1, &b);
	gone(&w, DEV);
	gone(&w, DEV + 0x10000);
	graph_launch(&w, X1, S1);
	r = world_report(&w);
	cr_assert_eq(r->nfindings, 2);
	cr_assert_neq(r->finding[0].buffer.base, r->finding[1].buffer.base);
	krt_report_destroy(r);
	krt_engine_destroy(w.e);
}

/* Memory that was gone when the nodes were made lies nowhere, not in one place. */
Test(judged, dead_memory_is_no_meeting_place)
{
	struct graph_build b;
	struct world w;

	open2(&w);
	alloc(&w, DEV + 0x10000, N);
	gone(&w, DEV);
	gone(&w, DEV + 0x10000);
	graph_open(&b, G1);
	graph_set(&b, DEV, 1024);
	graph_set(&b, DEV + 0x10000, 1024);
	instantiate(&w, X1, G1, &b);
	ends(&w);
	expect(&w, "");
}

/* How many findings, all of so many bytes; 0: others. */
static size_t pieces_of(struct world *w, uint64_t len)
{
	struct krt_report *r = world_report(w);
	size_t n = r ? r->nfindings : 0;

	for (size_t i = 0; r && i < r->nfindings; i++)
		if (r->finding[i].current.range_len != len)
			n = 0;
	krt_report_destroy(r);
	krt_engine_destroy(w->e);
	return n;
}

static uint32_t copy_down(struct graph_build *b, uint64_t to, uint64_t from, uint64_t n)
{
	CUDA_MEMCPY3D m = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
			   .srcDevice = from,
			   .dstMemoryType = CU_MEMORYTYPE_HOST,
			   .dstHost = (void *)(uintptr_t)to,
			   .WidthInBytes = n,
			   .Height = 1,
			   .Depth = 1};

	return graph_node(b, CU_GRAPH_NODE_TYPE_MEMCPY, &m, sizeof(m));
}

static struct graph_build *two_down(uint64_t graph)
{
	static struct graph_build build[4];
	struct graph_build *g = &build[graph & 3];

	graph_open(g, graph);
	copy_down(g, HEAP, DEV, 64);
	copy_down(g, HEAP + 0x100000, DEV, 64);
	return g;
}

#define BIG (DEV + 0x10000000)

/* Memory without an allocation is as many buffers as nodes touch: never all that lies between. */
Test(judged, pieces_of_the_heap)
{
	struct graph_build b;
	struct world w;

	open2(&w); /* nodes */
	graph_open(&b, G1);
	copy_on_host(&b, HEAP + 64, PIN, 64);
	copy_on_host(&b, HEAP + 96, HEAP + 32, 64);
	instantiate(&w, X1, G1, &b);
	cr_assert_eq(pieces_of(&w, 32), 2);
	open2(&w); /* two launches */
	instantiate(&w, X1, G1, two_down(G1));
	instantiate(&w, X2, G2, two_down(G2));
	graph_launch(&w, X1, S1);
	graph_launch(&w, X2, S2);
	cr_assert_eq(pieces_of(&w, 64), 2);
	open2(&w); /* an operation on both, before and after */
	alloc(&w, BIG, 0x200000);
	instantiate(&w, X1, G1, two_down(G1));
	d2h(&w, HEAP, BIG, 0x200000, S2);
	graph_launch(&w, X1, S1);
	cr_assert_eq(pieces_of(&w, 64), 2);
	open2(&w);
	alloc(&w, BIG, 0x200000);
	instantiate(&w, X1, G1, two_down(G1));
	graph_launch(&w, X1, S1);
	d2h(&w, HEAP, BIG, 0x200000, S2);
	cr_assert_eq(pieces_of(&w, 64), 2);
	open2(&w);
	alloc(&w, BIG, 0x200000);
	d2h(&w, HEAP, BIG, 0x200000, S2);
	instantiate(&w, X1, G1, two_down(G1));
	graph_launch(&w, X1, S1);
	cr_assert_eq(pieces_of(&w, 64), 2);
	open2(&w); /* both sides of one node, the source behind the destination */
	alloc(&w, BIG, 0x200000);
	graph_open(&b, G1);
	copy_on_host(&b, HEAP + 64, HEAP + 4096, 64);
	instantiate(&w, X1, G1, &b);
	graph_launch(&w, X1, S1);
	d2h(&w, HEAP, BIG, 0x200000, S2);
	cr_assert_eq(pieces_of(&w, 64), 2);
	open2(&w); /* the CPU */
	instantiate(&w, X1, G1, two_down(G1));
	graph_launch(&w, X1, S1);
	host_read(&w, HEAP, 0x200000);
	cr_assert_eq(pieces_of(&w, 64), 2);
	open2(&w);
	alloc(&w, BIG, 0x200000);
	instantiate(&w, X1, G1, two_down(G1));
	graph_launch(&w, X1, S1);
	sync_stream(&w, S1);
	host_read(&w, HEAP, 0x200000);
	d2h(&w, HEAP, BIG, 0x200000, S2);
	expect(&w, "");
}

/* One node names what was at an address, another one what is there now. */
Test(judged, stale_node_beside_a_fresh_one)
{
	for (int ordered = 0; ordered < 2; ordered++) {
		static struct graph_build b;
		struct world w;

		open2(&w);
		graph_open(&b, G1);
		graph_set(&b, DEV, 64);
		graph_set(&b, DEV, 128);
		graph_edge(&b, 0, 1);
		capture_begin(&w, S1, G1);
		captured(&w, &b, 0, S1);
		gone(&w, DEV);
		alloc(&w, DEV, N);
		captured(&w, &b, 1, S1);
		capture_end(&w, S1, G1);
		instantiate(&w, X1, G1, &b);
		set(&w, DEV, 128, S2);
		if (ordered)
			hop(&w, S2, S1);
		graph_launch(&w, X1, S1);
		expect(&w, ordered ? "GRAPH-STALE-ADDR:error:1"
				   : "GRAPH-STALE-ADDR:error:1 GRAPH-EXEC-OVERLAP:error:1");
	}
}

/* --- memory that runs out --------------------------------------------------------------------------------- */

static unsigned long story(unsigned long fail_at)
{
	struct krt_engine_config cfg = {.hot_min = 16, .possible_max = 1000, .fail_at = fail_at};
	static struct graph_build b;
	static const uint32_t struct_size[] = {24};
	unsigned long n;
	struct world w;

	world_open(&w, &cfg);
	if (!w.e)
		return 0;
	context(&w, 0xc0, 0, true);
	stream(&w, S1, NB);
	stream(&w, S2, NB);
	kernel(&w, K, "scale", 1, NULL);
	kernel(&w, KS, "gather", 1, struct_size);
	alloc(&w, DEV, N);
	alloc(&w, B0, 0x10000);
	pool_create(&w, P, 1, "pool");
	block_alloc(&w, P, B0, N, S1);
	build_something(&b);
	instantiate(&w, X1, G1, &b);
	graph_launch(&w, X1, S1);
	set(&w, DEV, 64, S2);
	exec_update(&w, X1, G1, &b);
	capture_all(&w, S1, G2, one_kernel(G2, B0), X2);
	graph_launch(&w, X2, S2);
	graph_launch(&w, X1, S1);
	block_free(&w, B0);
	heap_end(&w, HEAP, 64);
	gone(&w, DEV);
	graph_launch(&w, X1, S1);
	graph_launch(&w, X2, S1);
	exec_destroy(&w, X1);
	n = w.e->heap.count;
	world_close(&w);
	return n;
}

Test(memory, runs_out_anywhere)
{
	unsigned long n = story(0);

	cr_assert_gt(n, 100);
	for (unsigned long i = 1; i <= n; i += 1 + i / 200)
		story(i);
}
