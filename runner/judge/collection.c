#include "runner/judge/collection.h"

#include <errno.h>
#include <stdlib.h>

#include "runner/judge/history.h"
#include "sandbox/base/buf.h"
#include "sandbox/base/cleanup.h"

#define NAMES_MAX  3 /* told of each difference */
#define ORDERS_MAX 2 /* that are told one by one */

struct list {
	const uint32_t *at;
	size_t len;
};

/* "no a, b (and 2 more)": what `all` has and `other` has not. `mark`: zeros, by number. */
static int add_missing(struct buf *out, const struct roster *roster, struct list all,
		       struct list other, char *mark, const char *before, size_t *ret)
{
	size_t n = 0;
	int r = 0;
	for (size_t i = 0; i < other.len; i++)
		mark[other.at[i]] = 1;
	for (size_t i = 0; i < all.len && !r; i++)
		if (!mark[all.at[i]] && n++ < NAMES_MAX)
			r = buf_printf(out, "%s%s", n == 1 ? before : ", ",
				       roster->ids.at[all.at[i]]);
	if (!r && n > NAMES_MAX)
		r = buf_printf(out, " and %zu more", n - NAMES_MAX);
	for (size_t i = 0; i < other.len; i++)
		mark[other.at[i]] = 0;
	*ret += n;
	return r;
}

/* How an order differs from what it was to hold: all that the first one had, or what it was asked for;
 * what it has beside that is told where the first one did not have it. */
static int add_note(const struct history *h, const struct played *first, const struct played *p,
		    char *mark, struct strv *ret, bool *ret_differs)
{
	bool as_collected = p->order.as_collected;
	const struct list all = { first->collected, first->collected_len };
	const struct list was = { as_collected ? all.at : p->asked,
				  as_collected ? all.len : p->asked_len };
	const struct list is = { p->collected, p->collected_len };
	const struct list more = { as_collected ? is.at : p->others,
				   as_collected ? is.len : p->others_len };
	cleanup(buf_done) struct buf out = BUF_NULL;
	size_t gone = 0;
	size_t came = 0;
	int r = buf_printf(&out, "the collection differs from run to run: %s has ", p->order.name);
	r = r ? r : add_missing(&out, &h->roster, was, is, mark, "no ", &gone);
	r = r ? r
	      : add_missing(&out, &h->roster, more, all, mark,
			    gone ? ", and in addition " : "in addition ", &came);
	*ret_differs = gone + came > 0;
	return r || !ret || !*ret_differs ? r : strv_add(ret, out.at);
}

/* The same tests, but not in the sequence of the first time. */
static int add_sequence(const struct history *h, const struct played *first, const struct played *p,
			struct strv *ret, bool *told)
{
	size_t i = 0;
	if (*told || !first->order.as_collected || !p->order.as_collected ||
	    p->order.view != VIEW_CANONICAL || p->collected_len != first->collected_len)
		return 0;
	while (i < p->collected_len && p->collected[i] == first->collected[i])
		i++;
	if (i == p->collected_len)
		return 0;
	*told = true;
	return strv_addf(ret,
			 "the suite is not always collected in one order: test %zu is %s in %s, and "
			 "%s in %s",
			 i + 1, h->roster.ids.at[first->collected[i]], first->order.name,
			 h->roster.ids.at[p->collected[i]], p->order.name);
}

/* A kill or the time limit may have kept it from announcing all its sessions. */
static bool is_whole(const struct played *p)
{
	return p->ended && p->complete && p->announced;
}

int collection_notes(const struct history *h, struct strv *ret, size_t *ret_differing)
{
	cleanup_free char *mark = calloc(1, h->roster.ids.len + 1);
	const struct played *first = NULL;
	size_t differing = 0;
	bool sequence = false;
	int r = mark ? 0 : -ENOMEM;
	for (size_t i = 0; i < h->len && !r; i++) {
		const struct played *p = &h->orders[i];
		bool differs = false;
		if (!is_whole(p))
			continue;
		first = first ? first : p;
		if (p != first)
			r = add_note(h, first, p, mark, differing < ORDERS_MAX ? ret : NULL,
				     &differs);
		if (!r && !differs)
			r = add_sequence(h, first, p, ret, &sequence);
		differing += differs;
	}
	if (!r && differing > ORDERS_MAX)
		r = strv_addf(ret, "so does what %zu more order%s had: see order in ledger.jsonl",
			      differing - ORDERS_MAX, differing == ORDERS_MAX + 1 ? "" : "s");
	*ret_differing = differing;
	return r;
}
