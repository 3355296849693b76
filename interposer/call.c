/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recording a call: what is copied before the driver runs (it may change
 * things, and the program may reuse memory at once afterwards), what is read
 * after it succeeded, and the record's publication.  Driven by the roles in
 * api.def.
 *
 * The record is built in the thread's scratch memory and copied to its lane at
 * the end in one piece, since host functions may run on this thread, and be
 * recorded, while the driver is inside the call.
 *
 * krt_tls.frame says "inside a wrapper" by its address: calls that come from
 * deeper in the stack are the driver's own and pass; one from further up shows
 * that the call before was left by a jump.
 */
#include "call.h"
#include "graphs.h"
#include "heap.h"
#include "host.h"
#include "images.h"
#include "lane.h"
#include "layouts.h"
#include "objects.h"
#include "pointers.h"
#include "process.h"
#include "timing.h"

#define CUABI_EXACT_NAMES
#include "cuabi.h"

#include <errno.h>
#include <string.h>

#define STRING_MAX 4096
#define ARRAY_MAX  (1u << 20) /* elements of a batch */
#define ATTRS_MAX  64
#define DIMS_MAX   5 /* of a tensor */

/* What to do for each entry point, from the roles. */
struct plan {
	uint64_t mask[KRT_MAX_ARGS]; /* the argument's own bits */
	uint16_t in, out;            /* bit i: argument i is copied before, read after */
	int8_t stream, count, nattrs, fn, data, func;
	uint8_t argc, op;
	bool work;                   /* enqueues what takes the device time */
	bool image;                  /* is given a module image */
	bool carries;                /* may copy from the host to the device */
	bool context;                /* depends on the current context where it has no stream of its own */
	uint8_t graph;               /* enum krt_graph_part */
	uint32_t flags;
};

static struct plan *plans;

bool krt_op_copies(unsigned op)
{
	switch (op) {
	case KRT_OP_COPY:
	case KRT_OP_COPY_ARRAY:
	case KRT_OP_COPY_2D:
	case KRT_OP_COPY_3D:
	case KRT_OP_COPY_PEER:
	case KRT_OP_COPY_3D_PEER:
	case KRT_OP_COPY_BATCH:
	case KRT_OP_COPY_3D_BATCH:
	case KRT_OP_SET:
	case KRT_OP_SET_2D:
		return true;
	}
	return false;
}

static bool is_work(unsigned op)
{
	switch (op) {
	case KRT_OP_LAUNCH:
	case KRT_OP_LAUNCH_EX:
	case KRT_OP_LAUNCH_MULTI:
	case KRT_OP_LAUNCH_LEGACY:
	case KRT_OP_GRAPH_LAUNCH:
		return true;
	}
	return krt_op_copies(op);
}

static bool is_load(unsigned op)
{
	return op == KRT_OP_MODULE_LOAD || op == KRT_OP_LIBRARY_LOAD || op == KRT_OP_LINK_ADD;
}

static bool carries(const struct krt_api *a)
{
	switch (a->op) {
	case KRT_OP_COPY: /* version 1 of the interface has 32-bit addresses */
		return !(a->flags & (KRT_F_SRC_DEV | KRT_F_DST_HOST)) && a->arg[0].width == 8;
	case KRT_OP_COPY_2D:
		return a->arg[0].role == KRT_ROLE_IN_COPY2D;
	case KRT_OP_COPY_3D:
		return a->arg[0].role == KRT_ROLE_IN_COPY3D;
	case KRT_OP_COPY_BATCH:
		return true;
	}
	return false;
}

