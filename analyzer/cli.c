/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the subcommands share: flags and options, messages, finding our own
 * files (cli.h).
 */
#define _GNU_SOURCE
#include "cli.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME_MAX_LEN 64

int krt_fail(const char *fmt, ...)
{
	va_list ap;

	fputs("krtsan: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	return KRT_EXIT_FAILED;
}

const char *krt_cli_implied(const struct krt_option_row *row)
{
	if (row->type == KRT_OPTION_BOOL)
		return "1";
	return !strcmp(row->name, "torch") ? "watch" : NULL;
}

static void dashes(char *s)
{
	for (; *s; s++)
		if (*s == '_')
			*s = '-';
}

void krt_nearer(struct krt_nearest *n, const char *known)
{
	unsigned d = krt_name_distance(n->name, strlen(n->name), known);

	if (!n->best && !n->least)
		n->least = 1 + (unsigned)strlen(n->name) / 3; /* more is another word */
	if (d < n->least) {
		n->least = d;
		n->best = known;
	}
}

static int unknown(const struct krt_usage *u, const char *arg, const char *name)
{
	struct krt_nearest n = {.name = name};
	char text[NAME_MAX_LEN + 1];

	for (const struct krt_flag *f = u->flags; f && f->name; f++)
		if (f->name[1])
			krt_nearer(&n, f->name);
	for (unsigned i = 0; u->options && i < krt_option_count; i++)
		krt_nearer(&n, krt_option_rows[i].name);
	if (!n.best)
		return krt_fail("%s: %s: unknown option; `krtsan %s --help` lists them", u->command,
				arg, u->command);
	snprintf(text, sizeof(text), "%s", n.best);
	dashes(text);
	return krt_fail("%s: %s: unknown option; did you mean --%s?", u->command, arg, text);
}

/*
 * Did the library start us (analyze --bare)?  It has told of mistakes in
 * KRTSAN_OPTIONS, and the rest is in force for us as for it: a slip in an
 * option must not cost the verdict of a run that is over.
 */
static bool for_library(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++)
		if (!strcmp(argv[i], "--bare"))
			return true;
	return false;
}

static void tell(const char *line)
{
	fprintf(stderr, "krtsan: %s\n", line);
}

static int keep(const struct krt_usage *u, const struct krt_flag *f, const char *value)
{
	if (!f->list) {
		*f->value = value ? value : "";
		return 0;
	}
	if (f->list->count == KRT_OPTION_LIST_MAX) {
		krt_fail("%s: --%s: given too often", u->command, f->name);
		return -1;
	}
	f->list->item[f->list->count++] = value;
	return 0;
}

