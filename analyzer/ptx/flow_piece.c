/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One launch in pieces: threads and iterations are cut until in each piece all
 * conditions are the same for all, all loops go round equally often, and the
 * addresses are affine.  What a piece accesses is then known to the byte, and
 * surely happens.
 *
 * A piece is every combination of its digits' values.  Evaluating it either
 * settles an access or leaves a wish where to cut.  Both the number of pieces and
 * the work are bounded; what is not settled then stays as flow_eval.c has it.
 */
#include "flow_prog.h"
#include <string.h>

typedef __int128 wide;

#define LIMIT	   (INT64_C(1) << 62)
#define MAX_PIECES 48u
#define MAX_WORK   20000u /* instructions of a launch, of 30 to 50 ns */
/*
 * A kernel whose launches are never the same must not cost that again and again: each
 * launch brings so many to what the kernel has left.
 */
#define WORK_EACH 400u

/* ---- wishes ---- */

static int64_t floor_div(int64_t a, int64_t d)
{
	return a >= 0 ? a / d : -((-a + d - 1) / d);
}

static int64_t floor_wide(wide a, int64_t d)
{
	wide q = a >= 0 ? a / d : -((-a + d - 1) / d);

	return q < -LIMIT ? -LIMIT : q > LIMIT ? LIMIT : (int64_t)q;
}

void flow_wish_below(struct ev *e, const struct aval *v, int64_t at)
{
	int64_t lo, hi;
	wide best = 0;

	if (!e->piece || e->wish.kind || !flow_val_hull(e, v, &lo, &hi) || at <= lo || at > hi)
		return;
	for (unsigned i = 0; i < v->n; i++) {
		int64_t k = v->t[i].coef, first, second;
		int64_t n = (int64_t)e->p->atom[v->t[i].atom];
		wide reach = (wide)k * n, rl = lo, rh = hi;

		if (v->t[i].atom >= MAX_DIGITS || (reach < 0 ? -reach : reach) <= best)
			continue;
		if (k > 0)
			rh -= reach;
		else
			rl -= reach;
		/* Parts where all are below, or all are not. */
		if (k > 0) {
			first = floor_wide((wide)at - 1 - rh, k) + 1;
			second = -floor_wide(rl - at, k);
		} else {
			first = -floor_wide((wide)at - 1 - rh, -k);
			second = floor_wide(rl - at, -k) + 1;
		}
		if (first < 1 || first > n)
			first = second;
		if (first < 1 || first > n)
			continue;
		best = reach < 0 ? -reach : reach;
		e->wish.kind = WISH_CUT;
		e->wish.digit = v->t[i].atom;
		e->wish.at = (uint64_t)first;
	}
}

void flow_wish_quotient(struct ev *e, const struct aval *v, int64_t d)
{
	int64_t lo, hi, from;

	if (!e->piece || e->wish.kind || !flow_val_hull(e, v, &lo, &hi))
		return;
	from = floor_div(lo, d);
	if (from == floor_div(hi, d))
		return;
	/* As digits, where they begin at a multiple of d and nothing carries over. */
	for (unsigned i = 0; i < v->n; i++) {
		int64_t k = v->t[i].coef, parts, first, s;
		uint64_t n = e->p->atom[v->t[i].atom];

		if (v->t[i].atom >= MAX_DIGITS || k <= 0 || k >= d || d % k)
			continue;
		s = floor_div(lo, k);
		if (s != floor_div(hi - k * (int64_t)n, k))
			continue;
		parts = d / k;
		first = (parts - (s - floor_div(s, parts) * parts)) % parts;
		e->wish.digit = v->t[i].atom;
		e->wish.kind = WISH_CUT;
		if (first) {
			e->wish.at = (uint64_t)first;
		} else if ((n + 1) % (uint64_t)parts) {
			e->wish.at = n + 1 - (n + 1) % (uint64_t)parts;
		} else {
			e->wish.kind = WISH_DIGITS;
			e->wish.at = (uint64_t)parts;
		}
		return;
	}
	if (floor_div(hi, d) - from <= 8 && from < LIMIT / d && from > -LIMIT / d)
		flow_wish_below(e, v, (from + 1) * d);
}

