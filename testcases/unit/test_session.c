/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions: several processes in one report, how each ended, live and finished;
 * the exit code; options as text.
 */
#define _GNU_SOURCE
#include <stdbool.h>
#include "analyzer/session.h"
#include "reports/output.h"
#include "trace_writer.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[256];
static struct krt_options opt;

static void setup(void)
{
	tw_folder(dir);
	krt_options_init(&opt);
}

static void teardown(void)
{
	tw_remove(dir);
}

TestSuite(session, .init = setup, .fini = teardown);

/* Streams 0x11 and 0x22, buffer 0x7000 of 4096 bytes, two sets of it, one on each. */
static void race(struct tw *w)
{
	struct {
		struct krt_rec_call c;
		uint64_t arg[2];
		struct krt_blob b;
		uint64_t out;
	} made = { .c = { .h.kind = KRT_REC_CALL, .ctx = 0x99, .argc = 2 }, .b.len = 8 };
	static const struct {
		unsigned api;
		uint64_t arg1, out;
	} make[] = {
		{ KRT_API_cuMemAlloc_v2, 4096, 0x7000 },
		{ KRT_API_cuStreamCreate, 1, 0x11 },
		{ KRT_API_cuStreamCreate, 1, 0x22 },
	};

	tw_thread(w, 1, 10);
	for (unsigned i = 0; i < 3; i++) {
		made.c.api = (uint16_t)make[i].api;
		made.arg[1] = make[i].arg1;
		made.out = make[i].out;
		made.c.t0 = tw_ticket(w);
		made.c.t1 = tw_ticket(w);
		tw_record(w, 1, &made, sizeof(made));
	}
	for (unsigned i = 0; i < 2; i++)
		tw_call(w, 1, KRT_API_cuMemsetD8Async,
			(uint64_t[]){0x7000, i, 4096, i ? 0x22 : 0x11}, 4);
}

static struct krt_report *report_of(bool live)
{
	struct krt_session *s;
	struct krt_report *r;
	char err[256];

	s = krt_session_open(dir, live, &opt, err, sizeof(err));
	cr_assert(s, "%s", err);
	while (krt_session_step(s, 10))
		;
	r = krt_session_report(s);
	cr_assert(r);
	krt_session_close(s);
	return r;
}

Test(session, a_tree_in_one_report)
{
	struct tw a, b;
	struct krt_report *r;

	tw_open(&a, dir, 900, 2000);
	race(&a);
	tw_exit(&a, 0);
	tw_open(&b, dir, 800, 3000);
	race(&b);
	tw_exit(&b, 7);
	r = report_of(false);
	cr_assert_eq(r->nprocesses, 2);
	cr_assert_eq(r->process[0].pid, 900, "in the order they began");
	cr_assert_eq(r->process[1].exit_code, 7);
	cr_assert_eq(r->nfindings, 2);
	for (unsigned i = 0; i < 2; i++) {
		cr_assert_eq(r->finding[i].rule, KRT_RULE_RACE_WAW);
		cr_assert_eq(r->finding[i].level, KRT_LEVEL_ERROR);
		cr_assert_eq(r->finding[i].pid, i ? 900 : 800);
	}
	cr_assert_eq(r->finding[0].fingerprint, r->finding[1].fingerprint,
		     "one bug, whatever the process");
	for (unsigned i = 0; i < 2; i++) {
		cr_assert_eq(r->finding[i].edge.verified, KRT_VERIFIED_REMOVES);
		cr_assert_eq(r->finding[i].edge.nalso, 0, "the other process has one of its own");
	}
	cr_assert_eq(r->orders_tried, 2);
	cr_assert_eq(r->left_with_orders, 0);
	cr_assert(krt_report_complete(r));
	krt_report_destroy(r);
	tw_close(&a);
	tw_close(&b);
}

Test(session, live_is_as_finished)
{
	struct krt_report *live, *old;
	struct tw a;

	tw_open(&a, dir, getpid(), 2000);
	race(&a);
	tw_exit(&a, 0);
	old = report_of(false);
	live = report_of(true);
	cr_assert_eq(old->nfindings, 1);
	cr_assert_eq(live->nfindings, 1);
	cr_assert_eq(live->finding[0].fingerprint, old->finding[0].fingerprint);
	cr_assert_str_eq(live->finding[0].message, old->finding[0].message);
	cr_assert_str_eq(live->finding[0].fix, old->finding[0].fix);
	cr_assert(krt_report_complete(live));
	krt_report_destroy(live);
	krt_report_destroy(old);
	tw_close(&a);
}

