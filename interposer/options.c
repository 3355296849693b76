/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options: table, defaults, parser.  No malloc, stdio or locale, because the
 * preload library uses it inside other people's processes.  The caller owns
 * the struct; no locking.
 */
#include "options.h"

#include <limits.h>
#include <stdbool.h>
#include <string.h>

#define NAME_LEN 64 /* names beyond that are nobody's typing error */

const struct krt_option_row krt_option_rows[] = {
#define KRT_OPTION(t, n, d, s, h)                                                           \
	{ .name = #n, .def = (d), .help = (h), .type = KRT_OPTION_##t,                      \
	  .scope = KRT_SCOPE_##s, .offset = offsetof(struct krt_options, n) },
#include "options.def"
};
const unsigned krt_option_count = sizeof krt_option_rows / sizeof *krt_option_rows;

const struct krt_option_alias krt_option_alias[] = {
#define KRT_OPTION_ALIAS(n, option) { #n, KRT_OPTION_NR_##option },
#include "options.def"
};
const unsigned krt_option_alias_count = sizeof krt_option_alias / sizeof *krt_option_alias;

/* Appends pieces to err, truncating; pieces end with a NULL text. */
struct text {
	char *at;
	size_t left;
};

static void put(struct text *t, const char *s, size_t n)
{
	if (n >= t->left)
		n = t->left ? t->left - 1 : 0;
	if (!n)
		return;
	memcpy(t->at, s, n);
	t->at += n;
	t->left -= n;
	*t->at = 0;
}

static int fail(char *err, size_t errlen, const char *name, size_t namelen, const char *why,
		const char *more)
{
	struct text t = { err, errlen };

	if (errlen)
		*err = 0;
	put(&t, name, namelen);
	put(&t, ": ", 2);
	put(&t, why, strlen(why));
	put(&t, more, strlen(more));
	return -1;
}

static bool same(const char *a, size_t alen, const char *b)
{
	return strlen(b) == alen && !memcmp(a, b, alen);
}

/* The command line writes fail-on: here too it is fail_on. */
static bool same_name(const char *a, size_t alen, const char *b)
{
	for (size_t i = 0; i < alen; i++)
		if (!b[i] || (a[i] == '-' ? '_' : a[i]) != b[i])
			return false;
	return !b[alen];
}

const struct krt_option_row *krt_option_find(const char *name, size_t len)
{
	for (unsigned i = 0; i < krt_option_count; i++)
		if (same_name(name, len, krt_option_rows[i].name))
			return &krt_option_rows[i];
	for (unsigned i = 0; i < krt_option_alias_count; i++)
		if (same_name(name, len, krt_option_alias[i].name))
			return &krt_option_rows[krt_option_alias[i].row];
	return NULL;
}

static char plain(char c)
{
	return c == '-' ? '_' : c;
}

unsigned krt_name_distance(const char *a, size_t alen, const char *b)
{
	size_t m = strlen(b);
	unsigned row[NAME_LEN + 1], last[NAME_LEN + 1],
		older[NAME_LEN + 1]; /* of i, i - 1 and i - 2 */

	if (alen > NAME_LEN || m > NAME_LEN)
		return UINT_MAX;
	for (size_t k = 0; k <= NAME_LEN; k++)
		row[k] = last[k] = (unsigned)k;
	for (size_t i = 1; i <= alen; i++) {
		memcpy(older, last, sizeof older);
		memcpy(last, row, sizeof last);
		row[0] = (unsigned)i;
		for (size_t k = 1; k <= m; k++) {
			char c = plain(a[i - 1]), d = plain(b[k - 1]);
			unsigned best = last[k - 1] + (c != d);

			if (last[k] + 1 < best)
				best = last[k] + 1;
			if (row[k - 1] + 1 < best)
				best = row[k - 1] + 1;
			/* two letters in the wrong order are one mistake */
			if (i > 1 && k > 1 && c == plain(b[k - 2]) && d == plain(a[i - 2]) &&
			    older[k - 2] + 1 < best)
				best = older[k - 2] + 1;
			row[k] = best;
		}
	}
	return row[m];
}

static int fail_unknown(char *err, size_t errlen, const char *name, size_t len)
{
	unsigned least = 1 + (unsigned)len / 3; /* more is another word */
	const char *best = NULL;

	for (unsigned i = 0; i < krt_option_count; i++) {
		unsigned d = krt_name_distance(name, len, krt_option_rows[i].name);

		if (d < least) {
			least = d;
			best = krt_option_rows[i].name;
		}
	}
	fail(err, errlen, name, len, "unknown option", best ? "; did you mean " : "");
	if (best && errlen) {
		size_t n = strlen(err);
		struct text t = { err + n, errlen - n };

		put(&t, best, strlen(best));
		put(&t, "?", 1);
	}
	return -1;
}

void krt_options_list(void (*tell)(const char *line))
{
	for (unsigned i = 0; i < krt_option_count; i++) {
		const struct krt_option_row *r = &krt_option_rows[i];
		char line[512] = "";
		struct text t = { line, sizeof line };

		put(&t, r->name, strlen(r->name));
		put(&t, "=", 1);
		put(&t, r->def, strlen(r->def));
		put(&t, "  ", 2);
		put(&t, r->help, strlen(r->help));
		tell(line);
	}
}

static bool parse_number(const char *s, size_t n, bool size, uint64_t *out)
{
	uint64_t v = 0;
	unsigned shift = 0;

	if (size && n > 1) {
		switch (s[n - 1] | 0x20) {
		case 'k': shift = 10; n--; break;
		case 'm': shift = 20; n--; break;
		case 'g': shift = 30; n--; break;
		}
	}
	if (!n || n > 18)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (s[i] < '0' || s[i] > '9')
			return false;
		v = v * 10 + (uint64_t)(s[i] - '0');
	}
	if (shift && v >> (63 - shift))
		return false;
	*out = v << shift;
	return true;
}

