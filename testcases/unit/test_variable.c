/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variables of modules as memory (variable.c): which kernels and contexts share
 * one, what an address that the program is told leads to, when it ends.
 */
#include "rec_build.h"
#include "analyzer/engine_int.h"
#include "analyzer/ptx/flow.h"

#include <criterion/criterion.h>

static struct world w;

static void setup(void)
{
	world_open(&w, NULL);
	thread(&w, 1, 1);
	context(&w, 0xc1, 1, true);
	context(&w, 0xc0, 0, true);
}

static void teardown(void)
{
	krt_engine_destroy(w.e);
}

TestSuite(variable, .init = setup, .fini = teardown);

static void load(uint64_t module)
{
	call_begin(&w, KRT_API_cuModuleLoadData, A(0x1000), A(0x9000));
	call_out(&w, 0, module);
	call_end(&w, 0);
}

static void library(uint64_t lib)
{
	call_begin(&w, KRT_API_cuLibraryLoadData, A(0x1000), A(0x2000), A(0), A(0), A(0), A(0),
		   A(0), A(0));
	call_out(&w, 0, lib);
	call_end(&w, 0);
}

static void told(enum krt_api_id api, uint64_t module, const char *name, uint64_t addr, uint64_t size)
{
	call_begin(&w, api, A(0x1000), A(0x1008), module, A(0x3000));
	call_blob(&w, 3, KRT_BLOB_BYTES, name, (uint32_t)strlen(name));
	call_out(&w, 0, addr);
	call_out(&w, 1, size);
	call_end(&w, 0);
}

static struct krt_mem *of(uint64_t module, uint64_t ctx, const struct krt_flow_global *g)
{
	struct krt_kernel_info k = {.func = 0x50, .module = module};
	struct krt_context_info *c;

	HASH_FIND(hh, w.e->obj.contexts, &ctx, sizeof(ctx), c);
	cr_assert_not_null(c);
	return krt_variable(w.e, &k, c, g);
}

#define VAR(n, ...) (&(const struct krt_flow_global){.name = n, ##__VA_ARGS__})

static size_t live(void)
{
	return w.e->mem.live.count;
}

Test(variable, one_for_each_load_and_name)
{
	struct krt_mem *a, *b;

	load(0x10);
	load(0x11);
	call(&w, cuCtxSetCurrent, A(0xc0));
	a = of(0x10, 0xc0, VAR("x", .size = 64));
	cr_assert_not_null(a);
	cr_assert_eq(a->kind, KRT_MEM_GLOBAL);
	cr_assert_eq(a->size, 64);
	cr_assert(krt_mem_unplaced(a));
	cr_assert_str_eq(krt_name_at(&w.e->mem, a->node.key + 63), "x");
	cr_assert_null(krt_name_at(&w.e->mem, a->node.key + 64));
	cr_assert_eq(krt_api[a->made.api].op, KRT_OP_MODULE_LOAD);
	cr_assert_eq(of(0x10, 0xc0, VAR("x", .size = 64)), a);
	b = of(0x11, 0xc0, VAR("x", .size = 64));
	cr_assert_neq(b, a);
	cr_assert_neq(b->space, a->space);
	cr_assert_neq(of(0x10, 0xc0, VAR("xy", .size = 4)), a);
	/* a gap after each: bytes beyond the end are nobody's */
	cr_assert_geq(b->node.key, a->node.key + a->size + 256);
	cr_assert_null(krt_mem_at(&w.e->mem, a->node.key + a->size));
	/* loaded by nobody */
	cr_assert_null(of(0x12, 0xc0, VAR("x", .size = 64)));
}

Test(variable, names_as_the_program_has_them)
{
	static const struct {
		const char *symbol, *name;
	} row[] = {
		{"counter", "counter"},
		{"_ZN5stats5totalE", "stats::total"},
		{"__nv_static_18__3b97778c_4_s_cu_a_hidden", "hidden"},
		{"__nv_static_18__3b97778c_4_s_cu_a__ZN27_INTERNAL_3b97778c_4_s_cu_a29_GLOBAL__N__3b97778c_4_s_cu_a4anonE",
		 "_INTERNAL_3b97778c_4_s_cu_a::(anonymous namespace)::anon"},
		{"__nv_static_18__3b97778c_4_s_cu_a_", "__nv_static_18__3b97778c_4_s_cu_a_"},
		{"__nv_static_99999999999999999999_x", "__nv_static_99999999999999999999_x"},
		{"__nv_static_18446744073709551615_x_y", "__nv_static_18446744073709551615_x_y"},
		{"__nv_static_x", "__nv_static_x"},
		{"__nv_static_", "__nv_static_"},
		{"_Z", "_Z"},
	};

	load(0x10);
	call(&w, cuCtxSetCurrent, A(0xc0));
	for (unsigned i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct krt_mem *m = of(0x10, 0xc0, VAR(row[i].symbol, .size = 4));

		cr_assert_str_eq(krt_name_at(&w.e->mem, m->node.key), row[i].name);
	}
}

