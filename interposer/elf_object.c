/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loaded ELF objects, read in memory.  See elf_object.h.
 */
#include "elf_object.h"
#include "next.h"

#include <string.h>

static uintptr_t dyn_ptr(uintptr_t base, ElfW(Addr) v)
{
	return v < base ? base + v : v; /* some objects are not relocated in place */
}

void krt_object_read(struct krt_object *o, const struct dl_phdr_info *info)
{
	const ElfW(Dyn) *dyn = NULL;
	ElfW(Xword) soname = 0;

	memset(o, 0, sizeof *o);
	o->path = info->dlpi_name;
	o->base = info->dlpi_addr;
	o->lo = UINTPTR_MAX;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_DYNAMIC)
			dyn = (const void *)(o->base + p->p_vaddr);
		if (p->p_type != PT_LOAD)
			continue;
		if (o->base + p->p_vaddr < o->lo)
			o->lo = o->base + p->p_vaddr;
		if (o->base + p->p_vaddr + p->p_memsz > o->hi)
			o->hi = o->base + p->p_vaddr + p->p_memsz;
	}
	o->dyn = dyn;
	for (; dyn && dyn->d_tag != DT_NULL; dyn++) {
		uintptr_t v = dyn_ptr(o->base, dyn->d_un.d_ptr);

		switch (dyn->d_tag) {
		case DT_SYMTAB: o->sym = (const void *)v; break;
		case DT_STRTAB: o->str = (const void *)v; break;
		case DT_VERSYM: o->versym = (const void *)v; break;
		case DT_GNU_HASH: o->gnu = (const void *)v; break;
		case DT_HASH: o->sysv = (const void *)v; break;
		case DT_SONAME: soname = dyn->d_un.d_val; break;
		}
	}
	o->soname = soname && o->str ? o->str + soname : "";
}

static bool usable(const struct krt_object *o, uint32_t i, bool variable)
{
	const ElfW(Sym) *s = &o->sym[i];
	unsigned type = ELF64_ST_TYPE(s->st_info), bind = ELF64_ST_BIND(s->st_info);

	return s->st_shndx != SHN_UNDEF &&
	       (variable ? type == STT_OBJECT : type == STT_FUNC || type == STT_NOTYPE) &&
	       (bind == STB_GLOBAL || bind == STB_WEAK) &&
	       !(o->versym && o->versym[i] & 0x8000);
}

bool krt_object_usable(const struct krt_object *o, uint32_t i)
{
	return usable(o, i, false);
}

uint32_t krt_object_symbols(const struct krt_object *o)
{
	const uint32_t *bucket, *chain;
	uint32_t top = 0;

	if (o->sysv)
		return o->sysv[1];
	if (!o->gnu)
		return 0;
	bucket = o->gnu + 4 + o->gnu[2] * (sizeof(ElfW(Addr)) / 4);
	chain = bucket + o->gnu[0];
	for (uint32_t i = 0; i < o->gnu[0]; i++)
		if (bucket[i] > top)
			top = bucket[i];
	if (top < o->gnu[1])
		return 0;
	while (!(chain[top - o->gnu[1]] & 1))
		top++;
	return top + 1;
}

const ElfW(Sym) *krt_object_symbol(const struct krt_object *o, const char *name, bool variable)
{
	if (!o->sym || !o->str)
		return NULL;
	if (o->gnu) {
		const uint32_t *bucket = o->gnu + 4 + o->gnu[2] * (sizeof(ElfW(Addr)) / 4);
		const uint32_t *chain = bucket + o->gnu[0];
		uint32_t h = 5381, i;

		for (const char *s = name; *s; s++)
			h = h * 33 + (unsigned char)*s;
		i = o->gnu[0] ? bucket[h % o->gnu[0]] : 0;
		if (i < o->gnu[1])
			return NULL;
		for (;; i++) {
			uint32_t c = chain[i - o->gnu[1]];

			if ((c | 1) == (h | 1) && usable(o, i, variable) &&
			    krt_same_name(o->str + o->sym[i].st_name, name))
				return &o->sym[i];
			if (c & 1)
				return NULL;
		}
	}
	for (uint32_t i = 0, n = krt_object_symbols(o); i < n; i++)
		if (usable(o, i, variable) && krt_same_name(o->str + o->sym[i].st_name, name))
			return &o->sym[i];
	return NULL;
}

void *krt_object_find(const struct krt_object *o, const char *name)
{
	const ElfW(Sym) *s = krt_object_symbol(o, name, false);

	return s ? (void *)(o->base + s->st_value) : NULL;
}

bool krt_object_holds(const struct krt_object *o, const void *p)
{
	return (uintptr_t)p >= o->lo && (uintptr_t)p < o->hi;
}

