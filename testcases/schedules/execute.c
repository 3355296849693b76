/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See execute.h.  Calls of the program's second thread are made in one, while the first
 * waits for it: programs have one order of calls.
 */
#include "execute.h"

#include "cuabi.h"
#include "testcases/oracle/hostfn.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIZE (CELLS * CELL)

const unsigned executable = F_LEGACY | F_THREADS | F_CONTEXTS | F_HOST | F_MANAGED | F_KERNELS |
			    F_SYNC | F_OBJECTS | F_NARROW | F_CONTEXT_WIDE | F_ROWS | F_BATCHES |
			    F_FUNCTIONS;

/*
 * touch: reads the first words of cells of up to three ranges, then writes words made of
 * all that it read.
 */
#define RANGE(k)                                                                                   \
	"	ld.param.u64 %rd1, [a" #k "];\n"                                                   \
	"	ld.param.u32 %r2, [n" #k "];\n"                                                    \
	"	ld.param.u32 %r3, [w" #k "];\n"
#define READ(k)                                                                                    \
	RANGE(k)                                                                                   \
	"	setp.ne.u32 %p1, %r3, 0;\n"                                                              \
	"	@%p1 bra R" #k "E;\n"                                                              \
	"R" #k ":	setp.eq.u32 %p1, %r2, 0;\n"                                                      \
	"	@%p1 bra R" #k "E;\n"                                                              \
	"	ld.global.u32 %r4, [%rd1];\n"                                                            \
	"	mad.lo.u32 %r1, %r1, 31, %r4;\n"                                                         \
	"	add.u64 %rd1, %rd1, %rd2;\n"                                                             \
	"	sub.u32 %r2, %r2, 1;\n"                                                                  \
	"	bra R" #k ";\n"                                                                    \
	"R" #k "E:\n"
#define WRITE(k)                                                                                   \
	RANGE(k)                                                                                   \
	"	setp.eq.u32 %p1, %r3, 0;\n"                                                              \
	"	@%p1 bra W" #k "E;\n"                                                              \
	"W" #k ":	setp.eq.u32 %p1, %r2, 0;\n"                                                      \
	"	@%p1 bra W" #k "E;\n"                                                              \
	"	mad.lo.u32 %r1, %r1, 31, 1;\n"                                                           \
	"	st.global.u32 [%rd1], %r1;\n"                                                            \
	"	add.u64 %rd1, %rd1, %rd2;\n"                                                             \
	"	sub.u32 %r2, %r2, 1;\n"                                                                  \
	"	bra W" #k ";\n"                                                                    \
	"W" #k "E:\n"
#define PARAMS(k) ".param .u64 a" #k ", .param .u32 n" #k ", .param .u32 w" #k ", "
static const char ptx[] =
	".version 7.0\n.target sm_50\n.address_size 64\n"
	".visible .entry touch(" PARAMS(0) PARAMS(1) PARAMS(
		2) ".param .u64 step, .param .u32 v)\n"
		   "{\n"
		   "	.reg .pred %p<2>;\n	.reg .b32 %r<5>;\n	.reg .b64 %rd<3>;\n"
		   "	ld.param.u32 %r1, [v];\n	ld.param.u64 %rd2, [step];\n" READ(0)
			   READ(1) READ(2) WRITE(0) WRITE(1) WRITE(2) "	ret;\n}\n";
static const char empty[] = ".version 7.0\n.target sm_50\n.address_size 64\n"
			    ".visible .entry nothing()\n{\n	ret;\n}\n";

static CUcontext ctx[CONTEXTS];
static CUfunction touch[CONTEXTS];
static CUstream streams[CONTEXTS][STREAMS];
static CUevent events[CONTEXTS][EVENTS];
static bool recorded[CONTEXTS][EVENTS];
static char *memory[BUFFERS]; /* the simulator's device memory is the process's own */
static struct seen seen;

