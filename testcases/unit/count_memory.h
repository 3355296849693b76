/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An allocator for struct krt_order_mem that counts, checks that blocks are
 * freed with the size they were made with, and fails on demand.
 */
#ifndef COUNT_MEMORY_H
#define COUNT_MEMORY_H

#include <criterion/criterion.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#else
#define RUNNING_ON_VALGRIND 0
#endif
#include "order.h"

struct memory {
	uint64_t bytes, calls;
	uint64_t fail_at; /* this call fails, counted from 1; 0: none */
};

static inline void *count_alloc(void *user, size_t size)
{
	struct memory *m = user;
	uint64_t *p;

	if (++m->calls == m->fail_at)
		return NULL;
	p = malloc(size + 16);
	cr_assert_not_null(p);
	p[0] = size;
	m->bytes += size;
	return p + 2;
}

static inline void count_free(void *user, void *ptr, size_t size)
{
	struct memory *m = user;
	uint64_t *p = (uint64_t *)ptr - 2;

	cr_assert_eq(p[0], size, "freed with another size than allocated with");
	m->bytes -= size;
	free(p);
}

/* fail_at is kept. */
static inline struct krt_order *order_new(struct memory *m)
{
	const struct krt_order_mem mem = { count_alloc, count_free, m };

	m->bytes = m->calls = 0;
	return krt_order_new(&mem);
}

static inline unsigned scaled(unsigned native, unsigned valgrind)
{
	return RUNNING_ON_VALGRIND ? valgrind : native;
}

#endif
