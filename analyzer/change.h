/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes to a trace that the engine judges as if the program had made them:
 * what would be found if there were one more order?
 *
 * A change names call sites, so that it acts in every round of a loop, as a line
 * pasted there would.  An order is one event (or one for each stream): it is recorded
 * behind each operation of the first site (the last record counts), and waited for before
 * each operation of the second.  Where calls carry no stack a site is one call, or all calls of the
 * same function on the same stream.
 *
 * Plain data; the engine keeps what it needs of it while it runs.
 */
#ifndef KRT_CHANGE_H
#define KRT_CHANGE_H

#include <stdbool.h>
#include <stdint.h>

enum krt_change_kind {
	KRT_CHANGE_NONE,
	KRT_CHANGE_WAIT,      /* before operations of a stream, which waits */
	KRT_CHANGE_HOST_WAIT, /* before calls: the host waits */
	KRT_CHANGE_END_WAIT,  /* the host waits before the process ends */
	KRT_CHANGE_NODES,     /* edges in graphs, between nodes that the sites made */
};

struct krt_call_site {
	uint64_t seq;	 /* of one call there */
	uint32_t stack;	 /* id, 0: none */
	uint32_t kernel; /* id, 0: none, or any */
	uint16_t api;
	bool any_api;	 /* the stack alone tells */
	bool once;	 /* without a stack: that one call */
	unsigned stream; /* number, without a stack and not once; 0: the host */
};

struct krt_change {
	enum krt_change_kind kind;
	bool each; /* an event for each stream; a wait is for all of them */
	struct krt_call_site after, before;
};

static inline bool krt_call_site_same(const struct krt_call_site *a, const struct krt_call_site *b)
{
	if (a->stack != b->stack || a->kernel != b->kernel || a->any_api != b->any_api ||
	    (!a->any_api && a->api != b->api))
		return false;
	if (a->stack)
		return true;
	return a->once == b->once && (a->once ? a->seq == b->seq : a->stream == b->stream);
}

static inline bool krt_change_same(const struct krt_change *a, const struct krt_change *b)
{
	return a->kind == b->kind && a->each == b->each &&
	       krt_call_site_same(&a->after, &b->after) &&
	       krt_call_site_same(&a->before, &b->before);
}

#endif
