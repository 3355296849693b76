/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes with gaps between them: rows, and pieces within a row.  Of [lo, hi) only
 * bytes of [at + r * pitch, at + r * pitch + row) for 0 <= r < rows, and in a row
 * only pieces of `width` bytes, `stride` apart from the row's start; `at` may lie
 * below lo, where the first of them are cut off.  No gaps: one row (rows 0 or 1), and
 * stride no more than width.
 */
#ifndef KRT_PATTERN_H
#define KRT_PATTERN_H

#include "heap.h"

#include <stdbool.h>
#include <stdint.h>

struct krt_pattern {
	uint64_t lo, hi, at;
	uint64_t pitch, row, rows;
	uint64_t stride, width;
};

static inline bool krt_pattern_gaps(const struct krt_pattern *p)
{
	return (p->rows > 1 && p->pitch > p->row) || p->stride > p->width;
}

static inline struct krt_pattern krt_pattern_solid(uint64_t lo, uint64_t hi)
{
	return (struct krt_pattern){.lo = lo,
				    .hi = hi,
				    .at = lo,
				    .pitch = hi - lo,
				    .row = hi - lo,
				    .rows = 1,
				    .stride = hi - lo,
				    .width = hi - lo};
}

static inline uint64_t krt_gcd(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t t = a % b;

		a = b;
		b = t;
	}
	return a;
}

/* Do the bytes [a, a + n) and [b, b + m), repeated every g bytes, meet? */
static inline bool krt_pattern_repeat(uint64_t a, uint64_t n, uint64_t b, uint64_t m, uint64_t g)
{
	uint64_t d;

	if (!g || n >= g || m >= g)
		return true;
	d = a % g <= b % g ? b % g - a % g : g - (a % g - b % g);
	return d < n || d + m > g;
}

/* False: they surely have no byte in common.  By what all of their rows and pieces have in common. */
static inline bool krt_pattern_meet(const struct krt_pattern *a, const struct krt_pattern *b)
{
	const struct krt_pattern *p[2] = {a, b};
	uint64_t at[2], len[2], g;

	if (a->hi <= b->lo || b->hi <= a->lo)
		return false;
	for (unsigned i = 0; i < 2; i++) {
		bool rows = p[i]->rows > 1;

		at[i] = rows ? p[i]->at : p[i]->lo;
		len[i] = rows ? p[i]->row : p[i]->hi - p[i]->lo;
	}
	g = krt_gcd(a->rows > 1 ? a->pitch : 0, b->rows > 1 ? b->pitch : 0);
	if (g && !krt_pattern_repeat(at[0], len[0], at[1], len[1], g))
		return false;
	if (a->stride <= a->width && b->stride <= b->width)
		return true;
	for (unsigned i = 0; i < 2; i++)
		if (p[i]->stride > p[i]->width) {
			at[i] = p[i]->at;
			len[i] = p[i]->width;
			g = krt_gcd(g, p[i]->stride);
		}
	return krt_pattern_repeat(at[0], len[0], at[1], len[1], g);
}

/* The same, and few pieces are looked at one by one. */
bool krt_patterns_meet(const struct krt_pattern *a, const struct krt_pattern *b);
/*
 * Do they surely have a byte in common, provided that every byte of both is meant?
 * False where that would take long to see.
 */
bool krt_pattern_share(const struct krt_pattern *a, const struct krt_pattern *b);

/*
 * Patterns under numbers, so that an access history can hold many accesses of the
 * same gaps.  A number stands for the gaps alone, endless in both directions:
 * where they end the range says.  Numbers that no sweep meets are given out again.
 */
struct krt_patterns {
	struct krt_pattern_entry *entry; /* [0] is not used */
	uint32_t n, cap, free;
	uint32_t first[256]; /* by hash */
};
#define KRT_PATTERN_LOST UINT16_MAX /* there were too many: gaps that are not known */
#define KRT_PATTERNS_MAX 16384

/* The number for p's gaps; 0: it has none. */
uint16_t krt_pattern_id(struct krt_heap *h, struct krt_patterns *t, const struct krt_pattern *p);
/* The pattern of a number in [lo, hi).  False: LOST, anywhere in there. */
bool krt_pattern_of(const struct krt_patterns *t, uint16_t id, uint64_t lo, uint64_t hi,
		    struct krt_pattern *p);
/* A sweep: none is met yet; one is met; those that were not are free. */
void krt_patterns_unmark(struct krt_patterns *t);
void krt_pattern_mark(struct krt_patterns *t, uint16_t id);
void krt_patterns_sweep(struct krt_patterns *t);
void krt_patterns_free(struct krt_heap *h, struct krt_patterns *t);

#endif
