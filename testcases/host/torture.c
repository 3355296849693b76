/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many threads, many pinned, registered and managed buffers, and everything that a
 * program does with them on the CPU's side: the right bytes are known at each step.
 *
 *   torture [buffers [largest [rounds [plain]]]]      torture.py runs it
 *
 * Each of the THREADS threads owns a slice of the buffers, and hands it to the next
 * thread after each round.  All of that is legal.  Then each thread commits one race:
 * the lines marked RACE(...), which the findings must name and nothing else ("plain":
 * they are left out).  A planted write puts the bytes there that are there already.
 * The program's own SIGSEGV handler is in use all the time.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "prog.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>

enum { THREADS = 16, PAGE = 4096, PLANT_BYTES = 16 * PAGE, MIDDLE = 4 * PAGE, SOME = 64 };

/* The program says which line it means to be named. */
#define RACE(rule) printf("RACE %s %d\n", rule, __LINE__ + 1)
/* Behind an access: no other line's may be made one with it. */
#define APART __asm__ volatile("" : : "i"(__LINE__))
#define READ  "KRT-HOST-READ-RACE"
#define WRITE "KRT-HOST-WRITE-RACE"

enum kind { PINNED, REGISTERED, MANAGED, KINDS };

struct buffer {
	char *host;
	CUdeviceptr device;
	size_t bytes;
	uint64_t seed; /* what both hold */
	enum kind kind;
};

struct worker {
	unsigned id;
	pthread_t thread;
	CUstream stream, other;
	CUevent event;
	uint64_t random;
	char *hole; /* a page of its own that is protected again and again */
	int pipe[2], pair[2], file;
	FILE *stdio;
	struct buffer plant;
};

static CUcontext context;
static struct buffer *buffers;
static unsigned nbuffers = 1000, rounds = 2;
static size_t largest = 256 << 10;
static bool plain;
static pthread_barrier_t meet;
static struct worker workers[THREADS];

static uint64_t pick(struct worker *w, uint64_t n)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return w->random % n;
}

static char byte_of(uint64_t seed, size_t at)
{
	return (char)((seed * 0x9e3779b97f4a7c15ull >> 32) + at * 7 + (at >> 8));
}

/* Each byte of a small buffer; of a large one some of each page. */
static size_t step(size_t bytes)
{
	return bytes <= 2 * PAGE ? 1 : 509;
}

static void fill(char *p, size_t bytes, uint64_t seed)
{
	for (size_t i = 0; i < bytes; i += step(bytes))
		p[i] = byte_of(seed, i);
	p[bytes - 1] = byte_of(seed, bytes - 1);
}

static void check(const char *p, size_t bytes, uint64_t seed, int line)
{
	for (size_t i = 0; i < bytes; i += step(bytes))
		if (p[i] != byte_of(seed, i)) {
			fprintf(stderr, "%s:%d: byte %zu of %zu is wrong\n", __FILE__, line, i,
				bytes);
			exit(3);
		}
	if (p[bytes - 1] != byte_of(seed, bytes - 1))
		prog_die(__FILE__, line, "the last byte", -1);
}
#define CHECK_BYTES(b) check((b)->host, (b)->bytes, (b)->seed, __LINE__)

/* ---- faults of the program's own ---- */

static _Atomic unsigned long faults_met, faults_made;

static void on_fault(int sig, siginfo_t *si, void *uc)
{
	char *page = (char *)((uintptr_t)si->si_addr & ~(uintptr_t)(PAGE - 1));

	(void)sig;
	(void)uc;
	for (unsigned i = 0; i < THREADS; i++)
		if (page == workers[i].hole && !mprotect(page, PAGE, PROT_READ | PROT_WRITE)) {
			faults_met++;
			return;
		}
	write(2, "a fault that is not the program's\n", 34);
	_exit(4);
}

static void own_fault(struct worker *w)
{
	MUST(!mprotect(w->hole, PAGE, PROT_NONE));
	faults_made++;
	*(volatile char *)w->hole = 1;
	MUST(w->hole[0] == 1);
}

/* ---- legal work ---- */

static void upload(struct worker *w, struct buffer *b)
{
	CU(cuMemcpyHtoDAsync(b->device, b->host, b->bytes, w->stream));
}

