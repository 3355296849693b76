/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A graph of device 1 holds a kernel that writes device 0's memory when a flag says so,
 * and nobody enables peer access before the launch.  (The flag does not say so here.)
 * MAY-SKIP: needs two devices with peer access
 * EXPECT: KRT-WRONG-DEVICE warning likely both count=1
 * MENTIONS: KRT-WRONG-DEVICE "kernel asked"
 * EXPECT-FIXED: none
 */
#include "devices.h"
#include "shapes.h"

enum { N = 512 };

int main(void)
{
	prog_start();
	CUdeviceptr d = device_u32("here", N);
	CUdeviceptr flag;
	struct second two;
	CUgraphExec exec;
	CUgraph graph;
	CUstream s;

	set_now(d, 1, N);
	two = second_start(true);
	flag = device_u32("flag", 1);
	set_now(flag, 0, 1);
	shapes_load();
	s = stream_nb("there");
	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	ASKED(s, d, flag, N, 0);
	CU(cuStreamEndCapture(s, &graph));
	CU(cuGraphInstantiate(&exec, graph, 0));
	CU(cuGraphDestroy(graph));
#ifdef FIXED
	CU(cuCtxEnablePeerAccess(prog_context, 0));
#endif
	CU(cuGraphLaunch(exec, s));
	CU(cuStreamSynchronize(s));
	CU(cuGraphExecDestroy(exec));
	second_end(&two);
	check_u32("here[0]", get_u32(d, 0), 1);

	prog_end();
	return 0;
}
