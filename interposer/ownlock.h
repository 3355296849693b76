/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lock for code that runs inside other people's processes.
 *
 * It knows its owner, so that a signal handler which interrupts the owner is
 * refused instead of hanging; and every wait is bounded, so that a process made
 * by a raw clone while another thread held it goes on, too.  Whoever is refused
 * does without: callers must have a safe answer for that.  Nothing foreign may
 * be called with it held.  After fork the child stores 0 into it.
 */
#ifndef KRT_OWNLOCK_H
#define KRT_OWNLOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct krt_ownlock {
	_Atomic uintptr_t owner; /* an address in the owner's TLS, 0: free */
};

#define KRT_OWNLOCK_SPINS  200
#define KRT_OWNLOCK_YIELDS 100
#define KRT_OWNLOCK_NAPS   4000 /* of 500 us: two seconds */

static inline void krt_cpu_relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* self: any address that only the calling thread owns.  False: refused. */
static inline bool krt_ownlock_take(struct krt_ownlock *l, const void *self)
{
	uintptr_t me = (uintptr_t)self, free;

	for (unsigned i = 0; i < KRT_OWNLOCK_SPINS + KRT_OWNLOCK_YIELDS + KRT_OWNLOCK_NAPS; i++) {
		free = 0;
		if (atomic_compare_exchange_weak_explicit(&l->owner, &free, me, memory_order_acquire,
							  memory_order_relaxed))
			return true;
		if (free == me)
			return false;
		if (i < KRT_OWNLOCK_SPINS) {
			krt_cpu_relax();
		} else if (i < KRT_OWNLOCK_SPINS + KRT_OWNLOCK_YIELDS) {
			syscall(SYS_sched_yield);
		} else {
			struct timespec nap = { .tv_nsec = 500 * 1000 };

			/* the C library's nanosleep is a cancellation point */
			syscall(SYS_nanosleep, &nap, NULL);
		}
	}
	return false;
}

static inline void krt_ownlock_drop(struct krt_ownlock *l)
{
	atomic_store_explicit(&l->owner, 0, memory_order_release);
}

#endif
