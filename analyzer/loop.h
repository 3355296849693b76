/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops of a thread, found in the stream of its calls: the same call sites again
 * and again.
 *
 * A thread has a path: the sites passed since the loops that it is in last went
 * round, each once.  A call at a site that is on the path already is a back
 * edge: that site is the head of a loop, the loop has gone round once more, and
 * what lay behind the head leaves the path.  So nested loops come out as they
 * are nested, a round may take any branch, and a call costs the same however
 * long the rounds are.  A loop whose first call is also the first of a loop
 * inside it shares its head with that one: the two cannot be told apart by
 * their sites (hot.c says what else is looked at).
 *
 * A site is a call site of one thread, and the kernel where one is launched:
 * the first few frames outside cudart, libcuda and the CUDA libraries, and not
 * the first alone (a program with cudart linked in has that library's frames
 * among its own).
 *
 * Memory: KRT_SITES_MAX sites an engine; calls at further ones are in no loop.
 */
#ifndef KRT_LOOP_H
#define KRT_LOOP_H

#include "objects.h"

#define KRT_SITES_MAX 16384

/* What a thread has done so far; the difference of two is what lies between. */
struct krt_progress {
	uint64_t work;	   /* kernels, graphs, copies, sets enqueued */
	uint64_t launches; /* of which kernels and graphs */
	uint64_t hosts;	   /* copies with a host side, and waits */
	uint64_t steps;	   /* rounds of whatever loop that held launches and one of the above */
	uint64_t submit_ns; /* inside the calls that enqueued work */
};

struct krt_hot;	 /* hot.c: what a rule counts here */
struct krt_pace; /* pace.c: the stretches that end here */

struct krt_site {
	uint64_t key;
	uint16_t api;
	uint32_t stack;
	uint32_t place; /* on the path, from 1; 0: not on it */
	/* how it last left the path: with which loop, and which round of that began then */
	struct krt_site *head;
	uint64_t head_round;
	uint64_t head_passes, head_args; /* of the head until then */
	bool returned; /* it was not on the path when it was passed last, but had been */
	/* as a head */
	uint64_t rounds;
	uint64_t passes, args; /* launches made here, and a hash of their parameters (krt_args_*) */
	struct krt_progress seen; /* at its last pass */
	struct krt_hot *hot;
	struct krt_pace *pace;
	bool waited; /* pace.c: the host has waited here before */
	UT_hash_handle hh;
};

struct krt_path {
	struct krt_site **at;
	uint32_t n, cap;
	struct krt_progress done;
};

/*
 * A hash of a sequence from which that of a part can be had: the parameters of
 * the launches from pass m (exclusive) to pass n.
 */
#define KRT_ARGS_BASE 0x9e3779b97f4a7c15ull
static inline uint64_t krt_args_add(uint64_t h, uint64_t v)
{
	return h * KRT_ARGS_BASE + v;
}
static inline uint64_t krt_args_part(uint64_t at_m, uint64_t at_n, uint64_t len)
{
	while (len--)
		at_m *= KRT_ARGS_BASE;
	return at_n - at_m;
}

/* The thread passes the site. */
void krt_path_pass(struct krt_heap *heap, struct krt_path *p, struct krt_site *s);
/* The thread's calls from here on are another thread's: no loop goes on. */
void krt_path_reset(struct krt_path *p);
void krt_path_free(struct krt_heap *heap, struct krt_path *p);

#endif
