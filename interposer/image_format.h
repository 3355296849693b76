/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Formats of module images, as far as reading them takes no memory: what an image
 * is, fatbin containers, cubins, kernels and their parameters.  For the recorder
 * and the analyzer both.
 *
 * Pure functions over bytes that nobody vouches for: whatever they say, nothing
 * outside them is read, and each function ends.  Little-endian, as every GPU
 * image is.
 */
#ifndef KRT_IMAGE_FORMAT_H
#define KRT_IMAGE_FORMAT_H

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
/* The section with the name prefix + rest; NULL: there is none. */
const unsigned char *krt_cubin_section(const struct krt_cubin *c, const char *prefix,
				       const char *rest, size_t rest_len, size_t *len);
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
#define KRT_PARAMS_MAX	    4096u
#define KRT_PARAM_BYTES_MAX 65536u
struct krt_layout {
	uint32_t n, bytes;
	struct krt_cubin_param param[KRT_PARAMS_MAX];
};
/* The layout from .nv.info: 0, -ENOENT (no such kernel), -EBADMSG. */
int krt_cubin_layout(const struct krt_cubin *c, const char *kernel, size_t len, struct krt_layout *out);

/* --- PTX text ---------------------------------------------------------------------- */

/* Behind the next occurrence of a directive and the blanks after it, from *at on; NULL: none. */
const char *krt_ptx_directive(const char *text, size_t len, size_t *at, const char *word);
/* The next ".entry NAME" from *at on; the name is not terminated.  NULL: no more. */
const char *krt_ptx_entry(const char *text, size_t len, size_t *at, size_t *name_len);
/*
 * The parameters of the entry whose name ends at `at`, laid out as the driver does:
 * 0, -ENOTSUP (not of the plain sorts), -EBADMSG.
 */
int krt_ptx_layout(const char *text, size_t len, size_t at, struct krt_layout *out);

#endif
