/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel of device 1 writes device 0's memory where a flag says so, and nobody
 * enabled peer access.  (It does not say so here, so that the program lives.)
 * MAY-SKIP: needs two devices with peer access
 * EXPECT: KRT-WRONG-DEVICE warning likely both count=1
 * MENTIONS: KRT-WRONG-DEVICE "device 1 has no access"
 * MENTIONS: KRT-WRONG-DEVICE "cuCtxEnablePeerAccess"
 * EXPECT-FIXED: none
 */
#include "devices.h"
#include "shapes.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUdeviceptr d = device_u32("here", N), flag;
	struct second two;
	CUstream s;

	set_now(d, 1, N);
	two = second_start(true);
	shapes_load();
	flag = device_u32("flag", 1);
	set_now(flag, 0, 1);
	s = stream_nb("there");
#ifdef FIXED
	CU(cuCtxEnablePeerAccess(prog_context, 0));
#endif
	ASKED(s, d, flag, N, 0);
	CU(cuStreamSynchronize(s));
	second_end(&two);
	check_u32("here[0]", get_u32(d, 0), 1);

	prog_end();
	return 0;
}
