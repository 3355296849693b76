/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The demonstration: a small inference step with three missing waits, each of the
 * kind that real programs had.  Any driver-API program would do; this one knows
 * nothing of krtsan.  `demo probe` only says whether a driver works here.
 */
#include "prog.h"
#include "pool.h"

enum { N = 1 << 16 };

/* Weights are uploaded on a copy stream; nobody makes the compute stream wait. */
static void upload_weights(CUstream copy, CUdeviceptr weights, const uint32_t *host)
{
	SPIN(copy, SLOW); /* the copy stream has other things to do first */
	CU(cuMemcpyHtoDAsync(weights, host, 4 * N, copy));
}

/* act = weights */
static void forward(CUstream compute, CUdeviceptr act, CUdeviceptr weights)
{
	CU(cuMemcpyDtoDAsync(act, weights, 4 * N, compute));
}

/* The temporary is freed on its own stream while the compute stream still reads it. */
static void add_bias(CUstream alloc, CUstream compute, CUdeviceptr act)
{
	CUevent ready = event();
	CUdeviceptr bias, next;

	CU(cuMemAllocAsync(&bias, 4 * N, alloc));
	CU(cuMemsetD32Async(bias, 5, N, alloc));
	CU(cuEventRecord(ready, alloc));
	CU(cuStreamWaitEvent(compute, ready, 0));
	ADD(compute, act, bias, N, SLOW);
	CU(cuMemFreeAsync(bias, alloc));
	/* Somebody else gets the block. */
	CU(cuMemAllocAsync(&next, 4 * N, alloc));
	CU(cuMemsetD32Async(next, 1000, N, alloc));
	CU(cuMemFreeAsync(next, alloc));
	CU(cuEventDestroy(ready));
}

/* A blocking copy: it waits for the default stream, not for the compute stream. */
static void read_answer(CUdeviceptr act, uint32_t *answer)
{
	CU(cuMemcpyDtoH(answer, act, 4));
}

int main(int argc, char **argv)
{
	CUstream copy, alloc, compute;
	CUdeviceptr weights, act;
	uint32_t *host, answer;

	if (argc > 1 && !strcmp(argv[1], "probe"))
		return cuInit(0) != CUDA_SUCCESS;
	prog_start();
	pool_keeps_memory();
	copy = stream_nb("copy");
	alloc = stream_nb("alloc");
	compute = stream_nb("compute");
	weights = device_u32("weights", N);
	act = device_u32("activations", N);
	host = pinned_u32("staging", N);
	set_now(weights, 1, N);
	set_now(act, 0, N);
	host_fill(host, 37, N);

	upload_weights(copy, weights, host);
	forward(compute, act, weights);
	add_bias(alloc, compute, act);
	read_answer(act, &answer);
	check_u32("answer at once", answer, 42);
	check_u32("answer at the end", get_u32(act, 0), 42);

	CU(cuMemFreeHost(host));
	prog_end();
	return 0;
}
