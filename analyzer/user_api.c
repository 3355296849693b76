/* SPDX-License-Identifier: Apache-2.0 */
/* The user's API from stacks: see user_api.h.  Pure functions. */
#include "user_api.h"
#include "../reports/report.h"
#include "../rules/fix.h"

#include <string.h>

static const char *module_name(const struct krt_frame *f)
{
	return f->module ? krt_base_name(f->module) : "";
}

static bool begins(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

static bool of_torch(const struct krt_frame *f)
{
	const char *module = module_name(f);

	if (f->python)
		return f->file && strstr(f->file, "/torch/");
	return begins(module, "libtorch") || begins(module, "libc10");
}

/* In a library of its own, or linked statically: then its functions keep their names. */
static bool of_runtime(const struct krt_frame *f)
{
	char function[KRT_SHORT_NAME];

	if (f->python)
		return false;
	if (begins(module_name(f), "libcudart"))
		return true;
	krt_frame_function(f, function);
	return begins(function, "libcudart_static_") || begins(function, "cudart::") ||
	       begins(function, "__cuda") ||
	       (begins(function, "cuda") && function[4] >= 'A' && function[4] <= 'Z');
}

static bool any(const struct krt_stack *s, bool (*is)(const struct krt_frame *f))
{
	for (unsigned i = 0; i < s->depth; i++)
		if (is(&s->frame[i]))
			return true;
	return false;
}

static bool is_python(const struct krt_frame *f)
{
	return f->python;
}

/* Nothing in it says who called the driver: stacks are off or leaves, or without names. */
static bool says_nothing(const struct krt_stack *s)
{
	return s->depth < 2 || !s->frame[0].function;
}

enum krt_user_api krt_user_api_of(const struct krt_finding *f, const struct krt_user_process *p)
{
	const struct krt_stack *cur = &f->current.stack, *prev = &f->previous.stack;

	if (any(cur, of_torch) || any(prev, of_torch) ||
	    (p->torch && (any(cur, is_python) || any(prev, is_python))))
		return KRT_USER_TORCH;
	if (any(cur, of_runtime) || any(prev, of_runtime))
		return KRT_USER_RUNTIME;
	if (says_nothing(cur) && says_nothing(prev))
		return p->torch ? KRT_USER_TORCH : p->runtime ? KRT_USER_RUNTIME : KRT_USER_DRIVER;
	return KRT_USER_DRIVER;
}

static const char *place(const struct krt_frame *f, struct krt_arena *a)
{
	if (!f || !f->file || !f->line)
		return NULL;
	return krt_arena_printf(a, "%.100s:%u", krt_base_name(f->file), f->line);
}

void krt_user_fix(struct krt_finding *f, const struct krt_user_process *p, struct krt_arena *a)
{
	bool cur_first = f->edge.record_after == f->current.sequence || !f->previous.api;
	bool prev_then = f->edge.wait_before == f->previous.sequence;
	const struct krt_frame *cur, *prev;
	struct krt_fix_places at;

	krt_finding_sites(f, &cur, &prev);
	at.record = place(cur_first ? cur : prev, a);
	at.wait = place(prev_then ? prev : cur, a);
	at.freed = place(krt_stack_site(&f->buffer.freed_at), a);
	at.python = prev_then ? prev && prev->python : cur && cur->python;
	/* a call that is neither operation */
	for (unsigned i = 0; i < KRT_MENTIONS; i++)
		if (!f->mention[i].thing && f->mention[i].sequence &&
		    f->mention[i].sequence == f->edge.record_after)
			at.record = place(krt_stack_site(&f->mention[i].stack), a);
	f->edge.api = krt_user_api_of(f, p);
	krt_fix_words(f, &at, a);
}
