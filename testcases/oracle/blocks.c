/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Judge: blocks that a suballocator hands out and takes back.  Each time bytes change
 * hands, what was done with them before is the past: what meets it races with a former
 * owner.  A pool may be built on another's block; handing out ends what it overlaps.
 */
#include "court.h"

static void hand_over(struct court *c, uint8_t buffer, unsigned from, unsigned end)
{
	cells_t cells = 0;

	for (unsigned i = from; i < end; i++)
		cells |= (cells_t)1 << i;
	for (unsigned i = 0; c->fault != FAULT_OWNER && i < c->naccesses; i++)
		if (home_of(c->access[i].buffer) == home_of(buffer))
			c->access[i].past |= c->access[i].cells & cells;
}

static bool inside(const struct court *c, const struct block *b, int outer)
{
	for (int o = b->outer; o >= 0; o = c->block[o].outer)
		if (o == outer)
			return true;
	return false;
}

static void end_block(struct court *c, int which)
{
	struct block *b = &c->block[which];

	for (unsigned i = 0; i < c->nblocks; i++)
		if (c->block[i].live && inside(c, &c->block[i], which))
			end_block(c, (int)i);
	b->live = false;
	hand_over(c, b->buffer, b->from, b->end);
}

/* Side by side in outer (-1: the memory): those that [from, end) overlaps end. */
static void end_overlapped(struct court *c, int outer, uint8_t buffer, unsigned from, unsigned end)
{
	for (unsigned i = 0; i < c->nblocks; i++) {
		const struct block *b = &c->block[i];

		if (b->live && b->outer == outer && b->buffer == buffer && b->from < end &&
		    from < b->end)
			end_block(c, (int)i);
	}
}

/* The block in outer that holds a cell, -1: none. */
static int holder(const struct court *c, int outer, uint8_t buffer, unsigned cell)
{
	for (unsigned i = 0; i < c->nblocks; i++) {
		const struct block *b = &c->block[i];

		if (b->live && b->outer == outer && b->buffer == buffer && b->from <= cell &&
		    cell < b->end)
			return (int)i;
	}
	return -1;
}

static void block_alloc(struct court *c, const struct op *o)
{
	const struct range *r = o->range;
	unsigned end = r->from + r->n;
	int outer = -1, in;

	while ((in = holder(c, outer, r->buffer, r->from)) >= 0 && end <= c->block[in].end &&
	       c->block[in].pool != o->event)
		outer = in;
	end_overlapped(c, outer, r->buffer, r->from, end);
	hand_over(c, r->buffer, r->from, end);
	c->block[c->nblocks++] = (struct block){r->buffer, o->event, r->from, end, outer, true};
}

/* The innermost block that begins with the cell. */
static int named(const struct court *c, const struct range *r)
{
	int in = -1, found = -1;

	while ((in = holder(c, in, r->buffer, r->from)) >= 0)
		if (c->block[in].from == r->from)
			found = in;
	return found;
}

static void block_resize(struct court *c, const struct op *o)
{
	const struct range *r = o->range;
	int which = named(c, r);
	struct block *b = &c->block[which];
	unsigned was, end = r->from + r->n;

	if (which < 0)
		return;
	was = b->end;
	if (end > was) {
		if (b->outer >= 0 && end > c->block[b->outer].end)
			return;
		end_overlapped(c, b->outer, b->buffer, was, end);
		hand_over(c, b->buffer, was, end);
	} else if (end < was) {
		end_overlapped(c, which, b->buffer, end, was);
		hand_over(c, b->buffer, end, was);
	}
	b->end = end;
}

void blocks_gone(struct court *c, unsigned buffer)
{
	for (unsigned i = 0; i < c->nblocks; i++)
		c->block[i].live &= c->block[i].buffer != buffer;
}

void block_op(struct court *c, int op)
{
	const struct op *o = &c->p->op[op];
	int which;

	switch (o->what) {
	case OP_BLOCK_ALLOC:
		block_alloc(c, o);
		break;
	case OP_BLOCK_FREE:
		which = named(c, o->range);
		if (which >= 0)
			end_block(c, which);
		break;
	case OP_BLOCK_RESIZE:
		block_resize(c, o);
		break;
	case OP_POOL_DESTROY:
		for (unsigned i = 0; i < c->nblocks; i++)
			if (c->block[i].live && c->block[i].pool == o->event)
				end_block(c, (int)i);
		break;
	default: /* krtsan_block_use() makes no order */
		break;
	}
}
