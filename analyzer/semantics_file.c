/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of semantics as text (semantics_file.h).  No state. */
#define _GNU_SOURCE
#include "semantics_file.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC	"krtsan-semantics"
#define VERSION "1"

/* --- words --- */

static const struct {
	unsigned edge;
	const char *text;
} edges[] = {
	/* the larger before those that it implies */
	{KRT_EDGE_ALL, "all"},		 {KRT_EDGE_DEVICE, "device"}, {KRT_EDGE_CONTEXT, "context"},
	{KRT_EDGE_BLOCKING, "blocking"}, {KRT_EDGE_STREAM, "stream"}, {KRT_EDGE_OP, "op"},
	{KRT_EDGE_EARLIER, "earlier"},	 {KRT_EDGE_SRC, "src"},	      {KRT_EDGE_EVENT, "event"},
};

const char *krt_edge_text(unsigned edge, char text[KRT_SEM_TEXT])
{
	size_t at = 0;

	text[0] = 0;
	for (unsigned i = 0; i < sizeof(edges) / sizeof(*edges); i++) {
		if (!KRT_EDGE_HAS(edge, edges[i].edge))
			continue;
		edge &= ~edges[i].edge;
		at += (size_t)snprintf(text + at, KRT_SEM_TEXT - at, "%s%s", at ? "+" : "",
				       edges[i].text);
	}
	return at ? text : strcpy(text, "none");
}

bool krt_edge_parse(const char *text, unsigned *edge)
{
	*edge = KRT_EDGE_NONE;
	if (!strcmp(text, "none"))
		return true;
	for (;;) {
		size_t n = strcspn(text, "+");
		unsigned i = 0;

		while (i < sizeof(edges) / sizeof(*edges) &&
		       (strlen(edges[i].text) != n || strncmp(edges[i].text, text, n) != 0))
			i++;
		if (i == sizeof(edges) / sizeof(*edges))
			return false;
		*edge |= edges[i].edge;
		if (!text[n])
			return true;
		text += n + 1;
	}
}

const char *krt_sem_order_text(enum krt_sem_order order)
{
	switch (order) {
	case KRT_ORDER_NONE:
		return "none";
	case KRT_ORDER_FIFO:
		return "fifo";
	case KRT_ORDER_CONTEXT:
		return "context";
	case KRT_ORDER_CONTEXTS:
		return "contexts";
	}
	return NULL;
}

const char *krt_sem_read_text(enum krt_sem_read read)
{
	switch (read) {
	case KRT_READ_NEVER:
		return "never";
	case KRT_READ_IN_ORDER:
		return "in-order";
	case KRT_READ_AT_CALL:
		return "at-call";
	case KRT_READ_ANY_TIME:
		return "any-time";
	}
	return NULL;
}

/* --- reading --- */

struct parser {
	const char *path;
	unsigned line;
	char *err;
	size_t errlen;
	struct krt_semantics_file *f;
	bool have[KRT_NR_SEMS];
};

