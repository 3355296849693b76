/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the analysis says of a kernel (analyzer/ptx/flow.h) against the truth and
 * against what a launch did.
 *
 * Wrong is: a role that the truth has and the analysis does not know; a byte
 * that was touched outside its ranges; a byte that it says is surely touched and
 * was not.  Too wide is: a role that the truth does not have; a hull of an
 * affine access that is larger than the truth's.
 */
#include "oracle.h"
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef KRT_HAVE_FLOW
#include "../../analyzer/ptx/flow.h"

unsigned oracle_lie;

_Static_assert(ORACLE_READ == KRT_FLOW_READ && ORACLE_WRITE == KRT_FLOW_WRITE &&
		       ORACLE_ATOMIC == KRT_FLOW_ATOMIC,
	       "one set of bits");

struct oracle_flow {
	struct krt_kernel_flow *k;
	const struct krt_flow_info *info;
};

struct oracle_flow *oracle_flow_new(struct ptx_module *m, const char *kernel)
{
	enum krt_flow_error err = KRT_FLOW_OK;
	struct oracle_flow *f = calloc(1, sizeof(*f));

	if (!f)
		abort();
	f->k = krt_flow_new(m, kernel, &err);
	if (!f->k) {
		oracle_fail("no analysis, error %d", (int)err);
		free(f);
		return NULL;
	}
	f->info = krt_flow_info(f->k);
	return f;
}

void oracle_flow_free(struct oracle_flow *f)
{
	if (f)
		krt_flow_free(f->k);
	free(f);
}

static const char *roles_text(unsigned r)
{
	static char text[4][24];
	static unsigned turn;
	char *t = text[turn++ % 4];

	snprintf(t, sizeof(text[0]), "%s%s%s%s", r & ORACLE_READ ? "r" : "",
		 r & ORACLE_WRITE ? "w" : "", r & ORACLE_ATOMIC ? "a" : "", r ? "" : "none");
	return t;
}

/* What the truth says is done behind pointers that lie in buffer b, at any depth. */
static unsigned behind(const struct oracle_launch *o, int b)
{
	unsigned r = 0;

	for (unsigned i = 0; i < o->nbuffers; i++)
		if (o->buffers[i].behind == b)
			r |= o->buffers[i].roles | behind(o, (int)i);
	return r;
}

static void judge_role(const char *what, unsigned known, unsigned truth,
		       const struct oracle_flow *f, const struct oracle_launch *o, struct totals *t)
{
	if (truth & ~(known | f->info->any)) {
		oracle_fail("role of %s: %s is not all, the truth is %s", what, roles_text(known),
			    roles_text(truth));
	} else if (f->info->any & ~known) {
		t->roles_unknown++;
		if (!(o->flags & ORACLE_UNKNOWN))
			oracle_wide(0, "role of %s: %s, besides %s through unknown addresses", what,
				    roles_text(known), roles_text(f->info->any));
	} else if (known & ~truth) {
		t->roles_wide++;
		if (!(o->flags & ORACLE_UNKNOWN))
			oracle_wide(0, "role of %s: %s is too much, the truth is %s", what,
				    roles_text(known), roles_text(truth));
	} else {
		t->roles_right++;
	}
}

static const struct oracle_slot *slot_of(const struct oracle_launch *o, uint32_t param,
					 uint32_t offset)
{
	for (unsigned i = 0; i < o->nslots; i++)
		if (o->slots[i].param == param && o->slots[i].offset == offset)
			return &o->slots[i];
	return NULL;
}

static const struct oracle_buffer *global_of(const struct oracle_launch *o, const char *name)
{
	for (unsigned i = 0; i < o->nbuffers; i++)
		if (o->buffers[i].name[0] == '@' && !fnmatch(o->buffers[i].name + 1, name, 0))
			return &o->buffers[i];
	return NULL;
}

