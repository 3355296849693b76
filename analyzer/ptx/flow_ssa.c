/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the flat program to a graph of values; see flow_ssa.h.
 *
 * Registers that one instruction writes are that value wherever its block
 * dominates; the others are looked up through the predecessors, with phis at
 * joins and loop headers.  What is not understood is N_OPAQUE, one node per
 * place: never a wrong value.
 */
#include "flow_ssa.h"
#include <string.h>

#define MAX_NODES 400000u
#define MAX_WALK  300u /* depth of recursion */

struct def {
	uint32_t key_block, key_reg, node;
};

struct build {
	struct graph *g;
	struct flow *fl;
	uint32_t *writer;   /* per register: block of the only write; NONE: none; MANY */
	uint32_t *value;    /* per register with one write: node; NONE: not yet */
	uint64_t *loops;    /* per register: loops that write it; NULL: there are none */
	struct def *defs;   /* hash of (block, register) */
	uint32_t ndefs, cap_defs;
	struct vec open;    /* header phis without operands */
	uint32_t *phi_of;   /* of these: index of graph.phis */
	uint32_t block;
	uint32_t serial;    /* makes opaque nodes different */
};

/* ---- nodes ---- */

static uint64_t hash_bit(uint32_t node)
{
	return UINT64_C(1) << ((node * 2654435761u) >> 26);
}

static uint32_t node_hash(const struct node *n)
{
	uint64_t h = n->op * 131u + n->w * 7u + n->sign;

	h = h * 1000003u ^ n->a;
	h = h * 1000003u ^ n->b;
	h = h * 1000003u ^ n->c;
	h = h * 1000003u ^ (uint64_t)n->imm;
	h = (h ^ h >> 32) * 0xd6e8feb86659fd93u;
	return (uint32_t)(h ^ h >> 32);
}

static bool unique(enum nop op)
{
	return op == N_OPAQUE || op == N_PHI || op == N_IV || op == N_DECAY;
}

uint32_t flow_node(struct graph *g, struct node n)
{
	uint32_t h, i;
	struct node *p;

	if (g->nodes.n >= MAX_NODES)
		longjmp(g->fl->out, KRT_FLOW_NO_MEMORY);
	if (n.op == N_CONST && n.w && n.w < 64) { /* one form */
		int64_t m = (int64_t)((uint64_t)n.imm << (64 - n.w));

		n.imm = m >> (64 - n.w);
	}
	if (n.op == N_ADD || n.op == N_SUB) {
		const struct node *a = NODE(g, n.a), *b = NODE(g, n.b);

		if (b->op == N_CONST && !b->imm)
			return n.a;
		if (n.op == N_ADD && a->op == N_CONST && !a->imm)
			return n.b;
		if (a->op == N_PADDR && b->op == N_CONST)
			return flow_node(g, (struct node){.op = N_PADDR,
							  .w = 64,
							  .a = NONE,
							  .b = NONE,
							  .c = NONE,
							  .imm = n.op == N_ADD ? a->imm + b->imm
									       : a->imm - b->imm});
	}
	if (g->nhashed * 2 >= g->nhash) {
		uint32_t size = g->nhash ? g->nhash * 2 : 1024;

		g->hash = flow_alloc(g->fl, size * sizeof(*g->hash));
		g->nhash = size;
		for (i = 0; i < g->nodes.n; i++) {
			if (unique(NODE(g, i)->op))
				continue;
			for (h = node_hash(NODE(g, i)) & (size - 1); g->hash[h];
			     h = (h + 1) & (size - 1))
				;
			g->hash[h] = i + 1;
		}
	}
	if (!unique(n.op)) {
		for (h = node_hash(&n) & (g->nhash - 1); g->hash[h]; h = (h + 1) & (g->nhash - 1)) {
			p = NODE(g, g->hash[h] - 1);
			if (p->op == n.op && p->w == n.w && p->sign == n.sign && p->a == n.a &&
			    p->b == n.b && p->c == n.c && p->imm == n.imm)
				return g->hash[h] - 1;
		}
		g->hash[h] = g->nodes.n + 1;
		g->nhashed++;
	}
	i = g->nodes.n;
	n.deps |= hash_bit(i);
	n.plain = !unique(n.op) ? n.op != N_SEL : n.op == N_OPAQUE;
	if (n.op >= N_ADD && !unique(n.op)) {
		uint32_t ops[3] = { n.a, n.b, n.c };

		for (unsigned k = 0; k < 3; k++) {
			if (ops[k] == NONE)
				continue;
			n.deps |= NODE(g, ops[k])->deps;
			n.vary |= NODE(g, ops[k])->vary;
			n.plain &= NODE(g, ops[k])->plain;
		}
	}
	p = flow_push(g->fl, &g->nodes, sizeof(*p));
	*p = n;
	return i;
}

static uint32_t mk(struct build *b, enum nop op, unsigned w, bool sign, uint32_t a, uint32_t c,
		   int64_t imm)
{
	return flow_node(b->g, (struct node){.op = (uint8_t)op,
					     .w = (uint8_t)w,
					     .sign = sign,
					     .a = a,
					     .b = c,
					     .c = NONE,
					     .imm = imm,
					     .block = b->block});
}

static uint32_t mk_const(struct build *b, unsigned w, int64_t imm)
{
	return flow_node(b->g, (struct node){.op = N_CONST, .w = (uint8_t)w, .a = NONE, .b = NONE,
					     .c = NONE, .imm = imm});
}

static uint32_t opaque(struct build *b, unsigned w, bool sign)
{
	return flow_node(b->g, (struct node){.op = N_OPAQUE,
					     .w = (uint8_t)(w > 64 || !w ? 64 : w),
					     .sign = sign,
					     .a = NONE,
					     .b = NONE,
					     .c = NONE,
					     .imm = b->serial++,
					     .block = b->block,
					     .vary = b->g->cfg.in_loop[b->block]});
}

static uint32_t shift_right(struct build *b, unsigned w, bool sign, uint32_t v, uint32_t by)
{
	const struct node n = *NODE(b->g, v), r = *NODE(b->g, by);

	/* A division by a constant. */
	if (n.op == N_HIGH && w == 32 && r.op == N_CONST && r.imm > 0 &&
	    n.imm % 32 + r.imm < 32)
		return mk(b, N_HIGH, 32, n.sign, n.a, n.b, n.imm + r.imm);
	/* Shifted to the left before: the low bits, extended. */
	if (n.op == N_SHL && n.w == w && r.op == N_CONST && NODE(b->g, n.b)->op == N_CONST) {
		int64_t left = NODE(b->g, n.b)->imm, right = r.imm;

		if (right > 0 && right <= left && left < (int64_t)w) {
			v = mk(b, N_EXT, w, sign, n.a, NONE, (int64_t)w - left);
			return right == left ? v : mk(b, N_SHL, w, false, v,
						      mk_const(b, 32, left - right), 0);
		}
	}
	return mk(b, N_SHR, w, sign, v, by, 0);
}

