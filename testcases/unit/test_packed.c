/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces in compressed frames: what was written is read, by itself and through the
 * reader; what is cut off or damaged is said, and what came before stands.
 */
#define _GNU_SOURCE
#include "analyzer/packed.h"
#include "analyzer/reader.h"
#include "trace_writer.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>

static char dir[256];
static int dirfd_;

static void setup(void)
{
	tw_folder(dir);
	dirfd_ = open(dir, O_RDONLY | O_DIRECTORY);
	cr_assert_geq(dirfd_, 0);
}

static void teardown(void)
{
	close(dirfd_);
	tw_remove(dir);
}

TestSuite(packed, .init = setup, .fini = teardown, .timeout = 120);

static struct krt_proc *header(void)
{
	static struct krt_proc h;

	h = (struct krt_proc){.magic = KRT_TRACE_MAGIC,
			      .version = KRT_TRACE_VERSION,
			      .api_hash = krt_tables_hash(),
			      .pid = 77,
			      .state = KRT_PROC_RUNNING,
			      .lanes = 2,
			      .exe = "/bin/test-program"};
	return &h;
}

/* Record number i: a string of some length, its content told by its number. */
static struct krt_rec *record(unsigned i, size_t text, size_t *len)
{
	struct krt_rec_string *s;

	*len = (sizeof(*s) + text + 7) & ~(size_t)7;
	s = calloc(1, *len);
	s->h.kind = KRT_REC_STRING;
	s->h.size = (uint32_t)*len;
	s->id = i;
	s->len = (uint32_t)text;
	for (size_t k = 0; k < text; k++)
		s->text[k] = (char)(i * 131 + k * k * 7 + k / 5);
	return &s->h;
}

static size_t length(unsigned i)
{
	return i % 97 ? i % 50 : i % 2 ? 100000 : 3000;
}

static void add(struct krt_packer *p, unsigned i, size_t text)
{
	size_t len;
	struct krt_rec *r = record(i, text, &len);

	cr_assert_eq(krt_packer_add(p, r, len, i % 2), 0);
	free(r);
}

static struct krt_packer *begin(void)
{
	struct krt_packer *p = krt_packer_new(dirfd_, "77.1");

	cr_assert_not_null(p);
	cr_assert_eq(krt_packer_process(p, header(), 0, false), 0);
	return p;
}

static void end(struct krt_packer *p, uint64_t dropped)
{
	struct krt_proc *h = header();

	h->state = KRT_PROC_EXITED;
	h->exit_code = 3;
	cr_assert_eq(krt_packer_process(p, h, dropped, true), 0);
	krt_packer_free(p);
}

/* Reads through the reader: how many of the records were the right ones. */
static unsigned read_back(size_t (*text)(unsigned), char error[256], struct krt_proc *h,
			  uint64_t *dropped)
{
	struct krt_reader *r = krt_reader_open(dir, false, error, 256);
	const struct krt_rec *rec;
	struct krt_proc_reader *p;
	unsigned n = 0, lane;
	size_t len, want;
	int next;

	cr_assert_not_null(r);
	cr_assert_eq(krt_reader_scan(r), 1);
	p = krt_reader_process(r, 0);
	while ((next = krt_proc_next(p, &rec, &len, &lane)) > 0) {
		struct krt_rec *own = record(n, text(n), &want);

		cr_assert_eq(len, want);
		cr_assert_eq(lane, n % 2);
		cr_assert(!memcmp(rec, own, len), "record %u", n);
		free(own);
		n++;
	}
	cr_assert(krt_proc_dead(p));
	cr_assert_eq(next < 0, krt_proc_error(p) != NULL);
	snprintf(error, 256, "%s", krt_proc_error(p) ? krt_proc_error(p) : "");
	*h = *krt_proc_header(p);
	*dropped = krt_proc_dropped(p);
	krt_reader_close(r);
	return n;
}

Test(packed, whole)
{
	struct krt_packer *p = begin();
	struct krt_proc h;
	uint64_t dropped;
	char error[256];

	for (unsigned i = 0; i < 5000; i++) {
		add(p, i, length(i));
		if (i % 1000 == 7)
			cr_assert_eq(krt_packer_flush(p), 0);
	}
	end(p, 12);
	cr_assert_eq(read_back(length, error, &h, &dropped), 5000);
	cr_assert_str_eq(error, "");
	cr_assert_eq(dropped, 12);
	cr_assert_eq(h.state, KRT_PROC_EXITED);
	cr_assert_eq(h.exit_code, 3);
	cr_assert_eq(h.pid, 77);
	cr_assert_str_eq(h.exe, "/bin/test-program");
}

static size_t long_one(unsigned i)
{
	return i == 1 ? 20u << 20 : 10;
}

Test(packed, longer_than_a_batch)
{
	struct krt_packer *p = begin();
	struct krt_proc h;
	uint64_t dropped;
	char error[256];

	for (unsigned i = 0; i < 3; i++)
		add(p, i, long_one(i));
	end(p, 0);
	cr_assert_eq(read_back(long_one, error, &h, &dropped), 3);
	cr_assert_str_eq(error, "");
}

static char *file(void)
{
	static char path[512];

	snprintf(path, sizeof(path), "%s/77.1" KRT_PACKED_SUFFIX, dir);
	return path;
}

static size_t short_ones(unsigned i)
{
	return i % 9;
}

/* A trace of four frames of records; where each frame ends. */
static unsigned four_frames(off_t ends[6])
{
	struct krt_packer *p = begin();
	unsigned n = 0;

	ends[0] = (off_t)krt_packer_size(p);
	for (unsigned f = 0; f < 4; f++) {
		for (unsigned i = 0; i < 10; i++, n++)
			add(p, n, short_ones(n));
		cr_assert_eq(krt_packer_flush(p), 0);
		ends[f + 1] = (off_t)krt_packer_size(p);
	}
	end(p, 0);
	return n;
}

