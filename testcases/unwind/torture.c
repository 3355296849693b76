/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The unwinder against libgcc's, frame by frame, over everything that makes
 * stacks hard.  Prints one "ok NAME" or "not ok NAME" a case.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "check.h"

typedef int (*chain_fn)(int);
int chain_O0(int depth, chain_fn leaf, int arg);
int chain_O2(int depth, chain_fn leaf, int arg);
int chain_fp(int depth, chain_fn leaf, int arg);
int chain_Os(int depth, chain_fn leaf, int arg);
int chain_bare(int depth, chain_fn leaf, int arg);    /* no tables, no frame pointer */
int chain_bare_fp(int depth, chain_fn leaf, int arg); /* no tables, frame pointers */
int chain_cxx(int depth, chain_fn leaf, int arg);     /* C++ */

static int failures;

static void verdict(const char *name, int bad)
{
	printf("%s %s\n", bad ? "not ok" : "ok", name);
	fflush(stdout);
	failures += !!bad;
}

/* ---- chains ------------------------------------------------------------------- */

static const char *at = "";

static int leaf_equal(int arg)
{
	(void)arg;
	return check_equal(at);
}

static int cold_and_warm(int (*chain)(int, chain_fn, int))
{
	int bad = 0;

	for (int depth = 0; depth < 20; depth++)
		for (int round = 0; round < 3; round++)
			bad |= chain(depth, leaf_equal, 0);
	return bad;
}

static int mix(int arg)
{
	switch (arg) {
	case 0:
		return check_equal("mix");
	case 1:
		return chain_O0(3, mix, arg - 1);
	case 2:
		return chain_fp(2, mix, arg - 1);
	case 3:
		return chain_O2(5, mix, arg - 1);
	case 4:
		return chain_cxx(4, mix, arg - 1);
	default:
		return chain_Os(3, mix, arg - 1);
	}
}

/* ---- callbacks through libc ------------------------------------------------------ */

static int cmp_bad;

static int compare(const void *a, const void *b)
{
	cmp_bad |= chain_O2(3, leaf_equal, 0);
	return *(const int *)a - *(const int *)b;
}

static int through_qsort(void)
{
	int v[40];

	cmp_bad = 0;
	for (int i = 0; i < 40; i++)
		v[i] = (i * 7919) % 41;
	qsort(v, 40, sizeof(v[0]), compare);
	return cmp_bad || v[0] > v[1];
}

/* ---- plug-ins at one address ------------------------------------------------------ */

static void *run_plugin(const char *dir, const char *name, int *bad)
{
	char path[PATH_MAX];
	void *h, *run;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	h = dlopen(path, RTLD_NOW);
	run = h ? dlsym(h, "plugin_run") : NULL;
	if (!run) {
		fprintf(stderr, "%s: %s\n", name, dlerror());
		*bad = 1;
		return NULL;
	}
	at = name;
	for (int i = 0; i < 3; i++)
		*bad |= chain_O2(3, (chain_fn)leaf_equal, 0) |
			((int (*)(chain_fn, int))run)(leaf_equal, 0);
	*bad |= dlclose(h);
	return run;
}

static int plugins(const char *dir, int rounds)
{
	static const char *const name[] = { "plug1.so", "plug2.so", "plug3.so", "plug4.so" };
	void *last = NULL;
	int bad = 0, same = 0;

	for (int i = 0; i < rounds && !bad; i++) {
		void *run = run_plugin(dir, name[i % 4], &bad);

		same += run == last;
		last = run;
	}
	if (!same && getenv("KRT_EMULATED"))
		return bad; /* qemu hands out ever new addresses */
	if (!same) {
		fprintf(stderr, "plug-ins never met at one address: nothing was tested\n");
		bad = 1;
	}
	return bad;
}

/* ---- threads ------------------------------------------------------------------------ */

static _Atomic int thread_bad;

static void *thread_chains(void *arg)
{
	(void)arg;
	for (int i = 0; i < 60; i++) {
		if (chain_O2(i % 20, leaf_equal, 0) | chain_O0(i % 7, leaf_equal, 0) | mix(i % 6))
			thread_bad = 1;
	}
	return NULL;
}

static int threads(const char *dir)
{
	pthread_t t[8];
	int bad = 0;

	thread_bad = 0;
	for (int i = 0; i < 8; i++)
		pthread_create(&t[i], NULL, thread_chains, NULL);
	if (dir)
		bad = plugins(dir, 60);
	for (int i = 0; i < 8; i++)
		pthread_join(t[i], NULL);
	return bad | thread_bad;
}

/* A thread on a stack of the smallest size, given by the program. */
static int small_stack(void)
{
	size_t size = 64 << 10;
	char *stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_attr_t attr;
	pthread_t t;

	thread_bad = 0;
	pthread_attr_init(&attr);
	pthread_attr_setstack(&attr, stack, size);
	if (pthread_create(&t, &attr, (void *(*)(void *))(void *)through_qsort, NULL))
		return 1;
	pthread_join(t, NULL);
	pthread_attr_destroy(&attr);
	munmap(stack, size);
	return cmp_bad;
}

