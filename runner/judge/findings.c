#include "runner/judge/findings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runner/judge/accepted.h"
#include "runner/judge/history.h"
#include "runner/ledger.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/digest.h"
#include "sandbox/base/err.h"
#include "sandbox/base/text.h"

/* ---- which there are ---- */

/* The class under which a test has a finding of its own; CLASS_N: none. Damage, fixtures and leaks are
 * told by what was changed. */
static enum class class_told(const struct judged *j) {
	struct class_facts facts = j->facts; facts.marks &= ~(unsigned)(MARK_DAMAGE | MARK_FIXTURE);
	enum class class = j->due ? class_of(&facts) : CLASS_N;
	return class != CLASS_N && class_rows[class].code ? class : CLASS_N;
}

static uint32_t alone_order(const struct history *h, uint32_t test)
{
	for (uint32_t i = 0; i < h->len; i++) {
		const struct played *p = &h->orders[i];
		if (p->order.view == VIEW_ISOLATED && !p->interrupted && p->order.tests_len == 1 &&
		    p->order.tests[0] == test)
			return i;
	}
	return CLASSES_NONE;
}

static bool find_search(const struct shrink *shrink, uint32_t test, struct search_result *ret)
{
	for (size_t i = 0; shrink && i < shrink_len(shrink); i++) {
		const struct search_result r = shrink_result(shrink, i);
		if (r.test != test)
			continue;
		*ret = r;
		return true;
	}
	return false;
}

static void make(const struct classes *c, const struct shrink *shrink, uint32_t test,
		 enum class class, struct finding *ret)
{
	const struct judged *j = &c->tests[test];
	const char *id = c->history->roster.ids.at[test];
	*ret = (struct finding){ .code = class_code(class, &j->facts),
				 .class = class,
				 .test = test,
				 .order = j->first_bad };
	if (class == CLASS_BRITTLE)
		ret->order = alone_order(c->history, test);
	char hex[DIGEST_HEX];
	snprintf(ret->id, sizeof(ret->id), "%s-%.8s", ret->code,
		 digest_hex(digest_bytes(id, strlen(id)), hex));
	ret->searched = find_search(shrink, test, &ret->search);
}

/* ---- in which order they are told ---- */

static int rank(const struct finding *f)
{
	static const int ranks[CLASS_N] = {
		[CLASS_VICTIM] = 1,           [CLASS_ORDER_SENSITIVE] = 2,
		[CLASS_BRITTLE] = 3,          [CLASS_LEAKS_ACROSS_WORKERS] = 4,
		[CLASS_NONDETERMINISTIC] = 5, [CLASS_ABSENT] = 6,
		[CLASS_STABLE_FAIL] = 7,
	};
	return ranks[f->class] ? ranks[f->class] : CLASS_N;
}

static int by_set(const struct finding *a, const struct finding *b)
{
	const struct search_set *x = &a->search.set;
	const struct search_set *y = &b->search.set;
	if (a->search.any != b->search.any)
		return a->search.any ? -1 : 1;
	if (x->len != y->len)
		return x->len < y->len ? -1 : 1;
	for (size_t i = 0; i < x->len; i++)
		if (x->tests[i] != y->tests[i])
			return x->tests[i] < y->tests[i] ? -1 : 1;
	return 0;
}

bool finding_same_set(const struct finding *a, const struct finding *b)
{
	return a->search.any && b->search.any && by_set(a, b) == 0;
}

static int by_rank(const void *a, const void *b)
{
	const struct finding *x = a;
	const struct finding *y = b;
	int r = rank(x) - rank(y);
	r = r ? r : by_set(x, y);
	return r ? r : (x->test > y->test) - (x->test < y->test);
}

int findings_make(const struct classes *c, const struct shrink *shrink, struct findings *ret)
{
	cleanup(findings_done) struct findings f = FINDINGS_NULL;
	f.at = calloc(c->len + 1, sizeof(*f.at));
	if (!f.at)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->len; i++) {
		enum class class = class_told(&c->tests[i]);
		if (class != CLASS_N)
			make(c, shrink, i, class, &f.at[f.len++]);
	}
	qsort(f.at, f.len, sizeof(*f.at), by_rank);
	*ret = take(&f, FINDINGS_NULL);
	return 0;
}

const struct finding *findings_find(const struct findings *f, const char *id)
{
	for (size_t i = 0; i < f->len; i++)
		if (text_eq(f->at[i].id, id))
			return &f->at[i];
	return NULL;
}

bool finding_is_sure(const struct finding *f)
{
	return f->searched && f->search.any && f->search.hits == f->search.of;
}

void findings_accept(struct findings *f, const struct classes *c, struct accepted *accepted)
{
	size_t left = 0;
	for (size_t i = 0; i < f->len; i++) {
		struct finding *at = &f->at[i];
		if (accepted_takes(accepted, at->code, c->history->roster.ids.at[at->test], NULL))
			free(at->message);
		else
			f->at[left++] = *at;
	}
	f->len = left;
}

void findings_done(struct findings *f)
{
	for (size_t i = 0; i < f->len; i++)
		free(f->at[i].message);
	free(f->at);
	*f = FINDINGS_NULL;
}

/* ---- what failed there ---- */

struct listening {
	struct findings *f;
	const struct history *h;
	uint32_t *wanted; /* by test: index of its finding + 1 */
};

static int hear(void *with, const char *kind, const cJSON *line, struct err *e)
{
	struct listening *l = with;
	const char *order = json_text(line, "order");
	cleanup_free char *id = NULL;
	if (!text_eq(kind, "test") || !order)
		return 0;
	if (json_get_name(line, "test", &id) == -ENOMEM)
		return err_set(e, ENOMEM, "read what failed: no memory");
	if (!id)
		return 0;
	uint32_t test = history_test(l->h, order, id);
	if (test == ROSTER_NONE || !l->wanted[test])
		return 0;
	struct finding *f = &l->f->at[l->wanted[test] - 1];
	if (f->order == CLASSES_NONE || f->message ||
	    !text_eq(l->h->orders[f->order].order.name, order))
		return 0;
	return json_get_name(line, "message", &f->message) == -ENOMEM
		       ? err_set(e, ENOMEM, "read what failed: no memory")
		       : 0;
}

int findings_messages(struct findings *f, const struct history *h, const struct ledger *l,
		      struct err *e)
{
	cleanup_free uint32_t *wanted = calloc(h->roster.ids.len + 1, sizeof(*wanted));
	if (!wanted)
		return err_set(e, ENOMEM, "read what failed: no memory");
	for (size_t i = 0; i < f->len; i++)
		wanted[f->at[i].test] = (uint32_t)i + 1;
	struct listening listening = { f, h, wanted };
	return f->len ? ledger_each(l, hear, &listening, e) : 0;
}
