/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reader, engines, symbols and report put together (session.h).  Not locked:
 * one thread drives a session.
 */
#define _GNU_SOURCE
#include "session.h"
#include "engine.h"
#include "image_store.h"
#include "kernels.h"
#include "reader.h"
#include "semantics_file.h"
#include "spool.h"
#include "symbols.h"
#include "user_api.h"
#include "verify.h"
#include "../interposer/api.h"
#include "../reports/output.h"
#include "../reports/report.h"
#include "../rules/timeline.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MISSING_TOLD 8 /* files without symbols */

struct proc {
	struct krt_proc_reader *p;
	struct krt_engine *engine;
	unsigned number; /* in the order they were found: what symbols.h calls process */
	bool done;       /* nothing more will come */
	bool no_memory;
	struct krt_user_process user;
	bool torch, told; /* it loaded PyTorch's CUDA library; something told of a pool */
	bool allocated;   /* device memory: workers that compile have none */
};

struct krt_session {
	struct krt_reader *reader;
	struct krt_engine_config cfg;
	struct krt_kernels_file *kernels;
	struct krt_semantics_file *semantics;
	char *semantics_path;
	struct krt_symbols *symbols;
	struct krt_image_store *images;
	struct proc *proc;
	unsigned nproc;
	const char *stopped;
	struct krt_spool *spool; /* of a live session; NULL: fixes are not tried, or it is a trace */
	char *dir;
	bool verify;
	uint64_t again; /* records fed again to try fixes */
	void (*tell)(void *arg, uint64_t again);
	void *tell_arg;
	bool live, no_memory, torch;
	char *options;
};

struct krt_session *krt_session_open(const char *dir, bool live, const struct krt_options *o,
				     char *err, size_t errlen)
{
	const struct krt_image_config images = {.ptx_path = o->ptx_path, .library = o->lib_ptx};
	struct krt_session *s = calloc(1, sizeof(*s));

	if (!s || !(s->symbols = krt_symbols_new(o->debug_path)) ||
	    !(s->images = krt_image_store_new(&images)) || !(s->options = krt_options_text(o)) ||
	    !(s->dir = strdup(dir)) ||
	    (live && o->verify && !(s->spool = krt_spool_new(o->verify)))) {
		snprintf(err, errlen, "analyze: %s: no memory", dir);
		goto fail;
	}
	s->live = live;
	s->verify = o->verify != 0;
	s->torch = o->torch != KRT_TORCH_off;
	s->cfg.text = krt_image_store_text;
	s->cfg.params = krt_image_store_params;
	s->cfg.images = s->images;
	s->cfg.hot_min = (unsigned)o->hot_min;
	s->cfg.possible_max = (unsigned)o->possible_max;
	if (krt_output_timeline(o))
		s->cfg.timeline = o->timeline < UINT32_MAX / 4 ? (unsigned)o->timeline : UINT32_MAX / 4;
	if (*o->ptx_path) {
		DIR *d = opendir(o->ptx_path);

		if (!d) {
			snprintf(err, errlen, "ptx_path: %s: cannot be opened: %s", o->ptx_path,
				 strerror(errno));
			goto fail;
		}
		closedir(d);
	}
	if (*o->semantics) {
		char why[384];

		s->semantics = krt_semantics_load(o->semantics, why, sizeof(why));
		if (!s->semantics || !(s->semantics_path = strdup(o->semantics))) {
			snprintf(err, errlen, "semantics: %s", s->semantics ? "no memory" : why);
			goto fail;
		}
		s->cfg.semantics = s->semantics->row;
	}
	if (*o->kernels) {
		char why[384];

		s->kernels = krt_kernels_load(o->kernels, why, sizeof(why));
		if (!s->kernels) {
			snprintf(err, errlen, "kernels: %s", why);
			goto fail;
		}
	}
	if (o->shipped_kernels) {
		char why[384];

		if (!krt_kernels_ship(&s->kernels, why, sizeof(why))) {
			snprintf(err, errlen, "kernels: %s", why);
			goto fail;
		}
	}
	s->cfg.kernels = s->kernels;
	s->reader = krt_reader_open(dir, live, err, errlen);
	if (!s->reader)
		goto fail;
	return s;
fail:
	krt_session_close(s);
	return NULL;
}

