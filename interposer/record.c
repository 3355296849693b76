/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing the session folder (record.h): the process file, one lane a thread,
 * lane 0 and what is interned on it.
 *
 * No descriptor is kept: a program that closes all descriptors, or uses up all
 * of them, must not meet ours.  Files are opened by path for each new window.
 * Windows are allocated in full before they are mapped, and mappings are not
 * inherited by fork.  System calls go through syscall(): no cancellation points.
 *
 * Locking: a lane belongs to its thread.  krt_wipe.w.attach guards the handing
 * out of lanes, .lane0 lane 0, .intern the tables' inserts; look-ups take none.
 */
#include "lane.h"
#include "library.h"
#include "modules.h"
#include "process.h"
#include "pyframes.h"
#include "unwinder.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

__thread struct krt_tls krt_tls __attribute__((tls_model("initial-exec")));
_Static_assert(sizeof(struct krt_tls) <= 64, "the static TLS surplus is small");

struct krt_options krt_opt;
uint64_t krt_clock_base;
struct krt_proc *krt_proc;
uint64_t krt_session;

static char path_base[4096]; /* DIR/PID.STARTNS */
static struct krt_thread *threads[KRT_LANES];
static unsigned next_serial;
static struct krt_thread lane0;

/* ---- files ---- */

static int open_file(const char *path, int flags)
{
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
}

/* Makes [off, off + len) exist on the disk.  0 or -1 with errno. */
static int allocate(int fd, uint64_t off, size_t len)
{
	static const char zeros[4096];
	struct rlimit lim;

	/* past the limit the kernel would send SIGXFSZ */
	if (!syscall(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, &lim) && lim.rlim_cur != RLIM_INFINITY &&
	    off + len > lim.rlim_cur) {
		errno = EFBIG;
		return -1;
	}
	if (!syscall(SYS_fallocate, fd, 0, (off_t)off, (off_t)len))
		return 0;
	if (errno != EOPNOTSUPP && errno != ENOSYS && errno != EINTR)
		return -1;
	for (uint64_t at = off; at < off + len; at += sizeof zeros)
		if (syscall(SYS_pwrite64, fd, zeros, sizeof zeros, (off_t)at) != (long)sizeof zeros)
			return -1;
	return 0;
}

static void *map_file(const char *path, int flags, uint64_t off, size_t len)
{
	int fd = open_file(path, flags), err;
	void *p;

	if (fd < 0)
		return NULL;
	p = allocate(fd, off, len) ? MAP_FAILED
				   : mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)off);
	err = errno;
	syscall(SYS_close, fd);
	errno = err;
	if (p == MAP_FAILED)
		return NULL;
	madvise(p, len, MADV_DONTFORK);
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
	/* MAP_POPULATE would map shared pages clean, and each would fault once more */
	madvise(p, len, MADV_POPULATE_WRITE);
	return p;
}

/* Stacks of threads may be small: paths live in the arena. */
static char *lane_path(unsigned lane)
{
	size_t size = strlen(path_base) + 16;
	char *p = krt_alloc(size);

	if (p)
		krt_format(p, size, "%s.%u", path_base, lane);
	return p;
}

int krt_record_open(const char *dir)
{
	size_t size = (sizeof(struct krt_proc) + 4095) & ~(size_t)4095;
	uint64_t start = krt_real_ns();
	size_t end = krt_format(path_base, sizeof path_base - 16, "%s/%d.%lu", dir, (int)syscall(SYS_getpid), start);
	struct krt_proc *p;

	krt_format(path_base + end, 16, ".proc");
	p = map_file(path_base, O_CREAT | O_EXCL, 0, size);
	path_base[end] = 0;
	if (!p)
		return -errno;
	/* of an earlier life in a fork parent: neither inherited nor ours */
	memset(threads, 0, sizeof threads);
	memset(&lane0, 0, sizeof lane0);
	next_serial = 0;
	p->version = KRT_TRACE_VERSION;
	p->size = (uint32_t)size;
	p->api_hash = krt_tables_hash();
	p->pid = (int32_t)syscall(SYS_getpid);
	p->ppid = (int32_t)syscall(SYS_getppid);
	p->start_ns = start;
	p->mono_ns = krt_mono_ns();
	krt_clock_open();
	krt_clock_base = krt_clock_ns();
	p->state = KRT_PROC_STARTED;
	p->lanes = 1;
	p->ticket = 1;
	lane0.slot = &p->slot[0];
	lane0.path = lane_path(0);
	if (!lane0.path)
		return -ENOMEM;
	krt_proc = p;
	return 0;
}

