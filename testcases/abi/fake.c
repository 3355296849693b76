/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A libcuda.so.1 that does nothing, made from api.def: every export counts its
 * calls and keeps its arguments.  What the preload library's recorder asks the
 * driver for is answered with fixed values.  FAKE_OLD leaves out what came with
 * CUDA 12, FAKE_SECOND only differs in its address.
 */
#define _GNU_SOURCE
#include "fake.h"
#include "api.h"
#include "arglist.h"

#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

static struct {
	unsigned calls;
	uint64_t args[KRT_MAX_ARGS];
} seen[KRT_NR_APIS];

static int behave(unsigned id, uint64_t *a);

EXPORT struct fake_control fake;

/* fake_NAME is what its own table points to, NAME the export */
#define DEFINE(sym, argc)                                                                   \
	static int fake_##sym(P##argc)                                                      \
	{                                                                                   \
		uint64_t a[KRT_MAX_ARGS] = { N##argc };                                     \
                                                                                            \
		return behave(KRT_API_##sym, a);                                            \
	}                                                                                   \
	EXPORT extern __typeof__(fake_##sym) sym __attribute__((alias("fake_" #sym)));

/* struct by value on the stack: arguments as they come */
struct handle {
	char bytes[64];
};
#define OPEN(sym)                                                                           \
	static int fake_##sym(uint64_t out, struct handle h, unsigned flags)                \
	{                                                                                   \
		uint64_t a[KRT_MAX_ARGS] = { out, 0, flags };                               \
                                                                                            \
		memcpy(&a[1], h.bytes, 8);                                                  \
		memcpy(&a[3], h.bytes + 56, 8);                                             \
		return behave(KRT_API_##sym, a);                                            \
	}                                                                                   \
	EXPORT extern __typeof__(fake_##sym) sym __attribute__((alias("fake_" #sym)));
OPEN(cuIpcOpenMemHandle)
OPEN(cuIpcOpenMemHandle_v2)
static int fake_cuIpcOpenEventHandle(uint64_t out, struct handle h)
{
	uint64_t a[KRT_MAX_ARGS] = { out };

	memcpy(&a[1], h.bytes, 8);
	memcpy(&a[3], h.bytes + 56, 8);
	return behave(KRT_API_cuIpcOpenEventHandle, a);
}
EXPORT extern __typeof__(fake_cuIpcOpenEventHandle) cuIpcOpenEventHandle
	__attribute__((alias("fake_cuIpcOpenEventHandle")));

#define HAND_cuIpcOpenEventHandle  ~, 1
#define HAND_cuIpcOpenMemHandle    ~, 1
#define HAND_cuIpcOpenMemHandle_v2 ~, 1
#ifdef FAKE_OLD
#define HAND_cuLaunchKernelEx      ~, 1
#define HAND_cuLaunchKernelEx_ptsz ~, 1
#define HAND_cuGetProcAddress_v2   ~, 1
#define HAND_cuFuncGetParamInfo    ~, 1
#define HAND_cuKernelGetParamInfo  ~, 1
#define HAND_cuMemcpyBatchAsync_v2 ~, 1
#endif
#define SECOND(a, b, ...) b
#define SECOND_(...)      SECOND(__VA_ARGS__)
#define HAND(sym)         SECOND_(HAND_##sym, 0, 0)
#define PICK_0(sym, argc) DEFINE(sym, argc)
#define PICK_1(sym, argc)
#define PICK__(hand, sym, argc) PICK_##hand(sym, argc)
#define PICK_(hand, sym, argc)  PICK__(hand, sym, argc)

#define KRT_CALL(sym, base, cls, op, flags, argc, ...) PICK_(HAND(sym), sym, argc)
#define KRT_PASS(sym, base)                            PICK_(HAND(sym), sym, 8)
#define KRT_NOTE(sym, ...)
#define KRT_LIBC(sym, ...)
#include "api.def"
#undef KRT_CALL
#undef KRT_PASS

/* not in the table: a driver newer than it */
static int fake_cuTomorrow(uint64_t a0)
{
	return a0 == 7 ? 0 : 1;
}

#define TAKE_0(sym) [KRT_API_##sym] = (void *)fake_##sym,
#define TAKE_1(sym)
#define TAKE__(hand, sym) TAKE_##hand(sym)
#define TAKE_(hand, sym)  TAKE__(hand, sym)
static void *const own[KRT_NR_APIS] = {
#define KRT_CALL(sym, ...) TAKE_(HAND(sym), sym)
#define KRT_PASS(sym, base) TAKE_(HAND(sym), sym)
#include "api.def"
	[KRT_API_cuIpcOpenEventHandle] = (void *)fake_cuIpcOpenEventHandle,
	[KRT_API_cuIpcOpenMemHandle] = (void *)fake_cuIpcOpenMemHandle,
	[KRT_API_cuIpcOpenMemHandle_v2] = (void *)fake_cuIpcOpenMemHandle_v2,
};

static int find(const char *name)
{
	for (int i = 0; i < KRT_NR_APIS; i++)
		if (own[i] && !strcmp(krt_api[i].symbol, name))
			return i;
	return -1;
}

static void *fake_address(const char *name)
{
	int id = find(name);

	return id < 0 ? NULL : own[id];
}

static unsigned fake_calls(const char *name)
{
	int id = find(name);

	return id < 0 ? 0 : __atomic_load_n(&seen[id].calls, __ATOMIC_RELAXED);
}

static const uint64_t *fake_args(const char *name)
{
	int id = find(name);

	return id < 0 ? NULL : seen[id].args;
}

__attribute__((constructor)) static void fill(void)
{
	fake.address = fake_address;
	fake.calls = fake_calls;
	fake.args = fake_args;
}

/* ---- resolver ---- */

static void *resolve(const char *name, int version, uint64_t flags)
{
	char try[128];
	static const char *const suffix[] = { "_v4", "_v3", "_v2", "" };

	if (!*name || strlen(name) > 100)
		return NULL;
	if (!strcmp(name, "cuTomorrow"))
		return (void *)fake_cuTomorrow;
	if (!strcmp(name, "cuGetProcAddress"))
		return fake_address(version >= 12000 ? "cuGetProcAddress_v2" : "cuGetProcAddress");
	if (!strcmp(name, "cuCtxSynchronize"))
		return fake_address(version >= 13000 ? "cuCtxSynchronize_v2" : "cuCtxSynchronize");
	for (unsigned pass = flags & 2 ? 0 : 1; pass < 2; pass++)
		for (unsigned i = 0; i < 4; i++) {
			static const char *const pt[] = { "_ptsz", "_ptds" };

			for (unsigned k = 0; k < (pass ? 1u : 2u); k++) {
				void *p;

				strcpy(try, name);
				strcat(try, suffix[i]);
				if (!pass)
					strcat(try, pt[k]);
				p = fake_address(try);
				if (p)
					return p;
			}
		}
	return NULL;
}

/* ---- host functions ---- */

struct host {
	uint64_t fn, data, stream;
	int callback;
};

static void *host_run(void *p)
{
	struct host h = *(struct host *)p;

	free(p);
	if (h.callback)
		((void (*)(uint64_t, int, uint64_t))h.fn)(h.stream, 0, h.data);
	else
		((void (*)(uint64_t))h.fn)(h.data);
	return NULL;
}

static void host_function(uint64_t stream, uint64_t fn, uint64_t data, int callback)
{
	struct host *h = malloc(sizeof *h);
	pthread_t t;

	*h = (struct host){ fn, data, stream, callback };
	if (fake.host_thread && !pthread_create(&t, NULL, host_run, h))
		pthread_join(t, NULL);
	else
		host_run(h);
}

/* ---- answers ---- */

static int behave(unsigned id, uint64_t *a)
{
	static uint64_t next = 0x7f0000000000, handle = 0x100000;

	__atomic_add_fetch(&seen[id].calls, 1, __ATOMIC_RELAXED);
	memcpy(seen[id].args, a, sizeof seen[id].args);
	if (fake.result && id != KRT_API_cuCtxGetCurrent)
		return fake.result;
	switch (id) {
	case KRT_API_cuInit: {
		void *self = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);

		fake.inner_dlsym = self && dlsym(self, "cuMemAlloc_v2") == own[KRT_API_cuMemAlloc_v2] ? 1 : -1;
		if (self)
			dlclose(self);
		return getenv("FAKE_INIT") ? atoi(getenv("FAKE_INIT")) : 0;
	}
	case KRT_API_cuGetProcAddress: {
		void *p = resolve((const char *)a[0], (int)a[2], a[3]);

		if (!p)
			return 500;
		*(void **)a[1] = p;
		return 0;
	}
#ifndef FAKE_OLD
	case KRT_API_cuGetProcAddress_v2: {
		void *p = resolve((const char *)a[0], (int)a[2], a[3]);

		*(void **)a[1] = p;
		if (a[4])
			*(int *)a[4] = p ? 0 : 1;
		return 0;
	}
#endif
	case KRT_API_cuDriverGetVersion:
		*(int *)a[0] = 13000;
		return 0;
	case KRT_API_cuCtxGetCurrent:
		*(uint64_t *)a[0] = 0xc0de00;
		return 0;
	case KRT_API_cuCtxGetDevice:
		*(int *)a[0] = 0;
		return 0;
	case KRT_API_cuCtxGetId:
		*(uint64_t *)a[1] = 77;
		return 0;
	case KRT_API_cuCtxGetFlags:
	case KRT_API_cuStreamGetFlags:
		*(unsigned *)(id == KRT_API_cuCtxGetFlags ? a[0] : a[1]) = 1;
		return 0;
	case KRT_API_cuStreamGetId:
		*(uint64_t *)a[1] = 1000 + a[0];
		return 0;
	case KRT_API_cuStreamGetCtx:
		*(uint64_t *)a[1] = 0xc0de00;
		return 0;
	case KRT_API_cuDeviceGetAttribute:
		*(int *)a[0] = (int)a[1];
		return 0;
	case KRT_API_cuDeviceGetName:
		strncpy((char *)a[0], "Fake", (size_t)(int)a[1]);
		return 0;
	case KRT_API_cuStreamIsCapturing:
	case KRT_API_cuStreamIsCapturing_ptsz:
		*(int *)a[1] = fake.capturing;
		return 0;
	case KRT_API_cuMemAlloc_v2:
		*(uint64_t *)a[0] = __atomic_fetch_add(&next, (a[1] + 4095) & ~4095ull, __ATOMIC_RELAXED);
		if (fake.inner_call) {
			uint64_t ctx;
			int (*freer)(uint64_t) = (int (*)(uint64_t))dlsym(RTLD_DEFAULT, "cuMemFree_v2");

			((int (*)(uint64_t *))own[KRT_API_cuCtxGetCurrent])(&ctx);
			if (freer)
				freer(0xdead);
		}
		return 0;
	case KRT_API_cuStreamCreate:
	case KRT_API_cuEventCreate:
	case KRT_API_cuModuleLoadData:
	case KRT_API_cuModuleGetFunction:
		*(uint64_t *)a[0] = __atomic_fetch_add(&handle, 64, __ATOMIC_RELAXED);
		return 0;
	case KRT_API_cuLaunchHostFunc:
	case KRT_API_cuLaunchHostFunc_ptsz:
		host_function(a[0], a[1], a[2], 0);
		return 0;
	case KRT_API_cuStreamAddCallback:
	case KRT_API_cuStreamAddCallback_ptsz:
		host_function(a[0], a[1], a[2], 1);
		return 0;
	case KRT_API_cuStreamSynchronize:
		if (fake.exec_inside)
			longjmp(*(jmp_buf *)fake.jump, 1);
		return 0;
#ifndef FAKE_OLD
	case KRT_API_cuFuncGetParamInfo:
	case KRT_API_cuKernelGetParamInfo: {
		static const unsigned offset[] = { 0, 8, 16, 24 }, size[] = { 8, 4, 8, 40 };

		if (fake.kernels == 2 || (fake.kernels == 1) != (id == KRT_API_cuKernelGetParamInfo))
			return 400;
		if (a[1] >= (fake.unload ? 3u : 4u))
			return 1;
		*(uint64_t *)a[2] = offset[a[1]];
		*(uint64_t *)a[3] = size[a[1]];
		return 0;
	}
#endif
	case KRT_API_cuFuncGetName:
	case KRT_API_cuKernelGetName:
		*(const char **)a[0] = "_Z4fakePfiPd";
		return 0;
	case KRT_API_cuFuncGetModule:
	case KRT_API_cuKernelGetLibrary:
		*(uint64_t *)a[0] = 0x30d;
		return 0;
	}
	return 0;
}
