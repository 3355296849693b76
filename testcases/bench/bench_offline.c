/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rate, memory and growth of the analysis of a recorded trace, on one core:
 *
 *   offline - [LAUNCHES]    all below, whole
 *   offline mix [RECORDS]   records a second of a trace of mixed operations
 *   offline flat [RECORDS]  most memory over a long run on a constant working set
 *   offline scale           each step of the engine at three sizes, 10 apart
 *   offline size LAUNCHES   bytes an operation in a trace of `krtsan record`: training
 *                           steps of these launches (testcases/launches), each call
 *                           with times of its own, a note for each block of memory
 *   offline steps WHAT N    one of these, few steps: for a count of instructions
 *                           (callgrind, --toggle-collect=measured)
 *
 * The mixed trace: 4 threads, 16 streams, 256 buffers.  Of 100 records 42 are launches
 * (6 kernels: ranges by PTX, the shipped kernels file, names; of each 64 sets of
 * parameters, in turns), 19 copies and sets, 19 records of and waits for events, 8
 * syncs and queries, 12 allocations and frees; each with a call stack.  It is
 * written as a session folder and read back as `krtsan analyze` reads it.
 */
#include "analyzer/engine.h"
#include "analyzer/image_store.h"
#include "analyzer/kernels.h"
#include "analyzer/packed.h"
#include "analyzer/reader.h"

/* What rec_build.h makes goes where the benchmark wants it. */
static int sink(struct krt_engine *e, const struct krt_rec *rec, size_t len, unsigned lane);
#define krt_engine_feed sink
#include "rec_build.h"
#undef krt_engine_feed
#include "trace_writer.h"

#include <sys/resource.h>

enum {
	THREADS = 4,
	STREAMS = 4,
	BUFFERS = 64,
	SETS = 64,
	SITES = 24
}; /* of a thread but THREADS */
#define BYTES 4096ull

static struct tw *writer;	  /* records go into a folder, */
static struct krt_packer *packer; /* or into a compressed file; NULL both: into the engine */
static uint64_t packed_raw;
static uint64_t made;
static double began;

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static int sink(struct krt_engine *e, const struct krt_rec *rec, size_t len, unsigned lane)
{
	made++;
	if (packer) {
		packed_raw += len;
		return krt_packer_add(packer, rec, len, lane);
	}
	if (!writer)
		return krt_engine_feed(e, rec, len, lane);
	tw_record_parts(writer, lane, rec, len, 0);
	return 0;
}

/* --- kernels -------------------------------------------------------------------------- */

#define HEAD(name, params)                                                                         \
	".visible .entry " name "(" params ")\n{\n"                                                \
	".reg .pred %p<2>; .reg .b32 %r<9>; .reg .f32 %f<4>; .reg .b64 %rd<40>;\n"                 \
	"mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mov.u32 %r3, %ntid.x;\n"
#define INDEX                                                                                      \
	"ld.param.u32 %r4, [n]; mad.lo.s32 %r5, %r1, %r3, %r2; setp.ge.s32 %p1, %r5, %r4;\n"       \
	"@%p1 ret; mul.wide.s32 %rd2, %r5, 4;\n"
/* registers are written once, as compilers do */
#define POINTER(name, n)                                                                           \
	"ld.param.u64 %rd1" n ", [" name "]; cvta.to.global.u64 %rd2" n ", %rd1" n ";\n"           \
	"add.s64 %rd" n ", %rd2" n ", %rd2;\n"

