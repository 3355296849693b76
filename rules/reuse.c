/* SPDX-License-Identifier: Apache-2.0 */
/* KRT-REUSE-RACE: a block of a pool has a new owner before the old one's work is done. */
#include "words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *does(const struct krt_side *s)
{
	return s->scan		   ? "may still use"
	       : s->what[0] == 'r' ? "still reads"
	       : s->what[0] == 'w' ? "still writes"
				   : "still uses";
}

static const char *uses(const struct krt_side *s)
{
	return s->scan		   ? "is given a pointer into"
	       : s->what[0] == 'r' ? "reads"
				   : "writes";
}

static void fix(const struct krt_facts *f, struct krt_words *w)
{
	const struct krt_side *c = &f->cur, *p = &f->prev;
	const char *who = c->host ? "the CPU" : c->stream;

	if (f->stale)
		snprintf(w->fix, sizeof(w->fix),
			 "give the block back after its last use: move %s #%" PRIu64
			 " behind #%" PRIu64 ", and let the pool wait for it",
			 f->freed_by, f->freed_seq, p->seq);
	else if (!f->former)
		krt_words_wait(f, w);
	else if (f->destroyed)
		snprintf(w->fix, sizeof(w->fix),
			 "wait for #%" PRIu64 " on %s before the pool is destroyed (#%" PRIu64
			 "), or make %s wait for it before #%" PRIu64,
			 p->seq, p->stream, f->freed_seq, who, c->seq);
	else if (f->per_thread && f->at_home)
		snprintf(w->fix, sizeof(w->fix),
			 "the handle of the per-thread stream is another stream in each thread: keep "
			 "free blocks apart by thread, or record an event on %s at the free and make "
			 "%s wait for it before #%" PRIu64,
			 p->stream, who, c->seq);
	else if (f->told)
		snprintf(w->fix, sizeof(w->fix),
			 "the pool was told that %s uses the block and did not wait for it: record an "
			 "event there at the free and hand the block out when it has completed, or "
			 "make %s wait for it before #%" PRIu64,
			 p->stream, who, c->seq);
	else if ((f->at_home || !f->home) && c->host)
		snprintf(w->fix, sizeof(w->fix),
			 "record an event on %s at the free and hand the block out again when it has "
			 "completed, or wait for #%" PRIu64 " before #%" PRIu64,
			 p->stream, p->seq, c->seq);
	else if (f->at_home || !f->home)
		snprintf(w->fix, sizeof(w->fix),
			 "hand the block out on another stream only behind an event recorded on %s "
			 "at the free (%s waits for it before #%" PRIu64
			 "), or keep the free blocks of each stream apart",
			 p->stream, who, c->seq);
	else if (c->host)
		snprintf(w->fix, sizeof(w->fix),
			 "tell the pool that %s uses the block (krtsan_block_use(), record_stream), so "
			 "that it keeps it until an event recorded there at the free has completed; or "
			 "wait on the host for #%" PRIu64 " before #%" PRIu64,
			 p->stream, p->seq, c->seq);
	else
		snprintf(w->fix, sizeof(w->fix),
			 "tell the pool that %s uses the block (krtsan_block_use(), record_stream), so "
			 "that it waits for an event recorded there at the free; or make %s wait for "
			 "#%" PRIu64 " before the block is freed",
			 p->stream, f->home, p->seq);
}

void krt_words_reuse(const struct krt_facts *f, struct krt_words *w)
{
	const struct krt_side *c = &f->cur, *p = &f->prev;
	char bytes[256], who[160] = "", to[128] = "", back[256] = "";
	size_t at;

	krt_words_bytes(f, bytes, sizeof(bytes));
	if (f->handed_by)
		snprintf(who, sizeof(who), " that %s%s%s handed out%s at #%" PRIu64,
			 f->pool ? "pool \"" : "a pool", f->pool ? f->pool : "",
			 f->pool ? "\"" : "", f->former || f->stale ? " again" : "", f->handed_seq);
	else if (f->pool)
		snprintf(who, sizeof(who), " of pool \"%s\"", f->pool);
	if (f->former_pool)
		snprintf(to, sizeof(to), " to pool \"%.100s\"", f->former_pool);
	if (f->freed_by)
		snprintf(back, sizeof(back), "%s (%s #%" PRIu64 ")", f->former ? to : "", f->freed_by,
			 f->freed_seq);
	snprintf(w->message, sizeof(w->message),
		 "%s%s #%" PRIu64 "%s%s %s %s%s, while %s #%" PRIu64 " on %s, %s%s, %s them",
		 c->host ? "the CPU (" : "", c->api, c->seq, c->host ? ")" : " on ",
		 c->host ? "" : c->stream, uses(c), bytes, who,
		 p->api, p->seq, p->stream,
		 f->stale    ? "enqueued when the block had been given back"
		 : f->former ? "of the owner that gave them back"
			     : "enqueued before they were handed out",
		 back, does(p));
	fix(f, w);
	krt_words_order(f, w);
	at = strlen(w->exists);
	if (f->former && f->at_home)
		snprintf(w->exists + at, sizeof(w->exists) - at,
			 "; the pool knew %s as the stream that the block was for", p->stream);
	else if (f->former && (f->home || f->told)) /* a feed may not know the first */
		snprintf(w->exists + at, sizeof(w->exists) - at,
			 "; the pool was %stold that %s uses the block", f->told ? "" : "not ",
			 p->stream);
}
