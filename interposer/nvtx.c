/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVTX: what a program says of its suballocators, streams and events in NVIDIA's
 * annotation headers becomes the notes of krtsan.h.
 *
 * NVTX lives in headers.  Each library that includes them has a client of its own,
 * which at its first call opens the library named by NVTX_INJECTION64_PATH and
 * hands it a table of function pointers to fill in; what is left alone becomes
 * nothing.  Extensions (here: memory) do the same by an entry point of their own.
 *
 * A preloaded library names itself there before the program starts; a library that
 * was named there already goes into KRTSAN_NVTX_NEXT and is initialised as NVTX
 * would have done.  Where it fills in the same pointer, ours calls it: first to make
 * things, last to end them, and its handles are the ones that the program gets.  So
 * it is only while all clients agree on who comes next; one that differs keeps its
 * pointer.  Opened without the preload this library passes the call on and does
 * nothing itself.
 *
 * A heap for suballocation is a pool and its regions are blocks.  Regions of other
 * heaps are parts of a layout: they have names and nothing else.  A region has no
 * stream of its own; a permissions object that is bound for streams, or a range
 * marked as initialised on one, says who uses it.
 *
 * Ranges that a thread pushes are kept on a stack of its lane; the innermost name is
 * written before the thread's next record, so that a range costs no record of its
 * own.
 *
 * Locking: krt_wipe.w.nvtx guards heaps, regions and permissions; not held over a
 * note or the next library.  The declarations follow NVTX 3 and its extension ABI.
 */
#include "lane.h"
#include "next.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#define EXPORT __attribute__((visibility("default")))
#define PATH_LEN 4096

extern char **environ;

/* notes.c */
void krtsan_impl_pool_create(uint64_t pool, uint64_t kind, uint64_t name);
void krtsan_impl_pool_destroy(uint64_t pool);
void krtsan_impl_block_alloc(uint64_t pool, uint64_t ptr, uint64_t len, uint64_t stream);
void krtsan_impl_block_resize(uint64_t ptr, uint64_t len);
void krtsan_impl_block_use(uint64_t ptr, uint64_t stream);
void krtsan_impl_block_free(uint64_t ptr);
void krtsan_impl_name(uint64_t object, uint64_t len, uint64_t name);

#define NO_STREAM UINT64_MAX /* KRTSAN_HOST: no certain one */

/* --- the client's tables ---------------------------------------------------------------- */

enum { TABLE_CALLBACKS = 1, TABLE_VERSION = 3 };
enum { MODULE_CORE = 1, MODULE_CUDA = 2, MODULE_CUDART = 4, MODULE_CORE2 = 5, MODULES = 7 };

typedef void any_fn(void);
typedef const void *get_table_fn(uint32_t id);
typedef int init_fn(get_table_fn *get);

struct callbacks {
	size_t size;
	int (*functions)(int module, any_fn ****table, unsigned *count);
};
struct version_info {
	size_t size;
	uint32_t version, rsv;
	void (*set_tool_version)(uint32_t version);
};

struct segment {
	size_t id, count;
	intptr_t *slot;
};
struct module_info {
	uint16_t version, size, module, compat;
	size_t segments;
	struct segment *segment;
	intptr_t (*get_function)(uint32_t id);
	const void *info;
};
typedef int init_extension_fn(struct module_info *m);
enum { EXTENSION_MEMORY = 1, MEMORY_COMPAT = 0x0102 };
enum { SLOT_FRESH = 0, SLOT_DISABLED = 1 };

/* --- structures of the memory extension ---------------------------------------------------- */

enum { MESSAGE_ASCII = 1, MESSAGE_UNICODE = 2, MESSAGE_REGISTERED = 3 };
enum { USAGE_SUBALLOCATOR = 1 };
enum { TYPE_ADDRESS = 1 };
enum { REF_POINTER = 1, REF_HANDLE = 2 };
enum { PERMISSION_RESET = 8 };
enum { SCOPE_STREAM = 2 };

union message {
	const char *ascii;
	const wchar_t *unicode;
	uint64_t registered;
};
struct range {
	size_t size;
	uint64_t ptr;
};
struct heap_desc {
	uint16_t compat, size;
	uint32_t rsv, usage, type;
	size_t range_size;
	const struct range *range;
	uint32_t category, message_type;
	union message message;
};
struct regions_register {
	uint16_t compat, size;
	uint32_t type;
	uint64_t heap;
	size_t count, element;
	const void *ranges;
	uint64_t *handles;
};
struct regions_ranges { /* to resize, or marked as initialised */
	uint16_t compat, size;
	uint32_t type;
	size_t count, element;
	const void *ranges;
};
struct regions_refs { /* to unregister */
	uint16_t compat, size;
	uint32_t type;
	size_t count, element;
	const void *refs;
};
struct region_name {
	uint32_t type, message_type;
	uint64_t region;
	union message message;
	uint32_t category, rsv;
};
struct regions_name {
	uint16_t compat, size;
	uint32_t rsv;
	size_t count, element;
	const void *names;
	size_t rsv1;
};
struct region_permission {
	uint32_t flags, type;
	uint64_t region;
};
struct permissions_assign {
	uint16_t compat, size;
	uint32_t rsv;
	uint64_t permissions;
	size_t count, element;
	const void *regions;
	size_t rsv1;
};
struct resource {
	uint16_t version, size;
	int32_t type;
	uint64_t id;
	int32_t message_type;
	union message message;
};
struct event_attributes {
	uint16_t version, size;
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type, rsv;
	uint64_t payload;
	int32_t message_type;
	union message message;
};
#define NO_LEVEL (-2) /* what a push answers without a tool */
/* classes 4 and 5: driver and runtime */
enum { CUDA_STREAM = 4 << 16 | 3, CUDA_EVENT = 4 << 16 | 4, CUDART_STREAM = 5 << 16 | 1, CUDART_EVENT = 5 << 16 | 2 };