void krt_session_watch(struct krt_session *s, const struct krt_kernel_watch *w)
{
	s->cfg.watch = w;
}

void krt_session_tell(struct krt_session *s, void (*tell)(void *arg, uint64_t again), void *arg)
{
	s->tell = tell;
	s->tell_arg = arg;
}

static void scan(struct krt_session *s)
{
	unsigned n = (unsigned)krt_reader_scan(s->reader);
	struct proc *list;

	if (n == s->nproc)
		return;
	list = realloc(s->proc, n * sizeof(*list));
	if (!list) {
		s->no_memory = true;
		return;
	}
	s->proc = list;
	for (; s->nproc < n; s->nproc++)
		s->proc[s->nproc] = (struct proc){.p = krt_reader_process(s->reader, (int)s->nproc),
						  .number = s->nproc};
}

/* Does this process hold PyTorch, and has its feed said a word? */
static void look_for_torch(struct proc *q, const struct krt_rec *rec, size_t len)
{
	static const char name[] = "/libc10_cuda.so";
	const struct krt_rec_module *m = (const void *)rec;
	const struct krt_rec_call *c = (const void *)rec;

	if (rec->kind == KRT_REC_MODULE && len >= sizeof(*m) &&
	    len - offsetof(struct krt_rec_module, path) >= m->path_len)
		q->torch |= memmem(m->path, m->path_len, name, sizeof(name) - 1) != NULL;
	if (rec->kind != KRT_REC_CALL || len < sizeof(*c) || c->api >= KRT_NR_APIS)
		return;
	switch (krt_api[c->api].op) {
	case KRT_OP_NOTE_POOL_CREATE:
		q->told = true;
		break;
	case KRT_OP_ALLOC:
	case KRT_OP_VMM_CREATE:
		q->allocated = true;
		break;
	}
}

static void look_for_apis(struct proc *q, const struct krt_rec_module *m, size_t len)
{
	static const char runtime[] = "/libcudart", torch[] = "/libc10_cuda.so";

	if (len < sizeof(*m) || len - offsetof(struct krt_rec_module, path) < m->path_len)
		return;
	q->user.runtime |= memmem(m->path, m->path_len, runtime, sizeof(runtime) - 1) != NULL;
	q->user.torch |= memmem(m->path, m->path_len, torch, sizeof(torch) - 1) != NULL;
}

static size_t feed(struct krt_session *s, struct proc *q, size_t budget)
{
	const struct krt_rec *rec;
	unsigned lane;
	size_t n = 0, len;
	int r;

	if (!q->engine && !q->no_memory) {
		struct krt_engine_config cfg = s->cfg;

		cfg.process = q->number;
		q->engine = krt_engine_new(&cfg);
		q->no_memory = !q->engine;
	}
	while (n < budget) {
		r = krt_proc_next(q->p, &rec, &len, &lane);
		if (r <= 0) {
			q->done = r < 0 || krt_proc_dead(q->p);
			break;
		}
		n++;
		if (rec->kind == KRT_REC_MODULE) {
			krt_symbols_module(s->symbols, q->number, (const void *)rec, len);
			look_for_apis(q, (const void *)rec, len);
		}
		/* without memory its kernels stay unknown */
		if (rec->kind == KRT_REC_IMAGE)
			krt_image_store_record(s->images, q->number, (const void *)rec, len);
		if (s->torch && !q->told)
			look_for_torch(q, rec, len);
		if (s->spool && rec->kind != KRT_REC_IMAGE)
			krt_spool_add(s->spool, q->number, rec, len, lane);
		/* Without memory the rest is still read, so that the program need not wait for us.
		 */
		if (!q->no_memory && krt_engine_feed(q->engine, rec, len, lane) == -ENOMEM)
			q->no_memory = true;
	}
	return n;
}

size_t krt_session_step(struct krt_session *s, size_t budget)
{
	size_t n = 0;

	if (s->stopped)
		return 0;
	scan(s);
	for (unsigned i = 0; i < s->nproc; i++)
		if (!s->proc[i].done)
			n += feed(s, &s->proc[i], budget / s->nproc + 1);
	return n;
}

