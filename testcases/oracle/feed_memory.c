/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of rows, arrays, mappings, registered memory, attributes and rights as records of calls.
 */
#include "feed.h"
#include "interposer/cuabi.h"

#define BYTES (CELLS * CELL)
#define PHYS  0xa000 /* what is mapped twice */

static void call_with(struct world *w, enum krt_api_id api, uint64_t a0, unsigned arg,
		      const void *data, size_t len, uint64_t a1, int result)
{
	call_begin(w, api, a0, a1, A(0), A(1));
	call_blob(w, arg, KRT_BLOB_BYTES, data, (uint32_t)len);
	call_end(w, result);
}

static void access_of(struct world *w, uint64_t what, unsigned device, bool on)
{
	CUmemAccessDesc d = {
		.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = (int)device},
		.flags = on ? 3 : 0,
	};

	if (what == THE_POOL)
		call_begin(w, KRT_API_cuMemPoolSetAccess, A(what), A(0), A(1));
	else
		call_begin(w, KRT_API_cuMemSetAccess, A(what), A(BYTES), A(0), A(1));
	call_blob(w, what == THE_POOL ? 1 : 2, KRT_BLOB_BYTES, &d, sizeof(d));
	call_end(w, 0);
}

void map_memory(struct world *w, unsigned b)
{
	call(w, cuMemMap, A(buffer_slot[b].addr), A(BYTES), A(0), A(PHYS), A(0));
}

void make_array(struct world *w, unsigned b)
{
	CUDA_ARRAY_DESCRIPTOR d = {.Width = ARRAY_ROW * CELL,
				   .Height = CELLS / ARRAY_ROW,
				   .Format = CU_AD_FORMAT_UNSIGNED_INT8,
				   .NumChannels = 1};

	call_begin(w, KRT_API_cuArrayCreate_v2, A(0), A(0));
	call_out(w, 0, buffer_slot[b].addr);
	call_blob(w, 1, KRT_BLOB_BYTES, &d, sizeof(d));
	call_end(w, 0);
}

void alloc_from_pool(struct world *w, unsigned b, uint64_t s)
{
	call_begin(w, KRT_API_cuMemAllocFromPoolAsync, A(0), A(BYTES), A(THE_POOL), A(s));
	call_out(w, 0, buffer_slot[b].addr);
	call_end(w, 0);
}

static void make_pool(struct world *w, unsigned i)
{
	pool_create(w, BLOCKS_OF(i), i == HOST_POOL ? 2 : 1, "pool");
}

/* Words of 4 bytes, of 8, and one in a batch. */
static void feed_value(struct world *w, const struct op *o, uint64_t s)
{
	bool write = o->what == OP_VALUE_WRITE;
	uint64_t addr = FLAGS + 64 * o->event;
	CUstreamBatchMemOpParams m[2] = {0};

	if (o->form & 2) {
		unsigned n = o->form == 3 ? 2 : 1;

		for (unsigned i = 0; i < n; i++) {
			m[i].writeValue.operation = write ? CU_STREAM_MEM_OP_WRITE_VALUE_32
							  : CU_STREAM_MEM_OP_WAIT_VALUE_32;
			m[i].writeValue.address = FLAGS + 64 * (i ? o->event2 : o->event);
			m[i].writeValue.value = o->value;
			m[i].writeValue.flags = o->order;
		}
		call_begin(w, KRT_API_cuStreamBatchMemOp_v2, A(s), A(n), A(0), A(0));
		call_blob(w, 2, KRT_BLOB_BYTES, m, n * sizeof(*m));
	} else if (o->form & 1) {
		call_begin(w,
			   write ? KRT_API_cuStreamWriteValue64_v2 : KRT_API_cuStreamWaitValue64_v2,
			   A(s), A(addr), A(o->value), A(o->order));
	} else {
		call_begin(w,
			   write ? KRT_API_cuStreamWriteValue32_v2 : KRT_API_cuStreamWaitValue32_v2,
			   A(s), A(addr), A(o->value), A(o->order));
	}
	call_end(w, 0);
}

