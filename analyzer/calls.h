/* SPDX-License-Identifier: Apache-2.0 */
/* How often a trace has each entry point (krtsan analyze --calls). */
#ifndef KRT_CALLS_H
#define KRT_CALLS_H

#include <stdbool.h>

/*
 * One line an entry point of api.def on stdout: COUNT CLASS SYMBOL NAME, all
 * processes together; all: those with 0 too.  0, or -1 and why in err.
 */
int krt_calls_print(const char *dir, bool all, char *err, unsigned errlen);

#endif
