/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares krt_unwind with _Unwind_Backtrace where it is called, and, preloaded,
 * in every getppid() of a program (KRT_CHECK_OUT=FILE gets the verdict at exit).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <unwind.h>

#include "unwinder.h"
#include "check.h"
#include "modules.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT unsigned check_done, check_failed;

struct take {
	uint64_t *pc;
	unsigned n;
	uintptr_t lo, hi;
};

static _Unwind_Reason_Code one(struct _Unwind_Context *c, void *arg)
{
	struct take *t = arg;
	uintptr_t pc = _Unwind_GetIP(c);

	if (pc >= t->lo && pc < t->hi)
		return _URC_NO_REASON;
	if (!pc || t->n == CHECK_MAX)
		return _URC_END_OF_STACK;
	t->pc[t->n++] = pc;
	return _URC_NO_REASON;
}

/* As the recorder does it, and again without what the last walk left: both must be the same. */
static __attribute__((noinline)) unsigned walk(uint64_t *pc)
{
	static __thread struct krt_unwind_memo memo;
	static __thread bool busy; /* a signal handler of the program: the recorder would not come here */
	uint64_t again[CHECK_MAX];
	unsigned n, m;

	if (busy)
		return krt_unwind(pc, CHECK_MAX, NULL);
	busy = true;
	n = krt_unwind(pc, CHECK_MAX, &memo);
	m = krt_unwind(again, CHECK_MAX, NULL);
	busy = false;
	if (n != m || memcmp(pc, again, n * sizeof(*pc))) {
		fprintf(stderr, "walk: %u frames, without the last one's %u\n", n, m);
		__atomic_fetch_add(&check_failed, 1, __ATOMIC_RELAXED);
	}
	return n;
}

EXPORT __attribute__((noinline)) void check_take(struct check_stacks *s)
{
	struct take t = { .pc = s->ref };
	const struct krt_module *m;

	s->n = walk(s->pc);
	m = krt_module_self();
	if (m) {
		t.lo = m->base;
		t.hi = m->end;
	}
	_Unwind_Backtrace(one, &t);
	s->ref_n = t.n;
}

static void show(const char *what, const struct check_stacks *s)
{
	fprintf(stderr, "%s: %u frames, libgcc has %u\n", what, s->n, s->ref_n);
	for (unsigned i = 0; i < s->n || i < s->ref_n; i++) {
		uint64_t a = i < s->n ? s->pc[i] : 0, b = i < s->ref_n ? s->ref[i] : 0;
		const struct krt_module *m = krt_module_at(b ? b : a);

		fprintf(stderr, "  %2u %12lx %12lx %s +%lx %.*s\n", i, (long)a, (long)b, a == b ? "  " : "!=",
			m ? (long)((b ? b : a) - m->bias) : 0, m ? (int)m->path_len : 0, m ? m->path : "");
	}
}

EXPORT __attribute__((noinline)) int check_equal(const char *what)
{
	struct check_stacks s;

	check_take(&s);
	__atomic_fetch_add(&check_done, 1, __ATOMIC_RELAXED);
	if (s.n == s.ref_n && memcmp(s.pc, s.ref, s.n * sizeof(s.pc[0])) == 0)
		return 0;
	if (__atomic_fetch_add(&check_failed, 1, __ATOMIC_RELAXED) < 3)
		show(what, &s);
	return 1;
}

EXPORT __attribute__((noinline)) int check_prefix(const char *what, unsigned least)
{
	struct check_stacks s;

	check_take(&s);
	__atomic_fetch_add(&check_done, 1, __ATOMIC_RELAXED);
	if (s.n >= least && s.n <= s.ref_n && memcmp(s.pc, s.ref, s.n * sizeof(s.pc[0])) == 0)
		return 0;
	if (__atomic_fetch_add(&check_failed, 1, __ATOMIC_RELAXED) < 3)
		show(what, &s);
	return 1;
}

EXPORT pid_t getppid(void)
{
	check_equal("getppid");
	return syscall(SYS_getppid);
}

__attribute__((destructor)) static void verdict(void)
{
	const char *out = getenv("KRT_CHECK_OUT");
	FILE *f = out ? fopen(out, "a") : NULL;

	if (!f)
		return;
	fprintf(f, "%u checked, %u wrong\n", check_done, check_failed);
	fclose(f);
}

/* Ours alone: libgcc's may not survive what the caller did to the stack. */
EXPORT __attribute__((noinline)) unsigned check_ours(struct check_stacks *s)
{
	s->n = walk(s->pc);
	__asm__ volatile("" ::: "memory");
	return s->n;
}
