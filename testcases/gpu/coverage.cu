// SPDX-License-Identifier: Apache-2.0
//
// Most of what a program of the CUDA runtime calls, each a few times and always in
// the same order: its driver calls are counted by coverage.sh.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <cooperative_groups.h>
#include <cuda_runtime.h>

#define CHECK(call)                                                                                \
	do {                                                                                       \
		cudaError_t e_ = (call);                                                           \
		if (e_ != cudaSuccess) {                                                           \
			fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call,              \
				cudaGetErrorString(e_));                                           \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

__device__ int symbol[256];

__global__ void add(int *p, int n, int v)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		p[i] += v;
}

__global__ void together(int *p)
{
	cooperative_groups::this_grid().sync();
	p[threadIdx.x] = 1;
}

static void CUDART_CB called(void *arg)
{
	++*(int *)arg;
}

static void CUDART_CB called_back(cudaStream_t, cudaError_t, void *arg)
{
	++*(int *)arg;
}

enum { N = 1 << 16, BYTES = N * 4 };

static void memory(cudaStream_t s)
{
	int *d, *e, *m, *h, *r = (int *)malloc(BYTES), back[256];
	size_t pitch;
	void *p2;
	cudaPitchedPtr p3;

	CHECK(cudaMalloc(&d, BYTES));
	CHECK(cudaMalloc(&e, BYTES));
	CHECK(cudaMallocManaged(&m, BYTES));
	CHECK(cudaMallocHost(&h, BYTES));
	CHECK(cudaMallocPitch(&p2, &pitch, 1000, 100));
	CHECK(cudaMalloc3D(&p3, make_cudaExtent(64, 64, 4)));
	CHECK(cudaHostRegister(r, BYTES, 0));
	CHECK(cudaMemset(d, 0, BYTES));
	CHECK(cudaMemsetAsync(e, 0, BYTES, s));
	CHECK(cudaMemset2D(p2, pitch, 0, 1000, 100));
	CHECK(cudaMemset3D(p3, 0, make_cudaExtent(64, 64, 4)));
	memset(h, 0, BYTES);
	CHECK(cudaMemcpy(d, h, BYTES, cudaMemcpyHostToDevice));
	CHECK(cudaMemcpy(e, d, BYTES, cudaMemcpyDeviceToDevice));
	CHECK(cudaMemcpy(h, e, BYTES, cudaMemcpyDeviceToHost));
	CHECK(cudaMemcpyAsync(d, h, BYTES, cudaMemcpyHostToDevice, s));
	CHECK(cudaMemcpyAsync(e, d, BYTES, cudaMemcpyDeviceToDevice, s));
	CHECK(cudaMemcpyAsync(r, e, BYTES, cudaMemcpyDeviceToHost, s));
	CHECK(cudaMemcpyAsync(m, d, BYTES, cudaMemcpyDefault, s));
	CHECK(cudaMemcpy2D(p2, pitch, h, 1000, 1000, 64, cudaMemcpyHostToDevice));
	CHECK(cudaMemcpy2DAsync(p2, pitch, h, 1000, 1000, 64, cudaMemcpyHostToDevice, s));
	CHECK(cudaMemcpyToSymbol(symbol, h, sizeof(symbol)));
	CHECK(cudaMemcpyFromSymbol(back, symbol, sizeof(back)));
	CHECK(cudaMemcpyToSymbolAsync(symbol, h, sizeof(symbol), 0, cudaMemcpyHostToDevice, s));
	CHECK(cudaMemcpyPeer(e, 0, d, 0, BYTES));
	CHECK(cudaMemcpyPeerAsync(e, 0, d, 0, BYTES, s));
	CHECK(cudaMemAdvise(m, BYTES, cudaMemAdviseSetReadMostly, {cudaMemLocationTypeDevice, 0}));
	CHECK(cudaMemPrefetchAsync(m, BYTES, {cudaMemLocationTypeDevice, 0}, 0, s));
	CHECK(cudaStreamSynchronize(s));

	cudaMemcpy3DParms c = {};
	c.srcPtr = make_cudaPitchedPtr(h, 64, 64, 64);
	c.dstPtr = p3;
	c.extent = make_cudaExtent(64, 64, 4);
	c.kind = cudaMemcpyHostToDevice;
	CHECK(cudaMemcpy3D(&c));
	CHECK(cudaMemcpy3DAsync(&c, s));

	cudaChannelFormatDesc f = cudaCreateChannelDesc<float>();
	cudaArray_t a;
	CHECK(cudaMallocArray(&a, &f, 64, 64));
	CHECK(cudaMemcpy2DToArray(a, 0, 0, h, 256, 256, 64, cudaMemcpyHostToDevice));
	CHECK(cudaMemcpy2DFromArrayAsync(h, 256, a, 0, 0, 256, 64, cudaMemcpyDeviceToHost, s));
	cudaResourceDesc rd = {};
	cudaTextureDesc td = {};
	cudaTextureObject_t t;
	rd.resType = cudaResourceTypeArray;
	rd.res.array.array = a;
	CHECK(cudaCreateTextureObject(&t, &rd, &td, nullptr));
	CHECK(cudaStreamSynchronize(s));
	CHECK(cudaDestroyTextureObject(t));
	CHECK(cudaFreeArray(a));
	CHECK(cudaHostUnregister(r));
	CHECK(cudaFreeHost(h));
	CHECK(cudaFree(d));
	CHECK(cudaFree(e));
	CHECK(cudaFree(m));
	CHECK(cudaFree(p2));
	CHECK(cudaFree(p3.ptr));
	free(r);
}

