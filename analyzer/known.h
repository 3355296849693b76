/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known of the kernels of a trace, and why: gathered while engines run
 * over it (krt_kernel_watch), for explain-kernel.
 *
 * Kernels of one name, layout and text are one, whichever process or module they
 * are from.  Of each the first launches with different parameters or sizes are
 * kept with what they access, in words, since buffers are gone later.
 *
 * Not locked.  Out of memory: something is missing, and krt_known_short() is true.
 */
#ifndef KRT_KNOWN_H
#define KRT_KNOWN_H

#include "access.h"
#include "image_store.h"
#include "names.h"
#include "ptx/flow.h"

#define KRT_KNOWN_TIERS 7 /* KRT_NR_TIERS */
struct krt_kernel_watch;

struct krt_known_access {
	const char *kind, *know; /* "read", "ptx-range" */
	const char *sure;	 /* "every byte of", or "" */
	bool from_param;
	uint32_t param, offset;
	char *where;		/* which bytes of what */
	struct krt_known_access *next;
};

/* A launch, or a kernel node of a graph. */
struct krt_known_launch {
	uint64_t hash, seq;	/* of parameters and sizes; of the call, 0: a node */
	uint32_t grid[3], block[3], shared;
	unsigned tier;		/* enum krt_tier */
	uint64_t times;
	bool opaque;		/* something it may access is not known */
	char *stream;
	struct krt_known_access *access;
	struct krt_known_launch *next;
};

struct krt_known_kernel {
	uint64_t key;
	char *name, *readable;	/* readable: the same where there is none */
	uint32_t nparams, bytes; /* KRT_PARAMS_UNKNOWN */
	struct krt_param *param;
	uint64_t launches[KRT_KNOWN_TIERS], nodes[KRT_KNOWN_TIERS];
	/* its text */
	int text;		/* enum krt_image_result */
	enum krt_image_from from;
	char *where;		/* NULL: from memory */
	uint32_t arch;
	bool not_understood;	/* there is a text, and no analysis of it */
	struct krt_flow_info flow; /* a copy; nothing in it without a text */
	bool has_flow;
	/* the mangled name; NULL: it says nothing */
	struct krt_name_param *says;
	/* the kernels file */
	char *line_of;		/* its file, NULL: no line */
	unsigned line;
	const char *useless;	/* why the line said nothing of some launch, NULL: it did */
	bool line_only_syncs;
	struct krt_known_launch *launch; /* the first ones that differ */
	uint64_t others;	/* launches and nodes that are like none of them */
	struct krt_known_kernel *next;
};

struct krt_known;

/* keep: how many different launches of a kernel are kept.  NULL: no memory. */
struct krt_known *krt_known_new(unsigned keep);
void krt_known_free(struct krt_known *k);
/* For krt_engine_config.watch; lives as long as k. */
const struct krt_kernel_watch *krt_known_watch(struct krt_known *k);
/* In the order of their first launch. */
const struct krt_known_kernel *krt_known_first(const struct krt_known *k);
bool krt_known_short(const struct krt_known *k);

#endif
