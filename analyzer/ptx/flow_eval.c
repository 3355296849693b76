/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One launch: runs the program of a kernel over abstract values (an affine
 * function of thread, block and loop indices, and of what was made on the way),
 * and reports the bytes.
 *
 * A value stands for its register modulo 2^width; who cares for the sign or
 * widens it asks for a window, and gets everything when it does not fit.  All
 * arithmetic is exact or gives up (V_TOP).  A module variable's address is a
 * number beyond all real ones; nothing but additions may be done with it.
 *
 * First the launch as a whole, which gives each access a hull and, where a closed
 * form shows it, that all of it is touched.  What is left is looked at in pieces
 * (flow_piece.c).
 */
#include "flow_prog.h"
#include "../pattern.h"
#include <string.h>

typedef __int128 wide;

#define LIMIT	  (INT64_C(1) << 62)
#define FAKE	  (INT64_C(1) << 59) /* addresses of module variables start here */
#define FAKE_SIZE (INT64_C(1) << 40)
#define NEAR	  (INT64_C(1) << 57) /* what moves has so much room on all sides, at least */

static const struct aval top = { .st = V_TOP };

static struct aval con(int64_t c)
{
	return (struct aval){ .c = c };
}

static bool is_const(const struct aval *v)
{
	return v->st == V_OK && !v->n;
}

/* The smallest and largest value; false: too large, or not known. */
static bool hull(const struct ev *e, const struct aval *v, int64_t *lo, int64_t *hi)
{
	wide l = v->c, h = v->c;

	if (v->st != V_OK)
		return false;
	for (unsigned i = 0; i < v->n; i++) {
		wide x = (wide)v->t[i].coef * (wide)e->p->atom[v->t[i].atom];

		if (x < 0)
			l += x;
		else
			h += x;
		if (l < -LIMIT || h > LIMIT)
			return false;
	}
	if (l < -LIMIT || h > LIMIT)
		return false;
	*lo = (int64_t)l;
	*hi = (int64_t)h;
	return true;
}

static struct aval checked(const struct ev *e, struct aval v)
{
	int64_t lo, hi;

	if (v.st == V_OK && !hull(e, &v, &lo, &hi))
		return top;
	return v;
}

static uint64_t gcd(uint64_t a, uint64_t b)
{
	return krt_gcd(a, b);
}

static uint64_t mag(int64_t x)
{
	return x < 0 ? -(uint64_t)x : (uint64_t)x;
}

static uint64_t step_of(const struct aval *v)
{
	uint64_t g = 0;

	for (unsigned i = 0; i < v->n; i++)
		g = gcd(g, mag(v->t[i].coef));
	return g;
}

/* lo, lo + step, ... up to hi. */
static struct aval fresh(struct ev *e, int64_t lo, int64_t hi, uint64_t step)
{
	struct aval v = con(lo);

	if (lo > hi)
		return (struct aval){ .st = V_BOTTOM };
	if (!step)
		step = 1;
	if ((uint64_t)hi - (uint64_t)lo < step)
		return v;
	if (e->natoms == e->p->natoms || step > (uint64_t)LIMIT || lo < -LIMIT || hi > LIMIT)
		return top;
	e->p->atom[e->natoms] = ((uint64_t)hi - (uint64_t)lo) / step;
	v.n = 1;
	v.t[0] = (struct term){ .coef = (int64_t)step, .atom = e->natoms++ };
	return v;
}

static struct aval collapse(struct ev *e, const struct aval *v)
{
	int64_t lo, hi;

	return hull(e, v, &lo, &hi) ? fresh(e, lo, hi, step_of(v)) : top;
}

static struct aval sum(struct ev *e, const struct aval *a, const struct aval *b, int sign)
{
	struct aval r = { 0 };
	struct term t[2 * MAX_TERMS];
	unsigned i = 0, k = 0, n = 0;
	wide c;

	if (a->st == V_BOTTOM || b->st == V_BOTTOM)
		return (struct aval){ .st = V_BOTTOM };
	if (a->st || b->st || (sign < 0 && b->c >= FAKE))
		return top;
	c = (wide)a->c + (sign < 0 ? -(wide)b->c : (wide)b->c);
	if (c < -LIMIT || c > LIMIT)
		return top;
	r.c = (int64_t)c;
	if (!b->n) {
		r.n = a->n;
		for (i = 0; i < a->n; i++)
			r.t[i] = a->t[i];
		return checked(e, r);
	}
	while (i < a->n || k < b->n) {
		if (k == b->n || (i < a->n && a->t[i].atom < b->t[k].atom)) {
			t[n++] = a->t[i++];
		} else {
			struct term x = b->t[k++];

			if (sign < 0)
				x.coef = -x.coef;
			if (i < a->n && a->t[i].atom == x.atom) {
				wide s = (wide)a->t[i++].coef + x.coef;

				if (s < -LIMIT || s > LIMIT)
					return top;
				x.coef = (int64_t)s;
			}
			if (x.coef)
				t[n++] = x;
		}
	}
	if (n > MAX_TERMS) {
		/* The last ones become one. */
		struct aval rest = { 0 };

		for (i = MAX_TERMS - 1; i < n; i++) {
			struct aval x = { .n = 1 };

			x.t[0] = t[i];
			rest = checked(e, rest);
			if (rest.st)
				return top;
			rest = i == MAX_TERMS - 1 ? x : rest;
			if (i > MAX_TERMS - 1) {
				rest = collapse(e, &rest);
				if (rest.st)
					return top;
				if (rest.n == 1) {
					rest.t[1] = t[i];
					rest.n = 2;
				} else {
					rest.t[0] = t[i];
					rest.n = 1;
				}
			}
		}
		rest = collapse(e, &rest);
		if (rest.st)
			return top;
		c = (wide)r.c + rest.c;
		if (c < -LIMIT || c > LIMIT)
			return top;
		r.c = (int64_t)c;
		n = MAX_TERMS - 1;
		if (rest.n)
			t[n++] = rest.t[0];
	}
	r.n = (uint8_t)n;
	memcpy(r.t, t, n * sizeof(*t));
	return checked(e, r);
}

static struct aval scaled(struct ev *e, const struct aval *a, int64_t k)
{
	struct aval r = *a;
	wide x;

	if (a->st)
		return *a;
	if (!k)
		return con(0);
	x = (wide)a->c * k;
	if (x < -LIMIT || x > LIMIT)
		return top;
	r.c = (int64_t)x;
	for (unsigned i = 0; i < r.n; i++) {
		x = (wide)r.t[i].coef * k;
		if (x < -LIMIT || x > LIMIT)
			return top;
		r.t[i].coef = (int64_t)x;
	}
	return checked(e, r);
}

/* Does the value fit a register of w bits as it is, up to a multiple of 2^w (*shift)? */
static bool fits(const struct ev *e, const struct aval *v, unsigned w, bool sign, int64_t *shift)
{
	int64_t lo, hi, base, size;

	*shift = 0;
	if (!hull(e, v, &lo, &hi))
		return false;
	if (w >= 64)
		return hi < FAKE && (sign || lo >= 0);
	size = INT64_C(1) << w;
	base = sign ? -(size / 2) : 0;
	lo -= base;
	hi -= base;
	*shift = (lo >= 0 ? lo / size : -((-lo + size - 1) / size)) * size;
	return (wide)hi - *shift < size;
}

/* The value as a number of w bits. */
static struct aval window(struct ev *e, const struct aval *v, unsigned w, bool sign)
{
	struct aval r = *v;
	int64_t shift;

	if (v->st == V_BOTTOM)
		return r;
	if (v->st == V_OK && fits(e, v, w, sign, &shift)) {
		r.c -= shift;
		return r;
	}
	if (w >= 64) {
		if (!sign)
			flow_wish_below(e, v, 0);
		return top;
	}
	flow_wish_below(e, v, shift + (sign ? INT64_C(1) << (w - 1) : INT64_C(1) << w));
	return sign ? fresh(e, -(INT64_C(1) << (w - 1)), (INT64_C(1) << (w - 1)) - 1, 1)
		    : fresh(e, 0, (INT64_C(1) << w) - 1, 1);
}

static int64_t floor_div(int64_t a, int64_t d)
{
	return a >= 0 ? a / d : -((-a + d - 1) / d);
}

/* The terms that are multiples of d, and the rest with the constant. */
static void divide(const struct aval *v, int64_t d, struct aval *multiple, struct aval *rest)
{
	*multiple = con(0);
	*rest = con(v->c);
	for (unsigned i = 0; i < v->n; i++) {
		if (v->t[i].coef % d)
			rest->t[rest->n++] = v->t[i];
		else
			multiple->t[multiple->n++] = v->t[i];
	}
}

static void define(struct ev *e, uint32_t atom, int64_t mult, const struct aval *form)
{
	if (form->st == V_OK && e->ndefs < MAX_DEFS)
		e->defs[e->ndefs++] = (struct def){ .atom = atom, .mult = mult, .form = *form };
}

/* The same value with what its atoms were made of; false: there is nothing to say. */
static bool expanded(struct ev *e, const struct aval *v, struct aval *out)
{
	bool any = false;

	*out = *v;
	for (uint32_t i = e->ndefs; i-- > 0;) {
		const struct def *d = &e->defs[i];
		struct aval r, f;
		int64_t coef = 0;

		for (unsigned k = 0; k < out->n; k++)
			if (out->t[k].atom == d->atom)
				coef = out->t[k].coef;
		if (!coef || coef % d->mult)
			continue;
		r = *out;
		r.n = 0;
		for (unsigned k = 0; k < out->n; k++)
			if (out->t[k].atom != d->atom)
				r.t[r.n++] = out->t[k];
		if (r.n + d->form.n > MAX_TERMS)
			continue;
		f = scaled(e, &d->form, coef / d->mult);
		r = sum(e, &r, &f, 1);
		if (r.st)
			continue;
		*out = r;
		any = true;
	}
	return any;
}

