/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which of the recorder's queries does a capture allow?  Each is asked by a
 * thread that captures in each mode, or not at all, while another thread
 * captures in each mode; both captures must then end well.  Prints a row for
 * each query that was refused or that broke a capture, and what the driver tells
 * of captured nodes.  Exit code 1: a query that the recorder relies on is not
 * allowed somewhere.  Runs without krtsan, on a GPU or on the simulated driver.
 */
#include "../common/prog.h"

/* by these names the first variants */
#undef cuGraphGetEdges
#undef cuGraphKernelNodeGetParams
#undef cuStreamGetCaptureInfo

#define N 64

struct here {
	CUstream mine, theirs, idle;
	CUfunction function;
	CUgraph done, growing; /* a finished graph; the one being captured, or the finished one */
	CUgraph clone;
	CUgraphNode kernel, copy, set, fn, child, record, wait, alloc, release, memop, original, twin;
	CUevent event;
};

struct query {
	const char *name;
	int (*ask)(struct here *h);
	int except; /* an answer that is right, too */
};

#define QUERY(name, ...)                                                                   \
	static int ask_##name(struct here *h)                                              \
	{                                                                                  \
		(void)h;                                                                   \
		__VA_ARGS__                                                                \
	}

static CUstreamCaptureStatus status;
static cuuint64_t id;
static const CUgraphNode *deps;
static const CUgraphEdgeData *edge;
static CUgraph graph;
static size_t n, n2;

QUERY(info_own, return cuStreamGetCaptureInfo_v3(h->mine, &status, &id, &graph, &deps, &edge, &n);)
QUERY(info_theirs, return cuStreamGetCaptureInfo_v3(h->theirs, &status, &id, &graph, &deps, &edge, &n);)
QUERY(info_idle, return cuStreamGetCaptureInfo_v3(h->idle, &status, &id, &graph, &deps, &edge, &n);)
QUERY(info_v2, return cuStreamGetCaptureInfo_v2(h->mine, &status, &id, &graph, &deps, &n);)
QUERY(info_v1, return cuStreamGetCaptureInfo(h->mine, &status, &id);)
QUERY(info_ptsz, return cuStreamGetCaptureInfo_v3_ptsz(h->mine, &status, &id, &graph, &deps, &edge, &n);)
QUERY(info_per_thread,
      return cuStreamGetCaptureInfo_v3_ptsz(NULL, &status, &id, &graph, &deps, &edge, &n);)
QUERY(is_capturing, return cuStreamIsCapturing(h->mine, &status);)
QUERY(type, CUgraphNodeType t; return cuGraphNodeGetType(h->kernel, &t);)
QUERY(kernel_v2, CUDA_KERNEL_NODE_PARAMS p; return cuGraphKernelNodeGetParams_v2(h->kernel, &p);)
QUERY(kernel_v1, CUDA_KERNEL_NODE_PARAMS_v1 p; return cuGraphKernelNodeGetParams(h->kernel, &p);)
QUERY(attribute, CUkernelNodeAttrValue v;
      return cuGraphKernelNodeGetAttribute(h->kernel, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &v);)
QUERY(copy, CUDA_MEMCPY3D p; return cuGraphMemcpyNodeGetParams(h->copy, &p);)
QUERY(set, CUDA_MEMSET_NODE_PARAMS p; return cuGraphMemsetNodeGetParams(h->set, &p);)
QUERY(host, CUDA_HOST_NODE_PARAMS p; return cuGraphHostNodeGetParams(h->fn, &p);)
QUERY(child, return cuGraphChildGraphNodeGetGraph(h->child, &graph);)
QUERY(record, CUevent e; return cuGraphEventRecordNodeGetEvent(h->record, &e);)
QUERY(wait, CUevent e; return cuGraphEventWaitNodeGetEvent(h->wait, &e);)
QUERY(alloc, CUDA_MEM_ALLOC_NODE_PARAMS p; return h->alloc ? cuGraphMemAllocNodeGetParams(h->alloc, &p) : 0;)
QUERY(release, CUdeviceptr p; return h->release ? cuGraphMemFreeNodeGetParams(h->release, &p) : 0;)
QUERY(memop, CUDA_BATCH_MEM_OP_NODE_PARAMS p;
      return h->memop ? cuGraphBatchMemOpNodeGetParams(h->memop, &p) : 0;)
