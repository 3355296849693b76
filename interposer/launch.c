/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a launch passes.
 *
 * Kernel parameters are copied only with sizes that the driver told for this
 * function: kernelParams[i] is never read with a guessed one.  No locking.
 */
#include "call.h"
#include "host.h"
#include "lane.h"
#include "objects.h"

#define CUABI_EXACT_NAMES
#include "cuabi.h"

#include <string.h>

#define EXTRA_MAX 65536 /* bytes of a parameter buffer */

/* A parameter buffer given whole.  False: extra is not of that form. */
static bool parse_extra(uint64_t extra, const void **buffer, size_t *size)
{
	void *const *e = (void *const *)extra;

	*buffer = NULL;
	*size = 0;
	for (unsigned i = 0; i < 16; i += 2) {
		if (e[i] == CU_LAUNCH_PARAM_END)
			return *buffer != NULL;
		if (e[i] == CU_LAUNCH_PARAM_BUFFER_POINTER)
			*buffer = e[i + 1];
		else if (e[i] == CU_LAUNCH_PARAM_BUFFER_SIZE && e[i + 1])
			*size = *(const size_t *)e[i + 1];
		else
			return false;
	}
	return false;
}

bool krt_kernel_args(struct krt_kernel_args *a, uint64_t func, uint64_t params, uint64_t extra)
{
	size_t size = 0;

	*a = (struct krt_kernel_args){ .kernel = krt_kernel(func), .param = (void *const *)params };
	if (!a->kernel)
		return false;
	if (extra && !params)
		a->len = parse_extra(extra, &a->buffer, &size) && size <= EXTRA_MAX ? (uint32_t)size
										    : KRT_PARAMS_UNKNOWN;
	else if (params)
		a->len = a->kernel->nparams == KRT_PARAMS_UNKNOWN ? KRT_PARAMS_UNKNOWN
								  : a->kernel->bytes;
	a->size = a->len == KRT_PARAMS_UNKNOWN ? 0 : a->len;
	return true;
}

void krt_kernel_args_copy(const struct krt_kernel_args *a, struct krt_params *to)
{
	const struct krt_kernel *k = a->kernel;
	char *bytes = (char *)(to + 1);

	to->kernel = k->id;
	to->len = a->len;
	if (!a->size)
		return;
	if (a->buffer) {
		memcpy(bytes, a->buffer, a->size);
		return;
	}
	memset(bytes, 0, a->size); /* gaps between parameters */
	for (uint32_t i = 0; i < k->nparams; i++)
		if (a->param[i])
			memcpy(bytes + k->param[i].offset, a->param[i], k->param[i].size);
}

void krt_launch_params(struct krt_call *c, uint64_t func, uint64_t params, uint64_t extra,
		       unsigned params_arg, unsigned extra_arg)
{
	unsigned arg = extra && !params ? extra_arg : params_arg;
	struct krt_kernel_args a;
	struct krt_params *p;
	size_t size, mark;
	char *bytes;
	uint32_t id;

	if (!krt_kernel_args(&a, func, params, extra))
		return;
	size = a.size;
	mark = c->size;
	p = krt_call_blob(c, arg, KRT_BLOB_PARAMS, sizeof *p + size);
	if (!p)
		return;
	krt_kernel_args_copy(&a, p);
	if (krt_host_on())
		krt_flight_words(c, p + 1, size);
	bytes = (char *)(p + 1);
	if (size < 32 || size > KRT_PARAMS_SHARE_MAX)
		return;
	id = krt_params_id(a.kernel->id, bytes, (uint32_t)size);
	if (!id)
		return;
	c->size = mark;
	bytes = krt_call_blob(c, arg, KRT_BLOB_SHARED, sizeof id);
	if (bytes)
		memcpy(bytes, &id, sizeof id);
}