/* The hull, by what the atoms are and by what they were made of. */
static bool tight(struct ev *e, const struct aval *v, int64_t *lo, int64_t *hi)
{
	struct aval x;
	int64_t l, h;

	if (!hull(e, v, lo, hi))
		return false;
	if (e->ndefs && expanded(e, v, &x) && hull(e, &x, &l, &h)) {
		*lo = l > *lo ? l : *lo;
		*hi = h < *hi ? h : *hi;
	}
	return true;
}

/*
 * The largest value at most hi and the smallest at least lo: a multiple of some
 * number and a rest that is smaller leave gaps.
 */
static void gaps(struct ev *e, const struct aval *v, int64_t *lo, int64_t *hi);

/* floor(v / d), d > 0; exact in the affine part where it can be. */
static struct aval quotient(struct ev *e, const struct aval *v, int64_t d)
{
	struct aval m, r, q;
	int64_t lo, hi, g;

	if (v->st)
		return *v;
	/* A multiple by a factor that stands for a division: g * u / d is u / n. */
	g = (int64_t)gcd(step_of(v), mag(v->c));
	if (g > 1 && d % g && hull(e, v, &lo, &hi) && lo >= 0) {
		int64_t n = d / g + 1;

		if ((wide)(hi / g) * ((wide)g * n - d) < d) {
			m = *v;
			m.c /= g;
			for (unsigned i = 0; i < m.n; i++)
				m.t[i].coef /= g;
			return quotient(e, &m, n);
		}
	}
	divide(v, d, &m, &r);
	for (unsigned i = 0; i < m.n; i++)
		m.t[i].coef /= d;
	if (!hull(e, &r, &lo, &hi))
		return top;
	flow_wish_quotient(e, &r, d);
	q = fresh(e, floor_div(lo, d), floor_div(hi, d), 1);
	if (q.n && e->ndefs < MAX_DEFS) {
		/* d * q = r - (what is left), and q = its constant + atom */
		struct aval left = fresh(e, 0, d - 1, 1), off = con(q.c), f = sum(e, &r, &left, -1);

		off = scaled(e, &off, d);
		f = sum(e, &f, &off, -1);
		define(e, q.t[0].atom, d, &f);
	}
	return sum(e, &m, &q, 1);
}

/* v modulo d, in [0, d). */
static struct aval remainder_of(struct ev *e, const struct aval *v, int64_t d)
{
	struct aval m, r, q;
	int64_t lo, hi;
	uint64_t g;

	if (v->st)
		return *v;
	divide(v, d, &m, &r);
	if (!hull(e, &r, &lo, &hi))
		return top;
	if (floor_div(lo, d) == floor_div(hi, d)) {
		r.c -= floor_div(lo, d) * d;
		return r;
	}
	flow_wish_quotient(e, &r, d);
	g = gcd(step_of(&r), (uint64_t)d);
	q = fresh(e, r.c - floor_div(r.c, (int64_t)g) * (int64_t)g, d - 1, g);
	if (q.n && g == 1 && e->ndefs < MAX_DEFS) {
		struct aval times = fresh(e, floor_div(lo, d), floor_div(hi, d), 1), f;

		times = scaled(e, &times, d);
		f = sum(e, &r, &times, -1);
		define(e, q.t[0].atom, 1, &f);
	}
	return q;
}

/* The power of two that every value is a multiple of. */
static int64_t alignment(const struct aval *v)
{
	uint64_t g;

	if (v->st != V_OK)
		return 1;
	g = gcd(mag(v->c), step_of(v));
	g &= -g;
	return !g || g > (uint64_t)LIMIT ? LIMIT : (int64_t)g;
}

/* From lo to what the bits of hi may make, in steps that are a power of two. */
static struct aval pow2_bound(struct ev *e, int64_t lo, int64_t hi, int64_t step)
{
	int64_t top_bit = 1;

	while (top_bit <= hi)
		top_bit *= 2;
	return fresh(e, lo, (top_bit - 1) & -step, (uint64_t)step);
}

/* Is d a multiple of zero, a value that is 0? */
static bool vanishes(const struct aval *d, const struct aval *zero)
{
	int64_t k;

	if (d->st || zero->st || !zero->n || d->n != zero->n || d->t[0].coef % zero->t[0].coef)
		return false;
	k = d->t[0].coef / zero->t[0].coef;
	for (unsigned i = 0; i < d->n; i++)
		if (d->t[i].atom != zero->t[i].atom ||
		    (wide)zero->t[i].coef * k != d->t[i].coef)
			return false;
	return (wide)zero->c * k == d->c;
}

/* The same value without the iterations of a loop that has ended, where zero, which is 0, tells. */
static struct aval last_round(struct ev *e, const struct aval *v, const struct aval *zero)
{
	uint32_t nb = 6 + 2 * e->p->nloops;

	if (!zero || zero->st || v->st)
		return *v;
	for (unsigned i = 0; i < zero->n; i++) {
		int64_t k, z = zero->t[i].coef;
		struct aval r;

		if (zero->t[i].atom < 6 || zero->t[i].atom >= nb)
			continue;
		for (unsigned q = 0; q < v->n; q++) {
			if (v->t[q].atom != zero->t[i].atom || v->t[q].coef % z)
				continue;
			k = v->t[q].coef / z;
			r = scaled(e, zero, k);
			r = sum(e, v, &r, -1);
			return r.st ? *v : r;
		}
	}
	return *v;
}

static struct aval join(struct ev *e, const struct aval *av, const struct aval *bv,
			const struct aval *azero, const struct aval *bzero)
{
	struct aval d, ra = last_round(e, av, azero), rb = last_round(e, bv, bzero);
	const struct aval *a = &ra, *b = &rb;
	int64_t alo, ahi, blo, bhi;
	uint64_t g;

	if (a->st == V_BOTTOM)
		return *b;
	if (b->st == V_BOTTOM)
		return *a;
	if (a->st || b->st)
		return top;
	if (a->c == b->c && a->n == b->n) {
		unsigned i = 0;

		while (i < a->n && a->t[i].coef == b->t[i].coef && a->t[i].atom == b->t[i].atom)
			i++;
		if (i == a->n)
			return *a;
	}
	/* Where the one is what the other is there. */
	d = sum(e, b, a, -1);
	if (azero && vanishes(&d, azero))
		return *b;
	if (bzero && vanishes(&d, bzero))
		return *a;
	if (azero && bzero && is_const(&d)) {
		/* b + k * bzero is a + k * azero. */
		struct aval z = sum(e, azero, bzero, -1);

		if (is_const(&z) && z.c && !(d.c % z.c)) {
			z = scaled(e, bzero, d.c / z.c);
			z = sum(e, b, &z, 1);
			if (!z.st)
				return z;
		}
	}
	if (!hull(e, a, &alo, &ahi) || !hull(e, b, &blo, &bhi) || ahi >= FAKE || bhi >= FAKE)
		return top;
	g = gcd(gcd(step_of(a), step_of(b)), mag(a->c - b->c));
	return fresh(e, alo < blo ? alo : blo, ahi > bhi ? ahi : bhi, g);
}

static void gaps(struct ev *e, const struct aval *v, int64_t *lo, int64_t *hi)
{
	struct aval x, m, r;
	int64_t rl, rh;

	if (!e->ndefs || !expanded(e, v, &x))
		return;
	for (unsigned i = 0; i < x.n; i++) {
		uint64_t d = mag(x.t[i].coef);

		if (d < 2 || d > (uint64_t)1 << 40)
			continue;
		divide(&x, (int64_t)d, &m, &r);
		if (!hull(e, &r, &rl, &rh) || (uint64_t)(rh - rl) >= d)
			continue;
		if (*hi < LIMIT / 2 && *hi > -LIMIT / 2) {
			int64_t most = floor_div(*hi - rl, (int64_t)d) * (int64_t)d + rh;

			*hi = most < *hi ? most : *hi;
		}
		if (*lo < LIMIT / 2 && *lo > -LIMIT / 2) {
			int64_t least = -floor_div(rh - *lo, (int64_t)d) * (int64_t)d + rl;

			*lo = least > *lo ? least : *lo;
		}
	}
}

/* 1, 0, or V_TOP. */
static struct aval compare(struct ev *e, const struct aval *a, const struct aval *b,
			   const struct pins *p)
{
	struct aval x = window(e, a, p->w, p->sign), y = window(e, b, p->w, p->sign), d;
	int64_t lo, hi;

	if (x.st == V_BOTTOM || y.st == V_BOTTOM)
		return (struct aval){ .st = V_BOTTOM };
	d = sum(e, &x, &y, -1);
	if (!hull(e, &d, &lo, &hi))
		return top;
	switch ((enum ncmp)p->cmp) {
	case C_EQ:
	case C_NE:
		if (lo == 0 && hi == 0)
			return con(p->cmp == C_EQ);
		if (lo > 0 || hi < 0 || (step_of(&d) > 1 && d.c % (int64_t)step_of(&d)))
			return con(p->cmp == C_NE);
		flow_wish_below(e, &d, lo < 0 ? 0 : 1);
		return top;
	case C_LT:
	case C_GE:
		if (hi < 0)
			return con(p->cmp == C_LT);
		if (lo >= 0)
			return con(p->cmp == C_GE);
		flow_wish_below(e, &d, 0);
		return top;
	default:
		if (hi <= 0)
			return con(p->cmp == C_LE);
		if (lo > 0)
			return con(p->cmp == C_GT);
		flow_wish_below(e, &d, 1);
		return top;
	}
}

/* The interval that x cmp [ylo, yhi] leaves. */
static void allowed(unsigned cmp, int64_t ylo, int64_t yhi, int64_t *lo, int64_t *hi)
{
	*lo = -LIMIT;
	*hi = LIMIT;
	switch ((enum ncmp)cmp) {
	case C_EQ:
		*lo = ylo;
		*hi = yhi;
		break;
	case C_NE:
		break;
	case C_LT:
		*hi = yhi - 1;
		break;
	case C_LE:
		*hi = yhi;
		break;
	case C_GT:
		*lo = ylo + 1;
		break;
	case C_GE:
		*lo = ylo;
		break;
	}
}

