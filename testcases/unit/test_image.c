/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Formats of module images, on images that nvcc 13.0 made (testcases/images;
 * where nvcc is found, on images made anew too), and on damaged ones.
 */
#define _GNU_SOURCE
#include "analyzer/image.h"
#include "analyzer/ptx/ptx.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool valgrind(void)
{
	const char *preload = getenv("LD_PRELOAD");

	return preload && strstr(preload, "vgpreload");
}

static char *slurp(const char *dir, const char *name, size_t *len)
{
	char path[512], *p;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "rb");
	cr_assert(f, "%s", path);
	p = malloc(1 << 20);
	*len = fread(p, 1, 1 << 20, f);
	fclose(f);
	p = realloc(p, *len ? *len : 1); /* so that valgrind sees a step outside */
	return p;
}

struct bytes {
	const char *p;
	size_t len;
};

static bool read_bytes(void *user, uint64_t off, void *to, size_t n)
{
	const struct bytes *b = user;

	if (off > b->len || n > b->len - off)
		return false;
	memcpy(to, b->p + off, n);
	return true;
}

#define SOURCE(b) ((struct krt_image_source){read_bytes, &(b), (b).len})

/* Entries as "ptx 90 zstd gather _Z5scalePfPKff; cubin 90 stored ...". */
static const char *walk(const char *p, size_t len)
{
	static const char *const packing[] = {"stored", "lz4", "zstd", "unknown"};
	static char text[4096];
	struct bytes b = {p, len};
	struct krt_image_source s = SOURCE(b);
	struct krt_fatbin_walk w = {0};
	struct krt_fatbin_entry e;
	int n = 0;

	text[0] = 0;
	while (krt_fatbin_next(&s, &w, &e)) {
		char *out;
		size_t size;
		int r = krt_fatbin_unpack(&s, &e, 1 << 20, &out, &size);

		n += snprintf(text + n, sizeof(text) - (size_t)n, "%s%s %u %s", n ? "; " : "",
			      e.kind == 1 ? "ptx" : e.kind == 2 ? "cubin" : "other", e.arch,
			      packing[e.packing]);
		if (r) {
			n += snprintf(text + n, sizeof(text) - (size_t)n, " %s", strerror(-r));
			continue;
		}
		if (e.kind == 1) {
			size_t at = 0, nl;
			const char *name;

			size = krt_ptx_clean(out, size);
			cr_assert_eq(krt_image_kind(out, size), KRT_KIND_PTX);
			cr_assert_eq(krt_ptx_target(out, size), e.arch);
			while ((name = krt_ptx_entry(out, size, &at, &nl)))
				n += snprintf(text + n, sizeof(text) - (size_t)n, " %.*s", (int)nl, name);
		} else {
			struct krt_cubin c;
			uint32_t i = 0;
			size_t nl;
			const char *name;

			cr_assert(krt_cubin_open(&c, out, size));
			while ((name = krt_cubin_kernel(&c, &i, &nl)))
				n += snprintf(text + n, sizeof(text) - (size_t)n, " %.*s", (int)nl, name);
		}
		free(out);
	}
	return text;
}

#define KERNELS   " _Z5scalePfPKff gather"
#define BACKWARDS " gather _Z5scalePfPKff"

static void check_walk(const char *dir, const char *name, const char *want)
{
	size_t len;
	char *p = slurp(dir, name, &len);
	char sorted[4096];
	const char *got;

	cr_assert_eq(krt_image_kind(p, len), KRT_KIND_FATBIN);
	got = walk(p, len);
	/* the order of kernels in an entry is the compiler's own */
	snprintf(sorted, sizeof(sorted), "%s", got);
	for (char *at; (at = strstr(sorted, BACKWARDS));)
		memcpy(at, KERNELS, strlen(KERNELS));
	cr_assert_str_eq(sorted, want, "%s: %s", name, sorted);
	free(p);
}

static void check_fatbins(const char *dir)
{
	check_walk(dir, "none.fatbin", "cubin 90 stored" KERNELS "; ptx 90 stored" KERNELS);
	check_walk(dir, "balance.fatbin", "cubin 90 stored" KERNELS "; ptx 90 zstd" KERNELS);
	check_walk(dir, "speed.fatbin", "cubin 90 stored" KERNELS "; ptx 90 lz4" KERNELS);
	check_walk(dir, "size.fatbin", "cubin 90 zstd" KERNELS "; ptx 90 zstd" KERNELS);
	check_walk(dir, "two.fatbin", "ptx 75 zstd" KERNELS "; ptx 90 zstd" KERNELS);
	check_walk(dir, "lineinfo.fatbin", "cubin 90 zstd" KERNELS);
}