struct aval flow_piece_var(struct ev *e, unsigned var)
{
	struct aval v = { .c = e->piece->lo[var] };

	for (uint32_t i = 0; i < e->piece->ndigits; i++) {
		const struct digit *d = &e->piece->d[i];

		if (d->var != var || !d->n)
			continue;
		if (v.n == MAX_TERMS)
			return (struct aval){ .st = V_TOP };
		v.t[v.n++] = (struct term){ .coef = d->coef, .atom = i };
	}
	return v;
}

/* ---- one piece ---- */

static bool is_const(const struct aval *v)
{
	return v->st == V_OK && !v->n;
}

static const struct xloop *find_loop(const struct xgroup *g, uint32_t loop, unsigned *index)
{
	for (unsigned i = 0; i < g->nloops; i++)
		if (g->loops[i].loop == loop) {
			*index = i;
			return &g->loops[i];
		}
	return NULL;
}

/* The iterations of a loop around the access; false: not known how many. */
static bool iterations(struct ev *e, uint32_t loop, const struct aval *count, struct aval *out)
{
	struct part *p = e->piece;
	const struct xloop *l;
	unsigned i = 0;

	l = find_loop(e->group, loop, &i);
	if (!l || count->st || !is_const(count))
		return false;
	if (count->c < l->pass) {
		e->never = true;
		return false;
	}
	if (p->open >> i & 1) {
		if (count->c > l->pass) {
			if (p->ndigits == MAX_DIGITS)
				return false;
			e->p->atom[p->ndigits] = (uint64_t)(count->c - l->pass);
			p->d[p->ndigits++] = (struct digit){ .var = (uint8_t)(6 + i),
							     .coef = 1,
							     .n = (uint64_t)(count->c - l->pass) };
		}
		p->open &= ~(1u << i);
	}
	*out = flow_piece_var(e, 6 + i);
	return out->st == V_OK;
}

static struct aval execute(struct ev *e, const struct pins *p)
{
	const struct aval top = { .st = V_TOP }, none = { .st = V_BOTTOM };
	const struct aval *v = e->p->val;
	struct aval s, k;

	switch ((enum pop)p->op) {
	case P_NODE:
		return flow_val_node(e, p);
	case P_COUNT:
		return flow_val_count(e, p);
	case P_NOW:
		if (v[p->a].st == V_BOTTOM || v[p->c].st == V_BOTTOM)
			return none;
		if (!iterations(e, (uint32_t)p->imm, &v[p->c], &k))
			return e->never ? none : top;
		s = flow_val_signed(e, &v[p->b], p->w);
		if (is_const(&s))
			s = flow_val_scaled(e, &k, s.c);
		else if (is_const(&k))
			s = flow_val_scaled(e, &s, k.c);
		else
			return top;
		return flow_val_sum(e, &v[p->a], &s);
	case P_LAST:
		if (v[p->a].st == V_BOTTOM || v[p->c].st == V_BOTTOM)
			return none;
		if (!is_const(&v[p->c]))
			return top;
		s = flow_val_signed(e, &v[p->b], p->w);
		s = flow_val_scaled(e, &s, v[p->c].c);
		return flow_val_sum(e, &v[p->a], &s);
	case P_ONLY:
		if (v[p->b].st == V_BOTTOM || (is_const(&v[p->b]) && !v[p->b].c == !p->imm))
			return none;
		return v[p->a];
	case P_EITHER:
		if (v[p->a].st == V_BOTTOM)
			return v[p->b];
		if (v[p->b].st == V_BOTTOM || aval_equal(&v[p->a], &v[p->b]))
			return v[p->a];
		return top;
	default:
		return top;
	}
}

