/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A test that passes and leaks: run.sh --valgrind must refuse it.  The leak is
 * in the child that Criterion makes for the test, whose exit code it drops.
 */
#include <criterion/criterion.h>
#include <stdlib.h>

static void *volatile lost;

Test(planted, leak)
{
	lost = malloc(100);
	lost = NULL;
	cr_assert(1);
}
