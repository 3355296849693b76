/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which bytes an operation touches, and what it meets there.  Strided copies
 * are taken row by row, so that what lies between the rows is not touched.
 *
 * Accesses to every byte meet each other: certain.  Of a kernel's hull, with or
 * without gaps, some bytes may be touched and none outside: likely.  A kernel of
 * which only a pointer is known is anchored at that byte: where its role is known
 * too, likely against whatever covers the byte, else against a copy or set that
 * writes it; possible where nothing but the allocation is shared, certain against
 * the end of the allocation.
 */
#include "engine_int.h"

#include <string.h>

#define ANCHORS_MAX 4096       /* remembered pointers of one space */
#define PARTS_MAX   65536	       /* ranges of one space that kernels may have touched */
#define ROWS_MAX    (1u << 18) /* beyond, only the allocation is noted as used, and coverage says so */
#define USERS_PRUNE 12
#define KERNEL_ROWS 8 /* rows of a kernel's access taken one by one; more stay a pattern */

/* A semaphore's signal came after it: whoever waits for that, in another API too, follows it. */
static bool told_outside(const struct krt_engine *e, const struct krt_op_info *prev)
{
	return e->signalled && krt_snapshot_has(e->signalled, KRT_VIEW_DOC, prev->stamp);
}

bool krt_unordered(struct krt_engine *e, const struct krt_op_info *prev,
		   const struct krt_stream_info *s, enum krt_finding_view *view)
{
	if ((prev->ctx && prev->ctx->sticky) || (s && s->ctx->sticky) || told_outside(e, prev))
		return false;
	if (s && prev->stream != s && (s->external || s->external_own || prev->external))
		return false;
	if (!s && krt_host_function_orders(e, KRT_VIEW_DOC, prev))
		return false;
	if (s ? krt_order_before_stream(e->order, KRT_VIEW_DOC, prev->stamp, s->domain)
	      : krt_order_before_host(e->order, KRT_VIEW_DOC, prev->stamp))
		return false;
	*view = (s ? krt_order_before_stream(e->order, KRT_VIEW_OBS, prev->stamp, s->domain)
		   : krt_order_before_host(e->order, KRT_VIEW_OBS, prev->stamp) ||
			     krt_host_function_orders(e, KRT_VIEW_OBS, prev))
			? KRT_DOCUMENTED_ONLY
			: KRT_BOTH_VIEWS;
	return true;
}

bool krt_unordered_read(struct krt_engine *e, const struct krt_touch *t,
			const struct krt_op_info *prev, enum krt_finding_view *view)
{
	bool before[KRT_VIEWS];

	if (t->read[KRT_VIEW_DOC] < KRT_READ_AT_CALL && t->read[KRT_VIEW_OBS] < KRT_READ_AT_CALL)
		return krt_unordered(e, prev, t->stream, view);
	if ((prev->ctx && prev->ctx->sticky) || t->stream->ctx->sticky || t->stream->external ||
	    t->stream->external_own || (prev->external && prev->stream != t->stream) ||
	    told_outside(e, prev))
		return false;
	for (int v = 0; v < KRT_VIEWS; v++)
		before[v] = t->read[v] >= KRT_READ_AT_CALL
				    ? krt_order_before_host(e->order, v, prev->stamp)
				    : krt_order_before_stream(e->order, v, prev->stamp,
							      t->stream->domain);
	if (before[KRT_VIEW_DOC])
		return false;
	*view = before[KRT_VIEW_OBS] ? KRT_DOCUMENTED_ONLY : KRT_BOTH_VIEWS;
	return true;
}

const char *krt_what_of(unsigned kind)
{
	switch (kind) {
	case KRT_ACC_READ:
		return "read";
	case KRT_ACC_WRITE:
		return "write";
	case KRT_ACC_ATOMIC:
		return "write";
	default:
		return "use";
	}
}

static enum krt_rule_id race_rule(unsigned cur, unsigned prev)
{
	if (cur == KRT_ACC_READ)
		return KRT_RULE_RACE_RAW;
	return prev == KRT_ACC_READ ? KRT_RULE_RACE_WAR : KRT_RULE_RACE_WAW;
}

/* --- one piece of one allocation ------------------------------------------------- */

struct meeting {
	struct krt_engine *e;
	const struct krt_touch *t;
	struct krt_mem *mem;
	enum krt_rule_id rule; /* of frees and host accesses */
	struct krt_op_info *op;
	struct krt_stream_info *stream;
	unsigned kind;
	uint16_t pattern;   /* gaps in what is new */
	uint64_t only;	    /* host accesses: the one operation that they are told of, 0: any */
	uint64_t from, end; /* its keys */
};

/* Is the access, somewhere WITHIN a range, of this byte too? */
struct beyond {
	const struct krt_access *a;
	bool found;
};

static void is_beyond(void *user, const struct krt_access *a, uint64_t from, uint64_t end)
{
	struct beyond *b = user;

	(void)from, (void)end;
	b->found |= a->op == b->a->op && a->kind == b->a->kind && a->sure == b->a->sure;
}

static bool goes_beyond(const struct meeting *m, const struct krt_access *a, uint64_t key)
{
	struct beyond b = {.a = a};

	krt_ranges_each(&m->mem->space->may, key, key + 1, is_beyond, &b);
	return b.found;
}

/* Accesses WITHIN a range, and what covers only a part of it: see krt_access_covered. */
static enum krt_confidence covered(const struct meeting *m, enum krt_sureness sure,
				   const struct krt_access *prev, uint64_t from, uint64_t end,
				   enum krt_confidence c)
{
	if (c != KRT_LIKELY)
		return c;
	if (prev->sure == KRT_SURE_WITHIN) {
		from = m->from && goes_beyond(m, prev, m->from - 1) ? 0 : from;
		end = m->end < UINT64_MAX && goes_beyond(m, prev, m->end) ? UINT64_MAX : end;
	}
	return krt_access_covered(c, sure, m->from, m->end, prev->sure, from, end);
}

/* How sure is it by what is known of both sides' bytes?  False: their gaps keep them apart. */
static bool bytes_meet(const struct meeting *m, const struct krt_access *prev, uint64_t from,
		       uint64_t end, enum krt_confidence *c)
{
	struct krt_pattern a, b;

	if (!m->pattern && !prev->pattern)
		return true;
	if (!krt_pattern_of(&m->e->patterns, m->pattern, from, end, &a) ||
	    !krt_pattern_of(&m->e->patterns, prev->pattern, from, end, &b)) {
		*c = KRT_POSSIBLE;
		return true;
	}
	if (!krt_patterns_meet(&a, &b))
		return false;
	if (*c == KRT_CERTAIN && !krt_pattern_share(&a, &b))
		*c = KRT_LIKELY;
	return true;
}

