/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of probe.def: what each needs, the call itself, what is left to
 * undo.  make_X and act_X return 0 or the CUresult that lab_fail() told of;
 * drop_X comes after each of them, whatever they returned.
 */
#define _GNU_SOURCE
#include "probe_lab.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* --- waits and queries --- */

static int act_ctx_sync(struct lab *l)
{
	LAB(cuCtxSynchronize());
	return 0;
}

static int act_stream_sync(struct lab *l)
{
	LAB(cuStreamSynchronize(l->stream));
	return 0;
}

/* SUCCESS at the first query after the work is the wait that is asked about. */
static int act_stream_query(struct lab *l)
{
	int r;

	while ((r = (int)l->cu.cuStreamQuery(l->stream)) == CUDA_ERROR_NOT_READY)
		;
	return r ? lab_fail(l, "cuStreamQuery", r) : 0;
}

static int act_event_sync(struct lab *l)
{
	LAB(cuEventSynchronize(l->held));
	return 0;
}

static int act_event_query(struct lab *l)
{
	int r;

	while ((r = (int)l->cu.cuEventQuery(l->held)) == CUDA_ERROR_NOT_READY)
		;
	return r ? lab_fail(l, "cuEventQuery", r) : 0;
}

static int make_elapsed(struct lab *l)
{
	LAB(cuEventCreate(&l->event, CU_EVENT_DEFAULT));
	LAB(cuEventRecord(l->event, l->stream));
	return 0;
}

static int act_elapsed(struct lab *l)
{
	float ms;
	int r;

	while ((r = (int)l->cu.cuEventElapsedTime(&ms, l->event, l->held)) == CUDA_ERROR_NOT_READY)
		;
	return r ? lab_fail(l, "cuEventElapsedTime", r) : 0;
}

static void drop_event(struct lab *l)
{
	if (l->event)
		l->cu.cuEventDestroy(l->event);
	l->event = NULL;
}

static void drop_elapsed(struct lab *l)
{
	drop_event(l);
}

/* --- copies and sets between l->dst and l->src (lab_probe.bytes) --- */

static int act_copy(struct lab *l)
{
	LAB(cuMemcpy(l->dst, l->src, l->p->bytes));
	return 0;
}

static int act_htod(struct lab *l)
{
	LAB(cuMemcpyHtoD(l->dst, (void *)l->src, l->p->bytes));
	return 0;
}

static int act_dtoh(struct lab *l)
{
	LAB(cuMemcpyDtoH((void *)l->dst, l->src, l->p->bytes));
	return 0;
}

static int act_dtod(struct lab *l)
{
	LAB(cuMemcpyDtoD(l->dst, l->src, l->p->bytes));
	return 0;
}

static int act_copy_async(struct lab *l)
{
	LAB(cuMemcpyAsync(l->dst, l->src, l->p->bytes, l->stream));
	return 0;
}

static int act_htod_async(struct lab *l)
{
	LAB(cuMemcpyHtoDAsync(l->dst, (void *)l->src, l->p->bytes, l->stream));
	return 0;
}

static int act_dtoh_async(struct lab *l)
{
	LAB(cuMemcpyDtoHAsync((void *)l->dst, l->src, l->p->bytes, l->stream));
	return 0;
}

static int act_dtod_async(struct lab *l)
{
	LAB(cuMemcpyDtoDAsync(l->dst, l->src, l->p->bytes, l->stream));
	return 0;
}

static int batch(struct lab *l, CUmemcpySrcAccessOrder order)
{
	CUdeviceptr dst = l->dst, src = l->src;
	CUmemcpyAttributes how = {.srcAccessOrder = order};
	size_t bytes = l->p->bytes, first = 0;

	LAB(cuMemcpyBatchAsync(&dst, &src, &bytes, 1, &how, &first, 1, l->stream));
	return 0;
}

static int act_batch_stream(struct lab *l)
{
	return batch(l, CU_MEMCPY_SRC_ACCESS_ORDER_STREAM);
}

static int act_batch_during(struct lab *l)
{
	return batch(l, CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL);
}

static int act_batch_any(struct lab *l)
{
	return batch(l, CU_MEMCPY_SRC_ACCESS_ORDER_ANY);
}

static int act_set(struct lab *l)
{
	LAB(cuMemsetD8(l->dst, LAB_GOOD, LAB_BYTES));
	return 0;
}

static int act_set_async(struct lab *l)
{
	LAB(cuMemsetD8Async(l->dst, LAB_GOOD, LAB_BYTES, l->stream));
	return 0;
}

/* Memory with SYNC_MEMOPS, and a source without. */
static int make_memops(struct lab *l)
{
	unsigned yes = 1;
	int r = lab_mem(l, LAB_DEVICE, 1, &l->addr2);

	if (r)
		return r;
	LAB(cuMemAlloc(&l->addr, LAB_BYTES));
	LAB(cuPointerSetAttribute(&yes, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, l->addr));
	LAB(cuMemsetD8Async(l->addr, LAB_OLD, LAB_BYTES, l->main.look));
	LAB(cuMemsetD8Async(l->addr2, LAB_GOOD, LAB_BYTES, l->main.look));
	LAB(cuStreamSynchronize(l->main.look));
	return 0;
}

