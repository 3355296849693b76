/* SPDX-License-Identifier: Apache-2.0 */
/* KRT-PERF-CAPTURE-STORM: graphs made again and again for a launch or a few each. */
#include "words.h"

#include <inttypes.h>
#include <stdio.h>

void krt_words_storm(const struct krt_facts *f, struct krt_words *w)
{
	const struct krt_storm_facts *k = f->storm;
	const char *how = "", *fix = "";
	uint64_t tenths = f->times ? f->rounds * 10 / f->times : 0;

	if (!k)
		return;
	switch (k->kind) {
	case KRT_STORM_SAME:
		how = "each graph is the same as the one before";
		fix = k->update ? "leave the capture and the update away while nothing changes: launch "
				  "the executable again"
				: "keep the executable and launch it again";
		break;
	case KRT_STORM_VALUES:
		how = "the graphs differ in parameter values only, first at ";
		fix = "keep the executable: set the values with cuGraphExecKernelNodeSetParams or "
		      "cuGraphExecUpdate, or let the kernels read them from a buffer";
		break;
	case KRT_STORM_ADDRESSES:
		how = "the graphs have the same shape and other addresses, first at ";
		fix = "keep the executable and copy the inputs into static buffers, or update it with "
		      "cuGraphExecUpdate";
		break;
	case KRT_STORM_FEW_SHAPES:
		how = "few different shapes come again and again; the last difference is ";
		fix = "keep one executable for each shape";
		break;
	case KRT_STORM_SHAPES:
		how = "the shape changes, last at ";
		fix = "round sizes up to a few buckets (pad the rest) and keep one executable for each";
		break;
	case KRT_STORM_UNKNOWN:
		fix = "keep the executable where the graph stays the same";
		break;
	}
	snprintf(w->message, sizeof(w->message),
		 "%s %s %" PRIu64 " graphs (first at #%" PRIu64 "), launched %" PRIu64
		 " times in all: %" PRIu64 ".%" PRIu64 " launches a graph%s%s%s",
		 f->cur.api, k->update ? "was given" : "made", f->times, f->cur.seq, f->rounds, tenths / 10, tenths % 10,
		 *how ? "; " : "", how,
		 *how && k->kind != KRT_STORM_SAME && k->differs ? k->differs : "");
	if (k->kind == KRT_STORM_FEW_SHAPES)
		snprintf(w->fix, sizeof(w->fix), "%s (%u were seen)", fix, k->shapes);
	else
		snprintf(w->fix, sizeof(w->fix), "%s", fix);
	snprintf(w->exists, sizeof(w->exists),
		 "making a graph costs many times what one launch of it saves");
	snprintf(w->missing, sizeof(w->missing), "none");
}
