/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels files that come with krtsan, held against launches recorded on a
 * card (testcases/launches, made with testcases/gpu/torch_ops.py): what they claim
 * of an operator's kernels must lie within the operator's tensors, on the right
 * side of read and write, and together it must cover them.
 *
 * KRT_LAUNCHES=FOLDER: launches from there, of another machine or release.
 * KRT_SHOW: each launch and what is claimed of it.
 */
#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#else
#define RUNNING_ON_VALGRIND 0
#endif

#include "kernels.h"

#define PARAMS_MAX  32768
#define TENSORS_MAX 1024
#define KERNELS_MAX 8192

struct kernel {
	char *name;
	struct krt_param *param;
	uint32_t nparams;
};

struct tensor {
	char sort[32];
	uint64_t storage, bytes, ptr, len;
	unsigned char *seen; /* 1: surely read, 2: surely written, for each byte of the storage */
	bool touched;
};

static struct {
	struct krt_kernels_file *f;
	struct kernel kernel[KERNELS_MAX];
	struct tensor tensor[TENSORS_MAX];
	unsigned ntensors;
	char op[64];
	const char *file;
	unsigned number;
	bool unknown; /* some launch of the operator is not declared */
	bool inexact; /* or not exactly */
	bool show;
	const char *elsewhere;
	/* for a wrong file: complaints are counted, not told */
	const char *first; /* lines before those that come with krtsan */
	bool quiet;
	unsigned complaints;
	/* the launch at hand */
	const struct kernel *k;
	bool exact, loose;
	unsigned accesses;
	/* totals */
	unsigned launches, declared, certain, covered, checked;
} t;

/* Operators that write what they are given. */
static bool in_place(const char *op)
{
	static const char *const words[] = {
		"index_put", "opt_", "clip_grad", "scaler",    "_list",	     "f_",	  "zero",
		"fill",	     "copy", "scatter_",  "index_add", "index_copy", "batch_norm"};
	size_t n = strlen(op);

	if (n && op[n - 1] == '_')
		return true;
	for (unsigned i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strstr(op, words[i]))
			return true;
	return false;
}

static void complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void complain(const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	t.complaints++;
	if (!t.quiet)
		cr_expect(false, "%s:%u: %s: %s", t.file, t.number, t.op, text);
}

static void wrong(const struct krt_kernels_access *a, const char *what)
{
	complain("%s: arg %u.%u, %#lx + %lu (role %u, sureness %u): %s", t.k->name, a->arg,
		 a->offset, (unsigned long)a->addr, (unsigned long)a->len, a->role, a->sure, what);
}

static void mark(struct tensor *x, const struct krt_kernels_access *a)
{
	uint64_t rows = a->rows > 1 ? a->rows : 1, width = a->width ? a->width : a->len;
	uint64_t stride = a->stride ? a->stride : a->len;

	for (uint64_t r = 0; r < rows; r++)
		for (uint64_t at = 0; at < a->len; at += stride) {
			uint64_t from = a->addr - x->storage + r * a->pitch + at;

			for (uint64_t i = 0; i < width; i++)
				x->seen[from + i] |= (unsigned char)((a->role & 1 ? 1 : 0) |
								     (a->role & ~1u ? 2 : 0));
		}
}

