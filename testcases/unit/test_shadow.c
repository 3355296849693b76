/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pointers in device memory, as copies from the host put them there: what is
 * known, and what makes it unknown again.
 */
#include "analyzer/engine_int.h"
#include "rec_build.h"

#include <criterion/criterion.h>

#define TABLE DEV
#define OTHER (DEV + 0x10000)
#define BUF   (DEV + 0x20000)
#define BIG   (DEV + 0x1000000)

static void begin(struct world *w)
{
	world_open(w, NULL);
	thread(w, 1, 1);
	context(w, 0xc0, 0, true);
	for (uint64_t at = TABLE; at <= BUF; at += 0x10000) {
		call_begin(w, KRT_API_cuMemAlloc_v2, A(0), A(0x10000));
		call_out(w, 0, at);
		call_end(w, 0);
	}
}

/* The blob of one run. */
static void run(struct world *w, uint32_t item, uint32_t offset, const uint64_t *word, uint32_t n)
{
	uint64_t buf[2 + 512];
	struct krt_pointer_run r = {.item = item, .offset = offset, .n = n};

	memcpy(buf, &r, sizeof(r));
	memcpy(buf + 2, word, n * 8);
	call_blob(w, KRT_BLOB_OF_CALL, KRT_BLOB_POINTERS, buf, (uint32_t)sizeof(r) + n * 8);
}

static void upload(struct world *w, uint64_t dst, uint64_t len, uint32_t offset, uint64_t first, uint32_t n)
{
	uint64_t word[512];

	for (uint32_t i = 0; i < n; i++)
		word[i] = first + 64 * i;
	call_begin(w, KRT_API_cuMemcpyHtoD_v2, dst, A(HEAP), len);
	run(w, 0, offset, word, n);
	call_end(w, 0);
}

static size_t known(struct world *w, uint64_t addr)
{
	uint64_t word[4096];

	return krt_shadow_read(w->e, addr, word, 4096);
}

static uint64_t word_at(struct world *w, uint64_t addr)
{
	uint64_t word = 1;

	cr_assert_eq(krt_shadow_read(w->e, addr, &word, 1), 1);
	return word;
}

static void end(struct world *w)
{
	cr_assert_eq(w->rc, 0);
	cr_assert_eq(w->e->malformed, 0);
	krt_engine_destroy(w->e);
}

Test(shadow, words_are_known)
{
	struct world w;

	begin(&w);
	cr_assert_eq(known(&w, TABLE), 0);
	upload(&w, TABLE + 8, 256, 16, BUF, 4);
	cr_assert_eq(known(&w, TABLE), 0);
	cr_assert_eq(known(&w, TABLE + 8), 6, "integers before the pointers are none");
	cr_assert_eq(word_at(&w, TABLE + 8), 0);
	cr_assert_eq(word_at(&w, TABLE + 24), BUF);
	cr_assert_eq(word_at(&w, TABLE + 48), BUF + 192);
	cr_assert_eq(known(&w, TABLE + 12), 0, "words are aligned");
	cr_assert_eq(known(&w, TABLE + 56), 0);
	end(&w);
}

Test(shadow, destination_that_is_not_aligned)
{
	struct world w;

	begin(&w);
	upload(&w, TABLE + 4, 64, 4, BUF, 2); /* words at TABLE + 8 */
	cr_assert_eq(word_at(&w, TABLE + 8), BUF);
	upload(&w, OTHER + 4, 64, 8, BUF, 2); /* no word of the table: the record lies */
	cr_assert_eq(known(&w, OTHER + 8), 0);
	end(&w);
}

