/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a launch passes, and which host memory copies name.
 *
 * Kernel parameters are copied only with sizes that the driver told for this
 * function: kernelParams[i] is never read with a guessed one.  No locking.
 */
#include "call.h"
#include "heap.h"
#include "lane.h"
#include "objects.h"
#include "pointers.h"

#define CUABI_EXACT_NAMES
#include "cuabi.h"

#include <string.h>

#define EXTRA_MAX 65536 /* bytes of a parameter buffer */

/* A parameter buffer given whole.  False: extra is not of that form. */
static bool parse_extra(uint64_t extra, const void **buffer, size_t *size)
{
	void *const *e = (void *const *)extra;

	*buffer = NULL;
	*size = 0;
	for (unsigned i = 0; i < 16; i += 2) {
		if (e[i] == CU_LAUNCH_PARAM_END)
			return *buffer != NULL;
		if (e[i] == CU_LAUNCH_PARAM_BUFFER_POINTER)
			*buffer = e[i + 1];
		else if (e[i] == CU_LAUNCH_PARAM_BUFFER_SIZE && e[i + 1])
			*size = *(const size_t *)e[i + 1];
		else
			return false;
	}
	return false;
}

bool krt_kernel_args(struct krt_kernel_args *a, uint64_t func, uint64_t params, uint64_t extra)
{
	size_t size = 0;

	*a = (struct krt_kernel_args){ .kernel = krt_kernel(func), .param = (void *const *)params };
	if (!a->kernel)
		return false;
	if (extra && !params)
		a->len = parse_extra(extra, &a->buffer, &size) && size <= EXTRA_MAX ? (uint32_t)size
										    : KRT_PARAMS_UNKNOWN;
	else if (params)
		a->len = a->kernel->nparams == KRT_PARAMS_UNKNOWN ? KRT_PARAMS_UNKNOWN
								  : a->kernel->bytes;
	a->size = a->len == KRT_PARAMS_UNKNOWN ? 0 : a->len;
	return true;
}

void krt_kernel_args_copy(const struct krt_kernel_args *a, struct krt_params *to)
{
	const struct krt_kernel *k = a->kernel;
	char *bytes = (char *)(to + 1);

	to->kernel = k->id;
	to->len = a->len;
	if (!a->size)
		return;
	if (a->buffer) {
		memcpy(bytes, a->buffer, a->size);
		return;
	}
	memset(bytes, 0, a->size); /* gaps between parameters */
	for (uint32_t i = 0; i < k->nparams; i++)
		if (a->param[i])
			memcpy(bytes + k->param[i].offset, a->param[i], k->param[i].size);
}

void krt_launch_params(struct krt_call *c, uint64_t func, uint64_t params, uint64_t extra,
		       unsigned params_arg, unsigned extra_arg)
{
	unsigned arg = extra && !params ? extra_arg : params_arg;
	struct krt_kernel_args a;
	struct krt_params *p;
	size_t size, mark;
	char *bytes;
	uint32_t id;

	if (!krt_kernel_args(&a, func, params, extra))
		return;
	size = a.size;
	mark = c->size;
	p = krt_call_blob(c, arg, KRT_BLOB_PARAMS, sizeof *p + size);
	if (!p)
		return;
	krt_kernel_args_copy(&a, p);
	bytes = (char *)(p + 1);
	if (size < 32 || size > KRT_PARAMS_SHARE_MAX)
		return;
	id = krt_params_id(a.kernel->id, bytes, (uint32_t)size);
	if (!id)
		return;
	c->size = mark;
	bytes = krt_call_blob(c, arg, KRT_BLOB_SHARED, sizeof id);
	if (bytes)
		memcpy(bytes, &id, sizeof id);
}

/* ---- host operands ---- */

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

static void note(uint64_t base, uint64_t len, uint64_t stream)
{
	if (base && len && base + len > base)
		krt_heap_note(base, len, stream);
}

/* The span of a 2D or 3D operand in memory. */
static void note_rows(uint64_t base, size_t x, size_t y, size_t z, size_t pitch, size_t rows,
		      size_t width, size_t height, size_t depth, uint64_t stream)
{
	uint64_t len;

	if (krt_rows_span(&base, x, y, z, pitch, rows, width, height, depth, &len))
		note(base, len, stream);
}

