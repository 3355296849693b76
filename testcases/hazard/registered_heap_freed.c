/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Registered heap memory goes back to the heap while its upload is pending.
 * EXPECT: KRT-HOST-FREE-IN-USE error certain both count=1
 * EXPECT-FIXED: none
 * SIM-WRONG: the device gets the next owner's bytes
 */
#include "prog.h"
#include "gate.h"

enum { N = 8192 };

int main(void)
{
	prog_start();
	struct gate gate = gate_new();
	CUstream s = stream_nb("upload");
	CUdeviceptr d = device_u32("d", N);
	uint32_t *h = malloc(4 * N), *above = malloc(64), *next;
	void *volatile address = h;

	MUST(h && above);
	set_now(d, 0, N);
	host_fill(h, 7, N);
	CU(cuMemHostRegister(h, 4 * N, CU_MEMHOSTREGISTER_PORTABLE));
	gate_close(&gate, s);
	CU(cuMemcpyHtoDAsync(d, h, 4 * N, s));
#ifdef FIXED
	gate_open(&gate);
	CU(cuStreamSynchronize(s));
	CU(cuMemHostUnregister(address));
#endif
	free(h);
	next = malloc(4 * N);
	MUST(next);
	host_fill(next, 8, N);
	gate_open(&gate);
	check_u32("d[2000]", get_u32(d, 2000), 7);
#ifndef FIXED
	CU(cuMemHostUnregister(address));
#endif
	free(next);
	free(above);
	gate_free(&gate);

	prog_end();
	return 0;
}
