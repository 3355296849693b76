/* SPDX-License-Identifier: Apache-2.0 */
/* KRT-PERF-*: what is done again and again in a loop. */
#include "words.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void __attribute__((format(printf, 3, 4))) add(char *buf, size_t len, const char *fmt, ...)
{
	size_t at = strlen(buf);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(buf + at, len - at, fmt, ap);
	va_end(ap);
}

#define MESSAGE w->message, sizeof(w->message)

static void spent(struct krt_words *w, const char *where, uint64_t ns)
{
	char text[KRT_TIME];

	if (ns == KRT_UNKNOWN)
		return;
	krt_words_time(ns, text);
	add(MESSAGE, "; %s in %s", text, where);
}

static void sizes(struct krt_words *w, const struct krt_hot_facts *h)
{
	char least[KRT_AMOUNT], most[KRT_AMOUNT];

	krt_words_amount(h->bytes_min, least);
	if (h->bytes_min == h->bytes_max)
		add(MESSAGE, "%s each time", least);
	else
		add(MESSAGE, "%s to %s", least, krt_words_amount(h->bytes_max, most));
}

static void sync_hot(const struct krt_facts *f, const struct krt_hot_facts *h, struct krt_words *w)
{
	char amount[KRT_AMOUNT];

	snprintf(MESSAGE,
		 "%s waited for %s %" PRIu64 " times with work in between, in %" PRIu64
		 " rounds of its loop (first at #%" PRIu64 ")",
		 f->cur.api, h->target ? h->target : "the device", f->times, f->rounds, f->cur.seq);
	if (h->fetched && !strcmp(h->fetched_api, f->cur.api)) {
		add(MESSAGE, ", each time to fetch %s", krt_words_amount(h->fetched, amount));
		if (h->kernel)
			add(MESSAGE, " behind kernel %s", h->kernel);
	} else if (h->fetched) {
		add(MESSAGE, ", each time right after %s (#%" PRIu64 ") fetched %s",
		    h->fetched_api, h->fetched_seq, krt_words_amount(h->fetched, amount));
		if (h->kernel)
			add(MESSAGE, " behind kernel %s", h->kernel);
		add(MESSAGE, ": the program waits for their value");
	}
	spent(w, "the wait", h->cost.blocked_ns);
	if (h->dry_ns != KRT_UNKNOWN && h->dry_ns) {
		char text[KRT_TIME];

		krt_words_time(h->dry_ns, text);
		add(MESSAGE, "; the device ran dry for %s after it", text);
	}
	if (h->fetched)
		snprintf(w->fix, sizeof(w->fix),
			 "decide on the device, or fetch the value one round late: copy into one "
			 "of two pinned slots, record an event, and wait for the event of the "
			 "round before");
	else
		snprintf(w->fix, sizeof(w->fix),
			 "keep a round in flight: wait for the previous round's event, or fetch "
			 "the results of several rounds at once");
	snprintf(w->exists, sizeof(w->exists), "the wait orders the host after the device");
}

/* The driver's pools hold plain device memory. */
static const char *instead_of(const char *api)
{
	if (!strcmp(api, "cuMemHostRegister"))
		return "register the memory once before the loop, or copy through a pinned buffer "
		       "that is kept";
	if (strstr(api, "Host"))
		return "allocate once before the loop, or keep a few pinned buffers and use each "
		       "again when the event recorded after its last use has completed";
	if (!strcmp(api, "cuMemAlloc") || !strcmp(api, "cuMemAllocPitch"))
		return "allocate once before the loop, or take the memory from a pool "
		       "(cuMemAllocAsync), whose frees do not wait for the device";
	return "allocate once before the loop and use it again";
}

static void alloc_hot(const struct krt_facts *f, const struct krt_hot_facts *h, struct krt_words *w)
{
	snprintf(MESSAGE,
		 "%s allocated %" PRIu64 " times what was freed again in the loop by %s, in %" PRIu64
		 " rounds: ",
		 f->cur.api, f->times, f->prev.api, f->rounds);
	sizes(w, h);
	spent(w, f->prev.api, h->gone_ns);
	if (h->cost.blocked_ns != KRT_UNKNOWN)
		spent(w, f->cur.api, h->cost.blocked_ns - h->gone_ns);
	snprintf(w->fix, sizeof(w->fix), "%s", instead_of(f->cur.api));
	snprintf(w->exists, sizeof(w->exists), "the free waits for the device");
}

