/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Targets (fuzz.h) for what a program brings along of its kernels: module images,
 * PTX, mangled names; and for kernels files.
 */
#define _GNU_SOURCE
#include "testcases/fuzz/fuzz.h"
#include "analyzer/demangle.h"
#include "analyzer/image.h"
#include "analyzer/image_store.h"
#include "analyzer/kernels.h"
#include "analyzer/names.h"
#include "analyzer/ptx/flow.h"
#include "testcases/ptx/same.h"

#include <string.h>

struct input {
	const unsigned char *p;
	size_t n;
};

static void whole(char *text, size_t n)
{
	fuzz_keep(text, n);
}

/* A large text by its kernels, each behind what comes before the first. */
static void by_kernel(char *text, size_t n)
{
	char *first = strstr(text, ".entry"), *at = first;

	if (n < 12000 || !first) {
		fuzz_keep(text, n);
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
			fuzz_keep(part, head + len);
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
			fuzz_keep(name, len);
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
		fuzz_keep(at, (size_t)(end - at));
		at = end > at ? end : text + n;
	}
}

void fuzz_fatbin_seeds(void)
{
	fuzz_each_file("testcases/images/*.fatbin", whole);
}

void fuzz_cubin_seeds(void)
{
	fuzz_each_file("testcases/images/*.cubin", whole);
}

void fuzz_store_seeds(void)
{
	fuzz_fatbin_seeds();
	fuzz_cubin_seeds();
}

void fuzz_ptx_seeds(void)
{
	fuzz_each_file("testcases/kernels/*.ptx", by_kernel);
	fuzz_each_file("testcases/ptx/*.ptx", by_kernel);
}

void fuzz_name_seeds(void)
{
	static const char *const more[] = {
		"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_"
		"addIfEESt5arrayIPcLm3EEEEviT0_T1_",
		("_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIfNS0_14func_wrapper_tIfZNS0_"
		 "11sum_functorIfffEclERNS_14"
		 "TensorIteratorEEUlffE_EEjfLi4ELi4EEEEEvT1_"),
		"_ZN3cub18DeviceReduceKernelINS_18DeviceReducePolicyIfjNS_3SumEE9Policy600EPfS5_"
		"jS3_fEEvT0_T1_T2_NS_13GridEvenShareIS7_EET3_",
		"__nv_static_33__deadbeef_7_main_cu__Z5saxpyifPKfPf",
		"_ZN12_GLOBAL__N_15applyIZ4mainEUliE_EEviT_",
		"_Z10fill_typedIdEvPTs",
	};

	fuzz_each_file("testcases/kernels/*.ptx", names_in);
	for (unsigned i = 0; i < sizeof(more) / sizeof(*more); i++)
		fuzz_keep(more[i], strlen(more[i]));
}

void fuzz_kernels_file_seeds(void)
{
	static const char good[] =
		"# c\nkernel f: arg 1 read [0, 4*(arg0+blockx)-1), arg 3.8 write [arg3.16:4, "
		"gridx/2), ignore\n"
		"kernel \"g h\": arg 2 atomic [0x10, 0x20)\\\n, arg 0 read\nkernel *: ignore\n";
	static const char more[] = "names S: vectorized*, f\ntable T: 1, 2, 4\nsize \"float\", "
				   "\"int\": 4\nfunctor \"*add*\": 4 (4, 4)\n"
				   "kernel \"void at::native::@S<$N, $F, $A>(*\" (4, *, ...): let "
				   "n = arg0, for i in 0..arity($F) { arg 2.(8*i) "
				   "read [0, n*argument($F, i)) }, if n > 3 { arg 2.0 write [0, "
				   "n*result($F)) } else { arg 2 may write }\n";

	fuzz_keep(more, sizeof(more) - 1);
	fuzz_keep(good, sizeof(good) - 1);
	fuzz_each_file("testcases/harness/kernels.txt", by_lines);
	fuzz_each_file("rules/kernels/*", by_lines);
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
			MUST((uint64_t)params.param[j].offset + params.param[j].size <=
			     params.bytes);
		free(params.param);
	}
	if (!krt_cubin_ptx(&c, &out, &len)) {
		MUST(!out[len] && strlen(out) == len);
		free(out);
	}
}

void fuzz_fatbin(const unsigned char *p, size_t n)
{
	struct input b = {p, n};
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
}

