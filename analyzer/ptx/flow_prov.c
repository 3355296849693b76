/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where addresses come from: for every register of the flat program the set of
 * bases that its value may be derived from, whatever the order of instructions
 * (registers are nearly in static single assignment form); from that the roles.
 *
 * A multiplication, a shift and a widening from 32 bits make an index, which
 * has no base.  An address without a base is of unknown origin: never nothing.
 * All memory but the parameters is one blob: what was stored anywhere may be
 * loaded anywhere.
 */
#include "flow_int.h"
#include <string.h>

#define MAX_BASES  1500u
#define MAX_SETS   30000u
#define MAX_ROUNDS 60u
#define MAX_SITES  64u

/* ---- sets ---- */

static uint32_t set_hash(const uint16_t *id, uint32_t n)
{
	uint32_t h = n * 2654435761u;

	for (uint32_t i = 0; i < n; i++)
		h = (h ^ id[i]) * 16777619u;
	return h;
}

static uint32_t intern(struct flow *fl, const uint16_t *id, uint32_t n)
{
	uint32_t h = set_hash(id, n), at;
	struct set *s;

	if (fl->sets.n * 2 >= fl->nset_hash) {
		uint32_t size = fl->nset_hash ? fl->nset_hash * 2 : 256;
		uint32_t *t = flow_alloc(fl, size * sizeof(*t));

		for (uint32_t i = 0; i < fl->sets.n; i++) {
			s = &VEC(fl->sets, struct set)[i];
			for (at = set_hash(s->id, s->n) & (size - 1); t[at];
			     at = (at + 1) & (size - 1))
				;
			t[at] = i + 1;
		}
		fl->set_hash = t;
		fl->nset_hash = size;
	}
	for (at = h & (fl->nset_hash - 1); fl->set_hash[at]; at = (at + 1) & (fl->nset_hash - 1)) {
		s = &VEC(fl->sets, struct set)[fl->set_hash[at] - 1];
		if (s->n == n && (!n || !memcmp(s->id, id, n * sizeof(*id))))
			return fl->set_hash[at] - 1;
	}
	if (fl->sets.n >= MAX_SETS)
		longjmp(fl->out, KRT_FLOW_NO_MEMORY);
	s = flow_push(fl, &fl->sets, sizeof(*s));
	s->n = n;
	s->id = flow_alloc(fl, n * sizeof(*id));
	if (n)
		memcpy(s->id, id, n * sizeof(*id));
	for (uint32_t i = 0; i < n; i++)
		s->param |= VEC(fl->bases, struct base)[id[i]].kind == BASE_PARAM;
	fl->set_hash[at] = fl->sets.n;
	return fl->sets.n - 1;
}

uint32_t flow_set_union(struct flow *fl, uint32_t a, uint32_t b)
{
	uint16_t id[2 * MAX_BASES];
	const struct set *x, *y;
	uint32_t n = 0, i = 0, k = 0, memo;

	if (a == b || !b)
		return a;
	if (!a)
		return b;
	if (a > b) {
		uint32_t t = a;

		a = b;
		b = t;
	}
	memo = (a * 31 + b) & 4095;
	if (fl->memo_a[memo] == a && fl->memo_b[memo] == b)
		return fl->memo_r[memo];
	x = &VEC(fl->sets, struct set)[a];
	y = &VEC(fl->sets, struct set)[b];
	while (i < x->n || k < y->n) {
		if (k == y->n || (i < x->n && x->id[i] <= y->id[k])) {
			if (k < y->n && x->id[i] == y->id[k])
				k++;
			id[n++] = x->id[i++];
		} else {
			id[n++] = y->id[k++];
		}
	}
	fl->memo_a[memo] = a;
	fl->memo_b[memo] = b;
	return fl->memo_r[memo] = intern(fl, id, n);
}

static uint32_t base_index(struct flow *fl, enum base_kind kind, uint32_t a, uint32_t b)
{
	struct base *p;

	for (uint32_t i = 0; i < fl->bases.n; i++) {
		p = &VEC(fl->bases, struct base)[i];
		if (p->kind == kind && p->a == a && p->b == b)
			return i;
	}
	if (fl->bases.n >= MAX_BASES)
		longjmp(fl->out, KRT_FLOW_NO_MEMORY);
	p = flow_push(fl, &fl->bases, sizeof(*p));
	*p = (struct base){.kind = (uint8_t)kind, .a = a, .b = b};
	return fl->bases.n - 1;
}

static uint32_t one(struct flow *fl, enum base_kind kind, uint32_t a, uint32_t b)
{
	uint16_t id;

	/* Too many words of one parameter: some word of it. */
	if ((kind == BASE_SLOT || kind == BASE_PARAM) && fl->bases.n > MAX_BASES / 2)
		b = KRT_FLOW_ANY;
	id = (uint16_t)base_index(fl, kind, a, b);
	return intern(fl, &id, 1);
}

static uint32_t global_set(struct flow *fl, const struct ptx_var *v)
{
	struct global *g;

	for (uint32_t i = 0; i < fl->globals.n; i++)
		if (VEC(fl->globals, struct global)[i].var == v)
			return one(fl, BASE_GLOBAL, i, 0);
	g = flow_push(fl, &fl->globals, sizeof(*g));
	g->var = v;
	return one(fl, BASE_GLOBAL, fl->globals.n - 1, 0);
}

/* The word of a parameter that a load of size bytes at off gives. */
static uint32_t slot_set(struct flow *fl, uint32_t param, int64_t off, unsigned size)
{
	const struct ptx_var *v = fl->entry->params[param];

	if (off < 0 || (uint64_t)off >= v->size || v->size < 8)
		return 0;
	if (size == 4)
		off &= ~(int64_t)7; /* half of a pointer, perhaps */
	else if (size != 8)
		return 0;
	return one(fl, BASE_SLOT, param, (uint32_t)off);
}

