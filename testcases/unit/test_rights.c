/* SPDX-License-Identifier: Apache-2.0 */
/*
 * KRT-WRONG-DEVICE on records made by hand: who may use whose memory, handles and
 * images, and above all where nothing is to be said.
 */
#include <criterion/criterion.h>

#include "interposer/cuabi.h"
#include "rec_build.h"

#define S0 0x101ull /* of device 0's context */
#define S1 0x102ull /* of device 1's */
#define C0 0xc0ull
#define C1 0xc1ull
#define C2 0xc2ull /* a second one on device 0 */
#define EV 0x201ull
#define N  4096

#define expect(w, want)	    cr_assert_str_eq(world_close(w), want, "%s", (w)->text)
#define expect_all(w, want) cr_assert_str_eq(world_close_as(w, true), want, "%s", (w)->text)

/* Two devices with a stream each; DEV is device 0's.  Device 1's context is current. */
static void open2(struct world *w)
{
	world_open(w, NULL);
	call(w, cuInit, A(0));
	kernel(w, 7, "k", 1, NULL);
	context(w, C0, 0, true);
	stream(w, S0, 1);
	event(w, EV);
	alloc(w, DEV, N);
	context(w, C1, 1, true);
	stream(w, S1, 1);
}

static void access_of(struct world *w, enum krt_api_id api, uint64_t a, uint64_t b, int device,
		      unsigned flags)
{
	CUmemAccessDesc d = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device},
			     .flags = flags};

	if (api == KRT_API_cuMemSetAccess) {
		call_begin(w, api, A(a), A(b), A(0), A(1));
		call_blob(w, 2, KRT_BLOB_BYTES, &d, sizeof(d));
	} else {
		call_begin(w, api, A(a), A(0), A(1));
		call_blob(w, 1, KRT_BLOB_BYTES, &d, sizeof(d));
	}
	call_end(w, 0);
}

Test(memory, pointer)
{
	struct world w;

	open2(&w);
	launch(&w, S1, 7, DEV);
	expect(&w, "WRONG-DEVICE:warning:1");
}

Test(memory, order_is_not_spoken_of)
{
	struct krt_report *r;
	struct world w;

	open2(&w);
	kernel_reads(&w, S1, DEV, N);
	r = world_report(&w);
	cr_assert_eq(r->nfindings, 1);
	cr_assert(strstr(r->finding[0].fix, "cuCtxEnablePeerAccess"), "%s", r->finding[0].fix);
	cr_assert_null(r->finding[0].order_exists);
	cr_assert_null(r->finding[0].order_missing);
	krt_report_destroy(r);
	krt_engine_destroy(w.e);
}

Test(memory, declared)
{
	struct world w;

	open2(&w);
	kernel_reads(&w, S1, DEV, N);
	expect(&w, "WRONG-DEVICE:error:1");
}

Test(memory, word_of_a_struct)
{
	uint32_t sizes[1] = {16};
	struct world w;

	open2(&w);
	kernel(&w, 8, "s", 1, sizes);
	launch(&w, S1, 8, 1, DEV);
	expect_all(&w, "?WRONG-DEVICE:1");
}

Test(memory, own_and_everybodys)
{
	struct world w;

	open2(&w);
	launch(&w, S0, 7, DEV);
	alloc_pinned(&w, PIN, N);
	alloc_managed(&w, DEV + 0x10000, N);
	w.ctx = C0;
	launch(&w, S0, 7, PIN);
	launch(&w, S0, 7, DEV + 0x10000);
	kernel_writes(&w, S0, DEV + 0x10000, N);
	expect_all(&w, "");
}

Test(memory, copies_find_a_way)
{
	struct world w;

	open2(&w);
	alloc(&w, DEV + 0x10000, N);
	d2d(&w, DEV + 0x10000, DEV, N, S1);
	set(&w, DEV, N, S1);
	expect_all(&w, "");
}

