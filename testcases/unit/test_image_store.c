/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a kernel's name and the images of its module to text and parameters
 * (image_store.h): copies, files and what becomes of them, architectures,
 * limits, the folder of texts, damaged images.
 */
#define _GNU_SOURCE
#include "analyzer/image_store.h"

#include <criterion/criterion.h>
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct krt_image_store *s;
static char dir[] = "/tmp/krt-store-XXXXXX";
static struct krt_image_text got;

static void open_store(const struct krt_image_config *cfg)
{
	krt_image_store_free(s);
	s = krt_image_store_new(cfg);
	cr_assert(s);
}

static void setup(void)
{
	cr_assert(mkdtemp(dir));
	open_store(&(struct krt_image_config){0});
}

static void teardown(void)
{
	char cmd[64];

	krt_image_store_free(s);
	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	cr_assert_eq(system(cmd), 0);
}

TestSuite(image_store, .init = setup, .fini = teardown);

static char *slurp(const char *name, size_t *len)
{
	char path[512], *p = malloc(1 << 16);
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", IMAGES, name);
	f = fopen(path, "rb");
	cr_assert(f, "%s", path);
	*len = fread(p, 1, 1 << 16, f);
	fclose(f);
	return p;
}

static int copy_of(unsigned process, uint32_t id, const char *p, size_t len, unsigned role)
{
	size_t size = sizeof(struct krt_rec_image) + len;
	struct krt_rec_image *r = calloc(1, size);
	int rc;

	r->id = id;
	r->form = KRT_IMAGE_COPY;
	r->role = (uint8_t)role;
	r->len = len;
	memcpy(r->data, p, len);
	r->sample = krt_image_sample(p, len);
	r->hash[0] = r->sample ^ len << 32;
	r->hash[1] = len;
	rc = krt_image_store_record(s, process, r, size);
	free(r);
	return rc;
}

static void fixture(unsigned process, uint32_t id, const char *name)
{
	size_t len;
	char *p = slurp(name, &len);

	cr_assert_eq(copy_of(process, id, p, len, 0), 0);
	free(p);
}

static struct krt_rec_image *file_record(uint32_t id, const char *path, uint64_t offset, uint64_t len)
{
	struct krt_rec_image *r = calloc(1, sizeof(*r) + 512);
	unsigned char head[KRT_IMAGE_SAMPLE];
	FILE *f = fopen(path, "rb");
	struct stat st;

	cr_assert(f && !fstat(fileno(f), &st) && !fseek(f, (long)offset, SEEK_SET));
	r->id = id;
	r->form = KRT_IMAGE_FILE;
	r->len = len ? len : (uint64_t)st.st_size;
	r->offset = offset;
	r->file_size = (uint64_t)st.st_size;
	r->mtime_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec;
	r->sample = krt_image_sample(head, fread(head, 1, r->len < sizeof(head) ? r->len : sizeof(head), f));
	r->hash[0] = id;
	r->path_len = (uint16_t)strlen(path);
	memcpy(r->data, path, r->path_len);
	fclose(f);
	return r;
}

static int file(struct krt_rec_image *r)
{
	int rc = krt_image_store_record(s, 0, r, sizeof(*r) + 512);

	free(r);
	return rc;
}

static enum krt_image_result text(uint32_t id, const char *kernel, uint32_t arch)
{
	got = (struct krt_image_text){0};
	return krt_image_store_text(s, 0, &id, 1, kernel, arch, &got);
}

static void found(uint32_t id, const char *kernel, uint32_t arch, enum krt_image_from from, uint32_t of)
{
	char entry[64];

	cr_assert_eq(text(id, kernel, arch), KRT_IMAGE_FOUND, "%u %s", id, kernel);
	snprintf(entry, sizeof(entry), ".entry %s(", kernel);
	cr_assert(strstr(got.text, entry));
	cr_assert_eq(strlen(got.text), got.len);
	cr_assert_eq(got.from, from);
	cr_assert_eq(got.arch, of);
}