/* What of v lies in [lo, hi]. */
static struct aval cut(struct ev *e, const struct aval *v, int64_t lo, int64_t hi)
{
	int64_t l, h, d;
	uint64_t g;

	if (!hull(e, v, &l, &h))
		return *v;
	gaps(e, v, &lo, &hi);
	if (l >= lo && h <= hi)
		return *v;
	g = step_of(v);
	if (!g)
		g = 1;
	if (lo > l) {
		d = (int64_t)(((uint64_t)lo - (uint64_t)l + g - 1) / g * g);
		if (d > LIMIT)
			return (struct aval){ .st = V_BOTTOM };
		l += d;
	}
	return fresh(e, l, h < hi ? h : hi, g);
}

static struct aval clamp(struct ev *e, const struct aval *a, const struct aval *y,
			 const struct pins *p)
{
	struct aval b = window(e, y, p->w, p->sign), v, r, off = con(p->imm);
	int64_t lo, hi, ylo, yhi, shift, l, h;

	if (a->st == V_BOTTOM || b.st == V_BOTTOM)
		return (struct aval){ .st = V_BOTTOM };
	if (!hull(e, &b, &ylo, &yhi) || yhi >= FAKE)
		return *a;
	allowed(p->cmp, ylo, yhi, &lo, &hi);
	v = sum(e, a, &off, 1);
	if (v.st == V_OK && fits(e, &v, p->w, p->sign, &shift)) {
		if (!hull(e, &v, &l, &h))
			return *a;
		if (p->cmp == C_NE && ylo == yhi) {
			lo = l - shift == ylo ? ylo + 1 : lo;
			hi = h - shift == yhi ? yhi - 1 : hi;
		}
		if (lo > -LIMIT)
			lo += shift;
		if (hi < LIMIT)
			hi += shift;
		if (l >= lo && h <= hi)
			return *a;
		r = cut(e, &v, lo, hi);
	} else if (v.st == V_OK && !p->sign && hull(e, &v, &l, &h) && l < 0 && h >= 0 &&
		   hi < LIMIT && h < FAKE &&
		   (p->w >= 64 || (l >= -(INT64_C(1) << (p->w - 1)) &&
				   h < INT64_C(1) << (p->w - 1) && hi < (INT64_C(1) << p->w) + l))) {
		/* Unsigned below a bound: what is negative is far above it. */
		r = cut(e, &v, lo > 0 ? lo : 0, hi);
	} else if (p->cmp == C_NE) {
		return *a;
	} else {
		/* Anything of w bits, cut. */
		int64_t wlo = p->w >= 64 ? (p->sign ? -LIMIT : 0)
					 : (p->sign ? -(INT64_C(1) << (p->w - 1)) : 0);
		int64_t whi = p->w >= 64 ? LIMIT
					 : (INT64_C(1) << (p->w - (p->sign ? 1 : 0))) - 1;

		if (lo < wlo)
			lo = wlo;
		if (hi > whi)
			hi = whi;
		if (p->w >= 64 && (lo == -LIMIT || hi == LIMIT))
			return *a;
		r = fresh(e, lo, hi, 1);
	}
	return sum(e, &r, &off, -1);
}

/* x lies in [lo, hi]: what does it say of v = (v + k * x) - k * x? */
static struct aval lean_on(struct ev *e, const struct aval *v, const struct aval *x, int64_t lo,
			   int64_t hi)
{
	int64_t l, h, least = -LIMIT, most = LIMIT, k;
	struct aval s;

	for (unsigned i = 0; i < x->n; i++)
		for (unsigned q = 0; q < v->n; q++) {
			wide a, b;

			if (v->t[q].atom != x->t[i].atom || v->t[q].coef % x->t[i].coef)
				continue;
			k = -(v->t[q].coef / x->t[i].coef);
			s = scaled(e, x, k);
			s = sum(e, v, &s, 1);
			if (!tight(e, &s, &l, &h))
				continue;
			/* k * x lies in [a, b] */
			a = (wide)(k > 0 ? lo : hi) * k;
			b = (wide)(k > 0 ? hi : lo) * k;
			if (h - a < most)
				most = (int64_t)(h - a);
			if (l - b > least)
				least = (int64_t)(l - b);
		}
	return cut(e, v, least, most);
}

/* x cmp y is known of a value that v may be made of. */
static struct aval leaning(struct ev *e, const struct aval *v, const struct aval *x,
			   const struct aval *y, const struct pins *p)
{
	int64_t sh, ylo, yhi, lo, hi;

	if (v->st || x->st || y->st || !v->n || !x->n || !fits(e, x, p->w, p->sign, &sh) || sh ||
	    !fits(e, y, p->w, p->sign, &sh) || sh || !hull(e, y, &ylo, &yhi))
		return *v;
	allowed(p->cmp, ylo, yhi, &lo, &hi);
	return lean_on(e, v, x, lo, hi);
}

/* How often (start + delta + k * step) cmp bound holds from k = 0 on without a break. */
static struct aval passes(struct ev *e, const struct aval *init, const struct aval *step,
			  const struct aval *delta, const struct aval *bound, const struct pins *p,
			  bool *exact)
{
	struct aval a = sum(e, init, delta, 1), y, d, s = window(e, step, p->w, true);
	int64_t lo, hi, ylo, yhi, max, min, sh, st, over;

	*exact = false;
	if (!is_const(&s) || !s.c || a.st || bound->st)
		return top;
	st = s.c;
	max = p->w >= 64 ? LIMIT / 2 : (INT64_C(1) << (p->w - (p->sign ? 1 : 0))) - 1;
	min = p->sign ? (p->w >= 64 ? -LIMIT / 2 : -(INT64_C(1) << (p->w - 1))) : 0;
	if (!fits(e, &a, p->w, p->sign, &sh))
		return top;
	a.c -= sh;
	if (!fits(e, bound, p->w, p->sign, &sh))
		return top;
	y = *bound;
	y.c -= sh;
	if (!hull(e, &y, &ylo, &yhi))
		return top;
	switch ((enum ncmp)p->cmp) {
	case C_LT:
	case C_LE:
		over = p->cmp == C_LT ? 1 : 0;
		if (st < 0 || yhi - over > max - st)
			return top;
		d = sum(e, &y, &a, -1);
		d.c -= over;
		break;
	case C_GT:
	case C_GE:
		over = p->cmp == C_GT ? 1 : 0;
		if (st > 0 || ylo + over < min - st)
			return top;
		d = sum(e, &a, &y, -1);
		d.c -= over;
		st = -st;
		break;
	case C_NE:
		d = st > 0 ? sum(e, &y, &a, -1) : sum(e, &a, &y, -1);
		st = st < 0 ? -st : st;
		if (!hull(e, &d, &lo, &hi) || lo < 0)
			return top;
		if (d.c % st || (d.n && step_of(&d) % (uint64_t)st))
			return top;
		*exact = !d.n;
		if (d.n && (hi - lo) / 8 <= (int64_t)step_of(&d))
			flow_wish_below(e, &d, lo + 1);
		return con(hi / st);
	default:
		return top;
	}
	if (!hull(e, &d, &lo, &hi))
		return top;
	*exact = hi < 0 || (lo >= 0 && lo / st == hi / st);
	if (lo < 0 && hi >= 0)
		flow_wish_below(e, &d, 0);
	else if (!*exact)
		flow_wish_quotient(e, &d, st);
	return con(hi < 0 ? 0 : hi / st + 1);
}

static struct aval induced(struct ev *e, const struct aval *init, const struct aval *step,
			   const struct aval *count, const struct pins *p)
{
	uint32_t atom = 6 + (uint32_t)p->imm;
	struct aval s = p->w < 64 ? window(e, step, p->w, true) : *step, k, r;
	int64_t lo, hi, n;

	if (init->st == V_BOTTOM || count->st == V_BOTTOM)
		return (struct aval){ .st = V_BOTTOM };
	if (init->st || !is_const(count) || s.st)
		return top;
	n = count->c - (p->imm & 1);
	if (n < 0)
		return (struct aval){ .st = V_BOTTOM };
	e->p->atom[atom] = (uint64_t)n;
	if (!s.n) {
		k = con(0);
		if (n && s.c) {
			k.n = 1;
			k.t[0] = (struct term){ .coef = s.c, .atom = atom };
		}
	} else {
		wide a, b;

		if (!hull(e, &s, &lo, &hi))
			return top;
		a = (wide)lo * n;
		b = (wide)hi * n;
		if (a < -LIMIT || b > LIMIT)
			return top;
		k = fresh(e, a < 0 ? (int64_t)a : 0, b > 0 ? (int64_t)b : 0,
			  gcd(step_of(&s), mag(s.c)));
	}
	r = checked(e, k);
	return r.st ? top : sum(e, init, &k, 1);
}

/* An induction variable is what it starts with, or passed its test one step before. */
static struct aval bounded(struct ev *e, const struct aval *iv, const struct aval *step,
			   const struct aval *delta, const struct aval *bound,
			   const struct aval *init, const struct aval *raw_init,
			   const struct aval *raw, const struct pins *p)
{
	struct aval s = window(e, step, p->w, true), a = sum(e, init, delta, 1);
	int64_t sh, ylo, yhi, ilo, ihi, lo, hi, l, h;

	if (iv->st || !is_const(&s) || !is_const(delta) || init->st || bound->st ||
	    !fits(e, &a, p->w, p->sign, &sh) || sh || !fits(e, bound, p->w, p->sign, &sh) || sh ||
	    !hull(e, bound, &ylo, &yhi) || !hull(e, init, &ilo, &ihi))
		return *iv;
	/* As they are written they may tell more, if they are the same numbers. */
	if (!hull(e, raw, &l, &h) || l < INT32_MIN || h > INT32_MAX || !hull(e, iv, &l, &h) ||
	    l < INT32_MIN || h > INT32_MAX)
		raw = iv;
	else if (hull(e, raw_init, &l, &h) && l >= INT32_MIN && h <= INT32_MAX) {
		ilo = l > ilo ? l : ilo;
		ihi = h < ihi ? h : ihi;
	}
	allowed(p->cmp, ylo, yhi, &lo, &hi);
	if (s.c > 0 && (p->cmp == C_LT || p->cmp == C_LE)) {
		hi += s.c - delta->c;
		hi = hi > ihi ? hi : ihi;
		lo = -LIMIT;
		gaps(e, raw, &lo, &hi);
		return cut(e, iv, -LIMIT, hi);
	}
	if (s.c < 0 && (p->cmp == C_GT || p->cmp == C_GE)) {
		lo += s.c - delta->c;
		lo = lo < ilo ? lo : ilo;
		hi = LIMIT;
		gaps(e, raw, &lo, &hi);
		return cut(e, iv, lo, LIMIT);
	}
	/* It is known that the bound is met exactly. */
	if (p->cmp == C_NE)
		return s.c < 0 ? cut(e, iv, ylo - delta->c, LIMIT)
			       : cut(e, iv, -LIMIT, yhi - delta->c);
	return *iv;
}

