/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a kernel accesses, by the first tier that tells: what the program
 * declared (krtsan_access), the kernels file, the library call that the launch is
 * a part of, its PTX, its mangled name, the pointers among its parameters.
 *
 * PTX is analysed once per text and kernel name, at the first launch; what is
 * known is kept within a limit, the longest unused goes first.  The ranges of a
 * launch depend on its parameters and size alone and are kept for the next one of
 * the same; also of the same but for pointers that only say where ranges begin.  What they lead to is looked up at every launch.
 *
 * A slot whose value leads to no memory, alive or freed, is no pointer.
 */
#include "engine_int.h"
#include "image_store.h"
#include "mix.h"
#include "names.h"
#include "ptx/flow.h"

#include <stdlib.h>
#include <string.h>

#define INSIGHT_BYTES ((size_t)192 << 20) /* of all that is known by PTX */
#define EVALS	      16		  /* launches of one kernel that are kept */
#define TABLE_MAX     4096		  /* pointers that one launch finds in memory */
#define OPERANDS_MAX  64		  /* of one library call */

/* --- what PTX says of a kernel ------------------------------------------------------ */

/* Ranges of one launch. */
struct eval {
	uint64_t hash;	 /* of what is fixed */
	uint8_t *params; /* those that count, one after the other: all; those that are fixed */
	uint32_t len, n;
	uint32_t grid[3], block[3];
	struct krt_flow_range *range;
	struct krt_flow_reach reach;
	bool used, good; /* good: parameters were there */
	bool moves;	 /* pointers that are not fixed may be others */
};

struct krt_insight {
	struct {
		uint64_t text, name;
	} key;
	struct krt_kernel_flow *flow; /* NULL: not understood */
	bool gone;		      /* it made room for others: to be made again */
	size_t bytes;
	struct eval eval[EVALS];
	unsigned next;
	struct krt_insight *newer, *older;
	UT_hash_handle hh;
};

static void eval_drop(struct krt_engine *e, struct krt_insight *i, struct eval *v)
{
	size_t bytes = v->len + v->n * sizeof(*v->range);

	if (!v->used)
		return;
	krt_heap_free(&e->heap, v->params, v->len);
	krt_heap_free(&e->heap, v->range, v->n * sizeof(*v->range));
	i->bytes -= bytes;
	e->insights.bytes -= bytes;
	memset(v, 0, sizeof(*v));
}

/* Its content; who refers to it finds that it is gone. */
static void insight_empty(struct krt_engine *e, struct krt_insight *i)
{
	for (unsigned k = 0; k < EVALS; k++)
		eval_drop(e, i, &i->eval[k]);
	krt_flow_free(i->flow);
	i->flow = NULL;
	i->gone = true;
	e->insights.bytes -= i->bytes;
	i->bytes = 0;
}

static void unlink_insight(struct krt_insights *all, struct krt_insight *i)
{
	*(i->newer ? &i->newer->older : &all->newest) = i->older;
	*(i->older ? &i->older->newer : &all->oldest) = i->newer;
	i->newer = i->older = NULL;
}

static void use_insight(struct krt_insights *all, struct krt_insight *i)
{
	if (all->newest == i)
		return;
	if (i->newer || i->older || all->oldest == i)
		unlink_insight(all, i);
	i->older = all->newest;
	*(i->older ? &i->older->newer : &all->oldest) = i;
	all->newest = i;
}

static void make_room(struct krt_engine *e)
{
	struct krt_insights *all = &e->insights;

	while (all->bytes > INSIGHT_BYTES && all->oldest != all->newest) {
		struct krt_insight *i = all->oldest;

		unlink_insight(all, i);
		insight_empty(e, i);
	}
}

static struct krt_insight *insight_get(struct krt_engine *e, uint64_t text, const char *name)
{
	struct krt_heap *heap = &e->heap;
	struct krt_insight *i, key;

	memset(&key, 0, sizeof(key));
	key.key.text = text;
	key.key.name = krt_mix_bytes(0, name, strlen(name));
	HASH_FIND(hh, e->insights.by_text, &key.key, sizeof(key.key), i);
	if (i)
		return i;
	i = krt_heap_alloc(heap, sizeof(*i));
	if (!i)
		return NULL;
	i->key = key.key;
	i->gone = true;
	HASH_ADD(hh, e->insights.by_text, key, sizeof(i->key), i);
	if (i->hh.tbl)
		return i;
	krt_heap_free(heap, i, sizeof(*i));
	return NULL;
}

static void look_up(struct krt_engine *e, struct krt_kernel_info *k, uint32_t device)
{
	const struct krt_loaded *l = krt_loaded_of(e, k);
	struct krt_image_text text;
	struct krt_insight *i;
	struct ptx_module *m;

	k->insight_loads = e->loads;
	/* unloaded, and the handle is nobody else's yet: what was known still is */
	if (k->insight_known && (!l || l->serial == k->insight_of) &&
	    !(k->insight && k->insight->gone))
		return;
	k->insight_known = true;
	k->insight_of = l ? l->serial : 0;
	k->insight = NULL;
	k->why = krt_kernel_text(e, k, device, &text);
	if (k->why != KRT_IMAGE_FOUND)
		return;
	i = insight_get(e, text.hash, k->name);
	if (!i)
		return;
	k->insight = i;
	if (!i->gone)
		return;
	m = ptx_parse_lazy(text.text, text.len, NULL);
	i->flow = krt_flow_new(m, k->name, NULL);
	ptx_free(m);
	i->gone = false;
	i->bytes = i->flow ? krt_flow_memory(i->flow) : 0;
	e->insights.bytes += i->bytes;
	use_insight(&e->insights, i);
	make_room(e);
}

struct krt_kernel_flow *krt_kernel_flow(struct krt_engine *e, struct krt_kernel_info *k,
					uint32_t device, int *why)
{
	if (!k->insight_known || k->insight_loads != e->loads || (k->insight && k->insight->gone))
		look_up(e, k, device);
	if (k->insight)
		use_insight(&e->insights, k->insight);
	if (why)
		*why = k->insight && !k->insight->flow ? KRT_NR_IMAGE_RESULTS : k->why;
	return k->insight ? k->insight->flow : NULL;
}

