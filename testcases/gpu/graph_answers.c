/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a driver answers about graphs and captures, one line a question, to be
 * compared between a GPU and the simulated driver (run.sh answers).  Asserts
 * nothing.  Answers are error codes; "ends N" is what ending the capture gave.
 */
#define _GNU_SOURCE
#include "cuabi.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char ptx[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
			  ".visible .entry set(.param .u64 p, .param .u32 v)\n{\n"
			  ".reg .u64 %rd<2>; .reg .u32 %r<2>;\n"
			  "ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [v];\n"
			  "st.global.u32 [%rd1], %r1; ret;\n}\n";

static CUcontext ctx;
static CUmodule mod;
static CUfunction fn;
static CUstream s, t, blocking;
static CUevent e, f;
static CUdeviceptr d;
static CUgraph g, g2;
static CUgraphExec x, x2;
static CUgraphNode n0, n1, n2;
static uint32_t host[64], *pinned;
static char page[3 * 4096];

static void must(CUresult r, int line)
{
	if (r != CUDA_SUCCESS) {
		printf("line %d: %d\n", line, r);
		exit(1);
	}
}
#define CU(call)    must(call, __LINE__)
#define SAY(q, ...) (printf("%s: ", q), printf(__VA_ARGS__), putchar('\n'))

static void start(void)
{
	CU(cuInit(0));
	CU(cuDevicePrimaryCtxRetain(&ctx, 0));
	CU(cuCtxSetCurrent(ctx));
	CU(cuModuleLoadData(&mod, ptx));
	CU(cuModuleGetFunction(&fn, mod, "set"));
	CU(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	CU(cuStreamCreate(&t, CU_STREAM_NON_BLOCKING));
	CU(cuStreamCreate(&blocking, 0));
	CU(cuEventCreate(&e, 0));
	CU(cuEventCreate(&f, 0));
	CU(cuMemAlloc(&d, 1 << 20));
	CU(cuMemHostAlloc((void **)&pinned, 4096, 0));
	CU(cuMemsetD8(d, 0, 1 << 20));
	CU(cuCtxSynchronize());
}

/* ---- calls that are not for a capture ---- */

static CUdeviceptr spare;
static void *spare_host;
static CUmodule spare_mod;

static int c_alloc(void) { CUdeviceptr p; return cuMemAlloc(&p, 64); }
static int c_free(void) { return cuMemFree(spare); }
static int c_free_pool(void) { return cuMemFree(spare); }
static int c_managed(void) { CUdeviceptr p; return cuMemAllocManaged(&p, 64, CU_MEM_ATTACH_GLOBAL); }
static int c_host_alloc(void) { void *p; return cuMemHostAlloc(&p, 64, 0); }
static int c_host_free(void) { return cuMemFreeHost(spare_host); }
static int c_register(void) { return cuMemHostRegister(page + 4096 - (uintptr_t)page % 4096, 4096, 0); }
static int c_info(void) { size_t a, b; return cuMemGetInfo(&a, &b); }
static int c_array(void) { CUarray a; CUDA_ARRAY_DESCRIPTOR ad = {4, 4, CU_AD_FORMAT_FLOAT, 1}; return cuArrayCreate(&a, &ad); }
static int c_stream_sync(void) { return cuStreamSynchronize(t); }
static int c_stream_query(void) { return cuStreamQuery(t); }
static int c_stream_create(void) { CUstream q; return cuStreamCreate(&q, 1); }
static int c_event_sync(void) { return cuEventSynchronize(f); }
static int c_event_query(void) { return cuEventQuery(f); }
static int c_event_create(void) { CUevent q; return cuEventCreate(&q, 0); }
static int c_elapsed(void) { float ms; return cuEventElapsedTime(&ms, f, f); }
static int c_ctx_sync(void) { return cuCtxSynchronize(); }
static int c_copy(void) { return cuMemcpyDtoH(host, d, 4); }
static int c_set(void) { return cuMemsetD32(d, 1, 1); }
static int c_module(void) { CUmodule m; return cuModuleLoadData(&m, ptx); }
static int c_library(void) { CUlibrary l; return cuLibraryLoadData(&l, ptx, NULL, NULL, 0, NULL, NULL, 0); }
static int c_alloc_async(void) { CUdeviceptr p; return cuMemAllocAsync(&p, 64, t); }
static int c_instantiate(void) { return cuGraphInstantiate(&x2, g2, 0); }
static int c_launch(void) { return cuGraphLaunch(x, t); }
static int c_upload(void) { return cuGraphUpload(x, t); }
static int c_exec_destroy(void) { return cuGraphExecDestroy(x2); }
static int c_update(void) { CUgraphExecUpdateResultInfo i; return cuGraphExecUpdate(x, g2, &i); }
static int c_unload(void) { return cuModuleUnload(spare_mod); }
static int c_free_async(void) { return cuMemFreeAsync(spare, t); }
static int c_attribute(void) { CUdeviceptr p; return cuPointerGetAttribute(&p, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, d); }
static int c_record_ctx(void) { return cuCtxRecordEvent(ctx, f); }

static const struct {
	const char *name;
	int (*call)(void);
} unsafe[] = {
	{"alloc", c_alloc}, {"free", c_free}, {"free of pool memory", c_free_pool}, {"managed", c_managed},
	{"host alloc", c_host_alloc}, {"host free", c_host_free}, {"register", c_register}, {"mem info", c_info},
	{"array", c_array}, {"other stream's sync", c_stream_sync}, {"other stream's query", c_stream_query},
	{"stream create", c_stream_create}, {"event sync", c_event_sync}, {"event query", c_event_query},
	{"event create", c_event_create}, {"elapsed", c_elapsed}, {"context sync", c_ctx_sync}, {"copy", c_copy},
	{"set", c_set}, {"module", c_module}, {"library", c_library}, {"alloc on another stream", c_alloc_async},
	{"instantiate", c_instantiate}, {"launch elsewhere", c_launch},
	{"upload elsewhere", c_upload}, {"executable destroyed", c_exec_destroy}, {"executable updated", c_update},
	{"module unload", c_unload}, {"free on another stream", c_free_async}, {"pointer attribute", c_attribute},
	{"context record", c_record_ctx},
};

static int answer;
static int (*asked)(void);
static void *other_thread(void *unused)
{
	CU(cuCtxSetCurrent(ctx));
	answer = asked();
	return unused;
}

static void unsafe_calls(void)
{
	CU(cuGraphCreate(&g2, 0));
	CU(cuGraphAddEmptyNode(&n0, g2, NULL, 0));
	CU(cuGraphInstantiate(&x, g2, 0));
	CU(cuEventRecord(f, t));
	CU(cuCtxSynchronize());
	for (unsigned i = 0; i < sizeof unsafe / sizeof *unsafe; i++)
		for (int other = 0; other < 2; other++) {
			pthread_t th;
			int r, end;

			if (unsafe[i].call == c_free_pool) {
				CU(cuMemAllocAsync(&spare, 64, t));
				CU(cuStreamSynchronize(t));
			} else {
				CU(cuMemAlloc(&spare, 64));
			}
			CU(cuMemHostAlloc(&spare_host, 64, 0));
			if (unsafe[i].call == c_exec_destroy)
				CU(cuGraphInstantiate(&x2, g2, 0));
			if (unsafe[i].call == c_unload)
				CU(cuModuleLoadData(&spare_mod, ptx));
			cuMemHostUnregister(page + 4096 - (uintptr_t)page % 4096);
			CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
			CU(cuMemsetD32Async(d, 1, 1, s));
			asked = unsafe[i].call;
			if (other) {
				pthread_create(&th, NULL, other_thread, NULL);
				pthread_join(th, NULL);
				r = answer;
			} else {
				r = asked();
			}
			end = cuStreamEndCapture(s, &g);
			printf("global capture, %s%s: %d ends %d\n", unsafe[i].name,
			       other ? " by another thread" : "", r, end);
			CU(cuCtxSynchronize());
		}
}

/* ---- rules of capture ---- */

static int end_of(CUstream st)
{
	CUgraph q = NULL;

	return cuStreamEndCapture(st, &q);
}

static void capture_rules(void)
{
	CUstreamCaptureStatus st = 0;
	cuuint64_t id = 0;
	int r, r2, r3;
	CUdeviceptr p, q;

	SAY("end without a capture", "%d", end_of(s));
	CU(cuStreamBeginCapture(s, 2));
	r = cuStreamBeginCapture(s, 2);
	SAY("begun twice", "%d ends %d", r, end_of(s));
	SAY("legacy stream", "%d", cuStreamBeginCapture(NULL, 2));
	for (int sync = 0; sync < 2; sync++) {
		CU(cuStreamBeginCapture(s, 2));
		CU(cuEventRecord(e, s));
		r = sync ? cuEventSynchronize(e) : cuEventQuery(e);
		SAY(sync ? "sync of a captured event" : "query of a captured event", "%d ends %d", r, end_of(s));
	}
	SAY("query of an event whose capture has ended", "%d", cuEventQuery(e));
	SAY("wait for an event whose capture has ended", "%d", cuStreamWaitEvent(t, e, 0));
	CU(cuStreamBeginCapture(s, 2));
	r = cuStreamWaitEvent(s, e, 0);
	SAY("the same in a capture", "%d ends %d", r, end_of(s));
	CU(cuStreamBeginCapture(s, 2));
	CU(cuEventRecord(e, s));
	SAY("a capture that ends well", "%d", end_of(s));
	SAY("query of its event", "%d", cuEventQuery(e));
	SAY("sync of its event", "%d", cuEventSynchronize(e));
	SAY("wait for its event", "%d", cuStreamWaitEvent(t, e, 0));
	CU(cuStreamBeginCapture(s, 2));
	r = cuStreamWaitEvent(s, e, 0);
	SAY("the same in another capture", "%d ends %d", r, end_of(s));
	CU(cuEventCreate(&e, 0));
	CU(cuStreamBeginCapture(s, 2));
	r = cuStreamWaitEvent(s, e, 0);
	SAY("wait for an event that was never recorded", "%d ends %d", r, end_of(s));
	CU(cuEventRecord(e, t));
	CU(cuStreamSynchronize(t));
	CU(cuStreamBeginCapture(s, 2));
	r = cuStreamWaitEvent(s, e, 0);
	r2 = cuMemsetD32Async(d, 1, 1, s);
	r3 = cuStreamQuery(s);
	SAY("wait for an event from outside", "%d then a set %d a query %d ends %d", r, r2, r3, end_of(s));
	CU(cuStreamBeginCapture(s, 2));
	r = cuStreamQuery(s);
	r2 = cuStreamGetCaptureInfo(s, &st, &id, &g2, NULL, NULL, NULL);
	SAY("query of a capturing stream", "%d info %d status %d id %d ends %d", r, r2, st, id != 0, end_of(s));
	CU(cuStreamBeginCapture(s, 2));
	r = cuStreamSynchronize(s);
	r2 = cuStreamSynchronize(s);
	SAY("sync of a capturing stream", "%d again %d ends %d", r, r2, end_of(s));
	CU(cuStreamBeginCapture(s, 2));
	CU(cuEventRecord(e, s));
	CU(cuStreamWaitEvent(t, e, 0));
	CU(cuMemsetD32Async(d, 1, 1, t));
	SAY("unjoined", "%d", end_of(s));
	SAY("the forked stream afterwards", "%d", cuStreamQuery(t));
	CU(cuStreamBeginCapture(s, 2));
	CU(cuEventRecord(e, s));
	CU(cuStreamWaitEvent(t, e, 0));
	SAY("joined without work, not joined back", "%d", end_of(s));
	CU(cuStreamBeginCapture(s, 2));
	CU(cuEventRecord(e, s));
	CU(cuStreamWaitEvent(t, e, 0));
	r = end_of(t);
	SAY("unmatched", "%d ends %d", r, end_of(s));
	CU(cuStreamBeginCapture(blocking, 2));
	r = cuStreamIsCapturing(NULL, &st);
	r2 = cuMemsetD32Async(d, 1, 1, NULL);
	SAY("legacy stream beside a blocking capture", "asked %d used %d ends %d", r, r2, end_of(blocking));
	CU(cuStreamBeginCapture(s, 2));
	r = cuMemcpyHtoD(d, host, 4);
	SAY("copy on the legacy stream, relaxed, non-blocking", "%d ends %d", r, end_of(s));
	CU(cuStreamBeginCapture(s, 2));
	r = cuMemcpyHtoDAsync(d, host, 64, s);
	r2 = cuMemcpyDtoHAsync(host, d, 64, s);
	SAY("pageable copies in a capture", "%d %d ends %d", r, r2, end_of(s));
	CU(cuStreamBeginCapture(s, 2));
	r = cuMemFreeAsync(d + 512, s);
	SAY("free of what is no block", "%d ends %d", r, end_of(s));
	CU(cuMemAllocAsync(&p, 64, s));
	CU(cuStreamBeginCapture(s, 2));
	r = cuMemFreeAsync(p, s);
	SAY("free of pool memory from outside", "%d ends %d", r, end_of(s));
	CU(cuStreamBeginCapture(s, 2));
	CU(cuMemAllocAsync(&p, 512, s));
	r = cuMemcpyHtoDAsync(p, pinned, 64, s);
	r2 = cuPointerGetAttribute(&q, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, p);
	CU(cuMemFreeAsync(p, s));
	CU(cuMemAllocAsync(&q, 500, s));
	SAY("captured allocation", "copy %d attribute %d the next has its address %d ends %d", r, r2, p == q, end_of(s));
	CU(cuStreamBeginCapture(s, 2));
	r = cuMemPrefetchAsync(d, 64, (CUmemLocation){CU_MEM_LOCATION_TYPE_DEVICE, 0}, 0, s);
	SAY("prefetch of device memory in a capture", "%d ends %d", r, end_of(s));
	CU(cuMemAllocManaged(&p, 4096, CU_MEM_ATTACH_GLOBAL));
	CU(cuStreamBeginCapture(s, 2));
	r = cuMemPrefetchAsync(p, 4096, (CUmemLocation){CU_MEM_LOCATION_TYPE_DEVICE, 0}, 0, s);
	SAY("prefetch of managed memory in a capture", "%d ends %d", r, end_of(s));
	CU(cuStreamBeginCapture(s, 2));
	r = cuStreamAttachMemAsync(s, p, 0, CU_MEM_ATTACH_GLOBAL);
	SAY("attach in a capture", "%d ends %d", r, end_of(s));
	CUmemcpyAttributes at = {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
	CUdeviceptr dst = d, src = d + 4096;
	size_t len = 64, zero = 0;
	CU(cuStreamBeginCapture(s, 2));
	r = cuMemcpyBatchAsync(&dst, &src, &len, 1, &at, &zero, 1, s);
	SAY("batch copy in a capture", "%d ends %d", r, end_of(s));
	CU(cuStreamBeginCapture(s, 2));
	CU(cuStreamDestroy(s));
	CU(cuMemAlloc(&p, 64));
	SAY("a capturing stream destroyed, then", "%d", cuStreamQuery(t));
}

/* ---- graphs by hand ---- */

static CUDA_MEMSET_NODE_PARAMS set_params(uint32_t v)
{
	return (CUDA_MEMSET_NODE_PARAMS){.dst = d, .value = v, .elementSize = 4, .width = 4, .height = 1};
}

static void by_hand(void)
{
	CUDA_MEMSET_NODE_PARAMS m = set_params(1);
	CUgraphNode two[2], v[8];
	CUgraphEdgeData pe = {.from_port = 1, .type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC}, ed[8];
	uint32_t val = 3;
	void *list[] = {&d, &val};
	CUDA_KERNEL_NODE_PARAMS k = {.func = fn, .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 1,
				     .blockDimY = 1, .blockDimZ = 1, .kernelParams = list};
	CUDA_KERNEL_NODE_PARAMS q;
	struct { CUdeviceptr p; uint32_t v; } buf = {d, 5};
	size_t size = sizeof buf, n;
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &buf, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
	CUlibrary lib;
	CUkernel kern;
	CUgraph child;
	int r, r2;

	CU(cuGraphCreate(&g, 0));
	CU(cuGraphAddMemsetNode(&n0, g, NULL, 0, &m, ctx));
	CU(cuGraphAddKernelNode(&n1, g, &n0, 1, &k));
	CU(cuGraphAddEmptyNode(&n2, g, &n1, 1));
	two[0] = two[1] = n0;
	SAY("the same dependency twice", "%d", cuGraphAddEmptyNode(&v[0], g, two, 2));
	SAY("an edge that is there", "%d", cuGraphAddDependencies(g, &n0, &n1, NULL, 1));
	SAY("an edge to itself", "%d", cuGraphAddDependencies(g, &n0, &n0, NULL, 1));
	SAY("an edge that is not there removed", "%d", cuGraphRemoveDependencies(g, &n0, &n2, NULL, 1));
	r = cuGraphAddDependencies(g, &n2, &n0, NULL, 1);
	CUDA_GRAPH_INSTANTIATE_PARAMS ip = {0};
	r2 = r ? -1 : (int)cuGraphInstantiateWithParams(&x, g, &ip);
	SAY("a circle", "added %d instantiated %d result %d node %d", r, r2, ip.result_out, ip.hErrNode_out != NULL);
	if (!r)
		CU(cuGraphRemoveDependencies(g, &n2, &n0, NULL, 1));
	n = 1;
	r = cuGraphGetNodes(g, v, &n);
	SAY("nodes with room for one", "%d n %zu", r, n);
	n = 6;
	r = cuGraphGetNodes(g, v, &n);
	SAY("nodes with room for six", "%d n %zu rest cleared %d", r, n, !v[3] && !v[5]);
	SAY("programmatic edge from a set", "%d", cuGraphAddDependencies(g, &n0, &n2, &pe, 1));
	CUgraphNodeParams np = {.type = CU_GRAPH_NODE_TYPE_KERNEL};
	memcpy(&np.kernel, &k, sizeof k);
	r = cuGraphAddNode(&v[0], g, &n1, &pe, 1, &np);
	n = 1;
	r2 = r ? -1 : (int)cuGraphNodeGetDependencies(v[0], v + 1, NULL, &n);
	SAY("programmatic edge between kernels", "%d asked without data %d", r, r2);
	n = 1;
	if (!r) {
		r2 = cuGraphNodeGetDependencies(v[0], v + 1, ed, &n);
		SAY("its data", "%d from %d to %d type %d", r2, ed[0].from_port, ed[0].to_port, ed[0].type);
	}
	k.kernelParams = NULL;
	k.extra = extra;
	r = cuGraphAddKernelNode(&v[0], g, NULL, 0, &k);
	memset(&q, 0, sizeof q);
	r2 = r ? -1 : (int)cuGraphKernelNodeGetParams(v[0], &q);
	SAY("kernel with packed parameters", "%d %d params %d extra %d", r, r2, q.kernelParams != NULL, q.extra != NULL);
	if (q.kernelParams)
		SAY("its second", "%u", *(uint32_t *)q.kernelParams[1]);
	size = 12;
	r = cuGraphAddKernelNode(&v[0], g, NULL, 0, &k);
	memset(&q, 0, sizeof q);
	r2 = r ? -1 : (int)cuGraphKernelNodeGetParams(v[0], &q);
	SAY("and no byte more than they are", "%d %d params %d extra %d", r, r2, q.kernelParams != NULL, q.extra != NULL);
	CU(cuStreamBeginCapture(s, 2));
	r = cuLaunchKernel(fn, 1, 1, 1, 1, 1, 1, 0, s, NULL, extra);
	CU(cuStreamEndCapture(s, &child));
	n = 1;
	CU(cuGraphGetNodes(child, v, &n));
	memset(&q, 0, sizeof q);
	r2 = n ? (int)cuGraphKernelNodeGetParams(v[0], &q) : -1;
	SAY("captured", "%d %d params %d extra %d", r, r2, q.kernelParams != NULL, q.extra != NULL);
	size = sizeof buf;
	SAY("launched with bytes to spare", "%d", cuLaunchKernel(fn, 1, 1, 1, 1, 1, 1, 0, s, NULL, extra));
	CU(cuStreamSynchronize(s));
	CU(cuLibraryLoadData(&lib, ptx, NULL, NULL, 0, NULL, NULL, 0));
	CU(cuLibraryGetKernel(&kern, lib, "set"));
	k.extra = NULL;
	k.kernelParams = list;
	k.func = NULL;
	k.kern = kern;
	CU(cuGraphAddKernelNode(&v[0], g, NULL, 0, &k));
	CU(cuGraphKernelNodeGetParams(v[0], &q));
	SAY("kernel by its library handle", "func %s kern %s ctx %d", q.func ? (void *)q.func == (void *)kern ? "kernel" : "function" : "none",
	    q.kern ? q.kern == kern ? "same" : "other" : "none", q.ctx == ctx);
	k.func = (CUfunction)kern;
	k.kern = NULL;
	r = cuGraphAddKernelNode(&v[0], g, NULL, 0, &k);
	if (!r) {
		CU(cuGraphKernelNodeGetParams(v[0], &q));
		SAY("kernel given as function", "func %s kern %s",
		    q.func ? (void *)q.func == (void *)kern ? "kernel" : "function" : "none", q.kern ? q.kern == kern ? "same" : "other" : "none");
	} else {
		SAY("kernel given as function", "%d", r);
	}
	CU(cuGraphKernelNodeGetParams(n1, &q));
	SAY("kernel by its function", "func %d kern %s", q.func == fn, q.kern ? "set" : "none");
	CU(cuGraphCreate(&child, 0));
	CU(cuGraphAddMemsetNode(&v[0], child, NULL, 0, &m, ctx));
	CU(cuGraphAddChildGraphNode(&v[1], g, NULL, 0, child));
	CU(cuGraphChildGraphNodeGetGraph(v[1], &g2));
	SAY("embedded graph", "other handle %d", g2 != child);
	m.width = 0;
	SAY("a set of nothing", "%d", cuGraphAddMemsetNode(&v[2], g, NULL, 0, &m, ctx));
	m = set_params(1);
	m.dst = 0x1234;
	SAY("a set of no memory", "%d", cuGraphAddMemsetNode(&v[2], g, NULL, 0, &m, ctx));
	SAY("device launch flag", "%d", cuGraphInstantiate(&x, g, CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH));
	CU(cuGraphCreate(&child, 0));
	k.func = fn;
	CU(cuGraphAddKernelNode(&v[0], child, NULL, 0, &k));
	SAY("device launch flag, one kernel", "%d", cuGraphInstantiate(&x, child, CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH));
	SAY("upload flag without parameters", "%d", cuGraphInstantiate(&x, g, CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD));
	SAY("unknown flag", "%d", cuGraphInstantiate(&x, g, 64));
}

/* ---- executables ---- */

static void changes(void)
{
	CUDA_MEMSET_NODE_PARAMS m = set_params(1);
	CUDA_MEMCPY3D c = {.srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = d, .dstMemoryType = CU_MEMORYTYPE_HOST,
			   .dstHost = pinned, .WidthInBytes = 64, .Height = 1, .Depth = 1};
	CUDA_MEMCPY3D to_device = c, pageable = c, longer = c;
	CUgraphExecUpdateResultInfo info;
	CUgraphNode v[8];
	CUgraph child, empty;
	int r;

	CU(cuGraphCreate(&g, 0));
	CU(cuGraphCreate(&child, 0));
	CU(cuGraphCreate(&empty, 0));
	CU(cuGraphAddMemsetNode(&v[0], child, NULL, 0, &m, ctx));
	CU(cuGraphAddMemsetNode(&n0, g, NULL, 0, &m, ctx));
	CU(cuGraphAddMemcpyNode(&n1, g, &n0, 1, &c, ctx));
	CU(cuGraphAddChildGraphNode(&n2, g, &n1, 1, child));
	CU(cuGraphAddEmptyNode(&v[1], g, &n2, 1));
	CU(cuGraphInstantiate(&x, g, 0));
	to_device.dstMemoryType = CU_MEMORYTYPE_DEVICE;
	to_device.dstDevice = d + 4096;
	to_device.dstHost = NULL;
	pageable.dstHost = host;
	longer.WidthInBytes = 128;
	SAY("copy to device", "%d", cuGraphExecMemcpyNodeSetParams(x, n1, &to_device, ctx));
	SAY("copy to pageable", "%d", cuGraphExecMemcpyNodeSetParams(x, n1, &pageable, ctx));
	SAY("copy of more", "%d", cuGraphExecMemcpyNodeSetParams(x, n1, &longer, ctx));
	m.width = 8;
	r = cuGraphExecMemsetNodeSetParams(x, n0, &m, ctx);
	m.elementSize = 1;
	SAY("set: wider, other element", "%d %d", r, cuGraphExecMemsetNodeSetParams(x, n0, &m, ctx));
	m = set_params(1);
	m.width = m.height = 2;
	m.pitch = 16;
	SAY("set: of rows", "%d", cuGraphExecMemsetNodeSetParams(x, n0, &m, ctx));
	SAY("empty node disabled", "%d", cuGraphNodeSetEnabled(x, v[1], 0));
	SAY("child node disabled", "%d", cuGraphNodeSetEnabled(x, n2, 0));
	SAY("set disabled", "%d", cuGraphNodeSetEnabled(x, n0, 0));
	SAY("child by an empty graph", "%d", cuGraphExecChildGraphNodeSetParams(x, n2, empty));
	CU(cuGraphChildGraphNodeGetGraph(n2, &g2));
	size_t n = 1;
	CU(cuGraphGetNodes(g2, &v[2], &n));
	m = set_params(7);
	SAY("node of the embedded graph", "%d", cuGraphExecMemsetNodeSetParams(x, v[2], &m, ctx));
	SAY("of the graph it was copied from", "%d", cuGraphExecMemsetNodeSetParams(x, v[0], &m, ctx));
	r = cuGraphExecUpdate(x, empty, &info);
	SAY("update by an empty graph", "%d result %d node %d", r, info.result, info.errorNode != NULL);
	CU(cuGraphAddEmptyNode(&v[3], empty, NULL, 0));
	CU(cuGraphAddEmptyNode(&v[3], empty, &v[3], 1));
	CU(cuGraphAddEmptyNode(&v[3], empty, &v[3], 1));
	CU(cuGraphAddEmptyNode(&v[3], empty, &v[3], 1));
	r = cuGraphExecUpdate(x, empty, &info);
	SAY("update by other kinds of nodes", "%d result %d node %d", r, info.result, info.errorNode != NULL);
	r = cuGraphExecUpdate(x, g, &info);
	SAY("update by itself", "%d result %d", r, info.result);
	CU(cuGraphDestroy(g));
	CU(cuGraphLaunch(x, s));
	CU(cuStreamSynchronize(s));
}

/* ---- memory and conditions ---- */

static void memory(void)
{
	CUDA_MEM_ALLOC_NODE_PARAMS a = {.poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
						      .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}},
					.bytesize = 1000};
	CUDA_MEMSET_NODE_PARAMS m = set_params(6);
	CUdeviceptr p;
	CUgraph c;
	size_t size = 0;
	CUdeviceptr base = 0;
	int r;

	CU(cuGraphCreate(&g, 0));
	CU(cuGraphCreate(&g2, 0));
	CU(cuGraphAddMemAllocNode(&n0, g, NULL, 0, &a));
	m.dst = a.dptr;
	CU(cuGraphAddMemsetNode(&n1, g, &n0, 1, &m, ctx));
	r = cuMemGetAddressRange(&base, &size, a.dptr);
	SAY("address range before a launch", "%d base %d size %zu", r, base == a.dptr, size);
	r = cuMemFree(a.dptr);
	SAY("free before a launch", "%d %d", r, cuMemFreeAsync(a.dptr, s));
	SAY("clone", "%d", cuGraphClone(&c, g));
	SAY("edge removed", "%d", cuGraphRemoveDependencies(g, &n0, &n1, NULL, 1));
	SAY("as a child", "%d", cuGraphAddChildGraphNode(&n2, g2, NULL, 0, g));
	CU(cuGraphInstantiate(&x, g, 0));
	SAY("a second executable", "%d", cuGraphInstantiate(&x2, g, 0));
	CU(cuGraphLaunch(x, s));
	SAY("launched again", "%d", cuGraphLaunch(x, s));
	SAY("address range while it is allocated", "%d", cuMemGetAddressRange(&base, &size, a.dptr));
	CU(cuMemFreeAsync(a.dptr, s));
	SAY("address range after the free", "%d", cuMemGetAddressRange(&base, &size, a.dptr));
	SAY("freed twice", "%d", cuMemFreeAsync(a.dptr, s));
	SAY("freed by another graph", "%d", cuGraphAddMemFreeNode(&n2, g2, NULL, 0, a.dptr));
	SAY("freed by both", "%d", cuGraphAddMemFreeNode(&n2, g, &n1, 1, a.dptr));
	SAY("ordinary memory freed by a graph", "%d", cuGraphAddMemFreeNode(&n2, g2, NULL, 0, d));
	CU(cuGraphInstantiate(&x2, g2, 0));
	SAY("the freeing graph before the other", "%d", cuGraphLaunch(x2, s));
	CU(cuStreamSynchronize(s));
	CU(cuStreamBeginCapture(s, 2));
	CU(cuMemAllocAsync(&p, 64, s));
	CU(cuMemsetD32Async(p, 1, 1, s));
	CU(cuMemFreeAsync(p, s));
	CU(cuStreamEndCapture(s, &g));
	CU(cuGraphInstantiate(&x, g, 0));
	CU(cuGraphLaunch(x, s));
	r = cuMemFreeAsync(p, s);
	SAY("free outside of what the graph frees", "%d %d", r, cuMemFree(p));
	CU(cuStreamSynchronize(s));

	CUgraphConditionalHandle h;
	CUgraphNodeParams np = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL};
	CUDA_HOST_NODE_PARAMS hp = {(CUhostFn)free, NULL};

	CU(cuGraphCreate(&g, 0));
	r = cuGraphConditionalHandleCreate(&h, g, ctx, 1, CU_GRAPH_COND_ASSIGN_DEFAULT);
	CUDA_GRAPH_INSTANTIATE_PARAMS ip = {0};
	int r2 = (int)cuGraphInstantiateWithParams(&x, g, &ip);
	SAY("handle", "%d, instantiated unused %d result %d", r, r2, ip.result_out);
	np.conditional = (CUDA_CONDITIONAL_NODE_PARAMS){.handle = h, .type = CU_GRAPH_COND_TYPE_IF, .size = 1, .ctx = ctx};
	r = cuGraphAddNode(&n0, g, NULL, NULL, 0, &np);
	SAY("conditional node", "%d body %d", r, np.conditional.phGraph_out != NULL);
	if (r)
		return;
	c = np.conditional.phGraph_out[0];
	SAY("again with the handle", "%d", cuGraphAddNode(&n1, g, NULL, NULL, 0, &np));
	SAY("host node in a body", "%d", cuGraphAddHostNode(&n1, c, NULL, 0, &hp));
	SAY("instantiated with it", "%d", cuGraphInstantiate(&x, g, 0));
	SAY("allocation in a body", "%d", cuGraphAddMemAllocNode(&n1, c, NULL, 0, &a));
	SAY("instantiated with it", "%d", cuGraphInstantiate(&x, g, 0));
	SAY("event in a body", "%d", cuGraphAddEventRecordNode(&n1, c, NULL, 0, e));
	CU(cuGraphCreate(&g, 0));
	CU(cuGraphConditionalHandleCreate(&h, g, ctx, 1, CU_GRAPH_COND_ASSIGN_DEFAULT));
	np = (CUgraphNodeParams){.type = CU_GRAPH_NODE_TYPE_CONDITIONAL};
	np.conditional = (CUDA_CONDITIONAL_NODE_PARAMS){.handle = h, .type = CU_GRAPH_COND_TYPE_IF, .size = 1, .ctx = ctx};
	CU(cuGraphAddNode(&n0, g, NULL, NULL, 0, &np));
	m = set_params(8);
	CU(cuGraphAddMemsetNode(&n1, np.conditional.phGraph_out[0], NULL, 0, &m, ctx));
	SAY("clone of it", "%d", cuGraphClone(&c, g));
	SAY("it as a child", "%d", cuGraphAddChildGraphNode(&n2, g2, NULL, 0, g));
	r = cuGraphInstantiate(&x, g, 0);
	SAY("executables", "%d a second one %d", r, cuGraphInstantiate(&x2, g, 0));
	r = cuGraphLaunch(x, s);
	CU(cuStreamSynchronize(s));
	CU(cuMemcpyDtoH(host, d, 4));
	SAY("launched, the default being one", "%d value %u", r, host[0]);
}

int main(void)
{
	static const struct {
		const char *name;
		void (*ask)(void);
	} parts[] = {{"unsafe calls", unsafe_calls}, {"capture", capture_rules}, {"by hand", by_hand},
		     {"changes", changes}, {"memory and conditions", memory}};

	/* A process each, so that one that breaks its context ends nothing else. */
	for (unsigned i = 0; i < sizeof parts / sizeof *parts; i++) {
		pid_t pid;
		int st;

		printf("-- %s\n", parts[i].name);
		fflush(stdout);
		pid = fork();
		if (!pid) {
			alarm(60);
			start();
			parts[i].ask();
			fflush(stdout);
			_exit(0);
		}
		waitpid(pid, &st, 0);
		if (st)
			printf("ended with %d\n", st);
	}
	return 0;
}
