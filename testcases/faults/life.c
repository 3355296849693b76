/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that do to themselves and to the library what programs do: life MODE.
 * Each makes the same ordered work on a stream (or a race, where RACE is in the
 * environment, so that the verdict shows whether that was seen), puts out lines
 * that are the same in every run, and checks each result of the driver.
 *
 * The driver is opened, not linked: what a fork child or a closed handle does is up
 * to the mode.  Every mode ends with the same exit code without krtsan.
 */
#define _GNU_SOURCE
#include "cuabi.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

#define BYTES 4096

#define MUST(cond)                                                                                 \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			dprintf(2, "life: line %d: %s (errno %d)\n", __LINE__, #cond, errno);      \
			_exit(3);                                                                  \
		}                                                                                  \
	} while (0)
#define CU(call) MUST((call) == CUDA_SUCCESS)

/* The driver's names become pointers of ours. */
#define DRIVER(X)                                                                                  \
	X(cuInit)                                                                                  \
	X(cuDeviceGet) X(cuDevicePrimaryCtxRetain) X(cuCtxSetCurrent) X(cuMemAlloc_v2)             \
		X(cuMemFree_v2) X(cuStreamCreate) X(cuStreamDestroy_v2) X(cuStreamSynchronize)     \
			X(cuMemsetD8Async) X(cuMemcpyDtoH_v2) X(cuLaunchHostFunc)                  \
				X(cuCtxSynchronize)
#define X(name) static __typeof__(&name) p_##name;
DRIVER(X)
#undef X

static void *driver;
static CUcontext ctx;
static CUdeviceptr buffer;
static CUstream one, two;

static void find(void)
{
	driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	MUST(driver);
#define X(name) MUST(p_##name = (__typeof__(p_##name))dlsym(driver, #name));
	DRIVER(X)
#undef X
}

static void work(void)
{
	unsigned char host[BYTES];

	CU(p_cuMemsetD8Async(buffer, 1, BYTES, one));
	if (!getenv("RACE"))
		CU(p_cuStreamSynchronize(one));
	CU(p_cuMemsetD8Async(buffer, 2, BYTES, two));
	CU(p_cuStreamSynchronize(two));
	CU(p_cuStreamSynchronize(one));
	CU(p_cuMemcpyDtoH_v2(host, buffer, BYTES));
}

static void start(void)
{
	CUdevice dev;

	if (!driver)
		find();
	CU(p_cuInit(0));
	CU(p_cuDeviceGet(&dev, 0));
	CU(p_cuDevicePrimaryCtxRetain(&ctx, dev));
	CU(p_cuCtxSetCurrent(ctx));
	CU(p_cuMemAlloc_v2(&buffer, BYTES));
	CU(p_cuStreamCreate(&one, CU_STREAM_NON_BLOCKING));
	CU(p_cuStreamCreate(&two, CU_STREAM_NON_BLOCKING));
	work();
}

static void sets(int n)
{
	CUstream s;

	CU(p_cuCtxSetCurrent(ctx));
	CU(p_cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	for (int i = 0; i < n; i++) {
		CUdeviceptr d;

		CU(p_cuMemAlloc_v2(&d, BYTES));
		CU(p_cuMemsetD8Async(d, (unsigned char)i, BYTES, s));
		CU(p_cuStreamSynchronize(s));
		CU(p_cuMemFree_v2(d));
	}
	CU(p_cuStreamDestroy_v2(s));
}

static void line(const char *text)
{
	MUST(write(1, text, strlen(text)) == (ssize_t)strlen(text));
}

static pthread_t thread(void *(*fn)(void *), void *arg, size_t stack)
{
	pthread_attr_t a;
	pthread_t t;

	pthread_attr_init(&a);
	if (stack)
		MUST(!pthread_attr_setstacksize(&a, stack));
	MUST(!pthread_create(&t, &a, fn, arg));
	pthread_attr_destroy(&a);
	return t;
}

/* ---- threads ---- */

static pthread_barrier_t barrier;

static void *short_lived(void *arg)
{
	(void)arg;
	sets(2);
	return NULL;
}

static void *busy(void *arg)
{
	(void)arg;
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 4; i++) {
		pthread_t t = thread(short_lived, NULL, 0);

		sets(4);
		pthread_join(t, NULL);
	}
	return NULL;
}

