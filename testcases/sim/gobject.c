/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What graphs hold beyond their nodes: user objects, conditional handles, memory.
 *
 * A hold is a list of references, shared by an executable and its launches, so
 * that what a launch needs stays until it has run, whatever is destroyed
 * meanwhile.  The destructor of a user object runs on the thread of host
 * functions after the last reference.
 */
#include "graph.h"

#include <limits.h>

struct hold *hold_new(void)
{
	struct hold *h = sim_alloc(sizeof *h);

	if (h)
		h->refs = 1;
	return h;
}

static void object_put(struct uobj *o, unsigned count)
{
	o->refs -= count;
	if (o->refs)
		return;
	sim_handle_del(o);
	sim_host_call(o->fn, o->ptr);
	sim_free(o);
}

void cond_put(struct cond *c)
{
	if (--c->refs)
		return;
	sim_handle_del(c);
	sim_free(c);
}

void hold_put(struct hold *h)
{
	if (!h || --h->refs)
		return;
	for (unsigned i = 0; i < h->no; i++)
		object_put(h->o[i].o, h->o[i].count);
	for (unsigned i = 0; i < h->nmem; i++)
		gmem_put(h->mem[i]);
	for (unsigned i = 0; i < h->ncond; i++)
		cond_put(h->cond[i]);
	sim_free(h->o);
	sim_free(h->mem);
	sim_free(h->cond);
	sim_free(h);
}

static bool room(void *v, unsigned n, unsigned *cap, size_t size)
{
	void *p;

	if (n < *cap)
		return true;
	p = sim_grow(*(void **)v, n * size, (*cap ? *cap * 2 : 4) * size);
	if (!p)
		return false;
	*(void **)v = p;
	*cap = *cap ? *cap * 2 : 4;
	return true;
}

bool hold_mem(struct hold *h, struct gmem *m)
{
	if (!room(&h->mem, h->nmem, &h->cmem, sizeof *h->mem))
		return false;
	m->refs++;
	h->mem[h->nmem++] = m;
	return true;
}

bool hold_cond(struct hold *h, struct cond *c)
{
	if (!room(&h->cond, h->ncond, &h->ccond, sizeof *h->cond))
		return false;
	c->refs++;
	h->cond[h->ncond++] = c;
	return true;
}

bool hold_object(struct hold *h, struct uobj *o, unsigned count)
{
	unsigned i;

	for (i = 0; i < h->no && h->o[i].o != o; i++)
		;
	if (i == h->no) {
		if (!room(&h->o, h->no, &h->co, sizeof *h->o))
			return false;
		h->o[h->no++] = (struct held){o, 0};
	}
	h->o[i].count += count;
	o->refs += count;
	return true;
}

bool hold_all(struct hold *h, const struct hold *of)
{
	bool ok = true;

	if (!of)
		return true;
	for (unsigned i = 0; i < of->no && ok; i++)
		ok = hold_object(h, of->o[i].o, of->o[i].count);
	for (unsigned i = 0; i < of->nmem && ok; i++)
		ok = hold_mem(h, of->mem[i]);
	for (unsigned i = 0; i < of->ncond && ok; i++)
		ok = hold_cond(h, of->cond[i]);
	return ok;
}

/* ---- conditional handles ---- */

void sim_set_cond(uint64_t handle, unsigned value)
{
	if (sim_handle_is((void *)handle, SIM_COND))
		((struct cond *)handle)->value = value;
}

API(cuGraphConditionalHandleCreate, (CUgraphConditionalHandle * out, CUgraph hg, CUcontext hc,
				     unsigned deflt, unsigned flags))
{
	struct graph *g = (struct graph *)hg;
	struct ctx *c = (struct ctx *)hc;
	struct cond *h;
	CUresult r;

	ENTER();
	if (!out || !sim_handle_is(g, SIM_GRAPH) || flags & ~(unsigned)CU_GRAPH_COND_ASSIGN_DEFAULT)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	if (!c) {
		r = sim_get_ctx(&c);
		if (r != CUDA_SUCCESS)
			LEAVE(r);
	} else if (!sim_handle_is(c, SIM_CTX)) {
		LEAVE(CUDA_ERROR_INVALID_CONTEXT);
	}
	if (!g->own)
		g->own = hold_new();
	h = sim_alloc(sizeof *h);
	if (!g->own || !h || !hold_cond(g->own, h)) {
		sim_free(h);
		LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
	}
	h->graph = g->id;
	h->ctx = c;
	h->deflt = deflt;
	h->flags = flags;
	sim_handle_add(h, SIM_COND);
	*out = (CUgraphConditionalHandle)h;
	LEAVE(CUDA_SUCCESS);
}

/* ---- user objects ---- */

API(cuUserObjectCreate, (CUuserObject * out, void *ptr, CUhostFn fn, unsigned count, unsigned flags))
{
	struct uobj *o;

	ENTER();
	if (!out || !fn || !count || count > INT_MAX || flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	o = sim_alloc(sizeof *o);
	if (!o)
		LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
	*o = (struct uobj){count, fn, ptr};
	sim_handle_add(o, SIM_UOBJ);
	*out = (CUuserObject)o;
	LEAVE(CUDA_SUCCESS);
}

#define GET_OBJECT(h, count, o)                                                                    \
	struct uobj *o = (struct uobj *)(h);                                                       \
	do {                                                                                       \
		if (!sim_handle_is(o, SIM_UOBJ) || !(count) || (count) > INT_MAX)                  \
			LEAVE(CUDA_ERROR_INVALID_VALUE);                                           \
	} while (0)

API(cuUserObjectRetain, (CUuserObject h, unsigned count))
{
	ENTER();
	GET_OBJECT(h, count, o);
	o->refs += count;
	LEAVE(CUDA_SUCCESS);
}

API(cuUserObjectRelease, (CUuserObject h, unsigned count))
{
	ENTER();
	GET_OBJECT(h, count, o);
	if (count > o->refs)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	object_put(o, count);
	LEAVE(CUDA_SUCCESS);
}

API(cuGraphRetainUserObject, (CUgraph hg, CUuserObject h, unsigned count, unsigned flags))
{
	struct graph *g = (struct graph *)hg;

	ENTER();
	GET_OBJECT(h, count, o);
	if (!sim_handle_is(g, SIM_GRAPH) || flags & ~(unsigned)CU_GRAPH_USER_OBJECT_MOVE)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	if (!g->own)
		g->own = hold_new();
	if (!g->own || !hold_object(g->own, o, count))
		LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
	if (flags & CU_GRAPH_USER_OBJECT_MOVE)
		object_put(o, count);
	LEAVE(CUDA_SUCCESS);
}

API(cuGraphReleaseUserObject, (CUgraph hg, CUuserObject h, unsigned count))
{
	struct graph *g = (struct graph *)hg;
	struct hold *own;
	unsigned i;

	ENTER();
	GET_OBJECT(h, count, o);
	if (!sim_handle_is(g, SIM_GRAPH))
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	own = g->own;
	for (i = 0; own && i < own->no && own->o[i].o != o; i++)
		;
	if (!own || i == own->no || own->o[i].count < count)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	own->o[i].count -= count;
	if (!own->o[i].count)
		own->o[i] = own->o[--own->no];
	object_put(o, count);
	LEAVE(CUDA_SUCCESS);
}
