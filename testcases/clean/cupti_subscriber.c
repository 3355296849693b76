/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program uses CUPTI itself: device times are left alone, and all else is as
 * ever.
 * EXPECT: none
 * OPTIONS: timing=cupti
 * MAY-SKIP: there is no libcupti
 */
#include <dlfcn.h>

#include "prog.h"

static void nothing(void) {}

int main(void)
{
	void *lib = dlopen("libcupti.so.13", RTLD_NOW), *subscriber;
	int (*subscribe)(void **, void (*)(void), void *);

	if (!lib)
		prog_skip("no libcupti.so.13");
	subscribe = (__typeof__(subscribe))dlsym(lib, "cuptiSubscribe");
	MUST(subscribe && !subscribe(&subscriber, nothing, NULL));

	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr x = device_u32("x", 64);

	FILL(s, x, 7, 64, 0);
	CU(cuStreamSynchronize(s));
	check_u32("x[0]", get_u32(x, 0), 7);

	prog_end();
	return 0;
}
