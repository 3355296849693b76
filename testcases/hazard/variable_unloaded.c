/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A module is unloaded while one of its kernels still writes a variable of it.
 * EXPECT: KRT-FREE-IN-USE warning likely documented count=1
 * MENTIONS: KRT-FREE-IN-USE "ends variable "
 * EXPECT-FIXED: none
 * SIM-ONLY: a driver may take away the code under the kernel
 */
#include "variable.h"

int main(void)
{
	struct variable_kernels k;

	prog_start();
	variable_load(&k);
	CUstream a = stream_nb("a");

	VARIABLE_V(k.put, a, 1, SLOW);
#ifdef FIXED
	CU(cuStreamSynchronize(a));
#endif
	CU(cuModuleUnload(k.module));
	CU(cuCtxSynchronize());

	prog_end();
	return 0;
}
