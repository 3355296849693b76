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

enum { N = 512 };

/* dst[i] = 1 where *src is not 0 */
static const char ptx[] =
	".version 7.0\n"
	".target sm_50\n"
	".address_size 64\n" PTX_HEAD(
		"asked",
		".param .u64 dst, .param .u64 src, .param .u32 n") "	ld.param.u64 %rd6, [src];\n"
								   "	ld.global.u32 %r7, "
								   "[%rd6];\n"
								   "	setp.eq.u32 %p3, %r7, 0;\n"
								   "	@%p3 ret;\n" PTX_LOOP
									   PTX_DST
								   "	st.global.u32 [%rd5], "
								   "%r7;\n" PTX_NEXT;

int main(void)
{
	prog_start();
	CUdeviceptr d = device_u32("here", N);
	CUdeviceptr flag;
	uint32_t n = N;
	uint64_t cycles = 0;
	CUfunction asked;
	CUmodule module;
	struct second two;
	CUgraphExec exec;
	CUgraph graph;
	CUstream s;

	set_now(d, 1, N);
	two = second_start(true);
	flag = device_u32("flag", 1);
	set_now(flag, 0, 1);
	CU(cuModuleLoadData(&module, ptx));
	asked = prog_kernel(module, "asked");
	s = stream_nb("there");
	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	LAUNCH(asked, 1, s, &d, &flag, &n, &cycles);
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
