/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader of session folders: merge order, the horizon, split records, dead
 * processes and threads, and traces that are damaged in every way.
 */
#define _GNU_SOURCE
#include <stdbool.h>
#include "analyzer/reader.h"
#include "trace_writer.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static char dir[256];
static struct tw w;
static struct krt_reader *reader;
static struct krt_proc_reader *proc;

static void setup(void)
{
	tw_folder(dir);
}

static void teardown(void)
{
	tw_remove(dir);
}

static void open_reader(bool live)
{
	char err[256];

	reader = krt_reader_open(dir, live, err, sizeof(err));
	cr_assert(reader, "%s", err);
	cr_assert_eq(krt_reader_scan(reader), 1);
	proc = krt_reader_process(reader, 0);
	cr_assert(proc);
	cr_assert_null(krt_reader_process(reader, 1));
	cr_assert_null(krt_reader_process(reader, -1));
}

/* How many of the next n calls do not have t1 2, 4, 6, ... (one assertion: they cost under
 * valgrind). */
static uint64_t next_t1(void);
static unsigned out_of_order(unsigned n)
{
	unsigned bad = 0;

	for (unsigned i = 0; i < n; i++)
		bad += next_t1() != 2 * i + 2;
	return bad;
}

/* The next call's t1; 0: none now. */
static uint64_t next_t1(void)
{
	const struct krt_rec *rec;
	unsigned lane;
	size_t len;
	int r;

	while ((r = krt_proc_next(proc, &rec, &len, &lane)) == 1) {
		if (rec->size != len)
			cr_assert_fail("size %u, length %zu", rec->size, len);
		if (rec->kind == KRT_REC_CALL)
			return ((const struct krt_rec_call *)rec)->t1;
	}
	if (r)
		cr_assert_fail("%s", krt_proc_error(proc) ? krt_proc_error(proc) : "");
	return 0;
}

TestSuite(reader, .init = setup, .fini = teardown, .timeout = 120);

Test(reader, merges_lanes_by_the_second_ticket)
{
	tw_open(&w, dir, 4711, 1);
	tw_thread(&w, 1, 10);
	tw_thread(&w, 2, 11);
	tw_call_at(&w, 1, 1, 1, 4, NULL, 0);
	tw_call_at(&w, 1, 1, 5, 6, NULL, 0);
	tw_call_at(&w, 2, 1, 2, 3, NULL, 0);
	tw_call_at(&w, 2, 1, 7, 10, NULL, 0);
	tw_call_at(&w, 1, 1, 8, 9, NULL, 0);
	tw_exit(&w, 3);
	open_reader(false);
	static const uint64_t want[] = { 3, 4, 6, 9, 10, 0, 0 };
	for (unsigned i = 0; i < 7; i++)
		cr_assert_eq(next_t1(), want[i], "record %u", i);
	cr_assert(krt_proc_dead(proc));
	cr_assert_null(krt_proc_error(proc));
	cr_assert_eq(krt_proc_header(proc)->exit_code, 3);
	cr_assert_str_eq(krt_proc_header(proc)->exe, "/bin/test-program");
	krt_reader_close(reader);
	tw_close(&w);
}

Test(reader, interned_things_come_before_what_refers_to_them)
{
	const struct krt_rec *rec;
	unsigned lane;
	size_t len;

	tw_open(&w, dir, 4711, 1);
	tw_call(&w, 1, 1, NULL, 0);
	tw_string(&w, 7, "seven");
	tw_exit(&w, 0);
	open_reader(false);
	cr_assert_eq(krt_proc_next(proc, &rec, &len, &lane), 1);
	cr_assert_eq(rec->kind, KRT_REC_STRING);
	cr_assert_eq(lane, 0);
	cr_assert_eq(((const struct krt_rec_string *)rec)->id, 7);
	cr_assert_eq(krt_proc_next(proc, &rec, &len, &lane), 1);
	cr_assert_eq(rec->kind, KRT_REC_CALL);
	cr_assert_eq(lane, 1);
	krt_reader_close(reader);
	tw_close(&w);
}

