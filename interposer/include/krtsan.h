/* SPDX-License-Identifier: Apache-2.0 */
/*
 * krtsan annotations: what a CUDA program can tell krtsan that the driver API
 * does not show.  Header only, C and C++.  Every function looks its target up
 * once and does nothing when libkrtsan.so is not preloaded; nothing has to be
 * linked.  Streams and handles are passed as void *, sizes are bytes.
 *
 * A stream of 0, 1 or 2 means what it means to the driver (null, legacy,
 * per-thread); 0 is the per-thread stream where this header is compiled with
 * CUDA_API_PER_THREAD_DEFAULT_STREAM.
 */
#ifndef KRTSAN_H
#define KRTSAN_H

#include <dlfcn.h>
#include <stddef.h>

#define KRTSAN_READ   1u
#define KRTSAN_WRITE  2u
#define KRTSAN_ATOMIC 4u

#define KRTSAN_POOL_DEVICE 1u
#define KRTSAN_POOL_HOST   2u

/* As a stream: the calling thread. */
#define KRTSAN_HOST ((void *)-1)

#ifdef __cplusplus
#define KRTSAN_CAST_(type, value) reinterpret_cast<type>(value)
extern "C" {
#else
/* ISO C has no way from dlsym() to a function. */
#define KRTSAN_CAST_(type, value) (__extension__(type)(value))
#endif

static inline void *krtsan_stream_(void *stream)
{
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
	if (!stream)
		return KRTSAN_CAST_(void *, (size_t)2);
#endif
	return stream;
}

/* One look-up a call site's translation unit and function; not found is remembered as well. */
#define KRTSAN_CALL_(name, types, args)                                                     \
	do {                                                                                \
		typedef void(*krtsan_fn_) types;                                            \
		static krtsan_fn_ fn_;                                                      \
		static int looked_;                                                         \
		if (!looked_) {                                                             \
			fn_ = KRTSAN_CAST_(krtsan_fn_, dlsym(RTLD_DEFAULT, "krtsan_impl_" #name)); \
			looked_ = 1;                                                        \
		}                                                                           \
		if (fn_)                                                                    \
			fn_ args;                                                           \
		__asm__ volatile("" : : : "memory"); /* no tail call: reports name the caller */ \
	} while (0)

/*
 * The next kernel launch of this thread on stream touches [ptr, ptr+len).
 * Several calls add up; the set replaces whatever would be inferred.  Only a
 * launch uses it up, also one that fails.  On a capturing stream it belongs to
 * the node and is in force at every launch of every executable made from it,
 * until that node's parameters are changed.  A kernel that touches nothing is
 * declared with ptr NULL and len 0.
 */
static inline void krtsan_access(void *stream, const void *ptr, size_t len, unsigned flags)
{
	KRTSAN_CALL_(access, (void *, const void *, size_t, unsigned),
		     (krtsan_stream_(stream), ptr, len, flags));
}

/* The CPU is about to read, or to write, these bytes itself. */
static inline void krtsan_host_read(const void *ptr, size_t len)
{
	KRTSAN_CALL_(host_read, (const void *, size_t), (ptr, len));
}

static inline void krtsan_host_write(const void *ptr, size_t len)
{
	KRTSAN_CALL_(host_write, (const void *, size_t), (ptr, len));
}

/* A suballocator and its blocks.  pool is any unique address. */
static inline void krtsan_pool_create(const void *pool, unsigned kind, const char *name)
{
	KRTSAN_CALL_(pool_create, (const void *, unsigned, const char *), (pool, kind, name));
}

static inline void krtsan_pool_destroy(const void *pool)
{
	KRTSAN_CALL_(pool_destroy, (const void *), (pool));
}

static inline void krtsan_block_alloc(const void *pool, const void *ptr, size_t len, void *stream)
{
	KRTSAN_CALL_(block_alloc, (const void *, const void *, size_t, void *),
		     (pool, ptr, len, krtsan_stream_(stream)));
}

/* This stream uses the block too (record_stream); tells the reports, makes no order. */
static inline void krtsan_block_use(const void *ptr, void *stream)
{
	KRTSAN_CALL_(block_use, (const void *, void *), (ptr, krtsan_stream_(stream)));
}

static inline void krtsan_block_free(const void *ptr)
{
	KRTSAN_CALL_(block_free, (const void *), (ptr));
}

/*
 * Order made outside CUDA: everything before release on that stream happens
 * before everything after acquire.  KRTSAN_HOST as stream is the calling thread.
 */
static inline void krtsan_order_release(const void *token, void *stream)
{
	KRTSAN_CALL_(order_release, (const void *, void *), (token, krtsan_stream_(stream)));
}

static inline void krtsan_order_acquire(const void *token, void *stream)
{
	KRTSAN_CALL_(order_acquire, (const void *, void *), (token, krtsan_stream_(stream)));
}

/* Names a buffer (len > 0), or a stream or event (len 0), in reports. */
static inline void krtsan_name(const void *object, size_t len, const char *name)
{
	KRTSAN_CALL_(name, (const void *, size_t, const char *), (object, len, name));
}

/*
 * What this thread enqueues in between (the pairs nest) is neither judged nor
 * remembered as an access; the order that it makes counts.
 */
static inline void krtsan_ignore_begin(void)
{
	KRTSAN_CALL_(ignore_begin, (void), ());
}

static inline void krtsan_ignore_end(void)
{
	KRTSAN_CALL_(ignore_end, (void), ());
}

#ifdef __cplusplus
}
#endif
#endif
