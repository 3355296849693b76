/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SARIF 2.1.0, in the form that GitHub code scanning takes.  It refuses a whole
 * file over one result without a file and line, so each result has one:
 *   1. the innermost frame of the user's code with a source file, of the current
 *      operation; one below the source root comes first;
 *   2. the same of the earlier operation, of the allocation, of the free;
 *   3. line 1 of the file whose code made the call, or of the program's.
 * Findings that would become one alert there (rule, fingerprint, file and line
 * are the same, mostly in several processes) are one result.  What is beyond the
 * limits is the least severe, and a notification says how much that is.
 * Relative paths count from the root of the repository there, not from where the
 * program ran.
 *
 * GitHub opens alerts for suppressed results too, so they are written only on
 * request (sarif_suppressed).  primaryLocationLineHash is left to the upload,
 * which computes it from the source; the fingerprint has a key of our own.
 */
#define _GNU_SOURCE
#include "../analyzer/demangle.h"
#include "json.h"
#include "report.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* GitHub keeps 5,000 results and takes 10 MB gzipped: a small part of this much text. */
#define RESULTS	  5000
#define BYTES	  (50u << 20)
#define MESSAGE	  4000 /* bytes of a text */
#define NAME	  300  /* of a function's name */
#define SUMMARY	  1000 /* of a rule's description; GitHub takes 1,024 characters */
#define FRAMES	  32   /* of a stack */
#define PROCESSES 100
#define ROOT	  "SRCROOT"

struct sarif {
	struct krt_json j;
	const struct krt_report *r;
	const struct krt_writer *w;
	struct krt_arena *mem; /* of this document */
	bool broken;	       /* no memory */
};

/* file NULL: none; frame NULL: only the file is known */
struct place {
	const char *file;
	unsigned line;
	const struct krt_frame *frame;
};

/* Findings that are one result: the most severe one, and in a chain the others. */
struct result {
	const struct krt_finding *f;
	struct place at;
	size_t order;
	uint64_t count;
	struct result *same;
};

/* --- text ---------------------------------------------------------------------------- */

static const char *checked(struct sarif *s, const char *text)
{
	s->broken |= !text;
	return text ? text : "";
}

/* At most max bytes, and whole characters. */
static const char *clipped(struct sarif *s, const char *text, size_t max)
{
	size_t n = 0;

	if (!text || strnlen(text, max + 1) <= max)
		return text;
	for (;;) {
		unsigned c = krt_utf8_length(text + n);

		c = c ? c : 1;
		if (n + c > max - 3)
			break;
		n += c;
	}
	return checked(s, krt_arena_printf(s->mem, "%.*s...", (int)n, text));
}

/* In a message [text](1) is a link and {0} stands for an argument: not so in what a program says.
 */
static void literal(FILE *out, const char *text)
{
	for (; *text; text++) {
		size_t digits = *text == '{' ? strspn(text + 1, "0123456789") : 0;

		if (digits && text[digits + 1] == '}') {
			fprintf(out, "{{%.*s}}", (int)digits, text + 1);
			text += digits + 1;
			continue;
		}
		if (*text == ']' && text[1] == '(')
			fputc('\\', out);
		fputc(*text, out);
	}
}

static void sentence(FILE *out, const char *intro, const char *text)
{
	if (!text || !*text)
		return;
	fputs(intro, out);
	literal(out, text);
	fputs(text[strlen(text) - 1] == '.' ? "" : ".", out);
}

static void text_object(struct sarif *s, const char *key, const char *text)
{
	krt_json_open_flat(&s->j, key, '{');
	krt_json_string(&s->j, "text", text);
	krt_json_close(&s->j, '}');
}

__attribute__((format(printf, 3, 4))) static const char *words(struct sarif *s, size_t max,
							       const char *fmt, ...)
{
	char *text = NULL;
	const char *kept = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	if (text)
		kept = krt_arena_strdup(s->mem, clipped(s, text, max));
	free(text);
	return checked(s, kept);
}

