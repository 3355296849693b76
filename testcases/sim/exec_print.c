/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that the device runtime provides: printf, malloc, free, assert, and
 * the value of a graph's conditional handle.
 */
#include "exec_impl.h"
#include <stdio.h>

#define TEXT_MAX 4096u

static bool arg(struct thread *t, const struct call *c, uint32_t i, uint64_t *v)
{
	const struct call_arg *a;

	*v = 0;
	if (i >= c->nargs)
		return false;
	a = &c->args[i];
	if (a->reg)
		*v = val(t, a->slot);
	else
		memcpy(v, t->base + a->offset, a->size < 8 ? a->size : 8);
	return true;
}

static void result(struct thread *t, const struct call *c, uint64_t v)
{
	const struct call_arg *a;

	if (!c->nrets)
		return;
	a = &c->rets[0];
	if (a->reg)
		t->regs[a->slot] = v;
	else
		memcpy(t->base + a->offset, &v, a->size < 8 ? a->size : 8);
}

/* Copies a string out of simulated memory; false after a fault. */
static bool get_string(struct thread *t, const struct dop *d, uint64_t addr, char *buf, size_t size)
{
	size_t n = 0;

	for (;; n++) {
		const char *p = exec_access(t, d, PTX_SPACE_NONE, addr + n, 1, EXEC_READ);

		if (!p)
			return false;
		if (n == size - 1 || !*p)
			break;
		buf[n] = *p;
	}
	buf[n] = '\0';
	return true;
}

struct out {
	char text[TEXT_MAX];
	size_t n;
};

static void put(struct out *o, const char *s, size_t len)
{
	if (len > TEXT_MAX - o->n)
		len = TEXT_MAX - o->n;
	memcpy(o->text + o->n, s, len);
	o->n += len;
}

/* The argument buffer: each value at its natural alignment, 4 or 8 bytes. */
static bool next_arg(struct thread *t, const struct dop *d, uint64_t args, uint64_t *at,
		     unsigned size, uint64_t *v)
{
	const void *p;

	*at = (*at + size - 1) & ~(uint64_t)(size - 1);
	p = exec_access(t, d, PTX_SPACE_NONE, args + *at, size, EXEC_READ);
	if (!p)
		return false;
	*v = 0;
	memcpy(v, p, size);
	*at += size;
	return true;
}

/* One conversion: *pf stands behind the '%'. */
static bool conversion(struct thread *t, const struct dop *d, struct out *o, const char **pf,
		       uint64_t args, uint64_t *at, int *count)
{
	char spec[48] = "%", buf[512];
	const char *f = *pf;
	size_t n = 1;
	unsigned longs = 0;
	uint64_t v;
	int len = 0;

	while (*f && strchr("-+ #0123456789.*", *f)) {
		if (*f == '*') {
			if (!next_arg(t, d, args, at, 4, &v))
				return false;
			int k = snprintf(spec + n, sizeof(spec) - n - 8, "%d", (int)(int32_t)v);

			if (k > 0 && n + (size_t)k < sizeof(spec) - 8)
				n += (size_t)k;
			(*count)++;
		} else if (n < sizeof(spec) - 8) {
			spec[n++] = *f;
		}
		f++;
	}
	while (*f == 'l' || *f == 'h' || *f == 'z' || *f == 'j' || *f == 't') {
		if (*f != 'h')
			longs++;
		f++;
	}
	switch (*f) {
	case 'd': case 'i': case 'u': case 'o': case 'x': case 'X': case 'c':
		if (!next_arg(t, d, args, at, longs ? 8 : 4, &v))
			return false;
		if (*f == 'c') {
			spec[n++] = 'c';
			spec[n] = '\0';
			len = snprintf(buf, sizeof(buf), spec, (int)(unsigned char)v);
			break;
		}
		spec[n++] = 'l';
		spec[n++] = 'l';
		spec[n++] = *f;
		spec[n] = '\0';
		if (*f == 'd' || *f == 'i')
			len = snprintf(buf, sizeof(buf), spec,
				       longs ? (long long)v : (long long)(int32_t)v);
		else
			len = snprintf(buf, sizeof(buf), spec, (unsigned long long)v);
		break;
	case 'f': case 'F': case 'e': case 'E': case 'g': case 'G': case 'a': case 'A':
		if (!next_arg(t, d, args, at, 8, &v))
			return false;
		spec[n++] = *f;
		spec[n] = '\0';
		len = snprintf(buf, sizeof(buf), spec, bits_double(v));
		break;
	case 'p':
		if (!next_arg(t, d, args, at, 8, &v))
			return false;
		spec[n++] = 'p';
		spec[n] = '\0';
		len = snprintf(buf, sizeof(buf), spec, (void *)(uintptr_t)v);
		break;
	case 's': {
		char str[400];

		if (!next_arg(t, d, args, at, 8, &v) || !get_string(t, d, v, str, sizeof(str)))
			return false;
		spec[n++] = 's';
		spec[n] = '\0';
		len = snprintf(buf, sizeof(buf), spec, str);
		break;
	}
	case '%':
		put(o, "%", 1);
		*pf = f + 1;
		return true;
	default:
		/* Not a conversion: as it stands. */
		put(o, *pf - 1, (size_t)(f - *pf) + 1);
		*pf = f;
		return true;
	}
	(*count)++;
	if (len > 0)
		put(o, buf, (size_t)len < sizeof(buf) ? (size_t)len : sizeof(buf) - 1);
	*pf = f + 1;
	return true;
}