bool krt_beside(const struct krt_op_info *op, const struct krt_op_info *prev)
{
	return op->beside && prev->class == KRT_OPC_KERNEL && prev->stream == op->stream &&
	       prev->stamp.epoch == op->beside;
}

enum krt_confidence krt_sync_confidence(const struct krt_op_info *a, const struct krt_op_info *b,
					enum krt_confidence c)
{
	const struct krt_op_info *spins = a->spins ? a : b, *other = spins == a ? b : a;

	if (!spins->spins)
		return c;
	if (other->class == KRT_OPC_COPY || other->class == KRT_OPC_SET)
		return other->large ? c : KRT_POSSIBLE;
	if (other->class != KRT_OPC_KERNEL)
		return c;
	if ((!other->large && !other->spins) ||
	    ((other->spins || other->ordered) && a->kernel != b->kernel))
		return KRT_POSSIBLE;
	if (a->locks && b->locks)
		return KRT_POSSIBLE; /* no race, where all is done under the lock */
	return c < KRT_LIKELY ? c : KRT_LIKELY;
}

static void meet(void *user, const struct krt_access *prev, uint64_t from, uint64_t end)
{
	struct meeting *m = user;
	const struct krt_touch *t = m->t;
	struct krt_pair p = {.view = KRT_BOTH_VIEWS};
	bool unknown = prev->kind == KRT_ACC_UNKNOWN;

	/* What is known by a pointer alone is compared with kernels, and reads, among the users. */
	if (unknown && (t->kind != KRT_ACC_WRITE || t->op->class == KRT_OPC_KERNEL))
		return;
	if ((prev->sure == KRT_SURE_FROM && t->sure != KRT_SURE_ALL) ||
	    (t->sure == KRT_SURE_FROM && prev->sure != KRT_SURE_ALL))
		return;
	p.confidence = unknown ? KRT_LIKELY : krt_access_confidence(t->sure, prev->sure);
	if (prev->op == t->op) {
		if (prev->item == t->item)
			return;
		p.same_op = true;
	} else if (krt_beside(t->op, prev->op)) {
		/* what came before its trigger may be there in fact */
		if (p.confidence > KRT_LIKELY)
			p.confidence = KRT_LIKELY;
	} else if (!krt_unordered_read(m->e, t, prev->op, &p.view)) {
		return;
	}
	if (!bytes_meet(m, prev, from, end, &p.confidence))
		return;
	p.confidence = covered(m, t->sure, prev, from, end, p.confidence);
	p.confidence = krt_sync_confidence(t->op, prev->op, p.confidence);
	p.rule = unknown ? KRT_RULE_RACE_WAR : race_rule(t->kind, prev->kind);
	p.cur = t->op;
	p.prev = prev->op;
	p.cur_what = krt_what_of(t->kind);
	p.prev_what = krt_what_of(prev->kind);
	p.cur_know = (uint8_t)t->know;
	p.prev_know = prev->know;
	p.cur_sure = (uint8_t)t->sure;
	p.prev_sure = prev->sure;
	p.cur_item = t->item;
	p.prev_item = prev->item;
	p.gaps = m->pattern || prev->pattern;
	p.mem = m->mem;
	p.from = krt_mem_addr(m->mem, from);
	p.end = krt_mem_addr(m->mem, end);
	krt_pair_add(m->e, &p);
}

/*
 * Launches that update the same bytes atomically: a sum is right in any order, a
 * grid-wide barrier is not.  Cooperative launches have such barriers.
 */
static void meet_coop(void *user, const struct krt_access *prev, uint64_t from, uint64_t end)
{
	struct meeting *m = user;
	struct krt_op_info *op = m->t->op;
	struct krt_pair p = {.rule = KRT_RULE_COOP_SHARED};

	if (prev->kind != KRT_ACC_ATOMIC || !(prev->op->coop || op->coop) ||
	    prev->op->seq == op->seq || /* the grids of one launch over several devices */
	    !krt_unordered(m->e, prev->op, m->t->stream, &p.view) ||
	    !bytes_meet(m, prev, from, end, &p.confidence))
		return;
	/* of a word some bytes are all of it */
	p.confidence = prev->op->coop && op->coop &&
				       ((m->t->sure == KRT_SURE_ALL && prev->sure == KRT_SURE_ALL) ||
					(m->t->sure <= KRT_SURE_SOME && prev->sure <= KRT_SURE_SOME &&
					 end - from <= 8))
			       ? KRT_CERTAIN
			       : KRT_POSSIBLE;
	p.cur = op;
	p.prev = prev->op;
	p.cur_what = p.prev_what = "use";
	p.cur_know = (uint8_t)m->t->know;
	p.prev_know = prev->know;
	p.cur_sure = (uint8_t)m->t->sure;
	p.prev_sure = prev->sure;
	p.mem = m->mem;
	p.from = krt_mem_addr(m->mem, from);
	p.end = krt_mem_addr(m->mem, end);
	krt_pair_add(m->e, &p);
}

/* t: NULL, or what tells when a source is read: it need not be in stream order. */
static void use_before_alloc(struct krt_engine *e, struct krt_op_info *op, struct krt_mem *mem,
			     const struct krt_touch *t, unsigned kind, unsigned know,
			     enum krt_sureness sure, enum krt_confidence confidence)
{
	struct krt_pair p = {.rule = KRT_RULE_UBA_STREAM,
			     .confidence = confidence,
			     .cur_sure = (uint8_t)sure};

	if (!mem->alloc_op)
		return;
	if (krt_order_settled(e->order, mem->alloc_op->stamp)) {
		krt_op_unref(&e->heap, mem->alloc_op);
		mem->alloc_op = NULL;
		return;
	}
	if (t ? !krt_unordered_read(e, t, mem->alloc_op, &p.view)
	      : !krt_unordered(e, mem->alloc_op, op->stream, &p.view))
		return;
	p.cur = op;
	p.prev = mem->alloc_op;
	p.cur_what = kind ? krt_what_of(kind) : "free";
	p.prev_what = "allocate";
	p.cur_know = know;
	p.prev_know = KRT_KNOW_API;
	p.mem = mem;
	krt_pair_add(e, &p);
}

