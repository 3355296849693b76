/* SPDX-License-Identifier: Apache-2.0 */
/* PTX parser: variables, their initial values, registers.  See parse.h. */
#include "parse.h"
#include <stdlib.h>
#include <string.h>

/* ---- declarations ---- */

static enum ptx_type type_of(const struct parser *p)
{
	if (p->tok.kind != PTX_TOK_DOT)
		return PTX_NONE;
	for (unsigned i = PTX_NONE + 1; i < PTX_TYPE_COUNT; i++)
		if (pp_is_dot(p, ptx_type_text(i)))
			return i;
	return PTX_NONE;
}

static enum ptx_type need_type(struct parser *p)
{
	enum ptx_type t = type_of(p);

	if (!t)
		pp_fail(p, "expected a type but found");
	pp_next(p);
	return t;
}

void pp_attributes(struct parser *p, struct ptx_var *v)
{
	/* .attribute(.managed, .unified(1, 2)) */
	pp_expect(p, '(');
	do {
		if (p->tok.kind != PTX_TOK_DOT)
			pp_fail(p, "expected an attribute but found");
		if (pp_is_dot(p, "managed"))
			v->managed = true;
		pp_next(p);
		if (pp_accept(p, '(')) {
			do
				(void)pp_expr(p, 0);
			while (pp_accept(p, ','));
			pp_expect(p, ')');
		}
	} while (pp_accept(p, ','));
	pp_expect(p, ')');
}

uint32_t pp_alignment(struct parser *p)
{
	uint32_t line = p->tok.line;
	uint64_t a = pp_uint_expr(p, 1u << 20, "alignment is not a power of two up to 1048576");

	if (!a || a & (a - 1))
		pp_fail_at(p, line, "alignment is not a power of two up to 1048576", NULL, 0);
	return (uint32_t)a;
}

/* Everything between the space and the name: .align, .v4, .attribute(), .ptr, the type. */
void pp_var_head(struct parser *p, struct ptx_var *v)
{
	v->vec = 1;
	for (;;) {
		enum ptx_type t;

		if (p->tok.kind != PTX_TOK_DOT) {
			if (!v->type)
				pp_fail(p, "expected a type but found");
			break;
		}
		if (pp_accept_dot(p, "align")) {
			v->align = pp_alignment(p);
		} else if (pp_accept_dot(p, "v2")) {
			v->vec = 2;
		} else if (pp_accept_dot(p, "v4")) {
			v->vec = 4;
		} else if (pp_accept_dot(p, "v8")) {
			v->vec = 8;
		} else if (pp_accept_dot(p, "attribute")) {
			pp_attributes(p, v);
		} else if (pp_accept_dot(p, "ptr")) {
			v->is_ptr = true;
			for (;;) {
				if (pp_accept_dot(p, "align"))
					v->ptr_align = pp_alignment(p);
				else if (pp_accept_dot(p, "global"))
					v->ptr_space = PTX_SPACE_GLOBAL;
				else if (pp_accept_dot(p, "const"))
					v->ptr_space = PTX_SPACE_CONST;
				else if (pp_accept_dot(p, "shared"))
					v->ptr_space = PTX_SPACE_SHARED;
				else if (pp_accept_dot(p, "local"))
					v->ptr_space = PTX_SPACE_LOCAL;
				else if (pp_accept_dot(p, "generic"))
					v->ptr_space = PTX_SPACE_NONE;
				else
					break;
			}
		} else {
			t = type_of(p);
			if (!t)
				pp_fail(p, "expected a type but found");
			if (v->type)
				pp_fail(p, "second type");
			v->type = t;
			pp_next(p);
		}
	}
	if (!v->align)
		v->align = ptx_type_size(v->type) * v->vec;
	/* .b1 .b4 and such have no memory of their own; three-element vectors do not exist. */
	if (!v->align || v->align & (v->align - 1))
		v->align = 1;
}

