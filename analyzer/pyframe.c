/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Python frames (pyframe.h).  Line tables come from the program: whatever they
 * hold, nothing outside of them is read.
 */
#include "pyframe.h"

#include <string.h>

/* ---- lines ---- */

/* Up to 3.9: pairs of steps, of the offset and, signed, of the line. */
static unsigned by_lnotab(const uint8_t *t, size_t len, unsigned line, uint32_t offset)
{
	uint64_t at = 0;

	for (size_t i = 0; i + 1 < len; i += 2) {
		at += t[i];
		if (at > offset)
			break;
		line += (unsigned)(int8_t)t[i + 1];
	}
	return line;
}

/* 3.10: pairs of a length and the step of the line before it, -128: none. */
static unsigned by_table(const uint8_t *t, size_t len, unsigned line, uint32_t offset)
{
	uint64_t end = 0;

	for (size_t i = 0; i + 1 < len; i += 2) {
		end += t[i];
		if ((int8_t)t[i + 1] != -128)
			line += (unsigned)(int8_t)t[i + 1];
		if (end > offset)
			break;
	}
	return line;
}

/* Seven bits a byte, the lowest first; here six, bit 6 says that there are more. */
static int64_t signed_varint(const uint8_t *t, size_t len, size_t *i)
{
	uint64_t v = 0;
	unsigned shift = 0;
	uint8_t b;

	do {
		if (*i == len)
			return 0;
		b = t[(*i)++];
		if (shift < 60)
			v |= (uint64_t)(b & 63) << shift;
		shift += 6;
	} while (b & 64);
	return v & 1 ? -(int64_t)(v >> 1) : (int64_t)(v >> 1);
}

enum location { ONE_LINE = 10, ONE_LINE_LAST = 12, NO_COLUMNS = 13, LONG = 14, NOWHERE = 15 };

/* From 3.11 on: entries begin with a byte above 127: what follows, and units of two bytes less one.
 */
static unsigned by_locations(const uint8_t *t, size_t len, unsigned line, uint32_t offset)
{
	uint64_t end = 0;

	for (size_t i = 0; i < len;) {
		uint8_t head = t[i++];
		unsigned kind = head >> 3 & 15;

		if (kind == LONG || kind == NO_COLUMNS)
			line += (unsigned)signed_varint(t, len, &i);
		else if (kind >= ONE_LINE && kind <= ONE_LINE_LAST)
			line += kind - ONE_LINE;
		while (i < len && !(t[i] & 128))
			i++;
		end += 2 * ((head & 7u) + 1);
		if (end > offset)
			break;
	}
	return line;
}

unsigned krt_pyframe_line(unsigned kind, const uint8_t *table, size_t len, unsigned first,
			  uint32_t offset)
{
	unsigned line;

	switch (kind) {
	case KRT_LINES_LNOTAB:
		line = by_lnotab(table, len, first, offset);
		break;
	case KRT_LINES_TABLE:
		line = by_table(table, len, first, offset);
		break;
	case KRT_LINES_LOCATIONS:
		line = by_locations(table, len, first, offset);
		break;
	default:
		return first;
	}
	return line > INT32_MAX ? 0 : line;
}

/* ---- frames ---- */

bool krt_pyframe_fill(const struct krt_objects *o, const struct krt_rec_pyframe *r,
		      struct krt_frame *f, struct krt_arena *a)
{
	const struct krt_code_info *c = krt_code_get(o, r->code);

	*f = (struct krt_frame){.python = true};
	if (!c)
		return true;
	f->line = krt_pyframe_line(c->lines_kind, c->lines, c->lines_len, c->first_line, r->offset);
	f->function = c->name[0] ? krt_arena_strdup(a, c->name) : NULL;
	f->file = c->file[0] ? krt_arena_strdup(a, c->file) : NULL;
	return (f->function || !c->name[0]) && (f->file || !c->file[0]);
}
