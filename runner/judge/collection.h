#pragma once
/*
 * collection: whether the suite held the same tests each time it was collected.
 * Pure.
 */
#include "sandbox/base/text.h"

struct history;

/* A sentence for each order that had other tests than the first one, or had them in another order where
 * the suite itself gave it. *ret_differing: orders that had other tests. 0 or -ENOMEM. */
int collection_notes(const struct history *h, struct strv *ret, size_t *ret_differing);