static uint32_t added(struct build *b, enum nop op, unsigned w, uint32_t x, uint32_t y)
{
	/* The high half of a times a factor of 32 bits, of which one too many is for the sign. */
	for (unsigned i = 0; i < 2 && op == N_ADD && w == 32; i++) {
		const struct node n = *NODE(b->g, i ? y : x);

		if (n.op == N_HIGH && n.sign && !n.imm && n.a == (i ? x : y) &&
		    NODE(b->g, n.b)->op == N_CONST && NODE(b->g, n.b)->imm < 0)
			return mk(b, N_HIGH, 32, true, n.a, n.b, N_HIGH_UNSIGNED);
	}
	return mk(b, op, w, false, x, y, 0);
}

static unsigned reg_bits(const struct flow *fl, const struct instance *inst, uint32_t reg)
{
	(void)fl;
	return reg < inst->f->nregs ? ptx_type_bits((enum ptx_type)inst->f->reg_types[reg]) : 64;
}

/* ---- registers ---- */

static uint32_t *def_slot(struct build *b, uint32_t block, uint32_t reg)
{
	uint32_t h;

	if (b->ndefs * 2 >= b->cap_defs) {
		uint32_t old = b->cap_defs;
		struct def *t = b->defs;

		b->cap_defs = old ? old * 2 : 1024;
		b->defs = flow_alloc(b->fl, b->cap_defs * sizeof(*b->defs));
		for (uint32_t i = 0; i < b->cap_defs; i++)
			b->defs[i].key_block = NONE;
		for (uint32_t i = 0; i < old; i++) {
			if (t[i].key_block == NONE)
				continue;
			h = (t[i].key_block * 2654435761u ^ t[i].key_reg * 40503u) & (b->cap_defs - 1);
			while (b->defs[h].key_block != NONE)
				h = (h + 1) & (b->cap_defs - 1);
			b->defs[h] = t[i];
		}
	}
	h = (block * 2654435761u ^ reg * 40503u) & (b->cap_defs - 1);
	while (b->defs[h].key_block != NONE) {
		if (b->defs[h].key_block == block && b->defs[h].key_reg == reg)
			return &b->defs[h].node;
		h = (h + 1) & (b->cap_defs - 1);
	}
	b->defs[h] = (struct def){ .key_block = block, .key_reg = reg, .node = NONE };
	b->ndefs++;
	return &b->defs[h].node;
}

static void set_reg(struct build *b, uint32_t reg, uint32_t node)
{
	if (b->writer[reg] == MANY)
		*def_slot(b, b->block, reg) = node;
	else
		b->value[reg] = node;
}

static uint32_t find(struct build *b, uint32_t reg, uint32_t block, unsigned depth);

static uint32_t new_phi(struct build *b, uint32_t reg, uint32_t block)
{
	struct graph *g = b->g;
	struct phi *p = flow_push(b->fl, &g->phis, sizeof(*p));

	p->block = block;
	p->reg = reg;
	p->n = g->cfg.npred[block];
	p->val = flow_alloc(b->fl, p->n * sizeof(*p->val));
	memset(p->val, 0xff, p->n * sizeof(*p->val));
	return flow_node(g, (struct node){.op = N_PHI,
					  .w = 64,
					  .a = NONE,
					  .b = NONE,
					  .c = NONE,
					  .imm = g->phis.n - 1,
					  .block = block,
					  .vary = g->cfg.in_loop[block]});
}

/* The value at the start of a block. */
static uint32_t at_start(struct build *b, uint32_t reg, uint32_t block, unsigned depth)
{
	struct cfg *c = &b->g->cfg;
	uint32_t first = NONE, node, *vals, save;
	bool same = true, header = false;

	for (uint32_t k = 0; k < c->npred[block]; k++)
		header |= c->order[c->pred[block][k]] >= c->order[block];
	if (!c->npred[block] || depth > MAX_WALK || (header && block == c->rpo[0])) {
		save = b->block;
		b->block = block;
		node = opaque(b, 64, false);
		b->block = save;
		return node;
	}
	if (header) {
		uint64_t bit = 0;

		for (uint32_t i = 0; i < c->loops.n; i++)
			if (VEC(c->loops, struct loop)[i].header == block)
				bit = UINT64_C(1) << i;
		if (b->loops[reg] & bit) {
			node = new_phi(b, reg, block);
			*(uint32_t *)flow_push(b->fl, &b->open, sizeof(uint32_t)) = node;
			return node;
		}
	}
	vals = c->npred[block] > 1 ? flow_alloc(b->fl, c->npred[block] * sizeof(*vals)) : &first;
	for (uint32_t k = 0; k < c->npred[block]; k++) {
		uint32_t p = c->pred[block][k], v;

		vals[k] = NONE;
		if (c->order[p] >= c->order[block])
			continue; /* the loop leaves it as it is */
		v = find(b, reg, p, depth + 1);
		vals[k] = v;
		if (first == NONE)
			first = v;
		same &= v == first;
	}
	if (same)
		return first;
	if (header) {
		/* The same at the back edges as at the start: a join before the header. */
		node = new_phi(b, reg, block);
		for (uint32_t k = 0; k < c->npred[block]; k++)
			VEC(b->g->phis, struct phi)[b->g->phis.n - 1].val[k] = vals[k];
	} else {
		node = new_phi(b, reg, block);
		memcpy(VEC(b->g->phis, struct phi)[b->g->phis.n - 1].val, vals,
		       c->npred[block] * sizeof(*vals));
	}
	return node;
}

/* The value of a register with several writes at the end of a block. */
static uint32_t find(struct build *b, uint32_t reg, uint32_t block, unsigned depth)
{
	struct cfg *c = &b->g->cfg;
	uint32_t from = block, v, n = 0;

	/* Straight up as long as there is one predecessor. */
	while ((v = *def_slot(b, block, reg)) == NONE && c->npred[block] == 1 &&
	       c->order[c->pred[block][0]] < c->order[block]) {
		block = c->pred[block][0];
		n++;
	}
	if (v == NONE) {
		v = at_start(b, reg, block, depth);
		/* The block's own writes come later, if this asks for a block in the making. */
		*def_slot(b, block, reg) = v;
	}
	for (; n && from != block; from = c->pred[from][0], n--)
		*def_slot(b, from, reg) = v;
	return v;
}

static uint32_t get_reg(struct build *b, uint32_t reg, unsigned w)
{
	if (b->writer[reg] == MANY)
		return find(b, reg, b->block, 0);
	if (b->writer[reg] != NONE && b->value[reg] != NONE &&
	    flow_dominates(&b->g->cfg, b->writer[reg], b->block))
		return b->value[reg];
	return opaque(b, w, false);
}

/* ---- instructions ---- */

static uint32_t global_index(const struct flow *fl, const struct ptx_var *v)
{
	for (uint32_t i = 0; i < fl->globals.n; i++)
		if (VEC(fl->globals, struct global)[i].var == v)
			return i;
	return NONE;
}

