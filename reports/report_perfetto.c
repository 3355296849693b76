/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The timeline as a Chrome trace (JSON): opens in ui.perfetto.dev and
 * chrome://tracing.  A track for each host thread, and a group of tracks for
 * the streams of each context; flows for the order that the program made and,
 * of category "missing", for the order that findings miss; findings as instants.
 *
 * Slices of a track never overlap and last at least 1 ns, since flows bind to the
 * slice around them.  A stream's operation without device time is drawn where its
 * call was made, or behind what it comes after: its place says order, its length
 * nothing; its category is "order".
 */
#include "../rules/timeline.h"
#include "json.h"
#include "report.h"

#include <inttypes.h>
#include <stdlib.h>

#define GROUPS 1000000000 /* pids of groups of streams: no process has such a one */

/* Where an operation is drawn: times from the first process's attach. */
struct slice {
	uint64_t start, end;
};

struct track {
	uint64_t pid, tid;
	uint64_t end;  /* of its last slice */
	bool measured; /* some of its operations have device times */
};

struct process_view {
	int pid;
	const struct krt_timeline *t;
	struct track *track;	     /* of each lane */
	struct slice *host, *stream; /* of each operation */
	bool by_order;	/* calls have no times: all is drawn in order, a microsecond each */
	uint64_t *next; /* start of the next call on the operation's stream */
};

struct view {
	struct krt_json j;
	const struct krt_report *r;
	size_t n;
	struct process_view *p; /* of each process */
	uint64_t groups, tracks, flows, backwards;
};

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* --- where slices go ------------------------------------------------------------------ */

static uint64_t call_start(const struct process_view *p, uint32_t i)
{
	return p->t->offset_ns + (p->by_order ? (uint64_t)i * 1000 : p->t->op[i].start_ns);
}

static bool measured(const struct process_view *p, const struct krt_timeline_op *o)
{
	return !p->by_order && o->device_start_ns != KRT_UNKNOWN;
}

static struct slice put(struct track *k, uint64_t start, uint64_t end)
{
	struct slice s = {.start = most(start, k->end)};

	s.end = most(end, s.start + 1);
	k->end = s.end;
	return s;
}

/* What comes before it, as far as that lies on a stream or on the host itself. */
static uint64_t after_edges(const struct process_view *p, uint32_t i, uint32_t *at)
{
	uint64_t start = 0;

	for (; *at < p->t->nedges && p->t->edge[*at].to == i; ++*at) {
		uint32_t from = p->t->edge[*at].from;

		if (from < i)
			start = most(start, p->t->op[from].stream == KRT_TL_NONE
						    ? p->host[from].start
						    : p->stream[from].start);
	}
	return start;
}

static void place_all(struct process_view *p)
{
	const struct krt_timeline *t = p->t;
	uint32_t at = 0;

	for (uint32_t i = 0; i < t->nops; i++) {
		const struct krt_timeline_op *o = &t->op[i];
		uint64_t call = call_start(p, i), after = after_edges(p, i, &at), start, end;
		struct track *k;

		end = call + (p->by_order ? 1000 : o->took_ns);
		if (!(o->flags & KRT_TLF_MORE))
			p->host[i] = put(&p->track[o->thread], call, end);
		else if (i)
			p->host[i] = p->host[i - 1];
		if (o->stream == KRT_TL_NONE)
			continue;
		k = &p->track[o->stream];
		start = most(call, after);
		if (measured(p, o)) {
			start = t->offset_ns + o->device_start_ns;
			end = start + o->device_ns;
		} else if (k->measured) { /* a mark between measured ones */
			end = start;
		} else {
			end = least(end, p->next[i]);
		}
		p->stream[i] = put(k, start, end);
	}
}

static bool look(struct process_view *p, const struct krt_timeline *t, int pid)
{
	uint64_t *last;

	p->t = t;
	p->pid = pid;
	if (!t)
		return true;
	p->track = calloc(t->nlanes + 1, sizeof(*p->track));
	p->host = calloc((size_t)t->nops + 1, sizeof(*p->host));
	p->stream = calloc((size_t)t->nops + 1, sizeof(*p->stream));
	p->next = calloc((size_t)t->nops + 1, sizeof(*p->next));
	last = calloc(t->nlanes + 1, sizeof(*last));
	if (!p->track || !p->host || !p->stream || !p->next || !last) {
		free(last);
		return false;
	}
	for (uint32_t i = 0; i < t->nops; i++)
		p->by_order |= t->op[i].start_ns == KRT_UNKNOWN;
	for (uint32_t i = 0; i < t->nlanes; i++)
		last[i] = UINT64_MAX;
	for (uint32_t i = t->nops; i--;) {
		const struct krt_timeline_op *o = &t->op[i];

		if (o->stream == KRT_TL_NONE)
			continue;
		p->next[i] = last[o->stream];
		last[o->stream] = call_start(p, i);
		p->track[o->stream].measured |= measured(p, o);
	}
	free(last);
	place_all(p);
	return true;
}

