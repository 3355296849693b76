/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a model that was compiled ahead of time into a shared library exports: its
 * kernels and weights are inside, the caller brings memory and a stream.  Found
 * by dlsym; no call waits for the device but open and close.
 */
#ifndef SERVING_MODEL_H
#define SERVING_MODEL_H

#include "cuabi.h"

#include <stdint.h>

enum { MODEL_IN = 16, MODEL_HIDDEN = 32, MODEL_OUT = 8 };

/* Elements are 32 bits wide. */
struct model_api {
	CUresult (*open)(void **model);
	void (*close)(void *model);
	/* y[rows][OUT] = model(x[rows][IN]); rows from *live on become 0; hidden[rows][HIDDEN] */
	CUresult (*run)(void *model, CUdeviceptr x, CUdeviceptr live, CUdeviceptr hidden,
			CUdeviceptr y, uint32_t rows, CUstream stream);
	/* score[rows] = sums over the rows of y; spare[rows] is scratch */
	CUresult (*score)(void *model, CUdeviceptr y, CUdeviceptr spare, CUdeviceptr score,
			  uint32_t rows, CUstream stream);
	/* The same on the host, for one row. */
	uint32_t (*expected)(const uint32_t x[MODEL_IN]);
};

/* The symbol of that type. */
#define MODEL_SYMBOL "model"

#endif
