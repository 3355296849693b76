/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Session folders, live and finished, by the same code (record.h has the
 * format and the protocol).
 *
 * A process is read in rounds.  A round takes one look at the slots: the ticket
 * and then every pending gives the horizon, then the lanes' commits, and lane 0's
 * last, so that whatever a record refers to is already there.  Lane 0 is handed
 * out first, then the other lanes merged by t1 up to the horizon.  Once the
 * process is gone (known before the look) there is no horizon any more: its
 * threads left no hole that could still be filled.
 *
 * Everything in the files is untrusted.  Nothing is mapped but the header of a
 * live process; lanes are read into one window of memory each.
 *
 * What `krtsan record` leaves is merged already, and is handed out as it comes
 * (packed.h).
 *
 * Not locked: one thread reads.
 */
#define _GNU_SOURCE
#include "reader.h"
#include "packed.h"
#include "../interposer/api.h"
#include "../interposer/library.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define RECORD_MAX (256u * 1024 * 1024) /* a joined record; images and graphs stay far below */
#define HELD_MS	   50 /* a ticket taken for so long: look whether its thread lives */

struct lane {
	int fd;               /* -1: not open yet */
	uint64_t pos, end;    /* next byte to parse; published end of this round */
	unsigned char *buf;   /* bytes [at, at + have) of the file */
	uint64_t at;
	uint32_t have, room;
	const struct krt_rec *head; /* parsed, not handed out; inside buf */
	uint64_t key;         /* of head: t1, 0 where it does not matter */
	uint64_t window;      /* the one that pos is in begins here in the lane, */
	uint64_t file;	      /* and here in the file */
	uint64_t next;	      /* where its successor lies, plus 1; 0: behind it */
	uint64_t held;        /* pending of the last round, and since when */
	int64_t held_since;
};

struct krt_proc_reader {
	struct krt_reader *r;
	char *name;             /* PID.STARTNS */
	struct krt_proc *map;   /* live: shared with the process; trace: own copy */
	struct krt_proc *header;
	unsigned long long started; /* the process, as first seen; 0: not known */
	struct krt_unpacker *packed; /* merged already; NULL: lanes, or not open yet */
	bool is_packed;
	bool ready, gone, final, dead, damaged, unborn;
	char error[256];
	struct lane *lane[KRT_LANES];
	unsigned lanes;
	uint64_t horizon;
	unsigned cur;           /* lane in turn, good while its key is below cur_limit; 0: none */
	uint64_t cur_limit;
	bool lane0_done;
	unsigned char *joined;
	size_t joined_room;
	uint64_t records, bytes, peak;
};

struct krt_reader {
	int dirfd;
	bool consume;
	struct krt_proc_reader **proc;
	int nproc;
};

