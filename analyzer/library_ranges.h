/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which bytes a call of one of NVIDIA's libraries reads and writes, from its
 * arguments and the words recorded with it (interposer/library.h).  Pure
 * functions; records are untrusted: sizes that make no sense give nothing.
 */
#ifndef KRT_LIBRARY_RANGES_H
#define KRT_LIBRARY_RANGES_H

#include "../interposer/library.h"
#include "engine_int.h"

/* One side of an FFT. */
struct krt_fft_side {
	unsigned bits;	       /* of an element, 0: not known */
	bool real;	       /* the other side is complex */
	bool basic;	       /* stride and dist are those of packed data (padded in place) */
	uint64_t stride, dist; /* in elements */
	uint64_t embed[3];
};

struct krt_fft_plan {
	unsigned rank; /* 0: sizes make no sense */
	uint64_t n[3], batch;
	struct krt_fft_side in, out;
};

struct krt_library_in {
	const struct krt_lib_fn *f;
	const uint64_t *args, *words;	 /* f->argc, krt_lib_words(f) */
	const struct krt_fft_plan *plan; /* NULL: not known */
	/* Words in device memory, as krt_shadow_read; NULL: none is known. */
	size_t (*read)(void *user, uint64_t addr, uint64_t *words, size_t n);
	krt_kernel_fn *fn;
	void *user; /* of both */
};

/* fn for each access; know is LIBRARY.  False: nothing is known of such a call. */
bool krt_library_ranges(const struct krt_library_in *in);

/* The plan that a call of kind FFT_PLAN made. */
struct krt_fft_plan krt_library_plan(const struct krt_lib_fn *f, const uint64_t *args,
				     const uint64_t *words);

#endif
