/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Formats of module images (image.h).  No state, no locking.
 */
#define _GNU_SOURCE
#include "image.h"

#include <errno.h>
#include <lz4.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

static int unpack_lz4(const char *from, uint64_t stored, char *to, uint64_t size)
{
	int n = LZ4_decompress_safe(from, to, (int)stored, (int)size);

	return n >= 0 && (uint64_t)n == size ? 0 : -EBADMSG;
}

static int unpack_zstd(const char *from, uint64_t stored, char *to, uint64_t size)
{
	size_t n = ZSTD_decompress(to, size, from, stored);

	return !ZSTD_isError(n) && n == size ? 0 : -EBADMSG;
}

int krt_fatbin_unpack(const struct krt_image_source *s, const struct krt_fatbin_entry *e,
		      uint64_t limit, char **out, size_t *len)
{
	char *from, *to;
	int r;

	*out = NULL;
	if (e->packing == KRT_PACKING_UNKNOWN)
		return -ENOTSUP;
	if (limit > INT32_MAX / 2)
		limit = INT32_MAX / 2;
	if (e->stored > limit || e->size > limit)
		return -EFBIG;
	if (e->offset > s->len || e->stored > s->len - e->offset)
		return -EBADMSG;
	/* a block of LZ4 cannot grow more than that: who says so lies */
	if (e->packing == KRT_LZ4 && e->size / 256 > e->stored + 1)
		return -EBADMSG;
	from = malloc(e->stored + 1);
	if (!from)
		return -ENOMEM;
	if (!s->read(s->user, e->offset, from, e->stored)) {
		free(from);
		return -EIO;
	}
	if (e->packing == KRT_STORED) {
		from[e->stored] = 0;
		*out = from;
		*len = e->stored;
		return 0;
	}
	to = malloc(e->size + 1);
	if (!to) {
		free(from);
		return -ENOMEM;
	}
	r = e->packing == KRT_LZ4 ? unpack_lz4(from, e->stored, to, e->size)
				  : unpack_zstd(from, e->stored, to, e->size);
	free(from);
	if (r) {
		free(to);
		return r;
	}
	to[e->size] = 0;
	*out = to;
	*len = e->size;
	return 0;
}

/* --- cubins ---------------------------------------------------------------------- */

int krt_cubin_ptx(const struct krt_cubin *c, char **out, size_t *len)
{
	static const char name[] = ".nv_debug_ptx_txt";
	size_t size = 0;
	const unsigned char *p = krt_cubin_section(c, name, "", 0, &size);
	char *text;

	*out = NULL;
	if (!p)
		p = krt_cubin_section(c, ".nv.merc", name, sizeof(name) - 1, &size);
	if (!p)
		return -ENOENT;
	text = malloc(size + 1);
	if (!text)
		return -ENOMEM;
	memcpy(text, p, size);
	*len = krt_ptx_clean(text, size);
	if (!*len) {
		free(text);
		return -ENOENT;
	}
	*out = text;
	return 0;
}

int krt_cubin_params(const struct krt_cubin *c, const char *kernel, struct krt_cubin_params *out)
{
	struct krt_layout *l = malloc(sizeof(*l));
	int r = l ? krt_cubin_layout(c, kernel, strlen(kernel), l) : -ENOMEM;

	*out = (struct krt_cubin_params){0};
	if (!r && l->n) {
		out->param = malloc(l->n * sizeof(*l->param));
		if (out->param)
			memcpy(out->param, l->param, l->n * sizeof(*l->param));
		else
			r = -ENOMEM;
	}
	if (!r) {
		out->n = l->n;
		out->bytes = l->bytes;
	}
	free(l);
	return r;
}

/* --- PTX text ---------------------------------------------------------------------- */

size_t krt_ptx_clean(char *text, size_t len)
{
	size_t lead = 0;

	while (lead < len && !text[lead])
		lead++;
	while (len > lead && !text[len - 1])
		len--;
	len -= lead;
	if (lead)
		memmove(text, text + lead, len);
	for (char *p = text; (p = memchr(p, 0, len - (size_t)(p - text)));)
		*p = '\n';
	text[len] = 0;
	return len;
}

uint32_t krt_ptx_target(const char *text, size_t len)
{
	size_t at = 0;
	const char *p = krt_ptx_directive(text, len < 65536 ? len : 65536, &at, ".target");
	const char *end = text + len;
	uint32_t v = 0;

	if (!p || end - p < 4 || memcmp(p, "sm_", 3))
		return 0;
	for (p += 3; p < end && *p >= '0' && *p <= '9' && v < 100000; p++)
		v = v * 10 + (uint32_t)(*p - '0');
	return v;
}
