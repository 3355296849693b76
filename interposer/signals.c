/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SIGSEGV and SIGBUS while pages are guarded: ours first, then the program's.
 *
 * The program's handlers are kept as it set them; it reads back what it wrote, and
 * a fault that is no guarded page's reaches them as the kernel would have brought
 * it.  A blocked SIGSEGV would end the process at the first guarded page: the two
 * are taken out of every mask that is set through the C library, and a thread reads
 * back the mask that it asked for.  Who sets a handler by a system call of its own
 * is noticed before the next page is protected, and ours is put in front again.
 *
 * Without host=guard among the options the wrappers only forward; with it masks are
 * kept clean from the first, so that threads that are older than CUDA have none of
 * the two blocked either, the driver's among them.  Handlers are written
 * under `lock`; the signal handler reads them without it, through a sequence count.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "host.h"
#include "lane.h"
#include "next.h"
#include "options.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define TRIES  2000 /* of a millisecond, for a thread that is being made */

/* What is kept of the program's two signals. */
static struct {
	struct sigaction act;
	_Atomic uint32_t seq; /* odd: being written */
} own[2];
static struct krt_ownlock lock;
static _Atomic bool installed;

static int which(int sig)
{
	return sig == SIGSEGV ? 0 : sig == SIGBUS ? 1 : -1;
}

static const int signal_of[2] = { SIGSEGV, SIGBUS };

typedef int sigaction_fn(int, const struct sigaction *, struct sigaction *);
typedef int mask_fn(int, const sigset_t *, sigset_t *);

/* The function behind a wrapper; ENOSYS where there is none. */
static void *next(_Atomic(void *) *slot, const char *name)
{
	void *p = atomic_load_explicit(slot, memory_order_relaxed);

	if (krt_unlikely(!p)) {
		p = krt_next(name);
		atomic_store_explicit(slot, p, memory_order_relaxed);
	}
	return p;
}
#define NEXT(type, name)                                                                    \
	({                                                                                  \
		static _Atomic(void *) slot_;                                               \
		(type *)next(&slot_, name);                                                 \
	})

static int real_sigaction(int sig, const struct sigaction *act, struct sigaction *old)
{
	sigaction_fn *real = NEXT(sigaction_fn, "sigaction");

	if (real)
		return real(sig, act, old);
	errno = ENOSYS;
	return -1;
}

static void real_mask(int how, const sigset_t *set, sigset_t *old)
{
	syscall(SYS_rt_sigprocmask, how, set, old, 8);
}

/* ---- the program's handlers ---- */

static struct sigaction read_own(int i)
{
	struct sigaction act;
	uint32_t seq;

	do {
		seq = atomic_load_explicit(&own[i].seq, memory_order_acquire);
		act = own[i].act;
		atomic_thread_fence(memory_order_acquire);
	} while (seq & 1 || seq != atomic_load_explicit(&own[i].seq, memory_order_relaxed));
	return act;
}

static void write_own(int i, const struct sigaction *act)
{
	atomic_fetch_add_explicit(&own[i].seq, 1, memory_order_acq_rel);
	own[i].act = *act;
	atomic_fetch_add_explicit(&own[i].seq, 1, memory_order_release);
}

void krt_signals_fork(bool begins)
{
	static bool held;

	if (begins)
		held = krt_ownlock_take(&lock, &krt_tls);
	else if (held)
		krt_ownlock_drop(&lock);
}

static bool is_default(const struct sigaction *act)
{
	return !(act->sa_flags & SA_SIGINFO) && act->sa_handler == SIG_DFL;
}

static bool is_ignored(const struct sigaction *act)
{
	return !(act->sa_flags & SA_SIGINFO) && act->sa_handler == SIG_IGN;
}

/* As the kernel would without us: the instruction runs again, or the signal comes again. */
static void by_default(int sig, const siginfo_t *si)
{
	struct sigaction def = { .sa_handler = SIG_DFL };

	real_sigaction(sig, &def, NULL);
	if (si->si_code <= 0) /* sent, not raised by an instruction */
		syscall(SYS_tgkill, syscall(SYS_getpid), syscall(SYS_gettid), sig);
}

