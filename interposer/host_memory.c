/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pinned, registered and managed memory of the process, by address: which pages
 * hold bytes of one allocation and of nothing else.
 *
 * The driver gives pinned and managed memory whole pages as far as no other of its
 * allocations lies in them; around registered memory there may be anything.  Under
 * krt_host_lock.
 */
#include "graphs.h"
#include "host.h"

#define RANGES_MIN 1024
#define PAGE       4096ull
#define PARTS      64 /* mappings under one registration that are looked at */

static struct krt_host_range *range; /* ascending, disjoint */
static unsigned nranges, room, managed, shifted;

static unsigned place(uint64_t addr)
{
	unsigned lo = 0, hi = nranges;

	while (lo < hi) {
		unsigned mid = (lo + hi) / 2;

		if (range[mid].end <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

const struct krt_host_range *krt_host_from(uint64_t addr)
{
	unsigned i = place(addr);

	return i < nranges ? &range[i] : NULL;
}

bool krt_host_any_managed(void)
{
	return managed != 0;
}

static bool grow(void)
{
	unsigned n = room ? room * 2 : RANGES_MIN;
	struct krt_host_range *p = krt_map(n * sizeof *p);

	if (!p)
		return false;
	if (range) {
		__builtin_memcpy(p, range, nranges * sizeof *p);
		krt_unmap(range, room * sizeof *p);
	}
	range = p;
	room = n;
	return true;
}

static void take_out(unsigned i)
{
	managed -= range[i].kind == KRT_HOST_MANAGED;
	shifted -= range[i].shift != 0;
	__builtin_memmove(&range[i], &range[i + 1], (--nranges - i) * sizeof *range);
}

/* A part that may not be written: then none of it is ever made writable. */
static bool is_readonly(uint64_t lo, uint64_t hi)
{
	bool writable = true;

	for (unsigned i = 0; lo < hi && i < PARTS; i++) {
		uint64_t from;

		if (!krt_mapping_of(lo, &from, &lo, &writable))
			return true;
		if (!writable)
			return true;
	}
	return lo < hi;
}

void krt_host_born(uint64_t base, uint64_t len, enum krt_host_kind kind)
{
	unsigned i = place(base);

	if (!base || !len || base + len < base)
		return;
	while (i < nranges && range[i].base < base + len) /* its end was not seen */
		take_out(i);
	if (nranges == room && !grow()) {
		krt_host_account(KRT_ACCOUNT_ROOM, len);
		return;
	}
	__builtin_memmove(&range[i + 1], &range[i], (nranges++ - i) * sizeof *range);
	range[i] = (struct krt_host_range){ .base = base, .end = base + len, .kind = (uint8_t)kind,
					     .readonly = krt_guarding() && kind == KRT_HOST_REGISTERED &&
							 is_readonly(base, base + len) };
	managed += kind == KRT_HOST_MANAGED;
}

void krt_host_alias(uint64_t host, uint64_t device)
{
	unsigned i = place(host);
	int64_t shift = (int64_t)(host - device);

	if (!shift || i == nranges || range[i].base > host || range[i].shift)
		return;
	const struct krt_host_range r = range[i];

	krt_host_born(r.base - (uint64_t)shift, r.end - r.base, r.kind);
	i = place(device);
	if (i < nranges && range[i].base == r.base - (uint64_t)shift) {
		range[i].shift = shift;
		shifted++;
	}
}

void krt_host_gone(uint64_t base)
{
	unsigned i = place(base);

	if (i == nranges || range[i].base != base)
		return;
	take_out(i);
	for (i = 0; shifted && i < nranges; i++) /* its second address; few have one */
		if (range[i].shift && range[i].base + (uint64_t)range[i].shift == base)
			take_out(i--);
}

void krt_host_forget(void)
{
	nranges = managed = shifted = 0;
}

/* Few: a program that protects its own pinned memory, or gives it to a network card. */
#define EXEMPT 256
static struct {
	uint64_t lo, hi;
} exempt[EXEMPT];
static unsigned nexempt;

static void exempt_add(uint64_t lo, uint64_t hi)
{
	if (nexempt == EXEMPT) { /* so many: nothing is protected any more */
		lo = 0;
		hi = UINT64_MAX;
		nexempt = 0;
	}
	exempt[nexempt].lo = lo;
	exempt[nexempt++].hi = hi;
}

void krt_host_set_exempt(uint64_t lo, uint64_t hi, bool on)
{
	uint64_t behind = 0, end = 0;
	unsigned n = 0;

	lo &= ~(PAGE - 1);
	hi = hi > UINT64_MAX - PAGE ? hi : (hi + PAGE - 1) & ~(PAGE - 1);
	for (unsigned i = 0; i < nexempt; i++) { /* what lies outside of it stays as it was said */
		uint64_t a = exempt[i].lo, b = exempt[i].hi;

		if (b <= lo || a >= hi) {
			exempt[n].lo = a;
			exempt[n++].hi = b;
			continue;
		}
		if (a < lo) {
			exempt[n].lo = a;
			exempt[n++].hi = lo;
		}
		if (b > hi && n <= i) {
			exempt[n].lo = hi;
			exempt[n++].hi = b;
		} else if (b > hi) { /* a hole: the part behind it becomes the last */
			behind = hi;
			end = b;
		}
	}
	nexempt = n;
	if (behind < end)
		exempt_add(behind, end);
	if (on)
		exempt_add(lo, hi);
}

static bool is_exempt(uint64_t lo, uint64_t hi)
{
	for (unsigned i = 0; i < nexempt; i++)
		if (exempt[i].lo < hi && exempt[i].hi > lo)
			return true;
	return false;
}

enum krt_host_account krt_host_pages(const struct krt_host_range *r, uint64_t *lo, uint64_t *hi)
{
	unsigned i = (unsigned)(r - range);
	uint64_t first = *lo & ~(PAGE - 1), last = (*hi + PAGE - 1) & ~(PAGE - 1);
	bool own = r->kind != KRT_HOST_REGISTERED;

	if (first < *lo && (!own || *lo > r->base || (i && range[i - 1].end > first)))
		first += PAGE;
	if (last > *hi && (!own || *hi < r->end || (i + 1 < nranges && range[i + 1].base < last)))
		last -= PAGE;
	if (nexempt && is_exempt(first, last)) {
		*hi = *lo;
		return KRT_ACCOUNT_KERNEL;
	}
	*lo = first;
	*hi = last > first ? last : first;
	return KRT_ACCOUNT_SHARED;
}
