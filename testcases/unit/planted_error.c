/* SPDX-License-Identifier: Apache-2.0 */
/* A test that passes and reads freed memory: run.sh --valgrind must refuse it. */
#include <criterion/criterion.h>
#include <stdlib.h>

static volatile int sink;

Test(planted, error)
{
	int *volatile p = malloc(sizeof(*p));

	cr_assert_not_null(p);
	*p = 1;
	free(p);
	sink = *p;
}
