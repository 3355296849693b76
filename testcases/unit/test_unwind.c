/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The unwinder's parts: packed rules, limits, and tables full of rubbish.  Whole
 * stacks are compared in testcases/unwind/torture.c.
 */
#include <criterion/criterion.h>

#include "../../interposer/unwinder.c"

#include <signal.h>
#include <stdio.h>

#include "stub.h"

Test(unwind, packed_rules_come_back)
{
	static const struct rule rules[] = {
		{ CFA_SP, FP_SAME, 8, 0, -8 },
		{ CFA_SP, FP_CFA, 48, -48, -8 },
		{ CFA_SP, FP_CFA, 67108856, -262144, 262136 },
		{ CFA_FP, FP_CFA, -67108864, 262136, -262144 },
		{ CFA_FP_REF, FP_FP, -8, 0, -8 },
		{ CFA_END, FP_LOST, 0, 0, 0 },
	};

	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		uint64_t p = pack(&rules[i]);

		cr_assert_eq(P_CFA(p), rules[i].cfa);
		cr_assert_eq(P_FP(p), rules[i].fp);
		cr_assert_eq(P_CFA_OFF(p), rules[i].cfa_off);
		cr_assert_eq(P_FP_OFF(p), rules[i].fp_off);
		cr_assert_eq(P_RA_OFF(p), rules[i].ra_off);
	}
}

Test(unwind, rules_that_do_not_fit_are_none)
{
	static const struct rule rules[] = {
		{ CFA_SP, FP_SAME, 67108864, 0, -8 },
		{ CFA_SP, FP_CFA, 8, 262144, -8 },
		{ CFA_SP, FP_CFA, 8, -12, -8 },
		{ CFA_SP, FP_SAME, 8, 0, -262152 },
	};

	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		cr_assert_eq(pack(&rules[i]), CFA_NONE);
}

static __attribute__((noinline)) unsigned nested(unsigned depth, uint64_t *pc, unsigned max)
{
	unsigned n = depth ? nested(depth - 1, pc, max) : krt_unwind(pc, max, NULL);

	__asm__ volatile("" : "+r"(n));
	return n;
}

Test(unwind, limit_is_kept)
{
	uint64_t pc[64];

	for (unsigned max = 0; max < 20; max++) {
		memset(pc, 0xee, sizeof(pc));
		cr_assert_eq(nested(30, pc, max), max);
		cr_assert_eq(pc[max], 0xeeeeeeeeeeeeeeeeull);
	}
	cr_assert_gt(nested(10, pc, 64), 10);
	cr_assert_eq(nested(63, pc, 64), 64);
}

static struct krt_unwind_memo memo;
static uint32_t drawn = 1;
static unsigned differ, walks, limit;

static uint32_t draw(uint32_t n)
{
	drawn = drawn * 1664525 + 1013904223;
	return (drawn >> 8) % n;
}

/* The same walk with and without the last one's steps, from one call site. */
static __attribute__((noinline)) void both(unsigned max)
{
	volatile unsigned two = 2; /* not unrolled */
	uint64_t pc[2][64];
	unsigned n[2];

	for (unsigned i = 0; i < two; i++) {
		n[i] = krt_unwind(pc[i], max, i ? &memo : NULL);
		__asm__ volatile("" ::: "memory");
	}
	walks++;
	differ += n[0] != n[1] || memcmp(pc[0], pc[1], n[0] * sizeof(pc[0][0]));
}

static void wander(unsigned depth, unsigned max);

static __attribute__((noinline)) void plain(unsigned depth, unsigned max)
{
	wander(depth, max);
	__asm__ volatile("" ::: "memory");
}

/* the same frame, another address */
static __attribute__((noinline)) void plain_too(unsigned depth, unsigned max)
{
	wander(depth, max);
	__asm__ volatile("nop" ::: "memory");
}

static __attribute__((noinline)) void with_alloca(unsigned depth, unsigned max)
{
	volatile char *room = __builtin_alloca(draw(400) + 1);

	room[0] = 1;
	wander(depth, max);
	room[0]++;
}

