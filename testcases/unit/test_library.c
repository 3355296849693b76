/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What library calls read and write, held against every single element that the
 * definition of the operation names: random sizes, leading dimensions, steps,
 * transpositions, batches and types.  What is told as surely touched must be
 * touched; what is touched must be told, as sure or as possible.
 */
#include "analyzer/library_ranges.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define ROOM	 (1u << 21)
#define PLACE(i) ((uint64_t)((i) + 1) << 18) /* of operand i */
#define SURE	 1
#define MAY	 2
#define TRUTH	 4

#define PAGE 4096

static uint8_t reads[ROOM], writes[ROOM];
static bool used[ROOM / PAGE]; /* pages of both that are not all 0 */
static unsigned froms;
static uint64_t seed = 88172645463325252ull;

static unsigned pick(unsigned n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned)((seed >> 20) % n);
}

static void begin(void)
{
	for (unsigned p = 0; p < ROOM / PAGE; p++)
		if (used[p]) {
			memset(reads + p * PAGE, 0, PAGE);
			memset(writes + p * PAGE, 0, PAGE);
			used[p] = false;
		}
	froms = 0;
}

static void paint(uint8_t *map, uint64_t addr, uint64_t len, uint8_t bit)
{
	cr_assert(addr < ROOM && len <= ROOM - addr, "0x%lx + 0x%lx", addr, len);
	for (uint64_t i = 0; i < len; i++)
		map[addr + i] |= bit;
	for (uint64_t p = addr / PAGE; len && p <= (addr + len - 1) / PAGE; p++)
		used[p] = true;
}

static void told(void *user, const struct krt_kernel_access *a)
{
	uint8_t *map = a->kind == KRT_ACC_READ ? reads : writes;
	uint64_t rows = a->rows > 1 ? a->rows : 1, width = a->width ? a->width : a->len;

	(void)user;
	cr_assert(a->know == KRT_KNOW_LIBRARY);
	cr_assert(a->kind == KRT_ACC_READ || a->kind == KRT_ACC_WRITE);
	if (!a->len) {
		cr_assert(a->sure == KRT_SURE_FROM);
		froms++;
		return;
	}
	cr_assert(a->from <= a->addr && a->end >= a->addr + (rows - 1) * a->pitch + a->len);
	cr_assert(rows == 1 || a->pitch >= a->len, "rows run into each other");
	for (uint64_t r = 0; r < rows; r++)
		for (uint64_t at = 0; at < a->len; at += a->stride ? a->stride : a->len)
			paint(map, a->addr + r * a->pitch + at, width,
			      a->sure == KRT_SURE_ALL ? SURE : MAY);
}

static void same(const char *what, const char *which, const uint8_t *map, bool exact)
{
	for (unsigned i = 0; i < ROOM; i++) {
		if (!used[i / PAGE]) {
			i += PAGE - 1;
			continue;
		}
		if (map[i] & SURE && !(map[i] & TRUTH))
			cr_assert_fail("%s: 0x%x is not %s", what, i, which);
		if (map[i] & TRUTH && !(map[i] & (SURE | MAY)))
			cr_assert_fail("%s: 0x%x is %s", what, i, which);
		if (exact && map[i] & MAY && !(map[i] & SURE))
			cr_assert_fail("%s: 0x%x may be %s", what, i, which);
	}
}

static void compare(const char *what, bool exact)
{
	same(what, "read", reads, exact);
	same(what, "written", writes, exact);
}

/* ---- calls by name and role ---- */

struct call {
	const struct krt_lib_fn *f;
	uint64_t args[KRT_LIB_MAX_ARGS], words[KRT_LIB_MAX_WORDS];
};

static struct call call_of(enum krt_lib_fn_id id)
{
	struct call c = {.f = &krt_lib_fn[id]};

	return c;
}

static void set(struct call *c, enum krt_lib_role role, int64_t v)
{
	for (unsigned i = 0; i < c->f->argc; i++)
		if (c->f->role[i] == role) {
			c->args[i] = (uint64_t)v;
			/* bits beyond an argument's width are garbage */
			if (krt_lib_arg(c->f, c->args, role, 0) == (uint64_t)(int64_t)(int32_t)v &&
			    v >= 0 && !(c->f->flags & KRT_LIB_64) &&
			    (role == KRT_LR_M || role == KRT_LR_LDA))
				c->args[i] |= 0xdead00000000ull;
			return;
		}
	cr_assert_fail("%s has no role %d", c->f->symbol, role);
}

static bool has(const struct call *c, enum krt_lib_role role)
{
	for (unsigned i = 0; i < c->f->argc; i++)
		if (c->f->role[i] == role)
			return true;
	return false;
}

