/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The small things that other programs take from libc: memory, a lock, text.
 * The library must not call malloc or stdio (a wrapped call may run under the
 * program's malloc lock), so it has its own.  Arena memory is never freed: what
 * lives there is bounded by the number of threads, kernels and call sites.
 */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define CHUNK (1u << 20)

union krt_wipe_pages krt_wipe __attribute__((aligned(KRT_WIPE_SIZE)));

#define READ_PAGE 4096u

/* Where kernels older than 4.14 cannot wipe. */
static void wipe_by_hand(void)
{
	memset(&krt_wipe.w, 0, sizeof krt_wipe.w);
}

void krt_wipe_arm(void)
{
	if (krt_likely(atomic_load_explicit(&krt_wipe.w.armed, memory_order_acquire)))
		return;
#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif
	/* in a child armed reads 0, but the advice is inherited: twice does no harm */
	if (madvise(&krt_wipe, sizeof krt_wipe, MADV_WIPEONFORK)) {
		static _Atomic uint32_t once;

		if (!atomic_exchange(&once, 1))
			pthread_atfork(NULL, NULL, wipe_by_hand);
	}
	atomic_store_explicit(&krt_wipe.w.armed, 1, memory_order_release);
}

/* One chunk: its used bytes in the first word, so that a fork at any moment leaves it whole. */
static char *_Atomic arena;

void *krt_map(size_t size)
{
	void *p;

	size = (size + 4095) & ~(size_t)4095;
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		krt_trouble(KRT_TROUBLE_PART); /* whoever asked does without */
	return p == MAP_FAILED ? NULL : p;
}

void krt_unmap(void *base, size_t size)
{
	size = (size + 4095) & ~(size_t)4095;
	if (base)
		syscall(SYS_munmap, base, size);
}

void *krt_alloc(size_t size)
{
	char *chunk, *p = NULL;

	size = (size + 15) & ~(size_t)15;
	if (size >= CHUNK / 4)
		return krt_map(size);
	krt_wipe_arm();
	krt_lock(&krt_wipe.w.arena);
	chunk = atomic_load_explicit(&arena, memory_order_relaxed);
	if (!chunk || CHUNK - *(size_t *)chunk < size) {
		chunk = krt_map(CHUNK);
		if (chunk) {
			*(size_t *)chunk = 16;
			atomic_store_explicit(&arena, chunk, memory_order_release);
		}
	}
	if (chunk) {
		p = chunk + *(size_t *)chunk;
		*(size_t *)chunk += size;
	}
	krt_unlock(&krt_wipe.w.arena);
	return p;
}

/* One transfer of at most 64 pages. */
static size_t read_some(uint64_t addr, void *to, size_t len)
{
	struct iovec here = { to, len }, there[64];
	size_t n = 0, pages = 0;
	long r;
	int fd;

	/* it stops between two elements: one a page */
	while (n < len && pages < 64) {
		size_t part = READ_PAGE - (addr + n) % READ_PAGE;

		part = part < len - n ? part : len - n;
		there[pages++] = (struct iovec){ (void *)(addr + n), part };
		n += part;
	}
	here.iov_len = n;
	r = syscall(SYS_process_vm_readv, syscall(SYS_getpid), &here, 1ul, there, pages, 0ul);
	if (r >= 0)
		return (size_t)r;
	if (errno == EFAULT)
		return 0;
	fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/mem", O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return 0;
	r = syscall(SYS_pread64, fd, to, n, (off_t)addr);
	syscall(SYS_close, fd);
	return r > 0 ? (size_t)r : 0;
}

size_t krt_read(uint64_t addr, void *to, size_t len)
{
	size_t done = 0, n;

	if (addr + len < addr)
		return 0;
	while (done < len && (n = read_some(addr + done, (char *)to + done, len - done)))
		done += n;
	return done;
}

/* word: 0 free, 1 held, 2 held and somebody may sleep */
void krt_lock(struct krt_lock *lock)
{
	uint32_t seen = 0;

	for (int spin = 0; spin < 200; spin++) {
		seen = 0;
		if (atomic_compare_exchange_weak_explicit(&lock->word, &seen, 1,
							  memory_order_acquire, memory_order_relaxed))
			return;
#if defined(__x86_64__)
		__builtin_ia32_pause();
#elif defined(__aarch64__)
		__asm__ volatile("yield");
#endif
	}
	while (atomic_exchange_explicit(&lock->word, 2, memory_order_acquire))
		syscall(SYS_futex, &lock->word, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
}

bool krt_lock_try(struct krt_lock *lock)
{
	const struct timespec ms = { 0, 1000000 };

	for (int i = 0; i < 20; i++) {
		uint32_t free = 0;

		if (atomic_compare_exchange_strong(&lock->word, &free, 1))
			return true;
		syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &ms, NULL);
	}
	return false;
}

void krt_unlock(struct krt_lock *lock)
{
	if (atomic_exchange_explicit(&lock->word, 0, memory_order_release) == 2)
		syscall(SYS_futex, &lock->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

int32_t krt_tid(void)
{
	return (int32_t)syscall(SYS_gettid);
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

uint64_t krt_mono_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

uint64_t krt_real_ns(void)
{
	return clock_ns(CLOCK_REALTIME);
}

static inline uint64_t fold(uint64_t h, uint64_t w)
{
	h = (h ^ w) * 0xff51afd7ed558ccdull;
	return h ^ h >> 32;
}

/*
 * Multiply and fold, eight bytes at a time, four chains beside each other as far as
 * that goes: good enough to tell blocks apart.
 */
uint64_t krt_hash(uint64_t seed, const void *data, size_t len)
{
	const unsigned char *p = data;
	uint64_t h = seed ^ (len * 0x9e3779b97f4a7c15ull), w[4];

	if (len >= 64) {
		uint64_t lane[4] = { h, ~h, h + 0x9e3779b97f4a7c15ull, h ^ 0xc4ceb9fe1a85ec53ull };

		for (; len >= 32; len -= 32, p += 32) {
			memcpy(w, p, 32);
			for (unsigned i = 0; i < 4; i++)
				lane[i] = fold(lane[i], w[i]);
		}
		for (unsigned i = 0; i < 4; i++)
			h = fold(h, lane[i]);
	}
	for (; len >= 8; len -= 8, p += 8) {
		memcpy(w, p, 8);
		h = fold(h, w[0]);
	}
	if (len) {
		w[0] = 0;
		memcpy(w, p, len);
		h = fold(h, w[0]);
	}
	h *= 0xc4ceb9fe1a85ec53ull;
	return h ^ (h >> 29);
}

static size_t number(char *out, uint64_t v, unsigned base)
{
	char tmp[24];
	size_t n = 0, i;

	do
		tmp[n++] = "0123456789abcdef"[v % base];
	while (v /= base);
	for (i = 0; i < n; i++)
		out[i] = tmp[n - 1 - i];
	return n;
}

static size_t format(char *out, size_t size, const char *f, va_list ap)
{
	size_t at = 0;

	for (; *f; f++) {
		char tmp[32], flag = 0;
		const char *s = tmp;
		size_t n = 1;

		if (*f != '%') {
			s = f;
		} else {
			while (*++f == 'l' || *f == 'z')
				flag = 'l';
			switch (*f) {
			case 's':
				s = va_arg(ap, const char *);
				s = s ? s : "(null)";
				n = strlen(s);
				break;
			case 'c':
				tmp[0] = (char)va_arg(ap, int);
				break;
			case 'd': {
				int64_t v = flag ? va_arg(ap, int64_t) : va_arg(ap, int);

				n = 0;
				if (v < 0)
					tmp[n++] = '-';
				n += number(tmp + n, v < 0 ? 0 - (uint64_t)v : (uint64_t)v, 10);
				break;
			}
			case 'u':
				n = number(tmp, flag ? va_arg(ap, uint64_t) : va_arg(ap, unsigned), 10);
				break;
			case 'x':
				n = number(tmp, flag ? va_arg(ap, uint64_t) : va_arg(ap, unsigned), 16);
				break;
			case 'p':
				tmp[0] = '0';
				tmp[1] = 'x';
				n = 2 + number(tmp + 2, (uintptr_t)va_arg(ap, void *), 16);
				break;
			default:
				tmp[0] = *f;
				break;
			}
		}
		if (n > size - 1 - at)
			n = size - 1 - at;
		memcpy(out + at, s, n);
		at += n;
	}
	out[at] = 0;
	return at;
}

size_t krt_format(char *out, size_t size, const char *f, ...)
{
	va_list ap;
	size_t n;

	va_start(ap, f);
	n = format(out, size, f, ap);
	va_end(ap);
	return n;
}

static bool quiet(void)
{
	const char *s = secure_getenv("KRTSAN_SESSION");

	return s && *s;
}

/*
 * To stderr.  Where nobody reads that any more the kernel sends SIGPIPE to this thread, which the
 * program never asked for: it is held back and taken away again, unless one was pending already.
 */
static void say(const char *line, size_t n)
{
	const struct timespec now = {0};
	uint64_t pipe = 1ull << (SIGPIPE - 1), old, pending = 0; /* the kernel's sets */

	if (syscall(SYS_rt_sigprocmask, SIG_BLOCK, &pipe, &old, sizeof old))
		return;
	syscall(SYS_rt_sigpending, &pending, sizeof pending);
	if (syscall(SYS_write, STDERR_FILENO, line, n) < 0 && errno == EPIPE && !(pending & pipe))
		syscall(SYS_rt_sigtimedwait, &pipe, NULL, &now, sizeof pipe);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &old, NULL, sizeof old);
}

void krt_msg(const char *f, ...)
{
	char line[1024] = "krtsan: ";
	int saved = errno;
	va_list ap;
	size_t n;

	if (quiet())
		return; /* under a front end it speaks */
	va_start(ap, f);
	n = 8 + format(line + 8, sizeof line - 9, f, ap);
	va_end(ap);
	line[n++] = '\n';
	say(line, n);
	errno = saved;
}
