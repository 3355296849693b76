/* SPDX-License-Identifier: Apache-2.0 */
#include "job.h"

static char data[BYTES];

static inline void put(CUdeviceptr p, CUstream s)
{
	MUST(cuMemcpyHtoDAsync(p, data, sizeof(data), s));
}

void job_begin(CUdeviceptr p, CUstream s)
{
	put(p, s);
}
