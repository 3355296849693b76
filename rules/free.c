/* SPDX-License-Identifier: Apache-2.0 */
/* KRT-FREE-IN-USE, KRT-HOST-FREE-IN-USE: memory ends under an operation enqueued before. */
#include "words.h"

#include <inttypes.h>
#include <stdio.h>

void krt_words_free(const struct krt_facts *f, struct krt_words *w)
{
	const struct krt_side *c = &f->cur, *p = &f->prev;

	snprintf(w->message, sizeof(w->message),
		 "%s #%" PRIu64 "%s%s ends %s while %s #%" PRIu64 " on %s%s%s%s%s%s %s it", c->api,
		 c->seq, c->host ? "" : " on ", c->host ? "" : c->stream,
		 f->buffer ? f->buffer : "memory", p->api, p->seq, p->stream, p->detail ? " (" : "",
		 p->detail ? p->detail : "", p->detail ? ")" : "",
		 p->node ? ", whose " : "", p->node ? p->node : "",
		 p->scan	     ? "may still use"
		 : p->what[0] == 'r' ? "still reads"
		 : p->what[0] == 'w' ? "still writes"
				     : "still uses");
	if (c->host)
		snprintf(w->fix, sizeof(w->fix),
			 "wait for #%" PRIu64 " before the free: cuStreamSynchronize on %s, or an "
					      "event recorded after it",
			 p->seq, p->stream);
	else
		krt_words_wait(f, w);
	krt_words_order(f, w);
}