Test(reader, a_pending_ticket_holds_back_what_is_later)
{
	tw_open(&w, dir, getpid(), 1);
	tw_call(&w, 1, 1, NULL, 0);                /* t1 2 */
	tw_call_at(&w, 2, 1, 3, 3, NULL, 0);       /* makes lane 2 */
	w.h->ticket = 4;
	w.h->slot[2].pending = 4;                  /* taken: 4 by lane 2, not yet published */
	w.h->slot[2].tid = (int32_t)syscall(SYS_gettid);
	w.h->ticket = 5;
	tw_call(&w, 1, 1, NULL, 0);                /* t1 6 */
	open_reader(true);
	cr_assert_eq(w.h->reader, 0);
	cr_assert_eq(next_t1(), 2);
	cr_assert_eq(w.h->reader, getpid());
	cr_assert_eq(next_t1(), 3);
	cr_assert_eq(next_t1(), 0, "4 may still come");
	cr_assert_not(krt_proc_dead(proc));
	tw_call_at(&w, 2, 1, 1, 4, NULL, 0);
	w.h->slot[2].pending = 0;
	cr_assert_eq(next_t1(), 4);
	cr_assert_eq(next_t1(), 6);
	cr_assert_eq(next_t1(), 0);
	tw_exit(&w, 0);
	cr_assert_eq(next_t1(), 0);
	cr_assert(krt_proc_dead(proc));
	krt_reader_close(reader);
	tw_close(&w);
}

Test(reader, published_but_not_below_the_horizon_waits)
{
	tw_open(&w, dir, getpid(), 1);
	w.h->ticket = 5;
	tw_call_at(&w, 1, 1, 1, 7, NULL, 0);       /* a ticket from the future */
	open_reader(true);
	cr_assert_eq(next_t1(), 0);
	w.h->ticket = 8;
	cr_assert_eq(next_t1(), 7);
	krt_reader_close(reader);
	tw_close(&w);
}

static void *thread_id(void *tid)
{
	*(int32_t *)tid = (int32_t)syscall(SYS_gettid);
	return NULL;
}

Test(reader, the_hole_of_a_dead_thread_is_skipped)
{
	pthread_t t;
	int32_t tid;
	uint64_t t1;

	cr_assert_eq(pthread_create(&t, NULL, thread_id, &tid), 0);
	pthread_join(t, NULL);
	tw_open(&w, dir, getpid(), 1);
	tw_call_at(&w, 1, 1, 1, 9, NULL, 0);
	tw_call_at(&w, 2, 1, 1, 2, NULL, 0);
	w.h->ticket = 10;
	w.h->slot[2].pending = 3;
	w.h->slot[2].tid = tid;
	open_reader(true);
	cr_assert_eq(next_t1(), 2);
	while (!(t1 = next_t1())) /* until the reader has made sure that the thread is gone */
		usleep(1000);
	cr_assert_eq(t1, 9);
	krt_reader_close(reader);
	tw_close(&w);
}

Test(reader, a_killed_process_is_read_to_its_last_record)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	tw_open(&w, dir, pid, 1);
	tw_call_at(&w, 1, 1, 1, 9, NULL, 0);
	tw_call_at(&w, 2, 1, 1, 4, NULL, 0);
	w.h->slot[2].pending = 5;
	w.h->ticket = 3; /* never mind: it is dead */
	open_reader(true);
	cr_assert_eq(next_t1(), 4);
	cr_assert_eq(next_t1(), 9);
	cr_assert_eq(next_t1(), 0);
	cr_assert(krt_proc_dead(proc));
	cr_assert_eq(krt_proc_header(proc)->state, KRT_PROC_RUNNING);
	krt_reader_close(reader);
	tw_close(&w);
}

/* Its clock may be held, moved or of a time namespace of its own. */
Test(reader, a_process_lives_whatever_its_clock_says)
{
	tw_open(&w, dir, getpid(), 1);
	for (int i = 0; i < 3; i++) {
		static const uint64_t clock[] = { 1, UINT64_MAX, 1ull << 60 };

		w.h->mono_ns = clock[i];
		w.h->ticket = 2 * (uint64_t)i + 3;
		tw_call_at(&w, 1, 1, 2 * (uint64_t)i + 1, 2 * (uint64_t)i + 2, NULL, 0);
		if (!i)
			open_reader(true);
		cr_assert_eq(next_t1(), 2 * (uint64_t)i + 2);
		cr_assert_eq(next_t1(), 0);
		cr_assert(!krt_proc_dead(proc));
	}
	krt_reader_close(reader);
	tw_close(&w);
}

