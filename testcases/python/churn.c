/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls the driver again and again, for ever: what a daemon thread of Python's is
 * in, without the GIL, while the interpreter shuts down and takes its state away.
 */
#include "../../interposer/cuabi.h"

void churn(CUdeviceptr p, CUstream s);
void churn(CUdeviceptr p, CUstream s)
{
	for (;;) {
		cuMemsetD8Async(p, 0, 64, s);
		cuStreamSynchronize(s);
	}
}
