/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Python frames of a stack, from the code objects that the trace has.
 */
#ifndef KRT_PYFRAME_H
#define KRT_PYFRAME_H

#include "../rules/finding.h"
#include "objects.h"

/*
 * The line of the instruction at offset, by a line table of this kind (enum
 * krt_code_lines) of a code object that begins at line first.  Of one that has
 * no line of its own, the line before it; 0: not known.
 */
unsigned krt_pyframe_line(unsigned kind, const uint8_t *table, size_t len, unsigned first,
			  uint32_t offset);

/* A Python frame, named from its code object; the texts go to the arena.  False: no memory. */
bool krt_pyframe_fill(const struct krt_objects *o, const struct krt_rec_pyframe *r,
		      struct krt_frame *f, struct krt_arena *a);

#endif