static void judge(void *user, const struct krt_kernels_access *a)
{
	uint64_t end = a->addr + a->len + (a->rows > 1 ? (a->rows - 1) * a->pitch : 0);
	struct tensor *x = NULL;
	bool known = false;

	(void)user;
	t.accesses++;
	if (a->sure == KRT_SURE_FROM || a->loose)
		t.exact = false;
	t.loose |= a->loose;
	if (t.show)
		printf("      arg %u.%u %s%s%s %#lx + %lu%s rows %lu pitch %lu stride %lu "
		       "width %lu\n",
		       a->arg, a->offset, a->role & 1 ? "r" : "", a->role & 2 ? "w" : "",
		       a->role & 4 ? "a" : "", (unsigned long)a->addr, (unsigned long)a->len,
		       a->sure == KRT_SURE_FROM ? " FROM"
		       : a->loose		? " loose"
		       : a->sure		? " SOME"
						: "",
		       (unsigned long)a->rows, (unsigned long)a->pitch, (unsigned long)a->stride,
		       (unsigned long)a->width);
	for (unsigned i = 0; i < t.ntensors; i++) {
		struct tensor *y = &t.tensor[i];

		known = true;
		if (a->base >= y->storage && a->base < y->storage + y->bytes)
			x = y;
		else if (a->sure != KRT_SURE_FROM && !a->loose && a->addr < y->storage + y->bytes &&
			 end > y->storage)
			wrong(a, "reaches into another tensor");
	}
	if (!x || !known)
		return;
	if (a->sure != KRT_SURE_FROM && !a->loose &&
	    (a->addr < x->storage || end > x->storage + x->bytes))
		wrong(a, "goes beyond the tensor");
	if ((a->role & ~1u) && !strcmp(x->sort, "in") && !in_place(t.op))
		wrong(a, "writes what the operator only reads");
	if ((a->role & ~1u) && (!strcmp(x->sort, "grad") || !strcmp(x->sort, "fwd")))
		wrong(a, "writes what the operator only reads");
	if ((a->role & 1) && !strcmp(x->sort, "out") && !x->touched && !in_place(t.op) &&
	    !t.unknown && !(a->role & ~1u))
		wrong(a, "reads what nothing has written");
	if (a->role & ~1u)
		x->touched = true;
	if (a->sure == KRT_SURE_ALL && x->seen && a->addr >= x->storage &&
	    end <= x->storage + x->bytes)
		mark(x, a);
}

/* All of an operator's results are written when all of its kernels are known to the byte. */
static void close_op(void)
{
	unsigned outs = 0;

	for (unsigned i = 0; i < t.ntensors; i++) {
		struct tensor *x = &t.tensor[i];
		uint64_t n = 0;

		if (!t.inexact && !strcmp(x->sort, "out") && x->seen) {
			for (uint64_t b = 0; b < x->len; b++)
				n += !(x->seen[x->ptr - x->storage + b] & 2);
			if (n && x->touched)
				complain("%lu bytes of a result of %lu are not said to be written",
					 (unsigned long)n, (unsigned long)x->len);
			if (!x->touched && t.show)
				printf("   %s: a result is not touched\n", t.op);
			outs++;
		}
		free(x->seen);
	}
	t.covered += outs > 0;
	t.ntensors = 0;
	t.unknown = t.inexact = false;
}

static void kernel_line(char *s)
{
	unsigned id = (unsigned)strtoul(s, &s, 10), n = 0;
	struct kernel *k;
	char *name = s + 1, *list = strchr(name, ' ');

	cr_assert_lt(id, KERNELS_MAX);
	cr_assert(list);
	*list++ = 0;
	k = &t.kernel[id];
	k->name = strdup(name);
	k->param = calloc(512, sizeof(*k->param));
	while (*list && *list != '\n') {
		cr_assert_lt(n, 512);
		k->param[n].offset = (uint32_t)strtoul(list, &list, 10);
		cr_assert_eq(*list, ':');
		k->param[n++].size = (uint32_t)strtoul(list + 1, &list, 10);
		if (*list == ',')
			list++;
	}
	k->nparams = n;
}

static void tensor_line(char *s)
{
	struct tensor *x = &t.tensor[t.ntensors];

	cr_assert_lt(t.ntensors, TENSORS_MAX);
	memset(x, 0, sizeof(*x));
	cr_assert_eq(sscanf(s, "%31s %lx %lu %lx %lu", x->sort, &x->storage, &x->bytes, &x->ptr,
			    &x->len),
		     5);
	for (unsigned i = 0; i < t.ntensors; i++)
		if (t.tensor[i].storage == x->storage) { /* two names of one; written counts */
			if (!strcmp(x->sort, "out") && strcmp(t.tensor[i].sort, "out"))
				snprintf(t.tensor[i].sort, sizeof(t.tensor[i].sort), "inout");
			return;
		}
	if (!x->bytes)
		return;
	if (x->bytes < (RUNNING_ON_VALGRIND ? 8u << 10 : 64u << 20))
		x->seen = calloc(1, x->bytes);
	t.ntensors++;
}

/* --- any parameters at all ----------------------------------------------------------------- */

static uint64_t seed = 88172645463325252ull;

static unsigned rnd(unsigned n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned)((seed >> 11) % n);
}

