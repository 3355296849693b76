/* SPDX-License-Identifier: Apache-2.0 */
/* PTX parser: errors, memory, names and what they mean in a scope, tokens.  See parse.h. */
#include "parse.h"
#include <stdlib.h>
#include <string.h>

/* ---- errors ---- */

_Noreturn void pp_fail_at(struct parser *p, uint32_t line, const char *what, const char *name,
			  size_t len)
{
	struct ptx_error *e = p->err;
	size_t n = 0;

	e->line = line;
	while (*what && n < sizeof(e->what) - 1)
		e->what[n++] = *what++;
	if (name) {
		static const char sep[] = ": '";

		for (size_t i = 0; sep[i] && n < sizeof(e->what) - 1; i++)
			e->what[n++] = sep[i];
		for (size_t i = 0; i < len && n < sizeof(e->what) - 2; i++)
			e->what[n++] = name[i] >= ' ' && name[i] <= '~' ? name[i] : '?';
		if (n < sizeof(e->what) - 1)
			e->what[n++] = '\'';
	}
	e->what[n] = '\0';
	longjmp(*p->jmp, 1);
}

_Noreturn void pp_fail(struct parser *p, const char *what)
{
	if (p->tok.kind == PTX_TOK_BAD)
		pp_fail_at(p, p->tok.line, p->tok.why, NULL, 0);
	if (p->tok.kind == PTX_TOK_EOF)
		pp_fail_at(p, p->tok.line, what, "end of text", 11);
	pp_fail_at(p, p->tok.line, what, p->tok.text, p->tok.len ? p->tok.len : 1);
}

_Noreturn void pp_fail_memory(struct parser *p)
{
	pp_fail_at(p, 0, "out of memory", NULL, 0);
}

/* ---- memory ---- */

void *pp_alloc(struct parser *p, size_t size)
{
	void *q = ptx_arena_alloc(&p->m->arena, size);

	if (!q)
		pp_fail_memory(p);
	return q;
}

void pp_vec_lend(struct parser *p, struct vec *v, size_t elem, size_t n)
{
	free(v->data);
	v->data = pp_alloc(p, n * elem);
	v->cap = n;
	v->lent = true;
}

void pp_vec_grow(struct parser *p, struct vec *v, size_t elem)
{
	size_t cap = v->cap ? v->cap * 2 : 64;
	char *data = realloc(v->lent ? NULL : v->data, cap * elem);

	if (!data)
		pp_fail_memory(p);
	if (v->lent)
		memcpy(data, v->data, v->n * elem);
	v->data = data;
	v->cap = cap;
	v->lent = false;
}

void *pp_vec_push(struct parser *p, struct vec *v, size_t elem)
{
	return memset(pp_vec_room(p, v, elem), 0, elem);
}

/* Moves elements from index `from` on into the arena; NULL for none. */
void *pp_vec_take(struct parser *p, struct vec *v, size_t from, uint32_t *count)
{
	size_t n = v->n - from;
	void *q = NULL;

	if (v->lent) {
		q = v->data + from * v->elem;
	} else if (n) {
		q = pp_alloc(p, n * v->elem);
		memcpy(q, v->data + from * v->elem, n * v->elem);
	}
	v->n = from;
	*count = (uint32_t)n;
	return q;
}

/* ---- names ---- */

static uint32_t hash_of(const char *s, size_t len)
{
	uint32_t h = 2166136261u;

	for (size_t i = 0; i < len; i++)
		h = (h ^ (unsigned char)s[i]) * 16777619u;
	return h ^ h >> 15;
}

struct ptx_name *pp_find_name(const struct ptx_module *m, const char *s, size_t len)
{
	uint32_t h = hash_of(s, len);
	struct ptx_name *n;

	if (!m->names)
		return NULL;
	for (n = m->names[h & m->names_mask]; n; n = n->next)
		if (n->hash == h && n->len == len && !memcmp(n->text, s, len))
			return n;
	return NULL;
}

static void grow_names(struct parser *p)
{
	struct ptx_module *m = p->m;
	uint32_t mask = m->names ? m->names_mask * 2 + 1 : 255;
	struct ptx_name **names = calloc((size_t)mask + 1, sizeof(*names));

	if (!names)
		pp_fail_memory(p);
	for (uint32_t i = 0; m->names && i <= m->names_mask; i++) {
		struct ptx_name *n = m->names[i], *next;

		for (; n; n = next) {
			next = n->next;
			n->next = names[n->hash & mask];
			names[n->hash & mask] = n;
		}
	}
	free(m->names);
	m->names = names;
	m->names_mask = mask;
}