void krt_record_publish(void)
{
	__atomic_store_n(&krt_proc->magic, KRT_TRACE_MAGIC, __ATOMIC_RELEASE);
}

void krt_trouble(unsigned bits)
{
	if (krt_attached())
		__atomic_or_fetch(&krt_proc->trouble, bits, __ATOMIC_RELAXED);
}

void krt_record_sum(void)
{
	unsigned lanes = __atomic_load_n(&krt_proc->lanes, __ATOMIC_RELAXED);
	uint64_t sum = 0;

	for (unsigned i = 0; i < lanes && i < KRT_LANES; i++)
		sum += __atomic_load_n(&krt_proc->slot[i].commit, __ATOMIC_RELAXED);
	__atomic_store_n(&krt_proc->written, sum, __ATOMIC_RELAXED);
}

/*
 * A last mark on lane 0 where a window is open and nobody writes: called where
 * this thread may hold lane 0's lock (out of its own write, or in a signal
 * handler), and where recording may have stopped.
 */
void krt_record_last(enum krt_mark kind, uint64_t value)
{
	struct krt_rec_mark m = {
		.h = { .size = sizeof m, .kind = KRT_REC_MARK }, .mark = kind, .t1 = krt_ticket(), .value = value,
	};

	if (!krt_lock_try(&krt_wipe.w.lane0))
		return;
	if (lane0.map && KRT_WINDOW - lane0.pos % KRT_WINDOW >= sizeof m + sizeof(struct krt_rec_next) &&
	    lane0.pos < lane0.map_off + lane0.map_len) {
		memcpy(lane0.map + (lane0.pos - lane0.map_off), &m, sizeof m);
		lane0.pos += sizeof m;
		__atomic_store_n(&lane0.slot->commit, lane0.pos, __ATOMIC_RELEASE);
	}
	krt_unlock(&krt_wipe.w.lane0);
}

void krt_record_stop(unsigned trouble)
{
	uint32_t one = KRT_RECORDING;

	__atomic_or_fetch(&krt_proc->trouble, trouble, __ATOMIC_RELAXED);
	if (!atomic_compare_exchange_strong(&krt_wipe.w.attached, &one, KRT_STOPPED))
		return;
	krt_record_last(KRT_MARK_STOPPED, trouble);
	krt_record_sum();
}

/* ---- room ---- */

static void drop(struct krt_slot *slot)
{
	__atomic_add_fetch(&slot->dropped, 1, __ATOMIC_RELAXED);
	__atomic_or_fetch(&krt_proc->trouble, KRT_TROUBLE_DROPPED, __ATOMIC_RELAXED);
}

void krt_lane_lost(const struct krt_thread *t)
{
	if (krt_attached())
		drop(t ? t->slot : &krt_proc->slot[0]);
}

static uint64_t unread(void)
{
	unsigned lanes = __atomic_load_n(&krt_proc->lanes, __ATOMIC_RELAXED);
	uint64_t sum = 0;

	for (unsigned i = 0; i < lanes && i < KRT_LANES; i++) {
		uint64_t done = __atomic_load_n(&krt_proc->slot[i].consumed, __ATOMIC_RELAXED);
		uint64_t all = __atomic_load_n(&krt_proc->slot[i].commit, __ATOMIC_RELAXED);

		sum += all > done ? all - done : 0;
	}
	return sum;
}

