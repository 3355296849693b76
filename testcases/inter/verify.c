/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the recorder must have written for each program of prog.c: verify MODE
 * FOLDER.  Prints `ok NAME` and `not ok NAME`.  verify dump FOLDER prints the
 * records instead.
 */
#include "api.h"
#include "reader.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *mode;
static int bad;

__attribute__((format(printf, 2, 3))) static void check(int good, const char *format, ...)
{
	va_list ap;

	printf("%s %s: ", good ? "ok" : "not ok", mode);
	va_start(ap, format);
	vprintf(format, ap);
	va_end(ap);
	putchar('\n');
	bad |= !good;
}

struct item {
	unsigned lane;
	size_t len;
	struct krt_rec *rec;
};

struct proc {
	struct krt_proc header;
	struct item *item;
	size_t count;
	uint64_t dropped;
	int status;
};

static struct proc procs[64];
static int nproc;

static int load(const char *dir)
{
	char err[256] = "";
	struct krt_reader *r = krt_reader_open(dir, false, err, sizeof err);

	if (!r) {
		printf("not ok %s: %s\n", mode, err);
		return -1;
	}
	nproc = krt_reader_scan(r);
	for (int i = 0; i < nproc && i < 64; i++) {
		struct krt_proc_reader *pr = krt_reader_process(r, i);
		struct proc *p = &procs[i];
		const struct krt_rec *rec;
		unsigned lane;
		size_t len;

		while ((p->status = krt_proc_next(pr, &rec, &len, &lane)) == 1) {
			p->item = realloc(p->item, (p->count + 1) * sizeof *p->item);
			p->item[p->count].lane = lane;
			p->item[p->count].len = len;
			p->item[p->count].rec = malloc(len);
			memcpy(p->item[p->count].rec, rec, len);
			p->count++;
		}
		p->dropped = krt_proc_dropped(pr);
		if (krt_proc_header(pr))
			p->header = *krt_proc_header(pr);
	}
	krt_reader_close(r);
	return 0;
}

static const struct krt_rec_call *call_at(const struct proc *p, size_t i)
{
	return p->item[i].rec->kind == KRT_REC_CALL ? (const void *)p->item[i].rec : NULL;
}

/* The n-th call of an entry point, in merge order. */
static const struct krt_rec_call *call(const struct proc *p, unsigned api, unsigned n, size_t *len)
{
	for (size_t i = 0; i < p->count; i++) {
		const struct krt_rec_call *c = call_at(p, i);

		if (c && c->api == api && !n--) {
			if (len)
				*len = p->item[i].len;
			return c;
		}
	}
	return NULL;
}

static unsigned calls(const struct proc *p, unsigned api)
{
	unsigned n = 0;

	while (call(p, api, n, NULL))
		n++;
	return n;
}

static unsigned kinds(const struct proc *p, unsigned kind)
{
	unsigned n = 0;

	for (size_t i = 0; i < p->count; i++)
		n += p->item[i].rec->kind == kind;
	return n;
}

static const void *first(const struct proc *p, unsigned kind, unsigned n)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->item[i].rec->kind == kind && !n--)
			return p->item[i].rec;
	return NULL;
}

static const struct krt_blob *blob(const struct krt_rec_call *c, size_t len, unsigned arg, unsigned kind)
{
	size_t at = sizeof *c + c->argc * 8u;

	while (at + sizeof(struct krt_blob) <= len) {
		const struct krt_blob *b = (const void *)((const char *)c + at);

		if (b->arg == arg && b->kind == kind)
			return b;
		at += sizeof *b + ((b->len + 7u) & ~7u);
	}
	return NULL;
}

