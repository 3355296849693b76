/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The native unwinder (unwinder.h), x86-64 and aarch64.
 *
 * A rule says for a return address how the frame around it is undone: canonical
 * frame address (CFA) from the stack or frame pointer, where the caller's frame
 * pointer and return address lie.  It is 8 bytes; equal rules share one place in
 * dict[], and the cache is one word an address: 48 bits of address, 16 bits of
 * index.  So a reader can never see half an entry, and needs no lock.
 *
 * Invariants: dict[] only grows, and an entry is written before a cache word
 * that names it (release/acquire).  A cache word is stored under fill_lock and
 * only if none was removed since its address was looked up.
 *
 * Reading the stack cannot fault: a page is asked of the kernel before its first
 * use (rt_sigprocmask reads a set through the address and then rejects the
 * operation: no descriptor, never forbidden by a seccomp filter), and the range
 * found readable is remembered per thread as long as it holds the stack pointer.
 * A walk that had to guess (frame pointers) trusts nothing remembered.
 *
 * Tables are read through bounds checks against the segments of their object,
 * which stays loaded because one of its functions has not returned.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "modules.h"
#include "ownlock.h"
#include "unwinder.h"

#define PAGE        4096ul
#define CACHE_BITS  13
#define CACHE_SIZE  (1u << CACHE_BITS)
#define DICT_SIZE   8192u
#define DICT_HASH   (2 * DICT_SIZE)
#define ADDR_BITS   48
#define ADDR_MASK   ((1ull << ADDR_BITS) - 1)
#define GAP_MAX     (16ul << 20) /* of a frame, for the range of readable stack to go on behind it */
#define STALE_EVERY 1024 /* walks of a thread between two looks at the loader's counters */

#if defined(__x86_64__)
enum { REG_SP_ = 7, REG_FP_ = 6, REG_RA_ = 16 };
#elif defined(__aarch64__)
enum { REG_SP_ = 31, REG_FP_ = 29, REG_RA_ = 30 };
#else
#error "unwinder.c: x86-64 and aarch64 only"
#endif

/* ---- rules ------------------------------------------------------------------------- */

enum rule_cfa {
	CFA_NONE = 0,   /* no simple rule: try the frame pointer */
	CFA_SP = 1,     /* sp + off */
	CFA_FP = 2,     /* fp + off */
	CFA_FP_REF = 3, /* *(fp + off): functions that realign their stack */
	CFA_END = 4,    /* outermost frame */
	CFA_SIGNAL = 5, /* a signal frame lies at sp */
	CFA_OTHER = 6,  /* x86-64: another register, known only where a signal came; its number is in ra_off */
};

enum rule_fp {
	FP_SAME = 0,
	FP_CFA = 1,  /* saved at CFA + fp_off */
	FP_FP = 2,   /* saved at fp + fp_off */
	FP_LOST = 3,
};

struct rule {
	enum rule_cfa cfa;
	enum rule_fp fp;
	int32_t cfa_off;
	int32_t fp_off; /* multiple of 8 */
	int32_t ra_off; /* from the CFA, multiple of 8; 0: still in the link register */
};

/* 3 bits cfa, 2 fp, 27 cfa_off, 16 fp_off / 8, 16 ra_off / 8 */
#define P_CFA(p)     ((unsigned)(p) & 7)
#define P_FP(p)      ((unsigned)((p) >> 3) & 3)
#define P_CFA_OFF(p) ((int64_t)((p) << 32) >> 37)
#define P_FP_OFF(p)  ((int64_t)((p) << 16) >> 48 << 3)
#define P_RA_OFF(p)  ((int64_t)(p) >> 48 << 3)

static bool fits(int64_t v, unsigned bits)
{
	return v >= -(1ll << (bits - 1)) && v < 1ll << (bits - 1);
}

static uint64_t pack(const struct rule *r)
{
	if (!fits(r->cfa_off, 27) || (r->fp_off & 7) || !fits(r->fp_off / 8, 16) || (r->ra_off & 7) ||
	    !fits(r->ra_off / 8, 16))
		return CFA_NONE;
	return (uint64_t)r->cfa | (uint64_t)r->fp << 3 |
	       ((uint64_t)(uint32_t)r->cfa_off & 0x7ffffff) << 5 |
	       (uint64_t)(uint16_t)(r->fp_off / 8) << 32 | (uint64_t)(uint16_t)(r->ra_off / 8) << 48;
}

static _Atomic uint64_t cache[CACHE_SIZE] __attribute__((aligned(64)));
static _Atomic uint64_t dict[DICT_SIZE];
static uint16_t dict_hash[DICT_HASH]; /* under fill_lock; 0: empty */
static unsigned ndict = 1;            /* under fill_lock; 0 is never used */
static struct krt_ownlock fill_lock;
static _Atomic unsigned flushes;

struct thread {
	_Atomic uint64_t stack; /* readable range: page number << 28 | pages */
	uint32_t walks;
	bool quiet;
};
static __thread struct thread tls __attribute__((tls_model("initial-exec")));

static inline unsigned cache_slot(uint64_t pc)
{
	return (uint32_t)((pc * 0x9e3779b97f4a7c15ull) >> (64 - CACHE_BITS));
}