static void pools(cudaStream_t s)
{
	cudaMemPool_t pool;
	cudaMemPoolProps props = {};
	int *d;

	for (int i = 0; i < 3; i++) {
		CHECK(cudaMallocAsync(&d, BYTES, s));
		add<<<N / 256, 256, 0, s>>>(d, N, 1);
		CHECK(cudaFreeAsync(d, s));
	}
	props.allocType = cudaMemAllocationTypePinned;
	props.location = {cudaMemLocationTypeDevice, 0};
	CHECK(cudaMemPoolCreate(&pool, &props));
	CHECK(cudaMallocFromPoolAsync(&d, BYTES, pool, s));
	CHECK(cudaFreeAsync(d, s));
	CHECK(cudaStreamSynchronize(s));
	CHECK(cudaMemPoolTrimTo(pool, 0));
	CHECK(cudaMemPoolDestroy(pool));
}

static void order(cudaStream_t s, int *d)
{
	cudaStream_t other, high;
	cudaEvent_t from, to;
	float ms;
	int calls = 0;

	CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
	CHECK(cudaStreamCreateWithPriority(&high, cudaStreamNonBlocking, -1));
	CHECK(cudaEventCreate(&from));
	CHECK(cudaEventCreateWithFlags(&to, cudaEventDefault));
	for (int i = 0; i < 5; i++) {
		CHECK(cudaEventRecord(from, s));
		add<<<N / 256, 256, 0, s>>>(d, N, i);
		CHECK(cudaEventRecordWithFlags(to, s, 0));
		CHECK(cudaStreamWaitEvent(other, to, 0));
		add<<<N / 256, 256, 0, other>>>(d, N, i);
		CHECK(cudaStreamSynchronize(other));
		CHECK(cudaEventSynchronize(to));
		CHECK(cudaEventQuery(to));
		CHECK(cudaStreamQuery(other));
		CHECK(cudaEventElapsedTime(&ms, from, to));
	}
	CHECK(cudaLaunchHostFunc(s, called, &calls));
	CHECK(cudaStreamAddCallback(s, called_back, &calls, 0));
	CHECK(cudaStreamSynchronize(s));
	CHECK(cudaStreamSynchronize(nullptr));
	CHECK(cudaStreamSynchronize(cudaStreamPerThread));
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaEventDestroy(from));
	CHECK(cudaEventDestroy(to));
	CHECK(cudaStreamDestroy(other));
	CHECK(cudaStreamDestroy(high));
	if (calls != 2)
		fprintf(stderr, "callbacks: %d\n", calls);
}

