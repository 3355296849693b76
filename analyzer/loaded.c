/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which images a module, a library and so a kernel came from.
 *
 * A kernel's record names its module or library; a function made from a
 * library's kernel belongs to a module that nobody loaded, and leads to its
 * library over the kernel.  What a linker made leads to what it was given: the
 * text is there, not in the product.  It is recognised where it lies while the
 * linker's state lives, and by its content ever after.
 *
 * Handles are recycled: the answer is the one of now, struct krt_loaded.serial
 * tells two loads apart.
 */
#include "engine_int.h"
#include "image_store.h"

#include <stdlib.h>
#include <string.h>

static bool add_ids(struct krt_heap *heap, uint32_t **list, uint32_t *n, uint32_t *cap,
		    const uint32_t *ids, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		uint32_t k = 0;

		while (k < *n && (*list)[k] != ids[i])
			k++;
		if (k < *n)
			continue;
		if (!krt_heap_grow(heap, list, cap, *n, sizeof(**list)))
			return false;
		(*list)[(*n)++] = ids[i];
	}
	return true;
}

static struct krt_image_ref ref_at(const struct krt_call *c, uint32_t i)
{
	struct krt_image_ref r;

	memcpy(&r, (const char *)c->images.data + (size_t)i * sizeof(r), sizeof(r));
	return r;
}

static uint32_t refs(const struct krt_call *c)
{
	return c->images.data ? c->images.len / sizeof(struct krt_image_ref) : 0;
}

/* --- links --------------------------------------------------------------------------- */

static struct krt_link *link_find(struct krt_link *table, uint64_t key)
{
	struct krt_link *l;

	HASH_FIND(hh, table, &key, sizeof(key), l);
	return l;
}

static struct krt_link *link_get(struct krt_engine *e, struct krt_link **table, uint64_t key)
{
	struct krt_heap *heap = &e->heap;
	struct krt_link *l = link_find(*table, key);

	if (l || HASH_COUNT(*table) >= KRT_LOADED_MAX)
		return l;
	l = krt_heap_alloc(heap, sizeof(*l));
	if (!l)
		return NULL;
	l->key = key;
	HASH_ADD(hh, *table, key, sizeof(l->key), l);
	if (l->hh.tbl)
		return l;
	krt_heap_free(heap, l, sizeof(*l));
	return NULL;
}

static void link_drop(struct krt_engine *e, struct krt_link **table, struct krt_link *l)
{
	struct krt_heap *heap = &e->heap;
	HASH_DELETE(hh, *table, l);
	krt_heap_free(heap, l->image, l->cap * sizeof(*l->image));
	krt_heap_free(heap, l, sizeof(*l));
}

static void link_add(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_heap *heap = &e->heap;
	struct krt_link *l = link_get(e, &e->links, c->handle);

	for (uint32_t i = 0; l && i < refs(c); i++) {
		struct krt_image_ref r = ref_at(c, i);

		if (r.id)
			add_ids(heap, &l->image, &l->n, &l->cap, &r.id, 1);
	}
}

static void link_complete(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_heap *heap = &e->heap;
	struct krt_link *l = link_find(e->links, c->handle), *made;

	if (!l)
		return;
	l->out = c->out_addr;
	l->size = c->out_size;
	for (uint32_t i = 0; i < refs(c); i++) {
		struct krt_image_ref r = ref_at(c, i);

		made = r.id ? link_get(e, &e->linked, r.id) : NULL;
		if (made)
			add_ids(heap, &made->image, &made->n, &made->cap, l->image, l->n);
	}
}

/* --- loads ---------------------------------------------------------------------------- */

static struct krt_loaded *loaded_find(const struct krt_engine *e, uint64_t handle)
{
	struct krt_loaded *l;

	HASH_FIND(hh, e->loaded, &handle, sizeof(handle), l);
	return l;
}

static void loaded_drop(struct krt_engine *e, struct krt_loaded *l)
{
	struct krt_heap *heap = &e->heap;

	krt_variables_drop(e, l);
	HASH_DELETE(hh, e->loaded, l);
	krt_heap_free(heap, l->image, l->n * sizeof(*l->image));
	krt_heap_free(heap, l, sizeof(*l));
}

