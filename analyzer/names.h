/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the mangled name of a kernel (Itanium C++ ABI) says of its parameters.
 *
 * A hint: "pointer to const" is kept by compilers but not by casts.  Never a
 * guess: a name that is not understood to its last character, or that does not
 * fit the layout, says nothing at all.
 *
 * No memory, no globals, no recursion beyond a fixed depth; safe on any text.
 */
#ifndef KRT_NAMES_H
#define KRT_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum krt_name_type {
	KRT_NAME_UNKNOWN,
	KRT_NAME_SCALAR,        /* size is known */
	KRT_NAME_STRUCT,        /* a class or an enumeration, by value */
	KRT_NAME_CONST_POINTER, /* to const data: the kernel reads */
	KRT_NAME_POINTER,       /* to data that it may write */
	KRT_NAME_TABLE,         /* to pointers, in whatever constness */
	KRT_NAME_OTHER_POINTER, /* to a function or a member */
};

struct krt_name_param {
	uint8_t type;     /* enum krt_name_type */
	uint8_t size;     /* bytes; 0: not known */
	bool table_const; /* TABLE: what the inner pointers lead to is const */
	bool class_data;  /* a pointer: to a class, which may hold pointers itself */
};

/*
 * Parameters of a kernel, at most max of them.  Returns how many it has, -1: the
 * name says nothing (no C++ name, no function, a construct that is not
 * understood, more than max).
 */
int krt_names_params(const char *name, struct krt_name_param *out, size_t max);

/* The same, held against the sizes of the real parameters; -1 if they do not fit. */
int krt_names_checked(const char *name, const uint32_t *sizes, size_t n,
		      struct krt_name_param *out);

#endif
