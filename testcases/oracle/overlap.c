/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of several threads that overlap.  Operations stand in the order in which their
 * calls return; one may have begun before calls of other threads that stand before it
 * returned, and then knows nothing of what they waited for.
 */
#include "program.h"

/* One call, which makes and ends no object that others name. */
static bool may_overlap(const struct op *o)
{
	switch (o->what) {
	case OP_SET:
	case OP_SET_SYNC:
	case OP_SET_ROWS:
	case OP_COPY:
	case OP_COPY_SYNC:
	case OP_RECORD:
	case OP_WAIT:
	case OP_EVENT_SYNC:
	case OP_EVENT_QUERY:
	case OP_STREAM_SYNC:
	case OP_STREAM_QUERY:
	case OP_CTX_SYNC:
	case OP_HOST_READ:
	case OP_HOST_WRITE:
	case OP_GRAPH_LAUNCH:
		return true;
	default:
		return false;
	}
}

/* By the CPU, which waits for the stream and then copies, all in one call. */
static bool is_host_copy(const struct op *o)
{
	if (o->what != OP_COPY && o->what != OP_COPY_SYNC)
		return false;
	for (unsigned i = 0; i < 2; i++)
		if (buffer_slot[o->range[i].buffer].kind != PINNED &&
		    buffer_slot[o->range[i].buffer].kind != PAGEABLE)
			return false;
	return true;
}

/* Its source is read by the call itself: of that nothing is left when the call returns. */
static bool reads_at_call(const struct op *o)
{
	return (o->what == OP_COPY || o->what == OP_COPY_SYNC) &&
	       buffer_slot[o->range[1].buffer].kind == PAGEABLE;
}

unsigned program_began(const struct program *p, unsigned i)
{
	unsigned left = p->op[i].early, first = i;

	for (unsigned k = i; left && k-- > 0;) {
		if (p->left_out[k])
			continue;
		if (!may_overlap(&p->op[k]) || reads_at_call(&p->op[k]) ||
		    p->op[k].thread == p->op[i].thread)
			break;
		left--;
		first = k;
	}
	switch (p->op[i].what) {
	case OP_GRAPH_LAUNCH: /* of one executable they have an order of their own */
	case OP_RECORD:	      /* which one is the newer, their returns tell */
		return i;
	default:
		break;
	}
	if (is_host_copy(&p->op[i]))
		return i;
	return may_overlap(&p->op[i]) || p->op[i].what == OP_FREE ? first : i;
}

bool program_later(const struct program *p, int a, int b)
{
	int x = (int)program_began(p, (unsigned)a), y = (int)program_began(p, (unsigned)b);

	if (x != y)
		return y > x;
	return (a == x) != (b == y) ? b == y : b > a;
}
