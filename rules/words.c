/* SPDX-License-Identifier: Apache-2.0 */
/* Dispatch to the rules' wording, and what they share.  See words.h. */
#include "fix.h"
#include "words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static krt_words_fn *const words[KRT_NR_RULES] = {
	[KRT_RULE_RACE_RAW] = krt_words_race,
	[KRT_RULE_RACE_WAR] = krt_words_race,
	[KRT_RULE_RACE_WAW] = krt_words_race,
	[KRT_RULE_HOST_READ_RACE] = krt_words_host,
	[KRT_RULE_HOST_WRITE_RACE] = krt_words_host,
	[KRT_RULE_FREE_IN_USE] = krt_words_free,
	[KRT_RULE_HOST_FREE_IN_USE] = krt_words_free,
	[KRT_RULE_UAF_STREAM] = krt_words_lifetime,
	[KRT_RULE_UBA_STREAM] = krt_words_lifetime,
	[KRT_RULE_REUSE_RACE] = krt_words_reuse,
	[KRT_RULE_EVENT_UNRECORDED] = krt_words_event,
	[KRT_RULE_EVENT_OVERWRITTEN] = krt_words_event,
	[KRT_RULE_EVENT_FAILED] = krt_words_event,
	[KRT_RULE_COPY_BOUNDS] = krt_words_bounds,
	[KRT_RULE_COOP_SHARED] = krt_words_coop,
	[KRT_RULE_GRAPH_UNORDERED_NODES] = krt_words_graph_nodes,
	[KRT_RULE_CAPTURE_ISOLATION] = krt_words_capture,
	[KRT_RULE_WRONG_DEVICE] = krt_words_device,
	[KRT_RULE_GRAPH_STALE_INPUT] = krt_words_stale_input,
	[KRT_RULE_PERF_CAPTURE_STORM] = krt_words_storm,
	[KRT_RULE_PERF_SYNC_HOT] = krt_words_hot,
	[KRT_RULE_PERF_ALLOC_HOT] = krt_words_hot,
	[KRT_RULE_PERF_PAGEABLE_ASYNC] = krt_words_hot,
	[KRT_RULE_PERF_CHURN] = krt_words_hot,
	[KRT_RULE_PERF_REDUNDANT_SYNC] = krt_words_hot,
	[KRT_RULE_PERF_LAUNCH_BOUND] = krt_words_hot,
	[KRT_RULE_UNFINISHED] = krt_words_unfinished,
	[KRT_RULE_GRAPH_STALE_ADDR] = krt_words_stale,
	[KRT_RULE_GRAPH_STALE_HOST] = krt_words_stale,
	[KRT_RULE_GRAPH_EXEC_OVERLAP] = krt_words_overlap,
};

void krt_rule_words(const struct krt_facts *f, struct krt_words *w)
{
	memset(w, 0, sizeof(*w));
	if (words[f->rule])
		words[f->rule](f, w);
}

void krt_words_mention(struct krt_facts *f, const struct krt_mention *m)
{
	if (!m->sequence || !m->stack_id)
		return;
	for (unsigned i = 0; i < KRT_MENTIONS; i++) {
		struct krt_mention *have = &f->mention[i];

		if (!have->sequence)
			*have = *m;
		if (have->sequence == m->sequence && !have->thing == !m->thing)
			break;
	}
}

const char *krt_words_stream(const char *text, char *buf, size_t len)
{
	const char *handle = text ? strstr(text, " (0x") : NULL;

	if (!handle || handle[strcspn(handle, ")")] != ')' || handle[strcspn(handle, ")") + 1])
		return text;
	snprintf(buf, len, "%.*s", (int)(handle - text), text);
	return buf;
}

