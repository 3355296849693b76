/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small network: three layers one after the other on a stream, each a product
 * with a bias through cublasLt; the weights of the next step are uploaded behind
 * an event of each layer, and the output is fetched behind the last.  Captured
 * once, launched many times.
 * EXPECT: none
 * MAY-SKIP: needs cuBLAS
 */
#include "libs.h"

enum { N = 32, LAYERS = 3, STEPS = 4 };

int main(void)
{
	const float alpha = 1, beta = 0;
	CUdeviceptr x[LAYERS + 1], w[LAYERS], bias[LAYERS];
	void *h, *l, *desc[LAYERS];
	CUstream work, side;
	uint32_t *next, *out;
	CUevent used, loaded;
	CUgraphExec exec;
	CUgraph graph;

	prog_start();
	next = pinned_u32("next", N * N);
	out = pinned_u32("out", N * N);
	host_fill(next, bits_of(1), N * N);
	work = stream_nb("work");
	side = stream_nb("side");
	used = event();
	loaded = event();
	h = lt_open();
	l = lt_square(N);
	for (int i = 0; i <= LAYERS; i++) {
		x[i] = device_u32("x", N * N);
		set_now(x[i], bits_of(1), N * N);
		if (i == LAYERS)
			break;
		w[i] = device_u32("w", N * N);
		bias[i] = device_u32("bias", N);
		set_now(w[i], bits_of(1), N * N);
		set_now(bias[i], bits_of(1), N);
		desc[i] = lt_desc(bias[i]);
	}
	LIB(lt.matmul(h, desc[0], &alpha, w[0], l, x[0], l, &beta, x[1], l, x[1], l, NULL, 0, 0,
		      work)); /* loads code */
	CU(cuCtxSynchronize());
	CU(cuStreamBeginCapture(work, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	for (int i = 0; i < LAYERS; i++)
		LIB(lt.matmul(h, desc[i], &alpha, w[i], l, x[i], l, &beta, x[i + 1], l, x[i + 1], l,
			      NULL, 0, 0, work));
	CU(cuStreamEndCapture(work, &graph));
	CU(cuGraphInstantiate(&exec, graph, 0));

	for (int step = 0; step < STEPS; step++) {
		CU(cuGraphLaunch(exec, work));
		CU(cuEventRecord(used, work));
		CU(cuStreamWaitEvent(side, used, 0));
		for (int i = 0; i < LAYERS; i++)
			CU(cuMemcpyHtoDAsync(w[i], next, 4 * N * N, side));
		CU(cuMemcpyDtoHAsync(out, x[LAYERS], 4 * N * N, side));
		CU(cuEventRecord(loaded, side));
		CU(cuStreamWaitEvent(work, loaded, 0));
	}
	CU(cuStreamSynchronize(side));
	check_f32("out", get_f32(x[1], 3), N + 1);
	CU(cuStreamSynchronize(work));
	CU(cuGraphExecDestroy(exec));
	CU(cuGraphDestroy(graph));
	LIB(lt.destroy(h));
	prog_end();
	return 0;
}