static int act_copy_addr(struct lab *l)
{
	LAB(cuMemcpyDtoD(l->addr, l->addr2, LAB_BYTES));
	return 0;
}

static int act_set_addr(struct lab *l)
{
	LAB(cuMemsetD8(l->addr, LAB_GOOD, LAB_BYTES));
	return 0;
}

static int seen_addr(struct lab *l)
{
	return lab_byte(l, l->addr, LAB_DEVICE, LAB_BYTES - 1) == LAB_GOOD;
}

struct lab_site *lab_peer_site(struct lab *l)
{
	return l->p->arg == 2 ? &l->device2 : &l->second;
}

static int make_peer(struct lab *l)
{
	const struct lab_site *s = lab_peer_site(l);

	if (!s->ctx) {
		snprintf(l->why, sizeof(l->why), "wants two devices, there is one");
		return -1;
	}
	LAB(cuCtxSetCurrent(s->ctx));
	LAB(cuMemAlloc(&l->addr2, LAB_BYTES));
	LAB(cuMemsetD8Async(l->addr2, LAB_GOOD, LAB_BYTES, s->look));
	LAB(cuStreamSynchronize(s->look));
	LAB(cuCtxSetCurrent(l->main.ctx));
	LAB(cuMemAlloc(&l->addr, LAB_BYTES));
	LAB(cuMemsetD8Async(l->addr, LAB_OLD, LAB_BYTES, l->main.look));
	LAB(cuStreamSynchronize(l->main.look));
	return 0;
}

static int act_peer_copy(struct lab *l)
{
	LAB(cuMemcpyPeer(l->addr, l->main.ctx, l->addr2, lab_peer_site(l)->ctx, LAB_BYTES));
	return 0;
}

static int act_peer_copy_async(struct lab *l)
{
	LAB(cuMemcpyPeerAsync(l->addr, l->main.ctx, l->addr2, lab_peer_site(l)->ctx, LAB_BYTES,
			      l->stream));
	return 0;
}

static int act_peer_copy_host(struct lab *l)
{
	CUDA_MEMCPY3D_PEER c = {.srcMemoryType = CU_MEMORYTYPE_HOST,
				.srcContext = lab_peer_site(l)->ctx,
				.srcPitch = LAB_BYTES,
				.srcHeight = 1,
				.dstMemoryType = CU_MEMORYTYPE_DEVICE,
				.dstDevice = l->addr,
				.dstContext = l->main.ctx,
				.dstPitch = LAB_BYTES,
				.dstHeight = 1,
				.WidthInBytes = LAB_BYTES,
				.Height = 1,
				.Depth = 1};
	CUdeviceptr src;
	int r = lab_mem(l, LAB_PINNED, 1, &src);

	if (r)
		return r;
	memset((void *)src, LAB_GOOD, LAB_BYTES);
	c.srcHost = (void *)src;
	LAB(cuMemcpy3DPeer(&c));
	return 0;
}

static void drop_peer(struct lab *l)
{
	if (l->addr)
		l->cu.cuMemFree(l->addr);
	if (lab_peer_site(l)->ctx)
		l->cu.cuCtxSetCurrent(lab_peer_site(l)->ctx);
	if (l->addr2)
		l->cu.cuMemFree(l->addr2);
	l->cu.cuCtxSetCurrent(l->main.ctx);
	l->addr = l->addr2 = 0;
}

/* --- memory --- */

static int act_alloc(struct lab *l)
{
	LAB(cuMemAlloc(&l->addr, (size_t)l->p->arg));
	return 0;
}
#define make_alloc act_alloc

/* Of the second context. */
static int make_alloc_second(struct lab *l)
{
	int r;

	if (!l->second.ctx)
		return lab_fail(l, "a second context", CUDA_ERROR_INVALID_CONTEXT);
	LAB(cuCtxSetCurrent(l->second.ctx));
	r = act_alloc(l);
	l->cu.cuCtxSetCurrent(l->main.ctx);
	return r;
}

static int act_alloc_pitch(struct lab *l)
{
	size_t pitch;

	LAB(cuMemAllocPitch(&l->addr, &pitch, 1000, 1000, 4));
	return 0;
}
#define make_alloc_pitch act_alloc_pitch

static int act_alloc_managed(struct lab *l)
{
	LAB(cuMemAllocManaged(&l->addr, LAB_BYTES, CU_MEM_ATTACH_GLOBAL));
	return 0;
}
#define make_alloc_managed act_alloc_managed

static int act_alloc_async(struct lab *l)
{
	LAB(cuMemAllocAsync(&l->addr, LAB_BYTES, l->stream ? l->stream : l->main.look));
	return 0;
}

static int make_alloc_async(struct lab *l)
{
	int r = act_alloc_async(l);

	if (r)
		return r;
	LAB(cuStreamSynchronize(l->stream ? l->stream : l->main.look));
	return 0;
}

static int act_free_async(struct lab *l)
{
	CUdeviceptr addr = l->addr;

	l->addr = 0;
	LAB(cuMemFreeAsync(addr, l->stream));
	return 0;
}

static int act_free(struct lab *l)
{
	CUdeviceptr addr = l->addr;

	l->addr = 0;
	LAB(cuMemFree(addr));
	return 0;
}

