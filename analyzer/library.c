/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of cuBLAS, cublasLt, NCCL and cuFFT, and the launches inside them.
 *
 * A call is recorded before it runs; records of launches that it makes carry its
 * number (krt_rec.library).  All of its launches count as touching what the call
 * does: which of them does what is not known, and matters little, since they
 * follow each other on one stream.
 *
 * NCCL launches the calls of a group at its end: each communicator's on its own
 * stream.  Calls tell which group they are of.
 *
 * What calls touch is worked out once, when they are recorded, and kept with the
 * thread; a launch only looks up.  Plans of cuFFT are kept by handle.
 */
#include "engine_int.h"
#include "../interposer/cuabi.h"
#include "library_ranges.h"

#include <string.h>

#define ACCESSES_MAX 4096 /* of one call, or of one group */
#define PLANS_MAX    65536

/* Of a call, or of one in a group. */
struct lib_access {
	struct krt_kernel_access a;
	uint64_t comm, stream; /* of a group's */
	bool workspace;
};

struct krt_library_lane {
	uint16_t number, id; /* of the call whose launches come now */
	bool known;
	bool grouped;	 /* it ends a group: its accesses are those of the group */
	bool launched;	 /* something, first on: */
	uint64_t stream; /* as launches name it */
	uint64_t group;
	struct lib_access *access;
	uint32_t n, cap;
	bool full; /* there were more */
};

struct krt_library_plan {
	uint64_t handle;
	struct krt_fft_plan plan;
	bool known, blind; /* blind: callbacks read and write too */
	uint64_t area, area_bytes;
	UT_hash_handle hh;
};

/* --- records ------------------------------------------------------------------------- */

struct adding {
	struct krt_engine *e;
	struct krt_library_lane *l;
	uint64_t comm, stream;
	bool workspace;
};

static void add(void *user, const struct krt_kernel_access *a)
{
	struct adding *g = user;
	struct krt_library_lane *l = g->l;

	if (l->n >= ACCESSES_MAX) {
		l->full = true;
		return;
	}
	if (!krt_heap_grow(&g->e->heap, &l->access, &l->cap, l->n, sizeof(*l->access)))
		return;
	l->access[l->n++] = (struct lib_access){
		.a = *a, .comm = g->comm, .stream = g->stream, .workspace = g->workspace};
}

static size_t read_words(void *user, uint64_t addr, uint64_t *words, size_t n)
{
	struct adding *g = user;

	return addr % 8 ? 0 : krt_shadow_read(g->e, addr, words, n);
}

static void add_workspace(struct adding *g, uint64_t addr, uint64_t bytes)
{
	struct krt_kernel_access a = {.addr = addr,
				      .len = bytes,
				      .base = addr,
				      .from = addr,
				      .end = addr + bytes,
				      .know = KRT_KNOW_LIBRARY,
				      .sure = KRT_SURE_SOME};

	if (!addr || !bytes || bytes > UINT64_MAX - addr)
		return;
	g->workspace = true;
	a.kind = KRT_ACC_READ;
	add(g, &a);
	a.kind = KRT_ACC_WRITE;
	add(g, &a);
	g->workspace = false;
}

static struct krt_library_plan *plan_of(struct krt_engine *e, uint64_t handle, bool make)
{
	struct krt_heap *heap = &e->heap;
	struct krt_library_plan *p;

	HASH_FIND(hh, e->fft_plans, &handle, sizeof(handle), p);
	if (p || !make || HASH_COUNT(e->fft_plans) >= PLANS_MAX)
		return p;
	p = krt_heap_alloc(heap, sizeof(*p));
	if (!p)
		return NULL;
	p->handle = handle;
	HASH_ADD(hh, e->fft_plans, handle, sizeof(p->handle), p);
	if (p->hh.tbl)
		return p;
	krt_heap_free(heap, p, sizeof(*p));
	return NULL;
}

static void plan_drop(struct krt_engine *e, struct krt_library_plan *p)
{
	struct krt_heap *heap = &e->heap;

	HASH_DELETE(hh, e->fft_plans, p);
	krt_heap_free(heap, p, sizeof(*p));
}

