/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stream captures: which streams take part, and why one breaks.
 *
 * A stream takes part from its BeginCapture on, or from a wait for an event that
 * was recorded in the capture.  Where a call's record tells what the driver says
 * of its stream, that is the fact and the events only give the reason.
 *
 * What breaks a capture shows as one of CUDA's capture errors at the call that
 * broke it, whoever made that call (or as an invalid value, where it asked for an
 * event of a capture that has ended); a call that failed and after which the driver
 * says that the capture goes on broke nothing.  Every later call of the capture is told no
 * more than that it is broken.  So the first error is the culprit, and a capture
 * has one finding.
 *
 * A capture counts the nodes of each of its streams.  What a stream's next node
 * comes after is a vector of such counts; an event recorded in the capture
 * carries it, a wait joins it.  A stream with nodes that the first one's vector
 * lacks at the end was not joined.
 */
#include "engine_int.h"
#include "../interposer/cuabi.h"

#include <stdio.h>
#include <string.h>

/* One of the streams of a capture. */
struct member {
	struct krt_stream_info *stream;	 /* counted */
	struct krt_op_info *fork, *last; /* the wait that pulled it in, its last node; NULL: none */
	uint64_t nodes;			 /* made on it */
	uint64_t *joined; /* by member: how many of its nodes come before this one's next */
	uint32_t njoined;
	char event[64]; /* of the fork */
	struct krt_origin event_made; /* where that has no name */
};

/* An event recorded in the capture. */
struct cut {
	uint64_t event;
	uint64_t *joined;
	uint32_t njoined;
	UT_hash_handle hh;
};

struct krt_capture_info {
	struct krt_capture_info *next;
	unsigned id;
	uint64_t driver_id;	   /* 0: not told */
	struct krt_op_info *begin; /* NULL: not seen */
	uint64_t thread;	   /* the serial of the one that began it */
	unsigned mode;		   /* CUstreamCaptureMode */
	bool broken;		   /* and reported */
	struct krt_op_info *suspect; /* a call in it that failed, and is no capture error */
	int suspect_result;
	struct krt_op_info *later; /* the first call that found it broken, the culprit not known */
	struct member *member; /* [0] began it, where that was seen */
	uint32_t members, members_cap;
	struct cut *cuts;
};

static struct krt_capture_info *by_id(const struct krt_engine *e, unsigned id)
{
	struct krt_capture_info *cap = id ? e->capturing : NULL;

	while (cap && cap->id != id)
		cap = cap->next;
	return cap;
}

/* --- counts ----------------------------------------------------------------------- */

static void join(struct krt_engine *e, uint64_t **to, uint32_t *n, const uint64_t *from,
		 uint32_t count)
{
	if (count > *n) {
		uint64_t *p = krt_heap_resize(&e->heap, *to, *n * sizeof(*p), count * sizeof(*p));

		if (!p)
			return;
		memset(p + *n, 0, (count - *n) * sizeof(*p));
		*to = p;
		*n = count;
	}
	for (uint32_t i = 0; i < count; i++)
		if (from[i] > (*to)[i])
			(*to)[i] = from[i];
}

static struct member *member_of(struct krt_capture_info *cap, const struct krt_stream_info *s)
{
	for (uint32_t i = 0; i < cap->members; i++)
		if (cap->member[i].stream == s)
			return &cap->member[i];
	return NULL;
}

static struct member *member_add(struct krt_engine *e, struct krt_capture_info *cap,
				 struct krt_stream_info *s, const struct krt_call *fork,
				 const struct krt_event_info *ev)
{
	struct member *m = member_of(cap, s);

	if (!m) {
		if (!krt_heap_grow(&e->heap, &cap->member, &cap->members_cap, cap->members,
				   sizeof(*m)))
			return NULL;
		m = &cap->member[cap->members++];
		memset(m, 0, sizeof(*m));
		m->stream = s;
		s->refs++;
	}
	s->capture = cap->id;
	if (fork && !m->fork) {
		m->fork = krt_op_new(&e->obj, fork, s, KRT_OPC_OTHER);
		if (ev)
			krt_event_text(ev, m->event, sizeof(m->event));
		if (ev && !ev->name)
			m->event_made = ev->made;
	}
	return m;
}