QUERY(nodes, return cuGraphGetNodes(h->done, NULL, &n);)
QUERY(nodes_list, CUgraphNode list[64]; n = 64; return cuGraphGetNodes(h->done, list, &n);)
QUERY(nodes_growing, return cuGraphGetNodes(h->growing, NULL, &n);)
QUERY(edges_v2, return cuGraphGetEdges_v2(h->done, NULL, NULL, NULL, &n2);)
QUERY(edges_v1, return cuGraphGetEdges(h->done, NULL, NULL, &n2);)
QUERY(edges_list, CUgraphNode f[64]; CUgraphNode t[64]; CUgraphEdgeData d[64]; n2 = 64;
      return cuGraphGetEdges_v2(h->done, f, t, d, &n2);)
QUERY(edges_growing, return cuGraphGetEdges_v2(h->growing, NULL, NULL, NULL, &n2);)
QUERY(twin, CUgraphNode t; return cuGraphNodeFindInClone(&t, h->original, h->clone);)
QUERY(func_param, size_t o; size_t s; return cuFuncGetParamInfo(h->function, 0, &o, &s);)
QUERY(kernel_param, size_t o; size_t s; return cuKernelGetParamInfo((CUkernel)h->function, 0, &o, &s);)
QUERY(func_name, const char *s; return cuFuncGetName(&s, h->function);)
QUERY(func_module, CUmodule m; return cuFuncGetModule(&m, h->function);)
QUERY(context, CUcontext c; return cuCtxGetCurrent(&c);)
QUERY(ctx_device, CUdevice d; return cuCtxGetDevice(&d);)
QUERY(ctx_flags, unsigned f; return cuCtxGetFlags(&f);)
QUERY(ctx_id, unsigned long long i; return cuCtxGetId(prog_context, &i);)
QUERY(stream_ctx, CUcontext c; return cuStreamGetCtx(h->mine, &c);)
QUERY(stream_priority, int p; return cuStreamGetPriority(h->mine, &p);)
QUERY(dev_attribute, int v; return cuDeviceGetAttribute(&v, (CUdevice_attribute)75, 0);)
QUERY(dev_name, char s[64]; return cuDeviceGetName(s, sizeof s, 0);)
QUERY(version, int v; return cuDriverGetVersion(&v);)

static const struct query queries[] = {
#define Q(name) { #name, ask_##name, 0 }
	Q(info_own), Q(info_theirs), Q(info_idle), Q(info_v2), Q(info_v1), Q(info_ptsz), Q(info_per_thread),
	Q(is_capturing), Q(type), Q(kernel_v2), Q(kernel_v1), Q(attribute), Q(copy), Q(set), Q(host), Q(child),
	Q(record), Q(wait), Q(alloc), Q(release), Q(memop), Q(nodes), Q(nodes_list), Q(nodes_growing),
	Q(edges_v2), Q(edges_v1), Q(edges_list), Q(edges_growing), Q(twin), Q(func_param),
	{ "kernel_param", ask_kernel_param, CUDA_ERROR_INVALID_HANDLE }, Q(func_name), Q(func_module), Q(context),
	Q(ctx_device), Q(ctx_flags), Q(ctx_id), Q(stream_ctx), Q(stream_priority),
	Q(dev_attribute), Q(dev_name), Q(version),
};
#define QUERIES (sizeof queries / sizeof *queries)

