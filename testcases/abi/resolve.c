/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The resolver hooks, seen from a program: run under the preload library with
 * the fake driver.  resolve MODE; prints `ok NAME` and `not ok NAME`.
 */
#define _GNU_SOURCE
#include "fake.h"
#include "api.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int third_marker(void);
void *third_next(const char *name);
void *third_default(const char *name);

static int bad;
static const char *mode;

static void check(int good, const char *name)
{
	printf("%s %s%s%s\n", good ? "ok" : "not ok", mode, ": ", name);
	fflush(stdout);
	bad |= !good;
}

static struct fake_control *fake;

static void *driver(void)
{
	void *h = dlopen("libcuda.so.1", RTLD_NOW);

	if (!h) {
		printf("not ok %s: %s\n", mode, dlerror());
		exit(1);
	}
	fake = dlsym(h, "fake");
	return h;
}

typedef int get_v1(const char *, void **, int, uint64_t);
typedef int get_v2(const char *, void **, int, uint64_t, int *);

static int wrapped(unsigned id)
{
	return krt_api[id].cls >= KRT_CLASS_MODELLED && krt_api[id].cls <= KRT_CLASS_UNSUPPORTED;
}

static void every_name(void *h)
{
	unsigned wrong = 0, same = 0, passed = 0;

	for (unsigned i = 0; i < KRT_NR_APIS; i++) {
		const char *name = krt_api[i].symbol;
		void *p, *d;

		if (krt_api[i].cls > KRT_CLASS_UNSUPPORTED)
			continue;
		p = dlsym(h, name);
		d = dlsym(RTLD_DEFAULT, name);
		if (!strncmp(name, "cuGetProcAddress", 16)) {
			wrong += p == fake->address(name);
		} else if (wrapped(i)) {
			same += p == d && p != fake->address(name);
			wrong += p == fake->address(name);
		} else {
			passed += p == fake->address(name);
			wrong += p != fake->address(name);
		}
	}
	printf("# %u wrapped, %u passed, %u wrong\n", same, passed, wrong);
	check(!wrong && same > 300 && passed > 250, "every name by dlsym: wrapper or the driver's own");
}

static void handle(void)
{
	void *h = driver(), *p;
	int (*alloc)(uint64_t *, uint64_t);
	uint64_t ptr = 0;

	every_name(h);
	check(dlsym(h, "cuda_no_such_thing") == NULL && dlerror(), "unknown name fails and says so");
	check(dlsym(h, "cuNoSuchThing") == NULL && dlerror(), "unknown cu name fails and says so");
	dlsym(h, "cuInit");
	check(!dlerror(), "dlerror is clean after a hooked look-up");
	errno = 4711;
	p = dlsym(h, "cuMemFree_v2");
	check(p && errno == 4711, "errno stands");
	alloc = (int (*)(uint64_t *, uint64_t))dlsym(h, "cuMemAlloc_v2");
	check(alloc(&ptr, 100) == 0 && ptr && fake->calls("cuMemAlloc_v2") == 1 &&
	      fake->args("cuMemAlloc_v2")[1] == 100, "the wrapper forwards");
	check(dlsym(RTLD_DEFAULT, "malloc") == (void *)malloc, "other names by RTLD_DEFAULT");
	check(dlsym(NULL, "cuInit") == dlsym(h, "cuInit"), "a NULL handle finds the wrapper");
	((int (*)(unsigned))dlsym(h, "cuInit"))(0);
	check(fake->inner_dlsym == 1, "the driver's own look-ups are left alone");
}

