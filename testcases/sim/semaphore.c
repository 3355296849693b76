/* SPDX-License-Identifier: Apache-2.0 */
/*
 * External semaphores: binary ones (opaque descriptors) and timelines.  Who made
 * them is not there; a descriptor is only a name, and all imports of one file
 * are one semaphore, so that a program can signal and wait through two handles.
 * Importing takes the descriptor over, as a driver does.
 */
#include "sim.h"

#include <sys/stat.h>

struct sem {
	struct sem *next;
	unsigned refs; /* handles, operations */
	uint64_t dev, ino;
	bool timeline;
	uint64_t value; /* of a binary one: 1 between a signal and its wait */
};

/* A handle: several may name one semaphore. */
struct extsem {
	struct sem *s;
};

static struct sem *sems;

static void sem_put(struct sem *s)
{
	struct sem **p;

	if (--s->refs)
		return;
	for (p = &sems; *p != s; p = &(*p)->next)
		;
	*p = s->next;
	sim_free(s);
}

API(cuImportExternalSemaphore,
    (CUexternalSemaphore * out, const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC *d))
{
	struct extsem *e;
	struct sem *s;
	struct stat st;

	ENTER();
	if (!out || !d || d->flags)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	if (d->type != CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD &&
	    d->type != CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD)
		LEAVE(CUDA_ERROR_NOT_SUPPORTED);
	if (fstat(d->handle.fd, &st))
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	for (s = sems; s && (s->dev != st.st_dev || s->ino != st.st_ino); s = s->next)
		;
	e = sim_alloc(sizeof *e);
	if (e && !s && (s = sim_alloc(sizeof *s))) {
		s->dev = st.st_dev;
		s->ino = st.st_ino;
		s->timeline = d->type == CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD;
		s->next = sems;
		sems = s;
	}
	if (!e || !s) {
		sim_free(e);
		LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
	}
	close(d->handle.fd);
	s->refs++;
	e->s = s;
	sim_handle_add(e, SIM_SEM);
	*out = (CUexternalSemaphore)e;
	LEAVE(CUDA_SUCCESS);
}

API(cuDestroyExternalSemaphore, (CUexternalSemaphore h))
{
	ENTER();
	if (!sim_handle_is(h, SIM_SEM))
		LEAVE(CUDA_ERROR_INVALID_HANDLE);
	sim_handle_del(h);
	sem_put(((struct extsem *)h)->s);
	sim_free(h);
	LEAVE(CUDA_SUCCESS);
}

/* ---- operations ---- */

/* Data of an operation; behind it n semaphores, n handles, n parameters. */
struct semop {
	_Alignas(void *) unsigned n;
	unsigned at;
	bool signal;
};

static struct sem **sems_of(const struct op *op)
{
	return (struct sem **)((struct semop *)op->data + 1);
}

static CUexternalSemaphore *handles_of(const struct op *op)
{
	return (CUexternalSemaphore *)(sems_of(op) + ((struct semop *)op->data)->n);
}

static void *params_of(const struct op *op)
{
	return handles_of(op) + ((struct semop *)op->data)->n;
}

static uint64_t value_of(const struct op *op, unsigned i)
{
	const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS *s = params_of(op);
	const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS *w = params_of(op);

	return ((struct semop *)op->data)->signal ? s[i].params.fence.value
						  : w[i].params.fence.value;
}

static enum step sem_step(struct op *op)
{
	struct semop *m = op->data;

	for (; m->at < m->n; m->at++) {
		struct sem *s = sems_of(op)[m->at];
		uint64_t v = value_of(op, m->at);

		if (m->signal) {
			if (!s->timeline)
				s->value = 1;
			else if (s->value < v)
				s->value = v;
		} else if (s->value < (s->timeline ? v : 1)) {
			return STEP_WAIT;
		} else if (!s->timeline) {
			s->value = 0;
		}
	}
	return STEP_DONE;
}

static void sem_fini(struct op *op)
{
	for (unsigned i = 0; i < ((struct semop *)op->data)->n; i++)
		sem_put(sems_of(op)[i]);
}

static void sem_clone(struct op *op)
{
	for (unsigned i = 0; i < ((struct semop *)op->data)->n; i++)
		sems_of(op)[i]->refs++;
}

CUresult sem_node_op(struct ctx *c, bool signal, unsigned n, const CUexternalSemaphore *h,
		     const void *params, struct op **out)
{
	size_t size = signal ? sizeof(CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS)
			     : sizeof(CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS);
	struct op *op;

	if (!n || n > 1024 || !h || !params)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < n; i++)
		if (!sim_handle_is(h[i], SIM_SEM))
			return CUDA_ERROR_INVALID_HANDLE;
	op = op_new(c, signal ? OP_SEM_SIGNAL : OP_SEM_WAIT, "",
		    sizeof(struct semop) + n * (2 * sizeof(void *) + size));
	if (!op)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*(struct semop *)op->data = (struct semop){.n = n, .signal = signal};
	for (unsigned i = 0; i < n; i++) {
		sems_of(op)[i] = ((const struct extsem *)h[i])->s;
		handles_of(op)[i] = h[i];
	}
	memcpy(params_of(op), params, n * size);
	op->step = sem_step;
	op->fini = sem_fini;
	op->clone = sem_clone;
	sem_clone(op);
	*out = op;
	return CUDA_SUCCESS;
}

void sem_node_params(const struct op *op, CUexternalSemaphore **h, const void **params, unsigned *n)
{
	*h = handles_of(op);
	*params = params_of(op);
	*n = ((const struct semop *)op->data)->n;
}

static CUresult sem_async(bool pt, bool signal, const CUexternalSemaphore *h, const void *params,
			  unsigned n, CUstream s)
{
	struct strm *st;
	struct op *op;
	CUresult r;

	ENTER();
	r = sim_get_stream(s, pt, &st);
	if (r == CUDA_SUCCESS)
		r = sem_node_op(st->ctx, signal, n, h, params, &op);
	if (r == CUDA_SUCCESS)
		op_submit(op, st);
	LEAVE(r);
}
BOTH(cuSignalExternalSemaphoresAsync, _ptsz,
     (const CUexternalSemaphore *h, const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS *p, unsigned n,
      CUstream s),
     sem_async(pt, true, h, p, n, s))
BOTH(cuWaitExternalSemaphoresAsync, _ptsz,
     (const CUexternalSemaphore *h, const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS *p, unsigned n,
      CUstream s),
     sem_async(pt, false, h, p, n, s))
