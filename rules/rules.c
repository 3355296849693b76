/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rule table: rows of rules.def, each with the text of explain/ID.txt,
 * which the build turns into a macro of explain.inc (a missing text does not
 * compile).  Constant, so no locking.
 */
#include "finding.h"
#include "explain.inc"

#include <strings.h>

const struct krt_rule krt_rules[KRT_NR_RULES] = {
#define KRT_RULE(NAME, ident, lvl, text)                                                           \
	[KRT_RULE_##NAME] = {.id = ident,                                                          \
			     .title = text,                                                        \
			     .level = KRT_LEVEL_##lvl,                                             \
			     .explain = KRT_EXPLAIN_##NAME},
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