Test(reader, windows_pads_and_split_records)
{
	size_t len = 3 * KRT_WINDOW + 808;
	struct krt_rec_params *big = calloc(1, len);
	const struct krt_rec *rec;
	unsigned lane;
	size_t got;

	big->h.kind = KRT_REC_PARAMS;
	big->id = 5;
	big->len = (uint32_t)(len - sizeof(*big));
	for (uint32_t i = 0; i < big->len; i++)
		big->bytes[i] = (uint8_t)(i * 7 + i / 251);
	tw_open(&w, dir, 4711, 1);
	for (unsigned i = 0; i < 20000; i++) /* several windows of small ones */
		tw_call(&w, 1, i % KRT_NR_APIS, NULL, 0);
	tw_string(&w, 1, "before");
	tw_record(&w, 0, big, len);
	tw_string(&w, 2, "after");
	tw_record_parts(&w, 0, big, len, 4096); /* many parts */
	tw_exit(&w, 0);
	open_reader(false);
	for (unsigned k = 0; k < 2; k++) {
		cr_assert_eq(krt_proc_next(proc, &rec, &got, &lane), 1);
		cr_assert_eq(rec->kind, KRT_REC_STRING);
		cr_assert_eq(krt_proc_next(proc, &rec, &got, &lane), 1);
		cr_assert_eq(rec->kind, KRT_REC_PARAMS);
		cr_assert_eq(rec->flags, 0);
		cr_assert_eq(got, len);
		cr_assert(!memcmp((const char *)rec + sizeof(*rec),
				  (const char *)big + sizeof(*rec), len - sizeof(*rec)));
	}
	cr_assert_eq(out_of_order(20000), 0);
	cr_assert_eq(next_t1(), 0);
	krt_reader_close(reader);
	tw_close(&w);
	free(big);
}

Test(reader, what_was_read_is_given_back)
{
	struct stat st;
	char path[512];

	tw_open(&w, dir, getpid(), 1);
	for (unsigned i = 0; i < 30000; i++)
		tw_call(&w, 1, 1, NULL, 0);
	w.h->slot[1].kept = w.h->slot[1].commit;
	open_reader(true);
	cr_assert_eq(out_of_order(30000), 0);
	cr_assert_eq(next_t1(), 0);
	cr_assert_eq(w.h->slot[1].consumed, w.h->slot[1].commit);
	snprintf(path, sizeof(path), "%s/%s.1", dir, w.name);
	cr_assert_eq(stat(path, &st), 0);
	cr_assert_gt(st.st_size, 6 * KRT_WINDOW);
	cr_assert_leq(st.st_blocks * 512, 2 * KRT_WINDOW, "%lld blocks are left",
		      (long long)st.st_blocks);
	/* and it goes on behind the hole */
	tw_call(&w, 1, 1, NULL, 0);
	cr_assert_eq(next_t1(), 60002);
	krt_proc_leave(proc);
	cr_assert_eq(w.h->reader, -1);
	krt_reader_close(reader);
	tw_close(&w);
}

/* Ends the window of a lane with a link, and goes on at byte at of the file. */
static void lead(uint64_t at)
{
	uint64_t rest = KRT_WINDOW - w.pos[1] % KRT_WINDOW;
	struct krt_rec_next *next = calloc(1, rest);

	next->h =
		(struct krt_rec){.size = (uint32_t)rest, .kind = KRT_REC_PAD, .flags = KRT_RF_NEXT};
	next->at = at;
	tw_raw(&w, 1, next, rest);
	free(next);
	w.shift[1] = at - w.pos[1];
}

