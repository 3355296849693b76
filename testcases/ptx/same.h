/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PTX read in two ways: as it is, and with comments where the parser's short way
 * (analyzer/ptx/quick.c) takes none, so that all is read token by token.  Both
 * must give the same instructions.
 */
#ifndef KRT_TEST_PTX_SAME_H
#define KRT_TEST_PTX_SAME_H

#include "../../analyzer/ptx/ptx.h"
#include <stdlib.h>
#include <string.h>

/* The text with a comment at every end of an operand or label; NULL: it has comments that this
 * would end. */
static char *ptx_commented(const char *text, size_t len, size_t *out)
{
	char *p = malloc(len * 6 + 1), *q = p;

	if (!p || memmem(text, len, "/*", 2)) {
		free(p);
		return NULL;
	}
	for (size_t i = 0; i < len; i++) {
		if (text[i] == ',' || text[i] == ';')
			q = (char *)memcpy(q, " /**/", 5) + 5;
		*q++ = text[i];
		if (text[i] == ':' && i + 1 < len && text[i + 1] == '\n')
			q = (char *)memcpy(q, "/**/", 4) + 4;
	}
	*out = (size_t)(q - p);
	return p;
}

static bool ptx_same_operand(const struct ptx_operand *a, const struct ptx_operand *b)
{
	if (a->kind != b->kind || a->flags != b->flags || a->sel != b->sel || a->n != b->n ||
	    a->reg != b->reg || a->imm != b->imm)
		return false;
	switch ((enum ptx_operand_kind)a->kind) {
	case PTX_O_VAR:
		return !strcmp(a->var->name, b->var->name);
	case PTX_O_FUNC:
		return !strcmp(a->func->name, b->func->name);
	case PTX_O_TEXT:
		return true; /* with its comments */
	default:
		break;
	}
	for (unsigned i = 0; i < a->n; i++)
		if (!ptx_same_operand(&a->elem[i], &b->elem[i]))
			return false;
	return true;
}

static bool ptx_same_inst(const struct ptx_inst *a, const struct ptx_inst *b)
{
	if (a->op != b->op || a->pred != b->pred || a->pred_not != b->pred_not ||
	    a->line != b->line || a->nops != b->nops || a->vec != b->vec || a->odd != b->odd ||
	    a->mn->nmods != b->mn->nmods ||
	    (a->op != PTX_OP_UNKNOWN && strcmp(a->mn->text, b->mn->text)))
		return false;
	for (unsigned i = 0; i < a->nops; i++)
		if (!ptx_same_operand(&a->ops[i], &b->ops[i]))
			return false;
	return true;
}

/* 0: the same; else the line where they differ. */
static uint32_t ptx_differ(const struct ptx_module *a, const struct ptx_module *b)
{
	for (uint32_t i = 0; i < ptx_module_funcs(a); i++) {
		const struct ptx_func *f = ptx_module_func(a, i), *g = ptx_module_func(b, i);

		if (f->ninsts != g->ninsts || f->nlabels != g->nlabels || f->nregs != g->nregs)
			return f->line;
		for (uint32_t k = 0; k < f->ninsts; k++)
			if (!ptx_same_inst(&f->insts[k], &g->insts[k]))
				return f->insts[k].line;
		for (uint32_t k = 0; k < f->nlabels; k++)
			if (f->labels[k].inst != g->labels[k].inst ||
			    f->labels[k].line != g->labels[k].line ||
			    strcmp(f->labels[k].name, g->labels[k].name))
				return f->labels[k].line;
	}
	return 0;
}

#endif
