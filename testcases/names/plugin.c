/* SPDX-License-Identifier: Apache-2.0 */
/* Opened and closed again by app.c. */
#include "names.h"

static char data[BYTES];

static inline __attribute__((always_inline)) void stage(CUdeviceptr p, CUstream s)
{
	(void)cuMemcpyHtoDAsync(p, data, sizeof(data), s);
}

void upload(CUdeviceptr p, CUstream s)
{
	stage(p, s);
	__asm__ volatile(""); /* no tail call */
}
