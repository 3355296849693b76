/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records in compressed frames: see packed.h.  Nothing but zstd makes them short: what is
 * said twice in a batch costs a few bytes the second time.
 */
#define _GNU_SOURCE
#include "packed.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

#define BATCH  (8u << 20) /* unpacked; a longer record is a batch of its own */
#define LEVEL  3
#define WINDOW 23 /* log2: a batch */
#define MOST   (KRT_PACKED_RECORD + BATCH)

/* In front of each frame: a skippable frame of zstd's, so that `zstd -d` unpacks the file. */
#define SKIPPABLE 0x184d2a5au
struct frame {
	uint32_t skippable, size; /* of the rest: 16 */
	uint32_t magic;
	uint32_t packed;   /* bytes of the frame that follows */
	uint64_t unpacked; /* of its content */
};
#define FRAME_MAGIC 0x5054524bu /* "KRTP" */

enum kind { PROCESS = 1, RECORDS = 2, END = 3 };
/* A frame's content begins with this. */
struct krt_packed_batch {
	uint32_t kind, version;
	uint64_t dropped;
	/* PROCESS, END: struct krt_proc without its slots; RECORDS: struct item and a record, each
	 * padded to 8 */
};

struct item {
	uint32_t len, lane;
};

static uint64_t padded(uint64_t n)
{
	return (n + 7) & ~UINT64_C(7);
}

/* --- writing ------------------------------------------------------------------------- */

struct krt_packer {
	int fd, error;
	uint64_t end, since;
	uint64_t dropped, waiting, lost; /* records: in the batch, not in the file */
	ZSTD_CCtx *zstd;
	unsigned char *batch, *packed;
	size_t used, size, packed_size;
};

struct krt_packer *krt_packer_new(int dirfd, const char *name)
{
	struct krt_packer *p = calloc(1, sizeof(*p));
	char file[NAME_MAX + 1];

	if (!p)
		return NULL;
	p->fd = -1;
	p->size = BATCH;
	p->batch = malloc(p->size);
	p->zstd = ZSTD_createCCtx();
	if (!p->batch || !p->zstd) {
		krt_packer_free(p);
		errno = ENOMEM;
		return NULL;
	}
	ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_compressionLevel, LEVEL);
	ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_windowLog, WINDOW);
	ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_checksumFlag, 1);
	snprintf(file, sizeof(file), "%.200s" KRT_PACKED_SUFFIX, name);
	p->fd = openat(dirfd, file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (p->fd < 0) {
		int err = errno;

		krt_packer_free(p);
		errno = err;
		return NULL;
	}
	return p;
}

void krt_packer_free(struct krt_packer *p)
{
	if (!p)
		return;
	if (p->fd >= 0)
		close(p->fd);
	ZSTD_freeCCtx(p->zstd);
	free(p->batch);
	free(p->packed);
	free(p);
}

int krt_packer_error(const struct krt_packer *p)
{
	return p->error;
}

uint64_t krt_packer_lost(const struct krt_packer *p)
{
	return p->lost;
}

uint64_t krt_packer_size(const struct krt_packer *p)
{
	return p->end;
}

uint64_t krt_packer_since(const struct krt_packer *p)
{
	return p->since;
}

