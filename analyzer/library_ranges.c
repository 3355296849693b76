/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which bytes library calls read and write.  See library_ranges.h.
 *
 * Everything comes down to nests of equal steps: elements in a column, columns in
 * a matrix, matrices in a batch.  Steps without gaps are one, two are rows of
 * pieces, more are told piece by piece, up to a limit: beyond it the hull is all
 * that is told, which is no reason for a finding by itself.
 */
#include "library_ranges.h"

#include <string.h>

#define DIM_MAX (1ull << 40) /* no dimension, and no step in bytes, is larger */
#define PIECES	32	     /* of one operand */
#define TABLE	64	     /* operands that one table of addresses names */
#define NEST	6

struct nest {
	uint64_t unit; /* bytes without a gap */
	unsigned n;
	struct {
		uint64_t count;
		int64_t step;
	} dim[NEST];
	bool bad; /* some size makes no sense */
};

struct telling {
	const struct krt_library_in *in;
	const struct krt_lib_fn *f;
};

static uint64_t arg(const struct telling *t, enum krt_lib_role role, uint64_t absent)
{
	return krt_lib_arg(t->f, t->in->args, role, absent);
}

/* --- telling ------------------------------------------------------------------------ */

static void tell(const struct telling *t, const struct krt_kernel_access *shape, unsigned kind,
		 enum krt_sureness sure)
{
	struct krt_kernel_access a = *shape;

	a.kind = kind;
	a.know = KRT_KNOW_LIBRARY;
	a.sure = sure;
	if (a.len) {
		a.from = a.addr;
		a.end = a.addr + a.len + (a.rows > 1 ? (a.rows - 1) * a.pitch : 0);
		if (a.end < a.from)
			return;
	}
	t->in->fn(t->in->user, &a);
}

/* It begins there; how far it goes is not known. */
static void tell_from(const struct telling *t, uint64_t addr, unsigned kind)
{
	struct krt_kernel_access a = {.addr = addr, .base = addr, .from = addr, .end = addr + 1};

	if (addr)
		tell(t, &a, kind, KRT_SURE_FROM);
}

static void tell_bytes(const struct telling *t, uint64_t addr, uint64_t len, unsigned kind,
		       enum krt_sureness sure)
{
	struct krt_kernel_access a = {.addr = addr, .len = len, .base = addr};

	if (addr && len)
		tell(t, &a, kind, sure);
}

static void nest_begin(struct nest *s, uint64_t unit)
{
	*s = (struct nest){.unit = unit, .bad = unit > DIM_MAX};
}

static void nest_add(struct nest *s, uint64_t count, int64_t step)
{
	if (count > DIM_MAX || step > (int64_t)DIM_MAX || step < -(int64_t)DIM_MAX ||
	    s->n == NEST) {
		s->bad = true;
		return;
	}
	if (!count)
		s->unit = 0;
	s->dim[s->n].count = count;
	s->dim[s->n++].step = step;
}

static uint64_t reach(const struct nest *s, unsigned dims)
{
	uint64_t end = s->unit;

	for (unsigned i = 0; i < dims; i++)
		end += (s->dim[i].count - 1) * (uint64_t)s->dim[i].step;
	return end;
}

/* Smallest step first, steps that leave no gap joined. */
static uint64_t nest_sort(struct nest *s, uint64_t addr)
{
	unsigned n = 0;

	for (unsigned i = 0; i < s->n; i++) {
		uint64_t count = s->dim[i].count;
		int64_t step = s->dim[i].step;
		unsigned at = n;

		if (count == 1 || !step)
			continue;
		if (step < 0) {
			addr -= (count - 1) * (uint64_t)-step;
			step = -step;
		}
		for (; at && s->dim[at - 1].step > step; at--)
			s->dim[at] = s->dim[at - 1];
		s->dim[at].count = count;
		s->dim[at].step = step;
		n++;
	}
	s->n = n;
	n = 0;
	for (unsigned i = 0; i < s->n; i++) {
		uint64_t step = (uint64_t)s->dim[i].step, count = s->dim[i].count;

		if (!n && step <= s->unit) {
			s->unit += (count - 1) * step;
		} else if (n && step == (uint64_t)s->dim[n - 1].step * s->dim[n - 1].count) {
			s->dim[n - 1].count *= count;
		} else {
			s->dim[n].count = count;
			s->dim[n++].step = (int64_t)step;
		}
	}
	s->n = n;
	return addr;
}

static bool too_large(const struct nest *s)
{
	__uint128_t end = s->unit;

	for (unsigned i = 0; i < s->n; i++)
		end += (__uint128_t)(s->dim[i].count ? s->dim[i].count - 1 : 0) *
		       (uint64_t)(s->dim[i].step < 0 ? -s->dim[i].step : s->dim[i].step);
	return s->bad || end > DIM_MAX * 16;
}

static void tell_nest(const struct telling *t, uint64_t at, const struct nest *from, unsigned kind,
		      enum krt_sureness sure)
{
	struct krt_kernel_access a = {.base = at};
	struct nest s = *from;
	uint64_t pieces = 1;
	unsigned inner;

