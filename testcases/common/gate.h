/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A gate holds a stream until the host opens it: for programs in which "still
 * pending" must be a fact, not a matter of speed.  The kernel polls a word of
 * mapped host memory.  Nothing that waits for the device may run while a gate
 * is closed.
 */
#ifndef GATE_H
#define GATE_H

#include "prog.h"

struct gate {
	volatile uint32_t *flag;
	CUdeviceptr device;
};

static inline struct gate gate_new(void)
{
	struct gate g;
	void *p;

	CU(cuMemHostAlloc(&p, 4, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP));
	g.flag = p;
	*g.flag = 0;
	CU(cuMemHostGetDevicePointer(&g.device, p, 0));
	return g;
}

static inline void gate_close(struct gate *g, CUstream stream)
{
	*g->flag = 0;
	READS(stream, g->device, 4);
	AWAIT(stream, g->device, 1);
}

static inline void gate_open(struct gate *g)
{
	__atomic_store_n(g->flag, 1, __ATOMIC_SEQ_CST);
}

/* After a sync. */
static inline void gate_free(struct gate *g)
{
	CU(cuMemFreeHost((void *)g->flag));
}

#endif