static void dump(void)
{
	for (int k = 0; k < nproc; k++) {
		const struct proc *p = &procs[k];

		printf("process %d state %u trouble %x lanes %u ticket %" PRIu64 " written %" PRIu64
		       " exit %d status %d exe %s\n", p->header.pid, p->header.state, p->header.trouble,
		       p->header.lanes, p->header.ticket, p->header.written, p->header.exit_code, p->status,
		       p->header.exe);
		for (size_t i = 0; i < p->count; i++) {
			const struct krt_rec_call *c = call_at(p, i);

			if (!c) {
				printf("  %u kind %u size %zu\n", p->item[i].lane, p->item[i].rec->kind, p->item[i].len);
				continue;
			}
			printf("  %u %s = %d [%" PRIu64 " %" PRIu64 "] stack %u ctx %" PRIx64 " took %u:", p->item[i].lane,
			       krt_api[c->api].symbol, c->result, c->t0, c->t1, c->stack, c->ctx, c->took_ns);
			for (unsigned a = 0; a < c->argc; a++)
				printf(" %s=%" PRIx64, krt_api[c->api].arg[a].name, c->args[a]);
			for (size_t at = sizeof *c + c->argc * 8u; at + sizeof(struct krt_blob) <= p->item[i].len;) {
				const struct krt_blob *b = (const void *)((const char *)c + at);

				printf(" {%u %u %u}", b->arg, b->kind, b->len);
				at += sizeof *b + ((b->len + 7u) & ~7u);
			}
			putchar('\n');
		}
	}
}

/* True of every process of every mode. */
static void sound(const struct proc *p)
{
	uint64_t last = 0;
	unsigned disorder = 0, gaps = 0, nostack = 0, early = 0, seen[4096] = { 0 };

	for (size_t i = 0; i < p->count; i++) {
		const struct krt_rec_call *c = call_at(p, i);
		const struct krt_rec_stack *s = (const void *)p->item[i].rec;

		if (s->h.kind == KRT_REC_STACK && s->id < 4096)
			seen[s->id] = 1;
		if (!c)
			continue;
		disorder += c->t1 <= last;
		last = c->t1;
		gaps += c->t0 >= c->t1;
		nostack += !c->stack;
		early += c->stack < 4096 && !seen[c->stack];
	}
	check(p->status == 0, "the trace reads to its end (%d)", p->status);
	check(!disorder && !gaps, "tickets: %u out of order, %u empty intervals", disorder, gaps);
	check(!nostack && !early, "stacks: %u calls without, %u not written before", nostack, early);
	check(kinds(p, KRT_REC_DRIVER) == 1, "one driver record");
}

