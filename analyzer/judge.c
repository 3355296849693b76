/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pairs of operations to findings.  The pairs of one call are gathered first,
 * so that two operations that meet in many ranges count once; then each is
 * merged with what is known by rule, call stacks and origin of the buffer, or
 * becomes a new finding.  Texts are made once a finding, not once a pair.
 */
#include "demangle.h"
#include "engine_int.h"
#include "mix.h"
#include "pyframe.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define COVERS_MAX 256 /* uses of one free that are looked at for a later one on their stream */

static uint64_t mix_text(uint64_t h, const char *s)
{
	for (; s && *s; s++)
		h = (h ^ (unsigned char)*s) * 0x100000001b3ull;
	return krt_mix(h, 0);
}

/* --- gathering ------------------------------------------------------------------ */

static uint32_t first_pair(const struct krt_engine *e, const struct krt_op_info *prev)
{
	return prev && prev->round == e->round ? prev->first_pair : 0;
}

bool krt_pair_known(const struct krt_engine *e, const struct krt_op_info *prev,
		    const struct krt_mem *mem)
{
	for (uint32_t i = first_pair(e, prev); i; i = e->pair[i].next)
		if (e->pair[i].mem == mem)
			return true;
	return false;
}

static bool catch_all(const struct krt_engine *e, const struct krt_mem *m)
{
	return m == &e->mem.pageable || m == &e->mem.unknown;
}

/* Memory without an allocation: what two copies of one batch touch is not one buffer. */
static bool other_buffer(const struct krt_engine *e, const struct krt_pair *a,
			 const struct krt_pair *b)
{
	return a->mem != b->mem || (a->mem && catch_all(e, a->mem) &&
				    (a->cur_item != b->cur_item || a->prev_item != b->prev_item));
}

static bool is_race(unsigned rule)
{
	return rule == KRT_RULE_RACE_RAW || rule == KRT_RULE_RACE_WAR || rule == KRT_RULE_RACE_WAW;
}

/* Two kernels that meet in one buffer in more than one way have one order missing. */
static bool same_hazard(const struct krt_pair *a, const struct krt_pair *b)
{
	return a->rule == b->rule ||
	       (is_race(a->rule) && is_race(b->rule) && a->prev &&
		a->cur->class == KRT_OPC_KERNEL && a->prev->class == KRT_OPC_KERNEL);
}

void krt_pair_add(struct krt_engine *e, const struct krt_pair *p)
{
	struct krt_pair *q;
	uint32_t i;

	if (p->prev && p->confidence != KRT_POSSIBLE)
		p->prev->told = true;
	for (i = first_pair(e, p->prev); i; i = q->next) {
		q = &e->pair[i];
		if (!same_hazard(q, p) || other_buffer(e, q, p) || q->cur != p->cur)
			continue;
		if (p->from < p->end && (q->from >= q->end || p->confidence > q->confidence)) {
			q->from = p->from;
			q->end = p->end;
		} else if (p->from < p->end && p->confidence == q->confidence) {
			q->from = p->from < q->from ? p->from : q->from;
			q->end = p->end > q->end ? p->end : q->end;
		}
		q->gaps |= p->gaps;
		if (p->confidence > q->confidence) {
			q->rule = p->rule;
			q->cur_what = p->cur_what;
			q->prev_what = p->prev_what;
			q->confidence = p->confidence;
			q->cur_know = p->cur_know;
			q->prev_know = p->prev_know;
			q->cur_sure = p->cur_sure;
			q->prev_sure = p->prev_sure;
		}
		if (p->view < q->view)
			q->view = p->view;
		return;
	}
	if (!e->pairs)
		e->pairs = 1;
	if (!krt_heap_grow(&e->heap, &e->pair, &e->pairs_cap, e->pairs, sizeof(*e->pair)))
		return;
	i = e->pairs++;
	q = &e->pair[i];
	*q = *p;
	q->next = first_pair(e, p->prev);
	krt_op_ref(q->cur);
	if (q->owner)
		q->owner->refs++;
	if (q->prev) {
		krt_op_ref(q->prev);
		q->prev->round = e->round;
		q->prev->first_pair = i;
	}
}

/* --- names ------------------------------------------------------------------------ */

/* An access of the CPU: noted, found by itself, or what the C library was asked to do. */
static const char *host_text(unsigned api, const char *noted)
{
	switch (api) {
	case KRT_API_cpu_read:
		return "CPU read";
	case KRT_API_cpu_write:
		return "CPU write";
	case KRT_API_cpu_changed:
		return "CPU write before";
	}
	return krt_api[api].cls == KRT_CLASS_LIBC ? krt_api[api].base : noted;
}