static CUdeviceptr a;
static uint32_t *pageable, *pinned;
static CUgraph child_graph;

static void nothing(void *data)
{
	(void)data;
}

static CUgraphNode latest(CUstream s)
{
	CU(cuStreamGetCaptureInfo_v3(s, &status, &id, &graph, &deps, &edge, &n));
	return n == 1 ? deps[0] : NULL;
}

/* A capture with a node of each kind that a capture can make. */
static void fill_capture(CUstream s, struct here *h)
{
	CUdeviceptr tmp = 0;

	FILL(s, a, 1, N, 0);
	h->kernel = latest(s);
	CU(cuMemcpyHtoDAsync_v2(a, pageable, 4 * N, s));
	h->copy = latest(s);
	CU(cuMemsetD32Async(a, 2, N, s));
	h->set = latest(s);
	CU(cuLaunchHostFunc(s, nothing, NULL));
	h->fn = latest(s);
	CU(cuEventRecordWithFlags(h->event, s, CU_EVENT_RECORD_EXTERNAL));
	h->record = latest(s);
	CU(cuStreamWaitEvent(s, h->event, CU_EVENT_WAIT_EXTERNAL));
	h->wait = latest(s);
	if (!cuMemAllocAsync(&tmp, 4096, s)) {
		h->alloc = latest(s);
		CU(cuMemFreeAsync(tmp, s));
		h->release = latest(s);
	}
	if (!cuStreamWriteValue32_v2(s, a, 1, 0))
		h->memop = latest(s);
}

static const char *const mode_name[] = { "global", "thread-local", "relaxed", "none" };

struct other {
	CUstreamCaptureMode mode;
	CUstream stream;
	int step, begin, end;
};

static void reach(struct other *o, int step)
{
	while (__atomic_load_n(&o->step, __ATOMIC_SEQ_CST) < step)
		usleep(50);
}

static void *capture_elsewhere(void *arg)
{
	struct other *o = arg;
	CUgraph g = NULL;

	CU(cuCtxSetCurrent(prog_context));
	o->begin = (int)cuStreamBeginCapture_v2(o->stream, o->mode);
	if (!o->begin)
		FILL(o->stream, a, 3, N, 0);
	__atomic_store_n(&o->step, 1, __ATOMIC_SEQ_CST);
	reach(o, 2);
	o->end = (int)cuStreamEndCapture(o->stream, &g);
	if (g)
		CU(cuGraphDestroy(g));
	return NULL;
}

/* One query under one pair of modes; false: not allowed. */
static bool try(const struct query *q, unsigned mine, unsigned theirs, struct here *h, int *answer, int *end,
		int *other_end)
{
	struct other o = { .mode = (CUstreamCaptureMode)theirs, .stream = h->theirs };
	struct here now = *h;
	pthread_t t;
	CUgraph g = NULL;

	*end = *other_end = 0;
	if (theirs < 3) {
		MUST(!pthread_create(&t, NULL, capture_elsewhere, &o));
		reach(&o, 1);
	}
	if (mine < 3) {
		CU(cuStreamBeginCapture_v2(h->mine, (CUstreamCaptureMode)mine));
		fill_capture(h->mine, &now);
		now.growing = graph;
	}
	*answer = q->ask(&now);
	if (mine < 3) {
		*end = (int)cuStreamEndCapture(h->mine, &g);
		if (g)
			CU(cuGraphDestroy(g));
	}
	if (theirs < 3) {
		__atomic_store_n(&o.step, 2, __ATOMIC_SEQ_CST);
		pthread_join(t, NULL);
		*other_end = o.end;
	}
	return (!*answer || *answer == q->except) && !*end && !*other_end;
}

static const char *memory(CUmemorytype t)
{
	return t == CU_MEMORYTYPE_HOST ? "host" : t == CU_MEMORYTYPE_DEVICE ? "device" :
	       t == CU_MEMORYTYPE_UNIFIED ? "unified" : t == CU_MEMORYTYPE_ARRAY ? "array" : "?";
}