Test(memory, peer_access)
{
	struct world w;

	open2(&w);
	call(&w, cuCtxEnablePeerAccess, A(C0), A(0));
	launch(&w, S1, 7, DEV);
	kernel_reads(&w, S1, DEV, N);
	expect_all(&w, "");

	/* by somebody before us, or in the other direction alone */
	open2(&w);
	call_failed(&w, cuCtxEnablePeerAccess, 704, A(C0), A(0));
	launch(&w, S1, 7, DEV);
	expect_all(&w, "");

	open2(&w);
	w.ctx = C0;
	call(&w, cuCtxEnablePeerAccess, A(C1), A(0));
	launch(&w, S1, 7, DEV);
	expect(&w, "WRONG-DEVICE:warning:1");

	open2(&w);
	call(&w, cuCtxEnablePeerAccess, A(C0), A(0));
	call(&w, cuCtxDisablePeerAccess, A(C0));
	launch(&w, S1, 7, DEV);
	expect(&w, "WRONG-DEVICE:warning:1");

	open2(&w);
	call_failed(&w, cuCtxEnablePeerAccess, 217, A(C0), A(0));
	launch(&w, S1, 7, DEV);
	expect(&w, "WRONG-DEVICE:warning:1");
}

/* Contexts of one device do not differ; a context or a start that was not seen is not judged. */
Test(memory, not_known)
{
	struct world w;

	open2(&w);
	context(&w, C2, 0, false);
	stream(&w, 0x103, 1);
	kernel_reads(&w, 0x103, DEV, N);
	expect_all(&w, "");

	open2(&w);
	w.ctx = 0xdd; /* of which nothing was told */
	stream(&w, 0x103, 1);
	kernel_reads(&w, 0x103, DEV, N);
	expect_all(&w, "");

	world_open(&w, NULL); /* no cuInit: peer access may have been enabled before */
	context(&w, C0, 0, true);
	alloc(&w, DEV, N);
	context(&w, C1, 1, true);
	stream(&w, S1, 1);
	kernel_reads(&w, S1, DEV, N);
	expect_all(&w, "");
}

static void pool_alloc(struct world *w, uint64_t pool, int device)
{
	CUmemPoolProps props = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device}};

	if (device >= 0) {
		call_begin(w, KRT_API_cuMemPoolCreate, A(0), A(0));
		call_out(w, 0, pool);
		call_blob(w, 1, KRT_BLOB_BYTES, &props, sizeof(props));
		call_end(w, 0);
	}
	call_begin(w, KRT_API_cuMemAllocFromPoolAsync, A(0), A(N), A(pool), A(S1));
	call_out(w, 0, DEV + 0x10000);
	call_end(w, 0);
	sync_stream(w, S1);
}

Test(memory, pools)
{
	struct world w;

	/* the stream does not say where the pool is */
	open2(&w);
	pool_alloc(&w, 0x900, 0);
	launch(&w, S0, 7, DEV + 0x10000);
	expect_all(&w, "");

	open2(&w);
	pool_alloc(&w, 0x900, 0);
	launch(&w, S1, 7, DEV + 0x10000);
	expect(&w, "WRONG-DEVICE:warning:1");

	open2(&w);
	pool_alloc(&w, 0x900, 0);
	access_of(&w, KRT_API_cuMemPoolSetAccess, 0x900, 0, 1, 3);
	launch(&w, S1, 7, DEV + 0x10000);
	expect_all(&w, "");

	open2(&w);
	pool_alloc(&w, 0x900, 0);
	access_of(&w, KRT_API_cuMemPoolSetAccess, 0x900, 0, 1, 3);
	access_of(&w, KRT_API_cuMemPoolSetAccess, 0x900, 0, 1, 0);
	launch(&w, S1, 7, DEV + 0x10000);
	expect(&w, "WRONG-DEVICE:warning:1");

	/* a pool that was not seen at birth */
	open2(&w);
	pool_alloc(&w, 0x900, -1);
	launch(&w, S0, 7, DEV + 0x10000);
	expect_all(&w, "");

	/* the device's own pool */
	open2(&w);
	alloc_async(&w, DEV + 0x10000, N, S0);
	sync_stream(&w, S0);
	launch(&w, S1, 7, DEV + 0x10000);
	expect(&w, "WRONG-DEVICE:warning:1");

	open2(&w);
	alloc_async(&w, DEV + 0x10000, N, S0);
	sync_stream(&w, S0);
	access_of(&w, KRT_API_cuMemPoolSetAccess, 0x901, 0, 1, 3);
	launch(&w, S1, 7, DEV + 0x10000);
	expect_all(&w, "");
}

