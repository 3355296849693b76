/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recorded run as a program of the judge's.  What the judge does not have is named.
 */
#ifndef KRT_DROP_CONVERT_H
#define KRT_DROP_CONVERT_H

#include "testcases/oracle/trial.h"
#include "trace.h"

struct converted {
	struct program p;
	long record[OPS];     /* number of the record that an operation is of */
	uint64_t ticket[OPS]; /* of its call */
	/* of calls that are a part of another operation */
	struct inner {
		uint64_t ticket;
		unsigned op;
	} inner[OPS];
	unsigned inners;
	bool drops[OPS]; /* a wait, a sync or a record, or a query that came too late to wait */
	bool vague[OPS]; /* the judge does not know all that it does: it is not compared */
	unsigned number[OPS]; /* of the waits, syncs and records, for the simulator's sim_drop */
	/* with a call less it would go on as it did, and the CPU looks at nothing without saying so
	 */
	bool open;
	char lacks[96]; /* what cannot be said in a program; "": all can */
};

void convert(struct converted *c, const struct trace *t);
/* Leaves what is not compared out of the judge's verdict. */
void leave_vague_out(struct verdict *v, const struct converted *c);
/* The findings that the judge knows, in its terms; t->why: one makes no sense. */
void take_findings(struct trial *trial, const struct converted *c, const struct krt_report *r);

#endif
