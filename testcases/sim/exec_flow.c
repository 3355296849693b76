/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Control flow, barriers, warp-wide operations.
 *
 * A warp-wide operation is done by the last of its members to arrive, for all
 * of them, each with its own operands; members that have ended do not count.
 */
#include "exec_impl.h"

static enum step nop(struct thread *t, const struct dop *d)
{
	(void)t;
	(void)d;
	return STEP_NEXT;
}

static enum step fence(struct thread *t, const struct dop *d)
{
	(void)t;
	(void)d;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return STEP_NEXT;
}

bool decode_NOP(struct decoder *d, const struct ptx_inst *in)
{
	d_emit(d, in->op == PTX_OP_FENCE || in->op == PTX_OP_MEMBAR ? fence : nop);
	return !d->failed;
}

static enum step yield(struct thread *t, const struct dop *d)
{
	(void)t;
	(void)d;
	return STEP_YIELD;
}

bool decode_YIELD(struct decoder *d, const struct ptx_inst *in)
{
	(void)in;
	d_emit(d, yield);
	return !d->failed;
}

/* ---- branches ---- */

static enum step bra(struct thread *t, const struct dop *d)
{
	t->pc = d->index;
	return STEP_NEXT;
}

bool decode_BRA(struct decoder *d, const struct ptx_inst *in)
{
	struct dop *op = d_emit(d, bra);

	op->index = in->ops[0].reg;
	op->sub = 0xff; /* a label until the whole function is decoded */
	return !d->failed;
}

static enum step brx(struct thread *t, const struct dop *d)
{
	const uint32_t *to = d->aux;
	uint32_t i = (uint32_t)val(t, d->a);

	if (i >= d->index)
		return exec_raise(t, d, EXEC_FAULT_PC, i, 0, 0);
	t->pc = to[i];
	return STEP_NEXT;
}

bool decode_BRX(struct decoder *d, const struct ptx_inst *in)
{
	const struct ptx_table *table = &d->f->tables[in->ops[1].reg];
	uint32_t *to;
	struct dop *op;
	int32_t a;

	if (table->kind != PTX_TABLE_BRANCH)
		return false;
	to = d_own(d, table->n * sizeof(*to));
	if (!to)
		return false;
	memcpy(to, table->labels, table->n * sizeof(*to));
	a = d_src(d, in, 0, PTX_U32);
	op = d_emit(d, brx);
	op->a = a;
	op->aux = to;
	op->index = table->n;
	op->sub = 0xff;
	return !d->failed;
}

/* ---- calls ---- */

static enum step call(struct thread *t, const struct dop *d)
{
	const struct call *c = d->aux;
	const struct efunc *callee = c->callee;
	uint64_t *regs = t->regs;
	uint8_t *base = t->base;
	const uint64_t *consts = t->consts;
	struct frame *fr;

	if (c->builtin)
		return exec_builtin(t, d, c);
	if (!callee) {
		const struct exec_module *em = t->block->launch->em;
		uint64_t off = val(t, d->a) - (uint64_t)(uintptr_t)em->funcs;

		/* Only what mov gave out as a function's address can be called. */
		if (off >= em->nfuncs * sizeof(*em->funcs) || off % sizeof(*em->funcs))
			return exec_raise(t, d, EXEC_FAULT_PC, val(t, d->a), 0, 0);
		callee = &em->funcs[off / sizeof(*em->funcs)];
		if (callee->p->entry || callee->p->nparams != c->nargs ||
		    callee->p->nrets < c->nrets)
			return exec_raise(t, d, EXEC_FAULT_PC, val(t, d->a), 0, 0);
		for (uint32_t i = 0; i < c->nargs; i++)
			if (callee->p->params[i]->size > c->args[i].size)
				return exec_raise(t, d, EXEC_FAULT_PC, val(t, d->a), 0, 0);
		for (uint32_t i = 0; i < c->nrets; i++)
			if (callee->p->rets[i]->size < c->rets[i].size)
				return exec_raise(t, d, EXEC_FAULT_PC, val(t, d->a), 0, 0);
	}
	fr = exec_push(t, callee);
	if (!fr) {
		/* exec_push() does not know the place. */
		t->block->launch->fault.line = d->in->line;
		t->block->launch->fault.inst = d->in->mn->text;
		return STEP_FAULT;
	}
	fr->call = c;
	for (uint32_t i = 0; i < c->nargs; i++) {
		const struct call_arg *a = &c->args[i];
		const struct ptx_var *v = callee->p->params[i];
		void *to = v->space == PTX_SPACE_REG ? (void *)&fr->regs[callee->slot_of[v->reg]] :
						       (void *)(fr->base + callee->param_off[i]);

		if (!v->size)
			continue;
		if (a->reg) {
			uint64_t x = a->slot >= 0 ? regs[a->slot] : consts[~a->slot];

			memcpy(to, &x, v->size < 8 ? v->size : 8);
		} else {
			memcpy(to, base + a->offset, v->size);
		}
	}
	return STEP_NEXT;
}

