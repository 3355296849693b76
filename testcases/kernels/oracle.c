/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels of this folder against what is known of them: every kernel of
 * truth.txt runs on the simulator's interpreter in some random launches; the
 * addresses that it really accesses must be those of its truth, and what the
 * analysis says of the kernel must agree with both.
 *
 *   oracle [--shapes=N] [--seed=N] [--truth-only] [--strict] [--lie=N] [--list] [--unsure]
 *          [--random=N] TRUTH DIR [KERNEL...]
 *
 * DIR holds FILE.VARIANT.ptx; a kernel runs in each variant of its file.  The
 * same seed makes the same launches.  Exit code: 0, or 1 if something differs.
 *
 * --random: instead of these, N kernels drawn at random.
 *
 * The truth's format stands at its head.  A kernel is a list of lines that is
 * read anew for every launch: it draws the shape, lays out buffers and
 * parameters and says which bytes are accessed then.
 */
#define _GNU_SOURCE
#include "../sim/exec.h"
#include "oracle.h"
#include <ctype.h>
#include <fnmatch.h>
#include <glob.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GAP	   4096u /* around each buffer: what is accessed there is a mistake */
#define MAX_BUFFER ((size_t)1 << 22)
#define MAX_BUDGET 20000000u /* instructions of one launch */

struct kernel {
	char name[128], file[64];
	unsigned line, nlines;
	char **lines;
	bool norun;
};

static struct options {
	unsigned shapes, random;
	uint64_t seed;
	bool truth_only, strict, list, unsure, verbose;
	const char *truth, *dir;
	char **only;
	int nonly;
} opt = {.shapes = 20, .seed = 1};

static struct totals total;

/* ---- failures ---- */

static const char *where; /* what is being judged */
static bool unoptimised;  /* it is a variant of which not all can be known */
static unsigned shown;	  /* of this kernel */

static void fail(const char *fmt, va_list ap, bool ok)
{
	if (shown++ >= 6 && !opt.verbose)
		return;
	printf("  %s %s: ", ok ? "unsure" : "not ok", where);
	vprintf(fmt, ap);
	putchar('\n');
}

void oracle_fail(const char *fmt, ...)
{
	va_list ap;

	total.failed++;
	va_start(ap, fmt);
	fail(fmt, ap, false);
	va_end(ap);
}

static void fatal(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fprintf(stderr, "oracle: ");
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
	exit(2);
}

static void *get(size_t n)
{
	void *p = calloc(1, n ? n : 1);

	if (!p)
		fatal("out of memory");
	return p;
}

/* ---- random numbers ---- */

static uint64_t rng;

