/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events are exported, and destroyed before any other process can have opened them:
 * they went out of scope in the sender.  Only this side is played.
 * SOURCE: scenario S46, the variant
 * MAY-SKIP: needs IPC handles
 * UNSTABLE: a slow machine gives the other side time
 * EXPECT: KRT-UNFINISHED warning likely both count>=1
 * MENTIONS: KRT-UNFINISHED "keep the event"
 * FIX: KRT-UNFINISHED none: nobody can tell when the other process is done with it
 * EXPECT-FIXED: none
 */
#include "prog.h"

enum { N = 1024, ROUNDS = 12 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("producer");
	CUdeviceptr d = device_u32("tensor", N);
	CUipcEventHandle ready;
	CUevent e;

	set_now(d, 1, N);
	SPIN(s, SLOW);
	for (int i = 0; i < ROUNDS; i++) {
		CU(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS));
		UPDATES(s, d, 4 * N);
		INC(s, d, 1, N, 0);
		CU(cuEventRecord(e, s));
		if (cuIpcGetEventHandle(&ready, e) != CUDA_SUCCESS)
			prog_skip("no IPC handles");
#ifdef FIXED
		/* the receiver's answer, here: everything done */
		CU(cuStreamSynchronize(s));
#endif
		CU(cuEventDestroy(e));
	}
	check_u32("tensor[0]", get_u32(d, 0), ROUNDS + 1);

	prog_end();
	return 0;
}
