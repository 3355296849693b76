/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies and sets: every form is a list of boxes (rows of rows of bytes), one
 * operation.  What blocks, and when a source is read, is in this file:
 *
 *                            observed view                     documented view
 *   pageable H2D async       <= 2 MiB: read at the call;       read at the call
 *                            else after earlier stream work
 *   pageable D2H async       done on return                    asynchronous
 *   H2H async                done on return                    done on return
 *   pageable H2D sync        earlier work done, source read, transfer pending (both)
 *   pinned H2D, D2H, H2H     done on return (both)
 *   D2D sync                 asynchronous (both)
 *   sync with managed        done on return                    as device memory
 *   SYNC_MEMOPS              sync forms: done on return (both)
 *
 * Bytes of the host are read and written in a way that cannot fault.
 */
#include "sim.h"

#define STAGED_MAX (2u << 20)

enum place { PAGEABLE, PINNED, DEVICE, MANAGED };

struct box {
	uint64_t dst, src;
	size_t w, h, d;
	size_t dpitch, dslice, spitch, sslice;
	uint8_t dplace, splace;
	void *staged; /* the source's bytes, tight rows; read at the call */
};

struct copy {
	CUDA_MEMCPY3D given; /* of a single copy, for queries of graph nodes */
	unsigned n;
	struct box b[];
};

#define GET_STREAM(h, pt, st)                                                                      \
	struct strm *st = NULL;                                                                    \
	do {                                                                                       \
		CUresult get_ = sim_get_stream(h, pt, &st);                                        \
		if (get_ != CUDA_SUCCESS)                                                          \
			LEAVE(get_);                                                               \
	} while (0)

static size_t extent(size_t w, size_t h, size_t d, size_t pitch, size_t slice)
{
	return w + (h - 1) * pitch + (d - 1) * slice;
}

/* The allocation, or mappings of VMM memory side by side, that hold all of it. */
static bool vmm_there(uint64_t addr, size_t n)
{
	struct alloc *a = mem_find(addr);

	while (a && n > a->lo + a->size - addr) {
		n -= a->lo + a->size - addr;
		addr = a->lo + a->size;
		a = a->kind == MEM_VMM ? mem_find(addr) : NULL;
	}
	return a != NULL;
}

/* Is it there now, for the device? */
static bool dev_there(uint64_t addr, size_t n)
{
	/* Observed: what was freed stays mapped until the device has no work; its bytes are wrong.
	 */
	return vmm_there(addr, n) || mem_in_pool(addr, n, NULL) ||
	       (!sim_opt.documented && mem_was_dev(addr, n));
}

static bool side_there(uint8_t place, uint64_t addr, size_t n)
{
	return place == PAGEABLE || place == PINNED || dev_there(addr, n);
}

static enum step copy_step(struct op *op)
{
	struct copy *c = op->data;

	for (unsigned i = 0; i < c->n; i++) {
		struct box *b = &c->b[i];
		char *st = b->staged;

		for (size_t z = 0; z < b->d; z++) {
			for (size_t y = 0; y < b->h; y++) {
				uint64_t d = b->dst + z * b->dslice + y * b->dpitch;
				uint64_t s = b->src + z * b->sslice + y * b->spitch;

				if (!side_there(b->dplace, d, b->w) ||
				    (st ? !mem_write(d, st, b->w)
					: !side_there(b->splace, s, b->w) ||
						     !mem_move(d, s, b->w))) {
					sim_ctx_fail(op->ctx, CUDA_ERROR_ILLEGAL_ADDRESS);
					return STEP_DONE;
				}
				if (st)
					st += b->w;
			}
		}
	}
	return STEP_DONE;
}

static void copy_fini(struct op *op)
{
	struct copy *c = op->data;

	for (unsigned i = 0; i < c->n; i++)
		sim_free(c->b[i].staged);
}

static void copy_clone(struct op *op)
{
	struct copy *c = op->data;

	for (unsigned i = 0; i < c->n; i++) {
		size_t n = c->b[i].w * c->b[i].h * c->b[i].d;
		void *p = c->b[i].staged ? sim_alloc(n) : NULL;

		if (p)
			memcpy(p, c->b[i].staged, n);
		c->b[i].staged = p;
	}
}

static bool stage(struct box *b)
{
	char *p = sim_alloc(b->w * b->h * b->d);

	if (!p)
		return false;
	for (size_t z = 0; z < b->d; z++)
		for (size_t y = 0; y < b->h; y++)
			if (!mem_read(p + (z * b->h + y) * b->w,
				      b->src + z * b->sslice + y * b->spitch, b->w)) {
				sim_free(p);
				return false;
			}
	b->staged = p;
	return true;
}

static struct op *copy_op(struct ctx *c, const struct box *b, unsigned n)
{
	struct op *op = op_new(c, OP_COPY, "", sizeof(struct copy) + n * sizeof *b);
	struct copy *cp;
	uint64_t bytes = 0;

