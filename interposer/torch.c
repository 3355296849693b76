/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library's side of the PyTorch feeds (python/krtsan_torch.py): which feed is
 * wanted, the trace tracker of the *watch* feed, and the allocator of the *replace*
 * feed, in the form that PyTorch's CUDAPluggableAllocator takes.
 *
 * The tracker is called by PyTorch's allocator for each of its actions, on the
 * thread that made it, with the allocator's own lock held: it never takes another
 * that somebody may hold while he waits for that one, Python's least of all.
 *
 * The allocator caches as PyTorch's own does: blocks belong to the stream that they were
 * allocated on, small ones (up to 1 MiB) are cut from segments of 2 MiB, others
 * from segments of 20 MiB or of their own size, the best fit is taken, neighbours
 * are joined again.  A block that other streams use (record_stream) waits for an
 * event on each.  What a capturing stream allocates comes from a pool of the
 * graph's own and goes back to it; when the last graph has let go of that pool its
 * segments are freed.
 *
 * Driver calls go through the library's own wrappers, so that they are recorded
 * as the program's.  Every block is told to the analysis as krtsan.h has it: the
 * free before the block can be handed out again, the allocation after it was.
 *
 * Locking: krt_wipe.w.torch guards all lists, and is never held over a driver
 * call.  A block that is in no list (allocated, or waiting for events) belongs to
 * the thread that has it.  A child made by fork has no use for the parent's
 * device memory: its frees do nothing.
 */
#include "internal.h"
#include "objects.h"
#include "resolve.h"

#define CUABI_EXACT_NAMES
#include "cuabi.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

#define UNIT        512ull
#define SMALL       (1ull << 20)
#define SMALL_SEG   (2ull << 20)
#define LARGE       (10ull << 20)
#define LARGE_SEG   (20ull << 20)
#define LARGE_ROUND (2ull << 20)
#define DEVICES     64
#define BUCKETS     16384

/* wrap.c; PyTorch's streams are the runtime's, so no _ptsz forms */
int krt_w_cuMemAlloc_v2(uint64_t out, uint64_t bytes);
int krt_w_cuMemFree_v2(uint64_t ptr);
int krt_w_cuEventCreate(uint64_t out, uint64_t flags);
int krt_w_cuEventRecord(uint64_t event, uint64_t stream);
int krt_w_cuEventQuery(uint64_t event);
int krt_w_cuEventSynchronize(uint64_t event);
int krt_w_cuDevicePrimaryCtxRetain(uint64_t out, uint64_t device);
int krt_w_cuCtxPushCurrent_v2(uint64_t ctx);
int krt_w_cuCtxPopCurrent_v2(uint64_t out);
int krt_w_cuThreadExchangeStreamCaptureMode(uint64_t mode);
/* notes.c */
void krtsan_impl_pool_create(uint64_t pool, uint64_t kind, uint64_t name);
void krtsan_impl_block_alloc(uint64_t pool, uint64_t ptr, uint64_t len, uint64_t stream);
void krtsan_impl_block_use(uint64_t ptr, uint64_t stream);
void krtsan_impl_block_free(uint64_t ptr);

/* --- statistics, with PyTorch's names ----------------------------------------------- */

enum { ALLOCATION, SEGMENT, ACTIVE, INACTIVE, ALLOCATED_BYTES, RESERVED_BYTES, ACTIVE_BYTES, INACTIVE_BYTES,
       REQUESTED_BYTES, NSTATS };
struct stat {
	int64_t current, peak, allocated, freed;
};
struct stats {
	struct stat of[NSTATS][3]; /* all, small, large */
	int64_t retries, ooms, sync_all, device_alloc, device_free;
};

static void count(struct stats *s, unsigned what, bool large, int64_t n)
{
	const unsigned both[] = { 0, 1u + large };

	for (unsigned i = 0; i < 2; i++) {
		struct stat *t = &s->of[what][both[i]];

		t->current += n;
		if (t->current > t->peak)
			t->peak = t->current;
		if (n > 0)
			t->allocated += n;
		else
			t->freed -= n;
	}
}

