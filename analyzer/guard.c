/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The unplanned end (guard.h): an exit handler, and handlers of the signals of a
 * crash, on a stack of their own.  They do what is safe in a signal handler,
 * since the allocator may be in the middle of anything.
 */
#define _GNU_SOURCE
#include "guard.h"
#include "cli.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const int crashes[] = {SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE};

static struct {
	pid_t self, program;
	int code;
	char dir[PATH_MAX];
	char command[32];
} guard;

static void say(const char *text)
{
	ssize_t n = write(STDERR_FILENO, text, strlen(text));

	(void)n;
}

/* Ends the process. */
static _Noreturn void unplanned(const char *why)
{
	sigset_t none;
	int status;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	say("krtsan: ");
	say(guard.command);
	say(why);
	while (guard.program > 0) { /* it runs on, and its exit code is ours */
		pid_t pid = waitpid(guard.program, &status, 0);

		if (pid < 0 && errno == EINTR)
			continue;
		guard.program = 0;
		if (pid > 0)
			guard.code = krt_child_code(status);
	}
	if (*guard.dir)
		krt_session_remove(guard.dir);
	_exit(guard.code ? guard.code : KRT_EXIT_FAILED);
}

static void on_crash(int sig)
{
	if (guard.self == getpid())
		unplanned(": a failure of krtsan's own (a signal, or no memory): no report\n");
	signal(sig, SIG_DFL);
	raise(sig);
}

static void on_end(void)
{
	if (guard.self == getpid())
		unplanned(": no memory: no report\n");
}

void krt_guard_begin(const char *command)
{
	static char stack[16384];
	const stack_t own = {.ss_sp = stack, .ss_size = sizeof(stack)};
	struct sigaction sa = {.sa_handler = on_crash, .sa_flags = SA_ONSTACK | SA_RESETHAND};

	snprintf(guard.command, sizeof(guard.command), "%s", command);
	guard.self = getpid();
	sigaltstack(&own, NULL);
	for (unsigned i = 0; i < sizeof(crashes) / sizeof(*crashes); i++)
		sigaction(crashes[i], &sa, NULL);
	atexit(on_end);
}

void krt_guard_end(void)
{
	guard.self = 0;
}

void krt_guard_folder(const char *dir)
{
	guard.dir[0] = 0;
	if (dir && strlen(dir) < sizeof(guard.dir))
		strcpy(guard.dir, dir);
}

void krt_guard_program(pid_t pid, int code)
{
	guard.program = pid;
	guard.code = code;
}
