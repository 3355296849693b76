/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that do what breaks preload tools: pit MODE.  Runs on the fake driver
 * with the library preloaded; prints `ok NAME` and `not ok NAME`.
 */
#define _GNU_SOURCE
#include "../abi/fake.h"
#include "api.h"

#define CUABI_EXACT_NAMES
#include "cuabi.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern struct fake_control fake;

static int bad;
static const char *mode;

static void check(int good, const char *what)
{
	printf("%s %s: %s\n", good ? "ok" : "not ok", mode, what);
	fflush(stdout);
	bad |= !good;
}

static int wrapped(unsigned id)
{
	return krt_api[id].cls >= KRT_CLASS_MODELLED && krt_api[id].cls <= KRT_CLASS_UNSUPPORTED;
}

/* ---- names that only look like the driver's; another tool's wrappers ---- */

static void names(void)
{
	static const char *const foreign[] = { "cudnnCreate", "cusolverDnCreate", "cuSPARSE", "cu", "c", "",
					       "cuMemAlloc_v2", "cuInit", "cuGetProcAddress_v2" };
	void *other = dlopen(getenv("PIT_OTHER"), RTLD_NOW | RTLD_LOCAL), *h = dlopen("libcuda.so.1", RTLD_NOW);
	int wrong = 0;

	for (unsigned i = 0; i < sizeof foreign / sizeof *foreign; i++) {
		int (*f)(void) = other ? (int (*)(void))dlsym(other, foreign[i]) : NULL;

		if (strlen(foreign[i]) > 2)
			wrong += !f || f() != 4242;
		else
			wrong += f != NULL;
	}
	check(!wrong, "what a library defines itself is what dlsym gives of it");
	check(dlsym(h, "cuMemAlloc_v2") != fake.address("cuMemAlloc_v2"), "the driver's are still wrapped");
	dlclose(other);
}

/* ---- a program linked when dlsym was libdl's ---- */

#if defined(__x86_64__)
__asm__(".symver old_dlsym, dlsym@GLIBC_2.2.5");
extern void *old_dlsym(void *handle, const char *name);

static void oldlink(void)
{
	void *h = dlopen("libcuda.so.1", RTLD_NOW);

	check(old_dlsym(h, "cuMemAlloc_v2") == dlsym(h, "cuMemAlloc_v2"), "the old version of dlsym is hooked");
	check(old_dlsym(RTLD_DEFAULT, "malloc") == (void *)malloc, "and passes the rest");
}
#endif

/* ---- out-parameters that are NULL ---- */

static void nulls(void)
{
	unsigned done = 0, wrong = 0;

	check(!cuInit(0), "init");
	for (unsigned i = 0; i < KRT_NR_APIS; i++) {
		int (*f)() = wrapped(i) ? (int (*)())dlsym(RTLD_DEFAULT, krt_api[i].symbol) : NULL;

		/* those that the fake itself writes through, and by-value structs */
		if (!f || krt_api[i].flags & KRT_F_HANDMADE || krt_api[i].op == KRT_OP_INIT ||
		    krt_api[i].op == KRT_OP_HOST_FUNC || !strcmp(krt_api[i].symbol, "cuMemAlloc_v2") ||
		    !strcmp(krt_api[i].symbol, "cuStreamCreate") || !strcmp(krt_api[i].symbol, "cuEventCreate") ||
		    !strcmp(krt_api[i].symbol, "cuModuleLoadData") ||
		    !strcmp(krt_api[i].symbol, "cuModuleGetFunction"))
			continue;
		wrong += f(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0) != 0;
		done++;
	}
	check(done > 250 && !wrong, "every wrapper takes nothing but zeros");
}

/* ---- namespaces ---- */

static void namespaces(void)
{
	void *h = dlopen("libcuda.so.1", RTLD_NOW), *n = dlmopen(LM_ID_NEWLM, "libcuda.so.1", RTLD_NOW);
	int (*alloc)(uint64_t *, uint64_t), (*init)(unsigned);
	uint64_t p = 0;

	check(n != NULL, "a second namespace opens");
	if (!n)
		return;
	init = (int (*)(unsigned))dlsym(n, "cuInit");
	alloc = (int (*)(uint64_t *, uint64_t))dlsym(n, "cuMemAlloc_v2");
	check(init && alloc && !init(0) && !alloc(&p, 64) && p, "its driver works");
	check(!cuInit(0) && !cuMemAlloc_v2((CUdeviceptr *)&p, 64), "so does ours");
	check(dlsym(h, "cuMemAlloc_v2") != fake.address("cuMemAlloc_v2"), "and ours is wrapped");
	dlclose(n);
}

