/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of a flat program the ranges need: the instructions that an address, a guard
 * or a branch is made of, backwards over registers and whatever the order of
 * instructions.  Most of a large kernel computes data; no values are made of that.
 *
 * May take too many instructions, never too few.
 */
#include "flow_ssa.h"
#include <string.h>

struct slice {
	struct flow *fl;
	const struct cfg *cfg;
	const uint32_t *writer;
	bool *reg, *fop; /* needed */
	uint32_t n;
	bool again; /* a register with several writes was found: they may lie behind */
};

static void need(struct slice *s, uint32_t reg)
{
	if (reg == NONE || s->reg[reg])
		return;
	s->reg[reg] = true;
	s->again |= s->writer[reg] == MANY;
}

/* All registers of an operand. */
static void need_operand(struct slice *s, const struct instance *inst, const struct ptx_operand *o)
{
	switch ((enum ptx_operand_kind)o->kind) {
	case PTX_O_REG:
		need(s, inst->base + o->reg);
		break;
	case PTX_O_ADDR:
	case PTX_O_VEC:
	case PTX_O_PAIR:
	case PTX_O_LIST:
		for (unsigned i = 0; i < o->n; i++)
			need_operand(s, inst, &o->elem[i]);
		break;
	default:
		break;
	}
}

static bool writes_needed(const struct slice *s, const struct instance *inst,
			  const struct ptx_operand *o)
{
	bool any = false;

	if (o->kind == PTX_O_REG)
		return s->reg[inst->base + o->reg];
	if (o->kind == PTX_O_VEC || o->kind == PTX_O_PAIR || o->kind == PTX_O_LIST)
		for (unsigned i = 0; i < o->n && !any; i++)
			any = writes_needed(s, inst, &o->elem[i]);
	return any;
}

/* ld and st of parameters of calls: the nth piece; NONE. */
static uint32_t param_piece(const struct fop *o, unsigned addr, unsigned n)
{
	const struct ptx_operand *a = &o->in->ops[addr];
	unsigned size =
		ptx_type_size(o->in->mn->ntypes ? (enum ptx_type)o->in->mn->types[0] : PTX_NONE);
	uint32_t all;

	if (a->kind != PTX_O_ADDR || !a->n || a->elem[0].kind != PTX_O_VAR)
		return NONE;
	return flow_piece(o->inst, a->elem[0].var, (uint64_t)a->imm + n * size, size, &all);
}

static bool is_needed(const struct slice *s, const struct fop *o)
{
	const struct ptx_inst *in = o->in;
	bool any = false;

	if (o->kind != FOP_INST)
		return s->reg[o->dst];
	if (in->op == PTX_OP_ST && in->nops > 1 && flow_param_space(in)) {
		unsigned n = in->ops[1].kind == PTX_O_VEC ? in->ops[1].n : 1;

		for (unsigned i = 0; i < n && !any; i++) {
			uint32_t piece = param_piece(o, 0, i);

			any = piece != NONE && s->reg[piece];
		}
		return any;
	}
	for (unsigned i = 0; i < ptx_op_dsts((enum ptx_op)in->op) && i < in->nops && !any; i++)
		any = writes_needed(s, o->inst, &in->ops[i]);
	return any;
}

static void need_sources(struct slice *s, const struct fop *o)
{
	const struct ptx_inst *in = o->in;

	if (o->kind != FOP_INST) {
		need(s, o->src);
		return;
	}
	if (in->pred != PTX_NO_REG)
		need(s, o->inst->base + in->pred);
	if (in->op == PTX_OP_LD && in->nops > 1 && flow_param_space(in)) {
		unsigned n = in->ops[0].kind == PTX_O_VEC ? in->ops[0].n : 1;

		for (unsigned i = 0; i < n; i++)
			need(s, param_piece(o, 1, i));
	}
	for (unsigned i = 0; i < in->nops; i++)
		need_operand(s, o->inst, &in->ops[i]);
}

static void sweep(struct slice *s)
{
	const struct fop *fops = VEC(s->fl->fops, struct fop);

	s->again = false;
	for (uint32_t r = s->cfg->nrpo; r-- > 0;) {
		const struct fblock *fb = &VEC(s->fl->blocks, struct fblock)[s->cfg->rpo[r]];

		for (uint32_t i = fb->n; i-- > 0;) {
			uint32_t at = fb->first + i;

			if (s->fop[at] || !is_needed(s, &fops[at]))
				continue;
			s->fop[at] = true;
			s->n++;
			need_sources(s, &fops[at]);
		}
	}
}

const bool *flow_slice(struct flow *fl, const struct cfg *c, const uint32_t *writer, uint32_t naccs,
		       uint32_t nblocks, uint32_t *count)
{
	struct slice s = {.fl = fl, .cfg = c, .writer = writer};

	s.reg = flow_alloc(fl, fl->nregs + 1);
	s.fop = flow_alloc(fl, fl->fops.n + 1);
	for (uint32_t i = 0; i < naccs; i++) {
		const struct acc *a = &VEC(fl->accs, struct acc)[i];
		const struct fop *o = &VEC(fl->fops, struct fop)[a->fop];

		need_operand(&s, o->inst, a->addr);
		if (a->size)
			need_operand(&s, o->inst, a->size);
		if (o->in->pred != PTX_NO_REG)
			need(&s, o->inst->base + o->in->pred);
	}
	for (uint32_t r = 0; r < nblocks; r++)
		need(&s, VEC(fl->blocks, struct fblock)[c->rpo[r]].cond);
	do
		sweep(&s);
	while (s.again);
	*count = s.n;
	return s.fop;
}
