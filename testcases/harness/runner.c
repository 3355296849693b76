/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the test programs under krtsan and holds what it reports against what
 * each program's head comment says.
 *
 *   runner [--gpu] [--build=DIR] [--kind=KIND] [--first=LIB] [-j N] [--keep] [-v] [NAME...]
 *
 * Sources are testcases/hazard/NAME.c, testcases/explain/RULE.c (hazards too, of which
 * `krtsan explain` prints a part) and testcases/clean/NAME.c (run it in the top
 * folder), programs DIR/testcases/hazard/NAME, NAME.fixed for the twin built with
 * -DFIXED, and DIR/testcases/clean/NAME.  --kind=KIND: testcases/KIND alone.
 * --first=LIB is preloaded in front of libkrtsan.so: the runtime of a sanitizer.
 * Head lines:
 *
 *   EXPECT: RULE[|RULE] LEVEL CONFIDENCE VIEW count=N     a finding; or count>=N
 *   EXPECT: none
 *   EXPECT-FIXED: ...         the same of the fixed twin; no such line, no twin
 *   ARGS: ...                 a further run with arguments; its EXPECT lines follow
 *   MENTIONS: RULE "text"     some string of that finding contains the text
 *   FIX: RULE STATE[+N] why   what the order that it lacks does: none (there is no such
 *                             order), removes, keeps, cycle; +N: N other findings go too
 *   FINDINGS: N               so many in all, possible ones not counted
 *   SIM-WRONG: ...            without krtsan, on the simulated driver, it prints WRONG
 *   OPTIONS: ...              KRTSAN_OPTIONS of every run
 *   VERDICT: inconclusive "reason"   the coverage names the reason
 *   MAY-SKIP: ...             exit code 77 is fine: the machine lacks something
 *   SIM-ONLY: ...             not run on a GPU: its times are those of the virtual clock, or ...
 *   UNSTABLE: ...             counts or stacks may differ between two runs
 *   SOURCE: ...               where the case comes from
 *   GUARD, CHECKSUM, HOST-SKIP: of testcases/host/programs.py
 *
 * Any finding that is not expected fails, possible ones excepted.  A finding that is a
 * missing order (not a note) must be gone with that order, and nothing else be there,
 * unless FIX: tells otherwise; a use after its free lacks a free that comes later.  Each case is
 *  (n) run alone: exit code 0, and WRONG only in hazards
 *  (a) krtsan run --report=json: findings, verdict, exit code, keys and stacks
 *  (b) LD_PRELOAD alone: same exit code, same findings
 *  (c) krtsan record, krtsan analyze: same findings
 *  (r) krtsan report of (a)'s JSON: the same JSON and the same text, byte for byte
 *      and krtsan suppress of it: lines that suppress all that it has
 *  (d) without findings to expect: same verdict with other schedules of the
 *      simulated driver, and with all the overlap that the documentation allows
 * One line a case, `ok` or `not ok`; the last line is `N passed, N failed`.
 * Workers are processes; nothing is shared but the list of cases.
 */
#include "json.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_EXPECT = 16, MAX_ARGS = 8, EXIT_SKIP = 77, EXIT_FINDING = 66, LIMIT_S = 120 };

struct expect {
	char rule[96], level[16], confidence[16], view[16];
	bool at_least;
	unsigned count;
};

struct test {
	char name[160], source[PATH_MAX], binary[PATH_MAX];
	bool hazard;				  /* may compute a wrong value */
	int nexpect, nargs, nmentions, nfixes, nfindings; /* nfindings 0: any number */
	struct expect expect[MAX_EXPECT];
	char *args[MAX_ARGS];
	struct {
		char rule[64], text[128];
	} mention[MAX_EXPECT];
	struct {
		char rule[64], state[32];
		unsigned also;
	} fix[MAX_EXPECT];
	bool sim_wrong, may_skip, unstable, sim_only;
	char options[256], inconclusive[128];
	bool broken; /* its head comment is */
};

static struct test *tests;
static int ntests;
static bool gpu, keep, verbose;
static char build[PATH_MAX];
static const char *first = ""; /* preloaded in front of the library */

/* ---- head comments ----------------------------------------------------------- */

static struct test *new_test(const char *kind, const char *name, bool fixed, bool hazard)
{
	struct test *t;

	tests = realloc(tests, (size_t)(ntests + 1) * sizeof(*tests));
	if (!tests)
		exit(125);
	t = &tests[ntests++];
	memset(t, 0, sizeof(*t));
	snprintf(t->name, sizeof(t->name), "%s/%s%s", kind, name, fixed ? " (fixed)" : "");
	snprintf(t->source, sizeof(t->source), "testcases/%s/%s.c", kind, name);
	snprintf(t->binary, sizeof(t->binary), "%.3000s/testcases/%s/%s%s", build, kind, name,
		 fixed ? ".fixed" : "");
	t->hazard = hazard;
	return t;
}

static void bad_line(struct test *t, const char *line)
{
	fprintf(stderr, "%s: cannot read: %s\n", t->source, line);
	t->broken = true;
}

