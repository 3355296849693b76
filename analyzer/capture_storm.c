/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs made again and again: a call site that instantiates in a loop, and
 * launches each executable once or a few times; or that captures for every
 * launch, to update an executable with what it holds already.
 *
 * Successive graphs of one site are compared node by node, in three parts: shape
 * (what runs, how large), values (parameters that are no addresses) and
 * addresses.  Handles are left out.  Kept are hashes of the last graph, not the
 * graph.
 */
#include "demangle.h"
#include "engine_int.h"
#include "mix.h"
#include "graph.h"
#include "../interposer/cuabi.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SITES_MAX  256
#define NODES_MAX  4096 /* compared one by one; what lies behind goes into the last */
#define SHAPES	   64
#define RATIO_MIN  4 /* launches of an executable that pay for making it */
#define EXECS_MAX  65536
#define DIGEST	   (KRT_SHORT_NAME + 40) /* a node in words */

/* A node: what it is and hashes of its parts. */
struct digest {
	uint64_t shape, values, addresses;
	uint64_t size; /* threads of a kernel, bytes of a copy or set */
	uint32_t kernel;
	uint16_t type;
};

enum krt_storm_same { SHAPE_DIFFERS, VALUES_DIFFER, ADDRESSES_DIFFER, ALL_SAME, NR_SAME };

struct krt_storm_site {
	uint64_t key;
	uint16_t api;
	bool update;
	uint32_t stack;
	uint64_t first, made, launches, worked, work_before;
	uint64_t same[NR_SAME];
	uint64_t shape[SHAPES]; /* those that were seen */
	unsigned shapes;
	struct digest *last;
	uint32_t nlast;
	bool known; /* the last graph could be read */
	char differs[2][2 * DIGEST + 40]; /* in shape, in addresses or values: the latest first node */
	UT_hash_handle hh;
};

struct krt_storm_exec {
	uint64_t exec;
	struct krt_storm_site *made, *updated;
	UT_hash_handle hh;
};

/* --- digests ------------------------------------------------------------------------- */

/* A word that lies in memory is an address, any other a value. */
static void word(struct krt_engine *e, struct digest *d, uint64_t v)
{
	if (v && (krt_mem_at(&e->mem, v) || krt_mem_freed_at(&e->mem, v)))
		d->addresses = krt_mix(d->addresses, v);
	else
		d->values = krt_mix(d->values, v);
}

static void digest_kernel(struct krt_engine *e, struct digest *d, const char *p, uint32_t len)
{
	struct krt_node_kernel k;
	struct krt_params h;
	uint64_t v;

	memcpy(&k, p, sizeof(k));
	memcpy(&h, p + sizeof(k), sizeof(h));
	p += sizeof(k) + sizeof(h);
	len -= (uint32_t)(sizeof(k) + sizeof(h));
	d->kernel = h.kernel;
	d->size = (uint64_t)k.grid[0] * k.grid[1] * k.grid[2] * k.block[0] * k.block[1] * k.block[2];
	d->shape = krt_mix(d->shape, h.kernel ? h.kernel : k.func);
	for (unsigned i = 0; i < 3; i++)
		d->shape = krt_mix(krt_mix(d->shape, k.grid[i]), k.block[i]);
	d->shape = krt_mix(krt_mix(d->shape, k.shared), k.coop);
	if (h.len == KRT_PARAMS_UNKNOWN || h.len > len)
		return;
	for (uint32_t at = 0; at < h.len; at += 8) {
		v = 0;
		memcpy(&v, p + at, h.len - at < 8 ? h.len - at : 8);
		word(e, d, v);
	}
}

static void digest_copy(struct digest *d, const void *p)
{
	CUDA_MEMCPY3D m;

	memcpy(&m, p, sizeof(m));
	d->size = m.WidthInBytes * (m.Height ? m.Height : 1) * (m.Depth ? m.Depth : 1);
	d->shape = krt_mix(krt_mix(krt_mix(d->shape, m.WidthInBytes), m.Height), m.Depth);
	d->shape = krt_mix(krt_mix(d->shape, m.srcMemoryType), m.dstMemoryType);
	d->addresses = krt_mix(krt_mix(d->addresses, (uintptr_t)m.srcHost), m.srcDevice);
	d->addresses = krt_mix(krt_mix(d->addresses, (uintptr_t)m.dstHost), m.dstDevice);
	d->addresses = krt_mix(krt_mix(d->addresses, m.srcXInBytes), m.dstXInBytes);
	d->addresses = krt_mix(krt_mix(d->addresses, m.srcY), m.dstY);
}