Test(reader, windows_that_are_used_again)
{
	const struct krt_rec *rec;
	struct stat st;
	char path[512];
	unsigned lane;
	size_t len;
	unsigned calls = 0, bad = 0;
	uint64_t t1 = 0;

	tw_open(&w, dir, getpid(), 1);
	for (; calls < 3000; calls++)
		tw_call(&w, 1, 1, NULL, 0);
	open_reader(true);
	for (unsigned round = 0; round < 8; round++) {
		/* three windows of the file in another order each time, the reader behind by one */
		for (unsigned i = 0; i < calls; i++)
			bad += next_t1() != (t1 += 2);
		cr_assert_eq(next_t1(), 0);
		cr_assert_eq(w.h->slot[1].consumed, w.h->slot[1].commit);
		lead((round * 2 + 1) % 3 * KRT_WINDOW);
		for (calls = 0; calls < 3000; calls++)
			tw_call(&w, 1, 1, NULL, 0);
		lead((round * 2 + 2) % 3 * KRT_WINDOW);
		for (; calls < 6000; calls++)
			tw_call(&w, 1, 1, NULL, 0);
	}
	cr_assert_eq(bad, 0);
	snprintf(path, sizeof(path), "%s/%s.1", dir, w.name);
	cr_assert_eq(stat(path, &st), 0);
	cr_assert_leq(st.st_size, 3 * KRT_WINDOW);
	krt_reader_close(reader);
	/* nobody can begin in the middle */
	open_reader(false);
	cr_assert_lt(krt_proc_next(proc, &rec, &len, &lane), 0);
	cr_assert(strstr(krt_proc_error(proc), "was read before"), "%s", krt_proc_error(proc));
	krt_reader_close(reader);
	tw_close(&w);
}

Test(reader, a_window_that_leads_nowhere)
{
	static const uint64_t at[] = {8, KRT_WINDOW + 8, UINT64_MAX - KRT_WINDOW + 1, INT64_MAX};
	const struct krt_rec *rec;
	unsigned lane;
	size_t len;

	for (unsigned i = 0; i < sizeof(at) / sizeof(*at); i++) {
		tw_open(&w, dir, 4711, i + 1);
		tw_call(&w, 1, 1, NULL, 0);
		lead(at[i]);
		w.shift[1] = 0;
		tw_call(&w, 1, 1, NULL, 0);
		tw_exit(&w, 0);
		open_reader(false);
		cr_assert_eq(next_t1(), 2);
		cr_assert_lt(krt_proc_next(proc, &rec, &len, &lane), 0);
		cr_assert(strstr(krt_proc_error(proc), "leads nowhere"), "%s",
			  krt_proc_error(proc));
		krt_reader_close(reader);
		tw_close(&w);
		tw_remove(dir);
		cr_assert_eq(mkdir(dir, 0700), 0);
	}
}

Test(reader, a_process_that_appears_later)
{
	char err[256];
	struct tw v;

	reader = krt_reader_open(dir, true, err, sizeof(err));
	cr_assert(reader);
	cr_assert_eq(krt_reader_scan(reader), 0);
	tw_open(&w, dir, getpid(), 1);
	w.h->magic = 0; /* still being made */
	cr_assert_eq(krt_reader_scan(reader), 1);
	proc = krt_reader_process(reader, 0);
	cr_assert_eq(next_t1(), 0);
	cr_assert_eq(krt_proc_header(proc)->pid, 0);
	cr_assert_not(krt_proc_dead(proc));
	w.h->magic = KRT_TRACE_MAGIC;
	tw_call(&w, 1, 1, NULL, 0);
	cr_assert_eq(next_t1(), 2);
	/* its successor after an exec: the same pid */
	w.h->state = KRT_PROC_EXEC;
	cr_assert_eq(next_t1(), 0);
	cr_assert_not(krt_proc_dead(proc));
	tw_open(&v, dir, getpid(), 2);
	cr_assert_eq(krt_reader_scan(reader), 2);
	proc = krt_reader_process(reader, 1);
	cr_assert_eq(next_t1(), 0);
	proc = krt_reader_process(reader, 0);
	cr_assert_eq(next_t1(), 0);
	cr_assert(krt_proc_dead(proc));
	krt_reader_close(reader);
	tw_close(&v);
	tw_close(&w);
}

Test(reader, wrong_folders)
{
	char err[256], path[512];

	cr_assert_null(krt_reader_open("/nonexistent/x", false, err, sizeof(err)));
	cr_assert_str_eq(err, "trace: /nonexistent/x: No such file or directory");
	snprintf(path, sizeof(path), "%s/file", dir);
	close(open(path, O_CREAT | O_RDWR, 0600));
	cr_assert_null(krt_reader_open(path, false, err, sizeof(err)));
	cr_assert(strstr(err, "a trace is a folder"));
}

