/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs: construction by hand and by capture, queries, executables, memory, errors of capture. */
#define _GNU_SOURCE
#include "test.h"

#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>

static const char ptx[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
			  ".visible .entry addn(.param .u64 p, .param .u32 n, .param .u32 v)\n{\n"
			  ".reg .u64 %rd<4>; .reg .u32 %r<5>; .reg .pred %p1;\n"
			  "ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [n]; ld.param.u32 %r2, [v];\n"
			  "mov.u32 %r3, %tid.x;\n"
			  "setp.ge.u32 %p1, %r3, %r1; @%p1 bra E;\n"
			  "mul.wide.u32 %rd2, %r3, 4; add.u64 %rd3, %rd1, %rd2;\n"
			  "ld.global.u32 %r4, [%rd3]; add.u32 %r4, %r4, %r2;\n"
			  "st.global.u32 [%rd3], %r4;\nE: ret;\n}\n"
			  ".visible .entry mul3(.param .u64 p, .param .u32 n, .param .u32 v)\n{\n"
			  ".reg .u64 %rd<4>; .reg .u32 %r<5>; .reg .pred %p1;\n"
			  "ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [n];\n"
			  "mov.u32 %r3, %tid.x;\n"
			  "setp.ge.u32 %p1, %r3, %r1; @%p1 bra E;\n"
			  "mul.wide.u32 %rd2, %r3, 4; add.u64 %rd3, %rd1, %rd2;\n"
			  "ld.global.u32 %r4, [%rd3]; mul.lo.u32 %r4, %r4, 3;\n"
			  "st.global.u32 [%rd3], %r4;\nE: ret;\n}\n";

static CUmodule mod;

static CUfunction fun(const char *name)
{
	CUfunction f;

	if (!mod)
		CU(cuModuleLoadData(&mod, ptx));
	CU(cuModuleGetFunction(&f, mod, name));
	return f;
}

static uint32_t word(CUdeviceptr d)
{
	uint32_t v;

	CU(cuMemcpyDtoH(&v, d, 4));
	return v;
}

struct args {
	CUdeviceptr p;
	uint32_t n, v;
	void *list[3];
};

static CUDA_KERNEL_NODE_PARAMS kernel(struct args *a, const char *f, CUdeviceptr p, uint32_t v)
{
	a->p = p;
	a->n = 4;
	a->v = v;
	a->list[0] = &a->p;
	a->list[1] = &a->n;
	a->list[2] = &a->v;
	return (CUDA_KERNEL_NODE_PARAMS){.func = fun(f),
					 .gridDimX = 1,
					 .gridDimY = 1,
					 .gridDimZ = 1,
					 .blockDimX = 4,
					 .blockDimY = 1,
					 .blockDimZ = 1,
					 .kernelParams = a->list};
}

static CUDA_MEMCPY3D d2h(void *dst, CUdeviceptr src, size_t n)
{
	return (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_DEVICE,
			       .srcDevice = src,
			       .dstMemoryType = CU_MEMORYTYPE_HOST,
			       .dstHost = dst,
			       .WidthInBytes = n,
			       .Height = 1,
			       .Depth = 1};
}

static CUstream stream(void)
{
	CUstream s;

	CU(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	return s;
}

static CUgraphNode at(CUgraph g, size_t i)
{
	CUgraphNode v[64];
	size_t n = 64;

	CU(cuGraphGetNodes(g, v, &n));
	CHECK(i < n);
	return v[i];
}

static void bump(void *p)
{
	++*(int *)p;
}

/* Every kind of node that needs no memory of its own, in one chain; then each is asked. */
static void explicit_graph(void)
{
	CUcontext c = test_ctx(0);
	CUdeviceptr d, flag;
	CUgraph g, child, got;
	CUgraphNode x[8], y, in[8];
	CUgraphExec e;
	CUevent ev, ev2;
	CUstream s = stream();
	struct args a;
	uint32_t out[4] = {0};
	int count = 0;
	size_t n;

	CU(cuMemAlloc(&d, 16));
	CU(cuMemAlloc(&flag, 4));
	CU(cuMemsetD32(flag, 0, 1));
	CU(cuEventCreate(&ev, 0));
	CU(cuEventCreate(&ev2, 0));
	CU(cuGraphCreate(&g, 0));
	CU(cuGraphCreate(&child, 0));
	CUDA_KERNEL_NODE_PARAMS k = kernel(&a, "addn", d, 5), kq;
	CU(cuGraphAddKernelNode(&y, child, NULL, 0, &k));

	CUDA_MEMSET_NODE_PARAMS m = {
		.dst = d, .value = 7, .elementSize = 4, .width = 4, .height = 1},
				mq;
	CUDA_MEMCPY3D cp = d2h(out, d, 16), cq;
	CUDA_HOST_NODE_PARAMS h = {bump, &count}, hq;
	CUstreamBatchMemOpParams op = {.writeValue = {.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32,
						      .address = flag,
						      .value = 99}};
	CUDA_BATCH_MEM_OP_NODE_PARAMS b = {.ctx = c, .count = 1, .paramArray = &op}, bq;
	CU(cuGraphAddMemsetNode(&x[0], g, NULL, 0, &m, NULL));
	CU(cuGraphAddKernelNode(&x[1], g, &x[0], 1, &k));
	memset(&a, 0xff, sizeof a); /* copied at the call */
	CU(cuGraphAddChildGraphNode(&x[2], g, &x[1], 1, child));
	CU(cuGraphAddEmptyNode(&x[3], g, &x[2], 1));
	CU(cuGraphAddEventRecordNode(&x[4], g, &x[3], 1, ev));
	CU(cuGraphAddMemcpyNode(&x[5], g, &x[4], 1, &cp, c));
	CU(cuGraphAddHostNode(&x[6], g, &x[5], 1, &h));
	CU(cuGraphAddBatchMemOpNode(&x[7], g, &x[6], 1, &b));
	CU(cuGraphDestroy(child)); /* was copied */

	static const CUgraphNodeType want[] = {
		CU_GRAPH_NODE_TYPE_MEMSET,	CU_GRAPH_NODE_TYPE_KERNEL,
		CU_GRAPH_NODE_TYPE_GRAPH,	CU_GRAPH_NODE_TYPE_EMPTY,
		CU_GRAPH_NODE_TYPE_EVENT_RECORD, CU_GRAPH_NODE_TYPE_MEMCPY,
		CU_GRAPH_NODE_TYPE_HOST,	CU_GRAPH_NODE_TYPE_BATCH_MEM_OP};
	n = 8;
	CU(cuGraphGetNodes(g, in, &n));
	CHECK(n == 8 && !memcmp(in, x, sizeof in));
	for (int i = 0; i < 8; i++) {
		CUgraphNodeType t;

		CU(cuGraphNodeGetType(x[i], &t));
		CHECK(t == want[i]);
	}
	n = 3;
	CU(cuGraphGetNodes(g, in, &n));
	CHECK(n == 3 && in[2] == x[2]);
	n = 4;
	CU(cuGraphGetRootNodes(g, in, &n));
	CHECK(n == 1 && in[0] == x[0] && !in[1]);
	CUgraphNode from[8], to[8];
	CUgraphEdgeData data[8];
	n = 8;
	CU(cuGraphGetEdges(g, from, to, data, &n));
	CHECK(n == 7 && from[6] == x[6] && to[6] == x[7] && !data[6].from_port);
	n = 8;
	CU(cuGraphNodeGetDependencies(x[3], in, NULL, &n));
	CHECK(n == 1 && in[0] == x[2]);
	n = 8;
	CU(cuGraphNodeGetDependentNodes(x[3], in, NULL, &n));
	CHECK(n == 1 && in[0] == x[4]);

	CU(cuGraphKernelNodeGetParams(x[1], &kq));
	CHECK(kq.func == fun("addn") && kq.blockDimX == 4 && kq.ctx == c && !kq.extra);
	CHECK(*(CUdeviceptr *)kq.kernelParams[0] == d && *(uint32_t *)kq.kernelParams[2] == 5);
	CU(cuGraphMemcpyNodeGetParams(x[5], &cq));
	CHECK(!memcmp(&cq, &cp, sizeof cq));
	CU(cuGraphMemsetNodeGetParams(x[0], &mq));
	CHECK(mq.dst == d && mq.value == 7 && mq.width == 4 && mq.elementSize == 4);
	CU(cuGraphHostNodeGetParams(x[6], &hq));
	CHECK(hq.fn == bump && hq.userData == &count);
	CU(cuGraphBatchMemOpNodeGetParams(x[7], &bq));
	CHECK(bq.count == 1 && bq.paramArray[0].writeValue.value == 99);
	CU(cuGraphEventRecordNodeGetEvent(x[4], &ev2));
	CHECK(ev2 == ev);
	CU(cuGraphChildGraphNodeGetGraph(x[2], &got));
	n = 8;
	CU(cuGraphGetNodes(got, in, &n));
	CHECK(n == 1);
	CU(cuGraphKernelNodeGetParams(in[0], &kq));
	CHECK(*(uint32_t *)kq.kernelParams[2] == 5);
	FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphDestroy(got));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphMemsetNodeGetParams(x[1], &mq));

	CU(cuGraphInstantiate(&e, g, 0));
	CU(cuGraphLaunch(e, s));
	CU(cuEventSynchronize(ev));
	CU(cuStreamSynchronize(s));
	CHECK(out[0] == 17 && out[3] == 17 && count == 1 && word(flag) == 99);
	CU(cuGraphExecDestroy(e));
	/* The template changes: what is made from it afterwards does. */
	m.value = 20;
	CU(cuGraphMemsetNodeSetParams(x[0], &m));
	k = kernel(&a, "mul3", d, 0);
	CU(cuGraphKernelNodeSetParams(x[1], &k));
	CU(cuGraphKernelNodeSetParams(in[0], &k));
	CU(cuGraphInstantiate(&e, g, 0));
	CU(cuGraphDestroy(g));
	CU(cuGraphLaunch(e, s));
	CU(cuStreamSynchronize(s));
	CHECK(out[0] == 180 && count == 2);
	FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphKernelNodeGetParams(x[1], &kq));
}

