/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel and what it calls as one flat program; see flow_int.h.
 *
 * A call is resolved here: arguments become copies into the callee's registers
 * or pieces of parameter variables, results copies back.  Any PTX that parses
 * gives a program; limits bound its size.
 */
#include "flow_int.h"
#include <stdlib.h>
#include <string.h>

#define MAX_FOPS      200000u
#define MAX_INSTANCES 4000u
#define MAX_DEPTH     16u
#define MAX_REGS      1000000u
#define MAX_BLOCKS    200000u

void *flow_alloc(struct flow *fl, size_t size)
{
	void *p = ptx_arena_alloc(&fl->tmp, size ? size : 1);

	if (!p)
		longjmp(fl->out, KRT_FLOW_NO_MEMORY);
	return p;
}

void *flow_keep(struct flow *fl, size_t size)
{
	void *p = ptx_arena_alloc(&fl->k->keep, size ? size : 1);

	if (!p)
		longjmp(fl->out, KRT_FLOW_NO_MEMORY);
	return p;
}

void *flow_push(struct flow *fl, struct vec *v, size_t elem)
{
	if (v->n == v->cap) {
		uint32_t cap = v->cap ? v->cap * 2 : 8;
		size_t size = v->cap * elem;
		void *p;

		if (!v->n || !ptx_arena_grow(&fl->tmp, v->p, size, cap * elem - size)) {
			p = flow_alloc(fl, cap * elem);
			if (v->n)
				memcpy(p, v->p, v->n * elem);
			v->p = p;
		}
		v->cap = cap;
	}
	return (char *)v->p + elem * v->n++;
}

/* ---- .param variables of functions as registers ---- */

static uint32_t var_index(const struct ptx_func *f, const struct ptx_var *v)
{
	if (v->index < f->nparams && f->params[v->index] == v)
		return v->index;
	if (v->index < f->nrets && f->rets[v->index] == v)
		return f->nparams + v->index;
	if (v->index < f->nvars && f->vars[v->index] == v)
		return f->nparams + f->nrets + v->index;
	return NONE;
}

static void add_piece(struct flow *fl, const struct ptx_func *f, struct pieces *pc,
		      const struct ptx_var *v, uint64_t off, uint32_t size)
{
	uint32_t at = var_index(f, v), all = NONE;
	struct piece *p;
	bool mixed = false;

	if (at == NONE || v->space == PTX_SPACE_REG)
		return;
	for (uint32_t i = pc->head[at]; i != NONE; i = VEC(pc->list, struct piece)[i].next) {
		p = &VEC(pc->list, struct piece)[i];
		if (!p->size)
			all = i;
		else if (p->off == off && p->size == size)
			return;
		else if (off < p->off + p->size && p->off < off + size)
			mixed = true;
	}
	if (all == NONE) {
		all = pc->list.n;
		p = flow_push(fl, &pc->list, sizeof(*p));
		*p = (struct piece){ .var = v, .reg = pc->nregs++, .next = pc->head[at] };
		pc->head[at] = all;
	}
	if (mixed)
		VEC(pc->list, struct piece)[all].mixed = true;
	if (!size || VEC(pc->list, struct piece)[all].mixed)
		return;
	p = flow_push(fl, &pc->list, sizeof(*p));
	*p = (struct piece){
		.var = v, .off = off, .size = size, .reg = pc->nregs++, .next = pc->head[at]};
	pc->head[at] = pc->list.n - 1;
}

static void operand_pieces(struct flow *fl, const struct ptx_func *f, struct pieces *pc,
			   const struct ptx_inst *in, const struct ptx_operand *o)
{
	unsigned size = ptx_type_size(in->mn->ntypes ? in->mn->types[0] : PTX_NONE);

	if (o->kind == PTX_O_VAR) {
		add_piece(fl, f, pc, o->var, 0, 0);
	} else if (o->kind == PTX_O_ADDR && o->n == 1 && o->elem[0].kind == PTX_O_VAR) {
		for (unsigned i = 0; i < in->vec; i++)
			add_piece(fl, f, pc, o->elem[0].var, (uint64_t)o->imm + i * size, size);
	} else if (o->kind == PTX_O_ADDR || o->kind == PTX_O_LIST || o->kind == PTX_O_VEC) {
		for (unsigned i = 0; i < o->n; i++)
			operand_pieces(fl, f, pc, in, &o->elem[i]);
	}
}

static struct pieces *make_pieces(struct flow *fl, const struct ptx_func *f)
{
	struct pieces *pc = flow_alloc(fl, sizeof(*pc));
	uint32_t n = f->nparams + f->nrets + f->nvars;

