/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that the program gives to the C library and to the kernel (syscalls.def).
 *
 * The kernel does not raise a signal at a protected page but fails the call with
 * EFAULT, and stdio goes to the kernel by itself.  So what a call is given is told
 * as an access of the CPU, and opened, before the call is made.
 *
 * What the driver does with its own memory is its business.
 *
 * While nothing is guarded a wrapper is one relaxed load and the call.  They work
 * before libc is up and in fork children; errno is the program's.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
/* the functions themselves, not the checked forms that headers make of them */
#undef _FORTIFY_SOURCE
#include "host.h"
#include "lane.h"
#include "next.h"

#include <aio.h>
#include <errno.h>
#include <linux/aio_abi.h>
#include <poll.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#undef fread_unlocked
#undef fwrite_unlocked

#define EXPORT __attribute__((visibility("default")))
#define PIECES 1024 /* of one call, at most: the kernel takes no more */

/* A call's memory is looked at where a load could fault: the kernel would answer EFAULT. */
static bool readable(const void *p, size_t n)
{
	char byte;

	return p && krt_read((uintptr_t)p, &byte, 1) == 1 && krt_read((uintptr_t)p + n - 1, &byte, 1) == 1;
}

static void pieces(unsigned api, const struct iovec *v, size_t n, bool write)
{
	n = n < PIECES ? n : PIECES;
	if (!n || !readable(v, n * sizeof *v))
		return;
	krt_host_given(api, (uintptr_t)v, n * sizeof *v, false);
	for (size_t i = 0; i < n; i++)
		krt_host_given(api, (uintptr_t)v[i].iov_base, v[i].iov_len, write);
}

static void message(unsigned api, const struct msghdr *m, bool write)
{
	if (!readable(m, sizeof *m))
		return;
	pieces(api, m->msg_iov, m->msg_iovlen, write);
	krt_host_given(api, (uintptr_t)m->msg_control, m->msg_controllen, write);
	krt_host_given(api, (uintptr_t)m->msg_name, m->msg_namelen, write);
}

static void messages(unsigned api, const struct mmsghdr *m, unsigned n, bool write)
{
	n = n < PIECES ? n : PIECES;
	if (!n || !readable(m, n * sizeof *m))
		return;
	for (unsigned i = 0; i < n; i++)
		message(api, &m[i].msg_hdr, write);
}

/*
 * libaio's: the list, and what its requests name.  The kernel takes the memory when it is
 * asked, and goes on with it.
 */
static void requests(void **list, long n)
{
	n = n < PIECES ? n : PIECES;
	if (n <= 0 || !readable(list, (size_t)n * sizeof *list))
		return;
	for (long i = 0; i < n; i++) {
		const struct iocb *r = list[i];

		if (!readable(r, sizeof *r))
			continue;
		if (r->aio_lio_opcode == IOCB_CMD_PREADV || r->aio_lio_opcode == IOCB_CMD_PWRITEV)
			pieces(KRT_NR_APIS, (const struct iovec *)(uintptr_t)r->aio_buf, r->aio_nbytes, true);
		else if (r->aio_lio_opcode == IOCB_CMD_PREAD || r->aio_lio_opcode == IOCB_CMD_PWRITE)
			krt_host_given(KRT_NR_APIS, r->aio_buf, r->aio_nbytes, true);
	}
}

#define READS(p, n)	   krt_host_given(api_, (uintptr_t)(p), n, false)
#define WRITES(p, n)	   krt_host_given(api_, (uintptr_t)(p), n, true)
#define IOV_READS(v, n)	   pieces(api_, v, (size_t)(n), false)
#define IOV_WRITES(v, n)   pieces(api_, v, (size_t)(n), true)
#define MSG_READS(m)	   message(api_, m, false)
#define MSG_WRITES(m)	   message(api_, m, true)
#define MMSG_READS(m, n)   messages(api_, m, n, false)
#define MMSG_WRITES(m, n)  messages(api_, m, n, true)
#define TEXT(p)		   krt_host_given(KRT_NR_APIS, (uintptr_t)(p), 1, false)
#define OPENED(p, n)	   krt_host_given(KRT_NR_APIS, (uintptr_t)(p), n, true)
#define IOV_OPENED(v, n)   pieces(KRT_NR_APIS, v, n, true)
#define EXEMPT(p, n)	   krt_host_exempt((uintptr_t)(p), n, true)
#define PROTECTED(p, n, k) krt_host_exempt((uintptr_t)(p), n, (k) != (PROT_READ | PROT_WRITE))
#define NOTHING()	   krt_host_exempt(0, UINT64_MAX, true)

/* What a call answers that no library has. */
#define LACKING(type) _Generic((type)0, void *: NULL, char *: NULL, size_t: 0, default: -1)

#define WRAPPER(type, name, params, args, before)                                           \
	EXPORT type name params;                                                            \
	EXPORT type name params                                                             \
	{                                                                                   \
		static _Atomic(void *) next_;                                               \
		void *p_ = atomic_load_explicit(&next_, memory_order_relaxed);              \
                                                                                            \
		if (krt_unlikely(!p_)) {                                                    \
			p_ = krt_next(#name);                                               \
			atomic_store_explicit(&next_, p_, memory_order_relaxed);            \
			if (!p_) {                                                          \
				errno = ENOSYS;                                             \
				return LACKING(type);                                       \
			}                                                                   \
		}                                                                           \
		if (krt_guarding() && !krt_tls.frame && !krt_in_driver(__builtin_return_address(0))) { \
			before;                                                             \
		}                                                                           \
		return ((type(*) params)p_) args;                                           \
	}
#define KRT_GIVEN(type, name, params, args, what) \
	WRAPPER(type, name, params, args, const unsigned api_ = KRT_API_##name; what)
#define KRT_HANDED(type, name, params, args, what) WRAPPER(type, name, params, args, what)
#include "syscalls.def"
