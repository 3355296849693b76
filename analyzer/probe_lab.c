/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probing, inside the child (probe.h).  The main thread makes all CUDA calls; a
 * watchdog thread makes none, and sets the flag that the held kernel waits for
 * once the call has been in the driver for so long: in time that it slept or
 * computed, so that a loaded machine changes no answer.  The kernel also ends by
 * itself after HOLD_END.
 *
 * What both threads share is atomic; everything else is the main thread's.
 */
#define _GNU_SOURCE
#include "probe_lab.h"
#include "probe_child.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MS	  1000000ull
#define HOLD	  (30 * MS)    /* at first; a call that seems to wait is held LONGER times as long */
#define HOLD_SIM  (2 * MS)     /* where the device has no time of its own */
#define LONGER	  5
#define LONG	  (500 * MS)   /* what is held so long is held twice as long then */
#define HOLD_END  (4000 * MS)  /* ns of the device's clock, beyond what it is held */
#define LOOK	  (5 * MS)     /* for an effect that must not show, in time that we compute */
#define LOOKS	  12	       /* and so often at least */
#define DRAIN	  (10000 * MS) /* after that the probe is given up */
#define ENDS	  8	       /* how often it is looked whether a copy is over on return */
#define LANDS	  64	       /* and, if it is not, whether its bytes are there */

const char *lab_ptx(void)
{
	return ".version 6.0\n.target sm_50\n.address_size 64\n"
	       /* spins until [flags] has reached the epoch, or too long; then [flags+4] = epoch */
	       ".visible .entry hold(.param .u64 flags, .param .u32 epoch, .param .u64 end)\n{\n"
	       ".reg .pred %p<3>; .reg .b32 %r<4>; .reg .b64 %rd<6>;\n"
	       "ld.param.u64 %rd1, [flags]; ld.param.u32 %r1, [epoch]; ld.param.u64 %rd2, [end];\n"
	       "mov.u64 %rd3, %globaltimer;\n"
	       "AGAIN: ld.volatile.global.u32 %r2, [%rd1]; setp.ge.u32 %p1, %r2, %r1;\n"
	       "@%p1 bra END;\n"
	       "mov.u64 %rd4, %globaltimer; sub.u64 %rd5, %rd4, %rd3; setp.lt.u64 %p2, %rd5, %rd2;\n"
	       "@%p2 bra AGAIN;\n"
	       "END: st.volatile.global.u32 [%rd1+4], %r1; membar.sys; ret;\n}\n"
	       ".visible .entry mark(.param .u64 at, .param .u32 value)\n{\n"
	       ".reg .b32 %r<2>; .reg .b64 %rd<2>;\n"
	       "ld.param.u64 %rd1, [at]; ld.param.u32 %r1, [value];\n"
	       "st.volatile.global.u32 [%rd1], %r1; membar.sys; ret;\n}\n";
}

int lab_fail(struct lab *l, const char *call, int r)
{
	snprintf(l->why, sizeof(l->why), "%.*s: error %d", (int)strcspn(call, "("), call, r);
	return r ? r : -1;
}

/* --- the driver --- */

static CUresult absent(void)
{
	return CUDA_ERROR_NOT_FOUND;
}

#define TEXT_(x) #x
#define TEXT(x)	 TEXT_(x)

int lab_driver_load(struct lab_driver *cu, const char *library, char *path, size_t len)
{
	void *lib = dlopen(library ? library : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL), *f;
	struct link_map *map;

	if (!lib)
		return -1;
	if (path && !dlinfo(lib, RTLD_DI_LINKMAP, &map))
		snprintf(path, len, "%s", map->l_name);
#define FIND(member, symbol)                                                                       \
	f = dlsym(lib, symbol);                                                                    \
	*(void **)&cu->member = f ? f : (void *)absent;
#define X(f_) FIND(f_, TEXT(f_))
	LAB_CALLS(X)
#undef X
	FIND(cuDeviceGetDevResource, "cuDeviceGetDevResource")
	FIND(cuDevResourceGenerateDesc, "cuDevResourceGenerateDesc")
	FIND(cuCtxSetLimit, "cuCtxSetLimit")
	FIND(cuCheckpointProcessLock, "cuCheckpointProcessLock")
	FIND(cuCheckpointProcessRestore, "cuCheckpointProcessRestore")
	FIND(cuCheckpointProcessUnlock, "cuCheckpointProcessUnlock")
	return 0;
}

