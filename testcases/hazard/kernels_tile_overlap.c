/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels write tiles of one matrix on several streams; the last one begins a column too
 * early.
 * EXPECT: KRT-RACE-WAW error certain both count=1
 * EXPECT-FIXED: none
 */
#include "shapes.h"

enum { N = 128 };

int main(void)
{
	prog_start();
	shapes_load();
	CUstream a = stream_nb("a"), b = stream_nb("b"), c = stream_nb("c");
	CUdeviceptr d = device_u32("d", 256 * N);

	set_now(d, 0, 256 * N);
	TILE(a, d, 0, N, SLOW);
	TILE(b, d, 64, N, SLOW);
#ifdef FIXED
	TILE(c, d, 128, N, 0);
#else
	TILE(c, d, 127, N, 0);
#endif
	/* a copy of the columns beside them */
	CUDA_MEMCPY2D m = {
		.srcMemoryType = CU_MEMORYTYPE_DEVICE,
		.srcDevice = d + 4 * 192,
		.srcPitch = 4 * 256,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE,
		.dstDevice = device_u32("copy", 64 * N),
		.dstPitch = 4 * 64,
		.WidthInBytes = 4 * 64,
		.Height = N,
	};

	CU(cuMemcpy2DAsync(&m, c));
	CU(cuCtxSynchronize());

	prog_end();
	return 0;
}