static void drop_free_addr(struct lab *l)
{
	if (l->addr)
		l->cu.cuMemFree(l->addr);
	l->addr = 0;
}

static int act_host_alloc(struct lab *l)
{
	LAB(cuMemHostAlloc(&l->host, LAB_BYTES, 0));
	return 0;
}
#define make_host_alloc act_host_alloc

static int act_alloc_host(struct lab *l)
{
	LAB(cuMemAllocHost(&l->host, LAB_BYTES));
	return 0;
}

static int act_free_host(struct lab *l)
{
	void *p = l->host;

	l->host = NULL;
	LAB(cuMemFreeHost(p));
	return 0;
}

static void drop_free_host(struct lab *l)
{
	if (l->host)
		l->cu.cuMemFreeHost(l->host);
	l->host = NULL;
}

static int make_pages(struct lab *l)
{
	l->object = mmap(NULL, LAB_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (l->object == MAP_FAILED) {
		l->object = NULL;
		return lab_fail(l, "mmap", errno);
	}
	return 0;
}

static int act_host_register(struct lab *l)
{
	LAB(cuMemHostRegister(l->object, LAB_BYTES, 0));
	l->host = l->object;
	return 0;
}

static int make_registered(struct lab *l)
{
	int r = make_pages(l);

	return r ? r : act_host_register(l);
}

static int act_host_unregister(struct lab *l)
{
	void *p = l->host;

	l->host = NULL;
	LAB(cuMemHostUnregister(p));
	return 0;
}

static void drop_unregister(struct lab *l)
{
	if (l->host)
		l->cu.cuMemHostUnregister(l->host);
	if (l->object)
		munmap(l->object, LAB_BYTES);
	l->host = l->object = NULL;
}

static int act_array_create(struct lab *l)
{
	CUDA_ARRAY_DESCRIPTOR d = {1024, 1024, CU_AD_FORMAT_FLOAT, 1};

	LAB(cuArrayCreate((CUarray *)&l->object, &d));
	return 0;
}
#define make_array_create act_array_create

static int act_array_destroy(struct lab *l)
{
	CUarray a = l->object;

	l->object = NULL;
	LAB(cuArrayDestroy(a));
	return 0;
}

static void drop_array(struct lab *l)
{
	if (l->object)
		l->cu.cuArrayDestroy(l->object);
	l->object = NULL;
}

static int make_mipmap_create(struct lab *l)
{
	CUDA_ARRAY3D_DESCRIPTOR d = {.Width = 1024, .Height = 1024, .Format = CU_AD_FORMAT_FLOAT,
				     .NumChannels = 1};

	LAB(cuMipmappedArrayCreate((CUmipmappedArray *)&l->object, &d, 4));
	return 0;
}

static int act_mipmap_destroy(struct lab *l)
{
	CUmipmappedArray a = l->object;

	l->object = NULL;
	LAB(cuMipmappedArrayDestroy(a));
	return 0;
}

static void drop_mipmap(struct lab *l)
{
	if (l->object)
		l->cu.cuMipmappedArrayDestroy(l->object);
	l->object = NULL;
}

/* --- virtual memory --- */

static CUmemAllocationProp on_device(const struct lab *l, CUmemAllocationHandleType handle)
{
	return (CUmemAllocationProp){.type = CU_MEM_ALLOCATION_TYPE_PINNED,
				     .requestedHandleTypes = handle,
				     .location = {CU_MEM_LOCATION_TYPE_DEVICE, l->main.dev}};
}

static int physical(struct lab *l, CUmemAllocationHandleType handle)
{
	CUmemAllocationProp p = on_device(l, handle);
	size_t unit;

	LAB(cuMemGetAllocationGranularity(&unit, &p, 0));
	l->size = (LAB_BYTES + unit - 1) / unit * unit;
	LAB(cuMemCreate(&l->phys, l->size, &p, 0));
	return 0;
}

static int vmm_allow(struct lab *l, CUmemAccess_flags flags)
{
	CUmemAccessDesc a = {{CU_MEM_LOCATION_TYPE_DEVICE, l->main.dev}, flags};

	LAB(cuMemSetAccess(l->addr, l->size, &a, 1));
	return 0;
}

static int make_vmm(struct lab *l)
{
	int r = physical(l, CU_MEM_HANDLE_TYPE_NONE);

	if (r)
		return r;
	LAB(cuMemAddressReserve(&l->addr2, l->size, 0, 0, 0));
	LAB(cuMemMap(l->addr2, l->size, 0, l->phys, 0));
	l->addr = l->addr2;
	return vmm_allow(l, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
}

static int act_vmm_unmap(struct lab *l)
{
	CUdeviceptr addr = l->addr;

	l->addr = 0;
	LAB(cuMemUnmap(addr, l->size));
	return 0;
}

static int act_vmm_access(struct lab *l)
{
	return vmm_allow(l, (CUmemAccess_flags)l->p->arg);
}

static void drop_vmm(struct lab *l)
{
	if (l->addr)
		l->cu.cuMemUnmap(l->addr, l->size);
	if (l->addr2)
		l->cu.cuMemAddressFree(l->addr2, l->size);
	if (l->phys)
		l->cu.cuMemRelease(l->phys);
	l->addr = l->addr2 = l->phys = 0;
}

/* --- memory of others --- */

/* Of our own where the driver opens it, else the peer's. */
static int make_ipc(struct lab *l)
{
	CUipcMemHandle h;
	int r;

	LAB(cuMemAlloc(&l->addr2, LAB_BYTES));
	LAB(cuIpcGetMemHandle(&h, l->addr2));
	if (!l->cu.cuIpcOpenMemHandle(&l->addr, h, 1))
		return 0;
	l->addr = 0;
	r = lab_peer_start(l, "memory");
	if (r)
		return r;
	if (read(l->from, &h, sizeof(h)) != sizeof(h))
		return lab_fail(l, "cuIpcGetMemHandle in a second process", CUDA_ERROR_UNKNOWN);
	LAB(cuIpcOpenMemHandle(&l->addr, h, 1));
	return 0;
}

static int act_ipc_close(struct lab *l)
{
	CUdeviceptr addr = l->addr;

	l->addr = 0;
	LAB(cuIpcCloseMemHandle(addr));
	return 0;
}

static void drop_ipc(struct lab *l)
{
	if (l->addr)
		l->cu.cuIpcCloseMemHandle(l->addr);
	if (l->addr2)
		l->cu.cuMemFree(l->addr2);
	l->addr = l->addr2 = 0;
	lab_peer_end(l);
}

/* As the driver lays it out (CUDA_EXTERNAL_MEMORY_HANDLE_DESC). */
struct external_desc {
	int type;
	union {
		int fd;
		void *win32[2];
	} handle;
	unsigned long long size;
	unsigned flags, reserved[16];
};

/* Memory that we exported ourselves: there is no other API here to export some. */
static int make_external(struct lab *l)
{
	struct external_desc d = {.type = 1 /* an opaque file descriptor */};
	int r = physical(l, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);

	if (r)
		return r;
	LAB(cuMemExportToShareableHandle(&d.handle.fd, l->phys,
					 CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
	d.size = l->size;
	r = (int)l->cu.cuImportExternalMemory((CUexternalMemory *)&l->object, (const void *)&d);
	if (r) {
		close(d.handle.fd);
		return lab_fail(l, "cuImportExternalMemory of memory that is not of a graphics API", r);
	}
	return 0;
}

static int make_external_mapped(struct lab *l)
{
	CUDA_EXTERNAL_MEMORY_BUFFER_DESC b = {0};
	int r = make_external(l);

	if (r)
		return r;
	b.size = l->size;
	LAB(cuExternalMemoryGetMappedBuffer(&l->addr, l->object, &b));
	return 0;
}

static int act_external_destroy(struct lab *l)
{
	CUexternalMemory m = l->object;

	l->object = NULL;
	LAB(cuDestroyExternalMemory(m));
	return 0;
}

static void drop_external(struct lab *l)
{
	if (l->addr)
		l->cu.cuMemFree(l->addr);
	if (l->object)
		l->cu.cuDestroyExternalMemory(l->object);
	if (l->phys)
		l->cu.cuMemRelease(l->phys);
	l->addr = l->phys = 0;
	l->object = NULL;
}

/* A file stands for a semaphore of Vulkan's; only the simulated driver takes it. */
static int make_semaphore(struct lab *l)
{
	CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC d = {
		.type = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD};
	int r;

	d.handle.fd = memfd_create("semaphore", MFD_CLOEXEC);
	if (d.handle.fd < 0)
		return lab_fail(l, "memfd_create", errno);
	r = (int)l->cu.cuImportExternalSemaphore((CUexternalSemaphore *)&l->object, &d);
	if (r) {
		close(d.handle.fd);
		return lab_fail(l, "cuImportExternalSemaphore of what is not of a graphics API", r);
	}
	return 0;
}

static int act_semaphore_signal(struct lab *l)
{
	CUexternalSemaphore s = l->object;
	CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS p = {.params.fence.value = 1};

	LAB(cuSignalExternalSemaphoresAsync(&s, &p, 1, l->stream));
	return 0;
}

static int act_semaphore_destroy(struct lab *l)
{
	CUexternalSemaphore s = l->object;

	l->object = NULL;
	LAB(cuDestroyExternalSemaphore(s));
	return 0;
}

static void drop_semaphore(struct lab *l)
{
	if (l->object)
		l->cu.cuDestroyExternalSemaphore(l->object);
	l->object = NULL;
	drop_event(l);
}

/* --- pools --- */

static int act_pool_create(struct lab *l)
{
	CUmemPoolProps p = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
			    .location = {CU_MEM_LOCATION_TYPE_DEVICE, l->main.dev}};

	LAB(cuMemPoolCreate((CUmemoryPool *)&l->object, &p));
	return 0;
}
#define make_pool_create act_pool_create

static int act_alloc_pool(struct lab *l)
{
	LAB(cuMemAllocFromPoolAsync(&l->addr, LAB_BYTES, l->object, l->stream));
	return 0;
}

/* A pool that keeps memory that was used once. */
static int make_pool_used(struct lab *l)
{
	int r = act_pool_create(l);

	if (r)
		return r;
	LAB(cuMemAllocFromPoolAsync(&l->addr, LAB_BYTES, l->object, l->main.look));
	LAB(cuMemsetD8Async(l->addr, LAB_OLD, LAB_BYTES, l->main.look));
	LAB(cuMemFreeAsync(l->addr, l->main.look));
	l->addr = 0;
	LAB(cuStreamSynchronize(l->main.look));
	return 0;
}

static int act_pool_destroy(struct lab *l)
{
	CUmemoryPool p = l->object;

	l->object = NULL;
	LAB(cuMemPoolDestroy(p));
	return 0;
}

static int act_pool_trim(struct lab *l)
{
	LAB(cuMemPoolTrimTo(l->object, 0));
	return 0;
}

static int act_pool_access(struct lab *l)
{
	CUmemAccessDesc a = {{CU_MEM_LOCATION_TYPE_DEVICE, l->main.dev},
			     CU_MEM_ACCESS_FLAGS_PROT_READWRITE};

	LAB(cuMemPoolSetAccess(l->object, &a, 1));
	return 0;
}

static void drop_pool(struct lab *l)
{
	drop_free_addr(l);
	if (l->object)
		l->cu.cuMemPoolDestroy(l->object);
	l->object = NULL;
}

/* --- objects --- */

static int act_stream_create(struct lab *l)
{
	LAB(cuStreamCreate((CUstream *)&l->object, CU_STREAM_DEFAULT));
	return 0;
}
#define make_stream_create act_stream_create

static int act_stream_destroy(struct lab *l)
{
	CUstream s = l->object;

	l->object = NULL;
	LAB(cuStreamDestroy(s));
	return 0;
}

static void drop_stream(struct lab *l)
{
	if (l->object)
		l->cu.cuStreamDestroy(l->object);
	l->object = NULL;
}

static int act_event_create(struct lab *l)
{
	LAB(cuEventCreate(&l->event, CU_EVENT_DISABLE_TIMING));
	return 0;
}
#define make_event_create act_event_create

static int act_event_destroy(struct lab *l)
{
	CUevent e = l->event;

	l->event = NULL;
	LAB(cuEventDestroy(e));
	return 0;
}

static int make_graph(struct lab *l)
{
	uint64_t at = (uint64_t)(uintptr_t)&l->flags->mark;
	uint32_t value = 1;
	void *args[] = {&at, &value};
	CUDA_KERNEL_NODE_PARAMS k = {.func = l->main.mark, .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1,
				     .blockDimX = 1, .blockDimY = 1, .blockDimZ = 1,
				     .kernelParams = args};
	CUgraphNode node;

	LAB(cuGraphCreate((CUgraph *)&l->object2, 0));
	LAB(cuGraphAddKernelNode(&node, l->object2, NULL, 0, &k));
	LAB(cuGraphInstantiateWithFlags((CUgraphExec *)&l->object, l->object2, 0));
	return 0;
}

static int act_graph_launch(struct lab *l)
{
	LAB(cuGraphLaunch(l->object, l->stream));
	return 0;
}

static int act_graph_upload(struct lab *l)
{
	LAB(cuGraphUpload(l->object, l->stream));
	return 0;
}

static int act_graph_destroy(struct lab *l)
{
	CUgraphExec g = l->object;

	l->object = NULL;
	LAB(cuGraphExecDestroy(g));
	return 0;
}

static void drop_graph(struct lab *l)
{
	if (l->object)
		l->cu.cuGraphExecDestroy(l->object);
	if (l->object2)
		l->cu.cuGraphDestroy(l->object2);
	l->object = l->object2 = NULL;
}

/* --- ends of contexts --- */

static int make_context(struct lab *l)
{
	CUcontext c;
	int r;

	LAB(cuCtxCreate_v2(&c, 0, l->main.dev));
	r = lab_site_make(l, &l->doomed, c, l->main.dev);
	l->cu.cuCtxSetCurrent(l->main.ctx);
	return r;
}

static int act_ctx_destroy(struct lab *l)
{
	CUcontext c = l->doomed.ctx;

	l->doomed.ctx = NULL;
	LAB(cuCtxDestroy(c));
	return 0;
}

static void drop_context(struct lab *l)
{
	if (l->doomed.ctx)
		l->cu.cuCtxDestroy(l->doomed.ctx);
	l->doomed = (struct lab_site){0};
	l->cu.cuCtxSetCurrent(l->main.ctx);
}

static int make_primary(struct lab *l)
{
	CUcontext c;
	int r;

	LAB(cuDevicePrimaryCtxRetain(&c, l->main.dev));
	l->object = c;
	LAB(cuCtxSetCurrent(c));
	r = lab_site_make(l, &l->doomed, c, l->main.dev);
	l->cu.cuCtxSetCurrent(l->main.ctx);
	return r;
}

static int act_primary_release(struct lab *l)
{
	l->object = NULL;
	LAB(cuDevicePrimaryCtxRelease(l->main.dev));
	return 0;
}

static int act_primary_reset(struct lab *l)
{
	LAB(cuDevicePrimaryCtxReset(l->main.dev));
	return 0;
}

static void drop_primary(struct lab *l)
{
	if (l->object)
		l->cu.cuDevicePrimaryCtxRelease(l->main.dev);
	l->object = NULL;
	l->doomed = (struct lab_site){0};
	l->cu.cuCtxSetCurrent(l->main.ctx);
}

/* All of the device's processors as a green context of the primary one. */
static int make_green(struct lab *l)
{
	static uint64_t resource[256]; /* larger than any version's structure */
	CUdevResourceDesc desc;
	CUcontext c;
	int r;

	LAB(cuDeviceGetDevResource(l->main.dev, resource, 1 /* processors */));
	LAB(cuDevResourceGenerateDesc(&desc, resource, 1));
	r = make_primary(l);
	if (r)
		return r;
	LAB(cuGreenCtxCreate((CUgreenCtx *)&l->object2, desc, l->main.dev, 1 /* default stream */));
	LAB(cuCtxFromGreenCtx(&c, l->object2));
	LAB(cuCtxSetCurrent(c));
	r = lab_site_make(l, &l->doomed, c, l->main.dev);
	if (!r && (r = (int)l->cu.cuGreenCtxStreamCreate(&l->doomed.free, l->object2,
							  CU_STREAM_NON_BLOCKING, 0)))
		lab_fail(l, "cuGreenCtxStreamCreate", r);
	l->cu.cuCtxSetCurrent(l->main.ctx);
	return r;
}

static int act_green_destroy(struct lab *l)
{
	CUgreenCtx g = l->object2;

	l->object2 = NULL;
	LAB(cuGreenCtxDestroy(g));
	return 0;
}

static void drop_green(struct lab *l)
{
	if (l->object2)
		l->cu.cuGreenCtxDestroy(l->object2);
	l->object2 = NULL;
	drop_primary(l);
}

/* --- code --- */

static int act_module_load_data(struct lab *l)
{
	LAB(cuModuleLoadData((CUmodule *)&l->object, lab_ptx()));
	return 0;
}
#define make_module_load_data act_module_load_data

static int act_module_load_data_ex(struct lab *l)
{
	LAB(cuModuleLoadDataEx((CUmodule *)&l->object, lab_ptx(), 0, NULL, NULL));
	return 0;
}

static int make_text_file(struct lab *l)
{
	size_t n = strlen(lab_ptx());

	l->fd = memfd_create("module", MFD_CLOEXEC);
	if (l->fd < 0 || write(l->fd, lab_ptx(), n) != (ssize_t)n)
		return lab_fail(l, "memfd_create", errno);
	return 0;
}

static const char *text_path(const struct lab *l, char path[32])
{
	snprintf(path, 32, "/proc/self/fd/%d", l->fd);
	return path;
}

static int act_module_load(struct lab *l)
{
	char path[32];

	LAB(cuModuleLoad((CUmodule *)&l->object, text_path(l, path)));
	return 0;
}

static int act_module_unload(struct lab *l)
{
	CUmodule m = l->object;

	l->object = NULL;
	LAB(cuModuleUnload(m));
	return 0;
}

static void drop_text(struct lab *l)
{
	if (l->fd > 0)
		close(l->fd);
	l->fd = 0;
}

static void drop_module(struct lab *l)
{
	if (l->object)
		l->cu.cuModuleUnload(l->object);
	l->object = NULL;
	drop_text(l);
}

static int act_library_load_data(struct lab *l)
{
	LAB(cuLibraryLoadData((CUlibrary *)&l->object, lab_ptx(), NULL, NULL, 0, NULL, NULL, 0));
	return 0;
}
#define make_library_load_data act_library_load_data

static int act_library_load(struct lab *l)
{
	char path[32];

	LAB(cuLibraryLoadFromFile((CUlibrary *)&l->object, text_path(l, path), NULL, NULL, 0, NULL,
				  NULL, 0));
	return 0;
}

/* A library is loaded into a context when a kernel of it is asked for. */
static int make_library_used(struct lab *l)
{
	int r = act_library_load_data(l);
	CUkernel kernel;
	CUfunction f;

	if (r)
		return r;
	LAB(cuLibraryGetKernel(&kernel, l->object, "mark"));
	LAB(cuKernelGetFunction(&f, kernel));
	LAB(cuFuncLoad(f));
	return 0;
}

static int act_library_unload(struct lab *l)
{
	CUlibrary m = l->object;

	l->object = NULL;
	LAB(cuLibraryUnload(m));
	return 0;
}

static void drop_library(struct lab *l)
{
	if (l->object)
		l->cu.cuLibraryUnload(l->object);
	l->object = NULL;
	drop_text(l);
}

/* --- settings --- */

static int make_peer_access(struct lab *l)
{
	if (!l->device2.ctx) {
		snprintf(l->why, sizeof(l->why), "wants two devices, there is one");
		return -1;
	}
	return 0;
}

static int act_peer_enable(struct lab *l)
{
	LAB(cuCtxEnablePeerAccess(l->device2.ctx, 0));
	l->object = l->device2.ctx;
	return 0;
}

static int make_peer_enabled(struct lab *l)
{
	int r = make_peer_access(l);

	return r ? r : act_peer_enable(l);
}

static int act_peer_disable(struct lab *l)
{
	l->object = NULL;
	LAB(cuCtxDisablePeerAccess(l->device2.ctx));
	return 0;
}

static void drop_peer_access(struct lab *l)
{
	if (l->object)
		l->cu.cuCtxDisablePeerAccess(l->object);
	l->object = NULL;
}

static int act_set_limit(struct lab *l)
{
	/* the stack's, another size each time */
	LAB(cuCtxSetLimit(0, 2048 + 16 * (size_t)(l->epoch % 64)));
	return 0;
}

static int act_set_flags(struct lab *l)
{
	unsigned flags;

	LAB(cuCtxGetFlags(&flags));
	LAB(cuCtxSetFlags(flags));
	return 0;
}

static int act_set_pointer(struct lab *l)
{
	unsigned yes = 1;

	LAB(cuPointerSetAttribute(&yes, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, l->addr));
	return 0;
}

static int act_mem_info(struct lab *l)
{
	size_t available, total;

	LAB(cuMemGetInfo(&available, &total));
	return 0;
}

/* --- stream operations --- */

static int act_launch(struct lab *l)
{
	uint64_t at = (uint64_t)(uintptr_t)&l->flags->mark;
	uint32_t value = 1;
	void *args[] = {&at, &value};

	LAB(cuLaunchKernel(l->main.mark, 1, 1, 1, 1, 1, 1, 0, l->stream, args, NULL));
	return 0;
}

static int act_launch_ex(struct lab *l)
{
	uint64_t at = (uint64_t)(uintptr_t)&l->flags->mark;
	uint32_t value = 1;
	void *args[] = {&at, &value};
	CUlaunchConfig c = {1, 1, 1, 1, 1, 1, 0, l->stream, NULL, 0};

	LAB(cuLaunchKernelEx(&c, l->main.mark, args, NULL));
	return 0;
}

static int act_launch_cooperative(struct lab *l)
{
	uint64_t at = (uint64_t)(uintptr_t)&l->flags->mark;
	uint32_t value = 1;
	void *args[] = {&at, &value};

	LAB(cuLaunchCooperativeKernel(l->main.mark, 1, 1, 1, 1, 1, 1, 0, l->stream, args));
	return 0;
}

static int seen_mark(struct lab *l)
{
	return atomic_load(&l->flags->mark) != 0;
}

static int act_event_record(struct lab *l)
{
	LAB(cuEventRecord(l->event, l->stream));
	return 0;
}

static int act_event_record_flags(struct lab *l)
{
	LAB(cuEventRecordWithFlags(l->event, l->stream, 0));
	return 0;
}

static int seen_event(struct lab *l)
{
	return l->cu.cuEventQuery(l->event) == CUDA_SUCCESS;
}

/* Later work of a stream, or of all: another event, recorded behind the wait. */
static int act_stream_wait(struct lab *l)
{
	LAB(cuStreamWaitEvent(l->stream, l->held, 0));
	LAB(cuEventRecord(l->event, l->stream));
	return 0;
}

static int act_ctx_record(struct lab *l)
{
	LAB(cuCtxRecordEvent(l->main.ctx, l->event));
	return 0;
}

static int act_ctx_wait(struct lab *l)
{
	LAB(cuCtxWaitEvent(l->main.ctx, l->held));
	LAB(cuEventRecord(l->event, l->main.look));
	return 0;
}

static void set_mark(void *arg)
{
	struct lab *l = arg;

	atomic_store(&l->flags->mark, 1);
}

static void set_mark_after(CUstream s, CUresult r, void *arg)
{
	(void)s;
	(void)r;
	set_mark(arg);
}

static int act_host_func(struct lab *l)
{
	LAB(cuLaunchHostFunc(l->stream, set_mark, l));
	return 0;
}

static int act_callback(struct lab *l)
{
	LAB(cuStreamAddCallback(l->stream, set_mark_after, l, 0));
	return 0;
}

static int act_prefetch(struct lab *l)
{
	CUmemLocation to = {CU_MEM_LOCATION_TYPE_DEVICE, l->main.dev};

	LAB(cuMemPrefetchAsync(l->addr, LAB_BYTES, to, 0, l->stream));
	return 0;
}

static int act_discard(struct lab *l)
{
	CUdeviceptr addr = l->addr;
	size_t bytes = LAB_BYTES;

	LAB(cuMemDiscardBatchAsync(&addr, &bytes, 1, 0, l->stream));
	return 0;
}

static int act_attach(struct lab *l)
{
	LAB(cuStreamAttachMemAsync(l->stream, l->addr, 0, CU_MEM_ATTACH_GLOBAL));
	return 0;
}

static int act_write_value(struct lab *l)
{
	CUdeviceptr at = (CUdeviceptr)(uintptr_t)&l->flags->mark;
	CUstreamBatchMemOpParams op = {
		.writeValue = {.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32, .address = at, .value = 1}};

	if (l->p->arg == 32) {
		LAB(cuStreamWriteValue32(l->stream, at, 1, 0));
	} else if (l->p->arg == 64) {
		/* mark is the low word of it, word the other one */
		_Static_assert(offsetof(struct lab_flags, mark) % 8 == 0, "aligned");
		LAB(cuStreamWriteValue64(l->stream, at, 1ull << 32 | 1, 0));
	} else {
		LAB(cuStreamBatchMemOp(l->stream, 1, &op, 0));
	}
	return 0;
}

static int act_wait_value(struct lab *l)
{
	CUdeviceptr at = (CUdeviceptr)(uintptr_t)&l->flags->word;
	CUdeviceptr at64 = (CUdeviceptr)(uintptr_t)&l->flags->word64;
	CUstreamBatchMemOpParams op = {.waitValue = {.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32,
						     .address = at,
						     .value = 1,
						     .flags = CU_STREAM_WAIT_VALUE_GEQ}};

	if (l->p->arg == 32)
		LAB(cuStreamWaitValue32(l->stream, at, 1, CU_STREAM_WAIT_VALUE_GEQ));
	else if (l->p->arg == 64)
		LAB(cuStreamWaitValue64(l->stream, at64, 1, CU_STREAM_WAIT_VALUE_GEQ));
	else
		LAB(cuStreamBatchMemOp(l->stream, 1, &op, 0));
	LAB(cuEventRecord(l->event, l->stream));
	return 0;
}

/* The signal comes behind the held kernel, on its stream. */
static int make_semaphore_waited(struct lab *l)
{
	int r = make_semaphore(l);

	return r ? r : act_event_create(l);
}

static int act_semaphore_wait(struct lab *l)
{
	CUexternalSemaphore s = l->object;
	CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS p = {.params.fence.value = 1};
	CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS w = {.params.fence.value = 1};

	LAB(cuSignalExternalSemaphoresAsync(&s, &p, 1, l->main.free));
	LAB(cuWaitExternalSemaphoresAsync(&s, &w, 1, l->stream));
	LAB(cuEventRecord(l->event, l->stream));
	return 0;
}

static int act_rdma_flush(struct lab *l)
{
	LAB(cuFlushGPUDirectRDMAWrites(0 /* of the current context */, 100 /* for its owner */));
	return 0;
}

/* The peer suspends us; what it says when it has is the call's return. */
static int make_checkpoint(struct lab *l)
{
	char c;
	int r = lab_peer_start(l, "checkpoint");

	if (r)
		return r;
	if (read(l->from, &c, 1) != 1)
		return lab_fail(l, "cuInit in a second process", CUDA_ERROR_UNKNOWN);
	return 0;
}

static int act_checkpoint(struct lab *l)
{
	int r[2] = {CUDA_ERROR_UNKNOWN, 0};

	if (write(l->to, "c", 1) != 1 || read(l->from, r, sizeof(r)) != sizeof(r))
		return lab_fail(l, "a second process", CUDA_ERROR_UNKNOWN);
	return r[0] ? lab_fail(l, r[1] ? "cuCheckpointProcessCheckpoint" : "cuCheckpointProcessLock",
			       r[0]) :
		      0;
}

static void drop_checkpoint(struct lab *l)
{
	lab_peer_end(l);
}

/* --- the table --- */

static int make_copy(struct lab *l)
{
	int r = lab_mem(l, l->p->dst, 0, &l->dst);

	if (!r && l->p->copies)
		r = lab_mem(l, l->p->src, 1, &l->src);
	return r;
}

static int seen_dst(struct lab *l)
{
	int got = lab_byte(l, l->dst, l->p->dst, l->p->bytes - 1);

	return got < 0 ? got : got != LAB_OLD;
}

#define make_NONE NULL
#define drop_NONE NULL
#define seen_NONE NULL

const struct lab_probe lab_probes[] = {
#define KRT_PROBE(row_, call, kind_, own_, MAKE, ACT, DROP, SEEN, arg_)                        \
	{.row = KRT_SEM_##row_,                                                                    \
	 .kind = KRT_PROBE_##kind_,                                                                \
	 .own = KRT_OWN_##own_,                                                                    \
	 .make = make_##MAKE,                                                                     \
	 .act = act_##ACT,                                                                        \
	 .drop = drop_##DROP,                                                                     \
	 .seen = seen_##SEEN,                                                                     \
	 .arg = arg_},
#define KRT_PROBE_COPY(row_, call, own_, ACT, dst_, src_, bytes_)                                 \
	{.row = KRT_SEM_##row_,                                                                    \
	 .kind = KRT_PROBE_OP,                                                                     \
	 .own = KRT_OWN_##own_,                                                                    \
	 .make = make_copy,                                                                        \
	 .act = act_##ACT,                                                                        \
	 .seen = seen_dst,                                                                         \
	 .copies = true,                                                                           \
	 .dst = LAB_##dst_,                                                                        \
	 .src = LAB_##src_,                                                                        \
	 .bytes = bytes_},
#define KRT_PROBE_SET(row_, call, own_, ACT, dst_)                                                \
	{.row = KRT_SEM_##row_,                                                                    \
	 .kind = KRT_PROBE_OP,                                                                     \
	 .own = KRT_OWN_##own_,                                                                    \
	 .make = make_copy,                                                                        \
	 .act = act_##ACT,                                                                        \
	 .seen = seen_dst,                                                                         \
	 .sets = true,                                                                             \
	 .dst = LAB_##dst_,                                                                        \
	 .bytes = LAB_BYTES},
#include "probe.def"
};
