/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A communication library: its kernels get a descriptor in mapped host memory, from
 * which they take the caller's pointers and the library's own buffer.  Collectives
 * of one communicator come from several streams; the library's event puts them in
 * order.
 * SOURCE: trap T23
 */
#include "prog.h"

enum { N = 64, RING = 8, STEPS = 6, STREAMS = 2 };

/* dst[i] = 2 * src[i], by way of the library's buffer. */
static const char ptx[] = ".version 7.0\n"
			  ".target sm_50\n"
			  ".address_size 64\n"
			  ".visible .entry all_reduce(.param .u64 work)\n"
			  "{\n"
			  "	.reg .b32 %r<4>;\n"
			  "	.reg .b64 %rd<8>;\n"
			  "	ld.param.u64 %rd1, [work];\n"
			  "	ld.volatile.global.u64 %rd2, [%rd1];\n"
			  "	ld.volatile.global.u64 %rd3, [%rd1+8];\n"
			  "	ld.volatile.global.u64 %rd4, [%rd1+16];\n"
			  "	mov.u32 %r1, %tid.x;\n"
			  "	mul.wide.u32 %rd5, %r1, 4;\n"
			  "	add.s64 %rd2, %rd2, %rd5;\n"
			  "	add.s64 %rd3, %rd3, %rd5;\n"
			  "	add.s64 %rd4, %rd4, %rd5;\n"
			  "	ld.global.u32 %r2, [%rd2];\n"
			  "	add.s32 %r2, %r2, %r2;\n"
			  "	st.global.u32 [%rd4], %r2;\n"
			  "	ld.global.u32 %r3, [%rd4];\n"
			  "	st.global.u32 [%rd3], %r3;\n"
			  "	ret;\n"
			  "}\n";

static struct {
	CUmodule module;
	CUfunction kernel;
	CUdeviceptr inner;
	CUevent last;
	struct {
		CUdeviceptr src, dst, inner;
	} *work; /* mapped */
	CUdeviceptr work_device;
	unsigned next;
} comm;

static void comm_open(void)
{
	void *p;

	CU(cuModuleLoadData(&comm.module, ptx));
	comm.kernel = prog_kernel(comm.module, "all_reduce");
	CU(cuMemAlloc(&comm.inner, 4 * N));
	set_now(comm.inner, 0, N);
	CU(cuMemHostAlloc(&p, RING * sizeof(*comm.work),
			  CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP));
	comm.work = p;
	CU(cuMemHostGetDevicePointer(&comm.work_device, p, 0));
	comm.last = event();
}

static void all_reduce(CUdeviceptr dst, CUdeviceptr src, CUstream stream)
{
	unsigned i = comm.next++ % RING;
	CUdeviceptr work = comm.work_device + i * sizeof(*comm.work);
	void *args[] = {&work};

	comm.work[i].src = src;
	comm.work[i].dst = dst;
	comm.work[i].inner = comm.inner;
	CU(cuStreamWaitEvent(stream, comm.last, 0));
	CU(cuLaunchKernel(comm.kernel, 1, 1, 1, N, 1, 1, 0, stream, args, NULL));
	CU(cuEventRecord(comm.last, stream));
}

static void comm_close(void)
{
	CU(cuEventSynchronize(comm.last));
	CU(cuEventDestroy(comm.last));
	CU(cuMemFreeHost(comm.work));
	CU(cuMemFree(comm.inner));
	CU(cuModuleUnload(comm.module));
}

int main(void)
{
	prog_start();
	CUstream s[STREAMS];
	CUdeviceptr x[STREAMS], y[STREAMS];
	uint32_t *h = pinned_u32("h", STREAMS * N);

	comm_open();
	for (int i = 0; i < STREAMS; i++) {
		s[i] = stream_nb("worker");
		x[i] = device_u32("gradients", N);
		y[i] = device_u32("sums", N);
		set_now(x[i], 1, N);
	}
	for (uint32_t step = 0; step < STEPS / STREAMS; step++)
		for (int i = 0; i < STREAMS; i++) {
			INC(s[i], x[i], 1, N, 20000);
			all_reduce(y[i], x[i], s[i]);
			COPY(s[i], x[i], y[i], N, 0);
			CU(cuMemcpyDtoHAsync(h + i * N, y[i], 4 * N, s[i]));
		}
	for (int i = 0; i < STREAMS; i++) {
		CU(cuStreamSynchronize(s[i]));
		check_u32("sums[0]", h[i * N], 22);
	}
	comm_close();
	CU(cuMemFreeHost(h));

	prog_end();
	return 0;
}
