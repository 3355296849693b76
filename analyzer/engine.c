/* SPDX-License-Identifier: Apache-2.0 */
/* The engine: records in, report out, dispatch by operation.  See engine.h and engine_int.h. */
#include "engine_int.h"
#include "../interposer/cuabi.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#else
#define RUNNING_ON_VALGRIND 0
#endif

static void *order_alloc(void *user, size_t size)
{
	return krt_heap_alloc(user, size);
}

static void order_free(void *user, void *ptr, size_t size)
{
	krt_heap_free(user, ptr, size);
}

/* Does a tool look at each block of memory? */
static bool watched(void)
{
#ifdef __SANITIZE_ADDRESS__
	return true;
#else
	return RUNNING_ON_VALGRIND;
#endif
}

struct krt_engine *krt_engine_new(const struct krt_engine_config *cfg)
{
	struct krt_engine *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->cfg = *cfg;
	e->semantics = cfg->semantics ? cfg->semantics : krt_sem_table;
	e->heap.fail_at = cfg->fail_at;
	e->heap.plain = watched();
	e->order_mem.alloc = order_alloc;
	e->order_mem.free = order_free;
	e->order_mem.user = &e->heap;
	e->order = krt_order_new(&e->order_mem);
	if (!e->order) {
		krt_heap_end(&e->heap);
		free(e);
		return NULL;
	}
	krt_objects_init(&e->obj, &e->heap, e->order);
	krt_memory_init(&e->mem, &e->heap);
	krt_graph_init(e);
	krt_timeline_init(e);
	e->sweep_after = 4096;
	e->round = 1;
	return e;
}

/* --- what the parts ask for -------------------------------------------------------- */

void krt_reason(struct krt_engine *e, enum krt_reason why, const char *fmt, ...)
{
	char text[160];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	krt_coverage_reason(&e->cov, why, "%s", text);
}

/* A record tells the context where the call needs one; a note may not. */
struct krt_context_info *krt_call_context(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_lane *l = krt_call_lane(e, c->lane);
	uint64_t ctx = c->rec->ctx;

	if (!l)
		return NULL;
	if (!ctx)
		ctx = l->ctx ? l->ctx : e->last_ctx;
	return krt_context_get(&e->obj, ctx);
}

struct krt_lane *krt_call_lane_new(struct krt_engine *e, unsigned lane)
{
	uint32_t old = e->lanes;

	if (lane >= KRT_LANES)
		return NULL;
	while (lane >= e->lanes) {
		if (!krt_heap_grow(&e->heap, &e->lane, &e->lanes, e->lanes, sizeof(*e->lane)))
			return NULL;
	}
	for (; old < e->lanes; old++)
		e->lane[old].thread = 1ull << 32 | old; /* until its THREAD record */
	return &e->lane[lane];
}

struct krt_stream_info *krt_call_stream(struct krt_engine *e, const struct krt_call *c,
					uint64_t handle)
{
	struct krt_context_info *ctx = krt_call_context(e, c);
	struct krt_lane *l = krt_call_lane(e, c->lane);
	struct krt_stream_info *s;

	if (!ctx || !l)
		return NULL;
	s = krt_stream_get(&e->obj, handle, ctx, l->thread, c->api->flags & KRT_F_PT);
	if (s && s->call != c->rec->t0) {
		s->call_before = s->call;
		s->call = c->rec->t0;
	}
	return s;
}

/* --- errors -------------------------------------------------------------------------- */

/* Results after which a context is lost: whatever follows is told about the error, not about
 * itself. */
static bool sticky(int result)
{
	switch (result) {
	case CUDA_ERROR_ILLEGAL_ADDRESS:
	case CUDA_ERROR_LAUNCH_TIMEOUT:
	case CUDA_ERROR_ASSERT:
	case 714: /* HARDWARE_STACK_ERROR */
	case 715: /* ILLEGAL_INSTRUCTION */
	case 716: /* MISALIGNED_ADDRESS */
	case 717: /* INVALID_ADDRESS_SPACE */
	case 718: /* INVALID_PC */
	case CUDA_ERROR_LAUNCH_FAILED:
	case CUDA_ERROR_UNKNOWN:
		return true;
	default:
		return false;
	}
}

static struct krt_context_info *judged_context(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_stream_info *s = NULL;

	if (krt_has(c, KRT_ROLE_STREAM) && c->stream > 2)
		s = krt_stream_find(&e->obj, c->stream);
	return s ? s->ctx : krt_call_context(e, c);
}

