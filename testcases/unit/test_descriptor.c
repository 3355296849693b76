/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What tensor maps, textures and surfaces lead to (descriptor.c).
 */
#include "graph_build.h"
#include "analyzer/engine_int.h"
#include "analyzer/image_store.h"
#include "interposer/cuabi.h"

#include <criterion/criterion.h>

static struct world w;

static void setup(void)
{
	world_open(&w, NULL);
	thread(&w, 1, 1);
	context(&w, 0xc1, 1, true);
	context(&w, 0xc0, 0, true);
	call(&w, cuCtxSetCurrent, A(0xc0));
}

static void teardown(void)
{
	krt_engine_destroy(w.e);
}

TestSuite(descriptor, .init = setup, .fini = teardown);

/* --- tensor maps ------------------------------------------------------------------------ */

struct map {
	uint64_t words[16];
};

static struct map content(uint64_t n)
{
	struct map m;

	for (unsigned i = 0; i < 16; i++)
		m.words[i] = n * 0x9e3779b97f4a7c15ull + i;
	return m;
}

static void encode(uint64_t n, unsigned type, unsigned rank, uint64_t addr, const uint64_t *dim,
		   const uint64_t *stride, unsigned interleave)
{
	struct map m = content(n);

	call_begin(&w, KRT_API_cuTensorMapEncodeTiled, A(0x1000), A(type), A(rank), addr, A(0x2000),
		   A(0x3000), A(0x4000), A(0x5000), A(interleave), A(0), A(0), A(0));
	call_blob(&w, 4, KRT_BLOB_BYTES, dim, rank * 8);
	call_blob(&w, 5, KRT_BLOB_BYTES, stride, (rank - 1) * 8);
	call_blob(&w, 0, KRT_BLOB_BYTES, &m, sizeof(m));
	call_end(&w, 0);
}
#define LIST(...) ((const uint64_t[]){__VA_ARGS__})

static char text[256];

static const char *access_text(const struct krt_kernel_access *a)
{
	int n = snprintf(text, sizeof(text), "%s%#llx+%llu", a->mem ? "array " : "",
			 (unsigned long long)(a->mem ? a->addr : a->addr - DEV),
			 (unsigned long long)a->len);

	if (a->rows > 1)
		n += snprintf(text + n, sizeof(text) - (size_t)n, " rows %llu pitch %llu",
			      (unsigned long long)a->rows, (unsigned long long)a->pitch);
	if (a->stride)
		n += snprintf(text + n, sizeof(text) - (size_t)n, " stride %llu width %llu",
			      (unsigned long long)a->stride, (unsigned long long)a->width);
	snprintf(text + n, sizeof(text) - (size_t)n, "%s",
		 a->sure == KRT_SURE_SOME ? "" : a->sure == KRT_SURE_FROM ? " from" : " all");
	return text;
}

static const char *shape(uint64_t n)
{
	struct krt_kernel_access a = {.kind = KRT_ACC_READ, .param = 7};
	struct map m = content(n);

	if (!krt_tensor_map(w.e, &m, &a))
		return "none";
	cr_assert(a.kind == KRT_ACC_READ && a.param == 7 && a.base == a.addr && !a.mem);
	return access_text(&a);
}