static uint64_t table_words[3][16];

static size_t read_table(void *user, uint64_t addr, uint64_t *words, size_t n)
{
	(void)user;
	for (unsigned i = 0; i < 3; i++)
		if (addr == PLACE(3) + i * 256) {
			n = n < 16 ? n : 16;
			memcpy(words, table_words[i], n * 8);
			return n;
		}
	return 0;
}

static bool run(const struct call *c, const struct krt_fft_plan *plan)
{
	struct krt_library_in in = {.f = c->f,
				    .args = c->args,
				    .words = c->words,
				    .plan = plan,
				    .read = read_table,
				    .fn = told};

	return krt_library_ranges(&in);
}

/* ---- elements ---- */

struct matrix {
	uint64_t at;
	unsigned bytes;
	int64_t ld;
};

static void element(uint8_t *map, const struct matrix *m, int64_t r, int64_t c)
{
	paint(map, m->at + (uint64_t)(c * m->ld + r) * m->bytes, m->bytes, TRUTH);
}

static void block(uint8_t *map, const struct matrix *m, int64_t rows, int64_t cols)
{
	for (int64_t c = 0; c < cols; c++)
		for (int64_t r = 0; r < rows; r++)
			element(map, m, r, c);
}

static void half(uint8_t *map, const struct matrix *m, int64_t n, bool upper)
{
	for (int64_t c = 0; c < n; c++)
		for (int64_t r = upper ? 0 : c; r < (upper ? c + 1 : n); r++)
			element(map, m, r, c);
}

static void line(uint8_t *map, uint64_t at, unsigned bytes, int64_t n, int64_t inc)
{
	for (int64_t i = 0; i < n; i++)
		paint(map, at + (uint64_t)(i * (inc < 0 ? -inc : inc)) * bytes, bytes, TRUTH);
}

enum beta { ZERO, ONE, DEVICE };

/* alpha 1; beta as said. */
static void scalars(struct call *c, enum beta beta)
{
	unsigned bytes = krt_lib_scalar_bytes(c->f, c->args);
	static const uint16_t half_one = 0x3c00;
	static const float one[2] = {1, 0};
	static const double done[2] = {1, 0};
	bool complex = c->f->type == KRT_C_32F && !(c->f->flags & KRT_LIB_REAL);
	const void *v = bytes == 2				? (const void *)&half_one
			: bytes == 4 || (bytes == 8 && complex) ? (const void *)one
								: (const void *)done;

	cr_assert(bytes);
	if (beta == DEVICE) {
		c->words[KRT_BLAS_MODE] = KRT_BLAS_DEVICE;
		return;
	}
	c->words[KRT_BLAS_MODE] = KRT_BLAS_ALPHA_HOST | KRT_BLAS_BETA_HOST;
	memcpy(&c->words[KRT_BLAS_ALPHA], v, bytes);
	if (beta == ONE)
		memcpy(&c->words[KRT_BLAS_BETA], v, bytes);
}

static const struct {
	enum krt_lib_fn_id id;
	unsigned bytes;
} gemms[] = {
	{KRT_LIB_FN_cublasSgemm_v2, 4},
	{KRT_LIB_FN_cublasDgemm_v2_64, 8},
	{KRT_LIB_FN_cublasCgemm_v2, 8},
	{KRT_LIB_FN_cublasZgemm_v2, 16},
	{KRT_LIB_FN_cublasHgemm, 2},
	{KRT_LIB_FN_cublasGemmEx, 0},
	{KRT_LIB_FN_cublasSgemmStridedBatched, 4},
	{KRT_LIB_FN_cublasZgemmStridedBatched_64, 16},
	{KRT_LIB_FN_cublasGemmStridedBatchedEx, 0},
	{KRT_LIB_FN_cublasSgemmBatched, 4},
	{KRT_LIB_FN_cublasHgemmBatched_64, 2},
	{KRT_LIB_FN_cublasGemmBatchedEx, 0},
};

