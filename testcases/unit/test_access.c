/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Access history against a judge that keeps every byte by itself: random
 * accesses, and after each the conflicts of a random probe must be the same.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/access.h"
#include "analyzer/objects.h"

#define BYTES	96
#define DOMAINS 5

struct byte {
	struct krt_op_info *write;
	struct krt_op_info *read[DOMAINS + 1], *atomic[DOMAINS + 1];
};

static uint64_t seed;

static unsigned rnd(unsigned n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (unsigned)(seed >> 33) % n;
}

static struct krt_op_info *new_op(struct krt_heap *h, krt_domain d)
{
	struct krt_op_info *op = krt_heap_alloc(h, sizeof(*op));

	op->refs = 1;
	op->stamp.domain = d;
	return op;
}

struct hits {
	struct krt_op_info *op[BYTES][2 * DOMAINS + 3];
	unsigned n[BYTES];
};

static void hit(struct hits *h, struct krt_op_info *op, uint64_t byte)
{
	cr_assert_lt(h->n[byte], 2 * DOMAINS + 3);
	h->op[byte][h->n[byte]++] = op;
}

static void on_hit(void *user, const struct krt_access *prev, uint64_t from, uint64_t end)
{
	for (uint64_t b = from; b < end; b++)
		hit(user, prev->op, b);
}

static int by_address(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(void *));
}

/* What a new access of the kind has to be compared with, byte by byte. */
static void judge(const struct byte *m, unsigned from, unsigned end, unsigned kind, struct hits *h)
{
	for (unsigned b = from; b < end; b++) {
		bool any = false;

		for (unsigned d = 1; d <= DOMAINS; d++) {
			if (m[b].read[d] && kind != KRT_ACC_READ) {
				hit(h, m[b].read[d], b);
				any = true;
			}
			if (m[b].atomic[d] && kind != KRT_ACC_ATOMIC) {
				hit(h, m[b].atomic[d], b);
				any = true;
			}
		}
		if (m[b].write && (!any || kind == KRT_ACC_READ))
			hit(h, m[b].write, b);
	}
}

static bool drop_domain(void *user, const struct krt_access *a)
{
	return a->op->stamp.domain == *(krt_domain *)user;
}

Test(access, random_against_bytes)
{
	for (int run = 0; run < 60; run++) {
		struct krt_heap heap __attribute__((cleanup(krt_heap_end))) = {0};
		struct krt_space space;
		struct byte model[BYTES];
		struct krt_op_info *ops[400];
		unsigned nops = 0;

		seed = (uint64_t)run + 1;
		memset(model, 0, sizeof(model));
		krt_space_init(&space);
		for (int step = 0; step < 400; step++) {
			static const unsigned kinds[] = {KRT_ACC_READ, KRT_ACC_WRITE,
							 KRT_ACC_ATOMIC};
			unsigned from = rnd(BYTES), end = from + 1 + rnd(BYTES - from),
				 kind = kinds[rnd(3)];
			unsigned d = 1 + rnd(DOMAINS), pf = rnd(BYTES),
				 pe = pf + 1 + rnd(BYTES - pf), pk = kinds[rnd(3)];
			struct hits got, want;
			struct krt_access a = {.kind = (uint8_t)kind};

			if (rnd(20) == 0) {
				krt_ranges_clear(&heap, &space.sure, from, end);
				memset(&model[from], 0, (end - from) * sizeof(model[0]));
			} else if (rnd(30) == 0) {
				bool whole = rnd(2);

				from = whole ? 0 : from;
				end = whole ? BYTES : end;
				krt_ranges_prune(&heap, &space.sure, from, whole ? UINT64_MAX : end,
						 drop_domain, &d);
				for (unsigned b = from; b < end; b++) {
					model[b].read[d] = model[b].atomic[d] = NULL;
					if (model[b].write && model[b].write->stamp.domain == d)
						model[b].write = NULL;
				}
			} else {
				a.op = ops[nops++] = new_op(&heap, d);
				krt_ranges_add(&heap, &space.sure, from, end, &a);
				for (unsigned b = from; b < end; b++) {
					if (kind == KRT_ACC_WRITE) {
						memset(&model[b], 0, sizeof(model[b]));
						model[b].write = a.op;
					} else if (kind == KRT_ACC_READ) {
						model[b].read[d] = a.op;
					} else {
						model[b].atomic[d] = a.op;
					}
				}
			}
			memset(&got, 0, sizeof(got));
			memset(&want, 0, sizeof(want));
			krt_ranges_conflicts(&space.sure, pf, pe, pk, on_hit, &got);
			judge(model, pf, pe, pk, &want);
			for (unsigned b = 0; b < BYTES; b++) {
				cr_assert_eq(got.n[b], want.n[b], "run %d step %d byte %u", run,
					     step, b);
				qsort(got.op[b], got.n[b], sizeof(void *), by_address);
				qsort(want.op[b], want.n[b], sizeof(void *), by_address);
				cr_assert_arr_eq(got.op[b], want.op[b], got.n[b] * sizeof(void *));
			}
		}
		krt_space_clear(&heap, &space);
		cr_assert_eq(space.sure.tree.count, 0);
		for (unsigned i = 0; i < nops; i++) {
			cr_assert_eq(ops[i]->refs, 1); /* the map has let go of everything */
			krt_op_unref(&heap, ops[i]);
		}
		cr_assert_eq(heap.used, 0);
	}
}

