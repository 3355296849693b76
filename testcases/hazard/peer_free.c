/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device 0's buffer is freed while a kernel on device 1 is pending that writes it where
 * a flag says so: the wait inside the free, where there is one, is for the owner's
 * device.  (The flag does not say so here, so that the program lives.)
 * MAY-SKIP: needs two devices with peer access
 * EXPECT: KRT-FREE-IN-USE error certain both count=1
 * EXPECT-FIXED: none
 */
#include "shapes.h"

enum { N = 2048 };

int main(void)
{
	prog_start();
	CUdevice dev;
	CUcontext other;
	CUstream s;
	CUdeviceptr src, flag;
	int count;

	CU(cuDeviceGetCount(&count));
	if (count < 2)
		prog_skip("one device");
	src = device_u32("src", N);
	set_now(src, 1, N);
	CU(cuDeviceGet(&dev, 1));
	CU(cuDevicePrimaryCtxRetain(&other, dev));
	CU(cuCtxSetCurrent(other));
	if (cuCtxEnablePeerAccess(prog_context, 0) != CUDA_SUCCESS)
		prog_skip("no peer access");
	shapes_load();
	flag = device_u32("flag", 1);
	set_now(flag, 0, 1);
	s = stream_nb("reader");
	ASKED(s, src, flag, N, SLOW);
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