static void generic_nodes(void)
{
	CUcontext c = test_ctx(0);
	CUgraph g;
	CUgraphNode x[5], bad;
	CUgraphExec e;
	CUdeviceptr d;
	CUstream s = stream();
	struct args a;
	uint32_t out[4] = {0};
	int count = 0;

	CU(cuMemAlloc(&d, 16));
	CU(cuGraphCreate(&g, 0));
	CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_MEMSET};
	p.memset = (CUDA_MEMSET_NODE_PARAMS_v2){
		.dst = d, .value = 1, .elementSize = 4, .width = 4, .height = 1, .ctx = c};
	CU(cuGraphAddNode(&x[0], g, NULL, NULL, 0, &p));
	CUDA_KERNEL_NODE_PARAMS k = kernel(&a, "addn", d, 5);
	p = (CUgraphNodeParams){.type = CU_GRAPH_NODE_TYPE_KERNEL};
	memcpy(&p.kernel, &k, sizeof k);
	CUgraphEdgeData e0 = {0};
	CU(cuGraphAddNode(&x[1], g, &x[0], &e0, 1, &p));
	/* Programmatic edges: from kernels, to kernels. */
	CUgraphEdgeData pe = {.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC,
			      .type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC},
			q;
	FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphAddNode(&bad, g, &x[0], &pe, 1, &p));
	CU(cuGraphAddNode(&x[2], g, &x[1], &pe, 1, &p));
	p = (CUgraphNodeParams){.type = CU_GRAPH_NODE_TYPE_MEMCPY};
	p.memcpy.copyParams = d2h(out, d, 16);
	FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphAddNode(&bad, g, &x[1], &pe, 1, &p));
	CU(cuGraphAddNode(&x[3], g, &x[2], NULL, 1, &p));
	p = (CUgraphNodeParams){.type = CU_GRAPH_NODE_TYPE_HOST};
	p.host = (CUDA_HOST_NODE_PARAMS_v2){bump, &count};
	CU(cuGraphAddNode(&x[4], g, &x[3], NULL, 1, &p));
	size_t n = 1;
	CUgraphNode from, to;
	CU(cuGraphNodeGetDependencies(x[2], &from, &q, &n));
	CHECK(n == 1 && from == x[1] && !memcmp(&q, &pe, sizeof q));
	n = 1;
	FAILS(CUDA_ERROR_LOSSY_QUERY, cuGraphNodeGetDependencies(x[2], &from, NULL, &n));
	n = 1;
	CU(cuGraphNodeGetDependentNodes(x[1], &to, &q, &n));
	CHECK(n == 1 && to == x[2] && q.type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC);
	CU(cuGraphInstantiate(&e, g, 0));
	CU(cuGraphLaunch(e, s));
	CU(cuStreamSynchronize(s));
	CHECK(out[0] == 11 && count == 1);
	/* Wrong type, unknown type, dependencies of another graph, twice the same. */
	FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphNodeSetParams(x[0], &p));
	CUgraph g2;
	CUgraphNode twice[2] = {x[0], x[0]};
	CU(cuGraphCreate(&g2, 0));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphAddEmptyNode(&bad, g2, &x[0], 1));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphAddEmptyNode(&bad, g, twice, 2));
	p = (CUgraphNodeParams){.type = (CUgraphNodeType)77};
	FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphAddNode(&bad, g, NULL, NULL, 0, &p));
	p = (CUgraphNodeParams){.type = CU_GRAPH_NODE_TYPE_MEMSET};
	p.memset = (CUDA_MEMSET_NODE_PARAMS_v2){
		.dst = d, .value = 2, .elementSize = 4, .width = 4, .height = 1, .ctx = c};
	CU(cuGraphNodeSetParams(x[0], &p));
	CU(cuGraphExecDestroy(e));
	CU(cuGraphInstantiate(&e, g, 0));
	CU(cuGraphLaunch(e, s));
	CU(cuStreamSynchronize(s));
	CHECK(out[0] == 12);
}

static void edges_and_clones(void)
{
	test_ctx(0);
	CUgraph g, c, inner;
	CUgraphNode x[4], y[4], sub, child;
	CUgraphExec e;
	size_t n;

	CU(cuGraphCreate(&g, 0));
	for (int i = 0; i < 4; i++)
		CU(cuGraphAddEmptyNode(&x[i], g, NULL, 0));
	CUgraphNode from[] = {x[0], x[1], x[2]}, to[] = {x[1], x[2], x[3]};
	CU(cuGraphAddDependencies(g, from, to, NULL, 3));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphAddDependencies(g, from, to, NULL, 1)); /* is there */
	FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphAddDependencies(g, &x[0], &x[0], NULL, 1));
	CU(cuGraphRemoveDependencies(g, &x[1], &x[2], NULL, 1));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphRemoveDependencies(g, &x[1], &x[2], NULL, 1));
	n = 0;
	CU(cuGraphGetEdges(g, NULL, NULL, NULL, &n));
	CHECK(n == 2);
	/* A circle is found at instantiation. */
	CU(cuGraphAddDependencies(g, &x[1], &x[2], NULL, 1));
	CU(cuGraphAddDependencies(g, &x[3], &x[0], NULL, 1));
	CUDA_GRAPH_INSTANTIATE_PARAMS ip = {0};
	FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphInstantiateWithParams(&e, g, &ip));
	CHECK(ip.result_out == CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE && ip.hErrNode_out);
	CU(cuGraphRemoveDependencies(g, &x[3], &x[0], NULL, 1));
	CU(cuGraphInstantiateWithParams(&e, g, &ip));
	CHECK(ip.result_out == CUDA_GRAPH_INSTANTIATE_SUCCESS && !ip.hErrNode_out);

	CU(cuGraphAddChildGraphNode(&child, g, NULL, 0, g)); /* of itself as it is */
	CU(cuGraphChildGraphNodeGetGraph(child, &inner));
	sub = at(inner, 2);
	CU(cuGraphClone(&c, g));
	for (int i = 0; i < 4; i++)
		CU(cuGraphNodeFindInClone(&y[i], x[i], c));
	CHECK(y[0] != x[0]);
	n = 1;
	CU(cuGraphNodeGetDependencies(y[3], from, NULL, &n));
	CHECK(n == 1 && from[0] == y[2]);
	CU(cuGraphNodeFindInClone(&y[0], sub, c));
	CHECK(y[0] != sub);
	char path[] = "/tmp/graph-XXXXXX", text[4096] = "";
	int fd = mkstemp(path);
	CU(cuGraphDebugDotPrint(c, path, 0));
	CHECK(read(fd, text, sizeof text - 1) > 0 && !strncmp(text, "digraph {", 9));
	close(fd);
	unlink(path);
	CU(cuGraphDestroyNode(x[1]));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphDestroyNode(x[1]));
	CU(cuGraphGetNodes(g, NULL, &n));
	CHECK(n == 4);
	CU(cuGraphGetEdges(g, NULL, NULL, NULL, &n));
	CHECK(n == 1);
	n = 1;
	CU(cuGraphNodeGetDependencies(x[2], NULL, NULL, &n));
	CHECK(n == 0);
	CU(cuGraphGetNodes(c, NULL, &n));
	CHECK(n == 5);
	FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphNodeFindInClone(&y[0], y[1], c));
}

/* Captured nodes tell their parameters as nodes made by hand do. */
static void captured_params(void)
{
	CUcontext c = test_ctx(0);
	CUdeviceptr d;
	CUstream s = stream(), t = stream();
	CUgraph g, gc;
	CUevent e, f, x1;
	CUstreamCaptureStatus st;
	cuuint64_t id;
	const CUgraphNode *deps;
	const CUgraphEdgeData *ed;
	size_t n;
	struct args a;
	uint32_t host[8], *pin;
	int count = 0;

	CU(cuMemAlloc(&d, 64));
	CU(cuMemHostAlloc((void **)&pin, 16, 0));
	CU(cuEventCreate(&e, 0));
	CU(cuEventCreate(&f, 0));
	CU(cuEventCreate(&x1, 0));
	CUDA_KERNEL_NODE_PARAMS k = kernel(&a, "addn", d, 5), kq;
	struct {
		CUdeviceptr p;
		uint32_t n, v;
	} buf = {d, 4, 9};
	size_t size = sizeof buf;
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &buf, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
			 CU_LAUNCH_PARAM_END};
	CU(cuStreamGetCaptureInfo(s, &st, &id, &gc, &deps, &ed, &n));
	CHECK(st == CU_STREAM_CAPTURE_STATUS_NONE && !gc && !n);
	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	CU(cuMemcpyHtoDAsync(d, pin, 16, s));
	CU(cuLaunchKernel(k.func, 1, 1, 1, 4, 1, 1, 0, s, a.list, NULL));
	CU(cuLaunchKernel(k.func, 1, 1, 1, 4, 1, 1, 0, s, NULL, extra));
	CU(cuEventRecord(e, s));
	CU(cuStreamWaitEvent(t, e, 0));
	CU(cuMemsetD32Async(d + 32, 3, 4, t));
	CU(cuMemcpyDtoHAsync(host, d, 32, s));
	CU(cuStreamGetCaptureInfo(s, &st, &id, &gc, &deps, &ed, &n));
	CHECK(st == CU_STREAM_CAPTURE_STATUS_ACTIVE && id && n == 1 && deps[0] == at(gc, 4));
	CUgraph gt;
	cuuint64_t idt;
	CU(cuStreamGetCaptureInfo(t, &st, &idt, &gt, &deps, &ed, &n));
	CHECK(gt == gc && idt == id && n == 1 && deps[0] == at(gc, 3));
	CU(cuLaunchHostFunc(t, bump, &count));
	CU(cuEventRecord(f, t));
	CU(cuStreamWaitEvent(s, f, 0));
	CU(cuEventRecordWithFlags(x1, s, CU_EVENT_RECORD_EXTERNAL));
	CUDA_MEMCPY2D c2 = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
			    .srcDevice = d,
			    .srcPitch = 16,
			    .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			    .dstDevice = d + 32,
			    .dstPitch = 8,
			    .WidthInBytes = 8,
			    .Height = 2};
	CU(cuMemcpy2DAsync(&c2, s));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphDestroy(gc));
	CUgraphExec no;
	FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphInstantiate(&no, gc, 0));
	CU(cuStreamEndCapture(s, &g));
	CHECK(g == gc);
	CU(cuGraphGetNodes(g, NULL, &n));
	CHECK(n == 8);

	CUDA_MEMCPY3D q;
	CU(cuGraphMemcpyNodeGetParams(at(g, 0), &q));
	CHECK(q.srcMemoryType == CU_MEMORYTYPE_HOST && q.srcHost == pin && q.dstDevice == d &&
	      q.WidthInBytes == 16 && q.Height == 1);
	CU(cuGraphKernelNodeGetParams(at(g, 1), &kq));
	CHECK(*(CUdeviceptr *)kq.kernelParams[0] == d && *(uint32_t *)kq.kernelParams[2] == 5);
	CHECK(kq.ctx == c && kq.func == k.func);
	CU(cuGraphKernelNodeGetParams(at(g, 2), &kq));
	CHECK(!kq.kernelParams && kq.extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER &&
	      !memcmp(kq.extra[1], &buf, sizeof buf));
	CUDA_MEMSET_NODE_PARAMS m;
	CU(cuGraphMemsetNodeGetParams(at(g, 3), &m));
	CHECK(m.dst == d + 32 && m.value == 3 && m.elementSize == 4 && m.width == 4);
	CUDA_HOST_NODE_PARAMS h;
	CU(cuGraphHostNodeGetParams(at(g, 5), &h));
	CHECK(h.fn == bump && h.userData == &count);
	CUevent got;
	CU(cuGraphEventRecordNodeGetEvent(at(g, 6), &got));
	CHECK(got == x1);
	n = 0;
	CU(cuGraphNodeGetDependencies(at(g, 6), NULL, NULL, &n));
	CHECK(n == 2);
	CU(cuGraphMemcpyNodeGetParams(at(g, 7), &q));
	CHECK(q.srcPitch == 16 && q.dstPitch == 8 && q.Height == 2 && q.dstDevice == d + 32);
}

