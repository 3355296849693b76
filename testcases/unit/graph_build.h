/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graph records made by hand, as the interposer would have read them from the
 * driver, for the engine's tests.  Nodes are added one after another; an opened
 * holder (child graph, conditional) takes the next ones until it is closed.
 */
#ifndef KRT_GRAPH_BUILD_H
#define KRT_GRAPH_BUILD_H

#include "interposer/cuabi.h"
#include "rec_build.h"

struct graph_level {
	size_t graph, node; /* where the record of the graph, of its holder begins */
	uint32_t nodes, edges;
	struct krt_edge_rec edge[512];
};

struct graph_build {
	uint64_t words[6000];
	size_t at;
	unsigned depth;
	struct graph_level level[4];
	uint64_t next_node;
};

static inline char *graph_bytes(struct graph_build *b)
{
	return (char *)b->words;
}

static inline void graph_enter(struct graph_build *b, uint64_t graph)
{
	struct krt_graph_rec r = {.graph = graph};
	struct graph_level *l = &b->level[b->depth++];

	memset(l, 0, sizeof(*l));
	l->graph = b->at;
	memcpy(graph_bytes(b) + b->at, &r, sizeof(r));
	b->at += sizeof(r);
}

static inline void graph_leave(struct graph_build *b)
{
	struct graph_level *l = &b->level[--b->depth];
	struct krt_graph_rec r;

	memcpy(graph_bytes(b) + b->at, l->edge, l->edges * sizeof(*l->edge));
	b->at += l->edges * sizeof(*l->edge);
	memcpy(&r, graph_bytes(b) + l->graph, sizeof(r));
	r.nodes = l->nodes;
	r.edges = l->edges;
	r.size = (uint32_t)(b->at - l->graph);
	memcpy(graph_bytes(b) + l->graph, &r, sizeof(r));
}

static inline void graph_open(struct graph_build *b, uint64_t graph)
{
	b->at = 0;
	b->depth = 0;
	b->next_node = graph * 16;
	graph_enter(b, graph);
}

static inline uint32_t graph_node(struct graph_build *b, unsigned type, const void *payload,
				  size_t len)
{
	struct krt_node_rec n = {.size = (uint32_t)(sizeof(n) + ((len + 7) & ~7u)),
				 .type = (uint16_t)type,
				 .node = ++b->next_node};

	memcpy(graph_bytes(b) + b->at, &n, sizeof(n));
	memset(graph_bytes(b) + b->at + sizeof(n), 0, n.size - sizeof(n));
	if (len)
		memcpy(graph_bytes(b) + b->at + sizeof(n), payload, len);
	b->at += n.size;
	return b->level[b->depth - 1].nodes++;
}

/* Of the innermost graph. */
static inline void graph_edge_as(struct graph_build *b, uint32_t from, uint32_t to, unsigned port)
{
	struct graph_level *l = &b->level[b->depth - 1];

	l->edge[l->edges++] =
		(struct krt_edge_rec){.from = from, .to = to, .from_port = (uint8_t)port};
}

static inline void graph_edge(struct graph_build *b, uint32_t from, uint32_t to)
{
	graph_edge_as(b, from, to, 0);
}

static inline uint32_t graph_set(struct graph_build *b, uint64_t dst, uint64_t n)
{
	CUDA_MEMSET_NODE_PARAMS m = {.dst = dst, .elementSize = 1, .width = n, .height = 1};

	return graph_node(b, CU_GRAPH_NODE_TYPE_MEMSET, &m, sizeof(m));
}

static inline uint32_t graph_copy(struct graph_build *b, uint64_t dst, uint64_t src, uint64_t n)
{
	CUDA_MEMCPY3D m = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
			   .srcDevice = src,
			   .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			   .dstDevice = dst,
			   .WidthInBytes = n,
			   .Height = 1,
			   .Depth = 1};

	return graph_node(b, CU_GRAPH_NODE_TYPE_MEMCPY, &m, sizeof(m));
}

/* Eight-byte parameters. */
static inline uint32_t graph_kernel_of(struct graph_build *b, uint32_t kernel, uint32_t grid,
				       unsigned n, const uint64_t *params)
{
	struct {
		struct krt_node_kernel k;
		struct krt_params h;
		uint64_t p[16];
	} u = {.k = {.func = 0xf0, .grid = {grid, 1, 1}, .block = {64, 1, 1}},
	       .h = {.kernel = kernel, .len = n * 8}};

	memcpy(u.p, params, n * 8);
	return graph_node(b, CU_GRAPH_NODE_TYPE_KERNEL, &u, sizeof(u.k) + sizeof(u.h) + n * 8);
}
#define graph_kernel(b, kernel, grid, ...)                                                         \
	graph_kernel_of(b, kernel, grid, sizeof((uint64_t[]){__VA_ARGS__}) / 8,                    \
			(const uint64_t[]){__VA_ARGS__})

static inline uint32_t graph_alloc(struct graph_build *b, uint64_t addr, uint64_t bytes)
{
	uint64_t v[2] = {addr, bytes};

	return graph_node(b, CU_GRAPH_NODE_TYPE_MEM_ALLOC, v, sizeof(v));
}

static inline uint32_t graph_free(struct graph_build *b, uint64_t addr)
{
	return graph_node(b, CU_GRAPH_NODE_TYPE_MEM_FREE, &addr, sizeof(addr));
}