static void forget(struct view *v)
{
	for (size_t i = 0; v->p && i < v->n; i++) {
		free(v->p[i].track);
		free(v->p[i].host);
		free(v->p[i].stream);
		free(v->p[i].next);
	}
	free(v->p);
}

/* --- events ----------------------------------------------------------------------------- */

/* Opens an event, which the caller closes. */
static void event(struct view *v, const char *ph, uint64_t pid, uint64_t tid)
{
	krt_json_open_flat(&v->j, NULL, '{');
	krt_json_string(&v->j, "ph", ph);
	krt_json_uint(&v->j, "pid", pid);
	krt_json_uint(&v->j, "tid", tid);
}

static void named(struct view *v, const char *what, uint64_t pid, uint64_t tid, const char *name)
{
	event(v, "M", pid, tid);
	krt_json_string(&v->j, "name", what);
	krt_json_open(&v->j, "args", '{');
	krt_json_string(&v->j, "name", name);
	krt_json_close(&v->j, '}');
	krt_json_close(&v->j, '}');
}

static void sorted(struct view *v, const char *what, uint64_t pid, uint64_t tid, uint64_t at)
{
	event(v, "M", pid, tid);
	krt_json_string(&v->j, "name", what);
	krt_json_open(&v->j, "args", '{');
	krt_json_uint(&v->j, "sort_index", at);
	krt_json_close(&v->j, '}');
	krt_json_close(&v->j, '}');
}

/* The group of streams of a lane's context: made where it is the context's first lane. */
static uint64_t group_of(struct view *v, struct process_view *p, uint32_t lane)
{
	const struct krt_timeline_lane *l = &p->t->lane[lane];
	char name[128];

	for (uint32_t i = 0; i < lane; i++)
		if (p->t->lane[i].kind == KRT_LANE_STREAM && p->t->lane[i].device == l->device &&
		    p->t->lane[i].context == l->context)
			return p->track[i].pid;
	snprintf(name, sizeof(name), "streams of context %u on device %u, process %d", l->context,
		 l->device, p->pid);
	named(v, "process_name", GROUPS + v->groups, 0, name);
	sorted(v, "process_sort_index", GROUPS + v->groups, 0, GROUPS + v->groups);
	return GROUPS + v->groups++;
}

static void tracks(struct view *v, struct process_view *p, const char *exe)
{
	char name[640];

	snprintf(name, sizeof(name), "%s (host threads)", exe ? exe : "process");
	named(v, "process_name", (uint64_t)p->pid, 0, name);
	for (uint32_t i = 0; p->t && i < p->t->nlanes; i++) {
		struct track *k = &p->track[i];

		k->tid = ++v->tracks;
		k->pid = p->t->lane[i].kind == KRT_LANE_STREAM ? group_of(v, p, i)
							       : (uint64_t)p->pid;
		named(v, "thread_name", k->pid, k->tid, p->t->lane[i].name);
		sorted(v, "thread_sort_index", k->pid, k->tid, i);
	}
}

static const char *name_at(const struct krt_timeline *t, uint32_t i)
{
	return i == KRT_TL_NONE || i >= t->nnames ? NULL : t->name[i];
}

