/* SPDX-License-Identifier: Apache-2.0 */
/* Probing a driver: every row has a probe, answers against the table, tables as text. */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "probe.h"
#include "semantics_file.h"

#define DOC KRT_VIEW_DOC
#define OBS KRT_VIEW_OBS

Test(probe, every_row_has_one_or_says_why_not)
{
	for (unsigned row = KRT_SEM_NONE + 1; row < KRT_NR_SEMS; row++) {
		unsigned n = 0;

		for (unsigned i = 0; i < krt_nr_probes; i++)
			n += krt_probes[i].row == row;
		cr_assert_eq(n == 0, krt_unprobed(row) != NULL, "%s: %u probes", krt_sem_table[row].id, n);
	}
}

/* A row's answer is what its calls have in common. */
Test(probe, a_row_is_its_weakest_call)
{
	struct krt_measured *m = calloc(krt_nr_probes, sizeof(*m)), all;
	unsigned n = 0;

	for (unsigned i = 0; i < krt_nr_probes; i++) {
		if (krt_probes[i].row != KRT_SEM_FREE_DEVICE)
			continue;
		m[i].measured = KRT_MEASURED_EDGE;
		m[i].edge = n++ ? KRT_EDGE_CONTEXT : KRT_EDGE_BLOCKING;
	}
	cr_assert_gt(n, 1);
	all = krt_probe_row(KRT_SEM_FREE_DEVICE, m);
	cr_assert_eq(all.edge, KRT_EDGE_BLOCKING);
	cr_assert_eq(all.measured, KRT_MEASURED_EDGE);
	/* one that was not measured says nothing */
	for (unsigned i = 0; i < krt_nr_probes; i++)
		if (krt_probes[i].row == KRT_SEM_FREE_DEVICE && m[i].edge == KRT_EDGE_BLOCKING)
			m[i] = (struct krt_measured){.note = "why"};
	all = krt_probe_row(KRT_SEM_FREE_DEVICE, m);
	cr_assert_eq(all.edge, KRT_EDGE_CONTEXT);
	cr_assert_str_eq(all.note, "why");
	cr_assert_eq(krt_probe_row(KRT_SEM_GRAPHICS, m).measured, 0);
	free(m);
}

static enum krt_probe_verdict judge(enum krt_sem_id row, unsigned edge)
{
	struct krt_measured m = {.measured = KRT_MEASURED_EDGE, .edge = edge};

	return krt_probe_judge(&krt_sem_table[row], &m);
}

Test(probe, verdicts)
{
	struct krt_measured m = {0};

	cr_assert_eq(krt_probe_judge(&krt_sem_table[KRT_SEM_ALLOC], &m), KRT_PROBE_UNKNOWN);
	cr_assert_eq(judge(KRT_SEM_FREE_DEVICE, KRT_EDGE_CONTEXT), KRT_PROBE_SAME);
	cr_assert_eq(judge(KRT_SEM_FREE_DEVICE, KRT_EDGE_BLOCKING), KRT_PROBE_LESS);
	cr_assert_eq(judge(KRT_SEM_FREE_DEVICE, KRT_EDGE_ALL), KRT_PROBE_MORE);
	/* what has no source cannot have read it: nothing of the table's edge is left */
	{
		struct krt_measured none = {.measured = KRT_MEASURED_EDGE};
		struct krt_sem row = krt_sem_table[KRT_SEM_FREE_DEVICE];

		krt_probe_take(&row, &none);
		cr_assert_eq(row.edge[OBS], KRT_EDGE_NONE);
	}
	/* the source was not looked at: no claim of it is refuted */
	cr_assert_eq(judge(KRT_SEM_ASYNC_PAGEABLE_TO_DEVICE, KRT_EDGE_EARLIER), KRT_PROBE_SAME);
	m = (struct krt_measured){.measured = KRT_MEASURED_EDGE | KRT_MEASURED_SRC,
				  .edge = KRT_EDGE_EARLIER};
	cr_assert_eq(krt_probe_judge(&krt_sem_table[KRT_SEM_ASYNC_PAGEABLE_TO_DEVICE], &m),
		     KRT_PROBE_LESS);
	m = (struct krt_measured){.measured = KRT_MEASURED_READ, .read = KRT_READ_AT_CALL};
	cr_assert_eq(krt_probe_judge(&krt_sem_table[KRT_SEM_ASYNC_PINNED], &m), KRT_PROBE_LESS);
	cr_assert_eq(krt_probe_judge(&krt_sem_table[KRT_SEM_BATCH_ANY], &m), KRT_PROBE_MORE);
	m = (struct krt_measured){.measured = KRT_MEASURED_ORDER, .order = KRT_ORDER_FIFO};
	cr_assert_eq(krt_probe_judge(&krt_sem_table[KRT_SEM_COPY_PEER], &m), KRT_PROBE_LESS);
	cr_assert_eq(krt_probe_judge(&krt_sem_table[KRT_SEM_LAUNCH], &m), KRT_PROBE_SAME);
}