/* "write by kernel gemm on stream 2, #93" */
static const char *operation_words(struct sarif *s, const struct krt_operation *o)
{
	char name[KRT_SHORT_NAME] = "";
	bool by_kernel = o->kernel && !strncmp(o->api, "kernel ", 7);

	if (by_kernel)
		krt_demangle_short(o->kernel, name);
	return words(s, NAME, "%s by %s%s%s%s, #%" PRIu64, o->what ? o->what : "operation",
		     by_kernel ? "kernel " : o->api, name, o->stream ? " on " : "",
		     o->stream ? o->stream : "", o->sequence);
}

/* --- places -------------------------------------------------------------------------- */

/* Without "." and "..", as far as names tell. */
static const char *normal(struct sarif *s, const char *path)
{
	char *out = krt_arena_alloc(s->mem, strlen(path) + 2), *end = out;

	if (!out)
		return checked(s, NULL);
	if (*path == '/')
		*end++ = '/';
	while (*path) {
		size_t n = strcspn(path, "/");
		char *last = memrchr(out, '/', (size_t)(end - out));

		if (n == 2 && !memcmp(path, "..", 2) && end > out + (*out == '/') &&
		    strcmp(last ? last + 1 : out, "..")) {
			end = last ? last + (last == out && *out == '/') : out;
		} else if (n && !(n == 1 && *path == '.')) {
			if (end > out && end[-1] != '/')
				*end++ = '/';
			memcpy(end, path, n);
			end += n;
		}
		*end = 0;
		path += n + (path[n] == '/');
	}
	return out;
}

/* Is the file below the source root?  Relative paths are mostly of libraries. */
static bool from_root(const struct sarif *s, const char *file)
{
	return *file == '/' && *krt_source_path(file, s->w->repository) != '/';
}

/* NULL: none; Python calls code without a file <string>. */
static const char *file_of(struct sarif *s, const struct krt_frame *f)
{
	const char *file = f->file && *f->file != '<' ? normal(s, f->file) : NULL;

	return file && *file ? file : NULL;
}

/* site: the frame that the stack is known by, or NULL; what it went through has no place */
static struct place place_of(struct sarif *s, const struct krt_stack *stack,
			     const struct krt_frame *site)
{
	struct place at = {NULL, 1, NULL};
	bool below = false;

	for (unsigned i = site ? (unsigned)(site - stack->frame) : 0; i < stack->depth && !below;
	     i++) {
		const struct krt_frame *f = &stack->frame[i];
		const char *file = krt_frame_kind(f) == KRT_FRAME_USER ? file_of(s, f) : NULL;

		below = file && from_root(s, file);
		if (file && (below || !at.file))
			at = (struct place){file, f->line ? f->line : 1, f};
	}
	return at;
}

static const char *program(const struct sarif *s, int pid)
{
	for (size_t i = 0; i < s->r->nprocesses; i++)
		if (s->r->process[i].pid == pid)
			return s->r->process[i].exe;
	return NULL;
}

static struct place place_of_finding(struct sarif *s, const struct krt_finding *f)
{
	const struct krt_stack *stacks[] = {&f->current.stack, &f->previous.stack,
					    &f->buffer.allocated_at, &f->buffer.freed_at};
	const struct krt_frame *site, *sites[4] = {0};
	struct place at = {NULL, 1, NULL};

	krt_finding_sites(f, &sites[0], &sites[1]);
	site = sites[0];
	for (unsigned i = 0; i < 4 && !at.file; i++)
		at = place_of(s, stacks[i], sites[i]);
	if (at.file)
		return at;
	at.file = site && site->module ? site->module : program(s, f->pid);
	at.file = at.file ? normal(s, at.file) : "";
	if (!*at.file)
		at.file = "unknown-program";
	at.frame = site;
	return at;
}

static bool has_root(const struct sarif *s)
{
	return s->w->repository && *s->w->repository == '/';
}

/* Each byte that is not plain in a path of a URI as %XX. */
static const char *uri(struct sarif *s, const char *scheme, const char *path, const char *end)
{
	size_t len = strlen(scheme) + 3 * strlen(path) + strlen(end) + 1;
	char *out = krt_arena_alloc(s->mem, len), *p = out;

	if (!out)
		return checked(s, NULL);
	p = stpcpy(p, scheme);
	for (; *path; path++) {
		unsigned char c = (unsigned char)*path;

		if (c < 0x80 && (isalnum(c) || strchr("/-._~", c)))
			*p++ = (char)c;
		else
			p += sprintf(p, "%%%02X", c);
	}
	strcpy(p, end);
	return out;
}

