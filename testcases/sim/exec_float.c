/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Floating point: arithmetic, functions, conversions.
 *
 * f32 and f64 are the host's.  Directed rounding is made from the nearest result
 * and the sign of its error, without touching the floating point environment
 * (compilers and Valgrind do not follow it reliably).  half and bfloat16 are computed in double and
 * rounded once (exact for single operations; fma may round twice in rare cases).  NaN results of
 * f32 are the canonical 0x7fffffff, as in hardware.  approx forms are computed precisely.
 */
#include "exec_impl.h"
#include "exec_float.h"
#include <math.h>

#define F_FTZ     0x01
#define F_SAT     0x02
#define F_NAN     0x04   /* min, max: NaN wins */
#define F_RELU    0x08
#define F_XORSIGN 0x10
#define F_SATFIN  0x20
#define F_NEG     0x40

/* ---- half and bfloat16 ---- */

float exec_half_float(uint16_t h)
{
	uint32_t sign = (uint32_t)(h & 0x8000) << 16, exp = h >> 10 & 31, man = h & 0x3ff;

	if (exp == 31)
		return bits_float(sign | 0x7f800000 | man << 13);
	if (exp)
		return bits_float(sign | (exp + 112) << 23 | man << 13);
	/* Subnormal: exact in f32. */
	float f = (float)man * 0x1p-24f;

	return sign ? -f : f;
}

uint16_t exec_float_half(double d)
{
	return ptx_narrow_float(d, 5, 10);
}

float exec_bf16_float(uint16_t h)
{
	return bits_float((uint64_t)h << 16);
}

static uint16_t double_bf16(double d)
{
	return ptx_narrow_float(d, 8, 7);
}

uint16_t exec_float_bf16(float f)
{
	return double_bf16((double)f);
}

bool exec_float_type(enum ptx_type t)
{
	switch (t) {
	case PTX_F16:
	case PTX_BF16:
	case PTX_F16X2:
	case PTX_BF16X2:
	case PTX_F32:
	case PTX_F64:
		return true;
	default:
		return false;
	}
}

static bool is_half(enum ptx_type t)
{
	return t == PTX_F16 || t == PTX_BF16 || t == PTX_F16X2 || t == PTX_BF16X2;
}

/* ---- rounding ---- */

enum round { ROUND_NEAREST, ROUND_ZERO, ROUND_DOWN, ROUND_UP };

static enum round round_of(unsigned mod)
{
	switch ((enum ptx_mod)mod) {
	case PTX_M_RZ:
	case PTX_M_RZI:
		return ROUND_ZERO;
	case PTX_M_RM:
	case PTX_M_RMI:
		return ROUND_DOWN;
	case PTX_M_RP:
	case PTX_M_RPI:
		return ROUND_UP;
	default:
		return ROUND_NEAREST;
	}
}

static unsigned rounding(const struct ptx_inst *in)
{
	static const enum ptx_mod mods[] = {PTX_M_RN,  PTX_M_RZ,  PTX_M_RM,  PTX_M_RP,	PTX_M_RNI,
					    PTX_M_RZI, PTX_M_RMI, PTX_M_RPI, PTX_M_RNA, PTX_M_RS};

	for (size_t i = 0; i < sizeof(mods) / sizeof(mods[0]); i++)
		if (ptx_inst_has(in, mods[i]))
			return mods[i];
	return 0;
}

/* err: the sign of (exact - nearest).  Which neighbour of the nearest is the answer: -1, 0, +1? */
static int neighbour(double nearest, double err, enum round r)
{
	if (err == 0 || err != err || nearest != nearest)
		return 0;
	switch (r) {
	case ROUND_NEAREST:
		break;
	case ROUND_ZERO:
		return nearest > 0 && err < 0 ? -1 : nearest < 0 && err > 0 ? 1 : 0;
	case ROUND_DOWN:
		return err < 0 ? -1 : 0;
	case ROUND_UP:
		return err > 0 ? 1 : 0;
	}
	return 0;
}

