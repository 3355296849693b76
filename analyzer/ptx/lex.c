/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens of PTX text; see lex.h. */
#define _GNU_SOURCE
#include "lex.h"
#include <locale.h>
#include <stdlib.h>
#include <string.h>

/* One table look-up instead of comparisons: bodies are mostly blanks and words. */
static const uint8_t class[256] = {
#define BLANK 1
#define WORD 2
#define DIGIT 4
	['\0'] = BLANK,
	['\n'] = BLANK,
	['\t'] = BLANK,
	['\v'] = BLANK,
	['\f'] = BLANK,
	['\r'] = BLANK,
	[' '] = BLANK,
	['0' ... '9'] = WORD | DIGIT,
	['a' ... 'z'] = WORD,
	['A' ... 'Z'] = WORD,
	['_'] = WORD,
	['$'] = WORD,
	['%'] = 0,
};

static inline uint8_t class_of(char c)
{
	return class[(unsigned char)c];
}

bool ptx_lex_space(struct ptx_lex *lx)
{
	const char *p = lx->at, *end = lx->end;

	for (;;) {
		while (p < end && class_of(*p) & BLANK) {
			if (*p == '\n' || *p == '\0')
				lx->line++;
			p++;
		}
		if (p + 1 >= end || *p != '/')
			break;
		if (p[1] == '/') {
			while (p < end && *p != '\n' && *p != '\0')
				p++;
		} else if (p[1] == '*') {
			uint32_t start = lx->line;

			for (p += 2;; p++) {
				if (p + 1 >= end) {
					lx->line = start;
					lx->at = end;
					return false;
				}
				if (p[0] == '*' && p[1] == '/')
					break;
				if (*p == '\n' || *p == '\0')
					lx->line++;
			}
			p += 2;
		} else {
			break;
		}
	}
	lx->at = p;
	return true;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

static void bad(struct ptx_tok *t, const char *why)
{
	t->kind = PTX_TOK_BAD;
	t->why = why;
}

static void lex_number(struct ptx_lex *lx, struct ptx_tok *t)
{
	const char *p = lx->at, *end = lx->end;
	uint64_t v = 0;
	bool overflow = false, real = false;
	unsigned base = 10;

	t->kind = PTX_TOK_INT;
	if (p[0] == '0' && p + 1 < end) {
		unsigned digits = 0;

		switch (p[1]) {
		case 'f': case 'F':
			digits = 8;
			break;
		case 'd': case 'D':
			digits = 16;
			break;
		case 'x': case 'X':
			base = 16;
			break;
		case 'b': case 'B':
			base = 2;
			break;
		default:
			if (class_of(p[1]) & DIGIT)
				base = 8;
			break;
		}
		if (digits) {
			p += 2;
			for (unsigned i = 0; i < digits; i++, p++) {
				int d = p < end ? hex_digit(*p) : -1;

				if (d < 0) {
					lx->at = p;
					bad(t, "floating point literal with too few digits");
					return;
				}
				v = v << 4 | (unsigned)d;
			}
			t->kind = digits == 8 ? PTX_TOK_F32 : PTX_TOK_F64;
			goto out;
		}
		if (base == 16 || base == 2)
			p += 2;
	}
	/* 1.5, 1., 1e-3: look ahead in decimal only; 0123.5 is one as well. */
	if (base == 10 || base == 8) {
		const char *q = p;

		while (q < end && class_of(*q) & DIGIT)
			q++;
		if (q < end && *q == '.' &&
		    !(q + 1 < end && class_of(q[1]) & WORD && !(class_of(q[1]) & DIGIT))) {
			real = true;
			q++;
			while (q < end && class_of(*q) & DIGIT)
				q++;
		}
		if (q < end && (*q == 'e' || *q == 'E')) {
			const char *e = q + 1;

			if (e < end && (*e == '+' || *e == '-'))
				e++;
			if (e < end && class_of(*e) & DIGIT) {
				real = true;
				while (e < end && class_of(*e) & DIGIT)
					e++;
				q = e;
			}
		}
		if (real) {
			char buf[64];
			size_t n = (size_t)(q - p);
			locale_t c_locale;
			double d;

			if (n >= sizeof(buf)) {
				lx->at = q;
				bad(t, "floating point literal too long");
				return;
			}
			memcpy(buf, p, n);
			buf[n] = '\0';
			/* The program's locale may want commas; "C" costs no memory in glibc. */
			c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
			d = c_locale ? strtod_l(buf, NULL, c_locale) : strtod(buf, NULL);
			if (c_locale)
				freelocale(c_locale);
			memcpy(&v, &d, sizeof(v));
			t->kind = PTX_TOK_F64;
			p = q;
			goto out;
		}
	}
	if (p >= end || hex_digit(*p) < 0 || (unsigned)hex_digit(*p) >= base) {
		lx->at = p;
		bad(t, "number without digits");
		return;
	}
	for (; p < end; p++) {
		int d = hex_digit(*p);

		if (d < 0 || (unsigned)d >= base)
			break;
		if (v > (UINT64_MAX - (unsigned)d) / base)
			overflow = true;
		v = v * base + (unsigned)d;
	}
	if (p < end && (*p == 'U' || *p == 'u')) {
		t->uns = true;
		p++;
	}
	if (overflow) {
		lx->at = p;
		bad(t, "integer literal does not fit 64 bits");
		return;
	}
	if (v > INT64_MAX)
		t->uns = true;
out:
	if (p < end && class_of(*p) & WORD) {
		lx->at = p;
		bad(t, "letters right after a number");
		return;
	}
	t->value = v;
	t->len = (size_t)(p - t->text);
	lx->at = p;
}

void ptx_lex_next(struct ptx_lex *lx, struct ptx_tok *t)
{
	const char *p, *end = lx->end;
	char c;

	*t = (struct ptx_tok){ .kind = PTX_TOK_EOF };
	if (!ptx_lex_space(lx)) {
		t->line = lx->line;
		t->text = lx->at;
		bad(t, "comment without an end");
		return;
	}
	p = lx->at;
	t->line = lx->line;
	t->text = p;
	if (p == end)
		return;
	c = *p;
	if (class_of(c) & DIGIT) {
		lex_number(lx, t);
		return;
	}
	if (class_of(c) & WORD || (c == '%' && p + 1 < end && class_of(p[1]) & WORD)) {
		do
			p++;
		while (p < end && class_of(*p) & WORD);
		t->kind = PTX_TOK_IDENT;
		t->len = (size_t)(p - t->text);
		lx->at = p;
		return;
	}
	if (c == '.' && p + 1 < end && class_of(p[1]) & WORD) {
		p++;
		t->text = p;
		while (p < end) {
			if (class_of(*p) & WORD)
				p++;
			else if (*p == ':' && p + 2 < end && p[1] == ':' && class_of(p[2]) & WORD)
				p += 2;
			else
				break;
		}
		t->kind = PTX_TOK_DOT;
		t->len = (size_t)(p - t->text);
		lx->at = p;
		return;
	}
	if (c == '"') {
		t->text = ++p;
		while (p < end && *p != '"' && *p != '\n') {
			if (*p == '\\' && p + 1 < end && p[1] != '\n')
				p++;
			p++;
		}
		lx->at = p;
		if (p >= end || *p != '"') {
			bad(t, "string without an end");
			return;
		}
		t->kind = PTX_TOK_STRING;
		t->len = (size_t)(p - t->text);
		lx->at = p + 1;
		return;
	}
	if (c < ' ' || c > '~') {
		lx->at = p + 1;
		bad(t, "character that has no place in PTX");
		return;
	}
	t->kind = PTX_TOK_PUNCT;
	t->ch = c;
	t->len = 1;
	lx->at = p + 1;
	if (p + 1 < end) {
		char d = p[1];

		if (((c == '<' || c == '>' || c == '&' || c == '|') && d == c) ||
		    ((c == '<' || c == '>' || c == '=' || c == '!') && d == '=')) {
			t->ch2 = d;
			t->len = 2;
			lx->at = p + 2;
		}
	}
}

bool ptx_lex_block(struct ptx_lex *lx)
{
	unsigned depth = 1;

	while (ptx_lex_space(lx) && lx->at < lx->end) {
		char c = *lx->at++;

		if (c == '{') {
			depth++;
		} else if (c == '}') {
			if (!--depth)
				return true;
		} else if (c == '"') {
			while (lx->at < lx->end && *lx->at != '"' && *lx->at != '\n') {
				if (*lx->at == '\\' && lx->at + 1 < lx->end && lx->at[1] != '\n')
					lx->at++;
				lx->at++;
			}
			if (lx->at < lx->end && *lx->at == '"')
				lx->at++;
		} else if (class_of(c) & WORD) {
			while (lx->at < lx->end && class_of(*lx->at) & WORD)
				lx->at++;
		}
	}
	return false;
}

void ptx_lex_line(struct ptx_lex *lx)
{
	while (lx->at < lx->end && *lx->at != '\n' && *lx->at != '\0')
		lx->at++;
}

size_t ptx_lex_mods(struct ptx_lex *lx, char *buf, size_t len, size_t size)
{
	for (;;) {
		const char *p, *end = lx->end;
		size_t n;

		/* Usually glued to the word before; blanks in between are legal. */
		if (lx->at < end && *lx->at != '.') {
			struct ptx_lex ahead = *lx;

			if (!ptx_lex_space(&ahead) || ahead.at >= end || *ahead.at != '.')
				return len;
			*lx = ahead;
		}
		p = lx->at;
		if (p + 1 >= end || *p != '.' || !(class_of(p[1]) & WORD))
			return len;
		p++;
		while (p < end) {
			if (class_of(*p) & WORD)
				p++;
			else if (*p == ':' && p + 2 < end && p[1] == ':' && class_of(p[2]) & WORD)
				p += 2;
			else
				break;
		}
		n = (size_t)(p - lx->at);
		if (len + n >= size)
			return 0;
		memcpy(buf + len, lx->at, n);
		len += n;
		lx->at = p;
	}
}
