/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Damaged input for everything that reads what a program brings along: module
 * images, PTX, mangled names, kernels files; and for what users keep: JSON reports,
 * suppressions.  Nothing may crash, hang or grow
 * without bound, and an answer must hang together.
 *
 *   fuzz [--rounds=PER_CENT | --seconds=N] [--seed=N] [--out=FOLDER] [TARGET...]
 *   fuzz --input=FILE TARGET
 *
 * Run in the top folder: inputs are made from the files of testcases/.  Built with
 * sanitizers and with calls at every edge of the code (-fsanitize-coverage=trace-pc):
 * an input that comes to new edges is kept and damaged further.  The same seed
 * and rounds give the same inputs.  Each target is a process of its own; what
 * ended it badly is written to FOLDER and can be given back with --input.
 */
#define _GNU_SOURCE
#include "analyzer/demangle.h"
#include "analyzer/image.h"
#include "analyzer/image_store.h"
#include "analyzer/kernels.h"
#include "analyzer/names.h"
#include "analyzer/ptx/flow.h"
#include "testcases/fuzz/reports.h"
#include "testcases/ptx/same.h"

#include <ctype.h>
#include <errno.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define INPUT_MAX  ((size_t)1 << 18) /* bytes of an input */
#define CORPUS_MAX 8192
#define HANG_S	   60	/* for one input, sanitizers and all */
#define SLOW_MS	   3000 /* of the processor */

struct input {
	unsigned char *p;
	size_t n;
};

struct target {
	const char *name;
	unsigned rounds;
	void (*corpus)(void);
	void (*one)(const unsigned char *p, size_t n);
	const char *const *words; /* of the language; NULL: bytes */
};

static struct input corpus[CORPUS_MAX];
static unsigned ncorpus;
static long slowest;
static struct shared {
	unsigned long round;
	size_t n;
	unsigned char bytes[INPUT_MAX];
} * shared; /* what the child is at */

#define MUST(cond)                                                                                 \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #cond);  \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

/* --- edges ----------------------------------------------------------------------------- */

static unsigned char edges[1 << 17];
static uintptr_t last_edge;
static unsigned fresh;

void __sanitizer_cov_trace_pc(void);
__attribute__((no_sanitize("address", "undefined"))) void __sanitizer_cov_trace_pc(void)
{
	uintptr_t pc = (uintptr_t)__builtin_return_address(0) - (uintptr_t)&__sanitizer_cov_trace_pc;
	uintptr_t edge = ((pc * 0x9e3779b97f4a7c15ull) >> 40 ^ last_edge) % sizeof(edges);

	fresh += !edges[edge];
	edges[edge] = 1;
	last_edge = ((pc * 0x9e3779b97f4a7c15ull) >> 40) >> 1;
}

/* --- chance ---------------------------------------------------------------------------- */

static uint64_t state;

static uint32_t roll(uint64_t n)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)((state >> 33) % (n ? n : 1));
}

/* --- inputs ---------------------------------------------------------------------------- */

static void keep(const void *p, size_t n)
{
	struct input *i = &corpus[ncorpus];

	if (ncorpus == CORPUS_MAX || !n || n > INPUT_MAX)
		return;
	i->p = malloc(n);
	MUST(i->p);
	memcpy(i->p, p, n);
	i->n = n;
	ncorpus++;
}

static char *slurp(const char *path, size_t *n)
{
	FILE *f = fopen(path, "rb");
	char *p = malloc(16 << 20);

	MUST(f && p);
	*n = fread(p, 1, (16 << 20) - 1, f);
	p[*n] = 0;
	fclose(f);
	return p;
}

static void each_file(const char *pattern, void (*fn)(char *text, size_t n))
{
	glob_t g;

	if (glob(pattern, 0, NULL, &g))
		return;
	for (size_t i = 0; i < g.gl_pathc; i++) {
		size_t n;
		char *text = slurp(g.gl_pathv[i], &n);

		fn(text, n);
		free(text);
	}
	globfree(&g);
}

static void whole(char *text, size_t n)
{
	keep(text, n);
}

