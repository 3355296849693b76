/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parameter layouts for drivers older than 12.4 (layouts.h).  A newer one tells
 * them itself, and nothing here costs anything.
 *
 * An image is looked through at its load, when it is surely there: PTX text,
 * cubins, and what fatbin containers hold without compression; what is compressed
 * stays unknown, and NVIDIA's own libraries are left alone.  Kernels are kept by
 * module and name.  Where two images of a module differ on a kernel neither is
 * believed: memory that kernelParams[] point to is never read with a guessed size.
 *
 * Memory comes from the arena, is bounded, and is used again after an unload.
 * Locking: krt_wipe.w.layouts guards all of it.
 */
#include "layouts.h"
#include "images.h"
#include "modules.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TELLS_ITSELF 12040
#define BUCKETS      8192u
#define IMAGE_MAX    (64u << 20) /* bytes of an image that are looked through */
#define KEPT_MAX     (32u << 20) /* bytes of layouts and names */
#define DOUBTFUL     UINT32_MAX  /* as n: two images differ */

struct layout {
	struct layout *next;
	uint64_t module, name; /* handle, 0: free to be used again; hash */
	uint32_t n, bytes, room;
	struct krt_param param[];
};
struct function {
	struct function *next;
	uint64_t func, module;
	char *name;
	size_t room;
};

static struct layout *layouts[BUCKETS], *unused;
static struct function *functions[BUCKETS];
static size_t kept;
static bool wanted;

void krt_layouts_driver(int version)
{
	wanted = version && version < TELLS_ITSELF;
}

static uint64_t name_hash(const char *name, size_t len)
{
	return krt_hash(len, name, len);
}

static unsigned bucket(uint64_t key)
{
	return (unsigned)(key * 0x9e3779b97f4a7c15ull >> 48) % BUCKETS;
}

static void *keep(size_t size)
{
	if (kept + size > KEPT_MAX)
		return NULL;
	kept += size;
	return krt_alloc(size);
}

/* ---- kernels of modules: under the lock ---- */

static bool same(const struct layout *l, const struct krt_layout *k)
{
	if (l->n != k->n || l->bytes != k->bytes)
		return false;
	for (uint32_t i = 0; i < k->n; i++)
		if (l->param[i].offset != k->param[i].offset || l->param[i].size != k->param[i].size)
			return false;
	return true;
}

static struct layout *take(uint32_t n)
{
	for (struct layout **at = &unused, *l; (l = *at); at = &l->next)
		if (l->room >= n && l->room <= 2 * n + 8) {
			*at = l->next;
			return l;
		}
	struct layout *l = keep(sizeof *l + n * sizeof *l->param);

	if (l)
		l->room = n;
	return l;
}

static void add(uint64_t module, const char *name, size_t len, const struct krt_layout *k)
{
	uint64_t hash = name_hash(name, len);
	struct layout **list = &layouts[bucket(hash)], *l;

	for (l = *list; l; l = l->next)
		if (l->module == module && l->name == hash) {
			if (l->n != DOUBTFUL && !same(l, k))
				l->n = DOUBTFUL;
			return;
		}
	l = take(k->n);
	if (!l)
		return;
	l->module = module;
	l->name = hash;
	l->n = k->n;
	l->bytes = k->bytes;
	for (uint32_t i = 0; i < k->n; i++)
		l->param[i] = (struct krt_param){ k->param[i].offset, k->param[i].size };
	l->next = *list;
	*list = l;
}

static const struct layout *find(uint64_t module, uint64_t name)
{
	const struct layout *l = layouts[bucket(name)];

	while (l && (l->name != name || l->module != module))
		l = l->next;
	return l && l->n != DOUBTFUL ? l : NULL;
}

/* ---- images ---- */

struct looking {
	uint64_t module;
	struct krt_layout *room;
};

static void look(const struct looking *k, const char *p, size_t len);

struct bytes {
	const char *p;
	size_t len;
};