static bool call_list(struct decoder *d, const struct ptx_operand *list, struct ptx_var *const *sig,
		      uint32_t nsig, bool rets, struct call_arg **out, uint32_t *n)
{
	struct call_arg *args;

	*n = list->kind == PTX_O_LIST ? list->n : 0;
	if (*n != nsig && !(rets && *n < nsig))
		return d_fail(d, "number of arguments or results differs from the declaration");
	args = d_own(d, *n * sizeof(*args));
	if (!args)
		return false;
	*out = args;
	for (uint32_t i = 0; i < *n; i++) {
		const struct ptx_operand *o = &list->elem[i];
		struct dop where = { .pred = -1 };

		args[i].size = sig[i]->size;
		if (o->kind == PTX_O_VAR && !o->imm && o->var->space == PTX_SPACE_PARAM &&
		    o->var->func == d->f) {
			const struct ptx_operand base = { .kind = PTX_O_VAR, .var = o->var };
			const struct ptx_operand addr = {.kind = PTX_O_ADDR, .n = 1, .elem = &base};

			if (!d_addr(d, &addr, PTX_SPACE_PARAM, &where))
				return false;
			if (where.base != BASE_FRAME)
				return d_fail(d,
					      "a kernel's parameter cannot be passed on as it is");
			if (o->var->size < sig[i]->size)
				return d_fail(d, "argument is smaller than the parameter");
			args[i].offset = (uint32_t)where.imm;
		} else if (o->kind == PTX_O_SINK && rets) {
			args[i].reg = true;
			args[i].slot = d_scratch(d);
		} else {
			args[i].reg = true;
			if (sig[i]->size > 8)
				return d_fail(d, "argument form is not supported");
			args[i].slot = rets ? d_reg(d, o) : d_value(d, o, sig[i]->type);
		}
	}
	return !d->failed;
}

static enum builtin builtin_of(const char *name)
{
	static const struct {
		const char *name;
		enum builtin b;
	} map[] = {
		{"vprintf", BUILTIN_VPRINTF},
		{"malloc", BUILTIN_MALLOC},
		{"free", BUILTIN_FREE},
		{"__assertfail", BUILTIN_ASSERTFAIL},
		{"cudaGraphSetConditional", BUILTIN_SET_CONDITIONAL},
	};

	for (size_t i = 0; i < sizeof(map) / sizeof(map[0]); i++)
		if (!strcmp(name, map[i].name))
			return map[i].b;
	return BUILTIN_NONE;
}