	if (!at || !s.unit || too_large(&s))
		return;
	a.addr = nest_sort(&s, at);
	a.len = s.unit;
	/* rows of pieces, where the rows do not run into each other */
	inner = s.n == 1 || (s.n >= 2 && reach(&s, 1) > (uint64_t)s.dim[1].step) ? 1
		: s.n >= 2							 ? 2
										 : 0;
	if (inner == 1) {
		a.rows = s.dim[0].count;
		a.pitch = (uint64_t)s.dim[0].step;
	} else if (inner == 2) {
		a.len = reach(&s, 1);
		a.width = s.unit;
		a.stride = (uint64_t)s.dim[0].step;
		a.rows = s.dim[1].count;
		a.pitch = (uint64_t)s.dim[1].step;
	}
	for (unsigned i = inner; i < s.n; i++)
		pieces = s.dim[i].count > PIECES ? PIECES + 1 : pieces * s.dim[i].count;
	if (pieces > PIECES) {
		tell_bytes(t, a.addr, reach(&s, s.n), kind, KRT_SURE_LIMIT);
		return;
	}
	for (uint64_t p = 0; p < pieces; p++) {
		struct krt_kernel_access piece = a;
		uint64_t rest = p;

		for (unsigned i = inner; i < s.n; i++) {
			piece.addr += rest % s.dim[i].count * (uint64_t)s.dim[i].step;
			rest /= s.dim[i].count;
		}
		tell(t, &piece, kind, sure);
	}
}

/* --- operands of cuBLAS ---------------------------------------------------------------- */

enum operand { OP_A, OP_B, OP_C };

static unsigned bits_of(const struct telling *t, enum operand o)
{
	return krt_lib_type_bits(arg(t, KRT_LR_TYPEA + o, t->f->type));
}

/* The nest of one operand, of all matrices of its batch. */
static void each_of_batch(const struct telling *t, enum operand o, uint64_t offset,
			  const struct nest *one, unsigned kind, enum krt_sureness sure)
{
	uint64_t table = arg(t, KRT_LR_TABLEA + o, 0), batch = arg(t, KRT_LR_BATCH, 1);
	uint64_t word[TABLE];
	struct nest s = *one;
	size_t n;

	if (batch > DIM_MAX)
		return;
	if (!table) {
		int64_t stride = (int64_t)arg(t, KRT_LR_STRIDEA + o, 0);

		if (stride > (int64_t)DIM_MAX || stride < -(int64_t)DIM_MAX)
			return;
		nest_add(&s, batch, stride * (int64_t)bits_of(t, o) / 8);
		if (arg(t, KRT_LR_A + o, 0))
			tell_nest(t, arg(t, KRT_LR_A + o, 0) + offset, &s, kind, sure);
		return;
	}
	n = t->in->read
		    ? t->in->read(t->in->user, table, word, batch < TABLE ? (size_t)batch : TABLE)
		    : 0;
	for (size_t i = 0; i < n; i++)
		if (word[i])
			tell_nest(t, word[i] + offset, &s, kind, sure);
}

/* Of unknown extent. */
static void operand_from(const struct telling *t, enum operand o, unsigned kind)
{
	tell_from(t, arg(t, KRT_LR_A + o, 0), kind);
}

/* Rows r0.. of columns c0.., stored by column. */
static void part(const struct telling *t, enum operand o, uint64_t r0, uint64_t c0, uint64_t rows,
		 uint64_t cols, unsigned kind, enum krt_sureness sure)
{
	uint64_t ld = arg(t, KRT_LR_LDA + o, 0), bits = bits_of(t, o);
	struct nest s;

	if (!rows || !cols || rows > DIM_MAX || cols > DIM_MAX || ld > DIM_MAX)
		return;
	if (!bits || (bits % 8 && (ld * bits % 8 || r0))) {
		operand_from(t, o, kind);
		return;
	}
	nest_begin(&s, (rows * bits + 7) / 8);
	nest_add(&s, cols, (int64_t)(ld * bits / 8));
	each_of_batch(t, o, (c0 * ld + r0) * bits / 8, &s, kind, sure);
}

static void matrix(const struct telling *t, enum operand o, uint64_t rows, uint64_t cols,
		   unsigned kind, enum krt_sureness sure)
{
	part(t, o, 0, 0, rows, cols, kind, sure);
}

/*
 * A triangle, the diagonal included: a square, and the smaller triangles above
 * and beside it.  Of the last ones only the squares around them are told, which
 * the other triangle shares.
 */
static void triangle(const struct telling *t, enum operand o, uint64_t at, uint64_t n, bool upper,
		     unsigned kind, enum krt_sureness sure, unsigned depth)
{
	uint64_t half = n / 2;

	if (n > DIM_MAX)
		return;
	if (n <= 1 || !depth) {
		part(t, o, at, at, n, n, kind, n <= 1 ? sure : KRT_SURE_LIMIT);
		return;
	}
	part(t, o, upper ? at : at + half, upper ? at + half : at, upper ? half : n - half,
	     upper ? n - half : half, kind, sure);
	triangle(t, o, at, half, upper, kind, sure, depth - 1);
	triangle(t, o, at + half, n - half, upper, kind, sure, depth - 1);
}

static void vector(const struct telling *t, enum operand o, uint64_t n, unsigned kind,
		   enum krt_sureness sure)
{
	int64_t inc = (int64_t)arg(t, KRT_LR_INCA + o, 1);
	uint64_t bits = bits_of(t, o);
	struct nest s;

	if (!n || n > DIM_MAX || inc > (int64_t)DIM_MAX || inc < -(int64_t)DIM_MAX)
		return;
	if (!bits || bits % 8) {
		operand_from(t, o, kind);
		return;
	}
	nest_begin(&s, bits / 8);
	/* with a negative step the last element comes first */
	nest_add(&s, inc ? n : 1, (inc < 0 ? -inc : inc) * (int64_t)bits / 8);
	each_of_batch(t, o, 0, &s, kind, sure);
}

