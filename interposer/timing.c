/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client of CUPTI's activity interface (timing.h).  libcupti is opened at
 * run time; what is not exactly as tested is refused, and the mark KRT_MARK_TIMING
 * says why.
 *
 * A call is told to CUPTI as an external id (lane and ticket), which comes back
 * with a correlation id; work comes with the correlation id alone, before or
 * after.  Two tables of fixed size bring them together; what falls out of one is
 * lost, and the analyzer takes the stretch as not known.
 *
 * CUPTI allows one subscriber.  We stay subscribed, so that another profiler is
 * told so by CUPTI and does not take over buffers of ours.
 *
 * Buffers come from mappings and go back to a list.  CUPTI hands full ones back
 * on a thread of its own or on one of the program's, also inside a driver call.
 * One lock for tables and list, never held across a call of CUPTI.
 */
#include "timing.h"
#include "cuptiabi.h"
#include "lane.h"
#include "resolve.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#define BUFFER (256u * 1024)
#define SLOTS  65536u /* power of two */
#define BATCH  48

_Atomic uint32_t krt_timing_on;

static struct {
#define X(field, symbol) cupti_##field *field;
	CUPTI_ENTRIES(X)
#undef X
} cupti;

struct slot {
	uint32_t correlation; /* 0: empty */
	uint32_t device;
	uint64_t id;	      /* of calls: lane << 48 | ticket */
	uint64_t start, end;  /* of work that came before its call was known */
};
static struct slot *calls, *works;
static uint64_t offset; /* CUPTI's clock to ours */
static uint8_t *free_buffers; /* linked through their first word */

struct batch {
	struct krt_rec_device_time head;
	struct krt_device_time time[BATCH];
};

static const struct cupti_layout layouts[] = {
#define X(kind_, record, size_, device_, correlation_)                                             \
	{ .kind = kind_, .size = size_, .device = device_, .correlation = correlation_ },
	CUPTI_LAYOUTS(X)
#undef X
};

/* ---- buffers ---- */

static void buffer_wanted(uint8_t **buffer, size_t *size, size_t *max_records)
{
	int saved = errno;
	uint8_t *b;

	krt_lock(&krt_wipe.w.timing);
	b = free_buffers;
	if (b)
		memcpy(&free_buffers, b, sizeof free_buffers);
	krt_unlock(&krt_wipe.w.timing);
	if (!b)
		b = krt_map(BUFFER);
	*buffer = b;
	*size = b ? BUFFER : 0;
	*max_records = 0;
	errno = saved;
}

static void buffer_back(uint8_t *b)
{
	krt_lock(&krt_wipe.w.timing);
	memcpy(b, &free_buffers, sizeof free_buffers);
	free_buffers = b;
	krt_unlock(&krt_wipe.w.timing);
}

/* ---- records ---- */

static void write_out(struct batch *b, struct krt_thread *t)
{
	size_t len = sizeof b->head + b->head.n * sizeof b->time[0];

	if (!b->head.n)
		return;
	b->head.h.kind = KRT_REC_DEVICE_TIME;
	krt_lane_write(t, &b->head.h, len, &b->head.t1);
	memset(b, 0, sizeof *b);
}

static void add(struct batch *b, struct krt_thread *t, uint64_t id, uint32_t device, uint64_t start,
		uint64_t end)
{
	if (b->head.n == BATCH)
		write_out(b, t);
	b->time[b->head.n++] = (struct krt_device_time){
		.call = id & ((1ull << 48) - 1),
		.lane = (uint32_t)(id >> 48),
		.device = device,
		.start_ns = start + offset - krt_clock_base,
		.end_ns = end + offset - krt_clock_base,
	};
}

static void external(struct batch *b, struct krt_thread *t, const struct cupti_external *x)
{
	struct slot *call = &calls[x->correlation % SLOTS], *work = &works[x->correlation % SLOTS];
	struct slot w = { 0 };

	if (x->external_kind != CUPTI_EXTERNAL_CUSTOM0 || !x->correlation)
		return;
	krt_lock(&krt_wipe.w.timing);
	call->correlation = x->correlation;
	call->id = x->external_id;
	if (work->correlation == x->correlation) {
		w = *work;
		work->correlation = 0;
	}
	krt_unlock(&krt_wipe.w.timing);
	if (w.correlation)
		add(b, t, x->external_id, w.device, w.start, w.end);
}

static void work(struct batch *b, struct krt_thread *t, const struct cupti_layout *l,
		 const struct cupti_work *r)
{
	const char *at = (const char *)r;
	struct slot *call, *early;
	uint32_t device, correlation;
	uint64_t id = 0;

	memcpy(&device, at + l->device, sizeof device);
	memcpy(&correlation, at + l->correlation, sizeof correlation);
	if ((!r->start && !r->end) || r->end < r->start || !correlation)
		return;
	call = &calls[correlation % SLOTS];
	early = &works[correlation % SLOTS];
	krt_lock(&krt_wipe.w.timing);
	if (call->correlation == correlation)
		id = call->id;
	else
		*early = (struct slot){ .correlation = correlation, .device = device,
					.start = r->start, .end = r->end };
	krt_unlock(&krt_wipe.w.timing);
	if (id)
		add(b, t, id, device, r->start, r->end);
}