static void physical(struct sarif *s, const struct place *at)
{
	const char *path = krt_source_path(at->file, s->w->repository);
	bool whole = *path == '/';

	krt_json_open_flat(&s->j, "physicalLocation", '{');
	krt_json_open(&s->j, "artifactLocation", '{');
	krt_json_string(&s->j, "uri", uri(s, whole ? "file://" : "", path, ""));
	if (!whole && has_root(s))
		krt_json_string(&s->j, "uriBaseId", ROOT);
	krt_json_close(&s->j, '}');
	krt_json_open(&s->j, "region", '{');
	krt_json_uint(&s->j, "startLine", at->line);
	krt_json_close(&s->j, '}');
	krt_json_close(&s->j, '}');
}

static void function(struct sarif *s, const struct krt_frame *f)
{
	char name[KRT_SHORT_NAME];

	if (!f || !f->function || !*f->function)
		return;
	krt_frame_function(f, name);
	krt_json_open_flat(&s->j, "logicalLocations", '[');
	krt_json_open(&s->j, NULL, '{');
	krt_json_string(&s->j, "name", name);
	krt_json_string(&s->j, "fullyQualifiedName", clipped(s, f->function, NAME));
	krt_json_string(&s->j, "kind", "function");
	krt_json_close(&s->j, '}');
	krt_json_close(&s->j, ']');
}

/* id 0: none */
static void location(struct sarif *s, const char *key, unsigned id, const struct place *at,
		     const char *message)
{
	krt_json_open(&s->j, key, '{');
	if (id)
		krt_json_uint(&s->j, "id", id);
	if (message)
		text_object(s, "message", message);
	physical(s, at);
	function(s, at->frame);
	krt_json_close(&s->j, '}');
}

/* --- a finding's steps: what happened where, in the order of the calls ----------------- */

struct step {
	const char *role;
	const char *what;
	uint64_t sequence;
	const struct krt_stack *stack;
	const struct krt_frame *site; /* of an operation's stack */
	struct place at;
	unsigned id; /* of the related location, 0: none */
};
#define STEPS 4

static unsigned steps_of(struct sarif *s, const struct krt_finding *f, struct step *step)
{
	const struct krt_buffer *b = &f->buffer;
	const struct krt_frame *cur, *prev;
	unsigned n = 0, id = 0;

	krt_finding_sites(f, &cur, &prev);
	if (f->current.api)
		step[n++] = (struct step){NULL, operation_words(s, &f->current),
					  f->current.sequence, &f->current.stack, cur};
	if (f->previous.api)
		step[n++] = (struct step){"the earlier operation", operation_words(s, &f->previous),
					  f->previous.sequence, &f->previous.stack, prev};
	if (b->kind && b->allocated_by)
		step[n++] = (struct step){"the allocation",
					  words(s, NAME, "allocation by %s, #%" PRIu64,
						b->allocated_by, b->allocated_seq),
					  b->allocated_seq, &b->allocated_at};
	if (b->kind && b->freed_by)
		step[n++] = (struct step){
			"the free",
			words(s, NAME, "free by %s, #%" PRIu64, b->freed_by, b->freed_seq),
			b->freed_seq, &b->freed_at};
	for (unsigned i = 0; i < n; i++) {
		step[i].at = place_of(s, step[i].stack, step[i].site);
		step[i].id = step[i].stack != &f->current.stack && step[i].at.file ? ++id : 0;
	}
	return n;
}

/* The lines of code that make the missing edge. */
static void added(FILE *out, const struct krt_missing *e)
{
	if (!e->record_after || !e->code || !*e->code)
		return;
	fputs("\nAdd:\n", out);
	literal(out, e->code);
	fputs(e->code[strlen(e->code) - 1] == '\n' ? "" : "\n", out);
	if (e->verified == KRT_VERIFIED_REMOVES)
		fputs("Verified: with it the finding disappears.", out);
}

