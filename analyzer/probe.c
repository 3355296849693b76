/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probing a driver, outside (probe.h): starts the child, starts another one
 * after the probe where it ended or hung, and holds answers against the table.
 */
#define _GNU_SOURCE
#include "probe.h"
#include "probe_child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE 30000 /* ms for one probe */

const struct krt_probe_row krt_probes[] = {
#define KRT_PROBE(row_, call_, kind_, ...) {KRT_SEM_##row_, call_, KRT_PROBE_##kind_ == KRT_PROBE_ASIDE},
#define KRT_PROBE_COPY(row_, call_, ...) {KRT_SEM_##row_, call_, false},
#define KRT_PROBE_SET(row_, call_, ...)	 {KRT_SEM_##row_, call_, false},
#include "probe.def"
};
const unsigned krt_nr_probes = sizeof(krt_probes) / sizeof(*krt_probes);

const char *krt_unprobed(enum krt_sem_id row)
{
	switch (row) {
#define KRT_UNPROBED(row_, why)                                                                    \
	case KRT_SEM_##row_:                                                                       \
		return why;
#include "probe.def"
	default:
		return NULL;
	}
}

/* --- the child --- */

struct child {
	pid_t pid;
	int fd;
	char *at; /* shared: what it was doing */
};

static bool start(struct child *c, const char *library, unsigned first)
{
	int fd[2], null;

	c->at[0] = 0;
	if (pipe2(fd, O_CLOEXEC))
		return false;
	fflush(NULL);
	c->pid = fork();
	if (!c->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		null = open("/dev/null", O_WRONLY | O_CLOEXEC);
		if (null >= 0 && !getenv("KRTSAN_PROBE_STDERR"))
			dup2(null, STDERR_FILENO);
		krt_probe_child(library, first, fd[1], c->at);
		_exit(0); /* no exit handlers: the driver may be in any state */
	}
	close(fd[1]);
	c->fd = fd[0];
	if (c->pid < 0)
		close(fd[0]);
	return c->pid > 0;
}

/* All n bytes: 1; 0: it ended; -1: it took too long. */
static int take(const struct child *c, void *data, size_t n)
{
	size_t got = 0;

	while (got < n) {
		struct pollfd p = {c->fd, POLLIN, 0};
		int r = poll(&p, 1, PATIENCE);
		ssize_t k;

		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			return -1;
		k = read(c->fd, (char *)data + got, n - got);
		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return 0;
		got += (size_t)k;
	}
	return 1;
}

/* Its status. */
static int end(struct child *c, bool hung)
{
	int status = 0;

	if (hung)
		kill(c->pid, SIGKILL);
	while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
		;
	close(c->fd);
	return status;
}

int krt_probe_run(const char *library, struct krt_probe_driver *d, struct krt_measured *result,
		  char *err, size_t errlen)
{
	struct child c = {.at = mmap(NULL, KRT_PROBE_AT, PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0)};
	unsigned i = 0;

	if (c.at == MAP_FAILED) {
		snprintf(err, errlen, "no memory: %s", strerror(errno));
		return -1;
	}
	while (i < krt_nr_probes) {
		unsigned from = i;
		int r, status;

		if (!start(&c, library, i)) {
			snprintf(err, errlen, "no process: %s", strerror(errno));
			return -1;
		}
		r = take(&c, d, sizeof(*d));
		if (r > 0 && !d->version) {
			end(&c, false);
			d->path[sizeof(d->path) - 1] = 0;
			snprintf(err, errlen, "%s", d->path);
			return -1;
		}
		while (r > 0 && i < krt_nr_probes && (r = take(&c, &result[i], sizeof(*result))) > 0)
			i++;
		status = end(&c, r < 0);
		if (i == krt_nr_probes)
			break;
		if (r > 0 || (!status && i > from))
			continue; /* it gave up behind a probe that broke its context */
		memset(&result[i], 0, sizeof(*result));
		if (r < 0)
			snprintf(result[i].note, sizeof(result[i].note), "it hung %.*s",
				 KRT_PROBE_AT - 1, c.at);
		else if (WIFSIGNALED(status))
			snprintf(result[i].note, sizeof(result[i].note), "the process ended by signal %d %.*s",
				 WTERMSIG(status), KRT_PROBE_AT - 1, c.at);
		else
			snprintf(result[i].note, sizeof(result[i].note), "the process ended %.*s",
				 KRT_PROBE_AT - 1, c.at);
		i++;
	}
	return 0;
}

