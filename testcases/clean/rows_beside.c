/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The left half of each row goes up while the host writes the right half, by a call
 * and by a graph.
 */
#include "prog.h"

enum { ROWS = 64, PITCH = 64, WIDTH = 32 };

static void write_right_halves(uint32_t *h, uint32_t v)
{
	for (int i = 0; i < ROWS; i++) {
		uint32_t *half = h + (i * PITCH + WIDTH) / 4;

		krtsan_host_write(half, PITCH - WIDTH);
		host_fill(half, v, (PITCH - WIDTH) / 4);
	}
}

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr d = device_u32("d", ROWS * PITCH / 4);
	uint32_t *h = pinned_u32("h", ROWS * PITCH / 4);
	CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = h, .srcPitch = PITCH,
			      .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = d, .dstPitch = PITCH,
			      .WidthInBytes = WIDTH, .Height = ROWS};
	CUgraph graph;
	CUgraphExec exec;

	set_now(d, 0, ROWS * PITCH / 4);
	host_fill(h, 5, ROWS * PITCH / 4);
	SPIN(s, SLOW);
	CU(cuMemcpy2DAsync(&copy, s));
	write_right_halves(h, 6);
	CU(cuStreamSynchronize(s));

	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	CU(cuMemcpy2DAsync(&copy, s));
	CU(cuStreamEndCapture(s, &graph));
	CU(cuGraphInstantiateWithFlags(&exec, graph, 0));
	SPIN(s, SLOW);
	CU(cuGraphLaunch(exec, s));
	write_right_halves(h, 7);
	CU(cuStreamSynchronize(s));
	check_u32("d[0]", get_u32(d, 0), 5);
	CU(cuGraphExecDestroy(exec));
	CU(cuGraphDestroy(graph));

	prog_end();
	return 0;
}