/* ---- fork while all locks are in use ---- */

static _Atomic int stop, round[4]; /* round: that thread has been through once */
static int no_dlsym;

static void *busy(void *arg)
{
	long me = (long)arg;

	while (!stop) {
		uint64_t a = 1, c = 3;
		int b = 2;
		char block[40] = "";
		void *params[] = { &a, &b, &c, block };
		CUdeviceptr p = 0;
		char *heap = malloc(5000);

		cuMemAlloc_v2(&p, 64);
		cuMemcpyHtoDAsync_v2(p, heap, 5000, (CUstream)(0x5000 + me));
		cuLaunchKernel((CUfunction)(0x1000 + me * 64 + (long)(p % 7)), 1, 1, 1, 1, 1, 1, 0,
			       (CUstream)(0x5000 + me), params, NULL);
		free(heap);
		cuStreamSynchronize((CUstream)(0x5000 + me));
		cuMemFree_v2(p);
		if (!no_dlsym)
			dlsym(RTLD_DEFAULT, "cuMemFree_v2"); /* no dlopen: libc's own state does not survive a fork in it */
		round[me] = 1;
		usleep(50);
	}
	return NULL;
}

static void forks(void)
{
	pthread_t t[4];
	int failed = 0, status;

	check(!cuInit(0), "init");
	for (long i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, busy, (void *)i);
	for (int i = 0; i < 60; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			CUdeviceptr p = 0;
			void *heap = malloc(100);
			int good;

			alarm(20); /* a lock of a thread that is not here */
			cuMemcpyHtoDAsync_v2(1, heap, 100, (CUstream)0x5000);
			free(heap);
			good = dlsym(RTLD_DEFAULT, "cuMemAlloc_v2") && !cuMemAlloc_v2(&p, 64) && p;
			if (i % 3 == 0)
				good &= !cuInit(0) && !cuMemAlloc_v2(&p, 64); /* records on its own */
			if (i % 2)
				exit(!good);
			_exit(!good);
		}
		failed += pid < 0 || waitpid(pid, &status, 0) != pid || status;
	}
	stop = 1;
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	check(!failed, "children of a busy parent live and end");
}

/*
 * A child that no library function made: no fork handlers ran.  The loader's lock is
 * libc's, and stays with a thread that has it: the others are out of the loader, by
 * then, and do not look up names themselves.
 */
static void clones(void)
{
	int failed = 0, status;
	CUdeviceptr p = 0;
	pthread_t t[2];

	check(!cuInit(0) && !cuMemAlloc_v2(&p, 64), "init");
	no_dlsym = 1;
	for (long i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, busy, (void *)i);
	while (!round[0] || !round[1])
		usleep(50);
	for (int i = 0; i < 40; i++) {
		static char pending[64];
		void *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		pid_t pid;

		cuMemcpyHtoDAsync_v2(p, pending, 64, (CUstream)0x6000);
		cuMemcpyHtoDAsync_v2(p, map, 64, (CUstream)0x6000);
		pid = syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
		if (pid == 0) {
			alarm(20);
			p = 0;
			munmap(map, 4096); /* pending in the parent */
			_exit(!(dlsym(RTLD_DEFAULT, "cuMemAlloc_v2") && !cuMemAlloc_v2(&p, 64) && p));
		}
		failed += pid < 0 || waitpid(pid, &status, 0) != pid || status;
		munmap(map, 4096);
	}
	stop = 1;
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	check(!failed, "children by a raw clone pass everything through");
}

/* ---- a program that never uses CUDA ---- */

static void idle(void)
{
	int ours = 0, tasks = 0;
	char path[300], link[300];
	struct dirent *e;
	DIR *d = opendir("/proc/self/fd");

	while (d && (e = readdir(d))) {
		ssize_t n;

		snprintf(path, sizeof path, "/proc/self/fd/%s", e->d_name);
		n = readlink(path, link, sizeof link - 1);
		link[n > 0 ? n : 0] = 0;
		ours += strstr(link, "memfd") || strstr(link, ".proc") || strstr(link, "krtsan.");
	}
	closedir(d);
	d = opendir("/proc/self/task");
	while (d && (e = readdir(d)))
		tasks += e->d_name[0] != '.';
	closedir(d);
	check(!ours && tasks == 1, "no descriptor and no thread of ours");
}

/* ---- two plug-ins, one address ---- */

