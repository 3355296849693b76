/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that tells NVTX of its suballocator: nvtx MODE.  Built with a client of
 * its own, and with NVIDIA's headers (NVTX_HEADERS) where a toolkit has them.  It
 * knows nothing of krtsan and runs on the simulated driver.
 *
 *   race      a block goes to a new owner while a copy on another stream reads it
 *   fixed     behind an event
 *   told      as race, with a permissions object bound for streams
 *   handles   as race, regions called by their handles
 *   resize    a block shrinks, its end goes to another owner: in order, then not
 *   reset     a heap is reset with work in flight
 *   layout    regions of a layout are no blocks
 *   names     every way to name a stream and an event; each waits for the event, which
 *             was never recorded
 */
#ifdef NVTX_HEADERS
#include <cuda.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCuda.h>
#include <nvtx3/nvToolsExtCudaRt.h>
#include <nvtx3/nvToolsExtMem.h>
#else
#include "cuabi.h"
#include "nvtx_client.h"
#endif

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CU(call)                                                                                    \
	do {                                                                                        \
		int r_ = (int)(call);                                                               \
		if (r_) {                                                                           \
			fprintf(stderr, "%d: %s: %d\n", __LINE__, #call, r_);                       \
			exit(3);                                                                    \
		}                                                                                   \
	} while (0)

enum { N = 4096 };

static nvtxMemHeapHandle_t heap_of(CUdeviceptr base, size_t size, unsigned usage, const char *name)
{
	nvtxMemVirtualRangeDesc_t range = {.size = size, .ptr = (void *)(uintptr_t)base};
	nvtxMemHeapDesc_t d = {.extCompatID = NVTX_EXT_COMPATID_MEM,
			       .structSize = sizeof(d),
			       .usage = usage,
			       .type = NVTX_MEM_TYPE_VIRTUAL_ADDRESS,
			       .typeSpecificDescSize = sizeof(range),
			       .typeSpecificDesc = &range,
			       .messageType = NVTX_MESSAGE_TYPE_ASCII};

	d.message.ascii = name;
	return nvtxMemHeapRegister(NULL, &d);
}

static nvtxMemRegionHandle_t block_alloc(nvtxMemHeapHandle_t heap, CUdeviceptr p, size_t size)
{
	nvtxMemVirtualRangeDesc_t range = {.size = size, .ptr = (void *)(uintptr_t)p};
	nvtxMemRegionHandle_t handle = NULL;
	nvtxMemRegionsRegisterBatch_t b = {.extCompatID = NVTX_EXT_COMPATID_MEM,
					   .structSize = sizeof(b),
					   .regionType = NVTX_MEM_TYPE_VIRTUAL_ADDRESS,
					   .heap = heap,
					   .regionCount = 1,
					   .regionDescElementSize = sizeof(range),
					   .regionDescElements = &range,
					   .regionHandleElementsOut = &handle};

	nvtxMemRegionsRegister(NULL, &b);
	return handle;
}

static void block_resize(CUdeviceptr p, size_t size)
{
	nvtxMemVirtualRangeDesc_t range = {.size = size, .ptr = (void *)(uintptr_t)p};
	nvtxMemRegionsResizeBatch_t b = {.extCompatID = NVTX_EXT_COMPATID_MEM,
					 .structSize = sizeof(b),
					 .regionType = NVTX_MEM_TYPE_VIRTUAL_ADDRESS,
					 .regionDescCount = 1,
					 .regionDescElementSize = sizeof(range),
					 .regionDescElements = &range};

	nvtxMemRegionsResize(NULL, &b);
}

static void block_name(CUdeviceptr p, const wchar_t *name)
{
	nvtxMemRegionNameDesc_t n = {.regionRefType = NVTX_MEM_REGION_REF_TYPE_POINTER,
				     .nameType = NVTX_MESSAGE_TYPE_UNICODE};
	nvtxMemRegionsNameBatch_t b = {.extCompatID = NVTX_EXT_COMPATID_MEM,
				       .structSize = sizeof(b),
				       .regionCount = 1,
				       .regionElementSize = sizeof(n),
				       .regionElements = &n};

	n.region.pointer = (void *)(uintptr_t)p;
	n.name.unicode = name;
	nvtxMemRegionsName(NULL, &b);
}

static void block_free(CUdeviceptr p, nvtxMemRegionHandle_t handle)
{
	nvtxMemRegionRef_t ref;
	nvtxMemRegionsUnregisterBatch_t b = {.extCompatID = NVTX_EXT_COMPATID_MEM,
					     .structSize = sizeof(b),
					     .refType = handle ? NVTX_MEM_REGION_REF_TYPE_HANDLE
							       : NVTX_MEM_REGION_REF_TYPE_POINTER,
					     .refCount = 1,
					     .refElementSize = sizeof(ref),
					     .refElements = &ref};

	if (handle)
		ref.handle = handle;
	else
		ref.pointer = (void *)(uintptr_t)p;
	nvtxMemRegionsUnregister(NULL, &b);
}

static void tell(CUdeviceptr p)
{
	nvtxMemPermissionsHandle_t perm = nvtxMemPermissionsCreate(NULL, 0);
	nvtxMemPermissionsAssignRegionDesc_t r = {.flags = NVTX_MEM_PERMISSIONS_REGION_FLAGS_READ,
						  .regionRefType = NVTX_MEM_REGION_REF_TYPE_POINTER};
	nvtxMemPermissionsAssignBatch_t b = {.extCompatID = NVTX_EXT_COMPATID_MEM,
					     .structSize = sizeof(b),
					     .permissions = perm,
					     .regionCount = 1,
					     .regionElementSize = sizeof(r),
					     .regionElements = &r};

	r.region.pointer = (void *)(uintptr_t)p;
	nvtxMemPermissionsAssign(NULL, &b);
	nvtxMemPermissionsBind(NULL, perm, NVTX_MEM_PERMISSIONS_BIND_SCOPE_CUDA_STREAM, 0);
	nvtxMemPermissionsUnbind(NULL, NVTX_MEM_PERMISSIONS_BIND_SCOPE_CUDA_STREAM);
	nvtxMemPermissionsDestroy(NULL, perm);
}

static void push_in(nvtxDomainHandle_t domain, const char *name)
{
	nvtxEventAttributes_t a = {.version = NVTX_VERSION,
				   .size = sizeof(a),
				   .messageType = NVTX_MESSAGE_TYPE_REGISTERED};

	a.message.registered = nvtxDomainRegisterStringA(domain, name);
	nvtxDomainRangePushEx(domain, &a);
}

static void as_resource(const void *object, int type, const char *name)
{
	nvtxResourceAttributes_t a = {.version = NVTX_VERSION,
				      .size = sizeof(a),
				      .identifierType = type,
				      .messageType = NVTX_MESSAGE_TYPE_ASCII};

	a.identifier.pValue = object;
	a.message.ascii = name;
	nvtxDomainResourceCreate(NULL, &a);
}

/* A call site of its own for each way: one finding each. */
#define WAYS(X)                                                                                     \
	X(nvtxNameCuStreamA(s, "sA"), nvtxNameCuEventA(e, "eA"))                                    \
	X(nvtxNameCuStreamW(s, L"sW"), nvtxNameCuEventW(e, L"eW"))                                  \
	X(nvtxNameCudaStreamA(s, "srA"), nvtxNameCudaEventA(e, "erA"))                              \
	X(nvtxNameCudaStreamW(s, L"srW"), nvtxNameCudaEventW(e, L"erW"))                            \
	X(as_resource(s, NVTX_RESOURCE_TYPE_CUDA_STREAM, "sR"),                                     \
	  as_resource(e, NVTX_RESOURCE_TYPE_CUDA_EVENT, "eR"))                                      \
	X(as_resource(s, NVTX_RESOURCE_TYPE_CUDART_STREAM, "srR"),                                  \
	  as_resource(e, NVTX_RESOURCE_TYPE_CUDART_EVENT, "erR"))

static void name_in_every_way(void)
{
	CUstream s;
	CUevent e;

#define X(stream, event)                                                                            \
	CU(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));                                             \
	CU(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));                                             \
	stream;                                                                                     \
	event;                                                                                      \
	nvtxRangePushA("waiting");                                                                  \
	CU(cuStreamWaitEvent(s, e, 0));                                                             \
	nvtxRangePop();
	WAYS(X)
