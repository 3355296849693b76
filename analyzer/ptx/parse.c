/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PTX parser: functions and modules.  Recursive descent over the tokens of
 * lex.c, one pass, no backtracking except for statements whose opcode the table
 * does not know.
 */
#include "parse.h"
#include <stdlib.h>
#include <string.h>

/* ---- functions ---- */

/* One list of parameters or results, its parenthesis open. */
static struct ptx_var **params(struct parser *p, struct ptx_func *f, uint32_t *count,
			       uint64_t *bytes)
{
	size_t from = p->params.n;
	uint64_t offset = 0;

	p->params.elem = sizeof(struct ptx_var *);
	if (!pp_is_punct(p, ')')) {
		do {
			struct ptx_var *v = pp_alloc(p, sizeof(*v));
			struct dims d;

			if (p->params.n - from >= MAX_PARAMS)
				pp_fail(p, "too many parameters");
			v->module = p->m;
			v->func = f;
			if (pp_accept_dot(p, "reg"))
				v->space = PTX_SPACE_REG;
			else if (pp_accept_dot(p, "param"))
				v->space = PTX_SPACE_PARAM;
			else
				pp_fail(p, "expected .param or .reg but found");
			v->line = p->tok.line;
			pp_var_head(p, v);
			v->name = pp_ident(p, "expected a parameter name but found")->text;
			pp_var_dims(p, v, &d);
			v->index = (uint32_t)(p->params.n - from);
			offset = (offset + v->align - 1) & ~(uint64_t)(v->align - 1);
			v->offset = offset;
			if (v->size > (1u << 20) || offset + v->size > (1u << 20))
				pp_fail(p, "parameters too large, at");
			offset += v->size;
			*(struct ptx_var **)pp_vec_push(p, &p->params, sizeof(v)) = v;
		} while (pp_accept(p, ','));
	}
	pp_expect(p, ')');
	*bytes = offset;
	return pp_vec_take(p, &p->params, from, count);
}

static void three(struct parser *p, uint32_t v[3])
{
	v[0] = v[1] = v[2] = 1;
	for (unsigned i = 0; i < 3; i++) {
		v[i] = (uint32_t)pp_uint_expr(p, UINT32_MAX, "number out of range");
		if (!pp_accept(p, ','))
			break;
	}
}

/* Performance and ABI directives between a signature and its body; unknown ones are skipped. */
static void directives(struct parser *p, struct ptx_func *f)
{
	while (p->tok.kind == PTX_TOK_DOT) {
		if (pp_accept_dot(p, "maxntid")) {
			three(p, f->maxntid);
		} else if (pp_accept_dot(p, "reqntid")) {
			three(p, f->reqntid);
		} else if (pp_accept_dot(p, "reqnctapercluster")) {
			three(p, f->reqcluster);
		} else if (pp_accept_dot(p, "maxnreg")) {
			f->maxnreg = (uint32_t)pp_uint_expr(p, UINT32_MAX, "number out of range");
		} else if (pp_accept_dot(p, "minnctapersm")) {
			f->minnctapersm =
				(uint32_t)pp_uint_expr(p, UINT32_MAX, "number out of range");
		} else if (pp_accept_dot(p, "maxclusterrank")) {
			f->maxclusterrank =
				(uint32_t)pp_uint_expr(p, UINT32_MAX, "number out of range");
		} else if (pp_accept_dot(p, "explicitcluster")) {
			f->explicitcluster = true;
		} else if (pp_accept_dot(p, "noreturn")) {
			f->noreturn = true;
		} else {
			/* .pragma "...";  .abi_preserve 3, and what may come */
			bool pragma = pp_is_dot(p, "pragma");

			pp_next(p);
			while (p->tok.kind != PTX_TOK_EOF && p->tok.kind != PTX_TOK_DOT &&
			       !pp_is_punct(p, ';') && !pp_is_punct(p, '{'))
				pp_next(p);
			if (pragma)
				pp_expect(p, ';');
		}
	}
}

