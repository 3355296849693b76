/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of every kind, copies with shape, contexts, look-up, errors, processes and threads. */
#define _GNU_SOURCE
#include "test.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>

static uint32_t word(CUdeviceptr d)
{
	uint32_t v = 0;

	CU(cuMemcpyDtoH(&v, d, 4));
	return v;
}

static void bounds(void)
{
	CUdeviceptr d;
	char buf[256];
	void *pin;

	test_ctx(0);
	CU(cuMemAlloc(&d, 100));
	CU(cuMemcpyHtoD(d, buf, 100));
	CU(cuMemcpyHtoD(d, buf, 0));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD(d, buf, 101));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoHAsync(buf, d + 50, 51, NULL));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemsetD8(d, 0, 101));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemsetD32(d + 1, 0, 1));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD(0x1234, buf, 4));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD(d, NULL, 4));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemFree(d + 1));
	CU(cuMemHostAlloc(&pin, 64, 0));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD(d, pin, 65));
	CU(cuMemFree(d));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD(d, buf, 4));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemFree(d));
	FAILS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&d, 1ull << 40));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemAlloc(&d, 0));
	/* Nothing is mapped there: a refusal, no crash. */
	CU(cuMemAlloc(&d, 4096));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD(d, (void *)16, 4096));
}

