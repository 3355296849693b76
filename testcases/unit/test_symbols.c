/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of stack frames: this very program is the object that is looked at.
 */
#define _GNU_SOURCE
#include "analyzer/symbols.h"
#include "interposer/record.h"

#include <criterion/criterion.h>
#include <elf.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct krt_rec_module *self;
static size_t self_len;

static int find_self(struct dl_phdr_info *info, size_t size, void *data)
{
	struct krt_rec_module *m = data;

	(void)size;
	m->bias = info->dlpi_addr;
	m->base = UINT64_MAX;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];

		if (ph->p_type == PT_LOAD) {
			uint64_t from = info->dlpi_addr + ph->p_vaddr, to = from + ph->p_memsz;

			m->base = from < m->base ? from : m->base;
			m->end = to > m->end ? to : m->end;
		} else if (ph->p_type == PT_NOTE) {
			const char *at = (const char *)(info->dlpi_addr + ph->p_vaddr),
				   *end = at + ph->p_memsz;

			while (at + sizeof(ElfW(Nhdr)) <= end) {
				const ElfW(Nhdr) *n = (const void *)at;
				const char *desc = at + sizeof(*n) + ((n->n_namesz + 3) & ~3u);

				if (n->n_type == NT_GNU_BUILD_ID && n->n_namesz == 4 &&
				    n->n_descsz <= 20) {
					memcpy(m->build_id, desc, n->n_descsz);
					m->build_id_len = (uint8_t)n->n_descsz;
				}
				at = desc + ((n->n_descsz + 3) & ~3u);
			}
		}
	}
	return 1; /* the program comes first */
}

static void setup(void)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path));

	cr_assert_gt(n, 0);
	self_len = (sizeof(*self) + (size_t)n + 7) & ~(size_t)7;
	self = calloc(1, self_len);
	self->h = (struct krt_rec){ .kind = KRT_REC_MODULE, .size = (uint32_t)self_len };
	self->path_len = (uint16_t)n;
	memcpy(self->path, path, (size_t)n);
	dl_iterate_phdr(find_self, self);
}

static void teardown(void)
{
	free(self);
}

TestSuite(symbols, .init = setup, .fini = teardown);

static uint64_t pc_outer, pc_inlined;
static unsigned line_outer, line_inlined, line_call;

__attribute__((noinline, noclone)) static uint64_t return_address(void)
{
	__asm__ volatile("" ::: "memory"); /* two calls stay two calls */
	return (uint64_t)__builtin_return_address(0);
}

__attribute__((always_inline)) static inline void inlined_callee(void)
{
	pc_inlined = return_address(); line_inlined = __LINE__;
}

__attribute__((noinline)) static void outer_function(void)
{
	pc_outer = return_address(); line_outer = __LINE__;
	inlined_callee(); line_call = __LINE__;
}

static struct krt_stack one(struct krt_frame *f, uint64_t pc)
{
	memset(f, 0, sizeof(*f));
	f->pc = pc;
	return (struct krt_stack){ .depth = 1, .frame = f };
}

Test(symbols, function_file_and_line)
{
	struct krt_symbols *s = krt_symbols_new("");
	struct krt_arena *a = krt_arena_new();
	struct krt_frame f;
	struct krt_stack st;

	outer_function();
	cr_assert_eq(krt_symbols_module(s, 3, self, self_len), 0);
	st = one(&f, pc_outer);
	krt_symbols_stack(s, 3, &st, a);
	cr_assert_eq(st.depth, 1);
	cr_assert_str_eq(st.frame[0].function, "outer_function");
	cr_assert(strstr(st.frame[0].file, "testcases/unit/test_symbols.c"), "%s",
		  st.frame[0].file);
	cr_assert_eq(st.frame[0].line, line_outer);
	cr_assert_eq(st.frame[0].offset, pc_outer - self->bias);
	cr_assert_not(st.frame[0].internal);
	/* another process: not its module */
	st = one(&f, pc_outer);
	krt_symbols_stack(s, 4, &st, a);
	cr_assert_null(st.frame[0].module);
	cr_assert_null(st.frame[0].function);
	krt_symbols_destroy(s);
	krt_arena_destroy(a);
}

Test(symbols, inlined_calls_are_frames)
{
	struct krt_symbols *s = krt_symbols_new("");
	struct krt_arena *a = krt_arena_new();
	struct krt_frame f[2];
	struct krt_stack st;

	outer_function();
	krt_symbols_module(s, 0, self, self_len);
	memset(f, 0, sizeof(f));
	f[0].pc = pc_inlined;
	f[1].pc = pc_outer;
	st = (struct krt_stack){ .depth = 2, .frame = f };
	krt_symbols_stack(s, 0, &st, a);
	cr_assert_eq(st.depth, 3);
	cr_assert_str_eq(st.frame[0].function, "inlined_callee");
	cr_assert_eq(st.frame[0].line, line_inlined);
	cr_assert_str_eq(st.frame[1].function, "outer_function");
	cr_assert_eq(st.frame[1].line, line_call);
	cr_assert(st.frame[1].file && strstr(st.frame[1].file, "test_symbols.c"));
	cr_assert_str_eq(st.frame[2].function, "outer_function");
	cr_assert_eq(st.frame[2].line, line_outer);
	krt_symbols_destroy(s);
	krt_arena_destroy(a);
}