void krt_kernels_gone(struct krt_engine *e)
{
	struct krt_heap *heap = &e->heap;
	struct krt_insight *i, *tmp;

	HASH_ITER (hh, e->insights.by_text, i, tmp) {
		insight_empty(e, i);
		HASH_DELETE(hh, e->insights.by_text, i);
		krt_heap_free(heap, i, sizeof(*i));
	}
	krt_heap_free(heap, e->insights.range, e->insights.cap * sizeof(*e->insights.range));
	krt_heap_free(heap, e->insights.moved, e->insights.moved_cap * sizeof(*e->insights.moved));
	krt_heap_free(heap, e->insights.params, e->insights.params_cap);
}

/* --- ranges of one launch ----------------------------------------------------------- */

static bool gaps(const struct krt_flow_range *r)
{
	return (r->rows > 1 && r->pitch > r->row) || r->stride > r->width;
}

/* What surely happens before what may, hulls before what has gaps. */
static unsigned stage(const struct krt_flow_range *r)
{
	return (r->must ? 0u : 2u) + gaps(r);
}

static int by_place(const void *x, const void *y)
{
	const struct krt_flow_range *a = x, *b = y;

#define CMP(F)                                                                                     \
	if (a->F != b->F)                                                                          \
	return a->F < b->F ? -1 : 1
	CMP(kind); /* reads first, as in the kernel */
	CMP(slot);
	CMP(global);
	CMP(site);
	CMP(whole);
	CMP(base);
	if (stage(a) != stage(b))
		return stage(a) < stage(b) ? -1 : 1;
	CMP(loose);
	CMP(lo);
	CMP(hi);
	CMP(stride);
	CMP(width);
	CMP(pitch);
	CMP(row);
#undef CMP
	return 0;
}

static bool same_group(const struct krt_flow_range *a, const struct krt_flow_range *b)
{
	return a->slot == b->slot && a->global == b->global && a->site == b->site && a->kind == b->kind &&
	       a->whole == b->whole && a->base == b->base;
}

/* Ranges of one group that are alike: of ascending starts; hulls do not touch each other. */
struct alike {
	struct krt_flow_range *first;
	uint32_t n;
};

/* Is r in one of the hulls? */
static bool inside(const struct krt_flow_range *r, const struct alike *l)
{
	uint32_t lo = 0, hi = l->n;

	while (lo < hi) { /* behind the last that starts no later */
		uint32_t m = (lo + hi) / 2;

		if (l->first[m].lo <= r->lo)
			lo = m + 1;
		else
			hi = m;
	}
	return lo && !gaps(&l->first[lo - 1]) && r->hi <= l->first[lo - 1].hi;
}

/* Does r only go on where a range like it ends?  Then that one is longer. */
static bool goes_on(const struct krt_flow_range *r, const struct alike *l)
{
	/* with gaps several that are unrolled may be woven into each other */
	uint32_t few = gaps(r) ? 16 : 1;

	for (uint32_t i = l->n; i-- && few--;) {
		struct krt_flow_range *a = &l->first[i];

		if (!gaps(r) && r->lo <= a->hi) {
			a->hi = r->hi > a->hi ? r->hi : a->hi;
			a->row = a->pitch = a->hi - a->lo;
			return true;
		}
		/* unrolled: the next element of every piece */
		if (gaps(r) && gaps(a) && a->rows <= 1 && r->rows <= 1 && a->stride == r->stride &&
		    r->lo == a->lo + a->width && r->hi == a->hi + r->width) {
			a->width += r->width;
			a->hi = r->hi;
			a->row = a->pitch = a->hi - a->lo;
			return true;
		}
	}
	return false;
}

#define MAX_ALIKE 8 /* stages, loose or not */

/* Accesses of one slot and kind are brought together in out; returns how many they are. */
static uint32_t merge(struct krt_flow_range *r, uint32_t n, struct krt_flow_range *out)
{
	struct alike list[MAX_ALIKE] = {0};
	uint32_t made = 0, lists = 0;

	qsort(r, n, sizeof(*r), by_place);
	for (uint32_t i = 0; i < n; i++) {
		bool known = i && same_group(&r[i - 1], &r[i]), in = false;

		if (!known)
			lists = 0;
		if (!known || stage(&r[i - 1]) != stage(&r[i]) || r[i - 1].loose != r[i].loose)
			list[lists++] = (struct alike){.first = &out[made]};
		if (r[i].whole) {
			if (!known)
				out[made++] = r[i];
			continue;
		}
		for (uint32_t k = 0; k < lists && !in; k++)
			in = inside(&r[i], &list[k]);
		if (in || goes_on(&r[i], &list[lists - 1]))
			continue;
		out[made++] = r[i];
		list[lists - 1].n++;
	}
	return made;
}

static void gather(void *user, const struct krt_flow_range *r)
{
	struct krt_engine *e = user;
	struct krt_insights *all = &e->insights;

	if (!r->whole && r->lo >= r->hi)
		return;
	if (krt_heap_grow(&e->heap, &all->range, &all->cap, all->n, sizeof(*r)))
		all->range[all->n++] = *r;
}

/* Parameters that change what is accessed: a seed or a factor that is new every time does not. */
static uint64_t hash_of(const struct krt_flow_info *info, const struct krt_kernel_params *p)
{
	uint64_t hash = krt_mix_bytes(krt_mix_bytes(0, p->grid, sizeof(p->grid)), p->block,
				      sizeof(p->block));

	for (uint32_t i = 0; i < info->nfixed; i++)
		hash = krt_mix_bytes(hash, p->bytes + info->fixed[i].at, info->fixed[i].len);
	return hash;
}

static uint32_t span_bytes(const struct krt_flow_span *s, uint32_t n)
{
	uint32_t sum = 0;

	while (n)
		sum += s[--n].len;
	return sum;
}

/* own: the spans, one after the other. */
static bool same_spans(const struct krt_flow_span *s, uint32_t n, const uint8_t *own,
		       const struct krt_kernel_params *p)
{
	for (uint32_t i = 0; i < n; own += s[i++].len)
		if (memcmp(own, p->bytes + s[i].at, s[i].len))
			return false;
	return true;
}

static uint8_t *take_spans(const struct krt_flow_span *s, uint32_t n, uint8_t *own,
			   const struct krt_kernel_params *p)
{
	for (uint32_t i = 0; i < n; own += s[i++].len)
		memcpy(own, p->bytes + s[i].at, s[i].len);
	return own;
}

static bool same_launch(const struct krt_flow_info *info, const struct krt_kernel_params *p,
			const struct eval *v, bool moved)
{
	uint32_t all = span_bytes(info->used, info->nused);

	if (memcmp(v->grid, p->grid, sizeof(p->grid)) ||
	    memcmp(v->block, p->block, sizeof(p->block)))
		return false;
	return moved ? same_spans(info->fixed, info->nfixed, v->params + all, p)
		     : same_spans(info->used, info->nused, v->params, p);
}