static void pass_on(int sig, siginfo_t *si, void *uc)
{
	int i = which(sig);
	struct sigaction act = read_own(i);
	sigset_t mask;

	if (is_ignored(&act) && si->si_code <= 0)
		return;
	if (is_default(&act) || is_ignored(&act)) {
		by_default(sig, si);
		return;
	}
	if (act.sa_flags & SA_RESETHAND) {
		struct sigaction def = { .sa_handler = SIG_DFL };

		write_own(i, &def);
	}
	mask = act.sa_mask;
	sigdelset(&mask, SIGSEGV);
	sigdelset(&mask, SIGBUS);
	real_mask(SIG_BLOCK, &mask, NULL); /* the return from our frame takes it back */
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

/* On the program's alternate stack where it wants that signal there: a stack may be what overflowed. */
static bool install(int i, struct sigaction *before)
{
	struct sigaction act = { .sa_flags = SA_SIGINFO | SA_NODEFER | SA_RESTART };

	act.sa_sigaction = handler;
	act.sa_flags |= read_own(i).sa_flags & SA_ONSTACK;
	return !real_sigaction(signal_of[i], &act, before);
}

static bool is_ours(const struct sigaction *act)
{
	return (act->sa_flags & SA_SIGINFO) && act->sa_sigaction == handler;
}

void krt_signals_check(void)
{
	for (int i = 0; i < 2; i++) {
		struct sigaction now;

		if (!real_sigaction(signal_of[i], NULL, &now) && !is_ours(&now) && krt_ownlock_take(&lock, &krt_tls)) {
			write_own(i, &now);
			install(i, NULL);
			krt_ownlock_drop(&lock);
		}
	}
}

/* Does another thread block one of the two?  It would be killed by a page of ours. */
static bool somebody_blocks(void)
{
	struct { uint64_t ino, off; uint16_t len; uint8_t type; char name[]; } *d;
	char buf[2048] __attribute__((aligned(8))), path[64], text[4096];
	int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool found = false;
	long n;

	while (fd >= 0 && (n = syscall(SYS_getdents64, fd, buf, sizeof buf)) > 0)
		for (long at = 0; at < n; at += d->len) {
			const char *line;
			uint64_t mask = 0;
			int file;
			long len;

			d = (void *)(buf + at);
			if (d->name[0] == '.')
				continue;
			krt_format(path, sizeof path, "/proc/self/task/%s/status", d->name);
			file = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
			len = file < 0 ? 0 : syscall(SYS_read, file, text, sizeof text - 1);
			if (file >= 0)
				syscall(SYS_close, file);
			text[len > 0 ? len : 0] = 0;
			line = strstr(text, "SigBlk:");
			for (line = line ? line + 8 : ""; (*line >= '0' && *line <= '9') || (*line >= 'a' && *line <= 'f'); line++)
				mask = mask << 4 | (uint64_t)(*line <= '9' ? *line - '0' : *line - 'a' + 10);
			found |= mask >> (SIGSEGV - 1) & 1 || mask >> (SIGBUS - 1) & 1;
		}
	if (fd >= 0)
		syscall(SYS_close, fd);
	return found;
}

bool krt_signals_unmask(uint64_t *was)
{
	const uint64_t two = 1ull << (SIGSEGV - 1) | 1ull << (SIGBUS - 1);

	return !syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &two, was, 8);
}

void krt_signals_mask(const uint64_t *mask)
{
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, mask, NULL, 8);
}

bool krt_signals_open(void)
{
	uint64_t was = 0;
	unsigned tries;

	if (atomic_load(&installed))
		return true;
	krt_signals_unmask(&was);
	for (int i = 0; i < 2; i++)
		if (was >> (signal_of[i] - 1) & 1)
			krt_tls.blocked |= (uint8_t)(1 << i);
	/* a thread that is being made blocks all until it first runs: on a busy machine not at once */
	for (tries = 0; tries < TRIES && somebody_blocks(); tries++)
		syscall(SYS_nanosleep, &(struct timespec){ .tv_nsec = 1000000 }, NULL);
	if (tries == TRIES) {
		krt_msg("host=guard: a thread blocks SIGSEGV: pages cannot be guarded, only what calls show is judged");
		return false;
	}
	for (int i = 0; i < 2; i++) {
		struct sigaction before;

		if (real_sigaction(signal_of[i], NULL, &before))
			return false;
		write_own(i, &before);
		if (!install(i, NULL))
			return false;
	}
	atomic_store(&installed, true);
	return true;
}

/* ---- masks without the two ---- */

