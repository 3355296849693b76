/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From IR to decoded operations: operands, addresses, labels.  What the single
 * instructions mean is in exec_alu.c, exec_float.c, exec_mem.c and exec_flow.c;
 * op.def says which decoder an opcode has.
 */
#include "exec_impl.h"
#include <stdio.h>

#define MAX_SLOTS 65536u /* a thread's frame then takes half a megabyte */

static const decode_fn decoders[PTX_OP_COUNT] = {
#define decode_NONE NULL
#define PTX_OP(ID, TEXT, DST, MEM, EXEC) [PTX_OP_##ID] = decode_##EXEC,
#include "../../analyzer/ptx/op.def"
};

bool d_fail_name(struct decoder *d, const char *why, const char *name)
{
	if (!d->failed && d->errlen)
		snprintf(d->err, d->errlen, "%s, line %u: %s: %s%s", d->f->name,
			 d->in ? d->in->line : d->f->line, d->in ? d->in->mn->text : "", why, name);
	d->failed = true;
	return false;
}

bool d_fail(struct decoder *d, const char *why)
{
	return d_fail_name(d, why, "");
}

struct dop *d_emit(struct decoder *d, op_fn fn)
{
	static struct dop waste;
	struct dop *op;

	if (d->ncode == d->cap_code) {
		uint32_t cap = d->cap_code ? d->cap_code * 2 : 64;
		struct dop *code = realloc(d->code, cap * sizeof(*code));

		if (!code) {
			d_fail(d, "out of memory");
			return &waste;
		}
		d->code = code;
		d->cap_code = cap;
	}
	op = &d->code[d->ncode++];
	*op = (struct dop){ .fn = fn, .pred = -1, .in = d->in, .n = 1 };
	if (d->in && d->in->pred != PTX_NO_REG) {
		op->pred = (int32_t)d->e->slot_of[d->in->pred];
		op->pred_not = d->in->pred_not;
	}
	return op;
}

void *d_own(struct decoder *d, size_t size)
{
	struct efunc *e = d->e;
	void *p = calloc(1, size ? size : 1);

	if (p && !(e->nowned & (e->nowned - 1))) {
		void **owned = realloc(e->owned, (e->nowned ? e->nowned * 2 : 1) * sizeof(*owned));

		if (!owned) {
			free(p);
			p = NULL;
		} else {
			e->owned = owned;
		}
	}
	if (!p) {
		d_fail(d, "out of memory");
		return NULL;
	}
	e->owned[e->nowned++] = p;
	return p;
}

int32_t d_const(struct decoder *d, uint64_t bits)
{
	/* Near repeats are common (4, 8, 1); looking far would be quadratic. */
	uint32_t from = d->nconsts > 32 ? d->nconsts - 32 : 0;

	for (uint32_t i = from; i < d->nconsts; i++)
		if (d->consts[i] == bits)
			return ~(int32_t)i;
	if (d->nconsts == d->cap_consts) {
		uint32_t cap = d->cap_consts ? d->cap_consts * 2 : 32;
		uint64_t *consts = realloc(d->consts, cap * sizeof(*consts));

		if (!consts) {
			d_fail(d, "out of memory");
			return -1;
		}
		d->consts = consts;
		d->cap_consts = cap;
	}
	d->consts[d->nconsts++] = bits;
	return ~(int32_t)(d->nconsts - 1);
}

int32_t d_scratch(struct decoder *d)
{
	uint32_t s = d->scratch++;

	if (d->scratch > d->scratch_end)
		d->scratch_end = d->scratch;
	return (int32_t)s;
}

bool d_need(struct decoder *d, const struct ptx_inst *in, unsigned min, unsigned max)
{
	if (in->nops < min || in->nops > max)
		return d_fail(d, "wrong number of operands");
	return true;
}

static enum step op_sreg(struct thread *t, const struct dop *d)
{
	t->regs[d->dst] = exec_sreg(t, d->index, d->sub);
	return STEP_NEXT;
}

static enum step op_frame_addr(struct thread *t, const struct dop *d)
{
	t->regs[d->dst] = exec_address(t, d);
	return STEP_NEXT;
}

