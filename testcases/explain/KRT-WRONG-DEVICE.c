/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel of one device given memory of another.
 * EXPECT: KRT-WRONG-DEVICE error certain both count=1
 * EXPECT-FIXED: none
 * MAY-SKIP: needs two devices with peer access
 */
#include "devices.h"
#include "explain.h"

/* Declared, not done: the kernel would be the context's last. */
#define write(stream, x)                                                                           \
	do {                                                                                       \
		WRITES(stream, x, bytes);                                                          \
		K_SPIN(&two.k, stream, 0);                                                         \
	} while (0)

int main(void)
{
	prog_start();
	struct second two;
	CUdeviceptr x = device("x");
	CUstream there;

	two = second_start(true);
	there = stream_nb("there");

	/* example */
	/* x is memory of device 0, the current context and the stream are of device 1 */
#ifdef FIXED
	cuCtxEnablePeerAccess(prog_context, 0); /* once */
#endif
	write(there, x); /* a kernel that writes x */
	/* end */

	CU(cuCtxSynchronize());
	second_end(&two);
	prog_end();
	return 0;
}