/* ---- the transfer of one instruction ---- */

static uint32_t prov_of(struct flow *fl, uint32_t reg)
{
	fl->asked[reg] = true;
	return fl->prov[reg];
}

static void escape(struct flow *fl, uint32_t set)
{
	uint32_t s = flow_set_union(fl, fl->escaped, set);

	fl->again |= s != fl->escaped && fl->escaped_asked;
	fl->escaped = s;
}

static uint32_t escaped(struct flow *fl)
{
	fl->escaped_asked = true;
	return fl->escaped;
}

/* The address of a variable. */
static uint32_t var_set(struct flow *fl, const struct instance *inst, const struct ptx_var *v,
			int64_t off)
{
	uint32_t all;

	switch (ptx_space_base((enum ptx_space)v->space)) {
	case PTX_SPACE_GLOBAL:
	case PTX_SPACE_CONST:
		return global_set(fl, v);
	case PTX_SPACE_PARAM:
		if (flow_is_entry_param(fl, v))
			return one(fl, BASE_PARAM, v->index,
				   off >= 0 && (uint64_t)off < v->size ? (uint32_t)off
								       : KRT_FLOW_ANY);
		(void)flow_piece(inst, v, 0, 0, &all);
		/* Its address is taken: what it holds may come back from any load. */
		if (all != NONE)
			escape(fl, prov_of(fl, all));
		return one(fl, BASE_NONE, 0, 0);
	default:
		return one(fl, BASE_NONE, 0, 0);
	}
}

static uint32_t value_set(struct flow *fl, const struct instance *inst, const struct ptx_operand *o)
{
	uint32_t s = 0;

	switch ((enum ptx_operand_kind)o->kind) {
	case PTX_O_REG:
		return prov_of(fl, inst->base + o->reg);
	case PTX_O_VAR:
		return var_set(fl, inst, o->var, o->imm);
	case PTX_O_SREG:
		/* The driver's own memory: the barrier of a cooperative grid lies there. */
		return o->reg >= PTX_SREG_ENVREG0 && o->reg <= PTX_SREG_ENVREG31
			       ? one(fl, BASE_NONE, 0, 0)
			       : 0;
	case PTX_O_VEC:
	case PTX_O_PAIR:
	case PTX_O_LIST:
		for (unsigned i = 0; i < o->n; i++)
			s = flow_set_union(fl, s, value_set(fl, inst, &o->elem[i]));
		return s;
	default:
		return 0;
	}
}

/* Parameter addresses moved by imm bytes; by an unknown distance if !known. */
static uint32_t moved(struct flow *fl, uint32_t set, bool known, int64_t imm)
{
	uint32_t r = 0;
	struct set s = VEC(fl->sets, struct set)[set];

	if (!s.param || (known && !imm))
		return set;
	for (uint32_t i = 0; i < s.n; i++) {
		struct base b = VEC(fl->bases, struct base)[s.id[i]];

		if (b.kind == BASE_PARAM && b.b != KRT_FLOW_ANY) {
			int64_t off = (int64_t)((uint64_t)b.b + (uint64_t)imm);

			if (!known || off < 0 || (uint64_t)off >= fl->entry->params[b.a]->size)
				off = KRT_FLOW_ANY;
			r = flow_set_union(fl, r, one(fl, BASE_PARAM, b.a, (uint32_t)off));
		} else {
			r = flow_set_union(fl, r, intern(fl, &s.id[i], 1));
		}
	}
	return r;
}

static uint32_t address_set(struct flow *fl, const struct instance *inst,
			    const struct ptx_operand *o)
{
	uint32_t s;

	if (o->kind != PTX_O_ADDR || !o->n)
		return value_set(fl, inst, o);
	s = o->elem[0].kind == PTX_O_VAR ? var_set(fl, inst, o->elem[0].var, o->imm)
					 : moved(fl, value_set(fl, inst, &o->elem[0]), true, o->imm);
	if (o->flags & PTX_OF_SCALED)
		s = moved(fl, s, false, 0);
	return s;
}

/* Without shared and local addresses. */
static uint32_t without(struct flow *fl, uint32_t set, unsigned drop)
{
	struct set s = VEC(fl->sets, struct set)[set];
	uint32_t r = 0;

	for (uint32_t i = 0; i < s.n; i++)
		if (!(drop >> VEC(fl->bases, struct base)[s.id[i]].kind & 1))
			r = flow_set_union(fl, r, intern(fl, &s.id[i], 1));
	return r;
}

static uint32_t only_none(struct flow *fl, uint32_t set)
{
	return without(fl, set, ~(1u << BASE_NONE));
}

/* A load of whole words: index of its site + 1.  Where there are too many they are not told apart. */
static uint32_t site_index(struct flow *fl, const struct site *at)
{
	struct site *s = VEC(fl->sites, struct site);

	if (!at->words)
		return 0;
	for (uint32_t i = 0; i < fl->sites.n; i++)
		if (s[i].fop == at->fop && s[i].word == at->word)
			return i + 1;
	if (fl->sites.n >= MAX_SITES || fl->bases.n > MAX_BASES / 4)
		return 0;
	s = flow_push(fl, &fl->sites, sizeof(*s));
	*s = *at;
	return fl->sites.n;
}

static const struct site no_site;

