/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels file: which line is a kernel's, and what it says of a launch.
 * kernels.h has the language, kernels_int.h the parts.
 */
#include "demangle.h"
#include "kernels_int.h"
#include "kernels.inc"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define STEPS	  2000000u /* items computed for one launch at most */
#define FOUND_MAX 65536u   /* kernels remembered; later ones have no line */
#define DIMS	  32
#define PIECES	  256 /* rows told one by one, where they are no regular pattern */

/* --- which line -------------------------------------------------------------------------- */

static bool fits_layout(const struct krt_k_line *l, const struct krt_k_capture *cap,
			const struct krt_param *param, uint32_t nparams)
{
	struct krt_k_context c = {.source = l->source, .capture = cap};
	struct krt_k_val v;

	if (l->nlayout < 0)
		return true;
	if (nparams == KRT_PARAMS_UNKNOWN || (nparams && !param) ||
	    nparams < (uint32_t)l->nlayout || (nparams > (uint32_t)l->nlayout && !l->layout_more))
		return false;
	for (int i = 0; i < l->nlayout; i++)
		if (l->layout[i].n &&
		    (krt_k_compute(&l->layout[i], &c, &v) || v.lo != v.hi || v.lo != param[i].size))
			return false;
	return true;
}

/* Does everything that the line asks of its captures have an answer? */
static bool answered(const struct krt_k_line *l, const struct krt_k_capture *cap)
{
	for (unsigned i = 0; i < l->n; i++)
		for (unsigned e = 0; e < KRT_K_PROGS; e++)
			for (unsigned k = 0; k < l->stmt[i].e[e].n; k++) {
				const struct krt_k_item *it = &l->stmt[i].e[e].item[k];
				const struct krt_k_capture *c = &cap[it->arg];

				if ((it->op == KRT_K_NUMBER && !c->number_known) ||
				    (it->op == KRT_K_SIZEOF &&
				     (it->off >= c->n || !c->known[it->off])) ||
				    (it->op == KRT_K_RESULT && !c->result_known) ||
				    (it->op == KRT_K_ARITY && !c->functor_known))
					return false;
				/* which of the arguments is not settled yet */
				for (unsigned a = 0; it->op == KRT_K_ARGUMENT && a < c->n; a++)
					if (!c->known[a])
						return false;
				if (it->op == KRT_K_ARGUMENT && !c->functor_known)
					return false;
			}
	return true;
}

/* What l is for this kernel; NULL: it does not fit. */
static struct krt_kernels_line *fit(const struct krt_kernels_file *f, struct krt_k_line *l,
				    const char *name, const char *readable, size_t len,
				    const struct krt_param *param, uint32_t nparams)
{
	struct krt_k_text text[KRT_K_CAPTURES];
	struct krt_kernels_line *x;

	/* a name that no demangler reads may be readable as it is */
	if (l->pattern.readable && len
		    ? !krt_k_match(&l->pattern, l->source, readable, len, text)
		    : !krt_k_match(&l->pattern, l->source, name, strlen(name), text))
		return NULL;
	if (!l->pattern.n)
		return fits_layout(l, NULL, param, nparams) ? &l->plain : NULL;
	x = calloc(1, sizeof(*x));
	if (x)
		x->capture = calloc(l->pattern.n, sizeof(*x->capture));
	if (!x || !x->capture) {
		free(x);
		return NULL;
	}
	x->line = l;
	for (unsigned i = 0; i < l->pattern.n; i++)
		krt_k_learn(f, text[i], l->pattern.capture[i].list, &x->capture[i]);
	if (answered(l, x->capture) && fits_layout(l, x->capture, param, nparams))
		return x;
	free(x->capture);
	free(x);
	return NULL;
}

static void free_instance(struct krt_kernels_line *x)
{
	free(x->capture);
	free(x);
}

static struct krt_kernels_line *look_up(struct krt_kernels_file *f, const char *name,
					const struct krt_param *param, uint32_t nparams)
{
	struct krt_kernels_line *x = NULL;
	char *readable = krt_demangle(name);
	size_t len = readable ? strlen(readable) : 0;

	for (struct krt_k_line *l = f->first; l && !x; l = l->next) {
		x = fit(f, l, name, readable, len, param, nparams);
		if (x)
			l->found = true;
	}
	free(readable);
	return x;
}

