/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU's own accesses: beginning, end, lock and account (host.h). */
#include "host.h"
#include "lane.h"

#include <pthread.h>

_Atomic uint32_t krt_host_mode = KRT_HOST_api;

static struct krt_ownlock lock;

bool krt_host_lock(void)
{
	return krt_ownlock_take(&lock, &krt_tls);
}

void krt_host_unlock(void)
{
	krt_ownlock_drop(&lock);
}

void krt_host_account(enum krt_host_account which, uint64_t bytes)
{
	if (bytes && krt_proc)
		__atomic_fetch_add(&krt_proc->host[which], bytes, __ATOMIC_RELAXED);
}

/*
 * A child has the pages as they are, and only the books to tell it which of them we
 * closed: the books are whole when it begins, and nobody that it lacks holds them.
 */
static bool forking; /* under the lock, by whoever forks */

static void fork_begins(void)
{
	if (!krt_host_lock())
		return;
	forking = true;
	krt_signals_fork(true);
}

static void fork_ends(void)
{
	if (atomic_load(&lock.owner) != (uintptr_t)&krt_tls || !forking)
		return;
	krt_signals_fork(false);
	forking = false;
	krt_host_unlock();
}

bool krt_host_open(void)
{
	static bool armed;

	uint32_t mode = (uint32_t)krt_opt.host;

	if (mode == KRT_HOST_api)
		return true;
	if (!krt_flight_open()) {
		krt_trouble(KRT_TROUBLE_HOST);
		return false;
	}
	if (mode == KRT_HOST_guard && !krt_signals_open()) {
		krt_trouble(KRT_TROUBLE_HOST);
		return false;
	}
	if (!armed)
		armed = !pthread_atfork(fork_begins, fork_ends, fork_ends);
	krt_proc->host_mode = mode;
	atomic_store(&krt_host_mode, mode);
	return true;
}

void krt_host_close(void)
{
	if (atomic_exchange(&krt_host_mode, KRT_HOST_api) == KRT_HOST_guard && krt_host_lock()) {
		krt_guard_drop(0, UINT64_MAX);
		krt_host_unlock();
	}
}

/* Protected pages are protected in the child, too: fault.c opens those that it meets. */
void krt_host_forked(void)
{
	atomic_store(&krt_host_mode, KRT_HOST_api);
	atomic_store(&lock.owner, 0);
}
