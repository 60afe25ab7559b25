#include "probe/sensors/roll.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "sandbox/base/cleanup.h"

#define LISTING_LEN   8192
#define ENTRY_LEN_MAX ((ssize_t)sizeof(struct dirent64))

static int compare_ints(const void *a, const void *b)
{
	int x = *(const int *)a;
	int y = *(const int *)b;
	return (x > y) - (x < y);
}

static int add_name(struct roll *roll, int number)
{
	if (roll->names_len == roll->names_cap) {
		size_t cap = roll->names_cap ? roll->names_cap * 2 : 64;
		int *names = reallocarray(roll->names, cap, sizeof(*names));
		if (!names)
			return -ENOMEM;
		roll->names = names;
		roll->names_cap = cap;
	}
	roll->names[roll->names_len++] = number;
	return 0;
}

/* A name of digits as a number, -1 for any other. */
static int name_number(const char *name)
{
	int number = 0;
	for (; *name >= '0' && *name <= '9'; name++)
		if (__builtin_mul_overflow(number, 10, &number) ||
		    __builtin_add_overflow(number, *name - '0', &number))
			return -1;
	return *name ? -1 : number;
}

static int add_names(struct roll *roll, const char *listing, ssize_t len)
{
	for (ssize_t at = 0; at < len;) {
		const struct dirent64 *entry = (const void *)(listing + at);
		at += entry->d_reclen;
		int number = name_number(entry->d_name);
		if (number >= 0) {
			int r = add_name(roll, number);
			if (r)
				return r;
		} else if (roll->numbers_last) {
			roll->first = entry->d_off; /* where the next entry stands */
		}
	}
	return 0;
}

bool roll_is_same(const struct roll *roll)
{
	if (roll->len != roll->names_len)
		return false;
	for (size_t i = 0; i < roll->len; i++)
		if (roll->at[i].number != roll->names[i])
			return false;
	return true;
}

int roll_list(struct roll *roll, int dir_fd)
{
	char listing[LISTING_LEN] __attribute__((aligned(8)));
	roll->names_len = 0;
	if (lseek(dir_fd, roll->first, SEEK_SET) < 0)
		return -errno;
	for (;;) {
		ssize_t len = getdents64(dir_fd, listing, sizeof(listing));
		if (len < 0)
			return -errno;
		if (len == 0)
			break;
		int r = add_names(roll, listing, len);
		if (r)
			return r;
		/* With room left there is no more, unless a signal cut the listing short: what
		 * reads as before needs no second call to make sure. */
		if (len + ENTRY_LEN_MAX <= LISTING_LEN && roll_is_same(roll))
			return 0;
	}
	for (size_t i = 1; i < roll->names_len; i++)
		if (roll->names[i - 1] > roll->names[i]) {
			qsort(roll->names, roll->names_len, sizeof(int), compare_ints);
			break;
		}
	return 0;
}

static bool is_listed(const struct roll *roll, int number)
{
	return roll->names_len &&
	       bsearch(&number, roll->names, roll->names_len, sizeof(int), compare_ints) != NULL;
}

static bool is_known(const struct roll *roll, size_t known, int number)
{
	size_t low = 0;
	while (low < known) {
		size_t middle = low + (known - low) / 2;
		if (roll->at[middle].number == number)
			return true;
		if (roll->at[middle].number < number)
			low = middle + 1;
		else
			known = middle;
	}
	return false;
}

static int drop_gone(struct roll *roll, const struct roll_ops *ops, void *with)
{
	int r = 0;
	size_t kept = 0;
	for (size_t i = 0; i < roll->len; i++) {
		struct roll_item *item = &roll->at[i];
		if (r || is_listed(roll, item->number))
			roll->at[kept++] = *item;
		else if (item->thing)
			r = ops->went(with, item->number, item->thing);
	}
	roll->len = kept;
	return r;
}

static int add_item(struct roll *roll, int number, const struct roll_ops *ops, void *with)
{
	if (roll->len == roll->cap) {
		size_t cap = roll->cap ? roll->cap * 2 : 32;
		struct roll_item *at = reallocarray(roll->at, cap, sizeof(*at));
		if (!at)
			return -ENOMEM;
		roll->at = at;
		roll->cap = cap;
	}
	struct roll_item item = { .number = number,
				  .often = roll->called || number < ops->often_below };
	int r = ops->came(with, number, &item.thing);
	if (!r)
		roll->at[roll->len++] = item;
	return r;
}

static int compare_items(const void *a, const void *b)
{
	const struct roll_item *x = a;
	const struct roll_item *y = b;
	return compare_ints(&x->number, &y->number);
}

static int add_new(struct roll *roll, const struct roll_ops *ops, void *with)
{
	int r = 0;
	size_t known = roll->len;
	for (size_t i = 0; !r && i < roll->names_len; i++)
		if (!is_known(roll, known, roll->names[i]))
			r = add_item(roll, roll->names[i], ops, with);
	if (roll->len > known)
		qsort(roll->at, roll->len, sizeof(*roll->at), compare_items);
	return r;
}

/* Ask about at most `budget` of one sort, going on where the last call stopped. */
static int ask_again(struct roll *roll, bool often, size_t budget, const struct roll_ops *ops,
		     void *with)
{
	size_t *turn = &roll->turns[often];
	for (size_t i = 0; budget && i < roll->len; i++) {
		size_t at = (*turn)++ % roll->len;
		struct roll_item *item = &roll->at[at];
		if (item->often != often)
			continue;
		budget--;
		int r = item->thing ? ops->again(with, item->number, &item->thing)
				    : ops->came(with, item->number, &item->thing);
		if (r)
			return r;
	}
	return 0;
}

int roll_call(struct roll *roll, bool full, const struct roll_ops *ops, void *with)
{
	int r = 0;
	bool fresh = !roll->called;
	if (!roll_is_same(roll)) {
		r = drop_gone(roll, ops, with);
		if (!r)
			r = add_new(roll, ops, with);
	}
	if (r)
		return r;
	roll->called = true;
	if (fresh)
		return 0;
	r = ask_again(roll, false, full ? roll->len : ops->early, ops, with);
	return r ? r : ask_again(roll, true, full ? roll->len : ops->often, ops, with);
}

void roll_done(struct roll *roll, const struct roll_ops *ops)
{
	for (size_t i = 0; i < roll->len; i++)
		if (roll->at[i].thing)
			ops->free_thing(roll->at[i].thing);
	free(roll->at);
	free(roll->names);
	*roll = ROLL_NULL;
}