/* Fixes are tried on the trace read again, or on what was kept of a live run. */
Test(session, fixes_are_tried)
{
	struct tw a;

	tw_open(&a, dir, getpid(), 2000);
	race(&a);
	tw_exit(&a, 0);
	for (unsigned live = 0; live < 2; live++) {
		struct krt_report *r = report_of(live);
		const struct krt_missing *e = &r->finding[0].edge;

		cr_assert_eq(r->nfindings, 1);
		cr_assert_eq(e->verified, KRT_VERIFIED_REMOVES, "%s", e->why);
		cr_assert_null(e->why);
		cr_assert_eq(e->record_after, r->finding[0].previous.sequence);
		cr_assert_eq(e->wait_before, r->finding[0].current.sequence);
		cr_assert(strstr(e->code, "cuStreamWaitEvent"));
		cr_assert_eq(r->orders_tried, 1);
		cr_assert_eq(r->left_with_orders, 0);
		krt_report_destroy(r);
	}
	tw_close(&a);
}

Test(session, fixes_are_not_tried)
{
	static const struct {
		uint64_t verify;
		bool live;
		const char *why;
	} want[] = {
		{0, false, "verify=0"},
		{64, false, NULL}, /* a trace need not be kept */
		{0, true, "verify=0"},
		{64, true, "too long"},
	};

	for (unsigned i = 0; i < 4; i++) {
		struct krt_report *r;
		struct tw a;

		tw_open(&a, dir, getpid(), 2000 + i);
		race(&a);
		tw_exit(&a, 0);
		opt.verify = want[i].verify;
		r = report_of(want[i].live);
		cr_assert_eq(r->finding[0].edge.verified,
			     want[i].why ? KRT_VERIFIED_NOT_TRIED : KRT_VERIFIED_REMOVES);
		if (want[i].why)
			cr_assert(strstr(r->finding[0].edge.why, want[i].why), "%s",
				  r->finding[0].edge.why);
		krt_report_destroy(r);
		tw_close(&a);
		tw_remove(dir);
		tw_folder(dir);
	}
}

Test(session, how_a_process_ended)
{
	static const struct {
		unsigned state;
		bool complete;
	} want[] = {
		{ KRT_PROC_EXITED, true },
		{ KRT_PROC_EXEC, true },
		{ KRT_PROC_RUNNING, false }, /* killed */
	};

	for (unsigned i = 0; i < 3; i++) {
		struct krt_report *r;
		struct tw a;

		tw_open(&a, dir, 900, 2000);
		race(&a);
		a.h->state = want[i].state;
		r = report_of(false);
		cr_assert_eq(r->nfindings, 1, "what it did is judged all the same");
		cr_assert_eq(krt_report_complete(r), want[i].complete, "state %u", want[i].state);
		cr_assert_eq(r->process[0].exit_code, want[i].state == KRT_PROC_EXITED ? 0 : -1);
		if (!want[i].complete)
			cr_assert_eq(r->process[0].coverage.reasons, 1u << KRT_REASON_LOST);
		krt_report_destroy(r);
		tw_close(&a);
	}
}

Test(session, one_that_is_left_behind)
{
	struct krt_session *s;
	struct krt_report *r;
	struct tw a;
	char err[256];

	tw_open(&a, dir, getpid(), 2000);
	race(&a);
	s = krt_session_open(dir, true, &opt, err, sizeof(err));
	while (krt_session_step(s, 10))
		;
	cr_assert_eq(krt_session_alive(s), 1);
	krt_session_stop(s, NULL);
	cr_assert_eq(a.h->reader, -1);
	cr_assert_eq(krt_session_step(s, 10), 0);
	r = krt_session_report(s);
	cr_assert_eq(r->nfindings, 1);
	cr_assert_eq(r->process[0].coverage.reasons, 1u << KRT_REASON_LOST);
	cr_assert(strstr(r->process[0].coverage.detail[KRT_REASON_LOST], "still ran"));
	krt_report_destroy(r);
	krt_session_close(s);
	tw_close(&a);
}

Test(session, damage_is_told_and_counts)
{
	struct krt_session *s;
	struct krt_report *r;
	struct tw a;
	char err[256];

	tw_open(&a, dir, 900, 2000);
	race(&a);
	tw_raw(&a, 1, "\xff\xff\xff\xff\xff\xff\xff\xff", 8);
	tw_publish(&a, 1);
	tw_exit(&a, 0);
	s = krt_session_open(dir, false, &opt, err, sizeof(err));
	while (krt_session_step(s, 10))
		;
	r = krt_session_report(s);
	cr_assert(strstr(krt_session_problem(s, 0), ".1: damaged at byte"));
	cr_assert_null(krt_session_problem(s, 1));
	cr_assert_eq(r->nfindings, 1);
	cr_assert_eq(r->process[0].coverage.reasons, 1u << KRT_REASON_INTERNAL);
	krt_report_destroy(r);
	krt_session_close(s);
	tw_close(&a);
}

