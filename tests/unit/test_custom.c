#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/fingerprint.h"
#include "probe/sensor.h"
#include "probe/sensors/sensors.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/json.h"
#include "tests/lib/deltas.h"
#include "tests/lib/fault_walk.h"
#include "tests/lib/tap.h"

/* What each probe does in a look: prints, fails with a reason, or cannot be asked. */
struct script {
	const char *prints[2];
	const char *fails[2];
	bool broken;
	const char *world; /* what the domain beside it looks like from then on */
};

static const char *world;

static int run_probe(const void *with, size_t number, struct buf *out, char why[VANTAGE_WHY_LEN],
		     struct err *e)
{
	const struct script *script = *(const struct script *const *)with;
	if (script->broken)
		return err_set(e, EPROTO, "the warden did not answer");
	if (script->world)
		world = script->world;
	if (script->fails[number]) {
		snprintf(why, VANTAGE_WHY_LEN, "%s", script->fails[number]);
		return 1;
	}
	return buf_puts(out, script->prints[number]) ? err_set(e, ENOMEM, "no memory") : 0;
}

/* A domain that a probe can change. */
static int world_look(void *memory, const struct vantage *v, bool full, struct sink *sink,
		      struct err *e)
{
	(void)memory;
	(void)v;
	(void)full;
	(void)e;
	return sink_offer(sink, &(struct offer){ .id = "it", .value = world });
}

static const struct sensor sensor_world = {
	.domain = "world", .came = "made", .went = "lost", .look = world_look
};

static const struct sensor *const sensors[] = { &sensor_world, &sensor_custom, NULL };
static const char *const names[] = { "rows", "schema", NULL };

static const struct step {
	const char *name;
	struct script script;
	const char *expect; /* of the test */
	const char *aside;  /* of nobody */
	const char *blind;
} steps[] = {
	{ "what they print first stood", { .prints = { "1", "a" } }, "", "", NULL },
	{ "the same again", { .prints = { "1", "a" } }, "", "", NULL },
	{ "another row", { .prints = { "2", "a" } }, "leak changed rows\n", "", NULL },
	{ "one that fails leaves its entry",
	  { .prints = { "2" }, .fails = { NULL, "it ended with status 3" } },
	  "",
	  "",
	  "schema: it ended with status 3 (in 1 of 4 looks)" },
	{ "and is told to the end",
	  { .prints = { "2", "b" } },
	  "leak changed schema\n",
	  "",
	  "schema: it ended with status 3 (in 1 of 5 looks)" },
	{ "what a probe does is nobody's",
	  { .prints = { "2", "b" }, .world = "touched" },
	  "",
	  "leak changed it\n",
	  "schema: it ended with status 3 (in 1 of 6 looks)" },
	{ "and not seen again",
	  { .prints = { "2", "b" } },
	  "",
	  "",
	  "schema: it ended with status 3 (in 1 of 7 looks)" },
};

static void test_steps(void)
{
	const struct script *script = &steps[0].script;
	struct vantage v = { .probes = names, .run_probe = run_probe, .run_with = &script };
	struct fingerprint *f = NULL;
	cleanup(delta_list_done) struct delta_list aside = DELTA_LIST_NULL;
	struct err e = ERR_NULL;
	world = "as it was";
	tap_ok(fingerprint_new(&v, sensors, &f, &e) == 0, "a fingerprint is made");
	fingerprint_put_aside(f, &aside);
	for (size_t i = 0; i < countof(steps); i++) {
		cleanup(delta_list_done) struct delta_list deltas = DELTA_LIST_NULL;
		script = &steps[i].script;
		int r = fingerprint_look(f, (int)i, &deltas, NULL, &e);
		cleanup_free char *seen = deltas_text(&deltas, false);
		cleanup_free char *others = deltas_text(&aside, false);
		delta_list_done(&aside);
		tap_ok(r == 0 && text_eq(seen, steps[i].expect) && text_eq(others, steps[i].aside),
		       "%s: %s%s", steps[i].name, seen, others);
		const char *blind = fingerprint_blind(f, "custom");
		tap_ok(text_eq(blind, steps[i].blind), "%s: %s", steps[i].name,
		       blind ? blind : "all is seen");
	}
	script = &(struct script){ .broken = true };
	int r = fingerprint_look(f, 9, NULL, NULL, &e);
	tap_ok(r == -EPROTO, "that nobody runs them is an error: %s", e.text);
	fingerprint_free(f);
}

