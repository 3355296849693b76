/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock of calls' times.  CLOCK_MONOTONIC, or the clock of a driver that brings
 * one; where the kernel itself keeps time by the processor's time stamp counter, it is
 * read off that: a call asks twice, and the counter takes half the time.
 *
 * Then time is a line through a pair (counter, CLOCK_MONOTONIC), as steep as the way to
 * it from the pair before.  A line holds for STRETCH times as long as that way took,
 * and SPAN at most: it is off by less than STRETCH times of what reading a pair is.
 * When it is laid anew the clock may step by that much, back too.
 *
 * No locking: who takes seq from even to odd lays the line; who sees it odd, or
 * changed meanwhile, asks the kernel.
 */
#include "internal.h"

#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define FIRST_NS  10000000u
#define STRETCH	  8u
#define SPAN	  (1ull << 31)		  /* ticks, some 0.7 s */
#define FRACTION  32			  /* bits of slope */
#define SLOPE_MIN (1ull << FRACTION >> 4) /* ns a tick: 16 GHz */
#define SLOPE_MAX (1ull << FRACTION)	  /* 1 GHz */

static _Atomic uint32_t seq;
static _Atomic uint64_t line_tsc, line_ns, line_slope, line_span; /* span 0: no line yet */

static bool usable;

static uint64_t ticks(void)
{
	return __builtin_ia32_rdtsc();
}

static bool kernel_counts(void)
{
	char name[8] = "";
	int fd = (int)syscall(SYS_openat, AT_FDCWD,
			      "/sys/devices/system/clocksource/clocksource0/current_clocksource",
			      O_RDONLY | O_CLOEXEC, 0);

	if (fd < 0)
		return false;
	syscall(SYS_read, fd, name, sizeof name - 1);
	syscall(SYS_close, fd);
	return !strcmp(name, "tsc\n");
}

/* Of a few pairs the one read in the shortest time. */
static void pair(uint64_t *tsc, uint64_t *ns)
{
	uint64_t best = UINT64_MAX;

	*tsc = *ns = 0;

	for (unsigned i = 0; i < 4; i++) {
		uint64_t before = ticks(), now = krt_mono_ns(), took = ticks() - before;

		if (took < best) {
			best = took;
			*tsc = before + took / 2;
			*ns = now;
		}
	}
}

static void lay(uint64_t tsc, uint64_t ns, uint64_t slope, uint64_t span)
{
	atomic_store_explicit(&line_tsc, tsc, memory_order_relaxed);
	atomic_store_explicit(&line_ns, ns, memory_order_relaxed);
	atomic_store_explicit(&line_slope, slope, memory_order_relaxed);
	atomic_store_explicit(&line_span, span, memory_order_relaxed);
}

void krt_clock_open(void)
{
	uint64_t tsc, ns;

	usable = kernel_counts();
	if (!usable)
		return;
	pair(&tsc, &ns);
	lay(tsc, ns, 0, 0);
	atomic_store_explicit(&seq, 0, memory_order_release); /* a fork may have left it odd */
}

/* The line ended, or there is none yet. */
static __attribute__((noinline)) uint64_t next_line(void)
{
	uint32_t s = atomic_load_explicit(&seq, memory_order_relaxed);
	uint64_t now = krt_mono_ns(), tsc, ns, ran, took, slope, span;

	ran = now - atomic_load_explicit(&line_ns, memory_order_relaxed);
	if (s & 1 || ran < FIRST_NS ||
	    !atomic_compare_exchange_strong_explicit(&seq, &s, s + 1, memory_order_acquire,
						     memory_order_relaxed))
		return now;
	atomic_thread_fence(memory_order_release);
	pair(&tsc, &ns);
	took = tsc - atomic_load_explicit(&line_tsc, memory_order_relaxed);
	ran = ns - atomic_load_explicit(&line_ns, memory_order_relaxed);
	slope = took && !(ran >> FRACTION) ? (ran << FRACTION) / took : 0;
	span = took < SPAN / STRETCH ? took * STRETCH : SPAN;
	/* after a long pause it begins anew; so it does with a clock that somebody sets */
	lay(tsc, ns, slope, slope > SLOPE_MIN && slope < SLOPE_MAX ? span : 0);
	atomic_store_explicit(&seq, s + 2, memory_order_release);
	return ns;
}

static uint64_t counted_ns(void)
{
	uint32_t s = atomic_load_explicit(&seq, memory_order_acquire);
	uint64_t ns = atomic_load_explicit(&line_ns, memory_order_relaxed);
	uint64_t slope = atomic_load_explicit(&line_slope, memory_order_relaxed);
	uint64_t span = atomic_load_explicit(&line_span, memory_order_relaxed);
	uint64_t on = ticks() - atomic_load_explicit(&line_tsc, memory_order_relaxed);

	atomic_thread_fence(memory_order_acquire);
	if (krt_unlikely(s & 1 || on >= span ||
			 atomic_load_explicit(&seq, memory_order_relaxed) != s))
		return next_line();
	return ns + (on * slope >> FRACTION);
}
#else
static const bool usable;

void krt_clock_open(void)
{
}

static uint64_t counted_ns(void)
{
	return krt_mono_ns();
}
#endif

uint64_t krt_clock_ns(void)
{
	uint64_t (*driver)(void) = krt_driver_clock;

	if (krt_unlikely(driver != NULL))
		return driver();
	return krt_likely(usable) ? counted_ns() : krt_mono_ns();
}