/* --- blocks ---------------------------------------------------------------------------- */

struct use { /* a stream that record_stream named, later its event */
	struct use *next;
	uint64_t stream, event;
};
struct block {
	uint64_t addr, size, wanted;
	uint64_t stream;
	uint64_t capture;           /* number of the capture that it was allocated in, 0: none */
	struct pool *pool;
	struct block *before, *after;   /* neighbours in the segment */
	struct block *next, *prev;      /* free: in its bin, by size; waiting: next only */
	struct block *chain;            /* in the table of allocated blocks; free records */
	struct use *uses;
	int device;
	bool large, taken;              /* taken: not in a bin */
};
struct bin { /* free blocks of one stream */
	struct bin *next;
	struct block *first;
	uint64_t stream;
	bool large;
};
struct pool { /* of a device, or of the graphs that share one */
	struct pool *next;
	struct bin *bins;
	struct block *held;         /* freed in a capture while other streams used them */
	uint64_t id[2];
	unsigned graphs;
	int device;
	bool private, told;
};

static struct pool *pools;
static struct pool *capturing_pool[DEVICES];
static unsigned captures;           /* under way */
static uint64_t capture_number;
static struct stats stats[DEVICES];
static struct block *table[BUCKETS], *waiting, *deferred, *spare_blocks;
static struct use *spare_uses, *spare_events[DEVICES];
static uint64_t primary[DEVICES];
static int32_t owner;               /* the process that allocates */
static void (*throw_error)(const char *, const char *, uint32_t, const char *);

static void lock(void)
{
	krt_wipe_arm();
	krt_lock(&krt_wipe.w.torch);
}

static void unlock(void)
{
	krt_unlock(&krt_wipe.w.torch);
}

static struct block *new_block(void)
{
	struct block *b = spare_blocks;

	if (b)
		spare_blocks = b->chain;
	else
		b = krt_alloc(sizeof *b);
	if (b)
		memset(b, 0, sizeof *b);
	return b;
}

static void drop_block(struct block *b)
{
	b->chain = spare_blocks;
	spare_blocks = b;
}

static struct block **bucket(uint64_t addr)
{
	return &table[krt_hash(0, &addr, sizeof addr) % BUCKETS];
}

static struct block *find(uint64_t addr, bool take)
{
	for (struct block **p = bucket(addr); *p; p = &(*p)->chain)
		if ((*p)->addr == addr) {
			struct block *b = *p;

			if (take)
				*p = b->chain;
			return b;
		}
	return NULL;
}

static void note_inactive(struct block *b, int n)
{
	if (!b->before && !b->after)
		return; /* a whole segment is no split */
	count(&stats[b->device], INACTIVE, b->large, n);
	count(&stats[b->device], INACTIVE_BYTES, b->large, n * (int64_t)b->size);
}

static struct bin *bin_of(struct pool *p, uint64_t stream, bool large, bool make)
{
	struct bin *b;

	for (b = p->bins; b; b = b->next)
		if (b->stream == stream && b->large == large)
			return b;
	b = make ? krt_alloc(sizeof *b) : NULL;
	if (b) {
		*b = (struct bin){ .next = p->bins, .stream = stream, .large = large };
		p->bins = b;
	}
	return b;
}

static void bin_take(struct block *b)
{
	struct bin *bin = bin_of(b->pool, b->stream, b->large, false);

	if (b->prev)
		b->prev->next = b->next;
	else if (bin)
		bin->first = b->next;
	if (b->next)
		b->next->prev = b->prev;
	b->next = b->prev = NULL;
	b->taken = true;
	note_inactive(b, -1);
}

static bool bin_put(struct block *b)
{
	struct bin *bin = bin_of(b->pool, b->stream, b->large, true);
	struct block **p, *prev = NULL;

	if (!bin)
		return false; /* lost to the cache, for want of memory */
	for (p = &bin->first; *p && ((*p)->size < b->size || ((*p)->size == b->size && (*p)->addr < b->addr));
	     p = &(*p)->next)
		prev = *p;
	b->next = *p;
	b->prev = prev;
	if (*p)
		(*p)->prev = b;
	*p = b;
	b->taken = false;
	note_inactive(b, 1);
	return true;
}

