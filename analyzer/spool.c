/* SPDX-License-Identifier: Apache-2.0 */
/* Records kept to be read again: see spool.h. */
#define _GNU_SOURCE
#include "spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCK (64u * 1024)

/* Before each record, which is padded to a multiple of 8 bytes. */
struct item {
	uint32_t len, lane;
};

struct block {
	uint64_t at; /* in the file */
	size_t len;
};

struct process {
	unsigned char *tail; /* not in the file yet */
	size_t used, size;
	struct block *block;
	uint32_t n, cap;
};

struct krt_spool {
	uint64_t bound, bytes, end; /* end: of the file */
	const char *gone;
	int fd; /* -1: nothing is in it */
	struct process *process;
	unsigned n;
	/* what is being read */
	unsigned reading;
	uint32_t next;	    /* block, n of them: the tail */
	unsigned char *buf; /* the block in hand */
	const unsigned char *data;
	size_t buf_size, left;
};

struct krt_spool *krt_spool_new(uint64_t bound)
{
	struct krt_spool *s = calloc(1, sizeof(*s));

	if (s) {
		s->bound = bound;
		s->fd = -1;
	}
	return s;
}

static void let_go(struct krt_spool *s, const char *why)
{
	s->gone = why;
	for (unsigned i = 0; i < s->n; i++) {
		free(s->process[i].tail);
		free(s->process[i].block);
	}
	free(s->process);
	free(s->buf);
	s->process = NULL;
	s->buf = NULL;
	s->n = 0;
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}

void krt_spool_free(struct krt_spool *s)
{
	if (s)
		let_go(s, "");
	free(s);
}

const char *krt_spool_gone(const struct krt_spool *s)
{
	return s->gone;
}

/* A file without a name. */
static int open_file(void)
{
	const char *dir = getenv("TMPDIR");
	char path[4096];
	int fd;

	if (!dir || !*dir || strlen(dir) > sizeof(path) - 32)
		dir = "/tmp";
	fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0)
		return fd;
	strcpy(path, dir);
	strcat(path, "/krtsan-spool-XXXXXX");
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		unlink(path);
	return fd;
}

static bool write_all(int fd, const unsigned char *data, size_t len, uint64_t at)
{
	while (len) {
		ssize_t n = pwrite(fd, data, len, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		data += n;
		len -= (size_t)n;
		at += (uint64_t)n;
	}
	return true;
}

/* The tail goes into the file. */
static bool flush(struct krt_spool *s, struct process *p)
{
	if (!p->used)
		return true;
	if (p->n == p->cap) {
		uint32_t cap = p->cap ? 2 * p->cap : 16;
		struct block *list = realloc(p->block, cap * sizeof(*list));

		if (!list)
			return false;
		p->block = list;
		p->cap = cap;
	}
	if (s->fd < 0)
		s->fd = open_file();
	if (s->fd < 0 || !write_all(s->fd, p->tail, p->used, s->end))
		return false;
	p->block[p->n++] = (struct block){s->end, p->used};
	s->end += p->used;
	p->used = 0;
	return true;
}

static bool room(struct krt_spool *s, struct process *p, size_t need)
{
	size_t size = need > BLOCK ? need : BLOCK;
	unsigned char *tail;

	if (p->used + need <= p->size)
		return true;
	if (!flush(s, p))
		return false;
	if (need <= p->size)
		return true;
	tail = realloc(p->tail, size);
	if (!tail)
		return false;
	p->tail = tail;
	p->size = size;
	return true;
}

static struct process *process_of(struct krt_spool *s, unsigned process)
{
	struct process *list;

	if (process >= s->n) {
		list = realloc(s->process, (process + 1) * sizeof(*list));
		if (!list)
			return NULL;
		memset(list + s->n, 0, (process + 1 - s->n) * sizeof(*list));
		s->process = list;
		s->n = process + 1;
	}
	return &s->process[process];
}

void krt_spool_add(struct krt_spool *s, unsigned process, const struct krt_rec *rec, size_t len,
		   unsigned lane)
{
	struct item item = {(uint32_t)len, lane};
	size_t padded = (len + 7) & ~(size_t)7;
	struct process *p;

	if (s->gone)
		return;
	if (len > UINT32_MAX - 16 || s->bytes + padded + sizeof(item) > s->bound) {
		let_go(s, "the run was too long to keep (verify=SIZE keeps more)");
		return;
	}
	p = process_of(s, process);
	if (!p || !room(s, p, padded + sizeof(item))) {
		let_go(s, "its records could not be kept: no memory or disk");
		return;
	}
	memcpy(p->tail + p->used, &item, sizeof(item));
	memcpy(p->tail + p->used + sizeof(item), rec, len);
	memset(p->tail + p->used + sizeof(item) + len, 0, padded - len);
	p->used += sizeof(item) + padded;
	s->bytes += sizeof(item) + padded;
}

void krt_spool_rewind(struct krt_spool *s, unsigned process)
{
	s->reading = process;
	s->next = 0;
	s->left = 0;
}

static bool read_all(int fd, unsigned char *data, size_t len, uint64_t at)
{
	while (len) {
		ssize_t n = pread(fd, data, len, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		data += n;
		len -= (size_t)n;
		at += (uint64_t)n;
	}
	return true;
}

/* 1: another block is in hand, 0: that was all. */
static int next_block(struct krt_spool *s)
{
	struct process *p = s->reading < s->n ? &s->process[s->reading] : NULL;
	const struct block *b;

	if (!p || s->next > p->n)
		return 0;
	if (s->next == p->n) {
		s->next++;
		s->data = p->tail;
		s->left = p->used;
		return s->left > 0;
	}
	b = &p->block[s->next++];
	if (b->len > s->buf_size) {
		free(s->buf);
		s->buf = malloc(b->len);
		s->buf_size = s->buf ? b->len : 0;
	}
	if (!s->buf || !read_all(s->fd, s->buf, b->len, b->at))
		return -EIO;
	s->data = s->buf;
	s->left = b->len;
	return 1;
}

int krt_spool_next(struct krt_spool *s, const struct krt_rec **rec, size_t *len, unsigned *lane)
{
	struct item item;
	size_t whole;

	if (s->gone)
		return -EIO;
	if (!s->left) {
		int r = next_block(s);

		if (r <= 0)
			return r;
	}
	memcpy(&item, s->data, sizeof(item));
	*rec = (const void *)(s->data + sizeof(item));
	*len = item.len;
	*lane = item.lane;
	whole = sizeof(item) + ((item.len + 7) & ~(size_t)7);
	s->data += whole;
	s->left -= whole;
	return 1;
}