static uint32_t source(struct build *b, const struct fop *o, const struct ptx_operand *s,
		       unsigned w)
{
	static const struct {
		uint8_t sreg, base;
	} dims[] = {
		{PTX_SREG_TID, S_TID},
		{PTX_SREG_CTAID, S_CTAID},
		{PTX_SREG_NTID, S_NTID},
		{PTX_SREG_NCTAID, S_NCTAID},
	};
	uint32_t n;

	switch ((enum ptx_operand_kind)s->kind) {
	case PTX_O_REG:
		if (s->sel != PTX_SEL_NONE)
			return opaque(b, w, false);
		n = get_reg(b, o->inst->base + s->reg, reg_bits(b->fl, o->inst, s->reg));
		if (s->flags & PTX_OF_NEG)
			return mk(b, N_SUB, w, false, mk_const(b, w, 0), n, 0);
		return n;
	case PTX_O_INT:
		return mk_const(b, w, s->imm);
	case PTX_O_SREG:
		for (unsigned i = 0; i < 4; i++)
			if (s->reg == dims[i].sreg && s->sel >= PTX_SEL_X && s->sel <= PTX_SEL_Z)
				return mk(b, N_SREG, 32, false, NONE, NONE,
					  dims[i].base + (s->sel - PTX_SEL_X));
		if (s->reg == PTX_SREG_LANEID)
			return mk(b, N_SREG, 32, false, NONE, NONE, S_LANE);
		return opaque(b, 32 < w ? w : 32, false);
	case PTX_O_VAR:
		if (flow_is_entry_param(b->fl, s->var))
			return mk(b, N_PADDR, 64, false, NONE, NONE,
				  (int64_t)s->var->offset + s->imm);
		n = s->var->space == PTX_SPACE_GLOBAL || s->var->space == PTX_SPACE_CONST
			    ? global_index(b->fl, s->var)
			    : NONE;
		if (n == NONE)
			return opaque(b, w, false);
		return mk(b, N_ADD, 64, false, mk(b, N_VAR, 64, false, NONE, NONE, n),
			  mk_const(b, 64, s->imm), 0);
	default:
		return opaque(b, w, false);
	}
}

/* A predicate operand. */
static uint32_t pred_source(struct build *b, const struct fop *o, const struct ptx_operand *s)
{
	uint32_t n;

	if (s->kind == PTX_O_INT)
		return mk_const(b, 1, s->imm != 0);
	if (s->kind != PTX_O_REG)
		return opaque(b, 1, false);
	n = get_reg(b, o->inst->base + s->reg, 1);
	return s->flags & PTX_OF_NOT ? mk(b, N_PNOT, 1, false, n, NONE, 0) : n;
}

/* Two predicates of which one is true: compilers turn them by this, with a constant. */
static uint32_t pred_xor(struct build *b, uint32_t x, uint32_t y)
{
	const struct node p = *NODE(b->g, x), q = *NODE(b->g, y);
	uint32_t nx, ny;

	if (q.op == N_CONST && !q.imm)
		return x;
	if (p.op == N_CONST && !p.imm)
		return y;
	nx = mk(b, N_PNOT, 1, false, x, NONE, 0);
	if (q.op == N_CONST)
		return nx;
	ny = mk(b, N_PNOT, 1, false, y, NONE, 0);
	if (p.op == N_CONST)
		return ny;
	return mk(b, N_POR, 1, false, mk(b, N_PAND, 1, false, x, ny, 0),
		  mk(b, N_PAND, 1, false, nx, y, 0), 0);
}

static void write_reg(struct build *b, const struct fop *o, uint32_t reg, uint32_t node)
{
	const struct ptx_inst *in = o->in;

	if (o->kind == FOP_INST && in->pred != PTX_NO_REG) {
		uint32_t p = get_reg(b, o->inst->base + in->pred, 1), old;

		old = get_reg(b, reg, 64);
		if (in->pred_not)
			p = mk(b, N_PNOT, 1, false, p, NONE, 0);
		node = flow_node(b->g, (struct node){.op = N_SEL, .w = 64, .a = p, .b = node,
						     .c = old, .block = b->block});
	}
	set_reg(b, reg, node);
}

static void write_operand(struct build *b, const struct fop *o, const struct ptx_operand *d,
			  uint32_t node)
{
	if (d->kind == PTX_O_REG)
		write_reg(b, o, o->inst->base + d->reg,
			  node != NONE ? node
				       : opaque(b, reg_bits(b->fl, o->inst, d->reg), false));
	else if (d->kind == PTX_O_VEC || d->kind == PTX_O_PAIR || d->kind == PTX_O_LIST)
		for (unsigned i = 0; i < d->n; i++)
			write_operand(b, o, &d->elem[i], NONE);
}

static bool integer(enum ptx_type t)
{
	enum ptx_kind k = ptx_type_kind(t);

	return t != PTX_NONE && ptx_type_bits(t) <= 64 &&
	       (k == PTX_KIND_BITS || k == PTX_KIND_UNSIGNED || k == PTX_KIND_SIGNED);
}

/*
 * The result of an instruction that is not followed: what it is made of, where that
 * is nothing but its operands and these are written once.
 */
static uint32_t opaque_of(struct build *b, const struct fop *o, unsigned w)
{
	const struct ptx_inst *in = o->in;
	bool pure = !in->odd && in->nops > 1 && in->nops <= 4 && in->op != PTX_OP_ADDC &&
		    in->op != PTX_OP_SUBC && in->op != PTX_OP_MADC &&
		    ((in->op >= PTX_OP_ADD && in->op <= PTX_OP_PRMT) || in->op == PTX_OP_CVT);
	uint32_t of[3] = { NONE, NONE, NONE }, n;

	for (unsigned i = 1; i < in->nops && pure; i++) {
		const struct ptx_operand *s = &in->ops[i];

		if (s->kind == PTX_O_INT || s->kind == PTX_O_F32 || s->kind == PTX_O_F64)
			continue;
		pure = s->kind == PTX_O_REG && b->writer[o->inst->base + s->reg] != MANY;
		if (pure)
			of[i - 1] = get_reg(b, o->inst->base + s->reg, 64);
	}
	n = opaque(b, w, false);
	if (pure) {
		NODE(b->g, n)->pure = true;
		NODE(b->g, n)->a = of[0];
		NODE(b->g, n)->b = of[1];
		NODE(b->g, n)->c = of[2];
	}
	return n;
}

/* The address that an operand in brackets names. */
static uint32_t address(struct build *b, const struct fop *o, const struct ptx_operand *a)
{
	uint32_t n;

	if (a->kind != PTX_O_ADDR || !a->n || a->flags & PTX_OF_SCALED)
		return opaque(b, 64, false);
	n = source(b, o, &a->elem[0], 64);
	return mk(b, N_ADD, 64, false, n, mk_const(b, 64, a->imm), 0);
}