/* --- calls ----------------------------------------------------------------------------- */

static void dispatch(struct krt_engine *e, const struct krt_call *c)
{
	switch (c->op) {
	case KRT_OP_NONE:
	case KRT_OP_CTX_CURRENT:
	case KRT_OP_PRIMARY_RELEASE:
	case KRT_OP_IPC_MEM_GET:
	case KRT_OP_POOL_TRIM:
	case KRT_OP_VMM_RESERVE:
	case KRT_OP_VMM_ADDR_FREE:
	case KRT_OP_EXT_MEM_IMPORT:
	case KRT_OP_EXT_MEM_DESTROY:
	case KRT_OP_RDMA_FLUSH:
	case KRT_OP_CHECKPOINT:
	case KRT_OP_CAPTURE_MODE:
	case KRT_OP_UNSUPPORTED:
	case KRT_OP_NOTE_IGNORE_BEGIN: /* records carry KRT_RF_IGNORE */
	case KRT_OP_NOTE_IGNORE_END:
	case KRT_OP_LIBRARY_CALL: /* handled before */
	case KRT_NR_OPS:
		break;
	case KRT_OP_MODULE_LOAD:
	case KRT_OP_LIBRARY_LOAD:
		krt_rights_op(e, c);
		krt_sync_op(e, c);
		krt_loaded_op(e, c);
		break;
	case KRT_OP_LIBRARY_UNLOAD:
		krt_life_op(e, c);
		krt_loaded_op(e, c);
		break;
	case KRT_OP_MODULE_UNLOAD:
		krt_rights_op(e, c);
		krt_life_op(e, c);
		krt_loaded_op(e, c);
		break;
	case KRT_OP_LIBRARY_MODULE:
	case KRT_OP_LINK_ADD:
	case KRT_OP_LINK_COMPLETE:
	case KRT_OP_LINK_END:
		krt_loaded_op(e, c);
		break;
	case KRT_OP_PEER_ENABLE:
	case KRT_OP_PEER_DISABLE:
	case KRT_OP_POOL_CREATE:
	case KRT_OP_POOL_DESTROY:
	case KRT_OP_POOL_ACCESS:
	case KRT_OP_VMM_ACCESS:
		krt_rights_op(e, c);
		break;
	case KRT_OP_MODULE_FUNCTION:
		krt_rights_op(e, c);
		krt_loaded_op(e, c);
		break;
	case KRT_OP_TENSOR_MAP:
	case KRT_OP_TEXTURE_CREATE:
	case KRT_OP_TEXTURE_DESTROY:
	case KRT_OP_SURFACE_CREATE:
	case KRT_OP_SURFACE_DESTROY:
		krt_descriptor_op(e, c);
		break;
	case KRT_OP_INIT:
		e->initialised |= c->ok;
		break;
	case KRT_OP_EXPORT_TABLE:
		e->cov.export_tables += c->ok;
		break;
	case KRT_OP_CTX_CREATE:
	case KRT_OP_CTX_FLAGS:
	case KRT_OP_CTX_SYNC:
	case KRT_OP_CTX_RECORD:
	case KRT_OP_CTX_WAIT:
	case KRT_OP_PRIMARY_RETAIN:
	case KRT_OP_PRIMARY_FLAGS:
	case KRT_OP_GREEN_CREATE:
	case KRT_OP_GREEN_CTX:
	case KRT_OP_GREEN_STREAM:
	case KRT_OP_GREEN_RECORD:
	case KRT_OP_GREEN_WAIT:
	case KRT_OP_STREAM_CREATE:
	case KRT_OP_STREAM_DESTROY:
	case KRT_OP_STREAM_SYNC:
	case KRT_OP_STREAM_QUERY:
	case KRT_OP_STREAM_WAIT_EVENT:
	case KRT_OP_STREAM_ATTACH:
	case KRT_OP_HOST_FUNC:
	case KRT_OP_EVENT_CREATE:
	case KRT_OP_EVENT_RECORD:
	case KRT_OP_EVENT_SYNC:
	case KRT_OP_EVENT_QUERY:
	case KRT_OP_EVENT_ELAPSED:
	case KRT_OP_EVENT_DESTROY:
	case KRT_OP_IPC_EVENT_GET:
	case KRT_OP_IPC_EVENT_OPEN:
	case KRT_OP_PREFETCH:
	case KRT_OP_PREFETCH_BATCH:
	case KRT_OP_DECOMPRESS_BATCH:
	case KRT_OP_VMM_MAP_ARRAY:
	case KRT_OP_EXT_SEM_LIFE:
	case KRT_OP_EXT_SEM_SIGNAL:
	case KRT_OP_EXT_SEM_WAIT:
	case KRT_OP_GFX_MAP:
	case KRT_OP_GFX_UNMAP:
	case KRT_OP_WRITE_VALUE:
	case KRT_OP_WAIT_VALUE:
	case KRT_OP_BATCH_MEM_OP:
	case KRT_OP_CAPTURE_BEGIN:
	case KRT_OP_NOTE_ORDER_RELEASE:
	case KRT_OP_NOTE_ORDER_ACQUIRE:
	case KRT_OP_NOTE_NAME:
	case KRT_OP_HOSTFN_ENTER:
	case KRT_OP_HOSTFN_EXIT:
		krt_sync_op(e, c);
		break;
	case KRT_OP_CAPTURE_END:
		krt_sync_op(e, c);
		krt_gnode_capture_end(e, c);
		break;
	case KRT_OP_CAPTURE_DEPS:
	case KRT_OP_GRAPH_CREATE:
	case KRT_OP_GRAPH_CLONE:
	case KRT_OP_GRAPH_DESTROY:
	case KRT_OP_GRAPH_NODE_ADD:
	case KRT_OP_GRAPH_NODE_SET:
	case KRT_OP_GRAPH_NODE_DESTROY:
	case KRT_OP_GRAPH_INSTANTIATE:
	case KRT_OP_GRAPH_EXEC_SET:
	case KRT_OP_GRAPH_EXEC_UPDATE:
	case KRT_OP_GRAPH_EXEC_DESTROY:
	case KRT_OP_GRAPH_NODE_ENABLE:
	case KRT_OP_GRAPH_UPLOAD:
	case KRT_OP_GRAPH_LAUNCH:
		krt_graph_op(e, c);
		break;
	case KRT_OP_LAUNCH:
	case KRT_OP_LAUNCH_EX:
	case KRT_OP_LAUNCH_MULTI:
	case KRT_OP_LAUNCH_LEGACY:
		krt_launch_op(e, c);
		break;
	case KRT_OP_NOTE_ACCESS:
		krt_launch_note(e, c);
		break;
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
	case KRT_OP_DISCARD_BATCH:
		krt_copy_op(e, c);
		break;
	case KRT_OP_CTX_DESTROY:
	case KRT_OP_PRIMARY_RESET:
	case KRT_OP_GREEN_DESTROY:
	case KRT_OP_IPC_MEM_OPEN:
	case KRT_OP_IPC_MEM_CLOSE:
	case KRT_OP_ALLOC:
	case KRT_OP_ALLOC_PITCH:
	case KRT_OP_ALLOC_MANAGED:
	case KRT_OP_FREE:
	case KRT_OP_HOST_ALLOC:
	case KRT_OP_HOST_FREE:
	case KRT_OP_HOST_REGISTER:
	case KRT_OP_HOST_UNREGISTER:
	case KRT_OP_HOST_DEVPTR:
	case KRT_OP_ALLOC_ASYNC:
	case KRT_OP_FREE_ASYNC:
	case KRT_OP_POOL_IMPORT:
	case KRT_OP_POINTER_ATTR:
	case KRT_OP_ARRAY_CREATE:
	case KRT_OP_ARRAY_DESTROY:
	case KRT_OP_ARRAY_ALIAS:
	case KRT_OP_VMM_CREATE:
	case KRT_OP_VMM_RELEASE:
	case KRT_OP_VMM_MAP:
	case KRT_OP_VMM_UNMAP:
	case KRT_OP_EXT_MEM_MAP:
	case KRT_OP_GFX_POINTER:
	case KRT_OP_MODULE_GLOBAL:
	case KRT_OP_NOTE_HOST_READ:
	case KRT_OP_NOTE_HOST_WRITE:
	case KRT_OP_NOTE_POOL_CREATE:
	case KRT_OP_NOTE_POOL_DESTROY:
	case KRT_OP_NOTE_BLOCK_ALLOC:
	case KRT_OP_NOTE_BLOCK_USE:
	case KRT_OP_NOTE_BLOCK_RESIZE:
	case KRT_OP_NOTE_BLOCK_FREE:
	case KRT_OP_HEAP_END:
		krt_life_op(e, c);
		break;
	}
}

