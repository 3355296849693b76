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
/* After cuLinkComplete: one that names what the linker made. */
void krt_images_linked(struct krt_call *call);

#pragma GCC visibility pop
#endif
