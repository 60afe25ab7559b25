#include "runner/report/check.h"

#include <stdio.h>

#include "runner/judge/findings.h"
#include "runner/judge/history.h"
#include "runner/judge/summary.h"
#include "runner/printable.h"
#include "sandbox/base/buf.h"
#include "sandbox/base/cleanup.h"

struct check_counts check_counts(const struct check_report *c)
{
	struct check_counts n = { .tests = c->classes->due_len };
	for (size_t i = 0; i < c->history->len; i++) {
		const struct played *p = &c->history->orders[i];
		if (!p->ended || p->order.role == ROLE_REPLAY || played_collects(p))
			continue;
		bool isolated = p->order.view == VIEW_ISOLATED;
		n.orders++;
		n.executions += p->order.tests_len;
		n.seconds += p->seconds;
		n.isolated += isolated && p->order.role == ROLE_SWEEP;
		n.sweep += !isolated && p->order.role == ROLE_SWEEP;
		n.confirm += p->order.role == ROLE_CONFIRM;
		n.shrink += p->order.role == ROLE_SHRINK;
		n.wave += p->order.role == ROLE_WAVE;
		n.random += p->order.role == ROLE_SWEEP && p->complete && p->order.seeded &&
			    p->order.view == VIEW_SHUFFLED && !p->order.vary.len;
	}
	return n;
}

/* "2 fail after other tests": how many, and what of them. */
struct clause {
	size_t n;
	const char *one, *many;
};

static int add_clauses(struct buf *out, const struct clause *clauses, size_t len)
{
	size_t left = 0;
	bool first = true;
	int r = 0;
	for (size_t i = 0; i < len; i++)
		left += clauses[i].n > 0;
	for (size_t i = 0; i < len && !r; i++) {
		const struct clause *clause = &clauses[i];
		if (!clause->n)
			continue;
		left--;
		r = buf_printf(out, "%s%zu %s",
			       first  ? ""
			       : left ? ", "
				      : " and ",
			       clause->n, clause->n == 1 ? clause->one : clause->many);
		first = false;
	}
	return r;
}

char *check_sentence(const struct check_report *c)
{
	size_t n[CLASS_N] = { 0 };
	size_t unsure = 0;
	for (size_t i = 0; i < c->findings->len; i++) {
		const struct judged *j = &c->classes->tests[c->findings->at[i].test];
		bool may = order_class(&j->facts) != CLASS_N && judged_waits(j);
		unsure += may;
		n[c->findings->at[i].class] += !may;
	}
	const struct check_counts counts = check_counts(c);
	const struct clause clauses[] = {
		{ n[CLASS_VICTIM], "fails after other tests", "fail after other tests" },
		{ n[CLASS_ORDER_SENSITIVE], "depends on order", "depend on order" },
		{ n[CLASS_BRITTLE], "passes only after other tests", "pass only after other tests" },
		{ unsure, "may depend on order", "may depend on order" },
		{ n[CLASS_LEAKS_ACROSS_WORKERS], "fails only in parallel", "fail only in parallel" },
		{ n[CLASS_NONDETERMINISTIC], "is nondeterministic", "are nondeterministic" },
		{ n[CLASS_REPEAT_SENSITIVE], "fails when run twice", "fail when run twice" },
		{ n[CLASS_ABSENT], "did not always run", "did not always run" },
		{ n[CLASS_STABLE_FAIL], "fails in every order", "fail in every order" },
		{ n[CLASS_ENVIRONMENT_SENSITIVE], "depends on the environment",
		  "depend on the environment" },
	};
	cleanup(buf_done) struct buf out = BUF_NULL;
	int r = buf_printf(&out, "%zu test%s: ", counts.tests, counts.tests == 1 ? "" : "s");
	size_t before = out.len;
	r = r ? r : add_clauses(&out, clauses, countof(clauses));
	if (!r && out.len > before && c->summary->damage.len)
		r = buf_puts(&out, "; ");
	if (!r && c->summary->damage.len)
		r = buf_printf(&out, "%zu thing%s that stood before damaged",
			       c->summary->damage.len, c->summary->damage.len == 1 ? "" : "s");
	if (!r && !counts.tests)
		r = buf_puts(&out, "nothing ran");
	else if (!r && out.len == before)
		r = buf_printf(&out, "no dependence on order was seen in %zu order%s",
			       counts.sweep + counts.isolated,
			       counts.sweep + counts.isolated == 1 ? "" : "s");
	return r || buf_puts(&out, ".") ? NULL : take_ptr(&out.at);
}

char *check_replay(const struct check_report *c, const struct finding *f)
{
	cleanup_free char *run = quoted(c->run);
	char *text = NULL;
	if (!run || asprintf(&text, "fumehood replay %s %s", run, f->id) < 0)
		return NULL;
	return text;
}