const struct krt_kernels_line *krt_kernels_find(struct krt_kernels_file *f, const char *name,
						const struct krt_param *param, uint32_t nparams)
{
	size_t n, words = nparams == KRT_PARAMS_UNKNOWN || !param ? 0 : nparams, len;
	struct krt_k_found *found;
	char *key;

	if (!f || !name)
		return NULL;
	if (nparams != KRT_PARAMS_UNKNOWN && nparams && !param)
		nparams = KRT_PARAMS_UNKNOWN;
	n = strlen(name) + 1;
	len = n + 4 + 4 * words;
	if (len > UINT_MAX)
		return NULL;
	key = malloc(len);
	if (!key)
		return NULL;
	memcpy(key, name, n);
	memcpy(key + n, &nparams, 4);
	for (size_t i = 0; i < words; i++)
		memcpy(key + n + 4 + 4 * i, &param[i].size, 4);
	HASH_FIND(hh, f->found, key, (unsigned)len, found);
	if (found) {
		free(key);
		return found->instance;
	}
	found = HASH_COUNT(f->found) < FOUND_MAX ? calloc(1, sizeof(*found)) : NULL;
	if (!found) {
		free(key);
		return NULL;
	}
	found->key = key;
	found->keylen = len;
	found->instance = look_up(f, name, param, nparams);
	found->own = found->instance && found->instance->capture;
	HASH_ADD_KEYPTR(hh, f->found, found->key, (unsigned)found->keylen, found);
	if (found->hh.tbl)
		return found->instance;
	if (found->own)
		free_instance(found->instance);
	free(found);
	free(key);
	return NULL;
}

const struct krt_kernels_line *krt_kernels_unused(const struct krt_kernels_file *f,
						  const struct krt_kernels_line *after)
{
	const struct krt_k_line *l = after ? after->line->next : f->first;

	while (l && (l->found || l->source->shipped))
		l = l->next;
	return l ? &l->plain : NULL;
}

const struct krt_kernels_line *krt_kernels_useless(const struct krt_kernels_file *f,
						   const struct krt_kernels_line *after,
						   uint64_t *launches, const char **why)
{
	const struct krt_k_line *l = after ? after->line->next : f->first;

	while (l && (!l->nuseless || l->source->shipped))
		l = l->next;
	if (!l)
		return NULL;
	*launches = l->nuseless;
	*why = l->useless;
	return &l->plain;
}

unsigned krt_kernels_number(const struct krt_kernels_line *x)
{
	return x->line->number;
}

const char *krt_kernels_source(const struct krt_kernels_line *x)
{
	return x->line->source->name;
}

bool krt_kernels_synchronises(const struct krt_kernels_line *x)
{
	return x->line->synchronises;
}

bool krt_kernels_yields(const struct krt_kernels_line *x)
{
	return x->line->source->shipped && x->line->vague;
}

/* --- files --------------------------------------------------------------------------------- */

void krt_kernels_free(struct krt_kernels_file *f)
{
	struct krt_k_found *found, *tmp;

	if (!f)
		return;
	HASH_ITER (hh, f->found, found, tmp) {
		HASH_DELETE(hh, f->found, found);
		if (found->own)
			free_instance(found->instance);
		free(found->key);
		free(found);
	}
	while (f->first) {
		struct krt_k_line *l = f->first;

		f->first = l->next;
		krt_k_free_line(l);
	}
	while (f->functors) {
		struct krt_k_functor *d = f->functors;

		f->functors = d->next;
		krt_k_free_functor(d);
	}
	while (f->sizes) {
		struct krt_k_size *s = f->sizes;

		f->sizes = s->next;
		free(s->type);
		free(s);
	}
	while (f->sources) {
		struct krt_k_source *s = f->sources;

		f->sources = s->next;
		krt_k_free_source(s);
	}
	free(f);
}

static void join(struct krt_kernels_file *f, struct krt_kernels_file *more)
{
	*f->sources_end = more->sources;
	*f->end = more->first;
	*f->sizes_end = more->sizes;
	*f->functors_end = more->functors;
	f->sources_end = more->sources ? more->sources_end : f->sources_end;
	f->end = more->first ? more->end : f->end;
	f->sizes_end = more->sizes ? more->sizes_end : f->sizes_end;
	f->functors_end = more->functors ? more->functors_end : f->functors_end;
	more->sources = NULL;
	more->first = NULL;
	more->sizes = NULL;
	more->functors = NULL;
	krt_kernels_free(more);
}