/* A structure of the program's: is the part that we read there, and is it what it says? */
#define READABLE(p, type, last)                                                             \
	((p) && (p)->size >= offsetof(struct type, last) + sizeof((p)->last))

/* --- who comes next --------------------------------------------------------------------------- */

static char next_path[PATH_LEN]; /* of the library that was named before, "" : none */
static bool preloaded;
static struct krt_options options;

#define HOOKS(X)                                                                            \
	X(CU_STREAM_A, MODULE_CUDA, 5) X(CU_STREAM_W, MODULE_CUDA, 6)                       \
	X(CU_EVENT_A, MODULE_CUDA, 7) X(CU_EVENT_W, MODULE_CUDA, 8)                         \
	X(CUDA_STREAM_A, MODULE_CUDART, 3) X(CUDA_STREAM_W, MODULE_CUDART, 4)               \
	X(CUDA_EVENT_A, MODULE_CUDART, 5) X(CUDA_EVENT_W, MODULE_CUDART, 6)                 \
	X(RESOURCE, MODULE_CORE2, 6)                                                        \
	X(STRING_A, MODULE_CORE2, 10) X(STRING_W, MODULE_CORE2, 11)                         \
	X(PUSH_EX, MODULE_CORE, 8) X(PUSH_A, MODULE_CORE, 9) X(PUSH_W, MODULE_CORE, 10) X(POP, MODULE_CORE, 11) \
	X(DOMAIN_PUSH, MODULE_CORE2, 4) X(DOMAIN_POP, MODULE_CORE2, 5)
enum hook {
#define X(name, module, id) H_##name,
	HOOKS(X)
#undef X
	H_COUNT
};
enum memory_hook { /* slots of the extension */
	M_HEAP_REGISTER, M_HEAP_UNREGISTER, M_HEAP_RESET, M_REGISTER, M_RESIZE, M_UNREGISTER, M_NAME,
	M_ASSIGN, M_CREATE, M_DESTROY, M_RESET, M_BIND, M_UNBIND, M_INITIALIZED = 16, M_COUNT
};
static void *_Atomic next_core[H_COUNT], *_Atomic next_memory[M_COUNT];
#define NOBODY ((void *)1) /* NULL: not decided yet */

/* The function that follows ours; NULL: none. */
static void *next_of(void *_Atomic *next)
{
	void *p = atomic_load_explicit(next, memory_order_acquire);

	return p == NOBODY ? NULL : p;
}
/* May ours stand before theirs?  The first client decides who comes next. */
static bool chain(void *_Atomic *next, void *theirs)
{
	void *was = NULL;

	if (!theirs)
		theirs = NOBODY;
	return atomic_compare_exchange_strong(next, &was, theirs) || was == theirs;
}

/* An entry point of the next library; not our own, should that be named there. */
static void *in_next(const char *name, void *own)
{
	void *h, *p;

	if (!*next_path)
		return NULL;
	h = dlopen(next_path, RTLD_LAZY); /* as NVTX does; it stays open */
	p = h ? dlsym(h, name) : NULL;
	return p == own ? NULL : p;
}

/* --- texts ---------------------------------------------------------------------------------------- */

#define TEXT 256

static const char *narrow(const wchar_t *w, char *buf)
{
	size_t n = 0;

	for (; w && *w && n + 5 < TEXT; w++) {
		uint32_t c = (uint32_t)*w;

		if (c < 0x80) {
			buf[n++] = (char)c;
		} else if (c < 0x800) {
			buf[n++] = (char)(0xc0 | c >> 6);
			buf[n++] = (char)(0x80 | (c & 0x3f));
		} else if (c < 0x10000) {
			buf[n++] = (char)(0xe0 | c >> 12);
			buf[n++] = (char)(0x80 | (c >> 6 & 0x3f));
			buf[n++] = (char)(0x80 | (c & 0x3f));
		} else if (c < 0x110000) {
			buf[n++] = (char)(0xf0 | c >> 18);
			buf[n++] = (char)(0x80 | (c >> 12 & 0x3f));
			buf[n++] = (char)(0x80 | (c >> 6 & 0x3f));
			buf[n++] = (char)(0x80 | (c & 0x3f));
		}
	}
	buf[n] = 0;
	return buf;
}

static const char *registered(uint64_t handle);