/* Host memory that goes while a copy is pending: an error of the simulated device. */
static void host_gone(void)
{
	CUdeviceptr d;
	CUstream s;
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	test_ctx(0);
	CU(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	CU(cuMemAlloc(&d, 4096));
	CU(cuMemHostRegister(p, 4096, 0));
	CU(cuMemcpyHtoDAsync(d, p, 4096, s));
	munmap(p, 4096);
	FAILS(CUDA_ERROR_ILLEGAL_ADDRESS, cuStreamSynchronize(s));
	FAILS(CUDA_ERROR_ILLEGAL_ADDRESS, cuMemFree(d)); /* sticky */
}

/* The CPU may not touch it; the device can. */
static void guarded(void)
{
	CUdeviceptr d;
	void *p;

	test_ctx(0);
	CU(cuMemAlloc(&d, 4096));
	CU(cuMemHostAlloc(&p, 4096, 0));
	memset(p, 7, 4096);
	CHECK(!mprotect(p, 4096, PROT_NONE));
	CU(cuMemcpyHtoD(d, p, 4096));
	CU(cuMemsetD8((CUdeviceptr)(uintptr_t)p, 9, 16));
	CHECK(!mprotect(p, 4096, PROT_READ));
	CHECK(word(d) == 0x07070707 && *(char *)p == 9);
}

static void reuse(void)
{
	CUdeviceptr a, b, out;
	CUstream s;

	/* Documented view: a free waits for nothing, and the next owner gets the bytes. */
	test_ctx(0);
	CU(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	CU(cuMemAlloc(&out, 4096));
	CU(cuMemAlloc(&a, 4096));
	CU(cuMemsetD32Async(a, 1, 1024, s));
	CU(cuMemcpyDtoDAsync(out, a, 4096, s));
	CU(cuMemFree(a));
	CU(cuMemAlloc(&b, 4096));
	CHECK(a == b);
	CU(cuMemsetD32(b, 2, 1024));
	CU(cuStreamSynchronize(NULL));
	CU(cuStreamSynchronize(s));
	CHECK(word(b) == 1 && word(out) == 1); /* the old owner's write came late */
	CU(cuMemsetD32Async(b, 3, 1024, s));
	CU(cuMemFree(b));
	FAILS(CUDA_ERROR_ILLEGAL_ADDRESS, cuStreamSynchronize(s));
}

static void vmm(void)
{
	CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
				    .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
	CUmemAccessDesc acc = {.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0},
			       .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUmemGenericAllocationHandle h, h2;
	CUdeviceptr a, b;
	size_t g;
	int fd;

	test_ctx(0);
	CU(cuMemGetAllocationGranularity(&g, &prop, 0));
	CU(cuMemCreate(&h, g, &prop, 0));
	CU(cuMemAddressReserve(&a, 2 * g, 0, 0, 0));
	CU(cuMemAddressReserve(&b, g, 0, 0, 0));
	CU(cuMemMap(a, g, 0, h, 0));
	CU(cuMemMap(b, g, 0, h, 0));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemMap(a, g, 0, h, 0));
	CU(cuMemSetAccess(a, g, &acc, 1));
	CU(cuMemSetAccess(b, g, &acc, 1));
	CU(cuMemsetD32(a, 77, 10));
	CHECK(word(b) == 77);
	CU(cuMemExportToShareableHandle(&fd, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
	CU(cuMemImportFromShareableHandle(&h2, (void *)(intptr_t)fd,
					  CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
	CU(cuMemMap(a + g, g, 0, h2, 0));
	CU(cuMemSetAccess(a + g, g, &acc, 1));
	CHECK(word(a + g) == 77);
	CU(cuMemRelease(h));
	CU(cuMemUnmap(a, 2 * g));
	CHECK(word(b) == 77);
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemUnmap(b, g / 2));
	CU(cuMemUnmap(b, g));
	CU(cuMemAddressFree(a, 2 * g));
	CU(cuMemAddressFree(b, g));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemAddressFree(b, g));
	CU(cuMemRelease(h2));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemRelease(h2));
}

static void shapes(void)
{
	unsigned char h[8 * 8 * 4], back[8 * 8 * 4];
	CUdeviceptr d;
	size_t pitch;
	CUarray arr, arr3;

	test_ctx(0);
	for (unsigned i = 0; i < sizeof h; i++)
		h[i] = (unsigned char)i;
	CU(cuMemAllocPitch(&d, &pitch, 8, 8, 4));
	CHECK(pitch >= 8 && pitch % 512 == 0);
	CUDA_MEMCPY2D c = {.srcMemoryType = CU_MEMORYTYPE_HOST,
			   .srcHost = h,
			   .srcPitch = 8,
			   .srcXInBytes = 2,
			   .srcY = 1,
			   .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			   .dstDevice = d,
			   .dstPitch = pitch,
			   .WidthInBytes = 4,
			   .Height = 3};
	CU(cuMemsetD2D8(d, pitch, 0xff, 8, 8));
	CU(cuMemcpy2D(&c));
	memset(back, 0, sizeof back);
	CUDA_MEMCPY2D r = {.srcMemoryType = CU_MEMORYTYPE_UNIFIED,
			   .srcDevice = d,
			   .srcPitch = pitch,
			   .dstMemoryType = CU_MEMORYTYPE_HOST,
			   .dstHost = back,
			   .dstPitch = 8,
			   .WidthInBytes = 8,
			   .Height = 8};
	CU(cuMemcpy2D(&r));
	for (int y = 0; y < 8; y++)
		for (int x = 0; x < 8; x++)
			CHECK(back[y * 8 + x] == (x < 4 && y < 3 ? h[(y + 1) * 8 + x + 2] : 0xff));
	c.Height = 9;
	c.srcHost = back;
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D(&c));

	CUDA_ARRAY_DESCRIPTOR ad = {8, 8, CU_AD_FORMAT_UNSIGNED_INT8, 1};
	CU(cuArrayCreate(&arr, &ad));
	CUDA_MEMCPY2D ca = {.srcMemoryType = CU_MEMORYTYPE_HOST,
			    .srcHost = h,
			    .srcPitch = 8,
			    .dstMemoryType = CU_MEMORYTYPE_ARRAY,
			    .dstArray = arr,
			    .WidthInBytes = 8,
			    .Height = 8};
	CU(cuMemcpy2DAsync(&ca, CU_STREAM_PER_THREAD));
	CU(cuStreamSynchronize(CU_STREAM_PER_THREAD));
	memset(back, 0, sizeof back);
	CU(cuMemcpyAtoH(back, arr, 8, 16));
	CHECK(!memcmp(back, h + 8, 16));

	CUDA_ARRAY3D_DESCRIPTOR a3 = {8, 8, 4, CU_AD_FORMAT_UNSIGNED_INT8, 1, 0};
	CU(cuArray3DCreate(&arr3, &a3));
	CUDA_MEMCPY3D c3 = {.srcMemoryType = CU_MEMORYTYPE_HOST,
			    .srcHost = h,
			    .srcPitch = 8,
			    .srcHeight = 8,
			    .dstMemoryType = CU_MEMORYTYPE_ARRAY,
			    .dstArray = arr3,
			    .WidthInBytes = 8,
			    .Height = 8,
			    .Depth = 4};
	CU(cuMemcpy3D(&c3));
	memset(back, 0, sizeof back);
	CUDA_MEMCPY3D r3 = {.srcMemoryType = CU_MEMORYTYPE_ARRAY,
			    .srcArray = arr3,
			    .srcXInBytes = 1,
			    .srcY = 2,
			    .srcZ = 3,
			    .dstMemoryType = CU_MEMORYTYPE_HOST,
			    .dstHost = back,
			    .dstPitch = 4,
			    .dstHeight = 2,
			    .WidthInBytes = 4,
			    .Height = 2,
			    .Depth = 1};
	CU(cuMemcpy3D(&r3));
	CHECK(back[0] == h[3 * 64 + 2 * 8 + 1] && back[7] == h[3 * 64 + 3 * 8 + 4]);
	r3.srcZ = 4;
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpy3D(&r3));
	CU(cuArrayDestroy(arr));
	FAILS(CUDA_ERROR_INVALID_HANDLE, cuArrayDestroy(arr));
}

