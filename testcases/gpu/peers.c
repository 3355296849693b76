/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a driver does when a context uses what belongs to another: one line a
 * question.  Runs on one device or two, and on the simulated driver.  Each
 * question is asked in a process of its own, since a wrong answer ends a context.
 */
#include "../common/prog.h"

#include <sys/wait.h>

enum { N = 1024 };

static CUcontext second;    /* another context on device 0 */
static CUcontext elsewhere; /* device 1's, NULL: there is one device */
static struct prog_kernels k2;

static void say(const char *what, CUresult call, CUresult sync)
{
	printf("%-68s call %d, sync %d\n", what, (int)call, (int)sync);
}

static CUdeviceptr made_in(CUcontext c)
{
	CUdeviceptr d;

	CU(cuCtxSetCurrent(c));
	CU(cuMemAlloc(&d, 4 * N));
	CU(cuMemsetD32(d, 1, N));
	CU(cuCtxSynchronize());
	return d;
}

static CUresult run_in(CUcontext c, CUdeviceptr d, uint32_t v)
{
	uint32_t n = N;
	uint64_t cycles = 0;
	void *args[] = {&d, &v, &n, &cycles};

	CU(cuCtxSetCurrent(c));
	prog_load(&k2);
	return cuLaunchKernel(k2.inc, 1, 1, 1, 64, 1, 1, 0, NULL, args, NULL);
}

static void kernel(const char *what, CUcontext user, CUcontext owner, bool peer)
{
	CUdeviceptr d = made_in(owner);
	CUresult r;

	CU(cuCtxSetCurrent(user));
	if (peer)
		say("  cuCtxEnablePeerAccess", cuCtxEnablePeerAccess(owner, 0), 0);
	r = run_in(user, d, 1);
	say(what, r, cuCtxSynchronize());
}

static void set(const char *what, CUcontext user, CUcontext owner)
{
	CUdeviceptr d = made_in(owner);
	CUresult r;

	CU(cuCtxSetCurrent(user));
	r = cuMemsetD32Async(d, 2, N, NULL);
	say(what, r, cuCtxSynchronize());
}

static void copies(const char *what, CUcontext user, CUcontext owner)
{
	CUdeviceptr d = made_in(owner), mine = made_in(user);
	uint32_t word = 0;
	CUresult r = cuMemcpyDtoDAsync(mine, d, 4 * N, NULL);

	printf("%s:\n", what);
	say("  cuMemcpyDtoDAsync from it", r, cuCtxSynchronize());
	r = cuMemcpyDtoDAsync(d, mine, 4 * N, NULL);
	say("  cuMemcpyDtoDAsync to it", r, cuCtxSynchronize());
	r = cuMemcpyDtoHAsync(&word, d, 4, NULL);
	say("  cuMemcpyDtoHAsync from it", r, cuCtxSynchronize());
	r = cuMemcpyHtoDAsync(d, &word, 4, NULL);
	say("  cuMemcpyHtoDAsync to it", r, cuCtxSynchronize());
	r = cuMemcpyAsync(mine, d, 4 * N, NULL);
	say("  cuMemcpyAsync from it", r, cuCtxSynchronize());
}

static void pool(const char *what, bool peer)
{
	CUdeviceptr d;
	CUresult r;

	CU(cuCtxSetCurrent(prog_context));
	CU(cuMemAllocAsync(&d, 4 * N, NULL));
	CU(cuMemsetD32(d, 1, N));
	CU(cuCtxSynchronize());
	CU(cuCtxSetCurrent(elsewhere));
	if (peer)
		say("  cuCtxEnablePeerAccess", cuCtxEnablePeerAccess(prog_context, 0), 0);
	r = run_in(elsewhere, d, 1);
	say(what, r, cuCtxSynchronize());
}