/* [2][3], [] first; sets size and the array flags. */
void pp_var_dims(struct parser *p, struct ptx_var *v, struct dims *d)
{
	uint64_t size = (uint64_t)ptx_type_size(v->type) * v->vec;

	d->n = 0;
	while (pp_accept(p, '[')) {
		uint64_t n = 0;

		v->array = true;
		if (d->n == MAX_DIMS)
			pp_fail(p, "too many dimensions");
		if (pp_is_punct(p, ']')) {
			if (d->n)
				pp_fail(p, "only the first dimension may be open");
			v->unsized = true;
		} else {
			n = pp_uint_expr(p, MAX_VAR_SIZE, "array size out of range");
			if (n && size > MAX_VAR_SIZE / n)
				pp_fail(p, "variable too large");
			size *= n;
		}
		d->dim[d->n++] = n;
		pp_expect(p, ']');
	}
	v->size = v->unsized ? 0 : size;
}

/* ---- initialisers ---- */

static void put_bytes(struct parser *p, uint64_t at, uint64_t value, unsigned size)
{
	if (at + size > MAX_INIT)
		pp_fail(p, "initialiser too large");
	while (p->bytes.n < at + size)
		pp_vec_push(p, &p->bytes, 1);
	for (unsigned i = 0; i < size; i++)
		p->bytes.data[at + i] = (char)(i < 8 ? value >> 8 * i : 0);
}

static void put_value(struct parser *p, const struct ptx_var *v, uint64_t at, struct value x)
{
	unsigned size = ptx_type_size(v->type);
	uint64_t bits = x.u;

	if (ptx_type_kind(v->type) == PTX_KIND_FLOAT) {
		double d = pp_value_double(x);
		float f = (float)d;

		switch ((enum ptx_type)v->type) {
		case PTX_F16:
			bits = ptx_narrow_float(d, 5, 10);
			break;
		case PTX_BF16:
			bits = ptx_narrow_float(d, 8, 7);
			break;
		case PTX_F32:
		case PTX_TF32:
			bits = 0;
			memcpy(&bits, &f, sizeof(f));
			if (x.kind == V_F32)
				bits = x.u;
			break;
		default:
			memcpy(&bits, &d, sizeof(bits));
			break;
		}
	} else if (pp_is_real(x)) {
		/* Raw bits into .b32 and .b64. */
		bits = x.u;
	}
	put_bytes(p, at, bits, size);
}

/* sym, sym+4, generic(sym)+4, func; the name is the current token. */
static void put_address(struct parser *p, const struct ptx_var *v, uint64_t at, unsigned shift,
			bool masked)
{
	struct ptx_reloc *r = pp_vec_push(p, &p->relocs, sizeof(*r));
	struct ptx_name *name;
	bool paren = false;

	r->offset = at;
	r->size = (uint8_t)ptx_type_size(v->type);
	r->shift = (uint8_t)shift;
	if (pp_is_word(p, PTX_TOK_IDENT, "generic")) {
		pp_next(p);
		pp_expect(p, '(');
		paren = true;
		r->generic = true;
	}
	name = pp_ident(p, "expected a symbol but found");
	r->name = name->text;
	if (name->sym && name->sym->kind == SYM_VAR)
		r->var = name->sym->var;
	else if (name->sym && name->sym->kind == SYM_FUNC)
		r->func = name->sym->func;
	else if (p->f || name->sym)
		pp_fail_at(p, p->tok.line, "no variable or function of this name", name->text,
			   name->len);
	/* At module scope it may be declared later; ptx_parse() looks again. */
	if (pp_is_punct(p, '[')) {
		uint64_t n;

		pp_next(p);
		n = pp_uint_expr(p, MAX_VAR_SIZE, "index out of range");
		pp_expect(p, ']');
		r->addend = (int64_t)(n * (r->var ? ptx_type_size(r->var->type) * r->var->vec : 1));
	}
	if (paren)
		pp_expect(p, ')');
	if (pp_is_punct(p, '+') || pp_is_punct(p, '-'))
		r->addend += pp_int_expr(p);
	if (!masked && ptx_type_bits(v->type) < 32)
		pp_fail_at(p, p->tok.line, "an address does not fit this type", name->text,
			   name->len);
	put_bytes(p, at, 0, r->size);
}