static const char ptx[] = ".version 7.0\n.target sm_50\n.address_size 64\n"
	/* out[i] = a[i] + b[i] */
	HEAD("add", ".param .u64 out, .param .u64 a, .param .u64 b, .param .u32 n")
		INDEX POINTER("a", "3") POINTER("b", "4")
			POINTER("out", "5") "ld.global.f32 %f1, [%rd3]; ld.global.f32 %f2, [%rd4]; "
					    "add.f32 %f3, %f1, %f2;\n"
					    "st.global.f32 [%rd5], %f3; ret;\n}\n"
	/* out[i] = a[i] * factor */
	HEAD("scale", ".param .u64 out, .param .u64 a, .param .f32 factor, .param .u32 n")
		INDEX POINTER("a", "3")
			POINTER("out", "5") "ld.param.f32 %f2, [factor]; ld.global.f32 %f1, "
					    "[%rd3]; mul.f32 %f3, %f1, %f2;\n"
					    "st.global.f32 [%rd5], %f3; ret;\n}\n"
	/* out[row * pitch + i] = 0: a block a row */
	HEAD("rows",
	     ".param .u64 out, .param .u32 pitch, .param .u32 n") "ld.param.u32 %r4, [n]; "
								  "setp.ge.s32 %p1, %r2, %r4; @%p1 "
								  "ret;\n"
								  "ld.param.u32 %r6, [pitch]; "
								  "mad.lo.s32 %r5, %r1, %r6, %r2; "
								  "mul.wide.s32 %rd2, %r5, "
								  "4;\n" POINTER(
									  "out",
									  "5") "st.global.u32 "
									       "[%rd5], 0; "
									       "ret;\n}\n";

enum { ADD = 1, SCALE, ROWS, NAMED, FILL };
#define FILL_NAME                                                                                  \
	"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_"                                    \
	"11FillFunctorIfEESt5arrayIPcLm1EEEEviT0_T1_"

static int text_of(struct krt_image_store *store, unsigned process, const uint32_t *ids, uint32_t n,
		   const char *name, uint32_t arch, struct krt_image_text *out)
{
	(void)store, (void)process, (void)ids, (void)n, (void)arch;
	if (*name == '_')
		return KRT_IMAGE_NO_TEXT;
	out->text = ptx;
	out->len = sizeof(ptx) - 1;
	out->hash = 1;
	return KRT_IMAGE_FOUND;
}

static void kernels(struct world *w)
{
	static const uint32_t add[] = {8, 8, 8, 4}, scale[] = {8, 8, 4, 4}, rows[] = {8, 4, 4},
			      fill[] = {4, 4, 8};
	static const struct {
		uint32_t id, n;
		const uint32_t *size;
		const char *name;
	} k[] = {
		{ADD, 4, add, "add"},	    {SCALE, 4, scale, "scale"},
		{ROWS, 3, rows, "rows"},    {NAMED, 4, add, "_Z5namedPfPKfS1_i"},
		{FILL, 3, fill, FILL_NAME},
	};

	for (unsigned i = 0; i < sizeof(k) / sizeof(*k); i++) {
		union {
			uint64_t words[64];
			struct krt_rec_kernel r;
			struct krt_rec h;
		} u = {0};
		uint32_t at = 0;

		u.r.h.kind = KRT_REC_KERNEL;
		u.r.id = k[i].id;
		u.r.nparams = k[i].n;
		u.r.name_len = (uint16_t)strlen(k[i].name);
		for (uint32_t p = 0; p < k[i].n; p++) {
			at = (at + k[i].size[p] - 1) / k[i].size[p] * k[i].size[p];
			u.r.param[p] = (struct krt_param){at, k[i].size[p]};
			at += k[i].size[p];
		}
		u.r.bytes = at;
		memcpy((char *)&u.r.param[k[i].n], k[i].name, u.r.name_len);
		u.r.h.size = (uint32_t)((sizeof(u.r) + k[i].n * sizeof(struct krt_param) +
					 u.r.name_len + 7) &
					~7u);
		sink(w->e, &u.h, u.r.h.size, 0);
	}
}