static void add_func(struct parser *p, struct ptx_func *f)
{
	struct ptx_module *m = p->m;

	if (m->nfuncs == m->cap_funcs) {
		uint32_t cap = m->cap_funcs ? m->cap_funcs * 2 : 16;
		struct ptx_func **funcs = realloc(m->funcs, cap * sizeof(*funcs));
		struct ptx_body *bodies;

		if (!funcs)
			pp_fail_memory(p);
		m->funcs = funcs;
		if (m->lazy) {
			bodies = realloc(m->bodies, cap * sizeof(*bodies));
			if (!bodies)
				pp_fail_memory(p);
			memset(bodies + m->nfuncs, 0, (cap - m->nfuncs) * sizeof(*bodies));
			m->bodies = bodies;
		}
		m->cap_funcs = cap;
	}
	f->index = m->nfuncs;
	m->funcs[m->nfuncs++] = f;
}

static void add_table(struct parser *p, struct ptx_name *name)
{
	struct ptx_table t = { .name = name->text, .line = p->tok.line };
	struct ptx_symbol *s = pp_declare(p, name, SYM_TABLE);

	s->index = (uint32_t)p->tables.n;
	if (pp_accept_dot(p, "branchtargets")) {
		size_t n = 0, cap = 0;
		uint32_t *labels = NULL;
		struct ptx_name **names = NULL;

		t.kind = PTX_TABLE_BRANCH;
		do {
			struct ptx_name *label = pp_ident(p, "expected a label but found");

			if (n == cap) {
				struct ptx_name **grown =
					pp_alloc(p, (cap ? cap * 2 : 8) * sizeof(*grown));

				if (n)
					memcpy(grown, names, n * sizeof(*grown));
				names = grown;
				cap = cap ? cap * 2 : 8;
			}
			names[n++] = label;
			/* L<4>: L0 L1 L2 L3, of old compilers */
			if (pp_is_punct(p, '<'))
				pp_fail(p, "label ranges are not supported, at");
		} while (pp_accept(p, ','));
		labels = pp_alloc(p, n * sizeof(*labels));
		for (size_t i = 0; i < n; i++)
			pp_pend(p, names[i], SYM_LABEL, &labels[i], t.line);
		t.labels = labels;
		t.n = (uint32_t)n;
	} else if (pp_accept_dot(p, "calltargets")) {
		size_t from = p->params.n;

		t.kind = PTX_TABLE_CALL;
		p->params.elem = sizeof(void *);
		do {
			struct ptx_name *fn = pp_ident(p, "expected a function but found");

			if (!fn->sym || fn->sym->kind != SYM_FUNC)
				pp_fail_at(p, p->tok.line, "function is not declared", fn->text,
					   fn->len);
			*(const struct ptx_func **)pp_vec_push(p, &p->params, sizeof(void *)) =
				fn->sym->func;
		} while (pp_accept(p, ','));
		t.funcs = pp_vec_take(p, &p->params, from, &t.n);
	} else {
		uint64_t bytes;

		pp_next(p);
		t.kind = PTX_TABLE_PROTOTYPE;
		if (pp_accept(p, '('))
			t.rets = params(p, p->f, &t.nrets, &bytes);
		(void)pp_ident(p, "expected '_' but found");
		if (pp_accept(p, '('))
			t.params = params(p, p->f, &t.nparams, &bytes);
		/* .noreturn, .abi_preserve n */
		while (p->tok.kind == PTX_TOK_DOT) {
			pp_next(p);
			while (p->tok.kind == PTX_TOK_INT || pp_is_punct(p, ','))
				pp_next(p);
		}
	}
	pp_expect(p, ';');
	*(struct ptx_table *)pp_vec_push(p, &p->tables, sizeof(t)) = t;
}

