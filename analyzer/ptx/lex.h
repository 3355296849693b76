/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tokens of PTX text.  A NUL counts as a newline (embedded PTX has its newlines
 * replaced).  Never reads past the end, never fails: what is no token is
 * PTX_TOK_BAD with the reason.
 */
#ifndef KRT_PTX_LEX_H
#define KRT_PTX_LEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One table look-up instead of comparisons: bodies are mostly blanks and words. */
#define PTX_C_BLANK 1
#define PTX_C_WORD  2 /* letters, digits, '_', '$' */
#define PTX_C_DIGIT 4
#define PTX_C_JOINS 8 /* '.' and ':', which join the words of a mnemonic */
extern const uint8_t ptx_class[256];
static inline bool ptx_is(char c, unsigned what)
{
	return ptx_class[(unsigned char)c] & what;
}
static inline bool ptx_is_blank(char c)
{
	return ptx_is(c, PTX_C_BLANK);
}
static inline bool ptx_is_word(char c)
{
	return ptx_is(c, PTX_C_WORD);
}
static inline bool ptx_is_digit(char c)
{
	return ptx_is(c, PTX_C_DIGIT);
}

enum ptx_tok_kind {
	PTX_TOK_EOF,
	PTX_TOK_BAD,
	PTX_TOK_IDENT,
	PTX_TOK_DOT,    /* ".word"; text and len without the dot */
	PTX_TOK_INT,    /* value, uns */
	PTX_TOK_F32,    /* value: bits */
	PTX_TOK_F64,
	PTX_TOK_STRING, /* text and len without the quotes, escapes kept */
	PTX_TOK_PUNCT,  /* ch; two-character operators in ch, ch2 */
};

struct ptx_tok {
	uint8_t kind;
	bool uns;       /* U suffix, or above INT64_MAX */
	char ch, ch2;
	uint32_t line;
	const char *text;
	size_t len;
	uint64_t value;
	const char *why; /* BAD */
};

struct ptx_lex {
	const char *at, *end;
	uint32_t line;
};

int ptx_hex_digit(char c); /* -1: none */
void ptx_lex_next(struct ptx_lex *lx, struct ptx_tok *t);
/* Skips blanks and comments; false for a comment without an end. */
bool ptx_lex_space(struct ptx_lex *lx);
/* Skips to just after the brace that closes one already open; false: there is none.
 * *ends: how many semicolons lie before it. */
bool ptx_lex_block(struct ptx_lex *lx, uint32_t *ends);
void ptx_lex_line(struct ptx_lex *lx); /* to the end of the line */
/*
 * The rest of a mnemonic: at stands after its first word; appends ".mod" parts
 * to buf (which holds len characters), returns the new length, or 0 if size is
 * too small.
 */
size_t ptx_lex_mods(struct ptx_lex *lx, char *buf, size_t len, size_t size);


#endif
