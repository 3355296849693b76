/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts a program's driver calls as CUPTI tells of them, for coverage.sh: loaded
 * by the driver (CUDA_INJECTION64_PATH), subscribes to the driver's calls, and at
 * exit appends `COUNT NAME` lines to $KRTSAN_COUNTS.PID.
 *
 * Callbacks come in the program's threads; counters are atomic, names are the
 * driver's own.  What CUPTI needs is declared here: no toolkit is needed to build it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_CALLS    4096 /* numbers of calls that CUPTI has */
#define DRIVER_CALLS 1	  /* its domain of them */

/* The head of CUpti_CallbackData. */
struct callback_data {
	int site; /* 0: the call begins */
	const char *name;
};

static struct {
	_Atomic uint64_t n;
	const char *_Atomic name;
} calls[MAX_CALLS];
static void *subscriber;
static int (*unsubscribe)(void *);
static _Atomic int off;

static void called(void *user, int domain, uint32_t id, const struct callback_data *d)
{
	(void)user;
	if (domain != DRIVER_CALLS || d->site || id >= MAX_CALLS || off)
		return;
	atomic_fetch_add(&calls[id].n, 1);
	atomic_store(&calls[id].name, d->name);
}

static void tell(void)
{
	const char *path = getenv("KRTSAN_COUNTS");
	char name[4096];
	FILE *f;

	if (!path || atomic_exchange(&off, 1))
		return;
	snprintf(name, sizeof(name), "%s.%d", path, (int)getpid());
	f = fopen(name, "w");
	if (!f)
		return;
	for (unsigned i = 0; i < MAX_CALLS; i++)
		if (calls[i].n)
			fprintf(f, "%llu %s\n", (unsigned long long)calls[i].n, calls[i].name);
	fclose(f);
}

static void *cupti(void)
{
	static const char *const names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so",
		"/usr/local/cuda/extras/CUPTI/lib64/libcupti.so", "/usr/local/cuda/lib64/libcupti.so"};
	void *lib = NULL;

	for (unsigned i = 0; i < sizeof(names) / sizeof(*names) && !lib; i++)
		lib = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	return lib;
}

__attribute__((visibility("default"))) int InitializeInjection(void);

int InitializeInjection(void)
{
	static _Atomic int begun;
	void *lib;
	int (*subscribe)(void **, void *, void *), (*enable)(uint32_t, void *, int), r = -1;

	if (atomic_exchange(&begun, 1))
		return 1;
	lib = cupti();
	if (!lib) {
		fprintf(stderr, "count_calls: %s\n", dlerror());
		return 1;
	}
	*(void **)&subscribe = dlsym(lib, "cuptiSubscribe");
	*(void **)&enable = dlsym(lib, "cuptiEnableDomain");
	*(void **)&unsubscribe = dlsym(lib, "cuptiUnsubscribe");
	if (subscribe && enable && !(r = subscribe(&subscriber, (void *)called, NULL)))
		r = enable(1, subscriber, DRIVER_CALLS);
	if (r)
		fprintf(stderr, "count_calls: CUPTI answers %d\n", r);
	else
		atexit(tell);
	return 1;
}

__attribute__((destructor)) static void end(void)
{
	if (subscriber)
		tell();
}
