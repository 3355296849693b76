/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Captures and graphs.  The program's calls are not trusted to tell what a
 * graph holds (it may come from a library, a capture, a clone): it is read back
 * through the driver's own queries when a call made or changed a node, and
 * whole when it is instantiated, cloned or the source of an update.
 *
 * When: after the driver's call, since only a call that succeeded matters, the
 * program has the graph to itself until the call returns, and a graph is not
 * changed by being instantiated.  What ends is forgotten before the call, since
 * afterwards its handle may be another thread's new object.  A launch asks
 * nothing of the driver.
 *
 * Queries are asked while other threads capture in any mode: only such that no
 * capture forbids (testcases/gpu/capture_queries.c tries each).  The legacy
 * stream cannot capture and is not asked: that would be an error while another
 * stream of its context does.  No query gives the bodies of conditional nodes
 * (they are kept from the call that made the node) and the parameters of
 * executables (taken from the arguments of the call that sets them).
 *
 * Kernel parameters are copied only with sizes that the driver tells.  Host
 * memory that nodes name is held in the heap filter under the graph, and under
 * each executable made from it.
 *
 * Memory: a graph is written straight into the call's record; lists of nodes
 * and edges are pages given back at once.  What does not fit a record is told
 * as unread.  Time is linear in nodes and edges.
 *
 * Locking: krt_wipe.w.graphs guards the table of bodies; no driver call is made
 * under it.  Stack bounds belong to their thread.
 */
#include "graphs.h"
#include "heap.h"
#include "host.h"
#include "lane.h"
#include "objects.h"
#include "pointers.h"

#define CUABI_EXACT_NAMES
#include "cuabi.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef RECORD_LIMIT
#define RECORD_LIMIT  (KRT_RECORD_MAX - 65536) /* of a record with a graph */
#endif
#define DEPTH_MAX     24                       /* of nested graphs */
#define ARRAY_MAX     (1u << 20)               /* elements of a node's array */
#define TYPE_UNKNOWN  0xffff

enum krt_graph_part krt_graph_part(unsigned op)
{
	switch ((enum krt_op)op) {
	case KRT_OP_LAUNCH:
	case KRT_OP_LAUNCH_EX:
	case KRT_OP_LAUNCH_LEGACY:
	case KRT_OP_COPY:
	case KRT_OP_COPY_ARRAY:
	case KRT_OP_COPY_2D:
	case KRT_OP_COPY_3D:
	case KRT_OP_COPY_PEER:
	case KRT_OP_COPY_3D_PEER:
	case KRT_OP_COPY_BATCH:
	case KRT_OP_COPY_3D_BATCH:
	case KRT_OP_SET:
	case KRT_OP_SET_2D:
	case KRT_OP_PREFETCH:
	case KRT_OP_PREFETCH_BATCH:
	case KRT_OP_DISCARD_BATCH:
	case KRT_OP_HOST_FUNC:
	case KRT_OP_ALLOC_ASYNC:
	case KRT_OP_FREE_ASYNC:
	case KRT_OP_WRITE_VALUE:
	case KRT_OP_WAIT_VALUE:
	case KRT_OP_BATCH_MEM_OP:
	case KRT_OP_EXT_SEM_SIGNAL:
	case KRT_OP_EXT_SEM_WAIT:
	case KRT_OP_EVENT_RECORD:      /* external */
	case KRT_OP_STREAM_WAIT_EVENT: /* external */
		return KRT_GRAPH_MAKES_NODE;
	case KRT_OP_CAPTURE_BEGIN:
	case KRT_OP_CAPTURE_END:
	case KRT_OP_STREAM_DESTROY:
	case KRT_OP_GRAPH_INSTANTIATE:
	case KRT_OP_GRAPH_LAUNCH:
	case KRT_OP_GRAPH_EXEC_DESTROY:
	case KRT_OP_GRAPH_DESTROY:
	case KRT_OP_GRAPH_CLONE:
	case KRT_OP_GRAPH_NODE_ADD:
	case KRT_OP_GRAPH_NODE_SET:
	case KRT_OP_GRAPH_NODE_DESTROY:
	case KRT_OP_GRAPH_EXEC_SET:
	case KRT_OP_GRAPH_EXEC_UPDATE:
	case KRT_OP_CTX_DESTROY:
	case KRT_OP_PRIMARY_RESET:
		return KRT_GRAPH_ABOUT;
	default:
		return KRT_GRAPH_NONE;
	}
}

/* ---- captures ---- */

_Atomic uint32_t krt_captures;

/* Streams whose capture was begun, with what an invalidated capture does not tell any more. */
#define ORIGINS 64
static struct {
	_Atomic uint64_t stream; /* 0: free */
	uint64_t id, graph;
} origins[ORIGINS];

/* The per-thread stream of one thread is not that of another. */
static uint64_t origin_key(const struct krt_call *c, uint64_t stream)
{
	return stream > 2 ? stream : (uintptr_t)c->thread;
}

static void capture_begun(const struct krt_call *c, uint64_t stream, const struct krt_capture_rec *r)
{
	uint64_t key = origin_key(c, stream);

	atomic_fetch_add(&krt_captures, 1);
	for (unsigned i = 0; i < ORIGINS; i++) {
		uint64_t none = 0;

		if (!atomic_compare_exchange_strong(&origins[i].stream, &none, key))
			continue;
		origins[i].id = r->id;
		origins[i].graph = r->graph;
		return;
	}
	/* so many at once: this one is counted for good */
}

/* False: it was begun on another stream. */
static bool capture_over(const struct krt_call *c, uint64_t stream)
{
	uint64_t key = origin_key(c, stream);

	for (unsigned i = 0; i < ORIGINS; i++) {
		uint64_t k = key;

		if (!atomic_compare_exchange_strong(&origins[i].stream, &k, 0))
			continue;
		atomic_fetch_sub(&krt_captures, 1);
		return true;
	}
	return false;
}

