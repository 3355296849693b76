/* SPDX-License-Identifier: Apache-2.0 */
/* One-copy batches with a source access order. */
#ifndef BATCH_H
#define BATCH_H

#include "prog.h"

#define batch_copy(dst, src, bytes, order, stream)                                                 \
	do {                                                                                       \
		CUdeviceptr bd_ = (dst), bs_ = (src);                                              \
		size_t bn_ = (bytes), first_ = 0;                                                  \
		CUmemcpyAttributes attr_ = {.srcAccessOrder = (order)};                            \
		CU(cuMemcpyBatchAsync(&bd_, &bs_, &bn_, 1, &attr_, &first_, 1, stream));           \
	} while (0)

#endif
