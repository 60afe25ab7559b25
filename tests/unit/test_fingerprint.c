#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "probe/fingerprint.h"
#include "probe/sensor.h"
#include "sandbox/base/buf.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "tests/lib/deltas.h"
#include "tests/lib/fault_walk.h"
#include "tests/lib/tap.h"

/* A sensor that offers what the test writes down for it. */
#define SCRIPT_MAX 8
struct script {
	struct offer offers[SCRIPT_MAX];
	size_t len;
	bool all;
	bool anew;
	const char *met;
	const char *blind;
	int fail;
};
static struct script script;

static int toy_open(const struct vantage *v, void **ret, struct err *e)
{
	(void)v;
	*ret = malloc(1); /* so that a close that is forgotten shows as a leak */
	return *ret ? 0 : err_sys(e, "open the toy");
}

static int toy_look(void *memory, const struct vantage *v, bool full, struct sink *sink,
		    struct err *e)
{
	(void)memory;
	(void)v;
	(void)full;
	int r = script.fail ? err_set(e, script.fail, "the toy is broken") : 0;
	if (script.anew)
		sink_anew(sink);
	if (!r)
		r = sink_blind(sink, script.blind);
	if (!r && script.met)
		r = sink_met(sink, script.met);
	for (size_t i = 0; !r && i < script.len; i++)
		r = sink_offer(sink, &script.offers[i]);
	return !r && script.all ? sink_all(sink) : r;
}

static const char *toy_change(const char *before, const char *after)
{
	return before[0] == after[0] ? "tail" : "head";
}

static const struct sensor toy = {
	.domain = "toy",
	.came = "created",
	.went = "deleted",
	.change = toy_change,
	.damages = true,
	.lives = true,
	.open = toy_open,
	.close = free,
	.look = toy_look,
};
static const struct sensor *const toys[] = { &toy, NULL };

#define OFFER(...)                                      \
	{                                               \
		.offers = { { __VA_ARGS__ } }, .len = 1 \
	}

/* Steps on one fingerprint, one after another. */
static const struct step {
	const char *name;
	int by;
	struct script look;
	const char *expect;
} steps[] = {
	{ "the first look only learns",
	  DELTA_STOOD,
	  { .offers = { { .id = "base", .value = "b0" },
			{ .id = "other", .value = "o0" },
			{ .id = "cache", .value = "c0", .zone = "state" } },
	    .len = 3 },
	  "" },
	{ "silence is no change", 1, { .len = 0 }, "" },
	{ "equal values are no change", 1, OFFER(.id = "base", .value = "b0"), "" },
	{ "a touch of what stands", 1, OFFER(.id = "base", .value = "b0", .touched = true),
	  "touch touched base b0>b0 owner=-1\n" },
	{ "a touch of what came and went", 1, OFFER(.id = "tmp", .touched = true),
	  "touch created tmp ->- owner=-1\n" },
	{ "a creation", 1, OFFER(.id = "a", .key = "A", .value = "a1", .zone = "tmp"),
	  "leak created A@tmp ->a1 owner=-1\n" },
	{ "another test touches it", 2, OFFER(.id = "a", .value = "a1", .touched = true),
	  "touch touched A@tmp a1>a1 owner=1\n" },
	{ "another test changes it", 2, OFFER(.id = "a", .value = "a2"),
	  "leak tail A@tmp a1>a2 owner=1\n" },
	{ "and puts it back: it is the first one's again", 2, OFFER(.id = "a", .value = "a1"),
	  "leak tail A@tmp a2>a1 owner=2\n" },
	{ "a third removes it: the first is rid of it", 3, OFFER(.id = "a"),
	  "leak deleted A@tmp a1>- owner=1 restored\n" },
	{ "damage by a change", 4, OFFER(.id = "base", .value = "x0"),
	  "leak head base b0>x0 owner=-1 damage\n" },
	{ "damage by a deletion on top", 5, OFFER(.id = "base"),
	  "leak deleted base x0>- owner=4 damage\n" },
	{ "its repair", 6, OFFER(.id = "base", .value = "b0"),
	  "leak created base ->b0 owner=5 restored\n" },
	{ "in zone state nothing is damage", 6, OFFER(.id = "cache"),
	  "leak deleted cache@state c0>- owner=-1\n" },
	{ "what is not offered is gone when all was",
	  7,
	  { .offers = { { .id = "base", .value = "b0" }, { .id = "z", .value = "z0" } },
	    .len = 2,
	    .all = true },
	  "leak created z ->z0 owner=-1\n"
	  "leak deleted other o0>- owner=-1 damage\n" },
	{ "what moves by itself is nobody's", 8, OFFER(.id = "z", .value = "z1", .quiet = true), "" },
	{ "and may go by another key", 8,
	  OFFER(.id = "z", .key = "Z", .value = "z2", .quiet = true), "" },
	{ "but keeps its owner", 8, OFFER(.id = "z"), "leak deleted Z z2>- owner=7 restored\n" },
	{ "a new one that nobody made stood", 9, OFFER(.id = "n", .value = "n0", .quiet = true), "" },
	{ "so its end is damage", 9, OFFER(.id = "n"), "leak deleted n n0>- owner=-1 damage\n" },
	{ "another process: all is learned anew",
	  9,
	  { .offers = { { .id = "base", .value = "b9" } }, .len = 1, .anew = true },
	  "" },
	{ "from then on changes are told again", 9, OFFER(.id = "base", .value = "b8"),
	  "leak tail base b9>b8 owner=-1 damage\n" },
};