uint32_t d_shared(struct decoder *d, const struct ptx_var *v)
{
	struct exec_module *em = d->em;
	struct efunc *e = d->e;
	uint32_t i;

	for (i = 0; i < em->nshared; i++)
		if (em->shared[i] == v)
			break;
	if (i == em->nshared) {
		if (em->nshared == em->cap_shared) {
			uint32_t cap = em->cap_shared ? em->cap_shared * 2 : 16;
			const struct ptx_var **s = realloc(em->shared, cap * sizeof(*s));

			if (!s) {
				d_fail(d, "out of memory");
				return 0;
			}
			em->shared = s;
			em->cap_shared = cap;
		}
		em->shared[em->nshared++] = v;
	}
	for (uint32_t k = 0; k < e->nshared_used; k++)
		if (e->shared_used[k] == i)
			return i;
	uint32_t *used = realloc(e->shared_used, (e->nshared_used + 1) * sizeof(*used));

	if (!used) {
		d_fail(d, "out of memory");
		return 0;
	}
	e->shared_used = used;
	used[e->nshared_used++] = i;
	return i;
}

static bool frame_offset(struct decoder *d, const struct ptx_var *v, uint32_t *off)
{
	const struct efunc *e = d->e;

	if (v->func != d->f)
		return false;
	for (uint32_t i = 0; i < d->f->nparams; i++) {
		if (d->f->params[i] == v) {
			*off = e->param_off[i];
			return true;
		}
	}
	for (uint32_t i = 0; i < d->f->nrets; i++) {
		if (d->f->rets[i] == v) {
			*off = e->ret_off[i];
			return true;
		}
	}
	if (v->index < d->f->nvars && d->f->vars[v->index] == v) {
		*off = e->var_off[v->index];
		return true;
	}
	return false;
}

/* The address of variable v, plus off, into op's base, a, imm, index. */
static bool var_base(struct decoder *d, const struct ptx_var *v, int64_t off, struct dop *op)
{
	const char *name = v->name;
	uint32_t fo;

	v = exec_find_var(d->em, v);
	if (!v)
		return d_fail_name(d, "no module defines the variable ", name);
	switch ((enum ptx_space)v->space) {
	case PTX_SPACE_GLOBAL:
	case PTX_SPACE_CONST:
		op->base = BASE_VALUE;
		op->a = d_const(d, exec_var_addr(d->em, v));
		op->imm = off;
		return true;
	case PTX_SPACE_SHARED:
		op->base = BASE_SHARED;
		op->index = d_shared(d, v);
		op->imm = off;
		return true;
	case PTX_SPACE_PARAM:
		if (d->f->entry && v->func == d->f && v->index < d->f->nparams &&
		    d->f->params[v->index] == v) {
			op->base = BASE_PARAM;
			op->imm = (int64_t)v->offset + off;
			return true;
		}
		/* fall through */
	case PTX_SPACE_LOCAL:
		if (!frame_offset(d, v, &fo))
			return d_fail(d,
				      "variables of this kind are not supported at module scope");
		op->base = BASE_FRAME;
		op->imm = (int64_t)fo + off;
		return true;
	default:
		break;
	}
	return d_fail(d, "variables of this state space are not supported");
}

bool d_addr(struct decoder *d, const struct ptx_operand *o, enum ptx_space space, struct dop *op)
{
	const struct ptx_operand *b;

	if (o->kind != PTX_O_ADDR || o->n != 1 || o->flags & PTX_OF_SCALED)
		return d_fail(d, "address form is not supported");
	b = &o->elem[0];
	op->space = (uint8_t)ptx_space_base(space);
	op->imm = o->imm;
	switch ((enum ptx_operand_kind)b->kind) {
	case PTX_O_REG:
		op->base = BASE_VALUE;
		op->a = d_reg(d, b);
		if (ptx_type_bits(d->f->reg_types[b->reg]) == 32)
			op->flags |= 0x80; /* a 32-bit register: what is above its width does not
					      count */
		return !d->failed;
	case PTX_O_INT:
		op->base = BASE_VALUE;
		op->a = d_const(d, (uint64_t)b->imm);
		return !d->failed;
	case PTX_O_VAR:
		return var_base(d, b->var, o->imm + b->imm, op);
	default:
		break;
	}
	return d_fail(d, "address form is not supported");
}

int32_t d_reg(struct decoder *d, const struct ptx_operand *o)
{
	if (o->kind != PTX_O_REG || o->sel || o->flags) {
		d_fail(d, "operand form is not supported");
		return 0;
	}
	return (int32_t)d->e->slot_of[o->reg];
}

int32_t d_reg128(struct decoder *d, const struct ptx_operand *o)
{
	int32_t slot = d_reg(d, o);

	if (!d->failed && d->f->reg_types[o->reg] != PTX_B128)
		d_fail(d, "expected a 128-bit register");
	return slot;
}