static bool wants_context(const struct krt_api *a)
{
	switch (a->op) {
	case KRT_OP_INIT:
	case KRT_OP_EXPORT_TABLE:
	case KRT_OP_EVENT_SYNC:
	case KRT_OP_EVENT_QUERY:
	case KRT_OP_EVENT_ELAPSED:
	case KRT_OP_EVENT_DESTROY:
	case KRT_OP_CTX_CURRENT:
	case KRT_OP_NOTE_NAME:
	case KRT_OP_TENSOR_MAP:
	case KRT_OP_LINK_ADD:
	case KRT_OP_LINK_COMPLETE:
	case KRT_OP_LINK_END:
	case KRT_OP_LIBRARY_CALL:
	case KRT_OP_HEAP_END:
	case KRT_OP_HOSTFN_ENTER:
	case KRT_OP_HOSTFN_EXIT:
		return false;
	}
	return a->cls != KRT_CLASS_NOTE;
}

bool krt_call_open(void)
{
	if (!plans)
		plans = krt_map(KRT_NR_APIS * sizeof *plans);
	if (!plans)
		return false;
	for (unsigned id = 0; id < KRT_NR_APIS; id++) {
		const struct krt_api *a = &krt_api[id];
		struct plan *p = &plans[id];

		*p = (struct plan){ .stream = -1, .count = -1, .nattrs = -1, .fn = -1, .data = -1,
				    .func = -1, .argc = a->argc, .op = a->op, .flags = a->flags,
				    .work = is_work(a->op), .image = is_load(a->op), .carries = carries(a),
				    .context = wants_context(a), .graph = krt_graph_part(a->op) };
		for (unsigned i = 0; i < a->argc; i++) {
			unsigned width = a->arg[i].width;
			bool pointer = false;

			switch ((enum krt_role)a->arg[i].role) {
			case KRT_ROLE_STREAM: p->stream = (int8_t)i; break;
			case KRT_ROLE_COUNT: p->count = (int8_t)i; break;
			case KRT_ROLE_NATTRS: p->nattrs = (int8_t)i; break;
			case KRT_ROLE_FN: p->fn = (int8_t)i; break;
			case KRT_ROLE_USERDATA: p->data = (int8_t)i; break;
			case KRT_ROLE_FUNC: p->func = (int8_t)i; break;
			case KRT_ROLE_OUT_ADDR:
			case KRT_ROLE_OUT_HANDLE:
			case KRT_ROLE_OUT_SIZE:
			case KRT_ROLE_OUT_STRUCT:
				p->out |= (uint16_t)(1u << i);
				pointer = true;
				break;
			case KRT_ROLE_IN_STRING:
			case KRT_ROLE_IN_STRUCT:
			case KRT_ROLE_IN_COPY2D:
			case KRT_ROLE_IN_COPY2D_V1:
			case KRT_ROLE_IN_COPY3D:
			case KRT_ROLE_IN_COPY3D_V1:
			case KRT_ROLE_IN_COPY3D_PEER:
			case KRT_ROLE_IN_ARRAY:
			case KRT_ROLE_IN_ARRAY3D:
			case KRT_ROLE_IN_DSTS:
			case KRT_ROLE_IN_SRCS:
			case KRT_ROLE_IN_SIZES:
			case KRT_ROLE_IN_ATTRS:
			case KRT_ROLE_IN_ATTR_IDX:
			case KRT_ROLE_IN_OPS3D:
			case KRT_ROLE_IN_MEMOPS:
			case KRT_ROLE_IN_HANDLES:
			case KRT_ROLE_IN_DIMS:
			case KRT_ROLE_IN_STRIDES:
			case KRT_ROLE_IN_SEMS:
			case KRT_ROLE_IN_ACCESS:
			case KRT_ROLE_IN_LAUNCH:
			case KRT_ROLE_IN_LAUNCH_LIST:
			case KRT_ROLE_BYVAL:
				p->in |= (uint16_t)(1u << i);
				pointer = true;
				break;
			case KRT_ROLE_INOUT_STRUCT:
				p->in |= (uint16_t)(1u << i);
				p->out |= (uint16_t)(1u << i);
				pointer = true;
				break;
			case KRT_ROLE_PARAMS:
				p->in |= (uint16_t)(1u << i);
				pointer = true;
				break;
			case KRT_ROLE_EXTRA:
				pointer = true; /* taken together with PARAMS */
				break;
			default:
				break;
			}
			p->mask[i] = pointer || width >= 8 ? UINT64_MAX : (1ull << width * 8) - 1;
		}
	}
	return true;
}

