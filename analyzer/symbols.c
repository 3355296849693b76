/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names for stack frames (symbols.h), with elfutils linked statically.
 *
 * Frames hold return addresses: the call is at the byte before.  One Dwfl a
 * file, opened on first use, because files of several processes (and of
 * objects unloaded since) may overlap in memory.
 *
 * Not locked: one thread symbolises.
 */
#define _GNU_SOURCE
#include "symbols.h"
#include "demangle.h"
#include "../interposer/record.h"
#include "../reports/report.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define INLINE_MAX 16

struct module {
	unsigned process;
	uint64_t base, end, bias;
	uint8_t role;
	struct file *file;
};

struct file {
	struct file *next;
	char *path;
	uint8_t build_id[20], build_id_len;
	bool tried;
	const char *why; /* it is not used; NULL: it is, or not yet */
	Dwfl *dwfl;
	Dwfl_Module *mod;
};

struct krt_symbols {
	struct module *module; /* newest last */
	size_t nmodules;
	struct file *files;
	char *debug_path; /* as libdwfl has it; points into itself from callbacks */
	Dwfl_Callbacks callbacks;
};

#define SYSTEM_DEBUG "/usr/lib/debug"

/*
 * libdwfl asks a debuginfod server through these, and loads its client when the
 * program starts.  Here they are the whole client: there is no network.
 */
#pragma GCC visibility push(hidden)
int __libdwfl_debuginfod_find_executable(Dwfl *dwfl, const unsigned char *id, size_t len);
int __libdwfl_debuginfod_find_debuginfo(Dwfl *dwfl, const unsigned char *id, size_t len);
void __libdwfl_debuginfod_end(void *client);
#pragma GCC visibility pop

int __libdwfl_debuginfod_find_executable(Dwfl *dwfl, const unsigned char *id, size_t len)
{
	(void)dwfl;
	(void)id;
	(void)len;
	return -1;
}

int __libdwfl_debuginfod_find_debuginfo(Dwfl *dwfl, const unsigned char *id, size_t len)
{
	(void)dwfl;
	(void)id;
	(void)len;
	return -1;
}

void __libdwfl_debuginfod_end(void *client)
{
	(void)client;
}

static int no_elf(Dwfl_Module *mod, void **user, const char *name, Dwarf_Addr base, char **file,
		  Elf **elf)
{
	(void)mod;
	(void)user;
	(void)name;
	(void)base;
	(void)file;
	(void)elf;
	return -1;
}

struct krt_symbols *krt_symbols_new(const char *debug_path)
{
	struct krt_symbols *s = calloc(1, sizeof(*s));

	if (!s || asprintf(&s->debug_path, "+:.debug:%s%s%s", SYSTEM_DEBUG, *debug_path ? ":" : "",
			   debug_path) < 0) {
		free(s);
		return NULL;
	}
	s->callbacks = (Dwfl_Callbacks){
		.find_elf = no_elf,
		.find_debuginfo = dwfl_standard_find_debuginfo,
		.section_address = dwfl_offline_section_address,
		.debuginfo_path = &s->debug_path,
	};
	return s;
}

static void file_close(struct file *f)
{
	if (f->dwfl)
		dwfl_end(f->dwfl);
	f->dwfl = NULL;
	f->mod = NULL;
}

void krt_symbols_destroy(struct krt_symbols *s)
{
	if (!s)
		return;
	while (s->files) {
		struct file *f = s->files;

		s->files = f->next;
		file_close(f);
		free(f->path);
		free(f);
	}
	free(s->module);
	free(s->debug_path);
	free(s);
}

static struct file *file_get(struct krt_symbols *s, const char *path, size_t n, const uint8_t *id,
			     uint8_t idlen)
{
	struct file *f;

	for (f = s->files; f; f = f->next)
		if (!strncmp(f->path, path, n) && !f->path[n] && f->build_id_len == idlen &&
		    !memcmp(f->build_id, id, idlen))
			return f;
	f = calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	f->path = strndup(path, n);
	if (!f->path) {
		free(f);
		return NULL;
	}
	memcpy(f->build_id, id, idlen);
	f->build_id_len = idlen;
	f->next = s->files;
	s->files = f;
	return f;
}

