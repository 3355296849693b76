/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of the process: attach at the first successful cuInit, exit, exec,
 * and a bare run's analysis.
 */
#ifndef KRT_PROCESS_H
#define KRT_PROCESS_H

#include "internal.h"

#pragma GCC visibility push(hidden)

/* Begins to record (once; no-op when that was tried).  trouble: KRT_TROUBLE_LATE or 0. */
void krt_attach(unsigned trouble);
/* Not recording: could this call's success begin it? */
bool krt_attach_watch(unsigned api);
/* Bare runs at the bound: starts a reader, or says that one was started. */
bool krt_reader_early(void);
/* A front end answers for this process but has not shown itself yet. */
bool krt_reader_coming(void);
#pragma GCC visibility pop
#endif