Test(image_store, copies)
{
	fixture(0, 1, "none.fatbin");
	fixture(0, 2, "speed.fatbin");
	fixture(0, 3, "size.fatbin");
	fixture(0, 4, "lineinfo.fatbin");
	fixture(0, 5, "lineinfo90.cubin");
	fixture(0, 6, "plain.cubin");
	fixture(0, 7, "flags.ptx");
	found(1, "gather", 90, KRT_FROM_FATBIN, 90);
	found(2, "_Z5scalePfPKff", 90, KRT_FROM_FATBIN, 90);
	found(3, "gather", 90, KRT_FROM_FATBIN, 90);
	found(4, "gather", 90, KRT_FROM_CUBIN, 90);
	found(5, "gather", 90, KRT_FROM_CUBIN, 90);
	cr_assert_null(got.where);
	cr_assert_eq(text(6, "gather", 90), KRT_IMAGE_NO_TEXT);
	found(7, "flagged", 90, KRT_FROM_PTX, 90);
	cr_assert_eq(text(1, "other", 90), KRT_IMAGE_NONE);
	cr_assert_eq(text(1, "other", 90), KRT_IMAGE_NONE);
	cr_assert_eq(text(8, "gather", 90), KRT_IMAGE_NONE);
	cr_assert_eq(text(0, "gather", 90), KRT_IMAGE_NONE);
	cr_assert_eq(text(UINT32_MAX, "gather", 90), KRT_IMAGE_NONE);
}

Test(image_store, several_images_and_processes)
{
	const uint32_t ids[] = {1, 9, 2, 3};
	uint64_t copied, unpacked, again;

	fixture(0, 1, "plain.cubin");
	fixture(0, 2, "flags.cubin");
	fixture(0, 3, "none.fatbin");
	cr_assert_eq(krt_image_store_text(s, 0, ids, 4, "gather", 90, &got), KRT_IMAGE_FOUND);
	cr_assert_eq(krt_image_store_text(s, 0, ids, 2, "gather", 90, &got), KRT_IMAGE_NO_TEXT);
	cr_assert_eq(krt_image_store_text(s, 1, ids, 4, "gather", 90, &got), KRT_IMAGE_NONE);
	krt_image_store_volume(s, &copied, &unpacked);
	fixture(7, 1, "none.fatbin"); /* the same bytes are kept once */
	krt_image_store_volume(s, &again, &unpacked);
	cr_assert_eq(copied, again);
	cr_assert_eq(krt_image_store_text(s, 7, ids, 1, "gather", 90, &got), KRT_IMAGE_FOUND);
}

Test(image_store, architectures)
{
	fixture(0, 1, "two.fatbin");
	found(1, "gather", 90, KRT_FROM_FATBIN, 90);
	found(1, "gather", 89, KRT_FROM_FATBIN, 75);
	found(1, "gather", 100, KRT_FROM_FATBIN, 90);
	found(1, "gather", 0, KRT_FROM_FATBIN, 90);
	found(1, "gather", 70, KRT_FROM_FATBIN, 75);
}

Test(image_store, parameters)
{
	struct krt_cubin_params p;
	uint32_t ids[] = {1, 2, 3};

	fixture(0, 1, "two.fatbin");
	fixture(0, 2, "flags.cubin");
	fixture(0, 3, "size.fatbin");
	cr_assert_eq(krt_image_store_params(s, 0, ids, 3, "gather", 90, &p), KRT_IMAGE_FOUND);
	cr_assert_eq(p.n, 3);
	cr_assert_eq(p.bytes, 40);
	free(p.param);
	cr_assert_eq(krt_image_store_params(s, 0, ids, 3, "flagged", 90, &p), KRT_IMAGE_FOUND);
	cr_assert_eq(p.n, 5);
	cr_assert_eq(p.param[0].space, KRT_POINTEE_GLOBAL);
	free(p.param);
	cr_assert_eq(krt_image_store_params(s, 0, ids, 1, "gather", 90, &p), KRT_IMAGE_NONE);
	cr_assert_eq(p.n, 0);
}

