/* SPDX-License-Identifier: Apache-2.0 */
/*
 * krtsan explain-kernel: what is known of the kernels of a trace, and why.
 *
 * Runs the engine over the trace as analyze does and listens (known.h).
 */
#define _GNU_SOURCE
#include "cli.h"
#include "kernels.h"
#include "known.h"
#include "progress.h"
#include "session.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NEAR_MAX 8	 /* names that a message offers */
#define ACCESS_LINES 48 /* of a launch that are printed */

static const char *only_list, *launches;
static const struct krt_flag flags[] = {
	{ "list", NULL, "a line a kernel, also of those that NAME fits", &only_list },
	{ "launches", "N", "how many different launches of a kernel are shown (3)", &launches },
	{ NULL },
};
static const char *const obeyed[] = {
	"torch", "kernels", "shipped_kernels", "ptx_path", "lib_ptx", NULL,
};
static const struct krt_usage usage = {
	.command = "explain-kernel",
	.args = "[options] [NAME...] TRACE",
	.about = "What is known of the kernels of a trace of `krtsan record`, and why: layout, code,\n"
		 "roles of the parameters, the line of a kernels file, what the name says, and for\n"
		 "the first launches the bytes that they access.\n"
		 "NAME: as the driver or as C++ has it, with or without its parameters; * and ? stand\n"
		 "for any characters.  Without NAME: a line a kernel, with its launches and by what\n"
		 "they are known, those launched most often first.\n"
		 "Exit code: 0; 125: the trace cannot be read, or no kernel fits NAME.",
	.flags = flags,
	.options = true,
	.recorded = true,
	.obeyed = obeyed,
};

/* --- names -------------------------------------------------------------------------------- */

/* Steps over <...> and (anonymous namespace). */
static const char *step(const char *s)
{
	static const char anonymous[] = "(anonymous namespace)";
	unsigned depth = 0;

	if (!strncmp(s, anonymous, sizeof(anonymous) - 1))
		return s + sizeof(anonymous) - 1;
	do {
		depth += *s == '<';
		depth -= *s == '>' && depth;
		s++;
	} while (depth && *s);
	return s;
}

struct parts {
	const char *from, *plain, *last, *end; /* ns::f<int>(float): begin, begin of f, end of it, '(' */
};

/* The function's name in a readable one: without result type and parameters. */
static struct parts parts_of(const char *name)
{
	struct parts p = {name, name, NULL, NULL};
	const char *s = name;

	while (*s && (*s != '(' || step(s) > s + 1)) {
		if (*s == ' ') {
			p.from = p.plain = s + 1;
			p.last = NULL;
		} else if (*s == ':' && s[1] == ':') {
			p.plain = s + 2;
			p.last = NULL;
		} else if (*s == '<' && !p.last) {
			p.last = s;
		}
		s = step(s);
	}
	p.end = s;
	if (!p.last)
		p.last = s;
	return p;
}

static bool equal(const char *from, const char *end, const char *name)
{
	return strlen(name) == (size_t)(end - from) && !memcmp(from, name, strlen(name));
}

static bool fits(const struct krt_known_kernel *k, const char *name)
{
	struct parts p = parts_of(k->readable);

	return krt_kernels_glob(name, k->name) || krt_kernels_glob(name, k->readable) ||
	       !strcmp(name, k->name) || !strcmp(name, k->readable) || equal(p.from, p.end, name) ||
	       equal(p.from, p.last, name) || equal(p.plain, p.end, name) || equal(p.plain, p.last, name);
}

static bool chosen(const struct krt_known_kernel *k, char **name, int n)
{
	for (int i = 0; i < n; i++)
		if (fits(k, name[i]))
			return true;
	return !n;
}

static bool near(const struct krt_known_kernel *k, const char *name)
{
	struct parts p = parts_of(k->readable);
	char plain[128];

	if (strcasestr(k->name, name) || strcasestr(k->readable, name))
		return true;
	snprintf(plain, sizeof(plain), "%.*s", (int)(p.last - p.plain), p.plain);
	return krt_name_distance(plain, strlen(plain), name) <= strlen(name) / 3;
}

static int unknown_kernel(const struct krt_known *known, const char *name)
{
	unsigned n = 0;

	for (const struct krt_known_kernel *k = krt_known_first(known); k; k = k->next)
		n += near(k, name);
	if (!n)
		return krt_fail("explain-kernel: %s: no such kernel was launched; `krtsan explain-kernel "
				"TRACE` lists them", name);
	krt_fail("explain-kernel: %s: no such kernel was launched; did you mean:", name);
	n = 0;
	for (const struct krt_known_kernel *k = krt_known_first(known); k && n < NEAR_MAX; k = k->next)
		if (near(k, name)) {
			fprintf(stderr, "  %s\n", k->readable);
			n++;
		}
	return KRT_EXIT_FAILED;
}

