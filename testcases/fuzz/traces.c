/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Target (fuzz.h) for session folders: the reader, the engine with fixes tried out,
 * the report and its writers.  And for the line tables of Python's code objects.
 *
 * An input is a word of flags, then parts: a head, and a record of one lane or bytes
 * to lay over the process file.  From that a folder is written.  Lengths of records
 * and ids of entry points are put right unless a part says RAW, so that damage gets
 * past the reader; an entry point is a hash of its name, so that an input outlives
 * changes of the table.
 */
#define _GNU_SOURCE
#include "testcases/fuzz/fuzz.h"
#include "analyzer/pyframe.h"
#include "analyzer/reader.h"
#include "analyzer/session.h"
#include "interposer/api.h"
#include "interposer/library.h"
#include "interposer/record.h"
#include "reports/report.h"
#include "reports/report_read.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LANES 6

enum flags {
	LIVE = 1 << 0,	   /* read as of a process that just ended */
	NUMBERED = 1 << 1, /* tickets in the order of the parts */
	SHIPPED = 1 << 2,  /* with the shipped kernels files, which take long to read */
};
enum how {
	RAW = 1 << 0,  /* the head of the record and its entry point stay as they are */
	PROC = 1 << 1, /* a word: where in the process file; then bytes for there */
};
struct part {
	uint32_t len; /* of what follows, without padding to 8 */
	uint8_t lane, how;
	uint16_t api;
};

static size_t padded(size_t n)
{
	return (n + 7) & ~(size_t)7;
}

/* --- names of entry points ------------------------------------------------------------ */

static uint16_t api_hash(unsigned api)
{
	uint32_t h = 2166136261u;

	for (const char *s = krt_api[api].symbol; *s; s++)
		h = (h ^ (unsigned char)*s) * 16777619u;
	return (uint16_t)(h ^ h >> 16);
}

static uint16_t api_of(uint16_t hash)
{
	static uint16_t known[65536];

	if (!known[0]) {
		for (unsigned i = 0; i < 65536; i++)
			known[i] = (uint16_t)(i % KRT_NR_APIS);
		for (unsigned i = 0; i < KRT_NR_APIS; i++)
			known[api_hash(i)] = (uint16_t)i;
		known[0] = known[0] ? known[0] : 1;
	}
	return known[hash];
}

/* --- the folder -------------------------------------------------------------------------- */

static char folder[64];

static void remove_folder(void)
{
	DIR *d = opendir(folder);
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.')
			unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
	rmdir(folder);
}

static void need_folder(void)
{
	const char *tmp = getenv("TMPDIR");

	if (folder[0])
		return;
	snprintf(folder, sizeof(folder), "%s/trace.XXXXXX", tmp ? tmp : "/tmp");
	MUST(mkdtemp(folder));
	atexit(remove_folder);
}

static void put_file(const char *name, const void *p, size_t n)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/1000.1.%s", folder, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	MUST(fd >= 0 && write(fd, p, n) == (ssize_t)n && !close(fd));
}

#define LANE_MAX (4u << 20)
struct trace {
	size_t len[LANES];
	struct krt_proc proc;
	uint64_t ticket;
};

static unsigned char *bytes_of(unsigned lane)
{
	static unsigned char *p[LANES];

	if (!p[lane])
		p[lane] = malloc(LANE_MAX);
	MUST(p[lane]);
	return p[lane];
}

static void put_record(struct trace *t, const struct part *h, const unsigned char *data,
		       bool numbered)
{
	unsigned lane = h->lane % LANES;
	size_t n = padded(h->len), at = t->len[lane], left = KRT_WINDOW - at % KRT_WINDOW;
	unsigned char *to, *bytes = bytes_of(lane);
	struct krt_rec_call c;
	struct krt_rec r;

	if (n < sizeof(r) || n > KRT_WINDOW || at + left + n > LANE_MAX)
		return;
	if (left < n) {
		r = (struct krt_rec){.size = (uint32_t)left, .kind = KRT_REC_PAD};
		memset(bytes + at, 0, left);
		memcpy(bytes + at, &r, sizeof(r));
		at += left;
	}
	to = bytes + at;
	memset(to + n - 8, 0, 8);
	memcpy(to, data, h->len);
	memcpy(&r, to, sizeof(r));
	if (!(h->how & RAW)) {
		r.size = (uint32_t)n;
		memcpy(to, &r, sizeof(r));
	}
	if (r.kind == KRT_REC_CALL && n >= sizeof(c)) {
		memcpy(&c, to, sizeof(c));
		if (!(h->how & RAW))
			c.api = api_of(h->api);
		if (numbered) {
			c.t0 = t->ticket++;
			c.t1 = t->ticket++;
		}
		memcpy(to, &c, sizeof(c));
	}
	t->len[lane] = t->proc.slot[lane].commit = at + n;
	if (lane >= t->proc.lanes)
		t->proc.lanes = lane + 1;
}