static void load(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_heap *heap = &e->heap;
	struct krt_loaded *l = loaded_find(e, c->out_handle);
	uint32_t *list = NULL, n = 0, cap = 0;
	unsigned missing = 0;
	bool merged = false;
	struct krt_link *link, *tmp;

	if (l) /* unloaded unseen */
		loaded_drop(e, l);
	if (!c->out_handle || HASH_COUNT(e->loaded) >= KRT_LOADED_MAX)
		return;
	for (uint32_t i = 0; i < refs(c); i++) {
		struct krt_image_ref r = ref_at(c, i);

		if (r.id && !add_ids(heap, &list, &n, &cap, &r.id, 1))
			goto out;
		if (!r.id)
			missing |= 1u << (r.missing < 31 ? r.missing : 31);
	}
	for (uint32_t i = 0, given = n; i < given; i++) {
		link = link_find(e->linked, list[i]);
		merged |= link && link->n > 1;
		if (link && !add_ids(heap, &list, &n, &cap, link->image, link->n))
			goto out;
	}
	HASH_ITER (hh, e->links, link, tmp) {
		if (!c->image || c->image - link->out >= link->size)
			continue;
		merged |= link->n > 1;
		if (!add_ids(heap, &list, &n, &cap, link->image, link->n))
			goto out;
	}
	l = krt_heap_alloc(heap, sizeof(*l));
	if (!l)
		goto out;
	l->handle = c->out_handle;
	l->serial = ++e->loads;
	l->missing = missing;
	l->library = c->op == KRT_OP_LIBRARY_LOAD;
	l->merged = merged;
	l->made = (struct krt_origin){
		.api = c->rec->api, .stack = c->rec->stack, .seq = c->rec->t0};
	l->image = krt_heap_alloc(heap, n * sizeof(*l->image));
	if (l->image) {
		l->n = n;
		if (n)
			memcpy(l->image, list, n * sizeof(*list));
		HASH_ADD(hh, e->loaded, handle, sizeof(l->handle), l);
	}
	if (!l->hh.tbl) {
		krt_heap_free(heap, l->image, l->n * sizeof(*l->image));
		krt_heap_free(heap, l, sizeof(*l));
	}
out:
	krt_heap_free(heap, list, cap * sizeof(*list));
}

/* --- functions ------------------------------------------------------------------------ */

static uint64_t origin_of(const struct krt_engine *e, uint64_t handle)
{
	struct krt_func_origin *o;

	HASH_FIND(hh, e->origins, &handle, sizeof(handle), o);
	return o ? o->from : 0;
}

static void function(struct krt_engine *e, uint64_t handle, uint64_t from)
{
	struct krt_heap *heap = &e->heap;
	struct krt_func_origin *o;

	if (!handle || !from)
		return;
	HASH_FIND(hh, e->origins, &handle, sizeof(handle), o);
	if (o) {
		o->from = from;
		return;
	}
	if (HASH_COUNT(e->origins) >= KRT_LOADED_MAX)
		return;
	o = krt_heap_alloc(heap, sizeof(*o));
	if (!o)
		return;
	*o = (struct krt_func_origin){.handle = handle, .from = from};
	HASH_ADD(hh, e->origins, handle, sizeof(o->handle), o);
	if (!o->hh.tbl)
		krt_heap_free(heap, o, sizeof(*o));
}

struct krt_loaded *krt_loaded_at(const struct krt_engine *e, uint64_t handle)
{
	struct krt_loaded *l = loaded_find(e, handle);
	uint64_t from = l ? 0 : origin_of(e, handle);

	return from ? loaded_find(e, from) : l;
}

struct krt_loaded *krt_loaded_of(const struct krt_engine *e, const struct krt_kernel_info *k)
{
	struct krt_loaded *l = k->module ? krt_loaded_at(e, k->module) : NULL;
	uint64_t at = k->func;

	/* function, its kernel, its library or module */
	for (unsigned i = 0; !l && i < 2 && at; i++) {
		at = origin_of(e, at);
		l = at ? loaded_find(e, at) : NULL;
	}
	return l;
}

int krt_kernel_text(struct krt_engine *e, const struct krt_kernel_info *k, uint32_t device,
		    struct krt_image_text *out)
{
	const struct krt_loaded *l = krt_loaded_of(e, k);

