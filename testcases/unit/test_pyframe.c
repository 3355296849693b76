/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Python frames: line tables of each version, damaged ones, and their place among
 * the native frames of a stack.
 */
#include <criterion/criterion.h>

#include "analyzer/pyframe.h"
#include "rec_build.h"

static const struct {
	unsigned kind, first;
	size_t len, n;
	uint8_t table[512];
	unsigned line[512]; /* of each two bytes of instructions */
} tables[] = {
#include "pyline_tables.h"
};
#define TABLES (sizeof(tables) / sizeof(*tables))

Test(pyframe, lines)
{
	cr_assert_eq(TABLES, 6, "a table of each version");
	for (unsigned t = 0; t < TABLES; t++)
		for (unsigned i = 0; i < tables[t].n; i++)
			cr_assert_eq(krt_pyframe_line(tables[t].kind, tables[t].table,
						      tables[t].len, tables[t].first, 2 * i),
				     tables[t].line[i], "table %u, offset %u: not line %u", t,
				     2 * i, tables[t].line[i]);
}

/* Cut short, or nonsense: some line, and nothing behind the table is read (run under valgrind). */
Test(pyframe, damaged)
{
	unsigned state = 1;

	for (unsigned t = 0; t < TABLES; t++)
		for (size_t len = 0; len <= tables[t].len; len++) {
			uint8_t *copy = malloc(len ? len : 1);

			memcpy(copy, tables[t].table, len);
			for (unsigned kind = 0; kind < 5; kind++)
				krt_pyframe_line(kind, copy, len, 1, 0x7fffffff);
			for (size_t i = 0; i < len; i++) {
				state = state * 1103515245 + 12345;
				copy[i] ^= (uint8_t)(state >> 16);
			}
			for (unsigned kind = 0; kind < 5; kind++)
				krt_pyframe_line(kind, copy, len, 1, 60);
			free(copy);
		}
	cr_assert_eq(krt_pyframe_line(KRT_LINES_NONE, NULL, 0, 7, 10), 7);
	cr_assert_eq(
		krt_pyframe_line(KRT_LINES_LNOTAB, (const uint8_t[]){0, 0x80, 0, 0x80}, 4, 1, 0), 0,
		"no line lies before the first");
}

static void code(struct world *w, uint32_t id, const char *file, const char *name)
{
	struct {
		struct krt_rec_code r;
		char text[64];
	} u = {.r = {.h = {.size = sizeof(u), .kind = KRT_REC_CODE},
		     .id = id,
		     .first_line = 10,
		     .lines_len = 4,
		     .lines = KRT_LINES_LNOTAB}};
	char *at = u.r.data;

	u.r.file_len = (uint16_t)strlen(file);
	u.r.name_len = (uint16_t)strlen(name);
	memcpy(at, "\x04\x01\x04\x01", 4);
	memcpy(at + 4, file, u.r.file_len);
	memcpy(at + 4 + u.r.file_len, name, u.r.name_len);
	krt_engine_feed(w->e, &u.r.h, sizeof(u), 0);
}

static void python_stack(struct world *w, uint32_t id, uint16_t n, uint16_t said)
{
	struct {
		struct krt_rec_stack r;
		uint64_t pc[4];
		struct krt_rec_pyframe f[4];
	} u = {.r = {.h = {.kind = KRT_REC_STACK}, .id = id, .depth = 4, .python = said},
	       .pc = {0x100, 0x200, 0x300, 0x400},
	       .f = {{1, 0, 1}, {2, 4, 1}, {3, 9, 2}, {2, 0, 4}}};

	u.r.h.size = (uint32_t)(sizeof(u.r) + sizeof(u.pc) + n * sizeof(u.f[0]));
	krt_engine_feed(w->e, &u.r.h, u.r.h.size, 0);
}

