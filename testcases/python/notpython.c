/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that looks like an interpreter and is none that is known: what is not
 * as expected must switch Python frames off, with a word, and harm nothing.
 *
 *   notpython later|wild|other|cycle|quiet|loading
 */
#include "../../interposer/cuabi.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

unsigned long Py_Version = 0x030b02f0;
char _PyRuntime[4096];
struct type {
	unsigned long count;
	const void *type;
	unsigned long size;
	const char *name;
	unsigned long basic, item;
	void (*dealloc)(void *);
	const void *between[14];
	unsigned long flags;
};
#define READY (1ul << 12)

void PyThreadDealloc(void *o);
int _PyEval_EvalFrameDefault(int n);
const char *Py_GetVersion(void);
void *PyGILState_GetThisThreadState(void);
void *_PyThreadState_UncheckedGet(void);
void *PyInterpreterState_Head(void);
void *PyInterpreterState_Main(void);
int _Py_IsFinalizing(void);

void PyThreadDealloc(void *o)
{
	(void)o;
}

struct type PyCode_Type = {.name = "code", .dealloc = PyThreadDealloc, .flags = READY};
struct type PyUnicode_Type = {.name = "str", .dealloc = PyThreadDealloc, .flags = READY};
struct type PyBytes_Type = {.name = "bytes", .dealloc = PyThreadDealloc, .flags = READY};

static char state[512];
static struct {
	void *previous, *current;
} holder;
static char frame[128], code[512];
static void *now;

const char *Py_GetVersion(void)
{
	return "3.11.2 (not at all)";
}

void *PyGILState_GetThisThreadState(void)
{
	if (!PyCode_Type.flags)
		abort(); /* as it would where the object is not relocated yet */
	return now;
}

void *_PyThreadState_UncheckedGet(void)
{
	return now;
}

void *PyInterpreterState_Head(void)
{
	return NULL;
}

void *PyInterpreterState_Main(void)
{
	return NULL;
}

int _Py_IsFinalizing(void)
{
	return 0;
}

static void put(char *at, const void *p)
{
	memcpy(at, &p, sizeof(p));
}

#define CHECK(call)                                                                                \
	do {                                                                                       \
		if (call)                                                                          \
			return 2;                                                                  \
	} while (0)

int _PyEval_EvalFrameDefault(int n)
{
	CUcontext ctx;
	CUstream s[2];
	CUdeviceptr p;

	CHECK(cuInit(0));
	CHECK(cuDevicePrimaryCtxRetain(&ctx, 0));
	CHECK(cuCtxSetCurrent(ctx));
	CHECK(cuMemAlloc_v2(&p, 4096));
	for (int i = 0; i < 2; i++) {
		CHECK(cuStreamCreate(&s[i], 1));
		CHECK(cuMemsetD8Async(p, 0, 64, s[i]));
	}
	CHECK(cuCtxSynchronize());
	return n;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	unsigned long self = (unsigned long)pthread_self();

	/* as 3.11 has them */
	memcpy(state + 152, &self, sizeof(self));
	put(state + 56, &holder);
	holder.current = frame;
	put(frame + 32, code);
	put(code + 8, &PyCode_Type);
	now = state;
	if (!strcmp(how, "later"))
		Py_Version = 0x030e00f0;
	else if (!strcmp(how, "wild"))
		holder.current = (void *)0x7ffffffff000;
	else if (!strcmp(how, "other"))
		put(code + 8, &PyBytes_Type);
	else if (!strcmp(how, "cycle"))
		put(frame + 48, frame);
	else if (!strcmp(how, "quiet"))
		now = NULL;
	else if (!strcmp(how, "loading"))
		PyCode_Type.flags = 0;
	return _PyEval_EvalFrameDefault(0);
}
