/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Results on the host that somebody waited for, each in another way, before the
 * process just ends: later work of the stream, another stream, a query, a callback, a
 * blocking copy, a flag that a kernel or the stream writes.
 */
#include "prog.h"

enum { N = 256, WAYS = 8 };

static void CUDAAPI done(void *p)
{
	__atomic_store_n((int *)p, 1, __ATOMIC_SEQ_CST);
}

/* Polls a word of pinned memory. */
static void until(volatile uint32_t *flag)
{
	while (!__atomic_load_n(flag, __ATOMIC_SEQ_CST))
		usleep(100);
}

int main(void)
{
	prog_start();
	CUdeviceptr d = device_u32("d", N), word;
	uint32_t *h[WAYS], *flag = pinned_u32("flags", 2), v;
	CUstream s[WAYS], other = stream_nb("other");
	CUevent e = event();
	static int called;

	set_now(d, 1, N);
	for (int i = 0; i < WAYS; i++) {
		s[i] = i == 5 ? stream_blocking("worker") : stream_nb("worker");
		h[i] = pinned_u32("result", N);
	}
	for (int i = 0; i < WAYS; i++)
		CU(cuMemcpyDtoHAsync(h[i], d, 4 * N, s[i]));
	/* the stream, by a query */
	while (cuStreamQuery(s[0]) == CUDA_ERROR_NOT_READY)
		;
	/* a later operation of it, by an event */
	FILL(s[1], d, 1, 0, 0);
	CU(cuEventRecord(e, s[1]));
	CU(cuEventSynchronize(e));
	/* another stream that waited for it */
	CU(cuEventRecord(e, s[2]));
	CU(cuStreamWaitEvent(other, e, 0));
	/* the same, and its handle is gone when it is waited for */
	CU(cuEventRecord(e, s[3]));
	CU(cuStreamWaitEvent(other, e, 0));
	CU(cuStreamDestroy(s[3]));
	CU(cuStreamSynchronize(other));
	/* a callback behind it */
	CU(cuLaunchHostFunc(s[4], done, &called));
	while (!__atomic_load_n(&called, __ATOMIC_SEQ_CST))
		usleep(100);
	/* a blocking copy, which waits for blocking streams */
	CU(cuMemcpyDtoH(&v, d, 4));
	check_u32("v", v, 1);
	/* flags that the CPU polls */
	CU(cuMemHostGetDevicePointer(&word, flag, 0));
	CU(cuStreamWriteValue32(s[6], word, 1, 0));
	until(flag);
	WRITES(s[7], word + 4, 4);
	FILL(s[7], word + 4, 1, 1, 0);
	until(flag + 1);
	for (int i = 0; i < WAYS; i++)
		check_u32("result", h[i][N - 1], 1);
	return 0;
}