static double direct64(double nearest, double err, enum round r)
{
	int n = neighbour(nearest, err, r);

	return n ? nextafter(nearest, n > 0 ? (double)INFINITY : -(double)INFINITY) : nearest;
}

/* hi + lo to f32, lo being far smaller than hi. */
static float direct32(double hi, double lo, enum round r)
{
	float f = (float)hi;
	double err;
	int n;

	if (r == ROUND_NEAREST || hi != hi || isinf(hi))
		return f;
	err = isinf(f) ? (f > 0 ? -1.0 : 1.0) : hi - (double)f;
	if (err == 0)
		err = lo;
	n = neighbour((double)f, err, r);
	return n ? nextafterf(f, n > 0 ? INFINITY : -INFINITY) : f;
}

/* a + b and its error, exactly. */
static double two_sum(double a, double b, double *err)
{
	double s = a + b, bb = s - a;

	*err = (a - (s - bb)) + (b - bb);
	return s;
}

/* ---- binary operations ---- */

/* The nearest result, and something with the sign of its error. */
static double binary64(enum float_op op, double a, double b, double *err)
{
	double r = 0;

	*err = 0;
	switch (op) {
	case FLOAT_SUB:
		b = -b;
		/* fall through */
	case FLOAT_ADD:
		return two_sum(a, b, err);
	case FLOAT_MUL:
		r = a * b;
		*err = fma(a, b, -r);
		break;
	case FLOAT_DIV:
		r = a / b;
		*err = fma(-r, b, a) / b;
		break;
	case FLOAT_MIN:
	case FLOAT_MAX:
		break;
	}
	return r;
}

/* Overflow to infinity from finite operands has an error too; x - x is -0 when rounding down. */
static double binary64_directed(enum float_op op, double a, double b, enum round r)
{
	double err, v = binary64(op, a, b, &err);

	if (r == ROUND_NEAREST)
		return v;
	if (isinf(v) && !isinf(a) && !isinf(b) && !(op == FLOAT_DIV && b == 0))
		err = v > 0 ? -1 : 1;
	if (v == 0 && err == 0 && r == ROUND_DOWN && (op == FLOAT_ADD || op == FLOAT_SUB) &&
	    (a != 0 || (signbit(a) != 0) != ((signbit(b) != 0) != (op == FLOAT_SUB))))
		return -0.0;
	return direct64(v, err, r);
}

static float binary32_directed(enum float_op op, float a, float b, enum round r)
{
	double err, v = binary64(op, (double)a, (double)b, &err);

	if (v == 0 && err == 0 && r == ROUND_DOWN && (op == FLOAT_ADD || op == FLOAT_SUB) &&
	    (a != 0 || (signbit(a) != 0) != ((signbit(b) != 0) != (op == FLOAT_SUB))))
		return -0.0f;
	return direct32(v, err, r);
}

static float binary32(enum float_op op, float a, float b)
{
	switch (op) {
	case FLOAT_ADD:
		return a + b;
	case FLOAT_SUB:
		return a - b;
	case FLOAT_MUL:
		return a * b;
	case FLOAT_DIV:
		return a / b;
	case FLOAT_MIN:
	case FLOAT_MAX:
		break;
	}
	return 0;
}

/* NaN loses against a number unless F_NAN; -0 is below +0. */
static double extreme(double a, double b, bool min, unsigned flags)
{
	double r;

	if (flags & F_XORSIGN) {
		bool neg = (signbit(a) != 0) != (signbit(b) != 0);

		a = fabs(a);
		b = fabs(b);
		r = extreme(a, b, min, flags & ~(unsigned)F_XORSIGN);
		return neg ? -r : r;
	}
	if (a != a || b != b) {
		if (flags & F_NAN || (a != a && b != b))
			return (double)NAN;
		return a != a ? b : a;
	}
	if (a == b)
		return (signbit(a) != 0) == min ? a : b;
	return (a < b) == min ? a : b;
}

static uint64_t out32(float r, unsigned flags)
{
	if (flags & F_FTZ)
		r = exec_flush(r);
	if (flags & F_SAT) {
		if (!(r > 0))
			return 0; /* NaN and -0 as well */
		if (r > 1)
			r = 1;
	}
	if (flags & F_RELU && r < 0)
		r = 0;
	return float_bits(r);
}