static int threads(void)
{
	pthread_t t[64];

	start();
	pthread_barrier_init(&barrier, NULL, 64);
	for (int i = 0; i < 64; i++)
		t[i] = thread(busy, NULL, 0);
	for (int i = 0; i < 64; i++)
		pthread_join(t[i], NULL);
	line("64 threads\n");
	return 0;
}

static void *waits(void *arg)
{
	(void)arg;
	sets(1);
	pthread_barrier_wait(&barrier);
	return NULL;
}

/* more at once than there are lanes, on stacks of 16 KiB */
static int crowd(void)
{
	static pthread_t t[1100];

	start();
	pthread_barrier_init(&barrier, NULL, 1100);
	for (int i = 0; i < 1100; i++)
		t[i] = thread(waits, NULL, 16384 * 2);
	for (int i = 0; i < 1100; i++)
		pthread_join(t[i], NULL);
	line("1100 threads\n");
	return 0;
}

static int small_stacks(void)
{
	start();
	for (int i = 0; i < 20; i++)
		pthread_join(thread(short_lived, NULL, PTHREAD_STACK_MIN), NULL);
	line("small stacks\n");
	return 0;
}

/* ---- processes ---- */

static void ended_well(pid_t pid, int code)
{
	int status;

	MUST(pid > 0);
	while (waitpid(pid, &status, 0) < 0)
		MUST(errno == EINTR);
	MUST(WIFEXITED(status) && WEXITSTATUS(status) == code);
}

static char *const no_op[] = {(char *)"true", NULL};

static void *forking(void *arg)
{
	pid_t pid;

	(void)arg;
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 5; i++) {
		sets(2);
		pid = fork();
		if (!pid)
			_exit(5);
		ended_well(pid, 5);
		pid = fork();
		if (!pid) {
			execv("/bin/true", no_op);
			_exit(6);
		}
		ended_well(pid, 0);
		pid = vfork();
		if (!pid) {
			execv("/bin/true", no_op);
			_exit(6);
		}
		ended_well(pid, 0);
		MUST(!posix_spawn(&pid, "/bin/true", NULL, NULL, no_op, environ));
		ended_well(pid, 0);
		pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, 0);
		if (!pid)
			syscall(SYS_exit_group, 7);
		ended_well(pid, 7);
	}
	return NULL;
}

static int forks(void)
{
	pthread_t t[4];

	start();
	pthread_barrier_init(&barrier, NULL, 4);
	for (int i = 0; i < 4; i++)
		t[i] = thread(forking, NULL, 0);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	line("forks\n");
	return 0;
}

/* the parent is gone before anything of CUDA happens */
static int daemon_(void)
{
	pid_t pid = fork();

	if (pid > 0)
		return 0;
	setsid();
	if (fork() > 0)
		_exit(0);
	start();
	line("daemon\n");
	return 0;
}

static void *becomes(void *arg)
{
	char *const argv[] = {(char *)"sh", (char *)"-c", (char *)"echo became; exit 4", NULL};

	(void)arg;
	execv("/bin/sh", argv);
	return NULL;
}

static int exec_thread(void)
{
	start();
	pthread_join(thread(becomes, NULL, 0), NULL);
	return 9;
}

/* ---- ends ---- */

static void exits(void *arg)
{
	(void)arg;
	line("host function\n");
	exit(4);
}

static int exit_hostfn(void)
{
	start();
	CU(p_cuLaunchHostFunc(one, exits, NULL));
	p_cuStreamSynchronize(one);
	pause();
	return 9;
}

static void last_work(void)
{
	work();
	line("atexit\n");
}

static int exit_atexit(void)
{
	atexit(last_work);
	start();
	return 0;
}

static void exits_again(void)
{
	line("exit within exit\n");
	_exit(6);
}

static int exit_twice(void)
{
	start();
	atexit(exits_again);
	return 0;
}

static int underscore(void)
{
	start();
	_exit(0);
}

static int quick(void)
{
	start();
	quick_exit(0);
}

static int aborts(void)
{
	start();
	abort();
}

static int trap(void)
{
	start();
	raise(SIGTRAP);
	return 9;
}

static void *outlives(void *arg)
{
	pthread_join(*(pthread_t *)arg, NULL);
	sets(10);
	line("main had ended\n");
	exit(0); /* a driver's own threads would keep the process */
}

static int main_ends(void)
{
	static pthread_t self;

	start();
	self = pthread_self();
	thread(outlives, &self, 0);
	pthread_exit(NULL);
}

