/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The free family (heap.h): host memory that goes away while an asynchronous
 * operation may still use it.
 *
 * Cost: one relaxed load while nothing is pending or held.  Else a block is looked
 * up in the two sorted sets without a lock; only a block that overlaps a range is
 * recorded.
 *
 * Order of record and call.  free, munmap: the record is made before the call,
 * after which another thread may get the same bytes and enqueue work on them.
 * realloc, mremap: whether the old bytes end is known only afterwards, so the
 * record is made after the call, and while it runs the range is in transit:
 * krt_heap_note() of an overlapping range waits for it.  So a record of the
 * bytes' next use can never come before the record of their end.
 *
 * Invariants of a set: base[] ascends; top[i] is the highest end of the ranges
 * 0..i, so that "is there a range that overlaps [lo, hi)" is one binary search.
 * Written under set_lock, read under the sequence count seq; a reader that does not
 * get a stable view says yes.  A range goes from held to pending by being in both
 * for a while.
 *
 * Nothing here allocates; the wrappers work before libc is up, inside malloc
 * replacements and in fork children.  errno is the program's.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "heap.h"
#include "host.h"
#include "internal.h"
#include "modules.h"
#include "next.h"
#include "ownlock.h"

#define RANGES_MAX 4096 /* of each set */
#define HOLDERS    1024
#define TRANSITS   16
#define DEVICE_MAX 4096
#define EXPORT     __attribute__((visibility("default")))

/* Ranges, ascending by base. */
struct set {
	_Atomic uint64_t base[RANGES_MAX], top[RANGES_MAX];
	uint64_t end[RANGES_MAX];
	uint64_t key[RANGES_MAX];  /* flying: stream; held: holder, KRT_HEAP_ALL: several, for good */
	uint64_t what[RANGES_MAX]; /* flying: when it was noted; held: node, 0: several */
	_Atomic unsigned n;
	_Atomic unsigned seq;      /* odd: being changed */
};
static struct set flying, held;
static _Atomic unsigned pending; /* ranges in both: what the wrappers look at first */
static _Atomic uint64_t notes;
static struct krt_ownlock set_lock;

/* Executables that hold something, and where they were launched. */
static struct {
	_Atomic uint64_t id;     /* 0: free */
	_Atomic uint64_t stream; /* 0: never launched, KRT_HEAP_ALL: on several */
} holders[HOLDERS];
static _Atomic unsigned nholders;

/* The driver's own memory, ascending, disjoint; under device_lock, read under device_seq. */
static struct {
	_Atomic uint64_t base, end;
} device[DEVICE_MAX];
static _Atomic unsigned ndevice, device_seq;
static struct krt_ownlock device_lock;

/* Old ranges of realloc and mremap calls in progress. */
static struct {
	_Atomic uint64_t lo, hi; /* hi 0: free */
} transit[TRANSITS];
static _Atomic unsigned transits;

struct thread {
	bool inside; /* a wrapper is recording: its own calls pass */
};
static __thread struct thread tls __attribute__((tls_model("initial-exec")));

/* ---- the set ------------------------------------------------------------------------- */

static uint64_t get(_Atomic uint64_t *v)
{
	return atomic_load_explicit(v, memory_order_relaxed);
}

static void put(_Atomic uint64_t *v, uint64_t x)
{
	atomic_store_explicit(v, x, memory_order_relaxed);
}

static unsigned count(struct set *s)
{
	return atomic_load_explicit(&s->n, memory_order_relaxed);
}