int krt_symbols_module(struct krt_symbols *s, unsigned process, const struct krt_rec_module *m,
		       size_t len)
{
	struct module *list;
	struct file *f;

	if (len < sizeof(*m) || len - offsetof(struct krt_rec_module, path) < m->path_len ||
	    m->build_id_len > sizeof(m->build_id) || m->base >= m->end)
		return -1;
	f = file_get(s, m->path, strnlen(m->path, m->path_len), m->build_id, m->build_id_len);
	if (!f)
		return -1;
	if (!(s->nmodules & (s->nmodules - 1))) {
		list = realloc(s->module, (s->nmodules ? 2 * s->nmodules : 1) * sizeof(*list));
		if (!list)
			return -1;
		s->module = list;
	}
	s->module[s->nmodules++] = (struct module){
		.process = process,
		.base = m->base,
		.end = m->end,
		.bias = m->bias,
		.role = m->role,
		.file = f,
	};
	return 0;
}

static int open_as(struct krt_symbols *s, struct file *f, const char *path)
{
	const unsigned char *id;
	GElf_Addr addr;
	struct stat st;
	int fd, n;

	/* Devices and pipes are no objects, and opening one may block or act. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0) {
		f->why = errno == ENOENT ? "is not there any more" : "cannot be opened";
		return -1;
	}
	f->why = "cannot be read as an object";
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
		return -1;
	}
	f->dwfl = dwfl_begin(&s->callbacks);
	if (!f->dwfl) {
		close(fd);
		return -1;
	}
	f->mod = dwfl_report_offline(f->dwfl, path, path, fd); /* takes fd when it succeeds */
	if (!f->mod)
		close(fd);
	dwfl_report_end(f->dwfl, NULL, NULL);
	if (f->mod && f->build_id_len) {
		n = dwfl_module_build_id(f->mod, &id, &addr);
		if (n != f->build_id_len || memcmp(id, f->build_id, (size_t)n)) {
			f->why = "is not the file that ran (another build-id)";
			f->mod = NULL;
		}
	}
	if (!f->mod) {
		file_close(f);
		return -1;
	}
	f->why = NULL;
	return 0;
}

/* Its debug file alone: .build-id/12/3456.debug in one of the folders. */
static int open_debug(struct krt_symbols *s, struct file *f)
{
	const char *why = f->why;
	char name[2 * sizeof(f->build_id) + 32], path[4096];
	size_t n = 0, len;

	if (f->build_id_len < 2)
		return -1;
	n += (size_t)sprintf(name, ".build-id/%02x/", f->build_id[0]);
	for (unsigned i = 1; i < f->build_id_len; i++)
		n += (size_t)sprintf(name + n, "%02x", f->build_id[i]);
	for (const char *dir = s->debug_path; *dir; dir += len + (dir[len] == ':')) {
		len = strcspn(dir, ":");
		if (*dir != '/')
			continue;
		if (len < sizeof(path) &&
		    (size_t)snprintf(path, sizeof(path), "%.*s/%s.debug", (int)len, dir, name) <
			    sizeof(path) &&
		    !open_as(s, f, path))
			return 0;
	}
	f->why = why; /* why its own could not be */
	return -1;
}

static Dwfl_Module *file_open(struct krt_symbols *s, struct file *f)
{
	if (f->tried)
		return f->mod;
	f->tried = true;
	/* Deleted or replaced: its debug file may still be there. */
	if (f->path[0] == '/' && open_as(s, f, f->path))
		open_debug(s, f);
	return f->mod;
}

const char *krt_symbols_missing(const struct krt_symbols *s, const char *path, const char **why)
{
	bool found = !path;

	for (const struct file *f = s->files; f; f = f->next) {
		if (found && f->why) {
			*why = f->why;
			return f->path;
		}
		found |= f->path == path;
	}
	return NULL;
}