/* The tables of a batch themselves. */
static void tables(const struct telling *t)
{
	uint64_t batch = arg(t, KRT_LR_BATCH, 0);

	for (unsigned o = OP_A; o <= OP_C && batch <= DIM_MAX; o++)
		tell_bytes(t, arg(t, KRT_LR_TABLEA + o, 0), batch * 8, KRT_ACC_READ, KRT_SURE_ALL);
}

/* --- scalars ----------------------------------------------------------------------------- */

enum scalar { SCALAR_ZERO, SCALAR_NOT_ZERO, SCALAR_UNKNOWN };

static bool is_zero(const uint64_t *words, unsigned bytes, bool pair)
{
	unsigned each = pair ? bytes / 2 : bytes;
	uint8_t raw[16];

	memcpy(raw, words, sizeof(raw));
	for (unsigned i = 0; i < bytes && i < sizeof(raw); i++) {
		bool top = (i + 1) % each == 0; /* holds the sign */

		if (top ? raw[i] & 0x7f : raw[i])
			return false;
	}
	return true;
}

static enum scalar scalar(const struct telling *t, unsigned word, unsigned host, unsigned bytes,
			  bool pair)
{
	if (!(t->in->words[KRT_BLAS_MODE] & host) || !bytes)
		return SCALAR_UNKNOWN;
	return is_zero(&t->in->words[word], bytes, pair) ? SCALAR_ZERO : SCALAR_NOT_ZERO;
}

static bool scalar_pair(const struct telling *t)
{
	if (t->f->flags & KRT_LIB_REAL)
		return false;
	if (arg(t, KRT_LR_TYPES, UINT64_MAX) != UINT64_MAX)
		return krt_lib_type_complex(arg(t, KRT_LR_TYPES, 0));
	if (arg(t, KRT_LR_COMPUTE, UINT64_MAX) != UINT64_MAX)
		return krt_lib_type_complex(arg(t, KRT_LR_TYPEC, t->f->type));
	return krt_lib_type_complex(t->f->type);
}

/* --- cuBLAS ------------------------------------------------------------------------------ */

/* A result of which the old value may count. */
static void result(const struct telling *t,
		   void (*part_of)(const struct telling *, unsigned, enum krt_sureness),
		   bool computed, enum scalar beta)
{
	/* nothing computed, and beta may be one: it may be left alone */
	if (!computed) {
		part_of(t, KRT_ACC_READ, KRT_SURE_SOME);
		part_of(t, KRT_ACC_WRITE, KRT_SURE_SOME);
		return;
	}
	if (beta != SCALAR_ZERO)
		part_of(t, KRT_ACC_READ, beta == SCALAR_UNKNOWN ? KRT_SURE_SOME : KRT_SURE_ALL);
	part_of(t, KRT_ACC_WRITE, KRT_SURE_ALL);
}

static bool transposed(const struct telling *t, enum krt_lib_role role)
{
	return arg(t, role, 0) != 0;
}

static bool right_side(const struct telling *t)
{
	return arg(t, KRT_LR_SIDE, 0) != 0;
}

static bool upper(const struct telling *t) /* cublasFillMode_t: 0 lower, 1 upper, 2 all */
{
	return arg(t, KRT_LR_UPLO, 0) == 1;
}

static uint64_t size_of(const struct telling *t, enum krt_lib_role role)
{
	uint64_t v = arg(t, role, 0);

	return v > DIM_MAX ? 0 : v; /* negative: the call fails */
}

static void c_matrix(const struct telling *t, unsigned kind, enum krt_sureness sure)
{
	matrix(t, OP_C, size_of(t, KRT_LR_M), size_of(t, KRT_LR_N), kind, sure);
}

static void c_triangle(const struct telling *t, unsigned kind, enum krt_sureness sure)
{
	uint64_t n = size_of(t, KRT_LR_N);

	if (arg(t, KRT_LR_UPLO, 0) > 1)
		matrix(t, OP_C, n, n, kind, sure);
	else
		triangle(t, OP_C, 0, n, upper(t), kind, sure, 4);
}

static void c_vector(const struct telling *t, unsigned kind, enum krt_sureness sure)
{
	uint64_t n = size_of(t, KRT_LR_N), m = arg(t, KRT_LR_M, UINT64_MAX);

	/* of a matrix and a vector: as long as a column, or a row */
	if (m != UINT64_MAX && !transposed(t, KRT_LR_TRANSA))
		n = size_of(t, KRT_LR_M);
	vector(t, OP_C, n, kind, sure);
}

static bool empty_matrix(const struct telling *t)
{
	return !size_of(t, KRT_LR_M) || !size_of(t, KRT_LR_N);
}

static void a_or_transposed(const struct telling *t, enum operand o, enum krt_lib_role trans,
			    uint64_t rows, uint64_t cols)
{
	if (transposed(t, trans))
		matrix(t, o, cols, rows, KRT_ACC_READ, KRT_SURE_ALL);
	else
		matrix(t, o, rows, cols, KRT_ACC_READ, KRT_SURE_ALL);
}

static void symmetric(const struct telling *t, uint64_t n)
{
	if (arg(t, KRT_LR_UPLO, 0) > 1)
		matrix(t, OP_A, n, n, KRT_ACC_READ, KRT_SURE_ALL);
	else
		triangle(t, OP_A, 0, n, upper(t), KRT_ACC_READ, KRT_SURE_ALL, 4);
}