static void digest_of(struct krt_engine *e, const struct krt_gnode *n, struct digest *d)
{
	CUDA_MEMSET_NODE_PARAMS m;
	uint64_t v[2];

	d->type = n->type;
	d->shape = krt_mix(n->type, n->len);
	if (!n->len)
		return;
	switch ((enum krt_gnode_type)n->type) {
	case KRT_GNODE_KERNEL:
		digest_kernel(e, d, n->payload, n->len);
		break;
	case KRT_GNODE_MEMCPY:
		digest_copy(d, n->payload);
		break;
	case KRT_GNODE_MEMSET:
		memcpy(&m, n->payload, sizeof(m));
		d->size = m.width * m.elementSize * (m.height ? m.height : 1);
		d->shape = krt_mix(krt_mix(krt_mix(d->shape, m.width), m.height), m.elementSize);
		d->values = krt_mix(d->values, m.value);
		d->addresses = krt_mix(d->addresses, m.dst);
		break;
	case KRT_GNODE_HOST:
		memcpy(v, n->payload, sizeof(v));
		d->shape = krt_mix(d->shape, v[0]);
		d->addresses = krt_mix(d->addresses, v[1]);
		break;
	case KRT_GNODE_MEM_ALLOC:
		memcpy(v, n->payload, sizeof(v));
		d->size = v[1];
		d->shape = krt_mix(d->shape, v[1]);
		d->addresses = krt_mix(d->addresses, v[0]);
		break;
	case KRT_GNODE_MEM_FREE:
		memcpy(v, n->payload, sizeof(*v));
		d->addresses = krt_mix(d->addresses, v[0]);
		break;
	case KRT_GNODE_BATCH_MEM_OP:
		for (uint32_t at = 8; at + 8 <= n->len; at += 8) {
			memcpy(v, (const char *)n->payload + at, 8);
			word(e, d, v[0]);
		}
		break;
	case KRT_GNODE_CONDITIONAL: /* its bodies follow */
	case KRT_GNODE_GRAPH:
		d->shape = n->type;
		break;
	case KRT_GNODE_EMPTY:
	case KRT_GNODE_WAIT_EVENT:
	case KRT_GNODE_EVENT_RECORD:
	case KRT_GNODE_SEMAS_SIGNAL:
	case KRT_GNODE_SEMAS_WAIT:
	case KRT_GNODE_END:
		break;
	}
}

/* One more digest than nodes: the edges. */
static struct digest *digests(struct krt_engine *e, const struct krt_graph_image *g, uint32_t *count)
{
	uint32_t n = g->nodes < NODES_MAX ? g->nodes : NODES_MAX;
	struct digest *d = krt_heap_alloc(&e->heap, (n + 1) * sizeof(*d));

	if (!d)
		return NULL;
	for (uint32_t i = 0; i < g->nodes; i++) {
		struct digest one = {0};

		digest_of(e, &g->node[i], &one);
		if (i < n) {
			d[i] = one;
			continue;
		}
		d[n].shape = krt_mix(d[n].shape, one.shape);
		d[n].values = krt_mix(d[n].values, one.values);
		d[n].addresses = krt_mix(d[n].addresses, one.addresses);
	}
	d[n].type = KRT_GNODE_END;
	for (uint32_t i = 0; i < g->edges; i++)
		d[n].shape = krt_mix(krt_mix(d[n].shape, g->edge[i].from), g->edge[i].to);
	*count = n + 1;
	return d;
}

/* --- comparing ------------------------------------------------------------------------- */

static void digest_text(struct krt_engine *e, const struct digest *d, char *buf, size_t len)
{
	const struct krt_kernel_info *k =
		d->kernel ? krt_kernel_get(&e->obj, d->kernel) : NULL;

	char name[KRT_SHORT_NAME];

	switch ((enum krt_gnode_type)d->type) {
	case KRT_GNODE_KERNEL:
		krt_demangle_short(k ? k->name : "?", name);
		snprintf(buf, len, "kernel %s (%" PRIu64 " threads)", name, d->size);
		break;
	case KRT_GNODE_MEMCPY:
	case KRT_GNODE_MEMSET:
	case KRT_GNODE_MEM_ALLOC:
		snprintf(buf, len, "%s of %" PRIu64 " bytes", krt_gnode_type_name(d->type), d->size);
		break;
	case KRT_GNODE_END:
		snprintf(buf, len, "its edges");
		break;
	default:
		snprintf(buf, len, "%s node", krt_gnode_type_name(d->type));
		break;
	}
}

