/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of NVIDIA's libraries, recorded before they run, so that what is launched
 * inside follows in the trace: each record of a driver call made inside carries
 * the number of the library call (krt_rec.library), unique among the last 65535
 * of its thread.  Of nested ones the outermost counts.
 *
 * What cannot be seen in the arguments is asked of the library itself: pointer
 * modes, layouts, sizes of communicators.  These questions enqueue nothing.
 *
 * Workspaces of cuBLAS handles are kept here, in a small table without a lock: a
 * handle is used by one thread at a time.
 */
#include "library_call.h"
#include "call.h"
#include "lane.h"
#include "library_find.h"

#include <errno.h>
#include <string.h>

/* ---- workspaces ---- */

#define WORKSPACES 256 /* of handles; of those beyond them we know none */
#define WORKSPACE_TRIES 8

static struct {
	_Atomic uint64_t handle;
	uint64_t addr, bytes;
} workspace[WORKSPACES];

static int workspace_at(uint64_t handle, uint64_t wanted)
{
	unsigned at = (unsigned)(handle * 0x9e3779b97f4a7c15ull >> 40);

	for (unsigned i = 0; handle && i < WORKSPACE_TRIES; i++)
		if (atomic_load_explicit(&workspace[(at + i) & (WORKSPACES - 1)].handle,
					 memory_order_acquire) == wanted)
			return (int)((at + i) & (WORKSPACES - 1));
	return -1;
}

static int workspace_of(uint64_t handle)
{
	return workspace_at(handle, handle);
}

static void workspace_set(uint64_t handle, uint64_t addr, uint64_t bytes)
{
	uint64_t none = 0;
	int k = workspace_of(handle);

	if (k < 0 && bytes) {
		k = workspace_at(handle, 0);
		if (k >= 0 && !atomic_compare_exchange_strong(&workspace[k].handle, &none, handle))
			k = -1; /* another thread's: rare, and this one is not known */
	}
	if (k >= 0) {
		workspace[k].addr = bytes ? addr : 0;
		workspace[k].bytes = bytes;
	}
	if (k >= 0 && !bytes)
		atomic_store_explicit(&workspace[k].handle, 0, memory_order_release);
}

/* ---- words ---- */

static void scalar(uint64_t *to, uint64_t from, unsigned bytes)
{
	if (from && bytes && bytes <= 16)
		memcpy(to, (const void *)from, bytes);
}

static void blas_words(const struct krt_library_call *c, const struct krt_lib_fn *f, uint64_t *w)
{
	int (*mode)(uint64_t, int *) = (int (*)(uint64_t, int *))krt_library_sibling(
		KRT_LIB_FN_cublasGetPointerMode_v2, c->fn);
	unsigned bytes = krt_lib_scalar_bytes(f, c->args);
	int device = -1, k = workspace_of(c->args[0]);

	if (mode && mode(c->args[0], &device))
		device = -1;
	if (device > 0)
		w[KRT_BLAS_MODE] = KRT_BLAS_DEVICE;
	if (!device && bytes) {
		w[KRT_BLAS_MODE] = KRT_BLAS_ALPHA_HOST | KRT_BLAS_BETA_HOST;
		scalar(&w[KRT_BLAS_ALPHA], krt_lib_arg(f, c->args, KRT_LR_ALPHA, 0), bytes);
		scalar(&w[KRT_BLAS_BETA], krt_lib_arg(f, c->args, KRT_LR_BETA, 0), bytes);
	}
	if (k >= 0) {
		w[KRT_BLAS_WORKSPACE] = workspace[k].addr;
		w[KRT_BLAS_WORKBYTES] = workspace[k].bytes;
	}
}

typedef int ask_attribute(uint64_t object, int attr, void *buf, size_t bytes, size_t *written);

static uint64_t answer(ask_attribute *ask, uint64_t object, int number, unsigned bytes)
{
	size_t written = 0;
	uint64_t v = 0;

	return ask && object && !ask(object, number, &v, bytes, &written) ? v : KRT_LT_UNSAID;
}

