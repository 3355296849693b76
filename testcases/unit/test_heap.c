/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The set of pending ranges and the free family.  The wrappers get other names
 * here: valgrind would put its own in their place.
 */
#include <criterion/criterion.h>

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "internal.h"
#include "modules.h"

#define free         wrapped_free
#define realloc      wrapped_realloc
#define reallocarray wrapped_reallocarray
#define munmap       wrapped_munmap
#define mremap       wrapped_mremap
void free(void *p);
void *realloc(void *p, size_t size);
void *reallocarray(void *p, size_t n, size_t size);
int munmap(void *addr, size_t len);
void *mremap(void *addr, size_t old_len, size_t new_len, int flags, ...);
#include "../../interposer/heap.c"
#undef free
#undef realloc
#undef reallocarray
#undef munmap
#undef mremap

#include "stub.h"

static uint64_t rnd(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s;
}

/* ---- the set ------------------------------------------------------------------- */

Test(heap, bounds)
{
	krt_heap_note(1000, 100, 7);
	cr_assert(overlaps(1000, 1001));
	cr_assert(overlaps(1099, 1100));
	cr_assert(overlaps(0, 1001));
	cr_assert(overlaps(1050, 5000));
	cr_assert(overlaps(0, 5000));
	cr_assert(!overlaps(0, 1000));
	cr_assert(!overlaps(1100, 5000));
	krt_heap_note(50, 0, 7);
	cr_assert_eq(pending, 1, "nothing of no length");
	krt_heap_note(UINT64_MAX - 10, 100, 7);
	cr_assert(overlaps(UINT64_MAX - 5, UINT64_MAX));
}

/* Against a plain list, while nothing is joined. */
Test(heap, same_as_a_list)
{
	static struct {
		uint64_t lo, hi, stream, at;
	} list[RANGES_MAX];
	unsigned n = 0;
	uint64_t seed = 4711, marks[16] = { 0 };

	for (int step = 0; step < 20000; step++) {
		uint64_t r = rnd(&seed), lo = r % 5000, len = 1 + (r >> 20) % ((r >> 50) % 7 ? 20 : 900);
		uint64_t stream = (r >> 40) % 5, mark = marks[(r >> 45) % 16];
		bool hit = false;

		switch ((r >> 32) % 16) {
		default:
			if (n > 300)
				break;
			krt_heap_note(lo, len, stream);
			for (unsigned i = 0; i < n; i++) {
				if (list[i].lo == lo && list[i].hi == lo + len && list[i].stream == stream) {
					list[i].at = krt_heap_mark();
					hit = true;
				}
			}
			if (!hit) {
				list[n].lo = lo;
				list[n].hi = lo + len;
				list[n].stream = stream;
				list[n++].at = krt_heap_mark();
			}
			break;
		case 0:
		case 1:
		case 2:
			marks[(r >> 36) % 16] = krt_heap_mark();
			break;
		case 3:
			krt_heap_synced(stream, mark);
			for (unsigned i = 0; i < n;)
				if (list[i].stream == stream && list[i].at <= mark)
					list[i] = list[--n];
				else
					i++;
			break;
		case 4:
			if ((r >> 60) % 4)
				break;
			krt_heap_synced(KRT_HEAP_ALL, mark);
			for (unsigned i = 0; i < n;)
				if (list[i].at <= mark)
					list[i] = list[--n];
				else
					i++;
			break;
		}
		cr_assert_eq(pending, n);
		for (int k = 0; k < 4; k++) {
			uint64_t a = rnd(&seed) % 6000, b = a + 1 + rnd(&seed) % 50;

			hit = false;
			for (unsigned i = 0; i < n; i++)
				hit |= list[i].lo < b && list[i].hi > a;
			cr_assert_eq(overlaps(a, b), hit);
		}
	}
}

Test(heap, a_wait_ends_only_what_came_before_it)
{
	uint64_t mark;

	krt_heap_note(1000, 10, 1);
	mark = krt_heap_mark();
	krt_heap_note(2000, 10, 1); /* another thread, during the wait */
	krt_heap_note(1000, 10, 1); /* the same buffer again */
	krt_heap_synced(1, mark);
	cr_assert(overlaps(1000, 1001));
	cr_assert(overlaps(2000, 2001));
	krt_heap_synced(2, krt_heap_mark());
	cr_assert_eq(pending, 2);
	krt_heap_synced(1, krt_heap_mark());
	cr_assert_eq(pending, 0);
}

