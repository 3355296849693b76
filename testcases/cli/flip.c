/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Damages a recorded trace in many ways and analyses each: flip TRACE [STEP].
 * Every STEPth byte of every file is changed, and every file is cut at many
 * places.  There is nothing to compare: it must end, and without a crash (or a
 * word from a sanitizer, where it is built with one).  Prints how many traces
 * were analysed and how many of them were known to be damaged; ends with 1 if
 * none was.
 */
#define _GNU_SOURCE
#include "../../analyzer/known.h"
#include "../../analyzer/session.h"
#include "../../interposer/record.h"
#include "../../reports/report.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/krt-flip.XXXXXX";
static struct krt_options options;
static unsigned long analysed, noticed;

static char *load(const char *path, size_t *n)
{
	FILE *f = fopen(path, "r");
	struct stat st;
	char *b;

	if (!f || fstat(fileno(f), &st)) {
		perror(path);
		exit(3);
	}
	b = malloc((size_t)st.st_size + 1);
	*n = b ? fread(b, 1, (size_t)st.st_size, f) : 0;
	fclose(f);
	return b;
}

static void save(const char *path, const char *b, size_t n)
{
	FILE *f = fopen(path, "w");

	if (!f || fwrite(b, 1, n, f) != n || fclose(f)) {
		perror(path);
		exit(3);
	}
}

static void analyse(void)
{
	struct krt_known *known = krt_known_new(2); /* what explain-kernel gathers */
	struct krt_session *s;
	struct krt_report *r;
	char err[512];
	FILE *null = fopen("/dev/null", "w");

	s = krt_session_open(dir, false, &options, err, sizeof(err));
	if (s && null && known) {
		krt_session_watch(s, krt_known_watch(known));
		while (krt_session_step(s, 1000))
			;
		r = krt_session_report(s);
		if (r) {
			krt_write_text(null, r,
				       &(struct krt_writer){.pid = 1, .full_stacks = true});
			krt_write_json(null, r, &(struct krt_writer){ .pid = 1 });
		}
		analysed++;
		noticed += krt_session_problem(s, 0) != NULL;
		krt_report_destroy(r);
		krt_session_close(s);
	}
	krt_known_free(known);
	if (null)
		fclose(null);
}

/* The part of a file that means something. */
static size_t used(const char *name, size_t n, const char *b)
{
	size_t k = strlen(name), end = n;

	if (k > 5 && !strcmp(name + k - 5, ".proc"))
		return offsetof(struct krt_proc, slot) + 8 * sizeof(struct krt_slot);
	while (end && !b[end - 1]) /* lanes are allocated ahead */
		end--;
	return end + 8 < n ? end + 8 : n;
}

int main(int argc, char **argv)
{
	size_t step = argc > 2 ? (size_t)atoi(argv[2]) : 1;
	struct dirent *e;
	DIR *d = argc > 1 ? opendir(argv[1]) : NULL;
	char *name[64];
	unsigned files = 0;

	if (!d || !step || !mkdtemp(dir)) {
		fprintf(stderr, "usage: flip TRACE [STEP]\n");
		return 3;
	}
	krt_options_init(&options);
	while (files < 64 && (e = readdir(d))) {
		char from[4096], to[4096], *b;
		size_t n;

		if (e->d_name[0] == '.')
			continue;
		name[files++] = strdup(e->d_name);
		snprintf(from, sizeof(from), "%s/%s", argv[1], e->d_name);
		snprintf(to, sizeof(to), "%s/%s", dir, e->d_name);
		b = load(from, &n);
		save(to, b, n);
		free(b);
	}
	closedir(d);
	analyse();
	if (noticed)
		fprintf(stderr, "flip: the trace is damaged already\n");
	for (unsigned k = 0; k < files; k++) {
		char path[4096], *b;
		size_t n, end;

		snprintf(path, sizeof(path), "%s/%s", dir, name[k]);
		b = load(path, &n);
		end = used(name[k], n, b);
		for (size_t i = 0; i < end && i < n; i += step) {
			char old = b[i];

			b[i] = (char)(old ^ "\xff\x01\x80\x10"[i / step % 4]);
			save(path, b, n);
			b[i] = old;
			analyse();
		}
		for (size_t i = 0; i < end && i < n; i += 64 * step) {
			save(path, b, i);
			analyse();
		}
		unlink(path);
		analyse();
		save(path, b, n);
		free(b);
	}
	for (unsigned k = 0; k < files; k++) {
		char path[4096];

		snprintf(path, sizeof(path), "%s/%s", dir, name[k]);
		unlink(path);
		free(name[k]);
	}
	rmdir(dir);
	printf("%lu analysed, %lu known to be damaged\n", analysed, noticed);
	return !noticed;
}
