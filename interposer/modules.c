/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loaded ELF objects (modules.h).
 *
 * Invariants: mods[] only grows and its elements live for ever; live[] is the
 * subset that is loaded now, ascending by address.  An object that went away
 * and came back unchanged (same path, range, build-id) is the same module and its
 * record stays good, so that a program that opens and closes one plug-in in a
 * loop fills nothing up.
 *
 * Locking: map_lock guards everything written here.  The loader is asked
 * (dl_iterate_phdr) before the lock is taken, never with it held; two threads
 * that asked at once are told apart by the loader's own counters, which only
 * rise.  live[] is read under the sequence count live_seq.  Lane 0 is written
 * with map_lock held: the order is map_lock, then lane 0.
 *
 * Memory comes from mmap and is never given back.  No malloc, no stdio.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "internal.h"
#include "modules.h"
#include "next.h"
#include "ownlock.h"
#include "unwinder.h"

#define MODS_MAX     16384
#define LIVE_MAX     8192
#define SCRATCH_SIZE (4u << 20)
#define ARENA_CHUNK  (64u << 10)
#define PATH_BYTES   4096
#define PAGE         4096ul

struct krt_modules_unloads krt_modules_unloads;

static struct krt_ownlock map_lock;
static __thread char self_tls __attribute__((tls_model("initial-exec")));

static struct krt_module **mods; /* MODS_MAX pointers, mapped at first use */
static unsigned nmods;
static _Atomic unsigned unemitted;   /* live modules without a record; changed under map_lock */
static uint64_t stamp;               /* number of the last merge */
static _Atomic uint64_t known_adds, known_subs;
static _Atomic unsigned generation;
static _Atomic unsigned changes;
static _Atomic(const struct krt_module *) self_module;

static _Atomic unsigned live_seq; /* odd: live[] is being changed */
static _Atomic unsigned nlive;
static struct {
	_Atomic uintptr_t base, end;
	_Atomic(struct krt_module *) m;
} live[LIVE_MAX];

/* ---- names ------------------------------------------------------------------ */

static const struct {
	const char *stem; /* of the file name; what follows must not go on with a letter */
	enum krt_module_role role;
} role_table[] = {
	{ "libcuda", KRT_MODULE_DRIVER },
	{ "libnvidia-ptxjitcompiler", KRT_MODULE_DRIVER },
	{ "libnvidia-nvvm", KRT_MODULE_DRIVER },
	{ "libnvidia-gpucomp", KRT_MODULE_DRIVER },
	{ "libcudadebugger", KRT_MODULE_DRIVER },
	{ "libcudart", KRT_MODULE_CUDA },
	{ "libc10_cuda", KRT_MODULE_CUDA }, /* PyTorch's allocator, streams and events: its callers say more */
	{ "libcublas", KRT_MODULE_CUDA },
	{ "libcublasLt", KRT_MODULE_CUDA },
	{ "libcublasMp", KRT_MODULE_CUDA },
	{ "libnvblas", KRT_MODULE_CUDA },
	{ "libcudnn", KRT_MODULE_CUDA },
	{ "libcufft", KRT_MODULE_CUDA },
	{ "libcufftw", KRT_MODULE_CUDA },
	{ "libcufftMp", KRT_MODULE_CUDA },
	{ "libcufile", KRT_MODULE_CUDA },
	{ "libcurand", KRT_MODULE_CUDA },
	{ "libcusolver", KRT_MODULE_CUDA },
	{ "libcusolverMg", KRT_MODULE_CUDA },
	{ "libcusolverMp", KRT_MODULE_CUDA },
	{ "libcusparse", KRT_MODULE_CUDA },
	{ "libcusparseLt", KRT_MODULE_CUDA },
	{ "libcutensor", KRT_MODULE_CUDA },
	{ "libcutensorMg", KRT_MODULE_CUDA },
	{ "libcudss", KRT_MODULE_CUDA },
	{ "libnccl", KRT_MODULE_CUDA },
	{ "libnvrtc", KRT_MODULE_CUDA },
	{ "libnvJitLink", KRT_MODULE_CUDA },
	{ "libnvfatbin", KRT_MODULE_CUDA },
	{ "libnvvm", KRT_MODULE_CUDA },
	{ "libcupti", KRT_MODULE_CUDA },
	{ "libnvperf", KRT_MODULE_CUDA },
	{ "libnvToolsExt", KRT_MODULE_CUDA },
	{ "libnvtx3interop", KRT_MODULE_CUDA },
	{ "libnvjpeg", KRT_MODULE_CUDA },
	{ "libnvshmem", KRT_MODULE_CUDA },
	{ "libnpp", KRT_MODULE_CUDA }, /* libnppc, libnppial, ...: see below */
};

