/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pageable and registered host memory that asynchronous operations and graphs
 * name: the sets of pending and of held ranges, and the wrappers of free, realloc, munmap and mremap
 * that look into it (heap.c).
 *
 * The sets may be too large, never too small.  For that
 *   - a range is noted after the driver accepted the operation, before the
 *     wrapped call returns and before it takes its second ticket;
 *   - a wait (or a query that says done) takes krt_heap_mark() before the driver
 *     is called and hands it to krt_heap_synced() afterwards: only ranges noted
 *     before the mark are taken out, so an operation that another thread
 *     enqueued meanwhile stays.
 * A program that frees from another thread while the enqueuing call has not
 * returned has no order between the two anyway.
 */
#ifndef KRT_HEAP_H
#define KRT_HEAP_H

#include <stdbool.h>
#include <stdint.h>

/*
 * [base, base + len) is named by an operation on stream: any value that tells
 * streams apart (the default streams of two contexts must differ).  May wait
 * for a realloc of the same bytes in another thread.  Any thread.
 */
void krt_heap_note(uint64_t base, uint64_t len, uint64_t stream);

/* What has been noted so far, for krt_heap_synced. */
uint64_t krt_heap_mark(void);

/* All that was enqueued on stream before mark is done. */
void krt_heap_synced(uint64_t stream, uint64_t mark);
#define KRT_HEAP_ALL UINT64_MAX /* as stream: on every one */

/*
 * Graphs.  [base, base + len) is named by a node: held, whatever is waited for,
 * until its holder lets go.  A holder is a graph's handle, or an executable's
 * with its lowest bit set.
 */
void krt_heap_hold(uint64_t base, uint64_t len, uint64_t holder, uint64_t node);
/*
 * What holder holds, of all nodes (node 0) or of one, is held no more; of any
 * graph with holder 0.  What an executable held may still be used by its
 * launches: it becomes pending on the stream of these, on all where there were
 * several.
 */
void krt_heap_release(uint64_t holder, uint64_t node);
/* The graph that holds memory for a node, 0: none. */
uint64_t krt_heap_holder(uint64_t node);
/* The executable was launched on stream. */
void krt_heap_launched(uint64_t holder, uint64_t stream);

/*
 * [base, base + len) is the driver's: no free or munmap of the program ends it,
 * so that operations on it need not be noted.  At most DEVICE_MAX are known (the
 * rest is noted needlessly).  krt_heap_device_gone() comes before the driver is
 * told to free it; 0: all of it, when a context goes.
 */
void krt_heap_device(uint64_t base, uint64_t len);
void krt_heap_device_gone(uint64_t base);
bool krt_heap_is_device(uint64_t lo, uint64_t hi); /* as far as it is known */

/* In a fork child: nothing is pending, no lock is held. */
void krt_heap_forked(void);

#endif
