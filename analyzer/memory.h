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
 * A block is a piece of memory that a suballocator (a pool) handed out: one life
 * of one range, with a serial of its own.  It bounds how far a pointer into it
 * can reach.  A pool may have been built on another pool's block: blocks nest,
 * and an address belongs to the innermost one.  An ended block stays as long as
 * something unfinished was done by its owner (pool.c).
 *
 * Not locked; memory comes from the engine's heap.
 */
#ifndef KRT_MEMORY_H
#define KRT_MEMORY_H

#include "access.h"
#include "objects.h"

struct krt_owner; /* graph.h: a life of memory that some graph node names */

#define KRT_MEM_KINDS(X)                                                                           \
	X(DEVICE, "device")                                                                        \
	X(MANAGED, "managed")                                                                      \
	X(PINNED, "pinned")                                                                        \
	X(REGISTERED, "registered")                                                                \
	X(PAGEABLE, "pageable")                                                                    \
	X(POOL, "pool")	    /* stream-ordered */                                                   \
	X(MAPPED, "mapped") /* cuMemMap */                                                         \
	X(ARRAY, "array")                                                                          \
	X(GLOBAL, "variable")	/* of a module */                                                  \
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
	KRT_USER_PART,	  /* a kernel that touches some of it: the range is known, or the role alone */
	KRT_USER_POINTER, /* a kernel with a plain pointer into it */
	KRT_USER_WORD,	  /* a kernel with such a word in a larger parameter */
};
struct krt_user {
	struct krt_op_info *op;
	uint64_t anchor; /* the pointer, or the first byte */
	uint64_t lowest; /* of all of its domain and sort */
	uint32_t block;	 /* serial of the block that the pointer is in, 0: in none */
	uint8_t sort;
	uint8_t kind, know, sure; /* as of an access */
	bool held; /* the pointer lay inside a larger parameter */
	bool list; /* KRT_USER_WORD: the word lay in a parameter that may be a list of addresses */
};
struct krt_users {
	struct krt_user *user;
	uint32_t count, cap;
	uint32_t prune_at; /* the next look for those that are over is at this count */
	struct krt_users *next, **link; /* of those that a sweep looks at; link NULL: of none */
};

/* What wrote it, or may have: the first and the latest operation that was no copy from it. */
struct krt_input_mark {
	uint64_t seq; /* of the latest; 0: nothing touched it yet */
	uint32_t kernel[2];
	uint16_t api[2];
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
	uint64_t born;	 /* ticket at the end of the call that made it */
	struct krt_stamp alloc_stamp;		/* stream-ordered: the allocation in its stream */
	struct krt_op_info *alloc_op, *free_op; /* NULL: none */
	bool alias; /* a second address (device pointer of pinned memory) */
	bool imported;
	bool variable; /* of a module; handle: of it */
	bool sync_memops;
	bool free_external; /* freed on a stream whose order is not fully seen */
	bool of_graph;	    /* freed: a graph had allocated it, and may again */
	struct krt_owner *owner; /* NULL: no graph names it */
	struct krt_input_mark input;
	struct krt_users users;
	/* arrays */
	uint64_t row, height;	       /* bytes of a row, rows of a layer */
	uint64_t parent;	       /* handle of the array this one is a part of, 0: none */
	uint64_t part;		       /* level or plane */
	struct krt_mem *older, *newer; /* freed list */
	UT_hash_handle hh;	       /* arrays by handle */
};

/* A suballocator. */
struct krt_pool {
	unsigned refs; /* table and blocks */
	uint64_t handle;
	unsigned kind; /* KRT_POOL_*, 0: not told */
	char *name;    /* or NULL */
	UT_hash_handle hh;
};
enum { KRT_POOL_DEVICE = 1, KRT_POOL_HOST = 2 }; /* of krtsan.h */

#define KRT_BLOCK_USES 8
struct krt_block {
	struct krt_node node; /* key: first byte; in the tree of its outer block or of the memory */
	uint64_t size;
	unsigned refs;	 /* tree (or list of ended ones), and who else names it */
	uint32_t serial; /* from one counter with those of allocations; grows with time */
	bool ended, destroyed; /* destroyed: with its pool */
	uint64_t swept;	       /* the last sweep that met an access of its owner */
	bool touched, wrote;   /* by an operation that was not captured; for sure */
	struct krt_block *outer; /* that it lies in, NULL: none; not counted */
	struct krt_tree inner;	 /* those that lie in it */
	struct krt_pool *pool;	 /* counted */
	struct krt_origin made, freed;
	struct krt_origin came_back;  /* when the first byte's last owner gave it back, or none */
	struct krt_op_info *alloc_op; /* what handed it out: for which stream */
	struct krt_op_info *free_op;  /* what took it back, NULL: alive, or not told */
	struct krt_op_info *use[KRT_BLOCK_USES]; /* krtsan_block_use(): one a stream */
	unsigned uses;
	unsigned capture; /* handed out while this capture went on, 0: none */
	struct krt_owner *owner; /* NULL: no graph names it */
	struct krt_input_mark input;
	struct krt_users users;
	UT_hash_handle hh; /* ended ones, by serial */
	bool forgotten; /* returned where the order is not seen: its history does not count */
};

