/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a command takes, told three ways from its struct krt_usage and the tables
 * of options, rules and formats: the text of --help, the source of its part of
 * krtsan(1), and the words of the bash completion.  `krtsan help --roff` and the
 * like collect them when krtsan is built, so that a new command is in all three
 * by being in the table of main.c.
 */
#define _GNU_SOURCE
#include "cli.h"
#include "../reports/report.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* --help is not the option `help`. */
static bool obeys(const struct krt_usage *u, const struct krt_option_row *row)
{
	const char *const *o = u->obeyed;

	if (row == &krt_option_rows[KRT_OPTION_NR_help])
		return false;
	if (u->recorded && row->scope == KRT_SCOPE_LIB)
		return false;
	while (o && *o && strcmp(*o, row->name))
		o++;
	return !o || *o;
}

/* Does it take every option there is? */
static bool obeys_all(const struct krt_usage *u)
{
	return !u->recorded && !u->obeyed;
}

/* An option's name as the command line has it. */
static const char *dashed(const char *name)
{
	static char text[64];

	snprintf(text, sizeof(text), "%s", name);
	for (char *c = text; *c; c++)
		if (*c == '_')
			*c = '-';
	return text;
}

/* --- text ---------------------------------------------------------------------------- */

static void text(const struct krt_usage *u)
{
	printf("usage: krtsan %s%s%s\n\n%s\n", u->command, *u->args ? " " : "", u->args, u->about);
	if (u->flags && u->flags->name)
		puts("");
	for (const struct krt_flag *f = u->flags; f && f->name; f++) {
		char name[80];

		snprintf(name, sizeof(name), "%s%s%s%s", f->name[1] ? "--" : "-", f->name,
			 !f->arg      ? ""
			 : f->name[1] ? "="
				      : " ",
			 f->arg ? f->arg : "");
		printf("  %-24s %s\n", name, f->help);
	}
	if (!u->options)
		return;
	puts("\nOptions; the same names go into KRTSAN_OPTIONS=\"name=value:name=value\":");
	for (unsigned i = 0; i < krt_option_count; i++) {
		const struct krt_option_row *r = &krt_option_rows[i];
		char name[80];

		if (!obeys(u, r))
			continue;
		snprintf(name, sizeof(name), "--%s=", dashed(r->name));
		printf("  %-20s%-8s %s\n", name, *r->def ? r->def : "''", r->help);
	}
}

/* --- man pages ----------------------------------------------------------------------- */

/*
 * Running text: `words` in bold, each sentence on a line of its own as roff
 * wants it, a new paragraph where a line of the source ends a sentence.  stop:
 * what it ends with.
 */
static void prose(const char *s, const char *stop)
{
	bool bold = false, begin = true;

	for (; *s; s++) {
		if (begin && (*s == '.' || *s == '\''))
			fputs("\\&", stdout);
		begin = false;
		switch (*s) {
		case '\\':
			fputs("\\e", stdout);
			break;
		case '-':
			fputs("\\-", stdout);
			break;
		case '`':
			bold = !bold;
			fputs(bold ? "\\fB" : "\\fR", stdout);
			break;
		case '\n':
			while (s[1] == '\n')
				s++;
			puts(s[-1] == '.' || s[-1] == '\n' ? "\n.PP" : "");
			begin = true;
			break;
		case ' ':
			begin = (s[-1] == '.' || s[-1] == ';') && isupper((unsigned char)s[1]);
			putchar(begin ? '\n' : ' ');
			break;
		default:
			putchar(*s);
		}
	}
	printf("%s%s\n", bold ? "\\fR" : "", stop);
}

/* A name or a line of usage: capitals are what the user puts in. */
static void term(const char *s)
{
	for (; *s; s++)
		if (*s == '-')
			fputs("\\-", stdout);
		else if (*s == '\\')
			fputs("\\e", stdout);
		else
			putchar(*s);
}

static void roff(const struct krt_usage *u)
{
	const char *sep = "";

	fputs(".SS \"krtsan ", stdout);
	term(u->command);
	printf("%s", *u->args ? " " : "");
	term(u->args);
	puts("\"");
	prose(u->about, "");
	for (const struct krt_flag *f = u->flags; f && f->name; f++) {
		if (f->internal)
			continue;
		printf(".TP\n\\fB%s", f->name[1] ? "\\-\\-" : "\\-");
		term(f->name);
		printf("\\fR%s", !f->arg ? "" : f->name[1] ? "=" : " ");
		if (f->arg) {
			fputs("\\fI", stdout);
			term(f->arg);
			fputs("\\fR", stdout);
		}
		puts("");
		prose(f->help, "");
	}
	if (!u->options)
		return;
	puts(".PP");
	if (obeys_all(u)) {
		puts("Takes every option of\n.BR krtsan\\-options (7).");
		return;
	}
	puts("Of\n.BR krtsan\\-options (7)\nit takes");
	for (unsigned i = 0; i < krt_option_count; i++)
		if (obeys(u, &krt_option_rows[i])) {
			printf("%s\\fB\\-\\-", sep);
			term(dashed(krt_option_rows[i].name));
			fputs("\\fR", stdout);
			sep = ",\n";
		}
	puts(".");
}

static const char *placeholder(const struct krt_option_row *r)
{
	static const char *const name[] = {
		[KRT_OPTION_BOOL] = "0|1",  [KRT_OPTION_INT] = "N",	 [KRT_OPTION_SIZE] = "SIZE",
		[KRT_OPTION_STR] = "VALUE", [KRT_OPTION_LIST] = "VALUE", [KRT_OPTION_ENUM] = NULL,
	};
	static char text[128];

	if (name[r->type])
		return name[r->type];
	snprintf(text, sizeof(text), "%.*s", (int)strcspn(r->help, ":"), r->help);
	return text;
}