int32_t d_dst(struct decoder *d, const struct ptx_inst *in, unsigned i)
{
	if (i >= in->nops) {
		d_fail(d, "wrong number of operands");
		return 0;
	}
	if (in->ops[i].kind == PTX_O_SINK)
		return d_scratch(d);
	return d_reg(d, &in->ops[i]);
}

static uint64_t immediate_bits(const struct ptx_operand *o, enum ptx_type type)
{
	double v;

	switch ((enum ptx_operand_kind)o->kind) {
	case PTX_O_F32:
		if (type == PTX_F64)
			return double_bits((double)bits_float((uint64_t)o->imm));
		if (type == PTX_F16)
			return exec_float_half((double)bits_float((uint64_t)o->imm));
		if (type == PTX_BF16)
			return exec_float_bf16(bits_float((uint64_t)o->imm));
		return (uint64_t)o->imm & UINT32_MAX;
	case PTX_O_F64:
		v = bits_double((uint64_t)o->imm);
		if (type == PTX_F32 || type == PTX_TF32)
			return float_bits((float)v);
		if (type == PTX_F16)
			return exec_float_half(v);
		if (type == PTX_BF16)
			return exec_float_bf16((float)v);
		return (uint64_t)o->imm;
	default:
		break;
	}
	/* An integer: to a float type its value, else its bits. */
	v = o->flags & PTX_OF_UNSIGNED ? (double)(uint64_t)o->imm : (double)o->imm;
	if (type == PTX_F32)
		return float_bits((float)v);
	if (type == PTX_F64)
		return double_bits(v);
	return (uint64_t)o->imm;
}

int32_t d_value(struct decoder *d, const struct ptx_operand *o, enum ptx_type type)
{
	struct dop *op;
	int32_t s;

	switch ((enum ptx_operand_kind)o->kind) {
	case PTX_O_REG:
		return d_reg(d, o);
	case PTX_O_INT:
	case PTX_O_F32:
	case PTX_O_F64:
		return d_const(d, immediate_bits(o, type));
	case PTX_O_SREG:
		if (o->reg == PTX_SREG_OTHER) {
			d_fail(d, "special register is not supported");
			return 0;
		}
		if (o->reg >= PTX_SREG_ENVREG0 && o->reg <= PTX_SREG_ENVREG31 &&
		    o->reg != PTX_SREG_ENVREG1 && o->reg != PTX_SREG_ENVREG2) {
			d_fail(d, "special register is not supported");
			return 0;
		}
		s = d_scratch(d);
		op = d_emit(d, op_sreg);
		op->pred = -1;
		op->dst = s;
		op->index = o->reg;
		op->sub = o->sel;
		return s;
	case PTX_O_VAR: {
		struct dop where = { .pred = -1 };

		if (!var_base(d, o->var, o->imm, &where))
			return 0;
		if (where.base == BASE_VALUE)
			return d_const(d, d->consts[~where.a] + (uint64_t)where.imm);
		s = d_scratch(d);
		op = d_emit(d, op_frame_addr);
		op->pred = -1;
		op->dst = s;
		op->base = where.base;
		op->imm = where.imm;
		op->index = where.index;
		return s;
	}
	case PTX_O_FUNC: {
		struct efunc *e = exec_find_efunc(d->em, o->func);

		if (!e) {
			if (d->em->check_only)
				return d_const(d, 0);
			d_fail_name(d, "no module defines the function ", o->func->name);
			return 0;
		}
		/* Reached from here, as far as shared memory and stacks go. */
		uint32_t *calls = realloc(d->e->calls, (d->e->ncalls + 1) * sizeof(*calls));

		if (!calls) {
			d_fail(d, "out of memory");
			return 0;
		}
		d->e->calls = calls;
		calls[d->e->ncalls++] = e->index;
		return d_const(d, (uint64_t)(uintptr_t)e);
	}
	default:
		break;
	}
	d_fail(d, "operand form is not supported");
	return 0;
}

int32_t d_src(struct decoder *d, const struct ptx_inst *in, unsigned i, enum ptx_type type)
{
	if (i >= in->nops) {
		d_fail(d, "wrong number of operands");
		return 0;
	}
	return d_value(d, &in->ops[i], type);
}

int32_t d_pred(struct decoder *d, const struct ptx_operand *o, bool *negate)
{
	*negate = o->flags & PTX_OF_NOT;
	if (o->kind == PTX_O_INT)
		return d_const(d, o->imm != 0);
	if (o->kind == PTX_O_REG && !o->sel && !(o->flags & ~PTX_OF_NOT) &&
	    d->f->reg_types[o->reg] == PTX_PRED)
		return (int32_t)d->e->slot_of[o->reg];
	d_fail(d, "expected a predicate");
	return 0;
}