/* What is documented stays, whatever was measured. */
Test(probe, a_measured_table_keeps_the_law)
{
	struct krt_measured none = {.measured = KRT_MEASURED_EDGE | KRT_MEASURED_SRC |
						KRT_MEASURED_READ | KRT_MEASURED_ORDER,
				    .read = KRT_READ_ANY_TIME};

	for (unsigned i = KRT_SEM_NONE + 1; i < KRT_NR_SEMS; i++) {
		struct krt_sem row = krt_sem_table[i];

		if (row.read[DOC] == KRT_READ_NEVER)
			none.read = KRT_READ_NEVER;
		else
			none.read = KRT_READ_ANY_TIME;
		krt_probe_take(&row, &none);
		cr_assert_eq(row.edge[OBS], row.edge[DOC], "%s", row.id);
		cr_assert_eq(row.order[OBS], row.order[DOC], "%s", row.id);
		cr_assert_geq(krt_sem_read_rank(row.read[OBS]), krt_sem_read_rank(row.read[DOC]), "%s", row.id);
	}
}

static char *written(const struct krt_sem *table, size_t *len)
{
	char *text = NULL;
	FILE *f = open_memstream(&text, len);

	cr_assert_eq(krt_semantics_write(f, "13.0 580.1", "A device", table, NULL), 0);
	fclose(f);
	return text;
}

Test(semantics_file, round_trip)
{
	struct krt_sem *table = malloc(sizeof(*table) * KRT_NR_SEMS);
	struct krt_semantics_file *f;
	char err[256] = "", *text;
	size_t len;

	memcpy(table, krt_sem_table, sizeof(*table) * KRT_NR_SEMS);
	table[KRT_SEM_ALLOC].edge[OBS] = KRT_EDGE_CONTEXT;
	text = written(table, &len);
	f = krt_semantics_parse("t", text, len, err, sizeof(err));
	cr_assert(f, "%s", err);
	cr_assert_str_eq(f->driver, "13.0 580.1");
	cr_assert_str_eq(f->device, "A device");
	for (unsigned i = 0; i < KRT_NR_SEMS; i++) {
		cr_assert_eq(f->row[i].edge[OBS], table[i].edge[OBS], "%s", table[i].id);
		cr_assert_eq(f->row[i].order[OBS], table[i].order[OBS], "%s", table[i].id);
		cr_assert_eq(f->row[i].read[OBS], table[i].read[OBS], "%s", table[i].id);
		cr_assert_eq(f->row[i].edge[DOC], table[i].edge[DOC], "%s", table[i].id);
	}
	free(f);
	free(text);
	free(table);
}

/* text with `was` replaced by `is` is refused with a message that holds `why`. */
static void refused(const char *was, const char *is, const char *why)
{
	struct krt_semantics_file *f;
	char err[512] = "", *text, *at, *bad;
	size_t len;

	text = written(krt_sem_table, &len);
	at = strstr(text, was);
	cr_assert(at, "%s", was);
	cr_assert_gt(asprintf(&bad, "%.*s%s%s", (int)(at - text), text, is, at + strlen(was)), 0);
	f = krt_semantics_parse("file", bad, strlen(bad), err, sizeof(err));
	cr_assert_null(f, "%s -> %s", was, is);
	cr_assert(!strncmp(err, "file", 4) && strstr(err, why), "%s", err);
	free(bad);
	free(text);
}

Test(semantics_file, mistakes)
{
	char err[256];

	refused("krtsan-semantics 1", "hello", "not a table");
	refused("krtsan-semantics 1", "krtsan-semantics 2", "version 2");
	refused("driver ", "# ", "names no driver");
	refused("device ", "# ", "names no device");
	refused("\nALLOC ", "\nALLOK ", "no such row");
	refused("\nALLOC ", "\n#", "has no row ALLOC");
	refused("\nALLOC ", "\nFREE_POOL ", "a second time");
	refused("FREE_DEVICE edge=context", "FREE_DEVICE edge=contest", "no such edge");
	refused("FREE_DEVICE edge=context", "FREE_DEVICE edge=context+", "no such edge");
	refused("FREE_DEVICE edge=context", "FREE_DEVICE", "wants edge=");
	refused("FREE_DEVICE edge=context", "FREE_DEVICE colour=red", "wants edge=");
	refused("CTX_SYNC edge=context", "CTX_SYNC edge=stream", "less than what is documented");
	refused("CTX_RECORD edge=none order=context", "CTX_RECORD edge=none order=fifo", "documented");
	refused("CTX_RECORD edge=none order=context", "CTX_RECORD edge=none order=x", "no such order");
	refused("ALLOC edge=none order=none read=never", "ALLOC edge=none order=none read=at-call", "source");
	refused("ALLOC edge=none order=none read=never", "ALLOC edge=none order=none read=x", "reading");
	cr_assert_null(krt_semantics_parse("e", "", 0, err, sizeof(err)));
	cr_assert_null(krt_semantics_parse("e", "krtsan-semantics 1\n\0x", 21, err, sizeof(err)));
	cr_assert_null(krt_semantics_load("/nowhere/at/all", err, sizeof(err)));
	cr_assert(strstr(err, "cannot be opened"));
}

Test(semantics_file, words)
{
	char text[KRT_SEM_TEXT];
	unsigned edge;

	for (unsigned i = 0; i < KRT_NR_SEMS; i++)
		for (unsigned v = 0; v < KRT_VIEWS; v++) {
			cr_assert(krt_edge_parse(krt_edge_text(krt_sem_table[i].edge[v], text), &edge));
			cr_assert_eq(edge, krt_sem_table[i].edge[v], "%s", krt_sem_table[i].id);
		}
	cr_assert_str_eq(krt_edge_text(KRT_EDGE_EARLIER | KRT_EDGE_SRC, text), "earlier+src");
	cr_assert_str_eq(krt_edge_text(KRT_EDGE_DEVICE, text), "device");
	cr_assert_str_eq(krt_edge_text(KRT_EDGE_NONE, text), "none");
}
