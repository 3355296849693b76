/* SPDX-License-Identifier: Apache-2.0 */
/* The virtual clock: a call's cost, an operation's service time, what a wait adds. */
#include "test.h"

uint64_t sim_clock_ns(void);

static CUdeviceptr d;
static CUstream s, t;

static uint64_t begin(void)
{
	test_ctx(0);
	CU(cuMemAlloc(&d, 4096));
	CU(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	CU(cuStreamCreate(&t, CU_STREAM_NON_BLOCKING));
	return sim_clock_ns();
}

/* The last begins when it is submitted, or when the one before it ends. */
static void submission_bound(void)
{
	uint64_t t0 = begin();

	for (int i = 0; i < 120; i++)
		CU(cuMemsetD8Async(d, 0, 64, s));
	CHECK(sim_clock_ns() - t0 == 120 * 6000);
	CU(cuStreamSynchronize(s)); /* done before the call has begun */
	CHECK(sim_clock_ns() - t0 == 121 * 6000);
}

static void device_bound(void)
{
	uint64_t t0 = begin();

	for (int i = 0; i < 120; i++)
		CU(cuMemsetD8Async(d, 0, 64, s));
	CHECK(sim_clock_ns() - t0 == 120 * 6000);
	CU(cuStreamSynchronize(s));
	CHECK(sim_clock_ns() - t0 == 6000 + 120 * 40000);
}

/* The same when the device has worked ahead in the meantime. */
static void idle(void)
{
	uint64_t t0 = begin();

	for (int i = 0; i < 120; i++)
		CU(cuMemsetD8Async(d, 0, 64, s));
	usleep(200000);
	CU(cuMemsetD8Async(d, 0, 64, s));
	CU(cuCtxSynchronize());
	CHECK(sim_clock_ns() - t0 == 6000 + 121 * 40000);
}

static void two_streams(void)
{
	uint64_t t0 = begin();

	CU(cuMemsetD8Async(d, 0, 64, s));
	CU(cuMemsetD8Async(d + 64, 0, 64, t));
	CU(cuCtxSynchronize());
	CHECK(sim_clock_ns() - t0 == 2 * 6000 + 40000);
}

static void queries(void)
{
	uint64_t t0 = begin();
	CUcontext c;

	CU(cuCtxGetCurrent(&c));
	cuStreamQuery(s);
	CHECK(sim_clock_ns() == t0);
}

#define CLOCK "sim_submit_ns=6000:sim_service_ns="

static const struct test tests[] = {
	{"clock-submission", submission_bound, CLOCK "2000"},
	{"clock-device", device_bound, CLOCK "40000"},
	{"clock-idle", idle, CLOCK "40000:sim_idle_ms=1"},
	{"clock-streams", two_streams, CLOCK "40000"},
	{"clock-queries", queries, CLOCK "40000"},
	{NULL, NULL, NULL},
};

int main(int argc, char **argv)
{
	return test_main(tests, argc, argv);
}
