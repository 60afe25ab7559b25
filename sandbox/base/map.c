#include "sandbox/base/map.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

struct node {
	void *value;
	char *key; /* behind the node; points at the caller's text during a look-up */
};

static int compare(const void *a, const void *b)
{
	const struct node *x = a;
	const struct node *y = b;
	return strcmp(x->key, y->key);
}

static struct node *find(const struct map *m, const char *key)
{
	struct node probe = { .key = (char *)key };
	void *found = tfind(&probe, &m->root, compare);
	return found ? *(struct node **)found : NULL;
}

void *map_get(const struct map *m, const char *key)
{
	struct node *node = find(m, key);
	return node ? node->value : NULL;
}

static void drop_value(const struct map *m, void *value)
{
	if (m->free_value && value)
		m->free_value(value);
}

int map_put(struct map *m, const char *key, void *value)
{
	struct node *node = find(m, key);
	if (node) {
		if (node->value != value)
			drop_value(m, node->value);
		node->value = value;
		return 0;
	}
	size_t len = strlen(key) + 1;
	node = malloc(sizeof(*node) + len);
	if (node) {
		node->value = value;
		node->key = memcpy(node + 1, key, len);
	}
	if (!node || !tsearch(node, &m->root, compare)) {
		free(node);
		drop_value(m, value);
		return -ENOMEM;
	}
	m->len++;
	return 0;
}

bool map_remove(struct map *m, const char *key)
{
	struct node *node = find(m, key);
	if (!node)
		return false;
	tdelete(node, &m->root, compare);
	m->len--;
	drop_value(m, node->value);
	free(node);
	return true;
}

struct walk {
	void (*each)(const char *key, void *value, void *with);
	void *with;
};

static void visit(const void *at, VISIT order, void *with)
{
	const struct node *node = *(struct node *const *)at;
	const struct walk *walk = with;
	if (order == postorder || order == leaf)
		walk->each(node->key, node->value, walk->with);
}

void map_walk(const struct map *m, void (*each)(const char *key, void *value, void *with), void *with)
{
	struct walk walk = { each, with };
	twalk_r(m->root, visit, &walk);
}

void map_done(struct map *m)
{
	while (m->root) {
		struct node *node = *(struct node **)m->root;
		tdelete(node, &m->root, compare);
		drop_value(m, node->value);
		free(node);
	}
	m->len = 0;
}