static int put(int fd, const unsigned char *data, size_t len, uint64_t at)
{
	while (len) {
		ssize_t n = pwrite(fd, data, len, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -ENOSPC;
		data += n;
		len -= (size_t)n;
		at += (uint64_t)n;
	}
	return 0;
}

/* A whole frame, or none. */
static int write_frame(struct krt_packer *p)
{
	size_t room = sizeof(struct frame) + ZSTD_compressBound(p->used), n;
	struct frame f = {.skippable = SKIPPABLE,
			  .size = sizeof(f) - 8,
			  .magic = FRAME_MAGIC,
			  .unpacked = p->used};
	void *packed;
	int r;

	if (room > p->packed_size) {
		packed = realloc(p->packed, room);
		if (!packed)
			return -ENOMEM;
		p->packed = packed;
		p->packed_size = room;
	}
	n = ZSTD_compress2(p->zstd, p->packed + sizeof(f), room - sizeof(f), p->batch, p->used);
	if (ZSTD_isError(n) || n > UINT32_MAX)
		return -ENOMEM;
	f.packed = (uint32_t)n;
	memcpy(p->packed, &f, sizeof(f));
	r = put(p->fd, p->packed, sizeof(f) + n, p->end);
	if (r) {
		if (ftruncate(p->fd, (off_t)p->end))
			return r; /* the reader finds where the frames end */
		return r;
	}
	p->end += sizeof(f) + n;
	return 0;
}

int krt_packer_flush(struct krt_packer *p)
{
	if (!p->error && p->used)
		p->error = write_frame(p);
	if (p->error)
		p->lost += p->waiting;
	p->waiting = 0;
	p->used = 0;
	p->since = 0;
	if (p->size > BATCH) {
		free(p->batch);
		p->size = BATCH;
		p->batch = malloc(p->size);
		if (!p->batch && !p->error)
			p->error = -ENOMEM;
	}
	return p->error;
}

static void begin(struct krt_packer *p, enum kind kind)
{
	const struct krt_packed_batch b = {
		.kind = kind, .version = KRT_TRACE_VERSION, .dropped = p->dropped};

	memcpy(p->batch, &b, sizeof(b));
	p->used = sizeof(b);
}

int krt_packer_process(struct krt_packer *p, const struct krt_proc *h, uint64_t dropped, bool end)
{
	p->dropped = dropped;
	if (krt_packer_flush(p) && !end)
		return p->error;
	p->error = 0; /* the end may be short enough */
	begin(p, end ? END : PROCESS);
	memcpy(p->batch + p->used, h, offsetof(struct krt_proc, slot));
	p->used += offsetof(struct krt_proc, slot);
	return krt_packer_flush(p);
}

static int add(struct krt_packer *p, const struct krt_rec *rec, size_t len, unsigned lane)
{
	const struct item item = {(uint32_t)len, lane};
	size_t whole = sizeof(item) + padded(len);
	unsigned char *at, *batch;
	struct timespec now;

	if (!p->error && len > KRT_PACKED_RECORD)
		p->error = -EMSGSIZE;
	if (p->error)
		return p->error;
	if (p->used + whole > p->size && krt_packer_flush(p))
		return p->error;
	if (sizeof(struct krt_packed_batch) + whole > p->size) {
		batch = realloc(p->batch, sizeof(struct krt_packed_batch) + whole);
		if (!batch)
			return p->error = -ENOMEM;
		p->batch = batch;
		p->size = sizeof(struct krt_packed_batch) + whole;
	}
	if (!p->used) {
		begin(p, RECORDS);
		clock_gettime(CLOCK_MONOTONIC, &now);
		p->since = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	}
	at = p->batch + p->used;
	memcpy(at, &item, sizeof(item));
	at += sizeof(item);
	memcpy(at, rec, len);
	memset(at + len, 0, padded(len) - len);
	p->used += whole;
	p->waiting++;
	return 0;
}

int krt_packer_add(struct krt_packer *p, const struct krt_rec *rec, size_t len, unsigned lane)
{
	int r = add(p, rec, len, lane);

	p->lost += r != 0;
	return r;
}

/* --- reading -------------------------------------------------------------------------- */

struct krt_unpacker {
	int fd;
	uint64_t pos, size, volume;
	ZSTD_DCtx *zstd;
	unsigned char *packed, *batch;
	size_t packed_size, batch_size;
	size_t at, used; /* in the batch */
	struct krt_proc process;
	uint64_t dropped;
	bool some, ended;
	char error[160];
};

__attribute__((format(printf, 2, 3))) static int wrong(struct krt_unpacker *u, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (!u->error[0]) {
		n = snprintf(u->error, sizeof(u->error), "at byte %" PRIu64 ": ", u->pos);
		va_start(ap, fmt);
		vsnprintf(u->error + n, sizeof(u->error) - (size_t)n, fmt, ap);
		va_end(ap);
	}
	u->at = u->used = 0;
	return -EBADMSG;
}

static ssize_t get(int fd, void *data, size_t len, uint64_t at)
{
	size_t got = 0;

	while (got < len) {
		ssize_t n = pread(fd, (char *)data + got, len - got, (off_t)(at + got));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (!n)
			break;
		got += (size_t)n;
	}
	return (ssize_t)got;
}

/* The frame at pos: 1, 0 at the end of the file, negative. */
static int frame_at(struct krt_unpacker *u, uint64_t pos, struct frame *f)
{
	ssize_t n = get(u->fd, f, sizeof(*f), pos);

	if (n < 0)
		return -EIO;
	if (!n)
		return 0;
	if (n < (ssize_t)sizeof(*f))
		return -ENODATA;
	if (f->skippable != SKIPPABLE || f->size != sizeof(*f) - 8 || f->magic != FRAME_MAGIC ||
	    !f->packed || f->unpacked < sizeof(struct krt_packed_batch) || f->unpacked > MOST)
		return -EBADMSG;
	if (u->size - pos - sizeof(*f) < f->packed)
		return -ENODATA;
	return 1;
}

struct krt_unpacker *krt_unpacker_new(int fd)
{
	struct krt_unpacker *u = calloc(1, sizeof(*u));
	struct stat st;
	struct frame f;

	if (!u || !(u->zstd = ZSTD_createDCtx()) || fstat(fd, &st)) {
		close(fd);
		free(u);
		return NULL;
	}
	u->fd = fd;
	u->size = (uint64_t)st.st_size;
	for (uint64_t pos = 0; frame_at(u, pos, &f) > 0; pos += sizeof(f) + f.packed)
		u->volume += f.unpacked;
	return u;
}

void krt_unpacker_free(struct krt_unpacker *u)
{
	if (!u)
		return;
	close(u->fd);
	ZSTD_freeDCtx(u->zstd);
	free(u->packed);
	free(u->batch);
	free(u);
}

static bool room(unsigned char **buf, size_t *size, size_t need)
{
	if (need <= *size)
		return true;
	free(*buf);
	*buf = malloc(need);
	*size = *buf ? need : 0;
	return *buf != NULL;
}

/* Unpacks the next frame.  1, 0 at the end, negative. */
static int next_frame(struct krt_unpacker *u)
{
	struct krt_packed_batch b;
	struct frame f;
	size_t n;
	int r = frame_at(u, u->pos, &f);

	if (!r)
		return u->ended ? 0 : wrong(u, "the recording was cut off: its end is not there");
	if (r == -ENODATA)
		return wrong(u, "the recording was cut off in the middle of a frame");
	if (r < 0)
		return wrong(u, "%s", r == -EIO ? strerror(errno) : "no frame of records");
	if (u->ended)
		return wrong(u, "more behind the end");
	if (!room(&u->packed, &u->packed_size, f.packed) ||
	    !room(&u->batch, &u->batch_size, f.unpacked))
		return wrong(u, "no memory for %" PRIu64 " bytes", f.unpacked);
	if (get(u->fd, u->packed, f.packed, u->pos + sizeof(f)) != (ssize_t)f.packed)
		return wrong(u, "cannot be read");
	n = ZSTD_decompressDCtx(u->zstd, u->batch, f.unpacked, u->packed, f.packed);
	if (ZSTD_isError(n) || n != f.unpacked)
		return wrong(u, "a frame is damaged: %s",
			     ZSTD_isError(n) ? ZSTD_getErrorName(n) : "its length");
	memcpy(&b, u->batch, sizeof(b));
	if (b.version != KRT_TRACE_VERSION)
		return wrong(u, "trace version %u: this krtsan reads version %d", b.version,
			     KRT_TRACE_VERSION);
	switch ((enum kind)b.kind) {
	case PROCESS:
	case END:
		if (n != sizeof(b) + offsetof(struct krt_proc, slot))
			return wrong(u, "a header of %zu bytes", n - sizeof(b));
		memcpy(&u->process, u->batch + sizeof(b), n - sizeof(b));
		u->some = true;
		u->ended = b.kind == END;
		u->used = u->at = 0;
		break;
	case RECORDS:
		if (!u->some)
			return wrong(u, "records of no process");
		u->used = n;
		u->at = sizeof(b);
		break;
	default:
		return wrong(u, "a frame of kind %u", b.kind);
	}
	u->dropped = b.dropped;
	u->pos += sizeof(f) + f.packed;
	return 1;
}

int krt_unpacker_begin(struct krt_unpacker *u)
{
	int r = next_frame(u);

	return r > 0 && !u->some ? wrong(u, "no header of a process") : r;
}

int krt_unpacker_next(struct krt_unpacker *u, const struct krt_rec **rec, size_t *len,
		      unsigned *lane)
{
	struct krt_rec *r;
	struct item item;

	while (u->at == u->used) {
		int n = u->error[0] ? -EBADMSG : next_frame(u);

		if (n <= 0)
			return n;
	}
	if (u->used - u->at < sizeof(item))
		return wrong(u, "a record of the frame before is cut off");
	memcpy(&item, u->batch + u->at, sizeof(item));
	u->at += sizeof(item);
	if (item.len < sizeof(*r) || item.len % 8 || item.len > u->used - u->at ||
	    item.lane >= KRT_LANES)
		return wrong(u, "in the frame before: a record of %u bytes of lane %u", item.len,
			     item.lane);
	r = (void *)(u->batch + u->at);
	if (r->size != item.len)
		return wrong(u, "in the frame before: a record of %u bytes says %u", item.len,
			     r->size);
	u->at += item.len;
	*rec = r;
	*len = item.len;
	*lane = item.lane;
	return 1;
}

const struct krt_proc *krt_unpacker_process(const struct krt_unpacker *u)
{
	return u->some ? &u->process : NULL;
}

uint64_t krt_unpacker_dropped(const struct krt_unpacker *u)
{
	return u->dropped;
}

uint64_t krt_unpacker_volume(const struct krt_unpacker *u)
{
	return u->volume;
}

const char *krt_unpacker_error(const struct krt_unpacker *u)
{
	return u->error[0] ? u->error : NULL;
}
