/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Module images: what load and link calls are given, made known to the trace.
 */
#ifndef KRT_IMAGES_H
#define KRT_IMAGES_H

#include "call.h"

#pragma GCC visibility push(hidden)

bool krt_images_open(void);
/* Before a load or link call: an IMAGE blob that names what it is given. */
void krt_images_given(struct krt_call *call);
/* Images in memory, as a load call is given them: a wrapper is its containers. */
void krt_images_each(uint64_t addr, void (*fn)(void *user, uint64_t addr, uint64_t len), void *user);
/* After cuLinkComplete: one that names what the linker made. */
void krt_images_linked(struct krt_call *call);

#pragma GCC visibility pop
#endif