/* What a load through an address gives; elem: which element of a vector, of size bytes. */
static uint32_t loaded(struct flow *fl, uint32_t set, enum ptx_space space, unsigned elem,
		       unsigned size, const struct site *site)
{
	struct set s = VEC(fl->sets, struct set)[set];
	uint32_t r = 0;
	bool written = !s.n;

	/* What the kernel stores is in no parameter and no constant. */
	for (uint32_t i = 0; i < s.n; i++)
		written |= VEC(fl->bases, struct base)[s.id[i]].kind != BASE_PARAM;
	if (written && space != PTX_SPACE_PARAM && space != PTX_SPACE_CONST)
		r = escaped(fl);
	if (space == PTX_SPACE_SHARED || space == PTX_SPACE_LOCAL)
		return r;
	if (!s.n)
		return flow_set_union(fl, r, one(fl, BASE_UNKNOWN, 0, 0));
	for (uint32_t i = 0; i < s.n; i++) {
		struct base b = VEC(fl->bases, struct base)[s.id[i]];
		uint32_t add = 0;

		switch ((enum base_kind)b.kind) {
		case BASE_NONE:
			break;
		case BASE_UNKNOWN:
			add = one(fl, BASE_UNKNOWN, 0, 0);
			break;
		case BASE_SLOT:
		case BASE_GLOBAL:
			add = one(fl, BASE_LOADED, s.id[i], site_index(fl, site));
			break;
		case BASE_LOADED:
			add = one(fl, BASE_FURTHER, b.a, 0);
			break;
		case BASE_FURTHER:
			add = intern(fl, &s.id[i], 1);
			break;
		case BASE_PARAM:
			add = b.b == KRT_FLOW_ANY
				      ? one(fl, BASE_SLOT, b.a, KRT_FLOW_ANY)
				      : slot_set(fl, b.a, (int64_t)b.b + (int64_t)(elem * size),
						 size);
			break;
		}
		r = flow_set_union(fl, r, add);
	}
	return r;
}

static void add_to(struct flow *fl, uint32_t reg, uint32_t set)
{
	uint32_t s = flow_set_union(fl, fl->prov[reg], set);

	fl->again |= s != fl->prov[reg] && fl->asked[reg];
	fl->prov[reg] = s;
}

static void to_operand(struct flow *fl, const struct instance *inst, const struct ptx_operand *o,
		       uint32_t set)
{
	if (o->kind == PTX_O_REG)
		add_to(fl, inst->base + o->reg, set);
	if (o->kind == PTX_O_VEC || o->kind == PTX_O_PAIR || o->kind == PTX_O_LIST)
		for (unsigned i = 0; i < o->n; i++)
			to_operand(fl, inst, &o->elem[i], set);
}

static void all_operands(struct flow *fl, const struct instance *inst, const struct ptx_operand *o,
			 uint32_t set)
{
	to_operand(fl, inst, o, set);
	if (o->kind == PTX_O_ADDR)
		for (unsigned i = 0; i < o->n; i++)
			all_operands(fl, inst, &o->elem[i], set);
}

static bool may_hold_pointer(const struct ptx_inst *in)
{
	unsigned bits = in->mn->ntypes ? ptx_type_bits((enum ptx_type)in->mn->types[0]) : 64;
	enum ptx_kind k =
		in->mn->ntypes ? ptx_type_kind((enum ptx_type)in->mn->types[0]) : PTX_KIND_BITS;

	return bits >= 32 && k != PTX_KIND_FLOAT && k != PTX_KIND_PACKED;
}

/*
 * A store of 32-bit values to memory that is surely global: data.  Pointers are
 * taken apart and put together again in local memory alone.
 */
static bool halves(const struct flow *fl, const struct ptx_inst *in, uint32_t set)
{
	const struct set *s = &VEC(fl->sets, struct set)[set];

	if (!in->mn->ntypes || ptx_type_size((enum ptx_type)in->mn->types[0]) != 4 || !s->n)
		return false;
	for (uint32_t i = 0; i < s->n; i++) {
		enum base_kind k = VEC(fl->bases, struct base)[s->id[i]].kind;

		if (k != BASE_SLOT && k != BASE_GLOBAL && k != BASE_LOADED && k != BASE_FURTHER)
			return false;
	}
	return true;
}

/* ld and st of parameters: the kernel's, or those of calls. */
static void param_access(struct flow *fl, const struct fop *o, bool load)
{
	const struct ptx_inst *in = o->in;
	const struct instance *inst = o->inst;
	const struct ptx_operand *addr = &in->ops[load ? 1 : 0], *val = &in->ops[load ? 0 : 1];
	unsigned size = ptx_type_size(ptx_inst_type(in));
	unsigned n = val->kind == PTX_O_VEC ? val->n : 1;

	if (addr->kind != PTX_O_ADDR || !addr->n)
		return;
	if (size == 16 && n == 1) { /* .b128: two words */
		size = 8;
		n = 2;
	}
	for (unsigned i = 0; i < n; i++) {
		const struct ptx_operand *v = val->kind == PTX_O_VEC ? &val->elem[i] : val;
		const struct ptx_var *var =
			addr->elem[0].kind == PTX_O_VAR ? addr->elem[0].var : NULL;
		uint32_t piece, all;

		if (var && !flow_is_entry_param(fl, var) && !(addr->flags & PTX_OF_SCALED)) {
			piece = flow_piece(inst, var, (uint64_t)addr->imm + i * size, size, &all);
			if (load) {
				uint32_t from = piece != NONE ? piece : all;

				if (from != NONE)
					to_operand(fl, inst, v, prov_of(fl, from));
				continue;
			}
			if (piece != NONE)
				add_to(fl, piece, value_set(fl, inst, v));
			if (all != NONE)
				add_to(fl, all, value_set(fl, inst, v));
			continue;
		}
		if (load)
			to_operand(fl, inst, v,
				   loaded(fl, address_set(fl, inst, addr), PTX_SPACE_PARAM, i, size,
					  &no_site));
		else
			escape(fl, value_set(fl, inst, v));
	}
}

