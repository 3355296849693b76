/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a row of api.def means: classes, operations, argument roles, ids.
 *
 * Used by the interposer (capture is driven by roles), by the analyzer (decode
 * is driven by roles and operations) and by the simulated driver (exports).
 * Constant data only; no locking.
 */
#ifndef KRT_API_H
#define KRT_API_H

#include <stddef.h>
#include <stdint.h>

/* What is known of an entry point's effect on order and memory. */
#define KRT_CLASSES(X)                                                                      \
	X(PASS, "pass")                 /* known to be irrelevant; not wrapped */           \
	X(MODELLED, "modelled")         /* the engine knows its effect */                   \
	X(CONSERVATIVE, "conservative") /* effect not fully known: the run says so */       \
	X(UNSUPPORTED, "unsupported")   /* warned once, verdict inconclusive */             \
	X(NOTE, "note")                 /* annotation header */                             \
	X(LIBC, "libc")                 /* host side of the process */

/* What a call does; the engine switches on this and on nothing else. */
#define KRT_OPS(X)                                                                          \
	X(NONE)                                                                             \
	X(INIT) X(EXPORT_TABLE)                                                             \
	X(CTX_CREATE) X(CTX_DESTROY) X(CTX_CURRENT) X(CTX_FLAGS) X(CTX_SYNC) X(CTX_RECORD)  \
	X(CTX_WAIT) X(PRIMARY_RETAIN) X(PRIMARY_RELEASE) X(PRIMARY_RESET) X(PRIMARY_FLAGS)  \
	X(PEER_ENABLE) X(PEER_DISABLE)                                                      \
	X(GREEN_CREATE) X(GREEN_DESTROY) X(GREEN_CTX) X(GREEN_STREAM) X(GREEN_RECORD)       \
	X(GREEN_WAIT)                                                                       \
	X(STREAM_CREATE) X(STREAM_DESTROY) X(STREAM_SYNC) X(STREAM_QUERY)                   \
	X(STREAM_WAIT_EVENT) X(STREAM_ATTACH) X(HOST_FUNC)                                  \
	X(EVENT_CREATE) X(EVENT_RECORD) X(EVENT_SYNC) X(EVENT_QUERY) X(EVENT_ELAPSED)       \
	X(EVENT_DESTROY)                                                                    \
	X(IPC_EVENT_GET) X(IPC_EVENT_OPEN) X(IPC_MEM_GET) X(IPC_MEM_OPEN) X(IPC_MEM_CLOSE)  \
	X(LAUNCH) X(LAUNCH_EX) X(LAUNCH_MULTI) X(LAUNCH_LEGACY)                             \
	X(COPY) X(COPY_ARRAY) X(COPY_2D) X(COPY_3D) X(COPY_PEER) X(COPY_3D_PEER)            \
	X(COPY_BATCH) X(COPY_3D_BATCH) X(SET) X(SET_2D)                                     \
	X(PREFETCH) X(PREFETCH_BATCH) X(DISCARD_BATCH) X(DECOMPRESS_BATCH)                  \
	X(ALLOC) X(ALLOC_PITCH) X(ALLOC_MANAGED) X(FREE)                                    \
	X(HOST_ALLOC) X(HOST_FREE) X(HOST_REGISTER) X(HOST_UNREGISTER) X(HOST_DEVPTR)       \
	X(ALLOC_ASYNC) X(FREE_ASYNC) X(POOL_CREATE) X(POOL_DESTROY) X(POOL_TRIM)            \
	X(POOL_ACCESS) X(POOL_IMPORT) X(POINTER_ATTR)                                       \
	X(ARRAY_CREATE) X(ARRAY_DESTROY) X(ARRAY_ALIAS)                                     \
	X(VMM_RESERVE) X(VMM_ADDR_FREE) X(VMM_CREATE) X(VMM_RELEASE) X(VMM_MAP)             \
	X(VMM_UNMAP) X(VMM_ACCESS) X(VMM_MAP_ARRAY)                                         \
	X(EXT_MEM_IMPORT) X(EXT_MEM_MAP) X(EXT_MEM_DESTROY) X(EXT_SEM_SIGNAL)               \
	X(EXT_SEM_WAIT) X(EXT_SEM_LIFE) X(GFX_MAP) X(GFX_UNMAP) X(GFX_POINTER)              \
	X(RDMA_FLUSH) X(CHECKPOINT)                                                         \
	X(WRITE_VALUE) X(WAIT_VALUE) X(BATCH_MEM_OP)                                        \
	X(CAPTURE_BEGIN) X(CAPTURE_END) X(CAPTURE_DEPS) X(CAPTURE_MODE)                     \
	X(GRAPH_INSTANTIATE) X(GRAPH_LAUNCH) X(GRAPH_UPLOAD) X(GRAPH_EXEC_DESTROY)          \
	X(GRAPH_DESTROY) X(GRAPH_CREATE) X(GRAPH_CLONE)                                     \
	X(GRAPH_NODE_ADD)     /* OUT_HANDLE node, GRAPH */                                  \
	X(GRAPH_NODE_SET)     /* NODE: template edited */                                   \
	X(GRAPH_NODE_DESTROY) /* NODE */                                                    \
	X(GRAPH_EXEC_SET)     /* EXEC, NODE: one node of an executable, future launches */  \
	X(GRAPH_EXEC_UPDATE)  /* EXEC, GRAPH: whole graph */                                \
	X(GRAPH_NODE_ENABLE)  /* EXEC, NODE, VALUE */                                       \
	X(MODULE_LOAD) X(MODULE_UNLOAD) X(LIBRARY_LOAD) X(LIBRARY_UNLOAD) X(MODULE_GLOBAL)  \
	X(MODULE_FUNCTION)                                                                  \
	X(LIBRARY_MODULE)     /* OUT_HANDLE: a library's module of the current context */   \
	X(LINK_ADD)           /* HANDLE, IMAGE and BYTES or IN_STRING */                    \
	X(LINK_COMPLETE)      /* HANDLE, OUT_ADDR, OUT_SIZE */                              \
	X(LINK_END)           /* HANDLE: what it made is gone */                            \
	X(TENSOR_MAP)         /* OUT_STRUCT map and its shape; INOUT_STRUCT map: other ADDR */ \
	X(TEXTURE_CREATE) X(TEXTURE_DESTROY) X(SURFACE_CREATE) X(SURFACE_DESTROY)           \
	X(UNSUPPORTED)                                                                      \
	X(NOTE_ACCESS) X(NOTE_HOST_READ) X(NOTE_HOST_WRITE) X(NOTE_POOL_CREATE)             \
	X(NOTE_POOL_DESTROY) X(NOTE_BLOCK_ALLOC) X(NOTE_BLOCK_USE) X(NOTE_BLOCK_FREE)       \
	X(NOTE_BLOCK_RESIZE)                                                                \
	X(NOTE_ORDER_RELEASE) X(NOTE_ORDER_ACQUIRE) X(NOTE_NAME) X(NOTE_IGNORE_BEGIN)       \
	X(NOTE_IGNORE_END)                                                                  \
	X(LIBRARY_CALL)       /* U32: which function, IN_HANDLES: words, see library.h */   \
	X(HEAP_END) X(HOSTFN_ENTER) X(HOSTFN_EXIT)