#undef X
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "race";
	bool handles = !strcmp(mode, "handles");
	nvtxMemRegionHandle_t handle;
	nvtxMemHeapHandle_t heap;
	CUdeviceptr segment;
	CUstream a, b;
	CUdevice dev;
	CUcontext ctx;
	CUevent done;
	void *h;

	CU(cuInit(0));
	CU(cuDeviceGet(&dev, 0));
	CU(cuDevicePrimaryCtxRetain(&ctx, dev));
	CU(cuCtxSetCurrent(ctx));
	if (!strcmp(mode, "names")) {
		name_in_every_way();
		return 0;
	}
	CU(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
	CU(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
	CU(cuEventCreate(&done, CU_EVENT_DISABLE_TIMING));
	nvtxNameCuStreamA(a, "producer");
	nvtxNameCuStreamW(b, L"n\u00e4chster");
	nvtxNameCuEventA(done, "done");
	CU(cuMemAlloc(&segment, 1 << 20));
	CU(cuMemHostAlloc(&h, N, 0));
	heap = heap_of(segment, 1 << 20,
		       strcmp(mode, "layout") ? NVTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR
					      : NVTX_MEM_HEAP_USAGE_TYPE_LAYOUT,
		       "arena");
	handle = block_alloc(heap, segment + N, N);
	block_name(segment + N, L"first");
	nvtxRangePushA("step");
	push_in((nvtxDomainHandle_t)&heap, "gather");
	nvtxRangePushA("produce");
	CU(cuMemsetD8Async(segment + N, 1, N, a));
	nvtxRangePop();
	if (!strcmp(mode, "told"))
		tell(segment + N);
	if (!strcmp(mode, "layout")) {
		block_free(segment + N, NULL);
		CU(cuMemcpyDtoHAsync(h, segment + N, N, a));
	} else if (!strcmp(mode, "resize")) {
		block_resize(segment + N, N / 4);
		handle = block_alloc(heap, segment + N + N / 2, N / 4);
		CU(cuMemsetD8Async(segment + N, 2, N / 4, a)); /* still the first one's */
		CU(cuMemsetD8Async(segment + N + N / 2, 2, N / 4, b));
	} else {
		CU(cuMemcpyDtoHAsync(h, segment + N, N, a));
		nvtxDomainRangePop((nvtxDomainHandle_t)&heap);
		if (!strcmp(mode, "fixed"))
			CU(cuEventRecord(done, a));
		if (!strcmp(mode, "reset"))
			nvtxMemHeapReset(NULL, heap);
		else
			block_free(segment + N, handles ? handle : NULL);
		handle = block_alloc(heap, segment + N, N);
		block_name(segment + N, L"second");
		if (!strcmp(mode, "fixed"))
			CU(cuStreamWaitEvent(b, done, 0));
		nvtxRangePushA("overwrite");
		CU(cuMemsetD8Async(segment + N, 2, N, b));
		nvtxRangePop();
	}
	nvtxRangePop();
	CU(cuCtxSynchronize());
	nvtxMemHeapUnregister(NULL, heap);
	CU(cuMemFree(segment));
	CU(cuMemFreeHost(h));
	return 0;
}