/* Returns what is known of the matrix, for the descriptor's questions. */
static unsigned layout_words(ask_attribute *ask, uint64_t layout, uint64_t *w)
{
	unsigned when = KRT_LT_IF_ALWAYS, bits;

#define X(name, number, bytes, cond)                                                               \
	if (when & KRT_LT_IF_##cond)                                                               \
		w[KRT_LT_##name] = answer(ask, layout, number, bytes);                             \
	if (KRT_LT_##name == KRT_LT_TYPE && krt_lib_type_complex(w[KRT_LT_TYPE]))                  \
		when |= KRT_LT_IF_COMPLEX;                                                         \
	if (KRT_LT_##name == KRT_LT_BATCH && w[KRT_LT_BATCH] > 1)                                  \
		when |= KRT_LT_IF_BATCH;
	KRT_LT_LAYOUT(X)
#undef X
	bits = krt_lib_type_bits(w[KRT_LT_TYPE]);
	return bits <= 8 && w[KRT_LT_TYPE] != KRT_LT_UNSAID ? KRT_LT_IF_NARROW : 0;
}

static void desc_words(ask_attribute *ask, uint64_t desc, unsigned when, uint64_t *w)
{
	when |= KRT_LT_IF_ALWAYS;
#define X(name, number, bytes, cond)                                                               \
	if (when & KRT_LT_IF_##cond)                                                               \
		w[KRT_LD_##name] = answer(ask, desc, number, bytes);                               \
	if (KRT_LD_##name == KRT_LD_POINTER_MODE && w[KRT_LD_POINTER_MODE] > 1)                    \
		when |= KRT_LT_IF_VECTOR;                                                          \
	if (KRT_LD_##name == KRT_LD_EPILOGUE && w[KRT_LD_EPILOGUE] != KRT_LT_UNSAID) {             \
		if (w[KRT_LD_EPILOGUE] &                                                           \
		    (KRT_EPI_BIAS | KRT_EPI_BGRAD | KRT_EPI_BGRADA | KRT_EPI_BGRADB))              \
			when |= KRT_LT_IF_BIAS;                                                    \
		if (w[KRT_LD_EPILOGUE] & KRT_EPI_AUX)                                              \
			when |= KRT_LT_IF_AUX;                                                     \
	}
	KRT_LT_DESC(X)
#undef X
}

static void lt_words(const struct krt_library_call *c, const struct krt_lib_fn *f, uint64_t *w)
{
	ask_attribute *of_layout = (ask_attribute *)krt_library_sibling(
		KRT_LIB_FN_cublasLtMatrixLayoutGetAttribute, c->fn);
	ask_attribute *of_desc = (ask_attribute *)krt_library_sibling(
		KRT_LIB_FN_cublasLtMatmulDescGetAttribute, c->fn);
	uint64_t *layouts = &w[KRT_NR_BLAS_WORDS];
	unsigned bytes, when = 0;

	for (unsigned i = 0; i < 4; i++) {
		uint64_t l = krt_lib_arg(f, c->args, KRT_LR_LAYOUTA + i, 0);

		if (i == 3 &&
		    l == krt_lib_arg(f, c->args, KRT_LR_LAYOUTC, 0)) /* most often it is */
			memcpy(layouts + 3 * KRT_NR_LT_LAYOUT, layouts + 2 * KRT_NR_LT_LAYOUT,
			       KRT_NR_LT_LAYOUT * sizeof *layouts);
		else
			when |= layout_words(of_layout, l, layouts + i * KRT_NR_LT_LAYOUT);
	}
	desc_words(of_desc, krt_lib_arg(f, c->args, KRT_LR_DESC, 0), when,
		   layouts + 4 * KRT_NR_LT_LAYOUT);
	bytes = krt_lib_type_bits(w[KRT_LD_WORD(SCALE_TYPE)]) / 8;
	switch (w[KRT_LD_WORD(POINTER_MODE)]) { /* cublasLtPointerMode_t */
	case 0:
		if (bytes)
			w[KRT_BLAS_MODE] = KRT_BLAS_ALPHA_HOST | KRT_BLAS_BETA_HOST;
		break;
	case 1:
		w[KRT_BLAS_MODE] = KRT_BLAS_DEVICE;
		break;
	case 2:
		w[KRT_BLAS_MODE] = KRT_BLAS_ALPHA_VECTOR | KRT_BLAS_BETA_VECTOR;
		break;
	case 3:
		w[KRT_BLAS_MODE] = KRT_BLAS_ALPHA_VECTOR | KRT_BLAS_BETA_ZERO;
		break;
	case 4:
		w[KRT_BLAS_MODE] = KRT_BLAS_ALPHA_VECTOR | (bytes ? KRT_BLAS_BETA_HOST : 0);
		break;
	}
	if (w[KRT_BLAS_MODE] & KRT_BLAS_ALPHA_HOST)
		scalar(&w[KRT_BLAS_ALPHA], krt_lib_arg(f, c->args, KRT_LR_ALPHA, 0), bytes);
	if (w[KRT_BLAS_MODE] & KRT_BLAS_BETA_HOST)
		scalar(&w[KRT_BLAS_BETA], krt_lib_arg(f, c->args, KRT_LR_BETA, 0), bytes);
	w[KRT_BLAS_WORKSPACE] = krt_lib_arg(f, c->args, KRT_LR_WORKSPACE, 0);
	w[KRT_BLAS_WORKBYTES] = krt_lib_arg(f, c->args, KRT_LR_WORKBYTES, 0);
}

static void nccl_words(const struct krt_library_call *c, const struct krt_lib_fn *f, uint64_t *w)
{
	uint64_t comm = krt_lib_arg(f, c->args, KRT_LR_COMM, 0);
	int (*count)(uint64_t, int *) = NULL, (*rank)(uint64_t, int *) = NULL;
	int n = 0;

	w[KRT_NCCL_RANK] = UINT64_MAX;
	switch (f->kind) {
	case KRT_LIB_ALL_GATHER:
	case KRT_LIB_REDUCE_SCATTER:
	case KRT_LIB_ALL_TO_ALL:
	case KRT_LIB_GATHER:
	case KRT_LIB_SCATTER:
		count = (int (*)(uint64_t, int *))krt_library_sibling(KRT_LIB_FN_ncclCommCount,
								      c->fn);
	}
	if (krt_lib_arg(f, c->args, KRT_LR_ROOT, UINT64_MAX) != UINT64_MAX)
		rank = (int (*)(uint64_t, int *))krt_library_sibling(KRT_LIB_FN_ncclCommUserRank,
								     c->fn);
	if (comm && count && !count(comm, &n) && n > 0)
		w[KRT_NCCL_RANKS] = (uint32_t)n;
	if (comm && rank && !rank(comm, &n) && n >= 0)
		w[KRT_NCCL_RANK] = (uint32_t)n;
}

static void fft_array(uint64_t *to, uint64_t from, uint64_t rank, bool wide)
{
	for (unsigned i = 0; from && i < 3 && i < rank; i++)
		to[i] = wide ? ((const uint64_t *)from)[i]
			     : (uint64_t)(int64_t)((const int32_t *)from)[i];
}

static void fft_words(const struct krt_library_call *c, const struct krt_lib_fn *f, uint64_t *w)
{
	uint64_t out = krt_lib_arg(f, c->args, KRT_LR_PLAN_OUT, 0),
		 plan = krt_lib_arg(f, c->args, KRT_LR_PLAN, 0);
	uint64_t rank = krt_lib_arg(f, c->args, KRT_LR_RANK, 0);
	bool wide = f->flags & KRT_LIB_64;
	int (*size)(uint64_t, size_t *);
	size_t bytes = 0;

	w[KRT_FFT_PLAN] = out ? (uint32_t) * (const int32_t *)out : (uint32_t)plan;
	if (f->kind == KRT_LIB_FFT_PLAN) {
		fft_array(&w[KRT_FFT_NS], krt_lib_arg(f, c->args, KRT_LR_NS, 0), rank, wide);
		fft_array(&w[KRT_FFT_INEMBED], krt_lib_arg(f, c->args, KRT_LR_INEMBED, 0), rank,
			  wide);
		fft_array(&w[KRT_FFT_ONEMBED], krt_lib_arg(f, c->args, KRT_LR_ONEMBED, 0), rank,
			  wide);
	} else if (f->kind == KRT_LIB_FFT_AREA) {
		size = (int (*)(uint64_t, size_t *))krt_library_sibling(KRT_LIB_FN_cufftGetSize,
									c->fn);
		if (size && !size(w[KRT_FFT_PLAN], &bytes))
			w[KRT_FFT_AREA_BYTES] = bytes;
	}
}

static bool record(const struct krt_library_call *c, const struct krt_lib_fn *f, unsigned group)
{
	uint64_t words[KRT_LIB_MAX_WORDS], *w = words + f->argc;
	unsigned n = f->argc + krt_lib_words(f);
	uint64_t args[] = {c->id, 0, (uintptr_t)words};

	memcpy(words, c->args, f->argc * sizeof *words);
	memset(w, 0, (n - f->argc) * sizeof *words);
	switch ((enum krt_library_id)f->library) {
	case KRT_LIBRARY_CUBLAS:
		blas_words(c, f, w);
		break;
	case KRT_LIBRARY_CUBLASLT:
		lt_words(c, f, w);
		break;
	case KRT_LIBRARY_NCCL:
		nccl_words(c, f, w);
		w[KRT_LIB_GROUP] = group;
		break;
	case KRT_LIBRARY_CUFFT:
		fft_words(c, f, w);
		break;
	case KRT_NR_LIBRARIES:
		break;
	}
	while (n > f->argc && !words[n - 1]) /* zeros at the end go without saying */
		n--;
	args[1] = n;
	return krt_record_inside(KRT_API_library_call, args);
}

/* ---- calls ---- */

static struct krt_thread *this_thread(void)
{
	struct krt_tls *tls = &krt_tls;
	struct krt_thread *t = NULL;

	if (krt_attached() && krt_opt.libs && !tls->busy) {
		tls->busy = true;
		t = krt_thread();
		tls->busy = false;
	}
	return t;
}

/* Places on one stack are compared by their low halves. */
static uint32_t place_of(const struct krt_library_call *c)
{
	return (uint32_t)(uintptr_t)c | 1;
}

/* Told after success, by who is not inside another call. */
static bool is_fact(unsigned kind)
{
	switch (kind) {
	case KRT_LIB_WORKSPACE:
	case KRT_LIB_NO_WORKSPACE:
	case KRT_LIB_FFT_PLAN:
	case KRT_LIB_FFT_AREA:
	case KRT_LIB_FFT_BLIND:
	case KRT_LIB_FFT_FORGET:
		return true;
	default:
		return false;
	}
}

bool krt_library_begin(struct krt_library_call *c)
{
	const struct krt_lib_fn *f = &krt_lib_fn[c->id];
	struct krt_tls *tls = &krt_tls;
	struct krt_thread *t;
	int saved;

	if (tls->library && (int32_t)(place_of(c) - tls->library) < 0)
		return false;
	tls->inside = 0; /* what a jump out of an earlier call left */
	tls->library = 0;
	c->outermost = false;
	if (is_fact(f->kind))
		return true;
	saved = errno;
	t = this_thread();
	errno = saved;
	if (!t)
		return false;
	if (f->kind == KRT_LIB_GROUP_START || (f->kind == KRT_LIB_GROUP_END && t->groups != 1))
		return true;
	if (!++t->calls)
		t->calls = 1;
	tls->library = place_of(c); /* what the questions call is not the program's */
	tls->inside = t->calls;
	c->outermost = true;
	if (!record(c, f, t->groups ? t->group : 0))
		tls->inside = 0;
	errno = saved;
	return true;
}

int krt_library_end(struct krt_library_call *c, int result)
{
	const struct krt_lib_fn *f = &krt_lib_fn[c->id];
	struct krt_thread *t;
	int saved = errno;

	switch (f->kind) {
	case KRT_LIB_GROUP_START:
		t = this_thread();
		if (t && !result && !t->groups++ && !++t->group)
			t->group = 1;
		break;
	case KRT_LIB_GROUP_END:
		t = this_thread();
		if (t && t->groups)
			t->groups--;
		break;
	case KRT_LIB_WORKSPACE:
		if (!result)
			workspace_set(c->args[0], c->args[1], c->args[2]);
		break;
	case KRT_LIB_NO_WORKSPACE:
		if (!result)
			workspace_set(c->args[0], 0, 0);
		break;
	default:
		if (is_fact(f->kind) && !result && this_thread())
			record(c, f, 0);
		break;
	}
	if (c->outermost) {
		krt_tls.library = 0;
		krt_tls.inside = 0;
	}
	errno = saved;
	return result;
}

void krt_library_missing(const char *symbol)
{
	krt_msg("%s was called, but no library that has it is loaded", symbol);
	krt_trouble(KRT_TROUBLE_INTERNAL);
}