/* A kernel by its handle of the library; attributes; programmatic edges of a capture. */
static void kernel_forms(void)
{
	CUcontext c = test_ctx(0);
	CUlibrary lib;
	CUkernel k;
	CUgraph g;
	CUgraphNode x, y;
	CUstream s = stream(), t = stream();
	CUdeviceptr d;
	CUevent e;
	struct args a;
	CUkernelNodeAttrValue v = {0}, w;

	CU(cuMemAlloc(&d, 16));
	CU(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
	CU(cuLibraryLoadData(&lib, ptx, NULL, NULL, 0, NULL, NULL, 0));
	CU(cuLibraryGetKernel(&k, lib, "addn"));
	CUDA_KERNEL_NODE_PARAMS p = kernel(&a, "addn", d, 5), q;
	p.func = NULL;
	p.kern = k;
	p.ctx = c;
	CU(cuGraphCreate(&g, 0));
	CU(cuGraphAddKernelNode(&x, g, NULL, 0, &p));
	CU(cuGraphKernelNodeGetParams(x, &q));
	CHECK(q.func && (void *)q.func != (void *)k && q.kern == k && q.ctx == c && *(uint32_t *)q.kernelParams[2] == 5);
	CU(cuGraphKernelNodeSetParams(x, &q)); /* its own */
	CU(cuGraphKernelNodeGetParams(x, &q));
	CHECK(q.kern == k);
	p.func = (CUfunction)k;
	p.kern = NULL;
	FAILS(CUDA_ERROR_INVALID_HANDLE, cuGraphAddKernelNode(&y, g, NULL, 0, &p));
	v.priority = -2;
	CU(cuGraphKernelNodeSetAttribute(x, CU_LAUNCH_ATTRIBUTE_PRIORITY, &v));
	v = (CUkernelNodeAttrValue){.cooperative = 1};
	CU(cuGraphKernelNodeSetAttribute(x, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &v));
	p.func = fun("mul3");
	p.kern = NULL;
	CU(cuGraphAddKernelNode(&y, g, &x, 1, &p));
	CU(cuGraphKernelNodeCopyAttributes(y, x));
	CU(cuGraphKernelNodeGetAttribute(y, CU_LAUNCH_ATTRIBUTE_PRIORITY, &w));
	CHECK(w.priority == -2);
	CU(cuGraphKernelNodeGetAttribute(y, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &w));
	CHECK(w.cooperative == 1);

	CUlaunchAttribute at0[2] = {
		{.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
		 .value = {.programmaticStreamSerializationAllowed = 1}},
		{.id = CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT,
		 .value = {.launchCompletionEvent = {.event = e}}}};
	CUlaunchConfig cfg = {1, 1, 1, 4, 1, 1, 0, s, at0, 2};
	const CUgraphNode *deps;
	const CUgraphEdgeData *ed;
	CUstreamCaptureStatus st;
	CUgraphEdgeData data[8];
	CUgraphNode from[8], to[8];
	size_t n;

	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	CU(cuLaunchKernel((CUfunction)k, 1, 1, 1, 4, 1, 1, 0, s, a.list, NULL));
	CU(cuLaunchKernelEx(&cfg, fun("addn"), a.list, NULL));
	CU(cuStreamWaitEvent(t, e, 0));
	CU(cuStreamGetCaptureInfo(t, &st, NULL, NULL, &deps, &ed, &n));
	CHECK(n == 1 && ed[0].from_port == CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER);
	FAILS(CUDA_ERROR_LOSSY_QUERY, cuStreamGetCaptureInfo(t, &st, NULL, NULL, &deps, NULL, &n));
	CU(cuMemsetD32Async(d + 12, 1, 1, t));
	CU(cuEventRecord(e, t));
	CU(cuStreamWaitEvent(s, e, 0));
	CU(cuStreamEndCapture(s, &g));
	n = 8;
	CU(cuGraphGetEdges(g, from, to, data, &n));
	CHECK(n == 2 && data[0].type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC &&
	      data[0].from_port == CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC);
	CHECK(data[1].from_port == CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER);
	CU(cuGraphKernelNodeGetParams(at(g, 0), &q));
	CHECK(q.func && q.kern == k);
	CU(cuGraphKernelNodeGetAttribute(
		at(g, 1), CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, &w));
	CHECK(w.programmaticStreamSerializationAllowed == 1);
	CUgraphExec x1;
	CU(cuGraphInstantiate(&x1, g, 0));
	CU(cuGraphLaunch(x1, s));
	CU(cuStreamSynchronize(s));
}

static void capture_to_graph(void)
{
	test_ctx(0);
	CUstream s = stream();
	CUgraph g, got;
	CUgraphNode x, y, in[4];
	CUdeviceptr d;
	CUstreamCaptureStatus st;
	const CUgraphNode *deps;
	const CUgraphEdgeData *ed;
	size_t n;

	CU(cuMemAlloc(&d, 16));
	CU(cuGraphCreate(&g, 0));
	CU(cuGraphAddEmptyNode(&x, g, NULL, 0));
	CU(cuStreamBeginCaptureToGraph(s, g, &x, NULL, 1, CU_STREAM_CAPTURE_MODE_GLOBAL));
	CU(cuMemsetD32Async(d, 1, 4, s));
	/* Nodes by hand into a capture, and what comes next after them. */
	CU(cuStreamGetCaptureInfo(s, &st, NULL, &got, &deps, &ed, &n));
	CHECK(got == g && n == 1);
	CU(cuGraphAddEmptyNode(&y, g, deps, n));
	CU(cuStreamUpdateCaptureDependencies(s, &y, NULL, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES));
	CU(cuStreamUpdateCaptureDependencies(s, &x, NULL, 1, CU_STREAM_ADD_CAPTURE_DEPENDENCIES));
	CU(cuStreamUpdateCaptureDependencies(s, &x, NULL, 1, CU_STREAM_ADD_CAPTURE_DEPENDENCIES));
	CU(cuMemsetD32Async(d, 2, 4, s));
	CU(cuStreamEndCapture(s, &got));
	CHECK(got == g);
	n = 4;
	CU(cuGraphNodeGetDependencies(at(g, 3), in, NULL, &n));
	CHECK(n == 2 && in[0] == y && in[1] == x);
	FAILS(CUDA_ERROR_ILLEGAL_STATE, cuStreamUpdateCaptureDependencies(s, &x, NULL, 1, 0));
	/* One that fails leaves the program its graph. */
	CU(cuStreamBeginCaptureToGraph(s, g, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_RELAXED));
	FAILS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamSynchronize(s));
	FAILS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(s, &got));
	CHECK(!got);
	CU(cuGraphDestroy(g));
}