/* The stream's own nodes are ahead of its next one. */
static void own_nodes(struct krt_engine *e, const struct krt_capture_info *cap, struct member *m,
		      uint64_t **to, uint32_t *n)
{
	uint32_t at = (uint32_t)(m - cap->member);

	join(e, to, n, m->joined, m->njoined);
	if (at >= *n) {
		uint64_t *p =
			krt_heap_resize(&e->heap, *to, *n * sizeof(*p), (at + 1) * sizeof(*p));

		if (!p)
			return;
		memset(p + *n, 0, (at + 1 - *n) * sizeof(*p));
		*to = p;
		*n = at + 1;
	}
	(*to)[at] = m->nodes;
}

/* --- the life of a capture ----------------------------------------------------------- */

static struct krt_capture_info *capture_new(struct krt_engine *e, const struct krt_call *c,
					    bool begins)
{
	struct krt_capture_info *cap = krt_heap_alloc(&e->heap, sizeof(*cap));

	if (!cap)
		return NULL;
	cap->id = ++e->captures;
	cap->driver_id = c->capture ? c->capture->id : 0;
	cap->thread = c->lane < e->lanes ? e->lane[c->lane].thread : 0;
	cap->mode = begins && krt_has(c, KRT_ROLE_FLAGS) ? (unsigned)c->flags
							  : CU_STREAM_CAPTURE_MODE_GLOBAL;
	cap->next = e->capturing;
	e->capturing = cap;
	return cap;
}

static void capture_free(struct krt_engine *e, struct krt_capture_info *cap)
{
	struct krt_heap *heap = &e->heap;
	struct cut *cut, *tmp;

	HASH_ITER (hh, cap->cuts, cut, tmp) {
		HASH_DELETE(hh, cap->cuts, cut);
		krt_heap_free(heap, cut->joined, cut->njoined * sizeof(*cut->joined));
		krt_heap_free(heap, cut, sizeof(*cut));
	}
	for (uint32_t i = 0; i < cap->members; i++) {
		struct member *m = &cap->member[i];

		if (m->fork)
			krt_op_unref(heap, m->fork);
		if (m->last)
			krt_op_unref(heap, m->last);
		krt_heap_free(heap, m->joined, m->njoined * sizeof(*m->joined));
		krt_stream_unref(&e->obj, m->stream);
	}
	krt_heap_free(heap, cap->member, cap->members_cap * sizeof(*cap->member));
	if (cap->begin)
		krt_op_unref(heap, cap->begin);
	if (cap->suspect)
		krt_op_unref(heap, cap->suspect);
	if (cap->later)
		krt_op_unref(heap, cap->later);
	krt_heap_free(heap, cap, sizeof(*cap));
}

static void capture_close(struct krt_engine *e, struct krt_capture_info *cap)
{
	struct krt_capture_info **p = &e->capturing;

	for (uint32_t i = 0; i < cap->members; i++)
		if (cap->member[i].stream->capture == cap->id)
			cap->member[i].stream->capture = 0;
	for (struct cut *cut = cap->cuts; cut; cut = cut->hh.next) {
		struct krt_event_info *ev = krt_event_get(&e->obj, cut->event, false);

		if (!ev || ev->capture != cap->id)
			continue;
		ev->capture = 0;
		/* captured: a wait for it is an error and not a wait for nothing */
		ev->known = false;
		ev->captured_broken = cap->broken;
	}
	while (*p != cap)
		p = &(*p)->next;
	*p = cap->next;
	capture_free(e, cap);
}

static void begin(struct krt_engine *e, const struct krt_call *c, struct krt_stream_info *s)
{
	struct krt_capture_info *cap = by_id(e, s->capture);

	if (cap) { /* its end was not seen */
		struct member *m = member_of(cap, s);

		if (m == cap->member)
			capture_close(e, cap);
	}
	cap = capture_new(e, c, true);
	if (!cap)
		return;
	cap->begin = krt_op_new(&e->obj, c, s, KRT_OPC_OTHER);
	member_add(e, cap, s, NULL, NULL);
}