bool decode_CALL(struct decoder *d, const struct ptx_inst *in)
{
	const struct ptx_operand *callee = &in->ops[1], *proto = &in->ops[3];
	struct call *c = d_own(d, sizeof(*c));
	struct ptx_var *const *params, *const *rets;
	uint32_t nparams, nrets;
	int32_t a = 0;
	struct dop *op;

	if (!c)
		return false;
	if (callee->kind == PTX_O_FUNC) {
		const struct ptx_func *f = callee->func;
		struct efunc *e = exec_find_efunc(d->em, f);

		if (!e) {
			c->builtin = builtin_of(f->name);
			if (!c->builtin && !d->em->check_only)
				return d_fail_name(d, "no module defines the function ", f->name);
		} else {
			uint32_t *calls = realloc(d->e->calls, (d->e->ncalls + 1) * sizeof(*calls));

			if (!calls)
				return d_fail(d, "out of memory");
			d->e->calls = calls;
			calls[d->e->ncalls++] = e->index;
			if (e->p->entry)
				return d_fail(d, "calls a kernel");
			if (e->p->nparams != f->nparams || e->p->nrets != f->nrets)
				return d_fail(
					d, "callee is defined with other parameters than declared");
			for (uint32_t i = 0; i < f->nparams; i++)
				if (e->p->params[i]->size > f->params[i]->size)
					return d_fail(d, "callee is defined with larger parameters "
							 "than declared");
			for (uint32_t i = 0; i < f->nrets; i++)
				if (e->p->rets[i]->size < f->rets[i]->size)
					return d_fail(d, "callee is defined with a smaller result "
							 "than declared");
			c->callee = e;
		}
		params = f->params;
		nparams = f->nparams;
		rets = f->rets;
		nrets = f->nrets;
	} else {
		a = d_reg(d, callee);
		d->e->indirect = true;
		if (proto->kind == PTX_O_FUNC) {
			params = proto->func->params;
			nparams = proto->func->nparams;
			rets = proto->func->rets;
			nrets = proto->func->nrets;
		} else if (proto->kind == PTX_O_TABLE) {
			const struct ptx_table *t = &d->f->tables[proto->reg];

			if (t->kind == PTX_TABLE_CALL && t->n) {
				params = t->funcs[0]->params;
				nparams = t->funcs[0]->nparams;
				rets = t->funcs[0]->rets;
				nrets = t->funcs[0]->nrets;
			} else if (t->kind == PTX_TABLE_PROTOTYPE) {
				params = t->params;
				nparams = t->nparams;
				rets = t->rets;
				nrets = t->nrets;
			} else {
				return false;
			}
		} else {
			return d_fail(d, "indirect call without a prototype");
		}
	}
	if (!call_list(d, &in->ops[0], rets, nrets, true, &c->rets, &c->nrets) ||
	    !call_list(d, &in->ops[2], params, nparams, false, &c->args, &c->nargs))
		return false;
	op = d_emit(d, call);
	op->aux = c;
	op->a = a;
	return !d->failed;
}

static enum step ret(struct thread *t, const struct dop *d)
{
	(void)d;
	return exec_ret(t);
}

bool decode_RET(struct decoder *d, const struct ptx_inst *in)
{
	(void)in;
	d_emit(d, ret);
	return !d->failed;
}

static enum step exit_op(struct thread *t, const struct dop *d)
{
	(void)t;
	(void)d;
	return STEP_EXIT;
}

bool decode_EXIT(struct decoder *d, const struct ptx_inst *in)
{
	(void)in;
	d_emit(d, exit_op);
	return !d->failed;
}

static enum step trap(struct thread *t, const struct dop *d)
{
	return exec_raise(t, d, EXEC_FAULT_TRAP, 0, 0, 0);
}

bool decode_TRAP(struct decoder *d, const struct ptx_inst *in)
{
	(void)in;
	d_emit(d, trap);
	return !d->failed;
}

/* ---- block-wide barriers ---- */

#define BAR_ARRIVE 1u
#define BAR_POPC   2u
#define BAR_AND    3u
#define BAR_OR     4u

static void bar_release(struct block *b, unsigned id)
{
	struct barrier *bar = &b->bars[id];
	struct barrier done = *bar;

	*bar = (struct barrier){ 0 };
	for (uint32_t i = 0; i < b->nthreads; i++) {
		struct thread *t = &b->threads[i];

		if (t->state != T_BARRIER || t->bar != id)
			continue;
		t->state = T_READY;
		b->bar_waits--;
		if (!t->wait)
			continue;
		if (t->wait->sub == BAR_POPC)
			t->regs[t->wait->dst] = done.count;
		else if (t->wait->sub == BAR_AND)
			t->regs[t->wait->dst] = done.all;
		else if (t->wait->sub == BAR_OR)
			t->regs[t->wait->dst] = done.any;
		t->wait = NULL;
	}
}

void exec_bar_check(struct block *b, unsigned id)
{
	const struct barrier *bar = &b->bars[id];

	if (bar->arrived && bar->arrived >= (bar->expected ? bar->expected : b->live))
		bar_release(b, id);
}

static enum step bar_op(struct thread *t, const struct dop *d)
{
	struct block *b = t->block;
	uint32_t id = (uint32_t)val(t, d->a);
	uint32_t n = d->b == NO_SLOT ? 0 : (uint32_t)val(t, d->b);
	struct barrier *bar;

