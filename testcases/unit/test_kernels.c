/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels file: language, messages, evaluation, and any text at all. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#else
#define RUNNING_ON_VALGRIND 0
#endif
#include "kernels.h"

/* A launch of f(int n, float *a, const float *b, struct { u64 p; u32 n; u32 m; u64 q; }, u8) */
#define A	0x7f0000001000ull
#define B	0x7f0000200000ull
#define P	0x7f0000300000ull
#define UNKNOWN KRT_PARAMS_UNKNOWN

static struct {
	struct krt_kernels_launch l;
	struct krt_param param[5];
	unsigned char bytes[56];
	struct krt_kernels_access got[64];
	unsigned n;
	char err[256];
} t;

static void put(unsigned off, uint64_t v, unsigned n)
{
	memcpy(t.bytes + off, &v, n);
}

static void setup(void)
{
	static const struct krt_param layout[] = {{0, 4}, {8, 8}, {16, 8}, {24, 24}, {48, 1}};

	memset(&t, 0, sizeof(t));
	memcpy(t.param, layout, sizeof(layout));
	put(0, 1000, 4);
	put(8, A, 8);
	put(16, B, 8);
	put(24, P, 8);
	put(32, 7, 4);
	put(36, 9, 4);
	put(40, 0, 8);
	put(48, 0xff, 1);
	t.l = (struct krt_kernels_launch){t.param,	   5,	      t.bytes,
					  sizeof(t.bytes), {3, 4, 5}, {64, 2, 1}};
}

TestSuite(kernels, .init = setup);

static void collect(void *user, const struct krt_kernels_access *a)
{
	(void)user;
	cr_assert_lt(t.n, 64);
	t.got[t.n++] = *a;
}

static struct krt_kernels_file *parse(const char *text)
{
	return krt_kernels_parse("f.kernels", text, strlen(text), t.err, sizeof(t.err));
}

static enum krt_kernels_result match(const char *text, const char *name)
{
	struct krt_kernels_file *f = parse(text);
	enum krt_kernels_result r;

	cr_assert_not_null(f, "%s", t.err);
	t.n = 0;
	r = krt_kernels_match(f, name, &t.l, collect, NULL);
	krt_kernels_free(f);
	return r;
}

static void is(unsigned i, uint64_t addr, uint64_t len, unsigned role)
{
	cr_assert_lt(i, t.n);
	cr_assert_eq(t.got[i].addr, addr, "access %u: address %#lx", i,
		     (unsigned long)t.got[i].addr);
	cr_assert_eq(t.got[i].len, len, "access %u: length %lu", i, (unsigned long)t.got[i].len);
	cr_assert_eq(t.got[i].role, role);
}

Test(kernels, roles_and_ranges)
{
	cr_assert_eq(
		match("kernel f: arg 1 read, arg 2 write [0, 4*arg0), arg 1 atomic [8, 16)\n", "f"),
		KRT_KERNELS_DECLARED);
	cr_assert_eq(t.n, 3);
	is(0, A, 0, KRT_KERNELS_READ);
	is(1, B, 4000, KRT_KERNELS_WRITE);
	is(2, A + 8, 8, KRT_KERNELS_ATOMIC);
	cr_assert_eq(t.got[1].arg, 2);
}

Test(kernels, words_inside_parameters)
{
	cr_assert_eq(match("kernel f: arg 3.0 write [arg3.8:4, arg3.8:4 + arg3.12:4)", "f"),
		     KRT_KERNELS_DECLARED);
	is(0, P + 7, 9, KRT_KERNELS_WRITE);
	/* a pointer of 0 is no access */
	cr_assert_eq(match("kernel f: arg 3.16 write, arg 3.16 read [0, 4)", "f"),
		     KRT_KERNELS_DECLARED);
	cr_assert_eq(t.n, 0);
	cr_assert_eq(match("kernel f: arg 1 read [0, arg3.8)", "f"), KRT_KERNELS_DECLARED);
	is(0, A, 7 + (9ull << 32), KRT_KERNELS_READ);
	cr_assert_eq(match("kernel f: arg 1 read [0, arg4)", "f"), KRT_KERNELS_DECLARED);
	is(0, A, 255, KRT_KERNELS_READ);
}

Test(kernels, arithmetic)
{
	static const struct {
		const char *text;
		uint64_t value;
	} e[] = {
		{"1", 1},
		{"0x10", 16},
		{"2+3*4", 14},
		{"(2+3)*4", 20},
		{"20-6-4", 10},
		{"100/7/2", 7},
		{"2*(3+(4-1))*2", 24},
		{"arg0", 1000},
		{"arg 0", 1000},
		{"gridx*gridy*gridz", 60},
		{"blockx+blocky+blockz", 67},
		{"(arg0 + blockx - 1) / blockx * blockx", 1024},
		{"18446744073709551615 / 18446744073709551615", 1},
		{"0xffffffffffffffff-0xfffffffffffffffe", 1},
	};

	for (unsigned i = 0; i < sizeof(e) / sizeof(*e); i++) {
		char line[160];

		snprintf(line, sizeof(line), "kernel f: arg 1 read [0, %s)", e[i].text);
		cr_assert_eq(match(line, "f"), KRT_KERNELS_DECLARED, "%s", line);
		is(0, A, e[i].value, KRT_KERNELS_READ);
	}
}

Test(kernels, names)
{
	static const struct {
		const char *pattern, *name;
		bool fits;
	} n[] = {
		{"saxpy", "saxpy", true},
		{"saxpy", "saxpy2", false},
		{"saxpy", "sax", false},
		{"*saxpy*", "_Z5saxpyifPKfPf", true},
		{"*", "anything", true},
		{"*", "", true},
		{"a?c", "abc", true},
		{"a?c", "ac", false},
		{"*ab*ab", "abxabab", true},
		{"*ab*ab", "abxaba", false},
		{"a**b", "ab", true},
		{"f*", "f", true},
		{"\"void k<float>(T*, ns::U)\"", "void k<float>(T*, ns::U)", true},
		{"\"a b\"", "a c", false},
		{"_Z[0-9]", "_Z5", false}, /* no character classes */
	};

	for (unsigned i = 0; i < sizeof(n) / sizeof(*n); i++) {
		char line[160];

		snprintf(line, sizeof(line), "kernel %s: ignore", n[i].pattern);
		cr_assert_eq(match(line, n[i].name),
			     n[i].fits ? KRT_KERNELS_DECLARED : KRT_KERNELS_NO_LINE,
			     "%s against %s", n[i].pattern, n[i].name);
		cr_assert_eq(t.n, 0);
	}
	cr_assert_eq(krt_kernels_match(NULL, "f", &t.l, collect, NULL), KRT_KERNELS_NO_LINE);
	cr_assert_eq(match("kernel f: ignore", "F"), KRT_KERNELS_NO_LINE);
}

