#include "runner/judge/classes.h"
#include "runner/judge/collection.h"
#include "runner/judge/history.h"
#include "sandbox/base/buf.h"
#include "sandbox/base/cleanup.h"
#include "tests/lib/plays.h"

/* An order as it ran; then what its session announced, and what that had beside the plan. */
static const struct {
	struct deed deed;
	const char *announced, *others;
} orders[] = {
	{ { "canonical", "*a b c", "PPP" }, "a b c", "" },
	{ { "canonical-2", "*a b c", "PPP", .end = "crashed" }, NULL, "" },
	{ { "canonical-3", "*b a c", "PPP" }, "b a c", "" },
	{ { "s1", "c b a", "PPP", VIEW_SHUFFLED }, "c b a", "" },
	{ { "s2", "c b a", "PP.", VIEW_SHUFFLED }, "c b", "d" },
	{ { "s3", "c b a", "...", VIEW_SHUFFLED }, "", "" },
	{ { "s4", "c b", "PP", VIEW_SHUFFLED }, "c b", "a e" },
	{ { "s5", "c b a", "P..", VIEW_SHUFFLED, .end = "timeout" }, "c", "f" },
};

static const char wanted[] =
	"the suite is not always collected in one order: test 1 is a in canonical, and b in canonical-3\n"
	"the collection differs from run to run: s2 has no a, and in addition d\n"
	"the collection differs from run to run: s3 has no c, b, a\n"
	"so does what 1 more order had: see order in ledger.jsonl\n";

static void announce(struct history *h, size_t i)
{
	cJSON *line = line_of("order", orders[i].deed.order);
	add_words(line, "tests", orders[i].announced);
	add_words(line, "others", orders[i].others);
	say(h, line);
}

static enum class class_of_id(const struct classes *c, const char *id) {
	uint32_t test = roster_find(&c->history->roster, id);
	return test == ROSTER_NONE ? CLASS_N : c->tests[test].class;
}

int main(void)
{
	cleanup(history_done) struct history h = HISTORY_NULL;
	cleanup(classes_done) struct classes c = CLASSES_NULL;
	cleanup(strv_done) struct strv notes = STRV_NULL;
	cleanup(buf_done) struct buf text = BUF_NULL;
	size_t differing = 0;
	for (size_t i = 0; i < countof(orders); i++) {
		play(&h, &orders[i].deed);
		if (orders[i].announced)
			announce(&h, i);
	}
	int r = collection_notes(&h, &notes, &differing);
	for (size_t i = 0; i < notes.len && !r; i++)
		r = buf_printf(&text, "%s\n", notes.at[i]);
	tap_ok(!r && text_eq(text.at, wanted), "the differences are told: %s", text.at);
	tap_ok(differing == 3, "and counted: %zu", differing);
	tap_ok(!classes_judge(&h, NULL, true, &c), "it is judged");
	tap_ok(class_of_id(&c, "d") == CLASS_ABSENT && class_of_id(&c, "e") == CLASS_ABSENT,
	       "what only a plan's session had did not run as the suite stands");
	return tap_done();
}