/* Bytes whose last owner gave them back; disjoint pieces. */
struct krt_returned {
	struct krt_node node; /* key: first byte */
	uint64_t end;
	struct krt_block *block; /* counted */
	struct krt_returned *older, *newer;
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

/*
 * Variables of modules that the program was never told an address of lie from here
 * on: no address of CUDA's, and no number that parameters hold.
 */
#define KRT_VARIABLE_BASE 0xfff74b0000000000ull
static inline bool krt_mem_unplaced(const struct krt_mem *m)
{
	return m->variable && m->node.key >= KRT_VARIABLE_BASE;
}

#define KRT_FREED_MAX 4096
#define KRT_ENDED_MAX 65536 /* blocks that ended */
#define KRT_NESTED_MAX 16
#define KRT_NAMES_MAX 65536

/* Where look-ups ended: asked again and again while a call is looked at. */
#define KRT_SEEN 8
struct krt_seen {
	struct {
		uint64_t from, size; /* size 0: none */
		struct krt_mem *mem;
	} at[KRT_SEEN];
	unsigned next;
};

struct krt_memory {
	struct krt_heap *heap;
	struct krt_tree live, freed, blocks, names;
	struct krt_mem *freed_oldest, *freed_newest;
	struct krt_mem *arrays;
	struct krt_phys *phys;
	struct krt_pool *pools;
	struct krt_block *ended;
	struct krt_tree returned;
	struct krt_returned *returned_oldest, *returned_newest;
	struct krt_mem pageable, unknown;
	struct krt_space pageable_space, unknown_space;
	struct krt_seen seen_room, *seen; /* also where nothing else changes */
	/* Those with something in them, and perhaps some without: what a sweep looks at. */
	struct krt_space *busy_spaces;
	struct krt_users *busy_users;
	uint32_t serial;
	/* An allocation or block with an owner ends, in the call in hand; takes the reference. */
	void (*owner_ends)(void *user, struct krt_owner *o);
	/* A space that executables touch, or of whose content something is known, is gone. */
	void (*space_ends)(void *user, struct krt_space *s);
	void *user;
};
#define KRT_SPACE_PAGEABLE 1 /* ids of spaces; 3 is that of graphs' own memory (graph.h) */
#define KRT_SPACE_UNKNOWN  2

/* Where an address is in the allocation's space, and the other way round. */
static inline uint64_t krt_mem_key(const struct krt_mem *m, uint64_t addr)
{
	return m->kind == KRT_MEM_ARRAY ? addr : addr - m->node.key + m->space_off;
}
static inline uint64_t krt_mem_addr(const struct krt_mem *m, uint64_t key)
{
	return m->kind == KRT_MEM_ARRAY ? key : key - m->space_off + m->node.key;
}

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
/* The first that ends behind addr, or NULL. */
struct krt_mem *krt_mem_freed_from(const struct krt_memory *m, uint64_t addr);
/* Alive again, though not as an allocation. */
void krt_mem_freed_forget(struct krt_memory *m, uint64_t from, uint64_t end);
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

/* --- pool.c: the books; who calls ends what was there and keeps the history --- */

struct krt_pool *krt_pool_get(struct krt_memory *m, uint64_t handle, bool make);
/* The handle is forgotten; blocks keep the pool. */
void krt_pool_put(struct krt_memory *m, struct krt_pool *p);

/* The innermost live block that holds addr, or NULL. */
struct krt_block *krt_block_at(const struct krt_memory *m, uint64_t addr);
/* In the tree: the first block that ends after addr, or NULL. */
struct krt_block *krt_block_from(const struct krt_tree *t, uint64_t addr);
/* Into the tree of outer (NULL: of the memory), where nothing overlaps it.  NULL: no memory. */
struct krt_block *krt_block_add(struct krt_memory *m, struct krt_block *outer, uint64_t base,
				uint64_t size, struct krt_pool *pool, const struct krt_call *c);
/* Out of the tree, with all inside, without a trace. */
void krt_block_drop(struct krt_memory *m, struct krt_block *b);
/* Out of the tree and among the ended ones; nothing is inside. */
void krt_block_end(struct krt_memory *m, struct krt_block *b);
void krt_block_unref(struct krt_memory *m, struct krt_block *b);
/* An ended block that is still remembered, or NULL. */
struct krt_block *krt_block_ended(const struct krt_memory *m, uint32_t serial);
void krt_block_forget(struct krt_memory *m, struct krt_block *b);
/* Drops blocks and what is remembered of returned ones in [from, end): their memory has ended. */
void krt_blocks_gone(struct krt_memory *m, uint64_t from, uint64_t end);
void krt_pools_free(struct krt_memory *m);

/* The block that was the last owner of addr and gave it back; NULL: none, or handed out again. */
struct krt_block *krt_returned_at(const struct krt_memory *m, uint64_t addr);
void krt_returned_add(struct krt_memory *m, struct krt_block *b);
/* [from, end) has an owner again. */
void krt_returned_cut(struct krt_memory *m, uint64_t from, uint64_t end);
/* The pool is no more: what it holds is nobody's. */
void krt_returned_drop(struct krt_memory *m, const struct krt_pool *p);

void krt_name_set(struct krt_memory *m, uint64_t base, uint64_t size, const char *text, size_t len);
/* Name of the byte, or NULL. */
const char *krt_name_at(const struct krt_memory *m, uint64_t addr);
/* Drops names of ranges that lie in [from, end). */
void krt_names_drop(struct krt_memory *m, uint64_t from, uint64_t end);

/* An access is remembered there. */
void krt_space_busy(struct krt_memory *m, struct krt_space *s);
/* Remembers proto's operation as the newest of its domain, sort, kind and sureness. */
void krt_users_note(struct krt_memory *m, struct krt_users *u, const struct krt_user *proto);
/* Without those that are empty, what a sweep looks at. */
void krt_memory_idle(struct krt_memory *m);
void krt_users_prune(struct krt_heap *h, struct krt_users *u,
		     bool (*drop)(void *user, struct krt_op_info *op), void *user);
void krt_users_clear(struct krt_heap *h, struct krt_users *u);

#endif
