/* SPDX-License-Identifier: Apache-2.0 */
/* A library with names like the driver's, and with wrappers of its own for some of them. */
#define NAME(n)                                                                             \
	int n(void);                                                                        \
	int n(void)                                                                         \
	{                                                                                   \
		return 4242;                                                                \
	}
NAME(cudnnCreate)
NAME(cusolverDnCreate)
NAME(cuSPARSE)
NAME(cuMemAlloc_v2)
NAME(cuInit)
NAME(cuGetProcAddress_v2)