Test(descriptor, shapes_of_tensor_maps)
{
	static const struct {
		unsigned type, rank;
		uint64_t dim[5], stride[4];
		unsigned interleave;
		const char *is;
	} row[] = {
		{CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 1, {100}, {0}, 0, "0+400"},
		/* rows without gaps, and with */
		{CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, {64, 10}, {128}, 0, "0+1280"},
		{CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, {64, 10}, {160}, 0, "0+128 rows 10 pitch 160"},
		{CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, {64, 1}, {160}, 0, "0+128"},
		{CU_TENSOR_MAP_DATA_TYPE_UINT8, 3, {16, 4, 8}, {32, 128}, 0, "0+16 rows 32 pitch 32"},
		{CU_TENSOR_MAP_DATA_TYPE_UINT8, 3, {16, 4, 8}, {16, 128}, 0, "0+64 rows 8 pitch 128"},
		{CU_TENSOR_MAP_DATA_TYPE_UINT8, 3, {16, 4, 8}, {32, 1024}, 0,
		 "0+112 rows 8 pitch 1024 stride 32 width 16"},
		/* the outer dimension has the smaller stride */
		{CU_TENSOR_MAP_DATA_TYPE_UINT8, 3, {16, 8, 4}, {1024, 32}, 0,
		 "0+112 rows 8 pitch 1024 stride 32 width 16"},
		/* four levels: the gaps of the innermost are not told */
		{CU_TENSOR_MAP_DATA_TYPE_UINT8, 4, {16, 4, 8, 3}, {32, 1024, 65536}, 0,
		 "0+7280 rows 3 pitch 65536 stride 1024 width 112"},
		{CU_TENSOR_MAP_DATA_TYPE_UINT8, 5, {16, 2, 2, 2, 2}, {32, 1024, 65536, 1048576}, 0,
		 "0+66608 rows 2 pitch 1048576 stride 65536 width 1072"},
		/* rows that overlap, and one that is repeated */
		{CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, {16, 10}, {16}, 0, "0+208"},
		{CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, {16, 10}, {0}, 0, "0+64"},
		{CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 3, {16, 10, 5}, {128, 64}, 0, "0+1472"},
		{CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 3, {16, 10, 5}, {128, 192}, 0, "0+1984"},
		/* four bits an element */
		{CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B, 2, {128, 3}, {256}, 0, "0+64 rows 3 pitch 256"},
		{CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B, 2, {128, 3}, {256}, 0, "0+128 rows 3 pitch 256"},
		/* of what is not understood the address is known */
		{CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 3, {8, 8, 8}, {128, 1024}, CU_TENSOR_MAP_INTERLEAVE_16B, "0+0 from"},
		{99, 1, {100}, {0}, 0, "0+0 from"},
		{CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, {64, 0}, {128}, 0, "0+0 from"},
		{CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, {64, UINT64_MAX}, {1ull << 40}, 0, "0+0 from"},
		{CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, {UINT64_MAX, 2}, {128}, 0, "0+0 from"},
	};

	for (unsigned i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		encode(i, row[i].type, row[i].rank, DEV, row[i].dim, row[i].stride,
		       row[i].interleave);
		cr_expect_str_eq(shape(i), row[i].is, "%u: %s", i, shape(i));
	}
	cr_assert_str_eq(shape(1000), "none");
}

/* Every byte that some coordinate leads to is in the shape. */
Test(descriptor, shapes_hold_every_element)
{
	uint64_t seed = 1;

	for (unsigned round = 0; round < 3000; round++) {
		uint64_t dim[5], stride[4] = {0}, at[5] = {0};
		unsigned rank = 1 + round % 5;
		struct krt_kernel_access a = {0};
		struct map m = content(round);
		bool more = true;

		for (unsigned i = 0; i < rank; i++) {
			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
			dim[i] = 1 + (seed >> 33) % 4;
			if (i)
				stride[i - 1] = 16 * ((seed >> 40) % 24);
		}
		encode(round, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, rank, DEV, dim, stride, 0);
		cr_assert(krt_tensor_map(w.e, &m, &a) && a.sure == KRT_SURE_SOME);
		while (more) {
			uint64_t off = 4 * at[0], row, in;

			for (unsigned i = 1; i < rank; i++)
				off += at[i] * stride[i - 1];
			row = a.rows > 1 ? off / a.pitch : 0;
			in = off - row * (a.rows > 1 ? a.pitch : 0);
			cr_assert(row < a.rows && in + 4 <= a.len && (!a.stride || in % a.stride + 4 <= a.width),
				  "round %u: %llu is not in %s", round, (unsigned long long)off,
				  access_text(&a));
			more = false;
			for (unsigned i = 0; i < rank && !more; i++) {
				more = ++at[i] < dim[i];
				if (!more)
					at[i] = 0;
			}
		}
	}
}