Test(library, matrix_products)
{
	for (unsigned round = 0; round < 240; round++) {
		struct call c = call_of(gemms[round % 12].id);
		bool strided = has(&c, KRT_LR_STRIDEA), tables = has(&c, KRT_LR_TABLEA), device;
		unsigned bytes = gemms[round % 12].bytes;
		int64_t m = pick(20), n = pick(20), k = pick(12),
			batch = strided || tables ? 1 + pick(5) : 1;
		int ta = (int)pick(3), tb = (int)pick(3);
		int64_t rows[3] = {ta ? k : m, tb ? n : k, m},
			cols[3] = {ta ? m : k, tb ? k : n, n};
		enum beta beta = (enum beta)pick(3);
		struct matrix x[3];

		begin();
		device = beta == DEVICE;
		set(&c, KRT_LR_TRANSA, ta);
		set(&c, KRT_LR_TRANSB, tb);
		set(&c, KRT_LR_M, m);
		set(&c, KRT_LR_N, n);
		set(&c, KRT_LR_K, k);
		if (!bytes) {
			static const uint8_t types[] = {KRT_R_32F, KRT_R_16F, KRT_R_16BF};
			unsigned t = pick(3);

			bytes = t ? 2 : 4;
			for (unsigned i = 0; i < 3; i++)
				set(&c, KRT_LR_TYPEA + i, types[t]);
			set(&c, KRT_LR_COMPUTE, 68);
		}
		if (strided || tables)
			set(&c, KRT_LR_BATCH, batch);
		for (unsigned i = 0; i < 3; i++) {
			int64_t step;

			x[i] = (struct matrix){PLACE(i), bytes, rows[i] + (pick(2) ? pick(5) : 0)};
			set(&c, KRT_LR_LDA + i, x[i].ld);
			step = x[i].ld * cols[i] + (pick(2) ? pick(7) : 0);
			if (strided && i < 2 && pick(4) == 0)
				step = 0;
			if (strided)
				set(&c, KRT_LR_STRIDEA + i, step);
			set(&c, tables ? KRT_LR_TABLEA + i : KRT_LR_A + i,
			    (int64_t)(tables ? PLACE(3) + i * 256 : PLACE(i)));
			for (int64_t b = 0; b < batch; b++) {
				struct matrix y = x[i];

				y.at += (uint64_t)(tables ? (batch - b) * (step + 3) : b * step) *
					bytes;
				if (tables)
					table_words[i][b] = y.at;
				if (i < 2 && k && m && n)
					block(reads, &y, rows[i], cols[i]);
				if (i == 2 && k)
					block(writes, &y, m, n);
				if (i == 2 && k && beta != ZERO)
					block(reads, &y, m, n);
			}
			if (tables && m && n)
				paint(reads, PLACE(3) + i * 256, (uint64_t)batch * 8, TRUTH);
		}
		set(&c, KRT_LR_ALPHA, (int64_t)PLACE(4));
		set(&c, KRT_LR_BETA, (int64_t)PLACE(5));
		scalars(&c, beta);
		if (device && m && n) {
			paint(reads, PLACE(4), krt_lib_scalar_bytes(c.f, c.args), TRUTH);
			paint(reads, PLACE(5), krt_lib_scalar_bytes(c.f, c.args), TRUTH);
		}
		cr_assert(run(&c, NULL));
		if (k)
			compare(c.f->symbol, !device);
		else /* the product is zero: C may be scaled or not */
			for (unsigned i = 0; i < ROOM; i++)
				if (writes[i] & SURE || (reads[i] & SURE && !(reads[i] & TRUTH)))
					cr_assert_fail("0x%x is touched for nothing", i);
		cr_assert(!froms);
	}
}

