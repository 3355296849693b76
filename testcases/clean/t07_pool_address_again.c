/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A freed stream-ordered block comes back at the same address on another stream:
 * the driver orders that itself.
 * SOURCE: trap T07
 */
#include "prog.h"
#include "pool.h"

enum { N = 1 << 16, ROUNDS = 6 };

int main(void)
{
	prog_start();
	pool_keeps_memory();
	CUstream s[2] = {stream_nb("a"), stream_nb("b")};
	CUdeviceptr p, seen[ROUNDS];
	int again = 0;

	for (int i = 0; i < ROUNDS; i++) {
		CUstream own = s[i & 1];

		CU(cuMemAllocAsync(&p, 4 * N, own));
		WRITES(own, p, 4 * N);
		FILL(own, p, (uint32_t)i, N, 1000);
		CU(cuMemsetD32Async(p, 7, N, own));
		CU(cuMemFreeAsync(p, own));
		seen[i] = p;
		for (int k = 0; k < i; k++)
			again += seen[k] == p;
	}
	printf("same address %s\n", again ? "seen again" : "never seen again");

	prog_end();
	return 0;
}
