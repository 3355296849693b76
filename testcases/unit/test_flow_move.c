/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranges that are moved along with their pointers against those of an evaluation with
 * the pointers there: the same, over all kernels of testcases/kernels.
 */
#include "../../analyzer/ptx/flow.h"
#include "../../analyzer/ptx/module.h"
#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#else
#define RUNNING_ON_VALGRIND 0
#endif

#define ROOM 4096
struct got {
	struct krt_flow_range r[ROOM];
	unsigned n;
};
static struct got at_first, moved;
static union {
	uint64_t w[512];
	char bytes[4096];
} first, other;
static unsigned done, kernels, refused;
static uint64_t seed = 1;

static uint64_t draw(uint64_t n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (seed >> 33) % n;
}

static void put(void *user, const struct krt_flow_range *r)
{
	struct got *g = user;

	cr_assert_lt(g->n, ROOM);
	g->r[g->n++] = *r;
}

static bool same(const struct krt_flow_range *a, const struct krt_flow_range *b)
{
	return a->slot == b->slot && a->global == b->global && a->site == b->site &&
	       a->kind == b->kind && a->whole == b->whole && a->must == b->must &&
	       a->loose == b->loose && a->base == b->base && a->lo == b->lo && a->hi == b->hi &&
	       a->pitch == b->pitch && a->row == b->row && a->rows == b->rows &&
	       a->stride == b->stride && a->width == b->width;
}

/* Fresh, since what an evaluation may cost depends on those before. */
static bool evaluate(struct ptx_module *m, const char *name, const struct krt_flow_launch *l,
		     struct got *g, struct krt_flow_reach *reach)
{
	struct krt_kernel_flow *f = krt_flow_new(m, name, NULL);
	bool moves;

	g->n = 0;
	cr_assert(krt_flow_eval(f, l, put, g));
	moves = krt_flow_moved(f, l, reach);
	krt_flow_free(f);
	return moves;
}

static void fill(const struct ptx_func *k, uint64_t number)
{
	memset(&first, 0, sizeof(first));
	for (uint32_t i = 0; i < k->nparams; i++) {
		const struct ptx_var *v = k->params[i];
		uint64_t p = UINT64_C(0x7f0000000000) + ((uint64_t)i << 34) + draw(3) * 256;

		for (uint64_t o = 0;
		     v->size % 8 == 0 && v->offset + o + 8 <= sizeof(first) && o < v->size; o += 8)
			memcpy(first.bytes + v->offset + o, &p, 8);
		if (v->size < 8 && v->offset + v->size <= sizeof(first))
			memcpy(first.bytes + v->offset, &number, v->size);
	}
}

static void compare(struct ptx_module *m, const struct ptx_func *k, struct krt_kernel_flow *f,
		    struct krt_flow_launch *l)
{
	static const int64_t by[] = {1,
				     4,
				     -16,
				     256,
				     4096,
				     -(1ll << 30),
				     (1ll << 33) + 12,
				     -(1ll << 45),
				     -(0x7effffff0000)};
	const struct krt_flow_info *info = krt_flow_info(f);
	struct krt_flow_reach reach, unused;

	l->params = &first;
	if (!evaluate(m, k->name, l, &at_first, &reach)) {
		refused++;
		return;
	}
	memcpy(&other, &first, sizeof(first));
	for (uint32_t i = 0; i < info->nslots; i++) {
		uint64_t p;

		if (!info->moves[i])
			continue;
		memcpy(&p, other.bytes + info->slots[i].at, 8);
		p += (uint64_t)by[draw(sizeof(by) / sizeof(*by))];
		memcpy(other.bytes + info->slots[i].at, &p, 8);
	}
	l->params = &other;
	if (!krt_flow_may_move(f, l, &reach)) {
		refused++;
		return;
	}
	(void)evaluate(m, k->name, l, &moved, &unused);
	cr_assert_eq(at_first.n, moved.n, "%s", k->name);
	for (unsigned i = 0; i < moved.n; i++) {
		struct krt_flow_range r = at_first.r[i];
		uint64_t p;

		if (r.slot != KRT_FLOW_NO_SLOT && info->moves[r.slot]) {
			memcpy(&p, other.bytes + info->slots[r.slot].at, 8);
			if (!r.whole) {
				r.lo += p - r.base;
				r.hi += p - r.base;
			}
			r.base = p;
		}
		cr_assert(same(&r, &moved.r[i]), "%s: range %u of slot %u", k->name, i, r.slot);
	}
	done++;
}

static void all_of(const char *path)
{
	static const uint32_t size[][6] = {
		{8, 1, 1, 128, 1, 1}, {3, 2, 1, 16, 8, 1}, {1, 1, 1, 1, 1, 1}};
	static const uint64_t number[] = {1000, 64, 7, 1, 0};
	static char text[4 << 20];
	FILE *in = fopen(path, "r");
	size_t len;
	struct ptx_module *m;

	cr_assert(in);
	len = fread(text, 1, sizeof(text), in);
	fclose(in);
	m = ptx_parse(text, len, NULL);
	for (uint32_t i = 0; m && i < m->nfuncs; i++) {
		struct krt_kernel_flow *f =
			m->funcs[i]->entry ? krt_flow_new(m, m->funcs[i]->name, NULL) : NULL;
		bool any = false;

		for (uint32_t s = 0; f && s < krt_flow_info(f)->nslots; s++)
			any |= krt_flow_info(f)->moves[s];
		kernels += any;
		for (unsigned k = 0; any && k < 3; k++)
			for (unsigned q = 0; q < 5; q++) {
				struct krt_flow_launch l = {.len = sizeof(first)};

				memcpy(l.grid, size[k], sizeof(l.grid));
				memcpy(l.block, size[k] + 3, sizeof(l.block));
				fill(m->funcs[i], number[q]);
				compare(m, m->funcs[i], f, &l);
				q += RUNNING_ON_VALGRIND;
			}
		krt_flow_free(f);
	}
	ptx_free(m);
}

Test(flow_move, kernels, .timeout = 300)
{
	DIR *d = opendir("testcases/kernels");
	struct dirent *e;
	unsigned files = 0;

	cr_assert(d);
	while ((e = readdir(d))) {
		const char *end = strstr(e->d_name, ".90.ptx");
		char path[512];

		if (!end || (RUNNING_ON_VALGRIND && files++ % 8))
			continue;
		snprintf(path, sizeof(path), "testcases/kernels/%s", e->d_name);
		all_of(path);
	}
	closedir(d);
	if (!RUNNING_ON_VALGRIND) {
		cr_assert_gt(kernels, 150);
		cr_assert_gt(done, 1000);
	}
	cr_assert_gt(done, refused);
}
