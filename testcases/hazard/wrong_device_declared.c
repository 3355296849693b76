/* SPDX-License-Identifier: Apache-2.0 */
/*
 * As wrong_device_pointer, with a kernel that says what it reads.  The fixed one
 * brings the bytes over, which needs no access.
 * MAY-SKIP: needs two devices
 * EXPECT: KRT-WRONG-DEVICE error certain both count=1
 * MENTIONS: KRT-WRONG-DEVICE "which belongs to context 1 (device 0)"
 * EXPECT-FIXED: none
 */
#include "devices.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUdeviceptr d = device_u32("here", N), mine;
	struct second two;
	CUstream s;

	set_now(d, 1, N);
	two = second_start(false);
	s = stream_nb("there");
	mine = device_u32("there", N);
#ifdef FIXED
	CU(cuMemcpyDtoDAsync(mine, d, 4 * N, s));
#else
	set_now(mine, 1, N);
	mine = d;
#endif
	READS(s, mine, 4 * N);
	K_PVN(&two.k, maybe, s, mine, 0, N, 0);
	CU(cuStreamSynchronize(s));
	second_end(&two);
	check_u32("here[0]", get_u32(d, 0), 1);

	prog_end();
	return 0;
}