	if (id > 15 || n > b->nthreads)
		return exec_raise(t, d, EXEC_FAULT_TRAP, 0, 0, 0);
	bar = &b->bars[id];
	if (!bar->arrived) {
		bar->all = true;
		bar->expected = n;
	}
	bar->arrived++;
	if (d->sub >= BAR_POPC) {
		bool p = ((val(t, d->c) & 1) != 0) != (d->flags != 0);

		bar->count += p;
		bar->all &= p;
		bar->any |= p;
	}
	if (d->sub != BAR_ARRIVE) {
		t->state = T_BARRIER;
		b->bar_waits++;
		t->bar = (uint8_t)id;
		t->wait = d;
	}
	exec_bar_check(b, id);
	return t->state == T_READY ? STEP_NEXT : STEP_WAIT;
}

bool decode_BAR(struct decoder *d, const struct ptx_inst *in)
{
	bool red = in->op == PTX_OP_BAR_RED || in->op == PTX_OP_BARRIER_RED ||
		   in->op == PTX_OP_BAR_CTA_RED || in->op == PTX_OP_BARRIER_CTA_RED;
	unsigned first = red ? 1 : 0, sub = 0;
	int32_t a, b = NO_SLOT, c = 0, dst = 0;
	struct dop *op;
	bool neg = false;

	if (red) {
		sub = ptx_inst_has(in, PTX_M_POPC)  ? BAR_POPC
		      : ptx_inst_has(in, PTX_M_AND) ? BAR_AND
						    : BAR_OR;
		if (!d_need(d, in, 3, 4))
			return false;
		c = d_pred(d, &in->ops[in->nops - 1], &neg);
		dst = d_dst(d, in, 0);
		if (in->nops == 4)
			b = d_src(d, in, 2, PTX_U32);
	} else {
		if (!d_need(d, in, 1, 2))
			return false;
		if (ptx_inst_has(in, PTX_M_ARRIVE)) {
			sub = BAR_ARRIVE;
			if (!d_need(d, in, 2, 2))
				return false;
		} else if (!ptx_inst_has(in, PTX_M_SYNC)) {
			return false;
		}
		if (in->nops == 2)
			b = d_src(d, in, 1, PTX_U32);
	}
	a = d_src(d, in, first, PTX_U32);
	op = d_emit(d, bar_op);
	op->a = a;
	op->b = b;
	op->c = c;
	op->dst = dst;
	op->sub = (uint8_t)sub;
	op->flags = neg;
	return !d->failed;
}

/* ---- warp-wide operations ---- */

enum warp_op { W_SYNC, W_SHFL, W_VOTE, W_MATCH_ANY, W_MATCH_ALL, W_REDUX, W_ELECT };

/* d->type: enum warp_op; members wait with t->mask and t->wait. */
static enum step warp_wait(struct thread *t, const struct dop *d)
{
	uint32_t mask = d->e == NO_SLOT ? UINT32_MAX : (uint32_t)val(t, d->e);

	/* A thread that is not in its own mask: undefined; hardware traps. */
	if (!(mask >> t->lane & 1))
		return exec_raise(t, d, EXEC_FAULT_TRAP, 0, 0, 0);
	t->state = T_WARP;
	t->block->warp_waits++;
	t->mask = mask;
	t->wait = d;
	exec_warp_check(t->block, t->index / 32);
	return t->state == T_READY ? STEP_NEXT : STEP_WAIT;
}

static void do_shfl(struct thread *const *w, uint32_t mask)
{
	uint64_t value[32];
	bool ok[32];

	for (uint32_t i = 0; i < 32; i++) {
		const struct thread *t;
		const struct dop *d;
		uint32_t b, c, seg, limit, j;
		bool p = true;

		if (!(mask >> i & 1))
			continue;
		t = w[i];
		d = t->wait;
		b = (uint32_t)val(t, d->b) & 31;
		c = (uint32_t)val(t, d->c);
		seg = c >> 8 & 31;
		limit = c & 31;
		uint32_t max = (i & seg) | (limit & ~seg), min = i & seg;

		switch ((enum ptx_mod)d->index) {
		case PTX_M_UP:
			j = i - b;
			p = (int32_t)j >= (int32_t)max;
			break;
		case PTX_M_DOWN:
			j = i + b;
			p = j <= max;
			break;
		case PTX_M_BFLY:
			j = i ^ b;
			p = j <= max;
			break;
		default:
			j = min | (b & ~seg);
			p = j <= max;
			break;
		}
		if (!p)
			j = i;
		/* From a lane that takes no part: undefined; here its own value. */
		if (j > 31 || !(mask >> j & 1))
			j = i;
		value[i] = val(w[j], w[j]->wait->a);
		ok[i] = p;
	}
	for (uint32_t i = 0; i < 32; i++) {
		const struct dop *d;

		if (!(mask >> i & 1))
			continue;
		d = w[i]->wait;
		w[i]->regs[d->dst] = (uint32_t)value[i];
		if (d->dst2 != NO_SLOT)
			w[i]->regs[d->dst2] = ok[i];
	}
}

