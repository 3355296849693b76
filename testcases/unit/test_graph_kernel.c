/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel nodes of graphs whose access is known by their PTX: what a node's set
 * holds, and what executables, nodes and other operations meet there, against all
 * bytes written down.
 */
#include <criterion/criterion.h>

#include "analyzer/engine_int.h"
#include "graph_build.h"
#include "graph_ptx.h"

#define S1   0x101ull
#define S2   0x102ull
#define E1   0x201ull
#define G1   0x301ull
#define G2   0x302ull
#define X1   0x401ull
#define X2   0x402ull
#define NB   1
#define N    4096
#define FLAG (DEV + 0x7000000)

#define expect(w, text)	    cr_assert_str_eq(world_close(w), text)
#define expect_all(w, text) cr_assert_str_eq(world_close_as(w, true), text)

static struct graph_build b;

static void open2(struct world *w)
{
	world_open(w, &graph_ptx_config);
	context(w, 0xc0, 0, true);
	stream(w, S1, NB);
	stream(w, S2, NB);
	event(w, E1);
	graph_ptx_kernels(w);
	alloc(w, DEV, N);
	alloc(w, FLAG, 4);
	graph_open(&b, G1);
}

static void ends(struct world *w)
{
	mark(w, KRT_MARK_EXITING);
}

static const struct krt_gset *set_of(struct world *w, uint64_t exec, uint32_t node)
{
	struct krt_exec *x;

	HASH_FIND(hh, w->e->graphs.execs, &exec, sizeof(exec), x);
	cr_assert(x && x->set && node < x->image->nodes);
	return x->set[node];
}

static void is_access(const struct krt_gset *s, uint32_t i, unsigned kind, unsigned sure,
		      uint64_t addr, uint64_t len)
{
	const struct krt_gaccess *a = &s->access[i];

	cr_assert(i < s->n);
	cr_assert_eq(a->kind, kind);
	cr_assert_eq(a->sure, sure);
	cr_assert_eq(a->addr, addr, "%lx", a->addr);
	cr_assert_eq(a->width, len, "%lu", a->width);
}

/* Where the only write is. */
static uint32_t the_write(const struct krt_gset *s)
{
	uint32_t at = s->n;

	for (uint32_t i = 0; i < s->n; i++)
		if (s->access[i].kind == KRT_ACC_WRITE) {
			cr_assert_eq(at, s->n);
			at = i;
		}
	cr_assert_lt(at, s->n);
	return at;
}

/* --- sets ------------------------------------------------------------------------------ */

Test(sets, what_a_node_touches)
{
	const struct krt_gset *s;
	uint32_t k;
	struct world w;

	open2(&w);
	graph_kernel(&b, SOLID_WRITE, 4, DEV + 64, 200);
	graph_kernel(&b, ROWS_WRITE_IF, 100, DEV + 4, 2, 32, 4, FLAG);
	graph_kernel(&b, ASKED, 1, DEV, DEV + 8, 10);
	graph_kernel(&b, CHASE, 1, DEV + 16, DEV + 32, 0);
	graph_kernel(&b, BACK, 1, DEV + N, 8);
	graph_kernel(&b, SOLID_WRITE, 4, DEV, 0);
	graph_kernel(&b, ROWS_WRITE, 4, DEV + 4, 64, 512, 4);
	instantiate(&w, X1, G1, &b);
	s = set_of(&w, X1, 0);
	cr_assert(s->n == 1 && !s->opaque && s->access[0].know == KRT_KNOW_PTX);
	is_access(s, 0, KRT_ACC_WRITE, KRT_SURE_ALL, DEV + 64, 800);
	s = set_of(&w, X1, 1);
	k = the_write(s);
	is_access(s, k, KRT_ACC_WRITE, KRT_SURE_SOME, DEV + 4, 99 * 32 + 8);
	cr_assert(s->access[k].gaps && s->access[k].gaps->pitch == 32 &&
		  s->access[k].gaps->row == 8 && s->access[k].gaps->at == 4);
	s = set_of(&w, X1, 2);
	cr_assert_eq(s->n, 2);
	is_access(s, 0, KRT_ACC_READ, KRT_SURE_ALL, DEV, 4);
	is_access(s, 1, KRT_ACC_WRITE, KRT_SURE_SOME, DEV + 8, 40);
	s = set_of(&w, X1, 3); /* not where q points */
	for (uint32_t i = 0; i < s->n; i++)
		cr_assert_eq(s->access[i].kind, KRT_ACC_READ);
	is_access(s, 0, KRT_ACC_READ, KRT_SURE_ALL, DEV + 16, 4);
	s = set_of(&w, X1, 4);
	cr_assert_eq(s->n, 1);
	is_access(s, 0, KRT_ACC_WRITE, KRT_SURE_ALL, DEV + N - 32, 32);
	cr_assert_eq(set_of(&w, X1, 5)->n, 0);
	s = set_of(&w, X1, 6); /* few rows: surely */
	cr_assert(s->n == 1 && !s->access[0].gaps && s->access[0].rows == 4 &&
		  s->access[0].pitch == 512);
	is_access(s, 0, KRT_ACC_WRITE, KRT_SURE_ALL, DEV + 4, 256);
	world_close(&w);
}