Test(library, matrices_and_vectors)
{
	static const enum krt_lib_fn_id ids[] = {
		KRT_LIB_FN_cublasSgemv_v2, KRT_LIB_FN_cublasZgemvStridedBatched_64,
		KRT_LIB_FN_cublasDger_v2,  KRT_LIB_FN_cublasSaxpy_v2,
		KRT_LIB_FN_cublasSdot_v2,  KRT_LIB_FN_cublasScopy_v2,
		KRT_LIB_FN_cublasSswap_v2, KRT_LIB_FN_cublasSscal_v2,
		KRT_LIB_FN_cublasSnrm2_v2,
	};

	for (unsigned round = 0; round < 360; round++) {
		struct call c = call_of(ids[round % 9]);
		unsigned bytes = krt_lib_type_bits(c.f->type) / 8;
		int64_t m = pick(20), n = pick(20), inca = (int64_t)pick(7) - 3,
			incb = (int64_t)pick(7) - 3;
		int64_t incc = (int64_t)pick(7) - 3, ld = m + pick(4), batch = 1, step = 0;
		int ta = (int)pick(2);
		struct matrix a = {PLACE(0), bytes, ld};
		bool beta = pick(2);

		begin();
		inca = inca ? inca : 1;
		incb = incb ? incb : 1;
		incc = incc ? incc : 1;
		if (has(&c, KRT_LR_ALPHA)) {
			scalars(&c, beta ? ONE : ZERO);
			set(&c, KRT_LR_ALPHA, 8);
		}
		set(&c, KRT_LR_N, n);
		if (has(&c, KRT_LR_A))
			set(&c, KRT_LR_A, (int64_t)PLACE(0));
		if (has(&c, KRT_LR_B))
			set(&c, KRT_LR_B, (int64_t)PLACE(1));
		if (has(&c, KRT_LR_C))
			set(&c, KRT_LR_C, (int64_t)PLACE(2));
		if (has(&c, KRT_LR_INCA))
			set(&c, KRT_LR_INCA, inca);
		if (has(&c, KRT_LR_INCB))
			set(&c, KRT_LR_INCB, incb);
		if (has(&c, KRT_LR_INCC))
			set(&c, KRT_LR_INCC, incc);
		switch (c.f->kind) {
		case KRT_LIB_GEMV:
			set(&c, KRT_LR_M, m);
			set(&c, KRT_LR_TRANSA, ta);
			set(&c, KRT_LR_LDA, ld);
			if (has(&c, KRT_LR_BATCH)) {
				batch = 1 + pick(4);
				step = 1000;
				set(&c, KRT_LR_BATCH, batch);
				for (unsigned i = 0; i < 3; i++)
					set(&c, KRT_LR_STRIDEA + i, step);
			}
			for (int64_t b = 0; b < batch && m && n; b++) {
				struct matrix y = {a.at + (uint64_t)(b * step) * bytes, bytes, ld};

				block(reads, &y, m, n);
				line(reads, PLACE(1) + (uint64_t)(b * step) * bytes, bytes,
				     ta ? m : n, incb);
				line(writes, PLACE(2) + (uint64_t)(b * step) * bytes, bytes,
				     ta ? n : m, incc);
				if (beta)
					line(reads, PLACE(2) + (uint64_t)(b * step) * bytes, bytes,
					     ta ? n : m, incc);
			}
			break;
		case KRT_LIB_GER:
			set(&c, KRT_LR_M, m);
			set(&c, KRT_LR_LDC, ld);
			a.at = PLACE(2);
			if (!m || !n)
				break;
			line(reads, PLACE(0), bytes, m, inca);
			line(reads, PLACE(1), bytes, n, incb);
			block(reads, &a, m, n);
			block(writes, &a, m, n);
			break;
		case KRT_LIB_AXPY:
			line(reads, PLACE(2), bytes, n, incc);
			line(writes, PLACE(2), bytes, n, incc);
			line(reads, PLACE(0), bytes, n, inca);
			break;
		case KRT_LIB_COPY:
			line(writes, PLACE(2), bytes, n, incc);
			line(reads, PLACE(0), bytes, n, inca);
			break;
		case KRT_LIB_SWAP:
			line(writes, PLACE(2), bytes, n, incc);
			line(reads, PLACE(2), bytes, n, incc);
			line(writes, PLACE(0), bytes, n, inca);
			line(reads, PLACE(0), bytes, n, inca);
			break;
		case KRT_LIB_SCAL:
			line(writes, PLACE(2), bytes, n, incc);
			line(reads, PLACE(2), bytes, n, incc);
			break;
		case KRT_LIB_DOT:
			line(reads, PLACE(1), bytes, n, incb);
			line(reads, PLACE(0), bytes, n, inca);
			break;
		default:
			line(reads, PLACE(0), bytes, n, inca);
			break;
		}
		cr_assert(run(&c, NULL));
		compare(c.f->symbol, true);
	}
}

