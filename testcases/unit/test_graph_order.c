/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of graphs made by hand: which nodes conflict without a path, and which do not. */
#include <criterion/criterion.h>

#include <time.h>

#include "graph_build.h"

#define S1 0x101ull
#define P  DEV
#define Q  (DEV + 0x100000)
#define N  4096
#define X  0x8000ull
#define G  0x9000ull

static struct graph_build b;

static void open2(struct world *w)
{
	world_open(w, NULL);
	context(w, 0xc0, 0, true);
	stream(w, S1, 1);
	alloc(w, P, N);
	alloc(w, Q, N);
	name(w, P, N, "a");
	name(w, Q, N, "b");
	kernel(w, 1, "scale", 1, NULL);
	graph_open(&b, G);
}

#define expect(w, text)	    cr_assert_str_eq(world_close(w), text)
#define expect_all(w, text) cr_assert_str_eq(world_close_as(w, true), text)
#define UNORDERED	    "GRAPH-UNORDERED-NODES:error:1"

Test(inside, two_sets)
{
	struct world w;

	open2(&w);
	graph_set(&b, P, N);
	graph_set(&b, P + 64, 64);
	instantiate(&w, X, G, &b);
	graph_launch(&w, X, S1);
	graph_launch(&w, X, S1);
	expect(&w, UNORDERED);
}

Test(inside, texts)
{
	struct krt_report *r;
	struct world w;

	open2(&w);
	graph_set(&b, P, N);
	graph_copy(&b, Q, P + 64, 64);
	instantiate(&w, X, G, &b);
	r = world_report(&w);
	cr_assert_eq(r->nfindings, 1);
	cr_assert(strstr(r->finding[0].message, "bytes +0x40..+0x80 of device buffer \"a\""), "%s",
		  r->finding[0].message);
	cr_assert(strstr(r->finding[0].fix, "add the edge"), "%s", r->finding[0].fix);
	krt_report_destroy(r);
	krt_engine_destroy(w.e);
}

Test(inside, an_edge)
{
	struct world w;

	open2(&w);
	graph_set(&b, P, N);
	graph_set(&b, P, N);
	graph_edge(&b, 0, 1);
	instantiate(&w, X, G, &b);
	graph_launch(&w, X, S1);
	expect(&w, "");
}

/* The path leads through a node that comes later in the list. */
Test(inside, a_long_way)
{
	struct world w;

	open2(&w);
	graph_set(&b, P, N);
	graph_copy(&b, Q, P, N);
	graph_node(&b, CU_GRAPH_NODE_TYPE_EMPTY, NULL, 0);
	graph_edge(&b, 0, 2);
	graph_edge(&b, 2, 1);
	instantiate(&w, X, G, &b);
	expect(&w, "");
}

Test(inside, programmatic_and_launch_order)
{
	struct world w;

	open2(&w);
	graph_set(&b, P, N);
	graph_set(&b, P, N);
	graph_set(&b, P, N);
	graph_edge_as(&b, 0, 1, 1);
	graph_edge_as(&b, 1, 2, 2);
	instantiate(&w, X, G, &b);
	expect(&w, "GRAPH-UNORDERED-NODES:error:2");
}

Test(inside, reads_and_other_bytes)
{
	struct world w;

	open2(&w);
	graph_copy(&b, Q, P, 64);
	graph_copy(&b, Q + 64, P, 64);
	graph_set(&b, Q + 128, 64);
	instantiate(&w, X, G, &b);
	expect(&w, "");
}

/* A reader of two writers: each pair without a path is one. */
Test(inside, fork_without_join)
{
	struct world w;

	open2(&w);
	graph_set(&b, P, 64);
	graph_set(&b, P + 64, 64);
	graph_copy(&b, Q, P, 128);
	graph_edge(&b, 0, 2);
	instantiate(&w, X, G, &b);
	expect(&w, UNORDERED);
}

/* --- what only may touch the bytes ------------------------------------------------------ */

Test(inside, pointer_beside_a_set)
{
	struct world w;

	open2(&w);
	graph_set(&b, P, N);
	graph_kernel(&b, 1, 1, P);
	instantiate(&w, X, G, &b);
	expect(&w, "GRAPH-UNORDERED-NODES:warning:1");
}

Test(inside, pointers)
{
	struct world w;

	open2(&w);
	graph_kernel(&b, 1, 1, P);
	graph_kernel(&b, 1, 2, P + 64);
	graph_copy(&b, Q, P, 64);
	instantiate(&w, X, G, &b);
	expect_all(&w, "?GRAPH-UNORDERED-NODES:3");
}

