/* SPDX-License-Identifier: Apache-2.0 */
/* Paths and back edges: see loop.h. */
#include "loop.h"

/* Everything behind the head leaves the path: the loop goes round. */
static void back_edge(struct krt_path *path, struct krt_place *head)
{
	while (path->n > head->at) {
		struct krt_place *p = path->at[--path->n];

		p->at = 0;
		p->left++;
		p->head = head;
		p->head_rounds = head->rounds;
		p->head_left = head->left;
		p->head_passes = head->passes;
		p->head_args = head->args;
	}
}

void krt_path_pass(struct krt_heap *heap, struct krt_path *path, struct krt_place *p)
{
	if (!p->copies || p->launches != path->done.launches)
		p->rounds++;
	if (p->at) {
		back_edge(path, p);
	} else if (krt_heap_grow(heap, &path->at, &path->cap, path->n, sizeof(*path->at))) {
		path->at[path->n++] = p;
		p->at = path->n;
	}
	p->launches = path->done.launches;
}

struct krt_rounds krt_place_rounds(const struct krt_place *p)
{
	if (!p || p->at || !p->head)
		return (struct krt_rounds){1, 1};
	return (struct krt_rounds){p->head->rounds - p->head_rounds + 1,
				   p->head->left - p->head_left};
}

void krt_site_pass(struct krt_site *s, struct krt_place *p)
{
	s->round = krt_place_rounds(s->last);
	s->loop = NULL;
	if (!s->round.far) {
		s->loop = s->last->head;
		s->loop_passes = s->last->head_passes;
		s->loop_args = s->last->head_args;
	}
	s->last = p;
}

void krt_path_reset(struct krt_path *path)
{
	while (path->n) {
		struct krt_place *p = path->at[--path->n];

		p->at = 0;
		p->head = NULL;
	}
}

void krt_path_log(struct krt_heap *heap, struct krt_path *path, struct krt_site *s)
{
	if (!s || s->logged == path->done.launches + 1)
		return;
	if (!path->log)
		path->log = krt_heap_alloc(heap, KRT_LOG * sizeof(*path->log));
	if (!path->log)
		return;
	s->logged = path->done.launches + 1;
	path->log[path->logged++ % KRT_LOG] = s;
}

uint64_t krt_path_steps(const struct krt_path *path, uint64_t from, const struct krt_site *s,
			uint64_t look)
{
	uint64_t most = 1;

	if (path->logged - from > KRT_LOG)
		from = path->logged - KRT_LOG;
	for (; from < path->logged; from++) {
		struct krt_site *k = path->log[from % KRT_LOG];

		if (k == s)
			continue;
		if (k->look != look) {
			k->look = look;
			k->entries = 0;
		}
		if (++k->entries > most)
			most = k->entries;
	}
	return most;
}

void krt_path_free(struct krt_heap *heap, struct krt_path *path)
{
	krt_heap_free(heap, path->at, path->cap * sizeof(*path->at));
	krt_heap_free(heap, path->log, KRT_LOG * sizeof(*path->log));
	path->at = NULL;
	path->log = NULL;
	path->n = path->cap = 0;
}
