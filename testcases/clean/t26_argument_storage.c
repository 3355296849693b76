/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parameters are copied in the call, pageable sources are staged in it, a set's value
 * is a value: all of them may change right afterwards.
 * SOURCE: trap T26
 */
#include "prog.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr d = device_u32("d", N), d2 = device_u32("d2", N), p = d;
	uint32_t v = 2, n = N, small[64], *heap = malloc(sizeof(small));
	uint64_t cycles = SLOW;
	void *args[] = {&p, &v, &n, &cycles};

	MUST(heap);
	set_now(d, 1, N);
	set_now(d2, 1, N);
	WRITES(s, d, 4 * N);
	CU(cuLaunchKernel(prog.fill, 1, 1, 1, 64, 1, 1, 0, s, args, NULL));
	p = 0;
	v = 9;
	n = 0;
	cycles = 0;
	memset(args, 0, sizeof(args));

	host_fill(small, 5, 64);
	CU(cuMemcpyHtoDAsync(d2, small, sizeof(small), s));
	krtsan_host_write(small, sizeof(small));
	host_fill(small, 6, 64);
	host_fill(heap, 7, 64);
	CU(cuMemcpyHtoDAsync(d2 + sizeof(small), heap, sizeof(small), s));
	krtsan_host_write(heap, sizeof(small));
	host_fill(heap, 8, 64);
	free(heap);
	v = 4;
	CU(cuMemsetD32Async(d2 + 8 * 64, v, 64, s));
	v = 3;
	check_u32("d[0]", get_u32(d, 0), 2);
	check_u32("d2[0]", get_u32(d2, 0), 5);
	check_u32("d2[64]", get_u32(d2, 64), 7);
	check_u32("d2[128]", get_u32(d2, 128), 4);

	prog_end();
	return 0;
}
