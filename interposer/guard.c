/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages that operations in flight use, and their protection.
 *
 * Segments: ascending, disjoint, whole pages.  Each counts the operations that
 * read, write or may write it; what the CPU may do follows from the counts, but
 * for what it was seen to do already: then the pages are open until nothing in
 * flight uses them any more.  A segment without operations is no segment.
 *
 * All under krt_host_lock, but for krt_guard_near: the hull of all segments, which
 * only ever grows while there are any.
 */
#include "host.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SEGMENTS 65536

enum { OPEN, READ_ONLY, CLOSED }; /* what the CPU may do, least last */

struct segment {
	uint64_t lo, hi;
	uint32_t use[3];   /* by enum krt_guard_use */
	uint8_t is;        /* as the kernel has it */
	uint8_t allowed;   /* OPEN: touched and told; READ_ONLY: read and told; CLOSED: nothing yet */
	bool readonly;     /* to the program at all times */
	bool lent;         /* to the driver, until the next call returns */
	bool refused;      /* the kernel would not have it protected */
};
static struct segment *seg;
static unsigned nsegs;
static _Atomic unsigned nlent;
static uint64_t dirty_lo = UINT64_MAX, dirty_hi; /* counts changed in here */
static _Atomic uint64_t hull_lo = UINT64_MAX, hull_hi;
static _Atomic uint64_t ever_lo = UINT64_MAX, ever_hi; /* the same, since the beginning */