static struct aval along_only(struct ev *e, const struct aval *iv, const struct aval *own,
			      const struct aval *step, const struct aval *x,
			      const struct aval *init, const struct aval *xstep, unsigned w)
{
	struct aval d, r;
	int64_t lo, hi, rlo, rhi, ilo, ihi, m;

	if (iv->st == V_BOTTOM || x->st == V_BOTTOM)
		return (struct aval){ .st = V_BOTTOM };
	if (own->st || !is_const(step) || x->st || init->st || !is_const(xstep) || !xstep->c ||
	    step->c % xstep->c)
		return *iv;
	/* Both must be numbers, not only so modulo their width. */
	if (!hull(e, x, &lo, &hi) || !hull(e, init, &ilo, &ihi) || lo < INT32_MIN ||
	    hi > INT32_MAX || ilo < INT32_MIN || ihi > INT32_MAX)
		return *iv;
	m = step->c / xstep->c;
	d = sum(e, x, init, -1);
	d = scaled(e, &d, m);
	r = sum(e, own, &d, 1);
	/* The parts that cancel do so only in this order. */
	d = scaled(e, init, -m);
	d = sum(e, own, &d, 1);
	if (!d.st) {
		struct aval mx = scaled(e, x, m), q = sum(e, &d, &mx, 1);

		if (!hull(e, &r, &rlo, &rhi) ||
		    (hull(e, &q, &lo, &hi) && (wide)hi - lo < (wide)rhi - rlo))
			r = q;
	}
	if (!tight(e, &r, &rlo, &rhi))
		return *iv;
	if (!hull(e, iv, &lo, &hi))
		return r;
	if (rlo <= lo && rhi >= hi)
		return *iv;
	/* Both are right, modulo the width: they must be the same number. */
	if (w < 64 && (rlo < -(INT64_C(1) << (w - 1)) || rhi >= INT64_C(1) << (w - 1) ||
		       lo < -(INT64_C(1) << (w - 1)) || hi >= INT64_C(1) << (w - 1)))
		return *iv;
	return rlo >= lo && rhi <= hi ? r : cut(e, iv, rlo, rhi);
}

static struct aval along(struct ev *e, const struct aval *iv, const struct aval *own,
			 const struct aval *step, const struct aval *x, const struct aval *init,
			 const struct aval *xstep, const struct aval *raw, const struct pins *p)
{
	struct aval s = p->w < 64 ? window(e, step, p->w, true) : *step;
	struct aval xs = p->cmp < 64 ? window(e, xstep, p->cmp, true) : *xstep;
	struct aval r = along_only(e, iv, own, &s, x, init, &xs, p->w);
	int64_t lo, hi, ilo, ihi;

	if (r.st || raw->st || !hull(e, x, &lo, &hi) || lo < INT32_MIN || hi > INT32_MAX ||
	    !hull(e, raw, &ilo, &ihi) || ilo < INT32_MIN || ihi > INT32_MAX)
		return r;
	return lean_on(e, &r, raw, lo, hi);
}

static bool read_param(const struct ev *e, uint64_t off, unsigned bits, bool sign, int64_t *out)
{
	unsigned n = bits / 8;
	uint64_t v = 0;

	if (!n || n > 8 || off > e->l->len || e->l->len - off < n)
		return false;
	memcpy(&v, (const char *)e->l->params + off, n);
	if (sign && n < 8)
		v = (uint64_t)((int64_t)(v << (64 - bits)) >> (64 - bits));
	*out = (int64_t)v;
	return true;
}

static struct aval special(struct ev *e, int64_t id)
{
	const uint32_t *d = id < S_CTAID || (id >= S_NTID && id < S_NCTAID) ? e->l->block : e->l->grid;
	struct aval v = con(0);
	uint64_t threads;

	if (id >= S_NTID && id < S_LANE)
		return con(d[(id - S_NTID) % 3]);
	if (e->piece && id < S_NTID)
		return flow_piece_var(e, (unsigned)id);
	if (id >= S_INDEX)
		return e->piece ? flow_piece_var(e, (unsigned)(id - S_INDEX)) : top;
	if (id < S_NTID) {
		if (d[id % 3] > 1) {
			v.n = 1;
			v.t[0] = (struct term){ .coef = 1, .atom = (uint32_t)id };
		}
		return v;
	}
	if (e->piece) {
		/* A warp is 32 threads one after the other. */
		int64_t size = 1;

		for (unsigned i = 0; i < 3; i++) {
			struct aval t = flow_piece_var(e, i);

			t = scaled(e, &t, size);
			v = sum(e, &v, &t, 1);
			if (__builtin_mul_overflow(size, (int64_t)e->l->block[i], &size))
				return fresh(e, 0, 31, 1); /* no launch is so large */
		}
		return remainder_of(e, &v, 32);
	}
	threads = (uint64_t)e->l->block[0] * e->l->block[1] * e->l->block[2];
	return fresh(e, 0, threads < 32 ? (int64_t)threads - 1 : 31, 1);
}

/* The bits that a value may have; every bit if its terms run into each other. */
static uint64_t bits(const struct ev *e, const struct aval *v)
{
	uint64_t all = (uint64_t)v->c;

	if (v->st || v->c < 0)
		return UINT64_MAX;
	for (unsigned i = 0; i < v->n; i++) {
		uint64_t coef = (uint64_t)v->t[i].coef, most, mine = 1;

		if (v->t[i].coef <= 0 || __builtin_mul_overflow(coef, e->p->atom[v->t[i].atom], &most) ||
		    most > (uint64_t)LIMIT)
			return UINT64_MAX;
		while (mine <= most)
			mine *= 2;
		mine = (mine - 1) & ~((coef & -coef) - 1);
		if (all & mine)
			return UINT64_MAX;
		all |= mine;
	}
	return all;
}

/* Bits that a and b have in common: none? */
static bool disjoint(struct ev *e, const struct aval *a, const struct aval *b)
{
	int64_t lo, hi, size;
	uint64_t all = (uint64_t)a->c;

	for (unsigned i = 0; i < a->n; i++)
		all |= (uint64_t)a->t[i].coef;
	if (!hull(e, b, &lo, &hi) || lo < 0)
		return false;
	if (!(bits(e, a) & bits(e, b)))
		return true;
	if (!all)
		return true;
	size = (int64_t)(all & -all);
	return size > hi;
}

static struct aval node(struct ev *e, const struct pins *p)
{
	static const struct aval nothing = { 0 };
	const struct aval *v = e->p->val;
	const struct aval *a = p->a == NONE ? &nothing : &v[p->a];
	const struct aval *b = p->b == NONE ? &nothing : &v[p->b];
	int64_t alo, ahi, blo, bhi, k, k2;
	struct aval x, y;
	unsigned w = p->w;