static void message(struct sarif *s, const struct krt_finding *f, const struct step *step,
		    unsigned n)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	const char *sep = " See ";

	if (!out) {
		s->broken = true;
		return;
	}
	sentence(out, "", f->message && *f->message ? f->message : krt_rules[f->rule].title);
	for (unsigned i = 0; i < n; i++)
		if (step[i].id) {
			fprintf(out, "%s[%s](%u)", sep, step[i].role, step[i].id);
			sep = ", ";
		}
	fputs(*sep == ',' ? "." : "", out);
	sentence(out, " Order that exists: ", f->order_exists);
	sentence(out, " Missing: ", f->order_missing);
	sentence(out, " Fix: ", f->fix);
	added(out, &f->edge);
	if (!n || !krt_stack_site(step[0].stack))
		fputs("\nNo call stack tells where in the source.", out);
	s->broken |= fclose(out) != 0;
	text_object(s, "message", text ? clipped(s, text, MESSAGE) : "");
	free(text);
}

static void related(struct sarif *s, const struct step *step, unsigned n)
{
	krt_json_open(&s->j, "relatedLocations", '[');
	for (unsigned i = 0; i < n; i++)
		if (step[i].id)
			location(s, NULL, step[i].id, &step[i].at, step[i].what);
	krt_json_close(&s->j, ']');
}

static int by_sequence(const void *a, const void *b)
{
	const struct step *x = a, *y = b;

	return x->sequence < y->sequence ? -1 : x->sequence > y->sequence;
}

/* One thread flow: viewers show its steps one below the other. */
static void code_flow(struct sarif *s, const struct step *step, unsigned n)
{
	struct step sorted[STEPS];
	unsigned known = 0;

	for (unsigned i = 0; i < n; i++)
		if (step[i].at.file)
			sorted[known++] = step[i];
	if (known < 2)
		return;
	qsort(sorted, known, sizeof(*sorted), by_sequence);
	krt_json_open(&s->j, "codeFlows", '[');
	krt_json_open(&s->j, NULL, '{');
	krt_json_open(&s->j, "threadFlows", '[');
	krt_json_open(&s->j, NULL, '{');
	krt_json_open(&s->j, "locations", '[');
	for (unsigned i = 0; i < known; i++) {
		krt_json_open(&s->j, NULL, '{');
		location(s, "location", 0, &sorted[i].at, sorted[i].what);
		krt_json_close(&s->j, '}');
	}
	krt_json_close(&s->j, ']');
	krt_json_close(&s->j, '}');
	krt_json_close(&s->j, ']');
	krt_json_close(&s->j, '}');
	krt_json_close(&s->j, ']');
}

static void frame(struct sarif *s, const struct krt_frame *f)
{
	const char *file = file_of(s, f);

	krt_json_open_flat(&s->j, NULL, '{');
	if (file || (f->function && *f->function)) {
		krt_json_open(&s->j, "location", '{');
		if (file)
			physical(s, &(struct place){file, f->line ? f->line : 1, NULL});
		function(s, f);
		krt_json_close(&s->j, '}');
	}
	if (f->module && *f->module)
		krt_json_string(&s->j, "module", clipped(s, f->module, NAME));
	krt_json_close(&s->j, '}');
}

static void stacks(struct sarif *s, const struct step *step, unsigned n)
{
	krt_json_open(&s->j, "stacks", '[');
	for (unsigned i = 0; i < n; i++) {
		const struct krt_stack *stack = step[i].stack;
		unsigned shown = 0;

		if (!krt_stack_site(stack))
			continue;
		krt_json_open(&s->j, NULL, '{');
		text_object(s, "message", words(s, NAME, "%s: %s", step[i].role, step[i].what));
		krt_json_open(&s->j, "frames", '[');
		for (unsigned k = 0; k < stack->depth && shown < FRAMES; k++) {
			enum krt_frame_kind kind = krt_frame_kind(&stack->frame[k]);

			if (kind != KRT_FRAME_USER && kind != KRT_FRAME_LIBRARY)
				continue;
			frame(s, &stack->frame[k]);
			shown++;
		}
		krt_json_close(&s->j, ']');
		krt_json_close(&s->j, '}');
	}
	krt_json_close(&s->j, ']');
}

