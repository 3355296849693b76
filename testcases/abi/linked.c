/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that reach the driver by symbol: linked with it, against a newer
 * one than is there, with weak references and none at all, and one that
 * defines dlsym itself.  Prints `ok NAME` and `not ok NAME`.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#ifdef WEAK
#pragma weak cuInit
#pragma weak cuMemAlloc_v2
#endif
int cuInit(unsigned flags);
int cuMemAlloc_v2(uint64_t *ptr, uint64_t bytes);
#ifdef LINKED
int cuLaunchKernelEx(const void *config, void *f, void **params, void **extra);
#endif

static int bad;

static void check(int good, const char *name)
{
	printf("%s linked: %s\n", good ? "ok" : "not ok", name);
	fflush(stdout);
	bad |= !good;
}

#ifdef OVERRIDE
/* some programs and tools bring their own */
static int hits;
__attribute__((visibility("default"))) void *dlsym(void *handle, const char *name)
{
	static void *(*real)(void *, const char *);

	if (!real) {
		real = (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
		if (!real)
			real = (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
	}
	hits++;
	return real(handle, name);
}
#endif

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	uint64_t p = 0;

#ifdef WEAK
	int watched = !strcmp(mode, "watched");

	check(!cuInit == !watched, watched ? "weak references are seen as present" : "weak references are null");
	if (cuInit) {
		check(cuInit(0) == 100, "no driver: cuInit says NO_DEVICE");
		check(cuMemAlloc_v2(&p, 1) == 3, "no driver: the rest says NOT_INITIALIZED");
	}
	check(!dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), "none was loaded for it");
#endif
#ifdef LINKED
	check(!cuInit(0), "cuInit");
	check(!cuMemAlloc_v2(&p, 64) && p, "cuMemAlloc");
	check(cuLaunchKernelEx(NULL, NULL, NULL, NULL) == (strcmp(mode, "old") ? 0 : 500),
	      strcmp(mode, "old") ? "cuLaunchKernelEx" : "an older driver: NOT_FOUND");
#endif
#ifdef OVERRIDE
	void *h = dlopen("libcuda.so.1", RTLD_NOW);
	int (*init)(unsigned) = (int (*)(unsigned))dlsym(h, "cuInit");
	int (*alloc)(uint64_t *, uint64_t) = (int (*)(uint64_t *, uint64_t))dlsym(h, "cuMemAlloc_v2");

	check(init && alloc && hits == 2 && !init(0) && !alloc(&p, 64) && p, "a program with a dlsym of its own");
#endif
	(void)mode;
	(void)p;
	return bad;
}
