/* SPDX-License-Identifier: Apache-2.0 */
/* PTX parser: mnemonics, operands, instructions.  See parse.h. */
#include "parse.h"
#include "table.h"
#include <string.h>

/* ---- mnemonics ---- */

static uint16_t mod_id(struct parser *p, const char *s, size_t len)
{
	struct ptx_module *m = p->m;

	for (unsigned i = 1; i < PTX_M_COUNT; i++)
		if (ptx_mods[i].text[0] == s[0] && !strncmp(ptx_mods[i].text, s, len) &&
		    !ptx_mods[i].text[len])
			return (uint16_t)i;
	for (uint32_t i = 0; i < m->nother_mods; i++)
		if (!strncmp(m->other_mods[i], s, len) && !m->other_mods[i][len])
			return (uint16_t)(PTX_M_COUNT + i);
	if (m->nother_mods == 256)
		return UINT16_MAX; /* one text for all the rest: this is no PTX of ours */
	if (m->nother_mods == m->cap_other_mods) {
		uint32_t cap = m->cap_other_mods ? m->cap_other_mods * 2 : 8;
		const char **mods = pp_alloc(p, cap * sizeof(*mods));

		if (m->nother_mods)
			memcpy(mods, m->other_mods, m->nother_mods * sizeof(*mods));
		m->other_mods = mods;
		m->cap_other_mods = cap;
	}
	m->other_mods[m->nother_mods] = pp_intern(p, s, len)->text;
	return (uint16_t)(PTX_M_COUNT + m->nother_mods++);
}

/* m16n8k16, m8n8: too many to list. */
static bool is_shape(const char *s, size_t len)
{
	static const char letters[] = "mnk";
	size_t i = 0;

	for (unsigned k = 0; k < 3 && i < len; k++) {
		size_t from = i;

		if (s[i++] != letters[k])
			return false;
		while (i < len && s[i] >= '0' && s[i] <= '9')
			i++;
		if (i == from + 1)
			return false;
	}
	return i == len;
}

struct ptx_mnemonic *pp_mnemonic(struct parser *p, struct ptx_name *name)
{
	struct ptx_mnemonic *mn = name->mnemonic;
	const char *s = name->text, *end = s + name->len;
	uint16_t mods[MAX_MNEMONIC / 2], *out;
	size_t best = 0, first;
	unsigned n = 0;

	if (mn)
		return mn;
	mn = pp_alloc(p, sizeof(*mn));
	first = strcspn(s, ".");
	for (unsigned i = 1; i < PTX_OP_COUNT; i++) {
		size_t len;

		if (ptx_ops[i].text[0] != s[0])
			continue;
		len = strlen(ptx_ops[i].text);
		if (len <= name->len && len > best && !memcmp(ptx_ops[i].text, s, len) &&
		    (!s[len] || s[len] == '.')) {
			best = len;
			mn->op = (uint16_t)i;
		}
	}
	s += best ? best : first;
	mn->vec = 1;
	while (s < end && *s == '.') {
		size_t len;
		uint16_t id;

		s++;
		len = strcspn(s, ".");
		id = mod_id(p, s, len);
		s += len;
		mods[n++] = id;
		if (id >= PTX_M_COUNT) {
			if (!is_shape(s - len, len))
				mn->odd = true;
			continue;
		}
		if (ptx_mods[id].type && mn->ntypes < PTX_MAX_TYPES)
			mn->types[mn->ntypes++] = ptx_mods[id].type;
		if (ptx_mods[id].space && mn->nspaces < PTX_MAX_SPACES)
			mn->spaces[mn->nspaces++] = ptx_mods[id].space;
		if (id == PTX_M_V2)
			mn->vec = 2;
		else if (id == PTX_M_V4)
			mn->vec = 4;
		else if (id == PTX_M_V8)
			mn->vec = 8;
	}
	out = n ? pp_alloc(p, n * sizeof(*out)) : NULL;
	if (n)
		memcpy(out, mods, n * sizeof(*out));
	mn->mods = out;
	mn->nmods = (uint16_t)n;
	mn->text = name->text;
	name->mnemonic = mn;
	return mn;
}