static void attributes(void)
{
	CUdeviceptr d, m, base;
	CUcontext c = test_ctx(0), x = NULL;
	unsigned type = 0;
	size_t size;
	void *p;
	int on_stack, dev = -1;

	CU(cuMemAlloc(&d, 1000));
	CU(cuMemAllocManaged(&m, 1000, CU_MEM_ATTACH_GLOBAL));
	CU(cuMemHostAlloc(&p, 1000, CU_MEMHOSTALLOC_PORTABLE));
	CU(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, d + 10));
	CHECK(type == CU_MEMORYTYPE_DEVICE);
	CU(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
				 (CUdeviceptr)(uintptr_t)p));
	CHECK(type == CU_MEMORYTYPE_HOST);
	CU(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_IS_MANAGED, m));
	CHECK(type == 1);
	CU(cuPointerGetAttribute(&x, CU_POINTER_ATTRIBUTE_CONTEXT, d));
	CHECK(x == c);
	CU(cuPointerGetAttribute(&dev, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, d));
	CHECK(dev == 0);
	FAILS(CUDA_ERROR_INVALID_VALUE,
	      cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
				    (CUdeviceptr)(uintptr_t)&on_stack));
	CU(cuMemGetAddressRange(&base, &size, d + 999));
	CHECK(base == d && size == 1000);
	FAILS(CUDA_ERROR_NOT_FOUND, cuMemGetAddressRange(&base, &size, d + 1000));
	CU(cuMemHostGetFlags(&type, p));
	CHECK(type == CU_MEMHOSTALLOC_PORTABLE);
	FAILS(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, cuMemHostRegister(p, 10, 0));
	FAILS(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister(&on_stack));
}

static void contexts(void)
{
	CUcontext p = test_ctx(0), a, b, c;
	CUdeviceptr d, e;
	CUdevice dev;
	CUstream s;
	CUevent ev;

	CU(cuCtxCreate(&a, NULL, 0, 1));
	CU(cuCtxGetCurrent(&c));
	CHECK(c == a);
	CU(cuCtxGetDevice(&dev));
	CHECK(dev == 1);
	CU(cuStreamCreate(&s, 0));
	CU(cuEventCreate(&ev, 0));
	CU(cuMemAlloc(&d, 4));
	CU(cuCtxPopCurrent(&b));
	CHECK(b == a);
	CU(cuCtxGetCurrent(&c));
	CHECK(c == p);
	/* An event and a stream of different contexts. */
	FAILS(CUDA_ERROR_INVALID_HANDLE, cuEventRecord(ev, NULL));
	CU(cuEventRecord(ev, s));
	CU(cuStreamWaitEvent(NULL, ev, 0));
	CU(cuMemAlloc(&e, 4));
	CU(cuMemsetD32Async(d, 5, 1, s));
	CU(cuCtxSynchronize());
	CU(cuStreamSynchronize(s));
	CU(cuMemcpyPeer(e, p, d, a, 4));
	CHECK(word(e) == 5);
	FAILS(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, cuCtxDisablePeerAccess(a));
	CU(cuCtxEnablePeerAccess(a, 0));
	FAILS(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, cuCtxEnablePeerAccess(a, 0));
	CU(cuCtxDestroy(a));
	FAILS(CUDA_ERROR_INVALID_CONTEXT, cuCtxSetCurrent(a));
	FAILS(CUDA_ERROR_INVALID_HANDLE, cuStreamSynchronize(s));
	FAILS(CUDA_ERROR_INVALID_HANDLE, cuEventQuery(ev));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemFree(d));
	CU(cuCtxSetCurrent(NULL));
	FAILS(CUDA_ERROR_INVALID_CONTEXT, cuMemAlloc(&d, 4));
	FAILS(CUDA_ERROR_INVALID_DEVICE, cuDeviceGet(&dev, 2));
	/* The legacy streams of two contexts have nothing to do with each other. */
	CU(cuCtxSetCurrent(p));
	CU(cuDevicePrimaryCtxRelease(0));
	FAILS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuMemAlloc(&d, 4));
}

