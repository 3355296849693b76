/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of a process: allocations by address, each one life of one range, and
 * what has been freed (bounded), so that a dead address is told from a number.
 *
 * An allocation leads to a space that holds its access history; mappings of one
 * physical allocation, and the two addresses of mapped pinned memory, share a
 * space.  Two spaces have no allocation: pageable memory (any host address that
 * CUDA does not know) and unknown device memory (an address in a device role
 * that belongs to nothing).  Arrays are found by handle and have byte offsets
 * of their own.
 *
 * A block is a piece of an allocation that a suballocator handed out; it bounds
 * how far a pointer into it can reach.
 *
 * Not locked; memory comes from the engine's heap.
 */
#ifndef KRT_MEMORY_H
#define KRT_MEMORY_H

#include "access.h"
#include "objects.h"

#define KRT_MEM_KINDS(X)                                                                           \
	X(DEVICE, "device")                                                                        \
	X(MANAGED, "managed")                                                                      \
	X(PINNED, "pinned")                                                                        \
	X(REGISTERED, "registered")                                                                \
	X(PAGEABLE, "pageable")                                                                    \
	X(POOL, "pool")	    /* stream-ordered */                                                   \
	X(MAPPED, "mapped") /* cuMemMap */                                                         \
	X(ARRAY, "array")                                                                          \
	X(GLOBAL, "global")	/* of a module */                                                  \
	X(IMPORTED, "imported") /* from another process or API */                                  \
	X(UNKNOWN, "unknown")	/* device memory seen for the first time */

enum krt_mem_kind {
#define X(name, text) KRT_MEM_##name,
	KRT_MEM_KINDS(X)
#undef X
};
const char *krt_mem_kind_name(enum krt_mem_kind k);

/* Who used an allocation or block at all: the newest operation of each domain and sort. */
enum krt_user_sort {
	KRT_USER_WRITE,	  /* a copy or set that wrote */
	KRT_USER_READ,	  /* a copy that read */
	KRT_USER_KERNEL,  /* a kernel whose access is declared */
	KRT_USER_POINTER, /* a kernel with a plain pointer into it */
	KRT_USER_WORD,	  /* a kernel with such a word in a larger parameter */
};
struct krt_user {
	struct krt_op_info *op;
	uint64_t anchor; /* the pointer, or the first byte */
	uint8_t sort;
};
struct krt_users {
	struct krt_user *user;
	uint32_t count, cap;
};

/* Where a buffer came from and where it went: plain data for findings. */
struct krt_origin {
	uint16_t api; /* 0 and seq 0: not seen */
	uint32_t stack;
	uint64_t seq;
};

struct krt_mem {
	struct krt_node node; /* key: base; live or freed tree */
	uint64_t size;
	enum krt_mem_kind kind;
	uint32_t serial;
	struct krt_space *space; /* NULL once freed */
	uint64_t space_off;	 /* of the first byte in the space */
	struct krt_context_info *ctx;
	uint64_t handle; /* array, physical allocation, pool (0: not told) */
	uint64_t may;	 /* a mapping: devices (bits) that it was opened to */
	struct krt_origin made, freed;
	struct krt_stamp alloc_stamp;		/* stream-ordered: the allocation in its stream */
	struct krt_op_info *alloc_op, *free_op; /* NULL: none */
	bool alias; /* a second address (device pointer of pinned memory) */
	bool imported;
	bool sync_memops;
	bool free_external; /* freed on a stream whose order is not fully seen */
	struct krt_users users;
	/* arrays */
	uint64_t row, height;	       /* bytes of a row, rows of a layer */
	uint64_t parent;	       /* handle of the array this one is a part of, 0: none */
	uint64_t part;		       /* level or plane */
	struct krt_mem *older, *newer; /* freed list */
	UT_hash_handle hh;	       /* arrays by handle */
};

struct krt_block {
	struct krt_node node; /* key: first byte */
	uint64_t size;
	uint64_t pool;
	struct krt_origin made;
	struct krt_users users;
};

/* A piece of physical memory (cuMemCreate). */
struct krt_phys {
	uint64_t handle;
	struct krt_space *space;
	struct krt_origin made;
	bool released;
	unsigned maps;
	UT_hash_handle hh;
};

struct krt_name {
	struct krt_node node;
	uint64_t size;
	char *text;
};

#define KRT_FREED_MAX 4096
#define KRT_NAMES_MAX 65536

struct krt_memory {
	struct krt_heap *heap;
	struct krt_tree live, freed, blocks, names;
	struct krt_mem *freed_oldest, *freed_newest;
	struct krt_mem *arrays;
	struct krt_phys *phys;
	struct krt_mem pageable, unknown;
	struct krt_space pageable_space, unknown_space;
	uint32_t serial;
};

void krt_memory_init(struct krt_memory *m, struct krt_heap *heap);
void krt_memory_free(struct krt_memory *m);

/* The live allocation that holds addr, or NULL. */
struct krt_mem *krt_mem_at(const struct krt_memory *m, uint64_t addr);
/* The first live allocation that ends after addr (it may begin after it), or NULL. */
struct krt_mem *krt_mem_from(const struct krt_memory *m, uint64_t addr);
/* The live allocation that begins at addr, or NULL. */
struct krt_mem *krt_mem_base(const struct krt_memory *m, uint64_t addr);
/* The remembered freed allocation that held addr, or NULL; never where one is live. */
struct krt_mem *krt_mem_freed_at(const struct krt_memory *m, uint64_t addr);
/*
 * A new allocation; takes over what is remembered of the range: live overlaps
 * are dropped (the driver would not have given the address), freed ones are cut.
 * space NULL: one of its own.  NULL: no memory.
 */
struct krt_mem *krt_mem_add(struct krt_memory *m, uint64_t base, uint64_t size,
			    enum krt_mem_kind kind, struct krt_space *space, uint64_t space_off,
			    const struct krt_call *c);
/* Out of the live tree into the freed one; its history is forgotten. */
void krt_mem_retire(struct krt_memory *m, struct krt_mem *mem, const struct krt_call *c,
		    struct krt_op_info *op);
/* Gone without a trace. */
void krt_mem_drop(struct krt_memory *m, struct krt_mem *mem);

struct krt_mem *krt_array_get(struct krt_memory *m, uint64_t handle);
struct krt_mem *krt_array_add(struct krt_memory *m, uint64_t handle, const struct krt_call *c);

struct krt_phys *krt_phys_get(struct krt_memory *m, uint64_t handle, bool make,
			      const struct krt_call *c);
void krt_phys_put(struct krt_memory *m, struct krt_phys *p);

struct krt_block *krt_block_at(const struct krt_memory *m, uint64_t addr);
struct krt_block *krt_block_add(struct krt_memory *m, uint64_t base, uint64_t size,
				const struct krt_call *c);
void krt_block_drop(struct krt_memory *m, struct krt_block *b);

void krt_name_set(struct krt_memory *m, uint64_t base, uint64_t size, const char *text, size_t len);
/* Name of the byte, or NULL. */
const char *krt_name_at(const struct krt_memory *m, uint64_t addr);

/* Remembers op as the newest of its domain and sort; forgets what settled() says may go. */
void krt_users_note(struct krt_heap *h, struct krt_users *u, struct krt_op_info *op, unsigned sort,
		    uint64_t anchor);
void krt_users_prune(struct krt_heap *h, struct krt_users *u,
		     bool (*drop)(void *user, struct krt_op_info *op), void *user);
void krt_users_clear(struct krt_heap *h, struct krt_users *u);

#endif