static void wait_for(struct worker *w)
{
	CUresult r;

	switch (pick(w, 6)) {
	case 0:
		CU(cuEventRecord(w->event, w->stream));
		CU(cuEventSynchronize(w->event));
		break;
	case 1:
		CU(cuEventRecord(w->event, w->stream));
		while ((r = cuEventQuery(w->event)) == CUDA_ERROR_NOT_READY)
			;
		CU(r);
		break;
	case 2:
		while ((r = cuStreamQuery(w->stream)) == CUDA_ERROR_NOT_READY)
			;
		CU(r);
		break;
	case 3: /* by way of another stream */
		CU(cuEventRecord(w->event, w->stream));
		CU(cuStreamWaitEvent(w->other, w->event, 0));
		CU(cuStreamSynchronize(w->other));
		break;
	case 4:
		if (!pick(w, 8)) {
			CU(cuCtxSynchronize());
			break;
		}
		/* fall through */
	default:
		CU(cuStreamSynchronize(w->stream));
	}
}

static void round_trip(struct worker *w, struct buffer *b)
{
	b->seed = w->random;
	fill(b->host, b->bytes, b->seed);
	upload(w, b);
	CHECK_BYTES(b); /* an upload's source may be read */
	wait_for(w);
	memset(b->host, 0x55, b->bytes);
	CU(cuMemcpyDtoHAsync(b->host, b->device, b->bytes, w->stream));
	wait_for(w);
	CHECK_BYTES(b);
}

/* Two halves, the pages of one in flight while the other is used. */
static void halves(struct worker *w, struct buffer *b)
{
	size_t half = b->bytes / 2 & ~(size_t)(PAGE - 1), n = b->bytes - half;
	char *rest = b->host + half;

	if (!half)
		return;
	CU(cuMemcpyDtoHAsync(b->host, b->device, half, w->stream));
	memset(rest, 0, n < SOME ? n : SOME);
	for (size_t i = 0; i < n; i += step(b->bytes))
		rest[i] = byte_of(b->seed, half + i);
	fill(b->host + b->bytes - 1, 1, 0);
	wait_for(w);
	fill(b->host, b->bytes, b->seed);
	upload(w, b);
	CHECK_BYTES(b);
	wait_for(w);
}

/* The kernel and stdio read a source in flight, and write what is not. */
static void files(struct worker *w, struct buffer *b)
{
	char head[SOME];
	size_t n = b->bytes < SOME ? b->bytes : SOME;
	struct iovec v[2] = {{b->host, n / 2}, {b->host + n / 2, n - n / 2}};
	struct msghdr m = {.msg_iov = v, .msg_iovlen = 2};

	memcpy(head, b->host, n);
	upload(w, b);
	MUST(pwrite(w->file, b->host, b->bytes, 0) == (ssize_t)b->bytes);
	MUST(write(w->pipe[1], b->host, n) == (ssize_t)n);
	MUST(writev(w->pipe[1], v, 2) == (ssize_t)n);
	MUST(send(w->pair[0], b->host, n, 0) == (ssize_t)n);
	MUST(sendmsg(w->pair[0], &m, 0) == (ssize_t)n);
	rewind(w->stdio);
	MUST(fwrite(b->host, 1, b->bytes, w->stdio) == b->bytes && !fflush(w->stdio));
	wait_for(w);
	memset(b->host, 0, n);
	MUST(read(w->pipe[0], b->host, n) == (ssize_t)n && !memcmp(b->host, head, n));
	memset(b->host, 0, n);
	MUST(readv(w->pipe[0], v, 2) == (ssize_t)n && !memcmp(b->host, head, n));
	memset(b->host, 0, n);
	MUST(recv(w->pair[1], b->host, n, MSG_WAITALL) == (ssize_t)n && !memcmp(b->host, head, n));
	memset(b->host, 0, n);
	MUST(recvmsg(w->pair[1], &m, MSG_WAITALL) == (ssize_t)n && !memcmp(b->host, head, n));
	memset(b->host, 0, b->bytes);
	MUST(pread(w->file, b->host, b->bytes, 0) == (ssize_t)b->bytes);
	CHECK_BYTES(b);
	memset(b->host, 0, b->bytes);
	rewind(w->stdio);
	MUST(fread(b->host, 1, b->bytes, w->stdio) == b->bytes);
	CHECK_BYTES(b);
}

/* The program protects and advises memory itself, in flight and not. */
static void advise(struct worker *w, struct buffer *b)
{
	char *page = (char *)((uintptr_t)b->host & ~(uintptr_t)(PAGE - 1));

	if (b->kind != REGISTERED || b->bytes < PAGE)
		return;
	upload(w, b);
	MUST(!madvise(page, b->bytes, MADV_WILLNEED));
	wait_for(w);
	b->host[0] = b->host[0];
	MUST(!mprotect(page, PAGE, PROT_READ));
	upload(w, b);
	CHECK_BYTES(b);
	wait_for(w);
	MUST(!mprotect(page, PAGE, PROT_READ | PROT_WRITE));
	CHECK_BYTES(b);
}

