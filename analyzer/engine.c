/* SPDX-License-Identifier: Apache-2.0 */
/* The engine.  See engine.h. */
#include "engine.h"
#include "heap.h"

#include <errno.h>
#include <stdlib.h>

struct krt_engine {
	struct krt_engine_config cfg;
	struct krt_heap heap;
	struct krt_coverage cov;
	uint64_t records, bytes;
};

struct krt_engine *krt_engine_new(const struct krt_engine_config *cfg)
{
	struct krt_engine *e = calloc(1, sizeof(*e));

	if (e)
		e->cfg = *cfg;
	return e;
}

int krt_engine_feed(struct krt_engine *e, const struct krt_rec *rec, size_t len, unsigned lane)
{
	(void)lane;
	e->records++;
	e->bytes += len;
	if (rec->kind == KRT_REC_CALL)
		e->cov.calls++;
	return e->heap.failed ? -ENOMEM : 0;
}

void krt_engine_finish(struct krt_engine *e, uint32_t trouble, uint64_t dropped)
{
	e->cov.dropped += dropped;
	if (trouble & KRT_TROUBLE_DROPPED || dropped)
		krt_coverage_reason(&e->cov, KRT_REASON_DROPPED, "%llu records",
				    (unsigned long long)e->cov.dropped);
}

int krt_engine_report(const struct krt_engine *e, struct krt_report *r)
{
	struct krt_process *p = krt_report_add_process(r);

	if (!p)
		return -ENOMEM;
	p->coverage = e->cov;
	p->records = e->records;
	p->bytes = e->bytes;
	p->used_cuda = e->cov.calls > 0;
	return 0;
}

void krt_engine_destroy(struct krt_engine *e)
{
	free(e);
}
