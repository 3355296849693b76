/* SPDX-License-Identifier: Apache-2.0 */
/*
 * krtsan ci: krtsan run as a gate.  An inconclusive run fails, and the reports
 * that CI systems and people read lie in one folder.  Nothing is picked up that
 * an option does not name.
 */
#define _GNU_SOURCE
#include "cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *sim, *output;
static const struct krt_flag flags[] = {
	{"output", "DIR", "folder for the reports (default krtsan-report)", &output},
	{"sim", NULL, "on the simulated driver: no GPU needed", &sim},
	{NULL},
};
static const struct krt_usage usage = {
	.command = "ci",
	.args = "[options] -- PROGRAM [ARGS]",
	.about = "Runs PROGRAM as krtsan run does, with require=complete, without colours, and "
		 "with\n"
		 "the unused suppressions told. Its reports go to a folder: krtsan.json,\n"
		 "krtsan.sarif (code scanning), krtsan-junit.xml and krtsan.html.\n"
		 "Exit code: the program's own failure; 66 on findings at or above --fail-on that "
		 "are\n"
		 "neither suppressed nor in the baseline; 67 when inconclusive; 0; 125/126/127:\n"
		 "krtsan failed, not executable, not found.",
	.flags = flags,
	.options = true,
	.preset = "require=complete:color=never:print_suppressions=1",
};

static const char *const reports[][2] = {
	{"json", "krtsan.json"},
	{"sarif", "krtsan.sarif"},
	{"junit", "krtsan-junit.xml"},
	{"html", "krtsan.html"},
};

/* A path in which % is itself. */
static char *plain_path(const char *dir, const char *file)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return NULL;
	for (; *dir; dir++)
		fprintf(f, "%s%c", *dir == '%' ? "%" : "", *dir);
	fprintf(f, "/%s", file);
	if (fclose(f)) {
		free(text);
		return NULL;
	}
	return text;
}

/* A report of an earlier run must not pass for one of this run. */
static int forget(const char *dir, const char *file)
{
	char *path;
	int r;

	if (asprintf(&path, "%s/%s", dir, file) < 0)
		return krt_fail("ci: no memory");
	r = unlink(path) && errno != ENOENT
		    ? krt_fail("ci: %s: cannot be removed: %s", path, strerror(errno))
		    : 0;
	free(path);
	return r;
}

static int add_report(struct krt_options *o, const char *format, const char *dir, const char *file)
{
	char *path = plain_path(dir, file), *item, err[512];
	int r = 0;

	if (!path || asprintf(&item, "%s:%s", format, path) < 0) {
		free(path);
		return krt_fail("ci: no memory");
	}
	if (krt_options_set(o, "report", 6, item, strlen(item), err, sizeof(err)))
		r = krt_fail("ci: %s", err);
	free(item);
	free(path);
	return r;
}

static int prepare(struct krt_options *o, const char *dir)
{
	if (mkdir(dir, 0777) && errno != EEXIST)
		return krt_fail("ci: %s: cannot be made: %s", dir, strerror(errno));
	for (unsigned i = 0; i < sizeof(reports) / sizeof(*reports); i++) {
		const char *format = reports[i][0], *file = reports[i][1];

		if (forget(dir, file) || add_report(o, format, dir, file))
			return KRT_EXIT_FAILED;
	}
	return 0;
}

int krt_cmd_ci(int argc, char **argv)
{
	struct krt_options *o = malloc(sizeof(*o));
	const char *dir;
	int code, next;

	if (!o)
		return krt_fail("ci: no memory");
	next = krt_cli_parse(&usage, argc, argv, o, &code);
	dir = output ? output : "krtsan-report";
	if (next == argc)
		code = krt_fail("ci: no program given; usage: krtsan ci %s", usage.args);
	else if (next > 0)
		code = prepare(o, dir);
	if (next > 0 && next < argc && !code) {
		code = krt_run_program("ci", argv + next, o, sim != NULL);
		if (code < KRT_EXIT_FAILED || code > KRT_EXIT_NOT_FOUND)
			fprintf(stderr, "krtsan: ci: exit code %d; reports in %s\n", code, dir);
	}
	free(o);
	return code;
}