/* Changes of an executable: later launches only, and the graph is left alone. */
static void exec_changes(void)
{
	CUcontext c = test_ctx(0);
	CUgraph g, child, g2;
	CUgraphNode set, add, sub, in, cp, host;
	CUgraphExec e;
	CUdeviceptr d, o;
	CUstream s = stream(), t = stream();
	struct args a;
	uint32_t out[4] = {0}, out2[4] = {0};
	int count = 0, other = 0;
	unsigned on;
	cuuint64_t flags;

	CU(cuMemAlloc(&d, 16));
	CU(cuMemAlloc(&o, 16));
	CU(cuMemsetD32(o, 100, 4));
	CU(cuGraphCreate(&g, 0));
	CU(cuGraphCreate(&child, 0));
	CUDA_MEMSET_NODE_PARAMS m = {
		.dst = d, .value = 1, .elementSize = 4, .width = 4, .height = 1};
	CUDA_KERNEL_NODE_PARAMS k = kernel(&a, "addn", d, 10), kq;
	CUDA_MEMCPY3D c3 = d2h(out, d, 16);
	CUDA_HOST_NODE_PARAMS h = {bump, &count};
	CU(cuGraphAddKernelNode(&in, child, NULL, 0, &k));
	CU(cuGraphAddMemsetNode(&set, g, NULL, 0, &m, c));
	CU(cuGraphAddKernelNode(&add, g, &set, 1, &k));
	CU(cuGraphAddChildGraphNode(&sub, g, &add, 1, child));
	CU(cuGraphAddMemcpyNode(&cp, g, &sub, 1, &c3, c));
	CU(cuGraphAddHostNode(&host, g, &cp, 1, &h));
	CUDA_GRAPH_INSTANTIATE_PARAMS ip = {.flags = CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |
						     CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY,
					    .hUploadStream = s};
	CU(cuGraphInstantiateWithParams(&e, g, &ip));
	CU(cuGraphExecGetFlags(e, &flags));
	CHECK(flags == ip.flags);
	FAILS(CUDA_ERROR_INVALID_VALUE, /* it has a host node */
	      cuGraphInstantiate(&e, g, CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH));
	FAILS(CUDA_ERROR_NOT_SUPPORTED,
	      cuGraphInstantiate(&e, child, CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphInstantiate(&e, g, 64));
	CU(cuGraphUpload(e, t));
	CU(cuCtxSynchronize());

	/* Queued with the old parameters, then changed, then queued again. */
	CU(cuGraphLaunch(e, s));
	m.value = 2;
	CU(cuGraphExecMemsetNodeSetParams(e, set, &m, c));
	k = kernel(&a, "addn", d, 20);
	CU(cuGraphExecKernelNodeSetParams(e, add, &k));
	c3.dstHost = out2;
	CU(cuGraphExecMemcpyNodeSetParams(e, cp, &c3, c));
	h.userData = &other;
	CU(cuGraphExecHostNodeSetParams(e, host, &h));
	CU(cuGraphLaunch(e, t));
	CU(cuCtxSynchronize());
	CHECK(out[0] == 21 && out2[0] == 32 && count == 1 && other == 1);
	CU(cuGraphKernelNodeGetParams(add, &kq));
	CHECK(*(uint32_t *)kq.kernelParams[2] == 10);

	/* A node of the embedded graph, and the embedded graph as a whole. */
	CUgraph inner;
	CU(cuGraphChildGraphNodeGetGraph(sub, &inner));
	k = kernel(&a, "mul3", d, 0);
	CU(cuGraphExecKernelNodeSetParams(e, at(inner, 0), &k));
	CU(cuGraphLaunch(e, s));
	CU(cuStreamSynchronize(s));
	CHECK(out2[0] == 66);
	CU(cuGraphExecChildGraphNodeSetParams(e, sub, child));
	CU(cuGraphLaunch(e, s));
	CU(cuStreamSynchronize(s));
	CHECK(out2[0] == 32);
	CU(cuGraphCreate(&g2, 0));
	FAILS(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, cuGraphExecChildGraphNodeSetParams(e, sub, g2));

	/* Disabled nodes keep their edges; launches in the queue keep what they had. */
	CU(cuGraphLaunch(e, s));
	CU(cuGraphNodeSetEnabled(e, add, 0));
	CU(cuGraphNodeGetEnabled(e, add, &on));
	CHECK(!on);
	FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphNodeSetEnabled(e, host, 0));
	CU(cuStreamSynchronize(s));
	CHECK(out2[0] == 32);
	CU(cuGraphLaunch(e, s));
	CU(cuStreamSynchronize(s));
	CHECK(out2[0] == 12);
	CU(cuGraphNodeSetEnabled(e, add, 1));

	/* What may not change: shape of a set, side of a copy. */
	m.height = 2;
	m.width = 2;
	m.pitch = 8;
	FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphExecMemsetNodeSetParams(e, set, &m, c));
	CUDA_MEMCPY3D dd = c3;
	dd.dstMemoryType = CU_MEMORYTYPE_DEVICE;
	dd.dstDevice = o;
	FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphExecMemcpyNodeSetParams(e, cp, &dd, c));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphExecHostNodeSetParams(e, add, &h));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphExecHostNodeSetParams(e, in, &h));
	/* The executable may go while it runs. */
	CU(cuGraphLaunch(e, s));
	CU(cuGraphDestroy(g));
	CU(cuGraphExecDestroy(e));
	CU(cuStreamSynchronize(s));
	CHECK(out2[0] == 32);
	FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphLaunch(e, s));
}

static CUgraph shot(CUstream s, CUstream t, CUevent e, CUevent f, CUdeviceptr d, uint32_t v, int more)
{
	CUgraph g;

	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	CU(cuMemsetD32Async(d, v, 4, s));
	CU(cuEventRecord(e, s));
	CU(cuStreamWaitEvent(t, e, 0));
	CU(cuMemsetD32Async(d + 16, v + 1, 4, s));
	CU(cuMemsetD32Async(d + 32, v + 2, 4, t));
	if (more == 1)
		CU(cuMemsetD32Async(d + 48, v, 4, t));
	if (more == 2)
		CU(cuMemcpyDtoDAsync(d + 48, d, 4, t));
	CU(cuEventRecord(f, t));
	CU(cuStreamWaitEvent(s, f, 0));
	if (more == 3)
		CU(cuMemcpyDtoDAsync(d, d + 16, 4, s));
	else
		CU(cuMemsetD32Async(d, v + 3, 1, s));
	CU(cuStreamEndCapture(s, &g));
	return g;
}

static void exec_update(void)
{
	test_ctx(0);
	CUstream s = stream(), t = stream();
	CUgraph g, g2;
	CUgraphExec e;
	CUevent ev, f;
	CUdeviceptr d;
	CUgraphExecUpdateResultInfo info;

	CU(cuEventCreate(&ev, CU_EVENT_DISABLE_TIMING));
	CU(cuEventCreate(&f, CU_EVENT_DISABLE_TIMING));
	CU(cuMemAlloc(&d, 64));
	g = shot(s, t, ev, f, d, 10, 0);
	CU(cuGraphInstantiate(&e, g, 0));
	CU(cuGraphLaunch(e, s));
	g2 = shot(s, t, ev, f, d, 20, 0);
	CU(cuGraphExecUpdate(e, g2, &info));
	CHECK(info.result == CU_GRAPH_EXEC_UPDATE_SUCCESS);
	CU(cuGraphDestroy(g2));
	CU(cuStreamSynchronize(s));
	CHECK(word(d) == 13 && word(d + 16) == 11 && word(d + 32) == 12);
	CU(cuGraphLaunch(e, s));
	CU(cuStreamSynchronize(s));
	CHECK(word(d) == 23 && word(d + 16) == 21 && word(d + 32) == 22);
	/* One more node; another kind of node. */
	g2 = shot(s, t, ev, f, d, 30, 1);
	FAILS(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, cuGraphExecUpdate(e, g2, &info));
	CHECK(info.result == CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
	g2 = shot(s, t, ev, f, d, 30, 3);
	FAILS(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, cuGraphExecUpdate(e, g2, &info));
	CHECK(info.result == CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED);
	CHECK(info.errorNode == at(g2, 3));
	/* As many nodes, another edge. */
	g2 = shot(s, t, ev, f, d, 30, 0);
	CUgraphNode a = at(g2, 0), b = at(g2, 2);
	CU(cuGraphRemoveDependencies(g2, &a, &b, NULL, 1));
	FAILS(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, cuGraphExecUpdate(e, g2, &info));
	CHECK(info.result == CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED && info.errorNode == b);
	/* Nothing of what failed was taken. */
	CU(cuGraphLaunch(e, s));
	CU(cuStreamSynchronize(s));
	CHECK(word(d) == 23);
	/* Nodes made in another order are paired by their edges, not by their place. */
	CUgraph g3;
	CUgraphNode x[4], from[4], to[4];
	CUDA_MEMSET_NODE_PARAMS m = {.dst = d, .value = 1, .elementSize = 4, .width = 4, .height = 1};
	CU(cuGraphCreate(&g3, 0));
	for (int i = 0; i < 4; i++) {
		m.dst = d + 16ull * (3 - (unsigned)i);
		m.value = 40 + (unsigned)i;
		CU(cuGraphAddMemsetNode(&x[i], g3, NULL, 0, &m, NULL));
	}
	from[0] = from[1] = x[3];
	to[0] = x[2];
	to[1] = x[1];
	from[2] = x[2];
	from[3] = x[1];
	to[2] = to[3] = x[0];
	CU(cuGraphAddDependencies(g3, from, to, NULL, 4));
	CU(cuGraphExecUpdate(e, g3, &info));
	CU(cuGraphLaunch(e, s));
	CU(cuStreamSynchronize(s));
	CHECK(word(d) == 43 && word(d + 16) == 42 && word(d + 32) == 41 && word(d + 48) == 40);
}

/* Memory that graphs allocate: by hand, by capture, freed inside, outside, by another graph, never. */
static void graph_memory(void)
{
	CUcontext c = test_ctx(0);
	CUgraph g, g2, no;
	CUgraphNode al, set, cp, fr, bad;
	CUgraphExec e, e2, none;
	CUstream s = stream(), t = stream();
	CUdeviceptr d, p, q;
	uint32_t out[4] = {0};
	uint64_t used;

	CU(cuMemAlloc(&d, 4096));
	CUDA_MEM_ALLOC_NODE_PARAMS a = {
		.poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
			      .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}},
		.bytesize = 1000},
				   aq;
	CU(cuGraphCreate(&g, 0));
	CU(cuGraphAddMemAllocNode(&al, g, NULL, 0, &a));
	CHECK(a.dptr);
	CU(cuGraphMemAllocNodeGetParams(al, &aq));
	CHECK(aq.dptr == a.dptr && aq.bytesize == 1000);
	CUDA_MEMSET_NODE_PARAMS m = {
		.dst = a.dptr, .value = 6, .elementSize = 4, .width = 4, .height = 1};
	CUDA_MEMCPY3D c3 = d2h(out, a.dptr, 16);
	CU(cuGraphAddMemsetNode(&set, g, &al, 1, &m, c));
	CU(cuGraphAddMemcpyNode(&cp, g, &set, 1, &c3, c));
	/* It stays: freed by calls, or launching again fails. */
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemFree(a.dptr));
	FAILS(CUDA_ERROR_NOT_FOUND, cuMemGetAddressRange(&q, NULL, a.dptr));
	CU(cuGraphInstantiate(&e, g, 0));
	FAILS(CUDA_ERROR_NOT_SUPPORTED, cuGraphInstantiate(&none, g, 0));
	FAILS(CUDA_ERROR_NOT_SUPPORTED, cuGraphClone(&no, g));
	FAILS(CUDA_ERROR_NOT_SUPPORTED, cuGraphDestroyNode(cp));
	CU(cuGraphLaunch(e, s));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphLaunch(e, s));
	CU(cuStreamSynchronize(s));
	CHECK(out[3] == 6 && word(a.dptr) == 6);
	CU(cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &used));
	CHECK(used == 1024);
	CU(cuMemFreeAsync(a.dptr, s));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemFreeAsync(a.dptr, s));
	CU(cuGraphLaunch(e, s));
	CU(cuStreamSynchronize(s));
	CU(cuMemFree(a.dptr));
	/* Another graph frees it. */
	CU(cuGraphCreate(&g2, 0));
	CU(cuGraphAddMemFreeNode(&fr, g2, NULL, 0, a.dptr));
	CU(cuGraphMemFreeNodeGetParams(fr, &q));
	CHECK(q == a.dptr);
	FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphAddMemFreeNode(&bad, g, NULL, 0, a.dptr));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphAddMemFreeNode(&bad, g2, NULL, 0, d));
	CU(cuGraphInstantiate(&e2, g2, 0));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphLaunch(e2, s));
	CU(cuGraphLaunch(e, s));
	CU(cuGraphLaunch(e2, s));
	CU(cuGraphLaunch(e, s));
	/* Memory outlives its graph and executable until it is freed. */
	CU(cuGraphExecDestroy(e2));
	CU(cuGraphExecDestroy(e));
	CU(cuGraphDestroy(g2));
	CU(cuGraphDestroy(g));
	CU(cuStreamSynchronize(s));
	CHECK(word(a.dptr) == 6);
	CU(cuMemFreeAsync(a.dptr, s));
	CU(cuStreamSynchronize(s));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemFreeAsync(a.dptr, s));

	/* Captured: the address is fixed, and serves again behind its free. */
	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	CU(cuMemAllocAsync(&p, 512, s));
	CU(cuMemsetD32Async(p, 8, 4, s));
	CU(cuMemcpyDtoDAsync(d, p, 16, s));
	CU(cuMemFreeAsync(p, s));
	CU(cuMemAllocAsync(&q, 500, s));
	CHECK(q == p);
	CU(cuMemsetD32Async(q, 9, 4, s));
	CU(cuMemcpyDtoDAsync(d + 16, q, 16, s));
	CU(cuMemFreeAsync(q, s));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemFreeAsync(d, s));
	CU(cuStreamEndCapture(s, &g));
	CUgraphNodeType ty;
	CU(cuGraphNodeGetType(at(g, 0), &ty));
	CHECK(ty == CU_GRAPH_NODE_TYPE_MEM_ALLOC);
	CU(cuGraphNodeGetType(at(g, 3), &ty));
	CHECK(ty == CU_GRAPH_NODE_TYPE_MEM_FREE);
	CU(cuGraphInstantiate(&e, g, 0));
	for (int i = 0; i < 3; i++) {
		CU(cuGraphLaunch(e, i & 1 ? s : t));
		FAILS(CUDA_ERROR_INVALID_VALUE, cuMemFree(p));
	}
	CU(cuCtxSynchronize());
	CHECK(word(d) == 8 && word(d + 16) == 9);
	CHECK(word(p) == 0xdddddddd); /* freed: whoever reads it sees that */
	CU(cuGraphExecDestroy(e));

	/* Freed by the next launch. */
	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	CU(cuMemAllocAsync(&p, 64, s));
	CU(cuMemsetD32Async(p, 3, 4, s));
	CU(cuStreamEndCapture(s, &g));
	CU(cuGraphInstantiate(&e, g, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH));
	for (int i = 0; i < 3; i++)
		CU(cuGraphLaunch(e, s));
	CU(cuStreamSynchronize(s));
	CHECK(word(p) == 3);
	CU(cuMemFree(p));
	CU(cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &used));
	CHECK(!used);
	CU(cuGraphExecDestroy(e));
	CU(cuGraphDestroy(g));
	CU(cuDeviceGraphMemTrim(0));
	CU(cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &used));
}

