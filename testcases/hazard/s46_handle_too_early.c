/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory is handed to another process while a kernel still writes it; the other side
 * is told by a message, which no stream waits for.  Only this side is played.
 * SOURCE: scenario S46
 * MAY-SKIP: needs IPC handles
 * EXPECT: KRT-UNFINISHED warning certain both count=1
 * MENTIONS: KRT-UNFINISHED "cuIpcGetMemHandle"
 * EXPECT-FIXED: none
 */
#include "prog.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("producer");
	CUdeviceptr d = device_u32("tensor", N);
	CUipcMemHandle handle;
	CUipcEventHandle ready;
	CUevent e;

	set_now(d, 1, N);
	CU(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS));
	if (cuIpcGetMemHandle(&handle, d) != CUDA_SUCCESS ||
	    cuIpcGetEventHandle(&ready, e) != CUDA_SUCCESS)
		prog_skip("no IPC handles");
	UPDATES(s, d, 4 * N);
	INC(s, d, 1, N, SLOW);
	CU(cuIpcGetMemHandle(&handle, d));
#ifdef FIXED
	/* sent along: the other process waits for it */
	CU(cuEventRecord(e, s));
#endif
	puts("sent");
	return 0;
}
