/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose code a frame is (report.h): the one table of patterns that call sites,
 * fingerprints and suppressions go by, and names and paths of frames as
 * reports show them.  Not locked: pure functions of a stack.
 */
#include "../analyzer/demangle.h"
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum held_against { BY_FUNCTION, BY_MODULE, BY_FILE };

/* A function of these is a library's only at the inner end of a stack, and not where its source is
 * the user's. */
#define INNER KRT_FRAME_INTERNAL

/*
 * `*` stands for any text.  Functions are without result, parameters and template arguments.
 * What only begins with a slash is the name of a file, of no folder on the way to it.
 */
static const struct pattern {
	uint8_t against; /* enum held_against */
	uint8_t kind;	 /* enum krt_frame_kind */
	const char *glob;
} pattern[] = {
	/* cudart, linked statically; 13.0's header; what nvcc puts before main */
	{BY_FUNCTION, INNER, "__cudart*"},
	{BY_FUNCTION, INNER, "libcudart_static_*"},
	{BY_FUNCTION, INNER, "cudart::*"},
	{BY_FUNCTION, INNER, "__cuda*"},
	{BY_FUNCTION, INNER, "__sti____cuda*"},
	{BY_FUNCTION, INNER, "__nv_*"},

	/* what calls main and a thread's function */
	{BY_FUNCTION, KRT_FRAME_START, "_start"},
	{BY_FUNCTION, KRT_FRAME_START, "__libc_start_main*"},
	{BY_FUNCTION, KRT_FRAME_START, "__libc_start_call_main"},
	{BY_FUNCTION, KRT_FRAME_START, "generic_start_main"},
	{BY_FUNCTION, KRT_FRAME_START, "start_thread"},
	{BY_FUNCTION, KRT_FRAME_START, "clone"},
	{BY_FUNCTION, KRT_FRAME_START, "clone3"},
	{BY_FUNCTION, KRT_FRAME_START, "__clone*"},
	{BY_FUNCTION, KRT_FRAME_START, "execute_native_thread_routine"},

	/* libraries of the system, of languages and of frameworks */
	{BY_MODULE, KRT_FRAME_LIBRARY, "/lib/*"},
	{BY_MODULE, KRT_FRAME_LIBRARY, "/lib64/*"},
	{BY_MODULE, KRT_FRAME_LIBRARY, "/usr/lib/*"},
	{BY_MODULE, KRT_FRAME_LIBRARY, "/usr/lib32/*"},
	{BY_MODULE, KRT_FRAME_LIBRARY, "/usr/lib64/*"},
	{BY_MODULE, KRT_FRAME_LIBRARY, "/usr/local/cuda*"},
	{BY_MODULE, KRT_FRAME_LIBRARY, "[*"}, /* [vdso] */
	{BY_MODULE, KRT_FRAME_LIBRARY, "linux-vdso*"},
	{BY_MODULE, KRT_FRAME_LIBRARY, "*/ld-linux*"},
	{BY_MODULE, KRT_FRAME_LIBRARY, "*/libc.so*"},
	{BY_MODULE, KRT_FRAME_LIBRARY, "*/libc-2.*"},
	{BY_MODULE, KRT_FRAME_LIBRARY, "*/libpthread*"},
	{BY_MODULE, KRT_FRAME_LIBRARY, "*/libstdc++.so*"},
	{BY_MODULE, KRT_FRAME_LIBRARY, "*/libc++.so*"},
	{BY_MODULE, KRT_FRAME_LIBRARY, "*/libc++abi.so*"},
	{BY_MODULE, KRT_FRAME_LIBRARY, "*/libgcc_s.so*"},
	{BY_MODULE, KRT_FRAME_LIBRARY, "*/libgomp*.so*"},
	{BY_MODULE, KRT_FRAME_LIBRARY, "*/libiomp5*"},
	{BY_MODULE, KRT_FRAME_LIBRARY, "*/libpython*"},
	{BY_MODULE, KRT_FRAME_LIBRARY, "*/python"},
	{BY_MODULE, KRT_FRAME_LIBRARY, "*/python2*"},
	{BY_MODULE, KRT_FRAME_LIBRARY, "*/python3*"},
	{BY_MODULE, KRT_FRAME_LIBRARY, "*/lib/python*/lib-dynload/*"},
	{BY_MODULE, KRT_FRAME_LIBRARY, "*/lib64/python*/lib-dynload/*"},
	{BY_MODULE, KRT_FRAME_LIBRARY, "*/libtorch*.so*"},
	{BY_MODULE, KRT_FRAME_LIBRARY, "*/libc10*.so*"},
	{BY_MODULE, KRT_FRAME_LIBRARY, "*/libnccl*.so*"},
	{BY_MODULE, KRT_FRAME_LIBRARY, "*/libnvToolsExt*"},
	{BY_MODULE, KRT_FRAME_LIBRARY, "*/site-packages/*"},
	{BY_MODULE, KRT_FRAME_LIBRARY, "*/dist-packages/*"},

	/* Python's own, and installed packages */
	{BY_FILE, KRT_FRAME_LIBRARY, "*/site-packages/*"},
	{BY_FILE, KRT_FRAME_LIBRARY, "*/dist-packages/*"},
	{BY_FILE, KRT_FRAME_LIBRARY, "*/lib/python3*"},
	{BY_FILE, KRT_FRAME_LIBRARY, "*/lib64/python3*"},
	{BY_FILE, KRT_FRAME_LIBRARY, "*/pytorch/torch/*"},
	{BY_FILE, KRT_FRAME_LIBRARY, "*/torchinductor_*/*"}, /* what it compiled */
	{BY_FILE, KRT_FRAME_LIBRARY, "<frozen *"},
	{BY_FILE, KRT_FRAME_LIBRARY, "<eval_with_key>*"}, /* of torch.fx */
	{BY_FILE, KRT_FRAME_LIBRARY, "<__array_function__ *"},

	/* headers whose code is compiled into the user's */
	{BY_FILE, KRT_FRAME_LIBRARY, "/usr/include/*"},
	{BY_FILE, KRT_FRAME_LIBRARY, "/usr/local/include/*"},
	{BY_FILE, KRT_FRAME_LIBRARY, "/usr/lib/*"},
	{BY_FILE, KRT_FRAME_LIBRARY, "/usr/local/cuda*"},
	{BY_FILE, KRT_FRAME_LIBRARY, "/opt/cuda/*"},
	{BY_FILE, KRT_FRAME_LIBRARY, "*/targets/*-linux/include/*"},
	{BY_FILE, KRT_FRAME_LIBRARY, "*/include/c++/*"},
	{BY_FILE, KRT_FRAME_LIBRARY, "*/lib/gcc/*"},
	{BY_FILE, KRT_FRAME_LIBRARY, "*/include/thrust/*"},
	{BY_FILE, KRT_FRAME_LIBRARY, "*/include/cub/*"},
	{BY_FILE, KRT_FRAME_LIBRARY, "*/include/cuda/*"},
	{BY_FILE, KRT_FRAME_LIBRARY, "*/nvtx3/*"},
	{BY_FILE, KRT_FRAME_LIBRARY, "*/thrust/thrust/*"},
	{BY_FILE, KRT_FRAME_LIBRARY, "*/cub/cub/*"},
	{BY_FILE, KRT_FRAME_LIBRARY, "*/libcudacxx/include/*"},
	{BY_FILE, KRT_FRAME_LIBRARY, "*/include/torch/*"},
	{BY_FILE, KRT_FRAME_LIBRARY, "*/include/ATen/*"},
	{BY_FILE, KRT_FRAME_LIBRARY, "*/include/c10/*"},
	{BY_FILE, KRT_FRAME_LIBRARY, "*/include/pybind11/*"},

	/* the same without line tables */
	{BY_FUNCTION, KRT_FRAME_LIBRARY, "std::*"},
	{BY_FUNCTION, KRT_FRAME_LIBRARY, "__gnu_cxx::*"},
	{BY_FUNCTION, KRT_FRAME_LIBRARY, "thrust::*"},
	{BY_FUNCTION, KRT_FRAME_LIBRARY, "cub::*"},
	{BY_FUNCTION, KRT_FRAME_LIBRARY, "cuda::std::*"},
	{BY_FUNCTION, KRT_FRAME_LIBRARY, "at::*"},
	{BY_FUNCTION, KRT_FRAME_LIBRARY, "c10::*"},
	{BY_FUNCTION, KRT_FRAME_LIBRARY, "pybind11::*"},
};