static const char cond_ptx[] =
	".version 8.4\n.target sm_80\n.address_size 64\n"
	".extern .func cudaGraphSetConditional(.param .b64 h, .param .b32 v);\n"
	/* *p -= 1; the handle gets what is left */
	".visible .entry count(.param .u64 p, .param .u64 h)\n{\n"
	".reg .u64 %rd<3>; .reg .u32 %r<2>;\n"
	"ld.param.u64 %rd1, [p]; ld.param.u64 %rd2, [h];\n"
	"ld.global.u32 %r1, [%rd1]; sub.u32 %r1, %r1, 1; st.global.u32 [%rd1], %r1;\n"
	"{ .param .b64 a; .param .b32 b; st.param.b64 [a], %rd2; st.param.b32 [b], %r1;\n"
	"call cudaGraphSetConditional, (a, b); }\nret;\n}\n";

static void conditional_nodes(void)
{
	CUcontext c = test_ctx(0);
	CUgraph g;
	CUgraphNode x, in, k0;
	CUgraphExec e;
	CUgraphConditionalHandle h, h2;
	CUstream s = stream();
	CUdeviceptr d;
	CUmodule m;
	CUfunction count;
	struct args a;
	uint32_t v = 0;

	CU(cuMemAlloc(&d, 64));
	CU(cuModuleLoadData(&m, cond_ptx));
	CU(cuModuleGetFunction(&count, m, "count"));
	CUDA_KERNEL_NODE_PARAMS add = kernel(&a, "addn", d, 1);

	/* The default at creation decides where no kernel sets the handle. */
	for (unsigned deflt = 0; deflt < 3; deflt++)
		for (int type = 0; type < 3; type += 2) {
			CU(cuGraphCreate(&g, 0));
			CU(cuGraphConditionalHandleCreate(&h, g, c, deflt,
							  CU_GRAPH_COND_ASSIGN_DEFAULT));
			CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL};
			p.conditional = (CUDA_CONDITIONAL_NODE_PARAMS){
				.handle = h, .type = (CUgraphConditionalNodeType)type, .size = 2, .ctx = c};
			CU(cuGraphAddNode(&x, g, NULL, NULL, 0, &p));
			for (uint32_t i = 0; i < 2; i++) {
				CUDA_MEMSET_NODE_PARAMS set = {.dst = d,
							       .value = 10 + i,
							       .elementSize = 4,
							       .width = 1,
							       .height = 1};
				CU(cuGraphAddMemsetNode(&in, p.conditional.phGraph_out[i], NULL, 0,
							&set, c));
			}
			FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphAddNode(&x, g, NULL, NULL, 0, &p));
			CU(cuMemsetD32(d, 0, 1));
			CU(cuCtxSynchronize());
			CU(cuGraphInstantiate(&e, g, 0));
			CU(cuGraphLaunch(e, s));
			CU(cuStreamSynchronize(s));
			v = word(d);
			CHECK(v == (type == 0 ? (deflt ? 10u : 11u)
					      : deflt < 2 ? 10 + deflt
							  : 0u));
			CU(cuGraphExecDestroy(e));
			CU(cuGraphDestroy(g));
		}

	/* while (--*p): add; with an if inside, and work before and after. */
	CU(cuGraphCreate(&g, 0));
	CU(cuGraphConditionalHandleCreate(&h, g, c, 1, CU_GRAPH_COND_ASSIGN_DEFAULT));
	CU(cuGraphConditionalHandleCreate(&h2, g, c, 1, CU_GRAPH_COND_ASSIGN_DEFAULT));
	CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL};
	p.conditional = (CUDA_CONDITIONAL_NODE_PARAMS){
		.handle = h, .type = CU_GRAPH_COND_TYPE_WHILE, .size = 1, .ctx = c};
	CUDA_MEMSET_NODE_PARAMS set = {
		.dst = d + 32, .value = 5, .elementSize = 4, .width = 1, .height = 1};
	CU(cuGraphAddMemsetNode(&k0, g, NULL, 0, &set, c));
	CU(cuGraphAddNode(&x, g, &k0, NULL, 1, &p));
	CUgraph body = p.conditional.phGraph_out[0];
	CUdeviceptr cell = d + 32;
	void *list[] = {&cell, &h};
	CUDA_KERNEL_NODE_PARAMS dec = add;
	dec.func = count;
	dec.blockDimX = 1;
	dec.kernelParams = list;
	CU(cuGraphAddKernelNode(&in, body, NULL, 0, &dec));
	CUgraphNodeParams p2 = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL};
	p2.conditional = (CUDA_CONDITIONAL_NODE_PARAMS){
		.handle = h2, .type = CU_GRAPH_COND_TYPE_IF, .size = 1, .ctx = c};
	CUgraphNode inner, host;
	CU(cuGraphAddNode(&inner, body, &in, NULL, 1, &p2));
	CU(cuGraphAddKernelNode(&in, p2.conditional.phGraph_out[0], NULL, 0, &add));
	CUDA_HOST_NODE_PARAMS hp = {bump, &v};
	CU(cuGraphAddHostNode(&host, body, NULL, 0, &hp));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphInstantiate(&e, g, 0));
	CU(cuGraphDestroyNode(host));
	v = 0;
	CU(cuGraphAddHostNode(&host, g, &x, 1, &hp));
	CU(cuMemsetD32(d, 0, 4));
	CU(cuCtxSynchronize());
	CU(cuGraphInstantiate(&e, g, 0));
	FAILS(CUDA_ERROR_NOT_SUPPORTED, cuGraphInstantiate(&e, g, 0));
	for (int i = 0; i < 3; i++)
		CU(cuGraphLaunch(e, s));
	CU(cuGraphExecDestroy(e));
	CU(cuGraphDestroy(g));
	CU(cuStreamSynchronize(s));
	CHECK(word(d) == 15 && word(d + 32) == 0 && v == 3);
}

static volatile int gone;

static void object_gone(void *p)
{
	gone += *(int *)p;
}

