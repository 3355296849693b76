/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names for stack frames, at report time: function, file and line from DWARF
 * and symbol tables (elfutils), inlined calls expanded, separate debug files
 * found by build-id or link.  Nothing is fetched from a network.  A file that is not
 * the one that ran (build-id) is not used.
 */
#ifndef KRT_SYMBOLS_H
#define KRT_SYMBOLS_H

#include "../rules/finding.h"

struct krt_symbols;

/* debug_path: folders like /usr/lib/debug, by colons, besides that one; "" none. */
struct krt_symbols *krt_symbols_new(const char *debug_path);
void krt_symbols_destroy(struct krt_symbols *s);
/*
 * A module seen by a process (a MODULE record; process: any number of the
 * caller's, pids are not unique over an exec): its range in memory, load
 * bias, file and build-id.  A later module at the same addresses replaces an
 * earlier one for stacks named from then on.
 */
struct krt_rec_module;
int krt_symbols_module(struct krt_symbols *s, unsigned process, const struct krt_rec_module *m,
		       size_t len);
/*
 * Fills in module and offset where missing, then function, file and line.
 * Inlined calls become frames of their own.  New memory comes from the arena.
 */
void krt_symbols_stack(struct krt_symbols *s, unsigned process, struct krt_stack *st,
		       struct krt_arena *a);
/*
 * Files whose frames got no names because they are gone or are others than those
 * that ran: the next one's path after `path` (NULL: the first) and why; NULL: no more.
 */
const char *krt_symbols_missing(const struct krt_symbols *s, const char *path, const char **why);

#endif
