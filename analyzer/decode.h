/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call record seen through the entry-point table: what each argument is
 * (its role) decides where its value goes.  Nothing here knows a single entry
 * point.  The view points into the record; it owns nothing.  Records are
 * untrusted: everything is checked against the record's length.
 */
#ifndef KRT_DECODE_H
#define KRT_DECODE_H

#include "../interposer/api.h"
#include "../interposer/record.h"

#include <stdbool.h>

struct krt_bytes {
	const void *data; /* NULL: not there */
	uint32_t len;
};

struct krt_call {
	const struct krt_rec_call *rec;
	const struct krt_api *api;
	enum krt_op op;
	unsigned lane;
	uint32_t range;   /* string id of the thread's innermost NVTX range, 0: none; set by the engine */
	bool ok;	  /* the call succeeded */
	bool not_ready;	  /* a query that answered NOT_READY */
	bool told;	  /* the engine: a finding says why it failed */
	uint64_t have[2]; /* bit set of roles: the entry point has such an argument */

	uint64_t dst, src, addr, dst_array, src_array, dst_off, src_off, dst_ctx, src_ctx;
	uint64_t bytes, count, offset, pitch, width, height, value, flags, token;
	uint64_t stream, event, event2, ctx, device, func, module, pool, graph, exec, node, array, handle, image;
	uint64_t grid[3], block[3], shared;
	uint64_t number[4]; /* U32, U64 and PTR arguments in their order */
	unsigned ngrid, nblock, numbers;

	/* read behind a pointer; 0 after a failed call */
	uint64_t out_addr, out_handle, out_size;

	/* graphs: blobs of whole structures of record.h, their sizes checked (not what is in them) */
	const struct krt_capture_rec *capture;
	const struct krt_frame_rec *frame;
	struct krt_bytes node_rec, graph_rec;
	struct krt_bytes images; /* struct krt_image_ref[] */
	struct krt_bytes pointers; /* struct krt_pointer_run and its words, one after the other */

	struct krt_bytes string, copy, array_desc, dsts, srcs, sizes, attrs, attr_idx, ops3d,
		memops, handles, sems, launch, launch_list, params, in, out, dims, strides;
	uint8_t params_kind; /* enum krt_blob_kind of params */
};

/* False: the record does not fit its own length or the table. */
bool krt_decode(const struct krt_rec *rec, size_t len, unsigned lane, struct krt_call *c);

static inline bool krt_has(const struct krt_call *c, enum krt_role role)
{
	return c->have[role / 64] >> role % 64 & 1;
}

/* Element i of an array of u64, 0 past its end. */
uint64_t krt_u64_at(const struct krt_bytes *b, uint64_t i);

/* Bytes of one element of a set, from the row's flags; 1 where none is given. */
unsigned krt_elem_size(const struct krt_api *api);

#endif
