/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Judge: copies to the host that nothing had waited for when the process ended.  Of each
 * stream the last one counts: who waits for that has waited for those before.  What
 * leaves word in memory or elsewhere, a kernel that writes where the CPU sees it, a
 * value, a release, may have told of all that it comes after.
 */
#include "court.h"

static bool over(const struct court *c, const struct to_host *t)
{
	return before(c, t->node, c->host, OBS);
}

void copied_to_host(struct court *c, int op, int node)
{
	int stream = c->op_stream[op];

	if (stream >= 0 && c->fault != FAULT_UNFINISHED)
		c->to_host[stream] = (struct to_host){op, node, -1};
}

void word_leaves(struct court *c, int node)
{
	for (int s = 0; s < STREAM_NUMBERS; s++)
		if (c->to_host[s].op >= 0 && before(c, c->to_host[s].node, node, OBS))
			c->to_host[s].op = -1;
}

void stream_ends(struct court *c, int op, int stream)
{
	struct to_host *t = &c->to_host[stream];

	if (t->op >= 0 && over(c, t))
		t->op = -1;
	else if (t->op >= 0 && t->torn < 0)
		t->torn = op;
}

/* A copy that a finding has named is not told of again. */
static bool was_named(const struct court *c, int op)
{
	for (unsigned i = 0; i < c->v->n; i++)
		if (c->v->pair[i].prev == op && c->v->pair[i].rule != KRT_RULE_UNFINISHED)
			return true;
	return false;
}

void process_ends(struct court *c)
{
	for (int s = 0; s < STREAM_NUMBERS; s++) {
		const struct to_host *t = &c->to_host[s];
		struct pair *q;

		if (t->op < 0 || over(c, t))
			continue;
		q = t->torn < 0 ? pair_of(c, KRT_RULE_UNFINISHED, t->op, -1, BUFFERS)
				: pair_of(c, KRT_RULE_UNFINISHED, t->torn, t->op, BUFFERS);
		q->in_view[DOC] = q->in_view[OBS] = true;
		q->optional = was_named(c, t->op);
	}
}