/* ---- operands ---- */

static void operand(struct parser *p, struct ptx_operand *o, enum ptx_op op, unsigned depth);

void pp_pend(struct parser *p, struct ptx_name *name, enum sym_kind kind, uint32_t *where,
	     uint32_t line)
{
	const struct ptx_symbol *s = name->sym;
	struct pending *pd;

	if (s && s->kind == kind && s->depth == p->depth) {
		*where = s->index;
		return;
	}
	pd = pp_vec_push(p, &p->pendings, sizeof(*pd));
	pd->name = name;
	pd->where = where;
	pd->line = line;
	pd->kind = (uint8_t)kind;
}

/* Elements up to the closing character, into o. */
static void elements(struct parser *p, struct ptx_operand *o, enum ptx_op op, char close,
		     unsigned depth)
{
	size_t from = p->ops.n;
	uint32_t n;

	if (depth > 8)
		pp_fail(p, "operands nested too deep");
	p->ops.elem = sizeof(struct ptx_operand);
	if (!pp_is_punct(p, close)) {
		do {
			struct ptx_operand e = { 0 };

			if (p->ops.n - from >= MAX_OPERANDS)
				pp_fail(p, "too many operands");
			operand(p, &e, op, depth + 1);
			*(struct ptx_operand *)pp_vec_push(p, &p->ops, sizeof(e)) = e;
		} while (pp_accept(p, ','));
	}
	pp_expect(p, close);
	o->elem = pp_vec_take(p, &p->ops, from, &n);
	o->n = (uint16_t)n;
}

static void immediate(struct parser *p, struct ptx_operand *o)
{
	struct value v;

	/* Nearly always a lone literal. */
	if (p->tok.kind == PTX_TOK_INT) {
		struct ptx_tok t = p->tok;

		pp_next(p);
		if (pp_is_punct(p, ',') || pp_is_punct(p, ';') || pp_is_punct(p, ']')) {
			o->kind = PTX_O_INT;
			o->imm = (int64_t)t.value;
			o->flags = t.uns ? PTX_OF_UNSIGNED : 0;
			return;
		}
		/* An expression after all: go back to its start. */
		p->lx.at = t.text;
		p->lx.line = t.line;
		pp_next(p);
	}
	v = pp_expr(p, 0);
	switch (v.kind) {
	case V_INT:
		o->kind = PTX_O_INT;
		break;
	case V_UINT:
		o->kind = PTX_O_INT;
		o->flags |= PTX_OF_UNSIGNED;
		break;
	case V_F32:
		o->kind = PTX_O_F32;
		break;
	case V_F64:
		o->kind = PTX_O_F64;
		break;
	}
	o->imm = v.i;
}

static enum ptx_sel selector(struct parser *p)
{
	static const struct {
		const char *text;
		enum ptx_sel sel;
	} sels[] = {
		{"x", PTX_SEL_X},   {"y", PTX_SEL_Y},	{"z", PTX_SEL_Z},   {"w", PTX_SEL_W},
		{"r", PTX_SEL_X},   {"g", PTX_SEL_Y},	{"b", PTX_SEL_Z},   {"a", PTX_SEL_W},
		{"b0", PTX_SEL_B0}, {"b1", PTX_SEL_B1}, {"b2", PTX_SEL_B2}, {"b3", PTX_SEL_B3},
		{"h0", PTX_SEL_H0}, {"h1", PTX_SEL_H1},
	};

	for (size_t i = 0; i < sizeof(sels) / sizeof(sels[0]); i++) {
		if (pp_is_dot(p, sels[i].text)) {
			pp_next(p);
			return sels[i].sel;
		}
	}
	pp_next(p);
	return PTX_SEL_OTHER;
}

