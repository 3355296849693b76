/* SPDX-License-Identifier: Apache-2.0 */
/*
 * krtsan record: the program under the library, its records kept as a trace.
 *
 * We read what the processes of the tree record while they run, as `krtsan run` does,
 * and write it compressed (packed.h).  The program never waits for the disk: what we
 * cannot write soon enough fills the lanes, and there on_full= holds.  When the trace
 * cannot be written any more we go on reading, count what is lost, and say so.
 */
#define _GNU_SOURCE
#include "cli.h"
#include "engine.h"
#include "guard.h"
#include "packed.h"
#include "reader.h"
#include "../interposer/api.h"
#include "../interposer/library.h"
#include "../interposer/record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char *output = "run.krt", *sim;
static const struct krt_flag flags[] = {
	{"o", "PATH", "the trace, a folder (default run.krt); an older trace there is replaced",
	 &output},
	{"output", "PATH", "the same", &output},
	{"sim", NULL, "on the simulated driver: no GPU needed", &sim},
	{NULL},
};
static const struct krt_usage usage = {
	.command = "record",
	.args = "[-o PATH] [options] -- PROGRAM [ARGS]",
	.about = "Runs PROGRAM under the library and keeps what it recorded, for `krtsan analyze "
		 "PATH`.\n"
		 "Exit code: the program's; 125/126/127: krtsan failed (also: the trace is "
		 "incomplete),\n"
		 "not executable, not found.",
	.flags = flags,
	.options = true,
};

#define FLUSH_NS 1000000000u /* what waits longer is written: a kill loses no more than that */

/* One process of the tree. */
struct kept {
	struct krt_proc_reader *p;
	struct krt_packer *packer; /* NULL: it has not begun, or it cannot be written */
	uint64_t size, lost;
	int error; /* why it is not all there: negative errno */
	bool begun, done;
};

