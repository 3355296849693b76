/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Targets (fuzz.h) for options: the text of KRTSAN_OPTIONS, and a command line.
 */
#define _GNU_SOURCE
#include "testcases/fuzz/fuzz.h"
#include "analyzer/cli.h"
#include "analyzer/session.h"

#include <string.h>

#define ARGS 64

/* Every string of every option ends in its own pool or is empty. */
static void whole(const struct krt_options *o)
{
	for (unsigned i = 0; i < krt_option_count; i++) {
		const struct krt_option_row *row = &krt_option_rows[i];
		const void *field = (const char *)o + row->offset;
		const char *const *text = field;
		unsigned n = row->type == KRT_OPTION_STR;
		size_t len;

		if (row->type == KRT_OPTION_LIST) {
			const struct krt_option_list *list = field;

			text = list->item;
			n = list->count;
			MUST(n <= KRT_OPTION_LIST_MAX);
		}
		if (row->type == KRT_OPTION_ENUM)
			MUST(krt_option_value(row, (unsigned)*(const int64_t *)field, &len));
		for (unsigned k = 0; k < n; k++)
			MUST(!*text[k] ||
			     (text[k] >= o->pool && strlen(text[k]) < sizeof(o->pool)));
	}
	MUST(o->used <= sizeof(o->pool));
}

/* What was understood says the same when it is told and read once more. */
void fuzz_options(const unsigned char *p, size_t n)
{
	struct krt_options *o = malloc(sizeof(*o)), *back = malloc(sizeof(*o));
	char *text = strndup((const char *)p, n), *told, *again, err[64];

	MUST(o && back && text);
	krt_options_init(o);
	if (krt_options_parse(o, text, err, sizeof(err)))
		MUST(err[0] && strlen(err) < sizeof(err));
	whole(o);
	told = krt_options_text(o);
	MUST(told);
	krt_options_init(back);
	MUST(!krt_options_parse(back, told, err, sizeof(err)));
	again = krt_options_text(back);
	MUST(again && !strcmp(told, again));
	free(again);
	free(told);
	free(text);
	free(back);
	free(o);
}

void fuzz_options_seeds(void)
{
	static const char *const text[] = {
		"exitcode=66:suppressions=krtsan.supp:log_path=stderr",
		"report='json:r.json':report=\"sarif:r.sarif\",fail-on=warning bound=2G",
		"stacks=leaf:times=off:on_full=drop:images=0:help=1:log_file=/x",
	};

	for (unsigned i = 0; i < 3; i++)
		fuzz_keep(text[i], strlen(text[i]));
}

/* The first line is KRTSAN_OPTIONS, each other one an argument. */
void fuzz_command(const unsigned char *p, size_t n)
{
	static const char *file, *bare, *letter;
	static struct krt_option_list list;
	static const struct krt_flag flags[] = {
		{"bare", NULL, "flag without a value", &bare, true, NULL},
		{"output", "FILE", "flag with one", &file, false, NULL},
		{"o", "FILE", "a letter", &letter, false, NULL},
		{"file", "FILE", "may come again", NULL, false, &list},
		{NULL, NULL, NULL, NULL, false, NULL},
	};
	char *text = strndup((const char *)p, n), *at = text, *argv[ARGS + 1] = {text};
	struct krt_options *o = malloc(sizeof(*o));
	int argc = 0, code, next;

	MUST(o && text);
	while (argc < ARGS && at) {
		argv[argc++] = at;
		at = strchr(at, '\n');
		if (at)
			*at++ = 0;
	}
	argv[argc] = NULL;
	setenv("KRTSAN_OPTIONS", text, 1);
	for (unsigned form = 0; form < 4; form++) {
		const struct krt_usage usage = {
			.command = "fuzz",
			.args = "[options] WORD...",
			.about = "Nothing.",
			.flags = flags,
			.options = form != 1,
			.preset = form == 2 ? "require=complete" : NULL,
			.mixed = form == 3,
		};
		char *copy[ARGS + 1];

		memcpy(copy, argv, sizeof(copy));
		memset(&list, 0, sizeof(list));
		next = krt_cli_parse(&usage, argc, copy, o, &code);
		MUST(next >= -1 && next <= argc);
		MUST(next >= 0 || !code || code == KRT_EXIT_FAILED);
		if (next > 0 && usage.options)
			whole(o);
		for (int i = next < 0 ? argc : next; i < argc; i++)
			MUST(copy[i]);
	}
	unsetenv("KRTSAN_OPTIONS");
	free(o);
	free(text);
}

void fuzz_command_seeds(void)
{
	static const char *const text[] = {
		"exitcode=3\n--report=json:r.json\n--fail-on\nwarning\n-o\nrun.krt\n--\n./app\n-x",
		"\n--help",
		"\nword\n--file=a\n--file\nb\n--torch\nword\n--bare\n--help=roff\n--nosuch",
	};

	for (unsigned i = 0; i < 3; i++)
		fuzz_keep(text[i], strlen(text[i]));
}

const char *const *fuzz_option_words(void)
{
	static const char *const more[] = {
		":",	     ",",      "=",	      "'",	     "\"",   " ",
		"\n",	     "-",      "--",	      "--help",	     "-o",   "--bare",
		"--output=", "--file", "--help=bash", "--help=roff", "0",    "1",
		"on",	     "off",    "yes",	      "false",	     "2G",   "18446744073709551615",
		"8g",	     "error",  "never",	      "json:",	     "full", "-1",
		"_",	     "%p",
	};
	static const char *words[KRT_NR_OPTIONS + sizeof(more) / sizeof(*more) + 9];
	unsigned n = 0;

	for (unsigned i = 0; i < krt_option_count; i++)
		words[n++] = krt_option_rows[i].name;
	for (unsigned i = 0; i < krt_option_alias_count && i < 8; i++)
		words[n++] = krt_option_alias[i].name;
	for (unsigned i = 0; i < sizeof(more) / sizeof(*more); i++)
		words[n++] = more[i];
	words[n] = NULL;
	return words;
}