static void parse_expect(struct test *t, const char *s)
{
	struct expect *e = &t->expect[t->nexpect];
	char op[3];

	if (!strcmp(s, "none"))
		return;
	if (t->nexpect == MAX_EXPECT ||
	    sscanf(s, "%95s %15s %15s %15s count%2[>=]%u", e->rule, e->level, e->confidence,
		   e->view, op, &e->count) != 6) {
		bad_line(t, s);
		return;
	}
	e->at_least = op[0] == '>';
	t->nexpect++;
}

static void parse_head(const char *kind, const char *name)
{
	bool hazard = !strcmp(kind, "hazard") || !strcmp(kind, "explain"), started = false;
	struct test *t, *fixed = NULL;
	char line[512], key[32], path[PATH_MAX];
	int main_test = ntests, fixed_test = -1;
	FILE *f;

	new_test(kind, name, false, hazard);
	snprintf(path, sizeof(path), "testcases/%s/%s.c", kind, name);
	f = fopen(path, "r");
	if (!f) {
		perror(path);
		exit(125);
	}
	while (fgets(line, sizeof(line), f)) {
		int used = 0;
		char *s;

		line[strcspn(line, "\n")] = 0;
		if (!strcmp(line, " */"))
			break;
		if (sscanf(line, " * %31[A-Z-]:%n", key, &used) != 1 || !used)
			continue;
		for (s = line + used; *s == ' '; s++)
			;
		t = &tests[main_test];
		if (!strcmp(key, "ARGS")) {
			if (started) {
				main_test = ntests;
				t = new_test(kind, name, false, hazard);
			}
			started = true;
			snprintf(t->name, sizeof(t->name), "%s/%s %s", kind, name, s);
			for (char *save, *w = strtok_r(s, " ", &save); w && t->nargs < MAX_ARGS - 1;
			     w = strtok_r(NULL, " ", &save))
				t->args[t->nargs++] = strdup(w);
		} else if (!strcmp(key, "EXPECT")) {
			started = true;
			parse_expect(t, s);
		} else if (!strcmp(key, "EXPECT-FIXED")) {
			if (fixed_test < 0) {
				fixed_test = ntests;
				new_test(kind, name, true, false);
			}
			parse_expect(&tests[fixed_test], s);
		} else if (!strcmp(key, "MENTIONS")) {
			if (t->nmentions == MAX_EXPECT ||
			    sscanf(s, "%63s \"%127[^\"]\"", t->mention[t->nmentions].rule,
				   t->mention[t->nmentions].text) != 2)
				bad_line(t, line);
			else
				t->nmentions++;
		} else if (!strcmp(key, "FIX")) {
			if (t->nfixes == MAX_EXPECT ||
			    sscanf(s, "%63s %31[a-z]+%u", t->fix[t->nfixes].rule,
				   t->fix[t->nfixes].state, &t->fix[t->nfixes].also) < 2)
				bad_line(t, line);
			else
				t->nfixes++;
		} else if (!strcmp(key, "FINDINGS")) {
			t->nfindings = atoi(s);
		} else if (!strcmp(key, "SIM-WRONG")) {
			t->sim_wrong = true;
		} else if (!strcmp(key, "OPTIONS")) {
			snprintf(t->options, sizeof(t->options), "%.250s", s);
		} else if (!strcmp(key, "VERDICT")) {
			if (sscanf(s, "inconclusive \"%127[^\"]\"", t->inconclusive) != 1)
				bad_line(t, line);
		} else if (!strcmp(key, "MAY-SKIP")) {
			t->may_skip = true;
		} else if (!strcmp(key, "SIM-ONLY")) {
			t->sim_only = true;
		} else if (!strcmp(key, "UNSTABLE")) {
			t->unstable = true;
		} else if (strcmp(key, "SOURCE") && strcmp(key, "GUARD") && strcmp(key, "CHECKSUM") &&
			   strcmp(key, "GUARD-LINE") && strcmp(key, "HOST-SKIP")) {
			bad_line(t, line);
		}
	}
	fclose(f);
	if (fixed_test >= 0) {
		fixed = &tests[fixed_test];
		t = &tests[main_test];
		fixed->may_skip = t->may_skip;
		fixed->unstable = t->unstable;
		fixed->sim_only = t->sim_only;
		memcpy(fixed->options, t->options, sizeof(t->options));
	}
	if (hazard && !tests[main_test].nexpect)
		bad_line(&tests[main_test], "a hazard without EXPECT");
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void find_programs(const char *kind, char **want, int nwant)
{
	char dir[64], *names[1024];
	int n = 0;
	DIR *d;

	snprintf(dir, sizeof(dir), "testcases/%s", kind);
	d = opendir(dir);
	if (!d) {
		perror(dir);
		exit(125);
	}
	for (struct dirent *e; (e = readdir(d)) && n < 1024;) {
		size_t len = strlen(e->d_name);
		bool wanted = nwant == 0;

		if (len < 3 || strcmp(e->d_name + len - 2, ".c"))
			continue;
		for (int i = 0; i < nwant; i++) {
			const char *w = strchr(want[i], '/') ? strchr(want[i], '/') + 1 : want[i];

			if (strlen(w) == len - 2 && !strncmp(w, e->d_name, len - 2) &&
			    (w == want[i] || !strncmp(want[i], kind, strlen(kind))))
				wanted = true;
		}
		if (wanted)
			names[n++] = strndup(e->d_name, len - 2);
	}
	closedir(d);
	qsort(names, (size_t)n, sizeof(*names), by_name);
	for (int i = 0; i < n; i++) {
		parse_head(kind, names[i]);
		free(names[i]);
	}
}

/* ---- running ----------------------------------------------------------------- */

struct outcome {
	int exit_code; /* 128+n for signal n, -1 over the time limit */
	bool wrong;    /* stdout says WRONG */
};

static char scratch[PATH_MAX]; /* folder of this worker's case */
static FILE *out;	       /* its lines */
static int complaints;

static void __attribute__((format(printf, 1, 2))) complain(const char *fmt, ...)
{
	va_list ap;

	complaints++;
	fputs("#   ", out);
	va_start(ap, fmt);
	vfprintf(out, fmt, ap);
	va_end(ap);
	fputc('\n', out);
}

static char *slurp(const char *path, size_t *len)
{
	FILE *f = fopen(path, "r");
	char *s = NULL;
	size_t n = 0;
	struct stat st;

	if (f && !fstat(fileno(f), &st) && (s = malloc((size_t)st.st_size + 1))) {
		n = fread(s, 1, (size_t)st.st_size, f);
		s[n] = 0;
	}
	if (f)
		fclose(f);
	if (len)
		*len = n;
	return s;
}

static void show_tail(const char *path)
{
	size_t len;
	char *s = slurp(path, &len), *line = s, *save;

	if (!s)
		return;
	if (len > 1500) {
		line = s + len - 1500;
		line += strcspn(line, "\n");
	}
	for (line = strtok_r(line, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		fprintf(out, "#   | %s\n", line);
	free(s);
}

/* env: NAME=VALUE words, NULL at the end.  Output goes to scratch/TAG.out and .err. */
static struct outcome spawn(const char *tag, char *const argv[], char *const env[])
{
	struct outcome o = {.exit_code = -1};
	struct timespec nap = {.tv_nsec = 2000000}, now, from;
	char path[PATH_MAX + 32], *text;
	int status;
	pid_t pid;

	fflush(out);
	pid = fork();
	if (!pid) {
		int fd;

		setpgid(0, 0);
		snprintf(path, sizeof(path), "%s/%s.out", scratch, tag);
		fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
		dup2(fd, 1);
		close(fd);
		snprintf(path, sizeof(path), "%s/%s.err", scratch, tag);
		fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
		dup2(fd, 2);
		close(fd);
		for (; *env; env++)
			putenv(*env);
		execv(argv[0], argv);
		perror(argv[0]);
		_exit(127);
	}
	clock_gettime(CLOCK_MONOTONIC, &from);
	for (;;) {
		pid_t r = waitpid(pid, &status, WNOHANG);

		if (r == pid)
			break;
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (r < 0 || now.tv_sec - from.tv_sec > LIMIT_S) {
			kill(-pid, SIGKILL);
			waitpid(pid, &status, 0);
			complain("%s: still running after %d s", tag, LIMIT_S);
			return o;
		}
		nanosleep(&nap, NULL);
	}
	o.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	snprintf(path, sizeof(path), "%s/%s.out", scratch, tag);
	text = slurp(path, NULL);
	o.wrong = text && strstr(text, "WRONG");
	free(text);
	return o;
}

/* ---- judging a report -------------------------------------------------------- */

static struct json *read_report(const char *tag)
{
	char path[PATH_MAX + 32];
	size_t len, where;
	struct json *j;
	char *s;

	snprintf(path, sizeof(path), "%s/%s.json", scratch, tag);
	s = slurp(path, &len);
	if (!s) {
		complain("%s: no JSON report", tag);
		return NULL;
	}
	j = json_parse(s, len, &where);
	if (!j)
		complain("%s: the report is no JSON, at byte %zu of %zu", tag, where, len);
	free(s);
	return j;
}

static void need(const struct json *o, const char *what, const char *const *keys)
{
	for (; *keys; keys++)
		if (!json_get(o, *keys))
			complain("%s lacks \"%s\"", what, *keys);
}

static void check_operation(const struct test *t, const struct json *finding, const char *which)
{
	static const char *const keys[] = {"what",  "operation", "stream",    "sequence", "stack",
					   "range", "kernel",	 "knowledge", NULL};
	const struct json *op = json_get(finding, which), *stack;
	const char *base = strrchr(t->binary, '/') + 1;
	bool own = false;

	if (!op || op->type == JSON_NULL)
		return;
	need(op, which, keys);
	stack = json_get(op, "stack");
	for (const struct json *f = stack ? stack->first : NULL; f; f = f->next) {
		const char *m = json_text(f, "module");
		size_t a = strlen(m), b = strlen(base);

		if (a >= b && !strcmp(m + a - b, base))
			own = true;
	}
	if (!own)
		complain("%s %s: no frame of the program in the %s operation's stack",
			 json_text(finding, "rule"), json_text(op, "operation"), which);
}

static void check_keys(const struct test *t, const struct json *r)
{
	static const char *const top[] = {"schema_version", "tool",  "verdict",	 "coverage",
					  "processes",	    "rules", "findings", "suppressed",
					  "stats",	    NULL};
	static const char *const cover[] = {"complete", "reasons", NULL};
	static const char *const keys[] = {
		"fingerprint", "rule",	  "level",    "confidence", "view",  "message", "fix",
		"buffer",      "current", "previous", "ordering",   "count", NULL};
	const struct json *list = json_get(r, "findings");

	need(r, "the report", top);
	need(json_get(r, "coverage"), "coverage", cover);
	for (const struct json *f = list ? list->first : NULL; f; f = f->next) {
		need(f, "a finding", keys);
		if (!strcmp(json_text(f, "confidence"), "possible"))
			continue;
		if (!json_get(f, "current") || json_get(f, "current")->type != JSON_OBJECT)
			complain("%s has no current operation", json_text(f, "rule"));
		check_operation(t, f, "current");
		check_operation(t, f, "previous");
	}
}

static bool one_of(const char *alternatives, const char *rule)
{
	size_t n = strlen(rule);

	for (const char *s = alternatives; s; s = strchr(s, '|') ? strchr(s, '|') + 1 : NULL)
		if (!strncmp(s, rule, n) && (!s[n] || s[n] == '|'))
			return true;
	return false;
}

static bool matches(const struct expect *e, const struct json *f)
{
	return one_of(e->rule, json_text(f, "rule")) && !strcmp(e->level, json_text(f, "level")) &&
	       !strcmp(e->confidence, json_text(f, "confidence")) &&
	       !strcmp(e->view, json_text(f, "view"));
}

static void check_findings(const struct test *t, const struct json *r)
{
	const struct json *list = json_get(r, "findings");
	int n_all = 0;

	for (int i = 0; i < t->nexpect; i++) {
		const struct expect *e = &t->expect[i];
		unsigned long n = 0;

		for (const struct json *f = list ? list->first : NULL; f; f = f->next)
			if (matches(e, f))
				n += strtoul(json_text(f, "count"), NULL, 10);
		if (e->at_least ? n < e->count : n != e->count)
			complain("expected %s %s %s %s %s%u, found %lu", e->rule, e->level,
				 e->confidence, e->view, e->at_least ? "at least " : "", e->count,
				 n);
	}
	for (const struct json *f = list ? list->first : NULL; f; f = f->next) {
		bool expected = !strcmp(json_text(f, "confidence"), "possible");

		n_all += !expected;
		for (int i = 0; i < t->nexpect; i++)
			expected |= matches(&t->expect[i], f);
		if (!expected)
			complain("unexpected %s %s %s %s count=%s: %s", json_text(f, "rule"),
				 json_text(f, "level"), json_text(f, "confidence"),
				 json_text(f, "view"), json_text(f, "count"),
				 json_text(f, "message"));
	}
	if (t->nfindings && n_all != t->nfindings)
		complain("%d findings, expected %d", n_all, t->nfindings);
	for (int i = 0; i < t->nmentions; i++) {
		bool found = false;

		for (const struct json *f = list ? list->first : NULL; f; f = f->next)
			found |= !strcmp(json_text(f, "rule"), t->mention[i].rule) &&
				 json_mentions(f, t->mention[i].text);
		if (!found)
			complain("no %s mentions \"%s\"", t->mention[i].rule, t->mention[i].text);
	}
}

static const char *wanted_verdict(const struct test *t)
{
	for (int i = 0; i < t->nexpect; i++)
		if (strcmp(t->expect[i].level, "note"))
			return "findings";
	return t->inconclusive[0] ? "inconclusive" : "clean";
}

static int wanted_exit(const struct test *t)
{
	for (int i = 0; i < t->nexpect; i++)
		if (!strcmp(t->expect[i].level, "error"))
			return EXIT_FINDING;
	return 0;
}

/* ---- fixes -------------------------------------------------------------------- */

/* Rules about an order that is missing. */
static bool lacks_order(const char *rule)
{
	static const char *const rules[] = {
		"KRT-RACE-RAW",	      "KRT-RACE-WAR",	     "KRT-RACE-WAW",
		"KRT-HOST-READ-RACE", "KRT-HOST-WRITE-RACE", "KRT-FREE-IN-USE",
		"KRT-REUSE-RACE",     "KRT-UAF-STREAM",	     "KRT-UBA-STREAM",
		"KRT-COOP-SHARED",    "KRT-UNFINISHED",	     "KRT-HOST-FREE-IN-USE",
		"KRT-GRAPH-EXEC-OVERLAP", "KRT-GRAPH-UNORDERED-NODES",
	};

	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++)
		if (!strcmp(rule, rules[i]))
			return true;
	return false;
}

static const char *fix_state(const struct json *finding)
{
	const struct json *edge = json_get(finding, "edge");

	return edge && edge->type == JSON_OBJECT ? json_text(edge, "verified") : "none";
}

static bool fix_as_told(const struct test *t, const struct json *f, bool met[MAX_EXPECT])
{
	const struct json *edge = json_get(f, "edge");
	unsigned also = (unsigned)json_count(json_get(edge, "also_removes"));
	const char *rule = json_text(f, "rule"), *state = fix_state(f);
	bool told = false, as_told = false;

	for (int i = 0; i < t->nfixes; i++) {
		if (!one_of(t->fix[i].rule, rule))
			continue;
		told = true;
		if (!strcmp(t->fix[i].state, state) && (!t->fix[i].also || t->fix[i].also == also))
			met[i] = as_told = true;
	}
	return told ? as_told
		    : !strcmp(state, strcmp(rule, "KRT-UAF-STREAM") ? "removes" : "cycle");
}

static void check_fixes(const struct test *t, const struct json *r)
{
	const struct json *list = json_get(r, "findings"), *stats = json_get(r, "stats");
	bool met[MAX_EXPECT] = {false};
	unsigned long left = 0;

	for (const struct json *f = list ? list->first : NULL; f; f = f->next) {
		const struct json *edge = json_get(f, "edge");
		const char *state = fix_state(f);

		if (!strcmp(json_text(f, "level"), "note"))
			continue;
		left += strcmp(state, "removes") != 0;
		if (!lacks_order(json_text(f, "rule")))
			continue;
		if (!fix_as_told(t, f, met))
			complain("%s: with the order that it lacks: %s, %zu others: %s",
				 json_text(f, "rule"), state,
				 json_count(json_get(edge, "also_removes")), json_text(edge, "why"));
		if (edge->type == JSON_OBJECT && !*json_text(edge, "code"))
			complain("%s: no code for the order", json_text(f, "rule"));
	}
	for (int i = 0; i < t->nfixes; i++)
		if (!met[i])
			complain("no %s with FIX: %s", t->fix[i].rule, t->fix[i].state);
	if (strtoul(json_text(stats, "orders_tried"), NULL, 10) &&
	    strtoul(json_text(stats, "left_with_orders"), NULL, 10) != left)
		complain("with all orders at once %s findings are left, not %lu",
			 json_text(stats, "left_with_orders"), left);
}

static void check_verdict(const struct test *t, const struct json *r)
{
	const struct json *c = json_get(r, "coverage"), *complete = json_get(c, "complete"),
			  *reasons = json_get(c, "reasons");

	if (strcmp(json_text(r, "verdict"), wanted_verdict(t)))
		complain("verdict %s, expected %s", json_text(r, "verdict"), wanted_verdict(t));
	if (complete && (complete->type == JSON_TRUE) != !t->inconclusive[0]) {
		complain("coverage.complete is %s", complete->type == JSON_TRUE ? "true" : "false");
		for (const struct json *m = reasons ? reasons->first : NULL; m; m = m->next)
			complain("  because: %s: %s", json_text(m, "reason"),
				 json_text(m, "detail"));
	}
	if (t->inconclusive[0] && (!reasons || !json_mentions(reasons, t->inconclusive)))
		complain("coverage.reasons does not name \"%s\"", t->inconclusive);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* What two runs of one program must agree in, as sorted lines. */
static char *digest(const struct json *r)
{
	const struct json *list = json_get(r, "findings");
	size_t n = json_count(list), i = 0, len = 1;
	char **line = calloc(n + 1, sizeof(*line)), *all;

	for (const struct json *f = list ? list->first : NULL; f; f = f->next)
		if (asprintf(&line[i], "%s %s %s %s x%s [%s] fix %s+%zu\n", json_text(f, "rule"),
			     json_text(f, "level"), json_text(f, "confidence"),
			     json_text(f, "view"), json_text(f, "count"),
			     json_text(f, "fingerprint"), fix_state(f),
			     json_count(json_get(json_get(f, "edge"), "also_removes"))) > 0)
			len += strlen(line[i++]);
	qsort(line, i, sizeof(*line), by_text);
	all = calloc(1, len);
	for (size_t k = 0; k < i; k++) {
		strcat(all, line[k]);
		free(line[k]);
	}
	free(line);
	return all;
}

static void compare(const struct test *t, const char *what, const struct json *a,
		    const struct json *b)
{
	char *x, *y, *line, *save;

	if (t->unstable || !a || !b)
		return;
	x = digest(a);
	y = digest(b);
	if (strcmp(x, y)) {
		complain("%s: not the findings of krtsan run", what);
		for (line = strtok_r(x, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
			fprintf(out, "#     run: %s\n", line);
		for (line = strtok_r(y, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
			fprintf(out, "#     %s: %s\n", what, line);
	}
	free(x);
	free(y);
}

static void expect_exit(const char *tag, struct outcome o, int want)
{
	char path[PATH_MAX + 32];

	if (o.exit_code == want || o.exit_code == -1)
		return;
	complain("%s: exit code %d, expected %d", tag, o.exit_code, want);
	if (o.exit_code == want || o.exit_code == EXIT_FINDING || o.exit_code == 0)
		return;
	snprintf(path, sizeof(path), "%s/%s.err", scratch, tag);
	show_tail(path);
}

static void brief(const struct json *r, char *s, size_t len)
{
	const struct json *list = json_get(r, "findings");
	size_t n = 0;

	s[0] = 0;
	for (const struct json *f = list ? list->first : NULL; f; f = f->next)
		if (strcmp(json_text(f, "confidence"), "possible") && n < len)
			n += (size_t)snprintf(s + n, len - n, "%s%s %.1s/%.1s/%.1s x%s",
					      n ? ", " : "", json_text(f, "rule") + 4,
					      json_text(f, "level"), json_text(f, "confidence"),
					      json_text(f, "view"), json_text(f, "count"));
}

static bool same_files(const char *a, const char *b)
{
	size_t n = 0, m = 0;
	char *x = slurp(a, &n), *y = slurp(b, &m);
	bool same = x && y && n == m && !memcmp(x, y, n);

	free(x);
	free(y);
	return same;
}

/* The JSON of (a), read back and written again. */
static void check_read_back(char *krtsan, char *const env[])
{
	static const char *const kind[] = {"json", "text"};
	char path[3][PATH_MAX + 32], to[2][PATH_MAX + 64];

	snprintf(path[2], sizeof(path[2]), "%s/run.json", scratch);
	for (int i = 0; i < 2; i++)
		snprintf(to[i], sizeof(to[i]), "--to=%s:%s/again.%s", kind[i], scratch, kind[i]);
	expect_exit("report",
		    spawn("report", (char *[]){krtsan, "report", path[2], to[0], to[1], NULL}, env), 0);
	for (int i = 0; i < 2; i++) {
		snprintf(path[0], sizeof(path[0]), "%s/run.%s", scratch, kind[i]);
		snprintf(path[1], sizeof(path[1]), "%s/again.%s", scratch, kind[i]);
		if (!same_files(path[0], path[1]))
			complain("report: the %s is another after the JSON was read back", kind[i]);
	}
}

/* Findings that krtsan suppress is asked for: one id's, or all that are more than possible. */
static size_t asked(const struct json *list, const char *id)
{
	size_t n = 0;

	for (const struct json *f = list ? list->first : NULL; f; f = f->next)
		n += id ? !strcmp(json_text(f, "fingerprint"), id)
			: strcmp(json_text(f, "confidence"), "possible") != 0;
	return n;
}

/* The lines for them, pasted in, suppress these and no other. */
static void check_suppress(char *krtsan, char *const env[], const struct json *run, const char *id)
{
	char path[PATH_MAX + 32], supp[PATH_MAX + 64], to[PATH_MAX + 64];
	const struct json *before = json_get(run, "findings"), *after;
	size_t n = asked(before, id);
	struct json *r;

	if (!n)
		return;
	snprintf(path, sizeof(path), "%s/run.json", scratch);
	snprintf(supp, sizeof(supp), "--suppressions=%s/suppress.out", scratch);
	snprintf(to, sizeof(to), "--to=json:%s/suppressed.json", scratch);
	expect_exit("suppress",
		    spawn("suppress", (char *[]){krtsan, "suppress", path, (char *)id, NULL}, env), 0);
	expect_exit("suppressed",
		    spawn("suppressed", (char *[]){krtsan, "report", path, supp, to, NULL}, env), 0);
	r = read_report("suppressed");
	after = json_get(r, "findings");
	if (r && (asked(after, id) || json_count(after) != json_count(before) - n ||
		  json_count(json_get(r, "suppressed")) != n))
		complain("suppress %s: of %zu findings %zu are asked for; with its lines %zu are left",
			 id ? id : "", json_count(before), n, json_count(after));
	json_free(r);
}

/* One case in a process of its own.  Returns its exit status. */
static int work(const struct test *t)
{
	char krtsan[PATH_MAX], options[2048], preload[2 * PATH_MAX], libs[PATH_MAX + 64],
		report[PATH_MAX + 64], text[PATH_MAX + 64], krt[PATH_MAX + 64], table[512] = "", path[PATH_MAX + 32];
	char *argv[MAX_ARGS + 16];
	char *plain_env[] = {libs, NULL}, *opt_env[] = {options, NULL},
	     *bare_env[] = {libs, preload, options, NULL};
	struct json *run = NULL, *other;
	struct outcome o;
	int n, want = wanted_exit(t);
	static const char *const variants[][2] = {
		{"seed2", "sim_seed=2"},
		{"seed3", "sim_seed=3"},
		{"documented", "sim_view=documented"},
	};

	if (t->broken) {
		complain("its head comment cannot be read");
		goto out;
	}
	if (gpu && t->sim_only) {
		fprintf(out, "ok %s # skipped: for the simulated driver\n", t->name);
		goto out;
	}
	if (access(t->binary, X_OK)) {
		complain("%s: %s", t->binary, strerror(errno));
		goto out;
	}
	snprintf(krtsan, sizeof(krtsan), "%.3000s/krtsan", build);
	if (gpu)
		snprintf(libs, sizeof(libs), "KRTSAN_RUNNER=gpu");
	else
		snprintf(libs, sizeof(libs), "LD_LIBRARY_PATH=%.3000s/sim", build);
	snprintf(preload, sizeof(preload), "LD_PRELOAD=%.1000s%s%.3000s/libkrtsan.so", first, *first ? ":" : "", build);

	/* n: alone */
	n = 0;
	argv[n++] = (char *)t->binary;
	for (int i = 0; i < t->nargs; i++)
		argv[n++] = t->args[i];
	argv[n] = NULL;
	o = spawn("alone", argv, plain_env);
	if (o.exit_code == EXIT_SKIP) {
		if (!t->may_skip && !gpu)
			complain("skipped, and does not say that it may");
		else
			fprintf(out, "ok %s # skipped\n", t->name);
		goto out;
	}
	expect_exit("alone", o, 0);
	if (!gpu && t->sim_wrong && !o.wrong)
		complain("alone: the hazard left no wrong value");
	if (o.wrong && !t->hazard) {
		complain("alone: a wrong value");
		snprintf(path, sizeof(path), "%s/alone.out", scratch);
		show_tail(path);
	}
	if (complaints)
		goto out;
	snprintf(table, sizeof(table), "%s", o.wrong ? "wrong value; " : "");

	/* a: krtsan run */
	snprintf(options, sizeof(options), "KRTSAN_OPTIONS=%s", t->options);
	snprintf(report, sizeof(report), "--report=json:%s/run.json", scratch);
	snprintf(text, sizeof(text), "--report=text:%s/run.text", scratch);
	n = 0;
	argv[n++] = krtsan;
	argv[n++] = "run";
	if (!gpu)
		argv[n++] = "--sim";
	argv[n++] = report;
	argv[n++] = text;
	argv[n++] = "--";
	argv[n++] = (char *)t->binary;
	for (int i = 0; i < t->nargs; i++)
		argv[n++] = t->args[i];
	argv[n] = NULL;
	o = spawn("run", argv, opt_env);
	expect_exit("run", o, want);
	if (o.wrong && !t->hazard)
		complain("run: a wrong value");
	run = read_report("run");
	if (run) {
		check_keys(t, run);
		check_findings(t, run);
		check_fixes(t, run);
		check_verdict(t, run);
		brief(run, table + strlen(table), sizeof(table) - strlen(table));
		check_read_back(krtsan, opt_env);
		check_suppress(krtsan, opt_env, run, NULL);
		if (json_count(json_get(run, "findings")) > 1)
			check_suppress(krtsan, opt_env, run,
				       json_text(json_get(run, "findings")->first, "fingerprint"));
	} else {
		snprintf(path, sizeof(path), "%s/run.err", scratch);
		show_tail(path);
	}

	/* b: the library alone */
	snprintf(options, sizeof(options), "KRTSAN_OPTIONS=%s%sreport='json:%.800s/bare.json'",
		 t->options, t->options[0] ? ":" : "", scratch);
	n = 0;
	argv[n++] = (char *)t->binary;
	for (int i = 0; i < t->nargs; i++)
		argv[n++] = t->args[i];
	argv[n] = NULL;
	o = spawn("bare", argv, bare_env);
	expect_exit("bare", o, want);
	other = read_report("bare");
	compare(t, "bare", run, other);
	json_free(other);

	/* c: record, then analyze */
	snprintf(options, sizeof(options), "KRTSAN_OPTIONS=%s", t->options);
	snprintf(krt, sizeof(krt), "%s/run.krt", scratch);
	n = 0;
	argv[n++] = krtsan;
	argv[n++] = "record";
	if (!gpu)
		argv[n++] = "--sim";
	argv[n++] = "-o";
	argv[n++] = krt;
	argv[n++] = "--";
	argv[n++] = (char *)t->binary;
	for (int i = 0; i < t->nargs; i++)
		argv[n++] = t->args[i];
	argv[n] = NULL;
	expect_exit("record", spawn("record", argv, opt_env), 0);
	snprintf(report, sizeof(report), "--report=json:%s/analyze.json", scratch);
	n = 0;
	argv[n++] = krtsan;
	argv[n++] = "analyze";
	argv[n++] = report;
	argv[n++] = krt;
	argv[n] = NULL;
	expect_exit("analyze", spawn("analyze", argv, opt_env), want);
	other = read_report("analyze");
	compare(t, "analyze", run, other);
	json_free(other);

	/* d: whatever the schedule */
	for (size_t v = 0; !gpu && !t->nexpect && v < sizeof(variants) / sizeof(*variants); v++) {
		snprintf(options, sizeof(options), "KRTSAN_OPTIONS=%s%s%s", t->options,
			 t->options[0] ? ":" : "", variants[v][1]);
		snprintf(report, sizeof(report), "--report=json:%s/%s.json", scratch,
			 variants[v][0]);
		n = 0;
		argv[n++] = krtsan;
		argv[n++] = "run";
		argv[n++] = "--sim";
		argv[n++] = report;
		argv[n++] = "--";
		argv[n++] = (char *)t->binary;
		for (int i = 0; i < t->nargs; i++)
			argv[n++] = t->args[i];
		argv[n] = NULL;
		o = spawn(variants[v][0], argv, opt_env);
		expect_exit(variants[v][0], o, want);
		if (o.wrong) {
			complain("%s: a wrong value", variants[v][0]);
			snprintf(path, sizeof(path), "%s/%s.out", scratch, variants[v][0]);
			show_tail(path);
		}
		other = read_report(variants[v][0]);
		if (other) {
			check_findings(t, other);
			check_verdict(t, other);
		}
		json_free(other);
	}
	if (gpu)
		fprintf(out, "%-44s %s\n", t->name, table[0] ? table : "-");
	if (!complaints)
		fprintf(out, "ok %s%s%s\n", t->name, verbose && table[0] ? " # " : "",
			verbose ? table : "");
out:
	json_free(run);
	if (complaints)
		fprintf(out, "not ok %s\n", t->name);
	return complaints != 0;
}

/* ---- main -------------------------------------------------------------------- */

static void remove_scratch(const char *dir)
{
	char *argv[] = {"rm", "-rf", (char *)dir, NULL};
	pid_t pid = fork();

	if (!pid) {
		execv("/bin/rm", argv);
		_exit(127);
	}
	waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
	int jobs = 2, nnames = 0, running = 0, next = 0, shown = 0, passed = 0, failed = 0, status;
	const char *dir = "build", *kind = NULL, *tmp = getenv("TMPDIR");
	char **names = calloc((size_t)argc, sizeof(*names)), top[PATH_MAX - 64];
	FILE **file;
	pid_t *pids, pid;
	int *result;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--gpu"))
			gpu = true;
		else if (!strncmp(argv[i], "--build=", 8))
			dir = argv[i] + 8;
		else if (!strncmp(argv[i], "--kind=", 7))
			kind = argv[i] + 7;
		else if (!strncmp(argv[i], "--first=", 8))
			first = argv[i] + 8;
		else if (!strcmp(argv[i], "-j") && i + 1 < argc)
			jobs = atoi(argv[++i]);
		else if (!strcmp(argv[i], "--keep"))
			keep = true;
		else if (!strcmp(argv[i], "-v"))
			verbose = true;
		else if (argv[i][0] == '-') {
			fprintf(stderr, "runner: unknown option %s\n", argv[i]);
			return 125;
		} else
			names[nnames++] = argv[i];
	}
	if (!realpath(dir, build) || jobs < 1) {
		perror(dir);
		return 125;
	}
	/* Whatever the caller preloads or asks of krtsan is not for the programs. */
	unsetenv("LD_PRELOAD");
	unsetenv("KRTSAN_OPTIONS");
	if (*first)
		setenv("LD_PRELOAD", first, 1);
	if (kind) {
		find_programs(kind, names, nnames);
	} else {
		find_programs("hazard", names, nnames);
		find_programs("explain", names, nnames);
		find_programs("clean", names, nnames);
	}

	snprintf(top, sizeof(top), "%.200s/krtsan-tests-XXXXXX", tmp ? tmp : "/tmp");
	if (!mkdtemp(top)) {
		perror(top);
		return 125;
	}
	file = calloc((size_t)ntests + 1, sizeof(*file));
	pids = calloc((size_t)ntests + 1, sizeof(*pids));
	result = calloc((size_t)ntests + 1, sizeof(*result));
	for (int i = 0; i < ntests; i++)
		result[i] = -1;
	if (gpu)
		printf("%-44s %s\n", "program",
		       "what it computed; findings: rule level/confidence/view count");
	while (shown < ntests) {
		while (running < jobs && next < ntests) {
			file[next] = tmpfile();
			if (!file[next])
				return 125;
			fflush(stdout);
			pid = fork();
			if (!pid) {
				out = file[next];
				snprintf(scratch, sizeof(scratch), "%s/%d", top, next);
				mkdir(scratch, 0700);
				status = work(&tests[next]);
				fflush(out);
				_exit(status);
			}
			pids[next++] = pid;
			running++;
		}
		pid = wait(&status);
		running--;
		for (int i = 0; i < next; i++)
			if (pids[i] == pid) {
				result[i] = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
				if (!WIFEXITED(status)) {
					fseek(file[i], 0, SEEK_END);
					fprintf(file[i], "not ok %s: the runner died\n",
						tests[i].name);
				}
			}
		for (; shown < next && result[shown] >= 0; shown++) {
			char buf[4096];
			size_t n;

			rewind(file[shown]);
			while ((n = fread(buf, 1, sizeof(buf), file[shown])) > 0)
				fwrite(buf, 1, n, stdout);
			fclose(file[shown]);
			passed += !result[shown];
			failed += !!result[shown];
		}
	}
	if (keep)
		printf("# left in %s\n", top);
	else
		remove_scratch(top);
	printf("%d passed, %d failed\n", passed, failed);
	return failed || !passed;
}
