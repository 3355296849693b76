/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A mapping that a pending upload reads is unmapped (and something else mapped
 * there, so that the program lives).
 * EXPECT: KRT-HOST-FREE-IN-USE error certain both count=1
 * EXPECT-FIXED: none
 */
#include <sys/mman.h>
#include "prog.h"
#include "gate.h"

enum { BYTES = 1 << 16 };

int main(void)
{
	prog_start();
	struct gate gate = gate_new();
	CUstream s = stream_nb("upload");
	CUdeviceptr d = device_u32("d", BYTES / 4);
	void *h = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	MUST(h != MAP_FAILED);
	memset(h, 7, BYTES);
	CU(cuMemHostRegister(h, BYTES, CU_MEMHOSTREGISTER_PORTABLE));
	gate_close(&gate, s);
	CU(cuMemcpyHtoDAsync(d, h, BYTES, s));
#ifdef FIXED
	gate_open(&gate);
	CU(cuStreamSynchronize(s));
	CU(cuMemHostUnregister(h));
#endif
	MUST(munmap(h, BYTES) == 0);
	MUST(mmap(h, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		  0) == h);
	gate_open(&gate);
	CU(cuCtxSynchronize());
#ifndef FIXED
	(void)cuMemHostUnregister(h);
#endif
	munmap(h, BYTES);
	gate_free(&gate);

	prog_end();
	return 0;
}
