#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "runner/judge/classes.h"
#include "runner/report/matrix.h"
#include "sandbox/base/fd.h"
#include "tests/lib/fault_walk.h"
#include "tests/lib/plays.h"

/* FUMEHOOD_BLESS=1 writes what must come out anew, to be read before it is kept. */
#define GOLDEN MATRIX_DATA "/matrix.json"

static const struct deed deeds[] = {
	{ "canonical", "*m.py::a m.py::b m.py::c\xff m.py::d", "PPSP", VIEW_CANONICAL, ROLE_SWEEP },
	{ "canonical-2", "*m.py::a m.py::b m.py::c\xff m.py::d", "PPSP", VIEW_CANONICAL, ROLE_SWEEP },
	{ "s1", "m.py::b m.py::a m.py::d m.py::c\xff", "TPCA", VIEW_SHUFFLED, ROLE_SWEEP, 1,
	  .end = "crashed" },
	{ "s17", "m.py::b m.py::d m.py::a", "FPP", VIEW_SHUFFLED, ROLE_SWEEP, 17 },
	{ "alone-1", "m.py::b", "P", VIEW_ISOLATED, ROLE_SWEEP },
	{ "alone-3", "m.py::d", "P", VIEW_ISOLATED, ROLE_SWEEP },
};

static int write_text(const struct classes *c, char **ret, struct err *e)
{
	size_t len = 0;
	FILE *out = open_memstream(ret, &len);
	int r = matrix_write(c, out, e);
	fclose(out);
	return r;
}

static void test_golden(const struct classes *c)
{
	cleanup_free char *text = NULL;
	cleanup_free char *expected = NULL;
	struct err e = ERR_NULL;
	int r = write_text(c, &text, &e);
	if (getenv("FUMEHOOD_BLESS")) {
		FILE *kept = fopen(GOLDEN, "we");
		fputs(text, kept);
		fclose(kept);
	}
	r = r ? r : fd_load(AT_FDCWD, GOLDEN, 1 << 20, &expected, NULL, &e);
	if (!tap_ok(!r && text_eq(text, expected), "the matrix %s", e.text))
		fputs(text, stderr);
	cleanup_json cJSON *tree = cJSON_Parse(text);
	tap_ok(cJSON_GetArraySize(cJSON_GetObjectItem(tree, "tests")) == 4, "it is JSON");
}

static void test_full(const struct classes *c)
{
	struct err e = ERR_NULL;
	FILE *out = fopen("/dev/full", "we");
	setvbuf(out, NULL, _IONBF, 0);
	tap_ok(matrix_write(c, out, &e) < 0 && strstr(e.text, "No space"), "a full disk: %s", e.text);
	fclose(out);
}

static void test_faults(const struct classes *c)
{
	int wrong = 0;
	int n = 1;
	for (; fault_walk_on(n); n++) {
		struct err e = ERR_NULL;
		FILE *out = fopen("/dev/null", "we");
		int r = out ? matrix_write(c, out, &e) : -1;
		wrong += fault_walk_hit() ? r == 0 : r != 0;
		if (out)
			fclose(out);
	}
	tap_ok(!wrong && n > 10, "each of %d faults is told", n);
}

int main(void)
{
	cleanup(history_done) struct history h = HISTORY_NULL;
	cleanup(classes_done) struct classes c = CLASSES_NULL;
	for (size_t i = 0; i < countof(deeds); i++)
		play(&h, &deeds[i]);
	tap_ok(!classes_judge(&h, NULL, true, &c), "the history is judged");
	test_golden(&c);
	test_full(&c);
	test_faults(&c);
	return tap_done();
}
