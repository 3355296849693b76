/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options: table, defaults, parser.  No malloc, stdio or locale, because the
 * preload library uses it inside other people's processes.  The caller owns
 * the struct; no locking.
 */
#include "options.h"

#include <stdbool.h>
#include <string.h>

const struct krt_option_row krt_option_rows[] = {
#define KRT_OPTION(t, n, d, s, h)                                                           \
	{ .name = #n, .def = (d), .help = (h), .type = KRT_OPTION_##t,                      \
	  .scope = KRT_SCOPE_##s, .offset = offsetof(struct krt_options, n) },
#include "options.def"
#undef KRT_OPTION
};
const unsigned krt_option_count = sizeof krt_option_rows / sizeof *krt_option_rows;

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

int krt_options_set(struct krt_options *o, const char *name, size_t namelen, const char *value,
		    size_t valuelen, char *err, size_t errlen)
{
	const struct krt_option_row *row = NULL;
	const char *text;
	void *field;
	uint64_t u;
	int64_t b;

	for (unsigned i = 0; i < krt_option_count && !row; i++)
		if (same_name(name, namelen, krt_option_rows[i].name))
			row = &krt_option_rows[i];
	if (!row)
		return fail(err, errlen, name, namelen, "unknown option", "");
	field = (char *)o + row->offset;

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

void krt_options_init(struct krt_options *o)
{
	memset(o, 0, sizeof *o);
	for (unsigned i = 0; i < krt_option_count; i++) {
		const struct krt_option_row *r = &krt_option_rows[i];

		krt_options_set(o, r->name, strlen(r->name), r->def, strlen(r->def), NULL, 0);
	}
}

static bool is_separator(char c)
{
	return c == ':' || c == ',' || c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

int krt_options_parse(struct krt_options *o, const char *text, char *err, size_t errlen)
{
	const char *s = text ? text : "";
	int mistakes = 0;

	if (errlen)
		*err = 0;
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
