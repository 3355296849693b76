/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PTX modules, libraries, linking, functions, launches.
 *
 * A module belongs to a context; a library to none: it is loaded into a context
 * when a kernel of it is first used there.  A launch holds its module, so that
 * an unload never pulls the code from under it.  What cuLinkComplete returns is
 * the added PTX texts behind a header of ours, which module loading knows.
 *
 * A launch runs in turns (TURN instructions), so that a kernel that spins lets
 * others run.  Virtual time within a kernel: instructions over threads, and
 * CLOCK_NS for every look at a clock, so that waiting by the clock ends soon.
 */
#include "sim.h"
#include "exec.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define TURN		   1000000u
#define SLICE		   50000u
#define CLOCK_NS	   1000u
#define DYN_MAX		   232448u
#define MISALIGNED_ADDRESS ((CUresult)716)

struct image { /* parsed, shared by a library's modules */
	unsigned refs, n;
	struct ptx_module *pm[];
};

struct func {
	struct func *next;
	struct mod *mod;
	struct exec_func *ef;
	int max_dyn, carveout, cluster_np;
	/* cuLaunch, cuParamSet* of CUDA 2 */
	int block[3];
	unsigned shared, param_size;
	char *params;
};

struct mod {
	struct mod *next;
	struct ctx *ctx;
	struct image *img;
	struct exec_module *em;
	struct func *funcs;
	struct lib *lib;
	unsigned refs; /* handle, unfinished launches */
	bool dead;
};

struct kern {
	struct kern *next;
	struct lib *lib;
	const char *name;
	int max_dyn;
};

struct lib {
	struct image *img;
	struct kern *kerns;
};

static struct mod *mods;

#define GET_CTX(c)                                                                                 \
	struct ctx *c = NULL;                                                                      \
	do {                                                                                       \
		CUresult ctx_ = sim_get_ctx(&c);                                                   \
		if (ctx_ != CUDA_SUCCESS)                                                          \
			LEAVE(ctx_);                                                               \
	} while (0)

/* ---- images ---- */

struct linked {
	char magic[8];
	uint64_t n;
	/* then n times: uint64_t length, text, padding to 8 */
};
#define LINKED "\177SIMLNK"

#define PTX_NEWEST 90 /* that of CUDA 13.0 */

struct joblog {
	char *err;
	size_t err_len;
};

static void jit_options(unsigned n, const CUjit_option *o, void **v, struct joblog *l)
{
	*l = (struct joblog){0};
	for (unsigned i = 0; i < n && o && v; i++) {
		if (o[i] == 5)
			l->err = v[i];
		else if (o[i] == 6)
			l->err_len = (size_t)(uintptr_t)v[i];
		else if (o[i] == 4) /* nothing was written to the info log */
			v[i] = NULL;
	}
	if (!l->err)
		l->err_len = 0;
	if (l->err_len)
		l->err[0] = 0;
}

static void complain(struct joblog *l, const char *what, const char *why)
{
	sim_say("%s: %s", what, why);
	if (l && l->err_len)
		snprintf(l->err, l->err_len, "%s", why);
}

static void image_put(struct image *m)
{
	if (!m || --m->refs)
		return;
	for (unsigned i = 0; i < m->n; i++)
		ptx_free(m->pm[i]);
	sim_free(m);
}

static struct ptx_module *parse(const char *text, size_t len, struct joblog *l)
{
	struct ptx_error e = {0};
	struct ptx_module *m = ptx_parse(text, len, &e);
	char b[256];

	if (!m) {
		snprintf(b, sizeof b, "line %u: %s", e.line, e.what);
		complain(l, "PTX", b);
	}
	return m;
}

/* What follows the magic of a fat binary, as far as it carries plain PTX. */
static const char *fat_ptx(const void *image, size_t *len)
{
	const unsigned char *p = image, *e;
	uint32_t magic, hdr;
	uint64_t size;

	memcpy(&magic, p, 4);
	if (magic == 0x466243b1u) {
		memcpy(&p, p + 8, 8);
		memcpy(&magic, p, 4);
	}
	if (magic != 0xba55ed50u)
		return NULL;
	memcpy(&size, p + 8, 8);
	e = p + 16 + size;
	for (p += 16; p + 64 <= e;) {
		uint16_t kind;
		uint64_t n, flags;

		memcpy(&kind, p, 2);
		memcpy(&hdr, p + 4, 4);
		memcpy(&n, p + 8, 8);
		memcpy(&flags, p + 40, 8);
		if (hdr < 64 || n > (uint64_t)(e - p) || hdr > (uint64_t)(e - p) - n)
			return NULL;
		if (kind == 1 && !(flags & 0xf000)) {
			*len = strnlen((const char *)p + hdr, n);
			return (const char *)p + hdr;
		}
		p += hdr + n;
	}
	return NULL;
}

static CUresult image_load(const void *data, struct joblog *l, struct image **out)
{
	const char *text = data;
	struct image *m;
	uint32_t magic;
	size_t len;
	CUresult r = CUDA_ERROR_INVALID_PTX;

	if (!memcmp(text, LINKED, 7)) {
		struct linked h;
		const char *p = text + sizeof h;

		memcpy(&h, text, sizeof h);
		m = sim_alloc(sizeof *m + h.n * sizeof m->pm[0]);
		if (!m)
			return CUDA_ERROR_OUT_OF_MEMORY;
		m->refs = 1;
		for (m->n = 0; m->n < h.n; m->n++) {
			uint64_t n;

			memcpy(&n, p, 8);
			m->pm[m->n] = parse(p + 8, n, l);
			if (!m->pm[m->n]) {
				image_put(m);
				return r;
			}
			p += 8 + ((n + 7) & ~7ull);
		}
		*out = m;
		return CUDA_SUCCESS;
	}
	memcpy(&magic, text, 4);
	if (magic == 0x466243b1u || magic == 0xba55ed50u) {
		text = fat_ptx(data, &len);
		if (!text) {
			complain(l, "module", "the fat binary has no uncompressed PTX");
			return CUDA_ERROR_NO_BINARY_FOR_GPU;
		}
	} else if (!memcmp(text, "\177ELF", 4)) {
		complain(l, "module", "machine code; the simulated driver needs PTX");
		return CUDA_ERROR_NO_BINARY_FOR_GPU;
	} else {
		len = strlen(text);
		if (!ptx_is_text(text, len)) {
			complain(l, "module", "no PTX text");
			return CUDA_ERROR_INVALID_IMAGE;
		}
	}
	m = sim_alloc(sizeof *m + sizeof m->pm[0]);
	if (!m)
		return CUDA_ERROR_OUT_OF_MEMORY;
	m->refs = 1;
	m->pm[0] = parse(text, len, l);
	if (!m->pm[0]) {
		sim_free(m);
		return r;
	}
	if (ptx_version(m->pm[0]) > PTX_NEWEST) {
		complain(l, "PTX", "a version later than this driver's");
		ptx_free(m->pm[0]);
		sim_free(m);
		return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
	}
	m->n = 1;
	*out = m;
	return CUDA_SUCCESS;
}

/* ---- modules ---- */

static void *var_alloc(void *user, size_t size, size_t align, const char *name)
{
	struct mod *m = user;
	struct alloc *a = mem_dev_alloc(m->ctx, m->ctx->dev, size ? size : 1, align, MEM_GLOBAL);

	(void)name;
	if (!a)
		return NULL;
	memset((void *)a->lo, 0, size);
	return (void *)a->lo;
}

static void var_free(void *user, void *p)
{
	struct alloc *a = mem_find((uint64_t)p);

	(void)user;
	if (a && a->kind == MEM_GLOBAL)
		mem_dev_free(a);
}

