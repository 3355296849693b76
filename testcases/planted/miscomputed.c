/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A wrong value without a hazard.
 * EXPECT: none
 */
#include "prog.h"

enum { N = 256 };

int main(void)
{
	prog_start();
	check_u32("one", 1, 2);

	prog_end();
	return 0;
}
