/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One case: the device uses memory, the program waits in some way or not, the CPU
 * touches the memory.
 *
 *   matrix MEMORY STREAM SYNC ACCESS
 * MEMORY: managed (a kernel writes it), download, upload (pinned, copied)
 * STREAM: legacy, blocking, nonblocking, thread
 * SYNC: none, stream, event, context, query, barrier (an operation of the legacy
 *       stream, which is waited for), null (the legacy stream is, without one), free
 *       (of other memory)
 * ACCESS: read, write
 */
#include "prog.h"

enum { N = 1024 };

static CUstream stream_of(const char *kind)
{
	if (!strcmp(kind, "legacy"))
		return CU_STREAM_LEGACY;
	if (!strcmp(kind, "thread"))
		return CU_STREAM_PER_THREAD;
	return !strcmp(kind, "blocking") ? stream_blocking("s") : stream_nb("s");
}

int main(int argc, char **argv)
{
	MUST(argc == 5);
	prog_start();
	const char *memory = argv[1], *sync = argv[3];
	CUstream s = stream_of(argv[2]);
	CUevent e = event();
	CUdeviceptr m = 0, d = device_u32("d", N), other = device_u32("other", N);
	volatile uint32_t *h;
	bool managed = !strcmp(memory, "managed"), freed = false;

	if (managed) {
		CU(cuMemAllocManaged(&m, 4 * N, CU_MEM_ATTACH_GLOBAL));
		h = (volatile uint32_t *)(uintptr_t)m;
		h[0] = 1;
	} else {
		h = pinned_u32("h", N);
		set_now(d, 1, N);
	}
	SPIN(s, SLOW);
	if (managed)
		FILL(s, m, 2, N, 0);
	else if (!strcmp(memory, "download"))
		CU(cuMemcpyDtoHAsync((void *)h, d, 4 * N, s));
	else
		CU(cuMemcpyHtoDAsync(d, (void *)h, 4 * N, s));
	if (!strcmp(sync, "stream")) {
		CU(cuStreamSynchronize(s));
	} else if (!strcmp(sync, "event")) {
		CU(cuEventRecord(e, s));
		CU(cuEventSynchronize(e));
	} else if (!strcmp(sync, "context")) {
		CU(cuCtxSynchronize());
	} else if (!strcmp(sync, "query")) {
		while (cuStreamQuery(s) == CUDA_ERROR_NOT_READY)
			usleep(100);
	} else if (!strcmp(sync, "barrier")) {
		CU(cuMemsetD8Async(other, 0, 4, CU_STREAM_LEGACY));
		CU(cuStreamSynchronize(CU_STREAM_LEGACY));
	} else if (!strcmp(sync, "null")) {
		CU(cuStreamSynchronize(NULL));
	} else if (!strcmp(sync, "free")) {
		CU(cuMemFree(other));
		freed = true;
	} else {
		MUST(!strcmp(sync, "none"));
	}
	if (!strcmp(argv[4], "read"))
		(void)h[0];
	else
		h[0] = 7;
	CU(cuCtxSynchronize());
	printf("%s\n", h[1] <= 7 ? "done" : "odd");
	if (managed)
		CU(cuMemFree(m));
	else
		CU(cuMemFreeHost((void *)h));
	CU(cuMemFree(d));
	if (!freed)
		CU(cuMemFree(other));
	prog_end();
	return 0;
}
