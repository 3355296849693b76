/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The targets (fuzz.h), in one program with libFuzzer's main.
 *
 *   fuzz --list
 *   fuzz --target=NAME --seeds=FOLDER    writes inputs to begin from
 *   fuzz --target=NAME [libFuzzer's flags] [FOLDER... | FILE...]
 *
 * What the code under test prints goes nowhere; libFuzzer, the sanitizers and
 * MUST have stderr.  One thread.
 */
#define _GNU_SOURCE
#include "testcases/fuzz/fuzz.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SLOW_MS 10000 /* of the processor, for one input, sanitizers and all */

static const struct fuzz_target targets[] = {
	{"trace", fuzz_trace, fuzz_trace_seeds, NULL, fuzz_trace_damage, fuzz_trace_cross},
	{"ptx", fuzz_ptx, fuzz_ptx_seeds, fuzz_ptx_words, NULL, NULL},
	{"fatbin", fuzz_fatbin, fuzz_fatbin_seeds, NULL, NULL, NULL},
	{"cubin", fuzz_cubin, fuzz_cubin_seeds, NULL, NULL, NULL},
	{"store", fuzz_store, fuzz_store_seeds, NULL, NULL, NULL},
	{"name", fuzz_name, fuzz_name_seeds, fuzz_name_words, NULL, NULL},
	{"kernels", fuzz_kernels_file, fuzz_kernels_file_seeds, fuzz_kernels_words, NULL, NULL},
	{"suppressions", fuzz_suppression, fuzz_suppression_seeds, fuzz_suppression_words, NULL,
	 NULL},
	{"options", fuzz_options, fuzz_options_seeds, NULL, NULL, NULL},
	{"command", fuzz_command, fuzz_command_seeds, NULL, NULL, NULL},
	{"report", fuzz_report, fuzz_report_seeds, fuzz_report_words, NULL, NULL},
	{"baseline", fuzz_baseline, fuzz_baseline_seeds, fuzz_report_words, NULL, NULL},
	{"pylines", fuzz_pylines, fuzz_pylines_seeds, NULL, NULL, NULL},
};
#define TARGETS (sizeof(targets) / sizeof(*targets))

static const struct fuzz_target *target;
static const char *const *words;
static const char *seeds;
static unsigned kept;
static uint64_t state;

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);
size_t LLVMFuzzerCustomMutator(uint8_t *p, size_t n, size_t max, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t an, const uint8_t *b, size_t bn,
				 uint8_t *out, size_t max, unsigned seed);

_Noreturn void fuzz_fail(const char *file, int line, const char *what)
{
	dprintf(STDERR_FILENO, "%s:%d: does not hold: %s\n", file, line, what);
	abort();
}

uint64_t fuzz_random(void)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return state ^ state >> 29;
}

uint32_t fuzz_roll(uint64_t n)
{
	fuzz_random();
	return (uint32_t)((state >> 33) % (n ? n : 1));
}

/* --- inputs to begin from ----------------------------------------------------------- */

void fuzz_keep(const void *p, size_t n)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%04u", seeds, kept++);
	f = fopen(path, "wb");
	MUST(f && fwrite(p, 1, n, f) == n && !fclose(f));
}

char *fuzz_slurp(const char *path, size_t *n)
{
	FILE *f = fopen(path, "rb");
	char *p = malloc(16 << 20);

	MUST(f && p);
	*n = fread(p, 1, (16 << 20) - 1, f);
	p[*n] = 0;
	fclose(f);
	return p;
}

void fuzz_each_file(const char *pattern, void (*fn)(char *text, size_t n))
{
	glob_t g;

	if (glob(pattern, 0, NULL, &g))
		return;
	for (size_t i = 0; i < g.gl_pathc; i++) {
		size_t n;
		char *text = fuzz_slurp(g.gl_pathv[i], &n);

		fn(text, n);
		free(text);
	}
	globfree(&g);
}

/* --- files that the code under test opens ------------------------------------------- */

static char files[8][64];

static void remove_files(void)
{
	for (unsigned i = 0; i < 8; i++)
		if (files[i][0])
			unlink(files[i]);
}

const char *fuzz_file(unsigned which, const void *p, size_t n)
{
	const char *tmp = getenv("TMPDIR");
	FILE *f;

	if (!files[0][0])
		atexit(remove_files);
	MUST(which < 8 &&
	     snprintf(files[which], sizeof(files[which]), "%s/fuzz.%d.%u", tmp ? tmp : "/tmp",
		      (int)getpid(), which) < (int)sizeof(files[which]));
	f = fopen(files[which], "wb");
	MUST(f && fwrite(p, 1, n, f) == n && !fclose(f));
	return files[which];
}

/* --- libFuzzer's side ---------------------------------------------------------------- */

static const char *value(const char *arg, const char *name)
{
	size_t n = strlen(name);

	return !strncmp(arg, name, n) ? arg + n : NULL;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const char *name = NULL, *v;

	for (int i = 1; i < *argc; i++) {
		if (!strcmp((*argv)[i], "--list")) {
			for (unsigned t = 0; t < TARGETS; t++)
				puts(targets[t].name);
			exit(0);
		}
		if ((v = value((*argv)[i], "--target=")))
			name = v;
		if ((v = value((*argv)[i], "--seeds=")))
			seeds = v;
	}
	for (unsigned t = 0; t < TARGETS && name; t++)
		if (!strcmp(name, targets[t].name))
			target = &targets[t];
	if (!target) {
		fprintf(stderr, "fuzz: --target=NAME is one of those that --list tells\n");
		exit(2);
	}
	words = target->one == fuzz_options || target->one == fuzz_command ? fuzz_option_words()
									   : target->words;
	if (seeds) {
		MUST(!mkdir(seeds, 0777) || errno == EEXIST);
		target->seeds();
		exit(0);
	}
	stdout = fopen("/dev/null", "w");
	stderr = fopen("/dev/null", "w");
	MUST(stdout && stderr);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct timespec from, to;

	state = n * 2654435761u;
	for (size_t i = 0; i < n && i < 64; i++)
		state = (state ^ p[i]) * UINT64_C(0x100000001b3);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
	target->one(p, n);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
	MUST((to.tv_sec - from.tv_sec) * 1000 + (to.tv_nsec - from.tv_nsec) / 1000000 < SLOW_MS);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *p, size_t n, size_t max, unsigned seed)
{
	size_t was = n;

	state = seed;
	if (target->damage)
		return target->damage(p, n, max);
	if (!words || !n || !fuzz_roll(4))
		return LLVMFuzzerMutate(p, n, max);
	for (unsigned k = 1 + fuzz_roll(fuzz_roll(4) ? 3 : 10); k && n; k--)
		n = fuzz_damage_text(p, n, max, words);
	return n ? n : was;
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t an, const uint8_t *b, size_t bn,
				 uint8_t *out, size_t max, unsigned seed)
{
	size_t n;

	state = seed;
	if (target->cross)
		return target->cross(a, an, b, bn, out, max);
	if (words)
		return fuzz_cross_text(a, an, b, bn, out, max);
	/* the beginning of one, the end of the other */
	n = fuzz_roll(an + 1);
	if (n > max)
		n = max;
	if (n)
		memcpy(out, a, n);
	if (bn) {
		size_t from = fuzz_roll(2) && n < bn ? n : fuzz_roll(bn), len = bn - from;

		if (len > max - n)
			len = max - n;
		memcpy(out + n, b + from, len);
		n += len;
	}
	return n;
}