static __attribute__((noinline)) void aligned(unsigned depth, unsigned max)
{
	volatile char room[64] __attribute__((aligned(128)));

	room[0] = 1;
	wander(depth, max);
	room[0]++;
}

static __attribute__((noinline)) void wander(unsigned depth, unsigned max)
{
	both(max);
	for (unsigned children = draw(4); children && depth && walks < limit; children--) {
		void (*const how[])(unsigned, unsigned) = { plain, plain_too, with_alloca, aligned };

		how[draw(4)](depth - 1, max);
		if (draw(2))
			both(max);
		if (!draw(50))
			krt_unwind_forget(0, UINTPTR_MAX);
	}
	__asm__ volatile("" ::: "memory");
}

Test(unwind, the_last_walk_changes_nothing)
{
	static const unsigned max[] = { 64, 3, 20, 64, 8 };

	for (unsigned round = 0; round < 40; round++) {
		limit = walks + 500;
		wander(4 + draw(60), max[round % 5]);
	}
	cr_assert_eq(differ, 0, "%u of %u walks", differ, walks);
}

static __attribute__((noinline)) void *caller_and_own(uint64_t *pc)
{
	cr_assert_eq(krt_unwind(pc, 2, NULL), 2);
	return __builtin_return_address(0);
}

Test(unwind, begins_at_the_caller)
{
	uint64_t pc[2];
	void *ret = caller_and_own(pc);

	cr_assert_eq(pc[1], (uintptr_t)ret);
	cr_assert_lt(pc[0] - (uintptr_t)&caller_and_own, 4096);
}

Test(unwind, errno_is_kept)
{
	uint64_t pc[64];

	krt_unwind_forget(0, UINTPTR_MAX);
	errno = 1234;
	krt_unwind(pc, 64, NULL);
	cr_assert_eq(errno, 1234);
}

Test(unwind, quiet_is_per_call)
{
	cr_assert(!krt_unwind_quiet(true));
	cr_assert(krt_unwind_quiet(false));
	cr_assert(!krt_unwind_quiet(false));
}

Test(unwind, cache_forgets_a_range_only)
{
	uint64_t pc[64];
	unsigned n = nested(3, pc, 64), before = 0, after = 0;
	const struct krt_module *m;

	cr_assert_gt(n, 4);
	for (unsigned i = 0; i < CACHE_SIZE; i++)
		before += cache[i] != 0;
	cr_assert_geq(before, 4);
	m = krt_module_at(pc[0]);
	krt_unwind_forget(m->base, m->end);
	for (unsigned i = 0; i < CACHE_SIZE; i++) {
		uint64_t at = cache[i] >> 16;

		after += cache[i] != 0;
		cr_assert(!cache[i] || at < m->base || at > m->end);
	}
	cr_assert_lt(after, before);
}

/* A full cache of rules only costs speed. */
Test(unwind, rule_store_full)
{
	uint64_t pc[64], again[64];
	unsigned n;

	for (unsigned i = 0; i < DICT_SIZE + 10; i++)
		remember(0x1000 + i, pack(&(struct rule){ CFA_SP, FP_SAME, (int)i * 8, 0, -8 }), flushes);
	cr_assert_eq(ndict, DICT_SIZE);
	krt_unwind_forget(0, UINTPTR_MAX);
	n = nested(5, pc, 64);
	cr_assert_gt(n, 5);
	cr_assert_eq(nested(5, again, 64), n);
	krt_unwind_forked();
	for (unsigned i = 1; i < ndict; i++)
		cr_assert_eq(intern(dict[i]), i);
}