Test(descriptor, tensor_maps_with_another_address)
{
	struct map old = content(1), fresh = content(2), other = content(4);

	encode(1, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, DEV, LIST(64, 10), LIST(160), 0);
	call_begin(&w, KRT_API_cuTensorMapReplaceAddress, A(0x1000), DEV + 0x100);
	call_blob(&w, 0, KRT_BLOB_BYTES, &old, sizeof(old));
	call_blob(&w, 0, KRT_BLOB_BYTES, &fresh, sizeof(fresh));
	call_end(&w, 0);
	cr_assert_str_eq(shape(1), "0+128 rows 10 pitch 160");
	cr_assert_str_eq(shape(2), "0x100+128 rows 10 pitch 160");
	/* of a map that came from elsewhere */
	old = content(3);
	call_begin(&w, KRT_API_cuTensorMapReplaceAddress, A(0x1000), DEV + 0x200);
	call_blob(&w, 0, KRT_BLOB_BYTES, &old, sizeof(old));
	call_blob(&w, 0, KRT_BLOB_BYTES, &other, sizeof(other));
	call_end(&w, 0);
	cr_assert_str_eq(shape(4), "0x200+0 from");
	/* refused: nothing is there */
	call_begin(&w, KRT_API_cuTensorMapReplaceAddress, A(0x1000), DEV + 0x100);
	call_blob(&w, 0, KRT_BLOB_BYTES, &fresh, sizeof(fresh));
	call_end(&w, 1);
	cr_assert_str_eq(shape(2), "0x100+128 rows 10 pitch 160");
}

struct found {
	unsigned n;
	char list[512];
};

static void add(void *user, const struct krt_kernel_access *a)
{
	struct found *f = user;
	size_t n = strlen(f->list);

	f->n++;
	snprintf(f->list + n, sizeof(f->list) - n, "[%u %s]", a->offset, access_text(a));
}

Test(descriptor, tensor_maps_inside_a_parameter)
{
	struct krt_kernel_access as = {.kind = KRT_ACC_UNKNOWN};
	struct found f = {0};
	char param[448] = {0};
	struct map m;

	encode(1, CU_TENSOR_MAP_DATA_TYPE_UINT8, 1, DEV, LIST(10), NULL, 0);
	encode(2, CU_TENSOR_MAP_DATA_TYPE_UINT8, 1, DEV + 64, LIST(20), NULL, 0);
	m = content(1);
	memcpy(param + 64, &m, sizeof(m));
	m = content(2);
	memcpy(param + 192, &m, sizeof(m));
	memcpy(param + 320, &m, sizeof(m));
	krt_tensor_maps_in(w.e, param, sizeof(param), &as, add, &f);
	cr_assert_str_eq(f.list, "[64 0+10][192 0x40+20][320 0x40+20]");
	f = (struct found){0};
	krt_tensor_maps_in(w.e, param, 447, &as, add, &f); /* cut short */
	cr_assert_str_eq(f.list, "[64 0+10][192 0x40+20]");
	f = (struct found){0};
	krt_tensor_maps_in(w.e, param, 127, &as, add, &f);
	krt_tensor_maps_in(w.e, param, 0, &as, add, &f);
	cr_assert_eq(f.n, 0);
}

static unsigned remembered(unsigned made)
{
	unsigned n = 0;

	for (unsigned i = 0; i < made; i++)
		n += strcmp(shape(i), "none") != 0;
	return n;
}

Test(descriptor, old_tensor_maps_make_room)
{
	for (unsigned i = 0; i < KRT_TENSOR_MAPS_MAX + 100; i++) {
		encode(i, CU_TENSOR_MAP_DATA_TYPE_UINT8, 1, DEV, LIST(10), NULL, 0);
		cr_assert_str_eq(shape(50), i < 50 ? "none" : "0+10"); /* in use */
	}
	cr_assert_str_eq(shape(0), "none");
	cr_assert_str_eq(shape(101), "0+10");
	cr_assert_eq(remembered(KRT_TENSOR_MAPS_MAX + 100), KRT_TENSOR_MAPS_MAX);
	/* the same again is no other one */
	encode(200, CU_TENSOR_MAP_DATA_TYPE_UINT8, 1, DEV, LIST(12), NULL, 0);
	cr_assert_str_eq(shape(200), "0+12");
	cr_assert_eq(remembered(KRT_TENSOR_MAPS_MAX + 100), KRT_TENSOR_MAPS_MAX);
}