static const char *text_of(int type, union message m, char *buf)
{
	switch (type) {
	case MESSAGE_ASCII:
		return m.ascii;
	case MESSAGE_UNICODE:
		return m.unicode ? narrow(m.unicode, buf) : NULL;
	case MESSAGE_REGISTERED:
		return m.registered ? registered(m.registered) : NULL;
	default:
		return NULL;
	}
}

static void name(uint64_t object, uint64_t len, const char *text)
{
	if (text && *text)
		krtsan_impl_name(object, len, (uintptr_t)text);
}

/* --- registered strings ------------------------------------------------------------------------------ */

#define STRINGS 4096 /* open addressing; never removed */

static struct string {
	_Atomic uint64_t handle; /* 0: free */
	const char *text;
} strings[STRINGS];

static const char *registered(uint64_t handle)
{
	for (unsigned i = (unsigned)krt_hash(0, &handle, sizeof handle), n = 0; n < 64; i++, n++) {
		struct string *s = &strings[i % STRINGS];
		uint64_t h = atomic_load_explicit(&s->handle, memory_order_acquire);

		if (h == handle)
			return s->text;
		if (!h)
			break;
	}
	return NULL;
}

/* theirs: the handle that the next library gave, 0: none.  Returns the handle. */
static uint64_t string_add(uint64_t theirs, const char *text)
{
	size_t n = text ? strnlen(text, TEXT - 1) : 0;
	char *copy = n ? krt_alloc(n + 1) : NULL;
	uint64_t handle = theirs ? theirs : (uintptr_t)copy;

	if (!copy)
		return theirs;
	memcpy(copy, text, n);
	krt_wipe_arm();
	krt_lock(&krt_wipe.w.nvtx);
	for (unsigned i = (unsigned)krt_hash(0, &handle, sizeof handle), k = 0; k < 64; i++, k++) {
		struct string *s = &strings[i % STRINGS];
		uint64_t h = atomic_load_explicit(&s->handle, memory_order_relaxed);

		if (h && h != handle)
			continue;
		s->text = copy;
		atomic_store_explicit(&s->handle, handle, memory_order_release);
		break;
	}
	krt_unlock(&krt_wipe.w.nvtx);
	return handle;
}

static uint64_t string_a(void *domain, const char *text)
{
	uint64_t (*then)(void *, const char *) = next_of(&next_core[H_STRING_A]);

	return string_add(then ? then(domain, text) : 0, text);
}

static uint64_t string_w(void *domain, const wchar_t *text)
{
	uint64_t (*then)(void *, const wchar_t *) = next_of(&next_core[H_STRING_W]);
	char buf[TEXT];

	return string_add(then ? then(domain, text) : 0, narrow(text, buf));
}

/* --- ranges ------------------------------------------------------------------------------------------ */

#define DEPTH 32

struct krt_ranges {
	unsigned depth; /* may be more than are kept */
	uint32_t told;	/* string id of the last mark */
	struct {
		void *domain;
		char text[64];
	} at[DEPTH];
};
static struct {
	_Atomic uint64_t hash; /* of a text, 0: free */
	uint32_t id;
} range_ids[1024];

void krt_ranges_reset(struct krt_thread *t)
{
	if (t->ranges)
		t->ranges->depth = t->ranges->told = 0;
	t->ranges_new = false;
}

/*
 * The lane of a thread that is in none of our functions.  A thread that has made no
 * call yet has none, and gets none for its ranges: it may never make one.
 */
static struct krt_thread *outside(void)
{
	const struct krt_tls *tls = &krt_tls;
	char here;

	return krt_attached() && !tls->busy && !(tls->frame && &here < (char *)tls->frame) &&
			       tls->session == krt_session
		       ? tls->thread
		       : NULL;
}

static void push(void *domain, const char *text)
{
	int saved = errno;
	struct krt_thread *t = outside();
	struct krt_ranges *r;

	if (t && !t->ranges)
		t->ranges = krt_alloc(sizeof *t->ranges);
	r = t ? t->ranges : NULL;
	if (r) {
		if (r->depth < DEPTH) {
			size_t n = text ? strnlen(text, sizeof r->at->text - 1) : 0;

			while (n && n == sizeof r->at->text - 1 && (text[n] & 0xc0) == 0x80)
				n--; /* not in the middle of a letter */
			memcpy(r->at[r->depth].text, text ? text : "", n);
			r->at[r->depth].text[n] = 0;
			r->at[r->depth].domain = domain;
		}
		r->depth++;
		t->ranges_new = true;
	}
	errno = saved;
}

static void pop(void *domain)
{
	int saved = errno;
	struct krt_thread *t = outside();
	struct krt_ranges *r = t ? t->ranges : NULL;

	if (r && r->depth > DEPTH) {
		r->depth--;
	} else if (r && r->depth) {
		unsigned i = r->depth;

		while (i && r->at[i - 1].domain != domain)
			i--;
		if (i) { /* else one that began before we listened */
			memmove(&r->at[i - 1], &r->at[i], (r->depth - i) * sizeof r->at[0]);
			r->depth--;
			t->ranges_new = true;
		}
	}
	errno = saved;
}

