/* SPDX-License-Identifier: Apache-2.0 */
/* KRT-GRAPH-UNORDERED-NODES: two nodes of one graph, the same bytes, no path. */
#include "words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* "reads", "writes", "is given a pointer to" */
static const char *does(const struct krt_side *s)
{
	if (s->scan)
		return "is given a pointer to";
	return s->what[0] == 'r' ? "reads" : s->what[0] == 'w' ? "writes" : "uses";
}

void krt_words_graph_nodes(const struct krt_facts *f, struct krt_words *w)
{
	const struct krt_side *c = &f->cur, *p = &f->prev;
	const struct krt_graph_facts *k = f->graph;
	char bytes[320];

	if (!k)
		return;
	krt_words_bytes(f, bytes, sizeof(bytes));
	snprintf(w->message, sizeof(w->message),
		 "%s %s %s, which %s %s, and no path of the graph (%s #%" PRIu64
		 ") leads from one to the other%s",
		 k->cur, does(c), bytes, k->prev, does(p),
		 k->api, k->seq, k->maybe ? " (in the body of a conditional)" : "");
	if (k->captured && p->seq && c->seq)
		snprintf(w->fix, sizeof(w->fix),
			 "while capturing, record an event behind #%" PRIu64
			 " and make the stream of #%" PRIu64
			 " wait for it before; or give the two separate buffers",
			 p->seq, c->seq);
	else
		snprintf(w->fix, sizeof(w->fix),
			 "add the edge: cuGraphAddDependencies from %s to %s, or name the one as a "
			 "dependency where the other is added",
			 k->prev, k->cur);
	snprintf(w->exists, sizeof(w->exists),
		 "none: nodes without a path between them run in any order, or together");
	snprintf(w->missing, sizeof(w->missing), "an edge from %s to %s", p->stream, c->stream);
}