/* A large text by its kernels, each behind what comes before the first. */
static void by_kernel(char *text, size_t n)
{
	char *first = strstr(text, ".entry"), *at = first;

	if (n < 12000 || !first) {
		keep(text, n);
		return;
	}
	while (first > text && first[-1] != '\n')
		first--;
	while (at) {
		char *end = strstr(at + 1, ".entry"), *stop = end ? end : text + n, *part;
		size_t head = (size_t)(first - text), len;

		while (at > text && at[-1] != '\n')
			at--;
		while (end && stop > at && stop[-1] != '\n')
			stop--;
		len = (size_t)(stop - at);
		if (head < 8000 && len < 16000 && (part = malloc(head + len))) {
			memcpy(part, text, head);
			memcpy(part + head, at, len);
			keep(part, head + len);
			free(part);
		}
		at = end;
	}
}

static void names_in(char *text, size_t n)
{
	size_t at = 0, len;
	const char *name;

	while ((name = krt_ptx_entry(text, n, &at, &len)))
		if (len > 2 && name[0] == '_' && name[1] == 'Z')
			keep(name, len);
}

/* Some lines at a time. */
static void by_lines(char *text, size_t n)
{
	for (char *at = text; at < text + n;) {
		char *end = at;

		for (unsigned i = 0; i < 12 && end < text + n; i++) {
			end += strcspn(end, "\n");
			end += end < text + n;
		}
		keep(at, (size_t)(end - at));
		at = end > at ? end : text + n;
	}
}

static void images(void)
{
	each_file("testcases/images/*.fatbin", whole);
	each_file("testcases/images/*.cubin", whole);
}

static void texts(void)
{
	each_file("testcases/kernels/*.ptx", by_kernel);
	each_file("testcases/ptx/*.ptx", by_kernel);
	each_file("testcases/fuzz/found/ptx-*", whole); /* ended badly once */
}

static void names(void)
{
	static const char *const more[] = {
		"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEESt5arrayIPcLm3EEEEviT0_T1_",
		"_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIfNS0_14func_wrapper_tIfZNS0_11sum_functorIfffEclERNS_14"
		"TensorIteratorEEUlffE_EEjfLi4ELi4EEEEEvT1_",
		"_ZN3cub18DeviceReduceKernelINS_18DeviceReducePolicyIfjNS_3SumEE9Policy600EPfS5_jS3_fEEvT0_T1_T2_NS_13GridEvenShareIS7_EET3_",
		"__nv_static_33__deadbeef_7_main_cu__Z5saxpyifPKfPf",
		"_ZN12_GLOBAL__N_15applyIZ4mainEUliE_EEviT_",
		"_Z10fill_typedIdEvPTs",
	};

	each_file("testcases/kernels/*.ptx", names_in);
	for (unsigned i = 0; i < sizeof(more) / sizeof(*more); i++)
		keep(more[i], strlen(more[i]));
}

static void files(void)
{
	static const char good[] =
		"# c\nkernel f: arg 1 read [0, 4*(arg0+blockx)-1), arg 3.8 write [arg3.16:4, gridx/2), ignore\n"
		"kernel \"g h\": arg 2 atomic [0x10, 0x20)\\\n, arg 0 read\nkernel *: ignore\n";
	static const char more[] =
		"names S: vectorized*, f\ntable T: 1, 2, 4\nsize \"float\", \"int\": 4\nfunctor \"*add*\": 4 (4, 4)\n"
		"kernel \"void at::native::@S<$N, $F, $A>(*\" (4, *, ...): let n = arg0, for i in 0..arity($F) { arg 2.(8*i) "
		"read [0, n*argument($F, i)) }, if n > 3 { arg 2.0 write [0, n*result($F)) } else { arg 2 may write }\n";

	keep(more, sizeof(more) - 1);
	keep(good, sizeof(good) - 1);
	each_file("testcases/harness/kernels.txt", by_lines);
	each_file("rules/kernels/*", by_lines);
}

/* --- targets ----------------------------------------------------------------------------- */

static bool read_bytes(void *user, uint64_t off, void *to, size_t n)
{
	const struct input *i = user;

	if (off > i->n || n > i->n - off)
		return false;
	memcpy(to, i->p + off, n);
	return true;
}