static enum krt_storm_same compare(struct krt_engine *e, struct krt_storm_site *s,
				   const struct digest *d, uint32_t n)
{
	enum krt_storm_same same = ALL_SAME;
	char was[DIGEST], is[DIGEST];
	uint32_t first = 0;

	for (uint32_t i = 0; i < n && i < s->nlast && same != SHAPE_DIFFERS; i++) {
		const struct digest *a = &s->last[i], *b = &d[i];
		enum krt_storm_same now = a->shape != b->shape || a->type != b->type
						  ? SHAPE_DIFFERS
					  : a->addresses != b->addresses ? ADDRESSES_DIFFER
					  : a->values != b->values	 ? VALUES_DIFFER
									 : ALL_SAME;

		if (now == ALL_SAME || (same != ALL_SAME && now != SHAPE_DIFFERS)) {
			if (now == ADDRESSES_DIFFER && same == VALUES_DIFFER) {
				same = now;
				first = i;
			}
			continue;
		}
		same = now;
		first = i;
	}
	if (same != SHAPE_DIFFERS && n != s->nlast) {
		same = SHAPE_DIFFERS;
		first = (n < s->nlast ? n : s->nlast) - 1;
	}
	if (same == ALL_SAME || first >= n || first >= s->nlast)
		return same;
	digest_text(e, &s->last[first], was, sizeof(was));
	digest_text(e, &d[first], is, sizeof(is));
	if (d[first].type == KRT_GNODE_END && same == SHAPE_DIFFERS)
		snprintf(s->differs[0], sizeof(s->differs[0]), "its edges differ");
	else if (same == SHAPE_DIFFERS)
		snprintf(s->differs[0], sizeof(s->differs[0]), "node %" PRIu32 ", %s, was %s", first,
			 is, was);
	else
		snprintf(s->differs[1], sizeof(s->differs[1]), "node %" PRIu32 ", %s", first, is);
	return same;
}

static void note_shape(struct krt_storm_site *s, const struct digest *d, uint32_t n)
{
	uint64_t h = n;

	for (uint32_t i = 0; i < n; i++)
		h = krt_mix(h, d[i].shape);
	for (unsigned i = 0; i < s->shapes; i++)
		if (s->shape[i] == h)
			return;
	if (s->shapes < SHAPES)
		s->shape[s->shapes++] = h;
}

/* --- sites --------------------------------------------------------------------------------- */

static struct krt_storm_site *site_of(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_heap *heap = &e->heap;
	uint64_t key = krt_call_site(e, c->rec->stack) ^ (uint64_t)c->rec->api << 48;
	struct krt_storm_site *s;

	HASH_FIND(hh, e->storm_sites, &key, sizeof(key), s);
	if (s || HASH_COUNT(e->storm_sites) >= SITES_MAX)
		return s;
	s = krt_heap_alloc(heap, sizeof(*s));
	if (!s)
		return NULL;
	s->key = key;
	s->api = c->rec->api;
	s->stack = c->rec->stack;
	s->first = c->rec->t0;
	s->update = c->op == KRT_OP_GRAPH_EXEC_UPDATE;
	HASH_ADD(hh, e->storm_sites, key, sizeof(s->key), s);
	if (!s->hh.tbl) {
		krt_heap_free(heap, s, sizeof(*s));
		return NULL;
	}
	return s;
}

static struct krt_storm_exec *exec_of(struct krt_engine *e, uint64_t exec, bool make)
{
	struct krt_heap *heap = &e->heap;
	struct krt_storm_exec *x;

	HASH_FIND(hh, e->storm_execs, &exec, sizeof(exec), x);
	if (x || !make || !exec || HASH_COUNT(e->storm_execs) >= EXECS_MAX)
		return x;
	x = krt_heap_alloc(heap, sizeof(*x));
	if (!x)
		return NULL;
	x->exec = exec;
	HASH_ADD(hh, e->storm_execs, exec, sizeof(x->exec), x);
	if (!x->hh.tbl) {
		krt_heap_free(heap, x, sizeof(*x));
		return NULL;
	}
	return x;
}

/* The site has made (or updated with) one more graph. */
static void made(struct krt_engine *e, const struct krt_call *c, struct krt_storm_site *s)
{
	struct krt_graph_image *g = NULL;
	struct digest *d = NULL;
	uint32_t n = 0;

	if (s->made++ && e->storm_launches != s->work_before)
		s->worked++;
	s->work_before = e->storm_launches;
	if (c->graph_rec.data)
		g = krt_graph_image_new(&e->heap, c->graph_rec.data, c->graph_rec.len);
	if (g && !g->unread)
		d = digests(e, g, &n);
	krt_graph_image_unref(g);
	if (d) {
		note_shape(s, d, n);
		if (s->known)
			s->same[compare(e, s, d, n)]++;
	}
	s->known = d != NULL;
	krt_heap_free(&e->heap, s->last, s->nlast * sizeof(*s->last));
	s->last = d;
	s->nlast = d ? n : 0;
}