/* Reads to the end; false: damaged.  Never more records than there can be. */
static bool drain(unsigned *records)
{
	const struct krt_rec *rec;
	unsigned lane, n = 0;
	size_t len;
	int r = 0;

	if (krt_reader_scan(reader) != 1)
		return false;
	proc = krt_reader_process(reader, 0);
	while ((r = krt_proc_next(proc, &rec, &len, &lane)) == 1) {
		volatile const char *c = (const char *)rec;

		if (len < sizeof(*rec) || n++ > 100000)
			cr_assert_fail("record %u of %zu bytes", n, len);
		(void)c[len - 1];
	}
	*records = n;
	cr_assert(krt_proc_dead(proc));
	if (r < 0) {
		cr_assert(krt_proc_error(proc) && !strncmp(krt_proc_error(proc), "trace: ", 7));
		cr_assert_eq(krt_proc_next(proc, &rec, &len, &lane), r, "damage stays damage");
	}
	return r == 0;
}

static unsigned small_trace(void)
{
	struct {
		struct krt_rec_stack s;
		uint64_t pc[3];
	} st = { .s = { .h.kind = KRT_REC_STACK, .id = 1, .depth = 3 }, .pc = { 1, 2, 3 } };
	struct {
		struct krt_rec_kernel k;
		struct krt_param p[2];
		char name[8];
	} kn = {.k = {.h.kind = KRT_REC_KERNEL, .id = 1, .nparams = 2, .name_len = 5},
		.name = "saxpy"};
	struct {
		struct krt_rec_module m;
		char path[16];
	} *mod = calloc(1, sizeof(*mod));
	struct {
		struct krt_rec_call c;
		uint64_t arg[2];
		struct krt_blob b;
		uint64_t data;
	} call = { .c = { .h.kind = KRT_REC_CALL, .api = 1, .argc = 2 }, .b = { .len = 5 } };

	tw_open(&w, dir, 4711, 1);
	tw_string(&w, 1, "a string");
	tw_record(&w, 0, &st, sizeof(st));
	tw_record(&w, 0, &kn, sizeof(kn));
	mod->m.h.kind = KRT_REC_MODULE;
	mod->m.base = 4096;
	mod->m.end = 8192;
	mod->m.path_len = 9;
	memcpy(mod->m.path, "/bin/true", 9);
	tw_record(&w, 0, mod, (sizeof(mod->m) + 9 + 7) & ~(size_t)7);
	free(mod);
	tw_thread(&w, 1, 10);
	for (unsigned i = 0; i < 6; i++) {
		call.c.t0 = tw_ticket(&w);
		call.c.t1 = tw_ticket(&w);
		call.c.h.size = sizeof(call);
		tw_record_parts(&w, 1 + i % 2, &call, sizeof(call), i == 3 ? 64 : 0);
	}
	tw_exit(&w, 0);
	return 4 + 1 + 6;
}

static char *slurp(const char *path, size_t *n)
{
	FILE *f = fopen(path, "r");
	char *b = malloc(1 << 20);

	cr_assert(f);
	*n = fread(b, 1, 1 << 20, f);
	fclose(f);
	return b;
}

static void spew(const char *path, const char *b, size_t n)
{
	int fd = open(path, O_WRONLY | O_TRUNC);

	cr_assert(fd >= 0 && write(fd, b, n) == (ssize_t)n);
	close(fd);
}

static bool read_again(unsigned *records)
{
	char err[256];
	bool good;

	reader = krt_reader_open(dir, false, err, sizeof(err));
	cr_assert(reader);
	good = drain(records);
	krt_reader_close(reader);
	return good;
}

