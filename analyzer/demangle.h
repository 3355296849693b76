/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of C++ as people write them.  The demangler is that of the C++ runtime,
 * linked statically.
 */
#ifndef KRT_DEMANGLE_H
#define KRT_DEMANGLE_H

/* malloc'd; NULL: it is no mangled name, one of more than 64 KiB, or no memory. */
char *krt_demangle(const char *name);

/* A kernel's name without what nvcc puts before that of a file's own. */
const char *krt_mangled(const char *name);

#define KRT_SHORT_NAME 101 /* with its zero */
/*
 * A kernel's name for messages: readable, without result and parameters, and of
 * a long one the last template arguments, or what else does not fit, as "...".
 */
void krt_demangle_short(const char *name, char out[KRT_SHORT_NAME]);
/* The same of a name that is readable already. */
void krt_readable_short(const char *readable, char out[KRT_SHORT_NAME]);
/*
 * Of a readable name what compilers, versions and machines agree on: without result,
 * parameters, template arguments, and marks of clones and ABIs.
 */
void krt_readable_plain(const char *readable, char out[KRT_SHORT_NAME]);

#endif