static bool reader_alive(void)
{
	int32_t pid = __atomic_load_n(&krt_proc->reader, __ATOMIC_RELAXED);

	return pid > 0 && !(syscall(SYS_kill, pid, 0) && errno == ESRCH);
}

#define WAIT_NS   100000000u  /* a call may wait so long for the reader ... */
#define SECOND_NS 1000000000u /* ... in each second */
#define AGAIN_NS  5000000u    /* between two tries for room where there was none */

/* Sleeps a little for the reader's sake; false: there is none, or the patience of this second is used up. */
static bool wait_a_little(void)
{
	static _Atomic uint64_t second, spent;
	const struct timespec ms = { 0, 1000000 };
	uint64_t began = krt_mono_ns(), now;

	if ((!reader_alive() && !krt_reader_coming()) || krt_opt.on_full != KRT_ON_FULL_wait)
		return false;
	if (began - atomic_load(&second) >= SECOND_NS) {
		atomic_store(&second, began);
		atomic_store(&spent, 0);
	}
	if (atomic_load(&spent) >= WAIT_NS)
		return false;
	syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &ms, NULL);
	now = krt_mono_ns();
	if (now - began < (uint64_t)ms.tv_nsec) /* a program may hold its clock */
		now = began + (uint64_t)ms.tv_nsec;
	atomic_fetch_add(&spent, now - began);
	__atomic_add_fetch(&krt_proc->stalled_ns, now - began, __ATOMIC_RELAXED);
	return true;
}

/* At the bound: true when there is room after all. */
static bool wait_for_reader(size_t len)
{
	while (wait_a_little())
		if (unread() + len <= krt_opt.bound)
			return true;
	return false;
}

/*
 * May len more bytes be taken?  A bare run's reader is started before the bound
 * is met, so that nothing need wait for it; where it cannot be, recording stops.
 */
static bool within_bound(size_t len)
{
	uint64_t much = krt_opt.bound ? unread() + len : 0;

	if (much <= krt_opt.bound / 4 * 3)
		return true;
	if (much <= krt_opt.bound) {
		krt_reader_early();
		return true;
	}
	if (!__atomic_load_n(&krt_proc->reader, __ATOMIC_RELAXED) && !krt_reader_early()) {
		krt_record_stop(KRT_TROUBLE_BOUND);
		return false;
	}
	return wait_for_reader(len);
}

/* PAD records do not cross windows either: rest ends where a window ends. */
static void pad(char *at, uint64_t rest)
{
	while (rest) {
		uint64_t n = (rest - 1) % KRT_WINDOW + 1;
		struct krt_rec r = { .size = (uint32_t)n, .kind = KRT_REC_PAD };

		memcpy(at, &r, sizeof r);
		at += n;
		rest -= n;
	}
}

/* Space in a lane's file that nobody needs any more. */
static void punch(const char *path, uint64_t at)
{
	int fd = open_file(path, 0);

	if (fd < 0)
		return;
	syscall(SYS_fallocate, fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)at, (off_t)KRT_WINDOW);
	syscall(SYS_close, fd);
}

static bool read_by_now(const struct krt_thread *t, const struct krt_left *l)
{
	return __atomic_load_n(&t->slot->consumed, __ATOMIC_ACQUIRE) >= l->end;
}

static struct krt_left *left_at(struct krt_thread *t, unsigned i)
{
	return &t->left[(t->left_first + i) % KRT_LEFT_MAX];
}

static struct krt_left left_pop(struct krt_thread *t)
{
	struct krt_left l = *left_at(t, 0);

	t->left_first = (t->left_first + 1) % KRT_LEFT_MAX;
	t->nleft--;
	return l;
}

/* The oldest window is not used again: the reader's to punch out if it is not read yet, else ours. */
static void left_drop(struct krt_thread *t)
{
	struct krt_left l = left_pop(t);

	krt_unmap(l.map, KRT_WINDOW);
	__atomic_store_n(&t->slot->kept, l.end, __ATOMIC_SEQ_CST);
	if (read_by_now(t, &l))
		punch(t->path, l.at);
}

