/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine against the judge on random programs:
 *
 *   oracle [N [SEED [FEATURES]]]   features: a mask, or names with commas
 *   oracle replay FILE...        programs as text, those that once were not ok
 *
 * Each call has a stack of its own, so that every pair of operations is a
 * finding.  What they do not agree on (compare.c) is made small and printed: as text
 * for found/, and as a unit test.
 */
#include "trial.h"
#include "rules/finding.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define FAILED_MAX 5 /* then it stops */

/* --- making it small ------------------------------------------------------------------ */

/* Is the changed program one that they do not agree on either?  Then it is the program now. */
static bool keep(struct trial *t, struct program *p, struct program *changed)
{
	program_check(changed);
	if (agree(t, changed))
		return false;
	*p = *changed;
	return true;
}

static bool without(struct trial *t, struct program *p, unsigned i)
{
	struct program q = *p;

	memmove(&q.op[i], &q.op[i + 1], (q.n - i - 1) * sizeof(*q.op));
	q.n--;
	return keep(t, p, &q);
}

static bool simpler(struct trial *t, struct program *p, unsigned i)
{
	struct program q = *p;
	bool any = false;

	for (unsigned k = q.op[i].what == OP_KERNEL ? q.op[i].nranges : 0;
	     k-- > 0 && q.op[i].nranges > 1; q = *p) {
		memmove(&q.op[i].range[k], &q.op[i].range[k + 1],
			(q.op[i].nranges - k - 1) * sizeof(struct range));
		q.op[i].nranges--;
		any |= keep(t, p, &q);
	}
	for (unsigned k = 0; k < q.op[i].nranges; k++) {
		for (q = *p; q.op[i].range[k].n > 1; q = *p) {
			q.op[i].range[k].n--;
			if (q.op[i].what != OP_KERNEL && q.op[i].nranges > 1)
				q.op[i].range[k ^ 1].n = q.op[i].range[k].n;
			if (!keep(t, p, &q))
				break;
			any = true;
		}
		q = *p;
	}
#define X(field)                                                                                   \
	q = *p;                                                                                    \
	if (q.op[i].field) {                                                                       \
		q.op[i].field = 0;                                                                 \
		any |= keep(t, p, &q);                                                             \
	}
	OP_FIELDS(X)
#undef X
	return any;
}

static void shrink(struct trial *t, struct program *p)
{
	bool again = true;

	while (again) {
		again = false;
		for (unsigned i = p->n; i-- > 0;)
			again |= without(t, p, i);
		for (unsigned i = 0; i < p->n; i++)
			again |= simpler(t, p, i);
	}
	agree(t, p);
}

#define FAULT_PROGRAMS 20000 /* in which each must be seen */

/* Is every wrong judge found out? */
static bool faults_are_seen(struct trial *t)
{
	static const char *const name[] = {
#define X(text) #text,
		FAULTS(X)
#undef X
	};
	/* in programs of everything some are rare */
	static const unsigned features[] = {
		F_ALL,
		F_ALL & ~(unsigned)F_GRAPHS,
		F_FREES | F_KERNELS | F_GRAPHS | F_GRAPHS_BUILT | F_GRAPHS_CHANGED | F_NARROW,
	};
	bool all = true;

	for (unsigned f = FAULT_NONE + 1; f < NR_FAULTS; f++) {
		bool seen = false;

		t->fault = f;
		for (uint64_t seed = 1; !seen && seed <= FAULT_PROGRAMS; seed++) {
			struct program p;

			program_random(&p, seed,
				       features[seed % (sizeof(features) / sizeof(*features))]);
			seen = !agree(t, &p);
		}
		if (!seen)
			printf("not ok: a judge without %s agrees with the engine\n", name[f]);
		all &= seen;
	}
	t->fault = FAULT_NONE;
	return all;
}

/* --- the programs ---------------------------------------------------------------------- */

static bool replay_one(struct trial *t, const char *path)
{
	FILE *in = fopen(path, "r");
	char why[128] = "it cannot be opened";
	struct program p;
	bool ok = in && program_read(&p, in, why, sizeof(why));

	if (in)
		fclose(in);
	for (unsigned i = 0; ok && i < p.n; i++)
		if (p.left_out[i]) {
			snprintf(why, sizeof(why), "operation %u makes no sense there", i);
			ok = false;
		}
	if (!ok)
		printf("not ok %s: %s\n", path, why);
	else if (!agree(t, &p))
		printf("not ok %s: %s\n", path, t->why);
	else
		return true;
	return false;
}

static int replay(struct trial *t, char **path)
{
	unsigned long passed = 0, failed = 0;

	for (; *path; path++)
		*(replay_one(t, *path) ? &passed : &failed) += 1;
	printf("%lu passed, %lu failed\n", passed, failed);
	return failed != 0;
}

/* What was judged: pairs that are not in order, by rule. */
static unsigned long tally(unsigned long *by_rule, const struct verdict *v)
{
	for (unsigned i = 0; i < v->n; i++)
		by_rule[v->pair[i].rule]++;
	return v->n;
}

static int random_programs(struct trial *t, unsigned long n, unsigned long seed, unsigned features)
{
	unsigned long passed = 0, failed = 0, pairs = 0, by_rule[KRT_NR_RULES] = {0};

	failed += !faults_are_seen(t);
	for (unsigned long i = 0; i < n && failed < FAILED_MAX; i++) {
		struct program p;

		program_random(&p, seed + i, features);
		if (agree(t, &p)) {
			pairs += tally(by_rule, &t->verdict);
			passed++;
			continue;
		}
		failed++;
		shrink(t, &p);
		printf("not ok program %lu: %s\n", seed + i, t->why);
		program_write(&p, stdout);
		program_print(&p, stdout);
	}
	for (unsigned r = 0; r < KRT_NR_RULES; r++)
		if (by_rule[r])
			printf("%s: %lu pairs\n", krt_rules[r].id, by_rule[r]);
	printf("%lu passed, %lu failed\n", passed, failed);
	return failed || !pairs;
}

/* A mask, or names with commas between them; 0: there is no such name. */
static unsigned features_of(char *text)
{
	static const char *const name[] = {
#define X(text) #text,
		FEATURES(X)
#undef X
	};
	unsigned mask = (unsigned)strtoul(text, NULL, 0);
	char *at, *word = mask ? NULL : strtok_r(text, ",", &at);

	for (unsigned f = 0; word; f++) {
		if (f == NR_FEATURES)
			return 0;
		if (strcasecmp(word, name[f]))
			continue;
		mask |= 1u << f;
		word = strtok_r(NULL, ",", &at);
		f = UINT32_MAX;
	}
	return mask;
}

int main(int argc, char **argv)
{
	unsigned features = argc > 3 ? features_of(argv[3]) : F_ALL;
	static struct trial t;

	if (argc > 1 && !strcmp(argv[1], "replay"))
		return replay(&t, argv + 2);
	if (!features) {
		fprintf(stderr, "oracle: no such feature among %s\n", argv[3]);
		return 1;
	}
	return random_programs(&t, argc > 1 ? strtoul(argv[1], NULL, 0) : 1000,
			       argc > 2 ? strtoul(argv[2], NULL, 0) : 1, features);
}
