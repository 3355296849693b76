/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations by address: lives, freed ranges and what is left of them, aliases, names, blocks. */
#include <criterion/criterion.h>
#include <string.h>

#include "analyzer/memory.h"

struct world {
	struct krt_heap heap;
	struct krt_memory m;
	struct krt_rec_call rec;
	struct krt_call c;
};

static void open_world(struct world *w)
{
	memset(w, 0, sizeof(*w));
	krt_memory_init(&w->m, &w->heap);
	w->rec.api = KRT_API_cuMemAlloc_v2;
	w->rec.t0 = 1;
	w->c.rec = &w->rec;
	w->c.api = &krt_api[w->rec.api];
}

static void close_world(struct world *w)
{
	krt_memory_free(&w->m);
	cr_assert_eq(w->heap.used, 0);
	krt_heap_end(&w->heap);
}

static struct krt_mem *add(struct world *w, uint64_t base, uint64_t size)
{
	return krt_mem_add(&w->m, base, size, KRT_MEM_DEVICE, NULL, 0, &w->c);
}

static void retire(struct world *w, struct krt_mem *mem)
{
	krt_mem_retire(&w->m, mem, &w->c, NULL);
}

Test(memory, bounds_of_a_range)
{
	struct world w;
	struct krt_mem *a, *b;

	open_world(&w);
	a = add(&w, 0x1000, 0x100);
	b = add(&w, 0x1100, 0x100);
	cr_assert_null(krt_mem_at(&w.m, 0xfff));
	cr_assert_eq(krt_mem_at(&w.m, 0x1000), a);
	cr_assert_eq(krt_mem_at(&w.m, 0x10ff), a);
	cr_assert_eq(krt_mem_at(&w.m, 0x1100), b);
	cr_assert_null(krt_mem_at(&w.m, 0x1200));
	cr_assert_eq(krt_mem_from(&w.m, 0), a);
	cr_assert_null(krt_mem_from(&w.m, 0x1200));
	cr_assert_null(krt_mem_base(&w.m, 0x1001));
	close_world(&w);
}

Test(memory, the_dead_are_remembered)
{
	struct world w;
	struct krt_mem *a;

	open_world(&w);
	a = add(&w, 0x1000, 0x1000);
	retire(&w, a);
	cr_assert_null(krt_mem_at(&w.m, 0x1800));
	cr_assert_not_null(krt_mem_freed_at(&w.m, 0x1800));
	cr_assert_null(krt_mem_freed_at(&w.m, 0x2000));
	/* a new life in the middle: both ends stay dead */
	add(&w, 0x1400, 0x400);
	cr_assert_not_null(krt_mem_freed_at(&w.m, 0x13ff));
	cr_assert_null(krt_mem_freed_at(&w.m, 0x1400));
	cr_assert_null(krt_mem_freed_at(&w.m, 0x17ff));
	cr_assert_not_null(krt_mem_freed_at(&w.m, 0x1800));
	/* over all of it: nothing is dead any more */
	add(&w, 0x1000, 0x1000);
	retire(&w, krt_mem_base(&w.m, 0x1000));
	add(&w, 0x800, 0x2000);
	cr_assert_null(krt_mem_freed_at(&w.m, 0x1000));
	cr_assert_eq(w.m.freed.count, 0);
	close_world(&w);
}

Test(memory, remembering_is_bounded)
{
	struct world w;

	open_world(&w);
	for (uint64_t i = 0; i < 3 * KRT_FREED_MAX; i++)
		retire(&w, add(&w, 0x100000 + i * 0x100, 0x80));
	cr_assert_eq(w.m.freed.count, KRT_FREED_MAX);
	cr_assert_null(krt_mem_freed_at(&w.m, 0x100000));
	cr_assert_not_null(krt_mem_freed_at(&w.m, 0x100000 + (3 * KRT_FREED_MAX - 1) * 0x100));
	/* one life over thousands of dead ones */
	add(&w, 0x100000, 0x100ull * 3 * KRT_FREED_MAX);
	cr_assert_eq(w.m.freed.count, 0);
	close_world(&w);
}

Test(memory, generations)
{
	struct world w;
	struct krt_mem *a;
	uint32_t serial;

	open_world(&w);
	a = add(&w, 0x1000, 0x100);
	serial = a->serial;
	retire(&w, a);
	a = add(&w, 0x1000, 0x100);
	cr_assert_neq(a->serial, serial);
	cr_assert_eq(a->space->sure.tree.count, 0);
	close_world(&w);
}

Test(memory, an_empty_allocation_can_be_freed)
{
	struct world w;

	open_world(&w);
	cr_assert_not_null(add(&w, 0x1000, 0));
	cr_assert_not_null(krt_mem_base(&w.m, 0x1000));
	retire(&w, krt_mem_base(&w.m, 0x1000));
	cr_assert_null(krt_mem_at(&w.m, 0x1000));
	close_world(&w);
}

Test(memory, shared_space)
{
	struct world w;
	struct krt_phys *p;
	struct krt_mem *a, *b;

	open_world(&w);
	p = krt_phys_get(&w.m, 7, true, &w.c);
	a = krt_mem_add(&w.m, 0x10000, 0x1000, KRT_MEM_MAPPED, p->space, 0, &w.c);
	b = krt_mem_add(&w.m, 0x20000, 0x1000, KRT_MEM_MAPPED, p->space, 0x1000, &w.c);
	krt_phys_put(&w.m, p); /* released: the mappings keep it */
	cr_assert_eq(a->space, b->space);
	retire(&w, a);
	cr_assert_eq(b->space->refs, 1);
	close_world(&w);
}

Test(memory, names_and_blocks)
{
	struct world w;
	struct krt_mem *a;

	open_world(&w);
	a = add(&w, 0x1000, 0x1000);
	krt_name_set(&w.m, 0x1000, 0x1000, "all", 4);
	krt_name_set(&w.m, 0x1100, 0x10, "part", 5);
	cr_assert_str_eq(krt_name_at(&w.m, 0x1000), "all");
	cr_assert_str_eq(krt_name_at(&w.m, 0x1105), "part");
	cr_assert_str_eq(krt_name_at(&w.m, 0x1200), "all");
	cr_assert_not_null(krt_block_add(&w.m, NULL, 0x1100, 0x100, NULL, &w.c));
	cr_assert_not_null(krt_block_at(&w.m, 0x11ff));
	cr_assert_null(krt_block_at(&w.m, 0x1200));
	cr_assert_null(krt_block_add(&w.m, NULL, 0x1100, 0, NULL, &w.c));
	retire(&w, a); /* names and blocks go with the memory */
	cr_assert_null(krt_name_at(&w.m, 0x1105));
	cr_assert_null(krt_block_at(&w.m, 0x1100));
	close_world(&w);
}
