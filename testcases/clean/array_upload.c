/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A CUDA array is filled by rows, copied to linear memory on one stream and read back.
 */
#include "prog.h"

enum { W = 32, H = 16 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUDA_ARRAY_DESCRIPTOR desc = {W, H, CU_AD_FORMAT_UNSIGNED_INT32, 1};
	CUarray array;
	CUdeviceptr d = device_u32("d", W * H);
	uint32_t *h = pinned_u32("h", W * H);
	CUDA_MEMCPY2D up =
			      {
				      .srcMemoryType = CU_MEMORYTYPE_HOST,
				      .srcHost = h,
				      .srcPitch = 4 * W,
				      .dstMemoryType = CU_MEMORYTYPE_ARRAY,
				      .WidthInBytes = 4 * W,
				      .Height = H,
			      },
		      down = {
			      .srcMemoryType = CU_MEMORYTYPE_ARRAY,
			      .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			      .dstDevice = d,
			      .dstPitch = 4 * W,
			      .WidthInBytes = 4 * W,
			      .Height = H,
		      };

	for (uint32_t i = 0; i < W * H; i++)
		h[i] = i;
	CU(cuArrayCreate(&array, &desc));
	up.dstArray = array;
	down.srcArray = array;
	CU(cuMemcpy2DAsync(&up, s));
	CU(cuMemcpy2DAsync(&down, s));
	check_u32("d[last]", get_u32(d, W * H - 1), W * H - 1);
	CU(cuArrayDestroy(array));
	CU(cuMemFreeHost(h));

	prog_end();
	return 0;
}