/* "0+8 g4; 8+8; ...= 24": offset, size, space and alignment where told, bytes */
static const char *layout(const char *dir, const char *name, const char *kernel)
{
	static char text[1024];
	size_t len;
	char *p = slurp(dir, name, &len);
	struct krt_cubin_params params;
	struct krt_cubin c;
	int n = 0, r;

	cr_assert_eq(krt_image_kind(p, len), KRT_KIND_CUBIN);
	cr_assert(krt_cubin_open(&c, p, len));
	r = krt_cubin_params(&c, kernel, &params);
	free(p);
	if (r)
		return r == -ENOENT ? "none" : "bad";
	text[0] = 0;
	for (uint32_t i = 0; i < params.n; i++) {
		const struct krt_cubin_param *q = &params.param[i];

		n += snprintf(text + n, sizeof(text) - (size_t)n, "%u+%u", q->offset, q->size);
		if (q->space)
			n += snprintf(text + n, sizeof(text) - (size_t)n, ":%u/%u", q->space, q->align);
		n += snprintf(text + n, sizeof(text) - (size_t)n, " ");
	}
	snprintf(text + n, sizeof(text) - (size_t)n, "= %u", params.bytes);
	free(params.param);
	return text;
}

static void check_cubins(const char *dir)
{
	cr_assert_str_eq(layout(dir, "plain.cubin", "gather"), "0+24 24+8 32+8 = 40");
	cr_assert_str_eq(layout(dir, "plain.cubin", "_Z5scalePfPKff"), "0+8 8+8 16+4 = 20");
	cr_assert_str_eq(layout(dir, "plain.cubin", "other"), "none");
	cr_assert_str_eq(layout(dir, "plain.cubin", ""), "none");
	cr_assert_str_eq(layout(dir, "lineinfo75.cubin", "gather"), "0+24 24+8 32+8 = 40");
	/* from this architecture on every pointer is told */
	cr_assert_str_eq(layout(dir, "lineinfo100.cubin", "gather"), "0+24 24+8 32+8:5/0 = 40");
	cr_assert_str_eq(layout(dir, "big.cubin", "big"), "0+8 8+16404 = 16412");
	cr_assert_str_eq(layout(dir, "flags.cubin", "flagged"), "0+8:4/4 8+8:4/2 16+8 24+8:5/3 32+4 = 36");
}

static void check_text(const char *dir)
{
	static const char *const with[] = {"lineinfo75.cubin", "lineinfo90.cubin", "lineinfo100.cubin"};
	size_t len, n;
	char *p, *text;
	struct krt_cubin c;

	for (unsigned i = 0; i < 3; i++) {
		p = slurp(dir, with[i], &len);
		cr_assert(krt_cubin_open(&c, p, len));
		cr_assert_eq(krt_cubin_ptx(&c, &text, &n), 0, "%s", with[i]);
		cr_assert_eq(strlen(text), n);
		cr_assert_eq(krt_image_kind(text, n), KRT_KIND_PTX);
		cr_assert(strstr(text, ".visible .entry gather("));
		cr_assert(strstr(text, "\n.address_size 64"));
		free(text);
		free(p);
	}
	p = slurp(dir, "plain.cubin", &len);
	cr_assert(krt_cubin_open(&c, p, len));
	cr_assert_eq(krt_cubin_ptx(&c, &text, &n), -ENOENT);
	free(p);
}

Test(image, fatbins_of_every_compression)
{
	check_fatbins(IMAGES);
}

Test(image, layout_of_parameters)
{
	check_cubins(IMAGES);
}

Test(image, text_in_cubins)
{
	check_text(IMAGES);
}

Test(image, made_anew)
{
	char dir[] = "/tmp/krt-image-XXXXXX", cmd[1024];

	if (valgrind()) /* which would follow the compiler */
		return;
	if (system("command -v nvcc >/dev/null 2>&1 || [ -x /usr/local/cuda/bin/nvcc ]"))
		return; /* the committed ones are all there is */
	cr_assert(mkdtemp(dir));
	snprintf(cmd, sizeof(cmd), "PATH=$PATH:/usr/local/cuda/bin %s/make.sh %s >/dev/null 2>&1", IMAGES, dir);
	if (!system(cmd)) { /* another version may refuse a choice */
		check_fatbins(dir);
		check_cubins(dir);
		check_text(dir);
	}
	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	cr_assert_eq(system(cmd), 0);
}