/* The call's name; notes may come from a feed: what they mean. */
const char *krt_api_text(unsigned api)
{
	if (api >= KRT_NR_APIS)
		return "?";
	switch (krt_api[api].op) {
	case KRT_OP_NOTE_HOST_READ:
		return host_text(api, "host read");
	case KRT_OP_NOTE_HOST_WRITE:
		return host_text(api, "host write");
	case KRT_OP_HOSTFN_ENTER:
		return "host function runs";
	case KRT_OP_NOTE_ORDER_RELEASE:
		return "order release";
	case KRT_OP_NOTE_ORDER_ACQUIRE:
		return "order acquire";
	case KRT_OP_NOTE_POOL_DESTROY:
		return "pool destroy";
	case KRT_OP_NOTE_BLOCK_ALLOC:
		return "block alloc";
	case KRT_OP_NOTE_BLOCK_FREE:
		return "block free";
	case KRT_OP_NOTE_BLOCK_RESIZE:
		return "block resize";
	default:
		return krt_api[api].base;
	}
}

static const char *op_api(const struct krt_engine *e, const struct krt_op_info *op, char *buf,
			  size_t len)
{
	const struct krt_kernel_info *k = op->kernel ? krt_kernel_get(&e->obj, op->kernel) : NULL;

	if (op->class == KRT_OPC_KERNEL && k && *k->name) {
		snprintf(buf, len, "kernel %s", k->name);
		return buf;
	}
	return krt_api_text(op->api);
}

enum krt_knowledge krt_host_know(const struct krt_op_info *op)
{
	if (krt_api[op->api].cls == KRT_CLASS_NOTE)
		return KRT_KNOW_ANNOTATION;
	if (op->api == KRT_API_cpu_changed)
		return KRT_KNOW_CHECKSUM;
	return krt_api[op->api].op == KRT_OP_NOTE_HOST_READ || krt_api[op->api].op == KRT_OP_NOTE_HOST_WRITE
		       ? KRT_KNOW_GUARD
		       : KRT_KNOW_API;
}

const char *krt_know_text(unsigned know)
{
	switch ((enum krt_knowledge)know) {
	case KRT_KNOW_API:
		return "api";
	case KRT_KNOW_ANNOTATION:
		return krt_tier_text(KRT_TIER_ANNOTATION);
	case KRT_KNOW_GUARD:
		return "guard";
	case KRT_KNOW_CHECKSUM:
		return "checksum";
	case KRT_KNOW_KERNELS_FILE:
		return krt_tier_text(KRT_TIER_KERNELS_FILE);
	case KRT_KNOW_LIBRARY:
		return krt_tier_text(KRT_TIER_LIBRARY);
	case KRT_KNOW_PTX:
		return krt_tier_text(KRT_TIER_RANGE);
	case KRT_KNOW_ROLE:
		return krt_tier_text(KRT_TIER_ROLE);
	case KRT_KNOW_NAME:
		return krt_tier_text(KRT_TIER_NAME);
	case KRT_KNOW_POINTER:
	case KRT_KNOW_WORD:
	case KRT_KNOW_REACH:
	case KRT_KNOW_START:
		return krt_tier_text(KRT_TIER_SCAN);
	}
	return "api";
}

const char *krt_declared_at(const struct krt_kernel_info *k, unsigned know, char buf[KRT_PLACE])
{
	if (know != KRT_KNOW_KERNELS_FILE || !k || !k->line)
		return NULL;
	snprintf(buf, KRT_PLACE, "%s:%u", krt_kernels_source(k->line), krt_kernels_number(k->line));
	return buf;
}

/* The allocation as a buffer of a finding; strings are constants or borrowed. */
void krt_buffer_of(const struct krt_engine *e, const struct krt_mem *m, uint64_t from, uint64_t end,
		   struct krt_buffer *b)
{
	memset(b, 0, sizeof(*b));
	b->kind = krt_mem_kind_name(m->kind);
	if (catch_all(e, m)) {
		b->base = from;
		b->size = b->len = end - from;
		b->name = krt_name_at(&e->mem, from);
		return;
	}
	b->base = krt_mem_unplaced(m) ? 0 : m->node.key;
	b->size = m->size;
	if (m->kind != KRT_MEM_ARRAY) {
		b->name = krt_name_at(&e->mem, from < end ? from : m->node.key);
		if (from < end) {
			b->offset = from - m->node.key;
			b->len = end - from;
		}
	} else if (from < end) {
		b->offset = from;
		b->len = end - from;
	}
	if (m->made.seq) {
		b->allocated_by = krt_api_text(m->made.api);
		b->allocated_seq = m->made.seq;
	}
	if (m->freed.seq) {
		b->freed_by = krt_api_text(m->freed.api);
		b->freed_seq = m->freed.seq;
	}
}

/* A block in it instead; freed: whose end is told. */
static void buffer_of_block(const struct krt_block *b, const struct krt_block *freed,
			    const struct krt_pair *p, struct krt_found *f)
{
	struct krt_buffer *out = &f->f.buffer;

	out->base = b->node.key;
	out->size = b->size;
	if (p->from < p->end)
		out->offset = p->from - b->node.key;
	out->allocated_by = krt_api_text(b->made.api);
	out->allocated_seq = b->made.seq;
	f->alloc_stack = b->made.stack;
	out->freed_by = freed && freed->freed.seq ? krt_api_text(freed->freed.api) : NULL;
	out->freed_seq = freed ? freed->freed.seq : 0;
	f->freed_stack = freed ? freed->freed.stack : 0;
}

