#include <errno.h>
#include <string.h>

#include "runner/drive/vary.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/env.h"
#include "tests/lib/fault_walk.h"
#include "tests/lib/tap.h"

static const char *const base[] = { "TZ=UTC", "A=1", "LANG=C.UTF-8", NULL };

/* `name` then has `value` in the environment; NULL: it is the umask. */
static const struct {
	const char *vary, *name, *value;
	unsigned umask;
} good[] = {
	{ "hashseed=17", "PYTHONHASHSEED", "17", 0 },
	{ "tz=EST5EDT", "TZ", "EST5EDT", 0 },
	{ "locale=C", "LANG", "C", 0 },
	{ "locale=C", "LC_ALL", "C", 0 },
	{ "umask=077", NULL, NULL, 077 },
	{ "umask=0", NULL, NULL, 0 },
};

static const char *const bad[] = { "",        "moon=1",      "hashseed", "locale=xx_XX.none",
				   "umask=8", "umask=01000", "umask=",   "tz" };

static int vary(const char *text, struct cell_spec *spec, struct strv *env, struct err *e)
{
	const struct order order = { .vary = { (char *[]){ (char *)text, NULL }, 1, 0 } };
	return vary_apply(&order, spec, env, e);
}

static void test_faults(void)
{
	int wrong = 0;
	int n = 1;
	for (; fault_walk_on(n); n++) {
		cleanup(strv_done) struct strv env = STRV_NULL;
		struct cell_spec spec = { .env = base };
		struct err e = ERR_NULL;
		int r = vary("tz=A", &spec, &env, &e);
		wrong += fault_walk_hit() ? r != -ENOMEM || !e.text[0] : r != 0;
	}
	tap_ok(wrong == 0 && n > 3, "each of %d faults is told", n);
}

int main(void)
{
	for (size_t i = 0; i < countof(good); i++) {
		cleanup(strv_done) struct strv env = STRV_NULL;
		struct cell_spec spec = { .env = base };
		struct err e = ERR_NULL;
		int r = vary(good[i].vary, &spec, &env, &e);
		bool set = good[i].name ? text_eq(env_get(spec.env, good[i].name), good[i].value)
					: spec.umask_given && spec.umask == good[i].umask;
		tap_ok(r == 0 && vary_exists(good[i].vary) && set &&
			       text_eq(env_get(spec.env, "A"), "1"),
		       "%s: %s", good[i].vary, e.text);
	}
	for (size_t i = 0; i < countof(bad); i++) {
		cleanup(strv_done) struct strv env = STRV_NULL;
		struct cell_spec spec = { .env = base };
		struct err e = ERR_NULL;
		int r = vary(bad[i], &spec, &env, &e);
		tap_ok(r == -EINVAL && e.status == STATUS_DATA && strstr(e.text, bad[i]) &&
			       !vary_exists(bad[i]),
		       "refused: %s", e.text);
	}
	struct cell_spec spec = { .env = base };
	int r = vary_apply(&ORDER_NULL, &spec, NULL, NULL);
	tap_ok(r == 0 && spec.env == base && !spec.umask_given, "nothing varies by itself");
	test_faults();
	return tap_done();
}
