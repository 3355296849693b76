/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rule table: rows of rules.def, each with the text of explain/ID.txt and the
 * example of testcases/explain/ID.c, which the build turns into macros of
 * explain.inc and examples.inc (a missing one does not compile).  Constant, so no locking.
 */
#include "finding.h"
#include "explain.inc"
#include "examples.inc"

#include <strings.h>

const struct krt_rule krt_rules[KRT_NR_RULES] = {
#define KRT_RULE(NAME, ident, lvl, text)                                                           \
	[KRT_RULE_##NAME] = {.id = ident,                                                          \
			     .title = text,                                                        \
			     .level = KRT_LEVEL_##lvl,                                             \
			     .explain = KRT_EXPLAIN_##NAME,                                               \
			     .bad = KRT_BAD_##NAME,                                                \
			     .good = KRT_GOOD_##NAME},
#include "rules.def"
#undef KRT_RULE
};

const struct krt_rule *krt_rule_by_id(const char *id)
{
	for (unsigned i = 0; i < KRT_NR_RULES; i++)
		if (!strcasecmp(krt_rules[i].id, id))
			return &krt_rules[i];
	return NULL;
}