/* What is touched ends with the memory that the pointer leads to. */
Test(sets, cut_to_the_block)
{
	const struct krt_gset *s;
	struct world w;

	open2(&w);
	pool_create(&w, 0x9001, 1, "pool");
	block_alloc(&w, 0x9001, DEV, 1024, S1);
	block_alloc(&w, 0x9001, DEV + 1024, 1024, S1);
	graph_kernel(&b, ASKED, 20, DEV, DEV + 512, 1200);
	graph_kernel(&b, ROWS_WRITE_IF, 100, DEV + 256, 2, 16, 4, FLAG);
	graph_kernel(&b, SOLID_WRITE, 20, DEV + 512, 1200);
	graph_kernel(&b, ROWS_WRITE, 4, DEV + N - 768, 64, 512, 4);
	instantiate(&w, X1, G1, &b);
	s = set_of(&w, X1, 0);
	/* a hull that leaves its block is none: only where it begins is known */
	is_access(s, 1, KRT_ACC_WRITE, KRT_SURE_FROM, DEV + 512, 1);
	cr_assert(s->access[1].block && s->access[1].block->base == DEV);
	s = set_of(&w, X1, 1);
	is_access(s, the_write(s), KRT_ACC_WRITE, KRT_SURE_FROM, DEV + 256, 1);
	/* to the allocation where it surely happens: that is an error of its own */
	is_access(set_of(&w, X1, 2), 0, KRT_ACC_WRITE, KRT_SURE_ALL, DEV + 512, N - 512);
	s = set_of(&w, X1, 3);
	cr_assert_eq(s->n, 2);
	is_access(s, 0, KRT_ACC_WRITE, KRT_SURE_ALL, DEV + N - 768, 256);
	is_access(s, 1, KRT_ACC_WRITE, KRT_SURE_ALL, DEV + N - 256, 256);
	world_close(&w);
}

/* Of the graph's own memory, too. */
Test(sets, memory_of_the_graph_itself)
{
	const struct krt_gset *s;
	struct world w;

	open2(&w);
	graph_alloc(&b, DEV + 0x10000, 1024);
	graph_kernel(&b, ASKED, 20, DEV, DEV + 0x10000, 1200);
	graph_kernel(&b, ROWS_WRITE_IF, 100, DEV + 0x10000, 1, 8, 4, FLAG);
	graph_kernel(&b, ROWS_WRITE_IF, 100, DEV + 0x10000 + 4, 1, 8, 4, FLAG);
	graph_free(&b, DEV + 0x10000);
	graph_edge(&b, 0, 1);
	graph_edge(&b, 1, 2);
	graph_edge(&b, 1, 3);
	graph_edge(&b, 2, 4);
	graph_edge(&b, 3, 4);
	instantiate(&w, X1, G1, &b);
	s = set_of(&w, X1, 1);
	is_access(s, 1, KRT_ACC_WRITE, KRT_SURE_SOME, DEV + 0x10000, 1024);
	cr_assert_eq(s->access[1].space, KRT_SPACE_GRAPH);
	s = set_of(&w, X1, 2);
	cr_assert(s->access[the_write(s)].gaps && s->access[the_write(s)].space == KRT_SPACE_GRAPH);
	graph_launch(&w, X1, S1);
	ends(&w);
	expect(&w, "");
}

/* --- the inside ---------------------------------------------------------------------------- */

Test(inside, kernels_that_only_read)
{
	struct world w;

	open2(&w);
	graph_kernel(&b, SOLID_READ, 4, DEV, 256);
	graph_kernel(&b, ROWS_READ, 4, DEV, 64, 512, 4);
	graph_kernel(&b, CHASE, 4, DEV, DEV, 0);
	graph_copy(&b, DEV + 0x1000000, DEV, N);
	instantiate(&w, X1, G1, &b);
	graph_launch(&w, X1, S1);
	ends(&w);
	expect_all(&w, "");
}