static void put_element(struct parser *p, const struct ptx_var *v, uint64_t at)
{
	if (p->tok.kind == PTX_TOK_IDENT && !pp_is_word(p, PTX_TOK_IDENT, "WARP_SZ")) {
		put_address(p, v, at, 0, false);
		return;
	}
	struct value x = pp_expr(p, 0);

	if (!pp_is_real(x) && pp_is_punct(p, '(')) {
		/* 0xFF00(symbol): one byte of an address */
		unsigned shift = x.u ? (unsigned)__builtin_ctzll(x.u) & ~7u : 0;

		pp_next(p);
		put_address(p, v, at, shift, true);
		pp_expect(p, ')');
		return;
	}
	put_value(p, v, at, x);
}

/* One level of braces: elements of size `step`, scalars at the innermost. */
static void init_level(struct parser *p, struct ptx_var *v, const struct dims *d, unsigned level,
		       uint64_t at, unsigned depth)
{
	uint64_t step = ptx_type_size(v->type);

	if (depth > MAX_DEPTH)
		pp_fail(p, "initialiser nested too deep");
	if (level < d->n && v->vec > 1)
		step *= v->vec;
	for (unsigned i = level + 1; i < d->n; i++)
		step *= d->dim[i];
	if (pp_accept(p, '}'))
		return;
	for (;;) {
		if (!v->unsized && at >= v->size)
			pp_fail(p, "more initial values than elements, at");
		if (pp_accept(p, '{')) {
			init_level(p, v, d, level + 1, at, depth + 1);
			at += step;
			if (v->unsized && at > v->init_len)
				v->init_len = at;
		} else {
			/* Braces may be left out inside: then scalars follow each other. */
			put_element(p, v, at);
			at += ptx_type_size(v->type);
			if (at > v->init_len)
				v->init_len = at;
		}
		if (pp_accept(p, '}'))
			break;
		pp_expect(p, ',');
		if (pp_accept(p, '}'))
			break;
	}
}

static void initialiser(struct parser *p, struct ptx_var *v, const struct dims *d)
{
	uint32_t n, ends;

	p->bytes.n = 0;
	p->relocs.n = 0;
	v->init_len = 0;
	if (ptx_type_kind(v->type) == PTX_KIND_OPAQUE) {
		/* Texture and sampler settings by name: nothing here asks for them. */
		if (!pp_is_punct(p, '{'))
			pp_fail(p, "expected '{' but found");
		if (!ptx_lex_block(&p->lx, &ends))
			pp_fail_at(p, p->tok.line, "brace without an end", NULL, 0);
		pp_next(p);
		return;
	}
	if (!ptx_type_size(v->type) || ptx_type_kind(v->type) == PTX_KIND_PRED)
		pp_fail(p, "this type has no initial value");
	if (pp_accept(p, '{'))
		init_level(p, v, d, 0, 0, 0);
	else
		put_element(p, v, 0);
	if (v->unsized) {
		uint64_t row = (uint64_t)ptx_type_size(v->type) * v->vec;

		for (unsigned i = 1; i < d->n; i++)
			row *= d->dim[i];
		v->size = row ? (p->bytes.n + row - 1) / row * row : 0;
		v->unsized = false;
	}
	if (p->bytes.n > v->size)
		p->bytes.n = v->size;
	v->init_len = p->bytes.n;
	p->bytes.elem = 1;
	v->init = pp_vec_take(p, &p->bytes, 0, &n);
	p->relocs.elem = sizeof(struct ptx_reloc);
	v->relocs = pp_vec_take(p, &p->relocs, 0, &v->nrelocs);
}

/* ---- variables and registers ---- */

static void add_module_var(struct parser *p, struct ptx_var *v)
{
	struct ptx_module *m = p->m;

	if (m->nvars == m->cap_vars) {
		uint32_t cap = m->cap_vars ? m->cap_vars * 2 : 16;
		struct ptx_var **vars = realloc(m->vars, cap * sizeof(*vars));

		if (!vars)
			pp_fail_memory(p);
		m->vars = vars;
		m->cap_vars = cap;
	}
	v->index = m->nvars;
	m->vars[m->nvars++] = v;
}