const char *krt_words_amount(uint64_t bytes, char buf[KRT_AMOUNT])
{
	static const char *const unit[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
	uint64_t whole = 1;
	unsigned u = 0;

	while (u < 4 && bytes / whole >= 1024) {
		whole *= 1024;
		u++;
	}
	if (bytes % whole)
		snprintf(buf, KRT_AMOUNT, "%.1f %s", (double)bytes / (double)whole, unit[u]);
	else
		snprintf(buf, KRT_AMOUNT, "%" PRIu64 " %s", bytes / whole,
			 bytes == 1 ? "byte" : unit[u]);
	return buf;
}

const char *krt_words_time(uint64_t ns, char buf[KRT_TIME])
{
	if (ns >= 10000000)
		snprintf(buf, KRT_TIME, "%" PRIu64 " ms", ns / 1000000);
	else if (ns >= 10000)
		snprintf(buf, KRT_TIME, "%" PRIu64 " us", ns / 1000);
	else
		snprintf(buf, KRT_TIME, "%" PRIu64 ".%03u us", ns / 1000, (unsigned)(ns % 1000));
	return buf;
}

/* Of a kernel that only holds a pointer, one byte stands for all that it reaches. */
bool krt_words_open(const struct krt_facts *f)
{
	return f->len == 1 && (f->cur.scan || f->prev.scan || f->cur.from || f->prev.from);
}

void krt_words_bytes(const struct krt_facts *f, char *buf, size_t len)
{
	const char *buffer = f->buffer ? f->buffer : "memory";

	if (krt_words_open(f))
		snprintf(buf, len, "bytes from +0x%" PRIx64 " on of %s", f->offset, buffer);
	else if (f->len)
		snprintf(buf, len, "%sbytes +0x%" PRIx64 "..+0x%" PRIx64 " of %s",
			 f->gaps ? "within " : "", f->offset, f->offset + f->len, buffer);
	else
		snprintf(buf, len, "%s", buffer);
}

static void edge_order(const struct krt_facts *f, struct krt_words *w)
{
	snprintf(w->exists, sizeof(w->exists), "%s",
		 f->graph->early ? "a programmatic edge: the second begins when the first lets it"
				 : "none: nodes without a path between them run in any order, or "
				   "together");
	snprintf(w->missing, sizeof(w->missing), "an edge from %s (#%" PRIu64 ") to %s (#%" PRIu64 ")",
		 f->prev.stream, f->prev.seq, f->cur.stream, f->cur.seq);
}

void krt_words_wait(const struct krt_facts *f, struct krt_words *w)
{
	struct krt_missing m = {.kind = !f->graph	     ? KRT_EDGE_WAIT_KIND
					: f->graph->captured ? KRT_EDGE_CAPTURED_KIND
							     : KRT_EDGE_NODES_KIND,
				.record_after = f->prev.seq,
				.wait_before = f->cur.seq};

	if (f->graph && f->graph->early)
		snprintf(w->fix, sizeof(w->fix),
			 "let %s wait (griddepcontrol.wait, cudaGridDependencySynchronize) before it "
			 "touches these bytes, or make the edge a full one (launch #%" PRIu64
			 " without programmatic stream serialization)",
			 f->cur.api, f->cur.seq);
	else if (f->graph)
		krt_fix_sentence(&m, f->graph->prev, f->graph->cur, w->fix, sizeof(w->fix));
	else
		krt_fix_sentence(&m, f->prev.stream, f->cur.stream, w->fix, sizeof(w->fix));
}

void krt_words_order(const struct krt_facts *f, struct krt_words *w)
{
	const struct krt_side *c = &f->cur, *p = &f->prev;
	const char *who = c->host ? "the host" : c->stream;
	int n = 0;

	if (f->graph) {
		edge_order(f, w);
		return;
	}
	if (f->beside)
		n = snprintf(w->exists, sizeof(w->exists),
			     "#%" PRIu64 " was launched with programmatic stream serialization and "
			     "never waits: it begins when #%" PRIu64 " lets it, not when that has ended",
			     c->seq, p->seq);
	else if (f->same_op)
		n = snprintf(w->exists, sizeof(w->exists),
			     "the copies of one batch are not ordered among themselves");
	else if (c->loose && c->what[0] == 'r')
		n = snprintf(w->exists, sizeof(w->exists),
			     "none for the source: with %s it is read outside stream order, so that "
			     "waits of %s do not count", c->detail, who);
	else if (f->wait)
		n = snprintf(w->exists, sizeof(w->exists),
			     "%s last waited for %s at #%" PRIu64 ", for what it held at #%" PRIu64
			     ", before #%" PRIu64,
			     who, p->stream, f->wait, f->record, p->seq);
	else if (f->back_wait)
		n = snprintf(w->exists, sizeof(w->exists),
			     "only the other way round: %s waited for %s at #%" PRIu64, p->stream,
			     who, f->back_wait);
	else if (f->other_wait)
		n = snprintf(w->exists, sizeof(w->exists),
			     "%s last waited for %s at #%" PRIu64
			     ", which covers nothing of %s at #%" PRIu64,
			     who, f->other ? f->other : "another stream", f->other_wait, p->stream,
			     p->seq);
	else
		n = snprintf(w->exists, sizeof(w->exists), "none: %s never waited for %s", who,
			     p->stream);
	if (n > 0 && (size_t)n < sizeof(w->exists) && f->idle_wait)
		n += snprintf(w->exists + n, sizeof(w->exists) - n,
			      "; its wait at #%" PRIu64 " met an event without a record",
			      f->idle_wait);
	if (n > 0 && (size_t)n < sizeof(w->exists) && f->default_stream)
		n += snprintf(w->exists + n, sizeof(w->exists) - n,
			      "; the legacy stream does not order with a non-blocking stream");
	if (n > 0 && (size_t)n < sizeof(w->exists) && f->view == KRT_DOCUMENTED_ONLY)
		snprintf(w->exists + n, sizeof(w->exists) - n,
			 "; drivers were seen to wait here, but the documentation does not promise "
			 "it");
	snprintf(w->missing, sizeof(w->missing), "%s #%" PRIu64 " (%s) before %s #%" PRIu64 " (%s)",
		 p->api, p->seq, p->stream, c->api, c->seq, c->host ? "host" : c->stream);
}