static void ask_cubin(const void *p, size_t n)
{
	struct krt_cubin_params params;
	struct krt_cubin c;
	uint32_t i = 0, kernels = 0;
	size_t len;
	const char *name;
	char *out, text[256];

	if (!krt_cubin_open(&c, p, n))
		return;
	while ((name = krt_cubin_kernel(&c, &i, &len)) && kernels++ < 64) {
		snprintf(text, sizeof(text), "%.*s", (int)(len < 255 ? len : 255), name);
		if (krt_cubin_params(&c, text, &params))
			continue;
		for (uint32_t j = 0; j < params.n; j++)
			MUST((uint64_t)params.param[j].offset + params.param[j].size <= params.bytes);
		free(params.param);
	}
	if (!krt_cubin_ptx(&c, &out, &len)) {
		MUST(!out[len] && strlen(out) == len);
		free(out);
	}
}

static void one_image(const unsigned char *p, size_t n)
{
	struct input b = {(unsigned char *)p, n};
	struct krt_image_source s = {read_bytes, &b, n};
	struct krt_fatbin_walk w = {0};
	struct krt_fatbin_entry e;
	unsigned entries = 0;
	size_t len;
	char *out;

	(void)krt_image_kind(p, n);
	while (krt_fatbin_next(&s, &w, &e)) {
		MUST(entries++ < 100000);
		if (entries > 64 || krt_fatbin_unpack(&s, &e, 1 << 20, &out, &len))
			continue;
		MUST(len <= 1 << 20);
		if (e.kind == 2)
			ask_cubin(out, len);
		else
			MUST(krt_ptx_clean(out, len) <= len);
		free(out);
	}
	ask_cubin(p, n);
}

static void check_range(void *user, const struct krt_flow_range *r)
{
	const struct krt_flow_info *info = user;

	MUST(r->slot == KRT_FLOW_NO_SLOT ? r->global < info->nglobals : r->slot < info->nslots);
	MUST(r->kind && !(r->kind & ~KRT_FLOW_ALL) && !(r->kind & (r->kind - 1)));
	MUST(r->whole || r->lo <= r->hi);
	MUST(!r->whole || !r->must);
	if (r->slot != KRT_FLOW_NO_SLOT) /* what is done is in the roles too */
		MUST((info->slots[r->slot].role | info->any) & r->kind);
}

/* Launches that fit nothing in particular. */
static void one_kernel(struct ptx_module *m, const char *name)
{
	static const struct krt_flow_launch shapes[] = {
		{.grid = {1, 1, 1}, .block = {1, 1, 1}},
		{.grid = {3, 2, 1}, .block = {33, 2, 1}, .dyn_shared = 64},
		{.grid = {UINT32_MAX, 65535, 65535}, .block = {1024, 1, 1}},
		{.grid = {0, 1, 1}, .block = {1, 0, 1}},
	};
	static uint64_t w[512];
	enum krt_flow_error err;
	struct krt_kernel_flow *f = krt_flow_new(m, name, &err);
	const struct krt_flow_info *info;

	MUST(f || err != KRT_FLOW_OK);
	if (!f)
		return;
	info = krt_flow_info(f);
	MUST(krt_flow_memory(f) <= KRT_FLOW_MEMORY);
	for (uint32_t i = 0; i < info->nslots; i++)
		MUST(info->slots[i].offset == KRT_FLOW_ANY || info->slots[i].offset < info->slots[i].size);
	for (unsigned i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
		struct krt_flow_launch l = shapes[i];

		for (unsigned k = 0; k < 512; k++)
			w[k] = roll(3) ? UINT64_C(0x7f0000000000) + k * 4096 : roll(2) ? roll(5000) : state;
		l.params = w;
		l.len = roll(8) ? sizeof(w) : roll(sizeof(w));
		(void)krt_flow_eval(f, &l, check_range, (void *)(uintptr_t)info);
	}
	krt_flow_free(f);
}

static void all_kernels(const char *text, size_t n)
{
	struct ptx_module *m = ptx_parse_lazy(text, n, NULL);
	unsigned kernels = 0;

	for (uint32_t k = 0; m && k < ptx_module_funcs(m) && kernels < 4; k++)
		if (ptx_module_func(m, k)->entry) {
			one_kernel(m, ptx_module_func(m, k)->name);
			kernels++;
		}
	ptx_free(m);
}

