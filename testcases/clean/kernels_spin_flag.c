/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel waits for a word in device memory that a kernel, and then a small copy, of
 * another stream sets: the two have an order of their own.
 * EXPECT: none
 */
#include "shapes.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	shapes_load();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUdeviceptr flag = device_u32("flag", 1), d = device_u32("d", N);

	set_now(flag, 0, 1);
	set_now(d, 0, N);
	AWAIT(a, flag, 1);
	CU(cuMemsetD32Async(flag, 1, 1, b));
	CU(cuStreamSynchronize(a));
	AWAIT(a, flag, 2);
	FILL(a, d, 5, N, 0);
	CU(cuMemsetD32Async(flag, 2, 1, b));
	check_u32("d[0]", get_u32(d, 0), 5);

	prog_end();
	return 0;
}