bool krt_glob(const char *glob, const char *s)
{
	const char *star = NULL, *again = NULL;

	while (*s)
		if (*glob == '*') {
			star = ++glob;
			again = s;
		} else if (*glob == *s) {
			glob++;
			s++;
		} else if (star) {
			glob = star;
			s = ++again;
		} else {
			return false;
		}
	while (*glob == '*')
		glob++;
	return !*glob;
}

static bool fits(const char *glob, const char *s)
{
	bool name = !strncmp(glob, "*/", 2) && !strchr(glob + 2, '/');

	return name ? krt_glob(glob + 2, krt_base_name(s)) : krt_glob(glob, s);
}

static bool any(enum held_against against, enum krt_frame_kind kind, const char *s)
{
	for (size_t i = 0; s && i < sizeof(pattern) / sizeof(*pattern); i++)
		if (pattern[i].against == against && pattern[i].kind == kind &&
		    fits(pattern[i].glob, s))
			return true;
	return false;
}

void krt_frame_function(const struct krt_frame *f, char out[KRT_SHORT_NAME])
{
	if (f->python)
		snprintf(out, KRT_SHORT_NAME, "%s", f->function ? f->function : "");
	else
		krt_readable_plain(f->function ? f->function : "", out);
}

void krt_frame_short(const struct krt_frame *f, char out[KRT_SHORT_NAME])
{
	if (f->python)
		krt_frame_function(f, out);
	else
		krt_readable_short(f->function ? f->function : "", out);
}

