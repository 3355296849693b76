/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JSON report, schema/krtsan-report-1.json.  Every key is always there;
 * what is not known is null.
 */
#include "../analyzer/demangle.h"
#include "json.h"
#include "report.h"
#include "../rules/timeline.h"

#include <inttypes.h>

/* A number of bytes that a program gave: readers take 63 bits. */
static void size(struct krt_json *j, const char *key, uint64_t v)
{
	krt_json_uint(j, key, v < INT64_MAX ? v : INT64_MAX);
}

static void stack(struct krt_json *j, const char *key, const struct krt_stack *s)
{
	krt_json_open(j, key, '[');
	for (unsigned i = 0; i < s->depth; i++) {
		const struct krt_frame *f = &s->frame[i];
		char readable[KRT_SHORT_NAME];

		krt_frame_short(f, readable);
		krt_json_open_flat(j, NULL, '{');
		krt_json_hex(j, "pc", f->pc);
		krt_json_string(j, "module", f->module);
		if (f->module)
			krt_json_hex(j, "offset", f->offset);
		else
			krt_json_null(j, "offset");
		krt_json_string(j, "function", f->function);
		krt_json_string(j, "function_readable", f->function ? readable : NULL);
		krt_json_string(j, "file", f->file);
		if (f->line)
			krt_json_uint(j, "line", f->line);
		else
			krt_json_null(j, "line");
		krt_json_bool(j, "internal", f->internal);
		krt_json_string(j, "kind", krt_frame_kind_text(krt_frame_kind(f)));
		krt_json_bool(j, "python", f->python);
		krt_json_close(j, '}');
	}
	krt_json_close(j, ']');
}

/* open: it is not known where the range ends */
static void operation(struct krt_json *j, const char *key, const struct krt_operation *o, bool open,
		      const struct krt_frame *site)
{
	char readable[KRT_SHORT_NAME];

	if (!o->api) {
		krt_json_null(j, key);
		return;
	}
	if (o->kernel)
		krt_demangle_short(o->kernel, readable);
	krt_json_open(j, key, '{');
	krt_json_string(j, "what", o->what);
	krt_json_string(j, "operation", o->api);
	krt_json_string(j, "kernel", o->kernel);
	krt_json_string(j, "kernel_readable", o->kernel ? readable : NULL);
	krt_json_string(j, "stream", o->stream);
	krt_json_uint(j, "sequence", o->sequence);
	if (o->range_len) {
		krt_json_open_flat(j, "range", '{');
		krt_json_hex(j, "base", o->range_base);
		size(j, "length", open ? 0 : o->range_len);
		krt_json_close(j, '}');
	} else {
		krt_json_null(j, "range");
	}
	krt_json_string(j, "knowledge", o->knowledge);
	krt_json_string(j, "declared_at", o->declared_at);
	krt_json_string(j, "nvtx_range", o->nvtx);
	if (site)
		krt_json_uint(j, "site", (uint64_t)(site - o->stack.frame));
	else
		krt_json_null(j, "site");
	stack(j, "stack", &o->stack);
	krt_json_close(j, '}');
}

static void event(struct krt_json *j, const char *key, const char *api, uint64_t seq,
		  const struct krt_stack *s)
{
	if (!api) {
		krt_json_null(j, key);
		return;
	}
	krt_json_open(j, key, '{');
	krt_json_string(j, "operation", api);
	krt_json_uint(j, "sequence", seq);
	stack(j, "stack", s);
	krt_json_close(j, '}');
}

static void buffer(struct krt_json *j, const struct krt_buffer *b)
{
	if (!b->kind) {
		krt_json_null(j, "buffer");
		return;
	}
	krt_json_open(j, "buffer", '{');
	krt_json_string(j, "kind", b->kind);
	krt_json_string(j, "name", b->name);
	krt_json_hex(j, "base", b->base);
	size(j, "size", b->size);
	size(j, "offset", b->offset);
	size(j, "length", b->open ? 0 : b->len);
	krt_json_bool(j, "open", b->open);
	krt_json_bool(j, "gaps", b->gaps);
	event(j, "allocated", b->allocated_by, b->allocated_seq, &b->allocated_at);
	event(j, "freed", b->freed_by, b->freed_seq, &b->freed_at);
	krt_json_close(j, '}');
}

static void figure(struct krt_json *j, const char *key, uint64_t v)
{
	if (v == KRT_UNKNOWN)
		krt_json_null(j, key);
	else
		krt_json_uint(j, key, v);
}

static void cost(struct krt_json *j, const struct krt_cost *c)
{
	if (!c->times) {
		krt_json_null(j, "cost");
		return;
	}
	krt_json_open_flat(j, "cost", '{');
	krt_json_uint(j, "times", c->times);
	krt_json_uint(j, "rounds", c->rounds);
	figure(j, "submit_ns", c->submit_ns);
	figure(j, "queue_ns", c->queue_ns);
	figure(j, "service_ns", c->service_ns);
	figure(j, "blocked_ns", c->blocked_ns);
	krt_json_close(j, '}');
}

