/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pointers that kernels take out of structs given by value: the second reads what the
 * first still writes.
 * EXPECT: KRT-RACE-RAW error certain both count=1
 * EXPECT-FIXED: none
 * SIM-WRONG: the second kernel reads the old content
 */
#include "shapes.h"

enum { N = 2048 };

int main(void)
{
	prog_start();
	shapes_load();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUevent e = event();
	CUdeviceptr d = device_u32("d", N), out = device_u32("out", N);

	set_now(d, 1, N);
	set_now(out, 0, N);
	PACKED(a, d, 2, N, SLOW);
#ifdef FIXED
	CU(cuEventRecord(e, a));
	CU(cuStreamWaitEvent(b, e, 0));
#endif
	UNPACK(b, out, d, N, 0);
	check_u32("out[0]", get_u32(out, 0), 2);
	CU(cuEventDestroy(e));

	prog_end();
	return 0;
}