	if (!op)
		return NULL;
	cp = op->data;
	cp->n = n;
	memcpy(cp->b, b, n * sizeof *b);
	op->step = copy_step;
	op->fini = copy_fini;
	op->clone = copy_clone;
	for (unsigned i = 0; i < n; i++) {
		bytes += b[i].w * b[i].h * b[i].d;
		op_range(op, b[i].dst, extent(b[i].w, b[i].h, b[i].d, b[i].dpitch, b[i].dslice),
			 true);
		if (!b[i].staged)
			op_range(op, b[i].src,
				 extent(b[i].w, b[i].h, b[i].d, b[i].spitch, b[i].sslice), false);
	}
	op->cost += bytes * 1000 / sim_opt.bytes_per_us;
	return op;
}

/* Where an address is; dev: the caller says that it is a device address.  False: it is not, or too
 * short. */
static bool place_of(uint64_t addr, size_t n, bool dev, uint8_t *place)
{
	struct alloc *a = mem_find(addr);

	if (!a) {
		if (mem_in_pool(addr, n, NULL)) {
			*place = DEVICE; /* freed in stream order: the driver lets it pass */
			return true;
		}
		*place = PAGEABLE;
		return !dev;
	}
	switch (a->kind) {
	case MEM_HOST:
	case MEM_REGISTERED:
		*place = PINNED;
		break;
	case MEM_MANAGED:
		*place = MANAGED;
		break;
	default:
		*place = DEVICE;
	}
	return n <= a->lo + a->size - addr || (a->kind == MEM_VMM && vmm_there(addr, n));
}

static bool sync_memops(const struct strm *st, const struct box *b)
{
	struct alloc *d = mem_find(b->dst), *s = mem_find(b->src);

	return st->ctx->flags & CU_CTX_SYNC_MEMOPS || (d && d->sync_memops) ||
	       (s && s->sync_memops);
}

/* A box as the structure that a node's parameters are told in; arrays are told by their callers. */
static void tell(CUDA_MEMCPY3D *g, const struct box *b)
{
	bool dh = b->dplace == PAGEABLE || b->dplace == PINNED;
	bool sh = b->splace == PAGEABLE || b->splace == PINNED;

	*g = (CUDA_MEMCPY3D){.WidthInBytes = b->w,
			     .Height = b->h,
			     .Depth = b->d,
			     .srcMemoryType = sh ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE,
			     .srcHost = sh ? (void *)b->src : NULL,
			     .srcDevice = sh ? 0 : b->src,
			     .srcPitch = b->spitch,
			     .srcHeight = b->spitch ? b->sslice / b->spitch : 0,
			     .dstMemoryType = dh ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE,
			     .dstHost = dh ? (void *)b->dst : NULL,
			     .dstDevice = dh ? 0 : b->dst,
			     .dstPitch = b->dpitch,
			     .dstHeight = b->dpitch ? b->dslice / b->dpitch : 0};
}

/*
 * One copy.  dtype, stype: HOST, DEVICE, UNIFIED (arrays come as DEVICE with their address).
 * given: what the program asked for, where that says more than the box.
 */