static void look_up(void)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), *f, *g;
	int st;
	static const struct {
		const char *base;
		int version;
		cuuint64_t flags;
		const char *symbol;
	} t[] = {
		{"cuMemAlloc", 2000, 0, "cuMemAlloc"},
		{"cuMemAlloc", 12000, 0, "cuMemAlloc_v2"},
		{"cuMemcpyHtoDAsync", 12000, 0, "cuMemcpyHtoDAsync_v2"},
		{"cuMemcpyHtoDAsync", 12000, 2, "cuMemcpyHtoDAsync_v2_ptsz"},
		{"cuMemcpyHtoDAsync", 12000, 1, "cuMemcpyHtoDAsync_v2"},
		{"cuMemAlloc", 12000, 2, "cuMemAlloc_v2"},
		{"cuStreamGetCaptureInfo", 11040, 0, "cuStreamGetCaptureInfo_v2"},
		{"cuStreamGetCaptureInfo", 13000, 2, "cuStreamGetCaptureInfo_v3_ptsz"},
		{"cuCtxCreate", 13000, 0, "cuCtxCreate_v4"},
		{"cuCtxCreate", 12000, 0, "cuCtxCreate_v3"},
		{"cuGraphInstantiate", 11040, 0, "cuGraphInstantiate_v2"},
		{"cuGraphInstantiate", 12000, 0, "cuGraphInstantiateWithFlags"},
		{"cuGetProcAddress", 12000, 0, "cuGetProcAddress_v2"},
		{"cuMemPrefetchAsync", 12030, 2, "cuMemPrefetchAsync_v2_ptsz"},
		{"cuEventRecord", 13000, 2, "cuEventRecord_ptsz"},
	};

	CHECK(lib);
	for (unsigned i = 0; i < sizeof t / sizeof *t; i++) {
		CU(cuGetProcAddress(t[i].base, &f, t[i].version, t[i].flags, &st));
		g = dlsym(lib, t[i].symbol);
		if (f != g || st)
			fprintf(stderr, "%s %d: not %s\n", t[i].base, t[i].version, t[i].symbol);
		CHECK(g && f == g && !st);
	}
	CU(cuGetProcAddress("cuNoSuchThing", &f, 13000, 0, &st));
	CHECK(!f && st == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
	CU(cuGetProcAddress("cuCtxGetDevice_v2", &f, 13000, 0, &st));
	CHECK(!f);
	CU(cuGetProcAddress("cuMemAllocAsync", &f, 10000, 0, &st));
	CHECK(!f && st == CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
}

/* A function that is not there says so, once. */
static void stubs(void)
{
	int fd[2], save = dup(2);
	char buf[512];
	ssize_t n;
	CUresult (*f)(void *, void *);

	CHECK(!pipe(fd));
	f = (CUresult(*)(void *, void *))dlsym(RTLD_DEFAULT, "cuTexRefCreate");
	CHECK(f);
	dup2(fd[1], 2);
	FAILS(CUDA_ERROR_NOT_SUPPORTED, f(NULL, NULL));
	FAILS(CUDA_ERROR_NOT_SUPPORTED, f(NULL, NULL));
	dup2(save, 2);
	close(fd[1]);
	n = read(fd[0], buf, sizeof buf - 1);
	buf[n > 0 ? n : 0] = 0;
	CHECK(strstr(buf, "cuTexRefCreate") &&
	      !strstr(strstr(buf, "cuTexRefCreate") + 1, "cuTexRefCreate"));
}

static void uninitialised(void)
{
	CUdeviceptr d;
	int n;

	FAILS(CUDA_ERROR_NOT_INITIALIZED, cuDeviceGetCount(&n));
	FAILS(CUDA_ERROR_NOT_INITIALIZED, cuMemAlloc(&d, 4));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuInit(1));
	CU(cuInit(0));
	CU(cuInit(0));
	CU(cuDeviceGetCount(&n));
	CHECK(n == 2);
}