/* The ranges of a launch with other pointers, into *out; NULL: no memory. */
static const struct eval *move(struct krt_engine *e, const struct krt_flow_info *info,
			       const struct eval *v, const struct krt_kernel_params *p,
			       struct eval *out)
{
	struct krt_insights *all = &e->insights;

	while (all->moved_cap < v->n)
		if (!krt_heap_grow(&e->heap, &all->moved, &all->moved_cap, all->moved_cap,
				   sizeof(*all->moved)))
			return NULL;
	for (uint32_t i = 0; i < v->n; i++) {
		struct krt_flow_range *r = &all->moved[i];
		uint64_t by;

		*r = v->range[i];
		if (r->slot == KRT_FLOW_NO_SLOT || !info->moves[r->slot])
			continue;
		memcpy(&by, p->bytes + info->slots[r->slot].at, 8);
		by -= r->base;
		r->base += by;
		if (!r->whole) {
			r->lo += by;
			r->hi += by;
		}
	}
	*out = (struct eval){.range = all->moved, .n = v->n, .used = true, .good = true};
	return out;
}

/* room: for an answer that is not kept.  NULL: no memory. */
static const struct eval *evaluate(struct krt_engine *e, struct krt_insight *i,
				   const struct krt_kernel_params *p, struct eval *room)
{
	static const struct eval missing; /* not good */
	const struct krt_flow_info *info = krt_flow_info(i->flow);
	struct krt_flow_launch l = {
		.dyn_shared = p->shared, .params = p->bytes, .len = p->len};
	struct eval *v;
	uint64_t hash;
	size_t bytes;

	if (p->len < info->param_bytes)
		return &missing;
	hash = hash_of(info, p);
	for (unsigned k = 0; k < EVALS; k++) {
		v = &i->eval[k];
		if (!v->used || v->hash != hash)
			continue;
		if (same_launch(info, p, v, false))
			return v;
		if (v->moves && same_launch(info, p, v, true) &&
		    krt_flow_may_move(i->flow, &l, &v->reach))
			return move(e, info, v, p, room);
	}
	v = &i->eval[i->next++ % EVALS];
	eval_drop(e, i, v);
	bytes = span_bytes(info->used, info->nused) + span_bytes(info->fixed, info->nfixed);
	v->params = krt_heap_alloc(&e->heap, bytes + 1);
	if (!v->params)
		return NULL;
	v->used = true;
	v->hash = hash;
	v->len = (uint32_t)bytes + 1;
	take_spans(info->fixed, info->nfixed, take_spans(info->used, info->nused, v->params, p), p);
	memcpy(v->grid, p->grid, sizeof(v->grid));
	memcpy(v->block, p->block, sizeof(v->block));
	memcpy(l.grid, p->grid, sizeof(l.grid));
	memcpy(l.block, p->block, sizeof(l.block));
	e->insights.n = 0;
	v->good = krt_flow_eval(i->flow, &l, gather, e);
	v->moves = v->good && krt_flow_moved(i->flow, &l, &v->reach);
	if (e->insights.n) {
		struct krt_flow_range *out =
			krt_heap_alloc(&e->heap, e->insights.n * sizeof(*out));

		if (out) {
			v->n = merge(e->insights.range, e->insights.n, out);
			v->range = krt_heap_resize(&e->heap, out, e->insights.n * sizeof(*out),
						   v->n * sizeof(*out));
			if (!v->range) {
				krt_heap_free(&e->heap, out, e->insights.n * sizeof(*out));
				v->n = 0;
			}
		}
	}
	bytes = v->len + v->n * sizeof(*v->range);
	i->bytes += bytes;
	e->insights.bytes += bytes;
	make_room(e); /* i was used last: it stays */
	return e->heap.failed ? NULL : v;
}

/* --- telling ------------------------------------------------------------------------ */

struct telling {
	struct krt_engine *e;
	const struct krt_kernel_params *p;
	const struct krt_kernel_info *k;
	struct krt_kernel_ask *ask;
	const struct krt_flow_info *info; /* of its PTX; NULL: there is none */
	struct krt_kernel_params laid;	  /* p, where the slots of its PTX say that words are */
	bool role_only; /* of something its bytes are not known */
};

static uint64_t word_at(const struct krt_kernel_params *p, uint32_t off)
{
	uint64_t v;

	memcpy(&v, p->bytes + off, 8);
	return v;
}

static bool is_memory(const struct telling *t, uint64_t addr)
{
	return addr > 4096 && t->ask->is_memory(t->ask->user, addr);
}

/* What it does is told. */
static void tell(const struct telling *t, const struct krt_kernel_access *a)
{
	t->ask->writes |= a->kind != KRT_ACC_READ && (!a->len || a->end - a->from > KRT_FLAG_BYTES);
	t->ask->fn(t->ask->user, a);
}

static void tell_pointer(const struct telling *t, struct krt_kernel_access *a, unsigned kinds)
{
	a->len = 0;
	a->base = a->addr;
	a->from = a->addr;
	a->end = a->addr + 1;
	a->sure = KRT_SURE_FROM;
	for (unsigned bit = KRT_ACC_READ; bit <= KRT_ACC_UNKNOWN; bit <<= 1)
		if (kinds & bit) {
			a->kind = bit;
			tell(t, a);
		}
}

/* A tensor map among the parameters of a kernel of which nothing else is known. */
static void map_pointer(void *user, const struct krt_kernel_access *a)
{
	struct krt_kernel_access own = *a;

	if (is_memory(user, own.addr))
		tell_pointer(user, &own, KRT_ACC_UNKNOWN);
}

/* Are all words of the parameter addresses of memory, or 0? */
static bool is_pure(const struct telling *t, uint32_t off, uint32_t size)
{
	bool pure = !(size % 8);

	for (uint32_t at = 0; pure && at < size; at += 8)
		pure = !word_at(t->p, off + at) || is_memory(t, word_at(t->p, off + at));
	return pure;
}

