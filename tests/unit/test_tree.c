#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "probe/tracker/tree.h"
#include "sandbox/base/buf.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/text.h"
#include "tests/lib/fault_walk.h"
#include "tests/lib/tap.h"

static bool is_at(const struct tree *t, const struct tree_node *node, const char *path)
{
	cleanup(buf_done) struct buf b = BUF_NULL;
	return tree_path(t->root, node, &b) == 0 && text_eq(b.at, path);
}

static void test_names(void)
{
	cleanup(tree_done) struct tree t = TREE_NULL;
	tree_init(&t, sizeof(struct tree_node));
	struct tree_node *abc = tree_add_path(&t, "a/b/c");
	struct tree_node *ab = tree_find_path(&t, "a/b");
	tap_ok(t.len == 4 && ab && abc->parent == ab && tree_add_path(&t, "a/b/c") == abc,
	       "a path is added once");
	tap_ok(is_at(&t, abc, "a/b/c") && is_at(&t, t.root, "") && tree_find_path(&t, "") == t.root,
	       "a node knows its path");
	tap_ok(!tree_find_path(&t, "a/c") && !tree_find(&t, ab, "cc", 2) &&
		       tree_find(&t, ab, "cc", 1) == abc,
	       "names are compared as long as they are said to be");

	tap_ok(tree_move(&t, ab, t.root, "z") == 0 && is_at(&t, abc, "z/c") &&
		       !tree_find_path(&t, "a/b") && tree_find_path(&t, "z/c") == abc,
	       "what lies below moves along");
	tap_ok(tree_move(&t, ab, abc, "x") == -ELOOP && tree_move(&t, ab, ab, "x") == -ELOOP &&
		       is_at(&t, ab, "z"),
	       "nothing moves below itself");

	struct tree_node *twin = tree_insert(&t, t.root, "z", 1);
	tap_ok(twin && twin != ab && t.len == 5, "a name can stand there twice");
	tree_remove(&t, twin);
	tap_ok(tree_find_path(&t, "z") == ab && t.len == 4, "and goes alone");
}

static void test_inodes(void)
{
	cleanup(tree_done) struct tree t = TREE_NULL;
	tree_init(&t, sizeof(struct tree_node));
	struct tree_node *a = tree_add_path(&t, "a");
	struct tree_node *b = tree_add_path(&t, "b");
	tap_ok(!tree_by_ino(&t, 0) && !tree_by_ino(&t, 7), "no inode is known");
	tree_set_ino(&t, a, 7);
	tree_set_ino(&t, b, 7);
	tree_set_ino(&t, t.root, 7 + 64); /* in the same bucket */
	struct tree_node *first = tree_by_ino(&t, 7);
	struct tree_node *second = first ? tree_same_ino(first) : NULL;
	tap_ok(first && second && first != second && !tree_same_ino(second),
	       "two names of one inode");
	tree_set_ino(&t, a, 8);
	tap_ok(tree_by_ino(&t, 7) == b && tree_by_ino(&t, 8) == a && !tree_same_ino(b),
	       "a name becomes another inode's");
	tree_remove(&t, b);
	tap_ok(!tree_by_ino(&t, 7), "an inode without a name is not known");
}

static void test_many(void)
{
	cleanup(tree_done) struct tree t = TREE_NULL;
	tree_init(&t, sizeof(struct tree_node));
	char path[64];
	for (int i = 0; i < 10000; i++) {
		snprintf(path, sizeof(path), "%d/%d", i % 100, i);
		tree_set_ino(&t, tree_add_path(&t, path), (uint64_t)i + 1);
	}
	size_t found = 0;
	for (int i = 0; i < 10000; i++) {
		snprintf(path, sizeof(path), "%d/%d", i % 100, i);
		struct tree_node *node = tree_find_path(&t, path);
		found += node && tree_by_ino(&t, (uint64_t)i + 1) == node;
	}
	tap_ok(found == 10000 && t.len == 10101, "ten thousand names are found again");

	size_t walked = 0;
	size_t below = 0;
	for (struct tree_node *node = t.root; node; node = tree_walk(t.root, node))
		walked++;
	struct tree_node *top = tree_find_path(&t, "7");
	for (struct tree_node *node = tree_walk(top, top); node; node = tree_walk(top, node))
		below++;
	tap_ok(walked == 10101 && below == 100, "a walk meets each once, and stays below its top");
}

static void test_deep(void)
{
	cleanup(tree_done) struct tree t = TREE_NULL;
	tree_init(&t, sizeof(struct tree_node));
	struct tree_node *node = t.root;
	for (int i = 0; node && i < 1000000; i++)
		node = tree_insert(&t, node, "d", 1);
	tap_ok(node != NULL, "a tree can be deeper than a stack"); /* it is freed, too */
}

static void test_faults(void)
{
	int n = 1;
	for (; fault_walk_on(n); n++) {
		cleanup(tree_done) struct tree t = TREE_NULL;
		cleanup(buf_done) struct buf path = BUF_NULL;
		int r = tree_init(&t, sizeof(struct tree_node));
		struct tree_node *node = r ? NULL : tree_add_path(&t, "a/b");
		if (!r)
			r = node ? tree_move(&t, node, t.root, "c") : -ENOMEM;
		if (!r)
			r = tree_path(t.root, node, &path);
		bool hit = fault_walk_hit();
		tap_ok(hit ? r == -ENOMEM : r == 0, "call %d fails", n);
		if (r && node) {
			buf_clear(&path);
			bool whole = tree_path(t.root, node, &path) == 0 &&
				     text_eq(path.at, tree_find_path(&t, "c") ? "c" : "a/b");
			tap_ok(whole, "and the tree is whole");
		}
	}
	tap_ok(n > 5, "each of %d calls failed once", n - 2);
}

int main(void)
{
	test_names();
	test_inodes();
	test_many();
	test_deep();
	test_faults();
	return tap_done();
}