Test(kernels, layout_of_the_file)
{
	const char *text = "# kernels of the test\r\n"
			   "\n"
			   "   kernel f :arg 1 read[0,4)# trailing\r\n"
			   "kernel g: arg 1 write [0, \\\n"
			   "   8), \\\r\n"
			   "   ignore\n"
			   "kernel f: ignore   # never reached: the first line counts\n"
			   "kernel h:ignore";
	struct krt_kernels_file *f = parse(text);

	cr_assert_not_null(f, "%s", t.err);
	cr_assert_eq(krt_kernels_number(krt_kernels_find(f, "f", NULL, UNKNOWN)), 3);
	cr_assert_eq(krt_kernels_number(krt_kernels_find(f, "g", NULL, UNKNOWN)), 4);
	cr_assert_eq(krt_kernels_number(krt_kernels_find(f, "h", NULL, UNKNOWN)), 8);
	cr_assert_null(krt_kernels_find(f, "i", NULL, UNKNOWN));
	krt_kernels_free(f);
	match(text, "f");
	is(0, A, 4, KRT_KERNELS_READ);
	match(text, "g");
	cr_assert_eq(t.n, 1);
	is(0, A, 8, KRT_KERNELS_WRITE);
	f = parse("");
	cr_assert_not_null(f);
	krt_kernels_free(f);
	krt_kernels_free(NULL);
}

/* A line that does not fit the launch says nothing about it, not half of it. */
Test(kernels, useless)
{
	static const struct {
		const char *clause, *why;
	} u[] = {
		{"arg 1 read, arg 5 read", "the kernel has fewer parameters"},
		{"arg 1 read, arg 0 read", "the parameter is no pointer"},
		{"arg 1 read, arg 3 read",
		 "a parameter of more than 8 bytes is no number: use argN.OFF"},
		{"arg 3.20 read", "the offset lies beyond the parameter"},
		{"arg 3.17 read", "the offset lies beyond the parameter"},
		{"arg 1 read [0, arg3)",
		 "a parameter of more than 8 bytes is no number: use argN.OFF"},
		{"arg 1 read [0, arg3.22:4)", "the offset lies beyond the parameter"},
		{"arg 1 read, arg 1 write [0, 4-arg0)", "a difference is below 0"},
		{"arg 1 write [0, arg0/(gridx-3))", "a division by 0"},
		{"arg 1 write [0, arg1*arg1)", "a product does not fit 64 bits"},
		{"arg 1 write [0, 0xffffffffffffffff+1)", "a sum does not fit 64 bits"},
		{"arg 1 write [0, 0xffffffffffffffff)", "a range ends beyond 64 bits"},
		{"arg 1 write [8, 4)", "a range ends before it begins"},
	};
	const struct krt_kernels_line *line;
	struct krt_kernels_file *f;
	uint64_t launches;
	const char *why;

	for (unsigned i = 0; i < sizeof(u) / sizeof(*u); i++) {
		char text[160];

		snprintf(text, sizeof(text), "kernel f: %s", u[i].clause);
		cr_assert_eq(match(text, "f"), KRT_KERNELS_USELESS, "%s", text);
		cr_assert_eq(t.n, 0);
		f = parse(text);
		cr_assert_str_eq(krt_kernels_why(krt_kernels_find(f, "f", NULL, UNKNOWN), &t.l),
				 u[i].why, "%s", text);
		krt_kernels_free(f);
	}
	/* the file remembers of how many launches a line said nothing, and why at first */
	f = parse("kernel f: arg 1 read\nkernel *: arg 9 read");
	krt_kernels_match(f, "f", &t.l, collect, NULL);
	cr_assert_null(krt_kernels_useless(f, NULL, &launches, &why));
	for (unsigned i = 0; i < 3; i++)
		krt_kernels_match(f, "g", &t.l, collect, NULL);
	line = krt_kernels_useless(f, NULL, &launches, &why);
	cr_assert_not_null(line);
	cr_assert_eq(krt_kernels_number(line), 2);
	cr_assert_eq(launches, 3);
	cr_assert_str_eq(why, "the kernel has fewer parameters");
	cr_assert_null(krt_kernels_useless(f, line, &launches, &why));
	krt_kernels_free(f);
	/* an empty range is no access; layouts that are unknown or lie */
	cr_assert_eq(match("kernel f: arg 1 write [4, 4)", "f"), KRT_KERNELS_DECLARED);
	cr_assert_eq(t.n, 0);
	f = parse("kernel f: arg 1 read");
	line = krt_kernels_find(f, "f", NULL, UNKNOWN);
	cr_assert_null(krt_kernels_why(line, &t.l));
	t.l.len = 15;
	cr_assert_str_eq(krt_kernels_why(line, &t.l), "the parameter buffer is too short");
	t.l.len = sizeof(t.bytes);
	t.param[1].offset = UINT32_MAX;
	cr_assert_str_eq(krt_kernels_why(line, &t.l), "the parameter buffer is too short");
	t.l.nparams = KRT_PARAMS_UNKNOWN;
	cr_assert_str_eq(krt_kernels_why(line, &t.l), "the parameters of the kernel are not known");
	krt_kernels_free(f);
	f = parse("kernel f: ignore");
	cr_assert_null(krt_kernels_why(krt_kernels_find(f, "f", NULL, UNKNOWN), &t.l),
		       "ignore needs no parameters");
	krt_kernels_free(f);
}

