/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Order through a third stream that does nothing else.
 * SOURCE: trap T01
 */
#include "prog.h"

enum { N = 2048 };

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b"), c = stream_nb("c");
	CUevent e1 = event(), e2 = event();
	CUdeviceptr x = device_u32("x", N), out = device_u32("out", N);

	set_now(x, 1, N);
	WRITES(a, x, 4 * N);
	FILL(a, x, 2, N, SLOW);
	CU(cuEventRecord(e1, a));
	CU(cuStreamWaitEvent(c, e1, 0));
	CU(cuEventRecord(e2, c));
	CU(cuStreamWaitEvent(b, e2, 0));
	READS(b, x, 4 * N);
	WRITES(b, out, 4 * N);
	COPY(b, out, x, N, 0);
	check_u32("out[0]", get_u32(out, 0), 2);

	CU(cuEventDestroy(e1));
	CU(cuEventDestroy(e2));

	prog_end();
	return 0;
}