/* --- results ------------------------------------------------------------------------- */

static void property(struct sarif *s, const char *key, const char *value)
{
	if (value)
		krt_json_string(&s->j, key, clipped(s, value, NAME));
}

static void properties(struct sarif *s, const struct result *x)
{
	const struct krt_finding *f = x->f;
	unsigned n = 0;

	krt_json_open(&s->j, "properties", '{');
	krt_json_string(&s->j, "confidence", krt_confidence_name(f->confidence));
	krt_json_string(&s->j, "view", krt_view_name(f->view));
	property(s, "knowledge", f->current.knowledge);
	property(s, "previousKnowledge", f->previous.knowledge);
	property(s, "kernel", f->current.kernel);
	property(s, "previousKernel", f->previous.kernel);
	property(s, "buffer", f->buffer.name);
	if (f->edge.record_after)
		property(s, "fixVerified", krt_verified_text(f->edge.verified));
	krt_json_open_flat(&s->j, "processes", '[');
	for (; x && n < PROCESSES; x = x->same, n++)
		krt_json_int(&s->j, NULL, x->f->pid);
	krt_json_close(&s->j, ']');
	krt_json_close(&s->j, '}');
}

/* All results of a run have suppressions, or none has. */
static void suppressions(struct sarif *s, const struct krt_finding *f)
{
	if (!s->w->suppressed)
		return;
	krt_json_open_flat(&s->j, "suppressions", '[');
	if (f->suppressed_by) {
		krt_json_open(&s->j, NULL, '{');
		krt_json_string(&s->j, "kind", "external");
		krt_json_string(&s->j, "justification",
				clipped(s, f->suppressed_why ? f->suppressed_why : f->suppressed_by,
					MESSAGE));
		krt_json_close(&s->j, '}');
	}
	krt_json_close(&s->j, ']');
}

static void result(struct sarif *s, const struct result *x)
{
	const struct krt_finding *f = x->f;
	struct step step[STEPS];
	unsigned n = steps_of(s, f, step);

	krt_json_open(&s->j, NULL, '{');
	krt_json_string(&s->j, "ruleId", krt_rules[f->rule].id);
	krt_json_uint(&s->j, "ruleIndex", f->rule);
	krt_json_string(&s->j, "level", krt_level_name(f->level));
	message(s, f, step, n);
	krt_json_open(&s->j, "locations", '[');
	location(s, NULL, 0, &x->at, NULL);
	krt_json_close(&s->j, ']');
	related(s, step, n);
	code_flow(s, step, n);
	stacks(s, step, n);
	krt_json_open_flat(&s->j, "partialFingerprints", '{');
	krt_json_string(&s->j, "krtsanHazard/v1", words(s, NAME, "%016" PRIx64, f->fingerprint));
	krt_json_close(&s->j, '}');
	krt_json_uint(&s->j, "occurrenceCount", x->count < INT32_MAX ? x->count : INT32_MAX);
	suppressions(s, f);
	if (f->baseline != KRT_BASELINE_NONE)
		krt_json_string(&s->j, "baselineState",
				f->baseline == KRT_BASELINE_KNOWN ? "unchanged" : "new");
	properties(s, x);
	krt_json_close(&s->j, '}');
}

#define ORDER(a, b)                                                                                \
	do {                                                                                       \
		if ((a) != (b))                                                                    \
			return (a) < (b) ? -1 : 1;                                                 \
	} while (0)

/* Severe ones first: what fails a run, then by level and confidence. */
static int by_severity(const void *a, const void *b)
{
	const struct result *x = *(struct result *const *)a, *y = *(struct result *const *)b;

	ORDER(!!x->f->suppressed_by, !!y->f->suppressed_by);
	ORDER(y->f->level, x->f->level);
	ORDER(x->f->baseline == KRT_BASELINE_KNOWN, y->f->baseline == KRT_BASELINE_KNOWN);
	ORDER(y->f->confidence, x->f->confidence);
	ORDER(x->order, y->order);
	return 0;
}

