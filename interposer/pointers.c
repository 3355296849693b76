/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device addresses in small copies from the host (pointers.h).
 *
 * Addresses are known by granules of 2 MiB, two bits each in one sparse map, and
 * never forgotten: one says that the driver gave out addresses there, the other
 * that the CPU's own memory is not there.  A word is taken for a device address
 * if it lies between the lowest and the highest of them and in such a granule.
 *
 * A source is only looked at where it cannot be device memory: by what the
 * entry point or the operand's type says, and by the map; managed memory would
 * come over to the CPU.  The calling thread's stack, the heap below the program
 * break and pinned memory that the driver gave out and that was not given back
 * are read by loads: they can be, and into the driver's mappings the kernel
 * refuses to look.  Everything else is read through the kernel, which answers with an
 * error where a load would fault.
 *
 * No locking: the map only gets more bits; a pinned range is valid while its base
 * is the same before and after its end was read.
 */
#include "pointers.h"
#include "graphs.h"
#include "lane.h"

#define CUABI_EXACT_NAMES
#include "cuabi.h"

#include <string.h>
#include <unistd.h>

#define GRANULE_BITS 21
#define ADDRESS_BITS 47
#define GRANULES     (1ull << (ADDRESS_BITS - GRANULE_BITS))
#define GIVEN        1u
#define NOT_HOST     2u
#define RANGE_MAX    (1ull << 44) /* of one range that is noted: a reservation may be all there is */
#define HEAP_MAX     (1ull << 36) /* below the break */
#define STACK_MAX    (64u << 20)
#define PINNED_MAX   4096         /* ranges that are known; more are read through the kernel, if at all */
#define GAP          2            /* words that are no addresses inside a run */
#define HEAD         4096u        /* a table has an address in its first bytes */
#define UPPER        (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) /* half of a word */
#define NEAR         64           /* words that are looked at together */
#define READS_MAX    64           /* system calls of one batch */
#define BATCH_MAX    (256u << 10) /* bytes of one batch that are looked at */

static _Atomic uint32_t *map;     /* 16 granules a word */
static _Atomic uint64_t lowest = UINT64_MAX, highest;
static _Atomic uint64_t heap_low;     /* where the heap begins, 0: not known yet */
static _Atomic uint32_t heap_looks;
static struct {
	_Atomic uint64_t base, end; /* base 0: free, 1: being made */
} pinned[PINNED_MAX];
static _Atomic uint32_t npinned, lately; /* slots ever used; the one that was found last */

bool krt_pointers_open(void)
{
	krt_pointers_gone(0);
	if (!map)
		map = krt_map(GRANULES / 16 * sizeof *map);
	return map != NULL;
}

/* ---- which there are ---- */

void krt_pointers_range(uint64_t addr, uint64_t len, bool host)
{
	uint64_t end, at;

	if (!addr || addr >> ADDRESS_BITS || !map)
		return;
	len = len ? len : 1;
	end = addr + (len < RANGE_MAX ? len : RANGE_MAX);
	end = end >> ADDRESS_BITS ? 1ull << ADDRESS_BITS : end;
	for (uint64_t g = addr >> GRANULE_BITS; g <= (end - 1) >> GRANULE_BITS; g++) {
		uint32_t bits = (GIVEN | (host ? 0 : NOT_HOST)) << g % 16 * 2;

		if ((atomic_load_explicit(&map[g / 16], memory_order_relaxed) & bits) != bits)
			atomic_fetch_or_explicit(&map[g / 16], bits, memory_order_relaxed);
	}
	at = atomic_load_explicit(&lowest, memory_order_relaxed);
	while (addr < at &&
	       !atomic_compare_exchange_weak_explicit(&lowest, &at, addr, memory_order_relaxed, memory_order_relaxed))
		;
	at = atomic_load_explicit(&highest, memory_order_relaxed);
	while (end > at &&
	       !atomic_compare_exchange_weak_explicit(&highest, &at, end, memory_order_relaxed, memory_order_relaxed))
		;
}