Test(kernels, messages)
{
	static const struct {
		const char *text, *message;
	} m[] = {
		{"kernle f: ignore",
		 "f.kernels:1: line: \"kernel NAME: ...\" is expected, not \"kernle\""},
		{"\n\nkernel", "f.kernels:3: kernel: a name is missing"},
		{"kernel :ignore", "f.kernels:1: kernel: a name is expected, not \":ignore\""},
		{"kernel \"f: ignore\n", "f.kernels:1: kernel: the name lacks its closing quote"},
		{"kernel f ignore",
		 "f.kernels:1: kernel f: \":\" is expected behind the name, not \"ignore\""},
		{"kernel f:",
		 "f.kernels:1: kernel f: \"arg N read|write|atomic\" or \"ignore\" is expected, "
		 "not the end of the line"},
		{"kernel f: arg 0 read,",
		 "f.kernels:1: arg 0: \"arg N read|write|atomic\" or \"ignore\" is "
		 "expected, not the end of the line"},
		{"kernel f: arg x read", "f.kernels:1: arg: a number is expected, not \"x\""},
		{"kernel f: arg 4096 read",
		 "f.kernels:1: arg: parameter 4096: numbers go up to 4095"},
		{"kernel f: arg 1.40000 read",
		 "f.kernels:1: arg: offset 40000: parameters end at 32767"},
		{"kernel f: arg 0 reads",
		 "f.kernels:1: arg 0: read, write or atomic is expected, not \"reads\""},
		{"kernel f: arg 0",
		 "f.kernels:1: arg 0: read, write or atomic is expected, not the end of the line"},
		{"kernel f: arg 0 read [0, 4]",
		 "f.kernels:1: arg 0: a range is [FROM, TO): \")\" is expected, not \"]\""},
		{"kernel f: arg 0 read [0 4)",
		 "f.kernels:1: arg 0: a range is [FROM, TO): a comma is expected, "
		 "not \"4)\""},
		{"kernel f: arg 0 read [0, 4*)",
		 "f.kernels:1: arg 0: a number, argN, gridx..z, blockx..z or \"(\" is "
		 "expected, not \")\""},
		{"kernel f: arg 0 read [0, (4)",
		 "f.kernels:1: arg 0: a range is [FROM, TO): \")\" is expected, not "
		 "the end of the line"},
		{"kernel f: arg 0 read [0, 4K)",
		 "f.kernels:1: arg 0: a number is expected, not \"K)\""},
		{"kernel f: arg 0 read [0, 0x)",
		 "f.kernels:1: arg 0: a number is expected, not \")\""},
		{"kernel f: arg 0 read [0, 18446744073709551616)",
		 "f.kernels:1: arg 0: the number does not fit 64 bits"},
		{"kernel f: arg 1.8 read [0, arg1.0:3)",
		 "f.kernels:1: arg 1.8: width 3: 1, 2, 4 or 8 bytes"},
		{"kernel f: arg 0 read arg 1 read",
		 "f.kernels:1: arg 0: a comma or the end of the line is expected, "
		 "not \"arg\""},
		{"kernel f: ignore, arg 0 read",
		 "f.kernels:1: kernel f: nothing follows ignore, but there is "
		 "\",\""},
		{"kernel f: \x01",
		 "f.kernels:1: kernel f: \"arg N read|write|atomic\" or \"ignore\" is expected, "
		 "not byte 0x01"},
		{"kernel f: ignore\nkernel g: arg 0 \\\n\\\n red",
		 "f.kernels:4: arg 0: read, write or atomic is "
		 "expected, not \"red\""},
		/* what goes on below and does not: where it should have */
		{"\nkernel f:\n",
		 "f.kernels:2: kernel f: \"arg N read|write|atomic\" or \"ignore\" is expected, "
		 "not the end of the line"},
		{"kernel f: arg 0 read,  # more\n\n# none\n",
		 "f.kernels:1: arg 0: \"arg N read|write|atomic\" or \"ignore\" is expected, "
		 "not the end of the line"},
		{"names s:\n\n", "f.kernels:1: names: a word is missing"},
		{"table t: 1,\n", "f.kernels:1: table: a number is expected, not the end of the line"},
	};

	for (unsigned i = 0; i < sizeof(m) / sizeof(*m); i++) {
		struct krt_kernels_file *f = parse(m[i].text);

		cr_assert_null(f, "%s", m[i].text);
		cr_assert_str_eq(t.err, m[i].message, "%s\n   gives %s", m[i].text, t.err);
	}
}

Test(kernels, limits)
{
	static char text[200000];
	struct krt_kernels_file *f;
	size_t n;

	/* 64 accesses are allowed, 65 are not */
	for (unsigned count = 64; count <= 65; count++) {
		n = (size_t)snprintf(text, sizeof(text), "kernel f: arg 1 read");
		for (unsigned i = 1; i < count; i++)
			n += (size_t)snprintf(text + n, sizeof(text) - n, ", arg 1 read");
		f = parse(text);
		cr_assert_eq(f != NULL, count == 64, "%s", t.err);
		krt_kernels_free(f);
	}
	cr_assert_str_eq(t.err, "f.kernels:1: kernel: more than 64 accesses");
	/* a long sum, deep parentheses */
	n = (size_t)snprintf(text, sizeof(text), "kernel f: arg 1 read [0, 1");
	for (unsigned i = 0; i < 10000; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "+1");
	cr_assert_null(parse(text));
	cr_assert_str_eq(t.err, "f.kernels:1: arg 1: the expression is too long (more than 64 "
				"terms and operators)");
	n = (size_t)snprintf(text, sizeof(text), "kernel f: arg 1 read [0, ");
	memset(text + n, '(', 100000);
	text[n + 100000] = 0;
	cr_assert_null(parse(text));
	cr_assert_str_eq(t.err,
			 "f.kernels:1: arg 1: parentheses are nested too deep (more than 32)");
	/* a long name is cut in messages only */
	memset(text, 'n', 100000);
	memcpy(text, "kernel ", 7);
	strcpy(text + 100000, ": x");
	cr_assert_null(parse(text));
	cr_assert_lt(strlen(t.err), 250);
	/* a message never overruns */
	cr_assert_null(krt_kernels_parse("f", "x", 1, t.err, 4));
	cr_assert_str_eq(t.err, "f:1");
}

Test(kernels, files)
{
	char path[] = "/tmp/krtsan-kernels-XXXXXX";
	int fd = mkstemp(path);
	struct krt_kernels_file *f;

	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, "kernel f: ignore\n", 17), 17);
	close(fd);
	f = krt_kernels_load(path, t.err, sizeof(t.err));
	cr_assert_not_null(f, "%s", t.err);
	cr_assert_not_null(krt_kernels_find(f, "f", NULL, UNKNOWN));
	krt_kernels_free(f);
	unlink(path);
	cr_assert_null(krt_kernels_load(path, t.err, sizeof(t.err)));
	cr_assert(strstr(t.err, ": cannot be opened: No such file or directory"), "%s", t.err);
	cr_assert_null(krt_kernels_load("/", t.err, sizeof(t.err)));
	cr_assert(strstr(t.err, "/: cannot be "), "%s", t.err);
}

