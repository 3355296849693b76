/* SPDX-License-Identifier: Apache-2.0 */
/*
 * krtsan explain: the long text of a rule.
 */
#include "cli.h"
#include "../rules/finding.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const struct krt_usage usage = {
	.command = "explain",
	.args = "[RULE...]",
	.about = "Explains rules: what is wrong, the cure, a bad and a good example.  Without RULE: lists them.",
};

static void list(void)
{
	for (unsigned i = 0; i < KRT_NR_RULES; i++)
		printf("  %-26s %-8s %s\n", krt_rules[i].id, krt_level_name(krt_rules[i].level),
		       krt_rules[i].title);
}

/* KRT- may be left out, and be written in any way that reads the same. */
static void rule_id(const char *name, char *id, size_t size)
{
	bool whole = !strncasecmp(name, "KRT", 3) && (name[3] == '-' || name[3] == '_');

	snprintf(id, size, "%s%s", whole ? "" : "KRT-", name);
	for (; *id; id++)
		*id = *id == '_' ? '-' : (char)toupper((unsigned char)*id);
}

#define WORD 7 /* "KRT-" and three letters */

/* Rules that have the word in their names; else the nearest one. */
static int unknown(const char *name, const char *id)
{
	struct krt_nearest n = {.name = id};
	char some[1024] = "";
	size_t len = 0;

	for (unsigned i = 0; i < KRT_NR_RULES; i++) {
		krt_nearer(&n, krt_rules[i].id);
		if (strlen(id) >= WORD && strstr(krt_rules[i].id + 4, id + 4) && len < sizeof(some))
			len += (size_t)snprintf(some + len, sizeof(some) - len, "%s%s",
						len ? ", " : "", krt_rules[i].id);
	}
	if (!len && !n.best)
		return krt_fail("explain: %s: no such rule; `krtsan explain` lists them", name);
	return krt_fail("explain: %s: no such rule; did you mean %s?", name, len ? some : n.best);
}

int krt_cmd_explain(int argc, char **argv)
{
	int code, next = krt_cli_parse(&usage, argc, argv, NULL, &code);

	if (next < 0)
		return code;
	if (next == argc)
		list();
	for (int i = next; i < argc; i++) {
		const struct krt_rule *r;
		char id[64];

		rule_id(argv[i], id, sizeof(id));
		r = krt_rule_by_id(id);
		if (!r)
			return unknown(argv[i], id);
		printf("%s%s (%s): %s\n\n%s\nBad:\n\n%s\nGood:\n\n%s", i > next ? "\n" : "", r->id,
		       krt_level_name(r->level), r->title, r->explain, r->bad, r->good);
	}
	return fflush(stdout) ? KRT_EXIT_FAILED : 0;
}
