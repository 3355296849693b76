/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which host memory copies and sets name, and what allocations and waits mean to
 * those who remember it (heap.c, pointers.c).  No locking of its own.
 */
#include "call.h"
#include "heap.h"
#include "lane.h"
#include "pointers.h"

#define CUABI_EXACT_NAMES
#include "cuabi.h"

bool krt_rows_span(uint64_t *base, size_t x, size_t y, size_t z, size_t pitch, size_t rows,
		   size_t width, size_t height, size_t depth, uint64_t *len)
{
	uint64_t first, last;

	if (!width || !height || !depth)
		return false;
	pitch = pitch ? pitch : width;
	rows = rows ? rows : height;
	first = *base + (z * rows + y) * pitch + x;
	last = *base + ((z + depth - 1) * rows + y + height - 1) * pitch + x + width;
	*base = first;
	*len = last - first;
	return last > first;
}

/* One enumeration in progress. */
struct walk {
	krt_operand_fn *fn;
	void *user;
};

static void tell(const struct walk *w, uint64_t base, uint64_t len, unsigned how)
{
	if (base && len && base + len > base)
		w->fn(w->user, base, len, how);
}

/* The span of a 2D or 3D operand in memory. */
static void tell_rows(const struct walk *w, uint64_t base, size_t x, size_t y, size_t z, size_t pitch,
		      size_t rows, size_t width, size_t height, size_t depth, unsigned how)
{
	uint64_t len;

	if (krt_rows_span(&base, x, y, z, pitch, rows, width, height, depth, &len))
		tell(w, base, len, how | (len != width * height * depth ? KRT_OPERAND_GAPS : 0));
}

