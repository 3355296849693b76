/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Formats of module images (image_format.h).  No state, no memory, no locking.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "image_format.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#define WRAPPER_MAGIC   0x466243b1u
#define CONTAINER_MAGIC 0xba55ed50u
#define WRAPPER_SIZE    24u
#define STEPS_MAX       65536u  /* containers and entries of an image */
#define FLAG_LZ4        0x2000u
#define FLAG_ZSTD       0x8000u
#define SECTIONS_MAX    (1u << 20)

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

const unsigned char *krt_cubin_section(const struct krt_cubin *c, const char *prefix,
				       const char *rest, size_t rest_len, size_t *len)
{
	size_t n = strlen(prefix);

	for (uint32_t i = 1; i < c->sections; i++) {
		struct section s;
		const char *name = section(c, i, &s) ? name_of(c, &s) : NULL;

		if (name && !strncmp(name, prefix, n) && strlen(name + n) == rest_len &&
		    !memcmp(name + n, rest, rest_len)) {
			*len = s.size;
			return c->p + s.off;
		}
	}
	return NULL;
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
	return out->size && out->offset + out->size <= KRT_PARAM_BYTES_MAX && *ordinal < KRT_PARAMS_MAX;
}

int krt_cubin_layout(const struct krt_cubin *c, const char *kernel, size_t len, struct krt_layout *out)
{
	size_t size = 0;
	const unsigned char *p = krt_cubin_section(c, ".nv.info.", kernel, len, &size), *end;
	struct krt_cubin_param *list = out->param;
	uint32_t room = 0, told = 0;

	out->n = out->bytes = 0;
	if (!p)
		return -ENOENT;
	end = p + size;
	while (end - p >= 4) {
		const unsigned char *data = p + 4;
		unsigned attr = p[1];
		size_t n = p[0] == FORMAT_LONG ? u16(p + 2) : 0;
		struct krt_cubin_param param;
		uint16_t ordinal;

		if (p[0] != FORMAT_LONG && attr == ATTR_CBANK_PARAM_SIZE)
			told = u16(p + 2);
		if (n > (size_t)(end - data))
			return -EBADMSG;
		p = (size_t)(end - data) < n + (-n & 3) ? end : data + n + (-n & 3);
		if (attr == ATTR_PARAM_CBANK && n >= 8)
			told = u16(data + 6);
		if ((attr != ATTR_KPARAM_INFO && attr != ATTR_KPARAM_INFO_V2) || n < 12)
			continue;
		if (!param_record(data, attr, &ordinal, &param))
			return -EBADMSG;
		for (; room <= ordinal; room++)
			list[room] = (struct krt_cubin_param){0};
		if (list[ordinal].size)
			return -EBADMSG; /* told twice */
		list[ordinal] = param;
	}
	for (uint32_t i = 0; i < room; i++) {
		if (!list[i].size) /* a gap */
			return -EBADMSG;
		if (i && list[i].offset < list[i - 1].offset + list[i - 1].size)
			return -EBADMSG;
		if (list[i].offset + list[i].size > told)
			told = list[i].offset + list[i].size;
	}
	out->n = room;
	out->bytes = told;
	return 0;
}

/* --- PTX text ---------------------------------------------------------------------- */

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
const char *krt_ptx_directive(const char *text, size_t len, size_t *at, const char *word)
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

