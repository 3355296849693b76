/* SPDX-License-Identifier: Apache-2.0 */
/* Further contexts in test programs. */
#ifndef CONTEXTS_H
#define CONTEXTS_H

#include "prog.h"

/* A context of its own on device 0, current on return. */
static inline CUcontext context_new(void)
{
	CUcontext c;

	CU(cuCtxCreate(&c, NULL, 0, prog_device));
	return c;
}

/* Waits for its work, destroys it and makes the program's own current. */
static inline void context_end(CUcontext c)
{
	CU(cuCtxSetCurrent(c));
	CU(cuCtxSynchronize());
	CU(cuCtxDestroy(c));
	CU(cuCtxSetCurrent(prog_context));
}

#endif
