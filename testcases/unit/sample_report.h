/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A report with everything in it, hostile names included, for tests of writers.
 */
#ifndef KRT_SAMPLE_REPORT_H
#define KRT_SAMPLE_REPORT_H

#include "reports/report.h"
#include "rules/timeline.h"

/* ESC sequence, quotes, a script end, bytes that are no UTF-8, a line separator, C1 control */
#define HOSTILE "a\033[31m\"\\</script>\x80\xff\n\t\xe2\x80\xa8\xc2\x9b\xc3\xa9"

static struct krt_frame sample_frames[] = {
	{.pc = 0x7f0000001000,
	 .module = "/lib/libkrtsan.so",
	 .offset = 0x1000,
	 .function = "cuMemcpyDtoHAsync_v2",
	 .internal = true},
	{.pc = 0x7f0000002000,
	 .module = "/lib/libcudart.so.12",
	 .offset = 0x2000,
	 .internal = true},
	{.pc = 0x401200,
	 .module = "/bin/app",
	 .offset = 0x1200,
	 .function = "forward",
	 .file = "/src/model.cc",
	 .line = 211},
	{.pc = 0x401300,
	 .module = "/bin/app",
	 .offset = 0x1300,
	 .function = "main",
	 .file = "/src/main.cc",
	 .line = 8},
	{.pc = 0x7f0000003000,
	 .module = "/lib/libc.so.6",
	 .offset = 0x271ca,
	 .function = "__libc_start_main"},
};
static struct krt_frame nameless_frames[] = {
	{ .pc = 0x7f0000004000, .module = "/opt/x/libapp.so", .offset = 0x4000 },
	{ .pc = 0x42 },
};
static struct krt_frame hostile_frames[] = {
	{.pc = 1, .module = HOSTILE, .offset = 2, .function = HOSTILE, .file = HOSTILE, .line = 3},
};

/* #1839 and #1842 as the first finding has them, an event between them and another stream. */
static struct krt_timeline_lane sample_lanes[] = {
	{KRT_LANE_HOST, "thread 4711", 0, 0, 0},
	{KRT_LANE_STREAM, "stream 2 (0x55c0)", 0, 1, 0x55c0},
	{KRT_LANE_STREAM, "stream 3 (0x55d0)", 0, 1, 0x55d0},
	{KRT_LANE_STREAM, HOSTILE, 1, 2, 1},
};
static const char *sample_names[] = {"cuLaunchKernel", "gemm_f16",	    "cuEventRecord",
				     "cuStreamWaitEvent", "cuMemcpyDtoHAsync", HOSTILE};
#define UNKNOWN KRT_UNKNOWN
static struct krt_timeline_op sample_ops[] = {
	{1790, 0, 1000, UNKNOWN, UNKNOWN, 200, 0, 1, 2, KRT_TL_NONE, KRT_TL_NONE, KRT_TL_RECORD, 0},
	{1795, 0, 1300, UNKNOWN, UNKNOWN, 100, 0, 2, 3, KRT_TL_NONE, 5, KRT_TL_WAIT, 0},
	{1839, 0, 2000, 9000, 5000, 1500, 0, 1, 0, 1, 5, KRT_TL_KERNEL, 0},
	{1842, 4096, 4000, 9500, 700, 900, 0, 2, 4, KRT_TL_NONE, KRT_TL_NONE, KRT_TL_COPY, 0},
	{1844, 0, UNKNOWN, UNKNOWN, UNKNOWN, 0, 0, 3, 5, 5, 5, KRT_TL_OTHER, KRT_TLF_CAPTURED},
};
static struct krt_timeline_edge sample_edges[] = {{0, 1, KRT_TLE_EVENT, 0},
						  {2, 4, KRT_TLE_LEGACY, 1}};
static struct krt_timeline sample_timeline = {
	.offset_ns = 500,
	.left_out = 12,
	.edges_left_out = 3,
	.nlanes = 4,
	.nnames = 6,
	.nops = 5,
	.nedges = 2,
	.lane = sample_lanes,
	.name = sample_names,
	.op = sample_ops,
	.edge = sample_edges,
};

