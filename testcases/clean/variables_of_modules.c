/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variables that two streams have nothing to fear of: those of two loads of one
 * module have the same name and nothing else in common; one that is only read, one
 * that is only counted up, and one whose address is asked for again and again; and a
 * part of a table, while a kernel uses a place in it that data decide.
 * EXPECT: none
 */
#include "variable.h"

int main(void)
{
	struct variable_kernels k, l;

	prog_start();
	variable_load(&k);
	variable_load(&l);
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUdeviceptr out = device_u32("out", 2);

	/* two loads */
	VARIABLE_V(k.put, a, 1, SLOW);
	VARIABLE_V(l.put, b, 2, 0);
	CU(cuCtxSynchronize());
	check_u32("total of the first", get_u32(variable_address(&k, "total"), 0), 1);
	check_u32("total of the second", get_u32(variable_address(&l, "total"), 0), 2);
	/* again, now that their addresses are known */
	VARIABLE_V(k.put, a, 3, SLOW);
	VARIABLE_V(l.put, b, 4, 0);
	CU(cuCtxSynchronize());
	MUST(variable_address(&k, "total") != variable_address(&l, "total"));
	/* readers */
	VARIABLE_P(k.look, a, out, SLOW);
	VARIABLE_P(k.look, b, out + 4, 0);
	CU(cuCtxSynchronize());
	VARIABLE_P(k.scaled, a, out, SLOW);
	VARIABLE_P(k.scaled, b, out + 4, 0);
	CU(cuCtxSynchronize());
	/* a reader of one variable beside a writer of the other */
	VARIABLE_P(k.scaled, a, out, SLOW);
	VARIABLE_V(k.put, b, 5, 0);
	CU(cuCtxSynchronize());
	/* the upper half of a table */
	set_now(out, 7, 1);
	VARIABLE_P(k.pick, a, out, SLOW);
	CU(cuMemsetD32Async(variable_address(&k, "table") + 512, 1, 128, b));
	CU(cuCtxSynchronize());
	check_u32("of the table", get_u32(out, 0), 0);
	/* a tally */
	VARIABLE_V(k.bump, a, 1, SLOW);
	VARIABLE_V(k.bump, b, 1, 0);
	CU(cuCtxSynchronize());
	check_u32("tally", get_u32(variable_address(&k, "tally"), 0), 2);
	CU(cuMemFree(out));
	CU(cuModuleUnload(l.module));
	CU(cuModuleUnload(k.module));

	prog_end();
	return 0;
}