Test(variable, an_address_leads_to_the_same_memory)
{
	struct krt_mem *a, *b, *m;

	load(0x10);
	call(&w, cuCtxSetCurrent, A(0xc0));
	a = of(0x10, 0xc0, VAR("x", .size = 64));
	told(KRT_API_cuModuleGetGlobal_v2, 0x10, "x", DEV, 64);
	m = krt_mem_at(&w.e->mem, DEV + 60);
	cr_assert_not_null(m);
	cr_assert_eq(m->space, a->space);
	cr_assert_eq(krt_mem_key(m, DEV + 60), krt_mem_key(a, a->node.key + 60));
	cr_assert_eq(of(0x10, 0xc0, VAR("x", .size = 64)), m);
	cr_assert(!krt_mem_unplaced(m));
	cr_assert_eq(krt_api[m->made.api].op, KRT_OP_MODULE_LOAD);
	told(KRT_API_cuModuleGetGlobal_v2, 0x10, "x", DEV, 64);
	cr_assert_eq(krt_mem_at(&w.e->mem, DEV), m);
	cr_assert_eq(live(), 2);
	/* asked for first */
	told(KRT_API_cuModuleGetGlobal_v2, 0x10, "y", DEV + 64, 4);
	b = of(0x10, 0xc0, VAR("y", .size = 4));
	cr_assert_eq(b->node.key, DEV + 64);
	/* the length of an array that another file defines */
	cr_assert_null(of(0x10, 0xc0, VAR("z")));
	told(KRT_API_cuModuleGetGlobal_v2, 0x10, "z", DEV + 128, 12);
	cr_assert_eq(of(0x10, 0xc0, VAR("z"))->size, 12);
	/* the size not asked for, as cudart does: a kernel tells it, before or after */
	a = of(0x10, 0xc0, VAR("before", .size = 16));
	told(KRT_API_cuModuleGetGlobal_v2, 0x10, "before", DEV + 256, 0);
	m = krt_mem_at(&w.e->mem, DEV + 271);
	cr_assert_not_null(m);
	cr_assert_eq(m->space, a->space);
	cr_assert_null(krt_mem_at(&w.e->mem, DEV + 272));
	told(KRT_API_cuModuleGetGlobal_v2, 0x10, "after", DEV + 512, 0);
	cr_assert_null(krt_mem_at(&w.e->mem, DEV + 512));
	b = of(0x10, 0xc0, VAR("after", .size = 16));
	cr_assert_eq(b->node.key, DEV + 512);
	cr_assert_eq(krt_mem_at(&w.e->mem, DEV + 527), b);
	told(KRT_API_cuModuleGetGlobal_v2, 0x10, "after", DEV + 512, 0);
	cr_assert_eq(krt_mem_at(&w.e->mem, DEV + 512), b);
	call(&w, cuModuleUnload, A(0x10));
	cr_assert_eq(live(), 0);
	cr_assert_eq(w.e->nvariables, 0);
	cr_assert_null(of(0x10, 0xc0, VAR("x", .size = 64)));
	load(0x10); /* the handle again */
	cr_assert_eq(of(0x10, 0xc0, VAR("x", .size = 64))->size, 64);
	cr_assert_eq(live(), 1);
}