Test(inside, sure_kernels_are_certain)
{
	struct world w;

	open2(&w);
	graph_kernel(&b, SOLID_READ, 4, DEV, 256);
	graph_kernel(&b, SOLID_WRITE, 4, DEV + 1020, 256);
	graph_kernel(&b, SOLID_WRITE, 4, DEV + 2044, 256);
	graph_edge(&b, 1, 2);
	instantiate(&w, X1, G1, &b);
	expect(&w, "GRAPH-UNORDERED-NODES:error:1");
}

Test(inside, what_may_be_written_is_likely)
{
	struct world w;

	open2(&w);
	alloc(&w, DEV + 0x10000, N);
	graph_kernel(&b, SOLID_READ, 4, DEV, 256);
	graph_kernel(&b, ASKED, 4, DEV + 0x10000, DEV + 512, 8);
	instantiate(&w, X1, G1, &b);
	expect(&w, "GRAPH-UNORDERED-NODES:warning:1");
}

/* The last write of what may happen does not stand for those before it. */
Test(inside, nothing_is_hidden_by_what_may_happen)
{
	struct world w;

	open2(&w);
	alloc(&w, DEV + 0x10000, N);
	graph_set(&b, DEV, 256);
	graph_kernel(&b, ASKED, 4, DEV + 0x10000, DEV, 64);
	graph_kernel(&b, SOLID_READ, 4, DEV, 64);
	graph_edge(&b, 1, 2);
	instantiate(&w, X1, G1, &b);
	expect(&w, "GRAPH-UNORDERED-NODES:error:1 GRAPH-UNORDERED-NODES:warning:1");
}

/* One kernel of many accesses with gaps: none of them is forgotten for the next. */
Test(inside, gaps_of_one_chain)
{
	struct world w;

	open2(&w);
	graph_kernel(&b, ROWS_WRITE_IF, 100, DEV, 4, 32, 4, FLAG);
	graph_kernel(&b, ROWS_WRITE_IF, 100, DEV + 16, 4, 32, 4, FLAG);
	graph_kernel(&b, ROWS_READ_IF, 100, DEV, 4, 32, 4, FLAG);
	graph_edge(&b, 0, 1);
	instantiate(&w, X1, G1, &b);
	expect(&w, "GRAPH-UNORDERED-NODES:warning:1");
}

/* --- the end of memory ----------------------------------------------------------------------- */

static void gone(struct world *w, uint64_t addr)
{
	call(w, cuMemFree_v2, A(addr));
}

/* One past the end of one, the first byte of another: used is where the kernel goes. */
Test(ends, a_pointer_past_the_end)
{
	struct world w;

	open2(&w);
	alloc(&w, DEV + N, N);
	graph_kernel(&b, BACK, 4, DEV + N, 256);
	instantiate(&w, X1, G1, &b);
	graph_launch(&w, X1, S1);
	gone(&w, DEV + N);
	graph_launch(&w, X1, S1);
	ends(&w);
	expect_all(&w, "");
}

Test(ends, where_it_goes_is_freed)
{
	struct world w;

	open2(&w);
	alloc(&w, DEV + N, N);
	graph_kernel(&b, BACK, 4, DEV + N, 256);
	instantiate(&w, X1, G1, &b);
	gone(&w, DEV);
	graph_launch(&w, X1, S1);
	ends(&w);
	expect(&w, "GRAPH-STALE-ADDR:error:1");
}

Test(ends, nothing_to_do)
{
	struct world w;

	open2(&w);
	graph_kernel(&b, SOLID_WRITE, 4, DEV, 0);
	instantiate(&w, X1, G1, &b);
	gone(&w, DEV);
	graph_launch(&w, X1, S1);
	ends(&w);
	expect_all(&w, "");
}

/* What may be used, or is used from there on, counts for a free as a plain pointer does. */
Test(ends, what_may_be_used)
{
	struct world w;

	open2(&w);
	alloc(&w, DEV + 0x10000, N);
	alloc(&w, DEV + 0x20000, N);
	graph_kernel(&b, ASKED, 4, DEV + 0x10000, DEV, 64);
	graph_kernel(&b, CHASE, 4, DEV + 0x20000, DEV + 0x30000, 0);
	instantiate(&w, X1, G1, &b);
	gone(&w, DEV);
	graph_launch(&w, X1, S1);
	sync_stream(&w, S1);
	gone(&w, DEV + 0x20000);
	graph_launch(&w, X1, S1);
	ends(&w);
	expect(&w, "GRAPH-STALE-ADDR:error:3");
}

