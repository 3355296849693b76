/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A mapping goes while a kernel that was given its address is pending.  (The kernel
 * does not touch it here, so that the program lives.)
 * EXPECT: KRT-FREE-IN-USE error certain both count=1
 * EXPECT-FIXED: none
 */
#include "prog.h"
#include "vmm.h"

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	struct vmm m = vmm_new();
	CUdeviceptr p = vmm_map(&m);

	MAYBE(s, p, 0, 64, SLOW);
#ifdef FIXED
	CU(cuStreamSynchronize(s));
#endif
	vmm_unmap(&m, p);
	CU(cuCtxSynchronize());
	vmm_end(&m);

	prog_end();
	return 0;
}
