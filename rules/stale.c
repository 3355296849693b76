/* SPDX-License-Identifier: Apache-2.0 */
/* KRT-GRAPH-STALE-ADDR, KRT-GRAPH-STALE-HOST: a graph names memory that has ended. */
#include "words.h"

#include <inttypes.h>
#include <stdio.h>

void krt_words_stale(const struct krt_facts *f, struct krt_words *w)
{
	const struct krt_side *c = &f->cur;
	const char *memory = f->buffer ? f->buffer : "memory", *node = f->node ? f->node : "a node";
	const char *owner = f->new_owner ? f->new_owner : "other memory";
	const char *how = c->word	      ? "holds a word that led into"
			  : c->scan	      ? "is given a pointer into"
			  : c->what[0] == 'r' ? c->some ? "may read" : "reads"
			  : c->what[0] == 'w' ? c->some ? "may write" : "writes"
					      : "uses";
	char end[160], then[320], launch[200];

	if (f->freed_by)
		snprintf(end, sizeof(end), "%s #%" PRIu64, f->freed_by, f->freed_seq);
	else
		snprintf(end, sizeof(end), "a call that was not seen");
	switch (f->ended) {
	case KRT_STALE_FREED:
		snprintf(then, sizeof(then), "%s has %s it since", end,
			 f->block ? "returned" : "ended");
		break;
	case KRT_STALE_RECYCLED:
		snprintf(then, sizeof(then), "%s has %s it since, and its address is that of %s now",
			 end, f->block ? "returned" : "ended", owner);
		break;
	case KRT_STALE_REMAPPED:
		snprintf(then, sizeof(then),
			 "%s has unmapped it since, and other memory is mapped there now: %s", end,
			 owner);
		break;
	case KRT_STALE_TEMPORARY:
		snprintf(then, sizeof(then),
			 "it was a temporary of the capture that %s returned; its bytes belong to %s, which "
			 "outlives the capture and is overwritten by every launch",
			 end, owner);
		break;
	case KRT_STALE_FRAME:
		snprintf(then, sizeof(then), "it was on the stack of a function that has returned since");
		break;
	}
	if (f->note)
		snprintf(launch, sizeof(launch), "the executable of %s #%" PRIu64, c->api, c->seq);
	else
		snprintf(launch, sizeof(launch), "%s #%" PRIu64 " on %s", c->api, c->seq,
			 c->stream);
	snprintf(w->message, sizeof(w->message), "%s: %s %s %s; %s", launch, node, how, memory, then);
	switch (f->ended) {
	case KRT_STALE_TEMPORARY:
		snprintf(w->fix, sizeof(w->fix),
			 "allocate what outlives the capture before it or outside of it");
		snprintf(w->exists, sizeof(w->exists),
			 "none can help: both have the same bytes of the graph's pool");
		break;
	case KRT_STALE_FRAME:
		snprintf(w->fix, sizeof(w->fix),
			 "keep what the node reads or writes where it lives as long as the executable: "
			 "not on a stack");
		break;
	default:
		snprintf(w->fix, sizeof(w->fix),
			 "keep the memory as long as executables name it, copy fresh data into it before "
			 "the launch, or give the node its new address (%s)",
			 c->scan ? "cuGraphExecKernelNodeSetParams, cuGraphExecUpdate"
				 : "cuGraphExec*NodeSetParams, cuGraphExecUpdate");
		break;
	}
	if (!*w->exists)
		snprintf(w->exists, sizeof(w->exists),
			 "none can help: the address was fixed when the node was made");
	snprintf(w->missing, sizeof(w->missing), "%s #%" PRIu64 " before the end of the memory (%s)",
		 c->api, c->seq, f->ended == KRT_STALE_FRAME ? "the return" : end);
}