Test(inside, pointer_behind_a_set)
{
	struct world w;

	open2(&w);
	graph_set(&b, P, N);
	graph_kernel(&b, 1, 1, P);
	graph_copy(&b, Q, P, N);
	graph_edge(&b, 0, 1);
	graph_edge(&b, 1, 2);
	instantiate(&w, X, G, &b);
	expect_all(&w, "");
}

/* --- nested graphs ------------------------------------------------------------------------ */

static void child_with_set(uint64_t at)
{
	graph_hold(&b, 0);
	graph_enter(&b, G + 1);
	graph_set(&b, at, N);
	graph_leave(&b);
	graph_held(&b);
}

Test(inside, child)
{
	struct world w;

	open2(&w);
	child_with_set(P);
	graph_set(&b, P, N);
	instantiate(&w, X, G, &b);
	expect(&w, UNORDERED);
}

Test(inside, child_in_order)
{
	struct world w;

	open2(&w);
	graph_set(&b, P, N);
	child_with_set(P);
	graph_copy(&b, Q, P, N);
	graph_edge(&b, 0, 1);
	graph_edge(&b, 1, 2);
	instantiate(&w, X, G, &b);
	expect(&w, "");
}

static void conditional(uint32_t bodies)
{
	graph_hold(&b, bodies);
	for (uint32_t i = 0; i < bodies; i++) {
		graph_enter(&b, G + 1 + i);
		graph_set(&b, P, N);
		graph_leave(&b);
	}
	graph_held(&b);
}

Test(inside, bodies_exclude_one_another)
{
	struct world w;

	open2(&w);
	conditional(2);
	instantiate(&w, X, G, &b);
	expect(&w, "");
}

/* A body may run no time at all. */
Test(inside, body_beside_a_node)
{
	struct world w;

	open2(&w);
	conditional(1);
	graph_copy(&b, Q, P, N);
	instantiate(&w, X, G, &b);
	expect(&w, "GRAPH-UNORDERED-NODES:warning:1");
}

/* --- the graph's own memory -------------------------------------------------------------------- */

#define OWN (DEV + 0x40000000)

Test(inside, own_memory)
{
	struct world w;

	open2(&w);
	graph_alloc(&b, OWN, N);
	graph_set(&b, OWN, N);
	graph_free(&b, OWN);
	graph_edge(&b, 0, 1);
	graph_edge(&b, 1, 2);
	instantiate(&w, X, G, &b);
	graph_launch(&w, X, S1);
	expect(&w, "");
}

Test(inside, before_its_allocation)
{
	struct world w;

	open2(&w);
	graph_alloc(&b, OWN, N);
	graph_set(&b, OWN, N);
	instantiate(&w, X, G, &b);
	expect(&w, "UBA-STREAM:error:1");
}

Test(inside, after_its_free)
{
	struct world w;

	open2(&w);
	graph_alloc(&b, OWN, N);
	graph_free(&b, OWN);
	graph_set(&b, OWN, N);
	graph_edge(&b, 0, 1);
	graph_edge(&b, 1, 2);
	instantiate(&w, X, G, &b);
	expect(&w, "UAF-STREAM:error:1");
}

/* --- updates ------------------------------------------------------------------------------------- */

static void enable(struct world *w, uint64_t node, unsigned on)
{
	call(w, cuGraphNodeSetEnabled, A(X), A(node), A(on));
}

#define NODE(i) (G * 16 + 1 + (i))

Test(inside, disabled_at_first)
{
	struct world w;

	open2(&w);
	graph_set(&b, P, N);
	graph_set(&b, Q, N);
	instantiate(&w, X, G, &b);
	graph_open(&b, G);
	graph_set(&b, P, N);
	graph_set(&b, P, N);
	enable(&w, NODE(1), 0);
	exec_update(&w, X, G, &b);
	graph_launch(&w, X, S1);
	expect(&w, "");
}

Test(inside, enabled_again)
{
	struct world w;

	open2(&w);
	graph_set(&b, P, N);
	graph_set(&b, Q, N);
	instantiate(&w, X, G, &b);
	graph_open(&b, G);
	graph_set(&b, P, N);
	graph_set(&b, P, N);
	enable(&w, NODE(1), 0);
	exec_update(&w, X, G, &b);
	graph_launch(&w, X, S1);
	enable(&w, NODE(1), 1);
	graph_launch(&w, X, S1);
	graph_launch(&w, X, S1);
	expect(&w, UNORDERED);
}

Test(inside, whole_update)
{
	struct world w;

	open2(&w);
	graph_set(&b, P, N);
	graph_set(&b, Q, N);
	instantiate(&w, X, G, &b);
	for (int i = 0; i < 3; i++) {
		graph_open(&b, G);
		graph_set(&b, P, N);
		graph_set(&b, P, N);
		exec_update(&w, X, G, &b);
		graph_launch(&w, X, S1);
	}
	expect(&w, UNORDERED);
}