static CUresult mod_new(struct ctx *c, struct image *img, struct joblog *l, struct mod **out)
{
	struct mod *m = sim_alloc(sizeof *m);
	struct exec_mem mem = {var_alloc, var_free, m};
	char err[256] = "";

	if (!m)
		return CUDA_ERROR_OUT_OF_MEMORY;
	m->ctx = c;
	m->refs = 1;
	m->em = exec_load(img->pm, img->n, &mem, err, sizeof err);
	if (!m->em) {
		complain(l, "module", err);
		sim_free(m);
		return CUDA_ERROR_INVALID_PTX;
	}
	m->img = img;
	img->refs++;
	m->next = mods;
	mods = m;
	sim_handle_add(m, SIM_MODULE);
	*out = m;
	return CUDA_SUCCESS;
}

static void mod_put(struct mod *m)
{
	struct func *f;

	if (--m->refs)
		return;
	while ((f = m->funcs)) {
		m->funcs = f->next;
		sim_handle_del(f);
		sim_free(f->params);
		sim_free(f);
	}
	exec_unload(m->em);
	image_put(m->img);
	sim_free(m);
}

static void mod_drop(struct mod *m)
{
	struct mod **p;

	for (p = &mods; *p && *p != m; p = &(*p)->next)
		;
	if (*p)
		*p = m->next;
	sim_handle_del(m);
	for (struct func *f = m->funcs; f; f = f->next)
		sim_handle_del(f);
	m->dead = true;
	mod_put(m);
}

void module_ctx_gone(struct ctx *c)
{
	struct mod *n;

	for (struct mod *m = mods; m; m = n) {
		n = m->next;
		if (m->ctx == c)
			mod_drop(m);
	}
}

static CUresult module_load(CUmodule *out, const void *image, struct joblog *l)
{
	struct image *img = NULL;
	struct mod *m = NULL;
	CUresult r;

	ENTER();
	GET_CTX(c);
	if (!out || !image)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	r = image_load(image, l, &img);
	if (r != CUDA_SUCCESS)
		LEAVE(r);
	/* Loading was seen to wait for the context. */
	if (!sim_opt.documented)
		sim_wait_ctx(c);
	r = c->error ? c->error : mod_new(c, img, l, &m);
	image_put(img);
	if (r == CUDA_SUCCESS)
		*out = (CUmodule)m;
	LEAVE(r);
}

API(cuModuleLoadData, (CUmodule * out, const void *image))
{
	return module_load(out, image, NULL);
}

API(cuModuleLoadDataEx, (CUmodule * out, const void *image, unsigned n, CUjit_option *o, void **v))
{
	struct joblog l;

	jit_options(n, o, v, &l);
	return module_load(out, image, &l);
}

API(cuModuleLoadFatBinary, (CUmodule * out, const void *image))
{
	return module_load(out, image, NULL);
}

/* The whole file, with a NUL behind it. */
static CUresult slurp(const char *path, char **out, size_t *len)
{
	struct stat st;
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	size_t at = 0;
	char *p;

	if (!path)
		return CUDA_ERROR_INVALID_VALUE;
	if (fd < 0)
		return CUDA_ERROR_FILE_NOT_FOUND;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || !(p = sim_alloc((size_t)st.st_size + 16))) {
		close(fd);
		return CUDA_ERROR_FILE_NOT_FOUND;
	}
	while (at < (size_t)st.st_size) {
		ssize_t n = read(fd, p + at, (size_t)st.st_size - at);

		if (n <= 0)
			break;
		at += (size_t)n;
	}
	close(fd);
	*out = p;
	*len = at;
	return CUDA_SUCCESS;
}

API(cuModuleLoad, (CUmodule * out, const char *path))
{
	char *p = NULL;
	size_t n;
	CUresult r = slurp(path, &p, &n);

	if (r == CUDA_SUCCESS)
		r = module_load(out, p, NULL);
	sim_free(p);
	return r;
}

API(cuModuleUnload, (CUmodule h))
{
	struct mod *m = (struct mod *)h;

	ENTER();
	GET_CTX(c);
	if (!sim_handle_is(m, SIM_MODULE) || m->lib)
		LEAVE(CUDA_ERROR_INVALID_HANDLE);
	UNSAFE(c);
	if (!sim_opt.documented)
		sim_wait_ctx(c);
	if (!sim_handle_is(m, SIM_MODULE))
		LEAVE(CUDA_ERROR_INVALID_HANDLE);
	mod_drop(m);
	LEAVE(c->error);
}

API(cuModuleGetLoadingMode, (CUmoduleLoadingMode * mode))
{
	if (!mode)
		return CUDA_ERROR_INVALID_VALUE;
	*mode = 1; /* eager */
	return CUDA_SUCCESS;
}

static struct func *func_of(struct mod *m, struct exec_func *ef)
{
	struct func *f;

	for (f = m->funcs; f; f = f->next)
		if (f->ef == ef)
			return f;
	f = sim_alloc(sizeof *f);
	if (!f)
		return NULL;
	f->mod = m;
	f->ef = ef;
	f->max_dyn = 49152;
	f->carveout = -1;
	f->next = m->funcs;
	m->funcs = f;
	sim_handle_add(f, SIM_FUNC);
	return f;
}

API(cuModuleGetFunction, (CUfunction * out, CUmodule h, const char *name))
{
	struct mod *m = (struct mod *)h;
	struct exec_func *ef;
	struct func *f;

	ENTER();
	GET_CTX(c);
	if (!sim_handle_is(m, SIM_MODULE))
		LEAVE(CUDA_ERROR_INVALID_HANDLE);
	if (!out || !name)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	ef = exec_function(m->em, name);
	if (!ef)
		LEAVE(CUDA_ERROR_NOT_FOUND);
	f = func_of(m, ef);
	if (!f)
		LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
	*out = (CUfunction)f;
	LEAVE(CUDA_SUCCESS);
}

API(cuModuleGetFunctionCount, (unsigned *n, CUmodule h))
{
	ENTER();
	if (!sim_handle_is(h, SIM_MODULE) || !n)
		LEAVE(n ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE);
	*n = exec_functions(((struct mod *)h)->em);
	LEAVE(CUDA_SUCCESS);
}

API(cuModuleEnumerateFunctions, (CUfunction * out, unsigned n, CUmodule h))
{
	struct mod *m = (struct mod *)h;

	ENTER();
	if (!sim_handle_is(m, SIM_MODULE) || !out || !n)
		LEAVE(out && n ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE);
	for (unsigned i = 0; i < n && i < exec_functions(m->em); i++)
		out[i] = (CUfunction)func_of(m, exec_function_at(m->em, i));
	LEAVE(CUDA_SUCCESS);
}

static CUresult global(struct mod *m, const char *name, CUdeviceptr *d, size_t *n)
{
	uint64_t addr;
	size_t size;

	if (!name)
		return CUDA_ERROR_INVALID_VALUE;
	if (!exec_global(m->em, name, &addr, &size))
		return CUDA_ERROR_NOT_FOUND;
	if (d)
		*d = addr;
	if (n)
		*n = size;
	return CUDA_SUCCESS;
}

API(cuModuleGetGlobal_v2, (CUdeviceptr * d, size_t *n, CUmodule h, const char *name))
{
	ENTER();
	GET_CTX(c);
	if (!sim_handle_is(h, SIM_MODULE))
		LEAVE(CUDA_ERROR_INVALID_HANDLE);
	LEAVE(global((struct mod *)h, name, d, n));
}

/* ---- linking ---- */

struct link {
	char *buf;
	size_t len, cap;
	struct joblog log;
};