	bool any = !f->entry;

	pc->nregs = f->nregs;
	pc->head = flow_alloc(fl, n * sizeof(*pc->head));
	memset(pc->head, 0xff, n * sizeof(*pc->head));
	if (!f->entry) {
		for (uint32_t i = 0; i < f->nparams; i++)
			add_piece(fl, f, pc, f->params[i], 0, 0);
		for (uint32_t i = 0; i < f->nrets; i++)
			add_piece(fl, f, pc, f->rets[i], 0, 0);
	}
	/* A kernel's own parameters need none. */
	for (uint32_t i = 0; i < f->nvars; i++)
		any |= f->vars[i]->space == PTX_SPACE_PARAM;
	for (uint32_t i = 0; i < f->ninsts && any; i++)
		for (unsigned k = 0; k < f->insts[i].nops; k++)
			operand_pieces(fl, f, pc, &f->insts[i], &f->insts[i].ops[k]);
	return pc;
}

uint32_t flow_piece(const struct instance *i, const struct ptx_var *v, uint64_t off, uint32_t size,
		    uint32_t *all)
{
	uint32_t at = v->func == i->f ? var_index(i->f, v) : NONE, found = NONE;
	bool mixed = false;

	*all = NONE;
	if (at == NONE)
		return NONE;
	for (uint32_t k = i->pc->head[at]; k != NONE; k = VEC(i->pc->list, struct piece)[k].next) {
		const struct piece *p = &VEC(i->pc->list, struct piece)[k];

		if (!p->size) {
			*all = i->base + p->reg;
			mixed = p->mixed;
		} else if (p->off == off && p->size == size) {
			found = i->base + p->reg;
		}
	}
	return mixed ? NONE : found;
}

/* ---- building ---- */

static uint32_t new_block(struct flow *fl)
{
	struct fblock *b;

	if (fl->blocks.n >= MAX_BLOCKS)
		longjmp(fl->out, KRT_FLOW_NO_MEMORY);
	b = flow_push(fl, &fl->blocks, sizeof(*b));
	b->cond = NONE;
	b->first = NONE;
	return fl->blocks.n - 1;
}

static void succs(struct flow *fl, uint32_t block, uint32_t a, uint32_t b)
{
	struct fblock *fb = &VEC(fl->blocks, struct fblock)[block];

	fb->nsucc = (a != NONE) + (b != NONE);
	fb->succ = flow_alloc(fl, 2 * sizeof(*fb->succ));
	fb->succ[0] = a != NONE ? a : b;
	fb->succ[1] = b;
}

static struct fop *add_fop(struct flow *fl, struct instance *inst, uint32_t block,
			   enum fop_kind kind)
{
	struct fblock *b;
	struct fop *o;

	if (fl->fops.n >= MAX_FOPS)
		longjmp(fl->out, KRT_FLOW_NO_MEMORY);
	o = flow_push(fl, &fl->fops, sizeof(*o));
	o->inst = inst;
	o->block = block;
	o->kind = (uint8_t)kind;
	o->dst = o->src = NONE;
	b = &VEC(fl->blocks, struct fblock)[block];
	if (b->first == NONE)
		b->first = fl->fops.n - 1;
	b->n++;
	return o;
}

static void copy(struct flow *fl, struct instance *inst, uint32_t block, enum fop_kind kind,
		 uint32_t dst, uint32_t src)
{
	struct fop *o;

	if (dst == NONE)
		return;
	o = add_fop(fl, inst, block, kind);
	o->dst = dst;
	o->src = src;
	if (src == NONE)
		o->kind = FOP_OPAQUE;
}

/* All of the variable v of instance `to` from the variable or register of `from`. */
static void bind(struct flow *fl, struct instance *to, const struct ptx_var *v,
		 struct instance *from, const struct ptx_operand *o, uint32_t block, bool opaque)
{
	enum fop_kind kind = opaque ? FOP_OPAQUE : FOP_COPY;
	uint32_t all, at = var_index(to->f, v);

	if (v->space == PTX_SPACE_REG) {
		copy(fl, to, block, kind, to->base + v->reg,
		     o->kind == PTX_O_REG ? from->base + o->reg : NONE);
		return;
	}
	if (at == NONE)
		return;
	for (uint32_t k = to->pc->head[at]; k != NONE; k = VEC(to->pc->list, struct piece)[k].next) {
		const struct piece p = VEC(to->pc->list, struct piece)[k];
		uint32_t src = NONE;

		if (o->kind == PTX_O_REG) {
			src = from->base + o->reg;
			copy(fl, to, block, p.size == v->size ? kind : FOP_OPAQUE, to->base + p.reg,
			     src);
		} else if (o->kind == PTX_O_VAR) {
			src = flow_piece(from, o->var, p.off, p.size, &all);
			copy(fl, to, block, p.size && src != NONE ? kind : FOP_OPAQUE,
			     to->base + p.reg, p.size && src != NONE ? src : all);
		} else {
			copy(fl, to, block, FOP_OPAQUE, to->base + p.reg, NONE);
		}
	}
}

