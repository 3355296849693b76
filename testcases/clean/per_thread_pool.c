/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads use per-thread default streams on buffers of their own and exit with work
 * pending; the main thread waits for the device.
 */
#define CUDA_API_PER_THREAD_DEFAULT_STREAM
#include "prog.h"

enum { N = 1024, THREADS = 4 };

static CUdeviceptr out;

static void *work(void *arg)
{
	uint32_t id = (uint32_t)(uintptr_t)arg;
	CUdeviceptr part = out + 4 * N * id;

	CU(cuCtxSetCurrent(prog_context));
	CU(cuMemsetD32Async(part, id, N, NULL));
	UPDATES(NULL, part, 4 * N);
	INC(NULL, part, 10, N, 20000);
	return NULL;
}

int main(void)
{
	prog_start();
	pthread_t thread[THREADS];

	out = device_u32("out", N * THREADS);
	for (uintptr_t i = 0; i < THREADS; i++)
		MUST(!pthread_create(&thread[i], NULL, work, (void *)i));
	for (int i = 0; i < THREADS; i++)
		MUST(!pthread_join(thread[i], NULL));
	check_u32("first", get_u32(out, 0), 10);
	check_u32("last", get_u32(out, N * THREADS - 1), 10 + THREADS - 1);

	prog_end();
	return 0;
}