static void write_begin(struct set *s)
{
	atomic_store_explicit(&s->seq, atomic_load_explicit(&s->seq, memory_order_relaxed) + 1,
			      memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
}

static void write_end(struct set *s, unsigned n)
{
	atomic_store_explicit(&s->n, n, memory_order_relaxed);
	atomic_store_explicit(&pending, count(&flying) + count(&held), memory_order_relaxed);
	atomic_store_explicit(&s->seq, atomic_load_explicit(&s->seq, memory_order_relaxed) + 1,
			      memory_order_release);
}

/* Number of ranges that begin before addr, of n. */
static unsigned below(struct set *s, uint64_t addr, unsigned n)
{
	unsigned lo = 0, hi = n;

	while (lo < hi) {
		unsigned mid = (lo + hi) / 2;

		if (get(&s->base[mid]) < addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static bool set_overlaps(struct set *s, uint64_t lo, uint64_t hi)
{
	for (unsigned tries = 0; tries < 1000; tries++) {
		unsigned seq = atomic_load_explicit(&s->seq, memory_order_acquire), i;
		bool hit;

		if (seq & 1) {
			krt_cpu_relax();
			continue;
		}
		i = below(s, hi, count(s));
		hit = i > 0 && get(&s->top[i - 1]) > lo;
		atomic_thread_fence(memory_order_acquire);
		if (atomic_load_explicit(&s->seq, memory_order_relaxed) == seq)
			return hit;
	}
	return true;
}

/* held first: what leaves it is in flying by then. */
static bool overlaps(uint64_t lo, uint64_t hi)
{
	return set_overlaps(&held, lo, hi) || set_overlaps(&flying, lo, hi);
}

/* Recompute top[] from i on.  Under set_lock. */
static void raise_tops(struct set *s, unsigned i, unsigned n)
{
	uint64_t high = i ? get(&s->top[i - 1]) : 0;

	for (; i < n; i++) {
		high = s->end[i] > high ? s->end[i] : high;
		put(&s->top[i], high);
	}
}

static void move(struct set *s, unsigned to, unsigned from)
{
	put(&s->base[to], get(&s->base[from]));
	s->end[to] = s->end[from];
	s->key[to] = s->key[from];
	s->what[to] = s->what[from];
}

/* Two ranges become one. */
static void merge(struct set *s, unsigned to, unsigned from)
{
	bool same = s->key[to] == s->key[from];

	s->end[to] = s->end[from] > s->end[to] ? s->end[from] : s->end[to];
	if (s == &held)
		s->what[to] = s->what[to] == s->what[from] ? s->what[to] : 0;
	else
		s->what[to] = s->what[from] > s->what[to] ? s->what[from] : s->what[to];
	if (!same)
		s->key[to] = KRT_HEAP_ALL; /* only a wait for all ends it */
}

/*
 * Full: join the ranges that lie close to each other, with ever larger gaps
 * between them, until a quarter is free.  Hulls are too large, and stay longer.
 */
static unsigned join(struct set *s, unsigned n)
{
	unsigned k = n;

	for (uint64_t gap = 4096; k > RANGES_MAX * 3 / 4; gap *= 4) {
		n = k;
		k = 0;
		for (unsigned i = 1; i < n; i++) {
			uint64_t next = get(&s->base[i]);

			if (next > s->end[k] && next - s->end[k] > gap)
				move(s, ++k, i);
			else
				merge(s, k, i);
		}
		k++;
	}
	raise_tops(s, 0, k);
	return k;
}

/* A free place for a range that begins at lo.  Between write_begin and write_end(n + 1). */
static unsigned make_place(struct set *s, uint64_t lo, unsigned *n)
{
	unsigned i;

	if (*n == RANGES_MAX)
		*n = join(s, *n);
	i = below(s, lo, *n);
	for (unsigned j = *n; j > i; j--)
		move(s, j, j - 1);
	return i;
}

static void insert(struct set *s, uint64_t lo, uint64_t hi, uint64_t key, uint64_t node)
{
	unsigned n = count(s), i;

	/* a staging buffer that is used again and again is one range */
	for (unsigned j = below(s, lo, n); j < n && get(&s->base[j]) == lo; j++) {
		if (s->end[j] != hi || s->key[j] != key)
			continue;
		if (s == &flying)
			s->what[j] = atomic_fetch_add_explicit(&notes, 1, memory_order_relaxed) + 1;
		else if (s->what[j] != node)
			s->what[j] = 0;
		return;
	}
	write_begin(s);
	i = make_place(s, lo, &n);
	put(&s->base[i], lo);
	s->end[i] = hi;
	s->key[i] = key;
	s->what[i] = s == &held ? node : atomic_fetch_add_explicit(&notes, 1, memory_order_relaxed) + 1;
	raise_tops(s, i, n + 1);
	write_end(s, n + 1);
}

/* Takes out the ranges that gone says yes to.  Under set_lock. */
static void take_out(struct set *s, bool (*gone)(unsigned i, uint64_t a, uint64_t b), uint64_t a, uint64_t b)
{
	unsigned n = count(s), k = 0, first;

	while (k < n && !gone(k, a, b))
		k++;
	first = k;
	if (k == n)
		return;
	write_begin(s);
	for (unsigned i = k; i < n; i++)
		if (!gone(i, a, b))
			move(s, k++, i);
	raise_tops(s, first, k);
	write_end(s, k);
}

/* ---- the driver's memory ---------------------------------------------------------------- */

/* Number of device ranges that begin at or below addr. */
static unsigned device_upto(uint64_t addr)
{
	unsigned lo = 0, hi = atomic_load_explicit(&ndevice, memory_order_relaxed);

	while (lo < hi) {
		unsigned mid = (lo + hi) / 2;

		if (get(&device[mid].base) <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static bool on_device(uint64_t lo, uint64_t hi)
{
	for (unsigned tries = 0; tries < 1000; tries++) {
		unsigned seq = atomic_load_explicit(&device_seq, memory_order_acquire), i;
		bool in;

		if (seq & 1) {
			krt_cpu_relax();
			continue;
		}
		i = device_upto(lo);
		in = i > 0 && hi <= get(&device[i - 1].end);
		atomic_thread_fence(memory_order_acquire);
		if (atomic_load_explicit(&device_seq, memory_order_relaxed) == seq)
			return in;
	}
	return false;
}

bool krt_heap_is_device(uint64_t lo, uint64_t hi)
{
	return on_device(lo, hi);
}

static void device_change(int by)
{
	unsigned seq = atomic_load_explicit(&device_seq, memory_order_relaxed);

	if (by)
		atomic_store_explicit(&ndevice, atomic_load_explicit(&ndevice, memory_order_relaxed) + by,
				      memory_order_relaxed);
	if (!(seq & 1)) {
		atomic_store_explicit(&device_seq, seq + 1, memory_order_relaxed);
		atomic_thread_fence(memory_order_release);
	} else {
		atomic_store_explicit(&device_seq, seq + 1, memory_order_release);
	}
}

static void device_move(unsigned to, unsigned from)
{
	put(&device[to].base, get(&device[from].base));
	put(&device[to].end, get(&device[from].end));
}

/* Take [from, to) out of device[].  Under device_lock. */
static void device_cut(unsigned from, unsigned to)
{
	unsigned n = atomic_load_explicit(&ndevice, memory_order_relaxed);

	if (from >= to)
		return;
	device_change(0);
	for (unsigned i = to; i < n; i++)
		device_move(from + i - to, i);
	device_change((int)from - (int)to);
}

void krt_heap_device(uint64_t lo, uint64_t len)
{
	unsigned from, to, n;

	if (!lo || !len || lo + len < lo || !krt_ownlock_take(&device_lock, &tls))
		return;
	/* what it overlaps was freed where we did not see it */
	to = device_upto(lo + len - 1);
	from = device_upto(lo);
	if (from > 0 && get(&device[from - 1].end) > lo)
		from--;
	device_cut(from, to);
	n = atomic_load_explicit(&ndevice, memory_order_relaxed);
	if (n < DEVICE_MAX) {
		device_change(0);
		for (unsigned i = n; i > from; i--)
			device_move(i, i - 1);
		put(&device[from].base, lo);
		put(&device[from].end, lo + len);
		device_change(1);
	}
	krt_ownlock_drop(&device_lock);
}

void krt_heap_device_gone(uint64_t lo)
{
	unsigned i;

	if (!atomic_load_explicit(&ndevice, memory_order_relaxed))
		return;
	if (!krt_ownlock_take(&device_lock, &tls)) {
		krt_trouble(KRT_TROUBLE_INTERNAL);
		return;
	}
	i = device_upto(lo);
	if (!lo)
		device_cut(0, atomic_load_explicit(&ndevice, memory_order_relaxed));
	else if (i > 0 && get(&device[i - 1].base) == lo)
		device_cut(i - 1, i);
	krt_ownlock_drop(&device_lock);
}

/* ---- notes and waits -------------------------------------------------------------------- */

/* Wait until no realloc or mremap of these bytes is under way. */
static void await_transits(uint64_t lo, uint64_t hi)
{
	for (unsigned i = 0; i < TRANSITS; i++) {
		for (unsigned naps = 0; naps < KRT_OWNLOCK_NAPS; naps++) {
			uint64_t a = get(&transit[i].lo);
			uint64_t b = atomic_load_explicit(&transit[i].hi, memory_order_acquire);

			if (!b || a >= hi || b <= lo)
				break;
			syscall(SYS_nanosleep, &(struct timespec){ .tv_nsec = 50000 }, NULL);
		}
	}
}

void krt_heap_note(uint64_t lo, uint64_t len, uint64_t stream)
{
	uint64_t hi = lo + len < lo ? UINT64_MAX : lo + len;

	if (!len || on_device(lo, hi))
		return;
	if (!krt_ownlock_take(&set_lock, &tls)) {
		krt_trouble(KRT_TROUBLE_INTERNAL);
		return;
	}
	insert(&flying, lo, hi, stream, 0);
	krt_ownlock_drop(&set_lock);
	if (atomic_load_explicit(&transits, memory_order_acquire))
		await_transits(lo, hi);
}

uint64_t krt_heap_mark(void)
{
	return atomic_load_explicit(&notes, memory_order_acquire);
}

static bool done(unsigned i, uint64_t stream, uint64_t mark)
{
	return flying.what[i] <= mark && (stream == KRT_HEAP_ALL || flying.key[i] == stream);
}

void krt_heap_synced(uint64_t stream, uint64_t mark)
{
	if (!atomic_load_explicit(&flying.n, memory_order_relaxed) || !krt_ownlock_take(&set_lock, &tls))
		return; /* too large is allowed */
	take_out(&flying, done, stream, mark);
	krt_ownlock_drop(&set_lock);
}

/* ---- graphs ----------------------------------------------------------------------------- */

#define PROBES 16 /* a holder is in one of so many places; not there: launched who knows where */

static unsigned probe(uint64_t holder, unsigned i)
{
	return ((unsigned)(holder * 0x9e3779b97f4a7c15ull >> 40) + i) % HOLDERS;
}

static int holder_slot(uint64_t holder)
{
	for (unsigned i = 0; i < PROBES; i++)
		if (get(&holders[probe(holder, i)].id) == holder)
			return (int)probe(holder, i);
	return -1;
}

/* Under set_lock. */
static void holder_add(uint64_t holder)
{
	if (holder_slot(holder) >= 0)
		return;
	for (unsigned i = 0; i < PROBES; i++) {
		unsigned at = probe(holder, i);

		if (get(&holders[at].id))
			continue;
		put(&holders[at].stream, 0);
		put(&holders[at].id, holder);
		atomic_fetch_add(&nholders, 1);
		return;
	}
}

void krt_heap_launched(uint64_t holder, uint64_t stream)
{
	uint64_t was = 0;
	int at;

	if (!atomic_load_explicit(&nholders, memory_order_relaxed) || (at = holder_slot(holder)) < 0)
		return;
	if (get(&holders[at].stream) != stream &&
	    !atomic_compare_exchange_strong(&holders[at].stream, &was, stream) && was != stream)
		put(&holders[at].stream, KRT_HEAP_ALL);
}

void krt_heap_hold(uint64_t lo, uint64_t len, uint64_t holder, uint64_t node)
{
	uint64_t hi = lo + len < lo ? UINT64_MAX : lo + len;

	if (!len || on_device(lo, hi))
		return;
	if (!krt_ownlock_take(&set_lock, &tls)) {
		krt_trouble(KRT_TROUBLE_INTERNAL);
		return;
	}
	insert(&held, lo, hi, holder, node);
	if (holder & 1)
		holder_add(holder);
	krt_ownlock_drop(&set_lock);
	if (atomic_load_explicit(&transits, memory_order_acquire))
		await_transits(lo, hi);
}

static bool released(unsigned i, uint64_t holder, uint64_t node)
{
	if (held.key[i] == KRT_HEAP_ALL)
		return false;
	return (holder ? held.key[i] == holder : !(held.key[i] & 1)) && (!node || held.what[i] == node);
}

void krt_heap_release(uint64_t holder, uint64_t node)
{
	uint64_t stream = KRT_HEAP_ALL;
	int at = -1;

	if (!atomic_load_explicit(&held.n, memory_order_relaxed))
		return;
	if (!krt_ownlock_take(&set_lock, &tls))
		return; /* too large is allowed */
	if (holder & 1) {
		at = holder_slot(holder);
		if (at >= 0)
			stream = get(&holders[at].stream);
		for (unsigned i = 0, n = count(&held); stream && i < n; i++)
			if (released(i, holder, node))
				insert(&flying, get(&held.base[i]), held.end[i], stream, 0);
	}
	take_out(&held, released, holder, node);
	if (at >= 0 && !node) {
		put(&holders[at].id, 0);
		atomic_fetch_sub(&nholders, 1);
	}
	krt_ownlock_drop(&set_lock);
}

uint64_t krt_heap_holder(uint64_t node)
{
	uint64_t holder = 0;

	if (!atomic_load_explicit(&held.n, memory_order_relaxed) || !krt_ownlock_take(&set_lock, &tls))
		return 0;
	for (unsigned i = 0, n = count(&held); !holder && i < n; i++)
		if (held.what[i] == node && !(held.key[i] & 1))
			holder = held.key[i];
	krt_ownlock_drop(&set_lock);
	return holder;
}

void krt_heap_forked(void)
{
	atomic_store(&set_lock.owner, 0);
	atomic_store(&device_lock.owner, 0);
	atomic_store(&ndevice, 0);
	atomic_store(&device_seq, (atomic_load(&device_seq) + 1) & ~1u);
	atomic_store(&pending, 0);
	atomic_store(&flying.n, 0);
	atomic_store(&flying.seq, (atomic_load(&flying.seq) + 1) & ~1u);
	atomic_store(&held.n, 0);
	atomic_store(&held.seq, (atomic_load(&held.seq) + 1) & ~1u);
	for (unsigned i = 0; i < HOLDERS; i++)
		atomic_store(&holders[i].id, 0);
	atomic_store(&nholders, 0);
	for (unsigned i = 0; i < TRANSITS; i++)
		atomic_store(&transit[i].hi, 0);
	atomic_store(&transits, 0);
	tls.inside = false;
}

/* ---- the functions behind the wrappers ------------------------------------------------- */

typedef void free_fn(void *);
typedef void *realloc_fn(void *, size_t);
typedef int munmap_fn(void *, size_t);
typedef void *mremap_fn(void *, size_t, size_t, int, ...);
typedef size_t usable_fn(void *);

/* Found at first use; finding one twice at the same time is harmless. */
static void *next(_Atomic(void *) *slot, const char *name)
{
	void *p = atomic_load_explicit(slot, memory_order_relaxed);

	if (krt_unlikely(!p)) {
		p = krt_next(name);
		atomic_store_explicit(slot, p, memory_order_relaxed);
	}
	return p;
}

static _Atomic(void *) next_free, next_realloc, next_munmap, next_mremap;

/*
 * The size of a block: from the allocator that made it, or 1 (the first byte is
 * certain) when the next free has no malloc_usable_size at its side.
 */
static size_t block_size(void *p)
{
	static _Atomic(void *) usable;
	static const char none;
	void *fn = atomic_load_explicit(&usable, memory_order_relaxed);

	if (krt_unlikely(!fn)) {
		const void *of_free, *of_usable;

		krt_next_in("free", &of_free);
		fn = krt_next_in("malloc_usable_size", &of_usable);
		if (!fn || of_free != of_usable)
			fn = (void *)&none;
		atomic_store_explicit(&usable, fn, memory_order_relaxed);
	}
	return fn == (void *)&none ? 1 : ((usable_fn *)fn)(p);
}

static bool watching(void)
{
	return krt_unlikely(atomic_load_explicit(&pending, memory_order_relaxed)) && !tls.inside &&
	       krt_attached();
}

static void record(unsigned api, uint64_t addr, uint64_t len)
{
	int saved = errno;

	tls.inside = true;
	krt_record_libc(api, addr, len);
	if (krt_host_on())
		krt_host_unmapped(addr, addr + len);
	tls.inside = false;
	errno = saved;
}

static int transit_begin(uint64_t lo, uint64_t hi)
{
	for (int i = 0; i < TRANSITS; i++) {
		uint64_t none = 0;

		/* a point first, so that no reader takes an old lo with the new hi */
		if (!atomic_compare_exchange_strong(&transit[i].hi, &none, 1))
			continue;
		put(&transit[i].lo, lo);
		atomic_store_explicit(&transit[i].hi, hi, memory_order_release);
		atomic_fetch_add(&transits, 1);
		return i;
	}
	return -1; /* so many at once: done without */
}

static void transit_end(int i)
{
	if (i < 0)
		return;
	atomic_fetch_sub(&transits, 1);
	atomic_store_explicit(&transit[i].hi, 0, memory_order_release);
}

/* ---- the wrappers -------------------------------------------------------------------------- */

EXPORT void free(void *p)
{
	free_fn *real = (free_fn *)next(&next_free, "free");

	if (krt_unlikely(!real))
		return; /* no libc: leaked */
	if (p && watching()) {
		uint64_t lo = (uintptr_t)p, len;
		int saved = errno;

		len = block_size(p);
		if (overlaps(lo, lo + len))
			record(KRT_API_free, lo, len);
		errno = saved;
	}
	real(p);
}

EXPORT void *realloc(void *p, size_t size)
{
	realloc_fn *real = (realloc_fn *)next(&next_realloc, "realloc");
	uint64_t lo = (uintptr_t)p, old, now;
	int slot;
	void *q;

	if (krt_unlikely(!real)) {
		errno = ENOMEM;
		return NULL;
	}
	if (!p || !watching())
		return real(p, size);
	old = block_size(p);
	if (!overlaps(lo, lo + old))
		return real(p, size);
	slot = transit_begin(lo, lo + old);
	q = real(p, size);
	if ((uintptr_t)q == lo) {
		now = block_size(q);
		if (now < old)
			record(KRT_API_realloc, lo + now, old - now);
	} else if (q || !size) {
		record(KRT_API_realloc, lo, old);
	}
	transit_end(slot);
	return q;
}

/* libc's own ends in realloc; a malloc replacement's need not. */
EXPORT void *reallocarray(void *p, size_t n, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(p, bytes);
}

static uint64_t whole_pages(uint64_t len)
{
	return (len + 4095) & ~4095ull; /* the smallest pages there are: never too far */
}

EXPORT int munmap(void *addr, size_t len)
{
	munmap_fn *real = (munmap_fn *)next(&next_munmap, "munmap");
	uint64_t lo = (uintptr_t)addr, hi = lo + whole_pages(len);

	if (krt_unlikely(!real))
		return (int)syscall(SYS_munmap, addr, len);
	if (krt_host_on() && len)
		krt_host_unmapped(lo, hi);
	/* a call that the kernel will refuse ends nothing */
	if (watching() && len && !(lo & 4095) && hi > lo && overlaps(lo, hi))
		record(KRT_API_munmap, lo, hi - lo);
	return real(addr, len);
}

EXPORT void *mremap(void *addr, size_t old_len, size_t new_len, int flags, ...)
{
	mremap_fn *real = (mremap_fn *)next(&next_mremap, "mremap");
	uint64_t lo = (uintptr_t)addr, hi = lo + whole_pages(old_len), kept;
	void *target = NULL, *q;
	bool gone, covered;
	va_list ap;
	int slot;

	if (flags & (MREMAP_FIXED | MREMAP_DONTUNMAP)) {
		va_start(ap, flags);
		target = va_arg(ap, void *);
		va_end(ap);
	}
	if (krt_unlikely(!real))
		return (void *)syscall(SYS_mremap, addr, old_len, new_len, flags, target);
	if (krt_host_on()) {
		krt_host_unmapped(lo, hi);
		if (flags & MREMAP_FIXED)
			krt_host_unmapped((uintptr_t)target, (uintptr_t)target + whole_pages(new_len));
	}
	if (!watching())
		return real(addr, old_len, new_len, flags, target);
	gone = old_len && overlaps(lo, hi);
	/* what lay at a fixed target is unmapped first */
	covered = (flags & MREMAP_FIXED) && new_len &&
		  overlaps((uintptr_t)target, (uintptr_t)target + whole_pages(new_len));
	if (!gone && !covered)
		return real(addr, old_len, new_len, flags, target);
	slot = transit_begin(gone ? lo : (uintptr_t)target,
			     gone ? hi : (uintptr_t)target + whole_pages(new_len));
	q = real(addr, old_len, new_len, flags, target);
	if (q != MAP_FAILED) {
		kept = (uintptr_t)q == lo ? lo + whole_pages(new_len) : lo;
		if (gone && kept < hi && overlaps(kept, hi))
			record(KRT_API_mremap, kept, hi - kept);
		if (covered)
			record(KRT_API_mremap, (uintptr_t)target, whole_pages(new_len));
	}
	transit_end(slot);
	return q;
}