/* ---- the record under construction ---- */

static bool more_room(struct krt_call *c, size_t need)
{
	size_t room = c->room * 2 > need ? c->room * 2 : need * 2;
	void *p;

	if (room > KRT_RECORD_MAX)
		room = KRT_RECORD_MAX;
	p = need > room ? NULL : krt_map(room);

	if (p)
		memcpy(p, c->rec, c->size);
	if (c->mapped)
		krt_unmap(c->rec, c->room);
	c->rec = p;
	c->mapped = p != NULL;
	c->room = p ? room : 0;
	return p != NULL;
}

void *krt_call_blob(struct krt_call *c, unsigned arg, unsigned kind, size_t len)
{
	size_t need = c->size + sizeof(struct krt_blob) + len + 16;
	struct krt_blob *b;

	if (krt_unlikely(!c->rec || (need > c->room && !more_room(c, need))))
		return NULL;
	b = (struct krt_blob *)((char *)c->rec + c->size);
	*b = (struct krt_blob){ .arg = (uint8_t)arg, .kind = (uint8_t)kind, .len = (uint32_t)len };
	c->size += sizeof *b + ((len + 7) & ~(size_t)7);
	if (len & 7) /* the padding must not carry what lay there before */
		memset((char *)(b + 1) + (len & ~(size_t)7), 0, 8);
	return b + 1;
}

void *krt_call_more(struct krt_call *c, size_t len)
{
	size_t at = c->size;

	if (krt_unlikely(!c->rec || (at + len + 16 > c->room && !more_room(c, at + len + 16))))
		return NULL;
	c->size += len;
	return (char *)c->rec + at;
}

static void copy_in(struct krt_call *c, unsigned arg, const void *from, size_t len)
{
	void *to = krt_call_blob(c, arg, KRT_BLOB_BYTES, len);

	if (to)
		memcpy(to, from, len);
}

static void copy_array(struct krt_call *c, unsigned arg, uint64_t n, size_t each)
{
	const void *from = (const void *)c->args[arg];

	if (from && n && n <= ARRAY_MAX)
		copy_in(c, arg, from, n * each);
}

static uint64_t value(const struct plan *p, const uint64_t *args, int i)
{
	return i < 0 ? 0 : args[i] & p->mask[i];
}

static void copy_launch_config(struct krt_call *c, unsigned arg)
{
	const CUlaunchConfig *config = (const void *)c->args[arg];
	size_t n = config->attrs && config->numAttrs <= ATTRS_MAX ? config->numAttrs : 0;
	char *to = krt_call_blob(c, arg, KRT_BLOB_BYTES, sizeof *config + n * sizeof(CUlaunchAttribute));

	if (!to)
		return;
	memcpy(to, config, sizeof *config);
	if (n)
		memcpy(to + sizeof *config, config->attrs, n * sizeof(CUlaunchAttribute));
}

static void copy_launch_list(struct krt_call *c, unsigned arg)
{
	const CUDA_LAUNCH_PARAMS *list = (const void *)c->args[arg];
	uint32_t n = (uint32_t)c->args[arg + 1];

	if (!list || n > 256)
		return;
	copy_in(c, arg, list, n * sizeof *list);
	for (uint32_t i = 0; i < n; i++)
		krt_launch_params(c, (uintptr_t)list[i].function, (uintptr_t)list[i].kernelParams, 0, arg, arg);
}