Test(reader, truncated_anywhere)
{
	static const char *const file[] = { "proc", "0", "1", "2" };
	unsigned all = small_trace(), records, bad = 0;

	tw_close(&w);
	cr_assert(read_again(&records));
	cr_assert_eq(records, all);
	for (unsigned k = 0; k < 4; k++) {
		char path[512], *b;
		size_t n;

		snprintf(path, sizeof(path), "%s/%s.%s", dir, w.name, file[k]);
		b = slurp(path, &n);
		for (size_t cut = 0; cut < n; cut += 64) {
			spew(path, b, cut);
			cr_assert_not(read_again(&records), "%s cut at %zu passed as whole",
				      file[k], cut);
			cr_assert_lt(records, all);
			bad++;
		}
		unlink(path);
		cr_assert_not(read_again(&records), "%s missing passed as whole", file[k]);
		close(open(path, O_CREAT | O_WRONLY, 0600));
		spew(path, b, n);
		free(b);
	}
	cr_assert_gt(bad, 1000);
	cr_assert(read_again(&records));
}

Test(reader, any_byte_flipped)
{
	static const char *const file[] = { "proc", "0", "1", "2" };
	unsigned all = small_trace(), records, bad = 0;

	tw_close(&w);
	for (unsigned k = 0; k < 4; k++) {
		char path[512], *b;
		size_t n, end;

		snprintf(path, sizeof(path), "%s/%s.%s", dir, w.name, file[k]);
		b = slurp(path, &n);
		/* of the header: all but the texts and the unused slots */
		end = k ? n : offsetof(struct krt_proc, slot) + 3 * sizeof(struct krt_slot);
		for (size_t i = 0; i < end; i++) {
			if (!k && i == offsetof(struct krt_proc, exe))
				i = offsetof(struct krt_proc, slot);
			char old = b[i];

			b[i] = (char)(old ^ "\xff\x01\x80"[i % 3]);
			spew(path, b, n);
			b[i] = old;
			bad += !read_again(&records);
			if (records > all + 64)
				cr_assert_fail("%s byte %zu: %u records out of %u", file[k], i,
					       records, all);
		}
		spew(path, b, n);
		free(b);
	}
	cr_assert_gt(bad, 100, "only %u flips were noticed", bad);
}

Test(reader, another_version_or_table_is_told)
{
	unsigned records;
	char err[256];

	small_trace();
	w.h->version = 99;
	reader = krt_reader_open(dir, false, err, sizeof(err));
	cr_assert_not(drain(&records));
	cr_assert(strstr(krt_proc_error(proc), "trace version 99: this krtsan reads version 1"),
		  "%s", krt_proc_error(proc));
	krt_reader_close(reader);
	w.h->version = KRT_TRACE_VERSION;
	w.h->api_hash ^= 1;
	reader = krt_reader_open(dir, false, err, sizeof(err));
	cr_assert_not(drain(&records));
	cr_assert(strstr(krt_proc_error(proc), "another entry-point table"), "%s",
		  krt_proc_error(proc));
	krt_reader_close(reader);
	tw_close(&w);
}

Test(reader, damage_ends_the_process_at_once)
{
	struct krt_rec_call c = {
		.h = {.size = sizeof(c), .kind = KRT_REC_CALL}, .api = KRT_NR_APIS, .t1 = 5};
	unsigned records;
	char err[256];

	tw_open(&w, dir, 4711, 1);
	tw_call_at(&w, 1, 1, 1, 2, NULL, 0);
	tw_raw(&w, 1, &c, sizeof(c)); /* no such entry point */
	tw_publish(&w, 1);
	tw_call_at(&w, 2, 1, 3, 4, NULL, 0);
	tw_call_at(&w, 2, 1, 5, 8, NULL,
		   0); /* after the damage: would lack what lane 1 did in between */
	tw_exit(&w, 0);
	reader = krt_reader_open(dir, false, err, sizeof(err));
	cr_assert_not(drain(&records));
	cr_assert_eq(records, 2);
	cr_assert(strstr(krt_proc_error(proc), ".1: damaged at byte 56"), "%s",
		  krt_proc_error(proc));
	krt_reader_close(reader);
	tw_close(&w);
}

Test(reader, dropped_records_are_counted)
{
	unsigned records;
	char err[256];

	tw_open(&w, dir, 4711, 1);
	tw_call(&w, 1, 1, NULL, 0);
	w.h->slot[1].dropped = 3;
	w.h->slot[2].dropped = 4;
	tw_exit(&w, 0);
	reader = krt_reader_open(dir, false, err, sizeof(err));
	cr_assert(drain(&records));
	cr_assert_eq(krt_proc_dropped(proc), 7);
	krt_reader_close(reader);
	tw_close(&w);
}