bool krt_kernels_ship(struct krt_kernels_file **f, char *err, size_t errlen)
{
	static const struct {
		const char *name, *text;
	} files[] = {
		{"pytorch.kernels", KRT_KERNELS_PYTORCH},
		{"cub.kernels", KRT_KERNELS_CUB},
	};

	for (unsigned i = 0; i < sizeof(files) / sizeof(*files); i++) {
		struct krt_kernels_file *more = krt_kernels_parse(
			files[i].name, files[i].text, strlen(files[i].text), err, errlen);

		if (!more)
			return false;
		more->sources->shipped = true;
		if (*f)
			join(*f, more);
		else
			*f = more;
	}
	return true;
}

/* --- expressions -------------------------------------------------------------------------- */

/* width bytes at off of a parameter, little endian; NULL or why not. */
static const char *fetch(const struct krt_kernels_launch *l, unsigned arg, uint64_t off,
			 uint32_t width, uint64_t *v)
{
	const struct krt_param *p;

	if (!l || l->nparams == KRT_PARAMS_UNKNOWN || !l->param || !l->params)
		return "the parameters of the kernel are not known";
	if (arg >= l->nparams)
		return "the kernel has fewer parameters";
	p = &l->param[arg];
	if (!width)
		width = p->size;
	if (!width || width > 8)
		return "a parameter of more than 8 bytes is no number: use argN.OFF";
	if (off > p->size || width > p->size - off)
		return "the offset lies beyond the parameter";
	if (p->offset > l->len || off + width > l->len - p->offset)
		return "the parameter buffer is too short";
	*v = 0;
	memcpy(v, (const char *)l->params + p->offset + off, width);
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "parameter words are taken as little endian"
#endif
	return NULL;
}

static bool less(const struct krt_k_val *a, const struct krt_k_val *b, bool equal,
		 struct krt_k_val *out)
{
	/* surely, or possibly */
	out->lo = equal ? a->hi <= b->lo : a->hi < b->lo;
	out->hi = equal ? a->lo <= b->hi : a->lo < b->hi;
	return true;
}

/* a op b into a */
static const char *combine(enum krt_k_op op, struct krt_k_val *a, const struct krt_k_val *b)
{
	struct krt_k_val x = *a;

	switch (op) {
	case KRT_K_ADD:
		if (__builtin_add_overflow(x.lo, b->lo, &a->lo) ||
		    __builtin_add_overflow(x.hi, b->hi, &a->hi))
			return "a sum does not fit 64 bits";
		return NULL;
	case KRT_K_SUB:
		if (__builtin_sub_overflow(x.lo, b->hi, &a->lo) ||
		    __builtin_sub_overflow(x.hi, b->lo, &a->hi))
			return "a difference is below 0";
		return NULL;
	case KRT_K_MUL:
		if (__builtin_mul_overflow(x.lo, b->lo, &a->lo) ||
		    __builtin_mul_overflow(x.hi, b->hi, &a->hi))
			return "a product does not fit 64 bits";
		return NULL;
	case KRT_K_DIV:
	case KRT_K_MOD:
		if (!b->lo)
			return "a division by 0";
		if (op == KRT_K_DIV)
			*a = (struct krt_k_val){x.lo / b->hi, x.hi / b->lo};
		else if (x.lo == x.hi && b->lo == b->hi)
			a->lo = a->hi = x.lo % b->lo;
		else
			*a = (struct krt_k_val){0, x.hi < b->hi ? x.hi : b->hi - 1};
		return NULL;
	case KRT_K_MIN:
		*a = (struct krt_k_val){x.lo < b->lo ? x.lo : b->lo, x.hi < b->hi ? x.hi : b->hi};
		return NULL;
	case KRT_K_MAX:
		*a = (struct krt_k_val){x.lo > b->lo ? x.lo : b->lo, x.hi > b->hi ? x.hi : b->hi};
		return NULL;
	case KRT_K_LT:
	case KRT_K_LE:
		less(&x, b, op == KRT_K_LE, a);
		return NULL;
	case KRT_K_GT:
	case KRT_K_GE:
		less(b, &x, op == KRT_K_GE, a);
		return NULL;
	case KRT_K_EQ:
		a->lo = x.lo == x.hi && b->lo == b->hi && x.lo == b->lo;
		a->hi = x.lo <= b->hi && b->lo <= x.hi;
		return NULL;
	default: /* KRT_K_NE */
		a->lo = x.hi < b->lo || b->hi < x.lo;
		a->hi = !(x.lo == x.hi && b->lo == b->hi && x.lo == b->lo);
		return NULL;
	}
}