/* b swallows its neighbour, which lies in a bin. */
static void join(struct block *b, struct block *other)
{
	if (!other || other->taken)
		return;
	bin_take(other);
	if (other == b->before) {
		b->addr = other->addr;
		b->before = other->before;
		if (b->before)
			b->before->after = b;
	} else {
		b->after = other->after;
		if (b->after)
			b->after->before = b;
	}
	b->size += other->size;
	drop_block(other);
}

/* Nobody uses it any more: back into the cache. */
static void recycle(struct block *b)
{
	count(&stats[b->device], ACTIVE, b->large, -1);
	count(&stats[b->device], ACTIVE_BYTES, b->large, -(int64_t)b->size);
	b->capture = 0;
	join(b, b->before);
	join(b, b->after);
	bin_put(b);
}

/* --- pools ------------------------------------------------------------------------------- */

static struct pool *pool_get(int device, uint64_t id0, uint64_t id1, bool private)
{
	struct pool *p;

	for (p = pools; p; p = p->next)
		if (p->device == device && p->private == private && p->id[0] == id0 && p->id[1] == id1)
			return p;
	p = krt_alloc(sizeof *p);
	if (p) {
		*p = (struct pool){ .next = pools, .id = { id0, id1 }, .device = device, .private = private };
		pools = p;
	}
	return p;
}

static void tell_pool(struct pool *p)
{
	char name[64];

	if (__atomic_exchange_n(&p->told, true, __ATOMIC_RELAXED))
		return;
	krt_format(name, sizeof name, p->private ? "PyTorch, a graph's pool on device %d" : "PyTorch, device %d",
		   p->device);
	krtsan_impl_pool_create((uintptr_t)p, 1, (uintptr_t)name);
}

/* --- contexts ------------------------------------------------------------------------------ */

/* Makes a context of the device current where none is.  1: leave() undoes it; -1: it cannot be done. */
static int enter(int device)
{
	int (*current)(CUcontext *) = (int (*)(CUcontext *))krt_fn(KRT_API_cuCtxGetCurrent);
	int (*which)(CUdevice *) = (int (*)(CUdevice *))krt_fn(KRT_API_cuCtxGetDevice);
	CUcontext now = NULL;
	CUdevice on = -1;
	uint64_t ctx = 0;

	if (!current(&now) && now && !which(&on) && on == device)
		return 0;
	lock();
	ctx = primary[device];
	unlock();
	if (!ctx) {
		if (krt_w_cuDevicePrimaryCtxRetain((uintptr_t)&ctx, (uint64_t)device))
			return -1;
		lock();
		primary[device] = ctx; /* retained once more where two threads meet: it is never released */
		unlock();
	}
	return krt_w_cuCtxPushCurrent_v2(ctx) ? -1 : 1;
}

static void leave(int entered)
{
	CUcontext ctx;

	if (entered > 0)
		krt_w_cuCtxPopCurrent_v2((uintptr_t)&ctx);
}

static int segment_alloc(uint64_t *addr, uint64_t bytes)
{
	int relaxed = 2 /* CU_STREAM_CAPTURE_MODE_RELAXED */, r;
	bool during = __atomic_load_n(&captures, __ATOMIC_RELAXED);

	if (during) /* allocating is allowed: the capture does not get to see it */
		krt_w_cuThreadExchangeStreamCaptureMode((uintptr_t)&relaxed);
	r = krt_w_cuMemAlloc_v2((uintptr_t)addr, bytes);
	if (during)
		krt_w_cuThreadExchangeStreamCaptureMode((uintptr_t)&relaxed);
	return r;
}

/* --- events of blocks that other streams used --------------------------------------------- */