/* A child graph (bodies 0) or a conditional of kind 0 with so many bodies; each is entered by
 * graph_enter() and left by graph_leave(). */
static inline uint32_t graph_hold(struct graph_build *b, uint32_t bodies)
{
	struct {
		uint64_t handle;
		uint32_t kind, n;
	} h = {.handle = 0x55, .n = bodies};
	size_t at = b->at;
	uint32_t i = graph_node(b, bodies ? CU_GRAPH_NODE_TYPE_CONDITIONAL : CU_GRAPH_NODE_TYPE_GRAPH,
				&h, bodies ? sizeof(h) : 0);

	b->level[b->depth - 1].node = at;
	return i;
}

/* All of what the holder holds is in. */
static inline void graph_held(struct graph_build *b)
{
	size_t at = b->level[b->depth - 1].node;
	struct krt_node_rec n;

	memcpy(&n, graph_bytes(b) + at, sizeof(n));
	n.size = (uint32_t)(b->at - at);
	memcpy(graph_bytes(b) + at, &n, sizeof(n));
}

static inline void graph_blob(struct world *w, struct graph_build *b)
{
	while (b->depth)
		graph_leave(b);
	call_blob(w, 255, KRT_BLOB_GRAPH, b->words, (uint32_t)b->at);
}

static inline void instantiate(struct world *w, uint64_t exec, uint64_t graph,
			       struct graph_build *b)
{
	call_begin(w, KRT_API_cuGraphInstantiateWithFlags, A(0), A(graph), A(0));
	call_out(w, 0, exec);
	graph_blob(w, b);
	call_end(w, 0);
}

static inline void exec_update(struct world *w, uint64_t exec, uint64_t graph,
			       struct graph_build *b)
{
	call_begin(w, KRT_API_cuGraphExecUpdate_v2, A(exec), A(graph), A(0));
	graph_blob(w, b);
	call_end(w, 0);
}

static inline void graph_launch(struct world *w, uint64_t exec, uint64_t s)
{
	call(w, cuGraphLaunch, A(exec), A(s));
}

static inline void exec_destroy(struct world *w, uint64_t exec)
{
	call(w, cuGraphExecDestroy, A(exec));
}

/* --- captured calls --------------------------------------------------------------- */

static inline struct krt_node_rec *node_at(struct graph_build *b, uint32_t i)
{
	char *p = graph_bytes(b) + b->level[0].graph + sizeof(struct krt_graph_rec);

	for (; i--;)
		p += ((struct krt_node_rec *)(void *)p)->size;
	return (void *)p;
}

static inline void node_blob(struct world *w, struct graph_build *b, uint32_t i)
{
	const struct krt_node_rec *r = node_at(b, i);

	call_blob(w, 255, KRT_BLOB_NODE, r, r->size);
}

static inline void capture_blob(struct world *w, uint64_t graph)
{
	struct krt_capture_rec r = {.id = 1, .graph = graph, .status = 1};

	call_blob(w, 255, KRT_BLOB_CAPTURE, &r, sizeof(r));
}

static inline void capture_begin(struct world *w, uint64_t s, uint64_t graph)
{
	call_begin(w, KRT_API_cuStreamBeginCapture_v2, A(s), A(0));
	capture_blob(w, graph);
	call_end(w, 0);
}

static inline void capture_end(struct world *w, uint64_t s, uint64_t graph)
{
	struct krt_capture_rec r = {.id = 1, .graph = graph, .status = 0};

	call_begin(w, KRT_API_cuStreamEndCapture, A(s), A(0));
	call_out(w, 1, graph);
	call_blob(w, 255, KRT_BLOB_CAPTURE, &r, sizeof(r));
	call_end(w, 0);
}

/* The captured call that became node i of b. */
static inline void captured(struct world *w, struct graph_build *b, uint32_t i, uint64_t s)
{
	switch (node_at(b, i)->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		call_begin(w, KRT_API_cuLaunchKernel, A(0xf0), A(1), A(1), A(1), A(1), A(1), A(1),
			   A(0), A(s), A(0), A(0));
		break;
	case CU_GRAPH_NODE_TYPE_MEMSET:
		call_begin(w, KRT_API_cuMemsetD8Async, A(0), A(0), A(0), A(s));
		break;
	case CU_GRAPH_NODE_TYPE_HOST:
		call_begin(w, KRT_API_cuLaunchHostFunc, A(s), A(0), A(0));
		break;
	default:
		call_begin(w, KRT_API_cuMemcpyHtoDAsync_v2, A(0), A(0), A(0), A(s));
		break;
	}
	capture_blob(w, b->next_node >> 4 ? (node_at(b, 0)->node - 1) / 16 : 0);
	node_blob(w, b, i);
	call_end(w, 0);
}

/* All nodes of b captured on s, and the graph instantiated. */
static inline void capture_all(struct world *w, uint64_t s, uint64_t graph, struct graph_build *b,
			uint64_t exec)
{
	capture_begin(w, s, graph);
	for (uint32_t i = 0; i < b->level[0].nodes; i++)
		captured(w, b, i, s);
	capture_end(w, s, graph);
	if (exec)
		instantiate(w, exec, graph, b);
}

#endif
