/* SPDX-License-Identifier: Apache-2.0 */
/* The options parser, and the names of enum values in options.h against the table. */
#include "options.h"

#include <criterion/criterion.h>
#include <string.h>

static struct krt_options o;
static char err[128];

static void reset(void)
{
	krt_options_init(&o);
}

Test(options, defaults, .init = reset)
{
	cr_assert_eq(o.exitcode, 66);
	cr_assert_eq(o.bound, 256u << 20);
	cr_assert_eq(o.stacks, KRT_STACKS_full);
	cr_assert_str_eq(o.log_path, "stderr");
	cr_assert_eq(o.report.count, 0);
	cr_assert_eq(krt_options_parse(&o, NULL, err, sizeof err), 0);
}

Test(options, parse, .init = reset)
{
	cr_assert_eq(krt_options_parse(&o, "exitcode=3:bound=2G,stacks=leaf times=no\non_full=drop", err, sizeof err), 0);
	cr_assert_eq(o.exitcode, 3);
	cr_assert_eq(o.bound, 2ull << 30);
	cr_assert_eq(o.stacks, KRT_STACKS_leaf);
	cr_assert_eq(o.times, 0);
	cr_assert_eq(o.on_full, KRT_ON_FULL_drop);
}

Test(options, names_as_on_the_command_line, .init = reset)
{
	cr_assert_eq(krt_options_parse(&o, "fail-on=note:on-full=drop", err, sizeof err), 0);
	cr_assert_eq(o.fail_on, KRT_FAIL_ON_note);
	cr_assert_eq(o.on_full, KRT_ON_FULL_drop);
	cr_assert_eq(krt_options_parse(&o, "fail-o=note:fail-onn=note", err, sizeof err), 2);
}

Test(options, quoted_values_may_hold_separators, .init = reset)
{
	cr_assert_eq(krt_options_parse(&o, "report='json:a b.json':report=\"text:-\":kernels=x", err, sizeof err), 0);
	cr_assert_eq(o.report.count, 2);
	cr_assert_str_eq(o.report.item[0], "json:a b.json");
	cr_assert_str_eq(o.report.item[1], "text:-");
	cr_assert_str_eq(o.kernels, "x");
}

Test(options, mistakes_are_counted_and_the_rest_holds, .init = reset)
{
	cr_assert_eq(krt_options_parse(&o, "nonsense=1:exitcode=5:stacks=deep:times", err, sizeof err), 3);
	cr_assert_str_eq(err, "nonsense: unknown option");
	cr_assert_eq(o.exitcode, 5);
	cr_assert_eq(o.stacks, KRT_STACKS_full);
	cr_assert_eq(krt_options_parse(&o, "kernels='never closed", err, sizeof err), 1);
	cr_assert_eq(krt_options_parse(&o, "exitcode=-1", err, sizeof err), 1);
	cr_assert_eq(krt_options_parse(&o, "exitcode=", err, sizeof err), 1);
	cr_assert_eq(krt_options_parse(&o, "bound=99999999999999999999", err, sizeof err), 1);
	cr_assert_eq(krt_options_parse(&o, "bound=900000000000000G", err, sizeof err), 1);
	cr_assert_eq(o.bound, 256u << 20);
}

Test(options, separators_and_quotes_of_sanitizers, .init = reset)
{
	cr_assert_eq(krt_options_parse(&o, " :,\n\texitcode=1,\r\nhot_min=2 depth=3\tverbosity=1::,", err, sizeof err), 0);
	cr_assert(o.exitcode == 1 && o.hot_min == 2 && o.depth == 3 && o.verbosity == 1);
	cr_assert_eq(krt_options_parse(&o, "kernels='a:b,c d\ne\"f':ptx_path=\"it's\"", err, sizeof err), 0);
	cr_assert_str_eq(o.kernels, "a:b,c d\ne\"f");
	cr_assert_str_eq(o.ptx_path, "it's");
	/* the last one counts; a list grows */
	cr_assert_eq(krt_options_parse(&o, "exitcode=4:exitcode=5:report=a:report=b:kernels=", err, sizeof err), 0);
	cr_assert(o.exitcode == 5 && o.report.count == 2 && !*o.kernels);
}

Test(options, names_of_other_tools, .init = reset)
{
	cr_assert_eq(krt_options_parse(&o, "error_exitcode=7:log-file=x.log:strip_path_prefix=/src", err, sizeof err), 0);
	cr_assert_eq(o.exitcode, 7);
	cr_assert_str_eq(o.log_path, "x.log");
	cr_assert_str_eq(o.source_root, "/src");
	for (unsigned i = 0; i < krt_option_alias_count; i++) {
		const char *name = krt_option_alias[i].name;

		cr_expect_eq(krt_option_find(name, strlen(name)), &krt_option_rows[krt_option_alias[i].row]);
		for (unsigned k = 0; k < krt_option_count; k++)
			cr_expect_str_neq(name, krt_option_rows[k].name);
	}
}

