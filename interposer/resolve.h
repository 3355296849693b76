/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between the resolver (resolve.c), the wrappers (wrap.c) and the recorder.
 */
#ifndef KRT_RESOLVE_H
#define KRT_RESOLVE_H

#include "internal.h"

#pragma GCC visibility push(hidden)

struct krt_dlsym_answer {
	void *value;
	void *jump; /* not NULL: jump there with the original arguments */
};
struct krt_dlsym_answer krt_dlsym_hook(void *handle, const char *name, const void *caller);

/* By enum krt_api_id; NULL: passed through (wrap.c). */
extern void *const krt_wrapper[KRT_NR_APIS];

int krt_get_proc_address(const char *name, void **pfn, int version, uint64_t flags, const void *caller);
int krt_get_proc_address_v2(const char *name, void **pfn, int version, uint64_t flags, int *status,
			    const void *caller);

/*
 * The function to call when krt_real[id] is not known: never NULL.  Without a
 * driver it answers NO_DEVICE or NOT_INITIALIZED, with an older one NOT_FOUND.
 */
void *krt_resolve(unsigned id);

static inline void *krt_fn(unsigned id)
{
	void *p = __atomic_load_n(&krt_real[id], __ATOMIC_RELAXED);

	return krt_likely(p != NULL) ? p : krt_resolve(id);
}

/* What the object that holds the address looks up from here on is the driver's: its calls are not the program's. */
void krt_lookups_pass(const void *address);
/* Is a libcuda mapped at all?  Of the one behind the wrappers: path, and how many names of the table it has. */
bool krt_driver_loaded(void);
const char *krt_driver_path(void);
unsigned krt_driver_exports(void);

/* Told by the resolver, kept by the recorder: an entry point unknown to the table; a second libcuda. */
void krt_unwrapped(const char *name, int version);
void krt_second_driver(const char *first, const char *second);

#pragma GCC visibility pop
#endif