static void launches(cudaStream_t s, int *d)
{
	int n = N, v = 1;
	void *args[] = {&d, &n, &v}, *one[] = {&d};
	cudaLaunchConfig_t c = {};

	add<<<N / 256, 256>>>(d, N, 1);
	CHECK(cudaLaunchKernel((const void *)add, dim3(N / 256), dim3(256), args, 0, s));
	c.gridDim = dim3(N / 256);
	c.blockDim = dim3(256);
	c.stream = s;
	CHECK(cudaLaunchKernelEx(&c, add, d, n, v));
	CHECK(cudaLaunchCooperativeKernel((const void *)together, dim3(2), dim3(64), one, 0, s));
	CHECK(cudaStreamSynchronize(s));
}

static void graphs(cudaStream_t s, int *d)
{
	cudaGraph_t g, built, copy;
	cudaGraphExec_t x;
	cudaGraphNode_t node, set;
	cudaKernelNodeParams k = {};
	cudaMemsetParams m = {};
	int n = N, v = 1;
	void *args[] = {&d, &n, &v};

	CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
	add<<<N / 256, 256, 0, s>>>(d, N, 1);
	CHECK(cudaMemsetAsync(d, 0, BYTES, s));
	CHECK(cudaStreamEndCapture(s, &g));
	CHECK(cudaGraphInstantiate(&x, g, 0));
	CHECK(cudaGraphUpload(x, s));
	for (int i = 0; i < 4; i++)
		CHECK(cudaGraphLaunch(x, s));
	CHECK(cudaStreamSynchronize(s));
	CHECK(cudaGraphExecDestroy(x));

	CHECK(cudaGraphCreate(&built, 0));
	m.dst = d;
	m.elementSize = 4;
	m.width = N;
	m.height = 1;
	CHECK(cudaGraphAddMemsetNode(&set, built, nullptr, 0, &m));
	k.func = (void *)add;
	k.gridDim = dim3(N / 256);
	k.blockDim = dim3(256);
	k.kernelParams = args;
	CHECK(cudaGraphAddKernelNode(&node, built, &set, 1, &k));
	CHECK(cudaGraphClone(&copy, built));
	CHECK(cudaGraphInstantiate(&x, copy, 0));
	v = 2;
	CHECK(cudaGraphKernelNodeSetParams(node, &k));
	cudaGraphExecUpdateResultInfo info;
	CHECK(cudaGraphExecUpdate(x, built, &info));
	CHECK(cudaGraphLaunch(x, s));
	CHECK(cudaStreamSynchronize(s));
	CHECK(cudaGraphExecDestroy(x));
	CHECK(cudaGraphDestroy(copy));
	CHECK(cudaGraphDestroy(built));
	CHECK(cudaGraphDestroy(g));
}

int main()
{
	cudaStream_t s;
	int *d;

	CHECK(cudaSetDevice(0));
	CHECK(cudaStreamCreate(&s));
	CHECK(cudaMalloc(&d, BYTES));
	memory(s);
	pools(s);
	order(s, d);
	launches(s, d);
	graphs(s, d);
	std::thread t([&] {
		CHECK(cudaMemsetAsync(d, 0, BYTES, cudaStreamPerThread));
		CHECK(cudaStreamSynchronize(cudaStreamPerThread));
	});
	t.join();
	CHECK(cudaFree(d));
	CHECK(cudaStreamDestroy(s));
	CHECK(cudaDeviceSynchronize());
	puts("done");
	return 0;
}