/*
 * The first len bytes of the mapping are full.  With a reader they wait for it and are
 * used again; without one they are only let go.
 */
static void lane_leave(struct krt_thread *t, size_t len)
{
	bool again = __atomic_load_n(&krt_proc->reader, __ATOMIC_RELAXED) > 0;

	while (t->nleft && !again)
		left_drop(t);
	for (size_t n = 0; n < len && again; n += KRT_WINDOW) {
		if (t->nleft == KRT_LEFT_MAX)
			left_drop(t);
		t->nleft++;
		*left_at(t, t->nleft - 1) = (struct krt_left){
			.map = t->map + n, .at = t->map_at + n, .end = t->map_off + n + KRT_WINDOW,
		};
	}
	if (!again) {
		krt_unmap(t->map, len);
		__atomic_store_n(&t->slot->kept, t->map_off + len, __ATOMIC_RELEASE);
	}
	t->map += len;
	t->map_len -= len;
	t->map_off += len;
	t->map_at += len;
}

/* A window that was read by now; false: there is none. */
static bool lane_again(struct krt_thread *t, struct krt_left *l)
{
	if (!t->nleft || !read_by_now(t, left_at(t, 0)))
		return false;
	/* one to spare is enough, what a burst left behind goes bit by bit */
	if (t->nleft > 2 && read_by_now(t, left_at(t, 2)))
		left_drop(t);
	*l = left_pop(t);
	return true;
}

/* New windows at the end of the file, mapped at l->map; false: recording goes on without the record, or stops. */
static bool lane_new(struct krt_thread *t, size_t windows, struct krt_left *l)
{
	static _Atomic uint64_t refused; /* when there was no room, or no descriptor; 0: there was */
	uint64_t when = atomic_load_explicit(&refused, memory_order_relaxed);
	size_t len = windows * KRT_WINDOW;
	bool full;

	if (when && krt_mono_ns() - when < AGAIN_NS) /* not asked for with each call */
		return false;
	if (!within_bound(len))
		return windows == 1 && lane_again(t, l); /* it may have waited */
	l->at = t->file_end;
	l->map = map_file(t->path, O_CREAT, l->at, len);
	full = !l->map && (errno == ENOSPC || errno == EDQUOT);
	if (!l->map && errno == ENOSPC && krt_reader_early()) { /* a reader makes space */
		while (!l->map && errno == ENOSPC && wait_a_little()) {
			if (windows == 1 && lane_again(t, l))
				return true;
			l->map = map_file(t->path, O_CREAT, l->at, len);
		}
		if (!l->map && errno == ENOSPC && reader_alive()) {
			krt_trouble(KRT_TROUBLE_SPACE);
			atomic_store_explicit(&refused, krt_mono_ns(), memory_order_relaxed);
			return false;
		}
	}
	if (!l->map) {
		atomic_store_explicit(&refused, krt_mono_ns(), memory_order_relaxed);
		if (errno != EMFILE && errno != ENFILE && errno != EINTR)
			krt_record_stop(KRT_TROUBLE_MEMORY | (full ? KRT_TROUBLE_SPACE : 0));
		return false;
	}
	if (when)
		atomic_store_explicit(&refused, 0, memory_order_relaxed);
	t->file_end = l->at + len;
	return true;
}

#define LINK sizeof(struct krt_rec_next) /* so much of a window stays for it */

/*
 * Goes on in windows that hold a record of len bytes: one that was read, else new
 * ones.  What is left of the old window becomes a PAD record that leads there.
 */