void krt_touch_alloc(struct krt_engine *e, struct krt_op_info *op, struct krt_mem *mem)
{
	if (e->judge && !e->exiting)
		use_before_alloc(e, op, mem, NULL, 0, KRT_KNOW_API, KRT_SURE_ALL, KRT_CERTAIN);
}

static void use_after_free(struct krt_engine *e, struct krt_op_info *op, const struct krt_mem *mem,
			   uint64_t from, uint64_t end, unsigned kind, unsigned know,
			   enum krt_sureness sure, enum krt_confidence confidence)
{
	struct krt_pair p = {.rule = KRT_RULE_UAF_STREAM,
			     .confidence = confidence,
			     .view = KRT_BOTH_VIEWS,
			     .cur_sure = (uint8_t)sure};

	if (mem->free_external || !mem->free_op || (op->ctx && op->ctx->sticky) ||
	    (op->stream && (op->stream->external || op->stream->external_own)))
		return;
	p.cur = op;
	p.prev = mem->free_op;
	p.cur_what = krt_what_of(kind);
	p.prev_what = "free";
	p.cur_know = know;
	p.prev_know = KRT_KNOW_API;
	p.mem = mem;
	p.from = from;
	p.end = end < mem->node.key + mem->size ? end : mem->node.key + mem->size;
	krt_pair_add(e, &p);
}

static bool settled(void *user, const struct krt_access *a)
{
	struct krt_engine *e = user;

	if (krt_order_settled(e->order, a->op->stamp))
		return true;
	krt_pattern_mark(&e->patterns, a->pattern);
	return false;
}

static bool op_settled(void *user, struct krt_op_info *op)
{
	struct krt_engine *e = user;

	return krt_order_settled(e->order, op->stamp);
}

/* Before a sure write: what may have happened and is over has nothing more to say. */
struct over {
	struct krt_engine *e;
	krt_domain stream;
};

static bool is_over(void *user, const struct krt_access *a)
{
	struct over *o = user;

	return krt_order_before_stream(o->e->order, KRT_VIEW_DOC, a->op->stamp, o->stream);
}

/* Memory that the CPU may poll. */
static bool host_sees(const struct krt_mem *m)
{
	return m->kind == KRT_MEM_PINNED || m->kind == KRT_MEM_REGISTERED ||
	       m->kind == KRT_MEM_MANAGED || m->kind == KRT_MEM_PAGEABLE;
}

/* Against the end or beginning of memory: a kernel that is given its pointer uses it. */
enum krt_confidence krt_life_confidence(enum krt_sureness sure, bool held)
{
	if (sure == KRT_SURE_ALL)
		return KRT_CERTAIN;
	/* which of a struct's pointers are used may depend on the rest of it */
	return sure == KRT_SURE_WITHIN || sure == KRT_SURE_LIMIT || held ? KRT_LIKELY
									   : KRT_CERTAIN;
}

/* A kernel writes what the CPU can see: word of what came before it, perhaps. */
static void kernel_signal(struct krt_engine *e, const struct krt_mem *mem, const struct krt_stream_info *s)
{
	krt_unfinished_signal(e, s);
	if (mem->kind != KRT_MEM_MANAGED) /* which is data, as a rule */
		krt_host_signal(e, s);
}

static void touch_piece(struct krt_engine *e, const struct krt_touch *t, struct krt_mem *mem,
			uint64_t from, uint64_t end)
{
	enum krt_confidence sure = t->sure == KRT_SURE_ALL ? KRT_CERTAIN : KRT_LIKELY;
	struct meeting m = {
		.e = e, .t = t, .mem = mem, .pattern = t->pattern, .from = from, .end = end};
	struct krt_access a = {.op = t->op,
			       .mapping = mem->serial,
			       .item = t->item,
			       .kind = (uint8_t)t->kind,
			       .know = (uint8_t)t->know,
			       .sure = (uint8_t)t->sure,
			       .pattern = t->pattern};

	if (t->op->class == KRT_OPC_KERNEL) {
		krt_rights_kernel(e, t->op, mem, krt_mem_addr(mem, from), krt_mem_addr(mem, end),
				  krt_what_of(t->kind), t->know, sure);
		if (t->kind != KRT_ACC_READ && host_sees(mem))
			kernel_signal(e, mem, t->stream);
	}
	use_before_alloc(e, t->op, mem, t, t->kind, t->know, t->sure, sure);
	krt_ranges_conflicts(&mem->space->sure, from, end, t->kind, meet, &m);
	if (t->kind == KRT_ACC_ATOMIC) {
		krt_ranges_each(&mem->space->sure, from, end, meet_coop, &m);
		krt_ranges_each(&mem->space->may, from, end, meet_coop, &m);
	}
	if (mem->space->may.tree.count) {
		krt_ranges_conflicts(&mem->space->may, from, end, t->kind, meet, &m);
		if (t->kind == KRT_ACC_WRITE && t->sure == KRT_SURE_ALL && !t->pattern) {
			struct over o = {.e = e, .stream = t->stream->domain};

			krt_ranges_prune(&e->heap, &mem->space->may, from, end, is_over, &o);
		}
	}
	if (mem->space->past.tree.count ||
	    (e->mem.returned.count && mem->kind != KRT_MEM_ARRAY)) {
		struct krt_reuse r = {.op = t->op,
				      .stream = t->stream,
				      .kind = t->kind,
				      .know = t->know,
				      .sure = t->sure,
				      .pattern = t->pattern,
				      .touch = t};

		krt_reuse_touch(e, &r, mem, from, end);
	}
	if (mem->space->graphs) {
		struct krt_pattern gaps;
		struct krt_graph_touch g = {.op = t->op,
					    .stream = t->stream,
					    .mem = mem,
					    .kind = t->kind,
					    .know = t->know,
					    .sure = t->sure,
					    .touch = t,
					    .forget = t->forget};

		if (!krt_pattern_of(&e->patterns, t->pattern, from, end, &gaps))
			g.sure = KRT_SURE_LIMIT;
		else if (t->pattern)
			g.pattern = &gaps;
		krt_graph_meet(e, &g, from, end);
	}
	if (t->passing) /* beside what the stream's accesses left, which it must not replace */
		krt_ranges_add(&e->heap, &mem->space->may, from, end, &a);
	if (t->forget)
		return;
	krt_space_busy(&e->mem, mem->space);
	if (t->sure == KRT_SURE_ALL && !t->pattern)
		krt_ranges_add(&e->heap, &mem->space->sure, from, end, &a);
	else if (mem->space->may.tree.count < PARTS_MAX) /* beyond, the users stand for it */
		krt_ranges_add(&e->heap, &mem->space->may, from, end, &a);
	e->since_sweep++;
}

