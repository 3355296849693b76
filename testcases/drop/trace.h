/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recorded run of one process in memory, and what an engine says of it, whole or with a
 * call left out.  Every call gets a call site of its own, so that each pair of operations
 * is a finding.
 */
#ifndef KRT_DROP_TRACE_H
#define KRT_DROP_TRACE_H

#include "analyzer/decode.h"
#include "analyzer/engine_int.h"

struct record {
	const struct krt_rec *rec;
	size_t len;
	unsigned lane;
};

/* What a kernel surely touches: rows of pieces, as in struct krt_kernel_access. */
struct touched {
	uint64_t launch; /* ticket */
	unsigned kind;	 /* enum krt_access_kind */
	bool array;	 /* not by address */
	uint64_t addr, len, rows, pitch, stride, width, from, end;
};

struct trace {
	struct record *record;
	size_t n, cap;
	struct krt_engine_config cfg;
	struct touched *touched;
	size_t ntouched, touched_cap;
	uint64_t *waits; /* tickets of kernels that may wait for others */
	size_t nwaits, waits_cap;
	bool awaits; /* a kernel does nothing else: what comes behind it is in an order */
};

/* options: KRTSAN_OPTIONS of the run.  False: why tells. */
bool trace_open(struct trace *t, const char *dir, const char *options, char *why, size_t len);
void trace_close(struct trace *t);
/* Fed to an engine, without record number `without` (-1: all); the caller's to destroy. */
struct krt_report *trace_report(struct trace *t, long without);

#endif