/* A child sees the memory of the moment, whatever is in flight. */
static void forked(struct worker *w, struct buffer *b)
{
	int status;
	pid_t child;

	if (b->kind != REGISTERED)
		return;
	upload(w, b);
	child = fork();
	MUST(child >= 0);
	if (!child) {
		if (b->host[b->bytes - 1] != byte_of(b->seed, b->bytes - 1))
			_exit(1);
		b->host[b->bytes - 1] = 0;
		b->host[0] = 1;
		_exit(write(w->pipe[1], b->host, 1) != 1);
	}
	MUST(waitpid(child, &status, 0) == child && !status);
	MUST(read(w->pipe[0], &status, 1) == 1);
	wait_for(w);
	CHECK_BYTES(b);
}

static void legal(struct worker *w, unsigned round)
{
	unsigned slice = (w->id + round) % THREADS;

	for (unsigned i = slice; i < nbuffers; i += THREADS) {
		struct buffer *b = &buffers[i];

		round_trip(w, b);
		if (pick(w, 4) == 0)
			halves(w, b);
		if (pick(w, 4) == 0)
			files(w, b);
		if (pick(w, 8) == 0)
			advise(w, b);
		if (pick(w, 32) == 0)
			forked(w, b);
		if (pick(w, 4) == 0)
			own_fault(w);
	}
}

/* ---- races, one a thread ---- */

static void down(struct worker *w)
{
	CU(cuMemcpyDtoHAsync(w->plant.host, w->plant.device, PLANT_BYTES, w->stream));
}

static void up(struct worker *w)
{
	upload(w, &w->plant);
}

static void race(struct worker *w)
{
	char *p = w->plant.host + MIDDLE, head[SOME];
	volatile char *v = p;
	struct iovec piece = {p, SOME};
	struct msghdr m = {.msg_iov = &piece, .msg_iovlen = 1};

	memcpy(head, p, SOME);
	switch (w->id) {
	case 0:
	case 1: /* of registered memory */
	case 2: /* of managed memory */
		up(w);
		if (w->id == 0) {
			RACE(WRITE);
			*v = head[0];
			APART;
		} else if (w->id == 1) {
			RACE(WRITE);
			*v = head[0];
			APART;
		} else {
			RACE(WRITE);
			*v = head[0];
			APART;
		}
		break;
	case 3:
		down(w);
		RACE(READ);
		(void)*v;
		APART;
		break;
	case 4:
		down(w);
		RACE(WRITE);
		*v = head[0];
		APART;
		break;
	case 5:
		MUST(write(w->pipe[1], head, SOME) == SOME);
		up(w);
		RACE(WRITE);
		MUST(read(w->pipe[0], p, SOME) == SOME);
		break;
	case 6:
		down(w);
		RACE(READ);
		MUST(write(w->pipe[1], p, SOME) == SOME);
		break;
	case 7:
		MUST(fwrite(head, 1, SOME, w->stdio) == SOME && !fseek(w->stdio, -SOME, SEEK_CUR));
		up(w);
		RACE(WRITE);
		MUST(fread(p, 1, SOME, w->stdio) == SOME);
		break;
	case 8:
		down(w);
		RACE(READ);
		MUST(fwrite(p, 1, SOME, w->stdio) == SOME);
		break;
	case 9:
		down(w);
		RACE(READ);
		MUST(send(w->pair[0], p, SOME, 0) == SOME);
		break;
	case 10:
		MUST(send(w->pair[0], head, SOME, 0) == SOME);
		up(w);
		RACE(WRITE);
		MUST(recv(w->pair[1], p, SOME, 0) == SOME);
		break;
	case 11:
		MUST(write(w->pipe[1], head, SOME) == SOME);
		up(w);
		RACE(WRITE);
		MUST(readv(w->pipe[0], &piece, 1) == SOME);
		break;
	case 12:
		MUST(send(w->pair[0], head, SOME, 0) == SOME);
		up(w);
		RACE(WRITE);
		MUST(recvmsg(w->pair[1], &m, 0) == SOME);
		break;
	case 13: /* the event is older than the copy */
		CU(cuEventRecord(w->event, w->stream));
		up(w);
		CU(cuEventSynchronize(w->event));
		RACE(WRITE);
		*v = head[0];
		APART;
		break;
	case 14: /* another stream's end */
		down(w);
		CU(cuStreamSynchronize(w->other));
		RACE(READ);
		(void)*v;
		APART;
		break;
	case 15:
		down(w);
		RACE(READ);
		MUST(pwrite(w->file, p, SOME, 0) == SOME);
		break;
	}
	CU(cuStreamSynchronize(w->stream));
	down(w);
	CU(cuStreamSynchronize(w->stream));
	CHECK_BYTES(&w->plant);
}

/* ---- */

