/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensor maps, texture and surface objects: what memory they lead to.
 *
 * A tensor map is 128 bytes that a program copies around and passes by value; it
 * is known by its content, whoever made it and wherever it lies.  The newest
 * KRT_TENSOR_MAPS_MAX are remembered.  Textures and surfaces are handles of a
 * context; the array behind one may end before it.
 *
 * What is described is a bound: which of the bytes a kernel touches depends on
 * the coordinates that it computes.
 */
#include "engine_int.h"
#include "../interposer/cuabi.h"

#include <string.h>

#define DIMS 5
#define STEP 64 /* alignment of tensor maps */

/* --- tensor maps ---------------------------------------------------------------------- */

struct krt_tensor_map {
	uint64_t content[KRT_TENSOR_MAP_BYTES / 8];
	uint64_t base;
	uint64_t len, rows, pitch, stride, width; /* of krt_kernel_access; len 0: not known */
	struct krt_tensor_map *newer, *older;
	UT_hash_handle hh;
};

static unsigned element_bits(uint64_t type)
{
	static const uint8_t bits[] = {
		[CU_TENSOR_MAP_DATA_TYPE_UINT8] = 8,
		[CU_TENSOR_MAP_DATA_TYPE_UINT16] = 16,
		[CU_TENSOR_MAP_DATA_TYPE_UINT32] = 32,
		[CU_TENSOR_MAP_DATA_TYPE_INT32] = 32,
		[CU_TENSOR_MAP_DATA_TYPE_UINT64] = 64,
		[CU_TENSOR_MAP_DATA_TYPE_INT64] = 64,
		[CU_TENSOR_MAP_DATA_TYPE_FLOAT16] = 16,
		[CU_TENSOR_MAP_DATA_TYPE_FLOAT32] = 32,
		[CU_TENSOR_MAP_DATA_TYPE_FLOAT64] = 64,
		[CU_TENSOR_MAP_DATA_TYPE_BFLOAT16] = 16,
		[CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ] = 32,
		[CU_TENSOR_MAP_DATA_TYPE_TFLOAT32] = 32,
		[CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ] = 32,
		[CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B] = 4,
		/* 16 of them take 16 bytes, gaps included */
		[CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B] = 8,
		[CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B] = 8,
	};

	return type < sizeof(bits) ? bits[type] : 0;
}

struct level {
	uint64_t count, stride;
};

/* Bytes from the first to the last.  False: beyond any memory. */
static bool extent(uint64_t piece, const struct level *l, unsigned n, uint64_t *out)
{
	for (unsigned i = 0; i < n; i++) {
		uint64_t far;

		if (__builtin_mul_overflow(l[i].count - 1, l[i].stride, &far) ||
		    __builtin_add_overflow(piece, far, &piece))
			return false;
	}
	*out = piece;
	return piece <= 1ull << 56;
}

/*
 * Dimensions from the innermost stride outwards: those without gaps become one,
 * those that overlap their hull; of what is left the outermost two keep theirs.
 */
static bool shape_of(struct krt_tensor_map *m, uint64_t piece, struct level *dim, unsigned n)
{
	struct level l[DIMS];
	unsigned k = 0;
	uint64_t all;

	for (unsigned i = 1; i < n; i++)
		for (unsigned j = i; j && dim[j].stride < dim[j - 1].stride; j--) {
			struct level t = dim[j];

			dim[j] = dim[j - 1];
			dim[j - 1] = t;
		}
	for (unsigned i = 0; i < n; i++) {
		if (!extent(piece, l, k, &all))
			return false;
		if (k && dim[i].stride == l[k - 1].stride * l[k - 1].count) {
			l[k - 1].count *= dim[i].count;
			continue;
		}
		if (dim[i].stride > all || (k && dim[i].stride == all)) {
			l[k++] = dim[i];
			continue;
		}
		if (!extent(all, &dim[i], 1, &piece))
			return false;
		k = 0;
	}
	if (!extent(piece, l, k, &all))
		return false;
	for (; k > 2; k--, memmove(l, l + 1, k * sizeof(*l)))
		extent(piece, l, 1, &piece);
	m->rows = k ? l[k - 1].count : 1;
	m->pitch = k ? l[k - 1].stride : 0;
	m->stride = k > 1 ? l[0].stride : 0;
	m->width = k > 1 ? piece : 0;
	extent(piece, l, k > 1, &m->len);
	return true;
}

static bool tensor_shape(struct krt_tensor_map *m, const struct krt_call *c)
{
	uint64_t rank = c->count, row = krt_u64_at(&c->dims, 0), bits = element_bits(c->number[0]);
	struct level dim[DIMS];
	unsigned n = 0;

	/* other layouts interleave channels */
	if (!rank || rank > DIMS || c->dims.len < rank * 8 || c->strides.len < (rank - 1) * 8 ||
	    !bits || c->flags != CU_TENSOR_MAP_INTERLEAVE_NONE || !row || row > 1ull << 40)
		return false;
	for (unsigned i = 1; i < rank; i++) {
		uint64_t count = krt_u64_at(&c->dims, i);

		if (!count)
			return false;
		if (count > 1)
			dim[n++] = (struct level){count, krt_u64_at(&c->strides, i - 1)};
	}
	return shape_of(m, (row * bits + 7) / 8, dim, n);
}