/* Flags of the input; the folder is written. */
static unsigned write_folder(const unsigned char *p, size_t n)
{
	static struct trace t;
	uint64_t flags = 0;
	struct part h;
	char name[8];

	memset(&t, 0, sizeof(t));
	t.ticket = 1;
	t.proc.magic = KRT_TRACE_MAGIC;
	t.proc.version = KRT_TRACE_VERSION;
	t.proc.size = sizeof(t.proc);
	t.proc.api_hash = krt_tables_hash();
	t.proc.pid = 1000;
	t.proc.start_ns = t.proc.mono_ns = 1;
	t.proc.state = KRT_PROC_EXITED;
	t.proc.lanes = 1;
	strcpy(t.proc.exe, "/nowhere/program");
	memcpy(&flags, p, n < 8 ? n : 8);
	for (size_t at = 8; at + sizeof(h) <= n; at += padded(h.len)) {
		memcpy(&h, p + at, sizeof(h));
		at += sizeof(h);
		if (h.len > n - at)
			h.len = (uint32_t)(n - at);
		if (!(h.how & PROC))
			put_record(&t, &h, p + at, flags & NUMBERED);
	}
	t.proc.ticket = t.ticket;
	/* what lies over the header comes last: it may say anything of the lanes */
	for (size_t at = 8; at + sizeof(h) <= n; at += padded(h.len)) {
		uint64_t to;

		memcpy(&h, p + at, sizeof(h));
		at += sizeof(h);
		if (h.len > n - at)
			h.len = (uint32_t)(n - at);
		if (!(h.how & PROC) || h.len < 8)
			continue;
		memcpy(&to, p + at, 8);
		to %= offsetof(struct krt_proc, slot[LANES]);
		for (size_t i = 8; i < h.len && to < sizeof(t.proc); i++)
			((unsigned char *)&t.proc)[to++] = p[at + i];
	}
	for (unsigned i = 0; i < LANES; i++) {
		snprintf(name, sizeof(name), "%u", i);
		put_file(name, bytes_of(i), t.len[i]);
	}
	put_file("proc", &t.proc, sizeof(t.proc));
	return (unsigned)flags;
}

/* --- running ------------------------------------------------------------------------------ */

static void write_reports(const struct krt_report *r)
{
	static const struct krt_writer writer = {
		.show = KRT_POSSIBLE, .full_stacks = true, .suppressed = true};
	char *json = NULL, err[256];
	struct krt_report *back;

	for (const struct krt_format *f = krt_formats; f->name; f++) {
		char *text = NULL;
		size_t n;
		FILE *out;

		/* what they are made of is in the JSON: of the others one now and then */
		if (strcmp(f->name, "json") && fuzz_roll(8))
			continue;
		out = open_memstream(&text, &n);

		MUST(out && !f->write(out, r, &writer) && !fclose(out));
		if (!strcmp(f->name, "json"))
			json = text;
		else
			free(text);
	}
	MUST(json);
	back = krt_report_parse(json, strlen(json), "fuzz", err, sizeof(err));
	if (!back)
		dprintf(STDERR_FILENO, "%s\n", err);
	MUST(back);
	krt_report_destroy(back);
	free(json);
}

