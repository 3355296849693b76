/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs with captures and graphs, on the simulated driver: graphs MODE.  What
 * is recorded of them is in graphs/MODE.txt, as graphs_dump tells it; what they
 * print is the same with and without the recorder.
 */
#include "../common/prog.h"

/* by these names the first variants */
#undef cuGraphAddDependencies
#undef cuGraphAddKernelNode
#undef cuGraphExecKernelNodeSetParams
#undef cuGraphKernelNodeSetParams
#undef cuStreamUpdateCaptureDependencies

#define N 64

static CUdeviceptr a, b;
static uint32_t *host, *pinned;
static unsigned runs;

static void named(const void *p, size_t len, const char *name)
{
	krtsan_name(p, len, name);
}

/* Tells the parts of a dump apart. */
static void part(void)
{
	krtsan_name(&runs, 0, "--");
}

static void count_run(void *data)
{
	(void)data;
	__atomic_fetch_add(&runs, 1, __ATOMIC_SEQ_CST);
}

static void start(void)
{
	prog_start();
	a = device_u32("a", N);
	b = device_u32("b", N);
	pinned = pinned_u32("pinned", N);
	host = malloc(4 * N);
	host_fill(host, 7, N);
	named(host, 4 * N, "host");
	named(&runs, sizeof runs, "runs");
}

static void result(const char *what)
{
	printf("%s: a %u b %u runs %u\n", what, get_u32(a, 0), get_u32(b, N - 1), runs);
	part();
}

/* ---- captures ---- */

static CUgraph capture_all(CUstream s, CUstream t, CUstreamCaptureMode mode)
{
	CUevent fork = event(), join = event(), outside = event();
	CUdeviceptr tmp;
	CUgraph g;

	CU(cuStreamBeginCapture_v2(s, mode));
	FILL(s, a, 3, N, 0);
	CU(cuEventRecord(fork, s));
	CU(cuStreamWaitEvent(t, fork, 0));
	CU(cuMemcpyHtoDAsync_v2(b, host, 4 * N, t));
	CU(cuMemsetD32Async(a, 5, N / 2, s));
	CU(cuEventRecord(join, t));
	CU(cuStreamWaitEvent(s, join, 0));
	CU(cuLaunchHostFunc(s, count_run, &runs));
	CU(cuMemAllocAsync(&tmp, 4096, s));
	COPY(s, tmp, b, N, 0);
	CU(cuMemFreeAsync(tmp, s));
	CU(cuEventRecordWithFlags(outside, s, CU_EVENT_RECORD_EXTERNAL));
	CU(cuMemsetD32Async(a, 5, 0, s)); /* nothing */
	krtsan_block_alloc(&runs, (void *)(uintptr_t)a, 256, s);
	CU(cuMemcpyDtoHAsync_v2(pinned, b, 4 * N, s));
	CU(cuStreamEndCapture(s, &g));
	CU(cuEventDestroy_v2(fork));
	CU(cuEventDestroy_v2(join));
	return g;
}

