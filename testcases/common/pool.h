/* SPDX-License-Identifier: Apache-2.0 */
/* Stream-ordered memory in test programs. */
#ifndef POOL_H
#define POOL_H

#include "prog.h"

/*
 * The default pool keeps freed memory mapped, so that a use after free reads a
 * wrong value instead of ending the process.
 */
static inline void pool_keeps_memory(void)
{
	CUmemoryPool pool;
	cuuint64_t keep = UINT64_MAX;

	CU(cuDeviceGetDefaultMemPool(&pool, prog_device));
	CU(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
}

#endif
