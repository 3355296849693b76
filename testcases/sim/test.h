/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of the simulated driver: plain programs linked with it.  Each test
 * is a function; a program is run once with the names of all its tests printed
 * as "ok NAME" or "not ok NAME".  A test runs in a child, so that it may choose
 * options by environment and may break its context.
 */
#ifndef SIM_TEST_H
#define SIM_TEST_H

#include "../../interposer/cuabi.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHECK(cond)                                                                                \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #cond);                 \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)
#define CU(call)                                                                                   \
	do {                                                                                       \
		CUresult cu_ = (call);                                                             \
		if (cu_ != CUDA_SUCCESS) {                                                         \
			fprintf(stderr, "%s:%d: %s: error %d\n", __FILE__, __LINE__, #call, cu_);  \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)
#define FAILS(code, call)                                                                          \
	do {                                                                                       \
		CUresult cu_ = (call);                                                             \
		if (cu_ != (code)) {                                                               \
			fprintf(stderr, "%s:%d: %s: %d, expected %s\n", __FILE__, __LINE__, #call, \
				cu_, #code);                                                       \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)

static inline CUcontext test_ctx(int dev)
{
	CUcontext c;

	CU(cuInit(0));
	CU(cuDevicePrimaryCtxRetain(&c, dev));
	CU(cuCtxSetCurrent(c));
	return c;
}

struct test {
	const char *name;
	void (*run)(void);
	const char *options; /* KRTSAN_OPTIONS */
};

static inline int test_main(const struct test *t, int argc, char **argv)
{
	int bad = 0;

	for (; t->name; t++) {
		pid_t pid;
		int st = 0;

		if (argc > 1 && strcmp(argv[1], t->name))
			continue;
		fflush(NULL);
		pid = fork();
		if (!pid) {
			if (t->options)
				setenv("KRTSAN_OPTIONS", t->options, 1);
			alarm(120);
			t->run();
			fflush(NULL);
			_exit(0);
		}
		waitpid(pid, &st, 0);
		printf("%s sim/%s\n", st ? "not ok" : "ok", t->name);
		bad |= st;
	}
	return bad != 0;
}

#endif
