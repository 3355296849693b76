/* SPDX-License-Identifier: Apache-2.0 */
/* The clock of calls' times (interposer/clock.c) against CLOCK_MONOTONIC, and where the driver brings one. */
#include "internal.h"

#include <criterion/criterion.h>
#include <time.h>

uint64_t (*krt_driver_clock)(void);

uint64_t krt_mono_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t always_seven(void)
{
	return 7;
}

Test(clock, driver_clock_goes_first)
{
	krt_clock_open();
	krt_driver_clock = always_seven;
	cr_assert_eq(krt_clock_ns(), 7);
	krt_driver_clock = NULL;
	cr_assert_neq(krt_clock_ns(), 7);
}

/*
 * For 300 ms, over several lines: never further from the kernel's answers before and
 * after than a line may be off, with what reading a pair can take on a busy machine
 * (20 us, if it was interrupted in the middle of all four).
 */
Test(clock, keeps_to_the_kernels)
{
	uint64_t begin, before = 0;

	krt_clock_open();
	for (begin = krt_mono_ns(); before - begin < 300000000u || !before;) {
		uint64_t now, after;

		before = krt_mono_ns();
		now = krt_clock_ns();
		after = krt_mono_ns();
		cr_assert(now + 200000 >= before, "%lu ns behind", (unsigned long)(before - now));
		cr_assert(now <= after + 200000, "%lu ns ahead", (unsigned long)(now - after));
	}
}

Test(clock, pause)
{
	const struct timespec pause = { 1, 0 };
	uint64_t before, now;

	krt_clock_open();
	for (before = krt_mono_ns(); krt_mono_ns() - before < 30000000u;)
		krt_clock_ns();
	nanosleep(&pause, NULL);
	before = krt_mono_ns();
	now = krt_clock_ns();
	cr_assert(now + 200000 >= before && now <= krt_mono_ns() + 200000);
}