static void plugins(void)
{
	static const char *const lib[] = { "PIT_PLUG1", "PIT_PLUG2" }, *const fn[] = { "first_plug", "second_plug" };
	CUstream s[2] = { NULL, NULL };
	CUdeviceptr p = 0;
	char host[64] = "";
	void *f[2];

	check(!cuInit(0) && !cuMemAlloc_v2(&p, 64) && !cuStreamCreate(&s[0], 1) && !cuStreamCreate(&s[1], 1), "init");
	for (int i = 0; i < 2; i++) {
		void *h = dlopen(getenv(lib[i]), RTLD_NOW | RTLD_LOCAL);

		f[i] = h ? dlsym(h, fn[i]) : NULL;
		check(f[i] && !((int (*)(void *, CUdeviceptr, void *, CUstream))f[i])(
				      dlsym(RTLD_DEFAULT, "cuMemcpyHtoDAsync_v2"), p, host, s[i]), fn[i]);
		dlclose(h);
	}
	check(f[0] == f[1], "both lay at one address");
}

/* ---- calls after the end ---- */

static void after_the_end(void)
{
	CUdeviceptr p = 0;
	void *heap = malloc(100);

	check(!cuMemAlloc_v2(&p, 64) && p && !cuMemcpyHtoDAsync_v2(p, heap, 100, NULL) &&
	      !cuCtxSynchronize() && !cuMemFree_v2(p), "calls in the last exit handler reach the driver");
	free(heap);
}

__attribute__((destructor)) static void very_late(void)
{
	CUdeviceptr p = 0;

	if (mode && !strcmp(mode, "exits"))
		check(!cuMemAlloc_v2(&p, 64) && p && !cuMemFree_v2(p), "and in a destructor");
	if (bad)
		_exit(1);
}

static void exits(void)
{
	atexit(after_the_end); /* registered before ours, so it runs after it */
	check(!cuInit(0), "init");
	fake.result = CUDA_ERROR_DEINITIALIZED;
	check(cuMemFree_v2(1) == CUDA_ERROR_DEINITIALIZED, "the driver's result passes");
	fake.result = 0;
}

/* ---- opening and closing the library itself ---- */

static void nodelete(void)
{
	char path[4096] = "";
	void *self = dlsym(RTLD_DEFAULT, "dlsym"), *h, *p;
	Dl_info info;

	if (dladdr(self, &info))
		snprintf(path, sizeof path, "%s", info.dli_fname);
	for (int i = 0; i < 3; i++) {
		h = dlopen(path, RTLD_NOW);
		if (!h)
			break;
		dlclose(h);
		dlclose(h);
	}
	p = dlsym(RTLD_DEFAULT, "cuMemAlloc_v2");
	check(h && dladdr(self, &info) && p, "closing the library does not unload it");
	check(!cuInit(0), "it still works");
}

/* ---- a tool that patches function bodies ---- */

static int patched_hits;

static int patched(uint64_t *p, uint64_t size)
{
	patched_hits++;
	*p = size + 1;
	return 0;
}

static void patches(void)
{
#if defined(__x86_64__)
	unsigned char *f = dlsym(RTLD_DEFAULT, "cuMemAlloc_v2"), keep[12];
	unsigned char jump[12] = { 0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0 }; /* mov rax; jmp rax */
	uintptr_t page = (uintptr_t)f & ~4095ul, to = (uintptr_t)patched;
	CUdeviceptr p = 0;

	check(!cuInit(0), "init");
	memcpy(jump + 2, &to, 8);
	memcpy(keep, f, 12);
	check(!mprotect((void *)page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC), "the wrapper's page opens");
	memcpy(f, jump, 12);
	check(!cuMemAlloc_v2(&p, 99) && patched_hits == 1 && p == 100, "a patched wrapper calls the tool");
	memcpy(f, keep, 12);
	check(!cuMemAlloc_v2(&p, 99) && patched_hits == 1 && p != 100, "and taken out again the driver");
#endif
}

/* ---- several tools that hook dlsym ---- */

static void hooks(void)
{
	void *h = dlopen("libcuda.so.1", RTLD_NOW), *p = dlsym(h, "cuMemAlloc_v2");
	int (*hits)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "hook_hits");
	CUdeviceptr d = 0;

	check(p && (p != fake.address("cuMemAlloc_v2")) == !getenv("PIT_HIDDEN"), "the name is wrapped, unless hidden");
	check(hits && hits() >= 1, "the other tool sees look-ups");
	check(!cuInit(0) && !((int (*)(CUdeviceptr *, size_t))p)(&d, 64) && d &&
	      fake.calls("cuMemAlloc_v2") == 1, "and the driver is reached once");
	check(dlsym(RTLD_DEFAULT, "malloc") == (void *)malloc && !dlsym(h, "no_such"), "the rest passes");
}