/* words: the parameter block. */
static void go(struct world *w, uint64_t s, uint32_t k, unsigned blocks, const uint64_t *words,
	       unsigned n)
{
	struct {
		struct krt_params head;
		uint64_t p[4];
	} b = {.head = {.kernel = k, .len = n * 8}};

	memcpy(b.p, words, n * 8);
	call_begin(w, KRT_API_cuLaunchKernel, A(0xf0), A(blocks), A(1), A(1), A(256), A(1), A(1),
		   A(0), A(s), A(0), A(0));
	call_blob(w, 9, KRT_BLOB_PARAMS, &b, (uint32_t)sizeof(b.head) + n * 8);
	call_end(w, 0);
}
#define go(w, s, k, blocks, ...)                                                                   \
	go(w, s, k, blocks, (const uint64_t[]){__VA_ARGS__}, sizeof((uint64_t[]){__VA_ARGS__}) / 8)

/* --- the mixed trace -------------------------------------------------------------------- */

static uint64_t buffer(unsigned t, unsigned i)
{
	return DEV + ((uint64_t)t * BUFFERS + i % BUFFERS) * (1 << 20);
}

static uint64_t stream_of(unsigned t, unsigned i)
{
	return 0x1000 + t * STREAMS + i;
}

enum { IN, MID, OUT, END, EVENTS };
static uint64_t event_of(unsigned t, unsigned i)
{
	return 0x2000 + t * EVENTS + i;
}

static void begin(struct world *w)
{
	uint64_t pc[8];

	context(w, 0xc0, 0, true);
	for (uint32_t s = 1; s <= THREADS * SITES; s++) {
		for (unsigned i = 0; i < 8; i++)
			pc[i] = 0x400000 + s * 64 + i * 0x10000;
		stack(w, s, 8, pc);
	}
	kernels(w);
	w->now = 1;
	w->took = 2000;
	for (unsigned t = 0; t < THREADS; t++) {
		thread(w, t + 1, t + 1);
		for (unsigned i = 0; i < STREAMS; i++)
			stream(w, stream_of(t, i), 1);
		for (unsigned i = 0; i < EVENTS; i++)
			event(w, event_of(t, i));
		for (unsigned i = 0; i < BUFFERS; i++)
			alloc(w, buffer(t, i), 2 * BYTES);
		alloc_pinned(w, PIN + t * (1ull << 30), 1 << 20);
	}
}

/* One turn of a thread: an upload, kernels that follow each other, a download that is waited for.
 */
static void turn(struct world *w, unsigned t, unsigned k)
{
	uint64_t copy = stream_of(t, 0), run = stream_of(t, 1), down = stream_of(t, 2);
	uint64_t a = buffer(t, k), b = buffer(t, k + 1), c = buffer(t, k + 2), d = buffer(t, k + 3);
	uint64_t pin = PIN + t * (1ull << 30), tmp = DEV + (1ull << 40) + t * (1ull << 30);
	uint64_t n = BYTES / 4;
	uint32_t site = t * SITES;

	w->lane = t + 1;
#define AT(x) (w->stack = ++site, x)
	AT(h2d(w, a, pin, BYTES, copy));
	AT(record(w, event_of(t, IN), copy));
	AT(wait_event(w, run, event_of(t, IN)));
	AT(go(w, run, ADD, 4, c, a, b, n));
	AT(go(w, run, SCALE, 4, b, c, n << 32 | k % SETS));
	AT(go(w, run, FILL, 2, 0x3f80000000000000 | n, d));
	AT(go(w, run, NAMED, 4, c, b, a, n));
	AT(go(w, run, ROWS, 4, d, 64ull << 32 | 256));
	AT(set(w, d, BYTES, run));
	AT(d2d(w, b, c, BYTES, run));
	AT(record(w, event_of(t, MID), run));
	AT(wait_event(w, down, event_of(t, MID)));
	AT(d2h(w, pin + (1 << 19), c, BYTES, down));
	AT(record(w, event_of(t, OUT), down));
	AT(alloc_async(w, tmp, BYTES, run));
	AT(go(w, run, SCALE, 4, tmp, b, n << 32 | 7));
	AT(go(w, run, ADD, 4, d, tmp, b, n));
	AT(call(w, cuMemFreeAsync, A(tmp), A(run)));
	if (k % 8 == 0) {
		AT(alloc(w, tmp + (1 << 24), BYTES));
		AT(go(w, run, SCALE, 4, tmp + (1 << 24), b, n << 32 | 8));
		AT(sync_stream(w, run));
		AT(call(w, cuMemFree_v2, A(tmp + (1 << 24))));
	}
	AT(record(w, event_of(t, END), run));
	AT(wait_event(w, copy, event_of(t, END)));
	if (k % 2)
		call(w, cuStreamQuery, A(copy));
	sync_event(w, event_of(t, OUT));
#undef AT
}