static bool vote_pred(const struct thread *t)
{
	return ((val(t, t->wait->a) & 1) != 0) != (t->wait->flags != 0);
}

static void do_vote(struct thread *const *w, uint32_t mask)
{
	uint32_t ballot = 0;

	for (uint32_t i = 0; i < 32; i++)
		if (mask >> i & 1 && vote_pred(w[i]))
			ballot |= 1u << i;
	for (uint32_t i = 0; i < 32; i++) {
		uint64_t r;

		if (!(mask >> i & 1))
			continue;
		switch ((enum ptx_mod)w[i]->wait->index) {
		case PTX_M_ALL:
			r = ballot == mask;
			break;
		case PTX_M_ANY:
			r = ballot != 0;
			break;
		case PTX_M_UNI:
			r = !ballot || ballot == mask;
			break;
		default:
			r = ballot;
			break;
		}
		w[i]->regs[w[i]->wait->dst] = r;
	}
}

static void do_match(struct thread *const *w, uint32_t mask, bool all)
{
	uint64_t v[32], keep = 0;
	uint32_t first = (uint32_t)__builtin_ctz(mask);
	bool same = true;

	for (uint32_t i = 0; i < 32; i++) {
		if (!(mask >> i & 1))
			continue;
		keep = w[i]->wait->size == 8 ? UINT64_MAX : UINT32_MAX;
		v[i] = val(w[i], w[i]->wait->a) & keep;
		same &= v[i] == v[first];
	}
	for (uint32_t i = 0; i < 32; i++) {
		const struct dop *d;
		uint32_t r = 0;

		if (!(mask >> i & 1))
			continue;
		d = w[i]->wait;
		if (all) {
			r = same ? mask : 0;
			if (d->dst2 != NO_SLOT)
				w[i]->regs[d->dst2] = same;
		} else {
			for (uint32_t j = 0; j < 32; j++)
				if (mask >> j & 1 && v[j] == v[i])
					r |= 1u << j;
		}
		w[i]->regs[d->dst] = r;
	}
}

static void do_redux(struct thread *const *w, uint32_t mask)
{
	uint32_t first = (uint32_t)__builtin_ctz(mask);
	const struct dop *d = w[first]->wait;
	uint32_t r = (uint32_t)val(w[first], d->a);
	bool sign = d->sub == PTX_S32;

	for (uint32_t i = first + 1; i < 32; i++) {
		uint32_t v;

		if (!(mask >> i & 1))
			continue;
		v = (uint32_t)val(w[i], w[i]->wait->a);
		switch ((enum ptx_mod)d->index) {
		case PTX_M_ADD:
			r += v;
			break;
		case PTX_M_MIN:
			r = (sign ? (int32_t)v < (int32_t)r : v < r) ? v : r;
			break;
		case PTX_M_MAX:
			r = (sign ? (int32_t)v > (int32_t)r : v > r) ? v : r;
			break;
		case PTX_M_AND:
			r &= v;
			break;
		case PTX_M_OR:
			r |= v;
			break;
		default:
			r ^= v;
			break;
		}
	}
	for (uint32_t i = 0; i < 32; i++)
		if (mask >> i & 1)
			w[i]->regs[w[i]->wait->dst] = sign ? (uint64_t)(int32_t)r : r;
}

static void do_elect(struct thread *const *w, uint32_t mask)
{
	uint32_t leader = (uint32_t)__builtin_ctz(mask);

	for (uint32_t i = 0; i < 32; i++) {
		if (!(mask >> i & 1))
			continue;
		w[i]->regs[w[i]->wait->dst] = leader;
		w[i]->regs[w[i]->wait->dst2] = i == leader;
	}
}