static bool read_bytes(void *user, uint64_t off, void *to, size_t n)
{
	const struct bytes *b = user;

	if (off > b->len || n > b->len - off)
		return false;
	memcpy(to, b->p + off, n);
	return true;
}

static void look_fatbin(const struct looking *k, const char *p, size_t len)
{
	struct bytes b = { p, len };
	struct krt_image_source s = { read_bytes, &b, len };
	struct krt_fatbin_walk w = { 0 };
	struct krt_fatbin_entry e;

	while (krt_fatbin_next(&s, &w, &e))
		if ((e.kind == 1 || e.kind == 2) && e.packing == KRT_STORED && e.offset <= len &&
		    e.stored <= len - e.offset && krt_image_kind(p + e.offset, e.stored) != KRT_KIND_FATBIN)
			look(k, p + e.offset, e.stored);
}

/* Under the lock. */
static void look(const struct looking *k, const char *p, size_t len)
{
	struct krt_cubin c;
	const char *name;
	size_t n, at = 0;
	uint32_t i = 0;

	switch (krt_image_kind(p, len)) {
	case KRT_KIND_CUBIN:
		if (!krt_cubin_open(&c, p, len))
			return;
		while ((name = krt_cubin_kernel(&c, &i, &n)))
			if (!krt_cubin_layout(&c, name, n, k->room))
				add(k->module, name, n, k->room);
		return;
	case KRT_KIND_PTX:
		while ((name = krt_ptx_entry(p, len, &at, &n)))
			if (!krt_ptx_layout(p, len, at, k->room))
				add(k->module, name, n, k->room);
		return;
	case KRT_KIND_FATBIN:
		look_fatbin(k, p, len);
		return;
	case KRT_KIND_UNKNOWN:
		return;
	}
}

static void piece(void *user, uint64_t addr, uint64_t len)
{
	const struct krt_module *m = krt_module_at(addr);
	const struct looking *k = user;
	char *copy;

	if (!len || len > IMAGE_MAX || (m && m->role == KRT_MODULE_CUDA))
		return;
	copy = krt_map(len);
	if (!copy)
		return;
	if (krt_read(addr, copy, len) == len) {
		krt_lock(&krt_wipe.w.layouts);
		look(k, copy, len);
		krt_unlock(&krt_wipe.w.layouts);
	}
	krt_unmap(copy, len);
}

static void file(const struct looking *k, const char *path)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
	long size = fd < 0 ? 0 : syscall(SYS_lseek, fd, 0L, SEEK_END), n;
	char *copy = size > 0 && size <= IMAGE_MAX ? krt_map((size_t)size) : NULL;
	size_t done = 0;

	while (copy && done < (size_t)size &&
	       (n = syscall(SYS_pread64, fd, copy + done, (size_t)size - done, (long)done)) > 0)
		done += (size_t)n;
	if (fd >= 0)
		syscall(SYS_close, fd);
	if (!copy)
		return;
	krt_lock(&krt_wipe.w.layouts);
	look(k, copy, done);
	krt_unlock(&krt_wipe.w.layouts);
	krt_unmap(copy, (size_t)size);
}

void krt_layouts_loaded(const struct krt_call *c)
{
	const struct krt_api *a = &krt_api[c->api];
	struct looking k = { 0 };

	if (krt_likely(!wanted) || !c->args[0])
		return;
	k.module = *(const uint64_t *)c->args[0];
	k.room = krt_map(sizeof *k.room);
	if (!k.module || !k.room)
		return;
	krt_layouts_unloaded(k.module); /* unseen */
	for (unsigned i = 0; i < a->argc; i++)
		if (a->arg[i].role == KRT_ROLE_IMAGE && c->args[i])
			krt_images_each(c->args[i], piece, &k);
		else if (a->arg[i].role == KRT_ROLE_IN_STRING && c->args[i])
			file(&k, (const char *)c->args[i]);
	krt_unmap(k.room, sizeof *k.room);
}

