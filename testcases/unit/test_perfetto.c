/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Chrome trace: is every event of a form that viewers read, do slices of a
 * track lie side by side, does each flow begin and end inside a slice?
 */
#define _GNU_SOURCE
#include "rec_build.h"
#include "sample_report.h"

#include <cjson/cJSON.h>
#include <criterion/criterion.h>
#include <math.h>

static char *text;
static size_t len;

static cJSON *trace(const struct krt_report *r)
{
	static const struct krt_writer w = {.show = KRT_LIKELY};
	FILE *out = open_memstream(&text, &len);
	cJSON *j;

	cr_assert_eq(krt_write_perfetto(out, r, &w), 0);
	fclose(out);
	j = cJSON_Parse(text);
	cr_assert(j, "not JSON: %s", text);
	return j;
}

static double number(const cJSON *e, const char *key)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(e, key);

	cr_assert(cJSON_IsNumber(v) && v->valuedouble >= 0 && isfinite(v->valuedouble), "%s in %s",
		  key, cJSON_PrintUnformatted(e));
	return v->valuedouble;
}

static const char *string(const cJSON *e, const char *key)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(e, key);

	cr_assert(cJSON_IsString(v), "%s in %s", key, cJSON_PrintUnformatted(e));
	return v->valuestring;
}

static bool whole(double v)
{
	return v == floor(v) && v < 9007199254740992.;
}

/* The nanoseconds that a time is a text of. */
static uint64_t ns(double us)
{
	return (uint64_t)llround(us * 1000);
}

static bool same_track(const cJSON *a, const cJSON *b)
{
	return number(a, "pid") == number(b, "pid") && number(a, "tid") == number(b, "tid");
}

/* A slice around the event on its track. */
static bool inside(const cJSON *events, const cJSON *e)
{
	uint64_t at = ns(number(e, "ts"));
	const cJSON *s;

	cJSON_ArrayForEach(s,
			   events) if (!strcmp(string(s, "ph"), "X") && same_track(s, e) &&
				       ns(number(s, "ts")) <= at &&
				       at < ns(number(s, "ts")) + ns(number(s, "dur"))) return true;
	return false;
}

static bool has_name(const cJSON *events, const char *what, const cJSON *of)
{
	const cJSON *e;

	cJSON_ArrayForEach(
		e,
		events) if (!strcmp(string(e, "ph"), "M") && !strcmp(string(e, "name"), what) &&
			    number(e, "pid") == number(of, "pid") &&
			    (what[0] == 'p' ||
			     number(e, "tid") ==
				     number(of, "tid"))) return string(cJSON_GetObjectItem(e,
											   "args"),
								       "name");
	return false;
}

struct counts {
	unsigned slices, flows, missing, findings, back;
};

static void check_flow(const cJSON *events, const cJSON *s, struct counts *n)
{
	const cJSON *e, *f = NULL;

	cJSON_ArrayForEach(e, events) if (!strcmp(string(e, "ph"), "f") &&
					  number(e, "id") == number(s, "id"))
	{
		cr_assert_null(f, "two ends");
		f = e;
	}
	cr_assert(f, "no end");
	cr_assert_str_eq(string(f, "cat"), string(s, "cat"));
	cr_assert_str_eq(string(f, "name"), string(s, "name"));
	cr_assert_str_eq(string(f, "bp"), "e");
	cr_assert_leq(ns(number(s, "ts")), ns(number(f, "ts")));
	cr_assert(inside(events, s) && inside(events, f));
	n->flows++;
	n->missing += !strcmp(string(s, "cat"), "missing");
}

static struct counts check(const cJSON *j)
{
	const cJSON *events = cJSON_GetObjectItem(j, "traceEvents"), *e, *last;
	struct counts n = {0};
	unsigned ends = 0;

	cr_assert(cJSON_IsArray(events));
	cJSON_ArrayForEach(e, events)
	{
		const char *ph = string(e, "ph");

		cr_assert(whole(number(e, "pid")) && whole(number(e, "tid")));
		string(e, "name");
		if (!strcmp(ph, "M")) {
			cr_assert(cJSON_IsObject(cJSON_GetObjectItem(e, "args")));
			continue;
		}
		cr_assert(has_name(events, "process_name", e), "%s", string(e, "name"));
		number(e, "ts");
		if (!strcmp(ph, "X")) {
			n.slices++;
			cr_assert_gt(ns(number(e, "dur")), 0);
			cr_assert(has_name(events, "thread_name", e));
			/* the one before it on its track */
			for (last = e->prev; last->next; last = last->prev)
				if (!strcmp(string(last, "ph"), "X") && same_track(last, e)) {
					cr_assert_leq(ns(number(last, "ts")) +
							      ns(number(last, "dur")),
						      ns(number(e, "ts")));
					break;
				}
		} else if (!strcmp(ph, "s")) {
			check_flow(events, e, &n);
		} else if (!strcmp(ph, "f")) {
			ends++;
		} else {
			cr_assert_str_eq(ph, "i");
			cr_assert(strchr("tp", *string(e, "s")));
			n.findings += !strcmp(string(e, "cat"), "finding");
		}
	}
	cr_assert_eq(ends, n.flows);
	return n;
}