static void fingerprint(struct krt_json *j, const char *key, uint64_t v)
{
	char id[17];

	snprintf(id, sizeof(id), "%016" PRIx64, v);
	krt_json_string(j, key, id);
}

static void edge(struct krt_json *j, const struct krt_missing *e)
{
	if (!e->record_after) {
		krt_json_null(j, "edge");
		return;
	}
	krt_json_open(j, "edge", '{');
	krt_json_uint(j, "record_after", e->record_after);
	krt_json_string(j, "record_stream", e->record_stream);
	krt_json_uint(j, "wait_before", e->wait_before);
	krt_json_string(j, "wait_stream", e->wait_stream);
	krt_json_string(j, "api", krt_user_api_text(e->api));
	krt_json_string(j, "code", e->code);
	krt_json_string(j, "verified", krt_verified_text(e->verified));
	krt_json_string(j, "why", e->why);
	krt_json_open_flat(j, "also_removes", '[');
	for (size_t i = 0; i < e->nalso; i++)
		fingerprint(j, NULL, e->also[i]);
	krt_json_close(j, ']');
	krt_json_close(j, '}');
}

static void suppression(struct krt_json *j, const struct krt_finding *f)
{
	if (!f->suppressed_by) {
		krt_json_null(j, "suppression");
		return;
	}
	krt_json_open_flat(j, "suppression", '{');
	krt_json_string(j, "line", f->suppressed_by);
	krt_json_string(j, "reason", f->suppressed_why);
	krt_json_close(j, '}');
}

static void finding(struct krt_json *j, const struct krt_finding *f)
{
	const struct krt_frame *cur, *prev;

	krt_finding_sites(f, &cur, &prev);
	krt_json_open(j, NULL, '{');
	fingerprint(j, "fingerprint", f->fingerprint);
	krt_json_string(j, "rule", krt_rules[f->rule].id);
	krt_json_string(j, "level", krt_level_name(f->level));
	krt_json_string(j, "confidence", krt_confidence_name(f->confidence));
	krt_json_string(j, "view", krt_view_name(f->view));
	krt_json_int(j, "pid", f->pid);
	krt_json_string(j, "message", f->message ? f->message : krt_rules[f->rule].title);
	krt_json_string(j, "fix", f->fix);
	buffer(j, &f->buffer);
	operation(j, "current", &f->current, f->buffer.open, cur);
	operation(j, "previous", &f->previous, f->buffer.open, prev);
	krt_json_open(j, "ordering", '{');
	krt_json_string(j, "exists", f->order_exists);
	krt_json_string(j, "missing", f->order_missing);
	krt_json_close(j, '}');
	cost(j, &f->cost);
	edge(j, &f->edge);
	suppression(j, f);
	krt_json_string(j, "baseline", krt_baseline_name(f->baseline));
	krt_json_uint(j, "count", f->count ? f->count : 1);
	krt_json_close(j, '}');
}

static void coverage(struct krt_json *j, const struct krt_coverage *c)
{
	krt_json_open(j, "coverage", '{');
	krt_json_bool(j, "complete", !c->reasons);
	krt_json_open(j, "reasons", '[');
	for (unsigned k = 0; k < KRT_NR_REASONS; k++) {
		if (!(c->reasons & 1u << k))
			continue;
		krt_json_open_flat(j, NULL, '{');
		krt_json_string(j, "reason", krt_reason_text(k));
		krt_json_string(j, "detail", c->detail[k][0] ? c->detail[k] : NULL);
		krt_json_close(j, '}');
	}
	krt_json_close(j, ']');
#define COUNTER(field) krt_json_uint(j, #field, c->field);
	KRT_COUNTERS(COUNTER)
	krt_json_open(j, "kernels", '{');
	for (unsigned k = 0; k < KRT_NR_TIERS; k++)
		krt_json_uint(j, krt_tier_text(k), c->launches_by[k]);
	krt_json_close(j, '}');
	COUNTER(device_times)
	krt_json_open(j, "host", '{');
	krt_json_string(j, "mode", krt_host_mode_text(c->host_mode));
	for (unsigned k = 0; k < KRT_NR_ACCOUNTS; k++)
		krt_json_uint(j, krt_account_key(k), c->host[k]);
	krt_json_close(j, '}');
	krt_json_string(j, "timing", c->timing[0] ? c->timing : NULL);
	krt_json_string(j, "python", c->python[0] ? c->python : NULL);
#undef COUNTER
	krt_json_close(j, '}');
}

/* --- the timeline --------------------------------------------------------------------- */