static uint32_t range_id(const char *text)
{
	size_t n = strlen(text);
	uint64_t hash = krt_hash(1, text, n) | 1;

	for (unsigned i = (unsigned)(hash >> 7), k = 0; k < 16; i++, k++) {
		uint64_t was = 0;

		i %= sizeof range_ids / sizeof *range_ids;
		if (atomic_load_explicit(&range_ids[i].hash, memory_order_acquire) == hash)
			return __atomic_load_n(&range_ids[i].id, __ATOMIC_ACQUIRE); /* 0 for a moment: unnamed */
		if (atomic_compare_exchange_strong(&range_ids[i].hash, &was, hash)) {
			uint32_t id = krt_string_id(text, n);

			__atomic_store_n(&range_ids[i].id, id, __ATOMIC_RELEASE);
			return id;
		}
		if (was == hash)
			return __atomic_load_n(&range_ids[i].id, __ATOMIC_ACQUIRE);
	}
	return 0; /* too many names */
}

void krt_ranges_tell(struct krt_thread *t)
{
	struct krt_ranges *r = t->ranges;
	unsigned n = r->depth < DEPTH ? r->depth : DEPTH;
	uint32_t id = n ? range_id(r->at[n - 1].text) : 0;

	t->ranges_new = false;
	if (id != r->told) {
		struct krt_rec_mark m = {
			.h = { .size = sizeof m, .kind = KRT_REC_MARK }, .mark = KRT_MARK_RANGE, .value = id
		};

		if (krt_lane_write(t, &m.h, sizeof m, &m.t1))
			r->told = id;
	}
}

static int push_a(const char *text)
{
	int (*then)(const char *) = next_of(&next_core[H_PUSH_A]);

	push(NULL, text);
	return then ? then(text) : NO_LEVEL;
}

static int push_w(const wchar_t *text)
{
	int (*then)(const wchar_t *) = next_of(&next_core[H_PUSH_W]);
	char buf[TEXT];

	push(NULL, narrow(text, buf));
	return then ? then(text) : NO_LEVEL;
}

static void push_attributes(void *domain, const struct event_attributes *a)
{
	char buf[TEXT];

	push(domain, READABLE(a, event_attributes, message) ? text_of(a->message_type, a->message, buf) : NULL);
}

static int push_ex(const struct event_attributes *a)
{
	int (*then)(const struct event_attributes *) = next_of(&next_core[H_PUSH_EX]);

	push_attributes(NULL, a);
	return then ? then(a) : NO_LEVEL;
}

static int pop_default(void)
{
	int (*then)(void) = next_of(&next_core[H_POP]);

	pop(NULL);
	return then ? then() : NO_LEVEL;
}

static int domain_push(void *domain, const struct event_attributes *a)
{
	int (*then)(void *, const struct event_attributes *) = next_of(&next_core[H_DOMAIN_PUSH]);

	push_attributes(domain, a);
	return then ? then(domain, a) : NO_LEVEL;
}

static int domain_pop(void *domain)
{
	int (*then)(void *) = next_of(&next_core[H_DOMAIN_POP]);

	pop(domain);
	return then ? then(domain) : NO_LEVEL;
}

/* --- names of streams and events ---------------------------------------------------------------- */

#define NAMES(fn, hook, type, convert)                                                      \
	static void fn(uint64_t object, const type *text)                                   \
	{                                                                                   \
		void (*then)(uint64_t, const type *) =                                      \
			next_of(&next_core[hook]);                \
		char buf[TEXT];                                                             \
                                                                                            \
		(void)buf;                                                                  \
		name(object, 0, convert);                                                   \
		if (then)                                                                   \
			then(object, text);                                                 \
	}
NAMES(cu_stream_a, H_CU_STREAM_A, char, text)
NAMES(cu_stream_w, H_CU_STREAM_W, wchar_t, narrow(text, buf))
NAMES(cu_event_a, H_CU_EVENT_A, char, text)
NAMES(cu_event_w, H_CU_EVENT_W, wchar_t, narrow(text, buf))
NAMES(cuda_stream_a, H_CUDA_STREAM_A, char, text)
NAMES(cuda_stream_w, H_CUDA_STREAM_W, wchar_t, narrow(text, buf))
NAMES(cuda_event_a, H_CUDA_EVENT_A, char, text)
NAMES(cuda_event_w, H_CUDA_EVENT_W, wchar_t, narrow(text, buf))

static void *resource(void *domain, struct resource *r)
{
	void *(*then)(void *, struct resource *) = next_of(&next_core[H_RESOURCE]);
	char buf[TEXT];

	if (READABLE(r, resource, message) &&
	    (r->type == CUDA_STREAM || r->type == CUDA_EVENT || r->type == CUDART_STREAM || r->type == CUDART_EVENT))
		name(r->id, 0, text_of(r->message_type, r->message, buf));
	return then ? then(domain, r) : NULL; /* as where there is no tool */
}

/* --- heaps and regions -------------------------------------------------------------------------------- */

#define BUCKETS 1024

