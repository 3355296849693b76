/* SPDX-License-Identifier: Apache-2.0 */
/*
 * krtsan record: the program under the library, its session folder kept as a
 * trace.  Nothing is read while it runs, so the files grow with the run; the
 * library is told so by `bound=0`, unless a bound was given.
 */
#define _GNU_SOURCE
#include "cli.h"
#include "engine.h"
#include "reader.h"
#include "../interposer/record.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

static unsigned long long folder_size(const char *dir, unsigned *processes)
{
	unsigned long long sum = 0;
	DIR *d = opendir(dir);
	struct dirent *e;
	struct stat st;

	*processes = 0;
	while (d && (e = readdir(d))) {
		size_t n = strlen(e->d_name);

		if (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
			continue;
		sum += (unsigned long long)st.st_blocks * 512;
		*processes += n > 5 && !strcmp(e->d_name + n - 5, ".proc");
	}
	if (d)
		closedir(d);
	return sum;
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
static int tell_gaps(const char *dir, bool bound)
{
	char err[256], lost[64];
	struct krt_reader *r = krt_reader_open(dir, false, err, sizeof(err));
	const char *why = NULL, *error = NULL;
	const struct krt_rec *rec;
	uint64_t dropped = 0;
	uint32_t trouble = 0;
	unsigned lane;
	size_t len;

	if (!r)
		return krt_fail("%s", err);
	for (int i = 0, n = krt_reader_scan(r); i < n; i++) {
		struct krt_proc_reader *p = krt_reader_process(r, i);

		krt_proc_next(p, &rec, &len, &lane); /* has its header read */
		trouble |= krt_proc_header(p)->trouble;
		dropped += krt_proc_dropped(p);
		error = error ? error : krt_proc_error(p);
	}
	why = krt_trouble_text(trouble);
	if (!why && error)
		why = krt_reader_full(r) ? krt_trouble_text(KRT_TROUBLE_SPACE) : error;
	if (!why && trouble & KRT_TROUBLE_DROPPED && !bound)
		why = "no room to keep them";
	/* where recording stopped, nobody counted any more */
	if (trouble & (KRT_TROUBLE_MEMORY | KRT_TROUBLE_BOUND) || error)
		snprintf(lost, sizeof(lost), "the rest was not recorded");
	else
		snprintf(lost, sizeof(lost), "%llu record%s lost", (unsigned long long)dropped,
			 dropped == 1 ? "" : "s");
	if (why || trouble & (KRT_TROUBLE_DROPPED | KRT_TROUBLE_BOUND))
		krt_fail("record: %s: the trace is INCOMPLETE: %s: %s", output,
			 why ? why : "the bound was reached", lost);
	krt_reader_close(r);
	return why ? KRT_EXIT_FAILED : 0;
}

int krt_cmd_record(int argc, char **argv)
{
	struct krt_options *o = malloc(sizeof(*o)), *def = malloc(sizeof(*def));
	unsigned long long size;
	struct krt_child child;
	unsigned processes;
	char *dir = NULL, marker[4200];
	int code, next, gaps;

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
	dir = realpath(output, NULL);
	krt_options_init(def);
	if (o->bound == def->bound)
		o->bound = 0;
	code = dir ? krt_child_start(&child, argv + next, dir, o, sim != NULL)
		   : krt_fail("record: no memory");
	if (code) {
		rmdir(output);
		goto out;
	}
	while (!child.exited)
		krt_child_wait(&child, -1);
	krt_child_end(&child);
	krt_child_hint(&child, sim != NULL);
	code = child.code;
	size = folder_size(dir, &processes);
	if (!processes) {
		int fd;

		snprintf(marker, sizeof(marker), "%s/" KRT_NO_PROCESS, dir);
		fd = open(marker, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		if (fd >= 0)
			close(fd);
		fprintf(stderr, "krtsan: record: %s: no CUDA call seen, nothing recorded\n",
			output);
	} else {
		fprintf(stderr, "krtsan: record: %s: %.1f MiB, %u process%s; krtsan analyze %s\n",
			output, (double)size / (1 << 20), processes, processes == 1 ? "" : "es",
			output);
		gaps = tell_gaps(dir, o->bound != 0);
		code = code ? code : gaps;
	}
out:
	free(dir);
	free(def);
	free(o);
	return code;
}