static void basic(struct proc *p)
{
	const struct krt_rec_call *c;
	const struct krt_blob *b;
	const struct krt_params *par;
	const struct krt_rec_kernel *k = first(p, KRT_REC_KERNEL, 0);
	const struct krt_rec_context *ctx = first(p, KRT_REC_CONTEXT, 0);
	const struct krt_rec_device *dev = first(p, KRT_REC_DEVICE, 0);
	const struct krt_rec_driver *drv = first(p, KRT_REC_DRIVER, 0);
	size_t len = 0;
	uint64_t v, s;

	check(p->header.state == KRT_PROC_EXITED && !p->header.exit_code && !p->header.trouble, "exited cleanly");
	check(drv && drv->version == 13000 && drv->exports > 600 && drv->path_len > 10, "driver record");
	check(ctx && ctx->ctx == 0xc0de00 && ctx->ctx_id == 77 && ctx->primary == 1 && !ctx->device &&
	      kinds(p, KRT_REC_CONTEXT) == 1, "context record");
	check(dev && dev->cc_major == 75 && dev->cc_minor == 76 && dev->concurrent_managed == 89 &&
	      !strcmp(dev->name, "Fake"), "device record");
	check(calls(p, KRT_API_cuInit) == 1, "cuInit");
	c = call(p, KRT_API_cuMemAlloc_v2, 0, &len);
	b = c ? blob(c, len, 0, KRT_BLOB_BYTES) : NULL;
	check(b && b->len == 8 && c->args[1] == 4096 && !c->result && c->ctx == 0xc0de00, "allocation: address read after");
	c = call(p, KRT_API_cuStreamCreate, 0, &len);
	b = c ? blob(c, len, 0, KRT_BLOB_BYTES) : NULL;
	memcpy(&s, b ? (const void *)(b + 1) : &len, 8);
	check(b && s, "stream: handle");
	c = call(p, KRT_API_cuMemcpyHtoDAsync_v2, 0, &len);
	check(c && c->args[3] == s && c->args[2] == 256 && !c->ctx, "copy on a stream needs no context");
	c = call(p, KRT_API_cuMemcpyHtoDAsync_v2_ptsz, 0, &len);
	check(c && c->args[3] == 0 && c->ctx == 0xc0de00, "copy on the default stream has one");
	c = call(p, KRT_API_cuMemcpy2DAsync_v2, 0, &len);
	b = c ? blob(c, len, 0, KRT_BLOB_BYTES) : NULL;
	check(b && b->len == 128, "2D descriptor");
	check(k && k->nparams == 4 && k->bytes == 64 && k->func == 0x1000 && k->module == 0x30d && k->name_len == 12 &&
	      !memcmp((const char *)k->param + 4 * sizeof *k->param, "_Z4fakePfiPd", 12) &&
	      k->param[1].offset == 8 && k->param[1].size == 4, "kernel record");
	c = call(p, KRT_API_cuLaunchKernel, 0, &len);
	b = c ? blob(c, len, 9, KRT_BLOB_PARAMS) : NULL;
	par = b ? (const void *)(b + 1) : NULL;
	memcpy(&v, par ? (const void *)((const char *)(par + 1) + 16) : &len, 8);
	check(par && par->len == 64 && par->kernel == k->id && v == 0xbbbb && c->args[4] == 4, "kernelParams");
	c = call(p, KRT_API_cuLaunchKernel, 1, &len);
	b = c ? blob(c, len, 10, KRT_BLOB_PARAMS) : NULL;
	par = b ? (const void *)(b + 1) : NULL;
	memcpy(&v, par ? (const void *)((const char *)(par + 1) + 16) : &len, 8);
	check(par && par->len == 24 && v == 3, "extra");
	c = call(p, KRT_API_cuLaunchKernelEx, 0, &len);
	b = c ? blob(c, len, 0, KRT_BLOB_BYTES) : NULL;
	check(b && b->len == 56 + 2 * 72 && *(const unsigned *)(b + 1) == 9 &&
	      *(const unsigned *)((const char *)(b + 1) + 56 + 72) == 8, "launch config with its attributes");
	check(c && blob(c, len, 2, KRT_BLOB_PARAMS) && !c->ctx, "and parameters");
	check(kinds(p, KRT_REC_STREAM) == 2, "streams: one at birth, one met (%u)", kinds(p, KRT_REC_STREAM));
	c = call(p, KRT_API_cuMemAlloc_v2, 1, &len);
	check(c && c->result == 1 && !blob(c, len, 0, KRT_BLOB_BYTES), "a failed call has its result and no output");
	check(calls(p, KRT_API_cuMemFree_v2) == 1, "goes on after a failure");
	check(c && c->start_ns && call(p, KRT_API_cuMemFree_v2, 0, NULL)->start_ns >= c->start_ns, "times");
}

static size_t blob_len(const struct krt_rec_call *c, size_t len, unsigned arg)
{
	const struct krt_blob *b = c ? blob(c, len, arg, KRT_BLOB_BYTES) : NULL;

	return b ? b->len : 0;
}

