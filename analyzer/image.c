/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Formats of module images (image.h).  No state, no locking.
 */
#define _GNU_SOURCE
#include "image.h"

#include <elf.h>
#include <errno.h>
#include <lz4.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define WRAPPER_MAGIC   0x466243b1u
#define CONTAINER_MAGIC 0xba55ed50u
#define WRAPPER_SIZE    24u
#define STEPS_MAX       65536u  /* containers and entries of an image */
#define FLAG_LZ4        0x2000u
#define FLAG_ZSTD       0x8000u
#define SECTIONS_MAX    (1u << 20)
#define PARAMS_MAX      4096u
#define PARAM_BYTES_MAX 65536u

static uint16_t u16(const void *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static uint32_t u32(const void *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static uint64_t u64(const void *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

enum krt_image_kind krt_image_kind(const void *p, size_t len)
{
	const unsigned char *c = p;

	if (len < 4)
		return KRT_KIND_UNKNOWN;
	if (u32(p) == CONTAINER_MAGIC || u32(p) == WRAPPER_MAGIC)
		return KRT_KIND_FATBIN;
	if (!memcmp(p, ELFMAG, SELFMAG))
		return len >= 20 && u16(c + 18) == EM_CUDA ? KRT_KIND_CUBIN : KRT_KIND_UNKNOWN;
	for (size_t i = 0; i < len && i < 64; i++)
		if (c[i] > 126 || (c[i] < ' ' && (c[i] < '\t' || c[i] > '\r') && (c[i] || !i)))
			return KRT_KIND_UNKNOWN;
	return KRT_KIND_PTX;
}

/* --- fatbin containers -------------------------------------------------------- */

/* The header of a container at w->at; the walk goes on behind it.  False: there is none. */
static bool enter(const struct krt_image_source *s, struct krt_fatbin_walk *w)
{
	unsigned char h[16];
	uint64_t size, header;

	w->at = (w->at + 7) & ~7ull;
	if (w->at > s->len || s->len - w->at < sizeof(h) || !s->read(s->user, w->at, h, sizeof(h)))
		return false;
	if (u32(h) == WRAPPER_MAGIC && !w->at && s->len >= WRAPPER_SIZE + sizeof(h)) {
		w->at = WRAPPER_SIZE;
		if (!s->read(s->user, w->at, h, sizeof(h)))
			return false;
	}
	header = u16(h + 6);
	size = u64(h + 8);
	if (u32(h) != CONTAINER_MAGIC || header < sizeof(h) || header > s->len - w->at)
		return false;
	w->at += header;
	if (size > s->len - w->at) /* cut short: what is there may be read */
		size = s->len - w->at;
	w->end = w->at + size;
	return true;
}

bool krt_fatbin_next(const struct krt_image_source *s, struct krt_fatbin_walk *w,
		     struct krt_fatbin_entry *e)
{
	unsigned char h[64];
	uint64_t header, size, left, compressed;

	while (!w->end || w->at >= w->end || w->end - w->at < sizeof(h)) {
		if (w->end)
			w->at = w->end;
		if (++w->steps > STEPS_MAX || !enter(s, w))
			return false;
		/* an empty container: go on behind it */
	}
	if (++w->steps > STEPS_MAX || !s->read(s->user, w->at, h, sizeof(h)))
		return false;
	left = w->end - w->at;
	header = u32(h + 4);
	size = u64(h + 8);
	if (header < sizeof(h) || header > left || size > left - header)
		return false;
	compressed = u32(h + 16);
	*e = (struct krt_fatbin_entry){
		.kind = u16(h),
		.minor = u16(h + 24),
		.major = u16(h + 26),
		.arch = u32(h + 28),
		.flags = u64(h + 40),
		.offset = w->at + header,
		.stored = size,
		.size = size,
	};
	w->at += header + size;
	switch (e->flags & (FLAG_LZ4 | FLAG_ZSTD)) {
	case 0:
		e->packing = compressed ? KRT_PACKING_UNKNOWN : KRT_STORED;
		return true;
	case FLAG_LZ4:
		e->packing = KRT_LZ4;
		break;
	case FLAG_ZSTD:
		e->packing = KRT_ZSTD;
		break;
	default:
		e->packing = KRT_PACKING_UNKNOWN;
	}
	if (compressed > size)
		e->packing = KRT_PACKING_UNKNOWN;
	else if (compressed)
		e->stored = compressed;
	e->size = u64(h + 56);
	return true;
}

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

struct section {
	uint32_t name, type;
	uint64_t off, size;
};

/* Section i, its bytes inside the file; false: it is not there whole. */
static bool section(const struct krt_cubin *c, uint32_t i, struct section *s)
{
	const unsigned char *h = c->p + c->shoff + (size_t)i * sizeof(Elf64_Shdr);

	*s = (struct section){
		.name = u32(h),
		.type = u32(h + 4),
		.off = u64(h + 24),
		.size = u64(h + 32),
	};
	if (s->type == SHT_NULL || s->type == SHT_NOBITS)
		return false;
	return s->off <= c->len && s->size <= c->len - s->off;
}

bool krt_cubin_open(struct krt_cubin *c, const void *p, size_t len)
{
	const unsigned char *h = p;
	struct section names;
	uint64_t n;
	uint32_t at;

	*c = (struct krt_cubin){.p = p, .len = len};
	if (len < sizeof(Elf64_Ehdr) || memcmp(p, ELFMAG, SELFMAG) || h[EI_CLASS] != ELFCLASS64 ||
	    h[EI_DATA] != ELFDATA2LSB || u16(h + 18) != EM_CUDA || u16(h + 58) != sizeof(Elf64_Shdr))
		return false;
	c->shoff = u64(h + 40);
	n = u16(h + 60);
	at = u16(h + 62);
	if (c->shoff > len || len - c->shoff < sizeof(Elf64_Shdr))
		return false;
	/* more than the header's 16 bits can tell: the first section tells it */
	if (!n)
		n = u64(h + c->shoff + 32);
	if (at == SHN_XINDEX)
		at = u32(h + c->shoff + 40);
	if (!n || n > SECTIONS_MAX || n > (len - c->shoff) / sizeof(Elf64_Shdr) || at >= n)
		return false;
	c->sections = (uint32_t)n;
	if (!section(c, at, &names))
		return false;
	c->names = (const char *)c->p + names.off;
	c->names_len = names.size;
	return true;
}

/* A section's name; NULL: it does not end. */
static const char *name_of(const struct krt_cubin *c, const struct section *s)
{
	if (s->name >= c->names_len || !memchr(c->names + s->name, 0, c->names_len - s->name))
		return NULL;
	return c->names + s->name;
}

/* The section with the name prefix + rest. */
static bool find(const struct krt_cubin *c, const char *prefix, const char *rest, struct section *s)
{
	size_t n = strlen(prefix);

	for (uint32_t i = 1; i < c->sections; i++) {
		const char *name;

		if (!section(c, i, s))
			continue;
		name = name_of(c, s);
		if (name && !strncmp(name, prefix, n) && !strcmp(name + n, rest))
			return true;
	}
	return false;
}

int krt_cubin_ptx(const struct krt_cubin *c, char **out, size_t *len)
{
	struct section s;
	char *text;

	*out = NULL;
	if (!find(c, ".nv_debug_ptx_txt", "", &s) && !find(c, ".nv.merc.nv_debug_ptx_txt", "", &s))
		return -ENOENT;
	text = malloc(s.size + 1);
	if (!text)
		return -ENOMEM;
	memcpy(text, c->p + s.off, s.size);
	*len = krt_ptx_clean(text, s.size);
	if (!*len) {
		free(text);
		return -ENOENT;
	}
	*out = text;
	return 0;
}

const char *krt_cubin_kernel(const struct krt_cubin *c, uint32_t *i, size_t *len)
{
	static const char prefix[] = ".nv.info.";

	while (++*i < c->sections) {
		struct section s;
		const char *name = section(c, *i, &s) ? name_of(c, &s) : NULL;

		if (name && !strncmp(name, prefix, sizeof(prefix) - 1)) {
			*len = strlen(name + sizeof(prefix) - 1);
			return name + sizeof(prefix) - 1;
		}
	}
	return NULL;
}

/* Records of .nv.info. */
enum {
	FORMAT_LONG = 4,     /* a length and a payload follow; the others are 4 bytes */
	ATTR_PARAM_CBANK = 0x0a,
	ATTR_KPARAM_INFO = 0x17,
	ATTR_CBANK_PARAM_SIZE = 0x19,
	ATTR_KPARAM_INFO_V2 = 0x45,
};

/* One record's worth of layout; false: it makes no sense. */
static bool param_record(const unsigned char *p, unsigned attr, uint16_t *ordinal,
			 struct krt_cubin_param *out)
{
	*ordinal = u16(p + 4);
	out->offset = u16(p + 6);
	if (attr == ATTR_KPARAM_INFO) {
		uint32_t bits = u32(p + 8);

		out->align = bits & 0xff;
		out->space = bits >> 8 & 0xf;
		out->size = bits >> 18;
	} else {
		out->size = u16(p + 8);
		out->align = p[10];
		out->space = p[11] & 0xf;
	}
	return out->size && out->offset + out->size <= PARAM_BYTES_MAX && *ordinal < PARAMS_MAX;
}

int krt_cubin_params(const struct krt_cubin *c, const char *kernel, struct krt_cubin_params *out)
{
	const unsigned char *p, *end;
	struct krt_cubin_param *list = NULL;
	uint32_t room = 0, told = 0;
	struct section s;

	*out = (struct krt_cubin_params){0};
	if (!find(c, ".nv.info.", kernel, &s))
		return -ENOENT;
	p = c->p + s.off;
	end = p + s.size;
	while (end - p >= 4) {
		const unsigned char *data = p + 4;
		unsigned attr = p[1];
		size_t n = p[0] == FORMAT_LONG ? u16(p + 2) : 0;
		struct krt_cubin_param param;
		uint16_t ordinal;

		if (p[0] != FORMAT_LONG && attr == ATTR_CBANK_PARAM_SIZE)
			told = u16(p + 2);
		if (n > (size_t)(end - data))
			goto bad;
		p = data + n + (-n & 3);
		if (p > end)
			p = end;
		if (attr == ATTR_PARAM_CBANK && n >= 8)
			told = u16(data + 6);
		if ((attr != ATTR_KPARAM_INFO && attr != ATTR_KPARAM_INFO_V2) || n < 12)
			continue;
		if (!param_record(data, attr, &ordinal, &param))
			goto bad;
		if (ordinal >= room) {
			uint32_t more = ordinal + 1u;
			void *bigger = realloc(list, more * sizeof(*list));

			if (!bigger) {
				free(list);
				return -ENOMEM;
			}
			list = bigger;
			memset(list + room, 0, (more - room) * sizeof(*list));
			room = more;
		}
		if (list[ordinal].size)
			goto bad; /* told twice */
		list[ordinal] = param;
	}
	out->n = room;
	out->bytes = told;
	for (uint32_t i = 0; i < room; i++) {
		if (!list[i].size)
			goto bad; /* a gap */
		if (i && list[i].offset < list[i - 1].offset + list[i - 1].size)
			goto bad;
		if (list[i].offset + list[i].size > out->bytes)
			out->bytes = list[i].offset + list[i].size;
	}
	out->param = list;
	return 0;
bad:
	free(list);
	*out = (struct krt_cubin_params){0};
	return -EBADMSG;
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

static bool blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool word_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
	       c == '$' || c == '%';
}

/* Behind the next occurrence of a directive, from *at on; NULL: none. */
static const char *directive(const char *text, size_t len, size_t *at, const char *word)
{
	size_t n = strlen(word);

	while (*at < len) {
		const char *p = memmem(text + *at, len - *at, word, n);

		if (!p) {
			*at = len;
			return NULL;
		}
		*at = (size_t)(p - text) + n;
		if ((p == text || !word_char(p[-1])) && *at < len && blank(text[*at])) {
			while (*at < len && blank(text[*at]))
				++*at;
			return text + *at;
		}
	}
	return NULL;
}

uint32_t krt_ptx_target(const char *text, size_t len)
{
	size_t at = 0;
	const char *p = directive(text, len < 65536 ? len : 65536, &at, ".target");
	const char *end = text + len;
	uint32_t v = 0;

	if (!p || end - p < 4 || memcmp(p, "sm_", 3))
		return 0;
	for (p += 3; p < end && *p >= '0' && *p <= '9' && v < 100000; p++)
		v = v * 10 + (uint32_t)(*p - '0');
	return v;
}

const char *krt_ptx_entry(const char *text, size_t len, size_t *at, size_t *name_len)
{
	const char *p;

	while ((p = directive(text, len, at, ".entry"))) {
		const char *end = p;

		while (end < text + len && word_char(*end))
			end++;
		*at = (size_t)(end - text);
		*name_len = (size_t)(end - p);
		if (*name_len)
			return p;
	}
	return NULL;
}
