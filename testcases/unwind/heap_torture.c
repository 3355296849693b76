/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The free family under load: threads allocate and free as fast as they can
 * while they note some of their blocks and other threads wait for streams.
 * Every free of a noted block must be recorded, once, by its own thread.  Run with the test
 * library preloaded, alone and with a malloc replacement behind it.
 */
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "heap.h"

#define THREADS 6
#define ROUNDS  4000

extern __thread unsigned stub_mine;
extern unsigned stub_troubles;

static _Atomic int bad, stop;

static void fail(const char *what, int thread, int round)
{
	if (!bad)
		fprintf(stderr, "thread %d, round %d: %s\n", thread, round, what);
	bad = 1;
}

static unsigned rnd(unsigned *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 17;
	*s ^= *s << 5;
	return *s;
}

static void *worker(void *arg)
{
	int me = (int)(long)arg;
	unsigned seed = 77 + me, before;
	void *keep[64] = { 0 };

	for (int i = 0; i < ROUNDS && !bad; i++) {
		unsigned r = rnd(&seed), k = r % 64;
		size_t len = 1 + (r >> 8) % ((r >> 28) ? 3000 : 300000);
		char *p;

		/* noise: blocks that nobody noted */
		free(keep[k]);
		keep[k] = malloc(1 + (r >> 6) % 500);
		p = malloc(len);
		memset(p, 1, len);
		krt_heap_note((uintptr_t)p + len / 2, 1 + len / 4, me);
		before = stub_mine;
		switch (r >> 29) {
		case 0: /* waited for; somebody else's stale range may still cover it */
			krt_heap_synced(me, krt_heap_mark());
			free(p);
			break;
		case 1: { /* realloc to something that cannot be in place */
			uintptr_t old = (uintptr_t)p;
			char *q = realloc(p, len + 400000);

			if ((uintptr_t)q != old && stub_mine != before + 1)
				fail("realloc moved a noted block unseen", me, i);
			krt_heap_synced(me, krt_heap_mark());
			free(q);
			break;
		}
		case 2: { /* a mapping */
			char *m = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

			krt_heap_note((uintptr_t)m + 5000, 10, me);
			munmap(m, 8192);
			if (stub_mine != before + 1)
				fail("munmap of a noted range unseen", me, i);
			krt_heap_synced(me, krt_heap_mark());
			free(p);
			break;
		}
		default:
			free(p);
			if (stub_mine != before + 1)
				fail("free of a noted block unseen, or seen twice", me, i);
			/* the bytes go to somebody else, whose frees are no business of ours */
			krt_heap_synced(me, krt_heap_mark());
			break;
		}
	}
	for (int k = 0; k < 64; k++)
		free(keep[k]);
	return NULL;
}

/* Waits of streams that no worker uses, and marks that are old. */
static void *waiter(void *arg)
{
	uint64_t old = krt_heap_mark();

	(void)arg;
	while (!stop) {
		krt_heap_synced(1000, krt_heap_mark());
		krt_heap_synced(KRT_HEAP_ALL, old);
		for (int i = 0; i < 50; i++)
			free(malloc(100));
	}
	return NULL;
}

/* Children made while all that goes on. */
static int forks(void)
{
	int rc = 0, status;

	for (int i = 0; i < 20; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			void *p;

			krt_heap_forked();
			p = malloc(1000);
			krt_heap_note((uintptr_t)p, 1000, 1);
			stub_mine = 0;
			free(p);
			_exit(stub_mine != 1);
		}
		rc |= waitpid(pid, &status, 0) != pid || status;
	}
	return rc;
}

int main(void)
{
	pthread_t t[THREADS], w;
	int rc;

	pthread_create(&w, NULL, waiter, NULL);
	for (long i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, worker, (void *)(i + 1));
	rc = forks();
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	stop = 1;
	pthread_join(w, NULL);
	if (rc)
		fprintf(stderr, "a fork child saw no free of its own\n");
	if (stub_troubles)
		fprintf(stderr, "troubles: %x\n", stub_troubles);
	return rc || bad || stub_troubles;
}