/* Read the other way, too. */
static void both_ways(const char *text, size_t n, const struct ptx_module *m)
{
	size_t len = 0;
	char *slow = ptx_commented(text, n, &len);
	struct ptx_module *s = slow ? ptx_parse(slow, len, NULL) : NULL;

	if (slow) {
		MUST(!m == !s);
		MUST(!m || !ptx_differ(m, s));
	}
	ptx_free(s);
	free(slow);
}

static void one_text(const unsigned char *p, size_t n)
{
	struct ptx_error e = {0};
	struct ptx_module *m = ptx_parse((const char *)p, n, &e);

	MUST(m || e.what[0]);
	both_ways((const char *)p, n, m);
	ptx_free(m);
	all_kernels((const char *)p, n);
}

/* From the record to what the kernel does. */
static void one_store(const unsigned char *p, size_t n)
{
	struct krt_image_config cfg = {.unpacked = 1 << 20};
	struct krt_image_store *s = krt_image_store_new(&cfg);
	struct krt_rec_image *r = calloc(1, sizeof(*r) + n);
	static const char *const kernels[] = {"gather", "_Z5scalePfPKff", "big", "flagged"};
	const uint32_t id = 1;
	uint64_t copied, unpacked;

	MUST(s && r);
	r->id = id;
	r->form = KRT_IMAGE_COPY;
	r->len = n;
	memcpy(r->data, p, n);
	MUST(!krt_image_store_record(s, 0, r, sizeof(*r) + n));
	for (unsigned k = 0; k < 4; k++) {
		struct krt_cubin_params params;
		struct krt_image_text t;

		if (!krt_image_store_text(s, 0, &id, 1, kernels[k], 90, &t)) {
			MUST(strlen(t.text) == t.len);
			all_kernels(t.text, t.len);
		}
		if (!krt_image_store_params(s, 0, &id, 1, kernels[k], 90, &params))
			free(params.param);
	}
	krt_image_store_volume(s, &copied, &unpacked);
	MUST(unpacked <= 1 << 20);
	krt_image_store_free(s);
	free(r);
}

static void one_name(const unsigned char *p, size_t n)
{
	struct krt_name_param out[64];
	uint32_t sizes[64];
	char *name = malloc(n + 1), *readable, brief[KRT_SHORT_NAME];
	int r;

	MUST(name);
	memcpy(name, p, n);
	name[n] = 0;
	r = krt_names_params(name, out, 64);
	MUST(r >= -1 && r <= 64);
	for (unsigned i = 0; i < 64; i++)
		sizes[i] = 1u << roll(5);
	(void)krt_names_checked(name, sizes, roll(65), out);
	/* the C++ runtime's: it takes what it likes for long names */
	readable = n < 400 ? krt_demangle(name) : NULL;
	for (const char *text = readable ? readable : name;; text = name) {
		krt_readable_short(text, brief);
		MUST(strlen(brief) < sizeof(brief));
		krt_readable_plain(text, brief);
		MUST(strlen(brief) < sizeof(brief));
		if (text == name)
			break;
	}
	free(readable);
	free(name);
}

static void check_access(void *user, const struct krt_kernels_access *a)
{
	(void)user;
	MUST(a->role && !(a->role & ~7u));
	MUST(!a->len == (a->sure == KRT_SURE_FROM));
}

static void one_file(const unsigned char *p, size_t n)
{
	static const char *const kernels[] = {"f", "g h", "_Z5applyIfLi0EEvPKT_PS0_i",
		"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEESt5arrayIPcLm3EEEEviT0_T1_"};
	char err[256] = "";
	struct krt_kernels_file *f = krt_kernels_parse("fuzz", (const char *)p, n, err, sizeof(err));
	static uint64_t w[128];
	struct krt_param param[16];

	MUST(f || !strncmp(err, "fuzz:", 5));
	if (!f)
		return;
	for (unsigned i = 0; i < 16; i++) {
		param[i].size = roll(8) ? 1u << roll(10) : roll(UINT32_MAX);
		param[i].offset = roll(8) ? roll(900) & ~7u : roll(UINT32_MAX);
	}
	for (unsigned i = 0; i < 128; i++)
		w[i] = roll(3) ? UINT64_C(0x7f0000000000) + i * 4096 : roll(2) ? roll(5000) : state;
	for (unsigned k = 0; k < 4; k++) {
		struct krt_kernels_launch l = {.param = param,
					       .nparams = roll(8) ? roll(17) : KRT_PARAMS_UNKNOWN,
					       .params = w,
					       .len = roll(8) ? sizeof(w) : roll(sizeof(w)),
					       .grid = {roll(100), 1, 1},
					       .block = {roll(1025), 1, 1}};

		(void)krt_kernels_match(f, kernels[k], &l, check_access, NULL);
	}
	krt_kernels_free(f);
}