static uint64_t seed = 88172645463325252ull;

static unsigned rnd(unsigned n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned)((seed >> 11) % n);
}

/* --- readable names -------------------------------------------------------------------- */

#define FLOAT4 "_Z1fIfLi4EEvPT_i" /* void f<float, 4>(float*, int) */
/* void g<c10::Half, 2u>(c10::Half const*, c10::Half*, int) */
#define HALF "_Z1gIN3c104HalfELj2EEvPKT_PS2_i"
/* void k<run()::{lambda(float, bool)#1}>(..., char*) */
#define LAMBDA "_Z1kIZ3runvEUlfbE_EvT_Pc"

Test(kernels, readable_names)
{
	static const struct {
		const char *pattern, *name;
		bool fits;
	} n[] = {
		{"void f<float, 4>(float*, int)", FLOAT4, true},
		{"void f<$T, $N>(*", FLOAT4, true},
		{"void f<$T, $T>(*", FLOAT4, false},
		{"void f<$T, $N>($T*", FLOAT4, true},
		{"void f<$T, $N>($N*", FLOAT4, false},
		{"*<$_>(*", FLOAT4, false}, /* two arguments are not one */
		{"*<$A...>(*", FLOAT4, true},
		{"*f<$T, 5>(*", FLOAT4, false},
		{"void f<*>($P\\*, $_)", FLOAT4, true},
		{"void f<*>($P const\\*, $_)", FLOAT4, false},
		{"void g<$T, $_>($T const\\*, $T\\*, $_)", HALF, true},
		{"void g<$T, $_>($T\\*, $T\\*, $_)", HALF, false},
		{"void k<run()::{lambda($A...)#$_}>(*", LAMBDA, true},
		{"void f<$T, ?>(*", FLOAT4, true},
		/* > closes a type that ends in > as well */
		{"void ns::h<$F>($F, *", "_ZN2ns1hI1FIfbEEEvT_Pv", true},
		{"void ns::h<F<$A, $B>>(*", "_ZN2ns1hI1FIfbEEEvT_Pv", true},
		/* what is no mangled name is taken as it is */
		{"my kernel*", "my kernel 5", true},
		/* a prefix of separate compilation */
		{"void f<float, $_>(*", "__nv_static_42__1234_a_cu__Z1fIfLi4EEvPT_i", true},
	};

	for (unsigned i = 0; i < sizeof(n) / sizeof(*n); i++) {
		char line[160];

		snprintf(line, sizeof(line), "kernel \"%s\": ignore", n[i].pattern);
		cr_assert_eq(match(line, n[i].name),
			     n[i].fits ? KRT_KERNELS_DECLARED : KRT_KERNELS_NO_LINE,
			     "%s against %s", n[i].pattern, n[i].name);
	}
	/* without quotes it is the mangled name that counts */
	cr_assert_eq(match("kernel _Z1f*: ignore", FLOAT4), KRT_KERNELS_DECLARED);
	cr_assert_eq(match("kernel f*: ignore", FLOAT4), KRT_KERNELS_NO_LINE);
	/* sets of names: a whole identifier */
	cr_assert_eq(match("names s: g, f\nkernel \"void @s<*\": ignore", FLOAT4),
		     KRT_KERNELS_DECLARED);
	cr_assert_eq(match("names s: g, ff\nkernel \"void @s<*\": ignore", FLOAT4),
		     KRT_KERNELS_NO_LINE);
	cr_assert_eq(match("names s: fl*\nkernel \"void f<@s, *\": ignore", FLOAT4),
		     KRT_KERNELS_DECLARED);
	cr_assert_eq(match("names s: loat\nkernel \"void f<f@s, *\": ignore", FLOAT4),
		     KRT_KERNELS_NO_LINE);
}

Test(kernels, sizes_of_captures)
{
	cr_assert_eq(
		match("kernel \"void f<$T, $N>(*\": arg 1 read [0, $N*sizeof($T)*arg0)", FLOAT4),
		KRT_KERNELS_DECLARED);
	is(0, A, 16000, KRT_KERNELS_READ);
	cr_assert_eq(match("size \"c10::Half\", \"x\": 2\n"
			   "kernel \"void g<$T, $N>(*\": arg 1 read [0, sizeof($T)*$N)",
			   HALF),
		     KRT_KERNELS_DECLARED);
	is(0, A, 4, KRT_KERNELS_READ);
	/* a type that is not known: the line does not fit, the next may */
	cr_assert_eq(match("kernel \"void g<$T, $N>(*\": arg 1 read [0, sizeof($T))\n"
			   "kernel \"void g<*\": arg 1 read [0, ?)",
			   HALF),
		     KRT_KERNELS_DECLARED);
	is(0, A, 1, KRT_KERNELS_READ);
	cr_assert_eq(t.got[0].sure, KRT_SURE_ALL);
	is(1, A + 1, 15, KRT_KERNELS_READ);
	cr_assert_eq(t.got[1].sure, KRT_SURE_SOME);
	cr_assert(t.got[1].loose);
	/* lists, parameters */
	cr_assert_eq(match("kernel \"void k<run()::{lambda($A...)#$_}>(*\": "
			   "arg 1 read [0, sizeof($A)*100+sizeof($A, 1)*10+sizeof(arg3))",
			   LAMBDA),
		     KRT_KERNELS_DECLARED);
	is(0, A, 434, KRT_KERNELS_READ);
	/* a number that is none: no line */
	cr_assert_eq(match("kernel \"void f<$T, $N>(*\": arg 1 read [0, $T)", FLOAT4),
		     KRT_KERNELS_NO_LINE);
}

