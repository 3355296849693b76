/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report as a container: arena, growth, order, verdict.  No rule and no
 * format is known here.  Not locked: a report belongs to one thread.
 */
#include "finding.h"
#include "timeline.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK (64u * 1024)

struct chunk {
	struct chunk *next;
	size_t used, size;
	_Alignas(16) unsigned char data[];
};

struct krt_arena {
	struct chunk *head;
};

struct krt_arena *krt_arena_new(void)
{
	return calloc(1, sizeof(struct krt_arena));
}

void krt_arena_destroy(struct krt_arena *a)
{
	if (!a)
		return;
	while (a->head) {
		struct chunk *c = a->head;

		a->head = c->next;
		free(c);
	}
	free(a);
}

void *krt_arena_alloc(struct krt_arena *a, size_t size)
{
	struct chunk *c = a->head;
	void *p;

	if (size > SIZE_MAX - sizeof(*c) - 15)
		return NULL;
	size = (size + 15) & ~(size_t)15;
	if (!c || c->size - c->used < size) {
		size_t room = size > CHUNK / 4 ? size : CHUNK;

		c = calloc(1, sizeof(*c) + room);
		if (!c)
			return NULL;
		c->size = room;
		if (a->head && room == size) { /* big: does not become the chunk to fill */
			c->next = a->head->next;
			a->head->next = c;
		} else {
			c->next = a->head;
			a->head = c;
		}
	}
	p = c->data + c->used;
	c->used += size;
	return p;
}

char *krt_arena_strdup(struct krt_arena *a, const char *s)
{
	size_t n;
	char *p;

	if (!s)
		return NULL;
	n = strlen(s) + 1;
	p = krt_arena_alloc(a, n);
	return p ? memcpy(p, s, n) : NULL;
}

char *krt_arena_printf(struct krt_arena *a, const char *fmt, ...)
{
	va_list ap;
	char *p = NULL;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n >= 0)
		p = krt_arena_alloc(a, (size_t)n + 1);
	if (!p)
		return NULL;
	va_start(ap, fmt);
	vsnprintf(p, (size_t)n + 1, fmt, ap);
	va_end(ap);
	return p;
}

struct krt_report *krt_report_new(void)
{
	struct krt_report *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->program_exit = -1;
	r->arena = krt_arena_new();
	if (!r->arena) {
		free(r);
		return NULL;
	}
	return r;
}

void krt_report_destroy(struct krt_report *r)
{
	if (!r)
		return;
	krt_arena_destroy(r->arena);
	free(r->process);
	free(r->finding);
	free(r->suppressed);
	free(r);
}

/* Room for one more; capacities are powers of two, so they need not be kept. */
static void *grow(void *array, size_t n, size_t size)
{
	return n & (n - 1) ? array : realloc(array, (n ? 2 * n : 1) * size);
}

struct krt_process *krt_report_add_process(struct krt_report *r)
{
	struct krt_process *p = grow(r->process, r->nprocesses, sizeof(*p));

	if (!p)
		return NULL;
	r->process = p;
	p += r->nprocesses++;
	memset(p, 0, sizeof(*p));
	p->exit_code = -1;
	return p;
}

static struct krt_finding *add(struct krt_finding **list, size_t *n)
{
	struct krt_finding *f = grow(*list, *n, sizeof(*f));

	if (!f)
		return NULL;
	*list = f;
	f += (*n)++;
	memset(f, 0, sizeof(*f));
	return f;
}

struct krt_finding *krt_report_add_finding(struct krt_report *r)
{
	return add(&r->finding, &r->nfindings);
}

struct krt_finding *krt_report_add_suppressed(struct krt_report *r)
{
	return add(&r->suppressed, &r->nsuppressed);
}

