/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory is mapped and handed to a kernel, but no device was given access to it.  (The
 * kernel does not touch it here, so that the program lives.)
 * EXPECT: KRT-WRONG-DEVICE warning likely both count=1
 * MENTIONS: KRT-WRONG-DEVICE "cuMemSetAccess"
 * EXPECT-FIXED: none
 */
#include "prog.h"
#include "vmm.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	struct vmm m = vmm_new();
	CUdeviceptr d;

	CU(cuMemAddressReserve(&d, m.size, 0, 0, 0));
	CU(cuMemMap(d, m.size, 0, m.handle, 0));
#ifdef FIXED
	CU(cuMemSetAccess(d, m.size, &m.access, 1));
#endif
	MAYBE(s, d, 0, N, 0);
	CU(cuStreamSynchronize(s));
	vmm_unmap(&m, d);
	vmm_end(&m);

	prog_end();
	return 0;
}