/* Every word of a parameter that leads to memory; kinds 0: nothing else is known. */
static void scan_param(const struct telling *t, uint32_t i, unsigned kinds)
{
	uint32_t off = t->k->param[i].offset, size = t->k->param[i].size;
	struct krt_kernel_access a = {.param = i, .within = size};

	if (off > t->p->len || size > t->p->len - off)
		return;
	a.know = size == 8 ? KRT_KNOW_POINTER : KRT_KNOW_WORD;
	if (kinds && size == 8)
		a.know = KRT_KNOW_ROLE;
	a.pure = is_pure(t, off, size);
	for (uint32_t at = 0; at + 8 <= size; at += 8) {
		a.addr = word_at(t->p, off + at);
		a.offset = at;
		if (is_memory(t, a.addr))
			tell_pointer(t, &a, kinds ? kinds : KRT_ACC_UNKNOWN);
	}
	if (!kinds) {
		a.know = KRT_KNOW_WORD;
		a.pure = true;
		krt_tensor_maps_in(t->e, t->p->bytes + off, size, &a, map_pointer, (void *)t);
	}
}

static bool has_params(const struct telling *t)
{
	return t->k && t->p->known && t->k->nparams != KRT_PARAMS_UNKNOWN;
}

/* A block of parameters of which only the size is known: any word may be a pointer. */
static void scan_block(const struct telling *t)
{
	struct krt_kernel_access a = {.know = KRT_KNOW_WORD, .within = t->p->len};

	if (!t->p->known || !t->p->bytes)
		return;
	a.pure = is_pure(t, 0, t->p->len);
	for (uint32_t at = 0; at + 8 <= t->p->len; at += 8) {
		a.addr = word_at(t->p, at);
		a.offset = at;
		if (is_memory(t, a.addr))
			tell_pointer(t, &a, KRT_ACC_UNKNOWN);
	}
}

void krt_kernel_scan(struct krt_engine *e, const struct krt_kernel_params *p,
		     bool (*memory)(void *user, uint64_t addr), krt_kernel_fn *fn, void *user)
{
	struct krt_kernel_ask ask = {.is_memory = memory, .fn = fn, .user = user};
	struct telling t = {
		.e = e, .p = p, .k = krt_kernel_get(&e->obj, p->kernel), .ask = &ask};

	if (t.k)
		krt_kernel_layout(e, krt_kernel_get(&e->obj, p->kernel), p, UINT32_MAX);
	for (uint32_t i = 0; has_params(&t) && i < t.k->nparams; i++)
		scan_param(&t, i, 0);
	if (t.k && !has_params(&t))
		scan_block(&t);
}

struct extent {
	uint64_t from, end;
};

/* What an address leads to; a hull may reach beyond a pool's block, a sure range does not. */
static struct extent extent_of(const struct telling *t, uint64_t addr, bool must)
{
	const struct krt_mem *m = krt_mem_at(&t->e->mem, addr);
	const struct krt_block *b = m && !must ? krt_block_at(&t->e->mem, addr) : NULL;

	if (b)
		return (struct extent){b->node.key, b->node.key + b->size};
	if (!m)
		m = krt_mem_freed_at(&t->e->mem, addr);
	if (!m || !m->size) /* a graph's own: who asks knows */
		return (struct extent){0, UINT64_MAX};
	return (struct extent){m->node.key, m->node.key + m->size};
}

/* --- the program's word and the kernels file ------------------------------------------ */

void krt_kernel_by_flags(uint64_t addr, uint64_t len, unsigned flags, enum krt_knowledge know,
			 krt_kernel_fn *fn, void *user)
{
	struct krt_kernel_access a = {.addr = addr,
				      .len = len,
				      .from = addr,
				      .end = len > UINT64_MAX - addr ? UINT64_MAX : addr + len,
				      .know = know};
	/* KRTSAN_* of the annotation header, KRT_KERNELS_* of the kernels file */
	static const struct {
		unsigned flag, kind;
	} kinds[] = {
		{1, KRT_ACC_READ},
		{2, KRT_ACC_WRITE},
		{4, KRT_ACC_ATOMIC},
	};

	/* atomic says how it reads and writes */
	if (flags & 4)
		flags = 4;
	for (unsigned i = 0; i < 3; i++)
		if (flags & kinds[i].flag) {
			a.kind = kinds[i].kind;
			fn(user, &a);
		}
}

static void file_access(void *user, const struct krt_kernels_access *f)
{
	const struct telling *t = user;
	struct krt_kernel_access a = {.addr = f->addr,
				      .len = f->len,
				      .rows = f->rows,
				      .pitch = f->pitch,
				      .stride = f->stride,
				      .width = f->width,
				      .base = f->base,
				      .know = KRT_KNOW_KERNELS_FILE,
				      .sure = f->loose ? KRT_SURE_LIMIT
					      : f->sure == KRT_SURE_SOME
						      ? KRT_SURE_WITHIN /* which bytes, data decide */
						      : f->sure,
				      .param = f->arg,
				      .offset = f->offset};
	struct extent x = {0, UINT64_MAX};
	uint64_t end;

	t->ask->vague |= !f->len || f->loose;
	if (!f->len) {
		if (is_memory(t, a.addr))
			tell_pointer(t, &a, f->role);
		return;
	}
	a.from = f->addr;
	if (__builtin_mul_overflow(f->rows > 1 ? f->rows - 1 : 0, f->pitch, &a.end) ||
	    __builtin_add_overflow(a.end, f->len, &a.end) ||
	    __builtin_add_overflow(a.end, f->addr, &a.end))
		a.end = UINT64_MAX;
	/* where the pointer leads nowhere, a limit ends where what it is in does */
	if (is_memory(t, a.base))
		x = extent_of(t, a.base, false);
	else if (a.sure != KRT_SURE_ALL)
		x = extent_of(t, a.addr, false);
	end = a.end;
	a.from = a.from > x.from ? a.from : x.from;
	a.end = a.end < x.end ? a.end : x.end;
	/* no kernel reaches beyond its memory: the line is wrong here, and little is sure */
	if (a.sure == KRT_SURE_ALL && (a.from != f->addr || a.end != end)) {
		a.sure = KRT_SURE_WITHIN;
		t->ask->vague = true;
	}
	if (f->rows <= 1 && f->stride <= f->width && a.from < a.end) {
		a.addr = a.from;
		a.len = a.pitch = a.end - a.from;
	}
	for (unsigned bit = KRT_ACC_READ; a.from < a.end && bit <= KRT_ACC_ATOMIC; bit <<= 1)
		if (f->role & bit) {
			a.kind = bit;
			tell(t, &a);
		}
}