/* 1: it holds for all; 0: for none; -1: not known. */
static int holds(const struct aval *v, bool neg)
{
	if (v->st == V_BOTTOM)
		return 0;
	return is_const(v) ? !v->c == neg : -1;
}

/* The same for a number of bytes, of at most *len. */
static int bytes(const struct aval *v, uint64_t *len)
{
	if (!is_const(v) || v->c < 0)
		return -1;
	if ((uint64_t)v->c < *len)
		*len = (uint64_t)v->c;
	return *len != 0;
}

static bool make_box(const struct ev *e, const struct aval *v, uint64_t len, uint32_t acc,
		     struct box *b)
{
	*b = (struct box){ .at = v->c, .len = len, .acc = acc };
	if (v->st != V_OK)
		return false;
	for (unsigned i = 0; i < v->n; i++) {
		int64_t k = v->t[i].coef;
		uint64_t n = e->p->atom[v->t[i].atom];

		if (v->t[i].atom >= MAX_DIGITS || b->ndims == MAX_DIMS)
			return false;
		if (!n)
			continue;
		if (k < 0)
			b->at += k * (int64_t)n;
		b->dim[b->ndims].coef = k < 0 ? -(uint64_t)k : (uint64_t)k;
		b->dim[b->ndims++].n = n;
	}
	return true;
}

/* Evaluates a piece and settles what it can; false: the work is done. */
static bool settle(struct ev *e, const struct prog *base, uint64_t *sure, struct boxes *out)
{
	const struct xgroup *g = e->group;
	struct part *p = e->piece;
	bool all = true;
	struct box b;

	for (uint32_t i = 0; i < p->ndigits; i++)
		e->p->atom[i] = p->d[i].n;
	e->natoms = MAX_DIGITS;
	e->ndefs = 0;
	e->never = false;
	e->wish.kind = WISH_NONE;
	for (uint32_t i = 0; i < g->nrun; i++) {
		const struct pins *q = &e->p->ins[g->run[i]];

		e->p->val[g->run[i]] = execute(e, q);
		if (q->moves)
			flow_val_moves(e, q, &e->p->val[g->run[i]]);
	}
	if (e->never)
		return true;
	for (uint32_t i = 0; i < g->nconds; i++) {
		int h = holds(&e->p->val[g->conds[i].slot], g->conds[i].neg);

		if (!h)
			return true;
		all &= h > 0;
	}
	for (uint32_t i = 0; i < g->nloops; i++) {
		const struct aval *c = &e->p->val[g->loops[i].count];

		if (c->st == V_BOTTOM || (is_const(c) && c->c < g->loops[i].pass))
			return true;
		all &= is_const(c);
	}
	for (uint32_t i = 0; i < g->naccs; i++) {
		const struct xacc *a = &g->accs[i];
		const struct aval *v = &e->p->val[a->addr];
		int h = a->pred == NO_SLOT ? 1 : holds(&e->p->val[a->pred], false), some = 1;
		uint64_t len = base->accs[a->first].width;

		if (!(p->left >> i & 1))
			continue;
		if (a->size != NO_SLOT && a->none_if)
			some = holds(&e->p->val[a->size], true);
		else if (a->size != NO_SLOT)
			some = bytes(&e->p->val[a->size], &len);
		h = !h || !some ? 0 : h < 0 || some < 0 ? -1 : 1;
		if (!h || v->st == V_BOTTOM) {
			p->left &= ~(UINT64_C(1) << i);
			continue;
		}
		if (!all || h < 0 || !make_box(e, v, len, a->first, &b))
			continue;
		p->left &= ~(UINT64_C(1) << i);
		if (out->n == MAX_BOXES)
			*sure &= ~(UINT64_C(1) << i);
		else
			out->b[out->n++] = b;
	}
	return !p->left;
}