static CUresult link_create(unsigned n, CUjit_option *o, void **v, CUlinkState *out)
{
	struct link *k;

	ENTER();
	GET_CTX(c);
	if (!out)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	k = sim_alloc(sizeof *k);
	if (!k)
		LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
	k->cap = 4096;
	k->len = sizeof(struct linked);
	k->buf = sim_alloc(k->cap);
	if (!k->buf) {
		sim_free(k);
		LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
	}
	memcpy(k->buf, LINKED, 8);
	jit_options(n, o, v, &k->log);
	sim_handle_add(k, SIM_LINK);
	*out = (CUlinkState)k;
	LEAVE(CUDA_SUCCESS);
}
ONE(cuLinkCreate, (unsigned n, CUjit_option *o, void **v, CUlinkState *s), link_create(n, o, v, s))
ONE(cuLinkCreate_v2, (unsigned n, CUjit_option *o, void **v, CUlinkState *s),
    link_create(n, o, v, s))

static CUresult link_add(CUlinkState s, CUjitInputType type, const void *data, size_t size)
{
	struct link *k = (struct link *)s;
	struct ptx_module *pm;
	uint64_t n, count;

	ENTER();
	if (!sim_handle_is(k, SIM_LINK))
		LEAVE(CUDA_ERROR_INVALID_HANDLE);
	if (!data || !size)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	if (type != CU_JIT_INPUT_PTX) {
		complain(&k->log, "link", "only PTX can be added");
		LEAVE(CUDA_ERROR_NOT_SUPPORTED);
	}
	n = strnlen(data, size);
	pm = parse(data, n, &k->log);
	if (!pm)
		LEAVE(CUDA_ERROR_INVALID_PTX);
	ptx_free(pm);
	if (k->len + n + 24 > k->cap) {
		char *b = sim_grow(k->buf, k->len, (k->len + n + 24) * 2);

		if (!b)
			LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
		k->buf = b;
		k->cap = (k->len + n + 24) * 2;
	}
	memcpy(k->buf + k->len, &n, 8);
	memcpy(k->buf + k->len + 8, data, n);
	k->len += 8 + ((n + 7) & ~7ull);
	memcpy(&count, k->buf + 8, 8);
	count++;
	memcpy(k->buf + 8, &count, 8);
	LEAVE(CUDA_SUCCESS);
}
#define ADD_DATA(name)                                                                             \
	API(name, (CUlinkState s, CUjitInputType t, void *d, size_t n, const char *id,             \
		   unsigned no, CUjit_option *o, void **v))                                        \
	{                                                                                          \
		(void)id, (void)no, (void)o, (void)v;                                              \
		return link_add(s, t, d, n);                                                       \
	}
ADD_DATA(cuLinkAddData)
ADD_DATA(cuLinkAddData_v2)

static CUresult link_file(CUlinkState s, CUjitInputType t, const char *path)
{
	char *p = NULL;
	size_t n = 0;
	CUresult r = slurp(path, &p, &n);

	if (r == CUDA_SUCCESS)
		r = link_add(s, t, p, n);
	sim_free(p);
	return r;
}
#define ADD_FILE(name)                                                                             \
	API(name, (CUlinkState s, CUjitInputType t, const char *p, unsigned no, CUjit_option *o,   \
		   void **v))                                                                      \
	{                                                                                          \
		(void)no, (void)o, (void)v;                                                        \
		return link_file(s, t, p);                                                         \
	}
ADD_FILE(cuLinkAddFile)
ADD_FILE(cuLinkAddFile_v2)

API(cuLinkComplete, (CUlinkState s, void **out, size_t *n))
{
	struct link *k = (struct link *)s;

	ENTER();
	if (!sim_handle_is(k, SIM_LINK))
		LEAVE(CUDA_ERROR_INVALID_HANDLE);
	if (!out)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	*out = k->buf;
	if (n)
		*n = k->len;
	LEAVE(CUDA_SUCCESS);
}

API(cuLinkDestroy, (CUlinkState s))
{
	struct link *k = (struct link *)s;

	ENTER();
	if (!sim_handle_is(k, SIM_LINK))
		LEAVE(CUDA_ERROR_INVALID_HANDLE);
	sim_handle_del(k);
	sim_free(k->buf);
	sim_free(k);
	LEAVE(CUDA_SUCCESS);
}

/* ---- libraries ---- */

static CUresult library_load(CUlibrary *out, const void *code, unsigned n, CUjit_option *o,
			     void **v)
{
	struct joblog l;
	struct lib *lib;
	CUresult r;
	char err[256];

	jit_options(n, o, v, &l);
	ENTER();
	if (!out || !code)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	lib = sim_alloc(sizeof *lib);
	if (!lib)
		LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
	r = image_load(code, &l, &lib->img);
	for (unsigned i = 0; r == CUDA_SUCCESS && i < lib->img->n; i++)
		if (exec_check_module(lib->img->pm[i], err, sizeof err) && lib->img->n == 1) {
			complain(&l, "library", err);
			image_put(lib->img);
			r = CUDA_ERROR_INVALID_PTX;
			break;
		}
	if (r != CUDA_SUCCESS) {
		sim_free(lib);
		LEAVE(r);
	}
	for (unsigned i = 0; i < lib->img->n; i++)
		for (uint32_t k = 0; k < ptx_module_funcs(lib->img->pm[i]); k++) {
			const struct ptx_func *f = ptx_module_func(lib->img->pm[i], k);
			struct kern *kn, **p;

			if (!f->entry || !f->body || !(kn = sim_alloc(sizeof *kn)))
				continue;
			kn->lib = lib;
			kn->name = f->name;
			for (p = &lib->kerns; *p; p = &(*p)->next)
				;
			*p = kn;
			sim_handle_add(kn, SIM_KERNEL);
		}
	sim_handle_add(lib, SIM_LIBRARY);
	*out = (CUlibrary)lib;
	LEAVE(CUDA_SUCCESS);
}

API(cuLibraryLoadData, (CUlibrary * out, const void *code, CUjit_option *o, void **v, unsigned n,
			CUlibraryOption *lo, void **lv, unsigned ln))
{
	(void)lo, (void)lv, (void)ln;
	return library_load(out, code, n, o, v);
}

API(cuLibraryLoadFromFile, (CUlibrary * out, const char *path, CUjit_option *o, void **v,
			    unsigned n, CUlibraryOption *lo, void **lv, unsigned ln))
{
	char *p = NULL;
	size_t len;
	CUresult r = slurp(path, &p, &len);

	(void)lo, (void)lv, (void)ln;
	if (r == CUDA_SUCCESS)
		r = library_load(out, p, n, o, v);
	sim_free(p);
	return r;
}

static struct mod *lib_in(const struct lib *lib, const struct ctx *c)
{
	for (struct mod *m = mods; m; m = m->next)
		if (m->lib == lib && m->ctx == c)
			return m;
	return NULL;
}

API(cuLibraryUnload, (CUlibrary h))
{
	struct lib *lib = (struct lib *)h;
	struct kern *k;
	struct mod *n;

	ENTER();
	if (!sim_handle_is(lib, SIM_LIBRARY))
		LEAVE(CUDA_ERROR_INVALID_HANDLE);
	/* Seen to wait where something of it was loaded. */
	for (struct ctx *c = sim_ctxs; c && !sim_opt.documented; c = c->next)
		if (lib_in(lib, c))
			sim_wait_ctx(c);
	if (!sim_handle_is(lib, SIM_LIBRARY))
		LEAVE(CUDA_ERROR_INVALID_HANDLE);
	sim_handle_del(lib);
	for (struct mod *m = mods; m; m = n) {
		n = m->next;
		if (m->lib == lib)
			mod_drop(m);
	}
	while ((k = lib->kerns)) {
		lib->kerns = k->next;
		sim_handle_del(k);
		sim_free(k);
	}
	image_put(lib->img);
	sim_free(lib);
	LEAVE(CUDA_SUCCESS);
}

/* The library's module in a context. */
static CUresult lib_mod(struct lib *lib, struct ctx *c, struct mod **out)
{
	CUresult r;

	*out = lib_in(lib, c);
	if (*out)
		return CUDA_SUCCESS;
	r = mod_new(c, lib->img, NULL, out);
	if (r == CUDA_SUCCESS)
		(*out)->lib = lib;
	return r;
}

