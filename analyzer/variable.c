/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variables of modules as memory: one for each load of a module; of a library one
 * for each context that uses it, the primary context standing for its device.
 *
 * A kernel reaches a variable by its name, the program by an address that it may
 * never ask for.  Until it does, the variable lies at an address of our own, where
 * nothing else can be; the address that the program is told then leads to the same
 * space.  Named are those that a kernel touches or the program asks for.
 *
 * A load keeps its variables by place and name (struct krt_loaded); the memory
 * itself may end without it (a context is reset) and is found by its address.
 */
#include "engine_int.h"
#include "demangle.h"
#include "ptx/flow.h"

#include <stdlib.h>
#include <string.h>

#define FIRST KRT_VARIABLE_BASE
#define LAST  (FIRST + (1ull << 46))

#define MACHINE_MAX 16 /* variables that a kernel known by its machine code alone may use */

#define ANYWHERE 0 /* a module has one context; managed variables lie in all */

struct krt_variable {
	uint64_t addr;
	uint64_t told;   /* its address, where that was told without its size (cudart asks so); else 0 */
	uint32_t serial; /* of the memory: another one there is not this variable */
	uint32_t len;	 /* of the key */
	UT_hash_handle hh;
	char key[]; /* place, then the name */
};

struct key {
	uint32_t len;
	char bytes[8 + KRT_VARIABLE_NAME];
};

static uint64_t place_of(const struct krt_loaded *l, const struct krt_context_info *ctx)
{
	return l->library && ctx ? krt_context_place(ctx) : ANYWHERE;
}

static bool make_key(struct key *k, uint64_t place, const char *name, size_t len)
{
	if (!len || len > KRT_VARIABLE_NAME)
		return false;
	memcpy(k->bytes, &place, 8);
	memcpy(k->bytes + 8, name, len);
	k->len = 8 + (uint32_t)len;
	return true;
}

static void drop(struct krt_engine *e, struct krt_loaded *l, struct krt_variable *v)
{
	struct krt_heap *heap = &e->heap;

	HASH_DELETE(hh, l->variables, v);
	e->nvariables--;
	krt_heap_free(heap, v, sizeof(*v) + v->len);
}

static struct krt_mem *memory_of(struct krt_engine *e, const struct krt_variable *v)
{
	struct krt_mem *m = krt_mem_base(&e->mem, v->addr);

	return m && m->serial == v->serial ? m : NULL;
}

/* NULL, or its memory lives, or its size is not known yet. */
static struct krt_variable *find(struct krt_engine *e, struct krt_loaded *l, const struct key *k)
{
	struct krt_variable *v;

	HASH_FIND(hh, l->variables, k->bytes, k->len, v);
	if (!v || v->told || memory_of(e, v))
		return v;
	drop(e, l, v);
	return NULL;
}

/* m NULL: at `told`, of a size that is not known. */
static void keep(struct krt_engine *e, struct krt_loaded *l, const struct key *k,
		 const struct krt_mem *m, uint64_t told)
{
	struct krt_heap *heap = &e->heap;
	struct krt_variable *v = find(e, l, k);

	if (!v) {
		if (e->nvariables >= KRT_VARIABLES_MAX)
			return;
		v = krt_heap_alloc(heap, sizeof(*v) + k->len);
		if (!v)
			return;
		v->len = k->len;
		memcpy(v->key, k->bytes, k->len);
		HASH_ADD_KEYPTR(hh, l->variables, v->key, v->len, v);
		if (!v->hh.tbl) {
			krt_heap_free(heap, v, sizeof(*v) + v->len);
			return;
		}
		e->nvariables++;
	}
	v->addr = m ? m->node.key : 0;
	v->serial = m ? m->serial : 0;
	v->told = told;
}

/*
 * What the program calls it.  nvcc gives variables of internal linkage a prefix
 * where files are linked: __nv_static_18__3b97778c_4_s_cu_a_NAME, 18 bytes between.
 */
static void set_name(struct krt_engine *e, const struct krt_mem *m, const char *name, size_t len)
{
	static const char prefix[] = "__nv_static_";
	char buf[KRT_VARIABLE_NAME + 1], *plain = buf, *end, *readable;
	unsigned long skip;

	if (!len || len > KRT_VARIABLE_NAME)
		return;
	memcpy(buf, name, len);
	buf[len] = 0;
	if (!strncmp(buf, prefix, sizeof(prefix) - 1)) {
		skip = strtoul(buf + sizeof(prefix) - 1, &end, 10);
		if (*end == '_' && skip < strlen(end) && end[1 + skip] == '_' && end[2 + skip])
			plain = end + 2 + skip;
	}
	readable = krt_demangle(plain);
	krt_name_set(&e->mem, m->node.key, m->size, readable ? readable : plain,
		     strlen(readable ? readable : plain));
	free(readable);
}

static struct krt_mem *add(struct krt_engine *e, const struct krt_loaded *l, uint64_t addr,
			   uint64_t size, enum krt_mem_kind kind, struct krt_mem *same,
			   const char *name, size_t len)
{
	struct krt_mem *m = krt_mem_add(&e->mem, addr, size, kind, same ? same->space : NULL,
					same ? same->space_off : 0, l ? NULL : e->call);

	if (!m)
		return NULL;
	m->variable = true;
	if (l) {
		m->made = l->made;
		m->handle = l->handle;
	}
	set_name(e, m, name, len);
	return m;
}