const char *krt_frame_kind_text(enum krt_frame_kind k)
{
	static const char *const text[] = {
		[KRT_FRAME_USER] = "user",
		[KRT_FRAME_LIBRARY] = "library",
		[KRT_FRAME_START] = "start",
		[KRT_FRAME_INTERNAL] = "internal",
	};

	return text[k];
}

enum krt_frame_kind krt_frame_kind(const struct krt_frame *f)
{
	char function[KRT_SHORT_NAME];

	if (f->internal)
		return KRT_FRAME_INTERNAL;
	krt_frame_function(f, function);
	if (!f->python && any(BY_FUNCTION, KRT_FRAME_START, function))
		return KRT_FRAME_START;
	if (any(BY_MODULE, KRT_FRAME_LIBRARY, f->python ? NULL : f->module) ||
	    any(BY_FILE, KRT_FRAME_LIBRARY, f->file) ||
	    (!f->python && any(BY_FUNCTION, KRT_FRAME_LIBRARY, function)))
		return KRT_FRAME_LIBRARY;
	return KRT_FRAME_USER;
}

const struct krt_frame *krt_stack_site(const struct krt_stack *s)
{
	const struct krt_frame *library = NULL;

	for (unsigned i = 0; i < s->depth; i++) {
		enum krt_frame_kind kind = krt_frame_kind(&s->frame[i]);

		if (kind == KRT_FRAME_USER)
			return &s->frame[i];
		if (kind == KRT_FRAME_LIBRARY && !library)
			library = &s->frame[i];
	}
	return library;
}

/* Number n of a stack's frames of a kind, from the inner end; NULL: there are fewer. */
static const struct krt_frame *nth(const struct krt_stack *s, enum krt_frame_kind kind, unsigned n)
{
	for (unsigned i = 0; i < s->depth; i++)
		if (krt_frame_kind(&s->frame[i]) == kind && !n--)
			return &s->frame[i];
	return NULL;
}

static bool same_text(const char *a, const char *b)
{
	return !strcmp(a ? a : "", b ? b : "");
}

static bool same_address(const struct krt_frame *a, const struct krt_frame *b)
{
	return a->pc == b->pc && a->offset == b->offset && same_text(a->module, b->module);
}

