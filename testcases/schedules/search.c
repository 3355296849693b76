/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See search.h.  Depth first: a run follows the choices of the last one as far as they
 * still have another, then makes the first choice everywhere.  Records, waits and other
 * points of streams run as soon as they can: nobody sees when.
 */
#include "search.h"

#include "testcases/sim/activity.h"
#include "testcases/sim/schedule.h"

#include <stdlib.h>
#include <string.h>

#define RUNS   20000
#define DEPTH  64
#define STATES (1u << 16)
#define CALLS  4096 /* of one run: numbers modulo this are its own */

static const struct program *prog;
static struct found *found;
static unsigned at; /* the operation that the program is at */

static struct {
	uint8_t choice, options;
} path[DEPTH];
static unsigned npath, depth;

static uint64_t state[STATES];
static unsigned nstates;
static bool left;	  /* this run goes where another has been */
static int function = -1; /* the host function that has to run now */

static uint8_t op_of_call[CALLS];
static bool called[SCHEDULE_OPS], done[SCHEDULE_OPS];
static uint64_t staged[SCHEDULE_OPS]; /* what a copy of pageable memory took with it */
static struct schedule now;

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15ull;
	return h ^ h >> 29;
}

static uint64_t hash(uint64_t h, const void *p, size_t n)
{
	const uint32_t *w = p;

	for (size_t i = 0; i < n / sizeof(*w); i++)
		h = mix(h, w[i]);
	return h;
}

/* False: it was there. */
static bool new_state(bool waits)
{
	uint64_t h = mix(mix(1, at), waits);

	for (unsigned i = 0; i < prog->n; i++)
		h = mix(mix(h, done[i]), staged[i]);
	h = hash(h, execute_seen(), sizeof(struct seen)) | 1;
	for (unsigned i = (unsigned)h % STATES;; i = (i + 1) % STATES) {
		if (state[i] == h)
			return false;
		if (!state[i]) {
			state[i] = h;
			nstates++;
			return true;
		}
	}
}

static void note_order(void)
{
	for (unsigned a = 0; a < prog->n; a++)
		for (unsigned b = 0; b < a; b++)
			if (!done[b]) {
				found->passed[a][b] |= done[a];
				found->called[a][b] |= called[a];
			}
}

static bool is_function(unsigned op)
{
	return prog->op[op].what == OP_HOSTFN;
}

static void has_run(unsigned op)
{
	done[op] = true;
	if (is_function(op) && execute_partner(op) >= 0)
		done[execute_partner(op)] = true;
	if (now.n < STEPS)
		now.op[now.n++] = (uint8_t)op;
}

static unsigned choice(unsigned options, bool waits)
{
	if (depth < npath)
		return path[depth++].choice;
	if (!left)
		note_order();
	if (left || !new_state(waits) || npath == DEPTH || nstates > STATES / 2) {
		found->too_many |= npath == DEPTH || nstates > STATES / 2;
		left = true;
		return options - 1;
	}
	path[npath].choice = 0;
	path[npath++].options = (uint8_t)options;
	depth++;
	return 0;
}

static int choose(const struct sim_ready *ready, unsigned n, bool must)
{
	unsigned may[SIM_READY_MAX], k, m = 0;

	for (unsigned i = 0; i < n; i++)
		if (ready[i].mark)
			return (int)i;
	if (function >= 0 && done[function])
		return -1;
	for (unsigned i = 0; i < n; i++) {
		unsigned op = op_of_call[ready[i].call % CALLS];

		if (!is_function(op) || (int)op == function || execute_partner(op) < 0)
			may[m++] = i;
	}
	if (must && !m && n) { /* it waits for a function that has not run yet: it cannot */
		left = true;
		may[m++] = 0;
	}
	if (!m)
		return -1;
	must |= function >= 0;
	k = choice(m + !must, must);
	if (k == m)
		return -1;
	has_run(op_of_call[ready[may[k]].call % CALLS]);
	return (int)may[k];
}

static void call(uint32_t number)
{
	op_of_call[number % CALLS] = (uint8_t)at;
}

/* What a call may have read. */
static void take_staged(unsigned i)
{
	const struct op *o = &prog->op[i];

	for (unsigned k = 1; k < o->nranges && o->what != OP_KERNEL; k += 2) {
		const struct range *r = &o->range[k];

		staged[i] = hash(staged[i] + 1, &execute_seen()->word[r->buffer][r->from],
				 r->n * sizeof(uint32_t));
	}
}

static bool on_cpu(const struct op *o)
{
	return o->what == OP_HOST_READ || o->what == OP_HOST_WRITE;
}

/* False: something that it comes behind waits for another function. */
static bool function_runs(int op)
{
	function = op;
	sim_schedule();
	function = -1;
	return done[op];
}

static enum did run(enum view view)
{
	enum did did = DID;

	execute_reset();
	memset(called, 0, sizeof(called));
	memset(done, 0, sizeof(done));
	memset(staged, 0, sizeof(staged));
	depth = 0;
	left = false;
	now.n = 0;
	for (at = 0; at < prog->n && did == DID; at++) {
		if (prog->left_out[at])
			continue;
		sim_schedule();
		if (prog->op[at].what == OP_HOSTFN_RUN && !function_runs(execute_partner(at)))
			did = OTHERWISE;
		else
			did = execute(&prog->op[at], at, view);
		if (on_cpu(&prog->op[at]))
			has_run(at);
		take_staged(at);
		called[at] = true;
	}
	left |= did != DID;
	found->at = (uint8_t)(at - 1);
	execute_end();
	return did;
}

static bool next_path(void)
{
	while (npath && path[npath - 1].choice + 1 == path[npath - 1].options)
		npath--;
	if (!npath)
		return false;
	path[npath - 1].choice++;
	return true;
}

static void is_over(void)
{
	now.seen = *execute_seen();
	if (!found->schedules++)
		found->one = now;
	else if (!found->differ && memcmp(&found->one.seen, &now.seen, sizeof(now.seen))) {
		found->differ = true;
		found->other = now;
	}
}

void search(const struct program *p, enum view view, struct found *f)
{
	prog = p;
	found = f;
	memset(f, 0, sizeof(*f));
	memset(state, 0, sizeof(state));
	nstates = npath = 0;
	execute_program(p);
	sim_activity_open(NULL, call);
	sim_schedule_by(choose);
	do {
		enum did did = run(view);

		f->runs++;
		if (did == REFUSED || did == UNKNOWN) {
			f->did = did;
			break;
		}
		if (!left)
			is_over();
		if (f->runs == RUNS)
			f->too_many = true;
	} while (next_path() && f->runs < RUNS);
	sim_schedule_by(NULL);
}