/* An event on each of these streams.  The block is in no list. */
static void record_uses(struct block *b)
{
	int entered = enter(b->device);

	for (struct use *u = b->uses; u; u = u->next) {
		struct use *spare;

		lock();
		spare = spare_events[b->device];
		if (spare)
			spare_events[b->device] = spare->next;
		unlock();
		if (spare) {
			u->event = spare->event;
			lock();
			spare->next = spare_uses;
			spare_uses = spare;
			unlock();
		} else if (krt_w_cuEventCreate((uintptr_t)&u->event, CU_EVENT_DISABLE_TIMING)) {
			u->event = 0;
		}
		if (u->event && krt_w_cuEventRecord(u->event, u->stream))
			u->event = 0; /* the stream is gone, and its work with it */
	}
	leave(entered);
}

/* Have all of them passed?  Ends the uses that have. */
static bool uses_over(struct block *b, bool wait)
{
	while (b->uses) {
		struct use *u = b->uses;
		int r = 0;

		if (u->event) {
			r = wait ? krt_w_cuEventSynchronize(u->event) : krt_w_cuEventQuery(u->event);
			if (r == CUDA_ERROR_NOT_READY)
				return false;
		}
		b->uses = u->next;
		lock();
		if (u->event) {
			u->next = spare_events[b->device];
			spare_events[b->device] = u;
		} else {
			u->next = spare_uses;
			spare_uses = u;
		}
		unlock();
	}
	return true;
}

static void process_waiting(bool wait)
{
	struct block *list, *b, *still = NULL;

	lock();
	if (captures) { /* no queries then: they could break it */
		unlock();
		return;
	}
	list = waiting;
	waiting = NULL;
	b = deferred;
	deferred = NULL;
	unlock();
	while (b) {
		struct block *next = b->next;

		record_uses(b);
		b->next = list;
		list = b;
		b = next;
	}
	while (list) {
		b = list;
		list = b->next;
		b->next = NULL;
		if (uses_over(b, wait)) {
			lock();
			recycle(b);
			unlock();
		} else {
			b->next = still;
			still = b;
		}
	}
	lock();
	while (still) {
		b = still;
		still = b->next;
		b->next = waiting;
		waiting = b;
	}
	unlock();
}

/* --- segments ---------------------------------------------------------------------------------- */

/* Gives back the segments that are free as a whole; of a private pool, once no graph holds it. */
static void trim(int device)
{
	struct block *list = NULL;

	lock();
	if (captures) { /* freeing could break it */
		unlock();
		return;
	}
	for (struct pool *p = pools; p; p = p->next) {
		if ((device >= 0 && p->device != device) || (p->private && p->graphs))
			continue;
		while (p->held) { /* their graphs are gone */
			struct block *b = p->held;

			p->held = b->next;
			b->next = NULL;
			while (b->uses) {
				struct use *u = b->uses;

				b->uses = u->next;
				u->next = spare_uses;
				spare_uses = u;
			}
			recycle(b);
		}
		for (struct bin *bin = p->bins; bin; bin = bin->next)
			for (struct block *b = bin->first, *next; b; b = next) {
				next = b->next;
				if (b->before || b->after)
					continue;
				bin_take(b);
				count(&stats[b->device], SEGMENT, b->large, -1);
				count(&stats[b->device], RESERVED_BYTES, b->large, -(int64_t)b->size);
				stats[b->device].device_free++;
				b->chain = list;
				list = b;
			}
	}
	unlock();
	while (list) {
		struct block *b = list;
		int entered = enter(b->device);

		list = b->chain;
		krt_w_cuMemFree_v2(b->addr);
		leave(entered);
		lock();
		drop_block(b);
		unlock();
	}
}

static struct block *take_free(struct pool *p, uint64_t stream, bool large, uint64_t size)
{
	struct bin *bin = bin_of(p, stream, large, false);
	struct block *b = bin ? bin->first : NULL;

	while (b && b->size < size)
		b = b->next;
	if (b)
		bin_take(b);
	return b;
}

static void split(struct block *b, uint64_t size)
{
	struct block *rest;

	if (b->large ? b->size - size <= SMALL : b->size - size < UNIT)
		return;
	rest = new_block();
	if (!rest)
		return;
	*rest = (struct block){ .addr = b->addr + size, .size = b->size - size, .stream = b->stream,
				.pool = b->pool, .before = b, .after = b->after, .device = b->device,
				.large = b->large, .taken = true };
	if (rest->after)
		rest->after->before = rest;
	b->after = rest;
	b->size = size;
	bin_put(rest);
}