/* The index of a packed rule in dict[], 0 when it is full.  Under fill_lock. */
static unsigned intern(uint64_t p)
{
	unsigned h = (unsigned)((p * 0x9e3779b97f4a7c15ull) >> 40) % DICT_HASH;

	while (dict_hash[h]) {
		if (atomic_load_explicit(&dict[dict_hash[h]], memory_order_relaxed) == p)
			return dict_hash[h];
		h = (h + 1) % DICT_HASH;
	}
	if (ndict == DICT_SIZE)
		return 0;
	atomic_store_explicit(&dict[ndict], p, memory_order_relaxed);
	dict_hash[h] = ndict;
	return ndict++;
}

static void remember(uint64_t pc, uint64_t p, unsigned epoch)
{
	unsigned i, h = cache_slot(pc);
	uint64_t old;

	if (!krt_ownlock_take(&fill_lock, &tls))
		return;
	i = intern(p);
	if (i && atomic_load_explicit(&flushes, memory_order_relaxed) == epoch) {
		/* two places: the newest first, the one before it second */
		old = atomic_load_explicit(&cache[h], memory_order_relaxed);
		if (old && old >> 16 != pc)
			atomic_store_explicit(&cache[h ^ 1], old, memory_order_release);
		atomic_store_explicit(&cache[h], pc << 16 | i, memory_order_release);
	}
	krt_ownlock_drop(&fill_lock);
}

void krt_unwind_forget(uintptr_t lo, uintptr_t hi)
{
	bool held = krt_ownlock_take(&fill_lock, &tls);

	/* first the count: who looked up before it must not store after the clearing */
	atomic_fetch_add_explicit(&flushes, 1, memory_order_seq_cst);
	for (unsigned i = 0; i < CACHE_SIZE; i++) {
		uint64_t pc = atomic_load_explicit(&cache[i], memory_order_relaxed) >> 16;

		if (pc >= lo && pc <= hi) /* a call can be the last instruction */
			atomic_store_explicit(&cache[i], 0, memory_order_relaxed);
	}
	if (held)
		krt_ownlock_drop(&fill_lock);
}

void krt_unwind_forked(void)
{
	atomic_store(&fill_lock.owner, 0);
	/* a vanished thread may have left intern() half done */
	memset(dict_hash, 0, sizeof(dict_hash));
	for (unsigned i = 1; i < ndict; i++) {
		unsigned h = (unsigned)((atomic_load(&dict[i]) * 0x9e3779b97f4a7c15ull) >> 40) % DICT_HASH;

		while (dict_hash[h])
			h = (h + 1) % DICT_HASH;
		dict_hash[h] = i;
	}
}

bool krt_unwind_quiet(bool quiet)
{
	bool before = tls.quiet;

	tls.quiet = quiet;
	return before;
}

/* ---- unwind tables --------------------------------------------------------------------- */

/* A reader that cannot leave [at, end); bad is sticky. */
struct cursor {
	const uint8_t *at, *end;
	bool bad;
};

static uint64_t get(struct cursor *c, unsigned n)
{
	uint64_t v = 0;

	if (c->bad || (size_t)(c->end - c->at) < n) {
		c->bad = true;
		return 0;
	}
	memcpy(&v, c->at, n); /* little endian */
	c->at += n;
	return v;
}

/* The bits of a LEB128 number; *shift: how many, *b: its last byte. */
static uint64_t leb(struct cursor *c, unsigned *shift, uint8_t *b)
{
	uint64_t v = 0;

	*shift = 0;
	do {
		*b = get(c, 1);
		if (*shift < 64)
			v |= (uint64_t)(*b & 0x7f) << *shift;
		*shift += 7;
	} while (!c->bad && (*b & 0x80));
	return v;
}

static uint64_t uleb(struct cursor *c)
{
	unsigned shift;
	uint8_t b;

	return leb(c, &shift, &b);
}

static int64_t sleb(struct cursor *c)
{
	unsigned shift;
	uint8_t b;
	uint64_t v = leb(c, &shift, &b);

	if (shift < 64 && (b & 0x40))
		v |= ~0ull << shift;
	return (int64_t)v;
}

static void skip(struct cursor *c, uint64_t n)
{
	if (c->bad || (size_t)(c->end - c->at) < n)
		c->bad = true;
	else
		c->at += n;
}

/* DW_EH_PE_* without indirection. */
static uint64_t encoded(struct cursor *c, uint8_t enc, uintptr_t datarel)
{
	uintptr_t here = (uintptr_t)c->at;
	uint64_t v;

	if (enc == 0xff || (enc & 0x80)) {
		c->bad = true;
		return 0;
	}
	switch (enc & 0x0f) {
	case 0x00: /* absptr */
	case 0x04: /* udata8 */
	case 0x0c: /* sdata8 */
		v = get(c, 8);
		break;
	case 0x01:
		v = uleb(c);
		break;
	case 0x02:
		v = get(c, 2);
		break;
	case 0x03:
		v = get(c, 4);
		break;
	case 0x09:
		v = (uint64_t)sleb(c);
		break;
	case 0x0a:
		v = (uint64_t)(int16_t)get(c, 2);
		break;
	case 0x0b:
		v = (uint64_t)(int32_t)get(c, 4);
		break;
	default:
		c->bad = true;
		return 0;
	}
	switch (enc & 0x70) {
	case 0x00:
		return v;
	case 0x10:
		return v + here;
	case 0x30:
		return v + datarel;
	default:
		c->bad = true;
		return 0;
	}
}

