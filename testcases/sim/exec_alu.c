/* SPDX-License-Identifier: Apache-2.0 */
/* Integer, logic, shift, selection and move instructions; dispatch of arithmetic on floats to
 * exec_float.c. */
#include "exec_impl.h"
#include "exec_float.h"

_Static_assert(PTX_OP_COUNT <= 255, "an opcode fits dop.sub");

#define A(T) ((T)val(t, d->a))
#define B(T) ((T)val(t, d->b))
#define C(T) ((T)val(t, d->c))
#define OUT(T, v) do { t->regs[d->dst] = (uint64_t)(T)(v); return STEP_NEXT; } while (0)
#define OP(NAME, T, EXPR) \
	static enum step NAME(struct thread *t, const struct dop *d) { OUT(T, EXPR); }

#define U_TYPES(F) F(u16, uint16_t) F(u32, uint32_t) F(u64, uint64_t)
#define S_TYPES(F) F(s16, int16_t) F(s32, int32_t) F(s64, int64_t)
#define TYPES(F) U_TYPES(F) S_TYPES(F)

/* Signed overflow wraps: all sums are made in unsigned types. */
#define GEN_ADD(N, T) OP(add_##N, T, (T)(A(uint64_t) + B(uint64_t)))
#define GEN_SUB(N, T) OP(sub_##N, T, (T)(A(uint64_t) - B(uint64_t)))
#define GEN_MUL(N, T) OP(mul_##N, T, (T)(A(uint64_t) * B(uint64_t)))
#define GEN_MAD(N, T) OP(mad_##N, T, (T)(A(uint64_t) * B(uint64_t) + C(uint64_t)))
TYPES(GEN_ADD)
TYPES(GEN_SUB)
TYPES(GEN_MUL)
TYPES(GEN_MAD)