static void user_objects(void)
{
	test_ctx(0);
	CUuserObject o;
	CUgraph g, c;
	CUgraphExec e;
	CUgraphNode x;
	CUstream s = stream();
	CUdeviceptr flag;
	int one = 1;

	CU(cuMemAlloc(&flag, 4));
	CU(cuMemsetD32(flag, 0, 1));
	CU(cuCtxSynchronize());
	CUstreamBatchMemOpParams w = {.waitValue = {.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32,
						    .address = flag,
						    .value = 1,
						    .flags = CU_STREAM_WAIT_VALUE_GEQ}};
	CUDA_BATCH_MEM_OP_NODE_PARAMS b = {.count = 1, .paramArray = &w};
	FAILS(CUDA_ERROR_INVALID_VALUE, cuUserObjectCreate(&o, &one, object_gone, 1, 0));
	CU(cuUserObjectCreate(&o, &one, object_gone, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
	CU(cuUserObjectRetain(o, 2));
	CU(cuUserObjectRelease(o, 2));
	CU(cuGraphCreate(&g, 0));
	CU(cuGraphAddBatchMemOpNode(&x, g, NULL, 0, &b));
	CU(cuGraphRetainUserObject(g, o, 1, CU_GRAPH_USER_OBJECT_MOVE));
	CU(cuGraphRetainUserObject(g, o, 2, 0));
	CU(cuGraphReleaseUserObject(g, o, 2));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphReleaseUserObject(g, o, 2));
	CU(cuGraphClone(&c, g));
	CU(cuGraphInstantiate(&e, g, 0));
	CU(cuGraphDestroy(g));
	CU(cuGraphDestroy(c));
	CU(cuGraphLaunch(e, s));
	CU(cuGraphExecDestroy(e));
	usleep(50000);
	CHECK(!gone); /* the launch waits, and has it */
	CUstream t = stream();
	CU(cuStreamWriteValue32(t, flag, 1, 0));
	CU(cuStreamSynchronize(s));
	for (int i = 0; i < 1000 && !gone; i++)
		usleep(1000);
	CHECK(gone == 1);
	FAILS(CUDA_ERROR_INVALID_VALUE, cuUserObjectRetain(o, 1));
}

/* ---- what capture forbids ---- */

enum unsafe_call { ALLOC, FREE, HOST_ALLOC, REGISTER, STREAM_SYNC, STREAM_QUERY, EVENT_SYNC, EVENT_QUERY,
		   CTX_SYNC, ARRAY, ALLOC_ASYNC, INSTANTIATE, FREE_ASYNC,
		   /* from here on harmless */ COPY, SET, MODULE, UNSAFE_CALLS };

static struct {
	CUcontext ctx;
	CUstream idle;
	CUevent event;
	CUdeviceptr d, spare;
	CUgraph empty;
	CUstreamCaptureMode mine, theirs; /* of the thread that calls, of the other's capture */
	enum unsafe_call call;
	CUresult got;
} w;

static CUresult call_it(enum unsafe_call c)
{
	static char page[8192];
	CUdeviceptr p = 0;
	CUresult r;
	void *hp;
	uint32_t v;
	CUmodule m;
	CUarray a;
	CUDA_ARRAY_DESCRIPTOR ad = {4, 4, CU_AD_FORMAT_FLOAT, 1};
	CUgraphExec x;

	switch (c) {
	case ALLOC:
		return cuMemAlloc(&p, 64);
	case FREE:
		return cuMemFree(w.spare);
	case HOST_ALLOC:
		return cuMemHostAlloc(&hp, 64, 0);
	case REGISTER:
		r = cuMemHostRegister(page, 4096, 0);
		return r == CUDA_SUCCESS ? cuMemHostUnregister(page) : r;
	case STREAM_SYNC:
		return cuStreamSynchronize(w.idle);
	case STREAM_QUERY:
		return cuStreamQuery(w.idle);
	case EVENT_SYNC:
		return cuEventSynchronize(w.event);
	case EVENT_QUERY:
		return cuEventQuery(w.event);
	case CTX_SYNC:
		return cuCtxSynchronize();
	case COPY:
		return cuMemcpyDtoH(&v, w.d, 4);
	case SET:
		return cuMemsetD32(w.d, 1, 1);
	case MODULE:
		return cuModuleLoadData(&m, ptx);
	case ALLOC_ASYNC:
		return cuMemAllocAsync(&p, 64, w.idle);
	case FREE_ASYNC:
		return cuMemFreeAsync(w.spare, w.idle);
	case INSTANTIATE:
		return cuGraphInstantiate(&x, w.empty, 0);
	case ARRAY:
		return cuArrayCreate(&a, &ad);
	case UNSAFE_CALLS:
		break;
	}
	return CUDA_ERROR_UNKNOWN;
}

static void *caller(void *unused)
{
	CUstreamCaptureMode m = w.mine;

	CU(cuCtxSetCurrent(w.ctx));
	CU(cuThreadExchangeStreamCaptureMode(&m));
	w.got = call_it(w.call);
	return unused;
}

/* Calls that are not for a capture: modes of capture and thread, the same thread and another. */
static void unsafe_calls(void)
{
	enum { G = CU_STREAM_CAPTURE_MODE_GLOBAL, T = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL };
	CUstream s;

	w.ctx = test_ctx(0);
	s = stream();
	w.idle = stream();
	CU(cuEventCreate(&w.event, 0));
	CU(cuEventRecord(w.event, w.idle));
	CU(cuMemAlloc(&w.d, 64));
	CU(cuGraphCreate(&w.empty, 0));
	CU(cuCtxSynchronize());
	for (int other = 0; other < 2; other++)
		for (int theirs = 0; theirs < 3; theirs++)
			for (int mine = 0; mine < 3; mine++)
				for (int c = 0; c < UNSAFE_CALLS; c++) {
					bool forbidden;
					CUgraph g;
					pthread_t t;

					CU(cuMemAlloc(&w.spare, 64));
					w.call = (enum unsafe_call)c;
					w.mine = (CUstreamCaptureMode)mine;
					w.theirs = (CUstreamCaptureMode)theirs;
					CU(cuStreamBeginCapture(s, w.theirs));
					CU(cuMemsetD32Async(w.d, 1, 1, s));
					if (other) {
						CHECK(!pthread_create(&t, NULL, caller, NULL));
						CHECK(!pthread_join(t, NULL));
						forbidden = mine == G && theirs == G;
					} else {
						CUstreamCaptureMode m = w.mine;

						CU(cuThreadExchangeStreamCaptureMode(&m));
						w.got = call_it(w.call);
						CU(cuThreadExchangeStreamCaptureMode(&m));
						forbidden = mine == G ? theirs == G || theirs == T
							    : mine == T
								    ? theirs == G || theirs == T
								    : false;
					}
					forbidden = forbidden && c < COPY;
					if (w.got != (forbidden ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
								: CUDA_SUCCESS))
						fprintf(stderr, "%d %d %d %d: %d\n", other, theirs,
							mine, c, w.got);
					CHECK(w.got ==
					      (forbidden ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
							 : CUDA_SUCCESS));
					CHECK(cuStreamEndCapture(s, &g) ==
					      (forbidden ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
							 : CUDA_SUCCESS));
					if (!forbidden)
						CU(cuGraphDestroy(g));
				}
}

static void *ender(void *p)
{
	CUgraph g;

	CU(cuCtxSetCurrent(w.ctx));
	w.got = cuStreamEndCapture(*(CUstream *)p, &g);
	return NULL;
}

static void capture_rules(void)
{
	CUstream s, t, bl;
	CUevent e, f;
	CUgraph g;
	CUgraphExec x;
	CUstreamCaptureStatus st;
	pthread_t th;
	CUdeviceptr d;

	w.ctx = test_ctx(0);
	s = stream();
	t = stream();
	CU(cuStreamCreate(&bl, 0));
	CU(cuEventCreate(&e, 0));
	CU(cuEventCreate(&f, 0));
	CU(cuMemAlloc(&d, 64));
	/* Begun twice. */
	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	FAILS(CUDA_ERROR_ILLEGAL_STATE, cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	/* Ended by another thread: refused, and nothing is lost. */
	CHECK(!pthread_create(&th, NULL, ender, &s));
	CHECK(!pthread_join(th, NULL));
	CHECK(w.got == CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
	CU(cuStreamEndCapture(s, &g));
	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	CHECK(!pthread_create(&th, NULL, ender, &s));
	CHECK(!pthread_join(th, NULL));
	CHECK(w.got == CUDA_SUCCESS);
	/* Ended on a stream that only joined. */
	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	CU(cuEventRecord(e, s));
	CU(cuStreamWaitEvent(t, e, 0));
	FAILS(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, cuStreamEndCapture(t, &g));
	FAILS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(s, &g));
	/* Two captures become one. */
	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	CU(cuStreamBeginCapture(t, CU_STREAM_CAPTURE_MODE_RELAXED));
	CU(cuMemsetD32Async(d, 1, 1, t));
	CU(cuEventRecord(e, t));
	FAILS(CUDA_ERROR_STREAM_CAPTURE_MERGE, cuStreamWaitEvent(s, e, 0));
	FAILS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(s, &g));
	FAILS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(t, &g));
	/* An invalid capture takes nothing, and its streams are free after its end. */
	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	CU(cuEventRecord(e, s));
	CU(cuStreamWaitEvent(t, e, 0));
	FAILS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamQuery(t));
	CU(cuStreamIsCapturing(s, &st));
	CHECK(st == CU_STREAM_CAPTURE_STATUS_INVALIDATED);
	FAILS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuMemsetD32Async(d, 1, 1, s));
	FAILS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuEventRecord(f, t));
	FAILS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(s, &g));
	CU(cuMemsetD32Async(d, 1, 1, t));
	CU(cuStreamSynchronize(t));
	/* An event of a capture that has ended; recorded anew it is one like any other. */
	FAILS(CUDA_ERROR_INVALID_VALUE, cuEventSynchronize(e));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuEventQuery(e));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuStreamWaitEvent(t, e, 0));
	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	CU(cuEventRecord(f, s));
	FAILS(CUDA_ERROR_CAPTURED_EVENT, cuEventQuery(f));
	FAILS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(s, &g));
	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuStreamWaitEvent(s, e, 0));
	FAILS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamQuery(s));
	FAILS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(s, &g));
	CU(cuEventRecord(e, s));
	CU(cuEventSynchronize(e));
	/* The legacy stream: asking is no use of it. */
	CU(cuStreamBeginCapture(bl, CU_STREAM_CAPTURE_MODE_RELAXED));
	FAILS(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, cuStreamIsCapturing(NULL, &st));
	CU(cuStreamIsCapturing(bl, &st));
	CHECK(st == CU_STREAM_CAPTURE_STATUS_ACTIVE);
	FAILS(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, cuMemsetD32Async(d, 1, 1, NULL));
	CU(cuStreamIsCapturing(bl, &st));
	CHECK(st == CU_STREAM_CAPTURE_STATUS_INVALIDATED);
	FAILS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(bl, &g));
	/* A capture on a non-blocking stream leaves it alone. */
	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	CU(cuMemsetD32Async(d, 1, 1, NULL));
	/* External events: nodes, whatever they were recorded by. */
	CU(cuEventRecord(f, t));
	CU(cuStreamWaitEvent(s, f, CU_EVENT_WAIT_EXTERNAL));
	CU(cuMemsetD32Async(d, 4, 1, s));
	CU(cuEventRecordWithFlags(e, s, CU_EVENT_RECORD_EXTERNAL));
	CU(cuStreamEndCapture(s, &g));
	CU(cuGraphInstantiate(&x, g, 0));
	CU(cuCtxSynchronize());
	CU(cuMemsetD32Async(d, 3, 1, t));
	CU(cuEventRecord(f, t));
	CU(cuGraphLaunch(x, s));
	CU(cuEventSynchronize(e));
	CHECK(word(d) == 4);
	/* What cannot be captured: a copy of many leaves the capture as it was. */
	CUmemcpyAttributes how = {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
	CUdeviceptr to = d, from = d + 32;
	size_t len = 4, none = 0;
	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	FAILS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
	      cuMemcpyBatchAsync(&to, &from, &len, 1, &how, &none, 1, s));
	CU(cuStreamEndCapture(s, &g));
	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	FAILS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
	      cuMemPrefetchAsync(d, 64, (CUmemLocation){CU_MEM_LOCATION_TYPE_DEVICE, 0}, 0, s));
	FAILS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(s, &g));
	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	FAILS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuGraphLaunch(x, s));
	FAILS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(s, &g));
	/* A stream that goes takes its capture along. */
	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	CU(cuEventRecord(e, s));
	CU(cuStreamWaitEvent(t, e, 0));
	CU(cuStreamDestroy(s));
	CU(cuStreamSynchronize(t));
}