void krt_buffer_text(const struct krt_buffer *b, char *buf, size_t len)
{
	int n;

	if (b->name && !strcmp(b->kind, krt_mem_kind_name(KRT_MEM_GLOBAL)))
		n = snprintf(buf, len, "%s \"%s\"", b->kind, b->name);
	else if (b->name)
		n = snprintf(buf, len, "%s buffer \"%s\"", b->kind, b->name);
	else
		n = snprintf(buf, len, "%s buffer 0x%" PRIx64, b->kind, b->base);
	if (n > 0 && (size_t)n < len && b->allocated_by)
		snprintf(buf + n, len - n, " (%s #%" PRIu64 ")", b->allocated_by, b->allocated_seq);
}

static const struct krt_stream_info *stream_of_domain(const struct krt_engine *e, krt_domain d)
{
	for (const struct krt_stream_entry *s = e->obj.streams; s; s = s->hh.next)
		if (s->stream->domain == d)
			return s->stream;
	return NULL;
}

static void order_facts(const struct krt_engine *e, const struct krt_op_info *cur,
			const struct krt_op_info *prev, struct krt_facts *f, char *other,
			size_t other_len)
{
	const struct krt_wait_memory *w = cur->stream ? &cur->stream->waits : &e->host_waits;
	krt_domain to = prev->stream ? prev->stream->domain : 0;

	for (unsigned i = 0; i < w->count && !f->wait; i++)
		if (w->last[i].of == to && to && w->last[i].wait.seq < cur->seq) {
			f->wait = w->last[i].wait.seq;
			f->record = w->last[i].record.seq;
			krt_mention_call(f, &w->last[i].wait);
			krt_mention_call(f, &w->last[i].record);
		}
	if (!f->wait && prev->stream && cur->stream)
		for (unsigned i = 0; i < prev->stream->waits.count; i++)
			if (prev->stream->waits.last[i].of == cur->stream->domain) {
				f->back_wait = prev->stream->waits.last[i].wait.seq;
				krt_mention_call(f, &prev->stream->waits.last[i].wait);
			}
	if (!f->wait && !f->back_wait && w->count) {
		const struct krt_stream_info *s = stream_of_domain(e, w->last[0].of);

		f->other_wait = w->last[0].wait.seq;
		krt_mention_call(f, &w->last[0].wait);
		if (s)
			f->other = krt_stream_text(s, other, other_len);
	}
	if (prev->seq < w->idle.seq && w->idle.seq < cur->seq) {
		f->idle_wait = w->idle.seq;
		krt_mention_call(f, &w->idle);
	}
	if (cur->stream && prev->stream && cur->stream->ctx == prev->stream->ctx)
		f->default_stream = (cur->stream->kind == KRT_STREAM_LEGACY &&
				     prev->stream->kind == KRT_STREAM_NON_BLOCKING) ||
				    (prev->stream->kind == KRT_STREAM_LEGACY &&
				     cur->stream->kind == KRT_STREAM_NON_BLOCKING);
}

/* --- findings ----------------------------------------------------------------------- */

static enum krt_level level_of(enum krt_rule_id rule, enum krt_confidence c,
			       enum krt_finding_view v)
{
	enum krt_level l = krt_rules[rule].level;
	enum krt_level of_c = c == KRT_CERTAIN	? KRT_LEVEL_ERROR
			      : c == KRT_LIKELY ? KRT_LEVEL_WARNING
						: KRT_LEVEL_NOTE;

	if (of_c < l)
		l = of_c;
	if (v == KRT_DOCUMENTED_ONLY && l > KRT_LEVEL_WARNING)
		l = KRT_LEVEL_WARNING;
	return l;
}

static char *take(struct krt_engine *e, const char *s)
{
	return krt_heap_strdup(&e->heap, s);
}

static void drop_texts(struct krt_engine *e, struct krt_finding *f)
{
	struct krt_heap *h = &e->heap;

	krt_heap_freestr(h, (char *)f->message);
	krt_heap_freestr(h, (char *)f->fix);
	krt_heap_freestr(h, (char *)f->order_exists);
	krt_heap_freestr(h, (char *)f->order_missing);
	krt_heap_freestr(h, (char *)f->buffer.name);
	for (unsigned i = 0; i < KRT_MENTIONS; i++)
		krt_heap_freestr(h, (char *)f->mention[i].thing);
	for (int i = 0; i < 2; i++) {
		struct krt_operation *o = i ? &f->previous : &f->current;

		krt_heap_freestr(h, (char *)o->api);
		krt_heap_freestr(h, (char *)o->kernel);
		krt_heap_freestr(h, (char *)o->stream);
		krt_heap_freestr(h, (char *)o->nvtx);
		krt_heap_freestr(h, (char *)o->declared_at);
	}
}

static struct krt_found *found_get(struct krt_engine *e, uint64_t key)
{
	struct krt_found *f;

	HASH_FIND(hh, e->found, &key, sizeof(key), f);
	return f;
}

static struct krt_found *found_new(struct krt_engine *e, uint64_t key)
{
	struct krt_heap *heap = &e->heap;
	struct krt_found *f = krt_heap_alloc(heap, sizeof(*f));