#define TELL_3D(c, side, depth_, z_, rows_, how)                                            \
	do {                                                                                \
		if ((c)->side##MemoryType != CU_MEMORYTYPE_ARRAY)                           \
			tell_rows(w, (c)->side##MemoryType == CU_MEMORYTYPE_HOST            \
					  ? (uintptr_t)(c)->side##Host : (c)->side##Device, \
				  (c)->side##XInBytes, (c)->side##Y, z_, (c)->side##Pitch, rows_, \
				  (c)->WidthInBytes, (c)->Height, depth_,                   \
				  (how) | ((c)->side##MemoryType == CU_MEMORYTYPE_DEVICE    \
						   ? KRT_OPERAND_DEVICE : 0));              \
	} while (0)

/*
 * What the heap filter knows a stream by.  The default streams are one a context
 * or one a thread; a key of 0 is never waited for on its own.
 */
uint64_t krt_stream_key(const struct krt_call *c, uint64_t stream)
{
	const struct krt_api *a = &krt_api[c->api];
	uint64_t of[2];

	if (stream > 2)
		return stream;
	if (!c->rec)
		return 0;
	of[0] = c->rec->ctx;
	of[1] = stream == 2 || (!stream && (a->flags & KRT_F_PT)) ? (uintptr_t)c->thread : 0;
	return krt_hash(0, of, sizeof of) >> 1 | 1; /* odd: no address of a stream, nor all of them */
}

/* How item i of a batch has its source read. */
static unsigned source_order(const CUmemcpyAttributes *attrs, const size_t *first, size_t n, uint64_t i)
{
	unsigned order = 0;

	for (size_t k = 0; attrs && first && k < n && first[k] <= i; k++)
		order = attrs[k].srcAccessOrder;
	return order == CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL ? KRT_OPERAND_TAKEN : 0;
}

void krt_host_operands(const struct krt_call *c, krt_operand_fn *fn, void *user)
{
	const struct krt_api *a = &krt_api[c->api];
	const struct walk walk = { .fn = fn, .user = user }, *w = &walk;
	const uint64_t *v = c->args;
	uint64_t dst = 0, src = 0, len = 0, elements = 0, height = 0, pitch = 0;

	for (unsigned i = 0; i < a->argc; i++) {
		uint64_t x = a->arg[i].width >= 8 ? v[i] : v[i] & ((1ull << a->arg[i].width * 8) - 1);

		switch ((enum krt_role)a->arg[i].role) {
		case KRT_ROLE_DST: dst = x; break;
		case KRT_ROLE_SRC: src = x; break;
		case KRT_ROLE_BYTES: len = x; break;
		case KRT_ROLE_COUNT: case KRT_ROLE_WIDTH: elements = x; break;
		case KRT_ROLE_HEIGHT: height = x; break;
		case KRT_ROLE_PITCH: pitch = x; break;
		default: break;
		}
	}
	switch ((enum krt_op)a->op) {
	case KRT_OP_COPY:
	case KRT_OP_COPY_ARRAY:
	case KRT_OP_COPY_PEER:
		tell(w, dst, len, KRT_OPERAND_WRITTEN | (a->flags & KRT_F_DST_DEV ? KRT_OPERAND_DEVICE : 0));
		tell(w, src, len, a->flags & KRT_F_SRC_DEV ? KRT_OPERAND_DEVICE : 0);
		break;
	case KRT_OP_SET:
		tell(w, dst, elements * (a->flags & KRT_F_ELEM4 ? 4 : a->flags & KRT_F_ELEM2 ? 2 : 1),
		     KRT_OPERAND_WRITTEN);
		break;
	case KRT_OP_SET_2D:
		tell_rows(w, dst, 0, 0, 0, pitch, 0,
			  elements * (a->flags & KRT_F_ELEM4 ? 4 : a->flags & KRT_F_ELEM2 ? 2 : 1), height, 1,
			  KRT_OPERAND_WRITTEN);
		break;
	case KRT_OP_COPY_2D: {
		const CUDA_MEMCPY2D *m = (const void *)v[0];

		if (m && a->arg[0].role == KRT_ROLE_IN_COPY2D) {
			TELL_3D(m, src, 1, 0, 1, 0);
			TELL_3D(m, dst, 1, 0, 1, KRT_OPERAND_WRITTEN);
		}
		break;
	}
	case KRT_OP_COPY_3D:
	case KRT_OP_COPY_3D_PEER: {
		/* CUDA_MEMCPY3D_PEER has the same layout, contexts in place of reserved words */
		const CUDA_MEMCPY3D *m = (const void *)v[0];

		if (m && a->arg[0].role != KRT_ROLE_IN_COPY3D_V1) {
			TELL_3D(m, src, m->Depth, m->srcZ, m->srcHeight, 0);
			TELL_3D(m, dst, m->Depth, m->dstZ, m->dstHeight, KRT_OPERAND_WRITTEN);
		}
		break;
	}
	case KRT_OP_COPY_BATCH: {
		const uint64_t *d = (const void *)v[0], *s = (const void *)v[1], *n = (const void *)v[2];

		for (uint64_t i = 0; d && s && n && i < elements; i++) {
			tell(w, d[i], n[i], KRT_OPERAND_WRITTEN);
			tell(w, s[i], n[i], source_order((const void *)v[4], (const void *)v[5], v[6], i));
		}
		break;
	}
	case KRT_OP_COPY_3D_BATCH: {
		const CUDA_MEMCPY3D_BATCH_OP *op = (const void *)v[1];

		for (uint64_t i = 0; op && i < v[0]; i++) {
			const CUmemcpy3DOperand *side[] = { &op[i].src, &op[i].dst };
			const size_t one = 0;
			const CUmemcpyAttributes attr = { .srcAccessOrder = op[i].srcAccessOrder };

			for (unsigned k = 0; k < 2; k++) {
				size_t row = side[k]->op.ptr.rowLength, layer = side[k]->op.ptr.layerHeight;

				if (side[k]->type != CU_MEMCPY_OPERAND_TYPE_POINTER)
					continue;
				tell_rows(w, side[k]->op.ptr.ptr, 0, 0, 0, row, layer, op[i].extent.width,
					  op[i].extent.height, op[i].extent.depth,
					  k ? KRT_OPERAND_WRITTEN : source_order(&attr, &one, 1, 0));
			}
		}
		break;
	}
	default:
		break;
	}
}

uint64_t krt_call_stream_key(const struct krt_call *c)
{
	uint64_t stream;

	krt_call_stream(c, &stream);
	return krt_stream_key(c, stream);
}

static void heap_note(void *user, uint64_t base, uint64_t len, unsigned how)
{
	if (!(how & (KRT_OPERAND_DEVICE | KRT_OPERAND_TAKEN)))
		krt_heap_note(base, len, *(const uint64_t *)user);
}

/*
 * The call gave out device addresses, or made host memory known to the device;
 * owned: it is the driver's memory, which no free of the program ends.
 */
static void allocated(const struct krt_call *c, const struct krt_api *a, bool owned, bool host)
{
	uint64_t addr = 0, len = 0, pitch = 0, rows = 0;

	for (unsigned i = 0; i < a->argc; i++) {
		uint64_t v = a->arg[i].width < 8 ? (uint32_t)c->args[i] : c->args[i];

		if (a->arg[i].role == KRT_ROLE_OUT_ADDR) {
			if (a->arg[i].width < 8) /* version 1 of the interface has 32-bit addresses */
				return;
			addr = v ? *(const uint64_t *)v : 0;
		} else if (a->arg[i].role == KRT_ROLE_ADDR && a->op == KRT_OP_HOST_REGISTER) {
			addr = v;
		} else if (a->arg[i].role == KRT_ROLE_BYTES) {
			len = v;
		} else if (a->arg[i].role == KRT_ROLE_OUT_SIZE && v) {
			pitch = *(const uint64_t *)v;
		} else if (a->arg[i].role == KRT_ROLE_HEIGHT) {
			rows = v;
		} else if (a->op == KRT_OP_HOST_ALLOC && a->arg[i].role == KRT_ROLE_FLAGS) {
			host &= !(v & CU_MEMHOSTALLOC_WRITECOMBINED); /* not to be read */
		}
	}
	if (owned)
		krt_heap_device(addr, len);
	if (a->op == KRT_OP_IPC_MEM_OPEN || a->op == KRT_OP_POOL_IMPORT) {
		CUdeviceptr base;

		KRT_ASK(cuMemGetAddressRange_v2, &base, &len, addr);
	}
	if (host && owned)
		krt_pointers_pinned(addr, len);
	krt_pointers_range(addr, len ? len : pitch * (rows ? rows : 1), host);
}

void krt_operands(const struct krt_call *c)
{
	const struct krt_api *a = &krt_api[c->api];

	if (a->flags & KRT_F_ASYNC) {
		uint64_t stream = krt_call_stream_key(c);

		krt_host_operands(c, heap_note, &stream);
		return;
	}
	switch ((enum krt_op)a->op) {
	case KRT_OP_STREAM_SYNC:
	case KRT_OP_STREAM_QUERY:
		krt_heap_synced(krt_stream_key(c, c->args[0]), c->heap_mark);
		break;
	case KRT_OP_CTX_SYNC:
	case KRT_OP_CTX_DESTROY:
		krt_heap_synced(KRT_HEAP_ALL, c->heap_mark);
		break;
	case KRT_OP_ALLOC:
	case KRT_OP_ALLOC_ASYNC:
	case KRT_OP_ALLOC_MANAGED:
	case KRT_OP_VMM_RESERVE:
		allocated(c, a, true, false);
		break;
	case KRT_OP_HOST_ALLOC:
		allocated(c, a, true, true);
		break;
	case KRT_OP_HOST_REGISTER:
	case KRT_OP_HOST_DEVPTR:
		allocated(c, a, false, true);
		break;
	case KRT_OP_ALLOC_PITCH:
	case KRT_OP_IPC_MEM_OPEN:
	case KRT_OP_POOL_IMPORT:
	case KRT_OP_EXT_MEM_MAP:
	case KRT_OP_GFX_POINTER:
	case KRT_OP_MODULE_GLOBAL:
		allocated(c, a, false, false);
		break;
	default:
		break;
	}
}
