/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loaded ELF objects and the functions they export, read in memory without any
 * dl* call, so that dlerror stays the program's.  An object stays readable while
 * the loader's lock is held (inside dl_iterate_phdr) or something keeps it loaded.
 */
#ifndef KRT_ELF_OBJECT_H
#define KRT_ELF_OBJECT_H

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

struct krt_object {
	const char *path;
	uintptr_t base, lo, hi;
	const ElfW(Dyn) *dyn; /* NULL: it has none */
	const ElfW(Sym) *sym;
	const char *str;
	const ElfW(Half) *versym;
	const uint32_t *gnu;  /* DT_GNU_HASH */
	const uint32_t *sysv; /* DT_HASH */
	const char *soname;
};

void krt_object_read(struct krt_object *o, const struct dl_phdr_info *info);
/* Is symbol i a function that others can bind to?  How many symbols there are. */
bool krt_object_usable(const struct krt_object *o, uint32_t i);
uint32_t krt_object_symbols(const struct krt_object *o);
/* What it exports by this name, NULL: nothing: a function, or a variable. */
const ElfW(Sym) *krt_object_symbol(const struct krt_object *o, const char *name, bool variable);
/* A function that it exports, NULL: none of this name. */
void *krt_object_find(const struct krt_object *o, const char *name);
bool krt_object_holds(const struct krt_object *o, const void *p);

#pragma GCC visibility pop
#endif