static uint32_t sources(struct flow *fl, const struct fop *o, unsigned from)
{
	uint32_t s = 0;

	for (unsigned i = from; i < o->in->nops; i++)
		s = flow_set_union(fl, s, value_set(fl, o->inst, &o->in->ops[i]));
	return s;
}

static void transfer(struct flow *fl, const struct fop *o)
{
	const struct ptx_inst *in = o->in;
	const struct instance *inst = o->inst;
	enum ptx_space space;
	unsigned size, n;
	uint32_t s = 0;

	if (o->kind != FOP_INST) {
		add_to(fl, o->dst,
		       o->src != NONE ? prov_of(fl, o->src) : one(fl, BASE_UNKNOWN, 0, 0));
		return;
	}
	if (!in->nops)
		return;
	space = ptx_space_base(ptx_inst_space(in));
	switch ((enum ptx_op)in->op) {
	case PTX_OP_UNKNOWN:
		for (unsigned i = 0; i < in->nops; i++)
			all_operands(fl, inst, &in->ops[i], one(fl, BASE_UNKNOWN, 0, 0));
		return;
	case PTX_OP_CALL:
		escape(fl, value_set(fl, inst, &in->ops[2]));
		return;
	case PTX_OP_LD:
	case PTX_OP_LDU:
		if (in->nops < 2)
			return;
		if (flow_param_space(in)) {
			param_access(fl, o, true);
			return;
		}
		if (!may_hold_pointer(in))
			return;
		s = address_set(fl, inst, &in->ops[1]);
		size = ptx_type_size((enum ptx_type)in->mn->types[0]);
		n = in->ops[0].kind == PTX_O_VEC ? in->ops[0].n : 1;
		for (unsigned i = 0; i < n; i++) {
			struct site at = {.fop = (uint32_t)(o - VEC(fl->fops, struct fop))};

			/* whole words, or halves that lie side by side */
			if (size == 8 || (size == 4 && n % 2 == 0)) {
				at.word = (uint8_t)(i * size / 8);
				at.words = (uint8_t)(n * size / 8);
			}
			to_operand(fl, inst,
				   in->ops[0].kind == PTX_O_VEC ? &in->ops[0].elem[i] : &in->ops[0],
				   loaded(fl, s, space, i, size, &at));
		}
		return;
	case PTX_OP_ST:
		if (in->nops < 2)
			return;
		if (flow_param_space(in)) {
			param_access(fl, o, false);
			return;
		}
		if (!may_hold_pointer(in) || halves(fl, in, address_set(fl, inst, &in->ops[0])))
			return;
		escape(fl, without(fl, value_set(fl, inst, &in->ops[1]), 0));
		return;
	case PTX_OP_ATOM:
		if (in->nops < 3 || !may_hold_pointer(in))
			return;
		escape(fl, sources(fl, o, 2));
		to_operand(fl, inst, &in->ops[0],
			   loaded(fl, address_set(fl, inst, &in->ops[1]), space, 0, 8, &no_site));
		return;
	case PTX_OP_RED:
	case PTX_OP_ST_ASYNC:
	case PTX_OP_RED_ASYNC:
	case PTX_OP_MULTIMEM_ST:
	case PTX_OP_MULTIMEM_RED:
		escape(fl, sources(fl, o, 1));
		return;
	case PTX_OP_CP_ASYNC:
	case PTX_OP_CP_ASYNC_BULK:
		if (in->nops < 2)
			return;
		escape(fl, loaded(fl, address_set(fl, inst, &in->ops[1]), PTX_SPACE_NONE, 0, 8,
				  &no_site));
		return;
	case PTX_OP_ADD:
	case PTX_OP_ADDC:
		if (in->nops < 3)
			return;
		s = value_set(fl, inst, &in->ops[1]);
		if (in->ops[2].kind == PTX_O_INT)
			s = moved(fl, s, true, in->ops[2].imm);
		else
			s = moved(fl, flow_set_union(fl, s, value_set(fl, inst, &in->ops[2])),
				  in->ops[1].kind == PTX_O_INT, in->ops[1].imm);
		break;
	case PTX_OP_SUB:
	case PTX_OP_SUBC:
		if (in->nops < 3)
			return;
		s = moved(fl, value_set(fl, inst, &in->ops[1]), in->ops[2].kind == PTX_O_INT,
			  (int64_t)-(uint64_t)in->ops[2].imm);
		break;
	case PTX_OP_MAD:
	case PTX_OP_MAD24:
	case PTX_OP_MADC:
		if (in->nops < 4)
			return;
		s = moved(fl, value_set(fl, inst, &in->ops[3]), false, 0);
		break;
	case PTX_OP_CVT:
		if (in->mn->ntypes < 2 || in->nops < 2)
			return;
		s = moved(fl, value_set(fl, inst, &in->ops[1]), true, 0);
		if (ptx_type_bits((enum ptx_type)in->mn->types[1]) <
		    ptx_type_bits((enum ptx_type)in->mn->types[0]))
			s = only_none(fl, s);
		break;
	case PTX_OP_MOV:
	case PTX_OP_SHFL:
	case PTX_OP_SHFL_SYNC:
	case PTX_OP_REDUX:
	case PTX_OP_MATCH:
	case PTX_OP_SELP:
	case PTX_OP_SLCT:
		s = sources(fl, o, 1);
		break;
	case PTX_OP_CVTA:
		s = sources(fl, o, 1);
		if (in->mn->nspaces && (space == PTX_SPACE_SHARED || space == PTX_SPACE_LOCAL))
			s = flow_set_union(fl, s, one(fl, BASE_NONE, 0, 0));
		break;
	case PTX_OP_MAPA:
	case PTX_OP_ALLOCA:
		s = flow_set_union(fl, sources(fl, o, 1), one(fl, BASE_NONE, 0, 0));
		break;
	case PTX_OP_MIN:
	case PTX_OP_MAX:
	case PTX_OP_AND:
	case PTX_OP_OR:
	case PTX_OP_XOR:
	case PTX_OP_NOT:
	case PTX_OP_LOP3:
	case PTX_OP_PRMT:
	case PTX_OP_BFI:
		s = moved(fl, sources(fl, o, 1), false, 0);
		break;
	default:
		return;
	}
	to_operand(fl, inst, &in->ops[0], s);
}

