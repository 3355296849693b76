/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The krtsan command line: one file a subcommand, and what they share.
 *
 * Exit codes: KRT_EXIT_FAILED when krtsan itself fails (usage included),
 * 126 and 127 as a shell has them; the rest is in reports/output.h.
 * Messages: `krtsan: area: what failed: why` on stderr.
 */
#ifndef KRT_CLI_H
#define KRT_CLI_H

#include "../interposer/options.h"
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define KRT_EXIT_FAILED    125
#define KRT_EXIT_NOT_EXEC  126
#define KRT_EXIT_NOT_FOUND 127

/* argv[0] is the subcommand's name. */
int krt_cmd_run(int argc, char **argv);
int krt_cmd_record(int argc, char **argv);
int krt_cmd_analyze(int argc, char **argv);
int krt_cmd_ci(int argc, char **argv);
int krt_cmd_suppress(int argc, char **argv);
int krt_cmd_diff(int argc, char **argv);
int krt_cmd_report(int argc, char **argv);
int krt_cmd_explain(int argc, char **argv);
int krt_cmd_explain_kernel(int argc, char **argv);
int krt_cmd_doctor(int argc, char **argv);
int krt_cmd_options(int argc, char **argv);
int krt_cmd_version(int argc, char **argv);

/* --- cli.c --- */

/* Tells a failure; returns KRT_EXIT_FAILED. */
int krt_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* What somebody who typed `name` may have meant: the nearest of the known ones, if near enough. */
struct krt_nearest {
	const char *name, *best; /* best: NULL, none is near */
	unsigned least;
};
void krt_nearer(struct krt_nearest *n, const char *known);

/* A subcommand's own flags, beside the options of options.def. */
struct krt_flag {
	const char *name;   /* "sim"; short one-letter names too: "o" */
	const char *arg;    /* what its value is (FILE, a|b), NULL: takes none */
	const char *help;
	const char **value; /* arg: where the value goes; else set to "" */
	bool internal;      /* our own use: --help alone tells of it */
	struct krt_option_list *list; /* instead of value: may be given again */
};

struct krt_usage {
	const char *command, *args, *about;
	const struct krt_flag *flags; /* ends with a NULL name */
	bool options;                 /* takes --name=value of options.def */
	const char *preset;           /* these options before KRTSAN_OPTIONS, in its syntax; or NULL */
	bool recorded;                /* help is silent of those that only a recording obeys */
	bool mixed;                   /* flags may come behind words, up to `--` */
	const char *const *obeyed;    /* help has only these, ends with NULL; NULL: all */
};

/*
 * Reads KRTSAN_OPTIONS (where u->options) and the flags of argv up to the first
 * word that is none, or `--` (u->mixed: the words are then moved behind the
 * flags).  Returns the index of what follows; -1 when all
 * is said (help: *code 0, usage error: KRT_EXIT_FAILED).
 */
int krt_cli_parse(const struct krt_usage *u, int argc, char **argv, struct krt_options *o,
		  int *code);

/* What an option without a value means; NULL: it wants one. */
const char *krt_cli_implied(const struct krt_option_row *row);

/* --- help.c --- */

/*
 * Tells of a command on stdout.  form: "" (for people), "roff" (its part of the
 * man page), "bash" (of the completion).  -1: no such form.
 */
int krt_help(const struct krt_usage *u, const char *form);
/* The same of the tables: "roff-options", "roff-options-library", "roff-rules", "bash". */
int krt_help_tables(const char *form);

/* --- cli.c: where things lie --- */

/* Where krtsan lies: the folder of this executable; static storage, NULL: not known. */
const char *krt_cli_home(void);
/* A file of ours, found relative to the executable: NULL-ended list of places.  malloc'd or NULL.
 */
char *krt_cli_find(const char *const places[]);
char *krt_cli_library(void);   /* libkrtsan.so */
char *krt_cli_simulator(void); /* the folder of the simulated libcuda.so.1 */
char *krt_cli_torch(void);     /* the folder of the sitecustomize that installs a PyTorch feed */

/* --- cmd_run.c --- */

/* The program under the library, its report, the exit code of a run.  command is for messages. */
int krt_run_program(const char *command, char **argv, struct krt_options *o, bool sim);

/* --- cmd_report.c --- */

/* A JSON report (`-`: standard input), with progress on a terminal.  NULL: told. */
struct krt_report *krt_load_report(const char *command, const char *path);

/* --- python.c --- */

/*
 * Which flag on this command line makes a Python interpreter pass PYTHONPATH or
 * sitecustomize over ("-I"); NULL: none is seen, or it is no interpreter.
 * file: where argv[0] was found.
 */
const char *krt_python_ignores(const char *file, char *const argv[]);

/* --- launch.c --- */

/* A new session folder, mode 0700; malloc'd.  NULL: a message in err. */
char *krt_session_folder(const struct krt_options *o, char *err, size_t errlen);
/* Removes a folder with what record.h says it holds (and nothing else; -1 when something is left).
 */
int krt_session_remove(const char *dir);
/* In the folder of a recording that no process took part in. */
#define KRT_NO_PROCESS "no-cuda"
/* Is it a folder of trace files and nothing else? */
bool krt_session_is_trace(const char *dir);

/* Where execvp finds a program; malloc'd.  NULL: errno. */
char *krt_program_file(const char *name);

struct krt_child {
	pid_t pid;
	int signals;  /* signalfd */
	bool exited;
	int code;     /* its own, or 128+n */
	bool stopped; /* a signal asked us to end after the program did */
};

/*
 * Starts the program under the library with `dir` as its session.  0, or an
 * exit code (told on stderr).  From then on signals meant for the program are
 * passed on by krt_child_wait.
 */
int krt_child_start(struct krt_child *c, char **argv, const char *dir, const struct krt_options *o,
		    bool sim);
/* The exit code that stands for what wait told of a process. */
int krt_child_code(int status);
/* Does a process still live that was started with this session in its environment? */
bool krt_session_inhabited(const char *dir);
/* Waits for news, at most ms. */
void krt_child_wait(struct krt_child *c, int ms);
/*
 * Reads along until the program has ended, and what it left behind: `step` takes up to
 * so many records and returns how many there were, `alive` says how many processes may
 * bring more, and after `stop` nothing more is taken.
 */
struct krt_follower {
	size_t (*step)(void *user, size_t budget);
	unsigned (*alive)(void *user);
	void (*stop)(void *user, const char *why);
	void *user;
};
void krt_child_follow(struct krt_child *c, const char *dir, const struct krt_follower *f);
/* Signals act as usual again. */
void krt_child_end(struct krt_child *c);
/* It could not be loaded, and there is no driver here: says what helps. */
void krt_child_hint(const struct krt_child *c, bool sim);

#endif