void fuzz_trace(const unsigned char *p, size_t n)
{
	static struct krt_options *o;
	struct krt_session *s;
	struct krt_report *r;
	char err[2048];
	unsigned flags;

	if (!o) {
		o = malloc(sizeof(*o));
		MUST(o);
		krt_options_init(o);
		/* every text with a timeline; none is written by these */
		krt_options_set(o, "report", 6, "json:/dev/null", 14, err, sizeof(err));
	}
	need_folder();
	flags = write_folder(p, n);
	o->shipped_kernels = !!(flags & SHIPPED);
	s = krt_session_open(folder, flags & LIVE, o, err, sizeof(err));
	MUST(s);
	(void)krt_session_program(s);
	/* of a live process there may always be more to come */
	for (unsigned i = 0; i < 1000 && krt_session_step(s, 100000); i++)
		;
	if (flags & LIVE)
		krt_session_stop(s, NULL);
	r = krt_session_report(s);
	MUST(r);
	for (unsigned i = 0; krt_session_problem(s, i); i++)
		;
	write_reports(r);
	krt_report_destroy(r);
	krt_session_close(s);
}

/* --- to begin from: FUZZ_TRACES/NAME are traces of test programs --------------------------- */

static void add(unsigned char **out, size_t *n, const void *p, size_t len)
{
	*out = realloc(*out, *n + padded(len));
	MUST(*out);
	memset(*out + *n, 0, padded(len));
	memcpy(*out + *n, p, len);
	*n += padded(len);
}

/* Without what lies in files of this machine. */
static void add_record(unsigned char **out, size_t *n, const struct krt_rec *rec, size_t len,
		       unsigned lane)
{
	struct part h = {.len = (uint32_t)len, .lane = (uint8_t)lane};
	unsigned char *copy = malloc(len);

	MUST(copy);
	memcpy(copy, rec, len);
	if (rec->kind == KRT_REC_CALL)
		h.api = api_hash(((const struct krt_rec_call *)rec)->api);
	if (rec->kind == KRT_REC_MODULE) {
		struct krt_rec_module *m = (void *)copy;

		m->path_len = 0;
		h.len = sizeof(*m);
	} else if (rec->kind == KRT_REC_DRIVER) {
		struct krt_rec_driver *d = (void *)copy;

		memset(d->path, 'x', d->path_len);
	} else if (rec->kind == KRT_REC_IMAGE) {
		struct krt_rec_image *m = (void *)copy;

		if (m->form == KRT_IMAGE_FILE && m->path_len)
			memset(m->data + 1, 'x', m->path_len - 1u);
	}
	if (h.len <= 16384) {
		add(out, n, &h, sizeof(h));
		add(out, n, copy, h.len);
	}
	free(copy);
}

static void pack(const char *dir, uint64_t flags)
{
	struct krt_reader *r;
	unsigned char *out = NULL;
	const struct krt_rec *rec;
	char err[256];
	size_t n = 0, len;
	unsigned lane;

	r = krt_reader_open(dir, false, err, sizeof(err));
	MUST(r && krt_reader_scan(r) >= 1);
	add(&out, &n, &flags, 8);
	while (krt_proc_next(krt_reader_process(r, 0), &rec, &len, &lane) > 0 && n < 60000)
		add_record(&out, &n, rec, len, lane % LANES);
	fuzz_keep(out, n);
	free(out);
	krt_reader_close(r);
}

void fuzz_trace_seeds(void)
{
	const char *top = getenv("FUZZ_TRACES");
	struct dirent **list;
	char path[4096];
	int n = top ? scandir(top, &list, NULL, alphasort) : 0;

	for (int i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/%s", top, list[i]->d_name);
		if (list[i]->d_name[0] != '.')
			pack(path, (uint64_t)i % 4);
		free(list[i]);
	}
	if (n > 0)
		free(list);
}

/* --- damage ----------------------------------------------------------------------------------- */

#define PARTS 4096
struct parts {
	unsigned n;
	size_t at[PARTS + 1]; /* of each head; of the end */
};

static void split(const unsigned char *p, size_t n, struct parts *s)
{
	struct part h;
	size_t at = 8;

	s->n = 0;
	while (at + sizeof(h) <= n && s->n < PARTS) {
		memcpy(&h, p + at, sizeof(h));
		s->at[s->n++] = at;
		at += sizeof(h) + padded(h.len);
		if (at > n)
			at = n;
	}
	s->at[s->n] = at < n ? at : n;
}

