/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cost of the analysis of kernels: bench_flow DIR, a folder of .ptx files.
 *
 * The first launch of a kernel out of 1 MB of PTX (limit: 5 ms), as one of many
 * and alone; and an evaluation at a launch, over all kernels of the folder, each
 * with 1-D threads, pointers far from each other and 1000 for every number.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "ptx/flow.h"
#include "ptx/module.h"

#define MB	   1000000u
#define FIRST_MS   5.0
#define MAX_TIMES  4096
#define HEAD	   ".version 8.7\n.target sm_90\n.address_size 64\n"

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec * 1e-3;
}

static size_t guarded(char *t, unsigned i)
{
	return (size_t)sprintf(
		t,
		"add.s32 %%r%u, %%r1, %u;\nsetp.ge.s32 %%p%u, %%r%u, %%r5;\n@%%p%u bra L%u;\n"
		"mul.wide.s32 %%rd%u, %%r%u, 4;\nadd.s64 %%rd%u, %%rd1, %%rd%u;\n"
		"ld.global.u32 %%r%u, [%%rd%u];\nadd.s32 %%r%u, %%r%u, 1;\n"
		"st.global.u32 [%%rd%u], %%r%u;\nL%u:\n",
		10 + 3 * i, i, i, 10 + 3 * i, i, i, 10 + 2 * i, 10 + 3 * i, 11 + 2 * i, 10 + 2 * i,
		11 + 3 * i, 11 + 2 * i, 12 + 3 * i, 11 + 3 * i, 11 + 2 * i, 12 + 3 * i, i);
}

static size_t sums(char *t, unsigned i)
{
	size_t n = 0;

	for (unsigned k = 0; k < 24; k++)
		n += (size_t)sprintf(t + n, "fma.rn.f32 %%f%u, %%f%u, %%f%u, %%f%u;\n", k, k,
				     (k + i) % 24, (k + 7) % 24);
	return n;
}

/* What a tile of a matrix product looks like: mostly sums, an access now and then. */
static size_t tile(char *t, unsigned i)
{
	size_t n = (size_t)sprintf(t,
				   "mul.wide.s32 %%rd%u, %%r1, %u;\nadd.s64 %%rd%u, %%rd1, %%rd%u;\n"
				   "ld.global.u32 %%r%u, [%%rd%u+%u];\n",
				   10 + 2 * i, 4 * (i % 9 + 1), 11 + 2 * i, 10 + 2 * i, 10 + 3 * i,
				   11 + 2 * i, 4 * i);

	return n + sums(t + n, i);
}

/* As many guarded accesses as just have ranges. */
static size_t mixed(char *t, unsigned i)
{
	size_t n = guarded(t, i);

	return n + sums(t + n, i);
}

static size_t kernel(char *t, const char *name, size_t size, size_t (*piece)(char *, unsigned))
{
	size_t n = (size_t)sprintf(
		t,
		".visible .entry %s(.param .u64 y_%s, .param .u32 n_%s)\n{\n.reg .pred %%p<5000>;\n"
		".reg .b32 %%r<20000>;\n.reg .b64 %%rd<20000>;\n.reg .f32 %%f<30>;\n"
		"ld.param.u64 %%rd1, [y_%s];\nld.param.u32 %%r5, [n_%s];\nmov.u32 %%r1, %%tid.x;\n",
		name, name, name, name, name);

	for (unsigned i = 0; n < size; i++)
		n += piece(t + n, i);
	return n + (size_t)sprintf(t + n, "ret;\n}\n");
}

/* Reads it, picks the kernel and analyses that: the best of some rounds. */
static int first(const char *what, const char *text, size_t n, const char *name)
{
	double parse = 1e9, flow = 1e9;
	size_t memory = 0;

	for (unsigned round = 0; round < 7; round++) {
		double a = now(), b, c;
		struct ptx_module *m = ptx_parse_lazy(text, n, NULL);
		struct krt_kernel_flow *f;

		b = now();
		f = m ? krt_flow_new(m, name, NULL) : NULL;
		c = now();
		if (!f)
			abort();
		memory = krt_flow_memory(f);
		parse = b - a < parse ? b - a : parse;
		flow = c - b < flow ? c - b : flow;
		krt_flow_free(f);
		ptx_free(m);
	}
	printf("first launch, %s: %.2f ms (%.2f of the limit), of them %.2f to read; %zu kB kept\n",
	       what, (parse + flow) / 1e3, (parse + flow) / 1e3 / FIRST_MS, parse / 1e3,
	       memory / 1000);
	return parse + flow > FIRST_MS * 1e3;
}

