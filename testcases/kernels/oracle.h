/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between oracle.c, which launches the kernels and knows the truth, and
 * oracle_flow.c, which asks the analysis about the same launches.
 */
#ifndef ORACLE_H
#define ORACLE_H

#include "../../analyzer/ptx/ptx.h"

#define ORACLE_BUFFERS 24
#define ORACLE_SLOTS   24
#define ORACLE_ARENA   ((size_t)8 << 20)
#define ORACLE_HEAP    ((size_t)1 << 20)

#define ORACLE_READ   1u
#define ORACLE_WRITE  2u
#define ORACLE_ATOMIC 4u

#define ORACLE_LOADS_POINTERS 0x01u /* follows pointers that lie in memory */
#define ORACLE_SYNC	      0x02u /* orders itself with other kernels through memory */
#define ORACLE_PDL_WAIT	      0x04u
#define ORACLE_PDL_LAUNCH     0x08u
#define ORACLE_TEXTURES	      0x10u
#define ORACLE_UNKNOWN	      0x20u /* the analysis may give up: calls through pointers etc. */

#define ORACLE_WIDE   0x40u /* the analysis says more than is so, knowingly */
#define ORACLE_UNSURE 0x80u /* what is touched is not known to be, knowingly */

#define ORACLE_FLAGS                                                                               \
	FLAG("loads-pointers", ORACLE_LOADS_POINTERS)                                              \
	FLAG("synchronises", ORACLE_SYNC)                                                          \
	FLAG("pdl-wait", ORACLE_PDL_WAIT)                                                          \
	FLAG("pdl-launch", ORACLE_PDL_LAUNCH)                                                      \
	FLAG("textures", ORACLE_TEXTURES)                                                          \
	FLAG("unknown", ORACLE_UNKNOWN)                                                            \
	FLAG("wide", ORACLE_WIDE)                                                                  \
	FLAG("unsure", ORACLE_UNSURE)

/* Memory that the kernel may access: a buffer of the launch or a variable of the module. */
struct oracle_buffer {
	char name[24];
	const char *global; /* the variable's name; NULL: a buffer */
	uint64_t base;	    /* 0: the kernel does not run */
	size_t size;
	int behind;	      /* index of the buffer that holds a pointer to it; -1: none */
	unsigned roles;	      /* ORACLE_*, by the truth */
	unsigned loose;	      /* of these: want is only a bound */
	unsigned unsure;      /* of these: no analysis can know the bytes, memory decides */
	unsigned done;	      /* what this launch did */
	uint8_t *want, *seen; /* per byte: ORACLE_* by the truth, in this launch */
};

/* A pointer among the parameters. */
struct oracle_slot {
	uint32_t param, offset;
	int buffer;
	bool map; /* a tensor map */
	bool texture, surface; /* a handle */
};

struct oracle_launch {
	unsigned grid[3], block[3];
	size_t shared;
	bool cooperative;
	unsigned flags;
	uint8_t params[4096];
	size_t params_size;
	bool params_given[256];
	struct oracle_buffer buffers[ORACLE_BUFFERS];
	unsigned nbuffers;
	struct oracle_slot slots[ORACLE_SLOTS];
	unsigned nslots;
};

struct totals {
	unsigned kernels, run, modules, variants, launches, failed, wide;
	/* oracle_flow.c: slots whose role is right, is more than the truth, is not known */
	unsigned roles_right, roles_wide, roles_unknown;
	/* per launch, slot and kind that is affine: the analysis' hull, its bytes are the truth's
	 */
	unsigned affine, hull_exact, bytes_exact, must;
	unsigned together, sure; /* of them: some bytes are touched; all of them surely */
};

/* random.c: PTX of a kernel `drawn`; malloc'd. */
#define RANDOM_WORDS 1024
char *oracle_random_ptx(uint64_t seed);

void oracle_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* More than the truth: counted; a mistake unless the kernel has the flag `excuse`. */
void oracle_wide(unsigned excuse, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Touched, not known to be surely: a mistake unless the kernel has the flag. */
void oracle_unsure(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
const char *oracle_shape(const struct oracle_launch *o);

/* Plants a mistake in the analysis' ranges: 1 the last byte is missing, 2 one more is sure. */
extern unsigned oracle_lie;

struct oracle_flow;
struct oracle_flow *oracle_flow_new(struct ptx_module *m, const char *kernel);
void oracle_flow_free(struct oracle_flow *f);
/* Roles and flags, once per kernel. */
void oracle_flow_roles(struct oracle_flow *f, const struct oracle_launch *o, struct totals *t);
/* Ranges, after a launch. */
void oracle_flow_ranges(struct oracle_flow *f, const struct oracle_launch *o, struct totals *t);
void oracle_flow_summary(const struct totals *t);

#endif