static const char *indexed(const struct krt_k_item *it, struct krt_k_context *c,
			   struct krt_k_val *v)
{
	const struct krt_k_capture *cap = c->capture ? &c->capture[it->arg] : NULL;
	const struct krt_k_table *t = c->source->tables;
	const char *why;

	if (v->lo != v->hi)
		return "an index is not known";
	if (it->op == KRT_K_AT) {
		why = fetch(c->launch, it->arg, v->lo, it->width, &v->lo);
		v->hi = v->lo;
		return why;
	}
	if (it->op == KRT_K_ARGUMENT) {
		if (v->lo >= cap->n || !cap->known[v->lo])
			return "the functor has no such argument";
		*v = cap->size[v->lo];
		return NULL;
	}
	for (unsigned i = 0; i < it->arg; i++)
		t = t->next;
	if (v->lo >= t->n)
		return "an index lies beyond its table";
	v->lo = v->hi = t->value[v->lo];
	return NULL;
}

const char *krt_k_compute(const struct krt_k_prog *p, struct krt_k_context *c,
			  struct krt_k_val *out)
{
	struct krt_k_val stack[KRT_K_ITEMS];
	const struct krt_kernels_launch *l = c->launch;
	unsigned n = 0;
	const char *why = NULL;

	c->steps += p->n;
	if (c->steps > STEPS)
		return "it takes too long";
	for (unsigned i = 0; i < p->n; i++) {
		const struct krt_k_item *it = &p->item[i];
		const struct krt_k_capture *cap = c->capture ? &c->capture[it->arg] : NULL;
		uint64_t v = 0;

		switch ((enum krt_k_op)it->op) {
		case KRT_K_VALUE:
			v = it->value;
			break;
		case KRT_K_SOME:
			stack[n++] = (struct krt_k_val){1, 16};
			continue;
		case KRT_K_VAR:
			stack[n++] = c->var[it->arg];
			continue;
		case KRT_K_ARGN:
			why = fetch(l, it->arg, 0, 0, &v);
			break;
		case KRT_K_WORD:
			why = fetch(l, it->arg, it->off, it->width, &v);
			break;
		case KRT_K_PSIZE:
			if (!l || l->nparams == KRT_PARAMS_UNKNOWN || !l->param)
				return "the parameters of the kernel are not known";
			if (it->arg >= l->nparams)
				return "the kernel has fewer parameters";
			v = l->param[it->arg].size;
			break;
		case KRT_K_DIM:
			if (!l)
				return "the launch is not known";
			v = it->width < 3 ? l->grid[it->width] : l->block[it->width - 3];
			break;
		case KRT_K_NUMBER:
			if (!cap->number_known)
				return "what was captured is no number";
			v = cap->number;
			break;
		case KRT_K_SIZEOF:
			if (it->off >= cap->n || !cap->known[it->off])
				return "the size of a captured type is not known";
			stack[n++] = cap->size[it->off];
			continue;
		case KRT_K_RESULT:
			if (!cap->result_known)
				return "what a functor returns is not known";
			stack[n++] = cap->result;
			continue;
		case KRT_K_ARITY:
			if (!cap->functor_known)
				return "a functor is not known";
			v = cap->n;
			break;
		case KRT_K_AT:
		case KRT_K_ARGUMENT:
		case KRT_K_TABLE:
			why = indexed(it, c, &stack[n - 1]);
			if (why)
				return why;
			continue;
		default:
			why = combine(it->op, &stack[n - 2], &stack[n - 1]);
			if (why)
				return why;
			n--;
			continue;
		}
		if (why)
			return why;
		stack[n++] = (struct krt_k_val){v, v};
	}
	*out = stack[0];
	return NULL;
}

/* --- accesses ------------------------------------------------------------------------------- */

struct run {
	struct krt_k_context c;
	const struct krt_k_line *line;
	krt_kernels_fn *fn; /* NULL: it is only seen whether all can be computed */
	void *user;
};