	if (!f)
		return NULL;
	f->key = key;
	HASH_ADD(hh, e->found, key, sizeof(f->key), f);
	if (f->hh.tbl)
		return f;
	krt_heap_free(heap, f, sizeof(*f));
	return NULL;
}

/* "kernel NAME" as messages have it; full: its whole name, which text may have cut, or NULL. */
static const char *kernel_text(const char *text, const char *full, char *buf, size_t len)
{
	static const char word[] = "kernel ";
	char brief[KRT_SHORT_NAME];
	const char *name;

	if (!text || strncmp(text, word, sizeof(word) - 1))
		return text;
	name = text + sizeof(word) - 1;
	if (full && !strncmp(full, name, strlen(name)))
		name = full;
	krt_demangle_short(name, brief);
	snprintf(buf, len, "%s%s", word, brief);
	return buf;
}

/* One that is of neither operation is named nowhere else. */
static const char *other_stream(const char *text, const struct krt_facts *given,
				const struct krt_facts *readable)
{
	if (text && given->cur.stream && !strcmp(text, given->cur.stream))
		return readable->cur.stream;
	if (text && given->prev.stream && !strcmp(text, given->prev.stream))
		return readable->prev.stream;
	return text;
}

/* Messages have kernels' readable names; keys hash the driver's. */
static void set_texts(struct krt_engine *e, struct krt_finding *f, const struct krt_facts *given)
{
	char cur[KRT_SHORT_NAME + 8], prev[KRT_SHORT_NAME + 8], thing[KRT_SHORT_NAME + 8],
		kernel[KRT_SHORT_NAME], streams[2][160];
	struct krt_facts readable = *given, *facts = &readable;
	struct krt_hot_facts hot;
	struct krt_words w;

	facts->cur.api = kernel_text(given->cur.api, f->current.kernel, cur, sizeof(cur));
	facts->prev.api = kernel_text(given->prev.api, f->previous.kernel, prev, sizeof(prev));
	facts->thing = kernel_text(given->thing, f->current.kernel, thing, sizeof(thing));
	facts->cur.stream = krt_words_stream(given->cur.stream, streams[0], sizeof(streams[0]));
	facts->prev.stream = krt_words_stream(given->prev.stream, streams[1], sizeof(streams[1]));
	facts->other = other_stream(given->other, given, facts);
	facts->home = other_stream(given->home, given, facts);
	facts->third_stream = other_stream(given->third_stream, given, facts);
	if (given->hot && given->hot->kernel) {
		hot = *given->hot;
		krt_demangle_short(hot.kernel, kernel);
		hot.kernel = kernel;
		facts->hot = &hot;
	}
	krt_rule_words(facts, &w);
	f->buffer.open = krt_words_open(facts);
	krt_fix_edge(facts, &f->edge);
	f->message = take(e, w.message);
	f->fix = take(e, w.fix);
	f->order_exists = *w.exists ? take(e, w.exists) : NULL;
	f->order_missing = *w.missing ? take(e, w.missing) : NULL;
	memcpy(f->mention, given->mention, sizeof(f->mention));
	for (unsigned i = 0; i < KRT_MENTIONS; i++)
		f->mention[i].thing = take(e, f->mention[i].thing);
}

/*
 * The finding of a key: a new one, or NULL when it only counts.  Possible ones
 * beyond possible_max are counted and not kept.
 */
static struct krt_found *admit(struct krt_engine *e, uint64_t key, enum krt_rule_id rule,
			       enum krt_confidence conf, enum krt_finding_view view)
{
	struct krt_found *f = found_get(e, key);
	enum krt_level level = level_of(rule, conf, view);

	if (f) {
		bool stronger =
			level > f->f.level || (level == f->f.level && conf > f->f.confidence) ||
			(level == f->f.level && conf == f->f.confidence && view < f->f.view);

		f->f.count++;
		if (!stronger)
			return NULL;
		if (f->f.confidence == KRT_POSSIBLE && conf != KRT_POSSIBLE) {
			e->possible_kept--;
			e->possible_total--;
		}
		drop_texts(e, &f->f);
		key = f->f.count;
		memset(&f->f, 0, sizeof(f->f));
		f->f.count = key;
	} else {
		if (conf == KRT_POSSIBLE) {
			e->possible_total++;
			if (e->possible_kept >= e->cfg.possible_max)
				return NULL;
			e->possible_kept++;
		}
		f = found_new(e, key);
		if (!f)
			return NULL;
		f->f.count = 1;
	}
	f->f.rule = rule;
	f->f.confidence = conf;
	f->f.view = view;
	f->f.level = level;
	return f;
}

