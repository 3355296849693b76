/* SPDX-License-Identifier: Apache-2.0 */
/* KRT-REUSE-RACE: a block of a pool has a new owner before the old one's work is done. */
#include "words.h"

#include <inttypes.h>
#include <stdio.h>

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

	if (!f->former)
		krt_words_wait(f, w);
	else if (f->per_thread && f->at_home)
		snprintf(w->fix, sizeof(w->fix),
			 "the handle of the per-thread stream is another stream in each thread: keep "
			 "free blocks apart by thread, or record an event on %s at the free and make "
			 "%s wait for it before #%" PRIu64,
			 p->stream, c->stream, c->seq);
	else if (f->told)
		snprintf(w->fix, sizeof(w->fix),
			 "the pool was told that %s uses the block and did not wait for it: record an "
			 "event there at the free and hand the block out when it has completed, or "
			 "make %s wait for it before #%" PRIu64,
			 p->stream, c->host ? "the CPU" : c->stream, c->seq);
	else if (f->at_home)
		snprintf(w->fix, sizeof(w->fix),
			 "hand the block out on another stream only behind an event recorded on %s "
			 "at the free (%s waits for it before #%" PRIu64
			 "), or keep the free blocks of each stream apart",
			 p->stream, c->host ? "the CPU" : c->stream, c->seq);
	else
		snprintf(w->fix, sizeof(w->fix),
			 "tell the pool that %s uses the block (krtsan_block_use(), record_stream), so "
			 "that it waits for an event recorded there at the free; or make %s wait for "
			 "#%" PRIu64 " before the block is freed",
			 p->stream, f->home ? f->home : "the CPU", p->seq);
}

void krt_words_reuse(const struct krt_facts *f, struct krt_words *w)
{
	const struct krt_side *c = &f->cur, *p = &f->prev;
	char bytes[256], who[160] = "", back[160] = "";
	size_t at;

	krt_words_bytes(f, bytes, sizeof(bytes));
	if (f->handed_by)
		snprintf(who, sizeof(who), ", handed out%s by %s%s%s%s #%" PRIu64,
			 f->former ? " again" : "", f->pool ? "pool \"" : "a pool",
			 f->pool ? f->pool : "", f->pool ? "\"" : "", " at", f->handed_seq);
	else if (f->pool)
		snprintf(who, sizeof(who), " of pool \"%s\"", f->pool);
	if (f->freed_by)
		snprintf(back, sizeof(back), ", given back at %s #%" PRIu64, f->freed_by,
			 f->freed_seq);
	snprintf(w->message, sizeof(w->message),
		 "%s #%" PRIu64 "%s%s %s %s%s, which %s #%" PRIu64 " on %s of %s%s %s", c->api,
		 c->seq, c->host ? "" : " on ", c->host ? "" : c->stream, uses(c), bytes, who,
		 p->api, p->seq, p->stream,
		 f->former ? "its former owner" : "the time before it was handed out", back,
		 does(p));
	fix(f, w);
	krt_words_order(f, w);
	at = 0;
	while (at < sizeof(w->exists) && w->exists[at])
		at++;
	if (f->former && at < sizeof(w->exists))
		snprintf(w->exists + at, sizeof(w->exists) - at, "; the pool was %stold that %s uses %s",
			 f->told || f->at_home ? "" : "not ", p->stream,
			 f->at_home ? "the block (it was allocated for it)" : "the block");
}
