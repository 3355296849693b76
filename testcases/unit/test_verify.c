/* SPDX-License-Identifier: Apache-2.0 */
/* Trying out fixes, with an engine that is not to be had: how it ends, and what it leaves. */
#include "analyzer/verify.h"

#include <criterion/criterion.h>
#include <signal.h>

#include "rec_build.h"

/* With some races, to ask what they lack. */
static struct world world;

static struct krt_engine *engine_of(void *user, unsigned process)
{
	(void)user;
	return process ? NULL : world.e;
}

static uint64_t records_of(void *user, unsigned process)
{
	(void)process;
	return *(uint64_t *)user;
}

static struct krt_engine *stopped(void *user, unsigned process, const struct krt_change *c,
				  unsigned n, const char **why)
{
	(void)user;
	(void)process;
	(void)c;
	(void)n;
	raise(SIGINT);
	*why = krt_verify_stopped() ? "interrupted" : "not";
	return NULL;
}

static void no_name(void *user, unsigned process, struct krt_finding *g, struct krt_arena *a)
{
	(void)user;
	(void)process;
	(void)g;
	(void)a;
}

static int hits;
static void hit(int sig)
{
	(void)sig;
	hits++;
}

Test(verify, interrupted)
{
	uint64_t records = 10;
	const struct krt_verify v = {&records, engine_of, stopped, records_of, no_name};
	struct krt_report *report;

	signal(SIGINT, hit);
	world_open(&world, NULL);
	context(&world, 0xc0, 0, true);
	alloc(&world, DEV, 4096);
	stream(&world, 0x101, 1);
	stream(&world, 0x102, 1);
	stream(&world, 0x103, 1);
	set(&world, DEV, 64, 0x101);
	set(&world, DEV, 64, 0x102);
	d2d(&world, DEV + 2048, DEV, 64, 0x103);
	report = world_report(&world);
	cr_assert_geq(report->nfindings, 2);
	krt_verify_report(report, &v);
	for (size_t i = 0; i < report->nfindings; i++) {
		cr_assert_eq(report->finding[i].edge.verified, KRT_VERIFIED_NOT_TRIED);
		cr_assert_str_eq(report->finding[i].edge.why, "interrupted");
	}
	cr_assert_eq(report->orders_tried, 0);
	cr_assert_eq(hits, 0);
	raise(SIGINT);
	cr_assert_eq(hits, 1, "signals act as before");
	krt_report_destroy(report);
	krt_engine_destroy(world.e);
}
