/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What host=guard promises a program: each case is a program of its own, which must
 * end as it does without krtsan.  promises.py runs it, with and without.
 *
 *   promises CASE
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "prog.h"

#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

enum { PAGE = 4096, BYTES = 16 * PAGE };

static CUstream stream;
static CUdeviceptr device;
static char *host;	    /* registered memory, or pinned */
static volatile char *wild; /* a page that nobody may touch */
static sigjmp_buf back;
static volatile sig_atomic_t met, on_stack;
static char alt[65536];

static void down(void)
{
	CU(cuMemcpyDtoHAsync((void *)host, device, BYTES, stream));
}

static void up(void)
{
	CU(cuMemcpyHtoDAsync(device, host, BYTES, stream));
}

static void done(void)
{
	CU(cuStreamSynchronize(stream));
}

static void opens(int sig)
{
	(void)sig;
	met++;
	mprotect((void *)wild, PAGE, PROT_READ | PROT_WRITE);
}

static void opens_told(int sig, siginfo_t *si, void *uc)
{
	char here;

	MUST(sig == SIGSEGV && si->si_addr == wild && si->si_code == SEGV_ACCERR && uc);
	on_stack = &here >= alt && &here < alt + sizeof alt;
	opens(sig);
}

static void leaps(int sig)
{
	met++;
	siglongjmp(back, sig);
}

static void set(void (*plain)(int), void (*told)(int, siginfo_t *, void *), int flags)
{
	struct sigaction act = {.sa_flags = flags}, was;

	if (told)
		act.sa_sigaction = told;
	else
		act.sa_handler = plain;
	MUST(!sigaction(SIGSEGV, &act, NULL));
	MUST(!sigaction(SIGSEGV, NULL, &was) && (was.sa_flags & ~0x04000000) == flags);
	MUST(told ? was.sa_sigaction == told : was.sa_handler == plain);
}

/* A page in flight is met, then one that is the program's own matter. */
static void touches(void)
{
	down();
	host[PAGE * 3] = 1;
	*wild = 1;
	done();
	MUST(*wild == 1 && met == 1);
}

static void by_sigaction(void)
{
	stack_t s = {.ss_sp = alt, .ss_size = sizeof alt};

	MUST(!sigaltstack(&s, NULL));
	set(NULL, opens_told, SA_SIGINFO | SA_ONSTACK);
	touches();
	MUST(on_stack);
}

static void by_signal(void)
{
	MUST(signal(SIGSEGV, opens) == SIG_DFL);
	touches();
	MUST(signal(SIGSEGV, SIG_DFL) == opens);
}

static void once(void)
{
	struct sigaction was;

	set(opens, NULL, (int)SA_RESETHAND);
	touches();
	MUST(!sigaction(SIGSEGV, NULL, &was) && was.sa_handler == SIG_DFL);
	MUST(!mprotect((void *)wild, PAGE, PROT_NONE));
	*wild = 2; /* dies */
}

static void leap(void)
{
	set(leaps, NULL, 0);
	for (int i = 0; i < 3; i++) {
		down();
		if (!sigsetjmp(back, 1)) {
			host[PAGE * 3] = 1;
			*wild = 1;
		}
		done();
	}
	MUST(met == 3);
}

static void dies(void)
{
	down();
	host[PAGE * 3] = 1;
	*wild = 1;
}

static void ignored(void)
{
	MUST(signal(SIGSEGV, SIG_IGN) == SIG_DFL);
	raise(SIGSEGV); /* nothing */
	dies();
}

static void aborted(void)
{
	down();
	raise(SIGBUS);
}

static void sent(void)
{
	down();
	kill(getpid(), SIGSEGV);
	pause();
}

static void masked(void)
{
	sigset_t all, was;

	sigfillset(&all);
	MUST(!pthread_sigmask(SIG_BLOCK, &all, NULL));
	down();
	host[PAGE * 3] = 1;
	MUST(!pthread_sigmask(SIG_SETMASK, NULL, &was) && sigismember(&was, SIGSEGV) &&
	     sigismember(&was, SIGTERM));
	done();
}

static void *blocked_from_birth(void *arg)
{
	(void)arg;
	host[PAGE * 3] = 1;
	return NULL;
}

static void masked_thread(void)
{
	sigset_t all, none;
	pthread_t t;

	sigfillset(&all);
	sigemptyset(&none);
	MUST(!pthread_sigmask(SIG_SETMASK, &all, NULL));
	down();
	MUST(!pthread_create(&t, NULL, blocked_from_birth, NULL));
	MUST(!pthread_join(t, NULL) && !pthread_sigmask(SIG_SETMASK, &none, NULL));
	done();
}