/* A name in operand position. */
static void name_operand(struct parser *p, struct ptx_operand *o, enum ptx_op op)
{
	const struct ptx_tok t = p->tok;
	struct found_reg reg;
	struct ptx_name *n;

	if (t.len == 1 && t.text[0] == '_') {
		pp_next(p);
		o->kind = PTX_O_SINK;
		return;
	}
	if (pp_find_reg(p, t.text, t.len, &reg)) {
		pp_next(p);
		o->kind = PTX_O_REG;
		o->reg = reg.index;
		if (p->tok.kind == PTX_TOK_DOT) {
			o->sel = (uint8_t)selector(p);
			if (reg.vec > 1 && o->sel >= PTX_SEL_X && o->sel <= PTX_SEL_W) {
				if (o->sel - PTX_SEL_X >= reg.vec)
					pp_fail_at(p, t.line, "vector register has no such element",
						   t.text, t.len);
				o->reg += o->sel - PTX_SEL_X;
				o->sel = PTX_SEL_NONE;
			}
		} else if (reg.vec > 1) {
			/* The whole vector: as if written {v.x, v.y, ...}. */
			struct ptx_operand *e = pp_alloc(p, reg.vec * sizeof(*e));

			for (unsigned i = 0; i < reg.vec; i++)
				e[i] = (struct ptx_operand){.kind = PTX_O_REG,
							    .reg = reg.index + i};
			o->kind = PTX_O_VEC;
			o->n = reg.vec;
			o->elem = e;
		}
		return;
	}
	n = pp_find_name(p->m, t.text, t.len);
	if (n && n->sym && n->sym->kind == SYM_VAR) {
		struct ptx_var *v = n->sym->var;

		pp_next(p);
		if (v->space == PTX_SPACE_REG) {
			o->kind = PTX_O_REG;
			o->reg = v->reg;
			return;
		}
		o->kind = PTX_O_VAR;
		o->var = v;
		return;
	}
	if (n && n->sym && n->sym->kind == SYM_FUNC) {
		pp_next(p);
		o->kind = PTX_O_FUNC;
		o->func = n->sym->func;
		return;
	}
	if (pp_is_word(p, PTX_TOK_IDENT, "WARP_SZ")) {
		immediate(p, o);
		return;
	}
	if (t.text[0] == '%') {
		for (unsigned i = 1; i < PTX_SREG_COUNT; i++) {
			if (strlen(ptx_sregs[i].text) != t.len ||
			    memcmp(ptx_sregs[i].text, t.text, t.len))
				continue;
			pp_next(p);
			o->kind = PTX_O_SREG;
			o->reg = i;
			if (p->tok.kind == PTX_TOK_DOT)
				o->sel = (uint8_t)selector(p);
			if (ptx_sregs[i].dims && !o->sel) {
				struct ptx_operand *e = pp_alloc(p, 4 * sizeof(*e));

				for (unsigned k = 0; k < 4; k++)
					e[k] = (struct ptx_operand){
						.kind = PTX_O_SREG,
						.reg = i,
						.sel = (uint8_t)(PTX_SEL_X + k)};
				o->kind = PTX_O_VEC;
				o->n = 4;
				o->elem = e;
			}
			return;
		}
		if (op == PTX_OP_MOV) {
			/* A special register of a PTX newer than the table. */
			o->kind = PTX_O_SREG;
			o->reg = PTX_SREG_OTHER;
			o->text = pp_intern(p, t.text, t.len)->text;
			pp_next(p);
			if (p->tok.kind == PTX_TOK_DOT)
				o->sel = (uint8_t)selector(p);
			return;
		}
		pp_fail_at(p, t.line, "register is not declared", t.text, t.len);
	}
	if (n && n->sym && (n->sym->kind == SYM_LABEL || n->sym->kind == SYM_TABLE)) {
		pp_next(p);
		o->kind = n->sym->kind == SYM_LABEL ? PTX_O_LABEL : PTX_O_TABLE;
		o->reg = n->sym->index;
		return;
	}
	pp_fail_at(p, t.line, "name is not declared", t.text, t.len);
}