static const struct krt_engine_config config = {
	.hot_min = 16, .possible_max = 1000, .text = text_of};

static struct krt_engine_config with_kernels(void)
{
	struct krt_engine_config cfg = config;
	char why[384];

	if (!krt_kernels_ship(&cfg.kernels, why, sizeof(why))) {
		fprintf(stderr, "%s\n", why);
		exit(1);
	}
	return cfg;
}

/* Notes on how it goes about it are none of ours. */
static void expect_clean(const char *text)
{
	if (!strstr(text, ":error") && !strstr(text, ":warning"))
		return;
	fprintf(stderr, "not clean: %s\n", text);
	exit(1);
}

/* An engine without a world: the trace is fed to it. */
static void close_engine(struct world *w, struct krt_engine *e)
{
	w->e = e;
	expect_clean(world_close(w));
}

static void mix(uint64_t records)
{
	struct krt_engine_config cfg = with_kernels();
	struct krt_reader *r;
	struct world *w = calloc(1, sizeof(*w));
	const struct krt_rec *rec;
	struct tw trace;
	char dir[256], err[256];
	uint64_t n, bytes, peak;
	double reading = 0;
	unsigned lane;
	size_t len;

	tw_folder(dir);
	tw_open(&trace, dir, 1, 1);
	writer = &trace;
	world_open(w, &cfg);
	krt_engine_destroy(w->e);
	begin(w);
	for (unsigned lane_no = 1; lane_no <= THREADS; lane_no++)
		trace.h->slot[lane_no].tid = (int)lane_no;
	for (unsigned k = 0; made < records; k++)
		turn(w, k % THREADS, k / THREADS);
	writer = NULL;
	tw_exit(&trace, 0);
	tw_close(&trace);
	for (unsigned engine = 0; engine < 2; engine++) {
		struct krt_engine *e = krt_engine_new(&cfg);
		struct krt_proc_reader *p;

		r = krt_reader_open(dir, false, err, sizeof(err));
		if (!r || krt_reader_scan(r) != 1)
			exit(1);
		p = krt_reader_process(r, 0);
		began = now();
		while (krt_proc_next(p, &rec, &len, &lane) > 0)
			if (engine)
				krt_engine_feed(e, rec, len, lane);
		began = now() - began;
		krt_proc_volume(p, &n, &bytes, &peak);
		if (n != made || krt_proc_error(p)) {
			fprintf(stderr, "%s\n",
				krt_proc_error(p) ? krt_proc_error(p) : "records are missing");
			exit(1);
		}
		if (!engine)
			reading = began;
		krt_reader_close(r);
		close_engine(w, e);
	}
	printf("mixed trace: %llu records of %.0f bytes: %.2f million a second (%.0f ns each, of "
	       "them %.0f to read)\n",
	       (unsigned long long)n, (double)bytes / (double)n, (double)n / began * 1e-6,
	       began / (double)n * 1e9, reading / (double)n * 1e9);
	tw_remove(dir);
	krt_kernels_free(cfg.kernels);
	free(w);
}

