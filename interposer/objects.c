/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is asked of the driver once per object and then remembered: parameter
 * layouts and names of kernels, flags of contexts, streams and devices.
 *
 * A CUkernel passed as a CUfunction is the normal case (cudart launches so):
 * the one query answers INVALID_HANDLE on the other's handle, so both are
 * tried.  Handles of functions are recycled after an unload; then every entry
 * is asked again at its next use and keeps its id when it is the same.
 *
 * Look-ups take no lock; inserts are lock-free for sets and locked for kernels.
 * Driver calls are made without any lock held.  Only entry points that are
 * plain queries are called.
 */
#include "objects.h"
#include "lane.h"
#include "layouts.h"
#include "resolve.h"

#define CUABI_EXACT_NAMES
#include "cuabi.h"

#include <string.h>

#define CALL           KRT_ASK
#define NOT_SUPPORTED  KRT_NOT_SUPPORTED
#define INVALID_HANDLE 400

/* ---- sets of handles ---- */

#define SET_SLOTS 8192
#define GONE      UINT64_MAX

/* Open addressing; a removed key leaves GONE.  A full set forgets: objects are then seen anew. */
struct set {
	_Atomic uint32_t used;
	_Atomic uint64_t key[SET_SLOTS];
};

static struct set *contexts, *streams;
static _Atomic uint64_t made_contexts[64]; /* by cuCtxCreate: not primary */
static _Atomic uint64_t devices_seen;

static uint32_t spread(uint64_t key)
{
	return (uint32_t)(key * 0x9e3779b97f4a7c15ull >> 45);
}

static bool set_has(const struct set *s, uint64_t key)
{
	for (uint32_t i = spread(key), n = 0; n < SET_SLOTS; i++, n++) {
		uint64_t k = atomic_load_explicit(&s->key[i % SET_SLOTS], memory_order_acquire);

		if (k == key)
			return true;
		if (!k)
			return false;
	}
	return false;
}

/* True when it was not there. */
static bool set_add(struct set *s, uint64_t key)
{
	if (atomic_load_explicit(&s->used, memory_order_relaxed) > SET_SLOTS / 4 * 3) {
		for (uint32_t i = 0; i < SET_SLOTS; i++)
			atomic_store_explicit(&s->key[i], 0, memory_order_relaxed);
		atomic_store(&s->used, 0);
	}
	for (uint32_t i = spread(key), n = 0; n < SET_SLOTS; i++, n++) {
		uint64_t k = 0;

		if (atomic_compare_exchange_strong(&s->key[i % SET_SLOTS], &k, key)) {
			atomic_fetch_add(&s->used, 1);
			return true;
		}
		if (k == key)
			return false;
	}
	return true;
}

static void set_del(struct set *s, uint64_t key)
{
	for (uint32_t i = spread(key), n = 0; n < SET_SLOTS; i++, n++) {
		uint64_t k = key;

		if (atomic_compare_exchange_strong(&s->key[i % SET_SLOTS], &k, GONE) || !k)
			return;
	}
}

/* ---- devices and the driver ---- */

static void device_seen(int device)
{
	struct krt_rec_device r = { .h = { .kind = KRT_REC_DEVICE }, .device = device };
	int v;

	if (device < 0 || device > 63 ||
	    atomic_fetch_or(&devices_seen, 1ull << device) & 1ull << device)
		return;
#define ATTRIBUTE(field, number)                                                            \
	do {                                                                                \
		v = 0;                                                                      \
		if (!CALL(cuDeviceGetAttribute, &v, number, device))                        \
			r.field = (__typeof__(r.field))v;                                   \
	} while (0)
	ATTRIBUTE(cc_major, 75);
	ATTRIBUTE(cc_minor, 76);
	ATTRIBUTE(concurrent_managed, 89);
	ATTRIBUTE(pageable_access, 88);
	ATTRIBUTE(unified_addressing, 41);
#undef ATTRIBUTE
	CALL(cuDeviceGetName, r.name, (int)sizeof r.name - 1, device);
	krt_lane0_write(&r.h, sizeof r);
}

void krt_objects_driver(void)
{
	const char *path = krt_driver_path();
	size_t n = strlen(path), size = sizeof(struct krt_rec_driver) + n;
	struct krt_rec_driver *r = krt_map(size);
	int version = 0;

	if (!r)
		return;
	CALL(cuDriverGetVersion, &version);
	krt_layouts_driver(version);
	*r = (struct krt_rec_driver){
		.h = { .kind = KRT_REC_DRIVER }, .version = version, .exports = krt_driver_exports(),
		.path_len = (uint16_t)n,
	};
	memcpy(r->path, path, n);
	krt_lane0_write(&r->h, offsetof(struct krt_rec_driver, path) + n);
	krt_unmap(r, size);
}

/* ---- contexts ---- */

