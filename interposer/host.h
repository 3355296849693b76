/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CPU's own accesses to memory in flight (host=checksum, host=guard): what
 * the files that find them ask of each other.
 *
 *   host_memory.c  pinned, registered and managed memory: whose pages are whose
 *   flight.c       operations that use such memory, and when the host knows they are over
 *   guard.c        pages that are protected meanwhile
 *   fault.c        the CPU meets such a page
 *   signals.c      the program's own handlers and masks
 *   syscalls.c     memory given to the C library and to the kernel
 *   checksum.c     sources of uploads that changed
 *
 * Here is only sensed, the engine judges: what is found becomes a record like a
 * note of the annotation header (cpu_read, cpu_write, cpu_changed), and is compared
 * there with all that is in flight.  So protecting a page too long costs a fault;
 * opening it too early would be a race missed.  In doubt it stays protected: the
 * order that counts here is the documented one.
 *
 * One lock (krt_host_lock) for flight.c, host_memory.c, guard.c and checksum.c;
 * never held across a driver call or a call into the program.  A signal handler
 * that interrupts its owner is refused and does without.
 */
#ifndef KRT_HOST_H
#define KRT_HOST_H

#include "call.h"
#include "ownlock.h"

#pragma GCC visibility push(hidden)

/* KRT_HOST_api, _checksum or _guard while the process records; api: nothing here is called. */
extern _Atomic uint32_t krt_host_mode;
static inline bool krt_host_on(void)
{
	return krt_unlikely(atomic_load_explicit(&krt_host_mode, memory_order_relaxed) != KRT_HOST_api);
}
static inline bool krt_guarding(void)
{
	return krt_unlikely(atomic_load_explicit(&krt_host_mode, memory_order_relaxed) == KRT_HOST_guard);
}

/*
 * At attach, under its lock.  False: no memory, or a thread that cannot be guarded; the mode
 * stays api and the trouble is told.
 */
bool krt_host_open(void);
/* Recording stops: every page as the program had it. */
void krt_host_close(void);
/* In a fork child: nothing is in flight; pages that are met protected are opened. */
void krt_host_forked(void);

bool krt_host_lock(void); /* false: refused */
void krt_host_unlock(void);
void krt_host_account(enum krt_host_account which, uint64_t bytes);

/* What an operation does with memory. */
enum krt_guard_use {
	KRT_GUARD_READS,     /* reads: the CPU may read too */
	KRT_GUARD_WRITES,    /* the CPU may do nothing */
	KRT_GUARD_MAY_WRITE, /* or only reads: nobody here knows */
	KRT_GUARD_GAPS = 4,  /* with one of them: rows, with bytes between them that it leaves alone */
};

/* ---- flight.c ---- */
bool krt_flight_open(void);
/* Called around every recorded call while krt_host_on(): */
/* Before the driver is called: memory that the call gives back is no longer watched. */
void krt_flight_before(const struct krt_call *call);
/* After it answered, before the record is published: order, and what is over. */
void krt_flight_after(struct krt_call *call, int result);
/* After the record was published: pages of the new operation closed, of those that are over opened. */
void krt_flight_pages(void);
/* A note of the annotation header that makes order (KRT_OP_NOTE_ORDER_*). */
void krt_flight_note(const struct krt_call *call);
/* The parameters of a launch, before the driver is called: managed memory that they name. */
void krt_flight_words(struct krt_call *call, const void *bytes, size_t len);
/* A graph's node names [base, base + len), or parameters of a kernel; holder and node as for krt_heap_hold.
 * Nothing (len 0): a host function, which writes what it pleases. */
void krt_flight_hold(uint64_t base, uint64_t len, uint64_t holder, uint64_t node, enum krt_guard_use use);
void krt_flight_hold_words(const void *bytes, size_t len, uint64_t holder, uint64_t node);
void krt_flight_release(uint64_t holder, uint64_t node);

/* The program unmaps, moves or protects whole pages itself: they are not watched any more.  Any thread. */
void krt_host_unmapped(uint64_t lo, uint64_t hi);

/*
 * Whole pages that hold bytes of [lo, lo + len) are not watched (off: are again): the program
 * protects them itself, or somebody else has them.  Any thread.
 */
