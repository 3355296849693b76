/* SPDX-License-Identifier: Apache-2.0 */
/* Byte ranges by address (span.h). */
#include "span.h"

#include <stdbool.h>
#include <stddef.h>

#ifndef KRT_SPAN_STEP
#define KRT_SPAN_STEP() ((void)0) /* counted by its test */
#endif

static uint64_t weight(const struct krt_span *s)
{
	uint64_t x = (uint64_t)(uintptr_t)s;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

static bool before(const struct krt_span *a, const struct krt_span *b)
{
	return a->lo != b->lo ? a->lo < b->lo : (uintptr_t)a < (uintptr_t)b;
}

static void renew(struct krt_span *s)
{
	s->max = s->hi;
	if (s->left && s->left->max > s->max)
		s->max = s->left->max;
	if (s->right && s->right->max > s->max)
		s->max = s->right->max;
}

/* What lies before s and what behind it. */
static void part(struct krt_span *t, const struct krt_span *s, struct krt_span **low,
		 struct krt_span **high)
{
	if (!t) {
		*low = *high = NULL;
		return;
	}
	KRT_SPAN_STEP();
	if (before(t, s)) {
		part(t->right, s, &t->right, high);
		*low = t;
	} else {
		part(t->left, s, low, &t->left);
		*high = t;
	}
	renew(t);
}

static struct krt_span *join(struct krt_span *low, struct krt_span *high)
{
	if (!low || !high)
		return low ? low : high;
	KRT_SPAN_STEP();
	if (weight(low) > weight(high)) {
		low->right = join(low->right, high);
		renew(low);
		return low;
	}
	high->left = join(low, high->left);
	renew(high);
	return high;
}

void krt_span_insert(struct krt_span **root, struct krt_span *s)
{
	struct krt_span *t = *root;

	KRT_SPAN_STEP();
	if (t && weight(t) >= weight(s)) {
		krt_span_insert(before(s, t) ? &t->left : &t->right, s);
		renew(t);
		return;
	}
	part(t, s, &s->left, &s->right);
	renew(s);
	*root = s;
}

void krt_span_remove(struct krt_span **root, struct krt_span *s)
{
	struct krt_span *t = *root;

	KRT_SPAN_STEP();
	if (!t)
		return;
	if (t == s) {
		*root = join(s->left, s->right);
		return;
	}
	krt_span_remove(before(s, t) ? &t->left : &t->right, s);
	renew(t);
}

struct krt_span *krt_span_next(struct krt_span *t, uint64_t lo, uint64_t hi,
			       const struct krt_span *after)
{
	struct krt_span *found;

	while (t && t->max > lo) {
		KRT_SPAN_STEP();
		if (!after || before(after, t)) {
			found = krt_span_next(t->left, lo, hi, after);
			if (found)
				return found;
			if (t->lo < hi && t->hi > lo)
				return t;
		}
		if (t->lo >= hi)
			return NULL;
		t = t->right;
	}
	return NULL;
}
