/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All of a program sets memory through one function of its own, and three of its
 * callers forget an order: three findings, each known by its caller, each with its own fix.
 * EXPECT: KRT-RACE-WAW error certain both count=3
 * FINDINGS: 3
 * MENTIONS: KRT-RACE-WAW "after shared_launcher.c:32"
 * MENTIONS: KRT-RACE-WAW "before shared_launcher.c:37"
 * MENTIONS: KRT-RACE-WAW "after shared_launcher.c:43"
 * MENTIONS: KRT-RACE-WAW "before shared_launcher.c:48"
 * MENTIONS: KRT-RACE-WAW "after shared_launcher.c:54"
 * MENTIONS: KRT-RACE-WAW "before shared_launcher.c:59"
 * EXPECT-FIXED: none
 */
#include "prog.h"

enum { N = 1024 };

__attribute__((noinline)) static void set(CUdeviceptr d, uint32_t v, CUstream s)
{
	CU(cuMemsetD32Async(d, v, N, s));
}

static void order(CUstream first, CUstream then, CUevent e)
{
	CU(cuEventRecord(e, first));
	CU(cuStreamWaitEvent(then, e, 0));
}

__attribute__((noinline)) static void forward(CUdeviceptr d, CUstream a, CUstream b, CUevent e)
{
	set(d, 1, a);
	(void)e;
#ifdef FIXED
	order(a, b, e);
#endif
	set(d, 2, b);
	CU(cuCtxSynchronize()); /* else compilers jump to set() */
}

__attribute__((noinline)) static void backward(CUdeviceptr d, CUstream a, CUstream b, CUevent e)
{
	set(d, 3, b);
	(void)e;
#ifdef FIXED
	order(b, a, e);
#endif
	set(d, 4, a);
	CU(cuCtxSynchronize());
}

__attribute__((noinline)) static void direct(CUdeviceptr d, CUstream a, CUstream b, CUevent e)
{
	CU(cuMemsetD32Async(d, 5, N, a));
	(void)e;
#ifdef FIXED
	order(a, b, e);
#endif
	set(d, 6, b);
	CU(cuCtxSynchronize());
}

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUevent e = event();
	CUdeviceptr d = device_u32("d", N), other = device_u32("other", N);

	forward(d, a, b, e);
	backward(other, a, b, e);
	direct(d, a, b, e);
	order(a, b, e);
	CU(cuCtxSynchronize());
	CU(cuEventDestroy(e));

	prog_end();
	return 0;
}