/* --- answers --- */

struct krt_measured krt_probe_row(enum krt_sem_id row, const struct krt_measured *result)
{
	struct krt_measured all = {0};
	const char *none = krt_unprobed(row);

	if (none)
		snprintf(all.note, sizeof(all.note), "%s", none);
	for (unsigned i = 0; i < krt_nr_probes; i++) {
		const struct krt_measured *m = &result[i];
		unsigned both = all.measured & m->measured, first = m->measured & ~all.measured;

		if (krt_probes[i].row != row)
			continue;
		if (*m->note && !*all.note && !krt_probes[i].aside)
			snprintf(all.note, sizeof(all.note), "%s", m->note);
		if (first & KRT_MEASURED_EDGE)
			all.edge = m->edge;
		else if (both & KRT_MEASURED_EDGE)
			all.edge &= m->edge;
		if (first & KRT_MEASURED_READ ||
		    (both & KRT_MEASURED_READ && krt_sem_read_rank(m->read) < krt_sem_read_rank(all.read)))
			all.read = m->read;
		if (first & KRT_MEASURED_ORDER ||
		    (both & KRT_MEASURED_ORDER && m->order < all.order))
			all.order = m->order;
		all.measured |= m->measured;
	}
	return all;
}

/* The bits of an edge that were looked at; a call without a source reads none. */
static unsigned edge_bits(const struct krt_sem *row, const struct krt_measured *m)
{
	bool source = m->measured & KRT_MEASURED_SRC || KRT_EDGE_HAS(m->edge, KRT_EDGE_OP) ||
		      row->read[KRT_VIEW_DOC] == KRT_READ_NEVER;

	return source ? ~0u : ~(unsigned)KRT_EDGE_SRC;
}

enum krt_probe_verdict krt_probe_judge(const struct krt_sem *table, const struct krt_measured *m)
{
	const unsigned obs = KRT_VIEW_OBS;
	bool less = false, more = false;

	if (!(m->measured & (KRT_MEASURED_EDGE | KRT_MEASURED_READ | KRT_MEASURED_ORDER)))
		return KRT_PROBE_UNKNOWN;
	if (m->measured & KRT_MEASURED_EDGE) {
		less |= table->edge[obs] & ~m->edge & edge_bits(table, m);
		more |= m->edge & ~table->edge[obs] & edge_bits(table, m);
	}
	if (m->measured & KRT_MEASURED_READ) {
		less |= krt_sem_read_rank(table->read[obs]) > krt_sem_read_rank(m->read);
		more |= krt_sem_read_rank(table->read[obs]) < krt_sem_read_rank(m->read);
	}
	if (m->measured & KRT_MEASURED_ORDER) {
		less |= table->order[obs] > m->order;
		more |= table->order[obs] < m->order;
	}
	return less ? KRT_PROBE_LESS : more ? KRT_PROBE_MORE : KRT_PROBE_SAME;
}

void krt_probe_take(struct krt_sem *row, const struct krt_measured *m)
{
	const unsigned obs = KRT_VIEW_OBS, doc = KRT_VIEW_DOC;

	if (m->measured & KRT_MEASURED_EDGE)
		row->edge[obs] = (m->edge & edge_bits(row, m)) | (row->edge[obs] & ~edge_bits(row, m)) |
				 row->edge[doc];
	if (m->measured & KRT_MEASURED_READ)
		row->read[obs] = krt_sem_read_rank(m->read) > krt_sem_read_rank(row->read[doc]) ?
					 m->read :
					 row->read[doc];
	if (m->measured & KRT_MEASURED_ORDER)
		row->order[obs] = m->order > row->order[doc] ? m->order : row->order[doc];
}
