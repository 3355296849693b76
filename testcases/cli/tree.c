/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program for trees of processes: does what its arguments say, in order.
 *
 *   init              cuInit, a context
 *   race              two sets of the same bytes on two streams, unordered
 *   clean             the same, ordered
 *   many N            N sets on one stream
 *   noise N           a module of N bytes that do not get shorter
 *   print TEXT        to stdout, through stdio, not flushed
 *   fork{ ... }       a child by fork alone does what the braces hold
 *   exec{ ... }       a child by fork and exec
 *   become{ ... }     exec without fork
 *   wait              for all children, whatever they end with
 *   orphan            until the parent is gone
 *   linger N          stays N seconds
 *   kill N            signal N to itself
 *   limits            lowers its soft limits so far that no file and no mapping is possible
 *   exit N, _exit N   ends
 *
 * Any surprise of the driver ends it with 3.
 */
#define _GNU_SOURCE
#include "cuabi.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define BYTES 4096

#define CU(call)                                                                            \
	do {                                                                                \
		int r_ = (int)(call);                                                       \
		if (r_) {                                                                   \
			fprintf(stderr, "tree: %s: %d\n", #call, r_);                       \
			exit(3);                                                            \
		}                                                                           \
	} while (0)

static CUdeviceptr buffer;
static CUstream one, two;

static void init(void)
{
	CUcontext ctx;
	CUdevice dev;

	CU(cuInit(0));
	CU(cuDeviceGet(&dev, 0));
	CU(cuDevicePrimaryCtxRetain(&ctx, dev));
	CU(cuCtxSetCurrent(ctx));
	CU(cuMemAlloc(&buffer, BYTES));
	CU(cuStreamCreate(&one, CU_STREAM_NON_BLOCKING));
	CU(cuStreamCreate(&two, CU_STREAM_NON_BLOCKING));
}

static void race(void)
{
	CU(cuMemsetD8Async(buffer, 1, BYTES, one));
	CU(cuMemsetD8Async(buffer, 2, BYTES, two));
	CU(cuCtxSynchronize());
}

static void clean(void)
{
	CU(cuMemsetD8Async(buffer, 1, BYTES, one));
	CU(cuStreamSynchronize(one));
	CU(cuMemsetD8Async(buffer, 2, BYTES, two));
	CU(cuCtxSynchronize());
}

static void noise(size_t n)
{
	static const char head[] = ".version 7.0\n.target sm_50\n.address_size 64\n";
	char *text = malloc(sizeof(head) + n + 1);
	uint64_t x = 1;
	CUmodule m;

	strcpy(text, head);
	for (size_t i = 0; i < n; i++) {
		x = x * 6364136223846793005ull + 1442695040888963407ull;
		text[sizeof(head) - 1 + i] = i % 64 < 2 ? '/' : i % 64 == 63 ? '\n' : (char)('A' + (x >> 40) % 26);
	}
	text[sizeof(head) - 1 + n] = 0;
	CU(cuModuleLoadData(&m, text));
	free(text);
}

static void many(int n)
{
	while (n-- > 0)
		CU(cuMemsetD8Async(buffer, 1, BYTES, one));
	CU(cuCtxSynchronize());
}

static void lower_limits(void)
{
	static const int lowered[] = { RLIMIT_AS, RLIMIT_DATA, RLIMIT_FSIZE };
	struct rlimit l;

	for (unsigned i = 0; i < sizeof(lowered) / sizeof(*lowered); i++) {
		getrlimit(lowered[i], &l);
		l.rlim_cur = 1;
		setrlimit(lowered[i], &l);
	}
}

/* The index of the brace that closes the one opened before av[i]. */
static int closing(char **av, int i)
{
	for (int depth = 1; av[i]; i++) {
		size_t n = strlen(av[i]);

		depth += n && av[i][n - 1] == '{';
		depth -= !strcmp(av[i], "}");
		if (!depth)
			return i;
	}
	fprintf(stderr, "tree: no closing brace\n");
	exit(3);
}

static void execute(char **av)
{
	execv("/proc/self/exe", av);
	perror("tree: exec");
	_exit(3);
}

static void act(char **av)
{
	for (int i = 0; av[i]; i++) {
		const char *a = av[i];

		if (!strcmp(a, "init")) {
			init();
		} else if (!strcmp(a, "race")) {
			race();
		} else if (!strcmp(a, "clean")) {
			clean();
		} else if (!strcmp(a, "many")) {
			many(atoi(av[++i]));
		} else if (!strcmp(a, "noise")) {
			noise((size_t)atoi(av[++i]));
		} else if (!strcmp(a, "print")) {
			printf("%s\n", av[++i]);
		} else if (!strcmp(a, "fork{") || !strcmp(a, "exec{") || !strcmp(a, "become{")) {
			int end = closing(av, i + 1);

			char self[16];

			fflush(stdout);
			snprintf(self, sizeof(self), "%d", (int)getpid());
			setenv("TREE_PARENT", self, 1);
			av[end] = NULL;
			if (*a == 'b' || !fork()) {
				if (*a == 'f') {
					act(av + i + 1);
					exit(0);
				}
				av[i] = "tree";
				execute(av + i);
			}
			i = end;
		} else if (!strcmp(a, "wait")) {
			while (wait(NULL) > 0)
				;
		} else if (!strcmp(a, "orphan")) {
			const char *parent = getenv("TREE_PARENT");

			while (parent && getppid() == atoi(parent))
				usleep(1000);
		} else if (!strcmp(a, "linger")) {
			sleep((unsigned)atoi(av[++i]));
		} else if (!strcmp(a, "kill")) {
			kill(getpid(), atoi(av[++i]));
		} else if (!strcmp(a, "limits")) {
			lower_limits();
		} else if (!strcmp(a, "exit")) {
			exit(atoi(av[++i]));
		} else if (!strcmp(a, "_exit")) {
			_exit(atoi(av[++i]));
		} else {
			fprintf(stderr, "tree: %s?\n", a);
			exit(3);
		}
	}
}

int main(int argc, char **argv)
{
	(void)argc;
	act(argv + 1);
	return 0;
}