Test(library, triangles)
{
	static const enum krt_lib_fn_id ids[] = {
		KRT_LIB_FN_cublasSsyrk_v2, KRT_LIB_FN_cublasCherk_v2_64, KRT_LIB_FN_cublasDsyr2k_v2,
		KRT_LIB_FN_cublasSsymm_v2, KRT_LIB_FN_cublasDtrsm_v2_64, KRT_LIB_FN_cublasSgeam,
		KRT_LIB_FN_cublasSdgmm,
	};

	for (unsigned round = 0; round < 210; round++) {
		struct call c = call_of(ids[round % 7]);
		unsigned bytes = krt_lib_type_bits(c.f->type) / 8;
		int64_t m = 1 + pick(40), n = 1 + pick(40), k = 1 + pick(9), side = pick(2);
		bool upper = pick(2), beta = pick(2), small;
		int ta = (int)pick(2), tb = (int)pick(2);
		struct matrix a = {PLACE(0), bytes, 0}, b = {PLACE(1), bytes, 0},
			      r = {PLACE(2), bytes, 0};

		begin();
		if (has(&c, KRT_LR_ALPHA)) {
			scalars(&c, beta ? ONE : ZERO);
			set(&c, KRT_LR_ALPHA, 8);
		}
		if (has(&c, KRT_LR_UPLO))
			set(&c, KRT_LR_UPLO, upper);
		if (has(&c, KRT_LR_SIDE))
			set(&c, KRT_LR_SIDE, side);
		if (has(&c, KRT_LR_TRANSA))
			set(&c, KRT_LR_TRANSA, ta);
		if (has(&c, KRT_LR_TRANSB))
			set(&c, KRT_LR_TRANSB, tb);
		if (has(&c, KRT_LR_M))
			set(&c, KRT_LR_M, m);
		if (has(&c, KRT_LR_K))
			set(&c, KRT_LR_K, k);
		set(&c, KRT_LR_N, n);
		set(&c, KRT_LR_A, (int64_t)PLACE(0));
		if (has(&c, KRT_LR_B))
			set(&c, KRT_LR_B, (int64_t)PLACE(1));
		set(&c, KRT_LR_C, (int64_t)PLACE(2));
		a.ld = 41 + pick(3);
		b.ld = 41 + pick(3);
		r.ld = 41 + pick(3);
		set(&c, KRT_LR_LDA, a.ld);
		if (has(&c, KRT_LR_LDB))
			set(&c, KRT_LR_LDB, b.ld);
		set(&c, KRT_LR_LDC, r.ld);
		small = n <= 16 && m <= 16;
		switch (c.f->kind) {
		case KRT_LIB_SYRK:
		case KRT_LIB_SYR2K:
			block(reads, &a, ta ? k : n, ta ? n : k);
			if (c.f->kind == KRT_LIB_SYR2K)
				block(reads, &b, ta ? k : n, ta ? n : k);
			half(writes, &r, n, upper);
			if (beta)
				half(reads, &r, n, upper);
			small = n <= 16;
			break;
		case KRT_LIB_SYMM:
			half(reads, &a, side ? n : m, upper);
			block(reads, &b, m, n);
			block(writes, &r, m, n);
			if (beta)
				block(reads, &r, m, n);
			break;
		case KRT_LIB_TRSM:
			half(reads, &a, side ? n : m, upper);
			block(reads, &r, m, n);
			block(writes, &r, m, n);
			break;
		case KRT_LIB_GEAM:
			block(reads, &a, ta ? n : m, ta ? m : n);
			if (beta)
				block(reads, &b, tb ? n : m, tb ? m : n);
			block(writes, &r, m, n);
			small = true;
			break;
		default:
			set(&c, KRT_LR_INCB, 2);
			block(reads, &a, m, n);
			line(reads, PLACE(1), bytes, side ? n : m, 2);
			block(writes, &r, m, n);
			small = true;
			break;
		}
		cr_assert(run(&c, NULL));
		compare(c.f->symbol, small);
	}
}

/* ---- cublasLt ---- */

static void layout(struct call *c, unsigned i, uint64_t type, uint64_t order, int64_t rows,
		   int64_t cols, int64_t ld, int64_t batch, int64_t stride)
{
	uint64_t *l = &c->words[KRT_NR_BLAS_WORDS + i * KRT_NR_LT_LAYOUT];

	l[KRT_LT_TYPE] = type;
	l[KRT_LT_ORDER] = order;
	l[KRT_LT_ROWS] = (uint64_t)rows;
	l[KRT_LT_COLS] = (uint64_t)cols;
	l[KRT_LT_LD] = (uint64_t)ld;
	l[KRT_LT_BATCH] = (uint64_t)batch;
	l[KRT_LT_STRIDE] = (uint64_t)stride;
}

static struct call lt_call(void)
{
	struct call c = call_of(KRT_LIB_FN_cublasLtMatmul);

	for (unsigned i = KRT_NR_BLAS_WORDS; i < KRT_NR_LT_WORDS; i++)
		c.words[i] = KRT_LT_UNSAID;
	c.words[KRT_LD_WORD(SCALE_TYPE)] = KRT_R_32F;
	c.words[KRT_LD_WORD(BIAS_TYPE)] = UINT32_MAX;
	c.words[KRT_LD_WORD(AUX_TYPE)] = UINT32_MAX;
	c.words[KRT_BLAS_MODE] = KRT_BLAS_ALPHA_HOST | KRT_BLAS_BETA_HOST;
	c.words[KRT_BLAS_ALPHA] = 0x3f800000;
	set(&c, KRT_LR_A, (int64_t)PLACE(0));
	set(&c, KRT_LR_B, (int64_t)PLACE(1));
	set(&c, KRT_LR_C, (int64_t)PLACE(2));
	set(&c, KRT_LR_D, (int64_t)PLACE(3));
	return c;
}

