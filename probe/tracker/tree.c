#include "probe/tracker/tree.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "sandbox/base/buf.h"
#include "sandbox/base/cleanup.h"

#define BUCKETS_MIN 64

/* Seeded by an address that a test cannot know, so that it cannot choose names that collide. */
static struct tree_node **name_bucket(const struct tree *t, const struct tree_node *parent,
				      const char *name, size_t len)
{
	uint64_t hash = XXH3_64bits_withSeed(name, len, (uintptr_t)parent);
	return &t->by_name[hash & (t->buckets - 1)];
}

static struct tree_node **ino_bucket(const struct tree *t, uint64_t ino)
{
	return &t->by_ino[ino & (t->buckets - 1)];
}

static void enter_name(struct tree *t, struct tree_node *node)
{
	struct tree_node **bucket = name_bucket(t, node->parent, node->name, strlen(node->name));
	node->next_by_name = *bucket;
	*bucket = node;
}

static void leave_name(struct tree *t, struct tree_node *node)
{
	struct tree_node **at = name_bucket(t, node->parent, node->name, strlen(node->name));
	while (*at != node)
		at = &(*at)->next_by_name;
	*at = node->next_by_name;
}

static void enter_ino(struct tree *t, struct tree_node *node)
{
	struct tree_node **bucket = ino_bucket(t, node->ino);
	node->next_by_ino = *bucket;
	*bucket = node;
}

static void leave_ino(struct tree *t, struct tree_node *node)
{
	struct tree_node **at = ino_bucket(t, node->ino);
	while (*at != node)
		at = &(*at)->next_by_ino;
	*at = node->next_by_ino;
}

static void enter_parent(struct tree_node *node, struct tree_node *parent)
{
	node->parent = parent;
	node->next = parent->child;
	node->link = &parent->child;
	if (node->next)
		node->next->link = &node->next;
	parent->child = node;
}

static void leave_parent(struct tree_node *node)
{
	*node->link = node->next;
	if (node->next)
		node->next->link = node->link;
}

static int grow(struct tree *t)
{
	if (t->len < t->buckets)
		return 0;
	size_t buckets = t->buckets ? t->buckets * 2 : BUCKETS_MIN;
	cleanup_free struct tree_node **by_name = calloc(buckets, sizeof(struct tree_node *));
	cleanup_free struct tree_node **by_ino = calloc(buckets, sizeof(struct tree_node *));
	if (!by_name || !by_ino)
		return -ENOMEM;
	free(t->by_name);
	free(t->by_ino);
	t->by_name = take_ptr(&by_name);
	t->by_ino = take_ptr(&by_ino);
	t->buckets = buckets;
	for (struct tree_node *node = t->root; node; node = tree_walk(t->root, node)) {
		if (node->parent)
			enter_name(t, node);
		if (node->ino)
			enter_ino(t, node);
	}
	return 0;
}

int tree_init(struct tree *t, size_t node_size)
{
	*t = (struct tree){ .node_size = node_size, .len = 1 };
	t->root = calloc(1, node_size);
	if (t->root && grow(t) == 0)
		return 0;
	free(t->root);
	*t = TREE_NULL;
	return -ENOMEM;
}

void tree_done(struct tree *t)
{
	struct tree_node *node = t->root;
	while (node) { /* from the leaves up, for a tree can be deeper than a stack */
		if (node->child) {
			node = node->child;
			continue;
		}
		struct tree_node *parent = node->parent;
		if (parent)
			leave_parent(node);
		free(node->name);
		free(node);
		node = parent;
	}
	free(t->by_name);
	free(t->by_ino);
	*t = TREE_NULL;
}

struct tree_node *tree_find(const struct tree *t, const struct tree_node *parent, const char *name,
			    size_t len)
{
	struct tree_node *node = *name_bucket(t, parent, name, len);
	while (node && (node->parent != parent || strncmp(node->name, name, len) != 0 ||
			node->name[len] != '\0'))
		node = node->next_by_name;
	return node;
}

