/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Report destinations and the exit code (output.h).
 */
#define _GNU_SOURCE
#include "output.h"
#include "report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXIT_INCONCLUSIVE 67

/* FORMAT:PATH -> format and path. */
static const struct krt_format *split(const char *item, const char **path)
{
	const char *colon = strchr(item, ':');

	*path = colon && colon[1] ? colon + 1 : NULL;
	return krt_format_by_name(item, colon ? (size_t)(colon - item) : strlen(item));
}

static bool good_path(const char *path)
{
	for (; *path; path++)
		if (*path == '%') {
			path++;
			if (*path != 'p' && *path != '%')
				return false;
		}
	return true;
}

static bool per_process(const char *path)
{
	for (; *path; path++)
		if (*path == '%' && *++path == 'p')
			return true;
	return false;
}

static int check_item(const char *item, bool needs_path, char *err, size_t errlen)
{
	const char *path;

	if (!split(item, &path)) {
		int n = snprintf(err, errlen, "report: %s: unknown format, known are:", item);

		for (const struct krt_format *f = krt_formats; f->name && (size_t)n < errlen; f++)
			n += snprintf(err + n, errlen - (size_t)n, " %s", f->name);
		return -1;
	}
	if (!path && needs_path) {
		snprintf(err, errlen, "report: %s: wants FORMAT:PATH", item);
		return -1;
	}
	if (path && !good_path(path)) {
		snprintf(err, errlen, "report: %s: only %%p (the pid) and %%%% may follow a %%",
			 item);
		return -1;
	}
	return 0;
}

int krt_output_check(const struct krt_options *o, char *err, size_t errlen)
{
	if (!good_path(o->log_path)) {
		snprintf(err, errlen,
			 "report: log_path=%s: only %%p (the pid) and %%%% may follow a %%",
			 o->log_path);
		return -1;
	}
	for (unsigned i = 0; i < o->report.count; i++)
		if (check_item(o->report.item[i], true, err, errlen))
			return -1;
	return 0;
}

int krt_output_check_list(const struct krt_option_list *to, char *err, size_t errlen)
{
	for (unsigned i = 0; i < to->count; i++)
		if (check_item(to->item[i], false, err, errlen))
			return -1;
	return 0;
}

bool krt_output_timeline(const struct krt_options *o)
{
	for (unsigned i = 0; i < o->report.count; i++) {
		const char *path;
		const struct krt_format *f = split(o->report.item[i], &path);

		if (f && f->timeline)
			return true;
	}
	return false;
}

static char *expand(const char *path, int pid, const char *suffix)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	bool has = per_process(path);

	if (!f)
		return NULL;
	for (; *path; path++) {
		if (*path != '%')
			fputc(*path, f);
		else if (*++path == 'p')
			fprintf(f, "%d", pid);
		else
			fputc('%', f);
	}
	if (suffix && !has)
		fputs(suffix, f);
	if (fclose(f)) {
		free(text);
		return NULL;
	}
	return text;
}

/* Would opening it for writing work?  0 or errno; nothing is made or changed. */
static int writable(const char *name)
{
	const char *slash = strrchr(name, '/');
	char *folder;
	struct stat st;
	int err;

	if (!stat(name, &st)) {
		if (S_ISDIR(st.st_mode))
			return EISDIR;
		return faccessat(AT_FDCWD, name, W_OK, AT_EACCESS) ? errno : 0;
	}
	if (errno != ENOENT || !*name)
		return errno;
	if (slash && !slash[1])
		return EISDIR;
	folder = slash ? strndup(name, slash == name ? 1 : (size_t)(slash - name)) : strdup(".");
	if (!folder)
		return ENOMEM;
	err = faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) ? errno : 0;
	free(folder);
	return err;
}

/* A folder that has the pid in its name is not there yet: found out when it is written. */
static bool per_process_folder(const char *path)
{
	const char *slash = strrchr(path, '/');

	for (; slash && path < slash; path++)
		if (*path == '%' && *++path == 'p')
			return true;
	return false;
}

static int probe(const char *what, const char *path, char *err, size_t errlen)
{
	char *name;
	int e;

	if (!strcmp(path, "-") || !strcmp(path, "stderr") || !strcmp(path, "stdout") ||
	    per_process_folder(path))
		return 0;
	name = expand(path, getpid(), NULL);
	e = name ? writable(name) : ENOMEM;
	if (e)
		snprintf(err, errlen, "%s: %s: cannot be written: %s", what, name ? name : path,
			 strerror(e));
	free(name);
	return e ? -1 : 0;
}