static bool lane_grow(struct krt_thread *t, size_t len)
{
	/* parts after the first carry a header of their own */
	size_t windows = len <= KRT_WINDOW - LINK ? 1 : (len + KRT_WINDOW - 1) / (KRT_WINDOW - 8) + 1;
	/* a busy lane takes several at once: the system calls are what they cost */
	size_t more = t->pos >= 8 * KRT_WINDOW ? 4 : t->pos >= 2 * KRT_WINDOW ? 2 : 1;
	struct krt_left l;

	if (windows > 1 || !lane_again(t, &l)) {
		if (windows < more && !t->nleft && (!krt_opt.bound || krt_opt.bound >= 64 * KRT_WINDOW))
			windows = more;
		if (!lane_new(t, windows, &l))
			return false;
	}
	if (t->map) {
		uint64_t rest = t->map_off + t->map_len - t->pos;
		char *at = t->map + (t->pos - t->map_off);

		pad(at, rest);
		if (l.at != t->map_at + t->map_len) {
			struct krt_rec_next *next = (void *)(at + rest - ((rest - 1) % KRT_WINDOW + 1));

			next->h.flags = KRT_RF_NEXT;
			next->at = l.at;
		}
		lane_leave(t, t->map_len);
	}
	t->map = l.map;
	t->map_len = windows * KRT_WINDOW;
	t->map_at = l.at;
	t->pos = t->map_off; /* the end of the last window; 0 for the first */
	return true;
}

/* Room for len bytes at pos, or for a split record at the start of fresh windows. */
static bool lane_reserve(struct krt_thread *t, size_t len)
{
	size_t left = t->map ? t->map_off + t->map_len - t->pos : 0;
	size_t here = left ? (left - 1) % KRT_WINDOW + 1 : 0; /* to the end of the window */

	if (krt_likely(len + LINK <= here))
		return true;
	if (len > KRT_RECORD_MAX)
		return false;
	if (left > here && len <= KRT_WINDOW - LINK) { /* the rest of a split record's windows */
		pad(t->map + (t->pos - t->map_off), here);
		t->pos += here;
		return true;
	}
	return lane_grow(t, len);
}

static void lane_copy(struct krt_thread *t, struct krt_rec *rec, size_t len)
{
	char *at = t->map + (t->pos - t->map_off);
	const char *from = (const char *)rec;
	size_t n;

	rec->size = (uint32_t)len;
	if (krt_likely(len <= KRT_WINDOW - LINK)) {
		memcpy(at, rec, len);
		t->pos += len;
		return;
	}
	rec->size = KRT_WINDOW;
	rec->flags |= KRT_RF_MORE;
	memcpy(at, rec, KRT_WINDOW);
	at += KRT_WINDOW;
	from += KRT_WINDOW;
	t->pos += KRT_WINDOW;
	for (len -= KRT_WINDOW; len; len -= n) {
		struct krt_rec part = { .kind = KRT_REC_CONT };

		n = len < KRT_WINDOW - sizeof part ? len : KRT_WINDOW - sizeof part;
		part.size = (uint32_t)(n + sizeof part);
		part.flags = len > n ? KRT_RF_MORE : 0;
		memcpy(at, &part, sizeof part);
		memcpy(at + sizeof part, from, n);
		at += part.size;
		from += n;
		t->pos += part.size;
	}
}

/* Leaves the windows that are full. */
static void lane_trim(struct krt_thread *t)
{
	size_t full = (t->pos - t->map_off) / KRT_WINDOW * KRT_WINDOW;

	if (krt_unlikely(full >= 8 * KRT_WINDOW)) /* a small mapping goes as a whole */
		lane_leave(t, full < t->map_len ? full : full - KRT_WINDOW);
}

bool krt_lane_write(struct krt_thread *t, struct krt_rec *rec, size_t len, uint64_t *t1)
{
	len = (len + 7) & ~(size_t)7;
	if (krt_unlikely(!lane_reserve(t, len))) {
		drop(t->slot);
		return false;
	}
	if (t1) {
		/* whoever sees the ticket taken sees this: it is stored before, and released with it */
		__atomic_store_n(&t->slot->pending, __atomic_load_n(&krt_proc->ticket, __ATOMIC_RELAXED),
				 __ATOMIC_RELAXED);
		*t1 = krt_ticket();
	}
	lane_copy(t, rec, len);
	__atomic_store_n(&t->slot->commit, t->pos, __ATOMIC_RELEASE);
	if (t1)
		__atomic_store_n(&t->slot->pending, 0, __ATOMIC_RELEASE);
	lane_trim(t);
	return true;
}

