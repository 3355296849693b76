/* SPDX-License-Identifier: Apache-2.0 */
/* The blocks that a trace tells, one line a note: torch_notes FOLDER. */
#include "decode.h"
#include "reader.h"

#include <inttypes.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	char err[256] = "";
	struct krt_reader *r = argc > 1 ? krt_reader_open(argv[1], false, err, sizeof err) : NULL;
	const struct krt_rec *rec;
	struct krt_call c;
	unsigned lane;
	size_t len;

	if (!r || krt_reader_scan(r) < 1) {
		printf("no trace: %s\n", err);
		return 1;
	}
	while (krt_proc_next(krt_reader_process(r, 0), &rec, &len, &lane) == 1) {
		if (rec->kind != KRT_REC_CALL || !krt_decode(rec, len, lane, &c))
			continue;
		switch (c.op) {
		case KRT_OP_NOTE_POOL_CREATE:
			printf("pool %u %.*s\n", (unsigned)c.flags, (int)c.string.len, (const char *)c.string.data);
			break;
		case KRT_OP_NOTE_BLOCK_ALLOC:
			printf("alloc 0x%" PRIx64 " %" PRIu64 " 0x%" PRIx64 "\n", c.addr, c.bytes, c.stream);
			break;
		case KRT_OP_NOTE_BLOCK_FREE:
			printf("free 0x%" PRIx64 "\n", c.addr);
			break;
		default:
			break;
		}
	}
	krt_reader_close(r);
	return 0;
}