Test(descriptor, cut_records)
{
	struct map m = content(1);

	for (unsigned len = 0; len <= 128; len += 32) {
		call_begin(&w, KRT_API_cuTensorMapEncodeTiled, A(0x1000), A(0), A(2), DEV, A(0x2000),
			   A(0x3000), A(0), A(0), A(0), A(0), A(0), A(0));
		call_blob(&w, 4, KRT_BLOB_BYTES, LIST(4, 4), 8);
		call_blob(&w, 0, KRT_BLOB_BYTES, &m, len);
		call_end(&w, 0);
		cr_assert_str_eq(shape(1), len < 128 ? "none" : "0+0 from");
	}
}

/* --- textures ----------------------------------------------------------------------------- */

static void create(bool surface, uint64_t h, const CUDA_RESOURCE_DESC *d)
{
	if (surface)
		call_begin(&w, KRT_API_cuSurfObjectCreate, A(0x1000), A(0x2000));
	else
		call_begin(&w, KRT_API_cuTexObjectCreate, A(0x1000), A(0x2000), A(0), A(0));
	call_blob(&w, 1, KRT_BLOB_BYTES, d, sizeof(*d));
	call_out(&w, 0, h);
	call_end(&w, 0);
}

static const char *leads(uint64_t h, bool surface)
{
	struct krt_kernel_access as = {.kind = KRT_ACC_READ, .offset = 8};
	struct krt_context_info *c;
	static struct found f;

	f = (struct found){0};
	HASH_FIND(hh, w.e->obj.contexts, &w.ctx, sizeof(w.ctx), c);
	if (!krt_texture(w.e, c, h, surface, &as, add, &f))
		return "none";
	return f.list;
}

static void array(uint64_t h, size_t width, size_t height)
{
	CUDA_ARRAY_DESCRIPTOR d = {width, height, CU_AD_FORMAT_FLOAT, 2};

	call_begin(&w, KRT_API_cuArrayCreate_v2, A(0x1000), A(0x2000));
	call_blob(&w, 1, KRT_BLOB_BYTES, &d, sizeof(d));
	call_out(&w, 0, h);
	call_end(&w, 0);
}

Test(descriptor, textures_and_surfaces)
{
	CUDA_RESOURCE_DESC d = {.resType = CU_RESOURCE_TYPE_LINEAR};

	d.res.linear.devPtr = DEV;
	d.res.linear.format = CU_AD_FORMAT_FLOAT;
	d.res.linear.numChannels = 1;
	d.res.linear.sizeInBytes = 400;
	create(false, 1, &d);
	cr_assert_str_eq(leads(1, false), "[8 0+400]");
	cr_assert_str_eq(leads(1, true), "none");
	cr_assert_str_eq(leads(2, false), "none");
	d = (CUDA_RESOURCE_DESC){.resType = CU_RESOURCE_TYPE_PITCH2D};
	d.res.pitch2D.devPtr = DEV + 512;
	d.res.pitch2D.format = CU_AD_FORMAT_HALF;
	d.res.pitch2D.numChannels = 4;
	d.res.pitch2D.width = 10;
	d.res.pitch2D.height = 6;
	d.res.pitch2D.pitchInBytes = 128;
	create(false, 2, &d);
	cr_assert_str_eq(leads(2, false), "[8 0x200+80 rows 6 pitch 128]");
	d.res.pitch2D.format = (CUarray_format)0xb0; /* not known */
	create(false, 3, &d);
	cr_assert_str_eq(leads(3, false), "[8 0x200+128 rows 6 pitch 128]");
	/* the handle of another context */
	w.ctx = 0xc1;
	call(&w, cuCtxSetCurrent, A(0xc1));
	cr_assert_str_eq(leads(1, false), "none");
	w.ctx = 0xc0;
	/* an array, read and written; its handle again */
	array(0xa0, 10, 4);
	d = (CUDA_RESOURCE_DESC){.resType = CU_RESOURCE_TYPE_ARRAY};
	d.res.array.hArray = (CUarray)0xa0;
	create(true, 1, &d);
	cr_assert_str_eq(leads(1, true), "[8 array 0+320]");
	call(&w, cuArrayDestroy, A(0xa0));
	cr_assert_str_eq(leads(1, true), "none");
	array(0xa0, 10, 4);
	cr_assert_str_eq(leads(1, true), "none");
	call(&w, cuTexObjectDestroy, A(1));
	cr_assert_str_eq(leads(1, false), "none");
	cr_assert_str_eq(leads(2, false), "[8 0x200+80 rows 6 pitch 128]");
	call_failed(&w, cuTexObjectDestroy, 1, A(2));
	cr_assert_str_neq(leads(2, false), "none");
	d.resType = (CUresourcetype)17;
	create(false, 9, &d);
	cr_assert_str_eq(leads(9, false), "none");
}