API(cuLibraryGetModule, (CUmodule * out, CUlibrary h))
{
	struct mod *m;
	CUresult r;

	ENTER();
	GET_CTX(c);
	if (!sim_handle_is(h, SIM_LIBRARY))
		LEAVE(CUDA_ERROR_INVALID_HANDLE);
	if (!out)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	r = lib_mod((struct lib *)h, c, &m);
	if (r == CUDA_SUCCESS)
		*out = (CUmodule)m;
	LEAVE(r);
}

API(cuLibraryGetKernel, (CUkernel * out, CUlibrary h, const char *name))
{
	ENTER();
	if (!sim_handle_is(h, SIM_LIBRARY))
		LEAVE(CUDA_ERROR_INVALID_HANDLE);
	if (!out || !name)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	for (struct kern *k = ((struct lib *)h)->kerns; k; k = k->next)
		if (!strcmp(k->name, name)) {
			*out = (CUkernel)k;
			LEAVE(CUDA_SUCCESS);
		}
	LEAVE(CUDA_ERROR_NOT_FOUND);
}

API(cuLibraryGetKernelCount, (unsigned *n, CUlibrary h))
{
	ENTER();
	if (!sim_handle_is(h, SIM_LIBRARY) || !n)
		LEAVE(n ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE);
	*n = 0;
	for (struct kern *k = ((struct lib *)h)->kerns; k; k = k->next)
		++*n;
	LEAVE(CUDA_SUCCESS);
}

API(cuLibraryEnumerateKernels, (CUkernel * out, unsigned n, CUlibrary h))
{
	struct kern *k;

	ENTER();
	if (!sim_handle_is(h, SIM_LIBRARY) || !out || !n)
		LEAVE(out && n ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE);
	k = ((struct lib *)h)->kerns;
	for (unsigned i = 0; i < n && k; i++, k = k->next)
		out[i] = (CUkernel)k;
	LEAVE(CUDA_SUCCESS);
}

static CUresult lib_global(CUdeviceptr *d, size_t *n, CUlibrary h, const char *name)
{
	struct mod *m;
	CUresult r;

	ENTER();
	GET_CTX(c);
	if (!sim_handle_is(h, SIM_LIBRARY))
		LEAVE(CUDA_ERROR_INVALID_HANDLE);
	r = lib_mod((struct lib *)h, c, &m);
	LEAVE(r == CUDA_SUCCESS ? global(m, name, d, n) : r);
}
ONE(cuLibraryGetGlobal, (CUdeviceptr * d, size_t *n, CUlibrary h, const char *name),
    lib_global(d, n, h, name))
ONE(cuLibraryGetManaged, (CUdeviceptr * d, size_t *n, CUlibrary h, const char *name),
    lib_global(d, n, h, name))

/* ---- functions ---- */

/* A function, or a kernel's function in context c. */
static CUresult as_func(const void *h, struct ctx *c, struct func **out)
{
	struct kern *k = (struct kern *)h;
	struct mod *m;
	CUresult r;

	if (sim_handle_is(h, SIM_FUNC)) {
		*out = (struct func *)h;
		return CUDA_SUCCESS;
	}
	if (!sim_handle_is(h, SIM_KERNEL))
		return CUDA_ERROR_INVALID_HANDLE;
	r = lib_mod(k->lib, c, &m);
	if (r != CUDA_SUCCESS)
		return r;
	*out = func_of(m, exec_function(m->em, k->name));
	if (!*out)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (k->max_dyn)
		(*out)->max_dyn = k->max_dyn;
	return CUDA_SUCCESS;
}

API(cuKernelGetFunction, (CUfunction * out, CUkernel h))
{
	struct func *f;
	CUresult r;

	ENTER();
	GET_CTX(c);
	if (!sim_handle_is(h, SIM_KERNEL))
		LEAVE(CUDA_ERROR_INVALID_HANDLE);
	if (!out)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	r = as_func(h, c, &f);
	if (r == CUDA_SUCCESS)
		*out = (CUfunction)f;
	LEAVE(r);
}

API(cuKernelGetLibrary, (CUlibrary * out, CUkernel h))
{
	ENTER();
	if (!sim_handle_is(h, SIM_KERNEL) || !out)
		LEAVE(out ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE);
	*out = (CUlibrary)((struct kern *)h)->lib;
	LEAVE(CUDA_SUCCESS);
}

API(cuKernelGetName, (const char **out, CUkernel h))
{
	ENTER();
	if (!out)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	if (sim_opt.driver < 12030)
		LEAVE(CUDA_ERROR_NOT_SUPPORTED);
	if (sim_handle_is(h, SIM_KERNEL))
		*out = ((struct kern *)h)->name;
	else if (sim_handle_is(h, SIM_FUNC))
		*out = exec_func_ptx(((struct func *)h)->ef)->name;
	else
		LEAVE(CUDA_ERROR_INVALID_HANDLE);
	LEAVE(CUDA_SUCCESS);
}

API(cuFuncGetName, (const char **out, CUfunction h))
{
	return cuKernelGetName(out, (CUkernel)h);
}

static CUresult param_info(const struct ptx_func *f, size_t i, size_t *off, size_t *size)
{
	if (sim_opt.driver < 12040)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (!off || i >= f->nparams)
		return CUDA_ERROR_INVALID_VALUE;
	*off = f->params[i]->offset;
	if (size)
		*size = f->params[i]->size;
	return CUDA_SUCCESS;
}

/* On a kernel handle the real one answers INVALID_HANDLE. */
API(cuFuncGetParamInfo, (CUfunction h, size_t i, size_t *off, size_t *size))
{
	ENTER_QUIET();
	if (!sim_handle_is(h, SIM_FUNC))
		LEAVE(CUDA_ERROR_INVALID_HANDLE);
	LEAVE(param_info(exec_func_ptx(((struct func *)h)->ef), i, off, size));
}

API(cuKernelGetParamInfo, (CUkernel h, size_t i, size_t *off, size_t *size))
{
	const struct kern *k = (const struct kern *)h;
	const struct ptx_func *f = NULL;

	ENTER_QUIET();
	if (!sim_handle_is(h, SIM_KERNEL))
		LEAVE(CUDA_ERROR_INVALID_HANDLE);
	for (unsigned n = 0; n < k->lib->img->n && !(f && f->body); n++)
		f = ptx_find_func(k->lib->img->pm[n], k->name);
	LEAVE(f ? param_info(f, i, off, size) : CUDA_ERROR_INVALID_HANDLE);
}

API(cuFuncGetModule, (CUmodule * out, CUfunction h))
{
	ENTER();
	if (!sim_handle_is(h, SIM_FUNC) || !out)
		LEAVE(out ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE);
	*out = (CUmodule)((struct func *)h)->mod;
	LEAVE(CUDA_SUCCESS);
}

static CUresult attr_get(int *v, int a, const void *h)
{
	struct exec_attr at;
	struct func *f;
	CUresult r;

	ENTER();
	GET_CTX(c);
	r = as_func(h, c, &f);
	if (r != CUDA_SUCCESS)
		LEAVE(r);
	if (!v)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	exec_func_attr(f->ef, &at);
	switch (a) {
	case 0:
		*v = (int)at.max_threads;
		break;
	case 1:
		*v = (int)at.shared_static;
		break;
	case 2:
		*v = (int)at.constant;
		break;
	case 3:
		*v = (int)at.local;
		break;
	case 4:
		*v = (int)at.regs;
		break;
	case 5:
		*v = (int)at.ptx_version;
		break;
	case 6:
		*v = (int)at.binary_version;
		break;
	case 7:
		*v = 0;
		break;
	case 8:
		*v = f->max_dyn;
		break;
	case 9:
		*v = f->carveout;
		break;
	case 10:
	case 11:
	case 12:
	case 13:
		*v = 0;
		break;
	case 14:
		*v = f->cluster_np;
		break;
	case 15:
		*v = 0;
		break;
	default:
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	}
	LEAVE(CUDA_SUCCESS);
}
ONE(cuFuncGetAttribute, (int *v, CUfunction_attribute a, CUfunction f), attr_get(v, a, f))
ONE(cuKernelGetAttribute, (int *v, CUfunction_attribute a, CUkernel k, CUdevice d),
    ((void)d, attr_get(v, a, k)))

