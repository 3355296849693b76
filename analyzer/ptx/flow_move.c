/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pointers that may move: slots whose value only ever is what addresses begin at.
 * Every value that is made of one is the pointer plus something that knows nothing of
 * it, no condition and no count asks for it, and each access that uses it has no other
 * slot.  An evaluation with such a pointer elsewhere then takes the same steps, and its
 * ranges are the same, moved along.
 *
 * That holds as long as no number meets a limit of the evaluation (prog.far) and the
 * bytes lie neither in the page at 0 nor among the addresses of variables (prog.below,
 * prog.above): what one evaluation has met is kept for whoever wants to move it.
 */
#include "flow_comp.h"
#include <string.h>

#define FIXED NONE /* knows nothing of a pointer that moves */

struct moves {
	struct flow *fl;
	bool *bad;    /* per slot */
	uint32_t *of; /* per instruction: the slot, or FIXED */
};

static bool is_pointer(const struct krt_flow_slot *s)
{
	return s->offset != KRT_FLOW_ANY && !s->tensor_map && !s->texture && !s->surface;
}

/* Somebody asks for more than where it leads. */
static void stays(struct moves *m, uint32_t slot)
{
	if (slot != FIXED)
		m->bad[slot] = true;
}

static uint32_t of(const struct moves *m, uint32_t ins)
{
	return ins == NONE ? FIXED : m->of[ins];
}

/* A parameter: the pointer as a whole, or a part of one, which then stays. */
static uint32_t loaded(struct moves *m, const struct pins *p)
{
	const struct krt_flow_info *info = &m->fl->k->info;
	uint64_t at = (uint64_t)p->imm, end = at + (p->w + 7u) / 8;
	uint32_t found = FIXED;

	for (uint32_t i = 0; p->imm >= 0 && i < info->nslots; i++) {
		const struct krt_flow_slot *s = &info->slots[i];
		uint64_t len = s->offset == KRT_FLOW_ANY ? s->size : 8;

		if (end <= s->at || at >= s->at + len)
			continue;
		if (at == s->at && p->w == 64 && is_pointer(s) && found == FIXED) {
			found = i;
		} else {
			m->bad[i] = true;
			stays(m, found);
		}
	}
	return found;
}

/* The operands that an instruction has, but for the first n. */
static void rest_stays(struct moves *m, const struct pins *p, unsigned n)
{
	uint32_t use[7] = {NONE, NONE, NONE, NONE, NONE, NONE, NONE};

	use[0] = p->a;
	use[1] = p->b;
	switch ((enum pop)p->op) {
	case P_NODE:
		use[2] = p->nop == N_SEL ? p->c : NONE;
		break;
	case P_BOUND:
	case P_ALONG:
		use[6] = (uint32_t)p->imm;
		use[5] = p->f;
		use[4] = p->e;
		/* fall through */
	case P_JOIN:
	case P_TRIP:
	case P_COUNT:
		use[3] = p->d;
		/* fall through */
	case P_IV:
	case P_LEAN:
	case P_NOW:
	case P_LAST:
		use[2] = p->c;
		break;
	default:
		break;
	}
	for (unsigned i = n; i < 7; i++)
		stays(m, of(m, use[i]));
}

/* Both, if they are the same. */
static uint32_t both(struct moves *m, uint32_t a, uint32_t b)
{
	if (a == b)
		return a;
	stays(m, a);
	stays(m, b);
	return FIXED;
}

static uint32_t made(struct moves *m, const struct pins *p)
{
	uint32_t a, b;

	if (p->op == P_TOP)
		return FIXED;
	if (p->op == P_NODE && p->nop == N_PARAM)
		return loaded(m, p);
	if (p->op == P_NODE && p->nop < N_ADD)
		return FIXED;
	a = of(m, p->a);
	b = of(m, p->b);
	switch ((enum pop)p->op) {
	case P_NODE:
		if (p->nop == N_SEL) {
			stays(m, a);
			return both(m, b, of(m, p->c));
		}
		if (p->nop == N_ADD && p->w == 64 && (a == FIXED || b == FIXED))
			return a == FIXED ? b : a;
		if (p->nop == N_SUB && p->w == 64 && b == FIXED)
			return a;
		rest_stays(m, p, 0);
		return FIXED;
	case P_JOIN:
	case P_ALONG:
		rest_stays(m, p, 2);
		if (p->w < 64) {
			stays(m, a);
			stays(m, b);
		}
		return both(m, a, b);
	case P_EITHER:
		return both(m, a, b);
	case P_IV:
	case P_NOW:
	case P_LAST:
	case P_LEAN:
		rest_stays(m, p, 1);
		if (p->op != P_LEAN && p->w < 64)
			stays(m, a);
		return a;
	case P_ONLY:
		stays(m, b);
		return a;
	default:
		rest_stays(m, p, 0);
		return FIXED;
	}
}