/* An ELF file with a build-id and an image at 4096. */
static void elf(const char *path, unsigned char build, const char *image, size_t len)
{
	struct {
		Elf64_Ehdr h;
		Elf64_Phdr p[2];
		Elf64_Nhdr n[2];
		char note[8 + 4 + 20];
	} x = {0};
	FILE *f = fopen(path, "wb");

	memcpy(x.h.e_ident, "\177ELF\2\1\1", 7);
	x.h.e_phoff = sizeof(x.h);
	x.h.e_phentsize = sizeof(x.p[0]);
	x.h.e_phnum = 2;
	x.p[0].p_type = PT_LOAD;
	x.p[1].p_type = PT_NOTE;
	x.p[1].p_offset = (char *)&x.n[1] - (char *)&x;
	x.p[1].p_filesz = sizeof(x.n[1]) + 4 + 20;
	x.n[1].n_namesz = 4;
	x.n[1].n_descsz = 20;
	x.n[1].n_type = NT_GNU_BUILD_ID;
	memcpy(x.note, "GNU", 4);
	memset(x.note + 4, build, 20);
	cr_assert(f && fwrite(&x, sizeof(x), 1, f) == 1 && !fseek(f, 4096, SEEK_SET) &&
		  fwrite(image, 1, len, f) == len && !fclose(f));
}

Test(image_store, files)
{
	struct krt_rec_image *r;
	char path[128];
	size_t len;
	char *p = slurp("speed.fatbin", &len);

	snprintf(path, sizeof(path), "%s/lib.so", dir);
	elf(path, 7, p, len);
	for (uint32_t id = 1; id <= 6; id++) {
		r = file_record(id, path, 4096, len);
		r->build_id_len = 20;
		memset(r->build_id, id == 2 ? 8 : 7, 20);
		if (id == 3)
			r->role = KRT_MODULE_CUDA;
		if (id == 4)
			r->sample++;
		if (id == 5)
			r->len += 100;
		if (id == 6) { /* without build-id it is its time that counts */
			r->build_id_len = 0;
			r->mtime_ns++;
		}
		cr_assert_eq(file(r), 0);
	}
	found(1, "gather", 90, KRT_FROM_FATBIN, 90);
	cr_assert_str_eq(got.where, path);
	cr_assert_eq(text(2, "gather", 90), KRT_IMAGE_CHANGED);
	cr_assert_eq(text(3, "gather", 90), KRT_IMAGE_OFF);
	cr_assert_eq(text(4, "gather", 90), KRT_IMAGE_CHANGED);
	cr_assert_eq(text(5, "gather", 90), KRT_IMAGE_CHANGED);
	cr_assert_eq(text(6, "gather", 90), KRT_IMAGE_CHANGED);
	r = file_record(7, path, 4096, len);
	cr_assert_eq(file(r), 0);
	found(7, "gather", 90, KRT_FROM_FATBIN, 90);
	/* gone: what was unpacked stays */
	r = file_record(8, path, 4096, len);
	cr_assert_eq(file(r), 0);
	unlink(path);
	cr_assert_eq(text(8, "gather", 90), KRT_IMAGE_CHANGED);
	/* neither a folder nor a device */
	r = file_record(9, "/dev/null", 0, 1);
	cr_assert_eq(file(r), 0);
	cr_assert_eq(text(9, "gather", 90), KRT_IMAGE_CHANGED);
	free(p);
}

Test(image_store, nvidias_own)
{
	struct krt_image_config cfg = {.library = true};
	size_t len;
	char *p = slurp("none.fatbin", &len);

	cr_assert_eq(copy_of(0, 1, p, len, KRT_MODULE_CUDA), 0);
	cr_assert_eq(text(1, "gather", 90), KRT_IMAGE_OFF);
	open_store(&cfg);
	cr_assert_eq(copy_of(0, 1, p, len, KRT_MODULE_CUDA), 0);
	found(1, "gather", 90, KRT_FROM_FATBIN, 90);
	free(p);
}