/* The capture of a stream that is not the legacy one.  False: it has none, or that cannot be told. */
static bool capture_of(const struct krt_call *c, uint64_t stream, struct krt_capture_rec *r)
{
	bool pt = krt_api[c->api].flags & KRT_F_PT;
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
	const CUgraphEdgeData *edges = NULL;
	const CUgraphNode *deps = NULL;
	CUgraph graph = NULL;
	cuuint64_t id = 0;
	size_t n = 0;
	int e;

	*r = (struct krt_capture_rec){ 0 };
	if (stream == 1 || (!stream && !pt) || stream >= KRT_NO_STREAM)
		return false;
#define CAPTURE(variant, ...)                                                               \
	(pt ? KRT_ASK(cuStreamGetCaptureInfo##variant##_ptsz, (CUstream)stream, &status, __VA_ARGS__) \
	    : KRT_ASK(cuStreamGetCaptureInfo##variant, (CUstream)stream, &status, __VA_ARGS__))
	e = CAPTURE(_v3, &id, &graph, &deps, &edges, &n);
	if (e == KRT_NOT_SUPPORTED)
		e = CAPTURE(_v2, &id, &graph, &deps, &n);
	if (e == KRT_NOT_SUPPORTED)
		e = CAPTURE(, &id);
#undef CAPTURE
	if (e || status == CU_STREAM_CAPTURE_STATUS_NONE)
		return false;
	r->status = (uint32_t)status;
	if (status == CU_STREAM_CAPTURE_STATUS_ACTIVE) {
		r->id = id;
		r->graph = (uintptr_t)graph;
		r->node = n == 1 && deps ? (uintptr_t)deps[0] : 0;
		return true;
	}
	for (unsigned i = 0; i < ORIGINS; i++) {
		if (atomic_load(&origins[i].stream) == origin_key(c, stream)) {
			r->id = origins[i].id;
			r->graph = origins[i].graph;
		}
	}
	return true;
}

static void capture_blob(struct krt_call *c, const struct krt_capture_rec *r)
{
	void *to = krt_call_blob(c, KRT_BLOB_OF_CALL, KRT_BLOB_CAPTURE, sizeof *r);

	if (to)
		memcpy(to, r, sizeof *r);
}

/* ---- stacks ---- */

static _Atomic bool stack_nodes; /* some node names memory on a stack */

/*
 * The mapping that holds sp, whether it is the main thread's stack and may be written, from
 * /proc/self/maps.  buf: of size bytes.
 */
static bool find_mapping(char *buf, size_t size, uint64_t sp, uint64_t *low, uint64_t *high, bool *main_stack,
			 bool *writable)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
	size_t have = 0;
	bool found = false;
	long n;

	if (fd < 0)
		return false;
	while (!found && (n = syscall(SYS_read, fd, buf + have, size - 1 - have)) > 0) {
		char *line = buf, *end;

		have += (size_t)n;
		buf[have] = 0;
		while (!found && (end = strchr(line, '\n'))) {
			uint64_t v[2] = { 0, 0 };
			const char *p = line;

			for (unsigned i = 0; i < 2; i++, p++)
				for (; (*p >= '0' && *p <= '9') || (*p >= 'a' && *p <= 'f'); p++)
					v[i] = v[i] * 16 + (uint64_t)(*p <= '9' ? *p - '0' : *p - 'a' + 10);
			if (v[0] <= sp && sp < v[1]) {
				static const char name[] = "[stack]";

				*low = v[0];
				*high = v[1];
				*writable = p[1] == 'w';
				*main_stack = (size_t)(end - line) > sizeof name &&
					      !memcmp(end - (sizeof name - 1), name, sizeof name - 1);
				found = true;
			}
			line = end + 1;
		}
		have -= (size_t)(line - buf);
		memmove(buf, line, have);
		if (have == size - 1)
			have = 0; /* a line as long as that names a file: not a stack */
	}
	syscall(SYS_close, fd);
	return found;
}

/*
 * Bounds of the calling thread's stack into t; false: sp is not on the stack
 * that the thread was made with (a coroutine, a signal stack).  Above a thread's
 * stack lies its descriptor, in the same mapping; elsewhere nothing is known.
 */
bool krt_on_own_stack(struct krt_thread *t, uint64_t sp)
{
	uint64_t low = 0, high = 0, descriptor = (uintptr_t)__builtin_thread_pointer();
	const size_t size = 16384;
	bool main_stack = false, writable;
	char *buf;

	if (t->stack_low <= sp && sp < t->stack_high)
		return true;
	/* the main thread's grows; a thread that hops between stacks is not asked for each time */
	if (t->stack_looks >= 16)
		return false;
	t->stack_looks++;
	buf = krt_map(size);
	if (!buf)
		return false;
	if (find_mapping(buf, size, sp, &low, &high, &main_stack, &writable)) {
		if (!main_stack)
			high = descriptor < high ? descriptor : 0;
		if (sp < high) {
			t->stack_low = low;
			t->stack_high = high;
		}
	}
	krt_unmap(buf, size);
	return t->stack_low <= sp && sp < t->stack_high;
}

bool krt_mapping_of(uint64_t addr, uint64_t *low, uint64_t *high, bool *writable)
{
	const size_t size = 16384;
	char *buf = krt_map(size);
	bool stack, found = buf && find_mapping(buf, size, addr, low, high, &stack, writable);

	if (buf)
		krt_unmap(buf, size);
	return found;
}

static void frame_blob(struct krt_call *c)
{
	struct krt_frame_rec *f = krt_call_blob(c, KRT_BLOB_OF_CALL, KRT_BLOB_FRAME, sizeof *f);

	if (!f)
		return;
	*f = (struct krt_frame_rec){ .sp = c->sp };
	if (krt_on_own_stack(c->thread, c->sp)) {
		f->low = c->thread->stack_low;
		f->high = c->thread->stack_high;
	}
}

/* ---- bodies of conditional nodes ---- */

struct cond {
	struct cond *next;
	uint64_t node;
	uint64_t graph;  /* it is in this one */
	uint64_t origin; /* a clone: the bodies are those of a node of this one; else 0 */
	uint64_t handle;
	uint32_t kind, n, room;
	uint64_t body[];
};

#define COND_BUCKETS 256
static struct cond *conds[COND_BUCKETS], *spare_conds;
static _Atomic uint32_t nconds;

static struct cond **cond_bucket(uint64_t node)
{
	return &conds[(node * 0x9e3779b97f4a7c15ull) >> 56 & (COND_BUCKETS - 1)];
}

/* Under the lock. */
static struct cond *cond_find(uint64_t node)
{
	struct cond *c;

	for (c = *cond_bucket(node); c && c->node != node; c = c->next)
		;
	return c;
}

/* Under the lock. */
static struct cond *cond_new(uint32_t n)
{
	struct cond **p, *c;

	for (p = &spare_conds; *p && (*p)->room < n; p = &(*p)->next)
		;
	c = *p;
	if (c) {
		*p = c->next;
		return c;
	}
	c = krt_alloc(sizeof *c + n * sizeof *c->body);
	if (c)
		c->room = n;
	return c;
}

static void cond_unlink(uint64_t node)
{
	struct cond **p, *c;

	for (p = cond_bucket(node); (c = *p); p = &c->next) {
		if (c->node != node)
			continue;
		*p = c->next;
		c->next = spare_conds;
		spare_conds = c;
		atomic_fetch_sub(&nconds, 1);
		return;
	}
}

static void cond_put(uint64_t node, uint64_t graph, uint64_t origin, uint64_t handle, uint32_t kind,
		     uint32_t n, const CUgraph *body)
{
	struct cond *c;

	if (!body || n > 65536)
		return;
	krt_lock(&krt_wipe.w.graphs);
	cond_unlink(node); /* of a node that was destroyed unseen */
	c = cond_new(n);
	if (c) {
		c->node = node;
		c->graph = graph;
		c->origin = origin;
		c->handle = handle;
		c->kind = kind;
		c->n = n;
		memcpy(c->body, body, n * sizeof *body);
		c->next = *cond_bucket(node);
		*cond_bucket(node) = c;
		atomic_fetch_add(&nconds, 1);
	}
	krt_unlock(&krt_wipe.w.graphs);
}

/* One of the nodes in graph, or that were cloned from one in it; it is taken out.  False: none. */
static bool cond_take(uint64_t graph, uint64_t node, uint64_t *body, uint32_t room, uint32_t *n)
{
	struct cond *c = NULL;

	krt_lock(&krt_wipe.w.graphs);
	if (node)
		c = cond_find(node);
	for (unsigned i = 0; !node && !c && i < COND_BUCKETS; i++)
		for (c = conds[i]; c && c->graph != graph && c->origin != graph; c = c->next)
			;
	if (c) {
		*n = c->origin ? 0 : c->n < room ? c->n : room;
		memcpy(body, c->body, *n * sizeof *body);
		cond_unlink(c->node);
	}
	krt_unlock(&krt_wipe.w.graphs);
	return c != NULL;
}

/* A graph ends, and with it the bodies of its nodes (or those of one node). */
static void forget_graph(uint64_t graph, uint64_t node, unsigned depth)
{
	uint64_t body[64];
	uint32_t n;

	if (!node && graph)
		krt_heap_release(graph, 0);
	if (depth > DEPTH_MAX)
		return;
	while (atomic_load(&nconds) && cond_take(graph, node, body, 64, &n))
		for (uint32_t i = 0; i < n; i++)
			forget_graph(body[i], 0, depth + 1);
}

static void forget_all_bodies(void)
{
	krt_lock(&krt_wipe.w.graphs);
	for (unsigned i = 0; i < COND_BUCKETS; i++)
		while (conds[i])
			cond_unlink(conds[i]->node);
	krt_unlock(&krt_wipe.w.graphs);
}

/* A clone's conditional nodes have bodies that no query tells: the original's stand for them. */
static void clone_bodies(uint64_t original, uint64_t clone)
{
	uint64_t size = (uint64_t)atomic_load(&nconds) * sizeof(uint64_t), n = 0, *node;

	if (!size)
		return;
	node = krt_map(size);
	if (!node)
		return;
	krt_lock(&krt_wipe.w.graphs);
	for (unsigned i = 0; i < COND_BUCKETS; i++)
		for (struct cond *c = conds[i]; c; c = c->next)
			if (c->graph == original && n < size / sizeof *node)
				node[n++] = c->node;
	krt_unlock(&krt_wipe.w.graphs);
	for (uint64_t i = 0; i < n; i++) {
		CUgraphNode twin = NULL;
		struct cond *c, *copy;

		if (KRT_ASK(cuGraphNodeFindInClone, &twin, (CUgraphNode)node[i], (CUgraph)clone) || !twin)
			continue;
		krt_lock(&krt_wipe.w.graphs);
		c = cond_find(node[i]);
		copy = c ? cond_new(c->n) : NULL;
		if (copy) {
			uint32_t room = copy->room;

			cond_unlink((uintptr_t)twin);
			memcpy(copy, c, sizeof *c + c->n * sizeof *c->body);
			copy->room = room;
			copy->node = (uintptr_t)twin;
			copy->graph = clone;
			copy->origin = c->origin ? c->origin : original;
			copy->next = *cond_bucket(copy->node);
			*cond_bucket(copy->node) = copy;
			atomic_fetch_add(&nconds, 1);
		}
		krt_unlock(&krt_wipe.w.graphs);
	}
	krt_unmap(node, size);
}

/* ---- nodes ---- */

/* What is being written at the end of a call's record. */
struct out {
	struct krt_call *c;
	uint64_t holder;  /* of the host memory that nodes name: graph, or executable | 1 */
	uint64_t node;    /* being written */
	unsigned depth;
	unsigned unread;  /* so much could not be read so far */
	bool full;        /* it does not fit: what was begun is worth nothing */
	bool stack;       /* the outermost node names memory on this thread's stack */
	bool single;      /* a node of the call, not of a whole graph */
};

static void *put(struct out *o, size_t len)
{
	void *p = NULL;

	if (!o->full && o->c->rec && o->c->size + len <= RECORD_LIMIT)
		p = krt_call_more(o->c, (len + 7) & ~(size_t)7);
	if (!p)
		o->full = true;
	else if (len & 7)
		memset((char *)p + (len & ~(size_t)7), 0, 8);
	return p;
}

static bool put_copy(struct out *o, const void *from, size_t len)
{
	void *to = put(o, len);

	if (to)
		memcpy(to, from, len);
	return to != NULL;
}

/* What holder held for a node (0: for all of its nodes) may change or go. */
static void release(uint64_t holder, uint64_t node)
{
	krt_heap_release(holder, node);
	if (krt_host_on())
		krt_flight_release(holder, node);
}

static void host_memory(struct out *o, uint64_t base, uint64_t len, enum krt_guard_use use)
{
	uint64_t sp = (uintptr_t)o->c;

	if (!base || !len || base + len < base)
		return;
	if (krt_host_on())
		krt_flight_hold(base, len, o->holder, o->node, use);
	krt_heap_hold(base, len, o->holder, o->node);
	if (o->single && !o->depth && base >= sp && krt_on_own_stack(o->c->thread, sp) &&
	    base < o->c->thread->stack_high)
		o->stack = true;
}

/* The writers of parameters.  False: they cannot be told. */

static bool put_kernel(struct out *o, const CUDA_KERNEL_NODE_PARAMS *k)
{
	/*
	 * A node of a library's kernel answers both; its function has a module that nobody
	 * has loaded.
	 */
	struct krt_node_kernel n = {
		.func = k->kern ? (uintptr_t)k->kern : (uintptr_t)k->func,
		.grid = { k->gridDimX, k->gridDimY, k->gridDimZ },
		.block = { k->blockDimX, k->blockDimY, k->blockDimZ },
		.shared = k->sharedMemBytes,
	};
	CUkernelNodeAttrValue value = { 0 };
	struct krt_kernel_args args;
	struct krt_params *to;

	/* of an executable's node too: that attribute is not among what an update can change */
	if (!KRT_ASK(cuGraphKernelNodeGetAttribute, (CUgraphNode)o->node, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value))
		n.coop = value.cooperative != 0;
	if (!n.func ||
	    !krt_kernel_args(&args, n.func, (uintptr_t)k->kernelParams, (uintptr_t)k->extra) ||
	    !put_copy(o, &n, sizeof n))
		return false;
	if (!k->kernelParams && !k->extra && args.kernel->nparams)
		args.len = KRT_PARAMS_UNKNOWN; /* it has some, and they were not told */
	to = put(o, sizeof *to + args.size);
	if (!to)
		return false;
	krt_kernel_args_copy(&args, to);
	if (krt_host_on())
		krt_flight_hold_words(to + 1, args.size, o->holder, o->node);
	return true;
}

static bool put_kernel_v1(struct out *o, const CUDA_KERNEL_NODE_PARAMS_v1 *k)
{
	CUDA_KERNEL_NODE_PARAMS v2 = { 0 };

	memcpy(&v2, k, sizeof *k); /* its beginning */
	return put_kernel(o, &v2);
}

#define HOST_SIDE(m, side, use)                                                                \
	do {                                                                                \
		uint64_t base, len;                                                         \
                                                                                            \
		if ((m)->side##MemoryType != CU_MEMORYTYPE_HOST &&                          \
		    (m)->side##MemoryType != CU_MEMORYTYPE_UNIFIED)                         \
			break;                                                              \
		base = (m)->side##MemoryType == CU_MEMORYTYPE_HOST ? (uintptr_t)(m)->side##Host \
								   : (m)->side##Device;     \
		if (base && krt_rows_span(&base, (m)->side##XInBytes, (m)->side##Y, (m)->side##Z, \
					  (m)->side##Pitch, (m)->side##Height, (m)->WidthInBytes, \
					  (m)->Height, (m)->Depth, &len))                   \
			host_memory(o, base, len, (use) | (len != (m)->WidthInBytes * (m)->Height * (m)->Depth \
							       ? KRT_GUARD_GAPS : 0));     \
	} while (0)

static bool put_memcpy(struct out *o, const CUDA_MEMCPY3D *m)
{
	HOST_SIDE(m, src, KRT_GUARD_READS);
	HOST_SIDE(m, dst, KRT_GUARD_WRITES);
	return put_copy(o, m, sizeof *m);
}

static bool put_memset(struct out *o, const CUDA_MEMSET_NODE_PARAMS *m)
{
	uint64_t base = m->dst, len;

	if (base && krt_rows_span(&base, 0, 0, 0, m->height > 1 ? m->pitch : 0, 0, m->width * m->elementSize,
				  m->height, 1, &len))
		host_memory(o, base, len, KRT_GUARD_WRITES);
	return put_copy(o, m, sizeof *m);
}

static bool put_host(struct out *o, uint64_t fn, uint64_t data)
{
	uint64_t v[] = { fn, data };

	if (krt_host_on())
		krt_flight_hold(0, 0, o->holder, o->node, KRT_GUARD_MAY_WRITE);
	host_memory(o, data, 1, KRT_GUARD_READS); /* how much it uses is not known; the first byte ends with the block */
	return put_copy(o, v, sizeof v);
}

static bool put_words(struct out *o, uint64_t a, uint64_t b, unsigned n)
{
	uint64_t v[] = { a, b };

	return put_copy(o, v, n * sizeof *v);
}

/* A number, then so many elements. */
static bool put_array(struct out *o, uint64_t n, const void *array, size_t each)
{
	if (n > ARRAY_MAX || (n && !array))
		return false;
	return put_copy(o, &n, sizeof n) && (!n || put_copy(o, array, n * each));
}

static void put_graph(struct out *o, uint64_t graph, uint32_t flags);

static bool put_bodies(struct out *o)
{
	struct { uint64_t handle; uint32_t kind, n; } head;
	uint64_t node = o->node; /* the bodies' nodes come in between */
	struct cond *cond;
	bool known = true;
	uint32_t flags = 0;

	for (uint32_t i = 0; known; i++) {
		uint64_t body = 0;

		krt_lock(&krt_wipe.w.graphs);
		cond = cond_find(node);
		known = cond && (!i || cond->n == head.n);
		if (known) {
			head.handle = cond->handle;
			head.kind = cond->kind;
			head.n = cond->n;
			flags = cond->origin ? KRT_GRAPH_REMEMBERED : 0;
			body = i < cond->n ? cond->body[i] : 0;
		}
		krt_unlock(&krt_wipe.w.graphs);
		if (!known || (!i && !put_copy(o, &head, sizeof head)))
			return false;
		if (i >= head.n)
			break;
		put_graph(o, body, flags);
	}
	return known;
}

static size_t node_begin(struct out *o, unsigned type, uint64_t node)
{
	struct krt_node_rec *r = put(o, sizeof *r);

	o->node = node;
	if (!r)
		return 0;
	*r = (struct krt_node_rec){ .type = (uint16_t)type, .node = node };
	return (size_t)((char *)r - (char *)o->c->rec);
}

static void node_end(struct out *o, size_t at, bool told, uint64_t ctx)
{
	struct krt_node_rec *r;

	if (o->full || !o->c->rec)
		return;
	r = (struct krt_node_rec *)((char *)o->c->rec + at);
	if (!told) {
		o->c->size = at + sizeof *r;
		r->flags |= KRT_NODE_UNREAD;
		o->unread++;
	}
	if (o->stack && o->single && !o->depth) {
		r->flags |= KRT_NODE_STACK;
		atomic_store(&stack_nodes, true);
	}
	r->ctx = ctx;
	r->size = (uint32_t)(o->c->size - at);
}

/* A node as the driver tells it.  ctx: what the call said, where the driver does not. */
static void put_node(struct out *o, uint64_t handle, uint64_t ctx)
{
	CUgraphNode node = (CUgraphNode)handle;
	CUgraphNodeType type = (CUgraphNodeType)0;
	bool told = false;
	size_t at;

	if (KRT_ASK(cuGraphNodeGetType, node, &type)) {
		at = node_begin(o, TYPE_UNKNOWN, handle);
		node_end(o, at, false, 0);
		return;
	}
	at = node_begin(o, type, handle);
	switch (type) {
	case CU_GRAPH_NODE_TYPE_KERNEL: {
		CUDA_KERNEL_NODE_PARAMS k = { 0 };
		CUDA_KERNEL_NODE_PARAMS_v1 v1 = { 0 };
		int e = KRT_ASK(cuGraphKernelNodeGetParams_v2, node, &k);

		if (e == KRT_NOT_SUPPORTED && !KRT_ASK(cuGraphKernelNodeGetParams, node, &v1))
			told = put_kernel_v1(o, &v1);
		else
			told = !e && put_kernel(o, &k);
		if (k.ctx)
			ctx = (uintptr_t)k.ctx;
		break;
	}
	case CU_GRAPH_NODE_TYPE_MEMCPY: {
		CUDA_MEMCPY3D m = { 0 };

		told = !KRT_ASK(cuGraphMemcpyNodeGetParams, node, &m) && put_memcpy(o, &m);
		break;
	}
	case CU_GRAPH_NODE_TYPE_MEMSET: {
		CUDA_MEMSET_NODE_PARAMS m = { 0 };

		told = !KRT_ASK(cuGraphMemsetNodeGetParams, node, &m) && put_memset(o, &m);
		break;
	}
	case CU_GRAPH_NODE_TYPE_HOST: {
		CUDA_HOST_NODE_PARAMS h = { 0 };

		told = !KRT_ASK(cuGraphHostNodeGetParams, node, &h) &&
		       put_host(o, (uintptr_t)h.fn, (uintptr_t)h.userData);
		break;
	}
	case CU_GRAPH_NODE_TYPE_GRAPH: {
		CUgraph child = NULL;

		told = !KRT_ASK(cuGraphChildGraphNodeGetGraph, node, &child) && child;
		if (told)
			put_graph(o, (uintptr_t)child, 0);
		break;
	}
	case CU_GRAPH_NODE_TYPE_EMPTY:
		told = true;
		break;
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT: {
		CUevent event = NULL;

		told = !KRT_ASK(cuGraphEventWaitNodeGetEvent, node, &event) &&
		       put_words(o, (uintptr_t)event, 0, 1);
		break;
	}
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD: {
		CUevent event = NULL;

		told = !KRT_ASK(cuGraphEventRecordNodeGetEvent, node, &event) &&
		       put_words(o, (uintptr_t)event, 0, 1);
		break;
	}
	case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL: {
		CUDA_EXT_SEM_SIGNAL_NODE_PARAMS s = { 0 };

		told = !KRT_ASK(cuGraphExternalSemaphoresSignalNodeGetParams, node, &s) &&
		       put_array(o, s.numExtSems, s.extSemArray, sizeof *s.extSemArray);
		break;
	}
	case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT: {
		CUDA_EXT_SEM_WAIT_NODE_PARAMS s = { 0 };

		told = !KRT_ASK(cuGraphExternalSemaphoresWaitNodeGetParams, node, &s) &&
		       put_array(o, s.numExtSems, s.extSemArray, sizeof *s.extSemArray);
		break;
	}
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC: {
		CUDA_MEM_ALLOC_NODE_PARAMS a;

		memset(&a, 0, sizeof a);
		told = !KRT_ASK(cuGraphMemAllocNodeGetParams, node, &a) && put_words(o, a.dptr, a.bytesize, 2);
		krt_pointers_range(a.dptr, a.bytesize, false);
		break;
	}
	case CU_GRAPH_NODE_TYPE_MEM_FREE: {
		CUdeviceptr p = 0;

		told = !KRT_ASK(cuGraphMemFreeNodeGetParams, node, &p) && put_words(o, p, 0, 1);
		break;
	}
	case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: {
		CUDA_BATCH_MEM_OP_NODE_PARAMS b = { 0 };

		told = !KRT_ASK(cuGraphBatchMemOpNodeGetParams, node, &b) &&
		       put_array(o, b.count, b.paramArray, sizeof *b.paramArray);
		if (b.ctx)
			ctx = (uintptr_t)b.ctx;
		break;
	}
	case CU_GRAPH_NODE_TYPE_CONDITIONAL:
		told = put_bodies(o);
		break;
	}
	o->node = handle; /* nested nodes were written meanwhile */
	node_end(o, at, told, ctx);
}

/* ---- whole graphs ---- */

/* Lists of one graph, in one mapping. */
struct lists {
	size_t size;
	CUgraphNode *node, *from, *to;
	CUgraphEdgeData *edge;
	struct { uint64_t node; uint32_t place; } *slot; /* place + 1 by node, open addressing */
	size_t slots;
	size_t nodes, edges;
};

static size_t edges_of(CUgraph graph, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *edge, size_t *n)
{
	int e = KRT_ASK(cuGraphGetEdges_v2, graph, from, to, edge, n);

	/* a driver without the one has no data of edges; edge is zero */
	return e == KRT_NOT_SUPPORTED ? KRT_ASK(cuGraphGetEdges, graph, from, to, n) : e;
}

static bool lists_get(struct lists *l, CUgraph graph)
{
	char *p;

	*l = (struct lists){ 0 };
	if (!graph || KRT_ASK(cuGraphGetNodes, graph, NULL, &l->nodes) ||
	    edges_of(graph, NULL, NULL, NULL, &l->edges))
		return false;
	if (l->nodes > RECORD_LIMIT / sizeof(struct krt_node_rec) ||
	    l->edges > RECORD_LIMIT / sizeof(struct krt_edge_rec))
		return false;
	l->slots = 16;
	while (l->edges && l->slots < l->nodes * 2)
		l->slots *= 2;
	l->size = l->nodes * sizeof *l->node + l->edges * (2 * sizeof *l->node + sizeof *l->edge) +
		  l->slots * sizeof *l->slot;
	p = krt_map(l->size);
	if (!p)
		return false;
	l->slot = (void *)p;
	l->node = (void *)(l->slot + l->slots);
	l->from = l->node + l->nodes;
	l->to = l->from + l->edges;
	l->edge = (void *)(l->to + l->edges);
	/* the numbers are what there is room for */
	if ((l->nodes && KRT_ASK(cuGraphGetNodes, graph, l->node, &l->nodes)) ||
	    (l->edges && edges_of(graph, l->from, l->to, l->edge, &l->edges))) {
		krt_unmap(p, l->size);
		return false;
	}
	for (uint32_t i = 0; l->edges && i < l->nodes; i++) {
		uint64_t node = (uintptr_t)l->node[i];
		size_t at = (node * 0x9e3779b97f4a7c15ull >> 20) & (l->slots - 1);

		while (l->slot[at].node && l->slot[at].node != node)
			at = (at + 1) & (l->slots - 1);
		l->slot[at].node = node;
		l->slot[at].place = i + 1;
	}
	return true;
}

static bool place_of(const struct lists *l, CUgraphNode handle, uint32_t *place)
{
	uint64_t node = (uintptr_t)handle;
	size_t at = (node * 0x9e3779b97f4a7c15ull >> 20) & (l->slots - 1);

	while (l->slot[at].node && l->slot[at].node != node)
		at = (at + 1) & (l->slots - 1);
	*place = l->slot[at].place - 1;
	return l->slot[at].place != 0;
}

static void put_edges(struct out *o, const struct lists *l, uint32_t *written)
{
	*written = 0;
	for (size_t i = 0; i < l->edges; i++) {
		struct krt_edge_rec e = {
			.from_port = l->edge[i].from_port, .to_port = l->edge[i].to_port, .type = l->edge[i].type,
		};

		if (!place_of(l, l->from[i], &e.from) || !place_of(l, l->to[i], &e.to)) {
			o->unread++;
			continue;
		}
		if (!put_copy(o, &e, sizeof e))
			return;
		++*written;
	}
}

static void put_graph(struct out *o, uint64_t graph, uint32_t flags)
{
	struct krt_graph_rec *r = put(o, sizeof *r);
	unsigned unread = o->unread;
	uint32_t edges = 0;
	struct lists l;
	size_t at;

	if (!r)
		return;
	*r = (struct krt_graph_rec){ .graph = graph };
	at = (size_t)((char *)r - (char *)o->c->rec);
	o->depth++;
	if (o->depth > DEPTH_MAX || !lists_get(&l, (CUgraph)graph)) {
		o->unread++;
		l.nodes = 0;
	} else {
		for (size_t i = 0; i < l.nodes && !o->full; i++)
			put_node(o, (uintptr_t)l.node[i], 0);
		put_edges(o, &l, &edges);
		krt_unmap(l.slot, l.size);
	}
	o->depth--;
	if (o->full || !o->c->rec)
		return;
	r = (struct krt_graph_rec *)((char *)o->c->rec + at);
	r->nodes = (uint32_t)l.nodes;
	r->edges = edges;
	r->flags = flags | (o->unread != unread ? KRT_GRAPH_UNREAD : 0);
	r->size = (uint32_t)(o->c->size - at);
}

/* ---- blobs ---- */

static size_t blob_begin(struct krt_call *c, unsigned kind)
{
	return krt_call_blob(c, KRT_BLOB_OF_CALL, kind, 0) ? c->size : 0;
}

static void blob_end(struct krt_call *c, size_t at)
{
	if (c->rec)
		((struct krt_blob *)((char *)c->rec + at))[-1].len = (uint32_t)(c->size - at);
}

static void graph_blob(struct krt_call *c, uint64_t graph, uint64_t holder)
{
	struct out o = { .c = c, .holder = holder };
	size_t at = blob_begin(c, KRT_BLOB_GRAPH);

	if (!at)
		return;
	put_graph(&o, graph, 0);
	if (o.full && c->rec) { /* it does not fit: that it is there, and no more */
		struct krt_graph_rec *r = (struct krt_graph_rec *)((char *)c->rec + at);

		c->size = at + sizeof *r;
		*r = (struct krt_graph_rec){ .size = sizeof *r, .flags = KRT_GRAPH_UNREAD, .graph = graph };
	}
	blob_end(c, at);
}

/* Ends a blob with one node. */
static void node_blob_end(struct out *o, size_t at)
{
	struct krt_call *c = o->c;

	if (o->full && c->rec) {
		struct krt_node_rec *r = (struct krt_node_rec *)((char *)c->rec + at);

		c->size = at + sizeof *r;
		r->size = sizeof *r;
		r->flags = KRT_NODE_UNREAD;
		r->ctx = 0;
	}
	blob_end(c, at);
}

static void node_blob(struct krt_call *c, uint64_t node, uint64_t holder, uint64_t ctx)
{
	struct out o = { .c = c, .holder = holder, .single = true };
	size_t at = node ? blob_begin(c, KRT_BLOB_NODE) : 0;

	if (!at)
		return;
	put_node(&o, node, ctx);
	node_blob_end(&o, at);
}

/* A node of an executable: as the arguments say, since no query tells. */
static void exec_node_blob(struct krt_call *c)
{
	const uint64_t *a = c->args;
	struct out o = { .c = c, .holder = a[0] | 1, .single = true };
	uint64_t ctx = 0;
	bool told = false;
	size_t at = blob_begin(c, KRT_BLOB_NODE), node;

	if (!at)
		return;
	release(a[0] | 1, a[1]);
#define NODE(type) node = node_begin(&o, CU_GRAPH_NODE_TYPE_##type, a[1])
#define ARG(type) ((const type *)a[2])
	switch (a[2] ? (enum krt_api_id)c->api : KRT_NR_APIS) {
	case KRT_API_cuGraphExecKernelNodeSetParams:
		NODE(KERNEL);
		told = put_kernel_v1(&o, ARG(CUDA_KERNEL_NODE_PARAMS_v1));
		break;
	case KRT_API_cuGraphExecKernelNodeSetParams_v2:
		NODE(KERNEL);
		told = put_kernel(&o, ARG(CUDA_KERNEL_NODE_PARAMS));
		ctx = (uintptr_t)ARG(CUDA_KERNEL_NODE_PARAMS)->ctx;
		break;
	case KRT_API_cuGraphExecMemcpyNodeSetParams:
		NODE(MEMCPY);
		told = put_memcpy(&o, ARG(CUDA_MEMCPY3D));
		ctx = a[3];
		break;
	case KRT_API_cuGraphExecMemsetNodeSetParams:
		NODE(MEMSET);
		told = put_memset(&o, ARG(CUDA_MEMSET_NODE_PARAMS));
		ctx = a[3];
		break;
	case KRT_API_cuGraphExecHostNodeSetParams:
		NODE(HOST);
		told = put_host(&o, (uintptr_t)ARG(CUDA_HOST_NODE_PARAMS)->fn,
				(uintptr_t)ARG(CUDA_HOST_NODE_PARAMS)->userData);
		break;
	case KRT_API_cuGraphExecChildGraphNodeSetParams:
		NODE(GRAPH);
		put_graph(&o, a[2], 0);
		told = true;
		break;
	case KRT_API_cuGraphExecEventRecordNodeSetEvent:
		NODE(EVENT_RECORD);
		told = put_words(&o, a[2], 0, 1);
		break;
	case KRT_API_cuGraphExecEventWaitNodeSetEvent:
		NODE(WAIT_EVENT);
		told = put_words(&o, a[2], 0, 1);
		break;
	case KRT_API_cuGraphExecExternalSemaphoresSignalNodeSetParams:
		NODE(EXT_SEMAS_SIGNAL);
		told = put_array(&o, ARG(CUDA_EXT_SEM_SIGNAL_NODE_PARAMS)->numExtSems,
				 ARG(CUDA_EXT_SEM_SIGNAL_NODE_PARAMS)->extSemArray, sizeof(CUexternalSemaphore));
		break;
	case KRT_API_cuGraphExecExternalSemaphoresWaitNodeSetParams:
		NODE(EXT_SEMAS_WAIT);
		told = put_array(&o, ARG(CUDA_EXT_SEM_WAIT_NODE_PARAMS)->numExtSems,
				 ARG(CUDA_EXT_SEM_WAIT_NODE_PARAMS)->extSemArray, sizeof(CUexternalSemaphore));
		break;
	case KRT_API_cuGraphExecBatchMemOpNodeSetParams:
		NODE(BATCH_MEM_OP);
		told = put_array(&o, ARG(CUDA_BATCH_MEM_OP_NODE_PARAMS)->count,
				 ARG(CUDA_BATCH_MEM_OP_NODE_PARAMS)->paramArray, sizeof(CUstreamBatchMemOpParams));
		ctx = (uintptr_t)ARG(CUDA_BATCH_MEM_OP_NODE_PARAMS)->ctx;
		break;
	case KRT_API_cuGraphExecNodeSetParams: {
		const CUgraphNodeParams *p = (const void *)a[2];

		node = node_begin(&o, p->type, a[1]);
		switch (p->type) {
		case CU_GRAPH_NODE_TYPE_KERNEL: {
			CUDA_KERNEL_NODE_PARAMS k;

			_Static_assert(sizeof k == sizeof p->kernel, "versions 2 and 3 are the same");
			memcpy(&k, &p->kernel, sizeof k);
			told = put_kernel(&o, &k);
			ctx = (uintptr_t)k.ctx;
			break;
		}
		case CU_GRAPH_NODE_TYPE_MEMCPY:
			told = put_memcpy(&o, &p->memcpy.copyParams);
			ctx = (uintptr_t)p->memcpy.copyCtx;
			break;
		case CU_GRAPH_NODE_TYPE_MEMSET: {
			CUDA_MEMSET_NODE_PARAMS m;

			memcpy(&m, &p->memset, sizeof m); /* version 2 has a context at its end */
			told = put_memset(&o, &m);
			ctx = (uintptr_t)p->memset.ctx;
			break;
		}
		case CU_GRAPH_NODE_TYPE_HOST:
			told = put_host(&o, (uintptr_t)p->host.fn, (uintptr_t)p->host.userData);
			break;
		case CU_GRAPH_NODE_TYPE_GRAPH:
			put_graph(&o, (uintptr_t)p->graph.graph, 0);
			told = true;
			break;
		case CU_GRAPH_NODE_TYPE_EMPTY:
			told = true;
			break;
		case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
			told = put_words(&o, (uintptr_t)p->eventWait.event, 0, 1);
			break;
		case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
			told = put_words(&o, (uintptr_t)p->eventRecord.event, 0, 1);
			break;
		case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
			told = put_array(&o, p->extSemSignal.numExtSems, p->extSemSignal.extSemArray,
					 sizeof(CUexternalSemaphore));
			break;
		case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
			told = put_array(&o, p->extSemWait.numExtSems, p->extSemWait.extSemArray,
					 sizeof(CUexternalSemaphore));
			break;
		case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
			told = put_array(&o, p->memOp.count, p->memOp.paramArray,
					 sizeof(CUstreamBatchMemOpParams));
			ctx = (uintptr_t)p->memOp.ctx;
			break;
		case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
		case CU_GRAPH_NODE_TYPE_MEM_FREE:
		case CU_GRAPH_NODE_TYPE_CONDITIONAL:
			break; /* cannot be set */
		}
		break;
	}
	default:
		node = node_begin(&o, TYPE_UNKNOWN, a[1]);
		break;
	}
#undef NODE
#undef ARG
	o.node = a[1];
	node_end(&o, node, told, ctx);
	node_blob_end(&o, at);
}

/* The parameters of a generic call that makes or edits a node, NULL: it is none. */
static const CUgraphNodeParams *generic_params(const struct krt_call *c)
{
	switch ((enum krt_api_id)c->api) {
	case KRT_API_cuGraphAddNode:
		return (const void *)c->args[4];
	case KRT_API_cuGraphAddNode_v2:
		return (const void *)c->args[5];
	case KRT_API_cuGraphNodeSetParams:
		return (const void *)c->args[1];
	default:
		return NULL;
	}
}

/* The context that the call named for a copy or a set. */
static uint64_t ctx_of_call(const struct krt_call *c)
{
	const struct krt_api *a = &krt_api[c->api];
	const CUgraphNodeParams *p = generic_params(c);

	if (p && p->type == CU_GRAPH_NODE_TYPE_MEMCPY)
		return (uintptr_t)p->memcpy.copyCtx;
	if (p && p->type == CU_GRAPH_NODE_TYPE_MEMSET)
		return (uintptr_t)p->memset.ctx;
	for (unsigned i = 0; i < a->argc; i++)
		if (a->arg[i].role == KRT_ROLE_CTX)
			return c->args[i];
	return 0;
}

static void node_added(struct krt_call *c)
{
	uint64_t node = c->args[0] ? *(const uint64_t *)c->args[0] : 0;
	const CUgraphNodeParams *p = generic_params(c);

	if (p && p->type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
		cond_put(node, c->args[1], 0, p->conditional.handle, (uint32_t)p->conditional.type,
			 p->conditional.size, p->conditional.phGraph_out);
	node_blob(c, node, c->args[1], ctx_of_call(c));
}

/* ---- around a call ---- */

/* Does it make a node where its stream captures? */
static bool makes_node(const struct krt_call *c)
{
	const struct krt_api *a = &krt_api[c->api];

	if (a->op != KRT_OP_EVENT_RECORD && a->op != KRT_OP_STREAM_WAIT_EVENT)
		return true;
	return a->argc == 3 && (uint32_t)c->args[2] & CU_EVENT_RECORD_EXTERNAL;
}

bool krt_graphs_open(void)
{
	atomic_store(&krt_captures, 0);
	for (unsigned i = 0; i < ORIGINS; i++)
		atomic_store(&origins[i].stream, 0);
	memset(conds, 0, sizeof conds);
	spare_conds = NULL;
	atomic_store(&nconds, 0);
	atomic_store(&stack_nodes, false);
	return true;
}

void krt_graphs_before(struct krt_call *c, enum krt_graph_part part, uint64_t stream)
{
	const uint64_t *a = c->args;

	if (part == KRT_GRAPH_MAKES_NODE) {
		if (makes_node(c))
			capture_of(c, stream, &c->before);
		return;
	}
	switch ((enum krt_op)krt_api[c->api].op) {
	case KRT_OP_CAPTURE_END:
		capture_of(c, stream, &c->before);
		break;
	case KRT_OP_STREAM_DESTROY:
		if (krt_captures_now())
			capture_of(c, a[0], &c->before);
		break;
	case KRT_OP_GRAPH_LAUNCH:
		if (krt_captures_now())
			capture_of(c, stream, &c->before);
		break;
	case KRT_OP_GRAPH_DESTROY:
		forget_graph(a[0], 0, 0);
		break;
	case KRT_OP_GRAPH_NODE_DESTROY:
		forget_graph(0, a[0], 0);
		release(0, a[0]);
		break;
	case KRT_OP_GRAPH_EXEC_DESTROY:
		release(a[0] | 1, 0);
		break;
	case KRT_OP_CTX_DESTROY:
	case KRT_OP_PRIMARY_RESET:
		if (atomic_load(&nconds))
			forget_all_bodies();
		break;
	default:
		break;
	}
}

/* Errors that say nothing of a stream: its handle, its context or the driver is gone. */
static bool worth_asking(int result)
{
	return result != CUDA_ERROR_INVALID_HANDLE && result != CUDA_ERROR_INVALID_CONTEXT &&
	       result != CUDA_ERROR_CONTEXT_IS_DESTROYED && result != CUDA_ERROR_DEINITIALIZED &&
	       result != CUDA_ERROR_NOT_INITIALIZED && result != CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
}

static void capture_ended(struct krt_call *c, uint64_t stream, int result)
{
	struct krt_capture_rec now = { 0 };

	if (!c->before.status)
		return;
	if (result && capture_of(c, stream, &now)) { /* it goes on: not the right thread or stream */
		c->before.status = now.status;
	} else {
		c->before.status = CU_STREAM_CAPTURE_STATUS_NONE;
		capture_over(c, stream);
		if (result)
			forget_graph(c->before.graph, 0, 0);
	}
	capture_blob(c, &c->before);
}

void krt_graphs_after(struct krt_call *c, enum krt_graph_part part, uint64_t stream, int result)
{
	enum krt_op op = (enum krt_op)krt_api[c->api].op;
	const uint64_t *a = c->args;
	struct krt_capture_rec now = { 0 };

	if (op == KRT_OP_CAPTURE_END) {
		capture_ended(c, stream, result);
		return;
	}
	if (op == KRT_OP_STREAM_DESTROY) {
		if (!result && c->before.status && capture_over(c, a[0]))
			forget_graph(c->before.graph, 0, 0);
		return;
	}
	if (op == KRT_OP_CAPTURE_BEGIN && !result) {
		capture_of(c, stream, &now);
		capture_begun(c, stream, &now);
	}
	if (krt_captures_now() && worth_asking(result) && capture_of(c, stream, &now)) {
		capture_blob(c, &now);
		if (!result && now.node && now.node != c->before.node && part != KRT_GRAPH_NONE &&
		    (part == KRT_GRAPH_MAKES_NODE ? makes_node(c) : op == KRT_OP_GRAPH_LAUNCH))
			node_blob(c, now.node, now.graph, 0);
	}
	if (result || part != KRT_GRAPH_ABOUT)
		return;
	switch (op) {
	case KRT_OP_GRAPH_LAUNCH:
		if (now.status)
			break;
		krt_heap_launched(a[0] | 1, krt_stream_key(c, stream));
		if (atomic_load_explicit(&stack_nodes, memory_order_relaxed))
			frame_blob(c);
		break;
	case KRT_OP_GRAPH_INSTANTIATE:
		if (a[0])
			graph_blob(c, a[1], *(const uint64_t *)a[0] | 1);
		break;
	case KRT_OP_GRAPH_EXEC_UPDATE:
		release(a[0] | 1, 0);
		graph_blob(c, a[1], a[0] | 1);
		break;
	case KRT_OP_GRAPH_CLONE:
		if (!a[0])
			break;
		clone_bodies(a[1], *(const uint64_t *)a[0]);
		graph_blob(c, *(const uint64_t *)a[0], *(const uint64_t *)a[0]);
		break;
	case KRT_OP_GRAPH_NODE_ADD:
		node_added(c);
		break;
	case KRT_OP_GRAPH_NODE_SET: {
		uint64_t holder = krt_heap_holder(a[0]);

		release(0, a[0]);
		node_blob(c, a[0], holder ? holder : a[0], ctx_of_call(c));
		break;
	}
	case KRT_OP_GRAPH_EXEC_SET:
		exec_node_blob(c);
		break;
	default:
		break;
	}
}
