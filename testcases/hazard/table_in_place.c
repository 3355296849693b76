/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The same table serves step after step.  In the second the optimiser's kernel
 * updates parameters in place while they are still copied elsewhere.
 * EXPECT: KRT-RACE-WAR warning likely both count=1
 * EXPECT-FIXED: none
 */
#include "tables.h"

enum { ENTRIES = 8, N = 1 << 16, STEPS = 3 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("step"), save = stream_nb("save");
	CUfunction each_scale = tables_kernel("each_scale");
	CUdeviceptr entry[ENTRIES], table, copy = device_u32("checkpoint", N);
	CUevent stepped = event(), saved = event();

	for (unsigned i = 0; i < ENTRIES; i++) {
		entry[i] = device_u32("parameters", N);
		set_now(entry[i], 0x3f800000, N);
	}
	table = table_of("table", entry, ENTRIES);
	for (unsigned i = 0; i < STEPS; i++) {
		EACH(each_scale, ENTRIES, s, table, N, 0);
		if (i != 1)
			continue;
		CU(cuEventRecord(stepped, s));
		CU(cuStreamWaitEvent(save, stepped, 0));
		CU(cuMemcpyDtoDAsync(copy, entry[5], 4 * N, save));
#ifdef FIXED
		CU(cuEventRecord(saved, save));
		CU(cuStreamWaitEvent(s, saved, 0));
#endif
	}
	CU(cuCtxSynchronize());
	CU(cuEventDestroy(stepped));
	CU(cuEventDestroy(saved));
	prog_end();
	return 0;
}