Test(image_store, limits)
{
	struct krt_image_config cfg = {.copied = 8000, .unpacked = 3000};
	uint64_t copied, unpacked;

	open_store(&cfg);
	fixture(0, 1, "speed.fatbin");
	fixture(0, 2, "none.fatbin"); /* too much */
	found(1, "gather", 90, KRT_FROM_FATBIN, 90);
	cr_assert_eq(text(2, "gather", 90), KRT_IMAGE_DAMAGED);
	/* texts come and go */
	cfg.copied = 0;
	open_store(&cfg);
	fixture(0, 1, "speed.fatbin");
	fixture(0, 2, "none.fatbin");
	fixture(0, 3, "two.fatbin");
	for (unsigned i = 0; i < 20; i++) {
		found(1 + i % 3, i & 1 ? "gather" : "_Z5scalePfPKff", 90, KRT_FROM_FATBIN, 90);
		krt_image_store_volume(s, &copied, &unpacked);
		cr_assert_leq(unpacked, 3000);
		cr_assert_gt(unpacked, 0);
	}
	cfg.unpacked = 100; /* none fits */
	open_store(&cfg);
	fixture(0, 1, "speed.fatbin");
	cr_assert_eq(text(1, "gather", 90), KRT_IMAGE_DAMAGED);
}

Test(image_store, folder_of_texts)
{
	struct krt_image_config cfg = {.ptx_path = dir};
	char path[128];
	size_t len;
	char *p = slurp("plain.cubin", &len);
	FILE *f;

	open_store(&cfg);
	cr_assert_eq(copy_of(0, 1, p, len, 0), 0);
	free(p);
	cr_assert_eq(text(1, "gather", 90), KRT_IMAGE_NO_TEXT);
	snprintf(path, sizeof(path), "%s/gather.ptx", dir);
	f = fopen(path, "w");
	fputs(".version 8.0\n.target sm_80\n.entry gather(", f);
	fclose(f);
	found(1, "gather", 90, KRT_FROM_FOLDER, 80);
	cr_assert_str_eq(got.where, path);
	found(77, "gather", 90, KRT_FROM_FOLDER, 80);
	/* a name that leads out of the folder */
	cr_assert_eq(text(1, "../x/gather", 90), KRT_IMAGE_NONE);
	cr_assert_eq(text(1, "", 90), KRT_IMAGE_NONE);
	/* the wrong text in it */
	snprintf(path, sizeof(path), "%s/_Z5scalePfPKff.ptx", dir);
	f = fopen(path, "w");
	fputs(".version 8.0\n.target sm_80\n.entry gather(", f);
	fclose(f);
	cr_assert_eq(text(1, "_Z5scalePfPKff", 90), KRT_IMAGE_NO_TEXT);
}

static void write_text(const char *path, unsigned arch)
{
	FILE *f = fopen(path, "w");

	cr_assert(f, "%s", path);
	fprintf(f, ".version 8.0\n.target sm_%u\n.entry nested(", arch);
	fclose(f);
}

