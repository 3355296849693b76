/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is asked of the driver once per object: kernels' parameter layouts,
 * contexts, streams that nobody saw being born, devices.
 */
#ifndef KRT_OBJECTS_H
#define KRT_OBJECTS_H

#include "internal.h"

#pragma GCC visibility push(hidden)

struct krt_kernel {
	uint64_t func;
	uint64_t module;
	uint32_t id;
	uint32_t epoch;   /* of modules; an older one is asked again */
	uint32_t nparams; /* KRT_PARAMS_UNKNOWN: the driver cannot tell */
	uint32_t bytes;
	uint64_t content; /* hash of name and layout */
	struct krt_param param[];
};

bool krt_objects_open(void);
void krt_objects_driver(void); /* the DRIVER record */

/* Of a CUfunction or CUkernel, from the cache; NULL only without memory. */
const struct krt_kernel *krt_kernel(uint64_t func);
/* Handles of functions may mean something else now. */
void krt_kernels_stale(void);

/* The calling thread's context (0: none), its record written at first sight. */
uint64_t krt_current_context(void);
void krt_context_created(uint64_t ctx, bool primary);
void krt_context_gone(uint64_t ctx);

void krt_stream_seen(uint64_t stream, bool per_thread); /* before a call on it */
void krt_stream_created(uint64_t stream);
void krt_stream_gone(uint64_t stream);
bool krt_stream_captures(uint64_t stream, bool per_thread); /* or cannot tell */

#pragma GCC visibility pop
#endif