/* Nothing in `may` replaces another domain's access, a write does not either. */
Test(access, may_keeps_all)
{
	struct krt_heap heap __attribute__((cleanup(krt_heap_end))) = {0};
	struct krt_space space;
	struct krt_op_info *op[3];
	struct hits got = {0};

	krt_space_init(&space);
	for (unsigned i = 0; i < 3; i++) {
		struct krt_access a = {.op = op[i] = new_op(&heap, i + 1),
				       .kind = i == 1 ? KRT_ACC_WRITE : KRT_ACC_UNKNOWN};

		krt_ranges_add(&heap, &space.may, 8, 16, &a);
	}
	krt_ranges_conflicts(&space.may, 0, 12, KRT_ACC_WRITE, on_hit, &got);
	cr_assert_eq(got.n[8], 3);
	cr_assert_eq(got.n[7], 0);
	krt_space_clear(&heap, &space);
	for (unsigned i = 0; i < 3; i++)
		krt_op_unref(&heap, op[i]);
	cr_assert_eq(heap.used, 0);
}

/* A write over many small ranges leaves one; pruning joins equal neighbours. */
Test(access, ranges_come_together)
{
	struct krt_heap heap __attribute__((cleanup(krt_heap_end))) = {0};
	struct krt_space space;
	struct krt_op_info *op = new_op(&heap, 1), *reader = new_op(&heap, 2);
	struct krt_access w = {.op = op, .kind = KRT_ACC_WRITE},
			  r = {.op = reader, .kind = KRT_ACC_READ};
	krt_domain two = 2;

	krt_space_init(&space);
	for (uint64_t i = 0; i < 1000; i++)
		krt_ranges_add(&heap, &space.sure, i * 16, i * 16 + 8, &w);
	cr_assert_eq(space.sure.tree.count, 1000);
	krt_ranges_add(&heap, &space.sure, 0, 16000, &w);
	cr_assert_eq(space.sure.tree.count, 1);
	for (uint64_t i = 0; i < 100; i++)
		krt_ranges_add(&heap, &space.sure, i * 16, i * 16 + 8, &r);
	cr_assert_gt(space.sure.tree.count, 100);
	cr_assert_eq(krt_ranges_prune(&heap, &space.sure, 0, UINT64_MAX, drop_domain, &two), 1);
	cr_assert_eq(space.sure.tree.count, 1);
	krt_space_clear(&heap, &space);
	krt_op_unref(&heap, op);
	krt_op_unref(&heap, reader);
	cr_assert_eq(heap.used, 0);
}

Test(tree, random_against_array)
{
	struct krt_node nodes[256];
	struct krt_tree t = {0};
	bool in[256] = {false};

	seed = 42;
	for (int step = 0; step < 20000; step++) {
		unsigned k = rnd(256), probe = rnd(260);
		struct krt_node *f, *c;
		int below = -1, above = -1;

		if (in[k]) {
			krt_tree_remove(&t, &nodes[k]);
		} else {
			nodes[k].key = k;
			cr_assert(krt_tree_insert(&t, &nodes[k]));
		}
		in[k] = !in[k];
		for (int i = 0; i < 256; i++) {
			if (in[i] && i <= (int)probe)
				below = i;
			if (in[i] && i >= (int)probe && above < 0)
				above = i;
		}
		f = krt_tree_floor(&t, probe);
		c = krt_tree_ceil(&t, probe);
		cr_assert_eq(f ? (int)f->key : -1, below);
		cr_assert_eq(c ? (int)c->key : -1, above);
		if (f && krt_tree_next(f))
			cr_assert_eq(krt_tree_prev(krt_tree_next(f)), f);
	}
	for (int i = 0, last = -1; i < 1; i++)
		for (struct krt_node *n = krt_tree_first(&t); n; n = krt_tree_next(n)) {
			cr_assert_gt((int)n->key, last);
			last = (int)n->key;
		}
}