static void buffer_open(struct buffer *b, size_t bytes, enum kind kind)
{
	CUdeviceptr m;

	b->bytes = bytes;
	b->kind = kind;
	if (kind == PINNED) {
		CU(cuMemHostAlloc((void **)&b->host, bytes, 0));
	} else if (kind == MANAGED) {
		CU(cuMemAllocManaged(&m, bytes, CU_MEM_ATTACH_GLOBAL));
		b->host = (char *)(uintptr_t)m;
	} else {
		b->host = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			       0);
		MUST(b->host != MAP_FAILED);
		CU(cuMemHostRegister(b->host, bytes, 0));
	}
	CU(cuMemAlloc(&b->device, bytes));
	b->seed = bytes;
	memset(b->host, 0, bytes);
	fill(b->host, bytes, b->seed);
	CU(cuMemcpyHtoD(b->device, b->host, bytes));
}

static void buffer_close(struct buffer *b)
{
	CU(cuMemFree(b->device));
	if (b->kind == PINNED)
		CU(cuMemFreeHost(b->host));
	else if (b->kind == MANAGED)
		CU(cuMemFree((CUdeviceptr)(uintptr_t)b->host));
	else
		CU(cuMemHostUnregister(b->host));
	if (b->kind == REGISTERED)
		MUST(!munmap(b->host, b->bytes));
}

static void *work(void *arg)
{
	struct worker *w = arg;
	stack_t alt = {.ss_size = 65536, .ss_sp = malloc(65536)};

	MUST(alt.ss_sp && !sigaltstack(&alt, NULL));
	CU(cuCtxSetCurrent(context));
	CU(cuStreamCreate(&w->stream, CU_STREAM_NON_BLOCKING));
	CU(cuStreamCreate(&w->other, CU_STREAM_NON_BLOCKING));
	CU(cuEventCreate(&w->event, CU_EVENT_DISABLE_TIMING));
	for (unsigned r = 0; r < rounds; r++) {
		legal(w, r);
		pthread_barrier_wait(&meet);
	}
	/* one after the other: a wait for everything is nobody's excuse here */
	for (unsigned t = 0; t < THREADS && !plain; t++) {
		if (t == w->id)
			race(w);
		pthread_barrier_wait(&meet);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct sigaction act = {.sa_flags = SA_SIGINFO | SA_ONSTACK};
	uint64_t seed = 88172645463325252ull;

	nbuffers = argc > 1 ? (unsigned)atoi(argv[1]) : nbuffers;
	largest = argc > 2 ? (size_t)atoll(argv[2]) : largest;
	rounds = argc > 3 ? (unsigned)atoi(argv[3]) : rounds;
	plain = argc > 4;
	MUST(largest >= 128);
	setvbuf(stdout, NULL, _IOLBF, 0);
	prog_start();
	CU(cuCtxGetCurrent(&context));
	act.sa_sigaction = on_fault;
	MUST(!sigaction(SIGSEGV, &act, NULL));
	MUST(!pthread_barrier_init(&meet, NULL, THREADS));
	buffers = calloc(nbuffers, sizeof *buffers);
	MUST(buffers);
	for (unsigned i = 0; i < nbuffers; i++) {
		size_t top = largest;

		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		for (unsigned k = seed >> 60 & 7; k && top > 512; k--) /* most are small */
			top /= 4;
		buffer_open(&buffers[i], 100 + (size_t)(seed >> 20) % (top - 99),
			    i % 4 < 2 ? PINNED : (enum kind)(i % 4 - 1));
	}
	for (unsigned i = 0; i < THREADS; i++) {
		struct worker *w = &workers[i];

		w->id = i;
		w->random = seed + i * 2 + 1;
		w->hole = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		MUST(w->hole != MAP_FAILED && !pipe(w->pipe) &&
		     !socketpair(AF_UNIX, SOCK_STREAM, 0, w->pair));
		w->stdio = tmpfile();
		w->file = memfd_create("torture", 0);
		MUST(w->stdio && w->file >= 0);
		buffer_open(&w->plant, PLANT_BYTES,
			    i == 1   ? REGISTERED
			    : i == 2 ? MANAGED
				     : PINNED);
	}
	CU(cuCtxSynchronize());
	for (unsigned i = 0; i < THREADS; i++)
		MUST(!pthread_create(&workers[i].thread, NULL, work, &workers[i]));
	for (unsigned i = 0; i < THREADS; i++)
		MUST(!pthread_join(workers[i].thread, NULL));
	CU(cuCtxSynchronize());
	MUST(faults_met == faults_made);
	for (unsigned i = 0; i < nbuffers; i++)
		buffer_close(&buffers[i]);
	printf("done\n");
	prog_end();
	return 0;
}