static void instructions(struct moves *m, struct prog *p)
{
	m->of = flow_alloc(m->fl, p->nins * sizeof(*m->of));
	for (uint32_t i = 0; i < p->nins; i++)
		m->of[i] = FIXED;
	for (uint32_t i = 0; i < p->nins; i++) {
		m->of[i] = made(m, &p->ins[i]);
		p->ins[i].moves = m->of[i] != FIXED;
	}
}

/* Where an access of this slot goes must be told by this slot alone. */
static void address(struct moves *m, const struct prog *p, const struct pacc *a, uint32_t ins)
{
	uint32_t slot = of(m, ins);

	if (a->nslots == 1 &&
	    (slot == a->slots[0] || ins == NONE || (slot == FIXED && p->ins[ins].op == P_TOP)))
		return;
	stays(m, slot);
	for (uint32_t i = 0; i < a->nslots; i++)
		m->bad[a->slots[i]] = true;
}

static void accesses(struct moves *m, const struct prog *p)
{
	for (uint32_t i = 0; i < p->naccs; i++) {
		const struct pacc *a = &p->accs[i];

		address(m, p, a, a->addr);
		for (uint32_t k = 0; k < a->nconds; k++)
			stays(m, of(m, a->conds[k].slot));
		if (!a->must)
			continue;
		address(m, p, a, a->must->addr);
		for (uint32_t k = 0; k < a->must->nguards; k++) {
			stays(m, of(m, a->must->guards[k].x));
			stays(m, of(m, a->must->guards[k].y));
		}
		for (uint32_t k = 0; k < a->must->nloops; k++) {
			const struct ploop *l = &a->must->loops[k];
			const uint32_t use[] = {l->iv,	  l->test,  l->init, l->step,
						l->delta, l->bound, l->trip};

			for (unsigned q = 0; q < sizeof(use) / sizeof(*use); q++)
				stays(m, of(m, use[q]));
		}
	}
}

static void groups(struct moves *m, const struct prog *p)
{
	for (uint32_t i = 0; i < p->ngroups; i++) {
		const struct xgroup *g = &p->groups[i];

		for (uint32_t k = 0; k < g->nconds; k++)
			stays(m, of(m, g->conds[k].slot));
		for (uint32_t k = 0; k < g->nloops; k++)
			stays(m, of(m, g->loops[k].count));
		for (uint32_t k = 0; k < g->naccs; k++) {
			const struct xacc *x = &g->accs[k];

			stays(m, of(m, x->pred));
			stays(m, of(m, x->size));
			for (uint32_t q = 0; q < x->n; q++)
				address(m, p->exact, &p->accs[x->first + q], x->addr);
		}
	}
}

/* info.used without the pointers that move. */
static void keep_fixed(struct flow *fl, const bool *bad)
{
	struct krt_flow_info *info = &fl->k->info;
	uint32_t n = (uint32_t)fl->entry->param_bytes, spans = 0;
	bool *fixed = flow_alloc(fl, n + 1);
	struct krt_flow_span *s;

	for (uint32_t i = 0; i < info->nused; i++)
		memset(fixed + info->used[i].at, true, info->used[i].len);
	for (uint32_t i = 0; i < info->nslots; i++)
		if (!bad[i])
			memset(fixed + info->slots[i].at, false, 8);
	/* slots that lie across each other: what stays is asked for */
	for (uint32_t i = 0; i < info->nslots; i++)
		for (uint32_t k = 0; bad[i] && k < 8 && info->slots[i].at + k < n; k++)
			fixed[info->slots[i].at + k] = info->slots[i].offset != KRT_FLOW_ANY;
	for (uint32_t i = 0; i < n; i++)
		spans += fixed[i] && (!i || !fixed[i - 1]);
	info->fixed = s = flow_keep(fl, spans * sizeof(*s));
	for (uint32_t i = 0; i < n; i++) {
		if (!fixed[i])
			continue;
		if (!i || !fixed[i - 1])
			s[info->nfixed++] = (struct krt_flow_span){.at = i};
		s[info->nfixed - 1].len++;
	}
}

void flow_moves(struct flow *fl, struct prog *p)
{
	struct krt_flow_info *info = &fl->k->info;
	struct moves m = {.fl = fl, .bad = flow_alloc(fl, info->nslots + 1)};
	bool *moves = flow_keep(fl, info->nslots + 1);

	for (uint32_t i = 0; i < info->nslots; i++)
		m.bad[i] = !is_pointer(&info->slots[i]) ||
			   info->slots[i].at > fl->entry->param_bytes ||
			   fl->entry->param_bytes - info->slots[i].at < 8;
	instructions(&m, p);
	accesses(&m, p);
	if (p->exact) {
		instructions(&m, p->exact);
		groups(&m, p);
	}
	for (uint32_t i = 0; i < info->nslots; i++)
		moves[i] = !m.bad[i];
	info->moves = moves;
	keep_fixed(fl, m.bad);
}