/* .loc and .file have no semicolon: what belongs to them is told by its shape. */
static void loc(struct parser *p)
{
	while (p->tok.kind == PTX_TOK_INT)
		pp_next(p);
	while (pp_accept(p, ',')) {
		while (p->tok.kind == PTX_TOK_IDENT &&
		       (pp_is_word(p, PTX_TOK_IDENT, "function_name") ||
			pp_is_word(p, PTX_TOK_IDENT, "inlined_at"))) {
			bool name = pp_is_word(p, PTX_TOK_IDENT, "function_name");

			pp_next(p);
			if (name) {
				if (p->tok.kind == PTX_TOK_IDENT)
					pp_next(p);
				if (pp_accept(p, '+') && p->tok.kind == PTX_TOK_INT)
					pp_next(p);
			}
		}
		while (p->tok.kind == PTX_TOK_INT)
			pp_next(p);
	}
}

static void file(struct parser *p)
{
	while (p->tok.kind == PTX_TOK_INT)
		pp_next(p);
	if (p->tok.kind == PTX_TOK_STRING)
		pp_next(p);
	while (pp_accept(p, ','))
		(void)pp_expr(p, 0);
}

static void section(struct parser *p)
{
	uint32_t ends;

	/* .section .debug_info { ... } */
	while (p->tok.kind == PTX_TOK_DOT || p->tok.kind == PTX_TOK_IDENT ||
	       p->tok.kind == PTX_TOK_STRING)
		pp_next(p);
	if (!pp_is_punct(p, '{'))
		pp_fail(p, "expected '{' but found");
	if (!ptx_lex_block(&p->lx, &ends))
		pp_fail_at(p, p->tok.line, "brace without an end", NULL, 0);
	pp_next(p);
}

static void body_directive(struct parser *p)
{
	if (pp_accept_dot(p, "loc")) {
		loc(p);
	} else if (pp_accept_dot(p, "file")) {
		file(p);
	} else if (pp_accept_dot(p, "section")) {
		section(p);
	} else if (pp_accept_dot(p, "pragma")) {
		while (p->tok.kind == PTX_TOK_STRING || pp_is_punct(p, ','))
			pp_next(p);
		pp_expect(p, ';');
	} else if (pp_accept_dot(p, "reg")) {
		pp_registers(p);
	} else if (pp_accept_dot(p, "local")) {
		pp_variables(p, PTX_SPACE_LOCAL, PTX_LINK_LOCAL);
	} else if (pp_accept_dot(p, "shared")) {
		pp_variables(p, PTX_SPACE_SHARED, PTX_LINK_LOCAL);
	} else if (pp_accept_dot(p, "param")) {
		pp_variables(p, PTX_SPACE_PARAM, PTX_LINK_LOCAL);
	} else if (pp_accept_dot(p, "const")) {
		pp_variables(p, PTX_SPACE_CONST, PTX_LINK_LOCAL);
	} else if (pp_accept_dot(p, "global")) {
		pp_variables(p, PTX_SPACE_GLOBAL, PTX_LINK_LOCAL);
	} else if (pp_accept_dot(p, "tex")) {
		pp_variables(p, PTX_SPACE_TEX, PTX_LINK_LOCAL);
	} else if (pp_accept_dot(p, "extern")) {
		if (pp_accept_dot(p, "shared"))
			pp_variables(p, PTX_SPACE_SHARED, PTX_LINK_EXTERN);
		else if (pp_accept_dot(p, "global"))
			pp_variables(p, PTX_SPACE_GLOBAL, PTX_LINK_EXTERN);
		else if (pp_accept_dot(p, "const"))
			pp_variables(p, PTX_SPACE_CONST, PTX_LINK_EXTERN);
		else
			pp_fail(p, "expected a variable after .extern but found");
	} else {
		pp_fail(p, "directive that has no place in a function");
	}
}