static enum step bin_f32(struct thread *t, const struct dop *d)
{
	float a = bits_float(val(t, d->a)), b = bits_float(val(t, d->b)), r;

	if (d->flags & F_FTZ) {
		a = exec_flush(a);
		b = exec_flush(b);
	}
	if (d->sub >= FLOAT_MIN)
		r = (float)extreme((double)a, (double)b, d->sub == FLOAT_MIN, d->flags);
	else if (d->index == ROUND_NEAREST)
		r = binary32(d->sub, a, b);
	else
		r = binary32_directed(d->sub, a, b, d->index);
	t->regs[d->dst] = out32(r, d->flags);
	return STEP_NEXT;
}

#define FAST32(NAME, OPER) \
static enum step NAME(struct thread *t, const struct dop *d) \
{ \
	t->regs[d->dst] = float_bits(bits_float(val(t, d->a)) OPER bits_float(val(t, d->b))); \
	return STEP_NEXT; \
}
FAST32(add_f32, +)
FAST32(sub_f32, -)
FAST32(mul_f32, *)
FAST32(div_f32, /)

static enum step bin_f64(struct thread *t, const struct dop *d)
{
	double a = bits_double(val(t, d->a)), b = bits_double(val(t, d->b)), r;

	if (d->sub >= FLOAT_MIN)
		r = extreme(a, b, d->sub == FLOAT_MIN, d->flags);
	else
		r = binary64_directed(d->sub, a, b, d->index);
	t->regs[d->dst] = double_bits(r);
	return STEP_NEXT;
}

static double half_in(uint16_t v, enum ptx_type type)
{
	return (double)(type == PTX_F16 || type == PTX_F16X2 ? exec_half_float(v)
							     : exec_bf16_float(v));
}

static uint16_t half_out(double r, enum ptx_type type, unsigned flags)
{
	bool f16 = type == PTX_F16 || type == PTX_F16X2;
	uint16_t h;

	if (flags & F_SAT) {
		if (!(r > 0))
			return 0;
		if (r > 1)
			r = 1;
	}
	if (flags & F_RELU && r < 0)
		r = 0;
	h = f16 ? exec_float_half(r) : double_bf16(r);
	if (flags & F_FTZ && f16 && !(h & 0x7c00))
		h &= 0x8000;
	return h;
}

/* Calls op for each half of a register: type says whether there are two. */
#define HALVES(t, d, EXPR) do { \
	uint64_t r_ = 0; \
	unsigned n_ = (d)->type == PTX_F16X2 || (d)->type == PTX_BF16X2 ? 2 : 1; \
	for (unsigned i = 0; i < n_; i++) \
		r_ |= (uint64_t)half_out((EXPR), (d)->type, (d)->flags) << 16 * i; \
	(t)->regs[(d)->dst] = r_; \
	return STEP_NEXT; \
} while (0)
#define HALF(t, d, slot) half_in((uint16_t)(val((t), (d)->slot) >> 16 * i), (d)->type)

static enum step bin_half(struct thread *t, const struct dop *d)
{
	if (d->sub >= FLOAT_MIN)
		HALVES(t, d, extreme(HALF(t, d, a), HALF(t, d, b), d->sub == FLOAT_MIN, d->flags));
	HALVES(t, d, binary64_directed(d->sub, HALF(t, d, a), HALF(t, d, b), ROUND_NEAREST));
}

static unsigned float_flags(const struct ptx_inst *in)
{
	return (ptx_inst_has(in, PTX_M_FTZ) ? F_FTZ : 0) |
	       (ptx_inst_has(in, PTX_M_SAT) ? F_SAT : 0) |
	       (ptx_inst_has(in, PTX_M_NAN_) ? F_NAN : 0) |
	       (ptx_inst_has(in, PTX_M_RELU) ? F_RELU : 0) |
	       (ptx_inst_has(in, PTX_M_XORSIGN) ? F_XORSIGN : 0) |
	       (ptx_inst_has(in, PTX_M_SATFINITE) ? F_SATFIN : 0);
}