	if (!e->cfg.text || !k->name)
		return KRT_IMAGE_NONE;
	return e->cfg.text(e->cfg.images, e->cfg.process, l ? l->image : NULL, l ? l->n : 0, k->name,
			   device < KRT_ARCH_DEVICES ? e->arch[device] : 0, out);
}

/* It is as long as the block that a launch was given, or shorter: believed. */
static void lay_out(struct krt_engine *e, struct krt_kernel_info *k, const struct krt_kernel_params *p,
		    const struct krt_cubin_param *list, uint32_t n, uint32_t bytes)
{
	struct krt_param *param = bytes <= p->len ? krt_heap_alloc(&e->heap, n * sizeof(*param)) : NULL;

	if (!param)
		return;
	for (uint32_t i = 0; i < n; i++)
		param[i] = (struct krt_param){list[i].offset, list[i].size};
	krt_heap_free(&e->heap, k->param, 0);
	k->param = param;
	k->nparams = n;
	k->bytes = bytes;
}

void krt_kernel_layout(struct krt_engine *e, struct krt_kernel_info *k,
		       const struct krt_kernel_params *p, uint32_t device)
{
	const struct krt_loaded *l = krt_loaded_of(e, k);
	uint32_t arch = device < KRT_ARCH_DEVICES ? e->arch[device] : 0;
	struct krt_cubin_params found;
	struct krt_image_text text;
	struct krt_layout *room;
	const char *name;
	size_t at = 0, len;

	if (k->nparams != KRT_PARAMS_UNKNOWN || !p->known || !p->bytes || k->layout_known)
		return;
	k->layout_known = true;
	if (!*k->name)
		return;
	if (l && e->cfg.params &&
	    !e->cfg.params(e->cfg.images, e->cfg.process, l->image, l->n, k->name, arch, &found)) {
		lay_out(e, k, p, found.param, found.n, found.bytes);
		free(found.param);
		return;
	}
	if (krt_kernel_text(e, k, device, &text))
		return;
	room = krt_heap_alloc(&e->heap, sizeof(*room));
	while (room && (name = krt_ptx_entry(text.text, text.len, &at, &len)))
		if (len == strlen(k->name) && !memcmp(name, k->name, len)) {
			if (!krt_ptx_layout(text.text, text.len, at, room))
				lay_out(e, k, p, room->param, room->n, room->bytes);
			break;
		}
	krt_heap_free(&e->heap, room, sizeof(*room));
}

void krt_loaded_op(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_loaded *l;
	struct krt_link *link;

	if (!c->ok)
		return;
	switch (c->op) {
	case KRT_OP_MODULE_LOAD:
	case KRT_OP_LIBRARY_LOAD:
		load(e, c);
		break;
	case KRT_OP_MODULE_UNLOAD:
	case KRT_OP_LIBRARY_UNLOAD:
		l = loaded_find(e, c->module);
		if (l)
			loaded_drop(e, l);
		break;
	case KRT_OP_MODULE_FUNCTION:
	case KRT_OP_LIBRARY_MODULE:
		function(e, c->out_handle, c->module ? c->module : c->func);
		break;
	case KRT_OP_LINK_ADD:
		link_add(e, c);
		break;
	case KRT_OP_LINK_COMPLETE:
		link_complete(e, c);
		break;
	case KRT_OP_LINK_END:
		link = link_find(e->links, c->handle);
		if (link)
			link_drop(e, &e->links, link);
		break;
	default:
		break;
	}
}

void krt_loaded_free(struct krt_engine *e)
{
	struct krt_heap *heap = &e->heap;
	struct krt_loaded *l, *ltmp;
	struct krt_func_origin *o, *otmp;
	struct krt_link *k, *ktmp;

	HASH_ITER (hh, e->loaded, l, ltmp)
		loaded_drop(e, l);
	HASH_ITER (hh, e->links, k, ktmp)
		link_drop(e, &e->links, k);
	HASH_ITER (hh, e->linked, k, ktmp)
		link_drop(e, &e->linked, k);
	HASH_ITER (hh, e->origins, o, otmp) {
		HASH_DELETE(hh, e->origins, o);
		krt_heap_free(heap, o, sizeof(*o));
	}
}
