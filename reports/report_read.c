/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JSON report read back (report_read.h).  One function for each object of
 * report_json.c, in its order.
 *
 * Errors are sticky: the first is kept, readers then give empty values, and the
 * result is thrown away at the end.  All text goes into the report's arena.
 */
#define _GNU_SOURCE
#include "report_read.h"
#include "report.h"
#include "../rules/timeline.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCHEMA_VERSION 1

struct input {
	const char *name;
	struct krt_report *r;
	char *err;
	size_t errlen;
	bool failed;
};

/* A value and the way to it, for messages. */
struct node {
	struct input *in;
	const struct node *up;
	const char *key; /* NULL: an element of an array */
	size_t index;
	json_t *v; /* NULL: absent */
};

static void put_way(FILE *f, const struct node *n)
{
	if (!n->up)
		return;
	put_way(f, n->up);
	if (n->key)
		fprintf(f, "%s%s", n->up->up ? "." : "", n->key);
	else
		fprintf(f, "[%zu]", n->index);
}

static void fail(const struct node *n, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void fail(const struct node *n, const char *fmt, ...)
{
	struct input *in = n->in;
	FILE *f;
	va_list ap;

	if (in->failed)
		return;
	in->failed = true;
	if (in->errlen)
		*in->err = 0;
	f = in->errlen ? fmemopen(in->err, in->errlen, "w") : NULL;
	if (!f)
		return;
	fprintf(f, "report: %s: ", in->name);
	if (n->up) {
		put_way(f, n);
		fputs(": ", f);
	}
	va_start(ap, fmt);
	vfprintf(f, fmt, ap);
	va_end(ap);
	fclose(f);
	in->err[in->errlen - 1] = 0;
}

static struct node member(const struct node *o, const char *key)
{
	json_t *v = json_object_get(o->v, key);

	return (struct node){.in = o->in, .up = o, .key = key, .v = json_is_null(v) ? NULL : v};
}

static struct node element(const struct node *a, size_t i)
{
	return (struct node){.in = a->in, .up = a, .index = i, .v = json_array_get(a->v, i)};
}

/* Is there an object?  False for null and absent; a value of another type is an error. */
static bool is_object(const struct node *n)
{
	if (n->v && !json_is_object(n->v))
		fail(n, "wants an object");
	return json_is_object(n->v);
}

static size_t elements(const struct node *n)
{
	if (n->v && !json_is_array(n->v))
		fail(n, "wants an array");
	return json_array_size(n->v);
}

/* Zeroed memory that lives as long as the report; NULL: none, which is told. */
static void *memory(const struct node *n, size_t count, size_t size)
{
	void *p = krt_arena_alloc(n->in->r->arena, count * size);

	if (!p)
		fail(n, "no memory");
	return p;
}

static const char *borrowed_text(const struct node *o, const char *key)
{
	struct node n = member(o, key);

	if (n.v && !json_is_string(n.v))
		fail(&n, "wants a text");
	return json_string_value(n.v);
}

static const char *text(const struct node *o, const char *key)
{
	const char *s = borrowed_text(o, key), *copy = krt_arena_strdup(o->in->r->arena, s);

	if (s && !copy)
		fail(o, "no memory");
	return copy;
}

/* Where a finding without it could not be judged. */
static const char *needed_text(const struct node *o, const char *key)
{
	struct node n = member(o, key);

	if (!n.v)
		fail(&n, "is missing");
	return borrowed_text(o, key);
}

static int64_t integer(const struct node *o, const char *key, int64_t absent, int64_t least,
		       int64_t most)
{
	struct node n = member(o, key);
	int64_t v;

	if (!n.v)
		return absent;
	if (!json_is_integer(n.v)) {
		fail(&n, "wants a whole number");
		return absent;
	}
	v = json_integer_value(n.v);
	if (v < least || v > most)
		fail(&n, "%" PRId64 " is out of range", v);
	return v;
}

static uint64_t count(const struct node *o, const char *key)
{
	return (uint64_t)integer(o, key, 0, 0, INT64_MAX);
}

static int number(const struct node *o, const char *key, int absent)
{
	return (int)integer(o, key, absent, INT32_MIN, INT32_MAX);
}

static bool truth(const struct node *o, const char *key)
{
	struct node n = member(o, key);

	if (n.v && !json_is_boolean(n.v))
		fail(&n, "wants true or false");
	return json_is_true(n.v);
}

static uint64_t digits(const struct node *n, const char *prefix)
{
	const char *s = json_string_value(n->v);
	size_t skip = strlen(prefix), len = s ? strlen(s) : 0;

	if (len <= skip || len > skip + 16 || strncmp(s, prefix, skip) ||
	    strspn(s + skip, "0123456789abcdef") != len - skip) {
		fail(n, "wants a text of hexadecimal digits%s%s", *prefix ? " after " : "", prefix);
		return 0;
	}
	return strtoull(s + skip, NULL, 16);
}

static uint64_t hex(const struct node *o, const char *key)
{
	struct node n = member(o, key);

	return n.v ? digits(&n, "0x") : 0;
}

/* Number of the word in a row of nr; absent is the first, which may have no name. */
static unsigned word(const struct node *o, const char *key, unsigned nr,
		     const char *(*name)(unsigned))
{
	const char *s = borrowed_text(o, key);
	struct node n = member(o, key);

	for (unsigned i = 0; s && i < nr; i++)
		if (name(i) && !strcmp(s, name(i)))
			return i;
	if (s)
		fail(&n, "\"%.40s\" is not known to this krtsan", s);
	return 0;
}

#define NAMES(function, type, of)                                                                  \
	static const char *function(unsigned i)                                                    \
	{                                                                                          \
		return of((type)i);                                                                \
	}
NAMES(level_name, enum krt_level, krt_level_name)
NAMES(confidence_name, enum krt_confidence, krt_confidence_name)
NAMES(view_name, enum krt_finding_view, krt_view_name)
NAMES(user_api_name, enum krt_user_api, krt_user_api_text)
NAMES(verified_name, enum krt_verified, krt_verified_text)
NAMES(reason_name, enum krt_reason, krt_reason_text)
NAMES(baseline_name, enum krt_baseline, krt_baseline_name)
NAMES(lane_name, unsigned, krt_timeline_lane_text)
#undef NAMES

/* --- findings ---------------------------------------------------------------------- */

static void stack(const struct node *o, struct krt_stack *s)
{
	struct node list = member(o, "stack");
	size_t n = elements(&list);

	s->frame = n ? memory(&list, n, sizeof(*s->frame)) : NULL;
	for (size_t i = 0; s->frame && i < n; i++) {
		struct node e = element(&list, i);
		struct krt_frame *f = &s->frame[i];

		if (!is_object(&e)) {
			fail(&e, "wants an object");
			return;
		}
		f->pc = hex(&e, "pc");
		f->module = text(&e, "module");
		f->offset = hex(&e, "offset");
		f->function = text(&e, "function");
		f->file = text(&e, "file");
		f->line = (unsigned)integer(&e, "line", 0, 0, UINT32_MAX);
		f->internal = truth(&e, "internal");
		f->python = truth(&e, "python");
		s->depth++;
	}
}

/* open: it is not known where the range ends, and 0 stands for its length */
static void operation(const struct node *f, const char *key, struct krt_operation *o, bool open)
{
	struct node n = member(f, key), range;

	if (!is_object(&n))
		return;
	o->what = text(&n, "what");
	o->api = text(&n, "operation");
	if (!o->api)
		o->api = "?"; /* NULL would be no operation at all */
	o->kernel = text(&n, "kernel");
	o->stream = text(&n, "stream");
	o->sequence = count(&n, "sequence");
	range = member(&n, "range");
	if (is_object(&range)) {
		o->range_base = hex(&range, "base");
		o->range_len = count(&range, "length");
		if (open && !o->range_len)
			o->range_len = 1;
	}
	o->knowledge = text(&n, "knowledge");
	o->declared_at = text(&n, "declared_at");
	o->nvtx = text(&n, "nvtx_range");
	stack(&n, &o->stack);
}

static void event(const struct node *b, const char *key, const char **api, uint64_t *seq,
		  struct krt_stack *s)
{
	struct node n = member(b, key);

	if (!is_object(&n))
		return;
	*api = text(&n, "operation");
	*seq = count(&n, "sequence");
	stack(&n, s);
}

static void buffer(const struct node *f, struct krt_buffer *b)
{
	struct node n = member(f, "buffer"), open;

	if (!is_object(&n))
		return;
	b->kind = text(&n, "kind");
	if (!b->kind)
		b->kind = "unknown";
	b->name = text(&n, "name");
	b->base = hex(&n, "base");
	b->size = count(&n, "size");
	b->offset = count(&n, "offset");
	b->len = count(&n, "length");
	open = member(&n, "open"); /* a report of before this key: 0 meant it */
	b->open = open.v ? truth(&n, "open") : !b->len;
	b->gaps = truth(&n, "gaps");
	event(&n, "allocated", &b->allocated_by, &b->allocated_seq, &b->allocated_at);
	event(&n, "freed", &b->freed_by, &b->freed_seq, &b->freed_at);
}

static uint64_t figure(const struct node *o, const char *key)
{
	struct node n = member(o, key);

	return n.v ? count(o, key) : KRT_UNKNOWN;
}

static void cost(const struct node *f, struct krt_cost *c)
{
	struct node n = member(f, "cost");

	if (!is_object(&n))
		return;
	c->times = count(&n, "times");
	c->rounds = count(&n, "rounds");
	c->submit_ns = figure(&n, "submit_ns");
	c->queue_ns = figure(&n, "queue_ns");
	c->service_ns = figure(&n, "service_ns");
	c->blocked_ns = figure(&n, "blocked_ns");
}

static void edge(const struct node *f, struct krt_missing *e)
{
	struct node n = member(f, "edge"), list;
	uint64_t *also;
	size_t nr;

	if (!is_object(&n))
		return;
	e->record_after = count(&n, "record_after");
	e->record_stream = text(&n, "record_stream");
	e->wait_before = count(&n, "wait_before");
	e->wait_stream = text(&n, "wait_stream");
	e->api = word(&n, "api", KRT_NR_USER_APIS, user_api_name);
	e->code = text(&n, "code");
	e->verified = word(&n, "verified", KRT_NR_VERIFIED, verified_name);
	e->why = text(&n, "why");
	list = member(&n, "also_removes");
	nr = elements(&list);
	e->also = also = nr ? memory(&list, nr, sizeof(*also)) : NULL;
	for (size_t i = 0; also && i < nr; i++) {
		struct node id = element(&list, i);

		also[i] = digits(&id, "");
		e->nalso++;
	}
}

static enum krt_rule_id rule(const struct node *f)
{
	const char *id = needed_text(f, "rule");
	const struct krt_rule *r = id ? krt_rule_by_id(id) : NULL;
	struct node n = member(f, "rule");

	if (!r) {
		fail(&n, "\"%.40s\" is not known to this krtsan", id ? id : "");
		return 0;
	}
	return (enum krt_rule_id)(r - krt_rules);
}

static void finding(const struct node *n, struct krt_finding *f)
{
	struct node id = member(n, "fingerprint"), sub;

	if (!is_object(n)) {
		fail(n, "wants an object");
		return;
	}
	f->fingerprint = digits(&id, "");
	f->rule = rule(n);
	needed_text(n, "level");
	f->level = word(n, "level", KRT_LEVEL_ERROR + 1, level_name);
	needed_text(n, "confidence");
	f->confidence = word(n, "confidence", KRT_CERTAIN + 1, confidence_name);
	f->view = word(n, "view", KRT_DOCUMENTED_ONLY + 1, view_name);
	f->pid = number(n, "pid", 0);
	f->message = text(n, "message");
	f->fix = text(n, "fix");
	buffer(n, &f->buffer);
	operation(n, "current", &f->current, f->buffer.open);
	operation(n, "previous", &f->previous, f->buffer.open);
	sub = member(n, "ordering");
	if (is_object(&sub)) {
		f->order_exists = text(&sub, "exists");
		f->order_missing = text(&sub, "missing");
	}
	cost(n, &f->cost);
	edge(n, &f->edge);
	sub = member(n, "suppression");
	if (is_object(&sub)) {
		f->suppressed_by = text(&sub, "line");
		f->suppressed_why = text(&sub, "reason");
	}
	f->baseline = word(n, "baseline", KRT_NR_BASELINES, baseline_name);
	f->count = (uint64_t)integer(n, "count", 1, 1, INT64_MAX);
}

static void findings(const struct node *root, const char *key,
		     struct krt_finding *(*add)(struct krt_report *r))
{
	struct node list = member(root, key);
	size_t n = elements(&list);

	for (size_t i = 0; i < n && !root->in->failed; i++) {
		struct node e = element(&list, i);
		struct krt_finding *f = add(root->in->r);

		if (f)
			finding(&e, f);
		else
			fail(&e, "no memory");
	}
}

/* --- the run ----------------------------------------------------------------------- */

/* Cut where a character ends. */
static void copy_text(char *to, size_t size, const char *s)
{
	size_t n = s ? strlen(s) : 0;

	if (n >= size)
		for (n = size - 1; n && (s[n] & 0xc0) == 0x80;)
			n--;
	memcpy(to, s ? s : "", n);
	to[n] = 0;
}

static void coverage(const struct node *o, struct krt_coverage *c)
{
	struct node n = member(o, "coverage"), list, kernels, host;
	size_t nr;

	if (!is_object(&n)) {
		fail(&n, "is missing");
		return;
	}
	list = member(&n, "reasons");
	nr = elements(&list);
	if (!nr && !truth(&n, "complete"))
		fail(&list, "says nothing, and the analysis was not complete");
	for (size_t i = 0; i < nr; i++) {
		struct node e = element(&list, i);
		unsigned k;

		if (!is_object(&e) || !needed_text(&e, "reason")) {
			fail(&e, "wants an object with a reason");
			return;
		}
		k = word(&e, "reason", KRT_NR_REASONS, reason_name);
		c->reasons |= 1u << k;
		copy_text(c->detail[k], sizeof(c->detail[k]), borrowed_text(&e, "detail"));
	}
#define COUNTER(field) c->field = count(&n, #field);
	KRT_COUNTERS(COUNTER)
	COUNTER(device_times)
#undef COUNTER
	kernels = member(&n, "kernels");
	if (is_object(&kernels))
		for (unsigned k = 0; k < KRT_NR_TIERS; k++)
			c->launches_by[k] = count(&kernels, krt_tier_text(k));
	host = member(&n, "host");
	if (is_object(&host)) {
		c->host_mode = word(&host, "mode", KRT_NR_HOST_MODES, krt_host_mode_text);
		for (unsigned k = 0; k < KRT_NR_ACCOUNTS; k++)
			c->host[k] = count(&host, krt_account_key(k));
	}
	copy_text(c->timing, sizeof(c->timing), borrowed_text(&n, "timing"));
	copy_text(c->python, sizeof(c->python), borrowed_text(&n, "python"));
}

static void process(const struct node *n, struct krt_process *p)
{
	if (!is_object(n)) {
		fail(n, "wants an object");
		return;
	}
	p->pid = number(n, "pid", 0);
	p->ppid = number(n, "ppid", 0);
	p->exe = text(n, "exe");
	p->exit_code = number(n, "exit_code", -1);
	p->used_cuda = truth(n, "used_cuda");
	p->records = count(n, "records");
	p->bytes = count(n, "bytes");
	p->stalled_ns = count(n, "stalled_ns");
	p->peak_bytes = count(n, "peak_bytes");
	coverage(n, &p->coverage);
}

static void processes(const struct node *root)
{
	struct node list = member(root, "processes");
	size_t n = elements(&list);

	for (size_t i = 0; i < n && !root->in->failed; i++) {
		struct node e = element(&list, i);
		struct krt_process *p = krt_report_add_process(root->in->r);

		if (p)
			process(&e, p);
		else
			fail(&e, "no memory");
	}
}

/* --- the timeline ------------------------------------------------------------------ */

/* A number of a row; absent stands for null. */
static uint64_t cell(const struct node *row, size_t i, uint64_t absent, uint64_t most)
{
	struct node n = element(row, i);
	json_int_t v = json_integer_value(n.v);

	if (json_is_null(n.v))
		return absent;
	if (!json_is_integer(n.v) || v < 0 || (uint64_t)v > most) {
		fail(&n, "wants a number up to %" PRIu64, most);
		return 0;
	}
	return (uint64_t)v;
}

/* A place in a list of n, or none. */
static uint32_t place(const struct node *row, size_t i, uint32_t n)
{
	uint32_t v = (uint32_t)cell(row, i, KRT_TL_NONE, KRT_TL_NONE - 1);

	if (v != KRT_TL_NONE && v >= n)
		fail(row, "[%zu] is no place in a list of %" PRIu32, i, n);
	return v;
}

static uint32_t needed_place(const struct node *row, size_t i, uint32_t n)
{
	uint32_t v = place(row, i, n);

	if (v == KRT_TL_NONE)
		fail(row, "[%zu] is missing", i);
	return v;
}

static void timeline_op(const struct node *row, const struct krt_timeline *t,
			struct krt_timeline_op *o)
{
	o->sequence = cell(row, 0, 0, INT64_MAX);
	o->thread = needed_place(row, 1, t->nlanes);
	o->stream = place(row, 2, t->nlanes);
	o->kind = (uint8_t)needed_place(row, 3, KRT_NR_TIMELINE_KINDS);
	o->api = needed_place(row, 4, t->nnames);
	o->kernel = place(row, 5, t->nnames);
	o->range = place(row, 6, t->nnames);
	o->bytes = cell(row, 7, 0, INT64_MAX);
	o->start_ns = cell(row, 8, KRT_UNKNOWN, INT64_MAX);
	o->took_ns = (uint32_t)cell(row, 9, 0, UINT32_MAX);
	o->device_start_ns = cell(row, 10, KRT_UNKNOWN, INT64_MAX);
	o->device_ns = cell(row, 11, KRT_UNKNOWN, INT64_MAX);
	o->flags = (uint8_t)cell(row, 12, 0, UINT8_MAX);
}

static void timeline_edge(const struct node *row, const struct krt_timeline *t,
			  struct krt_timeline_edge *e)
{
	e->from = needed_place(row, 0, t->nops);
	e->to = needed_place(row, 1, t->nops);
	e->kind = (uint8_t)needed_place(row, 2, KRT_NR_TIMELINE_EDGES);
	e->observed = (uint8_t)cell(row, 3, 0, 1);
}

static void timeline_lane(const struct node *n, struct krt_timeline_lane *l)
{
	if (!is_object(n)) {
		fail(n, "wants an object");
		return;
	}
	l->kind = word(n, "kind", KRT_NR_LANE_KINDS, lane_name);
	l->name = text(n, "name");
	l->device = (uint32_t)integer(n, "device", 0, 0, UINT32_MAX);
	l->context = (uint32_t)integer(n, "context", 0, 0, UINT32_MAX);
	l->handle = hex(n, "handle");
	if (!l->name)
		fail(n, "wants a name");
}

/* A list of the process, its elements zeroed. */
static void *list_of(const struct node *o, const char *key, size_t size, struct node *list,
		     uint32_t *n)
{
	size_t nr;

	*list = member(o, key);
	nr = elements(list);
	if (nr >= KRT_TL_NONE)
		fail(list, "is too long");
	*n = (uint32_t)nr;
	return nr ? memory(list, nr, size) : NULL;
}

static void process_timeline(const struct node *o, struct krt_timeline *t)
{
	struct node lanes, names, ops, edges;

	t->offset_ns = count(o, "offset_ns");
	t->left_out = count(o, "left_out");
	t->edges_left_out = count(o, "edges_left_out");
	t->lane = list_of(o, "lanes", sizeof(*t->lane), &lanes, &t->nlanes);
	t->name = list_of(o, "names", sizeof(*t->name), &names, &t->nnames);
	t->op = list_of(o, "operations", sizeof(*t->op), &ops, &t->nops);
	t->edge = list_of(o, "edges", sizeof(*t->edge), &edges, &t->nedges);
	for (uint32_t i = 0; i < t->nlanes && !o->in->failed; i++) {
		struct node e = element(&lanes, i);

		timeline_lane(&e, &t->lane[i]);
	}
	for (uint32_t i = 0; i < t->nnames && !o->in->failed; i++) {
		struct node e = element(&names, i);

		t->name[i] = krt_arena_strdup(o->in->r->arena, json_string_value(e.v));
		if (!t->name[i])
			fail(&e, "wants a text");
	}
	for (uint32_t i = 0; i < t->nops && !o->in->failed; i++) {
		struct node e = element(&ops, i);

		timeline_op(&e, t, &t->op[i]);
		if (i && t->op[i].sequence < t->op[i - 1].sequence)
			fail(&e, "is before the one in front of it");
	}
	for (uint32_t i = 0; i < t->nedges && !o->in->failed; i++) {
		struct node e = element(&edges, i);

		timeline_edge(&e, t, &t->edge[i]);
	}
}

/* They come in the order of the processes; two may have one pid (exec). */
static void timeline(const struct node *root)
{
	struct krt_report *r = root->in->r;
	struct node n = member(root, "timeline"), list;
	size_t nr, p = 0;

	if (!is_object(&n))
		return;
	list = member(&n, "processes");
	nr = elements(&list);
	for (size_t i = 0; i < nr && !root->in->failed; i++) {
		struct node e = element(&list, i);
		int pid = number(&e, "pid", 0);

		while (p < r->nprocesses && r->process[p].pid != pid)
			p++;
		if (p == r->nprocesses) {
			fail(&e, "belongs to no process");
			return;
		}
		r->process[p].timeline = memory(&e, 1, sizeof(struct krt_timeline));
		if (r->process[p].timeline)
			process_timeline(&e, r->process[p++].timeline);
	}
}

/* What the sum says and no process does belongs to the run itself. */
static void own_reasons(struct krt_report *r, const struct krt_coverage *sum)
{
	for (unsigned k = 0; k < KRT_NR_REASONS; k++) {
		bool told = k == KRT_REASON_NO_CUDA || !(sum->reasons & 1u << k);

		for (size_t i = 0; !told && i < r->nprocesses; i++) {
			const struct krt_coverage *c = &r->process[i].coverage;

			told = c->reasons & 1u << k && (c->detail[k][0] || !sum->detail[k][0]);
		}
		if (told)
			continue;
		r->own.reasons |= 1u << k;
		memcpy(r->own.detail[k], sum->detail[k], sizeof(sum->detail[k]));
	}
}

static void whole(const struct node *root)
{
	struct krt_report *r = root->in->r;
	struct node n = member(root, "schema_version");
	struct krt_coverage sum = {0};

	if (!json_is_object(root->v) || !json_is_integer(n.v)) {
		fail(root, "not a report of krtsan: no schema_version");
		return;
	}
	if (json_integer_value(n.v) != SCHEMA_VERSION) {
		fail(&n,
		     "%" JSON_INTEGER_FORMAT
		     " is another version than the one that this krtsan reads (%d)",
		     json_integer_value(n.v), SCHEMA_VERSION);
		return;
	}
	n = member(root, "tool");
	if (is_object(&n)) {
		r->version = text(&n, "version");
		r->options = text(&n, "options");
		r->semantics = text(&n, "semantics");
	}
	r->program_exit = number(root, "program_exit", -1);
	coverage(root, &sum);
	processes(root);
	own_reasons(r, &sum);
	timeline(root);
	n = member(root, "findings");
	if (!n.v)
		fail(&n, "is missing");
	findings(root, "findings", krt_report_add_finding);
	findings(root, "suppressed", krt_report_add_suppressed);
	n = member(root, "stats");
	if (is_object(&n)) {
		r->possible_total = count(&n, "possible_total");
		r->orders_tried = count(&n, "orders_tried");
		r->left_with_orders = figure(&n, "left_with_orders");
	}
}

static struct krt_report *decode(json_t *v, const json_error_t *e, const char *name, char *err,
				 size_t errlen)
{
	struct input in = {.name = name, .err = err, .errlen = errlen};
	struct node root = {.in = &in, .v = v};

	if (!v) {
		snprintf(err, errlen, "report: %s:%d:%d: %s", name, e->line, e->column, e->text);
		krt_make_printable(err); /* a damaged file's own words */
		return NULL;
	}
	in.r = krt_report_new();
	if (in.r)
		whole(&root);
	else
		fail(&root, "no memory");
	json_decref(v);
	if (in.failed) {
		krt_report_destroy(in.r);
		krt_make_printable(err);
		return NULL;
	}
	return in.r;
}

struct krt_report *krt_report_parse(const char *text, size_t len, const char *name, char *err,
				    size_t errlen)
{
	json_error_t e;
	json_t *v = json_loadb(text, len, JSON_REJECT_DUPLICATES, &e);

	return decode(v, &e, name, err, errlen);
}

struct source {
	FILE *f;
	void (*told)(void *arg, uint64_t bytes);
	void *arg;
	uint64_t bytes;
};

static size_t take(void *buf, size_t len, void *data)
{
	struct source *s = data;
	size_t n = fread(buf, 1, len, s->f);

	if (!n && ferror(s->f))
		return (size_t)-1;
	s->bytes += n;
	if (s->told)
		s->told(s->arg, s->bytes);
	return n;
}

struct krt_report *krt_report_read_told(const char *path, void (*told)(void *arg, uint64_t bytes),
					void *arg, char *err, size_t errlen)
{
	bool in = !strcmp(path, "-");
	struct source s = {.f = in ? stdin : fopen(path, "re"), .told = told, .arg = arg};
	json_error_t e;
	json_t *v;

	if (!s.f) {
		snprintf(err, errlen, "report: %s: cannot be opened: %s", path, strerror(errno));
		return NULL;
	}
	errno = 0;
	v = json_load_callback(take, &s, JSON_REJECT_DUPLICATES, &e);
	if (!v && ferror(s.f)) {
		snprintf(err, errlen, "report: %s: cannot be read: %s", path, strerror(errno));
		if (!in)
			fclose(s.f);
		return NULL;
	}
	if (!in)
		fclose(s.f);
	return decode(v, &e, in ? "standard input" : path, err, errlen);
}

struct krt_report *krt_report_read(const char *path, char *err, size_t errlen)
{
	return krt_report_read_told(path, NULL, NULL, err, errlen);
}
