/* SPDX-License-Identifier: Apache-2.0 */
/* KRT-HOST-READ-RACE, KRT-HOST-WRITE-RACE: the CPU touches what is still in flight. */
#include "words.h"

#include <inttypes.h>
#include <stdio.h>

void krt_words_host(const struct krt_facts *f, struct krt_words *w)
{
	const struct krt_side *c = &f->cur, *p = &f->prev;
	char bytes[256];

	krt_words_bytes(f, bytes, sizeof(bytes));
	snprintf(w->message, sizeof(w->message),
		 "the CPU (%s #%" PRIu64 ") %s %s, which %s #%" PRIu64 " on %s%s%s%s%s%s still %s",
		 c->api, c->seq, f->rule == KRT_RULE_HOST_READ_RACE ? "reads" : "writes", bytes,
		 p->api, p->seq, p->stream, p->detail ? " (" : "", p->detail ? p->detail : "",
		 p->detail ? ")" : "", p->node ? ", whose " : "", p->node ? p->node : "",
		 p->what[0] == 'r'   ? "reads"
		 : p->what[0] == 'w' ? "writes"
				     : "uses");
	snprintf(w->fix, sizeof(w->fix),
		 "wait before #%" PRIu64
		 ": cuStreamSynchronize on %s, or record an event after #%" PRIu64
		 " and cuEventSynchronize it%s",
		 c->seq, p->stream, p->seq,
		 f->rule == KRT_RULE_HOST_WRITE_RACE ? "; or write into another buffer" : "");
	krt_words_order(f, w);
}