Test(session, everything_dropped_is_not_no_cuda)
{
	struct krt_report *r;
	struct tw a;

	tw_open(&a, dir, 900, 2000);
	a.h->slot[1].dropped = 5;
	a.h->trouble = KRT_TROUBLE_DROPPED;
	tw_exit(&a, 0);
	r = report_of(false);
	cr_assert_eq(r->process[0].coverage.reasons, 1u << KRT_REASON_DROPPED);
	cr_assert(r->process[0].used_cuda);
	krt_report_destroy(r);
	tw_close(&a);
}

/* A process that was gone before it had a header: it had begun CUDA. */
Test(session, one_that_could_not_begin_to_record)
{
	struct krt_report *r;
	char path[512];
	pid_t pid = fork();
	int fd;

	if (!pid)
		_exit(0);
	cr_assert_eq(waitpid(pid, NULL, 0), pid); /* nobody has that number now */
	snprintf(path, sizeof(path), "%s/%d.5000.proc", dir, (int)pid);
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	cr_assert(fd >= 0 && !close(fd));
	r = report_of(true);
	cr_assert_eq(r->nprocesses, 1);
	cr_assert_eq(r->process[0].pid, pid);
	cr_assert(r->process[0].used_cuda);
	cr_assert_eq(r->process[0].coverage.reasons, 1u << KRT_REASON_INTERNAL);
	cr_assert(strstr(r->process[0].coverage.detail[KRT_REASON_INTERNAL],
			 "could not begin to record: no memory, or a limit"));
	krt_report_destroy(r);
	unlink(path);
	/* One that lives may yet begin. */
	snprintf(path, sizeof(path), "%s/%d.5000.proc", dir, (int)getpid());
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	cr_assert(fd >= 0 && !close(fd));
	r = report_of(true);
	cr_assert_eq(r->nprocesses, 0);
	krt_report_destroy(r);
	unlink(path);
}

Test(session, exit_codes)
{
	struct krt_report *r = krt_report_new();
	struct krt_finding *f;

	cr_assert_eq(krt_output_exit_code(r, &opt, 0), 0, "inconclusive alone fails nothing");
	opt.require = KRT_REQUIRE_complete;
	cr_assert_eq(krt_output_exit_code(r, &opt, 0), 67);
	cr_assert_eq(krt_output_exit_code(r, &opt, 3), 3);
	f = krt_report_add_finding(r);
	f->confidence = KRT_LIKELY;
	for (unsigned level = KRT_LEVEL_NOTE; level <= KRT_LEVEL_ERROR; level++)
		for (unsigned on = KRT_FAIL_ON_error; on <= KRT_FAIL_ON_never; on++) {
			/* error, warning, note, never: the lowest level that fails */
			bool fails = on != KRT_FAIL_ON_never && level + on >= KRT_LEVEL_ERROR;

			f->level = level;
			opt.fail_on = on;
			cr_assert_eq(krt_output_fails(r, &opt), fails, "level %u, fail_on %u",
				     level, on);
			opt.require = KRT_REQUIRE_none;
			cr_assert_eq(krt_output_exit_code(r, &opt, 0), fails ? 66 : 0);
			opt.require = KRT_REQUIRE_complete;
			cr_assert_eq(krt_output_exit_code(r, &opt, 0), fails ? 66 : 67);
			cr_assert_eq(krt_output_exit_code(r, &opt, 137), 137);
		}
	opt.exitcode = 9;
	opt.fail_on = KRT_FAIL_ON_note;
	cr_assert_eq(krt_output_exit_code(r, &opt, 0), 9);
	krt_report_destroy(r);
}

Test(session, options_as_text_read_back)
{
	static const char *const set[][2] = {
		{ "report", "json:a b.json" }, { "report", "text:it's" }, { "log_path", "x:y,z" },
		{ "show", "possible" }, { "bound", "1G" }, { "times", "0" }, { "exitcode", "7" },
		{ "kernels", "say \"hi\"" },
	};
	struct krt_options back;
	char err[128], *text;

	text = krt_options_text(&opt);
	cr_assert_str_eq(text, "");
	free(text);
	for (unsigned i = 0; i < sizeof(set) / sizeof(*set); i++)
		cr_assert_eq(krt_options_set(&opt, set[i][0], strlen(set[i][0]), set[i][1],
					     strlen(set[i][1]), err, sizeof(err)),
			     0, "%s", err);
	text = krt_options_text(&opt);
	krt_options_init(&back);
	cr_assert_eq(krt_options_parse(&back, text, err, sizeof(err)), 0, "%s: %s", text, err);
	cr_assert_eq(back.report.count, 2);
	cr_assert_str_eq(back.report.item[0], "json:a b.json");
	cr_assert_str_eq(back.report.item[1], "text:it's");
	cr_assert_str_eq(back.log_path, "x:y,z");
	cr_assert_str_eq(back.kernels, "say \"hi\"");
	cr_assert_eq(back.show, KRT_SHOW_possible);
	cr_assert_eq(back.bound, 1u << 30);
	cr_assert_eq(back.times, 0);
	cr_assert_eq(back.exitcode, 7);
	free(text);
}
