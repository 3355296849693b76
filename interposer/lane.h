/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lanes and interning, between record.c and those who write records.
 */
#ifndef KRT_LANE_H
#define KRT_LANE_H

#include "internal.h"
#include "unwinder.h"

#pragma GCC visibility push(hidden)

#define KRT_LEFT_MAX 32

/* One writer of one lane.  Lives in the arena; handed on when its thread is gone. */
struct krt_thread {
	struct krt_slot *slot;
	const char *path;     /* of the lane's file */
	unsigned lane;
	int32_t tid;
	uint32_t serial;
	/* the end of the lane, mapped: bytes [map_off, map_off + map_len), in the file at map_at */
	char *map;
	size_t map_len;
	uint64_t map_off, map_at;
	uint64_t pos;         /* next byte to write; what is before is complete */
	uint64_t file_end;    /* nothing was allocated from here on */
	/* windows that were left, still mapped, oldest first: used again when they are read */
	struct krt_left {
		char *map;
		uint64_t at, end; /* in the file; end of it in the lane */
	} left[KRT_LEFT_MAX];
	unsigned left_first, nleft;
	/* records being built, innermost last */
	char *scratch;
	size_t scratch_used;
	char *bytes;          /* pointers.c: room for a copy's source, NULL: none yet */
	uint32_t ignore;      /* open krtsan_ignore_begin */
	uint32_t hostfn;      /* host functions running on this thread */
	struct krt_pyreads *python; /* pyframes.c, NULL: none yet */
	/* nvtx.c: open ranges, NULL: none yet; have they changed since the last record? */
	struct krt_ranges *ranges;
	bool ranges_new;
	/* graphs.c: bounds of the thread's stack, 0: not known; how often they were looked for */
	uint64_t stack_low, stack_high;
	uint32_t stack_looks;
	struct krt_unwind_memo stack; /* krt_stack_id's */
	/* library_call.c: numbers of library calls and of NCCL groups, how many of these are open */
	uint16_t calls, group, groups;
};

#define KRT_SCRATCH (64u * 1024)
#define KRT_RECORD_MAX (64u << 20) /* a longer record is dropped */

/* Initial-exec thread-local words, 64 bytes at most. */
struct krt_tls {
	void *frame;               /* the outermost wrapper on this stack, NULL: in application code */
	struct krt_thread *thread;
	uint64_t session;          /* thread belongs to this attach; a fork child starts anew */
	bool busy;                 /* in the recorder itself: a signal handler on another stack must not enter it */
	uint8_t blocked;           /* signals.c: which of its two signals the thread asked to block */
	/* library_call.c: the outermost library call on this stack, its number while it is recorded */
	uint16_t inside;
	uint32_t library;          /* low half of its place, 0: none */
	void *hostfn;              /* hostfn.c: the innermost host function on this stack */
};
extern __thread struct krt_tls krt_tls __attribute__((tls_model("initial-exec")));

extern struct krt_proc *krt_proc;   /* the process file, mapped; never NULL while attached */
extern uint64_t krt_session;        /* counts attaches */

/* The calling thread's lane, NULL when there is none to be had (counted as dropped). */
struct krt_thread *krt_thread_enter(void);
static inline struct krt_thread *krt_thread(void)
{
	struct krt_thread *t = krt_tls.thread;

	return krt_likely(t && krt_tls.session == krt_session) ? t : krt_thread_enter();
}

/* A ticket. */
static inline uint64_t krt_ticket(void)
{
	return __atomic_fetch_add(&krt_proc->ticket, 1, __ATOMIC_SEQ_CST);
}

/*
 * Publish a record of the calling thread: makes room (which may wait for the
 * reader), stores a fresh ticket at *t1 (inside rec; NULL: none) and commits.
 * False: dropped, and counted.
 */
bool krt_lane_write(struct krt_thread *t, struct krt_rec *rec, size_t len, uint64_t *t1);

/* Before a record is built: tells a change of the thread's NVTX range. */
void krt_ranges_tell(struct krt_thread *t);
void krt_ranges_reset(struct krt_thread *t);

/* A record was lost before it got here; t NULL: of a thread without a lane. */
void krt_lane_lost(const struct krt_thread *t);

/* Ids of interned things, 0 when that failed. */
/* Of the calling thread, as the options say; quiet: the loader is not asked (an allocator's lock may be held). */
uint32_t krt_stack_id(bool quiet);
uint32_t krt_string_id(const char *text, size_t len);  /* not deduplicated: rare; at most 256 bytes */
#define KRT_PARAMS_SHARE_MAX 4096
uint32_t krt_params_id(uint32_t kernel, const void *bytes, uint32_t len); /* 0 at first sight too */

/* Maps the process file and lane 0.  Under the attach lock. */
int krt_record_open(const char *dir);
bool krt_intern_open(void);
/* The process file becomes valid for readers. */
void krt_record_publish(void);
/* All published bytes, into krt_proc->written. */
void krt_record_sum(void);
/* A mark without growing the lane, and not at any price. */
void krt_record_last(enum krt_mark kind, uint64_t value);
/* Stop for good: nothing is recorded any more, the program goes on. */
void krt_record_stop(unsigned trouble);

#pragma GCC visibility pop
#endif
