/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A copy from host to host, which the CPU does in the call, reads several slices
 * of a pinned volume; the last one is still being downloaded.
 * EXPECT: KRT-HOST-READ-RACE error certain both count=1
 * EXPECT-FIXED: none
 * SIM-WRONG: the last slice is copied before it has arrived
 */
#include "prog.h"

enum { WIDTH = 64, HEIGHT = 4, DEPTH = 3, SLICE = WIDTH / 4 * HEIGHT };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr d = device_u32("d", SLICE);
	uint32_t *from = pinned_u32("from", DEPTH * SLICE), *to = pinned_u32("to", DEPTH * SLICE);
	CUDA_MEMCPY3D c = {
		.srcMemoryType = CU_MEMORYTYPE_HOST,
		.srcHost = from,
		.srcPitch = WIDTH,
		.srcHeight = HEIGHT,
		.dstMemoryType = CU_MEMORYTYPE_HOST,
		.dstHost = to,
		.dstPitch = WIDTH,
		.dstHeight = HEIGHT,
		.WidthInBytes = WIDTH,
		.Height = HEIGHT,
		.Depth = DEPTH,
	};

	set_now(d, 7, SLICE);
	SPIN(s, SLOW);
	CU(cuMemcpyDtoHAsync(from + (DEPTH - 1) * SLICE, d, 4 * SLICE, s));
#ifdef FIXED
	CU(cuStreamSynchronize(s));
#endif
	CU(cuMemcpy3D(&c));
	check_u32("last slice", to[(DEPTH - 1) * SLICE], 7);
	CU(cuCtxSynchronize());
	CU(cuMemFreeHost(from));
	CU(cuMemFreeHost(to));

	prog_end();
	return 0;
}