static void side_of(struct krt_engine *e, const struct krt_op_info *op, const char *what,
		    unsigned know, enum krt_sureness sure, const struct krt_pair *p, struct krt_side *side,
		    struct krt_operation *out, char *api, size_t api_len, char *stream,
		    size_t stream_len)
{
	const struct krt_kernel_info *k = op->kernel ? krt_kernel_get(&e->obj, op->kernel) : NULL;
	char place[KRT_PLACE];

	side->api = op_api(e, op, api, api_len);
	side->what = what;
	side->stream = krt_stream_text(op->stream, stream, stream_len);
	side->detail = op->detail;
	side->loose = op->loose;
	side->seq = op->seq;
	side->host = !op->stream;
	side->scan = know == KRT_KNOW_POINTER || know == KRT_KNOW_WORD ||
		     know == KRT_KNOW_REACH || know == KRT_KNOW_START;
	side->word = know == KRT_KNOW_WORD || know == KRT_KNOW_START;
	/* a page was touched here: how far the access goes is not seen */
	side->from = (sure == KRT_SURE_FROM && !side->scan) || op->api == KRT_API_cpu_read ||
		     op->api == KRT_API_cpu_write;
	side->effect = know == KRT_KNOW_CHECKSUM;
	side->some = sure != KRT_SURE_ALL && !side->scan;
	out->what = what;
	out->api = take(e, side->api);
	out->kernel = k ? take(e, k->name) : NULL;
	out->stream = take(e, side->stream);
	out->nvtx = take(e, op->range ? krt_string_get(&e->obj, op->range) : NULL);
	out->sequence = op->seq;
	if (p->from < p->end) {
		out->range_base = p->from;
		if (p->mem && krt_mem_unplaced(p->mem))
			out->range_base -= p->mem->node.key;
		out->range_len = p->end - p->from;
	}
	out->knowledge = krt_know_text(know);
	out->declared_at = take(e, krt_declared_at(k, know, place));
	out->stack_id = op->stack;
}

/* The block that a pair is about: the present owner's, of a use after its return the last one's. */
static const struct krt_block *block_of_pair(const struct krt_engine *e, const struct krt_pair *p)
{
	const struct krt_block *b;

	if (p->rule == KRT_RULE_UAF_STREAM && p->owner)
		return p->owner;
	if (p->from >= p->end || !p->mem || p->mem->kind == KRT_MEM_ARRAY)
		return NULL;
	b = krt_block_at(&e->mem, p->from);
	if (b && p->end > b->node.key + b->size)
		return NULL;
	return b;
}

static void reuse_facts(const struct krt_pair *p, const struct krt_block *b, struct krt_facts *f,
			char *home, size_t home_len)
{
	const struct krt_block *old = p->owner;
	const struct krt_pool *from = old ? old->pool : NULL, *to = b ? b->pool : NULL;
	const struct krt_stream_info *s =
		old && old->alloc_op ? old->alloc_op->stream : NULL;

	if (b && (!old || b->serial > old->serial)) {
		f->handed_by = krt_api_text(b->made.api);
		f->handed_seq = b->made.seq;
	}
	if (to || from)
		f->pool = to ? to->name : from->name;
	if (to && from && to != from)
		f->former_pool = from->name;
	if (!old && b && b->came_back.seq && b->came_back.seq < p->prev->seq) {
		f->stale = true;
		f->freed_by = krt_api_text(b->came_back.api);
		f->freed_seq = b->came_back.seq;
	}
	if (!old)
		return;
	f->former = true;
	f->destroyed = old->destroyed;
	if (old->freed.seq) {
		f->freed_by = krt_api_text(old->freed.api);
		f->freed_seq = old->freed.seq;
	}
	f->at_home = s && s == p->prev->stream;
	if (s)
		f->home = krt_stream_text(s, home, home_len);
	for (unsigned i = 0; i < old->uses; i++)
		f->told |= !old->use[i]->stream || old->use[i]->stream == p->prev->stream;
	f->per_thread = p->cur->stream && p->prev->stream && p->cur->stream->thread &&
			p->prev->stream->thread;
}

static uint64_t op_key(uint64_t h, const struct krt_op_info *op)
{
	return op ? krt_mix(krt_mix(krt_mix(h, op->api), op->stack), op->kernel) : krt_mix(h, 0);
}

static uint64_t op_print(const struct krt_engine *e, uint64_t h, const struct krt_op_info *op)
{
	const struct krt_kernel_info *k =
		op && op->kernel ? krt_kernel_get(&e->obj, op->kernel) : NULL;

	if (!op)
		return krt_mix(h, 0);
	h = mix_text(h, krt_api_text(op->api));
	return k ? mix_text(h, k->name) : h;
}

static const char *node_text(const struct krt_engine *e, const struct krt_footprint *f,
			     uint32_t node, char *buf, size_t len)
{
	return f ? krt_gset_text(e, f->image->node[node].type, f->set[node], buf, len) : NULL;
}

/* The call that made it, which its text names. */
static void node_mention(struct krt_facts *facts, const struct krt_footprint *f, uint32_t node)
{
	if (f)
		krt_mention_call(facts, &f->set[node]->made);
}

/* --- the order that is missing ------------------------------------------------------- */

