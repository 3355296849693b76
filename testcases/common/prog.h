/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Common ground of the test programs: plain driver-API programs that carry their
 * kernels as PTX text and run unchanged on a GPU and on the simulated driver.
 *
 * Every CUDA result is checked; a program that meets a surprise exits with 3, so
 * that exit code 66 can only be krtsan's.  A program that computed a wrong value
 * because of its planted hazard says so (check_u32 prints WRONG) and exits 0.
 * Exit code 77 means that the machine lacks something that the program needs.
 *
 * The head comment of each program is read by testcases/harness/runner.c, which
 * describes the lines it knows.
 *
 * What makes a race real is a kernel that spins for a number of clock cycles
 * first (SLOW), never a sleep; findings do not depend on it.  Set-up helpers end
 * in a device-wide sync, so that only a program's own calls are ever at fault.
 * CU() and the launch macros expand in place: each use is a call site of its own.
 */
#ifndef PROG_H
#define PROG_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cuabi.h"
#include "krtsan.h"

#define PROG_SKIP 77

#define CU(call)                                                                                   \
	do {                                                                                       \
		CUresult r_ = (call);                                                              \
		if (r_ != CUDA_SUCCESS)                                                            \
			prog_die(__FILE__, __LINE__, #call, (int)r_);                              \
	} while (0)

#define MUST(cond)                                                                                 \
	do {                                                                                       \
		if (!(cond))                                                                       \
			prog_die(__FILE__, __LINE__, #cond, -1);                                   \
	} while (0)

static inline __attribute__((noreturn)) void prog_die(const char *file, int line, const char *what,
						      int code)
{
	fprintf(stderr, "%s:%d: %s: %d\n", file, line, what, code);
	exit(3);
}

static inline __attribute__((noreturn)) void prog_skip(const char *why)
{
	printf("skipped: %s\n", why);
	exit(PROG_SKIP);
}

/* clang-format off */
/*
 * All kernels spin for `cycles` and then act, with one thread an element (a
 * grid-stride loop over n 32-bit elements).
 */
#define PTX_HEAD(name, params) \
	".visible .entry " name "(" params ", .param .u64 cycles)\n" \
	"{\n" \
	"	.reg .pred %p<4>;\n" \
	"	.reg .b32 %r<16>;\n" \
	"	.reg .b64 %rd<16>;\n" \
	"	ld.param.u64 %rd1, [cycles];\n" \
	"	mov.u64 %rd2, %clock64;\n" \
	"SPIN:\n" \
	"	mov.u64 %rd3, %clock64;\n" \
	"	sub.s64 %rd3, %rd3, %rd2;\n" \
	"	setp.lt.u64 %p1, %rd3, %rd1;\n" \
	"	@%p1 bra SPIN;\n" \
	"	mov.u32 %r1, %ctaid.x;\n" \
	"	mov.u32 %r2, %ntid.x;\n" \
	"	mov.u32 %r3, %tid.x;\n" \
	"	mad.lo.s32 %r4, %r1, %r2, %r3;\n"
/* for (i = thread; i < n; i += threads), i in %r4, 4*i in %rd4 */
#define PTX_LOOP \
	"	ld.param.u32 %r5, [n];\n" \
	"	mov.u32 %r6, %nctaid.x;\n" \
	"	mul.lo.s32 %r6, %r6, %r2;\n" \
	"LOOP:\n" \
	"	setp.ge.u32 %p2, %r4, %r5;\n" \
	"	@%p2 bra DONE;\n" \
	"	mul.wide.u32 %rd4, %r4, 4;\n"
#define PTX_NEXT \
	"	add.s32 %r4, %r4, %r6;\n" \
	"	bra LOOP;\n" \
	"DONE:\n" \
	"	ret;\n" \
	"}\n"
#define PTX_DST "	ld.param.u64 %rd5, [dst];\n	add.s64 %rd5, %rd5, %rd4;\n"
#define PTX_SRC "	ld.param.u64 %rd6, [src];\n	add.s64 %rd6, %rd6, %rd4;\n"

static const char prog_ptx[] =
	".version 7.0\n"
	".target sm_50\n"
	".address_size 64\n"
	/* spin: nothing but time */
	PTX_HEAD("spin", ".param .u32 n")
	"	ret;\n"
	"}\n"
	/* fill: dst[i] = v */
	PTX_HEAD("fill", ".param .u64 dst, .param .u32 v, .param .u32 n")
	"	ld.param.u32 %r7, [v];\n"
	PTX_LOOP PTX_DST
	"	st.global.u32 [%rd5], %r7;\n"
	PTX_NEXT
	/* copy: dst[i] = src[i] */
	PTX_HEAD("copy", ".param .u64 dst, .param .u64 src, .param .u32 n")
	PTX_LOOP PTX_DST PTX_SRC
	"	ld.global.u32 %r7, [%rd6];\n"
	"	st.global.u32 [%rd5], %r7;\n"
	PTX_NEXT
	/* add: dst[i] += src[i] */
	PTX_HEAD("add", ".param .u64 dst, .param .u64 src, .param .u32 n")
	PTX_LOOP PTX_DST PTX_SRC
	"	ld.global.u32 %r7, [%rd6];\n"
	"	ld.global.u32 %r8, [%rd5];\n"
	"	add.s32 %r7, %r7, %r8;\n"
	"	st.global.u32 [%rd5], %r7;\n"
	PTX_NEXT
	/* inc: dst[i] += v */
	PTX_HEAD("inc", ".param .u64 dst, .param .u32 v, .param .u32 n")
	"	ld.param.u32 %r7, [v];\n"
	PTX_LOOP PTX_DST
	"	ld.global.u32 %r8, [%rd5];\n"
	"	add.s32 %r8, %r8, %r7;\n"
	"	st.global.u32 [%rd5], %r8;\n"
	PTX_NEXT
	/* tally: atomically, dst[i % v] += 1 for each i */
	PTX_HEAD("tally", ".param .u64 dst, .param .u32 v, .param .u32 n")
	"	ld.param.u32 %r7, [v];\n"
	PTX_LOOP
	"	rem.u32 %r8, %r4, %r7;\n"
	"	mul.wide.u32 %rd4, %r8, 4;\n"
	PTX_DST
	"	red.global.add.u32 [%rd5], 1;\n"
	PTX_NEXT
	/* maybe: dst[i] = v, only where dst is asked for (v != 0) */
	PTX_HEAD("maybe", ".param .u64 dst, .param .u32 v, .param .u32 n")
	"	ld.param.u32 %r7, [v];\n"
	"	setp.eq.u32 %p3, %r7, 0;\n"
	"	@%p3 ret;\n"
	PTX_LOOP PTX_DST
	"	st.global.u32 [%rd5], %r7;\n"
	PTX_NEXT
	/* await: until *dst == v */
	PTX_HEAD("await", ".param .u64 dst, .param .u32 v, .param .u32 n")
	"	ld.param.u64 %rd5, [dst];\n"
	"	ld.param.u32 %r7, [v];\n"
	"AGAIN:\n"
	"	ld.volatile.global.u32 %r8, [%rd5];\n"
	"	setp.ne.u32 %p3, %r8, %r7;\n"
	"	@%p3 bra AGAIN;\n"
	"	ret;\n"
	"}\n"
	/* packed: struct { u64 dst; u64 unused; u32 v; u32 n; } by value: dst[i] = v */
	PTX_HEAD("packed", ".param .align 8 .b8 arg[24]")
	"	ld.param.u64 %rd7, [arg];\n"
	"	ld.param.u32 %r7, [arg+16];\n"
	"	ld.param.u32 %r5, [arg+20];\n"
	"	mov.u32 %r6, %nctaid.x;\n"
	"	mul.lo.s32 %r6, %r6, %r2;\n"
	"LOOP:\n"
	"	setp.ge.u32 %p2, %r4, %r5;\n"
	"	@%p2 bra DONE;\n"
	"	mul.wide.u32 %rd4, %r4, 4;\n"
	"	add.s64 %rd5, %rd7, %rd4;\n"
	"	st.global.u32 [%rd5], %r7;\n"
	PTX_NEXT
	/* scalar: dst[i] = low half of a 64-bit number that is no pointer */
	PTX_HEAD("scalar", ".param .u64 dst, .param .u64 number, .param .u32 n")
	"	ld.param.u32 %r7, [number];\n"
	PTX_LOOP PTX_DST
	"	st.global.u32 [%rd5], %r7;\n"
	PTX_NEXT
	/*
	 * meet: a grid-wide barrier on *src (one arrival a block, v blocks), then
	 * dst[i] += 1: only a cooperative launch may wait for its own grid.
	 */
	PTX_HEAD("meet", ".param .u64 dst, .param .u64 src, .param .u32 v, .param .u32 n")
	"	ld.param.u64 %rd6, [src];\n"
	"	ld.param.u32 %r7, [v];\n"
	"	bar.sync 0;\n"
	"	setp.ne.u32 %p3, %r3, 0;\n"
	"	@%p3 bra JOIN;\n"
	"	membar.gl;\n"
	"	red.global.add.u32 [%rd6], 1;\n"
	"AGAIN:\n"
	"	ld.volatile.global.u32 %r8, [%rd6];\n"
	"	setp.lt.u32 %p3, %r8, %r7;\n"
	"	@%p3 bra AGAIN;\n"
	"JOIN:\n"
	"	bar.sync 0;\n"
	PTX_LOOP PTX_DST
	"	ld.global.u32 %r8, [%rd5];\n"
	"	add.s32 %r8, %r8, 1;\n"
	"	st.global.u32 [%rd5], %r8;\n"
	PTX_NEXT
	;
/* clang-format on */

/* The kernels of one context. */
struct prog_kernels {
	CUmodule module;
	CUfunction spin, fill, copy, add, inc, tally, maybe, await, packed, scalar, meet;
};

/* One block of 64 threads unless a macro says otherwise. */
#define LAUNCH(function, grid, stream, ...)                                                        \
	do {                                                                                       \
		void *args_[] = {__VA_ARGS__};                                                     \
		CU(cuLaunchKernel(function, grid, 1, 1, 64, 1, 1, 0, stream, args_, NULL));        \
	} while (0)

#define K_SPIN(k, stream, cycles)                                                                  \
	do {                                                                                       \
		uint32_t n_ = 0;                                                                   \
		uint64_t c_ = (cycles);                                                            \
		LAUNCH((k)->spin, 1, stream, &n_, &c_);                                            \
	} while (0)
#define K_PVN(k, kernel, stream, ptr, v, n, cycles)                                                \
	do {                                                                                       \
		CUdeviceptr p_ = (ptr);                                                            \
		uint32_t v_ = (v), n_ = (n);                                                       \
		uint64_t c_ = (cycles);                                                            \
		LAUNCH((k)->kernel, 1, stream, &p_, &v_, &n_, &c_);                                \
	} while (0)
#define K_DSN(k, kernel, stream, dst, src, n, cycles)                                              \
	do {                                                                                       \
		CUdeviceptr d_ = (dst), s_ = (src);                                                \
		uint32_t n_ = (n);                                                                 \
		uint64_t c_ = (cycles);                                                            \
		LAUNCH((k)->kernel, 1, stream, &d_, &s_, &n_, &c_);                                \
	} while (0)

#define SPIN(stream, cycles)		  K_SPIN(&prog, stream, cycles)
#define FILL(stream, dst, v, n, cycles)	  K_PVN(&prog, fill, stream, dst, v, n, cycles)
#define INC(stream, dst, v, n, cycles)	  K_PVN(&prog, inc, stream, dst, v, n, cycles)
#define TALLY(stream, dst, v, n, cycles)  K_PVN(&prog, tally, stream, dst, v, n, cycles)
#define MAYBE(stream, dst, v, n, cycles)  K_PVN(&prog, maybe, stream, dst, v, n, cycles)
#define AWAIT(stream, flag, v)		  K_PVN(&prog, await, stream, flag, v, 1, 0)
#define COPY(stream, dst, src, n, cycles) K_DSN(&prog, copy, stream, dst, src, n, cycles)
#define ADD(stream, dst, src, n, cycles)  K_DSN(&prog, add, stream, dst, src, n, cycles)

/* Declared access of the next launch on the stream. */
#define ACCESS(stream, p, bytes, flags)                                                            \
	krtsan_access((void *)(stream), (void *)(uintptr_t)(p), bytes, flags)
#define READS(stream, p, bytes)	  ACCESS(stream, p, bytes, KRTSAN_READ)
#define WRITES(stream, p, bytes)  ACCESS(stream, p, bytes, KRTSAN_WRITE)
#define UPDATES(stream, p, bytes) ACCESS(stream, p, bytes, KRTSAN_READ | KRTSAN_WRITE)
#define ATOMICS(stream, p, bytes) ACCESS(stream, p, bytes, KRTSAN_ATOMIC)
#define NOTHING(stream)		  ACCESS(stream, 0, 0, 0)

static struct prog_kernels prog; /* those of prog_start()'s context */
static CUdevice prog_device;
static CUcontext prog_context;

/* Long enough for the host to enqueue what follows; KRTSAN_TEST_CYCLES sets it. */
static inline uint64_t prog_cycles(void)
{
	const char *s = getenv("KRTSAN_TEST_CYCLES");

	return s ? strtoull(s, NULL, 0) : 4000000;
}
#define SLOW prog_cycles()

static inline CUfunction prog_kernel(CUmodule module, const char *name)
{
	CUfunction f;

	CU(cuModuleGetFunction(&f, module, name));
	/* A lazy load may wait for the device, at a kernel's first launch. */
	CU(cuFuncLoad(f));
	return f;
}

/* Loads the kernels into the current context. */
static inline void prog_load(struct prog_kernels *k)
{
	CU(cuModuleLoadData(&k->module, prog_ptx));
	k->spin = prog_kernel(k->module, "spin");
	k->fill = prog_kernel(k->module, "fill");
	k->copy = prog_kernel(k->module, "copy");
	k->add = prog_kernel(k->module, "add");
	k->inc = prog_kernel(k->module, "inc");
	k->tally = prog_kernel(k->module, "tally");
	k->maybe = prog_kernel(k->module, "maybe");
	k->await = prog_kernel(k->module, "await");
	k->packed = prog_kernel(k->module, "packed");
	k->scalar = prog_kernel(k->module, "scalar");
	k->meet = prog_kernel(k->module, "meet");
}

/* Device 0, its primary context, the kernels. */
static inline void prog_start(void)
{
	CU(cuInit(0));
	CU(cuDeviceGet(&prog_device, 0));
	CU(cuDevicePrimaryCtxRetain(&prog_context, prog_device));
	CU(cuCtxSetCurrent(prog_context));
	prog_load(&prog);
}

/* Everything done, then everything gone. */
static inline void prog_end(void)
{
	CU(cuCtxSetCurrent(prog_context));
	CU(cuCtxSynchronize());
	CU(cuModuleUnload(prog.module));
	CU(cuDevicePrimaryCtxRelease(prog_device));
}

static inline CUstream stream_nb(const char *name)
{
	CUstream s;

	CU(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	krtsan_name(s, 0, name);
	return s;
}

static inline CUstream stream_blocking(const char *name)
{
	CUstream s;

	CU(cuStreamCreate(&s, CU_STREAM_DEFAULT));
	krtsan_name(s, 0, name);
	return s;
}

static inline CUevent event(void)
{
	CUevent e;

	CU(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
	return e;
}

/* n 32-bit elements. */
static inline CUdeviceptr device_u32(const char *name, size_t n)
{
	CUdeviceptr p;

	CU(cuMemAlloc(&p, 4 * n));
	krtsan_name((void *)(uintptr_t)p, 4 * n, name);
	return p;
}

static inline uint32_t *pinned_u32(const char *name, size_t n)
{
	void *p;

	CU(cuMemHostAlloc(&p, 4 * n, CU_MEMHOSTALLOC_PORTABLE));
	krtsan_name(p, 4 * n, name);
	memset(p, 0, 4 * n);
	return p;
}

/* Sets n elements and waits for the device. */
static inline void set_now(CUdeviceptr p, uint32_t v, size_t n)
{
	CU(cuMemsetD32(p, v, n));
	CU(cuCtxSynchronize());
}

/* Waits for the device and reads one element. */
static inline uint32_t get_u32(CUdeviceptr p, size_t index)
{
	uint32_t v;

	CU(cuCtxSynchronize());
	CU(cuMemcpyDtoH(&v, p + 4 * index, 4));
	return v;
}

static inline void host_fill(uint32_t *p, uint32_t v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		((volatile uint32_t *)p)[i] = v;
}

static inline bool check_u32(const char *what, uint32_t got, uint32_t want)
{
	if (got == want)
		printf("%s = %u\n", what, got);
	else
		printf("%s = %u, expected %u: WRONG\n", what, got, want);
	return got == want;
}

#endif
