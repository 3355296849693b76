/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All of a table is replaced while a kernel reads an element of it, which one data
 * decide.
 * EXPECT: KRT-RACE-WAR warning likely both count=1
 * MENTIONS: KRT-RACE-WAR "+0x0..+0x400 of variable "
 * EXPECT-FIXED: none
 * SIM-WRONG: the kernel reads the new table
 */
#include "variable.h"

int main(void)
{
	struct variable_kernels k;

	prog_start();
	variable_load(&k);
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUdeviceptr out = device_u32("out", 1), table = variable_address(&k, "table");
	CUevent e = event();

	set_now(out, 7, 1);
	set_now(table, 1, 256);
	VARIABLE_P(k.pick, a, out, SLOW);
#ifdef FIXED
	CU(cuEventRecord(e, a));
	CU(cuStreamWaitEvent(b, e, 0));
#endif
	CU(cuMemsetD32Async(table, 2, 256, b));
	check_u32("out", get_u32(out, 0), 1);
	CU(cuEventDestroy(e));
	CU(cuMemFree(out));
	CU(cuModuleUnload(k.module));

	prog_end();
	return 0;
}