/* What becomes one alert. */
static int by_alert(const struct result *x, const struct result *y)
{
	int file;

	ORDER(!!x->f->suppressed_by, !!y->f->suppressed_by);
	ORDER(x->f->rule, y->f->rule);
	ORDER(x->f->fingerprint, y->f->fingerprint);
	file = strcmp(x->at.file, y->at.file);
	if (file)
		return file;
	ORDER(x->at.line, y->at.line);
	return 0;
}

static int by_alert_severity(const void *a, const void *b)
{
	int alert = by_alert(*(struct result *const *)a, *(struct result *const *)b);

	return alert ? alert : by_severity(a, b);
}

/* Joins those of one alert; the n that are left are the first ones of list. */
static size_t joined(struct result **list, size_t n)
{
	struct result *last = NULL;
	size_t kept = 0;

	qsort(list, n, sizeof(*list), by_alert_severity);
	for (size_t i = 0; i < n; i++) {
		if (kept && !by_alert(list[kept - 1], list[i])) {
			list[kept - 1]->count += list[i]->count;
			last->same = list[i];
		} else {
			list[kept++] = list[i];
		}
		last = list[i];
	}
	qsort(list, kept, sizeof(*list), by_severity);
	return kept;
}

static void add(struct sarif *s, struct result *x, size_t order, const struct krt_finding *f)
{
	*x = (struct result){.f = f,
			     .at = place_of_finding(s, f),
			     .order = order,
			     .count = f->count ? f->count : 1};
}

/* Writes a result apart, to know how long it is; false: it is too long. */
static bool fits(struct sarif *s, const struct result *x, size_t *bytes)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = s->j.out, *apart = open_memstream(&text, &len);
	bool fit = false;

	if (!apart) {
		s->broken = true;
		return false;
	}
	s->j.out = apart;
	result(s, x);
	s->j.out = out;
	s->broken |= fclose(apart) != 0;
	if (!s->broken && len < BYTES - *bytes) {
		fwrite(text, 1, len, out);
		*bytes += len;
		fit = true;
	}
	free(text);
	return fit;
}

/* How many results were left out for the limits; below: findings below what is shown. */
static size_t results(struct sarif *s, size_t *below)
{
	size_t room = s->r->nfindings + s->r->nsuppressed + 1, n = 0, written = 0, bytes = 0;
	struct result *all = calloc(room, sizeof(*all)), **list = calloc(room, sizeof(*list));

	*below = 0;
	for (size_t i = 0; all && list && i < s->r->nfindings; i++) {
		if (s->r->finding[i].confidence < s->w->show) {
			++*below;
			continue;
		}
		add(s, &all[n], n, &s->r->finding[i]);
		n++;
	}
	for (size_t i = 0; all && list && s->w->suppressed && i < s->r->nsuppressed; i++) {
		add(s, &all[n], n, &s->r->suppressed[i]);
		n++;
	}
	for (size_t i = 0; i < n; i++)
		list[i] = &all[i];
	if (n)
		n = joined(list, n);
	krt_json_open(&s->j, "results", '[');
	while (written < n && written < RESULTS && fits(s, list[written], &bytes))
		written++;
	krt_json_close(&s->j, ']');
	s->broken |= !all || !list;
	free(all);
	free(list);
	return n - written;
}

/* --- the tool and the run ------------------------------------------------------------ */

/* KRT-HOST-READ-RACE -> HostReadRace */
static const char *rule_name(struct sarif *s, const char *id)
{
	char *name = krt_arena_alloc(s->mem, strlen(id) + 1), *p = name;
	bool first = true;

	if (!name)
		return checked(s, NULL);
	for (id += strcspn(id, "-"); *id; id++) {
		if (*id != '-')
			*p++ = (char)(first ? toupper(*id) : tolower(*id));
		first = *id == '-';
	}
	return name;
}

/* The first paragraph, on one line. */
static const char *first_paragraph(struct sarif *s, const char *text)
{
	const char *end = strstr(text, "\n\n");
	size_t n = end ? (size_t)(end - text) : strlen(text);
	char *line = krt_arena_printf(s->mem, "%.*s", (int)n, text);

	for (char *p = line; p && *p; p++)
		if (*p == '\n')
			*p = ' ';
	return clipped(s, checked(s, line), SUMMARY);
}