Test(heap, never_too_small_when_full)
{
	uint64_t seed = 99, old;
	static uint64_t lo[20000], len[20000];

	for (int i = 0; i < 20000; i++) {
		lo[i] = rnd(&seed) % (1ull << 40);
		len[i] = 1 + rnd(&seed) % 10000;
		krt_heap_note(lo[i], len[i], i % 7);
		cr_assert_leq(pending, RANGES_MAX);
	}
	for (int i = 0; i < 20000; i++) {
		cr_assert(overlaps(lo[i], lo[i] + 1));
		cr_assert(overlaps(lo[i] + len[i] - 1, lo[i] + len[i]));
	}
	old = pending;
	krt_heap_synced(3, krt_heap_mark());
	cr_assert_leq(pending, old);
	for (int i = 0; i < 20000; i++)
		if (i % 7 != 3)
			cr_assert(overlaps(lo[i], lo[i] + len[i]));
	krt_heap_synced(KRT_HEAP_ALL, krt_heap_mark());
	cr_assert_eq(pending, 0);
}

Test(heap, one_staging_buffer_is_one_range)
{
	for (int i = 0; i < 10000; i++)
		krt_heap_note(4096, 4096, 5);
	cr_assert_eq(pending, 1);
}

/* Ranges far apart are not joined over what lies between. */
Test(heap, joined_ranges_stay_close)
{
	for (uint64_t i = 0; i < 10000; i++) {
		krt_heap_note(0x550000000000 + i * 10000, 100, 1);
		krt_heap_note(0x7f0000000000 + i * 10000, 100, 1);
	}
	cr_assert_leq(pending, RANGES_MAX);
	cr_assert(overlaps(0x550000000000, 0x550000000001));
	cr_assert(!overlaps(0x560000000000, 0x7e0000000000));
}

/* ---- graphs -------------------------------------------------------------------- */

Test(heap, held_whatever_is_waited_for)
{
	krt_heap_hold(1000, 100, 0x100, 1);
	krt_heap_note(5000, 10, 7);
	krt_heap_synced(KRT_HEAP_ALL, krt_heap_mark());
	cr_assert(overlaps(1099, 1100));
	cr_assert(!overlaps(5000, 5010));
	cr_assert_eq(pending, 1);
	krt_heap_release(0x200, 0);
	cr_assert(overlaps(1000, 1001));
	krt_heap_release(0x100, 0);
	cr_assert(!overlaps(1000, 1100));
	cr_assert_eq(pending, 0);
}

Test(heap, each_holder_holds)
{
	krt_heap_hold(1000, 100, 0x100, 1);
	krt_heap_hold(1000, 100, 0x201, 1);
	krt_heap_hold(1000, 100, 0x201, 1); /* again: nothing new */
	cr_assert_eq(pending, 2);
	krt_heap_release(0x100, 0);
	cr_assert(overlaps(1000, 1001));
	krt_heap_release(0x201, 0);
	cr_assert(!overlaps(1000, 1001), "never launched: nothing is in flight");
}

Test(heap, one_node_lets_go)
{
	krt_heap_hold(1000, 100, 0x100, 1);
	krt_heap_hold(2000, 100, 0x100, 2);
	krt_heap_hold(1000, 100, 0x201, 1);
	cr_assert_eq(krt_heap_holder(1), 0x100);
	cr_assert_eq(krt_heap_holder(3), 0);
	krt_heap_release(0, 1); /* of the graph; the executable keeps it */
	cr_assert(overlaps(1000, 1001));
	krt_heap_release(0x201, 1);
	cr_assert(!overlaps(1000, 1001));
	cr_assert(overlaps(2000, 2001));
}

Test(heap, nodes_that_share_a_buffer)
{
	for (uint64_t node = 1; node <= 10; node++)
		krt_heap_hold(1000, 100, 0x201, node);
	cr_assert_eq(pending, 1);
	krt_heap_release(0x201, 3);
	cr_assert(overlaps(1000, 1001), "the others have it");
	krt_heap_release(0x201, 0);
	cr_assert_eq(pending, 0);
}

