#pragma once
/*
 * fold: what lies in a folder that is new, too, is told with the folder. Pure.
 */
#include <stdbool.h>
#include <stddef.h>

struct summary_changes;

struct fold {
	size_t *below; /* by index of the list: how many go with it */
	bool *folded;  /* by index: it goes with another */
	size_t len;    /* what is left */
};
#define FOLD_NULL ((struct fold){ 0 })

/* 0 or -ENOMEM. */
int fold_changes(const struct summary_changes *list, struct fold *ret);
void fold_done(struct fold *f);