#define NOTE_3D(c, side, depth_, z_, rows_)                                                 \
	do {                                                                                \
		if ((c)->side##MemoryType == CU_MEMORYTYPE_HOST ||                          \
		    (c)->side##MemoryType == CU_MEMORYTYPE_UNIFIED)                         \
			note_rows((c)->side##MemoryType == CU_MEMORYTYPE_HOST               \
					  ? (uintptr_t)(c)->side##Host : (c)->side##Device, \
				  (c)->side##XInBytes, (c)->side##Y, z_, (c)->side##Pitch, rows_, \
				  (c)->WidthInBytes, (c)->Height, depth_, stream);          \
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

static void copy_operands(const struct krt_call *c, const struct krt_api *a)
{
	const uint64_t *v = c->args;
	uint64_t dst = 0, src = 0, len = 0, stream = 0, elements = 0;

	for (unsigned i = 0; i < a->argc; i++) {
		uint64_t w = a->arg[i].width >= 8 ? v[i] : v[i] & ((1ull << a->arg[i].width * 8) - 1);

		switch ((enum krt_role)a->arg[i].role) {
		case KRT_ROLE_DST: dst = w; break;
		case KRT_ROLE_SRC: src = w; break;
		case KRT_ROLE_BYTES: len = w; break;
		case KRT_ROLE_COUNT: elements = w; break;
		case KRT_ROLE_STREAM: stream = w; break;
		default: break;
		}
	}
	stream = krt_stream_key(c, stream);
	switch ((enum krt_op)a->op) {
	case KRT_OP_COPY:
	case KRT_OP_COPY_ARRAY:
		if (!(a->flags & KRT_F_DST_DEV))
			note(dst, len, stream);
		if (!(a->flags & KRT_F_SRC_DEV))
			note(src, len, stream);
		break;
	case KRT_OP_SET:
		note(dst, elements * (a->flags & KRT_F_ELEM4 ? 4 : a->flags & KRT_F_ELEM2 ? 2 : 1), stream);
		break;
	case KRT_OP_COPY_2D: {
		const CUDA_MEMCPY2D *m = (const void *)v[0];

		if (m && a->arg[0].role == KRT_ROLE_IN_COPY2D) {
			NOTE_3D(m, src, 1, 0, 1);
			NOTE_3D(m, dst, 1, 0, 1);
		}
		break;
	}
	case KRT_OP_COPY_3D:
	case KRT_OP_COPY_3D_PEER: {
		/* CUDA_MEMCPY3D_PEER has the same layout, contexts in place of reserved words */
		const CUDA_MEMCPY3D *m = (const void *)v[0];

		if (m && a->arg[0].role != KRT_ROLE_IN_COPY3D_V1) {
			NOTE_3D(m, src, m->Depth, m->srcZ, m->srcHeight);
			NOTE_3D(m, dst, m->Depth, m->dstZ, m->dstHeight);
		}
		break;
	}
	case KRT_OP_COPY_BATCH: {
		const uint64_t *d = (const void *)v[0], *s = (const void *)v[1], *n = (const void *)v[2];

		for (uint64_t i = 0; d && s && n && i < elements; i++) {
			note(d[i], n[i], stream);
			note(s[i], n[i], stream);
		}
		break;
	}
	case KRT_OP_COPY_3D_BATCH: {
		const CUDA_MEMCPY3D_BATCH_OP *op = (const void *)v[1];

		for (uint64_t i = 0; op && i < v[0]; i++) {
			const CUmemcpy3DOperand *side[] = { &op[i].src, &op[i].dst };

			for (unsigned k = 0; k < 2; k++) {
				size_t row = side[k]->op.ptr.rowLength, layer = side[k]->op.ptr.layerHeight;

				if (side[k]->type != CU_MEMCPY_OPERAND_TYPE_POINTER)
					continue;
				note_rows(side[k]->op.ptr.ptr, 0, 0, 0, row, layer, op[i].extent.width,
					  op[i].extent.height, op[i].extent.depth, stream);
			}
		}
		break;
	}
	default:
		break;
	}
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
		copy_operands(c, a);
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
