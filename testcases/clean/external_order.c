/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Order that CUDA does not show (here a host function of one stream sets a word that
 * a kernel of the other polls) is told to krtsan: a token released behind one stream's
 * work and acquired before the other's.
 */
#include "prog.h"
#include "gate.h"

enum { N = 1024 };

static void open_it(void *gate)
{
	gate_open(gate);
}

int main(void)
{
	prog_start();
	struct gate gate = gate_new();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUdeviceptr d = device_u32("d", N), out = device_u32("out", N);
	int token;

	set_now(d, 0, N);
	gate_close(&gate, b);
	SPIN(a, SLOW);
	CU(cuMemsetD32Async(d, 1, N, a));
	krtsan_order_release(&token, a);
	CU(cuLaunchHostFunc(a, open_it, &gate));
	krtsan_order_acquire(&token, b);
	CU(cuMemcpyDtoDAsync(out, d, 4 * N, b));
	check_u32("out[0]", get_u32(out, 0), 1);
	gate_free(&gate);

	prog_end();
	return 0;
}
