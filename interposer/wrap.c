/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exported wrappers, one per ABI variant, made from api.def.  Arguments
 * travel as 64-bit words: on x86-64 and aarch64 every driver argument takes one
 * register or one 8-byte stack slot, except the IPC handles, structs by value,
 * which have wrappers by hand below.
 *
 * Exported names are aliases of hidden functions, so that the table below holds
 * this library's own addresses whatever the program defines.  No locking.
 */
#include "arglist.h"
#include "call.h"
#include "resolve.h"

#define V0
#define V1  a[0]
#define V2  V1, a[1]
#define V3  V2, a[2]
#define V4  V3, a[3]
#define V5  V4, a[4]
#define V6  V5, a[5]
#define V7  V6, a[6]
#define V8  V7, a[7]
#define V9  V8, a[8]
#define V10 V9, a[9]
#define V11 V10, a[10]
#define V12 V11, a[11]
#define V15 V12, a[12], a[13], a[14]
#define V16 V15, a[15]

#define EXPORT __attribute__((visibility("default")))
#define HIDDEN __attribute__((visibility("hidden")))

#ifdef KRT_NOP
#define KRT_DEFINE(sym, argc)                                                               \
	HIDDEN int krt_w_##sym(P##argc);                                                    \
	int krt_w_##sym(P##argc)                                                            \
	{                                                                                   \
		return ((int (*)(P##argc))krt_fn(KRT_API_##sym))(N##argc);                  \
	}                                                                                   \
	EXPORT extern __typeof__(krt_w_##sym) sym __attribute__((alias("krt_w_" #sym)));
#else
/* The recorder may change arguments (host functions get a trampoline): they are read back from a[]. */
#define KRT_DEFINE(sym, argc)                                                               \
	HIDDEN int krt_w_##sym(P##argc);                                                    \
	int krt_w_##sym(P##argc)                                                            \
	{                                                                                   \
		int (*fn)(P##argc) = (int (*)(P##argc))krt_fn(KRT_API_##sym);               \
		uint64_t a[(argc) + 1] = { N##argc };                                       \
		struct krt_call call;                                                       \
                                                                                            \
		call.sp = (uintptr_t)__builtin_dwarf_cfa();                                 \
		if (!krt_call_begin(&call, KRT_API_##sym, a))                               \
			return fn(N##argc);                                                 \
		return krt_call_end(&call, fn(V##argc));                                    \
	}                                                                                   \
	EXPORT extern __typeof__(krt_w_##sym) sym __attribute__((alias("krt_w_" #sym)));
#endif

/* Those with a struct by value are told by name: HANDMADE(sym) is 1 for them. */
#define HAND_cuIpcOpenEventHandle  ~, 1
#define HAND_cuIpcOpenMemHandle    ~, 1
#define HAND_cuIpcOpenMemHandle_v2 ~, 1
#define SECOND(a, b, ...)          b
#define SECOND_(...)               SECOND(__VA_ARGS__)
#define HANDMADE(sym)              SECOND_(HAND_##sym, 0, 0)

#define KRT_PICK_0(sym, argc) KRT_DEFINE(sym, argc)
#define KRT_PICK_1(sym, argc)
#define KRT_PICK__(hand, sym, argc) KRT_PICK_##hand(sym, argc)
#define KRT_PICK_(hand, sym, argc)  KRT_PICK__(hand, sym, argc)

#define KRT_CALL(sym, base, cls, op, flags, argc, ...)                                      \
	_Static_assert(!((flags) & KRT_F_HANDMADE) == !HANDMADE(sym), #sym);                \
	_Static_assert((argc) <= KRT_MAX_ARGS, #sym);                                       \
	KRT_PICK_(HANDMADE(sym), sym, argc)
#define KRT_PASS(sym, base)
#define KRT_NOTE(sym, op, argc, ...)
#define KRT_LIBC(sym, op, argc, ...)
#include "api.def"
#undef KRT_CALL
#undef KRT_PASS
#undef KRT_NOTE
#undef KRT_LIBC

/* ---- by hand: structs by value ---- */

struct ipc_handle {
	char bytes[64];
};
typedef int ipc_open_event(void *, struct ipc_handle);
typedef int ipc_open_mem(void *, struct ipc_handle, unsigned);

HIDDEN ipc_open_event krt_w_cuIpcOpenEventHandle;
HIDDEN ipc_open_mem krt_w_cuIpcOpenMemHandle, krt_w_cuIpcOpenMemHandle_v2;

int krt_w_cuIpcOpenEventHandle(void *event, struct ipc_handle handle)
{
	ipc_open_event *fn = (ipc_open_event *)krt_fn(KRT_API_cuIpcOpenEventHandle);
#ifndef KRT_NOP
	uint64_t a[] = { (uintptr_t)event, (uintptr_t)&handle };
	struct krt_call call;

	call.sp = (uintptr_t)__builtin_dwarf_cfa();
	if (krt_call_begin(&call, KRT_API_cuIpcOpenEventHandle, a))
		return krt_call_end(&call, fn(event, handle));
#endif
	return fn(event, handle);
}

static int open_mem(unsigned id, void *ptr, struct ipc_handle *handle, unsigned flags)
{
	ipc_open_mem *fn = (ipc_open_mem *)krt_fn(id);
#ifndef KRT_NOP
	uint64_t a[] = { (uintptr_t)ptr, (uintptr_t)handle, flags };
	struct krt_call call;

	call.sp = (uintptr_t)__builtin_dwarf_cfa();
	if (krt_call_begin(&call, id, a))
		return krt_call_end(&call, fn(ptr, *handle, flags));
#endif
	return fn(ptr, *handle, flags);
}

int krt_w_cuIpcOpenMemHandle(void *ptr, struct ipc_handle handle, unsigned flags)
{
	return open_mem(KRT_API_cuIpcOpenMemHandle, ptr, &handle, flags);
}

int krt_w_cuIpcOpenMemHandle_v2(void *ptr, struct ipc_handle handle, unsigned flags)
{
	return open_mem(KRT_API_cuIpcOpenMemHandle_v2, ptr, &handle, flags);
}

#define ALIAS(sym) EXPORT extern __typeof__(krt_w_##sym) sym __attribute__((alias("krt_w_" #sym)))
ALIAS(cuIpcOpenEventHandle);
ALIAS(cuIpcOpenMemHandle);
ALIAS(cuIpcOpenMemHandle_v2);

/* an alias must lie in the unit of its target: the resolver's wrappers are forwarded */
EXPORT int cuGetProcAddress(const char *name, void **pfn, int version, uint64_t flags);
EXPORT int cuGetProcAddress_v2(const char *name, void **pfn, int version, uint64_t flags, int *status);

int cuGetProcAddress(const char *name, void **pfn, int version, uint64_t flags)
{
	return krt_get_proc_address(name, pfn, version, flags, __builtin_return_address(0));
}

int cuGetProcAddress_v2(const char *name, void **pfn, int version, uint64_t flags, int *status)
{
	return krt_get_proc_address_v2(name, pfn, version, flags, status, __builtin_return_address(0));
}

void *const krt_wrapper[KRT_NR_APIS] = {
#define KRT_CALL(sym, ...) [KRT_API_##sym] = (void *)krt_w_##sym,
#define KRT_PASS(sym, base)
#define KRT_NOTE(sym, ...)
#define KRT_LIBC(sym, ...)
#include "api.def"
	[KRT_API_cuGetProcAddress] = (void *)cuGetProcAddress,
	[KRT_API_cuGetProcAddress_v2] = (void *)cuGetProcAddress_v2,
};