void open_memory(struct world *w)
{
	CUmemPoolProps props = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};

	call(w, cuInit, A(0));
	call_begin(w, KRT_API_cuMemPoolCreate, A(0), A(0));
	call_out(w, 0, THE_POOL);
	call_blob(w, 1, KRT_BLOB_BYTES, &props, sizeof(props));
	call_end(w, 0);
	for (unsigned i = 0; i < EVENTS; i++)
		make_pool(w, i);
	alloc(w, FLAGS, 4096);
	call_begin(w, KRT_API_cuMemCreate, A(0), A(BYTES), A(0), A(0));
	call_out(w, 0, PHYS);
	call_end(w, 0);
	for (unsigned b = 0; b < BUFFERS; b++)
		if (buffer_slot[b].kind == MAPPED) {
			w->stack = OPS + 1 + b;
			map_memory(w, b);
			access_of(w, buffer_slot[b].addr, 0, true);
		}
}

/* --- copies ------------------------------------------------------------------------ */

static enum memory kind(const struct range *r)
{
	return buffer_slot[r->buffer].kind;
}

static bool on_host(const struct range *r)
{
	return kind(r) == PINNED || kind(r) == PAGEABLE;
}

/* A side of a copy of rows; freed memory is told to be the device's by its type alone. */
struct side {
	CUmemorytype type;
	uint64_t x, y, host, device, array, pitch, height;
};

static struct side side_of(const struct op *o, unsigned i, unsigned pitch)
{
	const struct range *r = &o->range[i];
	struct side s = {.pitch = pitch * CELL, .height = o->height, .type = CU_MEMORYTYPE_UNIFIED};

	if (kind(r) == ARRAY) {
		s.type = CU_MEMORYTYPE_ARRAY;
		s.array = buffer_slot[r->buffer].addr;
		s.x = r->from % ARRAY_ROW * CELL;
		s.y = r->from / ARRAY_ROW;
		return s;
	}
	if (kind(r) == DEVICE || (o->form & 2 && !on_host(r)))
		s.type = CU_MEMORYTYPE_DEVICE;
	else if (o->form & 2)
		s.type = CU_MEMORYTYPE_HOST;
	*(s.type == CU_MEMORYTYPE_HOST ? &s.host : &s.device) = addr_of(r);
	return s;
}

static void feed_rows(struct world *w, const struct op *o, uint64_t s, unsigned rows,
		      unsigned slices, unsigned pitch, unsigned pitch2, bool async)
{
	struct side d = side_of(o, 0, pitch), f = side_of(o, 1, pitch2);
	bool thread = !async && o->stream == THREAD_SLOT;
	uint64_t width = o->range->n * CELL;
	CUDA_MEMCPY2D flat = {
		f.x,   f.y, f.type, (void *)f.host, f.device, (void *)f.array, f.pitch,
		d.x,   d.y, d.type, (void *)d.host, d.device, (void *)d.array, d.pitch,
		width, rows};
	CUDA_MEMCPY3D deep = {.srcXInBytes = f.x,
			      .srcY = f.y,
			      .srcMemoryType = f.type,
			      .srcHost = (void *)f.host,
			      .srcDevice = f.device,
			      .srcArray = (void *)f.array,
			      .srcPitch = f.pitch,
			      .srcHeight = f.height,
			      .dstXInBytes = d.x,
			      .dstY = d.y,
			      .dstMemoryType = d.type,
			      .dstHost = (void *)d.host,
			      .dstDevice = d.device,
			      .dstArray = (void *)d.array,
			      .dstPitch = d.pitch,
			      .dstHeight = d.height,
			      .WidthInBytes = width,
			      .Height = rows,
			      .Depth = slices};
	bool is_3d = slices > 1 || o->form & 1;
	static const enum krt_api_id api[2][3] = {
		{KRT_API_cuMemcpy2D_v2, KRT_API_cuMemcpy2D_v2_ptds, KRT_API_cuMemcpy2DAsync_v2},
		{KRT_API_cuMemcpy3D_v2, KRT_API_cuMemcpy3D_v2_ptds, KRT_API_cuMemcpy3DAsync_v2},
	};

	call_with(w, api[is_3d][async ? 2 : thread], 0, 0, is_3d ? (void *)&deep : (void *)&flat,
		  is_3d ? sizeof(deep) : sizeof(flat), s, o->refused ? REFUSED : 0);
}

