/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulated driver's PTX interpreter: single instructions against results
 * worked out by hand, kernels as nvcc makes them against the CPU, faults,
 * spinning, order and determinism.
 */
#define _GNU_SOURCE
#include "../ptx/rows.h"
#include "../sim/exec.h"
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- helpers ---- */

struct loaded {
	struct ptx_module *m;
	struct exec_module *em;
};

static struct loaded load_text(const char *text, size_t len, const char *what)
{
	struct loaded l = { 0 };
	struct ptx_error pe;
	char err[256];

	l.m = ptx_parse(text, len, &pe);
	cr_assert(l.m, "%s:%u: %s", what, pe.line, pe.what);
	l.em = exec_load(&l.m, 1, NULL, err, sizeof(err));
	cr_assert(l.em, "%s: %s", what, err);
	return l;
}

static struct loaded load_file(const char *path)
{
	FILE *f = fopen(path, "r");
	char *text = NULL;
	size_t len = 0, cap = 0;
	struct loaded l;

	cr_assert(f, "%s cannot be read", path);
	for (;;) {
		if (len == cap) {
			cap = cap ? cap * 2 : 65536;
			text = realloc(text, cap);
			cr_assert(text);
		}
		size_t n = fread(text + len, 1, cap - len, f);

		if (!n)
			break;
		len += n;
	}
	fclose(f);
	l = load_text(text, len, path);
	free(text);
	return l;
}

static void unload(struct loaded *l)
{
	exec_unload(l->em);
	ptx_free(l->m);
}

static struct exec_launch *begin(struct loaded *l, const char *name, struct exec_config c,
				 const struct exec_hooks *h)
{
	struct exec_func *f = exec_function(l->em, name);
	struct exec_launch *x;
	char err[256];

	cr_assert(f, "no kernel %s", name);
	for (unsigned i = 0; i < 3; i++) {
		if (!c.grid[i])
			c.grid[i] = 1;
		if (!c.block[i])
			c.block[i] = 1;
	}
	x = exec_begin(f, &c, h, err, sizeof(err));
	cr_assert(x, "%s: %s", name, err);
	return x;
}

static enum exec_state finish(struct exec_launch *x, uint64_t max)
{
	enum exec_state s = EXEC_RUNNING;

	while (s == EXEC_RUNNING && exec_instructions(x) < max)
		s = exec_step(x, 1000);
	return s;
}

static void run_hooks(struct loaded *l, const char *name, struct exec_config c,
		      const struct exec_hooks *h)
{
	struct exec_launch *x = begin(l, name, c, h);
	enum exec_state s = finish(x, 50000000);
	const struct exec_fault *f = exec_launch_fault(x);

	cr_assert_eq(s, EXEC_DONE,
		     "%s: state %d, fault %d at line %u (%s), address %#lx, thread %u", name, s,
		     f->kind, f->line, f->inst ? f->inst : "", (unsigned long)f->addr, f->tid[0]);
	exec_end(x);
}

static void run(struct loaded *l, const char *name, struct exec_config c)
{
	run_hooks(l, name, c, NULL);
}

static enum exec_fault_kind run_fault(struct loaded *l, const char *name, struct exec_config c,
				      const struct exec_hooks *h, struct exec_fault *out)
{
	struct exec_launch *x = begin(l, name, c, h);
	enum exec_state s = finish(x, 50000000);
	enum exec_fault_kind k = exec_launch_fault(x)->kind;

	cr_assert_eq(s, EXEC_FAULT, "%s: no fault", name);
	cr_assert_eq(exec_step(x, 100), EXEC_FAULT, "a fault stays");
	if (out)
		*out = *exec_launch_fault(x);
	exec_end(x);
	return k;
}

/* Parameters: a struct laid out as the kernel's. */
#define PARAMS(p) .params = &(p), .params_size = sizeof(p)

/* ---- single instructions ---- */

static void run_rows(const char *group, const struct row *rows, size_t n)
{
	size_t len = 0;
	char *text = rows_text(rows, n, &len);
	struct loaded l;

	cr_assert(text);
	l = load_text(text, len, group);
	for (size_t i = 0; i < n; i++) {
		char name[32];
		uint64_t out = 0x5555;
		struct { uint64_t *o, a, b, c; } p = { &out, rows[i].a, rows[i].b, rows[i].c };

		sprintf(name, "k%zu", i);
		run(&l, name, (struct exec_config){ PARAMS(p) });
		cr_expect_eq(out, rows[i].want, "row %zu: %s: %#lx instead of %#lx", i,
			     rows[i].code, (unsigned long)out, (unsigned long)rows[i].want);
	}
	unload(&l);
	free(text);
}

#define GROUP_TEST(NAME) Test(exec, NAME) { rows_##NAME(run_rows); }
ROW_GROUPS(GROUP_TEST)

/* Ticks are instructions here; special registers may stand where hardware wants a mov. */
Test(exec, special_registers)
{
	const struct row rows[] = {
		{'d', "mov.u64 %rd4, %clock64; mov.u64 %rd5, %clock64; sub.u64 %rd0, %rd5, %rd4;",
		 0, 0, 0, 1},
		{'r', "add.u32 %r0, %tid.x, %ntid.x; mad.lo.u32 %r0, %nctaid.x, 10, %r0;", 0, 0, 0,
		 11},
	};

	run_rows("special registers", rows, 2);
}

/* ---- calls in hand-written forms ---- */

Test(exec, calls)
{
	static const char text[] =
		".version 8.0\n.target sm_80\n.address_size 64\n"
		".func (.reg .u32 r) old_style(.reg .u32 a, .reg .u32 b) { add.u32 r, a, b; ret; "
		"}\n"
		".func (.param .b32 r) inc(.param .b32 a) { .reg .u32 %x; ld.param.u32 %x, [a]; "
		"add.u32 %x, %x, 1;"
		" st.param.u32 [r], %x; ret; }\n"
		".func (.param .b32 r) dbl(.param .b32 a) { .reg .u32 %x; ld.param.u32 %x, [a]; "
		"shl.b32 %x, %x, 1;"
		" st.param.u32 [r], %x; ret; }\n"
		".func none() { ret; }\n"
		".global .u64 table[2] = {inc, dbl};\n"
		".visible .entry k(.param .u64 out) {\n"
		" .reg .u64 %o, %f; .reg .u32 %x<4>;\n ld.param.u64 %o, [out];\n"
		" call (%x1), old_style, (40, 2); call none; call.uni none, ();\n"
		" { .param .b32 a; .param .b32 r; st.param.u32 [a], %x1; call (r), inc, (a); "
		"ld.param.u32 %x1, [r]; }\n"
		" { .param .b32 a; .param .b32 r; st.param.u32 [a], %x1; ld.global.u64 %f, "
		"[table+8];\n"
		"   P: .callprototype (.param .b32 _) _ (.param .b32 _); call (r), %f, (a), P; "
		"ld.param.u32 %x1, [r]; }\n"
		" { .param .b32 a; .param .b32 r; st.param.u32 [a], %x1; mov.u64 %f, inc;\n"
		"   T: .calltargets inc, dbl; call (r), %f, (a), T; ld.param.u32 %x1, [r]; }\n"
		" st.global.u32 [%o], %x1; ret; }\n";
	struct loaded l = load_text(text, sizeof(text) - 1, "calls");
	uint32_t out = 0, *p = &out;

	run(&l, "k", (struct exec_config){ PARAMS(p) });
	cr_assert_eq(out, 43 * 2 + 1);
	unload(&l);
}