static void *locker(void *arg)
{
	CUdeviceptr d;

	CU(cuCtxSetCurrent(arg));
	for (;;) {
		CU(cuMemAlloc(&d, 4));
		CU(cuMemFree(d));
	}
	return NULL;
}

/* A child of a process that has used the driver: errors, no crash, no hang, whatever was locked. */
static void forks(void)
{
	CUcontext c = test_ctx(0);
	CUdeviceptr d;
	pthread_t t;

	pthread_create(&t, NULL, locker, c);
	for (int i = 0; i < 20; i++) {
		int st;
		pid_t pid = fork();

		if (!pid) {
			alarm(20);
			if (cuInit(0) != CUDA_ERROR_NOT_INITIALIZED ||
			    cuMemAlloc(&d, 4) != CUDA_ERROR_NOT_INITIALIZED ||
			    cuCtxSynchronize() != CUDA_ERROR_NOT_INITIALIZED)
				_exit(1);
			_exit(0);
		}
		waitpid(pid, &st, 0);
		CHECK(st == 0);
	}
}

static void exits(void)
{
	for (int i = 0; i < 3; i++) {
		int st;
		pid_t pid = fork();

		if (!pid) {
			CUdeviceptr d;
			CUstream s;

			test_ctx(0);
			CU(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
			CU(cuMemAlloc(&d, 1 << 20));
			CU(cuStreamWaitValue32(s, d, 1, CU_STREAM_WAIT_VALUE_EQ));
			for (int k = 0; k < 100; k++)
				CU(cuMemsetD8Async(d, 0, 1 << 20, s));
			if (i == 1)
				usleep(30000);
			if (i == 2)
				_exit(0);
			exit(0);
		}
		waitpid(pid, &st, 0);
		CHECK(st == 0);
	}
}

static void *hammer(void *arg)
{
	uint32_t me = (uint32_t)(uintptr_t)arg;
	CUdeviceptr d, p;
	CUcontext c;
	CUstream s;
	CUevent e;

	CU(cuDevicePrimaryCtxRetain(&c, (int)(me % 2)));
	CU(cuCtxSetCurrent(c));
	CU(cuStreamCreate(&s, me % 3 ? CU_STREAM_NON_BLOCKING : 0));
	CU(cuEventCreate(&e, 0));
	CU(cuMemAlloc(&d, 4096));
	for (uint32_t i = 0; i < 50; i++) {
		CU(cuMemsetD32Async(d, me * 1000 + i, 1024, s));
		CU(cuMemAllocAsync(&p, 4096, s));
		CU(cuMemcpyDtoDAsync(p, d, 4096, s));
		CU(cuEventRecord(e, s));
		CU(cuStreamWaitEvent(CU_STREAM_PER_THREAD, e, 0));
		CU(cuEventSynchronize(e));
		CHECK(word(p) == me * 1000 + i);
		CU(cuMemFreeAsync(p, s));
	}
	CU(cuStreamDestroy(s));
	CU(cuEventDestroy(e));
	CU(cuMemFree(d));
	return NULL;
}

static void threads(void)
{
	pthread_t t[64];

	test_ctx(0);
	for (uintptr_t i = 0; i < 64; i++)
		CHECK(!pthread_create(&t[i], NULL, hammer, (void *)i));
	for (int i = 0; i < 64; i++)
		pthread_join(t[i], NULL);
}

static void errors(void)
{
	const char *s;

	CU(cuGetErrorName(CUDA_ERROR_ILLEGAL_ADDRESS, &s));
	CHECK(!strcmp(s, "CUDA_ERROR_ILLEGAL_ADDRESS"));
	CU(cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &s));
	CHECK(!strcmp(s, "out of memory"));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuGetErrorName((CUresult)12345, &s));
	CHECK(!s);
}