Test(image, several_containers_and_a_wrapper_before_them)
{
	size_t a, b, n = 0;
	char *p = slurp(IMAGES, "two.fatbin", &a), *q = slurp(IMAGES, "speed.fatbin", &b);
	char *all = calloc(1, 24 + a + b + 64);

	memcpy(all, "\xb1\x43\x62\x46\1\0\0\0", 8);
	n = 24;
	memcpy(all + n, p, a);
	n = (n + a + 7) & ~7ul;
	/* an empty one between them */
	memcpy(all + n, "\x50\xed\x55\xba\1\0\x10\0\0\0\0\0\0\0\0\0", 16);
	n += 16;
	memcpy(all + n, q, b);
	n += b;
	cr_assert_eq(krt_image_kind(all, n), KRT_KIND_FATBIN);
	walk(all, n);
	cr_assert(strstr(walk(all, n), "ptx 75 zstd"));
	cr_assert(strstr(walk(all, n), "ptx 90 lz4"));
	cr_assert(strstr(walk(all, n), "cubin 90 stored"));
	free(all);
	free(p);
	free(q);
}

Test(image, bombs)
{
	size_t len;
	char *p = slurp(IMAGES, "size.fatbin", &len), *out;
	struct bytes b = {p, len};
	struct krt_image_source s = SOURCE(b);
	struct krt_fatbin_walk w = {0};
	struct krt_fatbin_entry e;

	cr_assert(krt_fatbin_next(&s, &w, &e));
	cr_assert_eq(krt_fatbin_unpack(&s, &e, 100, &out, &len), -EFBIG);
	e.size = 1ull << 40;
	cr_assert_eq(krt_fatbin_unpack(&s, &e, 1ull << 60, &out, &len), -EFBIG);
	e.size = 1 << 28; /* more than is in it */
	cr_assert_eq(krt_fatbin_unpack(&s, &e, 1 << 28, &out, &len), -EBADMSG);
	e.size = 10; /* less */
	cr_assert_eq(krt_fatbin_unpack(&s, &e, 1 << 28, &out, &len), -EBADMSG);
	e.packing = KRT_LZ4;
	e.size = 1 << 28;
	cr_assert_eq(krt_fatbin_unpack(&s, &e, 1 << 28, &out, &len), -EBADMSG);
	e.packing = KRT_PACKING_UNKNOWN;
	cr_assert_eq(krt_fatbin_unpack(&s, &e, 1 << 28, &out, &len), -ENOTSUP);
	e.packing = KRT_STORED;
	e.offset = b.len - 1;
	cr_assert_eq(krt_fatbin_unpack(&s, &e, 1 << 28, &out, &len), -EBADMSG);
	e.offset = UINT64_MAX;
	cr_assert_eq(krt_fatbin_unpack(&s, &e, 1 << 28, &out, &len), -EBADMSG);
	free(p);
}

Test(image, kinds)
{
	static const struct {
		const char *p;
		size_t n;
		enum krt_image_kind kind;
	} k[] = {
		{"", 0, KRT_KIND_UNKNOWN}, {".ve", 3, KRT_KIND_UNKNOWN}, {".version 8.0", 12, KRT_KIND_PTX},
		{"\n\t// x\r\n.version", 16, KRT_KIND_PTX}, {"\0abc", 4, KRT_KIND_UNKNOWN},
		{"\177ELF", 4, KRT_KIND_UNKNOWN}, {"BC\xc0\xde", 4, KRT_KIND_UNKNOWN},
	};

	for (unsigned i = 0; i < sizeof(k) / sizeof(*k); i++)
		cr_assert_eq(krt_image_kind(k[i].p, k[i].n), k[i].kind, "%u", i);
}

Test(image, names_in_text)
{
	static const char text[] = ".target sm_90a, debug\n.entry\n  a(\n.visible .entry $b_%1 (x.entry c) .entryd e "
				   ".entry \"f\" .entry\tg";
	size_t at = 0, n;
	char all[64] = "";
	const char *p;

	while ((p = krt_ptx_entry(text, sizeof(text) - 1, &at, &n)))
		snprintf(all + strlen(all), sizeof(all) - strlen(all), "%.*s|", (int)n, p);
	cr_assert_str_eq(all, "a|$b_%1|g|");
	cr_assert_eq(krt_ptx_target(text, sizeof(text) - 1), 90);
	cr_assert_eq(krt_ptx_target(".target sm_", 11), 0);
	cr_assert_eq(krt_ptx_target(".target", 7), 0);
}

