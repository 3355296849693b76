/* SPDX-License-Identifier: Apache-2.0 */
/* KRT-UAF-STREAM, KRT-UBA-STREAM: used after the free, or before the allocation. */
#include "words.h"

#include <inttypes.h>
#include <stdio.h>

void krt_words_lifetime(const struct krt_facts *f, struct krt_words *w)
{
	const struct krt_side *c = &f->cur, *p = &f->prev;
	const char *verb = c->scan	       ? "is given a pointer into"
			   : c->what[0] == 'r' ? "reads"
			   : c->what[0] == 'f' ? "frees"
					       : "writes";
	const char *buffer = f->buffer ? f->buffer : "memory";
	const char *whose = c->node ? ", whose " : "", *node = c->node ? c->node : "";

	if (f->rule == KRT_RULE_UAF_STREAM) {
		snprintf(w->message, sizeof(w->message),
			 "%s #%" PRIu64 " on %s%s%s %s %s, which %s #%" PRIu64 "%s%s had freed",
			 c->api, c->seq, c->stream, whose, node, verb, buffer, p->api, p->seq,
			 p->host ? "" : " on ", p->host ? "" : p->stream);
		snprintf(w->fix, sizeof(w->fix),
			 "free after the last use: move #%" PRIu64 " behind #%" PRIu64 "%s", p->seq,
			 c->seq,
			 p->host ? ""
				 : ", and make its stream wait for the one that uses the memory");
		if (f->graph && !f->graph->captured)
			snprintf(w->fix, sizeof(w->fix),
				 "free after the last use: take the edges that put %s behind %s away, "
				 "and add one the other way",
				 f->graph->cur, f->graph->prev);
		snprintf(w->exists, sizeof(w->exists), "%s",
			 f->graph ? "the use does not come before the free in the graph"
				  : "the use was enqueued after the free");
		snprintf(w->missing, sizeof(w->missing), "%s #%" PRIu64 " (%s) before %s #%" PRIu64,
			 c->api, c->seq, c->stream, p->api, p->seq);
		return;
	}
	snprintf(w->message, sizeof(w->message),
		 "%s #%" PRIu64 " on %s%s%s %s %s, which %s #%" PRIu64
		 " allocates on %s, with no order after it",
		 c->api, c->seq, c->stream, whose, node, verb, buffer, p->api, p->seq, p->stream);
	krt_words_wait(f, w);
	krt_words_order(f, w);
}
