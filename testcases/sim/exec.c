/* SPDX-License-Identifier: Apache-2.0 */
/* Loading: linking, memory and initial values of variables, layout of shared memory. */
#include "exec_impl.h"
#include <stdarg.h>
#include <stdio.h>

static void say(char *err, size_t errlen, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void say(char *err, size_t errlen, const char *fmt, ...)
{
	va_list ap;

	if (!errlen)
		return;
	va_start(ap, fmt);
	vsnprintf(err, errlen, fmt, ap);
	va_end(ap);
}

/* ---- symbols across modules ---- */

static bool is_global_linkage(unsigned linkage)
{
	return linkage == PTX_LINK_VISIBLE || linkage == PTX_LINK_WEAK ||
	       linkage == PTX_LINK_COMMON;
}

const struct ptx_var *exec_find_var(struct exec_module *em, const struct ptx_var *v)
{
	if (v->linkage != PTX_LINK_EXTERN)
		return v;
	/* extern .shared without a size is the launch's dynamic shared memory. */
	if (v->space == PTX_SPACE_SHARED && (v->unsized || !v->size))
		return v;
	for (unsigned i = 0; i < em->nmods; i++) {
		const struct ptx_var *w = ptx_find_var(em->mods[i], v->name);

		if (w && w != v && is_global_linkage(w->linkage) && w->space == v->space)
			return w;
	}
	if (v->space == PTX_SPACE_SHARED)
		return v;
	return em->check_only ? v : NULL;
}

struct efunc *exec_find_efunc(struct exec_module *em, const struct ptx_func *f)
{
	for (unsigned depth = 0; f->alias && depth < 16; depth++)
		f = f->alias;
	if (!f->body) {
		const struct ptx_func *found = NULL;

		for (unsigned i = 0; i < em->nmods && !found; i++) {
			const struct ptx_func *g = ptx_find_func(em->mods[i], f->name);

			for (unsigned depth = 0; g && g->alias && depth < 16; depth++)
				g = g->alias;
			if (g && g->body && is_global_linkage(g->linkage))
				found = g;
		}
		if (!found)
			return NULL;
		f = found;
	}
	/* Functions of one module are contiguous and in order; bodies only. */
	uint32_t lo = 0, hi = em->nfuncs;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		const struct ptx_func *g = em->funcs[mid].p;

		if (g == f)
			return &em->funcs[mid];
		unsigned mg = 0, mf = 0;

		for (unsigned i = 0; i < em->nmods; i++) {
			if (em->mods[i] == g->module)
				mg = i;
			if (em->mods[i] == f->module)
				mf = i;
		}
		if (mg < mf || (mg == mf && g->index < f->index))
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

uint64_t exec_var_addr(struct exec_module *em, const struct ptx_var *v)
{
	uint32_t lo = 0, hi = em->nglobals;

	if (em->check_only)
		return 0;
	/* Sorted by the variable's own address. */
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (em->globals[mid].v == v)
			return em->globals[mid].addr;
		if ((uintptr_t)em->globals[mid].v < (uintptr_t)v)
			lo = mid + 1;
		else
			hi = mid;
	}
	return 0;
}

/* ---- variables ---- */

static void *plain_alloc(void *user, size_t size, size_t align, const char *name)
{
	(void)user;
	(void)name;
	if (size > (size_t)1 << 30)
		return NULL;
	return aligned_alloc(align, (size + align - 1) & ~(align - 1));
}

static void plain_free(void *user, void *ptr)
{
	(void)user;
	free(ptr);
}

static int by_var(const void *a, const void *b)
{
	uintptr_t x = (uintptr_t)((const struct exec_var *)a)->v,
		  y = (uintptr_t)((const struct exec_var *)b)->v;

	return x < y ? -1 : x > y;
}

static bool has_memory(const struct ptx_var *v)
{
	return (v->space == PTX_SPACE_GLOBAL || v->space == PTX_SPACE_CONST) &&
	       v->linkage != PTX_LINK_EXTERN;
}

static bool add_global(struct exec_module *em, const struct ptx_var *v, char *err, size_t errlen)
{
	struct exec_var *g = realloc(em->globals, (em->nglobals + 1) * sizeof(*g));
	size_t align = v->align < 16 ? 16 : v->align, size = v->size ? v->size : 1;
	void *mem;

	if (!g)
		goto nomem;
	em->globals = g;
	mem = em->mem.alloc(em->mem.user, size, align, v->name);
	if (!mem)
		goto nomem;
	memset(mem, 0, size);
	if (v->init_len)
		memcpy(mem, v->init, v->init_len);
	g[em->nglobals++] = (struct exec_var){ .v = v, .addr = (uint64_t)(uintptr_t)mem };
	if (v->space == PTX_SPACE_CONST)
		em->const_bytes =
			((em->const_bytes + v->align - 1) & ~(size_t)(v->align - 1)) + v->size;
	return true;
nomem:
	say(err, errlen, "variable %s: out of memory", v->name);
	return false;
}

static bool add_globals(struct exec_module *em, char *err, size_t errlen)
{
	for (unsigned i = 0; i < em->nmods; i++) {
		struct ptx_module *m = em->mods[i];

		for (uint32_t k = 0; k < ptx_module_vars(m); k++) {
			const struct ptx_var *v = ptx_module_var(m, k);

			if (has_memory(v) && !add_global(em, v, err, errlen))
				return false;
		}
		for (uint32_t k = 0; k < ptx_module_funcs(m); k++) {
			const struct ptx_func *f = ptx_module_func(m, k);

			for (uint32_t j = 0; j < f->nvars; j++)
				if (has_memory(f->vars[j]) &&
				    !add_global(em, f->vars[j], err, errlen))
					return false;
		}
	}
	if (em->nglobals)
		qsort(em->globals, em->nglobals, sizeof(*em->globals), by_var);
	return true;
}

static bool relocate(struct exec_module *em, char *err, size_t errlen)
{
	for (uint32_t i = 0; i < em->nglobals; i++) {
		const struct ptx_var *v = em->globals[i].v;

		for (uint32_t k = 0; k < v->nrelocs; k++) {
			const struct ptx_reloc *r = &v->relocs[k];
			uint64_t addr = 0;

			if (r->var) {
				const struct ptx_var *w = exec_find_var(em, r->var);

				if (!w) {
					say(err, errlen,
					    "variable %s: initial value names %s, which no module "
					    "defines",
					    v->name, r->name);
					return false;
				}
				addr = exec_var_addr(em, w);
			} else if (r->func) {
				struct efunc *e = exec_find_efunc(em, r->func);

				if (!e) {
					say(err, errlen,
					    "variable %s: initial value names %s, which no module "
					    "defines",
					    v->name, r->name);
					return false;
				}
				addr = (uint64_t)(uintptr_t)e;
			}
			addr = (addr + (uint64_t)r->addend) >> (r->shift < 64 ? r->shift : 63);
			if (r->offset + r->size <= v->size && r->size <= 8)
				memcpy((char *)(uintptr_t)em->globals[i].addr + r->offset, &addr,
				       r->size);
		}
	}
	return true;
}

/* Two definitions of one visible name in a link. */
static bool check_duplicates(struct exec_module *em, char *err, size_t errlen)
{
	for (unsigned i = 1; i < em->nmods; i++) {
		for (uint32_t k = 0; k < ptx_module_funcs(em->mods[i]); k++) {
			const struct ptx_func *f = ptx_module_func(em->mods[i], k);

			if (!f->body || f->linkage != PTX_LINK_VISIBLE)
				continue;
			for (unsigned j = 0; j < i; j++) {
				const struct ptx_func *g = ptx_find_func(em->mods[j], f->name);

				if (g && g->body && g->linkage == PTX_LINK_VISIBLE) {
					say(err, errlen, "%s is defined in two modules", f->name);
					return false;
				}
			}
		}
	}
	return true;
}

/* ---- loading ---- */

static struct exec_module *load(struct ptx_module *const *mods, unsigned n,
				const struct exec_mem *mem, bool check_only, char *err,
				size_t errlen)
{
	struct exec_module *em = calloc(1, sizeof(*em));
	uint32_t nfuncs = 0, nentries = 0;

	if (errlen)
		err[0] = '\0';
	if (!em)
		goto nomem;
	em->mem = mem ? *mem : (struct exec_mem){ .alloc = plain_alloc, .free = plain_free };
	em->check_only = check_only;
	em->mods = calloc(n ? n : 1, sizeof(*em->mods));
	if (!em->mods)
		goto nomem;
	em->nmods = n;
	for (unsigned i = 0; i < n; i++) {
		struct ptx_module *m = mods[i];

		em->mods[i] = m;
		if (ptx_address_size(m) != 64) {
			say(err, errlen, "only .address_size 64 is supported");
			goto fail;
		}
		for (uint32_t k = 0; k < ptx_module_funcs(m); k++) {
			struct ptx_func *f = ptx_module_func(m, k);
			struct ptx_error pe;

			if (!f->body)
				continue;
			if (ptx_func_parse(m, f, &pe)) {
				say(err, errlen, "line %u: %s", pe.line, pe.what);
				goto fail;
			}
			nfuncs++;
			nentries += f->entry;
		}
	}
	if (!check_duplicates(em, err, errlen))
		goto fail;
	em->funcs = calloc(nfuncs ? nfuncs : 1, sizeof(*em->funcs));
	em->entries = calloc(nentries ? nentries : 1, sizeof(*em->entries));
	if (!em->funcs || !em->entries)
		goto nomem;
	for (unsigned i = 0; i < n; i++) {
		for (uint32_t k = 0; k < ptx_module_funcs(mods[i]); k++) {
			struct ptx_func *f = ptx_module_func(mods[i], k);
			struct efunc *e = &em->funcs[em->nfuncs];

			if (!f->body)
				continue;
			*e = (struct efunc){ .p = f, .em = em, .index = em->nfuncs++ };
			if (f->entry) {
				struct exec_func *h = &em->entries[em->nentries++];

				*h = (struct exec_func){ .em = em, .e = e };
			}
		}
	}
	if (!check_only && (!add_globals(em, err, errlen) || !relocate(em, err, errlen)))
		goto fail;
	for (uint32_t i = 0; i < em->nfuncs; i++)
		if (!exec_decode(em, &em->funcs[i], err, errlen))
			goto fail;
	return em;
nomem:
	say(err, errlen, "out of memory");
fail:
	exec_unload(em);
	return NULL;
}

struct exec_module *exec_load(struct ptx_module *const *mods, unsigned n,
			      const struct exec_mem *mem, char *err, size_t errlen)
{
	return load(mods, n, mem, false, err, errlen);
}

int exec_check_module(const struct ptx_module *m, char *err, size_t errlen)
{
	struct ptx_module *mods[1] = { (struct ptx_module *)m };
	struct exec_module *em = load(mods, 1, NULL, true, err, errlen);

	if (!em)
		return -1;
	exec_unload(em);
	return 0;
}

void exec_unload(struct exec_module *em)
{
	if (!em)
		return;
	for (uint32_t i = 0; i < em->nfuncs; i++) {
		struct efunc *e = &em->funcs[i];

		for (uint32_t k = 0; k < e->nowned; k++)
			free(e->owned[k]);
		free(e->owned);
		free(e->code);
		free(e->consts);
		free(e->calls);
		free(e->shared_used);
		free(e->shared_off);
	}
	for (uint32_t i = 0; i < em->nglobals; i++)
		em->mem.free(em->mem.user, (void *)(uintptr_t)em->globals[i].addr);
	free(em->funcs);
	free(em->entries);
	free(em->globals);
	free(em->shared);
	free(em->mods);
	free(em);
}

struct exec_func *exec_function(struct exec_module *em, const char *name)
{
	for (uint32_t i = 0; i < em->nentries; i++)
		if (!strcmp(em->entries[i].e->p->name, name))
			return &em->entries[i];
	return NULL;
}

unsigned exec_functions(const struct exec_module *em)
{
	return em->nentries;
}

struct exec_func *exec_function_at(struct exec_module *em, unsigned i)
{
	return i < em->nentries ? &em->entries[i] : NULL;
}

const struct ptx_func *exec_func_ptx(const struct exec_func *f)
{
	return f->e->p;
}

bool exec_global(const struct exec_module *em, const char *name, uint64_t *addr, size_t *size)
{
	const struct exec_var *best = NULL;

	for (uint32_t i = 0; i < em->nglobals; i++) {
		const struct exec_var *g = &em->globals[i];

		if (g->v->func || strcmp(g->v->name, name))
			continue;
		if (!best || is_global_linkage(g->v->linkage))
			best = g;
	}
	if (!best)
		return false;
	if (addr)
		*addr = best->addr;
	if (size)
		*size = best->v->size;
	return true;
}

unsigned exec_globals(const struct exec_module *em)
{
	return em->nglobals;
}

const struct ptx_var *exec_global_at(const struct exec_module *em, unsigned i, uint64_t *addr)
{
	if (i >= em->nglobals)
		return NULL;
	if (addr)
		*addr = em->globals[i].addr;
	return em->globals[i].v;
}

/* ---- shared memory of an entry and all it can reach ---- */

static void reach(struct exec_module *em, struct efunc *e, bool *seen, uint32_t *todo)
{
	uint32_t n = 0;
	bool all = false;

	seen[e->index] = true;
	todo[n++] = e->index;
	while (n) {
		struct efunc *f = &em->funcs[todo[--n]];

		for (uint32_t i = 0; i < f->ncalls; i++) {
			if (!seen[f->calls[i]]) {
				seen[f->calls[i]] = true;
				todo[n++] = f->calls[i];
			}
		}
		if (f->indirect && !all) {
			/* A pointer may come from anywhere: any function that is no entry. */
			all = true;
			for (uint32_t i = 0; i < em->nfuncs; i++) {
				if (!seen[i] && !em->funcs[i].p->entry) {
					seen[i] = true;
					todo[n++] = i;
				}
			}
		}
	}
}

bool exec_layout(struct efunc *e)
{
	struct exec_module *em = e->em;
	bool *seen = calloc(em->nfuncs, sizeof(*seen));
	uint32_t *todo = calloc(em->nfuncs, sizeof(*todo));
	bool *used = calloc(em->nshared + 1, sizeof(*used));
	uint32_t *off = calloc(em->nshared + 1, sizeof(*off));
	uint32_t dyn_align = 16;
	uint64_t at = 0;

	if (!seen || !todo || !used || !off) {
		free(seen);
		free(todo);
		free(used);
		free(off);
		return false;
	}
	reach(em, e, seen, todo);
	for (uint32_t i = 0; i < em->nfuncs; i++) {
		const struct efunc *f = &em->funcs[i];

		if (!seen[i])
			continue;
		if (f->needs_stack)
			e->uses_stack = true;
		for (uint32_t k = 0; k < f->nshared_used; k++)
			used[f->shared_used[k]] = true;
	}
	for (uint32_t i = 0; i < em->nshared; i++) {
		const struct ptx_var *v = em->shared[i];

		if (!used[i])
			continue;
		if (v->linkage == PTX_LINK_EXTERN) {
			if (v->align > dyn_align)
				dyn_align = v->align;
			continue;
		}
		at = (at + v->align - 1) & ~(uint64_t)(v->align - 1);
		off[i] = (uint32_t)at;
		at += v->size;
		if (at > UINT32_MAX / 2)
			at = UINT32_MAX / 2; /* exec_begin() refuses it */
	}
	e->shared_static = (uint32_t)at;
	e->dynamic_off = (uint32_t)((at + dyn_align - 1) & ~(uint64_t)(dyn_align - 1));
	for (uint32_t i = 0; i < em->nshared; i++)
		if (used[i] && em->shared[i]->linkage == PTX_LINK_EXTERN)
			off[i] = e->dynamic_off;
	e->shared_off = off;
	e->local = e->frame_size;
	e->laid_out = true;
	free(seen);
	free(todo);
	free(used);
	return true;
}

void exec_func_attr(const struct exec_func *f, struct exec_attr *a)
{
	struct efunc *e = f->e;
	const struct ptx_func *p = e->p;
	const uint32_t *ntid = p->reqntid[0] ? p->reqntid : p->maxntid;
	uint64_t threads = 1024;
	unsigned regs;

	*a = (struct exec_attr){ 0 };
	if (!e->laid_out)
		(void)exec_layout(e);
	a->shared_static = e->shared_static;
	a->local = e->frame_size;
	a->constant = e->em->const_bytes;
	/* Virtual registers are many more than what an assembler would need. */
	regs = 10 + p->nregs / 8;
	if (p->maxnreg && regs > p->maxnreg)
		regs = p->maxnreg;
	a->regs = regs > 255 ? 255 : regs;
	if (ntid[0]) {
		threads = (uint64_t)ntid[0] * ntid[1] * ntid[2];
		if (threads > 1024)
			threads = 1024;
	}
	a->max_threads = (unsigned)threads;
	a->ptx_version = ptx_version(p->module);
	a->binary_version = ptx_target_sm(p->module);
}
