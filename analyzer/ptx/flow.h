/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a kernel does with its parameters, from its PTX: which parameter slots
 * are pointers that it reads or writes through, and, for one launch, which
 * bytes.
 *
 * Made once per kernel (krt_flow_new), asked at every launch (krt_flow_eval).
 *
 * What is said is an over-approximation: a role that is not there, and bytes
 * outside the ranges, are surely not touched.  `must` is the other direction:
 * every byte of the range is surely touched, provided that the kernel runs to
 * its end.  Where the analysis gives up it says so (any, KRT_FLOW_WHOLE).
 *
 * Three assumptions: an address that a kernel computes from a slot's pointer
 * belongs to that slot, whatever was added to it; a pointer is not stored in
 * halves into global memory and used from there by the same launch; and local,
 * shared and kernel-heap memory, and the driver's own (%envreg), is no one's
 * business but the launch's.
 *
 * Not locked; one evaluation of a flow at a time (it uses room of its own).
 * Memory is bounded (KRT_FLOW_MEMORY); it does not refer to the module once it
 * is made.
 */
#ifndef KRT_PTX_FLOW_H
#define KRT_PTX_FLOW_H

#include "ptx.h"

/* The values of enum krt_access_kind. */
#define KRT_FLOW_READ	1u
#define KRT_FLOW_WRITE	2u
#define KRT_FLOW_ATOMIC 4u
#define KRT_FLOW_ALL	(KRT_FLOW_READ | KRT_FLOW_WRITE | KRT_FLOW_ATOMIC)

#define KRT_FLOW_NO_SLOT UINT32_MAX
#define KRT_FLOW_ANY UINT32_MAX /* offset of a slot: some word of the parameter */
#define KRT_FLOW_MEMORY ((size_t)96 << 20) /* most that an analysis uses while it runs */

/* krt_flow_info.flags */
#define KRT_FLOW_LOADS_POINTERS 0x01u /* follows pointers that lie in memory (slot.through) */
#define KRT_FLOW_ORDERED	0x02u /* acquire or release, or a fence, at the device's scope or wider */
#define KRT_FLOW_SPINS		0x04u /* a loop with a volatile, relaxed or acquiring load, or cas or exch */
#define KRT_FLOW_PDL_WAIT	0x08u /* griddepcontrol.wait */
#define KRT_FLOW_PDL_LAUNCH	0x10u /* griddepcontrol.launch_dependents */
#define KRT_FLOW_UNKNOWN_INST	0x20u /* an instruction, modifier or form that is not known */
#define KRT_FLOW_UNKNOWN_CALL	0x40u /* an indirect call, or a function without a body */
#define KRT_FLOW_NO_RANGES	0x80u /* too large or too odd for ranges: roles alone */
#define KRT_FLOW_LOCKS		0x200u /* of these loops one takes a lock: cas or exch of a constant */
#define KRT_FLOW_TEXTURES	0x100u /* textures or surfaces whose handles are no slots */

struct krt_flow_slot {
	uint32_t param;    /* ordinal */
	uint32_t offset;   /* of the pointer inside the parameter; KRT_FLOW_ANY */
	uint32_t at;       /* of the pointer in the parameter block; KRT_FLOW_ANY: of the parameter */
	uint32_t size;     /* bytes of the parameter */
	uint8_t role;      /* KRT_FLOW_*: done to memory that the slot's pointer leads to */
	uint8_t through;   /* done to memory behind pointers that are loaded from there */
	uint8_t rest;      /* of that: what info.loads does not have */
	bool tensor_map;   /* the slot is a tensor map (128 bytes), not a pointer */
	bool texture, surface; /* a handle of such an object, not a pointer: role is of what is behind */
	bool escapes;      /* its pointer is stored into memory */
};

struct krt_flow_global {
	const char *name;
	uint64_t size;
	uint8_t role, through, rest;
	bool constant;     /* .const */
	bool managed;      /* .attribute(.managed) */
	bool local;        /* another file may have one of this name */
};

/* A place in the code that loads pointers from where a slot or global leads to, directly. */
struct krt_flow_load {
	uint32_t site;        /* of its ranges */
	uint32_t slot;        /* index of slots; NO_SLOT: a global */
	uint32_t global;
	uint8_t word, words;  /* which 8-byte word of each access (a vector of words) */
	uint8_t role;         /* done to memory that this one leads to */
};

/* Bytes of the parameter block. */
struct krt_flow_span {
	uint32_t at, len;
};