static CUresult attr_set(int a, int v, const void *h)
{
	struct func *f = (struct func *)h;
	bool k;

	ENTER();
	k = sim_handle_is(h, SIM_KERNEL);
	if (!k && !sim_handle_is(h, SIM_FUNC))
		LEAVE(CUDA_ERROR_INVALID_HANDLE);
	if (a == 8 && (v < 0 || v > (int)DYN_MAX))
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	switch (a) {
	case 8:
		if (k)
			((struct kern *)h)->max_dyn = v;
		else
			f->max_dyn = v;
		break;
	case 9:
		if (!k)
			f->carveout = v;
		break;
	case 14:
		if (!k)
			f->cluster_np = v;
		break;
	case 11:
	case 12:
	case 13:
	case 15:
		break;
	default:
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	}
	LEAVE(CUDA_SUCCESS);
}
ONE(cuFuncSetAttribute, (CUfunction f, CUfunction_attribute a, int v), attr_set(a, v, f))
ONE(cuKernelSetAttribute, (CUfunction_attribute a, int v, CUkernel k, CUdevice d),
    ((void)d, attr_set(a, v, k)))

static CUresult func_nop(const void *h)
{
	ENTER();
	LEAVE(sim_handle_is(h, SIM_FUNC) || sim_handle_is(h, SIM_KERNEL)
		      ? CUDA_SUCCESS
		      : CUDA_ERROR_INVALID_HANDLE);
}
ONE(cuFuncSetCacheConfig, (CUfunction f, int v), ((void)v, func_nop(f)))
ONE(cuFuncSetSharedMemConfig, (CUfunction f, int v), ((void)v, func_nop(f)))
ONE(cuKernelSetCacheConfig, (CUkernel k, int v, CUdevice d), ((void)v, (void)d, func_nop(k)))
ONE(cuFuncLoad, (CUfunction f), func_nop(f))
API(cuFuncIsLoaded, (CUfunctionLoadingState * s, CUfunction f))
{
	CUresult r = s ? func_nop(f) : CUDA_ERROR_INVALID_VALUE;

	if (r == CUDA_SUCCESS)
		*s = 1;
	return r;
}

/* ---- occupancy ---- */

static int blocks_per_sm(const struct func *f, int block, size_t dyn)
{
	struct exec_attr at;
	size_t sh;
	int n;

	exec_func_attr(f->ef, &at);
	if (block <= 0 || block > (int)at.max_threads)
		return 0;
	n = 2048 / ((block + 31) & ~31);
	n = n > 32 ? 32 : n;
	sh = at.shared_static + dyn + 1024;
	return sh > 233472 ? 0 : (size_t)n > 233472 / sh ? (int)(233472 / sh) : n;
}

static CUresult occupancy(int *n, const void *h, int block, size_t dyn)
{
	struct func *f;
	CUresult r;

	ENTER();
	GET_CTX(c);
	r = as_func(h, c, &f);
	if (r != CUDA_SUCCESS)
		LEAVE(r);
	if (!n || block <= 0)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	*n = blocks_per_sm(f, block, dyn);
	LEAVE(CUDA_SUCCESS);
}
ONE(cuOccupancyMaxActiveBlocksPerMultiprocessor, (int *n, CUfunction f, int block, size_t dyn),
    occupancy(n, f, block, dyn))
ONE(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
    (int *n, CUfunction f, int block, size_t dyn, unsigned flags),
    flags > 1 ? CUDA_ERROR_INVALID_VALUE : occupancy(n, f, block, dyn))

static CUresult potential(int *grid, int *block, CUfunction h, CUoccupancyB2DSize fn, size_t dyn,
			  int limit)
{
	int best = 0, best_b = 0, n, b, max = 0;
	CUresult r;

	if (!grid || !block)
		return CUDA_ERROR_INVALID_VALUE;
	r = attr_get(&max, 0, h);
	if (r != CUDA_SUCCESS)
		return r;
	if (limit > 0 && limit < max)
		max = limit;
	for (b = max & ~31 ? max & ~31 : max; b > 0; b -= 32) {
		r = occupancy(&n, h, b, fn ? fn(b) : dyn);
		if (r != CUDA_SUCCESS)
			return r;
		if (n * b > best) {
			best = n * b;
			best_b = b;
			*grid = n * SIM_SMS;
		}
	}
	*block = best_b;
	return CUDA_SUCCESS;
}
ONE(cuOccupancyMaxPotentialBlockSize,
    (int *g, int *b, CUfunction f, CUoccupancyB2DSize fn, size_t dyn, int limit),
    potential(g, b, f, fn, dyn, limit))
ONE(cuOccupancyMaxPotentialBlockSizeWithFlags,
    (int *g, int *b, CUfunction f, CUoccupancyB2DSize fn, size_t dyn, int limit, unsigned flags),
    flags > 1 ? CUDA_ERROR_INVALID_VALUE : potential(g, b, f, fn, dyn, limit))

API(cuOccupancyAvailableDynamicSMemPerBlock, (size_t * out, CUfunction h, int blocks, int size))
{
	struct exec_attr at;
	struct func *f;
	CUresult r;

	ENTER();
	GET_CTX(c);
	r = as_func(h, c, &f);
	if (r != CUDA_SUCCESS)
		LEAVE(r);
	if (!out || blocks <= 0 || size <= 0)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	exec_func_attr(f->ef, &at);
	*out = 233472 / (size_t)blocks - 1024 - at.shared_static;
	LEAVE(CUDA_SUCCESS);
}

/* ---- launches ---- */

struct launch {
	struct func *f;
	struct mod *mod;
	struct exec_launch *el;
	struct exec_config cfg;
	uint64_t lo, hi, gen; /* bytes known to be accessible */
	bool wr, checked;
	uint64_t looks; /* at a clock */
	uint64_t threads;
	const void *given;   /* handle that the program launched: function or kernel */
	bool packed;	     /* parameters came as one buffer */
	void *packed_form[5]; /* and are told so */
	void **ptrs;	     /* told to those who ask a graph node; made when they do */
	char params[];
};

static bool may(void *user, uint64_t addr, size_t size, unsigned access)
{
	struct op *op = user;
	struct launch *l = op->data;
	bool write = access & EXEC_WRITE;
	struct alloc *a;

	if (l->gen == mem_generation && addr >= l->lo && addr + size <= l->hi && (!write || l->wr))
		return true;
	if (!mem_may(op->ctx, addr, size, write))
		return false;
	a = mem_find(addr);
	if (!a || addr + size > a->lo + a->size)
		return true;
	/* The program may have unmapped what it registered. */
	if (a->kind == MEM_REGISTERED) {
		uint64_t lo = a->lo & ~4095ull;

		if (msync((void *)lo, (a->lo + a->size - lo + 4095) & ~4095ull, MS_ASYNC) &&
		    errno == ENOMEM)
			return false;
	}
	l->lo = a->lo;
	l->hi = a->lo + a->size;
	l->wr = write;
	l->gen = mem_generation;
	return true;
}

static uint64_t virtual_time(struct op *op)
{
	struct launch *l = op->data;

	return op->vstart + sim_opt.op_ns + exec_instructions(l->el) / l->threads +
	       l->looks * CLOCK_NS;
}

static uint64_t look(void *user)
{
	struct op *op = user;

	((struct launch *)op->data)->looks++;
	return virtual_time(op);
}