static bool blas(const struct telling *t)
{
	const uint64_t *w = t->in->words;
	unsigned bytes = krt_lib_scalar_bytes(t->f, t->in->args);
	enum scalar alpha = scalar(t, KRT_BLAS_ALPHA, KRT_BLAS_ALPHA_HOST, bytes, scalar_pair(t));
	enum scalar beta = scalar(t, KRT_BLAS_BETA, KRT_BLAS_BETA_HOST, bytes, scalar_pair(t));
	uint64_t m = size_of(t, KRT_LR_M), n = size_of(t, KRT_LR_N), k = size_of(t, KRT_LR_K);
	bool any = alpha != SCALAR_ZERO;
	uint64_t bits;

	switch (t->f->kind) {
	case KRT_LIB_GEMM:
	case KRT_LIB_GEMV:
	case KRT_LIB_GER:
	case KRT_LIB_GEAM:
	case KRT_LIB_DGMM:
	case KRT_LIB_SYMM:
	case KRT_LIB_TRSM:
		if (empty_matrix(t))
			return true;
		break;
	default:
		if (!n)
			return true;
		break;
	}
	if (w[KRT_BLAS_MODE] & KRT_BLAS_DEVICE) {
		tell_bytes(t, arg(t, KRT_LR_ALPHA, 0), bytes, KRT_ACC_READ, KRT_SURE_ALL);
		tell_bytes(t, arg(t, KRT_LR_BETA, 0), bytes, KRT_ACC_READ, KRT_SURE_ALL);
		bits = krt_lib_type_bits(arg(t, KRT_LR_TYPER, t->f->type));
		tell_bytes(t, arg(t, KRT_LR_RESULT, 0),
			   t->f->flags & KRT_LIB_REAL ? bits / 16 : bits / 8, KRT_ACC_WRITE,
			   KRT_SURE_ALL);
	}
	tables(t);
	switch (t->f->kind) {
	case KRT_LIB_GEMM:
		any = any && k;
		if (any) {
			a_or_transposed(t, OP_A, KRT_LR_TRANSA, m, k);
			a_or_transposed(t, OP_B, KRT_LR_TRANSB, k, n);
		}
		result(t, c_matrix, any, beta);
		break;
	case KRT_LIB_GEMV:
		if (any) {
			matrix(t, OP_A, m, n, KRT_ACC_READ, KRT_SURE_ALL);
			vector(t, OP_B, transposed(t, KRT_LR_TRANSA) ? m : n, KRT_ACC_READ,
			       KRT_SURE_ALL);
		}
		result(t, c_vector, any, beta);
		break;
	case KRT_LIB_GER:
		if (any) {
			vector(t, OP_A, m, KRT_ACC_READ, KRT_SURE_ALL);
			vector(t, OP_B, n, KRT_ACC_READ, KRT_SURE_ALL);
		}
		result(t, c_matrix, any, SCALAR_NOT_ZERO);
		break;
	case KRT_LIB_AXPY:
		if (any)
			vector(t, OP_A, n, KRT_ACC_READ, KRT_SURE_ALL);
		result(t, c_vector, any, SCALAR_NOT_ZERO);
		break;
	case KRT_LIB_SCAL: /* with zero it is set */
		result(t, c_vector, true, alpha);
		break;
	case KRT_LIB_DOT:
		vector(t, OP_B, n, KRT_ACC_READ, KRT_SURE_ALL);
		vector(t, OP_A, n, KRT_ACC_READ, KRT_SURE_ALL);
		break;
	case KRT_LIB_NORM:
		vector(t, OP_A, n, KRT_ACC_READ, KRT_SURE_ALL);
		break;
	case KRT_LIB_COPY:
		vector(t, OP_A, n, KRT_ACC_READ, KRT_SURE_ALL);
		vector(t, OP_C, n, KRT_ACC_WRITE, KRT_SURE_ALL);
		break;
	case KRT_LIB_SWAP:
		vector(t, OP_A, n, KRT_ACC_READ, KRT_SURE_ALL);
		vector(t, OP_A, n, KRT_ACC_WRITE, KRT_SURE_ALL);
		vector(t, OP_C, n, KRT_ACC_READ, KRT_SURE_ALL);
		vector(t, OP_C, n, KRT_ACC_WRITE, KRT_SURE_ALL);
		break;
	case KRT_LIB_SYRK:
	case KRT_LIB_SYR2K:
		any = any && k;
		if (any) {
			a_or_transposed(t, OP_A, KRT_LR_TRANSA, n, k);
			if (t->f->kind == KRT_LIB_SYR2K)
				a_or_transposed(t, OP_B, KRT_LR_TRANSA, n, k);
		}
		result(t, c_triangle, any, beta);
		break;
	case KRT_LIB_SYMM:
		if (any) {
			symmetric(t, right_side(t) ? n : m);
			matrix(t, OP_B, m, n, KRT_ACC_READ, KRT_SURE_ALL);
		}
		result(t, c_matrix, any, beta);
		break;
	case KRT_LIB_TRSM:
		if (any) /* of a unit triangle the diagonal is not read */
			triangle(t, OP_A, 0, right_side(t) ? n : m, upper(t), KRT_ACC_READ,
				 arg(t, KRT_LR_DIAG, 0) ? KRT_SURE_SOME : KRT_SURE_ALL, 4);
		result(t, c_matrix, any, SCALAR_NOT_ZERO);
		break;
	case KRT_LIB_GEAM:
		if (any)
			a_or_transposed(t, OP_A, KRT_LR_TRANSA, m, n);
		if (beta != SCALAR_ZERO)
			a_or_transposed(t, OP_B, KRT_LR_TRANSB, m, n);
		matrix(t, OP_C, m, n, KRT_ACC_WRITE, KRT_SURE_ALL);
		break;
	case KRT_LIB_DGMM:
		matrix(t, OP_A, m, n, KRT_ACC_READ, KRT_SURE_ALL);
		vector(t, OP_B, right_side(t) ? n : m, KRT_ACC_READ, KRT_SURE_ALL);
		matrix(t, OP_C, m, n, KRT_ACC_WRITE, KRT_SURE_ALL);
		break;
	default:
		return false;
	}
	return true;
}

