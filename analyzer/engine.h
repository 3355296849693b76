/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine: the records of one process in ticket order in, findings out.
 * Deterministic; no CUDA, no I/O, no threads, no globals.  Online and offline
 * runs feed it the same records and get the same findings.
 */
#ifndef KRT_ENGINE_H
#define KRT_ENGINE_H

#include "change.h"
#include "../interposer/record.h"
#include "../rules/finding.h"

struct krt_engine;

struct krt_kernels_file; /* kernels.h */
struct krt_sem;		 /* semantics.h */
struct krt_image_store;  /* image_store.h */
struct krt_image_text;
struct krt_cubin_params;
struct krt_kernel_watch;

struct krt_engine_config {
	unsigned hot_min;
	unsigned possible_max;
	unsigned timeline; /* operations kept for the report's timeline at most; 0: there is none */
	struct krt_kernels_file *kernels; /* or NULL */
	const struct krt_sem *semantics;  /* table of semantics.h; NULL: the one that krtsan brings */
	/*
	 * Where a kernel's text is to be had: krt_image_store_text(), the store and this
	 * process's number in it; NULL: nowhere.  Given by reference, since the engine
	 * itself reads no file.
	 */
	int (*text)(struct krt_image_store *s, unsigned process, const uint32_t *ids, uint32_t n,
		    const char *kernel, uint32_t arch, struct krt_image_text *out);
	/* The same for its parameters: krt_image_store_params(); NULL: only its text tells. */
	int (*params)(struct krt_image_store *s, unsigned process, const uint32_t *ids, uint32_t n,
		      const char *kernel, uint32_t arch, struct krt_cubin_params *out);
	struct krt_image_store *images;
	unsigned process;
	const struct krt_kernel_watch *watch; /* engine_int.h; NULL: nobody listens */
	const struct krt_change *changes; /* that are judged as if they were made; alive as long as the engine */
	unsigned nchanges;
	unsigned long fail_at; /* tests: the allocation with this number fails, 0: none */
};

struct krt_engine *krt_engine_new(const struct krt_engine_config *cfg);
/*
 * One record, parts already joined: a contiguous record whose h.size is the
 * whole length.  lane tells which lane it came from (THREAD records set the
 * thread of a lane).  Malformed content is ignored and counted, never fatal.
 * Returns 0, or -ENOMEM once memory ran out (the report then says so).
 */
int krt_engine_feed(struct krt_engine *e, const struct krt_rec *rec, size_t len, unsigned lane);
/* Why krtsan could not record everything, of krt_proc.trouble; NULL: no failure of its own. */
const char *krt_trouble_text(uint32_t trouble);
/* The process has ended; judges what only the end can tell.  trouble: krt_proc.trouble. */
void krt_engine_finish(struct krt_engine *e, uint32_t trouble, uint64_t dropped);
/* Appends this process and its findings to the report (strings are copied into its arena). */
int krt_engine_report(const struct krt_engine *e, struct krt_report *r);
/* A buffer as sentences of a finding name it. */
void krt_buffer_text(const struct krt_buffer *b, char *buf, size_t len);
/* The order that a finding (its key in the report) lacks, as a change; false: there is none. */
bool krt_engine_missing(const struct krt_engine *e, uint64_t key, struct krt_change *c);
/* Would change number n have made the program wait for itself? */
bool krt_engine_cycle(const struct krt_engine *e, unsigned n);
/* Was its event recorded on more than one stream? */
bool krt_engine_streams(const struct krt_engine *e, unsigned n);
void krt_engine_destroy(struct krt_engine *e);

#endif