int krt_output_probe(const struct krt_options *o, char *err, size_t errlen)
{
	const char *path;

	if (probe("report: log_path", o->log_path, err, errlen))
		return -1;
	for (unsigned i = 0; i < o->report.count; i++)
		if (split(o->report.item[i], &path) && path && probe("report", path, err, errlen))
			return -1;
	return 0;
}

static bool wants_color(const struct krt_options *o, int fd)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	if (o->color != KRT_COLOR_auto)
		return o->color == KRT_COLOR_always;
	return isatty(fd) && !(no && *no) && term && strcmp(term, "dumb");
}

/* Of the terminal that the text goes to; 0: it goes elsewhere. */
static unsigned columns(int fd)
{
	struct winsize size;

	return isatty(fd) && !ioctl(fd, TIOCGWINSZ, &size) ? size.ws_col : 0;
}

/* What paths of sources are shown relative to; free() it. */
static char *source_root(const struct krt_options *o)
{
	const char *given = o->source_root;
	char *whole;

	if (!*given)
		return getcwd(NULL, 0);
	if (*given == '/') /* as compilers wrote it, also where no such folder is here */
		return strdup(given);
	whole = realpath(given, NULL);
	return whole ? whole : strdup(given);
}

/*
 * What paths in SARIF are relative to: source_root where it is given, else the nearest folder
 * at or above the working directory that holds a .git, else that directory; free() it.
 */
static char *repository(const struct krt_options *o, const char *root)
{
	size_t n = root ? strlen(root) : 0;
	char *path = n ? malloc(n + sizeof("/.git")) : NULL;

	while (path && !*o->source_root && n) {
		memcpy(path, root, n);
		strcpy(path + n, "/.git");
		if (!access(path, F_OK)) {
			path[n] = 0;
			return path;
		}
		while (n && root[--n] != '/')
			;
	}
	free(path);
	return root ? strdup(root) : NULL;
}

/* Of findings that fail the run; false: none does. */
static bool least_level(const struct krt_options *o, enum krt_level *least)
{
	switch (o->fail_on) {
	case KRT_FAIL_ON_error: *least = KRT_LEVEL_ERROR; return true;
	case KRT_FAIL_ON_warning: *least = KRT_LEVEL_WARNING; return true;
	case KRT_FAIL_ON_note: *least = KRT_LEVEL_NOTE; return true;
	default: return false;
	}
}

static int write_one(const struct krt_report *r, const struct krt_options *o,
		     const struct krt_format *format, const char *path, int pid, const char *suffix)
{
	static const enum krt_confidence show[] = {
		[KRT_SHOW_certain] = KRT_CERTAIN,
		[KRT_SHOW_likely] = KRT_LIKELY,
		[KRT_SHOW_possible] = KRT_POSSIBLE,
	};
	struct krt_writer w = {
		.show = show[o->show], .full_stacks = o->verbosity > 0, .pid = pid,
	};
	char *name = NULL, *root = NULL, *above = NULL;
	FILE *f;
	int fd, err = -1;

	w.fails = least_level(o, &w.fail_level);
	w.needs_complete = o->require == KRT_REQUIRE_complete;
	w.exit_code = krt_output_exit_code(r, o, r->program_exit);
	w.category = o->category;
	w.suppressed = o->sarif_suppressed;

	if (!strcmp(path, "-") || !strcmp(path, "stderr")) {
		fd = dup(STDERR_FILENO);
	} else if (!strcmp(path, "stdout")) {
		fd = dup(STDOUT_FILENO);
	} else {
		name = expand(path, pid, suffix);
		fd = name ? open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666)
			  : -1;
	}
	if (fd < 0 && !name && errno == EBADF)
		return 0; /* the user closed stderr: nobody wants to read it */
	f = fd >= 0 ? fdopen(fd, "w") : NULL;
	if (!f) {
		fprintf(stderr, "krtsan: report: %s: cannot be written: %s\n", name ? name : path,
			strerror(errno));
		if (fd >= 0)
			close(fd);
		goto out;
	}
	/* In one piece, as far as may be: other processes write to the same terminal. */
	setvbuf(f, NULL, _IOFBF, 1 << 16);
	w.color = wants_color(o, fd);
	w.columns = columns(fd);
	w.strip = root = source_root(o);
	w.repository = above = repository(o, root);
	err = format->write(f, r, &w);
	if (fclose(f))
		err = -1;
	if (err)
		fprintf(stderr, "krtsan: report: %s: cannot be written: %s\n", name ? name : path,
			strerror(errno));
	else if (name && suffix && !per_process(path))
		fprintf(stderr, "krtsan: report: %s is another process's: written to %s\n", path, name);
