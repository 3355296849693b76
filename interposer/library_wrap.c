/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exported wrappers of library.def, made from its rows.  Arguments travel as
 * 64-bit words: on x86-64 and aarch64 each takes one register or one 8-byte
 * stack slot, since none of these functions takes a floating-point number or a
 * struct by value.  All of them return an int.  No locking.
 */
#include "arglist.h"
#include "library_find.h"
#include "library_call.h"

#define EXPORT __attribute__((visibility("default")))
#define HIDDEN __attribute__((visibility("hidden")))

#ifdef KRT_NOP
#define KRT_WRAP(sym, argc)                                                                 \
	HIDDEN int krt_l_##sym(P##argc);                                                    \
	int krt_l_##sym(P##argc)                                                            \
	{                                                                                   \
		void *fn = krt_library_fn(KRT_LIB_FN_##sym, __builtin_return_address(0));   \
                                                                                            \
		return ((int (*)(P##argc))fn)(N##argc);                                     \
	}                                                                                   \
	EXPORT extern __typeof__(krt_l_##sym) sym __attribute__((alias("krt_l_" #sym)));
#else
#define KRT_WRAP(sym, argc)                                                                 \
	HIDDEN int krt_l_##sym(P##argc);                                                    \
	int krt_l_##sym(P##argc)                                                            \
	{                                                                                   \
		void *fn = krt_library_fn(KRT_LIB_FN_##sym, __builtin_return_address(0));   \
		uint64_t a[(argc) + 1] = { N##argc };                                       \
		struct krt_library_call call = { .fn = fn, .args = a, .id = KRT_LIB_FN_##sym }; \
                                                                                            \
		if (!krt_library_begin(&call))                                              \
			return ((int (*)(P##argc))fn)(N##argc);                             \
		return krt_library_end(&call, ((int (*)(P##argc))fn)(N##argc));             \
	}                                                                                   \
	EXPORT extern __typeof__(krt_l_##sym) sym __attribute__((alias("krt_l_" #sym)));
#endif

/* ASK rows are the library's alone: WRAPPED(kind) tells them apart. */
#define ASK_ASK             ~, 0
#define SECOND(a, b, ...)   b
#define SECOND_(...)        SECOND(__VA_ARGS__)
#define WRAPPED(kind)       SECOND_(ASK_##kind, 1, 0)
#define PICK_0(sym, argc)
#define PICK_1(sym, argc)   KRT_WRAP(sym, argc)
#define PICK__(w, sym, argc) PICK_##w(sym, argc)
#define PICK_(w, sym, argc)  PICK__(w, sym, argc)

#define KRT_LIB(sym, library, kind, type, flags, argc, ...)                                 \
	_Static_assert((argc) < KRT_LIB_MAX_ARGS, #sym);                                    \
	PICK_(WRAPPED(kind), sym, argc)
#include "library.def"
#undef KRT_LIB

#define VALUE_0(sym) NULL
#define VALUE_1(sym) (void *)krt_l_##sym
#define VALUE__(w, sym) VALUE_##w(sym)
#define VALUE_(w, sym)  VALUE__(w, sym)

void *const krt_lib_wrapper[KRT_NR_LIB_FNS] = {
#define KRT_LIB(sym, library, kind, ...) [KRT_LIB_FN_##sym] = VALUE_(WRAPPED(kind), sym),
#include "library.def"
#undef KRT_LIB
};
