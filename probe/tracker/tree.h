#pragma once
/*
 * tree: names below one folder, found by their folder and name, and by inode
 * number.
 *
 * Owns its nodes and their names. Whoever needs more in a node makes its struct
 * begin with a tree_node and says its size.
 */
#include <stddef.h>
#include <stdint.h>

struct buf;

struct tree_node {
	struct tree_node *parent; /* NULL: the root */
	struct tree_node *child;  /* any of them */
	struct tree_node *next;   /* among the children of parent */
	struct tree_node **link;  /* what points here among them */
	struct tree_node *next_by_name;
	struct tree_node *next_by_ino;
	char *name;
	uint64_t ino; /* 0: none known */
};

struct tree {
	struct tree_node *root; /* NULL: no node at all */
	struct tree_node **by_name;
	struct tree_node **by_ino;
	size_t buckets; /* of each, a power of two */
	size_t len;
	size_t node_size;
};
#define TREE_NULL ((struct tree){ 0 })

/* Makes the root. 0 or -ENOMEM. */
int tree_init(struct tree *t, size_t node_size);
void tree_done(struct tree *t);

/* NULL: not there. `name` need not end after len. */
struct tree_node *tree_find(const struct tree *t, const struct tree_node *parent, const char *name,
			    size_t len);
/* Adds a zeroed node, though the name may be there already. NULL: no memory. */
struct tree_node *tree_insert(struct tree *t, struct tree_node *parent, const char *name, size_t len);
/* Finds, or inserts. */
struct tree_node *tree_add(struct tree *t, struct tree_node *parent, const char *name, size_t len);
/* The same for the names of a path, from the root. "" is the root. */
struct tree_node *tree_find_path(const struct tree *t, const char *path);
struct tree_node *tree_add_path(struct tree *t, const char *path);

void tree_set_ino(struct tree *t, struct tree_node *node, uint64_t ino);
/* The first node with that inode number, and the next after `node`; NULL: no more. */
struct tree_node *tree_by_ino(const struct tree *t, uint64_t ino);
struct tree_node *tree_same_ino(const struct tree_node *node);

/* 0, -ENOMEM, or -ELOOP when parent lies below node. */
int tree_move(struct tree *t, struct tree_node *node, struct tree_node *parent, const char *name);
/* The node must have no children. */
void tree_remove(struct tree *t, struct tree_node *node);

/* The node after `node` in a walk over all below top, which comes first; NULL: that was the last. */
struct tree_node *tree_walk(const struct tree_node *top, struct tree_node *node);
/* Puts the path of node into b: its names from below top, joined by '/'. 0 or -ENOMEM. */
int tree_path(const struct tree_node *top, const struct tree_node *node, struct buf *b);
