/* SPDX-License-Identifier: Apache-2.0 */
/* KRT-GRAPH-UNORDERED-NODES: two nodes of one graph, the same bytes, no path. */
#include "words.h"

#include <inttypes.h>
#include <stdio.h>

/* "reads", "writes", "is given a pointer to" */
static const char *does(const struct krt_side *s)
{
	if (s->scan)
		return "is given a pointer to";
	if (s->some)
		return s->what[0] == 'r' ? "may read" : s->what[0] == 'w' ? "may write" : "may use";
	return s->what[0] == 'r' ? "reads" : s->what[0] == 'w' ? "writes" : "uses";
}

void krt_words_graph_nodes(const struct krt_facts *f, struct krt_words *w)
{
	const struct krt_graph_facts *k = f->graph;
	char bytes[320];

	if (!k)
		return;
	krt_words_bytes(f, bytes, sizeof(bytes));
	if (k->early)
		snprintf(w->message, sizeof(w->message),
			 "%s %s %s, which %s %s: the programmatic edge of the graph (%s #%" PRIu64
			 ") lets the one begin before the other has ended, and it never waits%s",
			 k->cur, does(&f->cur), bytes, k->prev, does(&f->prev), k->api, k->seq,
			 k->maybe ? " (in the body of a conditional)" : "");
	else
		snprintf(w->message, sizeof(w->message),
			 "%s %s %s, which %s %s, and no path of the graph (%s #%" PRIu64
			 ") leads from one to the other%s",
			 k->cur, does(&f->cur), bytes, k->prev, does(&f->prev), k->api, k->seq,
			 k->maybe ? " (in the body of a conditional)" : "");
	krt_words_wait(f, w);
	krt_words_order(f, w);
}