static bool layout_frame(struct decoder *d)
{
	const struct ptx_func *f = d->f;
	struct efunc *e = d->e;
	uint64_t at = 0;
	uint32_t align = 16;

	e->param_off = d_own(d, f->nparams * sizeof(uint32_t));
	e->ret_off = d_own(d, f->nrets * sizeof(uint32_t));
	e->var_off = d_own(d, f->nvars * sizeof(uint32_t));
	if (d->failed)
		return false;
	for (unsigned k = 0; k < 3; k++) {
		struct ptx_var *const *list = k == 0 ? f->params : k == 1 ? f->rets : f->vars;
		uint32_t *off = k == 0 ? e->param_off : k == 1 ? e->ret_off : e->var_off;
		uint32_t n = k == 0 ? f->nparams : k == 1 ? f->nrets : f->nvars;

		if (!k && f->entry)
			continue; /* in the launch's parameter block */
		for (uint32_t i = 0; i < n; i++) {
			const struct ptx_var *v = list[i];

			if (v->space == PTX_SPACE_REG && v->size > 8)
				return d_fail(d, "register parameters of more than 64 bits are not "
						 "supported");
			if (v->space != PTX_SPACE_PARAM && v->space != PTX_SPACE_LOCAL)
				continue;
			if (v->align > align)
				align = v->align;
			at = (at + v->align - 1) & ~(uint64_t)(v->align - 1);
			off[i] = (uint32_t)at;
			at += v->size;
			if (at > (1u << 20))
				return d_fail(d, "more than 1 MiB of local memory");
		}
	}
	e->frame_size = (uint32_t)((at + 15) & ~UINT64_C(15));
	e->frame_align = align;
	e->needs_stack = at > 0;
	return true;
}

static enum step op_end(struct thread *t, const struct dop *d)
{
	(void)d;
	/* Falling off the end is a return, as ptxas has it. */
	return exec_ret(t);
}

bool exec_decode(struct exec_module *em, struct efunc *e, char *err, size_t errlen)
{
	const struct ptx_func *f = e->p;
	struct decoder d = { .em = em, .e = e, .f = f, .err = err, .errlen = errlen };
	uint32_t *start = NULL, slot = 0;

	e->slot_of = d_own(&d, f->nregs * sizeof(uint32_t));
	start = calloc((size_t)f->ninsts + 1, sizeof(*start));
	if (!start)
		d_fail(&d, "out of memory");
	if (d.failed || !layout_frame(&d))
		goto out;
	for (uint32_t i = 0; i < f->nregs; i++) {
		e->slot_of[i] = slot;
		slot += f->reg_types[i] == PTX_B128 ? 2 : 1;
	}
	if (slot > MAX_SLOTS) {
		d_fail(&d, "more registers than the interpreter has room for");
		goto out;
	}
	d.nslots = d.scratch_end = slot;
	for (uint32_t i = 0; i < f->ninsts && !d.failed; i++) {
		const struct ptx_inst *in = &f->insts[i];

		d.in = in;
		d.scratch = d.nslots;
		start[i] = d.ncode;
		if (in->op == PTX_OP_UNKNOWN)
			d_fail(&d, "instruction is not known");
		else if (!decoders[in->op])
			d_fail(&d, "instruction is not supported");
		else if (in->odd)
			d_fail(&d, "has a modifier that is not known");
		else if (!decoders[in->op](&d, in))
			d_fail(&d, "this form is not supported");
	}
	start[f->ninsts] = d.ncode;
	d.in = f->ninsts ? &f->insts[f->ninsts - 1] : NULL;
	d_emit(&d, op_end)->pred = -1;
	/* Labels become positions in the decoded code. */
	for (uint32_t i = 0; i < d.ncode && !d.failed; i++) {
		struct dop *op = &d.code[i];

		if (op->sub == 0xff && op->in && op->in->op == PTX_OP_BRA)
			op->index = start[f->labels[op->index].inst];
		if (op->aux && op->in && op->in->op == PTX_OP_BRX && op->sub == 0xff) {
			uint32_t *to = (uint32_t *)op->aux;

			for (uint32_t k = 0; k < op->index; k++)
				to[k] = start[f->labels[to[k]].inst];
		}
	}
	e->code = d.code;
	e->ncode = d.ncode;
	e->consts = d.consts;
	e->nconsts = d.nconsts;
	e->nslots = d.scratch_end;
	d.code = NULL;
	d.consts = NULL;
out:
	free(start);
	free(d.code);
	free(d.consts);
	return !d.failed;
}