/* --- one kernel ----------------------------------------------------------------------------- */

static uint64_t sum(const uint64_t *by_tier)
{
	uint64_t n = 0;

	for (unsigned t = 0; t < KRT_KNOWN_TIERS; t++)
		n += by_tier[t];
	return n;
}

/* "ptx-range", or "ptx-range:12,scan:3" where they differ. */
static void tiers(const uint64_t *by_tier, char *buf, size_t len)
{
	const uint64_t all = sum(by_tier);
	size_t n = 0;

	snprintf(buf, len, "-");
	for (unsigned t = 0; t < KRT_KNOWN_TIERS && n < len; t++)
		if (by_tier[t] == all && all)
			n += (size_t)snprintf(buf + n, len - n, "%s", krt_tier_text(t));
		else if (by_tier[t])
			n += (size_t)snprintf(buf + n, len - n, "%s%s:%" PRIu64, n ? "," : "",
					      krt_tier_text(t), by_tier[t]);
}

static void line(const char *label, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void line(const char *label, const char *fmt, ...)
{
	va_list ap;

	printf("  %-13s ", label);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
}

static const char *role(unsigned r)
{
	static char text[32];

	snprintf(text, sizeof(text), "%s%s%s", r & KRT_FLOW_READ ? ", read" : "",
		 r & KRT_FLOW_WRITE ? ", write" : "", r & KRT_FLOW_ATOMIC ? ", atomic" : "");
	return r & KRT_FLOW_ALL ? text + 2 : "nothing";
}

static void word(uint32_t param, uint32_t offset, bool inside, char *buf, size_t len)
{
	if (offset == KRT_FLOW_ANY)
		snprintf(buf, len, "arg %u, some word", param);
	else if (inside)
		snprintf(buf, len, "arg %u.%u", param, offset);
	else
		snprintf(buf, len, "arg %u", param);
}

static void layout(const struct krt_known_kernel *k)
{
	if (k->nparams == KRT_PARAMS_UNKNOWN) {
		line("parameters", "not known: the driver does not tell, and no image does");
		return;
	}
	printf("  %-13s %u, %u bytes", "parameters", k->nparams, k->bytes);
	for (uint32_t i = 0; i < k->nparams; i++)
		printf("%s %u at %u", i ? "," : ":", k->param[i].size, k->param[i].offset);
	putchar('\n');
}

static void code(const struct krt_known_kernel *k)
{
	if (k->text) {
		line("code", "no text: %s", krt_image_result_text(k->text));
		return;
	}
	printf("  %-13s %s", "code", krt_image_from_text(k->from));
	if (k->arch)
		printf(", made for sm_%u", k->arch);
	printf("%s%s\n", k->where ? ", of " : ", from memory", k->where ? k->where : "");
}

/* It may be computed with as an address, and is none. */
static bool nothing(const struct krt_flow_slot *s)
{
	return !s->role && !s->through && !s->escapes && !s->tensor_map;
}

static void flow(const struct krt_known_kernel *k)
{
	static const struct {
		uint32_t flag;
		const char *words;
	} known[] = {
		{KRT_FLOW_LOADS_POINTERS, "follows pointers that lie in memory"},
		{KRT_FLOW_ORDERED, "orders memory at the device's scope or wider (acquire, release or a fence)"},
		{KRT_FLOW_SPINS, "may wait in a loop for memory to change: never certain against another that does"},
		{KRT_FLOW_LOCKS, "takes a lock in memory: at most possible against another launch of it"},
		{KRT_FLOW_PDL_WAIT, "waits for the kernel before it (griddepcontrol.wait)"},
		{KRT_FLOW_PDL_LAUNCH, "lets the kernel after it begin (griddepcontrol.launch_dependents)"},
		{KRT_FLOW_UNKNOWN_INST, "holds instructions that are not known"},
		{KRT_FLOW_UNKNOWN_CALL, "calls what is not known"},
		{KRT_FLOW_NO_RANGES, "is too large or too odd for ranges: roles alone"},
		{KRT_FLOW_TEXTURES, "reads or writes through textures or surfaces that no parameter names"},
	};
	const struct krt_flow_info *f = &k->flow;
	const char *label = "PTX says";
	char name[48];
	bool unused = false;

	if (k->not_understood)
		line(label, "nothing: the text was not understood");
	if (!k->has_flow)
		return;
	line(label, "%u access%s to memory in the code, %u with an address that is understood",
	     f->accesses, f->accesses == 1 ? "" : "es", f->ranged);
	for (uint32_t i = 0; i < f->nslots; i++) {
		const struct krt_flow_slot *s = &f->slots[i];

		if (nothing(s))
			continue;
		word(s->param, s->offset, s->size > 8, name, sizeof(name));
		printf("  %-13s %s: %s", "", name, s->tensor_map ? "tensor map: "
					       : s->texture  ? "texture: "
					       : s->surface  ? "surface: "
							     : "");
		printf("%s", role(s->role));
		if (s->through)
			printf("; behind pointers that lie there: %s", role(s->through));
		if (s->escapes)
			printf("; the pointer itself is stored into memory");
		putchar('\n');
	}
	for (uint32_t i = 0; i < f->nslots; i++)
		if (nothing(&f->slots[i])) {
			word(f->slots[i].param, f->slots[i].offset, f->slots[i].size > 8, name, sizeof(name));
			printf(unused ? ", %s" : "                %s", name);
			unused = true;
		}
	if (unused)
		puts(": nothing");
	for (uint32_t i = 0; i < f->nglobals; i++) {
		const struct krt_flow_global *g = &f->globals[i];

		if (!g->role && !g->through)
			continue;
		printf("  %-13s variable %s, %" PRIu64 " bytes: %s", "", g->name, g->size, role(g->role));
		if (g->through)
			printf("; behind pointers that lie there: %s", role(g->through));
		putchar('\n');
	}
	if (f->any)
		line("", "through addresses of unknown origin: %s", role(f->any));
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (f->flags & known[i].flag)
			line("", "%s", known[i].words);
}

static void kernels_file(const struct krt_known_kernel *k)
{
	if (!k->line_of)
		return;
	printf("  %-13s %s:%u", "kernels file", k->line_of, k->line);
	if (k->line_only_syncs)
		printf("; it synchronises through memory");
	if (k->useless)
		printf("; says nothing of some launch: %s", k->useless);
	putchar('\n');
}

static void mangled(const struct krt_known_kernel *k)
{
	const char *label = "name says";

	for (uint32_t i = 0; k->says && i < k->nparams; i++) {
		const struct krt_name_param *p = &k->says[i];
		const char *what = NULL;

		switch ((enum krt_name_type)p->type) {
		case KRT_NAME_CONST_POINTER:
			what = p->class_data ? "pointer to const data of a class" : "pointer to const data: read";
			break;
		case KRT_NAME_POINTER:
			what = "pointer";
			break;
		case KRT_NAME_TABLE:
			what = p->table_const ? "table of pointers to const data" : "table of pointers";
			break;
		case KRT_NAME_STRUCT:
			what = "struct";
			break;
		case KRT_NAME_OTHER_POINTER:
			what = "pointer to a function or member";
			break;
		case KRT_NAME_SCALAR:
		case KRT_NAME_UNKNOWN:
			break;
		}
		if (!what)
			continue;
		line(label, "arg %u: %s", i, what);
		label = "";
	}
}

/* Is the parameter more than a word? */
static bool struct_of(const struct krt_known_kernel *k, uint32_t param)
{
	return k->nparams != KRT_PARAMS_UNKNOWN && param < k->nparams && k->param[param].size > 8;
}

static void launch(const struct krt_known_kernel *k, const struct krt_known_launch *l)
{
	unsigned n = 0, rest = 0;

	if (l->seq)
		printf("  launch #%" PRIu64 " on %s", l->seq, l->stream ? l->stream : "a stream");
	else
		printf("  node of a graph");
	printf(", grid %ux%ux%u, block %ux%ux%u", l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1],
	       l->block[2]);
	if (l->shared)
		printf(", %u bytes of shared memory", l->shared);
	printf(": known by %s", krt_tier_text(l->tier));
	if (l->times > 1)
		printf("; %" PRIu64 " times", l->times);
	printf("%s\n", l->access ? "" : "; accesses nothing that is known");
	for (const struct krt_known_access *a = l->access; a; a = a->next) {
		char name[48] = "";

		if (n++ >= ACCESS_LINES) {
			rest++;
			continue;
		}
		if (a->from_param)
			word(a->param, a->offset, struct_of(k, a->param), name, sizeof(name));
		printf("    %-12s %-7s %s%s%s  (%s)\n", name, a->kind, a->sure,
		       *a->sure ? " " : "", a->where ? a->where : "?", a->know);
	}
	if (rest)
		printf("    and %u more\n", rest);
	if (l->opaque)
		printf("    and whatever else its parameters lead to: that is not known\n");
}

