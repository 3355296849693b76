/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Heap memory is registered for a while, used, waited for, unregistered, freed; the
 * same addresses come back for something else.
 */
#include "prog.h"

enum { BYTES = 1 << 16 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr d = device_u32("d", BYTES / 4);

	for (int i = 0; i < 5; i++) {
		void *h = aligned_alloc(4096, BYTES);

		MUST(h);
		memset(h, i, BYTES);
		CU(cuMemHostRegister(h, BYTES, CU_MEMHOSTREGISTER_PORTABLE));
		CU(cuMemcpyHtoDAsync(d, h, BYTES, s));
		CU(cuMemcpyDtoHAsync(h, d, BYTES / 2, s));
		CU(cuStreamSynchronize(s));
		CU(cuMemHostUnregister(h));
		memset(h, 0xee, BYTES);
		free(h);
	}
	check_u32("d[0]", get_u32(d, 0), 0x04040404);

	prog_end();
	return 0;
}
