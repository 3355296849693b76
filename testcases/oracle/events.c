/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Judge: what is told of events.  A wait or sync on an event without a record; a
 * record that nothing bound to, replaced by another stream's that does not come
 * after it (of several one is told; of one that covered no work none need be); a failed record or
 * wait whose event is used afterwards.
 */
#include "court.h"

static struct pair *tell(struct court *c, int rule, int op, int prev)
{
	struct pair *q = pair_of(c, rule, op, prev, BUFFERS);

	q->in_view[DOC] = q->in_view[OBS] = true;
	return q;
}

static void failed(struct court *c, int op, struct record_of *r)
{
	if (r->failed >= 0 && c->fault != FAULT_FAILED)
		tell(c, KRT_RULE_EVENT_FAILED, op, r->failed);
	r->failed = -1;
}

/* Is work before one record that is not before the other? */
static bool loses(const struct court *c, int was, int now)
{
	for (int i = 0; i < was; i++)
		if (c->node[i].on_stream && !c->node[i].note && before(c, i, was, DOC) &&
		    !before(c, i, now, DOC))
			return true;
	return false;
}

void event_recorded(struct court *c, int op, int ev, int node, int stream)
{
	struct record_of *r = &c->records[ev];
	int was = c->record[ev];

	if (!r->failed_record)
		failed(c, op, r);
	r->failed = -1; /* a good record makes up for a failed one */
	for (unsigned i = 0; i < r->nlost; i++)
		if (before(c, r->lost[i].node, node, DOC) ||
		    (r->lost[i].work && !loses(c, r->lost[i].node, node)))
			r->lost[i--] = r->lost[--r->nlost];
	if (c->fault != FAULT_OVERWRITTEN && was >= 0 && !r->bound && r->stream >= 0 &&
	    r->stream != stream && !before(c, was, node, DOC) && r->nlost < LOST)
		r->lost[r->nlost++] = (struct lost){r->op, was, loses(c, was, node)};
	r->op = op;
	r->stream = stream;
	r->bound = false;
}

void event_bound(struct court *c, int op, int ev, int stream, bool ok)
{
	struct record_of *r = &c->records[ev];

	r->bound = true;
	if (!ok)
		return;
	if (r->failed >= 0 && !r->failed_record && stream >= 0 && r->failed_on == stream)
		r->failed = -1; /* tried again, and it worked */
	failed(c, op, r);
	for (unsigned i = 0; i < r->nlost; i++)
		tell(c, KRT_RULE_EVENT_OVERWRITTEN, op, r->lost[i].op)->optional = !r->lost[i].work;
	r->nlost = 0;
	if (c->record[ev] < 0 &&
	    (c->p->op[op].what == OP_WAIT || c->p->op[op].what == OP_CTX_WAIT ||
	     c->p->op[op].what == OP_EVENT_SYNC))
		tell(c, KRT_RULE_EVENT_UNRECORDED, op, -1);
}

void event_failed(struct court *c, int op, int ev, int stream, bool record)
{
	struct record_of *r = &c->records[ev];

	r->failed = op;
	r->failed_on = stream;
	r->failed_record = record;
}

void event_new(struct court *c, int ev)
{
	c->records[ev] = (struct record_of){.failed = -1};
}
