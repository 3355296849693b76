// SPDX-License-Identifier: Apache-2.0
//
// api.def against a toolkit's cuda.h, by the compiler's own idea of each
// function's type: number of arguments, the width of each, and the size of what
// IN_ and OUT_ pointers point to.  Compiled only where a toolkit is present;
// prints `ok NAME` and `not ok NAME`.
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <cudaProfiler.h>
#include <cstdio>
#include <cstring>
#include <type_traits>

#include "api.h"

static int bad, rows;

struct shape {
	unsigned count;
	unsigned size[16], pointee[16];
};

template <class T> constexpr unsigned complete_size(decltype(sizeof(T)) *)
{
	return sizeof(T);
}
template <class T> constexpr unsigned complete_size(...)
{
	return 0;
}
template <class T> constexpr unsigned pointee_size()
{
	using P = std::remove_cv_t<std::remove_pointer_t<T>>;
	if constexpr (!std::is_pointer_v<T> || std::is_void_v<P> || std::is_function_v<P>)
		return 0;
	else
		return complete_size<P>(nullptr);
}
template <class R, class... A> shape shape_of(R (*)(A...))
{
	return { sizeof...(A), { unsigned(sizeof(A))... }, { pointee_size<A>()... } };
}

struct arg {
	int role;
	unsigned width;
	const char *name;
};

static void fail(const char *symbol, const char *what, unsigned i, unsigned table, unsigned header)
{
	std::printf("not ok table: %s: %s %u: %u in the table, %u in cuda.h\n", symbol, what, i, table, header);
	bad = 1;
}

static void check(const char *symbol, shape s, unsigned argc, const arg *a)
{
	rows++;
	if (argc != s.count)
		return fail(symbol, "arguments", 0, argc, s.count);
	for (unsigned i = 0; i < argc; i++) {
		bool pointer = (a[i].role >= KRT_ROLE_OUT_ADDR && a[i].role != KRT_ROLE_BYVAL);

		if (s.size[i] != (pointer ? 8 : a[i].width))
			fail(symbol, "width of argument", i, pointer ? 8 : a[i].width, s.size[i]);
		switch (a[i].role) {
		case KRT_ROLE_IN_STRING: case KRT_ROLE_IN_DSTS: case KRT_ROLE_IN_SRCS: case KRT_ROLE_IN_SIZES:
		case KRT_ROLE_IN_ATTRS: case KRT_ROLE_IN_ATTR_IDX: case KRT_ROLE_IN_OPS3D: case KRT_ROLE_IN_MEMOPS:
		case KRT_ROLE_IN_HANDLES: case KRT_ROLE_IN_SEMS:
		case KRT_ROLE_IN_LAUNCH: case KRT_ROLE_IN_LAUNCH_LIST: case KRT_ROLE_PARAMS: case KRT_ROLE_EXTRA:
			break;
		default:
			if (pointer && s.pointee[i] && s.pointee[i] != a[i].width)
				fail(symbol, "bytes behind argument", i, a[i].width, s.pointee[i]);
		}
	}
}

int main()
{
#define A(r, w, n) { KRT_ROLE_##r, w, #n },
#define KRT_CALL(sym, base, cls, op, flags, argc, ...)                                      \
	{                                                                                   \
		static const arg a[] = { __VA_ARGS__ { 0, 0, "" } };                        \
		check(#sym, shape_of(decltype(&::sym)(nullptr)), argc, a);                  \
	}
#define KRT_PASS(sym, base) (void)sizeof(decltype(&::sym));
#define KRT_NOTE(sym, op, argc, ...)
#define KRT_LIBC(sym, op, argc, ...)
#include "api.def"
	if (!bad)
		std::printf("ok table: arguments of %d functions, their widths and what they point to\n", rows);
	static_assert(sizeof(CUstreamBatchMemOpParams) == 48 && sizeof(CUmemcpyAttributes) == 24 &&
		      sizeof(CUDA_MEMCPY3D_BATCH_OP) == 112 && sizeof(CUlaunchConfig) == 56 &&
		      sizeof(CUlaunchAttribute) == 72, "sizes that roles name");
	return bad;
}
