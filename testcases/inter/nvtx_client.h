/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client of NVTX's injection ABI, for machines without NVIDIA's headers: the
 * same names, as much as nvtx.c calls.  Like the headers it opens the library named
 * by NVTX_INJECTION64_PATH at the first call, and does nothing where none is named
 * or its entry point answers 0.
 */
#ifndef NVTX_CLIENT_H
#define NVTX_CLIENT_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <wchar.h>

#define NVTX_EXT_COMPATID_MEM		       0x0102
#define NVTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR 1
#define NVTX_MEM_HEAP_USAGE_TYPE_LAYOUT	       2
#define NVTX_MEM_TYPE_VIRTUAL_ADDRESS	       1
#define NVTX_MEM_REGION_REF_TYPE_POINTER       1
#define NVTX_MEM_REGION_REF_TYPE_HANDLE	       2
#define NVTX_MESSAGE_TYPE_ASCII		       1
#define NVTX_MESSAGE_TYPE_UNICODE	       2
#define NVTX_MEM_PERMISSIONS_REGION_FLAGS_READ 1
#define NVTX_MEM_PERMISSIONS_BIND_SCOPE_CUDA_STREAM 2

typedef void *nvtxDomainHandle_t, *nvtxMemHeapHandle_t, *nvtxMemRegionHandle_t, *nvtxMemPermissionsHandle_t;
typedef union {
	const char *ascii;
	const wchar_t *unicode;
	void *registered;
} nvtxMessageValue_t;
typedef union {
	void const *pointer;
	nvtxMemRegionHandle_t handle;
} nvtxMemRegionRef_t;
typedef struct {
	size_t size;
	void const *ptr;
} nvtxMemVirtualRangeDesc_t;
typedef struct {
	uint16_t extCompatID, structSize;
	uint32_t reserved0, usage, type;
	size_t typeSpecificDescSize;
	void const *typeSpecificDesc;
	uint32_t category, messageType;
	nvtxMessageValue_t message;
} nvtxMemHeapDesc_t;
typedef struct {
	uint16_t extCompatID, structSize;
	uint32_t regionType;
	nvtxMemHeapHandle_t heap;
	size_t regionCount, regionDescElementSize;
	void const *regionDescElements;
	nvtxMemRegionHandle_t *regionHandleElementsOut;
} nvtxMemRegionsRegisterBatch_t;
typedef struct {
	uint16_t extCompatID, structSize;
	uint32_t regionType;
	size_t regionDescCount, regionDescElementSize;
	void const *regionDescElements;
} nvtxMemRegionsResizeBatch_t;
typedef struct {
	uint16_t extCompatID, structSize;
	uint32_t refType;
	size_t refCount, refElementSize;
	nvtxMemRegionRef_t const *refElements;
} nvtxMemRegionsUnregisterBatch_t;
typedef struct {
	uint32_t regionRefType, nameType;
	nvtxMemRegionRef_t region;
	nvtxMessageValue_t name;
	uint32_t category, reserved0;
} nvtxMemRegionNameDesc_t;
typedef struct {
	uint16_t extCompatID, structSize;
	uint32_t reserved0;
	size_t regionCount, regionElementSize;
	nvtxMemRegionNameDesc_t const *regionElements;
	size_t reserved1;
} nvtxMemRegionsNameBatch_t;
typedef struct {
	uint32_t flags, regionRefType;
	nvtxMemRegionRef_t region;
} nvtxMemPermissionsAssignRegionDesc_t;
typedef struct {
	uint16_t extCompatID, structSize;
	uint32_t reserved0;
	nvtxMemPermissionsHandle_t permissions;
	size_t regionCount, regionElementSize;
	nvtxMemPermissionsAssignRegionDesc_t const *regionElements;
	size_t reserved1;
} nvtxMemPermissionsAssignBatch_t;

/* --- core ---------------------------------------------------------------------------- */

typedef void client_fn(void);
static void client_init_thunk(void)
{
}
static client_fn *client_core[16], *client_cuda[9], *client_core2[16], *client_cudart[7];
static client_fn **client_core_table[16], **client_cuda_table[9], **client_core2_table[16], **client_cudart_table[7];

static int client_functions(int module, client_fn ****table, unsigned *count)
{
	switch (module) {
	case 1:
		*table = client_core_table;
		*count = 16;
		return 1;
	case 2:
		*table = client_cuda_table;
		*count = 9;
		return 1;
	case 4:
		*table = client_cudart_table;
		*count = 7;
		return 1;
	case 5:
		*table = client_core2_table;
		*count = 16;
		return 1;
	default:
		return 0;
	}
}