static enum step print(struct thread *t, const struct dop *d, const struct call *c)
{
	struct exec_launch *l = t->block->launch;
	char fmt[TEXT_MAX];
	struct out o = { .n = 0 };
	uint64_t fmt_addr, args, at = 0;
	const char *f = fmt;
	int count = 0;

	if (!arg(t, c, 0, &fmt_addr) || !arg(t, c, 1, &args))
		return exec_raise(t, d, EXEC_FAULT_PC, 0, 0, 0);
	if (!get_string(t, d, fmt_addr, fmt, sizeof(fmt)))
		return STEP_FAULT;
	while (*f) {
		const char *p = strchr(f, '%');

		if (!p)
			p = f + strlen(f);
		put(&o, f, (size_t)(p - f));
		f = p;
		if (*f == '%') {
			f++;
			if (!conversion(t, d, &o, &f, args, &at, &count))
				return STEP_FAULT;
		}
	}
	if (l->hooks.print)
		l->hooks.print(l->hooks.user, o.text, o.n);
	else
		fwrite(o.text, 1, o.n, stdout);
	result(t, c, (uint64_t)(uint32_t)count);
	return STEP_NEXT;
}

static enum step assert_fail(struct thread *t, const struct dop *d, const struct call *c)
{
	struct exec_launch *l = t->block->launch;
	char expr[256] = "?", file[256] = "?", func[256] = "?", text[1100];
	uint64_t v[4] = { 0 };
	int n;

	for (unsigned i = 0; i < 4; i++)
		(void)arg(t, c, i, &v[i]);
	if (!get_string(t, d, v[0], expr, sizeof(expr)) ||
	    !get_string(t, d, v[1], file, sizeof(file)) ||
	    !get_string(t, d, v[3], func, sizeof(func)))
		return STEP_FAULT;
	n = snprintf(text, sizeof(text),
		     "%s:%u: %s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%s` failed.\n",
		     file, (unsigned)v[2], func, t->block->ctaid[0], t->block->ctaid[1],
		     t->block->ctaid[2], t->tid[0], t->tid[1], t->tid[2], expr);
	if (n > 0) {
		if (l->hooks.print)
			l->hooks.print(l->hooks.user, text, (size_t)n);
		else
			fwrite(text, 1, (size_t)n, stdout);
	}
	return exec_raise(t, d, EXEC_FAULT_ASSERT, 0, 0, 0);
}

enum step exec_builtin(struct thread *t, const struct dop *d, const struct call *c)
{
	struct exec_launch *l = t->block->launch;
	uint64_t v;

	switch ((enum builtin)c->builtin) {
	case BUILTIN_VPRINTF:
		return print(t, d, c);
	case BUILTIN_ASSERTFAIL:
		return assert_fail(t, d, c);
	case BUILTIN_MALLOC:
		if (!arg(t, c, 0, &v))
			v = 0;
		result(t, c, l->hooks.heap_alloc ?
		       (uint64_t)(uintptr_t)l->hooks.heap_alloc(l->hooks.user, (size_t)v) : 0);
		return STEP_NEXT;
	case BUILTIN_FREE:
		if (arg(t, c, 0, &v) && v && l->hooks.heap_free)
			l->hooks.heap_free(l->hooks.user, (void *)(uintptr_t)v);
		return STEP_NEXT;
	case BUILTIN_SET_CONDITIONAL: {
		uint64_t value;

		if (arg(t, c, 0, &v) && arg(t, c, 1, &value) && l->hooks.set_conditional)
			l->hooks.set_conditional(l->hooks.user, v, (uint32_t)value);
		return STEP_NEXT;
	}
	case BUILTIN_NONE:
		break;
	}
	return exec_raise(t, d, EXEC_FAULT_PC, 0, 0, 0);
}
