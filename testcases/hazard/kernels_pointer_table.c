/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel writes through a table of pointers that a small upload put into device memory,
 * and one of the buffers is set on another stream meanwhile.
 * EXPECT: KRT-RACE-WAW warning likely both count=1
 * MENTIONS: KRT-RACE-WAW "ptx-role"
 * EXPECT-FIXED: none
 */
#include "shapes.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	shapes_load();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUevent e = event();
	CUdeviceptr table = device_u32("table", 8), other = device_u32("other", N);
	CUdeviceptr d[4] = {device_u32("first", N), device_u32("second", N), device_u32("third", N),
			    device_u32("fourth", N)};

	CU(cuMemcpyHtoD(table, d, sizeof(d)));
	set_now(d[2], 0, N);
	POKE(a, table, 7, 4, SLOW);
	/* what the table does not hold is not touched */
	CU(cuMemsetD32Async(other, 1, N, b));
#ifdef FIXED
	CU(cuEventRecord(e, a));
	CU(cuStreamWaitEvent(b, e, 0));
#endif
	CU(cuMemsetD32Async(d[2], 1, N, b));
	CU(cuCtxSynchronize());
	CU(cuEventDestroy(e));

	prog_end();
	return 0;
}