static void map(struct world *w, uint64_t at, uint64_t handle)
{
	call_begin(w, KRT_API_cuMemCreate, A(0), A(N), A(0), A(0));
	call_out(w, 0, handle);
	call_end(w, 0);
	call(w, cuMemMap, A(at), A(N), A(0), A(handle), A(0));
}

Test(memory, mappings)
{
	struct world w;

	open2(&w);
	map(&w, DEV + 0x10000, 0x77);
	launch(&w, S1, 7, DEV + 0x10000);
	expect(&w, "WRONG-DEVICE:warning:1");

	/* one call for two mappings side by side */
	open2(&w);
	map(&w, DEV + 0x10000, 0x77);
	map(&w, DEV + 0x10000 + N, 0x78);
	access_of(&w, KRT_API_cuMemSetAccess, DEV + 0x10000, 2 * N, 1, 3);
	kernel_writes(&w, S1, DEV + 0x10000, 2 * N);
	expect_all(&w, "");

	open2(&w);
	map(&w, DEV + 0x10000, 0x77);
	access_of(&w, KRT_API_cuMemSetAccess, DEV + 0x10000, N, 0, 3);
	kernel_writes(&w, S1, DEV + 0x10000, N);
	expect(&w, "WRONG-DEVICE:error:1");

	/* mapped anew: a right of its own */
	open2(&w);
	map(&w, DEV + 0x10000, 0x77);
	access_of(&w, KRT_API_cuMemSetAccess, DEV + 0x10000, N, 1, 3);
	call(&w, cuMemUnmap, A(DEV + 0x10000), A(N));
	call(&w, cuMemMap, A(DEV + 0x10000), A(N), A(0), A(0x77), A(0));
	launch(&w, S1, 7, DEV + 0x10000);
	expect(&w, "WRONG-DEVICE:warning:1");
}

/* --- refused ------------------------------------------------------------------------- */

static void load(struct world *w, uint64_t ctx, uint64_t module, uint64_t function)
{
	w->ctx = ctx;
	call_begin(w, KRT_API_cuModuleLoadData, A(0), A(0));
	call_out(w, 0, module);
	call_end(w, 0);
	call_begin(w, KRT_API_cuModuleGetFunction, A(0), A(module), A(0));
	call_out(w, 0, function);
	call_end(w, 0);
}

static void launch_failed(struct world *w, uint64_t function, uint64_t s, int result)
{
	call_failed(w, cuLaunchKernel, result, A(function), A(1), A(1), A(1), A(1), A(1), A(1),
		    A(0), A(s), A(0), A(0));
}

Test(refused, function)
{
	struct world w;

	open2(&w);
	load(&w, C0, 0x500, 0x501);
	launch_failed(&w, 0x501, S1, 400);
	expect(&w, "WRONG-DEVICE:error:1");

	/* the current context's default stream */
	open2(&w);
	load(&w, C0, 0x500, 0x501);
	w.ctx = C1;
	launch_failed(&w, 0x501, 0, 400);
	expect(&w, "WRONG-DEVICE:error:1");

	/* for another reason; its own stream; not known; handed back */
	open2(&w);
	load(&w, C0, 0x500, 0x501);
	launch_failed(&w, 0x501, S1, 701);
	launch_failed(&w, 0x501, S0, 400);
	launch_failed(&w, 0x502, S1, 400);
	call(&w, cuModuleUnload, A(0x500));
	launch_failed(&w, 0x501, S1, 400);
	expect_all(&w, "");
}

Test(refused, event)
{
	struct world w;

	open2(&w);
	call_failed(&w, cuEventRecord, 400, A(EV), A(S1));
	wait_event(&w, S0, EV); /* said already */
	expect(&w, "WRONG-DEVICE:error:1");

	open2(&w);
	event(&w, EV + 1);
	record(&w, EV, S0);
	record(&w, EV + 1, S1);
	call_failed(&w, cuEventElapsedTime, 400, A(0), A(EV), A(EV + 1));
	expect(&w, "WRONG-DEVICE:error:1");

	/* its own context: something else */
	open2(&w);
	call_failed(&w, cuEventRecord, 400, A(EV), A(S0));
	wait_event(&w, S1, EV);
	expect(&w, "EVENT-UNRECORDED:warning:1 EVENT-FAILED:warning:1");
}

