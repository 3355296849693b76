/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Python frames (pyframes.h), read where CPython has them.
 *
 * The calling thread is inside a native call, so its own chain of frames stands
 * still, whether it holds the GIL or not.  Its state is asked of two functions
 * that read a thread-local or a global word.
 *
 * Only while the interpreter shuts down may a thread's state go while it is in a
 * native call, and only that of one without the GIL.  From then on nothing is
 * read; before that, threads other than the first read a state that they do not
 * hold through the kernel, which answers with an error where a load would fault:
 * what the thread's last walk read is fetched in one go (struct krt_pyreads), and
 * nothing of it is believed that was not read in this walk.
 */
#include "lane.h"
#include "modules.h"
#include "python.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* ---- reading what may go meanwhile ---- */

#define READS  (KRT_PYFRAMES_MAX + 8u)
#define RANGES READS
#define NEAR   512u /* from there on a range of its own costs less than the bytes between */
#define DATA   16384u

struct range {
	uintptr_t at;
	uint32_t len;
};

struct krt_pyreads {
	struct range range[RANGES]; /* to fetch before the next walk */
	unsigned ranges;
	unsigned have, next;	  /* ranges that were fetched; where to look first */
	uint32_t place;		  /* of range[next] in data */
	struct range read[READS]; /* of this walk */
	unsigned reads;
	bool missed; /* something was not among the ranges */
	char data[DATA];
};

struct krt_pyreads krt_pyreads_plain;

static void reads_begin(struct krt_pyreads *r)
{
	struct iovec here = {r->data, DATA}, there[RANGES];
	uint64_t end = 0;
	long got;

	r->have = r->next = r->reads = 0;
	r->place = 0;
	r->missed = false;
	for (unsigned i = 0; i < r->ranges; i++)
		there[i] = (struct iovec){(void *)r->range[i].at, r->range[i].len};
	got = r->ranges ? syscall(SYS_process_vm_readv, krt_proc->pid, &here, 1ul, there,
				  (unsigned long)r->ranges, 0ul)
			: 0;
	while (r->have < r->ranges && got >= (long)(end += r->range[r->have].len))
		r->have++;
}

/* Reads come in the order of the last walk, or nearly so. */
static bool reads_find(struct krt_pyreads *r, uintptr_t at, void *to, size_t len)
{
	for (unsigned tries = 0; tries < 2; tries++) {
		for (; r->next < r->have; r->place += r->range[r->next++].len) {
			const struct range *g = &r->range[r->next];

			if (at >= g->at && at - g->at <= g->len && len <= g->len - (at - g->at)) {
				memcpy(to, r->data + r->place + (at - g->at), len);
				return true;
			}
		}
		r->next = 0;
		r->place = 0;
	}
	return false;
}

static bool reads_get(struct krt_pyreads *r, uintptr_t at, void *to, size_t len)
{
	if (r == &krt_pyreads_plain)
		return krt_py_read(at, to, len);
	if (r->reads < READS)
		r->read[r->reads++] = (struct range){at, (uint32_t)len};
	if (reads_find(r, at, to, len))
		return true;
	r->missed = true;
	return krt_py_read(at, to, len);
}

/* The ranges for the next walk: what is near each other is one. */
static void reads_end(struct krt_pyreads *r)
{
	uint32_t sum = 0;

	if (!r->missed)
		return;
	r->ranges = 0;
	for (unsigned i = 0; i < r->reads; i++) {
		struct range *g = r->ranges ? &r->range[r->ranges - 1] : NULL;
		uintptr_t lo = r->read[i].at, hi = lo + r->read[i].len;
		uint32_t more = r->read[i].len;

		if (g && lo + NEAR >= g->at && lo <= g->at + g->len + NEAR) {
			uintptr_t end = g->at + g->len;

			lo = lo < g->at ? lo : g->at;
			hi = hi > end ? hi : end;
			more = (uint32_t)(hi - lo) - g->len;
		} else {
			g = NULL;
		}
		if (sum + more > DATA)
			return;
		sum += more;
		r->ranges += !g;
		r->range[r->ranges - 1] = (struct range){lo, (uint32_t)(hi - lo)};
	}
}

/* ---- the thread's chain ---- */