/*
 * What an argument is.  width in A(ROLE, width, name):
 *   plain roles   bytes of the argument itself (upper register bits are garbage)
 *   OUT_* roles   bytes to read behind the pointer after success
 *   IN_* structs  bytes to copy from behind the pointer before the call
 *   arrays        see the comment; the interposer knows how to size them
 */
#define KRT_ROLES(X)                                                                        \
	/* values */                                                                        \
	X(U32) X(U64) X(PTR) X(FLAGS) X(VALUE) X(BYTES) X(COUNT) X(NATTRS) X(OFFSET)        \
	X(PITCH) X(WIDTH) X(HEIGHT) X(GRID) X(BLOCK) X(SHARED) X(FN) X(USERDATA) X(TOKEN)   \
	/* addresses and objects */                                                         \
	X(DST) X(SRC) X(ADDR) X(DST_ARRAY) X(SRC_ARRAY) X(DST_OFF) X(SRC_OFF)               \
	X(DST_CTX) X(SRC_CTX)                                                               \
	X(STREAM) X(EVENT) X(CTX) X(DEVICE) X(FUNC) X(MODULE) X(LIBRARY) X(POOL) X(GRAPH)   \
	X(EXEC) X(NODE) X(ARRAY) X(HANDLE) X(IMAGE)                                                 \
	/* read behind the pointer after success */                                         \
	X(OUT_ADDR) X(OUT_HANDLE) X(OUT_SIZE) X(OUT_STRUCT)                                 \
	/* copied from behind the pointer before the call */                                \
	X(IN_STRING) X(IN_STRUCT) X(IN_COPY2D) X(IN_COPY2D_V1) X(IN_COPY3D) X(IN_COPY3D_V1) \
	X(IN_COPY3D_PEER) X(IN_ARRAY) X(IN_ARRAY3D)                                         \
	X(IN_DSTS) X(IN_SRCS) X(IN_SIZES) /* u64[COUNT] */                                  \
	X(IN_ATTRS)                       /* CUmemcpyAttributes[NATTRS], 24 bytes each */   \
	X(IN_ATTR_IDX)                    /* u64[NATTRS] */                                 \
	X(IN_OPS3D)                       /* CUDA_MEMCPY3D_BATCH_OP[numOps], 112 each */    \
	X(IN_MEMOPS)                      /* CUstreamBatchMemOpParams[COUNT], 48 each */    \
	X(IN_HANDLES)                     /* u64[COUNT] */                                  \
	X(IN_DIMS) X(IN_STRIDES)          /* u64[COUNT], u64[COUNT - 1]; none beyond 5 */   \
	X(INOUT_STRUCT)                   /* before the call, and again after success */    \
	X(IN_SEMS)                        /* parameters of a semaphore[COUNT], 144 each */  \
	X(IN_ACCESS)                      /* CUmemAccessDesc[COUNT], 12 each */             \
	X(IN_LAUNCH)                      /* CUlaunchConfig (56), then its attrs (72 each) */ \
	X(IN_LAUNCH_LIST)                 /* CUDA_LAUNCH_PARAMS[numDevices] */              \
	X(PARAMS) X(EXTRA)                /* kernel parameters, KRT_BLOB_PARAMS */          \
	X(BYVAL)                          /* struct by value: the wrapper is handmade */