/* .space already taken; handles the comma list and the semicolon. */
void pp_variables(struct parser *p, enum ptx_space space, enum ptx_linkage linkage)
{
	struct ptx_var head = {
		.space = (uint8_t)space, .linkage = (uint8_t)linkage, .line = p->tok.line};

	/* .const[3]: banks of PTX before 2.2 */
	if (space == PTX_SPACE_CONST && pp_accept(p, '[')) {
		(void)pp_uint_expr(p, 10, "constant bank out of range");
		pp_expect(p, ']');
	}
	head.module = p->m;
	head.func = p->f;
	pp_var_head(p, &head);
	do {
		struct ptx_name *name;
		struct ptx_var *v, *old = NULL;
		struct dims d;
		uint64_t count = 1;

		if (p->tok.kind != PTX_TOK_IDENT)
			pp_fail(p, "expected a variable name but found");
		name = pp_intern(p, p->tok.text, p->tok.len);
		v = pp_alloc(p, sizeof(*v));
		*v = head;
		v->name = name->text;
		v->line = p->tok.line;
		pp_next(p);
		if (pp_accept(p, '<')) {
			/* .param .b32 p<4>: p0 p1 p2 p3 */
			count = pp_range_count(p, MAX_PARAMS);
			pp_expect(p, '>');
		}
		pp_var_dims(p, v, &d);
		if (pp_is_punct(p, '=')) {
			if (linkage == PTX_LINK_EXTERN)
				pp_fail(p, "an extern variable has no initial value");
			pp_next(p);
			initialiser(p, v, &d);
		} else if (v->unsized && linkage != PTX_LINK_EXTERN && linkage != PTX_LINK_COMMON &&
			   space != PTX_SPACE_PARAM) {
			pp_fail_at(p, v->line, "array without a size", name->text, name->len);
		}
		if (count != 1 || name->len == 0) {
			for (uint64_t i = 0; i < count; i++) {
				char buf[MAX_MNEMONIC], digits[24];
				size_t len = name->len, nd = 0;
				uint64_t k = i;
				struct ptx_var *w = pp_alloc(p, sizeof(*w));

				do
					digits[nd++] = (char)('0' + k % 10);
				while (k /= 10);
				if (len + nd >= sizeof(buf))
					pp_fail_at(p, v->line, "name too long", NULL, 0);
				memcpy(buf, name->text, len);
				while (nd)
					buf[len++] = digits[--nd];
				*w = *v;
				struct ptx_name *wn = pp_intern(p, buf, len);

				w->name = wn->text;
				if (p->f) {
					w->index = (uint32_t)p->vars.n;
					*(struct ptx_var **)pp_vec_push(p, &p->vars, sizeof(v)) = w;
				} else {
					add_module_var(p, w);
				}
				pp_declare(p, wn, SYM_VAR)->var = w;
			}
			continue;
		}
		if (name->sym && name->sym->depth == p->depth && name->sym->kind == SYM_VAR &&
		    !p->f)
			old = name->sym->var;
		if (old) {
			/* A declaration and a definition, or two declarations, of one variable. */
			bool def = linkage != PTX_LINK_EXTERN;

			if (def && old->linkage != PTX_LINK_EXTERN && linkage != PTX_LINK_COMMON &&
			    linkage != PTX_LINK_WEAK)
				pp_fail_at(p, v->line, "declared twice", name->text, name->len);
			if (old->linkage == PTX_LINK_EXTERN && def) {
				v->index = old->index;
				*old = *v;
			}
			continue;
		}
		pp_declare(p, name, SYM_VAR)->var = v;
		if (p->f) {
			v->index = (uint32_t)p->vars.n;
			*(struct ptx_var **)pp_vec_push(p, &p->vars, sizeof(v)) = v;
		} else {
			add_module_var(p, v);
		}
	} while (pp_accept(p, ','));
	pp_expect(p, ';');
}

static uint32_t new_regs(struct parser *p, enum ptx_type type, uint64_t count)
{
	uint32_t first = (uint32_t)p->regtypes.n;

	if (count > MAX_REGS - first)
		pp_fail(p, "too many registers in a function, at");
	for (uint64_t i = 0; i < count; i++)
		*(uint8_t *)pp_vec_push(p, &p->regtypes, 1) = (uint8_t)type;
	return first;
}

