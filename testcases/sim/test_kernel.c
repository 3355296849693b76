/* SPDX-License-Identifier: Apache-2.0 */
/* Modules, functions, launches, capture: what needs the PTX interpreter. */
#include "test.h"

#include <pthread.h>

static const char ptx[] =
	".version 7.0\n.target sm_70\n.address_size 64\n"
	".visible .global .align 4 .u32 counter = 5;\n"
	/* add(p, n, v): p[i] += v */
	".visible .entry add(.param .u64 p, .param .u32 n, .param .u32 v)\n{\n"
	".reg .pred %p<2>; .reg .b32 %r<8>; .reg .b64 %rd<4>;\n"
	"ld.param.u64 %rd0, [p]; ld.param.u32 %r0, [n]; ld.param.u32 %r1, [v];\n"
	"mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;\n"
	"mad.lo.u32 %r5, %r2, %r3, %r4; setp.ge.u32 %p0, %r5, %r0; @%p0 bra END;\n"
	"mul.wide.u32 %rd1, %r5, 4; add.u64 %rd2, %rd0, %rd1;\n"
	"ld.global.u32 %r6, [%rd2]; add.u32 %r6, %r6, %r1; st.global.u32 [%rd2], %r6;\n"
	"END: ret;\n}\n"
	/* copyw(d, s): one word */
	".visible .entry copyw(.param .u64 d, .param .u64 s)\n{\n"
	".reg .b32 %r<2>; .reg .b64 %rd<2>;\n"
	"ld.param.u64 %rd0, [d]; ld.param.u64 %rd1, [s];\n"
	"ld.global.u32 %r0, [%rd1]; st.global.u32 [%rd0], %r0; ret;\n}\n"
	/* setw(d, v) */
	".visible .entry setw(.param .u64 d, .param .u32 v)\n{\n"
	".reg .b32 %r<2>; .reg .b64 %rd<2>;\n"
	"ld.param.u64 %rd0, [d]; ld.param.u32 %r0, [v]; st.volatile.global.u32 [%rd0], %r0; "
	"ret;\n}\n"
	/* spin(f, v): until *f == v */
	".visible .entry spin(.param .u64 f, .param .u32 v)\n{\n"
	".reg .pred %p<2>; .reg .b32 %r<2>; .reg .b64 %rd<2>;\n"
	"ld.param.u64 %rd0, [f]; ld.param.u32 %r0, [v];\n"
	"AGAIN: ld.volatile.global.u32 %r1, [%rd0]; setp.ne.u32 %p0, %r1, %r0; @%p0 bra AGAIN; "
	"ret;\n}\n"
	/* wait_ns(n): by the clock */
	".visible .entry wait_ns(.param .u64 n)\n{\n"
	".reg .pred %p<2>; .reg .b64 %rd<4>;\n"
	"ld.param.u64 %rd0, [n]; mov.u64 %rd1, %globaltimer;\n"
	"AGAIN: mov.u64 %rd2, %globaltimer; sub.u64 %rd3, %rd2, %rd1; setp.lt.u64 %p0, %rd3, "
	"%rd0;\n"
	"@%p0 bra AGAIN; ret;\n}\n"
	/* barrier(c, out): all blocks meet twice at counter c */
	".visible .entry barrier(.param .u64 c, .param .u64 out)\n{\n"
	".reg .pred %p<2>; .reg .b32 %r<8>; .reg .b64 %rd<4>;\n"
	"ld.param.u64 %rd0, [c]; ld.param.u64 %rd1, [out]; mov.u32 %r0, %nctaid.x; mov.u32 %r1, "
	"%ctaid.x;\n"
	"atom.global.add.u32 %r2, [%rd0], 1;\n"
	"W: ld.volatile.global.u32 %r3, [%rd0]; setp.lt.u32 %p0, %r3, %r0; @%p0 bra W;\n"
	"mul.wide.u32 %rd2, %r1, 4; add.u64 %rd3, %rd1, %rd2; st.global.u32 [%rd3], %r3; ret;\n}\n"
	/* bump(): counter += 1 */
	".visible .entry bump()\n{\n.reg .b32 %r<2>; .reg .b64 %rd<2>;\n"
	"mov.u64 %rd0, counter; atom.global.add.u32 %r0, [%rd0], 1; ret;\n}\n";

