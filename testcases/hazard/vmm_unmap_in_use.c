/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A mapping goes while a kernel is pending that writes there where a flag says so.  (It
 * does not say so here, so that the program lives.)
 * EXPECT: KRT-FREE-IN-USE error certain both count=1
 * EXPECT-FIXED: none
 */
#include "shapes.h"
#include "vmm.h"

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	struct vmm m = vmm_new();
	CUdeviceptr p = vmm_map(&m), flag = device_u32("flag", 1);

	shapes_load();
	set_now(flag, 0, 1);
	ASKED(s, p, flag, 64, SLOW);
#ifdef FIXED
	CU(cuStreamSynchronize(s));
#endif
	vmm_unmap(&m, p);
	CU(cuCtxSynchronize());
	vmm_end(&m);

	prog_end();
	return 0;
}