void fuzz_cubin(const unsigned char *p, size_t n)
{
	(void)krt_image_kind(p, n);
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
		MUST(info->slots[i].offset == KRT_FLOW_ANY ||
		     info->slots[i].offset < info->slots[i].size);
	for (unsigned i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
		struct krt_flow_launch l = shapes[i];

		for (unsigned k = 0; k < 512; k++)
			w[k] = fuzz_roll(3)   ? UINT64_C(0x7f0000000000) + k * 4096
			       : fuzz_roll(2) ? fuzz_roll(5000)
					      : fuzz_random();
		l.params = w;
		l.len = fuzz_roll(8) ? sizeof(w) : fuzz_roll(sizeof(w));
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

void fuzz_ptx(const unsigned char *p, size_t n)
{
	struct ptx_error e = {0};
	struct ptx_module *m = ptx_parse((const char *)p, n, &e);

	MUST(m || e.what[0]);
	both_ways((const char *)p, n, m);
	ptx_free(m);
	all_kernels((const char *)p, n);
}

/* From the record to what the kernel does. */
void fuzz_store(const unsigned char *p, size_t n)
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
	MUST(!krt_image_store_record(s, 0, r, sizeof(*r) + n) == (n > 0));
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

void fuzz_name(const unsigned char *p, size_t n)
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
		sizes[i] = 1u << fuzz_roll(5);
	(void)krt_names_checked(name, sizes, fuzz_roll(65), out);
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

void fuzz_kernels_file(const unsigned char *p, size_t n)
{
	static const char *const kernels[] = {
		"f",
		"g h",
		"_Z5applyIfLi0EEvPKT_PS0_i",
		("_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_"
		 "addIfEESt5arrayIPcLm3EEEEviT0_T1_"),
	};
	char err[256] = "";
	struct krt_kernels_file *f =
		krt_kernels_parse("fuzz", (const char *)p, n, err, sizeof(err));
	static uint64_t w[128];
	struct krt_param param[16];

	MUST(f || !strncmp(err, "fuzz:", 5));
	if (!f)
		return;
	for (unsigned i = 0; i < 16; i++) {
		param[i].size = fuzz_roll(8) ? 1u << fuzz_roll(10) : fuzz_roll(UINT32_MAX);
		param[i].offset = fuzz_roll(8) ? fuzz_roll(900) & ~7u : fuzz_roll(UINT32_MAX);
	}
	for (unsigned i = 0; i < 128; i++)
		w[i] = fuzz_roll(3)   ? UINT64_C(0x7f0000000000) + i * 4096
		       : fuzz_roll(2) ? fuzz_roll(5000)
				      : fuzz_random();
	for (unsigned k = 0; k < 4; k++) {
		struct krt_kernels_launch l = {
			.param = param,
			.nparams = fuzz_roll(8) ? fuzz_roll(17) : KRT_PARAMS_UNKNOWN,
			.params = w,
			.len = fuzz_roll(8) ? sizeof(w) : fuzz_roll(sizeof(w)),
			.grid = {fuzz_roll(100), 1, 1},
			.block = {fuzz_roll(1025), 1, 1}};

		(void)krt_kernels_match(f, kernels[k], &l, check_access, NULL);
	}
	krt_kernels_free(f);
}

const char *const fuzz_ptx_words[] = {
	"{",
	"}",
	"(",
	")",
	"[",
	"]",
	";",
	",",
	":",
	"@",
	"|",
	"<",
	">",
	"+",
	"-",
	"!",
	"%r1",
	"%rd1",
	"%p1",
	"%f1",
	".reg .b32 %r<9>;",
	".param",
	".u32",
	".u64",
	".s64",
	".b8",
	".v2",
	".v4",
	".global",
	".shared",
	".local",
	".const",
	"ld.param.u64",
	"ld.global.u32",
	"st.global.u32",
	"cvta.to.global.u64",
	"mad.lo.s32",
	"mul.wide.u32",
	"add.s64",
	"shl.b64",
	"and.b64",
	"or.b64",
	"setp.ge.u32",
	"selp.b64",
	"bra",
	"call",
	"ret;",
	"exit;",
	"atom.global.add.u32",
	"red.global.add.u32",
	"cp.async.ca.shared.global",
	"bar.sync 0;",
	".entry",
	".func",
	".branchtargets",
	"0x",
	"0f3F800000",
	"1",
	"0",
	"-1",
	"4294967295",
	"18446744073709551615",
	"%tid.x",
	"%ctaid.x",
	"%ntid.x",
	"%nctaid.x",
	"$L__BB0_1",
	NULL,
};
const char *const fuzz_name_words[] = {
	"_",  "Z",   "N",  "I",	    "E",	   "J",	 "L",
	"S_", "S0_", "T_", "T0_",   "P",	   "K",	 "R",
	"F",  "A",   "D",  "X",	    "U",	   "l",	 "t",
	"n",  "0",   "1",  "9",	    "99999999999", "f",	 "i",
	"v",  "b",   "St", "Sa",    "Ss",	   "C1", "D0",
	"cv", "NK",  "Ul", "UlvE_", "Dp",	   "DT", "_GLOBAL__N_1",
	NULL,
};
const char *const fuzz_kernels_words[] = {
	"kernel ",
	"arg ",
	"arg 1",
	"read",
	"write",
	"atomic",
	"ignore",
	"atomic-ok",
	"sync-by-memory",
	"[0, ",
	")",
	"(",
	"((((((((",
	"4*",
	"+",
	"-",
	"/",
	"gridx",
	"blockz",
	".8",
	":4",
	"0x",
	"18446744073709551615",
	"\"",
	"*",
	"?",
	"\\\n",
	"\n",
	"#",
	", ",
	": ",
	" ",
	"arg0",
	"arg2.4:4",
	"may ",
	"read+write",
	"within [0, 4)",
	"each 8 in 0..3 (4 by 16)",
	"for i in 0..arg0 { ",
	"for i in 0..9 { for j in 0..i { ",
	"} ",
	"if arg1 { ",
	"} else { ",
	"let v = ",
	"v",
	"i",
	"min(",
	"max(",
	"sizeof($X)",
	"sizeof($X, 1)",
	"sizeof(arg1)",
	"result($X)",
	"argument($X, 0)",
	"arity($X)",
	"$X",
	"$_",
	"$X...",
	"@S",
	"names S: f, g*\n",
	"table T: 1, 2, 3\n",
	"T[1]",
	"T[",
	"size \"float\": 4\n",
	"functor \"f\": 4 (4, 4)\n",
	"functor \"$F<$X>\": 4 ($X...)\n",
	"?",
	"%",
	"==",
	"<",
	">=",
	"arg0.(i*8):8",
	"(8, *, 4, ...)",
	"\"void at::native::*<$N, $F, $A>(*\"",
	"\"f\"",
	"..",
	NULL,
};