static void test_steps(void)
{
	struct err e = ERR_NULL;
	struct vantage v = { 0 };
	struct fingerprint *f = NULL;
	tap_ok(fingerprint_new(&v, toys, &f, &e) == 0, "a fingerprint is made");
	for (size_t i = 0; i < countof(steps); i++) {
		cleanup(delta_list_done) struct delta_list deltas = DELTA_LIST_NULL;
		script = steps[i].look;
		int r = fingerprint_look(f, steps[i].by, &deltas, NULL, &e);
		cleanup_free char *seen = deltas_text(&deltas, true);
		tap_ok(r == 0 && text_eq(seen, steps[i].expect), "%s: %s", steps[i].name, seen);
	}
	fingerprint_free(f);
}

static struct fingerprint *begin(const struct vantage *v)
{
	struct fingerprint *f = NULL;
	fingerprint_new(v, toys, &f, NULL);
	return f;
}

static void look(struct fingerprint *f, int by, struct script with, struct delta_list *deltas)
{
	script = with;
	fingerprint_look(f, by, deltas, NULL, NULL);
}

static void test_digest(void)
{
	struct vantage v = { 0 };
	struct fingerprint *a = begin(&v);
	struct fingerprint *b = begin(&v);
	look(a, DELTA_STOOD, (struct script)OFFER(.id = "x", .value = "1"), NULL);
	look(b, DELTA_STOOD, (struct script){ .len = 0 }, NULL);
	struct digest one = fingerprint_digest(a, "toy");
	tap_ok(!digest_eq(one, DIGEST_NULL) && digest_eq(fingerprint_digest(b, "toy"), DIGEST_NULL),
	       "a domain without entries has the empty digest");
	look(a, 1, (struct script)OFFER(.id = "y", .value = "2"), NULL);
	look(b, 1, (struct script)OFFER(.id = "y", .value = "2"), NULL);
	look(b, 2, (struct script)OFFER(.id = "x", .value = "1"), NULL);
	tap_ok(digest_eq(fingerprint_digest(a, "toy"), fingerprint_digest(b, "toy")),
	       "the digest is free of order");
	look(a, 3, (struct script)OFFER(.id = "s", .value = "3", .zone = "state"), NULL);
	tap_ok(digest_eq(fingerprint_digest_all(a), fingerprint_digest_all(b)),
	       "zone state is in no digest");
	look(a, 4, (struct script)OFFER(.id = "y"), NULL);
	tap_ok(digest_eq(fingerprint_digest(a, "toy"), one), "what goes leaves no trace");
	look(a, 5, (struct script)OFFER(.id = "x", .value = "2"), NULL);
	tap_ok(!digest_eq(fingerprint_digest(a, "toy"), one), "a value counts");
	fingerprint_free(a);
	fingerprint_free(b);
}

static void test_met(void)
{
	struct vantage v = { 0 };
	struct fingerprint *f = begin(&v);
	struct met_list met = { 0 };
	look(f, DELTA_STOOD, (struct script)OFFER(.id = "base", .value = "b"), NULL);
	look(f, 1, (struct script)OFFER(.id = "a", .key = "A", .value = "a"), NULL);
	static const char *const opened[] = { "base", "a", "none" };
	for (size_t i = 0; i < countof(opened); i++) {
		script = (struct script){ .met = opened[i] };
		fingerprint_look(f, 1, NULL, &met, NULL);
	}
	tap_ok(met.len == 0, "what stood, what is one's own and what is not there is not met");
	for (size_t i = 0; i < countof(opened); i++) {
		script = (struct script){ .met = opened[i] };
		fingerprint_look(f, 2, NULL, &met, NULL);
	}
	tap_ok(met.len == 1 && text_eq(met.at[0].key, "A") && met.at[0].from == 1 &&
		       text_eq(met.at[0].domain, "toy"),
	       "what another test left is met");
	met_list_done(&met);
	fingerprint_free(f);
}

