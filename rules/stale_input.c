/* SPDX-License-Identifier: Apache-2.0 */
/* KRT-GRAPH-STALE-INPUT: a replay with an input of before. */
#include "words.h"

#include <inttypes.h>
#include <stdio.h>

void krt_words_stale_input(const struct krt_facts *f, struct krt_words *w)
{
	const struct krt_side *c = &f->cur, *p = &f->prev;
	const struct krt_input_facts *k = f->input;
	char bytes[320];

	if (!k)
		return;
	krt_words_bytes(f, bytes, sizeof(bytes));
	if (k->fresh) {
		snprintf(w->message, sizeof(w->message),
			 "%s #%" PRIu64 " on %s reads %s, which was not written since the launch "
			 "before; data of the same size went to %s (%s #%" PRIu64
			 "), which nobody read: so at %" PRIu64 " of %" PRIu64 " launches",
			 c->api, c->seq, c->stream, bytes, k->fresh, p->api, p->seq, k->hits,
			 k->launches);
		snprintf(w->fix, sizeof(w->fix),
			 "copy the new data into the buffer that the graph reads before the launch, "
			 "or give the graph the new address (cuGraphExecUpdate, "
			 "cuGraphExecKernelNodeSetParams)");
		snprintf(w->exists, sizeof(w->exists),
			 "the graph reads the address that it was captured with");
		snprintf(w->missing, sizeof(w->missing),
			 "a copy from %s to that buffer before #%" PRIu64, k->fresh, c->seq);
		return;
	}
	snprintf(w->message, sizeof(w->message),
		 "%s #%" PRIu64 " on %s, replay %" PRIu64 ", reads %s as it was: written before "
		 "each of the %" PRIu64 " replays before it (last by %s #%" PRIu64
		 "), not before this one%s%s%s",
		 c->api, c->seq, c->stream, k->replay, bytes, k->earlier, p->api, p->seq,
		 k->other ? ", although " : "", k->other ? k->other : "",
		 k->other ? " was" : "");
	snprintf(w->fix, sizeof(w->fix),
		 "write every input before each launch: where there is none this time, write a value "
		 "that stands for it");
	snprintf(w->exists, sizeof(w->exists), "order is not at fault: the value is of before");
	snprintf(w->missing, sizeof(w->missing), "a write before #%" PRIu64, c->seq);
}
