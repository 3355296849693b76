/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints sizes, offsets and values of the driver ABI as one header sees them:
 * compiled with cuabi.h (FROM_CUABI) and with a toolkit's cuda.h, then compared.
 * NAMES is made from cuabi.h: CONSTANT(NAME) for every enumerator.
 */
#ifdef FROM_CUABI
#include "cuabi.h"
#else
#include <cuda.h>
#endif
#include <stddef.h>
#include <stdio.h>

#define CONSTANT(name)       printf(#name " %lld\n", (long long)name);
#define SIZE(type)           printf("sizeof " #type " %zu\n", sizeof(type));
#define OFFSET(type, member) printf(#type "." #member " %zu %zu\n", offsetof(type, member), sizeof(((type *)0)->member));

int main(void)
{
#include NAMES
	SIZE(CUdeviceptr) SIZE(CUdevice) SIZE(CUresult) SIZE(CUmemGenericAllocationHandle) SIZE(CUstreamCaptureMode)
	SIZE(CUuuid) SIZE(CUipcEventHandle) SIZE(CUipcMemHandle) SIZE(CUmemLocation) SIZE(CUmemAccessDesc)
	SIZE(CUDA_MEMCPY2D) SIZE(CUDA_MEMCPY3D) SIZE(CUDA_MEMCPY3D_PEER) SIZE(CUmemcpyAttributes)
	SIZE(CUmemcpy3DOperand) SIZE(CUDA_MEMCPY3D_BATCH_OP) SIZE(CUstreamBatchMemOpParams)
	SIZE(CUDA_ARRAY_DESCRIPTOR) SIZE(CUDA_ARRAY3D_DESCRIPTOR) SIZE(CUlaunchAttributeValue) SIZE(CUlaunchAttribute)
	SIZE(CUlaunchConfig) SIZE(CUDA_LAUNCH_PARAMS) SIZE(CUmemAllocationProp) SIZE(CUmemPoolProps)
	SIZE(CUmemPoolPtrExportData) SIZE(CUDA_EXTERNAL_MEMORY_BUFFER_DESC)
	OFFSET(CUDA_MEMCPY2D, srcHost) OFFSET(CUDA_MEMCPY2D, srcPitch) OFFSET(CUDA_MEMCPY2D, dstMemoryType)
	OFFSET(CUDA_MEMCPY2D, dstDevice) OFFSET(CUDA_MEMCPY2D, dstPitch) OFFSET(CUDA_MEMCPY2D, WidthInBytes)
	OFFSET(CUDA_MEMCPY2D, Height)
	OFFSET(CUDA_MEMCPY3D, srcMemoryType) OFFSET(CUDA_MEMCPY3D, srcDevice) OFFSET(CUDA_MEMCPY3D, srcPitch)
	OFFSET(CUDA_MEMCPY3D, srcHeight) OFFSET(CUDA_MEMCPY3D, dstMemoryType) OFFSET(CUDA_MEMCPY3D, dstHost)
	OFFSET(CUDA_MEMCPY3D, dstPitch) OFFSET(CUDA_MEMCPY3D, dstHeight) OFFSET(CUDA_MEMCPY3D, Depth)
	OFFSET(CUDA_MEMCPY3D_PEER, srcContext) OFFSET(CUDA_MEMCPY3D_PEER, dstContext)
	OFFSET(CUDA_MEMCPY3D_PEER, dstHeight) OFFSET(CUDA_MEMCPY3D_PEER, Depth)
	OFFSET(CUmemcpyAttributes, srcAccessOrder) OFFSET(CUmemcpyAttributes, flags)
	OFFSET(CUmemcpy3DOperand, type) OFFSET(CUmemcpy3DOperand, op.ptr.ptr) OFFSET(CUmemcpy3DOperand, op.ptr.rowLength)
	OFFSET(CUmemcpy3DOperand, op.ptr.layerHeight) OFFSET(CUmemcpy3DOperand, op.array.array)
	OFFSET(CUDA_MEMCPY3D_BATCH_OP, dst) OFFSET(CUDA_MEMCPY3D_BATCH_OP, extent)
	OFFSET(CUDA_MEMCPY3D_BATCH_OP, srcAccessOrder)
	OFFSET(CUstreamBatchMemOpParams, waitValue.address) OFFSET(CUstreamBatchMemOpParams, waitValue.value64)
	OFFSET(CUstreamBatchMemOpParams, waitValue.flags) OFFSET(CUstreamBatchMemOpParams, writeValue.address)
	OFFSET(CUstreamBatchMemOpParams, writeValue.value64) OFFSET(CUstreamBatchMemOpParams, writeValue.flags)
	OFFSET(CUDA_ARRAY_DESCRIPTOR, Format) OFFSET(CUDA_ARRAY3D_DESCRIPTOR, Flags)
	OFFSET(CUlaunchAttribute, id) OFFSET(CUlaunchAttribute, value)
	OFFSET(CUlaunchAttributeValue, programmaticEvent.event) OFFSET(CUlaunchAttributeValue, launchCompletionEvent.event)
	OFFSET(CUlaunchConfig, hStream) OFFSET(CUlaunchConfig, attrs) OFFSET(CUlaunchConfig, numAttrs)
	OFFSET(CUDA_LAUNCH_PARAMS, function) OFFSET(CUDA_LAUNCH_PARAMS, hStream) OFFSET(CUDA_LAUNCH_PARAMS, kernelParams)
	OFFSET(CUmemAllocationProp, location) OFFSET(CUmemAllocationProp, allocFlags)
	OFFSET(CUmemPoolProps, location) OFFSET(CUmemPoolProps, maxSize)
	OFFSET(CUDA_EXTERNAL_MEMORY_BUFFER_DESC, size) OFFSET(CUDA_EXTERNAL_MEMORY_BUFFER_DESC, flags)
	return 0;
}
