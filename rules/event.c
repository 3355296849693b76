/* SPDX-License-Identifier: Apache-2.0 */
/* KRT-EVENT-UNRECORDED, -OVERWRITTEN, -FAILED: waits that do not order what they were written for.
 */
#include "words.h"

#include <inttypes.h>
#include <stdio.h>

void krt_words_event(const struct krt_facts *f, struct krt_words *w)
{
	const struct krt_side *c = &f->cur, *p = &f->prev;
	int n;

	if (f->rule == KRT_RULE_EVENT_UNRECORDED) {
		n = snprintf(w->message, sizeof(w->message),
			     "%s #%" PRIu64 " waits for %s, which had not been recorded: it orders nothing",
			     c->api, c->seq, f->event);
		if (f->times > 1 && n > 0 && (size_t)n < sizeof(w->message))
			snprintf(w->message + n, sizeof(w->message) - (size_t)n,
				 " (nor did any of the %" PRIu64 " waits of this call site)", f->times);
		snprintf(w->fix, sizeof(w->fix),
			 "record %s before the wait, on the stream that is to be waited for",
			 f->event);
		snprintf(w->exists, sizeof(w->exists),
			 "none: a wait for an unrecorded event does nothing");
		snprintf(w->missing, sizeof(w->missing), "a record of %s before #%" PRIu64,
			 f->event, c->seq);
	} else if (f->rule == KRT_RULE_EVENT_OVERWRITTEN) {
		snprintf(w->message, sizeof(w->message),
			 "%s #%" PRIu64 " waits for %s, whose record on %s at #%" PRIu64
			 " nothing had waited for when it was "
			 "recorded again on %s at #%" PRIu64 ": the wait does not cover %s",
			 c->api, c->seq, f->event, p->stream, p->seq, f->third_stream, f->third_seq,
			 p->stream);
		snprintf(w->fix, sizeof(w->fix),
			 "use one event for each stream, or wait for %s before #%" PRIu64, f->event,
			 f->third_seq);
		snprintf(w->exists, sizeof(w->exists),
			 "the wait at #%" PRIu64 " covers %s up to #%" PRIu64, c->seq,
			 f->third_stream, f->third_seq);
		snprintf(w->missing, sizeof(w->missing), "%s up to #%" PRIu64 " before #%" PRIu64,
			 p->stream, p->seq, c->seq);
	} else {
		snprintf(w->message, sizeof(w->message),
			 "%s #%" PRIu64 " uses %s, but %s #%" PRIu64
			 " had failed: it orders nothing",
			 c->api, c->seq, f->event, p->api, p->seq);
		snprintf(w->fix, sizeof(w->fix), "check the result of %s at #%" PRIu64, p->api,
			 p->seq);
		snprintf(w->exists, sizeof(w->exists), "%s has no record, or an older one",
			 f->event);
		snprintf(w->missing, sizeof(w->missing), "the order that #%" PRIu64 " was to make",
			 p->seq);
	}
}
