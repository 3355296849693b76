/* SPDX-License-Identifier: Apache-2.0 */
/* What the modules of this program share. */
#ifndef NAMES_H
#define NAMES_H

#include "cuabi.h"

enum { BYTES = 4096 };

#ifdef __cplusplus
extern "C" {
#endif
void upload(CUdeviceptr p, CUstream s);
void fetch(CUdeviceptr p, CUstream s);
/* cudart's part: cudart.c, without debug information, as in libcudart_static.a */
int cudaMemcpyAsync(void *to, const void *from, size_t n, int kind, CUstream s);
#ifdef __cplusplus
}
#endif

#endif