static void options_roff(enum krt_option_scope scope)
{
	for (unsigned i = 0; i < krt_option_count; i++) {
		const struct krt_option_row *r = &krt_option_rows[i];
		const char *help = r->help;

		if ((r->scope == KRT_SCOPE_LIB) != (scope == KRT_SCOPE_LIB))
			continue;
		fputs(".TP\n\\fB", stdout);
		term(r->name);
		fputs("\\fR=\\fI", stdout);
		term(placeholder(r));
		puts("\\fR");
		if (r->type == KRT_OPTION_ENUM) {
			help += strcspn(help, ":");
			help += strspn(help, ": ");
		}
		if (*help)
			prose(help, ".");
		fputs("Default: ", stdout);
		if (*r->def) {
			fputs("\\fB", stdout);
			term(r->def);
			puts("\\fR.");
		} else {
			puts("empty.");
		}
		if (r->type == KRT_OPTION_LIST)
			puts("May be given several times.");
		for (unsigned k = 0; k < krt_option_alias_count; k++)
			if (krt_option_alias[k].row == i)
				printf("The name \\fB%s\\fR is known too.\n",
				       krt_option_alias[k].name);
	}
}

static void rules_roff(void)
{
	for (unsigned i = 0; i < KRT_NR_RULES; i++) {
		fputs(".TP\n\\fB", stdout);
		term(krt_rules[i].id);
		printf("\\fR (%s)\n", krt_level_name(krt_rules[i].level));
		prose(krt_rules[i].title, "");
	}
}

/* --- bash completion ----------------------------------------------------------------- */

/*
 * Lines of a case statement: what may follow a word (`COMMAND --flag`, `:behind
 * COMMAND` for what stands behind the flags).  :file and :none stand for a file
 * name and for what nobody can list, :may in front says that the word is whole
 * without it.
 */
static void values_of(const char *arg)
{
	static const char *const kind[][2] = {
		{"PROGRAM", ":program"}, {"FORMAT", ":format"}, {"RULE", ":rule"},
		{"FILE", ":file"},	 {"PATH", ":file"},	{"FOLDER", ":file"},
		{"TRACE", ":file"},	 {"DIR", ":file"},	{".json", ":file"},
	};

	for (unsigned i = 0; i < sizeof(kind) / sizeof(*kind); i++)
		if (strstr(arg, kind[i][0])) {
			fputs(kind[i][1], stdout);
			return;
		}
	if (*arg == '[' || !strchr(arg, '|')) {
		fputs(":none", stdout);
		return;
	}
	for (; *arg; arg++)
		putchar(*arg == '|' ? ' ' : *arg);
}

static void bash(const struct krt_usage *u)
{
	printf("\t%s)\n\t\techo '", u->command);
	for (const struct krt_flag *f = u->flags; f && f->name; f++)
		if (!f->internal)
			printf("%s%s%s ", f->name[1] ? "--" : "-", f->name,
			       f->arg && f->name[1] ? "=" : "");
	for (unsigned i = 0; u->options && i < krt_option_count; i++)
		if (obeys(u, &krt_option_rows[i]))
			printf("--%s= ", dashed(krt_option_rows[i].name));
	printf("--help' ;;\n\t':behind %s')\n\t\techo '", u->command);
	values_of(u->args);
	puts("' ;;");
	for (const struct krt_flag *f = u->flags; f && f->name; f++)
		if (f->arg && !f->internal) {
			printf("\t'%s %s%s')\n\t\techo '", u->command, f->name[1] ? "--" : "-",
			       f->name);
			values_of(f->arg);
			puts("' ;;");
		}
}

static void options_bash(void)
{
	for (unsigned i = 0; i < krt_option_count; i++) {
		const struct krt_option_row *r = &krt_option_rows[i];

		printf("\t*' --%s')\n\t\techo '%s", dashed(r->name),
		       krt_cli_implied(r) ? ":may " : "");
		switch (r->type) {
		case KRT_OPTION_BOOL:
		case KRT_OPTION_ENUM:
			values_of(placeholder(r));
			break;
		case KRT_OPTION_INT:
		case KRT_OPTION_SIZE:
			values_of("N");
			break;
		case KRT_OPTION_STR:
		case KRT_OPTION_LIST:
			values_of(strstr(r->help, "FORMAT:") ? "FORMAT" : "FILE");
			break;
		}
		puts("' ;;");
	}
	fputs("\t:rule)\n\t\techo '", stdout);
	for (unsigned i = 0; i < KRT_NR_RULES; i++)
		printf("%s%s", i ? " " : "", krt_rules[i].id);
	fputs("' ;;\n\t:format)\n\t\techo '", stdout);
	for (const struct krt_format *f = krt_formats; f->name; f++)
		printf("%s%s:", f == krt_formats ? "" : " ", f->name);
	puts("' ;;");
}

int krt_help(const struct krt_usage *u, const char *form)
{
	static const struct {
		const char *form;
		void (*command)(const struct krt_usage *u);
	} forms[] = {{"", text}, {"roff", roff}, {"bash", bash}};

	for (unsigned i = 0; i < sizeof(forms) / sizeof(*forms); i++)
		if (!strcmp(form, forms[i].form)) {
			forms[i].command(u);
			return 0;
		}
	return -1;
}

int krt_help_tables(const char *form)
{
	if (!strcmp(form, "roff-options"))
		options_roff(KRT_SCOPE_BOTH);
	else if (!strcmp(form, "roff-options-library"))
		options_roff(KRT_SCOPE_LIB);
	else if (!strcmp(form, "roff-rules"))
		rules_roff();
	else if (!strcmp(form, "bash"))
		options_bash();
	else
		return -1;
	return 0;
}