Test(image, clean_text)
{
	char a[] = "\0\0x\0y\0\0", b[] = "\0\0";

	cr_assert_eq(krt_ptx_clean(a, 7), 3);
	cr_assert_str_eq(a, "x\ny");
	cr_assert_eq(krt_ptx_clean(b, 2), 0);
	cr_assert_str_eq(b, "");
}

/* --- damage ---------------------------------------------------------------------- */

static uint64_t seed = 1;
static uint32_t roll(uint32_t n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(seed >> 33) % n;
}

/* Everything that can be asked of it; the answers do not matter. */
static void ask(const char *p, size_t len)
{
	static const char *const kernels[] = {"gather", "big", "flagged", "_Z5scalePfPKff"};
	struct bytes b = {p, len};
	struct krt_image_source s = SOURCE(b);
	struct krt_fatbin_walk w = {0};
	struct krt_fatbin_entry e;
	struct krt_cubin c;
	char *out;
	size_t n, at = 0;
	unsigned entries = 0;

	krt_image_kind(p, len);
	while (krt_fatbin_next(&s, &w, &e) && entries++ < 1000)
		if (!krt_fatbin_unpack(&s, &e, 1 << 20, &out, &n)) {
			krt_ptx_clean(out, n);
			free(out);
		}
	cr_assert_lt(entries, 1000);
	if (krt_cubin_open(&c, p, len)) {
		uint32_t i = 0;

		while (krt_cubin_kernel(&c, &i, &n))
			;
		for (unsigned k = 0; k < 4; k++) {
			struct krt_cubin_params params;

			if (!krt_cubin_params(&c, kernels[k], &params)) {
				for (uint32_t j = 0; j < params.n; j++)
					cr_assert_leq(params.param[j].offset + params.param[j].size,
						      params.bytes);
				free(params.param);
			}
		}
		if (!krt_cubin_ptx(&c, &out, &n))
			free(out);
	}
	while (krt_ptx_entry(p, len, &at, &n))
		;
	krt_ptx_target(p, len);
}

Test(image, damaged)
{
	static const char *const names[] = {
		"none.fatbin", "speed.fatbin", "size.fatbin", "two.fatbin", "lineinfo.fatbin", "lineinfo75.cubin",
		"lineinfo90.cubin", "plain.cubin", "flags.cubin",
	};
	unsigned rounds = valgrind() ? 100 : 4000;

	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) {
		size_t len;
		char *p = slurp(IMAGES, names[i], &len);

		for (unsigned k = 0; k < rounds; k++) {
			size_t n = roll(8) ? len : roll((uint32_t)len + 1);
			char *q = malloc(n ? n : 1);

			memcpy(q, p, n);
			for (unsigned j = roll(8); n && j-- > 0;) {
				/* headers are where it hurts */
				size_t at = roll(2) ? roll((uint32_t)n) : roll(n < 256 ? (uint32_t)n : 256);

				if (roll(3) == 0)
					at = n - 1 - roll(n < 1600 ? (uint32_t)n : 1600);
				q[at] = (char)(roll(2) ? roll(256) : roll(2) ? 0xff : 0);
			}
			ask(q, n);
			free(q);
		}
		for (size_t n = 0; n < len && n < 400; n++) {
			char *q = malloc(n ? n : 1);

			memcpy(q, p, n);
			ask(q, n);
			free(q);
		}
		free(p);
	}
}

/* --- parameters in PTX ------------------------------------------------------------ */

static int layout_of(const char *params, struct krt_layout *l)
{
	char text[1024];
	size_t at = 0, n;

	snprintf(text, sizeof(text), ".version 8.0\n.target sm_90\n.visible .entry k%s\n{ ret; }\n", params);
	cr_assert(krt_ptx_entry(text, strlen(text), &at, &n));
	return krt_ptx_layout(text, strlen(text), at, l);
}