Test(descriptor, a_mipmapped_array_is_read_at_every_level)
{
	CUDA_ARRAY3D_DESCRIPTOR m = {16, 16, 0, CU_AD_FORMAT_FLOAT, 1, 0};
	CUDA_RESOURCE_DESC d = {.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY};

	call_begin(&w, KRT_API_cuMipmappedArrayCreate, A(0x1000), A(0x2000), A(3));
	call_blob(&w, 1, KRT_BLOB_BYTES, &m, sizeof(m));
	call_out(&w, 0, 0xb0);
	call_end(&w, 0);
	d.res.mipmap.hMipmappedArray = (CUmipmappedArray)0xb0;
	create(false, 1, &d);
	cr_assert_str_eq(leads(1, false), "[8 array 0+18446744073709551615]");
	for (unsigned i = 0; i < 2; i++) {
		call_begin(&w, KRT_API_cuMipmappedArrayGetLevel, A(0x1000), A(0xb0), A(i));
		call_out(&w, 0, 0xb1 + i);
		call_end(&w, 0);
	}
	(void)leads(1, false);
	cr_assert_eq(strspn(leads(1, false), "[8 ary0+1234567890]"), strlen(leads(1, false)));
	{
		struct krt_kernel_access as = {0};
		struct found f = {0};
		struct krt_context_info *c;

		HASH_FIND(hh, w.e->obj.contexts, &w.ctx, sizeof(w.ctx), c);
		cr_assert(krt_texture(w.e, c, 1, false, &as, add, &f));
		cr_assert_eq(f.n, 3);
	}
}

/* --- launches ------------------------------------------------------------------------------- */

#define REGS                                                                                       \
	".reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .f32 %f<8>; .shared .align 128 .b8 s[1024]; "     \
	".shared .align 8 .b64 bar; mov.u32 %r1, s; mov.u32 %r2, bar; mov.u32 %r4, %tid.x;\n"
static const char ptx[] =
	".version 8.0\n.target sm_90\n.address_size 64\n"
	".visible .entry store(.param .align 64 .b8 map[128])\n{\n" REGS
	"mov.b64 %rd3, map; cvta.param.u64 %rd4, %rd3;\n"
	"cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd4, {%r4, %r4}], [%r1]; ret;\n}\n"
	".visible .entry load(.param .align 64 .b8 map[128])\n{\n" REGS
	"mov.b64 %rd3, map; cvta.param.u64 %rd4, %rd3;\n"
	"cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
	"[%r1], [%rd4, {%r4, %r4}], [%r2]; ret;\n}\n"
	/* one of two maps */
	".visible .entry pick(.param .align 64 .b8 map[256], .param .u64 n)\n{\n" REGS
	"ld.param.u32 %r5, [n]; mul.wide.u32 %rd2, %r5, 128; mov.b64 %rd3, map; "
	"cvta.param.u64 %rd4, %rd3; add.s64 %rd4, %rd4, %rd2;\n"
	"cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd4, {%r4, %r4}], [%r1]; ret;\n}\n"
	".visible .entry sample(.param .u64 t)\n{\n" REGS
	"ld.param.u64 %rd1, [t]; tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd1, {%r4}]; ret;\n}\n"
	".visible .entry draw(.param .u64 t)\n{\n" REGS
	"ld.param.u64 %rd1, [t]; sust.b.1d.b32.trap [%rd1, {%r4}], {%r1}; ret;\n}\n";

