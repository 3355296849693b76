/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies "from the host" whose source is no memory of the host, or none at all, or
 * ends where nothing can be read: the driver's answer is what the program gets.
 * SIM-ONLY: what is not mapped may be the end of the process elsewhere
 * EXPECT: none
 * HOST-SKIP: a hole that it makes may be filled by krtsan's own memory
 */
#include "prog.h"

#include <sys/mman.h>

enum { PAGE = 4096 };

int main(void)
{
	prog_start();
	CUdeviceptr a = device_u32("a", PAGE), to = device_u32("to", PAGE), managed, stack[4] = {a, a, a, a};
	CUdeviceptr *heap = malloc(64), *pinned = (void *)pinned_u32("pinned", PAGE);
	char *p = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	MUST(p != MAP_FAILED);
	CU(cuMemAllocManaged(&managed, PAGE, CU_MEM_ATTACH_GLOBAL));
	memset(p, 0, 2 * PAGE);
	memcpy(p + PAGE - 8, &a, 8);
	heap[7] = pinned[0] = a;
	MUST(!munmap(p + PAGE, PAGE));
	for (unsigned i = 0; i < 3; i++) { /* what is known of memory by now changes nothing */
		CU(cuMemcpyHtoD(to, p, PAGE));
		CU(cuMemcpyHtoD(to, stack, sizeof(stack)));
		CU(cuMemcpyHtoD(to, heap, 64));
		CU(cuMemcpyHtoD(to, pinned, PAGE));
		CU(cuMemcpyHtoD(to, (void *)(uintptr_t)a, PAGE));
		CU(cuMemcpyHtoD(to, (void *)(uintptr_t)managed, PAGE));
		CU(cuCtxSynchronize());
		MUST(cuMemcpyHtoD(to, p + PAGE, 64) != CUDA_SUCCESS);
		MUST(cuMemcpyHtoD(to, p + PAGE - 8, 64) != CUDA_SUCCESS);
		MUST(cuMemcpyHtoD(to, NULL, 64) != CUDA_SUCCESS);
		MUST(cuMemcpyHtoD(to, (void *)0x123456789abc000, 64) != CUDA_SUCCESS);
		MUST(cuMemcpy(to, 64, 64) != CUDA_SUCCESS);
	}
	MUST(!munmap(p, PAGE));
	MUST(cuMemcpyHtoD(to, p, 64) != CUDA_SUCCESS);
	free(heap);
	CU(cuMemFreeHost(pinned));
	prog_end();
	return 0;
}
