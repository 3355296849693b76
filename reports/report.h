/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Report writers.  JSON is the master (schema/krtsan-report-1.json); the others
 * are pure functions of the same report.  Writers change nothing and keep
 * nothing; all text in a report is untrusted and is escaped here.
 */
#ifndef KRT_REPORT_H
#define KRT_REPORT_H

#include "../analyzer/demangle.h"
#include "../rules/finding.h"
#include <stdio.h>

#define KRT_VERSION "0.1.0"

struct krt_writer {
	bool color;
	enum krt_confidence show; /* all but json: findings below are only counted */
	bool full_stacks;         /* text: every frame, one a line */
	unsigned columns;	  /* text: of the terminal; 0: lines are not broken */
	unsigned limit;           /* text: findings at most (0: 100) */
	int pid;                  /* text: prefix of the lines that belong to no process */
	const char *strip;        /* root of krt_source_path(), or NULL */
	const char *repository;	  /* sarif: the same, for its paths */
	int exit_code;		  /* sarif: of the run; -1: not told */
	enum krt_level fail_level; /* junit: of findings that fail the run, at least */
	bool fails;		   /* junit: findings can */
	bool needs_complete;	   /* junit: an inconclusive run fails */
	const char *category;	   /* sarif: keeps uploads for one commit apart, or NULL */
	bool suppressed;	   /* sarif: also the suppressed findings */
};

/* 0, or -1 when something did not get written (errno). */
int krt_write_text(FILE *out, const struct krt_report *r, const struct krt_writer *w);
/* The part of the text report that is about one finding. */
void krt_text_finding(FILE *out, const struct krt_report *r, const struct krt_writer *w,
		      const struct krt_finding *f);
int krt_write_json(FILE *out, const struct krt_report *r, const struct krt_writer *w);
int krt_write_html(FILE *out, const struct krt_report *r, const struct krt_writer *w);
int krt_write_perfetto(FILE *out, const struct krt_report *r, const struct krt_writer *w);
int krt_write_sarif(FILE *out, const struct krt_report *r, const struct krt_writer *w);
int krt_write_junit(FILE *out, const struct krt_report *r, const struct krt_writer *w);

struct krt_format {
	const char *name;
	int (*write)(FILE *out, const struct krt_report *r, const struct krt_writer *w);
	bool timeline; /* it shows the timeline, where that is kept */
};
extern const struct krt_format krt_formats[]; /* ends with a NULL name */
const struct krt_format *krt_format_by_name(const char *name, size_t len);

/* Does the finding fail a run that fails from this level on?  Not what is suppressed, known or only
 * possible. */
bool krt_finding_fails(const struct krt_finding *f, enum krt_level least);

/* Does the whole of s fit?  `*` is any text. */
bool krt_glob(const char *glob, const char *s);
/* Whose code a frame is, as its module, file and function tell. */
enum krt_frame_kind {
	KRT_FRAME_USER,
	KRT_FRAME_LIBRARY,  /* of the system, a package, a framework; also headers compiled in */
	KRT_FRAME_START,    /* calls main or a thread's function */
	KRT_FRAME_INTERNAL, /* cudart, libcuda, CUDA libraries, krtsan */
};
const char *krt_frame_kind_text(enum krt_frame_kind k);
enum krt_frame_kind krt_frame_kind(const struct krt_frame *f);
/*
 * The frame a finding is known by: the innermost one of the user's code, else of
 * a library; NULL if there is none.
 */
const struct krt_frame *krt_stack_site(const struct krt_stack *s);
/*
 * The frames a finding's two operations are known by: of each its site, but where both
 * have the same (a function that all launch through) the first frame of the user's in
 * which the stacks differ; and where one is called in the function whose own the other is,
 * directly or not, the call there (but for main).  Stacks that differ nowhere keep their site.
 */
void krt_finding_sites(const struct krt_finding *f, const struct krt_frame **current,
		       const struct krt_frame **previous);
/* Marks what belongs to cudart and krtsan.h at the inner end of a named stack as internal. */
void krt_stack_fold(struct krt_stack *s);
/* A frame's function without result, parameters, template arguments and compilers' marks. */
void krt_frame_function(const struct krt_frame *f, char out[KRT_SHORT_NAME]);
/* The same for readers: with its template arguments, folded where they are long. */
void krt_frame_short(const struct krt_frame *f, char out[KRT_SHORT_NAME]);
/* What follows the last slash. */
const char *krt_base_name(const char *path);
/*
 * A path of a source as text and SARIF show it: relative to root (source_root,
 * else the working directory) where it lies under it.  JSON has the whole path.
 */
const char *krt_source_path(const char *file, const char *root);
/*
 * A hash of the rule and, for both operations in either order, of what they do, the
 * call or kernel, and the names of their three innermost user functions: no address,
 * pid, handle, sequence number, path or line, no template argument of a function, no
 * version of a library.  Two findings of one rule whose operations are the same ones
 * the other way round share it: the missing order is one.  So do those of one pair
 * of call sites about several buffers.
 */
uint64_t krt_fingerprint(const struct krt_finding *f);
/* Length of the UTF-8 character at s (1 to 4), 0 if it is none. */
unsigned krt_utf8_length(const char *s);
/* The same, and 0 also for a control character: untrusted text is not to steer a terminal. */
unsigned krt_printable_length(const char *s);
/* Puts ? in the place of each byte of what is not printable. */
void krt_make_printable(char *s);

#endif
