/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SIGSEGV and SIGBUS while pages are guarded: ours first, then the program's.
 *
 * The program's handler is kept as it set it (it reads back what it wrote) and is
 * called as the kernel would have called it.  A blocked SIGSEGV would end the
 * process at the first guarded page, so it is never really blocked (masks).
 */
#include "host.h"
#include "next.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct sigaction own[2]; /* the program's: SIGSEGV, SIGBUS */
static bool installed;

static struct sigaction *kept(int sig)
{
	return &own[sig == SIGBUS];
}

static int real_sigaction(int sig, const struct sigaction *act, struct sigaction *old)
{
	static _Atomic(void *) fn;
	void *p = atomic_load(&fn);

	if (!p) {
		p = krt_next("sigaction");
		atomic_store(&fn, p);
	}
	return ((int (*)(int, const struct sigaction *, struct sigaction *))p)(sig, act, old);
}

static void pass_on(int sig, siginfo_t *si, void *uc)
{
	struct sigaction act = *kept(sig);

	if (!(act.sa_flags & SA_SIGINFO) && (act.sa_handler == SIG_DFL || act.sa_handler == SIG_IGN)) {
		/* as without us: the instruction runs again, and the kernel does the rest */
		struct sigaction def = { .sa_handler = SIG_DFL };

		real_sigaction(sig, &def, NULL);
		return;
	}
	if (act.sa_flags & SA_RESETHAND)
		kept(sig)->sa_handler = SIG_DFL;
	if (act.sa_flags & SA_SIGINFO)
		act.sa_sigaction(sig, si, uc);
	else
		act.sa_handler(sig);
}

static void handler(int sig, siginfo_t *si, void *uc)
{
	int saved = errno;
	bool ours = krt_fault(sig, si, uc);

	errno = saved;
	if (!ours)
		pass_on(sig, si, uc);
}

bool krt_signals_open(void)
{
	struct sigaction act = { .sa_flags = SA_SIGINFO | SA_NODEFER | SA_RESTART };

	if (installed)
		return true;
	act.sa_sigaction = handler;
	if (real_sigaction(SIGSEGV, &act, &own[0]) || real_sigaction(SIGBUS, &act, &own[1]))
		return false;
	installed = true;
	return true;
}
