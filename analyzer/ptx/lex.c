/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens of PTX text; see lex.h. */
#define _GNU_SOURCE
#include "lex.h"
#include <locale.h>
#include <stdlib.h>
#include <string.h>

const uint8_t ptx_class[256] = {
	['\0'] = PTX_C_BLANK,	    ['\n'] = PTX_C_BLANK,
	['\t'] = PTX_C_BLANK,	    ['\v'] = PTX_C_BLANK,
	['\f'] = PTX_C_BLANK,	    ['\r'] = PTX_C_BLANK,
	[' '] = PTX_C_BLANK,	    ['0' ... '9'] = PTX_C_WORD | PTX_C_DIGIT,
	['a' ... 'z'] = PTX_C_WORD, ['A' ... 'Z'] = PTX_C_WORD,
	['_'] = PTX_C_WORD,	    ['$'] = PTX_C_WORD,
	['.'] = PTX_C_JOINS,	    [':'] = PTX_C_JOINS,
};

bool ptx_lex_space(struct ptx_lex *lx)
{
	const char *p = lx->at, *end = lx->end;

	for (;;) {
		while (p < end && ptx_is_blank(*p)) {
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

int ptx_hex_digit(char c)
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
			if (ptx_is_digit(p[1]))
				base = 8;
			break;
		}
		if (digits) {
			p += 2;
			for (unsigned i = 0; i < digits; i++, p++) {
				int d = p < end ? ptx_hex_digit(*p) : -1;

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

		while (q < end && ptx_is_digit(*q))
			q++;
		if (q < end && *q == '.' &&
		    !(q + 1 < end && ptx_is_word(q[1]) && !(ptx_is_digit(q[1])))) {
			real = true;
			q++;
			while (q < end && ptx_is_digit(*q))
				q++;
		}
		if (q < end && (*q == 'e' || *q == 'E')) {
			const char *e = q + 1;

			if (e < end && (*e == '+' || *e == '-'))
				e++;
			if (e < end && ptx_is_digit(*e)) {
				real = true;
				while (e < end && ptx_is_digit(*e))
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
	if (p >= end || ptx_hex_digit(*p) < 0 || (unsigned)ptx_hex_digit(*p) >= base) {
		lx->at = p;
		bad(t, "number without digits");
		return;
	}
	for (; p < end; p++) {
		int d = ptx_hex_digit(*p);

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
	if (p < end && ptx_is_word(*p)) {
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
	if (ptx_is_digit(c)) {
		lex_number(lx, t);
		return;
	}
	if (ptx_is_word(c) || (c == '%' && p + 1 < end && ptx_is_word(p[1]))) {
		do
			p++;
		while (p < end && ptx_is_word(*p));
		t->kind = PTX_TOK_IDENT;
		t->len = (size_t)(p - t->text);
		lx->at = p;
		return;
	}
	if (c == '.' && p + 1 < end && ptx_is_word(p[1])) {
		p++;
		t->text = p;
		while (p < end) {
			if (ptx_is_word(*p))
				p++;
			else if (*p == ':' && p + 2 < end && p[1] == ':' && ptx_is_word(p[2]))
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

/* Has none of 64 bytes to do with the end of a block?  Counts lines and semicolons. */
static bool plain_run(const char *p, uint32_t *lines, uint32_t *ends)
{
	uint8_t odd = 0, nl = 0, semi = 0;

	/* Without branches: the compiler makes vectors of it. */
	for (unsigned i = 0; i < 64; i++) {
		uint8_t c = (uint8_t)p[i];

		odd |= (uint8_t)(c == '{') | (uint8_t)(c == '}') | (uint8_t)(c == '"') |
		       (uint8_t)(c == '/');
		nl += (uint8_t)(c == '\n') | (uint8_t)(c == '\0');
		semi += c == ';';
	}
	if (odd)
		return false;
	*lines += nl;
	*ends += semi;
	return true;
}

bool ptx_lex_block(struct ptx_lex *lx, uint32_t *ends)
{
	const char *odd = lx->at; /* up to there one by one */
	unsigned depth = 1;

	*ends = 0;
	while (lx->at < lx->end) {
		char c;

		while (lx->at >= odd && lx->end - lx->at >= 64) {
			if (plain_run(lx->at, &lx->line, ends))
				lx->at += 64;
			else
				odd = lx->at + 64;
		}
		if (!ptx_lex_space(lx) || lx->at >= lx->end)
			break;
		c = *lx->at++;
		if (c == '{') {
			depth++;
		} else if (c == '}') {
			if (!--depth)
				return true;
		} else if (c == ';') {
			++*ends;
		} else if (c == '"') {
			while (lx->at < lx->end && *lx->at != '"' && *lx->at != '\n') {
				if (*lx->at == '\\' && lx->at + 1 < lx->end && lx->at[1] != '\n')
					lx->at++;
				lx->at++;
			}
			if (lx->at < lx->end && *lx->at == '"')
				lx->at++;
		} else if (ptx_is_word(c)) {
			while (lx->at < lx->end && ptx_is_word(*lx->at))
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
		if (p + 1 >= end || *p != '.' || !(ptx_is_word(p[1])))
			return len;
		p++;
		while (p < end) {
			if (ptx_is_word(*p))
				p++;
			else if (*p == ':' && p + 2 < end && p[1] == ':' && ptx_is_word(p[2]))
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