/* libc's image, copied, with its unwind tables full of rubbish: no read may leave the copy. */
static struct krt_module *copy_of(const struct krt_module *m, char **start)
{
	size_t size = m->end - m->base;
	char *p = mmap(NULL, size + 2 * 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static struct krt_module c;
	ptrdiff_t move;

	cr_assert_neq(p, MAP_FAILED);
	*start = p + 65536;
	move = *start - (char *)m->base;
	c = *m;
	c.base += move;
	c.end += move;
	c.bias += move;
	c.eh_hdr += move;
	for (unsigned i = 0; i < m->nseg; i++) {
		uintptr_t lo = m->seg[i].lo & ~(PAGE - 1), hi = (m->seg[i].hi + PAGE - 1) & ~(PAGE - 1);

		mprotect((void *)(lo + move), hi - lo, PROT_READ | PROT_WRITE);
		memcpy((void *)(m->seg[i].lo + move), (void *)m->seg[i].lo, m->seg[i].hi - m->seg[i].lo);
		c.seg[i].lo += move;
		c.seg[i].hi += move;
	}
	return &c;
}

static uint64_t rnd(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s;
}

Test(unwind, rubbish_tables)
{
	const struct krt_module *m;
	struct krt_module *c;
	uint64_t seed = 88172645463325252ull, known = 0, total = 0;
	struct krt_seg frame, code = { 0, 0 };
	char *start;

	krt_modules_refresh();
	m = krt_module_at((uintptr_t)&strtol);
	cr_assert(m && m->eh_hdr);
	c = copy_of(m, &start);
	frame = (struct krt_seg){ c->eh_hdr, c->eh_hdr + c->eh_hdr_len };
	for (unsigned i = 0; i < c->nseg; i++) {
		if (frame.lo >= c->seg[i].lo && frame.lo < c->seg[i].hi)
			frame.hi = c->seg[i].hi;
		if (c->exec & (1u << i))
			code = c->seg[i];
	}
	cr_assert(code.lo);
	for (int i = 0; i < 20000; i++) {
		uintptr_t pc = code.lo + rnd(&seed) % (code.hi - code.lo);
		struct rule r = parse(c, pc, pc - 1);

		total++;
		known += r.cfa != CFA_NONE;
	}
	/* the copy works: nearly all of libc is described */
	cr_assert_gt(known * 10, total * 8, "%lu of %lu", (long)known, (long)total);
	for (int round = 0; round < 300; round++) {
		for (int i = 0; i < 200; i++) {
			uint64_t v = rnd(&seed);
			uintptr_t at = frame.lo + rnd(&seed) % (frame.hi - frame.lo);

			if (round % 3 == 0) /* the head of the sorted table, too */
				at = i < 2 ? frame.lo + rnd(&seed) % 16 : at;
			*(char *)at = v >> 8;
		}
		for (int i = 0; i < 300; i++) {
			uintptr_t pc = code.lo + rnd(&seed) % (code.hi - code.lo);
			struct rule r = parse(c, pc, pc - 1);

			known += r.cfa != CFA_NONE;
		}
		if (round % 50 == 49) {
			struct krt_module *again = copy_of(m, &start);

			(void)again;
		}
	}
}

/* Rubbish records behind a good table: every byte string is a program. */
Test(unwind, rubbish_programs)
{
	uint64_t seed = 1234567;
	char *p = mmap(NULL, 3 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *page = (uint8_t *)p + PAGE;

	mprotect(page, PAGE, PROT_READ | PROT_WRITE);
	for (int round = 0; round < 200000; round++) {
		size_t len = rnd(&seed) % 60;
		uint8_t *at = page + PAGE - len; /* ends where the readable memory ends */
		struct cie cie = { .code_align = 1, .data_align = -8, .fde_enc = rnd(&seed) };
		struct state s = { .cfa = C_REG, .reg = REG_SP_, .off = 8 }, initial = s;

		for (size_t i = 0; i < len; i++)
			at[i] = rnd(&seed) >> 20;
		run((struct cursor){ at, page + PAGE, false }, &cie, &s, &initial, 0x1000,
		    0x1000 + rnd(&seed) % 300);
	}
}

Test(unwind, readable_memory_is_told)
{
	char *p = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	munmap(p + PAGE, PAGE);
	mprotect(p + 2 * PAGE, PAGE, PROT_NONE);
	memset(p, 0, PAGE);
	cr_assert(probe((uintptr_t)p));
	cr_assert(!probe((uintptr_t)p + PAGE));
	cr_assert(!probe((uintptr_t)p + 2 * PAGE));
	cr_assert(!probe(8));
	cr_assert(!probe(0xffffffffff600ff8));
}
