/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device 0's buffer is freed while device 1 still reads it: the wait inside the
 * free, where there is one, is for the owner's device.
 * MAY-SKIP: needs two devices
 * EXPECT: KRT-FREE-IN-USE error certain both count=1
 * EXPECT-FIXED: none
 */
#include "prog.h"

enum { N = 2048 };

int main(void)
{
	prog_start();
	CUdevice dev;
	CUcontext other;
	CUstream s;
	CUdeviceptr src, dst;
	struct prog_kernels k;
	int count;

	CU(cuDeviceGetCount(&count));
	if (count < 2)
		prog_skip("one device");
	src = device_u32("src", N);
	set_now(src, 1, N);
	CU(cuDeviceGet(&dev, 1));
	CU(cuDevicePrimaryCtxRetain(&other, dev));
	CU(cuCtxSetCurrent(other));
	prog_load(&k);
	s = stream_nb("reader");
	dst = device_u32("dst", N);
	K_SPIN(&k, s, SLOW);
	CU(cuMemcpyPeerAsync(dst, other, src, prog_context, 4 * N, s));
#ifdef FIXED
	CU(cuStreamSynchronize(s));
#endif
	CU(cuCtxSetCurrent(prog_context));
	CU(cuMemFree(src));
	CU(cuCtxSetCurrent(other));
	CU(cuCtxSynchronize());
	CU(cuDevicePrimaryCtxRelease(dev));

	prog_end();
	return 0;
}
