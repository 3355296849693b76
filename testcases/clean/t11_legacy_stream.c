/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The legacy default stream is a barrier in both directions for blocking streams.
 * SOURCE: trap T11
 */
#include "prog.h"

enum { N = 2048 };

int main(void)
{
	prog_start();
	CUstream a = stream_blocking("a"), b = stream_blocking("b");
	CUdeviceptr x = device_u32("x", N), out = device_u32("out", N);
	CUevent e = event();

	set_now(x, 1, N);
	WRITES(a, x, 4 * N);
	FILL(a, x, 2, N, SLOW);
	NOTHING(NULL);
	SPIN(NULL, 1000);
	READS(b, x, 4 * N);
	WRITES(b, out, 4 * N);
	COPY(b, out, x, N, 0);
	/* A record on the legacy stream is one of its operations as well. */
	CU(cuEventRecord(e, NULL));
	WRITES(a, x, 4 * N);
	FILL(a, x, 3, N, 0);
	/* And so is a blocking copy. */
	check_u32("out[0]", get_u32(out, 0), 2);
	CU(cuMemsetD32Async(x, 4, N, a));
	CU(cuMemsetD32(x, 5, N));
	CU(cuMemsetD32Async(x, 6, N, b));
	check_u32("x[0]", get_u32(x, 0), 6);
	CU(cuEventDestroy(e));

	prog_end();
	return 0;
}