static bool by_file(struct telling *t)
{
	struct krt_kernel_info *k = t->e->cfg.kernels && t->p->known
					    ? krt_kernel_get(&t->e->obj, t->p->kernel)
					    : NULL;
	struct krt_kernels_launch l;

	if (!k)
		return false;
	if (!k->line_known) {
		k->line = krt_kernels_find(t->e->cfg.kernels, k->name, k->param, k->nparams);
		k->line_known = true;
	}
	if (!k->line || (t->info && krt_kernels_yields(k->line)))
		return false;
	l = (struct krt_kernels_launch){.param = k->param,
					.nparams = k->nparams,
					.params = t->p->bytes,
					.len = t->p->len};
	memcpy(l.grid, t->p->grid, sizeof(l.grid));
	memcpy(l.block, t->p->block, sizeof(l.block));
	if (krt_kernels_synchronises(k->line))
		t->ask->flags |= KRT_FLOW_SPINS;
	return krt_kernels_eval(k->line, &l, file_access, t) == KRT_KERNELS_DECLARED;
}

/* --- a library's call ------------------------------------------------------------------- */

struct operands {
	const struct telling *t;
	const struct krt_mem *mem[OPERANDS_MAX];
	const struct krt_block *block[OPERANDS_MAX];
	unsigned n;
};

static void operand(void *user, const struct krt_kernel_access *a)
{
	struct operands *o = user;
	const struct telling *t = o->t;

	if (o->n < OPERANDS_MAX && !a->mem) {
		o->mem[o->n] = krt_mem_at(&t->e->mem, a->addr);
		o->block[o->n++] = krt_block_at(&t->e->mem, a->addr);
	}
	tell(t, a);
}

static bool is_operand(const struct operands *o, uint64_t addr)
{
	const struct krt_mem *mem = krt_mem_at(&o->t->e->mem, addr);
	const struct krt_block *block = krt_block_at(&o->t->e->mem, addr);

	for (unsigned i = 0; i < o->n; i++)
		if (mem == o->mem[i] && block == o->block[i])
			return true;
	return false;
}

/*
 * Its operands, and a workspace that it was given, are exact.  What else lies in the
 * parameters may be left over from other calls: words of a list, at most.
 */
static bool by_library(struct telling *t)
{
	struct operands o; /* large: not cleared */

	o.t = t;
	o.n = 0;
	if (!t->ask->stream || !krt_library_accesses(t->e, t->ask->call, operand, &o))
		return false;
	for (uint32_t i = 0; has_params(t) && i < t->k->nparams; i++) {
		uint32_t off = t->k->param[i].offset, size = t->k->param[i].size;
		struct krt_kernel_access a = {
			.know = KRT_KNOW_WORD, .param = i, .within = KRT_LIST_FROM + 1};

		if (off > t->p->len || size > t->p->len - off)
			continue;
		for (uint32_t at = 0; at + 8 <= size; at += 8) {
			a.addr = word_at(t->p, off + at);
			a.offset = at;
			if (is_memory(t, a.addr) && !is_operand(&o, a.addr))
				tell_pointer(t, &a, KRT_ACC_UNKNOWN);
		}
	}
	return true;
}

/* --- PTX ---------------------------------------------------------------------------------- */

_Static_assert(KRT_FLOW_READ == KRT_ACC_READ && KRT_FLOW_WRITE == KRT_ACC_WRITE &&
		       KRT_FLOW_ATOMIC == KRT_ACC_ATOMIC,
	       "roles are access kinds");

/* Is the text that of this kernel?  Its parameters have the sizes that the driver says. */
static bool fits(const struct telling *t, const struct krt_flow_info *info)
{
	if (t->k->nparams == KRT_PARAMS_UNKNOWN)
		return true;
	if (info->nparams != t->k->nparams)
		return false;
	for (uint32_t i = 0; i < info->nslots; i++) {
		const struct krt_flow_slot *s = &info->slots[i];

		if (s->param >= t->k->nparams || t->k->param[s->param].size != s->size)
			return false;
	}
	return true;
}

/*
 * The parameters as the PTX lays them out.  The driver aligns more than 16 bytes
 * where the bank that holds them has them, and that does not begin so aligned: a
 * tensor map behind a pointer lies at 48, not at 64 (seen on sm_90).
 */
static bool lay_out(struct telling *t, const struct krt_flow_info *info)
{
	struct krt_insights *all = &t->e->insights;
	const struct krt_kernel_params *p = t->p;
	bool same = true;
	uint8_t *grown;

	t->laid = *p;
	if (!p->known || !p->bytes || t->k->nparams == KRT_PARAMS_UNKNOWN)
		return true;
	for (uint32_t i = 0; i < info->nparams; i++)
		same &= info->param_at[i] == t->k->param[i].offset;
	if (same)
		return true;
	if (info->param_bytes > all->params_cap) {
		grown = krt_heap_resize(&t->e->heap, all->params, all->params_cap, info->param_bytes);
		if (!grown)
			return false;
		all->params = grown;
		all->params_cap = (uint32_t)info->param_bytes;
	}
	memset(all->params, 0, info->param_bytes);
	for (uint32_t i = 0; i < info->nparams; i++) {
		uint64_t size = t->k->param[i].size, from = t->k->param[i].offset;

		if (from > p->len || size > p->len - from || info->param_at[i] > info->param_bytes ||
		    size > info->param_bytes - info->param_at[i])
			return false;
		memcpy(all->params + info->param_at[i], p->bytes + from, size);
	}
	t->laid.bytes = all->params;
	t->laid.len = (uint32_t)info->param_bytes;
	return true;
}

static void tell_range(const struct telling *t, struct krt_kernel_access *a,
		       const struct krt_flow_range *r)
{
	a->addr = r->lo;
	a->kind = r->kind;
	a->know = KRT_KNOW_PTX;
	a->sure = r->must ? KRT_SURE_ALL : r->loose ? KRT_SURE_WITHIN : KRT_SURE_SOME;
	a->rows = 1;
	if (gaps(r)) {
		a->len = r->row;
		a->rows = r->rows ? r->rows : 1;
		a->pitch = r->pitch;
		a->stride = r->stride > r->width ? r->stride : 0;
		a->width = r->stride > r->width ? r->width : 0;
	} else {
		a->addr = a->from;
		a->len = a->pitch = a->end - a->from;
	}
	tell(t, a);
}

