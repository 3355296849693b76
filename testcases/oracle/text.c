/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs as text, to keep those that once told engine and judge apart (found/):
 * a line an operation, its name, then the fields that are not 0, then its ranges as
 * BUFFER:FROM+CELLS, with a w where it writes.
 */
#include "program.h"

#include <stdlib.h>
#include <string.h>

#define SPACE " \t\n"

static const char *const operation_name[] = {
#define X(name) #name,
	OPERATIONS(X)
#undef X
};

void op_write(const struct op *o, FILE *out)
{
	fputs(operation_name[o->what], out);
#define X(field)                                                                                   \
	if (o->field)                                                                              \
		fprintf(out, " " #field "=%u", (unsigned)o->field);
	OP_FIELDS(X)
#undef X
	for (unsigned k = 0; k < o->nranges; k++)
		fprintf(out, " %s:%u+%u%s", buffer_slot[o->range[k].buffer].name, o->range[k].from,
			o->range[k].n, o->range[k].write ? "w" : "");
}

void program_write(const struct program *p, FILE *out)
{
	for (unsigned i = 0; i < p->n; i++) {
		if (p->left_out[i])
			continue;
		op_write(&p->op[i], out);
		fputs("\n", out);
	}
}

static bool read_field(struct op *o, const char *word)
{
	size_t n = strcspn(word, "=");
	unsigned long value = word[n] ? strtoul(word + n + 1, NULL, 0) : 0;

#define X(field)                                                                                   \
	if (n == sizeof(#field) - 1 && !strncmp(word, #field, n)) {                                \
		o->field = (__typeof__(o->field))value;                                            \
		return true;                                                                       \
	}
	OP_FIELDS(X)
#undef X
	return false;
}

static bool read_range(struct op *o, const char *word)
{
	size_t n = strcspn(word, ":");
	unsigned from, cells;
	char w = 0;

	for (unsigned b = 0; b < BUFFERS && o->nranges < RANGES; b++) {
		if (strlen(buffer_slot[b].name) != n || strncmp(word, buffer_slot[b].name, n))
			continue;
		if (sscanf(word + n, ":%u+%u%c", &from, &cells, &w) < 2 || !cells ||
		    from + cells > 2 * CELLS) /* beyond the end too */
			return false;
		o->range[o->nranges++] = (struct range){
			.buffer = (uint8_t)b,
			.from = (uint8_t)from,
			.n = (uint8_t)cells,
			.write = w == 'w',
		};
		return true;
	}
	return false;
}

static bool read_op(struct op *o, char *line, const char **bad)
{
	char *at, *word = strtok_r(line, SPACE, &at);
	unsigned what = 0;

	memset(o, 0, sizeof(*o));
	while (what < NR_OPERATIONS && strcmp(word, operation_name[what]))
		what++;
	o->what = (enum operation)what;
	*bad = word;
	if (what == NR_OPERATIONS)
		return false;
	while ((word = strtok_r(NULL, SPACE, &at))) {
		*bad = word;
		if (!(strchr(word, '=') ? read_field(o, word) : read_range(o, word)))
			return false;
	}
	return true;
}

bool program_read(struct program *p, FILE *in, char *why, size_t len)
{
	char line[512];
	const char *bad;
	unsigned at = 0;

	memset(p, 0, sizeof(*p));
	p->features = F_ALL;
	while (fgets(line, sizeof(line), in)) {
		at++;
		line[strcspn(line, "#")] = 0;
		if (!line[strspn(line, SPACE)])
			continue;
		if (p->n == OPS) {
			snprintf(why, len, "line %u: more than %u operations", at, OPS);
			return false;
		}
		if (!read_op(&p->op[p->n++], line, &bad)) {
			snprintf(why, len, "line %u: %s", at, bad);
			return false;
		}
	}
	program_check(p);
	return true;
}