void krt_storm_call(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_heap *heap = &e->heap;
	struct krt_stream_info *stream;
	struct krt_storm_site *s;
	struct krt_storm_exec *x;

	if (!c->ok)
		return;
	switch (c->op) {
	case KRT_OP_GRAPH_INSTANTIATE:
		s = e->judge ? site_of(e, c) : NULL;
		x = exec_of(e, c->out_handle, s != NULL);
		if (x) {
			x->made = s;
			x->updated = NULL;
		}
		if (s)
			made(e, c, s);
		break;
	case KRT_OP_GRAPH_EXEC_UPDATE:
		s = e->judge ? site_of(e, c) : NULL;
		x = s ? exec_of(e, c->exec, true) : NULL;
		if (x)
			x->updated = s;
		if (s)
			made(e, c, s);
		break;
	case KRT_OP_GRAPH_LAUNCH:
		stream = krt_call_stream(e, c, c->stream);
		if (stream && stream->capture)
			break;
		e->storm_launches++;
		x = exec_of(e, c->exec, false);
		if (x && x->made)
			x->made->launches++;
		if (x && x->updated)
			x->updated->launches++;
		break;
	case KRT_OP_GRAPH_EXEC_DESTROY:
		x = exec_of(e, c->exec, false);
		if (x) {
			HASH_DELETE(hh, e->storm_execs, x);
			krt_heap_free(heap, x, sizeof(*x));
		}
		break;
	default:
		break;
	}
}

/* --- the end ------------------------------------------------------------------------------------ */

static bool is_storm(const struct krt_engine *e, const struct krt_storm_site *s)
{
	if (s->made < e->cfg.hot_min || s->worked + 1 < e->cfg.hot_min)
		return false;
	if (s->update) /* an update is the cure for a graph that changes, not for one that does not */
		return s->same[ALL_SAME] + 1 == s->made && s->launches < 2 * s->made;
	return s->launches < RATIO_MIN * s->made;
}

void krt_storm_finish(struct krt_engine *e)
{
	for (struct krt_storm_site *s = e->storm_sites; s; s = s->hh.next) {
		struct krt_storm_facts k = {.shapes = s->shapes, .update = s->update};
		struct krt_facts f = {.rule = KRT_RULE_PERF_CAPTURE_STORM,
				      .confidence = KRT_CERTAIN,
				      .view = KRT_BOTH_VIEWS,
				      .storm = &k};
		enum krt_storm_same most = SHAPE_DIFFERS;
		struct krt_finding shape;

		if (!is_storm(e, s))
			continue;
		for (int i = 1; i < NR_SAME; i++)
			if (s->same[i] > s->same[most])
				most = i;
		if (!s->same[most])
			k.kind = KRT_STORM_UNKNOWN;
		else if (most == ALL_SAME)
			k.kind = KRT_STORM_SAME;
		else if (most == ADDRESSES_DIFFER)
			k.kind = KRT_STORM_ADDRESSES;
		else if (most == VALUES_DIFFER)
			k.kind = KRT_STORM_VALUES;
		else
			k.kind = s->shapes < SHAPES && s->shapes * 4ull <= s->made
					 ? KRT_STORM_FEW_SHAPES
					 : KRT_STORM_SHAPES;
		k.differs = s->differs[most != SHAPE_DIFFERS];
		memset(&shape, 0, sizeof(shape));
		f.times = s->made;
		f.rounds = s->launches;
		f.cur.api = krt_api[s->api].base;
		f.cur.what = s->update ? "update" : "instantiate";
		f.cur.stream = "host";
		f.cur.seq = s->first;
		f.cur.host = true;
		shape.current.what = f.cur.what;
		shape.current.api = f.cur.api;
		shape.current.stream = f.cur.stream;
		shape.current.sequence = s->first;
		shape.current.stack_id = s->stack;
		shape.current.knowledge = "api";
		krt_find(e, &f, &shape, 0);
	}
}

void krt_storm_free(struct krt_engine *e)
{
	struct krt_heap *heap = &e->heap;
	struct krt_storm_site *s, *stmp;
	struct krt_storm_exec *x, *xtmp;

	HASH_ITER (hh, e->storm_sites, s, stmp) {
		HASH_DELETE(hh, e->storm_sites, s);
		krt_heap_free(heap, s->last, s->nlast * sizeof(*s->last));
		krt_heap_free(heap, s, sizeof(*s));
	}
	HASH_ITER (hh, e->storm_execs, x, xtmp) {
		HASH_DELETE(hh, e->storm_execs, x);
		krt_heap_free(heap, x, sizeof(*x));
	}
}