struct krt_mem *krt_piece_at(struct krt_engine *e, uint64_t addr, uint64_t end, uint64_t *to)
{
	struct krt_mem *mem = krt_mem_from(&e->mem, addr);

	*to = end;
	if (!mem)
		return NULL;
	if (mem->node.key > addr) {
		if (mem->node.key < end)
			*to = mem->node.key;
		return NULL;
	}
	if (!mem->size)
		*to = addr + 1;
	else if (mem->node.key + mem->size < end)
		*to = mem->node.key + mem->size;
	return mem;
}

/* [addr, addr+len) by allocations. */
static void touch_range(struct krt_engine *e, const struct krt_touch *t, const struct krt_shape *s,
			uint64_t addr, uint64_t len)
{
	uint64_t end = addr + len;

	if (end < addr)
		end = UINT64_MAX;
	if (s->array) {
		if (t->only && end > s->array->size)
			end = s->array->size;
		if (addr < end)
			touch_piece(e, t, s->array, addr, end);
		return;
	}
	while (addr < end && !e->heap.failed) {
		const struct krt_mem *freed;
		uint64_t to;
		struct krt_mem *mem = krt_piece_at(e, addr, end, &to);

		if (mem) {
			if (!t->only || t->only == mem)
				touch_piece(e, t, mem, krt_mem_key(mem, addr),
					    krt_mem_key(mem, to));
			addr = to;
			continue;
		}
		if (!t->only) {
			freed = s->host ? NULL : krt_mem_freed_at(&e->mem, addr);
			if (freed)
				use_after_free(e, t->op, freed, addr, to, t->kind, t->know, t->sure,
					       krt_life_confidence(t->sure, t->held));
			else if (t->sure == KRT_SURE_ALL) /* what a hull covers besides is no use */
				touch_piece(e, t, s->host ? &e->mem.pageable : &e->mem.unknown,
					    addr, to);
		}
		addr = to;
	}
}

/* The users of the block that addr lies in, else of the allocation.  *block: its serial, or 0. */
static struct krt_users *users_of(struct krt_engine *e, struct krt_mem *mem, uint64_t addr,
				  uint32_t *block)
{
	struct krt_block *b = mem->kind == KRT_MEM_ARRAY ? NULL : krt_block_at(&e->mem, addr);

	*block = b ? b->serial : 0;
	return b ? &b->users : &mem->users;
}

/* Time in proportion to what is added, also where nothing is ever over. */
static void prune_users(struct krt_engine *e, struct krt_users *u)
{
	if (u->count < USERS_PRUNE || u->count < u->prune_at)
		return;
	krt_users_prune(&e->heap, u, op_settled, e);
	u->prune_at = 2 * u->count;
}

static void note_users(struct krt_engine *e, struct krt_mem *mem, struct krt_user *proto)
{
	struct krt_users *u = users_of(e, mem, proto->anchor, &proto->block);

	prune_users(e, u);
	krt_users_note(&e->mem, u, proto);
	if (u != &mem->users) {
		krt_entry(u, struct krt_block, users)->touched = true;
		prune_users(e, &mem->users);
		krt_users_note(&e->mem, &mem->users, proto);
	}
}

/* Kernels that hold a pointer into the same allocation and may reach as far. */
static void meet_users(struct krt_engine *e, const struct krt_touch *t, struct krt_mem *mem,
		       uint64_t addr)
{
	uint32_t block;
	const struct krt_users *u = users_of(e, mem, addr, &block);

	for (uint32_t i = 0; i < u->count; i++) {
		const struct krt_user *x = &u->user[i];
		struct krt_op_info *prev = x->op;
		enum krt_finding_view view;
		struct krt_pair p;
		bool coop = t->kind == KRT_ACC_ATOMIC && t->op->coop && prev->coop;

		if ((x->sort != KRT_USER_POINTER && x->sort != KRT_USER_WORD) ||
		    x->block != block || prev == t->op ||
		    !(coop || krt_access_conflict(x->kind, t->kind)) ||
		    krt_pair_known(e, prev, mem) || !krt_unordered(e, prev, t->stream, &view))
			continue;
		p = (struct krt_pair){.confidence = KRT_POSSIBLE, .view = view};
		p.rule = x->kind == KRT_ACC_UNKNOWN
				 ? t->kind == KRT_ACC_READ ? KRT_RULE_RACE_RAW : KRT_RULE_RACE_WAR
				 : race_rule(t->kind, x->kind);
		if (coop)
			p.rule = KRT_RULE_COOP_SHARED;
		p.cur = t->op;
		p.prev = prev;
		p.cur_what = krt_what_of(t->kind);
		p.prev_what = krt_what_of(x->kind);
		p.cur_know = (uint8_t)t->know;
		p.prev_know = x->know;
		p.cur_sure = (uint8_t)t->sure;
		p.prev_sure = x->sure;
		p.mem = mem;
		krt_pair_add(e, &p);
	}
}

/* [addr, addr + len) of mem has been touched. */
static void touch_done(struct krt_engine *e, const struct krt_touch *t, struct krt_mem *mem,
		       bool array, uint64_t addr, uint64_t len)
{
	struct krt_user user = {.op = t->op,
				.anchor = addr,
				.kind = (uint8_t)t->kind,
				.know = (uint8_t)t->know,
				.sure = (uint8_t)t->sure,
				.held = t->held};

	if (!mem)
		return;
	if (t->op->class != KRT_OPC_KERNEL)
		user.sort = t->kind == KRT_ACC_READ ? KRT_USER_READ : KRT_USER_WRITE;
	else
		user.sort = t->sure == KRT_SURE_ALL && !t->pattern ? KRT_USER_KERNEL
								    : KRT_USER_PART;
	meet_users(e, t, mem, addr);
	if (!array)
		krt_input_touch(e, t->op, mem, addr, len, t->kind, t->sure);
	if (!t->forget)
		note_users(e, mem, &user);
	if (t->kind != KRT_ACC_READ && !array && t->sure == KRT_SURE_ALL) {
		struct krt_block *b = krt_block_at(&e->mem, addr);

		if (b)
			b->wrote = true;
	}
	if (e->since_sweep > e->sweep_after)
		krt_sweep(e);
}

void krt_shape_join(struct krt_shape *s)
{
	if (s->rows > 1 && s->pitch == s->width && s->width <= UINT64_MAX / s->rows) {
		s->width *= s->rows;
		s->rows = 1;
	}
	if (s->rows == 1 && s->slices > 1 && s->slice_pitch == s->width &&
	    s->width <= UINT64_MAX / s->slices) {
		s->width *= s->slices;
		s->slices = 1;
	}
}