static void sane(void *user, const struct krt_kernels_access *a)
{
	uint64_t rows = a->rows > 1 ? a->rows - 1 : 0, last;

	(void)user;
	cr_assert(a->base && a->role && a->role < 8);
	cr_assert_eq(a->sure == KRT_SURE_FROM, a->len == 0);
	cr_assert(!a->loose || a->sure == KRT_SURE_SOME);
	cr_assert(!a->stride || a->stride > a->width);
	cr_assert(!rows || a->pitch >= a->len);
	cr_assert_not(__builtin_mul_overflow(rows, a->pitch, &last));
	cr_assert_not(__builtin_add_overflow(last, a->len, &last));
	cr_assert_not(__builtin_add_overflow(last, a->addr, &last));
}

/* The same kernel with other numbers: nothing that cannot be comes of it. */
static void damaged(const struct krt_kernels_line *line, const struct krt_kernels_launch *l)
{
	static unsigned char params[PARAMS_MAX];
	struct krt_kernels_launch other = *l;

	other.params = params;
	for (unsigned round = 0; round < (RUNNING_ON_VALGRIND ? 1 : 8); round++) {
		memcpy(params, l->params, l->len);
		for (unsigned n = rnd(6) + 1; n && l->len > 8; n--) {
			unsigned at = rnd((unsigned)l->len - 8) & ~3u;
			uint64_t v = seed >> rnd(64);

			memcpy(params + at, &v, rnd(2) ? 4 : 8);
		}
		if (!rnd(3))
			other.grid[rnd(3)] = rnd(2) ? rnd(1000) : UINT32_MAX;
		if (!rnd(8))
			other.len = rnd((unsigned)l->len + 1);
		krt_kernels_eval(line, &other, sane, NULL);
	}
}

static void launch_line(char *s, unsigned times)
{
	static unsigned char params[PARAMS_MAX];
	struct krt_kernels_launch l = {.params = params};
	const struct krt_kernels_line *line;
	unsigned id = (unsigned)strtoul(s, &s, 10), g[6];
	int n;
	enum krt_kernels_result r;

	cr_assert_lt(id, KERNELS_MAX);
	t.k = &t.kernel[id];
	cr_assert(t.k->name);
	l.param = t.k->param;
	l.nparams = t.k->nparams;
	cr_assert_eq(sscanf(s, " %u,%u,%u,%u,%u,%u %zu%n", &g[0], &g[1], &g[2], &g[3], &g[4], &g[5],
			    &l.len, &n),
		     7);
	s += n;
	cr_assert_leq(l.len, sizeof(params));
	memset(params, 0, l.len);
	for (unsigned i = 0; i < 3; i++) {
		l.grid[i] = g[i];
		l.block[i] = g[i + 3];
	}
	while (*s == ' ') {
		uint64_t off = strtoull(s + 1, &s, 16), v;

		cr_assert_eq(*s, '=');
		v = strtoull(s + 1, &s, 16);
		cr_assert_lt(off, l.len);
		memcpy(params + off, &v, l.len - off < 8 ? l.len - off : 8);
	}
	t.exact = true;
	t.loose = false;
	t.accesses = 0;
	line = krt_kernels_find(t.f, t.k->name, l.param, l.nparams);
	if (t.show)
		printf("   %s:%u %s: line %s:%u %s\n", t.file, t.number, t.op,
		       line ? krt_kernels_source(line) : "-", line ? krt_kernels_number(line) : 0,
		       t.k->name);
	r = line ? krt_kernels_eval(line, &l, judge, NULL) : KRT_KERNELS_NO_LINE;
	t.launches += times;
	if (line)
		damaged(line, &l);
	if (r == KRT_KERNELS_USELESS)
		complain("%s: %s:%u: %s", t.k->name, krt_kernels_source(line),
			 krt_kernels_number(line), krt_kernels_why(line, &l));
	t.unknown |= r != KRT_KERNELS_DECLARED;
	if (r == KRT_KERNELS_DECLARED)
		t.declared += times;
	if (r == KRT_KERNELS_DECLARED && t.exact)
		t.certain += times;
	else
		t.inexact = true;
	if (t.show)
		printf("      %s\n", r != KRT_KERNELS_DECLARED ? "UNKNOWN"
				     : t.exact		       ? "certain"
							       : "partly");
}

