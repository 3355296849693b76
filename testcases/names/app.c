/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A race between two modules, for names of frames: a plugin, gone at the end,
 * writes what a library of templates reads.  app PLUGIN
 */
#include "names.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static CUdeviceptr grow(size_t bytes)
{
	CUdeviceptr p;

	return cuMemAlloc(&p, bytes) ? 0 : p;
}

int main(int argc, char **argv)
{
	CUcontext ctx;
	CUdevice dev;
	CUstream one, two;
	CUdeviceptr p;
	void (*upload)(CUdeviceptr p, CUstream s);
	void *plugin = dlopen(argc > 1 ? argv[1] : "./plugin.so", RTLD_NOW | RTLD_LOCAL);

	if (!plugin) {
		fprintf(stderr, "app: %s\n", dlerror());
		return 3;
	}
	upload = (void (*)(CUdeviceptr, CUstream))dlsym(plugin, "upload");
	if (!upload || cuInit(0) || cuDeviceGet(&dev, 0) || cuDevicePrimaryCtxRetain(&ctx, dev) ||
	    cuCtxSetCurrent(ctx) || cuStreamCreate(&one, CU_STREAM_NON_BLOCKING) ||
	    cuStreamCreate(&two, CU_STREAM_NON_BLOCKING))
		return 3;
	p = grow(BYTES);
	upload(p, one);
	dlclose(plugin);
	fetch(p, two);
	if (cuCtxSynchronize())
		return 3;
	return 0;
}
