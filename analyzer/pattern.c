/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns under numbers.  See pattern.h. */
#include "pattern.h"
#include "mix.h"

#define PIECES_MAX 512 /* looked at one by one */

/* Do its rows say anything?  Where they touch, pieces may begin anew with each. */
static bool has_rows(const struct krt_pattern *p)
{
	return p->rows > 1 &&
	       (p->pitch > p->row || (p->stride > p->width && p->pitch % p->stride));
}

/* The first place from x on, or x itself, that is a multiple of step from at. */
static uint64_t start_from(uint64_t x, uint64_t at, uint64_t step)
{
	uint64_t d = x >= at ? (x - at) % step : (step - (at - x) % step) % step;

	return d ? x + (step - d) : x;
}

/* The first byte of [x, end) that is in p, or end. */
static uint64_t first_of(const struct krt_pattern *p, uint64_t x, uint64_t end)
{
	bool rows = has_rows(p), pieces = p->stride > p->width;
	uint64_t row = p->at, next;

	if (end > p->hi)
		end = p->hi;
	if (x < p->lo)
		x = p->lo;
	while (x < end) {
		if (rows) {
			next = start_from(x, p->at, p->pitch);
			row = next == x ? x : next - p->pitch;
			if (next != x && x - row >= p->row) { /* behind its row */
				x = next;
				continue;
			}
		}
		if (!pieces)
			return x;
		next = start_from(x, row, p->stride);
		if (next == x || x - (next - p->stride) < p->width)
			return x;
		if (!rows || next - row < p->row)
			return next < end ? next : end;
		x = row + p->pitch;
	}
	return end;
}

/* One past the last of the bytes from x on, which is in p, that are in it without a gap. */
static uint64_t end_of(const struct krt_pattern *p, uint64_t x)
{
	bool rows = has_rows(p), pieces = p->stride > p->width;
	uint64_t row = p->at, end = p->hi, next;

	if (rows) {
		next = start_from(x, p->at, p->pitch);
		row = next == x ? x : next - p->pitch;
		if (row + p->row < end)
			end = row + p->row;
	}
	if (pieces) {
		next = start_from(x, row, p->stride);
		next = next == x ? x : next - p->stride;
		if (next + p->width < end)
			end = next + p->width;
	}
	return end;
}

/* Goes through the bytes of both, as far as that is quickly done. */
static enum { SHARED, APART, LONG } compare(const struct krt_pattern *a, const struct krt_pattern *b)
{
	uint64_t end = a->hi < b->hi ? a->hi : b->hi, x = a->lo > b->lo ? a->lo : b->lo, y;

	for (unsigned i = 0; i < PIECES_MAX && x < end; i++) {
		x = first_of(a, x, end);
		if (x >= end)
			break;
		y = first_of(b, x, end);
		if (y < end_of(a, x) && y < end)
			return SHARED;
		x = y;
	}
	/* of rows that overlap only the latest was looked at */
	return x < end || (has_rows(a) && a->row > a->pitch) || (has_rows(b) && b->row > b->pitch)
		       ? LONG
		       : APART;
}

bool krt_pattern_share(const struct krt_pattern *a, const struct krt_pattern *b)
{
	return compare(a, b) == SHARED;
}

bool krt_patterns_meet(const struct krt_pattern *a, const struct krt_pattern *b)
{
	return krt_pattern_meet(a, b) && compare(a, b) != APART;
}

struct krt_pattern_entry {
	/* rows: pitch, row, phase of a row's start; else of a piece's, modulo stride */
	uint64_t pitch, row, stride, width, phase;
	uint32_t next; /* of the same hash, or free */
	bool met;
};

static unsigned hash(const struct krt_pattern_entry *x)
{
	uint64_t h = krt_mix(krt_mix(krt_mix(0, x->pitch), x->row), x->stride);

	return krt_mix(krt_mix(h, x->width), x->phase) >> 40 & 255;
}

static bool same(const struct krt_pattern_entry *a, const struct krt_pattern_entry *b)
{
	return a->pitch == b->pitch && a->row == b->row && a->stride == b->stride &&
	       a->width == b->width && a->phase == b->phase;
}

uint16_t krt_pattern_id(struct krt_heap *h, struct krt_patterns *t, const struct krt_pattern *p)
{
	struct krt_pattern_entry x = {0};
	uint32_t id;
	unsigned k;

	if (!krt_pattern_gaps(p))
		return 0;
	if (has_rows(p)) {
		x.pitch = p->pitch;
		x.row = p->row;
	}
	if (p->stride > p->width) {
		x.stride = p->stride;
		x.width = p->width;
	}
	x.phase = p->at % (x.pitch ? x.pitch : x.stride);
	k = hash(&x);
	for (id = t->first[k]; id; id = t->entry[id].next)
		if (same(&t->entry[id], &x))
			return (uint16_t)id;
	if (t->free) {
		id = t->free;
		t->free = t->entry[id].next;
	} else {
		if (!t->n)
			t->n = 1;
		if (t->n >= KRT_PATTERNS_MAX ||
		    !krt_heap_grow(h, &t->entry, &t->cap, t->n, sizeof(*t->entry)))
			return KRT_PATTERN_LOST;
		id = t->n++;
	}
	x.next = t->first[k];
	t->entry[id] = x;
	t->first[k] = id;
	return (uint16_t)id;
}

bool krt_pattern_of(const struct krt_patterns *t, uint16_t id, uint64_t lo, uint64_t hi,
		    struct krt_pattern *p)
{
	const struct krt_pattern_entry *x;
	uint64_t step;

	*p = krt_pattern_solid(lo, hi);
	if (!id)
		return true;
	if (id == KRT_PATTERN_LOST || id >= t->n)
		return false;
	x = &t->entry[id];
	step = x->pitch ? x->pitch : x->stride;
	/* some start: which one does not matter to what is endless */
	p->at = lo % step <= x->phase ? lo - lo % step + x->phase
				      : lo - lo % step + step + x->phase;
	if (x->pitch) {
		p->pitch = x->pitch;
		p->row = x->row;
		p->rows = UINT64_MAX;
	}
	p->stride = p->width = p->row;
	if (x->stride) {
		p->stride = x->stride;
		p->width = x->width;
	}
	return true;
}

void krt_patterns_unmark(struct krt_patterns *t)
{
	for (uint32_t i = 1; i < t->n; i++)
		t->entry[i].met = false;
}

void krt_pattern_mark(struct krt_patterns *t, uint16_t id)
{
	if (id && id < t->n)
		t->entry[id].met = true;
}

void krt_patterns_sweep(struct krt_patterns *t)
{
	for (unsigned k = 0; k < 256; k++)
		for (uint32_t *at = &t->first[k], id; (id = *at);) {
			struct krt_pattern_entry *x = &t->entry[id];

			if (x->met) {
				at = &x->next;
				continue;
			}
			*at = x->next;
			x->next = t->free;
			t->free = id;
		}
}

void krt_patterns_free(struct krt_heap *h, struct krt_patterns *t)
{
	krt_heap_free(h, t->entry, t->cap * sizeof(*t->entry));
}