static struct block *new_segment(struct pool *p, uint64_t stream, bool large, uint64_t size)
{
	uint64_t bytes = !large ? SMALL_SEG : size < LARGE ? LARGE_SEG : (size + LARGE_ROUND - 1) & ~(LARGE_ROUND - 1);
	uint64_t addr = 0;
	struct block *b;

	if (segment_alloc(&addr, bytes)) {
		process_waiting(true);
		trim(p->device);
		lock();
		stats[p->device].retries++;
		unlock();
		if (segment_alloc(&addr, bytes))
			return NULL;
	}
	lock();
	b = new_block();
	if (b) {
		*b = (struct block){ .addr = addr, .size = bytes, .stream = stream, .pool = p, .device = p->device,
				     .large = large, .taken = true };
		count(&stats[p->device], SEGMENT, large, 1);
		count(&stats[p->device], RESERVED_BYTES, large, (int64_t)bytes);
		stats[p->device].device_alloc++;
	}
	unlock();
	if (!b)
		krt_w_cuMemFree_v2(addr);
	return b;
}

static void fail(uint64_t size, int device)
{
	char text[160];

	krt_format(text, sizeof text,
		   "CUDA out of memory. Tried to allocate %lu bytes on device %d (krtsan --torch=replace).",
		   (unsigned long)size, device);
	if (throw_error)
		throw_error("alloc", "krtsan", 0, text);
	krt_msg("torch: %s", text);
}

/* --- the watch feed ---------------------------------------------------------------------------------- */

/* c10::cuda::CUDACachingAllocator::TraceEntry as far as we look; krtsan_torch.py compares it with PyTorch's header. */
struct trace_entry {
	int32_t action;
	int8_t device;
	uint64_t addr;
	uint64_t context[2];
	uint64_t stream, size; /* as requested */
	uint64_t pool[2];      /* 0, 0: the common one */
};
enum { TRACE_ALLOC = 0, TRACE_FREE_REQUESTED = 1 };

/* A std::function<void(const TraceEntry &)> of libstdc++. */
struct tracker {
	uint64_t functor[2];
	bool (*manager)(uint64_t *to, const uint64_t *from, int operation);
	void (*invoker)(const uint64_t *functor, const struct trace_entry *entry);
};
enum { FUNCTION_CLONE = 2, FUNCTION_DESTROY = 3 };

struct kept { /* a block of a private pool, allocated in a capture */
	struct kept *chain;
	uint64_t addr, capture;
};
static struct kept *kept[1024], *spare_kept;
EXPORT void krtsan_torch_told(int device);
static uint64_t watched[DEVICES]; /* their addresses name the pools; not 0: told */
static bool watch_over;

static uint64_t capture_of(uint64_t stream)
{
	int (*ask)(uint64_t, int *, uint64_t *, void *, void *, void *) =
		(int (*)(uint64_t, int *, uint64_t *, void *, void *, void *))krt_fn(KRT_API_cuStreamGetCaptureInfo_v2);
	uint64_t id = 0;
	int status = 0;

	return ask(stream, &status, &id, NULL, NULL, NULL) || status != CU_STREAM_CAPTURE_STATUS_ACTIVE ? 0 : id;
}

static struct kept **kept_at(uint64_t addr)
{
	return &kept[krt_hash(1, &addr, sizeof addr) % (sizeof kept / sizeof *kept)];
}

static void keep(uint64_t addr, uint64_t capture)
{
	struct kept *k;

	lock();
	for (k = *kept_at(addr); k && k->addr != addr; k = k->chain)
		;
	if (!k) {
		k = spare_kept;
		if (k)
			spare_kept = k->chain;
		else
			k = krt_alloc(sizeof *k);
		if (k) {
			k->addr = addr;
			k->chain = *kept_at(addr);
			*kept_at(addr) = k;
		}
	}
	if (k)
		k->capture = capture;
	unlock();
}

