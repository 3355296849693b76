/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The real functions behind the wrappers of library.def.
 *
 * Several copies of such a library may be loaded, most often in scopes of their
 * own (dlopen without RTLD_GLOBAL), where RTLD_NEXT does not look.  So the caller
 * decides: what its object means is what the loader would have bound it to had
 * this library not been there.  In order:
 *   what was preloaded behind this library (another tool's wrapper);
 *   the calling object itself;
 *   what it was linked with, breadth first;
 *   what dlsym gave somebody (a call through a pointer);
 *   the first in the loader's order.
 * A wrapper in front of this library is never the answer for its own calls.
 *
 * All is read in memory under the loader's lock, without dl* calls.  Answers are
 * kept by call site until some library is closed.  One lock around filling them
 * in; readers need none: an entry's key is taken back while the rest changes.
 * Compiled without sanitizers and profiling.
 */
#include "library_find.h"
#include "elf_object.h"

#include <errno.h>
#include <string.h>

struct krt_lib_found krt_lib_found[KRT_LIB_FOUND];

static _Atomic uintptr_t given[KRT_NR_LIB_FNS]; /* by dlsym */

/* ---- names ---- */

#define NAMES 1024 /* power of two, at least twice the names */
_Static_assert(KRT_NR_LIB_FNS * 2 <= NAMES, "the table of names is too small");

static uint16_t name_slot[NAMES]; /* id + 1 */
static _Atomic uint32_t names_ready;

static uint32_t name_hash(const char *s)
{
	uint32_t h = 2166136261u;

	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 16777619u;
	return h ^ (h >> 15);
}

int krt_library_name(const char *name)
{
	uint32_t h;

	if (strncmp(name, "cublas", 6) != 0 && strncmp(name, "nccl", 4) != 0 &&
	    strncmp(name, "cufft", 5) != 0)
		return -1;
	if (!atomic_load_explicit(&names_ready, memory_order_acquire)) {
		krt_wipe_arm();
		krt_lock(&krt_wipe.w.names);
		for (unsigned i = 0; !atomic_load_explicit(&names_ready, memory_order_relaxed) &&
				     i < KRT_NR_LIB_FNS;
		     i++) {
			h = name_hash(krt_lib_fn[i].symbol);
			while (name_slot[h & (NAMES - 1)] && name_slot[h & (NAMES - 1)] != i + 1)
				h++; /* its own: a fork child goes on where the parent was */
			name_slot[h & (NAMES - 1)] = (uint16_t)(i + 1);
		}
		atomic_store_explicit(&names_ready, 1, memory_order_release);
		krt_unlock(&krt_wipe.w.names);
	}
	for (h = name_hash(name); name_slot[h & (NAMES - 1)]; h++) {
		unsigned id = name_slot[h & (NAMES - 1)] - 1u;

		if (!strcmp(krt_lib_fn[id].symbol, name))
			return krt_lib_wrapper[id] ? (int)id : -1;
	}
	return -1;
}

/* ---- loaded objects ---- */

#define OBJECTS 4096

struct scan {
	struct krt_object *o; /* in the loader's order */
	uint16_t *queue;
	bool *seen;
	unsigned n;
};

struct query {
	const char *name;
	const void *caller;
	bool bound; /* only what the caller's object is bound to */
	uintptr_t given;
	void *result;
};

static int collect(struct dl_phdr_info *info, size_t size, void *data)
{
	struct scan *s = data;

	(void)size;
	if (s->n == OBJECTS)
		return 1;
	krt_object_read(&s->o[s->n++], info);
	return 0;
}

static bool is_self(const struct krt_object *o)
{
	return krt_object_holds(o, (const void *)krt_lib_wrapper);
}

static bool goes_by(const struct krt_object *o, const char *name)
{
	const char *slash = o->path ? strrchr(o->path, '/') : NULL;

	return !strcmp(o->soname, name) || !strcmp(slash     ? slash + 1
						   : o->path ? o->path
							     : "",
						   name);
}

/* Is o among what by was linked with? */
static bool needs(const struct krt_object *by, const struct krt_object *o)
{
	for (const ElfW(Dyn) *d = by->dyn; d && by->str && d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_NEEDED && goes_by(o, by->str + d->d_un.d_val))
			return true;
	return false;
}

static void *linked_with(struct scan *s, unsigned from, const char *name)
{
	unsigned head = 0, tail = 0;

	memset(s->seen, 0, s->n * sizeof *s->seen);
	s->seen[from] = true;
	s->queue[tail++] = (uint16_t)from;
	while (head < tail) {
		unsigned at = s->queue[head++];
		void *p =
			at == from || is_self(&s->o[at]) ? NULL : krt_object_find(&s->o[at], name);

		if (p)
			return p;
		for (const ElfW(Dyn) *d = s->o[at].dyn; d && s->o[at].str && d->d_tag != DT_NULL;
		     d++) {
			if (d->d_tag != DT_NEEDED)
				continue;
			for (unsigned i = 0; i < s->n; i++)
				if (!s->seen[i] &&
				    goes_by(&s->o[i], s->o[at].str + d->d_un.d_val)) {
					s->seen[i] = true;
					s->queue[tail++] = (uint16_t)i;
					break;
				}
		}
	}
	return NULL;
}

static void *choose(struct scan *s, const struct query *q)
{
	unsigned self = s->n, caller = s->n;
	void *p;

	for (unsigned i = 0; i < s->n; i++) {
		if (is_self(&s->o[i]))
			self = i;
		if (krt_object_holds(&s->o[i], q->caller))
			caller = i;
	}
	/* the program comes first, then what was preloaded, then what the program was linked with
	 */
	for (unsigned i = self + 1; i < s->n && !needs(&s->o[0], &s->o[i]); i++) {
		p = i == caller ? NULL : krt_object_find(&s->o[i], q->name);
		if (p)
			return p;
	}
	if (caller < s->n) {
		p = caller > self ? krt_object_find(&s->o[caller], q->name) : NULL;
		if (!p)
			p = linked_with(s, caller, q->name);
		if (p)
			return p;
	}
	if (q->bound)
		return NULL;
	for (unsigned i = 0; q->given && i < s->n; i++)
		if (krt_object_holds(&s->o[i], (void *)q->given))
			return (void *)q->given;
	for (unsigned i = 1; i <= s->n; i++) { /* what lies before us comes last */
		unsigned at = (self + i) % s->n;

		p = at == self || at == caller ? NULL : krt_object_find(&s->o[at], q->name);
		if (p)
			return p;
	}
	return NULL;
}

struct places {
	struct krt_object o[OBJECTS];
	uint16_t queue[OBJECTS];
	bool seen[OBJECTS];
};

/*
 * Inside the first step of a walk, so that the loader's lock is held while objects are read.  It
 * guards the memory as well, which is not mapped when it is needed: the program may have none left,
 * and its call must reach the library all the same.
 */
static int locked(struct dl_phdr_info *info, size_t size, void *data)
{
	static struct places places;
	static _Atomic bool taken; /* by what a signal handler interrupted */
	struct query *q = data;
	bool first = !atomic_exchange(&taken, true);
	struct places *m = first ? &places : krt_map(sizeof places);
	struct scan s;

	(void)info;
	(void)size;
	if (!m)
		return 1;
	s = (struct scan){.o = m->o, .queue = m->queue, .seen = m->seen};
	dl_iterate_phdr(collect, &s);
	if (s.n)
		q->result = choose(&s, q);
	if (first)
		atomic_store(&taken, false);
	else
		krt_unmap(m, sizeof *m);
	return 1;
}

static void *look(struct query *q)
{
	dl_iterate_phdr(locked, q);
	return q->result;
}

/* ---- found ---- */

static void keep(uint64_t key, void *fn, uint32_t generation)
{
	unsigned first = krt_lib_place(key);
	struct krt_lib_found *f = &krt_lib_found[first];

	krt_wipe_arm();
	krt_lock(&krt_wipe.w.libraries);
	for (unsigned i = 0; i < KRT_LIB_FOUND_TRIES; i++) {
		struct krt_lib_found *at = &krt_lib_found[(first + i) & (KRT_LIB_FOUND - 1)];
		uint64_t there = atomic_load_explicit(&at->key, memory_order_relaxed);

		if (!there || there == key ||
		    atomic_load_explicit(&at->generation, memory_order_relaxed) != generation) {
			f = at;
			break;
		}
	}
	atomic_store_explicit(&f->key, 0, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&f->fn, (uintptr_t)fn, memory_order_relaxed);
	atomic_store_explicit(&f->generation, generation, memory_order_relaxed);
	atomic_store_explicit(&f->key, key, memory_order_release);
	krt_unlock(&krt_wipe.w.libraries);
}

#define X(name, file, missing)                                                                     \
	static int missing_##name(void)                                                            \
	{                                                                                          \
		return missing;                                                                    \
	}
KRT_LIBRARIES(X)
#undef X

static void *const missing_fn[KRT_NR_LIBRARIES] = {
#define X(name, file, missing) (void *)missing_##name,
	KRT_LIBRARIES(X)
#undef X
};

void *krt_library_find(unsigned id, const void *caller)
{
	uint32_t generation = krt_lib_generation();
	struct query q = {.name = krt_lib_fn[id].symbol,
			  .caller = caller,
			  .given = atomic_load_explicit(&given[id], memory_order_acquire)};
	int saved = errno;
	void *p = look(&q);

	if (p) {
		keep(krt_lib_key(id, caller), p, generation);
	} else {
		static uint8_t said[KRT_NR_LIB_FNS];

		if (!__atomic_exchange_n(&said[id], 1, __ATOMIC_RELAXED))
			krt_library_missing(krt_lib_fn[id].symbol);
		p = missing_fn[krt_lib_fn[id].library];
	}
	errno = saved;
	return p;
}

struct sibling {
	const void *of;
	const char *name;
	void *result;
};

static int sibling_step(struct dl_phdr_info *info, size_t size, void *data)
{
	struct sibling *s = data;
	struct krt_object o;

	(void)size;
	krt_object_read(&o, info);
	if (!krt_object_holds(&o, s->of))
		return 0;
	s->result = krt_object_find(&o, s->name);
	return 1;
}

/* Kept as found by real itself; 1 stands for none. */
void *krt_library_sibling(unsigned id, const void *real)
{
	struct sibling s = {.of = real, .name = krt_lib_fn[id].symbol};
	uint64_t key = krt_lib_key(id, real);
	uint32_t generation = krt_lib_generation();
	uintptr_t fn = krt_lib_lookup(key);
	int saved;

	if (krt_likely(fn != 0))
		return fn == 1 ? NULL : (void *)fn;
	saved = errno;
	dl_iterate_phdr(sibling_step, &s);
	keep(key, s.result ? s.result : (void *)1, generation);
	errno = saved;
	return s.result;
}

static bool loaded(uintptr_t p)
{
	struct sibling s = {.of = (void *)p, .name = ""};

	return dl_iterate_phdr(sibling_step, &s) != 0;
}

void *krt_library_given(unsigned id, void *p, bool self, const void *caller)
{
	struct query q = {.name = krt_lib_fn[id].symbol, .caller = caller, .bound = true};
	uintptr_t old = 0;

	if (self) /* the caller's own libraries, where the global ones have none */
		return p || look(&q) ? krt_lib_wrapper[id] : NULL;
	/* two copies of a library, both by pointer: the second one's calls would reach the first */
	if (!atomic_compare_exchange_strong(&given[id], &old, (uintptr_t)p) &&
	    old != (uintptr_t)p) {
		if (loaded(old))
			return p;
		atomic_store_explicit(&given[id], (uintptr_t)p, memory_order_release);
	}
	return krt_lib_wrapper[id];
}
