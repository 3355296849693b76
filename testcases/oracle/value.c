/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Judge: streams that wait for values in memory.  A wait comes after every write of the
 * program's that satisfies it.  Where none does yet, the writer is not seen: what the
 * stream does until one comes is not held against other streams, or the CPU.
 */
#include "court.h"

static unsigned stream_of(const struct court *c, const struct op *o)
{
	return (unsigned)stream_number(c, o, o->stream);
}

static bool satisfies(uint64_t have, uint64_t want, unsigned condition)
{
	switch (condition) {
	case 0:
		return have >= want;
	case 1:
		return have == want;
	case 2:
		return have & want;
	default:
		return true; /* some bit is in neither: the values are small */
	}
}

bool behind_unseen(const struct court *c, int stream)
{
	return stream >= 0 && (c->external[stream] || c->waits[stream]);
}

bool kept_apart(const struct court *c, int op, int cur, int node, bool host)
{
	int stream = c->op_stream[cur];

	if (c->fault == FAULT_UNSEEN)
		return false;
	if (host)
		return c->op_external[op];
	if (behind_unseen(c, stream))
		return c->op_stream[op] != stream || !c->node[node].on_stream;
	return c->op_external[op] && c->op_stream[op] != stream;
}

void host_knows_unseen(struct court *c)
{
	host_after_all(c, -1, -1, false, IN_DOC);
}

void stream_is_done(struct court *c, int stream)
{
	if (behind_unseen(c, stream))
		host_knows_unseen(c);
	c->external[stream] = c->waits[stream] = false;
	for (unsigned i = 0; i < c->nwaiting; i++)
		c->waiting[i].over |= c->waiting[i].stream == stream;
}

/* The wait is over when the write is done: a place on its stream that comes after both. */
static void goes_on(struct court *c, const struct waiting *w, int write)
{
	int n = new_node(c);

	for (int i = 0; i < n; i++)
		if (c->node[i].on_stream && c->node[i].stream == w->stream)
			edge(c, i, n, IN_DOC);
	edge(c, write, n, IN_DOC);
	c->node[n].on_stream = c->node[n].note = true;
	c->node[n].ctx = c->node[w->node].ctx;
	c->node[n].kind = c->node[w->node].kind;
	c->node[n].stream = w->stream;
}

static void value_write(struct court *c, const struct op *o, uint8_t flag, int n)
{
	int stream = (int)stream_of(c, o);
	struct release_of r = {flag, o->value, o->order != 1, n, behind_unseen(c, stream)};

	c->written[c->nwritten++] = r;
	for (unsigned i = 0; i < c->nwaiting; i++) {
		struct waiting *w = &c->waiting[i];

		if (w->over || w->flag != r.flag || w->stream == stream ||
		    !satisfies(r.value, w->value, w->condition))
			continue;
		w->over = true;
		if (r.ordered && c->fault != FAULT_VALUE)
			goes_on(c, w, n);
		c->external[w->stream] |= r.external;
		c->waits[w->stream] = false;
		for (unsigned k = 0; k < c->nwaiting; k++)
			c->waits[w->stream] |=
				!c->waiting[k].over && c->waiting[k].stream == w->stream;
	}
}

static void value_wait(struct court *c, const struct op *o, uint8_t flag, int n)
{
	int stream = (int)stream_of(c, o);
	bool met = false;

	for (unsigned i = 0; i < c->nwritten; i++) {
		const struct release_of *r = &c->written[i];

		if (r->flag != flag || !satisfies(r->value, o->value, o->order))
			continue;
		met = true;
		c->external[stream] |= r->external;
		if (r->ordered && c->fault != FAULT_VALUE)
			edge(c, r->node, n, IN_DOC);
	}
	if (met)
		return;
	c->waits[stream] = true;
	c->waiting[c->nwaiting++] = (struct waiting){flag, o->order, o->value, stream, n, false};
}

void value_op(struct court *c, int op)
{
	const struct op *o = &c->p->op[op];
	int told = new_node(c), n;

	in_order(c, o, o->stream, told, IN_DOC);
	if (o->what == OP_VALUE_WRITE || o->form & 2) /* a batch may write */
		word_leaves(c, told);

	n = enqueue(c, o, o->stream);
	/* a batch of two is of two words, one after the other */
	for (unsigned i = 0; i < (o->form == 3 ? 2 : 1); i++)
		if (o->what == OP_VALUE_WRITE)
			value_write(c, o, i ? o->event2 : o->event, n);
		else
			value_wait(c, o, i ? o->event2 : o->event, n);
}