static void load(struct build *b, const struct fop *o)
{
	const struct ptx_inst *in = o->in;
	enum ptx_type t = ptx_inst_type(in);
	const struct ptx_operand *d = &in->ops[0], *a;
	unsigned n, bits = ptx_type_bits(t);
	bool sign = ptx_type_kind(t) == PTX_KIND_SIGNED;
	uint32_t addr = NONE, node;

	if (in->nops < 2)
		return;
	a = &in->ops[1];
	n = d->kind == PTX_O_VEC ? d->n : 1;
	for (unsigned i = 0; i < n; i++) {
		const struct ptx_operand *e = d->kind == PTX_O_VEC ? &d->elem[i] : d;

		node = NONE;
		if (e->kind != PTX_O_REG)
			continue;
		if (flow_param_space(in) && a->kind == PTX_O_ADDR && a->n &&
		    a->elem[0].kind == PTX_O_VAR && !flow_is_entry_param(b->fl, a->elem[0].var)) {
			uint32_t all, piece = a->flags & PTX_OF_SCALED
						      ? NONE
						      : flow_piece(o->inst, a->elem[0].var,
								   (uint64_t)a->imm + i * bits / 8,
								   bits / 8, &all);

			if (piece != NONE) {
				node = get_reg(b, piece, bits);
				if (bits < 32)
					node = mk(b, N_EXT, 64, sign, node, NONE, bits);
			}
		} else {
			if (addr == NONE)
				addr = address(b, o, a);
			if (NODE(b->g, addr)->op == N_PADDR && bits <= 64 && bits >= 8) {
				int64_t off = NODE(b->g, addr)->imm + i * bits / 8;

				/* Float values are bits like others. */
				node = mk(b, N_PARAM, bits, sign, NONE, NONE, off);
			}
		}
		if (node == NONE)
			node = bits && bits < 64 ? opaque(b, bits, sign) : opaque(b, 64, false);
		write_reg(b, o, o->inst->base + e->reg, node);
	}
}

static void store_param(struct build *b, const struct fop *o)
{
	const struct ptx_inst *in = o->in;
	unsigned size = ptx_type_size(ptx_inst_type(in));
	const struct ptx_operand *a = &in->ops[0], *v;
	uint32_t all, piece;

	if (in->nops < 2 || a->kind != PTX_O_ADDR || !a->n || a->elem[0].kind != PTX_O_VAR ||
	    flow_is_entry_param(b->fl, a->elem[0].var))
		return;
	v = &in->ops[1];
	for (unsigned i = 0; i < (v->kind == PTX_O_VEC ? v->n : 1u); i++) {
		piece = flow_piece(o->inst, a->elem[0].var, (uint64_t)a->imm + i * size, size, &all);
		if (piece != NONE)
			write_reg(b, o, piece,
				  a->flags & PTX_OF_SCALED
					  ? opaque(b, 64, false)
					  : source(b, o, v->kind == PTX_O_VEC ? &v->elem[i] : v,
						   size * 8));
	}
}

static bool compare(const struct ptx_inst *in, enum ncmp *c, bool *sign)
{
	enum ptx_type t = ptx_inst_type(in);
	bool uns = false;

	if (!integer(t))
		return false;
	*sign = ptx_type_kind(t) == PTX_KIND_SIGNED;
	for (unsigned i = 0; i < in->mn->nmods; i++) {
		switch (in->mn->mods[i]) {
		case PTX_M_EQ: *c = C_EQ; return true;
		case PTX_M_NE: *c = C_NE; return true;
		case PTX_M_LT: *c = C_LT; return true;
		case PTX_M_LE: *c = C_LE; return true;
		case PTX_M_GT: *c = C_GT; return true;
		case PTX_M_GE: *c = C_GE; return true;
		case PTX_M_LO: *c = C_LT; uns = true; break;
		case PTX_M_LS: *c = C_LE; uns = true; break;
		case PTX_M_HI: *c = C_GT; uns = true; break;
		case PTX_M_HS: *c = C_GE; uns = true; break;
		default: continue;
		}
		*sign = *sign && !uns;
		return true;
	}
	return false;
}

static void setp(struct build *b, const struct fop *o)
{
	const struct ptx_inst *in = o->in;
	const struct ptx_operand *d = &in->ops[0];
	enum ncmp c = C_EQ;
	bool sign = false;
	uint32_t p, q = NONE, np;
	unsigned w;

	if (in->nops < 3)
		return;
	if (compare(in, &c, &sign) && !in->odd) {
		w = ptx_type_bits((enum ptx_type)in->mn->types[0]);
		p = flow_node(b->g, (struct node){.op = N_CMP,
						  .w = (uint8_t)w,
						  .sign = sign,
						  .a = source(b, o, &in->ops[1], w),
						  .b = source(b, o, &in->ops[2], w),
						  .c = NONE,
						  .imm = c,
						  .block = b->block});
	} else {
		p = opaque_of(b, o, 1);
	}
	np = mk(b, N_PNOT, 1, false, p, NONE, 0);
	if (in->nops > 3) {
		bool and = ptx_inst_has(in, PTX_M_AND), or = ptx_inst_has(in, PTX_M_OR);

		q = pred_source(b, o, &in->ops[3]);
		if (and != or) {
			p = mk(b, and ? N_PAND : N_POR, 1, false, p, q, 0);
			np = mk(b, and ? N_PAND : N_POR, 1, false, np, q, 0);
		} else if (ptx_inst_has(in, PTX_M_XOR) && !and) {
			p = pred_xor(b, p, q);
			np = pred_xor(b, np, q);
		} else {
			p = opaque(b, 1, false);
			np = opaque(b, 1, false);
		}
	}
	if (d->kind == PTX_O_PAIR && d->n == 2) {
		write_operand(b, o, &d->elem[0], p);
		write_operand(b, o, &d->elem[1], np);
	} else {
		write_operand(b, o, d, p);
	}
}

