/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loaded ELF objects: what the unwinder needs of them, and their records.
 *
 * The map is a copy of the loader's list, brought up to date by
 * krt_modules_refresh() and read without locks.  A struct krt_module is never
 * freed; after its object was unloaded it merely is no longer found by address.
 */
#ifndef KRT_MODULES_H
#define KRT_MODULES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record.h"

#define KRT_MODULE_SEGS 12

struct krt_module {
	uintptr_t base, end;       /* mapped range, whole pages */
	uintptr_t bias;            /* address in memory minus address in the file */
	uintptr_t eh_hdr;          /* PT_GNU_EH_FRAME in memory, 0: none */
	size_t eh_hdr_len;
	struct krt_seg {
		uintptr_t lo, hi;
		uint64_t off, filesz; /* in the file */
	} seg[KRT_MODULE_SEGS];    /* readable PT_LOAD segments, ascending */
	uint16_t exec;             /* bit i: seg[i] is executable */
	uint16_t write;            /* bit i: seg[i] may have been changed in memory */
	uint8_t nseg;
	uint8_t role;              /* enum krt_module_role */
	uint8_t build_id_len;
	uint8_t build_id[20];
	uint16_t path_len;
	const char *path;          /* not terminated */
	/* under the map's lock */
	uint64_t stamp;            /* last merge that saw it */
	bool emitted;              /* its record is written */
};

/*
 * Bring the map up to date and write a KRT_REC_MODULE for every object that has
 * none yet.  Cheap when nothing changed.  Takes the loader's list lock
 * (dl_iterate_phdr), so it must not be called with a lock held that a loader
 * callback could want: never with lane 0's lock, never from inside an allocator.
 */
void krt_modules_refresh(void);

/* The object mapped at addr, or NULL.  Lock-free, async-signal-safe. */
const struct krt_module *krt_module_at(uintptr_t addr);

/* Is addr in an executable (readable) segment of m? */
bool krt_module_code(const struct krt_module *m, uintptr_t addr);

/* Are len bytes at addr inside one readable segment of m? */
bool krt_module_has(const struct krt_module *m, uintptr_t addr, size_t len);

/* Where in m's file len bytes at addr lie, if they are as they were there (a read-only segment). */
bool krt_module_in_file(const struct krt_module *m, uintptr_t addr, size_t len, uint64_t *offset);

/*
 * Rises when an object came to lie where a different one had been: the same
 * program counters then mean something else, so it belongs into the key under
 * which stacks are interned.
 */
unsigned krt_modules_generation(void);

/* Rises when objects came or went. */
unsigned krt_modules_changes(void);

/* The object that holds this library's own code (the program, in unit tests). */
const struct krt_module *krt_module_self(void);

/* KRT_MODULE_DRIVER, _CUDA or _USER by the file name (or soname) in path. */
enum krt_module_role krt_module_role_of(const char *path, size_t len);

/* In a fork child: drop locks of vanished threads, forget what was written. */
void krt_modules_forked(void);

/*
 * May the map be out of date in a way that no miss would show: is an object
 * being unloaded, or was one since the last refresh?
 */
struct krt_modules_unloads {
	_Atomic unsigned seen;   /* dlclose calls that ended */
	_Atomic unsigned merged; /* value of seen that the map accounts for */
	_Atomic unsigned active; /* dlclose calls in progress */
};
extern struct krt_modules_unloads krt_modules_unloads;

static inline bool krt_modules_doubtful(void)
{
	const struct krt_modules_unloads *u = &krt_modules_unloads;

	return atomic_load_explicit(&u->seen, memory_order_acquire) !=
		       atomic_load_explicit(&u->merged, memory_order_acquire) ||
	       atomic_load_explicit(&u->active, memory_order_relaxed);
}

#endif
