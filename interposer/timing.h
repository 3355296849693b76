/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device times (timing=cupti): what the device did for each call, and when, from
 * CUPTI's activity records into the record stream.
 */
#ifndef KRT_TIMING_H
#define KRT_TIMING_H

#include "internal.h"

#pragma GCC visibility push(hidden)

/* At attach, inside a wrapper.  Opens libcupti where the options say so. */
void krt_timing_open(void);
extern _Atomic uint32_t krt_timing_on;
/* Around a driver call that enqueues work: which one it is, for whoever is told of the work. */
void krt_timing_begin(unsigned lane, uint64_t call);
void krt_timing_end(void);
/* The process ends: what has been done is told. */
void krt_timing_flush(void);

#pragma GCC visibility pop
#endif