static void handles(void)
{
	uint32_t v = 1, n = N;
	uint64_t cycles = 0;
	CUdeviceptr d = made_in(second);
	void *args[] = {&d, &v, &n, &cycles};
	CUevent a, b;
	CUstream s;
	float ms;

	CU(cuCtxSetCurrent(prog_context));
	CU(cuEventCreate(&a, 0));
	CU(cuEventRecord(a, NULL));
	CU(cuCtxSetCurrent(second));
	CU(cuEventCreate(&b, 0));
	CU(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	CU(cuEventRecord(b, s));
	say("function of another context on a stream",
	    cuLaunchKernel(prog.fill, 1, 1, 1, 64, 1, 1, 0, s, args, NULL), cuCtxSynchronize());
	say("the same on the default stream",
	    cuLaunchKernel(prog.fill, 1, 1, 1, 64, 1, 1, 0, NULL, args, NULL), cuCtxSynchronize());
	say("event of another context recorded", cuEventRecord(a, s), 0);
	say("event of another context waited for", cuStreamWaitEvent(s, a, 0), 0);
	CU(cuCtxSynchronize());
	CU(cuCtxSetCurrent(prog_context));
	CU(cuCtxSynchronize());
	say("time between events of two contexts", cuEventElapsedTime(&ms, a, b), 0);
	say("own function on a stream of a context that is not current",
	    cuLaunchKernel(prog.fill, 1, 1, 1, 64, 1, 1, 0, s, args, NULL), 0);
	say("that stream synchronised", cuStreamSynchronize(s), 0);
	say("an event of the other context destroyed", cuEventDestroy(b), 0);
	say("memory of the other context freed", cuMemFree(d), 0);
}

static void image(const char *what, const void *data)
{
	CUlibrary l;
	CUmodule m;

	CU(cuCtxSetCurrent(prog_context));
	say(what, cuModuleLoadData(&m, data), 0);
	say("  by cuLibraryLoadData", cuLibraryLoadData(&l, data, NULL, NULL, 0, NULL, NULL, 0), 0);
}

static void images(void)
{
#define TEXT(version, target)                                                                      \
	".version " version "\n.target " target "\n.address_size 64\n"                             \
	".visible .entry k()\n{\n	ret;\n}\n"
	static const char elf[4096] = "\177ELF\2\1\1";

	image("PTX of version 99.0", TEXT("99.0", "sm_70"));
	image("PTX for sm_120", TEXT("8.7", "sm_120"));
	image("PTX for sm_90a", TEXT("8.0", "sm_90a"));
	image("an ELF header and zeros", elf);
	image("no PTX", "hello world, this is no PTX");
}

static void ask(int q)
{
	switch (q) {
	case 0:
		handles();
		break;
	case 1:
		images();
		break;
	case 2:
		copies("copies of another context's memory, one device", second, prog_context);
		break;
	case 3:
		set("cuMemsetD32Async on another context's memory, one device", second,
		    prog_context);
		break;
	case 4:
		kernel("kernel on another context's memory, one device", second, prog_context,
		       false);
		break;
	case 5:
		kernel("kernel on another context's memory, one device, peer access", second,
		       prog_context, true);
		break;
	case 6:
		copies("copies of another device's memory", elsewhere, prog_context);
		break;
	case 7:
		set("cuMemsetD32Async on another device's memory", elsewhere, prog_context);
		break;
	case 8:
		kernel("kernel on another device's memory", elsewhere, prog_context, false);
		break;
	case 9:
		kernel("kernel on another device's memory, peer access", elsewhere, prog_context,
		       true);
		break;
	case 10:
		pool("kernel on another device's pool memory", false);
		break;
	case 11:
		pool("kernel on another device's pool memory, peer access", true);
		break;
	default:
		break;
	}
}

int main(void)
{
	for (int q = 0; q < 12; q++) {
		int status, n;

		fflush(stdout);
		if (!fork()) {
			prog_start();
			CU(cuCtxCreate(&second, NULL, 0, prog_device));
			CU(cuDeviceGetCount(&n));
			if (n > 1)
				CU(cuDevicePrimaryCtxRetain(&elsewhere, 1));
			else if (q > 5)
				return 0;
			ask(q);
			fflush(stdout);
			_exit(0);
		}
		wait(&status);
		if (status)
			printf("question %d ended with %#x\n", q, (unsigned)status);
	}
	return 0;
}