void krt_lane0_write(const struct krt_rec *rec, size_t len)
{
	static char small[8192] __attribute__((aligned(8))); /* under the lock */
	struct krt_rec *copy = (struct krt_rec *)small;

	if (!krt_attached())
		return;
	if (len > sizeof small - 8) {
		copy = krt_map(len + 8);
		if (!copy) {
			drop(&krt_proc->slot[0]);
			return;
		}
	}
	krt_lock(&krt_wipe.w.lane0);
	memcpy(copy, rec, len);
	memset((char *)copy + len, 0, 8);
	krt_lane_write(&lane0, copy, len, NULL);
	krt_unlock(&krt_wipe.w.lane0);
	if (copy != (void *)small)
		krt_unmap(copy, len + 8);
}

/* ---- lanes of threads ---- */

static bool thread_gone(int32_t tid)
{
	return tid && syscall(SYS_tgkill, krt_proc->pid, tid, 0) && errno == ESRCH;
}

static struct krt_thread *thread_enter(int32_t tid)
{
	static unsigned hand; /* where the search for a dead thread goes on */
	unsigned lanes = krt_proc->lanes;
	struct krt_thread *t = NULL;

	/* a look at a few lanes each time keeps their number near that of the live threads */
	for (unsigned i = 1, look = 0; i < lanes && look < 32; i++, look++) {
		unsigned lane = lanes > 33 ? 1 + (hand + i) % (lanes - 1) : i;
		struct krt_slot *slot = &krt_proc->slot[lane];

		if (threads[lane] && (slot->tid == tid || thread_gone(slot->tid))) {
			t = threads[lane];
			hand += look + 1;
			break;
		}
	}
	if (!t && lanes > 33)
		hand += 32;
	if (!t) {
		if (lanes >= KRT_LANES)
			return NULL;
		t = krt_alloc(sizeof *t);
		if (!t)
			return NULL;
		t->scratch = krt_map(KRT_SCRATCH);
		t->path = lane_path(lanes);
		if (!t->scratch || !t->path)
			return NULL;
		t->lane = lanes;
		t->slot = &krt_proc->slot[lanes];
		threads[lanes] = t;
		__atomic_store_n(&krt_proc->lanes, lanes + 1, __ATOMIC_RELEASE);
	}
	__atomic_store_n(&t->slot->pending, 0, __ATOMIC_RELEASE);
	t->tid = tid;
	t->serial = ++next_serial;
	t->scratch_used = 0;
	t->ignore = t->hostfn = 0;
	krt_ranges_reset(t);
	t->stack_low = t->stack_high = 0;
	t->stack_looks = 0;
	t->calls = t->group = t->groups = 0;
	__atomic_store_n(&t->slot->tid, tid, __ATOMIC_RELEASE);
	return t;
}

struct krt_thread *krt_thread_enter(void)
{
	struct krt_rec_thread r = { .h = { .kind = KRT_REC_THREAD } };
	struct krt_thread *t;

	r.tid = krt_tid();
	krt_lock(&krt_wipe.w.attach);
	t = krt_attached() ? thread_enter(r.tid) : NULL;
	krt_unlock(&krt_wipe.w.attach);
	if (!t) {
		if (krt_attached())
			drop(&krt_proc->slot[0]);
		return NULL;
	}
	krt_tls.thread = t;
	krt_tls.session = krt_session;
	r.serial = t->serial;
	syscall(SYS_prctl, 16 /* PR_GET_NAME */, r.name, 0, 0, 0);
	krt_lane_write(t, &r.h, sizeof r, NULL);
	return t;
}

/* ---- interning ---- */

