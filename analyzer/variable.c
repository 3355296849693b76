/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variables of modules as memory.
 */
#include "engine_int.h"

struct krt_mem *krt_variable(struct krt_engine *e, const struct krt_kernel_info *k,
			     const struct krt_stream_info *s, const char *name, uint64_t size)
{
	(void)e, (void)k, (void)s, (void)name, (void)size;
	return NULL;
}