/* Node i becomes a set of these bytes. */
static void set_node(struct world *w, uint32_t i, uint64_t at, uint64_t n)
{
	struct {
		struct krt_node_rec n;
		CUDA_MEMSET_NODE_PARAMS m;
	} u = {.n = {.size = sizeof(u), .type = CU_GRAPH_NODE_TYPE_MEMSET, .node = NODE(i)},
	       .m = {.dst = at, .elementSize = 1, .width = n, .height = 1}};

	call_begin(w, KRT_API_cuGraphExecMemsetNodeSetParams, A(X), A(NODE(i)), A(0), A(0));
	call_blob(w, 255, KRT_BLOB_NODE, &u, sizeof(u));
	call_end(w, 0);
}

Test(inside, one_node_set)
{
	struct world w;

	open2(&w);
	graph_set(&b, P, N);
	graph_set(&b, Q, N);
	instantiate(&w, X, G, &b);
	set_node(&w, 1, P, N);
	graph_launch(&w, X, S1);
	expect(&w, UNORDERED);
}

/* --- many nodes ------------------------------------------------------------------------------------ */

/* A graph record larger than a world's. */
static uint64_t big[400000], fed[410000];

static struct krt_graph_rec *big_open(uint32_t nodes)
{
	struct krt_graph_rec *g = (struct krt_graph_rec *)big;

	memset(g, 0, sizeof(*g));
	g->graph = G;
	g->nodes = nodes;
	return g;
}

/* end: behind the edges.  Not only in order, in no time. */
static void big_close(struct world *w, struct krt_graph_rec *g, const char *end, const char *want)
{
	struct krt_blob head = {.arg = 255, .kind = KRT_BLOB_GRAPH};
	struct krt_rec_call *r = (struct krt_rec_call *)fed;
	size_t len;
	clock_t t;

	g->size = (uint32_t)(end - (char *)big);
	head.len = g->size;
	call_begin(w, KRT_API_cuGraphInstantiateWithFlags, A(0), A(G), A(0));
	call_out(w, 0, X);
	len = w->at;
	memcpy(fed, &w->u, len);
	memcpy((char *)fed + len, &head, sizeof(head));
	memcpy((char *)fed + len + sizeof(head), big, g->size);
	len += sizeof(head) + g->size;
	r->t1 = w->ticket++;
	r->h.size = (uint32_t)len;
	t = clock();
	krt_engine_feed(w->e, &r->h, len, w->lane);
	cr_assert_lt((double)(clock() - t) / CLOCKS_PER_SEC, 15.0);
	expect(w, want);
}

static char *big_edge(struct krt_graph_rec *g, char *p, uint32_t from, uint32_t to)
{
	struct krt_edge_rec d = {.from = from, .to = to};

	memcpy(p, &d, sizeof(d));
	g->edges++;
	return p + sizeof(d);
}

/* Sets of 8 bytes each; in a chain on the same bytes, or apart (hit: but for the last one). */
static void many(bool chain, bool hit, uint32_t n, const char *want)
{
	struct krt_graph_rec *g = big_open(n);
	struct {
		struct krt_node_rec n;
		CUDA_MEMSET_NODE_PARAMS m;
	} u = {.n = {.size = sizeof(u), .type = CU_GRAPH_NODE_TYPE_MEMSET},
	       .m = {.elementSize = 1, .width = 8, .height = 1}};
	char *p = (char *)(g + 1);
	struct world w;

	open2(&w);
	for (uint32_t i = 0; i < n; i++, p += sizeof(u)) {
		u.n.node = NODE(i);
		u.m.dst = P;
		if (!chain)
			u.m.dst += hit && i == n - 1 ? 0 : i * 8;
		memcpy(p, &u, sizeof(u));
	}
	for (uint32_t i = 1; chain && i < n; i++)
		p = big_edge(g, p, i - 1, i);
	big_close(&w, g, p, want);
}

Test(inside, ten_thousand_in_a_chain)
{
	many(true, false, 10000, "");
}

Test(inside, three_thousand_apart)
{
	many(false, false, 3000, "");
}

/* Too wide for vectors: searched. */
Test(inside, one_of_three_thousand)
{
	many(false, true, 3000, UNORDERED);
}

