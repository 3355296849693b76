/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Upload, compute and read back on three streams with events between the stages, for
 * several chunks; no stage waits for the host.
 */
#include "prog.h"

enum { N = 2048, CHUNKS = 6 };

int main(void)
{
	prog_start();
	CUstream up = stream_nb("up"), run = stream_nb("run"), down = stream_nb("down");
	CUevent a = event(), b = event();
	CUdeviceptr in = device_u32("in", N * CHUNKS), out = device_u32("out", N * CHUNKS);
	uint32_t *src = pinned_u32("src", N * CHUNKS), *dst = pinned_u32("dst", N * CHUNKS);

	for (uint32_t i = 0; i < CHUNKS; i++)
		host_fill(src + N * i, i, N);
	for (size_t i = 0; i < CHUNKS; i++) {
		CU(cuMemcpyHtoDAsync(in + 4 * N * i, src + N * i, 4 * N, up));
		CU(cuEventRecord(a, up));
		CU(cuStreamWaitEvent(run, a, 0));
		READS(run, in + 4 * N * i, 4 * N);
		WRITES(run, out + 4 * N * i, 4 * N);
		COPY(run, out + 4 * N * i, in + 4 * N * i, N, 10000);
		CU(cuEventRecord(b, run));
		CU(cuStreamWaitEvent(down, b, 0));
		CU(cuMemcpyDtoHAsync(dst + N * i, out + 4 * N * i, 4 * N, down));
	}
	CU(cuStreamSynchronize(down));
	krtsan_host_read(dst, 4 * N * CHUNKS);
	check_u32("first", dst[0], 0);
	check_u32("last", dst[N * CHUNKS - 1], CHUNKS - 1);
	/* What the read-back waited for is done as well: the sources may change. */
	krtsan_host_write(src, 4 * N * CHUNKS);
	host_fill(src, 9, N * CHUNKS);
	CU(cuMemFreeHost(src));
	CU(cuMemFreeHost(dst));
	CU(cuEventDestroy(a));
	CU(cuEventDestroy(b));

	prog_end();
	return 0;
}