static void tell_copy(const char *what, CUgraphNode node)
{
	CUDA_MEMCPY3D m = { 0 };
	int r = (int)cuGraphMemcpyNodeGetParams(node, &m);

	printf("  %s: %d, %s (%d) -> %s (%d), %zu x %zu x %zu, pitch %zu, height %zu\n", what, r,
	       memory(m.srcMemoryType), m.srcHost != NULL || m.srcDevice, memory(m.dstMemoryType),
	       m.dstHost != NULL || m.dstDevice, m.WidthInBytes, m.Height, m.Depth, m.srcPitch, m.srcHeight);
}

/* What the driver tells of captured nodes. */
static void tell(struct here *h)
{
	CUDA_KERNEL_NODE_PARAMS k = { 0 };
	CUgraphNode before, after;
	unsigned long long number;
	CUgraph g = NULL;
	unsigned flags;

	CU(cuStreamBeginCapture_v2(h->mine, CU_STREAM_CAPTURE_MODE_GLOBAL));
	FILL(h->mine, a, 1, N, 0);
	before = latest(h->mine);
	CU(cuGraphKernelNodeGetParams_v2(before, &k));
	printf("  kernel: function %d, same %d, kern %d, ctx %d, params %d, extra %d\n", k.func != NULL,
	       k.func == prog.fill, k.kern != NULL, k.ctx == prog_context ? 1 : k.ctx ? 2 : 0,
	       k.kernelParams != NULL, k.extra != NULL);
	CU(cuMemsetD32Async(a, 5, 0, h->mine));
	after = latest(h->mine);
	printf("  a set of nothing: %s\n", before == after ? "no node" : "a node");
	CU(cuMemcpyHtoDAsync_v2(a, pageable, 4 * N, h->mine));
	tell_copy("HtoD pageable", latest(h->mine));
	CU(cuMemcpyHtoDAsync_v2(a, pinned, 4 * N, h->mine));
	tell_copy("HtoD pinned", latest(h->mine));
	CU(cuMemcpyDtoHAsync_v2(pinned, a, 4 * N, h->mine));
	tell_copy("DtoH pinned", latest(h->mine));
	CU(cuMemcpyAsync((CUdeviceptr)(uintptr_t)pinned, a, 4 * N, h->mine));
	tell_copy("unified to pinned", latest(h->mine));
	if (!cuMemcpyAsync(a, (CUdeviceptr)(uintptr_t)pageable, 4 * N, h->mine))
		tell_copy("unified from pageable", latest(h->mine));
	CU(cuStreamEndCapture(h->mine, &g));
	CU(cuGraphDestroy(g));
	/* a launch of a graph, the bodies of a conditional node */
	{
		CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
		CUgraphNode node;
		CUgraphExec x;
		int r;

		CU(cuGraphInstantiate(&x, h->done, 0));
		CU(cuStreamBeginCapture_v2(h->mine, CU_STREAM_CAPTURE_MODE_RELAXED));
		r = (int)cuGraphLaunch(x, h->mine);
		node = r ? NULL : latest(h->mine);
		if (node)
			CU(cuGraphNodeGetType(node, &type));
		printf("  a captured graph launch: %d, node type %d", r, node ? (int)type : -1);
		printf(", end %d\n", (int)cuStreamEndCapture(h->mine, &g));
		CU(cuGraphExecDestroy(x));
	}
	{
		CUgraphNodeParams p = { .type = CU_GRAPH_NODE_TYPE_CONDITIONAL };
		CUgraphConditionalHandle handle;
		CUgraphNode node;
		CUgraph c = NULL;
		int r;

		CU(cuGraphCreate(&g, 0));
		CU(cuGraphConditionalHandleCreate(&handle, g, prog_context, 0, 0));
		p.conditional.handle = handle;
		p.conditional.size = 1;
		p.conditional.ctx = prog_context;
		r = (int)cuGraphAddNode_v2(&node, g, NULL, NULL, 0, &p);
		printf("  conditional node: %d, body told %d", r, !r && p.conditional.phGraph_out != NULL);
		printf(", clone of its graph %d\n", (int)cuGraphClone(&c, g));
	}
	/* broken */
	CU(cuStreamBeginCapture_v2(h->mine, CU_STREAM_CAPTURE_MODE_RELAXED));
	printf("  sync of a capturing stream: %d", (int)cuStreamSynchronize(h->mine));
	id = 0;
	graph = NULL;
	printf(", then info %d", (int)cuStreamGetCaptureInfo_v3(h->mine, &status, &id, &graph, &deps, &edge, &n));
	printf(" status %d id %d graph %d", status, id != 0, graph != NULL);
	printf(", end %d", (int)cuStreamEndCapture(h->mine, &g));
	printf(", again %d\n", (int)cuStreamEndCapture(h->mine, &g));
	/* why the recorder never asks a stream that captures for its flags or its id */
	CU(cuStreamBeginCapture_v2(h->mine, CU_STREAM_CAPTURE_MODE_RELAXED));
	printf("  flags of a capturing stream: %d", (int)cuStreamGetFlags(h->mine, &flags));
	printf(", end %d\n", (int)cuStreamEndCapture(h->mine, &g));
	CU(cuStreamBeginCapture_v2(h->mine, CU_STREAM_CAPTURE_MODE_RELAXED));
	printf("  id of a capturing stream: %d", (int)cuStreamGetId(h->mine, &number));
	printf(", end %d\n", (int)cuStreamEndCapture(h->mine, &g));
}