/*
 * Open addressing on a 64-bit hash.  A slot is read as hash, id, hash again; it
 * is written id first.  A full table is emptied: things then get new ids, which
 * costs space and nothing else.
 */
#define TABLE 32768

struct table {
	uint32_t used;
	struct { _Atomic uint64_t hash; _Atomic uint64_t check; _Atomic uint32_t id; } slot[TABLE];
};

static struct table *stacks, *blocks;

/* Parameter blocks met lately: only what comes again is worth an id.  Racy, and harmless so. */
#define SEEN 16384
static _Atomic uint64_t *seen;
static uint32_t next_stack, next_block;
static _Atomic uint32_t next_string;

#define ABSENT UINT32_MAX

static uint32_t table_get(struct table *t, uint64_t hash, uint64_t check)
{
	for (uint32_t i = (uint32_t)hash;; i++) {
		uint64_t h = atomic_load_explicit(&t->slot[i % TABLE].hash, memory_order_acquire);
		uint32_t id;

		if (!h)
			return ABSENT;
		if (h != hash)
			continue;
		id = atomic_load_explicit(&t->slot[i % TABLE].id, memory_order_acquire);
		if (atomic_load_explicit(&t->slot[i % TABLE].check, memory_order_acquire) != check ||
		    atomic_load_explicit(&t->slot[i % TABLE].hash, memory_order_relaxed) != hash)
			return ABSENT;
		return id;
	}
}

/* Under the intern lock. */
static void table_put(struct table *t, uint64_t hash, uint64_t check, uint32_t id)
{
	uint32_t i = (uint32_t)hash % TABLE;

	if (t->used > TABLE / 4 * 3) {
		for (unsigned k = 0; k < TABLE; k++)
			atomic_store_explicit(&t->slot[k].hash, 0, memory_order_release);
		t->used = 0;
	}
	while (atomic_load_explicit(&t->slot[i].hash, memory_order_relaxed) &&
	       atomic_load_explicit(&t->slot[i].hash, memory_order_relaxed) != hash)
		i = (i + 1) % TABLE;
	if (!atomic_load_explicit(&t->slot[i].hash, memory_order_relaxed))
		t->used++;
	atomic_store_explicit(&t->slot[i].check, check, memory_order_release);
	atomic_store_explicit(&t->slot[i].id, id, memory_order_release);
	atomic_store_explicit(&t->slot[i].hash, hash, memory_order_release);
}

bool krt_intern_open(void)
{
	stacks = krt_map(sizeof *stacks);
	blocks = krt_map(sizeof *blocks);
	seen = krt_map(SEEN * sizeof *seen);
	next_stack = next_block = 0;
	atomic_store(&next_string, 0);
	return stacks && blocks && seen;
}

#define STACK_MAX 64 /* frames of a kind */
#define LEAF 8u

/* The innermost Python frame alone, as a leaf has it. */
static unsigned python_leaf(struct krt_pyframe *frame, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (frame[i].code) {
			frame[0] = frame[i];
			return 1;
		}
	return 0;
}

/* Under the intern lock. */
static void stack_write(uint32_t id, const uint64_t *pc, unsigned n, const struct krt_pyframe *frame,
			unsigned nframes)
{
	static char buf[sizeof(struct krt_rec_stack) + STACK_MAX * (sizeof(uint64_t) + sizeof(struct krt_rec_pyframe))]
		__attribute__((aligned(8)));
	struct krt_rec_stack *r = (struct krt_rec_stack *)buf;
	struct krt_rec_pyframe *python = (struct krt_rec_pyframe *)(r->pc + n);

	*r = (struct krt_rec_stack){ .h = { .kind = KRT_REC_STACK }, .id = id, .depth = (uint16_t)n };
	memcpy(r->pc, pc, n * sizeof *pc);
	r->python = (uint16_t)krt_pyframes_place(frame, nframes, pc, n, python);
	krt_lane0_write(&r->h, sizeof *r + n * sizeof *pc + r->python * sizeof *python);
}

