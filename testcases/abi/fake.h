/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fake driver's control interface, for tests of the preload library: it
 * exports every name of api.def, does nothing, and counts.
 */
#ifndef FAKE_H
#define FAKE_H

#include <stdint.h>

struct fake_control {
	void *(*address)(const char *name);  /* its own function, not a wrapper; NULL: lacks it */
	unsigned (*calls)(const char *name); /* how often it was entered */
	const uint64_t *(*args)(const char *name); /* arguments of the last call */
	int inner_dlsym;                     /* cuInit looked itself up: 1 got its own function, -1 not */
	int result;                          /* what every call returns from now on (cuInit too) */
	int inner_call;                      /* cuMemAlloc_v2 calls cuCtxGetCurrent and cuMemFree_v2 inside */
	int host_thread;                     /* host functions: 0 run inside the enqueue, 1 on a thread of its own */
	int capturing;                       /* what cuStreamIsCapturing says */
	int kernels;                         /* 1: handles are CUkernel, not CUfunction; 2: no layout known */
	int unload;                          /* layout changes with it */
	int exec_inside;                     /* cuStreamSynchronize leaves by longjmp into jump */
	void *jump;
};

#endif