Test(shadow, records_that_lie)
{
	struct world w;
	uint64_t word[8] = {BUF, BUF, BUF, BUF, BUF, BUF, BUF, BUF};
	struct krt_pointer_run r = {.n = 0x20000001};

	begin(&w);
	call_begin(&w, KRT_API_cuMemcpyHtoD_v2, A(TABLE), A(HEAP), A(32));
	run(&w, 0, 0, word, 8); /* more than is copied */
	call_end(&w, 0);
	cr_assert_eq(known(&w, TABLE), 0);
	call_begin(&w, KRT_API_cuMemcpyHtoD_v2, A(TABLE), A(HEAP), A(32));
	call_blob(&w, KRT_BLOB_OF_CALL, KRT_BLOB_POINTERS, &r, sizeof(r));
	call_end(&w, 0);
	call_begin(&w, KRT_API_cuMemcpyHtoD_v2, A(TABLE), A(HEAP), A(32));
	call_blob(&w, KRT_BLOB_OF_CALL, KRT_BLOB_POINTERS, &r, 5);
	call_end(&w, 0);
	call_begin(&w, KRT_API_cuMemcpyHtoD_v2, A(TABLE), A(HEAP), A(32));
	run(&w, 3, 0, word, 2); /* another copy's */
	call_end(&w, 0);
	cr_assert_eq(known(&w, TABLE), 0);
	call_begin(&w, KRT_API_cuMemcpyHtoD_v2, A(OTHER + 0x10000 - 8), A(HEAP), A(32));
	run(&w, 0, 0, word, 2); /* beyond the allocation */
	call_end(&w, 0);
	cr_assert_eq(known(&w, OTHER + 0x10000 - 8), 0);
	end(&w);
}

Test(shadow, writes_cut_it)
{
	struct world w;

	begin(&w);
	upload(&w, TABLE, 512, 0, BUF, 64);
	cr_assert_eq(known(&w, TABLE), 64);
	call(&w, cuMemsetD8_v2, A(TABLE + 81), A(7), A(1));
	cr_assert_eq(known(&w, TABLE), 10);
	cr_assert_eq(known(&w, TABLE + 80), 0);
	cr_assert_eq(known(&w, TABLE + 88), 53);
	call(&w, cuMemcpyHtoD_v2, A(TABLE + 88), A(HEAP), A(8)); /* no pointer */
	cr_assert_eq(known(&w, TABLE + 88), 0);
	call(&w, cuMemsetD32_v2, A(TABLE + 96), A(0), A(4)); /* zero is known */
	cr_assert_eq(known(&w, TABLE + 96), 52);
	cr_assert_eq(word_at(&w, TABLE + 96), 0);
	cr_assert_eq(word_at(&w, TABLE + 112), BUF + 64 * 14);
	call(&w, cuMemsetD32_v2, A(BUF), A(0), A(4)); /* but not of all memory */
	cr_assert_eq(known(&w, BUF), 0);
	upload(&w, TABLE + 64, 64, 0, BUF + 4096, 8);
	cr_assert_eq(known(&w, TABLE), 64);
	cr_assert_eq(word_at(&w, TABLE + 64), BUF + 4096);
	cr_assert_eq(word_at(&w, TABLE + 56), BUF + 64 * 7);
	cr_assert_eq(word_at(&w, TABLE + 128), BUF + 64 * 16);
	end(&w);
}

/* Nobody judges it, and it is a write all the same. */
Test(shadow, ignored_writes_count)
{
	struct world w;

	begin(&w);
	upload(&w, TABLE, 64, 0, BUF, 8);
	w.flags = KRT_RF_IGNORE;
	set(&w, TABLE + 16, 8, 0);
	w.flags = 0;
	cr_assert_eq(known(&w, TABLE), 8);
	cr_assert_eq(word_at(&w, TABLE + 16), 0);
	w.flags = KRT_RF_IGNORE;
	call(&w, cuMemsetD8Async, A(TABLE + 16), A(1), A(8), A(0));
	w.flags = 0;
	cr_assert_eq(known(&w, TABLE), 2);
	end(&w);
}

Test(shadow, kernels_clear_it)
{
	struct world w;

	begin(&w);
	kernel(&w, 1, "k", 1, NULL);
	upload(&w, TABLE, 64, 0, BUF, 8);
	upload(&w, OTHER, 64, 0, BUF, 8);
	access_note(&w, 0, TABLE + 8, 8, 1);
	launch(&w, 0, 1, TABLE);
	cr_assert_eq(known(&w, TABLE), 8, "declared to read it");
	access_note(&w, 0, TABLE + 8, 8, 2);
	launch(&w, 0, 1, TABLE);
	cr_assert_eq(known(&w, TABLE), 1, "declared to write a word");
	cr_assert_eq(known(&w, TABLE + 16), 6);
	launch(&w, 0, 1, TABLE + 1024);
	cr_assert_eq(known(&w, TABLE + 16), 0, "it may write all that its pointer leads to");
	cr_assert_eq(known(&w, OTHER), 8);
	launch(&w, 0, 1, BUF);
	cr_assert_eq(known(&w, OTHER), 8);
	launch_of(&w, KRT_API_cuLaunchKernel, 0, 0, 0, NULL);
	cr_assert_eq(known(&w, OTHER), 0, "it may write anything");
	end(&w);
}