static void tensors(struct proc *p)
{
	static const struct { unsigned api, n, rank; } shape[] = {
		{ KRT_API_cuTensorMapEncodeTiled, 0, 3 }, { KRT_API_cuTensorMapEncodeTiled, 1, 1 },
		{ KRT_API_cuTensorMapEncodeIm2col, 0, 5 }, { KRT_API_cuTensorMapEncodeIm2colWide, 0, 4 },
		{ KRT_API_cuTensorMapEncodeTiled, 2, 0 }, { KRT_API_cuTensorMapEncodeTiled, 3, 0 },
	};
	const struct krt_rec_call *c;
	const uint64_t *v;
	size_t len = 0;
	unsigned maps = 0;

	for (unsigned i = 0; i < sizeof shape / sizeof *shape; i++) {
		unsigned rank = shape[i].rank;

		c = call(p, shape[i].api, shape[i].n, &len);
		check(c && c->args[3] == 0x700000010000 && blob_len(c, len, 0) == 128 &&
		      blob_len(c, len, 4) == 8 * rank && blob_len(c, len, 5) == (rank ? 8 * (rank - 1) : 0),
		      "%s: map, %u dimensions and their strides", krt_api[shape[i].api].symbol, rank);
		if (c && rank > 2) {
			v = (const void *)(blob(c, len, 5, KRT_BLOB_BYTES) + 1);
			check(v[0] == 256 && v[1] == 8192, "strides");
		}
	}
	c = call(p, KRT_API_cuTensorMapEncodeIm2colWide, 0, &len);
	check(c && c->args[12] == 1 && c->args[13] == 2 && c->args[14] == 3 && c->args[15] == 1, "sixteen arguments");
	c = call(p, KRT_API_cuTensorMapReplaceAddress, 0, &len);
	for (size_t at = c ? sizeof *c + c->argc * 8u : len; c && at + sizeof(struct krt_blob) <= len;) {
		const struct krt_blob *b = (const void *)((const char *)c + at);

		maps += !b->arg && b->len == 128;
		at += sizeof *b + ((b->len + 7u) & ~7u);
	}
	check(maps == 2 && c && c->args[1] == 0x700000010100, "another address: the map before and after");
	c = call(p, KRT_API_cuTexObjectCreate, 0, &len);
	check(c && c->ctx && blob_len(c, len, 0) == 8 && blob_len(c, len, 1) == 144, "texture");
	c = call(p, KRT_API_cuSurfObjectCreate, 0, &len);
	check(c && blob_len(c, len, 0) == 8 && blob_len(c, len, 1) == 144, "surface");
	check(calls(p, KRT_API_cuTexObjectDestroy) == 1 && calls(p, KRT_API_cuSurfObjectDestroy) == 1, "and their ends");
	c = call(p, KRT_API_cuTensorMapEncodeTiled, 0, &len);
	check(c && !c->ctx, "a tensor map is of no context");
}

static void many(struct proc *p)
{
	unsigned count[64] = { 0 }, wrong = 0, tids = 0;
	uint32_t value[64] = { 0 };

	for (size_t i = 0; i < p->count; i++) {
		const struct krt_rec_call *c = call_at(p, i);

		if (!c || c->api != KRT_API_cuMemsetD32Async)
			continue;
		if (c->args[0] - 0x10000 >= 64 || c->args[1] != value[c->args[0] - 0x10000]++)
			wrong++;
		else
			count[c->args[0] - 0x10000]++;
	}
	for (int i = 0; i < 64; i++)
		wrong += count[i] != 500;
	tids = kinds(p, KRT_REC_THREAD);
	check(!wrong, "64 threads, 500 calls each, in order");
	check(tids >= 65 && p->header.lanes <= 66 && p->header.trouble == 0, "lanes: %u for %u threads", p->header.lanes,
	      tids);
}

static void reuse(struct proc *p)
{
	check(calls(p, KRT_API_cuMemFree_v2) == 300 && kinds(p, KRT_REC_THREAD) == 301, "300 threads one after another");
	check(p->header.lanes < 8, "use %u lanes", p->header.lanes);
}

static struct proc *of_state(unsigned frees)
{
	for (int i = 0; i < nproc; i++)
		if (calls(&procs[i], KRT_API_cuMemFree_v2) == frees)
			return &procs[i];
	return NULL;
}

static unsigned frees_of(const struct proc *p, uint64_t value)
{
	unsigned n = 0;

	for (size_t i = 0; p && i < p->count; i++) {
		const struct krt_rec_call *c = call_at(p, i);

		n += c && c->api == KRT_API_cuMemFree_v2 && c->args[0] == value;
	}
	return n;
}

static void forks(struct proc *p)
{
	check(nproc == 1, "a forked child passes through");
	check(frees_of(p, 1) == 1 && frees_of(p, 4) == 10 && !frees_of(p, 2), "the parent's records are its own");
	check(p->header.state == KRT_PROC_EXITED && p->header.exit_code == 0, "and its end");
}