void flow_provenance(struct flow *fl)
{
	const struct fop *ops = VEC(fl->fops, struct fop);
	uint32_t rounds = 0;

	fl->prov = flow_alloc(fl, (fl->nregs + 1) * sizeof(*fl->prov));
	fl->asked = flow_alloc(fl, fl->nregs + 1);
	(void)intern(fl, NULL, 0); /* set 0: empty */
	fl->escaped = 0;
	do {
		/* Sets only grow; a program that takes this long is no compiler's. */
		if (++rounds > MAX_ROUNDS)
			longjmp(fl->out, KRT_FLOW_NO_MEMORY);
		fl->again = fl->escaped_asked = false;
		memset(fl->asked, 0, fl->nregs);
		for (uint32_t i = 0; i < fl->fops.n; i++)
			transfer(fl, &ops[i]);
	} while (fl->again);
}

/* ---- roles ---- */

/* Done behind a pointer that was loaded through base i; sited: by a place that is known. */
static void add_through(struct flow *fl, uint32_t slot_of[], struct vec *slots, uint32_t i,
			unsigned kind, bool sited)
{
	const struct base *b = &VEC(fl->bases, struct base)[i];
	uint8_t *through, *rest;

	fl->flags |= KRT_FLOW_LOADS_POINTERS;
	if (b->kind == BASE_GLOBAL) {
		through = &VEC(fl->globals, struct global)[b->a].through;
		rest = &VEC(fl->globals, struct global)[b->a].rest;
	} else {
		through = &VEC(*slots, struct krt_flow_slot)[slot_of[i]].through;
		rest = &VEC(*slots, struct krt_flow_slot)[slot_of[i]].rest;
	}
	*through |= (uint8_t)kind;
	if (!sited)
		*rest |= (uint8_t)kind;
}

static void add_role(struct flow *fl, uint32_t slot_of[], struct vec *slots, uint32_t set,
		     unsigned kind, bool map)
{
	const struct set *s = &VEC(fl->sets, struct set)[set];

	bool sited = !map;

	if (!s->n)
		fl->any |= (uint8_t)kind;
	/* one register for what was loaded and for what was loaded through that: either may be meant */
	for (uint32_t i = 0; i < s->n; i++)
		sited &= VEC(fl->bases, struct base)[s->id[i]].kind != BASE_FURTHER;
	for (uint32_t i = 0; i < s->n; i++) {
		const struct base *b = &VEC(fl->bases, struct base)[s->id[i]];
		struct krt_flow_slot *sl;

		switch ((enum base_kind)b->kind) {
		case BASE_NONE:
			break;
		case BASE_UNKNOWN:
			fl->any |= (uint8_t)kind;
			break;
		case BASE_SLOT:
		case BASE_PARAM:
			if (b->kind == BASE_PARAM && !map)
				break; /* the parameter block itself */
			sl = &VEC(*slots, struct krt_flow_slot)[slot_of[s->id[i]]];
			if (b->kind == BASE_SLOT && map) {
				/* A map in memory: what it describes is behind it. */
				sl->role |= KRT_FLOW_READ;
				add_through(fl, slot_of, slots, s->id[i], kind, false);
			} else {
				sl->role |= (uint8_t)kind;
				sl->tensor_map |= map;
			}
			break;
		case BASE_GLOBAL:
			if (map)
				add_through(fl, slot_of, slots, s->id[i], kind, false);
			else
				VEC(fl->globals, struct global)[b->a].role |= (uint8_t)kind;
			break;
		case BASE_LOADED:
			add_through(fl, slot_of, slots, b->a, kind, b->b && sited);
			if (sited)
				fl->load_role[s->id[i]] |= (uint8_t)kind;
			break;
		case BASE_FURTHER:
			add_through(fl, slot_of, slots, b->a, kind, false);
			break;
		}
	}
}

/* The nth operand in brackets. */
static const struct ptx_operand *bracket(const struct ptx_inst *in, unsigned n)
{
	for (unsigned i = 0; i < in->nops; i++)
		if (in->ops[i].kind == PTX_O_ADDR && !n--)
			return &in->ops[i];
	return NULL;
}

static bool elsewhere(enum ptx_space s)
{
	s = ptx_space_base(s);
	return s == PTX_SPACE_SHARED || s == PTX_SPACE_LOCAL || s == PTX_SPACE_PARAM;
}

struct roles {
	struct flow *fl;
	uint32_t *slot_of; /* per base */
	struct vec slots;
	struct handle {
		uint8_t texture, surface; /* per slot: roles */
	} *handle;
	uint32_t fop;
};

/* Behind those that have ranges: is the same said already?  Each that loads pointers counts. */
static bool said(const struct roles *r, uint32_t set, unsigned kind)
{
	const struct flow *fl = r->fl;
	const struct acc *a = VEC(fl->accs, struct acc);

	if (fl->accs.n < FLOW_ACCS)
		return false;
	for (uint32_t i = 0; i < fl->sites.n; i++)
		if (VEC(fl->sites, struct site)[i].fop == r->fop)
			return false;
	for (uint32_t i = fl->accs.n; i-- > FLOW_ACCS && i + 8 >= fl->accs.n;)
		if (a[i].set == set && a[i].kind == kind)
			return true;
	return false;
}

