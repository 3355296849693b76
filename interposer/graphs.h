/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Captures and graphs: what is asked of the driver around a call and written to
 * its record (graphs.c).
 */
#ifndef KRT_GRAPHS_H
#define KRT_GRAPHS_H

#include "call.h"

#pragma GCC visibility push(hidden)

/* What an operation has to do with graphs. */
enum krt_graph_part {
	KRT_GRAPH_NONE = 0,
	KRT_GRAPH_MAKES_NODE, /* on a stream that captures */
	KRT_GRAPH_ABOUT,      /* begins or ends a capture, makes, changes or launches a graph */
};
enum krt_graph_part krt_graph_part(unsigned op);

bool krt_graphs_open(void);

extern _Atomic uint32_t krt_captures; /* in progress, as far as was seen: never too few */
static inline bool krt_captures_now(void)
{
	return atomic_load_explicit(&krt_captures, memory_order_relaxed) != 0;
}

/* Is sp on the stack that the calling thread was made with?  Then its bounds are in t. */
bool krt_on_own_stack(struct krt_thread *t, uint64_t sp);
/* Bounds of the mapping around addr, and whether it may be written: cold, it reads a file. */
bool krt_mapping_of(uint64_t addr, uint64_t *low, uint64_t *high, bool *writable);

#define KRT_NO_STREAM (UINT64_MAX - 1)
/* Before the driver is called. */
void krt_graphs_before(struct krt_call *call, enum krt_graph_part part, uint64_t stream);
/* After it answered with result, before the record is published; the same for a note with a stream. */
void krt_graphs_after(struct krt_call *call, enum krt_graph_part part, uint64_t stream, int result);

#pragma GCC visibility pop
#endif
