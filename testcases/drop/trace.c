/* SPDX-License-Identifier: Apache-2.0 */
/* See trace.h. */
#include "trace.h"

#include "analyzer/image_store.h"
#include "analyzer/kernels.h"
#include "analyzer/ptx/flow.h"
#include "analyzer/reader.h"
#include "interposer/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUDGET 2000000 /* records */

static void *grow(void *list, size_t n, size_t *cap, size_t size)
{
	if (n < *cap)
		return list;
	*cap = *cap ? *cap * 2 : 256;
	list = realloc(list, *cap * size);
	if (!list)
		abort();
	return list;
}

static void add(struct trace *t, const struct krt_rec *rec, size_t len, unsigned lane)
{
	struct krt_rec *copy = malloc(len);

	if (!copy)
		abort();
	memcpy(copy, rec, len);
	t->record = grow(t->record, t->n, &t->cap, sizeof(*t->record));
	if (rec->kind == KRT_REC_CALL)
		((struct krt_rec_call *)copy)->stack = (uint32_t)t->n + 1;
	t->record[t->n++] = (struct record){copy, len, lane};
}

static bool read_all(struct trace *t, struct krt_reader *r, char *why, size_t len)
{
	const struct krt_rec *rec;
	size_t size;
	unsigned lane;
	int rc = 0, n = krt_reader_scan(r);
	struct krt_proc_reader *p;

	if (n != 1) {
		snprintf(why, len, n ? "several processes" : "no process");
		return false;
	}
	p = krt_reader_process(r, 0);
	while (t->n < BUDGET && (rc = krt_proc_next(p, &rec, &size, &lane)) > 0) {
		if (rec->kind == KRT_REC_IMAGE)
			krt_image_store_record(t->cfg.images, 0, (const void *)rec, size);
		if (rec->kind != KRT_REC_STACK)
			add(t, rec, size, lane);
	}
	if (rc) {
		snprintf(why, len, rc < 0 ? "damaged" : "too many records");
		return false;
	}
	return true;
}

/* --- kernels ------------------------------------------------------------------------- */

static void on_access(void *user, struct krt_engine *e, const struct krt_kernel_access *a)
{
	struct trace *t = user;

	uint64_t base = a->mem && a->mem->variable ? a->mem->node.key : 0;

	if (a->sure != KRT_SURE_ALL || !a->len || a->kind == KRT_ACC_UNKNOWN || !e->call)
		return;
	t->touched = grow(t->touched, t->ntouched, &t->touched_cap, sizeof(*t->touched));
	t->touched[t->ntouched++] = (struct touched){.launch = e->call->rec->t0,
						     .kind = a->kind,
						     .array = a->mem && !a->mem->variable,
						     .addr = base + a->addr,
						     .len = a->len,
						     .rows = a->rows ? a->rows : 1,
						     .pitch = a->pitch,
						     .stride = a->stride,
						     .width = a->width,
						     .from = base + a->from,
						     .end = base + a->end};
}

static void on_told(void *user, struct krt_engine *e, const struct krt_kernel_params *p,
		    const struct krt_kernel_ask *ask, enum krt_tier tier)
{
	struct trace *t = user;

	(void)p, (void)tier;
	t->awaits |= ask->waits;
	if (!e->call || !(ask->waits || ask->flags & (KRT_FLOW_SPINS | KRT_FLOW_LOCKS)))
		return;
	t->waits = grow(t->waits, t->nwaits, &t->waits_cap, sizeof(*t->waits));
	t->waits[t->nwaits++] = e->call->rec->t0;
}

/* --- the whole ----------------------------------------------------------------------- */

static bool configure(struct trace *t, const char *options, char *why, size_t len)
{
	struct krt_options o;
	char err[384];

	krt_options_init(&o);
	if (krt_options_parse(&o, options, err, sizeof(err))) {
		snprintf(why, len, "%s", err);
		return false;
	}
	t->cfg.hot_min = (unsigned)o.hot_min;
	t->cfg.possible_max = (unsigned)o.possible_max;
	t->cfg.images = krt_image_store_new(
		&(struct krt_image_config){.ptx_path = "", .library = o.lib_ptx});
	t->cfg.text = krt_image_store_text;
	t->cfg.params = krt_image_store_params;
	if (*o.kernels && !(t->cfg.kernels = krt_kernels_load(o.kernels, err, sizeof(err)))) {
		snprintf(why, len, "%s", err);
		return false;
	}
	return true;
}

bool trace_open(struct trace *t, const char *dir, const char *options, char *why, size_t len)
{
	struct krt_reader *r;
	bool ok;

	memset(t, 0, sizeof(*t));
	if (!configure(t, options, why, len))
		return false;
	r = krt_reader_open(dir, false, why, len);
	if (!r)
		return false;
	ok = read_all(t, r, why, len);
	krt_reader_close(r);
	return ok;
}

void trace_close(struct trace *t)
{
	for (size_t i = 0; i < t->n; i++)
		free((void *)t->record[i].rec);
	free(t->record);
	free(t->touched);
	free(t->waits);
	if (t->cfg.images)
		krt_image_store_free(t->cfg.images);
	if (t->cfg.kernels)
		krt_kernels_free(t->cfg.kernels);
}

static void feed_site(struct krt_engine *e, uint32_t id)
{
	union {
		uint64_t words[8];
		struct krt_rec_stack r;
		struct krt_rec h;
	} u = {0};

	u.r.h.kind = KRT_REC_STACK;
	u.r.h.size = sizeof(u.r) + 8;
	u.r.id = id;
	u.r.depth = 1;
	u.r.pc[0] = 0x1000 + id * 16ull;
	krt_engine_feed(e, &u.h, u.r.h.size, 0);
}

struct krt_report *trace_report(struct trace *t, long without)
{
	struct krt_engine_config cfg = t->cfg;
	struct krt_kernel_watch watch = {.user = t, .access = on_access, .told = on_told};
	struct krt_engine *e;
	struct krt_report *r = krt_report_new();

	if (without < 0 && !t->ntouched)
		cfg.watch = &watch;
	e = krt_engine_new(&cfg);
	if (!e || !r)
		abort();
	for (size_t i = 0; i < t->n; i++) {
		const struct record *x = &t->record[i];

		if ((long)i == without)
			continue;
		if (x->rec->kind == KRT_REC_CALL)
			feed_site(e, (uint32_t)i + 1);
		krt_engine_feed(e, x->rec, x->len, x->lane);
	}
	krt_engine_finish(e, 0, 0);
	if (krt_engine_report(e, r))
		abort();
	krt_report_sort(r);
	krt_engine_destroy(e);
	return r;
}