static int by_level(const void *a, const void *b)
{
	const struct krt_finding *x = a, *y = b;

	if (x->level != y->level)
		return x->level > y->level ? -1 : 1;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->current.sequence != y->current.sequence)
		return x->current.sequence < y->current.sequence ? -1 : 1;
	if (x->rule != y->rule)
		return x->rule < y->rule ? -1 : 1;
	if (x->previous.sequence != y->previous.sequence)
		return x->previous.sequence < y->previous.sequence ? -1 : 1;
	if (x->buffer.base != y->buffer.base)
		return x->buffer.base < y->buffer.base ? -1 : 1;
	if (x->buffer.offset != y->buffer.offset)
		return x->buffer.offset < y->buffer.offset ? -1 : 1;
	return 0;
}

void krt_report_sort(struct krt_report *r)
{
	if (r->nfindings > 1)
		qsort(r->finding, r->nfindings, sizeof(*r->finding), by_level);
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

size_t krt_fingerprints_sort(uint64_t *id, size_t n)
{
	size_t kept = 0;

	if (n)
		qsort(id, n, sizeof(*id), by_value);
	for (size_t i = 0; i < n; i++)
		if (!kept || id[kept - 1] != id[i])
			id[kept++] = id[i];
	return kept;
}

bool krt_fingerprints_have(const uint64_t *id, size_t n, uint64_t fingerprint)
{
	return n && bsearch(&fingerprint, id, n, sizeof(*id), by_value);
}

void krt_coverage_reason(struct krt_coverage *c, enum krt_reason why, const char *fmt, ...)
{
	va_list ap;

	c->reasons |= 1u << why;
	if (!fmt || c->detail[why][0]) /* the first detail is kept */
		return;
	va_start(ap, fmt);
	vsnprintf(c->detail[why], sizeof(c->detail[why]), fmt, ap);
	va_end(ap);
}

const char *krt_reason_text(enum krt_reason why)
{
	static const char *const text[KRT_NR_REASONS] = {
#define X(name, t) [KRT_REASON_##name] = t,
		KRT_REASONS(X)
#undef X
	};
	return text[why];
}

const char *krt_level_name(enum krt_level l)
{
	switch (l) {
	case KRT_LEVEL_NOTE: return "note";
	case KRT_LEVEL_WARNING: return "warning";
	case KRT_LEVEL_ERROR: return "error";
	}
	return "error";
}

const char *krt_confidence_name(enum krt_confidence c)
{
	switch (c) {
	case KRT_POSSIBLE: return "possible";
	case KRT_LIKELY: return "likely";
	case KRT_CERTAIN: return "certain";
	}
	return "possible";
}

static const struct tier {
	const char *text, *gloss;
} tiers[] = {
#define X(name, text, gloss) {text, gloss},
	KRT_TIERS(X)
#undef X
};

const char *krt_tier_text(enum krt_tier t)
{
	return t < KRT_NR_TIERS ? tiers[t].text : "?";
}

const char *krt_tier_gloss(const char *word)
{
	for (unsigned t = 0; t < KRT_NR_TIERS; t++)
		if (!strcmp(tiers[t].text, word))
			return tiers[t].gloss;
	return NULL;
}

/* What a table says of an enum's value; "?" of one that it has not. */
#define TEXT(name, words) words,
#define TEXT_OF(function, type, TABLE, count)                                                      \
	const char *function(type v)                                                               \
	{                                                                                          \
		static const char *const text[] = {TABLE(TEXT)};                                   \
                                                                                                   \
		return v < count ? text[v] : "?";                                                  \
	}
TEXT_OF(krt_user_api_text, enum krt_user_api, KRT_USER_APIS, KRT_NR_USER_APIS)
TEXT_OF(krt_verified_text, enum krt_verified, KRT_VERIFIED, KRT_NR_VERIFIED)
TEXT_OF(krt_timeline_kind_text, unsigned, KRT_TIMELINE_KINDS, KRT_NR_TIMELINE_KINDS)
TEXT_OF(krt_timeline_edge_text, unsigned, KRT_TIMELINE_EDGES, KRT_NR_TIMELINE_EDGES)
TEXT_OF(krt_timeline_lane_text, unsigned, KRT_TIMELINE_LANES, KRT_NR_LANE_KINDS)
#undef TEXT_OF
#undef TEXT

uint32_t krt_timeline_find(const struct krt_timeline *t, uint64_t sequence)
{
	uint32_t low = 0, high = t->nops;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (t->op[mid].sequence < sequence)
			low = mid + 1;
		else
			high = mid;
	}
	return low < t->nops && t->op[low].sequence == sequence ? low : KRT_TL_NONE;
}