static void place(struct krt_json *j, uint32_t v)
{
	if (v == KRT_TL_NONE)
		krt_json_null(j, NULL);
	else
		krt_json_uint(j, NULL, v);
}

/* The columns are named in the schema, and in the report itself. */
static void timeline_op(struct krt_json *j, const struct krt_timeline_op *o)
{
	bool timed = o->start_ns != KRT_UNKNOWN;

	krt_json_open_flat(j, NULL, '[');
	krt_json_uint(j, NULL, o->sequence);
	place(j, o->thread);
	place(j, o->stream);
	krt_json_uint(j, NULL, o->kind);
	place(j, o->api);
	place(j, o->kernel);
	place(j, o->range);
	krt_json_uint(j, NULL, o->bytes);
	figure(j, NULL, o->start_ns);
	figure(j, NULL, timed ? o->took_ns : KRT_UNKNOWN);
	figure(j, NULL, o->device_start_ns);
	figure(j, NULL, o->device_ns);
	krt_json_uint(j, NULL, o->flags);
	krt_json_close(j, ']');
}

static void timeline_lane(struct krt_json *j, const struct krt_timeline_lane *l)
{
	krt_json_open_flat(j, NULL, '{');
	krt_json_string(j, "kind", krt_timeline_lane_text(l->kind));
	krt_json_string(j, "name", l->name);
	if (l->kind == KRT_LANE_STREAM) {
		krt_json_uint(j, "device", l->device);
		krt_json_uint(j, "context", l->context);
		krt_json_hex(j, "handle", l->handle);
	} else {
		krt_json_null(j, "device");
		krt_json_null(j, "context");
		krt_json_null(j, "handle");
	}
	krt_json_close(j, '}');
}

/* Which operations a finding is about. */
static void timeline_finding(struct krt_json *j, size_t i, const struct krt_finding *f,
			     const struct krt_timeline *t)
{
	krt_json_open_flat(j, NULL, '[');
	krt_json_uint(j, NULL, i);
	place(j, krt_timeline_find(t, f->current.sequence));
	place(j, f->previous.api ? krt_timeline_find(t, f->previous.sequence) : KRT_TL_NONE);
	krt_json_close(j, ']');
}

static void process_timeline(struct krt_json *j, const struct krt_report *r, int pid,
			     const struct krt_timeline *t)
{
	krt_json_open(j, NULL, '{');
	krt_json_int(j, "pid", pid);
	krt_json_uint(j, "offset_ns", t->offset_ns);
	krt_json_uint(j, "left_out", t->left_out);
	krt_json_uint(j, "edges_left_out", t->edges_left_out);
	krt_json_open(j, "lanes", '[');
	for (uint32_t i = 0; i < t->nlanes; i++)
		timeline_lane(j, &t->lane[i]);
	krt_json_close(j, ']');
	krt_json_open(j, "names", '[');
	for (uint32_t i = 0; i < t->nnames; i++)
		krt_json_string(j, NULL, t->name[i]);
	krt_json_close(j, ']');
	krt_json_open(j, "operations", '[');
	for (uint32_t i = 0; i < t->nops; i++)
		timeline_op(j, &t->op[i]);
	krt_json_close(j, ']');
	krt_json_open(j, "findings", '[');
	for (size_t i = 0; i < r->nfindings; i++)
		if (r->finding[i].pid == pid)
			timeline_finding(j, i, &r->finding[i], t);
	krt_json_close(j, ']');
	krt_json_open(j, "edges", '[');
	for (uint32_t i = 0; i < t->nedges; i++) {
		krt_json_open_flat(j, NULL, '[');
		krt_json_uint(j, NULL, t->edge[i].from);
		krt_json_uint(j, NULL, t->edge[i].to);
		krt_json_uint(j, NULL, t->edge[i].kind);
		krt_json_uint(j, NULL, t->edge[i].observed);
		krt_json_close(j, ']');
	}
	krt_json_close(j, ']');
	krt_json_close(j, '}');
}

static void timeline(struct krt_json *j, const struct krt_report *r)
{
	bool kept = false;

	for (size_t i = 0; i < r->nprocesses; i++)
		kept |= r->process[i].timeline != NULL;
	if (!kept) {
		krt_json_null(j, "timeline");
		return;
	}
	krt_json_open(j, "timeline", '{');
	krt_json_open_flat(j, "columns", '[');
#define COLUMN(name) krt_json_string(j, NULL, name)
	COLUMN("sequence");
	COLUMN("thread");
	COLUMN("stream");
	COLUMN("kind");
	COLUMN("api");
	COLUMN("kernel");
	COLUMN("nvtx_range");
	COLUMN("bytes");
	COLUMN("start_ns");
	COLUMN("took_ns");
	COLUMN("device_start_ns");
	COLUMN("device_ns");
	COLUMN("flags");
#undef COLUMN
	krt_json_close(j, ']');
	krt_json_open_flat(j, "kinds", '[');
	for (unsigned k = 0; k < KRT_NR_TIMELINE_KINDS; k++)
		krt_json_string(j, NULL, krt_timeline_kind_text(k));
	krt_json_close(j, ']');
	krt_json_open_flat(j, "edge_kinds", '[');
	for (unsigned k = 0; k < KRT_NR_TIMELINE_EDGES; k++)
		krt_json_string(j, NULL, krt_timeline_edge_text(k));
	krt_json_close(j, ']');
	krt_json_open(j, "processes", '[');
	for (size_t i = 0; i < r->nprocesses; i++)
		if (r->process[i].timeline)
			process_timeline(j, r, r->process[i].pid, r->process[i].timeline);
	krt_json_close(j, ']');
	krt_json_close(j, '}');
}

