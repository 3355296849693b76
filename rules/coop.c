/* SPDX-License-Identifier: Apache-2.0 */
/* KRT-COOP-SHARED: two launches update one barrier or counter at a time. */
#include "words.h"

#include <inttypes.h>
#include <stdio.h>

void krt_words_coop(const struct krt_facts *f, struct krt_words *w)
{
	const struct krt_side *c = &f->cur, *p = &f->prev;
	char bytes[256];

	krt_words_bytes(f, bytes, sizeof(bytes));
	snprintf(w->message, sizeof(w->message),
		 "%slaunches %s #%" PRIu64 "%s%s%s on %s and %s #%" PRIu64
		 "%s%s%s on %s share %s and may be in flight together: the arrivals at a barrier "
		 "or counter there mix",
		 f->confidence == KRT_CERTAIN ? "cooperative " : "", c->api, c->seq,
		 c->node ? " (" : "", c->node ? c->node : "", c->node ? ")" : "", c->stream, p->api,
		 p->seq, p->node ? " (" : "", p->node ? p->node : "", p->node ? ")" : "", p->stream,
		 bytes);
	snprintf(w->fix, sizeof(w->fix),
		 "give each stream a workspace of its own, or make %s wait for an event recorded "
		 "on %s after #%" PRIu64,
		 c->stream, p->stream, p->seq);
	krt_words_order(f, w);
}
