/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels whose parameters the trace does not lay out, launched with one block of
 * them: the layout from the module's images, else any word may be a pointer.
 */
#include "analyzer/engine_int.h"
#include "analyzer/image_store.h"
#include "rec_build.h"

#include <criterion/criterion.h>

#define S1 0x51u
#define S2 0x52u
#define B  (DEV + 0x10000)

static int params_result;

static int params_of(struct krt_image_store *s, unsigned process, const uint32_t *ids, uint32_t n,
		     const char *kernel, uint32_t arch, struct krt_cubin_params *out)
{
	static const struct krt_cubin_param list[] = {{.offset = 0, .size = 8}, {.offset = 8, .size = 8}};

	(void)s, (void)process, (void)arch;
	cr_assert(n == 1 && ids[0] == 5);
	cr_assert_str_eq(kernel, "_Z4copyPKfPf");
	*out = (struct krt_cubin_params){.n = 2, .bytes = 16};
	if (params_result)
		return params_result;
	out->param = malloc(sizeof(list));
	memcpy(out->param, list, sizeof(list));
	return KRT_IMAGE_FOUND;
}

/* The signature is there; the code is not to be understood. */
static const char ptx[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
			  ".visible .entry _Z4copyPKfPf(.param .u64 a, .param .u64 b)\n{ what; }\n";

static int text_of(struct krt_image_store *store, unsigned process, const uint32_t *ids, uint32_t n,
		   const char *name, uint32_t arch, struct krt_image_text *out)
{
	(void)store, (void)process, (void)ids, (void)n, (void)arch, (void)name;
	out->text = ptx;
	out->len = sizeof(ptx) - 1;
	out->hash = 1;
	return KRT_IMAGE_FOUND;
}

static void begin(struct world *w, bool params, bool text)
{
	const struct krt_engine_config cfg = {.hot_min = 16,
					      .possible_max = 1000,
					      .params = params ? params_of : NULL,
					      .text = text ? text_of : NULL};
	static const char name[] = "_Z4copyPKfPf";
	struct {
		struct krt_rec_kernel r;
		char name[16];
	} k = {.r = {.h = {.size = sizeof(k), .kind = KRT_REC_KERNEL},
		     .id = 1,
		     .nparams = KRT_PARAMS_UNKNOWN,
		     .module = 0x77,
		     .name_len = sizeof(name) - 1}};
	struct krt_image_ref ref = {.id = 5};

	memcpy((char *)&k.r.param[0], name, sizeof(name) - 1);
	params_result = 0;
	world_open(w, &cfg);
	thread(w, 1, 1);
	context(w, 0xc0, 0, true);
	stream(w, S1, 1);
	stream(w, S2, 1);
	alloc(w, DEV, 4096);
	alloc(w, B, 4096);
	call_begin(w, KRT_API_cuModuleLoadData, A(0), A(0x1000));
	call_out(w, 0, 0x77);
	call_blob(w, KRT_BLOB_OF_CALL, KRT_BLOB_IMAGE, &ref, sizeof(ref));
	call_end(w, 0);
	krt_engine_feed(w->e, &k.r.h, sizeof(k), 0);
}

static void go(struct world *w, uint64_t a, uint64_t b, uint32_t len)
{
	struct {
		struct krt_params head;
		uint64_t p[2];
	} block = {{1, len}, {a, b}};

	call_begin(w, KRT_API_cuLaunchKernel, A(0xf1), A(1), A(1), A(1), A(32), A(1), A(1), A(0), A(S1), A(0), A(1));
	call_blob(w, 10, KRT_BLOB_PARAMS, &block, (uint32_t)sizeof(block.head) + len);
	call_end(w, 0);
}

static const struct krt_kernel_info *info(struct world *w)
{
	return krt_kernel_get(&w->e->obj, 1);
}

Test(layout, any_word_may_be_a_pointer)
{
	struct world w;

	begin(&w, false, false);
	go(&w, 7, DEV + 16, 16);
	set(&w, DEV, 64, S2);
	cr_assert_eq(info(&w)->nparams, KRT_PARAMS_UNKNOWN);
	cr_assert_str_eq(world_close_as(&w, true), "?RACE-WAR:1");
}

Test(layout, of_a_cubin)
{
	struct world w;

	begin(&w, true, false);
	go(&w, DEV, B, 16);
	cr_assert_eq(info(&w)->nparams, 2);
	cr_assert_eq(info(&w)->bytes, 16);
	d2h(&w, HEAP, DEV, 64, S2); /* const in the name: both read */
	cr_assert_str_eq(world_close_as(&w, true), "");
}

Test(layout, of_a_text)
{
	struct world w;

	begin(&w, true, true);
	params_result = KRT_IMAGE_NO_TEXT;
	go(&w, DEV, B, 16);
	cr_assert_eq(info(&w)->nparams, 2);
	set(&w, DEV, 64, S2);
	cr_assert_str_eq(world_close_as(&w, false), "RACE-WAR:warning:1");
}

/* More than the launch was given: another kernel's. */
Test(layout, that_does_not_fit)
{
	struct world w;

	begin(&w, true, false);
	go(&w, DEV, B, 8);
	cr_assert_eq(info(&w)->nparams, KRT_PARAMS_UNKNOWN);
	cr_assert_eq(w.e->malformed, 0);
	world_close_as(&w, true);
}