/* A captured event: what the stream's next node comes after. */
static void record(struct krt_engine *e, const struct krt_call *c, struct krt_capture_info *cap,
		   struct krt_stream_info *s)
{
	struct krt_heap *heap = &e->heap;
	struct krt_event_info *ev = krt_event_get(&e->obj, c->event, true);
	struct member *m = member_of(cap, s);
	struct cut *cut;

	if (!ev || !m)
		return;
	krt_event_set(&e->obj, ev, NULL, NULL);
	ev->capture = cap->id;
	ev->captured_op = krt_op_new(&e->obj, c, s, KRT_OPC_OTHER);
	HASH_FIND(hh, cap->cuts, &c->event, sizeof(c->event), cut);
	if (!cut) {
		cut = krt_heap_alloc(heap, sizeof(*cut));
		if (!cut)
			return;
		cut->event = c->event;
		HASH_ADD(hh, cap->cuts, event, sizeof(cut->event), cut);
		if (!cut->hh.tbl) {
			krt_heap_free(heap, cut, sizeof(*cut));
			return;
		}
	}
	if (cut->njoined)
		memset(cut->joined, 0, cut->njoined * sizeof(*cut->joined));
	own_nodes(e, cap, m, &cut->joined, &cut->njoined);
}

/* A wait for a captured event: the stream is pulled in, or joins another. */
static void wait_event(struct krt_engine *e, const struct krt_call *c, struct krt_stream_info *s)
{
	struct krt_event_info *ev = krt_event_get(&e->obj, c->event, false);
	struct krt_capture_info *cap = ev ? by_id(e, ev->capture) : NULL;
	struct member *m;
	struct cut *cut;

	if (!cap || (s->capture && s->capture != cap->id))
		return;
	m = member_add(e, cap, s, s->capture ? NULL : c, ev);
	HASH_FIND(hh, cap->cuts, &c->event, sizeof(c->event), cut);
	if (m && cut)
		join(e, &m->joined, &m->njoined, cut->joined, cut->njoined);
}

/* Does the call, on a stream that captures, become a node? */
static bool makes_node(const struct krt_call *c)
{
	switch (c->op) {
	case KRT_OP_EVENT_RECORD:
		return c->flags & CU_EVENT_RECORD_EXTERNAL;
	case KRT_OP_STREAM_WAIT_EVENT:
		return c->flags & CU_EVENT_WAIT_EXTERNAL;
	case KRT_OP_CAPTURE_BEGIN:
	case KRT_OP_CAPTURE_END:
	case KRT_OP_CAPTURE_DEPS:
	case KRT_OP_STREAM_SYNC:
	case KRT_OP_STREAM_QUERY:
	case KRT_OP_STREAM_DESTROY:
	case KRT_OP_GRAPH_UPLOAD:
	case KRT_OP_GRAPH_INSTANTIATE:
	case KRT_OP_NONE:
		return false;
	default:
		return true;
	}
}

static void node(struct krt_engine *e, const struct krt_call *c, struct krt_capture_info *cap,
		 struct krt_stream_info *s)
{
	struct member *m = member_of(cap, s);

	if (!m)
		return;
	m->nodes++;
	if (m->last)
		krt_op_unref(&e->heap, m->last);
	m->last = krt_op_new(&e->obj, c, s, KRT_OPC_OTHER);
}

/* What the driver said of the call's stream right after it. */
static void told(struct krt_engine *e, const struct krt_call *c, struct krt_stream_info *s)
{
	struct krt_capture_info *cap = by_id(e, s->capture);
	uint64_t id = c->capture->id;

	if (!id || (cap && cap->driver_id == id))
		return;
	if (cap && !cap->driver_id && cap->member && cap->member[0].stream == s) {
		cap->driver_id = id;
		return;
	}
	for (cap = e->capturing; cap && cap->driver_id != id;)
		cap = cap->next;
	if (!cap)
		cap = capture_new(e, c, false);
	if (cap)
		member_add(e, cap, s, c->op == KRT_OP_STREAM_WAIT_EVENT ? c : NULL, NULL);
}

/* --- findings ---------------------------------------------------------------------- */

static const char *mode_text(unsigned mode)
{
	switch (mode) {
	case CU_STREAM_CAPTURE_MODE_THREAD_LOCAL:
		return "thread-local";
	case CU_STREAM_CAPTURE_MODE_RELAXED:
		return "relaxed";
	default:
		return "global";
	}
}