/*
 * Does the call end a stream or an event whose handle went to a new one before the call was told?
 * What a call made that ended after this one began is not what this one ends.
 */
static bool outlived(struct krt_engine *e, const struct krt_call *c)
{
	const struct krt_stream_info *s =
		c->op == KRT_OP_STREAM_DESTROY ? krt_stream_find(&e->obj, c->stream) : NULL;
	const struct krt_event_info *ev =
		c->op == KRT_OP_EVENT_DESTROY ? krt_event_get(&e->obj, c->event, false) : NULL;

	return (s && c->rec->t0 < s->born) || (ev && c->rec->t0 < ev->born);
}

static void call_record(struct krt_engine *e, const struct krt_rec *rec, size_t len, unsigned lane)
{
	struct krt_context_info *ctx;
	struct krt_lane *l;
	struct krt_call c;

	if (!krt_decode(rec, len, lane, &c)) {
		e->malformed++;
		return;
	}
	krt_order_at(e->order, c.rec->t0, c.rec->t1);
	l = krt_call_lane(e, lane);
	if (!l)
		return;
	if (c.op == KRT_OP_LIBRARY_CALL) { /* does nothing by itself */
		krt_library_op(e, &c);
		return;
	}
	c.range = l->range;
	if (c.rec->ctx)
		l->ctx = e->last_ctx = c.rec->ctx;
	else if (c.op == KRT_OP_CTX_CURRENT && c.ok) /* pushed or set; popped: not known */
		l->ctx = c.ctx;
	if (c.api->cls != KRT_CLASS_NOTE && c.api->cls != KRT_CLASS_LIBC) {
		e->cov.calls++;
		if (!c.ok && !c.not_ready)
			e->cov.failed_calls++;
		if (c.ok && c.api->cls == KRT_CLASS_CONSERVATIVE)
			krt_reason(e, KRT_REASON_CONSERVATIVE, "%s", c.api->base);
		if (c.ok && c.api->cls == KRT_CLASS_UNSUPPORTED)
			krt_reason(e, KRT_REASON_UNSUPPORTED, "%s", c.api->base);
	}
	ctx = judged_context(e, &c);
	if (!ctx)
		return;
	if (c.ok && outlived(e, &c))
		return;
	e->judge = !(rec->flags & KRT_RF_IGNORE) && !ctx->sticky;
	e->exiting = e->exit_ticket && c.rec->t0 > e->exit_ticket;
	if (rec->flags & KRT_RF_IGNORE)
		e->cov.ignored++;
	e->call = &c;
	if (e->cfg.nchanges && c.ok)
		krt_change_before_call(e, &c);
	if (c.api->cls != KRT_CLASS_NOTE && c.api->cls != KRT_CLASS_LIBC) {
		krt_capture_call(e, &c);
		krt_storm_call(e, &c);
	}
	krt_unfinished_op(e, &c);
	c.told = !c.ok && !c.not_ready && krt_rights_refused(e, &c);
	krt_hot_pass(e, &c);
	dispatch(e, &c);
	krt_pairs_flush(e);
	krt_timeline_call(e, &c);
	e->call = NULL;
	if (sticky(c.rec->result) && !ctx->sticky) {
		ctx->sticky = true;
		krt_reason(e, KRT_REASON_STICKY, "%s returned %d", c.api->base, c.rec->result);
	}
}