/* --- cublasLt ---------------------------------------------------------------------------- */

static const uint64_t *layout(const struct telling *t, unsigned operand)
{
	return &t->in->words[KRT_NR_BLAS_WORDS + operand * KRT_NR_LT_LAYOUT];
}

static uint64_t said(uint64_t v, uint64_t otherwise)
{
	return v == KRT_LT_UNSAID ? otherwise : v;
}

/* One plane of a matrix, of each matrix of the batch. */
static void lt_plane(const struct telling *t, const uint64_t *l, uint64_t addr, uint64_t bits,
		     unsigned kind, enum krt_sureness sure)
{
	bool by_row = l[KRT_LT_ORDER] == 1;
	uint64_t rows = by_row ? l[KRT_LT_COLS] : l[KRT_LT_ROWS],
		 cols = by_row ? l[KRT_LT_ROWS] : l[KRT_LT_COLS];
	uint64_t batch = said(l[KRT_LT_BATCH], 1);
	int64_t stride = (int64_t)said(l[KRT_LT_STRIDE], 0);
	struct nest s;

	if (!addr || rows > DIM_MAX || cols > DIM_MAX || l[KRT_LT_LD] > DIM_MAX ||
	    batch > DIM_MAX || stride > (int64_t)DIM_MAX || stride < -(int64_t)DIM_MAX)
		return;
	if (l[KRT_LT_ORDER] > 1 || !bits ||
	    (bits % 8 && (l[KRT_LT_LD] * bits % 8 || (uint64_t)stride * bits % 8))) {
		tell_from(t, addr, kind);
		return;
	}
	nest_begin(&s, (rows * bits + 7) / 8);
	nest_add(&s, cols, (int64_t)(l[KRT_LT_LD] * bits / 8));
	if (said(l[KRT_LT_BATCH_MODE], 0) == 1) { /* addr is a table of addresses */
		uint64_t word[TABLE];
		size_t n;

		tell_bytes(t, addr, batch * 8, KRT_ACC_READ, KRT_SURE_ALL);
		n = t->in->read ? t->in->read(t->in->user, addr, word,
					      batch < TABLE ? (size_t)batch : TABLE)
				: 0;
		for (size_t i = 0; i < n; i++)
			if (word[i])
				tell_nest(t, word[i], &s, kind, sure);
		return;
	}
	nest_add(&s, batch, stride * (int64_t)bits / 8);
	tell_nest(t, addr, &s, kind, sure);
}

static void lt_matrix(const struct telling *t, unsigned operand, uint64_t addr, unsigned kind,
		      enum krt_sureness sure)
{
	const uint64_t *l = layout(t, operand);
	uint64_t plane = said(l[KRT_LT_PLANE], 0), bits = krt_lib_type_bits(l[KRT_LT_TYPE]);

	if (!plane) {
		lt_plane(t, l, addr, bits, kind, sure);
		return;
	}
	/* real and imaginary parts apart */
	lt_plane(t, l, addr, bits / 2, kind, sure);
	lt_plane(t, l, addr ? addr + plane : 0, bits / 2, kind, sure);
}

/* Of n elements for each matrix of the batch. */
static void lt_vector(const struct telling *t, uint64_t addr, uint64_t n, uint64_t bits,
		      uint64_t stride, unsigned kind)
{
	uint64_t batch = said(layout(t, 3)[KRT_LT_BATCH], 1);
	struct nest s;

	if (!addr || n > DIM_MAX || stride > DIM_MAX || batch > DIM_MAX)
		return;
	if (!bits || bits % 8) {
		tell_from(t, addr, kind);
		return;
	}
	nest_begin(&s, n * bits / 8);
	nest_add(&s, batch, (int64_t)(stride * bits / 8));
	tell_nest(t, addr, &s, kind, KRT_SURE_ALL);
}

static void lt_epilogue(const struct telling *t)
{
	const uint64_t *w = t->in->words, *d = layout(t, 3);
	uint64_t epilogue = said(w[KRT_LD_WORD(EPILOGUE)], 1), bias = said(w[KRT_LD_WORD(BIAS)], 0);
	uint64_t aux = said(w[KRT_LD_WORD(AUX)], 0), type = d[KRT_LT_TYPE], bits;
	uint64_t m = d[KRT_LT_ROWS], n = d[KRT_LT_COLS], ld = said(w[KRT_LD_WORD(AUX_LD)], 0);
	uint64_t stride = said(w[KRT_LD_WORD(AUX_STRIDE)], 0), batch = said(d[KRT_LT_BATCH], 1);
	bool writes = epilogue & (KRT_EPI_BGRAD | KRT_EPI_BGRADA | KRT_EPI_BGRADB);
	struct nest s;

	/* the type of a bias that nobody told depends on more than can be seen for types of 8 bits
	 */
	bits = (uint32_t)w[KRT_LD_WORD(BIAS_TYPE)] == UINT32_MAX
		       ? (krt_lib_type_bits(type) > 8 ? krt_lib_type_bits(type) : 0)
		       : krt_lib_type_bits(w[KRT_LD_WORD(BIAS_TYPE)]);
	if (bias && (epilogue & KRT_EPI_BIAS || writes))
		lt_vector(t, bias, epilogue & KRT_EPI_BGRADB ? n : m, bits,
			  said(w[KRT_LD_WORD(BIAS_STRIDE)], 0),
			  writes ? KRT_ACC_WRITE : KRT_ACC_READ);
	if (!aux || !(epilogue & KRT_EPI_AUX) || m > DIM_MAX || n > DIM_MAX || ld > DIM_MAX ||
	    stride > DIM_MAX || batch > DIM_MAX)
		return;
	if (epilogue & (KRT_EPI_RELU | KRT_EPI_DRELU)) { /* a bit an element */
		bits = 1;
	} else {
		bits = (uint32_t)w[KRT_LD_WORD(AUX_TYPE)] == UINT32_MAX
			       ? (krt_lib_type_bits(type) > 8 ? krt_lib_type_bits(type) : 0)
			       : krt_lib_type_bits(w[KRT_LD_WORD(AUX_TYPE)]);
	}
	if (!bits || ld * bits % 8 || stride * bits % 8 || d[KRT_LT_ORDER]) {
		tell_from(t, aux,
			  epilogue & (KRT_EPI_DRELU | KRT_EPI_DGELU) ? KRT_ACC_READ
								     : KRT_ACC_WRITE);
		return;
	}
	nest_begin(&s, (m * bits + 7) / 8);
	nest_add(&s, n, (int64_t)(ld * bits / 8));
	nest_add(&s, batch, (int64_t)(stride * bits / 8));
	tell_nest(t, aux, &s,
		  epilogue & (KRT_EPI_DRELU | KRT_EPI_DGELU) ? KRT_ACC_READ : KRT_ACC_WRITE,
		  KRT_SURE_ALL);
}

