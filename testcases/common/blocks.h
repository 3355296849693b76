/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A suballocator for test programs: first fit over one segment, in host program
 * order, which is all the order that it makes.  Blocks are split and merged.  It
 * tells krtsan of its blocks; who waits for whom is the program's business.
 */
#ifndef BLOCKS_H
#define BLOCKS_H

#include "prog.h"

#define BLOCKS_MAX 64

struct blocks {
	CUdeviceptr base; /* of pinned memory: its host address */
	unsigned kind;
	unsigned n;
	struct {
		size_t at, len;
		bool used;
	} piece[BLOCKS_MAX];
};

/* Over memory that the caller owns. */
static inline void blocks_over(struct blocks *b, const char *name, unsigned kind, CUdeviceptr base,
			       size_t size)
{
	memset(b, 0, sizeof(*b));
	b->base = base;
	b->kind = kind;
	b->n = 1;
	b->piece[0].len = size;
	krtsan_pool_create(b, kind, name);
}

static inline void blocks_open(struct blocks *b, const char *name, size_t size)
{
	CUdeviceptr p;

	CU(cuMemAlloc(&p, size));
	blocks_over(b, name, KRTSAN_POOL_DEVICE, p, size);
}

static inline void blocks_open_host(struct blocks *b, const char *name, size_t size)
{
	void *p;

	CU(cuMemHostAlloc(&p, size, CU_MEMHOSTALLOC_PORTABLE));
	blocks_over(b, name, KRTSAN_POOL_HOST, (CUdeviceptr)(uintptr_t)p, size);
}

static inline CUdeviceptr blocks_alloc(struct blocks *b, size_t bytes, CUstream stream)
{
	for (unsigned i = 0; i < b->n; i++) {
		CUdeviceptr p = b->base + b->piece[i].at;

		if (b->piece[i].used || b->piece[i].len < bytes)
			continue;
		if (b->piece[i].len > bytes) {
			MUST(b->n < BLOCKS_MAX);
			memmove(&b->piece[i + 1], &b->piece[i], (b->n - i) * sizeof(b->piece[0]));
			b->n++;
			b->piece[i + 1].at += bytes;
			b->piece[i + 1].len -= bytes;
			b->piece[i].len = bytes;
		}
		b->piece[i].used = true;
		krtsan_block_alloc(b, (void *)(uintptr_t)p, bytes, stream);
		return p;
	}
	MUST(!"the pool is full");
	return 0;
}

static inline void blocks_join(struct blocks *b, unsigned i)
{
	if (i + 1 >= b->n || b->piece[i].used || b->piece[i + 1].used)
		return;
	b->piece[i].len += b->piece[i + 1].len;
	b->n--;
	memmove(&b->piece[i + 1], &b->piece[i + 2], (b->n - i - 1) * sizeof(b->piece[0]));
}

static inline void blocks_free(struct blocks *b, CUdeviceptr p)
{
	for (unsigned i = 0; i < b->n; i++) {
		if (b->base + b->piece[i].at != p)
			continue;
		MUST(b->piece[i].used);
		krtsan_block_free((void *)(uintptr_t)p);
		b->piece[i].used = false;
		blocks_join(b, i);
		if (i)
			blocks_join(b, i - 1);
		return;
	}
	MUST(!"no such block");
}

/* The pool alone; its memory stays. */
static inline void blocks_leave(struct blocks *b)
{
	krtsan_pool_destroy(b);
}

static inline void blocks_close(struct blocks *b)
{
	blocks_leave(b);
	if (b->kind == KRTSAN_POOL_HOST)
		CU(cuMemFreeHost((void *)(uintptr_t)b->base));
	else
		CU(cuMemFree(b->base));
}

static inline uint32_t *blocks_host(CUdeviceptr p)
{
	return (uint32_t *)(uintptr_t)p;
}

#endif