static void reports(void)
{
	fuzz_reports(keep);
}

static void suppressions(void)
{
	fuzz_suppressions(keep);
}

static const char *const ptx_words[] = {
	"{", "}", "(", ")", "[", "]", ";", ",", ":", "@", "|", "<", ">", "+", "-", "!", "%r1", "%rd1", "%p1", "%f1",
	".reg .b32 %r<9>;", ".param", ".u32", ".u64", ".s64", ".b8", ".v2", ".v4", ".global", ".shared", ".local",
	".const", "ld.param.u64", "ld.global.u32", "st.global.u32", "cvta.to.global.u64", "mad.lo.s32", "mul.wide.u32",
	"add.s64", "shl.b64", "and.b64", "or.b64", "setp.ge.u32", "selp.b64", "bra", "call", "ret;", "exit;", "atom.global.add.u32",
	"red.global.add.u32", "cp.async.ca.shared.global", "bar.sync 0;", ".entry", ".func", ".branchtargets", "0x", "0f3F800000",
	"1", "0", "-1", "4294967295", "18446744073709551615", "%tid.x", "%ctaid.x", "%ntid.x", "%nctaid.x", "$L__BB0_1", NULL,
};
static const char *const name_words[] = {
	"_", "Z", "N", "I", "E", "J", "L", "S_", "S0_", "T_", "T0_", "P", "K", "R", "F", "A", "D", "X", "U", "l", "t", "n",
	"0", "1", "9", "99999999999", "f", "i", "v", "b", "St", "Sa", "Ss", "C1", "D0", "cv", "NK", "Ul", "UlvE_", "Dp", "DT", "_GLOBAL__N_1", NULL,
};
static const char *const file_words[] = {
	"kernel ", "arg ", "arg 1", "read", "write", "atomic", "ignore", "atomic-ok", "sync-by-memory", "[0, ", ")", "(",
	"((((((((", "4*", "+", "-", "/", "gridx", "blockz", ".8", ":4", "0x", "18446744073709551615", "\"", "*", "?", "\\\n",
	"\n", "#", ", ", ": ", " ", "arg0", "arg2.4:4", "may ", "read+write", "within [0, 4)", "each 8 in 0..3 (4 by 16)",
	"for i in 0..arg0 { ", "for i in 0..9 { for j in 0..i { ", "} ", "if arg1 { ", "} else { ", "let v = ", "v", "i",
	"min(", "max(", "sizeof($X)", "sizeof($X, 1)", "sizeof(arg1)", "result($X)", "argument($X, 0)", "arity($X)", "$X",
	"$_", "$X...", "@S", "names S: f, g*\n", "table T: 1, 2, 3\n", "T[1]", "T[", "size \"float\": 4\n",
	"functor \"f\": 4 (4, 4)\n", "functor \"$F<$X>\": 4 ($X...)\n", "?", "%", "==", "<", ">=", "arg0.(i*8):8",
	"(8, *, 4, ...)", "\"void at::native::*<$N, $F, $A>(*\"", "\"f\"", "..", NULL,
};

static const struct target targets[] = {
	{"images", 40000, images, one_image, NULL},
	{"store", 6000, images, one_store, NULL},
	{"ptx", 3000, texts, one_text, ptx_words},
	{"names", 120000, names, one_name, name_words},
	{"files", 12000, files, one_file, file_words},
	{"reports", 3000, reports, fuzz_report, fuzz_report_words},
	{"suppressions", 20000, suppressions, fuzz_suppression, fuzz_suppression_words},
};
#define TARGETS (sizeof(targets) / sizeof(*targets))

/* --- damage --------------------------------------------------------------------------------- */

static size_t insert(unsigned char *p, size_t n, size_t at, const void *what, size_t len)
{
	if (len > INPUT_MAX - n)
		return n;
	memmove(p + at + len, p + at, n - at);
	memcpy(p + at, what, len);
	return n + len;
}

