/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CPU meets a guarded page.
 *
 * The handler stands in front of the program's own (signals.c), for SIGSEGV and
 * SIGBUS.  A fault on a guarded page is told as an access of the CPU, with the
 * stack that led to it, if an unfinished operation uses that very byte and the
 * code is the program's; in any case the page is opened and the instruction runs
 * again.  Everything else is the program's.
 *
 * One instruction after the other over a large buffer: the same instruction that
 * meets the next page has it and twice as many behind it opened at once, so that
 * a copy over many pages is told some times, not once a page.
 */
#include "host.h"
#include "lane.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define PAGE     4096ull
#define TRIES    8        /* the same instruction at the same page that nobody guards any more */
#define SPAN_MAX (1u << 20)

/* Of the last fault, of whatever thread; under the lock. */
static struct {
	const void *thread; /* an address in its TLS */
	uint64_t pc, page;
	uint64_t next;      /* what the same instruction meets next if it goes on */
	uint64_t span;      /* opened at once the last time */
	unsigned tries;
} last;

static uint64_t pc_of(const ucontext_t *uc)
{
#if defined(__x86_64__)
	return (uint64_t)uc->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
	return uc->uc_mcontext.pc;
#else
	(void)uc;
	return 0;
#endif
}

/* Was it a write?  Where that is not told: a read, which claims less. */
static bool is_write(const ucontext_t *uc)
{
#if defined(__x86_64__)
	return uc->uc_mcontext.gregs[REG_ERR] & 2;
#elif defined(__aarch64__)
	const struct {
		uint32_t magic, size;
	} *head = (const void *)uc->uc_mcontext.__reserved;

	while (head->magic) {
		if (head->magic == 0x45535201) /* ESR_MAGIC */
			return *(const uint64_t *)(head + 1) >> 6 & 1;
		head = (const void *)((const char *)head + head->size);
	}
	return false;
#else
	(void)uc;
	return false;
#endif
}

/* Whose code is it?  The driver's own, below a call of the program's or on a thread of its own. */
static bool drivers(uint64_t pc)
{
	return krt_in_driver((const void *)pc) || krt_tls.frame;
}

static uint64_t span(uint64_t pc, uint64_t page)
{
	uint64_t n = last.thread == &krt_tls && pc == last.pc && page == last.next && last.span < SPAN_MAX ? last.span * 2 : PAGE;

	last.span = n;
	last.next = page + n;
	return n;
}

static void tell(uint64_t addr, bool write)
{
	uint64_t args[] = { addr, 1 };

	krt_record_quiet(write ? KRT_API_cpu_write : KRT_API_cpu_read, args);
}

bool krt_fault(int sig, void *siginfo, void *ucontext)
{
	const siginfo_t *si = siginfo;
	uint64_t addr = (uintptr_t)si->si_addr, page = addr & ~(PAGE - 1), pc = pc_of(ucontext), n, end;
	bool write = is_write(ucontext), told = false, guarded, again;

	(void)sig;
	if (si->si_code <= 0 || !krt_guard_ever(page, page + PAGE))
		return false;
	if (!krt_host_lock()) { /* a handler that interrupted one of us: without a look into the books */
		krt_host_account(KRT_ACCOUNT_KEPT, PAGE);
		return !syscall(SYS_mprotect, page, PAGE, write ? PROT_READ | PROT_WRITE : PROT_READ);
	}
	guarded = krt_guard_closed(page, page + PAGE, write, &end);
	if (guarded) {
		bool used = krt_flight_meets(addr, addr + 1, !write);
		bool ours = krt_tls.busy;

		n = span(pc, page);
		if (ours || drivers(pc)) {
			krt_guard_lend(page, page + n);
		} else {
			told = used;
			krt_guard_open_pages(page, page + n, write);
		}
		last.tries = 0;
	} else if (last.thread != &krt_tls || pc != last.pc || page != last.page) {
		last.tries = 0;
	}
	again = guarded || last.tries++ < TRIES;
	last.thread = &krt_tls;
	last.pc = pc;
	last.page = page;
	krt_host_unlock();
	if (told && krt_attached())
		tell(addr, write);
	/* opened by another thread meanwhile: once more, but not for ever */
	return again;
}

void krt_host_given(unsigned api, uint64_t addr, uint64_t len, bool write)
{
	uint64_t hi = addr + len, end;
	int saved = errno;

	if (!len || hi < addr || !krt_guard_near(addr, hi) || krt_tls.busy || krt_tls.frame)
		return;
	if (!krt_host_lock()) { /* it may have slept */
		errno = saved;
		return;
	}
	for (uint64_t at = addr; at < hi; at = end) {
		bool used;

		if (!krt_guard_closed(at, hi, write, &end))
			continue;
		used = krt_flight_meets(at, end, !write);
		krt_guard_open_pages(at & ~(PAGE - 1), (end + PAGE - 1) & ~(PAGE - 1), write);
		if (api == KRT_NR_APIS) {
			krt_host_account(KRT_ACCOUNT_KERNEL, end - at);
		} else if (used) {
			uint64_t args[] = { at, end - at };

			krt_host_unlock();
			krt_record_quiet(api, args);
			if (!krt_host_lock()) { /* refused: somebody else's, not ours to give back */
				errno = saved;
				return;
			}
		}
	}
	krt_host_unlock();
	errno = saved;
}