Test(heap, launches_outlive_their_executable)
{
	krt_heap_hold(1000, 100, 0x201, 1);
	krt_heap_hold(3000, 100, 0x301, 1);
	krt_heap_launched(0x201, 7);
	krt_heap_launched(0x301, 7);
	krt_heap_launched(0x301, 8);
	krt_heap_launched(0x401, 8); /* holds nothing */
	krt_heap_release(0x201, 0);
	krt_heap_release(0x301, 0);
	cr_assert(overlaps(1000, 1001));
	krt_heap_synced(8, krt_heap_mark());
	cr_assert(overlaps(1000, 1001));
	krt_heap_synced(7, krt_heap_mark());
	cr_assert(!overlaps(1000, 1001));
	cr_assert(overlaps(3000, 3001), "two streams: a wait for one is not enough");
	krt_heap_synced(KRT_HEAP_ALL, krt_heap_mark());
	cr_assert_eq(pending, 0);
}

Test(heap, more_held_than_fits)
{
	for (uint64_t i = 0; i < 3 * RANGES_MAX; i++)
		krt_heap_hold(0x100000 + i * 8192, 100, 0x100 + (i % 3) * 0x100, i + 1);
	cr_assert_leq(pending, RANGES_MAX);
	for (uint64_t i = 0; i < 3 * RANGES_MAX; i++)
		cr_assert(overlaps(0x100000 + i * 8192 + 99, 0x100000 + i * 8192 + 100));
	krt_heap_note(16, 1, 7);
	cr_assert(overlaps(16, 17), "the other set has its own room");
	for (uint64_t i = 0; i < 3; i++)
		krt_heap_release(0x100 + i * 0x100, 0);
	cr_assert(overlaps(0x100000, 0x100001), "of several holders: for good");
}

Test(heap, many_executables)
{
	for (uint64_t i = 0; i < 3 * HOLDERS; i++) {
		krt_heap_hold(0x100000 + i * 65536, 8, 0x10000 + i * 64 + 1, 1);
		krt_heap_launched(0x10000 + i * 64 + 1, 7);
	}
	for (uint64_t i = 0; i < 3 * HOLDERS; i++)
		krt_heap_release(0x10000 + i * 64 + 1, 0);
	cr_assert_eq(held.n, 0);
	cr_assert_eq(flying.n, 3 * HOLDERS, "in flight, and where is known of some");
	krt_heap_synced(7, krt_heap_mark());
	cr_assert_lt(flying.n, 3 * HOLDERS);
	krt_heap_synced(KRT_HEAP_ALL, krt_heap_mark());
	cr_assert_eq(pending, 0);
	cr_assert_eq(nholders, 0);
}

Test(heap, device_memory_is_not_noted)
{
	krt_heap_device(0x10000, 0x1000);
	krt_heap_device(0x30000, 0x1000);
	krt_heap_device(0x20000, 0x1000);
	krt_heap_note(0x20000, 0x1000, 1);
	krt_heap_note(0x30ff0, 0x10, 1);
	cr_assert_eq(pending, 0);
	krt_heap_note(0x20ff0, 0x20, 1); /* over the end */
	krt_heap_note(0x1fff0, 0x20, 1);
	krt_heap_note(0x31000, 1, 1);
	cr_assert_eq(pending, 3);
	krt_heap_device_gone(0x20000);
	krt_heap_device_gone(0x20001);
	krt_heap_note(0x20000, 1, 1);
	cr_assert_eq(pending, 4);
	/* a new allocation over old ones that went unseen */
	krt_heap_device(0x10800, 0x20900);
	cr_assert_eq(ndevice, 1);
	krt_heap_note(0x10000, 1, 1);
	cr_assert_eq(pending, 5);
	krt_heap_note(0x31000, 1, 2);
	cr_assert_eq(pending, 5);
}

Test(heap, device_list_against_a_plain_one)
{
	static uint64_t lo[DEVICE_MAX + 100];
	uint64_t seed = 5;

	for (int i = 0; i < DEVICE_MAX + 100; i++) {
		lo[i] = (1 + (i * 2654435761u) % 100000) * 0x1000ull;
		krt_heap_device(lo[i], 0x1000);
	}
	cr_assert_leq(ndevice, DEVICE_MAX);
	for (unsigned i = 1; i < ndevice; i++)
		cr_assert_leq(device[i - 1].end, device[i].base);
	for (int i = 0; i < DEVICE_MAX; i++)
		cr_assert(on_device(lo[i], lo[i] + 0x1000));
	for (int k = 0; k < 2000; k++) {
		int i = rnd(&seed) % DEVICE_MAX;

		krt_heap_device_gone(lo[i]);
		cr_assert(!on_device(lo[i], lo[i] + 1));
		krt_heap_device(lo[i], 0x1000);
		cr_assert(on_device(lo[i], lo[i] + 1));
	}
}