/* Scales of 32 bits, or of many where the mode says so. */
static void lt_scale(const struct telling *t, uint64_t addr, uint64_t mode)
{
	addr = said(addr, 0);
	if (said(mode, 0))
		tell_from(t, addr, KRT_ACC_READ);
	else
		tell_bytes(t, addr, 4, KRT_ACC_READ, KRT_SURE_ALL);
}

static bool lt_matmul(const struct telling *t)
{
	const uint64_t *w = t->in->words;
	uint64_t type = w[KRT_LD_WORD(SCALE_TYPE)], bytes = krt_lib_type_bits(type) / 8;
	enum scalar alpha = scalar(t, KRT_BLAS_ALPHA, KRT_BLAS_ALPHA_HOST, (unsigned)bytes,
				   krt_lib_type_complex(type));
	enum scalar beta = scalar(t, KRT_BLAS_BETA, KRT_BLAS_BETA_HOST, (unsigned)bytes,
				  krt_lib_type_complex(type));
	uint64_t mode = w[KRT_BLAS_MODE], addr[4];
	bool any = alpha != SCALAR_ZERO;

	for (unsigned i = 0; i < 4; i++) {
		static const uint8_t role[] = {KRT_LR_A, KRT_LR_B, KRT_LR_C, KRT_LR_D};

		addr[i] = arg(t, role[i], 0);
		/* D's layout tells the size of the product */
		if (layout(t, i)[KRT_LT_ROWS] == KRT_LT_UNSAID ||
		    layout(t, i)[KRT_LT_TYPE] == KRT_LT_UNSAID ||
		    layout(t, i)[KRT_LT_COLS] == KRT_LT_UNSAID ||
		    layout(t, i)[KRT_LT_LD] == KRT_LT_UNSAID) {
			if ((i < 2 || i == 3) && addr[i])
				return false;
			addr[i] = 0;
		}
	}
	if (!layout(t, 3)[KRT_LT_ROWS] || !layout(t, 3)[KRT_LT_COLS])
		return true;
	if (mode & KRT_BLAS_BETA_ZERO)
		beta = SCALAR_ZERO;
	if (mode & KRT_BLAS_DEVICE) {
		tell_bytes(t, arg(t, KRT_LR_ALPHA, 0), bytes, KRT_ACC_READ, KRT_SURE_ALL);
		tell_bytes(t, arg(t, KRT_LR_BETA, 0), bytes, KRT_ACC_READ, KRT_SURE_ALL);
	}
	if (mode & KRT_BLAS_ALPHA_VECTOR)
		lt_vector(t, arg(t, KRT_LR_ALPHA, 0), layout(t, 3)[KRT_LT_ROWS], bytes * 8,
			  said(w[KRT_LD_WORD(ALPHA_STRIDE)], 0), KRT_ACC_READ);
	if (mode & KRT_BLAS_BETA_VECTOR)
		lt_vector(t, arg(t, KRT_LR_BETA, 0), layout(t, 3)[KRT_LT_ROWS], bytes * 8, 0,
			  KRT_ACC_READ);
	if (any) {
		lt_matrix(t, 0, addr[0], KRT_ACC_READ, KRT_SURE_ALL);
		lt_matrix(t, 1, addr[1], KRT_ACC_READ, KRT_SURE_ALL);
	}
	if (beta != SCALAR_ZERO)
		lt_matrix(t, 2, addr[2], KRT_ACC_READ,
			  beta == SCALAR_UNKNOWN || !any ? KRT_SURE_SOME : KRT_SURE_ALL);
	lt_matrix(t, 3, addr[3], KRT_ACC_WRITE, any ? KRT_SURE_ALL : KRT_SURE_SOME);
	lt_epilogue(t);
	lt_scale(t, w[KRT_LD_WORD(A_SCALE)], w[KRT_LD_WORD(A_SCALE_MODE)]);
	lt_scale(t, w[KRT_LD_WORD(B_SCALE)], w[KRT_LD_WORD(B_SCALE_MODE)]);
	lt_scale(t, w[KRT_LD_WORD(C_SCALE)], w[KRT_LD_WORD(C_SCALE_MODE)]);
	lt_scale(t, w[KRT_LD_WORD(D_SCALE)], w[KRT_LD_WORD(D_SCALE_MODE)]);
	lt_scale(t, w[KRT_LD_WORD(AUX_SCALE)], 0);
	tell_from(t, said(w[KRT_LD_WORD(AMAX_D)], 0), KRT_ACC_WRITE);
	tell_from(t, said(w[KRT_LD_WORD(AMAX_AUX)], 0), KRT_ACC_WRITE);
	tell_from(t, said(w[KRT_LD_WORD(D_OUT_SCALE)], 0), KRT_ACC_WRITE);
	return true;
}

