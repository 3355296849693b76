/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches: blocks and threads, who runs when, accesses and faults.
 *
 * A launch keeps a number of blocks resident (all of them if cooperative) and
 * gives each in turn a slice; a block gives each of its threads in turn a slice.
 * A thread that reaches a barrier or a warp-wide operation waits until the
 * others have arrived, so a spinning thread can only waste its own slice.
 * Orders and slice lengths come from the seed.
 */
#include "exec_impl.h"
#include <stdio.h>
#include <sys/mman.h>

#define BLOCK_SLICE   8192u
#define THREAD_SLICE  512u
#define RESIDENT_MAX  1024u
#define RESIDENT_MEM  ((size_t)256 << 20)
#define CALL_STACK    ((size_t)64 << 10)
#define CALL_DEPTH    4096u
#define SOFT_PATIENCE 4u
#define SHARED_MAX    ((size_t)227 << 10)

static uint64_t rng_next(struct exec_launch *l)
{
	uint64_t z = (l->rng += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* ---- faults and memory ---- */

enum step exec_raise(struct thread *t, const struct dop *d, enum exec_fault_kind kind,
		     uint64_t addr, size_t size, unsigned access)
{
	struct exec_launch *l = t->block->launch;
	struct exec_fault *f = &l->fault;

	if (f->kind)
		return STEP_FAULT;
	*f = (struct exec_fault){.kind = kind,
				 .addr = addr,
				 .size = size,
				 .access = access,
				 .func = t->frame ? t->frame->f->p->name : l->f->e->p->name,
				 .inst = ""};
	memcpy(f->ctaid, t->block->ctaid, sizeof(f->ctaid));
	memcpy(f->tid, t->tid, sizeof(f->tid));
	if (d && d->in) {
		f->line = d->in->line;
		f->inst = d->in->mn->text;
	}
	return STEP_FAULT;
}

uint64_t exec_address(const struct thread *t, const struct dop *d)
{
	uint64_t a;

	switch ((enum base)d->base) {
	case BASE_VALUE:
		a = val(t, d->a);
		if (d->flags & 0x80)
			a &= UINT32_MAX;
		return a + (uint64_t)d->imm;
	case BASE_FRAME:
		return (uint64_t)(uintptr_t)t->base + (uint64_t)d->imm;
	case BASE_PARAM:
		return (uint64_t)(uintptr_t)t->block->launch->params + (uint64_t)d->imm;
	case BASE_SHARED:
		return t->block->launch->f->e->shared_off[d->index] + (uint64_t)d->imm;
	}
	return 0;
}

static inline bool within(uint64_t addr, size_t size, const void *start, const void *end)
{
	uint64_t s = (uint64_t)(uintptr_t)start, e = (uint64_t)(uintptr_t)end;

	return addr >= s && addr <= e && size <= e - addr;
}

void *exec_access(struct thread *t, const struct dop *d, enum ptx_space space, uint64_t addr,
		  size_t size, unsigned access)
{
	struct exec_launch *l = t->block->launch;
	uint8_t *p = (uint8_t *)(uintptr_t)addr;

	switch (space) {
	case PTX_SPACE_SHARED:
		/* Offsets are 32 bits wide in hardware too. */
		addr &= UINT32_MAX;
		if (addr > l->shared_size || size > l->shared_size - addr)
			break;
		return t->block->shared + addr;
	case PTX_SPACE_LOCAL:
		if (within(addr, size, t->stack, t->stack_end))
			return p;
		break;
	case PTX_SPACE_PARAM:
		if (within(addr, size, t->stack, t->stack_end))
			return p;
		if (within(addr, size, l->params, l->params + l->params_size) &&
		    !(access & EXEC_WRITE))
			return p;
		break;
	case PTX_SPACE_NONE:
		if (within(addr, size, t->block->shared, t->block->shared + l->shared_size))
			return p;
		if (within(addr, size, t->stack, t->stack_end))
			return p;
		if (within(addr, size, l->params, l->params + l->params_size) &&
		    !(access & EXEC_WRITE))
			return p;
		/* fall through */
	default:
		if (l->workspace && within(addr, size, l->workspace, l->workspace + 16))
			return p;
		if (l->hooks.mem_check ? l->hooks.mem_check(l->hooks.user, addr, size, access)
				       : addr != 0)
			return p;
		break;
	}
	exec_raise(t, d, EXEC_FAULT_ADDRESS, addr, size, access);
	return NULL;
}

/* ---- frames ---- */

struct frame *exec_push(struct thread *t, const struct efunc *f)
{
	struct exec_launch *l = t->block->launch;
	struct frame *fr = l->free_frames[f->index];
	uint8_t *base = NULL;

	if (f->frame_size) {
		base = (uint8_t *)(((uintptr_t)t->sp + f->frame_align - 1) &
				   ~(uintptr_t)(f->frame_align - 1));
		if (base > t->stack_end || f->frame_size > (size_t)(t->stack_end - base)) {
			exec_raise(t, NULL, EXEC_FAULT_STACK, 0, f->frame_size, 0);
			return NULL;
		}
	}
	if (t->depth >= CALL_DEPTH) {
		exec_raise(t, NULL, EXEC_FAULT_STACK, 0, 0, 0);
		return NULL;
	}
	if (fr) {
		l->free_frames[f->index] = fr->up;
	} else {
		fr = malloc(sizeof(*fr) + (size_t)f->nslots * sizeof(uint64_t));
		if (!fr) {
			exec_raise(t, NULL, EXEC_FAULT_MEMORY, 0, 0, 0);
			return NULL;
		}
	}
	memset(fr->regs, 0, (size_t)f->nslots * sizeof(uint64_t));
	fr->f = f;
	fr->call = NULL;
	fr->up = t->frame;
	fr->ret_pc = t->pc;
	fr->sp_before = t->sp;
	fr->base = base;
	if (base) {
		t->sp = base + f->frame_size;
		memset(base, 0, f->frame_size);
	}
	t->frame = fr;
	t->regs = fr->regs;
	t->base = base;
	t->consts = f->consts;
	t->code = f->code;
	t->pc = 0;
	t->depth++;
	return fr;
}

static void pop_frame(struct thread *t)
{
	struct exec_launch *l = t->block->launch;
	struct frame *fr = t->frame, *up = fr->up;

	t->sp = fr->sp_before;
	t->frame = up;
	t->depth--;
	if (up) {
		t->regs = up->regs;
		t->base = up->base;
		t->consts = up->f->consts;
		t->code = up->f->code;
		t->pc = fr->ret_pc;
	}
	fr->up = l->free_frames[fr->f->index];
	l->free_frames[fr->f->index] = fr;
}

enum step exec_ret(struct thread *t)
{
	struct frame *fr = t->frame, *up = fr->up;
	const struct call *c = fr->call;

	if (!up)
		return STEP_EXIT;
	for (uint32_t i = 0; i < c->nrets; i++) {
		const struct call_arg *a = &c->rets[i];
		const struct ptx_var *v = fr->f->p->rets[i];
		const void *from = v->space == PTX_SPACE_REG
					   ? (void *)&fr->regs[fr->f->slot_of[v->reg]]
					   : (void *)(fr->base + fr->f->ret_off[i]);

		if (a->reg)
			memcpy(&up->regs[a->slot], from, a->size < 8 ? a->size : 8);
		else
			memcpy(up->base + a->offset, from, a->size);
	}
	pop_frame(t);
	return STEP_NEXT;
}

/* ---- blocks ---- */

static void block_ctaid(const struct exec_launch *l, uint64_t index, uint32_t ctaid[3])
{
	ctaid[0] = (uint32_t)(index % l->cfg.grid[0]);
	index /= l->cfg.grid[0];
	ctaid[1] = (uint32_t)(index % l->cfg.grid[1]);
	ctaid[2] = (uint32_t)(index / l->cfg.grid[1]);
}

static void block_free(struct block *b)
{
	struct exec_launch *l = b->launch;

	free(b->shared);
	if (b->stacks)
		munmap(b->stacks, l->stack_size * l->nthreads);
	free(b);
}

static struct block *block_new(struct exec_launch *l)
{
	size_t size = sizeof(struct block) + l->nthreads * sizeof(struct thread);
	struct block *b = l->free_blocks;

	if (b) {
		l->free_blocks = b->next_free;
		return b;
	}
	b = calloc(1, size);
	if (!b)
		return NULL;
	b->launch = l;
	/* Never NULL and never shared with another block, so that generic addresses tell blocks
	 * apart. */
	b->shared = aligned_alloc(1024, (l->shared_size + 1024) & ~(size_t)1023);
	if (l->stack_size) {
		b->stacks = mmap(NULL, l->stack_size * l->nthreads, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (b->stacks == MAP_FAILED)
			b->stacks = NULL;
	}
	if (!b->shared || (l->stack_size && !b->stacks)) {
		block_free(b);
		return NULL;
	}
	return b;
}

static bool block_start(struct exec_launch *l, uint64_t index)
{
	const struct efunc *e = l->f->e;
	struct block *b = block_new(l);

	if (!b) {
		if (l->nactive)
			return false; /* later, when another has ended */
		l->fault = (struct exec_fault){
			.kind = EXEC_FAULT_MEMORY, .func = e->p->name, .inst = ""};
		l->state = EXEC_FAULT;
		return false;
	}
	b->index = index;
	block_ctaid(l, index, b->ctaid);
	b->nthreads = b->live = l->nthreads;
	b->cursor = 0;
	b->ran = b->waited = false;
	b->warp_waits = b->bar_waits = b->soft_waits = 0;
	b->start = 0;
	memset(b->bars, 0, sizeof(b->bars));
	/* Contents are undefined in hardware; here they are the same in every run. */
	memset(b->shared, 0, l->shared_size);
	l->active[l->nactive++] = b;
	for (uint32_t i = 0; i < b->nthreads; i++) {
		struct thread *t = &b->threads[i];

		*t = (struct thread){ .block = b, .index = i, .lane = (uint8_t)(i & 31) };
		t->tid[0] = i % l->cfg.block[0];
		t->tid[1] = i / l->cfg.block[0] % l->cfg.block[1];
		t->tid[2] = i / l->cfg.block[0] / l->cfg.block[1];
		if (b->stacks) {
			t->stack = t->sp = b->stacks + i * l->stack_size;
			t->stack_end = t->stack + l->stack_size;
		}
		if (!exec_push(t, e)) {
			l->state = EXEC_FAULT;
			return false;
		}
	}
	return true;
}

static void block_drop(struct exec_launch *l, struct block *b)
{
	for (uint32_t i = 0; i < b->nthreads; i++)
		while (b->threads[i].frame)
			pop_frame(&b->threads[i]);
	b->next_free = l->free_blocks;
	l->free_blocks = b;
}

static void thread_exit(struct thread *t)
{
	struct block *b = t->block;

	while (t->frame)
		pop_frame(t);
	t->state = T_EXITED;
	b->live--;
	/* Who waited for this thread need not any more. */
	if (b->warp_waits)
		exec_warp_check(b, t->index / 32);
	for (unsigned i = 0; b->bar_waits && i < 16; i++)
		exec_bar_check(b, i);
}

/* Runs one thread for at most n instructions; how many it ran is returned. */
static uint32_t thread_run(struct thread *t, uint32_t n, enum step *out)
{
	struct exec_launch *l = t->block->launch;
	uint32_t left = n;
	enum step s = STEP_NEXT;

	/* A special register read in between sees the count of this slice too. */
	l->slice_end = l->executed + n;
	l->slice_left = &left;
	while (left) {
		const struct dop *d = &t->code[t->pc++];

		left--;
		if (d->pred >= 0 && ((t->regs[d->pred] & 1) != 0) == d->pred_not)
			continue;
		s = d->fn(t, d);
		if (s != STEP_NEXT)
			break;
	}
	l->slice_left = NULL;
	l->executed += n - left;
	*out = s;
	return n - left;
}

/* activemask: who waits at one place forms a group once nobody else of the warp can come. */
static void soft_check(struct block *b, uint32_t warp)
{
	uint32_t first = warp * 32, end = first + 32 < b->nthreads ? first + 32 : b->nthreads;
	bool soft = false, ready = false, patient = true;

	for (uint32_t i = first; i < end; i++) {
		struct thread *t = &b->threads[i];

		if (t->state == T_SOFT) {
			soft = true;
			if (!t->patience || !--t->patience)
				patient = false;
		} else if (t->state == T_READY) {
			ready = true;
		}
	}
	if (soft && (!ready || !patient))
		exec_soft_resolve(b, warp);
}

/* Gives the block a slice; how many instructions it ran. */
static uint32_t block_run(struct exec_launch *l, struct block *b, uint32_t budget)
{
	uint32_t done = 0;

	while (done < budget && b->live) {
		uint32_t i, slice = THREAD_SLICE;
		struct thread *t;
		enum step s;

		if (!b->cursor && l->cfg.seed) {
			/* A new sweep starts at another warp. */
			uint32_t warps = (b->nthreads + 31) / 32;

			b->start = (uint32_t)(rng_next(l) % warps) * 32;
		}
		i = b->cursor + b->start;
		if (i >= b->nthreads)
			i -= b->nthreads;
		t = &b->threads[i];
		if (t->state == T_READY) {
			if (l->cfg.seed)
				slice = 64 + (uint32_t)(rng_next(l) % THREAD_SLICE);
			b->ran = true;
			done += thread_run(t, slice, &s);
			if (s == STEP_FAULT) {
				l->state = EXEC_FAULT;
				return done;
			}
			if (s == STEP_EXIT)
				thread_exit(t);
		}
		if (b->soft_waits && ((i & 31) == 31 || i == b->nthreads - 1))
			soft_check(b, i / 32);
		if (++b->cursor == b->nthreads) {
			b->cursor = 0;
			if (!b->ran && b->live) {
				/* Nobody ran in a whole sweep, and nobody was set free in it
				 * either? */
				if (b->waited) {
					struct thread *w = b->threads;

					while (w->state == T_EXITED)
						w++;
					exec_raise(w, w->wait, EXEC_FAULT_DEADLOCK, 0, 0, 0);
					l->state = EXEC_FAULT;
					return done;
				}
				b->waited = true;
			} else {
				b->waited = false;
			}
			b->ran = false;
		}
	}
	return done;
}

/* ---- launches ---- */

static size_t resident_limit(const struct exec_launch *l)
{
	const struct efunc *e = l->f->e;
	size_t per = l->shared_size + 4096 +
		     l->nthreads * (sizeof(struct thread) + sizeof(struct frame) +
				    (size_t)e->nslots * 8 + (l->stack_size ? 8192 : 0));
	size_t n = RESIDENT_MEM / per;

	if (l->cfg.cooperative)
		return SIZE_MAX;
	if (n > RESIDENT_MAX)
		n = RESIDENT_MAX;
	return n ? n : 1;
}

static void fill(struct exec_launch *l)
{
	size_t limit = resident_limit(l);

	while (l->next_block < l->nblocks && l->nactive < limit && l->state == EXEC_RUNNING) {
		if (l->nactive == l->cap_active) {
			uint32_t cap = l->cap_active ? l->cap_active * 2 : 16;
			struct block **a = realloc(l->active, cap * sizeof(*a));

			if (!a) {
				if (l->nactive)
					return;
				l->fault = (struct exec_fault){.kind = EXEC_FAULT_MEMORY,
							       .func = l->f->e->p->name,
							       .inst = ""};
				l->state = EXEC_FAULT;
				return;
			}
			l->active = a;
			l->cap_active = cap;
		}
		if (!block_start(l, l->next_block))
			return;
		l->next_block++;
	}
}


struct exec_launch *exec_begin(struct exec_func *f, const struct exec_config *cfg,
			       const struct exec_hooks *hooks, char *err, size_t errlen)
{
	struct efunc *e = f->e;
	const struct ptx_func *p = e->p;
	struct exec_launch *l;
	uint64_t threads = (uint64_t)cfg->block[0] * cfg->block[1] * cfg->block[2];
	uint64_t blocks = (uint64_t)cfg->grid[0] * cfg->grid[1] * cfg->grid[2];
	const char *why = NULL;

	if (!threads || !blocks)
		why = "a grid or block dimension is 0";
	else if (cfg->block[0] > 1024 || cfg->block[1] > 1024 || cfg->block[2] > 64 ||
		 threads > 1024)
		why = "more than 1024 threads a block";
	else if (cfg->grid[0] > 0x7fffffffu || cfg->grid[1] > 65535 || cfg->grid[2] > 65535)
		why = "grid too large";
	else if (p->reqntid[0] &&
		 (cfg->block[0] != p->reqntid[0] || cfg->block[1] != p->reqntid[1] ||
		  cfg->block[2] != p->reqntid[2]))
		why = "block differs from .reqntid";
	else if (p->maxntid[0] && threads > (uint64_t)p->maxntid[0] * p->maxntid[1] * p->maxntid[2])
		why = "more threads a block than .maxntid";
	else if (!e->laid_out && !exec_layout(e))
		why = "out of memory";
	else if (cfg->shared > SHARED_MAX || e->dynamic_off + cfg->shared > SHARED_MAX)
		why = "more than 227 KiB of shared memory a block";
	if (why) {
		if (errlen)
			snprintf(err, errlen, "%s: %s", p->name, why);
		return NULL;
	}
	l = calloc(1, sizeof(*l));
	if (!l)
		goto nomem;
	l->em = f->em;
	l->f = f;
	l->cfg = *cfg;
	l->cfg.params = NULL;
	if (!l->cfg.sms)
		l->cfg.sms = 4;
	if (hooks)
		l->hooks = *hooks;
	l->params_size = p->param_bytes;
	l->params = aligned_alloc(128, (l->params_size + 128) & ~(size_t)127);
	l->free_frames = calloc(e->em->nfuncs, sizeof(*l->free_frames));
	if (!l->params || !l->free_frames)
		goto nomem;
	memset(l->params, 0, l->params_size);
	if (cfg->params)
		memcpy(l->params, cfg->params,
		       cfg->params_size < l->params_size ? cfg->params_size : l->params_size);
	l->shared_size = cfg->shared ? e->dynamic_off + cfg->shared : e->shared_static;
	if (e->uses_stack)
		l->stack_size = (e->frame_size + CALL_STACK + 4095) & ~(size_t)4095;
	l->nthreads = (uint32_t)threads;
	l->nblocks = blocks;
	l->rng = cfg->seed;
	if (cfg->cooperative) {
		/* What cooperative_groups finds through %envreg1 and %envreg2. */
		l->workspace = calloc(16, sizeof(*l->workspace));
		if (!l->workspace)
			goto nomem;
	}
	return l;
nomem:
	if (errlen)
		snprintf(err, errlen, "%s: out of memory", p->name);
	exec_end(l);
	return NULL;
}

enum exec_state exec_step(struct exec_launch *l, unsigned budget)
{
	uint64_t end = l->executed + (budget ? budget : 1);

	if (l->state != EXEC_RUNNING)
		return l->state;
	while (l->executed < end) {
		uint64_t before = l->executed, spent;
		struct block *b;
		uint32_t slice;

		fill(l);
		if (l->state != EXEC_RUNNING)
			return l->state;
		if (!l->nactive)
			break;
		/* A slice goes on over several steps: their budgets make no order. */
		if (!l->slice) {
			l->slice = BLOCK_SLICE;
			if (l->cfg.seed) {
				l->turn = (uint32_t)rng_next(l);
				l->slice = 1024 + (uint32_t)(rng_next(l) % BLOCK_SLICE);
			}
			l->turn %= l->nactive;
		}
		b = l->active[l->turn];
		slice = l->slice < end - l->executed ? l->slice : (uint32_t)(end - l->executed);
		block_run(l, b, slice);
		spent = l->executed - before;
		if (l->state != EXEC_RUNNING)
			return l->state;
		l->slice -= spent < l->slice ? (uint32_t)spent : l->slice;
		if (!b->live) {
			block_drop(l, b);
			memmove(&l->active[l->turn], &l->active[l->turn + 1],
				(l->nactive - l->turn - 1) * sizeof(*l->active));
			l->nactive--;
			l->slice = 0;
		} else if (!l->slice) {
			l->turn++;
		}
	}
	if (!l->nactive && l->next_block == l->nblocks)
		l->state = EXEC_DONE;
	return l->state;
}

const struct exec_fault *exec_launch_fault(const struct exec_launch *l)
{
	return &l->fault;
}

uint64_t exec_instructions(const struct exec_launch *l)
{
	return l->executed;
}

void exec_end(struct exec_launch *l)
{
	if (!l)
		return;
	for (uint32_t i = 0; i < l->nactive; i++)
		block_drop(l, l->active[i]);
	while (l->free_blocks) {
		struct block *b = l->free_blocks;

		l->free_blocks = b->next_free;
		block_free(b);
	}
	for (uint32_t i = 0; l->free_frames && i < l->em->nfuncs; i++) {
		while (l->free_frames[i]) {
			struct frame *fr = l->free_frames[i];

			l->free_frames[i] = fr->up;
			free(fr);
		}
	}
	free(l->free_frames);
	free(l->active);
	free(l->params);
	free(l->workspace);
	free(l);
}

/* ---- special registers ---- */

/* Instructions executed, those of the running slice included. */
static uint64_t ticks(const struct exec_launch *l)
{
	return l->slice_left ? l->slice_end - *l->slice_left : l->executed;
}

uint64_t exec_sreg(struct thread *t, uint32_t sreg, unsigned sel)
{
	const struct block *b = t->block;
	const struct exec_launch *l = b->launch;
	unsigned k = sel ? (sel - PTX_SEL_X) & 3 : 0;
	const unsigned *cl = l->cfg.cluster;
	unsigned cn = k < 3 && cl[0] ? cl[k] : 1;

	switch ((enum ptx_sreg)sreg) {
	case PTX_SREG_TID:
		return k < 3 ? t->tid[k] : 0;
	case PTX_SREG_NTID:
		return k < 3 ? l->cfg.block[k] : 1;
	case PTX_SREG_CTAID:
		return k < 3 ? b->ctaid[k] : 0;
	case PTX_SREG_NCTAID:
		return k < 3 ? l->cfg.grid[k] : 1;
	case PTX_SREG_LANEID:
		return t->lane;
	case PTX_SREG_WARPID:
		return t->index / 32;
	case PTX_SREG_NWARPID:
		return 64;
	case PTX_SREG_SMID:
		return b->index % l->cfg.sms;
	case PTX_SREG_NSMID:
		return l->cfg.sms;
	case PTX_SREG_GRIDID:
		return l->cfg.grid_id;
	case PTX_SREG_IS_EXPLICIT_CLUSTER:
		return cl[0] != 0;
	case PTX_SREG_CLUSTERID:
		return k < 3 ? b->ctaid[k] / cn : 0;
	case PTX_SREG_NCLUSTERID:
		return k < 3 ? (l->cfg.grid[k] + cn - 1) / cn : 1;
	case PTX_SREG_CLUSTER_CTAID:
		return k < 3 ? b->ctaid[k] % cn : 0;
	case PTX_SREG_CLUSTER_NCTAID:
		return cn;
	case PTX_SREG_CLUSTER_CTARANK:
		if (!cl[0])
			return 0;
		return b->ctaid[0] % cl[0] +
		       cl[0] * (b->ctaid[1] % cl[1] + cl[1] * (b->ctaid[2] % cl[2]));
	case PTX_SREG_CLUSTER_NCTARANK:
		return cl[0] ? cl[0] * cl[1] * cl[2] : 1;
	case PTX_SREG_LANEMASK_EQ:
		return 1u << t->lane;
	case PTX_SREG_LANEMASK_LE:
		return (2u << t->lane) - 1;
	case PTX_SREG_LANEMASK_LT:
		return (1u << t->lane) - 1;
	case PTX_SREG_LANEMASK_GE:
		return (uint32_t)(UINT32_MAX << t->lane);
	case PTX_SREG_LANEMASK_GT:
		return (uint32_t)~((2u << t->lane) - 1);
	case PTX_SREG_CLOCK:
		return (uint32_t)ticks(l);
	case PTX_SREG_CLOCK_HI:
		return (uint32_t)(ticks(l) >> 32);
	case PTX_SREG_CLOCK64:
		return ticks(l);
	case PTX_SREG_GLOBALTIMER:
		return l->hooks.clock ? l->hooks.clock(l->hooks.user) : ticks(l);
	case PTX_SREG_GLOBALTIMER_LO:
		return (uint32_t)(l->hooks.clock ? l->hooks.clock(l->hooks.user) : ticks(l));
	case PTX_SREG_GLOBALTIMER_HI:
		return (uint32_t)((l->hooks.clock ? l->hooks.clock(l->hooks.user) : ticks(l)) >>
				  32);
	case PTX_SREG_ENVREG1:
		return (uint32_t)((uint64_t)(uintptr_t)l->workspace >> 32);
	case PTX_SREG_ENVREG2:
		return (uint32_t)(uintptr_t)l->workspace;
	case PTX_SREG_TOTAL_SMEM:
	case PTX_SREG_AGGR_SMEM:
		return l->shared_size;
	case PTX_SREG_DYNAMIC_SMEM:
		return l->cfg.shared;
	default:
		/* Performance counters, reserved shared memory, graphs: nothing of theirs exists
		 * here. */
		return 0;
	}
}
