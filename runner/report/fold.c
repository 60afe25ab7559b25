#include "runner/report/fold.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runner/judge/summary.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/map.h"
#include "sandbox/base/text.h"

void fold_done(struct fold *f)
{
	free(f->below);
	free(f->folded);
	*f = FOLD_NULL;
}

static bool is_created(const struct summary_change *c)
{
	return text_eq(c->domain, "files") && text_eq(c->what, "created") && c->key[0] == '/';
}

/* A created path with whose it is. NULL: no memory. */
static char *name_of(const struct summary_change *c, size_t path_len)
{
	char *name = NULL;
	int len = asprintf(&name, "%s\n%s\n%s\n%.*s", c->test ? c->test : "",
			   c->fixture ? c->fixture : "", c->when ? c->when : "", (int)path_len,
			   c->key);
	return len < 0 ? NULL : name;
}

/* The index of the topmost created folder that item i lies in, or i. -ENOMEM. */
static int find_top(const struct summary_changes *list, const struct map *created, size_t i,
		    size_t *ret)
{
	*ret = i;
	for (;;) {
		const struct summary_change *c = &list->at[*ret];
		cleanup_free char *name = name_of(c, (size_t)(strrchr(c->key, '/') - c->key));
		if (!name)
			return -ENOMEM;
		const struct summary_change *above = map_get(created, name);
		if (!above)
			return 0;
		*ret = (size_t)(above - list->at);
	}
}

static int fold_all(const struct summary_changes *list, const struct map *created, struct fold *f)
{
	for (size_t i = 0; i < list->len; i++) {
		size_t top = i;
		if (is_created(&list->at[i]) && find_top(list, created, i, &top))
			return -ENOMEM;
		if (top == i)
			continue;
		f->below[top]++;
		f->folded[i] = true;
		f->len--;
	}
	return 0;
}

int fold_changes(const struct summary_changes *list, struct fold *ret)
{
	cleanup(map_done) struct map created = MAP_NULL(NULL);
	cleanup(fold_done) struct fold f = { .len = list->len };
	f.below = calloc(list->len + 1, sizeof(*f.below));
	f.folded = calloc(list->len + 1, sizeof(*f.folded));
	if (!f.below || !f.folded)
		return -ENOMEM;
	for (size_t i = 0; i < list->len; i++) {
		if (!is_created(&list->at[i]))
			continue;
		cleanup_free char *name = name_of(&list->at[i], strlen(list->at[i].key));
		if (!name || map_put(&created, name, &list->at[i]))
			return -ENOMEM;
	}
	int r = fold_all(list, &created, &f);
	if (!r)
		*ret = take(&f, FOLD_NULL);
	return r;
}