/* The value of an instruction with one integer result; NONE: not understood. */
static uint32_t compute(struct build *b, const struct fop *o)
{
	const struct ptx_inst *in = o->in;
	enum ptx_type t = ptx_inst_type(in);
	unsigned w = ptx_type_bits(t), x;
	bool sign = ptx_type_kind(t) == PTX_KIND_SIGNED, wide = ptx_inst_has(in, PTX_M_WIDE);
	const struct ptx_operand *op = in->ops;
	uint32_t n;

	if (in->odd || in->nops < 2)
		return NONE;
	if (t == PTX_PRED && (in->op == PTX_OP_AND || in->op == PTX_OP_OR) && in->nops == 3)
		return mk(b, in->op == PTX_OP_AND ? N_PAND : N_POR, 1, false,
			  pred_source(b, o, &op[1]), pred_source(b, o, &op[2]), 0);
	if (t == PTX_PRED && in->op == PTX_OP_XOR && in->nops == 3)
		return pred_xor(b, pred_source(b, o, &op[1]), pred_source(b, o, &op[2]));
	if (t == PTX_PRED && in->op == PTX_OP_NOT)
		return mk(b, N_PNOT, 1, false, pred_source(b, o, &op[1]), NONE, 0);
	if (in->op == PTX_OP_MOV) {
		if (t == PTX_PRED)
			return pred_source(b, o, &op[1]);
		if (op[0].kind == PTX_O_REG && op[1].kind == PTX_O_VEC && t == PTX_B64 &&
		    op[1].n == 2)
			return mk(b, N_ADD, 64, false,
				  mk(b, N_SHL, 64, false,
				     mk(b, N_EXT, 64, true, source(b, o, &op[1].elem[1], 32), NONE,
					32),
				     mk_const(b, 32, 32), 0),
				  mk(b, N_EXT, 64, false, source(b, o, &op[1].elem[0], 32), NONE,
				     32),
				  0);
		return op[0].kind == PTX_O_REG && w <= 64 ? source(b, o, &op[1], w) : NONE;
	}
	if (in->op == PTX_OP_CVTA) {
		enum ptx_space s = ptx_space_base(ptx_inst_space(in));

		return s == PTX_SPACE_SHARED || s == PTX_SPACE_LOCAL ? NONE
								     : source(b, o, &op[1], 64);
	}
	if (in->op == PTX_OP_SELP && in->nops == 4 && w <= 64)
		return flow_node(b->g, (struct node){.op = N_SEL,
						     .w = (uint8_t)w,
						     .a = pred_source(b, o, &op[3]),
						     .b = source(b, o, &op[1], w),
						     .c = source(b, o, &op[2], w),
						     .block = b->block});
	if (!integer(t) || w < 16 || ptx_inst_has(in, PTX_M_SAT))
		return in->op == PTX_OP_CVT && integer(t) && w == 8 && in->mn->ntypes == 2 &&
				       integer((enum ptx_type)in->mn->types[1])
			       ? mk(b, N_EXT, 64, sign, source(b, o, &op[1], 64), NONE, 8)
			       : NONE;
	switch ((enum ptx_op)in->op) {
	case PTX_OP_ADD:
	case PTX_OP_SUB:
		if (in->nops != 3)
			return NONE;
		return added(b, in->op == PTX_OP_ADD ? N_ADD : N_SUB, w,
			     source(b, o, &op[1], w), source(b, o, &op[2], w));
	case PTX_OP_MUL:
	case PTX_OP_MAD:
		if (in->nops == 3 && in->op == PTX_OP_MUL && ptx_inst_has(in, PTX_M_HI) && w == 32)
			return mk(b, N_HIGH, 32, sign, source(b, o, &op[1], w),
				  source(b, o, &op[2], w), 0);
		if (in->nops != (in->op == PTX_OP_MUL ? 3 : 4) || ptx_inst_has(in, PTX_M_HI))
			return NONE;
		if (wide) {
			n = mk(b, N_MUL, 2 * w, false,
			       mk(b, N_EXT, 64, sign, source(b, o, &op[1], w), NONE, w),
			       mk(b, N_EXT, 64, sign, source(b, o, &op[2], w), NONE, w), 0);
			w *= 2;
		} else {
			n = mk(b, N_MUL, w, false, source(b, o, &op[1], w), source(b, o, &op[2], w),
			       0);
		}
		if (in->op == PTX_OP_MAD)
			n = mk(b, N_ADD, w, false, n, source(b, o, &op[3], w), 0);
		return n;
	case PTX_OP_SHL:
		return in->nops == 3 ? mk(b, N_SHL, w, false, source(b, o, &op[1], w),
					  source(b, o, &op[2], 32), 0)
				     : NONE;
	case PTX_OP_SHR:
		return in->nops == 3 ? shift_right(b, w, sign, source(b, o, &op[1], w),
						   source(b, o, &op[2], 32))
				     : NONE;
	case PTX_OP_AND:
	case PTX_OP_OR:
	case PTX_OP_XOR:
		if (in->nops != 3)
			return NONE;
		return mk(b, in->op == PTX_OP_AND  ? N_AND
			     : in->op == PTX_OP_OR ? N_OR
						   : N_XOR,
			  w, false, source(b, o, &op[1], w), source(b, o, &op[2], w), 0);
	case PTX_OP_NOT:
		return mk(b, N_SUB, w, false, mk_const(b, w, -1), source(b, o, &op[1], w), 0);
	case PTX_OP_NEG:
		return mk(b, N_SUB, w, false, mk_const(b, w, 0), source(b, o, &op[1], w), 0);
	case PTX_OP_ABS:
		n = source(b, o, &op[1], w);
		return mk(b, N_MAX, w, true, n, mk(b, N_SUB, w, false, mk_const(b, w, 0), n, 0), 0);
	case PTX_OP_MIN:
	case PTX_OP_MAX:
		if (in->nops != 3 || ptx_inst_has(in, PTX_M_RELU))
			return NONE;
		return mk(b, in->op == PTX_OP_MIN ? N_MIN : N_MAX, w, sign,
			  source(b, o, &op[1], w), source(b, o, &op[2], w), 0);
	case PTX_OP_DIV:
	case PTX_OP_REM:
		return in->nops == 3 ? mk(b, in->op == PTX_OP_DIV ? N_DIV : N_REM, w, sign,
					  source(b, o, &op[1], w), source(b, o, &op[2], w), 0)
				     : NONE;
	case PTX_OP_BFE:
		if (in->nops != 4 || sign || op[2].kind != PTX_O_INT || op[3].kind != PTX_O_INT ||
		    op[2].imm < 0 || op[3].imm < 1 || op[2].imm >= (int64_t)w || op[3].imm >= 63)
			return NONE;
		return mk(b, N_AND, w, false,
			  mk(b, N_SHR, w, false, source(b, o, &op[1], w),
			     mk_const(b, 32, op[2].imm), 0),
			  mk_const(b, 64, (INT64_C(1) << op[3].imm) - 1), 0);
	case PTX_OP_CVT:
		if (in->mn->ntypes != 2 || !integer((enum ptx_type)in->mn->types[1]))
			return NONE;
		x = ptx_type_bits((enum ptx_type)in->mn->types[1]);
		n = source(b, o, &op[1], x);
		if (x < w)
			return mk(b, N_EXT, 64,
				  ptx_type_kind((enum ptx_type)in->mn->types[1]) == PTX_KIND_SIGNED,
				  n, NONE, x);
		return w < 32 ? mk(b, N_EXT, 64, sign, n, NONE, w) : n;
	case PTX_OP_POPC:
	case PTX_OP_CLZ:
		return opaque_of(b, o, 7);
	default:
		return NONE;
	}
}

