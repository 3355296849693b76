/* SPDX-License-Identifier: Apache-2.0 */
/*
 * krtsan run: the program under the library, analysed while it runs.
 *
 * We read what the processes of the tree record, outlive the program, wait a
 * moment for those it left behind, and answer with its exit code or ours.
 */
#define _GNU_SOURCE
#include "cli.h"
#include "guard.h"
#include "session.h"
#include "../reports/gate.h"
#include "../reports/output.h"

#include <stdio.h>
#include <stdlib.h>

static const char *sim;
static const struct krt_flag flags[] = {
	{ "sim", NULL, "on the simulated driver: no GPU needed", &sim },
	{ NULL },
};
static const struct krt_usage usage = {
	.command = "run",
	.args = "[options] -- PROGRAM [ARGS]",
	.about = "Runs PROGRAM under the library and reports cross-stream hazards when it ends.\n"
		 "Exit code: the program's own failure; 66 on findings at or above --fail-on; 67 "
		 "when\n"
		 "inconclusive with --require=complete; 0; 125/126/127: krtsan failed, not "
		 "executable, not found.",
	.flags = flags,
	.options = true,
};

static size_t step(void *user, size_t budget)
{
	return krt_session_step(user, budget);
}

static unsigned alive(void *user)
{
	return krt_session_alive(user);
}

static void stop(void *user, const char *why)
{
	krt_session_stop(user, why);
}

int krt_run_program(const char *command, char **argv, struct krt_options *o, bool on_sim)
{
	struct krt_session *s = NULL;
	struct krt_report *r = NULL;
	struct krt_gate *gate = NULL;
	struct krt_child child;
	char err[2048], *dir = NULL, *file = krt_program_file(argv[0]);
	int code = KRT_EXIT_FAILED;

	if (krt_output_check(o, err, sizeof(err)) || krt_output_probe(o, err, sizeof(err))) {
		krt_fail("%s", err);
		goto out;
	}
	gate = krt_gate_open(o, file, err, sizeof(err));
	if (!gate) {
		krt_fail("%s", err);
		goto out;
	}
	dir = krt_session_folder(o, err, sizeof(err));
	krt_guard_folder(dir);
	s = dir ? krt_session_open(dir, true, o, err, sizeof(err)) : NULL;
	if (!s) {
		krt_fail("%s", err);
		goto out;
	}
	code = krt_child_start(&child, argv, dir, o, on_sim);
	if (code)
		goto out;
	krt_child_follow(&child, dir, &(struct krt_follower){step, alive, stop, s});
	krt_child_end(&child);
	krt_child_hint(&child, on_sim);
	r = krt_session_report(s);
	if (krt_session_full(s))
		krt_fail("%s: %s: no space for the records; --session-dir=DIR names another folder",
			 command, dir);
	krt_session_remove(dir);
	krt_guard_folder(NULL);
	free(dir);
	dir = NULL;
	for (unsigned i = 0; krt_session_problem(s, i); i++)
		krt_fail("%s", krt_session_problem(s, i));
	if (!r) {
		krt_fail("%s: no memory for the report", command);
		code = child.code ? child.code : KRT_EXIT_FAILED;
		goto out;
	}
	r->program_exit = child.code;
	for (size_t i = 0; i < r->nprocesses; i++)
		if (r->process[i].pid == child.pid)
			r->process[i].exit_code = child.code;
	krt_gate_apply(gate, r);
	code = krt_output_exit_code(r, o, child.code);
	krt_gate_tell(gate);
	if (krt_output(r, o, child.pid, NULL) && !code)
		code = KRT_EXIT_FAILED;
out:
	if (dir)
		krt_session_remove(dir);
	krt_report_destroy(r);
	krt_session_close(s);
	krt_gate_close(gate);
	free(dir);
	free(file);
	return code;
}

int krt_cmd_run(int argc, char **argv)
{
	struct krt_options *o = malloc(sizeof(*o));
	int code, next;

	if (!o)
		return krt_fail("run: no memory");
	next = krt_cli_parse(&usage, argc, argv, o, &code);
	if (next == argc)
		code = krt_fail("run: no program given; usage: krtsan run %s", usage.args);
	else if (next > 0)
		code = krt_run_program("run", argv + next, o, sim != NULL);
	free(o);
	return code;
}