/* A readable function name in the arena. */
static const char *readable(struct krt_arena *a, const char *name)
{
	char *text, *out;

	if (!name || !*name)
		return NULL;
	text = krt_demangle(name);
	out = krt_arena_strdup(a, text ? text : name);
	free(text);
	return out;
}

/* Paths of line tables are relative to the compilation's folder, and full of "..". */
static const char *source(struct krt_arena *a, const char *dir, const char *name)
{
	char *path, *to, *from;

	if (!name)
		return NULL;
	path = name[0] != '/' && dir && *dir ? krt_arena_printf(a, "%s/%s", dir, name)
					     : krt_arena_strdup(a, name);
	if (!path)
		return NULL;
	for (from = to = path; *from;) {
		size_t n = strcspn(from, "/");

		if (!n && from != path) {
			from++; /* double slash */
			continue;
		}
		if (n == 1 && from[0] == '.' && from[1] == '/') {
			from += 2;
			continue;
		}
		if (n == 2 && !memcmp(from, "..", 2) && from[2] == '/' && to > path + 1) {
			char *up = to - 1; /* at the slash */

			while (up > path && up[-1] != '/')
				up--;
			if (strncmp(up, "../", 3)) {
				to = up;
				from += 3;
				continue;
			}
		}
		n += from[n] == '/';
		memmove(to, from, n);
		to += n;
		from += n;
	}
	*to = 0;
	return path;
}

static const char *function_name(struct krt_arena *a, Dwarf_Die *die)
{
	static const unsigned linkage[] = { DW_AT_linkage_name, DW_AT_MIPS_linkage_name };
	Dwarf_Attribute attr;

	for (unsigned i = 0; i < 2; i++)
		if (dwarf_attr_integrate(die, linkage[i], &attr)) {
			const char *n = dwarf_formstring(&attr);

			if (n)
				return readable(a, n);
		}
	return readable(a, dwarf_diename(die));
}

#define NESTED_MAX 64

/* Can code be described in it, though it has none of its own? */
static bool holds_functions(Dwarf_Die *die)
{
	switch (dwarf_tag(die)) {
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
		return true;
	default:
		return false;
	}
}

/*
 * The concrete scopes around pc below die, outermost first; returns how many.  By the tree of
 * the code's own unit, not by dwarf_getscopes: that stops where what is inlined was described
 * in another unit, as with link-time optimisation.
 */
static unsigned scopes_at(Dwarf_Die *die, Dwarf_Addr pc, Dwarf_Die *out, unsigned room)
{
	Dwarf_Die child;
	unsigned n;

	if (!room || dwarf_child(die, &child))
		return 0;
	do {
		out[0] = child;
		if (dwarf_haspc(&child, pc) > 0)
			return 1 + scopes_at(&child, pc, out + 1, room - 1);
		n = holds_functions(&child) ? scopes_at(&child, pc, out, room) : 0;
		if (n)
			return n;
	} while (!dwarf_siblingof(&child, &child));
	return 0;
}

/*
 * The frames of one address, innermost first: inlined calls, then the function.
 * Returns how many were filled, at least 1.
 */
static unsigned resolve(struct krt_symbols *s, struct file *f, uint64_t offset,
			struct krt_frame *out, struct krt_arena *a)
{
	Dwfl_Module *mod = file_open(s, f);
	GElf_Addr bias = 0;
	GElf_Off rest;
	GElf_Sym sym;
	Dwarf_Addr addr, dwbias;
	Dwfl_Line *l;
	Dwarf_Die *cu, chain[NESTED_MAX];
	const char *name, *dir = NULL;
	unsigned n = 1, depth;
	int lineno = 0;