unsigned krt_session_alive(const struct krt_session *s)
{
	unsigned n = 0;

	for (unsigned i = 0; i < s->nproc; i++)
		/* What exec replaced and did not come back is no longer ours. */
		n += !s->proc[i].done && krt_proc_header(s->proc[i].p)->state != KRT_PROC_EXEC;
	return n;
}

const char *krt_session_program(struct krt_session *s)
{
	krt_session_step(s, 1); /* headers are read with the first records */
	return s->nproc ? krt_proc_header(s->proc[0].p)->exe : NULL;
}

unsigned krt_session_processes(const struct krt_session *s)
{
	return s->nproc;
}

void krt_session_volume(const struct krt_session *s, uint64_t *records, uint64_t *bytes,
			uint64_t *total)
{
	*records = *bytes = *total = 0;
	for (unsigned i = 0; i < s->nproc; i++) {
		uint64_t n, read, waiting;

		krt_proc_volume(s->proc[i].p, &n, &read, &waiting);
		*records += n;
		*bytes += read;
		*total += waiting; /* all of a finished trace waits at its first look */
	}
}

void krt_session_stop(struct krt_session *s, const char *why)
{
	s->stopped = why ? why : "stopped";
	for (unsigned i = 0; i < s->nproc; i++)
		krt_proc_leave(s->proc[i].p);
}

const char *krt_session_problem(const struct krt_session *s, unsigned n)
{
	for (unsigned i = 0; i < s->nproc; i++) {
		const char *e = krt_proc_error(s->proc[i].p);

		if (e && !n--)
			return e;
	}
	return NULL;
}

/* text with each `was` in it replaced; itself where there is none, or no memory. */
static const char *replaced(struct krt_arena *a, const char *text, const char *was, const char *is)
{
	const char *at = text ? strstr(text, was) : NULL;
	char *out;

	if (!at)
		return text;
	out = krt_arena_printf(a, "%.*s%s%s", (int)(at - text), text, is,
			       replaced(a, at + strlen(was), was, is));
	return out ? out : text;
}

/*
 * A buffer without a name is known by where it was allocated.  Only now are there
 * lines; the engine's sentences have its address, which the finding keeps.
 */
static void name_buffer(struct krt_finding *f, struct krt_arena *a)
{
	const struct krt_buffer *b = &f->buffer;
	const struct krt_frame *site = krt_stack_site(&b->allocated_at);
	char was[256], is[512], place[256] = "", function[KRT_SHORT_NAME];

	if (!b->kind || b->name || !b->allocated_by || !site || !site->function)
		return;
	krt_frame_short(site, function);
	if (site->file)
		snprintf(place, sizeof(place), " at %.200s:%u", krt_base_name(site->file),
			 site->line);
	krt_buffer_text(b, was, sizeof(was));
	snprintf(is, sizeof(is), "%s buffer allocated%s in %s (%s #%" PRIu64 ")", b->kind, place,
		 function, b->allocated_by, b->allocated_seq);
	f->message = replaced(a, f->message, was, is);
	f->fix = replaced(a, f->fix, was, is);
	f->order_exists = replaced(a, f->order_exists, was, is);
	f->order_missing = replaced(a, f->order_missing, was, is);
}

/* text with " (PLACE)" behind the call's number, where that comes first. */
static const char *placed(struct krt_arena *a, const char *text, const char *number, const char *is)
{
	size_t n = strlen(number);
	const char *at = text ? strstr(text, number) : NULL, *out = NULL;

	while (at && at[n] >= '0' && at[n] <= '9')
		at = strstr(at + n, number);
	if (at)
		out = krt_arena_printf(a, "%.*s (%s)%s", (int)(at + n - text), text, is, at + n);
	return out ? out : text;
}