static int text_of(struct krt_image_store *store, unsigned process, const uint32_t *ids, uint32_t n,
		   const char *name, uint32_t arch, struct krt_image_text *out)
{
	(void)store, (void)process, (void)ids, (void)n, (void)arch;
	if (!strcmp(name, "opaque"))
		return KRT_IMAGE_NO_TEXT;
	*out = (struct krt_image_text){.text = ptx, .len = sizeof(ptx) - 1, .hash = 1};
	return KRT_IMAGE_FOUND;
}

enum { STORE = 1, LOAD, PICK, SAMPLE, DRAW, OPAQUE };
#define S1 0x101ull
#define S2 0x102ull

#define TENSOR 0x20000
/* 256 rows of 128 bytes, 512 apart, are map 1; what follows, without gaps, is map 2. */
static void begin(void)
{
	static const uint32_t one[] = {128}, two[] = {256, 8};
	struct krt_engine_config cfg = {.hot_min = 16, .possible_max = 1000, .text = text_of};

	if (w.e)
		krt_engine_destroy(w.e);
	world_open(&w, &cfg);
	thread(&w, 1, 1);
	context(&w, 0xc0, 0, true);
	kernel(&w, STORE, "store", 1, one);
	kernel(&w, LOAD, "load", 1, one);
	kernel(&w, PICK, "pick", 2, two);
	kernel(&w, SAMPLE, "sample", 1, NULL);
	kernel(&w, DRAW, "draw", 1, NULL);
	kernel(&w, OPAQUE, "opaque", 1, one);
	stream(&w, S1, 1);
	stream(&w, S2, 1);
	alloc(&w, DEV, 1 << 20);
	alloc_pinned(&w, PIN, 1 << 20);
	encode(1, CU_TENSOR_MAP_DATA_TYPE_UINT8, 2, DEV, LIST(128, 256), LIST(512), 0);
	encode(2, CU_TENSOR_MAP_DATA_TYPE_UINT8, 2, DEV + 0x40000, LIST(512, 256), LIST(512), 0);
}

static void run(uint64_t s, uint32_t id, uint64_t first, uint64_t second)
{
	uint64_t p[33];
	struct map m = content(first);

	memcpy(p, &m, sizeof(m));
	m = content(second);
	memcpy(p + 16, &m, sizeof(m));
	p[32] = 1;
	launch_of(&w, KRT_API_cuLaunchKernel, s, id, id == PICK ? 33 : 16, p);
}

#define IS(text)                                                                                   \
	do {                                                                                       \
		const char *is_ = world_close(&w);                                                 \
		cr_expect_str_eq(is_, text, "line %d: %s, not %s", __LINE__, is_, text);           \
		begin();                                                                           \
	} while (0)

Test(descriptor, kernels_with_tensor_maps)
{
	begin();
	run(S1, STORE, 1, 0);
	d2h(&w, PIN, DEV, TENSOR, S2);
	IS("RACE-RAW:warning:1");
	run(S1, LOAD, 1, 0);
	set(&w, DEV, TENSOR - 512 + 128, S2); /* to the end of its last row */
	IS("RACE-WAR:warning:1");
	set(&w, DEV, TENSOR, S2);
	run(S1, LOAD, 1, 0);
	IS("RACE-RAW:warning:1");
	/* a part of it: perhaps not where the kernel is */
	run(S1, STORE, 1, 0);
	d2h(&w, PIN, DEV + 512, 128, S2);
	IS("");
	run(S1, LOAD, 1, 0);
	set(&w, DEV, TENSOR - 512, S2);
	IS("");
	run(S1, LOAD, 1, 0);
	set(&w, DEV + 512, TENSOR, S2);
	IS("");
	set(&w, DEV + 1024, 64, S2);
	run(S1, LOAD, 1, 0);
	IS("");
	/* read and read; between the rows; behind the last one */
	run(S1, LOAD, 1, 0);
	d2h(&w, PIN, DEV + 512, 128, S2);
	IS("");
	run(S1, STORE, 1, 0);
	set(&w, DEV + 512 + 128, 512 - 128, S2);
	IS("");
	run(S1, STORE, 1, 0);
	set(&w, DEV + 0x40000, 4096, S2);
	IS("");
	/* other parts of one tensor, perhaps */
	run(S1, STORE, 1, 0);
	run(S2, STORE, 1, 0);
	IS("");
	/* one of two maps in a parameter */
	run(S1, PICK, 1, 2);
	set(&w, DEV + 0x40000, TENSOR, S2);
	IS("RACE-WAW:warning:1");
	run(S1, PICK, 2, 2);
	set(&w, DEV, 128, S2);
	IS("");
	/* one that nobody saw made */
	run(S1, STORE, 99, 0);
	set(&w, DEV, 128, S2);
	IS("");
	/* the memory goes */
	run(S1, STORE, 1, 0);
	call(&w, cuMemFreeAsync, A(DEV), A(S2));
	IS("FREE-IN-USE:warning:1");
	/* without its PTX: nothing but a pointer */
	run(S1, OPAQUE, 1, 0);
	set(&w, DEV, 128, S2);
	cr_assert_str_eq(world_close_as(&w, true), "?RACE-WAR:1");
}

