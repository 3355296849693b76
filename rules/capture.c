/* SPDX-License-Identifier: Apache-2.0 */
/* KRT-CAPTURE-ISOLATION: what broke a stream capture. */
#include "words.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Appends. */
static void add(char *buf, size_t len, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void add(char *buf, size_t len, const char *fmt, ...)
{
	size_t at = strlen(buf);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(buf + at, len - at, fmt, ap);
	va_end(ap);
}

#define MSG(...) add(w->message, sizeof(w->message), __VA_ARGS__)
#define FIX(...) add(w->fix, sizeof(w->fix), __VA_ARGS__)
#define HAS(...) add(w->exists, sizeof(w->exists), __VA_ARGS__)
#define LACK(...) add(w->missing, sizeof(w->missing), __VA_ARGS__)

/* "the capture that cuStreamBeginCapture #5 began on stream "u"" */
static void the_capture(const struct krt_capture_facts *k, char *buf, size_t len)
{
	if (k->begin)
		snprintf(buf, len, "the capture that %s #%" PRIu64 " began on %s", k->begin,
			 k->begin_seq, k->begin_stream);
	else
		snprintf(buf, len, "a capture whose beginning was not recorded");
}

static void foreign(const struct krt_facts *f, const struct krt_capture_facts *k, const char *cap,
		    struct krt_words *w)
{
	const struct krt_side *c = &f->cur, *p = &f->prev;
	const char *event = f->event ? f->event : "an event", *origin = k->begin_stream;

	MSG("%s #%" PRIu64 " makes %s, which takes part in %s, wait for %s, ", c->api, c->seq,
	    c->stream, cap, event);
	if (!p->seq || p->seq == k->begin_seq)
		MSG("whose record is outside of the capture");
	else if (k->ended)
		MSG("last recorded by %s #%" PRIu64 " on %s in a capture that has ended", p->api,
		    p->seq, p->stream);
	else
		MSG("recorded by %s #%" PRIu64 " on %s, %s", p->api, p->seq, p->stream,
		    k->before ? "before the capture began"
			      : "a stream that was not forked into the capture");
	if (k->before || !p->seq || k->ended || !origin) {
		FIX("wait before the capture begins: what it launches follows the stream then; or "
		    "record %s inside of the capture; or pass CU_EVENT_WAIT_EXTERNAL for a node "
		    "that waits at each launch",
		    event);
		HAS("%s is no part of the capture", event);
		LACK("a record of %s inside of the capture before #%" PRIu64, event, c->seq);
		return;
	}
	FIX("fork %s first: record an event on %s after #%" PRIu64
	    " and make %s wait for it before its first work",
	    p->stream, origin, k->begin_seq, p->stream);
	if (k->pool_wait)
		HAS("%s last waited at #%" PRIu64 ", for what another stream held at #%" PRIu64
		    ": outside of the capture",
		    k->pool_stream, k->pool_wait, k->pool_record);
	else
		HAS("%s never waited for an event of the capture", p->stream);
	LACK("%s (captures since #%" PRIu64 ") before %s's work up to #%" PRIu64, origin,
	     k->begin_seq, p->stream, p->seq);
}

static void unjoined(const struct krt_facts *f, const struct krt_capture_facts *k, const char *cap,
		     struct krt_words *w)
{
	const struct krt_side *c = &f->cur, *p = &f->prev;

	MSG("%s #%" PRIu64 " cannot end %s: ", c->api, c->seq, cap);
	if (!p->seq || p->seq == k->begin_seq) {
		MSG("a stream that was pulled into it was not joined");
		FIX("record an event on each forked stream after its last work, and make the stream "
		    "that began the capture wait for it");
		return;
	}
	MSG("%s, pulled into it by %s #%" PRIu64, p->stream, p->api, p->seq);
	if (f->event)
		MSG(" for %s", f->event);
	if (k->last)
		MSG(", holds %s #%" PRIu64 ", which nothing joined", k->last, k->last_seq);
	else
		MSG(", was not joined");
	if (k->more)
		MSG("; neither %s %u further stream%s", k->more > 1 ? "were" : "was", k->more,
		    k->more > 1 ? "s" : "");
	FIX("record an event on %s after #%" PRIu64 " and make %s wait for it before #%" PRIu64,
	    p->stream, k->last ? k->last_seq : p->seq, c->stream, c->seq);
	HAS("%s follows %s from #%" PRIu64 " on", p->stream, c->stream, p->seq);
	LACK("%s #%" PRIu64 " (%s) before %s #%" PRIu64, k->last ? k->last : p->api,
	     k->last ? k->last_seq : p->seq, p->stream, c->api, c->seq);
}

static void merged(const struct krt_facts *f, const struct krt_capture_facts *k, const char *cap,
		   struct krt_words *w)
{
	const struct krt_side *c = &f->cur, *p = &f->prev;

	MSG("%s #%" PRIu64 " on %s would join two captures: %s, and the one that began", c->api,
	    c->seq, c->stream, cap);
	if (k->other_stream)
		MSG(" on %s at #%" PRIu64, k->other_stream, k->other_seq);
	MSG(", in which %s", f->event ? f->event : "the event");
	if (p->seq)
		MSG(" was recorded by %s #%" PRIu64 " on %s", p->api, p->seq, p->stream);
	FIX("capture both parts into one graph: begin one capture, and fork the other stream from it "
	    "with an event; or keep the two graphs apart and order their launches");
	HAS("none: two captures become two graphs");
	LACK("none within one graph");
}

static void forbidden(const struct krt_facts *f, const struct krt_capture_facts *k, const char *cap,
		      struct krt_words *w)
{
	const struct krt_side *c = &f->cur;

	MSG("%s #%" PRIu64 "%s is not allowed during a capture and broke %s", c->api, c->seq,
	    k->other_thread && k->begin ? ", by another thread," : "", cap);
	if (k->mode && k->begin)
		MSG(" in %s mode", k->mode);
	if (k->other_thread && k->begin)
		FIX("begin the capture with CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, or keep other "
		    "threads from such calls while it lasts; a call that is known to be harmless "
		    "may be made under CU_STREAM_CAPTURE_MODE_RELAXED "
		    "(cuThreadExchangeStreamCaptureMode)");
	else
		FIX("move #%" PRIu64 " before the capture begins or behind its end; a call that is "
		    "known to be harmless may be made under CU_STREAM_CAPTURE_MODE_RELAXED "
		    "(cuThreadExchangeStreamCaptureMode)",
		    c->seq);
	HAS("the captured work has not run: there is nothing to wait for");
	LACK("the end of the capture before #%" PRIu64, c->seq);
}

static void captured_event(const struct krt_facts *f, const struct krt_capture_facts *k,
			   const char *cap, struct krt_words *w)
{
	const struct krt_side *c = &f->cur, *p = &f->prev;
	const char *event = f->event ? f->event : "an event";

	MSG("%s #%" PRIu64 " asks for %s, ", c->api, c->seq, event);
	if (p->seq && p->seq != k->begin_seq)
		MSG("whose last record, %s #%" PRIu64 " on %s, ", p->api, p->seq, p->stream);
	else
		MSG("whose last record ");
	if (k->ended)
		MSG("was part of a capture that has ended: it never happens outside of the graph");
	else
		MSG("is part of %s: it has not happened", cap);
	FIX("%s",
	    k->ended ? "record the event again outside of the capture, or use another event there; "
		       "CU_EVENT_RECORD_EXTERNAL makes a node that records it at each launch"
		     : "ask after the graph's launch: record an event behind the launch, or capture "
		       "the record with CU_EVENT_RECORD_EXTERNAL");
	HAS("the record only made edges of the graph");
	LACK("a record of %s outside of the capture", event);
}

void krt_words_capture(const struct krt_facts *f, struct krt_words *w)
{
	const struct krt_capture_facts *k = f->capture;
	const struct krt_side *c = &f->cur, *p = &f->prev;
	char cap[320];

	if (!k)
		return;
	the_capture(k, cap, sizeof(cap));
	switch (k->why) {
	case KRT_CAPTURE_FOREIGN:
		foreign(f, k, cap, w);
		break;
	case KRT_CAPTURE_UNJOINED:
		unjoined(f, k, cap, w);
		break;
	case KRT_CAPTURE_MERGED:
		merged(f, k, cap, w);
		break;
	case KRT_CAPTURE_OWN_STREAM:
		MSG("%s #%" PRIu64 " is not allowed on %s, which takes part in %s", c->api, c->seq,
		    c->stream, cap);
		FIX("move #%" PRIu64 " before the capture begins or behind its end", c->seq);
		HAS("the captured work has not run: there is nothing to wait for");
		LACK("the end of the capture before #%" PRIu64, c->seq);
		break;
	case KRT_CAPTURE_FORBIDDEN:
		forbidden(f, k, cap, w);
		break;
	case KRT_CAPTURE_LEGACY:
		MSG("%s #%" PRIu64 "%s uses the legacy stream, which orders itself with a blocking "
		    "stream of %s, and broke it",
		    c->api, c->seq, k->other_thread && k->begin ? ", by another thread," : "", cap);
		FIX("create the captured streams with CU_STREAM_NON_BLOCKING, or give #%" PRIu64
		    " a stream of its own (or move it behind the end of the capture)",
		    c->seq);
		HAS("the default-stream rule would make #%" PRIu64 " wait for captured work",
		    c->seq);
		LACK("the end of the capture before #%" PRIu64, c->seq);
		break;
	case KRT_CAPTURE_EVENT:
		captured_event(f, k, cap, w);
		break;
	case KRT_CAPTURE_WRONG_THREAD:
		MSG("%s #%" PRIu64 " ends %s%s%s%s from another thread than the one that began it",
		    c->api, c->seq, cap, k->mode ? " in " : "", k->mode ? k->mode : "",
		    k->mode ? " mode," : "");
		HAS("the capture goes on until its own thread ends it");
		FIX("end the capture in the thread that began it, or begin it with "
		    "CU_STREAM_CAPTURE_MODE_RELAXED");
		break;
	case KRT_CAPTURE_UNMATCHED:
		MSG("%s #%" PRIu64 " is called on %s, but %s", c->api, c->seq, c->stream, cap);
		HAS("the capture goes on until it is ended on its own stream");
		FIX("end the capture on the stream that it began on%s%s",
		    k->begin_stream ? ": " : "", k->begin_stream ? k->begin_stream : "");
		break;
	case KRT_CAPTURE_REFUSED:
		MSG("%s #%" PRIu64 " cannot begin a capture on %s%s", c->api, c->seq, c->stream,
		    k->ended ? ": the legacy stream cannot capture" : "");
		HAS("none: nothing is captured");
		FIX("capture on a stream made by cuStreamCreate, best with CU_STREAM_NON_BLOCKING");
		break;
	case KRT_CAPTURE_LATER:
		MSG("%s #%" PRIu64 " is the first call that finds %s broken: ", c->api, c->seq,
		    cap);
		if (k->last)
			MSG("%s #%" PRIu64 " on %s %s %d before, in it", k->last, k->last_seq,
			    p->stream, k->last_result ? "had failed with" : "had returned",
			    k->last_result);
		else
			MSG("the call that broke it is not among the recorded ones");
		FIX("%s", k->last ? "check the result of that call"
				  : "look at the calls between the beginning of the capture and this "
				    "one, those of other threads too");
		break;
	}
	if (!*w->exists)
		HAS("none: a capture that broke gives no graph");
	if (!*w->missing)
		LACK("none");
}