static uint32_t client_tool_version;
static void client_set_version(uint32_t v)
{
	client_tool_version = v;
}

static const void *client_table(uint32_t id)
{
	static const struct {
		size_t size;
		int (*functions)(int, client_fn ****, unsigned *);
	} callbacks = {sizeof(callbacks), client_functions};
	static const struct {
		size_t size;
		uint32_t version, rsv;
		void (*set)(uint32_t);
	} version = {sizeof(version), 3, 0, client_set_version};

	return id == 1 ? (const void *)&callbacks : id == 3 ? (const void *)&version : NULL;
}

static void *client_open(const char *name)
{
	const char *path = getenv("NVTX_INJECTION64_PATH");
	void *h = path ? dlopen(path, RTLD_LAZY) : NULL;

	return h ? dlsym(h, name) : NULL;
}

static void client_init_array(client_fn **fn, client_fn ***table, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		fn[i] = client_init_thunk;
		table[i] = i ? &fn[i] : NULL;
	}
}

static void client_noop(client_fn **fn, unsigned n, int all)
{
	for (unsigned i = 0; i < n; i++)
		if (all || fn[i] == client_init_thunk)
			fn[i] = NULL;
}

static void client_init(void)
{
	static int done;
	int (*init)(const void *(*)(uint32_t));
	int good;

	if (done++)
		return;
	client_init_array(client_core, client_core_table, 16);
	client_init_array(client_cuda, client_cuda_table, 9);
	client_init_array(client_cudart, client_cudart_table, 7);
	client_init_array(client_core2, client_core2_table, 16);
	init = (int (*)(const void *(*)(uint32_t)))client_open("InitializeInjectionNvtx2");
	good = init && init(client_table);
	client_noop(client_core, 16, !good);
	client_noop(client_cuda, 9, !good);
	client_noop(client_cudart, 7, !good);
	client_noop(client_core2, 16, !good);
}

#define CLIENT_NAME(fn, table, id, type)                                                            \
	static inline void fn(void *object, const type *name)                                       \
	{                                                                                           \
		client_init();                                                                      \
		if (table[id])                                                                      \
			((void (*)(void *, const type *))table[id])(object, name);                  \
	}
CLIENT_NAME(nvtxNameCuStreamA, client_cuda, 5, char)
CLIENT_NAME(nvtxNameCuStreamW, client_cuda, 6, wchar_t)
CLIENT_NAME(nvtxNameCuEventA, client_cuda, 7, char)
CLIENT_NAME(nvtxNameCuEventW, client_cuda, 8, wchar_t)
CLIENT_NAME(nvtxNameCudaStreamA, client_cudart, 3, char)
CLIENT_NAME(nvtxNameCudaStreamW, client_cudart, 4, wchar_t)
CLIENT_NAME(nvtxNameCudaEventA, client_cudart, 5, char)
CLIENT_NAME(nvtxNameCudaEventW, client_cudart, 6, wchar_t)

static inline int nvtxRangePushA(const char *message)
{
	client_init();
	return client_core[9] ? ((int (*)(const char *))client_core[9])(message) : -2;
}

static inline int nvtxRangePop(void)
{
	client_init();
	return client_core[11] ? ((int (*)(void))client_core[11])() : -2;
}

#define NVTX_VERSION 3
typedef struct {
	uint16_t version, size;
	uint32_t category;
	int32_t colorType;
	uint32_t color;
	int32_t payloadType, reserved0;
	uint64_t payload;
	int32_t messageType;
	nvtxMessageValue_t message;
} nvtxEventAttributes_t;
#define NVTX_MESSAGE_TYPE_REGISTERED 3

typedef struct {
	uint16_t version, size;
	int32_t identifierType;
	union {
		const void *pValue;
		uint64_t ullValue;
	} identifier;
	int32_t messageType;
	nvtxMessageValue_t message;
} nvtxResourceAttributes_t;
typedef void *nvtxResourceHandle_t;
enum {
	NVTX_RESOURCE_TYPE_CUDA_STREAM = 4 << 16 | 3,
	NVTX_RESOURCE_TYPE_CUDA_EVENT = 4 << 16 | 4,
	NVTX_RESOURCE_TYPE_CUDART_STREAM = 5 << 16 | 1,
	NVTX_RESOURCE_TYPE_CUDART_EVENT = 5 << 16 | 2,
};

