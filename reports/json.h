/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A streaming JSON writer: no tree, no memory but a few words.  It writes valid
 * UTF-8 JSON whatever bytes it is given: control characters are escaped, bytes
 * that are no UTF-8 become U+FFFD, and '<', '>', '&' are escaped so that a report can
 * be embedded in a page.  Sticky errors: look at krt_json_end's result.
 * A value is one call; inside an object it has a key, elsewhere key is NULL.
 */
#ifndef KRT_JSON_H
#define KRT_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define KRT_JSON_DEPTH 32

struct krt_json {
	FILE *out;
	unsigned depth;
	bool filled[KRT_JSON_DEPTH]; /* something was written at this depth */
	bool flat[KRT_JSON_DEPTH];   /* on one line from here on */
	bool broken;
};

void krt_json_begin(struct krt_json *j, FILE *out);
/* Ends the text with a newline.  0, or -1 when something did not get written. */
int krt_json_end(struct krt_json *j);

void krt_json_open(struct krt_json *j, const char *key, char bracket); /* '{' or '[' */
void krt_json_open_flat(struct krt_json *j, const char *key, char bracket);
void krt_json_close(struct krt_json *j, char bracket);                 /* '}' or ']' */
void krt_json_string(struct krt_json *j, const char *key, const char *text); /* NULL: null */
void krt_json_uint(struct krt_json *j, const char *key, uint64_t v);
void krt_json_int(struct krt_json *j, const char *key, int64_t v);
void krt_json_bool(struct krt_json *j, const char *key, bool v);
void krt_json_null(struct krt_json *j, const char *key);
/* Nanoseconds as microseconds, with three decimals. */
void krt_json_micros(struct krt_json *j, const char *key, uint64_t ns);
/* An address or hash, as a string "0x...": JSON numbers lose bits beyond 53. */
void krt_json_hex(struct krt_json *j, const char *key, uint64_t v);

#endif