/* The capture that a block was allocated in; forgotten with that. */
static uint64_t unkeep(uint64_t addr)
{
	uint64_t capture = 0;

	lock();
	for (struct kept **p = kept_at(addr); *p; p = &(*p)->chain)
		if ((*p)->addr == addr) {
			struct kept *k = *p;

			*p = k->chain;
			capture = k->capture;
			k->chain = spare_kept;
			spare_kept = k;
			break;
		}
	unlock();
	return capture;
}

/* What no entry of PyTorch's can be: it is laid out otherwise. */
static bool implausible(const struct trace_entry *t)
{
	return t->device < 0 || t->device >= DEVICES || !t->addr || t->addr % 16 || t->addr >> 57 || t->size >> 47 ||
	       t->pool[0] >> 40 || t->pool[1] >> 40 || (t->stream > 2 && t->stream < 4096);
}

/*
 * What a capture allocates, and frees before it ends, is told while it goes on
 * and so belongs to the graph.  After that its memory is the private pool's, which
 * hands it to nobody but other graphs (and their warm-up runs) of that pool, and
 * PyTorch answers for their order: frees and allocations there are not told.
 */
static void on_trace(const uint64_t *functor, const struct trace_entry *t)
{
	bool private;
	uint64_t capture = 0;
	int saved = errno;

	(void)functor;
	if (!krt_attached() || t->action < 0 || t->action > TRACE_FREE_REQUESTED ||
	    __atomic_load_n(&watch_over, __ATOMIC_RELAXED))
		return;
	if (implausible(t)) {
		__atomic_store_n(&watch_over, true, __ATOMIC_RELAXED);
		krt_trouble(KRT_TROUBLE_INTERNAL);
		krt_msg("torch: this PyTorch tells its blocks in a form that is not known: they are not seen any more");
		return;
	}
	private = t->pool[0] || t->pool[1];
	if (private)
		capture = capture_of(t->stream);
	if (t->action == TRACE_FREE_REQUESTED) {
		if (!private || (unkeep(t->addr) == capture && capture))
			krtsan_impl_block_free(t->addr);
	} else if (!private || capture) {
		if (private)
			keep(t->addr, capture);
		krtsan_torch_told(t->device);
		krtsan_impl_block_alloc((uintptr_t)&watched[t->device], t->addr,
					t->size < UNIT ? UNIT : (t->size + UNIT - 1) & ~(UNIT - 1), t->stream);
	}
	errno = saved;
}

/* Tells that there is a feed in this process, with the pool of the device; once. */
void krtsan_torch_told(int device)
{
	char name[40];

	if (device < 0 || device >= DEVICES || !krt_attached() ||
	    __atomic_exchange_n(&watched[device], 1, __ATOMIC_RELAXED))
		return;
	krt_format(name, sizeof name, "PyTorch, device %d", device);
	krtsan_impl_pool_create((uintptr_t)&watched[device], 1, (uintptr_t)name);
}

static bool manage(uint64_t *to, const uint64_t *from, int operation)
{
	if (operation == FUNCTION_CLONE) {
		to[0] = from[0];
		to[1] = from[1];
	}
	return false;
}

/* --- what PyTorch calls ------------------------------------------------------------------------ */

EXPORT int krtsan_torch_feed(void);
EXPORT void *krtsan_torch_alloc(size_t bytes, int device, void *stream);
EXPORT void krtsan_torch_free(void *ptr, size_t bytes, int device, void *stream);
EXPORT void krtsan_torch_record_stream(void *ptr, void *stream);
EXPORT void *krtsan_torch_base(void *ptr, size_t *bytes);
EXPORT void krtsan_torch_empty_cache(void);
EXPORT void krtsan_torch_pool_begin(int device, uint64_t id0, uint64_t id1, void *filter);
EXPORT void krtsan_torch_pool_end(int device, uint64_t id0, uint64_t id1);
EXPORT void krtsan_torch_pool_release(int device, uint64_t id0, uint64_t id1);
EXPORT unsigned krtsan_torch_stats(int device, int64_t *out, unsigned room);
EXPORT void krtsan_torch_reset(int device, int peak);
EXPORT void krtsan_torch_watch(void *allocator, unsigned slot);
EXPORT void krtsan_torch_thrower(void (*fn)(const char *, const char *, uint32_t, const char *));