static void flat(uint64_t records)
{
	struct krt_engine_config cfg = with_kernels();
	struct world *w = calloc(1, sizeof(*w));
	struct rusage use;
	uint64_t next = 1;

	world_open(w, &cfg);
	began = now();
	begin(w);
	for (unsigned k = 0; made < records; k++) {
		turn(w, k % THREADS, k / THREADS);
		if (made < records / 100 * next)
			continue;
		getrusage(RUSAGE_SELF, &use);
		if ((next & (next - 1)) == 0)
			printf("memory after %.1f million records: %.1f MiB\n", (double)made * 1e-6,
			       (double)use.ru_maxrss / 1024);
		next *= 2;
	}
	began = now() - began;
	expect_clean(world_close(w));
	getrusage(RUSAGE_SELF, &use);
	printf("memory after %.1f million records: %.1f MiB; %.2f million a second, their making "
	       "included\n",
	       (double)made * 1e-6, (double)use.ru_maxrss / 1024, (double)made / began * 1e-6);
	krt_kernels_free(cfg.kernels);
	free(w);
}

/* --- size on disk ------------------------------------------------------------------------ */

static uint64_t draw(uint64_t n);

/* As a call takes: mostly much the same, now and then far longer. */
static void pass_time(struct world *w)
{
	w->took = 1500 + draw(900) + (draw(50) ? 0 : draw(20000));
	w->now += 1200 + draw(2500);
}

#define KERNELS 4096
static uint32_t shared_of[1 << 16]; /* by line */

/* A launch as the recorder writes it: blocks of 32 bytes and more are told once. */
static void listed_launch(struct world *w, char *line, unsigned number, bool first)
{
	static union {
		struct krt_rec_params r;
		struct krt_rec h;
		char bytes[8192];
	} u;
	static struct {
		struct krt_params head;
		char bytes[4096];
	} b;
	unsigned lane, id, g[6], len, at = 0;
	char *word;

	if (sscanf(line, "%*s %u %u %u,%u,%u,%u,%u,%u %u%n", &lane, &id, g, g + 1, g + 2, g + 3,
		   g + 4, g + 5, &len, &at) < 9 ||
	    len > sizeof(b.bytes))
		return;
	memset(&b, 0, sizeof(b));
	b.head.kernel = id;
	b.head.len = len;
	for (word = strtok(line + at, " \n"); word; word = strtok(NULL, " \n")) {
		unsigned off;
		uint64_t v;

		if (sscanf(word, "%x=%lx", &off, &v) == 2 && off + 8 <= len)
			memcpy(b.bytes + off, &v, 8);
	}
	w->lane = 1;
	w->stack = 1 + number;
	if (first && len >= 32) {
		memset(&u, 0, sizeof(u.r));
		u.r.h.kind = KRT_REC_PARAMS;
		u.r.id = number + 1;
		u.r.kernel = id;
		u.r.len = len;
		memcpy(u.r.bytes, b.bytes, len);
		u.r.h.size = (uint32_t)(sizeof(u.r) + len + 7) & ~7u;
		sink(w->e, &u.h, u.r.h.size, 0);
		shared_of[number] = number + 1;
	}
	pass_time(w);
	call_begin(w, KRT_API_cuLaunchKernel, A(0x5500 + id * 16), A(g[0]), A(g[1]), A(g[2]),
		   A(g[3]), A(g[4]), A(g[5]), A(0), A(0x7001), A(0x7ffc00 + number * 8), A(0));
	if (len >= 32)
		call_blob(w, 9, KRT_BLOB_SHARED, &shared_of[number], 4);
	else
		call_blob(w, 9, KRT_BLOB_PARAMS, &b, (uint32_t)sizeof(b.head) + len);
	call_end(w, 0);
}

/* What the feed tells of a block: addresses come again from step to step, in another order. */
static void listed_block(struct world *w, unsigned number)
{
	uint64_t p = 0x10620000000ull + (number * 37 + draw(4)) % 700 * 0x200ull;

	w->stack = 0x8000 + number;
	pass_time(w);
	if (number % 2)
		call(w, krtsan_impl_block_alloc, A(0x77), A(p), A(0x200 << number % 7), A(0x7001));
	else
		call(w, krtsan_impl_block_free, A(p));
}