struct krt_flow_info {
	uint32_t nslots, nglobals, nloads, nused, nfixed;
	const struct krt_flow_span
		*used; /* what ranges depend on, beside grid and block; ascending */
	const struct krt_flow_span *fixed; /* of that, all but the pointers that move */
	const bool *moves; /* of slots: see krt_flow_moved() */
	const struct krt_flow_load *loads;
	const struct krt_flow_slot *slots;       /* every word that may be used as an address */
	const struct krt_flow_global *globals;
	uint32_t flags;
	uint8_t any; /* KRT_FLOW_*: done through addresses of unknown origin: any slot, any global */
	uint32_t nparams;
	const uint32_t *param_at; /* of each, in the parameter block */
	uint64_t param_bytes;
	uint32_t accesses; /* places in the code that may touch global memory */
	uint32_t ranged;   /* of them with an address that is understood */
};

struct krt_kernel_flow;

enum krt_flow_error {
	KRT_FLOW_OK,
	KRT_FLOW_NO_KERNEL, /* the module has no such entry with a body */
	KRT_FLOW_BAD_PTX,   /* its body cannot be parsed */
	KRT_FLOW_NO_MEMORY, /* memory, or KRT_FLOW_MEMORY, is out */
};

/*
 * Analyses one kernel.  NULL and *err (may be NULL) on failure.  The module's
 * bodies are parsed where they are needed.
 */
struct krt_kernel_flow *krt_flow_new(struct ptx_module *m, const char *kernel,
				     enum krt_flow_error *err);
void krt_flow_free(struct krt_kernel_flow *f);
const struct krt_flow_info *krt_flow_info(const struct krt_kernel_flow *f);
size_t krt_flow_memory(const struct krt_kernel_flow *f);

struct krt_flow_launch {
	uint32_t grid[3], block[3];
	uint64_t dyn_shared;
	const void *params; /* the parameter block, as ptx_var.offset lays it out */
	size_t len;         /* shorter than the kernel's: nothing is known of the rest */
};

/* One access of a launch: the bytes [lo, hi), or fewer. */
struct krt_flow_range {
	uint32_t slot;     /* index of info.slots; NO_SLOT: a global */
	uint32_t global;   /* index of info.globals if slot is NO_SLOT */
	uint32_t site;     /* the place in the code, if it is one of info.loads; else 0 */
	uint8_t kind;      /* one KRT_FLOW_* bit */
	bool whole;        /* not understood: anything that the slot's pointer leads to; no lo, hi */
	bool must;         /* every byte is surely touched: of [lo, hi), of its rows, its pieces */
	bool loose;        /* it has gaps that are not shown, none of them for data: too many
			      for rows and pieces, or not understood */
	uint64_t base;     /* the slot's value; 0 for a global */
	uint64_t lo, hi;   /* addresses; of a global: offsets from its start */
	/* Only bytes of [lo + r * pitch, lo + r * pitch + row) for 0 <= r < rows are touched; within
	 * a row pieces of `width` bytes, `stride` apart (a multiple of it, from the row's start). */
	uint64_t pitch, row, rows;
	uint64_t stride, width;
};
typedef void krt_flow_fn(void *user, const struct krt_flow_range *r);

/*
 * Calls fn for every access of the launch that the kernel itself computes.
 * Not in there: what `any` and `through` say, tensor maps and textures.
 * Returns false when parameters are missing: then nothing was called.
 */
bool krt_flow_eval(struct krt_kernel_flow *f, const struct krt_flow_launch *l, krt_flow_fn *fn,
		   void *user);

/*
 * The ranges of a launch whose parameters are the same but for pointers of slots that
 * move (info.moves) are those of the last evaluation, of which lo, hi and base are moved
 * by as much as their slot's pointer: true when that holds for any launch of which
 * krt_flow_may_move() is true as well, with *reach of that evaluation.
 */
struct krt_flow_reach {
	uint64_t below, above;
};
bool krt_flow_moved(const struct krt_kernel_flow *f, const struct krt_flow_launch *l,
		    struct krt_flow_reach *reach);
bool krt_flow_may_move(const struct krt_kernel_flow *f, const struct krt_flow_launch *l,
		       const struct krt_flow_reach *reach);

/* Can these two ranges have a byte in common?  (A whole one can with everything.) */
bool krt_flow_overlap(const struct krt_flow_range *a, const struct krt_flow_range *b);

#endif
