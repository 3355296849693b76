/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all writers share: the table of formats, fingerprints, UTF-8.
 */
#include "report.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define SITE_FRAMES 3 /* user functions of a stack that count for a fingerprint */

const struct krt_format krt_formats[] = {
	{ "text", krt_write_text, false },
	{ "json", krt_write_json, true },
	{ "sarif", krt_write_sarif, false },
	{ "junit", krt_write_junit, false },
	{ "html", krt_write_html, true },
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

bool krt_finding_fails(const struct krt_finding *f, enum krt_level least)
{
	return f->level >= least && f->confidence > KRT_POSSIBLE && !f->suppressed_by &&
	       f->baseline != KRT_BASELINE_KNOWN;
}

static uint64_t hash_bytes(uint64_t h, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)s[i]) * 0x100000001b3ull;
	return h;
}

static uint64_t hash(uint64_t h, const char *s)
{
	h = hash_bytes(h, s ? s : "", s ? strlen(s) : 0);
	return (h ^ 0xff) * 0x100000001b3ull; /* ends one text */
}

/*
 * The name as mangled, on which compilers agree; but nvcc puts hashes of paths into
 * the names of a file's own kernels and anonymous namespaces.
 */
static uint64_t hash_kernel(uint64_t h, const char *name)
{
	static const char *const hashed[] = {"_INTERNAL_", "_GLOBAL__N_"};

	for (const char *s = krt_mangled(name); *s;) {
		char *end = NULL;
		unsigned long n = isdigit((unsigned char)*s) ? strtoul(s, &end, 10) : 0;
		bool skip = false;

		for (unsigned i = 0; end && i < 2; i++)
			skip |= !strncmp(end, hashed[i], strlen(hashed[i]));
		if (skip && n && n <= strlen(end)) {
			h = hash_bytes(h, "_", 1);
			s = end + n;
		} else {
			h = hash_bytes(h, s++, 1);
		}
	}
	return hash(h, "");
}

/* libx.so.1.2.3 of one machine is libx.so.1.2.4 of another. */
static uint64_t hash_module(uint64_t h, const char *path)
{
	const char *name = path ? krt_base_name(path) : NULL;
	const char *so = name ? strstr(name, ".so") : NULL;

	if (name)
		h = hash_bytes(h, name, so ? (size_t)(so - name) : strlen(name));
	return hash(h, "");
}

/* The innermost functions of the user, else of libraries; where there is no name, its module's. */
static uint64_t stack_hash(uint64_t h, const struct krt_stack *s)
{
	const struct krt_frame *site = krt_stack_site(s);
	enum krt_frame_kind wanted = site ? krt_frame_kind(site) : KRT_FRAME_USER;
	unsigned named = 0;

	for (unsigned i = 0; i < s->depth && named < SITE_FRAMES; i++) {
		const struct krt_frame *f = &s->frame[i];
		char function[KRT_SHORT_NAME];

		if (krt_frame_kind(f) != wanted)
			continue;
		krt_frame_function(f, function);
		h = *function ? hash(h, function) : hash_module(h, f->module);
		named++;
	}
	return h;
}

static uint64_t operation_hash(const struct krt_operation *o)
{
	uint64_t h = hash(0xcbf29ce484222325ull, o->what);

	h = o->kernel ? hash_kernel(h, o->kernel) : hash(h, o->api);
	return stack_hash(h, &o->stack);
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

unsigned krt_printable_length(const char *s)
{
	unsigned char c = (unsigned char)*s;
	unsigned n = krt_utf8_length(s);

	if (n == 1)
		return c >= 0x20 && c != 0x7f;
	/* U+0080..U+009F are control characters too */
	return n == 2 && c == 0xc2 && (unsigned char)s[1] < 0xa0 ? 0 : n;
}

void krt_make_printable(char *s)
{
	unsigned n;

	for (; *s; s += n ? n : 1) {
		n = krt_printable_length(s);
		if (!n)
			*s = '?';
	}
}