static void print(void *user, const char *text, size_t len)
{
	(void)user;
	while (len) {
		ssize_t n = write(1, text, len);

		if (n <= 0)
			return;
		text += n;
		len -= (size_t)n;
	}
}

static void *heap_alloc(void *user, size_t size)
{
	struct op *op = user;
	struct alloc *a = mem_dev_alloc(op->ctx, op->ctx->dev, size ? size : 1, 0, MEM_GLOBAL);

	return a ? (void *)a->lo : NULL;
}

static void heap_free(void *user, void *p)
{
	var_free(user, p);
}

static void set_cond(void *user, uint64_t handle, uint32_t value)
{
	(void)user;
	sim_set_cond(handle, value);
}

static CUresult fault_code(enum exec_fault_kind k)
{
	switch (k) {
	case EXEC_FAULT_ADDRESS:
		return CUDA_ERROR_ILLEGAL_ADDRESS;
	case EXEC_FAULT_MISALIGNED:
		return MISALIGNED_ADDRESS;
	case EXEC_FAULT_ASSERT:
		return CUDA_ERROR_ASSERT;
	case EXEC_FAULT_NONE:
	case EXEC_FAULT_TRAP:
	case EXEC_FAULT_STACK:
	case EXEC_FAULT_PC:
	case EXEC_FAULT_DEADLOCK:
	case EXEC_FAULT_MEMORY:
		break;
	}
	return CUDA_ERROR_LAUNCH_FAILED;
}

static void say_fault(const struct op *op, const struct exec_fault *f)
{
	static const char *const what[] = {
		[EXEC_FAULT_NONE] = "failed",
		[EXEC_FAULT_ADDRESS] = "illegal address",
		[EXEC_FAULT_MISALIGNED] = "misaligned address",
		[EXEC_FAULT_TRAP] = "trap",
		[EXEC_FAULT_ASSERT] = "assertion",
		[EXEC_FAULT_STACK] = "stack overflow",
		[EXEC_FAULT_PC] = "jump to nowhere",
		[EXEC_FAULT_DEADLOCK] = "barrier that some threads never reach",
		[EXEC_FAULT_MEMORY] = "out of memory",
	};

	if (f->kind == EXEC_FAULT_ADDRESS || f->kind == EXEC_FAULT_MISALIGNED)
		sim_say("kernel %s: %s: %s of %zu bytes at 0x%llx, block (%u,%u,%u) thread "
			"(%u,%u,%u), line %u",
			op->name, what[f->kind], f->access & EXEC_WRITE ? "write" : "read", f->size,
			(unsigned long long)f->addr, f->ctaid[0], f->ctaid[1], f->ctaid[2],
			f->tid[0], f->tid[1], f->tid[2], f->line);
	else
		sim_say("kernel %s: %s, block (%u,%u,%u) thread (%u,%u,%u), line %u", op->name,
			what[f->kind], f->ctaid[0], f->ctaid[1], f->ctaid[2], f->tid[0], f->tid[1],
			f->tid[2], f->line);
}

static enum step kernel_step(struct op *op)
{
	struct launch *l = op->data;
	enum exec_state s = EXEC_RUNNING;

	if (!l->el) {
		struct exec_hooks h = {may, look, print, heap_alloc, heap_free, set_cond, op};
		char err[256] = "";

		l->cfg.params = l->params;
		l->cfg.seed = sim_opt.seed ? sim_opt.seed * 1000003u + op->seq : 0;
		l->cfg.grid_id = op->seq;
		l->el = exec_begin(l->f->ef, &l->cfg, &h, err, sizeof err);
		if (!l->el) {
			sim_say("kernel %s: %s", op->name, err);
			sim_ctx_fail(op->ctx, CUDA_ERROR_LAUNCH_FAILED);
			return STEP_DONE;
		}
	}
	for (unsigned done = 0; done < TURN && s == EXEC_RUNNING; done += SLICE) {
		s = exec_step(l->el, SLICE);
		if (s == EXEC_RUNNING)
			sim_offer();
	}
	if (s == EXEC_RUNNING)
		return STEP_AGAIN;
	if (s == EXEC_FAULT) {
		const struct exec_fault *f = exec_launch_fault(l->el);

		say_fault(op, f);
		sim_ctx_fail(op->ctx, fault_code(f->kind));
	}
	op->vend = virtual_time(op);
	exec_end(l->el);
	l->el = NULL;
	return STEP_DONE;
}

static void kernel_fini(struct op *op)
{
	struct launch *l = op->data;

	if (l->el)
		exec_end(l->el);
	l->el = NULL;
	if (l->mod)
		mod_put(l->mod);
	l->mod = NULL;
	sim_free(l->ptrs);
}

static void kernel_clone(struct op *op)
{
	struct launch *l = op->data;

	l->el = NULL;
	l->ptrs = NULL;
	l->mod->refs++;
}

/* dims: grid x, y, z, block x, y, z, dynamic shared bytes. */
static CUresult prepare(struct ctx *c, const void *fh, const unsigned dims[7], void **params,
			void **extra, bool coop, const unsigned cluster[3], struct op **out)
{
	const struct ptx_func *pf;
	struct exec_attr at;
	struct launch *l;
	struct func *f;
	struct op *op;
	uint64_t blocks, threads;
	CUresult r;
	const void *buf = NULL;
	size_t size = 0;

	r = as_func(fh, c, &f);
	if (r != CUDA_SUCCESS)
		return r;
	if (f->mod->ctx != c)
		return CUDA_ERROR_INVALID_HANDLE;
	exec_func_attr(f->ef, &at);
	pf = exec_func_ptx(f->ef);
	blocks = (uint64_t)dims[0] * dims[1] * dims[2];
	threads = (uint64_t)dims[3] * dims[4] * dims[5];
	if (!blocks || !threads || threads > at.max_threads || dims[3] > 1024 || dims[4] > 1024 ||
	    dims[5] > 64 || dims[0] > 2147483647u || dims[1] > 65535 || dims[2] > 65535 ||
	    dims[6] > (unsigned)f->max_dyn || dims[6] + at.shared_static > DYN_MAX)
		return CUDA_ERROR_INVALID_VALUE;
	if (coop && blocks > (uint64_t)blocks_per_sm(f, (int)threads, dims[6]) * SIM_SMS)
		return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
	if (params && extra)
		return CUDA_ERROR_INVALID_VALUE;
	if (extra)
		for (void **e = extra; *e != CU_LAUNCH_PARAM_END; e += 2) {
			if (e[0] == CU_LAUNCH_PARAM_BUFFER_POINTER)
				buf = e[1];
			else if (e[0] == CU_LAUNCH_PARAM_BUFFER_SIZE)
				size = *(size_t *)e[1];
			else
				return CUDA_ERROR_INVALID_VALUE;
		}
	if (pf->nparams && !params && (!buf || !size))
		return CUDA_ERROR_INVALID_VALUE;
	op = op_new(c, OP_KERNEL, pf->name, sizeof *l + pf->param_bytes + 8);
	if (!op)
		return CUDA_ERROR_OUT_OF_MEMORY;
	l = op->data;
	if (params) {
		for (uint32_t i = 0; i < pf->nparams; i++) {
			if (!params[i]) {
				op_put(op);
				return CUDA_ERROR_INVALID_VALUE;
			}
			memcpy(l->params + pf->params[i]->offset, params[i], pf->params[i]->size);
		}
	} else if (buf) {
		memcpy(l->params, buf, size < pf->param_bytes ? size : pf->param_bytes);
	}
	l->f = f;
	l->given = fh;
	l->packed = !params && buf;
	l->mod = f->mod;
	f->mod->refs++;
	l->threads = blocks * threads < 4096 ? blocks * threads : 4096;
	l->cfg = (struct exec_config){
		.grid = {dims[0], dims[1], dims[2]},
		.block = {dims[3], dims[4], dims[5]},
		.cluster = {cluster[0], cluster[1], cluster[2]},
		.shared = dims[6],
		.params_size = pf->param_bytes,
		.cooperative = coop,
		.sms = SIM_SMS,
	};
	op->step = kernel_step;
	op->fini = kernel_fini;
	op->clone = kernel_clone;
	/* What it may touch, for the adversary: where its parameters point, and the module's
	 * variables. */
	for (size_t i = 0; i + 8 <= pf->param_bytes; i += 8) {
		struct alloc *a;
		uint64_t w;

		memcpy(&w, l->params + i, 8);
		a = mem_find(w);
		if (a)
			op_range(op, w, a->lo + a->size - w, true);
	}
	for (unsigned i = 0; i < exec_globals(f->mod->em) && i < 32; i++) {
		uint64_t addr;
		const struct ptx_var *v = exec_global_at(f->mod->em, i, &addr);

		if (v && v->space == PTX_SPACE_GLOBAL && v->size)
			op_range(op, addr, v->size, true);
	}
	*out = op;
	return CUDA_SUCCESS;
}