/* A cursor from addr to the end of its segment, or a bad one. */
static struct cursor cursor_in(const struct krt_module *m, uintptr_t addr)
{
	for (unsigned i = 0; i < m->nseg; i++)
		if (addr >= m->seg[i].lo && addr < m->seg[i].hi)
			return (struct cursor){ (const uint8_t *)addr, (const uint8_t *)m->seg[i].hi, false };
	return (struct cursor){ .bad = true };
}

/* Shorten c to the length-prefixed record (CIE or FDE) that it is at. */
static bool enter(struct cursor *c)
{
	uint64_t len = get(c, 4);

	if (len == 0xffffffff)
		len = get(c, 8);
	if (c->bad || !len || (size_t)(c->end - c->at) < len)
		return false;
	c->end = c->at + len;
	return true;
}

/* The FDE that the sorted table names for pc, 0: none.  It may still not cover pc. */
static uintptr_t find_fde(const struct krt_module *m, uintptr_t pc)
{
	struct cursor c = cursor_in(m, m->eh_hdr);
	uint8_t version, ptr_enc, count_enc, table_enc;
	uint64_t count, lo, hi;
	const uint8_t *table;

	if (c.bad || (size_t)(c.end - c.at) < m->eh_hdr_len)
		return 0;
	c.end = c.at + m->eh_hdr_len;
	version = get(&c, 1);
	ptr_enc = get(&c, 1);
	count_enc = get(&c, 1);
	table_enc = get(&c, 1);
	encoded(&c, ptr_enc, m->eh_hdr);
	count = encoded(&c, count_enc, m->eh_hdr);
	/* datarel | sdata4 is what every linker writes */
	if (c.bad || version != 1 || table_enc != 0x3b || !count || count > (size_t)(c.end - c.at) / 8)
		return 0;
	table = c.at;
	lo = 0;
	hi = count;
	while (lo < hi) {
		uint64_t mid = (lo + hi) / 2;
		int32_t start;

		memcpy(&start, table + mid * 8, 4);
		if (m->eh_hdr + (intptr_t)start > pc)
			hi = mid;
		else
			lo = mid + 1;
	}
	if (!lo)
		return 0;
	int32_t off;

	memcpy(&off, table + (lo - 1) * 8 + 4, 4);
	return m->eh_hdr + (intptr_t)off;
}

struct cie {
	uint64_t code_align;
	int64_t data_align;
	uint8_t fde_enc;
	bool has_aug, signal;
	struct cursor program;
};

static bool read_cie(const struct krt_module *m, uintptr_t addr, struct cie *cie)
{
	struct cursor c = cursor_in(m, addr);
	const char *aug;
	uint8_t version;
	uint64_t ra;

	*cie = (struct cie){ 0 };
	if (!enter(&c) || get(&c, 4) != 0)
		return false;
	version = get(&c, 1);
	aug = (const char *)c.at;
	while (get(&c, 1))
		;
	if (c.bad || (version != 1 && version != 3 && version != 4))
		return false;
	if (version == 4 && (get(&c, 1) != 8 || get(&c, 1) != 0))
		return false;
	cie->code_align = uleb(&c);
	cie->data_align = sleb(&c);
	ra = version == 1 ? get(&c, 1) : uleb(&c);
	if (ra != REG_RA_)
		return false;
	if (*aug == 'z') {
		uint64_t len = uleb(&c);
		const uint8_t *after;

		if (c.bad || (size_t)(c.end - c.at) < len)
			return false;
		after = c.at + len;
		cie->has_aug = true;
		for (aug++; *aug; aug++) {
			switch (*aug) {
			case 'R':
				cie->fde_enc = get(&c, 1);
				break;
			case 'L':
				get(&c, 1);
				break;
			case 'P': {
				uint8_t enc = get(&c, 1);

				encoded(&c, enc & 0x7f, 0); /* only to get past it */
				break;
			}
			case 'S':
				cie->signal = true;
				break;
			case 'B': /* aarch64: return addresses are signed with the B key */
			case 'G': /* aarch64: tagged stack */
				break;
			default:
				return false;
			}
		}
		c.at = after;
	} else if (*aug) {
		return false;
	}
	cie->program = c;
	return !c.bad;
}

enum slot { SLOT_SAME, SLOT_CFA, SLOT_FP, SLOT_UNDEFINED, SLOT_ODD };

struct state {
	enum { C_REG, C_FP_REF, C_PLT, C_ODD } cfa;
	uint64_t reg;
	int64_t off;
	struct saved {
		enum slot how;
		int64_t off;
	} fp, ra;
};

/* DWARF expressions that occur in practice. */
static void cfa_expression(struct state *s, struct cursor e)
{
	static const uint8_t plt[] = { 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22 };

	s->cfa = C_ODD;
	if ((size_t)(e.end - e.at) == sizeof(plt) && memcmp(e.at, plt, sizeof(plt)) == 0) {
		s->cfa = C_PLT;
	} else if (get(&e, 1) == 0x70 + REG_FP_) { /* DW_OP_breg(fp), then DW_OP_deref */
		int64_t off = sleb(&e);

		if (get(&e, 1) == 0x06 && e.at == e.end && !e.bad) {
			s->cfa = C_FP_REF;
			s->off = off;
		}
	}
}