Test(ends, beside_a_launch)
{
	struct world w;

	open2(&w);
	alloc_async(&w, DEV + 0x10000, N, S2);
	sync_stream(&w, S2);
	alloc(&w, DEV + 0x20000, N);
	graph_kernel(&b, ASKED, 4, DEV + 0x20000, DEV + 0x10000, 64);
	graph_kernel(&b, BACK, 4, DEV + 0x10000, 0);
	instantiate(&w, X1, G1, &b);
	graph_launch(&w, X1, S1);
	call(&w, cuMemFreeAsync, A(DEV + 0x10000), A(S2));
	ends(&w);
	expect(&w, "FREE-IN-USE:error:1");
}

/* --- cost ----------------------------------------------------------------------------------------
 */

/* Work of launches over n kernels that write columns of one buffer, and of copies beside them. */
static uint64_t work(uint32_t n)
{
	uint64_t steps;
	struct world w;

	open2(&w);
	alloc(&w, DEV + 0x100000, 0x100000);
	for (uint32_t i = 0; i < n; i++) {
		graph_kernel(&b, ROWS_WRITE_IF, 64, DEV + 0x100000 + 4 * i, 1, 0x1000, 4, FLAG);
		if (i)
			graph_edge(&b, i - 1, i);
	}
	instantiate(&w, X1, G1, &b);
	graph_launch(&w, X1, S1);
	steps = w.e->graphs.steps;
	for (uint32_t i = 0; i < 50; i++) {
		set(&w, DEV + 0x100000 + 0x1000 * i + 4 * n, 64, S2);
		graph_launch(&w, X1, S1);
	}
	steps = w.e->graphs.steps - steps;
	ends(&w);
	expect(&w, "");
	return steps;
}

Test(cost, many_columns)
{
	uint64_t few = work(10), many = work(250);

	cr_assert_leq(many, few + 50 * 2 * 80, "%lu and %lu", few, many);
}

/* --- against all bytes ------------------------------------------------------------------------ */

static uint64_t seed = 7;

static uint32_t random32(void)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(seed >> 33);
}

struct piece {
	bool write, copy, sure;
	uint32_t rows, at, n, pitch, stride;
};

static struct piece random_piece(void)
{
	struct piece p = {.write = random32() % 3 == 0, .rows = 1, .stride = 4};

	p.at = random32() % 200 * 4;
	p.n = 1 + random32() % 40;
	p.pitch = 4 * p.n;
	switch (random32() % 4) {
	case 0:
		p.copy = p.sure = true;
		break;
	case 1:
		p.sure = true;
		break;
	case 2: /* rows */
		p.rows = 1 + random32() % 4;
		p.pitch = 4 * p.n + 4 * (random32() % 40);
		break;
	default: /* columns */
		p.stride = 4 * (2 + random32() % 3);
		p.n = 1 + random32() % 12;
		p.pitch = p.stride * p.n;
		p.rows = 1 + random32() % 3;
		break;
	}
	return p;
}

static void add_piece(struct graph_build *g, const struct piece *p, uint32_t i)
{
	uint64_t addr = DEV + p->at;

	if (p->copy && p->write)
		graph_set(g, addr, 4 * p->n);
	else if (p->copy)
		graph_copy(g, DEV + 0x100000 + 0x1000 * i, addr, 4 * p->n);
	else if (p->sure)
		graph_kernel(g, p->write ? SOLID_WRITE : SOLID_READ, 2, addr, p->n);
	else
		graph_kernel(g, p->write ? ROWS_WRITE : ROWS_READ, p->rows, addr, p->n, p->pitch,
			     p->stride);
}

static void bytes_of(const struct piece *p, uint8_t *map)
{
	for (uint32_t r = 0; r < p->rows; r++)
		for (uint32_t i = 0; i < p->n; i++)
			memset(map + p->at + r * p->pitch + i * p->stride, 1, 4);
}

static const char *piece_text(const struct piece *p, int i)
{
	static char buf[2][128];

	snprintf(buf[i], sizeof(buf[i]), "%s%s%s +%u %u rows of %u, pitch %u, stride %u;",
		 p->write ? "write" : "read", p->copy ? " copy" : "", p->sure ? " sure" : "", p->at,
		 p->rows, p->n, p->pitch, p->stride);
	return buf[i];
}

/* Do they conflict? */
static bool meets(const struct piece *a, const struct piece *k)
{
	static uint8_t x[4096], y[4096];

	if (!a->write && !k->write)
		return false;
	memset(x, 0, sizeof(x));
	memset(y, 0, sizeof(y));
	bytes_of(a, x);
	bytes_of(k, y);
	for (size_t i = 0; i < sizeof(x); i++)
		if (x[i] && y[i])
			return true;
	return false;
}