struct heap {
	struct heap *chain;
	uint64_t handle;
	bool pool;
};
struct region {
	struct region *chain, *by_handle;
	uint64_t ptr, size, handle;
	struct heap *heap; /* NULL: the process's */
};
static struct heap *heaps[BUCKETS], *spare_heaps;
static struct region *regions[BUCKETS], *handles[BUCKETS], *spare_regions;

static void lock(void)
{
	krt_wipe_arm();
	krt_lock(&krt_wipe.w.nvtx);
}

static void unlock(void)
{
	krt_unlock(&krt_wipe.w.nvtx);
}

static unsigned bucket(uint64_t key)
{
	return (unsigned)(krt_hash(0, &key, sizeof key) % BUCKETS);
}

static struct heap **heap_at(uint64_t handle)
{
	struct heap **p = &heaps[bucket(handle)];

	while (*p && (*p)->handle != handle)
		p = &(*p)->chain;
	return p;
}

static struct region **region_at(uint64_t ptr)
{
	struct region **p = &regions[bucket(ptr)];

	while (*p && (*p)->ptr != ptr)
		p = &(*p)->chain;
	return p;
}

/* By what the program calls it; without another library a handle is the pointer. */
static struct region *region_of(unsigned type, uint64_t ref)
{
	struct region *r = NULL;

	if (type == REF_HANDLE)
		for (r = handles[bucket(ref)]; r && r->handle != ref; r = r->by_handle)
			;
	return r ? r : *region_at(ref);
}

static void region_drop(struct region *r)
{
	struct region **p = region_at(r->ptr);

	if (*p == r)
		*p = r->chain;
	if (r->handle)
		for (p = &handles[bucket(r->handle)]; *p; p = &(*p)->by_handle)
			if (*p == r) {
				*p = r->by_handle;
				break;
			}
	r->chain = spare_regions;
	spare_regions = r;
}

static struct region *region_add(uint64_t ptr, uint64_t size, uint64_t handle, struct heap *h)
{
	struct region *r = *region_at(ptr);

	if (r)
		region_drop(r);
	r = spare_regions;
	if (r)
		spare_regions = r->chain;
	else
		r = krt_alloc(sizeof *r);
	if (!r)
		return NULL;
	*r = (struct region){ .chain = regions[bucket(ptr)], .ptr = ptr, .size = size, .handle = handle, .heap = h };
	regions[bucket(ptr)] = r;
	if (handle) {
		r->by_handle = handles[bucket(handle)];
		handles[bucket(handle)] = r;
	}
	return r;
}

static void regions_drop(const struct heap *h)
{
	for (unsigned i = 0; i < BUCKETS; i++)
		for (struct region *r = regions[i], *next; r; r = next) {
			next = r->chain;
			if (r->heap == h)
				region_drop(r);
		}
}

static uint64_t heap_register(void *domain, const struct heap_desc *d)
{
	uint64_t (*then)(void *, const struct heap_desc *) =
		next_of(&next_memory[M_HEAP_REGISTER]);
	uint64_t handle = then ? then(domain, d) : 0;
	struct heap *h, **at;
	char buf[TEXT];
	const char *text = NULL;
	bool pool;

	if (!READABLE(d, heap_desc, range) || d->type != TYPE_ADDRESS || (then && (!handle || handle == UINT64_MAX)))
		return handle;
	pool = d->usage == USAGE_SUBALLOCATOR;
	if (READABLE(d, heap_desc, message))
		text = text_of((int)d->message_type, d->message, buf);
	lock();
	h = spare_heaps;
	if (h)
		spare_heaps = h->chain;
	else
		h = krt_alloc(sizeof *h);
	if (h) {
		if (!handle)
			handle = (uintptr_t)h;
		at = heap_at(handle);
		*h = (struct heap){ .chain = *at ? (*at)->chain : NULL, .handle = handle, .pool = pool };
		*at = h; /* a handle given out anew takes the place of what had it */
	}
	unlock();
	if (h && pool)
		krtsan_impl_pool_create(handle, 1, (uintptr_t)(text ? text : ""));
	else if (h && d->range && d->range_size >= sizeof *d->range)
		name(d->range->ptr, d->range->size, text);
	return handle;
}

static void heap_end(uint64_t handle, bool forget)
{
	struct heap *h, **at;
	bool pool = false;

	lock();
	at = heap_at(handle);
	h = *at;
	if (h || !handle)
		regions_drop(h);
	if (h) {
		pool = h->pool;
		if (forget) {
			*at = h->chain;
			h->chain = spare_heaps;
			spare_heaps = h;
		}
	}
	unlock();
	if (!pool)
		return;
	krtsan_impl_pool_destroy(handle);
	if (!forget)
		krtsan_impl_pool_create(handle, 1, (uintptr_t) "");
}

#define HEAP_ENDS(fn, hook, forget)                                                         \
	static void fn(void *domain, uint64_t heap)                                         \
	{                                                                                   \
		void (*then)(void *, uint64_t) = next_of(&next_memory[hook]); \
                                                                                            \
		heap_end(heap, forget);                                                     \
		if (then)                                                                   \
			then(domain, heap);                                                 \
	}
HEAP_ENDS(heap_unregister, M_HEAP_UNREGISTER, true)
HEAP_ENDS(heap_reset, M_HEAP_RESET, false)

