/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory is mapped and handed to a kernel that writes it where a flag says so, but no
 * device was given access to it.  (The flag does not say so here, so that the program
 * lives.)
 * EXPECT: KRT-WRONG-DEVICE warning likely both count=1
 * MENTIONS: KRT-WRONG-DEVICE "cuMemSetAccess"
 * EXPECT-FIXED: none
 */
#include "shapes.h"
#include "vmm.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	struct vmm m = vmm_new();
	CUdeviceptr d, flag = device_u32("flag", 1);

	shapes_load();
	set_now(flag, 0, 1);
	CU(cuMemAddressReserve(&d, m.size, 0, 0, 0));
	CU(cuMemMap(d, m.size, 0, m.handle, 0));
#ifdef FIXED
	CU(cuMemSetAccess(d, m.size, &m.access, 1));
#endif
	ASKED(s, d, flag, N, 0);
	CU(cuStreamSynchronize(s));
	vmm_unmap(&m, d);
	vmm_end(&m);

	prog_end();
	return 0;
}