static void slot_range(struct telling *t, const struct krt_flow_slot *s,
		       const struct krt_flow_range *r)
{
	struct krt_kernel_access a = {
		.base = r->base, .param = s->param, .offset = s->offset, .within = s->size};
	struct extent x = {0};

	if (is_memory(t, r->base))
		x = extent_of(t, r->base, r->must);
	if (x.from >= r->hi || r->lo >= x.end) { /* a pointer to something beside what is touched */
		if (!is_memory(t, r->lo))
			return;
		x = extent_of(t, r->lo, r->must);
		a.base = r->lo;
	}
	a.from = r->lo > x.from ? r->lo : x.from;
	a.end = r->hi < x.end ? r->hi : x.end;
	if (r->must || (r->lo >= x.from && r->hi <= x.end)) {
		tell_range(t, &a, r);
		return;
	}
	/*
	 * No kernel reaches beyond its memory: the hull is that of an index which memory
	 * holds, and tells no more than where it begins.
	 */
	a.addr = r->lo >= x.from ? r->lo : a.base;
	a.know = KRT_KNOW_ROLE;
	a.pure = true;
	tell_pointer(t, &a, r->kind);
	t->role_only = true;
}

static void slot_role(struct telling *t, const struct krt_flow_slot *s, unsigned kinds)
{
	struct krt_kernel_access a = {.know = KRT_KNOW_ROLE,
				      .param = s->param,
				      .offset = s->offset,
				      .within = s->size,
				      .pure = true};

	if (s->at > t->laid.len || (s->offset == KRT_FLOW_ANY ? s->size : 8) > t->laid.len - s->at)
		return;
	if (s->offset == KRT_FLOW_ANY) {
		scan_param(t, s->param, kinds);
		t->role_only = true;
		return;
	}
	a.addr = word_at(&t->laid, s->at);
	if (!is_memory(t, a.addr))
		return;
	tell_pointer(t, &a, kinds);
	t->role_only = true;
}

/* Of what a descriptor leads to it is for the kernel to say which parts. */
static void tell_shape(struct telling *t, struct krt_kernel_access *a, const struct krt_flow_slot *s)
{
	uint64_t end = a->addr + (a->rows > 1 ? (a->rows - 1) * a->pitch : 0) + a->len;

	a->from = a->addr;
	a->end = end < a->addr ? UINT64_MAX : end;
	a->know = KRT_KNOW_ROLE;
	a->sure = KRT_SURE_WITHIN;
	a->param = s->param;
	a->offset = s->offset == KRT_FLOW_ANY ? a->offset : s->offset;
	a->pure = true;
	if (!a->len) { /* of the map its address alone is known */
		tell_pointer(t, a, s->role);
		return;
	}
	for (unsigned bit = KRT_ACC_READ; bit <= KRT_ACC_ATOMIC; bit <<= 1)
		if (s->role & bit) {
			a->kind = bit;
			tell(t, a);
		}
}

struct described {
	struct telling *t;
	const struct krt_flow_slot *s;
	bool any;
};

static void described(void *user, const struct krt_kernel_access *a)
{
	struct described *d = user;
	struct krt_kernel_access own = *a;

	d->any = true;
	tell_shape(d->t, &own, d->s);
}

/* A tensor map, or one of some in a parameter; the handle of a texture or surface. */
static void slot_descriptor(struct telling *t, const struct krt_flow_slot *s)
{
	const struct krt_kernel_access as = {.within = s->size};
	struct described d = {.t = t, .s = s};
	uint32_t len = s->offset == KRT_FLOW_ANY ? s->size : s->tensor_map ? KRT_TENSOR_MAP_BYTES : 8;

	if (s->at > t->laid.len || len > t->laid.len - s->at)
		return;
	if (s->tensor_map)
		krt_tensor_maps_in(t->e, t->laid.bytes + s->at, len, &as, described, &d);
	else
		krt_texture(t->e, t->ask->ctx, word_at(&t->laid, s->at), s->surface, &as, described, &d);
	t->ask->opaque |= !d.any;
	t->ask->wild |= !d.any && s->role != KRT_FLOW_READ;
	t->role_only = true;
}

/* A pointer in memory that is not known. */
static void unknown_word(struct telling *t, unsigned kinds)
{
	t->ask->opaque = true;
	t->ask->wild |= kinds != KRT_ACC_READ;
}

/* Which words of device memory are pointers that a kernel loads: of some range, at one place in its code. */
struct places {
	const struct krt_flow_range *range;
	const struct krt_flow_load *load;
};

static bool loads_word(const struct places *p, uint64_t addr)
{
	const struct krt_flow_range *r = p->range;
	uint64_t off = addr - r->lo;

	if (r->rows > 1)
		off %= r->pitch;
	if (r->rows > 1 && off >= r->row)
		return false;
	if (r->stride > r->width && off % r->stride >= r->width)
		return false;
	/* vectors are aligned to their size */
	return addr / 8 % p->load->words == p->load->word;
}

/* Pointers that lie in [from, end) of device memory; places NULL: as far as they are known. */
static void table(struct telling *t, struct krt_kernel_access *a, uint64_t from, uint64_t end,
		  const struct places *places, unsigned kinds, unsigned *budget)
{
	uint64_t word[64];

	/* as in a struct: which of them are used may depend on the others */
	a->within = 16;
	a->pure = a->loaded = true;
	from = (from + 7) & ~UINT64_C(7);
	while (from + 8 <= end && *budget) {
		size_t n = (end - from) / 8 < 64 ? (end - from) / 8 : 64;
		size_t got = krt_shadow_read(t->e, from, word, n);

		for (size_t i = 0; i < got && *budget; i++, (*budget)--) {
			a->addr = word[i];
			if ((!places || loads_word(places, from + 8 * i)) && is_memory(t, a->addr))
				tell_pointer(t, a, kinds);
		}
		if (got < n && !places) { /* the table may end here */
			t->ask->opaque = true;
			return;
		}
		if (got < n) {
			if (loads_word(places, from + 8 * got))
				unknown_word(t, kinds);
			(*budget)--;
			got++;
		}
		from += 8 * got;
	}
	if (!*budget)
		unknown_word(t, kinds);
}

/* What is known of a table alone is that it begins somewhere: its words may be used, or not. */
static void table_from(struct telling *t, struct krt_kernel_access *a, uint64_t base,
		       unsigned *budget)
{
	struct extent x;

	if (!is_memory(t, base))
		return;
	x = extent_of(t, base, false);
	if (x.end > base + 8 * TABLE_MAX)
		x.end = base + 8 * TABLE_MAX;
	table(t, a, base, x.end, NULL, KRT_ACC_UNKNOWN, budget);
}

