/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the examples of `krtsan explain` are built on.  Each example is a program,
 * testcases/explain/RULE.c; what lies between its `example` and `end` comments is
 * what `krtsan explain RULE` prints, once without FIXED (bad) and once with it
 * (good).  Short names, so that an excerpt can be read by itself.
 */
#ifndef EXPLAIN_H
#define EXPLAIN_H

#include "blocks.h"
#include "prog.h"

enum { n = 1024 };		 /* elements */
static const size_t bytes = 4 * n;

/* Kernels by what they do. */
#define fill(stream, x)	       FILL(stream, x, 1, n, 0)
#define add(stream, to, from)  ADD(stream, to, from, n, 0)
#define copy(stream, to, from) COPY(stream, to, from, n, 0)

static inline CUdeviceptr device(const char *name)
{
	CUdeviceptr p = device_u32(name, n);

	set_now(p, 0, n);
	return p;
}

#endif
