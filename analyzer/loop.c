/* SPDX-License-Identifier: Apache-2.0 */
/* Paths and back edges: see loop.h. */
#include "loop.h"

/* Everything behind the head leaves the path: the loop goes round. */
static void back_edge(struct krt_path *p, struct krt_site *head)
{
	head->rounds++;
	while (p->n > head->place) {
		struct krt_site *s = p->at[--p->n];

		s->place = 0;
		s->head = head;
		s->head_round = head->rounds;
		s->head_passes = head->passes;
		s->head_args = head->args;
	}
	if (p->done.launches != head->seen.launches && p->done.hosts != head->seen.hosts)
		p->done.steps++;
}

void krt_path_pass(struct krt_heap *heap, struct krt_path *p, struct krt_site *s)
{
	if (s->place) {
		s->returned = false;
		back_edge(p, s);
	} else if (krt_heap_grow(heap, &p->at, &p->cap, p->n, sizeof(*p->at))) {
		p->at[p->n++] = s;
		s->place = p->n;
		s->returned = s->head != NULL;
	}
	s->seen = p->done;
}

void krt_path_reset(struct krt_path *p)
{
	while (p->n) {
		struct krt_site *s = p->at[--p->n];

		s->place = 0;
		s->head = NULL;
	}
}

void krt_path_free(struct krt_heap *heap, struct krt_path *p)
{
	krt_heap_free(heap, p->at, p->cap * sizeof(*p->at));
	p->at = NULL;
	p->n = p->cap = 0;
}