static void set_slot(struct state *s, uint64_t reg, enum slot how, int64_t off)
{
	if (reg == REG_FP_)
		s->fp = (struct saved){ how, off };
	else if (reg == REG_RA_)
		s->ra = (struct saved){ how, off };
}

static void reg_expression(struct state *s, uint64_t reg, struct cursor e)
{
	if (get(&e, 1) == 0x70 + REG_FP_) {
		int64_t off = sleb(&e);

		if (e.at == e.end && !e.bad) {
			set_slot(s, reg, SLOT_FP, off);
			return;
		}
	}
	set_slot(s, reg, SLOT_ODD, 0);
}

/* Run a CFA program up to the row of pc.  False: an instruction that is not known. */
static bool run(struct cursor c, const struct cie *cie, struct state *s, const struct state *initial,
		uintptr_t loc, uintptr_t pc)
{
	struct state stack[8];
	unsigned depth = 0;

	while (c.at < c.end && !c.bad) {
		uint8_t op = get(&c, 1);
		uint64_t reg, len;
		struct cursor e;

		switch (op >> 6) {
		case 1: /* advance_loc */
			loc += (op & 0x3f) * cie->code_align;
			if (loc > pc)
				return true;
			continue;
		case 2: /* offset */
			set_slot(s, op & 0x3f, SLOT_CFA, (int64_t)uleb(&c) * cie->data_align);
			continue;
		case 3: /* restore */
			if (!initial)
				return false;
			if ((op & 0x3f) == REG_FP_)
				s->fp = initial->fp;
			else if ((op & 0x3f) == REG_RA_)
				s->ra = initial->ra;
			continue;
		}
		switch (op) {
		case 0x00: /* nop */
			break;
		case 0x01: /* set_loc */
			loc = encoded(&c, cie->fde_enc, 0);
			if (loc > pc)
				return !c.bad;
			break;
		case 0x02: /* advance_loc1, 2, 4 */
		case 0x03:
		case 0x04:
			loc += get(&c, 1u << (op - 2)) * cie->code_align;
			if (loc > pc)
				return !c.bad;
			break;
		case 0x05: /* offset_extended */
			reg = uleb(&c);
			set_slot(s, reg, SLOT_CFA, (int64_t)uleb(&c) * cie->data_align);
			break;
		case 0x06: /* restore_extended */
			reg = uleb(&c);
			if (!initial)
				return false;
			if (reg == REG_FP_)
				s->fp = initial->fp;
			else if (reg == REG_RA_)
				s->ra = initial->ra;
			break;
		case 0x07: /* undefined */
			set_slot(s, uleb(&c), SLOT_UNDEFINED, 0);
			break;
		case 0x08: /* same_value */
			set_slot(s, uleb(&c), SLOT_SAME, 0);
			break;
		case 0x09: /* register */
			reg = uleb(&c);
			uleb(&c);
			set_slot(s, reg, SLOT_ODD, 0);
			break;
		case 0x0a: /* remember_state */
			if (depth == sizeof(stack) / sizeof(stack[0]))
				return false;
			stack[depth++] = *s;
			break;
		case 0x0b: /* restore_state */
			if (!depth)
				return false;
			*s = stack[--depth];
			break;
		case 0x0c: /* def_cfa */
			s->cfa = C_REG;
			s->reg = uleb(&c);
			s->off = (int64_t)uleb(&c);
			break;
		case 0x0d: /* def_cfa_register */
			if (s->cfa != C_REG)
				return false;
			s->reg = uleb(&c);
			break;
		case 0x0e: /* def_cfa_offset */
			if (s->cfa != C_REG)
				return false;
			s->off = (int64_t)uleb(&c);
			break;
		case 0x0f: /* def_cfa_expression */
			len = uleb(&c);
			e = c;
			skip(&c, len);
			e.end = c.at;
			if (!c.bad)
				cfa_expression(s, e);
			break;
		case 0x10: /* expression */
		case 0x16: /* val_expression */
			reg = uleb(&c);
			len = uleb(&c);
			e = c;
			skip(&c, len);
			e.end = c.at;
			if (c.bad)
				break;
			if (op == 0x10)
				reg_expression(s, reg, e);
			else
				set_slot(s, reg, SLOT_ODD, 0);
			break;
		case 0x11: /* offset_extended_sf */
			reg = uleb(&c);
			set_slot(s, reg, SLOT_CFA, sleb(&c) * cie->data_align);
			break;
		case 0x12: /* def_cfa_sf */
			s->cfa = C_REG;
			s->reg = uleb(&c);
			s->off = sleb(&c) * cie->data_align;
			break;
		case 0x13: /* def_cfa_offset_sf */
			if (s->cfa != C_REG)
				return false;
			s->off = sleb(&c) * cie->data_align;
			break;
		case 0x14: /* val_offset */
			set_slot(s, uleb(&c), SLOT_ODD, 0);
			uleb(&c);
			break;
		case 0x15: /* val_offset_sf */
			set_slot(s, uleb(&c), SLOT_ODD, 0);
			sleb(&c);
			break;
#if defined(__aarch64__)
		case 0x2d: /* AARCH64_negate_ra_state: addresses are stripped anyway */
		case 0x2c: /* AARCH64_negate_ra_state_with_pc */
			break;
#endif
		case 0x2e: /* GNU_args_size */
			uleb(&c);
			break;
		case 0x2f: /* GNU_negative_offset_extended */
			reg = uleb(&c);
			set_slot(s, reg, SLOT_CFA, -(int64_t)uleb(&c) * cie->data_align);
			break;
		default:
			return false;
		}
	}
	return !c.bad;
}

