/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of the simulated driver: one sorted table of live allocations of every
 * kind, the address ranges they come from, pools, VMM, arrays, pointer queries.
 *
 * A device address is an address of this process, in an arena per device (and
 * one per device for pools, low as on a real driver).  Freed memory of an arena
 * stays mapped: a device access outside the table is a fault of the simulated
 * device, never of the program.  Freed and fresh stream-ordered memory is filled
 * with a pattern when its free or allocation executes, so that an access on the
 * wrong side of it sees a wrong value.
 *
 * Observed view: cuMemFree, cuMemFreeHost, cuMemHostUnregister and array
 * destruction wait for the device, frees of pool memory and cuMemUnmap do not.
 * Documented view: none waits.
 */
#include "graph.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define GiB	   (1ull << 30)
#define TOTAL	   (16 * GiB)
#define GRAIN	   512u
#define SEGMENT	   (32u << 20)
#define VMM_GRAIN  (2ull << 20)
#define POISON_MAX (1u << 20)
#define POISON_NEW 0xcd
#define POISON_OLD 0xdd

uint64_t mem_generation = 1;

/* ---- bytes of any address, without a fault ---- */

static int self_mem = -1;

/*
 * Shared memory that is protected may not be written that way either: through a second
 * mapping of the page.  By system call: nobody's wrapper is to see it.  Bytes, or 0.
 */
static ssize_t write_shared(const void *mine, uint64_t addr, size_t n)
{
	uint64_t page = addr & ~4095ull;
	char *p = (char *)syscall(SYS_mremap, page, 0, 4096, MREMAP_MAYMOVE, 0);

	if (p == MAP_FAILED)
		return 0;
	n = n < page + 4096 - addr ? n : page + 4096 - addr;
	if (syscall(SYS_mprotect, p, 4096, PROT_READ | PROT_WRITE))
		n = 0;
	memcpy(p + (addr - page), mine, n);
	syscall(SYS_munmap, p, 4096);
	return (ssize_t)n;
}

static bool vm_rw(bool write, void *mine, uint64_t addr, size_t n)
{
	char *p = mine;

	while (n) {
		struct iovec l = {p, n}, r = {(void *)addr, n};
		ssize_t k = write ? process_vm_writev(getpid(), &l, 1, &r, 1, 0)
				  : process_vm_readv(getpid(), &l, 1, &r, 1, 0);

		if (k <= 0) {
			/* Not permitted here, or pages that only the CPU may not touch: a device
			 * can. */
			k = write ? pwrite(self_mem, p, n, (off_t)addr)
				  : pread(self_mem, p, n, (off_t)addr);
			if (k <= 0 && write)
				k = write_shared(p, addr, n);
			if (k <= 0)
				return false;
		}
		p += k;
		addr += (uint64_t)k;
		n -= (size_t)k;
	}
	return true;
}

/* Ours and always readable: arenas. */
static bool in_arena(uint64_t addr, size_t n);

bool mem_read(void *dst, uint64_t src, size_t n)
{
	if (in_arena(src, n)) {
		memcpy(dst, (void *)src, n);
		return true;
	}
	return vm_rw(false, dst, src, n);
}

bool mem_write(uint64_t dst, const void *src, size_t n)
{
	if (in_arena(dst, n)) {
		memcpy((void *)dst, src, n);
		return true;
	}
	return vm_rw(true, (void *)src, dst, n);
}

bool mem_move(uint64_t dst, uint64_t src, size_t n)
{
	bool d = in_arena(dst, n), s = in_arena(src, n);
	char b[65536];

	if (d && s) {
		memmove((void *)dst, (void *)src, n);
		return true;
	}
	if (d)
		return vm_rw(false, (void *)dst, src, n);
	if (s)
		return vm_rw(true, (void *)src, dst, n);
	while (n) {
		size_t k = n < sizeof b ? n : sizeof b;

		if (!vm_rw(false, b, src, k) || !vm_rw(true, b, dst, k))
			return false;
		src += k;
		dst += k;
		n -= k;
	}
	return true;
}

/* ---- table ---- */

static struct alloc **tab;
static unsigned ntab, ctab;
static uint64_t next_buffer;

static unsigned upper(uint64_t addr) /* first entry with lo > addr */
{
	unsigned lo = 0, hi = ntab;

	while (lo < hi) {
		unsigned m = (lo + hi) / 2;

		if (tab[m]->lo <= addr)
			lo = m + 1;
		else
			hi = m;
	}
	return lo;
}

struct alloc *mem_find(uint64_t addr)
{
	unsigned i = upper(addr);

	return i && addr - tab[i - 1]->lo < tab[i - 1]->size ? tab[i - 1] : NULL;
}

static bool overlaps(uint64_t lo, uint64_t size)
{
	unsigned i = upper(lo);

	return mem_find(lo) || (i < ntab && tab[i]->lo < lo + size);
}

struct alloc *mem_new(enum mem_kind k, struct ctx *c, int dev, uint64_t addr, uint64_t size)
{
	struct alloc *a = sim_alloc(sizeof *a);
	unsigned i;

	if (!a)
		return NULL;
	if (ntab == ctab) {
		struct alloc **t =
			sim_grow(tab, ntab * sizeof *t, (ctab ? ctab * 2 : 256) * sizeof *t);

		if (!t) {
			sim_free(a);
			return NULL;
		}
		tab = t;
		ctab = ctab ? ctab * 2 : 256;
	}
	*a = (struct alloc){
		.lo = addr, .size = size, .kind = k, .ctx = c, .dev = dev, .id = ++next_buffer};
	i = upper(addr);
	memmove(tab + i + 1, tab + i, (ntab - i) * sizeof *tab);
	tab[i] = a;
	ntab++;
	mem_generation++;
	return a;
}

void mem_del(struct alloc *a)
{
	unsigned i = upper(a->lo) - 1;

	memmove(tab + i, tab + i + 1, (ntab - i - 1) * sizeof *tab);
	ntab--;
	mem_generation++;
	op_put(a->alloc_op);
	sim_free(a);
}

/* ---- address ranges ---- */

struct ext {
	uint64_t lo, size;
};

struct arena {
	uint64_t base, size, used;
	struct ext *free;
	unsigned n, cap;
};

static struct arena dev_arena[SIM_MAX_DEVS], pool_arena[SIM_MAX_DEVS];

static bool inside(const struct arena *a, uint64_t addr, size_t n)
{
	return addr >= a->base && n <= a->size && addr - a->base <= a->size - n;
}

static bool in_arena(uint64_t addr, size_t n)
{
	for (unsigned i = 0; i < sim_opt.devices; i++)
		if (inside(&dev_arena[i], addr, n) || inside(&pool_arena[i], addr, n))
			return true;
	return false;
}

bool mem_was_dev(uint64_t addr, size_t n)
{
	return in_arena(addr, n);
}

static void arena_open(struct arena *a, uint64_t hint, uint64_t size)
{
	void *p = MAP_FAILED;
	struct rlimit limit;

	if (a->base)
		return;
	/* Where address space is limited, the program needs most of it. */
	if (!getrlimit(RLIMIT_AS, &limit) && limit.rlim_cur != RLIM_INFINITY)
		while (size > limit.rlim_cur / (4 * sim_opt.devices))
			size /= 2;
	for (; size >= (1u << 20) && p == MAP_FAILED; size /= 2) {
		int prot = PROT_READ | PROT_WRITE, fl = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

		p = mmap((void *)hint, size, prot, fl | MAP_FIXED_NOREPLACE, -1, 0);
		if (p != MAP_FAILED && p != (void *)hint) {
			sim_munmap(p, size); /* an old kernel took it for a hint */
			p = MAP_FAILED;
		}
		if (p == MAP_FAILED)
			p = mmap(NULL, size, prot, fl, -1, 0);
		if (p != MAP_FAILED)
			break;
	}
	if (p == MAP_FAILED)
		return;
	madvise(p, size, MADV_DONTDUMP);
	a->base = (uint64_t)p;
	a->size = size;
	a->cap = 64;
	a->free = sim_alloc(a->cap * sizeof *a->free);
	if (a->free)
		a->free[a->n++] = (struct ext){a->base, size};
}

/* Lowest fit: what was freed last is given again if it lies lowest. */
static uint64_t arena_get(struct arena *a, uint64_t size, uint64_t align)
{
	for (unsigned i = 0; i < a->n; i++) {
		uint64_t lo = (a->free[i].lo + align - 1) & ~(align - 1), pad = lo - a->free[i].lo;
		struct ext e = a->free[i];

		if (e.size < pad || e.size - pad < size)
			continue;
		if (pad && e.size - pad > size) {
			if (a->n == a->cap)
				return 0;
			memmove(a->free + i + 1, a->free + i, (a->n - i) * sizeof *a->free);
			a->n++;
			a->free[i].size = pad;
			a->free[i + 1] = (struct ext){lo + size, e.size - pad - size};
		} else if (pad) {
			a->free[i].size = pad;
		} else if (e.size > size) {
			a->free[i] = (struct ext){lo + size, e.size - size};
		} else {
			memmove(a->free + i, a->free + i + 1, (a->n - i - 1) * sizeof *a->free);
			a->n--;
		}
		a->used += size;
		return lo;
	}
	return 0;
}