Test(exec, link)
{
	static const char a[] =
		".version 8.0\n.target sm_80\n.address_size 64\n"
		".extern .global .u32 shared_value;\n.extern .func (.param .b32 r) helper(.param "
		".b32 x);\n"
		".visible .entry k(.param .u64 out) { .reg .u64 %o; .reg .u32 %x, %y; ld.param.u64 "
		"%o, [out];\n"
		" ld.global.u32 %x, [shared_value]; { .param .b32 a; .param .b32 r; st.param.u32 "
		"[a], %x;\n"
		" call (r), helper, (a); ld.param.u32 %x, [r]; } st.global.u32 [%o], %x; ret; }";
	static const char b[] =
		".version 8.0\n.target sm_80\n.address_size 64\n"
		".visible .global .u32 shared_value = 20;\n.global .u32 own = 3;\n"
		".visible .func (.param .b32 r) helper(.param .b32 x) { .reg .u32 %x, %y; "
		"ld.param.u32 %x, [x];\n"
		" ld.global.u32 %y, [own]; mul.lo.u32 %x, %x, %y; st.param.u32 [r], %x; ret; }";
	struct ptx_module *m[2] = {ptx_parse(a, sizeof(a) - 1, NULL),
				   ptx_parse(b, sizeof(b) - 1, NULL)};
	struct loaded l;
	char err[256];
	uint32_t out = 0, *p = &out;
	uint64_t addr;
	size_t size;

	cr_assert(m[0] && m[1]);
	cr_assert_eq(exec_check_module(m[0], err, sizeof(err)), 0,
		     "alone it may lack what others define: %s", err);
	cr_assert_null(exec_load(m, 1, NULL, err, sizeof(err)));
	cr_assert(strstr(err, "line 7") && strstr(err, "shared_value"), "%s", err);
	l.em = exec_load(m, 2, NULL, err, sizeof(err));
	cr_assert(l.em, "%s", err);
	run(&l, "k", (struct exec_config){ PARAMS(p) });
	cr_assert_eq(out, 60);
	cr_assert(exec_global(l.em, "shared_value", &addr, &size));
	cr_assert_eq(size, 4);
	*(uint32_t *)(uintptr_t)addr = 7;
	run(&l, "k", (struct exec_config){ PARAMS(p) });
	cr_assert_eq(out, 21);
	cr_assert_not(exec_global(l.em, "nothing", &addr, &size));
	cr_assert_eq(exec_functions(l.em), 1);
	exec_unload(l.em);
	ptx_free(m[0]);
	ptx_free(m[1]);
}

