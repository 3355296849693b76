/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A peer copy without a stream is serialised with all work of both devices by the
 * runtime's reference; the driver's says nothing of the kind.
 * MAY-SKIP: needs two devices
 * EXPECT: KRT-RACE-RAW warning certain documented count=1
 * EXPECT-FIXED: none
 */
#include "devices.h"

enum { N = 2048 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr src = device_u32("src", N), dst;
	struct second two;

	set_now(src, 1, N);
	two = second_start(false);
	dst = device_u32("dst", N);
	CU(cuCtxSetCurrent(prog_context));
	WRITES(s, src, 4 * N);
	FILL(s, src, 2, N, SLOW);
#ifdef FIXED
	CU(cuStreamSynchronize(s));
#endif
	CU(cuMemcpyPeer(dst, two.context, src, prog_context, 4 * N));
	CU(cuCtxSynchronize());
	CU(cuCtxSetCurrent(two.context));
	check_u32("dst[0]", get_u32(dst, 0), 2);
	second_end(&two);

	prog_end();
	return 0;
}
