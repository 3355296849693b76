/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads, stores, atomics, address conversion, copies, stack memory.
 *
 * Naturally aligned elements are accessed whole, so that a flag that the CPU
 * writes is never seen half; atomics are atomic against the CPU as well.
 */
#include "exec_impl.h"

#define F_SIGNED 0x01
#define F_FENCE	 0x02 /* acquire, release, volatile: order against other threads of the process */

/* ---- loads and stores ---- */

static inline uint64_t load_bits(const void *p, unsigned size)
{
	switch (size) {
	case 1:
		return *(const volatile uint8_t *)p;
	case 2:
		return *(const volatile uint16_t *)p;
	case 4:
		return *(const volatile uint32_t *)p;
	default:
		return *(const volatile uint64_t *)p;
	}
}

static inline void store_bits(void *p, unsigned size, uint64_t v)
{
	switch (size) {
	case 1:
		*(volatile uint8_t *)p = (uint8_t)v;
		break;
	case 2:
		*(volatile uint16_t *)p = (uint16_t)v;
		break;
	case 4:
		*(volatile uint32_t *)p = (uint32_t)v;
		break;
	default:
		*(volatile uint64_t *)p = v;
		break;
	}
}

static inline uint64_t extend_bits(uint64_t v, unsigned size, bool sign)
{
	if (!sign)
		return v;
	switch (size) {
	case 1:
		return (uint64_t)(int8_t)v;
	case 2:
		return (uint64_t)(int16_t)v;
	case 4:
		return (uint64_t)(int32_t)v;
	default:
		return v;
	}
}

/* A parameter block keeps natural alignment relative to its own start, which is aligned. */
static inline bool aligned(uint64_t addr, unsigned size)
{
	return !(addr & (size - 1));
}

static enum step ld_one(struct thread *t, const struct dop *d)
{
	uint64_t addr = exec_address(t, d);
	const void *p;

	if (!aligned(addr, d->size))
		return exec_raise(t, d, EXEC_FAULT_MISALIGNED, addr, d->size, EXEC_READ);
	p = exec_access(t, d, d->space, addr, d->size, EXEC_READ);
	if (!p)
		return STEP_FAULT;
	if (d->flags & F_FENCE)
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
	t->regs[d->dst] = extend_bits(load_bits(p, d->size), d->size, d->flags & F_SIGNED);
	return STEP_NEXT;
}

static enum step st_one(struct thread *t, const struct dop *d)
{
	uint64_t addr = exec_address(t, d);
	void *p;

	if (!aligned(addr, d->size))
		return exec_raise(t, d, EXEC_FAULT_MISALIGNED, addr, d->size, EXEC_WRITE);
	p = exec_access(t, d, d->space, addr, d->size, EXEC_WRITE);
	if (!p)
		return STEP_FAULT;
	store_bits(p, d->size, val(t, d->b));
	if (d->flags & F_FENCE)
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return STEP_NEXT;
}

/* Vectors and 128-bit values: aux lists the slots, one per element of size bytes. */
static enum step ld_vec(struct thread *t, const struct dop *d)
{
	uint64_t addr = exec_address(t, d), v[8];
	unsigned total = d->size * d->n;
	const int32_t *slots = d->aux;
	const char *p;

	if (!aligned(addr, total))
		return exec_raise(t, d, EXEC_FAULT_MISALIGNED, addr, total, EXEC_READ);
	p = exec_access(t, d, d->space, addr, total, EXEC_READ);
	if (!p)
		return STEP_FAULT;
	if (d->flags & F_FENCE)
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
	/* The address may be in a register that is overwritten. */
	for (unsigned i = 0; i < d->n; i++)
		v[i] = extend_bits(load_bits(p + i * d->size, d->size), d->size,
				   d->flags & F_SIGNED);
	for (unsigned i = 0; i < d->n; i++)
		if (slots[i] != NO_SLOT)
			t->regs[slots[i]] = v[i];
	return STEP_NEXT;
}

