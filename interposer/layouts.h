/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parameter layouts for drivers that cannot tell them (older than 12.4), from the
 * images of modules.
 */
#ifndef KRT_LAYOUTS_H
#define KRT_LAYOUTS_H

#include "call.h"
#include "image_format.h"

#pragma GCC visibility push(hidden)

/* The driver's version; decides whether anything is kept at all. */
void krt_layouts_driver(int version);
/* After a successful load, look-up of a function, unload. */
void krt_layouts_loaded(const struct krt_call *call);
void krt_layouts_function(const struct krt_call *call);
void krt_layouts_unloaded(uint64_t module);

/* Handles of modules may mean something else now. */
void krt_layouts_stale(void);
#define KRT_NAME_MAX 4096
/*
 * What is known of a CUfunction or CUkernel, by how it was looked up: its name (a
 * buffer of KRT_NAME_MAX, empty if unknown), its module (0: unknown) and, if true
 * comes back, its layout; param has room for KRT_PARAMS_MAX.
 */
bool krt_layouts_find(uint64_t func, char *name, uint64_t *module, struct krt_param *param,
		      uint32_t *n, uint32_t *bytes);

#pragma GCC visibility pop
#endif