Test(variable, a_library_has_them_in_every_context)
{
	struct krt_mem *a, *b;

	library(0x20);
	call(&w, cuCtxSetCurrent, A(0xc0));
	w.ctx = 0xc1;
	call(&w, cuCtxSetCurrent, A(0xc1));
	a = of(0x20, 0xc0, VAR("x", .size = 8));
	b = of(0x20, 0xc1, VAR("x", .size = 8));
	cr_assert_not_null(a);
	cr_assert_not_null(b);
	cr_assert_neq(a->space, b->space);
	told(KRT_API_cuLibraryGetGlobal, 0x20, "x", DEV, 8);
	cr_assert_eq(krt_mem_at(&w.e->mem, DEV)->space, b->space);
	cr_assert_eq(of(0x20, 0xc0, VAR("x", .size = 8)), a);
	/* managed ones lie in all */
	a = of(0x20, 0xc0, VAR("m", .size = 8, .managed = true));
	cr_assert_eq(a->kind, KRT_MEM_MANAGED);
	cr_assert_eq(of(0x20, 0xc1, VAR("m", .size = 8, .managed = true)), a);
	told(KRT_API_cuLibraryGetManaged, 0x20, "m", DEV + 64, 8);
	cr_assert_eq(krt_mem_at(&w.e->mem, DEV + 64)->space, a->space);
	cr_assert_eq(krt_mem_at(&w.e->mem, DEV + 64)->kind, KRT_MEM_MANAGED);
	/* told before a kernel says that it is managed */
	told(KRT_API_cuLibraryGetManaged, 0x20, "n", DEV + 128, 8);
	a = of(0x20, 0xc1, VAR("n", .size = 8, .managed = true));
	cr_assert_eq(a->node.key, DEV + 128);
	cr_assert_eq(a->kind, KRT_MEM_MANAGED);
	call(&w, cuLibraryUnload, A(0x20));
	cr_assert_eq(live(), 0);
}

static void count(void *user, struct krt_mem *mem)
{
	char *list = user;

	strcat(strcat(list, krt_name_at(&w.e->mem, mem->node.key)), " ");
}

/* Machine code alone: what somebody else is known to touch. */
Test(variable, that_machine_code_may_use)
{
	struct krt_kernel_info k = {.func = 0x50, .module = 0x20};
	struct krt_context_info *c0, *c1;
	uint64_t ctx = 0xc0;
	char list[2048] = "";

	library(0x20);
	call(&w, cuCtxSetCurrent, A(0xc0));
	w.ctx = 0xc1;
	call(&w, cuCtxSetCurrent, A(0xc1));
	HASH_FIND(hh, w.e->obj.contexts, &ctx, sizeof(ctx), c0);
	ctx = 0xc1;
	HASH_FIND(hh, w.e->obj.contexts, &ctx, sizeof(ctx), c1);
	krt_variables_of(w.e, &k, c0, count, list);
	cr_assert_str_eq(list, "");
	of(0x20, 0xc0, VAR("x", .size = 8));
	of(0x20, 0xc1, VAR("y", .size = 8));
	of(0x20, 0xc1, VAR("m", .size = 8, .managed = true));
	krt_variables_of(w.e, &k, c0, count, list);
	cr_assert_str_eq(list, "x m ");
	list[0] = 0;
	krt_variables_of(w.e, &k, c1, count, list);
	cr_assert_str_eq(list, "y m ");
	list[0] = 0;
	for (unsigned i = 0; i < 100; i++) {
		char name[16];

		snprintf(name, sizeof(name), "v%u", i);
		of(0x20, 0xc0, VAR(name, .size = 8));
	}
	krt_variables_of(w.e, &k, c0, count, list);
	cr_assert_lt(strlen(list), 100);
	k.module = 0x21;
	list[0] = 0;
	krt_variables_of(w.e, &k, c0, count, list);
	cr_assert_str_eq(list, "");
}

/* The runtime asks for the module that a library is in a context. */
Test(variable, by_the_module_of_a_library)
{
	struct krt_mem *a;

	library(0x20);
	call(&w, cuCtxSetCurrent, A(0xc0));
	a = of(0x20, 0xc0, VAR("x", .size = 8));
	call_begin(&w, KRT_API_cuLibraryGetModule, A(0x1000), A(0x20));
	call_out(&w, 0, 0x30);
	call_end(&w, 0);
	told(KRT_API_cuModuleGetGlobal_v2, 0x30, "x", DEV, 8);
	cr_assert_eq(krt_mem_at(&w.e->mem, DEV)->space, a->space);
	cr_assert_eq(of(0x30, 0xc0, VAR("x", .size = 8)), krt_mem_at(&w.e->mem, DEV));
	told(KRT_API_cuLibraryGetGlobal, 0x20, "x", DEV, 8);
	cr_assert_eq(live(), 2);
	call(&w, cuLibraryUnload, A(0x20));
	cr_assert_eq(live(), 0);
	/* the number again, as a module */
	load(0x30);
	cr_assert_not_null(of(0x30, 0xc0, VAR("x", .size = 8)));
	cr_assert_eq(w.e->loads, 2);
	call(&w, cuModuleUnload, A(0x30));
	cr_assert_null(of(0x30, 0xc0, VAR("x", .size = 8)));
}

