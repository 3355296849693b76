/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel of PyTorch, told by the kernels file that comes with krtsan, beside a copy of the
 * other half of its buffer; in order where both touch one.
 * EXPECT: none
 */
#include "prog.h"
#include "elementwise.h"

enum { N = 2048 };

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUevent e = event();
	CUdeviceptr d = device_u32("d", N), out = device_u32("out", N);

	elementwise_start();
	set_now(d, 1, N);
	ELEMENTWISE(a, d, 2, N / 2);
	CU(cuMemcpyDtoDAsync(out, d + 4 * (N / 2), 4 * (N / 2), b));
	CU(cuEventRecord(e, a));
	CU(cuStreamWaitEvent(b, e, 0));
	CU(cuMemcpyDtoDAsync(out + 4 * (N / 2), d, 4 * (N / 2), b));
	CU(cuCtxSynchronize());
	check_u32("out", get_u32(out, N / 2), 2);
	CU(cuModuleUnload(elementwise_module));
	CU(cuEventDestroy(e));

	prog_end();
	return 0;
}