/* ---- nothing of ours on a capturing stream ---- */

static unsigned all_calls(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < KRT_NR_APIS; i++)
		if (krt_api[i].cls <= KRT_CLASS_UNSUPPORTED)
			n += fake.calls(krt_api[i].symbol);
	return n;
}

static void captures(void)
{
	uint64_t a = 1, c = 3;
	int b = 2;
	char block[40] = "", host[64];
	void *params[] = { &a, &b, &c, block };
	CUstream s = (CUstream)0x5000;
	CUdeviceptr p = 0;
	CUevent e = NULL;
	unsigned before, extra = 0, query;

	check(!cuInit(0) && !cuMemAlloc_v2(&p, 64) && !cuEventCreate(&e, 0), "init");
	for (int round = 0; round < 2; round++) {
		/* the first round may ask the driver what it does not know yet */
		fake.capturing = round;
		query = fake.calls("cuCtxGetCurrent");
		before = all_calls();
		for (int i = 0; i < 50; i++) {
			cuLaunchKernel((CUfunction)0x1000, 1, 1, 1, 1, 1, 1, 0, s, params, NULL);
			cuMemcpyHtoDAsync_v2(p, host, 64, s);
			cuMemsetD8Async(p, 0, 64, s);
			cuEventRecord(e, s);
			cuStreamWaitEvent(s, e, 0);
			cuMemFree_v2(p);
		}
		extra = all_calls() - before - 50 * 6;
		query = fake.calls("cuCtxGetCurrent") - query;
	}
	printf("# %u calls of ours, %u of them cuCtxGetCurrent\n", extra, query);
	check(extra == query, "the driver is asked for the current context at most while a stream captures");
}

/* ---- late and passive ---- */

static void passive(void)
{
	void *lib = dlopen(getenv("PIT_KRTSAN"), RTLD_NOW), *h = dlopen("libcuda.so.1", RTLD_NOW);

	if (!lib)
		printf("# %s\n", dlerror());
	check(lib != NULL, "the library can be opened late: its TLS is small");
	check(dlsym(h, "cuMemAlloc_v2") == fake.address("cuMemAlloc_v2"), "then it stays out of the way");
	check(!cuInit(0), "init");
}

/* ---- threads that are cancelled ---- */

static void host_wait(void *arg)
{
	(void)arg;
	for (;;)
		pause(); /* a cancellation point inside a wrapped call */
}

static void *cancelled(void *arg)
{
	cuLaunchHostFunc((CUstream)0x5000, host_wait, arg);
	return NULL;
}

static void cancels(void)
{
	CUdeviceptr p = 0;
	void *r = NULL;

	check(!cuInit(0), "init");
	for (int i = 0; i < 20; i++) {
		pthread_t t;

		pthread_create(&t, NULL, cancelled, NULL);
		usleep(1000);
		pthread_cancel(t);
		pthread_join(t, &r);
		if (r != PTHREAD_CANCELED)
			break;
	}
	check(r == PTHREAD_CANCELED, "a thread is cancelled inside a wrapped call");
	check(!cuMemAlloc_v2(&p, 64) && p, "the others go on");
}

/* ---- the allocator underneath ---- */

static void allocator(void)
{
	int (*hits)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "allocator_hits");
	void *p[100];
	CUdeviceptr d = 0;

	check(!cuInit(0) && !cuMemAlloc_v2(&d, 64), "init");
	for (int i = 0; i < 100; i++)
		p[i] = realloc(calloc(1, 100 + i), 200 + i);
	cuMemcpyHtoDAsync_v2(d, p[50], 100, (CUstream)0x5000);
	for (int i = 0; i < 100; i++)
		free(p[i]);
	check(hits && hits() > 100, "blocks come from the replacement and go back to it");
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} modes[] = {
		{ "names", names }, { "nulls", nulls }, { "namespaces", namespaces }, { "forks", forks },
		{ "exits", exits }, { "nodelete", nodelete }, { "patches", patches }, { "hooks", hooks },
		{ "captures", captures }, { "passive", passive }, { "cancels", cancels },
		{ "allocator", allocator }, { "clones", clones }, { "idle", idle }, { "plugins", plugins },
#if defined(__x86_64__)
		{ "oldlink", oldlink },
#endif
	};

	mode = argc > 1 ? argv[1] : "";
	for (unsigned i = 0; i < sizeof modes / sizeof *modes; i++) {
		if (!strcmp(modes[i].name, mode)) {
			modes[i].run();
			return bad;
		}
	}
	fprintf(stderr, "pit: no mode %s\n", mode);
	return 98;
}
