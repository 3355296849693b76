/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The module images of a session: from a kernel's name and the images of its
 * module to the PTX text that it was made from, or to its parameters.
 *
 * Reads files that traces name: only regular ones, and only while they are what
 * ran (build-id, else size and time; and a hash of the image's beginning).  Bad
 * images are answers, never failures.  What was unpacked is kept and goes, the
 * longest unused first, when it is more than the limit.
 *
 * Not locked: one thread drives a session.
 */
#ifndef KRT_IMAGE_STORE_H
#define KRT_IMAGE_STORE_H

#include "image.h"
#include "../interposer/record.h"

struct krt_image_store;

struct krt_image_config {
	uint64_t copied;      /* bytes of images that came in records, kept at most; 0: 256 MiB */
	uint64_t unpacked;    /* bytes of text kept at most, and of any one image unpacked; 0: 256 MiB */
	const char *ptx_path; /* a folder of KERNEL.ptx and HASH.ptx, also in folders of it, or NULL */
	bool library;         /* images in NVIDIA's own libraries too */
};

/* Why there is no answer, the best of all images that were asked. */
enum krt_image_result {
	KRT_IMAGE_FOUND = 0,
	KRT_IMAGE_NO_TEXT,  /* there is machine code alone */
	KRT_IMAGE_OFF,      /* it lies in one of NVIDIA's libraries */
	KRT_IMAGE_CHANGED,  /* the file is not there, or is another one by now */
	KRT_IMAGE_DAMAGED,  /* it makes no sense, or is too large */
	KRT_IMAGE_NONE,     /* no image holds such a kernel, or no image is known */
	KRT_IMAGE_NO_MEMORY,
	KRT_NR_IMAGE_RESULTS
};
const char *krt_image_result_text(enum krt_image_result r);

enum krt_image_from { KRT_FROM_PTX, KRT_FROM_FATBIN, KRT_FROM_CUBIN, KRT_FROM_FOLDER };
/* "PTX", "PTX in the fat binary", ... */
const char *krt_image_from_text(enum krt_image_from f);

struct krt_image_text {
	const char *text; /* with a NUL at its end; until the store is asked again */
	size_t len;
	uint64_t hash;    /* of the text: what is known of a kernel may be kept under it and the name */
	uint32_t arch;    /* 90: made for sm_90; 0: not told */
	enum krt_image_from from;
	const char *where; /* the file, or NULL: it came from memory; until the store is freed */
};

/* NULL: no memory. */
struct krt_image_store *krt_image_store_new(const struct krt_image_config *cfg);
void krt_image_store_free(struct krt_image_store *s);
/* An IMAGE record of a process (any number of the caller's).  0, -EINVAL, -ENOMEM. */
int krt_image_store_record(struct krt_image_store *s, unsigned process,
			   const struct krt_rec_image *r, size_t len);
/*
 * The text with the kernel among images ids[0..n): that of the nearest
 * architecture which is not beyond arch (0: not known, the latest), else any.
 * Returns an enum krt_image_result.
 */
int krt_image_store_text(struct krt_image_store *s, unsigned process, const uint32_t *ids, uint32_t n,
			 const char *kernel, uint32_t arch, struct krt_image_text *out);
/* The kernel's parameters from a cubin, an enum krt_image_result; out->param is the caller's to free(). */
int krt_image_store_params(struct krt_image_store *s, unsigned process, const uint32_t *ids, uint32_t n,
			   const char *kernel, uint32_t arch, struct krt_cubin_params *out);
/* Bytes held: of copied images, of unpacked text. */
void krt_image_store_volume(const struct krt_image_store *s, uint64_t *copied, uint64_t *unpacked);

#endif