void krt_host_exempt(uint64_t lo, uint64_t len, bool on);

/* Under the lock: does an unfinished operation use one of the bytes, and write it (or may)? */
bool krt_flight_meets(uint64_t lo, uint64_t hi, bool written_only);

/* ---- host_memory.c: under the lock ---- */

struct krt_host_range { /* whole allocations */
	uint64_t base, end;
	uint8_t kind;       /* enum krt_host_kind */
	bool readonly;      /* the program may not write it either */
	int64_t shift;      /* a second address, for the device: so far from the host's; 0: none */
};
enum krt_host_kind { KRT_HOST_PINNED, KRT_HOST_REGISTERED, KRT_HOST_MANAGED };
/* The first allocation that ends after addr, or NULL. */
const struct krt_host_range *krt_host_from(uint64_t addr);
bool krt_host_any_managed(void);
void krt_host_born(uint64_t base, uint64_t len, enum krt_host_kind kind);
/* The device knows the byte at host by another address. */
void krt_host_alias(uint64_t host, uint64_t device);
void krt_host_gone(uint64_t base); /* as it was born */
void krt_host_forget(void);        /* all of it */
/* Parts of them that are not to be protected. */
void krt_host_set_exempt(uint64_t lo, uint64_t hi, bool on);
/* Whole pages that hold bytes of [*lo, *hi) (inside allocation r) and of nothing else; why not of all of them. */
enum krt_host_account krt_host_pages(const struct krt_host_range *r, uint64_t *lo, uint64_t *hi);

/* ---- guard.c: under the lock; whole pages ---- */

/* Counts one more operation.  Applied by krt_guard_apply. */
void krt_guard_add(uint64_t lo, uint64_t hi, enum krt_guard_use use, bool readonly);
void krt_guard_remove(uint64_t lo, uint64_t hi, enum krt_guard_use use);
/* The pages' protection becomes what the counts say. */
void krt_guard_apply(void);
/* Bytes of it in pages that operations use. */
uint64_t krt_guard_bytes(uint64_t lo, uint64_t hi);
/* Memory that ends: forgotten, and as the program had it. */
void krt_guard_drop(uint64_t lo, uint64_t hi);
/* The CPU touches [lo, hi): closed to it (write: to a write)?  *end: up to where this answer holds. */
bool krt_guard_closed(uint64_t lo, uint64_t hi, bool write, uint64_t *end);
/* From now on the CPU may (write: also write) in [lo, hi), until what uses it now is over. */
void krt_guard_open_pages(uint64_t lo, uint64_t hi, bool write);
/* The driver touches them itself: open until the next call has returned (krt_guard_take_back). */
void krt_guard_lend(uint64_t lo, uint64_t hi);
void krt_guard_take_back(void);
bool krt_guard_lent(void); /* without the lock: is something to be taken back? */
/* Without the lock: might one of the bytes be closed?  Never says no wrongly. */
bool krt_guard_near(uint64_t lo, uint64_t hi);
/* Without the lock: might one have been, when a thread met it that gets to say so only now? */
bool krt_guard_ever(uint64_t lo, uint64_t hi);

/* ---- fault.c ---- */
/* True: it was about a guarded page, the instruction may go on. */
bool krt_fault(int sig, void *siginfo, void *ucontext);
/*
 * The C library is about to read or write [addr, addr + len) on the program's behalf; api: its
 * row.  What is in flight is recorded and opened.  KRT_NR_APIS: not followed, only opened.
 */
void krt_host_given(unsigned api, uint64_t addr, uint64_t len, bool write);

/* ---- signals.c ---- */
bool krt_signals_open(void);
void krt_signals_fork(bool begins); /* around a fork: its books, like krt_host_lock's */
void krt_signals_check(void); /* before pages are protected */

/* The calling thread blocks neither of the two signals from here on; *was: its mask before. */
bool krt_signals_unmask(uint64_t *was);
void krt_signals_mask(const uint64_t *mask);

/* ---- checksum.c: under the lock ---- */
/* The source of an upload; false: not to be had. */
bool krt_checksum(uint64_t base, uint64_t len, uint64_t *sum);

#pragma GCC visibility pop
#endif
