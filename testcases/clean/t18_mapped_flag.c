/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A running kernel polls a word of mapped host memory that the CPU sets.
 * SOURCE: trap T18
 */
#include "prog.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("persistent"), other = stream_nb("other");
	void *flag;
	CUdeviceptr dflag, d = device_u32("d", N), d2 = device_u32("d2", N);

	CU(cuMemHostAlloc(&flag, 4, CU_MEMHOSTALLOC_DEVICEMAP));
	krtsan_name(flag, 4, "flag");
	CU(cuMemHostGetDevicePointer(&dflag, flag, 0));
	*(volatile uint32_t *)flag = 0;
	READS(s, dflag, 4);
	AWAIT(s, dflag, 1);
	CU(cuMemsetD32Async(d, 5, N, s));
	/* Other work goes on meanwhile. */
	CU(cuMemsetD32Async(d2, 6, N, other));
	CU(cuStreamSynchronize(other));
	krtsan_host_write(flag, 4);
	__atomic_store_n((uint32_t *)flag, 1, __ATOMIC_SEQ_CST);
	check_u32("d[0]", get_u32(d, 0), 5);

	/* The same with a kernel of which nothing was declared, and the other way round. */
	*(volatile uint32_t *)flag = 0;
	FILL(s, dflag, 9, 1, SLOW);
	krtsan_host_read(flag, 4);
	while (__atomic_load_n((uint32_t *)flag, __ATOMIC_SEQ_CST) != 9)
		;
	CU(cuCtxSynchronize());
	CU(cuMemFreeHost(flag));

	prog_end();
	return 0;
}