/* A broken capture: the call in hand, the other operation that tells why. */
struct breakage {
	enum krt_capture_why why;
	enum krt_confidence confidence;
	const char *what, *prev_what;
	struct krt_op_info *cur;	/* NULL: the call in hand */
	const struct krt_op_info *prev; /* NULL: the capture's begin */
	const struct krt_event_info *event;
	const char *event_text;		     /* where there is no event at hand */
	const struct krt_origin *event_made; /* where that has no name, or NULL */
	const struct krt_capture_info *other; /* of a merge */
	const struct krt_op_info *last;
	unsigned more;
	bool before, ended;
};

static void report(struct krt_engine *e, const struct krt_call *c, struct krt_stream_info *s,
		   struct krt_capture_info *cap, const struct breakage *b)
{
	char begin_stream[160], other_stream[160], event[160], waited[160];
	const struct krt_op_info *begun = cap ? cap->begin : NULL, *prev = b->prev ? b->prev : begun;
	struct krt_capture_facts k = {.why = b->why, .result = c->rec->result, .more = b->more,
				      .before = b->before, .ended = b->ended};
	struct krt_facts f = {.rule = KRT_RULE_CAPTURE_ISOLATION,
			      .confidence = b->confidence,
			      .view = KRT_BOTH_VIEWS,
			      .capture = &k};
	struct krt_finding shape;
	char cur_text[160], prev_text[160];
	struct krt_op_info *cur;

	if (cap) {
		if (cap->broken)
			return;
		cap->broken = true;
		k.mode = mode_text(cap->mode);
		k.other_thread = c->lane < e->lanes && e->lane[c->lane].thread != cap->thread;
	}
	if (!e->judge)
		return;
	cur = b->cur;
	if (cur)
		krt_op_ref(cur);
	else
		cur = krt_op_new(&e->obj, c, s, KRT_OPC_OTHER);
	if (!cur)
		return;
	memset(&shape, 0, sizeof(shape));
	krt_side_plain(&f.cur, &shape.current, cur, b->what, cur_text, sizeof(cur_text));
	if (prev)
		krt_side_plain(&f.prev, &shape.previous, prev, b->prev ? b->prev_what : "begin",
			       prev_text, sizeof(prev_text));
	if (begun) {
		k.begin = krt_api[begun->api].base;
		k.begin_seq = begun->seq;
		krt_mention_call(&f,
				 &(struct krt_origin){.seq = begun->seq, .stack = begun->stack});
		k.begin_stream =
			krt_stream_text(begun->stream, begin_stream, sizeof(begin_stream));
	}
	if (b->other && b->other->begin) {
		k.other_seq = b->other->begin->seq;
		k.other_stream = krt_stream_text(b->other->begin->stream, other_stream,
						 sizeof(other_stream));
	}
	if (b->event)
		f.event = krt_event_text(b->event, event, sizeof(event));
	else
		f.event = b->event_text;
	if (b->event)
		krt_event_mention(b->event, event, &f);
	else if (b->event_made)
		krt_mention_made(&f, b->event_made, b->event_text);
	if (b->last) {
		k.last = krt_api[b->last->api].base;
		k.last_seq = b->last->seq;
		krt_mention_call(
			&f, &(struct krt_origin){.seq = b->last->seq, .stack = b->last->stack});
		k.last_result = cap ? cap->suspect_result : 0;
	}
	if (b->why == KRT_CAPTURE_FOREIGN && prev && prev->stream && prev->stream->waits.count) {
		const struct krt_wait_memory *w = &prev->stream->waits;

		if (begun && w->last[0].wait.seq > begun->seq) {
			k.pool_wait = w->last[0].wait.seq;
			k.pool_record = w->last[0].record.seq;
			krt_mention_call(&f, &w->last[0].wait);
			krt_mention_call(&f, &w->last[0].record);
			snprintf(waited, sizeof(waited), "%s", f.prev.stream);
			k.pool_stream = waited;
		}
	}
	krt_find(e, &f, &shape, 0);
	krt_op_unref(&e->heap, cur);
}

