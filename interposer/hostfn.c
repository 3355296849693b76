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

/* What must be undone on any way out, exceptions included. */
struct run {
	struct krt_thread *thread;
	uint64_t token, session;
	void *frame;
};

static void leave(struct run *run)
{
	if (run->thread && krt_tls.session == run->session)
		run->thread->hostfn--;
	krt_record_libc(KRT_API_hostfn_exit, run->token, 0);
	krt_tls.frame = run->frame;
}

static void enter(struct run *run, struct cell *cell)
{
	*run = (struct run){ .token = cell->token, .frame = krt_tls.frame };
	krt_tls.frame = NULL;
	krt_record_libc(KRT_API_hostfn_enter, cell->token, 0);
	if (krt_attached() && krt_tls.session == krt_session && krt_tls.thread) {
		run->thread = krt_tls.thread;
		run->session = krt_tls.session;
		run->thread->hostfn++;
	}
}

static void host_function(void *data)
{
	struct cell cell = *(struct cell *)data;
	struct run run __attribute__((cleanup(leave)));

	give(data);
	enter(&run, &cell);
	((void (*)(void *))cell.fn)((void *)cell.data);
}

static void stream_callback(void *stream, int status, void *data)
{
	struct cell cell = *(struct cell *)data;
	struct run run __attribute__((cleanup(leave)));

	give(data);
	enter(&run, &cell);
	((void (*)(void *, int, void *))cell.fn)(stream, status, (void *)cell.data);
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
