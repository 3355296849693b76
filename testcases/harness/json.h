/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small JSON reader for tests: parses a whole document into a tree.  Strict
 * enough to refuse a broken report (RFC 8259, no duplicate check); depth is
 * bounded.  Nothing is freed but the whole tree.  No locking.
 */
#ifndef HARNESS_JSON_H
#define HARNESS_JSON_H

#include <stddef.h>

enum json_type {
	JSON_NULL,
	JSON_FALSE,
	JSON_TRUE,
	JSON_NUMBER,
	JSON_STRING,
	JSON_ARRAY,
	JSON_OBJECT
};

struct json {
	enum json_type type;
	char *key;	    /* of a member of an object, else NULL */
	char *text;	    /* a string's value, a number as written */
	struct json *first; /* of an array or object */
	struct json *next;
};

/* NULL when text is not one JSON value; *where is the offset of what is wrong. */
struct json *json_parse(const char *text, size_t len, size_t *where);
void json_free(struct json *j);
/* A member by key, or NULL. */
const struct json *json_get(const struct json *object, const char *key);
/* The text of a string or number member, or "". */
const char *json_text(const struct json *object, const char *key);
size_t json_count(const struct json *array);
/* Is the text in any string below this value? */
int json_mentions(const struct json *j, const char *text);

#endif