static void capture_in(struct krt_call *c, const struct plan *p)
{
	const struct krt_api *a = &krt_api[c->api];

	for (unsigned bits = p->in; bits; bits &= bits - 1) {
		unsigned i = (unsigned)__builtin_ctz(bits);
		const void *from = (const void *)c->args[i];

		switch ((enum krt_role)a->arg[i].role) {
		case KRT_ROLE_IN_DSTS:
		case KRT_ROLE_IN_SRCS:
		case KRT_ROLE_IN_SIZES:
		case KRT_ROLE_IN_HANDLES:
			copy_array(c, i, value(p, c->args, p->count), 8);
			break;
		case KRT_ROLE_IN_DIMS:
		case KRT_ROLE_IN_STRIDES: {
			uint64_t n = value(p, c->args, p->count);

			if (n && n <= DIMS_MAX)
				copy_array(c, i, n - (a->arg[i].role == KRT_ROLE_IN_STRIDES), 8);
			break;
		}
		case KRT_ROLE_IN_MEMOPS:
			copy_array(c, i, value(p, c->args, p->count), sizeof(CUstreamBatchMemOpParams));
			break;
		case KRT_ROLE_IN_SEMS: /* a wait's have the same size */
			copy_array(c, i, value(p, c->args, p->count),
				   sizeof(CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS));
			break;
		case KRT_ROLE_IN_ACCESS:
			copy_array(c, i, value(p, c->args, p->count), sizeof(CUmemAccessDesc));
			break;
		case KRT_ROLE_IN_ATTRS:
			copy_array(c, i, value(p, c->args, p->nattrs), sizeof(CUmemcpyAttributes));
			break;
		case KRT_ROLE_IN_ATTR_IDX:
			copy_array(c, i, value(p, c->args, p->nattrs), 8);
			break;
		case KRT_ROLE_IN_OPS3D:
			copy_array(c, i, c->args[0], sizeof(CUDA_MEMCPY3D_BATCH_OP));
			break;
		case KRT_ROLE_IN_LAUNCH:
			if (from)
				copy_launch_config(c, i);
			break;
		case KRT_ROLE_IN_LAUNCH_LIST:
			copy_launch_list(c, i);
			break;
		case KRT_ROLE_PARAMS:
			krt_launch_params(c, value(p, c->args, p->func), c->args[i],
					  i + 1u < p->argc ? c->args[i + 1] : 0, i, i + 1);
			break;
		case KRT_ROLE_IN_STRING:
			if (from)
				copy_in(c, i, from, strnlen(from, STRING_MAX));
			break;
		default:
			if (from)
				copy_in(c, i, from, a->arg[i].width);
			break;
		}
	}
}

/* The stream a call works on; false: it has none. */
static bool call_stream(const struct plan *p, const uint64_t *args, uint64_t *stream)
{
	if (p->stream >= 0) {
		*stream = args[p->stream];
		return true;
	}
	if (p->op == KRT_OP_LAUNCH_EX && args[0]) {
		*stream = (uintptr_t)((const CUlaunchConfig *)args[0])->hStream;
		return true;
	}
	return false;
}

bool krt_call_stream(const struct krt_call *c, uint64_t *stream)
{
	*stream = 0;
	return call_stream(&plans[c->api], c->args, stream);
}

static void build(struct krt_call *c, struct krt_thread *t, unsigned api, uint64_t *args, bool quiet)
{
	const struct plan *p = &plans[api];
	uint64_t stream = 0;
	bool has_stream = call_stream(p, args, &stream);
	struct krt_rec_call *r;

	c->thread = t;
	c->args = args;
	c->api = (uint16_t)api;
	c->hostfn = NULL;
	c->heap_mark = 0;
	c->nnamed = 0;
	c->before = (struct krt_capture_rec){ 0 };
	c->mapped = c->timed = false;
	c->mark = t->scratch_used;
	c->rec = (struct krt_rec_call *)(t->scratch + t->scratch_used);
	c->room = KRT_SCRATCH - t->scratch_used;
	c->size = sizeof *r + p->argc * sizeof *r->args;
	if (krt_unlikely(c->room < 1024)) {
		c->size = 0;
		if (!more_room(c, 4096))
			return;
		c->size = sizeof *r + p->argc * sizeof *r->args;
	}
	r = c->rec;
	memset(r, 0, sizeof *r);
	r->h.kind = KRT_REC_CALL;
	r->h.library = krt_tls.inside;
	r->h.flags = (uint8_t)((t->hostfn ? KRT_RF_HOSTFN : 0) | (t->ignore ? KRT_RF_IGNORE : 0));
	r->api = (uint16_t)api;
	r->argc = p->argc;
	for (unsigned i = 0; i < p->argc; i++)
		r->args[i] = args[i] & p->mask[i];

	if (has_stream && stream > 2 && stream != UINT64_MAX)
		krt_stream_seen(stream, p->flags & KRT_F_PT);
	else if (p->context)
		r->ctx = krt_current_context();
	if (p->in)
		capture_in(c, p);
	if (krt_unlikely(p->image))
		krt_images_given(c);
	if (p->carries)
		krt_pointers_given(c);
	if (krt_opt.stacks != KRT_STACKS_none && c->rec && p->op != KRT_OP_LIBRARY_CALL) /* what is launched inside has one */
		c->rec->stack = krt_stack_id(quiet);
	if (!c->mapped)
		t->scratch_used += (c->size + 15) & ~(size_t)15;
}

