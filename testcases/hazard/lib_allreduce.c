/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gradients of two devices are summed in place, in one group, each on its
 * communication stream.  The next backward pass of device 0 writes its gradients
 * on the compute stream without waiting for that.
 * EXPECT: KRT-RACE-WAW|KRT-RACE-WAR error certain both count>=1
 * MENTIONS: KRT-RACE-WAW "gradients 0"
 * MENTIONS: KRT-RACE-WAW "in ncclGroupEnd"
 * EXPECT-FIXED: none
 * MAY-SKIP: needs NCCL and two devices
 */
#include "libs.h"

enum { N = 4096 };

int main(void)
{
	struct {
		CUcontext ctx;
		CUstream compute, comm;
		CUevent computed, summed;
		CUdeviceptr gradients;
	} r[2];
	nccl_comm comms[2];
	CUdevice device;
	int n;

	prog_start();
	CU(cuDeviceGetCount(&n));
	if (n < 2)
		prog_skip("needs two devices");
	for (int i = 0; i < 2; i++) {
		CU(cuDeviceGet(&device, i));
		CU(cuDevicePrimaryCtxRetain(&r[i].ctx, device));
		CU(cuCtxSetCurrent(r[i].ctx));
		r[i].compute = stream_nb(i ? "compute 1" : "compute 0");
		r[i].comm = stream_nb(i ? "comm 1" : "comm 0");
		r[i].computed = event();
		r[i].summed = event();
		r[i].gradients = device_u32(i ? "gradients 1" : "gradients 0", N);
		set_now(r[i].gradients, bits_of(i + 1), N);
	}
	nccl_open(comms, 2);
	for (int round = 0; round < 2; round++) { /* the first one sets everything up */
		for (int i = 0; i < 2; i++) {
			CU(cuCtxSetCurrent(r[i].ctx));
			CU(cuEventRecord(r[i].computed, r[i].compute));
			CU(cuStreamWaitEvent(r[i].comm, r[i].computed, 0));
		}
		LIB(nccl.start());
		LIB(nccl.start()); /* they nest */
		for (int i = 0; i < 2; i++)
			LIB(nccl.allreduce(r[i].gradients, r[i].gradients, N, NCCL_FLOAT, NCCL_SUM,
					   comms[i], r[i].comm));
		LIB(nccl.end());
		LIB(nccl.end());
		for (int i = 0; i < 2 && !round; i++) {
			CU(cuCtxSetCurrent(r[i].ctx));
			CU(cuStreamSynchronize(r[i].comm));
		}
	}
	CU(cuCtxSetCurrent(r[0].ctx));
	CU(cuEventRecord(r[0].summed, r[0].comm));
#ifdef FIXED
	CU(cuStreamWaitEvent(r[0].compute, r[0].summed, 0));
#endif
	FILL(r[0].compute, r[0].gradients, bits_of(7), N, 0);
	for (int i = 0; i < 2; i++) {
		CU(cuCtxSetCurrent(r[i].ctx));
		CU(cuStreamSynchronize(r[i].comm));
		CU(cuStreamSynchronize(r[i].compute));
	}
	check_f32("sum", get_f32(r[1].gradients, 5), 6);
	for (int i = 0; i < 2; i++)
		LIB(nccl.destroy(comms[i]));
	CU(cuCtxSetCurrent(r[1].ctx));
	CU(cuDevicePrimaryCtxRelease(1));
	prog_end();
	return 0;
}
