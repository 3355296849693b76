/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 3D copies of disjoint boxes of one volume on several streams: neighbours in every
 * direction.
 */
#include "prog.h"

enum { W = 64, H = 8, D = 8 };

static void box(CUdeviceptr dst, const uint32_t *src, size_t x, size_t y, size_t z, CUstream s)
{
	CUDA_MEMCPY3D c = {
		.srcMemoryType = CU_MEMORYTYPE_HOST,
		.srcHost = src,
		.srcPitch = W / 2,
		.srcHeight = H / 2,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE,
		.dstDevice = dst,
		.dstPitch = W,
		.dstHeight = H,
		.dstXInBytes = x,
		.dstY = y,
		.dstZ = z,
		.WidthInBytes = W / 2,
		.Height = H / 2,
		.Depth = D / 2,
	};

	CU(cuMemcpy3DAsync(&c, s));
}

int main(void)
{
	prog_start();
	CUdeviceptr v = device_u32("volume", W * H * D / 4);
	uint32_t *src[8];
	CUstream s[8];

	set_now(v, 0, W * H * D / 4);
	for (uint32_t i = 0; i < 8; i++) {
		src[i] = pinned_u32("part", W * H * D / 4 / 8);
		host_fill(src[i], i + 1, W * H * D / 4 / 8);
		s[i] = stream_nb("part");
		SPIN(s[i], 10000);
		box(v, src[i], i & 1 ? W / 2 : 0, i & 2 ? H / 2 : 0, i & 4 ? D / 2 : 0, s[i]);
	}
	check_u32("first", get_u32(v, 0), 1);
	check_u32("last", get_u32(v, W * H * D / 4 - 1), 8);
	for (int i = 0; i < 8; i++)
		CU(cuMemFreeHost(src[i]));

	prog_end();
	return 0;
}
