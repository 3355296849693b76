/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records made by hand: what the interposer would have written for a few lines
 * of CUDA, fed to an engine, and the findings as one line of text.
 *
 * A world is one process.  Calls act for the thread and context set in it, and
 * take tickets one after another; begin() and its friends make calls that
 * overlap.  Everything is malloc-free but the engine.
 */
#ifndef KRT_REC_BUILD_H
#define KRT_REC_BUILD_H

#include "analyzer/engine.h"
#include "interposer/api.h"
#include "interposer/record.h"
#include "rules/finding.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEV  0x7f0000000000ull /* device addresses of the tests */
#define PIN  0x7e0000000000ull /* pinned */
#define HEAP 0x550000000000ull /* pageable */

struct world {
	struct krt_engine *e;
	uint64_t ticket;
	unsigned lane;
	uint64_t ctx;
	uint32_t stack;
	uint8_t flags;
	uint16_t library; /* number of the library call that it is in, 0: none */
	uint64_t began; /* ticket with which the next call began, 0: the next ticket */
	uint64_t now, took; /* times of the next call: now moves on by took */
	int rc; /* of the last feed */
	union {
		uint64_t words[8192];
		struct krt_rec_call call;
		struct krt_rec rec;
	} u;
	size_t at;
	char text[2048];
};

static inline void world_open(struct world *w, const struct krt_engine_config *cfg)
{
	static const struct krt_engine_config plain = {.hot_min = 16, .possible_max = 1000};

	memset(w, 0, sizeof(*w));
	w->e = krt_engine_new(cfg ? cfg : &plain);
	w->ticket = 1;
	w->ctx = 0xc0;
}

/* --- one call ------------------------------------------------------------------- */

/* argc values follow, as uint64_t. */
static inline void call_begin(struct world *w, enum krt_api_id api, ...)
{
	va_list ap;

	memset(&w->u.call, 0, sizeof(w->u.call));
	w->u.call.h.kind = KRT_REC_CALL;
	w->u.call.h.flags = w->flags;
	w->u.call.h.library = w->library;
	w->u.call.api = (uint16_t)api;
	w->u.call.argc = krt_api[api].argc;
	w->u.call.ctx = w->ctx;
	w->u.call.stack = w->stack;
	w->u.call.t0 = w->began ? w->began : w->ticket;
	w->began = 0;
	w->ticket++;
	va_start(ap, api);
	for (unsigned i = 0; i < krt_api[api].argc; i++)
		w->u.call.args[i] = va_arg(ap, uint64_t);
	va_end(ap);
	w->at = sizeof(w->u.call) + krt_api[api].argc * 8u;
}

static inline void call_blob(struct world *w, unsigned arg, unsigned kind, const void *data,
			     uint32_t len)
{
	struct krt_blob b = {.arg = (uint8_t)arg, .kind = (uint8_t)kind, .len = len};
	char *p = (char *)&w->u;

	memcpy(p + w->at, &b, sizeof(b));
	memset(p + w->at + sizeof(b), 0, (len + 7u) & ~7u);
	memcpy(p + w->at + sizeof(b), data, len);
	w->at += sizeof(b) + ((len + 7u) & ~7u);
}

static inline void call_out(struct world *w, unsigned arg, uint64_t value)
{
	call_blob(w, arg, KRT_BLOB_BYTES, &value, 8);
}

static inline void call_end(struct world *w, int result)
{
	w->u.call.result = result;
	w->u.call.start_ns = w->now;
	w->u.call.took_ns = (uint32_t)w->took;
	w->now += w->took;
	w->u.call.t1 = w->ticket++;
	w->u.call.h.size = (uint32_t)w->at;
	w->rc = krt_engine_feed(w->e, &w->u.rec, w->at, w->lane);
}