static void body_statement(struct parser *p)
{
	if (pp_quick(p))
		return;
	if (p->tok.kind == PTX_TOK_DOT) {
		body_directive(p);
		return;
	}
	if (pp_accept(p, ';'))
		return;
	if (p->tok.kind == PTX_TOK_IDENT) {
		/* A label has a colon, and not two, right after. */
		struct ptx_lex ahead = p->lx;

		if (ptx_lex_space(&ahead) && ahead.at < ahead.end && *ahead.at == ':' &&
		    !(ahead.at + 1 < ahead.end && ahead.at[1] == ':')) {
			struct ptx_name *name = pp_ident(p, "expected a label but found");
			struct ptx_label *l;

			pp_expect(p, ':');
			if (pp_is_dot(p, "branchtargets") || pp_is_dot(p, "calltargets") ||
			    pp_is_dot(p, "callprototype")) {
				add_table(p, name);
				return;
			}
			pp_declare(p, name, SYM_LABEL)->index = (uint32_t)p->labels.n;
			l = pp_vec_push(p, &p->labels, sizeof(*l));
			l->name = name->text;
			l->inst = (uint32_t)p->insts.n;
			l->line = p->tok.line;
			return;
		}
	}
	if (pp_is_punct(p, '@')) {
		/* "@@DWARF ..." of old compilers: a line of debug information */
		if (p->lx.at < p->lx.end && *p->lx.at == '@') {
			ptx_lex_line(&p->lx);
			pp_next(p);
			return;
		}
	}
	pp_instruction(p);
}

/* The body, its first token current; takes the closing brace but not the token after. */
static void body(struct parser *p, struct ptx_func *f)
{
	uint32_t n;

	p->f = f;
	p->digit_names = false;
	pp_scope_open(p);
	for (unsigned k = 0; k < 2; k++) {
		struct ptx_var *const *list = k ? f->params : f->rets;
		uint32_t count = k ? f->nparams : f->nrets;

		for (uint32_t i = 0; i < count; i++) {
			struct ptx_name *name = pp_intern(p, list[i]->name, strlen(list[i]->name));

			if (name->len == 1 && name->text[0] == '_')
				continue;
			if (list[i]->space == PTX_SPACE_REG)
				list[i]->reg =
					pp_add_register(p, name, list[i]->type, list[i]->vec);
			else
				pp_declare(p, name, SYM_VAR)->var = list[i];
		}
	}
	for (;;) {
		if (p->tok.kind == PTX_TOK_EOF)
			pp_fail(p, "function without an end");
		if (pp_is_punct(p, '{')) {
			pp_next(p);
			pp_scope_open(p);
		} else if (pp_is_punct(p, '}')) {
			if (p->depth == 1)
				break;
			pp_scope_close(p);
			pp_next(p);
		} else {
			body_statement(p);
		}
	}
	pp_scope_close(p);
	p->regtypes.elem = 1;
	p->regdecls.elem = sizeof(struct ptx_regs);
	p->vars.elem = sizeof(struct ptx_var *);
	p->labels.elem = sizeof(struct ptx_label);
	p->tables.elem = sizeof(struct ptx_table);
	p->insts.elem = sizeof(struct ptx_inst);
	f->reg_types = pp_vec_take(p, &p->regtypes, 0, &f->nregs);
	f->regdecls = pp_vec_take(p, &p->regdecls, 0, &f->nregdecls);
	f->vars = pp_vec_take(p, &p->vars, 0, &f->nvars);
	f->labels = pp_vec_take(p, &p->labels, 0, &f->nlabels);
	f->tables = pp_vec_take(p, &p->tables, 0, &f->ntables);
	f->insts = pp_vec_take(p, &p->insts, 0, &n);
	f->ninsts = n;
	f->parsed = true;
	p->f = NULL;
}

/* What a declaration and a definition of one function both say must agree in number. */
static void merge_func(struct parser *p, struct ptx_func *old, struct ptx_func *f,
		       bool body_follows)
{
	if (old->body && body_follows)
		pp_fail_at(p, f->line, "function defined twice", f->name, strlen(f->name));
	if (old->nparams != f->nparams || old->nrets != f->nrets)
		pp_fail_at(p, f->line, "declared with other parameters before", f->name,
			   strlen(f->name));
	if (old->body)
		return;
	f->index = old->index;
	if (f->linkage == PTX_LINK_LOCAL && old->linkage != PTX_LINK_EXTERN)
		f->linkage = old->linkage;
	*old = *f;
	for (uint32_t i = 0; i < old->nparams; i++)
		old->params[i]->func = old;
	for (uint32_t i = 0; i < old->nrets; i++)
		old->rets[i]->func = old;
}