/* Tables of the compiler's mathematics, which nobody writes. */
static bool compilers_own(const char *name)
{
	return !strncmp(name, "__cudart_", 9);
}

struct krt_mem *krt_variable(struct krt_engine *e, const struct krt_kernel_info *k,
			     struct krt_context_info *ctx, const struct krt_flow_global *g)
{
	struct krt_loaded *l = krt_loaded_of(e, k);
	size_t len = strnlen(g->name, KRT_VARIABLE_NAME + 1);
	struct krt_variable *v = NULL;
	uint64_t room = (g->size + 511) & ~255ull, at;
	struct krt_mem *m;
	struct key key;

	if (!ctx && e->call)
		ctx = krt_call_context(e, e->call);
	/* of those of one name that a linker was given, which one is meant is not known */
	if (!l || !ctx || (g->local && l->merged) || compilers_own(g->name))
		return NULL;
	if (!make_key(&key, ANYWHERE, g->name, len))
		return NULL;
	if (g->managed)
		v = find(e, l, &key);
	if (!v && place_of(l, ctx) != ANYWHERE) {
		struct key here;

		make_key(&here, place_of(l, ctx), g->name, len);
		v = find(e, l, &here);
		if (!g->managed)
			key = here;
	} else if (!v) {
		v = find(e, l, &key);
	}
	m = v ? memory_of(e, v) : NULL;
	if (m) {
		if (g->managed && m->kind == KRT_MEM_GLOBAL && !m->owner)
			m->kind = KRT_MEM_MANAGED;
		return m;
	}
	/* an array whose length another file tells */
	if (!g->size || g->size > 1ull << 40 || e->nvariables >= KRT_VARIABLES_MAX)
		return NULL;
	if (!e->variable_next)
		e->variable_next = FIRST;
	at = v ? v->told : 0;
	if (!at && room > LAST - e->variable_next)
		return NULL;
	m = add(e, l, at ? at : e->variable_next, g->size, g->managed ? KRT_MEM_MANAGED : KRT_MEM_GLOBAL, NULL,
		g->name, len);
	if (!m)
		return NULL;
	if (!at)
		e->variable_next += room;
	m->ctx = ctx;
	keep(e, l, &key, m, 0);
	return m;
}

void krt_variables_of(struct krt_engine *e, const struct krt_kernel_info *k,
		      struct krt_context_info *ctx, krt_variable_fn *fn, void *user)
{
	struct krt_loaded *l = krt_loaded_of(e, k);
	struct krt_variable *v, *tmp;
	unsigned n = 0;
	uint64_t place;

	if (!ctx && e->call)
		ctx = krt_call_context(e, e->call);
	if (!l || !ctx)
		return;
	HASH_ITER (hh, l->variables, v, tmp) {
		struct krt_mem *m = memory_of(e, v);

		memcpy(&place, v->key, 8);
		if (!m || (place != ANYWHERE && place != place_of(l, ctx)))
			continue;
		if (n++ == MACHINE_MAX)
			break;
		fn(user, m);
	}
}

void krt_variable_told(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_mem *m = krt_mem_base(&e->mem, c->out_addr), *old = NULL;
	struct krt_context_info *ctx = krt_call_context(e, c);
	struct krt_loaded *l = krt_loaded_at(e, c->module);
	size_t len = c->string.data ? strnlen(c->string.data, c->string.len) : 0;
	uint64_t handle = l ? l->handle : c->module;
	struct krt_variable *v = NULL;
	uint64_t size = c->out_size;
	struct key key = {0};

	/* asked for again and again: one allocation with the module's life */
	if (!c->out_addr || (m && m->variable && m->handle == handle && (!size || m->size == size)))
		return;
	if (l && make_key(&key, ANYWHERE, c->string.data, len)) {
		v = find(e, l, &key);
		if (!v && place_of(l, ctx) != ANYWHERE) {
			make_key(&key, place_of(l, ctx), c->string.data, len);
			v = find(e, l, &key);
		}
		old = v ? memory_of(e, v) : NULL;
	}
	if (!size && old)
		size = old->size;
	if (!size) { /* a kernel that uses it may tell */
		if (key.len)
			keep(e, l, &key, NULL, c->out_addr);
		return;
	}
	if (old && c->out_addr < old->node.key + old->size && old->node.key < c->out_addr + size)
		old = NULL; /* it ends below: something told a wrong size */
	m = add(e, l, c->out_addr, size, old ? old->kind : KRT_MEM_GLOBAL, old,
		c->string.data, len);
	if (!m)
		return;
	m->handle = handle;
	m->ctx = old ? old->ctx : ctx;
	if (old)
		old->alias = true;
	if (key.len)
		keep(e, l, &key, m, 0);
}

void krt_variables_drop(struct krt_engine *e, struct krt_loaded *l)
{
	struct krt_variable *v, *tmp;
	struct krt_mem *m;

	HASH_ITER (hh, l->variables, v, tmp) {
		m = memory_of(e, v);
		if (m)
			krt_mem_drop(&e->mem, m);
		drop(e, l, v);
	}
}