/* ---- the wrappers ---------------------------------------------------------------- */

static void one_record(unsigned api, const void *addr, uint64_t len)
{
	cr_assert_eq(stub_ncalls, 1);
	cr_assert_eq(stub_calls[0].api, api);
	cr_assert_eq(stub_calls[0].addr, (uintptr_t)addr);
	cr_assert_eq(stub_calls[0].len, len, "%lu, not %lu", (long)stub_calls[0].len, (long)len);
	stub_ncalls = 0;
}

Test(heap, nothing_pending_nothing_recorded)
{
	void *p = malloc(100);

	p = wrapped_realloc(p, 100000);
	cr_assert_not_null(p);
	wrapped_free(p);
	wrapped_free(NULL);
	cr_assert_eq(stub_ncalls, 0);
}

static char *watched;
static bool still_there;

static void look(void)
{
	still_there = watched[0] == 'x';
}

Test(heap, free_is_recorded_first)
{
	char *p = malloc(100);
	size_t usable = malloc_usable_size(p);

	watched = p;
	p[0] = 'x';
	stub_on_call = look;
	krt_heap_note((uintptr_t)p + 50, 10, 1);
	errno = 77;
	wrapped_free(p);
	cr_assert_eq(errno, 77);
	cr_assert(still_there);
	one_record(KRT_API_free, watched, usable);
}

Test(heap, other_blocks_are_not_recorded)
{
	char *p[50];

	for (int i = 0; i < 50; i++)
		p[i] = malloc(64);
	krt_heap_note((uintptr_t)p[20], 64, 1);
	for (int i = 0; i < 50; i++)
		if (i != 20)
			wrapped_free(p[i]);
	cr_assert_eq(stub_ncalls, 0);
	krt_heap_synced(1, krt_heap_mark());
	wrapped_free(p[20]);
	cr_assert_eq(stub_ncalls, 0);
}

Test(heap, not_recording)
{
	void *p = malloc(10);

	krt_heap_note((uintptr_t)p, 10, 1);
	stub_attach(false);
	wrapped_free(p);
	cr_assert_eq(stub_ncalls, 0);
}

Test(heap, realloc_that_moves)
{
	char *p = malloc(100), *barrier = malloc(100), *q;
	size_t usable = malloc_usable_size(p);

	strcpy(p, "kept");
	krt_heap_note((uintptr_t)p, 4, 1);
	watched = p;
	q = wrapped_realloc(p, 1 << 20);
	cr_assert_neq(q, watched);
	cr_assert_str_eq(q, "kept");
	one_record(KRT_API_realloc, watched, usable);
	free(q);
	free(barrier);
}

/* Only the part that ends counts. */
Test(heap, realloc_in_place)
{
	char *p = malloc(4096), *q, *old = p;
	size_t before = malloc_usable_size(p), after;

	krt_heap_note((uintptr_t)p, 4096, 1);
	q = wrapped_realloc(p, before);
	if (q != old) { /* valgrind always moves */
		one_record(KRT_API_realloc, old, before);
		free(q);
		return;
	}
	cr_assert_eq(stub_ncalls, 0);
	q = wrapped_realloc(q, 1024);
	cr_assert_not_null(q);
	after = malloc_usable_size(q);
	if (q == old)
		one_record(KRT_API_realloc, old + after, before - after);
	else
		one_record(KRT_API_realloc, old, before);
	free(q);
}

Test(heap, realloc_that_fails_ends_nothing)
{
	char *p = malloc(100);

	krt_heap_note((uintptr_t)p, 100, 1);
	errno = 0;
	cr_assert_null(wrapped_realloc(p, PTRDIFF_MAX));
	cr_assert_eq(errno, ENOMEM);
	cr_assert_eq(stub_ncalls, 0);
	cr_assert_null(wrapped_reallocarray(p, SIZE_MAX / 2, 3));
	cr_assert_eq(errno, ENOMEM);
	cr_assert_eq(stub_ncalls, 0);
	free(p);
}

Test(heap, realloc_to_nothing)
{
	char *p = malloc(100);
	size_t usable = malloc_usable_size(p);
	uintptr_t old = (uintptr_t)p;
	void *q;

	krt_heap_note(old, 100, 1);
	q = wrapped_realloc(p, 0);
	if ((uintptr_t)q != old)
		one_record(KRT_API_realloc, (void *)old, usable);
	free(q);
}

