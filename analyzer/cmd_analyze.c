/* SPDX-License-Identifier: Apache-2.0 */
/*
 * krtsan analyze: a recorded trace, the same engine, the same findings.
 *
 * --bare is for the library: it starts us at the exit of a process that was
 * run without a front end, on its session folder.  We print the report, leave
 * the exit code in DIR/verdict ("code N") and remove the rest.
 */
#define _GNU_SOURCE
#include "cli.h"
#include "session.h"
#include "../reports/output.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *bare;
static const struct krt_flag flags[] = {
	{ "bare", NULL, "a bare run's session folder, at its exit (the library's own use)", &bare },
	{ NULL },
};
static const struct krt_usage usage = {
	.command = "analyze",
	.args = "[options] TRACE",
	.about = "Analyses a trace of `krtsan record`: the same findings as `krtsan run`.\n"
		 "Exit code: 66 on findings at or above --fail-on; 67 when inconclusive with\n"
		 "--require=complete; 0; 125: the trace cannot be read, or not to its end.",
	.flags = flags,
	.options = true,
};

static bool empty(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	unsigned n = 0;

	while (d && (e = readdir(d)))
		n++;
	if (d)
		closedir(d);
	return n == 2; /* . and .. */
}

/* A verdict the library finds: written aside, then renamed. */
static int write_verdict(const char *dir, int code)
{
	char path[4096], tmp[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/verdict", dir);
	snprintf(tmp, sizeof(tmp), "%s/verdict.tmp", dir);
	f = fopen(tmp, "we");
	if (!f)
		return -1;
	fprintf(f, "code %d\n", code);
	if (fclose(f) || rename(tmp, path)) {
		unlink(tmp);
		return -1;
	}
	return 0;
}

int krt_cmd_analyze(int argc, char **argv)
{
	struct krt_options *o = malloc(sizeof(*o));
	struct krt_session *s = NULL;
	struct krt_report *r = NULL;
	const char *dir;
	char err[512];
	int code, next, pid = getpid();

	if (!o)
		return krt_fail("analyze: no memory");
	next = krt_cli_parse(&usage, argc, argv, o, &code);
	if (next < 0)
		goto out;
	code = KRT_EXIT_FAILED;
	if (next + 1 != argc) {
		krt_fail("analyze: %s; usage: krtsan analyze %s",
			 next == argc ? "no trace given" : "one trace at a time", usage.args);
		goto out;
	}
	dir = argv[next];
	if (krt_output_check(o, err, sizeof(err))) {
		krt_fail("%s", err);
		goto out;
	}
	s = krt_session_open(dir, false, o, err, sizeof(err));
	if (!s) {
		krt_fail("%s", err);
		goto out;
	}
	while (krt_session_step(s, SIZE_MAX / 2))
		;
	/* An empty folder is the trace of a program without CUDA. */
	if (!krt_session_processes(s) && !bare && !empty(dir)) {
		krt_fail("trace: %s: no process in it: not a trace", dir);
		goto out;
	}
	r = krt_session_report(s);
	if (!r) {
		krt_fail("analyze: no memory for the report");
		goto out;
	}
	if (r->nprocesses == 1)
		r->program_exit = r->process[0].exit_code;
	code = krt_output_exit_code(r, o, 0);
	for (unsigned i = 0; krt_session_problem(s, i); i++)
		code = krt_fail("%s", krt_session_problem(s, i));
	if (krt_output(r, o, r->nprocesses ? r->process[0].pid : pid, NULL) && !code)
		code = KRT_EXIT_FAILED;
	if (bare && write_verdict(dir, code))
		code = krt_fail("analyze: %s/verdict: cannot be written: %s", dir, strerror(errno));
out:
	krt_report_destroy(r);
	krt_session_close(s);
	free(o);
	return code;
}