static uint64_t draw(void)
{
	uint64_t z = rng += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/* The ends more often than the rest: that is where guards are. */
static int64_t draw_between(int64_t lo, int64_t hi)
{
	uint64_t d = draw();

	if (hi <= lo)
		return lo;
	if (d % 8 == 0)
		return lo;
	if (d % 8 == 1)
		return hi;
	return lo + (int64_t)((d >> 8) % (uint64_t)(hi - lo + 1));
}

/* ---- one launch of one kernel ---- */

static struct launch {
	struct kernel *k;
	const struct ptx_func *f;
	struct exec_module *em;
	struct var {
		char name[24];
		int64_t value;
	} vars[48];
	unsigned nvars;
	struct oracle_launch o;
	const char *at; /* rest of the line being read */
	unsigned line;
	uint8_t *arena;
	size_t arena_used;
	uint8_t *heap; /* of the device's malloc */
	size_t heap_used;
} L;

void oracle_wide(unsigned excuse, const char *fmt, ...)
{
	va_list ap;

	total.wide++;
	if (!opt.strict && (unoptimised || L.o.flags & excuse))
		return;
	total.failed++;
	va_start(ap, fmt);
	fail(fmt, ap, false);
	va_end(ap);
}

void oracle_unsure(const char *fmt, ...)
{
	va_list ap;

	bool excused = unoptimised || L.o.flags & ORACLE_UNSURE;

	if (excused && !opt.unsure)
		return;
	total.failed += !excused;
	va_start(ap, fmt);
	fail(fmt, ap, excused);
	va_end(ap);
}

static void bad(const char *why)
{
	fatal("%s:%u: %s near \"%s\"", opt.truth, L.line, why, L.at);
}

static void blanks(void)
{
	while (*L.at == ' ' || *L.at == '\t')
		L.at++;
}

static bool next_is(const char *text)
{
	size_t n = strlen(text);

	blanks();
	if (strncmp(L.at, text, n))
		return false;
	if (isalnum((unsigned char)text[n - 1]) &&
	    (isalnum((unsigned char)L.at[n]) || L.at[n] == '_'))
		return false;
	L.at += n;
	return true;
}

static void word(char *to, size_t len)
{
	size_t n = 0;

	blanks();
	while (*L.at && !isspace((unsigned char)*L.at) && *L.at != ',') {
		if (n + 1 < len)
			to[n++] = *L.at;
		L.at++;
	}
	to[n] = 0;
	if (!n)
		bad("a word is missing");
}

static void set_var(const char *name, int64_t value)
{
	for (unsigned i = 0; i < L.nvars; i++)
		if (!strcmp(L.vars[i].name, name)) {
			L.vars[i].value = value;
			return;
		}
	if (L.nvars == sizeof(L.vars) / sizeof(L.vars[0]))
		bad("too many variables");
	snprintf(L.vars[L.nvars].name, sizeof(L.vars[0].name), "%s", name);
	L.vars[L.nvars++].value = value;
}

/* ---- expressions: those of C on 64-bit integers, with min, max and up (division rounded up) ----
 */

static int64_t expr(void);

static int64_t primary(void)
{
	char name[24];
	size_t n = 0;
	int64_t a, b;

	blanks();
	if (next_is("(")) {
		a = expr();
		if (!next_is(")"))
			bad("no )");
		return a;
	}
	if (next_is("-"))
		return -primary();
	if (next_is("!"))
		return !primary();
	if (isdigit((unsigned char)*L.at)) {
		char *end;

		a = strtoll(L.at, &end, 0);
		L.at = end;
		return a;
	}
	while (isalnum((unsigned char)L.at[n]) || L.at[n] == '_')
		n++;
	if (!n || n >= sizeof(name))
		bad("no expression");
	memcpy(name, L.at, n);
	name[n] = 0;
	L.at += n;
	if (!strcmp(name, "min") || !strcmp(name, "max") || !strcmp(name, "up")) {
		if (!next_is("("))
			bad("no (");
		a = expr();
		if (!next_is(","))
			bad("no ,");
		b = expr();
		if (!next_is(")"))
			bad("no )");
		if (name[1] == 'p')
			return b > 0 ? (a + b - 1) / b : 0;
		return (name[1] == 'i') == (a < b) ? a : b;
	}
	for (unsigned i = 0; i < L.nvars; i++)
		if (!strcmp(L.vars[i].name, name))
			return L.vars[i].value;
	L.at -= n;
	bad("no such variable");
	return 0;
}

static const struct binary {
	const char *text;
	int level;
} binaries[] = {
	{"||", 1}, {"&&", 2}, {"==", 3}, {"!=", 3}, {"<=", 4}, {">=", 4},
	{"<<", 5}, {">>", 5}, {"<", 4},	 {">", 4},  {"+", 6},  {"-", 6},
	{"*", 7},  {"/", 7},  {"%", 7},	 {"&", 2},  {"|", 2},
};

static int64_t apply(const char *op, int64_t a, int64_t b)
{
	switch (op[0]) {
	case '|':
		return op[1] ? a || b : a | b;
	case '&':
		return op[1] ? a && b : a & b;
	case '=':
		return a == b;
	case '!':
		return a != b;
	case '<':
		return op[1] == '=' ? a <= b : op[1] ? a << b : a < b;
	case '>':
		return op[1] == '=' ? a >= b : op[1] ? a >> b : a > b;
	case '+':
		return a + b;
	case '-':
		return a - b;
	case '*':
		return a * b;
	case '/':
		return b ? a / b : 0;
	default:
		return b ? a % b : 0;
	}
}

static int64_t binary(int level)
{
	int64_t a;

	if (level > 7)
		return primary();
	a = binary(level + 1);
again:
	for (size_t i = 0; i < sizeof(binaries) / sizeof(binaries[0]); i++) {
		blanks();
		if (binaries[i].level == level &&
		    !strncmp(L.at, binaries[i].text, strlen(binaries[i].text))) {
			const char *op = binaries[i].text;

			if (strlen(op) == 1 && L.at[1] == op[0] && op[0] != '-' && op[0] != '+')
				continue; /* < of << */
			L.at += strlen(op);
			a = apply(op, a, binary(level + 1));
			goto again;
		}
	}
	return a;
}

static int64_t expr(void)
{
	int64_t c = binary(1), a, b;

	if (!next_is("?"))
		return c;
	a = expr();
	if (!next_is(":"))
		bad("no :");
	b = expr();
	return c ? a : b;
}

/* ---- buffers ---- */

static struct oracle_buffer *buffer(const char *name)
{
	for (unsigned i = 0; i < L.o.nbuffers; i++)
		if (!strcmp(L.o.buffers[i].name, name))
			return &L.o.buffers[i];
	return NULL;
}

static struct oracle_buffer *add_buffer(const char *name, uint64_t base, size_t size)
{
	struct oracle_buffer *b = &L.o.buffers[L.o.nbuffers];

	if (L.o.nbuffers == ORACLE_BUFFERS)
		bad("too many buffers");
	memset(b, 0, sizeof(*b));
	snprintf(b->name, sizeof(b->name), "%s", name);
	b->base = base;
	b->size = size;
	b->want = get(size);
	b->seen = get(size);
	b->behind = -1;
	L.o.nbuffers++;
	return b;
}

/* A buffer, or (@glob) a variable of the module. */
static struct oracle_buffer *named_buffer(void)
{
	char name[64];
	struct oracle_buffer *b;

	word(name, sizeof(name));
	b = buffer(name);
	if (b)
		return b;
	if (name[0] == '@' && L.em) {
		for (unsigned i = 0; i < exec_globals(L.em); i++) {
			uint64_t addr;
			const struct ptx_var *v = exec_global_at(L.em, i, &addr);

			if (!fnmatch(name + 1, v->name, 0)) {
				b = add_buffer(name, addr, v->size);
				b->global = v->name;
				return b;
			}
		}
	} else if (name[0] == '@') {
		return add_buffer(name, 0, 0);
	}
	bad("no such buffer");
	return NULL;
}

static void fill(struct oracle_buffer *b)
{
	uint8_t *p = (uint8_t *)(uintptr_t)b->base;

	if (next_is("zero")) {
		memset(p, 0, b->size);
	} else if (next_is("below")) { /* below N WIDTH: integers */
		int64_t n = expr();
		int64_t width = next_is("wide") ? 8 : next_is("bytes") ? 1 : 4;

		for (size_t i = 0; i + (size_t)width <= b->size; i += (size_t)width) {
			uint64_t v = n > 0 ? draw() % (uint64_t)n : 0;

			memcpy(p + i, &v, (size_t)width);
		}
	} else if (next_is("ascending")) { /* to N: 32-bit integers, from 0, the last one N */
		int64_t n = expr(), v = 0;
		size_t count = b->size / 4;

		for (size_t i = 0; i < count; i++) {
			int32_t w = (int32_t)(i + 1 == count ? n : v);

			memcpy(p + 4 * i, &w, 4);
			v = draw_between(v, v + (n - v) / 2);
		}
	} else {
		for (size_t i = 0; i + 4 <= b->size; i += 4) {
			float v = (float)(int)(draw() % 64) / 8 - 2;

			memcpy(p + i, &v, 4);
		}
	}
}

static void do_buf(void)
{
	char name[24];
	int64_t size;
	struct oracle_buffer *b;

	word(name, sizeof(name));
	size = expr();
	if (size < 0 || (size_t)size > MAX_BUFFER ||
	    L.arena_used + (size_t)size + 3 * GAP > ORACLE_ARENA)
		bad("a buffer is too large");
	L.arena_used = (L.arena_used + GAP + 255) & ~(size_t)255;
	b = add_buffer(name, (uint64_t)(uintptr_t)(L.arena + L.arena_used), (size_t)size);
	L.arena_used += (size_t)size;
	fill(b);
}

/* TYPE VALUE: its bytes to `to`, which ends after `room`.  Returns the buffer that a pointer names.
 */
static struct oracle_buffer *value(uint8_t *to, size_t room, size_t *size)
{
	char type[16];
	struct oracle_buffer *b = NULL;
	uint64_t bits = 0;

	word(type, sizeof(type));
	if (!strcmp(type, "tex") || !strcmp(type, "surf")) { /* the handle of such an object */
		b = named_buffer();
		bits = 1;
		*size = 8;
	} else if (!strcmp(type, "ptr") || !strcmp(type, "end")) {
		b = named_buffer();
		bits = b->base;
		if (next_is("+"))
			bits += (uint64_t)expr();
		*size = 8;
		if (type[0] == 'e') /* nothing is accessed through it */
			b = NULL;
	} else if (!strcmp(type, "f32")) {
		float v = (float)expr();

		memcpy(&bits, &v, 4);
		*size = 4;
	} else if (!strcmp(type, "f64")) {
		double v = (double)expr();

		memcpy(&bits, &v, 8);
		*size = 8;
	} else if (!strcmp(type, "map")) { /* a tensor map of the buffer */
		b = named_buffer();
		*size = 128;
		if (room < 128)
			bad("does not fit");
		return b;
	} else {
		int n = atoi(type + 1);

		if (type[0] != 'i' || (n != 8 && n != 16 && n != 32 && n != 64))
			bad("no such type");
		bits = (uint64_t)expr();
		*size = (size_t)n / 8;
	}
	if (*size > room)
		bad("does not fit");
	memcpy(to, &bits, *size);
	return b;
}

/* arg ORDINAL[+OFFSET] TYPE VALUE */
static void do_arg(void)
{
	int64_t param = primary(), off = next_is("+") ? primary() : 0;
	const struct ptx_var *v;
	struct oracle_buffer *b;
	bool map, texture, surface;
	size_t size;

	if (param < 0 || param >= L.f->nparams)
		bad("no such parameter");
	v = L.f->params[param];
	if (off < 0 || (uint64_t)off > v->size)
		bad("outside the parameter");
	blanks();
	map = !strncmp(L.at, "map ", 4);
	texture = !strncmp(L.at, "tex ", 4);
	surface = !strncmp(L.at, "surf ", 5);
	b = value(L.o.params + v->offset + off, v->size - (uint64_t)off, &size);
	L.o.params_given[param] = true;
	if (!b)
		return;
	if (L.o.nslots == ORACLE_SLOTS)
		bad("too many slots");
	L.o.slots[L.o.nslots++] = (struct oracle_slot){
		.param = (uint32_t)param,
		.offset = (uint32_t)off,
		.buffer = (int)(b - L.o.buffers),
		.map = map,
		.texture = texture,
		.surface = surface,
	};
}

/* put BUFFER OFFSET TYPE VALUE: into memory, before the launch */
static void do_put(void)
{
	struct oracle_buffer *b = named_buffer(), *to;
	int64_t off = expr();
	size_t size;
	uint8_t scratch[128];
	uint8_t *at = b->base ? (uint8_t *)(uintptr_t)b->base + off : scratch;

	if (b->base && (off < 0 || (size_t)off > b->size))
		bad("outside the buffer");
	to = value(at, b->base ? b->size - (size_t)off : sizeof(scratch), &size);
	if (to && to != b)
		to->behind = (int)(b - L.o.buffers);
}

/* One piece of the truth; rows[d] times pitch[d] apart, the outermost last, each row longer by
 * grow. */
struct piece {
	int64_t lo, hi, step, width, grow, rows[3], pitch[3];
};

static void mark(struct oracle_buffer *b, unsigned kind, const struct piece *p, unsigned depth,
		 int64_t at, int64_t hi)
{
	if (depth) {
		for (int64_t r = 0; r < p->rows[depth - 1]; r++)
			mark(b, kind, p, depth - 1, at + r * p->pitch[depth - 1],
			     hi + r * (p->pitch[depth - 1] + p->grow));
		return;
	}
	for (; at < hi; at += p->step)
		for (int64_t k = 0; k < p->width; k++) {
			if (at + k < 0 || (size_t)(at + k) >= b->size)
				bad("outside the buffer");
			b->want[at + k] |= (uint8_t)kind;
		}
}

/* KIND BUFFER [LO .. HI [step N width N] [rows N pitch N]... [grow N] [data] | within LO .. HI |
 * sometimes] */
static void do_access(unsigned kind)
{
	struct oracle_buffer *b = named_buffer();
	struct piece p = {.step = 1, .width = 1};
	unsigned depth = 0;

	b->roles |= kind;
	blanks();
	if (!*L.at || next_is("sometimes")) {
		b->loose |= kind;
		b->unsure |= kind;
		for (size_t i = 0; i < b->size; i++)
			b->want[i] |= (uint8_t)kind;
		return;
	}
	if (next_is("within")) {
		b->loose |= kind;
		b->unsure |= kind;
	}
	p.lo = expr();
	if (!next_is(".."))
		bad("no ..");
	p.hi = expr();
	for (;;) {
		if (next_is("step")) {
			p.step = expr();
		} else if (next_is("width")) {
			p.width = expr();
		} else if (next_is("grow")) {
			p.grow = expr();
		} else if (next_is("rows") && depth < 3) {
			p.rows[depth] = expr();
			if (!next_is("pitch"))
				bad("no pitch");
			p.pitch[depth++] = expr();
		} else if (next_is("data")) {
			b->unsure |= kind;
		} else {
			break;
		}
	}
	if (p.step < 1)
		bad("no step");
	if (b->base)
		mark(b, kind, &p, depth, p.lo, p.hi);
}

static void dims(unsigned *d, const char *names)
{
	char name[3] = {names[0], 0, 0};

	for (unsigned i = 0; i < 3; i++) {
		int64_t v = 1;

		if (i == 0 || next_is(",")) {
			v = expr();
			if (next_is(".."))
				v = draw_between(v, expr());
		}
		if (v < 1)
			bad("an empty grid or block");
		d[i] = (unsigned)v;
		name[1] = "xyz"[i];
		set_var(name, v);
	}
}

/* any NAME = LO .. HI, any NAME in A, B, ... */
static void do_any(void)
{
	char name[24];

	word(name, sizeof(name));
	if (next_is("in")) {
		int64_t v[16];
		unsigned n = 0;

		do
			v[n++] = expr();
		while (n < 16 && next_is(","));
		set_var(name, v[draw() % n]);
	} else if (next_is("=")) {
		int64_t lo = expr();

		if (!next_is(".."))
			bad("no ..");
		set_var(name, draw_between(lo, expr()));
	} else {
		bad("in or =");
	}
}

static unsigned flags(void)
{
	unsigned f = 0;
	char name[32];

	for (blanks(); *L.at; blanks()) {
		word(name, sizeof(name));
#define FLAG(TEXT, BIT)                                                                            \
	if (!strcmp(name, TEXT))                                                                   \
		f |= BIT;                                                                          \
	else
		ORACLE_FLAGS
#undef FLAG
		bad("no such flag");
	}
	return f;
}

static void forget_launch(void)
{
	for (unsigned i = 0; i < L.o.nbuffers; i++) {
		free(L.o.buffers[i].want);
		free(L.o.buffers[i].seen);
	}
	memset(&L.o, 0, sizeof(L.o));
	L.nvars = 0;
	L.arena_used = 0;
	L.heap_used = 0;
}

static void one_line(const char *line)
{
	L.at = line;
	blanks();
	if (!*L.at)
		return;
	if (next_is("let")) {
		char name[24];

		word(name, sizeof(name));
		if (!next_is("="))
			bad("no =");
		set_var(name, expr());
	} else if (next_is("any")) {
		do_any();
	} else if (next_is("grid")) {
		dims(L.o.grid, "g");
	} else if (next_is("block")) {
		dims(L.o.block, "b");
	} else if (next_is("shared")) {
		L.o.shared = (size_t)expr();
	} else if (next_is("cooperative")) {
		L.o.cooperative = true;
	} else if (next_is("buf")) {
		do_buf();
		return; /* the rest is the filling's */
	} else if (next_is("arg")) {
		do_arg();
	} else if (next_is("put")) {
		do_put();
	} else if (next_is("none")) {
		named_buffer();
	} else if (next_is("read")) {
		do_access(ORACLE_READ);
	} else if (next_is("write")) {
		do_access(ORACLE_WRITE);
	} else if (next_is("atomic")) {
		do_access(ORACLE_ATOMIC);
	} else if (next_is("flags")) {
		L.o.flags |= flags();
	} else {
		bad("no such line");
	}
	if (L.o.grid[0] && L.o.block[0])
		set_var("T", (int64_t)L.o.grid[0] * L.o.block[0]);
	blanks();
	if (*L.at)
		bad("what is this");
}

static void prepare(struct kernel *k, unsigned shape)
{
	forget_launch();
	L.k = k;
	rng = opt.seed * 0x100000001b3u;
	for (const char *p = k->name; *p; p++)
		rng = (rng ^ (uint8_t)*p) * 0x100000001b3u;
	rng += shape;
	draw();
	for (unsigned i = 0; i < k->nlines; i++) {
		L.line = k->line + 1 + i;
		one_line(k->lines[i]);
	}
	for (uint32_t i = 0; i < L.f->nparams; i++)
		if (!L.o.params_given[i] && L.f->params[i]->size > 1)
			fatal("%s:%u: %s: parameter %u is not given", opt.truth, k->line, k->name,
			      i);
	L.o.params_size = L.f->param_bytes;
}

/* ---- running ---- */

/* Strings of printf and assert are the compiler's own. */
static bool in_strings(uint64_t addr, size_t size)
{
	for (unsigned i = 0; i < exec_globals(L.em); i++) {
		uint64_t base;
		const struct ptx_var *v = exec_global_at(L.em, i, &base);

		if (addr >= base && addr - base <= v->size && size <= v->size - (addr - base))
			return !strncmp(v->name, "$str", 4) || !strncmp(v->name, "__unnamed_", 10);
	}
	return false;
}

static bool touched(void *user, uint64_t addr, size_t size, unsigned access)
{
	unsigned kind = access & EXEC_ATOMIC  ? ORACLE_ATOMIC
			: access & EXEC_WRITE ? ORACLE_WRITE
					      : ORACLE_READ;
	static unsigned last;

	(void)user;
	for (unsigned n = 0; n < L.o.nbuffers; n++) {
		unsigned i = (last + n) % L.o.nbuffers;
		struct oracle_buffer *b = &L.o.buffers[i];

		if (addr >= b->base && addr - b->base <= b->size &&
		    size <= b->size - (addr - b->base)) {
			for (size_t k = 0; k < size; k++)
				b->seen[addr - b->base + k] |= (uint8_t)kind;
			b->done |= kind;
			last = i;
			return true;
		}
	}
	if (kind == ORACLE_READ && in_strings(addr, size))
		return true;
	if (L.heap && addr >= (uint64_t)(uintptr_t)L.heap &&
	    addr < (uint64_t)(uintptr_t)L.heap + L.heap_used)
		return true;
	return false;
}

static void *heap_alloc(void *user, size_t size)
{
	void *p = L.heap + L.heap_used;

	(void)user;
	size = (size + 15) & ~(size_t)15;
	if (L.heap_used + size > ORACLE_HEAP)
		return NULL;
	L.heap_used += size;
	return p;
}

static void heap_free(void *user, void *p)
{
	(void)user;
	(void)p;
}

static void no_print(void *user, const char *text, size_t len)
{
	(void)user;
	(void)text;
	(void)len;
}

static bool run(struct exec_func *f, unsigned shape)
{
	const struct exec_hooks hooks = {
		.mem_check = touched,
		.heap_alloc = heap_alloc,
		.heap_free = heap_free,
		.print = no_print,
	};
	struct exec_config c = {
		.shared = L.o.shared,
		.params = L.o.params,
		.params_size = L.o.params_size,
		.cooperative = L.o.cooperative,
		.seed = shape & 1 ? opt.seed + shape : 0,
	};
	struct exec_launch *x;
	enum exec_state s = EXEC_RUNNING;
	char err[256];

	memcpy(c.grid, L.o.grid, sizeof(c.grid));
	memcpy(c.block, L.o.block, sizeof(c.block));
	x = exec_begin(f, &c, &hooks, err, sizeof(err));
	if (!x) {
		oracle_fail("cannot be launched: %s", err);
		return false;
	}
	while (s == EXEC_RUNNING && exec_instructions(x) < MAX_BUDGET)
		s = exec_step(x, 1000);
	if (s != EXEC_DONE) {
		const struct exec_fault *t = exec_launch_fault(x);
		const struct oracle_buffer *near = NULL;

		for (unsigned i = 0; i < L.o.nbuffers; i++)
			if (t->addr + GAP >= L.o.buffers[i].base)
				near = &L.o.buffers[i];
		if (s == EXEC_RUNNING && opt.random)
			; /* loops within loops: a pity */
		else if (s == EXEC_RUNNING)
			oracle_fail("does not end");
		else
			oracle_fail("fault %d at line %u (%s): %zu bytes at %s%+lld (of %zu)",
				    t->kind, t->line, t->inst ? t->inst : "", t->size,
				    near ? near->name : "?",
				    near ? (long long)(t->addr - near->base) : 0ll,
				    near ? near->size : 0);
	}
	exec_end(x);
	return s == EXEC_DONE;
}

static const char *kind_name(unsigned kind)
{
	return kind == ORACLE_READ ? "read" : kind == ORACLE_WRITE ? "write" : "atomic";
}

const char *oracle_shape(const struct oracle_launch *o)
{
	static char text[512];
	int n = snprintf(text, sizeof(text), "grid %u,%u,%u block %u,%u,%u", o->grid[0], o->grid[1],
			 o->grid[2], o->block[0], o->block[1], o->block[2]);

	for (unsigned i = 0; i < L.nvars && n > 0 && n < (int)sizeof(text); i++)
		if (strlen(L.vars[i].name) != 2 || !strchr("gb", L.vars[i].name[0]))
			n += snprintf(text + n, sizeof(text) - (size_t)n, " %s=%lld",
				      L.vars[i].name, (long long)L.vars[i].value);
	return text;
}

/* What was done against the truth. */
static void judge_truth(void)
{
	for (unsigned i = 0; i < L.o.nbuffers; i++) {
		struct oracle_buffer *b = &L.o.buffers[i];

		for (unsigned kind = 1; kind <= ORACLE_ATOMIC; kind <<= 1) {
			bool reported = false;

			for (size_t at = 0; at < b->size && !reported; at++) {
				bool w = b->want[at] & kind, s = b->seen[at] & kind;

				if (w == s || (w && (b->loose & kind)))
					continue;
				oracle_fail("%s of %s at byte %zu of %zu %s (%s)", kind_name(kind),
					    b->name, at, b->size,
					    s ? "is not in the truth" : "did not happen",
					    oracle_shape(&L.o));
				reported = true;
			}
		}
	}
}

/* ---- a kernel in one variant ---- */

static struct ptx_module *load(const char *path)
{
	FILE *f = fopen(path, "r");
	struct ptx_error pe;
	struct ptx_module *m;
	size_t len, room = (size_t)1 << 20;
	char *text = get(room);

	if (!f)
		fatal("%s cannot be read", path);
	len = fread(text, 1, room, f);
	fclose(f);
	m = ptx_parse(text, len, &pe);
	if (!m)
		fatal("%s:%u: %s", path, pe.line, pe.what);
	free(text);
	return m;
}

static struct ptx_func *entry(struct ptx_module *m, const char *name)
{
	for (uint32_t i = 0; i < ptx_module_funcs(m); i++) {
		struct ptx_func *f = ptx_module_func(m, i);

		if (f->entry && !fnmatch(name, f->name, 0))
			return f;
	}
	return NULL;
}

static bool one_variant(struct kernel *k, struct ptx_module *m, const char *variant)
{
	unsigned before = total.failed, roles_done[ORACLE_BUFFERS] = {0};
	char what[256], err[256];
	struct oracle_flow *flow;

	snprintf(what, sizeof(what), "%s (%s.%s)", k->name, k->file, variant);
	where = what;
	unoptimised = strstr(variant, "-O0");
	shown = 0;
	L.f = entry(m, k->name);
	if (!L.f) {
		oracle_fail("no such kernel");
		return false;
	}
	L.em = k->norun ? NULL : exec_load(&m, 1, NULL, err, sizeof(err));
	if (k->norun && !exec_check_module(m, err, sizeof(err)))
		oracle_fail("the interpreter takes it: norun is no longer true");
	if (!L.em && !k->norun) {
		oracle_fail("%s", err);
		return false;
	}
	flow = opt.truth_only ? NULL : oracle_flow_new(m, L.f->name);
	prepare(k, 0);
	if (flow)
		oracle_flow_roles(flow, &L.o, &total);
	for (unsigned s = 0; s < opt.shapes && L.em; s++) {
		prepare(k, s);
		if (!run(exec_function(L.em, L.f->name), s))
			break;
		total.launches++;
		judge_truth();
		for (unsigned i = 0; i < L.o.nbuffers; i++)
			roles_done[i] |= L.o.buffers[i].done;
		if (flow)
			oracle_flow_ranges(flow, &L.o, &total);
	}
	/* A role that no launch shows is no truth. */
	for (unsigned i = 0; i < L.o.nbuffers && L.em && opt.shapes >= 20; i++)
		if (L.o.buffers[i].roles & ~roles_done[i])
			oracle_fail("no launch had a %s of %s",
				    kind_name(L.o.buffers[i].roles & ~roles_done[i]),
				    L.o.buffers[i].name);
	oracle_flow_free(flow);
	forget_launch();
	if (L.em)
		exec_unload(L.em);
	return total.failed == before;
}

/* Kernels drawn at random: nothing is known of them but what they do. */
static void random_kernels(unsigned n)
{
	static char *lines[] = {
		"any gx = 1 .. 4",
		"any gy = 1 .. 2",
		"any bx = 1 .. 40",
		"any by = 1 .. 3",
		"grid gx, gy",
		"block bx, by",
		"any n = -20 .. 200",
		"any m = -3 .. 1100",
		"any k in 0, 1, 2, 5, 32, -1, 1 << 30",
		"buf a 4096 below 100",
		"buf b 4096 below 9",
		"arg 0 ptr a",
		"arg 1 ptr b",
		"arg 2 i32 n",
		"arg 3 i32 m",
		"arg 4 i32 k",
		"read a",
		"read b",
		"write a",
		"write b",
		"atomic a",
		"atomic b",
	};
	struct kernel k = {
		.name = "drawn", .lines = lines, .nlines = sizeof(lines) / sizeof(lines[0])};

	for (unsigned i = 0; i < n; i++) {
		uint64_t seed = opt.seed * 1000003u + i;
		char *text = oracle_random_ptx(seed), what[64], err[256];
		struct ptx_error pe;
		struct ptx_module *m = ptx_parse(text, strlen(text), &pe);
		struct oracle_flow *flow;
		unsigned before = total.failed;

		snprintf(what, sizeof(what), "drawn kernel %u of seed %llu", i,
			 (unsigned long long)opt.seed);
		where = what;
		shown = 0;
		if (!m)
			fatal("%s: line %u: %s\n%s", what, pe.line, pe.what, text);
		L.em = exec_load(&m, 1, NULL, err, sizeof(err));
		if (!L.em)
			fatal("%s: %s\n%s", what, err, text);
		L.f = entry(m, "drawn");
		flow = opt.truth_only ? NULL : oracle_flow_new(m, "drawn");
		for (unsigned s = 0; s < opt.shapes; s++) {
			prepare(&k, s);
			if (!run(exec_function(L.em, "drawn"), s))
				break;
			total.launches++;
			if (flow)
				oracle_flow_ranges(flow, &L.o, &total);
		}
		if (total.failed != before && opt.verbose)
			printf("%s\n", text);
		oracle_flow_free(flow);
		forget_launch();
		exec_unload(L.em);
		ptx_free(m);
		free(text);
		total.kernels++;
		total.run++;
		total.variants++;
	}
}

static bool wanted(const char *name)
{
	for (int i = 0; i < opt.nonly; i++)
		if (!fnmatch(opt.only[i], name, 0))
			return true;
	return !opt.nonly;
}

/* Every entry of a file has its truth. */
static void complete(const struct ptx_module *m, const struct kernel *ks, unsigned n,
		     const char *path)
{
	where = path;
	shown = 0;
	for (uint32_t i = 0; i < ptx_module_funcs(m); i++) {
		const struct ptx_func *f = ptx_module_func(m, i);
		bool found = !f->entry;

		for (unsigned k = 0; k < n && !found; k++)
			found = !fnmatch(ks[k].name, f->name, 0);
		if (!found)
			oracle_fail("%s has no truth", f->name);
	}
}

static void one_file(struct kernel *ks, unsigned n)
{
	char pattern[512];
	glob_t g = {0};

	snprintf(pattern, sizeof(pattern), "%s/%s.*.ptx", opt.dir, ks->file);
	if (glob(pattern, 0, NULL, &g))
		fatal("no %s", pattern);
	for (size_t i = 0; i < g.gl_pathc; i++) {
		struct ptx_module *m = load(g.gl_pathv[i]);
		char variant[64];

		snprintf(variant, sizeof(variant), "%s",
			 strrchr(g.gl_pathv[i], '/') + strlen(ks->file) + 2);
		*strrchr(variant, '.') = 0;
		total.modules++;
		if (!opt.nonly)
			complete(m, ks, n, g.gl_pathv[i]);
		for (unsigned k = 0; k < n; k++) {
			if (!wanted(ks[k].name))
				continue;
			bool good = one_variant(&ks[k], m, variant);

			total.variants++;
			if (i == 0) {
				total.kernels++;
				total.run += !ks[k].norun;
			}
			if (opt.verbose)
				printf("  %s %s (%s.%s)\n", good ? "ok" : "NOT OK", ks[k].name,
				       ks[k].file, variant);
		}
		ptx_free(m);
	}
	globfree(&g);
}

/* ---- the truth's text ---- */

static struct kernel *read_truth(const char *path, unsigned *count)
{
	FILE *f = fopen(path, "r");
	char *line = NULL;
	size_t cap = 0;
	struct kernel *ks = get(512 * sizeof(*ks)), *k = NULL;
	unsigned n = 0, number = 0;

	if (!f)
		fatal("%s cannot be read", path);
	while (getline(&line, &cap, f) >= 0) {
		char *end = strchr(line, '#');

		number++;
		if (!end)
			end = line + strlen(line);
		while (end > line && isspace((unsigned char)end[-1]))
			end--;
		*end = 0;
		if (!strncmp(line, "kernel ", 7)) {
			char more[16] = "";

			if (n == 512)
				fatal("too many kernels");
			k = &ks[n++];
			if (sscanf(line, "kernel %127s in %63s %15s", k->name, k->file, more) < 2)
				fatal("%s:%u: kernel NAME in FILE", path, number);
			k->norun = !strcmp(more, "norun");
			k->line = number;
			k->lines = get(64 * sizeof(*k->lines));
			continue;
		}
		if (!k) {
			if (*line)
				fatal("%s:%u: no kernel yet", path, number);
			continue;
		}
		if (k->nlines == 64)
			fatal("%s:%u: too many lines", path, number);
		k->lines[k->nlines++] = strdup(line);
	}
	free(line);
	fclose(f);
	*count = n;
	return ks;
}

int main(int argc, char **argv)
{
	struct kernel *ks;
	unsigned n, i, end;
	int a = 1;

	for (; a < argc && !strncmp(argv[a], "--", 2); a++) {
		if (!strncmp(argv[a], "--shapes=", 9))
			opt.shapes = (unsigned)atoi(argv[a] + 9);
		else if (!strncmp(argv[a], "--seed=", 7))
			opt.seed = strtoull(argv[a] + 7, NULL, 0);
		else if (!strcmp(argv[a], "--truth-only"))
			opt.truth_only = true;
		else if (!strcmp(argv[a], "--strict"))
			opt.strict = true;
		else if (!strncmp(argv[a], "--random=", 9))
			opt.random = (unsigned)atoi(argv[a] + 9);
		else if (!strncmp(argv[a], "--lie=", 6))
			oracle_lie = (unsigned)atoi(argv[a] + 6);
		else if (!strcmp(argv[a], "--list"))
			opt.list = true;
		else if (!strcmp(argv[a], "--unsure"))
			opt.unsure = true;
		else if (!strcmp(argv[a], "--verbose"))
			opt.verbose = true;
		else
			fatal("no option %s", argv[a]);
	}
	if (argc - a < 2)
		fatal("oracle [--shapes=N] [--seed=N] [--truth-only] [--strict] [--list] "
		      "[--unsure] [--verbose] TRUTH DIR [KERNEL...]");
	opt.truth = argv[a];
	opt.dir = argv[a + 1];
	opt.only = argv + a + 2;
	opt.nonly = argc - a - 2;
	ks = read_truth(opt.truth, &n);
	if (opt.list) {
		for (i = 0; i < n; i++)
			printf("%s %s%s\n", ks[i].name, ks[i].file, ks[i].norun ? " norun" : "");
		return 0;
	}
	/* Whole pages: masks of addresses do the same in every run. */
	L.arena = aligned_alloc(GAP, ORACLE_ARENA);
	if (!L.arena)
		fatal("out of memory");
	memset(L.arena, 0, ORACLE_ARENA);
	L.heap = get(ORACLE_HEAP);
	random_kernels(opt.random);
	for (i = 0; i < n && !opt.random; i = end) {
		for (end = i; end < n && !strcmp(ks[end].file, ks[i].file); end++)
			;
		one_file(ks + i, end - i);
	}
	printf("%s %u kernels (%u of them run), %u with their variants, %u launches",
	       total.failed ? "FAILED" : "ok", total.kernels, total.run, total.variants,
	       total.launches);
	if (!opt.truth_only)
		oracle_flow_summary(&total);
	if (total.failed)
		printf("; %u mistakes", total.failed);
	putchar('\n');
	for (i = 0; i < n; i++) {
		for (unsigned l = 0; l < ks[i].nlines; l++)
			free(ks[i].lines[l]);
		free(ks[i].lines);
	}
	free(ks);
	free(L.arena);
	free(L.heap);
	return total.failed != 0;
}
