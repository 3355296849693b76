/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text report: one screen a finding, every line with the ==PID== prefix, a
 * SUMMARY line to grep for, and a last line with the verdict.
 *
 * A line is put together in memory and then written, broken at spaces where it
 * is for a terminal.  Nothing else is kept; not locked.
 */
#include "../analyzer/demangle.h"
#include "report.h"
#include "../rules/words.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define CHAIN 6	       /* frames of a folded stack */
#define NARROWEST 40   /* a terminal that is not as wide is taken as it comes */

struct text {
	FILE *out;
	const struct krt_report *r;
	const struct krt_writer *w;
	int pid;
	char *line; /* after the prefix */
	size_t len, room;
	bool no_memory;
};

enum color { PLAIN, RED, YELLOW, CYAN, BOLD };

static const char *paint(const struct text *t, enum color c)
{
	static const char *const code[] = {
		[PLAIN] = "\033[0m", [RED] = "\033[1;31m", [YELLOW] = "\033[1;33m",
		[CYAN] = "\033[36m", [BOLD] = "\033[1m",
	};

	return t->w->color ? code[c] : "";
}

/* --- a line ------------------------------------------------------------------ */

static void put(struct text *t, const char *s, size_t n)
{
	if (n > t->room - t->len) {
		size_t room = 2 * t->room + n + 256;
		char *more = realloc(t->line, room);

		if (!more) {
			t->no_memory = true;
			return;
		}
		t->line = more;
		t->room = room;
	}
	memcpy(t->line + t->len, s, n);
	t->len += n;
}