	switch ((enum nop)p->nop) {
	case N_OPAQUE:
		if (w >= 64 || w == 1)
			return top;
		return window(e, &top, w, p->sign);
	case N_CONST:
		return p->imm > -LIMIT && p->imm < FAKE ? con(p->imm) : top;
	case N_PARAM:
		if (p->imm < 0 || !read_param(e, (uint64_t)p->imm, w, p->sign, &k))
			return w >= 64 ? top : window(e, &top, w, p->sign);
		return k > -LIMIT && k < FAKE ? con(k) : top;
	case N_SREG:
		return special(e, p->imm);
	case N_VAR:
		return con(FAKE + p->imm * FAKE_SIZE + FAKE_SIZE / 2);
	case N_PHI:
	case N_IV:
	case N_PADDR:
		return top;
	default:
		break;
	}
	if (a->st == V_BOTTOM || (b->st == V_BOTTOM && p->nop != N_SEL))
		return (struct aval){ .st = V_BOTTOM };
	switch ((enum nop)p->nop) {
	case N_ADD:
		return sum(e, a, b, 1);
	case N_SUB:
		return sum(e, a, b, -1);
	case N_SEL:
		x = v[p->c];
		if (is_const(a))
			return a->c ? *b : x;
		return join(e, b, &x, NULL, NULL);
	case N_PNOT:
		return is_const(a) ? con(!a->c) : top;
	case N_PAND:
		if ((is_const(a) && !a->c) || (is_const(b) && !b->c))
			return con(0);
		return is_const(a) && is_const(b) ? con(1) : top;
	case N_POR:
		if ((is_const(a) && a->c) || (is_const(b) && b->c))
			return con(1);
		return is_const(a) && is_const(b) ? con(0) : top;
	case N_CMP:
		return compare(e, a, b, p);
	case N_EXT:
		/* wider ones come to the limits of the numbers here */
		return p->imm > 61 ? top : window(e, a, (unsigned)p->imm, p->sign);
	default:
		break;
	}
	/* The rest is not for addresses of variables. */
	if ((a->st == V_OK && a->c >= FAKE / 2) || (b->st == V_OK && b->c >= FAKE / 2))
		return top;
	switch ((enum nop)p->nop) {
	case N_MUL:
		if (!is_const(a) && is_const(b)) {
			const struct aval *t = a;

			a = b;
			b = t;
		}
		if (is_const(a)) {
			x = window(e, a, w, true);
			if (!is_const(&x))
				return top;
			return scaled(e, b, x.c);
		}
		if (!hull(e, a, &alo, &ahi) || !hull(e, b, &blo, &bhi))
			return top;
		{
			wide q[4] = { (wide)alo * blo, (wide)alo * bhi, (wide)ahi * blo,
				      (wide)ahi * bhi };
			wide lo = q[0], hi = q[0];

			for (unsigned i = 1; i < 4; i++) {
				lo = q[i] < lo ? q[i] : lo;
				hi = q[i] > hi ? q[i] : hi;
			}
			return lo < -LIMIT || hi > LIMIT ? top
							 : fresh(e, (int64_t)lo, (int64_t)hi, 1);
		}
	case N_SHL:
		if (!is_const(b) || b->c < 0)
			return top;
		if (b->c >= w)
			return con(0);
		return b->c > 61 ? top : scaled(e, a, INT64_C(1) << b->c);
	case N_SHR:
		if (!is_const(b) || b->c < 0)
			return top;
		x = window(e, a, w, p->sign);
		if (b->c >= w || b->c > 61)
			return p->sign ? top : b->c >= w ? con(0) : top;
		return quotient(e, &x, INT64_C(1) << b->c);
	case N_DECAY:
		x = window(e, a, w, p->sign);
		if (!hull(e, &x, &alo, &ahi) || alo < 0)
			return w < 64 ? window(e, &top, w, p->sign) : top;
		return fresh(e, 0, ahi, 1);
	case N_AND:
		if (!is_const(a) && is_const(b)) {
			const struct aval *t = a;

			a = b;
			b = t;
		}
		if (is_const(a)) {
			x = window(e, a, w, true);
			if (!is_const(&x))
				return top;
			k = x.c;
			if (is_const(b))
				return con(k & b->c);
			if (k > 0 && !(k & (k + 1)) && b->st == V_OK)
				return remainder_of(e, b, k + 1);
			if (k < 0 && !(-(uint64_t)k & (-(uint64_t)k - 1)) && b->st == V_OK &&
			    k > -LIMIT) {
				/* A multiple of 2^n: what is below falls away. */
				y = quotient(e, b, -k);
				return scaled(e, &y, -k);
			}
			if (k > 0 && b->st == V_OK) {
				int64_t low = (int64_t)((uint64_t)k & -(uint64_t)k);

				if (!((k + low) & (k + low - 1))) {
					/* A run of ones: both. */
					x = remainder_of(e, b, k + low);
					y = quotient(e, &x, low);
					return scaled(e, &y, low);
				}
			}
		}
		x = window(e, a, w, false);
		y = window(e, b, w, false);
		if (!hull(e, &x, &alo, &ahi))
			alo = ahi = -1;
		if (!hull(e, &y, &blo, &bhi))
			blo = bhi = -1;
		if (ahi < 0 && bhi < 0)
			return top;
		if (ahi < 0 || (bhi >= 0 && bhi < ahi))
			ahi = bhi;
		k = alignment(&x);
		k2 = alignment(&y);
		k = k > k2 ? k : k2;
		return fresh(e, 0, ahi & -k, (uint64_t)k);
	case N_OR:
	case N_XOR:
		if (is_const(a) && is_const(b))
			return con(p->nop == N_OR ? a->c | b->c : a->c ^ b->c);
		if (p->nop == N_XOR && is_const(b)) {
			x = window(e, b, w, true);
			/* Multiples of 2^n, of which the bits from n on are turned. */
			k = is_const(&x) ? -x.c : 0;
			if (k > 0 && k < LIMIT && !(k & (k - 1)) && a->st == V_OK &&
			    !(a->c % k) && !(step_of(a) % (uint64_t)k))
				return sum(e, &x, a, -1);
		}
		x = window(e, a, w, false);
		y = window(e, b, w, false);
		if (disjoint(e, &x, &y) || disjoint(e, &y, &x))
			return sum(e, &x, &y, 1);
		if (!hull(e, &x, &alo, &ahi) || !hull(e, &y, &blo, &bhi))
			return top;
		k = alignment(&x);
		k2 = alignment(&y);
		return pow2_bound(e, p->nop == N_OR ? (alo > blo ? alo : blo) : 0,
				  ahi > bhi ? ahi : bhi, k < k2 ? k : k2);
	case N_MIN:
	case N_MAX:
		x = window(e, a, w, p->sign);
		y = window(e, b, w, p->sign);
		if (!hull(e, &x, &alo, &ahi) || !hull(e, &y, &blo, &bhi))
			return top;
		if (ahi <= blo)
			return p->nop == N_MIN ? x : y;
		if (bhi <= alo)
			return p->nop == N_MIN ? y : x;
		if (e->piece) {
			struct aval d = sum(e, &x, &y, -1);

			if (hull(e, &d, &k, &k2)) {
				if (k2 <= 0)
					return p->nop == N_MIN ? x : y;
				if (k >= 0)
					return p->nop == N_MIN ? y : x;
				flow_wish_below(e, &d, 0);
			}
		}
		if (p->nop == N_MIN)
			return fresh(e, alo < blo ? alo : blo, ahi < bhi ? ahi : bhi, 1);
		return fresh(e, alo > blo ? alo : blo, ahi > bhi ? ahi : bhi, 1);
	case N_HIGH:
		x = window(e, a, 32, p->sign);
		y = window(e, b, 32, p->sign && !(p->imm & N_HIGH_UNSIGNED));
		if (!is_const(&y) || y.c <= 0 || !hull(e, &x, &alo, &ahi))
			return window(e, &top, 32, p->sign);
		if (alo < 0) {
			flow_wish_below(e, &x, 0);
			return window(e, &top, 32, p->sign);
		}
		x = scaled(e, &x, y.c);
		k = 32 + p->imm % 32;
		if (!hull(e, &x, &alo, &ahi))
			return window(e, &top, 32, p->sign);
		return k > 61 ? con(0) : quotient(e, &x, INT64_C(1) << k);
	case N_DIV:
	case N_REM:
		x = window(e, a, w, p->sign);
		y = window(e, b, w, p->sign);
		if (!hull(e, &x, &alo, &ahi) || !hull(e, &y, &blo, &bhi) || blo < 1)
			return top;
		if (p->nop == N_DIV) {
			if (alo >= 0)
				return blo == bhi ? quotient(e, &x, blo)
						  : fresh(e, alo / bhi, ahi / blo, 1);
			return blo == bhi ? fresh(e, alo / blo, ahi / blo, 1)
					  : fresh(e, alo, ahi > 0 ? ahi : 0, 1);
		}
		if (alo >= 0 && blo == bhi)
			return remainder_of(e, &x, blo);
		if (alo >= 0)
			return ahi < blo ? x : fresh(e, 0, ahi < bhi - 1 ? ahi : bhi - 1, 1);
		return fresh(e, -(bhi - 1), bhi - 1, 1);
	default:
		return top;
	}
}

struct aval flow_val_node(struct ev *e, const struct pins *p)
{
	return node(e, p);
}

struct aval flow_val_sum(struct ev *e, const struct aval *a, const struct aval *b)
{
	return sum(e, a, b, 1);
}

struct aval flow_val_scaled(struct ev *e, const struct aval *a, int64_t k)
{
	return scaled(e, a, k);
}

struct aval flow_val_signed(struct ev *e, const struct aval *a, unsigned w)
{
	return w < 64 ? window(e, a, w, true) : *a;
}

struct aval flow_val_count(struct ev *e, const struct pins *p)
{
	static const struct aval nothing = { 0 };
	const struct aval *v = e->p->val;
	struct aval r;
	bool exact;

	if (v[p->a].st == V_BOTTOM || v[p->d].st == V_BOTTOM)
		return (struct aval){ .st = V_BOTTOM };
	r = passes(e, &v[p->a], &v[p->b], p->c == NONE ? &nothing : &v[p->c], &v[p->d], p, &exact);
	return exact ? r : top;
}

bool flow_val_hull(const struct ev *e, const struct aval *v, int64_t *lo, int64_t *hi)
{
	return hull(e, v, lo, hi);
}

static bool is_top(const struct ev *e, uint32_t slot)
{
	return slot != NONE && e->p->val[slot].st == V_TOP;
}

void flow_val_moves(struct ev *e, const struct pins *p, const struct aval *v)
{
	int64_t lo, hi;

	if (v->st == V_BOTTOM)
		return;
	if (v->st == V_OK) {
		e->p->far |= !hull(e, v, &lo, &hi) || lo < -NEAR || hi > NEAR;
		return;
	}
	/* Given up for another reason than its size? */
	if (p->op == P_NODE && p->nop == N_PARAM)
		e->p->far = true;
	else if (p->op != P_EITHER && !is_top(e, p->a) && !is_top(e, p->b) &&
		 !((p->op != P_NODE || p->nop == N_SEL) && p->op != P_ONLY && is_top(e, p->c)))
		e->p->far = true;
}

/* A difference that is 0 modulo its width; NULL if it need not be 0 as a number. */
static const struct aval *zero(const struct ev *e, uint32_t slot)
{
	int64_t lo, hi;
	unsigned w;

	if (slot == NONE || !hull(e, &e->p->val[slot], &lo, &hi))
		return NULL;
	w = e->p->ins[slot].w;
	return w >= 61 || (lo > -(INT64_C(1) << w) && hi < INT64_C(1) << w) ? &e->p->val[slot]
									    : NULL;
}