	if (!mod)
		return 1;
	if (!dwfl_module_getelf(mod, &bias))
		bias = 0;
	addr = offset - 1 + bias;
	name = dwfl_module_addrinfo(mod, addr, &rest, &sym, NULL, NULL, NULL);
	out[0].function = readable(a, name);
	/* The nearest unit below is found for code without debug information as well. */
	cu = dwfl_module_addrdie(mod, addr, &dwbias);
	if (!cu || dwarf_haspc(cu, addr - dwbias) <= 0)
		return 1;
	l = dwfl_module_getsrc(mod, addr);
	if (l) {
		const char *file = dwfl_lineinfo(l, NULL, &lineno, NULL, NULL, NULL);

		dir = dwfl_line_comp_dir(l);
		out[0].file = source(a, dir, file);
		out[0].line = lineno > 0 ? (unsigned)lineno : 0;
	}
	depth = scopes_at(cu, addr - dwbias, chain, NESTED_MAX);
	for (unsigned i = depth; i-- > 0 && n < INLINE_MAX;) {
		int tag = dwarf_tag(&chain[i]);
		Dwarf_Attribute attr;
		Dwarf_Files *files;
		Dwarf_Word v;
		size_t nfiles;

		if (tag == DW_TAG_subprogram) {
			const char *fn = function_name(a, &chain[i]);

			if (fn)
				out[n - 1].function = fn;
			break;
		}
		if (tag != DW_TAG_inlined_subroutine)
			continue;
		/* What is inlined here lies at the present place; its caller becomes the next
		 * frame. */
		out[n] = out[n - 1];
		out[n - 1].function = function_name(a, &chain[i]);
		out[n].file = NULL;
		out[n].line = 0;
		if (dwarf_attr(&chain[i], DW_AT_call_line, &attr) && !dwarf_formudata(&attr, &v))
			out[n].line = (unsigned)v;
		if (dwarf_attr(&chain[i], DW_AT_call_file, &attr) && !dwarf_formudata(&attr, &v) &&
		    !dwarf_getsrcfiles(cu, &files, &nfiles) && v < nfiles)
			out[n].file = source(a, dir, dwarf_filesrc(files, v, NULL, NULL));
		n++;
	}
	return n;
}

static const struct module *find(const struct krt_symbols *s, unsigned process,
				 const struct krt_frame *f)
{
	for (size_t i = s->nmodules; i-- > 0;) {
		const struct module *m = &s->module[i];

		if (m->process != process)
			continue;
		/* The engine named the module while it was loaded; the range alone may mean a later
		 * one. */
		if (f->module ? !strcmp(m->file->path, f->module) && f->pc - f->offset == m->bias
			      : f->pc >= m->base && f->pc < m->end)
			return m;
	}
	return NULL;
}

void krt_symbols_stack(struct krt_symbols *s, unsigned process, struct krt_stack *st,
		       struct krt_arena *a)
{
	struct krt_frame *out, got[INLINE_MAX];
	unsigned n = 0, room = st->depth;

	if (!st->depth)
		return;
	out = krt_arena_alloc(a, room * sizeof(*out));
	if (!out)
		return;
	for (unsigned i = 0; i < st->depth; i++) {
		struct krt_frame *f = &st->frame[i];
		const struct module *m = find(s, process, f);
		unsigned k = 1;

		if (m && !f->module) {
			f->module = krt_arena_strdup(a, m->file->path);
			f->offset = f->pc - m->bias;
			f->internal = m->role == KRT_MODULE_KRTSAN ||
				      m->role == KRT_MODULE_DRIVER || m->role == KRT_MODULE_CUDA;
		}
		for (unsigned j = 0; j < INLINE_MAX; j++)
			got[j] = *f;
		if (m && !f->function)
			k = resolve(s, m->file, f->offset, got, a);
		if (n + k > room) {
			struct krt_frame *more = krt_arena_alloc(a, (2 * room + k) * sizeof(*more));

			if (!more)
				break;
			memcpy(more, out, n * sizeof(*out));
			out = more;
			room = 2 * room + k;
		}
		memcpy(out + n, got, k * sizeof(*out));
		n += k;
	}
	st->frame = out;
	st->depth = n;
	krt_stack_fold(st);
}