enum krt_class {
#define X(name, text) KRT_CLASS_##name,
	KRT_CLASSES(X)
#undef X
};

enum krt_op {
#define X(name) KRT_OP_##name,
	KRT_OPS(X)
#undef X
	KRT_NR_OPS
};

enum krt_role {
#define X(name) KRT_ROLE_##name,
	KRT_ROLES(X)
#undef X
	KRT_NR_ROLES
};

enum krt_api_flags {
	KRT_F_PT = 1 << 0,        /* _ptds/_ptsz: stream 0 is the per-thread stream */
	KRT_F_ASYNC = 1 << 1,     /* the *Async form of a copy or set */
	KRT_F_COOP = 1 << 2,      /* cooperative launch */
	KRT_F_CALLBACK = 1 << 3,  /* cuStreamAddCallback, not cuLaunchHostFunc */
	KRT_F_HANDLE = 1 << 4,    /* yields a pool, not an address */
	KRT_F_HANDMADE = 1 << 5,  /* a struct by value: the wrapper is written by hand */
	KRT_F_SRC_HOST = 1 << 6,
	KRT_F_SRC_DEV = 1 << 7,
	KRT_F_SRC_ARR = 1 << 8,
	KRT_F_DST_HOST = 1 << 9,
	KRT_F_DST_DEV = 1 << 10,
	KRT_F_DST_ARR = 1 << 11,
	KRT_F_ELEM1 = 1 << 12,    /* bytes of one element of a set or a flag word */
	KRT_F_ELEM2 = 1 << 13,
	KRT_F_ELEM4 = 1 << 14,
	KRT_F_ELEM8 = 1 << 15,
};

/* Trace ids: KRT_API_cuMemAlloc_v2 and so on. */
enum krt_api_id {
#define KRT_CALL(sym, base, cls, op, flags, argc, ...) KRT_API_##sym,
#define KRT_PASS(sym, base)                            KRT_API_##sym,
#define KRT_NOTE(sym, op, argc, ...)                   KRT_API_##sym,
#define KRT_LIBC(sym, op, argc, ...)                   KRT_API_##sym,
#include "api.def"
#undef KRT_CALL
#undef KRT_PASS
#undef KRT_NOTE
#undef KRT_LIBC
	KRT_NR_APIS
};

#define KRT_MAX_ARGS 16

struct krt_arg {
	uint8_t role;    /* enum krt_role */
	uint16_t width;  /* see KRT_ROLES */
	const char *name;
};

struct krt_api {
	const char *symbol; /* exported name, ABI suffixes included */
	const char *base;   /* documented name */
	uint8_t cls;        /* enum krt_class */
	uint8_t op;         /* enum krt_op */
	uint8_t argc;
	uint32_t flags;     /* enum krt_api_flags */
	struct krt_arg arg[KRT_MAX_ARGS];
};

/* Indexed by enum krt_api_id (api.c). */
extern const struct krt_api krt_api[KRT_NR_APIS];

const char *krt_class_name(unsigned cls);
const char *krt_op_name(unsigned op);

/* A hash of every row. */
uint64_t krt_api_hash(void);

#endif