Test(symbols, a_replaced_file_is_not_believed)
{
	struct krt_symbols *s = krt_symbols_new("");
	struct krt_arena *a = krt_arena_new();
	struct krt_frame f;
	struct krt_stack st;

	outer_function();
	cr_assert_gt(self->build_id_len, 0);
	self->build_id[3] ^= 1;
	krt_symbols_module(s, 0, self, self_len);
	st = one(&f, pc_outer);
	krt_symbols_stack(s, 0, &st, a);
	cr_assert(st.frame[0].module);
	cr_assert_null(st.frame[0].function);
	cr_assert_null(st.frame[0].file);
	krt_symbols_destroy(s);
	krt_arena_destroy(a);
}

Test(symbols, objects_that_are_no_objects)
{
	static const char *const path[] = {"/nonexistent", "/dev/zero", "/etc/passwd",
					   "/tmp",	   "[vdso]",	""};
	struct krt_symbols *s = krt_symbols_new("");
	struct krt_arena *a = krt_arena_new();
	struct krt_frame f;
	struct krt_stack st;

	for (unsigned i = 0; i < sizeof(path) / sizeof(*path); i++) {
		size_t n = strlen(path[i]), len = (sizeof(*self) + n + 7) & ~(size_t)7;
		struct krt_rec_module *m = calloc(1, len);

		m->base = 0x1000 * (i + 1);
		m->end = m->base + 0x1000;
		m->path_len = (uint16_t)n;
		memcpy(m->path, path[i], n);
		cr_assert_eq(krt_symbols_module(s, 0, m, len), 0);
		free(m);
		st = one(&f, 0x1000 * (i + 1) + 16);
		krt_symbols_stack(s, 0, &st, a);
		cr_assert_eq(st.depth, 1);
		cr_assert_str_eq(st.frame[0].module, path[i]);
		cr_assert_null(st.frame[0].function);
	}
	cr_assert_lt(krt_symbols_module(s, 0, self, sizeof(*self) - 8), 0,
		     "a record that is too short");
	krt_symbols_destroy(s);
	krt_arena_destroy(a);
}

Test(symbols, a_later_module_at_the_same_place)
{
	struct krt_symbols *s = krt_symbols_new("");
	struct krt_arena *a = krt_arena_new();
	struct krt_rec_module *m = calloc(1, self_len);
	struct krt_frame f;
	struct krt_stack st;

	outer_function();
	krt_symbols_module(s, 0, self, self_len);
	memcpy(m, self, self_len);
	memset(m->path, 'x', m->path_len);
	m->bias += 4096;
	krt_symbols_module(s, 0, m, self_len);
	/* named by the engine while the first was loaded: still the first */
	st = one(&f, pc_outer);
	f.module = strndup(self->path, self->path_len);
	f.offset = pc_outer - self->bias;
	krt_symbols_stack(s, 0, &st, a);
	cr_assert_str_eq(st.frame[0].function, "outer_function");
	free((char *)f.module);
	/* not named: the later one */
	st = one(&f, pc_outer);
	krt_symbols_stack(s, 0, &st, a);
	cr_assert_eq(st.frame[0].module[0], 'x');
	krt_symbols_destroy(s);
	krt_arena_destroy(a);
	free(m);
}

Test(symbols, cudart_and_launch_stubs_are_no_call_site)
{
	static const struct {
		const char *function;
		bool internal;
	} want[] = {
		{"cuLaunchKernel", true},
		{"__cudart600", true},
		{"cudaLaunchKernel", true},
		{"cudaError cudaLaunchKernel<char>(char const*, dim3, dim3, void**, unsigned long, "
		 "CUstream_st*)",
		 true},
		{"__cudaLaunchKernel_helper", true},
		{"__device_stub__Z5saxpyfPf(float, float*)", true},
		{"saxpy(float, float*)", true},
		{"step()", false},
		{"cudaHelperOfTheUser", false}, /* beyond the call site everything is the user's */
	};
	struct krt_symbols *s = krt_symbols_new("");
	struct krt_arena *a = krt_arena_new();
	struct krt_frame f[9] = { { .internal = true } };
	struct krt_stack st = { .depth = 9, .frame = f };

	for (unsigned i = 0; i < 9; i++)
		f[i].function = want[i].function;
	krt_symbols_stack(s, 0, &st, a);
	for (unsigned i = 0; i < 9; i++)
		cr_assert_eq(st.frame[i].internal, want[i].internal, "%s", want[i].function);
	krt_symbols_destroy(s);
	krt_arena_destroy(a);
}
