/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The streaming JSON writer (json.h).  Not locked: a writer belongs to one thread.
 */
#include "json.h"
#include "report.h"

#include <inttypes.h>
#include <string.h>

void krt_json_begin(struct krt_json *j, FILE *out)
{
	memset(j, 0, sizeof(*j));
	j->out = out;
}

int krt_json_end(struct krt_json *j)
{
	fputc('\n', j->out);
	return j->broken || j->depth || fflush(j->out) || ferror(j->out) ? -1 : 0;
}

static void quoted(struct krt_json *j, const char *s)
{
	const char *end = s + strlen(s);

	fputc('"', j->out);
	while (s < end) {
		unsigned char c = (unsigned char)*s;
		unsigned n = krt_utf8_length(s);

		if (!n) {
			fputs("\\ufffd", j->out);
			s++;
		} else if (n > 1) {
			/* What is no UTF-8, when it was read and is written again. */
			if (!memcmp(s, "\xef\xbf\xbd", 3))
				fputs("\\ufffd", j->out);
			/* Line separators break JavaScript, not JSON. */
			else if (!memcmp(s, "\xe2\x80\xa8", 3) || !memcmp(s, "\xe2\x80\xa9", 3))
				fprintf(j->out, "\\u20%02x", 0x28 + (s[2] & 1));
			else
				fwrite(s, 1, n, j->out);
			s += n;
		} else {
			switch (c) {
			case '"': fputs("\\\"", j->out); break;
			case '\\': fputs("\\\\", j->out); break;
			case '\n': fputs("\\n", j->out); break;
			case '\t': fputs("\\t", j->out); break;
			case '\r': fputs("\\r", j->out); break;
			default:
				if (c < 0x20 || c == 0x7f || c == '<' || c == '>' || c == '&')
					fprintf(j->out, "\\u%04x", c);
				else
					fputc(c, j->out);
			}
			s++;
		}
	}
	fputc('"', j->out);
}

static void line(struct krt_json *j)
{
	if (j->flat[j->depth]) {
		if (j->filled[j->depth])
			fputc(' ', j->out);
		return;
	}
	fputc('\n', j->out);
	for (unsigned i = 0; i < j->depth; i++)
		fputs("  ", j->out);
}

static void start(struct krt_json *j, const char *key)
{
	if (j->filled[j->depth])
		fputc(',', j->out);
	if (j->depth)
		line(j);
	j->filled[j->depth] = true;
	if (key) {
		quoted(j, key);
		fputs(": ", j->out);
	}
}

static void open_as(struct krt_json *j, const char *key, char bracket, bool flat)
{
	start(j, key);
	fputc(bracket, j->out);
	if (j->depth + 1 == KRT_JSON_DEPTH) {
		j->broken = true;
		return;
	}
	flat |= j->flat[j->depth];
	j->depth++;
	j->filled[j->depth] = false;
	j->flat[j->depth] = flat;
}

void krt_json_open(struct krt_json *j, const char *key, char bracket)
{
	open_as(j, key, bracket, false);
}

void krt_json_open_flat(struct krt_json *j, const char *key, char bracket)
{
	open_as(j, key, bracket, true);
}

void krt_json_close(struct krt_json *j, char bracket)
{
	bool filled = j->filled[j->depth], flat = j->flat[j->depth];

	if (!j->depth) {
		j->broken = true;
		return;
	}
	j->depth--;
	if (filled && !flat)
		line(j);
	fputc(bracket, j->out);
}

void krt_json_string(struct krt_json *j, const char *key, const char *text)
{
	start(j, key);
	if (text)
		quoted(j, text);
	else
		fputs("null", j->out);
}

void krt_json_uint(struct krt_json *j, const char *key, uint64_t v)
{
	start(j, key);
	/* more is damage of a trace, and no number to readers of 64 bits with a sign */
	fprintf(j->out, "%" PRIu64, v > INT64_MAX ? INT64_MAX : v);
}

void krt_json_int(struct krt_json *j, const char *key, int64_t v)
{
	start(j, key);
	fprintf(j->out, "%" PRId64, v);
}

void krt_json_micros(struct krt_json *j, const char *key, uint64_t ns)
{
	start(j, key);
	fprintf(j->out, "%" PRIu64 ".%03" PRIu64, ns / 1000, ns % 1000);
}

void krt_json_bool(struct krt_json *j, const char *key, bool v)
{
	start(j, key);
	fputs(v ? "true" : "false", j->out);
}

void krt_json_null(struct krt_json *j, const char *key)
{
	krt_json_string(j, key, NULL);
}

void krt_json_hex(struct krt_json *j, const char *key, uint64_t v)
{
	start(j, key);
	fprintf(j->out, "\"0x%" PRIx64 "\"", v);
}