static int capture(void)
{
	CUstream s = stream_nb("s"), t = stream_nb("t");
	CUgraphExec x;
	CUgraph g;

	part();
	g = capture_all(s, t, CU_STREAM_CAPTURE_MODE_GLOBAL);
	CU(cuGraphInstantiateWithFlags(&x, g, 1));
	CU(cuGraphLaunch(x, s));
	CU(cuStreamSynchronize(s));
	result("captured");
	/* what breaks one */
	CU(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	FILL(s, a, 9, N, 0);
	printf("sync %d\n", cuStreamSynchronize(s));
	printf("launch %d\n", cuMemsetD32Async(a, 5, N, s));
	printf("end %d\n", cuStreamEndCapture(s, &g));
	printf("again %d\n", cuStreamEndCapture(s, &g));
	result("broken");
	/* no capture in progress: nothing is asked */
	FILL(s, a, 1, N, 0);
	CU(cuStreamSynchronize(s));
	CU(cuGraphExecDestroy(x));
	result("after");
	return 0;
}

static int to_graph(void)
{
	CUstream s = stream_nb("s");
	CUgraphNode first, after;
	CUgraphExec x;
	CUgraph g, child;

	part();
	CU(cuGraphCreate(&g, 0));
	CU(cuGraphAddEmptyNode(&first, g, NULL, 0));
	CU(cuStreamBeginCaptureToGraph(s, g, &first, NULL, 1, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	FILL(s, a, 3, N, 0);
	CU(cuStreamUpdateCaptureDependencies(s, &first, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES));
	FILL(s, b, 4, N, 0);
	CU(cuStreamEndCapture(s, &child));
	CU(cuGraphAddEmptyNode(&after, g, &first, 1));
	CU(cuGraphInstantiateWithFlags(&x, g, 0));
	CU(cuGraphLaunch(x, s));
	CU(cuStreamSynchronize(s));
	result("to graph");
	/* a launch while its stream captures: a child, or refused */
	CU(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	printf("launch captured %d\n", cuGraphLaunch(x, s));
	printf("end %d\n", cuStreamEndCapture(s, &g));
	result("launch captured");
	return 0;
}

/* Each mode while another thread captures in each. */
struct other {
	CUstreamCaptureMode mode;
	int go, result;
};

static void other_wait(struct other *o, int step)
{
	while (__atomic_load_n(&o->go, __ATOMIC_SEQ_CST) < step)
		usleep(100);
}

static void *other_thread(void *arg)
{
	struct other *o = arg;
	CUstream s;
	CUgraph g;

	CU(cuCtxSetCurrent(prog_context));
	s = stream_nb("other");
	CU(cuStreamBeginCapture_v2(s, o->mode));
	FILL(s, b, 2, N, 0);
	__atomic_store_n(&o->go, 1, __ATOMIC_SEQ_CST);
	other_wait(o, 2);
	FILL(s, b, 3, N, 0);
	o->result = cuStreamEndCapture(s, &g);
	return NULL;
}

static int modes(void)
{
	for (unsigned mine = 0; mine < 3; mine++) {
		for (unsigned theirs = 0; theirs < 3; theirs++) {
			struct other o = { .mode = (CUstreamCaptureMode)theirs };
			CUstream s = stream_nb("s");
			CUgraphNode node;
			CUgraph g, h;
			pthread_t t;

			CU(cuGraphCreate(&h, 0));
			part();
			MUST(!pthread_create(&t, NULL, other_thread, &o));
			other_wait(&o, 1);
			CU(cuStreamBeginCapture_v2(s, (CUstreamCaptureMode)mine));
			FILL(s, a, 1, N, 0);
			CU(cuMemcpyHtoDAsync_v2(b, host, 4 * N, s));
			CU(cuMemsetD32Async(a, 5, N, s));
			CU(cuLaunchHostFunc(s, count_run, NULL));
			CU(cuGraphAddEmptyNode(&node, h, NULL, 0));
			CU(cuStreamEndCapture(s, &g));
			__atomic_store_n(&o.go, 2, __ATOMIC_SEQ_CST);
			pthread_join(t, NULL);
			printf("%u beside %u: %d\n", mine, theirs, o.result);
			CU(cuStreamDestroy_v2(s));
		}
	}
	return 0;
}

/* ---- explicit graphs ---- */

static CUDA_KERNEL_NODE_PARAMS_v1 kernel_params(CUfunction f, void **params)
{
	return (CUDA_KERNEL_NODE_PARAMS_v1){
		.func = f, .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1,
		.blockDimX = 64, .blockDimY = 1, .blockDimZ = 1, .kernelParams = params,
	};
}

static CUDA_MEMCPY3D upload(const void *from, CUdeviceptr to)
{
	return (CUDA_MEMCPY3D){
		.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = from, .dstMemoryType = CU_MEMORYTYPE_DEVICE,
		.dstDevice = to, .WidthInBytes = 4 * N, .Height = 1, .Depth = 1,
	};
}

static CUDA_MEMSET_NODE_PARAMS set_params(CUdeviceptr to, unsigned value)
{
	return (CUDA_MEMSET_NODE_PARAMS){ .dst = to, .value = value, .elementSize = 4, .width = N, .height = 1 };
}

static int explicit_nodes(void)
{
	uint32_t v = 3, n = N;
	uint64_t cycles = 0;
	CUdeviceptr p = a;
	void *fill[] = { &p, &v, &n, &cycles };
	CUDA_KERNEL_NODE_PARAMS_v1 k = kernel_params(prog.fill, fill);
	CUDA_KERNEL_NODE_PARAMS_v2 k2 = { 0 };
	CUDA_MEMCPY3D m = upload(host, b);
	CUDA_MEMSET_NODE_PARAMS z = set_params(a, 4);
	CUDA_HOST_NODE_PARAMS h = { .fn = count_run, .userData = &runs };
	CUgraphNodeParams any = { .type = CU_GRAPH_NODE_TYPE_MEMSET };
	CUgraphNode node[12], edge_from, edge_to;
	CUgraph g, child, clone;
	CUstream s = stream_nb("s");
	CUevent e = event(), e2 = event();
	CUgraphExec x, y;

	memcpy(&k2, &k, sizeof k);
	part();
	CU(cuGraphCreate(&g, 0));
	CU(cuGraphAddKernelNode(&node[0], g, NULL, 0, &k));
	CU(cuGraphAddKernelNode_v2(&node[1], g, node, 1, &k2));
	CU(cuGraphAddMemcpyNode(&node[2], g, NULL, 0, &m, prog_context));
	CU(cuGraphAddMemsetNode(&node[3], g, &node[1], 1, &z, prog_context));
	CU(cuGraphAddHostNode(&node[4], g, &node[3], 1, &h));
	CU(cuGraphAddEmptyNode(&node[5], g, node, 5));
	CU(cuGraphAddEventRecordNode(&node[6], g, &node[5], 1, e));
	CU(cuGraphAddEventWaitNode(&node[7], g, &node[5], 1, e2));
	CU(cuGraphCreate(&child, 0));
	CU(cuGraphAddKernelNode(&node[8], child, NULL, 0, &k));
	CU(cuGraphAddMemsetNode(&node[9], child, &node[8], 1, &z, prog_context));
	CU(cuGraphAddChildGraphNode(&node[10], g, &node[5], 1, child));
	any.memset.dst = b;
	any.memset.value = 6;
	any.memset.elementSize = 4;
	any.memset.width = N;
	any.memset.height = 1;
	any.memset.ctx = prog_context;
	CU(cuGraphAddNode_v2(&node[11], g, &node[10], NULL, 1, &any));
	result("built");
	CU(cuGraphInstantiateWithFlags(&x, g, 0));
	CU(cuGraphLaunch(x, s));
	CU(cuStreamSynchronize(s));
	result("launched");
	/* the template */
	v = 8;
	CU(cuGraphKernelNodeSetParams(node[0], &k));
	CU(cuGraphKernelNodeSetParams_v2(node[1], &k2));
	m.dstDevice = a;
	CU(cuGraphMemcpyNodeSetParams(node[2], &m));
	z.value = 9;
	CU(cuGraphMemsetNodeSetParams(node[3], &z));
	CU(cuGraphHostNodeSetParams(node[4], &h));
	CU(cuGraphEventRecordNodeSetEvent(node[6], e2));
	CU(cuGraphEventWaitNodeSetEvent(node[7], e));
	any.memset.value = 10;
	CU(cuGraphNodeSetParams(node[11], &any));
	result("edited");
	/* the executable, node by node */
	p = b;
	CU(cuGraphExecKernelNodeSetParams(x, node[0], &k));
	CU(cuGraphExecKernelNodeSetParams_v2(x, node[1], &k2));
	m.dstDevice = b;
	CU(cuGraphExecMemcpyNodeSetParams(x, node[2], &m, prog_context));
	CU(cuGraphExecMemsetNodeSetParams(x, node[3], &z, prog_context));
	CU(cuGraphExecHostNodeSetParams(x, node[4], &h));
	CU(cuGraphExecEventRecordNodeSetEvent(x, node[6], e));
	CU(cuGraphExecEventWaitNodeSetEvent(x, node[7], e2));
	CU(cuGraphExecChildGraphNodeSetParams(x, node[10], child));
	any.memset.value = 11;
	CU(cuGraphExecNodeSetParams(x, node[11], &any));
	CU(cuGraphNodeSetEnabled(x, node[3], 0));
	CU(cuGraphNodeSetEnabled(x, node[3], 1));
	CU(cuGraphLaunch(x, s));
	CU(cuStreamSynchronize(s));
	result("updated");
	/* whole */
	{
		CUgraphExecUpdateResultInfo info;

		CU(cuGraphExecUpdate_v2(x, g, &info));
		result("update");
		printf("other shape %d\n", cuGraphExecUpdate_v2(x, child, &info));
		result("no update");
	}
	CU(cuGraphClone(&clone, g));
	CU(cuGraphInstantiateWithFlags(&y, clone, 0));
	CU(cuGraphLaunch(y, s));
	CU(cuStreamSynchronize(s));
	result("cloned");
	edge_from = node[2];
	edge_to = node[3];
	CU(cuGraphAddDependencies(g, &edge_from, &edge_to, 1));
	CU(cuGraphDestroyNode(node[11]));
	CU(cuGraphExecDestroy(x));
	CU(cuGraphInstantiateWithFlags(&x, g, 0));
	CU(cuGraphExecDestroy(x));
	CU(cuGraphExecDestroy(y));
	CU(cuGraphDestroy(clone));
	CU(cuGraphDestroy(child));
	CU(cuGraphDestroy(g));
	result("destroyed");
	return 0;
}

/* The rarer kinds and ways. */
static int more(void)
{
	struct { CUdeviceptr p; uint32_t v, n; uint64_t cycles; } pack = { a, 21, N, 0 };
	size_t size = sizeof pack;
	void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, &pack, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
			  CU_LAUNCH_PARAM_END };
	void *fill[] = { &pack.p, &pack.v, &pack.n, &pack.cycles };
	CUDA_KERNEL_NODE_PARAMS_v1 k = kernel_params(prog.fill, NULL);
	CUDA_MEM_ALLOC_NODE_PARAMS alloc = { .bytesize = 8192 };
	CUstreamBatchMemOpParams op = { .writeValue = { .operation = CU_STREAM_MEM_OP_WRITE_VALUE_32 } };
	CUDA_BATCH_MEM_OP_NODE_PARAMS ops = { .ctx = prog_context, .count = 1, .paramArray = &op };
	CUDA_GRAPH_INSTANTIATE_PARAMS how = { .flags = CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH };
	CUgraphEdgeData launch_order = { .from_port = 1, .type = 1 };
	CUgraphNodeParams any = { .type = CU_GRAPH_NODE_TYPE_KERNEL };
	CUlaunchAttribute coop = { .id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value.cooperative = 1 };
	CUlaunchConfig config = { 1, 1, 1, 64, 1, 1, 0, NULL, &coop, 1 };
	CUDA_MEMCPY2D rows = {
		.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = host, .srcPitch = 32, .srcXInBytes = 4,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = b, .dstPitch = 64, .WidthInBytes = 16, .Height = 4,
	};
	CUgraphNode node[6];
	CUgraphExec x;
	CUstream s;
	CUgraph g;

	part();
	CU(cuGraphCreate(&g, 0));
	k.extra = extra;
	CU(cuGraphAddKernelNode(&node[0], g, NULL, 0, &k));
	any.kernel.func = prog.fill;
	any.kernel.gridDimX = any.kernel.gridDimY = any.kernel.gridDimZ = 1;
	any.kernel.blockDimX = 64;
	any.kernel.blockDimY = any.kernel.blockDimZ = 1;
	any.kernel.kernelParams = fill;
	CU(cuGraphAddNode(&node[1], g, node, &launch_order, 1, &any));
	alloc.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
	alloc.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	CU(cuGraphAddMemAllocNode(&node[2], g, &node[1], 1, &alloc));
	CU(cuGraphAddMemFreeNode(&node[3], g, &node[2], 1, alloc.dptr));
	op.writeValue.address = a;
	op.writeValue.value = 77;
	CU(cuGraphAddBatchMemOpNode(&node[4], g, &node[3], 1, &ops));
	CU(cuGraphInstantiateWithParams(&x, g, &how));
	CU(cuGraphLaunch(x, NULL));
	result("rare");
	pack.v = 22;
	k.extra = NULL;
	k.kernelParams = fill;
	CU(cuGraphExecKernelNodeSetParams(x, node[0], &k));
	CU(cuGraphExecNodeSetParams(x, node[1], &any));
	op.writeValue.value = 78;
	CU(cuGraphExecBatchMemOpNodeSetParams(x, node[4], &ops));
	CU(cuGraphLaunch(x, NULL));
	result("updated");
	CU(cuGraphExecDestroy(x));
	CU(cuGraphDestroy(g));
	/* the thread's own default stream */
	CU(cuStreamBeginCapture_v2(CU_STREAM_PER_THREAD, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	FILL(CU_STREAM_PER_THREAD, a, 3, N, 0);
	config.hStream = CU_STREAM_PER_THREAD;
	CU(cuLaunchKernelEx(&config, prog.fill, fill, NULL));
	CU(cuMemcpy2DAsync_v2(&rows, CU_STREAM_PER_THREAD));
	CU(cuStreamEndCapture(CU_STREAM_PER_THREAD, &g));
	CU(cuGraphInstantiate_v2(&x, g, NULL, NULL, 0));
	CU(cuGraphLaunch(x, CU_STREAM_PER_THREAD));
	result("per thread");
	CU(cuGraphExecDestroy(x));
	CU(cuGraphDestroy(g));
	/* a stream that goes while it captures */
	s = stream_nb("s");
	CU(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	FILL(s, a, 4, N, 0);
	CU(cuStreamDestroy_v2(s));
	s = stream_nb("s");
	FILL(s, a, 4, N, 0);
	result("destroyed");
	return 0;
}

static int conditional(void)
{
	uint32_t v = 3, n = N;
	uint64_t cycles = 0;
	CUdeviceptr p = a;
	void *fill[] = { &p, &v, &n, &cycles };
	CUDA_KERNEL_NODE_PARAMS_v1 k = kernel_params(prog.fill, fill);
	CUgraphConditionalHandle c, c2;
	CUgraphNodeParams any = { .type = CU_GRAPH_NODE_TYPE_CONDITIONAL };
	CUgraphNode node, inner;
	CUgraph g, then, otherwise;
	CUgraphExec x;

	part();
	CU(cuGraphCreate(&g, 0));
	CU(cuGraphConditionalHandleCreate(&c, g, prog_context, 1, CU_GRAPH_COND_ASSIGN_DEFAULT));
	any.conditional.handle = c;
	any.conditional.type = CU_GRAPH_COND_TYPE_IF;
	any.conditional.size = 2;
	any.conditional.ctx = prog_context;
	CU(cuGraphAddNode_v2(&node, g, NULL, NULL, 0, &any));
	then = any.conditional.phGraph_out[0];
	otherwise = any.conditional.phGraph_out[1];
	CU(cuGraphAddKernelNode(&inner, then, NULL, 0, &k));
	CU(cuGraphConditionalHandleCreate(&c2, g, prog_context, 0, CU_GRAPH_COND_ASSIGN_DEFAULT));
	memset(&any, 0, sizeof any);
	any.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
	any.conditional.handle = c2;
	any.conditional.type = CU_GRAPH_COND_TYPE_WHILE;
	any.conditional.size = 1;
	any.conditional.ctx = prog_context;
	CU(cuGraphAddNode_v2(&inner, otherwise, NULL, NULL, 0, &any));
	p = b;
	CU(cuGraphAddKernelNode(&inner, any.conditional.phGraph_out[0], NULL, 0, &k));
	CU(cuGraphInstantiateWithFlags(&x, g, 0));
	CU(cuGraphLaunch(x, NULL));
	result("conditional");
	CU(cuGraphExecDestroy(x));
	CU(cuGraphDestroy(g));
	/* its handles come again */
	for (unsigned i = 0; i < 3; i++) {
		CU(cuGraphCreate(&g, 0));
		CU(cuGraphAddKernelNode(&inner, g, NULL, 0, &k));
		CU(cuGraphInstantiateWithFlags(&x, g, 0));
		CU(cuGraphExecDestroy(x));
		CU(cuGraphDestroy(g));
	}
	result("again");
	return 0;
}

/* ---- host memory ---- */

/* malloc's memory, and freed so that the compiler lets it be. */
static uint32_t *block(const char *name)
{
	uint32_t *p = malloc(4 * N);

	named(p, 4 * N, name);
	return p;
}

static void drop(void *p)
{
	void (*volatile f)(void *) = free;

	f(p);
}

static int heap(void)
{
	CUstream s = stream_nb("s");
	CUDA_HOST_NODE_PARAMS h = { .fn = count_run };
	CUDA_MEMCPY3D m;
	CUgraphNode node, fn;
	CUgraphExec x, y;
	uint32_t *p[8];
	CUgraph g;

	for (unsigned i = 0; i < 8; i++) {
		char name[8];

		snprintf(name, sizeof name, "p%u", i);
		p[i] = block(name);
	}
	part();
	CU(cuGraphCreate(&g, 0));
	m = upload(p[0], a);
	CU(cuGraphAddMemcpyNode(&node, g, NULL, 0, &m, prog_context));
	h.userData = p[1];
	CU(cuGraphAddHostNode(&fn, g, NULL, 0, &h));
	CU(cuCtxSynchronize());
	drop(p[0]); /* told, although nothing is in flight */
	drop(p[1]); /* told */
	m = upload(p[2], a);
	CU(cuGraphMemcpyNodeSetParams(node, &m));
	h.userData = p[3];
	CU(cuGraphHostNodeSetParams(fn, &h));
	drop(block("p0")); /* no longer held */
	CU(cuGraphInstantiateWithFlags(&x, g, 0));
	CU(cuGraphInstantiateWithFlags(&y, g, 0));
	CU(cuGraphLaunch(x, s));
	CU(cuStreamSynchronize(s));
	m = upload(p[4], a);
	CU(cuGraphExecMemcpyNodeSetParams(y, node, &m, prog_context));
	CU(cuGraphDestroy(g));
	CU(cuCtxSynchronize());
	drop(p[2]); /* told: x has it */
	drop(p[4]); /* told: y has it */
	CU(cuGraphExecDestroy(y));
	CU(cuGraphExecDestroy(x));
	CU(cuStreamSynchronize(s));
	drop(p[3]); /* held by nobody */
	drop(p[5]);
	/* captured */
	CU(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	CU(cuMemcpyHtoDAsync_v2(a, p[6], 4 * N, s));
	CU(cuStreamEndCapture(s, &g));
	CU(cuStreamSynchronize(s));
	drop(p[6]); /* told */
	CU(cuGraphDestroy(g));
	CU(cuStreamSynchronize(s));
	drop(p[7]);
	result("heap");
	return 0;
}

static __attribute__((noinline)) CUgraphExec from_stack(CUstream s)
{
	volatile uint32_t local[N];
	CUgraphExec x;
	CUgraph g;

	for (unsigned i = 0; i < N; i++)
		local[i] = 12;
	named((const void *)local, sizeof local, "local");
	CU(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	CU(cuMemcpyHtoDAsync_v2(a, (const void *)local, 4 * N, s));
	CU(cuStreamEndCapture(s, &g));
	CU(cuGraphInstantiateWithFlags(&x, g, 0));
	CU(cuGraphLaunch(x, s));
	CU(cuStreamSynchronize(s));
	return x;
}

static void *stack_thread(void *arg)
{
	CU(cuCtxSetCurrent(prog_context));
	from_stack(arg);
	return NULL;
}

static int stack(void)
{
	CUstream s = stream_nb("s");
	CUgraphExec x;
	pthread_t t;
	CUgraph g;

	part();
	CU(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	CU(cuMemcpyHtoDAsync_v2(a, host, 4 * N, s));
	CU(cuStreamEndCapture(s, &g));
	CU(cuGraphInstantiateWithFlags(&x, g, 0));
	CU(cuGraphLaunch(x, s)); /* no stack is named yet */
	CU(cuStreamSynchronize(s));
	result("heap");
	from_stack(s);
	result("stack");
	MUST(!pthread_create(&t, NULL, stack_thread, s));
	pthread_join(t, NULL);
	CU(cuGraphLaunch(x, s));
	CU(cuStreamSynchronize(s));
	result("thread");
	return 0;
}

/* Everything at once, from many threads. */
static void *busy_thread(void *arg)
{
	CUgraphNodeParams any = { .type = CU_GRAPH_NODE_TYPE_CONDITIONAL };
	CUgraphConditionalHandle c;
	CUgraphExecUpdateResultInfo info;
	CUstreamCaptureMode relaxed = CU_STREAM_CAPTURE_MODE_RELAXED;
	CUgraphNode node;
	CUstream s;

	(void)arg;
	CU(cuCtxSetCurrent(prog_context));
	/* others' captures in the global mode forbid much */
	CU(cuThreadExchangeStreamCaptureMode(&relaxed));
	s = stream_nb("busy");
	for (unsigned i = 0; i < 40; i++) {
		uint32_t *from = malloc(4 * N), *to = malloc(4 * N);
		CUDA_MEMCPY3D m = upload(to, b);
		CUgraphExec x;
		CUgraph g, h;

		host_fill(from, i, N);
		CU(cuStreamBeginCapture_v2(s, (CUstreamCaptureMode)(i % 3)));
		CU(cuMemcpyHtoDAsync_v2(a, from, 4 * N, s));
		FILL(s, a, i, N, 0);
		CU(cuStreamEndCapture(s, &g));
		CU(cuGraphInstantiate(&x, g, 0));
		CU(cuGraphLaunch(x, s));
		CU(cuGraphAddMemcpyNode(&node, g, NULL, 0, &m, prog_context));
		if (cuGraphExecUpdate(x, g, &info) == CUDA_SUCCESS)
			MUST(!"an update of another shape");
		CU(cuGraphDestroyNode(node));
		CU(cuGraphExecUpdate(x, g, &info));
		CU(cuGraphClone(&h, g));
		CU(cuStreamSynchronize(s));
		drop(i % 2 ? to : from);
		CU(cuGraphExecDestroy(x));
		CU(cuGraphDestroy(g));
		CU(cuGraphDestroy(h));
		drop(i % 2 ? from : to);
		CU(cuGraphCreate(&g, 0));
		CU(cuGraphConditionalHandleCreate(&c, g, prog_context, 0, CU_GRAPH_COND_ASSIGN_DEFAULT));
		any.conditional.handle = c;
		any.conditional.type = CU_GRAPH_COND_TYPE_IF;
		any.conditional.size = 1;
		any.conditional.ctx = prog_context;
		CU(cuGraphAddNode(&node, g, NULL, NULL, 0, &any));
		CU(cuGraphAddEmptyNode(&node, any.conditional.phGraph_out[0], NULL, 0));
		CU(cuGraphInstantiate(&x, g, 0));
		CU(cuGraphExecDestroy(x));
		CU(cuGraphDestroy(g));
	}
	return NULL;
}

static int threads(void)
{
	pthread_t t[8];

	for (unsigned i = 0; i < 8; i++)
		MUST(!pthread_create(&t[i], NULL, busy_thread, NULL));
	for (unsigned i = 0; i < 8; i++)
		pthread_join(t[i], NULL);
	return 0;
}

/* What the driver refuses it refuses with the recorder, too. */
static int fails(void)
{
	CUDA_KERNEL_NODE_PARAMS_v1 k = kernel_params(prog.fill, NULL);
	CUgraphNodeParams any = { .type = CU_GRAPH_NODE_TYPE_EMPTY };
	CUgraphNode node = NULL;
	CUgraph g, none = NULL;
	CUgraphExec x = NULL;

	part();
	CU(cuGraphCreate(&g, 0));
	printf("create %d\n", cuGraphCreate(NULL, 0));
	printf("empty %d\n", cuGraphAddEmptyNode(NULL, g, NULL, 0));
	printf("graph %d\n", cuGraphAddEmptyNode(&node, NULL, NULL, 0));
	printf("kernel %d\n", cuGraphAddKernelNode(&node, g, NULL, 0, NULL));
	printf("memcpy %d\n", cuGraphAddMemcpyNode(&node, g, NULL, 0, NULL, prog_context));
	printf("child %d\n", cuGraphAddChildGraphNode(&node, g, NULL, 0, NULL));
	printf("any %d\n", cuGraphAddNode_v2(&node, g, NULL, NULL, 0, NULL));
	any.type = (CUgraphNodeType)99;
	printf("type %d\n", cuGraphAddNode_v2(&node, g, NULL, NULL, 0, &any));
	printf("set %d\n", cuGraphKernelNodeSetParams(NULL, &k));
	printf("destroy %d\n", cuGraphDestroyNode(NULL));
	printf("instantiate %d\n", cuGraphInstantiateWithFlags(&x, NULL, 0));
	printf("instantiate %d\n", cuGraphInstantiateWithFlags(NULL, g, 0));
	printf("params %d\n", cuGraphInstantiateWithParams(&x, g, NULL));
	printf("exec %d\n", cuGraphExecKernelNodeSetParams(NULL, NULL, NULL));
	printf("update %d\n", cuGraphExecUpdate_v2(NULL, g, NULL));
	printf("enable %d\n", cuGraphNodeSetEnabled(NULL, NULL, 1));
	printf("launch %d\n", cuGraphLaunch(NULL, NULL));
	printf("clone %d\n", cuGraphClone(&none, NULL));
	printf("graph destroy %d\n", cuGraphDestroy(NULL));
	printf("exec destroy %d\n", cuGraphExecDestroy(NULL));
	printf("begin %d\n", cuStreamBeginCapture_v2(NULL, CU_STREAM_CAPTURE_MODE_GLOBAL));
	printf("end %d\n", cuStreamEndCapture(NULL, &g));
	result("fails");
	return 0;
}

/* Many nodes in few pages. */
static int big(void)
{
	CUstream s = stream_nb("s");
	CUgraphNode *node = malloc(10000 * sizeof *node);
	CUgraphExec x;
	CUgraph g;

	part();
	CU(cuGraphCreate(&g, 0));
	for (unsigned i = 0; i < 10000; i++)
		CU(cuGraphAddEmptyNode(&node[i], g, i ? &node[i - 1] : NULL, i ? 1 : 0));
	CU(cuGraphInstantiateWithFlags(&x, g, 0));
	CU(cuGraphLaunch(x, s));
	CU(cuStreamSynchronize(s));
	result("big");
	free(node);
	return 0;
}

static const struct {
	const char *name;
	int (*run)(void);
} all[] = {
	{ "capture", capture }, { "to_graph", to_graph }, { "modes", modes }, { "explicit", explicit_nodes },
	{ "conditional", conditional }, { "more", more }, { "heap", heap }, { "stack", stack }, { "fails", fails }, { "threads", threads }, { "big", big },
};

int main(int argc, char **argv)
{
	for (unsigned i = 0; argc > 1 && i < sizeof all / sizeof *all; i++) {
		if (strcmp(argv[1], all[i].name))
			continue;
		start();
		return all[i].run();
	}
	return 98;
}
