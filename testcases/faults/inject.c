/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults on demand, preloaded behind libkrtsan.so or into krtsan itself: the
 * FAULT_AT-th call that counts goes wrong.  Which calls count:
 *
 *   FAULT_IN    the file name of the object whose calls count
 *   FAULT_ALL   set: calls of all objects count where that one is loaded
 *   FAULT_WHAT  room: memory, mappings and room in files (malloc and the like,
 *               mmap, openat, fallocate, pwrite)
 *               files: openat, fallocate and pwrite alone
 *               call: every system call that may fail by itself
 *               any: both
 *   FAULT_AT    which one, 0: none
 *   FAULT_FOR   fail: that one; stick: that one and all later ones; kill: SIGKILL
 *               instead; remove: the folder FAULT_PATH and its files go first
 *   FAULT_ERRNO what a failing call leaves in errno, else ENOMEM for memory, ENOSPC
 *               for files
 *   FAULT_LIVE  a file that is told at the end how many blocks of malloc were
 *               not freed, and how many calls counted
 *   FAULT_LOG   with FAULT_AT=0 one line a call that counts (number, name, hash of the
 *               innermost frames, whether that hash is new), else "hit" when it went wrong
 *
 * FAULT_CLOCK moves clocks: back (each reading of CLOCK_REALTIME and CLOCK_MONOTONIC
 * an hour earlier than the last), ahead (30 years on, every second reading), stuck.
 *
 * Nothing of libc's that allocates is called, but backtrace() for the log.  The
 * counters are atomic; a child made by fork goes on counting for itself.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum { ROOM = 1, CALL = 2, FILES = 4 };

static uintptr_t low, high; /* of the object, 0: not here */
static bool all;
static unsigned what;
static uint64_t at;
static const char *how = "fail", *path;
static int err, logfd = -1;
static _Atomic uint64_t count;
static __thread bool inside __attribute__((tls_model("initial-exec")));