bool exec_float_binary(struct decoder *d, const struct ptx_inst *in, enum float_op fop)
{
	static const op_fn fast[] = { add_f32, sub_f32, mul_f32, div_f32 };
	enum ptx_type type = in->mn->types[0];
	int32_t a, b, dst;
	struct dop *op;

	if (in->mn->ntypes != 1 || !d_need(d, in, 3, 3))
		return false;
	a = d_src(d, in, 1, type);
	b = d_src(d, in, 2, type);
	dst = d_dst(d, in, 0);
	op = d_emit(d, type == PTX_F32 ? bin_f32 : type == PTX_F64 ? bin_f64 : bin_half);
	op->a = a;
	op->b = b;
	op->dst = dst;
	op->sub = (uint8_t)fop;
	op->type = (uint8_t)type;
	op->flags = (uint8_t)float_flags(in);
	op->index = round_of(rounding(in));
	if (type == PTX_F32 && !op->flags && op->index == ROUND_NEAREST && fop <= FLOAT_DIV)
		op->fn = fast[fop];
	return !d->failed;
}

/* ---- fma ---- */

static enum step fma_f32(struct thread *t, const struct dop *d)
{
	float a = bits_float(val(t, d->a)), b = bits_float(val(t, d->b)),
	      c = bits_float(val(t, d->c)), r;

	if (d->flags & F_FTZ) {
		a = exec_flush(a);
		b = exec_flush(b);
		c = exec_flush(c);
	}
	if (d->index == ROUND_NEAREST) {
		r = fmaf(a, b, c);
	} else {
		double lo, hi = two_sum((double)a * (double)b, (double)c, &lo);

		r = direct32(hi, lo, d->index);
	}
	t->regs[d->dst] = out32(r, d->flags);
	return STEP_NEXT;
}

static enum step fma_f64(struct thread *t, const struct dop *d)
{
	double a = bits_double(val(t, d->a)), b = bits_double(val(t, d->b)),
	       c = bits_double(val(t, d->c));
	double r = fma(a, b, c);

	if (d->index != ROUND_NEAREST) {
		volatile double p = a * b; /* not to be fused with the sum */
		double pl = fma(a, b, -p), sl, s = two_sum(p, c, &sl);
		double err = isinf(r) && !isinf(a) && !isinf(b) && !isinf(c) ? (r > 0 ? -1 : 1)
									     : (s - r) + sl + pl;

		r = direct64(r, err, d->index);
	}
	t->regs[d->dst] = double_bits(r);
	return STEP_NEXT;
}

static enum step fma_half(struct thread *t, const struct dop *d)
{
	HALVES(t, d, fma(HALF(t, d, a), HALF(t, d, b), HALF(t, d, c)));
}

bool exec_float_fma(struct decoder *d, const struct ptx_inst *in)
{
	enum ptx_type type = in->mn->types[0];
	int32_t a, b, c, dst;
	struct dop *op;

	if (in->mn->ntypes != 1 || !exec_float_type(type) || !d_need(d, in, 4, 4))
		return false;
	a = d_src(d, in, 1, type);
	b = d_src(d, in, 2, type);
	c = d_src(d, in, 3, type);
	dst = d_dst(d, in, 0);
	op = d_emit(d, type == PTX_F32 ? fma_f32 : type == PTX_F64 ? fma_f64 : fma_half);
	op->a = a;
	op->b = b;
	op->c = c;
	op->dst = dst;
	op->type = (uint8_t)type;
	op->flags = (uint8_t)float_flags(in);
	op->index = round_of(rounding(in));
	return !d->failed;
}

bool decode_FMA(struct decoder *d, const struct ptx_inst *in)
{
	return exec_float_fma(d, in);
}

/* ---- abs, neg, copysign ---- */

static enum step sign_op(struct thread *t, const struct dop *d)
{
	uint64_t a = val(t, d->a), mask = (uint64_t)d->imm;

