/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One operation in flight: what flight.c and checksum.c have in common.  Under
 * krt_host_lock.
 */
#ifndef KRT_FLIGHT_H
#define KRT_FLIGHT_H

#include "host.h"
#include "span.h"
#include "../analyzer/order.h"

#pragma GCC visibility push(hidden)

struct stream;

struct krt_flight_range {
	struct krt_flight_range *next;
	struct krt_span at;        /* its bytes, among all that are in flight */
	struct krt_span source;    /* the same, among sources with a sum: the first of its equals alone */
	struct krt_flight_range *equal, *equal_before; /* other uploads of the same bytes, with the same sum */
	uint64_t t0;               /* of the operation */
	const struct stream *stream;
	uint64_t lo, hi;           /* bytes; equal: they were freed */
	uint64_t page_lo, page_hi; /* whole pages of theirs, host=guard */
	uint64_t sum;              /* host=checksum */
	uint8_t use;               /* enum krt_guard_use */
	bool readonly, summed;
	bool gaps;   /* not all of its bytes are used */
	bool listed; /* at is in a tree */
};

struct krt_flight {
	struct krt_flight *next; /* of the same stream, younger; or of `finished` */
	struct krt_flight *next_begun;
	struct krt_flight_range *ranges;
	struct stream *stream;
	struct krt_stamp stamp;
	uint64_t t0;
	bool fresh;  /* its pages were not closed before it was over */
	bool batch;  /* of copies: pageable memory is not staged */
	bool hostfn; /* a host function */
};

#pragma GCC visibility pop
#endif