static int unloads(void)
{
	for (int i = 0; i < 3; i++) {
		driver = NULL;
		start();
		CU(p_cuCtxSynchronize());
		dlclose(driver);
	}
	line("unloaded\n");
	return 0;
}

/* ---- signals ---- */

static volatile sig_atomic_t ticks;

static void tick(int sig)
{
	(void)sig;
	ticks++;
}

static void timer(int which, int sig, void (*fn)(int), int flags, long usec)
{
	struct itimerval t = {{0, usec}, {0, usec}};
	struct sigaction sa = {.sa_handler = fn, .sa_flags = flags};

	sigaction(sig, &sa, NULL);
	MUST(!setitimer(which, &t, NULL));
}

static void timer_off(int which)
{
	struct itimerval none = {0};

	setitimer(which, &none, NULL);
}

static int profiled(void)
{
	static char stack[8192]; /* MINSIGSTKSZ and what the CPU's registers take */
	stack_t own = {.ss_sp = stack, .ss_size = sizeof stack};

	MUST(!sigaltstack(&own, NULL));
	timer(ITIMER_PROF, SIGPROF, tick, SA_ONSTACK | SA_RESTART, 300);
	start();
	sets(3000);
	timer_off(ITIMER_PROF);
	line("profiled\n");
	return 0;
}

/* system calls of the program and of ours are interrupted */
static int alarms(void)
{
	timer(ITIMER_REAL, SIGALRM, tick, 0, 200);
	start();
	sets(3000);
	timer_off(ITIMER_REAL);
	line("alarms\n");
	return 0;
}

static char *page;
static int faults;

static void mend(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	MUST((char *)info->si_addr >= page && (char *)info->si_addr < page + 65536);
	MUST(!mprotect((void *)((uintptr_t)info->si_addr & ~4095ul), 4096, PROT_READ | PROT_WRITE));
	faults++;
}

/* a handler of its own for faults that it provokes, also in memory that it hands to the driver */
static int mends(void)
{
	struct sigaction sa = {.sa_sigaction = mend, .sa_flags = SA_SIGINFO};

	sigaction(SIGSEGV, &sa, NULL);
	start();
	page = mmap(NULL, 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < 15; i++) {
		page[i * 4096] = 1;
		sets(20);
	}
	MUST(faults == 15);
	line("mended\n");
	return 0;
}

static sigjmp_buf jump;
static volatile sig_atomic_t jumping;

static void jump_out(int sig)
{
	(void)sig;
	if (jumping)
		siglongjmp(jump, 1);
}

/* out of whatever a timer interrupts; on a driver that holds no lock */
static int jumps(void)
{
	CUdeviceptr d = 0;
	static volatile unsigned n;

	find();
	CU(p_cuInit(0));
	timer(ITIMER_REAL, SIGALRM, jump_out, 0, 150);
	while (n < 3000) {
		if (sigsetjmp(jump, 1)) {
			n++;
			continue;
		}
		jumping = 1;
		for (int i = 0; i < 1000; i++) {
			p_cuMemAlloc_v2(&d, 64);
			p_cuMemsetD8Async(d, 1, 64, NULL);
			p_cuMemFree_v2(d);
		}
		jumping = 0;
		n++;
	}
	timer_off(ITIMER_REAL);
	line("jumped\n");
	return 0;
}

/* ---- limits and surroundings ---- */

static int closes(void)
{
	for (int fd = 3; fd < 1024; fd++)
		close(fd);
	start();
	for (int fd = 3; fd < 1024; fd++)
		close(fd);
	for (int fd = 3; fd < 64; fd++)
		MUST(dup2(1, fd) == fd);
	sets(3000);
	for (int fd = 3; fd < 64; fd++) {
		struct stat a, b;

		MUST(!fstat(1, &a) && !fstat(fd, &b) && a.st_ino == b.st_ino);
	}
	line("closed\n");
	return 0;
}

static void limit(int what, rlim_t to)
{
	struct rlimit l;

	getrlimit(what, &l);
	l.rlim_cur = to;
	if (l.rlim_max > to)
		l.rlim_max = to;
	MUST(!setrlimit(what, &l));
}

static int few_files(void)
{
	start();
	limit(RLIMIT_NOFILE, 3);
	sets(3000);
	line("few files\n");
	return 0;
}