/* ---- coroutines: the stack pointer jumps, stacks come and go -------------------------- */

static ucontext_t main_context, co_context;
static int co_bad;

static void coroutine(void)
{
	co_bad |= chain_O2(2, leaf_equal, 0);
	swapcontext(&co_context, &main_context);
	co_bad |= chain_Os(1, leaf_equal, 0);
}

static int coroutines(void)
{
	co_bad = 0;
	for (int i = 0; i < 50; i++) {
		size_t size = (96 + 4 * (i % 5)) << 10;
		char *stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		getcontext(&co_context);
		co_context.uc_stack.ss_sp = stack;
		co_context.uc_stack.ss_size = size;
		co_context.uc_link = &main_context;
		makecontext(&co_context, coroutine, 0);
		swapcontext(&main_context, &co_context);
		co_bad |= chain_O0(3, leaf_equal, 0);
		swapcontext(&main_context, &co_context);
		munmap(stack, size);
	}
	return co_bad;
}

/* ---- signals ---------------------------------------------------------------------------- */

static volatile int sig_bad, sig_count;

static void on_signal(int sig)
{
	(void)sig;
	sig_count++;
	sig_bad |= check_equal("signal");
}

static int leaf_raise(int arg)
{
	return raise(arg);
}

static int signals(int flags)
{
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = flags };
	static char alt[128 << 10];
	stack_t ss = { .ss_sp = alt, .ss_size = sizeof(alt) }, off = { .ss_flags = SS_DISABLE };

	sig_bad = sig_count = 0;
	sigaltstack(&ss, NULL);
	sigaction(SIGUSR1, &sa, NULL);
	for (int i = 0; i < 12; i++) {
		chain_O2(i, leaf_raise, SIGUSR1);
		chain_O0(i, leaf_raise, SIGUSR1);
	}
	signal(SIGUSR1, SIG_DFL);
	sigaltstack(&off, NULL);
	return sig_bad || sig_count != 24;
}

#if defined(__x86_64__)
/* Every instruction of a stretch of code, by the trap flag. */
static volatile int steps, stepping;

static void on_trap(int sig, siginfo_t *si, void *uc)
{
	(void)sig;
	(void)si;
	(void)uc;
	if (!stepping)
		return; /* main's pushf and popf: no table tells of those */
	steps++;
	sig_bad |= check_equal("step");
}

static int leaf_plain(int arg)
{
	return arg + (int)strtol("12", NULL, 10) + (getenv("PATH") == NULL);
}

static __attribute__((noinline)) int stepped(void)
{
	int v[5] = { 3, 1, 2, 5, 4 }, r;

	stepping = 1;
	r = chain_O2(12, leaf_plain, 0) + chain_O0(7, leaf_plain, 0) + chain_fp(7, leaf_plain, 0) +
	    chain_Os(7, leaf_plain, 0);
	qsort(v, 5, sizeof(v[0]), (int (*)(const void *, const void *))(void *)strcmp);
	stepping = 0;
	return r;
}

static int single_step(void)
{
	struct sigaction sa = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };

	sig_bad = steps = 0;
	sigaction(SIGTRAP, &sa, NULL);
	__asm__ volatile("pushfq; orl $0x100, (%%rsp); popfq" ::: "memory", "cc");
	stepped();
	__asm__ volatile("pushfq; andl $~0x100, (%%rsp); popfq" ::: "memory", "cc");
	signal(SIGTRAP, SIG_DFL);
	if (steps < 500)
		fprintf(stderr, "only %d steps\n", steps);
	return sig_bad || steps < 500;
}
#endif

/* ---- code without tables -------------------------------------------------------------------- */

static int stacks_sane(const struct check_stacks *s)
{
	/* every frame is in code that the loader knows */
	for (unsigned i = 0; i < s->n; i++) {
		Dl_info info;

		if (!dladdr((void *)(uintptr_t)(s->pc[i] - 1), &info)) {
			fprintf(stderr, "frame %u: %lx is nobody's\n", i, (long)s->pc[i]);
			return 0;
		}
	}
	return 1;
}

static struct check_stacks taken;

static int leaf_take(int arg)
{
	(void)arg;
	check_take(&taken);
	return 0;
}

/* Frame pointers without tables: the walk goes through and ends where the caller's own ends. */
static __attribute__((noinline)) int bare_fp(void)
{
	struct check_stacks outer;
	int bad = 0;

	for (int depth = 0; depth < 12; depth++) {
		check_take(&outer);
		chain_bare_fp(depth, leaf_take, 0);
		bad |= !stacks_sane(&taken);
		/* all but the frame of this function itself, which is at another place in it */
		if (taken.n < outer.n + depth ||
		    memcmp(&taken.pc[taken.n - outer.n + 1], &outer.pc[1], (outer.n - 1) * 8)) {
			fprintf(stderr, "depth %d: %u frames, %u outside\n", depth, taken.n, outer.n);
			bad = 1;
		}
	}
	return bad;
}