/* The members of mask are all here: do it and let them go. */
static void warp_do(struct thread *const *w, uint32_t mask)
{
	enum warp_op op = w[__builtin_ctz(mask)]->wait->type;

	switch (op) {
	case W_SYNC:
		break;
	case W_SHFL:
		do_shfl(w, mask);
		break;
	case W_VOTE:
		do_vote(w, mask);
		break;
	case W_MATCH_ANY:
	case W_MATCH_ALL:
		do_match(w, mask, op == W_MATCH_ALL);
		break;
	case W_REDUX:
		do_redux(w, mask);
		break;
	case W_ELECT:
		do_elect(w, mask);
		break;
	}
	for (uint32_t i = 0; i < 32; i++) {
		if (mask >> i & 1) {
			w[i]->state = T_READY;
			w[i]->wait = NULL;
			w[i]->block->warp_waits--;
		}
	}
}

void exec_warp_check(struct block *b, uint32_t warp)
{
	struct thread *w[32] = { NULL };
	uint32_t first = warp * 32, n = b->nthreads - first < 32 ? b->nthreads - first : 32,
		 live = 0;

	for (uint32_t i = 0; i < n; i++) {
		w[i] = &b->threads[first + i];
		if (w[i]->state != T_EXITED)
			live |= 1u << i;
	}
	for (uint32_t i = 0; i < n; i++) {
		uint32_t mask;
		bool complete = true;

		if (w[i]->state != T_WARP)
			continue;
		mask = w[i]->mask & live;
		for (uint32_t j = 0; j < n && complete; j++)
			if (mask >> j & 1)
				complete = w[j]->state == T_WARP && w[j]->mask == w[i]->mask &&
					   w[j]->wait->type == w[i]->wait->type;
		if (complete)
			warp_do(w, mask);
	}
}

bool decode_BAR_WARP(struct decoder *d, const struct ptx_inst *in)
{
	struct dop *op;
	int32_t m;

	if (!d_need(d, in, 1, 1))
		return false;
	m = d_src(d, in, 0, PTX_B32);
	op = d_emit(d, warp_wait);
	op->type = W_SYNC;
	op->e = m;
	return !d->failed;
}

bool decode_SHFL(struct decoder *d, const struct ptx_inst *in)
{
	static const enum ptx_mod modes[] = { PTX_M_UP, PTX_M_DOWN, PTX_M_BFLY, PTX_M_IDX };
	const struct ptx_operand *o = &in->ops[0];
	int32_t a, b, c, m, dst, dst2 = NO_SLOT;
	struct dop *op;

	if (in->mn->types[0] != PTX_B32 || !d_need(d, in, 5, 5))
		return false;
	a = d_src(d, in, 1, PTX_B32);
	b = d_src(d, in, 2, PTX_B32);
	c = d_src(d, in, 3, PTX_B32);
	m = d_src(d, in, 4, PTX_B32);
	if (o->kind == PTX_O_PAIR) {
		dst = o->elem[0].kind == PTX_O_SINK ? d_scratch(d) : d_reg(d, &o->elem[0]);
		if (o->elem[1].kind != PTX_O_SINK)
			dst2 = d_reg(d, &o->elem[1]);
	} else {
		dst = d_dst(d, in, 0);
	}
	op = d_emit(d, warp_wait);
	op->type = W_SHFL;
	op->a = a;
	op->b = b;
	op->c = c;
	op->e = m;
	op->dst = dst;
	op->dst2 = dst2;
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (ptx_inst_has(in, modes[i]))
			op->index = modes[i];
	return !d->failed && op->index;
}

bool decode_VOTE(struct decoder *d, const struct ptx_inst *in)
{
	static const enum ptx_mod modes[] = { PTX_M_ALL, PTX_M_ANY, PTX_M_UNI, PTX_M_BALLOT };
	int32_t a, m, dst;
	struct dop *op;
	bool neg;

	if (!d_need(d, in, 3, 3))
		return false;
	a = d_pred(d, &in->ops[1], &neg);
	m = d_src(d, in, 2, PTX_B32);
	dst = d_dst(d, in, 0);
	op = d_emit(d, warp_wait);
	op->type = W_VOTE;
	op->a = a;
	op->e = m;
	op->dst = dst;
	op->flags = neg;
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (ptx_inst_has(in, modes[i]))
			op->index = modes[i];
	return !d->failed && op->index;
}

