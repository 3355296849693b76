/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many operations on many streams, for the page to draw: sets that hand over from
 * stream to stream by events, in which one wait in a thousand is forgotten, and a
 * sync now and then.  usage: many OPERATIONS STREAMS
 */
#include "prog.h"

enum { STREAMS_MAX = 512, EVENTS = 64, BYTES = 4096 };

int main(int argc, char **argv)
{
	long operations = argc > 1 ? atol(argv[1]) : 100000;
	int streams = argc > 2 ? atoi(argv[2]) : 16;
	CUstream s[STREAMS_MAX];
	CUevent ev[EVENTS];
	CUdeviceptr d;

	MUST(streams > 1 && streams <= STREAMS_MAX);
	prog_start();
	for (int i = 0; i < streams; i++)
		CU(cuStreamCreate(&s[i], CU_STREAM_NON_BLOCKING));
	for (int i = 0; i < EVENTS; i++)
		CU(cuEventCreate(&ev[i], CU_EVENT_DISABLE_TIMING));
	CU(cuMemAlloc(&d, (size_t)streams * BYTES));
	for (long i = 0; i < operations / 3; i++) {
		CUstream from = s[i % streams], to = s[(i + 1) % streams];
		CUdeviceptr at = d + (size_t)(i / streams % streams) * BYTES;

		CU(cuMemsetD8Async(at, 1, BYTES, from));
		CU(cuEventRecord(ev[i % EVENTS], from));
		if (i % 1000 != 999)
			CU(cuStreamWaitEvent(to, ev[i % EVENTS], 0));
		if (i % 5000 == 4999)
			CU(cuCtxSynchronize());
	}
	CU(cuCtxSynchronize());
	CU(cuMemFree(d));
	return 0;
}
