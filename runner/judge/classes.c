#include "runner/judge/classes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runner/judge/history.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/text.h"

#define SCORE_MIN 3 /* runs below which a share of them says nothing */

/* ---- the classes ---- */

const struct class_row class_rows[CLASS_N] = {
	[CLASS_ABSENT] = { "absent", "FH205", CHECK_BLOCK },
	[CLASS_STABLE_FAIL] = { "stable_fail", "FH209", CHECK_FAILED },
	[CLASS_STABLE_SKIP] = { "stable_skip", NULL, CHECK_NEVER },
	[CLASS_NONDETERMINISTIC] = { "nondeterministic", "FH204", CHECK_FAILED },
	[CLASS_DAMAGE] = { "damage", "FH105", CHECK_BLOCK },
	[CLASS_FIXTURE_MUTATION] = { "fixture_mutation", "FH171", CHECK_BLOCK },
	[CLASS_VICTIM] = { "victim", "FH201", CHECK_BLOCK },
	[CLASS_ORDER_SENSITIVE] = { "order_sensitive", "FH203", CHECK_BLOCK },
	[CLASS_LEAKS_ACROSS_WORKERS] = { "leaks_across_workers", "FH207", CHECK_BLOCK },
	[CLASS_BRITTLE] = { "brittle", "FH202", CHECK_WARN },
	[CLASS_REPEAT_SENSITIVE] = { "repeat_sensitive", "FH206", CHECK_WARN },
	[CLASS_POLLUTER] = { "polluter", NULL, CHECK_WARN },
	[CLASS_LEAKY] = { "leaky", NULL, CHECK_WARN },
	[CLASS_ENVIRONMENT_SENSITIVE] = { "environment_sensitive", "FH401", CHECK_WARN },
	[CLASS_STABLE_PASS] = { "stable_pass", NULL, CHECK_EVIDENCE },
};

enum class class_find(const char *name) {
	int i = 0; while (i < CLASS_N && !text_eq(name, class_rows[i].name)) i++;
	return (enum class)i;
}

static bool mixed(const struct class_facts *f)
{
	return f->passed && (f->failed || f->untold);
}

static bool is_absent(const struct class_facts *f)
{
	return f->absent || !(f->passed || f->failed || f->untold);
}

static bool is_stable_fail(const struct class_facts *f)
{
	return !f->passed && f->failed;
}

static bool is_stable_skip(const struct class_facts *f)
{
	return !f->passed;
}

static bool is_nondeterministic(const struct class_facts *f)
{
	return f->disagrees || (f->marks & MARK_UNREPEATED) || (mixed(f) && !f->firm);
}

static bool is_damage(const struct class_facts *f)
{
	return f->marks & MARK_DAMAGE;
}

static bool is_fixture_mutation(const struct class_facts *f)
{
	return f->marks & MARK_FIXTURE;
}

static bool is_victim(const struct class_facts *f)
{
	return mixed(f) && passes(f->alone);
}

static bool is_brittle(const struct class_facts *f)
{
	return mixed(f) && known(f->alone) && !passes(f->alone) && passes(f->canonical);
}

static bool is_order_sensitive(const struct class_facts *f)
{
	return mixed(f) && !is_brittle(f);
}

static bool is_across_workers(const struct class_facts *f)
{
	return !mixed(f) && f->parallel_red;
}

static bool is_repeat_sensitive(const struct class_facts *f)
{
	return f->again_red;
}

static bool is_polluter(const struct class_facts *f)
{
	return f->marks & MARK_HARMS;
}

static bool is_leaky(const struct class_facts *f)
{
	return f->marks & MARK_LEAKS;
}

static bool is_environment_sensitive(const struct class_facts *f)
{
	return f->varied_differs || (f->marks & MARK_HOST);
}

static bool is_stable_pass(const struct class_facts *f)
{
	(void)f; /* what none of the others is */
	return true;
}

enum class class_of(const struct class_facts *f)
{
	static bool (*const is[CLASS_N])(const struct class_facts *f) = {
		[CLASS_ABSENT] = is_absent,
		[CLASS_STABLE_FAIL] = is_stable_fail,
		[CLASS_STABLE_SKIP] = is_stable_skip,
		[CLASS_NONDETERMINISTIC] = is_nondeterministic,
		[CLASS_DAMAGE] = is_damage,
		[CLASS_FIXTURE_MUTATION] = is_fixture_mutation,
		[CLASS_VICTIM] = is_victim,
		[CLASS_ORDER_SENSITIVE] = is_order_sensitive,
		[CLASS_LEAKS_ACROSS_WORKERS] = is_across_workers,
		[CLASS_BRITTLE] = is_brittle,
		[CLASS_REPEAT_SENSITIVE] = is_repeat_sensitive,
		[CLASS_POLLUTER] = is_polluter,
		[CLASS_LEAKY] = is_leaky,
		[CLASS_ENVIRONMENT_SENSITIVE] = is_environment_sensitive,
		[CLASS_STABLE_PASS] = is_stable_pass,
	};
	int i = 0;
	while (!is[i](f))
		i++;
	return (enum class)i;
}

const char *class_code(enum class class, const struct class_facts *f)
{
	bool hermetic = !known(f->alone) || passes(f->alone) || !known(f->canonical) ||
			passes(f->canonical);
	if (class == CLASS_ORDER_SENSITIVE && !hermetic)
		return "FH208";
	if (class == CLASS_NONDETERMINISTIC && (f->marks & MARK_EXTERNAL))
		return "FH210";
	return class_rows[class].code;
}

enum class order_class(const struct class_facts *f) {
	struct class_facts facts = *f; facts.marks &= ~(unsigned)(MARK_DAMAGE | MARK_FIXTURE);
	enum class class = class_of(&facts);
	bool is = class == CLASS_VICTIM || class == CLASS_BRITTLE || class == CLASS_ORDER_SENSITIVE;
	return is ? class : CLASS_N;
}

/* ---- what stands beside a class ---- */

bool judged_waits(const struct judged *j)
{
	bool waits = false;
	for (int i = 0; i < WAIT_N; i++)
		waits = waits || j->waits[i] != CLASSES_NONE;
	return waits;
}

bool vector_is_bad(char letter)
{
	return letter != VECTOR_NOT_IN && letter != outcome_letter(OUTCOME_ABSENT) &&
	       letter != outcome_letter(OUTCOME_PASSED) && letter != outcome_letter(OUTCOME_XFAILED);
}

const char *classes_vector(const struct classes *c, uint32_t test)
{
	return c->vectors + test * c->columns_len;
}

bool classes_score(const struct judged *j, double *ret)
{
	if (j->ran < SCORE_MIN)
		return false;
	*ret = (double)j->bad / j->ran;
	return true;
}

int classes_isolates(const struct classes *c, bool all, uint32_t **ret, size_t *ret_len)
{
	cleanup_free uint32_t *tests = calloc(c->len + 1, sizeof(*tests));
	size_t len = 0;
	if (!tests)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->len; i++) {
		const struct class_facts *f = &c->tests[i].facts;
		bool ran = f->passed || f->failed || f->untold;
		bool module = text_eq(c->tests[i].phase, phase_name(PHASE_COLLECT));
		if (!known(f->alone) && !module && (all ? ran : f->failed || mixed(f)))
			tests[len++] = i;
	}
	*ret = take_ptr(&tests);
	*ret_len = len;
	return 0;
}

void classes_done(struct classes *c)
{
	free(c->tests);
	free(c->columns);
	free(c->groups);
	free(c->vectors);
	*c = CLASSES_NULL;
}