/* Puts `len` bytes in the place of [at, at + was). */
static size_t exchange(unsigned char *p, size_t n, size_t max, size_t at, size_t was,
		       const void *what, size_t len)
{
	if (n - was + len > max)
		return n;
	memmove(p + at + len, p + at + was, n - at - was);
	memcpy(p + at, what, len);
	return n - was + len;
}

static uint64_t word_at(const unsigned char *p, size_t at)
{
	uint64_t v;

	memcpy(&v, p + at, 8);
	return v;
}

static size_t damage_word(unsigned char *p, size_t n, const struct parts *s, unsigned i)
{
	static const uint64_t odd[] = {
		0,    1,	  2,	      7,	  8,	     255,	 256,
		4096, 0x7fffffff, 0x80000000, 0xffffffff, INT64_MAX, UINT64_MAX, UINT64_MAX - 7};
	size_t from = s->at[i], words = (s->at[i + 1] - from) / 8, at = from + 8 * fuzz_roll(words);
	unsigned width = 1u << fuzz_roll(4), k = fuzz_roll(8 / width) * width;
	uint64_t v = word_at(p, at);

	switch (fuzz_roll(5)) {
	case 0: /* one that comes elsewhere */
	case 1:
		v = word_at(p, 8 + 8 * fuzz_roll((n - 8) / 8));
		width = 8;
		k = 0;
		break;
	case 2:
		v = odd[fuzz_roll(sizeof(odd) / sizeof(*odd))];
		break;
	case 3:
		v += fuzz_roll(33);
		v -= 16;
		width = 8;
		k = 0;
		break;
	default:
		v ^= UINT64_C(1) << fuzz_roll(64);
		width = 8;
		k = 0;
	}
	memcpy(p + at + k, &v, width);
	return n;
}

/* Another kind, entry point, lane or length. */
static void damage_head(unsigned char *p, const struct parts *s, unsigned i)
{
	size_t at = s->at[i];
	struct part h, other;
	struct krt_rec r;

	memcpy(&h, p + at, sizeof(h));
	memcpy(&other, p + s->at[fuzz_roll(s->n)], sizeof(other));
	switch (fuzz_roll(6)) {
	case 0:
		h.how ^= fuzz_roll(8) ? RAW : PROC;
		break;
	case 1:
		h.lane = (uint8_t)fuzz_roll(LANES);
		break;
	case 2:
	case 3:
		h.api = fuzz_roll(2) ? other.api : api_hash(fuzz_roll(KRT_NR_APIS));
		break;
	default:
		if (s->at[i + 1] - at < sizeof(h) + sizeof(r))
			return;
		memcpy(&r, p + at + sizeof(h), sizeof(r));
		switch (fuzz_roll(4)) {
		case 0:
			r.kind = (uint8_t)(fuzz_roll(2) ? fuzz_roll(7) : 16 + fuzz_roll(12));
			break;
		case 1:
			r.flags ^= (uint8_t)(1 << fuzz_roll(8));
			break;
		case 2:
			r.library = (uint16_t)fuzz_roll(4);
			break;
		default:
			r.size += 8 * fuzz_roll(5);
			r.size -= 16;
		}
		memcpy(p + at + sizeof(h), &r, sizeof(r));
	}
	memcpy(p + at, &h, sizeof(h));
}