CUresult sim_launch(bool pt, CUfunction f, const unsigned dims[7], CUstream s, void **params,
		    void **extra, const CUlaunchAttribute *attrs, unsigned nattrs, bool coop)
{
	unsigned cluster[3] = {0, 0, 0};
	struct ev *early[2] = {NULL, NULL};
	struct strm *st;
	struct op *op;
	CUresult r;

	ENTER();
	r = sim_get_stream(s, pt, &st);
	if (r != CUDA_SUCCESS)
		LEAVE(r);
	for (unsigned i = 0; i < nattrs; i++) {
		const CUlaunchAttributeValue *v = &attrs[i].value;

		switch ((int)attrs[i].id) {
		case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
			coop = v->cooperative != 0;
			break;
		case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
			cluster[0] = v->clusterDim.x;
			cluster[1] = v->clusterDim.y;
			cluster[2] = v->clusterDim.z;
			if (!cluster[0] || !cluster[1] || !cluster[2] || dims[0] % cluster[0] ||
			    dims[1] % cluster[1] || dims[2] % cluster[2] ||
			    cluster[0] * cluster[1] * cluster[2] > 16)
				LEAVE(CUDA_ERROR_INVALID_VALUE);
			break;
		case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
			early[0] = (struct ev *)v->programmaticEvent.event;
			break;
		case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
			early[1] = (struct ev *)v->launchCompletionEvent.event;
			break;
		default: /* hints, as far as order and values are concerned */
			break;
		}
	}
	for (int i = 0; i < 2; i++)
		if (early[i] && (!sim_handle_is(early[i], SIM_EVENT) || early[i]->ctx != st->ctx))
			LEAVE(CUDA_ERROR_INVALID_HANDLE);
	r = prepare(st->ctx, f, dims, params, extra, coop, cluster, &op);
	if (r != CUDA_SUCCESS)
		LEAVE(r);
	if (st->cap) {
		cap_kernel(op, st, attrs, nattrs);
		LEAVE(CUDA_SUCCESS);
	}
	/* Fires when the kernel has started at the latest: what precedes it is done, no more. */
	for (int i = 0; i < 2; i++)
		if (early[i]) {
			struct op *rec = op_new(st->ctx, OP_RECORD, "launch", 0);

			if (!rec)
				continue;
			rec->cost = 0;
			sim_event_record(early[i], rec);
			op_submit(rec, st);
		}
	op_submit(op, st);
	LEAVE(CUDA_SUCCESS);
}

/* ---- kernel nodes ---- */

static size_t packed_size(void **extra)
{
	size_t n = 0;

	for (void **e = extra; *e != CU_LAUNCH_PARAM_END; e += 2)
		if (e[0] == CU_LAUNCH_PARAM_BUFFER_SIZE)
			n = *(size_t *)e[1];
	return n;
}

CUresult kernel_node_op(const CUDA_KERNEL_NODE_PARAMS_v3 *p, struct op **out)
{
	static const unsigned none[3];
	const unsigned dims[7] = {p->gridDimX,	p->gridDimY,  p->gridDimZ,	 p->blockDimX,
				  p->blockDimY, p->blockDimZ, p->sharedMemBytes};
	const void *h = p->kern ? (const void *)p->kern : (const void *)p->func;
	struct ctx *c;
	CUresult r = sim_get_ctx(&c);

	/* Unlike with a launch, a kernel is no function here, and packed parameters are all. */
	if (p->func && !sim_handle_is(p->func, SIM_FUNC))
		return CUDA_ERROR_INVALID_HANDLE;
	if (sim_handle_is(h, SIM_FUNC))
		c = ((const struct func *)h)->mod->ctx;
	else if (p->ctx && !sim_handle_is(p->ctx, SIM_CTX))
		return CUDA_ERROR_INVALID_CONTEXT;
	else if (p->ctx)
		c = (struct ctx *)p->ctx;
	else if (r != CUDA_SUCCESS)
		return r;
	if (c->error)
		return c->error;
	r = prepare(c, h, dims, p->kernelParams, p->extra, false, none, out);
	if (r == CUDA_SUCCESS && ((struct launch *)(*out)->data)->packed &&
	    packed_size(p->extra) != ((struct launch *)(*out)->data)->cfg.params_size) {
		op_put(*out);
		r = CUDA_ERROR_INVALID_VALUE;
	}
	return r;
}

void kernel_node_params(const struct op *op, CUDA_KERNEL_NODE_PARAMS_v3 *p)
{
	struct launch *l = op->data;
	const struct ptx_func *pf = exec_func_ptx(l->f->ef);

	*p = (CUDA_KERNEL_NODE_PARAMS_v3){
		.func = (CUfunction)l->f,
		.kern = sim_handle_is(l->given, SIM_KERNEL) ? (CUkernel)l->given : NULL,
		.ctx = (CUcontext)op->ctx,
		.gridDimX = l->cfg.grid[0],
		.gridDimY = l->cfg.grid[1],
		.gridDimZ = l->cfg.grid[2],
		.blockDimX = l->cfg.block[0],
		.blockDimY = l->cfg.block[1],
		.blockDimZ = l->cfg.block[2],
		.sharedMemBytes = (unsigned)l->cfg.shared,
	};
	if (l->packed) {
		void *form[5] = {CU_LAUNCH_PARAM_BUFFER_POINTER, l->params,
				 CU_LAUNCH_PARAM_BUFFER_SIZE, &l->cfg.params_size,
				 CU_LAUNCH_PARAM_END};

		memcpy(l->packed_form, form, sizeof form);
		p->extra = l->packed_form;
		return;
	}
	if (!l->ptrs && pf->nparams) {
		l->ptrs = sim_alloc(pf->nparams * sizeof *l->ptrs);
		for (uint32_t i = 0; l->ptrs && i < pf->nparams; i++)
			l->ptrs[i] = l->params + pf->params[i]->offset;
	}
	p->kernelParams = l->ptrs;
}

/* Attributes that change what runs; false: the value is not possible. */
bool kernel_node_attr(struct op *op, int id, const CUlaunchAttributeValue *v)
{
	struct launch *l = op->data;
	const unsigned *g = l->cfg.grid;
	unsigned x, y, z;

	switch (id) {
	case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
		l->cfg.cooperative = v->cooperative != 0;
		return true;
	case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
		x = v->clusterDim.x;
		y = v->clusterDim.y;
		z = v->clusterDim.z;
		if (!x || !y || !z || g[0] % x || g[1] % y || g[2] % z || x * y * z > 16)
			return false;
		l->cfg.cluster[0] = x;
		l->cfg.cluster[1] = y;
		l->cfg.cluster[2] = z;
		return true;
	}
	return true;
}

