/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One call of a function of library.def being recorded: what its wrapper keeps
 * on the stack while the library runs.
 */
#ifndef KRT_LIBRARY_CALL_H
#define KRT_LIBRARY_CALL_H

#include "internal.h"
#include "library.h"

#pragma GCC visibility push(hidden)

struct krt_library_call {
	void *fn; /* the real function */
	uint64_t *args;
	uint16_t id; /* enum krt_lib_fn_id */
	bool outermost;
};

/* Before the real function; false: it is of no interest, or made inside another one. */
bool krt_library_begin(struct krt_library_call *c);
/* After it; returns result. */
int krt_library_end(struct krt_library_call *c, int result);

#pragma GCC visibility pop
#endif