static void context_seen(uint64_t ctx)
{
	struct krt_rec_context r = { .h = { .kind = KRT_REC_CONTEXT }, .ctx = ctx, .device = -1 };
	unsigned long long id = 0;
	unsigned flags = 0;
	int device = -1;

	if (!set_add(contexts, ctx))
		return;
	/* asked while it is current */
	if (!CALL(cuCtxGetDevice, &device)) {
		r.device = device;
		device_seen(device);
	}
	if (!CALL(cuCtxGetFlags, &flags))
		r.flags = flags;
	if (!CALL(cuCtxGetId, (void *)ctx, &id))
		r.ctx_id = id;
	r.primary = 1; /* cudart makes primary contexts behind the public API */
	for (unsigned i = 0; i < sizeof made_contexts / sizeof *made_contexts; i++)
		if (atomic_load(&made_contexts[i]) == ctx)
			r.primary = 0;
	krt_lane0_write(&r.h, sizeof r);
}

uint64_t krt_current_context(void)
{
	CUcontext ctx = NULL;

	if (CALL(cuCtxGetCurrent, &ctx) || !ctx)
		return 0;
	if (krt_unlikely(!set_has(contexts, (uintptr_t)ctx)))
		context_seen((uintptr_t)ctx);
	return (uintptr_t)ctx;
}

void krt_context_created(uint64_t ctx, bool primary)
{
	static _Atomic uint32_t hand;
	CUcontext current = NULL;

	if (!primary)
		atomic_store(&made_contexts[atomic_fetch_add(&hand, 1) % 64], ctx);
	if (!CALL(cuCtxGetCurrent, &current) && (uintptr_t)current == ctx)
		context_seen(ctx);
}

void krt_context_gone(uint64_t ctx)
{
	set_del(contexts, ctx);
	for (unsigned i = 0; i < sizeof made_contexts / sizeof *made_contexts; i++) {
		uint64_t k = ctx;

		atomic_compare_exchange_strong(&made_contexts[i], &k, 0);
	}
}

/* ---- streams ---- */

void krt_stream_seen(uint64_t stream, bool per_thread)
{
	struct krt_rec_stream r = { .h = { .kind = KRT_REC_STREAM }, .stream = stream };
	unsigned long long id = 0;
	unsigned flags = 0;
	CUcontext ctx = NULL;
	int priority = 0;

	if (stream <= 2 || krt_likely(set_has(streams, stream)))
		return;
	/* cuStreamGetFlags and cuStreamGetId break the capture of the stream that they ask about (measured) */
	if (krt_stream_captures(stream, per_thread))
		return;
	if (CALL(cuStreamGetFlags, (void *)stream, &flags))
		return; /* no stream: the call will fail */
	if (!set_add(streams, stream))
		return;
	r.flags = flags;
	if (!CALL(cuStreamGetId, (void *)stream, &id))
		r.stream_id = id;
	if (!CALL(cuStreamGetCtx, (void *)stream, &ctx))
		r.ctx = (uintptr_t)ctx;
	if (!CALL(cuStreamGetPriority, (void *)stream, &priority))
		r.priority = priority;
	krt_lane0_write(&r.h, sizeof r);
}

/* Its id tells a recycled handle from the one before; asked at birth, when nothing can capture it yet. */
void krt_stream_created(uint64_t stream)
{
	set_del(streams, stream);
	krt_stream_seen(stream, false);
}

void krt_stream_gone(uint64_t stream)
{
	set_del(streams, stream);
}

bool krt_stream_captures(uint64_t stream, bool per_thread)
{
	int status = 0, r;

	r = per_thread ? CALL(cuStreamIsCapturing_ptsz, (void *)stream, (CUstreamCaptureStatus *)&status)
		       : CALL(cuStreamIsCapturing, (void *)stream, (CUstreamCaptureStatus *)&status);
	return r == NOT_SUPPORTED ? false : r || status;
}

/* ---- kernels ---- */

#define KERNELS     16384
#define PARAMS_MAX  KRT_PARAMS_MAX

static struct krt_kernel *_Atomic *kernels; /* open addressing by func, entries replaced in place */
static uint32_t kernels_used, next_kernel;
static _Atomic uint32_t epoch = 1;

bool krt_objects_open(void)
{
	contexts = krt_map(sizeof *contexts);
	streams = krt_map(sizeof *streams);
	kernels = krt_map(KERNELS * sizeof *kernels);
	kernels_used = next_kernel = 0;
	atomic_store(&devices_seen, 0);
	for (unsigned i = 0; i < sizeof made_contexts / sizeof *made_contexts; i++)
		atomic_store(&made_contexts[i], 0);
	return contexts && streams && kernels;
}

void krt_kernels_stale(void)
{
	atomic_fetch_add(&epoch, 1);
}

typedef int param_info(void *, size_t, size_t *, size_t *);

