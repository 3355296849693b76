/* SPDX-License-Identifier: Apache-2.0 */
#include "job.h"

static char result[BYTES];

static inline void take(CUdeviceptr p, CUstream s)
{
	MUST(cuMemcpyDtoHAsync(result, p, sizeof(result), s));
}

void job_end(CUdeviceptr p, CUstream s)
{
	take(p, s);
	MUST(cuStreamSynchronize(s));
}