/*
 * What lies behind pointers that are loaded from where the slot leads to: exactly
 * where the kernel's own reads say which words it loads, and what for.  A word
 * that holds a pointer only to be followed further is read, no more; what lies
 * further is not known.
 */
static void slot_through(struct telling *t, const struct krt_flow_info *info, uint32_t index,
			 const struct eval *v)
{
	const struct krt_flow_slot *s = &info->slots[index];
	struct krt_kernel_access a = {.know = KRT_KNOW_ROLE, .param = s->param, .offset = s->offset};
	unsigned budget = TABLE_MAX;
	uint8_t told = 0;

	t->role_only = true;
	if (s->rest)
		unknown_word(t, s->rest);
	if (s->role & (KRT_FLOW_WRITE | KRT_FLOW_ATOMIC)) { /* it makes the table itself */
		unknown_word(t, s->through);
		return;
	}
	for (uint32_t k = 0; v && k < info->nloads; k++) {
		const struct krt_flow_load *load = &info->loads[k];

		for (uint32_t i = 0; load->slot == index && i < v->n; i++) {
			const struct krt_flow_range *r = &v->range[i];
			struct places places = {r, load};
			struct extent x;

			if (r->slot != index || r->site != load->site || r->whole ||
			    !is_memory(t, r->base))
				continue;
			x = extent_of(t, r->base, r->must);
			table(t, &a, r->lo > x.from ? r->lo : x.from, r->hi < x.end ? r->hi : x.end,
			      &places, load->role, &budget);
			told |= load->role;
		}
	}
	told = s->through & (uint8_t)~(told | s->rest);
	if (!told)
		return;
	unknown_word(t, told);
	if (s->offset == KRT_FLOW_ANY || s->at > t->laid.len || t->laid.len - s->at < 8)
		return;
	a.know = KRT_KNOW_WORD;
	table_from(t, &a, word_at(&t->laid, s->at), &budget);
}

/* The same of a variable of the module: a table in constant memory, say. */
static void global_through(struct telling *t, const struct krt_flow_info *info, uint32_t index,
			   const struct eval *v)
{
	const struct krt_flow_global *g = &info->globals[index];
	const struct krt_mem *mem = krt_variable(t->e, t->k, t->ask->ctx, g);
	struct krt_kernel_access a = {.know = KRT_KNOW_ROLE};
	unsigned budget = TABLE_MAX;
	uint8_t told = g->rest;

	t->role_only = true;
	for (uint32_t k = 0; v && mem && !(g->role & ~KRT_FLOW_READ) && k < info->nloads; k++) {
		const struct krt_flow_load *load = &info->loads[k];

		for (uint32_t i = 0; load->slot == KRT_FLOW_NO_SLOT && load->global == index && i < v->n; i++) {
			struct krt_flow_range r = v->range[i];
			struct places places = {&r, load};

			if (r.slot != KRT_FLOW_NO_SLOT || r.global != index || r.site != load->site ||
			    r.whole || r.hi > mem->size)
				continue;
			r.lo += mem->node.key;
			r.hi += mem->node.key;
			table(t, &a, r.lo, r.hi, &places, load->role, &budget);
			told |= load->role;
		}
	}
	if (g->rest || g->through & ~told)
		unknown_word(t, g->rest | (g->through & (uint8_t)~told));
}

static void global_access(struct telling *t, const struct krt_flow_global *g,
			  const struct krt_flow_range *r)
{
	struct krt_mem *mem = krt_variable(t->e, t->k, t->ask->ctx, g);
	struct krt_kernel_access a = {.kind = r->kind};
	struct krt_flow_range at = *r;

	if (!mem || (g->constant && r->kind != KRT_FLOW_READ))
		return;
	a.base = mem->node.key;
	if (r->whole || r->hi > mem->size) { /* its extent is known, if nothing else */
		a.addr = a.from = a.base;
		a.end = a.base + mem->size;
		a.len = a.pitch = mem->size;
		a.rows = 1;
		a.know = KRT_KNOW_ROLE;
		a.sure = mem->size <= 8 ? KRT_SURE_SOME : KRT_SURE_WITHIN;
		t->role_only = true;
		tell(t, &a);
		return;
	}
	at.lo += a.base;
	at.hi += a.base;
	a.from = at.lo;
	a.end = at.hi;
	tell_range(t, &a, &at);
}

static void look_at_text(struct telling *t, struct krt_kernel_info *k)
{
	uint32_t device = t->ask->ctx ? t->ask->ctx->device : UINT32_MAX;
	struct krt_kernel_flow *f = krt_kernel_flow(t->e, k, device, NULL);

	if (!f || !fits(t, krt_flow_info(f)) || !lay_out(t, krt_flow_info(f)))
		return;
	t->info = krt_flow_info(f);
	t->ask->flags = t->info->flags;
	t->ask->text = true;
}

static bool by_text(struct telling *t, struct krt_kernel_info *k)
{
	const struct krt_flow_info *info = t->info;
	const struct eval *v = NULL;
	struct eval moved;

	if (!info)
		return false;
	if (t->p->known && t->p->bytes)
		v = evaluate(t->e, k->insight, &t->laid, &moved);
	else if (info->nslots)
		return false;
	/* what the kernel itself writes may lie in the tables that it reads: those first */
	for (uint32_t i = 0; i < info->nslots; i++)
		if (info->slots[i].through)
			slot_through(t, info, i, v && v->good ? v : NULL);
	for (uint32_t i = 0; i < info->nglobals; i++)
		if (info->globals[i].through)
			global_through(t, info, i, v && v->good ? v : NULL);
	for (uint32_t i = 0; v && v->good && i < v->n; i++) {
		const struct krt_flow_range *r = &v->range[i];

		if (r->slot == KRT_FLOW_NO_SLOT)
			global_access(t, &info->globals[r->global], r);
		else if (r->whole)
			slot_role(t, &info->slots[r->slot], r->kind);
		else
			slot_range(t, &info->slots[r->slot], r);
	}
	for (uint32_t i = 0; i < info->nslots; i++) {
		const struct krt_flow_slot *s = &info->slots[i];

		if (s->role && (s->tensor_map || s->texture || s->surface))
			slot_descriptor(t, s);
		else if (v && !v->good && s->role)
			slot_role(t, s, s->role);
	}
	/* of live textures; what is written through a surface is not told */
	t->ask->opaque |= (info->flags & KRT_FLOW_TEXTURES) != 0;
	if (info->any) {
		unknown_word(t, info->any);
		t->role_only = true;
		for (uint32_t i = 0; has_params(t) && i < t->k->nparams; i++)
			scan_param(t, i, info->any == KRT_FLOW_READ ? KRT_ACC_READ : 0);
	}
	return true;
}

