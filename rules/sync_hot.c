/* SPDX-License-Identifier: Apache-2.0 */
/* KRT-PERF-SYNC-HOT: a blocking sync again and again in a loop. */
#include "words.h"

#include <inttypes.h>
#include <stdio.h>

void krt_words_sync_hot(const struct krt_facts *f, struct krt_words *w)
{
	snprintf(w->message, sizeof(w->message),
		 "%s waited for the device %" PRIu64 " times with work in between, in %" PRIu64
		 " rounds of its loop (first at #%" PRIu64 ")",
		 f->cur.api, f->times, f->rounds, f->cur.seq);
	snprintf(w->fix, sizeof(w->fix),
		 "keep a round in flight: wait for the previous round's event, or fetch the "
		 "results of several rounds at once");
	snprintf(w->exists, sizeof(w->exists), "the wait orders the host after the device");
	snprintf(w->missing, sizeof(w->missing), "none");
}