/* A race of two sets by these stacks. */
static struct krt_report *race(struct world *w, uint32_t one, uint32_t two)
{
	thread(w, 1, 1);
	context(w, 0xc0, 0, true);
	call_begin(w, KRT_API_cuMemAlloc_v2, A(1), A(4096));
	call_out(w, 0, DEV);
	call_end(w, 0);
	w->stack = one;
	call(w, cuMemsetD8Async, A(DEV), A(0), A(64), A(0x51));
	w->stack = two;
	call(w, cuMemsetD8Async, A(DEV), A(0), A(64), A(0x52));
	return world_report(w);
}

static bool is(const struct krt_frame *f, const char *name, unsigned line)
{
	return f->python && !f->pc && !strcmp(f->function, name) && !strcmp(f->file, "p.py") &&
	       f->line == line;
}

Test(pyframe, places)
{
	struct krt_report *r;
	struct world w;
	const struct krt_stack *s;

	world_open(&w, NULL);
	code(&w, 1, "p.py", "inner");
	code(&w, 2, "p.py", "outer");
	code(&w, 3, "p.py", "main");
	python_stack(&w, 7, 4, 4);
	python_stack(&w, 8, 3, 4); /* says more than it holds */
	r = race(&w, 8, 7);
	cr_assert(r && r->nfindings == 1);
	s = &r->finding[0].current.stack;
	cr_assert_eq(s->depth, 8);
	cr_assert_eq(s->frame[0].pc, 0x100);
	cr_assert(is(&s->frame[1], "inner", 10));
	cr_assert(is(&s->frame[2], "outer", 11), "one call of the interpreter ran both");
	cr_assert(s->frame[3].pc == 0x200 && s->frame[3].internal && !s->frame[0].internal);
	cr_assert(is(&s->frame[4], "main", 12));
	cr_assert(s->frame[5].pc == 0x300 && s->frame[5].internal);
	cr_assert(s->frame[6].pc == 0x400 && !s->frame[6].internal);
	cr_assert(is(&s->frame[7], "outer", 10), "run by none of the native frames: behind them");
	s = &r->finding[0].previous.stack;
	cr_assert_eq(s->depth, 4);
	krt_report_destroy(r);
	krt_engine_destroy(w.e);
}

/* Names, and lengths that are not there. */
Test(pyframe, codes)
{
	struct {
		struct krt_rec_code r;
		char text[16];
	} u = {.r = {.h = {.size = sizeof(u), .kind = KRT_REC_CODE}}};
	struct krt_report *r;
	struct world w;

	world_open(&w, NULL);
	u.r.id = 1;
	u.r.lines_len = 17;
	krt_engine_feed(w.e, &u.r.h, sizeof(u), 0);
	u.r.lines_len = 8;
	u.r.file_len = 8;
	u.r.name_len = 1;
	krt_engine_feed(w.e, &u.r.h, sizeof(u), 0);
	krt_engine_feed(w.e, &u.r.h, sizeof(u.r) - 8, 0);
	code(&w, 2, "", "");
	code(&w, 3, "p.py", "main");
	code(&w, 3, "p.py", "again");
	python_stack(&w, 7, 4, 4);
	r = race(&w, 7, 7);
	cr_assert(r && r->nfindings == 1);
	cr_assert(r->finding[0].current.stack.frame[1].python,
		  "of an unknown code: nothing but that");
	cr_assert_null(r->finding[0].current.stack.frame[1].function);
	cr_assert_null(r->finding[0].current.stack.frame[2].file);
	cr_assert(is(&r->finding[0].current.stack.frame[4], "main", 12));
	krt_report_destroy(r);
	krt_engine_destroy(w.e);
}

Test(pyframe, notice)
{
	struct krt_rec_mark m = {.h = {.size = sizeof(m), .kind = KRT_REC_MARK},
				 .mark = KRT_MARK_PYTHON};
	struct krt_report *r;
	struct world w;

	world_open(&w, NULL);
	m.value = 0x030e00 | KRT_PYTHON_UNKNOWN;
	krt_engine_feed(w.e, &m.h, sizeof(m), 0);
	r = race(&w, 0, 0);
	cr_assert(r);
	cr_assert_str_eq(r->process[0].coverage.python,
			 "3.14: this version's frames are not known");
	krt_report_destroy(r);
	krt_engine_destroy(w.e);
}