static void records(uint8_t *buffer, size_t used, struct krt_thread *t)
{
	struct batch b;
	void *r = NULL;

	memset(&b, 0, sizeof b);
	while (cupti.next_record(buffer, used, &r) == CUPTI_OK && r) {
		uint32_t kind;

		memcpy(&kind, r, sizeof kind);
		if (kind == CUPTI_EXTERNAL_CORRELATION)
			external(&b, t, r);
		for (unsigned i = 0; i < sizeof layouts / sizeof *layouts; i++)
			if (layouts[i].kind == kind)
				work(&b, t, &layouts[i], r);
	}
	write_out(&b, t);
}

static void buffer_full(void *ctx, uint32_t stream, uint8_t *buffer, size_t size, size_t used)
{
	struct krt_tls *tls = &krt_tls;
	int saved = errno;
	struct krt_thread *t;
	void *frame = tls->frame;

	(void)ctx;
	(void)stream;
	(void)size;
	if (!buffer)
		return;
	/* in the recorder itself: lost, and with it the stretch */
	if (krt_attached() && !tls->busy) {
		tls->busy = true;
		if (!frame)
			tls->frame = &t;
		t = krt_thread();
		if (t)
			records(buffer, used, t);
		tls->frame = frame;
		tls->busy = false;
	}
	buffer_back(buffer);
	errno = saved;
}

/* ---- opening ---- */

static void *open_library(void)
{
	static const char *const name[] = {
		"libcupti.so.13",
		"/usr/local/cuda/lib64/libcupti.so.13",
		"/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.13",
	};
	void *lib = dlopen(name[0], RTLD_NOW | RTLD_NOLOAD);

	for (unsigned i = 0; i < sizeof name / sizeof *name && !lib; i++)
		lib = dlopen(name[i], RTLD_NOW | RTLD_LOCAL);
	return lib;
}

static bool find(void *lib)
{
	struct {
		const char *symbol;
		void **to;
	} entry[] = {
#define X(field, symbol) { #symbol, (void **)&cupti.field },
		CUPTI_ENTRIES(X)
#undef X
	};

	for (unsigned i = 0; i < sizeof entry / sizeof *entry; i++) {
		*entry[i].to = dlsym(lib, entry[i].symbol);
		if (!*entry[i].to)
			return false;
	}
	return true;
}

/* The smallest of a few differences: the one that was least disturbed. */
static bool synchronise(void)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < 8; i++) {
		uint64_t before = krt_clock_ns(), theirs, after;

		if (cupti.get_timestamp(&theirs))
			return false;
		after = krt_clock_ns();
		if (after - before >= best)
			continue;
		best = after - before;
		offset = before + best / 2 - theirs;
	}
	return true;
}

static void nothing(void) {}

static enum krt_timing start(uint32_t *detail)
{
	static const uint32_t kind[] = { CUPTI_DRIVER, CUPTI_EXTERNAL_CORRELATION, CUPTI_CONCURRENT_KERNEL,
					 CUPTI_MEMCPY, CUPTI_MEMSET, CUPTI_MEMCPY2 };
	void *lib = open_library(), *subscriber;
	int r;

	if (!lib || !find(lib))
		return KRT_TIMING_NO_LIBRARY;
	krt_lookups_pass((const void *)cupti.get_version);
	r = cupti.get_version(detail);
	if (r || *detail < CUPTI_VERSION_MIN || *detail > CUPTI_VERSION_MAX)
		return KRT_TIMING_VERSION;
	calls = krt_map(SLOTS * sizeof *calls);
	works = krt_map(SLOTS * sizeof *works);
	if (!calls || !works)
		return KRT_TIMING_FAILED;
	r = cupti.subscribe(&subscriber, (void *)nothing, NULL);
	if (r) {
		*detail = (uint32_t)r;
		return r == CUPTI_MULTIPLE_SUBSCRIBERS ? KRT_TIMING_SUBSCRIBER : KRT_TIMING_FAILED;
	}
	r = synchronise() ? cupti.register_callbacks(buffer_wanted, buffer_full) : -1;
	for (unsigned i = 0; i < sizeof kind / sizeof *kind && !r; i++)
		r = cupti.enable(kind[i]);
	if (!r)
		return KRT_TIMING_ON;
	for (unsigned i = 0; i < sizeof kind / sizeof *kind; i++)
		cupti.disable(kind[i]);
	cupti.unsubscribe(subscriber);
	*detail = (uint32_t)r;
	return KRT_TIMING_FAILED;
}

void krt_timing_open(void)
{
	struct krt_rec_mark m = { .h = { .kind = KRT_REC_MARK }, .mark = KRT_MARK_TIMING };
	enum krt_timing state;
	uint32_t detail = 0;

	atomic_store(&krt_timing_on, 0);
	if (krt_opt.timing != KRT_TIMING_cupti || krt_session > 1) /* not in a child made by fork */
		return;
	state = start(&detail);
	dlerror(); /* of ours */
	m.value = (uint64_t)detail << 8 | state;
	krt_lane0_write(&m.h, sizeof m);
	if (state == KRT_TIMING_ON)
		atomic_store(&krt_timing_on, 1);
	else
		krt_msg("timing: no device times: %s (%u)", krt_timing_text(state), detail);
}

/* ---- calls ---- */

void krt_timing_begin(unsigned lane, uint64_t call)
{
	cupti.push_external(CUPTI_EXTERNAL_CUSTOM0, (uint64_t)lane << 48 | call);
}

void krt_timing_end(void)
{
	uint64_t last;

	cupti.pop_external(CUPTI_EXTERNAL_CUSTOM0, &last);
}

void krt_timing_flush(void)
{
	if (!atomic_load_explicit(&krt_timing_on, memory_order_acquire) || krt_tls.busy ||
	    krt_tls.frame)
		return;
	cupti.flush_all(CUPTI_FLUSH_FORCED);
}