Test(options, a_typing_error_gets_a_hint, .init = reset)
{
	krt_options_parse(&o, "fail_onn=note", err, sizeof err);
	cr_assert_str_eq(err, "fail_onn: unknown option; did you mean fail_on?");
	krt_options_parse(&o, "on-ful=drop", err, sizeof err);
	cr_assert_str_eq(err, "on-ful: unknown option; did you mean on_full?");
	cr_assert_eq(krt_name_distance("rnu", 3, "run"), 1, "two letters in the wrong order");
	cr_assert_eq(krt_name_distance("on-full", 7, "on_full"), 0);
	cr_assert_eq(krt_name_distance("a-b", 3, "a-b"), 0);
	cr_assert_eq(krt_name_distance("", 0, "abc"), 3);
	cr_assert_eq(krt_name_distance("kitten", 6, "sitting"), 3);
	krt_options_parse(&o, "halt_on_error=1", err, sizeof err);
	cr_assert_str_eq(err, "halt_on_error: unknown option");
	krt_options_parse(&o, "fail_onn=note", err, 12);
	cr_assert_str_eq(err, "fail_onn: u");
	cr_assert_eq(krt_options_parse(&o, "fail_onn=note", NULL, 0), 1);
}

Test(options, both_kinds_of_quotes_are_refused, .init = reset)
{
	cr_assert_eq(krt_options_set(&o, "kernels", 7, "a'b\"c", 5, err, sizeof err), -1);
	cr_assert_str_eq(err, "kernels: holds both kinds of quotes");
	cr_assert_str_eq(o.kernels, "");
}

Test(options, who_said_so, .init = reset)
{
	cr_assert_eq(o.source[KRT_OPTION_NR_exitcode], KRT_SOURCE_DEFAULT);
	krt_options_parse(&o, "exitcode=66:depth=x", err, sizeof err);
	cr_assert_eq(o.source[KRT_OPTION_NR_exitcode], KRT_SOURCE_ENVIRONMENT);
	cr_assert_eq(o.source[KRT_OPTION_NR_depth], KRT_SOURCE_DEFAULT);
	krt_options_set(&o, "depth", 5, "3", 1, err, sizeof err);
	cr_assert_eq(o.source[KRT_OPTION_NR_depth], KRT_SOURCE_COMMAND);
	for (unsigned i = 0; i < KRT_NR_OPTIONS; i++)
		cr_expect_eq(o.source[i] != 0, i == KRT_OPTION_NR_exitcode || i == KRT_OPTION_NR_depth);
}

Test(options, any_text_is_survived, .init = reset)
{
	static const char *const piece[] = {
		"=", ":", ",", " ", "\n", "'", "\"", "-", "_", "report", "kernels", "exitcode", "bound",
		"show", "times", "66", "1G", "likely", "json:a", "\xff", "\t=", "fail_onn",
	};
	uint64_t seed = 1;

	for (unsigned round = 0; round < 3000; round++) {
		char text[256] = "", why[40] = "";
		int r;

		for (unsigned i = 0; i < 20; i++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			strcat(text, piece[(seed >> 33) % (sizeof piece / sizeof *piece)]);
		}
		r = krt_options_parse(&o, text, why, round % sizeof why);
		cr_assert(r >= 0 && strlen(why) < sizeof why);
		cr_assert(o.used <= sizeof o.pool && o.report.count <= KRT_OPTION_LIST_MAX);
		cr_assert((r == 0) == !*why || round % sizeof why < 2, "%s: %d, %s", text, r, why);
	}
}

static unsigned lines;
static void count(const char *line)
{
	const struct krt_option_row *r = &krt_option_rows[lines++];

	cr_expect(!strncmp(line, r->name, strlen(r->name)) && strlen(line) >= strlen(r->help));
	cr_expect_str_eq(line + strlen(line) - strlen(r->help), r->help);
}

Test(options, the_list_is_whole, .init = reset)
{
	lines = 0;
	krt_options_list(count);
	cr_assert_eq(lines, KRT_NR_OPTIONS);
}

Test(options, long_input_is_refused_not_cut, .init = reset)
{
	static char text[2 * KRT_OPTION_POOL];

	memcpy(text, "kernels=", 8);
	memset(text + 8, 'x', sizeof text - 9);
	cr_assert_eq(krt_options_parse(&o, text, err, 8), 1);
	cr_assert_str_eq(err, "kernels");
	cr_assert_str_eq(o.kernels, "");
}

static int64_t value(const char *name, const char *text)
{
	int64_t *field = NULL;

	cr_assert_eq(krt_options_set(&o, name, strlen(name), text, strlen(text), err, sizeof err), 0, "%s", err);
	for (unsigned i = 0; i < krt_option_count; i++)
		if (!strcmp(krt_option_rows[i].name, name))
			field = (int64_t *)((char *)&o + krt_option_rows[i].offset);
	return *field;
}

Test(options, enum_names_follow_the_table, .init = reset)
{
#define SAME(name, NAME, v) cr_expect_eq(value(#name, #v), KRT_##NAME##_##v)
	SAME(fail_on, FAIL_ON, error);
	SAME(fail_on, FAIL_ON, warning);
	SAME(fail_on, FAIL_ON, note);
	SAME(fail_on, FAIL_ON, never);
	SAME(require, REQUIRE, none);
	SAME(require, REQUIRE, complete);
	SAME(show, SHOW, certain);
	SAME(show, SHOW, likely);
	SAME(show, SHOW, possible);
	SAME(color, COLOR, auto);
	SAME(color, COLOR, always);
	SAME(color, COLOR, never);
	SAME(stacks, STACKS, none);
	SAME(stacks, STACKS, leaf);
	SAME(stacks, STACKS, full);
	SAME(torch, TORCH, off);
	SAME(torch, TORCH, watch);
	SAME(torch, TORCH, replace);
	SAME(on_full, ON_FULL, wait);
	SAME(on_full, ON_FULL, drop);
	SAME(sim_view, SIM_VIEW, observed);
	SAME(sim_view, SIM_VIEW, documented);
}