/* One place in the source; where lines are not known, one instruction. */
static bool same_place(const struct krt_frame *a, const struct krt_frame *b)
{
	if (!same_text(a->function, b->function) || !same_text(a->file, b->file) ||
	    a->line != b->line)
		return false;
	return (a->file && a->line) || same_address(a, b);
}

/* Inlined into the function of the next frame: both have one address. */
static bool inlined(const struct krt_stack *s, const struct krt_frame *f)
{
	return f + 1 < s->frame + s->depth && !f->python && f[1].pc == f->pc;
}

/*
 * The call in the function that the other operation is in itself; site: there is none.  Of
 * main, a script's <module>: all is called in it, and it tells less than the site.
 */
static const struct krt_frame *called_in(const struct krt_stack *s, const struct krt_frame *site,
					 const struct krt_frame *other)
{
	const struct krt_frame *call = NULL;

	for (const struct krt_frame *f = site; other->function && f < s->frame + s->depth; f++)
		if (krt_frame_kind(f) != krt_frame_kind(site))
			continue;
		else if (call)
			return call;
		else if (same_text(f->function, other->function) && same_text(f->file, other->file))
			call = f;
	return site;
}

void krt_finding_sites(const struct krt_finding *f, const struct krt_frame **current,
		       const struct krt_frame **previous)
{
	const struct krt_stack *cur = &f->current.stack, *prev = &f->previous.stack;
	const struct krt_frame *a = krt_stack_site(cur), *b = krt_stack_site(prev);
	enum krt_frame_kind kind = a ? krt_frame_kind(a) : KRT_FRAME_USER;

	*current = a;
	*previous = b;
	if (!a || !b)
		return;
	if (!same_place(a, b)) {
		*current = called_in(cur, a, b);
		*previous = called_in(prev, b, a);
		return;
	}
	for (unsigned pass = 0; pass < 2; pass++) /* by lines, then two calls in one line */
		for (unsigned i = 0; (a = nth(cur, kind, i)) && (b = nth(prev, kind, i)); i++) {
			if (pass ? same_address(a, b) || inlined(cur, a) || inlined(prev, b)
				 : same_place(a, b))
				continue;
			*current = a;
			*previous = b;
			return;
		}
}

const char *krt_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* A function of krtsan.h, compiled into the program. */
static bool annotation(const struct krt_frame *f)
{
	return f->function && !strncmp(f->function, "krtsan_", 7) &&
	       (!f->file || !strcmp(krt_base_name(f->file), "krtsan.h"));
}

/* cudaMalloc; cudaError cudaLaunchKernel<char>(...) of the C++ header; not what the user called so.
 */
static bool runtime(const struct krt_frame *f, const char *function)
{
	if (f->file && !any(BY_FILE, KRT_FRAME_LIBRARY, f->file))
		return false;
	return any(BY_FUNCTION, INNER, function) ||
	       (!strncmp(function, "cuda", 4) && function[4] >= 'A' && function[4] <= 'Z');
}

void krt_stack_fold(struct krt_stack *st)
{
	static const char stub[] = "__device_stub_";
	char kernel[KRT_SHORT_NAME] = "";

	for (unsigned i = 0; i < st->depth; i++) {
		struct krt_frame *f = &st->frame[i];
		char name[KRT_SHORT_NAME];

		krt_frame_function(f, name);
		if (f->python)
			return;
		if (!strncmp(name, stub, sizeof(stub) - 1)) {
			char mangled[1024], *text;
			const char *from = f->function + sizeof(stub) - 1;

			snprintf(mangled, sizeof(mangled), "%.*s", (int)strcspn(from, "("), from);
			text = krt_demangle(mangled);
			krt_readable_plain(text ? text : mangled, kernel);
			free(text);
		} else if (!f->internal && !annotation(f) && !runtime(f, name) &&
			   !(kernel[0] && !strcmp(name, kernel))) {
			return;
		}
		f->internal = true;
	}
}

const char *krt_source_path(const char *file, const char *root)
{
	size_t n = root ? strlen(root) : 0;

	while (n && root[n - 1] == '/')
		n--;
	return n && !strncmp(file, root, n) && file[n] == '/' && file[n + 1] ? file + n + 1 : file;
}
