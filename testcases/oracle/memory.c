/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Judge: kinds of memory that come and go (registered, mapped twice), attributes that
 * make synchronous operations wait, what devices have a right to, and the ends of
 * allocations.
 */
#include "court.h"

enum memory kind_of(const struct court *c, unsigned b)
{
	return c->registered[b] && c->fault != FAULT_REGISTERED ? PINNED : buffer_slot[b].kind;
}

unsigned home_of(unsigned b)
{
	return buffer_slot[b].same ? buffer_slot[b].same - 1 : b;
}

bool sync_memops(const struct court *c, const struct op *o, unsigned b)
{
	return c->fault != FAULT_MEMOPS && (c->memops[b] || c->ctx_memops[o->ctx]);
}

/* --- who may ------------------------------------------------------------------------ */

static bool may_use(const struct court *c, unsigned device, unsigned b)
{
	switch (buffer_slot[b].kind) {
	case MAPPED:
		return c->may[b] >> device & 1;
	case POOL:
	case DEVICE:
		return c->owner[b] == (int)device || c->may[b] >> device & 1 ||
		       (c->peers[device] >> c->owner[b] & 1 && c->fault != FAULT_PEERS);
	case PINNED:
	case MANAGED:
	case PAGEABLE:
	case ARRAY:
		break;
	}
	return true;
}

static void alone(struct court *c, int rule, int op, unsigned b)
{
	struct pair *q = pair_of(c, rule, op, -1, (uint8_t)b);

	q->in_view[DOC] = q->in_view[OBS] = true;
}

void check_right(struct court *c, int op, unsigned b)
{
	if (c->free_op[b] < 0 && !may_use(c, c->p->op[op].ctx, b))
		alone(c, KRT_RULE_WRONG_DEVICE, op, b);
}

void check_bounds(struct court *c, int op)
{
	const struct op *o = &c->p->op[op];

	for (unsigned i = 0; i < o->nranges; i++)
		if (c->free_op[o->range[i].buffer] < 0 && c->fault != FAULT_BOUNDS &&
		    is_beyond(o, &o->range[i]))
			alone(c, KRT_RULE_COPY_BOUNDS, op, o->range[i].buffer);
}

/* --- lives ------------------------------------------------------------------------- */

void born(struct court *c, int op, unsigned b)
{
	const struct op *o = &c->p->op[op];

	c->owner[b] = o->ctx;
	c->may[b] = 0;
	c->memops[b] = false;
	c->mapped[b] = c->naccesses;
	if (buffer_slot[b].kind == POOL && o->form) { /* of a pool of device 0 */
		c->owner[b] = 0;
		c->may[b] = c->pool_may;
		c->of_pool[b] = true;
	} else {
		c->of_pool[b] = false;
	}
}

/* Host memory's end, by the CPU: it goes on with another life. */
static void host_memory_ends(struct court *c, int op, uint8_t b)
{
	end_of(c, op, c->host, b);
	c->free_op[b] = -1;
	c->first[b] = c->naccesses;
	c->free_external[b] = false;
}

static unsigned with_bit(unsigned set, unsigned bit, bool on)
{
	return on ? set | 1u << bit : set & ~(1u << bit);
}

void memory_op(struct court *c, int op)
{
	const struct op *o = &c->p->op[op];
	uint8_t b = o->range->buffer;

	switch (o->what) {
	case OP_REGISTER: /* the same bytes as before */
		c->registered[b] = true;
		c->owner[b] = o->ctx;
		c->memops[b] = false;
		break;
	case OP_UNREGISTER:
		host_after_context(c, c->owner[b]);
		host_memory_ends(c, op, b);
		c->registered[b] = c->memops[b] = false;
		break;
	case OP_HEAP_FREE:
		host_memory_ends(c, op, b);
		break;
	case OP_MAP_ACCESS:
		c->may[b] = with_bit(c->may[b], o->event % CONTEXTS, o->ready);
		break;
	case OP_POOL_ACCESS:
		c->pool_may = with_bit(c->pool_may, o->event % CONTEXTS, o->ready);
		for (unsigned i = 0; i < BUFFERS; i++)
			if (c->of_pool[i])
				c->may[i] = c->pool_may;
		break;
	case OP_PEER_ACCESS:
		c->peers[o->ctx] = with_bit(c->peers[o->ctx], !o->ctx, o->ready);
		break;
	case OP_MEMOPS:
		c->memops[b] = true;
		break;
	case OP_CTX_MEMOPS:
		c->ctx_memops[o->ctx] = o->ready;
		break;
	case OP_POOL_REUSE: /* the driver puts its own reuse in order */
	default:
		break;
	}
}