Test(kernels, functors)
{
	static const char text[] = "functor \"F<$A, $R>\": sizeof($R) (sizeof($A), 8)\n"
				   "functor \"*{lambda($A...)#$_}\": ? ($A...)\n";
	char line[512];

	snprintf(line, sizeof(line),
		 "%skernel \"void ns::h<$F>(*\": arg 1 write [0, 100*result($F)), "
		 "for i in 0..arity($F) { arg 2 read [i, i+argument($F, i)) }",
		 text);
	cr_assert_eq(match(line, "_ZN2ns1hI1FIfbEEEvT_Pv"), KRT_KERNELS_DECLARED);
	cr_assert_eq(t.n, 3);
	is(0, A, 100, KRT_KERNELS_WRITE);
	is(1, B, 4, KRT_KERNELS_READ);
	is(2, B + 1, 8, KRT_KERNELS_READ);
	snprintf(line, sizeof(line),
		 "%skernel \"void k<$F>(*\": arg 1 write [0, 10*result($F)), "
		 "arg 2 read [0, argument($F, 1))",
		 text);
	cr_assert_eq(match(line, LAMBDA), KRT_KERNELS_DECLARED);
	cr_assert_eq(t.n, 3);
	is(0, A, 10, KRT_KERNELS_WRITE);
	is(1, A + 10, 150, KRT_KERNELS_WRITE);
	cr_assert(t.got[1].loose);
	is(2, B, 1, KRT_KERNELS_READ);
	/* no functor */
	snprintf(line, sizeof(line), "%skernel \"void f<$F, *\": arg 1 write [0, result($F))",
		 text);
	cr_assert_eq(match(line, FLOAT4), KRT_KERNELS_NO_LINE);
	snprintf(line, sizeof(line), "%skernel \"void k<$F>(*\": arg 1 write [0, argument($F, 2))",
		 text);
	cr_assert_eq(match(line, LAMBDA), KRT_KERNELS_USELESS);
}

/* --- layout, blocks -------------------------------------------------------------------- */

Test(kernels, layouts)
{
	struct krt_kernels_file *f = parse("kernel f (4, 8): ignore\n"
					   "kernel f (4, 8, *, 24, 1): arg 1 read\n"
					   "kernel f (4, ...): arg 1 write\n"
					   "kernel f: arg 1 atomic\n");
	const struct krt_kernels_line *l;

	cr_assert_not_null(f, "%s", t.err);
	l = krt_kernels_find(f, "f", t.param, 5);
	cr_assert_eq(krt_kernels_number(l), 2);
	cr_assert_eq(krt_kernels_find(f, "f", t.param, 5), l, "kept");
	cr_assert_eq(krt_kernels_number(krt_kernels_find(f, "f", t.param, 2)), 1);
	cr_assert_eq(krt_kernels_number(krt_kernels_find(f, "f", t.param, 3)), 3);
	cr_assert_eq(krt_kernels_number(krt_kernels_find(f, "f", t.param + 1, 3)), 4);
	cr_assert_eq(krt_kernels_number(krt_kernels_find(f, "f", NULL, UNKNOWN)), 4);
	cr_assert_eq(krt_kernels_number(krt_kernels_find(f, "f", NULL, 0)), 4);
	cr_assert_str_eq(krt_kernels_source(l), "f.kernels");
	krt_kernels_free(f);
	/* sizes that a template argument gives */
	f = parse("kernel \"void f<$T, $N>(*\" (sizeof($T), 2*$N, ...): ignore\n");
	cr_assert_not_null(f, "%s", t.err);
	cr_assert_not_null(krt_kernels_find(f, FLOAT4, t.param, 5));
	cr_assert_null(krt_kernels_find(f, FLOAT4, t.param + 1, 4));
	krt_kernels_free(f);
}

Test(kernels, blocks)
{
	cr_assert_eq(match("kernel f: for i in 0..3 { arg 3.0 read [8*i, 8*i+i) }", "f"),
		     KRT_KERNELS_DECLARED);
	cr_assert_eq(t.n, 2); /* the first is empty */
	is(0, P + 8, 1, KRT_KERNELS_READ);
	is(1, P + 16, 2, KRT_KERNELS_READ);
	/* pointers of a table by value, over several lines */
	cr_assert_eq(match("kernel f:\n  let n = arg0 / 100,\n  for i in 0..2 {\n"
			   "    let at = 16*i,\n    arg 3.(at) write [0, n), # a comment\n  }\n",
			   "f"),
		     KRT_KERNELS_DECLARED);
	cr_assert_eq(t.n, 1);
	is(0, P, 10, KRT_KERNELS_WRITE);
}

Test(kernels, conditions)
{
	cr_assert_eq(match("kernel f: if arg0 == 1000 { arg 1 read } else { arg 1 write },"
			   "if arg0 < gridx { arg 2 read } else { arg 2 write }",
			   "f"),
		     KRT_KERNELS_DECLARED);
	cr_assert_eq(t.n, 2);
	is(0, A, 0, KRT_KERNELS_READ);
	is(1, B, 0, KRT_KERNELS_WRITE);
	/* what is not known: both, and neither surely */
	match("kernel f: if ? > 4 { arg 1 read [0, 4) } else { arg 1 write [0, 8) }", "f");
	cr_assert_eq(t.n, 2);
	cr_assert(t.got[0].sure == KRT_SURE_SOME && t.got[0].loose);
	cr_assert(t.got[1].sure == KRT_SURE_SOME && t.got[1].loose);
	match("kernel f: if ? > 0 { arg 1 read [0, 4) } else { arg 1 write [0, 8) }", "f");
	cr_assert_eq(t.n, 1);
	cr_assert_eq(t.got[0].sure, KRT_SURE_ALL);
	cr_assert_eq(match("kernel f: require arg0 == 1000, arg 1 read", "f"),
		     KRT_KERNELS_DECLARED);
	cr_assert_eq(match("kernel f: require arg0 == 999, arg 1 read", "f"), KRT_KERNELS_USELESS);
	cr_assert_eq(match("kernel f: require ? == 4, arg 1 read", "f"), KRT_KERNELS_USELESS);
}

Test(kernels, tables_and_offsets)
{
	match("table t: 5, 6,\n 7\nkernel f: arg 3.(8-8) read [0, t[arg0/500]), "
	      "arg 1 write [min(3, 4), max(7, arg3.(4+4):4)), arg 2 read [0, arg0 % 7)",
	      "f");
	cr_assert_eq(t.n, 3);
	is(0, P, 7, KRT_KERNELS_READ);
	is(1, A + 3, 4, KRT_KERNELS_WRITE);
	is(2, B, 6, KRT_KERNELS_READ);
	cr_assert_eq(match("table t: 5\nkernel f: arg 1 read [0, t[1])", "f"), KRT_KERNELS_USELESS);
	cr_assert_eq(match("kernel f: arg 3.(20) read", "f"), KRT_KERNELS_USELESS);
}

/* --- how sure --------------------------------------------------------------------------- */