/* Does KRTSAN_OPTIONS ask for it?  It is read for good when the process attaches. */
static bool wants(void)
{
	static _Atomic int answer; /* 1: no, 2: yes */
	int a = atomic_load_explicit(&answer, memory_order_relaxed);

	if (krt_unlikely(!a)) {
		const char *text = secure_getenv("KRTSAN_OPTIONS");

		a = 1;
		if (text && strstr(text, "host")) {
			struct krt_options o;
			char error[64];

			krt_options_init(&o);
			krt_options_parse(&o, text, error, sizeof error);
			a += o.host == KRT_HOST_guard;
		}
		atomic_store_explicit(&answer, a, memory_order_relaxed);
	}
	return a == 2;
}

/* Which of the two are in it, a bit each. */
static uint8_t two_of(const sigset_t *set)
{
	uint8_t two = 0;

	for (int i = 0; i < 2; i++)
		if (sigismember(set, signal_of[i]) == 1)
			two |= (uint8_t)(1 << i);
	return two;
}

static const sigset_t *passing(const sigset_t *set, sigset_t *copy)
{
	if (!set || !wants())
		return set;
	*copy = *set;
	sigdelset(copy, SIGSEGV);
	sigdelset(copy, SIGBUS);
	return copy;
}

static void wanted(uint8_t two, sigset_t *old)
{
	for (int i = 0; old && i < 2; i++)
		if (two >> i & 1)
			sigaddset(old, signal_of[i]);
}

/* ---- handlers that the program sets ---- */

/* What the masks of other signals' handlers had of the two. */
static _Atomic uint8_t asked[NSIG];

/* Another signal's handler may meet a guarded page as well, whenever it was set. */
static int set_other(int sig, const struct sigaction *act, struct sigaction *old)
{
	bool known = sig > 0 && sig < NSIG && wants();
	uint8_t before = known ? asked[sig] : 0, two = act ? two_of(&act->sa_mask) : 0;
	struct sigaction mine;
	int r;

	if (act && known) {
		mine = *act;
		passing(&act->sa_mask, &mine.sa_mask);
		act = &mine;
	}
	r = real_sigaction(sig, act, old);
	if (r)
		return r;
	if (act && known)
		asked[sig] = two;
	if (old)
		wanted(before, &old->sa_mask);
	return 0;
}

EXPORT int sigaction(int sig, const struct sigaction *act, struct sigaction *old)
{
	int i = which(sig);
	struct sigaction before;

	if (i < 0)
		return set_other(sig, act, old);
	if (!atomic_load_explicit(&installed, memory_order_acquire))
		return real_sigaction(sig, act, old);
	if (!krt_ownlock_take(&lock, &krt_tls)) {
		errno = EAGAIN;
		return -1;
	}
	before = read_own(i);
	if (act) {
		write_own(i, act);
		install(i, NULL);
	}
	krt_ownlock_drop(&lock);
	if (old)
		*old = before;
	return 0;
}

typedef void (*plain)(int);

static plain set_plain(int sig, plain h, int flags)
{
	struct sigaction act = { .sa_flags = flags }, old;

	act.sa_handler = h;
	if (sigaction(sig, &act, &old))
		return SIG_ERR;
	return old.sa_handler;
}

