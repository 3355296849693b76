/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reaching the driver: the dlsym and cuGetProcAddress hooks, and the real entry
 * points behind the wrappers.
 *
 * The real resolver is always asked first; its answer is then replaced by
 * address identity: the wrapper handed out is the one whose real function has
 * the address that the driver gave.  ABI variants are never guessed from names,
 * versions or flags.  The identity table is filled by walking the driver's
 * dynamic symbols in memory, without any dl* call, so that dlerror stays the
 * program's.  On any doubt the real answer passes.
 *
 * The first libcuda that is met is the one the wrappers forward to, for the
 * life of the process; a reference keeps it mapped.  Another one is passed
 * through and said so.
 *
 * Runs before constructors, inside malloc, inside other hooks: static memory
 * only.  One lock around adoption; readers need none (adopted is published
 * after the tables).  Compiled without sanitizers and profiling.
 */
#include "internal.h"
#include "library_find.h"
#include "next.h"
#include "elf_object.h"
#include "resolve.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <string.h>

typedef void *dlsym_fn(void *, const char *);

void *krt_real[KRT_NR_APIS];

/* ---- which names are ours ---- */

#define NAMES 4096 /* open addressing, power of two, at least four times the names */

static uint16_t name_slot[NAMES]; /* id + 1 */
static _Atomic uint32_t names_ready;

static const char *const prefixes[] = { "cu" }; /* two letters that a hooked name begins with */

static uint32_t name_hash(const char *s)
{
	uint32_t h = 2166136261u;

	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 16777619u;
	return h ^ (h >> 15);
}

static void names_fill(void)
{
	krt_wipe_arm();
	krt_lock(&krt_wipe.w.names);
	if (!atomic_load_explicit(&names_ready, memory_order_relaxed)) {
		for (unsigned i = 0; i < KRT_NR_APIS; i++) {
			uint32_t h;

			if (krt_api[i].cls == KRT_CLASS_NOTE || krt_api[i].cls == KRT_CLASS_LIBC)
				continue;
			h = name_hash(krt_api[i].symbol);
			while (name_slot[h & (NAMES - 1)] && name_slot[h & (NAMES - 1)] != i + 1)
				h++; /* its own: a fork child goes on where the parent was */
			name_slot[h & (NAMES - 1)] = (uint16_t)(i + 1);
		}
		atomic_store_explicit(&names_ready, 1, memory_order_release);
	}
	krt_unlock(&krt_wipe.w.names);
}

/* The id of a driver entry point of the table, or -1. */
static int name_id(const char *name)
{
	uint32_t h;

	if (!atomic_load_explicit(&names_ready, memory_order_acquire))
		names_fill();
	for (h = name_hash(name); name_slot[h & (NAMES - 1)]; h++) {
		unsigned id = name_slot[h & (NAMES - 1)] - 1u;

		if (!strcmp(krt_api[id].symbol, name))
			return (int)id;
	}
	return -1;
}

static int hooked_name(const char *name)
{
	int id;

	for (unsigned i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
		if (name[0] != prefixes[i][0] || name[1] != prefixes[i][1])
			continue;
		id = name_id(name);
		return id >= 0 && krt_wrapper[id] ? id : -1;
	}
	return -1;
}

/* ---- objects ---- */

static bool object_is_self(const struct krt_object *o)
{
	return krt_object_holds(o, (const void *)krt_wrapper);
}

static bool object_is_driver(const struct krt_object *o)
{
	const char *slash = o->path ? strrchr(o->path, '/') : NULL;

	return !strncmp(slash ? slash + 1 : o->path ? o->path : "", "libcuda.so", 10) ||
	       !strncmp(o->soname, "libcuda.so", 10);
}

struct search {
	const void *address; /* the object that holds it ... */
	const char *name;    /* ... or the first other object after `after` that exports it */
	const void *after;   /* an address in the object to start behind; NULL: from the first */
	bool driver;         /* ... or the first libcuda */
	bool started, self_after, found;
	struct krt_object object;
	void *result;
};