/* Calls and things that only the sentences name get their places there. */
static void name_mentions(struct krt_finding *f, struct krt_arena *a)
{
	for (unsigned i = 0; i < KRT_MENTIONS && f->mention[i].sequence; i++) {
		const struct krt_mention *m = &f->mention[i];
		const struct krt_frame *site = krt_stack_site(&m->stack);
		char was[32], place[512] = "", made[640], function[KRT_SHORT_NAME];

		if (!site || !site->function || m->sequence == f->current.sequence ||
		    (f->previous.api && m->sequence == f->previous.sequence))
			continue;
		krt_frame_short(site, function);
		if (site->file)
			snprintf(place, sizeof(place), "%.200s:%u", krt_base_name(site->file),
				 site->line);
		if (m->thing) {
			snprintf(made, sizeof(made),
				 "the event created%s%s in %s (%s #%" PRIu64 ")",
				 *place ? " at " : "", place, function, m->api, m->sequence);
			f->message = replaced(a, f->message, m->thing, made);
			f->fix = replaced(a, f->fix, m->thing, "that event");
			f->order_exists = replaced(a, f->order_exists, m->thing, made);
			f->order_missing = replaced(a, f->order_missing, m->thing, "that event");
			continue;
		}
		snprintf(was, sizeof(was), "#%" PRIu64, m->sequence);
		snprintf(made, sizeof(made), "%s%s%s", place, *place ? " " : "", function);
		f->message = placed(a, f->message, was, made);
		f->order_exists = placed(a, f->order_exists, was, made);
	}
}

static void name_finding(struct krt_session *s, unsigned process, struct krt_finding *f,
			 struct krt_arena *a)
{
	krt_symbols_stack(s->symbols, process, &f->current.stack, a);
	krt_symbols_stack(s->symbols, process, &f->previous.stack, a);
	krt_symbols_stack(s->symbols, process, &f->buffer.allocated_at, a);
	krt_symbols_stack(s->symbols, process, &f->buffer.freed_at, a);
	for (unsigned i = 0; i < KRT_MENTIONS; i++)
		krt_symbols_stack(s->symbols, process, &f->mention[i].stack, a);
	name_buffer(f, a);
	name_mentions(f, a);
	f->fingerprint = krt_fingerprint(f);
}

/* A frame without a name is not always one of a stripped file. */
static void tell_missing(const struct krt_session *s)
{
	const char *path = NULL, *why;
	unsigned n = 0;

	while ((path = krt_symbols_missing(s->symbols, path, &why)))
		if (n++ < MISSING_TOLD)
			fprintf(stderr, "krtsan: symbols: %s: %s: frames in it have no names\n",
				path, why);
	if (n > MISSING_TOLD)
		fprintf(stderr, "krtsan: symbols: the same of %u more files\n", n - MISSING_TOLD);
}

bool krt_session_full(const struct krt_session *s)
{
	for (unsigned i = 0; i < s->nproc; i++)
		if (krt_proc_header(s->proc[i].p)->trouble & KRT_TROUBLE_SPACE ||
		    (krt_proc_unborn(s->proc[i].p) && krt_reader_full(s->reader)))
			return true;
	return false;
}