static int firsts(void)
{
	char *text = malloc(2 * MB), name[24];
	size_t n = (size_t)sprintf(text, HEAD);
	int slow = 0;

	if (!text)
		abort();
	for (unsigned i = 0; n < MB; i++) {
		snprintf(name, sizeof(name), "k%u", i);
		n += kernel(text + n, name, 4000, guarded);
	}
	slow |= first("1 MB of small kernels", text, n, "k100");
	n = (size_t)sprintf(text, HEAD);
	n += kernel(text + n, "k", MB, tile);
	slow |= first("one kernel of 1 MB, few accesses", text, n, "k");
	n = (size_t)sprintf(text, HEAD);
	n += kernel(text + n, "k", MB, guarded);
	slow |= first("one kernel of 1 MB, all guarded accesses", text, n, "k");
	n = (size_t)sprintf(text, HEAD);
	n += kernel(text + n, "k", MB, mixed);
	slow |= first("one kernel of 1 MB, some guarded accesses", text, n, "k");
	free(text);
	return slow;
}

static void count(void *user, const struct krt_flow_range *r)
{
	(void)r;
	++*(unsigned *)user;
}

struct cost {
	double us;
	char name[64];
};

static int by_cost(const void *a, const void *b)
{
	double x = ((const struct cost *)a)->us, y = ((const struct cost *)b)->us;

	return x < y ? -1 : x > y;
}

static double evaluate(struct krt_kernel_flow *f, const struct ptx_func *k)
{
	static uint64_t params[512];
	struct krt_flow_launch l = {
		.grid = {8, 1, 1}, .block = {128, 1, 1}, .params = params, .len = sizeof(params)};
	double best = 1e9;
	unsigned n = 0;

	memset(params, 0, sizeof(params));
	for (uint32_t i = 0; i < k->nparams; i++) {
		const struct ptx_var *v = k->params[i];
		uint64_t p = UINT64_C(0x7f0000000000) + ((uint64_t)i << 32), number = 1000;

		if (v->offset + 8 > sizeof(params))
			continue;
		memcpy((char *)params + v->offset, v->size == 8 ? &p : &number,
		       v->size < 8 ? v->size : 8);
	}
	for (unsigned round = 0; round < 5; round++) {
		double a = now();

		for (unsigned i = 0; i < 20; i++)
			if (!krt_flow_eval(f, &l, count, &n))
				return 0;
		a = (now() - a) / 20;
		best = a < best ? a : best;
	}
	return best;
}

static void evaluations(const char *dir)
{
	static struct cost c[MAX_TIMES];
	DIR *d = opendir(dir);
	unsigned n = 0;
	double sum = 0;

	if (!d)
		abort();
	for (struct dirent *e; (e = readdir(d));) {
		const char *end = strrchr(e->d_name, '.');
		char path[4096], *text = malloc(4 * MB);
		struct ptx_module *m;
		size_t len;
		FILE *in;

		if (!end || strcmp(end, ".ptx") || !text) {
			free(text);
			continue;
		}
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		in = fopen(path, "r");
		len = in ? fread(text, 1, 4 * MB, in) : 0;
		if (in)
			fclose(in);
		m = ptx_parse(text, len, NULL);
		for (uint32_t i = 0; m && i < m->nfuncs && n < MAX_TIMES; i++) {
			struct krt_kernel_flow *f;

			if (!m->funcs[i]->entry || !(f = krt_flow_new(m, m->funcs[i]->name, NULL)))
				continue;
			c[n].us = evaluate(f, m->funcs[i]);
			snprintf(c[n].name, sizeof(c[n].name), "%s", m->funcs[i]->name);
			sum += c[n++].us;
			krt_flow_free(f);
		}
		ptx_free(m);
		free(text);
	}
	closedir(d);
	if (!n)
		return;
	qsort(c, n, sizeof(*c), by_cost);
	printf("evaluation, %u kernels: half in %.2f us, nine of ten in %.2f us, all in %.2f us (%s); "
	       "mean %.2f us\n",
	       n, c[n / 2].us, c[n * 9 / 10].us, c[n - 1].us, c[n - 1].name, sum / n);
	for (unsigned i = n > 8 ? n - 8 : 0; i < n; i++)
		printf("  %s %.2f us\n", c[i].name, c[i].us);
}

int main(int argc, char **argv)
{
	int slow = firsts();

	if (argc > 1)
		evaluations(argv[1]);
	return slow;
}