	if (d->flags & F_FTZ && d->type == PTX_F32)
		a = float_bits(exec_flush(bits_float(a)));
	if (d->sub == PTX_OP_ABS)
		a &= ~mask;
	else if (d->sub == PTX_OP_NEG)
		a ^= mask;
	else /* copysign: the sign of a, the rest of b */
		a = (a & mask) | (val(t, d->b) & ~mask);
	t->regs[d->dst] = a;
	return STEP_NEXT;
}

bool exec_float_sign(struct decoder *d, const struct ptx_inst *in)
{
	enum ptx_type type = in->mn->types[0];
	unsigned n = in->op == PTX_OP_COPYSIGN ? 3 : 2;
	int32_t a, b = 0, dst;
	struct dop *op;

	if (!exec_float_type(type) || (n == 3 && is_half(type)) || !d_need(d, in, n, n))
		return false;
	a = d_src(d, in, 1, type);
	if (n == 3)
		b = d_src(d, in, 2, type);
	dst = d_dst(d, in, 0);
	op = d_emit(d, sign_op);
	op->a = a;
	op->b = b;
	op->dst = dst;
	op->sub = (uint8_t)in->op;
	op->type = (uint8_t)type;
	op->flags = (uint8_t)float_flags(in);
	op->imm = type == PTX_F64 ? INT64_MIN : type == PTX_F32 ? (int64_t)0x80000000 :
		  ptx_type_bits(type) == 32 ? (int64_t)0x80008000 : 0x8000;
	return !d->failed;
}

/* ---- functions ---- */

static double function(unsigned op, double x)
{
	switch (op) {
	case PTX_OP_RCP:
		return 1 / x;
	case PTX_OP_SQRT:
		return sqrt(x);
	case PTX_OP_RSQRT:
		return 1 / sqrt(x);
	case PTX_OP_SIN:
		return sin(x);
	case PTX_OP_COS:
		return cos(x);
	case PTX_OP_LG2:
		return log2(x);
	case PTX_OP_EX2:
		return exp2(x);
	default:
		return tanh(x);
	}
}

static enum step fun_f32(struct thread *t, const struct dop *d)
{
	float x = bits_float(val(t, d->a)), r;

	if (d->flags & F_FTZ)
		x = exec_flush(x);
	if (d->index == ROUND_NEAREST) {
		r = (float)function(d->sub, (double)x);
	} else if (d->sub == PTX_OP_SQRT) {
		double q = sqrt((double)x);

		r = direct32(q, q > 0 ? fma(-q, q, (double)x) : 0, d->index);
	} else {
		r = binary32_directed(FLOAT_DIV, 1, x, d->index);
	}
	t->regs[d->dst] = out32(r, d->flags);
	return STEP_NEXT;
}

static enum step fun_f64(struct thread *t, const struct dop *d)
{
	double x = bits_double(val(t, d->a)), r;

	if (d->index == ROUND_NEAREST)
		r = function(d->sub, x);
	else if (d->sub == PTX_OP_SQRT)
		r = direct64(sqrt(x), x > 0 ? fma(-sqrt(x), sqrt(x), x) : 0, d->index);
	else
		r = binary64_directed(FLOAT_DIV, 1, x, d->index);
	t->regs[d->dst] = double_bits(r);
	return STEP_NEXT;
}

static enum step fun_half(struct thread *t, const struct dop *d)
{
	HALVES(t, d, function(d->sub, HALF(t, d, a)));
}

bool decode_FUN(struct decoder *d, const struct ptx_inst *in)
{
	enum ptx_type type = in->mn->types[0];
	int32_t a, dst;
	struct dop *op;

	if (in->mn->ntypes != 1 || !exec_float_type(type) || !d_need(d, in, 2, 2))
		return false;
	a = d_src(d, in, 1, type);
	dst = d_dst(d, in, 0);
	op = d_emit(d, type == PTX_F32 ? fun_f32 : type == PTX_F64 ? fun_f64 : fun_half);
	op->a = a;
	op->dst = dst;
	op->sub = (uint8_t)in->op;
	op->type = (uint8_t)type;
	op->flags = (uint8_t)float_flags(in);
	op->index = round_of(rounding(in));
	return !d->failed;
}