/* Ends one process's analysis and adds it to the report.  False: no memory. */
static bool conclude(struct krt_session *s, struct proc *q, struct krt_report *r)
{
	const struct krt_proc *h = krt_proc_header(q->p);
	const char *error = krt_proc_error(q->p);
	size_t first = r->nfindings;
	uint64_t records, bytes, peak;
	struct krt_process *p;

	if (!h->pid && !error) /* begins to attach */
		return true;
	if (q->engine) {
		krt_engine_finish(q->engine, h->trouble, krt_proc_dropped(q->p));
		if (krt_engine_report(q->engine, r))
			return false;
		p = &r->process[r->nprocesses - 1];
	} else {
		p = krt_report_add_process(r);
		if (!p)
			return false;
	}
	p->pid = h->pid;
	p->ppid = h->ppid;
	p->exe = krt_arena_strdup(r->arena, h->exe);
	p->exit_code = h->state == KRT_PROC_EXITED ? h->exit_code : -1;
	p->stalled_ns = h->stalled_ns;
	p->coverage.host_mode = h->host_mode <= KRT_HOST_guard ? h->host_mode : KRT_HOST_api;
	memcpy(p->coverage.host, h->host, sizeof(p->coverage.host));
	if (p->timeline)
		p->timeline->offset_ns = h->mono_ns;
	krt_proc_volume(q->p, &records, &bytes, &peak);
	p->records = records;
	p->bytes = bytes;
	p->peak_bytes = peak;
	/* It initialised CUDA, even where every record of it was dropped, or its files are damaged. */
	if ((h->state != KRT_PROC_STARTED || krt_proc_unborn(q->p) || error) && !p->used_cuda) {
		p->used_cuda = true;
		p->coverage.reasons &= ~(1u << KRT_REASON_NO_CUDA);
	}
	if (q->no_memory)
		krt_coverage_reason(&p->coverage, KRT_REASON_INTERNAL,
				    "no memory for the analysis of process %d", h->pid);
	if (krt_proc_unborn(q->p))
		krt_coverage_reason(&p->coverage, KRT_REASON_INTERNAL,
				    "process %d could not begin to record: %s", h->pid,
				    krt_reader_full(s->reader) ? krt_trouble_text(KRT_TROUBLE_SPACE)
							       : "no memory, or a limit");
	else if (error)
		krt_coverage_reason(&p->coverage, KRT_REASON_INTERNAL, "%s", error);
	else if (!q->done && h->state != KRT_PROC_EXEC)
		krt_coverage_reason(&p->coverage, KRT_REASON_LOST, "process %d still ran", h->pid);
	else if (h->state != KRT_PROC_EXITED && h->state != KRT_PROC_EXEC)
		krt_coverage_reason(&p->coverage, KRT_REASON_LOST,
				    "process %d ended without its exit handlers (by a signal or _exit)",
				    h->pid);
	for (size_t i = first; i < r->nfindings; i++) {
		r->finding[i].pid = h->pid;
		r->finding[i].process = q->number;
		name_finding(s, q->number, &r->finding[i], r->arena);
	}
	return true;
}

/* --- fixes tried out ---------------------------------------------------------------- */

static struct proc *proc_of(struct krt_session *s, unsigned process)
{
	for (unsigned i = 0; i < s->nproc; i++)
		if (s->proc[i].number == process)
			return &s->proc[i];
	return NULL;
}

static struct krt_engine *engine_of(void *user, unsigned process)
{
	struct proc *q = proc_of(user, process);

	return q ? q->engine : NULL;
}

static uint64_t records_of(void *user, unsigned process)
{
	uint64_t records = 0, bytes, peak;
	struct proc *q = proc_of(user, process);

	if (q)
		krt_proc_volume(q->p, &records, &bytes, &peak);
	return records;
}

#define LOOK 1024 /* records between two looks at signals and the clock */

/* One more record was fed again: is that wanted still? */
static bool go_on(struct krt_session *s)
{
	if (++s->again % LOOK)
		return true;
	if (s->tell)
		s->tell(s->tell_arg, s->again);
	return !krt_verify_stopped();
}

/* All records of the process once more.  False: they are not to be had, or it was stopped. */
static bool feed_kept(struct krt_session *s, struct proc *q, struct krt_engine *e)
{
	const struct krt_rec *rec;
	unsigned lane;
	size_t len;
	int r;

	krt_spool_rewind(s->spool, q->number);
	while ((r = krt_spool_next(s->spool, &rec, &len, &lane)) > 0)
		if (krt_engine_feed(e, rec, len, lane) || !go_on(s))
			return false;
	return !r;
}

/* A trace is read again. */
static bool feed_trace(struct krt_session *s, struct proc *q, struct krt_engine *e)
{
	const struct krt_proc *h = krt_proc_header(q->p), *k;
	struct krt_proc_reader *p = NULL;
	const struct krt_rec *rec;
	struct krt_reader *reader;
	unsigned lane;
	char err[256];
	size_t len;
	bool ok = true;
	int r = -1;

	reader = krt_reader_open(s->dir, false, err, sizeof(err));
	if (!reader)
		return false;
	for (int i = 0, all = krt_reader_scan(reader); i < all && !p; i++) {
		p = krt_reader_process(reader, i);
		r = krt_proc_next(p, &rec, &len, &lane);
		k = krt_proc_header(p);
		if (k->pid != h->pid || k->start_ns != h->start_ns)
			p = NULL;
	}
	for (; ok && p && r > 0; r = krt_proc_next(p, &rec, &len, &lane))
		ok = !krt_engine_feed(e, rec, len, lane) && go_on(s);
	krt_reader_close(reader);
	return p && ok;
}