/* Several looks in one test, put together: the second column is what the session sees. */
static const struct {
	const char *name;
	struct script first, second;
	const char *expect;
} compositions[] = {
	{ "came and went", OFFER(.id = "a", .value = "1"), OFFER(.id = "a"),
	  "touch created a ->- owner=-1\n" },
	{ "came and changed", OFFER(.id = "a", .value = "1"), OFFER(.id = "a", .value = "2"),
	  "leak created a ->2 owner=-1\n" },
	{ "changed and put back", OFFER(.id = "base", .value = "x"),
	  OFFER(.id = "base", .value = "b0"), "touch touched base b0>b0 owner=-1\n" },
	{ "changed twice", OFFER(.id = "base", .value = "b1"), OFFER(.id = "base", .value = "x2"),
	  "leak head base b0>x2 owner=-1 damage\n" },
	{ "changed, then touched", OFFER(.id = "base", .value = "b1"),
	  OFFER(.id = "base", .value = "b1", .touched = true),
	  "leak tail base b0>b1 owner=-1 damage\n" },
	{ "touched, then gone", OFFER(.id = "base", .value = "b0", .touched = true),
	  OFFER(.id = "base"), "leak deleted base b0>- owner=-1 damage\n" },
	{ "another's leak changed, then gone", OFFER(.id = "left", .value = "l1"),
	  OFFER(.id = "left"), "leak deleted left l0>- owner=1 restored\n" },
	{ "another's leak changed, then put back", OFFER(.id = "left", .value = "l1"),
	  OFFER(.id = "left", .value = "l0"), "touch touched left l0>l0 owner=1\n" },
	{ "two entries", OFFER(.id = "a", .value = "1"), OFFER(.id = "b", .value = "1"),
	  "leak created a ->1 owner=-1\nleak created b ->1 owner=-1\n" },
	{ "one entry twice in one look",
	  { .len = 0 },
	  { .offers = { { .id = "a", .value = "1" }, { .id = "a" } }, .len = 2 },
	  "touch created a ->- owner=-1\n" },
};

static void test_compositions(void)
{
	struct vantage v = { 0 };
	for (size_t i = 0; i < countof(compositions); i++) {
		struct fingerprint *f = begin(&v);
		cleanup(delta_list_done) struct delta_list all = DELTA_LIST_NULL;
		cleanup(delta_list_done) struct delta_list later = DELTA_LIST_NULL;
		look(f, DELTA_STOOD, (struct script)OFFER(.id = "base", .value = "b0"), NULL);
		look(f, 1, (struct script)OFFER(.id = "left", .value = "l0"), NULL);
		look(f, 2, compositions[i].first, &all);
		look(f, 2, compositions[i].second, &later);
		int r = delta_list_append(&all, &later);
		cleanup_free char *seen = deltas_text(&all, true);
		tap_ok(r == 0 && later.len == 0 && text_eq(seen, compositions[i].expect), "%s: %s",
		       compositions[i].name, seen);
		fingerprint_free(f);
	}
}

static struct delta made(enum delta_kind kind, const char *before, const char *after,
			 const char *suspect)
{
	struct delta d = { .sensor = &toy,
			   .domain = "toy",
			   .kind = kind,
			   .owner = DELTA_STOOD,
			   .id = strdup("id"),
			   .key = strdup("id"),
			   .before = before ? strdup(before) : NULL,
			   .after = after ? strdup(after) : NULL,
			   .writer = strdup(suspect) };
	delta_settle(&d);
	d.kind = kind;
	strv_add(&d.suspects, suspect);
	return d;
}

static void test_append(void)
{
	static const struct {
		enum delta_kind first, second, expect;
	} kinds[] = {
		{ DELTA_HELD, DELTA_HELD, DELTA_HELD },  { DELTA_HELD, DELTA_LEAK, DELTA_LEAK },
		{ DELTA_LEAK, DELTA_HELD, DELTA_LEAK },  { DELTA_HELD, DELTA_TOUCH, DELTA_HELD },
		{ DELTA_TOUCH, DELTA_HELD, DELTA_HELD },
	};
	for (size_t i = 0; i < countof(kinds); i++) {
		cleanup(delta_list_done) struct delta_list all = DELTA_LIST_NULL;
		cleanup(delta_list_done) struct delta_list later = DELTA_LIST_NULL;
		struct delta one = made(kinds[i].first, "a", "b", "one");
		struct delta two = made(kinds[i].second, "b", "c", "two");
		delta_list_adopt(&all, &one);
		delta_list_adopt(&later, &two);
		delta_list_append(&all, &later);
		const struct delta *d = &all.at[0];
		tap_ok(all.len == 1 && d->kind == kinds[i].expect, "%s and %s is %s",
		       delta_kind_names[kinds[i].first], delta_kind_names[kinds[i].second],
		       delta_kind_names[d->kind]);
		tap_ok(d->suspects.len == 2 && text_eq(d->writer, "two"),
		       "suspects add up, the later writer counts");
	}
}

