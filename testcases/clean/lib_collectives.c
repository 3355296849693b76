/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two devices gather each other's parts and sum others, in groups, on streams of
 * their own; meanwhile the compute streams use what lies beside the parts, and
 * what another device has at work.
 * EXPECT: none
 * MAY-SKIP: needs NCCL and two devices
 */
#include "libs.h"

enum { N = 1024 };

int main(void)
{
	struct {
		CUcontext ctx;
		CUstream compute, comm;
		CUevent done;
		CUdeviceptr part, all, sums;
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
		r[i].compute = stream_nb("compute");
		r[i].comm = stream_nb("comm");
		r[i].done = event();
		r[i].part = device_u32("part", 2 * N); /* the second half stays here */
		r[i].all = device_u32("all", 3 * N);   /* so does the last third */
		r[i].sums = device_u32("sums", N);
		set_now(r[i].part, bits_of(i + 1), 2 * N);
		set_now(r[i].all, 0, 3 * N);
		set_now(r[i].sums, bits_of(1), N);
	}
	nccl_open(comms, 2);
	LIB(nccl.start());
	for (int i = 0; i < 2; i++)
		LIB(nccl.allgather(r[i].part, r[i].all, N, NCCL_FLOAT, comms[i], r[i].comm));
	LIB(nccl.end());
	for (int i = 0; i < 2; i++) {
		CU(cuCtxSetCurrent(r[i].ctx));
		CU(cuMemsetD32Async(r[i].part + 4 * N, 9, N, r[i].compute));
		CU(cuMemsetD32Async(r[i].all + 8 * N, 9, N, r[i].compute));
		CU(cuMemcpyDtoDAsync(r[i].sums, r[i].part, 4 * N, r[i].compute)); /* both read it */
		CU(cuEventRecord(r[i].done, r[i].compute));
		CU(cuStreamWaitEvent(r[i].comm, r[i].done, 0));
	}
	LIB(nccl.start());
	for (int i = 0; i < 2; i++)
		LIB(nccl.allreduce(r[i].sums, r[i].sums, N, NCCL_FLOAT, NCCL_SUM, comms[i],
				   r[i].comm));
	LIB(nccl.end());
	for (int i = 0; i < 2; i++) {
		CU(cuCtxSetCurrent(r[i].ctx));
		CU(cuStreamSynchronize(r[i].comm));
	}
	check_f32("gathered", get_f32(r[0].all, N + 5), 2);
	check_f32("sum", get_f32(r[1].sums, 5), 3);
	for (int i = 0; i < 2; i++)
		LIB(nccl.destroy(comms[i]));
	CU(cuCtxSetCurrent(r[1].ctx));
	CU(cuDevicePrimaryCtxRelease(1));
	prog_end();
	return 0;
}