/* 0 and the layout, or the driver's answer to the first question. */
static int layout(unsigned api, uint64_t func, struct krt_param *param, uint32_t *n, uint32_t *bytes)
{
	param_info *info = (param_info *)__atomic_load_n(&krt_real[api], __ATOMIC_RELAXED);

	if (!info)
		return NOT_SUPPORTED;
	*bytes = 0;
	for (*n = 0; *n < PARAMS_MAX; (*n)++) {
		size_t offset = 0, size = 0;
		int r = info((void *)func, *n, &offset, &size);

		if (r == 1) /* INVALID_VALUE: past the last */
			return 0;
		if (r)
			return r;
		if (offset + size > 65536)
			return 1;
		param[*n] = (struct krt_param){ (uint32_t)offset, (uint32_t)size };
		if (offset + size > *bytes)
			*bytes = (uint32_t)(offset + size);
	}
	return 0;
}

struct ask { /* too large for a small stack: mapped */
	struct krt_param param[PARAMS_MAX];
	char name[KRT_NAME_MAX];
	char record[sizeof(struct krt_rec_kernel) + PARAMS_MAX * sizeof(struct krt_param) + 4096 + 8]
		__attribute__((aligned(8)));
};

static struct krt_kernel *kernel_ask(uint64_t func, uint32_t now, struct krt_kernel *old)
{
	struct ask *a = krt_map(sizeof *a);
	struct krt_rec_kernel *rec;
	struct krt_kernel *k = NULL;
	const char *name = NULL;
	void *module = NULL;
	uint32_t n = 0, bytes = 0;
	uint64_t content;
	size_t len, params;
	int r;

	if (!a)
		return NULL;
	r = layout(KRT_API_cuFuncGetParamInfo, func, a->param, &n, &bytes);
	if (!r) {
		CALL(cuFuncGetName, &name, (void *)func);
		CALL(cuFuncGetModule, (CUmodule *)&module, (void *)func);
	} else {
		int r2 = layout(KRT_API_cuKernelGetParamInfo, func, a->param, &n, &bytes);

		if (!r2) {
			CALL(cuKernelGetName, &name, (void *)func);
			CALL(cuKernelGetLibrary, (CUlibrary *)&module, (void *)func);
			r = 0;
		} else {
			/* older than 12.4: names came with 12.3, for both kinds */
			uint64_t from;

			if (CALL(cuFuncGetName, &name, (void *)func))
				CALL(cuKernelGetName, &name, (void *)func);
			if (krt_layouts_find(func, a->name, &from, a->param, &n, &bytes))
				r = 0;
			if (!name && *a->name)
				name = a->name;
			module = (void *)from;
		}
	}
	if (r) {
		n = KRT_PARAMS_UNKNOWN;
		bytes = 0;
	}
	params = n == KRT_PARAMS_UNKNOWN ? 0 : n * sizeof *a->param;
	len = name ? strnlen(name, 4095) : 0;
	content = krt_hash(krt_hash(krt_hash(n, &module, sizeof module), a->param, params), name, len);

	if (old && old->content == content) {
		old->epoch = now;
		k = old;
		goto out;
	}
	k = krt_alloc(sizeof *k + params);
	if (!k)
		goto out;
	k->func = func;
	k->module = (uintptr_t)module;
	k->epoch = now;
	k->nparams = n;
	k->bytes = bytes;
	k->content = content;
	k->id = __atomic_add_fetch(&next_kernel, 1, __ATOMIC_RELAXED);
	memcpy(k->param, a->param, params);

	rec = (struct krt_rec_kernel *)a->record;
	*rec = (struct krt_rec_kernel){
		.h = { .kind = KRT_REC_KERNEL }, .id = k->id, .nparams = n, .func = func,
		.module = (uintptr_t)module, .bytes = bytes, .name_len = (uint16_t)len,
	};
	memcpy(rec->param, a->param, params);
	if (len)
		memcpy((char *)rec->param + params, name, len);
	krt_lane0_write(&rec->h, sizeof *rec + params + len);
out:
	krt_unmap(a, sizeof *a);
	return k;
}

const struct krt_kernel *krt_kernel(uint64_t func)
{
	uint32_t now = atomic_load_explicit(&epoch, memory_order_acquire);
	struct krt_kernel *k = NULL, *fresh;

	for (uint32_t i = spread(func);; i++) {
		k = atomic_load_explicit(&kernels[i % KERNELS], memory_order_acquire);
		if (!k)
			break;
		if (k->func != func)
			continue;
		if (krt_likely(k->epoch == now))
			return k;
		break;
	}
	fresh = kernel_ask(func, now, k);
	if (!fresh || fresh == k)
		return fresh;
	krt_lock(&krt_wipe.w.launch);
	if (kernels_used > KERNELS / 4 * 3) { /* start over: entries stay valid for those who hold them */
		for (uint32_t i = 0; i < KERNELS; i++)
			atomic_store_explicit(&kernels[i], NULL, memory_order_release);
		kernels_used = 0;
	}
	for (uint32_t i = spread(func);; i++) {
		k = atomic_load_explicit(&kernels[i % KERNELS], memory_order_relaxed);
		if (k && k->func != func)
			continue;
		if (!k)
			kernels_used++;
		atomic_store_explicit(&kernels[i % KERNELS], fresh, memory_order_release);
		break;
	}
	krt_unlock(&krt_wipe.w.launch);
	return fresh;
}