struct piece {
	uint64_t from, to;
};

struct dim {
	uint64_t count, stride;
};

static void give(struct run *r, const struct krt_kernels_access *a)
{
	struct krt_kernels_access b = *a;

	if (!r->fn)
		return;
	if (r->line->atomic_ok && (b.role & KRT_KERNELS_ATOMIC)) {
		b.sure = KRT_SURE_SOME;
		b.loose = true;
		b.len = b.len ? b.len : (uint64_t)INT64_MAX;
		if (b.len > UINT64_MAX - b.addr)
			b.len = UINT64_MAX - b.addr;
	}
	r->fn(r->user, &b);
}

/* [from, to) behind the pointer; nothing where it is empty. */
static const char *flat(struct run *r, struct krt_kernels_access a, uint64_t from, uint64_t to,
			enum krt_sureness sure, bool loose)
{
	if (from >= to || !a.base)
		return NULL;
	if (to > UINT64_MAX - a.base)
		return "a range ends beyond 64 bits";
	a.addr = a.base + from;
	a.len = to - from;
	a.sure = sure;
	a.loose = loose;
	give(r, &a);
	return NULL;
}

static int by_stride(const void *x, const void *y)
{
	const struct dim *a = x, *b = y;

	return a->stride < b->stride ? -1 : a->stride > b->stride;
}

/*
 * Copies of [0, len) at all sums of steps through dims: joined as far as they
 * close up.  Returns how many dims are left, their strides beyond what is below.
 */
static unsigned close_up(struct dim *d, unsigned n, uint64_t *len)
{
	unsigned k = 0;

	qsort(d, n, sizeof(*d), by_stride);
	for (unsigned i = 0; i < n; i++) {
		if (d[i].count < 2 || !d[i].stride)
			continue;
		if (!k && d[i].stride <= *len)
			*len += (d[i].count - 1) * d[i].stride;
		else if (k && d[i].stride == d[k - 1].stride * d[k - 1].count)
			d[k - 1].count *= d[i].count;
		else
			d[k++] = d[i];
	}
	return k;
}

/* All copies of one piece, exactly where that can be said. */
static const char *copies(struct run *r, struct krt_kernels_access a, struct piece p,
			  const struct dim *dims, unsigned n, enum krt_sureness sure, bool loose)
{
	struct dim d[DIMS];
	uint64_t len = p.to - p.from, hull = len, at[DIMS] = {0}, pieces = 1;
	unsigned k, inner;

	if (p.from >= p.to || !a.base)
		return NULL;
	memcpy(d, dims, n * sizeof(*d));
	for (unsigned i = 0; i < n; i++) {
		uint64_t step;

		if (!d[i].count)
			return NULL;
		if (__builtin_mul_overflow(d[i].count - 1, d[i].stride, &step) ||
		    __builtin_add_overflow(hull, step, &hull))
			return "a range ends beyond 64 bits";
	}
	if (hull > UINT64_MAX - p.from || p.from + hull > UINT64_MAX - a.base)
		return "a range ends beyond 64 bits";
	k = close_up(d, n, &len);
	if (!k)
		return flat(r, a, p.from, p.from + len, sure, loose);
	/* pieces in rows, rows in a grid, and what is beyond that one by one */
	inner = k > 1 && d[1].stride >= (d[0].count - 1) * d[0].stride + len ? 2 : 1;
	for (unsigned i = inner; i < k; i++)
		if (__builtin_mul_overflow(pieces, d[i].count, &pieces) || pieces > PIECES)
			return flat(r, a, p.from, p.from + hull, KRT_SURE_SOME, true);
	a.sure = sure;
	a.loose = loose;
	a.width = len;
	a.stride = d[0].stride;
	a.len = (d[0].count - 1) * d[0].stride + len;
	a.rows = inner > 1 ? d[1].count : 1;
	a.pitch = inner > 1 ? d[1].stride : a.len;
	for (uint64_t i = 0; i < pieces; i++) {
		a.addr = a.base + p.from;
		for (unsigned x = inner; x < k; x++)
			a.addr += at[x] * d[x].stride;
		give(r, &a);
		for (unsigned x = inner; x < k && ++at[x] == d[x].count; x++)
			at[x] = 0;
	}
	return NULL;
}

