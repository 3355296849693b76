/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensor maps, texture and surface objects: made and checked, never followed (the
 * interpreter has no instructions for them).  A tensor map is the call's arguments
 * in a form of our own; like the driver's it depends on nothing else.
 */
#include "sim.h"

enum { DIMS = 5, TILED = 1, IM2COL, IM2COL_WIDE };

/* The bytes of a map: address first, so that it can be replaced. */
struct map {
	uint64_t address;
	uint32_t how, type, rank, interleave;
	uint64_t dim[DIMS], stride[DIMS - 1];
	uint64_t rest; /* of what else was given */
};
_Static_assert(sizeof(struct map) <= sizeof(CUtensorMap), "a map has 128 bytes");

static uint64_t mixed(uint64_t h, const void *p, size_t n)
{
	const unsigned char *b = p;

	for (size_t i = 0; p && i < n; i++)
		h = (h ^ b[i]) * 0x100000001b3ull;
	return h;
}

static CUresult encode(CUtensorMap *to, unsigned how, unsigned type, cuuint32_t rank, void *address,
		       const cuuint64_t *dim, const cuuint64_t *stride, unsigned interleave,
		       const cuuint32_t *steps, uint64_t rest)
{
	struct map m = {.address = (uintptr_t)address,
			.how = how,
			.type = type,
			.rank = rank,
			.interleave = interleave};
	unsigned least = how == TILED ? interleave ? 3 : 1 : 3;

	ENTER_QUIET();
	if (!to || (uintptr_t)to % 64 || !address || m.address % (interleave == 2 ? 32 : 16) ||
	    type > CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B || rank < least || rank > DIMS || !dim ||
	    (rank > 1 && !stride) || !steps || interleave > 2)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	for (unsigned i = 0; i < rank; i++) {
		m.dim[i] = dim[i];
		if (!dim[i] || dim[i] > 1ull << 32 || !steps[i] || steps[i] > 8)
			LEAVE(CUDA_ERROR_INVALID_VALUE);
		if (i)
			m.stride[i - 1] = stride[i - 1];
		if (i && (stride[i - 1] % 16 || stride[i - 1] >= 1ull << 40))
			LEAVE(CUDA_ERROR_INVALID_VALUE);
	}
	m.rest = mixed(rest, steps, rank * sizeof(*steps));
	memset(to, 0, sizeof(*to));
	memcpy(to, &m, sizeof(m));
	LEAVE(CUDA_SUCCESS);
}

API(cuTensorMapEncodeTiled,
    (CUtensorMap * to, CUtensorMapDataType type, cuuint32_t rank, void *address,
     const cuuint64_t *dim, const cuuint64_t *stride, const cuuint32_t *box, const cuuint32_t *steps,
     CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2,
     CUtensorMapFloatOOBfill fill))
{
	const unsigned more[] = {swizzle, l2, fill};

	if (!box || rank > DIMS)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < rank; i++)
		if (!box[i] || box[i] > 256)
			return CUDA_ERROR_INVALID_VALUE;
	return encode(to, TILED, type, rank, address, dim, stride, interleave, steps,
		      mixed(mixed(TILED, box, rank * sizeof(*box)), more, sizeof(more)));
}

API(cuTensorMapEncodeIm2col,
    (CUtensorMap * to, CUtensorMapDataType type, cuuint32_t rank, void *address,
     const cuuint64_t *dim, const cuuint64_t *stride, const int *lower, const int *upper,
     cuuint32_t channels, cuuint32_t pixels, const cuuint32_t *steps,
     CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2,
     CUtensorMapFloatOOBfill fill))
{
	const unsigned more[] = {channels, pixels, swizzle, l2, fill};
	uint64_t h = mixed(IM2COL, more, sizeof(more));

	if (!lower || !upper || rank < 3 || rank > DIMS)
		return CUDA_ERROR_INVALID_VALUE;
	h = mixed(mixed(h, lower, (rank - 2) * sizeof(*lower)), upper, (rank - 2) * sizeof(*upper));
	return encode(to, IM2COL, type, rank, address, dim, stride, interleave, steps, h);
}