static int no_memory(void)
{
	start();
	sets(10);
	limit(RLIMIT_AS, 1 << 20);
	for (int i = 0; i < 30000; i++)
		CU(p_cuMemsetD8Async(buffer, 1, BYTES, one));
	CU(p_cuStreamSynchronize(one));
	line("no memory\n");
	return 0;
}

static int no_room(void)
{
	start();
	limit(RLIMIT_FSIZE, 4096);
	for (int i = 0; i < 30000; i++)
		CU(p_cuMemsetD8Async(buffer, 1, BYTES, one));
	CU(p_cuStreamSynchronize(one));
	line("no room\n");
	return 0;
}

static int jailed(void)
{
	char empty[] = "empty.XXXXXX";

	start();
	MUST(mkdtemp(empty) && !chroot(empty) && !chdir("/"));
	sets(6000);
	line("jailed\n");
	return 0;
}

/* a filter that refuses what such filters refuse */
static int filtered(void)
{
#define REFUSE(n)                                                                                  \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, n, 0, 1),                                              \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		REFUSE(SYS_process_vm_readv),
		REFUSE(SYS_openat),
		REFUSE(SYS_fallocate),
		REFUSE(SYS_prlimit64),
		REFUSE(SYS_kill),
		REFUSE(SYS_tgkill),
		REFUSE(SYS_clone),
		REFUSE(SYS_execve),
		REFUSE(SYS_prctl),
		REFUSE(SYS_madvise),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog p = {sizeof f / sizeof *f, f};

	start();
	MUST(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	MUST(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p));
	sets(6000);
	line("filtered\n");
	return 0;
}

static int plain(void)
{
	start();
	line("plain\n");
	return 0;
}

static int many(void)
{
	start();
	for (int i = 0; i < atoi(getenv("MANY") ? getenv("MANY") : "20000"); i++) {
		CU(p_cuMemsetD8Async(buffer, 1, BYTES, one));
		if (i % 100 == 99)
			CU(p_cuStreamSynchronize(one));
	}
	CU(p_cuStreamSynchronize(one));
	line("many\n");
	return 0;
}

/* a serving loop; puts its own memory to stderr at a quarter and at the end, in KiB */
static void resident(void)
{
	char text[256] = "";
	long pages = 0;
	int fd = open("/proc/self/statm", O_RDONLY);

	MUST(read(fd, text, sizeof text - 1) > 0 && sscanf(text, "%*d %ld", &pages) == 1);
	close(fd);
	dprintf(2, "resident %ld\n", pages * 4);
}

static int serve(void)
{
	int n = atoi(getenv("MANY"));
	uint64_t (*clock_ns)(void);
	CUdeviceptr d;

	start();
	for (int i = 0; i < n; i++) {
		CU(p_cuMemAlloc_v2(&d, BYTES));
		CU(p_cuMemsetD8Async(d, 1, BYTES, one));
		CU(p_cuStreamSynchronize(one));
		CU(p_cuMemsetD8Async(d, 2, BYTES, two));
		CU(p_cuStreamSynchronize(two));
		CU(p_cuMemFree_v2(d));
		if (i == n / 4)
			resident();
	}
	resident();
	clock_ns = (uint64_t(*)(void))dlsym(driver, "sim_clock_ns");
	if (clock_ns)
		dprintf(2, "hours %lu\n", (unsigned long)(clock_ns() / 3600000000000ull));
	work();
	line("served\n");
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(void);
	} modes[] = {
		{"plain", plain},
		{"many", many},
		{"serve", serve},
		{"threads", threads},
		{"crowd", crowd},
		{"small_stacks", small_stacks},
		{"forks", forks},
		{"daemon", daemon_},
		{"exec_thread", exec_thread},
		{"exit_hostfn", exit_hostfn},
		{"exit_atexit", exit_atexit},
		{"exit_twice", exit_twice},
		{"_exit", underscore},
		{"quick_exit", quick},
		{"abort", aborts},
		{"trap", trap},
		{"main_ends", main_ends},
		{"unloads", unloads},
		{"profiled", profiled},
		{"alarms", alarms},
		{"mends", mends},
		{"jumps", jumps},
		{"closes", closes},
		{"few_files", few_files},
		{"no_memory", no_memory},
		{"no_room", no_room},
		{"jailed", jailed},
		{"filtered", filtered},
	};

	for (unsigned i = 0; argc > 1 && i < sizeof modes / sizeof *modes; i++)
		if (!strcmp(modes[i].name, argv[1]))
			return modes[i].run();
	return 96;
}