/* Element i of an array of structures that may be longer than ours. */
static const void *element(const void *array, size_t i, size_t size)
{
	return (const char *)array + i * size;
}

static void regions_register(void *domain, const struct regions_register *d)
{
	void (*then)(void *, const struct regions_register *) =
		next_of(&next_memory[M_REGISTER]);

	if (then)
		then(domain, d);
	if (!READABLE(d, regions_register, ranges) || d->type != TYPE_ADDRESS || !d->ranges ||
	    d->element < sizeof(struct range))
		return;
	for (size_t i = 0; i < d->count; i++) {
		const struct range *r = element(d->ranges, i, d->element);
		uint64_t *out = READABLE(d, regions_register, handles) && d->handles ? &d->handles[i] : NULL;
		bool pool = false;
		struct heap *h;

		if (out && !then)
			*out = r->ptr;
		lock();
		h = d->heap ? *heap_at(d->heap) : NULL;
		if ((h || !d->heap) && region_add(r->ptr, r->size, out && then ? *out : 0, h))
			pool = h && h->pool;
		unlock();
		if (pool)
			krtsan_impl_block_alloc(d->heap, r->ptr, r->size, NO_STREAM);
	}
}

static void regions_resize(void *domain, const struct regions_ranges *d)
{
	void (*then)(void *, const struct regions_ranges *) =
		next_of(&next_memory[M_RESIZE]);

	if (READABLE(d, regions_ranges, ranges) && d->type == TYPE_ADDRESS && d->ranges &&
	    d->element >= sizeof(struct range))
		for (size_t i = 0; i < d->count; i++) {
			const struct range *r = element(d->ranges, i, d->element);
			struct region *known;
			bool pool = false;

			lock();
			known = *region_at(r->ptr);
			if (known) {
				known->size = r->size;
				pool = known->heap && known->heap->pool;
			}
			unlock();
			if (pool)
				krtsan_impl_block_resize(r->ptr, r->size);
		}
	if (then)
		then(domain, d);
}

static void regions_unregister(void *domain, const struct regions_refs *d)
{
	void (*then)(void *, const struct regions_refs *) =
		next_of(&next_memory[M_UNREGISTER]);

	if (READABLE(d, regions_refs, refs) && d->refs && d->element >= sizeof(uint64_t))
		for (size_t i = 0; i < d->count; i++) {
			struct region *r;
			uint64_t ptr = 0;

			lock();
			r = region_of(d->type, *(const uint64_t *)element(d->refs, i, d->element));
			if (r) {
				if (r->heap && r->heap->pool)
					ptr = r->ptr;
				region_drop(r);
			}
			unlock();
			if (ptr)
				krtsan_impl_block_free(ptr);
		}
	if (then)
		then(domain, d);
}

static void regions_name(void *domain, const struct regions_name *d)
{
	void (*then)(void *, const struct regions_name *) =
		next_of(&next_memory[M_NAME]);
	char buf[TEXT];

	if (READABLE(d, regions_name, names) && d->names && d->element >= offsetof(struct region_name, category))
		for (size_t i = 0; i < d->count; i++) {
			const struct region_name *n = element(d->names, i, d->element);
			uint64_t ptr = 0, size = 0;
			struct region *r;

			lock();
			r = region_of(n->type, n->region);
			if (r) {
				ptr = r->ptr;
				size = r->size;
			}
			unlock();
			if (size)
				name(ptr, size, text_of((int)n->message_type, n->message, buf));
		}
	if (then)
		then(domain, d);
}

/* --- permissions --------------------------------------------------------------------------------- */

#define REGIONS 256 /* of one object */

struct permissions {
	struct permissions *chain;
	uint64_t handle;
	unsigned count;
	uint64_t ptr[REGIONS];
};
static struct permissions *permissions, *spare_permissions;

static struct permissions **permissions_at(uint64_t handle)
{
	struct permissions **p = &permissions;

	while (*p && (*p)->handle != handle)
		p = &(*p)->chain;
	return p;
}

static uint64_t permissions_create(void *domain, int32_t flags)
{
	uint64_t (*then)(void *, int32_t) = next_of(&next_memory[M_CREATE]);
	uint64_t handle = then ? then(domain, flags) : 0;
	struct permissions *p;

	if (then && (!handle || handle == UINT64_MAX))
		return handle;
	lock();
	p = spare_permissions;
	if (p)
		spare_permissions = p->chain;
	else
		p = krt_alloc(sizeof *p);
	if (p) {
		p->handle = handle ? handle : (uintptr_t)p;
		handle = p->handle;
		p->count = 0;
		p->chain = permissions;
		permissions = p;
	}
	unlock();
	return handle;
}

static void permissions_end(uint64_t handle, bool forget)
{
	struct permissions *p, **at;

	lock();
	at = permissions_at(handle);
	p = *at;
	if (p)
		p->count = 0;
	if (p && forget) {
		*at = p->chain;
		p->chain = spare_permissions;
		spare_permissions = p;
	}
	unlock();
}