static void read_launches(const char *file, const char *first)
{
	static char buf[1 << 20];
	FILE *in;
	char path[4096], err[256];

	memset(&t, 0, sizeof(t));
	t.show = getenv("KRT_SHOW") != NULL;
	t.quiet = first != NULL;
	if (first) {
		t.f = krt_kernels_parse("first", first, strlen(first), err, sizeof(err));
		cr_assert(t.f, "%s", err);
	}
	cr_assert(krt_kernels_ship(&t.f, err, sizeof(err)), "%s", err);
	t.elsewhere = getenv("KRT_LAUNCHES");
	snprintf(path, sizeof(path), "%s/%s", t.elsewhere ? t.elsewhere : LAUNCHES, file);
	in = fopen(path, "re");
	cr_assert(in, "%s", path);
	t.file = file;
	while (fgets(buf, sizeof(buf), in) && (!first || t.launches < 60)) {
		unsigned times;
		int n;

		t.number++;
		if (!strncmp(buf, "K ", 2))
			kernel_line(buf + 2);
		else if (!strncmp(buf, "T ", 2))
			tensor_line(buf + 2);
		else if (!strncmp(buf, "L ", 2))
			launch_line(buf + 2, 1);
		else if (sscanf(buf, "N %u %n", &times, &n) == 1)
			launch_line(buf + n, times);
		else if (!strncmp(buf, "O ", 2)) {
			close_op();
			snprintf(t.op, sizeof(t.op), "%.*s", (int)strcspn(buf + 2, "\n"), buf + 2);
		} else
			cr_assert_eq(*buf, '#', "%s:%u", file, t.number);
	}
	close_op();
	fclose(in);
	krt_kernels_free(t.f);
	for (unsigned i = 0; i < KERNELS_MAX; i++) {
		free(t.kernel[i].name);
		free(t.kernel[i].param);
	}
	if (!first)
		printf("%s: %u launches, %u declared, %u known for certain (%u %%); "
		       "%u operators covered\n",
		       file, t.launches, t.declared, t.certain, t.certain * 100 / t.launches,
		       t.covered);
}

#define OPERATORS "pytorch-2.11-operators.txt"
#define TRAINING  "pytorch-2.11-training.txt"

Test(shipped, operators)
{
	read_launches(OPERATORS, NULL);
	cr_expect_eq(t.complaints, 0);
	/* the figures are what they were: a change that loses kernels is seen */
	if (t.elsewhere)
		return;
	cr_expect_eq(t.launches, 613);
	cr_expect_geq(t.declared, 555);
	cr_expect_geq(t.certain, 472);
	if (!RUNNING_ON_VALGRIND)
		cr_expect_geq(t.covered, 270);
}

/* All but what runs inside calls of cuBLAS, which have models of their own. */
Test(shipped, training)
{
	read_launches(TRAINING, NULL);
	if (t.elsewhere)
		return;
	cr_expect_eq(t.launches, 592);
	cr_expect_geq(t.certain, 522);
}

/* Wrong claims are found: the test itself could fail. */
Test(shipped, wrong_claims_are_found)
{
#define ELEMENTWISE                                                                                \
	"kernel \"void at::native::vectorized_elementwise_kernel<$_, $F, "                         \
	"std::array<char*, $N> >(int, *\":"
	static const struct {
		const char *what, *line;
	} w[] = {
		{"too much", ELEMENTWISE "arg 2.0 write [0, result($F)*arg0+4)"},
		{"too little", ELEMENTWISE "arg 2.0 write [0, result($F)*(arg0-1))"},
		{"not there", ELEMENTWISE "arg 2.0 write [0, 4) each d in 0..1 (arg0 by 8)"},
		{"an operand is written",
		 ELEMENTWISE "for i in 0..$N { arg 2.(8*i) write [0, arg0) }"},
		{"a result is read", ELEMENTWISE "for i in 0..$N { arg 2.(8*i) read [0, arg0) }"},
		{"another tensor", ELEMENTWISE "arg 2.0 write [0, 100000000)"},
		{"of no use", ELEMENTWISE "arg 9 write"},
	};

	for (unsigned i = 0; i < sizeof(w) / sizeof(*w); i++) {
		read_launches(OPERATORS, w[i].line);
		if (!RUNNING_ON_VALGRIND)
			cr_expect_gt(t.complaints, 0, "%s", w[i].what);
	}
}
