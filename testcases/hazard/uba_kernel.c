/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The same with a kernel, from a pool of the program's own.
 * EXPECT: KRT-UBA-STREAM error certain both count=1
 * EXPECT-FIXED: none
 */
#include "prog.h"

enum { N = 2048 };

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUmemPoolProps props = {
		.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = prog_device},
	};
	cuuint64_t keep = UINT64_MAX;
	CUmemoryPool pool;
	CUdeviceptr p;

	CU(cuMemPoolCreate(&pool, &props));
	CU(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
	SPIN(a, SLOW);
	CU(cuMemAllocFromPoolAsync(&p, 4 * N, pool, a));
#ifdef FIXED
	CU(cuStreamSynchronize(a));
#endif
	WRITES(b, p, 4 * N);
	FILL(b, p, 1, N, 0);
	CU(cuCtxSynchronize());
	CU(cuMemFreeAsync(p, a));
	CU(cuCtxSynchronize());
	CU(cuMemPoolDestroy(pool));

	prog_end();
	return 0;
}
