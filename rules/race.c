/* SPDX-License-Identifier: Apache-2.0 */
/* KRT-RACE-RAW, -WAR, -WAW: two device-side operations, the same bytes, no order. */
#include "words.h"

#include <inttypes.h>
#include <stdio.h>

void krt_words_race(const struct krt_facts *f, struct krt_words *w)
{
	const struct krt_side *c = &f->cur, *p = &f->prev;
	char bytes[256];

	krt_words_bytes(f, bytes, sizeof(bytes));
	if (f->same_op) {
		snprintf(w->message, sizeof(w->message),
			 "two copies of one batch (%s #%" PRIu64
			 ") meet: one is to %s %s that another %ss",
			 c->api, c->seq, c->what, bytes, p->what);
		snprintf(w->fix, sizeof(w->fix),
			 "put the copies that overlap into separate calls on one stream");
	} else {
		snprintf(w->message, sizeof(w->message),
			 "%s #%" PRIu64 " on %s%s%s%s %s %s, which %s #%" PRIu64
			 " on %s%s%s%s %s, with no order between them",
			 c->api, c->seq, c->stream, c->detail ? " (" : "",
			 c->detail ? c->detail : "", c->detail ? ")" : "",
			 c->scan	     ? "is given a pointer into and may touch"
			 : c->what[0] == 'r' ? c->some ? "may read" : "reads"
			 : c->some	     ? "may write"
					     : "writes",
			 bytes, p->api, p->seq, p->stream, p->detail ? " (" : "",
			 p->detail ? p->detail : "", p->detail ? ")" : "",
			 p->scan	     ? "was given too and may touch"
			 : p->what[0] == 'r' ? p->some ? "may read" : "reads"
			 : p->some	     ? "may write"
					     : "writes");
		if (c->loose && c->what[0] == 'r')
			snprintf(w->fix, sizeof(w->fix),
				 "give the copy source order STREAM and make %s wait for #%" PRIu64
				 " on %s, or wait for it on the host before #%" PRIu64,
				 c->stream, p->seq, p->stream, c->seq);
		else if (f->beside)
			snprintf(w->fix, sizeof(w->fix),
				 "let %s wait for the kernel before it (griddepcontrol.wait, "
				 "cudaGridDependencySynchronize) before it touches these bytes, or launch "
				 "#%" PRIu64 " without programmatic stream serialization",
				 c->api, c->seq);
		else
			krt_words_wait(f, w);
	}
	krt_words_order(f, w);
}