/* The code that the kernel lets signal handlers return to; n bytes can be read. */
static bool is_sigreturn(uintptr_t pc, size_t n)
{
#if defined(__x86_64__)
	static const uint8_t code[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };
#else
	static const uint8_t code[] = { 0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4 };
#endif

	return n >= sizeof(code) && memcmp((const void *)pc, code, sizeof(code)) == 0;
}

/*
 * The rule for pc in m; row is the address whose row counts (inside the call
 * instruction, for a return address).
 */
static struct rule parse(const struct krt_module *m, uintptr_t pc, uintptr_t row)
{
	const struct rule none = { .cfa = CFA_NONE };
	struct rule r = { .cfa = CFA_NONE };
	struct state s = { .cfa = C_ODD }, initial;
	uintptr_t fde = m->eh_hdr ? find_fde(m, row) : 0, start, cie_at;
	uint64_t len, delta;
	struct cursor c;
	struct cie cie;

	c = cursor_in(m, pc);
	if (!c.bad && is_sigreturn(pc, c.end - c.at))
		return (struct rule){ .cfa = CFA_SIGNAL };
	if (!fde)
		return none;
	c = cursor_in(m, fde);
	if (!enter(&c))
		return none;
	cie_at = (uintptr_t)c.at;
	delta = get(&c, 4);
	if (!delta || !read_cie(m, cie_at - delta, &cie))
		return none;
	start = encoded(&c, cie.fde_enc, 0);
	len = encoded(&c, cie.fde_enc & 0x0f, 0);
	if (c.bad || row < start || row - start >= len)
		return none;
	if (cie.has_aug)
		skip(&c, uleb(&c));
	if (c.bad)
		return none;
	if (cie.signal)
		return (struct rule){ .cfa = CFA_SIGNAL };
	if (!run(cie.program, &cie, &s, NULL, 0, UINTPTR_MAX))
		return none;
	initial = s;
	if (!run(c, &cie, &s, &initial, start, row))
		return none;

	if (s.ra.how == SLOT_UNDEFINED)
		return (struct rule){ .cfa = CFA_END };
	if (s.cfa == C_REG && s.reg == REG_SP_)
		r.cfa = CFA_SP;
	else if (s.cfa == C_REG && s.reg == REG_FP_)
		r.cfa = CFA_FP;
	else if (s.cfa == C_FP_REF)
		r.cfa = CFA_FP_REF;
	else if (s.cfa == C_PLT) {
		r.cfa = CFA_SP;
		s.off = 8 + ((row & 15) >= 11 ? 8 : 0);
#if defined(__x86_64__)
	} else if (s.cfa == C_REG && s.reg < 16) {
		r.cfa = CFA_OTHER;
#endif
	} else {
		return none;
	}
	if (!fits(s.off, 32) || !fits(s.fp.off, 32) || !fits(s.ra.off, 32))
		return none;
	r.cfa_off = s.off;
	if (s.ra.how == SLOT_CFA)
		r.ra_off = s.ra.off;
	else if (s.ra.how != SLOT_SAME)
		return none;
#if defined(__x86_64__)
	if (r.ra_off != -8)
		return none;
	if (r.cfa == CFA_OTHER)
		r.ra_off = s.reg * 8;
#endif
	switch (s.fp.how) {
	case SLOT_SAME:
		r.fp = FP_SAME;
		break;
	case SLOT_CFA:
		r.fp = FP_CFA;
		r.fp_off = s.fp.off;
		break;
	case SLOT_FP:
		r.fp = FP_FP;
		r.fp_off = s.fp.off;
		break;
	case SLOT_UNDEFINED:
	case SLOT_ODD:
		r.fp = FP_LOST;
		break;
	}
	return r;
}

/* ---- the walk ------------------------------------------------------------------------------ */

struct walk {
	uintptr_t lo, hi;   /* readable */
	bool guessed;       /* a step relied on a frame pointer without table */
	bool asked;         /* the loader was asked in this walk */
	bool quiet;
	uintptr_t sp, fp, lr;
	uintptr_t regs;     /* where the signal left the general registers */
	bool sp_known;
};

/* how = -1 is refused, but only after the set was read. */
static __attribute__((noinline)) bool probe_sigmask(uintptr_t addr)
{
	return syscall(SYS_rt_sigprocmask, -1, (const void *)addr, NULL, 8) == -1 && errno == EINVAL;
}