/* every argument of every generated wrapper reaches the driver in its place */
static void forwarding(void)
{
	void *h = driver();
	unsigned wrong = 0, done = 0;

	fake->result = 999; /* so that nothing is looked at behind the pointers after the call */
	for (unsigned i = 0; i < KRT_NR_APIS; i++) {
		static uint64_t room[64];
		uint64_t a[KRT_MAX_ARGS], top = 0xabcdef0000000000ull;
		int (*f)() = wrapped(i) ? (int (*)())dlsym(h, krt_api[i].symbol) : NULL;
		const uint64_t *got;
		int r;

		if (!f || krt_api[i].flags & KRT_F_HANDMADE)
			continue;
		for (unsigned k = 0; k < KRT_MAX_ARGS; k++) {
			unsigned w = k < krt_api[i].argc ? krt_api[i].arg[k].width : 8;
			unsigned role = k < krt_api[i].argc ? krt_api[i].arg[k].role : 0;

			/* garbage in the upper half of short arguments must travel as well */
			a[k] = (w < 8 ? top : 0) + 0x100 + k;
			if (role >= KRT_ROLE_OUT_ADDR)
				a[k] = (uintptr_t)room;
			if (role == KRT_ROLE_COUNT || role == KRT_ROLE_NATTRS)
				a[k] = 1;
		}
		if (krt_api[i].op == KRT_OP_LAUNCH_MULTI || krt_api[i].op == KRT_OP_COPY_3D_BATCH)
			a[krt_api[i].op == KRT_OP_LAUNCH_MULTI] = 1;
		r = f(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11],
		      a[12], a[13], a[14], a[15]);
		got = fake->args(krt_api[i].symbol);
		for (unsigned k = 0; k < krt_api[i].argc; k++)
			if (got[k] != a[k]) {
				printf("# %s: argument %u\n", krt_api[i].symbol, k);
				wrong++;
				break;
			}
		wrong += r != 999;
		done++;
	}
	printf("# %u wrappers called\n", done);
	check(!wrong && done > 280, "every argument of every wrapper, and the result");
	fake->result = 0;

	struct { char b[64]; } handle;
	uint64_t out = 0;

	for (unsigned k = 0; k < 64; k++)
		handle.b[k] = (char)k;
	((int (*)(uint64_t *, __typeof__(handle)))dlsym(h, "cuIpcOpenEventHandle"))(&out, handle);
	check(fake->args("cuIpcOpenEventHandle")[1] == 0x0706050403020100 &&
	      fake->args("cuIpcOpenEventHandle")[3] == 0x3f3e3d3c3b3a3938, "a struct by value, event");
	((int (*)(uint64_t *, __typeof__(handle), unsigned))dlsym(h, "cuIpcOpenMemHandle_v2"))(&out, handle, 5);
	check(fake->args("cuIpcOpenMemHandle_v2")[1] == 0x0706050403020100 &&
	      fake->args("cuIpcOpenMemHandle_v2")[3] == 0x3f3e3d3c3b3a3938 &&
	      fake->args("cuIpcOpenMemHandle_v2")[2] == 5, "a struct by value, memory");
}

/* as cudart does it */
static void getproc(void)
{
	void *h = driver(), *v1 = NULL, *v2 = NULL, *p = NULL;
	get_v2 *get = (get_v2 *)dlsym(h, "cuGetProcAddress_v2");
	int status = 9;

	check(get && (void *)get != fake->address("cuGetProcAddress_v2"), "cuGetProcAddress_v2 is wrapped");
	p = (void *)1;
	check(get("", &p, 0, 0, &status) == 0 && !p && status == 1, "empty name, version 0");
	p = (void *)1;
	check(get("cuNoSuch", &p, 12000, 0, NULL) == 0 && !p, "NULL result, NULL status");
	check(!get("cuGetProcAddress", &v1, 11030, 0, NULL) && v1 == dlsym(h, "cuGetProcAddress") &&
	      v1 != fake->address("cuGetProcAddress"), "self look-up at 11030 is the four-argument wrapper");
	check(!get("cuGetProcAddress", &v2, 12000, 0, NULL) && v2 == (void *)get, "self look-up at 12000");
	p = (void *)1;
	check(((get_v1 *)v1)("cuNoSuch", &p, 11030, 0) == 500 && p == (void *)1, "v1: not found leaves the output alone");
	check(!((get_v1 *)v1)("cuMemAlloc", &p, 11030, 0) && p == dlsym(h, "cuMemAlloc_v2"), "v1 substitutes");
	check(!((get_v2 *)v2)("cuMemcpyAsync", &p, 12000, 2, NULL) && p == dlsym(h, "cuMemcpyAsync_ptsz") &&
	      p != dlsym(h, "cuMemcpyAsync"), "flag 2 yields the _ptsz wrapper");
	check(!((get_v2 *)v2)("cuMemcpyHtoD", &p, 12000, 2, NULL) && p == dlsym(h, "cuMemcpyHtoD_v2_ptds"),
	      "flag 2 yields the _v2_ptds wrapper");
	check(!get("cuCtxSynchronize", &p, 2000, 0, NULL) && p == dlsym(h, "cuCtxSynchronize"), "an old version");
	check(!get("cuCtxSynchronize", &p, 13000, 0, NULL) && p == dlsym(h, "cuCtxSynchronize_v2"), "a new version");
	check(!get("cuDeviceGet", &p, 2000, 0, NULL) && p == fake->address("cuDeviceGet"), "a passed name is the driver's");
	check(!get("cuTomorrow", &p, 13030, 0, NULL) && ((int (*)(uint64_t))p)(7) == 0, "an unknown entry point passes");
}

