/* SPDX-License-Identifier: Apache-2.0 */
/*
 * krtsan options: every option with its value in this environment.
 */
#include "cli.h"
#include "../reports/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const char *as_json;
static const struct krt_flag flags[] = {
	{ "json", NULL, "as JSON", &as_json },
	{ NULL },
};
static const struct krt_usage usage = {
	.command = "options",
	.args = "[--json] [--name=value...]",
	.about = "Lists every option of KRTSAN_OPTIONS and of the command line, with the value that\n"
		 "it has now and, unless that is the default, who said so.",
	.flags = flags,
	.options = true,
};

static void text_of(const struct krt_options *o, const struct krt_option_row *r, char *out,
		    size_t size)
{
	const void *v = (const char *)o + r->offset;
	const char *word;
	size_t n;

	*out = 0;
	switch (r->type) {
	case KRT_OPTION_STR:
		snprintf(out, size, "%s", *(const char *const *)v);
		break;
	case KRT_OPTION_LIST: {
		const struct krt_option_list *l = v;

		for (unsigned i = 0; i < l->count; i++) {
			n = (size_t)snprintf(out, size, "%s%s", i ? " " : "", l->item[i]);
			if (n >= size)
				break;
			out += n;
			size -= n;
		}
		break;
	}
	case KRT_OPTION_ENUM:
		word = krt_option_value(r, (unsigned)*(const int64_t *)v, &n);
		if (word)
			snprintf(out, size, "%.*s", (int)n, word);
		break;
	case KRT_OPTION_BOOL:
	case KRT_OPTION_INT:
	case KRT_OPTION_SIZE:
		snprintf(out, size, "%" PRIu64, *(const uint64_t *)v);
		break;
	}
}

int krt_cmd_options(int argc, char **argv)
{
	static const char *const scope[] = {
		[KRT_SCOPE_LIB] = "library",
		[KRT_SCOPE_CLI] = "command line",
		[KRT_SCOPE_BOTH] = "both",
	};
	static const char *const source[] = {
		[KRT_SOURCE_DEFAULT] = "default",
		[KRT_SOURCE_ENVIRONMENT] = "KRTSAN_OPTIONS",
		[KRT_SOURCE_COMMAND] = "command line",
	};
	struct krt_options *o = malloc(sizeof(*o));
	struct krt_json j;
	char value[4096];
	int code, next;

	if (!o)
		return krt_fail("options: no memory");
	next = krt_cli_parse(&usage, argc, argv, o, &code);
	if (next < 0)
		goto out;
	if (next < argc) {
		code = krt_fail("options: %s: only --name=value; usage: krtsan options %s", argv[next],
				usage.args);
		goto out;
	}
	code = 0;
	if (as_json) {
		krt_json_begin(&j, stdout);
		krt_json_open(&j, NULL, '[');
	}
	for (unsigned i = 0; i < krt_option_count; i++) {
		const struct krt_option_row *r = &krt_option_rows[i];

		text_of(o, r, value, sizeof(value));
		if (!as_json) {
			printf("%s=%s%s%s%s\n    %s (default %s%s)\n", r->name, value,
			       o->source[i] ? "    [" : "", o->source[i] ? source[o->source[i]] : "",
			       o->source[i] ? "]" : "", r->help, *r->def ? r->def : "empty",
			       r->scope == KRT_SCOPE_LIB ? "; while the program runs" : "");
			continue;
		}
		krt_json_open_flat(&j, NULL, '{');
		krt_json_string(&j, "name", r->name);
		krt_json_string(&j, "value", value);
		krt_json_string(&j, "source", source[o->source[i]]);
		krt_json_string(&j, "default", r->def);
		krt_json_string(&j, "scope", scope[r->scope]);
		krt_json_string(&j, "help", r->help);
		krt_json_close(&j, '}');
	}
	if (as_json) {
		krt_json_close(&j, ']');
		code = krt_json_end(&j) ? KRT_EXIT_FAILED : 0;
	}
	if (fflush(stdout))
		code = KRT_EXIT_FAILED;
out:
	free(o);
	return code;
}
