/* SPDX-License-Identifier: Apache-2.0 */
#include "job.h"

static void run(CUdeviceptr p, CUstream one, CUstream two)
{
	job_begin(p, one);
	job_end(p, two);
}

int main(void)
{
	CUcontext ctx;
	CUdevice dev;
	CUstream one, two;
	CUdeviceptr p;

	MUST(cuInit(0));
	MUST(cuDeviceGet(&dev, 0));
	MUST(cuDevicePrimaryCtxRetain(&ctx, dev));
	MUST(cuCtxSetCurrent(ctx));
	MUST(cuStreamCreate(&one, CU_STREAM_NON_BLOCKING));
	MUST(cuStreamCreate(&two, CU_STREAM_NON_BLOCKING));
	MUST(cuMemAlloc(&p, BYTES));
	run(p, one, two);
	MUST(cuCtxSynchronize());
	return 0;
}