uint32_t krt_stack_id(bool quiet)
{
	struct {
		uint64_t pc[STACK_MAX];
		struct krt_pyframe python[STACK_MAX];
	} s;
	bool leaf = krt_opt.stacks == KRT_STACKS_leaf, was;
	unsigned max = krt_opt.depth > STACK_MAX ? STACK_MAX : (unsigned)krt_opt.depth, n, python;
	unsigned room = leaf && !krt_pyframes_whole() ? LEAF : max;
	uint64_t hash, check;
	uint32_t id;

	if (krt_opt.stacks == KRT_STACKS_none)
		return 0;
	was = krt_unwind_quiet(quiet);
	n = krt_unwind(s.pc, room, krt_tls.thread ? &krt_tls.thread->stack : NULL);
	krt_unwind_quiet(was);
	python = krt_pyframes(s.python, leaf ? LEAF : max, s.pc, n, room, quiet);
	if (leaf) {
		n = n < LEAF ? n : LEAF;
		python = python_leaf(s.python, python);
	}
	if (!n && !python)
		return 0;
	hash = krt_hash(krt_modules_generation(), s.pc, n * sizeof *s.pc);
	if (python)
		hash = krt_hash(hash, s.python, python * sizeof *s.python);
	hash |= 1;
	check = (n ? s.pc[0] : 0) + n + ((uint64_t)python << 48);
	id = table_get(stacks, hash, check);
	if (krt_likely(id != ABSENT))
		return id;
	if (!quiet)
		krt_modules_refresh(); /* before the lock: it takes the loader's */
	krt_lock(&krt_wipe.w.intern);
	id = table_get(stacks, hash, check);
	if (id == ABSENT) {
		id = ++next_stack;
		stack_write(id, s.pc, n, s.python, python);
		table_put(stacks, hash, check, id);
	}
	krt_unlock(&krt_wipe.w.intern);
	return id;
}

uint32_t krt_params_id(uint32_t kernel, const void *bytes, uint32_t len)
{
	uint64_t hash = krt_hash(kernel, bytes, len) | 1, check;
	_Atomic uint64_t *met = &seen[hash >> 20 & (SEEN - 1)];
	uint32_t id;

	if (atomic_load_explicit(met, memory_order_relaxed) != hash) {
		atomic_store_explicit(met, hash, memory_order_relaxed);
		return 0;
	}
	check = krt_hash(hash ^ 0x9e3779b97f4a7c15ull, bytes, len);
	id = table_get(blocks, hash, check);
	if (krt_likely(id != ABSENT))
		return id;
	krt_lock(&krt_wipe.w.intern);
	id = table_get(blocks, hash, check);
	if (id == ABSENT) {
		static char buf[sizeof(struct krt_rec_params) + KRT_PARAMS_SHARE_MAX]
			__attribute__((aligned(8))); /* under the lock */
		struct krt_rec_params *r = (struct krt_rec_params *)buf;

		id = ++next_block;
		*r = (struct krt_rec_params){
			.h = { .kind = KRT_REC_PARAMS }, .id = id, .kernel = kernel, .len = len,
		};
		memcpy(r->bytes, bytes, len);
		krt_lane0_write(&r->h, sizeof *r + len);
		table_put(blocks, hash, check, id);
	}
	krt_unlock(&krt_wipe.w.intern);
	return id;
}

uint32_t krt_string_id(const char *text, size_t len)
{
	char buf[sizeof(struct krt_rec_string) + 256] __attribute__((aligned(8)));
	struct krt_rec_string *r = (struct krt_rec_string *)buf;

	if (len > 256)
		len = 256;
	*r = (struct krt_rec_string){
		.h = { .kind = KRT_REC_STRING }, .id = atomic_fetch_add(&next_string, 1) + 1,
		.len = (uint32_t)len,
	};
	memcpy(r->text, text, len);
	krt_lane0_write(&r->h, sizeof *r + len);
	return r->id;
}
