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
	if (c->effect) {
		snprintf(w->message, sizeof(w->message),
			 "the CPU changed %s between the call of %s #%" PRIu64
			 " on %s, which reads them, and #%" PRIu64
			 ", when nothing had waited for it yet",
			 bytes, p->api, p->seq, p->stream, c->seq);
		snprintf(w->fix, sizeof(w->fix),
			 "wait after #%" PRIu64
			 " and before the CPU writes there: cuStreamSynchronize on %s, or record an event "
			 "after it and cuEventSynchronize it; host=guard names the line that writes",
			 p->seq, p->stream);
		krt_words_order(f, w);
		return;
	}
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