/* end: a process ends there */
static enum krt_change_kind change_of(const struct krt_missing *m, uint64_t end)
{
	switch (m->kind) {
	case KRT_EDGE_WAIT_KIND:
	case KRT_EDGE_REUSE_KIND:
	case KRT_EDGE_BESIDE_KIND:
		return KRT_CHANGE_WAIT;
	case KRT_EDGE_HOST_KIND:
	case KRT_EDGE_FREE_KIND:
	case KRT_EDGE_REUSE_HOST_KIND:
		return KRT_CHANGE_HOST_WAIT;
	case KRT_EDGE_END_KIND:
		return m->wait_before == end ? KRT_CHANGE_END_WAIT : KRT_CHANGE_HOST_WAIT;
	case KRT_EDGE_CAPTURED_KIND:
	case KRT_EDGE_EARLY_KIND:
	case KRT_EDGE_NODES_KIND:
		return KRT_CHANGE_NODES;
	case KRT_EDGE_NONE_KIND:
	case KRT_EDGE_EVENT_KIND:
	case KRT_EDGE_MOVE_KIND:
	case KRT_EDGE_JOIN_KIND:
	case KRT_NR_EDGE_KINDS:
		break;
	}
	return KRT_CHANGE_NONE;
}

static struct krt_call_site site_of_op(const struct krt_op_info *op)
{
	return (struct krt_call_site){.seq = op->seq,
				      .stack = op->stack,
				      .kernel = op->kernel,
				      .api = op->api,
				      .stream = op->stream ? op->stream->number : 0};
}

/* Of an operation that is known by its call alone. */
static struct krt_call_site site_of_call(const struct krt_operation *o)
{
	return (struct krt_call_site){
		.seq = o->sequence, .stack = o->stack_id, .any_api = true, .once = !o->stack_id};
}

/* Which of its sides comes first where the order is made. */
static const struct krt_operation *first_side(const struct krt_finding *f)
{
	return f->previous.api && f->edge.kind != KRT_EDGE_MOVE_KIND ? &f->previous : &f->current;
}

bool krt_engine_missing(const struct krt_engine *e, uint64_t key, struct krt_change *c)
{
	const struct krt_found *f;

	HASH_FIND(hh, e->found, &key, sizeof(key), f);
	if (!f || f->missing.kind == KRT_CHANGE_NONE)
		return false;
	*c = f->missing;
	if (!c->after.any_api)
		c->after.once = c->before.once = f->f.count == 1;
	return true;
}

static void found_of_pair(struct krt_engine *e, const struct krt_pair *p)
{
	char cur_api[256], prev_api[256], cur_stream[160], prev_stream[160], other[160],
		buffer[256], home[160], cur_node[320], prev_node[320];
	struct krt_facts facts = {.rule = p->rule, .confidence = p->confidence, .view = p->view};
	const struct krt_block *b = block_of_pair(e, p);
	struct krt_found *f;
	uint64_t key = krt_mix(0, p->rule), print;

	key = op_key(op_key(key, p->cur), p->prev);
	if (b)
		key = krt_mix(krt_mix(key, b->made.api), b->made.stack);
	else if (p->mem)
		key = krt_mix(krt_mix(krt_mix(key, p->mem->kind), p->mem->made.api),
			      p->mem->made.stack);
	if (p->mem && catch_all(e, p->mem) && (p->cur_item || p->prev_item))
		key = krt_mix(key, (uint64_t)p->cur_item << 16 | p->prev_item);
	if (p->mem && p->mem->variable) /* one load makes many */
		key = mix_text(key, krt_name_at(&e->mem, p->mem->node.key));
	f = admit(e, key, p->rule, p->confidence, p->view);
	if (!f)
		return;
	print = mix_text(14695981039346656037ull, krt_rules[p->rule].id);
	print = op_print(e, op_print(e, print, p->cur), p->prev);
	if (p->mem) {
		print = mix_text(print, krt_mem_kind_name(p->mem->kind));
		print = mix_text(print, b		  ? krt_api_text(b->made.api)
					: p->mem->made.seq ? krt_api_text(p->mem->made.api)
							   : "");
		krt_buffer_of(e, p->mem, p->from, p->end, &f->f.buffer);
		f->alloc_stack = p->mem->made.seq ? p->mem->made.stack : 0;
		f->freed_stack = p->mem->freed.seq ? p->mem->freed.stack : 0;
		if (b)
			buffer_of_block(b, p->owner, p, f);
		krt_buffer_text(&f->f.buffer, buffer, sizeof(buffer));
		facts.buffer = buffer;
		facts.offset = f->f.buffer.offset;
		facts.len = f->f.buffer.len;
		facts.size = f->f.buffer.size;
		f->f.buffer.name = take(e, f->f.buffer.name);
	}
	if (p->owner || p->rule == KRT_RULE_REUSE_RACE)
		reuse_facts(p, b, &facts, home, sizeof(home));
	f->f.fingerprint = print;
	side_of(e, p->cur, p->cur_what, p->cur_know, p->cur_sure, p, &facts.cur, &f->f.current, cur_api,
		sizeof(cur_api), cur_stream, sizeof(cur_stream));
	if (p->prev) {
		side_of(e, p->prev, p->prev_what, p->prev_know, p->prev_sure, p, &facts.prev, &f->f.previous,
			prev_api, sizeof(prev_api), prev_stream, sizeof(prev_stream));
		order_facts(e, p->cur, p->prev, &facts, other, sizeof(other));
	}
	facts.same_op = p->same_op;
	facts.gaps = f->f.buffer.gaps = p->gaps && p->from < p->end;
	facts.beside = p->prev && krt_beside(p->cur, p->prev);
	facts.cur.node = node_text(e, p->cur_fp, p->cur_node, cur_node, sizeof(cur_node));
	node_mention(&facts, p->cur_fp, p->cur_node);
	node_mention(&facts, p->prev_fp, p->prev_node);
	facts.prev.node = node_text(e, p->prev_fp, p->prev_node, prev_node, sizeof(prev_node));
	set_texts(e, &f->f, &facts);
	f->missing.kind = change_of(&f->f.edge, 0);
	if (f->missing.kind != KRT_CHANGE_NONE) {
		f->missing.after = site_of_op(p->prev);
		f->missing.before = site_of_op(p->cur);
	}
}