static struct acc *access(struct roles *r, const struct fop *o, const struct ptx_operand *addr,
			  enum ptx_space space, unsigned kind, uint32_t width, bool exact)
{
	struct flow *fl = r->fl;
	const struct set *s;
	struct acc *a;
	uint32_t set;
	bool outside = false;

	if (!addr) {
		fl->any |= (uint8_t)kind;
		return NULL;
	}
	if (elsewhere(space))
		return NULL;
	set = address_set(fl, o->inst, addr);
	s = &VEC(fl->sets, struct set)[set];
	for (uint32_t i = 0; i < s->n; i++) {
		enum base_kind b = VEC(fl->bases, struct base)[s->id[i]].kind;

		outside |= b != BASE_NONE && b != BASE_PARAM;
	}
	if (s->n && !outside)
		return NULL;
	add_role(fl, r->slot_of, &r->slots, set, kind, false);
	fl->naccs++;
	if (said(r, set, kind))
		return NULL;
	a = flow_push(fl, &fl->accs, sizeof(*a));
	*a = (struct acc){.fop = r->fop,
			  .addr = addr,
			  .kind = (uint8_t)kind,
			  .exact = exact,
			  .width = width,
			  .set = set};
	return a;
}

/* An access by the handle of a texture or surface. */
static void object(struct roles *r, const struct fop *o)
{
	struct flow *fl = r->fl;
	const struct ptx_inst *in = o->in;
	const struct ptx_operand *at = bracket(in, 0);
	unsigned kind = ptx_op_mem((enum ptx_op)in->op) == PTX_MEM_READ	  ? KRT_FLOW_READ
			: ptx_op_mem((enum ptx_op)in->op) == PTX_MEM_WRITE ? KRT_FLOW_WRITE
									   : KRT_FLOW_ATOMIC;
	const struct set *s;
	uint32_t set = 0;

	/* of an instruction that makes no sense the bases were not counted */
	if (at && !flow_param_space(in))
		set = address_set(fl, o->inst, at);
	s = &VEC(fl->sets, struct set)[set];
	if (!s->n || in->odd)
		fl->flags |= KRT_FLOW_TEXTURES;
	for (uint32_t i = 0; i < s->n; i++) {
		const struct base *b = &VEC(fl->bases, struct base)[s->id[i]];
		struct handle *h;

		if (b->kind != BASE_SLOT || b->b == KRT_FLOW_ANY) {
			fl->flags |= KRT_FLOW_TEXTURES;
			continue;
		}
		h = &r->handle[r->slot_of[s->id[i]]];
		*(in->op == PTX_OP_TEX || in->op == PTX_OP_TLD4 ? &h->texture : &h->surface) |=
			(uint8_t)kind;
	}
}

/* A word that is a handle is no pointer; what is used as both is not understood. */
static void name_handles(struct roles *r)
{
	for (uint32_t i = 0; i < r->slots.n; i++) {
		struct krt_flow_slot *s = &VEC(r->slots, struct krt_flow_slot)[i];
		const struct handle *h = &r->handle[i];

		if (!h->texture && !h->surface)
			continue;
		if (s->role || s->through || s->tensor_map || (h->texture && h->surface)) {
			r->fl->flags |= KRT_FLOW_TEXTURES;
			continue;
		}
		s->role = h->texture | h->surface;
		s->texture = h->texture;
		s->surface = h->surface;
	}
}

static bool has_order(const struct ptx_inst *in)
{
	return (ptx_inst_has(in, PTX_M_ACQUIRE) || ptx_inst_has(in, PTX_M_RELEASE) ||
		ptx_inst_has(in, PTX_M_ACQ_REL) || ptx_inst_has(in, PTX_M_SC)) &&
	       !ptx_inst_has(in, PTX_M_CTA);
}