/* Kernels on 50 branches that share two pointers: all that is possible, but not told at length. */
Test(inside, pointers_on_many_branches)
{
	enum { BRANCHES = 50, KERNELS = 10000 };
	struct krt_graph_rec *g = big_open(KERNELS);
	struct {
		struct krt_node_rec n;
		struct krt_node_kernel k;
		struct krt_params h;
		uint64_t p[2];
	} u = {.n = {.size = sizeof(u), .type = CU_GRAPH_NODE_TYPE_KERNEL},
	       .k = {.func = 0xf0, .grid = {1, 1, 1}, .block = {64, 1, 1}},
	       .h = {.kernel = 2, .len = 16},
	       .p = {P, Q}};
	char *p = (char *)(g + 1);
	struct world w;

	open2(&w);
	kernel(&w, 2, "shares", 2, NULL);
	for (uint32_t i = 0; i < KERNELS; i++, p += sizeof(u)) {
		u.n.node = NODE(i);
		memcpy(p, &u, sizeof(u));
	}
	for (uint32_t i = BRANCHES; i < KERNELS; i++)
		p = big_edge(g, p, i - BRANCHES, i);
	big_close(&w, g, p, "");
}

/* --- against all pairs ------------------------------------------------------------------------------ */

enum { NODES = 24, SLOTS = 6 };
static uint64_t seed = 88172645463325252ull;

static unsigned pick(unsigned n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned)(seed >> 33) % n;
}

/*
 * Is there a pair that conflicts with no path?  The graph is built on the way.
 * *late: a set that touches bytes of its own at first, *at: where it belongs.
 */
static bool random_graph(unsigned n, unsigned density, unsigned *late, uint64_t *at)
{
	bool path[NODES][NODES] = {{false}};
	unsigned writes[NODES], reads[NODES], place[NODES];

	/* the list of nodes is in another order than the edges lead */
	for (unsigned i = 0; i < n; i++)
		place[i] = i;
	for (unsigned i = n; i-- > 1;) {
		unsigned k = pick(i + 1), t = place[i];

		place[i] = place[k];
		place[k] = t;
	}
	*late = pick(n);
	for (unsigned i = 0; i < n; i++) {
		unsigned from = pick(SLOTS), to = pick(SLOTS);

		writes[i] = 1u << to;
		reads[i] = pick(2) && from != to && i != *late ? 1u << from : 0;
		if (i == *late) {
			*at = P + to * 16;
			graph_set(&b, P + N / 2, 16);
		} else if (reads[i]) {
			graph_copy(&b, P + to * 16, P + from * 16, 16);
		} else {
			graph_set(&b, P + to * 16, 16);
		}
	}
	for (unsigned i = 0; i < n; i++)
		for (unsigned k = i + 1; k < n; k++)
			if (pick(100) < density) {
				graph_edge(&b, place[i], place[k]);
				path[place[i]][place[k]] = true;
			}
	for (unsigned m = 0; m < n; m++)
		for (unsigned i = 0; i < n; i++)
			for (unsigned k = 0; k < n; k++)
				path[i][k] |= path[i][m] && path[m][k];
	for (unsigned i = 0; i < n; i++)
		for (unsigned k = i + 1; k < n; k++)
			if (!path[i][k] && !path[k][i] &&
			    ((writes[i] & (writes[k] | reads[k])) || (writes[k] & reads[i])))
				return true;
	return false;
}

Test(inside, random_graphs)
{
	unsigned found = 0;

	for (unsigned i = 0; i < 2000; i++) {
		struct world w;
		const char *text;
		unsigned late;
		uint64_t at = P;
		bool want;

		open2(&w);
		want = random_graph(2 + pick(i % 2 ? 6 : NODES - 1), pick(100), &late, &at);
		instantiate(&w, X, G, &b);
		set_node(&w, late, at, 16);
		graph_launch(&w, X, S1);
		text = world_close(&w);
		cr_assert_eq(*text != 0, want, "graph %u: %s", i, text);
		found += want;
	}
	cr_assert_gt(found, 200);
	cr_assert_lt(found, 1800);
}

Test(inside, no_memory)
{
	for (unsigned long i = 1; i < 400; i++) {
		struct krt_engine_config cfg = {.hot_min = 4, .possible_max = 1000, .fail_at = i};
		struct world w;

		world_open(&w, &cfg);
		if (!w.e)
			continue;
		context(&w, 0xc0, 0, true);
		stream(&w, S1, 1);
		alloc(&w, P, N);
		graph_open(&b, G);
		graph_set(&b, P, N);
		graph_kernel(&b, 1, 1, P);
		graph_copy(&b, P, P + 64, 64);
		instantiate(&w, X, G, &b);
		graph_launch(&w, X, S1);
		krt_report_destroy(world_report(&w));
		krt_engine_destroy(w.e);
	}
}