static void publish(struct krt_call *c)
{
	struct krt_thread *t = c->thread;

	if (krt_likely(c->rec && krt_attached()))
		krt_lane_write(t, &c->rec->h, c->size, &c->rec->t1);
	else if (!c->rec)
		krt_lane_lost(t);
	t->scratch_used = c->mark;
	if (c->mapped)
		krt_unmap(c->rec, c->room);
}

/* ---- before and after ---- */

bool krt_call_begin(struct krt_call *c, unsigned api, uint64_t *args)
{
	struct krt_tls *tls = &krt_tls;
	struct krt_thread *t;
	const struct plan *p;
	bool idle;
	int saved;

	if (tls->frame && (char *)c < (char *)tls->frame)
		return false;
	if (krt_unlikely(!krt_attached())) {
		if (!krt_attach_watch(api))
			return false;
		c->thread = NULL;
		c->api = (uint16_t)api;
		c->args = args;
		tls->frame = c;
		return true;
	}
	if (krt_unlikely(tls->busy)) {
		krt_lane_lost(NULL);
		return false;
	}
	saved = errno;
	idle = !tls->frame;
	tls->frame = c;
	tls->busy = true;
	t = krt_thread();
	if (krt_likely(t) && idle && !t->hostfn)
		t->scratch_used = 0; /* what a jump out of an earlier call left */
	if (krt_unlikely(!t)) {
		tls->busy = false;
		tls->frame = NULL;
		errno = saved;
		return false;
	}
	p = &plans[api];
	if (krt_unlikely(t->ranges_new))
		krt_ranges_tell(t);
	build(c, t, api, args, false);
	switch (p->op) {
	case KRT_OP_HOST_FUNC:
		if (c->rec && args[p->fn] && !krt_stream_captures(args[p->stream], p->flags & KRT_F_PT)) {
			c->rec->t0 = krt_ticket();
			c->hostfn = krt_hostfn_wrap(&args[p->fn], &args[p->data],
						    p->flags & KRT_F_CALLBACK, c->rec->t0);
		}
		break;
	case KRT_OP_MODULE_UNLOAD:
	case KRT_OP_LIBRARY_UNLOAD:
	case KRT_OP_CTX_DESTROY:
	case KRT_OP_PRIMARY_RELEASE:
	case KRT_OP_PRIMARY_RESET:
	case KRT_OP_GREEN_DESTROY:
		krt_heap_device_gone(0);
		if (p->op != KRT_OP_MODULE_UNLOAD && p->op != KRT_OP_LIBRARY_UNLOAD)
			krt_pointers_gone(0);
		if (p->op == KRT_OP_MODULE_UNLOAD || p->op == KRT_OP_LIBRARY_UNLOAD)
			krt_layouts_unloaded(args[0]);
		else
			krt_layouts_stale();
		krt_kernels_stale(); /* and again afterwards: a handle may be recycled before we return */
		break;
	case KRT_OP_STREAM_DESTROY:
		krt_stream_gone(args[0]);
		break;
	case KRT_OP_FREE:
	case KRT_OP_FREE_ASYNC:
	case KRT_OP_HOST_FREE:
	case KRT_OP_VMM_ADDR_FREE:
		krt_pointers_gone(args[0]);
		krt_heap_device_gone(args[0]);
		break;
	}
	if (krt_unlikely(p->graph)) {
		uint64_t stream = 0;

		if (p->graph != KRT_GRAPH_MAKES_NODE || krt_captures_now())
			krt_graphs_before(c, p->graph, call_stream(p, args, &stream) ? stream : KRT_NO_STREAM);
	}
	if (krt_unlikely(atomic_load_explicit(&krt_timing_on, memory_order_acquire)) && p->work && c->rec) {
		if (!c->rec->t0)
			c->rec->t0 = krt_ticket();
		krt_timing_begin(t->lane, c->rec->t0);
		c->timed = true;
	}
	if (krt_host_on())
		krt_flight_before(c);
	c->start_ns = krt_opt.times ? krt_clock_ns() : 0;
	c->heap_mark = krt_heap_mark();
	if (c->rec && !c->rec->t0)
		c->rec->t0 = krt_ticket();
	tls->busy = false;
	errno = saved;
	return true;
}

