#include "runner/judge/status.h"

#include <errno.h>

#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"

int status_for_bisect(int status)
{
	static const struct {
		int status, bisect;
	} rows[] = {
		{ STATUS_INCOMPLETE, 125 }, { STATUS_NO_TESTS, 125 }, { STATUS_HOST, 125 },
		{ STATUS_TIMEOUT, 125 },    { STATUS_USAGE, 128 },    { STATUS_DATA, 128 },
		{ STATUS_INTERNAL, 128 },
	};
	for (size_t i = 0; i < countof(rows); i++)
		if (status == rows[i].status)
			return rows[i].bisect;
	return status;
}

#define PLURAL(n) (n), (n) == 1 ? "" : "s"

/* The first reason that holds decides. */
static bool holds(struct verdict *v, bool it_does, int status)
{
	if (it_does && !v->status)
		v->status = status;
	return it_does;
}

static int judge(const struct status_facts *f, struct verdict *v)
{
	struct strv *why = &v->reasons;
	bool cut_short = f->interrupted || f->budget_spent || f->timed_out || f->unfinished ||
			 f->protocol_broken || f->died || f->uncollected || f->stuck;
	int r = 0;
	if (holds(v, f->interrupted, STATUS_INTERRUPTED))
		r = strv_add(why, "interrupted");
	if (!r && holds(v, f->coupled, STATUS_DAMAGE))
		r = strv_addf(why, "%zu test%s on others", f->coupled,
			      f->coupled == 1 ? " depends" : "s depend");
	if (!r && holds(v, f->vanished, STATUS_DAMAGE))
		r = strv_addf(why, "%zu test%s did not always run", PLURAL(f->vanished));
	if (!r && holds(v, f->damage, STATUS_DAMAGE))
		r = strv_addf(why, "%zu thing%s that stood before damaged", PLURAL(f->damage));
	if (!r && holds(v, f->leaks && f->leaks_fail, STATUS_DAMAGE))
		r = strv_addf(why, "%zu thing%s left behind", PLURAL(f->leaks));
	if (!r && holds(v, f->writes, STATUS_DAMAGE))
		r = strv_addf(why, "%zu write%s outside of the state folders", PLURAL(f->writes));
	if (!r && holds(v, !f->tests && !cut_short, STATUS_NO_TESTS))
		r = strv_add(why, "no tests ran");
	if (!r && holds(v, f->budget_spent, STATUS_TIMEOUT))
		r = strv_add(why, "the budget was spent before all was run");
	if (!r && holds(v, f->timed_out, STATUS_TIMEOUT))
		r = strv_add(why, "the time limit of the run passed");
	if (!r && holds(v, f->reduced[0], STATUS_INCOMPLETE))
		r = strv_addf(why, "the isolation is reduced: %s", f->reduced);
	if (!r && holds(v, f->tracker_lost, STATUS_INCOMPLETE))
		r = strv_add(why, "the tracker asked for could not be used");
	if (!r && holds(v, f->protocol_broken, STATUS_INCOMPLETE))
		r = strv_add(why, "the adapter broke the protocol");
	if (!r && holds(v, f->died, STATUS_INCOMPLETE))
		r = strv_add(why, "the test process ended before its session did");
	if (!r && holds(v, f->uncollected, STATUS_INCOMPLETE))
		r = strv_add(why, "the suite was not collected to the end: not all of its tests "
				  "are known");
	if (!r && holds(v, f->stuck && !f->timed_out, STATUS_INCOMPLETE))
		r = strv_addf(why, "in %zu order%s the command did not end, and no test was running",
			      PLURAL(f->stuck));
	if (!r && holds(v, f->differing, STATUS_INCOMPLETE))
		r = strv_addf(why, "%zu order%s had other tests than the first",
			      PLURAL(f->differing));
	if (!r && holds(v, f->unfinished, STATUS_INCOMPLETE))
		r = strv_add(why, "the run did not come to its end");
	if (!r && holds(v, f->absent, STATUS_INCOMPLETE))
		r = strv_addf(why, "%zu test%s did not run", PLURAL(f->absent));
	if (!r && holds(v, f->failed, STATUS_FAILED))
		r = strv_addf(why, "%zu test%s failed", PLURAL(f->failed));
	if (!r && holds(v, f->command && f->tests && !f->failed && !cut_short, STATUS_FAILED))
		r = strv_addf(why, "the command ended with status %d though no test failed",
			      f->command);
	return r;
}

int status_judge(const struct status_facts *facts, struct verdict *ret)
{
	cleanup(verdict_done) struct verdict v = VERDICT_NULL;
	int r = judge(facts, &v);
	if (r)
		return r;
	if (facts->exit_zero && v.status != STATUS_INTERRUPTED)
		v.status = 0;
	if (facts->bisect_exit)
		v.status = status_for_bisect(v.status);
	*ret = take(&v, VERDICT_NULL);
	return 0;
}

void verdict_done(struct verdict *v)
{
	strv_done(&v->reasons);
	*v = VERDICT_NULL;
}