static bool letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

enum krt_module_role krt_module_role_of(const char *path, size_t len)
{
	size_t at = len;

	while (at > 0 && path[at - 1] != '/')
		at--;
	path += at;
	len -= at;
	for (size_t i = 0; i < sizeof(role_table) / sizeof(role_table[0]); i++) {
		size_t n = strlen(role_table[i].stem);

		if (len <= n || memcmp(path, role_table[i].stem, n) != 0)
			continue;
		/* libcuda.so.1, libcudart-d0da41ae.so.11.0 (a wheel), libcudnn_cnn.so, libcufft64 */
		if (!letter(path[n]) || strcmp(role_table[i].stem, "libnpp") == 0) {
			/* "libcuda_wrapper.so" and "libcuda-checkpoint.so" are not the driver */
			if (role_table[i].role == KRT_MODULE_DRIVER && path[n] != '.')
				continue;
			return role_table[i].role;
		}
	}
	return KRT_MODULE_USER;
}

/* ---- memory ------------------------------------------------------------------- */

static void *pages(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		krt_trouble(KRT_TROUBLE_PART); /* frames get no names */
	return p == MAP_FAILED ? NULL : p;
}

static void *arena(size_t size) /* under map_lock */
{
	static char *at;
	static size_t left;
	void *p;

	size = (size + 15) & ~(size_t)15;
	if (size > left) {
		char *chunk = pages(ARENA_CHUNK);

		if (!chunk || size > ARENA_CHUNK)
			return NULL;
		at = chunk;
		left = ARENA_CHUNK;
	}
	p = at;
	at += size;
	left -= size;
	return p;
}

/* ---- reading the loader's list --------------------------------------------------- */

/* One object as dl_iterate_phdr showed it, in the scratch buffer. */
struct seen {
	struct krt_module m; /* path points behind this struct */
	bool exe, known;
};

struct gather {
	uint64_t adds, subs;
	char *buf;
	size_t used;
	unsigned count;
	bool full;
};

static int counters_cb(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct gather *g = arg;

	if (size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof(info->dlpi_subs)) {
		g->adds = info->dlpi_adds;
		g->subs = info->dlpi_subs;
	}
	return 1;
}

static void note_build_id(struct krt_module *m, uintptr_t at, size_t len)
{
	while (len >= sizeof(ElfW(Nhdr))) {
		const ElfW(Nhdr) *n = (const void *)at;
		size_t name = ((size_t)n->n_namesz + 3) & ~(size_t)3;
		size_t desc = ((size_t)n->n_descsz + 3) & ~(size_t)3;
		size_t all = sizeof(*n) + name + desc;

		if (all > len)
			return;
		if (n->n_type == NT_GNU_BUILD_ID && n->n_namesz == 4 &&
		    memcmp((const char *)(n + 1), "GNU", 4) == 0) {
			m->build_id_len =
				n->n_descsz < sizeof(m->build_id) ? n->n_descsz : sizeof(m->build_id);
			memcpy(m->build_id, (const char *)(n + 1) + name, m->build_id_len);
			return;
		}
		at += all;
		len -= all;
	}
}

/* Dynamic entries hold addresses that glibc has relocated for most objects, not for the vdso. */
static uintptr_t dyn_addr(const struct krt_module *m, uintptr_t v)
{
	return v >= m->base && v < m->end ? v : v + m->bias;
}

static const char *dyn_soname(const struct krt_module *m, const ElfW(Dyn) *d, size_t len)
{
	uintptr_t strtab = 0, soname = 0;
	size_t strsz = 0;

	for (; len >= sizeof(*d) && d->d_tag != DT_NULL; d++, len -= sizeof(*d)) {
		if (d->d_tag == DT_STRTAB)
			strtab = dyn_addr(m, d->d_un.d_ptr);
		else if (d->d_tag == DT_STRSZ)
			strsz = d->d_un.d_val;
		else if (d->d_tag == DT_SONAME)
			soname = d->d_un.d_val;
	}
	if (!strtab || !soname || soname >= strsz || !krt_module_has(m, strtab, strsz) ||
	    !memchr((const char *)strtab + soname, 0, strsz - soname))
		return NULL;
	return (const char *)strtab + soname;
}

