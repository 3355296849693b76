/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programmatic dependent launch on one stream: the order within the stream is taken
 * as kept.
 * SOURCE: trap T22
 */
#include "prog.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr d = device_u32("d", N);
	uint32_t one = 1, n = N;
	uint64_t cycles = 1000;
	void *args[] = {&d, &one, &n, &cycles};
	CUlaunchAttribute attr = {
		.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
		.value.programmaticStreamSerializationAllowed = 1,
	};
	CUlaunchConfig config = {
		.gridDimX = 1,
		.gridDimY = 1,
		.gridDimZ = 1,
		.blockDimX = 64,
		.blockDimY = 1,
		.blockDimZ = 1,
		.hStream = s,
		.attrs = &attr,
		.numAttrs = 1,
	};

	if (cuDeviceGetAttribute((int *)&n, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
				 prog_device) ||
	    n < 9)
		config.numAttrs = 0;
	n = N;
	set_now(d, 0, N);
	for (int i = 0; i < 4; i++) {
		UPDATES(s, d, 4 * N);
		CU(cuLaunchKernelEx(&config, prog.inc, args, NULL));
	}
	CU(cuCtxSynchronize());

	prog_end();
	return 0;
}