/* As Triton's cache lies: HASH/NAME.ptx. */
Test(image_store, folders_in_the_folder)
{
	struct krt_image_config cfg = {.ptx_path = dir};
	char path[128];

	open_store(&cfg);
	cr_assert_eq(text(77, "nested", 90), KRT_IMAGE_NONE);
	snprintf(path, sizeof(path), "%s/ABC", dir);
	cr_assert_eq(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/ABC/nested.ptx", dir);
	write_text(path, 80);
	found(77, "nested", 90, KRT_FROM_FOLDER, 80);
	cr_assert_str_eq(got.where, path);
	/* no deeper */
	snprintf(path, sizeof(path), "%s/ABC/deep", dir);
	cr_assert_eq(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/ABC/deep/other.ptx", dir);
	write_text(path, 80);
	cr_assert_eq(text(77, "other", 90), KRT_IMAGE_NONE);
	/* the same again is the same; what differs is not guessed at */
	snprintf(path, sizeof(path), "%s/DEF", dir);
	cr_assert_eq(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/DEF/nested.ptx", dir);
	write_text(path, 80);
	open_store(&cfg);
	found(77, "nested", 90, KRT_FROM_FOLDER, 80);
	write_text(path, 75);
	open_store(&cfg);
	cr_assert_eq(text(77, "nested", 90), KRT_IMAGE_NONE);
	/* unless it lies in the folder itself */
	snprintf(path, sizeof(path), "%s/nested.ptx", dir);
	write_text(path, 90);
	open_store(&cfg);
	found(77, "nested", 90, KRT_FROM_FOLDER, 90);
}

Test(image_store, folder_by_hash)
{
	struct krt_image_config cfg = {.ptx_path = dir};
	char path[128];
	size_t len;
	char *p = slurp("plain.cubin", &len);
	FILE *f;

	open_store(&cfg);
	cr_assert_eq(copy_of(0, 1, p, len, 0), 0);
	snprintf(path, sizeof(path), "%s/%016llx%016llx.ptx", dir,
		 (unsigned long long)(krt_image_sample(p, len) ^ len << 32), (unsigned long long)len);
	free(p);
	f = fopen(path, "w");
	fputs(".version 8.0\n.target sm_80\n.entry gather(", f);
	fclose(f);
	found(1, "gather", 90, KRT_FROM_FOLDER, 80);
}

Test(image_store, records_that_make_no_sense)
{
	struct krt_rec_image *r = calloc(1, sizeof(*r) + 64);
	const size_t all = sizeof(*r) + 64;

	r->id = 1;
	r->form = KRT_IMAGE_COPY;
	r->len = 65;
	cr_assert_eq(krt_image_store_record(s, 0, r, all), -EINVAL);
	r->len = UINT64_MAX;
	cr_assert_eq(krt_image_store_record(s, 0, r, all), -EINVAL);
	r->len = 0;
	cr_assert_eq(krt_image_store_record(s, 0, r, all), -EINVAL);
	r->len = 64;
	cr_assert_eq(krt_image_store_record(s, 0, r, sizeof(*r) - 8), -EINVAL);
	cr_assert_eq(krt_image_store_record(s, UINT32_MAX, r, all), -EINVAL);
	r->id = UINT32_MAX;
	cr_assert_eq(krt_image_store_record(s, 0, r, all), -EINVAL);
	r->id = 0;
	cr_assert_eq(krt_image_store_record(s, 0, r, all), -EINVAL);
	r->id = 1;
	r->form = 9;
	cr_assert_eq(krt_image_store_record(s, 0, r, all), -EINVAL);
	r->form = KRT_IMAGE_FILE;
	cr_assert_eq(krt_image_store_record(s, 0, r, all), -EINVAL);
	r->path_len = 65;
	r->data[0] = '/';
	cr_assert_eq(krt_image_store_record(s, 0, r, all), -EINVAL);
	r->path_len = 3;
	r->offset = UINT64_MAX;
	cr_assert_eq(krt_image_store_record(s, 0, r, all), -EINVAL);
	r->offset = 0;
	memcpy(r->data, "rel", 3);
	cr_assert_eq(krt_image_store_record(s, 0, r, all), -EINVAL);
	memcpy(r->data, "/no", 3);
	cr_assert_eq(krt_image_store_record(s, 0, r, all), 0);
	cr_assert_eq(text(1, "gather", 90), KRT_IMAGE_CHANGED);
	free(r);
}

static uint64_t seed = 1;
static uint32_t roll(uint32_t n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(seed >> 33) % n;
}

Test(image_store, damaged)
{
	static const char *const names[] = {"none.fatbin", "speed.fatbin", "two.fatbin", "lineinfo90.cubin"};
	static const char *const kernels[] = {"gather", "_Z5scalePfPKff", "x"};
	struct krt_cubin_params params;

	for (unsigned i = 0; i < 400; i++) {
		size_t len;
		char *p = slurp(names[roll(4)], &len);
		const uint32_t id = 1 + i;

		for (unsigned j = 1 + roll(8); j-- > 0;)
			p[roll(2) ? roll((uint32_t)len) : roll(200)] = (char)roll(256);
		cr_assert_eq(copy_of(0, id, p, roll(4) ? len : 1 + roll((uint32_t)len), 0), 0);
		free(p);
		for (unsigned k = 0; k < 3; k++) {
			if (!text(id, kernels[k], 90))
				cr_assert_eq(strlen(got.text), got.len);
			if (!krt_image_store_params(s, 0, &id, 1, kernels[k], 90, &params))
				free(params.param);
		}
	}
}
