/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all writers share: the table of formats, fingerprints, UTF-8.
 */
#include "report.h"

#include <ctype.h>
#include <string.h>

#define SITE_FRAMES 3 /* user functions of a stack that count for a fingerprint */

const struct krt_format krt_formats[] = {
	{ "text", krt_write_text, false },
	{ "json", krt_write_json, true },
	{ "perfetto", krt_write_perfetto, true },
	{ NULL, NULL, false },
};

const struct krt_format *krt_format_by_name(const char *name, size_t len)
{
	for (const struct krt_format *f = krt_formats; f->name; f++)
		if (strlen(f->name) == len && !memcmp(f->name, name, len))
			return f;
	return NULL;
}

static uint64_t hash(uint64_t h, const char *s)
{
	for (s = s ? s : ""; *s; s++)
		h = (h ^ (unsigned char)*s) * 0x100000001b3ull;
	return (h ^ 0xff) * 0x100000001b3ull; /* ends one text */
}

static const char *base_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path;
}

static uint64_t operation_hash(const struct krt_operation *o)
{
	uint64_t h = 0xcbf29ce484222325ull;
	unsigned named = 0;

	h = hash(h, o->what);
	h = hash(h, o->api);
	h = hash(h, o->kernel);
	for (unsigned i = 0; i < o->stack.depth && named < SITE_FRAMES; i++) {
		const struct krt_frame *f = &o->stack.frame[i];

		if (f->internal)
			continue;
		h = hash(h, f->function ? f->function : base_name(f->module));
		named++;
	}
	return h;
}

uint64_t krt_fingerprint(const struct krt_finding *f)
{
	uint64_t h = hash(0xcbf29ce484222325ull, krt_rules[f->rule].id);
	uint64_t both = operation_hash(&f->current);

	if (f->previous.api)
		both += operation_hash(&f->previous);
	for (unsigned i = 0; i < 8; i++, both >>= 8)
		h = (h ^ (both & 0xff)) * 0x100000001b3ull;
	return h;
}

unsigned krt_utf8_length(const char *s)
{
	const unsigned char *c = (const unsigned char *)s;
	unsigned n, v;

	if (c[0] < 0x80)
		return 1;
	if (c[0] < 0xc2)
		return 0;
	n = c[0] < 0xe0 ? 2 : c[0] < 0xf0 ? 3 : c[0] < 0xf5 ? 4 : 0;
	v = n ? c[0] & (0xffu >> (n + 1)) : 0;
	for (unsigned i = 1; i < n; i++) {
		if ((c[i] & 0xc0) != 0x80)
			return 0;
		v = v << 6 | (c[i] & 0x3f);
	}
	if ((n == 3 && v < 0x800) || (n == 4 && (v < 0x10000 || v > 0x10ffff)) ||
	    (v >= 0xd800 && v < 0xe000))
		return 0;
	return n;
}
