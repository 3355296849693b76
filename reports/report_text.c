/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text report: one screen a finding, every line with the ==PID== prefix, a
 * SUMMARY line to grep for, and a last line with the verdict.
 */
#include "../analyzer/demangle.h"
#include "report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define CHAIN 6 /* frames of a folded stack */

struct text {
	FILE *out;
	const struct krt_report *r;
	const struct krt_writer *w;
	int pid;
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

/* Untrusted text: no control character reaches a terminal. */
static void plain(const struct text *t, const char *s)
{
	const char *end = s + strlen(s);

	while (s < end) {
		unsigned n = krt_utf8_length(s);
		unsigned char c = (unsigned char)*s;

		/* U+0080..U+009F are control characters too */
		if (!n || (n == 1 && (c < 0x20 || c == 0x7f)) ||
		    (n == 2 && c == 0xc2 && (s[1] & 0xff) < 0xa0)) {
			fprintf(t->out, "\\x%02x", c);
			s++;
		} else {
			fwrite(s, 1, n, t->out);
			s += n;
		}
	}
}

static void begin(const struct text *t)
{
	fprintf(t->out, "==%d==", t->pid);
}

static void end(const struct text *t)
{
	fputc('\n', t->out);
}

/* 18204 -> 18,204 */
static void number(const struct text *t, uint64_t v)
{
	char s[32];
	int n = snprintf(s, sizeof(s), "%" PRIu64, v);

	for (int i = 0; i < n; i++) {
		if (i && (n - i) % 3 == 0)
			fputc(',', t->out);
		fputc(s[i], t->out);
	}
}

static void amount(const struct text *t, uint64_t bytes)
{
	static const char *const unit[] = { "bytes", "KiB", "MiB", "GiB", "TiB" };
	double v = (double)bytes;
	unsigned u = 0;

	while (v >= 1024 && u < 4) {
		v /= 1024;
		u++;
	}
	if (!u)
		fprintf(t->out, "%" PRIu64 " %s", bytes, bytes == 1 ? "byte" : "bytes");
	else
		fprintf(t->out, "%.1f %s", v, unit[u]);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static void frame(const struct text *t, const struct krt_frame *f)
{
	if (f->file) {
		plain(t, krt_source_path(f->file, t->w->strip));
		if (f->line)
			fprintf(t->out, ":%u", f->line);
		if (f->function) {
			fputc(' ', t->out);
			plain(t, f->function);
		}
		return;
	}
	if (f->function) {
		plain(t, f->function);
		fputc(' ', t->out);
	}
	if (f->module) {
		fputs(f->function ? "(" : "", t->out);
		plain(t, base_name(f->module));
		fprintf(t->out, "+0x%" PRIx64 "%s", f->offset, f->function ? ")" : "");
	} else {
		fprintf(t->out, "0x%" PRIx64, f->pc);
	}
}

/* The C library's frames around main and around a thread's function. */
static bool outside(const struct krt_frame *f)
{
	return f->function && (!strcmp(f->function, "start_thread") ||
			       !strcmp(f->function, "__libc_start_call_main"));
}

/*
 * One line: the call site first, then its callers.  Frames of krtsan and CUDA
 * libraries are left out, what called main or a thread's function too.
 */
static void folded(const struct text *t, const char *what, const struct krt_stack *s)
{
	unsigned shown = 0;

	if (!s->depth)
		return;
	begin(t);
	fputs("     ", t->out);
	plain(t, what);
	fprintf(t->out, "%*s at ", strlen(what) < 9 ? 9 - (int)strlen(what) : 0, "");
	for (unsigned i = 0; i < s->depth; i++) {
		const struct krt_frame *f = &s->frame[i];

		if (f->internal)
			continue;
		if (shown && outside(f))
			break;
		if (shown == CHAIN) {
			fputs(" <- ...", t->out);
			break;
		}
		fputs(shown++ ? " <- " : "", t->out);
		frame(t, f);
		if (f->function && !strcmp(f->function, "main"))
			break;
	}
	if (!shown) /* only library code: better than nothing */
		frame(t, &s->frame[0]);
	end(t);
}

static void full(const struct text *t, const char *what, const struct krt_stack *s)
{
	if (!s->depth)
		return;
	begin(t);
	fputs("     ", t->out);
	plain(t, what);
	fputs(" at", t->out);
	end(t);
	for (unsigned i = 0; i < s->depth; i++) {
		begin(t);
		fprintf(t->out, "       #%-2u ", i);
		frame(t, &s->frame[i]);
		end(t);
	}
}

static void stack(const struct text *t, const char *what, const struct krt_stack *s)
{
	(t->w->full_stacks ? full : folded)(t, what, s);
}

static void field(const struct text *t, const char *name, const char *value)
{
	if (!value || !*value)
		return;
	begin(t);
	fprintf(t->out, "   %s: ", name);
	plain(t, value);
	end(t);
}

static const char *what(const struct krt_operation *o)
{
	return o->what ? o->what : "operation";
}

/* Where an operation's range and role come from, for readers; the JSON has the word itself. */
static const char *known(const char *knowledge)
{
	if (!strcmp(knowledge, "scan"))
		return "a pointer to it is among the parameters";
	if (!strcmp(knowledge, "annotation"))
		return "declared by the program";
	if (!strcmp(knowledge, "kernels-file"))
		return "declared in the kernels file";
	return knowledge;
}

/* An operation that is named by its kernel. */
static bool by_kernel(const struct krt_operation *o)
{
	return o->kernel && !strncmp(o->api, "kernel ", 7);
}

static void api(const struct text *t, const struct krt_operation *o)
{
	char name[KRT_SHORT_NAME];

	if (!by_kernel(o)) {
		plain(t, o->api);
		return;
	}
	krt_demangle_short(o->kernel, name);
	fputs("kernel ", t->out);
	plain(t, name);
}

static void operation(const struct text *t, const struct krt_operation *o)
{
	plain(t, what(o));
	if (strcmp(what(o), o->api)) {
		fputs(" by ", t->out);
		api(t, o);
	}
	if (o->kernel && !by_kernel(o)) {
		char name[KRT_SHORT_NAME];

		krt_demangle_short(o->kernel, name);
		fputs(" \"", t->out);
		plain(t, name);
		fputc('"', t->out);
	}
	if (o->stream) {
		fputs(" on ", t->out);
		plain(t, o->stream);
	}
	fprintf(t->out, ", #%" PRIu64, o->sequence);
	if (o->nvtx) {
		fputs(" in range \"", t->out);
		plain(t, o->nvtx);
		fputc('"', t->out);
	}
	if (o->knowledge && strcmp(o->knowledge, "api")) {
		fputs(" (", t->out);
		plain(t, known(o->knowledge));
		fputc(')', t->out);
	}
}

static void made(const struct text *t, const char *how, const char *api, uint64_t seq)
{
	if (!api)
		return;
	fprintf(t->out, ", %s by ", how);
	plain(t, api);
	fprintf(t->out, " #%" PRIu64, seq);
}

static void buffer(const struct text *t, const struct krt_buffer *b)
{
	if (!b->kind)
		return;
	begin(t);
	fputs(b->gaps && !b->open ? "   within " : "   of ", t->out);
	if (b->open) {
		fprintf(t->out, "bytes from +0x%" PRIx64 " on of ", b->offset);
	} else if (b->len) {
		fprintf(t->out, "bytes +0x%" PRIx64 "..+0x%" PRIx64 " (", b->offset,
			b->offset + b->len);
		amount(t, b->len);
		fputs(") of ", t->out);
	}
	plain(t, b->kind);
	fputs(" memory", t->out);
	if (b->name) {
		fputs(" \"", t->out);
		plain(t, b->name);
		fputc('"', t->out);
	}
	if (b->base || !b->name) /* a variable may be known by its name alone */
		fprintf(t->out, " 0x%" PRIx64, b->base);
	if (b->size) {
		fputs(" (", t->out);
		amount(t, b->size);
		fputc(')', t->out);
	}
	made(t, "allocated", b->allocated_by, b->allocated_seq);
	made(t, "freed", b->freed_by, b->freed_seq);
	end(t);
}

static void figure(const struct text *t, const char *name, uint64_t ns, const char *sep)
{
	fprintf(t->out, "%s%s", name, ns == KRT_UNKNOWN ? " not known" : " ");
	if (ns != KRT_UNKNOWN) {
		number(t, ns / 1000);
		fprintf(t->out, ".%03u us", (unsigned)(ns % 1000));
	}
	fputs(sep, t->out);
}

static void cost(const struct text *t, const struct krt_cost *c)
{
	if (!c->times)
		return;
	begin(t);
	fputs("   cost: ", t->out);
	figure(t, "submission", c->submit_ns, "; ");
	figure(t, "queueing", c->queue_ns, "; ");
	figure(t, "device service", c->service_ns, "; ");
	figure(t, "synchronisation", c->blocked_ns, "");
	end(t);
}

static void finding(struct text *t, const struct krt_finding *f)
{
	enum color c = f->level == KRT_LEVEL_ERROR     ? RED
		       : f->level == KRT_LEVEL_WARNING ? YELLOW
						       : CYAN;
	const struct krt_frame *site = krt_stack_site(&f->current.stack);

	t->pid = f->pid ? f->pid : t->w->pid;
	begin(t);
	fprintf(t->out, " %skrtsan: %s %s%s (%s%s)  [id %016" PRIx64 "]", paint(t, c),
		krt_level_name(f->level), krt_rules[f->rule].id, paint(t, PLAIN),
		krt_confidence_name(f->confidence),
		f->view == KRT_DOCUMENTED_ONLY ? ", documented view only" : "", f->fingerprint);
	end(t);
	begin(t);
	fprintf(t->out, "   %s", paint(t, BOLD));
	plain(t, f->message ? f->message : krt_rules[f->rule].title);
	fputs(paint(t, PLAIN), t->out);
	end(t);
	if (f->current.api) {
		begin(t);
		fputs("   ", t->out);
		operation(t, &f->current);
		end(t);
	}
	buffer(t, &f->buffer);
	if (f->previous.api) {
		begin(t);
		fputs("   after ", t->out);
		operation(t, &f->previous);
		end(t);
	}
	field(t, "order that exists", f->order_exists);
	field(t, "missing edge", f->order_missing);
	field(t, "fix", f->fix);
	cost(t, &f->cost);
	if (f->current.api)
		stack(t, what(&f->current), &f->current.stack);
	if (f->previous.api)
		stack(t, what(&f->previous), &f->previous.stack);
	stack(t, "allocated", &f->buffer.allocated_at);
	stack(t, "freed", &f->buffer.freed_at);
	if (f->count > 1) {
		begin(t);
		fputs("   seen ", t->out);
		number(t, f->count);
		fputs(" times", t->out);
		end(t);
	}
	begin(t);
	fprintf(t->out, " SUMMARY: krtsan: %s %s ", krt_level_name(f->level),
		krt_rules[f->rule].id);
	if (site && site->file) {
		plain(t, base_name(site->file));
		fprintf(t->out, ":%u", site->line);
		if (site->function) {
			fputs(" in ", t->out);
			plain(t, site->function);
		}
	} else if (site) {
		frame(t, site);
	} else if (f->current.api) {
		api(t, &f->current);
	} else {
		plain(t, krt_rules[f->rule].title);
	}
	end(t);
	begin(t);
	end(t);
	t->pid = t->w->pid;
}

/* By what the launches' accesses are known, and of how many that is certain. */
static void kernels(const struct text *t, const struct krt_coverage *sum)
{
	uint64_t all = 0;
	const char *sep = "";

	for (unsigned k = 0; k < KRT_NR_TIERS; k++)
		all += sum->launches_by[k];
	if (!all)
		return;
	begin(t);
	fputs(" krtsan: kernels: ", t->out);
	number(t, all);
	fprintf(t->out, " launch%s known by ", all == 1 ? "" : "es");
	for (unsigned k = 0; k < KRT_NR_TIERS; k++) {
		if (!sum->launches_by[k])
			continue;
		fprintf(t->out, "%s%s ", sep, krt_tier_text(k));
		number(t, sum->launches_by[k]);
		sep = ", ";
	}
	fprintf(t->out, " (%u %% certain)", (unsigned)(sum->kernels_certain * 100 / all));
	end(t);
}

static void last_line(const struct text *t, size_t hidden)
{
	static const char *const plural[] = { "s", "" };
	enum krt_verdict v = krt_report_verdict(t->r);
	size_t n[] = { [KRT_LEVEL_NOTE] = 0, [KRT_LEVEL_WARNING] = 0, [KRT_LEVEL_ERROR] = 0 };
	struct krt_coverage sum;

	for (size_t i = 0; i < t->r->nfindings; i++)
		n[t->r->finding[i].level]++;
	krt_report_coverage(t->r, &sum);
	if (hidden) {
		begin(t);
		fputs(" krtsan: ", t->out);
		number(t, hidden);
		fprintf(t->out, " finding%s below show=%s not shown (show=possible shows all)",
			plural[hidden == 1], krt_confidence_name(t->w->show));
		end(t);
	}
	if (sum.timing[0]) {
		begin(t);
		fputs(" krtsan: device times: ", t->out);
		plain(t, sum.timing);
		if (sum.device_times) {
			fputs(" for ", t->out);
			number(t, sum.device_times);
			fputs(" operations", t->out);
		}
		end(t);
	}
	kernels(t, &sum);
	begin(t);
	fprintf(t->out, " krtsan: %zu error%s, %zu warning%s, %zu note%s; %s%s%s; ",
		n[KRT_LEVEL_ERROR], plural[n[KRT_LEVEL_ERROR] == 1], n[KRT_LEVEL_WARNING],
		plural[n[KRT_LEVEL_WARNING] == 1], n[KRT_LEVEL_NOTE],
		plural[n[KRT_LEVEL_NOTE] == 1],
		paint(t, v == KRT_VERDICT_CLEAN	     ? BOLD
			 : v == KRT_VERDICT_FINDINGS ? RED
						     : YELLOW),
		krt_verdict_name(v), paint(t, PLAIN));
	if (!sum.reasons) {
		fputs("analysis complete (", t->out);
	} else {
		const char *sep = "";

		fputs("analysis incomplete: ", t->out);
		for (unsigned k = 0; k < KRT_NR_REASONS; k++) {
			if (!(sum.reasons & 1u << k))
				continue;
			fprintf(t->out, "%s%s", sep, krt_reason_text(k));
			if (sum.detail[k][0]) {
				fputs(": ", t->out);
				plain(t, sum.detail[k]);
			}
			sep = "; ";
		}
		fputs(" (", t->out);
	}
	number(t, sum.calls);
	fprintf(t->out, " call%s, ", plural[sum.calls == 1]);
	number(t, sum.dropped);
	fputs(" dropped)", t->out);
	end(t);
}

int krt_write_text(FILE *out, const struct krt_report *r, const struct krt_writer *w)
{
	struct text t = { .out = out, .r = r, .w = w, .pid = w->pid };
	unsigned limit = w->limit ? w->limit : 100;
	size_t shown = 0, hidden = 0, over = 0;

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
		begin(&t);
		fputs(" krtsan: ", out);
		number(&t, over);
		fputs(" more not printed; --report=json:PATH has all", out);
		end(&t);
	}
	last_line(&t, hidden);
	return fflush(out) || ferror(out) ? -1 : 0;
}
