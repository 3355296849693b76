/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trampolines: the driver is given ours in place of a host function, so that
 * the trace shows when it runs.  While it runs its code is the program's, on
 * whatever thread: the guard against the driver's own calls is lifted.
 *
 * A cell lives from the enqueue to the run; those of host functions that never
 * run (an error before them) are lost, which is bounded by their number.  Cells
 * come from the arena and go to a free list under krt_wipe.w.hostfn.  Not used
 * while a stream captures: a graph would run the cell again and again.
 */
#include "call.h"
#include "host.h"
#include "lane.h"

struct cell {
	struct cell *next;
	uint64_t fn, data, token;
};

static struct cell *free_cells;

static void give(struct cell *cell)
{
	krt_lock(&krt_wipe.w.hostfn);
	cell->next = free_cells;
	free_cells = cell;
	krt_unlock(&krt_wipe.w.hostfn);
}

/* What must be undone on any way out, exceptions included; on the trampoline's stack. */
struct run {
	struct run *outer;
	struct krt_thread *thread;
	uint64_t token, session;
	void *frame;
	uint64_t mask; /* of the thread, where pages are guarded: the driver's may block all signals */
	bool unmasked;
};

static void leave(struct run *run)
{
	if (run->unmasked)
		krt_signals_mask(&run->mask);
	krt_tls.hostfn = run->outer;
	if (run->thread && krt_tls.session == run->session)
		run->thread->hostfn--;
	krt_record_libc(KRT_API_hostfn_exit, run->token, 0);
	krt_tls.frame = run->frame;
}

static void enter(struct run *run, struct cell *cell)
{
	*run = (struct run){ .outer = krt_tls.hostfn, .token = cell->token, .frame = krt_tls.frame };
	krt_tls.frame = NULL;
	krt_record_libc(KRT_API_hostfn_enter, cell->token, 0);
	if (krt_attached() && krt_tls.session == krt_session && krt_tls.thread) {
		run->thread = krt_tls.thread;
		run->session = krt_tls.session;
		run->thread->hostfn++;
	}
	krt_tls.hostfn = run;
	if (krt_guarding())
		run->unmasked = krt_signals_unmask(&run->mask);
}

/*
 * An exception, or the end of the thread, passes through a trampoline: the
 * unwinder calls this for its frame, the innermost first.  A cleanup attribute
 * would do the same, but needs _Unwind_Resume, and so libgcc_s in every process.
 */
__attribute__((used, visibility("hidden"))) int krt_hostfn_personality(int version, int actions,
									uint64_t class, void *exception,
									void *context);

int krt_hostfn_personality(int version, int actions, uint64_t class, void *exception, void *context)
{
	(void)class;
	(void)exception;
	(void)context;
	if (version == 1 && (actions & 2) && krt_tls.hostfn) /* _UA_CLEANUP_PHASE */
		leave(krt_tls.hostfn);
	return 8; /* _URC_CONTINUE_UNWIND */
}
#define PERSONALITY() __asm__ volatile(".cfi_personality 0x1b, krt_hostfn_personality") /* pcrel, sdata4 */

static void host_function(void *data)
{
	struct cell cell = *(struct cell *)data;
	struct run run;

	PERSONALITY();
	give(data);
	enter(&run, &cell);
	((void (*)(void *))cell.fn)((void *)cell.data);
	leave(&run);
}

static void stream_callback(void *stream, int status, void *data)
{
	struct cell cell = *(struct cell *)data;
	struct run run;

	PERSONALITY();
	give(data);
	enter(&run, &cell);
	((void (*)(void *, int, void *))cell.fn)(stream, status, (void *)cell.data);
	leave(&run);
}

void *krt_hostfn_wrap(uint64_t *fn, uint64_t *data, bool callback, uint64_t token)
{
	struct cell *cell;

	krt_lock(&krt_wipe.w.hostfn);
	cell = free_cells;
	if (cell)
		free_cells = cell->next;
	krt_unlock(&krt_wipe.w.hostfn);
	if (!cell)
		cell = krt_alloc(sizeof *cell);
	if (!cell)
		return NULL; /* runs unseen */
	*cell = (struct cell){ .fn = *fn, .data = *data, .token = token };
	*fn = callback ? (uintptr_t)stream_callback : (uintptr_t)host_function;
	*data = (uintptr_t)cell;
	return cell;
}

void krt_hostfn_drop(void *cell)
{
	give(cell);
}