static bool probe(uintptr_t addr)
{
	static _Atomic int works; /* 0: not tried, 1: yes, -1: an emulator that looks at how first */
	int w = atomic_load_explicit(&works, memory_order_relaxed);

	if (!w) {
		w = probe_sigmask(8) ? -1 : 1;
		atomic_store_explicit(&works, w, memory_order_relaxed);
	}
	if (w > 0)
		return probe_sigmask(addr);
	/* tells mapped from unmapped only */
	return syscall(SYS_msync, addr & ~(PAGE - 1), PAGE, MS_ASYNC) == 0;
}

static __attribute__((noinline)) bool readable(struct walk *w, uintptr_t addr)
{
	uintptr_t page = addr & ~(PAGE - 1);

	if ((addr & 7) || addr < PAGE || addr > ADDR_MASK || !probe(addr))
		return false;
	/* a large frame: the pages between are the stack's, too, if they can be read */
	if (page > w->hi && page - w->hi <= GAP_MAX && w->hi > w->lo)
		while (w->hi < page && probe(w->hi))
			w->hi += PAGE;
	if (page == w->hi && w->hi > w->lo) {
		w->hi += PAGE;
	} else {
		w->lo = page;
		w->hi = page + PAGE;
	}
	return true;
}

static inline bool load(struct walk *w, uintptr_t addr, uintptr_t *v)
{
	if ((addr & 7) || addr < w->lo || addr >= w->hi)
		if (!readable(w, addr))
			return false;
	*v = *(const uintptr_t *)addr;
	return true;
}

static inline uintptr_t strip(uintptr_t pc)
{
#if defined(__aarch64__)
	return pc & ADDR_MASK; /* the signature lies above the address bits */
#else
	return pc;
#endif
}

/* The known object that has code at pc. */
static const struct krt_module *code_at(struct walk *w, uintptr_t pc)
{
	const struct krt_module *m = krt_module_at(pc);

	if (!m && !w->asked && !w->quiet) {
		w->asked = true;
		krt_modules_refresh();
		m = krt_module_at(pc);
	}
	return m && krt_module_code(m, pc) ? m : NULL;
}

/* Does a call instruction end at pc?  Guards guesses only. */
static bool after_call(const struct krt_module *m, uintptr_t pc)
{
#if defined(__x86_64__)
	const uint8_t *p = (const uint8_t *)pc;

	if (!krt_module_has(m, pc - 7, 7))
		return false;
	if (p[-5] == 0xe8)
		return true;
	for (unsigned n = 2; n <= 7; n++) /* ff /2 with any addressing */
		if (p[-(int)n] == 0xff && ((p[1 - (int)n] >> 3) & 7) == 2)
			return true;
	return false;
#else
	uint32_t insn;

	if (!krt_module_has(m, pc - 4, 4))
		return false;
	memcpy(&insn, (const void *)(pc - 4), 4);
	return (insn & 0xfc000000) == 0x94000000 || (insn & 0xfffffc1f) == 0xd63f0000 ||
	       (insn & 0xfefff800) == 0xd63f0800; /* bl, blr, blraa... */
#endif
}

/* No rule: is there a frame record at fp that leads on? */
static bool step_fp(struct walk *w, uintptr_t *pc)
{
	uintptr_t fp = w->fp, ra, up;
	const struct krt_module *m;

	if (!w->guessed) {
		w->guessed = true;
		w->lo = w->hi = 0;
	}
	if ((fp & 7) || (w->sp_known && fp < w->sp) || fp - w->sp > (64u << 20) || !load(w, fp, &up) ||
	    !load(w, fp + 8, &ra))
		return false;
	ra = strip(ra);
	m = code_at(w, ra - 1);
	if (!m || !after_call(m, ra))
		return false;
	/* up may be anything: the caller need not use its frame pointer as one */
	*pc = ra;
	w->fp = up;
	w->sp = fp + 16;
#if defined(__aarch64__)
	w->sp_known = false; /* the record lies at the bottom of the frame */
#endif
	return true;
}

static bool step_signal(struct walk *w, uintptr_t *pc)
{
#if defined(__x86_64__)
	uintptr_t uc = w->sp;
	uintptr_t regs = uc + offsetof(ucontext_t, uc_mcontext.gregs);

	w->regs = regs;
	if (!load(w, regs + 8 * REG_RIP, pc) || !load(w, regs + 8 * REG_RBP, &w->fp) ||
	    !load(w, regs + 8 * REG_RSP, &w->sp))
		return false;
#else
	uintptr_t uc = w->sp + 128; /* after the siginfo */

	if (!load(w, uc + offsetof(ucontext_t, uc_mcontext.pc), pc) ||
	    !load(w, uc + offsetof(ucontext_t, uc_mcontext.regs) + 8 * 29, &w->fp) ||
	    !load(w, uc + offsetof(ucontext_t, uc_mcontext.regs) + 8 * 30, &w->lr) ||
	    !load(w, uc + offsetof(ucontext_t, uc_mcontext.sp), &w->sp))
		return false;
	w->sp_known = true;
#endif
	return true;
}