static void translate(struct build *b, const struct fop *o)
{
	const struct ptx_inst *in = o->in;
	unsigned dsts;
	uint32_t n;

	if (o->kind == FOP_COPY) {
		set_reg(b, o->dst, get_reg(b, o->src, 64));
		return;
	}
	if (o->kind == FOP_OPAQUE) {
		set_reg(b, o->dst, opaque(b, 64, false));
		return;
	}
	switch ((enum ptx_op)in->op) {
	case PTX_OP_LD:
	case PTX_OP_LDU:
		load(b, o);
		return;
	case PTX_OP_ST:
		if (flow_param_space(in))
			store_param(b, o);
		return;
	case PTX_OP_SETP:
		setp(b, o);
		return;
	case PTX_OP_CALL:
		return;
	default:
		break;
	}
	dsts = ptx_op_dsts((enum ptx_op)in->op);
	if (!dsts || !in->nops)
		return;
	if (in->op == PTX_OP_MOV && in->nops == 2 && in->ops[0].kind == PTX_O_VEC &&
	    in->ops[0].n == 2 && in->mn->ntypes && in->mn->types[0] == PTX_B64 &&
	    in->ops[1].kind == PTX_O_REG) {
		uint32_t hi;

		n = source(b, o, &in->ops[1], 64);
		hi = mk(b, N_SHR, 64, false, n, mk_const(b, 32, 32), 0);

		write_operand(b, o, &in->ops[0].elem[0], n);
		write_operand(b, o, &in->ops[0].elem[1], hi);
		return;
	}
	n = in->ops[0].kind == PTX_O_REG ? compute(b, o) : NONE;
	if (n == NONE && in->ops[0].kind == PTX_O_REG && dsts == 1)
		n = opaque_of(b, o, reg_bits(b->fl, o->inst, in->ops[0].reg));
	write_operand(b, o, &in->ops[0], n);
	for (unsigned i = 1; i < dsts && i < in->nops; i++)
		write_operand(b, o, &in->ops[i], NONE);
}

/* ---- conditions ---- */

uint32_t flow_ctx(struct graph *g, uint32_t up, uint32_t cond, bool neg)
{
	struct atom_cond at[8];
	struct ctx *c;
	uint32_t n = 0, rest;
	uint64_t mask;

	if (VEC(g->ctxs, struct ctx)[up].depth >= 40)
		return up; /* less is known, nothing is wrong */
	(void)flow_atoms(g, cond, neg, at, &n, 8);
	if (!n)
		return up;
	for (uint32_t i = g->ctxs.n; i-- > 2 && i + 64 > g->ctxs.n;) {
		c = &VEC(g->ctxs, struct ctx)[i];
		if (c->up == up && c->cond == cond && c->neg == neg)
			return i;
	}
	mask = hash_bit(cond);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t s[2] = { at[i].a, at[i].b };

		for (unsigned k = 0; k < 2; k++) {
			mask |= hash_bit(s[k]);
			/* a + 1 < n says something of a */
			if (NODE(g, s[k])->op == N_ADD || NODE(g, s[k])->op == N_SUB) {
				rest = NODE(g, s[k])->a;
				mask |= hash_bit(rest);
			}
		}
	}
	c = flow_push(g->fl, &g->ctxs, sizeof(*c));
	*c = (struct ctx){
		.up = up,
		.cond = cond,
		.neg = neg,
		.depth = VEC(g->ctxs, struct ctx)[up].depth + 1,
		.mask = mask,
	};
	return g->ctxs.n - 1;
}

uint32_t flow_edge_ctx(struct graph *g, uint32_t from, uint32_t to)
{
	const struct fblock *fb = &VEC(g->fl->blocks, struct fblock)[from];
	bool first, second;

	if (g->cond[from] == NONE || fb->nsucc > 2 || !fb->nsucc)
		return g->ctx[from];
	if (fb->nsucc == 1)
		return flow_ctx(g, g->ctx[from], g->cond[from], !fb->cond_not);
	first = fb->succ[0] == to;
	second = fb->succ[1] == to;
	if (first == second)
		return g->ctx[from];
	return flow_ctx(g, g->ctx[from], g->cond[from], fb->cond_not != second);
}

static void flip(struct atom_cond *c)
{
	static const uint8_t inv[] = {
		[C_EQ] = C_NE, [C_NE] = C_EQ, [C_LT] = C_GE,
		[C_LE] = C_GT, [C_GT] = C_LE, [C_GE] = C_LT,
	};

	c->cmp = inv[c->cmp];
}

static bool atoms(struct graph *g, uint32_t cond, bool neg, struct atom_cond *out, uint32_t *n,
		  uint32_t max, unsigned depth)
{
	const struct node *p = NODE(g, cond);
	bool a, b;

	if (depth > 12)
		return false;
	switch ((enum nop)p->op) {
	case N_PNOT:
		return atoms(g, p->a, !neg, out, n, max, depth + 1);
	case N_PAND:
	case N_POR:
		if ((p->op == N_PAND) == neg)
			return false;
		a = atoms(g, p->a, neg, out, n, max, depth + 1);
		b = atoms(g, p->b, neg, out, n, max, depth + 1);
		return a && b;
	case N_CMP:
		if (*n == max)
			return false;
		out[*n] = (struct atom_cond){
			.a = p->a, .b = p->b, .cmp = (uint8_t)p->imm, .w = p->w, .sign = p->sign};
		if (neg)
			flip(&out[*n]);
		++*n;
		return true;
	default:
		return false;
	}
}

bool flow_atoms(struct graph *g, uint32_t cond, bool neg, struct atom_cond *out, uint32_t *n,
		uint32_t max)
{
	return atoms(g, cond, neg, out, n, max, 0);
}

static bool apart(struct graph *g, uint32_t n, uint32_t target, uint32_t *rest, unsigned depth)
{
	const struct node p = *NODE(g, n);
	uint32_t r;

	*rest = NONE;
	if (n == target)
		return true;
	/* A variable of 32 bits: what is above does not count. */
	if (p.op == N_EXT && p.imm >= 32 && NODE(g, target)->op == N_IV && NODE(g, target)->w == 32)
		return depth <= 24 && apart(g, p.a, target, rest, depth + 1);
	if (depth > 24 || (p.op != N_ADD && p.op != N_SUB))
		return false;
	if (apart(g, p.a, target, &r, depth + 1)) {
		if (r == NONE && p.op == N_ADD)
			*rest = p.b;
		else if (r == NONE)
			*rest = flow_node(
				g, (struct node){
					   .op = N_SUB,
					   .w = p.w,
					   .a = flow_node(g, (struct node){.op = N_CONST,
									   .w = p.w,
									   .a = NONE,
									   .b = NONE,
									   .c = NONE}),
					   .b = p.b,
					   .c = NONE,
					   .block = p.block});
		else
			*rest = flow_node(g, (struct node){.op = p.op, .w = p.w, .a = r, .b = p.b,
							   .c = NONE, .block = p.block});
		return true;
	}
	if (p.op == N_ADD && apart(g, p.b, target, &r, depth + 1)) {
		*rest = r == NONE ? p.a
				  : flow_node(g, (struct node){.op = N_ADD, .w = p.w, .a = r,
							       .b = p.a, .c = NONE,
							       .block = p.block});
		return true;
	}
	return false;
}