static void forks_init(struct proc *p)
{
	struct proc *parent = of_state(11), *child = of_state(50);

	(void)p;
	check(nproc == 2 && parent && child, "a child that initialises is a process of its own");
	check(frees_of(parent, 4) == 10 && frees_of(child, 3) == 50, "with records of its own");
	check(child && parent && child->header.ppid == parent->header.pid && child->header.exit_code == 7 &&
	      parent->header.exit_code == 0, "parent, child and their codes");
}

static void forks_before(struct proc *p)
{
	(void)p;
	/* calls before cuInit succeed on the fake: both are late */
	check(nproc == 2, "fork before cuInit: two processes");
}

static void vforks(struct proc *p)
{
	check(nproc == 1 && frees_of(p, 4) == 10 && p->header.state == KRT_PROC_EXITED, "a vfork child leaves no trace");
}

static void execs(struct proc *p)
{
	struct proc *a = of_state(2), *b = of_state(1);

	(void)p;
	check(nproc == 2 && a && b && a->header.pid == b->header.pid, "exec: two traces of one process");
	check(a && a->header.state == KRT_PROC_EXEC, "the first ends by exec, a failed one before it notwithstanding");
	check(b && b->header.state == KRT_PROC_EXITED && b->header.exit_code == 3, "the second exits");
}

static void killed(struct proc *p)
{
	check(calls(p, KRT_API_cuMemFree_v2) == 5000 && p->header.state == KRT_PROC_RUNNING, "SIGKILL loses nothing");
}

static void big(struct proc *p)
{
	unsigned wrong = 0;

	for (unsigned n = 0; n < 3; n++) {
		size_t len;
		const struct krt_rec_call *c = call(p, KRT_API_cuMemcpyBatchAsync_v2, n, &len);
		const struct krt_blob *d = c ? blob(c, len, 0, KRT_BLOB_BYTES) : NULL, *s, *l, *a;

		s = c ? blob(c, len, 1, KRT_BLOB_BYTES) : NULL;
		l = c ? blob(c, len, 2, KRT_BLOB_BYTES) : NULL;
		a = c ? blob(c, len, 4, KRT_BLOB_BYTES) : NULL;
		if (!d || !s || !l || !a || d->len != 800000 || s->len != 800000 || l->len != 800000 || a->len != 24) {
			wrong += 1000000;
			continue;
		}
		for (uint64_t i = 0; i < 100000; i++)
			wrong += ((const uint64_t *)(d + 1))[i] != i || ((const uint64_t *)(s + 1))[i] != i * 3 ||
				 ((const uint64_t *)(l + 1))[i] != (i & 255);
	}
	check(!wrong, "records of 2.4 MB arrive whole (%u wrong)", wrong);
	check(frees_of(p, 1) == 3 && frees_of(p, 2) == 1, "and what is around them");
}

static void hosts(struct proc *p)
{
	const struct krt_rec_call *f = call(p, KRT_API_cuLaunchHostFunc, 0, NULL);
	const struct krt_rec_call *cb = call(p, KRT_API_cuStreamAddCallback, 0, NULL);
	const struct krt_rec_call *e0 = call(p, KRT_API_hostfn_enter, 0, NULL), *e1 = call(p, KRT_API_hostfn_enter, 1, NULL);
	const struct krt_rec_call *x0 = call(p, KRT_API_hostfn_exit, 0, NULL);
	const struct krt_rec_call *in = call(p, KRT_API_cuMemFree_v2, 0, NULL);

	check(calls(p, KRT_API_hostfn_enter) == 2 && calls(p, KRT_API_hostfn_exit) == 2, "two brackets");
	check(f && e0 && e0->args[0] == f->t0 && x0 && x0->args[0] == f->t0, "the token is the enqueue's first ticket");
	check(cb && e1 && e1->args[0] == cb->t0, "callbacks too");
	check(f && f->args[1] && e0 && f->t0 < e0->t0, "enqueue before run");
	check(in && in->args[0] == 0x77 && in->h.flags & KRT_RF_HOSTFN && in->t0 > e0->t1 && in->t1 < x0->t0,
	      "a call inside is recorded, and says so");
	check(frees_of(p, 0x78) == 1 && !(call(p, KRT_API_cuMemFree_v2, calls(p, KRT_API_cuMemFree_v2) - 1, NULL)->h.flags &
					 KRT_RF_HOSTFN), "a call after is not inside");
}