static CUmodule mod;

static CUfunction fun(const char *name)
{
	CUfunction f;

	if (!mod)
		CU(cuModuleLoadData(&mod, ptx));
	CU(cuModuleGetFunction(&f, mod, name));
	return f;
}

static void go(const char *name, CUstream s, void *a, void *b, void *c)
{
	void *params[] = {a, b, c};

	CU(cuLaunchKernel(fun(name), 1, 1, 1, 1, 1, 1, 0, s, params, NULL));
}

static uint32_t word(CUdeviceptr d)
{
	uint32_t v = 0;

	CU(cuMemcpyDtoH(&v, d, 4));
	return v;
}

static void launches(void)
{
	uint32_t h[1000], n = 1000, v = 3;
	struct {
		CUdeviceptr p;
		uint32_t n, v;
	} buf;
	size_t size = sizeof buf;
	CUdeviceptr d;

	test_ctx(0);
	CU(cuMemAlloc(&d, sizeof h));
	for (uint32_t i = 0; i < n; i++)
		h[i] = i;
	CU(cuMemcpyHtoD(d, h, sizeof h));
	void *params[] = {&d, &n, &v};
	CU(cuLaunchKernel(fun("add"), 8, 1, 1, 128, 1, 1, 0, NULL, params, NULL));
	v = 99; /* parameters were copied */
	buf.p = d;
	buf.n = 500;
	buf.v = 7;
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &buf, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
			 CU_LAUNCH_PARAM_END};
	CU(cuLaunchKernel(fun("add"), 8, 1, 1, 128, 1, 1, 0, NULL, NULL, extra));
	v = 1;
	CUlaunchConfig cfg = {8, 1, 1, 128, 1, 1, 0, NULL, NULL, 0};
	CU(cuLaunchKernelEx(&cfg, fun("add"), params, NULL));
	CU(cuMemcpyDtoH(h, d, sizeof h));
	for (uint32_t i = 0; i < n; i++)
		CHECK(h[i] == i + 3 + 1 + (i < 500 ? 7 : 0));
	FAILS(CUDA_ERROR_INVALID_VALUE,
	      cuLaunchKernel(fun("add"), 0, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
	FAILS(CUDA_ERROR_INVALID_VALUE,
	      cuLaunchKernel(fun("add"), 1, 1, 1, 2048, 1, 1, 0, NULL, params, NULL));
	FAILS(CUDA_ERROR_INVALID_VALUE,
	      cuLaunchKernel(fun("add"), 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	FAILS(CUDA_ERROR_INVALID_HANDLE,
	      cuLaunchKernel((CUfunction)&n, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
	FAILS(CUDA_ERROR_NOT_FOUND, cuModuleGetFunction(&(CUfunction){0}, mod, "nothing"));
}

static void libraries(void)
{
	CUlibrary lib;
	CUkernel k, all[16];
	CUfunction f;
	CUmodule m;
	CUdeviceptr d, g;
	uint32_t v = 4;
	unsigned n;
	size_t off, size;
	const char *name;

	test_ctx(0);
	CU(cuMemAlloc(&d, 4));
	CU(cuLibraryLoadData(&lib, ptx, NULL, NULL, 0, NULL, NULL, 0));
	CU(cuLibraryGetKernelCount(&n, lib));
	CHECK(n == 7);
	CU(cuLibraryEnumerateKernels(all, 16, lib));
	CU(cuLibraryGetKernel(&k, lib, "setw"));
	/* A kernel where a function is asked for: the normal case with cudart. */
	void *params[] = {&d, &v};
	CU(cuLaunchKernel((CUfunction)k, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
	CHECK(word(d) == 4);
	CU(cuKernelGetParamInfo(k, 1, &off, &size));
	CHECK(off == 8 && size == 4);
	FAILS(CUDA_ERROR_INVALID_VALUE, cuKernelGetParamInfo(k, 2, &off, &size));
	FAILS(CUDA_ERROR_INVALID_HANDLE, cuFuncGetParamInfo((CUfunction)k, 0, &off, &size));
	CU(cuKernelGetFunction(&f, k));
	CU(cuFuncGetParamInfo(f, 0, &off, &size));
	CHECK(off == 0 && size == 8);
	FAILS(CUDA_ERROR_INVALID_VALUE, cuFuncGetParamInfo(f, 2, &off, &size));
	CU(cuFuncGetName(&name, f));
	CHECK(!strcmp(name, "setw"));
	CU(cuLibraryGetModule(&m, lib));
	CU(cuLibraryGetGlobal(&g, &size, lib, "counter"));
	CHECK(size == 4 && word(g) == 5);
	CU(cuLibraryUnload(lib));
	FAILS(CUDA_ERROR_INVALID_HANDLE,
	      cuLaunchKernel((CUfunction)k, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
}

static void globals(void)
{
	CUdeviceptr g;
	size_t n;

	test_ctx(0);
	fun("bump");
	CU(cuModuleGetGlobal(&g, &n, mod, "counter"));
	for (int i = 0; i < 3; i++)
		CU(cuLaunchKernel(fun("bump"), 2, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
	CHECK(word(g) == 5 + 3 * 64);
	FAILS(CUDA_ERROR_NOT_FOUND, cuModuleGetGlobal(&g, &n, mod, "none"));
	CU(cuModuleUnload(mod));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemsetD8(g, 0, 4));
	FAILS(CUDA_ERROR_INVALID_HANDLE, cuModuleUnload(mod));
}

static void linking(void)
{
	static const char a[] =
		".version 7.0\n.target sm_70\n.address_size 64\n"
		".extern .func (.param .b32 r) twice(.param .b32 x);\n"
		".visible .entry k(.param .u64 d)\n{\n.reg .b32 %r<3>; .reg .b64 %rd<2>;\n"
		"ld.param.u64 %rd0, [d];\n{\n.param .b32 x; .param .b32 r;\n"
		"st.param.b32 [x], 21; call.uni (r), twice, (x); ld.param.b32 %r0, [r];\n}\n"
		"st.global.u32 [%rd0], %r0; ret;\n}\n";
	static const char b[] =
		".version 7.0\n.target sm_70\n.address_size 64\n"
		".visible .func (.param .b32 r) twice(.param .b32 x)\n{\n.reg .b32 %r<3>;\n"
		"ld.param.b32 %r0, [x]; shl.b32 %r1, %r0, 1; st.param.b32 [r], %r1; ret;\n}\n";
	CUlinkState l;
	CUmodule m;
	CUfunction f;
	CUdeviceptr d;
	void *image;
	size_t n;

	test_ctx(0);
	CU(cuMemAlloc(&d, 4));
	CU(cuLinkCreate(0, NULL, NULL, &l));
	CU(cuLinkAddData(l, CU_JIT_INPUT_PTX, (void *)a, sizeof a, "a", 0, NULL, NULL));
	CU(cuLinkAddData(l, CU_JIT_INPUT_PTX, (void *)b, sizeof b, "b", 0, NULL, NULL));
	CU(cuLinkComplete(l, &image, &n));
	CU(cuModuleLoadData(&m, image));
	CU(cuLinkDestroy(l));
	CU(cuModuleGetFunction(&f, m, "k"));
	void *params[] = {&d};
	CU(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
	CHECK(word(d) == 42);
	FAILS(CUDA_ERROR_INVALID_PTX, cuModuleLoadData(&m, a));
}

static void bad_images(void)
{
	char log[512] = "";
	CUjit_option opt[] = {5, 6};
	void *val[] = {log, (void *)sizeof log};
	CUmodule m;

	test_ctx(0);
	FAILS(CUDA_ERROR_INVALID_PTX,
	      cuModuleLoadDataEx(
		      &m, ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k(\n", 2,
		      opt, val));
	CHECK(strstr(log, "line "));
	FAILS(CUDA_ERROR_INVALID_PTX,
	      cuModuleLoadData(&m, ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry "
				   "k()\n{\nfrobnicate.u32 1;\nret;\n}\n"));
	FAILS(CUDA_ERROR_INVALID_IMAGE, cuModuleLoadData(&m, "hello world, this is no PTX"));
	FAILS(CUDA_ERROR_NO_BINARY_FOR_GPU, cuModuleLoadData(&m, "\177ELF............"));
	FAILS(CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
	      cuModuleLoadData(&m, ".version 99.0\n.target sm_70\n.address_size 64\n"));
	FAILS(CUDA_ERROR_FILE_NOT_FOUND, cuModuleLoad(&m, "/nonexistent/file"));
}

static void faults(void)
{
	CUdeviceptr d, bad = 0x1000;
	CUcontext c = test_ctx(0), c1;
	uint32_t v = 1;

	CU(cuMemAlloc(&d, 4));
	go("setw", NULL, &bad, &v, NULL);
	FAILS(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
	FAILS(CUDA_ERROR_ILLEGAL_ADDRESS, cuMemAlloc(&d, 4));
	FAILS(CUDA_ERROR_ILLEGAL_ADDRESS, cuMemcpyDtoH(&v, d, 4));
	FAILS(CUDA_ERROR_ILLEGAL_ADDRESS, cuStreamSynchronize(NULL));
	/* Other contexts live on. */
	CU(cuDevicePrimaryCtxRetain(&c1, 1));
	CU(cuCtxSetCurrent(c1));
	CU(cuMemAlloc(&d, 4));
	CU(cuMemsetD32(d, 3, 1));
	CHECK(word(d) == 3);
	/* A reset makes the broken one usable again. */
	CU(cuDevicePrimaryCtxReset(0));
	CU(cuCtxSetCurrent(c));
	CU(cuMemAlloc(&d, 4));
	CHECK(word(d) == word(d));
}

/* Just past its allocation, and memory of another device without peer access. */
static void fault_where(void)
{
	CUcontext c0 = test_ctx(0), c1;
	CUdeviceptr d, other, past;
	uint32_t v = 1;

	CU(cuMemAlloc(&d, 512));
	CU(cuDevicePrimaryCtxRetain(&c1, 1));
	CU(cuCtxSetCurrent(c1));
	CU(cuMemAlloc(&other, 4));
	CU(cuCtxSetCurrent(c0));
	CU(cuCtxEnablePeerAccess(c1, 0));
	go("setw", NULL, &other, &v, NULL);
	CU(cuCtxSynchronize());
	CU(cuCtxDisablePeerAccess(c1));
	past = d + 512;
	go("setw", NULL, &past, &v, NULL);
	FAILS(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
	CU(cuDevicePrimaryCtxReset(0));
	mod = NULL;
	go("setw", NULL, &other, &v, NULL);
	FAILS(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
}

static void spin_host(void)
{
	volatile uint32_t *f;
	CUdeviceptr d;
	uint32_t one = 1;
	CUstream s;
	void *p;

	test_ctx(0);
	CU(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	CU(cuMemHostAlloc(&p, 4096, CU_MEMHOSTALLOC_DEVICEMAP));
	CU(cuMemHostGetDevicePointer(&d, p, 0));
	f = p;
	go("spin", s, &d, &one, NULL);
	CU(cuMemsetD32Async(d + 4, 7, 1, s));
	usleep(60000);
	FAILS(CUDA_ERROR_NOT_READY, cuStreamQuery(s));
	FAILS(CUDA_ERROR_NOT_READY, cuStreamQuery(s));
	CHECK(f[1] == 0);
	f[0] = 1;
	CU(cuStreamSynchronize(s));
	CHECK(f[1] == 7);
}

static void spin_streams(void)
{
	CUdeviceptr d, e;
	uint32_t one = 1;
	CUstream a, b;

	test_ctx(0);
	CU(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
	CU(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
	CU(cuMemAlloc(&d, 8));
	CU(cuMemsetD32(d, 0, 2));
	CU(cuCtxSynchronize());
	e = d + 4;
	/* a waits for b, b for a. */
	go("setw", a, &d, &one, NULL);
	go("spin", a, &e, &one, NULL);
	go("spin", b, &d, &one, NULL);
	go("setw", b, &e, &one, NULL);
	CU(cuStreamSynchronize(a));
	CU(cuStreamSynchronize(b));
	CHECK(word(d) == 1 && word(e) == 1);
}

static void cooperative(void)
{
	CUdeviceptr c, out;
	void *params[] = {&c, &out};

	test_ctx(0);
	CU(cuMemAlloc(&c, 4));
	CU(cuMemAlloc(&out, 64 * 4));
	CU(cuMemsetD32(c, 0, 1));
	CU(cuLaunchCooperativeKernel(fun("barrier"), 64, 1, 1, 1, 1, 1, 0, NULL, params));
	CU(cuCtxSynchronize());
	for (int i = 0; i < 64; i++)
		CHECK(word(out + 4 * (CUdeviceptr)i) == 64);
	FAILS(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
	      cuLaunchCooperativeKernel(fun("barrier"), 4096, 1, 1, 1, 1, 1, 0, NULL, params));
}

static void clocks(void)
{
	uint64_t ns = 400000000;
	CUevent a, b;
	float ms;

	test_ctx(0);
	CU(cuEventCreate(&a, 0));
	CU(cuEventCreate(&b, 0));
	fun("wait_ns");
	CU(cuEventRecord(a, NULL));
	go("wait_ns", NULL, &ns, NULL, NULL);
	CU(cuEventRecord(b, NULL));
	CU(cuEventSynchronize(b));
	CU(cuEventElapsedTime(&ms, a, b));
	CHECK(ms >= 400 && ms < 440);
}

static void in_seeds(void (*f)(void))
{
	for (int seed = 1; seed <= 20; seed++) {
		char v[16];
		int st;

		fflush(NULL);
		if (!fork()) {
			snprintf(v, sizeof v, "%d", seed);
			setenv("KRTSAN_SIM_SEED", v, 1);
			f();
			_exit(0);
		}
		wait(&st);
		CHECK(st == 0);
	}
}

static void race_body(void)
{
	CUdeviceptr x, y;
	CUstream a, b;
	CUevent e;
	uint32_t v = 7;

	test_ctx(0);
	CU(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
	CU(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
	CU(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
	CU(cuMemAlloc(&x, 4));
	CU(cuMemAlloc(&y, 4));
	fun("setw");
	for (int edge = 0; edge < 2; edge++) {
		CU(cuMemsetD32(x, 0, 1));
		CU(cuMemsetD32(y, 0, 1));
		CU(cuCtxSynchronize());
		go("setw", a, &x, &v, NULL);
		CU(cuEventRecord(e, a));
		if (edge)
			CU(cuStreamWaitEvent(b, e, 0));
		go("copyw", b, &y, &x, NULL);
		CU(cuStreamSynchronize(a));
		CU(cuStreamSynchronize(b));
		CHECK(word(y) == (edge ? 7 : 0));
	}
}

static void races(void)
{
	in_seeds(race_body);
}

/* Work of another stream that nobody asked for stays undone. */
static void lazy(void)
{
	CUdeviceptr x;
	CUstream a, b;
	uint32_t v = 7, *p;
	void *h;

	test_ctx(0);
	CU(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
	CU(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
	CU(cuMemAlloc(&x, 4));
	CU(cuMemHostAlloc(&h, 8, 0));
	fun("setw"); /* loading waits for the device */
	p = h;
	p[0] = 1;
	CU(cuMemcpyDtoHAsync(h, x, 4, b));
	go("setw", a, &(CUdeviceptr){(CUdeviceptr)(uintptr_t)h + 4}, &v, NULL);
	CU(cuStreamSynchronize(a));
	CHECK(p[0] == 1 && p[1] == 7);
	CU(cuStreamSynchronize(b));
	CHECK(p[0] == 0);
}

static bool loaded_late;
static volatile uint32_t *gate;

static void *open_gate(void *arg)
{
	(void)arg;
	usleep(60000);
	*gate = 1;
	return NULL;
}

static void load_waits(void)
{
	bool doc = getenv("KRTSAN_OPTIONS") && strstr(getenv("KRTSAN_OPTIONS"), "documented");
	CUstream s;
	CUmodule m;
	pthread_t t;
	void *p;

	test_ctx(0);
	CU(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	CU(cuMemHostAlloc(&p, 4096, 0));
	gate = p;
	CU(cuStreamWaitValue32(s, (CUdeviceptr)(uintptr_t)p, 1, CU_STREAM_WAIT_VALUE_EQ));
	pthread_create(&t, NULL, open_gate, NULL);
	CU(cuModuleLoadData(&m, ptx));
	loaded_late = *gate == 1;
	pthread_join(t, NULL);
	CHECK(loaded_late == !doc);
	CU(cuCtxSynchronize());
}

/* The module goes while its kernel is pending. */
static void unload_pending(void)
{
	CUdeviceptr d;
	CUstream s;
	uint32_t v = 6;

	test_ctx(0);
	CU(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	CU(cuMemAlloc(&d, 4));
	go("setw", s, &d, &v, NULL);
	CU(cuModuleUnload(mod));
	CU(cuStreamSynchronize(s));
	CHECK(word(d) == 6);
}

static void capture(void)
{
	CUdeviceptr d;
	CUstream s, t;
	CUevent e, f;
	CUgraph g;
	CUgraphExec x;
	CUstreamCaptureStatus st;
	uint32_t n = 4, v = 1;
	size_t nn = 0;

	test_ctx(0);
	CU(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	CU(cuStreamCreate(&t, CU_STREAM_NON_BLOCKING));
	CU(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
	CU(cuEventCreate(&f, CU_EVENT_DISABLE_TIMING));
	CU(cuMemAlloc(&d, 32));
	CU(cuMemsetD32(d, 0, 8));
	fun("add");
	CU(cuCtxSynchronize());
	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	CU(cuStreamIsCapturing(s, &st));
	CHECK(st == CU_STREAM_CAPTURE_STATUS_ACTIVE);
	void *params[] = {&d, &n, &v};
	CU(cuLaunchKernel(fun("add"), 1, 1, 1, 4, 1, 1, 0, s, params, NULL));
	CU(cuEventRecord(e, s));
	CU(cuStreamWaitEvent(t, e, 0));
	CU(cuMemcpyDtoDAsync(d + 16, d, 16, t));
	CU(cuEventRecord(f, t));
	CU(cuStreamWaitEvent(s, f, 0));
	CU(cuLaunchKernel(fun("add"), 1, 1, 1, 4, 1, 1, 0, s, params, NULL));
	CU(cuStreamEndCapture(s, &g));
	CU(cuStreamQuery(s)); /* nothing ran */
	CHECK(word(d) == 0);
	CU(cuGraphGetNodes(g, NULL, &nn));
	CHECK(nn == 3);
	CU(cuGraphInstantiate(&x, g, 0));
	CU(cuGraphDestroy(g));
	for (uint32_t i = 1; i <= 5; i++) {
		CU(cuGraphLaunch(x, i % 2 ? s : t));
		CU(cuCtxSynchronize());
		CHECK(word(d) == 2 * i && word(d + 16) == 2 * i - 1);
	}
	/* Launches of one executable follow each other, on any stream. */
	for (uint32_t i = 0; i < 5; i++)
		CU(cuGraphLaunch(x, i % 2 ? s : t));
	CU(cuGraphExecDestroy(x));
	CU(cuCtxSynchronize());
	CHECK(word(d) == 20 && word(d + 16) == 19);
}

static void capture_errors(void)
{
	CUdeviceptr d;
	CUstream s, t, bl;
	CUevent e, out;
	CUgraph g;

	test_ctx(0);
	CU(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	CU(cuStreamCreate(&t, CU_STREAM_NON_BLOCKING));
	CU(cuStreamCreate(&bl, 0));
	CU(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
	CU(cuEventCreate(&out, CU_EVENT_DISABLE_TIMING));
	CU(cuMemAlloc(&d, 4));
	FAILS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
	      cuStreamBeginCapture(NULL, CU_STREAM_CAPTURE_MODE_GLOBAL));
	FAILS(CUDA_ERROR_ILLEGAL_STATE, cuStreamEndCapture(s, &g));
	/* A fork that is not joined. */
	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	CU(cuMemsetD32Async(d, 1, 1, s));
	CU(cuEventRecord(e, s));
	CU(cuStreamWaitEvent(t, e, 0));
	CU(cuMemsetD32Async(d, 2, 1, t));
	FAILS(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, cuStreamEndCapture(s, &g));
	/* The host asks for an event of the capture. */
	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	CU(cuEventRecord(e, s));
	FAILS(CUDA_ERROR_CAPTURED_EVENT, cuEventQuery(e));
	FAILS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuMemsetD32Async(d, 1, 1, s));
	FAILS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(s, &g));
	/* An event from outside. */
	CU(cuEventRecord(out, t));
	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	FAILS(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, cuStreamWaitEvent(s, out, 0));
	FAILS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(s, &g));
	CHECK(!g);
	/* A synchronising call. */
	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	FAILS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuCtxSynchronize());
	FAILS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(s, &g));
	/* The legacy stream while a blocking stream captures. */
	CU(cuStreamBeginCapture(bl, CU_STREAM_CAPTURE_MODE_RELAXED));
	FAILS(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, cuMemsetD32Async(d, 1, 1, NULL));
	FAILS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(bl, &g));
	CU(cuMemsetD32Async(d, 1, 1, NULL));
	CU(cuCtxSynchronize());
}

static void multi_device(void)
{
	CUDA_LAUNCH_PARAMS l[2];
	CUcontext c[2];
	CUstream s[2];
	CUdeviceptr d[2];
	CUmodule m;
	uint32_t v[2] = {10, 20};
	void *params[2][2];

	for (int i = 0; i < 2; i++) {
		c[i] = test_ctx(i);
		CU(cuStreamCreate(&s[i], CU_STREAM_NON_BLOCKING));
		CU(cuMemAlloc(&d[i], 4));
		CU(cuModuleLoadData(&m, ptx));
		l[i] = (CUDA_LAUNCH_PARAMS){.gridDimX = 1,
					    .gridDimY = 1,
					    .gridDimZ = 1,
					    .blockDimX = 1,
					    .blockDimY = 1,
					    .blockDimZ = 1,
					    .hStream = s[i]};
		CU(cuModuleGetFunction(&l[i].function, m, "setw"));
		params[i][0] = &d[i];
		params[i][1] = &v[i];
		l[i].kernelParams = params[i];
	}
	CU(cuLaunchCooperativeKernelMultiDevice(l, 2, 0));
	/* Later work of either stream waits for both. */
	CU(cuStreamSynchronize(s[0]));
	for (int i = 0; i < 2; i++) {
		CU(cuCtxSetCurrent(c[i]));
		CHECK(word(d[i]) == v[i]);
	}
}

static const struct test tests[] = {
	{"launches", launches, NULL},
	{"libraries", libraries, NULL},
	{"globals", globals, NULL},
	{"linking", linking, NULL},
	{"bad-images", bad_images, NULL},
	{"faults", faults, NULL},
	{"fault-where", fault_where, NULL},
	{"spin-host", spin_host, NULL},
	{"spin-streams", spin_streams, NULL},
	{"cooperative", cooperative, NULL},
	{"clocks", clocks, NULL},
	{"races", races, NULL},
	{"lazy", lazy, NULL},
	{"load-waits", load_waits, NULL},
	{"load-waits-documented", load_waits, "sim_view=documented"},
	{"unload-pending", unload_pending, "sim_view=documented"},
	{"capture", capture, NULL},
	{"capture-errors", capture_errors, NULL},
	{"multi-device", multi_device, NULL},
	{NULL, NULL, NULL},
};

int main(int argc, char **argv)
{
	return test_main(tests, argc, argv);
}