bool flow_apart(struct graph *g, uint32_t n, uint32_t target, uint32_t *rest)
{
	return apart(g, n, target, rest, 0);
}

/* ---- the whole ---- */

static void count_write(struct build *b, uint32_t block, const struct fop *o,
			const struct ptx_operand *d, uint32_t reg)
{
	if (d && d->kind != PTX_O_REG) {
		if (d->kind == PTX_O_VEC || d->kind == PTX_O_PAIR || d->kind == PTX_O_LIST)
			for (unsigned i = 0; i < d->n; i++)
				count_write(b, block, o, &d->elem[i], NONE);
		return;
	}
	if (d)
		reg = o->inst->base + d->reg;
	if (b->writer[reg] != NONE || (o->kind == FOP_INST && o->in->pred != PTX_NO_REG))
		b->writer[reg] = MANY;
	else
		b->writer[reg] = block;
	if (b->loops)
		b->loops[reg] |= b->g->cfg.in_loop[block];
}

static void count_writes(struct build *b, uint32_t block, const struct fop *o)
{
	const struct ptx_inst *in = o->in;

	if (o->kind != FOP_INST) {
		count_write(b, block, o, NULL, o->dst);
		return;
	}
	if (in->op == PTX_OP_ST) {
		const struct ptx_operand *a = &in->ops[0];
		unsigned size = ptx_type_size(ptx_inst_type(in));
		uint32_t all, piece;

		if (in->nops < 2 || !flow_param_space(in) || a->kind != PTX_O_ADDR || !a->n ||
		    a->elem[0].kind != PTX_O_VAR)
			return;
		for (unsigned i = 0; i < (in->ops[1].kind == PTX_O_VEC ? in->ops[1].n : 1u); i++) {
			piece = flow_piece(o->inst, a->elem[0].var, (uint64_t)a->imm + i * size,
					   size, &all);
			if (piece != NONE)
				count_write(b, block, o, NULL, piece);
		}
		return;
	}
	if (in->op == PTX_OP_CALL)
		return;
	for (unsigned i = 0; i < ptx_op_dsts((enum ptx_op)in->op) && i < in->nops; i++)
		count_write(b, block, o, &in->ops[i], NONE);
}

/* Does all that is made of a node need its low 32 bits alone? */
static bool low_half(const struct build *b, uint32_t node)
{
	const struct graph *g = b->g;

	for (uint32_t i = 0; i < g->nodes.n; i++) {
		const struct node *n = NODE(g, i);

		if (n->op < N_ADD || (n->a != node && n->b != node && n->c != node))
			continue;
		if (n->op == N_EXT ? n->imm <= 32 : n->w <= 32)
			continue;
		if (n->op == N_SHL && n->a == node && NODE(g, n->b)->op == N_CONST &&
		    NODE(g, n->b)->imm >= 32)
			continue;
		return false;
	}
	for (uint32_t i = 0; i < g->phis.n; i++) {
		const struct phi *p = &VEC(g->phis, struct phi)[i];

		for (uint32_t k = 0; k < p->n; k++)
			if (p->val[k] == node)
				return false;
	}
	for (uint32_t i = 0; i < b->fl->accs.n; i++)
		if (g->acc_node[i] == node || g->acc_size[i] == node)
			return false;
	return true;
}

/* Are two variables of a loop always the same? */
static bool twins(const struct build *b, const struct phi *p, uint32_t node)
{
	for (uint32_t i = 0; i < b->open.n; i++) {
		const struct phi *q = &VEC(b->g->phis, struct phi)[b->phi_of[i]];

		if (VEC(b->open, uint32_t)[i] == node)
			return q->block == p->block && q->n == p->n &&
			       !memcmp(q->val, p->val, p->n * sizeof(*p->val));
	}
	return false;
}

/* v is the low half of the k-th variable, extended, and something more (*step)? */
static bool wraps_at_32(const struct build *b, uint32_t v, uint32_t k, uint32_t *step)
{
	const struct graph *g = b->g;
	const struct node *n = NODE(g, v);
	uint32_t node = VEC(b->open, uint32_t)[k];

	if (n->op != N_ADD || n->w != 64)
		return false;
	for (unsigned i = 0; i < 2; i++) {
		const struct node *x = NODE(g, i ? n->b : n->a);

		*step = i ? n->a : n->b;
		if (x->op == N_EXT && x->imm == 32 &&
		    (x->a == node ||
		     twins(b, &VEC(g->phis, struct phi)[b->phi_of[k]], x->a)))
			return low_half(b, node);
	}
	return false;
}

/* Loop headers: what changes by the same amount every time. */
static void induction(struct build *b)
{
	struct graph *g = b->g;

	b->phi_of = flow_alloc(b->fl, (b->open.n + 1) * sizeof(*b->phi_of));
	for (uint32_t k = 0; k < b->open.n; k++)
		b->phi_of[k] = (uint32_t)NODE(g, VEC(b->open, uint32_t)[k])->imm;
	for (uint32_t k = 0; k < b->open.n; k++) {
		uint32_t node = VEC(b->open, uint32_t)[k], step = NONE, init = NONE, li = NONE;
		uint32_t pi = (uint32_t)NODE(g, node)->imm;
		const struct phi ph = VEC(g->phis, struct phi)[pi];
		const struct loop *l;
		uint64_t bit;
		bool ok = true, half = false;

		for (uint32_t i = 0; i < g->cfg.loops.n; i++)
			if (VEC(g->cfg.loops, struct loop)[i].header == ph.block)
				li = i;
		l = &VEC(g->cfg.loops, struct loop)[li];
		bit = UINT64_C(1) << li;
		ok = l->entry_pred != NONE;
		for (uint32_t i = 0; i < ph.n && ok; i++) {
			uint32_t s;

			if (g->cfg.order[g->cfg.pred[ph.block][i]] < g->cfg.order[ph.block]) {
				init = ph.val[i];
				continue;
			}
			if (wraps_at_32(b, ph.val[i], k, &s))
				half = true;
			else if (!flow_apart(g, ph.val[i], node, &s))
				s = NONE;
			if (s == NONE || (step != NONE && s != step))
				ok = false;
			step = s;
		}
		if (ok && init != NONE && step != NONE && !(NODE(g, step)->vary & bit)) {
			struct node *p = NODE(g, node);

			p->op = N_IV;
			p->w = NODE(g, ph.val[0])->w < 64 ? 32 : 64;
			for (uint32_t i = 0; i < ph.n; i++)
				if (NODE(g, ph.val[i])->op == N_ADD ||
				    NODE(g, ph.val[i])->op == N_SUB)
					p->w = NODE(g, ph.val[i])->w;
			if (half)
				p->w = 32;
			p->a = init;
			p->b = step;
			p->imm = li;
			continue;
		}
		/* Halved every time? */
		if (l->entry_pred != NONE && l->nlatch == 1 && init != NONE) {
			for (uint32_t i = 0; i < ph.n; i++) {
				const struct node *v = NODE(g, ph.val[i]);

				if (g->cfg.order[g->cfg.pred[ph.block][i]] <
				    g->cfg.order[ph.block])
					continue;
				if ((v->op == N_SHR || v->op == N_DIV) && v->a == node &&
				    NODE(g, v->b)->op == N_CONST && NODE(g, v->b)->imm > 0) {
					struct node *p = NODE(g, node);

					p->op = N_DECAY;
					p->w = v->w;
					p->sign = v->sign;
					p->a = init;
				}
			}
			if (NODE(g, node)->op == N_DECAY)
				continue;
		}
		NODE(g, node)->op = N_OPAQUE; /* not plain: what is made of it was not, either */
		NODE(g, node)->w = 64;
	}
}