static int64_t now_ms(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

__attribute__((format(printf, 2, 3)))
static int damage(struct krt_proc_reader *p, const char *fmt, ...)
{
	va_list ap;

	p->damaged = true;
	if (!p->error[0]) {
		int n = snprintf(p->error, sizeof(p->error), "trace: %.64s", p->name);

		va_start(ap, fmt);
		vsnprintf(p->error + n, sizeof(p->error) - (size_t)n, fmt, ap);
		va_end(ap);
	}
	return -EBADMSG;
}

/* --- processes --------------------------------------------------------------------- */

/* State of a process ('Z': a zombie) and when it started, by the kernel's ticks.  1, 0 not to be read, -1 gone. */
static int look_up(pid_t pid, char *state, unsigned long long *start)
{
	char path[64], text[1024], *s;
	ssize_t n;
	int fd;

	if (pid <= 0 || (kill(pid, 0) && errno == ESRCH))
		return -1;
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT && !access("/proc/self/stat", F_OK) ? -1 : 0;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return -1;
	text[n] = 0;
	s = strrchr(text, ')'); /* the name may hold anything */
	return s && sscanf(s + 1,
			   " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d "
			   "%*d %llu",
			   state, start) == 2;
}

/* Can what it belongs to be read? */
static int check_header(struct krt_proc_reader *p, const struct krt_proc *h, const char *file)
{
	if (h->magic != KRT_TRACE_MAGIC)
		return damage(p, "%s: not a krtsan trace", file);
	if (h->version != KRT_TRACE_VERSION)
		return damage(p,
			      "%s: trace version %u: this krtsan reads version %d; analyse it "
			      "with the krtsan that recorded it",
			      file, h->version, KRT_TRACE_VERSION);
	if (h->api_hash != krt_tables_hash())
		return damage(p,
			      "%s: recorded with another entry-point table (%016" PRIx64
			      ", here %016" PRIx64 "): analyse it with the krtsan that recorded it",
			      file, h->api_hash, krt_tables_hash());
	return 0;
}

/* The latest that the file says of the process. */
static int packed_header(struct krt_proc_reader *p)
{
	memcpy(p->map, krt_unpacker_process(p->packed), offsetof(struct krt_proc, slot));
	return p->map->lanes > KRT_LANES || p->map->state > KRT_PROC_EXEC
		       ? damage(p, KRT_PACKED_SUFFIX ": damaged: %u lanes, state %u",
				p->map->lanes, p->map->state)
		       : 0;
}

static int packed_attach(struct krt_proc_reader *p)
{
	char file[NAME_MAX + 1];
	struct stat st;
	int fd, err;

	snprintf(file, sizeof(file), "%s" KRT_PACKED_SUFFIX, p->name);
	fd = openat(p->r->dirfd, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return damage(p, KRT_PACKED_SUFFIX ": cannot be opened: %s", strerror(errno));
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
		return damage(p, KRT_PACKED_SUFFIX ": not a regular file");
	}
	p->packed = krt_unpacker_new(fd);
	p->map = calloc(1, sizeof(*p->map));
	if (!p->packed || !p->map)
		return damage(p, KRT_PACKED_SUFFIX ": no memory to read it");
	if (krt_unpacker_begin(p->packed) <= 0)
		return damage(p, KRT_PACKED_SUFFIX ": %s", krt_unpacker_error(p->packed));
	err = check_header(p, krt_unpacker_process(p->packed), KRT_PACKED_SUFFIX);
	if (!err)
		err = packed_header(p);
	if (err)
		return err;
	p->peak = krt_unpacker_volume(p->packed);
	p->ready = true;
	return 1;
}

/*
 * Maps the header of a live process, or reads that of a trace.
 * Returns 1 ready, 0 not yet (live only), negative: damaged.
 */
static int attach(struct krt_proc_reader *p)
{
	bool live = p->r->consume;
	char file[NAME_MAX + 1];
	struct krt_proc *h = NULL;
	struct stat st;
	uint64_t magic;
	int fd, err = 0;

	snprintf(file, sizeof(file), "%s.proc", p->name);
	fd = openat(p->r->dirfd, file,
		    (live ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return damage(p, ".proc: cannot be opened: %s", strerror(errno));
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		err = damage(p, ".proc: not a regular file");
		goto out;
	}
	if ((uint64_t)st.st_size < sizeof(*h)) {
		err = live ? 0
			   : damage(p, ".proc: too short: %lld of %zu bytes", (long long)st.st_size,
				    sizeof(*h));
		goto out;
	}
	if (live) {
		h = mmap(NULL, sizeof(*h), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (h == MAP_FAILED) {
			h = NULL;
			err = damage(p, ".proc: cannot be mapped: %s", strerror(errno));
			goto out;
		}
	} else {
		h = malloc(sizeof(*h));
		if (!h || pread(fd, h, sizeof(*h), 0) != (ssize_t)sizeof(*h)) {
			err = damage(p, ".proc: cannot be read: %s",
				     h ? strerror(errno) : "no memory");
			goto out;
		}
	}
	magic = __atomic_load_n(&h->magic, __ATOMIC_ACQUIRE);
	if (!magic && live)
		goto out; /* being made */
	err = check_header(p, h, ".proc");
	if (err)
		goto out;
	if (!live && (h->lanes > KRT_LANES || h->state > KRT_PROC_EXEC))
		err = damage(p, ".proc: damaged: %u lanes, state %u", h->lanes, h->state);
	else
		p->ready = true;
out:
	close(fd);
	if (p->ready) {
		p->map = h;
		if (live) {
			char state;

			__atomic_store_n(&h->reader, getpid(), __ATOMIC_RELEASE);
			if (look_up(h->pid, &state, &p->started) <= 0)
				p->started = 0;
		}
		return 1;
	}
	if (h && live)
		munmap(h, sizeof(*h));
	else
		free(h);
	return err;
}

static void refresh(struct krt_proc_reader *p)
{
	struct krt_proc *h = p->header;

	memcpy(h, p->map, offsetof(struct krt_proc, slot));
	h->state = __atomic_load_n(&p->map->state, __ATOMIC_ACQUIRE);
	h->exe[sizeof(h->exe) - 1] = 0;
	h->options[sizeof(h->options) - 1] = 0;
}

/* A later life of the same pid in the folder: what exec left behind is over. */
static bool followed(const struct krt_proc_reader *p)
{
	for (int i = 0; i < p->r->nproc; i++) {
		const struct krt_proc_reader *q = p->r->proc[i];

		if (q != p && q->ready && q->map->pid == p->header->pid &&
		    q->map->start_ns > p->header->start_ns)
			return true;
	}
	return false;
}

/* Is the process behind a live header still there to write? */
static bool process_gone(struct krt_proc_reader *p)
{
	char path[64], state = 0;
	unsigned long long start = 0;
	uint32_t st = __atomic_load_n(&p->map->state, __ATOMIC_ACQUIRE);
	pid_t pid = p->map->pid;
	int r;

	if (st == KRT_PROC_EXITED || (st == KRT_PROC_EXEC && followed(p)))
		return true;
	r = look_up(pid, &state, &start);
	if (r <= 0)
		return r < 0;
	if (state == 'Z' || state == 'X') {
		/* The main thread may end before the others do. */
		snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
		DIR *d = opendir(path);
		struct dirent *e;
		int tasks = 0;

		while (d && (e = readdir(d)))
			tasks += e->d_name[0] != '.';
		if (d)
			closedir(d);
		return tasks <= 1;
	}
	/* Another process with a recycled pid.  No clock tells: a program's may be any, and jump. */
	return p->started && start != p->started;
}

static pid_t named_pid(const struct krt_proc_reader *p)
{
	return (pid_t)strtol(p->name, NULL, 10);
}

/* The same of one without a header. */
static bool named_gone(const struct krt_proc_reader *p)
{
	return named_pid(p) > 0 && kill(named_pid(p), 0) && errno == ESRCH;
}

/* --- lanes ------------------------------------------------------------------------- */

static int lane_open(struct krt_proc_reader *p, unsigned i)
{
	struct lane *l = p->lane[i];
	char file[NAME_MAX + 1];
	struct stat st;

	if (l->fd >= 0)
		return 0;
	snprintf(file, sizeof(file), "%s.%u", p->name, i);
	l->fd = openat(p->r->dirfd, file,
		       (p->r->consume ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (l->fd < 0)
		return damage(p, ".%u: cannot be opened: %s", i, strerror(errno));
	if (fstat(l->fd, &st) || !S_ISREG(st.st_mode))
		return damage(p, ".%u: not a regular file", i);
	return 0;
}

/* Everything before pos was read, and is the writer's again; a window that it does not want goes.
 */
static void lane_consumed(struct krt_proc_reader *p, unsigned i)
{
	struct lane *l = p->lane[i];
	struct krt_slot *slot = &p->map->slot[i];

	if (!p->r->consume)
		return;
	if (l->pos >= l->window + KRT_WINDOW && l->fd >= 0 &&
	    __atomic_load_n(&slot->kept, __ATOMIC_SEQ_CST) >= l->window + KRT_WINDOW)
		while (fallocate(l->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)l->file,
				 KRT_WINDOW) &&
		       errno == EINTR)
			;
	__atomic_store_n(&slot->consumed, l->pos, __ATOMIC_SEQ_CST);
}

/* Goes on to the next window. */
static void lane_turn(struct krt_proc_reader *p, unsigned i)
{
	struct lane *l = p->lane[i];

	lane_consumed(p, i);
	l->window += KRT_WINDOW;
	l->file = l->next ? l->next - 1 : l->file + KRT_WINDOW;
	l->next = 0;
}

/* Brings bytes from pos on into memory: as far as published, at most to the end of the window. */
static int lane_fill(struct krt_proc_reader *p, unsigned i)
{
	struct lane *l = p->lane[i];
	uint64_t window_end = (l->pos | (KRT_WINDOW - 1)) + 1;
	uint32_t n = (uint32_t)((l->end < window_end ? l->end : window_end) - l->pos), got = 0;
	off_t at;

	if (lane_open(p, i))
		return -EBADMSG;
	if (l->pos >= l->window + KRT_WINDOW)
		lane_turn(p, i);
	at = (off_t)(l->file + (l->pos - l->window));
	if (n > l->room) {
		uint32_t room = l->room ? l->room : 4096;

		while (room < n)
			room *= 2;
		free(l->buf);
		l->have = l->room = 0;
		l->buf = malloc(room);
		if (!l->buf)
			return damage(p, ".%u: no memory to read it", i);
		l->room = room;
	}
	while (got < n) {
		ssize_t r = pread(l->fd, l->buf + got, n - got, at + got);

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return damage(p, ".%u: cannot be read at byte %" PRIu64 ": %s", i,
				      l->pos + got, strerror(errno));
		if (!r)
			return damage(p, ".%u: ends at byte %" PRIu64 " of %" PRIu64 ": truncated",
				      i, l->pos + got, l->end);
		got += (uint32_t)r;
	}
	l->at = l->pos;
	l->have = n;
	return 0;
}

/* The part at pos, its frame checked, pads skipped.  1, 0 (nothing published), negative. */
static int lane_part(struct krt_proc_reader *p, unsigned i, const struct krt_rec **part)
{
	struct lane *l = p->lane[i];

	for (;;) {
		const struct krt_rec *h;
		uint32_t rest;

		if (l->pos >= l->end)
			return 0;
		if (l->pos < l->at || l->pos >= l->at + l->have)
			if (lane_fill(p, i))
				return -EBADMSG;
		rest = (uint32_t)(l->at + l->have - l->pos);
		h = (const void *)(l->buf + (l->pos - l->at));
		if (rest < sizeof(*h) || h->size < sizeof(*h) || h->size % 8 || h->size > rest)
			return damage(
				p, ".%u: damaged at byte %" PRIu64 ": record of %u bytes, %u left",
				i, l->pos, rest < sizeof(*h) ? 0 : h->size, rest);
		if (h->kind != KRT_REC_PAD) {
			*part = h;
			return 1;
		}
		if (h->flags & KRT_RF_NEXT) {
			const struct krt_rec_next *next = (const void *)h;

			if (h->size != rest || rest < sizeof(*next) ||
			    (l->pos + rest) % KRT_WINDOW || next->at % KRT_WINDOW ||
			    next->at > INT64_MAX - KRT_WINDOW)
				return damage(p, ".%u: damaged at byte %" PRIu64 ": leads nowhere",
					      i, l->pos);
			l->next = next->at + 1;
		}
		l->pos += h->size;
	}
}

static bool check_call(const struct krt_rec_call *c, size_t len)
{
	size_t off = sizeof(*c);

	if (len < off || c->api >= KRT_NR_APIS || c->argc > KRT_MAX_ARGS ||
	    (len - off) / 8 < c->argc)
		return false;
	off += 8u * c->argc;
	while (off < len) {
		const struct krt_blob *b = (const void *)((const char *)c + off);

		if (len - off < sizeof(*b))
			return false;
		off += sizeof(*b);
		if (b->len > len - off)
			return false;
		off += ((size_t)b->len + 7) & ~(size_t)7;
	}
	return off == len;
}

/* Do the lengths inside a whole record fit its own? */
static bool check(const struct krt_rec *rec, size_t len)
{
	switch ((enum krt_rec_kind)rec->kind) {
	case KRT_REC_CALL:
		return check_call((const void *)rec, len);
	case KRT_REC_THREAD:
		return len >= sizeof(struct krt_rec_thread);
	case KRT_REC_MARK:
		return len >= sizeof(struct krt_rec_mark);
	case KRT_REC_STACK: {
		const struct krt_rec_stack *s = (const void *)rec;

		return len >= sizeof(*s) && (len - sizeof(*s)) / 8 >= s->depth &&
		       (len - sizeof(*s) - 8u * s->depth) / sizeof(struct krt_rec_pyframe) >= s->python;
	}
	case KRT_REC_CODE: {
		const struct krt_rec_code *c = (const void *)rec;

		return len >= sizeof(*c) && len - sizeof(*c) >= c->lines_len &&
		       len - sizeof(*c) - c->lines_len >= (size_t)c->file_len + c->name_len;
	}
	case KRT_REC_MODULE: {
		const struct krt_rec_module *m = (const void *)rec;

		return len >= sizeof(*m) &&
		       len - offsetof(struct krt_rec_module, path) >= m->path_len &&
		       m->build_id_len <= sizeof(m->build_id);
	}
	case KRT_REC_KERNEL: {
		const struct krt_rec_kernel *k = (const void *)rec;
		size_t n = len >= sizeof(*k) && k->nparams != KRT_PARAMS_UNKNOWN ? k->nparams : 0;

		return len >= sizeof(*k) && (len - sizeof(*k)) / sizeof(struct krt_param) >= n &&
		       len - sizeof(*k) - n * sizeof(struct krt_param) >= k->name_len;
	}
	case KRT_REC_STRING: {
		const struct krt_rec_string *s = (const void *)rec;

		return len >= sizeof(*s) && len - sizeof(*s) >= s->len;
	}
	case KRT_REC_CONTEXT:
		return len >= sizeof(struct krt_rec_context);
	case KRT_REC_STREAM:
		return len >= sizeof(struct krt_rec_stream);
	case KRT_REC_DEVICE:
		return len >= sizeof(struct krt_rec_device);
	case KRT_REC_DRIVER: {
		const struct krt_rec_driver *d = (const void *)rec;

		return len >= sizeof(*d) &&
		       len - offsetof(struct krt_rec_driver, path) >= d->path_len;
	}
	case KRT_REC_PARAMS: {
		const struct krt_rec_params *q = (const void *)rec;

		return len >= sizeof(*q) && len - sizeof(*q) >= q->len;
	}
	case KRT_REC_IMAGE: {
		const struct krt_rec_image *m = (const void *)rec;
		size_t at = offsetof(struct krt_rec_image, data);

		return len >= sizeof(*m) && m->build_id_len <= sizeof(m->build_id) &&
		       len - at >= m->path_len && (m->form != KRT_IMAGE_COPY || len - at >= m->len);
	}
	case KRT_REC_DEVICE_TIME: {
		const struct krt_rec_device_time *d = (const void *)rec;

		return len >= sizeof(*d) && (len - sizeof(*d)) / sizeof(d->time[0]) >= d->n;
	}
	case KRT_REC_PAD:
	case KRT_REC_CONT:
		return false;
	}
	return true; /* of a later writer: passed on, and left out */
}

/* Parses the next record of a lane so far that it can be merged.  1, 0, negative. */
static int lane_head(struct krt_proc_reader *p, unsigned i)
{
	struct lane *l = p->lane[i];
	int r;

	if (l->head)
		return 1;
	r = lane_part(p, i, &l->head);
	if (r <= 0) {
		l->head = NULL;
		return r;
	}
	l->key = 0;
	if (l->head->kind == KRT_REC_CALL && l->head->size >= sizeof(struct krt_rec_call))
		l->key = ((const struct krt_rec_call *)l->head)->t1;
	else if (l->head->kind == KRT_REC_MARK && l->head->size >= sizeof(struct krt_rec_mark))
		l->key = ((const struct krt_rec_mark *)l->head)->t1;
	else if (l->head->kind == KRT_REC_DEVICE_TIME &&
		 l->head->size >= sizeof(struct krt_rec_device_time))
		l->key = ((const struct krt_rec_device_time *)l->head)->t1;
	return 1;
}

/* Hands out the head of a lane, its parts joined. */
static int emit(struct krt_proc_reader *p, unsigned i, const struct krt_rec **rec, size_t *len)
{
	struct lane *l = p->lane[i];
	const struct krt_rec *part = l->head;
	uint64_t from = l->pos;
	size_t n = 0;

	l->head = NULL;
	if (!(part->flags & KRT_RF_MORE)) {
		l->pos += part->size;
		*rec = part;
		*len = part->size;
	} else {
		for (;;) {
			size_t skip = n ? sizeof(*part) : 0, add = part->size - skip;
			bool more = part->flags & KRT_RF_MORE;

			if (n + add > RECORD_MAX)
				return damage(p,
					      ".%u: damaged at byte %" PRIu64
					      ": record of more than %u bytes",
					      i, from, RECORD_MAX);
			if (n + add > p->joined_room) {
				size_t room = p->joined_room ? p->joined_room : 2 * KRT_WINDOW;
				void *b;

				while (room < n + add)
					room *= 2;
				b = realloc(p->joined, room);
				if (!b)
					return damage(p, ".%u: no memory for a record of %zu bytes",
						      i, n + add);
				p->joined = b;
				p->joined_room = room;
			}
			memcpy(p->joined + n, (const char *)part + skip, add);
			n += add;
			l->pos += part->size;
			if (!more)
				break;
			switch (lane_part(p, i, &part)) {
			case 1:
				if (part->kind == KRT_REC_CONT)
					continue;
				/* fall through */
			case 0:
				return damage(p,
					      ".%u: damaged at byte %" PRIu64
					      ": a split record has no end",
					      i, from);
			default:
				return -EBADMSG;
			}
		}
		struct krt_rec *whole = (void *)p->joined;

		whole->size = (uint32_t)n;
		whole->flags &= (uint8_t)~KRT_RF_MORE;
		*rec = whole;
		*len = n;
	}
	if (!check(*rec, *len))
		return damage(p,
			      ".%u: damaged at byte %" PRIu64
			      ": record of kind %u and %zu bytes does not hold what "
			      "it says",
			      i, from, (*rec)->kind, *len);
	p->records++;
	p->bytes += l->pos - from;
	return 1;
}

/* --- rounds ------------------------------------------------------------------------ */

/* A ticket was being taken for long: does its thread live? */
static bool thread_dead(struct krt_proc_reader *p, struct lane *l, uint64_t pending, int32_t tid)
{
	int64_t now = now_ms(CLOCK_MONOTONIC);

	if (pending != l->held) {
		l->held = pending;
		l->held_since = now;
		return false;
	}
	return now - l->held_since >= HELD_MS && tid > 0 &&
	       syscall(SYS_tgkill, p->map->pid, tid, 0) && errno == ESRCH;
}

/* One look at the slots.  Returns whether something new may be handed out; negative: damaged. */
static int look(struct krt_proc_reader *p)
{
	struct krt_proc *m = p->map;
	uint64_t horizon, waiting = 0;
	bool news = false;
	unsigned lanes;

	p->final = p->gone || !p->r->consume;
	horizon = p->final ? UINT64_MAX : __atomic_load_n(&m->ticket, __ATOMIC_SEQ_CST);
	lanes = __atomic_load_n(&m->lanes, __ATOMIC_ACQUIRE);
	if (lanes > KRT_LANES)
		return damage(p, ".proc: damaged: %u lanes", lanes);
	/*
	 * A lane that appears after this line belongs to records of the next
	 * round: its thread took its first ticket after the one read above.
	 */
	for (; p->lanes < lanes; p->lanes++) {
		p->lane[p->lanes] = calloc(1, sizeof(struct lane));
		if (!p->lane[p->lanes])
			return damage(p, ": no memory for its lanes");
		p->lane[p->lanes]->fd = -1;
		if (__atomic_load_n(&m->slot[p->lanes].consumed, __ATOMIC_RELAXED))
			return damage(p, ".%u: was read before, while the process ran", p->lanes++);
	}
	for (unsigned i = 1; i < p->lanes && !p->final; i++) {
		uint64_t pending = __atomic_load_n(&m->slot[i].pending, __ATOMIC_SEQ_CST);

		if (!pending)
			p->lane[i]->held = 0;
		else if (pending < horizon && !thread_dead(p, p->lane[i], pending, m->slot[i].tid))
			horizon = pending;
	}
	/* Lane 0 last. */
	for (unsigned k = 1; k <= p->lanes; k++) {
		unsigned i = k < p->lanes ? k : 0;
		struct lane *l = p->lane[i];
		uint64_t end = __atomic_load_n(&m->slot[i].commit, __ATOMIC_ACQUIRE);

		if (end < l->end || end % 8 || end > INT64_MAX - KRT_WINDOW)
			return damage(p, ".%u: damaged: published end %" PRIu64 " after %" PRIu64,
				      i, end, l->end);
		news |= end > l->end;
		l->end = end;
		waiting += end - l->pos;
	}
	if (waiting > p->peak)
		p->peak = waiting;
	news |= horizon > p->horizon;
	p->horizon = horizon;
	p->cur = 0;
	p->lane0_done = p->lanes == 0;
	return news;
}

/* Tells the writers how far they were read, and gives the space back. */
static void give_back(struct krt_proc_reader *p)
{
	if (!p->r->consume)
		return;
	for (unsigned i = 0; i < p->lanes; i++) {
		struct lane *l = p->lane[i];

		if (l->pos >= l->window + KRT_WINDOW)
			lane_turn(p, i);
		else
			lane_consumed(p, i);
		if (l->pos == l->end && l->room > 32768) {
			free(l->buf);
			l->buf = NULL;
			l->have = l->room = 0;
		}
	}
}

/* The next record of a file that is merged.  1, 0 (that was all), negative. */
static int next_packed(struct krt_proc_reader *p, const struct krt_rec **rec, size_t *len,
		       unsigned *lane)
{
	int r = krt_unpacker_next(p->packed, rec, len, lane);

	if (r > 0 && check(*rec, *len)) {
		p->records++;
		p->bytes += *len;
		return 1;
	}
	if (r > 0)
		damage(p,
		       KRT_PACKED_SUFFIX ": damaged: record %" PRIu64
					 " of kind %u and %zu bytes does not hold what it says",
		       p->records, (*rec)->kind, *len);
	else if (r < 0)
		damage(p, KRT_PACKED_SUFFIX ": %s", krt_unpacker_error(p->packed));
	if (!packed_header(p))
		refresh(p);
	p->dead = true;
	return p->damaged ? -EBADMSG : 0;
}

/* The next record of this round.  1, 0 (round over), negative. */
static int next_in_round(struct krt_proc_reader *p, const struct krt_rec **rec, size_t *len,
			 unsigned *lane)
{
	int r;

	if (!p->lane0_done) {
		r = lane_head(p, 0);
		if (r) {
			*lane = 0;
			return r < 0 ? r : emit(p, 0, rec, len);
		}
		p->lane0_done = true;
	}
	if (p->cur) {
		r = lane_head(p, p->cur);
		if (r < 0)
			return r;
		if (!r || p->lane[p->cur]->key >= p->cur_limit)
			p->cur = 0;
	}
	if (!p->cur) {
		uint64_t best = UINT64_MAX, second = UINT64_MAX;

		for (unsigned i = 1; i < p->lanes; i++) {
			r = lane_head(p, i);
			if (r < 0)
				return r;
			if (!r)
				continue;
			if (!p->cur || p->lane[i]->key < best) {
				second = p->cur ? best : second;
				best = p->lane[i]->key;
				p->cur = i;
			} else if (p->lane[i]->key < second) {
				second = p->lane[i]->key;
			}
		}
		p->cur_limit = second < p->horizon ? second : p->horizon;
		if (p->cur && best >= p->horizon && !p->final)
			p->cur = 0;
		if (!p->cur)
			return 0;
	}
	*lane = p->cur;
	r = emit(p, p->cur, rec, len);
	return r;
}

int krt_proc_next(struct krt_proc_reader *p, const struct krt_rec **rec, size_t *len,
		  unsigned *lane)
{
	int r;

	if (!p->ready && !p->damaged && !p->unborn) {
		bool gone = p->r->consume && named_gone(p);

		r = p->is_packed ? packed_attach(p) : attach(p);
		if (r == 0 && gone) {
			p->header->pid = named_pid(p);
			p->dead = p->unborn = true;
		}
		if (r == 0)
			return 0;
		if (r > 0)
			refresh(p);
	}
	if (p->damaged) {
		p->dead = true;
		return -EBADMSG;
	}
	if (p->packed && !p->dead)
		return next_packed(p, rec, len, lane);
	while (!p->dead) {
		r = next_in_round(p, rec, len, lane);
		if (r > 0)
			return 1;
		if (r == 0) {
			give_back(p);
			if (p->final) {
				refresh(p);
				p->dead = true;
				break;
			}
			r = look(p);
			refresh(p);
			if (r > 0 || p->final)
				continue;
			if (r == 0) {
				if (!process_gone(p))
					return 0;
				p->gone = true; /* one more look: nothing comes after that */
				r = look(p);
				if (r >= 0)
					continue;
			}
		}
		p->dead = true;
		return -EBADMSG;
	}
	return p->damaged ? -EBADMSG : 0;
}

const char *krt_proc_name(const struct krt_proc_reader *p)
{
	return p->name;
}

const struct krt_proc *krt_proc_header(const struct krt_proc_reader *p)
{
	return p->header;
}

bool krt_proc_dead(const struct krt_proc_reader *p)
{
	return p->dead;
}

bool krt_proc_unborn(const struct krt_proc_reader *p)
{
	return p->unborn;
}

const char *krt_proc_error(const struct krt_proc_reader *p)
{
	return p->error[0] ? p->error : NULL;
}

uint64_t krt_proc_dropped(const struct krt_proc_reader *p)
{
	uint64_t n = p->packed ? krt_unpacker_dropped(p->packed) : 0;

	for (unsigned i = 0; p->map && i < KRT_LANES; i++)
		n += __atomic_load_n(&p->map->slot[i].dropped, __ATOMIC_RELAXED);
	return n;
}

void krt_proc_volume(const struct krt_proc_reader *p, uint64_t *records, uint64_t *bytes,
		     uint64_t *peak)
{
	*records = p->records;
	*bytes = p->bytes;
	*peak = p->peak;
}

void krt_proc_leave(struct krt_proc_reader *p)
{
	if (p->map && p->r->consume)
		__atomic_store_n(&p->map->reader, -1, __ATOMIC_RELEASE); /* 0: one may still come */
}

/* --- the folder -------------------------------------------------------------------- */

static void proc_free(struct krt_proc_reader *p)
{
	if (!p)
		return;
	for (unsigned i = 0; i < p->lanes; i++) {
		if (p->lane[i]->fd >= 0)
			close(p->lane[i]->fd);
		free(p->lane[i]->buf);
		free(p->lane[i]);
	}
	if (p->map && p->r->consume)
		munmap(p->map, sizeof(*p->map));
	else
		free(p->map);
	krt_unpacker_free(p->packed);
	free(p->header);
	free(p->joined);
	free(p->name);
	free(p);
}

struct krt_reader *krt_reader_open(const char *dir, bool consume, char *err, size_t errlen)
{
	struct krt_reader *r = calloc(1, sizeof(*r));

	if (!r) {
		snprintf(err, errlen, "trace: %s: no memory", dir);
		return NULL;
	}
	r->consume = consume;
	r->dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (r->dirfd < 0) {
		snprintf(err, errlen, "trace: %s: %s", dir,
			 errno == ENOTDIR ? "not a trace: a trace is a folder" : strerror(errno));
		free(r);
		return NULL;
	}
	return r;
}

static int add_process(struct krt_reader *r, const char *name, size_t n, bool packed)
{
	struct krt_proc_reader *p = calloc(1, sizeof(*p)), **list;

	if (!p)
		return -ENOMEM;
	p->r = r;
	p->lane0_done = true;
	p->is_packed = packed;
	p->name = strndup(name, n);
	p->header = calloc(1, sizeof(*p->header));
	list = realloc(r->proc, ((size_t)r->nproc + 1) * sizeof(*list));
	if (list)
		r->proc = list;
	if (!list || !p->name || !p->header) {
		proc_free(p);
		return -ENOMEM;
	}
	list[r->nproc++] = p;
	return 0;
}

static int by_name(const void *a, const void *b)
{
	const struct krt_proc_reader *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

int krt_reader_scan(struct krt_reader *r)
{
	int fd = openat(r->dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), old = r->nproc;
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *e;

	if (!d) {
		if (fd >= 0)
			close(fd);
		return r->nproc;
	}
	while ((e = readdir(d))) {
		static const char live[] = ".proc", packed[] = KRT_PACKED_SUFFIX;
		size_t n = strlen(e->d_name);
		bool known = false, is_packed = false;

		if (n > NAME_MAX - 8)
			continue;
		if (n >= sizeof(live) && !strcmp(e->d_name + n - (sizeof(live) - 1), live)) {
			n -= sizeof(live) - 1;
		} else if (!r->consume && n >= sizeof(packed) &&
			   !strcmp(e->d_name + n - (sizeof(packed) - 1), packed)) {
			n -= sizeof(packed) - 1;
			is_packed = true;
		} else {
			continue;
		}
		for (int i = 0; i < r->nproc && !known; i++)
			known = !strncmp(r->proc[i]->name, e->d_name, n) && !r->proc[i]->name[n];
		if (!known && add_process(r, e->d_name, n, is_packed))
			break; /* no memory: tried again at the next scan */
	}
	closedir(d);
	/* The folder's own order is arbitrary; indices already given out stay. */
	if (r->nproc - old > 1)
		qsort(r->proc + old, (size_t)(r->nproc - old), sizeof(*r->proc), by_name);
	return r->nproc;
}

struct krt_proc_reader *krt_reader_process(struct krt_reader *r, int index)
{
	return index >= 0 && index < r->nproc ? r->proc[index] : NULL;
}

bool krt_reader_full(const struct krt_reader *r)
{
	struct statvfs fs;

	return !fstatvfs(r->dirfd, &fs) &&
	       (uint64_t)fs.f_bavail * fs.f_frsize < sizeof(struct krt_proc);
}

void krt_reader_close(struct krt_reader *r)
{
	if (!r)
		return;
	for (int i = 0; i < r->nproc; i++)
		proc_free(r->proc[i]);
	free(r->proc);
	close(r->dirfd);
	free(r);
}