Test(packed, cut_off_anywhere)
{
	struct krt_proc h;
	uint64_t dropped;
	char error[256];
	off_t ends[6];
	struct stat st;

	four_frames(ends);
	cr_assert_eq(stat(file(), &st), 0);
	for (off_t at = st.st_size - 1; at >= 0; at--) {
		unsigned whole = 0;

		cr_assert_eq(truncate(file(), at), 0);
		for (unsigned f = 1; f < 5; f++)
			whole += at >= ends[f];
		cr_assert_eq(read_back(short_ones, error, &h, &dropped), 10 * whole, "cut at %ld",
			     (long)at);
		cr_assert_not_null(strstr(error, "cut off"), "cut at %ld: %s", (long)at, error);
		if (at >= ends[0])
			cr_assert_eq(h.pid, 77);
	}
}

/* A damaged byte is met by a length, by zstd or by its checksum: what is read is right. */
Test(packed, damaged_anywhere)
{
	struct krt_proc h;
	uint64_t dropped;
	char error[256], *bytes;
	unsigned all, found = 0, n;
	off_t ends[6];
	struct stat st;
	int fd;

	all = four_frames(ends);
	cr_assert_eq(stat(file(), &st), 0);
	bytes = malloc((size_t)st.st_size);
	fd = open(file(), O_RDWR);
	cr_assert_eq(pread(fd, bytes, (size_t)st.st_size, 0), st.st_size);
	for (off_t at = 0; at < st.st_size; at++) {
		char odd = (char)(bytes[at] ^ (1 << at % 8));

		cr_assert_eq(pwrite(fd, &odd, 1, at), 1);
		n = read_back(short_ones, error, &h, &dropped);
		cr_assert(n == all || *error, "byte %ld", (long)at);
		found += *error != 0;
		cr_assert_eq(pwrite(fd, &bytes[at], 1, at), 1);
	}
	close(fd);
	free(bytes);
	cr_assert_geq(found, st.st_size * 95 / 100);
}

Test(packed, more_behind_the_end)
{
	struct krt_proc h;
	uint64_t dropped;
	char error[256], bytes[512];
	off_t ends[6];
	int fd;

	four_frames(ends);
	fd = open(file(), O_RDWR);
	cr_assert_eq(pread(fd, bytes, (size_t)ends[0], 0), ends[0]);
	cr_assert_eq(pwrite(fd, bytes, (size_t)ends[0], lseek(fd, 0, SEEK_END)), ends[0]);
	close(fd);
	cr_assert_eq(read_back(short_ones, error, &h, &dropped), 40);
	cr_assert_not_null(strstr(error, "more behind the end"), "%s", error);
}

/* What does not hold what it says is refused by the reader, in a frame that is whole. */
Test(packed, a_record_that_lies)
{
	struct krt_packer *p = begin();
	struct krt_rec_call c = {.h = {.kind = KRT_REC_CALL, .size = sizeof(c)}, .argc = 9};
	struct krt_proc h;
	uint64_t dropped;
	char error[256];

	add(p, 0, 0);
	cr_assert_eq(krt_packer_add(p, &c.h, sizeof(c), 1), 0);
	end(p, 0);
	cr_assert_eq(read_back(short_ones, error, &h, &dropped), 1);
	cr_assert_not_null(strstr(error, "does not hold what it says"), "%s", error);
}

static size_t noise(unsigned i)
{
	return 60000 + i % 3;
}

/* A full disk, as a limit of the file: whole frames alone are left, and the end says so. */
Test(packed, no_room)
{
	const struct rlimit small = {300000, RLIM_INFINITY}, old = {RLIM_INFINITY, RLIM_INFINITY};
	struct krt_packer *p = begin();
	unsigned lost = 0, n = 0;
	struct krt_unpacker *u;
	const struct krt_rec *rec;
	struct krt_proc *last;
	struct stat st;
	unsigned lane;
	size_t len;
	int r = 0;

	signal(SIGXFSZ, SIG_IGN);
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
	for (unsigned i = 0; i < 400; i++) {
		struct krt_rec *own = record(i, noise(i), &len);

		for (size_t k = 64; k < len; k++) /* that cannot be compressed */
			((char *)own)[k] = (char)rand();
		r = krt_packer_add(p, own, len, i % 2);
		lost += r != 0;
		if (i < 3)
			cr_assert_eq(krt_packer_flush(p), 0);
		free(own);
	}
	cr_assert_eq(r, -EFBIG);
	cr_assert_gt(lost, 0);
	cr_assert_eq(krt_packer_error(p), -EFBIG);
	last = header();
	last->trouble = KRT_TROUBLE_MEMORY | KRT_TROUBLE_SPACE;
	cr_assert_eq(krt_packer_process(p, last, 400, true), 0, "the end is short");
	krt_packer_free(p);
	setrlimit(RLIMIT_FSIZE, &old);
	cr_assert_eq(stat(file(), &st), 0);
	cr_assert_leq(st.st_size, 300000);
	u = krt_unpacker_new(open(file(), O_RDONLY));
	while (krt_unpacker_next(u, &rec, &len, &lane) > 0)
		n++;
	cr_assert_null(krt_unpacker_error(u));
	cr_assert_eq(krt_unpacker_process(u)->trouble, last->trouble);
	cr_assert_eq(krt_unpacker_dropped(u), 400);
	krt_unpacker_free(u);
	cr_assert_eq(n, 3);
}
