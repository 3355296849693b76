/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The real functions behind the wrappers of library.def.
 */
#ifndef KRT_LIBRARY_FIND_H
#define KRT_LIBRARY_FIND_H

#include "internal.h"
#include "library.h"
#include "modules.h"

#include <stdatomic.h>

#pragma GCC visibility push(hidden)

/* By enum krt_lib_fn_id; NULL: not wrapped (library_wrap.c). */
extern void *const krt_lib_wrapper[KRT_NR_LIB_FNS];

/* Those that were found, by who asked; an entry of an older generation is empty. */
#define KRT_LIB_FOUND 2048
#define KRT_LIB_FOUND_TRIES 4
struct krt_lib_found {
	_Atomic uint64_t key;
	_Atomic uintptr_t fn;
	_Atomic uint32_t generation;
};
extern struct krt_lib_found krt_lib_found[KRT_LIB_FOUND];

/* Another one once some library was closed: functions may be others now. */
static inline uint32_t krt_lib_generation(void)
{
#ifdef KRT_NOP
	return 0; /* has no dlclose of its own */
#else
	return (uint32_t)atomic_load_explicit(&krt_modules_unloads.seen, memory_order_acquire);
#endif
}

void *krt_library_find(unsigned id, const void *caller);

static inline uint64_t krt_lib_key(unsigned id, const void *caller)
{
	return (uint64_t)id << 48 | ((uintptr_t)caller & 0xffffffffffffull);
}

static inline unsigned krt_lib_place(uint64_t key)
{
	return (unsigned)(key * 0x9e3779b97f4a7c15ull >> 40) & (KRT_LIB_FOUND - 1);
}

/* What was found under key; 0: nothing yet. */
static inline uintptr_t krt_lib_lookup(uint64_t key)
{
	uint32_t now = krt_lib_generation();

	for (unsigned i = 0, at = krt_lib_place(key); i < KRT_LIB_FOUND_TRIES; i++, at++) {
		struct krt_lib_found *f = &krt_lib_found[at & (KRT_LIB_FOUND - 1)];
		uintptr_t fn;
		uint32_t generation;

		if (atomic_load_explicit(&f->key, memory_order_acquire) != key)
			continue;
		fn = atomic_load_explicit(&f->fn, memory_order_relaxed);
		generation = atomic_load_explicit(&f->generation, memory_order_relaxed);
		atomic_thread_fence(memory_order_acquire);
		if (generation == now && atomic_load_explicit(&f->key, memory_order_relaxed) == key)
			return fn;
	}
	return 0;
}

/*
 * The function that the caller (an address in the object that called) means:
 * never NULL.  One that says that it is not there stands for what is not loaded.
 */
static inline void *krt_library_fn(unsigned id, const void *caller)
{
	uintptr_t fn = krt_lib_lookup(krt_lib_key(id, caller));

	return krt_likely(fn != 0) ? (void *)fn : krt_library_find(id, caller);
}

/* Another function of the library that real belongs to; NULL: it has none of the name. */
void *krt_library_sibling(unsigned id, const void *real);

/* dlsym: the id of a wrapped name, -1: none. */
int krt_library_name(const char *name);
/*
 * It gave p, or (self) this library's own: what to hand out.  NULL: the caller can
 * reach no such library.
 */
void *krt_library_given(unsigned id, void *p, bool self, const void *caller);

/* Told here, kept by the recorder: a function that was called and is nowhere to be found. */
void krt_library_missing(const char *symbol);

#pragma GCC visibility pop
#endif