/* What lies outside the subset is refused at load, with its place. */
Test(exec, refusals)
{
	static const struct {
		const char *code, *say;
	} rows[] = {
		{ "wgmma.fence.sync.aligned;", "wgmma.fence" },
		{ "frobnicate.u32 %r1, %r2;", "frobnicate" },
		{ "add.u32.sideways %r1, %r1, %r2;", "sideways" },
		{ "tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%rd1, {%f1,%f2}];", "tex.2d" },
		{ "add.u32 %r1, %r2;", "operands" },
		{ "add.u8 %r1, %r2, %r1;", "add.u8" },
		{ "mov.u32 %r1, %envreg7;", "special register" },
		{ "mov.u32 %r1, %future_register;", "special register" },
		{ "atom.global.inc.u64 %rd1, [%rd1], %rd1;", "atom.global.inc" },
		{ "cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f2;", "cvt" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[1024], err[256] = "";
		struct ptx_error pe;
		struct ptx_module *m;
		int n = snprintf(text, sizeof(text),
				 ".version 8.0\n.target sm_80\n.address_size 64\n.entry k() {\n"
				 ".reg .b64 %%rd<4>; .reg .b32 %%r<4>; .reg .b16 %%h<4>; .reg .f32 "
				 "%%f<5>;\n%s\nret; }",
				 rows[i].code);

		m = ptx_parse(text, (size_t)n, &pe);
		cr_assert(m, "%s: %u: %s", rows[i].code, pe.line, pe.what);
		cr_expect_eq(exec_check_module(m, err, sizeof(err)), -1, "%s", rows[i].code);
		cr_expect(strstr(err, rows[i].say), "%s: message is: %s", rows[i].code, err);
		cr_expect(strstr(err, "line 6"), "%s: message is: %s", rows[i].code, err);
		ptx_free(m);
	}
}

/* ---- kernels as nvcc makes them ---- */

static void close_to(double got, double want, double tol, const char *what, int i)
{
	if (want != want) {
		cr_expect(got != got, "%s %d: %g instead of NaN", what, i, got);
		return;
	}
	if (got == want)
		return;
	cr_expect(fabs(got - want) <= tol * (fabs(want) + 1e-6), "%s %d: %.17g instead of %.17g",
		  what, i, got, want);
}

static char printed[512];

static void print_hook(void *user, const char *text, size_t len)
{
	(void)user;
	strncat(printed, text,
		len < sizeof(printed) - strlen(printed) - 1
			? len
			: sizeof(printed) - strlen(printed) - 1);
}

static int fib(int n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static void check_basic(struct loaded *l)
{
	enum { N = 5000 };
	static float x[N], y[N], fo[4096];
	static int a[4096], b[4096];

	for (int i = 0; i < N; i++) {
		x[i] = (float)(i % 100) * 0.5f;
		y[i] = 1;
	}
	{
		struct { int n; float a; float *x, *y; } p = { N - 3, 2, x, y };

		run(l, "saxpy", (struct exec_config){.grid = {20}, .block = {256}, PARAMS(p)});
		for (int i = 0; i < N; i++)
			cr_assert_eq(y[i], i < N - 3 ? 2 * x[i] + 1 : 1);
	}
	{
		float out = 0, want = 0;
		struct { float *in, *out; int n; } p = { x, &out, N };

		for (int i = 0; i < N; i++)
			want += x[i];
		run(l, "reduce", (struct exec_config){.grid = {5}, .block = {128}, PARAMS(p)});
		close_to((double)out, (double)want, 1e-5, "reduce", 0);
	}
	{
		static unsigned char in[N];
		static unsigned bins[256], want[256];
		struct { unsigned char *in; unsigned *bins; int n; } p = { in, bins, N };

		memset(bins, 0, sizeof(bins));
		memset(want, 0, sizeof(want));
		for (int i = 0; i < N; i++) {
			in[i] = (unsigned char)(i * i >> 3);
			want[in[i]]++;
		}
		run(l, "histogram", (struct exec_config){.grid = {3}, .block = {96}, PARAMS(p)});
		cr_assert_arr_eq(bins, want, sizeof(want));
	}
	{
		int w = 37, h = 50;
		struct { int *in, *out; int w, h; } p = { a, b, w, h };

		for (int i = 0; i < w * h; i++)
			a[i] = i;
		run(l, "transpose",
		    (struct exec_config){.grid = {3, 4}, .block = {16, 16}, PARAMS(p)});
		for (int r = 0; r < h; r++)
			for (int c = 0; c < w; c++)
				cr_assert_eq(b[c * h + r], a[r * w + c]);
	}
	{
		struct { int *out; int n; } p = { a, 200 };

		run(l, "dynamic_shared",
		    (struct exec_config){.block = {200}, .shared = 800, PARAMS(p)});
		for (int i = 0; i < 200; i++)
			cr_assert_eq(a[i], (199 - i) * (199 - i));
	}
	{
		struct inner { short tag; double scale; };
		struct {
			float *out;
			int n;
			struct inner in;
			const float *a;
			unsigned char pad[5];
		} p = {fo, 30, {-3, 1.5}, x, {1, 2, 3, 4, 250}};

		run(l, "structs", (struct exec_config){ .block = { 64 }, PARAMS(p) });
		for (int i = 0; i < 30; i++)
			cr_assert_eq(fo[i], (float)((double)x[i] * 1.5 - 3 + p.pad[i % 5]));
	}
	{
		float *p = fo;

		run(l, "constants", (struct exec_config){ .block = { 8 }, PARAMS(p) });
		cr_assert_eq(fo[6], 30);
	}
	{
		int *p = a;
		uint64_t addr;

		run(l, "globals", (struct exec_config){ .block = { 8 }, PARAMS(p) });
		cr_assert_eq(a[0], 1);
		cr_assert(exec_global(l->em, "counter", &addr, NULL));
		cr_assert_eq(*(int *)(uintptr_t)addr, 21);
	}
	{
		struct { float *in, *out; } p = { x, fo };

		run(l, "device_call", (struct exec_config){ .block = { 33 }, PARAMS(p) });
		for (int i = 0; i < 33; i++)
			cr_assert_eq(fo[i], x[i] * (float)i + 1 + 7);
	}
	{
		int *p = a;

		run(l, "struct_call", (struct exec_config){ .block = { 5 }, PARAMS(p) });
		for (int t = 0; t < 5; t++) {
			int v[7];

			for (int i = 0; i < 7; i++)
				v[i] = i + t;
			for (int i = 0; i < 7; i++)
				v[i] = v[6 - i] * 3 + i;
			cr_assert_arr_eq(v, a + t * 7, sizeof(v));
		}
		run(l, "recursion", (struct exec_config){ .block = { 14 }, PARAMS(p) });
		for (int i = 0; i < 14; i++)
			cr_assert_eq(a[i], fib(i));
		a[0] = 0;
		cr_assert_eq(
			run_fault(l, "stack_overflow", (struct exec_config){PARAMS(p)}, NULL, NULL),
			EXEC_FAULT_STACK);
		run(l, "pointers_to_functions", (struct exec_config){ .block = { 9 }, PARAMS(p) });
		for (int i = 0; i < 9; i++)
			cr_assert_eq(a[i], i % 3 == 0 ? i + 7 : i % 3 == 1 ? i - 7 : i * 7);
		for (int i = 0; i < 32; i++)
			a[i] = i;
		a[30] = 1000;
		run(l, "switches", (struct exec_config){ .block = { 9 }, PARAMS(p) });
		int want[9] = { 5, 93, 11, __builtin_popcount(1000), 1017, 1000 ^ 99, 142, -1, -1 };

		cr_assert_arr_eq(a, want, sizeof(want));
	}
	{
		struct { int *in, *out; } p = { a, b };

		for (int i = 0; i < 16; i++)
			a[i] = (i * 7 + 3) & 15;
		run(l, "local_array", (struct exec_config){ .block = { 16 }, PARAMS(p) });
		for (int t = 0; t < 16; t++) {
			int arr[16];

			for (int i = 0; i < 16; i++)
				arr[a[i]] = i * 3;
			cr_assert_eq(b[t], arr[(a[t] + t) & 15]);
		}
	}
	{
		static _Alignas(16) float in[64], out[64];
		static unsigned char c[64];
		static unsigned short h[32];
		struct {
			float *in, *out;
			unsigned char *c;
			unsigned short *h;
		} p = {in, out, c, h};

		for (int i = 0; i < 64; i++) {
			in[i] = (float)i;
			c[i] = (unsigned char)(i * 5);
		}
		run(l, "vectors", (struct exec_config){ .block = { 16 }, PARAMS(p) });
		for (int i = 0; i < 16; i++) {
			cr_assert_eq(out[i * 4], in[i * 4 + 3]);
			cr_assert_eq(out[i * 4 + 2], in[i * 4 + 1]);
			cr_assert_eq(h[i * 2], (unsigned short)(c[i * 4] + c[i * 4 + 1]));
			cr_assert_eq(h[i * 2 + 1], (unsigned short)(c[i * 4 + 2] * c[i * 4 + 3]));
		}
	}
	{
		static long long va[8] = {
			7, -7, 1ll << 40, -(1ll << 50) + 3, 123456789012345, -1, INT64_MAX, 99};
		static long long vb[8] = { 2, 2, 12345, 1000003, -98765, 3, 7, -100 };
		static long long out[8 * 16];
		struct { long long *a, *b, *out; int n; } p = { va, vb, out, 31 };

		run(l, "integers", (struct exec_config){ .block = { 8 }, PARAMS(p) });
		for (int i = 0; i < 8; i++) {
			long long xx = va[i], yy = vb[i], *o = out + i * 16, w[16];
			unsigned long long ux = (unsigned long long)xx, uy = (unsigned long long)yy,
					   rev = 0;
			unsigned r32 = 0, lo = (unsigned)xx, hi = (unsigned)yy;
			unsigned char bytes[8];

			for (int k = 0; k < 64; k++)
				rev |= (ux >> k & 1) << (63 - k);
			for (int k = 0; k < 32; k++)
				r32 |= ((unsigned)yy >> k & 1) << (31 - k);
			memcpy(bytes, &lo, 4);
			memcpy(bytes + 4, &hi, 4);
			w[0] = xx / yy;
			w[1] = xx % yy;
			w[2] = (long long)(ux / uy);
			w[3] = (long long)(ux % uy);
			w[4] = (int)xx / (int)(yy | 1);
			w[5] = (unsigned)xx % ((unsigned)yy | 1);
			w[6] = (long long)(((__int128)xx * yy) >> 64);
			w[7] = (long long)(((unsigned __int128)ux * uy) >> 64);
			w[8] = (long long)(ux * uy + 12345);
			w[9] = (long long)(ux << (yy & 63)) ^ (xx >> (yy & 31));
			w[10] = (ux ? __builtin_clzll(ux) : 64) + __builtin_popcountll(uy) * 100 +
				__builtin_ffsll(xx) * 10000;
			w[11] = (long long)(rev + r32);
			w[12] = (short)xx * (short)yy + (signed char)xx;
			w[13] = (long long)(unsigned)((bytes[0] | (unsigned)bytes[4] << 8 |
						       (unsigned)bytes[1] << 16 |
						       (unsigned)bytes[5] << 24) +
						      (hi << 9 | lo >> 23));
			w[14] = (long long)((unsigned long long)(xx < yy ? xx : yy) +
					    (ux > uy ? ux : uy) + (unsigned long long)abs((int)xx));
			w[15] = 31;
			for (int k = 0; k < 16; k++)
				cr_expect_eq(o[k], w[k], "integers %d.%d: %lld instead of %lld", i,
					     k, o[k], w[k]);
		}
	}
	{
		static float va[6] = {1.5f, -2.25f, 1e-3f, 100.7f, 3, -0.5f},
			     vb[6] = {0.3f, 7, -4.5f, 3.3f, 2, 11};
		struct { float *a, *b, *out; } p = { va, vb, fo };

		run(l, "floats", (struct exec_config){ .block = { 6 }, PARAMS(p) });
		for (int i = 0; i < 6; i++) {
			float xx = va[i], yy = vb[i], sat = xx < 0 ? 0 : xx > 1 ? 1 : xx;
			float w[16] = {xx / yy,
				       sqrtf(fabsf(xx)),
				       fmaf(xx, yy, 0.5f),
				       fminf(xx, yy) + fmaxf(xx, yy) * 2,
				       floorf(xx) + ceilf(yy) + truncf(xx) + rintf(yy),
				       expf(xx * 0.125f),
				       logf(fabsf(xx) + 1),
				       sinf(xx) + cosf(yy),
				       (float)(int)xx + (float)(unsigned)fabsf(yy),
				       powf(fabsf(xx) + 0.5f, 1.5f),
				       tanhf(xx) + atan2f(xx, yy),
				       xx / yy + 1 / sqrtf(fabsf(yy) + 1),
				       xx + yy + xx * yy + xx / yy,
				       fmodf(xx, yy),
				       2,
				       copysignf(xx, yy) + sat};

			for (int k = 0; k < 16; k++)
				close_to((double)fo[i * 16 + k], (double)w[k], 4e-6, "floats",
					 i * 100 + k);
		}
	}
	{
		static double va[6] = {1.5, -2.25, 1e-3, 100.7, 3, -0.5},
			      vb[6] = {0.3, 7, -4.5, 3.3, 2, 11}, out[48];
		struct { double *a, *b, *out; } p = { va, vb, out };

		run(l, "doubles", (struct exec_config){ .block = { 6 }, PARAMS(p) });
		for (int i = 0; i < 6; i++) {
			double xx = va[i], yy = vb[i];
			double w[8] = {xx / yy,
				       sqrt(fabs(xx)),
				       fma(xx, yy, 0.5),
				       exp(xx * 0.125) + log(fabs(yy) + 1),
				       sin(xx) + cos(yy),
				       (double)(long long)(xx * 1e10) + (double)(float)yy,
				       pow(fabs(xx) + 0.5, 1.5),
				       floor(xx) + rint(yy)};

			for (int k = 0; k < 8; k++)
				close_to(out[i * 8 + k], w[k], 1e-14, "doubles", i * 100 + k);
		}
	}
	{
		struct exec_hooks h = { .print = print_hook };
		int n = 42;

		printed[0] = '\0';
		run_hooks(l, "say", (struct exec_config){ PARAMS(n) }, &h);
		cr_assert_str_eq(printed, "n=42 text  2.50 x 1234567890|    7%\n");
		printed[0] = '\0';
		n = 3;
		run_hooks(l, "asserts", (struct exec_config){ PARAMS(n) }, &h);
		n = 4;
		cr_assert_eq(run_fault(l, "asserts", (struct exec_config){PARAMS(n)}, &h, NULL),
			     EXEC_FAULT_ASSERT);
		cr_assert(strstr(printed, "Assertion `n == 3` failed"), "%s", printed);
	}
}

static void *heap_alloc(void *user, size_t size)
{
	++*(int *)user;
	return malloc(size);
}

static void heap_free(void *user, void *ptr)
{
	--*(int *)user;
	free(ptr);
}

static void check_warp(struct loaded *l)
{
	static int a[4096], b[4096];

	for (int i = 0; i < 128; i++)
		a[i] = i * i % 101;
	{
		struct { int *in, *out; } p = { a, b };

		run(l, "warp_sum", (struct exec_config){ .block = { 128 }, PARAMS(p) });
		for (int w = 0; w < 4; w++) {
			int s = 0;

			for (int i = 0; i < 32; i++)
				s += a[w * 32 + i];
			cr_assert_eq(b[w], s);
		}
		run(l, "tiles", (struct exec_config){ .block = { 64 }, PARAMS(p) });
		for (int t = 0; t < 64; t++) {
			int s = 0;

			for (int i = 0; i < 8; i++)
				s += a[(t & ~7) + i];
			cr_assert_eq(b[t], s);
		}
	}
	{
		int *p = b;

		run(l, "shuffles", (struct exec_config){ .block = { 32 }, PARAMS(p) });
		for (int i = 0; i < 32; i++) {
			int w[8] = {10,
				    i < 3 ? i * 2 : (i - 3) * 2,
				    (i & 7) + 3 > 7 ? i * 2 : (i + 3) * 2,
				    (i ^ 9) * 2,
				    (i & ~3) | ((i + 1) & 3),
				    (i == 31 ? i : i + 1) * 2,
				    i & 1 ? 31 : 30,
				    0};

			for (int k = 0; k < 8; k++)
				cr_expect_eq(b[i * 8 + k], w[k], "shuffles %d.%d: %d instead of %d",
					     i, k, b[i * 8 + k], w[k]);
		}
		run(l, "votes", (struct exec_config){ .block = { 32 }, PARAMS(p) });
		for (int i = 0; i < 32; i++) {
			int third = 0, five = 0;

			for (int k = 0; k < 32; k++) {
				third |= (int)((unsigned)(k % 3 == 0) << k);
				five |= (int)((unsigned)(k / 5 == i / 5) << k);
			}
			int w[8] = {third, 1, 0, five, (int)(M1 + 1), 496, 0, i < 10 ? 0x3ff : -22};

			for (int k = 0; k < 8; k++)
				cr_expect_eq(b[i * 8 + k], w[k], "votes %d.%d: %d instead of %d", i,
					     k, b[i * 8 + k], w[k]);
		}
		run(l, "block_votes", (struct exec_config){ .block = { 90 }, PARAMS(p) });
		for (int i = 0; i < 90; i++) {
			cr_assert_eq(b[i * 3], 30);
			cr_assert_eq(b[i * 3 + 1], 1);
			cr_assert_eq(b[i * 3 + 2], 1);
		}
		run(l, "named_barriers", (struct exec_config){ .block = { 64 }, PARAMS(p) });
		cr_assert_eq(b[0], 42);
		cr_assert_eq(b[31], 42);
	}
	{
		int count = 0;
		struct { int *count, *slots; } p = { &count, b };

		memset(b, 0, sizeof(b));
		run(l, "aggregated", (struct exec_config){.grid = {2}, .block = {64}, PARAMS(p)});
		cr_assert_eq(count, 44);
		for (int i = 0; i < 44; i++)
			cr_assert_eq(b[i] % 3, 0);
	}
	{
		enum { T = 16 * 40 };
		struct { int *data, rounds; } p = { a, 5 };
		static int want[T], next[T];

		for (int i = 0; i < T; i++)
			a[i] = want[i] = i * 37 % 64;
		for (int r = 0; r < 5; r++) {
			for (int i = 0; i < T; i++)
				next[i] = want[(i + 1) % T] + 1;
			memcpy(want, next, sizeof(want));
		}
		run(l, "grid_sync",
		    (struct exec_config){
			    .grid = {16}, .block = {40}, .cooperative = true, PARAMS(p)});
		cr_assert_arr_eq(a, want, sizeof(want));
		/* Without the promise of a cooperative launch there is no workspace: the kernel
		 * traps. */
		cr_assert_eq(run_fault(l, "grid_sync",
				       (struct exec_config){.block = {40}, PARAMS(p)}, NULL, NULL),
			     EXEC_FAULT_TRAP);
	}
	for (uint64_t seed = 0; seed < 3; seed++) {
		unsigned count = 0;
		struct { unsigned *count; int *data; } p = { &count, a };

		memset(a, 0, sizeof(a));
		run(l, "own_barrier",
		    (struct exec_config){.grid = {20}, .block = {48}, .seed = seed, PARAMS(p)});
		cr_assert_eq(a[20 * 48], 48 * 190);
	}
	{
		struct { int *mutex, *value; } p = { a, b };

		a[0] = b[0] = 0;
		run(l, "lock", (struct exec_config){ .grid = { 2 }, .block = { 64 }, PARAMS(p) });
		cr_assert_eq(b[0], 128);
	}
	{
		long long out = 0;
		struct { long long *out, ticks; } p = { &out, 100000 };

		run(l, "timed", (struct exec_config){ PARAMS(p) });
		cr_assert_geq(out, 100000);
		cr_assert_leq(out, 110000);
	}
	{
		int iv[8] = { 0, 0, 0, 0, 0, -1, 0, 0 };
		unsigned uv[3] = { 0, 0, 5 };
		unsigned long long lv[3] = { 1, 100, 5 };
		float f = 0;
		double d = 0;
		struct {
			int *i;
			unsigned *u;
			unsigned long long *l;
			float *f;
			double *d;
		} p = {iv, uv, lv, &f, &d};

		run(l, "atomics", (struct exec_config){ .block = { 64 }, PARAMS(p) });
		cr_assert_eq(iv[0], 2016);
		cr_assert_eq(iv[1], -2016);
		cr_assert_eq(iv[2], -63);
		cr_assert_eq(iv[3], 63);
		cr_assert_eq(iv[4], 9);
		cr_assert_eq(iv[5], (int)0x80000000);
		cr_assert_eq(iv[6], 0x7fffffff);
		cr_assert_eq(iv[7], 3); /* bits 0 and 1 three times, the others twice */
		cr_assert_eq(uv[0], 64 % 11);
		cr_assert_eq(uv[1], 2);
		cr_assert_eq(uv[2], UINT32_MAX);
		cr_assert_eq(lv[0], (UINT64_C(2016) << 32) + 1);
		cr_assert_eq(lv[1], 3);
		cr_assert_eq(lv[2], 6);
		cr_assert_eq(f, 32);
		cr_assert_eq(d, 16);
	}
	{
		static float in[9] = { 1, 2.5f, -3, 0.1f, 1000, 6, 7, 0.333f, 2 }, out[40];
		struct { float *in, *out; } p = { in, out };

		run(l, "halves", (struct exec_config){ .block = { 8 }, PARAMS(p) });
		for (int i = 0; i < 8; i++) {
			close_to((double)out[i * 5], (double)(in[i] + in[i + 1]), 2e-3, "halves",
				 i * 5);
			close_to((double)out[i * 5 + 1], (double)(in[i] * in[i + 1] + in[i]), 2e-3,
				 "halves", i * 5 + 1);
			if (i < 3)
				close_to((double)out[i * 5 + 2],
					 (double)(in[i] * in[i] + in[i + 1] * in[i + 1]), 2e-3,
					 "halves", i * 5 + 2);
			close_to((double)out[i * 5 + 3], (double)in[i], 4e-3, "halves", i * 5 + 3);
			cr_assert_eq(out[i * 5 + 4], in[i] > in[i + 1]);
		}
	}
	{
		static _Alignas(16) int in[256], out[256];
		struct { int *in, *out; } p = { in, out };

		for (int i = 0; i < 256; i++)
			in[i] = i;
		run(l, "async_copy", (struct exec_config){ .block = { 64 }, PARAMS(p) });
		for (int i = 0; i < 64; i++)
			cr_assert_eq(out[i * 4 + 2], (63 - i) * 4 + 2);
	}
	{
		int live = 0, *p = b;
		struct exec_hooks h = {
			.heap_alloc = heap_alloc, .heap_free = heap_free, .user = &live};

		run_hooks(l, "heap", (struct exec_config){ .block = { 4 }, PARAMS(p) }, &h);
		cr_assert_eq(live, 0);
		cr_assert_eq(b[3], 4);
		run(l, "heap", (struct exec_config){ .block = { 4 }, PARAMS(p) });
		cr_assert_eq(b[3], -1, "no heap: malloc returns NULL");
	}
}

Test(exec, nvcc_basic)
{
	struct loaded l = load_file(PTX_DIR "/basic.ptx");

	check_basic(&l);
	unload(&l);
}

Test(exec, nvcc_warp)
{
	struct loaded l = load_file(PTX_DIR "/warp.ptx");

	check_warp(&l);
	unload(&l);
}

/* The same kernels as the toolkit at hand compiles them, debug code among them. */
Test(exec, nvcc_here, .timeout = 300)
{
	static const struct {
		const char *name, *flags;
		void (*check)(struct loaded *l);
	} files[] = { { "basic", "-lineinfo", check_basic }, { "warp", "-G", check_warp } };
	const char *nvcc =
		access("/usr/local/cuda/bin/nvcc", X_OK) == 0 ? "/usr/local/cuda/bin/nvcc" : "nvcc";
	const char *preload = getenv("LD_PRELOAD");
	char dir[] = "/tmp/krt-ptx-XXXXXX", cmd[1024];

	if (preload && strstr(preload, "valgrind"))
		cr_skip_test("not under valgrind");
	snprintf(cmd, sizeof(cmd), "%s --version >/dev/null 2>&1", nvcc);
	if (system(cmd) != 0)
		cr_skip_test("no nvcc");
	cr_assert(mkdtemp(dir));
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		char out[64];
		struct loaded l;

		snprintf(out, sizeof(out), "%s/%s.ptx", dir, files[i].name);
		snprintf(cmd, sizeof(cmd), "%s -ptx -arch=compute_90 %s -o %s %s/%s.cu", nvcc,
			 files[i].flags, out, PTX_DIR, files[i].name);
		cr_assert_eq(system(cmd), 0, "%s", cmd);
		l = load_file(out);
		files[i].check(&l);
		unload(&l);
		unlink(out);
	}
	rmdir(dir);
}

/* ---- turns: CPU, other kernels, other blocks ---- */

Test(exec, spin_on_cpu)
{
	struct loaded l = load_file(PTX_DIR "/warp.ptx");
	static const char *const names[] = { "spin", "spin_sleep" };

	for (unsigned k = 0; k < 2; k++) {
		volatile int flag = 0;
		int out = 0;
		struct { volatile int *flag; int *out; } p = { &flag, &out };
		struct exec_launch *x = begin(&l, names[k], (struct exec_config){PARAMS(p)}, NULL);

		for (int i = 0; i < 10; i++)
			cr_assert_eq(exec_step(x, 1000), EXEC_RUNNING);
		cr_assert_geq(exec_instructions(x), 10000);
		flag = 41;
		cr_assert_eq(exec_step(x, 1000), EXEC_DONE);
		cr_assert_eq(out, 42);
		exec_end(x);
	}
	unload(&l);
}

Test(exec, spin_on_other_kernel)
{
	static const char text[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
				   ".visible .entry set(.param .u64 f) { .reg .u64 %a; "
				   "ld.param.u64 %a, [f]; st.release.gpu.u32 [%a], 7; ret; }";
	struct loaded l = load_file(PTX_DIR "/warp.ptx"),
		      s = load_text(text, sizeof(text) - 1, "set");
	int flag = 0, out = 0;
	struct { int *flag, *out; } p = { &flag, &out };
	int *q = &flag;
	struct exec_launch *a = begin(&l, "spin", (struct exec_config){ PARAMS(p) }, NULL);
	struct exec_launch *b;

	cr_assert_eq(exec_step(a, 500), EXEC_RUNNING);
	b = begin(&s, "set", (struct exec_config){ PARAMS(q) }, NULL);
	cr_assert_eq(exec_step(b, 500), EXEC_DONE);
	cr_assert_eq(exec_step(a, 500), EXEC_DONE);
	cr_assert_eq(out, 8);
	exec_end(a);
	exec_end(b);
	/* Ended before it is done: nothing leaks, nothing runs on. */
	flag = 0;
	a = begin(&l, "spin", (struct exec_config){.grid = {3}, .block = {64}, PARAMS(p)}, NULL);
	cr_assert_eq(exec_step(a, 5000), EXEC_RUNNING);
	exec_end(a);
	unload(&l);
	unload(&s);
}

Test(exec, budget)
{
	struct loaded l = load_file(PTX_DIR "/basic.ptx");
	static float x[1000], y[1000];
	struct { int n; float a; float *x, *y; } p = { 1000, 2, x, y };
	struct exec_launch *e = begin(
		&l, "saxpy", (struct exec_config){.grid = {4}, .block = {256}, PARAMS(p)}, NULL);
	uint64_t before;
	unsigned steps = 0;

	for (int i = 0; i < 1000; i++)
		x[i] = (float)i;
	do {
		before = exec_instructions(e);
		steps++;
		if (exec_step(e, 1) != EXEC_RUNNING)
			break;
		cr_assert_leq(exec_instructions(e) - before, 600,
			      "a step of one instruction ran far more");
	} while (steps < 100000);
	cr_assert_eq(exec_step(e, 1), EXEC_DONE);
	cr_assert_gt(steps, 30);
	for (int i = 0; i < 1000; i++)
		cr_assert_eq(y[i], 2.0f * (float)i);
	exec_end(e);
	unload(&l);
}

/* Threads that append to a list show the order in which they ran. */
static void trace_order(struct loaded *l, uint64_t seed, uint32_t *list)
{
	uint32_t count = 0;
	struct { uint32_t *list, *count; } p = { list, &count };

	run(l, "order", (struct exec_config){.grid = {8}, .block = {128}, .seed = seed, PARAMS(p)});
	cr_assert_eq(count, 1024);
}

Test(exec, seeds)
{
	static const char text[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
				   ".visible .entry order(.param .u64 l, .param .u64 c) { .reg "
				   ".u64 %l, %c, %i; .reg .u32 %n, %t;\n"
				   "ld.param.u64 %l, [l]; ld.param.u64 %c, [c]; "
				   "atom.global.add.u32 %n, [%c], 1; mul.wide.u32 %i, %n, 4;\n"
				   "add.u64 %l, %l, %i; mad.lo.u32 %t, %ctaid.x, %ntid.x, %tid.x; "
				   "st.global.u32 [%l], %t; ret; }";
	struct loaded l = load_text(text, sizeof(text) - 1, "order");
	static uint32_t a[1024], b[1024], c[1024];

	trace_order(&l, 5, a);
	trace_order(&l, 5, b);
	trace_order(&l, 6, c);
	cr_assert_arr_eq(a, b, sizeof(a), "same seed, same order");
	cr_assert_arr_neq(a, c, sizeof(a), "another seed, another order");
	trace_order(&l, 0, c);
	for (uint32_t i = 0; i < 1024; i++)
		cr_assert_eq(c[i], i, "seed 0: in order");
	unload(&l);
}

/* ---- faults ---- */

struct window {
	char *start;
	size_t size;
	unsigned reads, writes, atomics;
	uint64_t low, high;
};

static bool window_check(void *user, uint64_t addr, size_t size, unsigned access)
{
	struct window *w = user;
	uint64_t s = (uint64_t)(uintptr_t)w->start;

	if (access & EXEC_ATOMIC)
		w->atomics++;
	else if (access & EXEC_WRITE)
		w->writes++;
	else
		w->reads++;
	if (!w->low || addr < w->low)
		w->low = addr;
	if (addr + size > w->high)
		w->high = addr + size;
	return addr >= s && size <= w->size && addr - s <= w->size - size;
}

Test(exec, faults)
{
	struct loaded l = load_file(PTX_DIR "/basic.ptx"), t;
	int *buf = calloc(64, sizeof(int));
	struct window w = { .start = (char *)buf, .size = 64 * sizeof(int) };
	struct exec_hooks h = { .mem_check = window_check, .user = &w };
	struct { int *p, n; } p = { buf, 64 };
	struct exec_fault f;
	static const char text[] =
		".version 8.0\n.target sm_80\n.address_size 64\n"
		".visible .entry misaligned(.param .u64 p) {\n.reg .u64 %a; .reg .u32 %x; "
		"ld.param.u64 %a, [p];\n"
		"ld.global.u32 %x, [%a+2]; ret; }\n"
		".visible .entry shared_oob() { .shared .u32 s[4]; .reg .u32 %x; ld.shared.u32 %x, "
		"[s+16]; ret; }\n"
		".visible .entry local_oob() { .local .u32 s[4]; .reg .u32 %x; ld.local.u32 %x, "
		"[s+200000]; ret; }\n"
		".visible .entry param_write(.param .u64 p) { st.param.u32 [p], 1; ret; }\n"
		".visible .entry trapped() { trap; }\n"
		".visible .entry bad_call(.param .u64 p) { .reg .u64 %f; ld.param.u64 %f, [p]; P: "
		".callprototype _ ();\n"
		" call %f, P; ret; }\n"
		".visible .entry half_barrier() { .reg .pred %p; setp.eq.u32 %p, %tid.x, 0; @%p "
		"bra X; bar.sync 0; ret;\n"
		" X: bar.sync 1; ret; }\n"
		".visible .entry half_shuffle() { .reg .pred %p; .reg .u32 %x; setp.eq.u32 %p, "
		"%tid.x, 0; @%p bra X;\n"
		" shfl.sync.idx.b32 %x, 1, 0, 31, -1; ret; X: bar.sync 0; ret; }\n"
		".visible .entry exited_ok() { .reg .pred %p; setp.eq.u32 %p, %tid.x, 0; @%p exit; "
		"bar.sync 0;\n"
		" .reg .u32 %x; shfl.sync.idx.b32 %x, 1, 0, 31, -1; ret; }\n";

	cr_assert_eq(run_fault(&l, "out_of_bounds",
			       (struct exec_config){.grid = {3}, .block = {32}, PARAMS(p)}, &h, &f),
		     EXEC_FAULT_ADDRESS);
	cr_assert_eq(f.addr, (uint64_t)(uintptr_t)(buf + 64));
	cr_assert_eq(f.size, 4);
	cr_assert_eq(f.access, EXEC_WRITE);
	cr_assert_str_eq(f.func, "out_of_bounds");
	cr_assert_str_eq(f.inst, "st.global.u32");
	cr_assert_gt(f.line, 0);
	p.n = 63;
	run_hooks(&l, "out_of_bounds", (struct exec_config){ PARAMS(p) }, &h);
	unload(&l);

	t = load_text(text, sizeof(text) - 1, "faults");
	cr_assert_eq(run_fault(&t, "misaligned", (struct exec_config){PARAMS(p)}, &h, &f),
		     EXEC_FAULT_MISALIGNED);
	cr_assert_eq(f.line, 6);
	cr_assert_eq(run_fault(&t, "shared_oob", (struct exec_config){0}, &h, &f),
		     EXEC_FAULT_ADDRESS);
	cr_assert_eq(f.addr, 16);
	cr_assert_eq(run_fault(&t, "local_oob", (struct exec_config){0}, &h, NULL),
		     EXEC_FAULT_ADDRESS);
	cr_assert_eq(run_fault(&t, "param_write", (struct exec_config){0}, &h, NULL),
		     EXEC_FAULT_ADDRESS);
	cr_assert_eq(run_fault(&t, "trapped", (struct exec_config){0}, &h, NULL), EXEC_FAULT_TRAP);
	cr_assert_eq(run_fault(&t, "bad_call", (struct exec_config){PARAMS(p)}, &h, NULL),
		     EXEC_FAULT_PC);
	cr_assert_eq(run_fault(&t, "half_barrier", (struct exec_config){.block = {64}}, &h, NULL),
		     EXEC_FAULT_DEADLOCK);
	cr_assert_eq(run_fault(&t, "half_shuffle", (struct exec_config){.block = {64}}, &h, NULL),
		     EXEC_FAULT_DEADLOCK);
	run_hooks(&t, "exited_ok", (struct exec_config){ .block = { 64 } }, &h);
	unload(&t);
	free(buf);
}

/* What the accesses hook sees is what issue C's oracle records. */
Test(exec, recorded_accesses)
{
	struct loaded l = load_file(PTX_DIR "/basic.ptx");
	float *buf = calloc(200, sizeof(float));
	struct window w = { .start = (char *)buf, .size = 200 * sizeof(float) };
	struct exec_hooks h = { .mem_check = window_check, .user = &w };
	struct { int n; float a; float *x, *y; } p = { 50, 2, buf, buf + 100 };

	run_hooks(&l, "saxpy", (struct exec_config){ .block = { 64 }, PARAMS(p) }, &h);
	cr_assert_eq(w.reads, 100);
	cr_assert_eq(w.writes, 50);
	cr_assert_eq(w.atomics, 0);
	cr_assert_eq(w.low, (uint64_t)(uintptr_t)buf);
	cr_assert_eq(w.high, (uint64_t)(uintptr_t)(buf + 150));
	free(buf);
	unload(&l);
}

Test(exec, configurations)
{
	static const char text[] =
		".version 8.0\n.target sm_80\n.address_size 64\n"
		".visible .entry small() .maxntid 64, 2, 1 .minnctapersm 2 { ret; }\n"
		".visible .entry exact() .reqntid 32, 2 { ret; }\n"
		".visible .entry big() { .shared .b8 s[40000]; .reg .u32 %r<100>; .local .b8 "
		"l[100]; mov.u32 %r1, s;\n"
		" mov.u32 %r2, %r1; ret; }\n"
		".visible .entry empty() { }\n"
		".const .b8 c[12];\n";
	struct loaded l = load_text(text, sizeof(text) - 1, "configurations");
	struct exec_attr a;
	char err[256];
	const struct {
		const char *name;
		struct exec_config c;
		const char *say;
	} bad[] = {
		{"small", {.grid = {1, 1, 1}, .block = {129, 1, 1}}, ".maxntid"},
		{"exact", {.grid = {1, 1, 1}, .block = {64, 1, 1}}, ".reqntid"},
		{"empty", {.grid = {0, 1, 1}, .block = {64, 1, 1}}, "is 0"},
		{"empty", {.grid = {1, 1, 1}, .block = {64, 32, 1}}, "1024 threads"},
		{"empty", {.grid = {1, 1, 1}, .block = {1, 1, 65}}, "1024 threads"},
		{"empty", {.grid = {1, 70000, 1}, .block = {1, 1, 1}}, "grid"},
		{"big", {.grid = {1, 1, 1}, .block = {1, 1, 1}, .shared = 200000}, "shared"},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		cr_expect_null(exec_begin(exec_function(l.em, bad[i].name), &bad[i].c, NULL, err,
					  sizeof(err)));
		cr_expect(strstr(err, bad[i].say), "%s", err);
	}
	run(&l, "exact", (struct exec_config){ .block = { 32, 2 } });
	run(&l, "empty", (struct exec_config){ .grid = { 1000 } });
	exec_func_attr(exec_function(l.em, "big"), &a);
	cr_assert_eq(a.shared_static, 40000);
	cr_assert_geq(a.local, 100);
	cr_assert_eq(a.max_threads, 1024);
	cr_assert_eq(a.constant, 12);
	cr_assert_eq(a.ptx_version, 80);
	cr_assert_eq(a.binary_version, 80);
	exec_func_attr(exec_function(l.em, "small"), &a);
	cr_assert_eq(a.max_threads, 128);
	cr_assert_null(exec_function(l.em, "nothing"));
	unload(&l);
}

/* ---- random damage: what still loads runs without harm ---- */

static uint64_t seed = 98765;

static uint32_t rnd(uint32_t n)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(seed >> 33) % n;
}

static bool buffer_only(void *user, uint64_t addr, size_t size, unsigned access)
{
	uint64_t start = (uint64_t)(uintptr_t)user;

	(void)access;
	return addr >= start && addr - start <= 4096 && size <= 4096 - (addr - start);
}

static void no_print(void *user, const char *text, size_t len)
{
	(void)user;
	(void)text;
	(void)len;
}

static void try_all(struct ptx_module *m, char *buf, unsigned *ran)
{
	char err[256];
	struct exec_module *em = exec_load(&m, 1, NULL, err, sizeof(err));

	if (!em) {
		cr_assert(err[0]);
		return;
	}
	for (unsigned i = 0; i < exec_functions(em); i++) {
		uint64_t params[64];
		struct exec_hooks h = { .mem_check = buffer_only, .print = no_print, .user = buf };
		struct exec_config c = {.grid = {2, 1, 1},
					.block = {40, 1, 1},
					.seed = rnd(3),
					.shared = 512,
					.cooperative = true,
					.params = params,
					.params_size = sizeof(params)};
		struct exec_launch *l;

		for (unsigned k = 0; k < 64; k++)
			params[k] = rnd(4) ? (uint64_t)(uintptr_t)buf + rnd(64) * 8 : rnd(100);
		l = exec_begin(exec_function_at(em, i), &c, &h, err, sizeof(err));
		if (!l)
			continue;
		while (exec_instructions(l) < 20000 && exec_step(l, 2000) == EXEC_RUNNING)
			;
		exec_end(l);
		++*ran;
	}
	exec_unload(em);
}

/* Swaps words of the text for other words of it: much of that is still PTX. */
static void shuffle_words(char *text, size_t len)
{
	for (uint32_t n = 1 + rnd(4); n; n--) {
		uint32_t a = rnd((uint32_t)len), b = rnd((uint32_t)len), l = 1 + rnd(8);

		if (rnd(3) == 0) {
			if (text[a] >= '0' && text[a] <= '9')
				text[a] = (char)('0' + rnd(10));
			continue;
		}
		for (uint32_t k = 0; k < l && a + k < len && b + k < len; k++)
			text[a + k] = text[b + k];
	}
}

Test(exec, fuzz, .timeout = 240)
{
	static const char *const files[] = {PTX_DIR "/small.ptx", PTX_DIR "/warp.ptx",
					    PTX_DIR "/basic.ptx"};
	const char *preload = getenv("LD_PRELOAD"), *env = getenv("KRT_PTX_FUZZ");
	unsigned rounds = env					   ? (unsigned)atoi(env)
			  : preload && strstr(preload, "valgrind") ? 60
								   : 300,
		 ran = 0;
	char *buf = calloc(1, 4096), *text = malloc(1 << 20), *copy = malloc(1 << 20);

	cr_assert(buf && text && copy);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		FILE *f = fopen(files[i], "r");
		size_t len;

		cr_assert(f);
		len = fread(text, 1, 1 << 20, f);
		fclose(f);
		for (unsigned r = 0; r < rounds / (i ? 10 : 1); r++) {
			struct ptx_module *m;

			memcpy(copy, text, len);
			/* Single-character changes keep more of a small text alive. */
			if (r % 3 == 0) {
				/* Other registers, other numbers: nearly always still a program. */
				for (unsigned n = 0; n < 200; n++) {
					uint32_t at = rnd((uint32_t)len);

					if (copy[at] >= '0' && copy[at] <= '9' && rnd(6) == 0)
						copy[at] = (char)('0' + rnd(10));
				}
			} else if (r % 3 == 1) {
				shuffle_words(copy, len);
			} else {
				static const char set[] = "0123456789%rd,p[]+-.usbf";

				for (unsigned n = 1 + rnd(3); n; n--)
					copy[rnd((uint32_t)len)] = set[rnd(sizeof(set) - 1)];
			}
			m = ptx_parse(copy, len, NULL);
			if (!m)
				continue;
			try_all(m, buf, &ran);
			ptx_free(m);
		}
	}
	cr_assert_gt(ran, rounds / 10, "hardly anything ran");
	free(buf);
	free(text);
	free(copy);
}