/* Division by zero is undefined in PTX; here it gives what current hardware gives. */
#define GEN_DIVU(N, T) \
	OP(div_##N, T, B(T) == 0 ? (T)-1 : A(T) / B(T)) \
	OP(rem_##N, T, B(T) == 0 ? A(T) : A(T) % B(T))
#define GEN_DIVS(N, T) \
	OP(div_##N, T, B(T) == 0 ? (T)-1 : B(T) == -1 ? (T)(0 - A(uint64_t)) : A(T) / B(T)) \
	OP(rem_##N, T, B(T) == 0 ? A(T) : B(T) == -1 ? 0 : A(T) % B(T))
U_TYPES(GEN_DIVU)
S_TYPES(GEN_DIVS)
#define GEN_MIN(N, T) OP(min_##N, T, A(T) < B(T) ? A(T) : B(T))
#define GEN_MAX(N, T) OP(max_##N, T, A(T) > B(T) ? A(T) : B(T))
TYPES(GEN_MIN)
TYPES(GEN_MAX)
#define GEN_ABS(N, T) OP(abs_##N, T, A(T) < 0 ? (T)(0 - A(uint64_t)) : A(T))
#define GEN_NEG(N, T) OP(neg_##N, T, (T)(0 - A(uint64_t)))
S_TYPES(GEN_ABS)
S_TYPES(GEN_NEG)
#define GEN_SAD(N, T)                                                                              \
	OP(sad_##N, T,                                                                             \
	   (T)(C(uint64_t) +                                                                       \
	       (A(T) < B(T) ? B(uint64_t) - A(uint64_t) : A(uint64_t) - B(uint64_t))))
TYPES(GEN_SAD)

#define GEN_LOGIC(N, T) \
	OP(and_##N, T, A(T) & B(T)) \
	OP(or_##N, T, A(T) | B(T)) \
	OP(xor_##N, T, A(T) ^ B(T)) \
	OP(not_##N, T, ~A(T)) \
	OP(cnot_##N, T, A(T) == 0) \
	OP(shl_##N, T, B(uint32_t) < sizeof(T) * 8 ? (T)(A(uint64_t) << B(uint32_t)) : 0) \
	OP(shr_##N, T, B(uint32_t) < sizeof(T) * 8 ? A(T) >> B(uint32_t) : 0)
U_TYPES(GEN_LOGIC)
#define GEN_SAR(N, T)                                                                              \
	OP(shr_##N, T, A(T) >> (B(uint32_t) < sizeof(T) * 8 ? B(uint32_t) : sizeof(T) * 8 - 1))
S_TYPES(GEN_SAR)
OP(and_pred, uint8_t, A(uint8_t) & B(uint8_t) & 1)
OP(or_pred, uint8_t, (A(uint8_t) | B(uint8_t)) & 1)
OP(xor_pred, uint8_t, (A(uint8_t) ^ B(uint8_t)) & 1)
OP(not_pred, uint8_t, ~A(uint8_t) & 1)

/* A table per operation: type -> function.  Bit types share the unsigned ones. */
#define U_ROWS(OPN) [PTX_U16] = OPN##_u16, [PTX_U32] = OPN##_u32, [PTX_U64] = OPN##_u64
#define S_ROWS(OPN) [PTX_S16] = OPN##_s16, [PTX_S32] = OPN##_s32, [PTX_S64] = OPN##_s64
#define B_ROWS(OPN) [PTX_B16] = OPN##_u16, [PTX_B32] = OPN##_u32, [PTX_B64] = OPN##_u64
#define ROWS(OPN) U_ROWS(OPN), S_ROWS(OPN)

static const op_fn add_fns[PTX_TYPE_COUNT] = { ROWS(add) };
static const op_fn sub_fns[PTX_TYPE_COUNT] = { ROWS(sub) };
static const op_fn mul_fns[PTX_TYPE_COUNT] = { ROWS(mul) };
static const op_fn mad_fns[PTX_TYPE_COUNT] = { ROWS(mad) };
static const op_fn div_fns[PTX_TYPE_COUNT] = { ROWS(div) };
static const op_fn min_fns[PTX_TYPE_COUNT] = { ROWS(min) };
static const op_fn max_fns[PTX_TYPE_COUNT] = { ROWS(max) };

/* ---- saturating, carries ---- */

static int32_t clamp32(int64_t v)
{
	return v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : (int32_t)v;
}

OP(add_sat, int32_t, clamp32((int64_t)A(int32_t) + B(int32_t)))
OP(sub_sat, int32_t, clamp32((int64_t)A(int32_t) - B(int32_t)))

#define F_CC_IN   1u
#define F_CC_OUT  2u

#define GEN_CARRY(N, T, W) \
static enum step addc_##N(struct thread *t, const struct dop *d) \
{ \
	W r = (W)A(T) + B(T) + (d->flags & F_CC_IN && t->cc); \
	if (d->flags & F_CC_OUT) \
		t->cc = (r >> sizeof(T) * 8) & 1; \
	OUT(T, r); \
} \
static enum step subc_##N(struct thread *t, const struct dop *d) \
{ \
	/* The flag holds the borrow. */ \
	W r = (W)A(T) - B(T) - (d->flags & F_CC_IN && t->cc); \
	if (d->flags & F_CC_OUT) \
		t->cc = (r >> sizeof(T) * 8) & 1; \
	OUT(T, r); \
} \
static enum step madc_lo_##N(struct thread *t, const struct dop *d) \
{ \
	T p = (T)(A(T) * B(T)); \
	W r = (W)p + C(T) + (d->flags & F_CC_IN && t->cc); \
	if (d->flags & F_CC_OUT) \
		t->cc = (r >> sizeof(T) * 8) & 1; \
	OUT(T, r); \
}
typedef unsigned __int128 u128;
typedef __int128 s128;
GEN_CARRY(u32, uint32_t, uint64_t)
GEN_CARRY(u64, uint64_t, u128)

#define GEN_MADC_HI(N, T, U, W, UW) \
static enum step madc_hi_##N(struct thread *t, const struct dop *d) \
{ \
	U p = (U)(((W)A(T) * (W)B(T)) >> sizeof(T) * 8); \
	UW r = (UW)p + C(U) + (d->flags & F_CC_IN && t->cc); \
	if (d->flags & F_CC_OUT) \
		t->cc = (r >> sizeof(T) * 8) & 1; \
	OUT(T, r); \
}
GEN_MADC_HI(u32, uint32_t, uint32_t, uint64_t, uint64_t)
GEN_MADC_HI(s32, int32_t, uint32_t, int64_t, uint64_t)
GEN_MADC_HI(u64, uint64_t, uint64_t, u128, u128)
GEN_MADC_HI(s64, int64_t, uint64_t, s128, u128)

static enum ptx_type as_unsigned(enum ptx_type t)
{
	switch (t) {
	case PTX_S16: case PTX_B16: return PTX_U16;
	case PTX_S32: case PTX_B32: return PTX_U32;
	case PTX_S64: case PTX_B64: return PTX_U64;
	case PTX_S8: case PTX_B8: return PTX_U8;
	default: return t;
	}
}

/* Emits fn with a destination and n sources of one type. */
static bool emit_n(struct decoder *d, const struct ptx_inst *in, op_fn fn, enum ptx_type type,
		   unsigned n)
{
	int32_t s[4] = { 0 }, dst;
	struct dop *op;

	if (!fn)
		return d_fail(d, "this form is not supported");
	if (!d_need(d, in, n + 1, n + 1))
		return false;
	for (unsigned i = 0; i < n; i++)
		s[i] = d_src(d, in, i + 1, type);
	dst = d_dst(d, in, 0);
	op = d_emit(d, fn);
	op->dst = dst;
	op->a = s[0];
	op->b = s[1];
	op->c = s[2];
	op->e = s[3];
	op->type = (uint8_t)type;
	return !d->failed;
}

static struct dop *last(struct decoder *d)
{
	return &d->code[d->ncode - 1];
}

bool decode_ADD(struct decoder *d, const struct ptx_inst *in)
{
	enum ptx_type type = in->mn->types[0];
	bool add = in->op == PTX_OP_ADD || in->op == PTX_OP_ADDC;
	bool carry = in->op == PTX_OP_ADDC || in->op == PTX_OP_SUBC,
	     cc = ptx_inst_has(in, PTX_M_CC);

	if (exec_float_type(type))
		return exec_float_binary(d, in, add ? FLOAT_ADD : FLOAT_SUB);
	if (carry || cc) {
		op_fn fn;

		type = as_unsigned(type);
		if (type == PTX_U32)
			fn = add ? addc_u32 : subc_u32;
		else if (type == PTX_U64)
			fn = add ? addc_u64 : subc_u64;
		else
			return d_fail(d, "type has no carry");
		if (!emit_n(d, in, fn, type, 2))
			return false;
		last(d)->flags = (carry ? F_CC_IN : 0) | (cc ? F_CC_OUT : 0);
		return true;
	}
	if (ptx_inst_has(in, PTX_M_SAT)) {
		if (type != PTX_S32)
			return d_fail(d, "type does not saturate");
		return emit_n(d, in, add ? add_sat : sub_sat, type, 2);
	}
	if (type == PTX_U16X2 || type == PTX_S16X2)
		return exec_packed_int(d, in);
	return emit_n(d, in, add ? add_fns[type] : sub_fns[type], type, 2);
}

/* ---- multiplication ---- */

#define GEN_HI(N, T, W) \
	OP(mulhi_##N, T, (T)(((W)A(T) * (W)B(T)) >> sizeof(T) * 8)) \
	OP(madhi_##N, T, (T)((uint64_t)(T)(((W)A(T) * (W)B(T)) >> sizeof(T) * 8) + C(uint64_t)))
GEN_HI(u16, uint16_t, uint32_t)
GEN_HI(u32, uint32_t, uint64_t)
GEN_HI(u64, uint64_t, u128)
GEN_HI(s16, int16_t, int32_t)
GEN_HI(s32, int32_t, int64_t)
GEN_HI(s64, int64_t, s128)
#define GEN_WIDE(N, T, W) \
	OP(mulwide_##N, W, (W)A(T) * (W)B(T)) \
	OP(madwide_##N, W, (W)((uint64_t)((W)A(T) * (W)B(T)) + C(uint64_t)))
GEN_WIDE(u16, uint16_t, uint32_t)
GEN_WIDE(u32, uint32_t, uint64_t)
GEN_WIDE(s16, int16_t, int32_t)
GEN_WIDE(s32, int32_t, int64_t)
OP(madhi_sat, int32_t, clamp32((((int64_t)A(int32_t) * B(int32_t)) >> 32) + C(int32_t)))

static const op_fn mulhi_fns[PTX_TYPE_COUNT] = { ROWS(mulhi) };
static const op_fn madhi_fns[PTX_TYPE_COUNT] = { ROWS(madhi) };
static const op_fn mulwide_fns[PTX_TYPE_COUNT] = {
	[PTX_U16] = mulwide_u16,
	[PTX_U32] = mulwide_u32,
	[PTX_S16] = mulwide_s16,
	[PTX_S32] = mulwide_s32,
};
static const op_fn madwide_fns[PTX_TYPE_COUNT] = {
	[PTX_U16] = madwide_u16,
	[PTX_U32] = madwide_u32,
	[PTX_S16] = madwide_s16,
	[PTX_S32] = madwide_s32,
};

static int64_t s24(uint64_t v)
{
	return (int32_t)((uint32_t)v << 8) >> 8;
}

#define MUL24U ((A(uint64_t) & 0xffffff) * (B(uint64_t) & 0xffffff))
#define MUL24S (s24(A(uint64_t)) * s24(B(uint64_t)))
OP(mul24lo_u32, uint32_t, MUL24U)
OP(mul24hi_u32, uint32_t, MUL24U >> 16)
OP(mul24lo_s32, int32_t, (int32_t)MUL24S)
OP(mul24hi_s32, int32_t, (int32_t)(MUL24S >> 16))
OP(mad24lo_u32, uint32_t, MUL24U + C(uint32_t))
OP(mad24hi_u32, uint32_t, (MUL24U >> 16) + C(uint32_t))
OP(mad24lo_s32, int32_t, (int32_t)(uint32_t)(MUL24S + C(int32_t)))
OP(mad24hi_s32, int32_t, (int32_t)(uint32_t)((MUL24S >> 16) + C(int32_t)))
OP(mad24hi_sat, int32_t, clamp32((MUL24S >> 16) + C(int32_t)))

bool decode_MUL(struct decoder *d, const struct ptx_inst *in)
{
	enum ptx_type type = in->mn->types[0];
	bool hi = ptx_inst_has(in, PTX_M_HI);

	if (in->op == PTX_OP_MUL24) {
		if (type == PTX_U32)
			return emit_n(d, in, hi ? mul24hi_u32 : mul24lo_u32, type, 2);
		if (type == PTX_S32)
			return emit_n(d, in, hi ? mul24hi_s32 : mul24lo_s32, type, 2);
		return false;
	}
	if (exec_float_type(type))
		return exec_float_binary(d, in, FLOAT_MUL);
	if (hi)
		return emit_n(d, in, mulhi_fns[type], type, 2);
	if (ptx_inst_has(in, PTX_M_WIDE))
		return emit_n(d, in, mulwide_fns[type], type, 2);
	return emit_n(d, in, mul_fns[type], type, 2);
}

bool decode_MAD(struct decoder *d, const struct ptx_inst *in)
{
	enum ptx_type type = in->mn->types[0];
	bool hi = ptx_inst_has(in, PTX_M_HI), sat = ptx_inst_has(in, PTX_M_SAT);
	bool cc = ptx_inst_has(in, PTX_M_CC), carry = in->op == PTX_OP_MADC;

	if (in->op == PTX_OP_MAD24) {
		if (type == PTX_U32)
			return emit_n(d, in, hi ? mad24hi_u32 : mad24lo_u32, type, 3);
		if (type == PTX_S32)
			return emit_n(d, in, hi ? (sat ? mad24hi_sat : mad24hi_s32) : mad24lo_s32,
				      type, 3);
		return false;
	}
	if (exec_float_type(type))
		return exec_float_fma(d, in);
	if (carry || cc) {
		op_fn fn = NULL;

		if (!hi) {
			type = as_unsigned(type);
			fn = type == PTX_U32 ? madc_lo_u32 : type == PTX_U64 ? madc_lo_u64 : NULL;
		} else if (type == PTX_U32) {
			fn = madc_hi_u32;
		} else if (type == PTX_S32) {
			fn = madc_hi_s32;
		} else if (type == PTX_U64) {
			fn = madc_hi_u64;
		} else if (type == PTX_S64) {
			fn = madc_hi_s64;
		}
		if (!emit_n(d, in, fn, type, 3))
			return false;
		last(d)->flags = (carry ? F_CC_IN : 0) | (cc ? F_CC_OUT : 0);
		return true;
	}
	if (hi)
		return emit_n(d, in, sat && type == PTX_S32 ? madhi_sat : madhi_fns[type], type, 3);
	if (ptx_inst_has(in, PTX_M_WIDE)) {
		/* The addend is twice as wide as the factors: immediates are stored in full either
		 * way. */
		return emit_n(d, in, madwide_fns[type], type, 3);
	}
	return emit_n(d, in, mad_fns[type], type, 3);
}

bool decode_DIV(struct decoder *d, const struct ptx_inst *in)
{
	enum ptx_type type = in->mn->types[0];

	if (exec_float_type(type))
		return exec_float_binary(d, in, FLOAT_DIV);
	return emit_n(d, in, div_fns[type], type, 2);
}

/* ---- minima, with packed halves ---- */

static enum step packed16(struct thread *t, const struct dop *d)
{
	uint32_t a = A(uint32_t), b = B(uint32_t), r = 0;

	for (unsigned i = 0; i < 2; i++) {
		int32_t x, y, z;

		if (d->type == PTX_S16X2) {
			x = (int16_t)(a >> 16 * i);
			y = (int16_t)(b >> 16 * i);
		} else {
			x = (uint16_t)(a >> 16 * i);
			y = (uint16_t)(b >> 16 * i);
		}
		if (d->sub == PTX_OP_ADD)
			z = x + y;
		else if (d->sub == PTX_OP_MIN)
			z = x < y ? x : y;
		else
			z = x > y ? x : y;
		if (d->flags && z < 0)
			z = 0;
		r |= (uint32_t)(uint16_t)z << 16 * i;
	}
	OUT(uint32_t, r);
}

bool exec_packed_int(struct decoder *d, const struct ptx_inst *in)
{
	if (in->op != PTX_OP_ADD && in->op != PTX_OP_MIN && in->op != PTX_OP_MAX)
		return false;
	if (!emit_n(d, in, packed16, in->mn->types[0], 2))
		return false;
	last(d)->sub = (uint8_t)in->op;
	last(d)->flags = ptx_inst_has(in, PTX_M_RELU);
	return true;
}

OP(min_relu, int32_t, (A(int32_t) < B(int32_t) ? A(int32_t) : B(int32_t)) < 0 ? 0 :
   A(int32_t) < B(int32_t) ? A(int32_t) : B(int32_t))
OP(max_relu, int32_t, (A(int32_t) > B(int32_t) ? A(int32_t) : B(int32_t)) < 0 ? 0 :
   A(int32_t) > B(int32_t) ? A(int32_t) : B(int32_t))

bool decode_MINMAX(struct decoder *d, const struct ptx_inst *in)
{
	enum ptx_type type = in->mn->types[0];
	bool min = in->op == PTX_OP_MIN;

	if (exec_float_type(type))
		return exec_float_binary(d, in, min ? FLOAT_MIN : FLOAT_MAX);
	if (type == PTX_U16X2 || type == PTX_S16X2)
		return exec_packed_int(d, in);
	if (ptx_inst_has(in, PTX_M_RELU))
		return emit_n(d, in, type == PTX_S32 ? (min ? min_relu : max_relu) : NULL, type, 2);
	return emit_n(d, in, min ? min_fns[type] : max_fns[type], type, 2);
}

/* ---- bits ---- */

OP(popc_32, uint32_t, (uint32_t)__builtin_popcount(A(uint32_t)))
OP(popc_64, uint32_t, (uint32_t)__builtin_popcountll(A(uint64_t)))
OP(clz_32, uint32_t, A(uint32_t) ? (uint32_t)__builtin_clz(A(uint32_t)) : 32)
OP(clz_64, uint32_t, A(uint64_t) ? (uint32_t)__builtin_clzll(A(uint64_t)) : 64)

static uint32_t find_bit(uint64_t v, unsigned bits, bool shift)
{
	unsigned at;

	if (!v)
		return UINT32_MAX;
	at = 63 - (unsigned)__builtin_clzll(v);
	return shift ? bits - 1 - at : at;
}

OP(bfind_u32, uint32_t, find_bit(A(uint32_t), 32, d->flags))
OP(bfind_u64, uint32_t, find_bit(A(uint64_t), 64, d->flags))
OP(bfind_s32, uint32_t, find_bit(A(int32_t) < 0 ? ~A(uint32_t) : A(uint32_t), 32, d->flags))
OP(bfind_s64, uint32_t, find_bit(A(int64_t) < 0 ? ~A(uint64_t) : A(uint64_t), 64, d->flags))

static uint64_t reverse(uint64_t v, unsigned bits)
{
	uint64_t r = 0;

	for (unsigned i = 0; i < bits; i++)
		r |= (v >> i & 1) << (bits - 1 - i);
	return r;
}

OP(brev_32, uint32_t, reverse(A(uint32_t), 32))
OP(brev_64, uint64_t, reverse(A(uint64_t), 64))

static uint32_t nth_set(uint32_t mask, uint32_t base, int32_t offset)
{
	if (base > 31)
		return UINT32_MAX;
	if (!offset)
		return mask >> base & 1 ? base : UINT32_MAX;
	int32_t step = offset > 0 ? 1 : -1;
	int64_t left = offset > 0 ? offset : -(int64_t)offset;

	for (int32_t i = (int32_t)base; i >= 0 && i < 32; i += step)
		if (mask >> i & 1 && !--left)
			return (uint32_t)i;
	return UINT32_MAX;
}

OP(fns_32, uint32_t, nth_set(A(uint32_t), B(uint32_t), C(int32_t)))

static uint64_t bit_extract(uint64_t v, unsigned pos, unsigned len, unsigned bits, bool sign)
{
	uint64_t r = 0, s = 0;

	pos &= 0xff;
	len &= 0xff;
	if (sign && len)
		s = v >> (pos + len - 1 < bits - 1 ? pos + len - 1 : bits - 1) & 1;
	for (unsigned i = 0; i < bits; i++)
		r |= (i < len && pos + i < bits ? v >> (pos + i) & 1 : s) << i;
	return r;
}

OP(bfe_u32, uint32_t, bit_extract(A(uint32_t), B(uint32_t), C(uint32_t), 32, false))
OP(bfe_u64, uint64_t, bit_extract(A(uint64_t), B(uint32_t), C(uint32_t), 64, false))
OP(bfe_s32, int32_t, bit_extract(A(uint32_t), B(uint32_t), C(uint32_t), 32, true))
OP(bfe_s64, int64_t, bit_extract(A(uint64_t), B(uint32_t), C(uint32_t), 64, true))

static uint64_t bit_insert(uint64_t a, uint64_t b, unsigned pos, unsigned len, unsigned bits)
{
	pos &= 0xff;
	len &= 0xff;
	for (unsigned i = 0; i < len && pos + i < bits; i++)
		b = (b & ~(UINT64_C(1) << (pos + i))) | (i < 64 ? (a >> i & 1) : 0) << (pos + i);
	return b;
}

OP(bfi_32, uint32_t, bit_insert(A(uint32_t), B(uint32_t), C(uint32_t), (uint32_t)val(t, d->e), 32))
OP(bfi_64, uint64_t, bit_insert(A(uint64_t), B(uint64_t), C(uint32_t), (uint32_t)val(t, d->e), 64))

static uint32_t bit_mask(uint32_t a, uint32_t b, bool clamp)
{
	uint64_t r;

	if (!clamp) {
		a &= 31;
		b &= 31;
	}
	if (a >= 32)
		return 0;
	r = b >= 32 ? UINT32_MAX : (UINT64_C(1) << b) - 1;
	return (uint32_t)(r << a);
}

OP(bmsk_32, uint32_t, bit_mask(A(uint32_t), B(uint32_t), d->flags))

static uint32_t extend(uint32_t a, uint32_t n, bool clamp, bool sign)
{
	if (!clamp)
		n &= 31;
	if (n >= 32)
		return a;
	if (!n)
		return 0;
	a <<= 32 - n;
	return sign ? (uint32_t)((int32_t)a >> (32 - n)) : a >> (32 - n);
}

OP(szext_u32, uint32_t, extend(A(uint32_t), B(uint32_t), d->flags, false))
OP(szext_s32, int32_t, extend(A(uint32_t), B(uint32_t), d->flags, true))

bool decode_ALU(struct decoder *d, const struct ptx_inst *in)
{
	static const struct row {
		uint8_t op, n;
		op_fn fns[PTX_TYPE_COUNT];
	} rows[] = {
		{PTX_OP_SAD, 3, {ROWS(sad)}},
		{PTX_OP_REM, 2, {ROWS(rem)}},
		{PTX_OP_ABS, 1, {S_ROWS(abs)}},
		{PTX_OP_NEG, 1, {S_ROWS(neg)}},
		{PTX_OP_AND, 2, {B_ROWS(and), [PTX_PRED] = and_pred}},
		{PTX_OP_OR, 2, {B_ROWS(or), [PTX_PRED] = or_pred}},
		{PTX_OP_XOR, 2, {B_ROWS(xor), [PTX_PRED] = xor_pred}},
		{PTX_OP_NOT, 1, {B_ROWS(not ), [PTX_PRED] = not_pred}},
		{PTX_OP_CNOT, 1, {B_ROWS(cnot)}},
		{PTX_OP_SHL, 2, {B_ROWS(shl)}},
		{PTX_OP_SHR, 2, {B_ROWS(shr), ROWS(shr)}},
		{PTX_OP_POPC, 1, {[PTX_B32] = popc_32, [PTX_B64] = popc_64}},
		{PTX_OP_CLZ, 1, {[PTX_B32] = clz_32, [PTX_B64] = clz_64}},
		{PTX_OP_BFIND,
		 1,
		 {[PTX_U32] = bfind_u32,
		  [PTX_U64] = bfind_u64,
		  [PTX_S32] = bfind_s32,
		  [PTX_S64] = bfind_s64}},
		{PTX_OP_BREV, 1, {[PTX_B32] = brev_32, [PTX_B64] = brev_64}},
		{PTX_OP_FNS, 3, {[PTX_B32] = fns_32}},
		{PTX_OP_BFE,
		 3,
		 {[PTX_U32] = bfe_u32,
		  [PTX_U64] = bfe_u64,
		  [PTX_S32] = bfe_s32,
		  [PTX_S64] = bfe_s64}},
		{PTX_OP_BFI, 4, {[PTX_B32] = bfi_32, [PTX_B64] = bfi_64}},
		{PTX_OP_BMSK, 2, {[PTX_B32] = bmsk_32}},
		{PTX_OP_SZEXT, 2, {[PTX_U32] = szext_u32, [PTX_S32] = szext_s32}},
	};
	enum ptx_type type = in->mn->types[0];

	if (in->op == PTX_OP_COPYSIGN ||
	    ((in->op == PTX_OP_ABS || in->op == PTX_OP_NEG) && exec_float_type(type)))
		return exec_float_sign(d, in);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *r = &rows[i];

		if (r->op != in->op)
			continue;
		/* Logic on predicates may negate its sources. */
		if (type == PTX_PRED) {
			int32_t s[2] = { 0 };
			struct dop *op;
			int32_t dst;

			if (!r->fns[type] || !d_need(d, in, r->n + 1u, r->n + 1u))
				return false;
			for (unsigned k = 0; k < r->n; k++) {
				bool neg;

				s[k] = d_pred(d, &in->ops[k + 1], &neg);
				if (neg) {
					int32_t tmp = d_scratch(d);

					op = d_emit(d, not_pred);
					op->pred = -1;
					op->dst = tmp;
					op->a = s[k];
					s[k] = tmp;
				}
			}
			dst = d_dst(d, in, 0);
			op = d_emit(d, r->fns[type]);
			op->dst = dst;
			op->a = s[0];
			op->b = s[1];
			return !d->failed;
		}
		if (!emit_n(d, in, r->fns[type], type, r->n))
			return false;
		last(d)->flags = ptx_inst_has(in, PTX_M_SHIFTAMT) || ptx_inst_has(in, PTX_M_CLAMP);
		return true;
	}
	return false;
}

static enum step lop3(struct thread *t, const struct dop *d)
{
	uint32_t a = A(uint32_t), b = B(uint32_t), c = C(uint32_t), r = 0;
	unsigned lut = (unsigned)d->imm;

	if (lut & 0x01)
		r |= ~a & ~b & ~c;
	if (lut & 0x02)
		r |= ~a & ~b & c;
	if (lut & 0x04)
		r |= ~a & b & ~c;
	if (lut & 0x08)
		r |= ~a & b & c;
	if (lut & 0x10)
		r |= a & ~b & ~c;
	if (lut & 0x20)
		r |= a & ~b & c;
	if (lut & 0x40)
		r |= a & b & ~c;
	if (lut & 0x80)
		r |= a & b & c;
	if (d->flags) {
		/* lop3.or.pred d|p, a, b, c, lut, q */
		bool q = ((val(t, d->e) & 1) != 0) != (d->sub != 0);

		t->regs[d->dst2] = d->flags == 2 ? (r != 0) && q : (r != 0) || q;
	}
	OUT(uint32_t, r);
}

bool decode_LOP3(struct decoder *d, const struct ptx_inst *in)
{
	bool pred = in->nops == 6, neg = false;
	int32_t a, b, c, q = 0, dst, dst2 = 0;
	struct dop *op;

	if (in->mn->types[0] != PTX_B32 || !d_need(d, in, 5, 6) || in->ops[4].kind != PTX_O_INT)
		return false;
	a = d_src(d, in, 1, PTX_B32);
	b = d_src(d, in, 2, PTX_B32);
	c = d_src(d, in, 3, PTX_B32);
	if (pred) {
		const struct ptx_operand *o = &in->ops[0];

		if (o->kind != PTX_O_PAIR)
			return false;
		dst = o->elem[0].kind == PTX_O_SINK ? d_scratch(d) : d_reg(d, &o->elem[0]);
		dst2 = d_reg(d, &o->elem[1]);
		q = d_pred(d, &in->ops[5], &neg);
	} else {
		dst = d_dst(d, in, 0);
	}
	op = d_emit(d, lop3);
	op->a = a;
	op->b = b;
	op->c = c;
	op->e = q;
	op->dst = dst;
	op->dst2 = dst2;
	op->imm = in->ops[4].imm & 0xff;
	op->flags = pred ? (ptx_inst_has(in, PTX_M_AND) ? 2 : 1) : 0;
	op->sub = neg;
	return !d->failed;
}

static enum step shf(struct thread *t, const struct dop *d)
{
	uint64_t v = (uint64_t)B(uint32_t) << 32 | A(uint32_t);
	uint32_t n = C(uint32_t);

	if (d->flags & 2)
		n &= 31;
	else if (n > 32)
		n = 32;
	if (d->flags & 1)
		OUT(uint32_t, v >> n);
	OUT(uint32_t, n == 32 ? v : (v << n) >> 32);
}

bool decode_SHF(struct decoder *d, const struct ptx_inst *in)
{
	if (!emit_n(d, in, shf, PTX_B32, 3))
		return false;
	last(d)->flags =
		(ptx_inst_has(in, PTX_M_R) ? 1 : 0) | (ptx_inst_has(in, PTX_M_WRAP) ? 2 : 0);
	return true;
}

static enum step prmt(struct thread *t, const struct dop *d)
{
	uint64_t v = (uint64_t)B(uint32_t) << 32 | A(uint32_t);
	uint32_t c = C(uint32_t), r = 0;
	unsigned k = c & 3;

	for (unsigned i = 0; i < 4; i++) {
		unsigned sel = 0;
		bool sign = false;
		uint8_t byte;

		switch ((enum ptx_mod)d->index) {
		case PTX_M_F4E:
			sel = k + i;
			break;
		case PTX_M_B4E:
			sel = (k - i) & 7;
			break;
		case PTX_M_RC8:
			sel = k;
			break;
		case PTX_M_ECL:
			sel = i > k ? i : k;
			break;
		case PTX_M_ECR:
			sel = i < k ? i : k;
			break;
		case PTX_M_RC16:
			sel = (k & 1) * 2 + (i & 1);
			break;
		default:
			sel = c >> 4 * i & 7;
			sign = c >> 4 * i & 8;
			break;
		}
		byte = (uint8_t)(v >> 8 * sel);
		if (sign)
			byte = byte & 0x80 ? 0xff : 0;
		r |= (uint32_t)byte << 8 * i;
	}
	OUT(uint32_t, r);
}

bool decode_PRMT(struct decoder *d, const struct ptx_inst *in)
{
	static const enum ptx_mod modes[] = {PTX_M_F4E, PTX_M_B4E, PTX_M_RC8,
					     PTX_M_ECL, PTX_M_ECR, PTX_M_RC16};

	if (!emit_n(d, in, prmt, PTX_B32, 3))
		return false;
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (ptx_inst_has(in, modes[i]))
			last(d)->index = modes[i];
	return true;
}

/* ---- dot products ---- */

static enum step dp(struct thread *t, const struct dop *d)
{
	uint32_t a = A(uint32_t), b = B(uint32_t), r = C(uint32_t);
	bool as = d->flags & 1, bs = d->flags & 2;

	if (d->sub == PTX_OP_DP4A) {
		for (unsigned i = 0; i < 4; i++) {
			int32_t x = as ? (int8_t)(a >> 8 * i) : (int32_t)(uint8_t)(a >> 8 * i);
			int32_t y = bs ? (int8_t)(b >> 8 * i) : (int32_t)(uint8_t)(b >> 8 * i);

			r += (uint32_t)(x * y);
		}
	} else {
		unsigned shift = d->flags & 4 ? 16 : 0;

		for (unsigned i = 0; i < 2; i++) {
			int32_t x = as ? (int16_t)(a >> 16 * i) : (int32_t)(uint16_t)(a >> 16 * i);
			int32_t y = bs ? (int8_t)(b >> (shift + 8 * i))
				       : (int32_t)(uint8_t)(b >> (shift + 8 * i));

			r += (uint32_t)x * (uint32_t)y;
		}
	}
	if (as || bs)
		OUT(int32_t, (int32_t)r);
	OUT(uint32_t, r);
}

bool decode_DP(struct decoder *d, const struct ptx_inst *in)
{
	if (in->mn->ntypes != 2 || !emit_n(d, in, dp, in->mn->types[0], 3))
		return false;
	last(d)->sub = (uint8_t)in->op;
	last(d)->flags = (in->mn->types[0] == PTX_S32) | (in->mn->types[1] == PTX_S32) << 1 |
			 (ptx_inst_has(in, PTX_M_HI) ? 4 : 0);
	return true;
}

/* ---- comparison ---- */

enum cmp {
	CMP_EQ,
	CMP_NE,
	CMP_LT,
	CMP_LE,
	CMP_GT,
	CMP_GE,
	CMP_EQU,
	CMP_NEU,
	CMP_LTU,
	CMP_LEU,
	CMP_GTU,
	CMP_GEU,
	CMP_NUM,
	CMP_NAN,
	CMP_COUNT
};

/* setp writes p = cmp (op) c and q = !cmp (op) c; the usual case has neither c nor q. */
struct set_info {
	uint8_t cmp, type, bop;         /* bop: 0 none, else PTX_OP_AND, OR, XOR */
	bool cneg, has_q;
};

#define GEN_SETP(N, T) \
	OP(setp_eq_##N, uint8_t, A(T) == B(T)) OP(setp_ne_##N, uint8_t, A(T) != B(T)) \
	OP(setp_lt_##N, uint8_t, A(T) < B(T)) OP(setp_le_##N, uint8_t, A(T) <= B(T)) \
	OP(setp_gt_##N, uint8_t, A(T) > B(T)) OP(setp_ge_##N, uint8_t, A(T) >= B(T))
TYPES(GEN_SETP)
#define FA bits_float(A(uint64_t))
#define FB bits_float(B(uint64_t))
OP(setp_eq_f32, uint8_t, FA == FB)
OP(setp_ne_f32, uint8_t, FA<FB || FA> FB) OP(setp_lt_f32, uint8_t, FA < FB) OP(
	setp_le_f32, uint8_t, FA <= FB) OP(setp_gt_f32, uint8_t, FA > FB) OP(setp_ge_f32, uint8_t,
									     FA >= FB)

#define SETP_ROW(N) { setp_eq_##N, setp_ne_##N, setp_lt_##N, setp_le_##N, setp_gt_##N, setp_ge_##N }
	static const op_fn setp_fns[PTX_TYPE_COUNT][6] = {
		[PTX_U16] = SETP_ROW(u16), [PTX_U32] = SETP_ROW(u32), [PTX_U64] = SETP_ROW(u64),
		[PTX_S16] = SETP_ROW(s16), [PTX_S32] = SETP_ROW(s32), [PTX_S64] = SETP_ROW(s64),
		[PTX_B16] = SETP_ROW(u16), [PTX_B32] = SETP_ROW(u32), [PTX_B64] = SETP_ROW(u64),
		[PTX_F32] = SETP_ROW(f32),
};

static bool compare_floats(enum cmp cmp, double a, double b)
{
	bool nan = a != a || b != b;

	switch (cmp) {
	case CMP_EQ:
		return a == b;
	case CMP_NE:
		return !nan && a != b;
	case CMP_LT:
		return a < b;
	case CMP_LE:
		return a <= b;
	case CMP_GT:
		return a > b;
	case CMP_GE:
		return a >= b;
	case CMP_EQU:
		return nan || a == b;
	case CMP_NEU:
		return nan || a != b;
	case CMP_LTU:
		return nan || a < b;
	case CMP_LEU:
		return nan || a <= b;
	case CMP_GTU:
		return nan || a > b;
	case CMP_GEU:
		return nan || a >= b;
	case CMP_NUM:
		return !nan;
	case CMP_NAN:
		return nan;
	case CMP_COUNT:
		break;
	}
	return false;
}

static bool compare_ints(enum cmp cmp, bool less, bool equal)
{
	switch (cmp) {
	case CMP_EQ:
		return equal;
	case CMP_NE:
		return !equal;
	case CMP_LT:
		return less;
	case CMP_LE:
		return less || equal;
	case CMP_GT:
		return !less && !equal;
	default:
		return !less;
	}
}

static double as_double(uint64_t v, enum ptx_type type, bool ftz)
{
	switch (type) {
	case PTX_F16:
	case PTX_F16X2:
		return (double)exec_half_float((uint16_t)v);
	case PTX_BF16:
	case PTX_BF16X2:
		return (double)exec_bf16_float((uint16_t)v);
	case PTX_F32:
		return (double)(ftz ? exec_flush(bits_float(v)) : bits_float(v));
	default:
		return bits_double(v);
	}
}

static bool compare(enum cmp cmp, enum ptx_type type, uint64_t a, uint64_t b, bool ftz)
{
	unsigned bits = ptx_type_bits(type);

	if (exec_float_type(type))
		return compare_floats(cmp, as_double(a, type, ftz), as_double(b, type, ftz));
	a <<= 64 - bits;
	b <<= 64 - bits;
	if (ptx_type_kind(type) == PTX_KIND_SIGNED)
		return compare_ints(cmp, (int64_t)a < (int64_t)b, a == b);
	return compare_ints(cmp, a < b, a == b);
}

static bool combine(const struct set_info *s, bool x, bool c)
{
	if (s->cneg)
		c = !c;
	switch (s->bop) {
	case PTX_OP_AND:
		return x && c;
	case PTX_OP_OR:
		return x || c;
	case PTX_OP_XOR:
		return x != c;
	default:
		return x;
	}
}

static enum step setp_general(struct thread *t, const struct dop *d)
{
	const struct set_info *s = d->aux;
	bool c = s->bop && val(t, d->c) & 1;
	uint64_t a = val(t, d->a), b = val(t, d->b);

	if (s->type == PTX_F16X2 || s->type == PTX_BF16X2) {
		/* One predicate a half. */
		t->regs[d->dst] =
			combine(s, compare(s->cmp, s->type, a & 0xffff, b & 0xffff, false), c);
		if (s->has_q)
			t->regs[d->dst2] =
				combine(s, compare(s->cmp, s->type, a >> 16, b >> 16, false), c);
		return STEP_NEXT;
	}
	bool x = compare(s->cmp, s->type, a, b, d->flags);

	t->regs[d->dst] = combine(s, x, c);
	if (s->has_q)
		t->regs[d->dst2] = combine(s, !x, c);
	return STEP_NEXT;
}

static enum step set_general(struct thread *t, const struct dop *d)
{
	const struct set_info *s = d->aux;
	bool c = s->bop && val(t, d->c) & 1;
	uint64_t a = val(t, d->a), b = val(t, d->b);
	bool x;

	if (s->type == PTX_F16X2 || s->type == PTX_BF16X2) {
		uint64_t r = 0, one = s->type == PTX_F16X2 ? 0x3c00 : 0x3f80;

		for (unsigned i = 0; i < 2; i++)
			if (combine(s,
				    compare(s->cmp, s->type, a >> 16 * i & 0xffff,
					    b >> 16 * i & 0xffff, false),
				    c))
				r |= (d->type == PTX_F16X2 || d->type == PTX_BF16X2 ? one : 0xffff)
				     << 16 * i;
		OUT(uint32_t, r);
	}
	x = combine(s, compare(s->cmp, s->type, a, b, d->flags), c);
	switch ((enum ptx_type)d->type) {
	case PTX_F32:
		OUT(uint32_t, x ? 0x3f800000 : 0);
	case PTX_F16:
		OUT(uint16_t, x ? 0x3c00 : 0);
	case PTX_BF16:
		OUT(uint16_t, x ? 0x3f80 : 0);
	case PTX_U16:
	case PTX_S16:
		OUT(uint16_t, x ? 0xffff : 0);
	default:
		OUT(uint32_t, x ? UINT32_MAX : 0);
	}
}

static bool cmp_of(const struct ptx_inst *in, struct set_info *s)
{
	static const struct {
		uint16_t mod, cmp;
	} map[] = {
		{PTX_M_EQ, CMP_EQ},   {PTX_M_NE, CMP_NE},   {PTX_M_LT, CMP_LT},
		{PTX_M_LE, CMP_LE},   {PTX_M_GT, CMP_GT},   {PTX_M_GE, CMP_GE},
		{PTX_M_LO, CMP_LT},   {PTX_M_LS, CMP_LE},   {PTX_M_HI, CMP_GT},
		{PTX_M_HS, CMP_GE},   {PTX_M_EQU, CMP_EQU}, {PTX_M_NEU, CMP_NEU},
		{PTX_M_LTU, CMP_LTU}, {PTX_M_LEU, CMP_LEU}, {PTX_M_GTU, CMP_GTU},
		{PTX_M_GEU, CMP_GEU}, {PTX_M_NUM, CMP_NUM}, {PTX_M_NAN, CMP_NAN},
	};
	bool found = false;

	for (size_t i = 0; i < sizeof(map) / sizeof(map[0]); i++) {
		if (ptx_inst_has(in, map[i].mod)) {
			s->cmp = (uint8_t)map[i].cmp;
			found = true;
		}
	}
	if (ptx_inst_has(in, PTX_M_AND))
		s->bop = PTX_OP_AND;
	else if (ptx_inst_has(in, PTX_M_OR))
		s->bop = PTX_OP_OR;
	else if (ptx_inst_has(in, PTX_M_XOR))
		s->bop = PTX_OP_XOR;
	return found;
}

static bool comparable(enum ptx_type type, enum cmp cmp)
{
	unsigned bits = ptx_type_bits(type);

	if (exec_float_type(type))
		return true;
	return (bits == 16 || bits == 32 || bits == 64) && cmp <= CMP_GE &&
	       ptx_type_kind(type) <= PTX_KIND_SIGNED;
}

static bool decode_compare(struct decoder *d, const struct ptx_inst *in, bool setp)
{
	struct set_info *s = d_own(d, sizeof(*s));
	int32_t a, b, c = 0, dst, dst2 = 0;
	const struct ptx_operand *o;
	struct dop *op;

	if (!s || !cmp_of(in, s) || !d_need(d, in, s->bop ? 4 : 3, s->bop ? 4 : 3))
		return false;
	s->type = in->mn->types[setp ? 0 : 1];
	if (in->mn->ntypes != (setp ? 1 : 2) || !comparable(s->type, s->cmp))
		return false;
	o = &in->ops[0];
	a = d_src(d, in, 1, s->type);
	b = d_src(d, in, 2, s->type);
	if (s->bop)
		c = d_pred(d, &in->ops[3], &s->cneg);
	if (o->kind == PTX_O_PAIR && setp) {
		s->has_q = true;
		dst = o->elem[0].kind == PTX_O_SINK ? d_scratch(d) : d_reg(d, &o->elem[0]);
		dst2 = o->elem[1].kind == PTX_O_SINK ? d_scratch(d) : d_reg(d, &o->elem[1]);
	} else {
		dst = d_dst(d, in, 0);
	}
	op = d_emit(d, setp ? setp_general : set_general);
	op->a = a;
	op->b = b;
	op->c = c;
	op->dst = dst;
	op->dst2 = dst2;
	op->aux = s;
	op->type = in->mn->types[0];
	op->flags = ptx_inst_has(in, PTX_M_FTZ);
	if (setp && !s->bop && !s->has_q && !op->flags && s->cmp <= CMP_GE &&
	    setp_fns[s->type][s->cmp])
		op->fn = setp_fns[s->type][s->cmp];
	return !d->failed;
}

bool decode_SETP(struct decoder *d, const struct ptx_inst *in)
{
	return decode_compare(d, in, true);
}

bool decode_SET(struct decoder *d, const struct ptx_inst *in)
{
	return decode_compare(d, in, false);
}

OP(selp_op, uint64_t, ((C(uint64_t) & 1) != 0) != (d->flags != 0) ? A(uint64_t) : B(uint64_t))

bool decode_SELP(struct decoder *d, const struct ptx_inst *in)
{
	enum ptx_type type = in->mn->types[0];
	int32_t a, b, c, dst;
	struct dop *op;
	bool neg;

	if (!d_need(d, in, 4, 4) || ptx_type_bits(type) < 16 || ptx_type_bits(type) > 64)
		return false;
	a = d_src(d, in, 1, type);
	b = d_src(d, in, 2, type);
	c = d_pred(d, &in->ops[3], &neg);
	dst = d_dst(d, in, 0);
	op = d_emit(d, selp_op);
	op->a = a;
	op->b = b;
	op->c = c;
	op->dst = dst;
	op->flags = neg;
	return !d->failed;
}

OP(slct_s32, uint64_t, C(int32_t) >= 0 ? A(uint64_t) : B(uint64_t))
/* -0.0 selects a, NaN selects b. */
OP(slct_f32, uint64_t,
   (d->flags ? exec_flush(bits_float(C(uint64_t))) : bits_float(C(uint64_t))) >= 0 ? A(uint64_t)
										   : B(uint64_t))

bool decode_SLCT(struct decoder *d, const struct ptx_inst *in)
{
	enum ptx_type type = in->mn->types[0], ct = in->mn->types[1];
	int32_t a, b, c, dst;
	struct dop *op;

	if (in->mn->ntypes != 2 || !d_need(d, in, 4, 4) || (ct != PTX_S32 && ct != PTX_F32))
		return false;
	a = d_src(d, in, 1, type);
	b = d_src(d, in, 2, type);
	c = d_src(d, in, 3, ct);
	dst = d_dst(d, in, 0);
	op = d_emit(d, ct == PTX_S32 ? slct_s32 : slct_f32);
	op->a = a;
	op->b = b;
	op->c = c;
	op->dst = dst;
	op->flags = ptx_inst_has(in, PTX_M_FTZ);
	return !d->failed;
}

/* ---- moves ---- */

OP(mov_op, uint64_t, A(uint64_t))

static enum step mov128(struct thread *t, const struct dop *d)
{
	uint64_t lo = t->regs[d->a], hi = t->regs[d->a + 1];

	t->regs[d->dst] = lo;
	t->regs[d->dst + 1] = hi;
	return STEP_NEXT;
}

struct pack {
	uint8_t n, bits;               /* elements, bits of one */
	bool wide;                     /* the scalar is a 128-bit register */
	int32_t slot[16];
};

static enum step mov_pack(struct thread *t, const struct dop *d)
{
	const struct pack *p = d->aux;
	uint64_t r[2] = { 0, 0 };

	for (unsigned i = 0; i < p->n; i++) {
		uint64_t v = val(t, p->slot[i]);

		if (p->bits < 64)
			v &= (UINT64_C(1) << p->bits) - 1;
		r[i * p->bits / 64] |= v << i * p->bits % 64;
	}
	t->regs[d->dst] = r[0];
	if (p->wide)
		t->regs[d->dst + 1] = r[1];
	return STEP_NEXT;
}

static enum step mov_unpack(struct thread *t, const struct dop *d)
{
	const struct pack *p = d->aux;
	uint64_t v[2] = { val(t, d->a), p->wide ? t->regs[d->a + 1] : 0 };

	for (unsigned i = 0; i < p->n; i++) {
		uint64_t e = v[i * p->bits / 64] >> i * p->bits % 64;

		if (p->bits < 64)
			e &= (UINT64_C(1) << p->bits) - 1;
		t->regs[p->slot[i]] = e;
	}
	return STEP_NEXT;
}

static bool decode_vector_move(struct decoder *d, const struct ptx_inst *in,
			       const struct ptx_operand *vec, bool pack)
{
	unsigned bits = ptx_type_bits(in->mn->types[0]);
	struct pack *p = d_own(d, sizeof(*p));
	int32_t other;
	struct dop *op;

	if (!p || !vec->n || vec->n > 16 || bits % vec->n || bits > 128)
		return false;
	p->n = (uint8_t)vec->n;
	p->bits = (uint8_t)(bits / vec->n);
	p->wide = bits == 128;
	if (p->bits > 64)
		return false;
	for (unsigned i = 0; i < vec->n; i++) {
		if (vec->elem[i].kind == PTX_O_SINK && !pack)
			p->slot[i] = d_scratch(d);
		else if (pack)
			p->slot[i] = d_value(d, &vec->elem[i], PTX_B64);
		else
			p->slot[i] = d_reg(d, &vec->elem[i]);
	}
	if (p->wide)
		other = d_reg128(d, &in->ops[pack ? 0 : 1]);
	else
		other = pack ? d_reg(d, &in->ops[0]) : d_value(d, &in->ops[1], in->mn->types[0]);
	op = d_emit(d, pack ? mov_pack : mov_unpack);
	op->dst = op->a = other;
	op->aux = p;
	return !d->failed;
}

bool decode_MOV(struct decoder *d, const struct ptx_inst *in)
{
	enum ptx_type type = in->mn->types[0];
	int32_t a, dst;
	struct dop *op;

	if (in->mn->ntypes != 1 || !d_need(d, in, 2, 2))
		return false;
	if (in->ops[0].kind == PTX_O_VEC && in->ops[1].kind == PTX_O_VEC) {
		/* Vector registers and %tid as wholes: element by element. */
		const struct ptx_operand *to = &in->ops[0], *from = &in->ops[1];

		if (to->n > from->n)
			return false;
		for (unsigned i = 0; i < to->n; i++) {
			if (to->elem[i].kind == PTX_O_SINK)
				continue;
			a = d_value(d, &from->elem[i], type);
			dst = d_reg(d, &to->elem[i]);
			op = d_emit(d, mov_op);
			op->a = a;
			op->dst = dst;
		}
		return !d->failed;
	}
	if (in->ops[0].kind == PTX_O_VEC)
		return decode_vector_move(d, in, &in->ops[0], false);
	if (in->ops[1].kind == PTX_O_VEC && in->ops[1].elem[0].kind == PTX_O_SREG) {
		/* %tid of PTX 1.x is its x */
		a = d_value(d, &in->ops[1].elem[0], type);
	} else if (in->ops[1].kind == PTX_O_VEC) {
		return decode_vector_move(d, in, &in->ops[1], true);
	} else if (type == PTX_B128) {
		a = d_reg128(d, &in->ops[1]);
		dst = d_reg128(d, &in->ops[0]);
		op = d_emit(d, mov128);
		op->a = a;
		op->dst = dst;
		return !d->failed;
	} else if (type == PTX_PRED) {
		bool neg;

		a = d_pred(d, &in->ops[1], &neg);
		if (neg)
			return false;
	} else {
		a = d_src(d, in, 1, type);
	}
	dst = d_dst(d, in, 0);
	if (!d->failed && a >= (int32_t)d->nslots && d->ncode && last(d)->in == in &&
	    last(d)->dst == a) {
		/* A special register or a frame's address: straight to where it belongs. */
		op = last(d);
		op->dst = dst;
		if (in->pred != PTX_NO_REG) {
			op->pred = (int32_t)d->e->slot_of[in->pred];
			op->pred_not = in->pred_not;
		}
		return true;
	}
	op = d_emit(d, mov_op);
	op->a = a;
	op->dst = dst;
	return !d->failed;
}