out:
	free(above);
	free(root);
	free(name);
	return err;
}

/* Those of one process; free()d by the caller, NULL: no memory. */
static struct krt_finding *findings_of(int pid, const struct krt_finding *from, size_t n,
				       size_t *found)
{
	struct krt_finding *f = calloc(n + 1, sizeof(*f));

	*found = 0;
	for (size_t i = 0; f && i < n; i++)
		if (from[i].pid == pid)
			f[(*found)++] = from[i];
	return f;
}

static void free_part(struct krt_report *one)
{
	free(one->finding);
	free(one->suppressed);
}

/* One process's part of the report, sharing its strings. */
static bool part(const struct krt_report *r, size_t i, struct krt_report *one)
{
	int pid = r->process[i].pid;

	*one = *r;
	one->process = &r->process[i];
	one->nprocesses = 1;
	if (r->nprocesses > 1)
		one->orders_tried = 0; /* what is left was counted over all processes */
	one->finding = findings_of(pid, r->finding, r->nfindings, &one->nfindings);
	one->suppressed = findings_of(pid, r->suppressed, r->nsuppressed, &one->nsuppressed);
	if (one->finding && one->suppressed)
		return true;
	free_part(one);
	return false;
}

static int write_all(const struct krt_report *r, const struct krt_options *o,
		     const struct krt_format *format, const char *path, int pid, const char *suffix)
{
	int bad = 0;

	if (!per_process(path) || !r->nprocesses)
		return write_one(r, o, format, path, pid, suffix) != 0;
	for (size_t i = 0; i < r->nprocesses; i++) {
		struct krt_report one;

		if (!part(r, i, &one)) {
			fprintf(stderr, "krtsan: report: %s: no memory\n", path);
			bad++;
			continue;
		}
		bad += write_one(&one, o, format, path, r->process[i].pid, suffix) != 0;
		free_part(&one);
	}
	return bad;
}

int krt_output(const struct krt_report *r, const struct krt_options *o, int pid, const char *suffix)
{
	const struct krt_format *text = krt_format_by_name("text", 4);
	int bad = write_all(r, o, text, o->log_path, pid, suffix);

	/* The findings of a long run are not lost over a bad path. */
	if (bad && strcmp(o->log_path, "stderr"))
		write_all(r, o, text, "stderr", pid, NULL);

	for (unsigned i = 0; i < o->report.count; i++) {
		const char *path;
		const struct krt_format *f = split(o->report.item[i], &path);

		if (f && path)
			bad += write_all(r, o, f, path, pid, suffix);
	}
	return bad;
}

int krt_output_list(const struct krt_report *r, const struct krt_options *o,
		    const struct krt_option_list *to)
{
	int bad = 0;

	for (unsigned i = 0; i < to->count; i++) {
		const char *path;
		const struct krt_format *f = split(to->item[i], &path);

		if (!path || !strcmp(path, "-"))
			path = "stdout";
		if (f)
			bad += write_all(r, o, f, path, r->nprocesses ? r->process[0].pid : 0, NULL);
	}
	return bad;
}

bool krt_output_fails(const struct krt_report *r, const struct krt_options *o)
{
	enum krt_level least;

	if (!least_level(o, &least))
		return false;
	for (size_t i = 0; i < r->nfindings; i++)
		if (krt_finding_fails(&r->finding[i], least))
			return true;
	return false;
}

int krt_output_exit_code(const struct krt_report *r, const struct krt_options *o, int program)
{
	if (program > 0)
		return program;
	if (krt_output_fails(r, o))
		return (int)o->exitcode;
	/* Also where the verdict is findings, but only such as do not fail the run. */
	if (!krt_report_complete(r) && o->require == KRT_REQUIRE_complete)
		return EXIT_INCONCLUSIVE;
	return 0;
}