void krt_pointers_pinned(uint64_t addr, uint64_t len)
{
	uint32_t n = atomic_load_explicit(&npinned, memory_order_relaxed), top;

	for (uint32_t i = 0; addr > 1 && i < PINNED_MAX; i++) {
		uint64_t none = 0;

		if (!atomic_compare_exchange_strong_explicit(&pinned[i].base, &none, 1, memory_order_acquire,
							     memory_order_relaxed))
			continue;
		atomic_store_explicit(&pinned[i].end, addr + len, memory_order_relaxed);
		atomic_store_explicit(&pinned[i].base, addr, memory_order_release);
		for (top = i + 1; n < top && !atomic_compare_exchange_weak(&npinned, &n, top);)
			;
		return;
	}
}

void krt_pointers_gone(uint64_t addr)
{
	uint32_t n = atomic_load_explicit(&npinned, memory_order_relaxed);

	for (uint32_t i = 0; i < n; i++) {
		uint64_t base = atomic_load_explicit(&pinned[i].base, memory_order_relaxed);

		if (base > 1 && (base == addr || !addr))
			atomic_compare_exchange_strong(&pinned[i].base, &base, 0);
	}
}

static bool in_pinned(uint32_t i, uint64_t addr, uint64_t len)
{
	uint64_t base = atomic_load_explicit(&pinned[i].base, memory_order_acquire), end;

	if (base < 2 || addr < base)
		return false;
	end = atomic_load_explicit(&pinned[i].end, memory_order_acquire);
	return addr + len <= end && atomic_load_explicit(&pinned[i].base, memory_order_relaxed) == base;
}

static bool is_pinned(uint64_t addr, uint64_t len)
{
	uint32_t n = atomic_load_explicit(&npinned, memory_order_relaxed);

	if (in_pinned(atomic_load_explicit(&lately, memory_order_relaxed), addr, len))
		return true;
	for (uint32_t i = 0; i < n; i++)
		if (in_pinned(i, addr, len)) {
			atomic_store_explicit(&lately, i, memory_order_relaxed);
			return true;
		}
	return false;
}

static bool marked(uint64_t addr, unsigned bit)
{
	uint64_t g = addr >> GRANULE_BITS;

	return g < GRANULES && atomic_load_explicit(&map[g / 16], memory_order_relaxed) >> g % 16 * 2 & bit;
}

/* ---- reading a source ---- */

/* Is it in the part of the heap that grows by moving the program break? */
static bool in_heap(uint64_t addr, uint64_t len)
{
	uint64_t top = (uintptr_t)sbrk(0), low = atomic_load_explicit(&heap_low, memory_order_relaxed), high;
	bool writable;

	if (addr >= top || top - addr > HEAP_MAX || len > top - addr)
		return false;
	if (krt_unlikely(!low)) {
		if (atomic_fetch_add_explicit(&heap_looks, 1, memory_order_relaxed) >= 16 ||
		    !krt_mapping_of(addr, &low, &high, &writable) || high < top || high - top > 65536)
			return false;
		atomic_store_explicit(&heap_low, low, memory_order_relaxed);
	}
	return addr >= low;
}

static bool on_stack(struct krt_call *c, uint64_t addr, uint64_t len)
{
	return addr >= c->sp && addr - c->sp < STACK_MAX && krt_on_own_stack(c->thread, c->sp) &&
	       addr + len <= c->thread->stack_high;
}

/* ---- telling ---- */

struct telling {
	struct krt_call *call;
	size_t at; /* of the blob in the record, 0: there is none yet */
	uint64_t lowest, span;
	uint32_t high, spans; /* their upper halves: the least, and how many more there are */
	unsigned reads; /* through the kernel that this call may still make */
	bool any;  /* the call does not say that the source is host memory */
};

/* The bytes, or a copy of them in the thread's own memory; NULL: they cannot be read. */
static const char *source(struct telling *k, uint64_t addr, uint64_t len)
{
	struct krt_thread *t = k->call->thread;

	if (on_stack(k->call, addr, len) || in_heap(addr, len) || is_pinned(addr, len))
		return (const char *)addr;
	if (!k->reads)
		return NULL;
	k->reads--;
	if (!t->bytes)
		t->bytes = krt_map(KRT_POINTERS_COPY_MAX);
	return t->bytes && krt_read(addr, t->bytes, len) == len ? t->bytes : NULL;
}

static bool is_pointer(const struct telling *t, const char *p, uint64_t *word)
{
	memcpy(word, p, sizeof *word);
	return krt_unlikely(*word - t->lowest < t->span) && marked(*word, GIVEN);
}

