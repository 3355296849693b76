/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the preload library call in each other, grouped by the
 * file that implements it.
 *
 * Rules of the house: no malloc, stdio or locale; no lock across a driver
 * call; no dl* call that can fail between the program's call and its return;
 * errno is the program's (each entry saves and restores it).  Everything here
 * is hidden; exports.map.in says what is exported.
 */
#ifndef KRT_INTERNAL_H
#define KRT_INTERNAL_H

#include "api.h"
#include "options.h"
#include "record.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

#define krt_likely(x)   __builtin_expect(!!(x), 1)
#define krt_unlikely(x) __builtin_expect(!!(x), 0)

/* ---- util.c: memory, locks, text, system calls ---- */

/*
 * Bump memory from anonymous mappings: zeroed, 16-byte aligned, never freed.
 * NULL when there is none.  Any thread.
 */
void *krt_alloc(size_t size);
/* Whole pages, given back with krt_unmap.  NULL when there are none.  They bypass the library's own wrappers. */
void *krt_map(size_t size);
void krt_unmap(void *base, size_t size);

/*
 * How many of len bytes at addr could be copied; never faults: the kernel reads
 * (process_vm_readv, else /proc/self/mem), and answers with an error where a load
 * would fault.
 */
size_t krt_read(uint64_t addr, void *to, size_t len);

/* A small lock for cold paths: spins, then sleeps on a futex.  Zero is unlocked. */
struct krt_lock {
	_Atomic uint32_t word;
};

/*
 * Pages that read as zeros in a child made by fork or raw clone
 * (MADV_WIPEONFORK): whether this process records, and every lock, since the
 * thread that held it is not in the child.  What a lock guards must survive
 * being found half changed.
 */
#define KRT_WIPE_SIZE 65536 /* a page, the largest there is */
enum { KRT_DETACHED = 0, KRT_RECORDING = 1, KRT_STOPPED = 2 };
struct krt_wipe {
	_Atomic uint32_t attached; /* this process records now: one of the above */
	_Atomic uint32_t armed;    /* the kernel wipes these pages */
	struct krt_lock arena, names, adopt, attach, lane0, intern, launch, heap, modules, hostfn, graphs, torch, nvtx, timing, images, layouts, libraries, python;
};
extern union krt_wipe_pages {
	struct krt_wipe w;
	char pages[KRT_WIPE_SIZE];
} krt_wipe;
void krt_wipe_arm(void); /* before the first lock; cheap when done */

void krt_lock(struct krt_lock *lock);
void krt_unlock(struct krt_lock *lock);
/* For where the calling thread may hold it already (a signal handler that exits): tries for some milliseconds. */
bool krt_lock_try(struct krt_lock *lock);

int32_t krt_tid(void);       /* of the calling thread, by system call */
uint64_t krt_mono_ns(void);  /* CLOCK_MONOTONIC */
uint64_t krt_real_ns(void);  /* CLOCK_REALTIME */
uint64_t krt_hash(uint64_t seed, const void *data, size_t len);

/* snprintf for %s %d %u %x %lu %lx %ld %p %c %%: always terminates, returns the length written. */
size_t krt_format(char *out, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* One line "krtsan: ..." to file descriptor 2, in one write.  Add no newline. */
void krt_msg(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- record.c: the process file, lanes, interning ---- */

/* Does this process record now?  One load; false in a fork child. */
static inline bool krt_attached(void)
{
	return atomic_load_explicit(&krt_wipe.w.attached, memory_order_acquire) == KRT_RECORDING;
}

extern struct krt_options krt_opt; /* parsed at attach */
extern uint64_t krt_clock_base;	   /* krt_clock_ns() at attach */

/* Appends one record to lane 0 (any thread, own lock); fills in size and pads. */
void krt_lane0_write(const struct krt_rec *rec, size_t len);
/* Appends a KRT_REC_CALL of a KRT_LIBC row (HEAP_END) to the calling thread's lane. */
void krt_record_libc(unsigned api, uint64_t addr, uint64_t len);
/* A failure of ours: ORs enum krt_trouble into the process file. */
void krt_trouble(unsigned bits);

/* ---- clock.c: the clock of calls' times: CLOCK_MONOTONIC, or the driver's own ---- */

void krt_clock_open(void); /* at attach */
uint64_t krt_clock_ns(void);

/* ---- resolve.c: the driver behind the wrappers ---- */

/* Real entry points by enum krt_api_id, PASS rows included; NULL: the driver lacks it. */
extern void *krt_real[KRT_NR_APIS];
/* Asks the driver itself (with cuabi.h, exact names): its answer, or NOT_SUPPORTED where it lacks sym. */
#define KRT_NOT_SUPPORTED 801
#define KRT_ASK(sym, ...)                                                                   \
	(__atomic_load_n(&krt_real[KRT_API_##sym], __ATOMIC_RELAXED)                        \
		 ? (int)((__typeof__(&sym))krt_real[KRT_API_##sym])(__VA_ARGS__)            \
		 : KRT_NOT_SUPPORTED)
/* The clock of a driver that exports `uint64_t sim_clock_ns(void)` (the simulated one: its time is a virtual one). */
extern uint64_t (*krt_driver_clock)(void);
/* Does this address lie in the driver the wrappers forward to? */
bool krt_in_driver(const void *address);

#pragma GCC visibility pop
#endif