static void slice(struct view *v, const struct process_view *p, uint32_t i, bool host)
{
	const struct krt_timeline_op *o = &p->t->op[i];
	const struct track *k = &p->track[host ? o->thread : o->stream];
	const struct slice *s = host ? &p->host[i] : &p->stream[i];
	const char *api = name_at(p->t, o->api), *kernel = name_at(p->t, o->kernel),
		   *range = name_at(p->t, o->range);

	event(v, "X", k->pid, k->tid);
	krt_json_string(&v->j, "name", !host && kernel ? kernel : api ? api : "call");
	krt_json_string(&v->j, "cat", host ? "call" : measured(p, o) ? "device" : "order");
	krt_json_micros(&v->j, "ts", s->start);
	krt_json_micros(&v->j, "dur", s->end - s->start);
	krt_json_open(&v->j, "args", '{');
	krt_json_uint(&v->j, "sequence", o->sequence);
	krt_json_string(&v->j, "kind", krt_timeline_kind_text(o->kind));
	if (kernel)
		krt_json_string(&v->j, "kernel", kernel);
	if (range)
		krt_json_string(&v->j, "nvtx_range", range);
	if (o->bytes)
		krt_json_uint(&v->j, "bytes", o->bytes);
	if (o->flags & KRT_TLF_CAPTURED)
		krt_json_bool(&v->j, "captured", true);
	if (!host && !measured(p, o))
		krt_json_string(&v->j, "device_time", "not measured: drawn in order");
	krt_json_close(&v->j, '}');
	krt_json_close(&v->j, '}');
}

static void flow_end(struct view *v, const char *ph, const struct track *k, uint64_t ts,
		     const char *cat, const char *name)
{
	event(v, ph, k->pid, k->tid);
	krt_json_uint(&v->j, "id", v->flows);
	krt_json_string(&v->j, "cat", cat);
	krt_json_string(&v->j, "name", name);
	krt_json_micros(&v->j, "ts", ts);
	if (*ph == 'f')
		krt_json_string(&v->j, "bp", "e");
	krt_json_close(&v->j, '}');
}

/* An end of a flow: an operation on its stream, or (host) its call. */
struct flow_end {
	const struct track *k;
	const struct slice *s;
};

static struct flow_end end_of(const struct process_view *p, uint32_t i, bool host)
{
	const struct krt_timeline_op *o = &p->t->op[i];

	host |= o->stream == KRT_TL_NONE;
	return (struct flow_end){&p->track[host ? o->thread : o->stream],
				 host ? &p->host[i] : &p->stream[i]};
}

/* False: it would lead back in time. */
static bool flow(struct view *v, struct flow_end from, struct flow_end to, const char *cat,
		 const char *name)
{
	/* within both slices, as early as may be */
	uint64_t s = from.s->start, f = least(most(s, to.s->start), to.s->end - 1);

	if (s > f)
		return false;
	v->flows++;
	flow_end(v, "s", from.k, s, cat, name);
	flow_end(v, "f", to.k, f, cat, name);
	return true;
}

static void order(struct view *v, const struct process_view *p)
{
	for (uint32_t i = 0; i < p->t->nedges; i++) {
		const struct krt_timeline_edge *x = &p->t->edge[i];
		bool host = x->kind == KRT_TLE_SYNC || x->kind == KRT_TLE_CALLBACK;

		v->backwards +=
			!flow(v, end_of(p, x->from, false), end_of(p, x->to, host),
			      x->observed ? "happens-before, as observed" : "happens-before",
			      krt_timeline_edge_text(x->kind));
	}
}

/* --- findings --------------------------------------------------------------------------- */

static void missing(struct view *v, const struct process_view *p, const struct krt_finding *f)
{
	uint32_t from = krt_timeline_find(p->t, f->edge.record_after ? f->edge.record_after
								     : f->previous.sequence);
	uint32_t to = krt_timeline_find(p->t, f->edge.record_after ? f->edge.wait_before
								   : f->current.sequence);
	struct flow_end a, b;

	if (from == KRT_TL_NONE || to == KRT_TL_NONE || from == to)
		return;
	a = end_of(p, from, false);
	b = end_of(p, to, false);
	/* they ran the other way round: that is what the finding is about */
	if (!flow(v, a, b, "missing", krt_rules[f->rule].id))
		flow(v, b, a, "missing", krt_rules[f->rule].id);
}

