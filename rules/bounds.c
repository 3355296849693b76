/* SPDX-License-Identifier: Apache-2.0 */
/* KRT-COPY-BOUNDS: a copy or set reaches past its allocation. */
#include "words.h"

#include <inttypes.h>
#include <stdio.h>

void krt_words_bounds(const struct krt_facts *f, struct krt_words *w)
{
	snprintf(w->message, sizeof(w->message),
		 "%s #%" PRIu64 " %s +0x%" PRIx64 "..+0x%" PRIx64 " of %s, which has 0x%" PRIx64
		 " bytes: %" PRIu64 " past its end",
		 f->cur.api, f->cur.seq, f->cur.what[0] == 'r' ? "reads" : "writes", f->offset,
		 f->offset + f->len, f->buffer ? f->buffer : "memory", f->size, f->third_seq);
	snprintf(w->fix, sizeof(w->fix),
		 "copy at most 0x%" PRIx64 " bytes from that offset, or allocate %" PRIu64 " more",
		 f->offset < f->size ? f->size - f->offset : 0, f->third_seq);
}