static void test_survivors(void)
{
	struct vantage v = { 0 };
	struct fingerprint *f = begin(&v);
	cleanup(delta_list_done) struct delta_list left = DELTA_LIST_NULL;
	look(f, DELTA_STOOD, (struct script)OFFER(.id = "1", .value = "stood"), NULL);
	look(f, 3, (struct script)OFFER(.id = "2", .key = "sleep", .value = "left"), NULL);
	look(f, 4, (struct script)OFFER(.id = "3", .value = "zombie", .inert = true), NULL);
	fingerprint_survivors(f, &left, NULL);
	tap_ok(left.len == 1 && text_eq(left.at[0].key, "sleep") && left.at[0].owner == 3,
	       "survivors are what a test left and what still acts");
	fingerprint_free(f);
}

static void test_words(void)
{
	struct vantage v = { 0 };
	struct fingerprint *f = begin(&v);
	struct err e = ERR_NULL;
	tap_ok(fingerprint_blind(f, "toy") == NULL, "nothing is hidden at first");
	look(f, 1, (struct script){ .blind = "no window" }, NULL);
	tap_ok(text_eq(fingerprint_blind(f, "toy"), "no window"), "what is not seen is told");
	script = (struct script){ .fail = EPERM };
	int r = fingerprint_look(f, 1, NULL, NULL, &e);
	tap_ok(r == -EPERM && text_eq(e.text, "look at toy: the toy is broken"), "%s", e.text);
	fingerprint_free(f);
}

static void test_zone(void)
{
	static const struct vantage_zone zones[] = {
		{ "/", "system" },          { "/tmp", "tmp" },     { "/tmp/pytest-of-*", "state" },
		{ "/tmp/pytest", "state" }, { "/home/u", "home" }, { "*/__pycache__", "state" },
	};
	static const struct vantage v = { .zones = zones, .zones_len = countof(zones) };
	static const struct {
		const char *path, *zone;
	} cases[] = {
		{ "/tmp/a", "tmp" },
		{ "/tmp", "tmp" },
		{ "/tmpfile", "system" },
		{ "/tmp/pytest/x", "state" },
		{ "/tmp/pytest2", "tmp" },
		{ "/home/u/.x", "home" },
		{ "/tmp/pytest-of-u/x", "state" },
		{ "/tmp/pytest-o", "tmp" },
		{ "/home/u/p/__pycache__", "state" },
		{ "/tmp/__pycache__x/__pycache__/a.pyc", "state" },
		{ "/tmp/__pycache__x/a", "tmp" },
	};
	for (size_t i = 0; i < countof(cases); i++)
		tap_ok(text_eq(zone_of(&v, cases[i].path), cases[i].zone), "%s lies in %s",
		       cases[i].path, cases[i].zone);
	static const struct vantage none = { 0 };
	tap_ok(text_eq(zone_of(&none, "/tmp/a"), "system"), "without rows all is system");
}

/* All steps on one fingerprint, their deltas put together, and what was met. */
static int live(struct delta_list *all, struct met_list *met, struct err *e)
{
	struct vantage v = { 0 };
	struct fingerprint *f = NULL;
	struct delta_list alive = DELTA_LIST_NULL;
	int r = fingerprint_new(&v, toys, &f, e);
	for (size_t i = 0; !r && i < countof(steps); i++) {
		struct delta_list later = DELTA_LIST_NULL;
		script = steps[i].look;
		script.met = "a";
		script.blind = "no window";
		r = fingerprint_look(f, steps[i].by, &later, met, e);
		if (!r && delta_list_append(all, &later))
			r = err_set(e, ENOMEM, "append");
		if (!r)
			r = fingerprint_survivors(f, &alive, e);
		delta_list_done(&later);
	}
	fault_walk_hit(); /* from here on nothing fails */
	delta_list_done(&alive);
	fingerprint_free(f);
	return r;
}

static void test_faults(void)
{
	int n = 1;
	bool handled = true;
	for (; fault_walk_on(n); n++) {
		struct delta_list all = DELTA_LIST_NULL;
		struct met_list met = { 0 };
		struct err e = ERR_NULL;
		int r = live(&all, &met, &e);
		bool ok = fault_walk_hit() ? r == -ENOMEM && e.code == ENOMEM : r == 0 && met.len > 0;
		if (!ok)
			tap_ok(false, "call %d fails: %d, %s", n, r, e.text);
		handled = handled && ok;
		delta_list_done(&all);
		met_list_done(&met);
	}
	tap_ok(handled && n > 100, "each of %d allocations failed once", n - 2);
}

int main(void)
{
	test_steps();
	test_digest();
	test_met();
	test_compositions();
	test_append();
	test_survivors();
	test_words();
	test_zone();
	test_faults();
	return tap_done();
}