Test(library, lt_matmul)
{
	for (unsigned round = 0; round < 200; round++) {
		struct call c = lt_call();
		int64_t m = 1 + pick(20), n = 1 + pick(20), k = 1 + pick(9), batch = 1 + pick(3);
		int64_t rows[4] = {m, k, m, m}, cols[4] = {k, n, n, n};
		unsigned type = pick(2) ? KRT_R_32F : KRT_R_16F, bytes = type == KRT_R_32F ? 4 : 2;
		unsigned epilogue = pick(5);
		bool beta = pick(2);

		begin();
		if (beta)
			c.words[KRT_BLAS_BETA] = 0x40000000;
		for (unsigned i = 0; i < 4; i++) {
			bool by_row = i != 3 && pick(2);
			int64_t ld = (by_row ? cols[i] : rows[i]) + pick(4);
			int64_t step = batch > 1 ? ld * (by_row ? rows[i] : cols[i]) + pick(5) : 0;

			layout(&c, i, type, by_row, rows[i], cols[i], ld, batch, step);
			for (int64_t b = 0; b < batch; b++) {
				struct matrix x = {PLACE(i) + (uint64_t)(b * step) * bytes, bytes,
						   ld};

				if (i == 3)
					block(writes, &x, rows[i], cols[i]);
				else if (i < 2 || beta)
					block(reads, &x, by_row ? cols[i] : rows[i],
					      by_row ? rows[i] : cols[i]);
			}
		}
		switch (epilogue) {
		case 1: /* bias */
			c.words[KRT_LD_WORD(EPILOGUE)] = 4;
			c.words[KRT_LD_WORD(BIAS)] = PLACE(4);
			line(reads, PLACE(4), bytes, m, 1);
			break;
		case 2: /* the gradient of one, by columns of D */
			c.words[KRT_LD_WORD(EPILOGUE)] = 512;
			c.words[KRT_LD_WORD(BIAS)] = PLACE(4);
			c.words[KRT_LD_WORD(BIAS_TYPE)] = KRT_R_32F;
			line(writes, PLACE(4), 4, n, 1);
			break;
		case 3: /* which were positive, a bit each */
			c.words[KRT_LD_WORD(EPILOGUE)] = 2 | 128;
			c.words[KRT_LD_WORD(AUX)] = PLACE(5);
			c.words[KRT_LD_WORD(AUX_LD)] = 128;
			c.words[KRT_LD_WORD(AUX_STRIDE)] = (uint64_t)(128 * n);
			for (int64_t i = 0; i < n * batch; i++)
				paint(writes, PLACE(5) + (uint64_t)i * 16, (uint64_t)(m + 7) / 8,
				      TRUTH);
			break;
		case 4: /* the input of a function whose gradient is taken */
			c.words[KRT_LD_WORD(EPILOGUE)] = 64 | 128;
			c.words[KRT_LD_WORD(AUX)] = PLACE(5);
			c.words[KRT_LD_WORD(AUX_LD)] = 24;
			c.words[KRT_LD_WORD(AUX_STRIDE)] = (uint64_t)(24 * n);
			for (int64_t i = 0; i < n * batch; i++)
				paint(reads, PLACE(5) + (uint64_t)i * 24 * bytes,
				      (uint64_t)m * bytes, TRUTH);
			break;
		}
		cr_assert(run(&c, NULL));
		compare("cublasLtMatmul", true);
		cr_assert(!froms);
	}
}

Test(library, lt_what_cannot_be_told)
{
	struct call c = lt_call();

	/* no layout was readable */
	cr_assert(!run(&c, NULL));
	/* tiles */
	for (unsigned i = 0; i < 4; i++)
		layout(&c, i, 3, 2, 32, 32, 1024, 1, 0);
	begin();
	cr_assert(run(&c, NULL));
	cr_assert(froms == 3, "%u", froms); /* A, B, D; beta is zero */
	compare("tiles", true);
	/* beta in device memory: C may be read */
	c.words[KRT_BLAS_MODE] = KRT_BLAS_DEVICE;
	begin();
	cr_assert(run(&c, NULL));
	cr_assert(froms == 4);
}

/* ---- NCCL ---- */

