/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An ordered map by 64-bit key, intrusive: a treap whose priorities are a hash
 * of the key, so that its shape depends on its content alone.  Insertion,
 * removal and look-up take O(log n) on average.  Owns no memory; not locked.
 */
#ifndef KRT_TREE_H
#define KRT_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct krt_node {
	struct krt_node *left, *right, *up;
	uint64_t key;
};

struct krt_tree {
	struct krt_node *root;
	size_t count;
};

#define krt_entry(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

/* node->key is set; false: the key is there already. */
bool krt_tree_insert(struct krt_tree *t, struct krt_node *node);
void krt_tree_remove(struct krt_tree *t, struct krt_node *node);
struct krt_node *krt_tree_first(const struct krt_tree *t);
struct krt_node *krt_tree_next(const struct krt_node *node);
struct krt_node *krt_tree_prev(const struct krt_node *node);
/* Greatest key <= key, or NULL. */
struct krt_node *krt_tree_floor(const struct krt_tree *t, uint64_t key);
/* Smallest key >= key, or NULL. */
struct krt_node *krt_tree_ceil(const struct krt_tree *t, uint64_t key);

#endif
