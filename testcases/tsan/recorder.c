/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recorder under a sanitizer of threads: recorder [--threads=N] [--records=N] [--planted].
 *
 * Linked with record.c and util.c alone; what these ask of the rest of the library is
 * answered here.  Threads record what lane.h offers, come and go, and one forks; a
 * reader, in this process, follows through the files as the front end does, so that
 * lanes run full, are read and used again.  In the end every record has to have
 * arrived, whole, once and in the order of its thread, as long as none was dropped.  --planted:
 * with a race of the test's own.
 *
 * Locking: none; threads meet in the recorder and at joins.
 */
#define _GNU_SOURCE
#include "lane.h"
#include "modules.h"
#include "process.h"
#include "pyframes.h"
#include "reader.h"
#include "unwinder.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* --- the rest of the library ------------------------------------------------------------ */

void krt_clock_open(void)
{
}

uint64_t krt_clock_ns(void)
{
	return krt_mono_ns();
}

bool krt_reader_coming(void)
{
	return false;
}

bool krt_reader_early(void)
{
	return false;
}

void krt_ranges_reset(struct krt_thread *t)
{
	(void)t;
}

unsigned krt_modules_generation(void)
{
	return 1;
}

void krt_modules_refresh(void)
{
}

/* What the calling thread is at, made up: some places are new, most were met. */
static __thread uint64_t place;

unsigned krt_unwind(uint64_t *pc, unsigned max, struct krt_unwind_memo *memo)
{
	unsigned n = 1 + place % 7;

	(void)memo;
	for (unsigned i = 0; i < n && i < max; i++)
		pc[i] = 0x400000 + place * 16 + i;
	return n < max ? n : max;
}

bool krt_unwind_quiet(bool quiet)
{
	(void)quiet;
	return false;
}

unsigned krt_pyframes(struct krt_pyframe *frame, unsigned max, const uint64_t *pc, unsigned n,
		      unsigned room, bool quiet)
{
	(void)frame, (void)max, (void)pc, (void)n, (void)room, (void)quiet;
	return 0;
}

bool krt_pyframes_whole(void)
{
	return false;
}

unsigned krt_pyframes_place(const struct krt_pyframe *frame, unsigned n, const uint64_t *pc,
			    unsigned npc, struct krt_rec_pyframe *out)
{
	(void)frame, (void)n, (void)pc, (void)npc, (void)out;
	return 0;
}

/* --- threads that record ------------------------------------------------------------------ */

#define THREADS_MAX 64
static unsigned threads = 8, records = 4000, rounds = 2;
static unsigned long sent, planted_sum;
static bool planted;

static void need(bool good, const char *what)
{
	if (good)
		return;
	dprintf(STDERR_FILENO, "recorder: %s\n", what);
	_exit(1);
}

/* Of a thread: its number, which of its records, and bytes that follow from the two. */
static size_t length_of(uint64_t who, uint64_t seq)
{
	uint64_t h = (who * 1000003 + seq) * UINT64_C(0x9e3779b97f4a7c15);

	if (seq % 1000 == 999)
		return 300000 + h % 100000; /* more than a window */
	return h >> 60 ? h >> 32 & 0xff : 5000;
}

static unsigned char byte_of(uint64_t who, uint64_t seq, size_t i)
{
	return (unsigned char)(who * 7 + seq * 13 + i);
}

static void record_one(uint64_t who, uint64_t seq, char *room)
{
	struct krt_rec_call *c = (void *)room;
	struct krt_thread *t = krt_thread();
	size_t n = length_of(who, seq);
	struct krt_blob *b = (void *)&c->args[2];
	uint64_t block[8] = {who, seq % 50};

	if (!t)
		return;
	memset(c, 0, sizeof(*c));
	c->h.kind = KRT_REC_CALL;
	c->argc = 2;
	c->t0 = krt_ticket();
	place = (who * 31 + seq) % (seq % 100 ? 64 : 5000);
	c->stack = krt_stack_id(seq % 2);
	if (seq % 3 == 0)
		c->took_ns = krt_params_id(1, block, sizeof(block));
	if (seq % 200 == 0)
		krt_string_id("a name of a range", 17);
	c->args[0] = who;
	c->args[1] = seq;
	*b = (struct krt_blob){.kind = KRT_BLOB_BYTES, .len = (uint32_t)n};
	for (size_t i = 0; i < n; i++)
		((unsigned char *)(b + 1))[i] = byte_of(who, seq, i);
	krt_lane_write(t, &c->h, (size_t)((char *)(b + 1) - room) + n, &c->t1);
	__atomic_fetch_add(&sent, 1, __ATOMIC_RELAXED);
	if (planted)
		planted_sum++;
}

static void *thread(void *arg)
{
	uint64_t who = (uintptr_t)arg;
	char *room = malloc(1 << 19);

	need(room, "no memory");
	for (uint64_t seq = 0; seq < records; seq++) {
		record_one(who, seq, room);
		if (who == 1 && seq == records / 2) { /* in the child nothing is recorded */
			pid_t child = fork();
			int status = 0;

			if (!child)
				_exit(krt_attached() ? 1 : 0);
			need(child > 0 && waitpid(child, &status, 0) == child && !status,
			     "a forked child records");
		}
	}
	free(room);
	return NULL;
}

