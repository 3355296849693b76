/* SPDX-License-Identifier: Apache-2.0 */
/*
 * krtsan explain: the long text of a rule.
 */
#include "cli.h"
#include "../rules/finding.h"

#include <stdio.h>
#include <string.h>

static const struct krt_usage usage = {
	.command = "explain",
	.args = "[RULE...]",
	.about = "Explains rules: what is wrong, the cure, a bad and a good example.  Without RULE: lists them.",
};

static void list(FILE *f)
{
	for (unsigned i = 0; i < KRT_NR_RULES; i++)
		fprintf(f, "  %-26s %-8s %s\n", krt_rules[i].id, krt_level_name(krt_rules[i].level),
			krt_rules[i].title);
}

/* KRT- may be left out. */
static const struct krt_rule *rule(const char *name)
{
	const struct krt_rule *r = krt_rule_by_id(name);
	char id[64];

	snprintf(id, sizeof(id), "KRT-%s", name);
	return r ? r : krt_rule_by_id(id);
}

int krt_cmd_explain(int argc, char **argv)
{
	int code, next = krt_cli_parse(&usage, argc, argv, NULL, &code);

	if (next < 0)
		return code;
	if (next == argc)
		list(stdout);
	for (int i = next; i < argc; i++) {
		const struct krt_rule *r = rule(argv[i]);

		if (!r) {
			krt_fail("explain: %s: no such rule; known are:", argv[i]);
			list(stderr);
			return KRT_EXIT_FAILED;
		}
		printf("%s%s (%s): %s\n\n%s\nBad:\n\n%s\nGood:\n\n%s", i > next ? "\n" : "", r->id,
		       krt_level_name(r->level), r->title, r->explain, r->bad, r->good);
	}
	return fflush(stdout) ? KRT_EXIT_FAILED : 0;
}
