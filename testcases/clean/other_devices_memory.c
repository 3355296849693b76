/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What another device's memory can be used for without any access: copies of every
 * kind; and what is everybody's: pinned and managed memory, events to wait for.
 * MAY-SKIP: needs two devices
 */
#include "devices.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUstream a = stream_nb("here"), b;
	CUdeviceptr d = device_u32("here", N), mine, managed;
	uint32_t *h = pinned_u32("pinned", N), word = 0;
	CUevent e = event();
	struct second two;

	CU(cuMemAllocManaged(&managed, 4 * N, CU_MEM_ATTACH_GLOBAL));
	CU(cuMemsetD32Async(d, 1, N, a));
	CU(cuMemsetD32Async(managed, 2, N, a));
	CU(cuEventRecord(e, a));

	two = second_start(false);
	b = stream_nb("there");
	mine = device_u32("there", 3 * N);
	CU(cuStreamWaitEvent(b, e, 0));
	CU(cuMemcpyPeerAsync(mine, two.context, d, prog_context, 4 * N, b));
	CU(cuMemcpyDtoDAsync(mine + 4 * N, d, 4 * N, b));
	CU(cuMemcpyAsync(mine + 8 * N, d, 4 * N, b));
	CU(cuMemcpyDtoHAsync(h, d, 4 * N, b));
	K_PVN(&two.k, inc, b, managed, 1, N, 20000);
	CU(cuStreamSynchronize(b));
	check_u32("pinned[0]", h[0], 1);
	for (int i = 0; i < 3; i++)
		check_u32("there", get_u32(mine, (size_t)i * N), 1);
	K_PVN(&two.k, inc, b, (CUdeviceptr)(uintptr_t)h, 1, N, 0);
	CU(cuStreamSynchronize(b));
	check_u32("pinned[0]", h[0], 2);
	CU(cuMemcpyDtoH(&word, d, 4));
	check_u32("here[0]", word, 1);
	second_end(&two);
	check_u32("managed[0]", get_u32(managed, 0), 3);

	CU(cuMemFreeHost(h));
	CU(cuMemFree(managed));
	CU(cuEventDestroy(e));
	prog_end();
	return 0;
}