/* All of a module; 0: of every one. */
static void forget(uint64_t module)
{
	krt_lock(&krt_wipe.w.layouts);
	for (unsigned i = 0; i < BUCKETS; i++) {
		for (struct layout **at = &layouts[i], *l; (l = *at);) {
			if (module && l->module != module) {
				at = &l->next;
				continue;
			}
			*at = l->next;
			l->module = 0;
			l->next = unused;
			unused = l;
		}
		for (struct function *f = functions[i]; f; f = f->next)
			if (!module || f->module == module)
				f->func = f->module = 0;
	}
	krt_unlock(&krt_wipe.w.layouts);
}

void krt_layouts_unloaded(uint64_t module)
{
	if (krt_unlikely(wanted) && module)
		forget(module);
}

void krt_layouts_stale(void)
{
	if (krt_unlikely(wanted))
		forget(0);
}

/* ---- functions ---- */

static struct function *function_of(uint64_t func)
{
	struct function *f = functions[bucket(func)];

	while (f && f->func != func)
		f = f->next;
	return f;
}

/* One that is there or may be used again, else a new one; room for a name of len bytes. */
static struct function *function_for(uint64_t func, size_t len)
{
	struct function *f = function_of(func);

	for (struct function *g = functions[bucket(func)]; g && !f; g = g->next)
		if (!g->func && g->room > len)
			f = g;
	if (!f) {
		f = keep(sizeof *f);
		if (!f)
			return NULL;
		f->next = functions[bucket(func)];
		functions[bucket(func)] = f;
	}
	if (f->room <= len) {
		f->name = keep(len + 1);
		f->room = f->name ? len + 1 : 0;
	}
	if (!f->name) {
		f->func = 0;
		return NULL;
	}
	f->func = func;
	return f;
}

void krt_layouts_function(const struct krt_call *c)
{
	const struct krt_api *a = &krt_api[c->api];
	uint64_t from = 0, module = 0, func;
	const char *name = NULL;
	struct function *f;
	size_t len;

	if (krt_likely(!wanted) || !c->args[0])
		return;
	func = *(const uint64_t *)c->args[0];
	for (unsigned i = 1; i < a->argc; i++)
		switch ((enum krt_role)a->arg[i].role) {
		case KRT_ROLE_MODULE:
		case KRT_ROLE_LIBRARY: module = c->args[i]; break;
		case KRT_ROLE_FUNC: from = c->args[i]; break;
		case KRT_ROLE_IN_STRING: name = (const char *)c->args[i]; break;
		default: break;
		}
	krt_lock(&krt_wipe.w.layouts);
	f = from ? function_of(from) : NULL; /* a kernel's function */
	if (f) {
		module = f->module;
		name = f->name;
	}
	len = name ? strnlen(name, KRT_NAME_MAX) : KRT_NAME_MAX;
	f = func && module && len < KRT_NAME_MAX ? function_for(func, len) : NULL;
	if (f) {
		f->module = module;
		memmove(f->name, name, len);
		f->name[len] = 0;
	}
	krt_unlock(&krt_wipe.w.layouts);
}

bool krt_layouts_find(uint64_t func, char *name, uint64_t *module, struct krt_param *param,
		      uint32_t *n, uint32_t *bytes)
{
	const struct layout *l = NULL;
	const struct function *f;

	*name = 0;
	*module = 0;
	if (krt_likely(!wanted))
		return false;
	krt_lock(&krt_wipe.w.layouts);
	f = function_of(func);
	if (f) {
		size_t len = strlen(f->name);

		memcpy(name, f->name, len + 1);
		*module = f->module;
		l = find(f->module, name_hash(name, len));
	}
	if (l) {
		*n = l->n;
		*bytes = l->bytes;
		memcpy(param, l->param, l->n * sizeof *param);
	}
	krt_unlock(&krt_wipe.w.layouts);
	return l != NULL;
}