static struct krt_tensor_map *map_find(const struct krt_engine *e, const void *content)
{
	struct krt_tensor_map *m;

	HASH_FIND(hh, e->tensor_maps, content, KRT_TENSOR_MAP_BYTES, m);
	return m;
}

static void map_unlink(struct krt_engine *e, struct krt_tensor_map *m)
{
	*(m->newer ? &m->newer->older : &e->tensor_newest) = m->older;
	*(m->older ? &m->older->newer : &e->tensor_oldest) = m->newer;
}

static void map_link(struct krt_engine *e, struct krt_tensor_map *m)
{
	m->newer = NULL;
	m->older = e->tensor_newest;
	*(m->older ? &m->older->newer : &e->tensor_oldest) = m;
	e->tensor_newest = m;
}

static void map_drop(struct krt_engine *e, struct krt_tensor_map *m)
{
	struct krt_heap *heap = &e->heap;

	map_unlink(e, m);
	HASH_DELETE(hh, e->tensor_maps, m);
	krt_heap_free(heap, m, sizeof(*m));
}

static void tensor_map(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_heap *heap = &e->heap;
	struct krt_tensor_map is = {.base = c->addr}, *m;
	const struct krt_tensor_map *old;

	if (c->out.len < KRT_TENSOR_MAP_BYTES)
		return;
	if (krt_has(c, KRT_ROLE_INOUT_STRUCT)) {
		old = c->in.len >= KRT_TENSOR_MAP_BYTES ? map_find(e, c->in.data) : NULL;
		if (old) {
			is = *old;
			is.base = c->addr;
		}
	} else if (!tensor_shape(&is, c)) {
		is = (struct krt_tensor_map){.base = c->addr};
	}
	m = map_find(e, c->out.data);
	if (m) { /* the same again; or krtsan did not see what is new in it */
		map_unlink(e, m);
	} else {
		if (HASH_COUNT(e->tensor_maps) >= KRT_TENSOR_MAPS_MAX)
			map_drop(e, e->tensor_oldest);
		m = krt_heap_alloc(heap, sizeof(*m));
		if (!m)
			return;
		memcpy(m->content, c->out.data, KRT_TENSOR_MAP_BYTES);
		HASH_ADD(hh, e->tensor_maps, content, KRT_TENSOR_MAP_BYTES, m);
		if (!m->hh.tbl) {
			krt_heap_free(heap, m, sizeof(*m));
			return;
		}
	}
	m->base = is.base;
	m->len = is.len;
	m->rows = is.rows;
	m->pitch = is.pitch;
	m->stride = is.stride;
	m->width = is.width;
	map_link(e, m);
}

static void map_access(const struct krt_tensor_map *m, struct krt_kernel_access *a)
{
	a->addr = a->base = m->base;
	a->len = m->len;
	a->rows = m->rows;
	a->pitch = m->pitch;
	a->stride = m->stride;
	a->width = m->width;
	a->sure = m->len ? KRT_SURE_SOME : KRT_SURE_FROM;
}

bool krt_tensor_map(struct krt_engine *e, const void *map, struct krt_kernel_access *shape)
{
	uint64_t content[KRT_TENSOR_MAP_BYTES / 8];
	struct krt_tensor_map *m;

	if (!e->tensor_maps)
		return false;
	memcpy(content, map, sizeof(content));
	m = map_find(e, content);
	if (!m)
		return false;
	if (m != e->tensor_newest) {
		map_unlink(e, m);
		map_link(e, m);
	}
	map_access(m, shape);
	return true;
}

void krt_tensor_maps_in(struct krt_engine *e, const void *param, uint32_t len,
			const struct krt_kernel_access *as, krt_kernel_fn *fn, void *user)
{
	const char *bytes = param;
	uint32_t at = 0;

	while (e->tensor_maps && len >= KRT_TENSOR_MAP_BYTES && at <= len - KRT_TENSOR_MAP_BYTES) {
		struct krt_kernel_access a = *as;

		if (!krt_tensor_map(e, bytes + at, &a)) {
			at += STEP;
			continue;
		}
		a.offset = at;
		fn(user, &a);
		at += KRT_TENSOR_MAP_BYTES;
	}
}

/* --- textures and surfaces -------------------------------------------------------------- */

struct texture_key {
	uint64_t object, place, surface;
};

struct krt_texture {
	struct texture_key key;
	uint64_t addr, len, rows, pitch; /* in memory */
	uint64_t array;			 /* or an array, 0: none, */
	uint32_t serial;		 /* and which one of that handle */
	bool mipmapped;
	UT_hash_handle hh;
};

static struct krt_texture *texture_find(const struct krt_engine *e, const struct texture_key *k)
{
	struct krt_texture *t;

	HASH_FIND(hh, e->textures, k, sizeof(*k), t);
	return t;
}