static void function(struct parser *p, bool entry, enum ptx_linkage linkage)
{
	struct ptx_func *f = pp_alloc(p, sizeof(*f));
	struct ptx_name *name;
	uint64_t bytes;
	bool has_body;

	f->module = p->m;
	f->entry = entry;
	f->linkage = (uint8_t)linkage;
	f->line = p->tok.line;
	while (pp_accept_dot(p, "attribute")) {
		struct ptx_var unused = { 0 };

		pp_attributes(p, &unused);
	}
	if (!entry && pp_accept(p, '('))
		f->rets = params(p, f, &f->nrets, &bytes);
	name = pp_ident(p, "expected a function name but found");
	f->name = name->text;
	if (pp_accept(p, '('))
		f->params = params(p, f, &f->nparams, &f->param_bytes);
	directives(p, f);
	has_body = pp_is_punct(p, '{');
	if (name->sym && name->sym->kind != SYM_FUNC)
		pp_fail_at(p, f->line, "declared as a variable before", name->text, name->len);
	if (name->sym) {
		struct ptx_func *old = name->sym->func;

		merge_func(p, old, f, has_body);
		f = old;
	} else {
		pp_declare(p, name, SYM_FUNC)->func = f;
		add_func(p, f);
	}
	if (!has_body) {
		pp_expect(p, ';');
		return;
	}
	f->body = true;
	if (p->m->lazy) {
		struct ptx_body *b = &p->m->bodies[f->index];

		*b = (struct ptx_body){.at = p->lx.at, .line = p->lx.line};
		if (!ptx_lex_block(&p->lx, &b->ends))
			pp_fail_at(p, f->line, "function without an end", f->name, strlen(f->name));
		b->len = (size_t)(p->lx.at - b->at);
	} else {
		pp_next(p);
		body(p, f);
	}
	pp_next(p);
}

/* ---- module ---- */

static void version(struct parser *p)
{
	const char *s = p->tok.text, *end = s + p->tok.len;
	unsigned major = 0, minor = 0;

	if (p->tok.kind != PTX_TOK_F64)
		pp_fail(p, "expected a version such as 8.0 but found");
	while (s < end && *s >= '0' && *s <= '9' && major < 1000)
		major = major * 10 + (unsigned)(*s++ - '0');
	if (s < end && *s == '.')
		s++;
	while (s < end && *s >= '0' && *s <= '9' && minor < 1000)
		minor = minor * 10 + (unsigned)(*s++ - '0');
	p->m->version = major * 10 + minor;
	pp_next(p);
}

static void target(struct parser *p)
{
	bool first = true;

	do {
		struct ptx_name *n = pp_ident(p, "expected a target but found");

		if (first) {
			p->m->target = n->text;
			if (!strncmp(n->text, "sm_", 3) || !strncmp(n->text, "compute_", 8)) {
				const char *s = strchr(n->text, '_') + 1;

				for (; *s >= '0' && *s <= '9' && p->m->sm < 10000; s++)
					p->m->sm = p->m->sm * 10 + (unsigned)(*s - '0');
			}
		}
		first = false;
	} while (pp_accept(p, ','));
}

static void alias(struct parser *p)
{
	struct ptx_name *a = pp_ident(p, "expected a function name but found"), *b;

	pp_expect(p, ',');
	b = pp_ident(p, "expected a function name but found");
	if (!b->sym || b->sym->kind != SYM_FUNC)
		pp_fail_at(p, p->tok.line, "alias of a function that is not declared", b->text,
			   b->len);
	if (!a->sym) {
		struct ptx_func *f = pp_alloc(p, sizeof(*f));

		*f = *b->sym->func;
		f->name = a->text;
		f->body = false;
		pp_declare(p, a, SYM_FUNC)->func = f;
		add_func(p, f);
	}
	if (a->sym->kind != SYM_FUNC || a->sym->func == b->sym->func || a->sym->func->body)
		pp_fail_at(p, p->tok.line, "alias needs a function without a body", a->text,
			   a->len);
	for (const struct ptx_func *f = b->sym->func; f; f = f->alias)
		if (f == a->sym->func)
			pp_fail_at(p, p->tok.line, "alias of itself", a->text, a->len);
	a->sym->func->alias = b->sym->func;
	pp_expect(p, ';');
}

