/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes session folders for tests, as record.h says: an independent writer,
 * so that reader and recorder are not tested against each other alone.
 */
#ifndef KRT_TRACE_WRITER_H
#define KRT_TRACE_WRITER_H

#include "interposer/api.h"
#include "interposer/library.h"
#include "interposer/record.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct tw {
	char dir[256], name[64];
	struct krt_proc *h; /* the header, mapped */
	int fd[64];
	uint64_t pos[64];   /* written, maybe not published */
	uint64_t shift[64]; /* to where that lies in the file */
};

#define TW_CHECK(x) do { if (!(x)) { perror(#x); abort(); } } while (0)

/* A new temporary folder. */
static inline void tw_folder(char dir[256])
{
	snprintf(dir, 256, "/tmp/krt-test.XXXXXX");
	TW_CHECK(mkdtemp(dir));
}

static inline void tw_open(struct tw *w, const char *dir, int pid, uint64_t start)
{
	struct timespec now;
	char path[512];
	int fd;

	memset(w, 0, sizeof(*w));
	memset(w->fd, -1, sizeof(w->fd));
	snprintf(w->dir, sizeof(w->dir), "%s", dir);
	snprintf(w->name, sizeof(w->name), "%d.%llu", pid, (unsigned long long)start);
	snprintf(path, sizeof(path), "%s/%s.proc", dir, w->name);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	TW_CHECK(fd >= 0 && !ftruncate(fd, sizeof(*w->h)));
	w->h = mmap(NULL, sizeof(*w->h), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	TW_CHECK(w->h != MAP_FAILED);
	close(fd);
	w->h->version = KRT_TRACE_VERSION;
	w->h->size = sizeof(*w->h);
	w->h->api_hash = krt_tables_hash();
	w->h->pid = pid;
	w->h->ppid = 1;
	w->h->start_ns = start;
	clock_gettime(CLOCK_MONOTONIC, &now);
	w->h->mono_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	w->h->state = KRT_PROC_RUNNING;
	w->h->ticket = 1;
	w->h->lanes = 1;
	snprintf(w->h->exe, sizeof(w->h->exe), "/bin/test-program");
	__atomic_store_n(&w->h->magic, KRT_TRACE_MAGIC, __ATOMIC_RELEASE);
}

static inline void tw_raw(struct tw *w, unsigned lane, const void *data, size_t n)
{
	char path[512];

	if (w->fd[lane] < 0) {
		snprintf(path, sizeof(path), "%s/%s.%u", w->dir, w->name, lane);
		w->fd[lane] = open(path, O_RDWR | O_CREAT, 0600);
		TW_CHECK(w->fd[lane] >= 0);
		if (lane >= w->h->lanes)
			w->h->lanes = lane + 1;
	}
	TW_CHECK(pwrite(w->fd[lane], data, n, (off_t)(w->pos[lane] + w->shift[lane])) == (ssize_t)n);
	w->pos[lane] += n;
}

static inline void tw_publish(struct tw *w, unsigned lane)
{
	__atomic_store_n(&w->h->slot[lane].commit, w->pos[lane], __ATOMIC_RELEASE);
}

/* The rest of the window becomes a PAD. */
static inline void tw_pad(struct tw *w, unsigned lane)
{
	uint64_t rest = KRT_WINDOW - w->pos[lane] % KRT_WINDOW;
	struct krt_rec *pad = calloc(1, rest);

	pad->size = (uint32_t)rest;
	pad->kind = KRT_REC_PAD;
	tw_raw(w, lane, pad, rest);
	free(pad);
}

/* One record, split at windows (or after `part` bytes, 0: as needed). */
static inline void tw_record_parts(struct tw *w, unsigned lane, const void *rec, size_t len,
				   size_t part)
{
	const char *at = rec;
	struct krt_rec head = *(const struct krt_rec *)rec;
	size_t left = len, skip = 0;
	char *buf = malloc(KRT_WINDOW);

	while (left) {
		size_t rest = KRT_WINDOW - w->pos[lane] % KRT_WINDOW, take = left + skip;
		struct krt_rec *h = (void *)buf;

		if (!skip && !part && take > rest && take <= KRT_WINDOW) {
			tw_pad(w, lane);
			continue;
		}
		if (part && take > part)
			take = part;
		if (take > rest)
			take = rest;
		if (take < 64 && take < left + skip) {
			tw_pad(w, lane);
			continue;
		}
		if (skip) {
			*h = (struct krt_rec){ .kind = KRT_REC_CONT };
			memcpy(h + 1, at, take - skip);
		} else {
			memcpy(buf, at, take);
			*h = head;
		}
		h->size = (uint32_t)take;
		h->flags = (uint8_t)(head.flags | (take - skip < left ? KRT_RF_MORE : 0));
		tw_raw(w, lane, buf, take);
		at += take - skip;
		left -= take - skip;
		skip = sizeof(*h);
	}
	free(buf);
	tw_publish(w, lane);
}

static inline void tw_record(struct tw *w, unsigned lane, void *rec, size_t len)
{
	((struct krt_rec *)rec)->size = (uint32_t)len;
	tw_record_parts(w, lane, rec, len, 0);
}

static inline uint64_t tw_ticket(struct tw *w)
{
	return __atomic_fetch_add(&w->h->ticket, 1, __ATOMIC_SEQ_CST);
}

/* A call without blobs; t1 0: takes tickets. */
static inline uint64_t tw_call_at(struct tw *w, unsigned lane, unsigned api, uint64_t t0,
				  uint64_t t1, const uint64_t *args, unsigned argc)
{
	struct {
		struct krt_rec_call c;
		uint64_t args[KRT_MAX_ARGS];
	} r = {.c = {.h.kind = KRT_REC_CALL,
		     .api = (uint16_t)api,
		     .argc = (uint16_t)argc,
		     .t0 = t0,
		     .t1 = t1}};

	if (argc)
		memcpy(r.args, args, argc * sizeof(*args));
	tw_record(w, lane, &r, sizeof(r.c) + argc * sizeof(*args));
	return t1;
}

static inline uint64_t tw_call(struct tw *w, unsigned lane, unsigned api, const uint64_t *args,
			       unsigned argc)
{
	uint64_t t0 = tw_ticket(w);

	return tw_call_at(w, lane, api, t0, tw_ticket(w), args, argc);
}

static inline void tw_thread(struct tw *w, unsigned lane, int tid)
{
	struct krt_rec_thread t = {
		.h.kind = KRT_REC_THREAD, .tid = tid, .serial = lane, .name = "test"};

	tw_record(w, lane, &t, sizeof(t));
	w->h->slot[lane].tid = tid;
}

static inline void tw_string(struct tw *w, unsigned id, const char *text)
{
	size_t n = strlen(text), len = (sizeof(struct krt_rec_string) + n + 7) & ~(size_t)7;
	struct krt_rec_string *s = calloc(1, len);

	s->h.kind = KRT_REC_STRING;
	s->id = id;
	s->len = (uint32_t)n;
	memcpy(s->text, text, n);
	tw_record(w, 0, s, len);
	free(s);
}

static inline void tw_exit(struct tw *w, int code)
{
	w->h->exit_code = code;
	__atomic_store_n(&w->h->state, KRT_PROC_EXITED, __ATOMIC_RELEASE);
}

static inline void tw_close(struct tw *w)
{
	for (unsigned i = 0; i < 64; i++)
		if (w->fd[i] >= 0)
			close(w->fd[i]);
	munmap(w->h, sizeof(*w->h));
}

static inline void tw_remove(const char *dir)
{
	char cmd[320];

	snprintf(cmd, sizeof(cmd), "rm -rf '%s'", dir);
	TW_CHECK(!system(cmd));
}

#endif
