/* SPDX-License-Identifier: Apache-2.0 */
/* A treap.  See tree.h. */
#include "tree.h"

/* A node's priority: a hash of its key. */
static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ull;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

static struct krt_node **link_of(struct krt_tree *t, struct krt_node *n)
{
	if (!n->up)
		return &t->root;
	return n->up->left == n ? &n->up->left : &n->up->right;
}

/* n takes the place of its parent. */
static void rotate_up(struct krt_tree *t, struct krt_node *n)
{
	struct krt_node *p = n->up;

	*link_of(t, p) = n;
	n->up = p->up;
	p->up = n;
	if (p->left == n) {
		p->left = n->right;
		if (p->left)
			p->left->up = p;
		n->right = p;
	} else {
		p->right = n->left;
		if (p->right)
			p->right->up = p;
		n->left = p;
	}
}

bool krt_tree_insert(struct krt_tree *t, struct krt_node *node)
{
	struct krt_node **at = &t->root, *up = NULL;

	while (*at) {
		up = *at;
		if (node->key == up->key)
			return false;
		at = node->key < up->key ? &up->left : &up->right;
	}
	node->left = node->right = NULL;
	node->up = up;
	*at = node;
	t->count++;
	while (node->up && mix(node->key) > mix(node->up->key))
		rotate_up(t, node);
	return true;
}

void krt_tree_remove(struct krt_tree *t, struct krt_node *node)
{
	while (node->left || node->right) {
		struct krt_node *l = node->left, *r = node->right;

		rotate_up(t, !r || (l && mix(l->key) > mix(r->key)) ? l : r);
	}
	*link_of(t, node) = NULL;
	node->up = NULL;
	t->count--;
}

struct krt_node *krt_tree_first(const struct krt_tree *t)
{
	struct krt_node *n = t->root;

	while (n && n->left)
		n = n->left;
	return n;
}

struct krt_node *krt_tree_next(const struct krt_node *n)
{
	if (n->right) {
		n = n->right;
		while (n->left)
			n = n->left;
		return (struct krt_node *)n;
	}
	while (n->up && n->up->right == n)
		n = n->up;
	return n->up;
}

struct krt_node *krt_tree_prev(const struct krt_node *n)
{
	if (n->left) {
		n = n->left;
		while (n->right)
			n = n->right;
		return (struct krt_node *)n;
	}
	while (n->up && n->up->left == n)
		n = n->up;
	return n->up;
}

struct krt_node *krt_tree_floor(const struct krt_tree *t, uint64_t key)
{
	struct krt_node *n = t->root, *best = NULL;

	while (n) {
		if (n->key <= key) {
			best = n;
			n = n->right;
		} else {
			n = n->left;
		}
	}
	return best;
}

struct krt_node *krt_tree_ceil(const struct krt_tree *t, uint64_t key)
{
	struct krt_node *n = t->root, *best = NULL;

	while (n) {
		if (n->key >= key) {
			best = n;
			n = n->left;
		} else {
			n = n->right;
		}
	}
	return best;
}