/* Prose and, indented, code: fenced, and in prose nothing is markup but `code`. */
static const char *markdown(struct sarif *s, const char *text)
{
	bool code = false, quoted = false;
	char *kept = NULL;
	size_t len;
	FILE *out = open_memstream(&kept, &len);
	const char *done;

	if (!out)
		return checked(s, NULL);
	while (*text) {
		size_t n = strcspn(text, "\n");
		bool indented = !strncmp(text, "    ", 4) || *text == '\t';

		if (indented != code && n) {
			fputs(code ? "```\n\n" : "\n```\n", out);
			code = indented;
		}
		for (size_t i = code ? (*text == '\t' ? 1 : 4) : 0; i < n; i++) {
			quoted ^= !code && text[i] == '`';
			if (!code && !quoted && strchr("\\*_<[", text[i]))
				fputc('\\', out);
			fputc(text[i], out);
		}
		fputc('\n', out);
		text += n + (text[n] == '\n');
	}
	fputs(code ? "```\n" : "", out);
	if (fclose(out)) {
		free(kept);
		return checked(s, NULL);
	}
	done = krt_arena_strdup(s->mem, kept);
	free(kept);
	return checked(s, done);
}

static void rule(struct sarif *s, const struct krt_rule *rule)
{
	static const char *const severity[] = {[KRT_LEVEL_NOTE] = "recommendation",
					       [KRT_LEVEL_WARNING] = "warning",
					       [KRT_LEVEL_ERROR] = "error"};
	const char *title = words(s, SUMMARY, "%c%s.", toupper(*rule->title), rule->title + 1);

	krt_json_open(&s->j, NULL, '{');
	krt_json_string(&s->j, "id", rule->id);
	krt_json_string(&s->j, "name", rule_name(s, rule->id));
	text_object(s, "shortDescription", title);
	text_object(s, "fullDescription", first_paragraph(s, rule->explain));
	krt_json_open(&s->j, "help", '{');
	krt_json_string(&s->j, "text", rule->explain);
	krt_json_string(&s->j, "markdown", markdown(s, rule->explain));
	krt_json_close(&s->j, '}');
	krt_json_open_flat(&s->j, "defaultConfiguration", '{');
	krt_json_string(&s->j, "level", krt_level_name(rule->level));
	krt_json_close(&s->j, '}');
	krt_json_open(&s->j, "properties", '{');
	krt_json_string(&s->j, "precision", rule->level == KRT_LEVEL_NOTE ? "medium" : "high");
	krt_json_string(&s->j, "problem.severity", severity[rule->level]);
	krt_json_open_flat(&s->j, "tags", '[');
	krt_json_string(&s->j, NULL, "cuda");
	krt_json_string(&s->j, NULL,
			strncmp(rule->id, "KRT-PERF-", 9) ? "correctness" : "performance");
	krt_json_close(&s->j, ']');
	krt_json_close(&s->j, '}');
	krt_json_close(&s->j, '}');
}

/* What a notification can be about. */
enum about { INCOMPLETE, LEFT_OUT, NR_ABOUT };
static const char *const about_id[NR_ABOUT] = {"KRT-INCOMPLETE", "KRT-LEFT-OUT"};
static const char *const about_text[NR_ABOUT] = {
	"A part of the run was not analysed: that there is no result says nothing of it.",
	"Findings that are not in this file.",
};

static void tool(struct sarif *s)
{
	krt_json_open(&s->j, "tool", '{');
	krt_json_open(&s->j, "driver", '{');
	krt_json_string(&s->j, "name", "krtsan");
	krt_json_string(&s->j, "version", KRT_VERSION);
	krt_json_string(&s->j, "semanticVersion", KRT_VERSION);
	krt_json_open(&s->j, "rules", '[');
	for (unsigned i = 0; i < KRT_NR_RULES; i++)
		rule(s, &krt_rules[i]);
	krt_json_close(&s->j, ']');
	krt_json_open(&s->j, "notifications", '[');
	for (unsigned i = 0; i < NR_ABOUT; i++) {
		krt_json_open(&s->j, NULL, '{');
		krt_json_string(&s->j, "id", about_id[i]);
		text_object(s, "shortDescription", about_text[i]);
		text_object(s, "fullDescription", about_text[i]);
		text_object(s, "help", about_text[i]);
		krt_json_close(&s->j, '}');
	}
	krt_json_close(&s->j, ']');
	krt_json_close(&s->j, '}');
	krt_json_close(&s->j, '}');
}