#define MUST(call)                                                                                 \
	do {                                                                                       \
		int r_ = (call);                                                                   \
		if (r_) {                                                                          \
			fprintf(stderr, "schedules: %s: %d\n", #call, r_);                         \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static void open_buffers(void)
{
	for (unsigned b = 0; b < BUFFERS; b++) {
		CUdeviceptr d = 0;
		void *h = NULL;

		switch (buffer_slot[b].kind) {
		case DEVICE:
			MUST(cuMemAlloc(&d, SIZE));
			h = (void *)d;
			break;
		case PINNED:
			MUST(cuMemHostAlloc(&h, SIZE, 0));
			break;
		case MANAGED:
			MUST(cuMemAllocManaged(&d, SIZE, CU_MEM_ATTACH_GLOBAL));
			h = (void *)d;
			break;
		case PAGEABLE:
			h = aligned_alloc(4096, SIZE);
			break;
		case POOL:
		default:
			break;
		}
		memory[b] = h;
	}
}

static bool owned(unsigned s)
{
	return stream_slot[s].kind == BLOCKING || stream_slot[s].kind == NON_BLOCKING;
}

static void new_stream(unsigned c, unsigned s)
{
	MUST(cuStreamCreate(&streams[c][s],
			    stream_slot[s].kind == NON_BLOCKING ? CU_STREAM_NON_BLOCKING : 0));
}

void execute_open(enum view view)
{
	setenv("KRTSAN_SIM_VIEW", view == DOC ? "documented" : "observed", 1);
	MUST(cuInit(0));
	for (unsigned c = 0; c < CONTEXTS; c++) {
		CUmodule m;

		MUST(cuDevicePrimaryCtxRetain(&ctx[c], (int)c));
		MUST(cuCtxSetCurrent(ctx[c]));
		MUST(cuModuleLoadData(&m, ptx));
		MUST(cuModuleGetFunction(&touch[c], m, "touch"));
		for (unsigned s = 0; s < STREAMS; s++)
			if (owned(s))
				new_stream(c, s);
			else
				streams[c][s] = (CUstream)stream_slot[s].handle[c];
		for (unsigned e = 0; e < EVENTS; e++)
			MUST(cuEventCreate(&events[c][e], 0));
	}
	for (unsigned c = 0; c < CONTEXTS; c++) {
		MUST(cuCtxSetCurrent(ctx[c]));
		MUST(cuCtxEnablePeerAccess(ctx[!c], 0));
	}
	MUST(cuCtxSetCurrent(ctx[0]));
	open_buffers();
}

static uint32_t *word(unsigned buffer, unsigned cell)
{
	return (uint32_t *)(memory[buffer] + (size_t)cell * CELL);
}

void execute_reset(void)
{
	for (unsigned c = 0; c < CONTEXTS; c++)
		for (unsigned e = 0; e < EVENTS; e++)
			if (recorded[c][e]) {
				MUST(cuCtxSetCurrent(ctx[c]));
				MUST(cuEventDestroy(events[c][e]));
				MUST(cuEventCreate(&events[c][e], 0));
				recorded[c][e] = false;
			}
	for (unsigned b = 0; b < BUFFERS; b++)
		for (unsigned i = 0; memory[b] && i < CELLS; i++)
			*word(b, i) = 0x01000000u * (b + 1) + i;
	memset(&seen, 0, sizeof(seen));
}

const struct seen *execute_seen(void)
{
	for (unsigned b = 0; b < BUFFERS; b++)
		for (unsigned i = 0; memory[b] && i < CELLS; i++)
			seen.word[b][i] = *word(b, i);
	return &seen;
}

void execute_end(void)
{
	for (unsigned c = 0; c < CONTEXTS; c++) {
		MUST(cuCtxSetCurrent(ctx[c]));
		MUST(cuCtxSynchronize());
	}
}

/* --- operations ------------------------------------------------------------------- */

static uint64_t addr(const struct range *r)
{
	return (uint64_t)word(r->buffer, r->from);
}

static CUresult copy(const struct op *o, CUstream s)
{
	static void (*const form[])(void) = {
#define X(name) (void (*)(void)) name,
		COPIES(X)
#undef X
	};
	typedef CUresult async(uint64_t, uint64_t, size_t, CUstream);
	unsigned f = copy_form(o);

	/* All of them take two addresses and a size; those without a stream leave it alone. */
	return ((async *)form[f])(addr(o->range), addr(o->range + 1), bytes_of(o, o->range), s);
}

static CUresult kernel(const struct op *o, unsigned index, CUstream s)
{
	uint64_t a[3] = {0}, step = CELL;
	uint32_t n[3] = {0}, w[3] = {0}, v = index + 1;
	void *params[] = {&a[0], &n[0], &w[0], &a[1], &n[1], &w[1], &a[2], &n[2], &w[2], &step, &v};

	for (unsigned i = 0; i < o->nranges; i++) {
		a[i] = addr(&o->range[i]);
		n[i] = o->range[i].n;
		w[i] = o->range[i].write;
	}
	return cuLaunchKernel(touch[o->ctx], 1, 1, 1, 1, 1, 1, 0, s, params, NULL);
}

static CUresult batch(const struct op *o, CUstream s)
{
	CUdeviceptr dst[RANGES], src[RANGES];
	size_t size[RANGES], first = 0, n = o->nranges / 2;
	CUmemcpyAttributes attr = {.srcAccessOrder = (CUmemcpySrcAccessOrder)o->order};

	for (size_t i = 0; i < n; i++) {
		dst[i] = addr(&o->range[2 * i]);
		src[i] = addr(&o->range[2 * i + 1]);
		size[i] = bytes_of(o, &o->range[2 * i]);
	}
	return cuMemcpyBatchAsync_v2(dst, src, size, n, &attr, &first, 1, s);
}

static void on_cpu(const struct op *o, unsigned index)
{
	const struct range *r = o->range;

	for (unsigned i = 0; i < r->n; i++)
		if (r->write)
			*word(r->buffer, r->from + i) = 0x00010000u * (index + 1) + i;
		else
			seen.read[index][i] = *word(r->buffer, r->from + i);
}

static const struct program *program;
static int partner[OPS];

void execute_program(const struct program *p)
{
	struct functions f;

	program = p;
	functions_begin(&f);
	for (unsigned i = 0; i < p->n; i++) {
		const struct op *o = &p->op[i];

		partner[i] = -1;
		if (p->left_out[i])
			continue;
		if (o->what == OP_HOSTFN_RUN) {
			partner[i] = f.op[o->node % FUNCTIONS];
			partner[partner[i]] = (int)i;
		}
		functions_step(&f, p, i);
	}
}

int execute_partner(unsigned index)
{
	return partner[index];
}

static void host_function(void *index)
{
	int i = *(const int *)index;

	if (i >= 0)
		on_cpu(&program->op[i], (unsigned)i);
}

static CUresult load(void)
{
	CUmodule m;

	return cuModuleLoadData(&m, empty);
}

static CUresult new_event(unsigned c, unsigned e)
{
	CUresult r = cuEventDestroy(events[c][e]);

	return r ? r : cuEventCreate(&events[c][e], 0);
}

/* It is over in the program: then here it has to be, too. */
static enum did answered(CUresult r, bool ready)
{
	if (r == CUDA_ERROR_NOT_READY)
		return ready ? OTHERWISE : DID;
	return r ? REFUSED : DID;
}

static enum did done_here(const struct op *o, unsigned index, enum view view)
{
	unsigned c = o->event / EVENTS ? !o->ctx : o->ctx;
	CUstream s = streams[o->ctx][o->stream];
	CUevent *ev = &events[c][o->event % EVENTS];
	const struct range *r = o->range;
	CUresult answer = CUDA_SUCCESS;
	float ms;

	if (cuCtxSetCurrent(ctx[o->ctx]))
		return REFUSED;
	switch (o->what) {
	case OP_SET:
		answer = cuMemsetD8Async(addr(r), (unsigned char)(index + 1), r->n * CELL, s);
		break;
	case OP_SET_SYNC:
		answer = (o->stream == THREAD_SLOT ? cuMemsetD8_v2_ptds : cuMemsetD8_v2)(
			addr(r), (unsigned char)(index + 1), r->n * CELL);
		break;
	case OP_SET_ROWS:
		answer = cuMemsetD2D8Async(addr(r), ROW_STEP * CELL, (unsigned char)(index + 1),
					   CELL, r->n, s);
		break;
	case OP_COPY:
	case OP_COPY_SYNC:
		answer = copy(o, s);
		break;
	case OP_COPY_PEER:
		answer = cuMemcpyPeer(addr(r), ctx[o->event % CONTEXTS], addr(r + 1),
				      ctx[o->event2 % CONTEXTS], r->n * CELL);
		break;
	case OP_BATCH:
		answer = batch(o, s);
		break;
	case OP_KERNEL:
		answer = kernel(o, index, s);
		break;
	case OP_RECORD:
	case OP_CTX_RECORD:
		recorded[c][o->event % EVENTS] = true;
		answer = o->what == OP_RECORD ? cuEventRecord(*ev, s)
					      : cuCtxRecordEvent(ctx[o->ctx], *ev);
		break;
	case OP_WAIT:
		answer = cuStreamWaitEvent(s, *ev, 0);
		break;
	case OP_CTX_WAIT:
		answer = cuCtxWaitEvent(ctx[o->ctx], *ev);
		break;
	case OP_EVENT_NEW:
		answer = new_event(c, o->event % EVENTS);
		break;
	case OP_EVENT_SYNC:
		answer = cuEventSynchronize(*ev);
		break;
	case OP_EVENT_QUERY:
		return answered(cuEventQuery(*ev), o->ready);
	case OP_EVENT_ELAPSED: /* documented: an answer is no promise */
		return answered(cuEventElapsedTime(&ms, *ev, events[o->ctx][o->event2]),
				o->ready && view == OBS);
	case OP_STREAM_NEW:
		if (!owned(o->stream))
			break;
		answer = cuStreamDestroy(s);
		new_stream(o->ctx, o->stream);
		break;
	case OP_STREAM_SYNC:
		answer = cuStreamSynchronize(s);
		break;
	case OP_STREAM_QUERY:
		return answered(cuStreamQuery(s), o->ready);
	case OP_CTX_SYNC:
		answer = cuCtxSynchronize();
		break;
	case OP_MODULE_LOAD:
		answer = load();
		break;
	case OP_HOST_READ:
	case OP_HOST_WRITE:
		on_cpu(o, index);
		break;
	case OP_HOSTFN:
		answer = cuLaunchHostFunc(s, host_function, &partner[index]);
		break;
	case OP_HOSTFN_RUN: /* the function does */
		break;
	default:
		return UNKNOWN;
	}
	return answer ? REFUSED : DID;
}

/* --- the second thread ------------------------------------------------------------- */

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool started, asked;
	const struct op *o;
	unsigned index;
	enum view view;
	enum did did;
} second = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void *serve(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&second.lock);
	for (;;) {
		while (!second.asked)
			pthread_cond_wait(&second.changed, &second.lock);
		second.did = done_here(second.o, second.index, second.view);
		second.asked = false;
		pthread_cond_broadcast(&second.changed);
	}
	return NULL;
}

static enum did in_second(const struct op *o, unsigned index, enum view view)
{
	pthread_t t;

	pthread_mutex_lock(&second.lock);
	if (!second.started) {
		MUST(pthread_create(&t, NULL, serve, NULL));
		second.started = true;
	}
	second.o = o;
	second.index = index;
	second.view = view;
	second.asked = true;
	pthread_cond_broadcast(&second.changed);
	while (second.asked)
		pthread_cond_wait(&second.changed, &second.lock);
	pthread_mutex_unlock(&second.lock);
	return second.did;
}

enum did execute(const struct op *o, unsigned index, enum view view)
{
	return o->thread ? in_second(o, index, view) : done_here(o, index, view);
}
