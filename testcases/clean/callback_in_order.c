/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host function between two copies of one stream reads the first one's result and
 * writes the second one's source; an older-style callback as well.
 */
#include "prog.h"

enum { N = 256 };

static uint32_t *result, *source;

static void twice(void *arg)
{
	(void)arg;
	krtsan_host_read(result, 4 * N);
	krtsan_host_write(source, 4 * N);
	for (int i = 0; i < N; i++)
		source[i] = 2 * result[i];
}

static void callback(CUstream s, CUresult status, void *arg)
{
	(void)s;
	MUST(status == CUDA_SUCCESS);
	twice(arg);
}

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr d = device_u32("d", N);

	result = pinned_u32("result", N);
	source = pinned_u32("source", N);
	SPIN(s, SLOW);
	CU(cuMemsetD32Async(d, 5, N, s));
	CU(cuMemcpyDtoHAsync(result, d, 4 * N, s));
	CU(cuLaunchHostFunc(s, twice, NULL));
	CU(cuMemcpyHtoDAsync(d, source, 4 * N, s));
	CU(cuMemcpyDtoHAsync(result, d, 4 * N, s));
	CU(cuStreamAddCallback(s, callback, NULL, 0));
	CU(cuMemcpyHtoDAsync(d, source, 4 * N, s));
	check_u32("d[0]", get_u32(d, 0), 20);
	CU(cuMemFreeHost(result));
	CU(cuMemFreeHost(source));

	prog_end();
	return 0;
}