static void notification(struct sarif *s, enum about about, const char *level, const char *text)
{
	krt_json_open(&s->j, NULL, '{');
	krt_json_open_flat(&s->j, "descriptor", '{');
	krt_json_string(&s->j, "id", about_id[about]);
	krt_json_uint(&s->j, "index", about);
	krt_json_close(&s->j, '}');
	krt_json_string(&s->j, "level", level);
	text_object(s, "message", text);
	krt_json_close(&s->j, '}');
}

static void left_out(struct sarif *s, size_t n, const char *why)
{
	if (n)
		notification(s, LEFT_OUT, "note",
			     words(s, MESSAGE, "%zu %s %s left out: %s. The JSON report has all.",
				   n, n == 1 ? "finding" : "findings", n == 1 ? "is" : "are", why));
}

static void invocation(struct sarif *s, size_t over, size_t below)
{
	struct krt_coverage sum;

	krt_report_coverage(s->r, &sum);
	krt_json_open(&s->j, "invocations", '[');
	krt_json_open(&s->j, NULL, '{');
	krt_json_bool(&s->j, "executionSuccessful", !sum.reasons);
	if (s->w->exit_code >= 0)
		krt_json_int(&s->j, "exitCode", s->w->exit_code);
	krt_json_open(&s->j, "toolExecutionNotifications", '[');
	for (unsigned k = 0; k < KRT_NR_REASONS; k++)
		if (sum.reasons & 1u << k)
			notification(s, INCOMPLETE, "warning",
				     words(s, MESSAGE, "%s%s%s", krt_reason_text(k),
					   sum.detail[k][0] ? ": " : "", sum.detail[k]));
	left_out(s, over, "GitHub takes no more; the most severe ones are here");
	left_out(s, below, "their confidence is below show");
	if (!s->w->suppressed)
		left_out(s, s->r->nsuppressed, "suppressed");
	krt_json_close(&s->j, ']');
	krt_json_close(&s->j, '}');
	krt_json_close(&s->j, ']');
}

static void run(struct sarif *s)
{
	size_t over, below;

	krt_json_open(&s->j, NULL, '{');
	tool(s);
	if (s->w->category && *s->w->category) {
		/* What stands before the last slash is the category. */
		krt_json_open_flat(&s->j, "automationDetails", '{');
		krt_json_string(&s->j, "id", words(s, NAME, "%s/", s->w->category));
		krt_json_close(&s->j, '}');
	}
	if (has_root(s)) {
		const char *root = normal(s, s->w->repository);

		krt_json_open(&s->j, "originalUriBaseIds", '{');
		krt_json_open_flat(&s->j, ROOT, '{');
		krt_json_string(&s->j, "uri", uri(s, "file://", root, root[1] ? "/" : ""));
		krt_json_close(&s->j, '}');
		krt_json_close(&s->j, '}');
	}
	over = results(s, &below);
	invocation(s, over, below);
	krt_json_open_flat(&s->j, "properties", '{');
	krt_json_string(&s->j, "verdict", krt_verdict_name(krt_report_verdict(s->r)));
	krt_json_close(&s->j, '}');
	krt_json_close(&s->j, '}');
}

int krt_write_sarif(FILE *out, const struct krt_report *r, const struct krt_writer *w)
{
	struct sarif s = {.r = r, .w = w, .mem = krt_arena_new()};
	int err;

	if (!s.mem)
		return -1;
	krt_json_begin(&s.j, out);
	krt_json_open(&s.j, NULL, '{');
	krt_json_string(&s.j, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
	krt_json_string(&s.j, "version", "2.1.0");
	krt_json_open(&s.j, "runs", '[');
	run(&s);
	krt_json_close(&s.j, ']');
	krt_json_close(&s.j, '}');
	err = krt_json_end(&s.j);
	krt_arena_destroy(s.mem);
	if (s.broken) {
		errno = ENOMEM;
		return -1;
	}
	return err;
}
