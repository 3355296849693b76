/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nanoseconds a malloc and free pair under the wrappers: by how many ranges are
 * pending, and what keeping the set costs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "heap.h"

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

extern void __libc_free(void *p);

static double pairs(void (*release)(void *))
{
	double best = 1e30, t;

	for (int r = 0; r < 7; r++) {
		t = now();
		for (int i = 0; i < 200000; i++)
			release(malloc(64));
		t = (now() - t) / 200000;
		best = t < best ? t : best;
	}
	return best;
}

int main(void)
{
	static char buffer[1 << 20];
	static const int count[] = { 0, 1, 16, 256, 4096 };
	double t;

	printf("malloc + free, native           %6.1f ns\n", pairs(__libc_free));
	for (unsigned k = 0; k < sizeof(count) / sizeof(count[0]); k++) {
		krt_heap_synced(KRT_HEAP_ALL, krt_heap_mark());
		for (int i = 0; i < count[k]; i++)
			krt_heap_note((uintptr_t)buffer + i * 256, 128, i % 8);
		printf("malloc + free, %4d pending     %6.1f ns\n", count[k], pairs(free));
		t = now();
		for (int i = 0; i < 100000; i++)
			krt_heap_note((uintptr_t)buffer, 128, 0);
		printf("  a note of a known range       %6.1f ns\n", (now() - t) / 100000);
		t = now();
		for (int i = 0; i < 10000; i++) {
			krt_heap_note((uintptr_t)buffer + sizeof(buffer) / 2 + 1, 8, 99);
			krt_heap_synced(99, krt_heap_mark());
		}
		printf("  a new range and its wait      %6.1f ns\n", (now() - t) / 10000);
	}
	return 0;
}