static long raw(long n, long a, long b, long c, long d, long e, long f)
{
#if defined(__x86_64__)
	register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
	long r;

	__asm__ volatile("syscall"
			 : "=a"(r)
			 : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
#else
	register long x8 __asm__("x8") = n, r __asm__("x0") = a, x1 __asm__("x1") = b,
			 x2 __asm__("x2") = c, x3 __asm__("x3") = d, x4 __asm__("x4") = e,
			 x5 __asm__("x5") = f;

	__asm__ volatile("svc 0"
			 : "+r"(r)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
#endif
	return r;
}

static long answer(long r)
{
	if (r < 0 && r > -4096) {
		errno = (int)-r;
		return -1;
	}
	return r;
}

static int object(struct dl_phdr_info *info, size_t size, void *want)
{
	char self[4096] = "";
	const char *name = info->dlpi_name;

	(void)size;
	if (!*name && raw(SYS_readlinkat, AT_FDCWD, (long)"/proc/self/exe", (long)self,
			  sizeof self - 1, 0, 0) > 0)
		name = self;
	name = strrchr(name, '/') ? strrchr(name, '/') + 1 : name;
	if (strcmp(name, want))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		uintptr_t from = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;

		if (info->dlpi_phdr[i].p_type != PT_LOAD)
			continue;
		low = low && low < from ? low : from;
		high = high > from + info->dlpi_phdr[i].p_memsz ? high
								: from + info->dlpi_phdr[i].p_memsz;
	}
	return 1;
}

static void __attribute__((constructor)) begin(void)
{
	const char *in = getenv("FAULT_IN"), *w = getenv("FAULT_WHAT"), *log = getenv("FAULT_LOG");

	at = getenv("FAULT_AT") ? strtoull(getenv("FAULT_AT"), NULL, 10) : 0;
	err = getenv("FAULT_ERRNO") ? atoi(getenv("FAULT_ERRNO")) : 0;
	how = getenv("FAULT_FOR") ? getenv("FAULT_FOR") : how;
	path = getenv("FAULT_PATH");
	what = !w || !strcmp(w, "room") ? ROOM
	       : !strcmp(w, "call")	? CALL
	       : !strcmp(w, "files")	? FILES
					: ROOM | CALL;
	if (!in)
		return;
	if (log) { /* before anything counts: it allocates at first */
		void *frame[2];

		backtrace(frame, 2);
	}
	if (log)
		logfd = (int)raw(SYS_openat, AT_FDCWD, (long)log,
				 O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600, 0, 0);
	dl_iterate_phdr(object, (void *)in);
	all = low && getenv("FAULT_ALL");
}

static void note(uint64_t n, const char *name)
{
	static _Atomic uint64_t seen[65536];
	void *frame[9];
	uint64_t hash = 0xcbf29ce484222325ull;
	int depth = backtrace(frame, 9);
	bool fresh = true;
	char line[128];

	for (int i = 2; i < depth;
	     i++) /* addresses differ from run to run by whole pages at least */
		hash = (hash ^ ((uintptr_t)frame[i] & 0xfff)) * 0x100000001b3ull;
	hash |= 1;
	for (uint64_t i = hash; fresh; i++) {
		uint64_t was = 0;

		if (atomic_compare_exchange_strong(&seen[i % 65536], &was, hash))
			break;
		fresh = was != hash;
	}
	raw(SYS_write, logfd, (long)line,
	    snprintf(line, sizeof line, "%llu %s %llx %d\n", (unsigned long long)n, name,
		     (unsigned long long)hash, fresh),
	    0, 0, 0);
}

static void remove_folder(void)
{
	struct {
		uint64_t ino, off;
		uint16_t len;
		uint8_t type;
		char name[];
	} * d;
	static char buf[65536] __attribute__((aligned(8)));
	int fd = (int)raw(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_DIRECTORY, 0, 0, 0);
	long n;

	while (fd >= 0 && (n = raw(SYS_getdents64, fd, (long)buf, sizeof buf, 0, 0, 0)) > 0)
		for (long i = 0; i < n; i += d->len) {
			d = (void *)(buf + i);
			raw(SYS_unlinkat, fd, (long)d->name, 0, 0, 0, 0);
		}
	raw(SYS_close, fd, 0, 0, 0, 0, 0);
	raw(SYS_unlinkat, AT_FDCWD, (long)path, AT_REMOVEDIR, 0, 0, 0);
}

/* For a debugger to stop at. */
static void __attribute__((noinline)) hit(const char *name)
{
	char line[512];
	void *frame[12];
	int n, depth;

	if (logfd < 0)
		return;
	inside = true; /* not to be failed in turn */
	depth = backtrace(frame, 12);
	inside = false;
	n = snprintf(line, sizeof line, "hit %s", name);
	for (int i = 2; i < depth; i++)
		n += snprintf(line + n, sizeof line - (size_t)n, " %lx",
			      (unsigned long)((uintptr_t)frame[i] - low));
	line[n++] = '\n';
	raw(SYS_write, logfd, (long)line, n, 0, 0, 0);
}

/* Does this call go wrong?  Then errno is set. */
static bool fails(unsigned kind, const char *name, const void *from, int error)
{
	uint64_t n;

	if (!low || !(kind & what) || inside ||
	    (!all && ((uintptr_t)from < low || (uintptr_t)from >= high)))
		return false;
	inside = true;
	n = atomic_fetch_add(&count, 1) + 1;
	if (!at && logfd >= 0)
		note(n, name);
	inside = false;
	if (!at || n < at || (n > at && strcmp(how, "stick")))
		return false;
	if (n == at)
		hit(name);
	if (!strcmp(how, "kill"))
		raw(SYS_kill, raw(SYS_getpid, 0, 0, 0, 0, 0, 0), SIGKILL, 0, 0, 0, 0);
	if (!strcmp(how, "remove")) {
		remove_folder();
		return false;
	}
	errno = err ? err : error;
	return true;
}

#define FAILS(kind, name, error) fails(kind, name, __builtin_return_address(0), error)

/* ---- memory ---- */

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

extern void __libc_free(void *);

static _Atomic long live;

static void *born(void *p)
{
	live += p != NULL;
	return p;
}

EXPORT void *malloc(size_t n)
{
	return FAILS(ROOM, "malloc", ENOMEM) ? NULL : born(__libc_malloc(n));
}

EXPORT void *calloc(size_t n, size_t each)
{
	return FAILS(ROOM, "calloc", ENOMEM) ? NULL : born(__libc_calloc(n, each));
}

EXPORT void *realloc(void *p, size_t n)
{
	void *q;

	if (FAILS(ROOM, "realloc", ENOMEM))
		return NULL;
	q = __libc_realloc(p, n);
	live += !p && q ? 1 : p && !n && !q ? -1 : 0;
	return q;
}

EXPORT void *aligned_alloc(size_t align, size_t n)
{
	return FAILS(ROOM, "aligned_alloc", ENOMEM) ? NULL : born(__libc_memalign(align, n));
}

EXPORT int posix_memalign(void **p, size_t align, size_t n)
{
	if (FAILS(ROOM, "posix_memalign", ENOMEM))
		return ENOMEM;
	*p = born(__libc_memalign(align, n));
	return *p ? 0 : ENOMEM;
}

EXPORT void free(void *p)
{
	live -= p != NULL;
	__libc_free(p);
}

static void __attribute__((destructor)) end(void)
{
	const char *file = getenv("FAULT_LIVE");
	char line[32];
	int fd;

	if (!file || !low)
		return;
	fd = (int)raw(SYS_openat, AT_FDCWD, (long)file, O_WRONLY | O_CREAT | O_TRUNC, 0600, 0, 0);
	raw(SYS_write, fd, (long)line,
	    snprintf(line, sizeof line, "%ld %lu\n", live, (unsigned long)count), 0, 0, 0);
}

EXPORT void *mmap(void *p, size_t n, int prot, int flags, int fd, off_t off)
{
	if (FAILS(ROOM, "mmap", ENOMEM))
		return MAP_FAILED;
	return (void *)answer(raw(SYS_mmap, (long)p, (long)n, prot, flags, fd, off));
}

/* ---- system calls by their number ---- */

static const struct row {
	long number;
	const char *name;
	unsigned kind;
	int error;
} rows[] = {
	{SYS_mmap, "mmap", ROOM, ENOMEM},
	{SYS_openat, "openat", ROOM | FILES, ENOSPC},
	{SYS_fallocate, "fallocate", ROOM | FILES, ENOSPC},
	{SYS_pwrite64, "pwrite64", ROOM | FILES, ENOSPC},
	{SYS_munmap, "munmap", CALL, ENOMEM},
	{SYS_read, "read", CALL, EIO},
	{SYS_write, "write", CALL, EIO},
	{SYS_pread64, "pread64", CALL, EIO},
	{SYS_close, "close", CALL, EIO},
	{SYS_readlinkat, "readlinkat", CALL, EACCES},
	{SYS_unlinkat, "unlinkat", CALL, EACCES},
	{SYS_getdents64, "getdents64", CALL, EIO},
	{SYS_prlimit64, "prlimit64", CALL, EPERM},
	{SYS_process_vm_readv, "process_vm_readv", CALL, EPERM},
	{SYS_prctl, "prctl", CALL, EINVAL},
	{SYS_newfstatat, "newfstatat", CALL, EACCES},
	{SYS_fstat, "fstat", CALL, EIO},
	{SYS_rt_sigprocmask, "rt_sigprocmask", CALL, EINVAL},
	{SYS_sched_yield, "sched_yield", CALL, ENOSYS},
	{SYS_clock_nanosleep, "clock_nanosleep", CALL, EINTR},
	{SYS_wait4, "wait4", CALL, EINTR},
	{SYS_tgkill, "tgkill", CALL, EPERM},
};

EXPORT long syscall(long number, ...)
{
	const void *from = __builtin_return_address(0);
	long a[6];
	va_list ap;

	va_start(ap, number);
	for (unsigned i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++)
		if (rows[i].number == number &&
		    fails(rows[i].kind, rows[i].name, from, rows[i].error))
			return -1;
	return answer(raw(number, a[0], a[1], a[2], a[3], a[4], a[5]));
}

/* ---- and by libc's names ---- */

EXPORT int madvise(void *p, size_t n, int advice)
{
	return FAILS(CALL, "madvise", EINVAL)
		       ? -1
		       : (int)answer(raw(SYS_madvise, (long)p, (long)n, advice, 0, 0, 0));
}

EXPORT int fallocate(int fd, int mode, off_t off, off_t len)
{
	return FAILS(ROOM, "fallocate", ENOSPC)
		       ? -1
		       : (int)answer(raw(SYS_fallocate, fd, mode, off, len, 0, 0));
}

EXPORT ssize_t pwrite(int fd, const void *p, size_t n, off_t off)
{
	return FAILS(ROOM, "pwrite", ENOSPC)
		       ? -1
		       : answer(raw(SYS_pwrite64, fd, (long)p, (long)n, off, 0, 0));
}

EXPORT ssize_t pread(int fd, void *p, size_t n, off_t off)
{
	return FAILS(CALL, "pread", EIO)
		       ? -1
		       : answer(raw(SYS_pread64, fd, (long)p, (long)n, off, 0, 0));
}

EXPORT int openat(int dir, const char *name, int flags, ...)
{
	va_list ap;
	int mode;

	va_start(ap, flags);
	mode = va_arg(ap, int);
	va_end(ap);
	return FAILS(ROOM, "openat", EMFILE)
		       ? -1
		       : (int)answer(raw(SYS_openat, dir, (long)name, flags, mode, 0, 0));
}

EXPORT int open(const char *name, int flags, ...)
{
	va_list ap;
	int mode;

	va_start(ap, flags);
	mode = va_arg(ap, int);
	va_end(ap);
	return FAILS(ROOM, "open", EMFILE)
		       ? -1
		       : (int)answer(raw(SYS_openat, AT_FDCWD, (long)name, flags, mode, 0, 0));
}

/* ---- clocks ---- */

EXPORT int clock_gettime(clockid_t clock, struct timespec *t)
{
	static const char *jump;
	static _Atomic int64_t readings;
	long r = raw(SYS_clock_gettime, clock, (long)t, 0, 0, 0, 0);
	int64_t n;

	if (!jump)
		jump = getenv("FAULT_CLOCK") ? getenv("FAULT_CLOCK") : "";
	if (r || !*jump ||
	    (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC && clock != CLOCK_BOOTTIME))
		return (int)answer(r);
	n = atomic_fetch_add(&readings, 1);
	if (!strcmp(jump, "back"))
		t->tv_sec -= 3600 * n;
	else if (!strcmp(jump, "ahead"))
		t->tv_sec += n % 2 ? 30ll * 365 * 86400 : 0;
	else if (!strcmp(jump, "stuck"))
		*t = (struct timespec){12345, 678};
	else if (!strcmp(jump, "negative"))
		*t = (struct timespec){-5, 0};
	return 0;
}
