#include "probe/undo.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "probe/fingerprint.h"
#include "probe/sensor.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"

int undo_one(const struct vantage *v, const struct delta *d, struct err *e)
{
	if (!d->sensor->undo)
		return err_set(e, ENOTSUP, "what changed in %s cannot be put back", d->domain);
	return d->sensor->undo(v, d, e);
}

/* What came goes first, from the inside out; then what was there comes back, from the outside in. */
static int in_order(const void *a, const void *b)
{
	const struct delta *x = *(struct delta *const *)a;
	const struct delta *y = *(struct delta *const *)b;
	if (!x->before != !y->before)
		return x->before ? 1 : -1;
	return x->before ? strcmp(x->id, y->id) : strcmp(y->id, x->id);
}

static void try_one(const struct vantage *v, struct delta *d)
{
	struct err why = ERR_NULL;
	d->undone = undo_one(v, d, &why) ? DELTA_NOT_UNDONE : DELTA_UNDONE;
	if (d->undone == DELTA_NOT_UNDONE)
		d->undone_why = strdup(why.text);
}

/* Does the look say so, too? */
static void confirm(const struct fingerprint *f, struct delta *d)
{
	if (d->undone != DELTA_UNDONE || text_eq(fingerprint_value(f, d->domain, d->id), d->before))
		return;
	d->undone = DELTA_NOT_UNDONE;
	d->undone_why = strdup("a process changed it again");
}

static int by_name(const void *a, const void *b)
{
	const struct delta *x = *(struct delta *const *)a;
	const struct delta *y = *(struct delta *const *)b;
	int order = strcmp(x->domain, y->domain);
	return order ? order : strcmp(x->id, y->id);
}

/* The deltas of the look that are not our own doing. */
static int keep_others(struct delta **tried, size_t n, struct delta_list *seen,
		       struct delta_list *aside)
{
	size_t kept = 0;
	qsort(tried, n, sizeof(struct delta *), by_name);
	for (size_t i = 0; i < seen->len; i++) {
		const struct delta *d = &seen->at[i];
		if (bsearch(&d, tried, n, sizeof(struct delta *), by_name))
			delta_done(&seen->at[i]);
		else
			seen->at[kept++] = seen->at[i];
	}
	seen->len = kept;
	return delta_list_append(aside, seen);
}

int undo_all(struct fingerprint *f, const struct vantage *v, bool (*may)(const struct delta *d),
	     struct delta_list *list, struct delta_list *aside, struct err *e)
{
	cleanup_free struct delta **tried = calloc(list->len + 1, sizeof(struct delta *));
	cleanup(delta_list_done) struct delta_list seen = DELTA_LIST_NULL;
	size_t n = 0;
	if (!tried)
		return err_set(e, ENOMEM, "put back what a test left");
	for (size_t i = 0; i < list->len; i++)
		if (list->at[i].sensor->undo && may(&list->at[i]))
			tried[n++] = &list->at[i];
	if (!n)
		return 0;
	qsort(tried, n, sizeof(struct delta *), in_order);
	for (size_t i = 0; i < n; i++)
		try_one(v, tried[i]);
	int r = fingerprint_look(f, DELTA_STOOD, &seen, NULL, e);
	for (size_t i = 0; !r && i < n; i++)
		confirm(f, tried[i]);
	if (!r && keep_others(tried, n, &seen, aside))
		r = err_set(e, ENOMEM, "keep what changed");
	return r;
}
