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
#define A 0x7f0000001000ull
#define B 0x7f0000200000ull
#define P 0x7f0000300000ull
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
	static const struct { const char *text; uint64_t value;
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
	static const struct { const char *pattern, *name; bool fits;
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
	const char *text =
		"# kernels of the test\r\n"
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
	static const struct { const char *clause, *why;
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

	for (unsigned i = 0; i < sizeof(u) / sizeof(*u); i++) {
		char text[160];

		snprintf(text, sizeof(text), "kernel f: %s", u[i].clause);
		cr_assert_eq(match(text, "f"), KRT_KERNELS_USELESS, "%s", text);
		cr_assert_eq(t.n, 0);
		f = parse(text);
		cr_assert_str_eq(krt_kernels_why(krt_kernels_find(f, "f", NULL, UNKNOWN), &t.l), u[i].why, "%s",
				 text);
		krt_kernels_free(f);
	}
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
	static const struct { const char *text, *message;
	} m[] = {
		{"kernle f: ignore",
		 "f.kernels:1: line: \"kernel NAME: ...\" is expected, not \"kernle\""},
		{"\n\nkernel", "f.kernels:3: kernel: a name is missing"},
		{"kernel :ignore", "f.kernels:1: kernel: a name is expected, not \":ignore\""},
		{"kernel \"f: ignore\n", "f.kernels:1: kernel: the name lacks its closing quote"},
		{"kernel f ignore",
		 "f.kernels:1: kernel f: : is expected behind the name, not \"ignore\""},
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
		 "f.kernels:1: arg 0: a range is [FROM, TO): ) is expected, not \"]\""},
		{"kernel f: arg 0 read [0 4)",
		 "f.kernels:1: arg 0: a range is [FROM, TO): a comma is expected, "
		 "not \"4)\""},
		{"kernel f: arg 0 read [0, 4*)",
		 "f.kernels:1: arg 0: a number, argN, gridx..z, blockx..z or ( is "
		 "expected, not \")\""},
		{"kernel f: arg 0 read [0, (4)",
		 "f.kernels:1: arg 0: a range is [FROM, TO): ) is expected, not "
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

/* --- any text at all ---------------------------------------------------------------------- */

static uint64_t seed = 88172645463325252ull;

static unsigned rnd(unsigned n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned)((seed >> 11) % n);
}

static void feed(const char *text, size_t len)
{
	/* a copy of its own size, so that a read beyond it shows */
	char *copy = malloc(len ? len : 1);
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
	krt_kernels_match(f, rnd(2) ? "f" : "g", &t.l, collect, NULL);
	free(params);
	krt_kernels_free(f);
}

Test(kernels, fuzz)
{
	static const char good[] =
		"# c\nkernel f: arg 1 read [0, 4*(arg0+blockx)-1), arg 3.8 write [arg3.16:4, "
		"gridx/2), ignore\n"
		"kernel \"g h\": arg 2 atomic [0x10, 0x20)\\\n, arg 0 read\nkernel *: ignore\n";
	static const char *const bits[] = {
		"kernel ", "arg",      "arg 1",
		"read",	   "write",    "atomic",
		"ignore",  "[0, ",     ")",
		"(",	   "((((((((", "4*",
		"+",	   "-",	       "/",
		"gridx",   "blockz",   ".8",
		":4",	   "0x",       "18446744073709551615",
		"\"",	   "*",	       "?",
		"\\\n",	   "\\\r\n",   "\\",
		"\n",	   "\r",       "#",
		",",	   ": ",       " ",
		"\t",	   "\x80\xff", "4095",
		"32767",   "\0",
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
	static const char text[] = "kernel a*: arg 0 read\nkernel b: arg 0 read\nkernel c: ignore\n";
	const struct krt_kernels_line *l;
	char err[128];
	struct krt_kernels_file *f = krt_kernels_parse("t", text, sizeof(text) - 1, err, sizeof(err));

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
