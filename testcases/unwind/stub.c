/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What unwinder.c, modules.c and heap.c need of the recorder, for tests without
 * it: records are kept in memory.
 */
#include <string.h>

#include "host.h"
#include "stub.h"

union krt_wipe_pages krt_wipe = { .w.attached = 1 };

char stub_lane0[STUB_LANE0];
size_t stub_lane0_len;
struct stub_call stub_calls[STUB_CALLS];
_Atomic unsigned stub_ncalls;
void (*stub_on_call)(void);
__thread unsigned stub_mine;
unsigned stub_troubles;

void stub_attach(bool on)
{
	krt_wipe.w.attached = on;
}

void krt_lane0_write(const struct krt_rec *rec, size_t len)
{
	if (stub_lane0_len + len > STUB_LANE0)
		return;
	memcpy(stub_lane0 + stub_lane0_len, rec, len);
	stub_lane0_len += len;
}

void krt_record_libc(unsigned api, uint64_t addr, uint64_t len)
{
	unsigned i = stub_ncalls++;

	stub_mine++;

	if (i < STUB_CALLS)
		stub_calls[i] = (struct stub_call){ api, addr, len };
	if (stub_on_call)
		stub_on_call();
}

void krt_trouble(unsigned bits)
{
	stub_troubles |= bits;
}

_Atomic uint32_t krt_host_mode; /* host=api */

void krt_host_unmapped(uint64_t lo, uint64_t hi)
{
	(void)lo;
	(void)hi;
}
