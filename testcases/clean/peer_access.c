/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two devices that may use each other's memory: kernels read and write it there, with
 * their access declared or not; pool and mapped memory is opened to both.
 * MAY-SKIP: needs two devices with peer access
 */
#include "devices.h"
#include "vmm.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUstream a = stream_nb("here"), b;
	CUdeviceptr d = device_u32("here", N), mine, pooled, mapped;
	CUmemAccessDesc access[2] = {{.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE}};
	struct vmm m = vmm_new();
	struct second two;
	CUmemoryPool pool;
	CUevent e = event();

	set_now(d, 1, N);
	CU(cuMemAllocAsync(&pooled, 4 * N, a));
	CU(cuMemsetD32Async(pooled, 2, N, a));
	mapped = vmm_map(&m);
	CU(cuMemsetD32Async(mapped, 3, N, a));
	CU(cuEventRecord(e, a));

	two = second_start(true);
	CU(cuCtxEnablePeerAccess(prog_context, 0));
	/* a library does it too */
	MUST(cuCtxEnablePeerAccess(prog_context, 0) == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
	access[0].location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	access[0].location.id = two.device;
	CU(cuDeviceGetDefaultMemPool(&pool, prog_device));
	CU(cuMemPoolSetAccess(pool, access, 1));
	access[1] = access[0];
	access[1].location.id = prog_device;
	CU(cuMemSetAccess(mapped, m.size, access, 2));

	b = stream_nb("there");
	mine = device_u32("there", N);
	CU(cuStreamWaitEvent(b, e, 0));
	READS(b, d, 4 * N);
	WRITES(b, mine, 4 * N);
	K_DSN(&two.k, copy, b, mine, d, N, 20000);
	UPDATES(b, mine, 4 * N);
	READS(b, pooled, 4 * N);
	K_DSN(&two.k, add, b, mine, pooled, N, 0);
	K_DSN(&two.k, add, b, mine, mapped, N, 0);
	K_PVN(&two.k, inc, b, d, 1, N, 0);
	CU(cuStreamSynchronize(b));
	check_u32("there[0]", get_u32(mine, 0), 6);
	CU(cuCtxDisablePeerAccess(prog_context));
	second_end(&two);
	check_u32("here[0]", get_u32(d, 0), 2);

	CU(cuMemFreeAsync(pooled, a));
	CU(cuStreamSynchronize(a));
	vmm_unmap(&m, mapped);
	vmm_end(&m);
	CU(cuEventDestroy(e));
	prog_end();
	return 0;
}