const char *krt_ptx_entry(const char *text, size_t len, size_t *at, size_t *name_len)
{
	const char *p;

	while ((p = krt_ptx_directive(text, len, at, ".entry"))) {
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

/* --- parameters in PTX --- */

struct scan {
	const char *p, *end;
};

static void skip(struct scan *s)
{
	for (;;) {
		const char *q;

		while (s->p < s->end && blank(*s->p))
			s->p++;
		if (s->end - s->p < 2 || s->p[0] != '/')
			return;
		if (s->p[1] == '/')
			q = memchr(s->p, '\n', (size_t)(s->end - s->p));
		else if (s->p[1] == '*')
			q = memmem(s->p + 2, (size_t)(s->end - s->p) - 2, "*/", 2);
		else
			return;
		s->p = !q ? s->end : *q == '*' ? q + 2 : q;
	}
}

static bool punct(struct scan *s, char c)
{
	skip(s);
	if (s->p >= s->end || *s->p != c)
		return false;
	s->p++;
	return true;
}

/* A word, a dot before it included; its length, 0: there is none. */
static size_t word(struct scan *s, const char **w)
{
	skip(s);
	*w = s->p;
	if (s->p < s->end && *s->p == '.')
		s->p++;
	while (s->p < s->end && word_char(*s->p))
		s->p++;
	return (size_t)(s->p - *w);
}

static bool is(const char *w, size_t n, const char *text)
{
	return n == strlen(text) && !memcmp(w, text, n);
}

static bool number(struct scan *s, uint64_t *v)
{
	const char *w;
	size_t n = word(s, &w);

	*v = 0;
	for (size_t i = 0; i < n; i++) {
		if (w[i] < '0' || w[i] > '9' || *v > KRT_PARAM_BYTES_MAX)
			return false;
		*v = *v * 10 + (uint64_t)(w[i] - '0');
	}
	return n && (n == 1 || *w != '0'); /* octal and hexadecimal: nobody writes them so */
}

/* Bytes of a type, 0: it is none. */
static uint32_t type_size(const char *w, size_t n)
{
	static const struct {
		const char *kinds;
		const char *bits;
		uint32_t size;
	} types[] = {
		{"bus", "8", 1}, {"busf", "16", 2}, {"busf", "32", 4}, {"busf", "64", 8}, {"b", "128", 16},
	};

	for (unsigned i = 0; n > 2 && i < sizeof(types) / sizeof(*types); i++)
		if (strchr(types[i].kinds, w[1]) && is(w + 2, n - 2, types[i].bits))
			return types[i].size;
	if (is(w, n, ".f16x2") || is(w, n, ".bf16x2"))
		return 4;
	return is(w, n, ".bf16") ? 2 : 0;
}

/* .param [.align N] .type [.ptr [.space] [.align N]] name [[N]] */
static int one_param(struct scan *s, struct krt_layout *out)
{
	struct krt_cubin_param *p = &out->param[out->n];
	uint64_t align = 0, count = 1, offset;
	uint32_t size = 0;
	bool ptr = false;
	const char *w;
	size_t n;

	*p = (struct krt_cubin_param){0};
	n = word(s, &w);
	if (!is(w, n, ".param"))
		return -EBADMSG;
	while ((n = word(s, &w)) && *w == '.') {
		if (is(w, n, ".align")) {
			uint64_t v;

			if (!number(s, &v) || !v || v & (v - 1) || v > KRT_PARAM_BYTES_MAX)
				return -EBADMSG;
			if (ptr)
				p->align = (uint8_t)__builtin_ctzll(v);
			else
				align = v;
		} else if (is(w, n, ".ptr")) {
			ptr = true;
			p->space = KRT_POINTEE_GENERIC;
		} else if (ptr && is(w, n, ".global")) {
			p->space = KRT_POINTEE_GLOBAL;
		} else if (ptr && is(w, n, ".const")) {
			p->space = KRT_POINTEE_CONST;
		} else if (ptr && is(w, n, ".shared")) {
			p->space = KRT_POINTEE_SHARED;
		} else if (ptr && is(w, n, ".local")) {
			p->space = KRT_POINTEE_LOCAL;
		} else if (!size && type_size(w, n)) {
			size = type_size(w, n);
		} else {
			return -ENOTSUP;
		}
	}
	if (!n || !size)
		return -EBADMSG;
	if (punct(s, '[') && (!number(s, &count) || !count || !punct(s, ']')))
		return -EBADMSG;
	align = align > size ? align : size;
	offset = (out->bytes + align - 1) & ~(align - 1);
	if (count > KRT_PARAM_BYTES_MAX || offset + count * size > KRT_PARAM_BYTES_MAX)
		return -EBADMSG;
	p->offset = (uint32_t)offset;
	p->size = (uint32_t)(count * size);
	out->bytes = p->offset + p->size;
	out->n++;
	return 0;
}

int krt_ptx_layout(const char *text, size_t len, size_t at, struct krt_layout *out)
{
	struct scan s = {text + (at < len ? at : len), text + len};
	int r;

	out->n = out->bytes = 0;
	if (!punct(&s, '('))
		return 0;
	if (punct(&s, ')'))
		return 0;
	do {
		if (out->n == KRT_PARAMS_MAX)
			return -EBADMSG;
		r = one_param(&s, out);
		if (r)
			return r;
	} while (punct(&s, ','));
	return punct(&s, ')') ? 0 : -EBADMSG;
}