/* Calls fn for the rows of a joined shape.  False: they are too many. */
static bool each_row(struct krt_engine *e, const struct krt_touch *t, const struct krt_shape *s,
		     void (*fn)(struct krt_engine *e, const struct krt_touch *t,
				const struct krt_shape *s, uint64_t addr, uint64_t len))
{
	if (s->slices > ROWS_MAX || s->rows > ROWS_MAX / s->slices)
		return false;
	for (uint64_t z = 0; z < s->slices; z++)
		for (uint64_t y = 0; y < s->rows; y++)
			fn(e, t, s, s->addr + z * s->slice_pitch + y * s->pitch, s->width);
	return true;
}

void krt_touch_shape(struct krt_engine *e, const struct krt_touch *t, const struct krt_shape *shape)
{
	struct krt_shape s = *shape;
	uint64_t len;

	if (t->kind != KRT_ACC_READ)
		krt_shadow_written(e, shape);
	if (!e->judge || !s.width || !s.rows || !s.slices || t->stream->ctx->sticky)
		return;
	krt_shape_join(&s);
	t->op->large |= s.width * s.rows * s.slices > KRT_FLAG_BYTES;
	if (!each_row(e, t, &s, touch_range))
		krt_reason(e, KRT_REASON_ROWS, "%s", krt_api[t->op->api].base);
	len = (s.slices - 1) * s.slice_pitch + (s.rows - 1) * s.pitch + s.width;
	touch_done(e, t, s.array ? s.array : krt_mem_at(&e->mem, s.addr), s.array, s.addr, len);
}

static bool is_passing(void *user, const struct krt_access *a)
{
	return a->op == user;
}

static void passed(struct krt_engine *e, const struct krt_touch *t, const struct krt_shape *s,
		   uint64_t addr, uint64_t len)
{
	uint64_t end = len > UINT64_MAX - addr ? UINT64_MAX : addr + len, to;

	for (; addr < end; addr = to) {
		struct krt_mem *mem = s->array;

		if (s->array)
			to = end;
		else
			mem = krt_piece_at(e, addr, end, &to);
		if (!mem)
			mem = s->host ? &e->mem.pageable : &e->mem.unknown;
		krt_ranges_prune(&e->heap, &mem->space->may, krt_mem_key(mem, addr),
				 krt_mem_key(mem, addr) + (to - addr), is_passing, t->op);
	}
}

void krt_touch_passed(struct krt_engine *e, struct krt_op_info *op, const struct krt_shape *shape)
{
	struct krt_touch t = {.op = op};
	struct krt_shape s = *shape;

	if (!s.width || !s.rows || !s.slices)
		return;
	krt_shape_join(&s);
	each_row(e, &t, &s, passed);
}

enum krt_sem_mem krt_shape_memory(struct krt_engine *e, const struct krt_shape *s)
{
	const struct krt_mem *mem = s->array ? s->array : krt_mem_at(&e->mem, s->addr);

	if (!mem)
		return s->host ? KRT_SEM_MEM_PAGEABLE : KRT_SEM_MEM_DEVICE;
	switch (mem->kind) {
	case KRT_MEM_PINNED:
	case KRT_MEM_REGISTERED:
		return KRT_SEM_MEM_PINNED;
	case KRT_MEM_MANAGED:
		return KRT_SEM_MEM_MANAGED;
	case KRT_MEM_PAGEABLE:
		return KRT_SEM_MEM_PAGEABLE;
	case KRT_MEM_DEVICE:
	case KRT_MEM_POOL:
	case KRT_MEM_MAPPED:
	case KRT_MEM_ARRAY:
	case KRT_MEM_GLOBAL:
	case KRT_MEM_IMPORTED:
	case KRT_MEM_UNKNOWN:
		return KRT_SEM_MEM_DEVICE;
	}
	return KRT_SEM_MEM_DEVICE;
}

/* --- a kernel of which a pointer is known -------------------------------------------- */

/* Of unknown role. */
static void meet_pointer(void *user, const struct krt_access *prev, uint64_t from, uint64_t end)
{
	struct meeting *m = user;
	struct krt_pair p = {.confidence = KRT_POSSIBLE};

	if (prev->op == m->op || !krt_unordered(m->e, prev->op, m->stream, &p.view))
		return;
	if (prev->op->class != KRT_OPC_KERNEL && prev->kind == KRT_ACC_WRITE)
		p.confidence = KRT_LIKELY;
	p.rule = prev->kind == KRT_ACC_READ ? KRT_RULE_RACE_WAR : KRT_RULE_RACE_RAW;
	if (prev->kind == KRT_ACC_ATOMIC && prev->op->coop && m->op->coop)
		p.rule = KRT_RULE_COOP_SHARED;
	p.confidence = krt_sync_confidence(m->op, prev->op, p.confidence);
	p.cur = m->op;
	p.prev = prev->op;
	p.cur_what = "use";
	p.prev_what = krt_what_of(prev->kind);
	p.cur_know = (uint8_t)m->t->know;
	p.cur_sure = KRT_SURE_FROM;
	p.prev_know = prev->know;
	p.prev_sure = prev->sure;
	p.mem = m->mem;
	p.from = krt_mem_addr(m->mem, from);
	p.end = krt_mem_addr(m->mem, end);
	krt_pair_add(m->e, &p);
}

/* Who else may reach what a pointer leads to. */
static void pointer_users(struct krt_engine *e, struct krt_op_info *op, struct krt_mem *mem,
			  const struct krt_kernel_access *a)
{
	uint32_t block;
	const struct krt_users *u = users_of(e, mem, a->addr, &block);

	for (uint32_t i = 0; i < u->count; i++) {
		const struct krt_user *x = &u->user[i];
		struct krt_op_info *prev = x->op;
		bool coop = op->coop && prev->coop && x->sort == KRT_USER_POINTER &&
			    a->know != KRT_KNOW_WORD && x->anchor == a->addr &&
			    a->kind & (KRT_ACC_ATOMIC | KRT_ACC_UNKNOWN) &&
			    x->kind & (KRT_ACC_ATOMIC | KRT_ACC_UNKNOWN);
		enum krt_finding_view view;
		struct krt_pair p;

		if (x->block != block || prev == op ||
		    !(coop || krt_access_conflict(x->kind, a->kind)) ||
		    krt_pair_known(e, prev, mem) || !krt_unordered(e, prev, op->stream, &view))
			continue;
		p = (struct krt_pair){
			.rule = KRT_RULE_RACE_RAW, .confidence = KRT_POSSIBLE, .view = view};
		if (coop)
			p.rule = KRT_RULE_COOP_SHARED;
		else if (x->kind == KRT_ACC_READ)
			p.rule = KRT_RULE_RACE_WAR;
		else if (a->kind != KRT_ACC_UNKNOWN && x->kind != KRT_ACC_UNKNOWN)
			p.rule = race_rule(a->kind, x->kind);
		p.cur = op;
		p.prev = prev;
		p.cur_what = krt_what_of(a->kind);
		p.prev_what = krt_what_of(x->kind);
		p.cur_know = (uint8_t)a->know;
		p.prev_know = x->know;
		p.cur_sure = KRT_SURE_FROM;
		p.prev_sure = x->sure;
		p.mem = mem;
		krt_pair_add(e, &p);
	}
}

