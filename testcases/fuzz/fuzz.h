/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Damaged input for everything that reads what a program or a user brings along.
 * A target is a row of krt_fuzz_targets (main.c): what to call with one input, what
 * to begin from, and how an input is damaged where libFuzzer's own way (bytes and
 * the values that the code compares them with) does not get far.
 *
 * An input may be refused.  Nothing may crash, hang, leak or grow without bound,
 * and an answer must hang together (MUST).
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct fuzz_target {
	const char *name;
	void (*one)(const unsigned char *p, size_t n);
	void (*seeds)(void);	  /* calls fuzz_keep; run in the top folder */
	const char *const *words; /* text: of its language, ends with NULL */
	/* NULL: as text where there are words, else as bytes */
	size_t (*damage)(unsigned char *p, size_t n, size_t max);
	size_t (*cross)(const unsigned char *a, size_t an, const unsigned char *b, size_t bn,
			unsigned char *out, size_t max);
};

/* On the real stderr, with what is not so; ends the process. */
_Noreturn void fuzz_fail(const char *file, int line, const char *what);
#define MUST(cond)                                                                                 \
	do {                                                                                       \
		if (!(cond))                                                                       \
			fuzz_fail(__FILE__, __LINE__, #cond);                                      \
	} while (0)

/* Chance: while an input is damaged from libFuzzer's seed, while one runs from the input. */
uint32_t fuzz_roll(uint64_t n);
uint64_t fuzz_random(void);

/* One more input to begin from. */
void fuzz_keep(const void *p, size_t n);
/* A whole file and a NUL behind it; malloc'd. */
char *fuzz_slurp(const char *path, size_t *n);
void fuzz_each_file(const char *pattern, void (*fn)(char *text, size_t n));
/* A temporary file of these bytes; its path stays good until the next call. */
const char *fuzz_file(unsigned which, const void *p, size_t n);

/* damage.c: words, numbers and lines of text */
size_t fuzz_damage_text(unsigned char *p, size_t n, size_t max, const char *const *words);
size_t fuzz_cross_text(const unsigned char *a, size_t an, const unsigned char *b, size_t bn,
		       unsigned char *out, size_t max);

/* kernels.c */
void fuzz_fatbin(const unsigned char *p, size_t n);
void fuzz_fatbin_seeds(void);
void fuzz_cubin(const unsigned char *p, size_t n);
void fuzz_cubin_seeds(void);
void fuzz_store(const unsigned char *p, size_t n);
void fuzz_store_seeds(void);
void fuzz_ptx(const unsigned char *p, size_t n);
void fuzz_ptx_seeds(void);
void fuzz_name(const unsigned char *p, size_t n);
void fuzz_name_seeds(void);
void fuzz_kernels_file(const unsigned char *p, size_t n);
void fuzz_kernels_file_seeds(void);
extern const char *const fuzz_ptx_words[], *const fuzz_name_words[], *const fuzz_kernels_words[];

/* reports.c */
void fuzz_report(const unsigned char *p, size_t n);
void fuzz_report_seeds(void);
void fuzz_suppression(const unsigned char *p, size_t n);
void fuzz_suppression_seeds(void);
void fuzz_baseline(const unsigned char *p, size_t n);
void fuzz_baseline_seeds(void);
extern const char *const fuzz_report_words[], *const fuzz_suppression_words[];

/* options.c */
void fuzz_options(const unsigned char *p, size_t n);
void fuzz_options_seeds(void);
void fuzz_command(const unsigned char *p, size_t n);
void fuzz_command_seeds(void);
const char *const *fuzz_option_words(void);

/* traces.c */
void fuzz_trace(const unsigned char *p, size_t n);
void fuzz_trace_seeds(void);
size_t fuzz_trace_damage(unsigned char *p, size_t n, size_t max);
size_t fuzz_trace_cross(const unsigned char *a, size_t an, const unsigned char *b, size_t bn,
			unsigned char *out, size_t max);
void fuzz_pylines(const unsigned char *p, size_t n);
void fuzz_pylines_seeds(void);

/* libFuzzer's */
size_t LLVMFuzzerMutate(uint8_t *p, size_t n, size_t max);

#endif
