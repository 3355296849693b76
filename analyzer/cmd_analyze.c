/* SPDX-License-Identifier: Apache-2.0 */
/*
 * krtsan analyze: a recorded trace, the same engine, the same findings.
 *
 * --bare is for the library: it starts us at the exit of a process that was
 * run without a front end, on its session folder.  We print the report and
 * leave the exit code in DIR/verdict ("code N"); the library removes the
 * folder.  A failure of ours is told and is code 0: it is not the program's.
 */
#define _GNU_SOURCE
#include "calls.h"
#include "cli.h"
#include "progress.h"
#include "session.h"
#include "../reports/gate.h"
#include "../reports/output.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char *bare, *following, *calls;
static const struct krt_flag flags[] = {
	{ "bare", NULL, "a bare run's session folder, at its exit (the library's own use)", &bare, true },
	{ "follow", NULL, "with --bare: the process still runs, read along with it (its own use)", &following, true },
	{ "calls", "seen|all", "only count the calls of each entry point", &calls },
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
	.recorded = true,
};

#define CLOCKS_MS 30 /* ticks of the process table and of the file system's clock */

static int64_t ms(struct timespec t)
{
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/*
 * Bare processes know nothing of each other.  A report that is there already
 * and younger than our process group's leader was written by another process
 * of the same command: ours gets a name of its own.
 */
static bool written_by_another(const struct krt_options *o)
{
	char path[64], text[1024];
	struct timespec boot, real;
	unsigned long long start = 0;
	int64_t began;
	const char *name;
	struct stat st;
	ssize_t n;
	char *s;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)getpgrp());
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : 0;
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = 0;
	s = strrchr(text, ')');
	if (!s || sscanf(s + 1,
			 " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d "
			 "%*d %llu",
			 &start) != 1)
		return false;
	clock_gettime(CLOCK_BOOTTIME, &boot);
	clock_gettime(CLOCK_REALTIME, &real);
	began = ms(real) - ms(boot) + (int64_t)(start * 1000 / (unsigned long)sysconf(_SC_CLK_TCK)) -
		CLOCKS_MS;
	for (unsigned i = 0; i <= o->report.count; i++) {
		name = i < o->report.count ? strchr(o->report.item[i], ':') + 1 : o->log_path;
		if (!stat(name, &st) && S_ISREG(st.st_mode) && ms(st.st_mtim) > began)
			return true;
	}
	return false;
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

/*
 * A bare run that outgrew its bound: feeds until the process has ended.  Only a
 * look that began after the end has seen everything.
 */
static void follow(struct krt_session *s)
{
	const struct timespec pause = { 0, 2000000 };

	for (;;) {
		bool alive = krt_session_alive(s) || !krt_session_processes(s);
		size_t n = krt_session_step(s, 100000);

		if (!n && !alive)
			return;
		if (!n)
			nanosleep(&pause, NULL);
	}
}

int krt_cmd_analyze(int argc, char **argv)
{
	struct krt_options *o = malloc(sizeof(*o));
	struct krt_session *s = NULL;
	struct krt_report *r = NULL;
	struct krt_progress progress = {0};
	const char *dir;
	struct krt_gate *gate = NULL;
	char err[2048], suffix[16];
	int code, verdict, next, pid = getpid();
	bool failed;

	if (!o)
		return krt_fail("analyze: no memory");
	signal(SIGXFSZ, SIG_IGN); /* a report that is too long is that report's failure */
	next = krt_cli_parse(&usage, argc, argv, o, &code);
	if (next < 0)
		goto out;
	if (bare)
		signal(SIGPIPE, SIG_IGN); /* the library waits for a verdict, read or not */
	code = KRT_EXIT_FAILED;
	if (next + 1 != argc) {
		krt_fail("analyze: %s; usage: krtsan analyze %s",
			 next == argc ? "no trace given" : "one trace at a time", usage.args);
		goto out;
	}
	dir = argv[next];
	if (calls) {
		if (strcmp(calls, "seen") != 0 && strcmp(calls, "all") != 0)
			krt_fail("analyze: --calls=%s: wants seen or all", calls);
		else if (krt_calls_print(dir, !strcmp(calls, "all"), err, sizeof(err)))
			krt_fail("%s", err);
		else
			code = fflush(stdout) ? KRT_EXIT_FAILED : 0;
		goto out;
	}
	if (krt_output_check(o, err, sizeof(err)) ||
	    (!bare && krt_output_probe(o, err, sizeof(err)))) {
		krt_fail("%s", err);
		if (!bare)
			goto out;
		o->report.count = 0; /* the verdict stands without them */
	}
	s = krt_session_open(dir, bare && following, o, err, sizeof(err));
	if (!s) {
		krt_fail("%s", err);
		goto out;
	}
	gate = krt_gate_open(o, krt_session_program(s), err, sizeof(err));
	if (!gate) {
		krt_fail("%s%s", err, bare ? "; NOTHING is suppressed or known in this report" : "");
		if (!bare)
			goto out;
	}
	if (bare && following)
		follow(s);
	else
		krt_progress_trace(&progress, bare ? NULL : "analyze", s);
	if (!krt_session_processes(s) && !bare && !krt_session_is_trace(dir)) {
		krt_fail("trace: %s: no process in it: not a trace", dir);
		goto out;
	}
	r = krt_session_report(s);
	krt_progress_end(&progress);
	if (!r) {
		krt_fail("analyze: no memory for the report");
		goto out;
	}
	if (r->nprocesses == 1)
		r->program_exit = r->process[0].exit_code;
	if (gate)
		krt_gate_apply(gate, r);
	verdict = krt_output_exit_code(r, o, 0);
	for (unsigned i = 0; krt_session_problem(s, i); i++)
		krt_fail("%s", krt_session_problem(s, i));
	failed = krt_session_problem(s, 0) != NULL;
	if (gate)
		krt_gate_tell(gate);
	if (r->nprocesses)
		pid = r->process[0].pid;
	snprintf(suffix, sizeof(suffix), ".%d", pid);
	failed |= krt_output(r, o, pid, bare && written_by_another(o) ? suffix : NULL) != 0;
	/* A report that cannot be written, or a damaged end, takes nothing from the findings. */
	if (bare && write_verdict(dir, verdict)) {
		krt_fail("analyze: %s/verdict: cannot be written: %s", dir, strerror(errno));
		failed = true;
	}
	/* Killed: its library does not clean up after it any more. */
	if (bare && following && r->nprocesses && r->process[0].exit_code < 0)
		krt_session_remove(dir);
	code = failed ? KRT_EXIT_FAILED : verdict;
out:
	krt_report_destroy(r);
	krt_session_close(s);
	krt_gate_close(gate);
	free(o);
	return code;
}