/* Calls that tell of a plan; false: it is another call. */
static bool plan_call(struct krt_engine *e, const struct krt_lib_fn *f, const uint64_t *args,
		      const uint64_t *w)
{
	struct krt_library_plan *p;

	switch (f->kind) {
	case KRT_LIB_FFT_PLAN:
		p = plan_of(e, w[KRT_FFT_PLAN], true);
		if (p) {
			p->plan = krt_library_plan(f, args, w);
			p->known = true;
		}
		return true;
	case KRT_LIB_FFT_AREA:
		p = plan_of(e, w[KRT_FFT_PLAN], true);
		if (p) {
			p->area = krt_lib_arg(f, args, KRT_LR_WORKSPACE, 0);
			p->area_bytes = w[KRT_FFT_AREA_BYTES];
		}
		return true;
	case KRT_LIB_FFT_BLIND:
		p = plan_of(e, w[KRT_FFT_PLAN], true);
		if (p)
			p->blind = true;
		return true;
	case KRT_LIB_FFT_FORGET:
		p = plan_of(e, w[KRT_FFT_PLAN], false);
		if (p)
			plan_drop(e, p);
		return true;
	default:
		return false;
	}
}

void krt_library_op(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_lane *lane = krt_call_lane(e, c->lane);
	uint64_t words[KRT_LIB_MAX_WORDS] = {0}, id = c->number[0];
	const struct krt_library_plan *p = NULL;
	const struct krt_lib_fn *f;
	struct krt_library_lane *l;
	struct krt_library_in in;
	struct adding g;
	unsigned n;

	if (!lane || id >= KRT_NR_LIB_FNS)
		return;
	f = &krt_lib_fn[id];
	n = f->argc + krt_lib_words(f);
	if (c->handles.len < f->argc * sizeof(*words) || c->handles.len > n * sizeof(*words)) {
		e->malformed++;
		return;
	}
	if (c->handles.data) /* what is not there at the end is zero */
		memcpy(words, c->handles.data, c->handles.len);
	if (plan_call(e, f, words, words + f->argc))
		return;
	if (!lane->library)
		lane->library = krt_heap_alloc(&e->heap, sizeof(*lane->library));
	l = lane->library;
	if (!l)
		return;
	in = (struct krt_library_in){.f = f,
				     .args = words,
				     .words = words + f->argc,
				     .read = read_words,
				     .fn = add,
				     .user = &g};
	g = (struct adding){.e = e, .l = l};
	if (f->library == KRT_LIBRARY_NCCL) {
		uint64_t group = in.words[KRT_LIB_GROUP];

		g.comm = krt_lib_arg(f, words, KRT_LR_COMM, 0);
		g.stream = krt_lib_arg(f, words, KRT_LR_STREAM, 0);
		if (!group || group != l->group) { /* no call of it was recorded yet */
			l->n = 0;
			l->full = false;
		}
		l->group = group;
		l->grouped = group != 0;
	} else {
		l->n = 0;
		l->full = l->grouped = false;
		l->group = 0;
	}
	l->number = c->rec->h.library;
	l->id = (uint16_t)id;
	l->launched = false;
	if (f->kind == KRT_LIB_GROUP_END) {
		l->known = l->grouped;
		return;
	}
	if (f->library == KRT_LIBRARY_CUFFT)
		p = plan_of(e, (uint32_t)krt_lib_arg(f, words, KRT_LR_PLAN, 0), false);
	if (p && p->known && !p->blind)
		in.plan = &p->plan;
	l->known = krt_library_ranges(&in);
	if (f->library == KRT_LIBRARY_CUBLAS || f->library == KRT_LIBRARY_CUBLASLT)
		add_workspace(&g, in.words[KRT_BLAS_WORKSPACE], in.words[KRT_BLAS_WORKBYTES]);
	if (p)
		add_workspace(&g, p->area, p->area_bytes);
}

/* --- launches -------------------------------------------------------------------------- */

/* Is some word of the launch's parameters an address in [from, from + len)? */
static bool given(struct krt_engine *e, const struct krt_call *c, uint64_t from, uint64_t len)
{
	struct krt_kernel_params p = krt_launch_params(e, c);
	uint64_t v;

	for (uint32_t at = 0; p.known && p.len >= 8 && at <= p.len - 8; at += 8) {
		memcpy(&v, p.bytes + at, 8);
		if (v - from < len)
			return true;
	}
	return false;
}