/* A later use on the same stream is told for the same free: what waits for that has waited for p's. */
static bool covered(const struct krt_engine *e, const struct krt_pair *p)
{
	if ((p->rule != KRT_RULE_FREE_IN_USE && p->rule != KRT_RULE_HOST_FREE_IN_USE) || !p->mem ||
	    !p->prev || !p->prev->stream)
		return false;
	for (uint32_t i = 1; i < e->pairs && i <= COVERS_MAX; i++) {
		const struct krt_pair *q = &e->pair[i];

		if (q->rule == p->rule && q->cur == p->cur && q->mem == p->mem && q->prev &&
		    q->prev->stream == p->prev->stream && q->prev->seq > p->prev->seq &&
		    q->confidence >= p->confidence &&
		    (q->view == KRT_BOTH_VIEWS || q->view == p->view))
			return true;
	}
	return false;
}

void krt_pairs_flush(struct krt_engine *e)
{
	for (uint32_t i = 1; i < e->pairs; i++) {
		struct krt_pair *p = &e->pair[i];

		if (!e->heap.failed && !covered(e, p))
			found_of_pair(e, p);
		krt_op_unref(&e->heap, p->cur);
		krt_block_unref(&e->mem, p->owner);
		if (p->prev)
			krt_op_unref(&e->heap, p->prev);
	}
	e->pairs = 0;
	e->round++;
}

void krt_find_life(struct krt_engine *e, const struct krt_facts *facts,
		   const struct krt_finding *shape, uint32_t alloc_stack, uint32_t freed_stack)
{
	enum krt_level level;
	struct krt_found *f;
	uint64_t key = krt_mix(krt_mix(krt_mix(0, facts->rule), shape->current.stack_id),
			   shape->previous.stack_id),
		 print, count;

	key = mix_text(mix_text(key, facts->cur.api), facts->prev.api);
	key = krt_mix(mix_text(key, shape->buffer.allocated_by), alloc_stack);
	key = krt_mix(krt_mix(key, facts->note), facts->part);
	f = admit(e, key, facts->rule, facts->confidence, facts->view);
	if (!f)
		return;
	if (facts->note)
		f->f.level = KRT_LEVEL_NOTE;
	count = f->f.count;
	print = mix_text(mix_text(mix_text(14695981039346656037ull, krt_rules[facts->rule].id),
				  facts->cur.api),
			 facts->prev.api);
	print = mix_text(mix_text(print, shape->buffer.kind), shape->buffer.allocated_by);
	level = f->f.level;
	f->f = *shape;
	f->f.level = level;
	f->f.rule = facts->rule;
	f->f.confidence = facts->confidence;
	f->f.view = facts->view;
	f->f.count = count;
	f->f.fingerprint = print;
	f->alloc_stack = alloc_stack;
	f->freed_stack = freed_stack;
	f->f.current.api = take(e, shape->current.api);
	f->f.current.kernel = take(e, shape->current.kernel);
	f->f.current.stream = take(e, shape->current.stream);
	f->f.current.nvtx = take(e, shape->current.nvtx);
	f->f.current.declared_at = take(e, shape->current.declared_at);
	f->f.previous.api = take(e, shape->previous.api);
	f->f.previous.kernel = take(e, shape->previous.kernel);
	f->f.previous.stream = take(e, shape->previous.stream);
	f->f.previous.nvtx = take(e, shape->previous.nvtx);
	f->f.previous.declared_at = take(e, shape->previous.declared_at);
	f->f.buffer.name = take(e, shape->buffer.name);
	set_texts(e, &f->f, facts);
	f->missing.kind = change_of(&f->f.edge, facts->end_seq);
	f->missing.after = site_of_call(first_side(&f->f));
	f->missing.before = site_of_call(&f->f.current);
}

void krt_side_plain(struct krt_side *side, struct krt_operation *out, const struct krt_op_info *op,
		    const char *what, char *stream, size_t len)
{
	side->api = krt_api_text(op->api);
	side->what = what;
	side->stream = krt_stream_text(op->stream, stream, len);
	side->seq = op->seq;
	side->host = !op->stream;
	out->what = what;
	out->api = side->api;
	out->stream = side->stream;
	out->sequence = op->seq;
	out->stack_id = op->stack;
	out->knowledge = "api";
}

