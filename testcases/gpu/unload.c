/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does unloading a module or library wait for the device?  A kernel that takes half
 * a second runs on a non-blocking stream; the call is timed, and the stream is asked
 * whether it is done when the call returns.  Each probe is a process of its own:
 * what becomes of a kernel whose code is taken away is not known.
 *
 *   gpu-unload     prints one line a probe
 */
#include "cuabi.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHECK(call)                                                                                \
	do {                                                                                       \
		int r_ = (int)(call);                                                              \
		if (r_) {                                                                          \
			printf("%s: %d\n", #call, r_);                                             \
			fflush(stdout);                                                            \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)

static const char ptx[] =
	".version 7.0\n.target sm_50\n.address_size 64\n"
	".visible .global .align 4 .u32 total;\n"
	".visible .entry spin(.param .u64 cycles)\n{\n"
	".reg .pred %p<2>; .reg .b32 %r<2>; .reg .b64 %rd<4>;\n"
	"ld.param.u64 %rd1, [cycles]; mov.u64 %rd2, %clock64;\n"
	"SPIN: mov.u64 %rd3, %clock64; sub.s64 %rd3, %rd3, %rd2; setp.lt.u64 %p1, %rd3, %rd1;\n"
	"@%p1 bra SPIN; mov.u32 %r1, 1; st.global.u32 [total], %r1; ret;\n}\n";

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

enum { OWN_MODULE, OTHER_MODULE, OWN_LIBRARY, OTHER_LIBRARY, PROBES };

static void probe(int what)
{
	static const char *const name[PROBES] = {
		"cuModuleUnload of the kernel's module", "cuModuleUnload of another module",
		"cuLibraryUnload of the kernel's library", "cuLibraryUnload of another library"};
	bool library = what >= OWN_LIBRARY, other = what & 1;
	unsigned long long cycles = 1000000000ull;
	void *args[] = {&cycles};
	CUmodule module[2];
	CUlibrary lib[2];
	CUfunction spin;
	CUkernel kernel;
	CUcontext ctx;
	CUstream s;
	double from, took;
	int result, query, end;

	CHECK(cuInit(0));
	CHECK(cuDevicePrimaryCtxRetain(&ctx, 0));
	CHECK(cuCtxSetCurrent(ctx));
	for (unsigned i = 0; i < 2; i++) {
		if (library)
			CHECK(cuLibraryLoadData(&lib[i], ptx, NULL, NULL, 0, NULL, NULL, 0));
		else
			CHECK(cuModuleLoadData(&module[i], ptx));
	}
	if (library) {
		/* both are in the context */
		CHECK(cuLibraryGetKernel(&kernel, lib[1], "spin"));
		CHECK(cuKernelGetFunction(&spin, kernel));
		CHECK(cuFuncLoad(spin));
		CHECK(cuLibraryGetKernel(&kernel, lib[0], "spin"));
		CHECK(cuKernelGetFunction(&spin, kernel));
	} else {
		CHECK(cuModuleGetFunction(&spin, module[1], "spin"));
		CHECK(cuFuncLoad(spin));
		CHECK(cuModuleGetFunction(&spin, module[0], "spin"));
	}
	CHECK(cuFuncLoad(spin));
	CHECK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	CHECK(cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, s, args, NULL));
	from = now();
	result = library ? (int)cuLibraryUnload(lib[other]) : (int)cuModuleUnload(module[other]);
	took = now() - from;
	query = cuStreamQuery(s);
	end = cuStreamSynchronize(s);
	printf("%s: result %d, took %.1f ms, the kernel is %s, the stream ends with %d\n", name[what],
	       result, took, query ? "not done" : "done", end);
	fflush(stdout);
}

int main(void)
{
	for (int i = 0; i < PROBES; i++) {
		pid_t child = fork();
		int status;

		if (!child) {
			probe(i);
			_exit(0);
		}
		waitpid(child, &status, 0);
		if (status)
			printf("probe %d: status %#x\n", i, status);
	}
	return 0;
}