int main(void)
{
	struct here h = { 0 };
	unsigned refused = 0, asked = 0;
	CUgraph g;

	prog_start();
	a = device_u32("a", N);
	pageable = malloc(4 * N);
	host_fill(pageable, 1, N);
	pinned = pinned_u32("pinned", N);
	h.mine = stream_nb("mine");
	h.theirs = stream_nb("theirs");
	h.idle = stream_nb("idle");
	h.function = prog.fill;
	h.event = event();

	/* a finished graph with every kind, for a thread that captures nothing */
	CU(cuGraphCreate(&child_graph, 0));
	CU(cuGraphAddEmptyNode(&h.original, child_graph, NULL, 0));
	CU(cuGraphClone(&h.clone, child_graph));
	CU(cuStreamBeginCapture_v2(h.mine, CU_STREAM_CAPTURE_MODE_RELAXED));
	fill_capture(h.mine, &h);
	CU(cuStreamEndCapture(h.mine, &g));
	CU(cuGraphCreate(&h.done, 0));
	{
		CUgraphNode e[2];

		CU(cuGraphAddEmptyNode(&e[0], h.done, NULL, 0));
		CU(cuGraphAddEmptyNode(&e[1], h.done, e, 1));
		CU(cuGraphAddChildGraphNode(&h.child, h.done, NULL, 0, child_graph));
	}
	h.growing = h.done;

	for (unsigned q = 0; q < QUERIES; q++) {
		for (unsigned mine = 0; mine < 4; mine++) {
			for (unsigned theirs = 0; theirs < 4; theirs++) {
				int answer, end, other;

				asked++;
				if (try(&queries[q], mine, theirs, &h, &answer, &end, &other))
					continue;
				printf("refused: %-16s captures %-12s beside %-12s: answer %d, end %d, other end %d\n",
				       queries[q].name, mode_name[mine], mode_name[theirs], answer, end, other);
				refused++;
			}
		}
	}
	printf("%u of %u (%zu queries, 4 x 4 modes) allowed\n", asked - refused, asked, QUERIES);
	tell(&h);
	prog_end();
	return refused ? 1 : 0;
}