/* Made of their arguments alone; checked as the driver does. */
static void descriptors(void)
{
	cuuint64_t dim[2] = {64, 10}, stride[1] = {256};
	cuuint32_t box[2] = {16, 2}, steps[2] = {1, 1}, far[2] = {16, 257};
	CUtensorMap a, b, kept;
	CUDA_RESOURCE_DESC d = {.resType = CU_RESOURCE_TYPE_LINEAR};
	CUDA_TEXTURE_DESC how = {0};
	CUtexObject t, u;
	CUsurfObject s;
	CUdeviceptr p;

	test_ctx(0);
	CU(cuMemAlloc(&p, 4096));
#define TILED(map, addr, box)                                                                      \
	cuTensorMapEncodeTiled(map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, (void *)(addr), dim, stride,  \
			       box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE, \
			       CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE)
	CU(TILED(&a, p, box));
	CU(TILED(&b, p, box));
	CHECK(!memcmp(&a, &b, sizeof(a)));
	CU(TILED(&kept, p + 256, box));
	CHECK(memcmp(&a, &kept, sizeof(a)));
	CU(cuTensorMapReplaceAddress(&b, (void *)(p + 256)));
	CHECK(!memcmp(&b, &kept, sizeof(b)));
	FAILS(CUDA_ERROR_INVALID_VALUE, TILED(&b, p + 4, box));
	FAILS(CUDA_ERROR_INVALID_VALUE, TILED(&b, p, far));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuTensorMapReplaceAddress(&b, NULL));
	CHECK(!memcmp(&b, &kept, sizeof(b)));
	stride[0] = 20;
	FAILS(CUDA_ERROR_INVALID_VALUE, TILED(&b, p, box));
#undef TILED
	d.res.linear.devPtr = p;
	d.res.linear.format = CU_AD_FORMAT_FLOAT;
	d.res.linear.numChannels = 1;
	d.res.linear.sizeInBytes = 4096;
	CU(cuTexObjectCreate(&t, &d, &how, NULL));
	CU(cuTexObjectCreate(&u, &d, &how, NULL));
	CHECK(t && u && t != u);
	FAILS(CUDA_ERROR_INVALID_VALUE, cuSurfObjectCreate(&s, &d));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuTexObjectCreate(&t, NULL, &how, NULL));
	CU(cuTexObjectDestroy(u));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuTexObjectDestroy(u));
	CU(cuTexObjectDestroy(t));
}

/* What the program's next malloc returns does not depend on the driver. */
static void heap(void)
{
	CUdeviceptr d;
	CUstream s;
	void *p, *q;

	test_ctx(0);
	CU(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	CU(cuMemAlloc(&d, 4096));
	p = malloc(200);
	free(p);
	for (int i = 0; i < 100; i++)
		CU(cuMemsetD8Async(d, 0, 4096, s));
	CU(cuStreamSynchronize(s));
	q = malloc(200);
	CHECK(p == q);
	free(q);
}

static const struct test tests[] = {
	{"bounds", bounds, NULL},
	{"host-gone", host_gone, NULL},
	{"guarded", guarded, NULL},
	{"reuse", reuse, "sim_view=documented"},
	{"vmm", vmm, NULL},
	{"shapes", shapes, NULL},
	{"attributes", attributes, NULL},
	{"contexts", contexts, NULL},
	{"look-up", look_up, NULL},
	{"stubs", stubs, NULL},
	{"uninitialised", uninitialised, NULL},
	{"forks", forks, NULL},
	{"exits", exits, NULL},
	{"threads", threads, NULL},
	{"errors", errors, NULL},
	{"descriptors", descriptors, NULL},
	{"heap", heap, NULL},
	{NULL, NULL, NULL},
};

int main(int argc, char **argv)
{
	return test_main(tests, argc, argv);
}