/* After a variable's name: "[2]", "+4". */
static void var_suffix(struct parser *p, struct ptx_operand *o, enum ptx_op op, bool in_address)
{
	if (pp_is_punct(p, '[')) {
		struct ptx_operand index = { 0 };
		unsigned size = ptx_type_size(o->var->type) * o->var->vec;

		pp_next(p);
		if (p->tok.kind == PTX_TOK_IDENT && !pp_is_word(p, PTX_TOK_IDENT, "WARP_SZ")) {
			struct ptx_operand *e = pp_alloc(p, 2 * sizeof(*e));

			name_operand(p, &index, op);
			if (index.kind != PTX_O_REG)
				pp_fail(p, "expected a register as index before");
			if (pp_is_punct(p, '+') || pp_is_punct(p, '-'))
				index.imm = pp_int_expr(p);
			e[0] = *o;
			e[1] = index;
			*o = (struct ptx_operand){
				.kind = PTX_O_ADDR, .n = 2, .flags = PTX_OF_SCALED, .elem = e};
		} else {
			o->imm += (int64_t)((uint64_t)pp_int_expr(p) * size);
		}
		pp_expect(p, ']');
	}
	if (o->kind == PTX_O_VAR && (pp_is_punct(p, '+') || pp_is_punct(p, '-')))
		o->imm += pp_int_expr(p);
	if (o->kind == PTX_O_VAR && !in_address && ptx_op_mem(op) != PTX_MEM_NONE &&
	    op != PTX_OP_CALL) {
		/* ld.global.u32 r, a[0]; */
		struct ptx_operand *e = pp_alloc(p, sizeof(*e));

		*e = *o;
		*o = (struct ptx_operand){ .kind = PTX_O_ADDR, .n = 1, .imm = e->imm, .elem = e };
		e->imm = 0;
	}
}

static void address(struct parser *p, struct ptx_operand *o, enum ptx_op op, unsigned depth)
{
	size_t from = p->ops.n;
	struct ptx_operand base = { 0 };
	uint32_t n;

	o->kind = PTX_O_ADDR;
	if (p->tok.kind == PTX_TOK_IDENT && !pp_is_word(p, PTX_TOK_IDENT, "WARP_SZ")) {
		name_operand(p, &base, op);
		if (base.kind == PTX_O_VAR) {
			var_suffix(p, &base, op, true);
			if (base.kind == PTX_O_ADDR) {
				if (!pp_is_punct(p, ']'))
					pp_fail(p, "expected ']' but found");
				pp_next(p);
				*o = base;
				return;
			}
			o->imm = base.imm;
			base.imm = 0;
		} else if (pp_is_punct(p, '+') || pp_is_punct(p, '-')) {
			o->imm = pp_int_expr(p);
		}
	} else {
		operand(p, &base, op, depth + 1);
	}
	p->ops.elem = sizeof(struct ptx_operand);
	*(struct ptx_operand *)pp_vec_push(p, &p->ops, sizeof(base)) = base;
	while (pp_accept(p, ',')) {
		struct ptx_operand e = { 0 };

		if (p->ops.n - from >= MAX_OPERANDS)
			pp_fail(p, "too many operands");
		operand(p, &e, op, depth + 1);
		*(struct ptx_operand *)pp_vec_push(p, &p->ops, sizeof(e)) = e;
	}
	pp_expect(p, ']');
	o->elem = pp_vec_take(p, &p->ops, from, &n);
	o->n = (uint16_t)n;
}

