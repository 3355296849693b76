/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cost of the ordering module alone: operations a second and bytes of clocks
 * for 1, 100 and 10,000 streams.  bench_order [SECONDS each, default 0.2]
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "order.h"

static struct krt_order *o;
static krt_context ctx;
static krt_domain *s, legacy;
static unsigned n;
static struct krt_snapshot *last;

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static void launches(unsigned i)
{
	krt_order_begin(o, s[i % n]);
}

/* a launch, an event, and the next stream waits for it: everything new */
static void pipeline(unsigned i)
{
	struct krt_snapshot *e;

	krt_order_begin(o, s[i % n]);
	e = krt_order_record(o, s[i % n]);
	krt_order_wait(o, s[(i + 1) % n], e, KRT_IN_BOTH);
	krt_snapshot_unref(o, e);
}

/* a record and a wait for what is known */
static void redundant(unsigned i)
{
	struct krt_snapshot *e = krt_order_record(o, s[0]);

	krt_order_wait(o, s[i % n], e, KRT_IN_BOTH);
	krt_snapshot_unref(o, e);
}

/* every 16th launch is waited for on the host */
static void synced(unsigned i)
{
	struct krt_stamp st = krt_order_begin(o, s[i % n]);

	if (i % 16 == 0)
		krt_order_host_join_stamp(o, st, KRT_IN_BOTH);
}

/* random pairs wait for each other, a device sync now and then */
static void mesh(unsigned i)
{
	uint64_t x = i * 0x9e3779b97f4a7c15ull;
	unsigned a = (unsigned)((x >> 33) % n), b = (unsigned)((x >> 13) % n);
	struct krt_snapshot *e;

	krt_order_begin(o, s[a]);
	e = krt_order_record(o, s[a]);
	krt_order_wait(o, s[b], e, KRT_IN_BOTH);
	krt_snapshot_unref(o, e);
	if (i % 4096 == 0)
		krt_order_host_join_device(o, 0, KRT_IN_BOTH);
}

/* blocking streams and the legacy stream in turns */
static void barrier(unsigned i)
{
	krt_order_begin(o, i % 2 ? legacy : s[i / 2 % n]);
}

/* is one launch before another?  what a rule asks */
static void question(unsigned i)
{
	static volatile unsigned sink;
	struct krt_stamp st = { s[i % n], i % 1000 + 1 };

	sink += krt_order_before_stream(o, KRT_VIEW_DOC, st, s[(i * 7) % n]);
}

/* streams that live for one launch */
static void short_lives(unsigned i)
{
	krt_domain d = krt_order_stream(o, ctx, KRT_STREAM_NON_BLOCKING);

	krt_order_begin(o, d);
	krt_snapshot_unref(o, last);
	last = krt_order_record(o, d);
	krt_order_stream_end(o, d);
	if (i % 64 == 0)
		krt_order_host_join_context(o, ctx, KRT_IN_BOTH);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*fn)(unsigned);
		enum krt_stream_kind kind;
	} b[] = {
		{"launch", launches, KRT_STREAM_NON_BLOCKING},
		{"launch+record+wait, ring", pipeline, KRT_STREAM_NON_BLOCKING},
		{"launch+record+wait, mesh", mesh, KRT_STREAM_NON_BLOCKING},
		{"record+wait, known", redundant, KRT_STREAM_NON_BLOCKING},
		{"launch, 1/16 synced", synced, KRT_STREAM_NON_BLOCKING},
		{"legacy and blocking in turns", barrier, KRT_STREAM_BLOCKING},
		{"is it before?", question, KRT_STREAM_NON_BLOCKING},
		{"stream+launch+record+end", short_lives, KRT_STREAM_NON_BLOCKING},
	};
	static const unsigned sizes[] = { 1, 100, 10000 };
	double seconds = argc > 1 ? atof(argv[1]) : 0.2;

	printf("%-32s %8s %12s %10s %12s\n", "", "streams", "rounds/s", "ns/round", "clock bytes");
	for (unsigned i = 0; i < sizeof(b) / sizeof(*b); i++) {
		for (unsigned k = 0; k < 3; k++) {
			struct krt_order_stats st;
			double start, took;
			unsigned done = 0;

			n = sizes[k];
			o = krt_order_new(NULL);
			s = calloc(n, sizeof(*s));
			ctx = krt_order_context(o, 0);
			for (unsigned j = 0; j < n; j++)
				s[j] = krt_order_stream(o, ctx, b[i].kind);
			legacy = krt_order_stream(o, ctx, KRT_STREAM_LEGACY);
			for (unsigned j = 0; j < 2 * n; j++) /* clocks as wide as they get */
				pipeline(j);
			start = now();
			do {
				for (unsigned j = 0; j < 1000; j++)
					b[i].fn(done++);
				took = now() - start;
			} while (took < seconds);
			krt_order_get_stats(o, &st);
			printf("%-32s %8u %12.0f %10.0f %12lu%s\n", b[i].name, n, done / took,
			       took / done * 1e9, (unsigned long)st.clock_bytes,
			       krt_order_failed(o) ? " FAILED" : "");
			krt_snapshot_unref(o, last);
			last = NULL;
			krt_order_destroy(o);
			free(s);
		}
	}
	return 0;
}