static bool describe(struct krt_module *m, const struct dl_phdr_info *info)
{
	uintptr_t lo = UINTPTR_MAX, hi = 0, dyn = 0;
	size_t dyn_len = 0;
	const char *soname;

	m->bias = info->dlpi_addr;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t a = m->bias + p->p_vaddr, e = a + p->p_memsz;

		if (p->p_type != PT_LOAD || e <= a)
			continue;
		lo = a < lo ? a : lo;
		hi = e > hi ? e : hi;
		if (!(p->p_flags & PF_R) || m->nseg == KRT_MODULE_SEGS)
			continue;
		m->seg[m->nseg] = (struct krt_seg){ a, e, p->p_offset, p->p_filesz };
		if (p->p_flags & PF_X)
			m->exec |= 1u << m->nseg;
		if (p->p_flags & PF_W)
			m->write |= 1u << m->nseg;
		m->nseg++;
	}
	if (lo >= hi)
		return false;
	m->base = lo & ~(PAGE - 1);
	m->end = (hi + PAGE - 1) & ~(PAGE - 1);
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t a = m->bias + p->p_vaddr;

		if (!krt_module_has(m, a, p->p_memsz))
			continue;
		if (p->p_type == PT_GNU_EH_FRAME) {
			m->eh_hdr = a;
			m->eh_hdr_len = p->p_memsz;
		} else if (p->p_type == PT_NOTE && !m->build_id_len && !(a & 3)) {
			note_build_id(m, a, p->p_memsz);
		} else if (p->p_type == PT_DYNAMIC) {
			dyn = a;
			dyn_len = p->p_memsz;
		}
	}
	m->role = krt_module_role_of(info->dlpi_name, strlen(info->dlpi_name));
	soname = m->role == KRT_MODULE_USER && dyn ?
			 dyn_soname(m, (const ElfW(Dyn) *)dyn, dyn_len) : NULL;
	if (soname)
		m->role = krt_module_role_of(soname, strlen(soname));
	return true;
}

/* Runs under the loader's lock: reads and copies, calls nothing that could wait. */
static int gather_cb(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct gather *g = arg;
	const char *name = info->dlpi_name ? info->dlpi_name : "";
	size_t len = strlen(name), all;
	struct seen *s = (struct seen *)(g->buf + g->used);

	counters_cb(info, size, arg);
	if (len >= PATH_BYTES)
		len = PATH_BYTES - 1;
	all = (sizeof(*s) + len + 15) & ~(size_t)15;
	if (g->used + all > SCRATCH_SIZE) {
		g->full = true;
		return 1;
	}
	if (!describe(&s->m, info)) {
		memset(s, 0, sizeof(*s));
		return 0;
	}
	memcpy(s + 1, name, len);
	s->m.path = (const char *)(s + 1);
	s->m.path_len = len;
	s->exe = g->count == 0 && len == 0;
	if (s->exe)
		s->m.role = KRT_MODULE_EXE;
	if ((uintptr_t)&krt_modules_refresh >= s->m.base && (uintptr_t)&krt_modules_refresh < s->m.end &&
	    !s->exe)
		s->m.role = KRT_MODULE_KRTSAN;
	g->used += all;
	g->count++;
	return 0;
}

static struct seen *next_seen(struct seen *s)
{
	return (struct seen *)((char *)s + ((sizeof(*s) + s->m.path_len + 15) & ~(size_t)15));
}

/* ---- the map ----------------------------------------------------------------------- */

static bool same(const struct krt_module *a, const struct krt_module *b)
{
	return a->base == b->base && a->end == b->end && a->bias == b->bias &&
	       a->eh_hdr == b->eh_hdr && a->build_id_len == b->build_id_len &&
	       memcmp(a->build_id, b->build_id, a->build_id_len) == 0;
}

static bool same_path(const struct krt_module *m, const char *name, size_t len)
{
	return m->path_len == len && memcmp(m->path, name, len) == 0;
}

/*
 * The name under which a file can be found later: relative names are those that
 * the loader was given, so they are completed with the working folder of now.
 */