/* A context goes, and with it a capture and what a graph of its works on. */
static void context_gone(void)
{
	CUcontext p = test_ctx(0), c;
	CUstream s;
	CUdeviceptr d, q;
	CUgraph g, growing;
	CUgraphNode x;
	CUgraphExec e;
	CUstreamCaptureStatus st;
	size_t n = 0;

	CU(cuCtxCreate(&c, NULL, 0, 0));
	s = stream();
	CU(cuMemAlloc(&d, 64));
	CU(cuGraphCreate(&g, 0));
	CUDA_MEMSET_NODE_PARAMS m = {.dst = d, .value = 1, .elementSize = 4, .width = 4, .height = 1},
				mq;
	CU(cuGraphAddMemsetNode(&x, g, NULL, 0, &m, NULL));
	CU(cuGraphInstantiate(&e, g, 0));
	CU(cuGraphLaunch(e, s));
	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	CU(cuMemsetD8Async(d, 1, 64, s));
	CU(cuMemAllocAsync(&q, 64, s));
	CU(cuStreamGetCaptureInfo(s, &st, NULL, &growing, NULL, NULL, NULL));
	CU(cuCtxDestroy(c));
	CU(cuCtxSetCurrent(p));
	CU(cuMemAlloc(&q, 64)); /* nothing captures any more */
	FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphGetNodes(growing, NULL, &n));
	CU(cuGraphMemsetNodeGetParams(x, &mq));
	CU(cuGraphExecDestroy(e));
	CU(cuGraphDestroy(g));
	CU(cuCtxSynchronize());
}

/* A body that is captured into its graph. */
static void captured_body(void)
{
	CUcontext c = test_ctx(0);
	CUstream s = stream();
	CUgraph g, got;
	CUgraphNode x;
	CUgraphExec e;
	CUgraphConditionalHandle h;
	CUdeviceptr d;

	CU(cuMemAlloc(&d, 16));
	CU(cuGraphCreate(&g, 0));
	CU(cuGraphConditionalHandleCreate(&h, g, c, 1, CU_GRAPH_COND_ASSIGN_DEFAULT));
	CUgraphNodeParams np = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL};
	np.conditional = (CUDA_CONDITIONAL_NODE_PARAMS){
		.handle = h, .type = CU_GRAPH_COND_TYPE_IF, .size = 1, .ctx = c};
	CU(cuGraphAddNode(&x, g, NULL, NULL, 0, &np));
	CU(cuStreamBeginCaptureToGraph(s, np.conditional.phGraph_out[0], NULL, NULL, 0,
				       CU_STREAM_CAPTURE_MODE_GLOBAL));
	CU(cuMemsetD32Async(d, 5, 4, s));
	CU(cuStreamEndCapture(s, &got));
	CHECK(got == np.conditional.phGraph_out[0]);
	CU(cuGraphInstantiate(&e, g, 0));
	CU(cuGraphLaunch(e, s));
	CU(cuStreamSynchronize(s));
	CHECK(word(d) == 5);
}

/* ---- what goes wrong, goes wrong ---- */

/*
 * A launch works on the addresses that it was captured with, whoever has them:
 * memory that was freed and given to somebody else, and a copy on another stream
 * that nothing orders.
 */
static void hazards_show(void)
{
	test_ctx(0);
	CUstream s = stream(), t = stream();
	CUdeviceptr in, out, other;
	CUgraph g;
	CUgraphExec e;
	uint32_t *pin;

	CU(cuMemAlloc(&out, 16));
	CU(cuMemAlloc(&in, 4096));
	CU(cuMemHostAlloc((void **)&pin, 16, 0));
	CU(cuMemsetD32(in, 7, 4));
	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	CU(cuMemcpyDtoDAsync(out, in, 16, s));
	CU(cuStreamEndCapture(s, &g));
	CU(cuGraphInstantiate(&e, g, 0));
	CU(cuCtxSynchronize());
	/* The launch is overtaken by a copy that it does not wait for. */
	pin[0] = 9;
	CU(cuGraphLaunch(e, s));
	CU(cuMemcpyHtoDAsync(in, pin, 4, t));
	CU(cuStreamSynchronize(s));
	CHECK(word(out) == 9);
	CU(cuCtxSynchronize());
	/* And does not see one that it ought to have waited for. */
	pin[0] = 11;
	CU(cuMemcpyHtoDAsync(in, pin, 4, t));
	CU(cuGraphLaunch(e, s));
	CU(cuStreamSynchronize(s));
	CHECK(word(out) == 9);
	CU(cuCtxSynchronize());
	/* The block has a new owner. */
	CU(cuMemFree(in));
	CU(cuMemAlloc(&other, 4096));
	CHECK(other == in);
	CU(cuMemsetD32(other, 1234, 4));
	CU(cuCtxSynchronize());
	CU(cuGraphLaunch(e, s));
	CU(cuStreamSynchronize(s));
	CHECK(word(out) == 1234);
	/* Or none. */
	CU(cuMemFree(other));
	CU(cuGraphLaunch(e, s));
	CU(cuStreamSynchronize(s));
	CHECK(word(out) == 0xdddddddd);
}

static uint32_t rnd_state;

static uint32_t rnd(uint32_t n)
{
	rnd_state = rnd_state * 1664525u + 1013904223u;
	return (rnd_state >> 8) % n;
}

enum { CELLS = 6, STEPS = 40 };

/* One step of a random program: cell to is set, or to += from. */
struct rstep {
	uint32_t to, from, value;
	bool set;
};

static bool clash(const struct rstep *a, const struct rstep *b)
{
	return a->to == b->to || (!a->set && a->from == b->to) || (!b->set && b->from == a->to);
}

