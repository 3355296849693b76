/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In place of the CUDA runtime, for objects that nvcc made: every fat binary that
 * registers itself is loaded as the runtime would, whatever the driver says.
 */
#include "cuabi.h"

#include <stdio.h>

void **__cudaRegisterFatBinary(void *wrapper);
void **__cudaRegisterFatBinary(void *wrapper)
{
	static CUcontext c;
	CUmodule m;

	if (!c && (cuInit(0) || cuDevicePrimaryCtxRetain(&c, 0) || cuCtxSetCurrent(c)))
		printf("no context\n");
	cuModuleLoadFatBinary(&m, wrapper);
	return (void **)wrapper;
}

/* what else such objects call; with any arguments */
#define NOTHING(name)            \
	int name(void);          \
	int name(void)           \
	{                        \
		return 0;        \
	}
NOTHING(__cudaRegisterFatBinaryEnd)
NOTHING(__cudaUnregisterFatBinary)
NOTHING(__cudaRegisterFunction)
NOTHING(__cudaInitModule)
NOTHING(__cudaPushCallConfiguration)
NOTHING(__cudaPopCallConfiguration)
NOTHING(cudaLaunchKernel)
NOTHING(__cudaLaunchKernel)
NOTHING(__cudaGetKernel)

int main(void)
{
	return 0;
}