static void test_late(void)
{
	struct script late = { .fails = { "it ended with status 1", "it ended with status 1" } };
	const struct script *script = &late;
	struct vantage v = { .probes = names, .run_probe = run_probe, .run_with = &script };
	struct fingerprint *f = NULL;
	cleanup(delta_list_done) struct delta_list deltas = DELTA_LIST_NULL;
	fingerprint_new(&v, sensors, &f, NULL);
	fingerprint_look(f, DELTA_STOOD, NULL, NULL, NULL);
	late = (struct script){ .prints = { "1", "a" } };
	fingerprint_look(f, 0, &deltas, NULL, NULL);
	cleanup_free char *seen = deltas_text(&deltas, false);
	tap_ok(!*seen, "what it printed first is no test's doing, when before that it failed: %s",
	       seen);
	fingerprint_free(f);
}

static void test_values(void)
{
	const struct script one = { .prints = { "17\n", "a" } };
	const struct script two = { .prints = { "18\n", "a" } };
	for (int shown = 0; shown < 2; shown++) {
		const struct script *script = &one;
		struct vantage v = { .probes = names,
				     .run_probe = run_probe,
				     .run_with = &script,
				     .show_values = shown };
		struct fingerprint *f = NULL;
		cleanup(delta_list_done) struct delta_list deltas = DELTA_LIST_NULL;
		fingerprint_new(&v, sensors, &f, NULL);
		fingerprint_look(f, DELTA_STOOD, NULL, NULL, NULL);
		script = &two;
		fingerprint_look(f, 0, &deltas, NULL, NULL);
		bool told = deltas.len == 1 && strstr(deltas.at[0].after, "\"value\":\"18\\n\"");
		tap_ok(deltas.len == 1 && told == shown && strstr(deltas.at[0].after, "\"len\":3"),
		       "values are %s: %s", shown ? "shown" : "not shown", deltas.at[0].after);
		fingerprint_free(f);
	}
}

static int live(char **ret, struct err *e)
{
	static const struct script one = { .prints = { "1", "a" } };
	static const struct script two = { .prints = { "2" }, .fails = { NULL, "it failed" } };
	const struct script *script = &one;
	struct vantage v = { .probes = names, .run_probe = run_probe, .run_with = &script };
	struct delta_list deltas = DELTA_LIST_NULL;
	struct fingerprint *f = NULL;
	int r = fingerprint_new(&v, sensors, &f, e);
	r = r ? r : fingerprint_look(f, DELTA_STOOD, NULL, NULL, e);
	script = &two;
	r = r ? r : fingerprint_look(f, 1, &deltas, NULL, e);
	fault_walk_hit();
	*ret = r ? NULL : deltas_text(&deltas, false);
	delta_list_done(&deltas);
	fingerprint_free(f);
	return r;
}

static void test_faults(void)
{
	cleanup_free char *whole = NULL;
	cJSON_InitHooks(&(struct cJSON_Hooks){ malloc, free });
	live(&whole, NULL);
	bool handled = text_eq(whole, "leak changed rows\n");
	int n = 1;
	for (; fault_walk_on(n) && handled; n++) {
		cleanup_free char *seen = NULL;
		struct err e = ERR_NULL;
		int r = live(&seen, &e);
		handled = r ? e.code == -r && e.text[0] : text_eq(seen, whole);
	}
	tap_ok(handled && n > 10, "each of %d calls failed once", n - 2);
}

int main(void)
{
	test_steps();
	test_late();
	test_values();
	test_faults();
	return tap_done();
}