Test(descriptor, kernels_with_textures)
{
	CUDA_RESOURCE_DESC linear = {.resType = CU_RESOURCE_TYPE_LINEAR};
	CUDA_RESOURCE_DESC image = {.resType = CU_RESOURCE_TYPE_ARRAY};

	linear.res.linear.devPtr = DEV + 4096;
	linear.res.linear.sizeInBytes = 4096;
	image.res.array.hArray = (CUarray)0xa0;
#define BEGIN()                                                                                    \
	do {                                                                                       \
		array(0xa0, 32, 4);                                                                \
		create(false, 1, &linear);                                                         \
		create(true, 1, &image);                                                           \
		create(false, 2, &image);                                                          \
	} while (0)
	begin();
	BEGIN();
	launch(&w, S1, SAMPLE, 1);
	set(&w, DEV + 4096, 4096, S2);
	IS("RACE-WAR:warning:1");
	BEGIN();
	launch(&w, S1, SAMPLE, 1);
	set(&w, DEV + 8000, 8, S2);
	IS("");
	BEGIN();
	launch(&w, S1, SAMPLE, 1);
	set(&w, DEV + 8192, 8, S2);
	set(&w, DEV + 4000, 96, S2);
	launch(&w, S2, SAMPLE, 1);
	IS("");
	/* drawn, and copied out at the same time; the texture 2 is the same array */
	BEGIN();
	launch(&w, S1, DRAW, 1);
	call(&w, cuMemcpyAtoHAsync_v2, A(PIN), A(0xa0), A(0), A(1024), A(S2));
	IS("RACE-RAW:warning:1");
	BEGIN();
	launch(&w, S1, SAMPLE, 2);
	call(&w, cuMemcpyHtoAAsync_v2, A(0xa0), A(0), A(PIN), A(1024), A(S2));
	IS("RACE-WAR:warning:1");
	BEGIN();
	launch(&w, S1, SAMPLE, 2);
	call(&w, cuMemcpyHtoAAsync_v2, A(0xa0), A(256), A(PIN), A(64), A(S2));
	IS("");
	BEGIN();
	launch(&w, S1, SAMPLE, 2);
	call(&w, cuMemcpyAtoHAsync_v2, A(PIN), A(0xa0), A(256), A(64), A(S2));
	IS("");
	/* its number is no pointer, and no other object has it */
	BEGIN();
	launch(&w, S1, SAMPLE, 77);
	launch(&w, S1, DRAW, 77);
	set(&w, DEV, 8192, S2);
	IS("");
#undef BEGIN
}

