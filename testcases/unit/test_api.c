/* SPDX-License-Identifier: Apache-2.0 */
/* The table of entry points: what its users take for granted of every row. */
#include <criterion/criterion.h>
#include <string.h>
#include "api.h"

Test(api, rows_are_whole)
{
	for (unsigned i = 0; i < KRT_NR_APIS; i++) {
		const struct krt_api *a = &krt_api[i];

		cr_assert_not_null(a->symbol, "row %u", i);
		cr_assert_not_null(a->base, "%s", a->symbol);
		cr_assert_leq(a->argc, KRT_MAX_ARGS, "%s", a->symbol);
		cr_assert_lt(a->op, KRT_NR_OPS, "%s", a->symbol);
		for (unsigned j = 0; j < a->argc; j++) {
			cr_assert_lt(a->arg[j].role, KRT_NR_ROLES, "%s", a->symbol);
			cr_assert_not_null(a->arg[j].name, "%s argument %u", a->symbol, j);
		}
	}
}

Test(api, symbols_are_unique)
{
	for (unsigned i = 0; i < KRT_NR_APIS; i++)
		for (unsigned j = i + 1; j < KRT_NR_APIS; j++)
			cr_assert_str_neq(krt_api[i].symbol, krt_api[j].symbol);
}