static enum step testp(struct thread *t, const struct dop *d)
{
	double v =
		d->type == PTX_F32 ? (double)bits_float(val(t, d->a)) : bits_double(val(t, d->a));
	int c = d->type == PTX_F32 ? fpclassify(bits_float(val(t, d->a))) : fpclassify(v);
	bool r;

	switch ((enum ptx_mod)d->index) {
	case PTX_M_FINITE:
		r = c != FP_NAN && c != FP_INFINITE;
		break;
	case PTX_M_INFINITE:
		r = c == FP_INFINITE;
		break;
	case PTX_M_NUMBER:
		r = c != FP_NAN;
		break;
	case PTX_M_NOTANUMBER:
		r = c == FP_NAN;
		break;
	case PTX_M_NORMAL:
		r = c == FP_NORMAL;
		break;
	default:
		r = c == FP_SUBNORMAL;
		break;
	}
	t->regs[d->dst] = r;
	return STEP_NEXT;
}

bool decode_TESTP(struct decoder *d, const struct ptx_inst *in)
{
	enum ptx_type type = in->mn->types[0];
	int32_t a, dst;
	struct dop *op;

	if ((type != PTX_F32 && type != PTX_F64) || !in->mn->nmods || !d_need(d, in, 2, 2))
		return false;
	a = d_src(d, in, 1, type);
	dst = d_dst(d, in, 0);
	op = d_emit(d, testp);
	op->a = a;
	op->dst = dst;
	op->type = (uint8_t)type;
	op->index = in->mn->mods[0];
	return !d->failed;
}

/* ---- conversions ---- */

