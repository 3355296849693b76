/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops of a thread, found in the stream of its calls: the same calls again and
 * again.
 *
 * A thread has a path: the places passed since the loops that it is in last went
 * round, each once.  A call at a place that is on the path already is a back
 * edge: that place is the head of a loop, the loop has gone round once more, and
 * what lay behind the head leaves the path.  So nested loops come out as they
 * are nested, a round may take any branch, and a call costs the same however
 * long the rounds are.  A loop whose first call is also the first of a loop
 * inside it shares its head with that one: the two cannot be told apart by
 * their places (hot.c says what else is looked at).
 *
 * A place is a whole call stack of one thread, and the kernel where one is
 * launched; a site, which rules count at, is the call site at its end (site.c),
 * of one thread as well.
 *
 * Memory is bounded; calls at further places are in no loop.
 */
#ifndef KRT_LOOP_H
#define KRT_LOOP_H

#include "objects.h"

#define KRT_PLACES_MAX 32768
#define KRT_SITES_MAX  16384
#define KRT_SITE_ADDRS 8
#define KRT_LOG	       4096

/* What a thread has done so far; the difference of two is what lies between. */
struct krt_progress {
	uint64_t work;	   /* kernels, graphs, copies, sets enqueued */
	uint64_t launches; /* of which kernels and graphs */
	uint64_t submit_ns; /* inside the calls that enqueued work */
};

struct krt_place {
	uint64_t key;
	uint32_t at; /* on the path, from 1; 0: not on it */
	/* how it last left the path: with which loop, and what its head had done until then */
	struct krt_place *head;
	uint64_t head_rounds, head_left, head_passes, head_args;
	uint64_t left; /* how often it has left the path */
	uint64_t rounds;       /* that began here, if it is the head of a loop */
	uint64_t passes, args; /* launches made here, and a hash of their parameters (krt_args_*) */
	uint64_t launches;     /* of the thread, when it was passed last */
	bool copies;	       /* copies with a host side: several in a row are one round */
	UT_hash_handle hh;
};

/*
 * How often a loop has gone round since a place was passed, the round in hand
 * included: the one whose head took it off the path, and the one around that,
 * which the head itself left the path with (0: it did not).
 */
struct krt_rounds {
	uint64_t near, far;
};

struct krt_hot;	 /* hot.c: what a rule counts here */
struct krt_pace; /* pace.c: the stretches that end here */

struct krt_site {
	uint64_t key, code; /* code: without thread and kernel */
	uint16_t api;
	uint32_t stack;
	struct krt_place *last; /* where it was passed last */
	struct krt_hot *hot;
	struct krt_pace *pace;
	uint32_t addr[KRT_SITE_ADDRS]; /* hashes of those that its copies and sets met last */
	uint32_t addrs;
	bool waited; /* pace.c: the host has waited here before */
	/* the pass in hand: rounds since the one before; its loop while that goes on, and its head's launches */
	struct krt_rounds round;
	struct krt_place *loop;
	uint64_t loop_passes, loop_args;
	/* in the log: launches of the thread at the last entry, + 1; entries of one look, and which */
	uint64_t logged, look, entries;
	UT_hash_handle hh;
};

struct krt_path {
	struct krt_place **at;
	uint32_t n, cap;
	struct krt_progress done;
	struct krt_site **log; /* sites where the host took part (copies, waits), the last KRT_LOG */
	uint64_t logged;
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

/* NULL: one round. */
struct krt_rounds krt_place_rounds(const struct krt_place *p);
/* The thread is about to pass the place, which is the site's: how often has the site's loop gone round? */
void krt_site_pass(struct krt_site *s, struct krt_place *p);
/* The thread passes the place. */
void krt_path_pass(struct krt_heap *heap, struct krt_path *path, struct krt_place *p);
/* The thread's calls from here on are another thread's: no loop goes on. */
void krt_path_reset(struct krt_path *path);
/* The host took part at the site. */
void krt_path_log(struct krt_heap *heap, struct krt_path *path, struct krt_site *s);
/*
 * The most entries of one site other than s since `from` (krt_path.logged then):
 * rounds of loops that the host takes part in.
 */
uint64_t krt_path_steps(const struct krt_path *path, uint64_t from, const struct krt_site *s,
			uint64_t look);
void krt_path_free(struct krt_heap *heap, struct krt_path *path);

#endif
