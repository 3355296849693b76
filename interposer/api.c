/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The entry-point table as data.  Compiled into the preload library and into
 * the analyzer; constant, so no locking.
 */
#include "api.h"

#define A(r, w, n) { .role = KRT_ROLE_##r, .width = (w), .name = #n },

const struct krt_api krt_api[KRT_NR_APIS] = {
#define KRT_ROW(sym, bs, c, o, f, n, ...)                                                   \
	[KRT_API_##sym] = { .symbol = #sym, .base = #bs, .cls = KRT_CLASS_##c,              \
			    .op = KRT_OP_##o, .argc = (n), .flags = (f), .arg = { __VA_ARGS__ } },
#define KRT_CALL(sym, base, cls, op, flags, argc, ...) KRT_ROW(sym, base, cls, op, flags, argc, __VA_ARGS__)
#define KRT_PASS(sym, base)                            KRT_ROW(sym, base, PASS, NONE, 0, 0, { 0 })
#define KRT_NOTE(sym, op, argc, ...)                   KRT_ROW(sym, sym, NOTE, op, 0, argc, __VA_ARGS__)
#define KRT_LIBC(sym, op, argc, ...)                   KRT_ROW(sym, sym, LIBC, op, 0, argc, __VA_ARGS__)
#include "api.def"
};

const char *krt_class_name(unsigned cls)
{
	static const char *const name[] = {
#define X(n, text) text,
		KRT_CLASSES(X)
#undef X
	};
	return cls < sizeof name / sizeof *name ? name[cls] : "unknown";
}

const char *krt_op_name(unsigned op)
{
	static const char *const name[] = {
#define X(n) #n,
		KRT_OPS(X)
#undef X
	};
	return op < KRT_NR_OPS ? name[op] : "unknown";
}

static uint64_t fnv(uint64_t h, const void *p, size_t n)
{
	const unsigned char *c = p;

	while (n--)
		h = (h ^ *c++) * 0x100000001b3ull;
	return h;
}

uint64_t krt_api_hash(void)
{
	uint64_t h = 0xcbf29ce484222325ull;

	for (unsigned i = 0; i < KRT_NR_APIS; i++) {
		const struct krt_api *a = &krt_api[i];

		for (const char *s = a->symbol; *s; s++)
			h = fnv(h, s, 1);
		h = fnv(h, &a->op, sizeof a->op);
		h = fnv(h, &a->argc, sizeof a->argc);
		h = fnv(h, &a->flags, sizeof a->flags);
		for (unsigned k = 0; k < a->argc; k++)
			h = fnv(h, &a->arg[k].role, 2);
	}
	return h;
}
