/* SPDX-License-Identifier: Apache-2.0 */
/* Another preload tool that hooks dlsym, the way most do it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

int hook_hits(void);

static int hits;

int hook_hits(void)
{
	return hits;
}

__attribute__((visibility("default"))) void *dlsym(void *handle, const char *name)
{
	static void *(*next)(void *, const char *);

	if (!next) {
		next = (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
		if (!next)
			next = (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
		if (!next)
			next = (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.17");
	}
	hits++;
	return next(handle, name);
}