Test(shadow, copies_move_it)
{
	struct world w;

	begin(&w);
	upload(&w, TABLE, 512, 0, BUF, 64);
	d2d(&w, OTHER + 8, TABLE + 16, 64, 0);
	cr_assert_eq(known(&w, OTHER), 0);
	cr_assert_eq(known(&w, OTHER + 8), 8);
	cr_assert_eq(word_at(&w, OTHER + 8), BUF + 128);
	d2d(&w, OTHER + 0x100, TABLE + 4, 64, 0);
	cr_assert_eq(known(&w, OTHER + 0x100), 0, "words come to lie askew");
	d2d(&w, OTHER + 0x200, TABLE, 0x8000, 0);
	cr_assert_eq(known(&w, OTHER + 0x200), 64);
	d2d(&w, TABLE, BUF, 0x8000, 0);
	cr_assert_eq(known(&w, TABLE), 0, "what is not known replaces what is");
	cr_assert_eq(known(&w, OTHER + 0x200), 64);
	d2d(&w, OTHER + 0x208, OTHER + 0x200, 64, 0); /* onto itself */
	cr_assert_eq(known(&w, OTHER + 0x200), 1);
	end(&w);
}

Test(shadow, memory_ends)
{
	struct world w;

	begin(&w);
	upload(&w, TABLE, 512, 0, BUF, 64);
	call(&w, cuMemFree_v2, A(TABLE));
	cr_assert_eq(known(&w, TABLE), 0);
	cr_assert_eq(w.e->shadows.bytes, 0);
	alloc(&w, TABLE, 0x10000);
	cr_assert_eq(known(&w, TABLE), 0);
	end(&w);
}

Test(shadow, blocks_are_bounds)
{
	struct world w;

	begin(&w);
	upload(&w, TABLE, 512, 0, BUF, 64);
	upload(&w, TABLE + 0x1000, 512, 0, BUF, 64);
	call(&w, krtsan_impl_block_alloc, A(0x99), A(TABLE + 0x100), A(0x400), A(0));
	cr_assert_eq(known(&w, TABLE), 32, "handed out: a new life");
	upload(&w, TABLE + 0x100, 512, 0, BUF, 64);
	kernel(&w, 1, "k", 1, NULL);
	launch(&w, 0, 1, TABLE + 0x140);
	cr_assert_eq(known(&w, TABLE + 0x100), 0, "the block is what the pointer leads to");
	cr_assert_eq(known(&w, TABLE + 0x1000), 64);
	upload(&w, TABLE + 0x100, 512, 0, BUF, 64);
	call(&w, krtsan_impl_block_free, A(TABLE + 0x100));
	cr_assert_eq(known(&w, TABLE + 0x100), 0);
	end(&w);
}

Test(shadow, only_memory_that_the_cpu_does_not_write)
{
	struct world w;

	begin(&w);
	alloc_managed(&w, BIG, 4096);
	upload(&w, BIG, 64, 0, BUF, 8);
	cr_assert_eq(known(&w, BIG), 0);
	upload(&w, BIG + 0x100000, 64, 0, BUF, 8); /* of no allocation */
	cr_assert_eq(known(&w, BIG + 0x100000), 0);
	end(&w);
}

/* What was read at the call is not what the copy finds. */
Test(shadow, source_that_changes)
{
	static const uint64_t word[] = {BUF, BUF + 8};
	struct world w;

	begin(&w);
	alloc_pinned(&w, PIN, 4096);
	stream(&w, 0x51, 1);
	for (int i = 0; i < 2; i++) {
		d2h(&w, PIN, OTHER, 64, 0x51);
		if (i)
			sync_stream(&w, 0x51);
		call_begin(&w, KRT_API_cuMemcpyHtoDAsync_v2, A(TABLE), A(PIN), A(64), A(0x51));
		run(&w, 0, 0, word, 2);
		call_end(&w, 0);
		cr_assert_eq(known(&w, TABLE), i ? 2 : 0);
	}
	end(&w);
}