bool flow_graph(struct flow *fl, struct graph *g)
{
	struct build b = { .g = g, .fl = fl };
	const struct fop *fops = VEC(fl->fops, struct fop);
	uint32_t na = fl->accs.n, nranged = na < FLOW_ACCS ? na : FLOW_ACCS, nconds, needed;
	struct cfg *c = &g->cfg;
	const bool *need;

	g->fl = fl;
	flow_cfg(fl, c);
	if (c->odd)
		return false;
	b.writer = flow_alloc(fl, (fl->nregs + 1) * sizeof(*b.writer));
	b.value = flow_alloc(fl, (fl->nregs + 1) * sizeof(*b.value));
	if (c->loops.n)
		b.loops = flow_alloc(fl, (fl->nregs + 1) * sizeof(*b.loops));
	memset(b.writer, 0xff, (fl->nregs + 1) * sizeof(*b.writer));
	memset(b.value, 0xff, (fl->nregs + 1) * sizeof(*b.value));
	g->cond = flow_alloc(fl, c->n * sizeof(*g->cond));
	g->ctx = flow_alloc(fl, c->n * sizeof(*g->ctx));
	memset(g->cond, 0xff, c->n * sizeof(*g->cond));
	g->acc_node = flow_alloc(fl, na * sizeof(*g->acc_node));
	g->acc_pred = flow_alloc(fl, na * sizeof(*g->acc_pred));
	memset(g->acc_node, 0xff, na * sizeof(*g->acc_node));
	memset(g->acc_pred, 0xff, na * sizeof(*g->acc_pred));
	g->acc_size = flow_alloc(fl, na * sizeof(*g->acc_size));
	memset(g->acc_size, 0xff, na * sizeof(*g->acc_size));
	(void)flow_push(fl, &g->ctxs, sizeof(struct ctx)); /* CTX_RAW */
	(void)flow_push(fl, &g->ctxs, sizeof(struct ctx)); /* CTX_ROOT */
	for (uint32_t r = 0; r < c->nrpo; r++) {
		const struct fblock *fb = &VEC(fl->blocks, struct fblock)[c->rpo[r]];

		for (uint32_t i = 0; i < fb->n; i++)
			count_writes(&b, c->rpo[r], &fops[fb->first + i]);
	}
	/* Behind the last access that has a range nothing is told of a branch. */
	nconds = nranged == na ? c->nrpo : 0;
	for (uint32_t i = 0; i < nranged && nranged < na; i++) {
		uint32_t at = c->order[fops[VEC(fl->accs, struct acc)[i].fop].block];

		if (at != NONE && at >= nconds)
			nconds = at + 1;
	}
	need = flow_slice(fl, c, b.writer, nranged, nconds, &needed);
	/* Room at once for what there will be, about. */
	g->nodes.cap = needed * 2 + c->nrpo - nconds + 64;
	g->nodes.p = flow_alloc(fl, g->nodes.cap * sizeof(struct node));
	for (g->nhash = 1024; g->nhash < needed * 2; g->nhash *= 2)
		;
	g->hash = flow_alloc(fl, g->nhash * sizeof(*g->hash));
	for (uint32_t r = 0; r < c->nrpo; r++) {
		const struct fblock *fb = &VEC(fl->blocks, struct fblock)[c->rpo[r]];
		uint32_t lo = 0, hi = na;

		b.block = c->rpo[r];
		if (fb->first != NONE) {
			while (lo < hi) {
				uint32_t m = (lo + hi) / 2;

				if (VEC(fl->accs, struct acc)[m].fop < fb->first)
					lo = m + 1;
				else
					hi = m;
			}
		}
		for (uint32_t i = 0; i < fb->n; i++) {
			const struct fop *o = &fops[fb->first + i];

			for (; lo < nranged && VEC(fl->accs, struct acc)[lo].fop == fb->first + i;
			     lo++) {
				const struct acc *a = &VEC(fl->accs, struct acc)[lo];

				g->acc_node[lo] = address(&b, o, a->addr);
				if (a->size)
					g->acc_size[lo] = source(&b, o, a->size, a->none_if ? 1 : 32);
				if (o->in->pred != PTX_NO_REG) {
					uint32_t p = get_reg(&b, o->inst->base + o->in->pred, 1);

					g->acc_pred[lo] =
						o->in->pred_not
							? mk(&b, N_PNOT, 1, false, p, NONE, 0)
							: p;
				}
			}
			if (need[fb->first + i])
				translate(&b, o);
		}
		if (fb->cond != NONE)
			g->cond[b.block] =
				r < nconds ? get_reg(&b, fb->cond, 1) : opaque(&b, 1, false);
	}
	/* The operands of header phis; looking for them may make more of them. */
	for (uint32_t k = 0; k < b.open.n; k++) {
		uint32_t pi = (uint32_t)NODE(g, VEC(b.open, uint32_t)[k])->imm;
		uint32_t block = VEC(g->phis, struct phi)[pi].block;

		for (uint32_t i = 0; i < c->npred[block]; i++) {
			uint32_t v;

			b.block = c->pred[block][i];
			v = find(&b, VEC(g->phis, struct phi)[pi].reg, b.block, 0);
			VEC(g->phis, struct phi)[pi].val[i] = v;
		}
	}
	induction(&b);
	/* What holds where. */
	for (uint32_t r = 0; r < c->nrpo; r++) {
		uint32_t blk = c->rpo[r], forward = NONE, n = 0;

		if (!r) {
			g->ctx[blk] = CTX_ROOT;
			continue;
		}
		for (uint32_t k = 0; k < c->npred[blk]; k++) {
			if (flow_dominates(c, blk, c->pred[blk][k]))
				continue;
			forward = c->pred[blk][k];
			n++;
		}
		g->ctx[blk] = n == 1 ? flow_edge_ctx(g, forward, blk) : g->ctx[c->idom[blk]];
	}
	for (uint32_t i = 0; i < c->loops.n; i++) {
		struct loop *l = &VEC(c->loops, struct loop)[i];

		if (l->entry_pred != NONE)
			l->entry_ctx = flow_edge_ctx(g, l->entry_pred, l->header);
	}
	return true;
}
