/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Definitions of a function before and after this library (next.h), by reading
 * the hash tables of the link maps.  The start of the loader's list, which is
 * all that is walked in practice, never changes; nothing is written.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "next.h"

struct symtab {
	const ElfW(Sym) *sym;
	const char *str;
	const ElfW(Half) *versym;
	const uint32_t *gnu;
	const ElfW(Word) *sysv;
};

static bool symtab_of(const struct link_map *l, struct symtab *t)
{
	*t = (struct symtab){ 0 };
	if (!l->l_ld)
		return false;
	for (const ElfW(Dyn) *d = l->l_ld; d->d_tag != DT_NULL; d++) {
		uintptr_t v = d->d_un.d_ptr;
		const void *p = (const void *)(v < l->l_addr ? v + l->l_addr : v);

		switch (d->d_tag) {
		case DT_SYMTAB:
			t->sym = p;
			break;
		case DT_STRTAB:
			t->str = p;
			break;
		case DT_VERSYM:
			t->versym = p;
			break;
		case DT_GNU_HASH:
			t->gnu = p;
			break;
		case DT_HASH:
			t->sysv = p;
			break;
		}
	}
	return t->sym && t->str && (t->gnu || t->sysv);
}

static bool is_function(const struct symtab *t, const char *name, uint32_t i, bool hidden_too)
{
	const ElfW(Sym) *s = &t->sym[i];
	unsigned type = ELF64_ST_TYPE(s->st_info), bind = ELF64_ST_BIND(s->st_info);

	if (s->st_shndx == SHN_UNDEF || (type != STT_FUNC && type != STT_GNU_IFUNC) ||
	    (bind != STB_GLOBAL && bind != STB_WEAK) || !krt_same_name(t->str + s->st_name, name))
		return false;
	return hidden_too || !t->versym || !(t->versym[i] & 0x8000);
}

static uint32_t find_symbol(const struct symtab *t, const char *name, bool hidden_too)
{
	if (t->gnu) {
		uint32_t nbuckets = t->gnu[0], first = t->gnu[1], words = t->gnu[2], h = 5381;
		const uint32_t *buckets = t->gnu + 4 + words * (sizeof(ElfW(Addr)) / 4);
		const uint32_t *chain = buckets + nbuckets;

		for (const unsigned char *c = (const unsigned char *)name; *c; c++)
			h = h * 33 + *c;
		for (uint32_t i = nbuckets ? buckets[h % nbuckets] : 0; i >= first && i; i++) {
			if ((chain[i - first] | 1) == (h | 1) && is_function(t, name, i, hidden_too))
				return i;
			if (chain[i - first] & 1)
				break;
		}
	} else {
		ElfW(Word) nchain = t->sysv[1];

		for (uint32_t i = 1; i < nchain; i++)
			if (is_function(t, name, i, hidden_too))
				return i;
	}
	return 0;
}

static void *symbol_in(const struct link_map *l, const char *name)
{
	struct symtab t;
	uint32_t i;
	void *p;

	if (!symtab_of(l, &t))
		return NULL;
	i = find_symbol(&t, name, false);
	if (!i)
		i = find_symbol(&t, name, true);
	if (!i)
		return NULL;
	p = (void *)(l->l_addr + t.sym[i].st_value);
	if (ELF64_ST_TYPE(t.sym[i].st_info) == STT_GNU_IFUNC)
		p = ((void *(*)(void))p)();
	return p;
}

static const struct link_map *own_map(void)
{
	const struct link_map *l = _r_debug.r_map;

	while (l && l->l_ld != _DYNAMIC)
		l = l->l_next;
	return l;
}

const char *krt_next_before(const char *name)
{
	const struct link_map *self = own_map();

	for (const struct link_map *l = _r_debug.r_map; self && l != self; l = l->l_next)
		if (symbol_in(l, name))
			return *l->l_name ? l->l_name : "the program itself";
	return NULL;
}

void *krt_next_in(const char *name, const void **object)
{
	const struct link_map *l, *self = own_map(), *found = NULL;
	void *p = NULL;

	for (l = self ? self->l_next : NULL; l && !p; l = l->l_next) {
		p = symbol_in(l, name);
		found = l;
	}
	/* not preloaded but opened later: everything lies before us */
	for (l = _r_debug.r_map; l && l != self && !p; l = l->l_next) {
		p = symbol_in(l, name);
		found = l;
	}
	*object = p ? found : NULL;
	return p;
}

void *krt_next(const char *name)
{
	const void *object;

	return krt_next_in(name, &object);
}

const char *krt_next_preloaded(void)
{
	const struct link_map *self = own_map();

	for (const struct link_map *l = self ? self->l_next : NULL; l; l = l->l_next)
		if (symbol_in(l, "__libc_start_main"))
			return self->l_name;
	return NULL;
}
