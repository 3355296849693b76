/* SPDX-License-Identifier: Apache-2.0 */
/* Host functions: which wait, and what the judge says of what the CPU does in them. */
#include "court.h"

/* --- slots ----------------------------------------------------------------------- */

void functions_begin(struct functions *f)
{
	for (unsigned i = 0; i < FUNCTIONS; i++)
		f->op[i] = -1;
}

bool functions_allow(const struct functions *f, const struct op *o)
{
	unsigned slot = o->node % FUNCTIONS;

	if (o->what == OP_HOSTFN)
		return f->op[slot] < 0;
	if (o->what != OP_HOSTFN_RUN)
		return true;
	for (unsigned i = 0; i < FUNCTIONS; i++)
		if (f->op[i] >= 0 && f->op[i] < f->op[slot] && f->lane[i] == f->lane[slot])
			return false; /* that one's turn is first */
	return f->op[slot] >= 0;
}

void functions_step(struct functions *f, const struct program *p, unsigned i)
{
	const struct op *o = &p->op[i];
	unsigned slot = o->node % FUNCTIONS;

	if (o->what == OP_HOSTFN) {
		f->op[slot] = (int)i;
		f->lane[slot] = lane_of(o);
	} else if (o->what == OP_HOSTFN_RUN) {
		f->op[slot] = -1;
	}
}

/* --- the judge ------------------------------------------------------------------- */

/* It begins after what is before it in the stream, and later work waits for its end. */
void judge_function(struct court *c, int op)
{
	const struct op *o = &c->p->op[op];
	unsigned slot = o->node % FUNCTIONS;
	int begin, end;

	if (o->what == OP_HOSTFN) {
		begin = new_node(c);
		edge(c, c->host, begin, IN_DOC);
		in_order(c, o, o->stream, begin, IN_DOC);
		end = enqueue(c, o, o->stream);
		edge(c, begin, end, IN_DOC);
		c->function[slot] = (struct court_function){begin, end};
		return;
	}
	if (c->fault != FAULT_HOSTFN)
		host_after(c, c->function[slot].begin, IN_DOC);
	c->within = c->function[slot].end;
	for (unsigned k = 0; k < o->nranges; k++)
		host_access(c, op, &o->range[k]);
	c->within = -1;
	host_after(c, c->function[slot].end, IN_DOC);
}

/*
 * What waits for the end of the function has not begun.  Where only something later on
 * the stream, or a later launch of the executable does, nobody can know of the access:
 * rather silent.
 */
bool after_function(const struct court *c, const struct access *a, enum view v)
{
	const struct node *its = &c->node[a->node];

	for (int n = a->node; c->within >= 0 && n < c->n; n++)
		if (((a->node > c->within && its->stream >= 0 &&
		      c->node[n].stream == its->stream) ||
		     (its->form && c->node[n].form == its->form)) &&
		    before(c, c->within, n, v))
			return true;
	return false;
}
