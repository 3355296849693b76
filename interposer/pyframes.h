/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Python functions that the calling thread is in, for its call stacks.
 */
#ifndef KRT_PYFRAMES_H
#define KRT_PYFRAMES_H

#include "internal.h"

#pragma GCC visibility push(hidden)

#define KRT_PYFRAMES_MAX 64

/* Compared as bytes: equal stacks have equal frames. */
struct krt_pyframe {
	uint32_t code; /* id of a krt_rec_code; 0: none, the interpreter was about to begin or end a
			  function */
	uint32_t where; /* offset of the instruction, and the flag below */
};
#define KRT_PYFRAME_ENTRY                                                                          \
	0x80000000u /* the outermost of those that one call of the interpreter runs */

/*
 * Fills frame[0..max), innermost first; returns how many.  Takes no GIL and
 * calls nothing of Python's that allocates, locks or runs code.  pc[0..n) are
 * the native frames, as krt_unwind() gave them when asked for room.  quiet: the
 * loader is not asked.
 */
unsigned krt_pyframes(struct krt_pyframe *frame, unsigned max, const uint64_t *pc, unsigned n,
		      unsigned room, bool quiet);

/* Is the calling thread one whose whole native stack krt_pyframes() wants to see? */
bool krt_pyframes_whole(void);

/* For a record: which of the native frames run which of these.  Returns how many were filled in. */
unsigned krt_pyframes_place(const struct krt_pyframe *frame, unsigned n, const uint64_t *pc,
			    unsigned depth, struct krt_rec_pyframe *out);

/* At attach: nothing is written yet. */
bool krt_pyframes_open(void);

#pragma GCC visibility pop
#endif