void krt_find(struct krt_engine *e, const struct krt_facts *facts, const struct krt_finding *shape,
	      uint32_t alloc_stack)
{
	krt_find_life(e, facts, shape, alloc_stack, 0);
}

/* --- the report ----------------------------------------------------------------------- */

static void native_frame(const struct krt_engine *e, const struct krt_stack_info *s, uint64_t pc,
			 struct krt_frame *f, struct krt_arena *a)
{
	/* a return address: the call is before it */
	const struct krt_module_info *m = krt_module_at(&e->obj, s, pc - 1);

	f->pc = pc;
	if (!m)
		return;
	f->module = krt_arena_strdup(a, m->path);
	f->offset = pc - m->bias;
	f->internal = m->role == KRT_MODULE_KRTSAN || m->role == KRT_MODULE_DRIVER ||
		      m->role == KRT_MODULE_CUDA;
}

static bool copy_stack(const struct krt_engine *e, struct krt_arena *a, uint32_t id,
		       struct krt_stack *out)
{
	const struct krt_stack_info *s = id ? krt_stack_get(&e->obj, id) : NULL;
	unsigned next = 0; /* Python frame */

	out->depth = 0;
	out->frame = NULL;
	if (!s || !(s->depth + s->python))
		return true;
	out->frame = krt_arena_alloc(a, (s->depth + s->python) * sizeof(*out->frame));
	if (!out->frame)
		return false;
	for (unsigned i = 0; i <= s->depth; i++) {
		bool runs = next < s->python && s->frame[next].native == i;

		/* behind the last native frame: all that are left */
		while (next < s->python && (s->frame[next].native <= i || i == s->depth))
			if (!krt_pyframe_fill(&e->obj, &s->frame[next++], &out->frame[out->depth++], a))
				return false;
		if (i == s->depth)
			break;
		native_frame(e, s, s->pc[i], &out->frame[out->depth], a);
		out->frame[out->depth++].internal |= runs; /* the interpreter's loop */
	}
	return true;
}

static bool copy_text(struct krt_arena *a, const char **s)
{
	if (!*s)
		return true;
	*s = krt_arena_strdup(a, *s);
	return *s != NULL;
}

static bool copy_operation(const struct krt_engine *e, struct krt_arena *a, struct krt_operation *o)
{
	return copy_text(a, &o->api) && copy_text(a, &o->kernel) && copy_text(a, &o->stream) && copy_text(a, &o->nvtx) && copy_text(a, &o->declared_at) &&
	       copy_stack(e, a, o->stack_id, &o->stack);
}

static bool copy_mentions(const struct krt_engine *e, struct krt_arena *a, struct krt_finding *f)
{
	for (unsigned i = 0; i < KRT_MENTIONS; i++)
		if (!copy_text(a, &f->mention[i].thing) ||
		    !copy_stack(e, a, f->mention[i].stack_id, &f->mention[i].stack))
			return false;
	return true;
}

int krt_judge_report(const struct krt_engine *e, struct krt_report *r)
{
	for (const struct krt_found *f = e->found; f; f = f->hh.next) {
		struct krt_finding *out;

		/* a half-made one (no memory) is none */
		if (!f->f.message || !f->f.current.api)
			continue;
		out = krt_report_add_finding(r);
		if (!out)
			return -ENOMEM;
		*out = f->f;
		out->key = f->key;
		if (!copy_text(r->arena, &out->message) || !copy_text(r->arena, &out->fix) ||
		    !copy_text(r->arena, &out->order_exists) ||
		    !copy_text(r->arena, &out->order_missing) ||
		    !copy_text(r->arena, &out->buffer.name) || !copy_mentions(e, r->arena, out) ||
		    !copy_operation(e, r->arena, &out->current) ||
		    !copy_operation(e, r->arena, &out->previous) ||
		    !copy_stack(e, r->arena, f->alloc_stack, &out->buffer.allocated_at) ||
		    !copy_stack(e, r->arena, f->freed_stack, &out->buffer.freed_at)) {
			r->nfindings--;
			return -ENOMEM;
		}
		if (out->edge.record_after) {
			bool moved = out->edge.kind == KRT_EDGE_MOVE_KIND;
			const struct krt_operation *last = moved ? &out->previous : &out->current;

			out->edge.record_stream = first_side(out)->stream;
			out->edge.wait_stream = out->edge.host ? NULL : last->stream;
		}
	}
	r->possible_total += e->possible_total;
	return 0;
}

void krt_judge_free(struct krt_engine *e)
{
	struct krt_heap *heap = &e->heap;
	struct krt_found *f, *tmp;

	krt_pairs_flush(e);
	HASH_ITER (hh, e->found, f, tmp) {
		HASH_DELETE(hh, e->found, f);
		drop_texts(e, &f->f);
		krt_heap_free(heap, f, sizeof(*f));
	}
	krt_heap_free(heap, e->pair, e->pairs_cap * sizeof(*e->pair));
}