/* Kernel nodes reach memory in the same way. */
Test(descriptor, nodes_with_descriptors)
{
	static struct graph_build b;
	CUDA_RESOURCE_DESC linear = {.resType = CU_RESOURCE_TYPE_LINEAR};
	CUDA_RESOURCE_DESC image = {.resType = CU_RESOURCE_TYPE_ARRAY};
	struct map m = content(1);
	uint64_t p[16];

	memcpy(p, &m, sizeof(m));
	linear.res.linear.devPtr = DEV + 4096;
	linear.res.linear.sizeInBytes = 4096;
	image.res.array.hArray = (CUarray)0xa0;
#define BEGIN()                                                                                    \
	do {                                                                                       \
		array(0xa0, 32, 4);                                                                \
		create(false, 1, &linear);                                                         \
		create(true, 1, &image);                                                           \
		graph_open(&b, 0x301);                                                             \
	} while (0)
	begin();
	BEGIN();
	graph_kernel_of(&b, STORE, 1, 16, p);
	graph_set(&b, DEV, TENSOR);
	instantiate(&w, 0x401, 0x301, &b);
	IS("GRAPH-UNORDERED-NODES:warning:1");
	BEGIN();
	graph_kernel_of(&b, STORE, 1, 16, p);
	graph_set(&b, DEV + 512, 128); /* a part */
	instantiate(&w, 0x401, 0x301, &b);
	IS("");
	BEGIN();
	graph_kernel_of(&b, STORE, 1, 16, p);
	graph_set(&b, DEV + 512 + 128, 128); /* between the rows */
	instantiate(&w, 0x401, 0x301, &b);
	IS("");
	BEGIN();
	graph_kernel(&b, SAMPLE, 1, 1);
	graph_set(&b, DEV + 8192, 128);
	graph_kernel(&b, DRAW, 1, 1);
	instantiate(&w, 0x401, 0x301, &b);
	IS("");
	BEGIN();
	graph_kernel(&b, SAMPLE, 1, 1);
	graph_set(&b, DEV + 4096, 4096);
	instantiate(&w, 0x401, 0x301, &b);
	IS("GRAPH-UNORDERED-NODES:warning:1");
	/* a launch beside a copy */
	BEGIN();
	graph_kernel(&b, DRAW, 1, 1);
	instantiate(&w, 0x401, 0x301, &b);
	graph_launch(&w, 0x401, S1);
	call(&w, cuMemcpyAtoHAsync_v2, A(PIN), A(0xa0), A(0), A(1024), A(S2));
	IS("GRAPH-EXEC-OVERLAP:warning:1");
	BEGIN();
	graph_kernel_of(&b, LOAD, 1, 16, p);
	instantiate(&w, 0x401, 0x301, &b);
	graph_launch(&w, 0x401, S1);
	set(&w, DEV, TENSOR, S2);
	IS("GRAPH-EXEC-OVERLAP:warning:1");
	BEGIN();
	graph_kernel_of(&b, LOAD, 1, 16, p);
	instantiate(&w, 0x401, 0x301, &b);
	graph_launch(&w, 0x401, S1);
	set(&w, DEV + 512, 8, S2);
	IS("");
	/* before the launch */
	BEGIN();
	graph_kernel_of(&b, LOAD, 1, 16, p);
	instantiate(&w, 0x401, 0x301, &b);
	set(&w, DEV, TENSOR, S2);
	graph_launch(&w, 0x401, S1);
	IS("GRAPH-EXEC-OVERLAP:warning:1");
	BEGIN();
	graph_set(&b, DEV, TENSOR / 2);
	instantiate(&w, 0x401, 0x301, &b);
	run(S2, LOAD, 1, 0);
	graph_launch(&w, 0x401, S1);
	IS("");
#undef BEGIN
}

Test(descriptor, no_memory_at_any_point)
{
	for (unsigned long fail = 1; fail < 400; fail++) {
		struct krt_engine_config cfg = {
			.hot_min = 16, .possible_max = 1000, .fail_at = fail};
		CUDA_RESOURCE_DESC d = {.resType = CU_RESOURCE_TYPE_ARRAY};

		krt_engine_destroy(w.e);
		world_open(&w, &cfg);
		if (!w.e)
			continue;
		thread(&w, 1, 1);
		context(&w, 0xc0, 0, true);
		array(0xa0, 10, 4);
		d.res.array.hArray = (CUarray)0xa0;
		create(true, 1, &d);
		encode(1, CU_TENSOR_MAP_DATA_TYPE_UINT8, 1, DEV, LIST(10), NULL, 0);
		encode(2, CU_TENSOR_MAP_DATA_TYPE_UINT8, 1, DEV, LIST(10), NULL, 0);
		if (!w.e->heap.failed) {
			cr_assert_str_eq(shape(2), "0+10");
			return;
		}
	}
	cr_assert_fail("it never had enough");
}