/* Does the capture's mode forbid unsafe calls of the calling thread? */
static bool forbids(const struct krt_engine *e, const struct krt_capture_info *cap,
		    const struct krt_call *c)
{
	const struct krt_lane *l = c->lane < e->lanes ? &e->lane[c->lane] : NULL;
	bool own = l && l->thread == cap->thread;

	if (!l || l->capture_mode == CU_STREAM_CAPTURE_MODE_RELAXED ||
	    cap->mode == CU_STREAM_CAPTURE_MODE_RELAXED)
		return false;
	if (l->capture_mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
		return own;
	return own || cap->mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
}

static const char *what_of(const struct krt_call *c)
{
	switch (c->op) {
	case KRT_OP_STREAM_WAIT_EVENT:
		return "wait";
	case KRT_OP_EVENT_RECORD:
		return "record";
	case KRT_OP_STREAM_SYNC:
	case KRT_OP_EVENT_SYNC:
	case KRT_OP_CTX_SYNC:
		return "sync";
	case KRT_OP_EVENT_QUERY:
	case KRT_OP_STREAM_QUERY:
	case KRT_OP_EVENT_ELAPSED:
		return "query";
	case KRT_OP_CAPTURE_BEGIN:
		return "begin";
	case KRT_OP_CAPTURE_END:
		return "end";
	default:
		return "call";
	}
}

/* A blocking stream of the context takes part: the legacy stream would have to wait for it. */
static bool blocks_legacy(const struct krt_capture_info *cap, const struct krt_context_info *ctx)
{
	for (uint32_t i = 0; i < cap->members; i++) {
		const struct krt_stream_info *s = cap->member[i].stream;

		if (s->kind == KRT_STREAM_BLOCKING && (!ctx || s->ctx->id == ctx->id))
			return true;
	}
	return false;
}

/* An unsafe call, or one on the legacy stream: every capture that it breaks. */
static void forbidden(struct krt_engine *e, const struct krt_call *c, struct krt_stream_info *s,
		      const struct krt_event_info *ev, bool legacy)
{
	struct breakage b = {.why = legacy ? KRT_CAPTURE_LEGACY : KRT_CAPTURE_FORBIDDEN,
			     .confidence = KRT_CERTAIN,
			     .what = what_of(c)};
	const struct krt_context_info *ctx = legacy ? krt_call_context(e, c) : NULL;
	struct krt_capture_info *cap;
	unsigned hit = 0;

	if (legacy && ev && ev->capture && by_id(e, ev->capture)) { /* it cannot be pulled in */
		report(e, c, s, by_id(e, ev->capture), &b);
		return;
	}
	for (cap = e->capturing; cap; cap = cap->next)
		if (legacy ? blocks_legacy(cap, ctx) : forbids(e, cap, c)) {
			report(e, c, s, cap, &b);
			hit++;
		}
	if (hit)
		return;
	/* which one it was is not known where there are several */
	cap = e->capturing;
	if (cap && cap->next)
		b.confidence = KRT_LIKELY;
	report(e, c, s, cap, &b);
}

static void unjoined(struct krt_engine *e, const struct krt_call *c, struct krt_stream_info *s,
		     struct krt_capture_info *cap)
{
	struct breakage b = {.why = KRT_CAPTURE_UNJOINED,
			     .confidence = KRT_CERTAIN,
			     .what = "end",
			     .prev_what = "fork"};
	const struct member *origin = cap ? member_of(cap, s) : NULL, *found = NULL;

	for (int pass = 0; origin && pass < 2 && !found; pass++)
		for (uint32_t i = 0; i < cap->members; i++) {
			const struct member *m = &cap->member[i];
			uint64_t joined = i < origin->njoined ? origin->joined[i] : 0;

			/* all are joined for what we know: any that was forked */
			if (m == origin || (!pass && joined >= m->nodes))
				continue;
			if (found)
				b.more++;
			else
				found = m;
		}
	if (found) {
		b.prev = found->fork ? found->fork : found->last;
		b.prev_what = found->fork ? "fork" : "work";
		b.last = found->last;
		b.event_text = *found->event ? found->event : NULL;
		b.event_made = *found->event ? &found->event_made : NULL;
	}
	report(e, c, s, cap, &b);
}

static void broke(struct krt_engine *e, const struct krt_call *c, struct krt_stream_info *s)
{
	struct breakage b = {.confidence = KRT_CERTAIN, .what = what_of(c)};
	int result = c->rec->result;
	struct krt_capture_info *cap = s ? by_id(e, s->capture) : NULL;
	const struct krt_event_info *ev =
		krt_has(c, KRT_ROLE_EVENT) ? krt_event_get(&e->obj, c->event, false) : NULL;

	if (c->op == KRT_OP_EVENT_ELAPSED && ev && !ev->captured_op)
		ev = krt_event_get(&e->obj, c->event2, false);
	if (result == CUDA_ERROR_INVALID_VALUE && cap) /* of_ended(): breaks this one */
		result = CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
	else if (ev && ev->captured_broken) /* a later error of a capture that has had its finding */
		return;
	else if (result == CUDA_ERROR_INVALID_VALUE)
		result = CUDA_ERROR_CAPTURED_EVENT;
	switch (result) {
	case CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED:
		if (cap) {
			b.why = KRT_CAPTURE_OWN_STREAM;
		} else if (c->op == KRT_OP_CAPTURE_BEGIN) {
			b.why = KRT_CAPTURE_REFUSED;
			b.ended = s && s->kind == KRT_STREAM_LEGACY;
		} else {
			forbidden(e, c, s, ev, false);
			return;
		}
		break;
	case CUDA_ERROR_STREAM_CAPTURE_IMPLICIT:
		forbidden(e, c, s, ev, true);
		return;
	case CUDA_ERROR_STREAM_CAPTURE_UNJOINED:
		unjoined(e, c, s, cap);
		return;
	case CUDA_ERROR_STREAM_CAPTURE_MERGE:
		b.why = KRT_CAPTURE_MERGED;
		b.event = ev;
		b.prev = ev ? ev->captured_op : NULL;
		b.prev_what = "record";
		b.other = ev ? by_id(e, ev->capture) : NULL;
		report(e, c, s, cap, &b);
		if (ev && ev->capture && (cap = by_id(e, ev->capture)))
			cap->broken = true;
		return;
	case CUDA_ERROR_STREAM_CAPTURE_ISOLATION:
		b.why = KRT_CAPTURE_FOREIGN;
		b.event = ev;
		b.prev_what = "record";
		if (ev) {
			b.ended = !ev->record_op && ev->captured_op;
			b.prev = ev->record_op ? ev->record_op : ev->captured_op;
			b.before = b.prev && cap && cap->begin && b.prev->seq < cap->begin->seq;
		}
		break;
	case CUDA_ERROR_CAPTURED_EVENT:
		b.why = KRT_CAPTURE_EVENT;
		b.event = ev;
		b.prev_what = "record";
		if (ev) {
			struct krt_capture_info *of = by_id(e, ev->capture);

			b.prev = ev->captured_op;
			b.ended = !of;
			if (of || !cap)
				cap = of;
		}
		break;
	case CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD:
		b.why = KRT_CAPTURE_WRONG_THREAD;
		break;
	case CUDA_ERROR_STREAM_CAPTURE_UNMATCHED:
		b.why = KRT_CAPTURE_UNMATCHED;
		break;
	default: /* INVALIDATED: a later call of a capture that is broken */
		if (!cap && ev)
			cap = by_id(e, ev->capture);
		/*
		 * The call that broke it may be another thread's that has not returned yet:
		 * the end of the capture is time enough.
		 */
		if (cap && !cap->broken && c->op != KRT_OP_CAPTURE_END) {
			if (!cap->later)
				cap->later = krt_op_new(&e->obj, c, s, KRT_OPC_OTHER);
			return;
		}
		b.why = KRT_CAPTURE_LATER;
		b.cur = cap ? cap->later : NULL;
		if (b.cur)
			b.what = "call";
		b.prev = cap ? cap->suspect : NULL;
		b.prev_what = "call";
		b.last = b.prev;
		break;
	}
	report(e, c, s, cap, &b);
}

/* --- calls -------------------------------------------------------------------------- */

static struct krt_stream_info *stream_of(struct krt_engine *e, const struct krt_call *c)
{
	uint64_t handle = c->stream;

	if (c->op == KRT_OP_LAUNCH_EX) {
		CUlaunchConfig cfg;

		if (c->launch.len < sizeof(cfg))
			return NULL;
		memcpy(&cfg, c->launch.data, sizeof(cfg));
		handle = (uintptr_t)cfg.hStream;
	} else if (!krt_has(c, KRT_ROLE_STREAM)) {
		return NULL;
	}
	/* the handle of a call that failed may be the very thing that is wrong */
	return c->ok || handle <= 2 ? krt_call_stream(e, c, handle)
				    : krt_stream_find(&e->obj, handle);
}

static void end(struct krt_engine *e, const struct krt_call *c, struct krt_stream_info *s)
{
	struct krt_capture_info *cap = by_id(e, s->capture);

	/* unmatched, or another thread's: the capture goes on; any other result ends it */
	if (cap && c->rec->result != CUDA_ERROR_STREAM_CAPTURE_UNMATCHED &&
	    c->rec->result != CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD)
		capture_close(e, cap);
}

/* A use of an event whose last record was in a capture that has ended: an invalid value. */
static bool of_ended(struct krt_engine *e, const struct krt_call *c)
{
	const struct krt_event_info *ev;

	if (c->rec->result != CUDA_ERROR_INVALID_VALUE ||
	    (c->op != KRT_OP_STREAM_WAIT_EVENT && c->op != KRT_OP_EVENT_SYNC &&
	     c->op != KRT_OP_EVENT_QUERY))
		return false;
	ev = krt_event_get(&e->obj, c->event, false);
	return ev && ev->captured_op && !ev->record_op && !by_id(e, ev->capture);
}

bool krt_capture_error(struct krt_engine *e, const struct krt_call *c)
{
	return (c->rec->result >= CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED &&
		c->rec->result <= CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD) ||
	       of_ended(e, c);
}

/* A stream's call has failed, and the stream's capture is as it was. */
static bool goes_on(const struct krt_call *c)
{
	return c->capture && c->capture->status == CU_STREAM_CAPTURE_STATUS_ACTIVE &&
	       c->rec->result == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

void krt_capture_call(struct krt_engine *e, const struct krt_call *c)
{
	bool error = krt_capture_error(e, c);
	struct krt_capture_info *cap;
	struct krt_stream_info *s;

	if (c->op == KRT_OP_CAPTURE_MODE) {
		struct krt_lane *l = krt_call_lane(e, c->lane);
		uint32_t mode;

		if (l && c->ok && c->in.len >= sizeof(mode)) {
			memcpy(&mode, c->in.data, sizeof(mode));
			l->capture_mode = mode;
		}
		return;
	}
	if (!e->capturing && !c->capture && !error && c->op != KRT_OP_CAPTURE_BEGIN)
		return;
	s = stream_of(e, c);
	if (c->ok && s) {
		if (c->op == KRT_OP_CAPTURE_BEGIN)
			begin(e, c, s);
		else if (c->op == KRT_OP_STREAM_WAIT_EVENT)
			wait_event(e, c, s);
		if (c->capture && c->op != KRT_OP_CAPTURE_END)
			told(e, c, s);
		cap = by_id(e, s->capture);
		if (cap && c->op == KRT_OP_EVENT_RECORD && !makes_node(c))
			record(e, c, cap, s);
		else if (cap && makes_node(c))
			node(e, c, cap, s);
	}
	if (error) {
		if (!goes_on(c))
			broke(e, c, s);
	} else if (s && s->capture &&
		   ((!c->ok && !c->not_ready) || c->op == KRT_OP_STREAM_DESTROY)) {
		cap = by_id(e, s->capture);
		if (cap && cap->begin && cap->begin->stream == s && c->op == KRT_OP_STREAM_DESTROY) {
			if (c->ok)
				capture_close(e, cap);
			return;
		}
		if (cap && cap->suspect)
			krt_op_unref(&e->heap, cap->suspect);
		if (cap) {
			cap->suspect = krt_op_new(&e->obj, c, s, KRT_OPC_OTHER);
			cap->suspect_result = c->rec->result;
		}
	}
	if (c->op == KRT_OP_CAPTURE_END && s)
		end(e, c, s);
}

void krt_capture_free(struct krt_engine *e)
{
	while (e->capturing) {
		struct krt_capture_info *cap = e->capturing;

		e->capturing = cap->next;
		capture_free(e, cap);
	}
}