static struct krt_engine *judge_again(void *user, unsigned process, const struct krt_change *c,
				      unsigned n, const char **why)
{
	struct krt_session *s = user;
	struct proc *q = proc_of(s, process);
	struct krt_engine_config cfg = s->cfg;
	struct krt_engine *e;

	cfg.process = process;
	cfg.watch = NULL;
	cfg.timeline = 0;
	cfg.changes = c;
	cfg.nchanges = n;
	e = krt_engine_new(&cfg);
	if (!e)
		*why = "no memory to try it";
	else if (s->spool ? feed_kept(s, q, e) : feed_trace(s, q, e))
		krt_engine_finish(e, krt_proc_header(q->p)->trouble, krt_proc_dropped(q->p));
	else
		*why = krt_verify_stopped() ? "interrupted" : "its records cannot be read again";
	if (e && *why) {
		krt_engine_destroy(e);
		e = NULL;
	}
	return e;
}

static void name_again(void *user, unsigned process, struct krt_finding *f, struct krt_arena *a)
{
	name_finding(user, process, f, a);
}

static void verify(struct krt_session *s, struct krt_report *r)
{
	const struct krt_verify v = {.user = s,
				     .engine = engine_of,
				     .again = judge_again,
				     .records = records_of,
				     .name = name_again};
	const char *gone = s->spool ? krt_spool_gone(s->spool) : NULL;

	if (!s->verify)
		krt_verify_none(r, "not asked for (verify=0)");
	else if (gone)
		krt_verify_none(r, gone);
	else
		krt_verify_report(r, &v);
}

/* Linked statically, the runtime asks the driver for its private tables. */
static void word_fixes(struct krt_session *s, struct krt_report *r)
{
	for (size_t i = 0; i < r->nfindings; i++) {
		struct krt_finding *f = &r->finding[i];
		struct proc *q = proc_of(s, f->process);
		struct krt_user_process user = q->user;

		for (size_t k = 0; k < r->nprocesses; k++)
			if (r->process[k].pid == f->pid)
				user.runtime |= r->process[k].coverage.export_tables > 0;
		krt_user_fix(f, &user, r->arena);
	}
}