Test(kernels, sureness)
{
	match("kernel f: arg 1 read, arg 1 may read [0, 8), arg 1 may write, "
	      "arg 2 write [4, 8) within [0, 16), arg 2 read+write [0, 4)",
	      "f");
	cr_assert_eq(t.n, 7);
	is(0, A, 0, KRT_KERNELS_READ);
	cr_assert_eq(t.got[0].sure, KRT_SURE_FROM);
	is(1, A, 8, KRT_KERNELS_READ);
	cr_assert(t.got[1].sure == KRT_SURE_SOME && !t.got[1].loose);
	cr_assert(t.got[2].sure == KRT_SURE_SOME && t.got[2].loose && t.got[2].len > 1ull << 60);
	is(3, B + 4, 4, KRT_KERNELS_WRITE);
	cr_assert_eq(t.got[3].sure, KRT_SURE_ALL);
	is(4, B, 4, KRT_KERNELS_WRITE);
	cr_assert(t.got[4].sure == KRT_SURE_SOME && t.got[4].loose);
	is(5, B + 8, 8, KRT_KERNELS_WRITE);
	cr_assert(t.got[5].sure == KRT_SURE_SOME && t.got[5].loose);
	is(6, B, 4, KRT_KERNELS_READ | KRT_KERNELS_WRITE);
	for (unsigned i = 0; i < t.n; i++)
		cr_assert_eq(t.got[i].base, i < 3 ? A : B);
	cr_assert_eq(match("kernel f: arg 1 read [0, 8) within [4, 8)", "f"), KRT_KERNELS_USELESS);
	/* its beginning may lie behind its end: nothing is sure */
	match("kernel f: arg 1 read [?, 4*?)", "f");
	cr_assert_eq(t.n, 1);
	is(0, A + 1, 63, KRT_KERNELS_READ);
	cr_assert(t.got[0].sure == KRT_SURE_SOME && t.got[0].loose);
}

Test(kernels, order_through_memory)
{
	struct krt_kernels_file *f =
		parse("kernel f: sync-by-memory\n"
		      "kernel g: arg 1 atomic [0, 4), arg 2 read [0, 4), atomic-ok\n"
		      "kernel h: sync-by-memory, ignore\n");

	cr_assert_not_null(f, "%s", t.err);
	cr_assert(krt_kernels_synchronises(krt_kernels_find(f, "f", NULL, UNKNOWN)));
	cr_assert_not(krt_kernels_synchronises(krt_kernels_find(f, "g", NULL, UNKNOWN)));
	cr_assert(krt_kernels_synchronises(krt_kernels_find(f, "h", NULL, UNKNOWN)));
	cr_assert_eq(krt_kernels_match(f, "f", &t.l, collect, NULL), KRT_KERNELS_SILENT);
	cr_assert_eq(krt_kernels_match(f, "h", &t.l, collect, NULL), KRT_KERNELS_DECLARED);
	cr_assert_eq(t.n, 0);
	cr_assert_eq(krt_kernels_match(f, "g", &t.l, collect, NULL), KRT_KERNELS_DECLARED);
	cr_assert_eq(t.n, 2);
	is(0, A, 4, KRT_KERNELS_ATOMIC);
	cr_assert(t.got[0].sure == KRT_SURE_SOME && t.got[0].loose);
	cr_assert_eq(t.got[1].sure, KRT_SURE_ALL);
	krt_kernels_free(f);
}

/* --- strides ------------------------------------------------------------------------------ */

static void shape(unsigned i, uint64_t addr, uint64_t len, uint64_t width, uint64_t stride,
		  uint64_t rows, uint64_t pitch)
{
	const struct krt_kernels_access *a = &t.got[i];

	cr_assert_lt(i, t.n);
	cr_assert(a->addr == addr && a->len == len && a->width == width && a->stride == stride &&
			  a->rows == rows && (rows < 2 || a->pitch == pitch),
		  "access %u: %#lx + %lu, %lu of %lu, %lu rows %lu apart", i,
		  (unsigned long)a->addr, (unsigned long)a->len, (unsigned long)a->width,
		  (unsigned long)a->stride, (unsigned long)a->rows, (unsigned long)a->pitch);
}

Test(kernels, strides)
{
	/* closes up, in whatever order, with dimensions of one and repeated ones */
	match("table n: 10, 4, 1, 5\ntable s: 16, 4, 99, 0\n"
	      "kernel f: arg 1 write [0, 4) each d in 0..4 (n[d] by s[d])",
	      "f");
	cr_assert_eq(t.n, 1);
	is(0, A, 160, KRT_KERNELS_WRITE);
	cr_assert_eq(t.got[0].sure, KRT_SURE_ALL);
	/* pieces that overlap */
	match("kernel f: arg 1 write [2, 10) each d in 0..1 (5 by 3)", "f");
	is(0, A + 2, 20, KRT_KERNELS_WRITE);
	/* every second, rows of them, a stack of those */
	match("kernel f: arg 1 write [0, 4) each d in 0..1 (3 by 8)", "f");
	shape(0, A, 20, 4, 8, 1, 0);
	match("table n: 2, 3\ntable s: 100, 8\n"
	      "kernel f: arg 1 write [0, 4) each d in 0..2 (n[d] by s[d]) times 6",
	      "f");
	shape(0, A, 20, 4, 8, 2, 100);
	match("table n: 2, 3, 2\ntable s: 100, 8, 1000\n"
	      "kernel f: arg 1 write [0, 4) each d in 0..3 (n[d] by s[d])",
	      "f");
	cr_assert_eq(t.n, 2);
	shape(0, A, 20, 4, 8, 2, 100);
	shape(1, A + 1000, 20, 4, 8, 2, 100);
	/* rows that reach into each other are told one by one */
	match("table n: 2, 3\ntable s: 12, 8\n"
	      "kernel f: arg 1 write [0, 4) each d in 0..2 (n[d] by s[d])",
	      "f");
	cr_assert_eq(t.n, 2);
	shape(0, A, 20, 4, 8, 1, 0);
	shape(1, A + 12, 20, 4, 8, 1, 0);
	/* steady strides are one dimension */
	match("table n: 2, 3\ntable s: 24, 8\n"
	      "kernel f: arg 1 write [0, 4) each d in 0..2 (n[d] by s[d])",
	      "f");
	shape(0, A, 44, 4, 8, 1, 0);
	/* two of them */
	match("kernel f: arg 1 write [0, 4) each d in 0..1 (5 by 4) each e in 0..1 (2 by 20)", "f");
	is(0, A, 40, KRT_KERNELS_WRITE);
	/* too many pieces for that: the hull, as a limit */
	match("table n: 2, 3, 1000\ntable s: 100, 8, 1000\n"
	      "kernel f: arg 1 write [0, 4) each d in 0..3 (n[d] by s[d])",
	      "f");
	cr_assert_eq(t.n, 1);
	is(0, A, 999120, KRT_KERNELS_WRITE);
	cr_assert(t.got[0].sure == KRT_SURE_SOME && t.got[0].loose);
	/* none at all, and a count that does not agree */
	match("kernel f: arg 1 write [0, 4) each d in 0..1 (0 by 4)", "f");
	cr_assert_eq(t.n, 0);
	cr_assert_eq(match("kernel f: arg 1 write [0, 4) each d in 0..1 (5 by 4) times 6", "f"),
		     KRT_KERNELS_USELESS);
	cr_assert_eq(match("kernel f: arg 1 write [0, 4) each d in 0..33 (1 by 4)", "f"),
		     KRT_KERNELS_USELESS);
	cr_assert_eq(match("kernel f: arg 1 write [0, 4) each d in 0..1 (arg1 by arg1)", "f"),
		     KRT_KERNELS_USELESS);
}