struct recording {
	struct krt_reader *reader;
	int out;
	struct kept *kept;
	unsigned n;
	const char *stopped;
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void begin(struct recording *r, struct kept *k)
{
	k->begun = true;
	k->packer = krt_packer_new(r->out, krt_proc_name(k->p));
	if (!k->packer)
		k->error = -errno;
	else
		k->error = krt_packer_process(k->packer, krt_proc_header(k->p), 0, false);
}

static bool is_full(int error)
{
	return error == -ENOSPC || error == -EDQUOT || error == -EFBIG;
}

/* How it ended, and what is missing. */
static void end(struct recording *r, struct kept *k)
{
	struct krt_proc *h = malloc(sizeof(*h));

	k->done = true;
	if (!h)
		return;
	*h = *krt_proc_header(k->p);
	if (krt_proc_unborn(k->p)) {
		h->magic = KRT_TRACE_MAGIC;
		h->version = KRT_TRACE_VERSION;
		h->api_hash = krt_tables_hash();
		h->trouble |=
			KRT_TROUBLE_MEMORY | (krt_reader_full(r->reader) ? KRT_TROUBLE_SPACE : 0);
	}
	if (!k->begun && (h->pid || krt_proc_unborn(k->p)))
		begin(r, k);
	if (!k->error && k->packer)
		k->error = krt_packer_flush(k->packer);
	if (krt_proc_error(k->p))
		h->trouble |= KRT_TROUBLE_INTERNAL;
	if (k->error)
		h->trouble |= KRT_TROUBLE_MEMORY | (is_full(k->error) ? KRT_TROUBLE_SPACE : 0);
	if (k->packer) {
		k->lost = krt_packer_lost(k->packer);
		/* the frame that did not fit may have left room for this small one */
		krt_packer_process(k->packer, h, krt_proc_dropped(k->p) + k->lost, true);
		k->size = krt_packer_size(k->packer);
		krt_packer_free(k->packer);
		k->packer = NULL;
	}
	free(h);
}

static size_t take(struct recording *r, struct kept *k, size_t budget)
{
	const struct krt_rec *rec;
	unsigned lane;
	size_t n = 0, len;
	int next = 0;

	while (n < budget && (next = krt_proc_next(k->p, &rec, &len, &lane)) > 0) {
		n++;
		if (!k->begun)
			begin(r, k);
		if (k->packer)
			k->error = krt_packer_add(k->packer, rec, len, lane);
		else
			k->lost++;
	}
	if (!k->begun && krt_proc_header(k->p)->pid && !krt_proc_unborn(k->p))
		begin(r, k);
	if (n < budget && (next < 0 || krt_proc_dead(k->p)))
		end(r, k);
	else if (!k->error && k->packer && krt_packer_since(k->packer) &&
		 now_ns() - krt_packer_since(k->packer) > FLUSH_NS)
		k->error = krt_packer_flush(k->packer);
	return n;
}

static size_t step(void *user, size_t budget)
{
	struct recording *r = user;
	unsigned all = (unsigned)krt_reader_scan(r->reader);
	struct kept *list;
	size_t n = 0;

	if (r->stopped)
		return 0;
	list = all > r->n ? realloc(r->kept, all * sizeof(*list)) : NULL;
	if (list) {
		r->kept = list;
		for (; r->n < all; r->n++)
			list[r->n] = (struct kept){.p = krt_reader_process(r->reader, (int)r->n)};
	}
	for (unsigned i = 0; i < r->n; i++)
		if (!r->kept[i].done)
			n += take(r, &r->kept[i], budget / r->n + 1);
	return n;
}

static unsigned alive(void *user)
{
	const struct recording *r = user;
	unsigned n = 0;

	for (unsigned i = 0; i < r->n; i++)
		n += !r->kept[i].done && krt_proc_header(r->kept[i].p)->state != KRT_PROC_EXEC;
	return n;
}

static void stop(void *user, const char *why)
{
	struct recording *r = user;

	r->stopped = why;
	for (unsigned i = 0; i < r->n; i++)
		krt_proc_leave(r->kept[i].p);
}

/* The folder for the trace: new, empty, or an older trace's. */
static int prepare(const char *path)
{
	if (!mkdir(path, 0700))
		return 0;
	if (errno != EEXIST)
		return krt_fail("record: %s: %s", path, strerror(errno));
	if (!rmdir(path) || (krt_session_is_trace(path) && !krt_session_remove(path)))
		return mkdir(path, 0700) ? krt_fail("record: %s: %s", path, strerror(errno)) : 0;
	return krt_fail("record: %s: exists and is no trace: not touched", path);
}

/*
 * Says what is missing in the trace.  Returns KRT_EXIT_FAILED where that is our failure, and not
 * what the user's own bound= was to do.
 */
static int tell_gaps(const struct recording *r, bool bound)
{
	const char *why, *error = NULL;
	uint64_t dropped = 0;
	uint32_t trouble = 0;
	bool cut = false;
	char lost[64];

	for (unsigned i = 0; i < r->n; i++) {
		const struct kept *k = &r->kept[i];

		trouble |= krt_proc_header(k->p)->trouble;
		if (k->error || krt_proc_unborn(k->p)) {
			trouble |= KRT_TROUBLE_MEMORY;
			if (is_full(k->error) || (!k->error && krt_reader_full(r->reader)))
				trouble |= KRT_TROUBLE_SPACE;
			cut = true;
		}
		dropped += krt_proc_dropped(k->p) + k->lost;
		error = error ? error : krt_proc_error(k->p);
		error = error || !k->error ? error : strerror(-k->error);
	}
	why = trouble & KRT_TROUBLE_SPACE || !error ? krt_trouble_text(trouble) : error;
	if (!why && trouble & KRT_TROUBLE_DROPPED && !bound)
		why = "no room to keep them";
	/* where recording stopped, nobody counted any more */
	if (trouble & (KRT_TROUBLE_MEMORY | KRT_TROUBLE_BOUND) || error || cut)
		snprintf(lost, sizeof(lost), "the rest was not recorded");
	else
		snprintf(lost, sizeof(lost), "%llu record%s lost", (unsigned long long)dropped,
			 dropped == 1 ? "" : "s");
	if (why || trouble & (KRT_TROUBLE_DROPPED | KRT_TROUBLE_BOUND))
		krt_fail("record: %s: the trace is INCOMPLETE: %s: %s", output,
			 why ? why : "the bound was reached", lost);
	return why ? KRT_EXIT_FAILED : 0;
}

/* In a folder where nobody recorded. */
static void mark_empty(const struct recording *r)
{
	int fd = openat(r->out, KRT_NO_PROCESS, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	if (fd >= 0)
		close(fd);
	fprintf(stderr, "krtsan: record: %s: no CUDA call seen, nothing recorded\n", output);
}

/* Runs the program.  Its exit code, or ours. */
static int run(char **argv, const char *dir, const struct krt_options *o, bool bound)
{
	struct recording r = {.out = open(output, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
	uint64_t size = 0;
	unsigned processes = 0;
	struct krt_child child;
	char err[256];
	int code, gaps;

	r.reader = krt_reader_open(dir, true, err, sizeof(err));
	if (!r.reader || r.out < 0) {
		code = r.reader ? krt_fail("record: %s: %s", output, strerror(errno))
				: krt_fail("%s", err);
		goto out;
	}
	code = krt_child_start(&child, argv, dir, o, sim != NULL);
	if (code) {
		rmdir(output);
		goto out;
	}
	krt_child_follow(&child, dir, &(struct krt_follower){step, alive, stop, &r});
	for (unsigned i = 0; i < r.n; i++) {
		if (!r.kept[i].done)
			end(&r, &r.kept[i]);
		size += r.kept[i].size;
		processes += r.kept[i].begun;
	}
	krt_child_end(&child);
	krt_child_hint(&child, sim != NULL);
	code = child.code;
	if (!processes) {
		mark_empty(&r);
	} else {
		fprintf(stderr, "krtsan: record: %s: %.1f MiB, %u process%s; krtsan analyze %s\n",
			output, (double)size / (1 << 20), processes, processes == 1 ? "" : "es",
			output);
		gaps = tell_gaps(&r, bound);
		code = code ? code : gaps;
	}
out:
	for (unsigned i = 0; i < r.n; i++)
		krt_packer_free(r.kept[i].packer);
	free(r.kept);
	krt_reader_close(r.reader);
	if (r.out >= 0)
		close(r.out);
	return code;
}

int krt_cmd_record(int argc, char **argv)
{
	struct krt_options *o = malloc(sizeof(*o)), *def = malloc(sizeof(*def));
	char *dir = NULL, err[2048];
	int code, next;

	if (!o || !def) {
		code = krt_fail("record: no memory");
		goto out;
	}
	next = krt_cli_parse(&usage, argc, argv, o, &code);
	if (next < 0)
		goto out;
	if (next == argc) {
		code = krt_fail("record: no program given; usage: krtsan record %s", usage.args);
		goto out;
	}
	code = prepare(output);
	if (code)
		goto out;
	dir = krt_session_folder(o, err, sizeof(err));
	if (!dir) {
		code = krt_fail("%s", err);
		rmdir(output);
		goto out;
	}
	krt_guard_folder(dir);
	krt_options_init(def);
	code = run(argv + next, dir, o, o->bound != def->bound);
	krt_session_remove(dir);
	krt_guard_folder(NULL);
out:
	free(dir);
	free(def);
	free(o);
	return code;
}