/* Steps of one `each`; exact tells whether they are known to the number. */
static const char *steps(struct run *r, const struct krt_k_stmt *s, unsigned which, struct dim *d,
			 unsigned *n, bool *exact)
{
	const struct krt_k_prog *e = &s->e[KRT_K_EACH + 4 * which];
	struct krt_k_val from, to, count, stride;
	const char *why = krt_k_compute(&e[0], &r->c, &from);

	if (!why)
		why = krt_k_compute(&e[1], &r->c, &to);
	if (why)
		return why;
	if (from.lo != from.hi || to.lo != to.hi)
		return "how often to repeat is not known";
	for (uint64_t i = from.lo; i < to.lo; i++) {
		if (*n == DIMS)
			return "more than 32 dimensions";
		r->c.var[s->var] = (struct krt_k_val){i, i};
		why = krt_k_compute(&e[2], &r->c, &count);
		if (!why)
			why = krt_k_compute(&e[3], &r->c, &stride);
		if (why)
			return why;
		if (count.lo != count.hi || stride.lo != stride.hi)
			*exact = false;
		d[(*n)++] = (struct dim){count.hi, stride.hi};
	}
	return NULL;
}

/* All steps of an access; their counts are held against `times`. */
static const char *all_steps(struct run *r, const struct krt_k_stmt *s, struct dim *d, unsigned *n,
			     bool *exact)
{
	struct krt_k_val times;
	uint64_t all = 1;
	const char *why = NULL;

	for (unsigned i = 0; i < s->each && !why; i++)
		why = steps(r, s, i, d, n, exact);
	if (why || !s->e[KRT_K_TIMES].n)
		return why;
	why = krt_k_compute(&s->e[KRT_K_TIMES], &r->c, &times);
	for (unsigned i = 0; i < *n && !why; i++)
		if (__builtin_mul_overflow(all, d[i].count, &all))
			why = "a product does not fit 64 bits";
	if (!why && (times.lo != times.hi || all != times.lo))
		why = "there are not as many pieces as there should be";
	return why;
}

static const char *access(struct run *r, const struct krt_k_stmt *s, bool unsure)
{
	const struct krt_kernels_launch *l = r->c.launch;
	struct krt_kernels_access a = {.role = s->role, .arg = s->arg, .sure = KRT_SURE_FROM};
	struct krt_k_val off = {0, 0}, from, to, lo, hi;
	struct dim d[DIMS];
	unsigned n = 0;
	bool exact = true;
	const char *why = NULL;

	if (s->inside)
		why = krt_k_compute(&s->e[KRT_K_PTR], &r->c, &off);
	if (!why && off.lo != off.hi)
		why = "where the pointer lies is not known";
	if (!why)
		why = fetch(l, s->arg, off.lo, s->inside ? 8 : 0, &a.base);
	if (!why && !s->inside && l->param[s->arg].size != 8)
		why = "the parameter is no pointer";
	if (why)
		return why;
	a.addr = a.base;
	a.offset = (uint32_t)off.lo;
	if (!s->ranged) {
		if (!a.base)
			return NULL;
		if (s->may || unsure)
			return flat(r, a, 0,
				    (uint64_t)INT64_MAX < UINT64_MAX - a.base ? (uint64_t)INT64_MAX
									      : UINT64_MAX - a.base,
				    KRT_SURE_SOME, true);
		give(r, &a);
		return NULL;
	}
	why = krt_k_compute(&s->e[KRT_K_A], &r->c, &from);
	if (!why)
		why = krt_k_compute(&s->e[KRT_K_B], &r->c, &to);
	if (why)
		return why;
	if (from.lo > to.hi)
		return "a range ends before it begins";
	lo = from;
	hi = to;
	if (s->within) {
		why = krt_k_compute(&s->e[KRT_K_C], &r->c, &lo);
		if (!why)
			why = krt_k_compute(&s->e[KRT_K_D], &r->c, &hi);
		if (why)
			return why;
		if (lo.lo > from.hi || hi.hi < to.lo)
			return "a range goes beyond what it lies within";
	}
	if (s->each)
		why = all_steps(r, s, d, &n, &exact);
	if (why)
		return why;
	if (s->may || unsure || !exact)
		return copies(r, a, (struct piece){lo.lo, hi.hi}, d, n, KRT_SURE_SOME,
			      unsure || !exact || lo.lo != lo.hi || hi.lo != hi.hi);
	/* surely from the last place where it may begin to the first where it may end */
	if (from.hi < to.lo) {
		why = copies(r, a, (struct piece){from.hi, to.lo}, d, n, KRT_SURE_ALL, false);
		if (!why && lo.lo < from.hi)
			why = copies(r, a, (struct piece){lo.lo, from.hi}, d, n, KRT_SURE_SOME,
				     true);
		if (!why && to.lo < hi.hi)
			why = copies(r, a, (struct piece){to.lo, hi.hi}, d, n, KRT_SURE_SOME, true);
		return why;
	}
	return copies(r, a, (struct piece){lo.lo, hi.hi}, d, n, KRT_SURE_SOME, true);
}