static size_t full_path(const struct seen *s, char *buf)
{
	ssize_t n;

	if (s->exe) {
		n = readlink("/proc/self/exe", buf, PATH_BYTES);
		return n > 0 ? (size_t)n : 0;
	}
	/* not a path: linux-vdso.so.1, or found by a plain name in the working folder */
	if (s->m.path_len && s->m.path[0] != '/' && memchr(s->m.path, '/', s->m.path_len)) {
		const char *p = s->m.path;
		size_t len = s->m.path_len;

		n = syscall(SYS_getcwd, buf, PATH_BYTES);
		if (n > 1 && buf[0] == '/') {
			if (len > 2 && p[0] == '.' && p[1] == '/') {
				p += 2;
				len -= 2;
			}
			if (n + len < PATH_BYTES) {
				buf[n - 1] = '/';
				memcpy(buf + n, p, len);
				return n + len;
			}
		}
	}
	memcpy(buf, s->m.path, s->m.path_len);
	return s->m.path_len;
}

static char path[PATH_BYTES]; /* under map_lock */

static struct krt_module *add(const struct seen *s, size_t len)
{
	struct krt_module *m;
	char *copy;

	if (!mods)
		mods = pages(MODS_MAX * sizeof(*mods));
	if (!mods || nmods == MODS_MAX)
		return NULL;
	m = arena(sizeof(*m) + len);
	if (!m)
		return NULL;
	*m = s->m;
	copy = (char *)(m + 1);
	memcpy(copy, path, len);
	m->path = copy;
	m->path_len = len;
	m->emitted = false;
	mods[nmods++] = m;
	return m;
}

static void emit(struct krt_module *m)
{
	static char buf[sizeof(struct krt_rec_module) + PATH_BYTES + 8]; /* under map_lock */
	struct krt_rec_module *r = (void *)buf;
	size_t size = (sizeof(*r) + m->path_len + 7) & ~(size_t)7;

	memset(buf, 0, size);
	*r = (struct krt_rec_module){
		.h = { .size = size, .kind = KRT_REC_MODULE },
		.base = m->base,
		.end = m->end,
		.bias = m->bias,
		.build_id_len = m->build_id_len,
		.role = m->role,
		.path_len = m->path_len,
	};
	memcpy(r->build_id, m->build_id, m->build_id_len);
	memcpy(r->path, m->path, m->path_len);
	krt_lane0_write(&r->h, size);
	m->emitted = true;
	unemitted--;
}

static void emit_all(void)
{
	if (!krt_attached())
		return; /* the first refresh of the recorder will do it */
	for (unsigned i = 0; unemitted && i < nmods; i++)
		if (!mods[i]->emitted && mods[i]->stamp == stamp)
			emit(mods[i]);
}

