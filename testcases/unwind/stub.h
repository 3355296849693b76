/* SPDX-License-Identifier: Apache-2.0 */
/* A recorder in memory (stub.c). */
#ifndef STUB_H
#define STUB_H

#include "internal.h"

#define STUB_LANE0 (8u << 20)
#define STUB_CALLS 65536

struct stub_call {
	unsigned api;
	uint64_t addr, len;
};

extern char stub_lane0[STUB_LANE0];
extern size_t stub_lane0_len;
extern struct stub_call stub_calls[STUB_CALLS];
extern _Atomic unsigned stub_ncalls;
extern __thread unsigned stub_mine; /* calls of this thread */
extern unsigned stub_troubles;
extern void (*stub_on_call)(void); /* runs inside krt_record_libc */

void stub_attach(bool on);

#endif