static void judge_flags(const struct krt_flow_info *info, const struct oracle_launch *o)
{
	static const struct {
		unsigned flow, truth;
		const char *name;
	} flags[] = {
		{KRT_FLOW_LOADS_POINTERS, ORACLE_LOADS_POINTERS, "loads pointers"},
		{KRT_FLOW_PDL_WAIT, ORACLE_PDL_WAIT, "waits for the launch before"},
		{KRT_FLOW_PDL_LAUNCH, ORACLE_PDL_LAUNCH, "lets the next launch start"},
		{KRT_FLOW_TEXTURES, ORACLE_TEXTURES, "textures"},
	};
	const unsigned sync = KRT_FLOW_ORDERED | KRT_FLOW_SPINS;

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		bool is = info->flags & flags[i].flow, want = o->flags & flags[i].truth;

		if (want && !is)
			oracle_fail("%s: not seen", flags[i].name);
		else if (is && !want && !(o->flags & ORACLE_UNKNOWN))
			oracle_wide(0, "%s: it does not", flags[i].name);
	}
	/* Seen where it is not, it only makes findings milder. */
	if ((o->flags & ORACLE_SYNC) && !(info->flags & sync))
		oracle_fail("synchronises through memory: not seen");
	if ((info->flags & (KRT_FLOW_UNKNOWN_INST | KRT_FLOW_UNKNOWN_CALL | KRT_FLOW_NO_RANGES)) &&
	    !(o->flags & ORACLE_UNKNOWN))
		oracle_wide(0, "the analysis gave up: flags %#x", info->flags);
}

static int buffer_at(const struct oracle_launch *o, uint64_t addr)
{
	for (unsigned i = 0; i < o->nbuffers; i++)
		if (addr >= o->buffers[i].base && addr - o->buffers[i].base < o->buffers[i].size)
			return (int)i;
	return -1;
}

static bool is_address(const struct oracle_launch *o, uint32_t at)
{
	uint64_t v;

	if (at > sizeof(o->params) - sizeof(v))
		return false;
	memcpy(&v, o->params + at, sizeof(v));
	return buffer_at(o, v) >= 0;
}

void oracle_flow_roles(struct oracle_flow *f, const struct oracle_launch *o, struct totals *t)
{
	const struct krt_flow_info *info = f->info;

	for (unsigned i = 0; i < o->nslots; i++) {
		const struct oracle_slot *s = &o->slots[i];
		const struct oracle_buffer *b = &o->buffers[s->buffer];
		unsigned known = 0, through = 0;
		bool map = s->map, texture = s->texture, surface = s->surface;

		for (uint32_t k = 0; k < info->nslots; k++) {
			const struct krt_flow_slot *x = &info->slots[k];

			if (x->param != s->param ||
			    (x->offset != s->offset && x->offset != KRT_FLOW_ANY))
				continue;
			known |= x->role;
			through |= x->through;
			if (x->offset == KRT_FLOW_ANY)
				continue;
			map = x->tensor_map;
			texture = x->texture;
			surface = x->surface;
		}
		judge_role(b->name, known, b->roles, f, o, t);
		if (behind(o, s->buffer) & ~(through | info->any))
			oracle_fail("behind %s: %s is not all, the truth is %s", b->name,
				    roles_text(through), roles_text(behind(o, s->buffer)));
		if (through & ~behind(o, s->buffer) && !(o->flags & ORACLE_UNKNOWN))
			oracle_wide(0, "behind %s: %s is too much", b->name, roles_text(through));
		if (map != s->map && b->roles)
			oracle_fail("%s is %sa tensor map", b->name, s->map ? "" : "not ");
		if (texture != s->texture || surface != s->surface)
			oracle_fail("%s is %s", b->name,
				    s->texture	? "a texture"
				    : s->surface ? "a surface"
						 : "neither texture nor surface");
	}
	for (uint32_t k = 0; k < info->nslots; k++) {
		const struct krt_flow_slot *x = &info->slots[k];

		/* A number counts for nothing unless it looks like an address. */
		if ((x->role | x->through) && x->offset != KRT_FLOW_ANY &&
		    !slot_of(o, x->param, x->offset) && is_address(o, x->at))
			oracle_wide(0, "parameter %u+%u is no pointer, yet has role %s", x->param,
				    x->offset, roles_text(x->role));
	}
	for (unsigned i = 0; i < o->nbuffers; i++) {
		const struct oracle_buffer *b = &o->buffers[i];
		unsigned known = 0, through = 0;

		if (b->name[0] != '@')
			continue;
		for (uint32_t k = 0; k < info->nglobals; k++)
			if (!fnmatch(b->name + 1, info->globals[k].name, 0)) {
				known |= info->globals[k].role;
				through |= info->globals[k].through;
			}
		judge_role(b->name, known, b->roles, f, o, t);
		if (behind(o, (int)i) & ~(through | info->any))
			oracle_fail("behind %s: %s is not all", b->name, roles_text(through));
	}
	for (uint32_t k = 0; k < info->nglobals; k++) {
		const struct krt_flow_global *g = &info->globals[k];

		/* Strings of printf and assert are the compiler's own. */
		if (g->role && strncmp(g->name, "$str", 4) && strncmp(g->name, "__unnamed_", 10) &&
		    !global_of(o, g->name) && !(o->flags & ORACLE_UNKNOWN))
			oracle_wide(0, "variable %s is not touched, yet has role %s", g->name,
				    roles_text(g->role));
	}
	judge_flags(info, o);
}