#define PLAIN(name, flags)                                                                  \
	EXPORT plain name(int sig, plain h);                                                \
	EXPORT plain name(int sig, plain h)                                                 \
	{                                                                                   \
		if (which(sig) < 0 || !atomic_load_explicit(&installed, memory_order_acquire)) { \
			plain (*real)(int, plain) = (plain(*)(int, plain))NEXT(void, #name); \
			if (sig > 0 && sig < NSIG)                                          \
				asked[sig] = 0;                                             \
			return real ? real(sig, h) : SIG_ERR;                               \
		}                                                                           \
		return set_plain(sig, h, flags);                                            \
	}
PLAIN(signal, SA_RESTART)
PLAIN(bsd_signal, SA_RESTART)
PLAIN(ssignal, SA_RESTART)
PLAIN(sysv_signal, SA_RESETHAND | SA_NODEFER)
PLAIN(__sysv_signal, SA_RESETHAND | SA_NODEFER)

/* ---- masks ---- */

/* set without the two; what the thread wanted of them is kept. */
static const sigset_t *stripped(int how, const sigset_t *set, sigset_t *copy)
{
	uint8_t two;

	if (!set || !wants())
		return set;
	two = two_of(set);
	if (how == SIG_SETMASK)
		krt_tls.blocked = two;
	else if (how == SIG_BLOCK)
		krt_tls.blocked |= two;
	else if (how == SIG_UNBLOCK)
		krt_tls.blocked &= (uint8_t)~two;
	return how == SIG_UNBLOCK ? set : passing(set, copy);
}

#define MASK(name, error)                                                                   \
	EXPORT int name(int how, const sigset_t *set, sigset_t *old)                        \
	{                                                                                   \
		mask_fn *real = NEXT(mask_fn, #name);                                       \
		uint8_t before = krt_tls.blocked;                                                   \
		sigset_t copy;                                                              \
		int r;                                                                      \
                                                                                            \
		if (!real) {                                                                \
			errno = ENOSYS;                                                     \
			return error;                                                       \
		}                                                                           \
		r = real(how, stripped(how, set, &copy), old);                              \
		if (!r)                                                                     \
			wanted(before, old);                                                \
		return r;                                                                   \
	}
MASK(sigprocmask, -1)
MASK(pthread_sigmask, ENOSYS)

/* The old forms, by the wrapper above: the C library's own know nothing of it. */
static int old_mask(int how, int bits)
{
	sigset_t set, was;
	int old = 0;

	sigemptyset(&set);
	for (int sig = 1; sig <= 32; sig++)
		if ((unsigned)bits >> (sig - 1) & 1)
			sigaddset(&set, sig);
	if (sigprocmask(how, &set, &was))
		return -1;
	for (int sig = 1; sig <= 32; sig++)
		if (sigismember(&was, sig) == 1)
			old |= (int)(1u << (sig - 1));
	return old;
}

static int one_mask(int how, int sig, sigset_t *was)
{
	sigset_t set;

	sigemptyset(&set);
	return sigaddset(&set, sig) ? -1 : sigprocmask(how, &set, was);
}

EXPORT int sigblock(int bits);
EXPORT int sigblock(int bits)
{
	return old_mask(SIG_BLOCK, bits);
}

EXPORT int sigsetmask(int bits);
EXPORT int sigsetmask(int bits)
{
	return old_mask(SIG_SETMASK, bits);
}

EXPORT int sighold(int sig);
EXPORT int sighold(int sig)
{
	return one_mask(SIG_BLOCK, sig, NULL);
}

EXPORT int sigrelse(int sig);
EXPORT int sigrelse(int sig)
{
	return one_mask(SIG_UNBLOCK, sig, NULL);
}

#define HOLD ((plain)2) /* SIG_HOLD */

EXPORT plain sigset(int sig, plain h);
EXPORT plain sigset(int sig, plain h)
{
	struct sigaction act = { .sa_flags = 0 }, old;
	sigset_t was;

	act.sa_handler = h;
	if (sigaction(sig, h == HOLD ? NULL : &act, &old) ||
	    one_mask(h == HOLD ? SIG_BLOCK : SIG_UNBLOCK, sig, &was))
		return SIG_ERR;
	return sigismember(&was, sig) == 1 ? HOLD : old.sa_handler;
}

/* A thread's first mask. */
EXPORT int pthread_attr_setsigmask_np(pthread_attr_t *attr, const sigset_t *mask);
EXPORT int pthread_attr_setsigmask_np(pthread_attr_t *attr, const sigset_t *mask)
{
	int (*real)(pthread_attr_t *, const sigset_t *) =
		(int (*)(pthread_attr_t *, const sigset_t *))NEXT(void, "pthread_attr_setsigmask_np");
	sigset_t copy;

	return real ? real(attr, passing(mask, &copy)) : ENOSYS;
}

/* For the time of a call. */
#define WAIT(type, name, params, args)                                                      \
	EXPORT type name params                                                             \
	{                                                                                   \
		type(*real) params = (type(*) params)NEXT(void, #name);                     \
		sigset_t copy;                                                              \
                                                                                            \
		if (!real) {                                                                \
			errno = ENOSYS;                                                     \
			return -1;                                                          \
		}                                                                           \
		mask = passing(mask, &copy);                                                \
		return real args;                                                           \
	}
WAIT(int, sigsuspend, (const sigset_t *mask), (mask))
WAIT(int, ppoll, (struct pollfd *fds, nfds_t n, const struct timespec *t, const sigset_t *mask), (fds, n, t, mask))
WAIT(int, pselect, (int n, fd_set *r, fd_set *w, fd_set *e, const struct timespec *t, const sigset_t *mask),
     (n, r, w, e, t, mask))
WAIT(int, epoll_pwait, (int fd, struct epoll_event *ev, int n, int t, const sigset_t *mask), (fd, ev, n, t, mask))
WAIT(int, epoll_pwait2,
     (int fd, struct epoll_event *ev, int n, const struct timespec *t, const sigset_t *mask), (fd, ev, n, t, mask))