/* --- NCCL -------------------------------------------------------------------------------- */

static void nccl_side(const struct telling *t, enum krt_lib_role role, uint64_t times,
		      unsigned kind, enum krt_sureness sure)
{
	uint64_t count = arg(t, KRT_LR_COUNT, 0),
		 bits = krt_nccl_type_bits(arg(t, KRT_LR_NTYPE, UINT64_MAX));

	if (count > DIM_MAX || times > DIM_MAX || !count)
		return;
	if (!bits || !times)
		tell_from(t, arg(t, role, 0), kind);
	else if (count * (bits / 8) <= DIM_MAX * 16 / times)
		tell_bytes(t, arg(t, role, 0), count * (bits / 8) * times, kind, sure);
}

static bool nccl(const struct telling *t)
{
	uint64_t ranks = t->in->words[KRT_NCCL_RANKS], rank = t->in->words[KRT_NCCL_RANK];
	uint64_t root = arg(t, KRT_LR_ROOT, 0);
	bool told = rank != UINT64_MAX, is_root = !told || rank == root;
	enum krt_sureness at_root = told ? KRT_SURE_ALL : KRT_SURE_SOME;

	switch (t->f->kind) {
	case KRT_LIB_ALL_REDUCE:
		nccl_side(t, KRT_LR_SEND, 1, KRT_ACC_READ, KRT_SURE_ALL);
		nccl_side(t, KRT_LR_RECV, 1, KRT_ACC_WRITE, KRT_SURE_ALL);
		break;
	case KRT_LIB_ALL_GATHER:
		nccl_side(t, KRT_LR_SEND, 1, KRT_ACC_READ, KRT_SURE_ALL);
		nccl_side(t, KRT_LR_RECV, ranks, KRT_ACC_WRITE, KRT_SURE_ALL);
		break;
	case KRT_LIB_REDUCE_SCATTER:
		nccl_side(t, KRT_LR_SEND, ranks, KRT_ACC_READ, KRT_SURE_ALL);
		nccl_side(t, KRT_LR_RECV, 1, KRT_ACC_WRITE, KRT_SURE_ALL);
		break;
	case KRT_LIB_ALL_TO_ALL:
		nccl_side(t, KRT_LR_SEND, ranks, KRT_ACC_READ, KRT_SURE_ALL);
		nccl_side(t, KRT_LR_RECV, ranks, KRT_ACC_WRITE, KRT_SURE_ALL);
		break;
	case KRT_LIB_BROADCAST:
		if (is_root)
			nccl_side(t, arg(t, KRT_LR_SEND, 0) ? KRT_LR_SEND : KRT_LR_RECV, 1,
				  KRT_ACC_READ, at_root);
		/* in place the root writes nothing */
		if (!told || rank != root || arg(t, KRT_LR_SEND, 0))
			nccl_side(t, KRT_LR_RECV, 1, KRT_ACC_WRITE,
				  told && (rank != root ||
					   arg(t, KRT_LR_SEND, 0) != arg(t, KRT_LR_RECV, 0))
					  ? KRT_SURE_ALL
					  : KRT_SURE_SOME);
		break;
	case KRT_LIB_REDUCE:
		nccl_side(t, KRT_LR_SEND, 1, KRT_ACC_READ, KRT_SURE_ALL);
		if (is_root)
			nccl_side(t, KRT_LR_RECV, 1, KRT_ACC_WRITE, at_root);
		break;
	case KRT_LIB_GATHER:
		nccl_side(t, KRT_LR_SEND, 1, KRT_ACC_READ, KRT_SURE_ALL);
		if (is_root)
			nccl_side(t, KRT_LR_RECV, ranks, KRT_ACC_WRITE, at_root);
		break;
	case KRT_LIB_SCATTER:
		if (is_root)
			nccl_side(t, KRT_LR_SEND, ranks, KRT_ACC_READ, at_root);
		nccl_side(t, KRT_LR_RECV, 1, KRT_ACC_WRITE, KRT_SURE_ALL);
		break;
	case KRT_LIB_SEND:
		nccl_side(t, KRT_LR_SEND, 1, KRT_ACC_READ, KRT_SURE_ALL);
		break;
	case KRT_LIB_RECV:
		nccl_side(t, KRT_LR_RECV, 1, KRT_ACC_WRITE, KRT_SURE_ALL);
		break;
	default:
		return false;
	}
	return true;
}

/* --- cuFFT ------------------------------------------------------------------------------- */

