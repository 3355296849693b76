/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The far side of include/krtsan.h, made from the NOTE rows of api.def.  Each
 * call becomes a record of the calling thread.  No locking.
 */
#include "call.h"
#include "lane.h"

#define EXPORT __attribute__((visibility("default")))

/* krtsan_ignore_begin and _end nest; the records themselves count as outside. */
static void note(unsigned api, uint64_t *args)
{
	struct krt_thread *t;

	if (!krt_attached())
		return;
	if (krt_api[api].op == KRT_OP_NOTE_IGNORE_END) {
		t = krt_thread();
		if (t && t->ignore)
			t->ignore--;
	}
	krt_record_note(api, args);
	if (krt_api[api].op == KRT_OP_NOTE_IGNORE_BEGIN) {
		t = krt_thread();
		if (t)
			t->ignore++;
	}
}

#define P0 void
#define P1 uint64_t a0
#define P2 P1, uint64_t a1
#define P3 P2, uint64_t a2
#define P4 P3, uint64_t a3
#define N0 0
#define N1 a0
#define N2 N1, a1
#define N3 N2, a2
#define N4 N3, a3

#define KRT_CALL(sym, ...)
#define KRT_PASS(sym, base)
#define KRT_NOTE(sym, op, argc, ...)                                                        \
	EXPORT void sym(P##argc);                                                           \
	void sym(P##argc)                                                                   \
	{                                                                                   \
		uint64_t args[] = { N##argc };                                              \
                                                                                            \
		note(KRT_API_##sym, args);                                                  \
	}
#define KRT_LIBC(sym, ...)
#include "api.def"