static bool ends_in_digit(const struct ptx_name *n)
{
	return n->len && n->text[n->len - 1] >= '0' && n->text[n->len - 1] <= '9';
}

uint32_t pp_add_register(struct parser *p, struct ptx_name *name, enum ptx_type type, unsigned vec)
{
	uint32_t first = new_regs(p, type, vec);
	struct ptx_symbol *s = pp_declare(p, name, SYM_REG);
	struct ptx_regs *decl = pp_vec_push(p, &p->regdecls, sizeof(*decl));

	s->index = first;
	s->vec = (uint8_t)vec;
	*decl = (struct ptx_regs){.name = name->text,
				  .first = first,
				  .count = 1,
				  .type = (uint8_t)type,
				  .vec = (uint8_t)vec};
	if (ends_in_digit(name))
		p->digit_names = true;
	return first;
}

void pp_registers(struct parser *p)
{
	unsigned vec = 1;
	enum ptx_type type;

	if (!p->f)
		pp_fail(p, "registers outside a function");
	if (pp_accept_dot(p, "v2"))
		vec = 2;
	else if (pp_accept_dot(p, "v4"))
		vec = 4;
	if (pp_accept_dot(p, "align"))
		(void)pp_alignment(p);
	type = need_type(p);
	do {
		struct ptx_name *name = pp_ident(p, "expected a register name but found");

		if (pp_accept(p, '<')) {
			uint64_t count = pp_range_count(p, MAX_REGS);
			struct ptx_regs *decl;
			struct ptx_symbol *s;
			uint32_t first;

			pp_expect(p, '>');
			first = new_regs(p, type, count * vec);
			/* "%r<4>" must not be mistaken for a register called "%r". */
			s = pp_declare(p, name, SYM_REGS);
			s->index = first;
			s->count = (uint32_t)count;
			s->vec = (uint8_t)vec;
			decl = pp_vec_push(p, &p->regdecls, sizeof(*decl));
			*decl = (struct ptx_regs){.name = name->text,
						  .first = first,
						  .count = (uint32_t)count,
						  .type = (uint8_t)type,
						  .vec = (uint8_t)vec,
						  .range = true};
		} else {
			pp_add_register(p, name, type, vec);
		}
	} while (pp_accept(p, ','));
	pp_expect(p, ';');
}

/* A register by name, single or of a range. */
bool pp_find_reg(struct parser *p, const char *s, size_t len, struct found_reg *out)
{
	const struct ptx_symbol *range = NULL, *single = NULL;
	size_t digits = 0;
	uint32_t k = 0;
	const struct ptx_name *n;

	while (digits < 7 && digits < len && s[len - 1 - digits] >= '0' &&
	       s[len - 1 - digits] <= '9')
		digits++;
	/* %r1 is %r<..> with 1, %f1_<..> with a number after; no leading zeros. */
	while (digits > 1 && s[len - digits] == '0')
		digits--;
	if (digits) {
		for (size_t i = len - digits; i < len; i++)
			k = k * 10 + (uint32_t)(s[i] - '0');
		/* Digits may belong to the name: the longest number that fits a range wins. */
		for (size_t d = digits; d; d--) {
			uint32_t low = k;

			if (d < digits) {
				if (d > 1 && s[len - d] == '0')
					continue;
				low = 0;
				for (size_t i = len - d; i < len; i++)
					low = low * 10 + (uint32_t)(s[i] - '0');
			}
			n = pp_find_name(p->m, s, len - d);
			if (n && n->sym && n->sym->kind == SYM_REGS && low < n->sym->count) {
				range = n->sym;
				k = low;
				break;
			}
		}
	}
	if (!range || p->digit_names) {
		n = pp_find_name(p->m, s, len);
		if (n && n->sym && n->sym->kind == SYM_REG)
			single = n->sym;
	}
	if (range && (!single || single->depth < range->depth)) {
		out->index = range->index + k * range->vec;
		out->vec = range->vec;
		return true;
	}
	if (!single)
		return false;
	out->index = single->index;
	out->vec = single->vec;
	return true;
}