static void run(struct ev *e)
{
	static const struct aval nothing = { 0 };
	struct aval *v = e->p->val;
	bool exact;

	for (uint32_t i = 0; i < e->p->nins; i++) {
		const struct pins *p = &e->p->ins[i];

		switch ((enum pop)p->op) {
		case P_TOP:
			v[i] = top;
			break;
		case P_NODE:
			v[i] = node(e, p);
			break;
		case P_JOIN:
			v[i] = join(e, &v[p->a], &v[p->b], zero(e, p->c), zero(e, p->d));
			break;
		case P_TRIP:
			if (v[p->a].st == V_BOTTOM || v[p->d].st == V_BOTTOM) {
				v[i] = (struct aval){ .st = V_BOTTOM };
				break;
			}
			v[i] = passes(e, &v[p->a], &v[p->b], p->c == NONE ? &nothing : &v[p->c],
				      &v[p->d], p, &exact);
			break;
		case P_MIN2:
			if (!is_const(&v[p->a]))
				v[i] = v[p->b];
			else if (!is_const(&v[p->b]) || v[p->a].c < v[p->b].c)
				v[i] = v[p->a];
			else
				v[i] = v[p->b];
			break;
		case P_IV:
			v[i] = induced(e, &v[p->a], &v[p->b], &v[p->c], p);
			break;
		case P_BOUND:
			v[i] = bounded(e, &v[p->a], &v[p->b], p->c == NONE ? &nothing : &v[p->c],
				       &v[p->d], &v[p->e], &v[p->f], &v[p->imm], p);
			break;
		case P_ALONG:
			v[i] = along(e, &v[p->a], &v[p->b], &v[p->c], &v[p->d], &v[p->e],
				     &v[p->f], &v[p->imm], p);
			break;
		case P_LEAN:
			v[i] = leaning(e, &v[p->a], &v[p->b], &v[p->c], p);
			break;
		case P_CLAMP:
			v[i] = clamp(e, &v[p->a], &v[p->b], p);
			break;
		default:
			v[i] = top;
			break;
		}
		if (p->moves)
			flow_val_moves(e, p, &v[i]);
	}
}

/* ---- proofs ---- */

struct group {
	struct aval form;
	int64_t lo, hi;    /* guard: form in [lo, hi] */
};

/* Sorts terms by magnitude. */
static void by_size(struct term *t, unsigned n)
{
	for (unsigned i = 1; i < n; i++) {
		struct term x = t[i];
		unsigned k = i;

		for (; k && mag(t[k - 1].coef) > mag(x.coef); k--)
			t[k] = t[k - 1];
		t[k] = x;
	}
}

static bool shares(const struct aval *a, const struct aval *b)
{
	for (unsigned i = 0; i < a->n; i++)
		for (unsigned k = 0; k < b->n; k++)
			if (a->t[i].atom == b->t[k].atom)
				return true;
	return false;
}

static int64_t coef_of(const struct aval *v, uint32_t atom)
{
	for (unsigned i = 0; i < v->n; i++)
		if (v->t[i].atom == atom)
			return v->t[i].coef;
	return 0;
}

/* Adds "x cmp y" to the groups; false: cannot be used for a proof. */
static bool add_guard(struct ev *e, struct group *g, unsigned *n, const struct aval *xv,
		      const struct aval *yv, unsigned cmp, unsigned w, bool sign)
{
	struct aval x = *xv, y = *yv;
	int64_t lo, hi, l, h, shift;
	unsigned i;

	if (!is_const(&y) && is_const(&x)) {
		static const uint8_t m[] = {
			[C_EQ] = C_EQ, [C_NE] = C_NE, [C_LT] = C_GT,
			[C_LE] = C_GE, [C_GT] = C_LT, [C_GE] = C_LE,
		};

		x = *yv;
		y = *xv;
		cmp = m[cmp];
	}
	if (x.st || !is_const(&y) || !fits(e, &x, w, sign, &shift))
		return false;
	x.c -= shift;
	if (!fits(e, &y, w, sign, &shift))
		return false;
	y.c -= shift;
	if (!hull(e, &x, &l, &h))
		return false;
	allowed(cmp, y.c, y.c, &lo, &hi);
	if (cmp == C_NE) {
		if (y.c == l)
			lo = l + 1;
		else if (y.c == h)
			hi = h - 1;
		else if (y.c > l && y.c < h)
			return false;
	}
	if (l >= lo && h <= hi)
		return true; /* always */
	if (!x.n || l > hi || h < lo)
		return false; /* never */
	for (i = 0; i < *n; i++) {
		struct aval d;

		if (!shares(&g[i].form, &x))
			continue;
		d = sum(e, &x, &g[i].form, -1);
		if (!is_const(&d))
			return false;
		/* x = form + d */
		lo = lo > -LIMIT ? lo - d.c : lo;
		hi = hi < LIMIT ? hi - d.c : hi;
		g[i].lo = lo > g[i].lo ? lo : g[i].lo;
		g[i].hi = hi < g[i].hi ? hi : g[i].hi;
		return true;
	}
	if (*n == 8)
		return false;
	g[*n].form = x;
	g[*n].lo = lo;
	g[(*n)++].hi = hi;
	return true;
}

/* Are the values of the form all of lo, lo + step, ..., hi? */
static bool dense(const struct ev *e, const struct aval *v, uint64_t *step, int64_t *lo, int64_t *hi)
{
	struct term t[MAX_TERMS];
	wide cover;

	memcpy(t, v->t, sizeof(t));
	by_size(t, v->n);
	if (!v->n || !hull(e, v, lo, hi))
		return false;
	*step = mag(t[0].coef);
	cover = (wide)*step * e->p->atom[t[0].atom];
	for (unsigned i = 1; i < v->n; i++) {
		uint64_t m = mag(t[i].coef);

		if (m % *step || m > cover + *step)
			return false;
		cover += (wide)m * e->p->atom[t[i].atom];
	}
	return true;
}

/* Does the atom take all its values?  Behind its loop a variable has but the last one. */
static bool takes_all(const struct pmust *m, uint32_t atom)
{
	if (atom < 6)
		return true;
	for (uint32_t i = 0; i < m->nloops; i++)
		if (atom == 6 + 2 * m->loops[i].loop)
			return true;
	return false;
}

/* Is every byte of *lo..*hi touched?  Changes what loops are taken to do. */
static bool covered(struct ev *e, const struct pacc *a, uint64_t *lo, uint64_t *hi)
{
	const struct pmust *m = a->must;
	const struct aval *v = e->p->val;
	struct group g[8];
	struct aval addr;
	struct {
		uint64_t coef, n;
	} part[2 * MAX_TERMS];
	unsigned ng = 0, np = 0;
	bool used[64] = { 0 };
	int64_t at;
	wide cover;

	if (v[m->addr].st || m->nguards > 64)
		return false;
	for (uint32_t i = 0; i < m->nloops; i++) {
		const struct ploop *l = &m->loops[i];
		struct pins p = { .w = l->w, .sign = l->sign, .cmp = l->cmp };
		struct aval delta = l->delta == NO_SLOT ? con(0) : v[l->delta];
		struct aval n;
		bool exact, found = false;

		if (v[l->trip].st || !is_const(&v[l->trip]) || v[l->iv].st)
			return false;
		n = passes(e, &v[l->init], &v[l->step], &delta, &v[l->bound], &p, &exact);
		if (n.st)
			return false;
		if (exact) {
			if (l->pass && !n.c)
				return false;
			e->p->atom[6 + 2 * l->loop] = (uint64_t)(n.c - l->pass);
			continue;
		}
		if (l->cmp == C_NE || l->cmp == C_EQ)
			return false;
		/* Different threads go round different numbers of times: as often as the
		 * variable passes the test, whose value then decides. */
		e->p->atom[6 + 2 * l->loop] = (uint64_t)n.c;
		if (l->pass) {
			if (!add_guard(e, g, &ng, &v[l->test], &v[l->bound], l->cmp, l->w, l->sign))
				return false;
			continue;
		}
		/* Tested at the end: the first round needs the same test before the loop. */
		if (!is_const(&delta) || !is_const(&v[l->step]) || delta.c != v[l->step].c)
			return false;
		for (uint32_t k = 0; k < m->nguards && !found; k++) {
			const struct pguard *q = &m->guards[k];

			found = q->cmp == l->cmp && q->w == l->w && q->sign == l->sign &&
				aval_equal(&v[q->x], &v[l->init]) &&
				aval_equal(&v[q->y], &v[l->bound]);
			if (found)
				used[k] = true;
		}
		if (!found ||
		    !add_guard(e, g, &ng, &v[l->iv], &v[l->bound], l->cmp, l->w, l->sign))
			return false;
	}
	for (uint32_t k = 0; k < m->nguards; k++)
		if (!used[k] && !add_guard(e, g, &ng, &v[m->guards[k].x], &v[m->guards[k].y],
					   m->guards[k].cmp, m->guards[k].w, m->guards[k].sign))
			return false;
	addr = v[m->addr];
	at = addr.c;
	for (unsigned i = 0; i < addr.n; i++)
		if (!takes_all(m, addr.t[i].atom))
			return false;
	for (unsigned i = 0; i < ng; i++) {
		int64_t l, h, x, mul = 0;
		uint64_t step;

		for (unsigned k = 0; k < g[i].form.n; k++)
			if (!takes_all(m, g[i].form.t[k].atom))
				return false;
		if (!dense(e, &g[i].form, &step, &l, &h))
			return false;
		/* The values that pass. */
		if (g[i].lo > l)
			l += (int64_t)(((uint64_t)g[i].lo - (uint64_t)l + step - 1) / step * step);
		if (g[i].hi < h)
			h = g[i].hi;
		if (l > h)
			return false;
		h = l + (int64_t)(((uint64_t)h - (uint64_t)l) / step * step);
		/* The address must go with the form as a whole. */
		for (unsigned k = 0; k < g[i].form.n; k++) {
			x = coef_of(&addr, g[i].form.t[k].atom);
			if (x % g[i].form.t[k].coef)
				return false;
			x /= g[i].form.t[k].coef;
			if (k && x != mul)
				return false;
			mul = x;
		}
		if (!mul)
			continue;
		for (unsigned k = 0; k < g[i].form.n; k++)
			for (unsigned q = 0; q < addr.n; q++)
				if (addr.t[q].atom == g[i].form.t[k].atom)
					addr.t[q].coef = 0;
		/* addr = ... + mul * (form - form.c) */
		{
			wide base = (wide)at + (wide)mul * ((mul > 0 ? l : h) - (wide)g[i].form.c);

			if (base < -LIMIT || base > LIMIT)
				return false;
			at = (int64_t)base;
		}
		part[np].coef = mag(mul) * step;
		part[np++].n = (uint64_t)(h - l) / step;
	}
	for (unsigned i = 0; i < addr.n; i++) {
		uint64_t n = e->p->atom[addr.t[i].atom];

		if (!addr.t[i].coef || !n)
			continue;
		if (addr.t[i].coef < 0) {
			wide base = (wide)at + (wide)addr.t[i].coef * n;

			if (base < -LIMIT)
				return false;
			at = (int64_t)base;
		}
		part[np].coef = mag(addr.t[i].coef);
		part[np++].n = n;
	}
	cover = a->width;
	for (unsigned done = 0; done < np; done++) {
		unsigned best = done;

		for (unsigned i = done + 1; i < np; i++)
			if (part[i].coef < part[best].coef)
				best = i;
		if (best != done) {
			uint64_t c = part[best].coef, n = part[best].n;

			part[best] = part[done];
			part[done].coef = c;
			part[done].n = n;
		}
		if (part[done].coef > cover)
			return false;
		cover += (wide)part[done].coef * part[done].n;
		if (cover > LIMIT)
			return false;
	}
	if (at < 0)
		return false;
	*lo = (uint64_t)at;
	*hi = (uint64_t)at + (uint64_t)cover;
	return true;
}

