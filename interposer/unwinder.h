/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The call stack of the calling thread, by unwind tables, with the rule for each
 * program counter cached.
 */
#ifndef KRT_UNWINDER_H
#define KRT_UNWINDER_H

#include <stdbool.h>
#include <stdint.h>

/*
 * What a thread keeps of its last walk: the state in front of each step, outermost
 * first, and where the step found the next one.  Zero is empty.  Of the next walk the
 * frames that are still there are only compared with the stack: each word that the
 * step read must be what it was, so that the step would give what it gave.
 */
#define KRT_UNWIND_KEPT 128
struct krt_unwind_memo {
	struct krt_unwind_step {
		uintptr_t pc, sp, fp;
		int32_t ra_at, fp_at; /* of what was read, from the next step's sp; 0: nothing; ra_at 0: do it again */
	} step[KRT_UNWIND_KEPT];
	struct krt_unwind_step fresh[KRT_UNWIND_KEPT]; /* of a walk under way, innermost first: stacks may be small */
	unsigned n, epoch;
};

/*
 * Fill pc[0..max) with return addresses, innermost first, this library's own
 * frames left out; return how many.  The walk ends early where it cannot be
 * sure: code of no known object, no unwind table and no plausible frame pointer,
 * the end of the readable stack.  Never faults, allocates nothing; on a miss it
 * may ask the loader (krt_modules_refresh) unless told not to.  memo: the calling
 * thread's, or NULL.
 */
unsigned krt_unwind(uint64_t *pc, unsigned max, struct krt_unwind_memo *memo);

/*
 * While true the calling thread's walks do not ask the loader: for callers that
 * may hold an allocator's lock.  Returns what it was before.
 */
bool krt_unwind_quiet(bool quiet);

/* Forget the rules of an object that was unloaded.  Called by modules.c, under its lock. */
void krt_unwind_forget(uintptr_t lo, uintptr_t hi);

/* In a fork child; krt_modules_forked calls it. */
void krt_unwind_forked(void);

#endif