/* The byte that a pointer leads to, for all that may follow. */
static void touch_anchor(struct krt_engine *e, struct krt_op_info *op, struct krt_mem *mem,
			 const struct krt_kernel_access *a)
{
	struct krt_touch t = {.op = op,
			      .stream = op->stream,
			      .kind = a->kind,
			      .know = a->know,
			      .sure = KRT_SURE_FROM};
	struct meeting m = {.e = e, .t = &t, .mem = mem, .op = op, .stream = op->stream};
	struct krt_access at = {.op = op,
				.mapping = mem->serial,
				.kind = (uint8_t)a->kind,
				.know = (uint8_t)a->know,
				.sure = KRT_SURE_FROM};
	uint64_t key = krt_mem_key(mem, a->addr);

	if (a->kind == KRT_ACC_UNKNOWN)
		krt_ranges_each(&mem->space->sure, key, key + 1, meet_pointer, &m);
	else
		krt_ranges_conflicts(&mem->space->sure, key, key + 1, a->kind, meet, &m);
	/* when full, the next sweep makes room; until then the users stand for it */
	if (mem->space->may.tree.count < ANCHORS_MAX) {
		krt_space_busy(&e->mem, mem->space);
		krt_ranges_add(&e->heap, &mem->space->may, key, key + 1, &at);
	}
	e->since_sweep++;
	if (mem->space->graphs) {
		struct krt_graph_touch g = {.op = op,
					    .stream = op->stream,
					    .mem = mem,
					    .kind = a->kind,
					    .know = a->know,
					    .sure = KRT_SURE_FROM};

		krt_graph_meet(e, &g, key, key + 1);
	}
}

/* Bytes from addr on to the end of the block or allocation. */
static uint64_t reach(struct krt_engine *e, const struct krt_mem *mem, uint64_t addr)
{
	const struct krt_block *b = krt_block_at(&e->mem, addr);

	return b ? b->node.key + b->size - addr : mem->node.key + mem->size - addr;
}

/* A kernel is given an address, of which its role may be known. */
static void touch_pointer(struct krt_engine *e, struct krt_op_info *op,
			  const struct krt_kernel_access *a)
{
	struct krt_mem *mem = krt_mem_at(&e->mem, a->addr);
	bool word = a->know == KRT_KNOW_WORD;
	struct krt_user user = {.op = op,
				.anchor = a->addr,
				.sort = word ? KRT_USER_WORD : KRT_USER_POINTER,
				.kind = (uint8_t)a->kind,
				.know = (uint8_t)a->know,
				.sure = KRT_SURE_FROM,
				.held = a->within > 8,
				/* Beside numbers may lie what nobody wrote: addresses that the stack
				   held. */
				.list = !a->pure || a->within > KRT_LIST_FROM};
	enum krt_confidence likely = word ? KRT_POSSIBLE : KRT_LIKELY;

	if (!mem) {
		const struct krt_mem *freed = krt_mem_freed_at(&e->mem, a->addr);

		if (freed)
			use_after_free(e, op, freed, a->addr, a->addr + 1, a->kind, a->know,
				       KRT_SURE_FROM,
				       word ? KRT_POSSIBLE
					    : krt_life_confidence(KRT_SURE_FROM, user.held));
		return;
	}
	krt_rights_kernel(e, op, mem, a->addr, a->addr + 1, krt_what_of(a->kind), a->know, likely);
	if (a->kind != KRT_ACC_READ && host_sees(mem))
		kernel_signal(e, mem, op->stream);
	use_before_alloc(e, op, mem, NULL, a->kind, a->know, KRT_SURE_FROM, likely);
	krt_reuse_pointer(e, op, mem, a);
	if (!word)
		touch_anchor(e, op, mem, a);
	pointer_users(e, op, mem, a);
	krt_input_touch(e, op, mem, a->addr,
			a->kind == KRT_ACC_UNKNOWN ? 1 : reach(e, mem, a->addr), a->kind,
			KRT_SURE_FROM);
	note_users(e, mem, &user);
	if (e->since_sweep > e->sweep_after)
		krt_sweep(e);
}

/* --- kernels -------------------------------------------------------------------------- */

static struct krt_pattern pattern_of(const struct krt_kernel_access *a)
{
	struct krt_pattern p = krt_pattern_solid(a->from, a->end);

	p.at = a->addr;
	if (a->rows > 1) {
		p.rows = a->rows;
		p.pitch = a->pitch;
		p.row = a->len;
	}
	p.stride = p.width = p.row;
	if (a->stride > a->width) {
		p.stride = a->stride;
		p.width = a->width;
	}
	return p;
}

void krt_touch_kernel(struct krt_engine *e, struct krt_op_info *op,
		      const struct krt_kernel_access *a)
{
	struct krt_touch t = {.op = op,
			      .stream = op->stream,
			      .kind = a->kind,
			      .know = a->know,
			      .sure = a->sure,
			      .held = a->within > 8};
	struct krt_shape s = {.addr = a->addr,
			      .width = a->len,
			      .rows = a->rows ? a->rows : 1,
			      .pitch = a->pitch,
			      .slices = 1,
			      .array = a->mem};
	struct krt_pattern p;
	struct krt_mem *mem;

	if (!a->len) {
		if (a->kind != KRT_ACC_READ)
			krt_shadow_reached(e, a->addr);
		if (e->judge && !op->stream->ctx->sticky)
			touch_pointer(e, op, a);
		return;
	}
	p = pattern_of(a);
	if (a->sure == KRT_SURE_ALL && p.stride <= p.width && s.rows <= KERNEL_ROWS) {
		/* computed, it stays in the allocation; what was declared is taken as it is */
		if (a->know == KRT_KNOW_PTX && !a->mem)
			t.only = krt_mem_at(&e->mem, a->from);
		krt_touch_shape(e, &t, &s);
		return;
	}
	if (a->from >= a->end)
		return;
	if (a->kind != KRT_ACC_READ && !a->mem)
		krt_shadow_changed(e, a->from, a->end - a->from);
	if (!e->judge || op->stream->ctx->sticky)
		return;
	/* It lies in one allocation, but for what is out of bounds: gaps in its keys. */
	mem = a->mem ? a->mem : krt_mem_at(&e->mem, a->from);
	if (mem && mem->kind != KRT_MEM_ARRAY) {
		p.at += mem->space_off - mem->node.key;
		t.only = mem;
	}
	t.pattern = krt_pattern_id(&e->heap, &e->patterns, &p);
	touch_range(e, &t, &s, a->from, a->end - a->from);
	touch_done(e, &t, mem, a->mem, a->from, a->end - a->from);
}