static enum step st_vec(struct thread *t, const struct dop *d)
{
	uint64_t addr = exec_address(t, d);
	unsigned total = d->size * d->n;
	const int32_t *slots = d->aux;
	char *p;

	if (!aligned(addr, total))
		return exec_raise(t, d, EXEC_FAULT_MISALIGNED, addr, total, EXEC_WRITE);
	p = exec_access(t, d, d->space, addr, total, EXEC_WRITE);
	if (!p)
		return STEP_FAULT;
	for (unsigned i = 0; i < d->n; i++)
		store_bits(p + i * d->size, d->size, val(t, slots[i]));
	if (d->flags & F_FENCE)
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return STEP_NEXT;
}

static bool memory_space(enum ptx_space s)
{
	switch (ptx_space_base(s)) {
	case PTX_SPACE_NONE:
	case PTX_SPACE_GLOBAL:
	case PTX_SPACE_CONST:
	case PTX_SPACE_LOCAL:
	case PTX_SPACE_PARAM:
	case PTX_SPACE_SHARED:
		return true;
	default:
		return false;
	}
}

static bool decode_access(struct decoder *d, const struct ptx_inst *in, bool load)
{
	enum ptx_space space = ptx_inst_space(in);
	enum ptx_type type = in->mn->types[0];
	const struct ptx_operand *value, *addr;
	unsigned size = ptx_type_size(type), n = in->vec;
	struct dop where = { .pred = -1 }, *op;
	bool fence;

	/* A cache policy may follow. */
	if (in->mn->ntypes != 1 || !d_need(d, in, 2, 3) || !memory_space(space))
		return false;
	if (in->nops == 3 && !ptx_inst_has(in, PTX_M_L2_CACHE_HINT) &&
	    !ptx_inst_has(in, PTX_M_UNIFIED))
		return false;
	if (ptx_type_bits(type) < 8 || ptx_type_kind(type) == PTX_KIND_OPAQUE)
		return false;
	value = &in->ops[load ? 0 : 1];
	addr = &in->ops[load ? 1 : 0];
	if (!d_addr(d, addr, space, &where))
		return false;
	fence = ptx_inst_has(in, PTX_M_ACQUIRE) || ptx_inst_has(in, PTX_M_RELEASE) ||
		ptx_inst_has(in, PTX_M_VOLATILE) || ptx_inst_has(in, PTX_M_MMIO);
	if (n == 1 && value->kind == PTX_O_VEC && value->n == 1)
		value = &value->elem[0];
	if (n == 1 && type != PTX_B128) {
		int32_t slot = !load			? d_value(d, value, type)
			       : value == &in->ops[0] ? d_dst(d, in, 0)
						      : d_reg(d, value);

		op = d_emit(d, load ? ld_one : st_one);
		if (load)
			op->dst = slot;
		else
			op->b = slot;
	} else {
		int32_t *slots;

		if (type == PTX_B128) {
			if (n != 1 || value->kind != PTX_O_REG)
				return false;
			n = 2;
			size = 8;
			slots = d_own(d, 2 * sizeof(*slots));
			if (!slots)
				return false;
			slots[0] = d_reg128(d, value);
			slots[1] = slots[0] + 1;
		} else {
			if (value->kind != PTX_O_VEC || value->n != n || n > 8 || size * n > 32)
				return false;
			slots = d_own(d, n * sizeof(*slots));
			if (!slots)
				return false;
			for (unsigned i = 0; i < n; i++) {
				const struct ptx_operand *e = &value->elem[i];

				if (e->kind == PTX_O_SINK && load)
					slots[i] = NO_SLOT;
				else
					slots[i] = load ? d_reg(d, e) : d_value(d, e, type);
			}
		}
		op = d_emit(d, load ? ld_vec : st_vec);
		op->aux = slots;
	}
	op->base = where.base;
	op->space = where.space;
	op->a = where.a;
	op->imm = where.imm;
	op->index = where.index;
	op->flags = where.flags | (ptx_type_kind(type) == PTX_KIND_SIGNED ? F_SIGNED : 0) |
		    (fence ? F_FENCE : 0);
	op->size = (uint8_t)size;
	op->n = (uint8_t)n;
	op->type = (uint8_t)type;
	return !d->failed;
}

