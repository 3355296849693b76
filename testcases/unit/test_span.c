/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges by address (interposer/span.c), against a plain list; and its steps, counted. */
#include <criterion/criterion.h>
#include <stdbool.h>
#include <stdlib.h>

static unsigned long steps;
#define KRT_SPAN_STEP() (steps++)
#include "interposer/span.c"

#define N 2000

static uint32_t seed;

static uint32_t any(uint32_t n)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % n;
}

Test(span, finds_what_a_list_finds)
{
	static struct krt_span s[N];
	static bool in[N], seen[N];
	struct krt_span *root = NULL;

	seed = 7;
	for (unsigned round = 0; round < 20000; round++) {
		unsigned i = any(N), found = 0, want = 0;
		uint64_t lo = any(5000), hi = lo + 1 + any(50);

		if (in[i]) {
			krt_span_remove(&root, &s[i]);
		} else {
			s[i].lo = any(5000);
			s[i].hi = s[i].lo + 1 + any(round % 50 ? 20 : 4000);
			krt_span_insert(&root, &s[i]);
		}
		in[i] = !in[i];
		if (round % 16)
			continue;
		for (unsigned k = 0; k < N; k++) {
			seen[k] = false;
			want += in[k] && s[k].lo < hi && s[k].hi > lo;
		}
		for (struct krt_span *p = NULL; (p = krt_span_next(root, lo, hi, p)); found++) {
			cr_assert(in[p - s] && !seen[p - s] && p->lo < hi && p->hi > lo);
			seen[p - s] = true;
		}
		cr_assert_eq(found, want);
	}
}

/* Steps of n operations in flight, each looked for once and then over. */
static unsigned long cost(unsigned n, bool same)
{
	struct krt_span *s = calloc(n, sizeof *s), *root = NULL;

	steps = 0;
	for (unsigned i = 0; i < n; i++) {
		s[i].lo = same ? 4096 : 4096ull * i;
		s[i].hi = s[i].lo + 4096;
		krt_span_next(root, s[i].lo, s[i].hi, NULL);
		krt_span_insert(&root, &s[i]);
	}
	for (unsigned i = 0; i < n; i++) /* oldest first */
		krt_span_remove(&root, &s[i]);
	cr_assert_null(root);
	free(s);
	return steps;
}

Test(span, ten_times_as_many_cost_not_much_more_each)
{
	for (int same = 0; same < 2; same++) {
		unsigned long few = cost(1000, same), many = cost(10000, same);

		cr_assert_lt(many, 20 * few, "%lu steps for 1,000, %lu for 10,000", few, many);
		cr_assert_lt(many, 10000ul * 120);
	}
}
