/* SPDX-License-Identifier: Apache-2.0 */
/*
 * krtsan doctor --probe: what the table of semantics says and what the driver
 * does, side by side.
 */
#define _GNU_SOURCE
#include "doctor.h"
#include "cli.h"
#include "probe.h"
#include "semantics_file.h"
#include "../reports/json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROBE_LESS 66 /* exit code: as of findings */

static const char *const mark[] = {
	[KRT_PROBE_SAME] = " ", [KRT_PROBE_MORE] = "+", [KRT_PROBE_LESS] = "!", [KRT_PROBE_UNKNOWN] = "?",
};
static const char *const word[] = {
	[KRT_PROBE_SAME] = "same", [KRT_PROBE_MORE] = "more", [KRT_PROBE_LESS] = "less",
	[KRT_PROBE_UNKNOWN] = "not measured",
};

struct text {
	char s[96];
};

/* "device", "op, fifo", "none, fifo, at-call": the edge, and the rest where there is some. */
static struct text cell(unsigned edge, enum krt_sem_order order, enum krt_sem_read read,
			unsigned measured)
{
	char name[KRT_SEM_TEXT];
	struct text t;
	size_t at;

	at = (size_t)snprintf(t.s, sizeof(t.s), "%s",
			      measured & KRT_MEASURED_EDGE ? krt_edge_text(edge, name) : "?");
	if (measured & KRT_MEASURED_ORDER && order != KRT_ORDER_NONE)
		at += (size_t)snprintf(t.s + at, sizeof(t.s) - at, ", %s", krt_sem_order_text(order));
	if (measured & KRT_MEASURED_READ && read != KRT_READ_NEVER)
		snprintf(t.s + at, sizeof(t.s) - at, ", %s", krt_sem_read_text(read));
	return t;
}

static struct text table_cell(const struct krt_sem *s, unsigned view)
{
	return cell(s->edge[view], s->order[view], s->read[view], ~0u);
}

static struct text measured_cell(const struct krt_measured *m)
{
	if (!m->measured)
		return (struct text){"-"};
	return cell(m->edge, m->order, m->read, m->measured);
}

static void text_line(const char *sign, const char *name, const struct krt_sem *s,
		      const struct krt_measured *m)
{
	struct text doc = table_cell(s, KRT_VIEW_DOC), obs = table_cell(s, KRT_VIEW_OBS),
		    is = measured_cell(m);

	printf("%s %-30s %-28s %-28s %s%s%s\n", sign, name, doc.s, obs.s, is.s, *m->note ? "  " : "",
	       m->note);
}

static void json_line(struct krt_json *j, const char *name, enum krt_probe_verdict v,
		      const struct krt_sem *s, const struct krt_measured *m)
{
	krt_json_open_flat(j, NULL, '{');
	krt_json_string(j, "row", s->id);
	krt_json_string(j, "call", name);
	krt_json_string(j, "verdict", word[v]);
	krt_json_string(j, "documented", table_cell(s, KRT_VIEW_DOC).s);
	krt_json_string(j, "table", table_cell(s, KRT_VIEW_OBS).s);
	krt_json_string(j, "measured", measured_cell(m).s);
	krt_json_string(j, "note", m->note);
	krt_json_close(j, '}');
}

/* Do all calls of the row answer alike? */
static bool alike(enum krt_sem_id row, const struct krt_measured *result)
{
	const struct krt_measured *first = NULL;

	for (unsigned i = 0; i < krt_nr_probes; i++) {
		const struct krt_measured *m = &result[i];

		if (krt_probes[i].row != row)
			continue;
		if (first && (strcmp(measured_cell(first).s, measured_cell(m).s) != 0 ||
			      strcmp(first->note, m->note) != 0))
			return false;
		first = m;
	}
	return true;
}

static void text_row(enum krt_sem_id row, const struct krt_measured *result, unsigned count[4])
{
	const struct krt_sem *s = krt_semantics(krt_sem_table, row);
	struct krt_measured all = krt_probe_row(row, result);
	enum krt_probe_verdict v = krt_probe_judge(s, &all);

	count[v]++;
	text_line(mark[v], s->id, s, &all);
	if (alike(row, result))
		return;
	for (unsigned i = 0; i < krt_nr_probes; i++) {
		const struct krt_measured *m = &result[i];

		if (krt_probes[i].row == row)
			printf("%s   %-86s %s%s%s\n", mark[krt_probe_judge(s, m)], krt_probes[i].call,
			       measured_cell(m).s, *m->note ? "  " : "", m->note);
	}
}

