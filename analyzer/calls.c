/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the calls of a trace (calls.h).  No state; reads files only. */
#include "calls.h"
#include "reader.h"
#include "../interposer/api.h"

#include <inttypes.h>
#include <stdio.h>

int krt_calls_print(const char *dir, bool all, char *err, unsigned errlen)
{
	struct krt_reader *r = krt_reader_open(dir, false, err, errlen);
	uint64_t count[KRT_NR_APIS] = {0};
	const struct krt_rec *rec;
	unsigned lane;
	size_t len;
	int n, bad = 0;

	if (!r)
		return -1;
	n = krt_reader_scan(r);
	for (int i = 0; i < n; i++) {
		struct krt_proc_reader *p = krt_reader_process(r, i);

		while (krt_proc_next(p, &rec, &len, &lane) > 0) {
			const struct krt_rec_call *c = (const void *)rec;

			if (rec->kind == KRT_REC_CALL && len >= sizeof(*c) && c->api < KRT_NR_APIS)
				count[c->api]++;
		}
		if (krt_proc_error(p)) {
			snprintf(err, errlen, "%s", krt_proc_error(p));
			bad = -1;
		}
	}
	krt_reader_close(r);
	for (unsigned i = 0; i < KRT_NR_APIS; i++)
		if (all || count[i])
			printf("%8" PRIu64 " %-12s %s %s\n", count[i], krt_class_name(krt_api[i].cls),
			       krt_api[i].symbol, krt_api[i].base);
	return bad;
}