static void finding(struct view *v, const struct process_view *p, const struct krt_finding *f)
{
	uint32_t i = p && p->t ? krt_timeline_find(p->t, f->current.sequence) : KRT_TL_NONE;
	char name[96], id[17];

	snprintf(name, sizeof(name), "%s %s", krt_level_name(f->level), krt_rules[f->rule].id);
	snprintf(id, sizeof(id), "%016" PRIx64, f->fingerprint);
	if (i != KRT_TL_NONE) {
		struct flow_end at = end_of(p, i, false);

		event(v, "i", at.k->pid, at.k->tid);
		krt_json_string(&v->j, "s", "t");
		krt_json_micros(&v->j, "ts", at.s->start);
	} else {
		event(v, "i", (uint64_t)f->pid, 0);
		krt_json_string(&v->j, "s", "p");
		krt_json_micros(&v->j, "ts", 0);
	}
	krt_json_string(&v->j, "name", name);
	krt_json_string(&v->j, "cat", "finding");
	krt_json_open(&v->j, "args", '{');
	krt_json_string(&v->j, "message", f->message ? f->message : krt_rules[f->rule].title);
	krt_json_string(&v->j, "confidence", krt_confidence_name(f->confidence));
	krt_json_string(&v->j, "fingerprint", id);
	krt_json_uint(&v->j, "count", f->count ? f->count : 1);
	krt_json_string(&v->j, "order_exists", f->order_exists);
	krt_json_string(&v->j, "order_missing", f->order_missing);
	krt_json_string(&v->j, "fix", f->fix);
	krt_json_close(&v->j, '}');
	krt_json_close(&v->j, '}');
	if (i != KRT_TL_NONE && f->previous.api && (f->order_missing || f->edge.record_after))
		missing(v, p, f);
}

/* --- the file --------------------------------------------------------------------------- */

/* Last, when it is known which flows could not be drawn. */
static void other_data(struct view *v)
{
	uint64_t left_out = 0, edges = 0;
	bool kept = false;

	for (size_t i = 0; i < v->n; i++)
		if (v->p[i].t) {
			kept = true;
			left_out += v->p[i].t->left_out;
			edges += v->p[i].t->edges_left_out;
		}
	krt_json_open(&v->j, "otherData", '{');
	krt_json_string(&v->j, "krtsan", KRT_VERSION);
	krt_json_string(&v->j, "verdict", krt_verdict_name(krt_report_verdict(v->r)));
	krt_json_bool(&v->j, "timeline_kept", kept);
	krt_json_uint(&v->j, "operations_left_out", left_out);
	krt_json_uint(&v->j, "flows_left_out", edges + v->backwards);
	krt_json_close(&v->j, '}');
}

static void left_out(struct view *v, const struct process_view *p)
{
	char text[128];

	if (!p->t->left_out)
		return;
	snprintf(text, sizeof(text),
		 "%" PRIu64 " operations were left out (timeline=%" PRIu32 " kept)", p->t->left_out,
		 p->t->nops);
	event(v, "i", (uint64_t)p->pid, 0);
	krt_json_string(&v->j, "s", "p");
	krt_json_micros(&v->j, "ts", 0);
	krt_json_string(&v->j, "name", text);
	krt_json_string(&v->j, "cat", "krtsan");
	krt_json_close(&v->j, '}');
}

int krt_write_perfetto(FILE *out, const struct krt_report *r, const struct krt_writer *w)
{
	struct view v = {.r = r, .n = r->nprocesses};
	bool good = true;

	v.p = calloc(v.n + 1, sizeof(*v.p));
	for (size_t i = 0; v.p && good && i < v.n; i++)
		good = look(&v.p[i], r->process[i].timeline, r->process[i].pid);
	if (!v.p || !good) {
		forget(&v);
		return -1;
	}
	krt_json_begin(&v.j, out);
	krt_json_open(&v.j, NULL, '{');
	krt_json_string(&v.j, "displayTimeUnit", "ns");
	krt_json_open(&v.j, "traceEvents", '[');
	for (size_t i = 0; i < v.n; i++)
		tracks(&v, &v.p[i], r->process[i].exe);
	for (size_t i = 0; i < v.n; i++) {
		const struct process_view *p = &v.p[i];

		if (!p->t)
			continue;
		left_out(&v, p);
		for (uint32_t k = 0; k < p->t->nops; k++) {
			if (!(p->t->op[k].flags & KRT_TLF_MORE))
				slice(&v, p, k, true);
			if (p->t->op[k].stream != KRT_TL_NONE)
				slice(&v, p, k, false);
		}
		order(&v, p);
	}
	for (size_t i = 0; i < r->nfindings; i++) {
		const struct process_view *p = NULL;

		for (size_t k = 0; k < v.n && !p; k++)
			p = v.p[k].pid == r->finding[i].pid ? &v.p[k] : NULL;
		if (r->finding[i].confidence >= w->show)
			finding(&v, p, &r->finding[i]);
	}
	krt_json_close(&v.j, ']');
	other_data(&v);
	krt_json_close(&v.j, '}');
	forget(&v);
	return krt_json_end(&v.j);
}
