/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a kernel to the images that its module was loaded from (loaded.c).
 */
#include "rec_build.h"
#include "analyzer/engine_int.h"
#include "analyzer/image_store.h"

#include <criterion/criterion.h>

static struct world w;

static void setup(void)
{
	world_open(&w, NULL);
	thread(&w, 1, 1);
	context(&w, 0xc0, 0, true);
}

static void teardown(void)
{
	krt_engine_destroy(w.e);
}

TestSuite(loaded, .init = setup, .fini = teardown);

/* ids end with 0; 1000 + N: not told, why N */
static void images(const uint32_t *ids)
{
	struct krt_image_ref ref[16];
	uint32_t n = 0;

	for (; ids[n]; n++)
		ref[n] = ids[n] < 1000 ? (struct krt_image_ref){ids[n], 0}
				       : (struct krt_image_ref){0, ids[n] - 1000};
	call_blob(&w, KRT_BLOB_OF_CALL, KRT_BLOB_IMAGE, ref, n * (uint32_t)sizeof(*ref));
}
#define IDS(...) ((const uint32_t[]){__VA_ARGS__, 0})

static void load(uint64_t module, uint64_t image, const uint32_t *ids)
{
	call_begin(&w, KRT_API_cuModuleLoadData, A(0x1000), image);
	images(ids);
	call_out(&w, 0, module);
	call_end(&w, 0);
}

static void library(uint64_t lib, const uint32_t *ids)
{
	call_begin(&w, KRT_API_cuLibraryLoadData, A(0x1000), A(0x2000), A(0), A(0), A(0), A(0), A(0), A(0));
	images(ids);
	call_out(&w, 0, lib);
	call_end(&w, 0);
}

/* "1 2 +4 #1": ids, bits of what is missing, which load; "none" */
static const char *of(uint64_t func, uint64_t module)
{
	struct krt_kernel_info k = {.func = func, .module = module};
	const struct krt_loaded *l = krt_loaded_of(w.e, &k);
	static char text[256];
	int n = 0;

	if (!l)
		return "none";
	for (uint32_t i = 0; i < l->n; i++)
		n += snprintf(text + n, sizeof(text) - (size_t)n, "%u ", l->image[i]);
	if (l->missing)
		n += snprintf(text + n, sizeof(text) - (size_t)n, "+%u ", l->missing);
	snprintf(text + n, sizeof(text) - (size_t)n, "#%u", l->serial);
	return text;
}

Test(loaded, modules_and_their_handles_again)
{
	load(0x10, 0x9000, IDS(1));
	load(0x11, 0x9000, IDS(2, 3, 2, 1003));
	cr_assert_str_eq(of(0x50, 0x10), "1 #1");
	cr_assert_str_eq(of(0x51, 0x11), "2 3 +8 #2");
	cr_assert_str_eq(of(0x51, 0x12), "none");
	call_failed(&w, cuModuleUnload, 400, A(0x10));
	cr_assert_str_eq(of(0x50, 0x10), "1 #1");
	call(&w, cuModuleUnload, A(0x10));
	cr_assert_str_eq(of(0x50, 0x10), "none");
	load(0x10, 0x9000, IDS(7));
	cr_assert_str_eq(of(0x50, 0x10), "7 #3");
	load(0x10, 0x9000, IDS(8)); /* its unload was not seen */
	cr_assert_str_eq(of(0x50, 0x10), "8 #4");
	/* a load that failed */
	call_begin(&w, KRT_API_cuModuleLoadData, A(0x1000), A(0x9000));
	images(IDS(9));
	call_end(&w, 200);
	cr_assert_str_eq(of(0x50, 0x10), "8 #4");
}

Test(loaded, kernels_and_functions_of_a_library)
{
	library(0x20, IDS(4, 5));
	call_begin(&w, KRT_API_cuLibraryGetKernel, A(0x1000), A(0x20), A(0x3000));
	call_blob(&w, 2, KRT_BLOB_BYTES, "name", 4);
	call_out(&w, 0, 0x60);
	call_end(&w, 0);
	call_begin(&w, KRT_API_cuKernelGetFunction, A(0x1000), A(0x60));
	call_out(&w, 0, 0x61);
	call_end(&w, 0);
	cr_assert_str_eq(of(0x60, 0x20), "4 5 #1"); /* the driver tells the library */
	cr_assert_str_eq(of(0x60, 0), "4 5 #1");
	cr_assert_str_eq(of(0x61, 0x77), "4 5 #1"); /* a module that nobody loaded */
	cr_assert_str_eq(of(0x62, 0x77), "none");
	call(&w, cuLibraryUnload, A(0x20));
	cr_assert_str_eq(of(0x61, 0x77), "none");
}