#define PERMISSIONS_END(fn, hook, forget)                                                   \
	static void fn(void *domain, uint64_t handle)                                       \
	{                                                                                   \
		void (*then)(void *, uint64_t) = next_of(&next_memory[hook]); \
                                                                                            \
		permissions_end(handle, forget);                                            \
		if (then)                                                                   \
			then(domain, handle);                                               \
	}
PERMISSIONS_END(permissions_destroy, M_DESTROY, true)
PERMISSIONS_END(permissions_reset, M_RESET, false)

static void permissions_assign(void *domain, const struct permissions_assign *d)
{
	void (*then)(void *, const struct permissions_assign *) =
		next_of(&next_memory[M_ASSIGN]);

	if (READABLE(d, permissions_assign, regions) && d->regions && d->element >= sizeof(struct region_permission)) {
		struct permissions *p;

		lock();
		p = *permissions_at(d->permissions);
		for (size_t i = 0; p && i < d->count; i++) {
			const struct region_permission *a = element(d->regions, i, d->element);
			struct region *r = region_of(a->type, a->region);
			unsigned at = 0;

			if (!r)
				continue;
			while (at < p->count && p->ptr[at] != r->ptr)
				at++;
			if (!a->flags || a->flags & PERMISSION_RESET) {
				if (at < p->count)
					p->ptr[at] = p->ptr[--p->count];
			} else if (at == p->count && at < REGIONS) {
				p->ptr[p->count++] = r->ptr;
			}
		}
		unlock();
	}
	if (then)
		then(domain, d);
}

static void permissions_bind(void *domain, uint64_t handle, uint32_t scope, uint32_t flags)
{
	void (*then)(void *, uint64_t, uint32_t, uint32_t) =
		next_of(&next_memory[M_BIND]);

	for (unsigned i = 0; scope == SCOPE_STREAM; i++) {
		struct permissions *p;
		uint64_t ptr = 0;

		lock();
		p = *permissions_at(handle);
		if (p && i < p->count)
			ptr = p->ptr[i];
		unlock();
		if (!ptr)
			break;
		krtsan_impl_block_use(ptr, NO_STREAM); /* whatever this thread enqueues on */
	}
	if (then)
		then(domain, handle, scope, flags);
}

static void mark_initialized(void *domain, uint64_t stream, uint8_t per_thread, const struct regions_ranges *d)
{
	void (*then)(void *, uint64_t, uint8_t, const struct regions_ranges *) =
		next_of(&next_memory[M_INITIALIZED]);

	if (READABLE(d, regions_ranges, ranges) && d->type == TYPE_ADDRESS && d->ranges &&
	    d->element >= sizeof(struct range))
		for (size_t i = 0; i < d->count; i++) {
			const struct range *r = element(d->ranges, i, d->element);

			krtsan_impl_block_use(r->ptr, per_thread && !stream ? 2 : stream);
		}
	if (then)
		then(domain, stream, per_thread, d);
}

/* --- a client comes ---------------------------------------------------------------------------------- */

static const struct {
	int module;
	unsigned id;
} hooks[H_COUNT] = {
#define X(name, module_, id_) [H_##name] = { .module = module_, .id = id_ },
	HOOKS(X)
#undef X
};
static any_fn *const ours_core[H_COUNT] = {
	[H_CU_STREAM_A] = (any_fn *)cu_stream_a,     [H_CU_STREAM_W] = (any_fn *)cu_stream_w,
	[H_CU_EVENT_A] = (any_fn *)cu_event_a,	     [H_CU_EVENT_W] = (any_fn *)cu_event_w,
	[H_CUDA_STREAM_A] = (any_fn *)cuda_stream_a, [H_CUDA_STREAM_W] = (any_fn *)cuda_stream_w,
	[H_CUDA_EVENT_A] = (any_fn *)cuda_event_a,   [H_CUDA_EVENT_W] = (any_fn *)cuda_event_w,
	[H_RESOURCE] = (any_fn *)resource,	     [H_STRING_A] = (any_fn *)string_a,
	[H_STRING_W] = (any_fn *)string_w,	     [H_PUSH_EX] = (any_fn *)push_ex,
	[H_PUSH_A] = (any_fn *)push_a,		     [H_PUSH_W] = (any_fn *)push_w,
	[H_POP] = (any_fn *)pop_default,	     [H_DOMAIN_PUSH] = (any_fn *)domain_push,
	[H_DOMAIN_POP] = (any_fn *)domain_pop,
};
static any_fn *const ours_memory[M_COUNT] = {
	[M_HEAP_REGISTER] = (any_fn *)heap_register,   [M_HEAP_UNREGISTER] = (any_fn *)heap_unregister,
	[M_HEAP_RESET] = (any_fn *)heap_reset,	       [M_REGISTER] = (any_fn *)regions_register,
	[M_RESIZE] = (any_fn *)regions_resize,	       [M_UNREGISTER] = (any_fn *)regions_unregister,
	[M_NAME] = (any_fn *)regions_name,	       [M_ASSIGN] = (any_fn *)permissions_assign,
	[M_CREATE] = (any_fn *)permissions_create,     [M_DESTROY] = (any_fn *)permissions_destroy,
	[M_RESET] = (any_fn *)permissions_reset,       [M_BIND] = (any_fn *)permissions_bind,
	[M_INITIALIZED] = (any_fn *)mark_initialized,
};