static void third(void)
{
	void *mine = dlsym(RTLD_DEFAULT, "third_marker"), *h, *next;

	next = third_next("third_marker");
	check(mine && next && next != mine && ((int (*)(void))next)() == 2, "RTLD_NEXT from a third library");
	for (int i = 0; i < 100; i++)
		if (third_next("third_marker") != next)
			check(0, "RTLD_NEXT again and again");
	check(third_next("malloc") == (void *)malloc, "RTLD_NEXT of a libc name");
	check(third_default("third_marker") == mine, "RTLD_DEFAULT from a third library");
	check(!third_next("cuMemAlloc_v2") && dlerror(), "no driver: RTLD_NEXT of a cu name fails and says so");
	check(!dlsym(RTLD_DEFAULT, "cuMemAlloc_v2") && dlerror(), "no driver: RTLD_DEFAULT fails and says so");
	h = driver();
	check(third_default("cuMemAlloc_v2") == dlsym(h, "cuMemAlloc_v2"), "RTLD_DEFAULT of a cu name");
}

static void old(void)
{
	void *h = driver();

	check(!dlsym(h, "cuLaunchKernelEx") && dlerror(), "missing in the driver: missing for its handle");
	check(!dlsym(RTLD_DEFAULT, "cuLaunchKernelEx") && dlerror(), "and for RTLD_DEFAULT");
	check(dlsym(RTLD_DEFAULT, "cuLaunchKernel") != NULL, "what it has is there");
	check(!dlsym(h, "cuGetProcAddress_v2"), "no second resolver");
}

static void closing(void)
{
	void *h = driver(), *p = dlsym(h, "cuMemFree_v2"), *again;

	dlclose(h);
	h = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	check(h != NULL, "a closed driver stays");
	check(((int (*)(uint64_t))p)(1) == 0, "its wrapper works");
	again = driver();
	check(dlsym(again, "cuMemFree_v2") == p, "opened again, the same wrapper");
}

static void second(void)
{
	void *h = driver(), *other = dlopen(getenv("FAKE_SECOND"), RTLD_NOW | RTLD_LOCAL);
	struct fake_control *f2 = other ? dlsym(other, "fake") : NULL;

	dlsym(h, "cuInit");
	check(other && f2 != fake, "a second libcuda");
	check(f2 && dlsym(other, "cuMemFree_v2") == f2->address("cuMemFree_v2"), "passes through unwrapped");
	check(dlsym(h, "cuMemFree_v2") != fake->address("cuMemFree_v2"), "the first stays wrapped");
}

static void deep(void)
{
	void *h = driver(), *lib = dlopen(getenv("FAKE_DEEP"), RTLD_NOW | RTLD_DEEPBIND);
	void *(*deep_next)(const char *) = lib ? (void *(*)(const char *))dlsym(lib, "third_default") : NULL;

	/* a known limit: its own dlsym is libc's; the program must be right all the same */
	check(deep_next && deep_next("malloc") != NULL, "a deep-bound library works");
	check(dlsym(h, "cuMemFree_v2") != fake->address("cuMemFree_v2"), "the others stay wrapped");
}

int main(int argc, char **argv)
{
	static const struct { const char *name; void (*run)(void); } tests[] = {
		{ "handle", handle }, { "forwarding", forwarding }, { "getproc", getproc }, { "third", third },
		{ "old", old }, { "closing", closing }, { "second", second }, { "deep", deep },
	};

	mode = argc > 1 ? argv[1] : "";
	for (unsigned i = 0; i < sizeof tests / sizeof *tests; i++)
		if (!strcmp(tests[i].name, mode))
			tests[i].run();
	return bad;
}