__attribute__((format(printf, 2, 3)))
static bool fail(struct parser *p, const char *fmt, ...)
{
	char why[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	for (char *c = why; *c; c++)
		if ((unsigned char)*c < ' ' || (unsigned char)*c > '~')
			*c = '?'; /* the file's own words */
	if (p->line)
		snprintf(p->err, p->errlen, "%s:%u: %s", p->path, p->line, why);
	else
		snprintf(p->err, p->errlen, "%s: %s", p->path, why);
	return false;
}

static bool value(struct parser *p, struct krt_sem *row, const char *word)
{
	const unsigned obs = KRT_VIEW_OBS;
	const char *text;

	if (!strncmp(word, "edge=", 5)) {
		if (!krt_edge_parse(word + 5, &row->edge[obs]))
			return fail(p, "%.60s: no such edge", word);
		return true;
	}
	if (!strncmp(word, "order=", 6)) {
		for (unsigned i = 0; (text = krt_sem_order_text(i)); i++)
			if (!strcmp(text, word + 6)) {
				row->order[obs] = i;
				return true;
			}
		return fail(p, "%.60s: no such order", word);
	}
	if (!strncmp(word, "read=", 5)) {
		for (unsigned i = 0; (text = krt_sem_read_text(i)); i++)
			if (!strcmp(text, word + 5)) {
				row->read[obs] = i;
				return true;
			}
		return fail(p, "%.60s: no such reading of the source", word);
	}
	return fail(p, "%.60s: wants edge=, order= or read=", word);
}

/* Said less than what is documented? Then krtsan's own table would not hold. */
static bool lawful(struct parser *p, const struct krt_sem *row)
{
	const unsigned doc = KRT_VIEW_DOC, obs = KRT_VIEW_OBS;

	if (!KRT_EDGE_HAS(row->edge[obs], row->edge[doc]) || row->order[obs] < row->order[doc] ||
	    krt_sem_read_rank(row->read[obs]) < krt_sem_read_rank(row->read[doc]))
		return fail(p, "%s: less than what is documented", row->id);
	if ((row->read[obs] == KRT_READ_NEVER) != (row->read[doc] == KRT_READ_NEVER))
		return fail(p, "%s: read=%s: the call has %s source", row->id,
			    krt_sem_read_text(row->read[obs]),
			    row->read[doc] == KRT_READ_NEVER ? "no" : "a");
	return true;
}

static bool row_line(struct parser *p, char *line)
{
	char *rest = NULL, *id = strtok_r(line, " \t", &rest), *word;
	unsigned i = KRT_SEM_NONE + 1, words = 0;

	while (i < KRT_NR_SEMS && strcmp(p->f->row[i].id, id) != 0)
		i++;
	if (i == KRT_NR_SEMS)
		return fail(p, "%.60s: no such row; made by another krtsan? `krtsan doctor --probe` "
			       "makes it anew", id);
	if (p->have[i])
		return fail(p, "%s: a second time", id);
	p->have[i] = true;
	while ((word = strtok_r(NULL, " \t", &rest)) && *word != '#') {
		if (!value(p, &p->f->row[i], word))
			return false;
		words++;
	}
	if (words != 3)
		return fail(p, "%s: wants edge=, order= and read=", id);
	return lawful(p, &p->f->row[i]);
}

static bool head_line(struct parser *p, const char *line)
{
	if (strncmp(line, MAGIC " ", sizeof(MAGIC)) != 0)
		return fail(p, "not a table of semantics: it begins with `" MAGIC " " VERSION "`");
	if (strcmp(line + sizeof(MAGIC), VERSION) != 0)
		return fail(p, "version %.20s of the format; this krtsan reads " VERSION,
			    line + sizeof(MAGIC));
	return true;
}

/* What the driver says of itself goes into reports. */
static void keep(char *to, size_t size, const char *text)
{
	size_t n = 0;

	for (; text[n] && n < size - 1; n++)
		to[n] = (unsigned char)text[n] < ' ' || (unsigned char)text[n] > '~' ? '?' : text[n];
	to[n] = 0;
}

static bool line_of(struct parser *p, char *line)
{
	size_t n = strlen(line);

	while (n && (line[n - 1] == ' ' || line[n - 1] == '\t' || line[n - 1] == '\r'))
		line[--n] = 0;
	if (p->line == 1)
		return head_line(p, line);
	line += strspn(line, " \t");
	if (!*line || *line == '#')
		return true;
	if (!strncmp(line, "driver ", 7))
		keep(p->f->driver, sizeof(p->f->driver), line + 7);
	else if (!strncmp(line, "device ", 7))
		keep(p->f->device, sizeof(p->f->device), line + 7);
	else
		return row_line(p, line);
	return true;
}

static bool whole(struct parser *p)
{
	p->line = 0;
	if (!*p->f->driver || !*p->f->device)
		return fail(p, "names no %s", *p->f->driver ? "device" : "driver");
	for (unsigned i = KRT_SEM_NONE + 1; i < KRT_NR_SEMS; i++)
		if (!p->have[i])
			return fail(p, "has no row %s; made by another krtsan? `krtsan doctor --probe` "
				       "makes it anew", p->f->row[i].id);
	return true;
}

struct krt_semantics_file *krt_semantics_parse(const char *path, const char *text, size_t len,
					       char *err, size_t errlen)
{
	struct parser p = {.path = path, .err = err, .errlen = errlen};
	char *copy = malloc(len + 1);
	bool ok;

	p.f = calloc(1, sizeof(*p.f));
	ok = p.f && copy;
	if (!ok)
		fail(&p, "out of memory");
	if (ok) {
		memcpy(p.f->row, krt_sem_table, sizeof(p.f->row));
		memcpy(copy, text, len);
		copy[len] = 0;
		if (memchr(text, 0, len))
			ok = fail(&p, "is no text");
		if (!len)
			ok = fail(&p, "is empty");
	}
	for (char *at = copy, *next; ok && at; at = next) {
		next = strchr(at, '\n');
		if (next)
			*next++ = 0;
		p.line++;
		ok = line_of(&p, at);
	}
	ok = ok && whole(&p);
	free(copy);
	if (ok)
		return p.f;
	free(p.f);
	return NULL;
}

struct krt_semantics_file *krt_semantics_load(const char *path, char *err, size_t errlen)
{
	struct krt_semantics_file *f = NULL;
	FILE *in = fopen(path, "re");
	char *text = in ? malloc(KRT_SEMANTICS_BYTES + 1) : NULL;
	size_t n;

	if (!in || !text) {
		snprintf(err, errlen, "%s: cannot be opened: %s", path, strerror(errno));
	} else {
		n = fread(text, 1, KRT_SEMANTICS_BYTES + 1, in);
		if (ferror(in))
			snprintf(err, errlen, "%s: cannot be read: %s", path, strerror(errno));
		else if (n > KRT_SEMANTICS_BYTES)
			snprintf(err, errlen, "%s: cannot be read: more than 1 MiB", path);
		else
			f = krt_semantics_parse(path, text, n, err, errlen);
	}
	free(text);
	if (in)
		fclose(in);
	return f;
}

int krt_semantics_write(FILE *out, const char *driver, const char *device,
			const struct krt_sem *table, const char *const comment[KRT_NR_SEMS])
{
	char edge[KRT_SEM_TEXT];

	fprintf(out, MAGIC " " VERSION "\n# what calls wait for, measured by `krtsan doctor --probe`; "
		     "for semantics=FILE\ndriver %s\ndevice %s\n",
		driver, device);
	for (unsigned i = KRT_SEM_NONE + 1; i < KRT_NR_SEMS; i++)
		fprintf(out, "%s edge=%s order=%s read=%s%s%s\n", table[i].id,
			krt_edge_text(table[i].edge[KRT_VIEW_OBS], edge),
			krt_sem_order_text(table[i].order[KRT_VIEW_OBS]),
			krt_sem_read_text(table[i].read[KRT_VIEW_OBS]),
			comment && comment[i] ? " # " : "", comment && comment[i] ? comment[i] : "");
	return fflush(out) || ferror(out) ? -1 : 0;
}