static uint64_t mask_of(unsigned bits)
{
	return bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

static int64_t sign_extend(uint64_t v, unsigned bits)
{
	return bits >= 64 ? (int64_t)v : (int64_t)(v << (64 - bits)) >> (64 - bits);
}

static bool is_signed(enum ptx_type t)
{
	return ptx_type_kind(t) == PTX_KIND_SIGNED;
}

/* Integer to integer; d->c: bits of the source, d->e: bits of the destination. */
static enum step cvt_ii(struct thread *t, const struct dop *d)
{
	enum ptx_type dt = d->type, st = d->sub;
	unsigned sb = ptx_type_bits(st), db = ptx_type_bits(dt);
	uint64_t v = val(t, d->a);

	v = is_signed(st) ? (uint64_t)sign_extend(v, sb) : v & mask_of(sb);
	if (d->flags & F_SAT) {
		if (is_signed(st) && is_signed(dt)) {
			int64_t max = (int64_t)(mask_of(db) >> 1), x = (int64_t)v;

			v = (uint64_t)(x > max ? max : x < -max - 1 ? -max - 1 : x);
		} else if (is_signed(st)) {
			int64_t x = (int64_t)v;

			v = x < 0 ? 0 : (uint64_t)x > mask_of(db) ? mask_of(db) : (uint64_t)x;
		} else {
			uint64_t max = is_signed(dt) ? mask_of(db) >> 1 : mask_of(db);

			v = v > max ? max : v;
		}
	}
	t->regs[d->dst] = is_signed(dt) ? (uint64_t)sign_extend(v, db) : v & mask_of(db);
	return STEP_NEXT;
}

static double load_float(uint64_t v, enum ptx_type t, bool ftz)
{
	switch (t) {
	case PTX_F16:
		return (double)exec_half_float((uint16_t)v);
	case PTX_BF16:
		return (double)exec_bf16_float((uint16_t)v);
	case PTX_F32:
		return (double)(ftz ? exec_flush(bits_float(v)) : bits_float(v));
	default:
		return bits_double(v);
	}
}

static double to_integral(double x, unsigned mod)
{
	switch ((enum ptx_mod)mod) {
	case PTX_M_RZI:
	case PTX_M_RZ:
		return trunc(x);
	case PTX_M_RMI:
	case PTX_M_RM:
		return floor(x);
	case PTX_M_RPI:
	case PTX_M_RP:
		return ceil(x);
	default:
		return rint(x); /* the mode is to nearest even */
	}
}

/* Float to integer clamps; NaN gives 0, or with 64 bits on either side the top bit alone. */
static enum step cvt_fi(struct thread *t, const struct dop *d)
{
	enum ptx_type dt = d->type, st = d->sub;
	unsigned db = ptx_type_bits(dt);
	double x = load_float(val(t, d->a), st, d->flags & F_FTZ);
	uint64_t r;

	if (x != x) {
		r = st == PTX_F64 || db == 64 ? UINT64_C(1) << (db - 1) : 0;
		t->regs[d->dst] = is_signed(dt) ? (uint64_t)sign_extend(r, db) : r;
		return STEP_NEXT;
	}
	x = to_integral(x, d->index);
	if (is_signed(dt)) {
		double lim = ldexp(1, (int)db - 1);

		r = x >= lim   ? mask_of(db) >> 1
		    : x < -lim ? (uint64_t)INT64_MIN >> (64 - db)
			       : (uint64_t)(int64_t)x;
		r = (uint64_t)sign_extend(r, db);
	} else {
		double lim = ldexp(1, (int)db);

		r = x >= lim ? mask_of(db) : x < 0 ? 0 : (uint64_t)x;
	}
	t->regs[d->dst] = r;
	return STEP_NEXT;
}

/* A value that is exact in double or in 64-bit integer, to a float type. */
static uint64_t store_float(double x, enum ptx_type t, unsigned flags, enum round round)
{
	switch (t) {
	case PTX_F16:
	case PTX_BF16:
		if (round != ROUND_NEAREST && x == x) {
			/* Through the nearest value: step back where it went to the wrong side. */
			uint16_t h = half_out(x, t, flags);
			double back = half_in(h, t);
			bool away = fabs(back) > fabs(x), below = back < x, above = back > x;

			if ((round == ROUND_ZERO && away) ||
			    (round == ROUND_DOWN && above && x > 0) ||
			    (round == ROUND_UP && below && x < 0))
				h--;
			else if ((round == ROUND_DOWN && above) || (round == ROUND_UP && below))
				h++;
			return h;
		}
		return half_out(x, t, flags);
	case PTX_F32:
		return out32(direct32(x, 0, round), flags);
	default:
		if (flags & F_SAT)
			x = !(x > 0) ? 0 : x > 1 ? 1 : x;
		return double_bits(x);
	}
}

static enum step cvt_if(struct thread *t, const struct dop *d)
{
	enum ptx_type dt = d->type, st = d->sub;
	unsigned sb = ptx_type_bits(st);
	uint64_t v = val(t, d->a), u = v & mask_of(sb);
	int64_t s = sign_extend(v, sb);
	__int128 exact = is_signed(st) ? (__int128)s : (__int128)u;
	enum round round = round_of(d->index);
	double r;

	/* One rounding only: 64-bit integers are not exact in double. */
	if (dt == PTX_F64) {
		r = is_signed(st) ? (double)s : (double)u;
		r = direct64(r, (double)(exact - (__int128)r), round);
		t->regs[d->dst] = store_float(r, dt, d->flags, ROUND_NEAREST);
	} else if (dt == PTX_F32) {
		float f = is_signed(st) ? (float)s : (float)u;
		int n = neighbour((double)f, (double)(exact - (__int128)f), round);

		if (n)
			f = nextafterf(f, n > 0 ? INFINITY : -INFINITY);
		t->regs[d->dst] = out32(f, d->flags);
	} else {
		t->regs[d->dst] =
			store_float(is_signed(st) ? (double)s : (double)u, dt, d->flags, round);
	}
	return STEP_NEXT;
}

static enum step cvt_ff(struct thread *t, const struct dop *d)
{
	enum ptx_type dt = d->type, st = d->sub;
	double x = load_float(val(t, d->a), st, d->flags & F_FTZ);

	switch ((enum ptx_mod)d->index) {
	case PTX_M_RNI:
	case PTX_M_RZI:
	case PTX_M_RMI:
	case PTX_M_RPI:
		t->regs[d->dst] =
			store_float(to_integral(x, d->index), dt, d->flags, ROUND_NEAREST);
		return STEP_NEXT;
	default:
		break;
	}
	t->regs[d->dst] = store_float(x, dt, d->flags, round_of(d->index));
	return STEP_NEXT;
}

/* cvt.rn.f16x2.f32 d, a, b: a goes to the upper half. */
static enum step cvt_pair(struct thread *t, const struct dop *d)
{
	enum ptx_type ht = d->type == PTX_F16X2 ? PTX_F16 : PTX_BF16;
	enum round round = round_of(d->index);
	uint64_t hi = store_float((double)bits_float(val(t, d->a)), ht, d->flags, round);
	uint64_t lo = store_float((double)bits_float(val(t, d->b)), ht, d->flags, round);

	t->regs[d->dst] = hi << 16 | lo;
	return STEP_NEXT;
}

/* cvt.rna.tf32.f32: ten bits of mantissa, ties away from zero; rn: to even. */
static enum step cvt_tf32(struct thread *t, const struct dop *d)
{
	uint32_t b = (uint32_t)val(t, d->a);

	if ((b & 0x7f800000) != 0x7f800000) {
		if (d->index == PTX_M_RNA)
			b += 0x1000;
		else if (d->index == PTX_M_RN)
			b += 0xfff + (b >> 13 & 1);
		b &= ~(uint32_t)0x1fff;
		if (d->flags & F_RELU && b & 0x80000000)
			b = 0;
	}
	t->regs[d->dst] = b;
	return STEP_NEXT;
}

bool decode_CVT(struct decoder *d, const struct ptx_inst *in)
{
	enum ptx_type dt = in->mn->types[0], st = in->mn->types[1];
	bool df, sf;
	int32_t a, b = 0, dst;
	struct dop *op;
	op_fn fn;

	if (in->mn->ntypes != 2)
		return false;
	df = dt == PTX_F16 || dt == PTX_BF16 || dt == PTX_F32 || dt == PTX_F64;
	sf = st == PTX_F16 || st == PTX_BF16 || st == PTX_F32 || st == PTX_F64;
	if (ptx_inst_has(in, PTX_M_RS))
		return d_fail(d, "stochastic rounding is not supported");
	if ((dt == PTX_F16X2 || dt == PTX_BF16X2) && st == PTX_F32) {
		fn = cvt_pair;
		if (!d_need(d, in, 3, 3))
			return false;
		b = d_src(d, in, 2, st);
	} else if (dt == PTX_TF32 && st == PTX_F32) {
		fn = cvt_tf32;
	} else if (df && sf) {
		fn = cvt_ff;
	} else if (df || sf) {
		enum ptx_type i = df ? st : dt;

		if (ptx_type_kind(i) != PTX_KIND_UNSIGNED && ptx_type_kind(i) != PTX_KIND_SIGNED)
			return false;
		fn = df ? cvt_if : cvt_fi;
	} else if ((ptx_type_kind(dt) == PTX_KIND_UNSIGNED ||
		    ptx_type_kind(dt) == PTX_KIND_SIGNED) &&
		   (ptx_type_kind(st) == PTX_KIND_UNSIGNED ||
		    ptx_type_kind(st) == PTX_KIND_SIGNED) &&
		   ptx_type_bits(dt) >= 8 && ptx_type_bits(st) >= 8) {
		fn = cvt_ii;
	} else {
		return false;
	}
	if (fn != cvt_pair && !d_need(d, in, 2, 2))
		return false;
	a = d_src(d, in, 1, st);
	dst = d_dst(d, in, 0);
	op = d_emit(d, fn);
	op->a = a;
	op->b = b;
	op->dst = dst;
	op->type = (uint8_t)dt;
	op->sub = (uint8_t)st;
	op->flags = (uint8_t)float_flags(in);
	op->index = rounding(in);
	return !d->failed;
}