struct ptx_name *pp_intern(struct parser *p, const char *s, size_t len)
{
	struct ptx_module *m = p->m;
	struct ptx_name *n = pp_find_name(m, s, len);

	if (n)
		return n;
	if (!m->names || m->nnames > m->names_mask)
		grow_names(p);
	n = pp_alloc(p, sizeof(*n) + len + 1);
	n->hash = hash_of(s, len);
	n->len = (uint32_t)len;
	memcpy(n->text, s, len);
	n->next = m->names[n->hash & m->names_mask];
	m->names[n->hash & m->names_mask] = n;
	m->nnames++;
	return n;
}

/* ---- scopes ---- */

struct ptx_symbol *pp_declare(struct parser *p, struct ptx_name *name, enum sym_kind kind)
{
	struct ptx_symbol *s;

	if (name->sym && name->sym->depth == p->depth)
		pp_fail_at(p, p->tok.line, "declared twice", name->text, name->len);
	s = pp_alloc(p, sizeof(*s));
	s->kind = kind;
	s->vec = 1;
	s->depth = p->depth;
	s->name = name;
	s->outer = name->sym;
	name->sym = s;
	s->sibling = p->scope[p->depth];
	p->scope[p->depth] = s;
	return s;
}

void pp_scope_open(struct parser *p)
{
	if (p->depth >= MAX_DEPTH)
		pp_fail(p, "braces nested too deep");
	p->depth++;
	p->scope[p->depth] = NULL;
	p->pending_at[p->depth] = p->pendings.n;
}

void pp_scope_forget(struct parser *p)
{
	struct ptx_symbol *s;

	for (s = p->scope[p->depth]; s; s = s->sibling)
		s->name->sym = s->outer;
	p->scope[p->depth] = NULL;
	p->depth--;
}

void pp_scope_close(struct parser *p)
{
	size_t keep = p->pending_at[p->depth];
	struct pending *list = (struct pending *)p->pendings.data;

	/* What this scope defines is bound now; the rest may be defined further out. */
	for (size_t i = keep; i < p->pendings.n; i++) {
		const struct ptx_symbol *s = list[i].name->sym;

		if (s && s->depth == p->depth && s->kind == list[i].kind)
			*list[i].where = s->index;
		else if (p->depth == 1)
			pp_fail_at(p, list[i].line,
				   list[i].kind == SYM_LABEL
					   ? "label is not defined"
					   : "target list or prototype is not defined",
				   list[i].name->text, list[i].name->len);
		else
			list[keep++] = list[i];
	}
	p->pendings.n = keep;
	pp_scope_forget(p);
}

/* ---- tokens ---- */

void pp_next(struct parser *p)
{
	ptx_lex_next(&p->lx, &p->tok);
	if (p->tok.kind == PTX_TOK_BAD)
		pp_fail_at(p, p->tok.line, p->tok.why, NULL, 0);
}

bool pp_is_punct(const struct parser *p, char c)
{
	return p->tok.kind == PTX_TOK_PUNCT && p->tok.ch == c && !p->tok.ch2;
}

bool pp_is_word(const struct parser *p, enum ptx_tok_kind kind, const char *s)
{
	return p->tok.kind == kind && p->tok.len == strlen(s) &&
	       !memcmp(p->tok.text, s, p->tok.len);
}

bool pp_is_dot(const struct parser *p, const char *s)
{
	return pp_is_word(p, PTX_TOK_DOT, s);
}

bool pp_accept(struct parser *p, char c)
{
	if (!pp_is_punct(p, c))
		return false;
	pp_next(p);
	return true;
}

bool pp_accept_dot(struct parser *p, const char *s)
{
	if (!pp_is_dot(p, s))
		return false;
	pp_next(p);
	return true;
}

void pp_expect(struct parser *p, char c)
{
	static const char *const msgs[128] = {
		['('] = "expected '(' but found", [')'] = "expected ')' but found",
		['{'] = "expected '{' but found", ['}'] = "expected '}' but found",
		['['] = "expected '[' but found", [']'] = "expected ']' but found",
		['<'] = "expected '<' but found", ['>'] = "expected '>' but found",
		[','] = "expected ',' but found", [';'] = "expected ';' but found",
		[':'] = "expected ':' but found",
	};

	if (!pp_is_punct(p, c))
		pp_fail(p, msgs[(unsigned char)c]);
	pp_next(p);
}

struct ptx_name *pp_ident(struct parser *p, const char *what)
{
	struct ptx_name *n;

	if (p->tok.kind != PTX_TOK_IDENT)
		pp_fail(p, what);
	n = pp_intern(p, p->tok.text, p->tok.len);
	pp_next(p);
	return n;
}
