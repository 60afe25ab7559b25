#pragma once
/*
 * tree: parts of findings.json that reports share. Each is false when there is no
 * memory.
 */
#include <stdbool.h>

#include "sandbox/base/json.h"

#define FINDINGS_VERSION 1

struct summary;
struct summary_changes;

/* Adds a copy; NULL adds null. */
bool tree_copy(cJSON *object, const char *key, const cJSON *tree);
bool tree_texts(cJSON *object, const char *key, const char *const *texts);
/* How many tests had which outcome. */
bool tree_counts(cJSON *tree, const struct summary *s);
/* A finding for each. */
bool tree_changes(cJSON *array, const struct summary_changes *list);
/* The rules by which findings were taken out, and how many. */
bool tree_accepted(cJSON *tree, const struct summary *s);
bool tree_survivors(cJSON *tree, const struct summary *s);
