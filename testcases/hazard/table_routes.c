/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables that come to the device in other ways than by one cuMemcpyHtoD: from
 * pinned memory, by copies that take any address, in rows, in batches, word by word, over
 * another buffer, with integers between the addresses, through a mapping of
 * physical memory.  After each, a buffer of the table is copied out too early.
 * EXPECT: KRT-RACE-RAW warning likely both count=10
 * EXPECT-FIXED: none
 */
#include "tables.h"

#include "batch.h"
#include "vmm.h"

enum { ENTRIES = 4, N = 256 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("batch"), fetch = stream_nb("fetch");
	CUfunction each_fill = tables_kernel("each_fill");
	CUdeviceptr entry[ENTRIES], table, other, out = device_u32("out", N), *on_heap = malloc(8 * ENTRIES);
	CUdeviceptr *pinned = (void *)pinned_u32("pinned", 2 * ENTRIES), mapped;
	CUevent done = event();
	struct vmm memory = vmm_new();

	for (unsigned i = 0; i < ENTRIES; i++)
		pinned[i] = on_heap[i] = entry[i] = device_u32("entry", N);
	CU(cuMemAlloc(&table, 4096));
	CU(cuMemAlloc(&other, 4096));
	mapped = vmm_map(&memory);
	for (unsigned route = 0; route < 10; route++) {
		CUdeviceptr t = route == 9 ? mapped : table;
		CUDA_MEMCPY2D rows = {.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = entry, .srcPitch = 16,
				      .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = t, .dstPitch = 16,
				      .WidthInBytes = 16, .Height = ENTRIES / 2};
		CUDA_MEMCPY3D slices = {.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = entry, .srcPitch = 8,
					.srcHeight = 2, .dstMemoryType = CU_MEMORYTYPE_UNIFIED, .dstDevice = t,
					.dstPitch = 8, .dstHeight = 2, .WidthInBytes = 8, .Height = 2,
					.Depth = ENTRIES / 2};

		set_now(t, 1, 2 * ENTRIES);
		switch (route) {
		case 0:
			CU(cuMemcpyHtoDAsync(t, pinned, 8 * ENTRIES, s));
			break;
		case 1:
			CU(cuMemcpy(t, (CUdeviceptr)(uintptr_t)on_heap, 8 * ENTRIES));
			break;
		case 2:
			CU(cuMemcpyAsync(t, (CUdeviceptr)(uintptr_t)pinned, 8 * ENTRIES, s));
			break;
		case 3:
			CU(cuMemcpy2D(&rows));
			break;
		case 4:
			CU(cuMemcpy3DAsync(&slices, s));
			break;
		case 5:
			for (unsigned i = 0; i < ENTRIES; i++)
				CU(cuMemcpyHtoDAsync(t + 8 * i, &entry[i], 8, s));
			break;
		case 6:
			CU(cuMemcpyHtoD(other + 64, entry, 8 * ENTRIES));
			CU(cuCtxSynchronize());
			CU(cuMemcpyDtoD(t, other + 64, 8 * ENTRIES));
			break;
		case 7: {
			uint64_t mixed[2 + ENTRIES] = {12, 0xffffffff00000003};

			memcpy(mixed + 2, entry, sizeof(entry));
			CU(cuMemcpyHtoD(other, mixed, sizeof(mixed)));
			CU(cuCtxSynchronize());
			CU(cuMemcpyDtoD(t, other + 16, 8 * ENTRIES));
			break;
		}
		case 8:
			batch_copy(t, (CUdeviceptr)(uintptr_t)pinned, 8 * ENTRIES,
				   CU_MEMCPY_SRC_ACCESS_ORDER_STREAM, s);
			break;
		default:
			CU(cuMemcpyHtoD(t, entry, 8 * ENTRIES));
		}
		CU(cuCtxSynchronize());
		EACH_FILL(each_fill, ENTRIES, s, t, 7, N, SLOW);
#ifdef FIXED
		CU(cuEventRecord(done, s));
		CU(cuStreamWaitEvent(fetch, done, 0));
#endif
		CU(cuMemcpyDtoDAsync(out, entry[2], 4 * N, fetch));
		CU(cuCtxSynchronize());
	}
	vmm_unmap(&memory, mapped);
	vmm_end(&memory);
	free(on_heap);
	CU(cuMemFreeHost(pinned));
	CU(cuEventDestroy(done));
	prog_end();
	return 0;
}