static int bare(void)
{
	int bad = 0;

	for (int depth = 0; depth < 12; depth++) {
		chain_bare(depth, leaf_take, 0);
		bad |= !stacks_sane(&taken) || taken.n < 1;
	}
	return bad;
}

/* Generated code: nobody's, so the walk ends before it. */
static int jit(void)
{
#if defined(__x86_64__)
	/* push rbx; sub rsp, 32; mov rax, rdi; xor edi, edi; call rax; add rsp, 32; pop rbx; ret */
	static const uint8_t code[] = { 0x53, 0x48, 0x83, 0xec, 0x20, 0x48, 0x89, 0xf8, 0x31, 0xff,
					0xff, 0xd0, 0x48, 0x83, 0xc4, 0x20, 0x5b, 0xc3 };
#else
	/* stp x29, x30, [sp, #-32]!; mov x1, x0; mov w0, #0; blr x1; ldp x29, x30, [sp], #32; ret */
	static const uint32_t code[] = { 0xa9be7bfd, 0xaa0003e1, 0x52800000, 0xd63f0020, 0xa8c27bfd,
					 0xd65f03c0 };
#endif
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int bad = 0;

	memcpy(p, code, sizeof(code));
	mprotect(p, 4096, PROT_READ | PROT_EXEC);
	__builtin___clear_cache(p, (char *)p + sizeof(code));
	for (int i = 0; i < 3; i++) {
		((int (*)(chain_fn))p)(leaf_take);
		bad |= !stacks_sane(&taken) || taken.n != 1;
	}
	munmap(p, 4096);
	return bad;
}

/* ---- a stack that was overwritten ------------------------------------------------------------ */

static __attribute__((noinline)) int smash(int arg)
{
	uintptr_t *frame = __builtin_frame_address(0), keep[16];
	static uint64_t seed = 12345;
	const int words = 16;

	/* what lies above, saved pointers and return addresses, becomes rubbish for a moment */
	memcpy(keep, frame, sizeof(keep));
	for (int i = 0; i < words; i++) {
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		switch (arg ? seed >> 61 : 8) {
		case 0:
			frame[i] = seed;
			break;
		case 1:
			frame[i] = (uintptr_t)frame + (seed >> 40) % 100000 * 8;
			break;
		case 2:
			frame[i] = (uintptr_t)&smash + (seed >> 40) % 200;
			break;
		case 3:
			frame[i] = (uintptr_t)&qsort + (seed >> 40) % 2000;
			break;
		case 4:
			frame[i] = (uintptr_t)frame & ~4095ul;
			break;
		default:
			break;
		}
	}
	{
		extern unsigned check_ours(struct check_stacks * s);

		check_ours(&taken);
	}
	memcpy(frame, keep, sizeof(keep));
	return !stacks_sane(&taken);
}

static int smashed(void)
{
	int bad = 0;

	for (int i = 0; i < 3000; i++)
		bad |= chain_O2(i % 8, smash, 1) | chain_bare_fp(i % 5, smash, 1);
	return bad;
}

/* ---- fork ------------------------------------------------------------------------------------- */

static int forked(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(mix(5) | cold_and_warm(chain_Os));
	return waitpid(pid, &status, 0) != pid || status;
}

int main(int argc, char **argv)
{
	const char *dir = argc > 1 ? argv[1] : ".";

	at = "O0";
	verdict("chain -O0", cold_and_warm(chain_O0));
	at = "O2";
	verdict("chain -O2 -fomit-frame-pointer", cold_and_warm(chain_O2));
	at = "fp";
	verdict("chain -O2 -fno-omit-frame-pointer", cold_and_warm(chain_fp));
	at = "Os";
	verdict("chain -Os", cold_and_warm(chain_Os));
	at = "c++";
	verdict("chain C++", cold_and_warm(chain_cxx));
	verdict("mixed chain", mix(5) | mix(5));
	at = "qsort";
	verdict("callbacks through qsort", through_qsort());
	verdict("plug-ins that take each other's place", plugins(dir, 40));
	at = "thread";
	verdict("threads", threads(NULL));
	verdict("threads while plug-ins come and go", threads(dir));
	at = "small";
	verdict("a thread on a stack of the program's", small_stack());
	at = "coroutine";
	verdict("coroutines", coroutines());
	verdict("signal handler", signals(0));
	verdict("signal handler on its own stack", signals(SA_ONSTACK));
#if defined(__x86_64__)
	verdict("every instruction", single_step());
#endif
	verdict("no tables, frame pointers", bare_fp());
	verdict("no tables, no frame pointers", bare());
	verdict("generated code", jit());
	if (!getenv("KRT_EMULATED")) /* qemu does not tell readable memory from other */
		verdict("overwritten stack", smashed());
	at = "fork";
	verdict("fork child", forked());
	return failures != 0;
}