static void size_of(const char *launches)
{
	struct krt_proc *h = calloc(1, sizeof(*h));
	struct world *w = calloc(1, sizeof(*w));
	FILE *in = fopen(launches, "r");
	char dir[256], line[16384];
	uint64_t first = 0, first_size = 0;
	int fd;

	if (!in) {
		perror(launches);
		exit(1);
	}
	tw_folder(dir);
	fd = open(dir, O_RDONLY | O_DIRECTORY);
	packer = krt_packer_new(fd, "1.1");
	krt_packer_process(packer, h, 0, false);
	world_open(w, &config);
	w->now = 1;
	thread(w, 1, 1);
	for (unsigned step = 0; step < 200; step++) {
		unsigned number = 0;

		rewind(in);
		while (fgets(line, sizeof(line), in)) {
			if (*line != 'N')
				continue;
			listed_launch(w, line, number++, !step);
			listed_block(w, number);
		}
		w->stack = 0x7fff;
		pass_time(w);
		sync_stream(w, 0x7001);
		if (!step) {
			krt_packer_flush(packer);
			first = made;
			first_size = krt_packer_size(packer);
		}
	}
	krt_packer_process(packer, h, 0, true);
	printf("training steps: %llu records of %.0f bytes, on disk %.1f each; of the first step "
	       "alone %.1f (stacks, kernels and images apart)\n",
	       (unsigned long long)made, (double)packed_raw / (double)made,
	       (double)krt_packer_size(packer) / (double)made, (double)first_size / (double)first);
	krt_packer_free(packer);
	packer = NULL;
	close(fd);
	fclose(in);
	tw_remove(dir);
	krt_engine_destroy(w->e);
	free(h);
	free(w);
}

/* --- growth -------------------------------------------------------------------------------- */

static uint64_t seed;
static uint64_t draw(uint64_t n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (seed >> 33) % n;
}

static void grow_streams(struct world *w, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		stream(w, 0x100000 + i * 16, 1);
		event(w, 0x200000 + i * 16);
		alloc(w, DEV + (i << 20), BYTES);
	}
}
/* A kernel on some stream, and another stream goes on with what it wrote. */
static void step_streams(struct world *w, uint64_t n)
{
	uint64_t i = draw(n), k = draw(n);

	sync_stream(w, 0x100000 + k * 16);
	sync_stream(w, 0x100000 + i * 16);
	go(w, 0x100000 + i * 16, ROWS, 4, DEV + (i << 20), 64ull << 32 | 256);
	record(w, 0x200000 + i * 16, 0x100000 + i * 16);
	wait_event(w, 0x100000 + k * 16, 0x200000 + i * 16);
	go(w, 0x100000 + k * 16, ROWS, 4, DEV + (i << 20), 64ull << 32 | 256);
	sync_stream(w, 0x100000 + k * 16);
}

static void grow_allocations(struct world *w, uint64_t n)
{
	stream(w, 0x100000, 1);
	for (uint64_t i = 0; i < n; i++)
		alloc(w, DEV + (i << 16), BYTES);
}
/* Some memory is used, given back and handed out again. */
static void step_allocations(struct world *w, uint64_t n)
{
	uint64_t i = draw(n);

	go(w, 0x100000, ROWS, 4, DEV + (i << 16), 64ull << 32 | 256);
	set(w, DEV + (draw(n) << 16), BYTES, 0x100000);
	sync_stream(w, 0x100000);
	call(w, cuMemFree_v2, A(DEV + (i << 16)));
	alloc(w, DEV + (i << 16), BYTES);
}

static void grow_ranges(struct world *w, uint64_t n)
{
	stream(w, 0x100000, 1);
	stream(w, 0x100010, 1);
	event(w, 0x200000);
	alloc(w, DEV, n * 512);
	for (uint64_t i = 0; i < n; i++)
		set(w, DEV + i * 512, 256, 0x100000);
}
/* Some pieces of the buffer are written and read, none of them all. */
static void step_ranges(struct world *w, uint64_t n)
{
	uint64_t i = draw(n), k = draw(n);

	set(w, DEV + i * 512, 256, 0x100000);
	set(w, DEV + i * 512 + 64, 64, 0x100000);
	record(w, 0x200000, 0x100000);
	wait_event(w, 0x100010, 0x200000);
	d2h(w, HEAP, DEV + k * 512, 256, 0x100010);
	record(w, 0x200000, 0x100010);
	wait_event(w, 0x100000, 0x200000);
}