/* Words [from, end) of those at p as one run. */
static bool tell_run(struct telling *t, const char *p, uint64_t skip, uint32_t item, uint32_t from, uint32_t end)
{
	size_t len = sizeof(struct krt_pointer_run) + (end - from) * 8ull;
	struct krt_pointer_run *r;
	char *data;

	if (!t->at) {
		data = krt_call_blob(t->call, KRT_BLOB_OF_CALL, KRT_BLOB_POINTERS, 0);
		if (!data)
			return false;
		t->at = (size_t)(data - (char *)t->call->rec) - sizeof(struct krt_blob);
	}
	r = krt_call_more(t->call, len);
	if (!r)
		return false;
	*r = (struct krt_pointer_run){
		.item = item, .offset = (uint32_t)(skip + from * 8ull), .n = end - from,
	};
	for (uint32_t i = from; i < end; i++) {
		uint64_t word;

		if (!is_pointer(t, p + i * 8ull, &word))
			word = 0;
		memcpy((char *)(r + 1) + (i - from) * 8ull, &word, sizeof word);
	}
	((struct krt_blob *)((char *)t->call->rec + t->at))->len += (uint32_t)len;
	return true;
}

typedef uint32_t words __attribute__((vector_size(16)));
typedef int32_t signed_words __attribute__((vector_size(16)));
typedef uint64_t pair __attribute__((vector_size(16)));

/*
 * Can there be one among the NEAR words at p, by their upper halves?  Nearly always
 * not, and this is what a copy without addresses costs: four words at once, compared
 * as signed, since that is what there are instructions for.
 */
static bool may_hold(const struct telling *t, const char *p)
{
	const uint32_t l = t->high ^ 1u << 31, m = t->spans ^ 1u << 31;
	const words low = { l, l, l, l }, most = { m, m, m, m };
	signed_words beyond = { -1, -1, -1, -1 };
	pair all;

	for (unsigned i = 0; i < NEAR; i += 4) {
		words a, b;

		memcpy(&a, p + i * 8ull, sizeof a);
		memcpy(&b, p + i * 8ull + sizeof a, sizeof b);
		a = __builtin_shufflevector(a, b, UPPER, 2 + UPPER, 4 + UPPER, 6 + UPPER);
		beyond &= (signed_words)(a - low) > (signed_words)most;
	}
	all = (pair)beyond;
	return (all[0] & all[1]) != UINT64_MAX;
}

/* Is there one among n words at p? */
static bool any_pointer(const struct telling *t, const char *p, uint32_t n)
{
	uint64_t word;

	for (uint32_t i = 0; i < n; i++) {
		if (i % NEAR == 0 && n - i >= NEAR && krt_likely(!may_hold(t, p + i * 8ull))) {
			i += NEAR - 1;
			continue;
		}
		if (is_pointer(t, p + i * 8ull, &word))
			return true;
	}
	return false;
}

/* One copy; false: there is no room for more. */
static bool tell(struct telling *t, uint64_t dst, uint64_t src, uint64_t len, uint32_t item)
{
	uint64_t skip = -dst & 7, head = len < HEAD ? len : HEAD, word;
	uint32_t n, from = 0, end = 0;
	const char *p;

	/* a late start has not seen what is managed */
	if (t->any && __atomic_load_n(&krt_proc->trouble, __ATOMIC_RELAXED) & KRT_TROUBLE_LATE)
		return true;
	if (!src || len < skip + 8 || len > KRT_POINTERS_COPY_MAX || src + len < src ||
	    (src + len) >> ADDRESS_BITS || marked(src, NOT_HOST) || marked(src + len - 1, NOT_HOST))
		return true;
	p = source(t, src, head);
	if (!p || krt_likely(!any_pointer(t, p + skip, (uint32_t)((head - skip) / 8))))
		return true;
	if (head < len)
		p = source(t, src, len);
	if (!p)
		return true;
	p += skip;
	n = (uint32_t)((len - skip) / 8);
	for (uint32_t i = 0; i < n; i++) {
		if (!is_pointer(t, p + i * 8ull, &word))
			continue;
		if (from < end && i - end > GAP) {
			if (!tell_run(t, p, skip, item, from, end))
				return false;
			from = i;
		} else if (from == end) {
			from = i;
		}
		end = i + 1;
	}
	return from == end || tell_run(t, p, skip, item, from, end);
}