static bool proven(struct ev *e, const struct pacc *a, uint64_t *lo, uint64_t *hi)
{
	uint64_t save[8];
	bool ok;

	if (!a->must)
		return false;
	for (uint32_t i = 0; i < a->must->nloops; i++)
		save[i] = e->p->atom[6 + 2 * a->must->loops[i].loop];
	ok = covered(e, a, lo, hi);
	for (uint32_t i = 0; i < a->must->nloops; i++)
		e->p->atom[6 + 2 * a->must->loops[i].loop] = save[i];
	return ok;
}

/* ---- results ---- */

enum place { PLACE_NONE, PLACE_FOUND, PLACE_UNKNOWN };

/* n + 1 places, m bytes apart. */
struct step {
	uint64_t m, n;
};

/* Do the sums of steps leave out none of what lies up to their end, g apart? */
static bool fill(const struct step *t, unsigned n, uint64_t cover, uint64_t g)
{
	for (unsigned i = 0; i < n; i++) {
		if (t[i].m > cover + g)
			return false;
		cover += t[i].m * t[i].n;
	}
	return true;
}

/*
 * Of bytes of `width` at the sums of steps, the smallest first: rows, and pieces in
 * them, that leave out most.  The smallest steps fill pieces, the next lay them out in
 * a row, the largest the rows.
 */
static void sparsest(const struct step *t, unsigned n, uint64_t width, struct krt_flow_range *r)
{
	double sparse = 2;

	r->pitch = r->row = r->hi - r->lo;
	r->rows = 1;
	r->stride = r->width = width;
	for (unsigned j = 0; j <= n; j++) {
		uint64_t row = width, pitch = 0, rows = 1, piece = width;

		for (unsigned i = 0; i < j; i++)
			row += t[i].m * t[i].n;
		for (unsigned i = j; i < n; i++)
			pitch = gcd(pitch, t[i].m);
		for (unsigned i = j; i < n; i++)
			rows += t[i].m / pitch * t[i].n;
		if (pitch && pitch < row)
			continue;
		if (!pitch)
			pitch = row;
		for (unsigned i = 0; i <= j; i++) {
			uint64_t stride = 0;
			double s;

			for (unsigned k = i; k < j; k++)
				stride = gcd(stride, t[k].m);
			if (stride <= piece)
				stride = piece;
			s = (double)row / (double)pitch * ((double)piece / (double)stride);
			if (s < sparse) {
				bool pieces = stride > piece;

				sparse = s;
				r->loose = !fill(t, pieces ? i : j, width, 0) ||
					   (pieces && !fill(t + i, j - i, 0, stride)) ||
					   !fill(t + j, n - j, 0, pitch);
				r->row = row;
				r->pitch = pitch;
				r->rows = rows;
				r->stride = stride > piece ? stride : width;
				r->width = stride > piece ? piece : width;
			}
			if (i < j)
				piece += t[i].m * t[i].n;
		}
	}
	if (r->pitch == r->row && r->rows > 1 && r->stride == r->width) {
		r->row *= r->rows;
		r->pitch = r->row;
		r->rows = 1;
	}
}

/* The rows of an affine range. */
static void shape(const struct ev *e, const struct aval *v, struct krt_flow_range *r)
{
	struct step step[MAX_TERMS];
	struct term t[MAX_TERMS];
	unsigned n = 0;

	for (unsigned i = 0; i < v->n; i++)
		if (e->p->atom[v->t[i].atom])
			t[n++] = v->t[i];
	by_size(t, n);
	for (unsigned i = 0; i < n; i++)
		step[i] = (struct step){ .m = mag(t[i].coef), .n = e->p->atom[t[i].atom] };
	sparsest(step, n, r->width, r);
}

static void whole(const struct krt_kernel_flow *f, const struct ev *e, const struct pacc *a,
		  krt_flow_fn *fn, void *user)
{
	for (uint32_t i = 0; i < a->nslots; i++) {
		const struct krt_flow_slot *s = &f->info.slots[a->slots[i]];
		struct krt_flow_range r = {
			.slot = a->slots[i],
			.site = a->site,
			.kind = a->kind,
			.whole = true,
			.width = a->width,
		};
		int64_t base;

		if (s->offset != KRT_FLOW_ANY && read_param(e, s->at, 64, false, &base))
			r.base = (uint64_t)base;
		fn(user, &r);
	}
	for (uint32_t i = 0; i < a->nglobals; i++) {
		struct krt_flow_range r = {
			.slot = KRT_FLOW_NO_SLOT,
			.global = a->globals[i],
			.site = a->site,
			.kind = a->kind,
			.whole = true,
			.width = a->width,
		};

		fn(user, &r);
	}
}

/* The pointer that lies in the range, or else the nearest one; false: two do, or there is none. */
static bool attribute(const struct krt_kernel_flow *f, const struct ev *e, const struct pacc *a,
		      struct krt_flow_range *r)
{
	uint64_t best = UINT64_MAX;

	r->slot = KRT_FLOW_NO_SLOT;
	for (uint32_t i = 0; i < a->nslots; i++) {
		const struct krt_flow_slot *s = &f->info.slots[a->slots[i]];
		int64_t v64;
		uint64_t b, d;

		if (s->offset == KRT_FLOW_ANY || !read_param(e, s->at, 64, false, &v64))
			continue;
		b = (uint64_t)v64;
		d = b < r->lo ? r->lo - b : b >= r->hi ? b - r->hi + 1 : 0;
		if (!d && !best && b != r->base)
			return false;
		if (d < best) {
			best = d;
			r->slot = a->slots[i];
			r->base = b;
		}
	}
	if (r->slot != KRT_FLOW_NO_SLOT)
		return true;
	if (a->nslots)
		r->slot = a->slots[0];
	return a->nslots;
}

/* How far the bytes lie from the pointer. */
static void reaches(const struct krt_kernel_flow *f, const struct ev *e, const struct pacc *a,
		    int64_t lo, int64_t hi)
{
	struct prog *p = f->prog;
	int64_t base;

	if (a->nslots != 1 || !f->info.moves[a->slots[0]] ||
	    !read_param(e, f->info.slots[a->slots[0]].at, 64, false, &base))
		return;
	if (base > lo && (uint64_t)base - (uint64_t)lo > p->below)
		p->below = (uint64_t)base - (uint64_t)lo;
	if (hi > base && (uint64_t)hi - (uint64_t)base > p->above)
		p->above = (uint64_t)hi - (uint64_t)base;
}

/* Whose bytes [lo, hi) are, of which access a is. */
static enum place place_of(const struct krt_kernel_flow *f, const struct ev *e,
			   const struct pacc *a, int64_t lo, int64_t hi, struct krt_flow_range *r)
{
	*r = (struct krt_flow_range){
		.site = a->site, .kind = a->kind, .width = a->width, .slot = KRT_FLOW_NO_SLOT};
	if (lo >= FAKE) {
		int64_t g = (lo - FAKE) / FAKE_SIZE, at = FAKE + g * FAKE_SIZE + FAKE_SIZE / 2;

		if (hi - FAKE >= (g + 1) * FAKE_SIZE || (uint64_t)g >= f->info.nglobals || lo < at)
			return PLACE_UNKNOWN;
		r->global = (uint32_t)g;
		r->lo = (uint64_t)(lo - at);
		r->hi = (uint64_t)(hi - at);
		return PLACE_FOUND;
	}
	reaches(f, e, a, lo, hi);
	if (lo < 0 || hi > FAKE / 2)
		return PLACE_UNKNOWN;
	if (hi <= 4096)
		return PLACE_NONE; /* the page at 0 is no one's */
	r->lo = (uint64_t)lo;
	r->hi = (uint64_t)hi;
	return attribute(f, e, a, r) ? PLACE_FOUND : PLACE_UNKNOWN;
}

/* The launch as a whole: what one access may touch. */
static enum place result(const struct krt_kernel_flow *f, struct ev *e, const struct pacc *a,
			 struct krt_flow_range *r)
{
	const struct aval *v = a->addr == NO_SLOT ? &top : &e->p->val[a->addr];
	int64_t lo, hi, first, last;
	uint64_t plo, phi;
	enum place w;