static void say(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void say(struct text *t, const char *fmt, ...)
{
	char s[512];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(s, sizeof(s), fmt, ap);
	va_end(ap);
	if (n > 0)
		put(t, s, (size_t)n < sizeof(s) ? (size_t)n : sizeof(s) - 1);
}

/* Untrusted text: no control character reaches a terminal. */
static void plain(struct text *t, const char *s)
{
	const char *end = s + strlen(s);

	while (s < end) {
		unsigned n = krt_printable_length(s);

		if (!n) {
			say(t, "\\x%02x", (unsigned char)*s);
			s++;
		} else {
			put(t, s, n);
			s += n;
		}
	}
}

static void begin(struct text *t, unsigned indent)
{
	t->len = 0;
	say(t, "%*s", indent, "");
}

/* How much of s (n bytes) goes on a line of so many columns: up to a space, else all of it. */
static size_t fitting(const char *s, size_t n, unsigned columns)
{
	size_t i = 0, space = 0;
	unsigned column = 0;

	while (i < n && s[i] == ' ') { /* not within the indent */
		i++;
		column++;
	}
	for (; i < n; i++) {
		if (s[i] == '\033') { /* a colour takes no column */
			while (i < n && s[i] != 'm')
				i++;
			continue;
		}
		if (s[i] == ' ')
			space = i;
		if ((s[i] & 0xc0) != 0x80 && ++column > columns && space)
			return space;
	}
	return n;
}

static void end(struct text *t)
{
	unsigned prefix = (unsigned)snprintf(NULL, 0, "==%d==", t->pid), indent = 0;
	unsigned columns = t->w->columns >= prefix + NARROWEST ? t->w->columns - prefix : 0;
	size_t at = 0, n;

	while (indent < t->len && t->line[indent] == ' ')
		indent++;
	do {
		unsigned hang = at ? indent + 4 : 0;

		n = t->len - at;
		if (columns)
			n = fitting(t->line + at, n, columns - hang);
		fprintf(t->out, "==%d==%*s%.*s\n", t->pid, hang, "", (int)n, t->line ? t->line + at : "");
		at += n;
		while (at < t->len && t->line[at] == ' ')
			at++;
	} while (at < t->len);
	t->len = 0;
}

/* 18204 -> 18,204 */
static void number(struct text *t, uint64_t v)
{
	char s[32];
	int n = snprintf(s, sizeof(s), "%" PRIu64, v);

	for (int i = 0; i < n; i++) {
		if (i && (n - i) % 3 == 0)
			put(t, ",", 1);
		put(t, &s[i], 1);
	}
}

static void amount(struct text *t, uint64_t bytes)
{
	char buf[KRT_AMOUNT];

	say(t, "%s", krt_words_amount(bytes, buf));
}

/* --- stacks -------------------------------------------------------------------- */

static void function(struct text *t, const struct krt_frame *f)
{
	char name[KRT_SHORT_NAME];

	krt_frame_short(f, name);
	plain(t, name);
}

static void frame(struct text *t, const struct krt_frame *f)
{
	if (f->file) {
		plain(t, krt_source_path(f->file, t->w->strip));
		if (f->line)
			say(t, ":%u", f->line);
		if (f->function) {
			say(t, " ");
			function(t, f);
		}
		return;
	}
	if (f->function) {
		function(t, f);
		say(t, " ");
	}
	if (f->module) {
		say(t, "%s", f->function ? "(" : "");
		plain(t, krt_base_name(f->module));
		say(t, "+0x%" PRIx64 "%s", f->offset, f->function ? ")" : "");
	} else {
		say(t, "0x%" PRIx64, f->pc);
	}
}

/*
 * One line: the frame it is known by first, then its callers, then what that went through.
 * Frames of krtsan and CUDA are left out, and what called main or a thread's function; those
 * of other libraries only count where there is nothing else.
 */
static void folded(struct text *t, const struct krt_stack *s, const struct krt_frame *site)
{
	const struct krt_frame *inner = krt_stack_site(s);
	enum krt_frame_kind wanted = site ? krt_frame_kind(site) : KRT_FRAME_INTERNAL;
	unsigned shown = 0;
	bool gap = false;

	if (!site) /* only library code: better than nothing */
		frame(t, &s->frame[0]);
	for (unsigned i = site ? (unsigned)(site - s->frame) : 0; site && i < s->depth; i++) {
		const struct krt_frame *f = &s->frame[i];

		if (krt_frame_kind(f) != wanted) {
			gap |= shown > 0 && !f->internal;
			continue;
		}
		if (shown == CHAIN) {
			say(t, " <- ...");
			break;
		}
		say(t, "%s%s", shown++ ? " <- " : "", gap ? "... <- " : "");
		gap = false;
		frame(t, f);
		if (f->function && !strcmp(f->function, "main"))
			break;
	}
	if (site && site != inner) {
		say(t, ", through ");
		frame(t, inner);
	}
}

static void full(struct text *t, const char *what, const struct krt_stack *s)
{
	if (!s->depth)
		return;
	begin(t, 5);
	plain(t, what);
	say(t, " at");
	end(t);
	for (unsigned i = 0; i < s->depth; i++) {
		begin(t, 7);
		say(t, "#%-2u ", i);
		frame(t, &s->frame[i]);
		end(t);
	}
}

/* --- a finding ------------------------------------------------------------------- */

static void field(struct text *t, const char *name, const char *value)
{
	if (!value || !*value || !strcmp(value, "none")) /* no matter of order */
		return;
	begin(t, 3);
	say(t, "%s: ", name);
	plain(t, value);
	end(t);
}

static const char *what(const struct krt_operation *o)
{
	return o->what ? o->what : "operation";
}

/* An operation that is named by its kernel. */
static bool by_kernel(const struct krt_operation *o)
{
	return o->kernel && !strncmp(o->api, "kernel ", 7);
}

static void kernel(struct text *t, const struct krt_operation *o)
{
	char name[KRT_SHORT_NAME];

	krt_demangle_short(o->kernel, name);
	plain(t, name);
}

static void api(struct text *t, const struct krt_operation *o)
{
	if (!by_kernel(o)) {
		plain(t, o->api);
		return;
	}
	say(t, "kernel ");
	kernel(t, o);
}

/* Where its range and role come from; calls of the API speak for themselves. */
static void knowledge(struct text *t, const struct krt_operation *o)
{
	const char *gloss;

	if (!o->knowledge || !strcmp(o->knowledge, "api"))
		return;
	gloss = o->declared_at ? o->declared_at : krt_tier_gloss(o->knowledge);
	say(t, " (");
	plain(t, o->knowledge);
	if (gloss) {
		say(t, ": ");
		plain(t, gloss);
	}
	say(t, ")");
}

/* By what, where and when it was done: "cuMemcpyDtoHAsync #12 on stream "copy" (0x55d0)". */
static void by(struct text *t, const struct krt_operation *o)
{
	api(t, o);
	if (o->sequence)
		say(t, " #%" PRIu64, o->sequence);
	if (o->kernel && !by_kernel(o)) {
		say(t, " \"");
		kernel(t, o);
		say(t, "\"");
	}
	if (o->stream && strcmp(o->stream, "host")) {
		say(t, " on ");
		plain(t, o->stream);
	}
	if (o->nvtx) {
		say(t, " in range \"");
		plain(t, o->nvtx);
		say(t, "\"");
	}
	knowledge(t, o);
}

/* Where first, then what: one line where there is no stack. */
static void operation(struct text *t, const char *when, const struct krt_operation *o,
		      const struct krt_frame *site)
{
	if (!o->api)
		return;
	begin(t, 3);
	say(t, "%s", when);
	plain(t, what(o));
	if (o->stack.depth) {
		/* a change was seen at a call: it was made before */
		say(t, o->knowledge && !strcmp(o->knowledge, "checksum") ? " before " : " at ");
		folded(t, &o->stack, site);
		end(t);
		begin(t, 5);
		say(t, "by ");
	} else {
		say(t, " by ");
	}
	by(t, o);
	end(t);
}

static void made(struct text *t, const char *how, const char *api, uint64_t seq,
		 const struct krt_stack *s)
{
	if (!api)
		return;
	begin(t, 5);
	say(t, "%s by ", how);
	plain(t, api);
	say(t, " #%" PRIu64, seq);
	if (s->depth) {
		say(t, " at ");
		folded(t, s, krt_stack_site(s));
	}
	end(t);
}

static void buffer(struct text *t, const struct krt_buffer *b)
{
	if (!b->kind)
		return;
	begin(t, 3);
	if (b->open) {
		say(t, "bytes from +0x%" PRIx64 " on of ", b->offset);
	} else if (b->len && !b->gaps && !b->offset && b->len == b->size) {
		say(t, "all ");
		amount(t, b->len);
		say(t, " of ");
	} else if (b->len) {
		say(t, "%sbytes +0x%" PRIx64 "..+0x%" PRIx64 " (", b->gaps ? "within " : "",
		    b->offset, b->offset + b->len);
		amount(t, b->len);
		say(t, ") of ");
	} else {
		say(t, "of ");
	}
	plain(t, b->kind);
	say(t, " memory");
	if (b->name) {
		say(t, " \"");
		plain(t, b->name);
		say(t, "\"");
	}
	if (b->size && (b->offset || b->len != b->size || b->open || b->gaps)) {
		say(t, " (");
		amount(t, b->size);
		say(t, ")");
	}
	if (b->base || !b->name) /* a variable may be known by its name alone */
		say(t, " at 0x%" PRIx64, b->base);
	end(t);
	made(t, "allocated", b->allocated_by, b->allocated_seq, &b->allocated_at);
	made(t, "freed", b->freed_by, b->freed_seq, &b->freed_at);
}

static void figure(struct text *t, const char *name, uint64_t ns, const char *sep)
{
	char buf[KRT_TIME];

	say(t, "%s %s%s", name, ns == KRT_UNKNOWN ? "not known" : krt_words_time(ns, buf), sep);
}

static void cost(struct text *t, const struct krt_cost *c)
{
	if (!c->times)
		return;
	begin(t, 3);
	say(t, "cost: ");
	figure(t, "submission", c->submit_ns, "; ");
	figure(t, "queueing", c->queue_ns, "; ");
	figure(t, "device service", c->service_ns, "; ");
	figure(t, "synchronisation", c->blocked_ns, "");
	end(t);
}

/* What was seen when the trace was judged again with the edge in force. */
static void verified(struct text *t, const struct krt_missing *e)
{
	begin(t, 5);
	switch (e->verified) {
	case KRT_VERIFIED_REMOVES:
		say(t, "verified: with this edge the finding ");
		if (e->nalso)
			say(t, "and %zu other%s disappear", e->nalso, e->nalso == 1 ? "" : "s");
		else
			say(t, "disappears");
		break;
	case KRT_VERIFIED_KEEPS:
		say(t, "not enough alone: with this edge the finding stays");
		break;
	case KRT_VERIFIED_CYCLE:
		say(t, "not possible as the calls are: the wait would come before what it waits for");
		break;
	default:
		if (!e->why)
			return;
		say(t, "not verified");
		break;
	}
	if (e->why) {
		say(t, ": ");
		plain(t, e->why);
	}
	end(t);
}

static void fix(struct text *t, const struct krt_finding *f)
{
	const struct krt_missing *e = &f->edge;

	field(t, "fix", f->fix);
	if (!e->record_after)
		return;
	for (const char *line = e->code; line && *line;) {
		size_t n = strcspn(line, "\n");
		char one[512];

		snprintf(one, sizeof(one), "%.*s", (int)n, line);
		begin(t, 5);
		say(t, "%s+ ", paint(t, CYAN));
		plain(t, one);
		say(t, "%s", paint(t, PLAIN));
		end(t);
		line += n + (line[n] == '\n');
	}
	verified(t, e);
}

static void summary(struct text *t, const struct krt_finding *f, const struct krt_frame *site)
{
	begin(t, 1);
	say(t, "SUMMARY: krtsan: %s %s ", krt_level_name(f->level), krt_rules[f->rule].id);
	if (site && site->file) {
		plain(t, krt_base_name(site->file));
		say(t, ":%u", site->line);
		if (site->function) {
			say(t, " in ");
			function(t, site);
		}
	} else if (site) {
		frame(t, site);
	} else if (f->current.api) {
		api(t, &f->current);
	} else {
		plain(t, krt_rules[f->rule].title);
	}
	end(t);
}

static void finding(struct text *t, const struct krt_finding *f)
{
	enum color c = f->level == KRT_LEVEL_ERROR     ? RED
		       : f->level == KRT_LEVEL_WARNING ? YELLOW
						       : CYAN;
	const struct krt_frame *cur, *prev;

	krt_finding_sites(f, &cur, &prev);
	t->pid = f->pid ? f->pid : t->w->pid;
	begin(t, 1);
	say(t, "%skrtsan: %s %s%s (%s%s%s)  [id %016" PRIx64 "]", paint(t, c),
	    krt_level_name(f->level), krt_rules[f->rule].id, paint(t, PLAIN),
	    krt_confidence_name(f->confidence),
	    f->view == KRT_DOCUMENTED_ONLY ? ", documented view only" : "",
	    f->baseline == KRT_BASELINE_KNOWN ? ", known in the baseline" : "", f->fingerprint);
	end(t);
	begin(t, 3);
	say(t, "%s", paint(t, BOLD));
	plain(t, f->message ? f->message : krt_rules[f->rule].title);
	say(t, "%s", paint(t, PLAIN));
	end(t);
	operation(t, "", &f->current, cur);
	operation(t, "after ", &f->previous, prev);
	buffer(t, &f->buffer);
	field(t, "order that exists", f->order_exists);
	field(t, "missing edge", f->order_missing);
	fix(t, f);
	cost(t, &f->cost);
	if (f->count > 1) {
		begin(t, 3);
		say(t, "seen ");
		number(t, f->count);
		say(t, " times");
		end(t);
	}
	if (t->w->full_stacks) {
		full(t, what(&f->current), &f->current.stack);
		full(t, what(&f->previous), &f->previous.stack);
		full(t, "allocated", &f->buffer.allocated_at);
		full(t, "freed", &f->buffer.freed_at);
	}
	summary(t, f, cur);
	begin(t, 0);
	end(t);
	t->pid = t->w->pid;
}

void krt_text_finding(FILE *out, const struct krt_report *r, const struct krt_writer *w,
		      const struct krt_finding *f)
{
	struct text t = { .out = out, .r = r, .w = w };

	finding(&t, f);
	free(t.line);
}

/* --- the end ----------------------------------------------------------------------- */

/* By what the launches' accesses are known, and of how many exactly. */
static void kernels(struct text *t, const struct krt_coverage *sum)
{
	uint64_t all = 0;
	const char *sep = "";

	for (unsigned k = 0; k < KRT_NR_TIERS; k++)
		all += sum->launches_by[k];
	if (!all)
		return;
	begin(t, 1);
	say(t, "krtsan: kernels: ");
	number(t, all);
	say(t, " launch%s known by ", all == 1 ? "" : "es");
	for (unsigned k = 0; k < KRT_NR_TIERS; k++) {
		if (!sum->launches_by[k])
			continue;
		say(t, "%s%s ", sep, krt_tier_text(k));
		number(t, sum->launches_by[k]);
		sep = ", ";
	}
	say(t, " (%u %% exactly)", (unsigned)(sum->kernels_certain * 100 / all));
	end(t);
}

/* Why the analysis is complete, or why not. */
static void completeness(struct text *t, const struct krt_coverage *sum)
{
	const char *sep = "";

	if (!sum->reasons) {
		say(t, "analysis complete (");
		return;
	}
	say(t, "analysis incomplete: ");
	for (unsigned k = 0; k < KRT_NR_REASONS; k++) {
		if (!(sum->reasons & 1u << k))
			continue;
		say(t, "%s%s", sep, krt_reason_text(k));
		if (sum->detail[k][0]) {
			say(t, ": ");
			plain(t, sum->detail[k]);
		}
		sep = "; ";
	}
	say(t, " (");
}

static void counts(struct text *t)
{
	size_t n[] = { [KRT_LEVEL_NOTE] = 0, [KRT_LEVEL_WARNING] = 0, [KRT_LEVEL_ERROR] = 0 };
	size_t known = 0;

	for (size_t i = 0; i < t->r->nfindings; i++) {
		n[t->r->finding[i].level]++;
		known += t->r->finding[i].baseline == KRT_BASELINE_KNOWN;
	}
	for (enum krt_level l = KRT_LEVEL_ERROR + 1; l-- > KRT_LEVEL_NOTE;)
		say(t, "%zu %s%s%s", n[l], krt_level_name(l), n[l] == 1 ? "" : "s",
		    l == KRT_LEVEL_NOTE ? "" : ", ");
	if (known || t->r->nsuppressed) {
		say(t, " (");
		if (known)
			say(t, "%zu known in the baseline%s", known, t->r->nsuppressed ? ", " : "");
		if (t->r->nsuppressed)
			say(t, "%zu suppressed", t->r->nsuppressed);
		say(t, ")");
	}
	say(t, "; ");
}

/* How the CPU's own accesses were watched. */
static void host_line(struct text *t, const struct krt_coverage *c)
{
	begin(t, 1);
	say(t, "krtsan: host=%s: bytes of host memory in flight, operation by operation: ",
	    krt_host_mode_text(c->host_mode));
	number(t, c->host[KRT_ACCOUNT_WATCHED]);
	say(t, " watched");
	for (unsigned k = KRT_ACCOUNT_WATCHED + 1; k < KRT_NR_ACCOUNTS; k++) {
		if (!c->host[k])
			continue;
		say(t, "; not watched: ");
		number(t, c->host[k]);
		say(t, " %s", krt_account_text(k));
	}
	end(t);
}

static void last_line(struct text *t, size_t hidden)
{
	enum krt_verdict v = krt_report_verdict(t->r);
	struct krt_coverage sum;

	krt_report_coverage(t->r, &sum);
	if (hidden) {
		begin(t, 1);
		say(t, "krtsan: ");
		number(t, hidden);
		say(t, " finding%s below show=%s not shown (show=possible shows all)",
		    hidden == 1 ? "" : "s", krt_confidence_name(t->w->show));
		end(t);
	}
	if (t->r->semantics) {
		begin(t, 1);
		say(t, "krtsan: what calls wait for: ");
		plain(t, t->r->semantics);
		end(t);
	}
	if (sum.timing[0]) {
		begin(t, 1);
		say(t, "krtsan: device times: ");
		plain(t, sum.timing);
		if (sum.device_times) {
			say(t, " for ");
			number(t, sum.device_times);
			say(t, " operations");
		}
		end(t);
	}
	if (sum.host_mode)
		host_line(t, &sum);
	if (sum.python[0]) {
		begin(t, 1);
		say(t, "krtsan: no Python frames in call stacks: ");
		plain(t, sum.python);
		end(t);
	}
	if (t->r->orders_tried > 1 && t->r->left_with_orders != KRT_UNKNOWN) {
		begin(t, 1);
		say(t, "krtsan: with the missing edges of all findings at once ");
		number(t, t->r->left_with_orders);
		say(t, " of the errors and warnings %s left",
		    t->r->left_with_orders == 1 ? "is" : "are");
		end(t);
	}
	kernels(t, &sum);
	begin(t, 1);
	say(t, "krtsan: ");
	counts(t);
	say(t, "%s%s%s; ",
	    paint(t, v == KRT_VERDICT_CLEAN	     ? BOLD
		     : v == KRT_VERDICT_FINDINGS ? RED
						 : YELLOW),
	    krt_verdict_name(v), paint(t, PLAIN));
	completeness(t, &sum);
	number(t, sum.calls);
	say(t, " call%s, ", sum.calls == 1 ? "" : "s");
	number(t, sum.dropped);
	say(t, " dropped)");
	end(t);
}

int krt_write_text(FILE *out, const struct krt_report *r, const struct krt_writer *w)
{
	struct text t = { .out = out, .r = r, .w = w, .pid = w->pid };
	unsigned limit = w->limit ? w->limit : 100;
	size_t shown = 0, hidden = 0, over = 0;
	int err;

	for (size_t i = 0; i < r->nfindings; i++) {
		const struct krt_finding *f = &r->finding[i];

		if (f->confidence < w->show)
			hidden++;
		else if (shown == limit)
			over++;
		else {
			finding(&t, f);
			shown++;
		}
	}
	if (r->possible_total) {
		size_t kept = 0;

		for (size_t i = 0; i < r->nfindings; i++)
			kept += r->finding[i].confidence == KRT_POSSIBLE;
		if (r->possible_total > kept && w->show > KRT_POSSIBLE)
			hidden += r->possible_total - kept;
	}
	if (over) {
		begin(&t, 1);
		say(&t, "krtsan: ");
		number(&t, over);
		say(&t, " more not printed; --report=json:PATH has all");
		end(&t);
	}
	last_line(&t, hidden);
	free(t.line);
	err = fflush(out) || ferror(out) ? -1 : 0;
	if (!err && t.no_memory) {
		errno = ENOMEM;
		err = -1;
	}
	return err;
}
