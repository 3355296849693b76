/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libcupti.so.13 for the simulated driver: the entry points of the activity
 * interface that krtsan uses, with the records of CUPTI 13.0.
 *
 * Work and calls are told by the driver (activity.h).  Records of calls and of
 * work go into buffers of their own, as the real library's do, so that work may
 * be told before its call.  A full buffer is handed back by the thread that
 * filled it.  KRTSAN_SIM_CUPTI=VERSION answers another version,
 * KRTSAN_SIM_CUPTI=fail fails in cuptiActivityEnable.
 */
#define _GNU_SOURCE
#include "../activity.h"
#include "cuptiabi.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define EPOCH 1000000000u /* its clock is another than the driver's */
#define API   __attribute__((visibility("default")))

/* Recursive: a buffer is handed back while it is held. */
static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static cupti_buffer_wanted *wanted;
static cupti_buffer_full *full;
static bool enabled[64], opened;
static int subscriber;

static __thread struct {
	uint64_t id[16];
	unsigned n;
} outside;

static struct stock {
	uint8_t *at;
	size_t size, used;
} of_calls, of_work;

static void hand_back(struct stock *b)
{
	struct stock old = *b;

	memset(b, 0, sizeof *b);
	if (old.at)
		full(NULL, 0, old.at, old.size, old.used);
}

static void put(struct stock *b, const void *record, size_t len)
{
	size_t max;

	if (b->at && b->size - b->used < len)
		hand_back(b);
	if (!b->at)
		wanted(&b->at, &b->size, &max);
	if (!b->at || b->size - b->used < len)
		return;
	memcpy(b->at + b->used, record, len);
	b->used += len;
}

static void call_begins(uint32_t correlation)
{
	struct cupti_external x = {.kind = CUPTI_EXTERNAL_CORRELATION,
				   .external_kind = CUPTI_EXTERNAL_CUSTOM0,
				   .correlation = correlation};

	if (!outside.n)
		return;
	x.external_id = outside.id[outside.n - 1];
	pthread_mutex_lock(&lock);
	if (enabled[CUPTI_EXTERNAL_CORRELATION] && enabled[CUPTI_DRIVER])
		put(&of_calls, &x, sizeof x);
	pthread_mutex_unlock(&lock);
}

static void work_done(const struct sim_activity *a)
{
	static const uint32_t kind[] = {[SIM_ACT_KERNEL] = CUPTI_CONCURRENT_KERNEL,
					[SIM_ACT_COPY] = CUPTI_MEMCPY,
					[SIM_ACT_SET] = CUPTI_MEMSET};
	static const struct cupti_layout layout[] = {
#define X(k, record, len, dev, corr) {.kind = k, .size = len, .device = dev, .correlation = corr},
		CUPTI_LAYOUTS(X)
#undef X
	};
	uint64_t room[32] = {0};
	struct cupti_work *w = (void *)room;

	w->kind = kind[a->kind];
	w->start = a->start_ns + EPOCH;
	w->end = a->end_ns + EPOCH;
	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < sizeof layout / sizeof *layout; i++) {
		if (layout[i].kind != w->kind || !enabled[w->kind])
			continue;
		memcpy((char *)room + layout[i].device, &a->device, 4);
		memcpy((char *)room + layout[i].correlation, &a->correlation, 4);
		put(&of_work, room, layout[i].size);
	}
	pthread_mutex_unlock(&lock);
}

static void *of_driver(const char *name)
{
	void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);

	return driver ? dlsym(driver, name) : NULL;
}

static const char *wish(void)
{
	const char *s = getenv("KRTSAN_SIM_CUPTI");

	return s ? s : "";
}

API cupti_get_version cuptiGetVersion;
int cuptiGetVersion(uint32_t *version)
{
	int v = atoi(wish());

	*version = v ? (uint32_t)v : CUPTI_VERSION_MIN + 1;
	return CUPTI_OK;
}

API cupti_get_timestamp cuptiGetTimestamp;
int cuptiGetTimestamp(uint64_t *ns)
{
	uint64_t (*clock)(void) = of_driver("sim_clock_ns");

	if (!clock)
		return 999;
	*ns = clock() + EPOCH;
	return CUPTI_OK;
}

API cupti_subscribe cuptiSubscribe;
int cuptiSubscribe(void **handle, void *callback, void *user)
{
	(void)callback;
	(void)user;
	if (subscriber)
		return CUPTI_MULTIPLE_SUBSCRIBERS;
	subscriber = 1;
	*handle = &subscriber;
	return CUPTI_OK;
}

API cupti_unsubscribe cuptiUnsubscribe;
int cuptiUnsubscribe(void *handle)
{
	(void)handle;
	subscriber = 0;
	return CUPTI_OK;
}

API cupti_register_callbacks cuptiActivityRegisterCallbacks;
int cuptiActivityRegisterCallbacks(cupti_buffer_wanted *w, cupti_buffer_full *f)
{
	wanted = w;
	full = f;
	return CUPTI_OK;
}

API cupti_enable cuptiActivityEnable;
int cuptiActivityEnable(uint32_t kind)
{
	__typeof__(&sim_activity_open) open = of_driver("sim_activity_open");

	if (!open || !wanted || !strcmp(wish(), "fail"))
		return 999;
	if (kind < 64)
		enabled[kind] = true;
	if (!opened) {
		opened = true;
		open(work_done, call_begins);
	}
	return CUPTI_OK;
}

API cupti_disable cuptiActivityDisable;
int cuptiActivityDisable(uint32_t kind)
{
	if (kind < 64)
		enabled[kind] = false;
	return CUPTI_OK;
}

API cupti_flush_all cuptiActivityFlushAll;
int cuptiActivityFlushAll(uint32_t flags)
{
	(void)flags;
	pthread_mutex_lock(&lock);
	hand_back(&of_work); /* before the calls that enqueued it: order is not promised */
	hand_back(&of_calls);
	pthread_mutex_unlock(&lock);
	return CUPTI_OK;
}

static size_t length(uint32_t kind)
{
	switch (kind) {
#define X(k, record, len, dev, corr)                                                               \
	case k:                                                                                    \
		return len;
		CUPTI_LAYOUTS(X)
#undef X
	case CUPTI_EXTERNAL_CORRELATION:
		return sizeof(struct cupti_external);
	}
	return 0;
}

API cupti_next_record cuptiActivityGetNextRecord;
int cuptiActivityGetNextRecord(uint8_t *buffer, size_t used, void **record)
{
	uint8_t *next = *record ? *record : buffer;
	uint32_t kind;

	if (*record) {
		memcpy(&kind, next, sizeof kind);
		next += length(kind);
	}
	if ((size_t)(next - buffer) >= used)
		return CUPTI_MAX_LIMIT_REACHED;
	*record = next;
	return CUPTI_OK;
}

API cupti_push_external cuptiActivityPushExternalCorrelationId;
int cuptiActivityPushExternalCorrelationId(uint32_t kind, uint64_t id)
{
	(void)kind;
	if (outside.n < sizeof outside.id / sizeof *outside.id)
		outside.id[outside.n++] = id;
	return CUPTI_OK;
}

API cupti_pop_external cuptiActivityPopExternalCorrelationId;
int cuptiActivityPopExternalCorrelationId(uint32_t kind, uint64_t *last)
{
	(void)kind;
	if (!outside.n)
		return 1;
	*last = outside.id[--outside.n];
	return CUPTI_OK;
}