/* ---- ranges ---- */

struct ranges {
	const struct oracle_flow *f;
	const struct oracle_launch *o;
	struct totals *t;
	uint8_t *may[ORACLE_BUFFERS], *must[ORACLE_BUFFERS];
	uint8_t outside[ORACLE_BUFFERS]; /* kinds whose ranges leave the buffer */
};

static void put(struct ranges *r, int b, uint8_t *const *map, unsigned kind, uint64_t lo,
		uint64_t hi)
{
	const struct oracle_buffer *x = &r->o->buffers[b];

	if (lo < x->base || hi > x->base + x->size)
		r->outside[b] |= (uint8_t)kind;
	if (lo < x->base)
		lo = x->base;
	if (hi > x->base + x->size)
		hi = x->base + x->size;
	for (uint64_t a = lo; a < hi; a++)
		map[b][a - x->base] |= (uint8_t)kind;
}

static void whole(struct ranges *r, int b, unsigned kinds)
{
	if (b >= 0)
		put(r, b, r->may, kinds, r->o->buffers[b].base,
		    r->o->buffers[b].base + r->o->buffers[b].size);
}

static void one_range(void *user, const struct krt_flow_range *g)
{
	struct ranges *r = user;
	uint64_t base = 0, lo, hi, rows = g->rows ? g->rows : 1, start, end;
	int b = -1;

	if (g->slot != KRT_FLOW_NO_SLOT) {
		const struct krt_flow_slot *s = &r->f->info->slots[g->slot];
		const struct oracle_slot *t = slot_of(r->o, s->param, s->offset);

		b = t ? t->buffer : buffer_at(r->o, g->base);
	} else {
		const struct oracle_buffer *x =
			global_of(r->o, r->f->info->globals[g->global].name);

		b = x ? (int)(x - r->o->buffers) : -1;
		base = x ? x->base : 0;
	}
	if (b < 0)
		return;
	if (g->whole) {
		whole(r, b, g->kind);
		return;
	}
	lo = base + g->lo;
	hi = base + g->hi;
	if (oracle_lie == 1 && hi > lo)
		hi--;
	if (lo >= hi)
		return;
	start = r->o->buffers[b].base;
	end = start + r->o->buffers[b].size;
	if (lo < start || hi > end)
		r->outside[b] |= g->kind;
	/* What lies elsewhere need not be looked at. */
	for (uint64_t k = rows > 1 && lo < start ? (start - lo) / g->pitch : 0;
	     k < rows && lo + k * g->pitch < hi && lo + k * g->pitch < end; k++) {
		uint64_t from = lo + k * g->pitch, to = rows > 1 ? from + g->row : hi;

		if (to > hi)
			to = hi;
		if (!g->stride || g->stride <= g->width) {
			put(r, b, r->may, g->kind, from, to);
			if (g->must)
				put(r, b, r->must, g->kind, from, to + (oracle_lie == 2));
			continue;
		}
		for (uint64_t a = from < start ? from + (start - from) / g->stride * g->stride : from;
		     a < to && a < end; a += g->stride) {
			uint64_t last = a + g->width < to ? a + g->width : to;

			put(r, b, r->may, g->kind, a, last);
			if (g->must)
				put(r, b, r->must, g->kind, a, last + (oracle_lie == 2));
		}
	}
}

static void hull(const uint8_t *map, size_t size, unsigned kind, size_t *lo, size_t *hi)
{
	*lo = *hi = 0;
	for (size_t i = 0; i < size; i++)
		if (map[i] & kind) {
			if (!*hi)
				*lo = i;
			*hi = i + 1;
		}
}

