/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the CPU's own accesses to memory in flight are found (the option host=), and
 * the account of it: counted in the program, told by the report.  Constants only.
 */
#ifndef KRT_ACCOUNT_H
#define KRT_ACCOUNT_H

#define KRT_HOST_MODES(X) X(api) X(checksum) X(guard)
enum krt_host_mode {
#define X(name) KRT_HOST_##name,
	KRT_HOST_MODES(X)
#undef X
	KRT_NR_HOST_MODES
};

/*
 * Bytes of host memory that operations were using while the CPU could get at
 * them, operation by operation; why some of them were not watched.
 */
#define KRT_ACCOUNTS(X)                                                                    \
	X(WATCHED, "watched", "watched")                                                   \
	X(SHARED, "shared_page", "share a page with other memory")                         \
	X(UNPROTECTED, "unprotected", "lie in pages that cannot be protected")             \
	X(PAGEABLE, "pageable", "are pageable memory, which is never protected")           \
	X(KERNEL, "system_call", "were handed to the kernel in a way that is not followed") \
	X(KEPT, "krtsan", "were touched by krtsan, or by a signal handler that interrupted it") \
	X(EARLIER, "earlier_work", "could be written by earlier work of the device")       \
	X(ROOM, "room", "were too many to keep in mind")                                   \
	X(GAPS, "row_gaps", "are rows with other bytes between them")
enum krt_host_account {
#define X(name, word, words) KRT_ACCOUNT_##name,
	KRT_ACCOUNTS(X)
#undef X
	KRT_NR_ACCOUNTS
};

static inline const char *krt_host_mode_text(unsigned mode)
{
	static const char *const text[KRT_NR_HOST_MODES] = {
#define X(name) #name,
		KRT_HOST_MODES(X)
#undef X
	};
	return mode < KRT_NR_HOST_MODES ? text[mode] : text[KRT_HOST_api];
}

/* In JSON, and in sentences. */
static inline const char *krt_account_key(unsigned a)
{
	static const char *const key[KRT_NR_ACCOUNTS] = {
#define X(name, word, words) word,
		KRT_ACCOUNTS(X)
#undef X
	};
	return a < KRT_NR_ACCOUNTS ? key[a] : "?";
}

static inline const char *krt_account_text(unsigned a)
{
	static const char *const text[KRT_NR_ACCOUNTS] = {
#define X(name, word, words) words,
		KRT_ACCOUNTS(X)
#undef X
	};
	return a < KRT_NR_ACCOUNTS ? text[a] : "?";
}

#endif