Test(image, parameters_in_ptx)
{
	static struct krt_layout l;

	cr_assert_eq(layout_of("", &l), 0);
	cr_assert_eq(l.n, 0);
	cr_assert_eq(layout_of("()", &l), 0);
	cr_assert_eq(l.n, 0);
	cr_assert_eq(layout_of("(.param .u32 a, .param .u64 b)", &l), 0);
	cr_assert(l.n == 2 && l.bytes == 16 && l.param[1].offset == 8 && l.param[1].size == 8);
	cr_assert_eq(layout_of("( // one\n\t.param .u8 a /* , .param .u64 no */,\n .param .align 16 .b8 b[24],\n"
			       ".param .b64 .ptr .global .align 128 c)", &l), 0);
	cr_assert_eq(l.n, 3);
	cr_assert(l.param[0].offset == 0 && l.param[0].size == 1 && l.param[0].space == KRT_POINTEE_NONE);
	cr_assert(l.param[1].offset == 16 && l.param[1].size == 24);
	cr_assert(l.param[2].offset == 40 && l.param[2].size == 8 && l.param[2].space == KRT_POINTEE_GLOBAL &&
		  l.param[2].align == 7);
	cr_assert_eq(l.bytes, 48);
	cr_assert_eq(layout_of("(.param .f16x2 a, .param .bf16 b, .param .b128 c)", &l), 0);
	cr_assert(l.param[1].offset == 4 && l.param[2].offset == 16 && l.bytes == 32);

	cr_assert_neq(layout_of("(.param .texref t)", &l), 0);
	cr_assert_neq(layout_of("(.param .v4 .f32 t)", &l), 0);
	cr_assert_neq(layout_of("(.param .u32 a", &l), 0);
	cr_assert_neq(layout_of("(.param .u32 a .param .u32 b)", &l), 0);
	cr_assert_neq(layout_of("(.param .u32 a,)", &l), 0);
	cr_assert_neq(layout_of("(.param .align 3 .b8 a[4])", &l), 0);
	cr_assert_neq(layout_of("(.param .b8 a[4294967297])", &l), 0);
	cr_assert_neq(layout_of("(.param .b64 a[65536])", &l), 0);
	cr_assert_neq(layout_of("(.param .b8 a[0])", &l), 0);
	cr_assert_neq(layout_of("(.param .u32 a) /* ", &l), 1);
	cr_assert_neq(layout_of("(/* .param .u32 a)", &l), 0);
}

/* The parser of the analysis says the same of every kernel there is. */
Test(image, parameters_in_ptx_as_the_parser_has_them)
{
	static struct krt_layout l;
	glob_t g;
	unsigned kernels = 0;

	cr_assert_eq(glob(CORPUS "/*.ptx", 0, NULL, &g), 0);
	for (size_t i = 0; i < g.gl_pathc; i++) {
		size_t len, at = 0, n;
		const char *file = strrchr(g.gl_pathv[i], '/') + 1;
		char *text = slurp(CORPUS, file, &len);
		struct ptx_module *m = ptx_parse(text, len, NULL);
		const char *name;

		cr_assert(m, "%s", g.gl_pathv[i]);
		while ((name = krt_ptx_entry(text, len, &at, &n))) {
			char copy[512];
			const struct ptx_func *f;

			snprintf(copy, sizeof(copy), "%.*s", (int)n, name);
			f = ptx_find_func(m, copy);
			cr_assert(f, "%s", copy);
			cr_assert_eq(krt_ptx_layout(text, len, at, &l), 0, "%s", copy);
			cr_assert_eq(l.n, f->nparams, "%s", copy);
			for (uint32_t k = 0; k < l.n; k++)
				cr_assert(l.param[k].offset == f->params[k]->offset &&
						  l.param[k].size == f->params[k]->size,
					  "%s, parameter %u", copy, k);
			cr_assert_eq(l.bytes, f->param_bytes, "%s", copy);
			kernels++;
		}
		ptx_free(m);
		free(text);
	}
	globfree(&g);
	cr_assert_gt(kernels, 300);
}

/* Whatever is changed in them, nothing else is read, and it ends. */
Test(image, parameters_of_damaged_images)
{
	static const char *const files[][2] = {{IMAGES, "plain.cubin"}, {CORPUS, "structs.90.ptx"}};
	static struct krt_layout l;

	for (unsigned f = 0; f < 2; f++) {
		size_t len;
		char *whole = slurp(files[f][0], files[f][1], &len);

		for (unsigned round = 0; round < (valgrind() ? 60 : 3000); round++) {
			size_t n = round % 3 ? len : 1 + roll((uint32_t)len), at = 0, nl;
			char *p = malloc(n); /* of just that size: a tool sees what is read behind it */
			struct krt_cubin c;
			const char *name;
			uint32_t i = 0;

			memcpy(p, whole, n);
			for (unsigned k = 1 + roll(16); k; k--)
				p[roll((uint32_t)n)] = (char)roll(256);
			(void)krt_image_kind(p, n);
			if (krt_cubin_open(&c, p, n))
				while ((name = krt_cubin_kernel(&c, &i, &nl)))
					(void)krt_cubin_layout(&c, name, nl, &l);
			while ((name = krt_ptx_entry(p, n, &at, &nl)))
				(void)krt_ptx_layout(p, n, at, &l);
			free(p);
		}
		free(whole);
	}
}