Test(refused, memory)
{
	struct world w;

	open2(&w);
	call_failed(&w, cuMemsetD8Async, 1, A(DEV), A(0), A(N), A(S1));
	expect(&w, "WRONG-DEVICE:warning:1");

	/* out of bounds, out of order, out of memory */
	open2(&w);
	call_failed(&w, cuMemsetD8Async, 1, A(DEV), A(0), A(N + 1), A(S1));
	call_failed(&w, cuMemsetD8Async, 2, A(DEV), A(0), A(N), A(S1));
	call_failed(&w, cuMemsetD8Async, 1, A(DEV), A(0), A(N), A(S0));
	expect(&w, "COPY-BOUNDS:error:1");
}

/* Whose memory it is goes with the call. */
Test(refused, peer_copy)
{
	struct world w;

	for (int right = 0; right < 2; right++) {
		open2(&w);
		alloc(&w, DEV + 0x10000, N);
		call_failed(&w, cuMemcpyPeerAsync, 201, A(DEV + 0x10000), A(right ? C1 : C0), A(DEV),
			    A(C0), A(N), A(S1));
		expect(&w, right ? "" : "WRONG-DEVICE:warning:1");
	}
}

/* --- images -------------------------------------------------------------------------- */

Test(image, given_up)
{
	struct world w;

	open2(&w);
	load(&w, C1, 0x500, 0x501);
	call_failed(&w, cuModuleLoadData, 209, A(0), A(0));
	call_failed(&w, cuModuleLoadData, 222, A(0), A(0));
	expect(&w, "WRONG-DEVICE:warning:1");
}

/* On another device things may go well. */
Test(image, other_device_served)
{
	struct world w;

	open2(&w);
	call_failed(&w, cuLibraryLoadData, 222, A(0), A(0), A(0), A(0), A(0), A(0), A(0), A(0));
	load(&w, C0, 0x500, 0x501);
	launch(&w, S0, 7, DEV);
	expect(&w, "WRONG-DEVICE:warning:1");
}

Test(image, probes)
{
	struct world w;

	for (int way = 0; way < 2; way++) {
		open2(&w);
		call_failed(&w, cuModuleLoadData, 209, A(0), A(0));
		if (way)
			launch(&w, S1, 7, 0);
		else
			load(&w, C1, 0x500, 0x501);
		expect_all(&w, "?WRONG-DEVICE:1");
	}

	/* broken images are no matter of devices */
	open2(&w);
	call_failed(&w, cuModuleLoadData, 200, A(0), A(0));
	call_failed(&w, cuModuleLoadData, 218, A(0), A(0));
	expect_all(&w, "");
}

Test(image, at_launch)
{
	struct world w;

	open2(&w);
	launch_failed(&w, 0x501, S1, 209);
	launch(&w, S1, 7, 0);
	expect(&w, "WRONG-DEVICE:warning:1");
}

/* Running out of memory anywhere leaves the engine in one piece. */
Test(rights, no_memory)
{
	for (unsigned long at = 1; at < 200; at++) {
		struct krt_engine_config cfg = {
			.hot_min = 16, .possible_max = 100, .fail_at = at};
		struct world w;

		world_open(&w, &cfg);
		if (!w.e)
			continue;
		call(&w, cuInit, A(0));
		context(&w, C0, 0, true);
		alloc(&w, DEV, N);
		context(&w, C1, 1, true);
		stream(&w, S1, 1);
		pool_alloc(&w, 0x900, 0);
		load(&w, C0, 0x500, 0x501);
		call_failed(&w, cuModuleLoadData, 209, A(0), A(0));
		launch_failed(&w, 0x501, S1, 400);
		kernel_reads(&w, S1, DEV, N);
		world_close(&w);
	}
}
