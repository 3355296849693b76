/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A variable of a library, which a kernel reads while another one writes it; the
 * kernels are launched by their library handles.
 * EXPECT: KRT-RACE-WAR error certain both count=1
 * MENTIONS: KRT-RACE-WAR "+0x0..+0x4 of variable "
 * EXPECT-FIXED: none
 * SIM-WRONG: the writer is first
 */
#include "variable.h"

int main(void)
{
	CUlibrary library;
	CUkernel put, look;
	CUdeviceptr total;
	CUfunction loaded;
	size_t bytes;

	prog_start();
	CU(cuLibraryLoadData(&library, variable_ptx, NULL, NULL, 0, NULL, NULL, 0));
	CU(cuLibraryGetKernel(&put, library, "put"));
	CU(cuLibraryGetKernel(&look, library, "look"));
	/* a lazy load may wait for the device */
	CU(cuKernelGetFunction(&loaded, put));
	CU(cuFuncLoad(loaded));
	CU(cuKernelGetFunction(&loaded, look));
	CU(cuFuncLoad(loaded));
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUdeviceptr out = device_u32("out", 1);
	CUevent e = event();

	VARIABLE_P((CUfunction)look, a, out, SLOW);
#ifdef FIXED
	CU(cuEventRecord(e, a));
	CU(cuStreamWaitEvent(b, e, 0));
#endif
	VARIABLE_V((CUfunction)put, b, 2, 0);
	check_u32("out", get_u32(out, 0), 5);
	CU(cuLibraryGetGlobal(&total, &bytes, library, "total"));
	check_u32("total", get_u32(total, 0), 2);
	CU(cuEventDestroy(e));
	CU(cuMemFree(out));
	CU(cuLibraryUnload(library));

	prog_end();
	return 0;
}