/* --- time, and the watchdog --- */

static uint64_t clock_ns(clockid_t c)
{
	struct timespec t;

	clock_gettime(c, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void nap(uint64_t ns)
{
	struct timespec t = {0, (long)ns};

	nanosleep(&t, NULL);
}

/* A turn is one call; odd numbers are under way. */
static struct {
	_Atomic uint32_t turn, released, epoch;
	_Atomic uint64_t hold;
	struct lab_flags *flags;
	pid_t tid;
	clockid_t cpu;
} watch;

/* Never backwards: a late hand of the watchdog's changes nothing. */
static void let_go(struct lab_flags *f, uint32_t epoch)
{
	uint32_t was = atomic_load(&f->go);

	while (was < epoch && !atomic_compare_exchange_weak(&f->go, &was, epoch))
		;
}

static bool asleep(void)
{
	char path[64], buf[512], *p;
	FILE *f;
	size_t n;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", watch.tid);
	f = fopen(path, "re");
	if (!f)
		return true;
	n = fread(buf, 1, sizeof(buf) - 1, f);
	fclose(f);
	buf[n] = 0;
	p = strrchr(buf, ')');
	return !p || p[1] != ' ' || p[2] != 'R';
}

static void *watchdog(void *arg)
{
	uint32_t seen = 0;

	(void)arg;
	for (;;) {
		uint32_t turn = atomic_load(&watch.turn), epoch = atomic_load(&watch.epoch);
		uint64_t cpu = clock_ns(watch.cpu), last = clock_ns(CLOCK_MONOTONIC), slept = 0;

		if (turn == seen || !(turn & 1)) {
			nap(MS / 4);
			continue;
		}
		seen = turn;
		while (atomic_load(&watch.turn) == turn) {
			uint64_t now;

			nap(MS / 2);
			now = clock_ns(CLOCK_MONOTONIC);
			if (asleep())
				slept += now - last < 5 * MS ? now - last : 5 * MS;
			last = now;
			if (slept + (clock_ns(watch.cpu) - cpu) < atomic_load(&watch.hold))
				continue;
			atomic_store(&watch.released, turn);
			let_go(watch.flags, epoch);
			break;
		}
	}
	return NULL;
}

/* --- places and memory --- */

int lab_site_make(struct lab *l, struct lab_site *s, CUcontext ctx, CUdevice dev)
{
	s->ctx = ctx;
	s->dev = dev;
	LAB(cuModuleLoadData(&s->module, lab_ptx()));
	LAB(cuModuleGetFunction(&s->hold, s->module, "hold"));
	LAB(cuModuleGetFunction(&s->mark, s->module, "mark"));
	LAB(cuStreamCreate(&s->own, CU_STREAM_NON_BLOCKING));
	LAB(cuStreamCreate(&s->free, CU_STREAM_NON_BLOCKING));
	LAB(cuStreamCreate(&s->look, CU_STREAM_NON_BLOCKING));
	if (l->cu.cuStreamCreate(&s->block, CU_STREAM_DEFAULT))
		s->block = NULL; /* a green context's streams are non-blocking */
	return 0;
}

bool lab_on_host(enum lab_mem kind)
{
	return kind == LAB_PAGEABLE || kind == LAB_PINNED || kind == LAB_MANAGED;
}

/* Two buffers of each kind, made when first asked for. */
int lab_mem(struct lab *l, enum lab_mem kind, unsigned which, CUdeviceptr *addr)
{
	CUdeviceptr *m = &l->mem[kind][which];
	int yes = 0;

	if (l->p->sets && kind == LAB_PAGEABLE) {
		LAB(cuDeviceGetAttribute(&yes, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS,
					 l->main.dev));
		if (!yes) {
			snprintf(l->why, sizeof(l->why),
				 "the device does not reach pageable memory");
			return -1;
		}
	}
	if (!*m) {
		switch (kind) {
		case LAB_PAGEABLE:
			*m = (CUdeviceptr)(uintptr_t)aligned_alloc(4096, LAB_BYTES);
			break;
		case LAB_PINNED:
			LAB(cuMemHostAlloc((void **)m, LAB_BYTES, CU_MEMHOSTALLOC_PORTABLE));
			break;
		case LAB_MANAGED:
			LAB(cuDeviceGetAttribute(&yes, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS,
						 l->main.dev));
			if (!yes) {
				snprintf(l->why, sizeof(l->why),
					 "the host may not touch managed memory while kernels run here");
				return -1;
			}
			LAB(cuMemAllocManaged(m, LAB_BYTES, CU_MEM_ATTACH_GLOBAL));
			break;
		case LAB_DEVICE:
		case LAB_POOLED:
		case LAB_NR_MEMS:
			LAB(cuMemAlloc(m, LAB_BYTES));
			break;
		}
	}
	*addr = *m;
	return *m ? 0 : lab_fail(l, "malloc", ENOMEM);
}

static int fill(struct lab *l, CUdeviceptr addr, enum lab_mem kind, int value)
{
	if (lab_on_host(kind)) {
		memset((void *)(uintptr_t)addr, value, LAB_BYTES);
		return 0;
	}
	LAB(cuMemsetD8Async(addr, (unsigned char)value, LAB_BYTES, l->main.look));
	LAB(cuStreamSynchronize(l->main.look));
	return 0;
}

/*
 * Is the stream idle?  Asked so often that a device which works only while
 * somebody asks gets somewhere, and no longer than LOOK.
 */
static bool idle_soon(struct lab *l, CUstream s)
{
	uint64_t from = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	/* each question lets a device without time of its own work, the more the more are asked */
	for (unsigned i = 0; i < (l->simulated ? LOOKS / 2 : LOOKS) ||
			     (!l->simulated && clock_ns(CLOCK_THREAD_CPUTIME_ID) - from < LOOK / 5);
	     i++)
		if (l->cu.cuStreamQuery(s) == CUDA_SUCCESS)
			return true;
	return false;
}

int lab_byte(struct lab *l, CUdeviceptr addr, enum lab_mem kind, size_t at)
{
	static uint8_t *window;

	if (lab_on_host(kind))
		return *(volatile uint8_t *)(uintptr_t)(addr + at);
	if (!window && l->cu.cuMemHostAlloc((void **)&window, 4096, CU_MEMHOSTALLOC_PORTABLE))
		return -1;
	/* the look itself may have to wait for what is held */
	if (!idle_soon(l, l->main.look) ||
	    l->cu.cuMemcpyDtoHAsync(window, addr + at, 1, l->main.look) ||
	    !idle_soon(l, l->main.look))
		return -1;
	return *window;
}

/* --- a second process --- */

int lab_peer_start(struct lab *l, const char *what)
{
	extern char **environ;
	char flag[64], *argv[] = {"krtsan", "doctor", flag, (char *)l->library, NULL};
	int to[2], from[2], r;
	posix_spawn_file_actions_t fa;

	lab_peer_end(l);
	snprintf(flag, sizeof(flag), "--peer=%s", what);
	if (pipe2(to, O_CLOEXEC) || pipe2(from, O_CLOEXEC))
		return lab_fail(l, "pipe", errno);
	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_adddup2(&fa, to[0], 0);
	posix_spawn_file_actions_adddup2(&fa, from[1], 1);
	r = posix_spawn(&l->pid, "/proc/self/exe", &fa, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&fa);
	close(to[0]);
	close(from[1]);
	l->to = to[1];
	l->from = from[0];
	if (r)
		l->pid = 0;
	return r ? lab_fail(l, "posix_spawn", r) : 0;
}

void lab_peer_end(struct lab *l)
{
	if (l->to)
		close(l->to);
	if (l->from)
		close(l->from);
	if (l->pid)
		waitpid(l->pid, NULL, 0);
	l->pid = l->to = l->from = 0;
}

/* --- one trial --- */

static struct lab_site *site_of(struct lab *l, enum lab_where where)
{
	if (where == LAB_CTX2)
		return &l->second;
	if (where == LAB_DEV2)
		return &l->device2;
	return where == LAB_OWN && l->p->own == KRT_OWN_DOOMED ? &l->doomed : &l->main;
}

static CUstream stream_of(struct lab *l, enum lab_where where)
{
	struct lab_site *s = site_of(l, where);

	switch (where) {
	case LAB_OWN:
		return l->p->own == KRT_OWN_LEGACY ? NULL :
		       l->p->own == KRT_OWN_STREAM ? s->own :
						     s->free;
	case LAB_BLOCK:
		return s->block;
	case LAB_GONE:
		return NULL; /* made for it */
	default:
		return s->free;
	}
}

static uint64_t hold_time(const struct lab *l)
{
	return l->simulated ? HOLD_SIM : HOLD;
}

static const char *const where_text[] = {
	[LAB_OWN] = "what it waits for or enqueues on",
	[LAB_BLOCK] = "a blocking stream",
	[LAB_FREE] = "another stream",
	[LAB_CTX2] = "another context",
	[LAB_DEV2] = "another device",
	[LAB_GONE] = "a stream that is gone",
};

/* The kernel, held, and an event behind it; that of a probe of events is always its own stream's. */
static int hold(struct lab *l, enum lab_where where)
{
	struct lab_site *s = site_of(l, where);
	uint64_t flags = (uint64_t)(uintptr_t)l->flags;
	uint64_t end = l->simulated ? UINT64_MAX / 4 : HOLD_END + 2 * l->longest;
	uint32_t epoch = ++l->epoch;
	void *args[] = {&flags, &epoch, &end};
	CUstream on = stream_of(l, where);

	snprintf(l->at, KRT_PROBE_AT, "beside a kernel of %s", where_text[where]);
	if (s != &l->main)
		LAB(cuCtxSetCurrent(s->ctx));
	if (where == LAB_GONE)
		LAB(cuStreamCreate(&on, CU_STREAM_DEFAULT));
	LAB(cuLaunchKernel(s->hold, 1, 1, 1, 1, 1, 1, 0, on, args, NULL));
	if (s != &l->main)
		LAB(cuCtxSetCurrent(l->main.ctx));
	if (l->p->kind == KRT_PROBE_EVENT)
		LAB(cuEventRecord(l->held, l->main.own));
	else if (s == &l->main)
		LAB(cuEventRecord(l->held, on));
	if (where == LAB_GONE)
		LAB(cuStreamDestroy(on));
	return 0;
}

/* Not yet at its end, or ended before it got there. */
static bool held(const struct lab *l)
{
	return atomic_load(&l->flags->done) != l->epoch;
}

static void release(struct lab *l)
{
	let_go(l->flags, l->epoch);
	atomic_store(&l->flags->word, 1);
	atomic_store(&l->flags->word64, 1);
}

/* Everything of ours has ended; a driver that does not get there is given up. */
static int drain(struct lab *l)
{
	uint64_t from = clock_ns(CLOCK_MONOTONIC);

	release(l);
	while (held(l)) {
		l->cu.cuEventQuery(l->held); /* a driver that hands work on lazily does so now */
		if (clock_ns(CLOCK_MONOTONIC) - from > DRAIN) {
			if (l->p->kind == KRT_PROBE_CONTEXT)
				return 0; /* the kernel went with its context */
			return lab_fail(l, "the kernel did not end", CUDA_ERROR_LAUNCH_TIMEOUT);
		}
		if (l->p->kind == KRT_PROBE_CONTEXT && clock_ns(CLOCK_MONOTONIC) - from > 200 * MS)
			return 0;
	}
	LAB(cuCtxSynchronize());
	if (l->second.ctx) {
		LAB(cuCtxSetCurrent(l->second.ctx));
		LAB(cuCtxSynchronize());
		LAB(cuCtxSetCurrent(l->main.ctx));
	}
	return 0;
}

static int prepare(struct lab *l)
{
	const struct lab_probe *p = l->p;
	int r;

	l->stream = p->own == KRT_OWN_STREAM || p->own == KRT_OWN_OTHER ? l->main.own : NULL;
	atomic_store(&l->flags->mark, 0);
	atomic_store(&l->flags->word, 0);
	atomic_store(&l->flags->word64, 0);
	r = p->make ? p->make(l) : 0;
	if (!r && (p->copies || p->sets))
		r = fill(l, l->dst, p->dst, LAB_OLD);
	if (!r && p->copies)
		r = fill(l, l->src, p->src, LAB_GOOD);
	return r;
}

static void drop(struct lab *l)
{
	if (l->p->drop)
		l->p->drop(l);
}

/* The call, watched.  *early: it returned before the flag was set. */
static int watched(struct lab *l, uint64_t ns, bool *early)
{
	uint32_t turn;
	int r;

	atomic_store(&watch.epoch, l->epoch);
	atomic_store(&watch.hold, ns);
	turn = atomic_fetch_add(&watch.turn, 1) + 1;
	r = l->p->act(l);
	*early = atomic_load(&watch.released) != turn;
	atomic_fetch_add(&watch.turn, 1);
	return r;
}

/* How long the call takes when nothing runs, ns: the second time. */
static int idle_time(struct lab *l, uint64_t *ns)
{
	l->longest = 0;
	for (unsigned i = 0; i < 2; i++) {
		int r = prepare(l), q;

		if (!r) {
			/* waits and queries want an event and a kernel that has ended */
			r = hold(l, LAB_FREE);
			release(l);
			if (!r)
				r = (int)l->cu.cuStreamSynchronize(l->main.free);
		}
		if (!r) {
			uint64_t from = clock_ns(CLOCK_MONOTONIC);

			release(l);
			r = l->p->act(l);
			*ns = clock_ns(CLOCK_MONOTONIC) - from;
			release(l);
		}
		q = drain(l);
		drop(l);
		if (r || q)
			return r ? r : q;
	}
	return 0;
}

/* Does the call return only after the kernel there has ended?  1, 0; negative: why is told. */
static int waits(struct lab *l, enum lab_where where, uint64_t idle)
{
	uint64_t ns = hold_time(l) + 4 * idle, longer = ns * (ns > LONG ? 2 : LONGER);

	l->longest = longer;
	for (unsigned again = 0;; again++) {
		bool early = false, pending = false;
		int r = prepare(l), q;

		if (!r)
			r = hold(l, where);
		if (!r) {
			r = watched(l, again ? longer : ns, &early);
			pending = held(l);
		}
		q = drain(l);
		drop(l);
		if (r || q)
			return -1;
		if (early && !pending) {
			snprintf(l->why, sizeof(l->why), "the kernel ended before it should");
			return -1;
		}
		if (early || (again && pending)) {
			if (l->p->kind == KRT_PROBE_CONTEXT && where == LAB_OWN)
				snprintf(l->why, sizeof(l->why), "the kernel %s",
					 held(l) ? "was ended with it" : "went on");
			return 0;
		}
		if (again)
			return 1;
	}
}

/* Does its effect stay away while the kernel there is held? */
static int effect_waits(struct lab *l, enum lab_where where)
{
	bool shown = false, came = false;
	int r = prepare(l), q;

	l->longest = LONGER * hold_time(l);
	if (!r)
		r = hold(l, where);
	if (!r) {
		bool early;

		r = watched(l, LONGER * hold_time(l), &early);
		for (unsigned i = 0; !r && early && !shown && held(l) && i < 5; i++) {
			idle_soon(l, l->stream);
			shown = l->p->seen(l) > 0;
		}
		shown &= held(l);
	}
	q = drain(l);
	for (unsigned i = 0; !r && !q && !came && i < LOOKS; i++)
		came = l->p->seen(l) > 0;
	drop(l);
	if (r || q)
		return -1;
	if (!came) {
		snprintf(l->why, sizeof(l->why), "its effect never showed");
		return -1;
	}
	return !shown;
}

/* Are the bytes of a copy there for whatever is enqueued after the call returned, each time? */
static int landed(struct lab *l)
{
	for (unsigned i = 0; i < LANDS; i++) {
		int r = prepare(l), got;

		if (!r)
			r = l->p->act(l);
		got = r ? -1 : lab_byte(l, l->dst, l->p->dst, l->p->bytes - 1);
		if (!r && drain(l))
			r = -1;
		drop(l);
		if (r || got != LAB_GOOD)
			return r ? -1 : 0;
	}
	return 1;
}

/*
 * Is the operation over when the call returns, each time?  A synchronous copy whose
 * stream says no for a moment is, if nothing that comes later can tell.
 */
static int over_on_return(struct lab *l)
{
	for (unsigned i = 0; i < ENDS; i++) {
		int r = prepare(l), q;

		if (!r)
			r = l->p->act(l);
		q = r ? 0 : (int)l->cu.cuStreamQuery(l->stream);
		if (!r && drain(l))
			r = -1;
		drop(l);
		if (r)
			return -1;
		if (!q)
			continue;
		if (!l->p->copies || l->p->own != KRT_OWN_LEGACY || lab_on_host(l->p->dst) || landed(l) != 1)
			return 0;
		snprintf(l->why, sizeof(l->why), "its stream is pending on return; later work found all bytes");
		return 1;
	}
	return 1;
}

/* Which value arrives when the source is changed at once after the call. */
static int source_taken(struct lab *l, uint64_t idle)
{
	int r = prepare(l), q, got = -1;
	bool early;

	if (!r)
		r = hold(l, LAB_OWN);
	if (!r)
		r = watched(l, hold_time(l) + 4 * idle, &early);
	if (!r)
		memset((void *)(uintptr_t)l->src, LAB_LATE, l->p->bytes);
	q = drain(l);
	if (!r && !q) {
		int first = lab_byte(l, l->dst, l->p->dst, 0);

		got = lab_byte(l, l->dst, l->p->dst, l->p->bytes - 1);
		got = got == LAB_GOOD && first == LAB_GOOD;
	}
	drop(l);
	return got;
}

static void change_source(void *arg)
{
	struct lab *l = arg;

	memset((void *)(uintptr_t)l->src, LAB_LATE, l->p->bytes);
}

/* And when earlier work of its stream changes it: 1, it took that. */
static int source_in_order(struct lab *l, uint64_t idle)
{
	int r = prepare(l), q, got = -1;
	bool early;

	if (!r)
		r = hold(l, LAB_OWN);
	if (!r && lab_on_host(l->p->src))
		r = (int)l->cu.cuLaunchHostFunc(l->stream, change_source, l);
	else if (!r)
		r = (int)l->cu.cuMemsetD8Async(l->src, LAB_LATE, l->p->bytes, l->stream);
	if (!r)
		r = watched(l, hold_time(l) + 4 * idle, &early);
	q = drain(l);
	if (!r && !q)
		got = lab_byte(l, l->dst, l->p->dst, l->p->bytes - 1) == LAB_LATE;
	drop(l);
	return got;
}

/* --- one probe --- */

static void say(struct krt_measured *m, const char *text)
{
	size_t n = strlen(m->note);

	snprintf(m->note + n, sizeof(m->note) - n, "%s%.150s", n ? "; " : "", text);
}

static void measure_order(struct lab *l, struct krt_measured *m)
{
	const struct lab_site *beyond = lab_peer_site(l);
	bool other = l->p->own == KRT_OWN_OTHER;
	int own = effect_waits(l, LAB_OWN), free, peer;

	if (own < 0) {
		say(m, l->why);
		return;
	}
	/* is it the stream alone? */
	free = own && l->p->row != KRT_SEM_STREAM_WAIT && l->p->row != KRT_SEM_WAIT_VALUE &&
			       l->p->row != KRT_SEM_EXT_SEM_WAIT ?
		       effect_waits(l, LAB_FREE) :
		       0;
	peer = free > 0 && !other && beyond->ctx ?
		       effect_waits(l, beyond == &l->device2 ? LAB_DEV2 : LAB_CTX2) :
		       0;
	if (free < 0 || peer < 0) {
		say(m, l->why);
		return;
	}
	m->order = peer ? KRT_ORDER_CONTEXTS :
		   free ? KRT_ORDER_CONTEXT :
		   own	? KRT_ORDER_FIFO :
			  KRT_ORDER_NONE;
	m->measured |= KRT_MEASURED_ORDER;
	/* what it waited for is then the operation's affair, not the host's */
	if (free && KRT_EDGE_HAS(m->edge, KRT_EDGE_CONTEXT))
		m->edge = over_on_return(l) == 1 ? KRT_EDGE_OP : KRT_EDGE_EARLIER;
}

static void measure_copy(struct lab *l, struct krt_measured *m, uint64_t idle)
{
	int in_order = source_in_order(l, idle), taken;

	if (in_order >= 0) {
		m->read = in_order ? KRT_READ_IN_ORDER : KRT_READ_AT_CALL;
		m->measured |= KRT_MEASURED_READ;
	}
	if (!lab_on_host(l->p->src) || KRT_EDGE_HAS(m->edge, KRT_EDGE_OP))
		return;
	taken = source_taken(l, idle);
	if (taken < 0)
		return;
	if (taken)
		m->edge |= KRT_EDGE_SRC;
	m->measured |= KRT_MEASURED_SRC;
}

static int measure_edge(struct lab *l, struct krt_measured *m, uint64_t idle)
{
	const struct lab_probe *p = l->p;
	int own = 0, block, free, more = 0, gone;

	if (p->own != KRT_OWN_NONE && p->own != KRT_OWN_OTHER && (own = waits(l, LAB_OWN, idle)) < 0)
		return -1;
	if ((block = waits(l, LAB_BLOCK, idle)) < 0 || (free = waits(l, LAB_FREE, idle)) < 0)
		return -1;
	if (free && l->second.ctx && (more = waits(l, LAB_CTX2, idle)) < 0)
		return -1;
	if (more && l->device2.ctx && waits(l, LAB_DEV2, idle) > 0)
		more = 2;
	if (free && block && (own || p->kind != KRT_PROBE_CONTEXT)) {
		m->edge |= more == 2 ? KRT_EDGE_ALL : more ? KRT_EDGE_DEVICE : KRT_EDGE_CONTEXT;
	} else if (own) {
		switch (p->kind) {
		case KRT_PROBE_STREAM:
			m->edge |= block ? KRT_EDGE_BLOCKING : KRT_EDGE_STREAM;
			break;
		case KRT_PROBE_EVENT:
			m->edge |= KRT_EDGE_EVENT;
			break;
		case KRT_PROBE_CONTEXT:
			m->edge |= KRT_EDGE_CONTEXT;
			break;
		case KRT_PROBE_OP:
		case KRT_PROBE_CALL:
		case KRT_PROBE_ASIDE:
			m->edge |= KRT_EDGE_EARLIER;
			if (over_on_return(l) == 1)
				m->edge |= KRT_EDGE_OP;
			break;
		}
	} else if (block) {
		m->edge |= KRT_EDGE_BLOCKING;
	}
	if (p->kind == KRT_PROBE_EVENT && own)
		m->edge |= KRT_EDGE_EVENT;
	m->measured |= KRT_MEASURED_EDGE;
	if (p->row == KRT_SEM_STREAM_SYNC_LEGACY && (gone = waits(l, LAB_GONE, idle)) >= 0)
		say(m, gone ? "also for work of a blocking stream that was destroyed" :
			      "not for work of a blocking stream that was destroyed");
	return 0;
}

/* From how many bytes on the copy waits: its row has a limit, and 4 MiB wait. */
static void say_limit(struct lab *l, struct krt_measured *m, uint64_t idle)
{
	const struct lab_probe *const all = l->p;
	struct lab_probe p = *all;
	uint32_t low = 1, high = all->bytes;
	char text[64];

	l->p = &p; /* given back below */
	while (high - low > 1) {
		int r;

		p.bytes = low + (high - low) / 2;
		r = waits(l, LAB_OWN, idle);
		if (r < 0)
			break;
		*(r ? &high : &low) = p.bytes;
	}
	l->p = all;
	snprintf(text, sizeof(text), high - low > 1 ? "" : "waits from %u bytes on", high);
	say(m, text);
}

/* Which contexts a call waits for that may be the other context's affair. */
static int measure_aside(struct lab *l, struct krt_measured *m, uint64_t idle)
{
	int current = waits(l, LAB_FREE, idle), its = current < 0 ? -1 : waits(l, LAB_CTX2, idle);

	if (its < 0)
		return -1;
	say(m, current && its ? "waits for the current and the other context" :
	       current	      ? "waits for the current context alone" :
	       its	      ? "waits for the other context alone" :
				"waits for no context");
	return 0;
}

static void measure(struct lab *l, const struct lab_probe *p, struct krt_measured *m)
{
	bool aside = p->kind == KRT_PROBE_ASIDE;
	uint64_t idle = 0;

	l->p = p;
	l->why[0] = 0;
	if (idle_time(l, &idle) ||
	    (aside ? measure_aside(l, m, idle) : measure_edge(l, m, idle))) {
		say(m, l->why);
		return;
	}
	if (*l->why)
		say(m, l->why);
	if (p->row == KRT_SEM_ASYNC_PAGEABLE_TO_DEVICE && p->bytes == LAB_BYTES &&
	    KRT_EDGE_HAS(m->edge, KRT_EDGE_EARLIER))
		say_limit(l, m, idle);
	if (p->copies)
		measure_copy(l, m, idle);
	if (p->seen)
		measure_order(l, m);
}

/* --- the process --- */

static int second_site(struct lab *l, struct lab_site *s, CUdevice dev)
{
	CUcontext c;
	int r;

	LAB(cuCtxCreate_v2(&c, 0, dev));
	r = lab_site_make(l, s, c, dev);
	if (r)
		s->ctx = NULL;
	l->cu.cuCtxSetCurrent(l->main.ctx);
	return r;
}

static int lab_open(struct lab *l, const char *library, struct krt_probe_driver *d)
{
	pthread_t t;
	CUcontext c;
	CUdevice dev;
	FILE *f;

	l->library = library ? library : "libcuda.so.1";
	l->simulated = library != NULL;
	if (lab_driver_load(&l->cu, library, d->path, sizeof(d->path))) {
		snprintf(l->why, sizeof(l->why), "libcuda.so.1 cannot be loaded");
		return -1;
	}
	LAB(cuInit(0));
	LAB(cuDriverGetVersion(&d->version));
	LAB(cuDeviceGetCount(&d->devices));
	LAB(cuDeviceGet(&dev, 0));
	LAB(cuDeviceGetName(d->device, sizeof(d->device), dev));
	f = library ? NULL : fopen("/sys/module/nvidia/version", "re");
	if (f) {
		if (!fgets(d->release, sizeof(d->release), f))
			d->release[0] = 0;
		d->release[strcspn(d->release, "\n")] = 0;
		fclose(f);
	}
	LAB(cuCtxCreate_v2(&c, CU_CTX_MAP_HOST, dev));
	if (lab_site_make(l, &l->main, c, dev))
		return -1;
	if (!l->main.block)
		return lab_fail(l, "cuStreamCreate", CUDA_ERROR_UNKNOWN);
	LAB(cuMemHostAlloc((void **)&l->flags, 4096,
			   CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP));
	memset((void *)l->flags, 0, 4096);
	LAB(cuEventCreate(&l->held, CU_EVENT_DEFAULT));
	second_site(l, &l->second, dev);
	if (d->devices > 1 && !l->cu.cuDeviceGet(&dev, 1))
		second_site(l, &l->device2, dev);
	watch.tid = (pid_t)syscall(SYS_gettid);
	pthread_getcpuclockid(pthread_self(), &watch.cpu);
	watch.flags = l->flags;
	if (pthread_create(&t, NULL, watchdog, NULL))
		return lab_fail(l, "pthread_create", EAGAIN);
	return 0;
}

static bool put(int fd, const void *data, size_t n)
{
	return write(fd, data, n) == (ssize_t)n;
}

/*
 * Probes from number `first` on, each told of on fd: first a krt_probe_driver
 * (version 0: it is why in path), then a krt_measured each.
 */
void krt_probe_child(const char *library, unsigned first, int fd, char at[KRT_PROBE_AT])
{
	static struct lab l = {0};
	struct krt_probe_driver d = {.version = 0};

	l.at = at;
	unsetenv("CUDA_LAUNCH_BLOCKING");
	setenv("CUDA_CACHE_DISABLE", "1", 1);
	setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 1); /* no two streams in one queue */
	if (lab_open(&l, library, &d)) {
		d.version = 0;
		snprintf(d.path, sizeof(d.path), "%s", l.why);
		put(fd, &d, sizeof(d));
		return;
	}
	put(fd, &d, sizeof(d));
	for (unsigned i = first; i < krt_nr_probes; i++) {
		struct krt_measured m = {0};

		snprintf(at, KRT_PROBE_AT, "with nothing beside it");
		measure(&l, &lab_probes[i], &m);
		if (!put(fd, &m, sizeof(m)))
			return;
		/* a context that failed tells nothing more */
		if (l.cu.cuCtxSynchronize())
			return;
	}
}

int krt_probe_peer(const char *what, const char *library)
{
	static struct lab l;
	CUipcMemHandle h;
	CUcontext c;
	CUdeviceptr addr;
	pid_t parent = getppid();
	char byte = 'r';
	int r[2] = {0, 0};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (lab_driver_load(&l.cu, library, NULL, 0) || l.cu.cuInit(0))
		return 1;
	if (!strcmp(what, "memory")) {
		if (l.cu.cuCtxCreate_v2(&c, 0, 0) || l.cu.cuMemAlloc(&addr, LAB_BYTES) ||
		    l.cu.cuIpcGetMemHandle(&h, addr))
			return 1;
		put(1, &h, sizeof(h));
		while (read(0, &byte, 1) > 0)
			;
		return 0;
	}
	put(1, &byte, 1);
	if (read(0, &byte, 1) != 1)
		return 1;
	r[0] = (int)l.cu.cuCheckpointProcessLock(parent, NULL);
	if (!r[0]) {
		r[1] = 1;
		r[0] = (int)l.cu.cuCheckpointProcessCheckpoint(parent, NULL);
		/* until it is restored the parent has no pinned memory to look at */
		if (!r[0])
			l.cu.cuCheckpointProcessRestore(parent, NULL);
		l.cu.cuCheckpointProcessUnlock(parent, NULL);
	}
	put(1, r, sizeof(r));
	return 0;
}