static int search_step(struct dl_phdr_info *info, size_t size, void *data)
{
	struct search *s = data;
	struct krt_object o;

	(void)size;
	krt_object_read(&o, info);
	if (s->address || s->driver) {
		if (s->driver ? !object_is_driver(&o) || object_is_self(&o)
			      : !krt_object_holds(&o, s->address))
			return 0;
		s->object = o;
		return s->found = true;
	}
	if (s->after && !s->started) {
		s->started = krt_object_holds(&o, s->after);
		return 0;
	}
	if (object_is_self(&o)) {
		s->self_after = true;
		return 0;
	}
	s->result = krt_object_find(&o, s->name);
	if (!s->result)
		return 0;
	s->object = o;
	return s->found = true;
}

/* ---- the driver ---- */

#define IDENTITY 4096

static _Atomic uint32_t adopted;
static uintptr_t driver_lo, driver_hi;
static char driver_path_[4096];
static unsigned driver_exports_;
uint64_t (*krt_driver_clock)(void);
static struct { uintptr_t address; uint16_t id; } identity[IDENTITY];
static struct { _Atomic uintptr_t lo, hi; } foreign[8]; /* other libcudas; who else gets the real functions */

static uint32_t address_hash(uintptr_t p)
{
	return (uint32_t)((p >> 4) * 0x9e3779b97f4a7c15ull >> 40);
}

static int identity_find(const void *p)
{
	if (!atomic_load_explicit(&adopted, memory_order_acquire))
		return -1;
	for (uint32_t h = address_hash((uintptr_t)p);; h++) {
		uintptr_t a = identity[h & (IDENTITY - 1)].address;

		if (!a)
			return -1;
		if (a == (uintptr_t)p)
			return identity[h & (IDENTITY - 1)].id;
	}
}

/* Of two names with one address: a wrapped one before a passed one, a later version before an earlier. */
static bool newer(unsigned a, unsigned b)
{
	if (!krt_wrapper[a] != !krt_wrapper[b])
		return krt_wrapper[a] != NULL;
	if ((krt_api[a].flags ^ krt_api[b].flags) & KRT_F_PT)
		return !(krt_api[a].flags & KRT_F_PT);
	return strcmp(krt_api[a].symbol, krt_api[b].symbol) > 0;
}

static void identity_add(uintptr_t p, unsigned id)
{
	uint32_t h = address_hash(p);

	while (identity[h & (IDENTITY - 1)].address && identity[h & (IDENTITY - 1)].address != p)
		h++;
	h &= IDENTITY - 1;
	if (!identity[h].address || newer(id, identity[h].id))
		identity[h].id = (uint16_t)id;
	identity[h].address = p;
}

/* Takes this libcuda as the one behind the wrappers; false when another one is. */
static bool adopt(const struct krt_object *o)
{
	bool first = false, mine;

	krt_lock(&krt_wipe.w.adopt);
	if (!atomic_load_explicit(&adopted, memory_order_relaxed)) {
		size_t n = o->path ? strlen(o->path) : 0;
		uint32_t count = o->sym && o->str ? krt_object_symbols(o) : 0;

		driver_exports_ = 0;
		krt_driver_clock = (uint64_t (*)(void))krt_object_find(o, "sim_clock_ns");
		for (uint32_t i = 0; i < count; i++) {
			const char *name = o->str + o->sym[i].st_name;
			uintptr_t p = o->base + o->sym[i].st_value;
			int id;

			if (name[0] != 'c' || name[1] != 'u' || !krt_object_usable(o, i))
				continue;
			id = name_id(name);
			if (id < 0)
				continue;
			__atomic_store_n(&krt_real[id], (void *)p, __ATOMIC_RELEASE);
			identity_add(p, (unsigned)id);
			driver_exports_++;
		}
		memcpy(driver_path_, n < sizeof driver_path_ ? o->path : "", n < sizeof driver_path_ ? n : 0);
		driver_lo = o->lo;
		driver_hi = o->hi;
		atomic_store_explicit(&adopted, 1, memory_order_release);
		first = true;
	}
	mine = driver_lo == o->lo;
	krt_unlock(&krt_wipe.w.adopt);

	if (first && *driver_path_) {
		/* never closed: cudart closes libcuda when its initialisation fails, and addresses must stay */
		if (!dlopen(driver_path_, RTLD_LAZY | RTLD_NOLOAD))
			dlerror();
	} else if (!mine) {
		for (unsigned i = 0; i < sizeof foreign / sizeof *foreign; i++) {
			uintptr_t none = 0;

			if (atomic_load(&foreign[i].lo) == o->lo)
				break;
			if (!atomic_compare_exchange_strong(&foreign[i].lo, &none, o->lo))
				continue;
			atomic_store(&foreign[i].hi, o->hi);
			krt_second_driver(driver_path_, o->path);
			break;
		}
	}
	return mine;
}