static bool parse_bool(const char *s, size_t n, int64_t *out)
{
	static const char *const yes[] = { "1", "yes", "true", "on" };
	static const char *const no[] = { "0", "no", "false", "off" };

	for (unsigned i = 0; i < sizeof yes / sizeof *yes; i++) {
		if (same(s, n, yes[i]))
			return *out = 1, true;
		if (same(s, n, no[i]))
			return *out = 0, true;
	}
	return false;
}

const char *krt_option_value(const struct krt_option_row *row, unsigned v, size_t *len)
{
	const char *s = row->help;

	if (row->type != KRT_OPTION_ENUM)
		return NULL;
	for (;; v--) {
		size_t n = strcspn(s, "|:");

		if (!v)
			return *len = n, s;
		if (s[n] != '|')
			return NULL;
		s += n + 1;
	}
}

static const char *keep(struct krt_options *o, const char *s, size_t n)
{
	char *p = o->pool + o->used;

	if (!n)
		return "";
	if (n >= sizeof o->pool - o->used)
		return NULL;
	memcpy(p, s, n);
	p[n] = 0;
	o->used += n + 1;
	return p;
}

static int set(struct krt_options *o, const struct krt_option_row *row, const char *name, size_t namelen,
	       const char *value, size_t valuelen, char *err, size_t errlen)
{
	void *field = (char *)o + row->offset;
	const char *text;
	uint64_t u;
	int64_t b;

	if (memchr(value, '\'', valuelen) && memchr(value, '"', valuelen))
		return fail(err, errlen, name, namelen, "holds both kinds of quotes", "");
	switch (row->type) {
	case KRT_OPTION_BOOL:
		if (!parse_bool(value, valuelen, &b))
			return fail(err, errlen, name, namelen, "wants 0 or 1", "");
		*(int64_t *)field = b;
		return 0;
	case KRT_OPTION_INT:
	case KRT_OPTION_SIZE:
		if (!parse_number(value, valuelen, row->type == KRT_OPTION_SIZE, &u))
			return fail(err, errlen, name, namelen, row->type == KRT_OPTION_SIZE
				    ? "wants a size (K, M, G)" : "wants a number", "");
		if (row->type == KRT_OPTION_INT)
			*(int64_t *)field = (int64_t)u;
		else
			*(uint64_t *)field = u;
		return 0;
	case KRT_OPTION_ENUM:
		for (unsigned v = 0;; v++) {
			size_t n;

			text = krt_option_value(row, v, &n);
			if (!text)
				return fail(err, errlen, name, namelen, "wants ", row->help);
			if (n == valuelen && !memcmp(text, value, n)) {
				*(int64_t *)field = v;
				return 0;
			}
		}
	case KRT_OPTION_STR:
		text = keep(o, value, valuelen);
		if (!text)
			return fail(err, errlen, name, namelen, "value too long", "");
		*(const char **)field = text;
		return 0;
	case KRT_OPTION_LIST: {
		struct krt_option_list *list = field;

		if (!valuelen)
			return 0;
		if (list->count == KRT_OPTION_LIST_MAX)
			return fail(err, errlen, name, namelen, "given too often", "");
		text = keep(o, value, valuelen);
		if (!text)
			return fail(err, errlen, name, namelen, "value too long", "");
		list->item[list->count++] = text;
		return 0;
	}
	}
	return -1;
}

