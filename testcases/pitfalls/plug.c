/* SPDX-License-Identifier: Apache-2.0 */
/* A plug-in that copies (built twice, with other names): its code lies where the other's lay. */
#include <stddef.h>

typedef int copy_fn(unsigned long long, const void *, size_t, void *);
int NAME(copy_fn *copy, unsigned long long dst, const void *src, void *stream);

int NAME(copy_fn *copy, unsigned long long dst, const void *src, void *stream)
{
	volatile char frame[PAD];
	int r = copy(dst, src, 64, stream);

	frame[0] = 0;
	return r + frame[0];
}
