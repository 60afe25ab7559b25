#pragma once
/*
 * map: text to pointer, in order, on libc's balanced tree (tsearch).
 *
 * Owns its keys, and its values when told how to free them.
 */
#include <stdbool.h>
#include <stddef.h>

struct map {
	void *root;
	size_t len;
	void (*free_value)(void *value); /* NULL: values are borrowed */
};
#define MAP_NULL(free_fn) ((struct map){ .free_value = (free_fn) })

void *map_get(const struct map *m, const char *key); /* NULL: not there */
/* Puts or replaces; keeps value, also when it fails (it is freed then). 0 or -ENOMEM. */
int map_put(struct map *m, const char *key, void *value);
bool map_remove(struct map *m, const char *key);
/* In the order of the keys. The map must not change meanwhile. */
void map_walk(const struct map *m, void (*each)(const char *key, void *value, void *with),
	      void *with);
void map_done(struct map *m);