/* --- other records ------------------------------------------------------------------------ */

static void thread_record(struct krt_engine *e, const struct krt_rec_thread *r, unsigned lane)
{
	struct krt_lane *l = krt_call_lane(e, lane);

	if (!l)
		return;
	l->thread = r->serial;
	l->ndeclared = 0;
	l->ctx = l->inside = 0;
	l->range = 0;
	krt_library_thread(l);
	l->capture_mode = 0;
	krt_path_reset(&l->path);
	memset(&l->hot, 0, sizeof(l->hot));
	l->timeline = 0;
	l->tid = r->tid;
	memcpy(l->name, r->name, sizeof(l->name));
}

static void device_record(struct krt_engine *e, const struct krt_rec_device *r)
{
	if (r->device >= 0 && r->device < KRT_ARCH_DEVICES && r->cc_major > 0 && r->cc_major < 1000 &&
	    r->cc_minor >= 0 && r->cc_minor < 10)
		e->arch[r->device] = (uint16_t)(r->cc_major * 10 + r->cc_minor);
}

const char *krt_trouble_text(uint32_t trouble)
{
	if (trouble & KRT_TROUBLE_SPACE)
		return "no space for the records";
	if (trouble & KRT_TROUBLE_MEMORY)
		return "no memory or disk for recording";
	if (trouble & KRT_TROUBLE_HOST)
		return "the option host= is not in force: the CPU's own accesses were not watched";
	if (trouble & KRT_TROUBLE_PART)
		return "no memory for a part of what was to be recorded (kernels, call stacks, names)";
	return trouble & KRT_TROUBLE_INTERNAL ? "recording failed" : NULL;
}