static void capture_out(struct krt_call *c, const struct plan *p)
{
	const struct krt_api *a = &krt_api[c->api];

	for (unsigned bits = p->out; bits; bits &= bits - 1) {
		unsigned i = (unsigned)__builtin_ctz(bits);

		if (c->args[i])
			copy_in(c, i, (const void *)c->args[i], a->arg[i].width);
	}
}

static uint64_t out_handle(const struct krt_call *c, unsigned arg)
{
	return c->args[arg] ? *(const uint64_t *)c->args[arg] : 0;
}

/* What a successful call changes in our own tables. */
static void after_success(struct krt_call *c, const struct plan *p)
{
	const uint64_t *a = c->args;

	switch (p->op) {
	case KRT_OP_STREAM_CREATE:
	case KRT_OP_GREEN_STREAM:
		krt_stream_created(out_handle(c, 0));
		break;
	case KRT_OP_CTX_CREATE:
		krt_context_created(out_handle(c, 0), false);
		break;
	case KRT_OP_PRIMARY_RETAIN:
		krt_context_created(out_handle(c, 0), true);
		break;
	case KRT_OP_CTX_DESTROY:
		krt_context_gone(a[0]);
		krt_kernels_stale();
		break;
	case KRT_OP_MODULE_UNLOAD:
	case KRT_OP_LIBRARY_UNLOAD:
	case KRT_OP_PRIMARY_RELEASE:
	case KRT_OP_PRIMARY_RESET:
	case KRT_OP_GREEN_DESTROY:
		krt_kernels_stale();
		break;
	case KRT_OP_MODULE_LOAD:
	case KRT_OP_LIBRARY_LOAD:
		krt_layouts_loaded(c);
		break;
	case KRT_OP_MODULE_FUNCTION:
		krt_layouts_function(c);
		break;
	}
}

