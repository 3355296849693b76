/* SPDX-License-Identifier: Apache-2.0 */
/* KRT-GRAPH-EXEC-OVERLAP: a graph launch beside other work, or beside another launch. */
#include "words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *verb(const struct krt_side *s)
{
	if (s->scan)
		return "is given a pointer into and may touch";
	if (s->some)
		return s->what[0] == 'r' ? "may read" : "may write";
	return s->what[0] == 'r' ? "reads" : "writes";
}

/* "cuGraphLaunch #9 on stream 1, whose copy node (captured by ...) reads": behind what is in buf. */
static void side(const struct krt_side *s, const char *sep, char *buf, size_t len)
{
	size_t n = strlen(buf);

	snprintf(buf + n, len - n, "%s%s #%" PRIu64 " on %s%s%s%s%s%s %s", sep, s->api, s->seq,
		 s->stream, s->detail ? " (" : "", s->detail ? s->detail : "",
		 s->detail ? ")" : "", s->node ? ", whose " : "", s->node ? s->node : "", verb(s));
}

void krt_words_overlap(const struct krt_facts *f, struct krt_words *w)
{
	char bytes[256];
	size_t n;

	krt_words_bytes(f, bytes, sizeof(bytes));
	side(&f->cur, "", w->message, sizeof(w->message));
	n = strlen(w->message);
	snprintf(w->message + n, sizeof(w->message) - n, " %s", bytes);
	side(&f->prev, ", and ", w->message, sizeof(w->message));
	n = strlen(w->message);
	snprintf(w->message + n, sizeof(w->message) - n, " them, with no order between them");
	krt_words_wait(f, w);
	krt_words_order(f, w);
}
