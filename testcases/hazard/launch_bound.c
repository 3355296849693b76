/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 120 kernels of 2 us at 6 us a submission, a round: submission sets the pace.
 * Fixed: captured once, one launch a round.
 * EXPECT: KRT-PERF-LAUNCH-BOUND note certain both count=1
 * FINDINGS: 1
 * MENTIONS: KRT-PERF-LAUNCH-BOUND "720 us of submission against 240 us of device service"
 * MENTIONS: KRT-PERF-LAUNCH-BOUND "120 launches each, in 20 rounds"
 * MENTIONS: KRT-PERF-LAUNCH-BOUND "one graph launch instead of 120 launches"
 * EXPECT-FIXED: none
 * OPTIONS: timing=cupti:sim_submit_ns=6000:sim_service_ns=2000
 * SIM-ONLY: figures of the virtual clock
 */
#include "prog.h"

enum { N = 64, KERNELS = 120, ROUNDS = 20 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr x = device_u32("x", N);
	uint32_t *out = pinned_u32("out", ROUNDS);
#ifdef FIXED
	CUgraph graph;
	CUgraphExec exec;
#endif

	set_now(x, 0, N);
#ifdef FIXED
	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	for (int k = 0; k < KERNELS; k++)
		INC(s, x, 1, N, 0);
	CU(cuStreamEndCapture(s, &graph));
	CU(cuGraphInstantiateWithFlags(&exec, graph, 0));
#endif
	for (int i = 0; i < ROUNDS; i++) {
#ifdef FIXED
		CU(cuGraphLaunch(exec, s));
#else
		for (int k = 0; k < KERNELS; k++)
			INC(s, x, 1, N, 0);
#endif
		CU(cuMemcpyDtoHAsync(&out[i], x, 4, s));
	}
	CU(cuStreamSynchronize(s));
	check_u32("last", out[ROUNDS - 1], ROUNDS * KERNELS);
#ifdef FIXED
	CU(cuGraphExecDestroy(exec));
	CU(cuGraphDestroy(graph));
#endif

	prog_end();
	return 0;
}
