#include "runner/conclusion.h"

#include <errno.h>
#include <stdlib.h>

#include "runner/judge/collection.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"

/* ---- the verdict ---- */

/* Of a check each test counts once, by its class: what failed in some order is no matter of its own. */
static int judge(const struct campaign *k, bool interrupted, const struct findings *f,
		 struct summary *s, struct err *e)
{
	struct status_facts *facts = &s->facts;
	facts->tests = k->classes.due_len;
	facts->coupled = facts->vanished = facts->failed = facts->absent = 0;
	facts->timed_out = false;
	facts->interrupted = interrupted;
	facts->budget_spent = k->budget_spent;
	for (size_t i = 0; i < f->len; i++) {
		enum check_says says = class_rows[f->at[i].class].check;
		bool absent = f->at[i].class == CLASS_ABSENT;
		facts->coupled += says == CHECK_BLOCK && !absent;
		facts->vanished += absent;
		facts->failed += says == CHECK_FAILED;
	}
	verdict_done(&s->verdict);
	return status_judge(facts, &s->verdict) ? err_set(e, ENOMEM, "judge: no memory") : 0;
}

/* ---- what was not run ---- */

static int add_notes(struct strv *ret, const struct plan *plan)
{
	int r = 0;
	for (size_t i = 0; i < plan->notes.len && !r; i++)
		if (!strv_has(ret, plan->notes.at[i]))
			r = strv_add(ret, plan->notes.at[i]);
	return r;
}

static int add_unrun(const struct campaign *k, const struct plan *plan, const char *why,
		     struct strv *ret)
{
	cleanup_free bool *ran = calloc(plan->len + 1, sizeof(*ran));
	for (size_t i = 0; ran && i < plan->len; i++) {
		const struct played *p = history_find(&k->history, plan->orders[i].name);
		ran[i] = p && p->ended && !p->interrupted;
	}
	return ran ? plan_unrun(plan, ran, why, ret) : -ENOMEM;
}

/* What the wave tried, and what it left out. */
static int add_wave(const struct campaign *k, bool cut_short, struct strv *ret)
{
	const struct wave_sum sum = k->wave ? wave_sum(k->wave) : (struct wave_sum){ 0 };
	const char *why = cut_short                      ? "cut short"
			  : sum.orders == sum.orders_max ? "no more orders are run for it"
							 : "they did not run there";
	if (!sum.pairs)
		return 0;
	if (k->setup->ask->serial.len &&
	    strv_add(ret, "serial tests do not run right behind what makes others fail"))
		return -ENOMEM;
	if (!sum.untried && sum.sets == 1)
		return strv_addf(ret,
				 "each of %zu tests that had passed everywhere ran behind what makes "
				 "others fail, with only tests between that were seen to leave it so",
				 sum.tests);
	if (!sum.untried)
		return strv_addf(ret,
				 "each of %zu tests that had passed everywhere ran behind each of %zu "
				 "sets that make others fail, with only tests between that were seen to "
				 "leave it so",
				 sum.tests, sum.sets);
	return strv_addf(ret,
			 "of %zu tests that had passed everywhere, behind %zu set%s that make others "
			 "fail, %zu of %zu pairs were not tried (%s)",
			 sum.tests, sum.sets, sum.sets == 1 ? "" : "s", sum.untried, sum.pairs, why);
}

static int find_skipped(const struct campaign *k, bool interrupted, struct strv *ret, struct err *e)
{
	const struct plan *plans[] = { &k->plan, &k->more, &k->isolated, &k->wave_isolated };
	const char *why = interrupted ? "interrupted" : "the budget is spent";
	int r = 0;
	for (size_t i = 0; i < countof(plans) && !r; i++) {
		r = add_notes(ret, plans[i]);
		if (!r && (interrupted || k->budget_spent))
			r = add_unrun(k, plans[i], why, ret);
	}
	r = r ? r : add_wave(k, interrupted || k->budget_spent, ret);
	return r ? err_set(e, ENOMEM, "tell what was not run: no memory") : 0;
}

/* Whose each change is, as far as isolated runs told. */
static int settle(const struct campaign *k, struct summary *s, struct err *e)
{
	if (suspicions_settle(&k->suspicions, &k->classes, &s->leaks) ||
	    suspicions_settle(&k->suspicions, &k->classes, &s->damage))
		return err_set(e, ENOMEM, "settle who is suspected: no memory");
	return 0;
}

void conclusion_done(struct conclusion *c)
{
	summary_done(&c->summary);
	findings_done(&c->findings);
	strv_done(&c->skipped);
}

int conclusion_draw(struct campaign *k, const struct ledger *l, bool interrupted,
		    struct conclusion *ret, struct err *e)
{
	cleanup(conclusion_done) struct conclusion c = CONCLUSION_NULL;
	int r = campaign_judge(k, e);
	r = r ? r : summary_read(l, &c.summary, e);
	r = r ? r : settle(k, &c.summary, e);
	if (!r && findings_make(&k->classes, k->shrink, &c.findings))
		r = err_set(e, ENOMEM, "tell what was found: no memory");
	if (r)
		return r;
	findings_accept(&c.findings, &k->classes, &c.summary.accepted);
	r = findings_messages(&c.findings, &k->history, l, e);
	if (!r && collection_notes(&k->history, &c.summary.notes, &c.summary.facts.differing))
		r = err_set(e, ENOMEM, "tell what was collected: no memory");
	r = r ? r : judge(k, interrupted, &c.findings, &c.summary, e);
	r = r ? r : find_skipped(k, interrupted, &c.skipped, e);
	if (!r)
		*ret = take(&c, CONCLUSION_NULL);
	return r;
}
