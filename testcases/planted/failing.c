/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that fails.
 * EXPECT: none
 */
#include "prog.h"

enum { N = 256 };

int main(void)
{
	prog_start();
	CU(CUDA_ERROR_UNKNOWN);

	prog_end();
	return 0;
}
