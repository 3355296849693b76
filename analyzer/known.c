/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known of the kernels of a trace (known.h).  Listens to engines; memory
 * is malloc's, as nothing of it is the engines' business.
 */
#define _GNU_SOURCE
#include "known.h"
#include "engine_int.h"
#include "demangle.h"
#include "kernels.h"
#include "mix.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS	     4096
#define ACCESSES_MAX 4096 /* of a launch that are kept */

/* Which kernel a process's kernel record is. */
struct seen {
	const struct krt_engine *e;
	uint32_t id;
	struct krt_known_kernel *kernel;
	struct seen *next;
};

struct krt_known {
	struct krt_kernel_watch watch;
	struct krt_known_kernel *first, **end;
	struct seen *seen[BUCKETS];
	unsigned keep;
	bool out_of_memory;
	/* of the launch in hand */
	struct krt_kernel_access *access;
	size_t n, cap;
};

_Static_assert(KRT_KNOWN_TIERS == KRT_NR_TIERS, "known.h counts all tiers");

/* Zeroed; NULL is remembered. */
static void *get(struct krt_known *k, size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size);

	k->out_of_memory |= !p;
	return p;
}

static char *copy_text(struct krt_known *k, const char *s)
{
	char *p = s ? strdup(s) : NULL;

	k->out_of_memory |= s && !p;
	return p;
}

static void *copy(struct krt_known *k, const void *from, size_t n, size_t size)
{
	void *p = n ? get(k, n, size) : NULL;

	if (p)
		memcpy(p, from, n * size);
	return p;
}

/* --- where an access goes, in words ------------------------------------------------------- */