static void texture_drop(struct krt_engine *e, struct krt_texture *t)
{
	struct krt_heap *heap = &e->heap;

	HASH_DELETE(hh, e->textures, t);
	krt_heap_free(heap, t, sizeof(*t));
}

/* What the resource descriptor describes.  False: nothing that is understood. */
static bool resource(struct krt_engine *e, const struct krt_call *c, struct krt_texture *t)
{
	CUDA_RESOURCE_DESC d;
	const struct krt_mem *a;

	if (c->in.len < sizeof(d))
		return false;
	memcpy(&d, c->in.data, sizeof(d));
	switch (d.resType) {
	case CU_RESOURCE_TYPE_ARRAY:
	case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
		/* both handles lie at the same place */
		t->array = (uintptr_t)d.res.array.hArray;
		t->mipmapped = d.resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
		a = krt_array_get(&e->mem, t->array);
		t->serial = a ? a->serial : 0;
		return a != NULL;
	case CU_RESOURCE_TYPE_LINEAR:
		t->addr = d.res.linear.devPtr;
		t->len = d.res.linear.sizeInBytes;
		t->rows = 1;
		return t->len;
	case CU_RESOURCE_TYPE_PITCH2D:
		t->addr = d.res.pitch2D.devPtr;
		t->len = krt_channel_bytes(d.res.pitch2D.format) * d.res.pitch2D.numChannels;
		t->rows = d.res.pitch2D.height;
		t->pitch = d.res.pitch2D.pitchInBytes;
		if (!t->len || d.res.pitch2D.width > t->pitch / t->len)
			t->len = t->pitch;
		else
			t->len *= d.res.pitch2D.width;
		return t->len && t->rows && t->rows <= (1ull << 56) / t->pitch;
	}
	return false;
}

static void texture(struct krt_engine *e, const struct krt_call *c, bool surface, bool create)
{
	struct krt_heap *heap = &e->heap;
	const struct krt_context_info *ctx = krt_call_context(e, c);
	struct krt_texture is = {0}, *t;

	if (!ctx)
		return;
	is.key.object = create ? c->out_handle : c->handle;
	is.key.place = krt_context_place(ctx);
	is.key.surface = surface;
	t = texture_find(e, &is.key);
	if (t)
		texture_drop(e, t);
	if (!create || !resource(e, c, &is) || HASH_COUNT(e->textures) >= KRT_TEXTURES_MAX)
		return;
	t = krt_heap_alloc(heap, sizeof(*t));
	if (!t)
		return;
	*t = is;
	HASH_ADD(hh, e->textures, key, sizeof(t->key), t);
	if (!t->hh.tbl)
		krt_heap_free(heap, t, sizeof(*t));
}

bool krt_texture(struct krt_engine *e, struct krt_context_info *ctx, uint64_t object, bool surface,
		 const struct krt_kernel_access *as, krt_kernel_fn *fn, void *user)
{
	struct texture_key key = {.object = object, .surface = surface};
	struct krt_kernel_access a = *as;
	struct krt_mem *mem, *tmp;
	const struct krt_texture *t;

	if (!ctx && e->call)
		ctx = krt_call_context(e, e->call);
	if (!e->textures || !ctx)
		return false;
	key.place = krt_context_place(ctx);
	t = texture_find(e, &key);
	if (!t)
		return false;
	a.sure = KRT_SURE_SOME;
	a.stride = a.width = 0;
	if (!t->array) {
		a.addr = a.base = t->addr;
		a.len = t->len;
		a.rows = t->rows;
		a.pitch = t->pitch;
		fn(user, &a);
		return true;
	}
	mem = krt_array_get(&e->mem, t->array);
	if (!mem || mem->serial != t->serial)
		return false;
	a.addr = a.base = a.pitch = 0;
	a.rows = 1;
	a.mem = mem;
	a.len = mem->size;
	fn(user, &a);
	if (!t->mipmapped)
		return true;
	HASH_ITER (hh, e->mem.arrays, mem, tmp) /* copies name the levels */
		if (mem->parent == t->array) {
			a.mem = mem;
			a.len = mem->size;
			fn(user, &a);
		}
	return true;
}

/* --- both ---------------------------------------------------------------------------------- */

void krt_descriptor_op(struct krt_engine *e, const struct krt_call *c)
{
	if (!c->ok)
		return;
	switch (c->op) {
	case KRT_OP_TENSOR_MAP:
		tensor_map(e, c);
		break;
	case KRT_OP_TEXTURE_CREATE:
	case KRT_OP_SURFACE_CREATE:
		texture(e, c, c->op == KRT_OP_SURFACE_CREATE, true);
		break;
	case KRT_OP_TEXTURE_DESTROY:
	case KRT_OP_SURFACE_DESTROY:
		texture(e, c, c->op == KRT_OP_SURFACE_DESTROY, false);
		break;
	default:
		break;
	}
}

void krt_descriptors_free(struct krt_engine *e)
{
	struct krt_texture *t, *tmp;

	while (e->tensor_oldest)
		map_drop(e, e->tensor_oldest);
	HASH_ITER (hh, e->textures, t, tmp)
		texture_drop(e, t);
}
