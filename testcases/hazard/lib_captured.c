/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A product is captured; its graph runs on one stream while another uploads over
 * the result.
 * EXPECT: KRT-GRAPH-EXEC-OVERLAP error certain both count=1
 * EXPECT-FIXED: none
 * MAY-SKIP: needs cuBLAS
 */
#include "libs.h"

enum { N = 64 };

int main(void)
{
	CUdeviceptr a, b, c;
	CUstream work, side;
	CUgraphExec exec;
	blas_handle h;
	CUgraph graph;
	uint32_t *next;
	CUevent done;

	prog_start();
	a = device_u32("a", N * N);
	b = device_u32("b", N * N);
	c = device_u32("c", N * N);
	next = pinned_u32("next", N * N);
	work = stream_nb("work");
	side = stream_nb("side");
	done = event();
	h = blas_on(work);
	set_now(a, bits_of(1), N * N);
	set_now(b, bits_of(2), N * N);

	CU(cuStreamBeginCapture(work, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	SPIN(work, SLOW);
	GEMM(h, N, a, b, 0, c);
	CU(cuStreamEndCapture(work, &graph));
	CU(cuGraphInstantiate(&exec, graph, 0));

	CU(cuGraphLaunch(exec, work));
	CU(cuEventRecord(done, work));
#ifdef FIXED
	CU(cuStreamWaitEvent(side, done, 0));
#endif
	CU(cuMemcpyHtoDAsync(c, next, 4 * N * N, side));
	CU(cuStreamSynchronize(side));
	CU(cuStreamSynchronize(work));
	check_u32("result", get_u32(c, 5), 0);
	CU(cuGraphExecDestroy(exec));
	CU(cuGraphDestroy(graph));
	LIB(blas.destroy(h));
	prog_end();
	return 0;
}