static size_t cut(unsigned char *p, size_t n, size_t at, size_t len)
{
	if (len > n - at)
		len = n - at;
	memmove(p + at, p + at + len, n - at - len);
	return n - len;
}

static size_t damage_bytes(unsigned char *p, size_t n)
{
	static const uint64_t odd[] = {0, 1, 7, 8, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff,
				       UINT64_C(0x7fffffffffffffff), UINT64_MAX, 64, 4096};
	/* headers are where it hurts */
	size_t at = roll(2) ? roll(n) : roll(n < 512 ? n : 512), len = 1u << roll(4);
	uint64_t v = roll(2) ? odd[roll(sizeof(odd) / sizeof(*odd))] : n + roll(17) - 8;

	switch (roll(7)) {
	case 0:
		p[at] ^= (unsigned char)(1u << roll(8));
		return n;
	case 1:
		p[at] = (unsigned char)roll(256);
		return n;
	case 2:
	case 3: /* a number of 1, 2, 4 or 8 bytes */
		at &= ~(len - 1);
		memcpy(p + at, &v, len < n - at ? len : n - at);
		return n;
	case 4: /* a little more or less than it was */
		p[at] = (unsigned char)(p[at] + roll(9) - 4);
		return n;
	case 5:
		return n > 64 ? cut(p, n, at, 1 + roll(64)) : n;
	default: {
		const struct input *o = &corpus[roll(ncorpus)];
		size_t from = roll(o->n), l = 1 + roll(256);

		if (l > o->n - from)
			l = o->n - from;
		if (l > n - at)
			l = n - at;
		memcpy(p + at, o->p + from, l);
		return n;
	}
	}
}

static size_t line_at(const unsigned char *p, size_t n, size_t at, size_t *len)
{
	size_t end = at;

	while (at && p[at - 1] != '\n')
		at--;
	while (end < n && p[end] != '\n')
		end++;
	*len = end - at + (end < n);
	return at;
}

static size_t damage_text(unsigned char *p, size_t n, const char *const *words)
{
	const struct input *o = &corpus[roll(ncorpus)];
	size_t at = roll(n), len, from;
	unsigned many = 0;
	unsigned char line[512];

	while (words[many])
		many++;
	switch (roll(9)) {
	case 0:
		p[at] = (unsigned char)(roll(4) ? 32 + roll(95) : roll(256));
		return n;
	case 1:
		return n > 8 ? cut(p, n, at, 1 + roll(roll(4) ? 8 : 80)) : n;
	case 2:
	case 3: { /* a word in the place of another */
		const char *w = words[roll(many)];

		for (len = 0; at + len < n && len < 40 && (isalnum(p[at + len]) || p[at + len] == '_'); len++)
			;
		return insert(p, roll(3) ? cut(p, n, at, len) : n, at, w, strlen(w));
	}
	case 4: /* another number */
		while (at < n && !isdigit(p[at]))
			at++;
		if (at < n)
			p[at] = (unsigned char)('0' + roll(10));
		return n;
	case 5: /* a line of another input */
		from = line_at(o->p, o->n, roll(o->n), &len);
		if (len > sizeof(line))
			len = sizeof(line);
		memcpy(line, o->p + from, len);
		at = line_at(p, n, at, &from);
		return insert(p, n, at, line, len);
	case 6: /* a line twice, or moved */
		from = line_at(p, n, at, &len);
		if (len > sizeof(line))
			return n;
		memcpy(line, p + from, len);
		if (roll(2))
			n = cut(p, n, from, len);
		at = n ? line_at(p, n, roll(n), &from) : 0;
		return insert(p, n, at, line, len);
	case 7:
		at = line_at(p, n, at, &len);
		return len < n ? cut(p, n, at, len) : n;
	default:
		return roll(16) ? n : at ? at : n;
	}
}

static size_t make(const struct target *t, unsigned char *p)
{
	const struct input *i = &corpus[roll(ncorpus)];
	size_t n = i->n;

	memcpy(p, i->p, n);
	for (unsigned k = 1 + roll(roll(4) ? 3 : 10); k && n; k--)
		n = t->words ? damage_text(p, n, t->words) : damage_bytes(p, n);
	return n;
}

/* --- running --------------------------------------------------------------------------------- */