/* --- the reader ------------------------------------------------------------------------------- */

static uint64_t next[2 * THREADS_MAX]; /* of each thread: its record to come */
static unsigned long arrived, stacks, others;

static void arrive(const struct krt_rec *rec, size_t len)
{
	const struct krt_rec_call *c = (const void *)rec;
	const struct krt_blob *b = (const void *)&c->args[2];

	stacks += rec->kind == KRT_REC_STACK;
	others += rec->kind != KRT_REC_STACK && rec->kind != KRT_REC_CALL;
	if (rec->kind != KRT_REC_CALL)
		return;
	need(len >= sizeof(*c) + 16 + sizeof(*b) && c->args[0] < 2 * THREADS_MAX,
	     "a record that nobody wrote");
	need(c->args[1] >= next[c->args[0]] && c->args[1] < records,
	     "a thread's records are out of order");
	need(b->len == length_of(c->args[0], c->args[1]), "a record of another length");
	for (size_t i = 0; i < b->len; i++)
		need(((const unsigned char *)(b + 1))[i] == byte_of(c->args[0], c->args[1], i),
		     "other bytes");
	next[c->args[0]] = c->args[1] + 1;
	arrived++;
}

static void *read_along(void *arg)
{
	const struct timespec pause = {0, 500000};
	struct krt_proc_reader *p;
	const struct krt_rec *rec;
	struct krt_reader *r;
	uint64_t last = 0, dropped;
	char err[256];
	unsigned lane;
	size_t len;
	int got;

	r = krt_reader_open(arg, true, err, sizeof(err));
	need(r && krt_reader_scan(r) == 1, "no trace");
	p = krt_reader_process(r, 0);
	while ((got = krt_proc_next(p, &rec, &len, &lane)) > 0 || !krt_proc_dead(p)) {
		if (got < 0)
			break;
		if (!got) {
			nanosleep(&pause, NULL);
			continue;
		}
		if (rec->kind == KRT_REC_CALL) {
			need(((const struct krt_rec_call *)rec)->t1 > last,
			     "not in the order of tickets");
			last = ((const struct krt_rec_call *)rec)->t1;
		}
		arrive(rec, len);
	}
	need(!krt_proc_error(p), krt_proc_error(p) ? krt_proc_error(p) : "");
	dropped = krt_proc_dropped(p);
	need(arrived + dropped >= sent && arrived <= sent, "records are missing");
	printf("ok recorder: %lu records of %lu arrived, %lu were dropped, %lu stacks, %lu "
	       "others\n",
	       arrived, sent, (unsigned long)dropped, stacks, others);
	krt_reader_close(r);
	return NULL;
}

/* --- the process
 * ---------------------------------------------------------------------------------- */

int main(int argc, char **argv)
{
	char dir[] = "/dev/shm/recorder.XXXXXX";
	pthread_t id[THREADS_MAX], reader;
	char path[512];

	for (int i = 1; i < argc; i++) {
		planted |= !strcmp(argv[i], "--planted");
		need(planted || sscanf(argv[i], "--threads=%u", &threads) == 1 ||
			     sscanf(argv[i], "--records=%u", &records) == 1,
		     "usage: recorder [--threads=N] [--records=N] [--planted]");
	}
	need(threads >= 2 && threads <= THREADS_MAX, "2 to 64 threads");
	need(mkdtemp(dir), "no folder");
	krt_opt.stacks = KRT_STACKS_full;
	krt_opt.depth = 48;
	krt_opt.bound = 32 << 20; /* little, so that writers meet the reader */
	krt_opt.on_full = KRT_ON_FULL_wait;
	krt_wipe_arm();
	need(!krt_record_open(dir) && krt_intern_open(), "cannot begin");
	krt_session = 1;
	krt_record_publish();
	atomic_store(&krt_wipe.w.attached, KRT_RECORDING);
	snprintf(path, sizeof(path), "%s", dir);
	need(!pthread_create(&reader, NULL, read_along, path), "no thread");
	for (unsigned round = 0; round < rounds;
	     round++) { /* the second ones get lanes of the first */
		for (uintptr_t i = 0; i < threads; i++)
			need(!pthread_create(&id[i], NULL, thread,
					     (void *)(round * THREADS_MAX + i)),
			     "no thread");
		krt_record_sum();
		if (round)
			krt_record_last(KRT_MARK_EXITING,
					0); /* exit handlers begin while others still record */
		for (unsigned i = 0; i < threads; i++)
			pthread_join(id[i], NULL);
	}
	krt_record_sum();
	__atomic_store_n(&krt_proc->state, KRT_PROC_EXITED, __ATOMIC_RELEASE);
	pthread_join(reader, NULL);
	snprintf(path, sizeof(path), "rm -rf %s", dir);
	return system(path);
}