static void arena_put(struct arena *a, uint64_t lo, uint64_t size)
{
	unsigned i = 0;

	a->used -= size;
	if (size > POISON_MAX)
		madvise((void *)((lo + 4095) & ~4095ull), (size - 8192) & ~4095ull, MADV_DONTNEED);
	while (i < a->n && a->free[i].lo < lo)
		i++;
	if (i && a->free[i - 1].lo + a->free[i - 1].size == lo) {
		a->free[i - 1].size += size;
		if (i < a->n && a->free[i].lo == lo + size) {
			a->free[i - 1].size += a->free[i].size;
			memmove(a->free + i, a->free + i + 1, (a->n - i - 1) * sizeof *a->free);
			a->n--;
		}
		return;
	}
	if (i < a->n && a->free[i].lo == lo + size) {
		a->free[i].lo = lo;
		a->free[i].size += size;
		return;
	}
	if (a->n + 2 >= a->cap) {
		struct ext *e = sim_grow(a->free, a->n * sizeof *e, a->cap * 2 * sizeof *e);

		if (!e)
			return; /* the range is lost, nothing else */
		a->free = e;
		a->cap *= 2;
	}
	memmove(a->free + i + 1, a->free + i, (a->n - i) * sizeof *a->free);
	a->free[i] = (struct ext){lo, size};
	a->n++;
}

void mem_init(void)
{
	self_mem = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	for (unsigned i = 0; i < sim_opt.devices; i++) {
		arena_open(&dev_arena[i], 0x7e0000000000ull + i * 64 * GiB, 32 * GiB);
		arena_open(&pool_arena[i], 0x302000000ull + i * 16 * GiB, 16 * GiB);
	}
}

size_t mem_total(void)
{
	return TOTAL;
}

static void poison(uint64_t addr, uint64_t size, int byte)
{
	memset((void *)addr, byte, size < POISON_MAX ? size : POISON_MAX);
}

/* A gap follows every allocation, so that a small overrun is an illegal address. */
static uint64_t padded(size_t size)
{
	return ((size + GRAIN - 1) & ~(uint64_t)(GRAIN - 1)) + GRAIN;
}

static bool room(int dev, uint64_t size)
{
	uint64_t used = dev_arena[dev].used + pool_arena[dev].used;

	return size <= TOTAL && used <= TOTAL - size;
}

struct alloc *mem_dev_alloc(struct ctx *c, int dev, size_t size, size_t align, enum mem_kind k)
{
	struct alloc *a;
	uint64_t lo;

	if (size > TOTAL || !room(dev, padded(size)))
		return NULL;
	lo = arena_get(&dev_arena[dev], padded(size), align > GRAIN ? align : GRAIN);
	if (!lo)
		return NULL;
	a = mem_new(k, c, dev, lo, size);
	if (!a)
		arena_put(&dev_arena[dev], lo, padded(size));
	return a;
}

void mem_dev_free(struct alloc *a)
{
	poison(a->lo, a->size, POISON_OLD);
	arena_put(&dev_arena[a->dev], a->lo, padded(a->size));
	mem_del(a);
}

/* ---- pools ---- */

struct blk {
	struct blk *next, *prev; /* by address within a segment list */
	uint64_t addr, size;
	bool live;	  /* in program order */
	bool used;	  /* was handed out before */
	struct op *freed; /* operation that frees it; NULL: free without condition */
	uint64_t sid;	  /* stream of that free */
};

struct pool {
	struct pool *next;
	int dev;
	bool dead, deflt;
	int follow, opportunistic, internal;
	uint64_t threshold, reserved, reserved_high, used, used_high;
	uint64_t access_r, access_w;
	unsigned handle_types;
	struct blk *blocks;
};

static struct pool *pools, *dev_default[SIM_MAX_DEVS], *dev_pool[SIM_MAX_DEVS];

static struct pool *pool_new(int dev)
{
	struct pool *p = sim_alloc(sizeof *p);

	if (!p)
		return NULL;
	p->dev = dev;
	p->follow = p->opportunistic = p->internal = 1;
	p->access_r = p->access_w = 1ull << dev;
	p->next = pools;
	pools = p;
	sim_handle_add(p, SIM_POOL);
	return p;
}

static struct pool *pool_default(int dev)
{
	if (!dev_default[dev]) {
		dev_default[dev] = pool_new(dev);
		if (dev_default[dev])
			dev_default[dev]->deflt = true;
		if (!dev_pool[dev])
			dev_pool[dev] = dev_default[dev];
	}
	return dev_default[dev];
}

static struct pool *pool_current(int dev)
{
	pool_default(dev);
	return dev_pool[dev];
}

static void blk_settle(struct blk *b)
{
	if (b->freed && b->freed->done) {
		op_put(b->freed);
		b->freed = NULL;
		b->sid = 0;
	}
}

/* May a new owner on this stream have the block?  0: no; else the reason, best first. */
static unsigned blk_fits(struct pool *p, struct blk *b, uint64_t need, struct strm *st)
{
	if (b->live || b->size < need)
		return 0;
	if (b->freed && b->sid == st->id)
		return 1;
	if (b->freed && !b->freed->done && p->follow && op_reaches(sim_tail(st), b->freed))
		return 2;
	if (b->used && (!b->freed || (b->freed->done && p->opportunistic)))
		return 3;
	if (b->freed && !b->freed->done && p->internal)
		return 4;
	return b->used ? 0 : 5;
}

static void merge(struct pool *p)
{
	struct blk *b = p->blocks;

	while (b) {
		struct blk *n = b->next;

		blk_settle(b);
		if (n) {
			blk_settle(n);
			if (!b->live && !n->live && !b->freed && !n->freed &&
			    b->addr + b->size == n->addr) {
				b->size += n->size;
				b->used |= n->used;
				b->next = n->next;
				if (n->next)
					n->next->prev = b;
				sim_free(n);
				continue;
			}
		}
		b = n;
	}
}

static bool pool_grow(struct pool *p, uint64_t need)
{
	uint64_t size = (need + SEGMENT - 1) & ~(uint64_t)(SEGMENT - 1), addr;
	struct blk *b, **at;

	if (!room(p->dev, size))
		size = (need + VMM_GRAIN - 1) & ~(VMM_GRAIN - 1);
	if (!room(p->dev, size) || !(addr = arena_get(&pool_arena[p->dev], size, VMM_GRAIN)))
		return false;
	b = sim_alloc(sizeof *b);
	if (!b)
		return false;
	b->addr = addr;
	b->size = size;
	for (at = &p->blocks; *at && (*at)->addr < addr; at = &(*at)->next)
		b->prev = *at;
	b->next = *at;
	if (*at)
		(*at)->prev = b;
	*at = b;
	p->reserved += size;
	if (p->reserved_high < p->reserved)
		p->reserved_high = p->reserved;
	return true;
}

static struct blk *pool_find(struct pool *p, uint64_t need, struct strm *st, unsigned *why)
{
	struct blk *best = NULL;
	unsigned bw = 0;

	for (struct blk *b = p->blocks; b; b = b->next) {
		unsigned w = blk_fits(p, b, need, st);

		if (w && (!best || w < bw || (w == bw && b->size < best->size))) {
			best = b;
			bw = w;
		}
	}
	*why = bw;
	return best;
}

/* Whole segments that nobody has go back to the device. */
static void pool_trim(struct pool *p, uint64_t keep)
{
	struct blk *n;

	merge(p);
	for (struct blk *b = p->blocks; b && p->reserved > keep; b = n) {
		n = b->next;
		if (b->live || b->freed || b->size % VMM_GRAIN || b->addr % VMM_GRAIN ||
		    b->size > p->reserved)
			continue;
		if (b->prev)
			b->prev->next = n;
		else
			p->blocks = n;
		if (n)
			n->prev = b->prev;
		p->reserved -= b->size;
		arena_put(&pool_arena[p->dev], b->addr, b->size);
		sim_free(b);
	}
}

static struct blk *pool_block(struct pool *p, uint64_t addr)
{
	for (struct blk *b = p->blocks; b; b = b->next)
		if (addr - b->addr < b->size)
			return b;
	return NULL;
}

struct fill {
	uint64_t addr, size;
	int byte;
};

static enum step fill_step(struct op *op)
{
	struct fill *f = op->data;

	poison(f->addr, f->size, f->byte);
	return STEP_DONE;
}