static void done(cJSON *j, struct krt_report *r)
{
	cJSON_Delete(j);
	free(text);
	krt_report_destroy(r);
}

Test(perfetto, an_empty_report)
{
	struct krt_report *r = krt_report_new();
	cJSON *j = trace(r);

	cr_assert_eq(check(j).slices, 0);
	cr_assert(cJSON_IsFalse(
		cJSON_GetObjectItem(cJSON_GetObjectItem(j, "otherData"), "timeline_kept")));
	done(j, r);
}

Test(perfetto, calls_are_placed_by_order_where_they_have_no_times)
{
	struct krt_report *r = sample_report();
	cJSON *j = trace(r);
	struct counts n = check(j);

	/* five calls, all on streams; an event, a barrier, what the first finding misses */
	cr_assert_eq(n.slices, 10);
	cr_assert_eq(n.flows, 3);
	cr_assert_eq(n.missing, 1);
	cr_assert_eq(n.findings, 2, "the possible one is below show=");
	cr_assert_eq(number(cJSON_GetObjectItem(j, "otherData"), "operations_left_out"), 12);
	done(j, r);
}

Test(perfetto, device_times_are_where_they_were_measured)
{
	struct krt_timeline_op ops[5];
	struct krt_timeline t = sample_timeline;
	struct krt_report *r = sample_report();
	unsigned seen = 0;
	const cJSON *e;
	cJSON *j;

	memcpy(ops, sample_ops, sizeof(ops));
	ops[4].start_ns = 5000;
	t.op = ops;
	r->process[0].timeline = &t;
	j = trace(r);
	check(j);
	cJSON_ArrayForEach(e, cJSON_GetObjectItem(j, "traceEvents"))
	{
		const char *cat = cJSON_GetStringValue(cJSON_GetObjectItem(e, "cat"));

		if (strcmp(string(e, "ph"), "X") || !cat || strcmp(cat, "device"))
			continue;
		seen++;
		if (!strcmp(string(e, "name"), "gemm_f16")) {
			cr_assert_eq(ns(number(e, "ts")), 500 + 9000);
			cr_assert_eq(ns(number(e, "dur")), 5000);
		}
	}
	cr_assert_eq(seen, 2);
	done(j, r);
}

/* Several streams with everything that makes an edge; no times, and with device times. */
Test(perfetto, a_program_of_many_calls)
{
	static const struct krt_engine_config kept = {
		.hot_min = 16, .possible_max = 1000, .timeline = 100000};

	for (unsigned timed = 0; timed < 3; timed++) {
		struct krt_report *r;
		struct counts n;
		struct world w;
		cJSON *j;

		world_open(&w, &kept);
		thread(&w, 1, 1);
		for (unsigned i = 0; i < 4; i++) {
			stream(&w, 0x5000 + i, i & 1);
			event(&w, 0xe000 + i);
		}
		alloc(&w, DEV, 1 << 20);
		w.took = timed ? 700 : 0;
		for (unsigned i = 0; i < 90; i++) {
			uint64_t s = i % 5 == 4 ? 1 : 0x5000 + i % 5, seq = w.ticket;

			set(&w, DEV + (i % 7) * 4096, 8192, s);
			if (timed == 2)
				device_time(&w, seq, 1000 * i + 500, 1000 * i + 4000);
			if (i % 3 == 0)
				record(&w, 0xe000 + i % 4, s);
			if (i % 3 == 1)
				wait_event(&w, s, 0xe000 + (i + 1) % 4);
			if (i % 31 == 30)
				sync_ctx(&w);
		}
		r = world_report(&w);
		r->process[0].pid = 5;
		for (size_t i = 0; i < r->nfindings; i++)
			r->finding[i].pid = 5;
		j = trace(r);
		n = check(j);
		cr_assert_gt(n.slices, 200);
		cr_assert_gt(n.flows, 25);
		cr_assert_gt(n.missing, 0);
		cr_assert_gt(n.findings, 0);
		done(j, r);
		krt_engine_destroy(w.e);
	}
}