static CUresult one(bool pt, bool async, CUstream h, struct box *b, bool ddev, bool sdev,
		    const CUDA_MEMCPY3D *given)
{
	bool dh, sh, wait, managed;
	struct ctx *c;
	struct op *op;

	GET_STREAM(h, pt, st);
	c = st->ctx;
	if (!b->w || !b->h || !b->d)
		LEAVE(CUDA_SUCCESS);
	if (!b->dst || !b->src ||
	    !place_of(b->dst, extent(b->w, b->h, b->d, b->dpitch, b->dslice), ddev, &b->dplace) ||
	    !place_of(b->src, extent(b->w, b->h, b->d, b->spitch, b->sslice), sdev, &b->splace))
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	if (!async && st->cap) {
		cap_invalidate(st);
		LEAVE(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	}
	dh = b->dplace == PAGEABLE || b->dplace == PINNED;
	sh = b->splace == PAGEABLE || b->splace == PINNED;
	managed = b->dplace == MANAGED || b->splace == MANAGED;
	if (b->splace == PAGEABLE && !dh && !st->cap) {
		if (!async || (!sim_opt.documented && b->w * b->h * b->d > STAGED_MAX))
			sim_wait_before(st);
		if (c->error)
			LEAVE(c->error);
		if (!stage(b))
			LEAVE(CUDA_ERROR_INVALID_VALUE);
	}
	op = copy_op(c, b, 1);
	if (!op) {
		sim_free(b->staged);
		LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
	}
	if (st->cap) {
		if (given)
			((struct copy *)op->data)->given = *given;
		else
			tell(&((struct copy *)op->data)->given, b);
		op_submit(op, st);
		LEAVE(CUDA_SUCCESS);
	}
	if (async)
		wait = (dh && sh) || (b->dplace == PAGEABLE && !sim_opt.documented);
	else
		wait = dh || b->splace == PINNED || ((managed || sh) && !sim_opt.documented) ||
		       sync_memops(st, b);
	op_get(op);
	op_submit(op, st);
	if (wait)
		sim_wait_op(op);
	op_put(op);
	LEAVE(wait ? c->error : CUDA_SUCCESS);
}

static CUresult linear(bool pt, bool async, CUstream h, uint64_t dst, uint64_t src, size_t n,
		       bool ddev, bool sdev)
{
	struct box b = {.dst = dst, .src = src, .w = n, .h = 1, .d = 1};

	ENTER();
	return one(pt, async, h, &b, ddev, sdev, NULL);
}

#define P(x) ((uint64_t)(uintptr_t)(x))
BOTH(cuMemcpy, _ptds, (CUdeviceptr d, CUdeviceptr s, size_t n),
     linear(pt, false, NULL, d, s, n, false, false))
BOTH(cuMemcpyAsync, _ptsz, (CUdeviceptr d, CUdeviceptr s, size_t n, CUstream st),
     linear(pt, true, st, d, s, n, false, false))
BOTH(cuMemcpyHtoD_v2, _ptds, (CUdeviceptr d, const void *s, size_t n),
     linear(pt, false, NULL, d, P(s), n, true, false))
BOTH(cuMemcpyDtoH_v2, _ptds, (void *d, CUdeviceptr s, size_t n),
     linear(pt, false, NULL, P(d), s, n, false, true))
BOTH(cuMemcpyDtoD_v2, _ptds, (CUdeviceptr d, CUdeviceptr s, size_t n),
     linear(pt, false, NULL, d, s, n, true, true))
BOTH(cuMemcpyHtoDAsync_v2, _ptsz, (CUdeviceptr d, const void *s, size_t n, CUstream st),
     linear(pt, true, st, d, P(s), n, true, false))
BOTH(cuMemcpyDtoHAsync_v2, _ptsz, (void *d, CUdeviceptr s, size_t n, CUstream st),
     linear(pt, true, st, P(d), s, n, false, true))
BOTH(cuMemcpyDtoDAsync_v2, _ptsz, (CUdeviceptr d, CUdeviceptr s, size_t n, CUstream st),
     linear(pt, true, st, d, s, n, true, true))
/* The 32-bit forms of CUDA 2. */
ONE(cuMemcpyHtoD, (CUdeviceptr_v1 d, const void *s, unsigned n),
    linear(false, false, NULL, d, P(s), n, true, false))
ONE(cuMemcpyDtoH, (void *d, CUdeviceptr_v1 s, unsigned n),
    linear(false, false, NULL, P(d), s, n, false, true))
ONE(cuMemcpyDtoD, (CUdeviceptr_v1 d, CUdeviceptr_v1 s, unsigned n),
    linear(false, false, NULL, d, s, n, true, true))
ONE(cuMemcpyHtoDAsync, (CUdeviceptr_v1 d, const void *s, unsigned n, CUstream st),
    linear(false, true, st, d, P(s), n, true, false))
ONE(cuMemcpyDtoHAsync, (void *d, CUdeviceptr_v1 s, unsigned n, CUstream st),
    linear(false, true, st, P(d), s, n, false, true))
ONE(cuMemcpyDtoDAsync, (CUdeviceptr_v1 d, CUdeviceptr_v1 s, unsigned n, CUstream st),
    linear(false, true, st, d, s, n, true, true))

/* ---- between contexts ---- */

static CUresult peer(bool pt, bool async, CUstream h, struct box *b, CUcontext dc, CUcontext sc)
{
	struct op *op;
	struct ctx *cs[3];
	bool far;

	if (!sim_handle_is(dc, SIM_CTX) || !sim_handle_is(sc, SIM_CTX))
		LEAVE(CUDA_ERROR_INVALID_CONTEXT);
	if (async)
		return one(pt, true, h, b, false, false, NULL);
	GET_STREAM(h, pt, st);
	if (!b->w || !b->h || !b->d)
		LEAVE(CUDA_SUCCESS);
	if (!place_of(b->dst, extent(b->w, b->h, b->d, b->dpitch, b->dslice), false, &b->dplace) ||
	    !place_of(b->src, extent(b->w, b->h, b->d, b->spitch, b->sslice), false, &b->splace))
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	cap_invalidate(st);
	if (st->cap)
		LEAVE(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	op = copy_op(st->ctx, b, 1);
	if (!op)
		LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
	op_get(op);
	/* Told of several devices: behind and before everything of the three contexts. */
	cs[0] = st->ctx;
	cs[1] = (struct ctx *)dc;
	cs[2] = (struct ctx *)sc;
	far = !sim_opt.documented && (cs[1]->dev != cs[0]->dev || cs[2]->dev != cs[0]->dev);
	for (int i = 0; i < 3 && far; i++)
		for (struct strm *s = cs[i]->streams; s; s = s->next)
			op_after(op, sim_tail(s));
	op_submit(op, st);
	for (int i = 0; i < 3 && far; i++) {
		op_get(op);
		op_put(cs[i]->barrier);
		cs[i]->barrier = op;
	}
	bool wait = b->dplace <= PINNED || b->splace <= PINNED;
	struct ctx *c = st->ctx;

	if (wait)
		sim_wait_op(op);
	op_put(op);
	LEAVE(wait ? c->error : CUDA_SUCCESS);
}

static CUresult peer1(bool pt, bool async, CUstream h, uint64_t d, CUcontext dc, uint64_t s,
		      CUcontext sc, size_t n)
{
	struct box b = {.dst = d, .src = s, .w = n, .h = 1, .d = 1};

	ENTER();
	return peer(pt, async, h, &b, dc, sc);
}
BOTH(cuMemcpyPeer, _ptds, (CUdeviceptr d, CUcontext dc, CUdeviceptr s, CUcontext sc, size_t n),
     peer1(pt, false, NULL, d, dc, s, sc, n))
BOTH(cuMemcpyPeerAsync, _ptsz,
     (CUdeviceptr d, CUcontext dc, CUdeviceptr s, CUcontext sc, size_t n, CUstream st),
     peer1(pt, true, st, d, dc, s, sc, n))

/* ---- boxes ---- */

struct end {
	CUmemorytype type;
	uint64_t host, dev;
	CUarray array;
	size_t x, y, z, pitch, height;
};

/* Resolves one end of a 2D or 3D copy: address of its first byte, pitches, whether a device
 * address. */
static CUresult resolve(const struct end *e, size_t w, size_t h, size_t d, uint64_t *addr,
			size_t *pitch, size_t *slice, bool *dev)
{
	size_t p = e->pitch ? e->pitch : e->x + w;
	const struct arr *a = (const struct arr *)e->array;
	uint64_t base;

	switch (e->type) {
	case CU_MEMORYTYPE_ARRAY:
		if (!sim_handle_is(a, SIM_ARRAY))
			return CUDA_ERROR_INVALID_HANDLE;
		if (e->x + w > a->pitch || e->y + h > a->slice / a->pitch ||
		    e->z + d > (a->d.Depth ? a->d.Depth : 1))
			return CUDA_ERROR_INVALID_VALUE;
		*addr = a->mem->lo + e->z * a->slice + e->y * a->pitch + e->x;
		*pitch = a->pitch;
		*slice = a->slice;
		*dev = true;
		return CUDA_SUCCESS;
	case CU_MEMORYTYPE_HOST:
		base = e->host;
		*dev = false;
		break;
	case CU_MEMORYTYPE_DEVICE:
		base = e->dev;
		*dev = true;
		break;
	case CU_MEMORYTYPE_UNIFIED:
		base = e->dev;
		*dev = false;
		break;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
	if ((h > 1 || d > 1) && e->x + w > p)
		return CUDA_ERROR_INVALID_VALUE;
	if (d > 1 && e->height && e->y + h > e->height)
		return CUDA_ERROR_INVALID_VALUE;
	*pitch = p;
	*slice = p * (e->height ? e->height : e->y + h);
	*addr = base ? base + e->z * *slice + e->y * p + e->x : 0;
	return CUDA_SUCCESS;
}

static CUresult boxed(bool pt, bool async, CUstream h, const struct end *d, const struct end *s,
		      size_t w, size_t ht, size_t dp, const CUcontext *ctxs,
		      const CUDA_MEMCPY3D *given)
{
	struct box b = {.w = w, .h = ht, .d = dp};
	bool ddev, sdev;
	CUresult r;

	ENTER();
	if (!w || !ht || !dp)
		LEAVE(CUDA_SUCCESS);
	r = resolve(d, w, ht, dp, &b.dst, &b.dpitch, &b.dslice, &ddev);
	if (r == CUDA_SUCCESS)
		r = resolve(s, w, ht, dp, &b.src, &b.spitch, &b.sslice, &sdev);
	if (r != CUDA_SUCCESS)
		LEAVE(r);
	if (ctxs)
		return peer(pt, async, h, &b, ctxs[0], ctxs[1]);
	return one(pt, async, h, &b, ddev, sdev, given);
}

#define SRC3(p, zz, hh)                                                                            \
	{                                                                                          \
		(p)->srcMemoryType, P((p)->srcHost), (p)->srcDevice, (p)->srcArray,                \
			(p)->srcXInBytes, (p)->srcY, zz, (p)->srcPitch, hh                         \
	}
#define DST3(p, zz, hh)                                                                            \
	{                                                                                          \
		(p)->dstMemoryType, P((p)->dstHost), (p)->dstDevice, (p)->dstArray,                \
			(p)->dstXInBytes, (p)->dstY, zz, (p)->dstPitch, hh                         \
	}

static CUresult copy2d(bool pt, bool async, const CUDA_MEMCPY2D *p, CUstream h)
{
	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	struct end s = SRC3(p, 0, 0), d = DST3(p, 0, 0);
	CUDA_MEMCPY3D given = {.srcXInBytes = p->srcXInBytes,
			       .srcY = p->srcY,
			       .srcMemoryType = p->srcMemoryType,
			       .srcHost = p->srcHost,
			       .srcDevice = p->srcDevice,
			       .srcArray = p->srcArray,
			       .srcPitch = p->srcPitch,
			       .dstXInBytes = p->dstXInBytes,
			       .dstY = p->dstY,
			       .dstMemoryType = p->dstMemoryType,
			       .dstHost = p->dstHost,
			       .dstDevice = p->dstDevice,
			       .dstArray = p->dstArray,
			       .dstPitch = p->dstPitch,
			       .WidthInBytes = p->WidthInBytes,
			       .Height = p->Height,
			       .Depth = 1};

	return boxed(pt, async, h, &d, &s, p->WidthInBytes, p->Height, 1, NULL, &given);
}
BOTH(cuMemcpy2D_v2, _ptds, (const CUDA_MEMCPY2D *p), copy2d(pt, false, p, NULL))
BOTH(cuMemcpy2DUnaligned_v2, _ptds, (const CUDA_MEMCPY2D *p), copy2d(pt, false, p, NULL))
BOTH(cuMemcpy2DAsync_v2, _ptsz, (const CUDA_MEMCPY2D *p, CUstream s), copy2d(pt, true, p, s))

static CUresult copy3d(bool pt, bool async, const CUDA_MEMCPY3D *p, CUstream h)
{
	if (!p || p->srcLOD || p->dstLOD)
		return CUDA_ERROR_INVALID_VALUE;
	struct end s = SRC3(p, p->srcZ, p->srcHeight), d = DST3(p, p->dstZ, p->dstHeight);

	return boxed(pt, async, h, &d, &s, p->WidthInBytes, p->Height, p->Depth, NULL, p);
}
BOTH(cuMemcpy3D_v2, _ptds, (const CUDA_MEMCPY3D *p), copy3d(pt, false, p, NULL))
BOTH(cuMemcpy3DAsync_v2, _ptsz, (const CUDA_MEMCPY3D *p, CUstream s), copy3d(pt, true, p, s))

static CUresult copy3dpeer(bool pt, bool async, const CUDA_MEMCPY3D_PEER *p, CUstream h)
{
	if (!p || p->srcLOD || p->dstLOD)
		return CUDA_ERROR_INVALID_VALUE;
	struct end s = SRC3(p, p->srcZ, p->srcHeight), d = DST3(p, p->dstZ, p->dstHeight);
	CUcontext c[2] = {p->dstContext, p->srcContext};

	return boxed(pt, async, h, &d, &s, p->WidthInBytes, p->Height, p->Depth, c, NULL);
}
BOTH(cuMemcpy3DPeer, _ptds, (const CUDA_MEMCPY3D_PEER *p), copy3dpeer(pt, false, p, NULL))
BOTH(cuMemcpy3DPeerAsync, _ptsz, (const CUDA_MEMCPY3D_PEER *p, CUstream s),
     copy3dpeer(pt, true, p, s))

/* ---- copy nodes ---- */

static bool on_host(uint8_t place)
{
	return place == PAGEABLE || place == PINNED;
}

CUresult copy_node_op(struct ctx *c, const CUDA_MEMCPY3D *p, struct op **out)
{
	struct end s = SRC3(p, p->srcZ, p->srcHeight), d = DST3(p, p->dstZ, p->dstHeight);
	struct box b = {.w = p->WidthInBytes, .h = p->Height, .d = p->Depth};
	bool ddev, sdev;
	CUresult r;

	if (p->srcLOD || p->dstLOD || !b.w || !b.h || !b.d)
		return CUDA_ERROR_INVALID_VALUE;
	r = resolve(&d, b.w, b.h, b.d, &b.dst, &b.dpitch, &b.dslice, &ddev);
	if (r == CUDA_SUCCESS)
		r = resolve(&s, b.w, b.h, b.d, &b.src, &b.spitch, &b.sslice, &sdev);
	if (r != CUDA_SUCCESS)
		return r;
	if (!b.dst || !b.src ||
	    !place_of(b.dst, extent(b.w, b.h, b.d, b.dpitch, b.dslice), ddev, &b.dplace) ||
	    !place_of(b.src, extent(b.w, b.h, b.d, b.spitch, b.sslice), sdev, &b.splace))
		return CUDA_ERROR_INVALID_VALUE;
	*out = copy_op(c, &b, 1);
	if (!*out)
		return CUDA_ERROR_OUT_OF_MEMORY;
	((struct copy *)(*out)->data)->given = *p;
	return CUDA_SUCCESS;
}

void copy_node_params(const struct op *op, CUDA_MEMCPY3D *p)
{
	*p = ((const struct copy *)op->data)->given;
}

/* May an executable's copy become that one?  single: the call for one node asks for rows of one. */
bool copy_node_update(const struct op *was, const struct op *now, bool single)
{
	const struct copy *a = was->data, *b = now->data;

	if (on_host(a->b[0].dplace) != on_host(b->b[0].dplace) ||
	    on_host(a->b[0].splace) != on_host(b->b[0].splace) ||
	    (a->given.dstMemoryType == CU_MEMORYTYPE_ARRAY) !=
		    (b->given.dstMemoryType == CU_MEMORYTYPE_ARRAY) ||
	    (a->given.srcMemoryType == CU_MEMORYTYPE_ARRAY) !=
		    (b->given.srcMemoryType == CU_MEMORYTYPE_ARRAY))
		return false;
	if (single)
		return a->b[0].h == 1 && a->b[0].d == 1 && b->b[0].h == 1 && b->b[0].d == 1;
	return a->b[0].h == b->b[0].h && a->b[0].d == b->b[0].d;
}

/* 1D with arrays: the offset counts bytes in row order. */
static CUresult with_array(bool pt, bool async, CUstream h, CUarray da, uint64_t d, CUarray sa,
			   uint64_t s, size_t n, bool ddev, bool sdev)
{
	struct box b = {.dst = d, .src = s, .w = n, .h = 1, .d = 1};

	ENTER();
	if ((da && !sim_handle_is(da, SIM_ARRAY)) || (sa && !sim_handle_is(sa, SIM_ARRAY)))
		LEAVE(CUDA_ERROR_INVALID_HANDLE);
	if (da)
		b.dst += ((struct arr *)da)->mem->lo;
	if (sa)
		b.src += ((struct arr *)sa)->mem->lo;
	CUDA_MEMCPY3D given = {.srcMemoryType = sa     ? CU_MEMORYTYPE_ARRAY
						: sdev ? CU_MEMORYTYPE_DEVICE
						       : CU_MEMORYTYPE_HOST,
			       .srcXInBytes = sa ? s : 0,
			       .srcHost = sa || sdev ? NULL : (void *)s,
			       .srcDevice = !sa && sdev ? s : 0,
			       .srcArray = sa,
			       .dstMemoryType = da     ? CU_MEMORYTYPE_ARRAY
						: ddev ? CU_MEMORYTYPE_DEVICE
						       : CU_MEMORYTYPE_HOST,
			       .dstXInBytes = da ? d : 0,
			       .dstHost = da || ddev ? NULL : (void *)d,
			       .dstDevice = !da && ddev ? d : 0,
			       .dstArray = da,
			       .WidthInBytes = n,
			       .Height = 1,
			       .Depth = 1};

	return one(pt, async, h, &b, ddev, sdev, &given);
}
#define ARR(a) ((a) ? (a) : (CUarray)1)
BOTH(cuMemcpyHtoA_v2, _ptds, (CUarray a, size_t o, const void *s, size_t n),
     with_array(pt, false, NULL, ARR(a), o, NULL, P(s), n, true, false))
BOTH(cuMemcpyHtoAAsync_v2, _ptsz, (CUarray a, size_t o, const void *s, size_t n, CUstream st),
     with_array(pt, true, st, ARR(a), o, NULL, P(s), n, true, false))
BOTH(cuMemcpyAtoH_v2, _ptds, (void *d, CUarray a, size_t o, size_t n),
     with_array(pt, false, NULL, NULL, P(d), ARR(a), o, n, false, true))
BOTH(cuMemcpyAtoHAsync_v2, _ptsz, (void *d, CUarray a, size_t o, size_t n, CUstream st),
     with_array(pt, true, st, NULL, P(d), ARR(a), o, n, false, true))
BOTH(cuMemcpyDtoA_v2, _ptds, (CUarray a, size_t o, CUdeviceptr s, size_t n),
     with_array(pt, false, NULL, ARR(a), o, NULL, s, n, true, true))
BOTH(cuMemcpyAtoD_v2, _ptds, (CUdeviceptr d, CUarray a, size_t o, size_t n),
     with_array(pt, false, NULL, NULL, d, ARR(a), o, n, true, true))
BOTH(cuMemcpyAtoA_v2, _ptds, (CUarray da, size_t o, CUarray sa, size_t so, size_t n),
     with_array(pt, false, NULL, ARR(da), o, ARR(sa), so, n, true, true))

/* ---- batches ---- */

/*
 * One operation; no order between its copies.  The source is read in stream
 * order, or at the call (DURING_API_CALL).  ANY allows both: the documented
 * view reads at the call when unfinished work still writes the source.
 */
static CUresult batch(bool pt, struct box *b, const uint8_t *order, size_t n, CUstream h)
{
	struct op *op;

	GET_STREAM(h, pt, st);
	if (st->legacy)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	if (st->cap) /* as measured: the capture goes on */
		LEAVE(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	for (size_t i = 0; i < n; i++) {
		size_t dn = extent(b[i].w, b[i].h, b[i].d, b[i].dpitch, b[i].dslice);
		size_t sn = extent(b[i].w, b[i].h, b[i].d, b[i].spitch, b[i].sslice);

		if (!b[i].w || !b[i].dst || !b[i].src ||
		    !place_of(b[i].dst, dn, false, &b[i].dplace) ||
		    !place_of(b[i].src, sn, false, &b[i].splace))
			LEAVE(CUDA_ERROR_INVALID_VALUE);
		if (order[i] < CU_MEMCPY_SRC_ACCESS_ORDER_STREAM ||
		    order[i] > CU_MEMCPY_SRC_ACCESS_ORDER_ANY)
			LEAVE(CUDA_ERROR_INVALID_VALUE);
	}
	for (size_t i = 0; i < n; i++) {
		bool now = order[i] == CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL;

		if (order[i] == CU_MEMCPY_SRC_ACCESS_ORDER_ANY && sim_opt.documented &&
		    sim_opt.seed)
			now = sim_written(b[i].src,
					  extent(b[i].w, b[i].h, b[i].d, b[i].spitch, b[i].sslice));
		if (now && !stage(&b[i]))
			LEAVE(CUDA_ERROR_INVALID_VALUE);
	}
	op = copy_op(st->ctx, b, (unsigned)n);
	if (!op)
		LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
	op_submit(op, st);
	LEAVE(CUDA_SUCCESS);
}

static CUresult batch1(bool pt, CUdeviceptr *d, CUdeviceptr *s, size_t *len, size_t n,
		       CUmemcpyAttributes *at, size_t *idx, size_t nat, size_t *fail, CUstream h)
{
	struct box *b;
	uint8_t *order;
	CUresult r;

	if (fail)
		*fail = SIZE_MAX;
	ENTER();
	if (!d || !s || !len || !n || n > 1u << 20 || !at || !idx || !nat || nat > n || idx[0])
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	b = sim_alloc(n * sizeof *b);
	order = sim_alloc(n);
	if (!b || !order) {
		sim_free(b);
		sim_free(order);
		LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
	}
	for (size_t i = 0, k = 0; i < n; i++) {
		while (k + 1 < nat && idx[k + 1] <= i)
			k++;
		b[i] = (struct box){.dst = d[i], .src = s[i], .w = len[i], .h = 1, .d = 1};
		order[i] = (uint8_t)at[k].srcAccessOrder;
	}
	r = batch(pt, b, order, n, h); /* leaves */
	sim_free(b);
	sim_free(order);
	return r;
}
BOTH(cuMemcpyBatchAsync, _ptsz,
     (CUdeviceptr * d, CUdeviceptr *s, size_t *len, size_t n, CUmemcpyAttributes *at, size_t *idx,
      size_t nat, size_t *fail, CUstream st),
     batch1(pt, d, s, len, n, at, idx, nat, fail, st))
BOTH(cuMemcpyBatchAsync_v2, _ptsz,
     (CUdeviceptr * d, CUdeviceptr *s, size_t *len, size_t n, CUmemcpyAttributes *at, size_t *idx,
      size_t nat, CUstream st),
     batch1(pt, d, s, len, n, at, idx, nat, NULL, st))

static CUresult operand(const CUmemcpy3DOperand *o, size_t w, size_t h, size_t d, uint64_t *addr,
			size_t *pitch, size_t *slice, bool *dev)
{
	struct end e = {0};

	if (o->type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {
		const struct arr *a = (const struct arr *)o->op.array.array;

		if (!sim_handle_is(a, SIM_ARRAY))
			return CUDA_ERROR_INVALID_HANDLE;
		e.type = CU_MEMORYTYPE_ARRAY;
		e.array = o->op.array.array;
		e.x = o->op.array.offset.x * a->elem;
		e.y = o->op.array.offset.y;
		e.z = o->op.array.offset.z;
	} else {
		e.type = CU_MEMORYTYPE_UNIFIED;
		e.dev = o->op.ptr.ptr;
		e.pitch = o->op.ptr.rowLength;
		e.height = o->op.ptr.layerHeight;
	}
	return resolve(&e, w, h, d, addr, pitch, slice, dev);
}

static size_t elem_of(const CUmemcpy3DOperand *o)
{
	return o->type == CU_MEMCPY_OPERAND_TYPE_ARRAY &&
			       sim_handle_is(o->op.array.array, SIM_ARRAY)
		       ? ((const struct arr *)o->op.array.array)->elem
		       : 1;
}

static CUresult batch3(bool pt, size_t n, CUDA_MEMCPY3D_BATCH_OP *l, size_t *fail,
		       unsigned long long flags, CUstream h)
{
	struct box *b;
	uint8_t *order;
	CUresult r = CUDA_SUCCESS;

	if (fail)
		*fail = SIZE_MAX;
	ENTER();
	if (!n || n > 1u << 20 || !l || flags)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	b = sim_alloc(n * sizeof *b);
	order = sim_alloc(n);
	for (size_t i = 0; b && order && i < n && r == CUDA_SUCCESS; i++) {
		size_t es = elem_of(&l[i].src), ed = elem_of(&l[i].dst),
		       w = l[i].extent.width * (es > ed ? es : ed);
		bool dev;

		b[i].w = w;
		b[i].h = l[i].extent.height ? l[i].extent.height : 1;
		b[i].d = l[i].extent.depth ? l[i].extent.depth : 1;
		order[i] = (uint8_t)l[i].srcAccessOrder;
		r = operand(&l[i].dst, w, b[i].h, b[i].d, &b[i].dst, &b[i].dpitch, &b[i].dslice,
			    &dev);
		if (r == CUDA_SUCCESS)
			r = operand(&l[i].src, w, b[i].h, b[i].d, &b[i].src, &b[i].spitch,
				    &b[i].sslice, &dev);
		if (r != CUDA_SUCCESS && fail)
			*fail = i;
	}
	if (!b || !order)
		r = CUDA_ERROR_OUT_OF_MEMORY;
	if (r != CUDA_SUCCESS)
		sim_leave();
	else
		r = batch(pt, b, order, n, h); /* leaves */
	sim_free(b);
	sim_free(order);
	return r;
}
BOTH(cuMemcpy3DBatchAsync, _ptsz,
     (size_t n, CUDA_MEMCPY3D_BATCH_OP *l, size_t *fail, unsigned long long flags, CUstream s),
     batch3(pt, n, l, fail, flags, s))
BOTH(cuMemcpy3DBatchAsync_v2, _ptsz,
     (size_t n, CUDA_MEMCPY3D_BATCH_OP *l, unsigned long long flags, CUstream s),
     batch3(pt, n, l, NULL, flags, s))

/* ---- sets ---- */

struct set {
	uint64_t dst, pitch;
	size_t w, h; /* elements a row, rows */
	uint32_t value;
	unsigned elem;
	uint8_t place;
};

static enum step set_step(struct op *op)
{
	struct set *s = op->data;
	uint32_t buf[1024];
	size_t per = sizeof buf / s->elem;

	for (size_t i = 0; i < per; i++) {
		if (s->elem == 1)
			((uint8_t *)buf)[i] = (uint8_t)s->value;
		else if (s->elem == 2)
			((uint16_t *)buf)[i] = (uint16_t)s->value;
		else
			buf[i] = s->value;
	}
	for (size_t y = 0; y < s->h; y++) {
		uint64_t at = s->dst + y * s->pitch;
		size_t left = s->w * s->elem;

		if (!side_there(s->place, at, left))
			goto fault;
		while (left) {
			size_t k = left < sizeof buf ? left : sizeof buf;

			if (!mem_write(at, buf, k))
				goto fault;
			at += k;
			left -= k;
		}
	}
	return STEP_DONE;
fault:
	sim_ctx_fail(op->ctx, CUDA_ERROR_ILLEGAL_ADDRESS);
	return STEP_DONE;
}

static struct op *set_op(struct ctx *c, const struct set *s)
{
	struct op *op = op_new(c, OP_SET, "", sizeof *s);

	if (!op)
		return NULL;
	*(struct set *)op->data = *s;
	op->step = set_step;
	op->cost += s->w * s->h * s->elem * 1000 / sim_opt.bytes_per_us;
	op_range(op, s->dst, extent(s->w * s->elem, s->h, 1, s->pitch, 0), true);
	return op;
}

static CUresult set(bool pt, bool async, CUstream h, uint64_t d, size_t pitch, uint32_t v,
		    unsigned elem, size_t w, size_t ht)
{
	struct ctx *c;
	struct op *op;
	struct alloc *a;
	uint8_t place;
	bool wait;

	ENTER();
	GET_STREAM(h, pt, st);
	c = st->ctx;
	a = mem_find(d);
	if (!w || !ht)
		LEAVE(CUDA_SUCCESS);
	if (d % elem || (ht > 1 && (pitch < w * elem || pitch % elem)) ||
	    !place_of(d, extent(w * elem, ht, 1, pitch, 0), true, &place))
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	if (!async && st->cap) {
		cap_invalidate(st);
		LEAVE(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	}
	op = set_op(c, &(struct set){d, pitch, w, ht, v, elem, place});
	if (!op)
		LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
	wait = !async &&
	       (place != DEVICE || c->flags & CU_CTX_SYNC_MEMOPS || (a && a->sync_memops));
	op_get(op);
	op_submit(op, st);
	if (wait)
		sim_wait_op(op);
	op_put(op);
	LEAVE(wait ? c->error : CUDA_SUCCESS);
}

/* ---- set nodes ---- */

CUresult set_node_op(struct ctx *c, const CUDA_MEMSET_NODE_PARAMS_v2 *p, struct op **out)
{
	struct set s = {p->dst, p->pitch, p->width, p->height, p->value, p->elementSize, 0};

	if ((s.elem != 1 && s.elem != 2 && s.elem != 4) || !s.w || !s.h || s.dst % s.elem ||
	    (s.h > 1 && (s.pitch < s.w * s.elem || s.pitch % s.elem)) ||
	    !place_of(s.dst, extent(s.w * s.elem, s.h, 1, s.pitch, 0), true, &s.place))
		return CUDA_ERROR_INVALID_VALUE;
	*out = set_op(c, &s);
	return *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

void set_node_params(const struct op *op, CUDA_MEMSET_NODE_PARAMS_v2 *p)
{
	const struct set *s = op->data;

	*p = (CUDA_MEMSET_NODE_PARAMS_v2){.dst = s->dst,
					  .pitch = s->pitch,
					  .value = s->value,
					  .elementSize = s->elem,
					  .width = s->w,
					  .height = s->h,
					  .ctx = (CUcontext)op->ctx};
}

bool set_node_update(const struct op *was, const struct op *now)
{
	const struct set *a = was->data, *b = now->data;

	if (a->place != b->place || a->h != b->h)
		return false;
	return a->h == 1 || (a->w == b->w && a->elem == b->elem && a->pitch == b->pitch);
}

#define SETS(bits, type)                                                                           \
	BOTH(cuMemsetD##bits##_v2, _ptds, (CUdeviceptr d, type v, size_t n),                       \
	     set(pt, false, NULL, d, 0, v, bits / 8, n, 1))                                        \
	BOTH(cuMemsetD##bits##Async, _ptsz, (CUdeviceptr d, type v, size_t n, CUstream s),         \
	     set(pt, true, s, d, 0, v, bits / 8, n, 1))                                            \
	BOTH(cuMemsetD2D##bits##_v2, _ptds, (CUdeviceptr d, size_t p, type v, size_t w, size_t h), \
	     set(pt, false, NULL, d, p, v, bits / 8, w, h))                                        \
	BOTH(cuMemsetD2D##bits##Async, _ptsz,                                                      \
	     (CUdeviceptr d, size_t p, type v, size_t w, size_t h, CUstream s),                    \
	     set(pt, true, s, d, p, v, bits / 8, w, h))                                            \
	ONE(cuMemsetD##bits, (CUdeviceptr_v1 d, type v, unsigned n),                               \
	    set(false, false, NULL, d, 0, v, bits / 8, n, 1))                                      \
	ONE(cuMemsetD2D##bits, (CUdeviceptr_v1 d, unsigned p, type v, unsigned w, unsigned h),     \
	    set(false, false, NULL, d, p, v, bits / 8, w, h))
SETS(8, unsigned char)
SETS(16, unsigned short)
SETS(32, unsigned int)