static struct instance *new_instance(struct flow *fl, const struct ptx_func *f, struct instance *up)
{
	struct instance *i;

	if (fl->instances.n >= MAX_INSTANCES * 2)
		longjmp(fl->out, KRT_FLOW_NO_MEMORY);
	i = flow_alloc(fl, sizeof(*i));
	*(struct instance **)flow_push(fl, &fl->instances, sizeof(i)) = i;
	i->f = f;
	i->up = up;
	i->depth = up ? up->depth + 1 : 0;
	/* One table of pieces a function. */
	for (uint32_t k = 0; k + 1 < fl->instances.n && k < 4096; k++) {
		struct instance *o = VEC(fl->instances, struct instance *)[k];

		if (o->f == f)
			i->pc = o->pc;
	}
	if (!i->pc)
		i->pc = make_pieces(fl, f);
	i->base = fl->nregs;
	i->after = NONE;
	fl->nregs += i->pc->nregs;
	if (fl->nregs > MAX_REGS)
		longjmp(fl->out, KRT_FLOW_NO_MEMORY);
	return i;
}

static const struct ptx_func *definition(struct flow *fl, const struct ptx_func *f)
{
	struct ptx_error err;

	for (unsigned i = 0; f && f->alias && i < 8; i++)
		f = f->alias;
	if (!f || !f->body)
		return NULL;
	if (!f->parsed && ptx_func_parse(fl->m, ptx_module_func(fl->m, f->index), &err))
		return NULL;
	return f->parsed ? f : NULL;
}

