/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host functions that streams run: enqueued under a slot, run later, those of one
 * stream one after the other.
 */
#ifndef KRT_ORACLE_HOSTFN_H
#define KRT_ORACLE_HOSTFN_H

#include "graph.h"

#ifndef KRT_ORACLE_RECORDED
#define FUNCTIONS 3
#else
#define FUNCTIONS 64
#endif

struct functions {
	int op[FUNCTIONS]; /* that enqueued it, -1: none waits */
	unsigned lane[FUNCTIONS];
};

void functions_begin(struct functions *f);
bool functions_allow(const struct functions *f, const struct op *o);
void functions_step(struct functions *f, const struct program *p, unsigned i);

#endif
