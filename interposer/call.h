/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One driver call being recorded: what a wrapper keeps on its stack while the
 * driver runs.
 */
#ifndef KRT_CALL_H
#define KRT_CALL_H

#include "internal.h"

#pragma GCC visibility push(hidden)

struct krt_thread;
struct krt_kernel;

struct krt_call {
	struct krt_thread *thread; /* NULL: not recording yet; looked at for cuInit and late attach */
	uint64_t *args;            /* the wrapper's own array */
	struct krt_rec_call *rec;  /* being built, NULL: lost for want of memory */
	size_t size, room;         /* of rec: so far, at most */
	size_t mark;               /* scratch level before this call */
	uint64_t sp;               /* set by the wrapper: the program's stack begins there */
	uint64_t start_ns;
	uint64_t heap_mark;        /* what the heap filter knew before the driver was called */
	void *hostfn;              /* trampoline handed to the driver in this call */
	struct krt_capture_rec before; /* graphs.c: the stream's capture before the driver was called */
	uint16_t api;
	bool mapped;               /* rec is a mapping of its own */
#define KRT_NAMED 16
	uint8_t nnamed;            /* flight.c: allocations that a launch's parameters point into */
	uint64_t named[KRT_NAMED]; /* their first bytes */
	bool timed;                /* between krt_timing_begin and _end */
};

/*
 * Before the driver call: false means pass through (not recording, or called
 * from inside the driver).  May change args.  Takes the first ticket last.
 */
bool krt_call_begin(struct krt_call *call, unsigned api, uint64_t *args);
/* After it: takes the second ticket, publishes the record, returns result. */
int krt_call_end(struct krt_call *call, int result);

/* Fills the table of what to copy for each entry point. */
bool krt_call_open(void);
/* A note of the annotation header: a record without a driver call. */
/* What library_call.c tells.  False: not now. */
bool krt_record_inside(unsigned api, uint64_t *args);
/* A record without a driver call, made while outer waits to be published. */
void krt_record_within(struct krt_call *outer, unsigned api, uint64_t *args);
/* An access of the CPU, from a signal handler or below the C library. */
bool krt_record_quiet(unsigned api, uint64_t *args);
void krt_record_note(unsigned api, uint64_t *args);

/* Room at the end of the record for a blob of len bytes; NULL: the record is lost. */
void *krt_call_blob(struct krt_call *call, unsigned arg, unsigned kind, size_t len);

/* len more bytes, a multiple of 8, at the end of the record, which may move; NULL: the record is lost. */
void *krt_call_more(struct krt_call *call, size_t len);

/* Is it a copy or a set? */
bool krt_op_copies(unsigned op);
/* The stream that the call works on, a launch's also from its configuration; false: it has none (0). */
bool krt_call_stream(const struct krt_call *call, uint64_t *stream);

/* ---- operand.c ---- */
/* After success: tells the heap filter which host memory the operation uses, or that it waited for some. */
void krt_operands(const struct krt_call *call);
/* One side of a copy or set that lies in memory: [base, base + len), gaps between rows included. */
enum krt_operand_how {
	KRT_OPERAND_WRITTEN = 1 << 0, /* else read */
	KRT_OPERAND_DEVICE = 1 << 1,  /* the call takes it for a device address */
	KRT_OPERAND_TAKEN = 1 << 2,   /* the source was read before the call returned */
	KRT_OPERAND_GAPS = 1 << 3,    /* rows, with bytes between them that are not used */
};
typedef void krt_operand_fn(void *user, uint64_t base, uint64_t len, unsigned how);
void krt_host_operands(const struct krt_call *call, krt_operand_fn *fn, void *user);
/* krt_stream_key of the stream among its arguments; of the default stream where there is none. */
uint64_t krt_call_stream_key(const struct krt_call *call);

/* ---- launch.c ---- */
/* The parameters of one kernel, as blobs. */
void krt_launch_params(struct krt_call *call, uint64_t func, uint64_t params, uint64_t extra,
		       unsigned params_arg, unsigned extra_arg);

/* What the heap filter knows a stream by. */
uint64_t krt_stream_key(const struct krt_call *call, uint64_t stream);
/* The span in memory of a 2D or 3D operand at *base, its first byte there; false: none. */
bool krt_rows_span(uint64_t *base, size_t x, size_t y, size_t z, size_t pitch, size_t rows,
		   size_t width, size_t height, size_t depth, uint64_t *len);

/* The parameters of a kernel where the program or the driver keeps them. */
struct krt_kernel_args {
	const struct krt_kernel *kernel;
	void *const *param;
	const void *buffer;        /* given whole, else NULL */
	uint32_t len, size;        /* krt_params.len; the bytes that follow it */
};
/* False: no memory. */
bool krt_kernel_args(struct krt_kernel_args *args, uint64_t func, uint64_t params, uint64_t extra);
/* to: room for struct krt_params and args->size bytes. */
void krt_kernel_args_copy(const struct krt_kernel_args *args, struct krt_params *to);

/* ---- hostfn.c ---- */
/* Puts a trampoline in place of a host function; token is the call's first ticket. */
void *krt_hostfn_wrap(uint64_t *fn, uint64_t *data, bool callback, uint64_t token);
void krt_hostfn_drop(void *cell); /* the call failed */

#pragma GCC visibility pop
#endif