static void hostexit(struct proc *p)
{
	check(p->header.state == KRT_PROC_EXITED && p->header.exit_code == 5, "exit inside a host function");
	check(frees_of(p, 1) == 1, "what was before is there");
}

static void threadexit(struct proc *p)
{
	check(frees_of(p, 1) == 20 && frees_of(p, 2) == 1 && calls(p, KRT_API_hostfn_exit) == 20,
	      "threads that end inside a call");
	check(p->header.lanes < 8, "give their lanes back (%u)", p->header.lanes);
}

static void jumps(struct proc *p)
{
	check(frees_of(p, 1) == 2000, "calls after a jump out of the driver are recorded (%u)", frees_of(p, 1));
	check(calls(p, KRT_API_cuStreamSynchronize) == 1, "the call that ends normally");
}

static void intern(struct proc *p)
{
	const struct krt_rec_kernel *k;
	unsigned shared = 0, plain = 0, unknown = 0;
	size_t len;

	for (unsigned n = 0; n < calls(p, KRT_API_cuLaunchKernel); n++) {
		const struct krt_rec_call *c = call(p, KRT_API_cuLaunchKernel, n, &len);
		const struct krt_blob *b = blob(c, len, 9, KRT_BLOB_PARAMS);

		shared += blob(c, len, 9, KRT_BLOB_SHARED) != NULL;
		plain += b && ((const struct krt_params *)(b + 1))->len == 64;
		unknown += b && ((const struct krt_params *)(b + 1))->len == KRT_PARAMS_UNKNOWN;
	}
	check(shared == 99 && plain == 101 && kinds(p, KRT_REC_PARAMS) == 1, "repeated blocks are shared: %u, not: %u", shared,
	      plain);
	check(kinds(p, KRT_REC_KERNEL) == 3, "kernels: %u", kinds(p, KRT_REC_KERNEL));
	k = first(p, KRT_REC_KERNEL, 1);
	check(k && k->nparams == 3 && k->func == 0x1000, "after an unload the handle is asked again");
	k = first(p, KRT_REC_KERNEL, 2);
	check(k && k->nparams == KRT_PARAMS_UNKNOWN && unknown == 1, "a layout that nobody knows is not guessed");
}

static void full(struct proc *p)
{
	uint64_t dropped = p->dropped;

	check(p->header.trouble == KRT_TROUBLE_DROPPED, "trouble: dropped");
	check(dropped && calls(p, KRT_API_cuMemFree_v2) + dropped == 30000, "%u recorded and %u dropped are all",
	      calls(p, KRT_API_cuMemFree_v2), (unsigned)dropped);
}

static void bound(struct proc *p)
{
	check(p->header.trouble & KRT_TROUBLE_BOUND && calls(p, KRT_API_cuMemFree_v2) > 10000 &&
	      calls(p, KRT_API_cuMemFree_v2) < 30000, "stops at the bound and says so");
}

static void notes(struct proc *p)
{
	const struct krt_rec_call *c;
	size_t len;

	c = call(p, KRT_API_krtsan_impl_access, 0, &len);
	check(c && c->args[0] == 0x5000 && c->args[2] == 4 && c->args[3] == 3, "access");
	c = call(p, KRT_API_krtsan_impl_name, 0, &len);
	check(c && blob(c, len, 2, KRT_BLOB_BYTES) && blob(c, len, 2, KRT_BLOB_BYTES)->len == 6, "name");
	check(call(p, KRT_API_cuMemFree_v2, 0, NULL)->h.flags & KRT_RF_IGNORE &&
	      call(p, KRT_API_cuMemFree_v2, 1, NULL)->h.flags & KRT_RF_IGNORE &&
	      !(call(p, KRT_API_cuMemFree_v2, 2, NULL)->h.flags & KRT_RF_IGNORE), "ignored regions nest");
	check(calls(p, KRT_API_krtsan_impl_host_write) == 1, "host write");
}