/* Bytes of which all that is known of both says that they meet, when they do not: steps differ. */
static bool comparable(const struct piece *a, const struct piece *k)
{
	return (a->sure || a->rows == 1 || a->pitch == k->pitch || k->sure) &&
	       (a->sure || k->sure || a->stride == k->stride);
}

static void open_wide(struct world *w)
{
	open2(w);
	alloc(w, DEV + 0x100000, 0x100000);
}

Test(random, nodes)
{
	unsigned silent = 0, loud = 0;

	for (int round = 0; round < 3000; round++) {
		struct piece p[2] = {random_piece(), random_piece()};
		bool want = meets(&p[0], &p[1]), sure = p[0].sure && p[1].sure;
		struct world w;
		const char *got;

		open_wide(&w);
		graph_open(&b, G1);
		for (uint32_t i = 0; i < 2; i++)
			add_piece(&b, &p[i], i);
		instantiate(&w, X1, G1, &b);
		ends(&w);
		got = world_close(&w);
		if (want && sure)
			cr_assert_str_eq(got, "GRAPH-UNORDERED-NODES:error:1", "round %d", round);
		else if (want)
			cr_assert(*got, "round %d: %s %s", round, piece_text(&p[0], 0),
				  piece_text(&p[1], 1));
		else if (sure || comparable(&p[0], &p[1]))
			cr_assert_str_eq(got, "", "round %d: %s %s", round, piece_text(&p[0], 0),
					 piece_text(&p[1], 1));
		cr_assert(want || !strstr(got, "error"), "round %d", round);
		silent += !*got;
		loud += *got != 0;
	}
	cr_assert(silent > 300 && loud > 300);
}

Test(random, executables)
{
	for (int round = 0; round < 1500; round++) {
		static struct graph_build a, c;
		struct piece p[6], q[6];
		uint32_t n = 1 + random32() % 6, m = 1 + random32() % 6;
		bool want = false, sure = false, all = true;
		struct world w;
		const char *got;

		open_wide(&w);
		graph_open(&a, G1);
		graph_open(&c, G2);
		for (uint32_t i = 0; i < n; i++) {
			p[i] = random_piece();
			add_piece(&a, &p[i], i);
			if (i)
				graph_edge(&a, i - 1, i);
		}
		for (uint32_t i = 0; i < m; i++) {
			q[i] = random_piece();
			add_piece(&c, &q[i], 16 + i);
			if (i)
				graph_edge(&c, i - 1, i);
		}
		for (uint32_t i = 0; i < n; i++)
			for (uint32_t k = 0; k < m; k++) {
				bool both = meets(&p[i], &q[k]);

				want |= both;
				sure |= both && p[i].sure && q[k].sure;
				all &= both || (p[i].sure && q[k].sure) || comparable(&p[i], &q[k]);
			}
		instantiate(&w, X1, G1, &a);
		instantiate(&w, X2, G2, &c);
		graph_launch(&w, X1, S1);
		graph_launch(&w, X2, S2);
		ends(&w);
		got = world_close(&w);
		cr_assert(!sure || strstr(got, "error"), "round %d: %s", round, got);
		cr_assert(want || !strstr(got, "error"), "round %d: %s", round, got);
		if (want || all)
			cr_assert_eq(*got != 0, want, "round %d: %s", round, got);
	}
}

Test(random, copies_beside_a_launch)
{
	for (int round = 0; round < 1500; round++) {
		struct piece p[6], x = random_piece();
		uint32_t n = 1 + random32() % 6;
		bool want = false, sure = false, before = random32() & 1;
		struct world w;
		const char *got;

		x.copy = x.sure = true;
		x.rows = 1;
		x.stride = 4;
		x.pitch = 4 * x.n;
		open_wide(&w);
		graph_open(&b, G1);
		for (uint32_t i = 0; i < n; i++) {
			p[i] = random_piece();
			add_piece(&b, &p[i], i);
			if (i)
				graph_edge(&b, i - 1, i);
			want |= meets(&p[i], &x);
			sure |= meets(&p[i], &x) && p[i].sure;
		}
		instantiate(&w, X1, G1, &b);
		for (int k = 0; k < 2; k++) {
			if (k == before)
				graph_launch(&w, X1, S1);
			else if (x.write)
				set(&w, DEV + x.at, 4 * x.n, S2);
			else
				d2d(&w, DEV + 0x130000, DEV + x.at, 4 * x.n, S2);
		}
		ends(&w);
		got = world_close(&w);
		cr_assert(!sure || strstr(got, "error"), "round %d: %s", round, got);
		cr_assert(want || !strstr(got, "error"), "round %d: %s", round, got);
		cr_assert_eq(*got != 0, want, "round %d: %s", round, got);
	}
}
