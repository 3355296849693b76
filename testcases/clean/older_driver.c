/* SPDX-License-Identifier: Apache-2.0 */
/*
 * On a driver that tells no parameters of kernels: modules that are loaded and
 * unloaded again and again, with kernels of one name and other parameters each
 * time; a kernel of a library and its function; a module that has no such kernel;
 * parameters given as a buffer.  Only what a kernel has is read: each argument
 * ends where memory that can be read does.
 * OPTIONS: sim_driver=12020
 * EXPECT: none
 */
#include "prog.h"

#include <sys/mman.h>

/* clang-format off */
#define HEAD ".version 7.0\n.target sm_50\n.address_size 64\n"
#define STORE(V) \
	"{\n	.reg .b64 %rd<2>;\n	.reg .b32 %r<2>;\n	ld.param.u64 %rd1, [dst];\n" \
	"	ld.param.u32 %r1, [" V "];\n	st.global.u32 [%rd1], %r1;\n	ret;\n}\n"
static const char *const images[] = {
	HEAD ".visible .entry k(.param .u64 dst, .param .u32 v)\n" STORE("v"),
	HEAD "// .entry k(.param .align 8 .b8 big[4096], .param .u64 dst)\n"
	     ".visible .entry k(.param .u64 dst, .param .align 8 .b8 v[24]) /* two */\n" STORE("v+16"),
	HEAD ".visible .entry other()\n{\n	ret;\n}\n"
	     ".visible .entry k(\n	.param .u8 flag,\n	.param .u64 .ptr .global .align 4 dst,\n	.param .u32 v\n)\n" STORE("v"),
};
/* clang-format on */

enum { PAGE = 4096 };

/* Room of n bytes, behind which nothing can be read. */
static void *edge(size_t n)
{
	char *p = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	MUST(p != MAP_FAILED && !mprotect(p + PAGE, PAGE, PROT_NONE));
	return p + PAGE - n;
}

int main(void)
{
	prog_start();
	CUdeviceptr dst = device_u32("dst", 4), *pointer = edge(8);
	uint32_t *word = edge(4), *last = (uint32_t *)edge(24) + 4;
	uint8_t *flag = edge(1);
	CUlibrary library;
	CUmodule module;
	CUkernel kernel;
	CUfunction f;

	*pointer = dst;
	for (uint32_t i = 0; i < 12; i++) {
		uint32_t kind = i % 3;
		void *args[][3] = {{pointer, word}, {pointer, last - 4}, {flag, pointer, word}};

		*word = *last = 100 + i;
		*flag = 1;
		CU(cuModuleLoadData(&module, images[kind]));
		CU(cuModuleGetFunction(&f, module, "k"));
		CU(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, args[kind], NULL));
		MUST(get_u32(dst, 0) == 100 + i);
		CU(cuModuleUnload(module));
	}

	CU(cuLibraryLoadData(&library, images[0], NULL, NULL, 0, NULL, NULL, 0));
	CU(cuLibraryGetKernel(&kernel, library, "k"));
	CU(cuKernelGetFunction(&f, kernel));
	for (uint32_t i = 0; i < 2; i++) {
		void *args[] = {pointer, word};

		*word = 200 + i;
		CU(cuLaunchKernel(i ? f : (CUfunction)kernel, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL));
		MUST(get_u32(dst, 0) == 200 + i);
	}
	struct {
		uint64_t dst;
		uint32_t v;
	} buffer = {dst, 300};
	size_t size = 12;
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
			 CU_LAUNCH_PARAM_END};

	CU(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra));
	MUST(get_u32(dst, 0) == 300);
	CU(cuLibraryUnload(library));
	prog_end();
	return 0;
}
