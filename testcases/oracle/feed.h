/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by what feeds the engine: handles and addresses of slots. */
#ifndef KRT_ORACLE_FEED_H
#define KRT_ORACLE_FEED_H

#include "hostfn.h"
#include "trial.h"
#include "testcases/unit/rec_build.h"

#define REFUSED	     801	    /* NOT_SUPPORTED: what a call that fails answers */
#define BLOCKS_OF(n) (0x6000 + (n)) /* suballocators */
#define FLAGS	     0x7f0020000000
#define THE_POOL     0x9000 /* a pool of the driver's, of device 0 */

uint64_t handle_of_stream(const struct op *o);
uint64_t handle_of_event(const struct op *o, unsigned event);
uint64_t addr_of(const struct range *r);
enum krt_api_id copy_api(const struct op *o);

/* feed_graph.c: an operation on graphs, or one that is captured (capture >= 0); as they are
 * before and after it. */
void feed_graph(struct world *w, const struct program *p, unsigned i, const struct graphs *was,
		const struct graphs *is, int capture);

/* feed_memory.c */
void open_memory(struct world *w);
void map_memory(struct world *w, unsigned b);
void make_array(struct world *w, unsigned b);
void alloc_from_pool(struct world *w, unsigned b, uint64_t s);
void feed_array_copy(struct world *w, const struct op *o, uint64_t s);
void feed_memory(struct world *w, const struct op *o, uint64_t s);

#endif
