/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Damage of text by its words, numbers and lines (fuzz.h).
 */
#define _GNU_SOURCE
#include "testcases/fuzz/fuzz.h"

#include <ctype.h>
#include <string.h>

static size_t insert(unsigned char *p, size_t n, size_t max, size_t at, const void *what,
		     size_t len)
{
	if (len > max - n)
		return n;
	memmove(p + at + len, p + at, n - at);
	memcpy(p + at, what, len);
	return n + len;
}

static size_t cut(unsigned char *p, size_t n, size_t at, size_t len)
{
	if (len > n - at)
		len = n - at;
	memmove(p + at, p + at + len, n - at - len);
	return n - len;
}

static size_t line_at(const unsigned char *p, size_t n, size_t at, size_t *len)
{
	size_t end = at;

	while (at && p[at - 1] != '\n')
		at--;
	while (end < n && p[end] != '\n')
		end++;
	*len = end - at + (end < n);
	return at;
}

size_t fuzz_damage_text(unsigned char *p, size_t n, size_t max, const char *const *words)
{
	size_t at = fuzz_roll(n), len, from;
	unsigned many = 0;
	unsigned char line[512];

	while (words[many])
		many++;
	switch (fuzz_roll(8)) {
	case 0:
		p[at] = (unsigned char)(fuzz_roll(4) ? 32 + fuzz_roll(95) : fuzz_roll(256));
		return n;
	case 1:
		return n > 8 ? cut(p, n, at, 1 + fuzz_roll(fuzz_roll(4) ? 8 : 80)) : n;
	case 2:
	case 3: { /* a word in the place of another */
		const char *w = words[fuzz_roll(many)];

		for (len = 0;
		     at + len < n && len < 40 && (isalnum(p[at + len]) || p[at + len] == '_');
		     len++)
			;
		return insert(p, fuzz_roll(3) ? cut(p, n, at, len) : n, max, at, w, strlen(w));
	}
	case 4: /* another number */
		while (at < n && !isdigit(p[at]))
			at++;
		if (at < n)
			p[at] = (unsigned char)('0' + fuzz_roll(10));
		return n;
	case 5: /* a line twice, or moved */
		from = line_at(p, n, at, &len);
		if (len > sizeof(line))
			return n;
		memcpy(line, p + from, len);
		if (fuzz_roll(2))
			n = cut(p, n, from, len);
		at = n ? line_at(p, n, fuzz_roll(n), &from) : 0;
		return insert(p, n, max, at, line, len);
	case 6:
		at = line_at(p, n, at, &len);
		return len < n ? cut(p, n, at, len) : n;
	default:
		return fuzz_roll(16) ? n : at ? at : n;
	}
}

/* Some lines of b between those of a. */
size_t fuzz_cross_text(const unsigned char *a, size_t an, const unsigned char *b, size_t bn,
		       unsigned char *out, size_t max)
{
	size_t n = an < max ? an : max, at, from, len, l;

	if (n)
		memcpy(out, a, n);
	if (!bn)
		return n;
	from = line_at(b, bn, fuzz_roll(bn), &len);
	for (unsigned more = fuzz_roll(4); more && from + len < bn; more--) {
		line_at(b, bn, from + len, &l);
		len += l;
	}
	at = n ? line_at(out, n, fuzz_roll(n), &l) : 0;
	return insert(out, n, max, at, b + from, len);
}