/* Functions of the device runtime that touch no buffer of the program's. */
static bool harmless(const char *name)
{
	static const char *const names[] = {
		"vprintf", "malloc", "free", "__assertfail", "__nv_aligned_device_malloc",
		"cudaGraphSetConditional", "cudaCGGetIntrinsicHandle", "cudaCGSynchronize",
		"cudaCGSynchronizeGrid",
	};

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

static void emit(struct flow *fl, struct instance *inst);

/* Those that flow_roles() looks at. */
static bool has_role(const struct ptx_inst *in)
{
	return ptx_op_mem((enum ptx_op)in->op) != PTX_MEM_NONE || in->op == PTX_OP_MEMBAR ||
	       in->op == PTX_OP_FENCE || in->op == PTX_OP_GRIDDEPCONTROL;
}

static void add_inst(struct flow *fl, struct instance *inst, uint32_t block,
		     const struct ptx_inst *in)
{
	add_fop(fl, inst, block, FOP_INST)->in = in;
	if (has_role(in))
		*(uint32_t *)flow_push(fl, &fl->doing, sizeof(uint32_t)) = fl->fops.n - 1;
}

/* Results of a call whose callee is not seen: the pieces and registers become anything. */
static void forget_results(struct flow *fl, struct instance *inst, const struct ptx_inst *in,
			   uint32_t block)
{
	for (unsigned i = 0; i < in->ops[0].n; i++) {
		const struct ptx_operand *o = &in->ops[0].elem[i];

		if (o->kind == PTX_O_REG) {
			copy(fl, inst, block, FOP_OPAQUE, inst->base + o->reg, NONE);
		} else if (o->kind == PTX_O_VAR && o->var->func == inst->f) {
			uint32_t at = var_index(inst->f, o->var);

			if (at == NONE)
				continue;
			for (uint32_t k = inst->pc->head[at]; k != NONE;
			     k = VEC(inst->pc->list, struct piece)[k].next)
				copy(fl, inst, block, FOP_OPAQUE,
				     inst->base + VEC(inst->pc->list, struct piece)[k].reg, NONE);
		}
	}
}

static struct instance *detached(struct flow *fl, const struct ptx_func *f)
{
	struct instance *i;

	for (uint32_t k = 0; k < fl->detached.n; k++)
		if (VEC(fl->detached, struct instance *)[k]->f == f)
			return VEC(fl->detached, struct instance *)[k];
	i = new_instance(fl, f, NULL);
	i->detached = true;
	*(struct instance **)flow_push(fl, &fl->detached, sizeof(i)) = i;
	return i;
}

/* A call in block; returns the block where the caller goes on. */
static uint32_t emit_call(struct flow *fl, struct instance *inst, const struct ptx_inst *in,
			  uint32_t block)
{
	const struct ptx_func *f = in->ops[1].kind == PTX_O_FUNC ? in->ops[1].func : NULL;
	const struct ptx_func *def = definition(fl, f);
	struct instance *callee;
	uint32_t after;
	bool alone;

	if (!def || def->entry) {
		add_inst(fl, inst, block, in); /* flow_prov.c looks after what it may do */
		if (!f || !harmless(f->name))
			fl->flags |= KRT_FLOW_UNKNOWN_CALL;
		forget_results(fl, inst, in, block);
		return block;
	}
	alone = inst->detached || inst->depth >= MAX_DEPTH || fl->instances.n >= MAX_INSTANCES ||
		fl->fops.n + def->ninsts > MAX_FOPS / 2;
	for (struct instance *i = inst; i && !alone; i = i->up)
		alone = i->f == def;
	callee = alone ? detached(fl, def) : new_instance(fl, def, inst);
	for (unsigned i = 0; i < def->nparams && i < in->ops[2].n; i++)
		bind(fl, callee, def->params[i], inst, &in->ops[2].elem[i], block, alone);
	after = block;
	if (!alone) {
		after = new_block(fl);
		callee->after = after;
		emit(fl, callee);
		succs(fl, block, callee->entry, NONE);
	}
	for (unsigned i = 0; i < def->nrets && i < in->ops[0].n; i++) {
		const struct ptx_operand *o = &in->ops[0].elem[i];
		struct ptx_operand ret = { .kind = PTX_O_VAR };

		ret.var = def->rets[i];
		if (def->rets[i]->space == PTX_SPACE_REG) {
			ret.kind = PTX_O_REG;
			ret.reg = def->rets[i]->reg;
		}
		if (o->kind == PTX_O_VAR && o->var->func == inst->f) {
			bind(fl, inst, o->var, callee, &ret, after, alone);
		} else if (o->kind == PTX_O_REG) {
			uint32_t all = NONE, src = NONE;

			if (ret.kind == PTX_O_REG)
				src = callee->base + ret.reg;
			else
				src = flow_piece(callee, ret.var, 0, (uint32_t)ret.var->size, &all);
			copy(fl, inst, after, alone || src == NONE ? FOP_OPAQUE : FOP_COPY,
			     inst->base + o->reg, src == NONE ? all : src);
		}
	}
	return after;
}

static void set_cond(struct flow *fl, uint32_t block, const struct instance *inst,
		     const struct ptx_inst *in)
{
	struct fblock *b = &VEC(fl->blocks, struct fblock)[block];

	b->cond = inst->base + in->pred;
	b->cond_not = in->pred_not;
}

/* The body of one instance, from its entry block on. */
static void emit(struct flow *fl, struct instance *inst)
{
	const struct ptx_func *f = inst->f;
	uint32_t *at = flow_alloc(fl, (f->ninsts + 1) * sizeof(*at)), cur, next, target;
	bool *lead = flow_alloc(fl, f->ninsts + 1);

	lead[0] = true;
	for (uint32_t i = 0; i < f->nlabels; i++)
		if (f->labels[i].inst <= f->ninsts)
			lead[f->labels[i].inst] = true;
	for (uint32_t i = 0; i < f->ninsts; i++) {
		switch ((enum ptx_op)f->insts[i].op) {
		case PTX_OP_CALL:
			if (f->insts[i].pred == PTX_NO_REG)
				break;
			lead[i + 1] = true;
			break;
		case PTX_OP_BRA:
		case PTX_OP_BRX:
		case PTX_OP_RET:
		case PTX_OP_EXIT:
		case PTX_OP_TRAP:
			lead[i + 1] = true;
			break;
		default:
			break;
		}
	}
	lead[f->ninsts] = true;
	if (!fl->blocks.n) {
		for (uint32_t i = 0; i <= f->ninsts; i++)
			fl->blocks.cap += lead[i];
		fl->blocks.p = flow_alloc(fl, fl->blocks.cap * sizeof(struct fblock));
	}
	for (uint32_t i = 0; i <= f->ninsts; i++)
		if (lead[i])
			at[i] = new_block(fl);
	inst->entry = at[0];
	if (f->ninsts)
		cur = at[0];
	else
		cur = NONE;
	for (uint32_t i = 0; i < f->ninsts; i++) {
		const struct ptx_inst *in = &f->insts[i];
		bool guarded = in->pred != PTX_NO_REG;

		if (lead[i])
			cur = at[i];
		next = lead[i + 1] ? at[i + 1] : NONE;
		switch ((enum ptx_op)in->op) {
		case PTX_OP_BRA:
			target = in->ops[0].reg < f->nlabels ? f->labels[in->ops[0].reg].inst : 0;
			succs(fl, cur, at[target], guarded ? next : NONE);
			if (guarded)
				set_cond(fl, cur, inst, in);
			continue;
		case PTX_OP_BRX: {
			const struct ptx_table *t =
				in->ops[1].reg < f->ntables ? &f->tables[in->ops[1].reg] : NULL;
			struct fblock *b;
			uint32_t n = t && t->kind == PTX_TABLE_BRANCH ? t->n : 0;
			uint32_t *list = flow_alloc(fl, (n + 1) * sizeof(*list));

			for (uint32_t k = 0; k < n; k++)
				list[k] = at[f->labels[t->labels[k]].inst];
			if (guarded)
				list[n++] = next;
			b = &VEC(fl->blocks, struct fblock)[cur];
			b->nsucc = n;
			b->succ = list;
			continue;
		}
		case PTX_OP_RET:
			succs(fl, cur, inst->after, guarded ? next : NONE);
			if (guarded)
				set_cond(fl, cur, inst, in);
			continue;
		case PTX_OP_EXIT:
		case PTX_OP_TRAP:
			succs(fl, cur, guarded ? next : NONE, NONE);
			VEC(fl->blocks, struct fblock)[cur].trap = in->op == PTX_OP_TRAP;
			if (guarded)
				set_cond(fl, cur, inst, in);
			continue;
		case PTX_OP_CALL:
			if (guarded) {
				uint32_t call = new_block(fl);

				succs(fl, cur, call, next);
				set_cond(fl, cur, inst, in);
				call = emit_call(fl, inst, in, call);
				succs(fl, call, next, NONE);
				continue;
			}
			cur = emit_call(fl, inst, in, cur);
			break;
		default:
			add_inst(fl, inst, cur, in);
			break;
		}
		if (next != NONE)
			succs(fl, cur, next, NONE);
	}
	succs(fl, at[f->ninsts], inst->after, NONE);
}

/* ---- the whole ---- */

static enum krt_flow_error analyse(struct flow *fl)
{
	int rc = setjmp(fl->out);

	if (rc)
		return (enum krt_flow_error)rc;
	fl->fops.cap = fl->entry->ninsts + 16;
	fl->fops.p = flow_alloc(fl, fl->fops.cap * sizeof(struct fop));
	emit(fl, new_instance(fl, fl->entry, NULL));
	for (uint32_t k = 0; k < fl->detached.n; k++)
		emit(fl, VEC(fl->detached, struct instance *)[k]);
	flow_provenance(fl);
	flow_roles(fl);
	flow_ranges(fl);
	return KRT_FLOW_OK;
}

struct krt_kernel_flow *krt_flow_new(struct ptx_module *m, const char *kernel,
				     enum krt_flow_error *err)
{
	struct ptx_func *f = m && kernel ? ptx_find_func(m, kernel) : NULL;
	enum krt_flow_error dummy;
	struct ptx_error perr;
	struct krt_kernel_flow *k;
	struct flow *fl;

	err = err ? err : &dummy;
	*err = KRT_FLOW_NO_KERNEL;
	if (!f || !f->entry || !f->body)
		return NULL;
	*err = KRT_FLOW_BAD_PTX;
	if (ptx_address_size(m) != 64 || (!f->parsed && ptx_func_parse(m, f, &perr)))
		return NULL;
	*err = KRT_FLOW_NO_MEMORY;
	fl = calloc(1, sizeof(*fl));
	if (!fl)
		return NULL;
	fl->k = calloc(1, sizeof(*fl->k));
	if (!fl->k) {
		free(fl);
		return NULL;
	}
	fl->m = m;
	fl->entry = f;
	ptx_arena_init(&fl->tmp, KRT_FLOW_MEMORY);
	ptx_arena_init(&fl->k->keep, KRT_FLOW_MEMORY / 4);
	*err = analyse(fl);
	k = fl->k;
	if (*err) {
		krt_flow_free(k);
		k = NULL;
	}
	ptx_arena_free(&fl->tmp);
	free(fl);
	return k;
}

void krt_flow_free(struct krt_kernel_flow *f)
{
	if (!f)
		return;
	ptx_arena_free(&f->keep);
	free(f);
}

const struct krt_flow_info *krt_flow_info(const struct krt_kernel_flow *f)
{
	return &f->info;
}

size_t krt_flow_memory(const struct krt_kernel_flow *f)
{
	return sizeof(*f) + f->keep.total;
}