/* Where the client keeps the function, NULL: its NVTX is too old. */
static any_fn **place_of(const struct callbacks *c, int module, unsigned id)
{
	any_fn ***table = NULL;
	unsigned n = 0;

	return c->functions(module, &table, &n) && table && id < n ? table[id] : NULL;
}

EXPORT int InitializeInjectionNvtx2(get_table_fn *get);
EXPORT int InitializeInjectionNvtx2(get_table_fn *get)
{
	const struct callbacks *c = get ? get(TABLE_CALLBACKS) : NULL;
	const struct version_info *v = get ? get(TABLE_VERSION) : NULL;
	init_fn *theirs = (init_fn *)in_next("InitializeInjectionNvtx2", (void *)InitializeInjectionNvtx2);
	any_fn *before[H_COUNT] = { NULL };
	int good = 0;

	if (!c || c->size < sizeof *c || !c->functions)
		return theirs ? theirs(get) : 0;
	if (!preloaded || !options.nvtx)
		return theirs ? theirs(get) : 0;
	for (unsigned i = 0; i < H_COUNT; i++) {
		any_fn **at = place_of(c, hooks[i].module, hooks[i].id);

		before[i] = at ? *at : NULL;
	}
	if (theirs)
		good = theirs(get);
	for (unsigned i = 0; i < H_COUNT; i++) {
		any_fn **at = place_of(c, hooks[i].module, hooks[i].id);

		if (!at)
			continue;
		if (theirs && !good)
			*at = before[i]; /* it failed: as if it had not been there */
		if (chain(&next_core[i], *at == before[i] ? NULL : (void *)(uintptr_t)*at))
			*at = ours_core[i];
	}
	if (!good && v && v->size >= sizeof *v && v->set_tool_version)
		v->set_tool_version(3);
	return 1;
}

EXPORT int InitializeInjectionNvtxExtension(struct module_info *m);
EXPORT int InitializeInjectionNvtxExtension(struct module_info *m)
{
	init_extension_fn *theirs = (init_extension_fn *)in_next("InitializeInjectionNvtxExtension",
								 (void *)InitializeInjectionNvtxExtension);
	int good = theirs ? theirs(m) : 0;
	struct segment *s;

	if (!preloaded || !options.nvtx || !m || m->size < offsetof(struct module_info, get_function) ||
	    m->module != EXTENSION_MEMORY || m->compat != MEMORY_COMPAT || !m->segments || !m->segment)
		return good;
	s = &m->segment[0];
	for (unsigned i = 0; s->slot && i < M_COUNT && i < s->count; i++) {
		intptr_t now = s->slot[i];

		if (!ours_memory[i])
			continue;
		if (theirs && !good)
			now = SLOT_FRESH;
		if (chain(&next_memory[i],
			  now == SLOT_FRESH || now == SLOT_DISABLED ? NULL : (void *)now))
			s->slot[i] = (intptr_t)ours_memory[i];
	}
	return 1;
}

/* --- before the program starts -------------------------------------------------------------------------- */

static char own_variable[PATH_LEN + 32], next_variable[PATH_LEN + 32];

static void put(char **env, size_t *n, char *variable)
{
	size_t len = strcspn(variable, "=") + 1, i = 0;

	while (i < *n && strncmp(env[i], variable, len) != 0)
		i++;
	env[i] = variable;
	if (i == *n)
		env[++*n] = NULL;
}

/*
 * The only constructor: it reads the environment and adds to it, without malloc;
 * nothing else.  What the program does to its environment later is its own.
 */
__attribute__((constructor)) static void name_ourselves(void)
{
	const char *path = krt_next_preloaded(), *there;
	size_t n = 0;
	char **env;
	char err[64];

	preloaded = path != NULL;
	there = getenv("KRTSAN_NVTX_NEXT");
	if (there && strlen(there) < sizeof next_path)
		strcpy(next_path, there);
	if (!preloaded)
		return;
	krt_options_init(&options);
	(void)krt_options_parse(&options, secure_getenv("KRTSAN_OPTIONS"), err, sizeof err);
	there = getenv("NVTX_INJECTION64_PATH");
	if (!options.nvtx || !*path || strlen(path) >= PATH_LEN || (there && !strcmp(there, path)))
		return;
	if (there && *there && strlen(there) < sizeof next_path)
		strcpy(next_path, there);
	else if (there && *there)
		return; /* not to be kept: it stays */
	while (environ && environ[n])
		n++;
	krt_wipe_arm();
	env = krt_alloc((n + 3) * sizeof *env);
	if (!env)
		return;
	if (n)
		memcpy(env, environ, n * sizeof *env);
	krt_format(own_variable, sizeof own_variable, "NVTX_INJECTION64_PATH=%s", path);
	put(env, &n, own_variable);
	if (there && *there) {
		krt_format(next_variable, sizeof next_variable, "KRTSAN_NVTX_NEXT=%s", next_path);
		put(env, &n, next_variable);
	}
	environ = env;
}
