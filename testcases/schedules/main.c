/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small random programs under every schedule of the simulated driver, against what the
 * engine says of them:
 *
 *   schedules [N [SEED [FEATURES]]]
 *
 * What a program leaves in memory, or reads of it, must not depend on the schedule unless
 * there is a finding: an error where the driver waits as it was seen to, an error or a
 * warning where it only does what is promised.  And of each pair of operations that a finding
 * names, the later one can be done before the earlier one is over.
 *
 * The order of a schedule is the simulator's own: no edge of the engine's or the judge's
 * is in it.  Two processes, one for each view.
 */
#include "search.h"
#include "testcases/oracle/trial.h"
#include "rules/finding.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define FAILED_MAX 5 /* then it stops */
#define BATCH	   200

static const char *const view_name[VIEWS] = {"documented", "observed"};

static void draw(struct program *p, uint64_t seed, unsigned features)
{
	program_random(p, seed, features & executable);
	if (p->n > SCHEDULE_OPS)
		p->n = SCHEDULE_OPS;
	program_check(p);
}

struct batch {
	struct found found[VIEWS][BATCH];
};

static void explore(struct batch *b, uint64_t seed, unsigned n, unsigned features)
{
	pid_t child[VIEWS];

	for (int v = 0; v < VIEWS; v++) {
		fflush(stdout);
		child[v] = fork();
		if (child[v])
			continue;
		execute_open((enum view)v);
		for (unsigned i = 0; i < n; i++) {
			struct program p;

			draw(&p, seed + i, features);
			search(&p, (enum view)v, &b->found[v][i]);
		}
		_exit(0);
	}
	for (int v = 0; v < VIEWS; v++) {
		int status;

		if (child[v] < 0 || waitpid(child[v], &status, 0) < 0 || status) {
			fprintf(stderr, "schedules: %s view: the simulator ended badly\n",
				view_name[v]);
			exit(1);
		}
	}
}

/* --- judgement ----------------------------------------------------------------------- */

struct counts {
	unsigned long passed, failed, refused, unknown, too_many, runs, schedules, differ, pairs;
	unsigned long talks;	    /* depend on the schedule by that alone */
	unsigned long silent, loud; /* wrong engines that would be found out */
};

static void print_schedule(const char *name, const struct schedule *s)
{
	printf("%s:", name);
	for (unsigned i = 0; i < s->n; i++)
		printf(" %u", s->op[i]);
	printf("\n");
}

static void print_difference(const struct found *f)
{
	print_schedule("one schedule", &f->one);
	print_schedule("another", &f->other);
	for (unsigned b = 0; b < BUFFERS; b++)
		for (unsigned i = 0; i < CELLS; i++)
			if (f->one.seen.word[b][i] != f->other.seen.word[b][i])
				printf("%s, cell %u: %x, %x\n", buffer_slot[b].name, i,
				       f->one.seen.word[b][i], f->other.seen.word[b][i]);
	for (unsigned o = 0; o < SCHEDULE_OPS; o++)
		for (unsigned i = 0; i < CELLS; i++)
			if (f->one.seen.read[o][i] != f->other.seen.read[o][i])
				printf("operation %u reads %x, %x\n", o, f->one.seen.read[o][i],
				       f->other.seen.read[o][i]);
}

static bool meet(const struct op *a, const struct range *r, const struct op *b)
{
	for (unsigned i = 0; i < b->nranges; i++)
		if (b->range[i].buffer == r->buffer && (b->range[i].write || r->write) &&
		    cells_of(a, r) & cells_of(b, &b->range[i]))
			return true;
	return false;
}

static bool on_host(const struct range *r)
{
	return buffer_slot[r->buffer].kind == PINNED || buffer_slot[r->buffer].kind == PAGEABLE;
}

static bool by_cpu(const struct op *o)
{
	if (o->what == OP_COPY || o->what == OP_COPY_SYNC)
		return on_host(&o->range[0]) && on_host(&o->range[1]);
	return o->what == OP_HOST_READ || o->what == OP_HOST_WRITE || o->what == OP_HOSTFN_RUN;
}

/*
 * Kernels and the CPU may talk to each other through pinned memory, with flags and the like:
 * what comes of that is not told.
 */
static bool talks(const struct program *p)
{
	for (unsigned i = 0; i < p->n; i++)
		for (unsigned k = 0; p->op[i].what == OP_KERNEL && k < p->op[i].nranges; k++)
			for (unsigned j = 0; j < p->n; j++)
				if (!p->left_out[i] && !p->left_out[j] &&
				    buffer_slot[p->op[i].range[k].buffer].kind == PINNED &&
				    by_cpu(&p->op[j]) &&
				    meet(&p->op[i], &p->op[i].range[k], &p->op[j]))
					return true;
	return false;
}

static bool tells(const struct trial *t, enum view v)
{
	for (unsigned i = 0; i < t->n; i++)
		if (t->told[i].in_view[v])
			return true;
	return false;
}

/* Is what differs told of? */
static bool is_told(const struct trial *t, const struct program *p, const struct found *f,
		    enum view v)
{
	return !f->differ || tells(t, v) || talks(p);
}

