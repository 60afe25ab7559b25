#include <string.h>

#include "runner/judge/classes.h"
#include "runner/judge/summary.h"
#include "runner/judge/suspicions.h"
#include "sandbox/base/err.h"
#include "tests/lib/fault_walk.h"
#include "tests/lib/plays.h"

/* b ran while processes of a and z were alive, and is charged with a log. Which isolated orders ran, and
 * who wrote the log there. */
static const struct {
	const char *name;
	const char *ran;   /* letters of tests */
	const char *wrote; /* in its deltas; upper case: behind its end, charged to nobody */
	const char *author;
	const char *open; /* who is to run alone */
} rows[] = {
	{ "nobody ran alone", "", "", "", "abz" },
	{ "who is charged does it alone", "b", "b", "b", "" },
	{ "also when another does, too", "ab", "ab", "b", "" },
	{ "a does it, and b is not ruled out", "a", "a", "", "bz" },
	{ "a does it, and b does not", "ab", "a", "a", "" },
	{ "a does it once it has ended", "ab", "A", "a", "" },
	{ "z does it", "abz", "z", "z", "" },
	{ "nobody does it alone", "abz", "", "", "" },
	{ "b does not", "b", "", "", "az" },
};

static cJSON *delta(const char *suspects)
{
	cJSON *row = cJSON_CreateObject();
	cJSON_AddStringToObject(row, "domain", "files");
	cJSON_AddStringToObject(row, "what", "created");
	cJSON_AddStringToObject(row, "key", "/tmp/log");
	cJSON_AddStringToObject(row, "kind", "leak");
	cJSON_AddItemToObject(row, "writer", cJSON_CreateNull());
	add_words(row, "suspects", suspects);
	return row;
}

static int hear(struct history *h, struct suspicions *s, cJSON *line, struct err *e)
{
	int r = history_line(h, json_text(line, "kind"), line, e);
	r = r ? r : suspicions_line(s, h, json_text(line, "kind"), line, e);
	cJSON_Delete(line);
	return r;
}

static cJSON *test_line(const char *order, const char *test, cJSON *row)
{
	cJSON *line = line_of("test", order);
	cJSON_AddStringToObject(line, "test", test);
	cJSON_AddStringToObject(line, "outcome", "passed");
	cJSON *deltas = cJSON_AddArrayToObject(line, "deltas");
	if (row)
		cJSON_AddItemToArray(deltas, row);
	return line;
}

static int hear_alone(struct history *h, struct suspicions *s, char test, const char *wrote,
		      struct err *e)
{
	char order[] = "alone-?";
	char id[] = { test, '\0' };
	order[6] = test;
	play_begin(h, &(struct deed){ order, id, "", VIEW_ISOLATED, ROLE_SWEEP });
	int r = hear(h, s, test_line(order, id, strchr(wrote, test) ? delta("") : NULL), e);
	cJSON *end = line_of("end", order);
	cJSON_AddStringToObject(end, "outcome", "complete");
	cJSON *rows_of_nobody = cJSON_AddArrayToObject(end, "unattributed");
	if (strchr(wrote, test - 'a' + 'A'))
		cJSON_AddItemToArray(rows_of_nobody, delta(""));
	return r ? r : hear(h, s, end, e);
}

static int hear_all(struct history *h, struct suspicions *s, size_t i, struct err *e)
{
	play_begin(h, &(struct deed){ "canonical", "a z b", "", VIEW_CANONICAL, ROLE_SWEEP });
	int r = hear(h, s, test_line("canonical", "a", NULL), e);
	r = r ? r : hear(h, s, test_line("canonical", "z", NULL), e);
	r = r ? r : hear(h, s, test_line("canonical", "b", delta("a z")), e);
	cJSON *end = line_of("end", "canonical");
	cJSON_AddStringToObject(end, "outcome", "complete");
	r = r ? r : hear(h, s, end, e);
	for (const char *ran = rows[i].ran; *ran && !r; ran++)
		r = hear_alone(h, s, *ran, rows[i].wrote, e);
	return r;
}