static const char sum_ptx[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
			      ".visible .entry sum(.param .u64 d, .param .u64 s)\n{\n"
			      ".reg .u64 %rd<3>; .reg .u32 %r<3>;\n"
			      "ld.param.u64 %rd1, [d]; ld.param.u64 %rd2, [s];\n"
			      "ld.global.u32 %r1, [%rd1]; ld.global.u32 %r2, [%rd2];\n"
			      "add.u32 %r1, %r1, %r2; st.global.u32 [%rd1], %r1; ret;\n}\n";

/*
 * Random graphs whose edges order all that touches the same bytes give what the
 * program gives in order; with one of those edges left out, some do not.
 */
static void random_graphs(void)
{
	CUcontext c = test_ctx(0);
	CUdeviceptr d[CELLS];
	CUstream s = stream(), t = stream();
	CUmodule m;
	CUfunction sum;
	unsigned differ = 0;

	CU(cuModuleLoadData(&m, sum_ptx));
	CU(cuModuleGetFunction(&sum, m, "sum"));
	for (int i = 0; i < CELLS; i++)
		CU(cuMemAlloc(&d[i], 4));
	for (unsigned round = 0; round < 120; round++) {
		struct rstep st[STEPS];
		CUgraphNode x[STEPS];
		uint32_t want[CELLS], got = 0;
		bool leave = round >= 60;
		unsigned skip_to = 0, skip_from = 0;
		CUgraph g;
		CUgraphExec e;

		rnd_state = round * 7919 + 1;
		for (int i = 0; i < CELLS; i++)
			want[i] = 0;
		for (unsigned i = 0; i < STEPS; i++)
			st[i] = (struct rstep){rnd(CELLS), rnd(CELLS), rnd(1000), rnd(4) == 0};
		/* Neighbours that clash, without that edge. */
		for (unsigned i = STEPS - 1; leave && i > 0 && !skip_to; i--)
			if (clash(&st[i], &st[i - 1])) {
				skip_to = i;
				skip_from = i - 1;
			}
		CU(cuGraphCreate(&g, 0));
		for (unsigned i = 0; i < STEPS; i++) {
			CUgraphNode dep[STEPS];
			size_t n = 0;

			for (unsigned k = 0; k < i; k++)
				if ((clash(&st[k], &st[i]) || rnd(20) == 0) &&
				    !(skip_to && i == skip_to && k == skip_from))
					dep[n++] = x[k];
			if (st[i].set) {
				CUDA_MEMSET_NODE_PARAMS p = {.dst = d[st[i].to],
							     .value = st[i].value,
							     .elementSize = 4,
							     .width = 1,
							     .height = 1};
				want[st[i].to] = st[i].value;
				CU(cuGraphAddMemsetNode(&x[i], g, dep, n, &p, c));
			} else {
				void *list[] = {&d[st[i].to], &d[st[i].from]};
				CUDA_KERNEL_NODE_PARAMS p = {.func = sum,
							     .gridDimX = 1,
							     .gridDimY = 1,
							     .gridDimZ = 1,
							     .blockDimX = 1,
							     .blockDimY = 1,
							     .blockDimZ = 1,
							     .kernelParams = list};
				want[st[i].to] += want[st[i].from];
				CU(cuGraphAddKernelNode(&x[i], g, dep, n, &p));
			}
		}
		for (int i = 0; i < CELLS; i++)
			CU(cuMemsetD32(d[i], 0, 1));
		CU(cuCtxSynchronize());
		CU(cuGraphInstantiate(&e, g, 0));
		CU(cuGraphLaunch(e, round & 1 ? s : t));
		CU(cuGraphExecDestroy(e));
		CU(cuGraphDestroy(g));
		CU(cuCtxSynchronize());
		for (int i = 0; i < CELLS; i++)
			got += word(d[i]) != want[i];
		if (leave)
			differ += got != 0;
		else
			CHECK(!got);
	}
	printf("# an edge left out: %u of 60 graphs differ\n", differ);
	CHECK(differ > 15);
}

/* The same of two nodes. */
static void unordered_nodes(void)
{
	CUcontext c = test_ctx(0);
	CUstream s = stream();
	CUdeviceptr d;
	CUgraph g;
	CUgraphNode x[2];
	CUgraphExec e;
	uint32_t out = 0;

	CU(cuMemAlloc(&d, 4));
	CU(cuMemsetD32(d, 1, 1));
	CU(cuCtxSynchronize());
	CU(cuGraphCreate(&g, 0));
	CUDA_MEMSET_NODE_PARAMS m = {.dst = d, .value = 2, .elementSize = 4, .width = 1, .height = 1};
	CUDA_MEMCPY3D cp = d2h(&out, d, 4);
	CU(cuGraphAddMemsetNode(&x[0], g, NULL, 0, &m, c));
	CU(cuGraphAddMemcpyNode(&x[1], g, NULL, 0, &cp, c));
	CU(cuGraphInstantiate(&e, g, 0));
	CU(cuGraphLaunch(e, s));
	CU(cuStreamSynchronize(s));
	CHECK(out == 1);
	CU(cuGraphAddDependencies(g, &x[0], &x[1], NULL, 1));
	CU(cuMemsetD32(d, 1, 1));
	CU(cuCtxSynchronize());
	CU(cuGraphExecDestroy(e));
	CU(cuGraphInstantiate(&e, g, 0));
	CU(cuGraphLaunch(e, s));
	CU(cuStreamSynchronize(s));
	CHECK(out == 2);
}

/* Semaphores in streams, by hand and by capture. */
static void semaphores(void)
{
	test_ctx(0);
	CUstream s = stream(), t = stream();
	CUexternalSemaphore a, b;
	CUdeviceptr d;
	CUgraph g, g2;
	CUgraphNode x, y;
	CUgraphExec e, e2;
	int fd = memfd_create("timeline", 0), again = dup(fd);
	CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC desc = {
		.type = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD,
		.handle = {.fd = fd}};

	CU(cuMemAlloc(&d, 8));
	CU(cuMemsetD32(d, 0, 2));
	CU(cuCtxSynchronize());
	CU(cuImportExternalSemaphore(&a, &desc));
	desc.handle.fd = again;
	CU(cuImportExternalSemaphore(&b, &desc));
	CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS until = {.params = {.fence = {1}}};
	CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS sig = {.params = {.fence = {1}}};
	CU(cuWaitExternalSemaphoresAsync(&b, &until, 1, t));
	CU(cuMemcpyDtoDAsync(d + 4, d, 4, t));
	CU(cuMemsetD32Async(d, 5, 1, s));
	CU(cuSignalExternalSemaphoresAsync(&a, &sig, 1, s));
	CU(cuStreamSynchronize(t));
	CHECK(word(d + 4) == 5);
	/* A graph that waits, and one that signals, captured. */
	CUDA_EXT_SEM_WAIT_NODE_PARAMS wp = {&b, &until, 1}, wq;
	CUDA_EXT_SEM_SIGNAL_NODE_PARAMS sq;
	until.params.fence.value = 2;
	CU(cuGraphCreate(&g, 0));
	CU(cuGraphAddExternalSemaphoresWaitNode(&x, g, NULL, 0, &wp));
	CUDA_MEMSET_NODE_PARAMS m = {
		.dst = d + 4, .value = 6, .elementSize = 4, .width = 1, .height = 1};
	CU(cuGraphAddMemsetNode(&y, g, &x, 1, &m, NULL));
	CU(cuGraphExternalSemaphoresWaitNodeGetParams(x, &wq));
	CHECK(wq.numExtSems == 1 && wq.extSemArray[0] == b && wq.paramsArray[0].params.fence.value == 2);
	CU(cuGraphInstantiate(&e, g, 0));
	until.params.fence.value = 3;
	CU(cuGraphExecExternalSemaphoresWaitNodeSetParams(e, x, &wp));
	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	sig.params.fence.value = 3;
	CU(cuMemsetD32Async(d + 4, 7, 1, s));
	CU(cuSignalExternalSemaphoresAsync(&a, &sig, 1, s));
	CU(cuStreamEndCapture(s, &g2));
	CUgraphNodeType ty;
	CU(cuGraphNodeGetType(at(g2, 1), &ty));
	CHECK(ty == CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL);
	CU(cuGraphExternalSemaphoresSignalNodeGetParams(at(g2, 1), &sq));
	CHECK(sq.numExtSems == 1 && sq.paramsArray[0].params.fence.value == 3);
	CU(cuGraphInstantiate(&e2, g2, 0));
	CU(cuGraphLaunch(e, t));
	CU(cuGraphLaunch(e2, s));
	CU(cuDestroyExternalSemaphore(a));
	CU(cuDestroyExternalSemaphore(b));
	CU(cuStreamSynchronize(t));
	CHECK(word(d + 4) == 6);
	FAILS(CUDA_ERROR_INVALID_HANDLE, cuWaitExternalSemaphoresAsync(&b, &until, 1, t));
}

/* 10,000 nodes in a chain, in a fan, and in two chains that nobody orders. */
static void many_nodes(void)
{
	enum { N = 10000 };
	test_ctx(0);
	static CUgraphNode x[N];
	CUstream s = stream();
	CUdeviceptr d;
	struct args a;
	struct timespec t0, t1;

	CU(cuMemAlloc(&d, 4 * N));
	clock_gettime(CLOCK_MONOTONIC, &t0);
	for (int shape = 0; shape < 3; shape++) {
		CUgraph g;
		CUgraphExec e;

		CU(cuMemsetD32(d, 0, N));
		CU(cuCtxSynchronize());
		CU(cuGraphCreate(&g, 0));
		for (int i = 0; i < N; i++) {
			CUDA_KERNEL_NODE_PARAMS k =
				kernel(&a, "addn", shape == 1 ? d + 4ull * i : d, 1);
			int before = shape == 0 ? i - 1 : shape == 1 ? -1 : i - 2;

			a.n = 1;
			k.blockDimX = 1;
			CU(cuGraphAddKernelNode(&x[i], g, before >= 0 ? &x[before] : NULL,
						before >= 0, &k));
		}
		CU(cuGraphInstantiate(&e, g, 0));
		CU(cuGraphLaunch(e, s));
		CU(cuStreamSynchronize(s));
		CHECK(word(d) == (shape == 1 ? 1 : N));
		CU(cuGraphExecDestroy(e));
		CU(cuGraphDestroy(g));
		clock_gettime(CLOCK_MONOTONIC, &t1);
		printf("# %d nodes, shape %d: %.2f s\n", N, shape,
		       (double)(t1.tv_sec - t0.tv_sec) + (double)(t1.tv_nsec - t0.tv_nsec) / 1e9);
		t0 = t1;
	}
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"graph-explicit", explicit_graph, NULL},
		{"graph-generic", generic_nodes, NULL},
		{"graph-edges", edges_and_clones, NULL},
		{"graph-captured", captured_params, NULL},
		{"graph-kernels", kernel_forms, NULL},
		{"graph-capture-to", capture_to_graph, NULL},
		{"graph-exec-changes", exec_changes, NULL},
		{"graph-exec-update", exec_update, NULL},
		{"graph-memory", graph_memory, NULL},
		{"graph-conditional", conditional_nodes, NULL},
		{"graph-user-objects", user_objects, NULL},
		{"graph-captured-body", captured_body, NULL},
		{"graph-unsafe-calls", unsafe_calls, NULL},
		{"graph-capture-rules", capture_rules, NULL},
		{"graph-context-gone", context_gone, NULL},
		{"graph-hazards", hazards_show, NULL},
		{"graph-unordered", unordered_nodes, NULL},
		{"graph-random", random_graphs, NULL},
		{"graph-random-7", random_graphs, "sim_seed=7"},
		{"graph-semaphores", semaphores, NULL},
		{"graph-many", many_nodes, NULL},
		{NULL, NULL, NULL},
	};

	return test_main(tests, argc, argv);
}
