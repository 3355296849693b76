/* SPDX-License-Identifier: Apache-2.0 */
/* One program before the engine and before the judge. */
#ifndef KRT_ORACLE_TRIAL_H
#define KRT_ORACLE_TRIAL_H

#include "program.h"

#define FINDINGS 4096

struct told {
	int rule, cur, prev;
	uint8_t buffer;
	cells_t cells; /* from the first to the last: what lies between may be gaps */
	cells_t ends;  /* the first and the last */
	bool in_view[VIEWS];
};

struct trial {
	unsigned n;
	struct told told[FINDINGS];
	struct verdict verdict;
	char why[256];
	enum fault fault;
};

bool is_race(int rule);
bool is_host(int rule);
bool is_free(int rule);
bool is_of_graphs(int rule);
bool is_judged(int rule); /* the judge knows it */
bool is_aside(int rule);  /* but recorded programs are not held to it */

/* Its findings go to t->told; t->why, unless empty: one of them makes no sense. */
void ask_engine(struct trial *t, const struct program *p);
/* Both have been asked; t->why tells where they differ. */
bool same(struct trial *t, const struct program *p);
/* Asks both. */
bool agree(struct trial *t, const struct program *p);

#endif
