/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every exported name of the driver, from the entry-point table: a weak
 * function that says its name once and answers CUDA_ERROR_NOT_SUPPORTED, unless
 * another file of the simulator defines it.  And the look-up of
 * cuGetProcAddress over the same table.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int sim_stub(const char *name, atomic_bool *said) __attribute__((visibility("hidden")));
void *sim_symbol(const char *base, int version, bool pt, int *status)
	__attribute__((visibility("hidden")));

int sim_stub(const char *name, atomic_bool *said)
{
	char line[160];
	int n;

	if (!atomic_exchange(said, true)) {
		n = snprintf(line, sizeof line, "sim: %s: not supported by the simulated driver\n",
			     name);
		if (write(2, line, (size_t)n) < 0)
			return 801;
	}
	return 801; /* CUDA_ERROR_NOT_SUPPORTED */
}

#define STUB(sym)                                                                                  \
	__attribute__((weak, visibility("default"))) int sym(void);                                \
	int sym(void)                                                                              \
	{                                                                                          \
		static atomic_bool said;                                                           \
		return sim_stub(#sym, &said);                                                      \
	}
#define KRT_CALL(sym, base, cls, op, flags, argc, ...) STUB(sym)
#define KRT_PASS(sym, base)			       STUB(sym)
#define KRT_NOTE(sym, op, argc, ...)
#define KRT_LIBC(sym, op, argc, ...)
#include "../../interposer/api.def"
#undef KRT_CALL
#undef KRT_PASS
#undef KRT_NOTE
#undef KRT_LIBC

struct sym {
	const char *name, *base;
	int (*fn)(void);
};

static const struct sym syms[] = {
#define KRT_CALL(sym, base, cls, op, flags, argc, ...) {#sym, #base, sym},
#define KRT_PASS(sym, base)			       {#sym, #base, sym},
#define KRT_NOTE(sym, op, argc, ...)
#define KRT_LIBC(sym, op, argc, ...)
#include "../../interposer/api.def"
};

static const struct {
	const char *name;
	int since;
} since[] = {
#define SIM_SINCE(sym, version) {#sym, version},
#include "since.def"
};

static int since_of(const char *name)
{
	for (unsigned i = 0; i < sizeof since / sizeof *since; i++)
		if (!strcmp(since[i].name, name))
			return since[i].since;
	return 2000;
}

static bool is_pt(const char *name)
{
	size_t n = strlen(name);

	return n > 5 && (!strcmp(name + n - 5, "_ptsz") || !strcmp(name + n - 5, "_ptds"));
}

/* The newest form of base that a program of that CUDA version knows. */
void *sim_symbol(const char *base, int version, bool pt, int *status)
{
	const struct sym *best = NULL;
	int best_v = 0;
	bool known = false;

	if (!strcmp(base, "cuGraphInstantiate") && version >= 12000)
		base = "cuGraphInstantiateWithFlags";
	for (unsigned i = 0; i < sizeof syms / sizeof *syms; i++) {
		const struct sym *s = &syms[i];
		int v;
		bool p;

		if (strcmp(s->base, base))
			continue;
		known = true;
		p = is_pt(s->name);
		v = since_of(s->name);
		if (v > version || (p && !pt))
			continue;
		/* Newer wins; of one version, the per-thread form where asked for. */
		if (!best || (pt && p > is_pt(best->name)) ||
		    (p == is_pt(best->name) && v > best_v)) {
			best = s;
			best_v = v;
		}
	}
	*status = best ? 0 : known ? 2 : 1;
	return best ? (void *)best->fn : NULL;
}