/*
 * Up to 3.11 a thread that runs a subinterpreter without the GIL still goes by
 * the state that it had first.  That of the newest interpreter with frames of
 * this thread is the one.  The lists may change meanwhile: nothing in them is
 * believed but that a state is this thread's.
 */
static uintptr_t newest_state(const struct krt_python *py, uintptr_t mine)
{
	uintptr_t in = (uintptr_t)py->first_interpreter(), state, thread, frame;

	for (unsigned i = 0; in && i < 64; i++) {
		if (!krt_py_read_word(in + py->l.threads, &state))
			break;
		for (unsigned k = 0; state && k < 1024; k++) {
			if (krt_py_read_word(state + py->l.state_thread, &thread) &&
			    thread == (uintptr_t)pthread_self() &&
			    krt_pyframe_innermost(py, state, &frame, &krt_pyreads_plain) && frame)
				return state;
			if (!krt_py_read_word(state + 8, &state))
				break;
		}
		if (!krt_py_read_word(in, &in))
			break;
	}
	return mine;
}

uintptr_t krt_pyframe_state(const struct krt_python *py, bool *held)
{
	uintptr_t mine = (uintptr_t)py->this_thread(), current = (uintptr_t)py->current(), thread;

	*held = current && (current == mine || py->minor >= 12);
	if (*held)
		return current;
	if (krt_likely(py->minor >= 12 || !mine ||
		       py->first_interpreter() == py->main_interpreter()))
		return mine;
	*held = current && krt_py_read_word(current + py->l.state_thread, &thread) &&
		thread == (uintptr_t)pthread_self();
	return *held ? current : newest_state(py, mine);
}

static inline uintptr_t word(const char *at)
{
	uintptr_t v;

	memcpy(&v, at, sizeof v);
	return v;
}

static inline bool fetch(uintptr_t at, uintptr_t *v, struct krt_pyreads *safe)
{
	if (krt_unlikely(safe != NULL))
		return !(at & 7) && reads_get(safe, at, v, sizeof *v);
	*v = word((const char *)at);
	return true;
}

static inline bool innermost(const struct krt_python *py, uintptr_t state, uintptr_t *frame,
			     struct krt_pyreads *safe)
{
	if (!fetch(state + py->l.state_frame, frame, safe))
		return false;
	if (py->l.holder_frame == KRT_PY_NONE)
		return true;
	return *frame && fetch(*frame + py->l.holder_frame, frame, safe);
}

bool krt_pyframe_innermost(const struct krt_python *py, uintptr_t state, uintptr_t *frame,
			   struct krt_pyreads *safe)
{
	return innermost(py, state, frame, safe);
}

#define OWNED_BY_C 3 /* a frame that stands for a call of the interpreter, from 3.12 on */

/* p: the frame, or a copy of it. */
static inline void decode(const struct krt_pylayout *l, const char *p, struct krt_pychain *f)
{
	int32_t n;

	f->code = word(p + l->code);
	f->previous = word(p + l->previous);
	f->native = l->owner != KRT_PY_NONE && l->entry == KRT_PY_NONE && p[l->owner] == OWNED_BY_C;
	f->entry = l->owner == KRT_PY_NONE || (l->entry != KRT_PY_NONE && p[l->entry]);
	if (l->at == KRT_PY_AT_POINTER) {
		f->offset = (int64_t)(word(p + l->instruction) - (f->code + l->instructions));
	} else {
		memcpy(&n, p + l->instruction, sizeof n);
		f->offset = l->at == KRT_PY_AT_UNITS ? 2 * (int64_t)n : n;
	}
}

bool krt_pyframe_read(const struct krt_python *py, uintptr_t at, struct krt_pychain *f,
		      struct krt_pyreads *safe)
{
	char copy[128];

	if ((at & 7) || !reads_get(safe, at, copy, py->l.frame_size))
		return false;
	decode(&py->l, copy, f);
	return true;
}

/* ---- the walk ---- */

static unsigned walk(const struct krt_python *py, uintptr_t state, struct krt_pyreads *safe,
		     struct krt_pyframe *out, unsigned max)
{
	struct krt_pychain f;
	uintptr_t at;
	unsigned n = 0;
	bool open = false; /* out[n - 1] may be the outermost of its call of the interpreter */