static void explain(const struct krt_known_kernel *k)
{
	char text[160];

	printf("kernel %s\n", k->readable);
	if (strcmp(k->name, k->readable))
		line("name", "%s", k->name);
	tiers(k->launches, text, sizeof(text));
	line("launches", "%" PRIu64 "%s%s", sum(k->launches), sum(k->launches) ? ", known by " : "",
	     sum(k->launches) ? text : "");
	tiers(k->nodes, text, sizeof(text));
	if (sum(k->nodes))
		line("graph nodes", "%" PRIu64 ", known by %s", sum(k->nodes), text);
	layout(k);
	code(k);
	flow(k);
	kernels_file(k);
	mangled(k);
	for (const struct krt_known_launch *l = k->launch; l; l = l->next)
		launch(k, l);
	if (k->others)
		printf("  %" PRIu64 " more with other parameters or sizes\n", k->others);
}

/* --- the list ---------------------------------------------------------------------------------- */

static int by_launches(const void *a, const void *b)
{
	const struct krt_known_kernel *x = *(const struct krt_known_kernel *const *)a,
				      *y = *(const struct krt_known_kernel *const *)b;
	uint64_t m = sum(x->launches), n = sum(y->launches);

	if (m == n) {
		m = sum(x->nodes);
		n = sum(y->nodes);
	}
	return m != n ? (m < n ? 1 : -1) : strcmp(x->readable, y->readable);
}

