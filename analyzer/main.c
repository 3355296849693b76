/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The krtsan command: picks the subcommand.
 */
#define _GNU_SOURCE
#include "cli.h"
#include "guard.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct command {
	const char *name, *about;
	int (*run)(int argc, char **argv);
} commands[] = {
	{ "run", "run a program under the library and report", krt_cmd_run },
	{ "record", "run a program under the library and keep a trace", krt_cmd_record },
	{ "analyze", "report on a trace", krt_cmd_analyze },
	{ "ci", "run a program strictly, with reports for CI in a folder", krt_cmd_ci },
	{ "report", "render a JSON report in other formats", krt_cmd_report },
	{ "diff", "which findings of two reports are new, which are fixed", krt_cmd_diff },
	{ "suppress", "lines that suppress the findings of a report", krt_cmd_suppress },
	{ "explain", "what a rule means and how to cure it", krt_cmd_explain },
	{ "explain-kernel", "what is known of the kernels of a trace, and why", krt_cmd_explain_kernel },
	{ "doctor", "look whether this machine is fit for it", krt_cmd_doctor },
	{ "options", "every option", krt_cmd_options },
	{ "version", "which krtsan this is", krt_cmd_version },
};

static void usage(FILE *f)
{
	fputs("krtsan: finds cross-stream hazards in CUDA programs at the driver API\n\n"
	      "usage: krtsan COMMAND [options] ...\n\n", f);
	for (unsigned i = 0; i < sizeof(commands) / sizeof(*commands); i++)
		fprintf(f, "  %-14s %s\n", commands[i].name, commands[i].about);
	fputs("\n  krtsan run -- ./app args\n"
	      "  LD_PRELOAD=libkrtsan.so ./app\n"
	      "  krtsan COMMAND --help\n", f);
}

static const struct command *find(const char *name)
{
	for (unsigned i = 0; i < sizeof(commands) / sizeof(*commands); i++)
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	return NULL;
}

static int unknown(const char *area, const char *name)
{
	struct krt_nearest n = {.name = name};

	for (unsigned i = 0; i < sizeof(commands) / sizeof(*commands); i++)
		krt_nearer(&n, commands[i].name);
	if (n.best)
		return krt_fail("%s%s: no such command; did you mean %s?", area, name, n.best);
	return krt_fail("%s%s: no such command; `krtsan help` lists them", area, name);
}

/* Each command's own help in a form of help.c; they ask for it before they do anything. */
static int all_commands(const char *form)
{
	char flag[32], name[32], *argv[] = {name, flag, NULL};
	int r = 0;

	unsetenv("KRTSAN_OPTIONS");
	snprintf(flag, sizeof(flag), "--help=%s", form);
	for (unsigned i = 0; i < sizeof(commands) / sizeof(*commands) && !r; i++) {
		snprintf(name, sizeof(name), "%s", commands[i].name);
		r = commands[i].run(2, argv);
	}
	return r;
}

/* help, help COMMAND; --roff and the like are for the build (install/part.mk). */
static int help(const char *topic)
{
	const struct command *c = topic ? find(topic) : NULL;
	char name[32], flag[] = "--help", *argv[] = {name, flag, NULL};
	int r = 0;

	if (c) {
		snprintf(name, sizeof(name), "%s", c->name);
		return c->run(2, argv);
	}
	if (!topic) {
		usage(stdout);
	} else if (!strcmp(topic, "--roff")) {
		r = all_commands("roff");
	} else if (!strcmp(topic, "--bash")) {
		fputs("\tcommands)\n\t\techo 'help", stdout);
		for (unsigned i = 0; i < sizeof(commands) / sizeof(*commands); i++)
			printf(" %s", commands[i].name);
		puts("' ;;");
		r = all_commands("bash");
		krt_help_tables("bash");
	} else if (strncmp(topic, "--", 2) || krt_help_tables(topic + 2)) {
		return unknown("help: ", topic);
	}
	return fflush(stdout) ? KRT_EXIT_FAILED : r;
}

int main(int argc, char **argv)
{
	const struct command *c;
	const char *name = argc > 1 ? argv[1] : NULL;
	int fd;

	/*
	 * Where 0, 1 or 2 is closed, a file of ours would take the place and get
	 * what is meant for it.  The program still finds them closed.
	 */
	do
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	while (fd >= 0 && fd <= 2);
	if (fd > 2)
		close(fd);
	if (name && (!strcmp(name, "--help") || !strcmp(name, "-h") || !strcmp(name, "help")))
		return help(argc > 2 ? argv[2] : NULL);
	if (name && !strcmp(name, "--version"))
		name = "version";
	c = name ? find(name) : NULL;
	if (c) {
		int code;

		krt_guard_begin(c->name);
		code = c->run(argc - 1, argv + 1);
		krt_guard_end();
		return code;
	}
	if (name)
		return unknown("", name);
	usage(stderr);
	return KRT_EXIT_FAILED;
}
