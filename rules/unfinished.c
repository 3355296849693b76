/* SPDX-License-Identifier: Apache-2.0 */
/* KRT-UNFINISHED: torn down, or given away, before anything waited for it. */
#include "words.h"

#include <inttypes.h>
#include <stdio.h>

/* A copy to the host, at the end of the process; its stream may have gone before. */
static void copy(const struct krt_facts *f, struct krt_words *w)
{
	const struct krt_side *k = f->prev.seq ? &f->prev : &f->cur;
	char bytes[256], end[120];

	krt_words_bytes(f, bytes, sizeof(bytes));
	if (!f->prev.seq)
		snprintf(end, sizeof(end), "before the process exits");
	else if (f->context_gone)
		snprintf(end, sizeof(end), "before %s #%" PRIu64 " destroys its context",
			 f->cur.api, f->cur.seq);
	else
		snprintf(end, sizeof(end),
			 "before the process exits (%s #%" PRIu64 " destroyed its stream)",
			 f->cur.api, f->cur.seq);
	snprintf(w->message, sizeof(w->message),
		 "%s #%" PRIu64 " on %s copies to the host (%s), and nothing waits for it %s",
		 k->api, k->seq, k->stream, bytes, end);
	snprintf(
		w->fix, sizeof(w->fix),
		"wait before the result is used, and before the end: cuStreamSynchronize on %s, or "
		"cuEventSynchronize on an event recorded after #%" PRIu64,
		k->stream, k->seq);
	snprintf(w->exists, sizeof(w->exists), "none: no sync, query or blocking call covers it");
	snprintf(w->missing, sizeof(w->missing), "%s #%" PRIu64 " (%s) before the end", k->api,
		 k->seq, k->stream);
}

static void export_memory(const struct krt_facts *f, struct krt_words *w)
{
	const struct krt_side *c = &f->cur, *p = &f->prev;
	char bytes[256];

	krt_words_bytes(f, bytes, sizeof(bytes));
	snprintf(w->message, sizeof(w->message),
		 "%s #%" PRIu64 " hands %s to other processes while %s #%" PRIu64
		 " on %s still writes it, and no sync and no exported event follows",
		 c->api, c->seq, bytes, p->api, p->seq, p->stream);
	snprintf(w->fix, sizeof(w->fix),
		 "wait for %s before the handle is sent, or record an event that the other process "
		 "opens (CU_EVENT_INTERPROCESS) after #%" PRIu64 " and let it wait for that",
		 p->stream, p->seq);
	snprintf(w->exists, sizeof(w->exists),
		 "none: a message between processes orders no stream");
	snprintf(w->missing, sizeof(w->missing),
		 "%s #%" PRIu64 " (%s) before the other process's first use", p->api, p->seq,
		 p->stream);
}

static void export_event(const struct krt_facts *f, struct krt_words *w)
{
	const struct krt_side *c = &f->cur, *p = &f->prev;

	snprintf(w->message, sizeof(w->message),
		 "%s #%" PRIu64 " destroys %s right after its export at #%" PRIu64
		 ": no other process can have opened it",
		 c->api, c->seq, f->event, p->seq);
	snprintf(w->fix, sizeof(w->fix),
		 "keep the event until the other process says that it is done with it");
	snprintf(w->exists, sizeof(w->exists), "none: the handle does not keep the event alive");
	snprintf(w->missing, sizeof(w->missing), "the other process's use before #%" PRIu64,
		 c->seq);
}

void krt_words_unfinished(const struct krt_facts *f, struct krt_words *w)
{
	if (f->event)
		export_event(f, w);
	else if (f->cur.what[0] == 'e')
		export_memory(f, w);
	else
		copy(f, w);
}