API(cuTensorMapEncodeIm2colWide,
    (CUtensorMap * to, CUtensorMapDataType type, cuuint32_t rank, void *address,
     const cuuint64_t *dim, const cuuint64_t *stride, int lower, int upper, cuuint32_t channels,
     cuuint32_t pixels, const cuuint32_t *steps, CUtensorMapInterleave interleave,
     CUtensorMapIm2ColWideMode mode, CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2,
     CUtensorMapFloatOOBfill fill))
{
	const unsigned more[] = {(unsigned)lower, (unsigned)upper, channels, pixels,
				 mode,		  swizzle,	   l2,	     fill};

	return encode(to, IM2COL_WIDE, type, rank, address, dim, stride, interleave, steps,
		      mixed(IM2COL_WIDE, more, sizeof(more)));
}

API(cuTensorMapReplaceAddress, (CUtensorMap * map, void *address))
{
	uint64_t a = (uintptr_t)address;
	struct map m;

	ENTER_QUIET();
	if (!map || !a || a % 16)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	memcpy(&m, map, sizeof(m));
	if (!m.how || m.how > IM2COL_WIDE)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	m.address = a;
	memcpy(map, &m, sizeof(m));
	LEAVE(CUDA_SUCCESS);
}

/* ---- textures and surfaces ---- */

#define OBJECTS 4096

static uint8_t object[2][OBJECTS]; /* of textures, of surfaces: is the handle in use? */

static CUresult create(bool surface, unsigned long long *out, const CUDA_RESOURCE_DESC *d)
{
	struct ctx *c;
	CUresult r;

	ENTER();
	r = sim_get_ctx(&c);
	if (r != CUDA_SUCCESS)
		LEAVE(r);
	if (!out || !d || d->flags)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	switch (d->resType) {
	case CU_RESOURCE_TYPE_ARRAY:
		if (!sim_handle_is(d->res.array.hArray, SIM_ARRAY))
			LEAVE(CUDA_ERROR_INVALID_HANDLE);
		break;
	case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
		if (surface || !sim_handle_is(d->res.mipmap.hMipmappedArray, SIM_MIPMAP))
			LEAVE(CUDA_ERROR_INVALID_VALUE);
		break;
	case CU_RESOURCE_TYPE_LINEAR:
		if (surface || !d->res.linear.devPtr || !d->res.linear.sizeInBytes)
			LEAVE(CUDA_ERROR_INVALID_VALUE);
		break;
	case CU_RESOURCE_TYPE_PITCH2D:
		if (surface || !d->res.pitch2D.devPtr || !d->res.pitch2D.pitchInBytes)
			LEAVE(CUDA_ERROR_INVALID_VALUE);
		break;
	default:
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	}
	for (unsigned i = 1; i < OBJECTS; i++)
		if (!object[surface][i]) {
			object[surface][i] = 1;
			*out = i;
			LEAVE(CUDA_SUCCESS);
		}
	LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
}

static CUresult destroy(bool surface, unsigned long long h)
{
	ENTER();
	if (!h || h >= OBJECTS || !object[surface][h])
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	object[surface][h] = 0;
	LEAVE(CUDA_SUCCESS);
}

API(cuTexObjectCreate, (CUtexObject * out, const CUDA_RESOURCE_DESC *d, const CUDA_TEXTURE_DESC *t,
			const CUDA_RESOURCE_VIEW_DESC *v))
{
	(void)v;
	return t ? create(false, out, d) : CUDA_ERROR_INVALID_VALUE;
}
ONE(cuTexObjectDestroy, (CUtexObject h), destroy(false, h))
ONE(cuSurfObjectCreate, (CUsurfObject * out, const CUDA_RESOURCE_DESC *d), create(true, out, d))
ONE(cuSurfObjectDestroy, (CUsurfObject h), destroy(true, h))
