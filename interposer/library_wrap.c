/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exported wrappers of library.def, made from its rows.  Arguments travel as
 * 64-bit words: on x86-64 and aarch64 each takes one register or one 8-byte
 * stack slot, since none of these functions takes a floating-point number or a
 * struct by value.  All of them return an int.  No locking.
 */
#include "library_find.h"
#include "library_call.h"

#define P0  void
#define P1  uint64_t a0
#define P2  P1, uint64_t a1
#define P3  P2, uint64_t a2
#define P4  P3, uint64_t a3
#define P5  P4, uint64_t a4
#define P6  P5, uint64_t a5
#define P7  P6, uint64_t a6
#define P8  P7, uint64_t a7
#define P9  P8, uint64_t a8
#define P10 P9, uint64_t a9
#define P11 P10, uint64_t a10
#define P12 P11, uint64_t a11
#define P13 P12, uint64_t a12
#define P14 P13, uint64_t a13
#define P15 P14, uint64_t a14
#define P16 P15, uint64_t a15
#define P17 P16, uint64_t a16
#define P18 P17, uint64_t a17
#define P19 P18, uint64_t a18
#define P20 P19, uint64_t a19
#define P21 P20, uint64_t a20
#define P22 P21, uint64_t a21
#define P23 P22, uint64_t a22

#define N0
#define N1  a0
#define N2  N1, a1
#define N3  N2, a2
#define N4  N3, a3
#define N5  N4, a4
#define N6  N5, a5
#define N7  N6, a6
#define N8  N7, a7
#define N9  N8, a8
#define N10 N9, a9
#define N11 N10, a10
#define N12 N11, a11
#define N13 N12, a12
#define N14 N13, a13
#define N15 N14, a14
#define N16 N15, a15
#define N17 N16, a16
#define N18 N17, a17
#define N19 N18, a18
#define N20 N19, a19
#define N21 N20, a20
#define N22 N21, a21
#define N23 N22, a22

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