static void descriptors(struct proc *p)
{
	uint64_t dropped = p->dropped;

	check(frees_of(p, 2) == 4000, "closing all descriptors harms nothing");
	check(frees_of(p, 3) + dropped == 4000 && (!dropped || p->header.trouble & KRT_TROUBLE_DROPPED),
	      "without descriptors: %u recorded, %u dropped and said so", frees_of(p, 3), (unsigned)dropped);
}

static void filelimit(struct proc *p)
{
	check(p->header.trouble & KRT_TROUBLE_MEMORY && frees_of(p, 3) < 30000, "the limit stops the recording only");
}

static void sigexit(struct proc *p)
{
	unsigned exited = 0;

	(void)p;
	for (int i = 0; i < nproc; i++)
		exited += procs[i].header.state == KRT_PROC_EXITED;
	check(exited == 60, "a signal handler that exits finds its way out (%u)", exited);
}

static void smalldisk(struct proc *p)
{
	check(p->header.trouble & KRT_TROUBLE_MEMORY && calls(p, KRT_API_cuMemFree_v2) > 1000 &&
	      calls(p, KRT_API_cuMemFree_v2) < 30000 && p->header.state == KRT_PROC_EXITED,
	      "a full disk stops the recording only");
}

static void late(struct proc *p)
{
	check(p->header.trouble == KRT_TROUBLE_LATE && frees_of(p, 1) == 1 && frees_of(p, 2) == 1, "CUDA before us is late");
}

static void fails(struct proc *p)
{
	(void)p;
	check(nproc == 0, "a failed cuInit leaves nothing");
}

static void inner(struct proc *p)
{
	check(calls(p, KRT_API_cuMemAlloc_v2) == 1 && calls(p, KRT_API_cuMemFree_v2) == 1, "the driver's own calls pass");
}

int main(int argc, char **argv)
{
	static const struct { const char *name; void (*run)(struct proc *); int processes; } modes[] = {
		{ "basic", basic, 1 }, { "many", many, 1 }, { "reuse", reuse, 1 }, { "forks", forks, 1 },
		{ "forks-init", forks_init, 2 }, { "forks-before", forks_before, 2 }, { "vforks", vforks, 1 },
		{ "execs", execs, 2 }, { "killed", killed, 1 }, { "big", big, 1 }, { "hosts", hosts, 1 },
		{ "hosts-thread", hosts, 1 }, { "hostexit", hostexit, 1 }, { "threadexit", threadexit, 1 },
		{ "jumps", jumps, 1 }, { "intern", intern, 1 }, { "full", full, 1 }, { "bound", bound, 1 }, { "notes", notes, 1 },
		{ "descriptors", descriptors, 1 }, { "filelimit", filelimit, 1 }, { "late", late, 1 }, { "smalldisk", smalldisk, 1 }, { "sigexit", sigexit, 60 },
		{ "fails", fails, 0 }, { "inner", inner, 1 }, { "tensors", tensors, 1 },
	};

	if (argc != 3)
		return 2;
	mode = argv[1];
	if (load(argv[2]))
		return 1;
	if (!strcmp(mode, "dump"))
		return dump(), 0;
	for (unsigned i = 0; i < sizeof modes / sizeof *modes; i++) {
		if (strcmp(modes[i].name, mode))
			continue;
		if (nproc != modes[i].processes) {
			check(0, "%d processes, expected %d", nproc, modes[i].processes);
			return 1;
		}
		for (int k = 0; k < nproc; k++)
			sound(&procs[k]);
		modes[i].run(&procs[0]);
		return bad;
	}
	printf("not ok %s: no such mode\n", mode);
	return 1;
}
