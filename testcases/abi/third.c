/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A third library in the look-up order: what RTLD_NEXT means depends on who
 * asks.  Built at -O0 and -O2, and once more (LAST) as the library behind it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

int third_marker(void);
void *third_next(const char *name);
void *third_default(const char *name);

#ifdef LAST
int third_marker(void)
{
	return 2;
}
#else
int third_marker(void)
{
	return 1;
}

void *third_next(const char *name)
{
	void *volatile p = dlsym(RTLD_NEXT, name); /* a tail call would make our caller the asker */

	return p;
}

void *third_default(const char *name)
{
	return dlsym(RTLD_DEFAULT, name);
}
#endif