Test(shadow, batches)
{
	const uint64_t dst[] = {TABLE, TABLE + 64, OTHER}, src[] = {HEAP, HEAP + 64, HEAP + 128},
		       size[] = {64, 64, 16};
	struct {
		struct krt_pointer_run r;
		uint64_t word[2];
	} runs[] = {{{.item = 0, .n = 2}, {BUF, BUF + 1}},
		    {{.item = 0, .offset = 48, .n = 2}, {BUF + 2, BUF + 3}},
		    {{.item = 2, .n = 2}, {BUF + 4, BUF + 5}}};
	struct world w;

	begin(&w);
	upload(&w, TABLE + 64, 64, 0, BUF, 8);
	call_begin(&w, KRT_API_cuMemcpyBatchAsync, A(1), A(1), A(1), A(3), A(0), A(0), A(0), A(0), A(0));
	call_blob(&w, 0, KRT_BLOB_BYTES, dst, sizeof(dst));
	call_blob(&w, 1, KRT_BLOB_BYTES, src, sizeof(src));
	call_blob(&w, 2, KRT_BLOB_BYTES, size, sizeof(size));
	call_blob(&w, KRT_BLOB_OF_CALL, KRT_BLOB_POINTERS, runs, sizeof(runs));
	call_end(&w, 0);
	cr_assert_eq(known(&w, TABLE), 8);
	cr_assert_eq(word_at(&w, TABLE + 48), BUF + 2);
	cr_assert_eq(word_at(&w, TABLE + 16), 0);
	cr_assert_eq(known(&w, TABLE + 64), 0);
	cr_assert_eq(word_at(&w, OTHER + 8), BUF + 5);
	end(&w);
}

/* The oldest go. */
Test(shadow, bounded)
{
	struct world w;

	begin(&w);
	alloc(&w, BIG, 64u << 20);
	for (uint64_t at = 0; at < 64u << 20; at += 4096)
		upload(&w, BIG + at, 4096, 0, BUF, 512);
	cr_assert_leq(w.e->shadows.bytes, (16u << 20) + 8192);
	cr_assert_eq(known(&w, BIG), 0);
	cr_assert_eq(known(&w, BIG + (63u << 20)), 4096);
	call(&w, cuMemFree_v2, A(BIG));
	cr_assert_eq(w.e->shadows.bytes, 0);
	end(&w);
}

/* Against a plain array of words, at random. */
Test(shadow, random)
{
	enum { WORDS = 2048 };
	static uint64_t model[2][WORDS];
	uint64_t seed = 1;
	struct world w;

#define RND(n) ((seed = seed * 6364136223846793005ull + 1442695040888963407ull) >> 33) % (n)
	begin(&w);
	memset(model, 0xff, sizeof(model)); /* not known */
	for (int i = 0; i < 4000; i++) {
		uint32_t k = RND(2), n = 1 + RND(64), at = RND(WORDS - 64), from = RND(WORDS - 64);
		uint64_t base = k ? OTHER : TABLE;

		switch (RND(4)) {
		case 0:
		case 1:
			upload(&w, base + 8 * at, 8 * n, 0, BUF, n);
			for (uint32_t j = 0; j < n; j++)
				model[k][at + j] = BUF + 64 * j;
			break;
		case 2:
			call(&w, cuMemsetD8_v2, A(base + 8 * at + 3), A(1), A(8 * n - 5));
			memset(&model[k][at], 0xff, 8 * n);
			break;
		default:
			d2d(&w, base + 8 * at, (k ? TABLE : OTHER) + 8 * from, 8 * n, 0);
			memcpy(&model[k][at], &model[!k][from], 8 * n);
		}
		for (uint32_t j = 0; i % 16 == 0 && j < 2 * WORDS; j++) {
			uint64_t word = ~0ull, want = model[j / WORDS][j % WORDS];

			krt_shadow_read(w.e, (j / WORDS ? OTHER : TABLE) + 8 * (j % WORDS), &word, 1);
			cr_assert_eq(word, want, "step %d word %u: %lx, not %lx", i, j, word, want);
		}
	}
	end(&w);
}
