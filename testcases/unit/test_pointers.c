/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device addresses in a copy from the host (interposer/pointers.c): found at every place
 * of the source, and words near the range are not.  What the recorder brings is here by hand.
 */
#include "graphs.h"
#include "lane.h"
#include "pointers.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define BASE  0x7e1200000000ull
#define WORDS 300u

static struct krt_proc proc;
struct krt_proc *krt_proc = &proc;
static char record[1 << 16] __attribute__((aligned(8)));

void *krt_map(size_t size)
{
	return calloc(1, size);
}

void *krt_call_more(struct krt_call *c, size_t len)
{
	c->size += len;
	return record + c->size - len;
}

void *krt_call_blob(struct krt_call *c, unsigned arg, unsigned kind, size_t len)
{
	struct krt_blob *b = krt_call_more(c, sizeof *b + len);

	*b = (struct krt_blob){.arg = (uint8_t)arg, .kind = (uint8_t)kind, .len = (uint32_t)len};
	return b + 1;
}

bool krt_mapping_of(uint64_t addr, uint64_t *low, uint64_t *high, bool *writable)
{
	(void)addr, (void)low, (void)high, (void)writable;
	return false;
}

bool krt_on_own_stack(struct krt_thread *t, uint64_t sp)
{
	(void)t, (void)sp;
	return false;
}

size_t krt_read(uint64_t addr, void *to, size_t len)
{
	(void)addr, (void)to, (void)len;
	return 0;
}

bool krt_rows_span(uint64_t *base, size_t x, size_t y, size_t z, size_t pitch, size_t rows,
		   size_t width, size_t height, size_t depth, uint64_t *len)
{
	(void)base, (void)x, (void)y, (void)z, (void)pitch, (void)rows, (void)width, (void)height,
		(void)depth, (void)len;
	return false;
}

/* The run of the copy's addresses that was told, NULL: none was. */
static const struct krt_pointer_run *copy(const uint64_t *source, unsigned words)
{
	static struct krt_thread thread;
	uint64_t args[] = {BASE, (uintptr_t)source, words * 8ull, 5};
	struct krt_call c = {
		.thread = &thread,
		.args = args,
		.rec = (void *)record,
		.api = KRT_API_cuMemcpyHtoDAsync_v2,
		.size = sizeof(struct krt_rec_call),
		.room = sizeof record,
	};

	krt_pointers_given(&c);
	return c.size == sizeof(struct krt_rec_call)
		       ? NULL
		       : (void *)(record + sizeof(struct krt_rec_call) + sizeof(struct krt_blob));
}

Test(pointers, every_place)
{
	static uint64_t h[WORDS];

	cr_assert(krt_pointers_open());
	krt_pointers_range(BASE, 4096, false);
	krt_pointers_range(BASE + (3ull << 32), 4096, false);
	krt_pointers_pinned((uintptr_t)h, sizeof h);
	for (unsigned i = 0; i < WORDS;
	     i++) /* neither below, between nor above; not where the halves change places */
		h[i] = (uint64_t[]){0,
				    BASE - 1,
				    BASE + (1ull << 32),
				    BASE + (4ull << 32),
				    UINT64_MAX,
				    BASE << 32 | BASE >> 32,
				    1ull << 63 | BASE}[i % 7];
	cr_assert_null(copy(h, WORDS));
	memset(h, 0, sizeof h); /* so that nothing but the address makes anybody look closer */
	for (unsigned n = 1; n <= WORDS; n += n < 140 ? 1 : 40)
		for (unsigned i = 0; i < n; i++) {
			const struct krt_pointer_run *r;
			uint64_t was = h[i];

			h[i] = BASE + (i & 1 ? 3ull << 32 : 0) + i;
			r = copy(h, n);
			cr_assert(r && r->offset == i * 8 && r->n == 1, "word %u of %u", i, n);
			h[i] = was;
		}
}