static void link_two(uint64_t state)
{
	call_begin(&w, KRT_API_cuLinkAddData_v2, state, A(1), A(0x9100), A(100), A(0), A(0), A(0), A(0));
	images(IDS(1));
	call_end(&w, 0);
	call_begin(&w, KRT_API_cuLinkAddFile_v2, state, A(1), A(0x9200), A(0), A(0), A(0));
	images(IDS(2));
	call_end(&w, 0);
	/* refused: not in it */
	call_begin(&w, KRT_API_cuLinkAddData_v2, state, A(1), A(0x9100), A(100), A(0), A(0), A(0), A(0));
	images(IDS(9));
	call_end(&w, 218);
}

Test(loaded, what_the_linker_was_given)
{
	link_two(0x70);
	call_begin(&w, KRT_API_cuLinkComplete, A(0x70), A(0x1000), A(0x1008));
	call_out(&w, 1, 0x8000);
	call_out(&w, 2, 0x100);
	images(IDS(3));
	call_end(&w, 0);
	load(0x10, 0x8000, IDS(1002)); /* where it lies */
	load(0x11, 0x80ff, IDS(1002));
	load(0x12, 0x8100, IDS(1002));
	call(&w, cuLinkDestroy, A(0x70));
	load(0x13, 0x8000, IDS(1002));
	load(0x14, 0x9900, IDS(3)); /* a copy of it */
	cr_assert_str_eq(of(0, 0x10), "1 2 +4 #1");
	cr_assert_str_eq(of(0, 0x11), "1 2 +4 #2");
	cr_assert_str_eq(of(0, 0x12), "+4 #3");
	cr_assert_str_eq(of(0, 0x13), "+4 #4");
	cr_assert_str_eq(of(0, 0x14), "3 1 2 #5");
}

Test(loaded, no_memory_at_any_point)
{
	for (unsigned long fail = 1; fail < 400; fail++) {
		struct krt_engine_config cfg = {.hot_min = 16, .possible_max = 1000, .fail_at = fail};

		krt_engine_destroy(w.e);
		world_open(&w, &cfg);
		if (!w.e)
			continue;
		thread(&w, 1, 1);
		context(&w, 0xc0, 0, true);
		load(0x10, 0x9000, IDS(1, 2, 3, 4, 5));
		library(0x20, IDS(4, 5));
		link_two(0x70);
		call(&w, cuModuleUnload, A(0x10));
		if (w.rc == 0)
			return;
	}
	cr_assert_fail("it never had enough");
}

/* --- the text ---------------------------------------------------------------------- */

static char asked[128];

static int text_of(struct krt_image_store *store, unsigned process, const uint32_t *ids, uint32_t n,
		   const char *name, uint32_t arch, struct krt_image_text *out)
{
	int at = snprintf(asked, sizeof(asked), "%s sm_%u in %u of %u:", name, arch, n, process);

	cr_assert_eq(store, (void *)0x5708e);
	for (uint32_t i = 0; i < n; i++)
		at += snprintf(asked + at, sizeof(asked) - (size_t)at, " %u", ids[i]);
	out->text = "text";
	return KRT_IMAGE_FOUND;
}

static void device(int number, int major, int minor)
{
	struct krt_rec_device r = {.h = {.size = sizeof(r), .kind = KRT_REC_DEVICE},
				   .device = number,
				   .cc_major = major,
				   .cc_minor = minor};

	krt_engine_feed(w.e, &r.h, sizeof(r), 0);
}

Test(loaded, texts_are_asked_of_whoever_reads_files)
{
	struct krt_engine_config cfg = {
		.hot_min = 16, .possible_max = 1000, .text = text_of, .images = (void *)0x5708e, .process = 7,
	};
	struct krt_kernel_info k = {.func = 0x50, .module = 0x10, .name = (char *)"gather"};
	struct krt_image_text out = {0};

	cr_assert_eq(krt_kernel_text(w.e, &k, 0, &out), KRT_IMAGE_NONE); /* nobody */
	krt_engine_destroy(w.e);
	world_open(&w, &cfg);
	thread(&w, 1, 1);
	context(&w, 0xc0, 0, true);
	device(0, 9, 0);
	device(1, 12, 1);
	device(2, -1, 0);
	device(64, 9, 0);
	load(0x10, 0x9000, IDS(3, 4));
	cr_assert_eq(krt_kernel_text(w.e, &k, 0, &out), KRT_IMAGE_FOUND);
	cr_assert_str_eq(out.text, "text");
	cr_assert_str_eq(asked, "gather sm_90 in 2 of 7: 3 4");
	krt_kernel_text(w.e, &k, 1, &out);
	cr_assert_str_eq(asked, "gather sm_121 in 2 of 7: 3 4");
	krt_kernel_text(w.e, &k, 2, &out);
	cr_assert_str_eq(asked, "gather sm_0 in 2 of 7: 3 4");
	k.module = 0x99; /* nothing is known of it: a folder of texts may still have it */
	krt_kernel_text(w.e, &k, 64, &out);
	cr_assert_str_eq(asked, "gather sm_0 in 0 of 7:");
}
