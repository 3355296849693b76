/* SPDX-License-Identifier: Apache-2.0 */
#include "json.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct parser {
	const char *s, *end;
	int depth;
};

static void *alloc(size_t n)
{
	void *p = calloc(1, n);

	if (!p) {
		perror("json");
		exit(125);
	}
	return p;
}

static void skip(struct parser *p)
{
	while (p->s < p->end && (*p->s == ' ' || *p->s == '\t' || *p->s == '\n' || *p->s == '\r'))
		p->s++;
}

static int hex4(struct parser *p, unsigned *v)
{
	*v = 0;
	for (int i = 0; i < 4; i++) {
		if (p->s >= p->end || !isxdigit((unsigned char)*p->s))
			return 0;
		*v = *v * 16 + (unsigned)(isdigit((unsigned char)*p->s) ? *p->s - '0'
									: (*p->s | 32) - 'a' + 10);
		p->s++;
	}
	return 1;
}

static char *put_utf8(char *o, unsigned c)
{
	if (c < 0x80) {
		*o++ = (char)c;
	} else if (c < 0x800) {
		*o++ = (char)(0xc0 | c >> 6);
		*o++ = (char)(0x80 | (c & 63));
	} else if (c < 0x10000) {
		*o++ = (char)(0xe0 | c >> 12);
		*o++ = (char)(0x80 | (c >> 6 & 63));
		*o++ = (char)(0x80 | (c & 63));
	} else {
		*o++ = (char)(0xf0 | c >> 18);
		*o++ = (char)(0x80 | (c >> 12 & 63));
		*o++ = (char)(0x80 | (c >> 6 & 63));
		*o++ = (char)(0x80 | (c & 63));
	}
	return o;
}

static int escape(struct parser *p, char **o)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	unsigned c, low;
	const char *at;

	if (p->s >= p->end || !*p->s)
		return 0;
	if (*p->s != 'u') {
		at = strchr(from, *p->s++);
		if (!at)
			return 0;
		*(*o)++ = to[at - from];
		return 1;
	}
	p->s++;
	if (!hex4(p, &c) || (c >= 0xdc00 && c < 0xe000))
		return 0;
	if (c >= 0xd800 && c < 0xdc00) {
		if (p->end - p->s < 6 || p->s[0] != '\\' || p->s[1] != 'u')
			return 0;
		p->s += 2;
		if (!hex4(p, &low) || low < 0xdc00 || low >= 0xe000)
			return 0;
		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
	}
	*o = put_utf8(*o, c);
	return 1;
}

static char *string(struct parser *p)
{
	char *out, *o;

	if (p->s >= p->end || *p->s != '"')
		return NULL;
	p->s++;
	out = o = alloc((size_t)(p->end - p->s) + 1);
	while (p->s < p->end && *p->s != '"') {
		if ((unsigned char)*p->s < 0x20)
			break;
		if (*p->s != '\\') {
			*o++ = *p->s++;
			continue;
		}
		p->s++;
		if (!escape(p, &o))
			break;
	}
	if (p->s >= p->end || *p->s != '"') {
		free(out);
		return NULL;
	}
	p->s++;
	o = strdup(out);
	free(out);
	return o;
}

static int digits(struct parser *p)
{
	const char *from = p->s;

	while (p->s < p->end && isdigit((unsigned char)*p->s))
		p->s++;
	return p->s > from;
}

static char *number(struct parser *p)
{
	const char *from = p->s;

	if (p->s < p->end && *p->s == '-')
		p->s++;
	if (p->s < p->end && *p->s == '0')
		p->s++;
	else if (!digits(p))
		return NULL;
	if (p->s < p->end && *p->s == '.') {
		p->s++;
		if (!digits(p))
			return NULL;
	}
	if (p->s < p->end && (*p->s == 'e' || *p->s == 'E')) {
		p->s++;
		if (p->s < p->end && (*p->s == '+' || *p->s == '-'))
			p->s++;
		if (!digits(p))
			return NULL;
	}
	return strndup(from, (size_t)(p->s - from));
}

static struct json *value(struct parser *p);

static int members(struct parser *p, struct json *j, char close)
{
	struct json **tail = &j->first;
	char *key;

	p->s++;
	skip(p);
	if (p->s < p->end && *p->s == close) {
		p->s++;
		return 1;
	}
	for (;;) {
		key = NULL;
		if (close == '}') {
			skip(p);
			key = string(p);
			skip(p);
			if (!key || p->s >= p->end || *p->s != ':') {
				free(key);
				return 0;
			}
			p->s++;
		}
		*tail = value(p);
		if (!*tail) {
			free(key);
			return 0;
		}
		(*tail)->key = key;
		tail = &(*tail)->next;
		skip(p);
		if (p->s >= p->end || (*p->s != ',' && *p->s != close))
			return 0;
		if (*p->s++ == close)
			return 1;
	}
}

static int word(struct parser *p, const char *w)
{
	size_t n = strlen(w);

	if ((size_t)(p->end - p->s) < n || memcmp(p->s, w, n))
		return 0;
	p->s += n;
	return 1;
}

static struct json *value(struct parser *p)
{
	struct json *j = alloc(sizeof(*j));
	int ok = 0;

	skip(p);
	if (p->s >= p->end || ++p->depth > 200) {
		free(j);
		return NULL;
	}
	switch (*p->s) {
	case '{':
		j->type = JSON_OBJECT;
		ok = members(p, j, '}');
		break;
	case '[':
		j->type = JSON_ARRAY;
		ok = members(p, j, ']');
		break;
	case '"':
		j->type = JSON_STRING;
		j->text = string(p);
		ok = j->text != NULL;
		break;
	case 't':
		j->type = JSON_TRUE;
		ok = word(p, "true");
		break;
	case 'f':
		j->type = JSON_FALSE;
		ok = word(p, "false");
		break;
	case 'n':
		ok = word(p, "null");
		break;
	default:
		j->type = JSON_NUMBER;
		j->text = number(p);
		ok = j->text != NULL;
	}
	p->depth--;
	if (!ok) {
		json_free(j);
		return NULL;
	}
	return j;
}

struct json *json_parse(const char *text, size_t len, size_t *where)
{
	struct parser p = {.s = text, .end = text + len};
	struct json *j = value(&p);

	skip(&p);
	if (j && p.s != p.end) {
		json_free(j);
		j = NULL;
	}
	*where = (size_t)(p.s - text);
	return j;
}

void json_free(struct json *j)
{
	struct json *next;

	for (; j; j = next) {
		next = j->next;
		json_free(j->first);
		free(j->key);
		free(j->text);
		free(j);
	}
}

const struct json *json_get(const struct json *object, const char *key)
{
	if (!object || object->type != JSON_OBJECT)
		return NULL;
	for (const struct json *m = object->first; m; m = m->next)
		if (m->key && !strcmp(m->key, key))
			return m;
	return NULL;
}

const char *json_text(const struct json *object, const char *key)
{
	const struct json *m = json_get(object, key);

	return m && m->text ? m->text : "";
}

size_t json_count(const struct json *array)
{
	size_t n = 0;

	if (array)
		for (const struct json *m = array->first; m; m = m->next)
			n++;
	return n;
}

int json_mentions(const struct json *j, const char *text)
{
	if (j->type == JSON_STRING && strstr(j->text, text))
		return 1;
	for (const struct json *m = j->first; m; m = m->next)
		if (json_mentions(m, text))
			return 1;
	return 0;
}