static void operand(struct parser *p, struct ptx_operand *o, enum ptx_op op, unsigned depth)
{
	if (depth > 8)
		pp_fail(p, "operands nested too deep");
	if (p->tok.kind == PTX_TOK_IDENT) {
		name_operand(p, o, op);
		if (o->kind == PTX_O_VAR)
			var_suffix(p, o, op, false);
	} else if (pp_is_punct(p, '[')) {
		pp_next(p);
		address(p, o, op, depth);
	} else if (pp_is_punct(p, '{')) {
		pp_next(p);
		o->kind = PTX_O_VEC;
		elements(p, o, op, '}', depth);
	} else if (pp_is_punct(p, '!') || pp_is_punct(p, '-')) {
		struct ptx_lex save = p->lx;
		struct ptx_tok sign = p->tok;

		pp_next(p);
		if (p->tok.kind == PTX_TOK_IDENT && !pp_is_word(p, PTX_TOK_IDENT, "WARP_SZ")) {
			name_operand(p, o, op);
			if (o->kind != PTX_O_REG)
				pp_fail_at(p, sign.line,
					   "'!' or '-' in front of what is no register", NULL, 0);
			o->flags |= sign.ch == '!' ? PTX_OF_NOT : PTX_OF_NEG;
		} else {
			p->lx = save;
			p->tok = sign;
			immediate(p, o);
		}
	} else {
		immediate(p, o);
	}
	if (pp_is_punct(p, '|') &&
	    (o->kind == PTX_O_REG || o->kind == PTX_O_SINK || o->kind == PTX_O_VEC)) {
		struct ptx_operand *e = pp_alloc(p, 2 * sizeof(*e));

		pp_next(p);
		e[0] = *o;
		operand(p, &e[1], op, depth + 1);
		*o = (struct ptx_operand){ .kind = PTX_O_PAIR, .n = 2, .elem = e };
	}
}

/* ---- instructions ---- */

static void call_operands(struct parser *p, struct ptx_operand *ops)
{
	if (pp_accept(p, '(')) {
		ops[0].kind = PTX_O_LIST;
		elements(p, &ops[0], PTX_OP_CALL, ')', 1);
		pp_expect(p, ',');
	}
	if (p->tok.kind != PTX_TOK_IDENT)
		pp_fail(p, "expected a function but found");
	name_operand(p, &ops[1], PTX_OP_CALL);
	if (ops[1].kind != PTX_O_FUNC && ops[1].kind != PTX_O_REG)
		pp_fail(p, "call of what is no function, before");
	if (!pp_accept(p, ','))
		return;
	if (pp_accept(p, '(')) {
		ops[2].kind = PTX_O_LIST;
		elements(p, &ops[2], PTX_OP_CALL, ')', 1);
		if (!pp_accept(p, ','))
			return;
	}
	if (p->tok.kind != PTX_TOK_IDENT)
		pp_fail(p, "expected a prototype but found");
	struct ptx_name *n = pp_intern(p, p->tok.text, p->tok.len);

	if (n->sym && n->sym->kind == SYM_FUNC) {
		ops[3].kind = PTX_O_FUNC;
		ops[3].func = n->sym->func;
		pp_next(p);
		return;
	}
	ops[3].kind = PTX_O_TABLE;
	pp_pend(p, n, SYM_TABLE, &ops[3].reg, p->tok.line);
	pp_next(p);
}

static void label_operand(struct parser *p, struct ptx_operand *o, enum sym_kind kind)
{
	struct ptx_name *n;
	uint32_t line = p->tok.line;

	n = pp_ident(p, kind == SYM_LABEL ? "expected a label but found"
					  : "expected a target list but found");
	o->kind = kind == SYM_LABEL ? PTX_O_LABEL : PTX_O_TABLE;
	pp_pend(p, n, kind, &o->reg, line);
}

/* The operands of a statement, up to and with its semicolon. */
static void operands(struct parser *p, struct ptx_inst *in)
{
	struct ptx_operand *ops;
	size_t from = p->ops.n;
	uint32_t n;

	switch ((enum ptx_op)in->op) {
	case PTX_OP_BRA:
		in->nops = 1;
		in->ops = ops = pp_alloc(p, sizeof(*ops));
		label_operand(p, ops, SYM_LABEL);
		pp_expect(p, ';');
		return;
	case PTX_OP_BRX:
		in->nops = 2;
		in->ops = ops = pp_alloc(p, 2 * sizeof(*ops));
		operand(p, &ops[0], in->op, 1);
		pp_expect(p, ',');
		label_operand(p, &ops[1], SYM_TABLE);
		pp_expect(p, ';');
		return;
	case PTX_OP_CALL:
		in->nops = 4;
		in->ops = ops = pp_alloc(p, 4 * sizeof(*ops));
		call_operands(p, ops);
		pp_expect(p, ';');
		return;
	default:
		break;
	}
	p->ops.elem = sizeof(struct ptx_operand);
	if (!pp_is_punct(p, ';')) {
		do {
			struct ptx_operand o = { 0 };

			if (p->ops.n - from >= MAX_OPERANDS)
				pp_fail(p, "too many operands");
			operand(p, &o, in->op, 1);
			*(struct ptx_operand *)pp_vec_push(p, &p->ops, sizeof(o)) = o;
		} while (pp_accept(p, ','));
	}
	if (!pp_is_punct(p, ';'))
		pp_fail(p, "expected ';' but found");
	in->ops = pp_vec_take(p, &p->ops, from, &n);
	in->nops = (uint16_t)n;
	pp_next(p);
}