void kernel_node_attr_get(const struct op *op, int id, CUlaunchAttributeValue *v)
{
	const struct launch *l = op->data;

	if (id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) {
		v->cooperative = l->cfg.cooperative;
	} else if (id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
		v->clusterDim.x = l->cfg.cluster[0];
		v->clusterDim.y = l->cfg.cluster[1];
		v->clusterDim.z = l->cfg.cluster[2];
	}
}

#define DIMS                                                                                       \
	{                                                                                          \
		gx, gy, gz, bx, by, bz, sh                                                         \
	}
static CUresult launch_kernel(bool pt, CUfunction f, unsigned gx, unsigned gy, unsigned gz,
			      unsigned bx, unsigned by, unsigned bz, unsigned sh, CUstream s,
			      void **params, void **extra, bool coop)
{
	const unsigned d[7] = DIMS;

	return sim_launch(pt, f, d, s, params, extra, NULL, 0, coop);
}
BOTH(cuLaunchKernel, _ptsz,
     (CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
      unsigned sh, CUstream s, void **params, void **extra),
     launch_kernel(pt, f, gx, gy, gz, bx, by, bz, sh, s, params, extra, false))
BOTH(cuLaunchCooperativeKernel, _ptsz,
     (CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
      unsigned sh, CUstream s, void **params),
     launch_kernel(pt, f, gx, gy, gz, bx, by, bz, sh, s, params, NULL, true))

static CUresult launch_ex(bool pt, const CUlaunchConfig *c, CUfunction f, void **params,
			  void **extra)
{
	if (!c || (c->numAttrs && !c->attrs))
		return CUDA_ERROR_INVALID_VALUE;
	const unsigned d[7] = {c->gridDimX,  c->gridDimY,  c->gridDimZ,	     c->blockDimX,
			       c->blockDimY, c->blockDimZ, c->sharedMemBytes};

	return sim_launch(pt, f, d, c->hStream, params, extra, c->attrs, c->numAttrs, false);
}
BOTH(cuLaunchKernelEx, _ptsz, (const CUlaunchConfig *c, CUfunction f, void **params, void **extra),
     launch_ex(pt, c, f, params, extra))

API(cuLaunchCooperativeKernelMultiDevice, (CUDA_LAUNCH_PARAMS * l, unsigned n, unsigned flags))
{
	static const unsigned none[3];
	struct op *op[SIM_MAX_DEVS], *tail[SIM_MAX_DEVS];
	struct strm *st[SIM_MAX_DEVS];
	CUresult r = CUDA_SUCCESS;
	unsigned i, k;

	ENTER();
	if (!l || !n || n > sim_opt.devices || flags & ~3u)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	for (i = 0; i < n; i++) {
		/* Named streams of distinct devices. */
		if (!sim_handle_is(l[i].hStream, SIM_STREAM))
			LEAVE(CUDA_ERROR_INVALID_HANDLE);
		st[i] = (struct strm *)l[i].hStream;
		if (st[i]->ctx->error)
			LEAVE(st[i]->ctx->error);
		for (k = 0; k < i; k++)
			if (st[k]->ctx->dev == st[i]->ctx->dev)
				LEAVE(CUDA_ERROR_INVALID_DEVICE);
	}
	for (i = 0; i < n; i++) {
		const unsigned d[7] = {l[i].gridDimX,	   l[i].gridDimY,  l[i].gridDimZ,
				       l[i].blockDimX,	   l[i].blockDimY, l[i].blockDimZ,
				       l[i].sharedMemBytes};

		r = prepare(st[i]->ctx, l[i].function, d, l[i].kernelParams, NULL, true, none,
			    &op[i]);
		if (r != CUDA_SUCCESS) {
			while (i--)
				op_put(op[i]);
			LEAVE(r);
		}
		tail[i] = sim_tail(st[i]);
	}
	for (i = 0; i < n; i++) {
		for (k = 0;
		     k < n && !(flags & CUDA_COOPERATIVE_LAUNCH_MULTI_DEVICE_NO_PRE_LAUNCH_SYNC);
		     k++)
			op_after(op[i], tail[k]);
		op_get(op[i]);
	}
	for (i = 0; i < n; i++)
		op_submit(op[i], st[i]);
	for (i = 0; i < n && !(flags & CUDA_COOPERATIVE_LAUNCH_MULTI_DEVICE_NO_POST_LAUNCH_SYNC);
	     i++) {
		struct op *m = op_new(st[i]->ctx, OP_MARK, "join", 0);

		if (!m)
			break;
		for (k = 0; k < n; k++)
			op_after(m, op[k]);
		op_submit(m, st[i]);
	}
	for (i = 0; i < n; i++)
		op_put(op[i]);
	LEAVE(CUDA_SUCCESS);
}

/* ---- launches of CUDA 2 ---- */

static CUresult old_func(CUfunction h, struct func **out)
{
	*out = (struct func *)h;
	return sim_handle_is(h, SIM_FUNC) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

API(cuFuncSetBlockShape, (CUfunction h, int x, int y, int z))
{
	struct func *f;

	ENTER();
	if (old_func(h, &f) || x <= 0 || y <= 0 || z <= 0)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	f->block[0] = x;
	f->block[1] = y;
	f->block[2] = z;
	LEAVE(CUDA_SUCCESS);
}

API(cuFuncSetSharedSize, (CUfunction h, unsigned n))
{
	struct func *f;

	ENTER();
	if (old_func(h, &f))
		LEAVE(CUDA_ERROR_INVALID_HANDLE);
	f->shared = n;
	LEAVE(CUDA_SUCCESS);
}

API(cuParamSetSize, (CUfunction h, unsigned n))
{
	struct func *f;

	ENTER();
	if (old_func(h, &f) || n > 4096)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	f->param_size = n;
	LEAVE(CUDA_SUCCESS);
}

static CUresult param_set(CUfunction h, int off, const void *p, unsigned n)
{
	struct func *f;

	ENTER();
	if (old_func(h, &f) || off < 0 || !p || n > 4096 || (unsigned)off > 4096 - n)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	if (!f->params && !(f->params = sim_alloc(4096)))
		LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
	memcpy(f->params + off, p, n);
	LEAVE(CUDA_SUCCESS);
}
ONE(cuParamSeti, (CUfunction f, int off, unsigned v), param_set(f, off, &v, 4))
ONE(cuParamSetf, (CUfunction f, int off, float v), param_set(f, off, &v, 4))
ONE(cuParamSetv, (CUfunction f, int off, void *p, unsigned n), param_set(f, off, p, n))

static CUresult old_launch(CUfunction h, int gx, int gy, CUstream s)
{
	struct func *f = (struct func *)h;
	char buf[4096] = {0};
	unsigned d[7];
	size_t n;

	ENTER();
	if (!sim_handle_is(h, SIM_FUNC))
		LEAVE(CUDA_ERROR_INVALID_HANDLE);
	if (gx <= 0 || gy <= 0)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	d[0] = (unsigned)gx;
	d[1] = (unsigned)gy;
	d[2] = 1;
	for (int i = 0; i < 3; i++)
		d[3 + i] = f->block[i] ? (unsigned)f->block[i] : 1;
	d[6] = f->shared;
	n = f->param_size;
	if (f->params)
		memcpy(buf, f->params, n);
	sim_leave();
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, buf, CU_LAUNCH_PARAM_BUFFER_SIZE, &n,
			 CU_LAUNCH_PARAM_END};

	return sim_launch(false, h, d, s, NULL, n ? extra : NULL, NULL, 0, false);
}
ONE(cuLaunch, (CUfunction f), old_launch(f, 1, 1, NULL))
ONE(cuLaunchGrid, (CUfunction f, int x, int y), old_launch(f, x, y, NULL))
ONE(cuLaunchGridAsync, (CUfunction f, int x, int y, CUstream s), old_launch(f, x, y, s))