int krt_write_json(FILE *out, const struct krt_report *r, const struct krt_writer *w)
{
	struct krt_json j;
	struct krt_coverage sum;
	uint64_t records = 0, bytes = 0, stalled = 0, peak = 0;

	(void)w;
	krt_report_coverage(r, &sum);
	krt_json_begin(&j, out);
	krt_json_open(&j, NULL, '{');
	krt_json_uint(&j, "schema_version", 1);
	krt_json_open(&j, "tool", '{');
	krt_json_string(&j, "name", "krtsan");
	krt_json_string(&j, "version", r->version ? r->version : KRT_VERSION);
	krt_json_string(&j, "options", r->options);
	krt_json_string(&j, "semantics", r->semantics);
	krt_json_close(&j, '}');
	krt_json_string(&j, "verdict", krt_verdict_name(krt_report_verdict(r)));
	if (r->program_exit >= 0)
		krt_json_int(&j, "program_exit", r->program_exit);
	else
		krt_json_null(&j, "program_exit");
	coverage(&j, &sum);

	krt_json_open(&j, "processes", '[');
	for (size_t i = 0; i < r->nprocesses; i++) {
		const struct krt_process *p = &r->process[i];

		krt_json_open(&j, NULL, '{');
		krt_json_int(&j, "pid", p->pid);
		krt_json_int(&j, "ppid", p->ppid);
		krt_json_string(&j, "exe", p->exe);
		if (p->exit_code >= 0)
			krt_json_int(&j, "exit_code", p->exit_code);
		else
			krt_json_null(&j, "exit_code");
		krt_json_bool(&j, "used_cuda", p->used_cuda);
		krt_json_uint(&j, "records", p->records);
		krt_json_uint(&j, "bytes", p->bytes);
		krt_json_uint(&j, "stalled_ns", p->stalled_ns);
		krt_json_uint(&j, "peak_bytes", p->peak_bytes);
		coverage(&j, &p->coverage);
		krt_json_close(&j, '}');
		records += p->records;
		bytes += p->bytes;
		stalled += p->stalled_ns;
		peak = p->peak_bytes > peak ? p->peak_bytes : peak;
	}
	krt_json_close(&j, ']');

	krt_json_open(&j, "rules", '[');
	for (unsigned i = 0; i < KRT_NR_RULES; i++) {
		krt_json_open_flat(&j, NULL, '{');
		krt_json_string(&j, "id", krt_rules[i].id);
		krt_json_string(&j, "title", krt_rules[i].title);
		krt_json_string(&j, "level", krt_level_name(krt_rules[i].level));
		krt_json_close(&j, '}');
	}
	krt_json_close(&j, ']');

	krt_json_open(&j, "findings", '[');
	for (size_t i = 0; i < r->nfindings; i++)
		finding(&j, &r->finding[i]);
	krt_json_close(&j, ']');
	krt_json_open(&j, "suppressed", '[');
	for (size_t i = 0; i < r->nsuppressed; i++)
		finding(&j, &r->suppressed[i]);
	krt_json_close(&j, ']');

	timeline(&j, r);
	krt_json_open(&j, "stats", '{');
	krt_json_uint(&j, "errors", krt_report_count(r, KRT_LEVEL_ERROR));
	krt_json_uint(&j, "warnings", krt_report_count(r, KRT_LEVEL_WARNING));
	krt_json_uint(&j, "notes", krt_report_count(r, KRT_LEVEL_NOTE));
	krt_json_uint(&j, "possible_total", r->possible_total);
	krt_json_uint(&j, "records", records);
	krt_json_uint(&j, "bytes", bytes);
	krt_json_uint(&j, "stalled_ns", stalled);
	krt_json_uint(&j, "peak_bytes", peak);
	krt_json_uint(&j, "orders_tried", r->orders_tried);
	figure(&j, "left_with_orders", r->orders_tried ? r->left_with_orders : KRT_UNKNOWN);
	krt_json_close(&j, '}');
	krt_json_close(&j, '}');
	return krt_json_end(&j);
}
