/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A growable buffer: address space reserved once, physical memory mapped chunk by
 * chunk, unmapped after a sync and mapped again.
 */
#include "prog.h"
#include "vmm.h"

enum { CHUNKS = 3 };

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	struct vmm m[CHUNKS];
	CUdeviceptr base;
	size_t n;

	for (int i = 0; i < CHUNKS; i++)
		m[i] = vmm_new();
	n = m[0].size / 4;
	CU(cuMemAddressReserve(&base, CHUNKS * m[0].size, 0, 0, 0));
	for (size_t i = 0; i < CHUNKS; i++) {
		vmm_map_at(&m[i], base + i * m[0].size);
		CU(cuMemsetD32Async(base + i * m[0].size, (uint32_t)i, n, i & 1 ? b : a));
	}
	CU(cuCtxSynchronize());
	/* The chunks change places. */
	for (size_t i = 0; i < CHUNKS; i++)
		CU(cuMemUnmap(base + i * m[0].size, m[0].size));
	for (size_t i = 0; i < CHUNKS; i++)
		vmm_map_at(&m[CHUNKS - 1 - i], base + i * m[0].size);
	check_u32("first", get_u32(base, 0), CHUNKS - 1);
	check_u32("last", get_u32(base, CHUNKS * n - 1), 0);
	for (size_t i = 0; i < CHUNKS; i++) {
		CU(cuMemUnmap(base + i * m[0].size, m[0].size));
		vmm_end(&m[i]);
	}
	CU(cuMemAddressFree(base, CHUNKS * m[0].size));

	prog_end();
	return 0;
}
