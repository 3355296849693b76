/* SPDX-License-Identifier: Apache-2.0 */
/*
 * krtsan version.
 */
#include "cli.h"
#include "../interposer/api.h"
#include "../interposer/library.h"
#include "../interposer/record.h"
#include "../reports/json.h"
#include "../reports/report.h"

#include <inttypes.h>
#include <stdio.h>

static const char *as_json;
static const struct krt_flag flags[] = {
	{ "json", NULL, "as JSON", &as_json },
	{ NULL },
};
static const struct krt_usage usage = {
	.command = "version",
	.args = "[--json]",
	.about = "Says which krtsan this is.  Traces go with trace version and entry-point table.",
	.flags = flags,
};

int krt_cmd_version(int argc, char **argv)
{
	struct krt_json j;
	int code;

	if (krt_cli_parse(&usage, argc, argv, NULL, &code) < 0)
		return code;
	if (!as_json) {
		printf("krtsan %s (trace %d, report 1, table %016" PRIx64 ")\n", KRT_VERSION,
		       KRT_TRACE_VERSION, krt_tables_hash());
		return 0;
	}
	krt_json_begin(&j, stdout);
	krt_json_open(&j, NULL, '{');
	krt_json_string(&j, "version", KRT_VERSION);
	krt_json_uint(&j, "trace_version", KRT_TRACE_VERSION);
	krt_json_uint(&j, "report_schema", 1);
	krt_json_hex(&j, "table", krt_tables_hash());
	krt_json_uint(&j, "entry_points", KRT_NR_APIS);
	krt_json_close(&j, '}');
	return krt_json_end(&j) ? KRT_EXIT_FAILED : 0;
}