static void pageable(const struct krt_facts *f, const struct krt_hot_facts *h, struct krt_words *w)
{
	snprintf(MESSAGE,
		 "%s was given pageable host memory %" PRIu64 " times in %" PRIu64
		 " rounds of its loop (first at #%" PRIu64 "), ",
		 f->cur.api, f->times, f->rounds, f->cur.seq);
	sizes(w, h);
	add(MESSAGE, ": it waits for its stream before it returns");
	spent(w, "the calls", h->cost.blocked_ns);
	snprintf(w->fix, sizeof(w->fix),
		 "use pinned memory (cuMemHostAlloc, or cuMemHostRegister once); the copy then "
		 "really runs on its own: wait before the CPU reads, overwrites or frees the "
		 "memory, which the call did for you until now");
	snprintf(w->exists, sizeof(w->exists),
		 "the call waits, by observation; the documentation does not promise it");
}

static void churn(const struct krt_facts *f, const struct krt_hot_facts *h, struct krt_words *w)
{
	snprintf(MESSAGE,
		 "%s made %" PRIu64 " times anew what %s had destroyed, in %" PRIu64
		 " rounds of its loop (first at #%" PRIu64 ")",
		 f->cur.api, f->times, f->prev.api, f->rounds, f->cur.seq);
	spent(w, "both calls", h->cost.blocked_ns);
	snprintf(w->fix, sizeof(w->fix),
		 "make it once before the loop and use it again%s",
		 strstr(f->cur.api, "Event")
			 ? ": an event can be recorded again as soon as its waits are enqueued"
			 : "");
}

static void redundant(const struct krt_facts *f, const struct krt_hot_facts *h, struct krt_words *w)
{
	snprintf(MESSAGE,
		 "none of the %" PRIu64 " calls of %s here (first at #%" PRIu64
		 ") added an order: all that %s covers came before without it",
		 f->times, f->cur.api, f->cur.seq, h->target ? h->target : "it");
	spent(w, "the calls", h->cost.blocked_ns);
	snprintf(w->fix, sizeof(w->fix),
		 "leave it out as long as what comes before orders the same (where another note "
		 "tells to remove that one, keep this), unless something that krtsan does not "
		 "see relies on it");
	snprintf(w->exists, sizeof(w->exists), "all of it, before the call");
}

static void launch_bound(const struct krt_facts *f, const struct krt_hot_facts *h,
			 struct krt_words *w)
{
	uint64_t each = f->times / f->rounds, submit = h->cost.submit_ns / f->rounds;
	char t[3][KRT_TIME];

	krt_words_time(submit, t[0]);
	krt_words_time(h->cost.service_ns / f->rounds, t[1]);
	krt_words_time(submit - submit / each, t[2]);
	snprintf(MESSAGE,
		 "launch-bound: %s of submission against %s of device service a round, %" PRIu64
		 " launches each, in %" PRIu64 " rounds that end with %s (first launch #%" PRIu64 ")",
		 t[0], t[1], each, f->rounds, h->target, f->cur.seq);
	snprintf(w->fix, sizeof(w->fix),
		 "one graph launch instead of %" PRIu64 " launches saves up to %s of the "
		 "submission of a round; or make fewer and larger kernels",
		 each, t[2]);
}

void krt_words_hot(const struct krt_facts *f, struct krt_words *w)
{
	switch (f->rule) {
	case KRT_RULE_PERF_SYNC_HOT:
		sync_hot(f, f->hot, w);
		break;
	case KRT_RULE_PERF_ALLOC_HOT:
		alloc_hot(f, f->hot, w);
		break;
	case KRT_RULE_PERF_PAGEABLE_ASYNC:
		pageable(f, f->hot, w);
		break;
	case KRT_RULE_PERF_CHURN:
		churn(f, f->hot, w);
		break;
	case KRT_RULE_PERF_LAUNCH_BOUND:
		launch_bound(f, f->hot, w);
		break;
	case KRT_RULE_PERF_REDUNDANT_SYNC:
		redundant(f, f->hot, w);
		break;
	default:
		break;
	}
	snprintf(w->missing, sizeof(w->missing), "none");
}