bool decode_LD(struct decoder *d, const struct ptx_inst *in)
{
	return decode_access(d, in, true);
}

bool decode_ST(struct decoder *d, const struct ptx_inst *in)
{
	return decode_access(d, in, false);
}

/* ---- atomics ---- */

enum aop {
	AOP_ADD,
	AOP_MIN,
	AOP_MAX,
	AOP_EXCH,
	AOP_CAS,
	AOP_AND,
	AOP_OR,
	AOP_XOR,
	AOP_INC,
	AOP_DEC
};

static float f16_add(uint16_t a, uint16_t b, bool bf)
{
	return bf ? exec_bf16_float(a) + exec_bf16_float(b)
		  : exec_half_float(a) + exec_half_float(b);
}

static uint16_t half_add(uint16_t a, uint16_t b, bool bf)
{
	float r = f16_add(a, b, bf);

	return bf ? exec_float_bf16(r) : exec_float_half((double)r);
}

/* What the memory holds after the operation. */
static uint64_t atomic_value(enum aop aop, enum ptx_type type, uint64_t old, uint64_t b, uint64_t c)
{
	switch (type) {
	case PTX_F32:
		if (aop == AOP_ADD)
			return float_bits(bits_float(old) + bits_float(b));
		break;
	case PTX_F64:
		if (aop == AOP_ADD)
			return double_bits(bits_double(old) + bits_double(b));
		break;
	case PTX_F16:
	case PTX_BF16:
		return half_add((uint16_t)old, (uint16_t)b, type == PTX_BF16);
	case PTX_F16X2:
	case PTX_BF16X2:
		return half_add((uint16_t)old, (uint16_t)b, type == PTX_BF16X2) |
		       (uint64_t)half_add((uint16_t)(old >> 16), (uint16_t)(b >> 16),
					  type == PTX_BF16X2)
			       << 16;
	default:
		break;
	}
	switch (aop) {
	case AOP_ADD:
		return old + b;
	case AOP_MIN:
		if (type == PTX_S32)
			return (int32_t)old < (int32_t)b ? old : b;
		if (type == PTX_S64)
			return (int64_t)old < (int64_t)b ? old : b;
		return old < b ? old : b;
	case AOP_MAX:
		if (type == PTX_S32)
			return (int32_t)old > (int32_t)b ? old : b;
		if (type == PTX_S64)
			return (int64_t)old > (int64_t)b ? old : b;
		return old > b ? old : b;
	case AOP_EXCH:
		return b;
	case AOP_CAS:
		return old == b ? c : old;
	case AOP_AND:
		return old & b;
	case AOP_OR:
		return old | b;
	case AOP_XOR:
		return old ^ b;
	case AOP_INC:
		return old >= b ? 0 : old + 1;
	case AOP_DEC:
		return old == 0 || old > b ? b : old - 1;
	}
	return old;
}

