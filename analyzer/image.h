/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Formats of module images, what goes beyond image_format.h: unpacking, and texts.
 *
 * Pure functions over bytes that nobody vouches for: whatever they say, nothing
 * outside them is read, nothing grows beyond the limit that the caller names,
 * and each function ends.  Little-endian, as every GPU image is.  Memory that a
 * function hands out is the caller's to free().
 */
#ifndef KRT_IMAGE_H
#define KRT_IMAGE_H

#include "../interposer/image_format.h"

/*
 * The payload, unpacked, with a NUL behind it.  0, -EFBIG (more than limit
 * bytes), -EBADMSG, -ENOTSUP (an unknown packing), -EIO (not to be read), -ENOMEM.
 */
int krt_fatbin_unpack(const struct krt_image_source *s, const struct krt_fatbin_entry *e,
		      uint64_t limit, char **out, size_t *len);

/* --- cubins ---------------------------------------------------------------------- */

/*
 * The PTX text that it was made from, newlines put back and a NUL behind it: 0,
 * -ENOENT (it has none: it was not built with line information), -ENOMEM.
 */
int krt_cubin_ptx(const struct krt_cubin *c, char **out, size_t *len);

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

#endif
