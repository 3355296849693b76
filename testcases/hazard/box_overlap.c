/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two 3D copies write boxes of one volume that meet in a corner.
 * EXPECT: KRT-RACE-WAW error certain both count=1
 * EXPECT-FIXED: none
 */
#include "prog.h"

enum { W = 32, H = 8, D = 4, BW = 16, BH = 4, BD = 2 };

static void box(CUdeviceptr dst, size_t x, size_t y, size_t z, CUdeviceptr src, CUstream s)
{
	CUDA_MEMCPY3D c = {
		.srcMemoryType = CU_MEMORYTYPE_DEVICE,
		.srcDevice = src,
		.srcPitch = BW,
		.srcHeight = BH,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE,
		.dstDevice = dst,
		.dstPitch = W,
		.dstHeight = H,
		.dstXInBytes = x,
		.dstY = y,
		.dstZ = z,
		.WidthInBytes = BW,
		.Height = BH,
		.Depth = BD,
	};

	CU(cuMemcpy3DAsync(&c, s));
}

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUdeviceptr volume = device_u32("volume", W * H * D / 4),
		    src = device_u32("src", BW * BH * BD / 4);

	set_now(volume, 0, W * H * D / 4);
	set_now(src, 1, BW * BH * BD / 4);
	box(volume, 0, 0, 0, src, a);
#ifdef FIXED
	/* The same columns and rows, the next planes; then the same planes, other rows. */
	box(volume, 0, 0, BD, src, b);
	box(volume, 0, BH, 0, src, b);
#else
	box(volume, BW - 4, BH - 1, BD - 1, src, b);
#endif
	CU(cuCtxSynchronize());

	prog_end();
	return 0;
}