/* The first segment that ends behind addr. */
static unsigned from(uint64_t addr)
{
	unsigned lo = 0, hi = nsegs;

	while (lo < hi) {
		unsigned mid = (lo + hi) / 2;

		if (seg[mid].hi <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static bool insert(unsigned at, const struct segment *s)
{
	struct segment copy = *s;

	if (!seg)
		seg = krt_map(SEGMENTS * sizeof *seg);
	if (!seg || nsegs == SEGMENTS)
		return false;
	__builtin_memmove(&seg[at + 1], &seg[at], (nsegs - at) * sizeof *seg);
	seg[at] = copy;
	nsegs++;
	return true;
}

/* Makes addr a border, where it lies inside a segment. */
static bool split(uint64_t addr)
{
	unsigned i = from(addr);
	struct segment upper;

	if (i == nsegs || seg[i].lo >= addr)
		return true;
	upper = seg[i];
	upper.lo = addr;
	if (!insert(i + 1, &upper))
		return false;
	seg[i].hi = addr;
	return true;
}

static void widen(_Atomic uint64_t *from_lo, _Atomic uint64_t *to_hi, uint64_t lo, uint64_t hi)
{
	if (lo < atomic_load_explicit(from_lo, memory_order_relaxed))
		atomic_store_explicit(from_lo, lo, memory_order_release);
	if (hi > atomic_load_explicit(to_hi, memory_order_relaxed))
		atomic_store_explicit(to_hi, hi, memory_order_release);
}

static void hull(uint64_t lo, uint64_t hi)
{
	widen(&hull_lo, &hull_hi, lo, hi);
	widen(&ever_lo, &ever_hi, lo, hi);
}

/* Segments went. */
static void hull_renew(void)
{
	if (nsegs)
		return;
	atomic_store_explicit(&hull_hi, 0, memory_order_release);
	atomic_store_explicit(&hull_lo, UINT64_MAX, memory_order_release);
}

bool krt_guard_near(uint64_t lo, uint64_t hi)
{
	return lo < atomic_load_explicit(&hull_hi, memory_order_acquire) &&
	       hi > atomic_load_explicit(&hull_lo, memory_order_acquire);
}

bool krt_guard_ever(uint64_t lo, uint64_t hi)
{
	return lo < atomic_load_explicit(&ever_hi, memory_order_acquire) &&
	       hi > atomic_load_explicit(&ever_lo, memory_order_acquire);
}

static uint8_t wanted(const struct segment *s)
{
	uint8_t w = s->use[KRT_GUARD_WRITES] || s->use[KRT_GUARD_MAY_WRITE] ? CLOSED
		    : s->use[KRT_GUARD_READS]				     ? READ_ONLY
									     : OPEN;

	if (s->refused || s->lent)
		return OPEN;
	return s->allowed < w ? s->allowed : w;
}

/* By system call: the C library's name is a wrapper of ours. */
static bool protect(uint64_t lo, uint64_t hi, uint8_t state, bool readonly)
{
	int prot = state == CLOSED ? PROT_NONE : state == READ_ONLY || readonly ? PROT_READ : PROT_READ | PROT_WRITE;

	return !syscall(SYS_mprotect, lo, hi - lo, prot);
}

static void dirty(uint64_t lo, uint64_t hi)
{
	dirty_lo = lo < dirty_lo ? lo : dirty_lo;
	dirty_hi = hi > dirty_hi ? hi : dirty_hi;
}

void krt_guard_add(uint64_t lo, uint64_t hi, enum krt_guard_use use, bool readonly)
{
	unsigned i;

	if (lo >= hi)
		return;
	if (!split(lo) || !split(hi)) {
		krt_host_account(KRT_ACCOUNT_ROOM, hi - lo);
		return;
	}
	hull(lo, hi);
	dirty(lo, hi);
	for (i = from(lo); lo < hi; i++) {
		uint64_t end = i < nsegs && seg[i].lo < hi ? seg[i].lo : hi;

		if (lo < end) { /* a gap */
			struct segment s = { .lo = lo, .hi = end, .is = OPEN, .allowed = CLOSED, .readonly = readonly };

			if (!insert(i, &s)) {
				krt_host_account(KRT_ACCOUNT_ROOM, end - lo);
				return;
			}
		}
		seg[i].use[use]++;
		if (seg[i].allowed == OPEN && !seg[i].refused) /* a new operation is watched anew */
			seg[i].allowed = CLOSED;
		krt_host_account(KRT_ACCOUNT_WATCHED, seg[i].hi - seg[i].lo);
		lo = seg[i].hi;
	}
}

void krt_guard_remove(uint64_t lo, uint64_t hi, enum krt_guard_use use)
{
	if (lo >= hi)
		return;
	split(lo);
	split(hi);
	for (unsigned i = from(lo); i < nsegs && seg[i].lo < hi; i++)
		if (seg[i].use[use])
			seg[i].use[use]--;
	dirty(lo, hi);
}

static bool unused(const struct segment *s)
{
	return !s->use[KRT_GUARD_READS] && !s->use[KRT_GUARD_WRITES] && !s->use[KRT_GUARD_MAY_WRITE];
}

static bool alike(const struct segment *a, const struct segment *b)
{
	return a->hi == b->lo && a->is == b->is && a->allowed == b->allowed && a->readonly == b->readonly &&
	       a->refused == b->refused && a->lent == b->lent && a->use[0] == b->use[0] && a->use[1] == b->use[1] && a->use[2] == b->use[2];
}

/* One call of the kernel for neighbours that change alike. */
static void apply(unsigned *at)
{
	unsigned i = *at, k;
	uint8_t w = wanted(&seg[i]);

	for (k = i + 1; k < nsegs && seg[k].lo == seg[k - 1].hi && seg[k].is == seg[i].is &&
			seg[k].readonly == seg[i].readonly && wanted(&seg[k]) == w;)
		k++;
	*at = k;
	if (w == seg[i].is)
		return;
	if (protect(seg[i].lo, seg[k - 1].hi, w, seg[i].readonly)) {
		for (; i < k; i++)
			seg[i].is = w;
		return;
	}
	/* huge pages, memory that is gone: the part before it may have changed */
	protect(seg[i].lo, seg[k - 1].hi, OPEN, seg[i].readonly);
	for (; i < k; i++) {
		krt_host_account(KRT_ACCOUNT_UNPROTECTED, seg[i].hi - seg[i].lo);
		seg[i].is = OPEN;
		seg[i].refused = true;
	}
}

void krt_guard_apply(void)
{
	unsigned first, n, i;

	if (dirty_lo >= dirty_hi)
		return;
	first = from(dirty_lo);
	for (i = first; i < nsegs && seg[i].lo < dirty_hi;)
		apply(&i);
	/* i: behind what may have changed; its neighbours may be like it now */
	i += i < nsegs;
	n = first -= first > 0;
	for (unsigned k = first; k < i; k++) {
		if (unused(&seg[k]))
			continue;
		if (n > first && alike(&seg[n - 1], &seg[k]))
			seg[n - 1].hi = seg[k].hi;
		else
			seg[n++] = seg[k];
	}
	if (n != i)
		__builtin_memmove(&seg[n], &seg[i], (nsegs - i) * sizeof *seg);
	nsegs -= i - n;
	dirty_lo = UINT64_MAX;
	dirty_hi = 0;
	hull_renew();
}

uint64_t krt_guard_bytes(uint64_t lo, uint64_t hi)
{
	uint64_t n = 0;

	for (unsigned i = from(lo); i < nsegs && seg[i].lo < hi; i++)
		n += (seg[i].hi < hi ? seg[i].hi : hi) - (seg[i].lo > lo ? seg[i].lo : lo);
	return n;
}

void krt_guard_drop(uint64_t lo, uint64_t hi)
{
	unsigned i, k;

	split(lo);
	split(hi);
	i = k = from(lo);
	for (; k < nsegs && seg[k].lo < hi; k++)
		if (seg[k].is != OPEN)
			protect(seg[k].lo, seg[k].hi, OPEN, seg[k].readonly);
	__builtin_memmove(&seg[i], &seg[k], (nsegs - k) * sizeof *seg);
	nsegs -= k - i;
	hull_renew();
}

bool krt_guard_closed(uint64_t lo, uint64_t hi, bool write, uint64_t *end)
{
	unsigned i = from(lo);
	bool closed;

	if (i == nsegs || seg[i].lo > lo) {
		*end = i < nsegs && seg[i].lo < hi ? seg[i].lo : hi;
		return false;
	}
	closed = seg[i].is == CLOSED || (seg[i].is == READ_ONLY && write && !seg[i].readonly);
	*end = seg[i].hi < hi ? seg[i].hi : hi;
	return closed;
}

void krt_guard_open_pages(uint64_t lo, uint64_t hi, bool write)
{
	split(lo);
	split(hi);
	for (unsigned i = from(lo); i < nsegs && seg[i].lo < hi; i++) {
		/* a read where the operation only may write: a later write is still to be met */
		uint8_t to = !write && !seg[i].use[KRT_GUARD_WRITES] ? READ_ONLY : OPEN;

		if (to < seg[i].allowed)
			seg[i].allowed = to;
	}
	dirty(lo, hi);
	krt_guard_apply();
}

void krt_guard_lend(uint64_t lo, uint64_t hi)
{
	split(lo);
	split(hi);
	for (unsigned i = from(lo); i < nsegs && seg[i].lo < hi; i++) {
		seg[i].lent = true;
		nlent++;
	}
	dirty(lo, hi);
	krt_guard_apply();
}

bool krt_guard_lent(void)
{
	return atomic_load_explicit(&nlent, memory_order_relaxed) != 0;
}

void krt_guard_take_back(void)
{
	if (!nlent)
		return;
	nlent = 0;
	for (unsigned i = 0; i < nsegs; i++)
		if (seg[i].lent) {
			seg[i].lent = false;
			dirty(seg[i].lo, seg[i].hi);
		}
}