static uint64_t launch_stream(const struct krt_call *c)
{
	uint64_t v = c->stream;

	if (c->op == KRT_OP_LAUNCH_EX && c->launch.data &&
	    c->launch.len >= sizeof(CUlaunchConfig)) {
		CUlaunchConfig cfg;

		memcpy(&cfg, c->launch.data, sizeof(cfg));
		v = (uintptr_t)cfg.hStream;
	}
	return v;
}

/* By handle; 0 and 1 are the same one. */
static bool same_stream(uint64_t a, uint64_t b)
{
	return a == b || (a <= 1 && b <= 1);
}

/* Does the communicator launch on the stream? */
static bool launches_on(const struct krt_library_lane *l, uint64_t comm, uint64_t stream)
{
	for (uint32_t i = 0; i < l->n; i++)
		if (l->access[i].comm == comm && same_stream(l->access[i].stream, stream))
			return true;
	return false;
}

/*
 * Is the launch on a stream beside the one that the call, or the communicator of
 * a group, works on?  Which part of the work is done there cannot be told, nor
 * what it has to be ordered with.
 */
static bool beside(const struct krt_library_lane *l, const struct lib_access *x, uint64_t stream)
{
	if (!l->grouped)
		return !same_stream(l->stream, stream);
	for (uint32_t i = 0; i < l->n; i++)
		if (l->access[i].comm == x->comm)
			return !same_stream(l->access[i].stream, stream);
	return false;
}

static bool several_comms(const struct krt_library_lane *l)
{
	for (uint32_t i = 1; i < l->n; i++)
		if (l->access[i].comm != l->access[0].comm)
			return true;
	return false;
}

bool krt_library_accesses(struct krt_engine *e, const struct krt_call *c, krt_kernel_fn *fn,
			  void *user)
{
	struct krt_lane *lane = krt_call_lane(e, c->lane);
	struct krt_library_lane *l = lane ? lane->library : NULL;
	uint64_t stream = launch_stream(c);
	struct krt_context_info *ctx = NULL;

	if (!l || !l->known || l->full || !c->rec->h.library || l->number != c->rec->h.library)
		return false;
	if (!l->launched) {
		l->launched = true;
		l->stream = stream;
	}
	/* streams of several devices go by one handle: memory tells whose they are */
	if (l->grouped && stream <= 2 && several_comms(l))
		ctx = krt_call_context(e, c);
	for (uint32_t i = 0; i < l->n; i++) {
		const struct lib_access *x = &l->access[i];
		struct krt_kernel_access a = x->a;
		const struct krt_mem *mem;

		if (l->grouped && !launches_on(l, x->comm, stream))
			continue;
		if (x->workspace && !given(e, c, x->a.addr, x->a.len))
			continue;
		mem = ctx ? krt_mem_at(&e->mem, x->a.addr) : NULL;
		if (mem && mem->ctx && mem->ctx->device != ctx->device)
			continue;
		if (a.sure != KRT_SURE_FROM && beside(l, x, stream))
			a.sure = KRT_SURE_LIMIT;
		fn(user, &a);
	}
	return true;
}

const char *krt_library_inside(struct krt_engine *e, const struct krt_call *c)
{
	static const char *const text[] = {
#define KRT_LIB(sym, ...) [KRT_LIB_FN_##sym] = "in " #sym,
#include "../interposer/library.def"
#undef KRT_LIB
	};
	struct krt_lane *lane = krt_call_lane(e, c->lane);
	const struct krt_library_lane *l = lane ? lane->library : NULL;

	return l && c->rec->h.library && l->number == c->rec->h.library ? text[l->id] : NULL;
}

/* --- lanes ------------------------------------------------------------------------------- */

void krt_library_thread(struct krt_lane *lane)
{
	if (!lane->library)
		return;
	lane->library->number = 0;
	lane->library->n = 0;
	lane->library->group = 0;
}

void krt_library_free(struct krt_engine *e)
{
	struct krt_library_plan *p, *tmp;

	HASH_ITER (hh, e->fft_plans, p, tmp)
		plan_drop(e, p);
	for (uint32_t i = 0; i < e->lanes; i++) {
		struct krt_library_lane *l = e->lane[i].library;

		if (!l)
			continue;
		krt_heap_free(&e->heap, l->access, l->cap * sizeof(*l->access));
		krt_heap_free(&e->heap, l, sizeof(*l));
	}
}