static size_t damage_once(unsigned char *p, size_t n, size_t max)
{
	static unsigned char copy[1 << 16];
	static struct parts s;
	struct part h;
	unsigned i;
	size_t len, to;

	split(p, n, &s);
	if (!s.n)
		return n;
	i = fuzz_roll(s.n);
	len = s.at[i + 1] - s.at[i];
	switch (fuzz_roll(12)) {
	case 0:
		p[0] ^= (unsigned char)(1 << fuzz_roll(fuzz_roll(8) ? 2 : 3));
		return n;
	case 1: /* gone; again; moved */
		return exchange(p, n, max, s.at[i], len, "", 0);
	case 2:
	case 3:
		if (len > sizeof(copy))
			return n;
		memcpy(copy, p + s.at[i], len);
		if (fuzz_roll(2)) {
			n = exchange(p, n, max, s.at[i], len, "", 0);
			split(p, n, &s);
		}
		to = s.n ? s.at[fuzz_roll(s.n + 1)] : n;
		return exchange(p, n, max, to, 0, copy, len);
	case 4:
	case 5:
		damage_head(p, &s, i);
		return n;
	case 6: /* longer or shorter, or by libFuzzer */
		memcpy(&h, p + s.at[i], sizeof(h));
		to = s.at[i] + sizeof(h);
		len -= sizeof(h);
		if (len > sizeof(copy) || !len)
			return n;
		memcpy(copy, p + to, len);
		h.len = (uint32_t)LLVMFuzzerMutate(copy, len,
						   fuzz_roll(2)		     ? len
						   : len + 64 < sizeof(copy) ? len + 64
									     : len);
		memset(copy + h.len, 0, h.len % 8 ? 8 - h.len % 8 : 0);
		memcpy(p + s.at[i], &h, sizeof(h));
		return exchange(p, n, max, to, len, copy, padded(h.len));
	case 7: /* the process file */
		if (fuzz_roll(4))
			return n;
		h = (struct part){.len = 16, .how = PROC};
		memcpy(copy, &h, sizeof(h));
		memcpy(copy + 8,
		       &(uint64_t){fuzz_roll(offsetof(struct krt_proc, slot[LANES])) & ~7u}, 8);
		memcpy(copy + 16, &(uint64_t){word_at(p, 8 + 8 * fuzz_roll((n - 8) / 8))}, 8);
		return exchange(p, n, max, s.at[i], 0, copy, 24);
	default:
		return damage_word(p, n, &s, i);
	}
}

size_t fuzz_trace_damage(unsigned char *p, size_t n, size_t max)
{
	size_t room = max & ~(size_t)7;

	if (n < 16 || !fuzz_roll(64))
		return LLVMFuzzerMutate(p, n, max);
	n &= ~(size_t)7;
	for (unsigned k = 1 + fuzz_roll(fuzz_roll(4) ? 3 : 12); k && n >= 16; k--)
		n = damage_once(p, n, room);
	return n;
}

/* Parts of b between those of a. */
size_t fuzz_trace_cross(const unsigned char *a, size_t an, const unsigned char *b, size_t bn,
			unsigned char *out, size_t max)
{
	static struct parts s;
	unsigned from, to;
	size_t at;

	an &= ~(size_t)7;
	bn &= ~(size_t)7;
	max &= ~(size_t)7;
	if (an > max)
		an = max;
	memcpy(out, a, an);
	split(b, bn, &s);
	if (!s.n || an < 8)
		return an;
	from = fuzz_roll(s.n);
	to = from + 1 + fuzz_roll(fuzz_roll(2) ? 4 : s.n - from);
	if (to > s.n)
		to = s.n;
	bn = s.at[to];
	b += s.at[from];
	bn -= s.at[from];
	split(out, an, &s);
	at = s.n ? s.at[fuzz_roll(s.n + 1)] : an;
	return exchange(out, an, max, at, 0, b, bn);
}

/* --- Python's line tables ------------------------------------------------------------------------
 */

/* Kind, first line and offset, then the table. */
void fuzz_pylines(const unsigned char *p, size_t n)
{
	uint32_t first, offset;
	uint8_t *table;

	if (n < 9)
		return;
	memcpy(&first, p + 1, 4);
	memcpy(&offset, p + 5, 4);
	table = malloc(n - 9 ? n - 9 : 1); /* of its own size, so that a step outside shows */
	MUST(table);
	memcpy(table, p + 9, n - 9);
	(void)krt_pyframe_line(p[0] % 5, table, n - 9, first, offset);
	free(table);
}

void fuzz_pylines_seeds(void)
{
	static const struct {
		unsigned kind, first;
		size_t len, n;
		uint8_t table[512];
		unsigned line[512];
	} tables[] = {
#include "testcases/unit/pyline_tables.h"
	};
	unsigned char out[9 + 512];

	for (unsigned i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		out[0] = (unsigned char)tables[i].kind;
		memcpy(out + 1, &tables[i].first, 4);
		memcpy(out + 5, &(uint32_t){40}, 4);
		memcpy(out + 9, tables[i].table, tables[i].len);
		fuzz_keep(out, 9 + tables[i].len);
	}
}
