/* SPDX-License-Identifier: Apache-2.0 */
/* Look-up in the table of synchronisation semantics.  Constant data, no state. */
#include "semantics.h"
#include "../interposer/api.h"

const struct krt_sem krt_sem_table[KRT_NR_SEMS] = {
	[KRT_SEM_NONE] = { "NONE", "", "", .source = { "no order", "no order" } },
#define KRT_SEM(ID, calls_, when_, odoc, oobs, rdoc, robs, edoc, eobs, sdoc, sobs) \
	[KRT_SEM_##ID] = {                                                         \
		.id = #ID, .calls = calls_, .when = when_,                         \
		.order = { KRT_ORDER_##odoc, KRT_ORDER_##oobs },                   \
		.read = { KRT_READ_##rdoc, KRT_READ_##robs },                      \
		.edge = { KRT_EDGE_##edoc, KRT_EDGE_##eobs },                      \
		.source = { sdoc, sobs },                                          \
	},
#include "semantics.def"
#undef KRT_SEM
};

const struct krt_sem *krt_semantics(const struct krt_sem *table, enum krt_sem_id id)
{
	return &table[(unsigned)id < KRT_NR_SEMS ? id : KRT_SEM_NONE];
}

int krt_sem_read_rank(enum krt_sem_read read)
{
	switch (read) {
	case KRT_READ_NEVER:
	case KRT_READ_ANY_TIME:
		break;
	case KRT_READ_AT_CALL:
		return 1;
	case KRT_READ_IN_ORDER:
		return 2;
	}
	return 0;
}

unsigned krt_sem_views(const struct krt_sem *table, enum krt_sem_id id, enum krt_edge e)
{
	const struct krt_sem *s = krt_semantics(table, id);
	unsigned views = 0;

	for (unsigned v = 0; v < KRT_VIEWS; v++)
		if (KRT_EDGE_HAS(s->edge[v], e))
			views |= 1u << v;
	return views;
}

/* [from][to] */
static const uint8_t sync_copy[KRT_NR_SEM_MEMS][KRT_NR_SEM_MEMS] = {
	[KRT_SEM_MEM_PAGEABLE] = {
		[KRT_SEM_MEM_PAGEABLE] = KRT_SEM_COPY_HOST_TO_HOST,
		[KRT_SEM_MEM_PINNED] = KRT_SEM_COPY_HOST_TO_HOST,
		[KRT_SEM_MEM_MANAGED] = KRT_SEM_COPY_PAGEABLE_TO_MANAGED,
		[KRT_SEM_MEM_DEVICE] = KRT_SEM_COPY_PAGEABLE_TO_DEVICE,
	},
	[KRT_SEM_MEM_PINNED] = {
		[KRT_SEM_MEM_PAGEABLE] = KRT_SEM_COPY_HOST_TO_HOST,
		[KRT_SEM_MEM_PINNED] = KRT_SEM_COPY_HOST_TO_HOST,
		[KRT_SEM_MEM_MANAGED] = KRT_SEM_COPY_PINNED_TO_MANAGED,
		[KRT_SEM_MEM_DEVICE] = KRT_SEM_COPY_PINNED_TO_DEVICE,
	},
	[KRT_SEM_MEM_MANAGED] = {
		[KRT_SEM_MEM_PAGEABLE] = KRT_SEM_COPY_MANAGED_TO_HOST,
		[KRT_SEM_MEM_PINNED] = KRT_SEM_COPY_MANAGED_TO_HOST,
		[KRT_SEM_MEM_MANAGED] = KRT_SEM_COPY_MANAGED_DEVICE,
		[KRT_SEM_MEM_DEVICE] = KRT_SEM_COPY_MANAGED_DEVICE,
	},
	[KRT_SEM_MEM_DEVICE] = {
		[KRT_SEM_MEM_PAGEABLE] = KRT_SEM_COPY_DEVICE_TO_HOST,
		[KRT_SEM_MEM_PINNED] = KRT_SEM_COPY_DEVICE_TO_HOST,
		[KRT_SEM_MEM_MANAGED] = KRT_SEM_COPY_MANAGED_DEVICE,
		[KRT_SEM_MEM_DEVICE] = KRT_SEM_COPY_DEVICE_TO_DEVICE,
	},
};

static const uint8_t async_copy[KRT_NR_SEM_MEMS][KRT_NR_SEM_MEMS] = {
	[KRT_SEM_MEM_PAGEABLE] = {
		[KRT_SEM_MEM_PAGEABLE] = KRT_SEM_ASYNC_HOST_TO_HOST,
		[KRT_SEM_MEM_PINNED] = KRT_SEM_ASYNC_HOST_TO_HOST,
		[KRT_SEM_MEM_MANAGED] = KRT_SEM_ASYNC_PAGEABLE_TO_DEVICE,
		[KRT_SEM_MEM_DEVICE] = KRT_SEM_ASYNC_PAGEABLE_TO_DEVICE,
	},
	[KRT_SEM_MEM_PINNED] = {
		[KRT_SEM_MEM_PAGEABLE] = KRT_SEM_ASYNC_HOST_TO_HOST,
		[KRT_SEM_MEM_PINNED] = KRT_SEM_ASYNC_HOST_TO_HOST,
		[KRT_SEM_MEM_MANAGED] = KRT_SEM_ASYNC_PINNED,
		[KRT_SEM_MEM_DEVICE] = KRT_SEM_ASYNC_PINNED,
	},
	[KRT_SEM_MEM_MANAGED] = {
		[KRT_SEM_MEM_PAGEABLE] = KRT_SEM_ASYNC_DEVICE_TO_PAGEABLE,
		[KRT_SEM_MEM_PINNED] = KRT_SEM_ASYNC_PINNED,
		[KRT_SEM_MEM_MANAGED] = KRT_SEM_ASYNC_DEVICE,
		[KRT_SEM_MEM_DEVICE] = KRT_SEM_ASYNC_DEVICE,
	},
	[KRT_SEM_MEM_DEVICE] = {
		[KRT_SEM_MEM_PAGEABLE] = KRT_SEM_ASYNC_DEVICE_TO_PAGEABLE,
		[KRT_SEM_MEM_PINNED] = KRT_SEM_ASYNC_PINNED,
		[KRT_SEM_MEM_MANAGED] = KRT_SEM_ASYNC_DEVICE,
		[KRT_SEM_MEM_DEVICE] = KRT_SEM_ASYNC_DEVICE,
	},
};

enum krt_sem_id krt_sem_copy(bool async, enum krt_sem_peer peer, enum krt_sem_mem dst, enum krt_sem_mem src,
			     uint64_t bytes, bool memops)
{
	enum krt_sem_id id;

	if (dst >= KRT_NR_SEM_MEMS || src >= KRT_NR_SEM_MEMS)
		return KRT_SEM_NONE;
	if (async) {
		id = async_copy[src][dst];
		if (id == KRT_SEM_ASYNC_PAGEABLE_TO_DEVICE && bytes <= KRT_SEM_STAGED_MAX)
			id = KRT_SEM_ASYNC_PAGEABLE_TO_DEVICE_SMALL;
		return id;
	}
	if (peer) {
		bool host = src <= KRT_SEM_MEM_PINNED || dst <= KRT_SEM_MEM_PINNED || memops;

		if (peer == KRT_SEM_PEER_NEAR)
			return host ? KRT_SEM_COPY_PEER_NEAR_HOST : KRT_SEM_COPY_PEER_NEAR;
		return host ? KRT_SEM_COPY_PEER_HOST : KRT_SEM_COPY_PEER;
	}
	id = sync_copy[src][dst]; /* between host memory the CPU copies, and is done anyway */
	return memops && id != KRT_SEM_COPY_HOST_TO_HOST ? KRT_SEM_COPY_MEMOPS : id;
}

enum krt_sem_id krt_sem_set(bool async, enum krt_sem_mem dst, bool memops)
{
	if (async)
		return KRT_SEM_SET_ASYNC;
	if (memops)
		return KRT_SEM_SET_MEMOPS;
	switch (dst) {
	case KRT_SEM_MEM_PAGEABLE:
		return KRT_SEM_SET_PAGEABLE;
	case KRT_SEM_MEM_PINNED:
		return KRT_SEM_SET_PINNED;
	case KRT_SEM_MEM_MANAGED:
		return KRT_SEM_SET_MANAGED;
	case KRT_SEM_MEM_DEVICE:
		return KRT_SEM_SET_DEVICE;
	case KRT_NR_SEM_MEMS:
		break;
	}
	return KRT_SEM_NONE;
}

enum krt_sem_id krt_sem_batch(unsigned src_access_order)
{
	switch (src_access_order) {
	case 2:
		return KRT_SEM_BATCH_DURING_CALL;
	case 3:
		return KRT_SEM_BATCH_ANY;
	}
	return KRT_SEM_BATCH_STREAM;
}

static const uint8_t by_op[KRT_NR_OPS] = {
	[KRT_OP_CTX_DESTROY] = KRT_SEM_CTX_DESTROY,
	[KRT_OP_CTX_SYNC] = KRT_SEM_CTX_SYNC,
	[KRT_OP_CTX_RECORD] = KRT_SEM_CTX_RECORD,
	[KRT_OP_CTX_WAIT] = KRT_SEM_CTX_WAIT,
	[KRT_OP_PRIMARY_RELEASE] = KRT_SEM_PRIMARY_RESET,
	[KRT_OP_PRIMARY_RESET] = KRT_SEM_PRIMARY_RESET,
	[KRT_OP_PEER_ENABLE] = KRT_SEM_PEER_ACCESS,
	[KRT_OP_PEER_DISABLE] = KRT_SEM_PEER_ACCESS,
	[KRT_OP_GREEN_DESTROY] = KRT_SEM_CTX_DESTROY,
	[KRT_OP_GREEN_RECORD] = KRT_SEM_CTX_RECORD,
	[KRT_OP_GREEN_WAIT] = KRT_SEM_CTX_WAIT,
	[KRT_OP_STREAM_CREATE] = KRT_SEM_OBJECT,
	[KRT_OP_STREAM_DESTROY] = KRT_SEM_OBJECT,
	[KRT_OP_STREAM_QUERY] = KRT_SEM_STREAM_QUERY,
	[KRT_OP_STREAM_WAIT_EVENT] = KRT_SEM_STREAM_WAIT,
	[KRT_OP_STREAM_ATTACH] = KRT_SEM_STREAM_OP,
	[KRT_OP_HOST_FUNC] = KRT_SEM_HOST_FUNC,
	[KRT_OP_EVENT_CREATE] = KRT_SEM_OBJECT,
	[KRT_OP_EVENT_RECORD] = KRT_SEM_EVENT_RECORD,
	[KRT_OP_EVENT_SYNC] = KRT_SEM_EVENT_SYNC,
	[KRT_OP_EVENT_QUERY] = KRT_SEM_EVENT_QUERY,
	[KRT_OP_EVENT_ELAPSED] = KRT_SEM_EVENT_ELAPSED,
	[KRT_OP_EVENT_DESTROY] = KRT_SEM_OBJECT,
	[KRT_OP_IPC_MEM_CLOSE] = KRT_SEM_IPC_CLOSE,
	[KRT_OP_LAUNCH] = KRT_SEM_LAUNCH,
	[KRT_OP_LAUNCH_EX] = KRT_SEM_LAUNCH,
	[KRT_OP_LAUNCH_MULTI] = KRT_SEM_LAUNCH,
	[KRT_OP_LAUNCH_LEGACY] = KRT_SEM_LAUNCH,
	[KRT_OP_PREFETCH] = KRT_SEM_STREAM_OP,
	[KRT_OP_PREFETCH_BATCH] = KRT_SEM_STREAM_OP,
	[KRT_OP_DISCARD_BATCH] = KRT_SEM_STREAM_OP,
	[KRT_OP_DECOMPRESS_BATCH] = KRT_SEM_STREAM_OP,
	[KRT_OP_ALLOC] = KRT_SEM_ALLOC,
	[KRT_OP_ALLOC_PITCH] = KRT_SEM_ALLOC,
	[KRT_OP_ALLOC_MANAGED] = KRT_SEM_ALLOC,
	[KRT_OP_HOST_ALLOC] = KRT_SEM_ALLOC,
	[KRT_OP_HOST_FREE] = KRT_SEM_HOST_FREE,
	[KRT_OP_HOST_REGISTER] = KRT_SEM_ALLOC,
	[KRT_OP_HOST_UNREGISTER] = KRT_SEM_HOST_UNREGISTER,
	[KRT_OP_ALLOC_ASYNC] = KRT_SEM_ALLOC_ASYNC,
	[KRT_OP_FREE_ASYNC] = KRT_SEM_FREE_ASYNC,
	[KRT_OP_POOL_CREATE] = KRT_SEM_POOL,
	[KRT_OP_POOL_DESTROY] = KRT_SEM_POOL,
	[KRT_OP_POOL_TRIM] = KRT_SEM_POOL,
	[KRT_OP_POOL_ACCESS] = KRT_SEM_POOL,
	[KRT_OP_ARRAY_CREATE] = KRT_SEM_ALLOC,
	[KRT_OP_ARRAY_DESTROY] = KRT_SEM_ARRAY_DESTROY,
	[KRT_OP_VMM_UNMAP] = KRT_SEM_VMM_UNMAP,
	[KRT_OP_VMM_ACCESS] = KRT_SEM_VMM_ACCESS,
	[KRT_OP_VMM_MAP_ARRAY] = KRT_SEM_STREAM_OP,
	[KRT_OP_EXT_MEM_DESTROY] = KRT_SEM_EXTERNAL_DESTROY,
	[KRT_OP_EXT_SEM_LIFE] = KRT_SEM_EXTERNAL_DESTROY,
	[KRT_OP_EXT_SEM_SIGNAL] = KRT_SEM_EXT_SEM_SIGNAL,
	[KRT_OP_EXT_SEM_WAIT] = KRT_SEM_EXT_SEM_WAIT,
	[KRT_OP_GFX_MAP] = KRT_SEM_GRAPHICS,
	[KRT_OP_GFX_UNMAP] = KRT_SEM_GRAPHICS,
	[KRT_OP_RDMA_FLUSH] = KRT_SEM_RDMA_FLUSH,
	[KRT_OP_CHECKPOINT] = KRT_SEM_CHECKPOINT,
	[KRT_OP_WRITE_VALUE] = KRT_SEM_WRITE_VALUE,
	[KRT_OP_WAIT_VALUE] = KRT_SEM_WAIT_VALUE,
	[KRT_OP_GRAPH_LAUNCH] = KRT_SEM_GRAPH_LAUNCH,
	[KRT_OP_GRAPH_UPLOAD] = KRT_SEM_GRAPH_LAUNCH,
	[KRT_OP_GRAPH_EXEC_DESTROY] = KRT_SEM_OBJECT,
	[KRT_OP_MODULE_LOAD] = KRT_SEM_MODULE_LOAD,
	[KRT_OP_MODULE_UNLOAD] = KRT_SEM_MODULE_UNLOAD,
	[KRT_OP_LIBRARY_LOAD] = KRT_SEM_LIBRARY_LOAD,
	[KRT_OP_LIBRARY_UNLOAD] = KRT_SEM_LIBRARY_UNLOAD,
	[KRT_OP_CTX_FLAGS] = KRT_SEM_CONFIG,
	[KRT_OP_POINTER_ATTR] = KRT_SEM_CONFIG,
};

_Static_assert(KRT_NR_SEMS <= 256, "rows are kept in a byte");

enum krt_sem_id krt_sem_of_op(unsigned op)
{
	return op < KRT_NR_OPS ? (enum krt_sem_id)by_op[op] : KRT_SEM_NONE;
}
