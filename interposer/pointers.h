/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device addresses: which there are, and which of them small copies from the
 * host carry to the device (tables that kernels take their buffers from).
 */
#ifndef KRT_POINTERS_H
#define KRT_POINTERS_H

#include "call.h"

#pragma GCC visibility push(hidden)

bool krt_pointers_open(void);
/* The driver gave out addresses; host: they are ordinary memory of the CPU too. */
void krt_pointers_range(uint64_t addr, uint64_t len, bool host);
/* The driver gave out host memory: it can be read until it is given back. */
void krt_pointers_pinned(uint64_t addr, uint64_t len);
/* Before memory is given back; 0: all of it. */
void krt_pointers_gone(uint64_t addr);
/* Before a copy: a POINTERS blob, if its source is host memory that holds some. */
void krt_pointers_given(struct krt_call *call);

#pragma GCC visibility pop
#endif