static bool from_host(CUmemorytype type)
{
	return type == CU_MEMORYTYPE_HOST || type == CU_MEMORYTYPE_UNIFIED;
}

static bool to_device(CUmemorytype type)
{
	return type == CU_MEMORYTYPE_DEVICE || type == CU_MEMORYTYPE_UNIFIED;
}

/* Rows that follow each other on both sides are one copy; m: CUDA_MEMCPY2D or _3D. */
#define TELL_ROWS(t, m, depth, srcZ_, dstZ_, srcRows, dstRows)                                          \
	do {                                                                                            \
		uint64_t from_ = (m)->srcMemoryType == CU_MEMORYTYPE_HOST ? (uintptr_t)(m)->srcHost     \
									  : (m)->srcDevice;             \
		uint64_t to_ = (m)->dstDevice, len_, span_, all_ = (m)->WidthInBytes;                   \
		if (from_host((m)->srcMemoryType) && to_device((m)->dstMemoryType) &&                   \
		    all_ <= KRT_POINTERS_COPY_MAX && (m)->Height <= KRT_POINTERS_COPY_MAX &&            \
		    (depth) <= KRT_POINTERS_COPY_MAX &&                                                 \
		    krt_rows_span(&from_, (m)->srcXInBytes, (m)->srcY, srcZ_, (m)->srcPitch, srcRows,   \
				  all_, (m)->Height, depth, &len_) &&                                   \
		    krt_rows_span(&to_, (m)->dstXInBytes, (m)->dstY, dstZ_, (m)->dstPitch, dstRows,     \
				  all_, (m)->Height, depth, &span_) &&                                  \
		    len_ == all_ * (m)->Height * (depth) && span_ == len_)                              \
			tell(t, to_, from_, len_, 0);                                                   \
	} while (0)

static void batch(struct telling *t, uint64_t n)
{
	const uint64_t *v = t->call->args, *dst = (const void *)v[0], *src = (const void *)v[1],
		       *len = (const void *)v[2];
	uint64_t left = BATCH_MAX;

	for (uint64_t i = 0; dst && src && len && i < n && i <= UINT32_MAX; i++) {
		if (len[i] > KRT_POINTERS_COPY_MAX)
			continue;
		if (len[i] > left || !tell(t, dst[i], src[i], len[i], (uint32_t)i))
			return;
		left -= len[i];
	}
}

void krt_pointers_given(struct krt_call *c)
{
	const struct krt_api *a = &krt_api[c->api];
	struct telling t = { .call = c, .lowest = atomic_load_explicit(&lowest, memory_order_relaxed) };
	uint64_t dst = 0, src = 0, len = 0, count = 0, top = atomic_load_explicit(&highest, memory_order_relaxed);

	if (!map || top <= t.lowest || !c->rec)
		return;
	t.span = top - t.lowest;
	t.high = (uint32_t)(t.lowest >> 32);
	t.spans = (uint32_t)((top - 1) >> 32) - t.high;
	t.reads = READS_MAX;
	t.any = !(a->flags & KRT_F_SRC_HOST);
	for (unsigned i = 0; i < a->argc; i++)
		switch ((enum krt_role)a->arg[i].role) {
		case KRT_ROLE_DST: dst = c->args[i]; break;
		case KRT_ROLE_SRC: src = c->args[i]; break;
		case KRT_ROLE_BYTES: len = c->args[i]; break;
		case KRT_ROLE_COUNT: count = c->args[i]; break;
		default: break;
		}
	switch ((enum krt_op)a->op) {
	case KRT_OP_COPY:
		tell(&t, dst, src, len, 0);
		break;
	case KRT_OP_COPY_2D: {
		const CUDA_MEMCPY2D *m = (const void *)c->args[0];

		if (m)
			TELL_ROWS(&t, m, 1, 0, 0, 1, 1);
		break;
	}
	case KRT_OP_COPY_3D: {
		const CUDA_MEMCPY3D *m = (const void *)c->args[0];

		if (m)
			TELL_ROWS(&t, m, m->Depth, m->srcZ, m->dstZ, m->srcHeight, m->dstHeight);
		break;
	}
	case KRT_OP_COPY_BATCH:
		batch(&t, count);
		break;
	default:
		break;
	}
}
