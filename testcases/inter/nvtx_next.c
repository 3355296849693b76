/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An injection library that somebody else has named: it prints what it is told to
 * the file NVTX_NEXT_LOG, and hands out handles of its own.  NVTX_NEXT_FAILS: its
 * entry points answer 0.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

typedef void any_fn(void);

static __attribute__((format(printf, 1, 2))) void say(const char *format, ...)
{
	const char *path = getenv("NVTX_NEXT_LOG");
	FILE *f = path ? fopen(path, "a") : NULL;
	va_list ap;

	if (!f)
		return;
	va_start(ap, format);
	vfprintf(f, format, ap);
	va_end(ap);
	fputc('\n', f);
	fclose(f);
}

static void name_stream(void *s, const char *name)
{
	(void)s;
	say("stream %s", name);
}

struct range {
	size_t size;
	void *ptr;
};
struct batch {
	uint16_t compat, size;
	uint32_t type;
	void *heap;
	size_t count, element;
	const struct range *ranges;
	void **handles;
};
struct refs {
	uint16_t compat, size;
	uint32_t type;
	size_t count, element;
	void *const *refs;
};

static void *heap_register(void *domain, const void *desc)
{
	(void)domain;
	(void)desc;
	say("heap");
	return (void *)0x4ea1;
}

static void heap_unregister(void *domain, void *heap)
{
	(void)domain;
	say("heap %p ends", heap);
}

static void regions_register(void *domain, const struct batch *b)
{
	static uintptr_t handle = 0x5000;

	(void)domain;
	say("region in %p", b->heap);
	for (size_t i = 0; b->handles && i < b->count; i++)
		b->handles[i] = (void *)handle++;
}

static void regions_unregister(void *domain, const struct refs *r)
{
	(void)domain;
	if (r->type == 2)
		say("region %p ends", r->refs[0]);
	else
		say("region ends");
}

EXPORT int InitializeInjectionNvtx2(const void *(*get)(uint32_t));
EXPORT int InitializeInjectionNvtx2(const void *(*get)(uint32_t))
{
	const struct {
		size_t size;
		int (*functions)(int, any_fn ****, unsigned *);
	} *c = get(1);
	any_fn ***table;
	unsigned n;

	say("comes");
	if (getenv("NVTX_NEXT_FAILS"))
		return 0;
	if (c->functions(2, &table, &n) && n > 5)
		*table[5] = (any_fn *)name_stream;
	return 1;
}

EXPORT int InitializeInjectionNvtxExtension(void *info);
EXPORT int InitializeInjectionNvtxExtension(void *info)
{
	struct {
		uint16_t version, size, module, compat;
		size_t segments;
		struct {
			size_t id, count;
			intptr_t *slot;
		} *segment;
	} *m = info;

	say("extension %u", m->module);
	if (getenv("NVTX_NEXT_FAILS"))
		return 0;
	m->segment->slot[0] = (intptr_t)heap_register;
	m->segment->slot[1] = (intptr_t)heap_unregister;
	m->segment->slot[3] = (intptr_t)regions_register;
	m->segment->slot[5] = (intptr_t)regions_unregister;
	return 1;
}