static bool adopt_loaded(void)
{
	struct search s = { .driver = true };

	if (atomic_load_explicit(&adopted, memory_order_acquire))
		return true;
	dl_iterate_phdr(search_step, &s);
	return s.found && adopt(&s.object);
}

bool krt_in_driver(const void *p)
{
	return atomic_load_explicit(&adopted, memory_order_acquire) && (uintptr_t)p >= driver_lo &&
	       (uintptr_t)p < driver_hi;
}

const char *krt_driver_path(void)
{
	return driver_path_;
}

unsigned krt_driver_exports(void)
{
	return driver_exports_;
}

void krt_lookups_pass(const void *address)
{
	struct search s = { .address = address };

	dl_iterate_phdr(search_step, &s);
	for (unsigned i = 0; s.found && i < sizeof foreign / sizeof *foreign; i++) {
		uintptr_t none = 0;

		if (!atomic_compare_exchange_strong(&foreign[i].lo, &none, s.object.lo))
			continue;
		atomic_store(&foreign[i].hi, s.object.hi);
		return;
	}
}

bool krt_driver_loaded(void)
{
	struct search s = { .driver = true };

	if (atomic_load_explicit(&adopted, memory_order_acquire))
		return true;
	dl_iterate_phdr(search_step, &s);
	return s.found;
}

static bool caller_is_driver(const void *caller)
{
	struct search s = { .address = caller };

	if (krt_in_driver(caller))
		return true;
	for (unsigned i = 0; i < sizeof foreign / sizeof *foreign; i++)
		if ((uintptr_t)caller - atomic_load(&foreign[i].lo) <
		    atomic_load(&foreign[i].hi) - atomic_load(&foreign[i].lo))
			return true;
	if (atomic_load_explicit(&adopted, memory_order_acquire))
		return false;
	dl_iterate_phdr(search_step, &s); /* its constructors run before anybody can ask for it */
	return s.found && object_is_driver(&s.object);
}

/* ---- dlsym ---- */

static _Atomic(dlsym_fn *) real_dlsym;

/* The one behind us, which may be another tool's. */
static dlsym_fn *bootstrap(void)
{
	struct search s = { .name = "dlsym" };
	void *p = krt_next("dlsym");

	if (!p) {
		dl_iterate_phdr(search_step, &s);
		p = s.result;
	}
	atomic_store_explicit(&real_dlsym, (dlsym_fn *)p, memory_order_release);
	return (dlsym_fn *)p;
}

static dlsym_fn *get_dlsym(void)
{
	dlsym_fn *p = atomic_load_explicit(&real_dlsym, memory_order_acquire);

	return krt_likely(p != NULL) ? p : bootstrap();
}

/* By the linker's symbols: a child made by a raw clone may never get the loader's lock. */
static bool is_self(const void *p)
{
	extern const char __ehdr_start[] __attribute__((visibility("hidden")));
	extern const char _end[] __attribute__((visibility("hidden")));

	return (uintptr_t)p - (uintptr_t)__ehdr_start < (uintptr_t)_end - (uintptr_t)__ehdr_start;
}

/* The wrapper for an address that a resolver gave, or the address itself. */
static void *substitute(void *p)
{
	struct search s = { .address = p };
	int id = identity_find(p);

	if (id < 0 && !is_self(p) && !krt_in_driver(p)) {
		dl_iterate_phdr(search_step, &s);
		if (!s.found || !object_is_driver(&s.object) || !adopt(&s.object))
			return p;
		id = identity_find(p);
	}
	return id >= 0 && krt_wrapper[id] ? krt_wrapper[id] : p;
}

/* Real look-up as if from this library's place in the order; not a tail call. */
static void *next_from_here(dlsym_fn *real, const char *name)
{
	void *volatile p = real(RTLD_NEXT, name);

	return p;
}

/* A function of library.def. */
static struct krt_dlsym_answer library_function(dlsym_fn *real, void *handle, const char *name, unsigned id,
						const void *caller)
{
	struct krt_dlsym_answer answer = { NULL, (void *)real };
	int saved = errno;
	bool self;
	void *p;

	if (handle == RTLD_NEXT || caller_is_driver(caller)) {
		errno = saved;
		return answer;
	}
	p = real(handle, name);
	self = p && is_self(p);
	if (self) /* true only if some library has it */
		p = next_from_here(real, name);
	if (p || self)
		p = krt_library_given(id, p, self, caller);
	errno = saved;
	return (struct krt_dlsym_answer){ p, NULL };
}