static const char *block(struct run *r, unsigned i, unsigned end, bool unsure)
{
	const struct krt_k_stmt *stmt = r->line->stmt;
	const char *why = NULL;

	for (; i < end && !why; i = stmt[i].end) {
		const struct krt_k_stmt *s = &stmt[i];
		struct krt_k_val a, b;
		bool other;

		if (++r->c.steps > STEPS)
			return "it takes too long";
		switch ((enum krt_k_stmt_kind)s->kind) {
		case KRT_K_ACCESS:
			why = access(r, s, unsure);
			break;
		case KRT_K_LET:
			why = krt_k_compute(&s->e[KRT_K_A], &r->c, &r->c.var[s->var]);
			break;
		case KRT_K_REQUIRE:
			why = krt_k_compute(&s->e[KRT_K_A], &r->c, &a);
			if (!why && !a.lo)
				why = "what the line requires is not so";
			break;
		case KRT_K_FOR:
			why = krt_k_compute(&s->e[KRT_K_A], &r->c, &a);
			if (!why)
				why = krt_k_compute(&s->e[KRT_K_B], &r->c, &b);
			if (!why && (a.lo != a.hi || b.lo != b.hi))
				why = "how often to repeat is not known";
			for (uint64_t k = why ? 0 : a.lo; !why && k < b.lo; k++) {
				r->c.var[s->var] = (struct krt_k_val){k, k};
				why = ++r->c.steps > STEPS ? "it takes too long"
							   : block(r, i + 1, s->end, unsure);
			}
			break;
		case KRT_K_IF:
			why = krt_k_compute(&s->e[KRT_K_A], &r->c, &a);
			if (why)
				break;
			if (a.hi)
				why = block(r, i + 1, s->end, unsure || !a.lo);
			other = s->end < end && stmt[s->end].kind == KRT_K_ELSE;
			if (!why && other && !a.lo)
				why = block(r, s->end + 1u, stmt[s->end].end, unsure || a.hi);
			break;
		case KRT_K_ELSE: /* its IF has seen to it */
			break;
		}
	}
	return why;
}

static const char *run(const struct krt_kernels_line *x, const struct krt_kernels_launch *l,
		       krt_kernels_fn *fn, void *user)
{
	struct run r = {.c = {.source = x->line->source, .capture = x->capture, .launch = l},
			.line = x->line,
			.fn = fn,
			.user = user};

	return block(&r, 0, x->line->n, false);
}

const char *krt_kernels_why(const struct krt_kernels_line *x,
			    const struct krt_kernels_launch *launch)
{
	return run(x, launch, NULL, NULL);
}

enum krt_kernels_result krt_kernels_eval(const struct krt_kernels_line *x,
					 const struct krt_kernels_launch *launch,
					 krt_kernels_fn *fn, void *user)
{
	const char *why;

	if (!x->line->n && !x->line->ignore)
		return KRT_KERNELS_SILENT;
	/* twice: all or nothing */
	why = run(x, launch, NULL, NULL);
	if (why) {
		if (!x->line->nuseless++)
			x->line->useless = why;
		return KRT_KERNELS_USELESS;
	}
	run(x, launch, fn, user);
	return KRT_KERNELS_DECLARED;
}

enum krt_kernels_result krt_kernels_match(struct krt_kernels_file *f, const char *name,
					  const struct krt_kernels_launch *launch,
					  krt_kernels_fn *fn, void *user)
{
	const struct krt_kernels_line *x =
		krt_kernels_find(f, name, launch->param, launch->nparams);

	return x ? krt_kernels_eval(x, launch, fn, user) : KRT_KERNELS_NO_LINE;
}
