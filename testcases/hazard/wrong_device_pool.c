/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of device 0's pool in a kernel of device 1: a pool is opened to other devices
 * by a call of its own.
 * MAY-SKIP: needs two devices with peer access
 * EXPECT: KRT-WRONG-DEVICE error certain both count=1
 * MENTIONS: KRT-WRONG-DEVICE "cuMemPoolSetAccess"
 * EXPECT-FIXED: none
 */
#include "devices.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUmemPoolProps props = {
		.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = prog_device},
	};
	CUstream s = stream_nb("here"), t;
	struct second two;
	CUmemoryPool pool;
	CUdeviceptr d;

	CU(cuMemPoolCreate(&pool, &props));
	CU(cuMemAllocFromPoolAsync(&d, 4 * N, pool, s));
	CU(cuMemsetD32Async(d, 1, N, s));
	CU(cuStreamSynchronize(s));
	two = second_start(true);
	t = stream_nb("there");
#ifdef FIXED
	CUmemAccessDesc access = {
		.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = two.device},
		.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
	};
	CU(cuMemPoolSetAccess(pool, &access, 1));
#endif
	WRITES(t, d, 4 * N);
	K_PVN(&two.k, maybe, t, d, 0, N, 0);
	CU(cuStreamSynchronize(t));
	second_end(&two);
	CU(cuMemFreeAsync(d, s));
	CU(cuStreamSynchronize(s));
	CU(cuMemPoolDestroy(pool));

	prog_end();
	return 0;
}