/* --- the CPU --------------------------------------------------------------------------- */

static void meet_host(void *user, const struct krt_access *prev, uint64_t from, uint64_t end)
{
	struct meeting *m = user;
	struct krt_pair p = {.rule = m->rule, .confidence = KRT_CERTAIN};

	if (m->only && prev->op->seq != m->only)
		return;
	/* A kernel and the CPU may well talk to each other through mapped memory. */
	if (prev->op->class == KRT_OPC_KERNEL && m->mem->kind != KRT_MEM_MANAGED)
		return;
	/* what the other waits for may well be for the CPU to write, after this */
	if (prev->op->external || !krt_unordered(m->e, prev->op, NULL, &p.view))
		return;
	if (prev->kind == KRT_ACC_UNKNOWN)
		p.confidence = m->kind == KRT_ACC_WRITE ? KRT_LIKELY : KRT_POSSIBLE;
	else
		p.confidence = krt_access_confidence(KRT_SURE_ALL, prev->sure);
	if (!bytes_meet(m, prev, from, end, &p.confidence))
		return;
	p.confidence = covered(m, KRT_SURE_ALL, prev, from, end, p.confidence);
	if (krt_host_may_know(m->e, m->op, prev->op))
		p.confidence = KRT_POSSIBLE;
	p.cur = m->op;
	p.prev = prev->op;
	p.prev_sure = prev->sure;
	p.cur_what = krt_what_of(m->kind);
	p.prev_what = krt_what_of(prev->kind);
	p.cur_know = krt_host_know(m->op);
	p.prev_know = prev->know;
	p.prev_item = prev->item;
	p.mem = m->mem;
	p.from = krt_mem_addr(m->mem, from);
	p.end = krt_mem_addr(m->mem, end);
	krt_pair_add(m->e, &p);
}

struct krt_op_info *krt_host_op(struct krt_engine *e, const struct krt_call *c)
{
	return e->judge && !krt_unseen_call(e, c) ? krt_op_new(&e->obj, c, NULL, KRT_OPC_HOST)
						  : NULL;
}

void krt_host_range(struct krt_engine *e, struct krt_op_info *op, uint64_t only, uint64_t addr,
		    uint64_t len, bool write)
{
	struct meeting m = {.e = e,
			    .op = op,
			    .kind = write ? KRT_ACC_WRITE : KRT_ACC_READ,
			    .only = only,
			    .rule = write ? KRT_RULE_HOST_WRITE_RACE : KRT_RULE_HOST_READ_RACE};
	uint64_t end = len > UINT64_MAX - addr ? UINT64_MAX : addr + len;

	while (addr < end) {
		uint64_t to;
		struct krt_mem *mem = krt_piece_at(e, addr, end, &to);

		m.mem = mem ? mem : &e->mem.pageable;
		m.from = krt_mem_key(m.mem, addr);
		m.end = krt_mem_key(m.mem, to);
		krt_ranges_conflicts(&m.mem->space->sure, krt_mem_key(m.mem, addr),
				     krt_mem_key(m.mem, to), m.kind, meet_host, &m);
		krt_ranges_conflicts(&m.mem->space->may, krt_mem_key(m.mem, addr),
				     krt_mem_key(m.mem, to), m.kind, meet_host, &m);
		if (m.mem->space->past.tree.count) {
			struct krt_reuse r = {
				.op = m.op, .kind = m.kind, .know = krt_host_know(m.op)};

			krt_reuse_touch(e, &r, m.mem, krt_mem_key(m.mem, addr),
					krt_mem_key(m.mem, to));
		}
		if (m.mem->space->graphs)
			krt_graph_meet_host(e, m.op, m.mem, krt_mem_key(m.mem, addr),
					    krt_mem_key(m.mem, to), write, m.only);
		addr = to;
	}
}

void krt_touch_host(struct krt_engine *e, const struct krt_call *c, uint64_t addr, uint64_t len,
		    bool write)
{
	struct krt_op_info *op = len ? krt_host_op(e, c) : NULL;

	if (!op)
		return;
	krt_host_range(e, op, c->token, addr, len, write);
	krt_op_unref(&e->heap, op);
}

/* --- the end of memory ------------------------------------------------------------------ */

static void meet_free(void *user, const struct krt_access *prev, uint64_t from, uint64_t end)
{
	struct meeting *m = user;
	struct krt_pair p = {.rule = m->rule, .confidence = KRT_CERTAIN};

	/* in the past: not where a kernel may have reached */
	if (prev->know == KRT_KNOW_REACH || prev->know == KRT_KNOW_WORD ||
	    prev->know == KRT_KNOW_START)
		return;
	/* Through another mapping of the same memory: that one goes on. */
	if (m->mem->kind == KRT_MEM_MAPPED && prev->mapping != m->mem->serial)
		return;
	if (prev->op == m->op || !krt_unordered(m->e, prev->op, m->stream, &p.view) ||
	    !bytes_meet(m, prev, from, end, &p.confidence))
		return;
	if (prev->sure == KRT_SURE_WITHIN || prev->sure == KRT_SURE_LIMIT)
		p.confidence = KRT_LIKELY;
	p.cur = m->op;
	p.prev = prev->op;
	p.cur_what = "free";
	p.prev_what = krt_what_of(prev->kind);
	p.cur_know = KRT_KNOW_API;
	p.prev_know = prev->know;
	p.prev_sure = prev->sure;
	p.prev_item = prev->item;
	p.mem = m->mem;
	p.from = krt_mem_addr(m->mem, from);
	p.end = krt_mem_addr(m->mem, end);
	krt_pair_add(m->e, &p);
}