	for (uint32_t i = 0; i < a->nconds; i++) {
		const struct aval *c = &e->p->val[a->conds[i].slot];

		if (c->st == V_BOTTOM || (is_const(c) && !c->c != a->conds[i].neg))
			return PLACE_NONE; /* it does not run */
	}
	if (v->st == V_BOTTOM)
		return PLACE_NONE;
	if (!tight(e, v, &lo, &hi))
		return PLACE_UNKNOWN;
	w = place_of(f, e, a, lo, hi + a->width, r);
	if (w != PLACE_FOUND)
		return w;
	shape(e, v, r);
	r->loose |= a->loose;
	/* Rows start where the value does, not where it was cut. */
	if (!hull(e, v, &first, &last) || first != lo) {
		r->loose |= r->rows > 1 || r->stride > r->width;
		r->pitch = r->row = r->hi - r->lo;
		r->rows = 1;
		r->stride = r->width;
	}
	if (proven(e, a, &plo, &phi)) {
		uint64_t off = r->slot == KRT_FLOW_NO_SLOT
				       ? (uint64_t)(FAKE + r->global * FAKE_SIZE + FAKE_SIZE / 2)
				       : 0;

		/* What is proven is exact. */
		if (plo - off >= r->lo && phi - off <= r->hi) {
			r->lo = plo - off;
			r->hi = phi - off;
			r->must = true;
			r->loose = false;
			r->row = r->pitch = r->hi - r->lo;
			r->rows = 1;
			r->stride = r->width;
		}
	}
	return PLACE_FOUND;
}

/* ---- pieces ---- */

#define MAX_SHOWN 8 /* boxes of one kind, of one pointer */

/* Gives a range the rows and pieces of a box; false: it has more gaps than that. */
static bool shape_box(const struct box *b, struct krt_flow_range *r)
{
	struct step step[MAX_DIMS];

	r->pitch = r->row = r->hi - r->lo;
	r->rows = 1;
	r->stride = r->width;
	r->loose = false;
	if (!b->ndims)
		return true;
	if (b->ndims == 1 || (b->ndims == 2 && b->len + b->dim[0].coef * b->dim[0].n <=
						       b->dim[1].coef)) {
		r->row = b->len;
		if (b->ndims == 2) {
			r->width = b->len;
			r->stride = b->dim[0].coef;
			r->row += b->dim[0].coef * b->dim[0].n;
		}
		r->pitch = b->dim[b->ndims - 1].coef;
		r->rows = b->dim[b->ndims - 1].n + 1;
		return true;
	}
	for (uint32_t i = 0; i < b->ndims; i++)
		step[i] = (struct step){ .m = b->dim[i].coef, .n = b->dim[i].n };
	sparsest(step, b->ndims, b->len, r);
	return false;
}

static bool same_place(const struct krt_flow_range *a, const struct krt_flow_range *b)
{
	return a->slot == b->slot && a->kind == b->kind && a->global == b->global;
}

/* Accesses whose bytes are all in boxes of one pointer, when these are too many to show. */
static void many(const struct ev *e, const struct boxes *all, const struct krt_flow_range *at,
		 const struct krt_flow_range *where, krt_flow_fn *fn, void *user)
{
	for (uint32_t i = 0; i < all->n; i++) {
		uint32_t acc = all->b[i].acc;
		struct krt_flow_range r = where[i];
		const struct krt_flow_range *old = &e->p->res[acc];
		bool seen = false;

		if (!same_place(&where[i], at) || !e->p->settled[acc])
			continue;
		for (uint32_t k = 0; k < all->n; k++) {
			if (all->b[k].acc != acc || !same_place(&where[k], at))
				continue;
			seen |= k < i;
			r.lo = where[k].lo < r.lo ? where[k].lo : r.lo;
			r.hi = where[k].hi > r.hi ? where[k].hi : r.hi;
		}
		if (seen)
			continue;
		if (old->width && !old->whole && same_place(old, &r) && old->lo == r.lo &&
		    old->hi == r.hi)
			r = *old;
		else
			r.loose = true;
		fn(user, &r);
	}
}

/* Shows what is left when an access is looked at on its own, in pieces. */
static void in_pieces(const struct krt_kernel_flow *f, struct ev *e, krt_flow_fn *fn, void *user)
{
	struct boxes all, one;
	struct krt_flow_range where[MAX_BOXES];
	struct prog *p = e->p;
	uint64_t done[(MAX_BOXES + 63) / 64] = { 0 };

	flow_pieces(p, e->l, p->skip, p->settled, &all);
	for (uint32_t i = 0; i < all.n; i++) {
		struct box *b = &all.b[i];
		uint64_t len = flow_box_reach(b);
		int64_t base = b->at;

		if (base < 0 || len > (uint64_t)LIMIT ||
		    place_of(f, e, &p->accs[b->acc], base, base + (int64_t)len, &where[i]) !=
			    PLACE_FOUND) {
			p->settled[b->acc] = false;
			where[i].kind = 0;
		}
	}
	/* What is sure without them goes together with them. */
	for (uint32_t i = 0; i < p->naccs && all.n < MAX_BOXES; i++)
		if (p->res[i].must && p->res[i].slot != KRT_FLOW_NO_SLOT) {
			where[all.n] = p->res[i];
			all.b[all.n++] = (struct box){ .at = (int64_t)p->res[i].lo,
						       .len = p->res[i].hi - p->res[i].lo,
						       .acc = i };
			p->settled[i] = true;
		}
	for (uint32_t i = 0; i < all.n; i++) {
		uint32_t shown = 0, acc;

		if (!where[i].kind || done[i / 64] >> i % 64 & 1)
			continue;
		one.n = 0;
		for (uint32_t k = i; k < all.n; k++) {
			if (!same_place(&where[i], &where[k]))
				continue;
			done[k / 64] |= UINT64_C(1) << k % 64;
			one.b[one.n++] = all.b[k];
		}
		flow_join_boxes(&one, 0);
		if (one.n > MAX_SHOWN)
			many(e, &all, &where[i], where, fn, user);
		for (uint32_t k = 0; k < one.n; k++) {
			struct box *b = &one.b[k];
			int64_t end = b->at + (int64_t)flow_box_reach(b);
			struct krt_flow_range r;

			if (one.n > MAX_SHOWN && (b->ndims > 1 || shown == MAX_SHOWN))
				continue;
			acc = b->acc;
			if (place_of(f, e, &p->accs[acc], b->at, end, &r) != PLACE_FOUND ||
			    !same_place(&r, &where[i])) {
				/* Of several pointers that lie in there: the one that was found. */
				uint64_t off = r.lo;

				r = where[i];
				r.lo = off;
				r.hi = off + flow_box_reach(b);
			}
			r.width = r.width < b->len ? r.width : b->len;
			r.must = shape_box(b, &r);
			shown++;
			fn(user, &r);
		}
	}
	for (uint32_t i = 0; i < p->naccs; i++) {
		if (p->settled[p->lead[i] == NONE ? i : p->lead[i]])
			continue;
		if (p->where[i] == PLACE_FOUND)
			fn(user, &p->res[i]);
		else if (p->where[i] == PLACE_UNKNOWN)
			whole(f, e, &p->accs[i], fn, user);
	}
}

bool krt_flow_eval(struct krt_kernel_flow *f, const struct krt_flow_launch *l, krt_flow_fn *fn,
		   void *user)
{
	struct ev e = { .p = f->prog, .l = l };
	struct prog *p = f->prog;
	bool pieces = false;

	if (l->len < f->info.param_bytes)
		return false;
	for (unsigned i = 0; i < 3; i++) {
		if (!l->grid[i] || !l->block[i])
			return false;
		p->atom[i] = l->block[i] - 1;
		p->atom[3 + i] = l->grid[i] - 1;
	}
	for (uint32_t i = 0; i < p->nloops; i++)
		p->atom[6 + 2 * i] = p->atom[7 + 2 * i] = 0;
	p->far = false;
	p->below = p->above = 0;
	if (p->exact)
		p->exact->far = false;
	e.natoms = 6 + 2 * p->nloops;
	run(&e);
	for (uint32_t i = 0; i < p->naccs; i++) {
		p->where[i] = (uint8_t)result(f, &e, &p->accs[i], &p->res[i]);
		p->res[i].must &= p->where[i] == PLACE_FOUND;
		p->skip[i] = p->where[i] == PLACE_NONE || p->res[i].must;
		p->settled[i] = false;
		pieces |= p->lead[i] != NONE && !p->skip[i];
	}
	if (pieces) {
		in_pieces(f, &e, fn, user);
		return true;
	}
	for (uint32_t i = 0; i < p->naccs; i++)
		if (p->where[i] == PLACE_FOUND)
			fn(user, &p->res[i]);
		else if (p->where[i] == PLACE_UNKNOWN)
			whole(f, &e, &p->accs[i], fn, user);
	return true;
}

bool krt_flow_may_move(const struct krt_kernel_flow *f, const struct krt_flow_launch *l,
		       const struct krt_flow_reach *reach)
{
	const struct ev e = { .p = f->prog, .l = l };
	int64_t base;

	for (uint32_t i = 0; i < f->info.nslots; i++) {
		if (!f->info.moves[i])
			continue;
		if (!read_param(&e, f->info.slots[i].at, 64, false, &base) || base >= NEAR / 2 ||
		    base < 4096 || (uint64_t)base - 4096 < reach->below)
			return false;
	}
	return true;
}

bool krt_flow_moved(const struct krt_kernel_flow *f, const struct krt_flow_launch *l,
		    struct krt_flow_reach *reach)
{
	const struct prog *p = f->prog;

	*reach = (struct krt_flow_reach){ .below = p->below, .above = p->above };
	return !p->far && !(p->exact && p->exact->far) && p->above < (uint64_t)NEAR / 2 &&
	       krt_flow_may_move(f, l, reach);
}

static struct krt_pattern pattern_of(const struct krt_flow_range *r)
{
	return (struct krt_pattern){.lo = r->lo,
				    .hi = r->hi,
				    .at = r->lo,
				    .pitch = r->pitch,
				    .row = r->row,
				    .rows = r->rows,
				    .stride = r->stride,
				    .width = r->width};
}

bool krt_flow_overlap(const struct krt_flow_range *a, const struct krt_flow_range *b)
{
	struct krt_pattern x, y;

	if ((a->slot == KRT_FLOW_NO_SLOT) != (b->slot == KRT_FLOW_NO_SLOT))
		return false;
	if (a->slot == KRT_FLOW_NO_SLOT && a->global != b->global)
		return false;
	if (a->whole || b->whole)
		return true;
	x = pattern_of(a);
	y = pattern_of(b);
	return krt_pattern_meet(&x, &y);
}