static void put(char *buf, size_t len, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static void put(char *buf, size_t len, const char *fmt, ...)
{
	size_t n = strlen(buf);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(buf + n, len - n, fmt, ap);
	va_end(ap);
}

static char *where(struct krt_known *k, struct krt_engine *e, const struct krt_kernel_access *a)
{
	const struct krt_block *b = a->mem ? NULL : krt_block_at(&e->mem, a->addr);
	const struct krt_mem *m = a->mem ? a->mem : krt_mem_at(&e->mem, a->addr);
	uint64_t from = a->len ? a->from : a->addr, end = a->len ? a->end : a->addr, base = 0;
	struct krt_buffer buffer;
	char text[512] = "", name[256];

	if (!m && !a->mem)
		m = krt_mem_freed_at(&e->mem, a->addr);
	if (b)
		base = b->node.key;
	else if (m && !a->mem)
		base = m->node.key;
	if (a->len && a->width && a->width < a->stride)
		put(text, sizeof(text), "pieces of %" PRIu64 " bytes, %" PRIu64 " apart, in ", a->width,
		    a->stride);
	if (a->len && a->rows > 1)
		put(text, sizeof(text), "rows of %" PRIu64 " bytes, %" PRIu64 " apart, in ", a->len,
		    a->pitch);
	if (!a->len)
		put(text, sizeof(text), "from +%" PRIu64 " on", a->addr - base);
	else
		put(text, sizeof(text), "[+%" PRIu64 ", +%" PRIu64 ")", from - base, end - base);
	if (b) {
		const char *called = krt_name_at(&e->mem, a->addr);

		put(text, sizeof(text), " of block ");
		if (called)
			put(text, sizeof(text), "\"%s\"", called);
		else
			put(text, sizeof(text), "0x%" PRIx64, base);
		if (b->pool && b->pool->name)
			put(text, sizeof(text), " of pool \"%s\"", b->pool->name);
		put(text, sizeof(text), ", %" PRIu64 " bytes", b->size);
	} else if (m) {
		uint64_t shift = a->mem && m->kind != KRT_MEM_ARRAY ? m->node.key : 0;

		krt_buffer_of(e, m, from + shift, end + shift, &buffer);
		krt_buffer_text(&buffer, name, sizeof(name));
		put(text, sizeof(text), " of %s%s, %" PRIu64 " bytes", m->freed.seq ? "freed " : "", name,
		    m->size);
	} else {
		put(text, sizeof(text), " of 0x%" PRIx64 ", in no memory that is known", a->addr);
	}
	if (a->loaded)
		put(text, sizeof(text), ", by a pointer that lies in memory");
	return copy_text(k, text);
}

/* --- kernels ---------------------------------------------------------------------------------- */

static int by_place(const void *a, const void *b)
{
	const struct krt_flow_slot *x = a, *y = b;

	if (x->param != y->param)
		return x->param < y->param ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static void copy_flow(struct krt_known *k, struct krt_known_kernel *to, const struct krt_flow_info *i)
{
	struct krt_flow_slot *s = copy(k, i->slots, i->nslots, sizeof(*i->slots));
	struct krt_flow_global *g;

	if (s)
		qsort(s, i->nslots, sizeof(*s), by_place);
	to->flow = *i;
	to->flow.slots = s;
	to->flow.globals = g = copy(k, i->globals, i->nglobals, sizeof(*i->globals));
	if (!s)
		to->flow.nslots = 0;
	if (!g)
		to->flow.nglobals = 0;
	for (uint32_t n = 0; n < to->flow.nglobals; n++)
		if (!(g[n].name = copy_text(k, g[n].name)))
			to->flow.nglobals = n;
	to->has_flow = true;
}

static uint32_t device_of(const struct krt_kernel_ask *ask)
{
	return ask->ctx && ask->ctx->known ? ask->ctx->device : 0;
}

static void read_text(struct krt_known *k, struct krt_engine *e, struct krt_known_kernel *to,
		      struct krt_kernel_info *info, uint32_t device, const struct krt_image_text *t)
{
	struct krt_kernel_flow *flow;
	int why = 0;

	if (!to->text) {
		to->from = t->from;
		to->arch = t->arch;
		to->where = copy_text(k, t->where);
	}
	flow = krt_kernel_flow(e, info, device, &why);
	if (flow)
		copy_flow(k, to, krt_flow_info(flow));
	to->not_understood = !flow && why == KRT_NR_IMAGE_RESULTS;
}

static struct krt_known_kernel *kernel_new(struct krt_known *k, struct krt_engine *e,
					   struct krt_kernel_info *info, uint32_t device)
{
	bool laid_out = info->nparams != KRT_PARAMS_UNKNOWN;
	struct krt_known_kernel *to;
	struct krt_image_text t = {0};
	int found = krt_kernel_text(e, info, device, &t);
	uint64_t key = krt_mix_bytes(found ? (uint64_t)found : t.hash, info->name, strlen(info->name));
	const struct krt_name_param *says;

	key = krt_mix(key, info->nparams);
	if (laid_out)
		key = krt_mix_bytes(key, info->param, info->nparams * sizeof(*info->param));
	for (to = k->first; to; to = to->next)
		if (to->key == key)
			return to;
	to = get(k, 1, sizeof(*to));
	if (!to)
		return NULL;
	to->key = key;
	to->name = copy_text(k, info->name);
	to->readable = krt_demangle(info->name);
	if (!to->readable)
		to->readable = copy_text(k, info->name);
	if (!to->name || !to->readable) {
		free(to->name);
		free(to->readable);
		free(to);
		return NULL;
	}
	to->nparams = info->nparams;
	to->bytes = info->bytes;
	if (laid_out)
		to->param = copy(k, info->param, info->nparams, sizeof(*info->param));
	if (!to->param && to->nparams != KRT_PARAMS_UNKNOWN)
		to->nparams = info->nparams ? KRT_PARAMS_UNKNOWN : 0;
	to->text = found;
	read_text(k, e, to, info, device, &t);
	says = krt_kernel_names(e, info);
	if (says && laid_out)
		to->says = copy(k, says, info->nparams, sizeof(*says));
	*k->end = to;
	k->end = &to->next;
	return to;
}

static struct krt_known_kernel *kernel_of(struct krt_known *k, struct krt_engine *e,
					  struct krt_kernel_info *info, uint32_t device)
{
	struct seen **at = &k->seen[krt_mix((uintptr_t)e, info->id) % BUCKETS], *s;

	for (s = *at; s; s = s->next)
		if (s->e == e && s->id == info->id)
			return s->kernel;
	s = get(k, 1, sizeof(*s));
	if (!s)
		return NULL;
	*s = (struct seen){.e = e, .id = info->id, .next = *at};
	s->kernel = kernel_new(k, e, info, device);
	if (!s->kernel) {
		free(s);
		return NULL;
	}
	*at = s;
	return s->kernel;
}

/* What the kernels file says of it, and whether this launch fits. */
static void read_line(struct krt_known *k, struct krt_engine *e, struct krt_known_kernel *to,
		      const struct krt_kernel_info *info, const struct krt_kernel_params *p)
{
	const struct krt_kernels_line *line =
		e->cfg.kernels ? krt_kernels_find(e->cfg.kernels, info->name, info->param, info->nparams)
			       : NULL;
	struct krt_kernels_launch l = {
		.param = info->param, .nparams = info->nparams, .params = p->bytes, .len = p->len};

	if (!line)
		return;
	if (!to->line_of) {
		to->line_of = copy_text(k, krt_kernels_source(line));
		to->line = krt_kernels_number(line);
	}
	memcpy(l.grid, p->grid, sizeof(l.grid));
	memcpy(l.block, p->block, sizeof(l.block));
	if (!to->useless)
		to->useless = p->known ? krt_kernels_why(line, &l) : "its parameters are not known";
	to->line_only_syncs = krt_kernels_synchronises(line);
}

/* --- launches ------------------------------------------------------------------------------- */

/* The scan's sorts are told apart here. */
static const char *know_text(enum krt_knowledge know)
{
	return know == KRT_KNOW_POINTER ? "scan: a plain pointer"
	       : know == KRT_KNOW_WORD	? "scan: a word that is an address"
					: krt_know_text(know);
}

static void add_accesses(struct krt_known *k, struct krt_engine *e, struct krt_known_launch *l)
{
	struct krt_known_access **end = &l->access;

	for (size_t i = 0; i < k->n; i++) {
		const struct krt_kernel_access *a = &k->access[i];
		struct krt_known_access *to = get(k, 1, sizeof(*to));

		if (!to)
			return;
		*to = (struct krt_known_access){
			.kind = krt_what_of(a->kind),
			.know = know_text(a->know),
			.sure = krt_sureness_text(a->len ? a->sure : KRT_SURE_FROM),
			.from_param = a->within || a->know == KRT_KNOW_ROLE ||
				      a->know == KRT_KNOW_KERNELS_FILE,
			.param = a->param,
			.offset = a->offset,
			.where = where(k, e, a),
		};
		*end = to;
		end = &to->next;
	}
}

static void on_access(void *user, struct krt_engine *e, const struct krt_kernel_access *a)
{
	struct krt_known *k = user;
	size_t cap = k->cap ? 2 * k->cap : 64;
	void *more;

	(void)e;
	if (k->n >= ACCESSES_MAX)
		return;
	if (k->n == k->cap) {
		more = realloc(k->access, cap * sizeof(*k->access));
		if (!more) {
			k->out_of_memory = true;
			return;
		}
		k->access = more;
		k->cap = cap;
	}
	k->access[k->n++] = *a;
}

static void on_told(void *user, struct krt_engine *e, const struct krt_kernel_params *p,
		    const struct krt_kernel_ask *ask, enum krt_tier tier)
{
	struct krt_known *k = user;
	struct krt_kernel_info *info = krt_kernel_get(&e->obj, p->kernel);
	struct krt_known_kernel *kernel;
	struct krt_known_launch *l, **end;
	uint64_t hash = krt_mix_bytes(tier, p->grid, sizeof(p->grid));
	unsigned kept = 0;
	char name[128];

	if (!info || !info->name)
		goto out;
	kernel = kernel_of(k, e, info, device_of(ask));
	if (!kernel)
		goto out;
	(ask->use_up ? kernel->launches : kernel->nodes)[tier]++;
	hash = krt_mix_bytes(hash, p->block, sizeof(p->block));
	hash = krt_mix(krt_mix(hash, p->shared), ask->use_up);
	if (p->known)
		hash = krt_mix_bytes(hash, p->bytes, p->len);
	for (end = &kernel->launch; *end; end = &(*end)->next, kept++)
		if ((*end)->hash == hash) {
			(*end)->times++;
			goto out;
		}
	if (kept >= k->keep) {
		kernel->others++;
		goto out;
	}
	read_line(k, e, kernel, info, p);
	l = get(k, 1, sizeof(*l));
	if (!l)
		goto out;
	l->hash = hash;
	l->seq = ask->use_up && ask->call ? ask->call->rec->t0 : 0;
	memcpy(l->grid, p->grid, sizeof(l->grid));
	memcpy(l->block, p->block, sizeof(l->block));
	l->shared = p->shared;
	l->tier = tier;
	l->times = 1;
	l->opaque = ask->opaque;
	if (ask->use_up && ask->stream)
		l->stream = copy_text(k, krt_stream_text(ask->stream, name, sizeof(name)));
	add_accesses(k, e, l);
	*end = l;
out:
	k->n = 0;
}

/* --- the whole -------------------------------------------------------------------------------- */

struct krt_known *krt_known_new(unsigned keep)
{
	struct krt_known *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	k->watch = (struct krt_kernel_watch){.user = k, .access = on_access, .told = on_told};
	k->end = &k->first;
	k->keep = keep;
	return k;
}

const struct krt_kernel_watch *krt_known_watch(struct krt_known *k)
{
	return &k->watch;
}

const struct krt_known_kernel *krt_known_first(const struct krt_known *k)
{
	return k->first;
}

bool krt_known_short(const struct krt_known *k)
{
	return k->out_of_memory;
}

static void launch_free(struct krt_known_launch *l)
{
	for (struct krt_known_access *a = l->access, *next; a; a = next) {
		next = a->next;
		free(a->where);
		free(a);
	}
	free(l->stream);
	free(l);
}

static void kernel_free(struct krt_known_kernel *k)
{
	for (struct krt_known_launch *l = k->launch, *next; l; l = next) {
		next = l->next;
		launch_free(l);
	}
	for (uint32_t i = 0; i < k->flow.nglobals; i++)
		free((char *)k->flow.globals[i].name);
	free((void *)k->flow.globals);
	free((void *)k->flow.slots);
	free(k->name);
	free(k->readable);
	free(k->param);
	free(k->where);
	free(k->says);
	free(k->line_of);
	free(k);
}

void krt_known_free(struct krt_known *k)
{
	if (!k)
		return;
	for (struct krt_known_kernel *i = k->first, *next; i; i = next) {
		next = i->next;
		kernel_free(i);
	}
	for (unsigned b = 0; b < BUCKETS; b++)
		for (struct seen *s = k->seen[b], *next; s; s = next) {
			next = s->next;
			free(s);
		}
	free(k->access);
	free(k);
}
