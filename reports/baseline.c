/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sets of fingerprints (baseline.h).
 */
#include "baseline.h"

#include <stdlib.h>

int krt_idset_of(struct krt_idset *k, const struct krt_finding *f, size_t n)
{
	k->id = malloc((n + 1) * sizeof(*k->id));
	k->n = 0;
	if (!k->id)
		return -1;
	for (size_t i = 0; i < n; i++)
		k->id[i] = f[i].fingerprint;
	k->n = krt_fingerprints_sort(k->id, n);
	return 0;
}

bool krt_idset_has(const struct krt_idset *k, uint64_t fingerprint)
{
	return krt_fingerprints_have(k->id, k->n, fingerprint);
}

void krt_idset_free(struct krt_idset *k)
{
	free(k->id);
	k->id = NULL;
	k->n = 0;
}

static void mark(const struct krt_idset *k, struct krt_finding *f, size_t n)
{
	for (size_t i = 0; i < n; i++)
		f[i].baseline =
			krt_idset_has(k, f[i].fingerprint) ? KRT_BASELINE_KNOWN : KRT_BASELINE_NEW;
}

int krt_idset_mark(const struct krt_idset *k, struct krt_report *r, size_t *absent)
{
	struct krt_idset now = {0}, hidden = {0};
	int err = krt_idset_of(&now, r->finding, r->nfindings) ||
		  krt_idset_of(&hidden, r->suppressed, r->nsuppressed);

	*absent = 0;
	mark(k, r->finding, r->nfindings);
	mark(k, r->suppressed, r->nsuppressed);
	for (size_t i = 0; !err && i < k->n; i++)
		*absent += !krt_idset_has(&now, k->id[i]) && !krt_idset_has(&hidden, k->id[i]);
	krt_idset_free(&now);
	krt_idset_free(&hidden);
	return err ? -1 : 0;
}
