/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a wrapper keeps on its stack while the driver runs.
 */
#ifndef KRT_CALL_H
#define KRT_CALL_H

#include "internal.h"

#pragma GCC visibility push(hidden)

struct krt_thread;

struct krt_call {
	struct krt_thread *thread; /* NULL: not recorded, but looked at (cuInit, a late attach) */
	uint64_t *args;            /* the wrapper's array; a[argc] may be scratch */
	struct krt_rec_call *rec;  /* being built in the thread's scratch */
	size_t size;               /* of rec so far */
	size_t mark;               /* scratch level before this call */
	uint64_t start_ns;
	void *extra;               /* trampoline of a host function */
	uint16_t api;
	int16_t saved_errno;
};

/*
 * Before the driver call: false means pass through (not recording, or called
 * from inside the driver).  Takes the first ticket last.
 */
bool krt_call_begin(struct krt_call *call, unsigned api, uint64_t *args);
/* After it: takes the second ticket, publishes the record, returns result. */
int krt_call_end(struct krt_call *call, int result);

#pragma GCC visibility pop
#endif
