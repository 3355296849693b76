/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Formats of module images: fatbin containers, cubins, PTX text.
 *
 * Pure functions over bytes that nobody vouches for: whatever they say, nothing
 * outside them is read, nothing grows beyond the limit that the caller names,
 * and each function ends.  Little-endian, as every GPU image is.  Memory that a
 * function hands out is the caller's to free().
 */
#ifndef KRT_IMAGE_H
#define KRT_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum krt_image_kind {
	KRT_KIND_UNKNOWN = 0,
	KRT_KIND_PTX,
	KRT_KIND_CUBIN,
	KRT_KIND_FATBIN, /* one container or more, or a file that begins with a wrapper */
};
/* By the first bytes. */
enum krt_image_kind krt_image_kind(const void *p, size_t len);

/* Reads n bytes at off; false: there are not so many. */
typedef bool krt_image_read(void *user, uint64_t off, void *to, size_t n);
struct krt_image_source {
	krt_image_read *read;
	void *user;
	uint64_t len;
};

/* --- fatbin containers -------------------------------------------------------- */

enum krt_packing { KRT_STORED = 0, KRT_LZ4, KRT_ZSTD, KRT_PACKING_UNKNOWN };

struct krt_fatbin_entry {
	uint16_t kind;          /* 1 PTX, 2 cubin; others are of no use */
	uint16_t major, minor;  /* of the PTX ISA, or of the tool */
	uint32_t arch;          /* 90 for sm_90 */
	uint64_t flags;
	uint64_t offset;        /* of the payload in the image */
	uint64_t stored;        /* its bytes there, padding left out where it is known */
	uint64_t size;          /* unpacked */
	enum krt_packing packing;
};
struct krt_fatbin_walk {
	uint64_t at, end; /* zero: begin */
	uint32_t steps;
};
/* The next entry of all containers; false: no more, or no sense in what follows. */
bool krt_fatbin_next(const struct krt_image_source *s, struct krt_fatbin_walk *w,
		     struct krt_fatbin_entry *e);
/*
 * The payload, unpacked, with a NUL behind it.  0, -EFBIG (more than limit
 * bytes), -EBADMSG, -ENOTSUP (an unknown packing), -EIO (not to be read), -ENOMEM.
 */
int krt_fatbin_unpack(const struct krt_image_source *s, const struct krt_fatbin_entry *e,
		      uint64_t limit, char **out, size_t *len);

/* --- cubins ---------------------------------------------------------------------- */

struct krt_cubin {
	const unsigned char *p;
	size_t len;
	uint64_t shoff;
	uint32_t sections;
	const char *names; /* of sections */
	size_t names_len;
};
/* False: no cubin.  It points into p. */
bool krt_cubin_open(struct krt_cubin *c, const void *p, size_t len);
/*
 * The PTX text that it was made from, newlines put back and a NUL behind it: 0,
 * -ENOENT (it has none: it was not built with line information), -ENOMEM.
 */
int krt_cubin_ptx(const struct krt_cubin *c, char **out, size_t *len);
/* The name of kernel i, not terminated; NULL: no more. */
const char *krt_cubin_kernel(const struct krt_cubin *c, uint32_t *i, size_t *len);

enum krt_pointee { /* what the compiler was told of the pointer; NONE says nothing */
	KRT_POINTEE_NONE = 0, KRT_POINTEE_LOCAL, KRT_POINTEE_SHARED, KRT_POINTEE_CONST,
	KRT_POINTEE_GLOBAL, KRT_POINTEE_GENERIC,
};
struct krt_cubin_param {
	uint32_t offset, size; /* in the parameter buffer */
	uint8_t space;         /* as told: enum krt_pointee; not NONE: surely a pointer */
	uint8_t align;         /* log2 of the pointee's alignment */
};
struct krt_cubin_params {
	uint32_t n, bytes;
	struct krt_cubin_param *param; /* free() */
};
/* The layout from .nv.info: 0, -ENOENT (no such kernel), -EBADMSG, -ENOMEM. */
int krt_cubin_params(const struct krt_cubin *c, const char *kernel, struct krt_cubin_params *out);

/* --- PTX text ---------------------------------------------------------------------- */

/* Makes one text of what a section or entry holds: NULs inside become newlines.  Its length. */
size_t krt_ptx_clean(char *text, size_t len);
/* The number in its .target sm_NN, 0: none. */
uint32_t krt_ptx_target(const char *text, size_t len);
/* The next ".entry NAME" from *at on; the name is not terminated.  NULL: no more. */
const char *krt_ptx_entry(const char *text, size_t len, size_t *at, size_t *name_len);

#endif