const char *krt_view_name(enum krt_finding_view v)
{
	switch (v) {
	case KRT_BOTH_VIEWS: return "both";
	case KRT_DOCUMENTED_ONLY: return "documented";
	}
	return "both";
}

const char *krt_baseline_name(enum krt_baseline b)
{
	switch (b) {
	case KRT_BASELINE_NEW: return "new";
	case KRT_BASELINE_KNOWN: return "known";
	case KRT_BASELINE_NONE:
	case KRT_NR_BASELINES: break;
	}
	return NULL;
}

const char *krt_verdict_name(enum krt_verdict v)
{
	switch (v) {
	case KRT_VERDICT_CLEAN: return "clean";
	case KRT_VERDICT_FINDINGS: return "findings";
	case KRT_VERDICT_INCONCLUSIVE: return "inconclusive";
	}
	return "inconclusive";
}

size_t krt_report_count(const struct krt_report *r, enum krt_level level)
{
	size_t n = 0;

	for (size_t i = 0; i < r->nfindings; i++)
		n += r->finding[i].level == level;
	return n;
}

void krt_report_coverage(const struct krt_report *r, struct krt_coverage *sum)
{
	bool cuda = false;

	memset(sum, 0, sizeof(*sum));
	for (size_t i = 0; i <= r->nprocesses; i++) {
		const struct krt_coverage *c =
			i < r->nprocesses ? &r->process[i].coverage : &r->own;

		for (unsigned k = 0; k < KRT_NR_REASONS; k++)
			if (c->reasons & 1u << k)
				krt_coverage_reason(sum, k, c->detail[k][0] ? "%s" : NULL,
						    c->detail[k]);
		if (c == &r->own)
			break;
		cuda |= r->process[i].used_cuda;
#define ADD(field) sum->field += c->field;
		KRT_COUNTERS(ADD)
		for (unsigned k = 0; k < KRT_NR_TIERS; k++)
			ADD(launches_by[k])
		ADD(device_times)
		for (unsigned k = 0; k < KRT_NR_ACCOUNTS; k++)
			ADD(host[k])
		if (sum->host_mode < c->host_mode)
			sum->host_mode = c->host_mode;
		if (!sum->timing[0])
			memcpy(sum->timing, c->timing, sizeof(sum->timing));
		if (!sum->python[0])
			memcpy(sum->python, c->python, sizeof(sum->python));
#undef ADD
	}
	/* A helper process without CUDA says nothing about the run; a whole tree without does. */
	if (cuda) {
		sum->reasons &= ~(1u << KRT_REASON_NO_CUDA);
		sum->detail[KRT_REASON_NO_CUDA][0] = 0;
	} else {
		krt_coverage_reason(sum, KRT_REASON_NO_CUDA, NULL);
	}
}

bool krt_report_complete(const struct krt_report *r)
{
	struct krt_coverage sum;

	krt_report_coverage(r, &sum);
	return !sum.reasons;
}

enum krt_verdict krt_report_verdict(const struct krt_report *r)
{
	if (krt_report_count(r, KRT_LEVEL_ERROR) || krt_report_count(r, KRT_LEVEL_WARNING))
		return KRT_VERDICT_FINDINGS;
	return krt_report_complete(r) ? KRT_VERDICT_CLEAN : KRT_VERDICT_INCONCLUSIVE;
}
