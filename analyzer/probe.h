/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the driver at hand does, row by row of semantics.def (krtsan doctor
 * --probe).
 *
 * A kernel that waits for a flag of the host's runs on some stream; the host
 * makes the call.  It returned before the flag was set: it did not wait.  It
 * returned only afterwards, twice, the second time with the flag set much later:
 * it waits.  What it orders beyond the host is told by bytes: which value a copy
 * took, whether an effect showed while the kernel before it still ran.
 *
 * probe.def names the rows and calls.  All of CUDA happens in a child with
 * contexts of its own; one that ends or hangs takes only its probe along.
 */
#ifndef KRT_PROBE_H
#define KRT_PROBE_H

#include "semantics.h"

/* How an answer is put together, probe_lab.c. */
enum krt_probe_kind {
	KRT_PROBE_OP,	   /* enqueues on a stream, or is a copy or set */
	KRT_PROBE_STREAM,  /* waits for a stream */
	KRT_PROBE_EVENT,   /* waits for an event */
	KRT_PROBE_CALL,	   /* takes its place on no stream */
	KRT_PROBE_CONTEXT, /* ends a context: OWN is a stream in it */
	KRT_PROBE_ASIDE, /* a case that its row does not tell apart: a note */
};

/* Where the call enqueues, or what it waits for. */
enum krt_probe_own {
	KRT_OWN_NONE,
	KRT_OWN_LEGACY,
	KRT_OWN_STREAM, /* a non-blocking one of its own */
	KRT_OWN_OTHER,	/* waits for a stream that it does not enqueue on */
	KRT_OWN_DOOMED, /* KRT_PROBE_CONTEXT */
};

enum {
	KRT_MEASURED_EDGE = 1 << 0,
	KRT_MEASURED_SRC = 1 << 1, /* of the edge this bit too */
	KRT_MEASURED_READ = 1 << 2,
	KRT_MEASURED_ORDER = 1 << 3,
};

/* What one probe found; goes through a pipe as it is. */
struct krt_measured {
	unsigned measured; /* KRT_MEASURED_* */
	unsigned edge;	   /* enum krt_edge */
	enum krt_sem_order order;
	enum krt_sem_read read;
	char note[160];	   /* why something was not measured, or what else was seen */
};

struct krt_probe_row {
	enum krt_sem_id row;
	const char *call;
	bool aside; /* its note is not the row's */
};

extern const struct krt_probe_row krt_probes[];
extern const unsigned krt_nr_probes;
/* Why no probe of this row can be; NULL: there are probes. */
const char *krt_unprobed(enum krt_sem_id row);

struct krt_probe_driver {
	char path[512], device[128], release[64]; /* release: of the kernel module, or "" */
	int version, devices;
};

/*
 * Measures all of them on libcuda.so.1, or on the library of that path.
 * result[krt_nr_probes].  0, or -1 and why in err.
 */
int krt_probe_run(const char *library, struct krt_probe_driver *d, struct krt_measured *result,
		  char *err, size_t errlen);

/* All probes of a row as one: what each of them found. */
struct krt_measured krt_probe_row(enum krt_sem_id row, const struct krt_measured *result);

enum krt_probe_verdict {
	KRT_PROBE_SAME,
	KRT_PROBE_MORE,	   /* the driver orders more than the table says */
	KRT_PROBE_LESS,	   /* the table claims an order that the driver does not give */
	KRT_PROBE_UNKNOWN, /* nothing of it was measured */
};
enum krt_probe_verdict krt_probe_judge(const struct krt_sem *table, const struct krt_measured *m);

/* The observed half of a row after a measurement: never weaker than what is documented. */
void krt_probe_take(struct krt_sem *row, const struct krt_measured *m);

/* A second process that shares memory or suspends this one: `krtsan doctor --peer`. */
int krt_probe_peer(const char *what, const char *library);

#endif