static void module_statement(struct parser *p)
{
	enum ptx_linkage linkage = PTX_LINK_LOCAL;

	if (pp_accept(p, ';'))
		return;
	if (pp_is_punct(p, '@') && p->lx.at < p->lx.end && *p->lx.at == '@') {
		ptx_lex_line(&p->lx);
		pp_next(p);
		return;
	}
	if (p->tok.kind != PTX_TOK_DOT)
		pp_fail(p, "expected a directive but found");
	if (pp_accept_dot(p, "version")) {
		version(p);
		return;
	}
	if (pp_accept_dot(p, "target")) {
		target(p);
		return;
	}
	if (pp_accept_dot(p, "address_size")) {
		uint64_t v = pp_uint_expr(p, 64, "address size is neither 32 nor 64");

		if (v != 32 && v != 64)
			pp_fail(p, "address size is neither 32 nor 64, before");
		p->m->address_size = (unsigned)v;
		return;
	}
	if (pp_accept_dot(p, "file")) {
		file(p);
		return;
	}
	if (pp_accept_dot(p, "loc")) {
		loc(p);
		return;
	}
	if (pp_accept_dot(p, "section")) {
		section(p);
		return;
	}
	if (pp_accept_dot(p, "alias")) {
		alias(p);
		return;
	}
	if (pp_accept_dot(p, "pragma")) {
		while (p->tok.kind == PTX_TOK_STRING || pp_is_punct(p, ','))
			pp_next(p);
		pp_expect(p, ';');
		return;
	}
	for (;;) {
		if (pp_accept_dot(p, "extern"))
			linkage = PTX_LINK_EXTERN;
		else if (pp_accept_dot(p, "visible"))
			linkage = PTX_LINK_VISIBLE;
		else if (pp_accept_dot(p, "weak"))
			linkage = PTX_LINK_WEAK;
		else if (pp_accept_dot(p, "common"))
			linkage = PTX_LINK_COMMON;
		else
			break;
	}
	if (pp_accept_dot(p, "entry"))
		function(p, true, linkage);
	else if (pp_accept_dot(p, "func"))
		function(p, false, linkage);
	else if (pp_accept_dot(p, "global"))
		pp_variables(p, PTX_SPACE_GLOBAL, linkage);
	else if (pp_accept_dot(p, "const"))
		pp_variables(p, PTX_SPACE_CONST, linkage);
	else if (pp_accept_dot(p, "shared"))
		pp_variables(p, PTX_SPACE_SHARED, linkage);
	else if (pp_accept_dot(p, "local"))
		pp_variables(p, PTX_SPACE_LOCAL, linkage);
	else if (pp_accept_dot(p, "tex"))
		pp_variables(p, PTX_SPACE_TEX, linkage);
	else if (pp_accept_dot(p, "reg"))
		pp_registers(p);
	else
		pp_fail(p, "unknown directive");
}

/* Initialisers may name what comes later. */
static void resolve_relocs(struct parser *p)
{
	struct ptx_module *m = p->m;

	for (uint32_t i = 0; i < m->nvars; i++) {
		for (uint32_t k = 0; k < m->vars[i]->nrelocs; k++) {
			struct ptx_reloc *r = (struct ptx_reloc *)&m->vars[i]->relocs[k];
			const struct ptx_name *n;

			if (r->var || r->func)
				continue;
			n = pp_find_name(m, r->name, strlen(r->name));
			if (n && n->sym && n->sym->kind == SYM_VAR)
				r->var = n->sym->var;
			else if (n && n->sym && n->sym->kind == SYM_FUNC)
				r->func = n->sym->func;
			else
				pp_fail_at(p, m->vars[i]->line,
					   "initial value names what is not declared", r->name,
					   strlen(r->name));
		}
	}
}