bool decode_MATCH(struct decoder *d, const struct ptx_inst *in)
{
	const struct ptx_operand *o = &in->ops[0];
	bool all = ptx_inst_has(in, PTX_M_ALL);
	int32_t a, m, dst, dst2 = NO_SLOT;
	struct dop *op;

	if (!d_need(d, in, 3, 3) || !ptx_inst_has(in, PTX_M_SYNC))
		return false;
	a = d_src(d, in, 1, in->mn->types[0]);
	m = d_src(d, in, 2, PTX_B32);
	if (o->kind == PTX_O_PAIR) {
		dst = o->elem[0].kind == PTX_O_SINK ? d_scratch(d) : d_reg(d, &o->elem[0]);
		if (o->elem[1].kind != PTX_O_SINK)
			dst2 = d_reg(d, &o->elem[1]);
	} else {
		dst = d_dst(d, in, 0);
	}
	op = d_emit(d, warp_wait);
	op->type = all ? W_MATCH_ALL : W_MATCH_ANY;
	op->size = (uint8_t)ptx_type_size(in->mn->types[0]);
	op->a = a;
	op->e = m;
	op->dst = dst;
	op->dst2 = dst2;
	return !d->failed;
}

bool decode_REDUX(struct decoder *d, const struct ptx_inst *in)
{
	static const enum ptx_mod modes[] = {PTX_M_ADD, PTX_M_MIN, PTX_M_MAX,
					     PTX_M_AND, PTX_M_OR,  PTX_M_XOR};
	int32_t a, m, dst;
	struct dop *op;

	if (!d_need(d, in, 3, 3) || in->mn->types[0] == PTX_F32 ||
	    ptx_type_bits(in->mn->types[0]) != 32)
		return false;
	a = d_src(d, in, 1, in->mn->types[0]);
	m = d_src(d, in, 2, PTX_B32);
	dst = d_dst(d, in, 0);
	op = d_emit(d, warp_wait);
	op->type = W_REDUX;
	op->sub = in->mn->types[0];
	op->a = a;
	op->e = m;
	op->dst = dst;
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (ptx_inst_has(in, modes[i]))
			op->index = modes[i];
	return !d->failed && op->index;
}

bool decode_ELECT(struct decoder *d, const struct ptx_inst *in)
{
	const struct ptx_operand *o = &in->ops[0];
	int32_t m, dst, dst2;
	struct dop *op;

	if (!d_need(d, in, 2, 2) || o->kind != PTX_O_PAIR)
		return false;
	m = d_src(d, in, 1, PTX_B32);
	dst = o->elem[0].kind == PTX_O_SINK ? d_scratch(d) : d_reg(d, &o->elem[0]);
	dst2 = d_reg(d, &o->elem[1]);
	op = d_emit(d, warp_wait);
	op->type = W_ELECT;
	op->e = m;
	op->dst = dst;
	op->dst2 = dst2;
	return !d->failed;
}

/* ---- activemask: who comes to this place while the others cannot or do not ---- */

#define PATIENCE 4u

static enum step activemask(struct thread *t, const struct dop *d)
{
	t->state = T_SOFT;
	t->block->soft_waits++;
	t->patience = PATIENCE;
	t->wait = d;
	return STEP_WAIT;
}

void exec_soft_resolve(struct block *b, uint32_t warp)
{
	uint32_t first = warp * 32, end = first + 32 < b->nthreads ? first + 32 : b->nthreads;

	for (uint32_t i = first; i < end; i++) {
		const struct dop *place = b->threads[i].wait;
		uint32_t mask = 0;

		if (b->threads[i].state != T_SOFT)
			continue;
		for (uint32_t j = i; j < end; j++)
			if (b->threads[j].state == T_SOFT && b->threads[j].wait == place)
				mask |= 1u << (j & 31);
		for (uint32_t j = i; j < end; j++) {
			struct thread *t = &b->threads[j];

			if (mask >> (j & 31) & 1) {
				t->regs[place->dst] = mask;
				t->state = T_READY;
				t->wait = NULL;
				b->soft_waits--;
			}
		}
	}
}

bool decode_ACTIVEMASK(struct decoder *d, const struct ptx_inst *in)
{
	int32_t dst;

	if (!d_need(d, in, 1, 1))
		return false;
	dst = d_dst(d, in, 0);
	d_emit(d, activemask)->dst = dst;
	return !d->failed;
}