static CUresult pool_alloc(CUdeviceptr *out, size_t size, struct pool *p, struct strm *st)
{
	uint64_t need = (size + GRAIN - 1) & ~(uint64_t)(GRAIN - 1);
	unsigned why;
	struct blk *b;
	struct alloc *a;
	struct op *op;

	if (!out || !size)
		return CUDA_ERROR_INVALID_VALUE;
	b = pool_find(p, need, st, &why);
	if (!b) {
		merge(p);
		b = pool_find(p, need, st, &why);
	}
	if (!b && pool_grow(p, need))
		b = pool_find(p, need, st, &why);
	if (!b)
		return CUDA_ERROR_OUT_OF_MEMORY;
	op = op_new(st->ctx, OP_ALLOC, "", sizeof(struct fill));
	if (!op)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (b->size > need) {
		struct blk *r = sim_alloc(sizeof *r);

		if (!r) {
			op_put(op);
			return CUDA_ERROR_OUT_OF_MEMORY;
		}
		*r = *b;
		r->addr += need;
		r->size -= need;
		op_get(r->freed);
		r->prev = b;
		if (b->next)
			b->next->prev = r;
		b->next = r;
		b->size = need;
	}
	if (why == 4)
		op_after(op, b->freed); /* the wait that the driver puts in */
	op_put(b->freed);
	b->freed = NULL;
	b->sid = 0;
	b->live = b->used = true;
	p->used += need;
	if (p->used_high < p->used)
		p->used_high = p->used;
	a = mem_new(MEM_POOL, st->ctx, p->dev, b->addr, size);
	if (!a) {
		op_put(op);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	a->pool = p;
	*(struct fill *)op->data = (struct fill){b->addr, need, POISON_NEW};
	op->step = fill_step;
	op_range(op, b->addr, need, true);
	op_get(op);
	a->alloc_op = op;
	op_submit(op, st);
	*out = b->addr;
	return CUDA_SUCCESS;
}

/* ---- memory of graphs ---- */

/*
 * Blocks of a pool of its own, which is never anybody's pool: such memory stays
 * accessible, as on a real driver, and its bytes are filled with a pattern when
 * an allocation or a free of it executes.  The table has an entry for every
 * block as long as a graph, an executable or the program has it.
 */
struct gblock {
	unsigned refs;
	struct blk *blk;
	struct alloc *a;
	struct pool *p;
};

static struct pool *graph_pool[SIM_MAX_DEVS];

static struct blk *gblock_find(struct pool *p, uint64_t need)
{
	for (struct blk *b = p->blocks; b; b = b->next)
		if (!b->live && b->size >= need)
			return b;
	return NULL;
}

static struct gblock *gblock_new(struct ctx *c, int dev, size_t size)
{
	uint64_t need = (size + GRAIN - 1) & ~(uint64_t)(GRAIN - 1);
	struct pool *p = graph_pool[dev];
	struct gblock *g = sim_alloc(sizeof *g);
	struct blk *b, *r;

	if (!p && (p = graph_pool[dev] = pool_new(dev)))
		sim_handle_del(p);
	r = sim_alloc(sizeof *r);
	if (!p || !g || !r)
		goto fail;
	b = gblock_find(p, need);
	if (!b) {
		merge(p);
		b = gblock_find(p, need);
	}
	if (!b && pool_grow(p, need))
		b = gblock_find(p, need);
	if (!b)
		goto fail;
	g->a = mem_new(MEM_POOL, c, dev, b->addr, size);
	if (!g->a)
		goto fail;
	if (b->size > need) {
		*r = (struct blk){.next = b->next,
				  .prev = b,
				  .addr = b->addr + need,
				  .size = b->size - need,
				  .used = b->used};
		if (b->next)
			b->next->prev = r;
		b->next = r;
		b->size = need;
	} else {
		sim_free(r);
	}
	b->live = b->used = true;
	g->a->pool = g->p = p;
	g->blk = b;
	g->refs = 1;
	return g;
fail:
	sim_free(g);
	sim_free(r);
	return NULL;
}

static void gblock_put(struct gblock *g)
{
	if (--g->refs)
		return;
	mem_del(g->a);
	g->blk->live = false;
	sim_free(g);
}

bool gmem_fits(const struct gmem *m, size_t size)
{
	return ((size + GRAIN - 1) & ~(uint64_t)(GRAIN - 1)) == m->b->blk->size;
}

CUresult gmem_new(struct ctx *c, const CUDA_MEM_ALLOC_NODE_PARAMS_v2 *p, struct gmem *again,
		  struct gmem **out)
{
	int dev = p->poolProps.location.id;
	struct gmem *m;

	if (!p->bytesize || p->bytesize > TOTAL ||
	    p->poolProps.allocType != CU_MEM_ALLOCATION_TYPE_PINNED ||
	    (p->accessDescCount && !p->accessDescs))
		return CUDA_ERROR_INVALID_VALUE;
	if (p->poolProps.location.type != CU_MEM_LOCATION_TYPE_DEVICE)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (dev < 0 || (unsigned)dev >= sim_opt.devices)
		return CUDA_ERROR_INVALID_DEVICE;
	m = sim_alloc(sizeof *m);
	if (!m)
		return CUDA_ERROR_OUT_OF_MEMORY;
	m->refs = 1;
	m->size = p->bytesize;
	if (again && again->b->a->dev == dev) {
		m->b = again->b;
		m->b->refs++;
		m->b->a->size = m->size;
	} else {
		m->b = gblock_new(c, dev, m->size);
	}
	if (!m->b) {
		sim_free(m);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	for (size_t i = 0; i < p->accessDescCount; i++) {
		const CUmemAccessDesc *d = &p->accessDescs[i];

		if (d->location.type == CU_MEM_LOCATION_TYPE_DEVICE && d->location.id >= 0 &&
		    (unsigned)d->location.id < sim_opt.devices) {
			m->b->p->access_r |= 1ull << d->location.id;
			m->b->p->access_w |= 1ull << d->location.id;
		}
	}
	m->lo = m->b->blk->addr;
	m->b->a->gm = m;
	mem_generation++;
	*out = m;
	return CUDA_SUCCESS;
}

void gmem_put(struct gmem *m)
{
	if (!m || --m->refs)
		return;
	if (m->b->a->gm == m)
		m->b->a->gm = NULL;
	gblock_put(m->b);
	sim_free(m);
}

struct gmem *gmem_at(uint64_t addr)
{
	struct alloc *a = mem_find(addr);

	return a && a->lo == addr ? a->gm : NULL;
}

void gmem_live(struct gmem *m, bool live)
{
	struct pool *p = m->b->p;

	if (live == m->live)
		return;
	m->live = live;
	if (live) {
		m->refs++;
		p->used += m->b->blk->size;
		if (p->used_high < p->used)
			p->used_high = p->used;
	} else {
		p->used -= m->b->blk->size;
		gmem_put(m);
	}
}

struct op *gmem_op(struct ctx *c, const struct gmem *m, bool alloc)
{
	struct op *op = op_new(c, alloc ? OP_ALLOC : OP_FREE, "", sizeof(struct fill));

	if (!op)
		return NULL;
	*(struct fill *)op->data =
		(struct fill){m->lo, m->b->blk->size, alloc ? POISON_NEW : POISON_OLD};
	op->step = fill_step;
	op_range(op, m->lo, m->b->blk->size, true);
	return op;
}

/* attr: CUgraphMem_attribute */
static CUresult graph_mem_attr(CUdevice d, int attr, uint64_t *v, bool set)
{
	struct pool none = {0}, *p;

	ENTER();
	if (d < 0 || (unsigned)d >= sim_opt.devices)
		LEAVE(CUDA_ERROR_INVALID_DEVICE);
	p = graph_pool[d] ? graph_pool[d] : &none;
	if (!v || attr < 0 || attr > CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	uint64_t *num[] = {&p->used, &p->used_high, &p->reserved, &p->reserved_high};

	if (!set)
		*v = *num[attr];
	else if (attr % 2 && !*v)
		*num[attr] = *num[attr - 1];
	else
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	LEAVE(CUDA_SUCCESS);
}
ONE(cuDeviceGetGraphMemAttribute, (CUdevice d, CUgraphMem_attribute a, void *v),
    graph_mem_attr(d, (int)a, v, false))
ONE(cuDeviceSetGraphMemAttribute, (CUdevice d, CUgraphMem_attribute a, void *v),
    graph_mem_attr(d, (int)a, v, true))

API(cuDeviceGraphMemTrim, (CUdevice d))
{
	ENTER();
	if (d < 0 || (unsigned)d >= sim_opt.devices)
		LEAVE(CUDA_ERROR_INVALID_DEVICE);
	if (graph_pool[d])
		pool_trim(graph_pool[d], 0);
	LEAVE(CUDA_SUCCESS);
}

/* free_op NULL: at once (cuMemFree). */
static void pool_free(struct alloc *a, struct op *free_op, struct strm *st)
{
	struct pool *p = a->pool;
	struct blk *b = pool_block(p, a->lo);

	b->live = false;
	op_get(free_op);
	b->freed = free_op;
	b->sid = st ? st->id : 0;
	p->used -= b->size;
	mem_del(a);
}

static CUresult alloc_async(bool pt, CUdeviceptr *out, size_t size, CUmemoryPool ph, bool given,
			    CUstream s)
{
	struct strm *st;
	struct pool *p = (struct pool *)ph;
	CUresult r;

	ENTER();
	r = sim_get_stream(s, pt, &st);
	if (r != CUDA_SUCCESS)
		LEAVE(r);
	if (!given)
		p = pool_current(st->ctx->dev);
	else if (!sim_handle_is(p, SIM_POOL))
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	if (!p)
		LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
	if (st->cap)
		LEAVE(cap_alloc(st, size, p->dev, out));
	UNSAFE(st->ctx);
	LEAVE(pool_alloc(out, size, p, st));
}
BOTH(cuMemAllocAsync, _ptsz, (CUdeviceptr * p, size_t n, CUstream s),
     alloc_async(pt, p, n, NULL, false, s))
BOTH(cuMemAllocFromPoolAsync, _ptsz, (CUdeviceptr * p, size_t n, CUmemoryPool pool, CUstream s),
     alloc_async(pt, p, n, pool, true, s))

struct late {
	uint64_t lo, id;
};

static enum step late_free(struct op *op)
{
	struct late *l = op->data;
	struct alloc *a = mem_find(l->lo);

	if (a && a->id == l->id)
		mem_dev_free(a);
	return STEP_DONE;
}

static CUresult free_async(bool pt, CUdeviceptr d, CUstream s)
{
	struct strm *st;
	struct alloc *a;
	struct op *op;
	CUresult r;

	ENTER();
	r = sim_get_stream(s, pt, &st);
	if (r != CUDA_SUCCESS)
		LEAVE(r);
	if (!d)
		LEAVE(CUDA_SUCCESS);
	if (st->cap)
		LEAVE(cap_free(st, d));
	UNSAFE(st->ctx);
	a = mem_find(d);
	if (!a || a->lo != d || (a->kind != MEM_POOL && a->kind != MEM_DEVICE))
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	if (a->pool && a->pool == graph_pool[a->dev]) {
		if (!a->gm || !a->gm->live)
			LEAVE(CUDA_ERROR_INVALID_VALUE);
		op = gmem_op(st->ctx, a->gm, false);
		if (!op)
			LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
		gmem_live(a->gm, false);
		op_submit(op, st);
		LEAVE(CUDA_SUCCESS);
	}
	if (a->kind == MEM_DEVICE) {
		/* Ordinary memory freed in stream order. */
		op = op_new(st->ctx, OP_FREE, "", sizeof(struct late));
		if (!op)
			LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
		*(struct late *)op->data = (struct late){a->lo, a->id};
		op->step = late_free;
	} else {
		struct blk *b = pool_block(a->pool, d);

		op = op_new(st->ctx, OP_FREE, "", sizeof(struct fill));
		if (!op)
			LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
		*(struct fill *)op->data = (struct fill){d, b->size, POISON_OLD};
		op->step = fill_step;
	}
	op_range(op, a->lo, a->size, true);
	if (a->kind == MEM_POOL)
		pool_free(a, op, st);
	op_submit(op, st);
	LEAVE(CUDA_SUCCESS);
}
BOTH(cuMemFreeAsync, _ptsz, (CUdeviceptr d, CUstream s), free_async(pt, d, s))

#define GET_CTX(c)                                                                                 \
	struct ctx *c = NULL;                                                                      \
	do {                                                                                       \
		CUresult ctx_ = sim_get_ctx(&c);                                                   \
		if (ctx_ != CUDA_SUCCESS)                                                          \
			LEAVE(ctx_);                                                               \
	} while (0)

static bool dev_ok(int d)
{
	return d >= 0 && (unsigned)d < sim_opt.devices;
}

static CUresult dev_pool_get(CUmemoryPool *out, int d, bool deflt)
{
	struct pool *p;

	ENTER();
	if (!out)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	if (!dev_ok(d))
		LEAVE(CUDA_ERROR_INVALID_DEVICE);
	p = deflt ? pool_default(d) : pool_current(d);
	*out = (CUmemoryPool)p;
	LEAVE(p ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
}
ONE(cuDeviceGetDefaultMemPool, (CUmemoryPool * p, CUdevice d), dev_pool_get(p, d, true))
ONE(cuDeviceGetMemPool, (CUmemoryPool * p, CUdevice d), dev_pool_get(p, d, false))
static CUresult loc_pool_get(CUmemoryPool *p, const CUmemLocation *l, CUmemAllocationType t,
			     bool deflt)
{
	if (!l || t != CU_MEM_ALLOCATION_TYPE_PINNED)
		return CUDA_ERROR_INVALID_VALUE;
	if (l->type != CU_MEM_LOCATION_TYPE_DEVICE)
		return CUDA_ERROR_NOT_SUPPORTED;
	return dev_pool_get(p, l->id, deflt);
}
ONE(cuMemGetDefaultMemPool, (CUmemoryPool * p, CUmemLocation *l, CUmemAllocationType t),
    loc_pool_get(p, l, t, true))
ONE(cuMemGetMemPool, (CUmemoryPool * p, CUmemLocation *l, CUmemAllocationType t),
    loc_pool_get(p, l, t, false))

API(cuDeviceSetMemPool, (CUdevice d, CUmemoryPool p))
{
	ENTER();
	if (!dev_ok(d))
		LEAVE(CUDA_ERROR_INVALID_DEVICE);
	if (!sim_handle_is(p, SIM_POOL) || ((struct pool *)p)->dev != d)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	pool_default(d);
	dev_pool[d] = (struct pool *)p;
	LEAVE(CUDA_SUCCESS);
}

API(cuMemPoolCreate, (CUmemoryPool * out, const CUmemPoolProps *props))
{
	struct pool *p;

	ENTER();
	if (!out || !props || props->allocType != CU_MEM_ALLOCATION_TYPE_PINNED)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	if (props->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
		LEAVE(CUDA_ERROR_NOT_SUPPORTED);
	if (!dev_ok(props->location.id))
		LEAVE(CUDA_ERROR_INVALID_DEVICE);
	p = pool_new(props->location.id);
	if (!p)
		LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
	p->handle_types = props->handleTypes;
	*out = (CUmemoryPool)p;
	LEAVE(CUDA_SUCCESS);
}

API(cuMemPoolDestroy, (CUmemoryPool h))
{
	struct pool *p = (struct pool *)h;

	ENTER();
	if (!sim_handle_is(p, SIM_POOL) || p->deflt)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	/* Its blocks stay with their owners; what is free goes. */
	sim_handle_del(p);
	p->dead = true;
	if (dev_pool[p->dev] == p)
		dev_pool[p->dev] = dev_default[p->dev];
	pool_trim(p, 0);
	LEAVE(CUDA_SUCCESS);
}

static CUresult pool_attr(CUmemoryPool h, int attr, void *v, bool set)
{
	struct pool *p = (struct pool *)h;
	int *flag = NULL;
	uint64_t *num = NULL;

	ENTER();
	if (!sim_handle_is(p, SIM_POOL) || !v)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	switch (attr) {
	case 1:
		flag = &p->follow;
		break;
	case 2:
		flag = &p->opportunistic;
		break;
	case 3:
		flag = &p->internal;
		break;
	case 4:
		num = &p->threshold;
		break;
	case 5:
		num = &p->reserved;
		break;
	case 6:
		num = &p->reserved_high;
		break;
	case 7:
		num = &p->used;
		break;
	case 8:
		num = &p->used_high;
		break;
	default:
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	}
	if (!set && flag)
		*(int *)v = *flag;
	else if (!set)
		*(uint64_t *)v = *num;
	else if (flag)
		*flag = *(int *)v != 0;
	else if (attr == 4)
		*num = *(uint64_t *)v;
	else if ((attr == 6 || attr == 8) && !*(uint64_t *)v)
		*num = attr == 6 ? p->reserved : p->used;
	else
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	LEAVE(CUDA_SUCCESS);
}
ONE(cuMemPoolGetAttribute, (CUmemoryPool p, CUmemPool_attribute a, void *v),
    pool_attr(p, (int)a, v, false))
ONE(cuMemPoolSetAttribute, (CUmemoryPool p, CUmemPool_attribute a, void *v),
    pool_attr(p, (int)a, v, true))

API(cuMemPoolSetAccess, (CUmemoryPool h, const CUmemAccessDesc *d, size_t n))
{
	struct pool *p = (struct pool *)h;

	ENTER();
	if (!sim_handle_is(p, SIM_POOL) || !d || !n)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	for (size_t i = 0; i < n; i++) {
		uint64_t bit;

		if (d[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE || !dev_ok(d[i].location.id))
			LEAVE(CUDA_ERROR_INVALID_DEVICE);
		bit = 1ull << d[i].location.id;
		if (d[i].location.id == p->dev && d[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
			LEAVE(CUDA_ERROR_INVALID_VALUE);
		p->access_r = d[i].flags & 1 ? p->access_r | bit : p->access_r & ~bit;
		p->access_w = d[i].flags & 2 ? p->access_w | bit : p->access_w & ~bit;
	}
	mem_generation++;
	LEAVE(CUDA_SUCCESS);
}

API(cuMemPoolGetAccess, (CUmemAccess_flags * f, CUmemoryPool h, CUmemLocation *l))
{
	struct pool *p = (struct pool *)h;

	ENTER();
	if (!sim_handle_is(p, SIM_POOL) || !f || !l || l->type != CU_MEM_LOCATION_TYPE_DEVICE ||
	    !dev_ok(l->id))
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	*f = (CUmemAccess_flags)((p->access_r >> l->id & 1) | (p->access_w >> l->id & 1) << 1);
	LEAVE(CUDA_SUCCESS);
}

API(cuMemPoolTrimTo, (CUmemoryPool h, size_t keep))
{
	ENTER();
	if (!sim_handle_is(h, SIM_POOL))
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	pool_trim((struct pool *)h, keep);
	LEAVE(CUDA_SUCCESS);
}

bool mem_in_pool(uint64_t addr, uint64_t size, int *dev)
{
	for (unsigned i = 0; i < sim_opt.devices; i++) {
		if (!inside(&pool_arena[i], addr, size))
			continue;
		for (struct pool *p = pools; p; p = p->next) {
			if (p->dev != (int)i)
				continue;
			struct blk *b = pool_block(p, addr);

			if (b && b->addr + b->size >= addr + size) {
				if (dev)
					*dev = (int)i;
				return true;
			}
		}
	}
	return false;
}

/* ---- may a kernel touch it ---- */

struct phys {
	uint64_t id;
	uint64_t size;
	int fd, dev;
	unsigned refs; /* handle and mappings */
	unsigned handles;
	CUmemAllocationProp prop;
};

bool mem_may(struct ctx *c, uint64_t addr, uint64_t size, bool write)
{
	struct alloc *a = mem_find(addr);
	uint64_t bit = 1ull << c->dev;
	int dev;

	if (a && a->kind == MEM_POOL && addr + size <= a->lo + a->size)
		return (write ? a->pool->access_w : a->pool->access_r) & bit ||
		       c->peers >> a->dev & 1;
	if (!a || addr + size > a->lo + a->size) {
		/* Freed, or not yet allocated in device order: the pool's memory is mapped all the
		 * same. */
		if (mem_in_pool(addr, size, &dev))
			return dev == c->dev || c->peers >> dev & 1;
		/* Mappings of VMM memory may lie side by side. */
		if (a && a->kind == MEM_VMM)
			return mem_may(c, addr, a->lo + a->size - addr, write) &&
			       mem_may(c, a->lo + a->size, addr + size - a->lo - a->size, write);
		return false;
	}
	switch (a->kind) {
	case MEM_HOST:
		return true;
	case MEM_REGISTERED:
		return !write || !(a->flags & CU_MEMHOSTREGISTER_READ_ONLY);
	case MEM_MANAGED:
		return true;
	case MEM_VMM:
		return (write ? a->access_w : a->access_r) & bit;
	default:
		return c->peers >> a->dev & 1;
	}
}

bool mem_is_dev(uint64_t addr)
{
	return mem_find(addr) || mem_in_pool(addr, 1, NULL);
}

/* Two names of one byte of VMM memory are one name to the adversary. */
uint64_t mem_canon(uint64_t addr)
{
	struct alloc *a = mem_find(addr);

	if (a && a->phys)
		return 1ull << 63 | a->phys->id << 40 | (a->phys_off + (addr - a->lo));
	return addr;
}

/* ---- ordinary memory ---- */

API(cuMemGetInfo_v2, (size_t * fr, size_t *total))
{
	ENTER();
	GET_CTX(c);
	if (fr)
		*fr = TOTAL - dev_arena[c->dev].used - pool_arena[c->dev].used;
	if (total)
		*total = TOTAL;
	LEAVE(CUDA_SUCCESS);
}

API(cuMemAlloc_v2, (CUdeviceptr * out, size_t size))
{
	struct alloc *a;

	ENTER();
	GET_CTX(c);
	if (!out || !size)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	UNSAFE(c);
	a = mem_dev_alloc(c, c->dev, size, 0, MEM_DEVICE);
	if (!a)
		LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
	*out = a->lo;
	LEAVE(CUDA_SUCCESS);
}

API(cuMemAllocPitch_v2, (CUdeviceptr * out, size_t *pitch, size_t w, size_t h, unsigned elem))
{
	struct alloc *a;
	size_t p;

	ENTER();
	GET_CTX(c);
	if (!out || !pitch || !w || !h || (elem != 4 && elem != 8 && elem != 16))
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	p = (w + 511) & ~(size_t)511;
	if (h > SIZE_MAX / p)
		LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
	UNSAFE(c);
	a = mem_dev_alloc(c, c->dev, p * h, 0, MEM_DEVICE);
	if (!a)
		LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
	*out = a->lo;
	*pitch = p;
	LEAVE(CUDA_SUCCESS);
}

static struct alloc *map_new(struct ctx *c, enum mem_kind k, size_t size)
{
	size_t len = (size + 4095) & ~(size_t)4095;
	struct alloc *a;
	void *p;

	if (size > TOTAL)
		return NULL;
	p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
		 0);
	if (p == MAP_FAILED)
		return NULL;
	a = mem_new(k, c, c->dev, (uint64_t)p, size);
	if (!a) {
		sim_munmap(p, len);
		return NULL;
	}
	a->map = p;
	a->map_len = len;
	return a;
}

static void map_free(struct alloc *a)
{
	void *p = a->map;
	size_t n = a->map_len;

	mem_del(a);
	sim_munmap(p, n);
}

API(cuMemAllocManaged, (CUdeviceptr * out, size_t size, unsigned flags))
{
	struct alloc *a;

	ENTER();
	GET_CTX(c);
	if (!out || !size || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST))
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	UNSAFE(c);
	a = map_new(c, MEM_MANAGED, size);
	if (!a)
		LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
	a->flags = flags;
	*out = a->lo;
	LEAVE(CUDA_SUCCESS);
}

/* Work in flight may use memory that goes: waits, in the observed view. */
static void before_free(struct ctx *c)
{
	if (!sim_opt.documented)
		sim_wait_ctx(c);
}

API(cuMemFree_v2, (CUdeviceptr d))
{
	struct alloc *a;

	ENTER();
	GET_CTX(c);
	if (!d)
		LEAVE(CUDA_SUCCESS);
	a = mem_find(d);
	if (!a || a->lo != d)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	UNSAFE(c);
	if (a->pool && a->pool == graph_pool[a->dev]) {
		if (!a->gm || !a->gm->live)
			LEAVE(CUDA_ERROR_INVALID_VALUE);
		poison(a->lo, a->size, POISON_OLD);
		gmem_live(a->gm, false);
		LEAVE(CUDA_SUCCESS);
	}
	if (a->kind == MEM_POOL) {
		poison(a->lo, a->size, POISON_OLD);
		pool_free(a, NULL, NULL);
		LEAVE(CUDA_SUCCESS);
	}
	if ((a->kind != MEM_DEVICE && a->kind != MEM_MANAGED) || a->opens)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	before_free(a->ctx);
	/* Others had their turn meanwhile. */
	if (mem_find(d) != a)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	if (a->kind == MEM_MANAGED)
		map_free(a);
	else
		mem_dev_free(a);
	LEAVE(c->error);
}

static CUresult host_alloc(void **out, size_t size, unsigned flags)
{
	struct alloc *a;

	ENTER();
	GET_CTX(c);
	if (!out || !size || flags & ~7u)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	UNSAFE(c);
	a = map_new(c, MEM_HOST, size);
	if (!a)
		LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
	a->flags = flags;
	*out = a->map;
	LEAVE(CUDA_SUCCESS);
}
ONE(cuMemHostAlloc, (void **p, size_t n, unsigned flags), host_alloc(p, n, flags))
ONE(cuMemAllocHost_v2, (void **p, size_t n), host_alloc(p, n, 0))
ONE(cuMemAllocHost, (void **p, unsigned n), host_alloc(p, n, 0))

API(cuMemFreeHost, (void *p))
{
	struct alloc *a;

	ENTER();
	GET_CTX(c);
	if (!p)
		LEAVE(CUDA_SUCCESS);
	a = mem_find((uint64_t)p);
	if (!a || a->map != p || a->kind != MEM_HOST)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	UNSAFE(c);
	before_free(a->ctx);
	if (mem_find((uint64_t)p) != a)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	map_free(a);
	LEAVE(c->error);
}

static CUresult host_register(void *p, size_t size, unsigned flags)
{
	struct alloc *a;
	unsigned char vec;

	ENTER();
	GET_CTX(c);
	if (!p || !size || flags & ~15u)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	if (overlaps((uint64_t)p, size))
		LEAVE(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
	if (mincore((void *)((uintptr_t)p & ~4095ul), 1, &vec) && errno == ENOMEM)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	UNSAFE(c);
	a = mem_new(MEM_REGISTERED, c, c->dev, (uint64_t)p, size);
	if (!a)
		LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
	a->flags = flags;
	LEAVE(CUDA_SUCCESS);
}
ONE(cuMemHostRegister, (void *p, size_t n, unsigned flags), host_register(p, n, flags))
ONE(cuMemHostRegister_v2, (void *p, size_t n, unsigned flags), host_register(p, n, flags))

API(cuMemHostUnregister, (void *p))
{
	struct alloc *a;

	ENTER();
	GET_CTX(c);
	a = mem_find((uint64_t)p);
	if (!a || a->kind != MEM_REGISTERED || a->lo != (uint64_t)p)
		LEAVE(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
	UNSAFE(c);
	before_free(a->ctx);
	if (mem_find((uint64_t)p) != a)
		LEAVE(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
	mem_del(a);
	LEAVE(c->error);
}

API(cuMemHostGetDevicePointer_v2, (CUdeviceptr * out, void *p, unsigned flags))
{
	struct alloc *a;

	ENTER();
	GET_CTX(c);
	if (!out || flags)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	a = mem_find((uint64_t)p);
	if (!a || (a->kind != MEM_HOST && a->kind != MEM_REGISTERED && a->kind != MEM_MANAGED))
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	*out = (uint64_t)p;
	LEAVE(CUDA_SUCCESS);
}

API(cuMemHostGetFlags, (unsigned *flags, void *p))
{
	struct alloc *a;

	ENTER();
	GET_CTX(c);
	a = mem_find((uint64_t)p);
	if (!flags || !a || (a->kind != MEM_HOST && a->kind != MEM_REGISTERED))
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	*flags = a->flags;
	LEAVE(CUDA_SUCCESS);
}

/* What queries tell of: memory of a graph only as long as a launch has it allocated. */
static struct alloc *mem_known(CUdeviceptr d)
{
	struct alloc *a = mem_find(d);

	return a && a->pool && a->pool == graph_pool[a->dev] && (!a->gm || !a->gm->live) ? NULL : a;
}

API(cuMemGetAddressRange_v2, (CUdeviceptr * base, size_t *size, CUdeviceptr d))
{
	struct alloc *a;

	ENTER();
	GET_CTX(c);
	a = mem_known(d);
	if (!a)
		LEAVE(CUDA_ERROR_NOT_FOUND);
	if (base)
		*base = a->lo;
	if (size)
		*size = a->size;
	LEAVE(CUDA_SUCCESS);
}

/* The 32-bit forms of CUDA 2: no address of ours fits. */
API(cuMemAlloc, (CUdeviceptr_v1 * p, unsigned n))
{
	ENTER();
	GET_CTX(c);
	LEAVE(p && n ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_VALUE);
}

API(cuMemFree, (CUdeviceptr_v1 p))
{
	return cuMemFree_v2(p);
}

/* ---- pointer queries ---- */

static bool host_kind(const struct alloc *a)
{
	return a->kind == MEM_HOST || a->kind == MEM_REGISTERED;
}

static CUresult attr_of(void *v, int attr, CUdeviceptr d)
{
	struct alloc *a = mem_known(d);

	if (!a)
		return CUDA_ERROR_INVALID_VALUE;
	switch (attr) {
	case CU_POINTER_ATTRIBUTE_CONTEXT:
		*(CUcontext *)v =
			a->kind == MEM_VMM || a->kind == MEM_POOL ? NULL : (CUcontext)a->ctx;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		*(unsigned *)v = host_kind(a) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
		*(CUdeviceptr *)v = d;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
		if (!host_kind(a) && a->kind != MEM_MANAGED)
			return CUDA_ERROR_INVALID_VALUE;
		*(void **)v = (void *)d;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
		*(unsigned *)v = a->sync_memops;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_BUFFER_ID:
		*(uint64_t *)v = a->id;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
		*(unsigned *)v = a->kind == MEM_MANAGED;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		*(int *)v = a->dev;
		return CUDA_SUCCESS;
	case 10: /* IPC capable */
		*(unsigned *)v = a->kind == MEM_DEVICE;
		return CUDA_SUCCESS;
	case 11: /* range start */
		*(CUdeviceptr *)v = a->lo;
		return CUDA_SUCCESS;
	case 12: /* range size */
		*(size_t *)v = a->size;
		return CUDA_SUCCESS;
	case 13: /* mapped */
		*(unsigned char *)v = 1;
		return CUDA_SUCCESS;
	case 14: /* handle types */
		*(uint64_t *)v = a->kind == MEM_VMM ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : 0;
		return CUDA_SUCCESS;
	case 15: /* RDMA */
		*(unsigned char *)v = 0;
		return CUDA_SUCCESS;
	case 16: /* access */
		*(int *)v = 3;
		return CUDA_SUCCESS;
	case 17: /* pool */
		*(CUmemoryPool *)v = (CUmemoryPool)a->pool;
		return CUDA_SUCCESS;
	case 18: /* mapping size */
		*(size_t *)v = a->size;
		return CUDA_SUCCESS;
	case 19: /* mapping base */
		*(CUdeviceptr *)v = a->lo;
		return CUDA_SUCCESS;
	case 20: /* block id */
		*(uint64_t *)v = a->id;
		return CUDA_SUCCESS;
	}
	return CUDA_ERROR_INVALID_VALUE;
}

API(cuPointerGetAttribute, (void *v, CUpointer_attribute attr, CUdeviceptr d))
{
	ENTER_QUIET();
	LEAVE(v ? attr_of(v, (int)attr, d) : CUDA_ERROR_INVALID_VALUE);
}

API(cuPointerGetAttributes, (unsigned n, CUpointer_attribute *attr, void **v, CUdeviceptr d))
{
	ENTER_QUIET();
	if (!n || !attr || !v)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	for (unsigned i = 0; i < n; i++) {
		if (!v[i] || (int)attr[i] < 1 || (int)attr[i] > 20)
			LEAVE(CUDA_ERROR_INVALID_VALUE);
		if (attr_of(v[i], (int)attr[i], d) == CUDA_SUCCESS)
			continue;
		/* Unknown to CUDA, or the attribute does not apply: zeroes; no device. */
		switch ((int)attr[i]) {
		case 1:
		case 3:
		case 4:
		case 7:
		case 11:
		case 12:
		case 14:
		case 17:
		case 18:
		case 19:
		case 20:
			memset(v[i], 0, 8);
			break;
		case 9:
			*(int *)v[i] = -2;
			break;
		case 13:
		case 15:
			memset(v[i], 0, 1);
			break;
		default:
			memset(v[i], 0, 4);
		}
	}
	LEAVE(CUDA_SUCCESS);
}

API(cuPointerSetAttribute, (const void *v, CUpointer_attribute attr, CUdeviceptr d))
{
	struct alloc *a;

	ENTER();
	a = mem_find(d);
	if (!v || !a || attr != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	a->sync_memops = *(const unsigned *)v != 0;
	LEAVE(CUDA_SUCCESS);
}

/* ---- managed memory hints: points in stream order that move nothing ---- */

static CUresult mark_range(bool pt, CUdeviceptr d, size_t n, CUstream s, const char *name,
			   bool managed)
{
	struct alloc *a;
	struct strm *st;
	struct op *op;
	CUresult r;

	ENTER();
	r = sim_get_stream(s, pt, &st);
	if (r != CUDA_SUCCESS)
		LEAVE(r);
	if (st->cap) {
		cap_invalidate(st);
		LEAVE(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	}
	a = mem_find(d);
	if (!a || (managed && a->kind != MEM_MANAGED) || d + n > a->lo + a->size)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	op = op_new(st->ctx, OP_MARK, name, 0);
	if (!op)
		LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
	op_submit(op, st);
	LEAVE(CUDA_SUCCESS);
}

BOTH(cuMemPrefetchAsync, _ptsz, (CUdeviceptr d, size_t n, CUdevice dst, CUstream s),
     dst != CU_DEVICE_CPU && !dev_ok(dst) ? CUDA_ERROR_INVALID_DEVICE
					  : mark_range(pt, d, n, s, "prefetch", true))
BOTH(cuMemPrefetchAsync_v2, _ptsz,
     (CUdeviceptr d, size_t n, CUmemLocation l, unsigned flags, CUstream s),
     flags || l.type == CU_MEM_LOCATION_TYPE_INVALID ? CUDA_ERROR_INVALID_VALUE
						     : mark_range(pt, d, n, s, "prefetch", true))
BOTH(cuStreamAttachMemAsync, _ptsz, (CUstream s, CUdeviceptr d, size_t n, unsigned flags),
     flags != 1 && flags != 2 && flags != 4 ? CUDA_ERROR_INVALID_VALUE
					    : mark_range(pt, d, n, s, "attach", true))

static CUresult mark_batch(bool pt, CUdeviceptr *d, size_t *n, size_t count,
			   unsigned long long flags, CUstream s, bool discard)
{
	struct strm *st;
	struct op *op;
	CUresult r;

	ENTER();
	r = sim_get_stream(s, pt, &st);
	if (r != CUDA_SUCCESS)
		LEAVE(r);
	if (st->cap) {
		cap_invalidate(st);
		LEAVE(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	}
	if (!d || !n || !count || flags || st->legacy)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	for (size_t i = 0; i < count; i++) {
		struct alloc *a = mem_find(d[i]);

		if (!a || a->kind != MEM_MANAGED || d[i] + n[i] > a->lo + a->size)
			LEAVE(CUDA_ERROR_INVALID_VALUE);
	}
	op = op_new(st->ctx, OP_MARK, discard ? "discard" : "prefetch", 0);
	if (!op)
		LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
	for (size_t i = 0; discard && i < count; i++)
		op_range(op, d[i], n[i], true);
	op_submit(op, st);
	LEAVE(CUDA_SUCCESS);
}
BOTH(cuMemPrefetchBatchAsync, _ptsz,
     (CUdeviceptr * d, size_t *n, size_t count, CUmemLocation *l, size_t *li, size_t nl,
      unsigned long long f, CUstream s),
     !l || !li || !nl ? CUDA_ERROR_INVALID_VALUE : mark_batch(pt, d, n, count, f, s, false))
BOTH(cuMemDiscardBatchAsync, _ptsz,
     (CUdeviceptr * d, size_t *n, size_t count, unsigned long long f, CUstream s),
     mark_batch(pt, d, n, count, f, s, true))
BOTH(cuMemDiscardAndPrefetchBatchAsync, _ptsz,
     (CUdeviceptr * d, size_t *n, size_t count, CUmemLocation *l, size_t *li, size_t nl,
      unsigned long long f, CUstream s),
     !l || !li || !nl ? CUDA_ERROR_INVALID_VALUE : mark_batch(pt, d, n, count, f, s, true))

static CUresult advise(CUdeviceptr d, size_t n)
{
	struct alloc *a;

	ENTER();
	a = mem_find(d);
	if (!a || a->kind != MEM_MANAGED || d + n > a->lo + a->size)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	LEAVE(CUDA_SUCCESS);
}
ONE(cuMemAdvise, (CUdeviceptr d, size_t n, CUmem_advise w, CUdevice dev),
    ((void)w, (void)dev, advise(d, n)))
ONE(cuMemAdvise_v2, (CUdeviceptr d, size_t n, CUmem_advise w, CUmemLocation l),
    ((void)w, (void)l, advise(d, n)))

/* ---- VMM ---- */

struct resv {
	struct resv *next;
	uint64_t lo, size;
};
static struct resv *resvs;
static uint64_t next_phys;

static struct resv *resv_of(uint64_t addr, uint64_t size)
{
	for (struct resv *r = resvs; r; r = r->next)
		if (addr >= r->lo && size <= r->size && addr - r->lo <= r->size - size)
			return r;
	return NULL;
}

API(cuMemGetAllocationGranularity,
    (size_t * g, const CUmemAllocationProp *p, CUmemAllocationGranularity_flags f))
{
	ENTER_QUIET();
	(void)f;
	if (!g || !p)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	*g = VMM_GRAIN;
	LEAVE(CUDA_SUCCESS);
}

API(cuMemAddressReserve,
    (CUdeviceptr * out, size_t size, size_t align, CUdeviceptr at, unsigned long long flags))
{
	struct resv *r;
	uint64_t lo;
	char *p;

	ENTER();
	if (!out || !size || size % VMM_GRAIN || flags || align & (align - 1))
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	if (align < VMM_GRAIN)
		align = VMM_GRAIN;
	r = sim_alloc(sizeof *r);
	if (!r)
		LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
	p = MAP_FAILED;
	if (at && !(at % align)) {
		p = mmap((void *)at, size, PROT_NONE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
		if (p != MAP_FAILED && p != (char *)at) {
			sim_munmap(p, size);
			p = MAP_FAILED;
		}
	}
	if (p == MAP_FAILED) {
		p = mmap(NULL, size + align, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			 -1, 0);
		if (p == MAP_FAILED) {
			sim_free(r);
			LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
		}
		lo = ((uint64_t)p + align - 1) & ~(uint64_t)(align - 1);
		if (lo > (uint64_t)p)
			sim_munmap(p, lo - (uint64_t)p);
		sim_munmap((void *)(lo + size), (uint64_t)p + align - lo);
		p = (char *)lo;
	}
	*r = (struct resv){resvs, (uint64_t)p, size};
	resvs = r;
	*out = r->lo;
	LEAVE(CUDA_SUCCESS);
}

API(cuMemAddressFree, (CUdeviceptr d, size_t size))
{
	struct resv **p, *r;

	ENTER();
	for (p = &resvs; (r = *p); p = &r->next)
		if (r->lo == d && r->size == size)
			break;
	if (!r || overlaps(d, size))
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	*p = r->next;
	sim_free(r);
	sim_munmap((void *)d, size);
	LEAVE(CUDA_SUCCESS);
}

static struct phys *phys_new(int fd, uint64_t size, int dev)
{
	struct phys *p = sim_alloc(sizeof *p);

	if (!p)
		return NULL;
	*p = (struct phys){.id = ++next_phys & 0x3fffff,
			   .size = size,
			   .fd = fd,
			   .dev = dev,
			   .refs = 1,
			   .handles = 1};
	sim_handle_add(p, SIM_PHYS);
	return p;
}

static void phys_put(struct phys *p)
{
	if (--p->refs)
		return;
	close(p->fd);
	dev_arena[p->dev].used -= p->size;
	sim_free(p);
}

API(cuMemCreate, (CUmemGenericAllocationHandle * out, size_t size, const CUmemAllocationProp *prop,
		  unsigned long long flags))
{
	struct phys *p;
	int fd;

	ENTER();
	if (!out || !prop || !size || size % VMM_GRAIN || flags ||
	    prop->type != CU_MEM_ALLOCATION_TYPE_PINNED)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	if (prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
		LEAVE(CUDA_ERROR_NOT_SUPPORTED);
	if (!dev_ok(prop->location.id))
		LEAVE(CUDA_ERROR_INVALID_DEVICE);
	if (!room(prop->location.id, size))
		LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
	fd = memfd_create("cuda-sim", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, (off_t)size) || !(p = phys_new(fd, size, prop->location.id))) {
		if (fd >= 0)
			close(fd);
		LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
	}
	p->prop = *prop;
	dev_arena[p->dev].used += size;
	*out = (CUmemGenericAllocationHandle)(uintptr_t)p;
	LEAVE(CUDA_SUCCESS);
}

API(cuMemRelease, (CUmemGenericAllocationHandle h))
{
	struct phys *p = (struct phys *)(uintptr_t)h;

	ENTER();
	if (!sim_handle_is(p, SIM_PHYS))
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	if (--p->handles == 0)
		sim_handle_del(p);
	phys_put(p);
	LEAVE(CUDA_SUCCESS);
}

API(cuMemMap, (CUdeviceptr d, size_t size, size_t off, CUmemGenericAllocationHandle h,
	       unsigned long long flags))
{
	struct phys *p = (struct phys *)(uintptr_t)h;
	struct alloc *a;

	ENTER();
	if (!sim_handle_is(p, SIM_PHYS) || flags || !size || size % VMM_GRAIN || d % VMM_GRAIN ||
	    off % VMM_GRAIN || size > p->size || off > p->size - size || !resv_of(d, size) ||
	    overlaps(d, size))
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	if (mmap((void *)d, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, p->fd,
		 (off_t)off) == MAP_FAILED)
		LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
	a = mem_new(MEM_VMM, sim_current(), p->dev, d, size);
	if (!a)
		LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
	a->phys = p;
	a->phys_off = off;
	p->refs++;
	LEAVE(CUDA_SUCCESS);
}

API(cuMemUnmap, (CUdeviceptr d, size_t size))
{
	uint64_t at = d;
	struct alloc *a;

	ENTER();
	/* Whole mappings only. */
	while (at < d + size && (a = mem_find(at)) && a->kind == MEM_VMM && a->lo == at)
		at += a->size;
	if (!size || at != d + size)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	for (at = d; at < d + size;) {
		struct phys *p;

		a = mem_find(at);
		at += a->size;
		p = a->phys;
		mmap((void *)a->lo, a->size, PROT_NONE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
		mem_del(a);
		phys_put(p);
	}
	LEAVE(CUDA_SUCCESS);
}

API(cuMemSetAccess, (CUdeviceptr d, size_t size, const CUmemAccessDesc *desc, size_t n))
{
	uint64_t at;
	struct alloc *a;

	ENTER();
	if (!size || !desc || !n)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	for (at = d; at < d + size && (a = mem_find(at)) && a->kind == MEM_VMM;
	     at = a->lo + a->size)
		;
	if (at != d + size)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	for (size_t i = 0; i < n; i++)
		if (desc[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
		    !dev_ok(desc[i].location.id))
			LEAVE(CUDA_ERROR_INVALID_DEVICE);
	for (at = d; at < d + size; at = a->lo + a->size) {
		a = mem_find(at);
		for (size_t i = 0; i < n; i++) {
			uint64_t bit = 1ull << desc[i].location.id;

			a->access_r = desc[i].flags & 1 ? a->access_r | bit : a->access_r & ~bit;
			a->access_w = desc[i].flags & 2 ? a->access_w | bit : a->access_w & ~bit;
		}
	}
	mem_generation++;
	LEAVE(CUDA_SUCCESS);
}

API(cuMemGetAccess, (unsigned long long *flags, const CUmemLocation *l, CUdeviceptr d))
{
	struct alloc *a;

	ENTER();
	a = mem_find(d);
	if (!flags || !l || !a || a->kind != MEM_VMM || l->type != CU_MEM_LOCATION_TYPE_DEVICE ||
	    !dev_ok(l->id))
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	*flags = (a->access_r >> l->id & 1) | (a->access_w >> l->id & 1) << 1;
	LEAVE(CUDA_SUCCESS);
}

API(cuMemRetainAllocationHandle, (CUmemGenericAllocationHandle * out, void *addr))
{
	struct alloc *a;

	ENTER();
	a = mem_find((uint64_t)addr);
	if (!out || !a || a->kind != MEM_VMM)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	if (a->phys->handles++ == 0)
		sim_handle_add(a->phys, SIM_PHYS);
	a->phys->refs++;
	*out = (CUmemGenericAllocationHandle)(uintptr_t)a->phys;
	LEAVE(CUDA_SUCCESS);
}

API(cuMemGetAllocationPropertiesFromHandle,
    (CUmemAllocationProp * prop, CUmemGenericAllocationHandle h))
{
	struct phys *p = (struct phys *)(uintptr_t)h;

	ENTER();
	if (!prop || !sim_handle_is(p, SIM_PHYS))
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	*prop = p->prop;
	LEAVE(CUDA_SUCCESS);
}

API(cuMemExportToShareableHandle, (void *out, CUmemGenericAllocationHandle h,
				   CUmemAllocationHandleType t, unsigned long long flags))
{
	struct phys *p = (struct phys *)(uintptr_t)h;
	int fd;

	ENTER();
	if (!out || !sim_handle_is(p, SIM_PHYS) || flags ||
	    t != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	fd = fcntl(p->fd, F_DUPFD_CLOEXEC, 3);
	if (fd < 0)
		LEAVE(CUDA_ERROR_UNKNOWN);
	*(int *)out = fd;
	LEAVE(CUDA_SUCCESS);
}

API(cuMemImportFromShareableHandle,
    (CUmemGenericAllocationHandle * out, void *os, CUmemAllocationHandleType t))
{
	int fd = (int)(intptr_t)os;
	struct stat st;
	struct phys *p;

	ENTER();
	GET_CTX(c);
	if (!out || t != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || fstat(fd, &st) ||
	    st.st_size <= 0)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (fd < 0 || !(p = phys_new(fd, (uint64_t)st.st_size, c->dev)))
		LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
	/* The same file is the same memory. */
	p->id = (uint64_t)st.st_ino & 0x3fffff;
	dev_arena[c->dev].used += p->size;
	p->prop = (CUmemAllocationProp){.type = CU_MEM_ALLOCATION_TYPE_PINNED,
					.requestedHandleTypes = t,
					.location = {CU_MEM_LOCATION_TYPE_DEVICE, c->dev}};
	*out = (CUmemGenericAllocationHandle)(uintptr_t)p;
	LEAVE(CUDA_SUCCESS);
}

/* ---- IPC within the process ---- */

struct ipc {
	uint64_t magic, addr, id;
	int pid;
};
#define IPC_MEM 0x6d656d7369703131ull

API(cuIpcGetMemHandle, (CUipcMemHandle * out, CUdeviceptr d))
{
	struct ipc x = {.magic = IPC_MEM, .pid = getpid()};
	struct alloc *a;

	ENTER();
	a = mem_find(d);
	if (!out || !a || a->kind != MEM_DEVICE)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	a->ipc = true;
	x.addr = a->lo;
	x.id = a->id;
	memset(out, 0, sizeof *out);
	memcpy(out, &x, sizeof x);
	LEAVE(CUDA_SUCCESS);
}

static CUresult ipc_open(CUdeviceptr *out, const CUipcMemHandle *h, unsigned flags)
{
	struct ipc x;
	struct alloc *a;

	ENTER();
	memcpy(&x, h, sizeof x);
	if (!out || flags > 1 || x.magic != IPC_MEM)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	if (x.pid != getpid())
		LEAVE(CUDA_ERROR_NOT_SUPPORTED);
	a = mem_find(x.addr);
	if (!a || a->id != x.id)
		LEAVE(CUDA_ERROR_INVALID_HANDLE);
	a->opens++;
	*out = a->lo;
	LEAVE(CUDA_SUCCESS);
}
ONE(cuIpcOpenMemHandle, (CUdeviceptr * p, CUipcMemHandle h, unsigned flags), ipc_open(p, &h, flags))
ONE(cuIpcOpenMemHandle_v2, (CUdeviceptr * p, CUipcMemHandle h, unsigned flags),
    ipc_open(p, &h, flags))

API(cuIpcCloseMemHandle, (CUdeviceptr d))
{
	struct alloc *a;

	ENTER();
	a = mem_find(d);
	if (!a || !a->opens || a->lo != d)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	a->opens--;
	LEAVE(CUDA_SUCCESS);
}

/* ---- arrays ---- */

static size_t format_size(unsigned f)
{
	switch (f) {
	case CU_AD_FORMAT_UNSIGNED_INT8:
	case CU_AD_FORMAT_SIGNED_INT8:
		return 1;
	case CU_AD_FORMAT_UNSIGNED_INT16:
	case CU_AD_FORMAT_SIGNED_INT16:
	case CU_AD_FORMAT_HALF:
		return 2;
	case CU_AD_FORMAT_UNSIGNED_INT32:
	case CU_AD_FORMAT_SIGNED_INT32:
	case CU_AD_FORMAT_FLOAT:
		return 4;
	}
	return 0;
}

static CUresult array_new(struct ctx *c, const CUDA_ARRAY3D_DESCRIPTOR *d, struct arr **out)
{
	size_t f = format_size((unsigned)d->Format), h = d->Height ? d->Height : 1,
	       z = d->Depth ? d->Depth : 1;
	struct arr *a;

	if (!f || !d->Width ||
	    (d->NumChannels != 1 && d->NumChannels != 2 && d->NumChannels != 4) ||
	    d->Width > 1u << 20 || h > 1u << 20 || z > 1u << 16)
		return CUDA_ERROR_INVALID_VALUE;
	a = sim_alloc(sizeof *a);
	if (!a)
		return CUDA_ERROR_OUT_OF_MEMORY;
	a->d = *d;
	a->elem = f * d->NumChannels;
	a->pitch = a->elem * d->Width;
	a->slice = a->pitch * h;
	a->owned = true;
	a->mem = mem_dev_alloc(c, c->dev, a->slice * z, 0, MEM_ARRAY);
	if (!a->mem) {
		sim_free(a);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	sim_handle_add(a, SIM_ARRAY);
	*out = a;
	return CUDA_SUCCESS;
}

API(cuArray3DCreate_v2, (CUarray * out, const CUDA_ARRAY3D_DESCRIPTOR *d))
{
	struct arr *a = NULL;
	CUresult r;

	ENTER();
	GET_CTX(c);
	if (!out || !d)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	UNSAFE(c);
	r = array_new(c, d, &a);
	if (r == CUDA_SUCCESS)
		*out = (CUarray)a;
	LEAVE(r);
}

API(cuArrayCreate_v2, (CUarray * out, const CUDA_ARRAY_DESCRIPTOR *d))
{
	CUDA_ARRAY3D_DESCRIPTOR x;

	if (!d)
		return CUDA_ERROR_INVALID_VALUE;
	x = (CUDA_ARRAY3D_DESCRIPTOR){.Width = d->Width,
				      .Height = d->Height,
				      .Format = d->Format,
				      .NumChannels = d->NumChannels};
	return cuArray3DCreate_v2(out, &x);
}

API(cuArray3DGetDescriptor_v2, (CUDA_ARRAY3D_DESCRIPTOR * d, CUarray h))
{
	ENTER();
	if (!d || !sim_handle_is(h, SIM_ARRAY))
		LEAVE(d ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE);
	*d = ((struct arr *)h)->d;
	LEAVE(CUDA_SUCCESS);
}

API(cuArrayGetDescriptor_v2, (CUDA_ARRAY_DESCRIPTOR * d, CUarray h))
{
	const struct arr *a = (const struct arr *)h;

	ENTER();
	if (!d || !sim_handle_is(h, SIM_ARRAY))
		LEAVE(d ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE);
	*d = (CUDA_ARRAY_DESCRIPTOR){a->d.Width, a->d.Height, a->d.Format, a->d.NumChannels};
	LEAVE(CUDA_SUCCESS);
}

static void array_free(struct arr *a)
{
	sim_handle_del(a);
	if (a->owned)
		mem_dev_free(a->mem);
	sim_free(a);
}

API(cuArrayDestroy, (CUarray h))
{
	struct arr *a = (struct arr *)h;

	ENTER();
	if (!sim_handle_is(a, SIM_ARRAY) || !a->owned)
		LEAVE(CUDA_ERROR_INVALID_HANDLE);
	UNSAFE(a->mem->ctx);
	before_free(a->mem->ctx);
	if (!sim_handle_is(a, SIM_ARRAY))
		LEAVE(CUDA_ERROR_INVALID_HANDLE);
	array_free(a);
	LEAVE(CUDA_SUCCESS);
}

struct mip {
	unsigned n;
	struct arr *level[16];
};

API(cuMipmappedArrayCreate,
    (CUmipmappedArray * out, const CUDA_ARRAY3D_DESCRIPTOR *d, unsigned levels))
{
	struct mip *m;
	CUresult r = CUDA_SUCCESS;

	ENTER();
	GET_CTX(c);
	if (!out || !d || !levels || levels > 16)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	UNSAFE(c);
	m = sim_alloc(sizeof *m);
	if (!m)
		LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
	for (m->n = 0; m->n < levels && r == CUDA_SUCCESS; m->n++) {
		CUDA_ARRAY3D_DESCRIPTOR x = *d;

		x.Width = x.Width >> m->n ? x.Width >> m->n : 1;
		x.Height = x.Height ? (x.Height >> m->n ? x.Height >> m->n : 1) : 0;
		x.Depth = x.Depth ? (x.Depth >> m->n ? x.Depth >> m->n : 1) : 0;
		r = array_new(c, &x, &m->level[m->n]);
	}
	if (r != CUDA_SUCCESS) {
		while (m->n-- > 1)
			array_free(m->level[m->n - 1]);
		sim_free(m);
		LEAVE(r);
	}
	for (unsigned i = 0; i < m->n; i++)
		m->level[i]->owned = false;
	sim_handle_add(m, SIM_MIPMAP);
	*out = (CUmipmappedArray)m;
	LEAVE(CUDA_SUCCESS);
}

API(cuMipmappedArrayGetLevel, (CUarray * out, CUmipmappedArray h, unsigned level))
{
	struct mip *m = (struct mip *)h;

	ENTER();
	if (!sim_handle_is(m, SIM_MIPMAP))
		LEAVE(CUDA_ERROR_INVALID_HANDLE);
	if (!out || level >= m->n)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	*out = (CUarray)m->level[level];
	LEAVE(CUDA_SUCCESS);
}

API(cuMipmappedArrayDestroy, (CUmipmappedArray h))
{
	struct mip *m = (struct mip *)h;

	ENTER();
	if (!sim_handle_is(m, SIM_MIPMAP))
		LEAVE(CUDA_ERROR_INVALID_HANDLE);
	UNSAFE(m->level[0]->mem->ctx);
	before_free(m->level[0]->mem->ctx);
	if (!sim_handle_is(m, SIM_MIPMAP))
		LEAVE(CUDA_ERROR_INVALID_HANDLE);
	sim_handle_del(m);
	for (unsigned i = 0; i < m->n; i++) {
		m->level[i]->owned = true;
		array_free(m->level[i]);
	}
	sim_free(m);
	LEAVE(CUDA_SUCCESS);
}

/* ---- a context goes: its plain, pinned, registered and managed memory goes with it ---- */

void mem_ctx_gone(struct ctx *c)
{
	for (unsigned i = ntab; i--;) {
		struct alloc *a = tab[i];

		if (a->ctx != c)
			continue;
		switch (a->kind) {
		case MEM_DEVICE:
		case MEM_GLOBAL:
			mem_dev_free(a);
			break;
		case MEM_HOST:
		case MEM_MANAGED:
			map_free(a);
			break;
		case MEM_REGISTERED:
			mem_del(a);
			break;
		case MEM_ARRAY: /* the handle still names it */
		case MEM_POOL:
		case MEM_VMM:
		case MEM_NONE:
			a->ctx = NULL;
			break;
		}
	}
}
