#pragma once
/*
 * classes: what kind of test each test of a run is, from what became of it in
 * every order that swept, confirmed or was of the wave, and from what else is
 * known of it. Pure.
 *
 * The sides of an outcome: it passed (passed, xfailed), it failed (outcome_failed), it
 * told nothing (skipped, xpassed), or the test was absent. Who did not pass in an
 * order though it passes in others is mixed, whichever side it was.
 *
 * Orders that never ended, or were cut short, tell nothing. Orders with something
 * varied, parallel ones and the second runs of `repeated` are each a dimension of
 * their own: no order dependence is read from them. Nor is it from those of searches;
 * but one list of tests that did both, whoever asked for it, is nobody's doing.
 *
 * Borrows the history. Owns its tables.
 */
#include "probe/event.h"
#include "runner/judge/codes.h"
#include "runner/judge/marks.h"

struct history;

static inline bool passes(enum outcome outcome)
{
	return outcome == OUTCOME_PASSED || outcome == OUTCOME_XFAILED;
}

static inline bool known(enum outcome outcome)
{
	return outcome != OUTCOME_N;
}

/* In the order in which they are tried: the first that fits. */
enum class {
	CLASS_ABSENT,
	CLASS_STABLE_FAIL,
	CLASS_STABLE_SKIP,
	CLASS_NONDETERMINISTIC,
	CLASS_DAMAGE,
	CLASS_FIXTURE_MUTATION,
	CLASS_VICTIM,
	CLASS_ORDER_SENSITIVE,
	CLASS_LEAKS_ACROSS_WORKERS,
	CLASS_BRITTLE,
	CLASS_REPEAT_SENSITIVE,
	CLASS_POLLUTER,
	CLASS_LEAKY,
	CLASS_ENVIRONMENT_SENSITIVE,
	CLASS_STABLE_PASS,
	CLASS_N,
};

struct class_row {
	const char *name; /* "order_sensitive" */
	const char *code; /* of its finding, "FH203"; NULL: the class alone is none */
	enum check_says check;
};
extern const struct class_row class_rows[CLASS_N];
enum class class_find(const char *name); /* CLASS_N: there is none */

/* All that the class of one test is decided by. */
struct class_facts {
	unsigned absent; /* orders that were to run it and did not, with nobody else to blame */
	unsigned passed; /* runs, by side */
	unsigned failed;
	unsigned untold;
	bool disagrees;     /* one order, two sides */
	bool firm;          /* not passed in two distinct orders; or in one, three times of three,
			   while the canonical order (or else another) repeats its pass */
	enum outcome alone; /* OUTCOME_N: not known */
	enum outcome canonical; /* the same */
	bool parallel_red;
	bool again_red;      /* its second run, right behind the first, failed */
	bool varied_differs; /* from the canonical order, with something else than order varied */
	unsigned marks;      /* enum mark */
};
enum class class_of(const struct class_facts *f);
/* The code of the finding: that of the class; FH208 where it fails alone and in the canonical order,
 * too; FH210 where an external service is suspected. NULL: none. */
const char *class_code(enum class class, const struct class_facts *f);
/* How a test depends on order, whatever else is the matter with it; CLASS_N: not at all. */
enum class order_class(const struct class_facts *f);

#define CLASSES_NONE UINT32_MAX

/* What a test waits for, until it can be told how it depends on order, or that it does not. */
enum wait {
	WAIT_RED,       /* an order in which it did not pass */
	WAIT_GREEN,     /* one in which it did */
	WAIT_ALONE,     /* controls of what seems to depend on order: nothing before it, */
	WAIT_CANONICAL, /* the suite as it stands, */
	WAIT_OTHER,     /* and another order */
	WAIT_N,
};

/* Orders are told by their index in the history, which is that of the plan. */
struct judged {
	struct class_facts facts;
	bool due;         /* some order was to run it */
	enum class class; /* CLASS_N: none was, it was not selected */
	bool eligible;    /* as evidence: it is stable_pass, and absent nowhere */
	unsigned ran;     /* in the orders of the score: canonical and shuffled ones */
	unsigned bad;
	unsigned absent;     /* orders, whoever is to blame */
	unsigned random_ran; /* in the shuffled ones with a seed: a bound is stated by them */
	unsigned random_bad;
	uint32_t absent_after; /* the test whose crash, time-out or failed collection is why */
	uint32_t first_bad;    /* order; CLASSES_NONE: it passed wherever it ran */
	uint32_t first_red;    /* the first with a seed; the same */
	const char *phase;     /* in which it failed in first_bad; NULL: it did not, or not told */
	uint32_t waits[WAIT_N]; /* orders that have to run again before the class is sure; the same */
};

struct classes {
	const struct history *history;
	bool searched;        /* for sets: they are controls, too */
	bool first;           /* without the wave */
	struct judged *tests; /* by number of the roster */
	size_t len;
	uint32_t *columns; /* by index in the history: the orders that swept, but isolated ones */
	size_t columns_len;
	uint32_t *groups; /* by order: the first order that was the same */
	char *vectors;    /* [test * columns_len + column]: outcome_letter(), or VECTOR_NOT_IN */
	size_t due_len;   /* of the tests, those that some order was to run */
	size_t counts[CLASS_N];
};
#define CLASSES_NULL  ((struct classes){ 0 })
#define VECTOR_NOT_IN '.'

/* `marks` may be NULL. searched: sets are searched for, which are controls of their own. 0 or -ENOMEM. */
int classes_judge(const struct history *h, const struct marks *marks, bool searched,
		  struct classes *ret);
/* As if no order of the wave had run. */
int classes_judge_first(const struct history *h, const struct marks *marks, bool searched,
			struct classes *ret);
void classes_done(struct classes *c);

const char *classes_vector(const struct classes *c, uint32_t test); /* columns_len letters, no NUL */
bool vector_is_bad(char letter); /* it ran there, and did not pass */
/* It is not known yet whether order is why: what that waits for did not run, or not often enough. */
bool judged_waits(const struct judged *j);
/* Not passed / ran, and false below three runs. */
bool classes_score(const struct judged *j, double *ret);

/* A rerun that would settle what is open: `order` again until it has run `runs` times in all. */
struct rerun {
	uint32_t order; /* index in the history: the first of its name */
	unsigned runs, have;
	unsigned tests; /* how many wait for it */
};
struct reruns {
	struct rerun *at;
	size_t len;
};
/* The cheapest first. Empty: all classes are final. 0 or -ENOMEM; *ret is freed by reruns_done(). */
int classes_open(const struct classes *c, struct reruns *ret);
void reruns_done(struct reruns *r);
/* The tests whose class asks how they fare alone, which nobody has looked at: `all`, or (of a suite with
 * too many for that) those that did not pass everywhere. Numbers, ascending; the caller's. */
int classes_isolates(const struct classes *c, bool all, uint32_t **ret, size_t *ret_len);