	if (!innermost(py, state, &at, safe))
		return 0;
	for (unsigned i = 0; at && n < max && i < 4 * KRT_PYFRAMES_MAX; i++, at = f.previous) {
		uint32_t id;

		if (krt_likely(!safe))
			decode(&py->l, (const char *)at, &f);
		else if (!krt_pyframe_read(py, at, &f, safe))
			break;
		if (f.native) {
			if (open)
				out[n - 1].where |= KRT_PYFRAME_ENTRY;
			else
				out[n++] = (struct krt_pyframe){0, KRT_PYFRAME_ENTRY};
			open = false;
			continue;
		}
		id = krt_pycode_known(f.code);
		if (krt_unlikely(!id))
			id = krt_pycode_id(py, f.code);
		out[n++] = (struct krt_pyframe){
			id,
			(f.offset < 0 ? 0 : (uint32_t)f.offset & ~KRT_PYFRAME_ENTRY) |
				(f.entry ? KRT_PYFRAME_ENTRY : 0),
		};
		open = !f.entry;
	}
	return n;
}

/* Not the first thread: the interpreter may take its state away while it has not the GIL. */
static inline bool may_lose_state(void)
{
	return krt_tls.thread && krt_tls.thread->tid != krt_proc->pid;
}

bool krt_pyframes_whole(void)
{
	return krt_python_last() && may_lose_state();
}

/*
 * Does the native stack, down to where its thread began, show that no Python
 * function is running?  So it is in threads of libraries, of which there are
 * many calls and no frames.
 */
static bool native_only(const struct krt_python *py, const uint64_t *pc, unsigned n, unsigned room)
{
	if (!n || n == room || pc[n - 1] < py->libc || pc[n - 1] > py->libc_end)
		return false;
	for (unsigned i = 0; i < n; i++)
		if (pc[i] > py->eval && pc[i] <= py->eval_end)
			return false;
	return true;
}

static unsigned walk_safely(const struct krt_python *py, uintptr_t state, struct krt_pyframe *out,
			    unsigned max)
{
	struct krt_thread *t = krt_tls.thread;
	unsigned n;

	if (!t->python)
		t->python = krt_alloc(sizeof *t->python);
	if (!t->python)
		return walk(py, state, &krt_pyreads_plain, out, max);
	reads_begin(t->python);
	n = walk(py, state, t->python, out, max);
	reads_end(t->python);
	return n;
}

unsigned krt_pyframes(struct krt_pyframe *frame, unsigned max, const uint64_t *pc, unsigned n,
		      unsigned room, bool quiet)
{
	const struct krt_python *py;
	uintptr_t state;
	bool held;

	if (krt_opt.pystacks == KRT_PYSTACKS_off)
		return 0;
	py = krt_python_get(quiet);
	if (!py || krt_unlikely(krt_modules_doubtful()) || py->finalizing())
		return 0;
	state = krt_pyframe_state(py, &held);
	if (!state)
		return 0;
	if (held || !may_lose_state())
		return walk(py, state, NULL, frame, max);
	if (native_only(py, pc, n, room))
		return 0;
	return walk_safely(py, state, frame, max);
}

unsigned krt_pyframes_place(const struct krt_pyframe *frame, unsigned n, const uint64_t *pc,
			    unsigned depth, struct krt_rec_pyframe *out)
{
	const struct krt_python *py = krt_python_last();
	unsigned native = 0, filled = 0;
	bool begin = true;

	for (unsigned i = 0; i < n; i++) {
		if (begin) /* the next call of the interpreter, outwards */
			while (native < depth &&
			       !(py && pc[native] > py->eval && pc[native] <= py->eval_end))
				native++;
		if (frame[i].code)
			out[filled++] = (struct krt_rec_pyframe){
				.code = frame[i].code,
				.offset = frame[i].where & ~KRT_PYFRAME_ENTRY,
				.native = native,
			};
		begin = frame[i].where & KRT_PYFRAME_ENTRY;
		if (begin && native < depth)
			native++;
	}
	return filled;
}

bool krt_pyframes_open(void)
{
	krt_python_open();
	return krt_pycode_open();
}
