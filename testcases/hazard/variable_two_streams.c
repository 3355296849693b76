/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two kernels on two streams write one variable of their module.  Nobody ever asks
 * for its address before they are over.
 * EXPECT: KRT-RACE-WAW error certain both count=1
 * MENTIONS: KRT-RACE-WAW "+0x0..+0x4 of variable "
 * EXPECT-FIXED: none
 * SIM-WRONG: the slow one comes last
 */
#include "variable.h"

int main(void)
{
	struct variable_kernels k;

	prog_start();
	variable_load(&k);
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUevent e = event();

	VARIABLE_V(k.put, a, 1, SLOW);
#ifdef FIXED
	CU(cuEventRecord(e, a));
	CU(cuStreamWaitEvent(b, e, 0));
#endif
	VARIABLE_V(k.put, b, 2, 0);
	CU(cuCtxSynchronize());
	check_u32("total", get_u32(variable_address(&k, "total"), 0), 2);
	CU(cuEventDestroy(e));
	CU(cuModuleUnload(k.module));

	prog_end();
	return 0;
}
