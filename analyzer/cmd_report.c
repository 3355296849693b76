/* SPDX-License-Identifier: Apache-2.0 */
/*
 * krtsan report: a JSON report of an earlier run, in any format.
 */
#define _GNU_SOURCE
#include "cli.h"
#include "progress.h"
#include "../reports/gate.h"
#include "../reports/output.h"
#include "../reports/report_read.h"

#include <stdlib.h>
#include <sys/stat.h>

static struct krt_option_list to;
static const struct krt_flag flags[] = {
	{"to", "FORMAT[:PATH]", "what to write (default text); may be given again", .list = &to},
	{NULL},
};
static const char *const obeyed[] = {
	"show", "color", "verbosity", "source_root", "fail_on", "require", "exitcode", "category",
	"sarif_suppressed", "suppressions", "print_suppressions", "baseline", NULL
};
static const struct krt_usage usage = {
	.command = "report",
	.args = "[options] REPORT.json",
	.about = "Renders a JSON report of an earlier run (--report=json:PATH); - reads standard\n"
		 "input. Without PATH, as with -, a format goes to standard output.\n"
		 "Exit code: 0; 125: the report cannot be read, or another not be written.",
	.flags = flags,
	.options = true,
	.mixed = true,
	.obeyed = obeyed,
};

static void told(void *arg, uint64_t bytes)
{
	krt_progress_at(arg, bytes, bytes >> 20, "MiB");
}

struct krt_report *krt_load_report(const char *command, const char *path)
{
	struct krt_progress p;
	struct krt_report *r;
	struct stat st;
	char err[1024];

	krt_progress_begin(&p, command, stat(path, &st) ? 0 : (uint64_t)st.st_size);
	r = krt_report_read_told(path, told, &p, err, sizeof(err));
	krt_progress_end(&p);
	if (!r)
		krt_fail("%s", err);
	return r;
}

/* As for a run: what is suppressed or known now, besides what was when the report was made. */
static int judge(struct krt_report *r, const struct krt_options *o)
{
	char err[2048];
	struct krt_gate *gate = krt_gate_open(o, r->nprocesses ? r->process[0].exe : NULL, err,
					      sizeof(err));

	if (!gate)
		return krt_fail("%s", err);
	krt_gate_apply(gate, r);
	krt_gate_tell(gate);
	krt_gate_close(gate);
	return 0;
}

int krt_cmd_report(int argc, char **argv)
{
	struct krt_options *o = malloc(sizeof(*o));
	struct krt_report *r = NULL;
	char err[1024];
	int code, next;

	if (!o)
		return krt_fail("report: no memory");
	next = krt_cli_parse(&usage, argc, argv, o, &code);
	if (next < 0)
		goto out;
	code = KRT_EXIT_FAILED;
	if (next + 1 != argc) {
		krt_fail("report: %s; usage: krtsan report %s",
			 next == argc ? "no report given" : "one report at a time", usage.args);
		goto out;
	}
	if (!to.count)
		to.item[to.count++] = "text";
	if (krt_output_check_list(&to, err, sizeof(err))) {
		krt_fail("%s", err);
		goto out;
	}
	r = krt_load_report("report", argv[next]);
	if (r && !judge(r, o))
		code = krt_output_list(r, o, &to) ? KRT_EXIT_FAILED : 0;
out:
	krt_report_destroy(r);
	free(o);
	return code;
}