/* Any strides at all: the bytes told are those of all sums, byte by byte. */
Test(kernels, strides_against_all_sums)
{
	static unsigned char want[4096], got[4096];

	for (unsigned round = 0; round < (RUNNING_ON_VALGRIND ? 50 : 2000); round++) {
		unsigned n[4], s[4], dims = rnd(4) + 1, width = rnd(6) + 1;
		uint64_t hull = width;
		char line[256];
		int at;

		memset(want, 0, sizeof(want));
		memset(got, 0, sizeof(got));
		for (unsigned d = 0; d < 4; d++) {
			n[d] = d < dims ? rnd(5) : 1;
			s[d] = d < dims ? rnd(d ? 60 : 10) : 0;
			hull += n[d] ? (n[d] - 1) * s[d] : 0;
		}
		for (unsigned a = 0; a < n[0]; a++)
			for (unsigned b = 0; b < n[1]; b++)
				for (unsigned c = 0; c < n[2]; c++)
					for (unsigned d = 0; d < n[3]; d++)
						memset(want + a * s[0] + b * s[1] + c * s[2] +
							       d * s[3],
						       1, width);
		at = snprintf(line, sizeof(line),
			      "table n: %u, %u, %u, %u\ntable s: %u, %u, %u, %u\n", n[0], n[1],
			      n[2], n[3], s[0], s[1], s[2], s[3]);
		snprintf(line + at, sizeof(line) - (size_t)at,
			 "kernel f: arg 1 write [0, %u) each d in 0..4 (n[d] by s[d])", width);
		cr_assert_eq(match(line, "f"), KRT_KERNELS_DECLARED);
		for (unsigned i = 0; i < t.n; i++) {
			const struct krt_kernels_access *a = &t.got[i];
			uint64_t step = a->stride ? a->stride : a->len;

			cr_assert_eq(a->sure, KRT_SURE_ALL);
			cr_assert(a->rows < 2 || a->pitch >= a->len);
			cr_assert(!a->stride || a->stride > a->width);
			for (uint64_t r = 0; r < (a->rows ? a->rows : 1); r++)
				for (uint64_t x = 0; x < a->len; x += step)
					memset(got + (a->addr - A) + r * a->pitch + x, 1,
					       a->width ? a->width : a->len);
		}
		cr_assert_arr_eq(got, want, sizeof(got), "%s", line);
		cr_assert_leq(hull, sizeof(got));
	}
}

/* --- files that come with it ---------------------------------------------------------------- */

Test(kernels, shipped_lines_come_last)
{
	/* void at::native::vectorized_elementwise_kernel<4, FillFunctor<float>, ... */
	static const char name[] =
		"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEE"
		"St5arrayIPcLm1EEEEviT0_T1_";
	struct krt_param p[3] = {{0, 4}, {4, 4}, {8, 8}};
	struct krt_kernels_file *f = NULL;
	const struct krt_kernels_line *l;

	cr_assert(krt_kernels_ship(&f, t.err, sizeof(t.err)), "%s", t.err);
	l = krt_kernels_find(f, name, p, 3);
	cr_assert(l);
	cr_assert_str_eq(krt_kernels_source(l), "pytorch.kernels");
	/* of these nothing is said when they fit no kernel */
	cr_assert_null(krt_kernels_unused(f, NULL));
	krt_kernels_free(f);
	f = parse("kernel \"*FillFunctor<*\": ignore\nkernel nothing: ignore\n"
		  "size \"c10::Half\": 3\n");
	cr_assert_not_null(f, "%s", t.err);
	cr_assert(krt_kernels_ship(&f, t.err, sizeof(t.err)), "%s", t.err);
	l = krt_kernels_find(f, name, p, 3);
	cr_assert_str_eq(krt_kernels_source(l), "f.kernels");
	cr_assert_eq(krt_kernels_number(krt_kernels_unused(f, NULL)), 2);
	krt_kernels_free(f);
}

/* --- cost ------------------------------------------------------------------------------------ */

Test(kernels, work_is_bounded)
{
	static char line[9000], name[60000];
	size_t n = 0;

	cr_assert_eq(match("kernel f: for i in 0..1000000000 { arg 1 read [0, i) }", "f"),
		     KRT_KERNELS_USELESS);
	cr_assert_eq(
		match("kernel f: for i in 0..100000 { for j in 0..100000 { if i { let k = j } } }",
		      "f"),
		KRT_KERNELS_USELESS);
	cr_assert_eq(match("kernel f: arg 1 read [0, 1) each d in 0..1000000000 (1 by 1)", "f"),
		     KRT_KERNELS_USELESS);
	/* a pattern of many stars over a long name */
	n = (size_t)snprintf(line, sizeof(line), "kernel \"(");
	for (unsigned i = 0; i < 1000; i++)
		n += (size_t)snprintf(line + n, sizeof(line) - n, "*ab$x");
	snprintf(line + n, sizeof(line) - n, "\": ignore");
	memset(name, 'a', sizeof(name) - 1);
	name[0] = '(';
	cr_assert_eq(match(line, name), KRT_KERNELS_NO_LINE);
	/* a short name that stands for one of gigabytes */
	n = (size_t)snprintf(line, sizeof(line), "_Z1fSt4pairIiiE");
	for (unsigned i = 0; i < 18; i++) /* pair number i is substitution number 2 i */
		n += (size_t)snprintf(line + n, sizeof(line) - n, "St4pairIS%c_S%c_E",
				      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[2 * i],
				      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[2 * i]);
	for (unsigned i = 18; i < 36; i++)
		n += (size_t)snprintf(line + n, sizeof(line) - n, "St4pairIS1%c_S1%c_E",
				      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[2 * i - 36],
				      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[2 * i - 36]);
	cr_assert_eq(match("kernel \"f(*\": ignore", line), KRT_KERNELS_NO_LINE);
}