static void inst_roles(struct roles *r, const struct fop *o)
{
	struct flow *fl = r->fl;
	const struct ptx_inst *in = o->in;
	enum ptx_space space = ptx_inst_space(in);
	uint32_t width = ptx_type_size(ptx_inst_type(in)) * in->vec;
	const struct ptx_operand *a, *b;
	unsigned kind;

	switch ((enum ptx_op)in->op) {
	case PTX_OP_UNKNOWN:
		fl->any = KRT_FLOW_ALL;
		fl->flags |= KRT_FLOW_UNKNOWN_INST;
		fl->broken = true;
		return;
	case PTX_OP_CALL:
		if (fl->flags & KRT_FLOW_UNKNOWN_CALL)
			fl->any = KRT_FLOW_ALL;
		return;
	case PTX_OP_GRIDDEPCONTROL:
		fl->flags |= ptx_inst_has(in, PTX_M_WAIT) ? KRT_FLOW_PDL_WAIT : KRT_FLOW_PDL_LAUNCH;
		return;
	case PTX_OP_MEMBAR:
	case PTX_OP_FENCE:
		if (!ptx_inst_has(in, PTX_M_CTA))
			fl->flags |= KRT_FLOW_ORDERED;
		return;
	case PTX_OP_TEX:
	case PTX_OP_TLD4:
	case PTX_OP_SULD:
	case PTX_OP_SUST:
	case PTX_OP_SURED:
		object(r, o);
		return;
	case PTX_OP_CP_BULK_TENSOR:
	case PTX_OP_CP_REDUCE_TENSOR:
		/* The map is the operand with coordinates; destination first. */
		a = bracket(in, 0);
		b = bracket(in, 1);
		if (a && a->n > 1) {
			kind = in->op == PTX_OP_CP_REDUCE_TENSOR ? KRT_FLOW_ATOMIC : KRT_FLOW_WRITE;
			b = a;
		} else {
			kind = KRT_FLOW_READ;
		}
		if (!b)
			fl->any = KRT_FLOW_ALL;
		else
			add_role(fl, r->slot_of, &r->slots, address_set(fl, o->inst, b), kind, true);
		return;
	case PTX_OP_TENSORMAP_REPLACE:
		/* A map made on the device: what it describes is not known. */
		fl->any |= KRT_FLOW_READ | KRT_FLOW_WRITE;
		access(r, o, bracket(in, 0),
		       in->mn->nspaces > 1 ? (enum ptx_space)in->mn->spaces[in->mn->nspaces - 1]
					   : space,
		       KRT_FLOW_WRITE, 128, false);
		return;
	case PTX_OP_LDMATRIX:
	case PTX_OP_STMATRIX:
	case PTX_OP_ST_ASYNC:
	case PTX_OP_ST_BULK:
	case PTX_OP_RED_ASYNC:
		return; /* shared memory only */
	case PTX_OP_DISCARD:
		access(r, o, bracket(in, 0), space, KRT_FLOW_WRITE, 128, false);
		return;
	default:
		break;
	}
	switch (ptx_op_mem((enum ptx_op)in->op)) {
	case PTX_MEM_READ:
	case PTX_MEM_WRITE:
	case PTX_MEM_ATOMIC: {
		bool plain = in->op == PTX_OP_LD || in->op == PTX_OP_LDU || in->op == PTX_OP_ST ||
			     in->op == PTX_OP_ATOM || in->op == PTX_OP_RED;

		kind = ptx_op_mem((enum ptx_op)in->op) == PTX_MEM_READ	  ? KRT_FLOW_READ
		       : ptx_op_mem((enum ptx_op)in->op) == PTX_MEM_WRITE ? KRT_FLOW_WRITE
									  : KRT_FLOW_ATOMIC;
		if (elsewhere(space))
			return;
		if (has_order(in))
			fl->flags |= KRT_FLOW_ORDERED;
		if (in->odd) {
			fl->any = KRT_FLOW_ALL;
			fl->flags |= KRT_FLOW_UNKNOWN_INST;
		}
		access(r, o, bracket(in, 0), space, kind, plain ? width : 0, plain && !in->odd);
		return;
	}
	case PTX_MEM_COPY:
	case PTX_MEM_COPY_RED: {
		enum ptx_space dst =
			in->mn->nspaces ? (enum ptx_space)in->mn->spaces[0] : PTX_SPACE_NONE;
		enum ptx_space src =
			in->mn->nspaces > 1 ? (enum ptx_space)in->mn->spaces[1] : PTX_SPACE_NONE;
		unsigned nops = in->nops - ptx_inst_has(in, PTX_M_L2_CACHE_HINT);
		struct acc *copy;
		bool known = in->op == PTX_OP_CP_ASYNC && in->nops >= 3 &&
			     in->ops[2].kind == PTX_O_INT && in->ops[2].imm > 0 &&
			     in->ops[2].imm <= 16;

		if (in->odd) {
			fl->any = KRT_FLOW_ALL;
			fl->flags |= KRT_FLOW_UNKNOWN_INST;
		}
		access(r, o, bracket(in, 0), dst,
		       ptx_op_mem((enum ptx_op)in->op) == PTX_MEM_COPY ? KRT_FLOW_WRITE
								      : KRT_FLOW_ATOMIC,
		       0, false);
		copy = access(r, o, bracket(in, 1), src, KRT_FLOW_READ,
			      known ? (uint32_t)in->ops[2].imm : 0, known && nops == 3);
		if (copy && known && nops == 4) { /* the rest is zero: less is read */
			const struct ptx_operand *x = &in->ops[3];

			copy->size = x;
			copy->none_if = x->kind == PTX_O_REG && x->reg < o->inst->f->nregs &&
				     o->inst->f->reg_types[x->reg] == PTX_PRED;
		}
		return;
	}
	case PTX_MEM_ANY:
		fl->any = KRT_FLOW_ALL;
		return;
	default:
		return;
	}
}

/* cas or exch of a constant into memory: a lock is taken, unlike a sum that is put back. */
static bool takes_lock(const struct ptx_inst *in)
{
	if (in->op != PTX_OP_ATOM)
		return false;
	if (ptx_inst_has(in, PTX_M_CAS))
		return in->nops == 4 && in->ops[2].kind == PTX_O_INT && in->ops[3].kind == PTX_O_INT;
	return ptx_inst_has(in, PTX_M_EXCH) && in->nops == 3 && in->ops[2].kind == PTX_O_INT;
}

/* A loop whose instructions look as if they wait for another thread. */
static void find_spins(struct flow *fl)
{
	for (uint32_t i = 0; i < fl->instances.n; i++) {
		const struct ptx_func *f = VEC(fl->instances, struct instance *)[i]->f;
		uint32_t last = NONE; /* the last waiting access */
		uint32_t lock = NONE;

		for (uint32_t k = 0; k < f->ninsts; k++) {
			const struct ptx_inst *in = &f->insts[k];
			uint32_t to;

			if (in->op != PTX_OP_LD && in->op != PTX_OP_ATOM && in->op != PTX_OP_BRA)
				continue;
			if (elsewhere(ptx_inst_space(in)))
				continue;
			if ((in->op == PTX_OP_LD && (ptx_inst_has(in, PTX_M_VOLATILE) ||
						     ptx_inst_has(in, PTX_M_RELAXED) ||
						     ptx_inst_has(in, PTX_M_MMIO) ||
						     ptx_inst_has(in, PTX_M_ACQUIRE))) ||
			    (in->op == PTX_OP_ATOM && (ptx_inst_has(in, PTX_M_CAS) ||
						       ptx_inst_has(in, PTX_M_EXCH))))
				last = k;
			if (takes_lock(in))
				lock = k;
			if (in->op != PTX_OP_BRA || last == NONE || in->ops[0].reg >= f->nlabels)
				continue;
			to = f->labels[in->ops[0].reg].inst;
			if (to <= last)
				fl->flags |= KRT_FLOW_SPINS;
			if (lock != NONE && to <= lock)
				fl->flags |= KRT_FLOW_LOCKS;
		}
	}
}

