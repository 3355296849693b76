/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies and sets of zero bytes touch nothing, wherever they point.
 * SOURCE: trap T32
 */
#include "prog.h"

enum { N = 1024 };

/* The driver may take or refuse what does nothing. */
static void no_surprise(CUresult r)
{
	MUST(r == CUDA_SUCCESS || r == CUDA_ERROR_INVALID_VALUE);
}

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUdeviceptr d = device_u32("d", N);
	uint32_t *h = pinned_u32("h", N);
	CUDA_MEMCPY2D rows = {
		.srcMemoryType = CU_MEMORYTYPE_HOST,
		.srcHost = h,
		.srcPitch = 64,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE,
		.dstDevice = d,
		.dstPitch = 64,
		.WidthInBytes = 64,
		.Height = 0,
	};

	SPIN(a, SLOW);
	CU(cuMemsetD32Async(d, 1, N, a));
	no_surprise(cuMemcpyHtoDAsync(d, h, 0, b));
	no_surprise(cuMemcpyDtoHAsync(h, d, 0, b));
	no_surprise(cuMemcpyDtoDAsync(d, d, 0, b));
	no_surprise(cuMemsetD8Async(d, 0, 0, b));
	no_surprise(cuMemcpy2DAsync(&rows, b));
	/* Also one byte past the end. */
	no_surprise(cuMemsetD8Async(d + 4 * N, 0, 0, b));
	check_u32("d[0]", get_u32(d, 0), 1);
	CU(cuMemFreeHost(h));

	prog_end();
	return 0;
}
