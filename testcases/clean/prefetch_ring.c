/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A loader thread fills a ring of pinned buffers, the main thread uploads and uses
 * them; a slot is refilled when its upload's event has completed.
 */
#include "prog.h"

enum { N = 2048, SLOTS = 4, BATCHES = 12 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn = PTHREAD_COND_INITIALIZER;
static uint32_t *ring[SLOTS];
static CUevent uploaded[SLOTS];
static int filled, sent;

static void *loader(void *arg)
{
	(void)arg;
	CU(cuCtxSetCurrent(prog_context));
	for (int i = 0; i < BATCHES; i++) {
		pthread_mutex_lock(&lock);
		while (i - sent >= SLOTS)
			pthread_cond_wait(&turn, &lock);
		pthread_mutex_unlock(&lock);
		/* Batch i - SLOTS was sent; is it read? */
		if (i >= SLOTS)
			CU(cuEventSynchronize(uploaded[i % SLOTS]));
		krtsan_host_write(ring[i % SLOTS], 4 * N);
		host_fill(ring[i % SLOTS], (uint32_t)i, N);
		pthread_mutex_lock(&lock);
		filled++;
		pthread_cond_broadcast(&turn);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

int main(void)
{
	prog_start();
	CUstream s = stream_nb("train");
	CUdeviceptr in = device_u32("in", N), acc = device_u32("acc", N);
	pthread_t thread;

	set_now(acc, 0, N);
	for (int i = 0; i < SLOTS; i++) {
		ring[i] = pinned_u32("slot", N);
		uploaded[i] = event();
	}
	MUST(!pthread_create(&thread, NULL, loader, NULL));
	for (int i = 0; i < BATCHES; i++) {
		pthread_mutex_lock(&lock);
		while (filled <= i)
			pthread_cond_wait(&turn, &lock);
		pthread_mutex_unlock(&lock);
		CU(cuMemcpyHtoDAsync(in, ring[i % SLOTS], 4 * N, s));
		CU(cuEventRecord(uploaded[i % SLOTS], s));
		READS(s, in, 4 * N);
		UPDATES(s, acc, 4 * N);
		ADD(s, acc, in, N, 5000);
		pthread_mutex_lock(&lock);
		sent++;
		pthread_cond_broadcast(&turn);
		pthread_mutex_unlock(&lock);
	}
	MUST(!pthread_join(thread, NULL));
	check_u32("acc[0]", get_u32(acc, 0), BATCHES * (BATCHES - 1) / 2);
	for (int i = 0; i < SLOTS; i++) {
		CU(cuMemFreeHost(ring[i]));
		CU(cuEventDestroy(uploaded[i]));
	}

	prog_end();
	return 0;
}