/* Undo one frame by its packed rule.  interrupted: pc is no return address. */
static inline bool step(struct walk *w, uint64_t p, uintptr_t *pc, bool interrupted)
{
	uintptr_t cfa, fp = w->fp;

	switch (P_CFA(p)) {
	case CFA_SP:
#if defined(__aarch64__)
		if (!w->sp_known)
			return step_fp(w, pc);
#endif
		cfa = w->sp + P_CFA_OFF(p);
		break;
	case CFA_FP:
		cfa = fp + P_CFA_OFF(p);
		break;
	case CFA_FP_REF:
		if (!load(w, fp + P_CFA_OFF(p), &cfa))
			return false;
		break;
	case CFA_NONE:
		return step_fp(w, pc);
#if defined(__x86_64__)
	case CFA_OTHER: {
		/* by DWARF number */
		static const uint8_t greg[16] = { REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
						  REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
						  REG_R12, REG_R13, REG_R14, REG_R15 };

		if (!interrupted)
			return step_fp(w, pc);
		if (!load(w, w->regs + 8 * greg[P_RA_OFF(p) / 8], &cfa))
			return false;
		cfa += P_CFA_OFF(p);
		break;
	}
#endif
	default:
		return false;
	}
#if defined(__x86_64__)
	(void)interrupted;
	if (cfa <= w->sp || !load(w, cfa - 8, pc))
		return false;
#else
	if (P_RA_OFF(p) != 0) {
		if ((w->sp_known && cfa <= w->sp) || !load(w, cfa + P_RA_OFF(p), pc))
			return false;
		*pc = strip(*pc);
	} else {
		/* a leaf, which only a signal can leave on the stack */
		if (!interrupted || cfa < w->sp)
			return false;
		*pc = strip(w->lr);
	}
#endif
	switch (P_FP(p)) {
	case FP_CFA:
		if (!load(w, cfa + P_FP_OFF(p), &w->fp))
			return false;
		break;
	case FP_FP:
		if (!load(w, fp + P_FP_OFF(p), &w->fp))
			return false;
		break;
	case FP_LOST:
		w->fp = 0;
		break;
	}
	w->sp = cfa;
	w->sp_known = true;
	return true;
}

/* The rule for pc when the cache has none; false: no code of a known object. */
static __attribute__((noinline)) bool look_up(struct walk *w, uintptr_t pc, bool interrupted,
					       uint64_t *p)
{
	unsigned epoch = atomic_load_explicit(&flushes, memory_order_seq_cst);
	uintptr_t row = interrupted ? pc : pc - 1;
	const struct krt_module *m;
	struct rule r;

	if (pc < PAGE || pc > ADDR_MASK)
		return false;
	m = code_at(w, row);
	if (!m) {
		/* a trampoline that no object owns, as old kernels and emulators have it */
		*p = CFA_SIGNAL;
		return !(pc & 7) && (pc & (PAGE - 1)) <= PAGE - 16 && probe(pc) && probe(pc + 8) &&
		       is_sigreturn(pc, 16);
	}
	r = parse(m, pc, row);
	*p = pack(&r);
	if (!interrupted)
		remember(pc, *p, epoch);
	return true;
}

static __attribute__((noinline)) void ask_loader(struct walk *w)
{
	if (w->quiet)
		return;
	w->asked = true;
	krt_modules_refresh();
}

/* ---- the last walk ---- */

/* This walk against the last one. */
struct meeting {
	struct krt_unwind_memo *m; /* NULL: none is kept */
	unsigned fresh;            /* steps that are not in m->step, innermost first */
	int at;                    /* the kept state to compare with next */
	int met;                   /* from this one on the walks are the same so far, -1: they are not */
};

/* Was the step from one state to the next by words that can be compared? */
static void note_step(struct krt_unwind_step *s, const struct walk *w, uint64_t p, bool interrupted)
{
	int64_t ra = P_RA_OFF(p), fp = 0;

	s->ra_at = s->fp_at = 0;
	if (interrupted || w->guessed || (P_CFA(p) != CFA_SP && P_CFA(p) != CFA_FP) || !ra || !w->sp_known)
		return;
	if (P_FP(p) == FP_CFA)
		fp = P_FP_OFF(p);
	else if (P_FP(p) == FP_FP)
		fp = (int64_t)(s->fp + P_FP_OFF(p) - w->sp);
	if (P_FP(p) != FP_SAME && P_FP(p) != FP_LOST && (!fp || !fits(fp, 32)))
		return;
	s->fp_at = (int32_t)fp;
	s->ra_at = (int32_t)ra;
}

/* Would the step from a to b, the next one out, give b again? */
static inline bool still(struct walk *w, const struct krt_unwind_step *a, const struct krt_unwind_step *b)
{
	uintptr_t v;

	if (!a->ra_at || !load(w, b->sp + (uintptr_t)(intptr_t)a->ra_at, &v) || strip(v) != b->pc)
		return false;
	return !a->fp_at || (load(w, b->sp + (uintptr_t)(intptr_t)a->fp_at, &v) && v == b->fp);
}

static void add_fresh(struct meeting *g, const struct krt_unwind_step *s)
{
	if (g->fresh < KRT_UNWIND_KEPT)
		g->m->fresh[g->fresh++] = *s;
	else
		g->m->n = 0;
}

/* A step that had to be made anew led on: what was the same before it is kept as new. */
static void part(struct meeting *g)
{
	if (g->met < 0)
		return;
	for (int i = g->met; i > g->at; i--)
		add_fresh(g, &g->m->step[i]);
	g->met = -1;
	g->at--;
}