/* Splits a piece as wished; the second part goes to *b.  1: cut, 0: other digits, -1: cannot be. */
static int divide(struct part *a, struct part *b, const struct wish *w)
{
	struct digit *d = &a->d[w->digit];

	if (w->digit >= a->ndigits || !w->at || w->at > d->n)
		return -1;
	if (w->kind == WISH_DIGITS) {
		if (a->ndigits == MAX_DIGITS || d->coef > LIMIT / (int64_t)w->at)
			return -1;
		a->d[a->ndigits++] = (struct digit){ .var = d->var,
						     .coef = d->coef * (int64_t)w->at,
						     .n = (d->n + 1) / w->at - 1 };
		d->n = w->at - 1;
		return 0;
	}
	*b = *a;
	b->d[w->digit].n -= w->at;
	b->lo[d->var] += d->coef * (int64_t)w->at;
	d->n = w->at - 1;
	return 1;
}

static void group(struct ev *e, const struct prog *base, uint64_t want, uint64_t *sure,
		  struct boxes *out, uint32_t *work)
{
	struct part todo[MAX_PIECES / 2];
	uint32_t n = 1, done = 0;

	memset(&todo[0], 0, sizeof(todo[0]));
	for (uint8_t i = 0; i < 6; i++) {
		uint64_t size = i < 3 ? e->l->block[i] : e->l->grid[i - 3];

		if (e->group->indexed >> i % 3 & 1)
			size = i < 3 ? size * e->l->grid[i] : 1;
		if (size > 1)
			todo[0].d[todo[0].ndigits++] =
				(struct digit){ .var = i, .coef = 1, .n = size - 1 };
	}
	todo[0].open = (1u << e->group->nloops) - 1;
	todo[0].left = want;
	while (n) {
		struct part *p = &todo[n - 1];
		int how;

		e->piece = p;
		if (done++ == MAX_PIECES || *work < e->group->nrun) {
			while (n)
				*sure &= ~todo[--n].left;
			return;
		}
		*work -= e->group->nrun;
		if (settle(e, base, sure, out)) {
			n--;
			continue;
		}
		how = e->wish.kind && n < MAX_PIECES / 2 ? divide(p, &todo[n], &e->wish) : -1;
		if (how < 0) {
			*sure &= ~p->left;
			n--;
		}
		n += how > 0;
	}
}

void flow_pieces(struct prog *p, const struct krt_flow_launch *l, const bool *skip, bool *settled,
		 struct boxes *out)
{
	struct ev e = { .p = p->exact, .l = l };
	uint32_t most, work;

	p->work = p->work + WORK_EACH < FLOW_WORK ? p->work + WORK_EACH : FLOW_WORK;
	most = work = p->work < MAX_WORK ? p->work : MAX_WORK;
	out->n = 0;
	for (uint32_t i = 0; i < p->ngroups; i++) {
		const struct xgroup *g = &p->groups[i];
		uint64_t want = 0, sure;

		for (uint32_t k = 0; k < g->naccs; k++)
			for (uint32_t q = 0; q < g->accs[k].n; q++)
				if (!skip[g->accs[k].first + q])
					want |= UINT64_C(1) << k;
		if (!want)
			continue;
		sure = want;
		e.group = g;
		group(&e, p, want, &sure, out, &work);
		for (uint32_t k = 0; k < g->naccs; k++)
			settled[g->accs[k].first] = sure >> k & 1;
	}
	p->work -= most - work;
}

/* ---- what lies together ---- */

uint64_t flow_box_reach(const struct box *b)
{
	uint64_t n = b->len;

	for (uint32_t i = 0; i < b->ndims; i++)
		n += b->dim[i].coef * b->dim[i].n;
	return n;
}