static void judge_ranges(struct ranges *r, unsigned i, unsigned kind)
{
	const struct oracle_buffer *b = &r->o->buffers[i];
	size_t lo, hi, tlo, thi, bytes = 0, sure = 0;
	bool exact = true;

	for (size_t k = 0; k < b->size; k++) {
		bool seen = b->seen[k] & kind, may = r->may[i][k] & kind,
		     must = r->must[i][k] & kind;

		if (seen && !may) {
			oracle_fail("%s of byte %zu of %s is in no range (%s)", roles_text(kind), k,
				    b->name, oracle_shape(r->o));
			return;
		}
		if (must && !seen) {
			oracle_fail("%s of byte %zu of %s was to happen (%s)", roles_text(kind), k,
				    b->name, oracle_shape(r->o));
			return;
		}
		if (may != !!(b->want[k] & kind))
			exact = false;
		r->t->must += must;
		bytes += seen;
		sure += must;
	}
	if (!(b->roles & kind) || ((b->loose | b->unsure) & kind) || b->behind >= 0 ||
	    (r->o->flags & ORACLE_UNKNOWN))
		return;
	r->t->affine++;
	hull(r->may[i], b->size, kind, &lo, &hi);
	hull(b->want, b->size, kind, &tlo, &thi);
	/* Can be known to be touched, unless there are many rows. */
	if (bytes) {
		r->t->together++;
		r->t->sure += sure == bytes;
		if (sure != bytes)
			oracle_unsure("%s of %s: %zu of %zu bytes (%s)", roles_text(kind), b->name,
				      sure, bytes, oracle_shape(r->o));
	}
	if (lo == tlo && hi == thi && !(r->outside[i] & kind)) {
		r->t->hull_exact++;
		r->t->bytes_exact += exact;
	} else {
		oracle_wide(ORACLE_WIDE,
			    "%s of %s: bytes %zu to %zu%s, the truth is %zu to %zu of %zu (%s)",
			    roles_text(kind), b->name, lo, hi,
			    r->outside[i] & kind ? " and beyond" : "", tlo, thi, b->size,
			    oracle_shape(r->o));
	}
}

void oracle_flow_ranges(struct oracle_flow *f, const struct oracle_launch *o, struct totals *t)
{
	struct ranges r = {.f = f, .o = o, .t = t};
	struct krt_flow_launch l = {
		.dyn_shared = o->shared, .params = o->params, .len = o->params_size};

	for (unsigned i = 0; i < o->nbuffers; i++) {
		r.may[i] = calloc(1, o->buffers[i].size + 1);
		r.must[i] = calloc(1, o->buffers[i].size + 1);
		if (!r.may[i] || !r.must[i])
			abort();
	}
	for (unsigned d = 0; d < 3; d++) {
		l.grid[d] = o->grid[d];
		l.block[d] = o->block[d];
	}
	if (!krt_flow_eval(f->k, &l, one_range, &r))
		oracle_fail("no ranges");
	for (unsigned i = 0; i < o->nbuffers; i++) {
		int root = (int)i;

		whole(&r, (int)i, f->info->any);
		while (o->buffers[root].behind >= 0)
			root = o->buffers[root].behind;
		if (root == (int)i)
			continue;
		for (uint32_t k = 0; k < f->info->nslots; k++) {
			const struct krt_flow_slot *s = &f->info->slots[k];
			const struct oracle_slot *x = slot_of(o, s->param, s->offset);

			if (x && x->buffer == root)
				whole(&r, (int)i, s->through);
		}
		for (uint32_t k = 0; k < f->info->nglobals; k++)
			if (global_of(o, f->info->globals[k].name) == &o->buffers[root])
				whole(&r, (int)i, f->info->globals[k].through);
	}
	for (unsigned i = 0; i < o->nbuffers; i++) {
		for (unsigned kind = 1; kind <= ORACLE_ATOMIC; kind <<= 1)
			judge_ranges(&r, i, kind);
		free(r.may[i]);
		free(r.must[i]);
	}
}

void oracle_flow_summary(const struct totals *t)
{
	printf("; roles: %u right, %u with more than the truth, %u not known; ranges of affine "
	       "accesses: "
	       "%u of %u hulls exact, %u to the byte; %u of %u all surely touched, %u bytes",
	       t->roles_right, t->roles_wide, t->roles_unknown, t->hull_exact, t->affine,
	       t->bytes_exact, t->sure, t->together, t->must);
	if (t->wide)
		printf("; %u too wide", t->wide);
}

#else /* no analysis: the truth alone is judged */

unsigned oracle_lie;

struct oracle_flow *oracle_flow_new(struct ptx_module *m, const char *kernel)
{
	(void)m;
	(void)kernel;
	return NULL;
}

void oracle_flow_free(struct oracle_flow *f)
{
	(void)f;
}

void oracle_flow_roles(struct oracle_flow *f, const struct oracle_launch *o, struct totals *t)
{
	(void)f;
	(void)o;
	(void)t;
}

void oracle_flow_ranges(struct oracle_flow *f, const struct oracle_launch *o, struct totals *t)
{
	(void)f;
	(void)o;
	(void)t;
}

void oracle_flow_summary(const struct totals *t)
{
	(void)t;
}

#endif