static void list(const struct krt_known_kernel **k, size_t n)
{
	printf("launches  nodes  known by          kernel\n");
	for (size_t i = 0; i < n; i++) {
		uint64_t all[KRT_KNOWN_TIERS];
		char text[160];

		for (unsigned t = 0; t < KRT_KNOWN_TIERS; t++)
			all[t] = k[i]->launches[t] + k[i]->nodes[t];
		tiers(all, text, sizeof(text));
		printf("%8" PRIu64 " %6" PRIu64 "  %-16s  %s\n", sum(k[i]->launches), sum(k[i]->nodes), text,
		       k[i]->readable);
	}
}

static int show(const struct krt_known *known, char **name, int names)
{
	const struct krt_known_kernel **some;
	size_t n = 0, all = 0;
	int code = 0;

	for (const struct krt_known_kernel *k = krt_known_first(known); k; k = k->next)
		all++;
	some = calloc(all ? all : 1, sizeof(*some));
	if (!some)
		return krt_fail("explain-kernel: no memory");
	for (const struct krt_known_kernel *k = krt_known_first(known); k; k = k->next)
		if (chosen(k, name, names))
			some[n++] = k;
	for (int i = 0; i < names; i++) {
		bool fit = false;

		for (size_t j = 0; j < n && !fit; j++)
			fit = fits(some[j], name[i]);
		if (!fit)
			code = unknown_kernel(known, name[i]);
	}
	qsort(some, n, sizeof(*some), by_launches);
	if (!names || only_list)
		list(some, n);
	for (size_t i = 0; i < n && names && !only_list; i++) {
		if (i)
			putchar('\n');
		explain(some[i]);
	}
	free(some);
	return code;
}

int krt_cmd_explain_kernel(int argc, char **argv)
{
	struct krt_options *o = malloc(sizeof(*o));
	struct krt_known *known = NULL;
	struct krt_session *s = NULL;
	struct krt_progress progress;
	unsigned long keep = 3;
	unsigned problems;
	char err[512], *end;
	const char *dir;
	int code, next;

	if (!o)
		return krt_fail("explain-kernel: no memory");
	next = krt_cli_parse(&usage, argc, argv, o, &code);
	if (next < 0)
		goto out;
	code = KRT_EXIT_FAILED;
	if (launches) {
		keep = strtoul(launches, &end, 10);
		if (!*launches || *end || !isdigit((unsigned char)*launches) || keep > 1000000) {
			krt_fail("explain-kernel: --launches=%s: wants a number up to 1000000", launches);
			goto out;
		}
	}
	if (next == argc) {
		krt_fail("explain-kernel: no trace given; usage: krtsan explain-kernel %s", usage.args);
		goto out;
	}
	dir = argv[argc - 1];
	known = krt_known_new((unsigned)keep);
	if (!known) {
		krt_fail("explain-kernel: no memory");
		goto out;
	}
	s = krt_session_open(dir, false, o, err, sizeof(err));
	if (!s) {
		krt_fail("%s", err);
		goto out;
	}
	krt_session_watch(s, krt_known_watch(known));
	krt_progress_trace(&progress, "explain-kernel", s);
	krt_progress_end(&progress);
	if (!krt_session_processes(s) && !krt_session_is_trace(dir)) {
		krt_fail("trace: %s: no process in it: not a trace", dir);
		goto out;
	}
	for (problems = 0; krt_session_problem(s, problems); problems++)
		krt_fail("%s", krt_session_problem(s, problems));
	code = KRT_EXIT_FAILED;
	if (!problems || krt_known_first(known)) /* what could be read counts */
		code = show(known, argv + next, argc - 1 - next);
	if (problems)
		code = KRT_EXIT_FAILED;
	if (krt_known_short(known))
		code = krt_fail("explain-kernel: no memory: something is missing");
	if (fflush(stdout))
		code = KRT_EXIT_FAILED;
out:
	krt_session_close(s);
	krt_known_free(known);
	free(o);
	return code;
}
