/* SPDX-License-Identifier: Apache-2.0 */
/* Questions about a parsed module. */
#include "lex.h"
#include "module.h"
#include "parse.h"
#include "table.h"
#include <string.h>

bool ptx_is_text(const void *data, size_t len)
{
	struct ptx_lex lx = { .at = data, .end = (const char *)data + len, .line = 1 };

	return ptx_lex_space(&lx) && lx.end - lx.at > 8 && !memcmp(lx.at, ".version", 8);
}

unsigned ptx_version(const struct ptx_module *m)
{
	return m->version;
}

const char *ptx_target(const struct ptx_module *m)
{
	return m->target;
}

unsigned ptx_target_sm(const struct ptx_module *m)
{
	return m->sm;
}

unsigned ptx_address_size(const struct ptx_module *m)
{
	return m->address_size;
}

size_t ptx_memory(const struct ptx_module *m)
{
	return m->arena.total + ((size_t)m->names_mask + 1) * sizeof(*m->names) +
	       m->cap_funcs * sizeof(*m->funcs) + m->cap_vars * sizeof(*m->vars) + sizeof(*m);
}

uint32_t ptx_module_funcs(const struct ptx_module *m)
{
	return m->nfuncs;
}

struct ptx_func *ptx_module_func(const struct ptx_module *m, uint32_t i)
{
	return i < m->nfuncs ? m->funcs[i] : NULL;
}

struct ptx_func *ptx_find_func(const struct ptx_module *m, const char *name)
{
	const struct ptx_name *n = pp_find_name(m, name, strlen(name));

	return n && n->sym && n->sym->kind == SYM_FUNC ? n->sym->func : NULL;
}

uint32_t ptx_module_vars(const struct ptx_module *m)
{
	return m->nvars;
}

struct ptx_var *ptx_module_var(const struct ptx_module *m, uint32_t i)
{
	return i < m->nvars ? m->vars[i] : NULL;
}

struct ptx_var *ptx_find_var(const struct ptx_module *m, const char *name)
{
	const struct ptx_name *n = pp_find_name(m, name, strlen(name));

	return n && n->sym && n->sym->kind == SYM_VAR ? n->sym->var : NULL;
}

const char *ptx_mod_text(const struct ptx_module *m, unsigned id)
{
	if (id < PTX_M_COUNT)
		return ptx_mods[id].text;
	if (id - PTX_M_COUNT < m->nother_mods)
		return m->other_mods[id - PTX_M_COUNT];
	return "?";
}

size_t ptx_reg_name(const struct ptx_func *f, uint32_t reg, char *buf, size_t len)
{
	const char lanes[] = "xyzw";
	char tail[24];
	size_t n = 0, nt = 0;

	for (uint32_t i = 0; i < f->nregdecls; i++) {
		const struct ptx_regs *d = &f->regdecls[i];

		if (reg < d->first || reg - d->first >= d->count * d->vec)
			continue;
		if (d->vec > 1) {
			tail[nt++] = lanes[(reg - d->first) % d->vec & 3];
			tail[nt++] = '.';
		}
		if (d->range) {
			uint32_t k = (reg - d->first) / d->vec;

			do
				tail[nt++] = (char)('0' + k % 10);
			while (k /= 10);
		}
		for (const char *s = d->name; *s; s++, n++)
			if (n + 1 < len)
				buf[n] = *s;
		for (; nt; nt--, n++)
			if (n + 1 < len)
				buf[n] = tail[nt - 1];
		break;
	}
	if (len)
		buf[n < len ? n : len - 1] = '\0';
	return n;
}