/* Which feed KRTSAN_OPTIONS asks for.  Asked when PyTorch is imported, often before we attach. */
int krtsan_torch_feed(void)
{
	struct krt_options o;

	krt_options_init(&o);
	krt_options_parse(&o, secure_getenv("KRTSAN_OPTIONS"), NULL, 0);
	return (int)o.torch;
}

/*
 * Attaches the tracker to PyTorch's allocator: the function at this place of its
 * virtual table takes a std::function, which is passed by reference.
 */
void krtsan_torch_watch(void *allocator, unsigned slot)
{
	struct tracker tracker = { .manager = manage, .invoker = on_trace };
	void (*attach)(void *, struct tracker *) = (*(void (***)(void *, struct tracker *))allocator)[slot];

	attach(allocator, &tracker);
}

/* c10's function that throws an error of PyTorch's: a C library cannot by itself. */
void krtsan_torch_thrower(void (*fn)(const char *, const char *, uint32_t, const char *))
{
	throw_error = fn;
}

static bool mine(void)
{
	int32_t pid = (int32_t)syscall(SYS_getpid), none = 0;

	return __atomic_compare_exchange_n(&owner, &none, pid, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
	       none == pid;
}

void *krtsan_torch_alloc(size_t bytes, int device, void *stream)
{
	uint64_t size = bytes < UNIT ? UNIT : (bytes + UNIT - 1) & ~(UNIT - 1), at = (uintptr_t)stream, number = 0;
	int saved = errno, entered;
	bool large = size > SMALL;
	struct pool *p = NULL;
	struct block *b;

	if (!bytes)
		return NULL;
	if (device < 0 || device >= DEVICES || !mine() || size < bytes) {
		fail(bytes, device);
		return NULL;
	}
	process_waiting(false);
	if (__atomic_load_n(&captures, __ATOMIC_RELAXED) && krt_stream_captures(at, false)) {
		lock();
		p = capturing_pool[device];
		number = capture_number;
		unlock();
	}
	lock();
	if (!p)
		p = pool_get(device, 0, 0, false);
	b = p ? take_free(p, at, large, size) : NULL;
	unlock();
	if (p && !b) {
		entered = enter(device);
		b = entered < 0 ? NULL : new_segment(p, at, large, size);
		leave(entered);
	}
	if (!b) {
		lock();
		stats[device].ooms++;
		unlock();
		errno = saved;
		fail(bytes, device);
		return NULL;
	}
	lock();
	split(b, size);
	b->wanted = bytes;
	b->capture = p->private ? number : 0;
	b->chain = *bucket(b->addr);
	*bucket(b->addr) = b;
	count(&stats[device], ALLOCATION, large, 1);
	count(&stats[device], ALLOCATED_BYTES, large, (int64_t)b->size);
	count(&stats[device], REQUESTED_BYTES, large, (int64_t)bytes);
	count(&stats[device], ACTIVE, large, 1);
	count(&stats[device], ACTIVE_BYTES, large, (int64_t)b->size);
	unlock();
	tell_pool(p);
	krtsan_impl_block_alloc((uintptr_t)p, b->addr, b->size, at);
	errno = saved;
	return (void *)b->addr;
}

void krtsan_torch_free(void *ptr, size_t bytes, int device, void *stream)
{
	struct block *b;
	bool private, tell, now = false;
	int saved = errno;

	(void)bytes, (void)device, (void)stream;
	if (!ptr || !mine())
		return;
	lock();
	b = find((uintptr_t)ptr, false);
	/* What a capture handed out stays with its graphs when it is freed afterwards. */
	tell = b && (!b->capture || (captures && b->capture == capture_number));
	unlock();
	if (!b)
		return;
	if (tell)
		krtsan_impl_block_free((uintptr_t)ptr);
	lock();
	b = find((uintptr_t)ptr, true);
	if (!b) {
		unlock();
		return;
	}
	count(&stats[b->device], ALLOCATION, b->large, -1);
	count(&stats[b->device], ALLOCATED_BYTES, b->large, -(int64_t)b->size);
	count(&stats[b->device], REQUESTED_BYTES, b->large, -(int64_t)b->wanted);
	private = b->pool->private;
	if (!b->uses) {
		recycle(b);
	} else if (private) {
		b->next = b->pool->held;
		b->pool->held = b;
	} else if (captures) {
		b->next = deferred;
		deferred = b;
	} else {
		now = true;
	}
	unlock();
	if (now) {
		record_uses(b);
		lock();
		b->next = waiting;
		waiting = b;
		unlock();
	}
	errno = saved;
}

void krtsan_torch_record_stream(void *ptr, void *stream)
{
	uint64_t at = (uintptr_t)stream;
	struct block *b;
	struct use *u;

	if (!mine())
		return;
	lock();
	b = find((uintptr_t)ptr, false);
	for (u = b ? b->uses : NULL; u && u->stream != at; u = u->next)
		;
	if (b && b->stream != at && !u) {
		u = spare_uses;
		if (u)
			spare_uses = u->next;
		else
			u = krt_alloc(sizeof *u);
		if (u) {
			*u = (struct use){ .next = b->uses, .stream = at };
			b->uses = u;
		}
	}
	unlock();
	if (b)
		krtsan_impl_block_use((uintptr_t)ptr, at);
}

/* The segment that a block lies in. */
void *krtsan_torch_base(void *ptr, size_t *bytes)
{
	struct block *b, *first;
	size_t size = 0;

	lock();
	b = find((uintptr_t)ptr, false);
	for (first = b; first && first->before; first = first->before)
		;
	for (struct block *i = first; i; i = i->after)
		size += i->size;
	unlock();
	if (bytes)
		*bytes = size;
	return first ? (void *)first->addr : ptr;
}

void krtsan_torch_empty_cache(void)
{
	int saved = errno;

	if (mine()) {
		process_waiting(true);
		trim(-1);
	}
	errno = saved;
}

/* Captured streams of this device allocate from the pool of this name until pool_end. */
void krtsan_torch_pool_begin(int device, uint64_t id0, uint64_t id1, void *filter)
{
	struct pool *p;

	(void)filter; /* a std::function, and the capture itself is what counts */
	if (device < 0 || device >= DEVICES || !mine())
		return;
	lock();
	p = pool_get(device, id0, id1, true);
	if (p) {
		p->graphs++;
		capturing_pool[device] = p;
		captures++;
		capture_number++;
	}
	unlock();
}

void krtsan_torch_pool_end(int device, uint64_t id0, uint64_t id1)
{
	(void)id0, (void)id1;
	if (device < 0 || device >= DEVICES || !mine())
		return;
	lock();
	if (captures)
		captures--;
	capturing_pool[device] = NULL;
	unlock();
}

void krtsan_torch_pool_release(int device, uint64_t id0, uint64_t id1)
{
	struct pool *p;

	if (!mine())
		return;
	lock();
	for (p = pools; p; p = p->next)
		if (p->private && p->device == device && p->id[0] == id0 && p->id[1] == id1 && p->graphs)
			p->graphs--;
	unlock();
}

/* All figures in the order of struct stats; returns how many there are. */
unsigned krtsan_torch_stats(int device, int64_t *out, unsigned room)
{
	const unsigned n = sizeof(struct stats) / sizeof(int64_t);

	if (device >= 0 && device < DEVICES) {
		lock();
		memcpy(out, &stats[device], (room < n ? room : n) * sizeof *out);
		unlock();
	}
	return n;
}

void krtsan_torch_reset(int device, int peak)
{
	struct stat *s;

	if (device < 0 || device >= DEVICES)
		return;
	lock();
	s = &stats[device].of[0][0];
	for (unsigned i = 0; i < NSTATS * 3; i++, s++) {
		if (peak)
			s->peak = s->current;
		else
			s->allocated = s->freed = 0;
	}
	if (!peak)
		stats[device].retries = stats[device].ooms = stats[device].sync_all =
			stats[device].device_alloc = stats[device].device_free = 0;
	unlock();
}
