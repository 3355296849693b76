/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Entry points fetched with cuGetProcAddress, as a runtime does it, mixed with linked
 * ones.
 */
#include "prog.h"

enum { N = 1024 };

typedef CUresult (*set_fn)(CUdeviceptr, unsigned int, size_t, CUstream);
typedef CUresult (*wait_fn)(CUstream, CUevent, unsigned int);

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUevent e = event();
	CUdeviceptr d = device_u32("d", N), out = device_u32("out", N);
	void *set, *wait;
	CUdriverProcAddressQueryResult found;

	CU(cuGetProcAddress("cuMemsetD32Async", &set, 12000, 0, &found));
	CU(cuGetProcAddress("cuStreamWaitEvent", &wait, 12000, 0, &found));
	SPIN(a, SLOW);
	CU(((set_fn)set)(d, 4, N, a));
	CU(cuEventRecord(e, a));
	CU(((wait_fn)wait)(b, e, 0));
	CU(cuMemcpyDtoDAsync(out, d, 4 * N, b));
	check_u32("out[0]", get_u32(out, 0), 4);
	CU(cuEventDestroy(e));

	prog_end();
	return 0;
}