/* Of bytes in a row, as they lie in the array. */
void feed_array_copy(struct world *w, const struct op *o, uint64_t s)
{
	const struct range *d = &o->range[0], *f = &o->range[1];
	bool thread = o->what == OP_COPY_SYNC && o->stream == THREAD_SLOT,
	     async = o->what == OP_COPY;
	uint64_t dst = buffer_slot[d->buffer].addr, src = buffer_slot[f->buffer].addr,
		 at = d->from * CELL, from = f->from * CELL, n = d->n * CELL;
	int result = o->refused ? REFUSED : 0;

	if (kind(d) == ARRAY && kind(f) == ARRAY)
		call_begin(w, thread ? KRT_API_cuMemcpyAtoA_v2_ptds : KRT_API_cuMemcpyAtoA_v2,
			   A(dst), A(at), A(src), A(from), A(n));
	else if (kind(d) == ARRAY)
		call_begin(w,
			   async ? KRT_API_cuMemcpyHtoAAsync_v2
			   : on_host(f)
				   ? thread ? KRT_API_cuMemcpyHtoA_v2_ptds : KRT_API_cuMemcpyHtoA_v2
			   : thread ? KRT_API_cuMemcpyDtoA_v2_ptds
				    : KRT_API_cuMemcpyDtoA_v2,
			   A(dst), A(at), A(addr_of(f)), A(n), A(s));
	else
		call_begin(w,
			   async ? KRT_API_cuMemcpyAtoHAsync_v2
			   : on_host(d)
				   ? thread ? KRT_API_cuMemcpyAtoH_v2_ptds : KRT_API_cuMemcpyAtoH_v2
			   : thread ? KRT_API_cuMemcpyAtoD_v2_ptds
				    : KRT_API_cuMemcpyAtoD_v2,
			   A(addr_of(d)), A(src), A(from), A(n), A(s));
	call_end(w, result);
}

/* --- the rest ---------------------------------------------------------------------- */

void feed_memory(struct world *w, const struct op *o, uint64_t s)
{
	uint64_t addr = buffer_slot[o->range->buffer].addr;

	switch (o->what) {
	case OP_COPY_ROWS:
	case OP_COPY_ROWS_SYNC:
		feed_rows(w, o, s, o->rows, o->slices, o->pitch, o->pitch2,
			  o->what == OP_COPY_ROWS);
		break;
	case OP_REGISTER:
		call(w, cuMemHostRegister_v2, A(addr), A(BYTES), A(0));
		break;
	case OP_UNREGISTER:
		call(w, cuMemHostUnregister, A(addr));
		break;
	case OP_HEAP_FREE:
		call(w, free, A(addr), A(BYTES));
		break;
	case OP_MAP_ACCESS:
		access_of(w, addr, o->event % CONTEXTS, o->ready);
		break;
	case OP_POOL_ACCESS:
		access_of(w, THE_POOL, o->event % CONTEXTS, o->ready);
		break;
	case OP_PEER_ACCESS:
		if (o->ready)
			call(w, cuCtxEnablePeerAccess, A(0xc0 + !o->ctx), A(0));
		else
			call(w, cuCtxDisablePeerAccess, A(0xc0 + !o->ctx));
		break;
	case OP_BLOCK_ALLOC:
		block_alloc(w, BLOCKS_OF(o->event), addr_of(o->range), o->range->n * CELL, s);
		break;
	case OP_BLOCK_FREE:
		block_free(w, addr_of(o->range));
		break;
	case OP_BLOCK_USE:
		block_use(w, addr_of(o->range), s);
		break;
	case OP_BLOCK_RESIZE:
		call(w, krtsan_impl_block_resize, A(addr_of(o->range)), A(o->range->n * CELL));
		break;
	case OP_POOL_DESTROY:
		pool_destroy(w, BLOCKS_OF(o->event));
		make_pool(w, o->event);
		break;
	case OP_POOL_REUSE:
		call(w, cuMemPoolSetAttribute);
		break;
	case OP_VALUE_WRITE:
	case OP_VALUE_WAIT:
		feed_value(w, o, s);
		break;
	case OP_MEMOPS:
		call(w, cuPointerSetAttribute, A(0), A(CU_POINTER_ATTRIBUTE_SYNC_MEMOPS), A(addr));
		break;
	case OP_CTX_MEMOPS:
		call(w, cuCtxSetFlags, A(o->ready ? CU_CTX_SYNC_MEMOPS : 0));
		break;
	default:
		break;
	}
}