static void trouble_reasons(struct krt_engine *e, uint32_t trouble)
{
	if (trouble & (KRT_TROUBLE_LATE | KRT_TROUBLE_BYPASS))
		krt_coverage_reason(&e->cov, KRT_REASON_LATE, NULL);
	if (trouble & KRT_TROUBLE_DROPPED)
		krt_coverage_reason(&e->cov, KRT_REASON_DROPPED, NULL);
	if (trouble & KRT_TROUBLE_BOUND)
		krt_reason(e, KRT_REASON_DROPPED, "the bound was reached and recording stopped");
	if (krt_trouble_text(trouble))
		krt_reason(e, KRT_REASON_INTERNAL, "%s", krt_trouble_text(trouble));
}

static void mark_record(struct krt_engine *e, const struct krt_rec_mark *r, unsigned lane)
{
	struct krt_lane *l;

	switch ((enum krt_mark)r->mark) {
	/* it may be read before the calls that came before it: its ticket says which those are */
	case KRT_MARK_EXITING:
		e->exit_ticket = r->t1;
		break;
	case KRT_MARK_STOPPED:
		trouble_reasons(e, (uint32_t)r->value);
		break;
	case KRT_MARK_UNWRAPPED:
		e->cov.unwrapped++;
		break;
	case KRT_MARK_TIMING:
		e->timing |= (r->value & 255) == KRT_TIMING_ON;
		if (r->value >> 8)
			snprintf(e->cov.timing, sizeof(e->cov.timing), "%s (%s %llu)",
				 krt_timing_text(r->value & 255),
				 (r->value & 255) == KRT_TIMING_ON ||
						 (r->value & 255) == KRT_TIMING_VERSION
					 ? "CUPTI" : "its result",
				 (unsigned long long)(r->value >> 8));
		else
			snprintf(e->cov.timing, sizeof(e->cov.timing), "%s",
				 krt_timing_text(r->value & 255));
		break;
	case KRT_MARK_PYTHON:
		snprintf(e->cov.python, sizeof(e->cov.python), "%u.%u: %s",
			 (unsigned)(r->value >> 16 & 255), (unsigned)(r->value >> 8 & 255),
			 krt_python_text(r->value & 255));
		break;
	case KRT_MARK_RANGE:
		l = krt_call_lane(e, lane);
		if (l)
			l->range = (uint32_t)r->value;
		break;
	case KRT_MARK_FORKED:
	case KRT_MARK_EXEC:
		break;
	}
}

int krt_engine_feed(struct krt_engine *e, const struct krt_rec *rec, size_t len, unsigned lane)
{
	const void *r = rec;

	if (e->heap.failed)
		return -ENOMEM;
	e->records++;
	e->bytes += len;
	if (len < sizeof(*rec)) {
		e->malformed++;
		return 0;
	}
#define ENOUGH(type) (len >= sizeof(struct type) || (e->malformed++, false))
	switch ((enum krt_rec_kind)rec->kind) {
	case KRT_REC_CALL:
		call_record(e, rec, len, lane);
		break;
	case KRT_REC_THREAD:
		if (ENOUGH(krt_rec_thread))
			thread_record(e, r, lane);
		break;
	case KRT_REC_MARK:
		if (ENOUGH(krt_rec_mark))
			mark_record(e, r, lane);
		break;
	case KRT_REC_STACK:
		krt_stack_record(&e->obj, r, len);
		break;
	case KRT_REC_CODE:
		krt_code_record(&e->obj, r, len);
		break;
	case KRT_REC_MODULE:
		krt_module_record(&e->obj, r, len);
		break;
	case KRT_REC_KERNEL:
		krt_kernel_record(&e->obj, r, len);
		break;
	case KRT_REC_PARAMS:
		krt_params_record(e, r, len);
		break;
	case KRT_REC_STRING:
		krt_string_record(&e->obj, r, len);
		break;
	case KRT_REC_CONTEXT:
		if (ENOUGH(krt_rec_context))
			krt_context_describe(&e->obj, r);
		break;
	case KRT_REC_STREAM:
		if (ENOUGH(krt_rec_stream))
			krt_stream_describe(&e->obj, r);
		break;
	case KRT_REC_DEVICE_TIME:
		if (ENOUGH(krt_rec_device_time))
			krt_device_times(e, r, len);
		break;
	case KRT_REC_DEVICE:
		if (ENOUGH(krt_rec_device))
			device_record(e, r);
		break;
	case KRT_REC_DRIVER:
		if (ENOUGH(krt_rec_driver))
			e->driver_version = ((const struct krt_rec_driver *)r)->version;
		break;
	case KRT_REC_PAD:
	case KRT_REC_CONT: /* the reader has joined it */
	case KRT_REC_IMAGE: /* the session keeps them: the engine knows ids */
		break;
	}
#undef ENOUGH
	return e->heap.failed ? -ENOMEM : 0;
}