Test(variable, go_with_their_context)
{
	struct krt_mem *a;
	uint32_t serial;

	load(0x10);
	call(&w, cuCtxSetCurrent, A(0xc0));
	a = of(0x10, 0xc0, VAR("x", .size = 64));
	serial = a->serial;
	call(&w, cuDevicePrimaryCtxReset_v2, A(0));
	cr_assert_eq(live(), 0);
	call(&w, cuCtxSetCurrent, A(0xc0));
	a = of(0x10, 0xc0, VAR("x", .size = 64));
	cr_assert_neq(a->serial, serial);
	cr_assert_eq(live(), 1);
}

Test(variable, not_told)
{
	char name[KRT_VARIABLE_NAME + 2];

	load(0x10);
	call(&w, cuCtxSetCurrent, A(0xc0));
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	cr_assert_null(of(0x10, 0xc0, VAR(name, .size = 4)));
	name[sizeof(name) - 2] = 0;
	cr_assert_not_null(of(0x10, 0xc0, VAR(name, .size = 4)));
	cr_assert_null(of(0x10, 0xc0, VAR("", .size = 4)));
	cr_assert_null(of(0x10, 0xc0, VAR("huge", .size = UINT64_MAX)));
	cr_assert_null(of(0x10, 0xc0, VAR("__cudart_i2opi_f", .size = 24)));
	for (unsigned i = 0; i < KRT_VARIABLES_MAX + 10; i++) {
		struct krt_mem *m;

		snprintf(name, sizeof(name), "v%u", i);
		m = of(0x10, 0xc0, VAR(name, .size = 4));
		cr_assert_eq(m != NULL, i < KRT_VARIABLES_MAX - 1);
	}
	cr_assert_leq(live(), KRT_VARIABLES_MAX);
	call(&w, cuModuleUnload, A(0x10));
	cr_assert_eq(live(), 0);
}

/* Two files of one program, each with a variable of its own that has the name. */
Test(variable, local_names_of_a_linked_module)
{
	struct krt_image_ref ref[2] = {{1, 0}, {2, 0}};

	for (unsigned i = 0; i < 2; i++) {
		call_begin(&w, KRT_API_cuLinkAddData_v2, A(0x70), A(1), A(0x9100), A(100), A(0),
			   A(0), A(0), A(0));
		call_blob(&w, KRT_BLOB_OF_CALL, KRT_BLOB_IMAGE, &ref[i], sizeof(ref[i]));
		call_end(&w, 0);
	}
	call_begin(&w, KRT_API_cuLinkComplete, A(0x70), A(0x1000), A(0x1008));
	call_out(&w, 1, 0x9000);
	call_out(&w, 2, 0x100);
	call_end(&w, 0);
	load(0x10);
	call(&w, cuCtxSetCurrent, A(0xc0));
	cr_assert_null(of(0x10, 0xc0, VAR("x", .size = 4, .local = true)));
	cr_assert_not_null(of(0x10, 0xc0, VAR("x", .size = 4)));
}

Test(variable, no_memory_at_any_point)
{
	for (unsigned long fail = 1; fail < 400; fail++) {
		struct krt_engine_config cfg = {
			.hot_min = 16, .possible_max = 1000, .fail_at = fail};

		krt_engine_destroy(w.e);
		world_open(&w, &cfg);
		if (!w.e)
			continue;
		thread(&w, 1, 1);
		context(&w, 0xc0, 0, true);
		call(&w, cuCtxSetCurrent, A(0xc0));
		load(0x10);
		if (w.e->obj.ncontexts && w.e->obj.contexts) {
			(void)of(0x10, 0xc0, VAR("x", .size = 64));
			told(KRT_API_cuModuleGetGlobal_v2, 0x10, "x", DEV, 64);
			(void)of(0x10, 0xc0, VAR("y", .size = 64));
		}
		call(&w, cuModuleUnload, A(0x10));
		if (!w.e->heap.failed)
			return;
	}
	cr_assert_fail("it never had enough");
}
