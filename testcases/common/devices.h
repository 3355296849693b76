/* SPDX-License-Identifier: Apache-2.0 */
/* A second device in test programs; the program is skipped where there is none. */
#ifndef DEVICES_H
#define DEVICES_H

#include "prog.h"

struct second {
	CUdevice device;
	CUcontext context;
	struct prog_kernels k;
};

/* Its primary context is current on return, and its kernels are loaded. */
static inline struct second second_start(bool peer)
{
	struct second s;
	int n;

	CU(cuDeviceGetCount(&n));
	if (n < 2)
		prog_skip("one device");
	CU(cuDeviceGet(&s.device, 1));
	CU(cuDeviceCanAccessPeer(&n, s.device, prog_device));
	if (peer && !n)
		prog_skip("no peer access between the devices");
	CU(cuDevicePrimaryCtxRetain(&s.context, s.device));
	CU(cuCtxSetCurrent(s.context));
	prog_load(&s.k);
	return s;
}

/* Waits for it; the program's own context is current afterwards. */
static inline void second_end(struct second *s)
{
	CU(cuCtxSetCurrent(s->context));
	CU(cuCtxSynchronize());
	CU(cuModuleUnload(s->k.module));
	CU(cuDevicePrimaryCtxRelease(s->device));
	CU(cuCtxSetCurrent(prog_context));
}

#endif