int krt_call_end(struct krt_call *c, int result)
{
	struct krt_tls *tls = &krt_tls;
	int saved = errno;
	const struct plan *p;

	tls->busy = true;
	if (krt_unlikely(!c->thread)) {
		/* not recording before the call: does it begin now? */
		if (!result && !krt_attached())
			krt_attach(c->api == KRT_API_cuInit ? 0 : KRT_TROUBLE_LATE);
		if (krt_attached()) {
			struct krt_thread *t = krt_thread();

			if (t) {
				build(c, t, c->api, c->args, false);
				if (c->rec)
					c->rec->t0 = krt_ticket();
				c->start_ns = krt_opt.times ? krt_clock_ns() : 0;
			}
		}
		if (!c->thread) {
			tls->busy = false;
			tls->frame = NULL;
			errno = saved;
			return result;
		}
	}
	p = &plans[c->api];
	if (c->rec) {
		struct krt_rec_call *r = c->rec;

		r->result = result;
		if (krt_opt.times) {
			uint64_t now = krt_clock_ns(), took = now > c->start_ns ? now - c->start_ns : 0;

			r->start_ns = c->start_ns - krt_clock_base;
			r->took_ns = took > UINT32_MAX ? UINT32_MAX : (uint32_t)took;
		}
	}
	if (krt_unlikely(c->timed))
		krt_timing_end();
	if (!result) {
		if (p->out && c->rec)
			capture_out(c, p);
		if (krt_unlikely(p->op == KRT_OP_LINK_COMPLETE))
			krt_images_linked(c);
		after_success(c, p);
		krt_operands(c);
	} else if (c->hostfn) {
		krt_hostfn_drop(c->hostfn);
	}
	if (krt_unlikely(p->graph > KRT_GRAPH_MAKES_NODE || krt_captures_now())) {
		uint64_t stream = 0;

		krt_graphs_after(c, p->graph, call_stream(p, c->args, &stream) ? stream : KRT_NO_STREAM, result);
	}
	if (krt_host_on()) {
		krt_flight_after(c, result);
		publish(c);
		krt_flight_pages();
	} else {
		publish(c);
	}
	tls->busy = false;
	tls->frame = NULL;
	errno = saved;
	return result;
}

/* ---- records without a driver call ---- */

static bool record_alone(unsigned api, uint64_t *args, bool quiet)
{
	struct krt_tls *tls = &krt_tls;
	struct krt_call c;
	struct krt_thread *t;
	int saved = errno;

	if (!krt_attached() || (tls->frame && (char *)&c < (char *)tls->frame))
		return false;
	if (tls->busy) {
		krt_lane_lost(NULL);
		return false;
	}
	tls->frame = &c;
	tls->busy = true;
	t = krt_thread();
	if (t) {
		if (krt_unlikely(t->ranges_new) && !quiet)
			krt_ranges_tell(t);
		build(&c, t, api, args, quiet);
		if (krt_unlikely(plans[api].stream >= 0 && krt_captures_now()))
			krt_graphs_after(&c, KRT_GRAPH_NONE, args[plans[api].stream], 0);
		if (c.rec) {
			c.rec->t0 = krt_ticket();
			if (krt_opt.times)
				c.rec->start_ns = krt_clock_ns() - krt_clock_base;
		}
		if (krt_host_on() && krt_api[api].arg[0].role == KRT_ROLE_TOKEN && krt_api[api].argc == 2) {
			krt_flight_note(&c);
			publish(&c);
			krt_flight_pages();
		} else {
			publish(&c);
		}
	}
	tls->busy = false;
	tls->frame = NULL;
	errno = saved;
	return t != NULL;
}

bool krt_record_inside(unsigned api, uint64_t *args)
{
	return record_alone(api, args, true);
}

void krt_record_within(struct krt_call *outer, unsigned api, uint64_t *args)
{
	struct krt_thread *t = outer->thread;
	struct krt_call c;

	if (!outer->mapped) /* its record has grown since it was begun */
		t->scratch_used = outer->mark + ((outer->size + 15) & ~(size_t)15);
	build(&c, t, api, args, true);
	if (c.rec) {
		c.rec->t0 = krt_ticket();
		if (krt_opt.times)
			c.rec->start_ns = krt_clock_ns() - krt_clock_base;
	}
	publish(&c);
}

bool krt_record_quiet(unsigned api, uint64_t *args)
{
	return record_alone(api, args, true);
}

void krt_record_note(unsigned api, uint64_t *args)
{
	record_alone(api, args, false);
}

void krt_record_libc(unsigned api, uint64_t addr, uint64_t len)
{
	uint64_t args[] = { addr, len };

	/* mappings end under allocators' locks */
	record_alone(api, args, api == KRT_API_munmap || api == KRT_API_mremap);
}
