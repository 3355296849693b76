/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two 2D copies write columns of one pitched buffer; a few columns are in both.
 * (With -DFIXED the columns are disjoint: the bounding boxes still overlap.)
 * EXPECT: KRT-RACE-WAW error certain both count=1
 * EXPECT-FIXED: none
 * SIM-WRONG: the shared columns hold the earlier copy
 */
#include "prog.h"

enum { WIDTH = 64, ROWS = 32, PITCH = 512 };

static void upload(CUdeviceptr dst, size_t column, const void *src, CUstream s)
{
	CUDA_MEMCPY2D c = {
		.srcMemoryType = CU_MEMORYTYPE_HOST,
		.srcHost = src,
		.srcPitch = WIDTH,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE,
		.dstDevice = dst,
		.dstXInBytes = column,
		.dstPitch = PITCH,
		.WidthInBytes = WIDTH,
		.Height = ROWS,
	};

	CU(cuMemcpy2DAsync(&c, s));
}

int main(void)
{
	prog_start();
	CUstream a = stream_nb("left"), b = stream_nb("right");
	CUdeviceptr d = device_u32("matrix", PITCH / 4 * ROWS);
	uint32_t *left = pinned_u32("left", WIDTH / 4 * ROWS),
		 *right = pinned_u32("right", WIDTH / 4 * ROWS);

	set_now(d, 0, PITCH / 4 * ROWS);
	host_fill(left, 1, WIDTH / 4 * ROWS);
	host_fill(right, 2, WIDTH / 4 * ROWS);
	SPIN(a, SLOW);
	upload(d, 0, left, a);
#ifdef FIXED
	upload(d, WIDTH, right, b);
#else
	upload(d, WIDTH - 4, right, b);
#endif
	check_u32("last column of both", get_u32(d, PITCH / 4 + WIDTH / 4), 2);
#ifdef FIXED
	check_u32("last column of left", get_u32(d, PITCH / 4 + WIDTH / 4 - 1), 1);
#else
	check_u32("shared column", get_u32(d, PITCH / 4 + WIDTH / 4 - 1), 2);
#endif

	CU(cuMemFreeHost(left));
	CU(cuMemFreeHost(right));

	prog_end();
	return 0;
}