/* Smallest dimensions first; those that leave no gap become length. */
static bool normal(struct box *b)
{
	for (uint32_t i = 1; i < b->ndims; i++)
		for (uint32_t k = i; k && b->dim[k - 1].coef > b->dim[k].coef; k--) {
			uint64_t c = b->dim[k].coef, n = b->dim[k].n;

			b->dim[k] = b->dim[k - 1];
			b->dim[k - 1].coef = c;
			b->dim[k - 1].n = n;
		}
	for (uint32_t i = 0; i < b->ndims;) {
		uint64_t c = b->dim[i].coef, n = b->dim[i].n, reach;
		bool gone = false;

		if (__builtin_mul_overflow(c, n, &reach) || reach > (uint64_t)LIMIT)
			return false;
		if (!reach || (!i && c <= b->len)) {
			b->len += reach;
			gone = true;
		} else if (i && c % b->dim[i - 1].coef == 0 &&
			   c / b->dim[i - 1].coef <= b->dim[i - 1].n + 1) {
			b->dim[i - 1].n += c / b->dim[i - 1].coef * n;
			gone = true;
		}
		if (!gone) {
			i++;
			continue;
		}
		memmove(&b->dim[i], &b->dim[i + 1], (b->ndims - i - 1) * sizeof(b->dim[0]));
		b->ndims--;
		i = 0;
	}
	return b->len < (uint64_t)LIMIT;
}

/* In how many dimensions two boxes differ in number; the last of these, -1: it has none such. */
struct difference {
	unsigned n;
	uint64_t coef, na, nb;
	int a, b;
};

static struct difference differ(const struct box *a, const struct box *b)
{
	struct difference d = { 0 };
	uint32_t i = 0, k = 0;

	while (i < a->ndims || k < b->ndims) {
		bool in_a = i < a->ndims &&
			    (k == b->ndims || a->dim[i].coef <= b->dim[k].coef);
		bool in_b = k < b->ndims &&
			    (i == a->ndims || b->dim[k].coef <= a->dim[i].coef);

		if (!in_a || !in_b || a->dim[i].n != b->dim[k].n) {
			d.n++;
			d.coef = in_a ? a->dim[i].coef : b->dim[k].coef;
			d.na = in_a ? a->dim[i].n : 0;
			d.nb = in_b ? b->dim[k].n : 0;
			d.a = in_a ? (int)i : -1;
			d.b = in_b ? (int)k : -1;
		}
		i += in_a;
		k += in_b;
	}
	return d;
}

/* b becomes part of a, which begins no later. */
static bool join(struct box *a, const struct box *b, bool loose)
{
	uint64_t apart = (uint64_t)(b->at - a->at), len, n;
	struct difference d = differ(a, b);
	struct box r = *a;

	if (!d.n && apart <= a->len) {
		len = apart + b->len;
		r.len = len > a->len ? len : a->len;
	} else if (a->len != b->len || d.n > 1) {
		return false;
	} else if (d.n) {
		/* One after the other in one dimension. */
		if (apart % d.coef || apart / d.coef > d.na + 1)
			return false;
		n = apart / d.coef + d.nb;
		if (d.a < 0) {
			r = *b;
			r.at = a->at;
			r.acc = a->acc;
			r.dim[d.b].n = n > d.na ? n : d.na;
		} else {
			r.dim[d.a].n = n > d.na ? n : d.na;
		}
	} else {
		uint32_t i = 0;

		while (i < a->ndims &&
		       (apart % a->dim[i].coef || apart / a->dim[i].coef > a->dim[i].n + 1))
			i++;
		if (i < a->ndims) {
			r.dim[i].n += apart / a->dim[i].coef;
		} else if (!loose || a->ndims == MAX_DIMS) {
			return false;
		} else {
			/* The same twice. */
			r.dim[r.ndims].coef = apart;
			r.dim[r.ndims++].n = 1;
		}
	}
	if (!normal(&r))
		return false;
	*a = r;
	return true;
}

/*
 * The dimension (of a and of b, -1: it has none) that has to be cut so that the
 * boxes can be joined: side by side, or one begins where the other ends.
 */