#define GEN_ATOMIC(BITS)                                                                           \
	static uint64_t atomic_##BITS(void *p, enum aop aop, enum ptx_type type, uint64_t b,       \
				      uint64_t c)                                                  \
	{                                                                                          \
		uint##BITS##_t old = __atomic_load_n((uint##BITS##_t *)p, __ATOMIC_SEQ_CST), new;  \
                                                                                                   \
		do                                                                                 \
			new = (uint##BITS##_t)atomic_value(aop, type, old, (uint##BITS##_t)b,      \
							   (uint##BITS##_t)c);                     \
		while (!__atomic_compare_exchange_n((uint##BITS##_t *)p, &old, new, false,         \
						    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));          \
		return old;                                                                        \
	}
GEN_ATOMIC(16)
GEN_ATOMIC(32)
GEN_ATOMIC(64)

#define ACCESS_ATOMIC (EXEC_READ | EXEC_WRITE | EXEC_ATOMIC)

static enum step atomic_op(struct thread *t, const struct dop *d)
{
	uint64_t addr = exec_address(t, d), b = val(t, d->b), c = val(t, d->c), old;
	void *p;

	if (!aligned(addr, d->size))
		return exec_raise(t, d, EXEC_FAULT_MISALIGNED, addr, d->size, ACCESS_ATOMIC);
	p = exec_access(t, d, d->space, addr, d->size, ACCESS_ATOMIC);
	if (!p)
		return STEP_FAULT;
	if (d->size == 8)
		old = atomic_64(p, d->sub, d->type, b, c);
	else if (d->size == 4)
		old = atomic_32(p, d->sub, d->type, b, c);
	else
		old = atomic_16(p, d->sub, d->type, b, c);
	if (d->dst != NO_SLOT)
		t->regs[d->dst] = d->type == PTX_S32 ? (uint64_t)(int32_t)old : old;
	return STEP_NEXT;
}

/* atom.v2.f32 and relatives: each element atomic on its own. */
static enum step atomic_vec(struct thread *t, const struct dop *d)
{
	uint64_t addr = exec_address(t, d), old[8];
	const int32_t *slots = d->aux; /* n sources, then n destinations */
	unsigned total = d->size * d->n;
	char *p;

	if (!aligned(addr, total))
		return exec_raise(t, d, EXEC_FAULT_MISALIGNED, addr, total, ACCESS_ATOMIC);
	p = exec_access(t, d, d->space, addr, total, ACCESS_ATOMIC);
	if (!p)
		return STEP_FAULT;
	for (unsigned i = 0; i < d->n; i++) {
		uint64_t b = val(t, slots[i]);

		old[i] = d->size == 4 ? atomic_32(p + 4 * i, d->sub, d->type, b, 0) :
					atomic_16(p + 2 * i, d->sub, d->type, b, 0);
	}
	for (unsigned i = 0; i < d->n; i++)
		if (slots[d->n + i] != NO_SLOT)
			t->regs[slots[d->n + i]] = old[i];
	return STEP_NEXT;
}

static bool atomic_legal(enum aop aop, enum ptx_type type)
{
	unsigned bits = ptx_type_bits(type);

	switch (aop) {
	case AOP_ADD:
		switch (type) {
		case PTX_U32: case PTX_S32: case PTX_U64: case PTX_S64: case PTX_F32: case PTX_F64:
		case PTX_F16: case PTX_BF16: case PTX_F16X2: case PTX_BF16X2:
			return true;
		default:
			return false;
		}
	case AOP_MIN:
	case AOP_MAX:
		return type == PTX_U32 || type == PTX_S32 || type == PTX_U64 || type == PTX_S64;
	case AOP_INC:
	case AOP_DEC:
		return type == PTX_U32;
	case AOP_CAS:
		return ptx_type_kind(type) <= PTX_KIND_SIGNED &&
		       (bits == 16 || bits == 32 || bits == 64);
	case AOP_EXCH:
	case AOP_AND:
	case AOP_OR:
	case AOP_XOR:
		return ptx_type_kind(type) <= PTX_KIND_SIGNED && (bits == 32 || bits == 64);
	}
	return false;
}

bool decode_ATOM(struct decoder *d, const struct ptx_inst *in)
{
	static const struct {
		uint16_t mod;
		uint8_t aop;
	} map[] = {
		{PTX_M_ADD, AOP_ADD},	{PTX_M_MIN, AOP_MIN}, {PTX_M_MAX, AOP_MAX},
		{PTX_M_EXCH, AOP_EXCH}, {PTX_M_CAS, AOP_CAS}, {PTX_M_AND, AOP_AND},
		{PTX_M_OR, AOP_OR},	{PTX_M_XOR, AOP_XOR}, {PTX_M_INC, AOP_INC},
		{PTX_M_DEC, AOP_DEC},
	};
	enum ptx_space space = ptx_inst_space(in);
	enum ptx_type type = in->mn->types[0];
	bool red = in->op == PTX_OP_RED, found = false,
	     hint = ptx_inst_has(in, PTX_M_L2_CACHE_HINT);
	unsigned first = red ? 0 : 1, need;
	struct dop where = { .pred = -1 }, *op;
	enum aop aop = AOP_ADD;
	int32_t b, c = 0;

	for (size_t i = 0; i < sizeof(map) / sizeof(map[0]); i++) {
		if (ptx_inst_has(in, map[i].mod)) {
			aop = map[i].aop;
			found = true;
		}
	}
	if (!found || in->mn->ntypes != 1 || !atomic_legal(aop, type) || !memory_space(space) ||
	    (ptx_space_base(space) != PTX_SPACE_NONE && ptx_space_base(space) != PTX_SPACE_GLOBAL &&
	     ptx_space_base(space) != PTX_SPACE_SHARED))
		return false;
	need = first + (aop == AOP_CAS ? 3 : 2);
	if (!d_need(d, in, need, need + hint) || !d_addr(d, &in->ops[first], space, &where))
		return false;
	if (in->vec > 1) {
		const struct ptx_operand *src = &in->ops[first + 1],
					 *dst = red ? NULL : &in->ops[0];
		int32_t *slots = d_own(d, 2 * in->vec * sizeof(*slots));

		if (!slots || ptx_type_size(type) > 4 || src->kind != PTX_O_VEC ||
		    src->n != in->vec || (dst && (dst->kind != PTX_O_VEC || dst->n != in->vec)))
			return false;
		for (unsigned i = 0; i < in->vec; i++) {
			slots[i] = d_value(d, &src->elem[i], type);
			slots[in->vec + i] = !dst || dst->elem[i].kind == PTX_O_SINK ? NO_SLOT :
					     d_reg(d, &dst->elem[i]);
		}
		op = d_emit(d, atomic_vec);
		op->aux = slots;
		op->n = in->vec;
	} else {
		int32_t dst = NO_SLOT;

		b = d_src(d, in, first + 1, type);
		if (aop == AOP_CAS)
			c = d_src(d, in, first + 2, type);
		if (!red)
			dst = d_dst(d, in, 0);
		op = d_emit(d, atomic_op);
		op->b = b;
		op->c = c;
		op->dst = dst;
	}
	op->base = where.base;
	op->space = where.space;
	op->a = where.a;
	op->imm = where.imm;
	op->index = where.index;
	op->flags = where.flags;
	op->size = (uint8_t)ptx_type_size(type);
	op->type = (uint8_t)type;
	op->sub = (uint8_t)aop;
	return !d->failed;
}

/* ---- address conversion ---- */

static enum step cvta_shared(struct thread *t, const struct dop *d)
{
	uint64_t a = val(t, d->a), base = (uint64_t)(uintptr_t)t->block->shared;

	t->regs[d->dst] = d->flags ? a - base : (a & UINT32_MAX) + base;
	return STEP_NEXT;
}

static enum step copy_op(struct thread *t, const struct dop *d)
{
	t->regs[d->dst] = val(t, d->a);
	return STEP_NEXT;
}

bool decode_CVTA(struct decoder *d, const struct ptx_inst *in)
{
	enum ptx_space space = ptx_space_base(ptx_inst_space(in));
	int32_t a, dst;
	struct dop *op;

	if (!d_need(d, in, 2, 2) || !memory_space(space) || space == PTX_SPACE_NONE ||
	    ptx_type_bits(in->mn->types[0]) != 64)
		return false;
	a = d_src(d, in, 1, PTX_U64);
	dst = d_dst(d, in, 0);
	op = d_emit(d, space == PTX_SPACE_SHARED ? cvta_shared : copy_op);
	op->a = a;
	op->dst = dst;
	op->flags = ptx_inst_has(in, PTX_M_TO);
	return !d->failed;
}

static enum step isspacep(struct thread *t, const struct dop *d)
{
	const struct exec_launch *l = t->block->launch;
	uint64_t a = val(t, d->a);
	bool shared = a - (uint64_t)(uintptr_t)t->block->shared < l->shared_size;
	bool local = a - (uint64_t)(uintptr_t)t->stack < l->stack_size && t->stack;
	bool param = a - (uint64_t)(uintptr_t)l->params < l->params_size;
	bool constant = false, r;

	for (uint32_t i = 0; i < l->em->nglobals && !constant; i++)
		constant = l->em->globals[i].v->space == PTX_SPACE_CONST &&
			   a - l->em->globals[i].addr < l->em->globals[i].v->size;
	switch ((enum ptx_space)d->space) {
	case PTX_SPACE_SHARED:
		r = shared;
		break;
	case PTX_SPACE_LOCAL:
		r = local;
		break;
	case PTX_SPACE_PARAM:
		r = param;
		break;
	case PTX_SPACE_CONST:
		r = constant;
		break;
	default:
		r = !shared && !local && !param && !constant;
		break;
	}
	t->regs[d->dst] = r;
	return STEP_NEXT;
}

bool decode_ISSPACEP(struct decoder *d, const struct ptx_inst *in)
{
	enum ptx_space space = ptx_space_base(ptx_inst_space(in));
	int32_t a, dst;
	struct dop *op;

	if (!d_need(d, in, 2, 2) || !memory_space(space) || space == PTX_SPACE_NONE)
		return false;
	a = d_src(d, in, 1, PTX_U64);
	dst = d_dst(d, in, 0);
	op = d_emit(d, isspacep);
	op->a = a;
	op->dst = dst;
	op->space = (uint8_t)space;
	return !d->failed;
}

/* ---- cp.async: done at once; commit and wait have nothing left to do ---- */

static enum step cp_async(struct thread *t, const struct dop *d)
{
	const struct dop *src = d->aux;
	uint64_t to = exec_address(t, d), from = exec_address(t, src);
	unsigned n = d->size, copy = n;
	char buf[16];
	void *q;

	if (!aligned(to, n) || !aligned(from, n))
		return exec_raise(t, d, EXEC_FAULT_MISALIGNED, aligned(to, n) ? from : to, n,
				  aligned(to, n) ? EXEC_READ : EXEC_WRITE);
	if (d->b != NO_SLOT) {
		uint64_t k = val(t, d->b);

		/* A size, or a predicate that says to ignore the source. */
		copy = d->sub		 ? (((k & 1) != 0) != (d->flags & 1) ? 0 : n)
		       : (uint32_t)k < n ? (uint32_t)k
					 : n;
	}
	memset(buf, 0, sizeof(buf));
	if (copy) {
		const void *p = exec_access(t, d, src->space, from, copy, EXEC_READ);

		if (!p)
			return STEP_FAULT;
		memcpy(buf, p, copy);
	}
	q = exec_access(t, d, d->space, to, n, EXEC_WRITE);
	if (!q)
		return STEP_FAULT;
	memcpy(q, buf, n);
	return STEP_NEXT;
}

bool decode_CP_ASYNC(struct decoder *d, const struct ptx_inst *in)
{
	bool hint = ptx_inst_has(in, PTX_M_L2_CACHE_HINT), neg = false, pred = false;
	struct dop to = { .pred = -1 }, from = { .pred = -1 }, *op, *src;
	int32_t b = NO_SLOT;

	if (!d_need(d, in, 3, 5) || in->mn->nspaces != 2 ||
	    ptx_space_base(in->mn->spaces[0]) != PTX_SPACE_SHARED ||
	    in->mn->spaces[1] != PTX_SPACE_GLOBAL || in->ops[2].kind != PTX_O_INT)
		return false;
	if (in->ops[2].imm != 4 && in->ops[2].imm != 8 && in->ops[2].imm != 16)
		return false;
	if (in->nops - hint > 3) {
		const struct ptx_operand *o = &in->ops[3];

		pred = o->kind == PTX_O_REG && d->f->reg_types[o->reg] == PTX_PRED;
		b = pred ? d_pred(d, o, &neg) : d_value(d, o, PTX_U32);
	}
	if (!d_addr(d, &in->ops[0], PTX_SPACE_SHARED, &to) ||
	    !d_addr(d, &in->ops[1], PTX_SPACE_GLOBAL, &from))
		return false;
	src = d_own(d, sizeof(*src));
	if (!src)
		return false;
	*src = from;
	op = d_emit(d, cp_async);
	op->base = to.base;
	op->space = to.space;
	op->a = to.a;
	op->imm = to.imm;
	op->index = to.index;
	op->flags = to.flags | neg;
	op->b = b;
	op->sub = pred;
	op->size = (uint8_t)in->ops[2].imm;
	op->aux = src;
	return !d->failed;
}

bool decode_POLICY(struct decoder *d, const struct ptx_inst *in)
{
	int32_t dst = d_dst(d, in, 0);
	struct dop *op = d_emit(d, copy_op);

	op->a = d_const(d, 0);
	op->dst = dst;
	return !d->failed;
}

/* ---- stack ---- */

static enum step alloca_op(struct thread *t, const struct dop *d)
{
	uint64_t size = val(t, d->a), align = val(t, d->b);
	uint8_t *p;

	if (!align || align & (align - 1) || align > 4096)
		align = 16;
	p = (uint8_t *)(((uintptr_t)t->sp + align - 1) & ~(uintptr_t)(align - 1));
	if (p > t->stack_end || size > (uint64_t)(t->stack_end - p))
		return exec_raise(t, d, EXEC_FAULT_STACK, 0, (size_t)size, 0);
	t->sp = p + ((size + 15) & ~UINT64_C(15));
	if (t->sp > t->stack_end)
		t->sp = t->stack_end;
	t->regs[d->dst] = (uint64_t)(uintptr_t)p;
	return STEP_NEXT;
}

bool decode_ALLOCA(struct decoder *d, const struct ptx_inst *in)
{
	int32_t a, b, dst;
	struct dop *op;

	if (!d_need(d, in, 2, 3))
		return false;
	a = d_src(d, in, 1, PTX_U64);
	b = in->nops == 3 ? d_src(d, in, 2, PTX_U32) : d_const(d, 8);
	dst = d_dst(d, in, 0);
	op = d_emit(d, alloca_op);
	op->a = a;
	op->b = b;
	op->dst = dst;
	d->e->needs_stack = true;
	return !d->failed;
}

static enum step stacksave(struct thread *t, const struct dop *d)
{
	t->regs[d->dst] = (uint64_t)(uintptr_t)t->sp;
	return STEP_NEXT;
}

static enum step stackrestore(struct thread *t, const struct dop *d)
{
	uint8_t *sp = (uint8_t *)(uintptr_t)val(t, d->a),
		*low = t->base ? t->base + t->frame->f->frame_size : t->stack;

	if (sp < low || sp > t->stack_end)
		return exec_raise(t, d, EXEC_FAULT_STACK, (uint64_t)(uintptr_t)sp, 0, 0);
	t->sp = sp;
	return STEP_NEXT;
}

bool decode_STACKSAVE(struct decoder *d, const struct ptx_inst *in)
{
	int32_t dst = d_dst(d, in, 0);

	d_emit(d, stacksave)->dst = dst;
	d->e->needs_stack = true;
	return !d->failed;
}

bool decode_STACKRESTORE(struct decoder *d, const struct ptx_inst *in)
{
	int32_t a = d_src(d, in, 0, PTX_U64);

	d_emit(d, stackrestore)->a = a;
	return !d->failed;
}