int krt_options_set(struct krt_options *o, const char *name, size_t namelen, const char *value,
		    size_t valuelen, char *err, size_t errlen)
{
	const struct krt_option_row *row = krt_option_find(name, namelen);

	if (!row)
		return fail_unknown(err, errlen, name, namelen);
	if (set(o, row, name, namelen, value, valuelen, err, errlen))
		return -1;
	o->source[row - krt_option_rows] = o->setting;
	return 0;
}

void krt_options_init(struct krt_options *o)
{
	memset(o, 0, sizeof *o);
	for (unsigned i = 0; i < krt_option_count; i++) {
		const struct krt_option_row *r = &krt_option_rows[i];

		krt_options_set(o, r->name, strlen(r->name), r->def, strlen(r->def), NULL, 0);
	}
	o->setting = KRT_SOURCE_COMMAND;
}

static bool is_separator(char c)
{
	return c == ':' || c == ',' || c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static int parse(struct krt_options *o, const char *s, char *err, size_t errlen)
{
	int mistakes = 0;

	for (;;) {
		const char *name, *value;
		size_t namelen, valuelen;
		char *to = mistakes ? NULL : err;
		size_t tolen = mistakes ? 0 : errlen;

		while (is_separator(*s))
			s++;
		if (!*s)
			return mistakes;
		name = s;
		while (*s && *s != '=' && !is_separator(*s))
			s++;
		namelen = (size_t)(s - name);
		if (*s != '=') {
			fail(to, tolen, name, namelen, "wants =value (a value with a colon goes in quotes)", "");
			mistakes++;
			continue;
		}
		value = ++s;
		if (*s == '\'' || *s == '"') {
			char quote = *s++;

			value = s;
			while (*s && *s != quote)
				s++;
			valuelen = (size_t)(s - value);
			if (!*s) {
				fail(to, tolen, name, namelen, "missing closing quote", "");
				return mistakes + 1;
			}
			s++;
		} else {
			while (*s && !is_separator(*s))
				s++;
			valuelen = (size_t)(s - value);
		}
		if (krt_options_set(o, name, namelen, value, valuelen, to, tolen))
			mistakes++;
	}
}

int krt_options_parse(struct krt_options *o, const char *text, char *err, size_t errlen)
{
	int mistakes;

	if (errlen)
		*err = 0;
	o->setting = KRT_SOURCE_ENVIRONMENT;
	mistakes = parse(o, text ? text : "", err, errlen);
	o->setting = KRT_SOURCE_COMMAND;
	return mistakes;
}
