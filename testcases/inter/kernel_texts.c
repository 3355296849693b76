/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Of which launched kernels a trace leads to the text: kernel_texts [--all] FOLDER.
 * A line for each answer and how many kernels have it; --all: for each kernel.
 */
#include "engine_int.h"
#include "image_store.h"
#include "reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ANSWERS = KRT_NR_IMAGE_RESULTS + 4 };
static unsigned count[ANSWERS];
static bool all;

static const char *answer_text(unsigned a)
{
	return a < 4 ? krt_image_from_text(a) : krt_image_result_text(a - 4);
}

/* Of all kernels that were not asked for: before a module goes, and at the end. */
static void kernels_of(struct krt_engine *e, bool end)
{
	static bool asked[1 << 20]; /* by id, of one process after the other */

	struct krt_kernel_info *k, *tmp;

	HASH_ITER (hh, e->obj.kernels, k, tmp) {
		struct krt_image_text t = {0};
		unsigned a;
		int r;

		if (k->id >= sizeof asked || asked[k->id] || (!end && !krt_loaded_of(e, k)))
			continue;
		r = krt_kernel_text(e, k, 0, &t);
		a = r ? (unsigned)r + 4 : (unsigned)t.from;
		asked[k->id] = true;
		count[a]++;
		if (all)
			printf("%s: %s%s%s\n", k->name, answer_text(a), t.where ? ", " : "",
			       t.where ? t.where : "");
	}
	if (end)
		memset(asked, 0, sizeof asked);
}

int main(int argc, char **argv)
{
	struct krt_image_store *store = krt_image_store_new(&(struct krt_image_config){0});
	uint64_t images[2] = {0}, bytes = 0, copied, unpacked;
	char err[256] = "";
	struct krt_reader *r;
	int n;

	if (argc > 1 && !strcmp(argv[1], "--all")) {
		all = true;
		argc--;
		argv++;
	}
	r = argc > 1 ? krt_reader_open(argv[1], false, err, sizeof err) : NULL;
	if (!r || !store) {
		fprintf(stderr, "kernel_texts: %s\n", err);
		return 1;
	}
	n = krt_reader_scan(r);
	for (int i = 0; i < n; i++) {
		struct krt_engine_config cfg = {
			.hot_min = 16, .possible_max = 1000, .text = krt_image_store_text, .images = store,
			.process = (unsigned)i,
		};
		struct krt_engine *e = krt_engine_new(&cfg);
		const struct krt_rec *rec;
		unsigned lane;
		size_t len;

		while (e && krt_proc_next(krt_reader_process(r, i), &rec, &len, &lane) == 1) {
			if (rec->kind == KRT_REC_IMAGE) {
				const struct krt_rec_image *m = (const void *)rec;

				images[m->form == KRT_IMAGE_COPY]++;
				bytes += m->form == KRT_IMAGE_COPY ? m->len : 0;
				krt_image_store_record(store, (unsigned)i, m, len);
			}
			if (rec->kind == KRT_REC_CALL) {
				unsigned op = krt_api[((const struct krt_rec_call *)rec)->api].op;

				if (op == KRT_OP_MODULE_UNLOAD || op == KRT_OP_LIBRARY_UNLOAD)
					kernels_of(e, false);
			}
			krt_engine_feed(e, rec, len, lane);
		}
		if (e)
			kernels_of(e, true);
		krt_engine_destroy(e);
	}
	for (unsigned a = 0; a < ANSWERS; a++)
		if (count[a])
			printf("%6u kernels: %s\n", count[a], answer_text(a));
	krt_image_store_volume(store, &copied, &unpacked);
	printf("%6" PRIu64 " images in files, %" PRIu64 " copied with %" PRIu64 " bytes; %" PRIu64 " bytes unpacked\n",
	       images[0], images[1], bytes, unpacked);
	krt_reader_close(r);
	krt_image_store_free(store);
	return 0;
}