static void parser_free(struct parser *p)
{
	struct vec *all[] = {&p->insts,	 &p->regtypes, &p->regdecls, &p->vars,
			     &p->labels, &p->tables,   &p->pendings, &p->ops,
			     &p->bytes,	 &p->relocs,   &p->params};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (!all[i]->lent)
			free(all[i]->data);
}

static void module_text(struct parser *p)
{
	pp_next(p);
	if (!pp_is_dot(p, "version"))
		pp_fail(p, "PTX starts with .version, not with");
	while (p->tok.kind != PTX_TOK_EOF)
		module_statement(p);
	resolve_relocs(p);
}

/* Runs fn; false if it left by an error. */
static bool guarded(struct parser *p, void (*fn)(struct parser *))
{
	jmp_buf jmp;

	p->jmp = &jmp;
	if (setjmp(jmp))
		return false;
	fn(p);
	return true;
}

static struct ptx_module *parse(const char *text, size_t len, bool lazy, struct ptx_error *err)
{
	struct ptx_error own;
	struct ptx_module *m;
	struct parser *p;

	if (!err)
		err = &own;
	*err = (struct ptx_error){ 0 };
	m = calloc(1, sizeof(*m));
	p = calloc(1, sizeof(*p));
	if (!m || !p) {
		memcpy(err->what, "out of memory", 14);
		goto out;
	}
	/* The IR is a few times the text; far more than that is an attack. */
	ptx_arena_init(&m->arena,
		       len > SIZE_MAX / 128 ? SIZE_MAX / 2 : len * 64 + ((size_t)16 << 20));
	m->lazy = lazy;
	m->text = text;
	m->end = text + len;
	m->address_size = 32;
	m->target = "";
	p->m = m;
	p->err = err;
	p->lx = (struct ptx_lex){ .at = text, .end = text + len, .line = 1 };
	if (guarded(p, module_text)) {
		if (!lazy)
			m->text = m->end = NULL;
		parser_free(p);
		free(p);
		return m;
	}
	parser_free(p);
out:
	ptx_free(m);
	free(p);
	return NULL;
}

struct ptx_module *ptx_parse(const char *text, size_t len, struct ptx_error *err)
{
	return parse(text, len, false, err);
}

struct ptx_module *ptx_parse_lazy(const char *text, size_t len, struct ptx_error *err)
{
	return parse(text, len, true, err);
}

static void one_body(struct parser *p)
{
	const struct ptx_body *b = &p->m->bodies[p->f->index];

	/* Unless it is a text of semicolons. */
	if (b->ends && b->ends * sizeof(struct ptx_inst) / 4 <= b->len)
		pp_vec_lend(p, &p->insts, sizeof(struct ptx_inst), b->ends);
	pp_next(p);
	body(p, p->f);
}

int ptx_func_parse(struct ptx_module *m, struct ptx_func *f, struct ptx_error *err)
{
	struct ptx_error own;
	struct parser *p;
	int ret = 0;

	if (f->parsed || !f->body)
		return 0;
	if (!err)
		err = &own;
	*err = (struct ptx_error){ 0 };
	p = calloc(1, sizeof(*p));
	if (!p) {
		memcpy(err->what, "out of memory", 14);
		return -1;
	}
	p->m = m;
	p->err = err;
	p->f = f;
	p->lx = (struct ptx_lex){
		.at = m->bodies[f->index].at, .end = m->end, .line = m->bodies[f->index].line};
	if (!guarded(p, one_body)) {
		/* Names mean what they meant before. */
		while (p->depth)
			pp_scope_forget(p);
		ret = -1;
	}
	parser_free(p);
	free(p);
	return ret;
}

void ptx_free(struct ptx_module *m)
{
	if (!m)
		return;
	ptx_arena_free(&m->arena);
	free(m->names);
	free(m->funcs);
	free(m->bodies);
	free(m->vars);
	free(m);
}