/* --- the mangled name ---------------------------------------------------------------------- */

const struct krt_name_param *krt_kernel_names(struct krt_engine *e, struct krt_kernel_info *k)
{
	uint32_t *sizes;
	bool fit = false;

	if (k->names_known || k->nparams == KRT_PARAMS_UNKNOWN || !k->nparams)
		return k->names;
	k->names_known = true;
	sizes = krt_heap_alloc(&e->heap, k->nparams * sizeof(*sizes));
	k->names = krt_heap_alloc(&e->heap, k->nparams * sizeof(*k->names));
	if (sizes && k->names) {
		for (uint32_t i = 0; i < k->nparams; i++)
			sizes[i] = k->param[i].size;
		fit = krt_names_checked(k->name, sizes, k->nparams, k->names) == (int)k->nparams;
	}
	krt_heap_free(&e->heap, sizes, k->nparams * sizeof(*sizes));
	if (!fit) {
		krt_heap_free(&e->heap, k->names, k->nparams * sizeof(*k->names));
		k->names = NULL;
	}
	return k->names;
}

/* A pointer to pointers: which, as far as small copies told. */
static void named_table(struct telling *t, uint32_t i)
{
	struct krt_kernel_access a = {.know = KRT_KNOW_WORD, .param = i};
	unsigned budget = TABLE_MAX;

	table_from(t, &a, word_at(t->p, t->k->param[i].offset), &budget);
}

/* True: some pointer is to const. */
static bool by_name(struct telling *t, struct krt_kernel_info *k)
{
	const struct krt_name_param *names = has_params(t) ? krt_kernel_names(t->e, k) : NULL;
	bool some = false;

	for (uint32_t i = 0; has_params(t) && i < k->nparams; i++) {
		uint32_t off = k->param[i].offset, size = k->param[i].size;
		struct krt_kernel_access a = {
			.know = KRT_KNOW_NAME, .param = i, .within = size, .pure = true};

		if (off > t->p->len || size > t->p->len - off)
			continue;
		switch (names ? (enum krt_name_type)names[i].type : KRT_NAME_UNKNOWN) {
		case KRT_NAME_SCALAR:
		case KRT_NAME_OTHER_POINTER:
			break;
		case KRT_NAME_CONST_POINTER:
			some = true;
			a.addr = word_at(t->p, off);
			if (is_memory(t, a.addr))
				tell_pointer(t, &a, KRT_ACC_READ);
			break;
		case KRT_NAME_TABLE:
			scan_param(t, i, 0);
			named_table(t, i);
			break;
		case KRT_NAME_POINTER:
		case KRT_NAME_STRUCT:
		case KRT_NAME_UNKNOWN:
			scan_param(t, i, 0);
			break;
		}
	}
	return some;
}

/* A variable that the kernel may use or not. */
static void by_machine_code(void *user, struct krt_mem *mem)
{
	const struct telling *t = user;
	struct krt_kernel_access a = {.addr = mem->node.key, .know = KRT_KNOW_WORD};

	tell_pointer(t, &a, KRT_ACC_UNKNOWN);
}

/* --- all of it -------------------------------------------------------------------------------- */

/*
 * A kernel that loops until memory has some value, and does no more than set flags, is
 * there for the order: what follows it on its stream comes after who wrote the value.
 * (Blocks of one kernel wait for each other, too: such a one writes what it computes.)
 */
static bool only_waits(const struct krt_kernel_ask *ask)
{
	return ask->flags & KRT_FLOW_SPINS && !ask->writes && !ask->wild;
}

static enum krt_tier accesses(struct krt_engine *e, const struct krt_kernel_params *p,
			      struct krt_kernel_ask *ask)
{
	struct krt_kernel_info *k = krt_kernel_get(&e->obj, p->kernel);
	struct telling t = {.e = e, .p = p, .k = k, .ask = ask};

	ask->flags = 0;
	ask->text = ask->opaque = ask->wild = ask->vague = ask->writes = ask->waits = false;
	if (k)
		krt_kernel_layout(e, k, p, ask->ctx ? ask->ctx->device : UINT32_MAX);
	if (k)
		look_at_text(&t, k);
	if (ask->stream && krt_launch_declared(e, ask->call, ask->stream, ask->use_up, ask->fn, ask->user))
		return KRT_TIER_ANNOTATION;
	if (by_file(&t)) {
		ask->waits = only_waits(ask);
		return KRT_TIER_KERNELS_FILE;
	}
	if (by_library(&t))
		return KRT_TIER_LIBRARY;
	if (k && by_text(&t, k)) {
		ask->vague = t.role_only;
		ask->waits = only_waits(ask);
		return t.role_only ? KRT_TIER_ROLE : KRT_TIER_RANGE;
	}
	ask->vague = true;
	ask->opaque = ask->wild = !k || !p->known;
	if (k && !has_params(&t))
		scan_block(&t);
	if (k)
		krt_variables_of(e, k, ask->ctx, by_machine_code, &t);
	return k && by_name(&t, k) ? KRT_TIER_NAME : KRT_TIER_SCAN;
}

/* Somebody listens. */
struct heard {
	struct krt_engine *e;
	struct krt_kernel_ask *ask;
};

static bool heard_memory(void *user, uint64_t addr)
{
	const struct heard *h = user;

	return h->ask->is_memory(h->ask->user, addr);
}

static void heard_access(void *user, const struct krt_kernel_access *a)
{
	const struct heard *h = user;

	h->e->cfg.watch->access(h->e->cfg.watch->user, h->e, a);
	h->ask->fn(h->ask->user, a);
}

enum krt_tier krt_kernel_accesses(struct krt_engine *e, const struct krt_kernel_params *p,
				  struct krt_kernel_ask *ask)
{
	struct heard h = {e, ask};
	struct krt_kernel_ask through;
	enum krt_tier tier;

	if (!e->cfg.watch)
		return accesses(e, p, ask);
	through = *ask;
	through.is_memory = heard_memory;
	through.fn = heard_access;
	through.user = &h;
	tier = accesses(e, p, &through);
	ask->flags = through.flags;
	ask->opaque = through.opaque;
	ask->vague = through.vague;
	ask->wild = through.wild;
	ask->writes = through.writes;
	ask->waits = through.waits;
	e->cfg.watch->told(e->cfg.watch->user, e, p, ask, tier);
	return tier;
}
