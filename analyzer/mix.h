/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys of tables: words folded one after the other into 64 bits.  The same on every
 * machine and in every run; not for anybody who chooses what is hashed.
 */
#ifndef KRT_MIX_H
#define KRT_MIX_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t krt_mix(uint64_t h, uint64_t v)
{
	h ^= v + 0x9e3779b97f4a7c15ull + (h << 6) + (h >> 2);
	return h * 0xff51afd7ed558ccdull ^ h >> 29;
}

static inline uint64_t krt_mix_bytes(uint64_t h, const void *p, size_t len)
{
	uint64_t v;

	for (size_t i = 0; i < len; i += 8) {
		v = 0;
		memcpy(&v, (const char *)p + i, len - i < 8 ? len - i : 8);
		h = krt_mix(h, v);
	}
	return krt_mix(h, len);
}

/* All bits of which may be used. */
static inline uint64_t krt_mix_key(const void *p, size_t len)
{
	uint64_t h = krt_mix_bytes(0, p, len);

	return h ^ h >> 32;
}

#endif