/* --- any text at all ---------------------------------------------------------------------- */

static void count(void *user, const struct krt_kernels_access *a)
{
	(void)user;
	t.n++;
	cr_assert(a->base);
	cr_assert_eq(a->sure == KRT_SURE_FROM, a->len == 0);
	cr_assert(a->sure == KRT_SURE_SOME || !a->loose);
}

static void feed(const char *text, size_t len)
{
	/* a copy of its own size, so that a read beyond it shows */
	char *copy = malloc(len ? len : 1);
	static const char *const some[] = {"f", "g", FLOAT4, LAMBDA};
	struct krt_kernels_file *f;
	unsigned char *params;

	memcpy(copy, text, len);
	t.err[0] = 0;
	f = krt_kernels_parse("fuzz", copy, len, t.err, sizeof(t.err));
	free(copy);
	if (!f) {
		cr_assert(!strncmp(t.err, "fuzz:", 5), "%s", t.err);
		return;
	}
	t.n = 0;
	t.l.nparams = rnd(6);
	t.l.len = rnd(sizeof(t.bytes) + 1);
	params = malloc(t.l.len + 1);
	memcpy(params, t.bytes, t.l.len);
	t.l.params = params;
	for (unsigned i = 0; i < 5; i++) {
		t.param[i].offset = rnd(8) ? rnd(64) : rnd(UINT32_MAX);
		t.param[i].size = rnd(8) ? rnd(32) : rnd(UINT32_MAX);
	}
	krt_kernels_match(f, some[rnd(4)], &t.l, count, NULL);
	free(params);
	krt_kernels_free(f);
}

Test(kernels, fuzz)
{
	static const char good[] =
		"# c\nkernel f: arg 1 read [0, 4*(arg0+blockx)-1), arg 3.8 write [arg3.16:4, "
		"gridx/2), ignore\n"
		"names s: f, g*\ntable t: 1, 2\nsize \"float\": 4\n"
		"functor \"F<$A>\": sizeof($A) ($A)\n"
		"kernel \"void @s<$T, $N>($T\\*, *\" (*, 8, ...): let x = $N*sizeof($T), "
		"if x == 4 { for i in 0..t[1] { arg 3.(8*i) may read [0, ?) within [0, 99) } } "
		"else { arg 1 read+write [0, 4) each d in 0..2 (t[d] by 8) times 2 }, require x, "
		"atomic-ok\n"
		"kernel \"g h\": arg 2 atomic [0x10, 0x20)\\\n, arg 0 read\nkernel *: ignore\n";
	static const char *const bits[] = {
		"kernel ",
		"arg",
		"arg 1",
		"read",
		"write",
		"atomic",
		"ignore",
		"[0, ",
		")",
		"(",
		"((((((((",
		"4*",
		"+",
		"-",
		"/",
		"gridx",
		"blockz",
		".8",
		":4",
		"0x",
		"18446744073709551615",
		"\"",
		"*",
		"?",
		"\\\n",
		"\\\r\n",
		"\\",
		"\n",
		"\r",
		"#",
		",",
		": ",
		" ",
		"for i in ",
		"..",
		" { ",
		" }",
		"if ",
		" else ",
		"let x = ",
		"x",
		"require ",
		"each d in 0..",
		" by ",
		"times ",
		"within [",
		"may ",
		"read+write",
		"sizeof($T)",
		"sizeof(arg3)",
		"result($F)",
		"argument($F, ",
		"arity($F)",
		"$T",
		"$F",
		"$_",
		"...",
		"min(",
		"max(",
		"%",
		"==",
		"<=",
		"t[",
		"]",
		"table t: 1, 2\n",
		"names s: f, g*\n",
		"size \"float\": 4\n",
		"functor \"F<$A>\": sizeof($A) ($A)\n",
		"@s",
		"\\*",
		"kernel \"void f<$T, $N>(*\" (8, *): ",
		"\"void $F<@s>($T...\"",
		"arg 1.(",
		"sync-by-memory",
		"atomic-ok",
		"\t",
		"\x80\xff",
		"4095",
		"32767",
		"\0",
	};
	unsigned rounds = RUNNING_ON_VALGRIND ? 600 : 60000;
	char text[512];

	for (size_t n = 0; n < sizeof(good); n++)
		feed(good, n);
	for (unsigned i = 0; i < rounds; i++) {
		size_t n = 0;

		setup();
		if (i % 3 == 0) { /* a good text, damaged */
			n = sizeof(good) - 1;
			memcpy(text, good, n);
			for (unsigned k = rnd(4) + 1; k; k--)
				text[rnd((unsigned)n)] =
					(char)(rnd(2) ? rnd(256)
						      : (unsigned)good[rnd(sizeof(good) - 1)]);
		} else { /* pieces of the language */
			n = (size_t)snprintf(text, sizeof(text),
					     i % 3 == 1 ? "kernel f: arg 1 read [0, " : "%s", "");
			for (unsigned k = rnd(24); k; k--) {
				const char *b = bits[rnd(sizeof(bits) / sizeof(*bits))];
				size_t len = *b ? strlen(b) : 1;

				if (n + len > sizeof(text))
					break;
				memcpy(text + n, b, len);
				n += len;
			}
		}
		feed(text, n);
	}
}

Test(kernels, lines_that_fit_nothing_are_told)
{
	static const char text[] =
		"kernel a*: arg 0 read\nkernel b: arg 0 read\nkernel c: ignore\n";
	const struct krt_kernels_line *l;
	char err[128];
	struct krt_kernels_file *f =
		krt_kernels_parse("t", text, sizeof(text) - 1, err, sizeof(err));

	cr_assert(f, "%s", err);
	cr_assert(krt_kernels_find(f, "abc", NULL, UNKNOWN));
	cr_assert_not(krt_kernels_find(f, "xyz", NULL, UNKNOWN));
	cr_assert(krt_kernels_find(f, "c", NULL, UNKNOWN));
	l = krt_kernels_unused(f, NULL);
	cr_assert(l);
	cr_assert_eq(krt_kernels_number(l), 2);
	cr_assert_not(krt_kernels_unused(f, l));
	krt_kernels_free(f);
}