int krt_cli_parse(const struct krt_usage *u, int argc, char **argv, struct krt_options *o,
		  int *code)
{
	char err[256];
	int i, words = 0;

	*code = KRT_EXIT_FAILED;
	if (u->options) {
		krt_options_init(o);
		krt_options_parse(o, u->preset, err, sizeof(err));
		if (krt_options_parse(o, getenv("KRTSAN_OPTIONS"), err, sizeof(err)) &&
		    !for_library(argc, argv)) {
			krt_fail("KRTSAN_OPTIONS: %s", err);
			return -1;
		}
		if (o->help && !for_library(argc, argv))
			krt_options_list(tell);
		o->help = 0; /* said once, not again by the library */
	}
	for (i = 1; i < argc; i++) {
		const char *arg = argv[i], *eq, *value;
		const struct krt_option_row *row = NULL;
		const struct krt_flag *f;
		char name[NAME_MAX_LEN + 1];
		bool longer = arg[0] == '-' && arg[1] == '-';
		size_t n;

		if (arg[0] != '-' || !arg[1]) {
			if (!u->mixed)
				break;
			argv[++words] = argv[i];
			continue;
		}
		if (!strcmp(arg, "--")) {
			i++;
			break;
		}
		if (!strcmp(arg, "--help") || !strcmp(arg, "-h") ||
		    (!strncmp(arg, "--help=", 7) && !krt_help(u, arg + 7))) {
			if (arg[1] == 'h' || !arg[6])
				krt_help(u, "");
			*code = fflush(stdout) ? KRT_EXIT_FAILED : 0;
			return -1;
		}
		arg += longer ? 2 : 1;
		eq = longer ? strchr(arg, '=') : NULL;
		n = eq ? (size_t)(eq - arg) : strlen(arg);
		if (n > NAME_MAX_LEN) {
			unknown(u, argv[i], "");
			return -1;
		}
		memcpy(name, arg, n);
		name[n] = 0;
		for (char *c = name; longer && *c; c++)
			if (*c == '-')
				*c = '_';
		value = eq ? eq + 1 : NULL;

		for (f = u->flags; f && f->name; f++)
			if (!strcmp(f->name, name) && (f->name[1] != 0) == longer)
				break;
		if (f && f->name) {
			if (!f->arg && value) {
				krt_fail("%s: --%s: takes no value", u->command, f->name);
				return -1;
			}
			if (f->arg && !value)
				value = i + 1 < argc ? argv[++i] : NULL;
			if (f->arg && !value) {
				krt_fail("%s: %s%s: wants %s", u->command, longer ? "--" : "-",
					 f->name, f->arg);
				return -1;
			}
			if (keep(u, f, value))
				return -1;
			continue;
		}
		if (longer && u->options)
			row = krt_option_find(name, strlen(name));
		if (!row) {
			*code = unknown(u, argv[i], name);
			return -1;
		}
		if (!value)
			value = krt_cli_implied(row);
		if (!value)
			value = i + 1 < argc ? argv[++i] : NULL;
		if (!value) {
			krt_fail("%s: --%s: wants a value: %s", u->command, name, row->help);
			return -1;
		}
		if (krt_options_set(o, row->name, strlen(row->name), value, strlen(value), err,
				    sizeof(err))) {
			/* the message names the option again */
			krt_fail("%s: --%.*s=%s: %s", u->command, (int)n, arg, value,
				 err + strlen(row->name) + 2);
			return -1;
		}
	}
	memmove(&argv[i - words], &argv[1], (size_t)words * sizeof(*argv));
	return i - words;
}

const char *krt_cli_home(void)
{
	static char path[PATH_MAX];
	ssize_t n;
	char *slash;

	if (path[0])
		return path;
	n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	if (n <= 0)
		return NULL;
	path[n] = 0;
	slash = strrchr(path, '/');
	if (!slash) {
		path[0] = 0;
		return NULL;
	}
	*(slash == path ? slash + 1 : slash) = 0;
	return path;
}

char *krt_cli_find(const char *const places[])
{
	const char *home = krt_cli_home();
	char path[2 * PATH_MAX];

	for (unsigned i = 0; home && places[i]; i++) {
		snprintf(path, sizeof(path), "%s/%s", home, places[i]);
		if (!access(path, R_OK))
			return realpath(path, NULL);
	}
	return NULL;
}

/*
 * Ours that nobody else is to find lies in a folder of its own: beside krtsan in
 * a build tree, LIBDIR/krtsan where it is installed; libkrtsan.so lies beside
 * krtsan, or beside that folder.  An unusual LIBDIR has a link in ../lib
 * (install/part.mk).
 */
#define INSTALLED(file)                                                        \
	"../lib/" KRT_MULTIARCH "/" file, "../lib/" file, "../lib64/" file, NULL

char *krt_cli_library(void)
{
	static const char *const places[] = {
		"libkrtsan.so",
		"../lib/libkrtsan.so", /* copied by hand, the two alone */
		INSTALLED("krtsan/../libkrtsan.so"),
	};

	return krt_cli_find(places);
}

/* The folder of a file. */
static char *folder_of(char *file)
{
	char *slash = file ? strrchr(file, '/') : NULL;

	if (slash)
		*slash = 0;
	return file;
}

char *krt_cli_torch(void)
{
	static const char *const places[] = {
		"torch/sitecustomize.py",
		INSTALLED("krtsan/torch/sitecustomize.py"),
	};

	return folder_of(krt_cli_find(places));
}

char *krt_cli_simulator(void)
{
	static const char *const places[] = {
		"sim/libcuda.so.1",
		INSTALLED("krtsan/sim/libcuda.so.1"),
	};

	return folder_of(krt_cli_find(places));
}
