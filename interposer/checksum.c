/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of the memory that uploads read (host=checksum): whole up to SUM_WHOLE
 * bytes, else of pages spread evenly over it, the first and the last among them.
 *
 * The memory may be gone by now: the kernel reads it for us, and what cannot be
 * read has no sum.  Under krt_host_lock, whose holder owns the buffer.
 */
#include "host.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#define SUM_WHOLE (1u << 20)
#define PIECE	  65536u
#define SAMPLE	  4096u
#define SAMPLES	  256u

static char buffer[PIECE] __attribute__((aligned(64)));

static bool add(uint64_t at, size_t n, uint64_t *sum)
{
	if (krt_read(at, buffer, n) != n)
		return false;
	*sum = XXH3_64bits_withSeed(buffer, n, *sum);
	return true;
}

bool krt_checksum(uint64_t base, uint64_t len, uint64_t *sum)
{
	*sum = len;
	if (len > SUM_WHOLE) {
		uint64_t step = (len - SAMPLE) / (SAMPLES - 1);

		for (unsigned i = 0; i < SAMPLES; i++)
			if (!add(i + 1 < SAMPLES ? base + i * step : base + len - SAMPLE, SAMPLE, sum))
				return false;
		return true;
	}
	for (uint64_t at = 0; at < len; at += PIECE)
		if (!add(base + at, len - at < PIECE ? len - at : PIECE, sum))
			return false;
	return true;
}