#define STACK(f) { .depth = sizeof(f) / sizeof(*(f)), .frame = (f) }

static inline struct krt_report *sample_report(void)
{
	struct krt_report *r = krt_report_new();
	struct krt_process *p = krt_report_add_process(r);
	struct krt_finding *f;

	r->options = HOSTILE;
	r->semantics = HOSTILE;
	r->program_exit = 0;
	*p = (struct krt_process){.pid = 4711,
				  .ppid = 1,
				  .exe = HOSTILE,
				  .timeline = &sample_timeline,
				  .used_cuda = true,
				  .coverage = {.calls = 18204, .launches = 5, .copies = 1234567}};
	p = krt_report_add_process(r);
	*p = (struct krt_process){ .pid = 4712, .ppid = 4711, .exe = "/bin/helper", .exit_code = 1,
				   .coverage = { .calls = 1 } };
	krt_coverage_reason(&p->coverage, KRT_REASON_NO_CUDA, NULL);

	f = krt_report_add_finding(r);
	*f = (struct krt_finding){
		.rule = KRT_RULE_RACE_RAW,
		.level = KRT_LEVEL_ERROR,
		.confidence = KRT_CERTAIN,
		.pid = 4711,
		.fingerprint = 0x3f9c21a07b44,
		.count = 1200,
		.message = "the copy reads what the other still writes",
		.fix = "record an event on stream 2 after #1839 and make stream 3 wait for it "
		       "before #1842",
		.current = {.what = "read",
			    .api = "cuMemcpyDtoHAsync_v2",
			    .stream = "stream 3 (0x55d0)",
			    .sequence = 1842,
			    .range_base = 0x7f1000000000,
			    .range_len = 4096,
			    .knowledge = "api",
			    .stack = STACK(sample_frames)},
		.previous = {.what = "write",
			     .api = "cuLaunchKernel",
			     .kernel = "gemm_f16",
			     .stream = "stream 2 (0x55c0)",
			     .sequence = 1839,
			     .knowledge = "annotation",
			     .stack = STACK(nameless_frames)},
		.buffer = {.kind = "device",
			   .name = "act0",
			   .base = 0x7f1000000000,
			   .size = 64 << 20,
			   .offset = 0,
			   .len = 4 << 20,
			   .allocated_by = "cuMemAlloc_v2",
			   .allocated_seq = 12,
			   .allocated_at = STACK(sample_frames),
			   .freed_by = "cuMemFree_v2",
			   .freed_seq = 20},
		.order_exists = "stream 3 last waited for stream 2 at #1790",
		.order_missing = "#1839 on stream 2 to #1842 on stream 3",
	};
	f = krt_report_add_finding(r);
	*f = (struct krt_finding){
		.rule = KRT_RULE_HOST_FREE_IN_USE,
		.level = KRT_LEVEL_WARNING,
		.confidence = KRT_LIKELY,
		.pid = 4711,
		.view = KRT_DOCUMENTED_ONLY,
		.fingerprint = UINT64_MAX,
		.count = 1,
		.message = HOSTILE,
		.fix = HOSTILE,
		.current = {.what = HOSTILE,
			    .api = HOSTILE,
			    .kernel = HOSTILE,
			    .stream = HOSTILE,
			    .sequence = 1,
			    .knowledge = HOSTILE,
			    .stack = STACK(hostile_frames)},
		.buffer = {.kind = HOSTILE, .name = HOSTILE, .allocated_by = HOSTILE, .len = 3},
		.order_exists = HOSTILE,
		.order_missing = HOSTILE,
	};
	f = krt_report_add_finding(r);
	*f = (struct krt_finding){
		.rule = KRT_RULE_PERF_SYNC_HOT,
		.level = KRT_LEVEL_NOTE,
		.confidence = KRT_POSSIBLE,
		.pid = 4712,
		.count = 16,
		.current = {.api = "cuStreamSynchronize"},
		.cost = {.times = 16,
			 .rounds = 20,
			 .submit_ns = 1234567,
			 .queue_ns = KRT_UNKNOWN,
			 .service_ns = KRT_UNKNOWN,
			 .blocked_ns = 50},
	};
	krt_report_sort(r);
	return r;
}

#endif
