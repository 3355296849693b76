/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What libkrtsan-nop.so has in place of the recorder: nothing.  It measures
 * what the hooks alone cost, and tells a fault of the hooks from one of the
 * recorder.
 */
#include "library_find.h"
#include "resolve.h"

void krt_unwrapped(const char *name, int version)
{
	(void)name;
	(void)version;
}

void krt_second_driver(const char *first, const char *second)
{
	(void)first;
	(void)second;
}

void krt_trouble(unsigned bits)
{
	(void)bits;
}

void krt_library_missing(const char *symbol)
{
	(void)symbol;
}

#define KRT_CALL(sym, ...)
#define KRT_PASS(sym, base)
#define KRT_NOTE(sym, ...)                                                                  \
	__attribute__((visibility("default"))) void sym(void);                              \
	void sym(void)                                                                      \
	{                                                                                   \
	}
#define KRT_LIBC(sym, ...)
#include "api.def"
