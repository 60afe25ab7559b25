#include <errno.h>
#include <string.h>

#include "runner/drive/suite.h"
#include "sandbox/base/buf.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/text.h"
#include "tests/lib/fault_walk.h"
#include "tests/lib/tap.h"

/* A cell: what a plan asks for, then session by session its root and what its adapter has. Of those it
 * announces what it was asked for; `asked` is that, and `ids` what is made of it. All texts are lists
 * of words; "*": all that there is. */
static const struct {
	const char *name, *plan;
	bool repeated;
	struct session {
		const char *root, *has, *asked, *ids;
	} sessions[3];
	const char *missing;
} cells[] = {
	{ "as collected", "*", false, { { "/p", "a b", "*", "a b" } }, "" },
	{ "in another order", "b a", false, { { "/p", "a b", "b,a", "b a" } }, "" },
	{ "nobody has it", "b x", false, { { "/p", "a b", "b,x", "b" } }, "x" },
	{ "nobody spoke", "b a", false, { { NULL, NULL, NULL, NULL } }, "b a" },
	{ "two sessions of one root, other tests",
	  "d a",
	  false,
	  { { "/p", "a b", "d,a", "a" }, { "/p", "c d", "d", "d" } },
	  "" },
	{ "two sessions of one root, the same tests",
	  "a,b,a (session 2)",
	  false,
	  { { "/p", "a b", "a,b,a (session 2)", "a b" }, { "/p", "a b", "a", "a (session 2)," } },
	  "" },
	{ "only the second of them",
	  "a (session 2),",
	  false,
	  { { "/p", "a b", "a (session 2),", "" }, { "/p", "a b", "a", "a (session 2)," } },
	  "" },
	{ "roots below the project and outside of it",
	  "sub/a a /else/a",
	  false,
	  { { "/p/sub", "a", "a", "sub/a" },
	    { "/p", "a", "a,/else/a", "a" },
	    { "/else", "a", "a", "/else/a" } },
	  "" },
	{ "each twice", "b", true, { { "/p", "b,b (again)", "b", "b,b (again)" } }, "" },
	{ "each twice in the second session, too",
	  "*",
	  true,
	  { { "/p", "b,b (again)", "*", "b,b (again)" },
	    { "/p", "b,b (again)", "*", "b (session 2),b (session 2) (again)" } },
	  "" },
};

/* By commas where there are any, else by spaces. */
static void split(const char *list, struct strv *ret)
{
	cleanup_free char *copy = strdup(list);
	const char *between = strchr(list, ',') ? "," : " ";
	for (char *rest = copy, *word; (word = strsep(&rest, between));)
		if (*word)
			strv_add(ret, word);
}

static bool is_list(const struct strv *seen, const char *wanted)
{
	cleanup(strv_done) struct strv list = STRV_NULL;
	split(wanted, &list);
	bool same = seen->len == list.len;
	for (size_t i = 0; same && i < list.len; i++)
		same = text_eq(seen->at[i], list.at[i]);
	return same;
}

static bool ask(struct suite *s, const char *plan, bool repeated, struct roster *roster)
{
	cleanup(strv_done) struct strv ids = STRV_NULL;
	uint32_t numbers[8];
	struct order order = { .view = repeated ? VIEW_REPEATED : VIEW_CANONICAL, .tests = numbers };
	order.as_collected = text_eq(plan, "*");
	if (!order.as_collected)
		split(plan, &ids);
	for (size_t i = 0; i < ids.len; i++)
		if (roster_add(roster, ids.at[i], &numbers[order.tests_len++]))
			return false;
	return suite_ask(s, &order, roster) == 0;
}

static bool play(struct suite *s, const struct session *session)
{
	cleanup(strv_done) struct strv asked = STRV_NULL;
	cleanup(strv_done) struct strv has = STRV_NULL;
	cleanup(strv_done) struct strv ids = STRV_NULL;
	if (suite_session(s, "/p", session->root) || suite_plan(s, &asked))
		return false;
	split(session->has, &has);
	if (s->all != text_eq(session->asked, "*") || (!s->all && !is_list(&asked, session->asked)))
		return false;
	for (size_t i = 0; i < (s->all || s->repeated ? has.len : asked.len); i++) {
		const char *id = s->all || s->repeated ? has.at[i] : asked.at[i];
		if (strv_has(&has, id) && suite_add(s, id) < 0)
			return false;
	}
	for (size_t i = s->session_at; i < s->ids.len; i++)
		strv_add(&ids, s->ids.at[i]);
	return is_list(&ids, session->ids);
}

static void test_cells(void)
{
	for (size_t i = 0; i < countof(cells); i++) {
		cleanup(suite_done) struct suite s = SUITE_NULL;
		cleanup(roster_done) struct roster roster = ROSTER_NULL;
		cleanup(strv_done) struct strv missing = STRV_NULL;
		bool well = ask(&s, cells[i].plan, cells[i].repeated, &roster);
		for (size_t k = 0; well && k < countof(cells[i].sessions); k++)
			well = !cells[i].sessions[k].root || play(&s, &cells[i].sessions[k]);
		well = well && !suite_missing(&s, &missing) && is_list(&missing, cells[i].missing);
		tap_ok(well, "%s", cells[i].name);
	}
}

static void test_numbers(void)
{
	cleanup(suite_done) struct suite s = SUITE_NULL;
	suite_session(&s, "/p", "/p/sub");
	tap_ok(suite_add(&s, "a") == 0 && suite_add(&s, "b") == 1 && suite_find(&s, "b") == 1,
	       "tests are numbered as they come");
	tap_ok(suite_add(&s, "b") == -EEXIST && suite_find(&s, "c") == -ENOENT,
	       "no two have one id, and others are not there");
	suite_session(&s, "/p", "/p/sub");
	tap_ok(suite_find(&s, "a") == -ENOENT && suite_add(&s, "a") == 2 && suite_find(&s, "a") == 2,
	       "a session does not find another's");
}

/* A plan of two tests, one of which a session has. */
static int deed(struct suite *s, struct roster *roster, struct strv *plan, struct strv *missing)
{
	uint32_t tests[2];
	const struct order order = { .tests = tests, .tests_len = 2 };
	if (roster_add(roster, "sub/a", &tests[0]) || roster_add(roster, "sub/b", &tests[1]) ||
	    suite_ask(s, &order, roster) || suite_session(s, "/p", "/p/sub") ||
	    suite_plan(s, plan) || suite_add(s, "a") < 0 || suite_missing(s, missing))
		return -ENOMEM;
	return 0;
}

static void test_faults(void)
{
	int wrong = 0;
	int n = 1;
	for (; fault_walk_on(n); n++) {
		cleanup(suite_done) struct suite s = SUITE_NULL;
		cleanup(roster_done) struct roster roster = ROSTER_NULL;
		cleanup(strv_done) struct strv plan = STRV_NULL;
		cleanup(strv_done) struct strv missing = STRV_NULL;
		int r = deed(&s, &roster, &plan, &missing);
		wrong += fault_walk_hit() ? r == 0 : r != 0 || plan.len != 2 || missing.len != 1;
	}
	tap_ok(wrong == 0 && n > 10, "each of %d faults is told", n);
}

int main(void)
{
	test_cells();
	test_numbers();
	test_faults();
	return tap_done();
}