/* The source of this copy is read by the call: then that counts. */
static bool by_call(const struct op *o, uint8_t buffer)
{
	if (o->what == OP_BATCH)
		return o->order == 2;
	return buffer_slot[buffer].kind == PAGEABLE &&
	       (o->what == OP_COPY || o->what == OP_COPY_SYNC);
}

/* Of copies of one batch, and of when sources are read at any time, the simulator tries one order.
 */
static bool is_tried(const struct program *p, const struct told *x)
{
	return x->cur != x->prev && !(p->op[x->cur].what == OP_BATCH && p->op[x->cur].order == 3) &&
	       !(p->op[x->prev].what == OP_BATCH && p->op[x->prev].order == 3);
}

/* Can what is told happen in either order?  The call of the earlier comes first anyway. */
static const struct told *impossible(const struct trial *t, const struct program *p,
				     const struct found *f, enum view v)
{
	for (unsigned i = 0; i < t->n; i++) {
		const struct told *x = &t->told[i];

		if (x->in_view[v] && (is_race(x->rule) || is_host(x->rule)) && is_tried(p, x) &&
		    !f->passed[x->cur][x->prev] &&
		    !(by_call(&p->op[x->cur], x->buffer) && f->called[x->cur][x->prev]))
			return x;
	}
	return NULL;
}

static bool complain(const struct program *p, uint64_t seed, const char *what, enum view v)
{
	printf("not ok program %lu, %s view: %s\n", (unsigned long)seed, view_name[v], what);
	program_print(p, stdout);
	return false;
}

static bool holds(struct trial *t, const struct program *p, uint64_t seed, const struct found *f,
		  enum view v)
{
	const struct told *x;
	char why[128];

	if (t->why[0])
		return complain(p, seed, t->why, v);
	if (!is_told(t, p, f, v)) {
		complain(p, seed, "memory depends on the schedule, and nothing is told", v);
		print_difference(f);
		return false;
	}
	/* no schedule ends: it waits for a function that runs only later */
	x = f->too_many || !f->schedules ? NULL : impossible(t, p, f, v);
	if (x) {
		snprintf(why, sizeof(why), "%s of %d with %d cannot happen", krt_rules[x->rule].id,
			 x->cur, x->prev);
		return complain(p, seed, why, v);
	}
	return true;
}

/*
 * What would be said of an engine that tells nothing, and of one that tells of all pairs?
 */
static void try_others(const struct program *p, const struct found *f, enum view v,
		       struct counts *c)
{
	static struct trial t;

	t.n = 0;
	c->silent += !is_told(&t, p, f, v);
	for (int a = 0; a < (int)p->n; a++)
		for (int b = 0; b < a; b++)
			t.told[t.n++] = (struct told){.rule = KRT_RULE_RACE_WAW,
						      .cur = a,
						      .prev = b,
						      .buffer = p->op[a].range->buffer,
						      .in_view = {true, true}};
	c->loud += impossible(&t, p, f, v) != NULL;
}

static void judge_batch(const struct batch *b, uint64_t seed, unsigned n, unsigned features,
			struct counts *c)
{
	static struct trial t;

	for (unsigned i = 0; i < n && c->failed < FAILED_MAX; i++) {
		struct program p;
		bool ok = true, judged = true;

		draw(&p, seed + i, features);
		t.why[0] = 0;
		ask_engine(&t, &p);
		for (int v = 0; v < VIEWS; v++) {
			const struct found *f = &b->found[v][i];

			c->runs += f->runs;
			c->schedules += f->schedules;
			c->differ += f->differ;
			c->too_many += f->too_many;
			c->refused += f->did == REFUSED;
			c->unknown += f->did == UNKNOWN;
			judged &= f->did == DID;
			if (f->did != DID || !ok)
				continue;
			c->talks += f->differ && !tells(&t, (enum view)v) && talks(&p);
			ok = holds(&t, &p, seed + i, f, (enum view)v);
			try_others(&p, f, (enum view)v, c);
		}
		c->pairs += t.n;
		c->passed += ok && judged;
		c->failed += !ok;
	}
}

int main(int argc, char **argv)
{
	unsigned long n = argc > 1 ? strtoul(argv[1], NULL, 0) : 1000;
	unsigned long seed = argc > 2 ? strtoul(argv[2], NULL, 0) : 1;
	unsigned features = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 0) : F_ALL;
	struct counts c = {0};
	struct batch *b =
		mmap(NULL, sizeof(*b), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (b == MAP_FAILED)
		return 1;
	for (unsigned long i = 0; i < n && c.failed < FAILED_MAX; i += BATCH) {
		unsigned k = n - i < BATCH ? (unsigned)(n - i) : BATCH;

		explore(b, seed + i, k, features);
		judge_batch(b, seed + i, k, features, &c);
	}
	printf("%lu runs, %lu schedules to the end, %lu programs and views in which they differ "
	       "(%lu of them where kernels and the CPU share pinned memory, which nothing tells "
	       "of), "
	       "%lu findings\n",
	       c.runs, c.schedules, c.differ, c.talks, c.pairs);
	printf("not judged: %lu refused, %lu unknown, %lu not whole\n", c.refused, c.unknown,
	       c.too_many);
	printf("%lu passed, %lu failed\n", c.passed, c.failed);
	return c.failed || !c.passed || !c.pairs || !c.silent || !c.loud;
}