static int by_start(const void *a, const void *b)
{
	const struct krt_proc *x = krt_proc_header(((const struct proc *)a)->p);
	const struct krt_proc *y = krt_proc_header(((const struct proc *)b)->p);

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

/* Timelines of a tree have one zero: the first process's attach. */
static void align(struct krt_report *r)
{
	uint64_t first = UINT64_MAX;

	for (size_t i = 0; i < r->nprocesses; i++)
		if (r->process[i].timeline && r->process[i].timeline->offset_ns < first)
			first = r->process[i].timeline->offset_ns;
	for (size_t i = 0; i < r->nprocesses; i++)
		if (r->process[i].timeline)
			r->process[i].timeline->offset_ns -= first;
}

struct krt_report *krt_session_report(struct krt_session *s)
{
	struct krt_report *r = krt_report_new();
	uint64_t launches;
	const char *why;

	if (!r)
		return NULL;
	if (s->nproc > 1)
		qsort(s->proc, s->nproc, sizeof(*s->proc), by_start);
	r->options = krt_arena_strdup(r->arena, s->options);
	if (s->semantics)
		r->semantics = krt_arena_printf(r->arena, "%s, measured on %s, driver %s", s->semantics_path,
						s->semantics->device, s->semantics->driver);
	for (unsigned i = 0; i < s->nproc; i++)
		if (!conclude(s, &s->proc[i], r))
			s->no_memory = true;
	align(r);
	/* A misspelt kernel would leave its accesses unknown without a word. */
	for (const struct krt_kernels_line *l = NULL;
	     s->kernels && (l = krt_kernels_unused(s->kernels, l));)
		fprintf(stderr,
			"krtsan: kernels: %s:%u: fits no kernel that was launched (or an earlier "
			"line fits it)\n",
			krt_kernels_source(l), krt_kernels_number(l));
	for (const struct krt_kernels_line *l = NULL;
	     s->kernels && (l = krt_kernels_useless(s->kernels, l, &launches, &why));)
		fprintf(stderr, "krtsan: kernels: %s:%u: says nothing of %" PRIu64 " launch%s: %s\n",
			krt_kernels_source(l), krt_kernels_number(l), launches,
			launches == 1 ? "" : "es", why);
	for (unsigned i = 0; s->torch && i < s->nproc; i++)
		if (s->proc[i].torch && s->proc[i].allocated && !s->proc[i].told)
			fprintf(stderr,
				"krtsan: torch: process %d used PyTorch and its feed did not report: only "
				"segments were seen, not blocks (does its interpreter ignore PYTHONPATH?)\n",
				krt_proc_header(s->proc[i].p)->pid);
	tell_missing(s);
	if (s->no_memory)
		krt_coverage_reason(&r->own, KRT_REASON_INTERNAL, "no memory for the report");
	krt_report_sort(r);
	verify(s, r);
	word_fixes(s, r);
	return r;
}

void krt_session_close(struct krt_session *s)
{
	if (!s)
		return;
	for (unsigned i = 0; i < s->nproc; i++)
		if (s->proc[i].engine)
			krt_engine_destroy(s->proc[i].engine);
	free(s->proc);
	krt_spool_free(s->spool);
	free(s->dir);
	krt_reader_close(s->reader);
	krt_symbols_destroy(s->symbols);
	krt_image_store_free(s->images);
	krt_kernels_free(s->kernels);
	free(s->semantics);
	free(s->semantics_path);
	free(s->options);
	free(s);
}

/* --- options as text --------------------------------------------------------------- */

static void put_value(FILE *f, const char *name, const char *value, bool *some)
{
	const char *quote = "";

	if (strpbrk(value, ":, \t\n\r'\"") || !*value)
		quote = strchr(value, '\'') ? "\"" : "'";
	fprintf(f, "%s%s=%s%s%s", *some ? ":" : "", name, quote, value, quote);
	*some = true;
}

char *krt_options_text(const struct krt_options *o)
{
	struct krt_options *def = malloc(sizeof(*def));
	char *text = NULL;
	size_t len, n;
	FILE *f = def ? open_memstream(&text, &len) : NULL;
	bool some = false;

	if (!f) {
		free(def);
		return NULL;
	}
	krt_options_init(def);
	for (unsigned i = 0; i < krt_option_count; i++) {
		const struct krt_option_row *row = &krt_option_rows[i];
		const void *v = (const char *)o + row->offset, *d = (const char *)def + row->offset;
		char number[32];

		switch (row->type) {
		case KRT_OPTION_STR:
			if (strcmp(*(const char *const *)v, *(const char *const *)d))
				put_value(f, row->name, *(const char *const *)v, &some);
			break;
		case KRT_OPTION_LIST: {
			const struct krt_option_list *l = v;

			for (unsigned k = 0; k < l->count; k++)
				put_value(f, row->name, l->item[k], &some);
			break;
		}
		case KRT_OPTION_ENUM:
			if (*(const int64_t *)v != *(const int64_t *)d) {
				const char *word =
					krt_option_value(row, (unsigned)*(const int64_t *)v, &n);

				snprintf(number, sizeof(number), "%.*s", (int)n, word);
				put_value(f, row->name, number, &some);
			}
			break;
		case KRT_OPTION_BOOL:
		case KRT_OPTION_INT:
		case KRT_OPTION_SIZE:
			if (*(const uint64_t *)v != *(const uint64_t *)d) {
				snprintf(number, sizeof(number), "%" PRIu64, *(const uint64_t *)v);
				put_value(f, row->name, number, &some);
			}
			break;
		}
	}
	free(def);
	if (fclose(f)) {
		free(text);
		return NULL;
	}
	return text;
}