static const char *driver_text(const struct krt_probe_driver *d, char text[96])
{
	snprintf(text, 96, "%d.%d%s%s", d->version / 1000, d->version % 1000 / 10,
		 *d->release ? " " : "", d->release);
	return text;
}

static int write_table(const char *path, const struct krt_probe_driver *d,
		       const struct krt_measured *result)
{
	struct krt_sem *table = malloc(sizeof(*table) * KRT_NR_SEMS);
	const char *comment[KRT_NR_SEMS] = {0};
	char driver[96];
	FILE *out = fopen(path, "we");
	int r;

	if (!table || !out) {
		free(table);
		if (out)
			fclose(out);
		return krt_fail("doctor: %s: cannot be written: %s", path, strerror(errno));
	}
	memcpy(table, krt_sem_table, sizeof(*table) * KRT_NR_SEMS);
	for (unsigned i = KRT_SEM_NONE + 1; i < KRT_NR_SEMS; i++) {
		struct krt_measured m = krt_probe_row(i, result);

		if (krt_probe_judge(&table[i], &m) == KRT_PROBE_UNKNOWN)
			comment[i] = "not measured: as krtsan has it";
		krt_probe_take(&table[i], &m);
	}
	r = krt_semantics_write(out, driver_text(d, driver), d->device, table, comment);
	if (fclose(out) || r)
		r = krt_fail("doctor: %s: cannot be written: %s", path, strerror(errno));
	free(table);
	return r;
}

int krt_doctor_probe(bool sim, const char *write, bool as_json)
{
	struct krt_measured *result = calloc(krt_nr_probes, sizeof(*result));
	char *folder = sim ? krt_cli_simulator() : NULL, library[4200], err[600], driver[96];
	struct krt_probe_driver d;
	unsigned count[4] = {0};
	struct krt_json j;
	int r = KRT_EXIT_FAILED;

	if (!result) {
		krt_fail("doctor: out of memory");
		goto out;
	}
	if (sim && !folder) {
		krt_fail("doctor: the simulated driver was not found");
		goto out;
	}
	snprintf(library, sizeof(library), "%s/libcuda.so.1", folder ? folder : "");
	if (krt_probe_run(sim ? library : NULL, &d, result, err, sizeof(err))) {
		krt_fail("doctor: probe: %s", err);
		goto out;
	}
	if (as_json) {
		krt_json_begin(&j, stdout);
		krt_json_open(&j, NULL, '[');
		for (unsigned i = 0; i < krt_nr_probes; i++) {
			const struct krt_sem *s = krt_semantics(krt_sem_table, krt_probes[i].row);

			json_line(&j, krt_probes[i].call, krt_probe_judge(s, &result[i]), s, &result[i]);
		}
		krt_json_close(&j, ']');
		krt_json_end(&j);
	} else {
		printf("driver %s, %s, %s\n\n", driver_text(&d, driver), d.device, d.path);
		printf("  %-30s %-28s %-28s %s\n", "row", "documented", "table", "measured");
	}
	for (unsigned i = KRT_SEM_NONE + 1; i < KRT_NR_SEMS; i++) {
		struct krt_measured all = krt_probe_row(i, result);

		if (as_json)
			count[krt_probe_judge(krt_semantics(krt_sem_table, i), &all)]++;
		else
			text_row(i, result, count);
	}
	if (!as_json)
		printf("\n%u rows as the table has them, %u with more order (+), %u not measured (?), "
		       "%u where the\ntable claims an order that this driver does not give (!)\n",
		       count[KRT_PROBE_SAME], count[KRT_PROBE_MORE], count[KRT_PROBE_UNKNOWN],
		       count[KRT_PROBE_LESS]);
	r = count[KRT_PROBE_LESS] ? PROBE_LESS : 0;
	if (write && write_table(write, &d, result))
		r = KRT_EXIT_FAILED;
	if (fflush(stdout))
		r = KRT_EXIT_FAILED;
out:
	free(folder);
	free(result);
	return r;
}
