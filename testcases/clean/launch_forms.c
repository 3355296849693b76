/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every way to launch, each after the one before on one stream, with the copy behind
 * them all.
 */
#include "prog.h"

enum { N = 256, BLOCKS = 4 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr d = device_u32("d", N), counter = device_u32("counter", 1);
	uint32_t *h = pinned_u32("h", N), v = 1, n = N, blocks = BLOCKS;
	uint64_t cycles = 1000;
	void *args[] = {&d, &v, &n, &cycles}, *meet[] = {&d, &counter, &blocks, &n, &cycles};
	struct {
		CUdeviceptr dst;
		uint32_t v, n;
		uint64_t cycles;
	} buffer = {d, 10, N, 0};
	size_t size = sizeof(buffer);
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &buffer, CU_LAUNCH_PARAM_BUFFER_SIZE,
			 &size, CU_LAUNCH_PARAM_END};
	CUlaunchAttribute attr = {.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value.cooperative = 1};
	CUlaunchConfig config = {
		.gridDimX = BLOCKS,
		.gridDimY = 1,
		.gridDimZ = 1,
		.blockDimX = 64,
		.blockDimY = 1,
		.blockDimZ = 1,
		.hStream = s,
		.attrs = &attr,
	};

	set_now(counter, 0, 1);
	CU(cuMemsetD32Async(d, 0, N, s));
	CU(cuLaunchKernel(prog.inc, 1, 1, 1, 64, 1, 1, 0, s, args, NULL));
	CU(cuLaunchKernel(prog.inc, 2, 1, 1, 32, 1, 1, 0, s, NULL, extra));
	CU(cuLaunchKernelEx(&config, prog.inc, args, NULL));
	CU(cuLaunchCooperativeKernel(prog.meet, BLOCKS, 1, 1, 64, 1, 1, 0, s, meet));
	CU(cuMemsetD32Async(counter, 0, 1, s));
	config.numAttrs = 1;
	CU(cuLaunchKernelEx(&config, prog.meet, meet, NULL));
	CU(cuMemcpyDtoHAsync(h, d, 4 * N, s));
	CU(cuStreamSynchronize(s));
	check_u32("h[0]", h[0], 14);
	CU(cuMemFreeHost(h));

	prog_end();
	return 0;
}