static void grow_pool(struct world *w, uint64_t n)
{
	grow_allocations(w, 1);
	call(w, krtsan_impl_pool_create, A(0x77), A(1), A(0));
	alloc(w, DEV + (1ull << 40), n << 12);
	for (uint64_t i = 0; i < n; i++)
		call(w, krtsan_impl_block_alloc, A(0x77), A(DEV + (1ull << 40) + (i << 12)),
		     A(2048), A(0x100000));
}
/* A block of a pool is used, given back and handed out. */
static void step_pool(struct world *w, uint64_t n)
{
	uint64_t p = DEV + (1ull << 40) + (draw(n) << 12);

	go(w, 0x100000, ROWS, 2, p, 64ull << 32 | 256);
	call(w, krtsan_impl_block_free, A(p));
	call(w, krtsan_impl_block_alloc, A(0x77), A(p), A(2048), A(0x100000));
	set(w, p, 1024, 0x100000);
}

static const struct growth {
	const char *name;
	uint64_t max;
	void (*grow)(struct world *w, uint64_t n);
	void (*step)(struct world *w, uint64_t n);
} growths[] = {
	{"streams", 10000, grow_streams, step_streams},
	{"allocations", 1000000, grow_allocations, step_allocations},
	{"ranges", 100000, grow_ranges, step_ranges},
	{"blocks", 100000, grow_pool, step_pool},
};

__attribute__((noinline)) void measured(struct world *w, const struct growth *g, uint64_t n,
					unsigned steps);
void measured(struct world *w, const struct growth *g, uint64_t n, unsigned steps)
{
	while (steps--)
		g->step(w, n);
}

/* Seconds of one step, and the most memory of the engine and the folder. */
static double cost(const struct growth *g, uint64_t n, unsigned steps)
{
	struct world *w = calloc(1, sizeof(*w));
	uint64_t before;
	double took;

	seed = 1;
	world_open(w, &config);
	context(w, 0xc0, 0, true);
	kernels(w);
	thread(w, 1, 1);
	g->grow(w, n);
	for (unsigned i = 0; i < steps; i++) /* histories as long as they get */
		g->step(w, n);
	before = made;
	took = now();
	measured(w, g, n, steps);
	took = (now() - took) / (double)(made - before);
	expect_clean(world_close(w));
	free(w);
	return took;
}

static void scale(void)
{
	printf("%-12s %10s %12s\n", "", "size", "ns a record");
	for (unsigned i = 0; i < sizeof(growths) / sizeof(*growths); i++)
		for (uint64_t n = growths[i].max / 100; n <= growths[i].max; n *= 10)
			printf("%-12s %10llu %12.0f\n", growths[i].name, (unsigned long long)n,
			       cost(&growths[i], n, 200000) * 1e9);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 && strcmp(argv[1], "-") ? argv[1] : "";
	uint64_t n = *what && argc > 2 ? strtoull(argv[argc - 1], NULL, 0) : 0;

	if (!*what || !strcmp(what, "mix"))
		mix(n ? n : 2000000);
	made = 0;
	if (!*what || !strcmp(what, "flat"))
		flat(n ? n : 100000000);
	if (!*what || !strcmp(what, "scale"))
		scale();
	if (argc > 2 && (!*what || !strcmp(what, "size"))) {
		made = 0;
		size_of(argv[2]);
	}
	if (!strcmp(what, "steps") && argc == 4)
		for (unsigned i = 0; i < sizeof(growths) / sizeof(*growths); i++)
			if (!strcmp(growths[i].name, argv[2]))
				cost(&growths[i], n, 2500);
	return 0;
}