static bool to_cut(const struct box *a, const struct box *b, struct difference *d)
{
	uint64_t apart = (uint64_t)(b->at - a->at);

	*d = differ(a, b);
	if (d->n == 1 && apart <= a->len)
		return true;
	if (a->len != b->len || a->ndims != b->ndims)
		return false;
	for (uint32_t i = 0; i < a->ndims; i++) {
		unsigned n = 0;

		if (apart != a->dim[i].coef * (a->dim[i].n + 1))
			continue;
		for (uint32_t k = 0; k < a->ndims; k++) {
			if (a->dim[k].coef != b->dim[k].coef)
				return false;
			if (k == i || a->dim[k].n == b->dim[k].n)
				continue;
			n++;
			d->coef = a->dim[k].coef;
			d->na = a->dim[k].n;
			d->nb = b->dim[k].n;
			d->a = d->b = (int)k;
		}
		if (n == 1)
			return true;
	}
	return false;
}

/* Of two boxes one has more rows in one dimension: these become a box of their own. */
static bool cut_longer(struct boxes *s, uint32_t i, uint32_t j)
{
	struct box *a = &s->b[i], *b = &s->b[j], *l, rest;
	struct difference d;
	uint64_t n;
	int k;

	if (s->n == MAX_BOXES || !(a->at <= b->at ? to_cut(a, b, &d) : to_cut(b, a, &d)))
		return false;
	if (a->at > b->at) {
		a = &s->b[j];
		b = &s->b[i];
	}
	l = d.na > d.nb ? a : b;
	n = l == a ? d.nb : d.na;
	k = l == a ? d.a : d.b;
	rest = *l;
	rest.at += (int64_t)(d.coef * (n + 1));
	rest.dim[k].n -= n + 1;
	l->dim[k].n = n;
	(void)normal(&rest);
	(void)normal(l);
	s->b[s->n++] = rest;
	return true;
}

static void sort_boxes(struct boxes *s, uint32_t from)
{
	for (uint32_t i = from + 1; i < s->n; i++) {
		struct box x = s->b[i];
		uint32_t k = i;

		for (; k > from && s->b[k - 1].at > x.at; k--)
			s->b[k] = s->b[k - 1];
		s->b[k] = x;
	}
}

static bool join_all(struct boxes *s, uint32_t from, bool loose)
{
	bool any = false;

	sort_boxes(s, from);
	for (uint32_t i = from; i < s->n; i++)
		for (uint32_t j = i + 1; j < s->n;) {
			if (!join(&s->b[i], &s->b[j], loose)) {
				j++;
				continue;
			}
			memmove(&s->b[j], &s->b[j + 1], (s->n - j - 1) * sizeof(s->b[0]));
			s->n--;
			any = true;
			if (loose)
				return true;
			j = i + 1;
		}
	return any;
}

/* A box without gaps takes all that lies inside of it. */
static void absorb(struct boxes *s, uint32_t from)
{
	for (uint32_t i = from; i < s->n; i++) {
		const struct box c = s->b[i];

		for (uint32_t k = from; k < s->n && !c.ndims;) {
			const struct box *b = &s->b[k];
			uint64_t end = (uint64_t)b->at + flow_box_reach(b);

			if (k == i || b->at < c.at || end > (uint64_t)c.at + c.len) {
				k++;
				continue;
			}
			memmove(&s->b[k], &s->b[k + 1], (s->n - k - 1) * sizeof(s->b[0]));
			s->n--;
			i -= k < i;
		}
	}
}

void flow_join_boxes(struct boxes *s, uint32_t from)
{
	uint32_t rounds = 4 * MAX_BOXES;

	for (uint32_t i = from; i < s->n; i++)
		(void)normal(&s->b[i]);
	while (rounds--) {
		bool cut = false;

		if (join_all(s, from, false))
			continue;
		for (uint32_t i = from; i < s->n && !cut; i++)
			for (uint32_t j = i + 1; j < s->n && !cut; j++)
				cut = cut_longer(s, i, j);
		if (!cut && !join_all(s, from, true))
			break;
	}
	absorb(s, from);
}