/* --- the end -----------------------------------------------------------------------------------
 */

void krt_engine_finish(struct krt_engine *e, uint32_t trouble, uint64_t dropped)
{
	if (e->finished)
		return;
	e->finished = true;
	e->judge = true;
	krt_order_at(e->order, 0, 0); /* no call is in flight any more */
	if (e->cfg.nchanges)
		krt_change_end(e);
	krt_storm_finish(e);
	krt_rights_finish(e);
	krt_pace_finish(e);
	krt_hot_finish(e);
	krt_wait_sites_finish(e);
	krt_unfinished_finish(e, !trouble && !dropped && !e->malformed && !e->heap.failed);
	krt_graph_finish(e);
	trouble_reasons(e, trouble);
	e->cov.dropped += dropped;
	if (dropped)
		krt_reason(e, KRT_REASON_DROPPED, "%s%llu record%s",
			   trouble & KRT_TROUBLE_MEMORY ? "recording stopped after the loss of "
							: "",
			   (unsigned long long)dropped, dropped == 1 ? "" : "s");
	if (e->malformed)
		krt_reason(e, KRT_REASON_DROPPED, "%llu malformed record%s left out",
			   (unsigned long long)e->malformed, e->malformed == 1 ? " was" : "s were");
	if (!e->cov.calls)
		krt_coverage_reason(&e->cov, KRT_REASON_NO_CUDA, NULL);
	if (e->heap.failed)
		krt_reason(e, KRT_REASON_INTERNAL, "the analysis ran out of memory");
}

int krt_engine_report(const struct krt_engine *e, struct krt_report *r)
{
	struct krt_process *p = krt_report_add_process(r);

	if (!p)
		return -ENOMEM;
	p->coverage = e->cov;
	if (e->heap.failed)
		krt_coverage_reason(&p->coverage, KRT_REASON_INTERNAL,
				    "the analysis ran out of memory");
	p->records = e->records;
	p->bytes = e->bytes;
	p->peak_bytes = e->heap.peak;
	p->used_cuda = e->cov.calls > 0;
	if (krt_timeline_report(e, r->arena, &p->timeline))
		return -ENOMEM;
	return krt_judge_report(e, r);
}

void krt_engine_destroy(struct krt_engine *e)
{
	if (!e)
		return;
	krt_timeline_free(e);
	krt_judge_free(e);
	krt_change_free(e);
	krt_rights_free(e);
	krt_pace_free(e);
	krt_hot_free(e);
	krt_wait_sites_free(e);
	krt_unfinished_end(e);
	krt_sync_free(e);
	krt_capture_free(e);
	krt_storm_free(e);
	krt_launch_free(e);
	krt_kernels_gone(e);
	krt_graph_free_all(e);
	krt_loaded_free(e);
	krt_library_free(e);
	krt_shadow_forget(e);
	krt_descriptors_free(e);
	krt_patterns_free(&e->heap, &e->patterns);
	for (uint32_t i = 0; i < e->lanes; i++)
		krt_heap_free(&e->heap, e->lane[i].declared,
			      e->lane[i].declared_cap * sizeof(*e->lane[i].declared));
	krt_heap_free(&e->heap, e->lane, e->lanes * sizeof(*e->lane));
	krt_memory_free(&e->mem);
	krt_objects_free(&e->obj);
	krt_order_destroy(e->order);
	krt_heap_end(&e->heap);
	free(e);
}