#define A(x) ((uint64_t)(x))
/* A call without blobs: call(w, cuStreamSynchronize, s). */
#define call(w, sym, ...) (call_begin(w, KRT_API_##sym, ##__VA_ARGS__), call_end(w, 0))
#define call_failed(w, sym, result, ...)                                                           \
	(call_begin(w, KRT_API_##sym, ##__VA_ARGS__), call_end(w, result))

/* --- threads, contexts, stacks, kernels -------------------------------------------- */

static inline void thread(struct world *w, unsigned lane, uint32_t serial)
{
	struct krt_rec_thread r = {.h = {.size = sizeof(r), .kind = KRT_REC_THREAD},
				   .tid = 100 + (int)lane,
				   .serial = serial};

	krt_engine_feed(w->e, &r.h, sizeof(r), lane);
	w->lane = lane;
}

static inline void context(struct world *w, uint64_t ctx, int device, bool primary)
{
	struct krt_rec_context r = {.h = {.size = sizeof(r), .kind = KRT_REC_CONTEXT},
				    .ctx = ctx,
				    .device = device,
				    .primary = primary};

	krt_engine_feed(w->e, &r.h, sizeof(r), 0);
	w->ctx = ctx;
}

static inline void stack(struct world *w, uint32_t id, unsigned depth, const uint64_t *pc)
{
	union {
		uint64_t words[64];
		struct krt_rec_stack r;
		struct krt_rec h;
	} u = {0};

	u.r.h.kind = KRT_REC_STACK;
	u.r.h.size = (uint32_t)(sizeof(u.r) + depth * 8);
	u.r.id = id;
	u.r.depth = (uint16_t)depth;
	memcpy(u.r.pc, pc, depth * 8);
	krt_engine_feed(w->e, &u.h, u.r.h.size, 0);
}

/* sizes: n parameter sizes, laid out 8-aligned. */
static inline void kernel(struct world *w, uint32_t id, const char *name, uint32_t n,
			  const uint32_t *sizes)
{
	union {
		uint64_t words[64];
		struct krt_rec_kernel r;
		struct krt_rec h;
	} u = {0};
	uint32_t at = 0;

	u.r.h.kind = KRT_REC_KERNEL;
	u.r.id = id;
	u.r.nparams = n;
	u.r.name_len = (uint16_t)strlen(name);
	for (uint32_t i = 0; i < n; i++) {
		u.r.param[i].offset = at;
		u.r.param[i].size = sizes ? sizes[i] : 8;
		at += (u.r.param[i].size + 7) & ~7u;
	}
	u.r.bytes = at;
	memcpy((char *)&u.r.param[n], name, u.r.name_len);
	u.r.h.size =
		(uint32_t)((sizeof(u.r) + n * sizeof(struct krt_param) + u.r.name_len + 7) & ~7u);
	krt_engine_feed(w->e, &u.h, u.r.h.size, 0);
}

static inline void mark(struct world *w, unsigned what)
{
	struct krt_rec_mark r = {
		.h = {.size = sizeof(r), .kind = KRT_REC_MARK}, .mark = what, .t1 = w->ticket++};

	krt_engine_feed(w->e, &r.h, sizeof(r), w->lane);
}

/* The device worked on what a call enqueued (t0: its ticket). */
static inline void device_time(struct world *w, uint64_t t0, uint64_t start, uint64_t end)
{
	struct {
		struct krt_rec_device_time r;
		struct krt_device_time t;
	} u = {.r = {.h = {.size = sizeof(u), .kind = KRT_REC_DEVICE_TIME},
		     .n = 1,
		     .t1 = w->ticket++},
	       .t = {.call = t0, .lane = w->lane, .start_ns = start, .end_ns = end}};

	krt_engine_feed(w->e, &u.r.h, sizeof(u), 3);
}

/* The thread's innermost NVTX range is called text from here on (NULL: it is in none). */
static inline void range(struct world *w, uint32_t id, const char *text)
{
	struct krt_rec_mark m = {.h = {.size = sizeof(m), .kind = KRT_REC_MARK},
				 .mark = KRT_MARK_RANGE,
				 .t1 = w->ticket++,
				 .value = text ? id : 0};
	union {
		uint64_t words[64];
		struct krt_rec_string r;
		struct krt_rec h;
	} u = {0};

	if (text) {
		u.r.h.kind = KRT_REC_STRING;
		u.r.id = id;
		u.r.len = (uint32_t)strlen(text);
		memcpy(u.r.text, text, u.r.len);
		u.r.h.size = (uint32_t)((sizeof(u.r) + u.r.len + 7) & ~(size_t)7);
		krt_engine_feed(w->e, &u.h, u.r.h.size, 0);
	}
	krt_engine_feed(w->e, &m.h, sizeof(m), w->lane);
}

/* --- everyday calls ------------------------------------------------------------------ */

static inline void stream(struct world *w, uint64_t s, unsigned flags)
{
	call_begin(w, KRT_API_cuStreamCreate, A(0), A(flags));
	call_out(w, 0, s);
	call_end(w, 0);
}

static inline void event(struct world *w, uint64_t ev)
{
	call_begin(w, KRT_API_cuEventCreate, A(0), A(2));
	call_out(w, 0, ev);
	call_end(w, 0);
}

static inline void record(struct world *w, uint64_t ev, uint64_t s)
{
	call(w, cuEventRecord, A(ev), A(s));
}

static inline void wait_event(struct world *w, uint64_t s, uint64_t ev)
{
	call(w, cuStreamWaitEvent, A(s), A(ev), A(0));
}

static inline void sync_stream(struct world *w, uint64_t s)
{
	call(w, cuStreamSynchronize, A(s));
}

static inline void sync_event(struct world *w, uint64_t ev)
{
	call(w, cuEventSynchronize, A(ev));
}

static inline void sync_ctx(struct world *w)
{
	call(w, cuCtxSynchronize);
}

static inline void alloc(struct world *w, uint64_t addr, uint64_t size)
{
	call_begin(w, KRT_API_cuMemAlloc_v2, A(0), A(size));
	call_out(w, 0, addr);
	call_end(w, 0);
}

static inline void alloc_managed(struct world *w, uint64_t addr, uint64_t size)
{
	call_begin(w, KRT_API_cuMemAllocManaged, A(0), A(size), A(1));
	call_out(w, 0, addr);
	call_end(w, 0);
}

static inline void alloc_pinned(struct world *w, uint64_t addr, uint64_t size)
{
	call_begin(w, KRT_API_cuMemHostAlloc, A(0), A(size), A(0));
	call_out(w, 0, addr);
	call_end(w, 0);
}

static inline void alloc_async(struct world *w, uint64_t addr, uint64_t size, uint64_t s)
{
	call_begin(w, KRT_API_cuMemAllocAsync, A(0), A(size), A(s));
	call_out(w, 0, addr);
	call_end(w, 0);
}

static inline void set(struct world *w, uint64_t addr, uint64_t n, uint64_t s)
{
	call(w, cuMemsetD8Async, A(addr), A(0), A(n), A(s));
}

static inline void h2d(struct world *w, uint64_t d, uint64_t h, uint64_t n, uint64_t s)
{
	call(w, cuMemcpyHtoDAsync_v2, A(d), A(h), A(n), A(s));
}

static inline void d2h(struct world *w, uint64_t h, uint64_t d, uint64_t n, uint64_t s)
{
	call(w, cuMemcpyDtoHAsync_v2, A(h), A(d), A(n), A(s));
}

static inline void d2d(struct world *w, uint64_t d, uint64_t from, uint64_t n, uint64_t s)
{
	call(w, cuMemcpyDtoDAsync_v2, A(d), A(from), A(n), A(s));
}

static inline void access_note(struct world *w, uint64_t s, uint64_t p, uint64_t n, unsigned flags)
{
	call(w, krtsan_impl_access, A(s), A(p), A(n), A(flags));
}

static inline void host_read(struct world *w, uint64_t p, uint64_t n)
{
	call(w, krtsan_impl_host_read, A(p), A(n));
}

static inline void host_write(struct world *w, uint64_t p, uint64_t n)
{
	call(w, krtsan_impl_host_write, A(p), A(n));
}

static inline void name(struct world *w, uint64_t object, uint64_t len, const char *text)
{
	call_begin(w, KRT_API_krtsan_impl_name, A(object), A(len), A(0));
	call_blob(w, 2, KRT_BLOB_BYTES, text, (uint32_t)strlen(text) + 1);
	call_end(w, 0);
}

/* kind: 1 device, 2 host */
static inline void pool_create(struct world *w, uint64_t pool, unsigned kind, const char *text)
{
	call_begin(w, KRT_API_krtsan_impl_pool_create, A(pool), A(kind), A(0));
	call_blob(w, 2, KRT_BLOB_BYTES, text, (uint32_t)strlen(text) + 1);
	call_end(w, 0);
}

static inline void pool_destroy(struct world *w, uint64_t pool)
{
	call(w, krtsan_impl_pool_destroy, A(pool));
}

static inline void block_alloc(struct world *w, uint64_t pool, uint64_t addr, uint64_t size,
			       uint64_t s)
{
	call(w, krtsan_impl_block_alloc, A(pool), A(addr), A(size), A(s));
}

static inline void block_use(struct world *w, uint64_t addr, uint64_t s)
{
	call(w, krtsan_impl_block_use, A(addr), A(s));
}

static inline void block_free(struct world *w, uint64_t addr)
{
	call(w, krtsan_impl_block_free, A(addr));
}

/* A launch whose n parameters are 8 bytes each; kernel 0: nothing is known of them. */
static inline void launch_of(struct world *w, enum krt_api_id api, uint64_t s, uint32_t kernel_id,
			     unsigned n, const uint64_t *params)
{
	struct {
		struct krt_params head;
		uint64_t p[256];
	} b = {0};

	b.head.kernel = kernel_id;
	b.head.len = kernel_id ? n * 8 : KRT_PARAMS_UNKNOWN;
	for (unsigned i = 0; i < n; i++)
		b.p[i] = params[i];
	call_begin(w, api, A(0xf0), A(1), A(1), A(1), A(1), A(1), A(1), A(0), A(s), A(0), A(0));
	call_blob(w, 9, KRT_BLOB_PARAMS, &b, (uint32_t)(sizeof(b.head) + (kernel_id ? n * 8 : 0)));
	call_end(w, 0);
}
#define launch(w, s, k, ...)                                                                       \
	launch_of(w, KRT_API_cuLaunchKernel, s, k, sizeof((uint64_t[]){__VA_ARGS__}) / 8,          \
		  (const uint64_t[]){__VA_ARGS__})
#define launch_coop(w, s, k, ...)                                                                  \
	launch_of(w, KRT_API_cuLaunchCooperativeKernel, s, k,                                      \
		  sizeof((uint64_t[]){__VA_ARGS__}) / 8, (const uint64_t[]){__VA_ARGS__})

/* A kernel of which all is declared: one range. */
static inline void kernel_reads(struct world *w, uint64_t s, uint64_t p, uint64_t n)
{
	access_note(w, s, p, n, 1);
	launch_of(w, KRT_API_cuLaunchKernel, s, 0, 0, NULL);
}

static inline void kernel_writes(struct world *w, uint64_t s, uint64_t p, uint64_t n)
{
	access_note(w, s, p, n, 2);
	launch_of(w, KRT_API_cuLaunchKernel, s, 0, 0, NULL);
}

/* --- what was found -------------------------------------------------------------------- */

static inline struct krt_report *world_report(struct world *w)
{
	struct krt_report *r = krt_report_new();

	krt_engine_finish(w->e, 0, 0);
	if (r && krt_engine_report(w->e, r)) {
		krt_report_destroy(r);
		return NULL;
	}
	if (r)
		krt_report_sort(r);
	return r;
}

/* "RACE-RAW:error:2 FREE-IN-USE:warning:1", by rule, level and view; possible ones only with
 * `possible`, as "?RACE-RAW:1". */
static inline const char *world_close_as(struct world *w, bool possible)
{
	struct krt_report *r = world_report(w);
	size_t at = 0;

	w->text[0] = 0;
	for (int rule = 0; r && rule < KRT_NR_RULES; rule++) {
		uint64_t n[3] = {0}, maybe = 0;

		for (size_t i = 0; i < r->nfindings; i++) {
			const struct krt_finding *f = &r->finding[i];

			if ((int)f->rule != rule)
				continue;
			if (f->confidence == KRT_POSSIBLE)
				maybe += f->count;
			else
				n[f->level] += f->count;
		}
		for (int l = 2; l >= 0; l--)
			if (n[l])
				at += (size_t)snprintf(w->text + at, sizeof(w->text) - at,
						       "%s%s:%s:%llu", at ? " " : "",
						       krt_rules[rule].id + 4, krt_level_name(l),
						       (unsigned long long)n[l]);
		if (maybe && possible)
			at += (size_t)snprintf(w->text + at, sizeof(w->text) - at, "%s?%s:%llu",
					       at ? " " : "", krt_rules[rule].id + 4,
					       (unsigned long long)maybe);
	}
	krt_report_destroy(r);
	krt_engine_destroy(w->e);
	w->e = NULL;
	return w->text;
}

static inline const char *world_close(struct world *w)
{
	return world_close_as(w, false);
}

#endif