static void run_one(const struct target *t, const unsigned char *p, size_t n)
{
	/* of its own size, so that a step outside shows */
	unsigned char *copy = malloc(n ? n : 1);

	struct timespec from, to;
	long ms;

	MUST(copy);
	memcpy(copy, p, n);
	alarm(HANG_S);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
	t->one(copy, n);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
	alarm(0);
	free(copy);
	ms = (to.tv_sec - from.tv_sec) * 1000 + (to.tv_nsec - from.tv_nsec) / 1000000;
	if (ms > slowest)
		slowest = ms;
	if (ms > SLOW_MS) {
		fprintf(stderr, "%ld ms for %zu bytes\n", ms, n);
		abort();
	}
}

static void child(const struct target *t, unsigned long rounds, unsigned long seconds, uint64_t seed)
{
	static unsigned char p[INPUT_MAX];
	time_t end = time(NULL) + (time_t)seconds;
	unsigned given;

	state = seed;
	t->corpus();
	MUST(ncorpus);
	given = ncorpus;
	for (unsigned i = 0; i < given; i++) { /* whole ones first: what they come to is nothing new */
		shared->n = corpus[i].n;
		memcpy(shared->bytes, corpus[i].p, corpus[i].n);
		run_one(t, corpus[i].p, corpus[i].n);
	}
	for (shared->round = 1; seconds ? time(NULL) < end : shared->round <= rounds; shared->round++) {
		size_t n = make(t, p);

		shared->n = n;
		memcpy(shared->bytes, p, n);
		fresh = 0;
		run_one(t, p, n);
		if (fresh)
			keep(p, n);
	}
	printf("  ok      fuzz %s: %lu inputs, from %u and %u that came to something new; the slowest took %ld ms\n",
	       t->name, shared->round - 1, given, ncorpus - given, slowest);
	fflush(stdout);
}

static bool run(const struct target *t, unsigned long rounds, unsigned long seconds, uint64_t seed, const char *out)
{
	char path[4096];
	int status = 0;
	pid_t pid;
	FILE *f;

	memset(shared, 0, sizeof(*shared));
	fflush(stdout);
	pid = fork();
	if (!pid) {
		child(t, rounds, seconds, seed);
		exit(0);
	}
	waitpid(pid, &status, 0);
	if (pid > 0 && WIFEXITED(status) && !WEXITSTATUS(status))
		return true;
	snprintf(path, sizeof(path), "%s/%s-%lu-%lu", out, t->name, (unsigned long)seed, shared->round);
	f = fopen(path, "wb");
	if (f) {
		fwrite(shared->bytes, 1, shared->n, f);
		fclose(f);
	}
	printf("  FAILED  fuzz %s: seed %lu, round %lu: %s; the input is %s\n", t->name, (unsigned long)seed,
	       shared->round, WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? "it hangs" : "it ended badly", path);
	return false;
}

int main(int argc, char **argv)
{
	unsigned long per_cent = 100, seconds = 0, seed = 1;
	const char *out = "/tmp", *input = NULL;
	unsigned passed = 0, failed = 0;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	MUST(shared != MAP_FAILED);
	while (argc > 1 && argv[1][0] == '-') {
		if (sscanf(argv[1], "--rounds=%lu", &per_cent) != 1 && sscanf(argv[1], "--seconds=%lu", &seconds) != 1 &&
		    sscanf(argv[1], "--seed=%lu", &seed) != 1) {
			if (!strncmp(argv[1], "--out=", 6))
				out = argv[1] + 6;
			else if (!strncmp(argv[1], "--input=", 8))
				input = argv[1] + 8;
			else
				return 2;
		}
		argc--;
		argv++;
	}
	for (unsigned i = 0; i < TARGETS; i++) {
		const struct target *t = &targets[i];
		bool wanted = argc < 2;

		for (int k = 1; k < argc; k++)
			wanted |= !strcmp(argv[k], t->name);
		if (!wanted)
			continue;
		if (input) {
			size_t n;
			char *p = slurp(input, &n);

			run_one(t, (unsigned char *)p, n);
			free(p);
			passed++;
		} else if (run(t, t->rounds * per_cent / 100, seconds, seed, out)) {
			passed++;
		} else {
			failed++;
		}
	}
	printf("%u passed, %u failed\n", passed, failed);
	return failed || !passed;
}
