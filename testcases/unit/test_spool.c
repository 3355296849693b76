/* SPDX-License-Identifier: Apache-2.0 */
/* Records kept and read again: blocks, processes, a long record, the bound, no room. */
#define _GNU_SOURCE
#include "analyzer/spool.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static union {
	struct krt_rec rec;
	unsigned char bytes[1 << 18];
} u;

/* Number n of a process: length and content follow from the two. */
static size_t make(unsigned process, unsigned n)
{
	size_t len = sizeof(u.rec) + (n * 7 + process) % 300;

	if (n == 50)
		len = sizeof(u.bytes) - process;
	memset(u.bytes, (int)(n + process * 31), len);
	return len;
}

static void add(struct krt_spool *s, unsigned process, unsigned n)
{
	size_t len = make(process, n);

	krt_spool_add(s, process, &u.rec, len, n % 5);
}

static void check(struct krt_spool *s, unsigned process, unsigned count)
{
	const struct krt_rec *rec;
	unsigned lane;
	size_t len;

	krt_spool_rewind(s, process);
	for (unsigned n = 0; n < count; n++) {
		size_t want = make(process, n);

		cr_assert_eq(krt_spool_next(s, &rec, &len, &lane), 1, "%u of %u", n, process);
		cr_assert_eq(len, want);
		cr_assert_eq(lane, n % 5);
		cr_assert(!memcmp(rec, u.bytes, len));
		cr_assert_eq((uintptr_t)rec % 8, 0);
	}
	cr_assert_eq(krt_spool_next(s, &rec, &len, &lane), 0);
}

Test(spool, two_processes)
{
	struct krt_spool *s = krt_spool_new(1 << 24);

	for (unsigned n = 0; n < 2000; n++) {
		add(s, 0, n);
		if (n < 600)
			add(s, 3, n);
	}
	cr_assert_null(krt_spool_gone(s));
	for (unsigned twice = 0; twice < 2; twice++) {
		check(s, 0, 2000);
		check(s, 3, 600);
		check(s, 1, 0);
		check(s, 9, 0);
	}
	krt_spool_free(s);
}

Test(spool, a_bound)
{
	struct krt_spool *s = krt_spool_new(1000);
	const struct krt_rec *rec;
	unsigned lane, n = 0;
	size_t len;

	while (!krt_spool_gone(s) && n < 1000)
		add(s, 0, n++);
	cr_assert(n > 1 && n < 1000);
	cr_assert(strstr(krt_spool_gone(s), "too long"));
	krt_spool_rewind(s, 0);
	cr_assert(krt_spool_next(s, &rec, &len, &lane) < 0);
	krt_spool_free(s);
}

Test(spool, no_place_for_the_file)
{
	struct krt_spool *s;

	setenv("TMPDIR", "/nonexistent", 1);
	s = krt_spool_new(1 << 24);
	for (unsigned n = 0; n < 2000; n++)
		add(s, 0, n);
	cr_assert(strstr(krt_spool_gone(s), "no memory or disk"));
	krt_spool_free(s);
	/* what fits in memory needs none */
	s = krt_spool_new(1 << 24);
	for (unsigned n = 0; n < 20; n++)
		add(s, 0, n);
	check(s, 0, 20);
	krt_spool_free(s);
}