static void keep_loads(struct flow *fl, const uint32_t slot_of[])
{
	struct krt_flow_info *info = &fl->k->info;
	struct krt_flow_load *loads = flow_keep(fl, fl->bases.n * sizeof(*loads));
	uint32_t n = 0;

	for (uint32_t i = 0; i < fl->bases.n; i++) {
		const struct base b = VEC(fl->bases, struct base)[i];
		const struct base *from;
		const struct site *s;

		if (b.kind != BASE_LOADED || !b.b || !fl->load_role[i])
			continue;
		from = &VEC(fl->bases, struct base)[b.a];
		s = &VEC(fl->sites, struct site)[b.b - 1];
		loads[n++] = (struct krt_flow_load){
			.site = s->fop + 1,
			.slot = from->kind == BASE_GLOBAL ? KRT_FLOW_NO_SLOT : slot_of[b.a],
			.global = from->kind == BASE_GLOBAL ? from->a : 0,
			.word = s->word,
			.words = s->words,
			.role = fl->load_role[i],
		};
	}
	info->loads = loads;
	info->nloads = n;
}

void flow_roles(struct flow *fl)
{
	struct krt_flow_info *info = &fl->k->info;
	struct roles r = { .fl = fl };
	struct krt_flow_slot *slots;
	uint32_t *param_at;
	struct krt_flow_global *globals;
	uint32_t nbases;
	const struct set *esc;

	/* Every base that an address names, before they are counted. */
	for (uint32_t k = 0; k < fl->doing.n; k++) {
		const struct fop *o = &VEC(fl->fops, struct fop)[VEC(fl->doing, uint32_t)[k]];

		if (flow_param_space(o->in))
			continue;
		for (unsigned i = 0; i < o->in->nops; i++)
			if (o->in->ops[i].kind == PTX_O_ADDR)
				(void)address_set(fl, o->inst, &o->in->ops[i]);
	}
	nbases = fl->bases.n;
	r.slot_of = flow_alloc(fl, (MAX_BASES + 1) * sizeof(*r.slot_of));
	memset(r.slot_of, 0xff, (MAX_BASES + 1) * sizeof(*r.slot_of));
	fl->load_role = flow_alloc(fl, MAX_BASES + 1);
	for (uint32_t i = 0; i < nbases; i++) {
		const struct base *b = &VEC(fl->bases, struct base)[i];
		const struct ptx_var *v;
		struct krt_flow_slot *s;

		if (b->kind != BASE_SLOT && b->kind != BASE_PARAM)
			continue;
		for (uint32_t k = 0; k < r.slots.n && r.slot_of[i] == NONE; k++) {
			s = &VEC(r.slots, struct krt_flow_slot)[k];
			if (s->param == b->a && s->offset == b->b)
				r.slot_of[i] = k;
		}
		if (r.slot_of[i] != NONE)
			continue;
		v = fl->entry->params[b->a];
		r.slot_of[i] = r.slots.n;
		s = flow_push(fl, &r.slots, sizeof(*s));
		s->param = b->a;
		s->offset = b->b;
		s->size = (uint32_t)v->size;
		s->at = (uint32_t)v->offset + (b->b == KRT_FLOW_ANY ? 0 : b->b);
	}
	r.handle = flow_alloc(fl, r.slots.n * sizeof(*r.handle));
	for (uint32_t k = 0; k < fl->doing.n; k++) {
		r.fop = VEC(fl->doing, uint32_t)[k];
		inst_roles(&r, &VEC(fl->fops, struct fop)[r.fop]);
		if (fl->bases.n != nbases)
			longjmp(fl->out, KRT_FLOW_NO_MEMORY);
	}
	name_handles(&r);
	find_spins(fl);
	esc = &VEC(fl->sets, struct set)[fl->escaped];
	for (uint32_t i = 0; i < esc->n; i++)
		if (VEC(fl->bases, struct base)[esc->id[i]].kind == BASE_SLOT)
			VEC(r.slots, struct krt_flow_slot)[r.slot_of[esc->id[i]]].escapes = true;
	slots = flow_keep(fl, r.slots.n * sizeof(*slots));
	if (r.slots.n)
		memcpy(slots, r.slots.p, r.slots.n * sizeof(*slots));
	globals = flow_keep(fl, fl->globals.n * sizeof(*globals));
	for (uint32_t i = 0; i < fl->globals.n; i++) {
		const struct global *g = &VEC(fl->globals, struct global)[i];
		char *name = flow_keep(fl, strlen(g->var->name) + 1);

		strcpy(name, g->var->name);
		globals[i] = (struct krt_flow_global){.name = name,
						      .size = g->var->size,
						      .role = g->role,
						      .through = g->through,
						      .rest = g->rest,
						      .constant = g->var->space == PTX_SPACE_CONST,
						      .managed = g->var->managed,
						      .local = g->var->linkage == PTX_LINK_LOCAL};
	}
	keep_loads(fl, r.slot_of);
	info->slots = slots;
	info->nslots = r.slots.n;
	info->globals = globals;
	info->nglobals = fl->globals.n;
	info->flags = fl->flags;
	info->any = fl->any;
	info->nparams = fl->entry->nparams;
	param_at = flow_keep(fl, info->nparams * sizeof(*param_at));
	for (uint32_t i = 0; i < info->nparams; i++)
		param_at[i] = (uint32_t)fl->entry->params[i]->offset;
	info->param_at = param_at;
	info->param_bytes = fl->entry->param_bytes;
	info->accesses = fl->naccs;
}
