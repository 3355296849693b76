/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Access history of one address space: an ordered map of disjoint byte ranges,
 * each with its last write and the reads since, one per ordering domain.
 *
 * Every space keeps three such maps.  `sure` holds accesses that happened; a
 * write there replaces what the range held.  `may` holds accesses that may have
 * happened, or of which only some bytes did: there nothing replaces anything but
 * the same domain's older access of the same sort and gaps.
 * What is in `may` never touches `sure`.  `past` holds what former owners of the
 * bytes did, both sorts, and works like `may` (pool.c).
 *
 * Keys are offsets of the space, so that two mappings of one piece of memory
 * meet.  A range costs O(log n) plus the ranges it overlaps.  Operations are
 * reference counted: one is kept as long as some range remembers it.
 *
 * Not locked.  Out of memory is the heap's `failed`; the maps stay consistent.
 */
#ifndef KRT_ACCESS_H
#define KRT_ACCESS_H

#include "heap.h"
#include "order.h"
#include "tree.h"
#include "../rules/finding.h"

enum krt_access_kind {
	KRT_ACC_READ = 1 << 0,
	KRT_ACC_WRITE = 1 << 1,
	KRT_ACC_ATOMIC =
		1 << 2, /* read and written in one step: no conflict with another of its kind */
	KRT_ACC_UNKNOWN = 1 << 3, /* the role is not known */
};

/* Where role and range come from. */
enum krt_knowledge {
	KRT_KNOW_API,	     /* an argument of the call */
	KRT_KNOW_ANNOTATION, /* krtsan_access() */
	KRT_KNOW_GUARD,	     /* host=guard: the CPU met a guarded page, or gave the bytes to the C library */
	KRT_KNOW_CHECKSUM,   /* host=checksum: the bytes have changed */
	KRT_KNOW_KERNELS_FILE,
	KRT_KNOW_LIBRARY, /* an argument of a library's call, of which the launch is a part */
	KRT_KNOW_PTX,	  /* computed from the kernel's PTX for this launch */
	KRT_KNOW_ROLE,	  /* the role is the PTX's, which bytes is not known */
	KRT_KNOW_NAME,	  /* the role is that of the mangled name: pointer to const */
	KRT_KNOW_POINTER, /* a plain pointer among the parameters */
	KRT_KNOW_WORD,	  /* a word inside a larger parameter */
	KRT_KNOW_REACH,	  /* in `past`: bytes behind a plain pointer, up to the end of its block */
	KRT_KNOW_START,	  /* of blocks: such a word that is a block's first byte, among addresses alone and few */
};

/* Does the operation touch the bytes? */
#define KRT_SURENESS(X)                                                                            \
	X(ALL, "every byte of")	     /* every one of them */                                       \
	X(SOME, "at most")	     /* none outside; inside, it depends on data which, or whether at all */ \
	X(FROM, "")		     /* where it begins is known, not how far it goes */           \
	X(WITHIN, "some bytes of")   /* as SOME, but which bytes inside was not computed */        \
	X(LIMIT, "nothing outside")  /* the same, and the range is too wide to be a reason by itself */
enum krt_sureness {
#define X(name, text) KRT_SURE_##name,
	KRT_SURENESS(X)
#undef X
	KRT_SURES
};
/* In words, in front of the bytes. */
const char *krt_sureness_text(enum krt_sureness s);
/*
 * How sure is it that two accesses of kernels (or one and a call's), whose bytes
 * meet as far as they are known, touch a byte both?
 */
enum krt_confidence krt_access_confidence(enum krt_sureness a, enum krt_sureness b);
/*
 * The same for a in [alo, ahi), b in [blo, bhi): of touches somewhere WITHIN a range
 * nothing is likely to meet what covers only a part of it, such as the next chunk of
 * a tensor of which the kernel works on this one.
 */
enum krt_confidence krt_access_covered(enum krt_confidence c, enum krt_sureness a, uint64_t alo,
				       uint64_t ahi, enum krt_sureness b, uint64_t blo,
				       uint64_t bhi);

struct krt_fgroup;
struct krt_shadow;
struct krt_op_info; /* objects.h: one enqueued operation, reference counted */

struct krt_access {
	struct krt_op_info *op; /* NULL: none */
	uint32_t mapping;	/* serial of the allocation it went through */
	uint32_t owner;		/* in `past`: serial of the owner's block, 0: there was none */
	uint16_t item;		/* which copy of a batch */
	uint8_t kind;		/* enum krt_access_kind, one bit */
	uint8_t know;		/* enum krt_knowledge */
	uint8_t sure;		/* enum krt_sureness; in `sure` ALL */
	uint16_t pattern;	/* gaps in it: id of pattern.h, 0: none */
};

struct krt_range {
	struct krt_node node; /* key: first byte */
	uint64_t end;	      /* one past the last byte */
	struct krt_access write;
	struct krt_access *read; /* &one, or an array of cap */
	uint32_t reads, cap;	 /* cap 0: read is &one */
	struct krt_access one;
};

struct krt_ranges {
	struct krt_tree tree;
	bool may;
};

struct krt_space {
	struct krt_ranges sure, may, past;
	struct krt_space *next, **link; /* of those that a sweep looks at; link NULL: of none */
	unsigned refs; /* mappings that lead to it */
	uint64_t id;   /* unique in the engine */
	struct krt_fgroup *graphs; /* graph.h: the executables that touch it; NULL: none */
	struct krt_shadow *shadow; /* shadow.c: pointers that lie in it; NULL: none are known */
	uint64_t stirred; /* graph_input.c: the latest record that may have written any of it */
};

void krt_space_init(struct krt_space *s);
void krt_space_clear(struct krt_heap *h, struct krt_space *s);

/* Does an access of kind b, coming after one of kind a, conflict with it when nothing orders them?
 */
bool krt_access_conflict(unsigned a, unsigned b);

/* One earlier access that conflicts, and the bytes shared. */
typedef void krt_access_fn(void *user, const struct krt_access *prev, uint64_t from, uint64_t end);

/*
 * Calls fn for every access in [from, end) that a new one of kind `kind` has to
 * be ordered after: the last write for a read; the reads since, or else the
 * last write, for a write.  A `may` map gives everything that conflicts.
 */
void krt_ranges_conflicts(const struct krt_ranges *r, uint64_t from, uint64_t end, unsigned kind,
			  krt_access_fn *fn, void *user);
/* Calls fn for every access in [from, end). */
void krt_ranges_each(const struct krt_ranges *r, uint64_t from, uint64_t end, krt_access_fn *fn,
		     void *user);
/* Remembers an access. */
void krt_ranges_add(struct krt_heap *h, struct krt_ranges *r, uint64_t from, uint64_t end,
		    const struct krt_access *a);
/* Forgets all of [from, end). */
void krt_ranges_clear(struct krt_heap *h, struct krt_ranges *r, uint64_t from, uint64_t end);
/*
 * Forgets the accesses in [from, end) for which drop() is true and joins
 * neighbours that have become equal.  Returns how many accesses are left there.
 */
size_t krt_ranges_prune(struct krt_heap *h, struct krt_ranges *r, uint64_t from, uint64_t end,
			bool (*drop)(void *user, const struct krt_access *a), void *user);

/* objects.c */
void krt_op_ref(struct krt_op_info *op);
void krt_op_unref(struct krt_heap *h, struct krt_op_info *op);
krt_domain krt_op_domain(const struct krt_op_info *op);
uint64_t krt_op_epoch(const struct krt_op_info *op);
bool krt_op_external(const struct krt_op_info *op);

#endif