struct tree_node *tree_insert(struct tree *t, struct tree_node *parent, const char *name, size_t len)
{
	if (grow(t))
		return NULL;
	struct tree_node *node = calloc(1, t->node_size);
	if (!node)
		return NULL;
	node->name = strndup(name, len);
	if (!node->name) {
		free(node);
		return NULL;
	}
	enter_parent(node, parent);
	enter_name(t, node);
	t->len++;
	return node;
}

struct tree_node *tree_add(struct tree *t, struct tree_node *parent, const char *name, size_t len)
{
	struct tree_node *node = tree_find(t, parent, name, len);
	return node ? node : tree_insert(t, parent, name, len);
}

/* The next name of a path; its length, 0 at the end. Moves *path behind it. */
static size_t next_name(const char **path, const char **ret)
{
	const char *at = *path + strspn(*path, "/");
	size_t len = strcspn(at, "/");
	*ret = at;
	*path = at + len;
	return len;
}

struct tree_node *tree_find_path(const struct tree *t, const char *path)
{
	struct tree_node *node = t->root;
	const char *name;
	for (size_t len; node && (len = next_name(&path, &name)) > 0;)
		node = tree_find(t, node, name, len);
	return node;
}

struct tree_node *tree_add_path(struct tree *t, const char *path)
{
	struct tree_node *node = t->root;
	const char *name;
	for (size_t len; node && (len = next_name(&path, &name)) > 0;)
		node = tree_add(t, node, name, len);
	return node;
}

void tree_set_ino(struct tree *t, struct tree_node *node, uint64_t ino)
{
	if (node->ino == ino)
		return;
	if (node->ino)
		leave_ino(t, node);
	node->ino = ino;
	if (ino)
		enter_ino(t, node);
}

static struct tree_node *with_ino(struct tree_node *node, uint64_t ino)
{
	while (node && node->ino != ino)
		node = node->next_by_ino;
	return node;
}

struct tree_node *tree_by_ino(const struct tree *t, uint64_t ino)
{
	return ino ? with_ino(*ino_bucket(t, ino), ino) : NULL;
}

struct tree_node *tree_same_ino(const struct tree_node *node)
{
	return with_ino(node->next_by_ino, node->ino);
}

int tree_move(struct tree *t, struct tree_node *node, struct tree_node *parent, const char *name)
{
	assert(parent);
	for (const struct tree_node *up = parent; up; up = up->parent)
		if (up == node)
			return -ELOOP;
	char *copy = strdup(name);
	if (!copy)
		return -ENOMEM;
	leave_name(t, node);
	leave_parent(node);
	free(node->name);
	node->name = copy;
	enter_parent(node, parent);
	enter_name(t, node);
	return 0;
}

void tree_remove(struct tree *t, struct tree_node *node)
{
	leave_name(t, node);
	leave_parent(node);
	if (node->ino)
		leave_ino(t, node);
	t->len--;
	free(node->name);
	free(node);
}

struct tree_node *tree_walk(const struct tree_node *top, struct tree_node *node)
{
	if (node->child)
		return node->child;
	while (node != top && !node->next) {
		node = node->parent;
		assert(node); /* top is above */
	}
	return node == top ? NULL : node->next;
}

int tree_path(const struct tree_node *top, const struct tree_node *node, struct buf *b)
{
	size_t len = 0;
	for (const struct tree_node *up = node; up != top; up = up->parent)
		len += strlen(up->name) + (up->parent != top);
	int r = buf_reserve(b, len);
	if (r)
		return r;
	char *at = b->at + b->len + len;
	*at = '\0';
	for (const struct tree_node *up = node; up != top; up = up->parent) {
		size_t name_len = strlen(up->name);
		at -= name_len;
		memcpy(at, up->name, name_len);
		if (up->parent != top)
			*--at = '/';
	}
	b->len += len;
	return 0;
}