void krt_touch_free(struct krt_engine *e, struct krt_op_info *op, struct krt_stream_info *s,
		    struct krt_mem *mem, enum krt_rule_id rule)
{
	struct meeting m = {.e = e, .mem = mem, .rule = rule, .op = op, .stream = s};
	uint64_t from = krt_mem_key(mem, mem->kind == KRT_MEM_ARRAY ? 0 : mem->node.key), end;

	if (!e->judge || e->exiting)
		return;
	if (mem->owner)
		krt_graph_free(e, op, s, mem, rule);
	end = mem->kind == KRT_MEM_ARRAY ? UINT64_MAX : from + mem->size;
	krt_ranges_each(&mem->space->sure, from, end, meet_free, &m);
	krt_ranges_each(&mem->space->past, from, end, meet_free, &m);
	for (uint32_t i = 0; i < mem->users.count; i++) {
		const struct krt_user *x = &mem->users.user[i];
		struct krt_op_info *prev = x->op;
		struct krt_pair p = {.rule = rule};

		/* what a write through another mapping hides may go on through this one */
		if ((x->sort != KRT_USER_POINTER && x->sort != KRT_USER_WORD &&
		     x->sort != KRT_USER_PART && mem->kind != KRT_MEM_MAPPED) ||
		    prev == op || krt_pair_known(e, prev, mem) ||
		    !krt_unordered(e, prev, s, &p.view))
			continue;
		p.confidence = x->sort == KRT_USER_WORD ? KRT_POSSIBLE
							: krt_life_confidence(x->sure, x->held);
		p.cur = op;
		p.prev = prev;
		p.cur_what = "free";
		p.prev_what = krt_what_of(x->kind);
		p.cur_know = KRT_KNOW_API;
		p.prev_know = x->know;
		p.prev_sure = x->sure;
		p.mem = mem;
		krt_pair_add(e, &p);
	}
}

/* --- memory that is registered ------------------------------------------------------------ */

struct moving {
	struct krt_engine *e;
	struct krt_mem *mem;
	struct krt_ranges *to;
	uint64_t by; /* from key to key */
	bool writes;
};

static void move(void *user, const struct krt_access *prev, uint64_t from, uint64_t end)
{
	struct moving *m = user;
	struct krt_access a = *prev;

	if ((a.kind == KRT_ACC_WRITE) != m->writes)
		return;
	a.mapping = m->mem->serial;
	krt_ranges_add(&m->e->heap, m->to, from - m->by, end - m->by, &a);
}

void krt_touch_registered(struct krt_engine *e, struct krt_mem *mem)
{
	struct krt_space *old = e->mem.pageable.space;
	struct krt_ranges *all[] = {&old->sure, &old->may, &old->past},
			  *to[] = {&mem->space->sure, &mem->space->may, &mem->space->past};
	uint64_t from = krt_mem_key(&e->mem.pageable, mem->node.key), end = from + mem->size;

	for (unsigned i = 0; i < 3; i++) {
		struct moving m = {.e = e,
				   .mem = mem,
				   .to = to[i],
				   .by = from - krt_mem_key(mem, mem->node.key)};

		if (!all[i]->tree.count)
			continue;
		/* a write ends what came before it: first */
		m.writes = true;
		krt_ranges_each(all[i], from, end, move, &m);
		m.writes = false;
		krt_ranges_each(all[i], from, end, move, &m);
		krt_ranges_clear(&e->heap, all[i], from, end);
	}
}

void krt_touch_heap_end(struct krt_engine *e, const struct krt_call *c, uint64_t addr, uint64_t len)
{
	struct meeting m = {.e = e, .rule = KRT_RULE_HOST_FREE_IN_USE};
	uint64_t end = len > UINT64_MAX - addr ? UINT64_MAX : addr + len, first = addr;
	bool judged = e->judge && !e->exiting && !krt_unseen_call(e, c);

	if (!len)
		return;
	m.op = krt_op_new(&e->obj, c, NULL, KRT_OPC_FREE);
	if (!m.op)
		return;
	while (addr < end) {
		uint64_t to;
		struct krt_mem *mem = krt_piece_at(e, addr, end, &to);

		if (!mem)
			m.mem = &e->mem.pageable;
		else
			m.mem = mem->kind == KRT_MEM_REGISTERED ? mem : NULL;
		if (m.mem) {
			uint64_t from = krt_mem_key(m.mem, addr), till = krt_mem_key(m.mem, to);

			if (judged) {
				krt_ranges_each(&m.mem->space->sure, from, till, meet_free, &m);
				krt_ranges_each(&m.mem->space->may, from, till, meet_free, &m);
				krt_ranges_each(&m.mem->space->past, from, till, meet_free, &m);
			}
			krt_pairs_flush(e);
			krt_ranges_clear(&e->heap, &m.mem->space->sure, from, till);
			krt_ranges_clear(&e->heap, &m.mem->space->may, from, till);
			krt_ranges_clear(&e->heap, &m.mem->space->past, from, till);
			krt_blocks_gone(&e->mem, addr, to);
			if (mem && mem->owner && addr <= mem->node.key &&
			    to >= mem->node.key + mem->size)
				krt_graph_heap_gone(e, c, m.op, mem);
		}
		addr = to;
	}
	krt_graph_heap_end(e, c, m.op, first, end - first);
	krt_op_unref(&e->heap, m.op);
}

/* --- forgetting --------------------------------------------------------------------------- */

static size_t sweep_space(struct krt_engine *e, struct krt_space *s)
{
	return krt_ranges_prune(&e->heap, &s->sure, 0, UINT64_MAX, settled, e) +
	       krt_ranges_prune(&e->heap, &s->may, 0, UINT64_MAX, settled, e) +
	       krt_ranges_prune(&e->heap, &s->past, 0, UINT64_MAX, krt_past_settled, e);
}

void krt_sweep(struct krt_engine *e)
{
	size_t left = 0;

	e->sweeps++;
	krt_patterns_unmark(&e->patterns);
	krt_graph_sweep(e);
	for (struct krt_space *s = e->mem.busy_spaces; s; s = s->next)
		left += sweep_space(e, s);
	for (struct krt_users *u = e->mem.busy_users; u; u = u->next)
		krt_users_prune(&e->heap, u, op_settled, e);
	krt_memory_idle(&e->mem);
	krt_pool_sweep(e);
	krt_patterns_sweep(&e->patterns);
	e->since_sweep = 0;
	e->sweep_after = left * 2 > 4096 ? left * 2 : 4096;
}