/* A statement with an opcode of no table: its text, and its operands if they can be read. */
static void unknown_inst(struct parser *p, struct ptx_inst *in, const char *start)
{
	struct ptx_lex save = p->lx;
	struct ptx_tok tok = p->tok;
	size_t nops = p->ops.n, npend = p->pendings.n;
	jmp_buf here, *outer = p->jmp;
	struct ptx_mnemonic *own;
	const char *end;
	size_t len;

	p->jmp = &here;
	if (!setjmp(here)) {
		operands(p, in);
		p->jmp = outer;
	} else {
		p->jmp = outer;
		if (!p->err->line)
			longjmp(*outer, 1); /* no memory */
		p->ops.n = nops;
		p->pendings.n = npend;
		p->lx = save;
		p->tok = tok;
		while (!pp_is_punct(p, ';')) {
			if (p->tok.kind == PTX_TOK_EOF)
				pp_fail(p, "statement without an end");
			pp_next(p);
		}
		struct ptx_operand *o = pp_alloc(p, sizeof(*o));

		o->kind = PTX_O_TEXT;
		len = (size_t)(p->tok.text - tok.text);
		o->text = pp_intern(p, tok.text, len > 4096 ? 4096 : len)->text;
		in->ops = o;
		in->nops = 1;
		pp_next(p);
	}
	p->err->line = 0;
	p->err->what[0] = '\0';
	for (end = start; end < p->lx.end && *end != ';'; end++)
		;
	len = (size_t)(end - start);
	*(own = pp_alloc(p, sizeof(*own))) = *in->mn;
	own->text = pp_intern(p, start, len > 4096 ? 4096 : len)->text;
	in->mn = own;
}

void pp_instruction(struct parser *p)
{
	struct ptx_inst in = { .pred = PTX_NO_REG, .line = p->tok.line };
	char buf[MAX_MNEMONIC];
	struct ptx_mnemonic *mn;
	struct ptx_name *name;
	const char *start;
	size_t len;

	if (pp_accept(p, '@')) {
		struct found_reg reg;

		in.pred_not = pp_accept(p, '!');
		if (p->tok.kind != PTX_TOK_IDENT || !pp_find_reg(p, p->tok.text, p->tok.len, &reg))
			pp_fail(p, "expected a predicate register but found");
		in.pred = reg.index;
		pp_next(p);
	}
	if (p->tok.kind != PTX_TOK_IDENT)
		pp_fail(p, "expected an instruction but found");
	start = p->tok.text;
	in.line = p->tok.line;
	len = p->tok.len;
	if (len >= sizeof(buf) || p->tok.text[0] == '%')
		pp_fail(p, "expected an instruction but found");
	memcpy(buf, start, len);
	len = ptx_lex_mods(&p->lx, buf, len, sizeof(buf));
	if (!len)
		pp_fail(p, "instruction name too long");
	pp_next(p);
	name = pp_intern(p, buf, len);
	mn = pp_mnemonic(p, name);
	in.mn = mn;
	in.op = mn->op;
	in.vec = mn->vec;
	in.odd = mn->odd;
	if (in.op == PTX_OP_UNKNOWN)
		unknown_inst(p, &in, start);
	else
		operands(p, &in);
	*(struct ptx_inst *)pp_vec_push(p, &p->insts, sizeof(in)) = in;
}