Test(library, collectives)
{
	static const struct {
		enum krt_lib_fn_id id;
		unsigned send, recv; /* times the count; 8: of every rank, 16: at the root alone */
	} kinds[] = {
		{KRT_LIB_FN_ncclAllReduce, 1, 1},      {KRT_LIB_FN_ncclAllGather, 1, 8},
		{KRT_LIB_FN_ncclReduceScatter, 8, 1},  {KRT_LIB_FN_ncclAlltoAll, 8, 8},
		{KRT_LIB_FN_ncclBroadcast, 1 | 16, 1}, {KRT_LIB_FN_ncclReduce, 1, 1 | 16},
		{KRT_LIB_FN_ncclGather, 1, 8 | 16},    {KRT_LIB_FN_ncclScatter, 8 | 16, 1},
		{KRT_LIB_FN_ncclSend, 1, 0},	       {KRT_LIB_FN_ncclRecv, 0, 1},
	};

	for (unsigned i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		for (unsigned rank = 0; rank < 2; rank++) {
			struct call c = call_of(kinds[i].id);
			unsigned send = kinds[i].send, recv = kinds[i].recv;

			begin();
			c.words[KRT_NCCL_RANKS] = 8;
			c.words[KRT_NCCL_RANK] = rank;
			if (has(&c, KRT_LR_SEND))
				set(&c, KRT_LR_SEND, (int64_t)PLACE(0));
			if (has(&c, KRT_LR_RECV))
				set(&c, KRT_LR_RECV, (int64_t)PLACE(1));
			if (has(&c, KRT_LR_ROOT))
				set(&c, KRT_LR_ROOT, 1);
			set(&c, KRT_LR_COUNT, 100);
			set(&c, KRT_LR_NTYPE, 7);
			if (!(send & 16) || rank == 1)
				line(reads, PLACE(0), 4, 100 * (send & 15), 1);
			if (!(recv & 16) || rank == 1)
				line(writes, PLACE(1), 4, 100 * (recv & 15), 1);
			cr_assert(run(&c, NULL));
			compare(c.f->symbol, true);
		}
}

Test(library, collectives_in_place_and_unknown)
{
	struct call c = call_of(KRT_LIB_FN_ncclBcast);

	/* the root of a broadcast in place writes nothing */
	begin();
	set(&c, KRT_LR_RECV, (int64_t)PLACE(0));
	set(&c, KRT_LR_COUNT, 10);
	set(&c, KRT_LR_NTYPE, 6);
	c.words[KRT_NCCL_RANK] = 0;
	line(reads, PLACE(0), 2, 10, 1);
	cr_assert(run(&c, NULL));
	compare("root", true);
	/* a rank that was not told: either */
	begin();
	c.words[KRT_NCCL_RANK] = UINT64_MAX;
	cr_assert(run(&c, NULL));
	for (unsigned i = 0; i < ROOM; i++)
		if ((reads[i] | writes[i]) & SURE)
			cr_assert_fail("0x%x is surely touched", i);
	cr_assert(reads[PLACE(0)] & MAY && writes[PLACE(0)] & MAY);
	/* a size that was not told */
	c = call_of(KRT_LIB_FN_ncclAllGather);
	begin();
	set(&c, KRT_LR_SEND, (int64_t)PLACE(0));
	set(&c, KRT_LR_RECV, (int64_t)PLACE(1));
	set(&c, KRT_LR_COUNT, 10);
	cr_assert(run(&c, NULL));
	cr_assert(froms == 1);
}

/* ---- cuFFT ---- */

Test(library, transforms)
{
	static const struct {
		int type;
		unsigned in, out; /* bytes of an element */
		enum krt_lib_fn_id exec;
	} types[] = {
		{0x29, 8, 8, KRT_LIB_FN_cufftExecC2C},
		{0x2a, 4, 8, KRT_LIB_FN_cufftExecR2C},
		{0x2c, 8, 4, KRT_LIB_FN_cufftExecC2R},
		{0x69, 16, 16, KRT_LIB_FN_cufftExecZ2Z},
	};

	for (unsigned round = 0; round < 200; round++) {
		unsigned t = pick(4), rank = 1 + pick(3);
		bool layouts = pick(2), in_place = pick(2), halves = types[t].in != types[t].out;
		bool real_in = types[t].in < types[t].out, real_out = types[t].out < types[t].in;
		struct call c = call_of(KRT_LIB_FN_cufftPlanMany), x = call_of(types[t].exec);
		int64_t n[3], embed[2][3], stride[2] = {1, 1}, dist[2], batch = 1 + pick(3), last;
		struct krt_fft_plan plan;

		begin();
		if (layouts)
			in_place = false;
		for (unsigned i = 0; i < 3; i++)
			n[i] = i < rank ? 1 + pick(6) : 1;
		last = n[rank - 1];
		set(&c, KRT_LR_RANK, rank);
		set(&c, KRT_LR_FTYPE, types[t].type);
		set(&c, KRT_LR_FBATCH, batch);
		for (unsigned i = 0; i < rank; i++)
			c.words[KRT_FFT_NS + i] = (uint64_t)n[i];
		for (unsigned s = 0; s < 2; s++) {
			bool real = s ? real_out : real_in;
			int64_t all = 1;

			stride[s] = layouts ? 1 + pick(3) : 1;
			for (unsigned i = 0; i < rank; i++) {
				int64_t count =
					i + 1 < rank || !halves || real ? n[i] : n[i] / 2 + 1;

				embed[s][i] = layouts ? n[i] + pick(3)
					      : i + 1 == rank && halves && real && in_place
						      ? (last / 2 + 1) * 2
						      : count;
				all *= embed[s][i];
			}
			dist[s] = all * stride[s] + (layouts ? (int64_t)pick(4) : 0);
		}
		if (layouts) {
			for (unsigned i = 0; i < rank; i++) {
				c.words[KRT_FFT_INEMBED + i] = (uint64_t)embed[0][i];
				c.words[KRT_FFT_ONEMBED + i] = (uint64_t)embed[1][i];
			}
			set(&c, KRT_LR_ISTRIDE, stride[0]);
			set(&c, KRT_LR_IDIST, dist[0]);
			set(&c, KRT_LR_OSTRIDE, stride[1]);
			set(&c, KRT_LR_ODIST, dist[1]);
		}
		plan = krt_library_plan(c.f, c.args, c.words);
		cr_assert(plan.rank == rank);
		set(&x, KRT_LR_IN, (int64_t)PLACE(0));
		set(&x, KRT_LR_OUT, (int64_t)PLACE(in_place ? 0 : 1));
		for (unsigned s = 0; s < 2; s++) {
			bool real = s ? real_out : real_in;
			unsigned bytes = s ? types[t].out : types[t].in;
			int64_t size[3] = {1, 1, 1}, e[3] = {1, 1, 1};

			for (unsigned i = 0; i < rank; i++) {
				size[3 - rank + i] =
					i + 1 < rank || !halves || real ? n[i] : n[i] / 2 + 1;
				e[3 - rank + i] = embed[s][i];
			}
			for (int64_t b = 0; b < batch; b++)
				for (int64_t i = 0; i < size[0]; i++)
					for (int64_t j = 0; j < size[1]; j++)
						for (int64_t k = 0; k < size[2]; k++)
							paint(s ? writes : reads,
							      PLACE(s && !in_place) +
								      (uint64_t)(b * dist[s] +
										 ((i * e[1] + j) *
											  e[2] +
										  k) * stride[s]) *
									      bytes,
							      bytes, TRUTH);
		}
		cr_assert(run(&x, &plan));
		/* of several dimensions to real numbers: the input may serve as room; many pieces:
		 * hulls */
		for (unsigned i = 0; i < ROOM; i++)
			if (writes[i] == MAY && i < PLACE(1) && real_out && rank > 1 && !in_place)
				writes[i] = 0;
		compare(x.f->symbol, rank == 1 || !layouts);
	}
}

Test(library, transforms_without_a_plan)
{
	struct call x = call_of(KRT_LIB_FN_cufftExecC2C);

	begin();
	set(&x, KRT_LR_IN, (int64_t)PLACE(0));
	set(&x, KRT_LR_OUT, (int64_t)PLACE(1));
	cr_assert(run(&x, NULL));
	cr_assert(froms == 2);
}

static void ignored(void *user, const struct krt_kernel_access *a)
{
	(void)user;
	cr_assert(!a->len || a->end > a->from);
}

Test(library, nonsense_does_no_harm)
{
	for (unsigned id = 0; id < KRT_NR_LIB_FNS; id++)
		for (unsigned round = 0; round < 40; round++) {
			struct call c = {.f = &krt_lib_fn[id]};
			struct krt_fft_plan plan;
			static const uint64_t odd[] = {
				0, 1, UINT64_MAX, 1ull << 63, 1ull << 40, INT32_MAX, 7, 1ull << 32};
			struct krt_library_in in = {.f = c.f,
						    .args = c.args,
						    .words = c.words,
						    .plan = &plan,
						    .read = read_table,
						    .fn = ignored};

			for (unsigned i = 0; i < KRT_LIB_MAX_ARGS; i++)
				c.args[i] = odd[pick(8)];
			for (unsigned i = 0; i < KRT_LIB_MAX_WORDS; i++)
				c.words[i] = odd[pick(8)];
			plan = krt_library_plan(c.f, c.args, c.words);
			krt_library_ranges(&in);
		}
}