static inline nvtxResourceHandle_t nvtxDomainResourceCreate(nvtxDomainHandle_t domain, nvtxResourceAttributes_t *a)
{
	client_init();
	return client_core2[6] ? ((void *(*)(void *, nvtxResourceAttributes_t *))client_core2[6])(domain, a) : NULL;
}

static inline void *nvtxDomainRegisterStringA(nvtxDomainHandle_t domain, const char *text)
{
	client_init();
	return client_core2[10] ? ((void *(*)(void *, const char *))client_core2[10])(domain, text) : NULL;
}

static inline int nvtxDomainRangePushEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *a)
{
	client_init();
	return client_core2[4] ? ((int (*)(void *, const nvtxEventAttributes_t *))client_core2[4])(domain, a) : -2;
}

static inline int nvtxDomainRangePop(nvtxDomainHandle_t domain)
{
	client_init();
	return client_core2[5] ? ((int (*)(void *))client_core2[5])(domain) : -2;
}

/* --- the memory extension ------------------------------------------------------------------ */

static intptr_t client_slot[63];

static void *client_memory(unsigned id)
{
	static int done;

	if (!done++) {
		struct {
			size_t id, count;
			intptr_t *slot;
		} segment = {1, 63, client_slot};
		struct {
			uint16_t version, size, module, compat;
			size_t segments;
			void *segment;
			intptr_t (*get)(uint32_t);
			const void *info;
		} module = {3, sizeof(module), 1, NVTX_EXT_COMPATID_MEM, 1, &segment, NULL, NULL};
		int (*init)(void *);
		int good;

		client_init();
		init = (int (*)(void *))client_open("InitializeInjectionNvtxExtension");
		good = init && init(&module);
		for (unsigned i = 0; i < 63; i++)
			if (!good || !client_slot[i])
				client_slot[i] = 1;
	}
	return client_slot[id] > 1 ? (void *)client_slot[id] : NULL;
}

#define CLIENT_VOID(fn, id, signature, arguments)                                                   \
	static inline void fn signature                                                             \
	{                                                                                           \
		void(*to) signature = (void(*) signature)client_memory(id);                         \
                                                                                                    \
		if (to)                                                                             \
			to arguments;                                                               \
	}
#define CLIENT_HANDLE(fn, id, signature, arguments)                                                 \
	static inline void *fn signature                                                            \
	{                                                                                           \
		void *(*to) signature = (void *(*) signature)client_memory(id);                     \
                                                                                                    \
		return to ? to arguments : NULL;                                                    \
	}
CLIENT_HANDLE(nvtxMemHeapRegister, 0, (nvtxDomainHandle_t d, nvtxMemHeapDesc_t const *h), (d, h))
CLIENT_VOID(nvtxMemHeapUnregister, 1, (nvtxDomainHandle_t d, nvtxMemHeapHandle_t h), (d, h))
CLIENT_VOID(nvtxMemHeapReset, 2, (nvtxDomainHandle_t d, nvtxMemHeapHandle_t h), (d, h))
CLIENT_VOID(nvtxMemRegionsRegister, 3, (nvtxDomainHandle_t d, nvtxMemRegionsRegisterBatch_t const *b), (d, b))
CLIENT_VOID(nvtxMemRegionsResize, 4, (nvtxDomainHandle_t d, nvtxMemRegionsResizeBatch_t const *b), (d, b))
CLIENT_VOID(nvtxMemRegionsUnregister, 5, (nvtxDomainHandle_t d, nvtxMemRegionsUnregisterBatch_t const *b), (d, b))
CLIENT_VOID(nvtxMemRegionsName, 6, (nvtxDomainHandle_t d, nvtxMemRegionsNameBatch_t const *b), (d, b))
CLIENT_VOID(nvtxMemPermissionsAssign, 7, (nvtxDomainHandle_t d, nvtxMemPermissionsAssignBatch_t const *b), (d, b))
CLIENT_HANDLE(nvtxMemPermissionsCreate, 8, (nvtxDomainHandle_t d, int32_t flags), (d, flags))
CLIENT_VOID(nvtxMemPermissionsDestroy, 9, (nvtxDomainHandle_t d, nvtxMemPermissionsHandle_t p), (d, p))
CLIENT_VOID(nvtxMemPermissionsBind, 11,
	    (nvtxDomainHandle_t d, nvtxMemPermissionsHandle_t p, uint32_t scope, uint32_t flags), (d, p, scope, flags))
CLIENT_VOID(nvtxMemPermissionsUnbind, 12, (nvtxDomainHandle_t d, uint32_t scope), (d, scope))

#endif