struct krt_dlsym_answer krt_dlsym_hook(void *handle, const char *name, const void *caller)
{
	dlsym_fn *real = get_dlsym();
	struct krt_dlsym_answer jump = { NULL, (void *)real };
	int saved, id;
	void *p;

	if (!name || !real)
		return jump;
	id = hooked_name(name);
	if (krt_likely(id < 0)) {
		id = (name[0] == 'c' && name[1] == 'u') || (name[0] == 'n' && name[1] == 'c') ? krt_library_name(name)
											   : -1;
		return id < 0 ? jump : library_function(real, handle, name, (unsigned)id, caller);
	}
	saved = errno;
	if (caller_is_driver(caller)) {
		errno = saved;
		return jump;
	}
	if (handle == RTLD_NEXT) {
		/* the real one would take us for the caller: search behind the caller ourselves */
		struct search s = { .name = name, .after = caller };

		dl_iterate_phdr(search_step, &s);
		p = s.result;
		if (!s.found && !s.self_after) {
			errno = saved;
			return jump; /* fails, and says so as ever */
		}
		if (!s.found)
			p = next_from_here(real, name);
		else
			p = substitute(p);
	} else {
		p = real(handle, name);
		if (p) {
			void *w = substitute(p);

			if (w == p && is_self(p)) {
				/* our own export: true only if the driver has it */
				adopt_loaded();
				if (!__atomic_load_n(&krt_real[id], __ATOMIC_ACQUIRE))
					w = next_from_here(real, name);
			}
			p = w;
		}
	}
	errno = saved;
	return (struct krt_dlsym_answer){ p, NULL };
}

/* ---- behind a wrapper ---- */

static int no_device(void)
{
	return 100; /* CUDA_ERROR_NO_DEVICE */
}

static int not_initialized(void)
{
	return 3; /* CUDA_ERROR_NOT_INITIALIZED */
}

static int not_found(void)
{
	return 500; /* CUDA_ERROR_NOT_FOUND */
}

void *krt_resolve(unsigned id)
{
	struct search s = { .name = krt_api[id].symbol };
	int saved = errno;
	bool have = adopt_loaded();
	void *p = __atomic_load_n(&krt_real[id], __ATOMIC_ACQUIRE);

	if (!p) {
		/* a program's own stub that will load the driver, or another tool's wrapper */
		dl_iterate_phdr(search_step, &s);
		p = s.result;
	}
	if (!p && have) {
		static uint8_t said[KRT_NR_APIS];

		if (!__atomic_exchange_n(&said[id], 1, __ATOMIC_RELAXED))
			krt_msg("driver: %s: the loaded driver (%s) has no such function",
				krt_api[id].symbol, driver_path_);
		p = (void *)not_found;
	}
	if (!p)
		p = id == KRT_API_cuInit ? (void *)no_device : (void *)not_initialized;
	errno = saved;
	return p;
}

/* ---- cuGetProcAddress ---- */

typedef int get_v1(const char *, void **, int, uint64_t);
typedef int get_v2(const char *, void **, int, uint64_t, int *);

static void *checked(const char *name, void *p, int version, const void *caller)
{
	void *w;

	if (!p || caller_is_driver(caller))
		return p;
	w = substitute(p);
	if (w == p && krt_in_driver(p) && identity_find(p) < 0)
		krt_unwrapped(name, version);
	return w;
}

int krt_get_proc_address(const char *name, void **pfn, int version, uint64_t flags, const void *caller)
{
	int r = ((get_v1 *)krt_fn(KRT_API_cuGetProcAddress))(name, pfn, version, flags);
	int saved = errno;

	if (!r && pfn)
		*pfn = checked(name, *pfn, version, caller);
	errno = saved;
	return r;
}

int krt_get_proc_address_v2(const char *name, void **pfn, int version, uint64_t flags, int *status,
			    const void *caller)
{
	int r = ((get_v2 *)krt_fn(KRT_API_cuGetProcAddress_v2))(name, pfn, version, flags, status);
	int saved = errno;

	if (!r && pfn)
		*pfn = checked(name, *pfn, version, caller);
	errno = saved;
	return r;
}
