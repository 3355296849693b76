/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of C++ as people write them.  The demangler is that of the C++ runtime,
 * linked statically.
 */
#ifndef KRT_DEMANGLE_H
#define KRT_DEMANGLE_H

/* malloc'd; NULL: it is no mangled name, one of more than 64 KiB, or no memory. */
char *krt_demangle(const char *name);

#endif