/* cufftType: the elements of both sides. */
static void fft_types(struct krt_fft_plan *p, uint64_t type)
{
	static const struct {
		uint8_t type, in, out;
	} types[] = {
		{0x2a, 32, 64},	 {0x2c, 64, 32},  {0x29, 64, 64},
		{0x6a, 64, 128}, {0x6c, 128, 64}, {0x69, 128, 128},
	};

	for (unsigned i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (types[i].type == type) {
			p->in.bits = types[i].in;
			p->out.bits = types[i].out;
		}
}

struct krt_fft_plan krt_library_plan(const struct krt_lib_fn *f, const uint64_t *args,
				     const uint64_t *w)
{
	static const uint8_t sizes[] = {KRT_LR_NX, KRT_LR_NY, KRT_LR_NZ};
	struct krt_fft_plan p = {.batch = krt_lib_arg(f, args, KRT_LR_FBATCH, 1),
				 .in.basic = !w[KRT_FFT_INEMBED],
				 .out.basic = !w[KRT_FFT_ONEMBED]};
	uint64_t rank = krt_lib_arg(f, args, KRT_LR_RANK, 0);

	if (rank > 3)
		return p;
	p.rank = (unsigned)rank;
	for (unsigned i = 0; i < 3; i++) {
		p.n[i] = rank ? w[KRT_FFT_NS + i] : krt_lib_arg(f, args, sizes[i], 0);
		p.in.embed[i] = w[KRT_FFT_INEMBED + i];
		p.out.embed[i] = w[KRT_FFT_ONEMBED + i];
		if (!rank && p.n[i])
			p.rank = i + 1;
	}
	p.in.stride = krt_lib_arg(f, args, KRT_LR_ISTRIDE, 1);
	p.in.dist = krt_lib_arg(f, args, KRT_LR_IDIST, 0);
	p.out.stride = krt_lib_arg(f, args, KRT_LR_OSTRIDE, 1);
	p.out.dist = krt_lib_arg(f, args, KRT_LR_ODIST, 0);
	if (krt_lib_arg(f, args, KRT_LR_ITYPE, UINT64_MAX) != UINT64_MAX) {
		uint64_t in = krt_lib_arg(f, args, KRT_LR_ITYPE, 0),
			 out = krt_lib_arg(f, args, KRT_LR_OTYPE, 0);

		p.in.bits = krt_lib_type_bits(in);
		p.out.bits = krt_lib_type_bits(out);
		p.in.real = !krt_lib_type_complex(in) && krt_lib_type_complex(out);
		p.out.real = krt_lib_type_complex(in) && !krt_lib_type_complex(out);
	} else {
		fft_types(&p, krt_lib_arg(f, args, KRT_LR_FTYPE, 0));
		p.in.real = p.in.bits < p.out.bits;
		p.out.real = p.out.bits < p.in.bits;
	}
	for (unsigned i = 0; i < p.rank; i++)
		if (!p.n[i] || p.n[i] > DIM_MAX || p.in.embed[i] > DIM_MAX ||
		    p.out.embed[i] > DIM_MAX)
			p.rank = 0;
	if (p.batch > DIM_MAX || p.in.stride > DIM_MAX || p.in.dist > DIM_MAX ||
	    p.out.stride > DIM_MAX || p.out.dist > DIM_MAX)
		p.rank = 0;
	return p;
}

static void fft_side(const struct telling *t, const struct krt_fft_plan *p,
		     const struct krt_fft_side *side, uint64_t addr, bool in_place, unsigned kind,
		     enum krt_sureness sure)
{
	bool halves = p->in.real || p->out.real;
	uint64_t last = p->n[p->rank - 1], pairs = last / 2 + 1, step, dist;
	uint64_t count = halves && !side->real ? pairs : last;
	uint64_t bytes = side->bits / 8;
	struct nest s;

	if (!side->bits) {
		tell_from(t, addr, kind);
		return;
	}
	nest_begin(&s, bytes);
	if (side->basic) {
		/* packed; a real side in place is padded to the complex one */
		step = halves && side->real && in_place ? pairs * 2 : count;
		nest_add(&s, count, (int64_t)bytes);
		for (unsigned i = p->rank - 1; i; i--) {
			nest_add(&s, p->n[i - 1], (int64_t)(step * bytes));
			if (step > DIM_MAX / p->n[i - 1])
				return;
			step *= p->n[i - 1];
		}
		dist = step;
	} else {
		step = side->stride;
		nest_add(&s, count, (int64_t)(step * bytes));
		for (unsigned i = p->rank - 1; i; i--) {
			if (step && side->embed[i] > DIM_MAX / step)
				return;
			step *= side->embed[i];
			nest_add(&s, p->n[i - 1], (int64_t)(step * bytes));
		}
		dist = side->dist;
	}
	nest_add(&s, p->batch, (int64_t)(dist * bytes));
	tell_nest(t, addr, &s, kind, sure);
}

static bool fft_exec(const struct telling *t)
{
	const struct krt_fft_plan *p = t->in->plan;
	uint64_t in = arg(t, KRT_LR_IN, 0), out = arg(t, KRT_LR_OUT, 0);

	if (!p || !p->rank) {
		tell_from(t, in, KRT_ACC_READ);
		tell_from(t, out, KRT_ACC_WRITE);
		return true;
	}
	fft_side(t, p, &p->in, in, in == out, KRT_ACC_READ, KRT_SURE_ALL);
	fft_side(t, p, &p->out, out, in == out, KRT_ACC_WRITE, KRT_SURE_ALL);
	/* of several dimensions to real numbers, it may use its input as room: whether it does is
	 * not known */
	if (p->out.real && p->rank > 1 && in != out)
		fft_side(t, p, &p->in, in, false, KRT_ACC_WRITE, KRT_SURE_LIMIT);
	return true;
}

/* --- all ----------------------------------------------------------------------------------- */

bool krt_library_ranges(const struct krt_library_in *in)
{
	struct telling t = {.in = in, .f = in->f};

	switch (in->f->kind) {
	case KRT_LIB_LT_MATMUL:
		return lt_matmul(&t);
	case KRT_LIB_FFT_EXEC:
		return fft_exec(&t);
	default:
		return in->f->library == KRT_LIBRARY_NCCL
			       ? nccl(&t)
			       : in->f->library == KRT_LIBRARY_CUBLAS && blas(&t);
	}
}
