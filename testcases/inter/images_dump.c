/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a trace says of module images, as text that is the same in each run:
 * images_dump FOLDER [KERNEL...].  Of these kernels it tells in which calls' images
 * their text is found again.  Nothing is told before the program gives a name
 * (krtsan_name), unless it gives none at all (images_dump --all FOLDER).
 */
#include "decode.h"
#include "image_store.h"
#include "reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct krt_rec_image *image[256];
static int bad, begun;

static void describe(uint32_t id)
{
	const struct krt_rec_image *m = id < 256 ? image[id] : NULL;
	char text[64] = "";
	const char *entry;

	if (!m) {
		printf(" UNKNOWN ID %u", id);
		bad = 1;
		return;
	}
	if (m->form == KRT_IMAGE_FILE) {
		int n = m->path_len;

		while (n && m->data[n - 1] != '/')
			n--;
		printf(" %u: file %.*s %s%s", id, m->path_len - n, m->data + n,
		       m->build_id_len == 20 ? "build-id" : m->file_size && m->mtime_ns ? "by time" : "NOT CHECKED",
		       m->data[0] == '/' ? "" : " RELATIVE");
		if (m->build_id_len && m->offset < 64)
			bad = 1;
		if (!m->build_id_len)
			printf(" %" PRIu64 " of %" PRIu64, m->len, m->file_size);
		else
			printf(" %" PRIu64, m->len);
		return;
	}
	entry = memmem(m->data, m->len, ".entry ", 7);
	if (entry)
		snprintf(text, sizeof text, "%.*s", (int)strcspn(entry + 7, "("), entry + 7);
	printf(" %u: copy of %" PRIu64 " role %u %s", id, m->len, m->role, text);
	bad |= m->sample != krt_image_sample(m->data, m->len);
}

int main(int argc, char **argv)
{
	struct krt_image_store *store = krt_image_store_new(&(struct krt_image_config){0});
	char err[256] = "";
	if (argc > 1 && !strcmp(argv[1], "--all")) {
		begun = 1;
		argc--;
		argv++;
	}
	struct krt_reader *r = argc > 1 ? krt_reader_open(argv[1], false, err, sizeof err) : NULL;
	struct krt_proc_reader *p;
	const struct krt_rec *rec;
	unsigned lane;
	size_t len;

	if (!r || !store || krt_reader_scan(r) != 1) {
		printf("not ok %s\n", err);
		return 1;
	}
	p = krt_reader_process(r, 0);
	while (krt_proc_next(p, &rec, &len, &lane) == 1) {
		const struct krt_rec_image *m = (const void *)rec;
		struct krt_call c;

		if (rec->kind == KRT_REC_IMAGE && m->id < 256) {
			bad |= image[m->id] != NULL;
			image[m->id] = malloc(len);
			memcpy(image[m->id], m, len);
			bad |= krt_image_store_record(store, 0, m, len) != 0;
		}
		if (rec->kind != KRT_REC_CALL)
			continue;
		if (!krt_decode(rec, len, lane, &c)) {
			printf("MALFORMED\n");
			bad = 1;
			continue;
		}
		if (c.op == KRT_OP_NOTE_NAME && c.string.data && !c.bytes && (begun = 1))
			printf("-- %.*s\n", (int)c.string.len, (const char *)c.string.data);
		if (!c.images.data || !begun) /* what the set-up loads is not meant */
			continue;
		printf("%s:", c.api->symbol);
		for (uint32_t i = 0; i < c.images.len / sizeof(struct krt_image_ref); i++) {
			const struct krt_image_ref *ref = (const struct krt_image_ref *)c.images.data + i;

			if (i)
				putchar(',');
			if (ref->id)
				describe(ref->id);
			else
				printf(" not told: %u", ref->missing);
		}
		printf("\n");
		for (int k = 2; k < argc; k++) {
			uint32_t ids[64], n = 0;
			struct krt_image_text text;

			for (uint32_t i = 0; i < c.images.len / sizeof(struct krt_image_ref) && n < 64; i++)
				ids[n++] = ((const struct krt_image_ref *)c.images.data + i)->id;
			if (krt_image_store_text(store, 0, ids, n, argv[k], 90, &text))
				continue;
			printf("\t%s: %s, sm_%u%s\n", argv[k], krt_image_from_text(text.from), text.arch,
			       text.where ? ", read from its file" : "");
			bad |= !strstr(text.text, argv[k]);
		}
	}
	if (krt_proc_dropped(p) || krt_proc_error(p)) {
		printf("DROPPED %s\n", krt_proc_error(p) ? krt_proc_error(p) : "");
		bad = 1;
	}
	krt_reader_close(r);
	krt_image_store_free(store);
	return bad;
}
