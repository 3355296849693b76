/* SPDX-License-Identifier: Apache-2.0 */
/* A program of several units, whose calls lie in functions that compilers inline: job_*.c. */
#ifndef JOB_H
#define JOB_H

#include "names.h"

#include <stdlib.h>

/* What follows a call keeps it from being a tail call. */
#define MUST(call)                                                                                 \
	do {                                                                                       \
		if (call)                                                                          \
			exit(3);                                                                   \
	} while (0)

void job_begin(CUdeviceptr p, CUstream s);
void job_end(CUdeviceptr p, CUstream s);

#endif