/* The change as a summary has it, charged to b. */
static int add_change(struct summary_changes *list, const char *test)
{
	struct summary_change *more = reallocarray(list->at, list->len + 1, sizeof(*more));
	list->at = more;
	more[list->len++] = (struct summary_change){ .code = "FH101",
						     .test = strdup(test),
						     .domain = strdup("files"),
						     .what = strdup("created"),
						     .key = strdup("/tmp/log") };
	return strv_add(&more[list->len - 1].suspects, "a");
}

static void list_done(struct summary_changes *list)
{
	for (size_t i = 0; i < list->len; i++)
		summary_change_done(&list->at[i]);
	free(list->at);
}

static void test_row(size_t i)
{
	cleanup(history_done) struct history h = HISTORY_NULL;
	cleanup(suspicions_done) struct suspicions s = SUSPICIONS_NULL;
	cleanup(classes_done) struct classes c = CLASSES_NULL;
	cleanup(list_done) struct summary_changes list = { 0 };
	cleanup_free uint32_t *open = NULL;
	size_t open_len = 0;
	struct err e = ERR_NULL;
	int r = hear_all(&h, &s, i, &e);
	r = r ? r : classes_judge(&h, NULL, true, &c);
	r = r ? r : suspicions_open(&s, &c, &open, &open_len);
	uint32_t author = s.len ? suspicions_author(&s, &c, 0) : ROSTER_NONE;
	const char *id = author == ROSTER_NONE ? "" : h.roster.ids.at[author];
	tap_ok(!r && s.len == 1 && text_eq(id, rows[i].author), "%s: %s %s", rows[i].name, id,
	       e.text);
	bool same = open_len == strlen(rows[i].open);
	for (size_t k = 0; k < open_len && same; k++)
		same = strchr(rows[i].open, h.roster.ids.at[open[k]][0]);
	tap_ok(same, "  %zu are to run alone", open_len);
	add_change(&list, "b");
	r = suspicions_settle(&s, &c, &list);
	bool known = *rows[i].author;
	tap_ok(!r && list.len == 1 && list.at[0].suspects.len == (known ? 0 : 1) &&
		       text_eq(list.at[0].test, known ? id : "b"),
	       "  and it is charged");
}

static void test_told_already(void)
{
	cleanup(history_done) struct history h = HISTORY_NULL;
	cleanup(suspicions_done) struct suspicions s = SUSPICIONS_NULL;
	cleanup(classes_done) struct classes c = CLASSES_NULL;
	cleanup(list_done) struct summary_changes list = { 0 };
	struct err e = ERR_NULL;
	int r = hear_all(&h, &s, 4, &e);
	r = r ? r : classes_judge(&h, NULL, true, &c);
	add_change(&list, "b");
	add_change(&list, "a");
	add_change(&list, "z");
	r = r ? r : suspicions_settle(&s, &c, &list);
	tap_ok(!r && list.len == 2 && text_eq(list.at[0].test, "a") && text_eq(list.at[1].test, "z"),
	       "what the author has been charged with is not told twice");
}

static void test_faults(void)
{
	cleanup_json cJSON *begin = line_of("begin", "canonical");
	cJSON_AddStringToObject(begin, "view", "canonical");
	cJSON_AddStringToObject(begin, "role", "sweep");
	cleanup_json cJSON *line = test_line("canonical", "b", delta("b"));
	int wrong = 0;
	int n = 1;
	for (; fault_walk_on(n); n++) {
		cleanup(history_done) struct history h = HISTORY_NULL;
		cleanup(suspicions_done) struct suspicions s = SUSPICIONS_NULL;
		cleanup(classes_done) struct classes c = CLASSES_NULL;
		cleanup_free uint32_t *open = NULL;
		size_t open_len;
		int r = history_line(&h, "begin", begin, NULL);
		r = r ? r : history_line(&h, "test", line, NULL);
		r = r ? r : suspicions_line(&s, &h, "test", line, NULL);
		r = r ? r : classes_judge(&h, NULL, true, &c);
		r = r ? r : suspicions_open(&s, &c, &open, &open_len);
		wrong += fault_walk_hit() ? r == 0 : r != 0;
	}
	tap_ok(!wrong && n > 10, "each of %d faults is told", n);
}

int main(void)
{
	for (size_t i = 0; i < countof(rows); i++)
		test_row(i);
	test_told_already();
	test_faults();
	return tap_done();
}
