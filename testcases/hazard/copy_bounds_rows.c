/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last row of a 2D copy ends past the allocation.
 * EXPECT: KRT-COPY-BOUNDS error certain both count=1
 * EXPECT-FIXED: none
 */
#include "prog.h"

enum { WIDTH = 64, PITCH = 256, ROWS = 16 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("upload");
	/* The last row needs no padding behind it. */
	CUdeviceptr d = device_u32("d", (PITCH * (ROWS - 1) + WIDTH) / 4);
	uint32_t *h = pinned_u32("h", WIDTH / 4 * (ROWS + 1));
	CUDA_MEMCPY2D c = {
		.srcMemoryType = CU_MEMORYTYPE_HOST,
		.srcHost = h,
		.srcPitch = WIDTH,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE,
		.dstDevice = d,
		.dstPitch = PITCH,
		.WidthInBytes = WIDTH,
		.Height = ROWS,
	};

#ifdef FIXED
	CU(cuMemcpy2DAsync(&c, s));
#else
	c.Height = ROWS + 1;
	(void)cuMemcpy2DAsync(&c, s);
#endif
	CU(cuStreamSynchronize(s));
	CU(cuMemFreeHost(h));

	prog_end();
	return 0;
}
