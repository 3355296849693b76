/* SPDX-License-Identifier: Apache-2.0 */
/* Nanoseconds a stack: krt_unwind, warm and on a miss, against _Unwind_Backtrace. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unwind.h>

#include "modules.h"
#include "unwinder.h"

int chain_O2(int depth, int (*leaf)(int), int arg);

static uint64_t pcs[64];
static unsigned depth_ours, depth_libgcc;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static _Unwind_Reason_Code one(struct _Unwind_Context *c, void *arg)
{
	unsigned *n = arg;

	if (*n == 64)
		return _URC_END_OF_STACK;
	pcs[(*n)++] = _Unwind_GetIP(c);
	return _URC_NO_REASON;
}

static int leaf(int rounds)
{
	double best[3] = { 1e30, 1e30, 1e30 }, t;

	for (int r = 0; r < 7; r++) {
		t = now();
		for (int i = 0; i < rounds; i++)
			depth_ours = krt_unwind(pcs, 64, NULL);
		t = (now() - t) / rounds;
		best[0] = t < best[0] ? t : best[0];

		t = now();
		for (int i = 0; i < rounds / 10; i++) {
			depth_libgcc = 0;
			_Unwind_Backtrace(one, &depth_libgcc);
		}
		t = (now() - t) / (rounds / 10);
		best[1] = t < best[1] ? t : best[1];

		krt_unwind_forget(0, UINTPTR_MAX);
		t = now();
		krt_unwind(pcs, 64, NULL);
		t = now() - t;
		best[2] = t < best[2] ? t : best[2];
	}
	printf("krt_unwind         %3u frames  %7.0f ns  %5.1f ns a frame\n", depth_ours, best[0],
	       best[0] / depth_ours);
	printf("  all missing      %3u frames  %7.0f ns  %5.1f ns a frame\n", depth_ours, best[2],
	       best[2] / depth_ours);
	printf("_Unwind_Backtrace  %3u frames  %7.0f ns  %5.1f ns a frame\n", depth_libgcc, best[1],
	       best[1] / depth_libgcc);
	return 0;
}

int main(void)
{
	krt_modules_refresh();
	return chain_O2(15, leaf, 20000);
}
