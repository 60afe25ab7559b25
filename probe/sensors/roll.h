#pragma once
/*
 * roll: the numbered entries of a folder in /proc (descriptors, processes,
 * threads), followed from look to look.
 *
 * The names are read each time, which is cheap. What stands behind a name is
 * asked for when the name is new; for names known before, only some in turn,
 * so that a number that now means something else is noticed late rather than
 * never. What came after the first call is asked about more often: that is
 * where tests reuse numbers.
 *
 * Owns the things that `came` made, until `went` takes them.
 */
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct roll_item {
	int number;
	bool often;  /* asked about often */
	void *thing; /* NULL: nothing that counts */
};

struct roll {
	struct roll_item *at; /* by number */
	size_t len;
	size_t cap;
	int *names; /* of the last listing, by number */
	size_t names_len;
	size_t names_cap;
	bool numbers_last; /* in this folder all other names come first, and need no listing */
	off_t first;       /* where the numbers begin */
	size_t turns[2];   /* whose turn it is: of the early ones, of those asked often */
	bool called;
};
#define ROLL_NULL ((struct roll){ 0 })

/* Each gets `with`, and returns 0 or a negative errno that ends the call. */
struct roll_ops {
	/* A number is new. *ret is NULL beforehand, and stays so when nothing counts there. */
	int (*came)(void *with, int number, void **ret);
	/* It is gone; frees thing. */
	int (*went)(void *with, int number, void *thing);
	/* Is it still the same? If not: tell, free the thing, and let *thing be another or NULL. */
	int (*again)(void *with, int number, void **thing);
	void (*free_thing)(void *thing);
	int often_below; /* numbers below it are asked about often from the first */
	/* How many are asked about in one call: of the early ones, of those asked often. */
	size_t early;
	size_t often;
};

/* Read the names. 0, or the negative errno of reading the folder. */
int roll_list(struct roll *roll, int dir_fd);
/* Does the list hold what the last call did? */
bool roll_is_same(const struct roll *roll);
/* Tell what the names say. `full`: ask about every number. 0, or the negative errno of an op. */
int roll_call(struct roll *roll, bool full, const struct roll_ops *ops, void *with);
void roll_done(struct roll *roll, const struct roll_ops *ops);
