/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by what feeds the engine: handles and addresses of slots. */
#ifndef KRT_ORACLE_FEED_H
#define KRT_ORACLE_FEED_H

#include "graph.h"
#include "trial.h"
#include "testcases/unit/rec_build.h"

uint64_t handle_of_stream(const struct op *o);
uint64_t handle_of_event(const struct op *o, unsigned event);
uint64_t addr_of(const struct range *r);
enum krt_api_id copy_api(const struct op *o);

/* feed_graph.c: an operation on graphs, or one that is captured (capture >= 0); as they are
 * before and after it. */
void feed_graph(struct world *w, const struct program *p, unsigned i, const struct graphs *was,
		const struct graphs *is, int capture);

#endif