Test(heap, munmap_is_recorded_first)
{
	char *p = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	watched = p;
	p[0] = 'x';
	stub_on_call = look;
	krt_heap_note((uintptr_t)p + 4090, 10, 1);
	cr_assert_eq(wrapped_munmap(p + 2 * 4096, 4096), 0);
	cr_assert_eq(stub_ncalls, 0);
	cr_assert_neq(wrapped_munmap(p + 1, 4096), 0, "refused: not a page");
	cr_assert_neq(wrapped_munmap(p, 0), 0);
	cr_assert_eq(stub_ncalls, 0);
	cr_assert_eq(wrapped_munmap(p, 4097), 0);
	cr_assert(still_there);
	one_record(KRT_API_munmap, p, 2 * 4096);
}

Test(heap, mremap)
{
	char *p = mmap(NULL, 4 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *q, *t;

	krt_heap_note((uintptr_t)p, 4 * 4096, 1);
	/* shrunk: the tail ends */
	q = wrapped_mremap(p, 4 * 4096, 2 * 4096, 0);
	cr_assert_eq(q, p);
	one_record(KRT_API_mremap, p + 2 * 4096, 2 * 4096);
	/* moved: all of it; the tail may be somebody else's by now */
	krt_heap_synced(KRT_HEAP_ALL, krt_heap_mark());
	krt_heap_note((uintptr_t)p, 2 * 4096, 1);
	t = mmap(NULL, 4 * 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	q = wrapped_mremap(p, 2 * 4096, 2 * 4096, MREMAP_MAYMOVE | MREMAP_FIXED, t);
	cr_assert_eq(q, t);
	one_record(KRT_API_mremap, p, 2 * 4096);
	/* refused: nothing */
	krt_heap_synced(KRT_HEAP_ALL, krt_heap_mark());
	krt_heap_note((uintptr_t)q, 4096, 1);
	cr_assert_eq(wrapped_mremap(q, 2 * 4096, 1ul << 46, 0), MAP_FAILED);
	cr_assert_eq(stub_ncalls, 0);
	/* a fixed target takes what was there */
	p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	cr_assert_eq(wrapped_mremap(p, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, q), q);
	one_record(KRT_API_mremap, q, 4096);
}

static void *inner;
static void free_inside(void)
{
	void *p = inner;

	inner = NULL;
	wrapped_free(p);
}

Test(heap, recording_does_not_record)
{
	void *p = malloc(10);

	inner = malloc(10);
	krt_heap_note((uintptr_t)p, 10, 1);
	krt_heap_note((uintptr_t)inner, 10, 1);
	stub_on_call = free_inside;
	wrapped_free(p);
	cr_assert_eq(stub_ncalls, 1);
}

/* A new owner of bytes that are in transit is not announced before their end is recorded. */
static pthread_t noter;
static _Atomic int noted_at, seen_during;

static void *note_same(void *arg)
{
	krt_heap_note((uintptr_t)arg, 100, 2);
	noted_at = 1;
	return NULL;
}

static void start_noter(void)
{
	if (pthread_create(&noter, NULL, note_same, watched))
		abort();
	usleep(20000);
	seen_during = noted_at;
}

Test(heap, note_waits_for_realloc)
{
	char *p = malloc(100), *barrier = malloc(100), *q;

	watched = p;
	krt_heap_note((uintptr_t)p, 100, 1);
	stub_on_call = start_noter;
	q = wrapped_realloc(p, 1 << 20);
	stub_on_call = NULL;
	pthread_join(noter, NULL);
	cr_assert_eq(seen_during, 0);
	cr_assert_eq(noted_at, 1);
	free(q);
	free(barrier);
}

Test(heap, fork_child_begins_empty)
{
	void *p = malloc(10);
	int status;
	pid_t pid;

	krt_heap_note((uintptr_t)p, 10, 1);
	set_lock.owner = 12345; /* another thread had it */
	flying.seq++;
	pid = fork();
	if (pid == 0) {
		krt_heap_forked();
		wrapped_free(p);
		krt_heap_note(1000, 10, 1);
		_exit(stub_ncalls || !overlaps(1000, 1001) || stub_troubles);
	}
	flying.seq++;
	set_lock.owner = 0;
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert_eq(status, 0);
	free(p);
}

Test(heap, who_is_refused_the_lock_says_so)
{
	set_lock.owner = (uintptr_t)&tls; /* as in a signal handler that interrupted us */
	krt_heap_note(1000, 10, 1);
	cr_assert_eq(stub_troubles, KRT_TROUBLE_INTERNAL);
	set_lock.owner = 0;
}