/* Index of the first element of live[] with a base above addr; under map_lock or live_seq. */
static unsigned above(uintptr_t addr)
{
	unsigned lo = 0, hi = atomic_load_explicit(&nlive, memory_order_relaxed);

	while (lo < hi) {
		unsigned mid = (lo + hi) / 2;

		if (atomic_load_explicit(&live[mid].base, memory_order_relaxed) > addr)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

static struct krt_module *live_at(unsigned i)
{
	return atomic_load_explicit(&live[i].m, memory_order_relaxed);
}

static void live_set(unsigned i, struct krt_module *m)
{
	atomic_store_explicit(&live[i].base, m->base, memory_order_relaxed);
	atomic_store_explicit(&live[i].end, m->end, memory_order_relaxed);
	atomic_store_explicit(&live[i].m, m, memory_order_relaxed);
}

static void live_write_begin(void)
{
	unsigned seq = atomic_load_explicit(&live_seq, memory_order_relaxed);

	atomic_store_explicit(&live_seq, seq + 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
}

static void live_write_end(void)
{
	unsigned seq = atomic_load_explicit(&live_seq, memory_order_relaxed);

	atomic_store_explicit(&live_seq, seq + 1, memory_order_release);
}

/*
 * Take those out that the refresh did not see, and their rules with them: what
 * comes to lie there next may do so unnoticed.
 */
static void live_drop(void)
{
	unsigned n = atomic_load_explicit(&nlive, memory_order_relaxed), k = 0, gone = 0;

	for (unsigned i = 0; i < n; i++) {
		struct krt_module *m = live_at(i);

		if (m->stamp == stamp)
			continue;
		gone++;
		unemitted -= !m->emitted;
		krt_unwind_forget(m->base, m->end);
	}
	if (!gone)
		return;
	live_write_begin();
	for (unsigned i = 0; i < n; i++)
		if (live_at(i)->stamp == stamp)
			live_set(k++, live_at(i));
	atomic_store_explicit(&nlive, k, memory_order_relaxed);
	live_write_end();
}

static void live_add(struct krt_module *m)
{
	unsigned n = atomic_load_explicit(&nlive, memory_order_relaxed), at;

	if (n == LIVE_MAX)
		return; /* addresses in it stay unknown */
	m->stamp = stamp;
	at = above(m->base);
	live_write_begin();
	for (unsigned i = n; i > at; i--)
		live_set(i, live_at(i - 1));
	live_set(at, m);
	atomic_store_explicit(&nlive, n + 1, memory_order_relaxed);
	live_write_end();
	unemitted += !m->emitted;
}

/* Not in the map: an object that is back unchanged, or a new one. */
static void arrive(const struct seen *s, bool *reused)
{
	size_t len = full_path(s, path);
	struct krt_module *m = NULL;
	unsigned n = nmods;

	/* only a build-id proves that it is the same */
	for (unsigned i = 0; i < n && !m && s->m.build_id_len; i++)
		if (same(mods[i], &s->m) && same_path(mods[i], path, len))
			m = mods[i];
	if (!m)
		m = add(s, len);
	if (!m)
		return;
	for (unsigned i = 0; i < n; i++) {
		if (mods[i] == m || mods[i]->end <= m->base || mods[i]->base >= m->end)
			continue;
		/* the last record and the cached rules of this range are another object's */
		*reused = true;
		m->emitted = false;
	}
	live_add(m);
}

static void merge(struct gather *g)
{
	struct seen *s = (struct seen *)g->buf;
	bool reused = false, unloads = g->subs != atomic_load_explicit(&known_subs, memory_order_relaxed);
	const struct krt_module *self;

	stamp++;
	for (unsigned k = 0; k < g->count; k++, s = next_seen(s)) {
		unsigned at = above(s->m.base);
		struct krt_module *m = at > 0 ? live_at(at - 1) : NULL;

		if (!m || !same(m, &s->m))
			continue;
		if (unloads && !m->build_id_len) {
			/* cannot be told from a look-alike that took its place */
			size_t len = full_path(s, path);

			if (!same_path(m, path, len))
				continue;
			unemitted += m->emitted;
			m->emitted = false;
			reused = true;
			krt_unwind_forget(m->base, m->end);
		}
		m->stamp = stamp;
		s->known = true;
	}
	live_drop();
	s = (struct seen *)g->buf;
	for (unsigned k = 0; k < g->count; k++, s = next_seen(s))
		if (!s->known)
			arrive(s, &reused);
	if (reused)
		atomic_fetch_add_explicit(&generation, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&changes, 1, memory_order_release);
	self = krt_module_at((uintptr_t)&krt_modules_refresh);
	if (self)
		atomic_store_explicit(&self_module, self, memory_order_relaxed);
	/* last: who finds them equal to the loader's may use the map and the rules */
	atomic_store_explicit(&known_adds, g->adds, memory_order_release);
	atomic_store_explicit(&known_subs, g->subs, memory_order_release);
}

/* The map shows all unloads up to this count. */
static void accounted(unsigned unloads)
{
	unsigned merged = atomic_load_explicit(&krt_modules_unloads.merged, memory_order_relaxed);

	while ((int)(unloads - merged) > 0 &&
	       !atomic_compare_exchange_weak_explicit(&krt_modules_unloads.merged, &merged, unloads,
						      memory_order_release, memory_order_relaxed))
		;
}

void krt_modules_refresh(void)
{
	unsigned unloads = atomic_load_explicit(&krt_modules_unloads.seen, memory_order_acquire);
	struct gather g = { 0 };
	uint64_t adds, subs;

	dl_iterate_phdr(counters_cb, &g);
	adds = atomic_load_explicit(&known_adds, memory_order_acquire);
	subs = atomic_load_explicit(&known_subs, memory_order_acquire);
	if (g.adds != adds || g.subs != subs || (!g.adds && !adds)) {
		g = (struct gather){ .buf = pages(SCRATCH_SIZE) };
		if (!g.buf)
			return;
		dl_iterate_phdr(gather_cb, &g);
	} else if (!atomic_load_explicit(&unemitted, memory_order_relaxed)) {
		accounted(unloads);
		return;
	}
	if (krt_ownlock_take(&map_lock, &self_tls)) {
		/* another thread may have asked later and be here already */
		if (g.buf && !g.full &&
		    g.adds + g.subs >= atomic_load_explicit(&known_adds, memory_order_relaxed) +
					     atomic_load_explicit(&known_subs, memory_order_relaxed))
			merge(&g);
		if (!g.full)
			accounted(unloads);
		emit_all();
		krt_ownlock_drop(&map_lock);
	}
	if (g.buf)
		syscall(SYS_munmap, g.buf, SCRATCH_SIZE); /* not the hooked one */
}

/* ---- reading the map --------------------------------------------------------------- */

const struct krt_module *krt_module_at(uintptr_t addr)
{
	/* bounded: the caller may be a signal handler that interrupted a writer */
	for (unsigned tries = 0; tries < 10000; tries++) {
		unsigned seq = atomic_load_explicit(&live_seq, memory_order_acquire), at;
		struct krt_module *m = NULL;

		if (seq & 1) {
			krt_cpu_relax();
			continue;
		}
		at = above(addr);
		if (at > 0 && addr < atomic_load_explicit(&live[at - 1].end, memory_order_relaxed))
			m = live_at(at - 1);
		atomic_thread_fence(memory_order_acquire);
		if (atomic_load_explicit(&live_seq, memory_order_relaxed) == seq)
			return m;
	}
	return NULL;
}

bool krt_module_code(const struct krt_module *m, uintptr_t addr)
{
	for (unsigned i = 0; i < m->nseg; i++)
		if (addr >= m->seg[i].lo && addr < m->seg[i].hi)
			return m->exec & (1u << i);
	return false;
}

bool krt_module_has(const struct krt_module *m, uintptr_t addr, size_t len)
{
	for (unsigned i = 0; i < m->nseg; i++)
		if (addr >= m->seg[i].lo && addr < m->seg[i].hi)
			return len <= m->seg[i].hi - addr;
	return false;
}

bool krt_module_in_file(const struct krt_module *m, uintptr_t addr, size_t len, uint64_t *offset)
{
	for (unsigned i = 0; i < m->nseg; i++)
		if (addr >= m->seg[i].lo && addr < m->seg[i].hi) {
			uint64_t at = addr - m->seg[i].lo;

			*offset = m->seg[i].off + at;
			return !(m->write & (1u << i)) && at <= m->seg[i].filesz &&
			       len <= m->seg[i].filesz - at;
		}
	return false;
}

unsigned krt_modules_changes(void)
{
	return atomic_load_explicit(&changes, memory_order_acquire);
}

unsigned krt_modules_generation(void)
{
	return atomic_load_explicit(&generation, memory_order_relaxed);
}

const struct krt_module *krt_module_self(void)
{
	return atomic_load_explicit(&self_module, memory_order_relaxed);
}

void krt_modules_forked(void)
{
	unsigned seq = atomic_load_explicit(&live_seq, memory_order_relaxed);

	krt_unwind_forked();
	atomic_store(&map_lock.owner, 0);
	if (seq & 1) {
		/* a vanished thread was changing live[]: begin anew */
		atomic_store(&nlive, 0);
		atomic_store(&known_adds, 0);
		atomic_store(&known_subs, 0);
		atomic_store(&live_seq, seq + 1);
	}
	for (unsigned i = 0; i < nmods; i++)
		mods[i]->emitted = false;
	atomic_store(&unemitted, atomic_load(&nlive));
	atomic_store(&krt_modules_unloads.active, 0);
	atomic_fetch_add(&krt_modules_unloads.seen, 1);
}

/* ---- unloading ------------------------------------------------------------------------- */

/*
 * Exported.  A library that is closed takes its unwind rules with it; a stack
 * that is walked while or after it goes must not trust them unseen.
 */
__attribute__((visibility("default"))) int dlclose(void *handle)
{
	static _Atomic(void *) next;
	int (*real)(void *) = (int (*)(void *))atomic_load_explicit(&next, memory_order_relaxed);
	int rc;

	if (!real) {
		real = (int (*)(void *))krt_next("dlclose");
		if (!real)
			return -1;
		atomic_store_explicit(&next, (void *)real, memory_order_relaxed);
	}
	atomic_fetch_add_explicit(&krt_modules_unloads.active, 1, memory_order_seq_cst);
	rc = real(handle);
	atomic_fetch_add_explicit(&krt_modules_unloads.seen, 1, memory_order_seq_cst);
	atomic_fetch_sub_explicit(&krt_modules_unloads.active, 1, memory_order_seq_cst);
	return rc;
}