static void forks(void)
{
	int status, fd = open("/dev/null", O_WRONLY);

	up();
	down();
	pid_t child = fork();

	if (!child) {
		MUST(write(fd, host, BYTES) == BYTES);
		host[PAGE * 5] = 1;
		_exit(7);
	}
	MUST(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
	done();
}

static void vforks(void)
{
	int status;

	down();
	pid_t child = vfork();

	if (!child) {
		host[PAGE * 5] = 1;
		_exit(7);
	}
	MUST(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
	done();
}

/* The words of the command line lie in guarded memory. */
static void spawns(void)
{
	char *argv[] = {host + PAGE * 2, host + PAGE * 4, host + PAGE * 6, NULL};
	int status;
	pid_t child;

	strcpy(argv[0], "/bin/sh");
	strcpy(argv[1], "-c");
	strcpy(argv[2], "exit 7");
	up();
	MUST(!posix_spawn(&child, argv[0], NULL, NULL, argv, environ));
	MUST(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
	done();
}

static void advised(void)
{
	down();
	MUST(!madvise(host + PAGE, PAGE, MADV_WILLNEED));
	MUST(!mlock(host + 4 * PAGE, 2 * PAGE) || errno == ENOMEM || errno == EPERM);
	munlock(host + 4 * PAGE, 2 * PAGE);
	host[PAGE] = host[4 * PAGE] = 1;
	done();
}

static void unmapped(void)
{
	char *p = host;

	down();
	done();
	CU(cuMemHostUnregister(p));
	MUST(mremap(p, BYTES, 2 * BYTES, MREMAP_MAYMOVE) != MAP_FAILED);
}

static void moved(void)
{
	CU(cuMemcpyDtoHAsync(host, device, BYTES / 2, stream));
	char *p = mremap(host, BYTES, BYTES / 2, 0);

	MUST(p == host);
	p[PAGE * 3] = 1;
	done();
}

static void kernel_takes(void)
{
	struct aiocb a = {.aio_buf = host, .aio_nbytes = BYTES, .aio_fildes = memfd_create("x", 0)};
	const struct aiocb *list[] = {&a};
	struct iovec v = {host + PAGE, PAGE}, own = {host + 8 * PAGE, PAGE};
	int ends[2];

	down();
	MUST(!aio_write(&a));
	while (aio_error(&a) == EINPROGRESS)
		aio_suspend(list, 1, NULL);
	MUST(aio_return(&a) == BYTES);
	done();
	down();
	MUST(process_vm_readv(getpid(), &own, 1, &v, 1, 0) == PAGE || errno == EPERM ||
	     errno == ENOSYS);
	done();
	down();
	MUST(!pipe(ends) && vmsplice(ends[1], &v, 1, 0) == PAGE);
	done();
}

/* Small things that the kernel answers into, or reads. */
static void small_calls(void)
{
	struct pollfd *fds = (void *)(host + 2 * PAGE);
	char *path = host + 5 * PAGE;

	*fds = (struct pollfd){.fd = -1};
	strcpy(path, "/proc/self/exe");
	down();
	MUST(!stat("/", (void *)host) && !pipe((void *)(host + PAGE)) && !poll(fds, 1, 0));
	MUST(getcwd(host + 3 * PAGE, PAGE) && readlink(path, host + 4 * PAGE, PAGE) > 0);
	done();
}

static void leaves(void)
{
	down();
	exit(9);
}

static void context_ends(void)
{
	CUcontext c;

	down();
	CU(cuCtxGetCurrent(&c));
	CU(cuCtxSynchronize());
	down();
	CU(cuMemcpyDtoHAsync(host, device, BYTES, stream));
	cuCtxDestroy(c);
	host[PAGE * 3] = 1;
	MUST(write(memfd_create("x", 0), host, BYTES) == BYTES);
}

/* May not be written: neither before nor while it is guarded, nor after. */
static void read_only(void)
{
	set(leaps, NULL, 0);
	int fd = memfd_create("read only", 0);

	MUST(write(fd, host, BYTES) == BYTES);
	host = mmap(NULL, BYTES, PROT_READ, MAP_PRIVATE, fd, 0);
	MUST(host != MAP_FAILED);
	CU(cuMemHostRegister(host, BYTES, 0x08 /* read only */));
	for (int i = 0; i < 4; i++) {
		if (i == 1 || i == 2)
			up();
		if (!sigsetjmp(back, 1)) {
			host[PAGE * 3] = 1;
			MUST(!"written");
		}
		if (i == 2)
			done();
	}
	MUST(met == 4);
	done();
}

static void meets(int sig)
{
	(void)sig;
	host[PAGE * 3] = 1;
	met++;
}

/* Another signal's handler that has all signals blocked: set before CUDA begins, and after. */
static void set_full(void)
{
	struct sigaction act = {.sa_handler = meets}, was;

	sigfillset(&act.sa_mask);
	MUST(!sigaction(SIGUSR1, &act, NULL) && !sigaction(SIGUSR1, NULL, &was));
	MUST(sigismember(&was.sa_mask, SIGSEGV) && sigismember(&was.sa_mask, SIGUSR2));
}

static void other_handler(void)
{
	down();
	raise(SIGUSR1);
	done();
	set_full();
	down();
	raise(SIGUSR1);
	MUST(met == 2);
	done();
}

static void masked_attribute(void)
{
	pthread_attr_t attr;
	sigset_t all;
	pthread_t t;

	sigfillset(&all);
	MUST(!pthread_attr_init(&attr) && !pthread_attr_setsigmask_np(&attr, &all));
	down();
	MUST(!pthread_create(&t, &attr, blocked_from_birth, NULL) && !pthread_join(t, NULL));
	done();
}

/* The forms of old. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static void old_masks(void)
{
	MUST(sigblock(~0) == 0);
	down();
	host[PAGE * 3] = 1;
	done();
	MUST(sigsetmask(~0) & 1 << (SIGSEGV - 1));
	down();
	host[PAGE * 3] = 1;
	done();
	MUST(!sigrelse(SIGSEGV) && !sighold(SIGSEGV));
	down();
	host[PAGE * 3] = 1;
	MUST(sigset(SIGSEGV, opens) == SIG_HOLD);
	host[PAGE * 5] = 1;
	*wild = 1;
	MUST(met == 1 && sigset(SIGSEGV, SIG_HOLD) == opens);
	host[PAGE * 7] = 1;
	done();
}
#pragma GCC diagnostic pop

/* A thread that blocks the signal behind the C library's back: no page may be guarded. */
static void *blocks(void *arg)
{
	uint64_t all = ~0ull;

	MUST(!syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, 8));
	pthread_barrier_wait(arg);
	for (;;)
		pause();
	return NULL;
}

static void block_by_hand(void)
{
	static pthread_barrier_t both;
	pthread_t t;

	MUST(!pthread_barrier_init(&both, NULL, 2) && !pthread_create(&t, NULL, blocks, &both));
	pthread_barrier_wait(&both);
}

static void nothing(void)
{
}

static const struct {
	const char *name;
	void (*run)(void);
	int flags; /* of the mapping, besides MAP_ANONYMOUS */
} cases[] = {
	{"sigaction", by_sigaction, 0},
	{"signal", by_signal, 0},
	{"resethand", once, 0},
	{"siglongjmp", leap, 0},
	{"default", dies, 0},
	{"ignored", ignored, 0},
	{"sigbus", aborted, 0},
	{"sent", sent, 0},
	{"masked", masked, 0},
	{"masked-thread", masked_thread, 0},
	{"masked-attribute", masked_attribute, 0},
	{"old-masks", old_masks, 0},
	{"other-handler", other_handler, 0},
	{"fork", forks, 0},
	{"fork-shared", forks, MAP_SHARED},
	{"vfork", vforks, 0},
	{"spawn", spawns, 0},
	{"advised", advised, 0},
	{"unmapped", unmapped, 0},
	{"moved", moved, 0},
	{"kernel", kernel_takes, 0},
	{"kernel-shared", kernel_takes, MAP_SHARED},
	{"small-calls", small_calls, 0},
	{"exit", leaves, 0},
	{"context", context_ends, 0},
	{"read-only", read_only, 0},
	{"huge", by_sigaction, MAP_HUGETLB},
	{"nothing", nothing, 0},
	{"refused", forks, 0},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		int flags = cases[i].flags & MAP_SHARED ? MAP_SHARED : MAP_PRIVATE | cases[i].flags;
		size_t bytes = cases[i].flags & MAP_HUGETLB ? 2 << 20 : BYTES;

		if (argc < 2) {
			puts(cases[i].name);
			continue;
		}
		if (strcmp(argv[1], cases[i].name))
			continue;
		if (!strcmp(argv[1], "refused"))
			block_by_hand();
		if (!strcmp(argv[1], "other-handler"))
			set_full();
		prog_start();
		CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
		CU(cuMemAlloc(&device, BYTES));
		host = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
		if (host == MAP_FAILED && cases[i].flags & MAP_HUGETLB)
			prog_skip("no huge pages");
		wild = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		MUST(host != MAP_FAILED && wild != MAP_FAILED);
		memset(host, 1, BYTES);
		CU(cuMemHostRegister(host, bytes, 0));
		cases[i].run();
		printf("done\n");
		fflush(stdout);
		_exit(0);
	}
	return 0;
}