/* Is the walk where the last one was? */
static inline bool meets(struct meeting *g, const struct walk *w, uintptr_t pc)
{
	const struct krt_unwind_step *s = g->m->step;

	while (g->at >= 0 && s[g->at].sp < w->sp)
		g->at--;
	return g->at >= 0 && s[g->at].sp == w->sp && s[g->at].pc == pc && s[g->at].fp == w->fp && w->sp_known;
}

/* Keeps what is new in place of what was not met again. */
static void keep(struct meeting *g)
{
	struct krt_unwind_memo *m = g->m;
	unsigned base = (unsigned)(g->met + 1), over;

	if (!m->n || atomic_load_explicit(&flushes, memory_order_seq_cst) != m->epoch)
		base = 0;
	over = base + g->fresh > KRT_UNWIND_KEPT ? base + g->fresh - KRT_UNWIND_KEPT : 0;
	if (over)
		memmove(m->step, m->step + over, (base - over) * sizeof(*m->step));
	base -= over;
	for (unsigned i = 0; i < g->fresh; i++)
		m->step[base + g->fresh - 1 - i] = m->fresh[i];
	m->n = base + g->fresh;
}

/* noinline: its frame is where the walk begins. */
__attribute__((noinline)) unsigned krt_unwind(uint64_t *out, unsigned max, struct krt_unwind_memo *memo)
{
	const uintptr_t *frame = __builtin_frame_address(0);
	uint64_t range = atomic_load_explicit(&tls.stack, memory_order_relaxed), e, p;
	const struct krt_module *self;
	uintptr_t pc, self_lo = 0, self_len = 0;
	int saved_errno = errno;
	bool interrupted = false;
	unsigned n = 0;
	struct meeting g = { .m = memo, .at = -1, .met = -1 };
	struct krt_unwind_step this;
	struct walk w = {
		.lo = (range >> 28) * PAGE,
		.hi = ((range >> 28) + (range & ((1u << 28) - 1))) * PAGE,
		.quiet = tls.quiet,
		.fp = frame[0],
		.sp = (uintptr_t)__builtin_dwarf_cfa(),
		.sp_known = true,
	};

	pc = strip(frame[1]);
	if ((uintptr_t)frame < w.lo || (uintptr_t)frame >= w.hi) {
		w.lo = (uintptr_t)frame & ~(PAGE - 1);
		w.hi = w.lo + PAGE;
	}
	if (krt_modules_doubtful() ||
	    ++tls.walks % STALE_EVERY == 0 || !krt_module_self())
		ask_loader(&w);
	self = krt_module_self();
	if (self && self->role == KRT_MODULE_KRTSAN) {
		self_lo = self->base;
		self_len = self->end - self->base;
	}
	if (memo) {
		unsigned epoch = atomic_load_explicit(&flushes, memory_order_seq_cst);

		memo->n = memo->epoch == epoch ? memo->n : 0;
		memo->epoch = epoch;
		g.at = (int)memo->n - 1;
	}
	for (unsigned steps = 0; n < max && steps < max + 64; steps++) {
		unsigned h;
		bool on;

		if (g.at >= 0 && !interrupted && meets(&g, &w, pc)) {
			const struct krt_unwind_step *s = &memo->step[g.at];

			for (g.met = g.at; g.at && n < max && still(&w, s, s - 1); g.at--, s--) {
				if (s->pc - self_lo >= self_len)
					out[n++] = s->pc;
			}
			pc = s->pc;
			w.sp = s->sp;
			w.fp = s->fp;
			if (n == max)
				break;
		}
		h = cache_slot(pc);
		e = interrupted ? 0 : atomic_load_explicit(&cache[h], memory_order_acquire);
		if (e >> 16 != pc && !interrupted)
			e = atomic_load_explicit(&cache[h ^ 1], memory_order_acquire);
		if (e >> 16 == pc && pc)
			p = atomic_load_explicit(&dict[e & 0xffff], memory_order_relaxed);
		else if (!look_up(&w, pc, interrupted, &p))
			break;
		/*
		 * Where a handler of ours was called, the trampoline that called it is no frame
		 * of the program's; and what it interrupted is no return address, of which
		 * readers take the instruction before.
		 */
		if (pc - self_lo >= self_len && (n || P_CFA(p) != CFA_SIGNAL)) {
			out[n] = pc + (interrupted && !n);
			n++;
		}
		this = (struct krt_unwind_step){ .pc = pc, .sp = w.sp, .fp = w.fp };
		on = P_CFA(p) == CFA_SIGNAL ? step_signal(&w, &pc) : step(&w, p, &pc, interrupted);
		if (memo && (on || g.met < 0)) {
			if (on)
				note_step(&this, &w, p, interrupted);
			part(&g);
			add_fresh(&g, &this);
		}
		if (!on)
			break;
		interrupted = P_CFA(p) == CFA_SIGNAL;
	}
	if (memo)
		keep(&g);
	if (!w.guessed && w.hi - w.lo < (PAGE << 28))
		atomic_store_explicit(&tls.stack, w.lo / PAGE << 28 | (w.hi - w.lo) / PAGE,
				      memory_order_relaxed);
	errno = saved_errno;
	return n;
}
