#include <errno.h>

#include "runner/drive/layer_key.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "tests/lib/fault_walk.h"
#include "tests/lib/folder.h"
#include "tests/lib/tap.h"

static const char *const env[] = { "A=1", "B=2", NULL };
static const char *const turned_env[] = { "B=2", "A=1", NULL };
static const char *const other_env[] = { "A=1", "B=3", NULL };

/* The key of one command with these inputs; "" and the text in *e: it has none. */
static const char *key(const struct folder *f, const char *run, const char *const *inputs,
		       const char *const *its_env, char hex[DIGEST_HEX], struct err *e)
{
	struct config c = CONFIG_NULL;
	struct digest digest;
	*e = ERR_NULL;
	c.project.path = (char *)f->path;
	int r = strv_add(&c.prepare.run, run);
	for (size_t i = 0; inputs[i] && !r; i++)
		r = strv_add(&c.prepare.inputs, inputs[i]);
	r = r ? r : layer_key(&c, its_env, &digest, e);
	steps_done(&c.prepare);
	hex[0] = '\0';
	return r ? hex : digest_hex(digest, hex);
}

static const char *const lock[] = { "lock", NULL };
static const char *const texts[] = { "*.txt", "[x]/*", NULL };

static void test_key(const struct folder *f)
{
	char first[DIGEST_HEX];
	char then[DIGEST_HEX];
	struct err e;
	const char *now = key(f, "make", texts, env, first, &e);
	tap_ok(now[0] && text_eq(now, key(f, "make", texts, env, then, &e)), "a key %s", e.text);
	tap_ok(!text_eq(now, key(f, "make all", texts, env, then, &e)), "another command");
	tap_ok(!text_eq(now, key(f, "make", texts, other_env, then, &e)), "another environment");
	tap_ok(text_eq(now, key(f, "make", texts, turned_env, then, &e)), "... in another order");
	tap_ok(!text_eq(now, key(f, "make", lock, env, then, &e)), "other inputs");
	folder_put(f, "b.txt", "B");
	tap_ok(!text_eq(now, key(f, "make", texts, env, then, &e)), "other contents");
	folder_put(f, "b.txt", "b");
	tap_ok(text_eq(now, key(f, "make", texts, env, then, &e)), "... and the same again");
	if (rename(folder_path(f, "b.txt"), folder_path(f, "c.txt")))
		abort();
	tap_ok(!text_eq(now, key(f, "make", texts, env, then, &e)), "another name");
	folder_put(f, "unseen", "x");
	if (rename(folder_path(f, "c.txt"), folder_path(f, "b.txt")))
		abort();
	tap_ok(text_eq(now, key(f, "make", texts, env, then, &e)), "what is no input is none");
	folder_put(f, "x/in", "x");
	tap_ok(!text_eq(now, key(f, "make", texts, env, then, &e)), "an input in a folder");
}

static void test_refusals(const struct folder *f)
{
	static const struct {
		const char *inputs[2];
		const char *text;
		int code;
	} cases[] = {
		{ { "none" }, "the input none of prepare is not there", ENOENT },
		{ { "x" }, "the input x of prepare is a folder", EISDIR },
		{ { "n*" }, NULL, 0 },
	};
	for (size_t i = 0; i < countof(cases); i++) {
		char hex[DIGEST_HEX];
		struct err e;
		key(f, "make", cases[i].inputs, env, hex, &e);
		tap_ok(e.code == cases[i].code && (!e.code || (strstr(e.text, cases[i].text) &&
							       e.status == STATUS_DATA)),
		       "%s: %s", cases[i].inputs[0], e.text);
	}
}

static void test_stamp(const struct folder *f)
{
	static const char *const names[] = { "b.txt", "link", "folder", "run", "a.txt" };
	struct digest seen[countof(names)];
	int wrong = 0;
	cleanup_close int dir = open(f->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	folder_put(f, "folder", NULL);
	folder_put(f, "run", "b");
	if (chmod(folder_path(f, "run"), 0755) || symlink("b", folder_path(f, "link")))
		abort();
	for (size_t i = 0; i < countof(names); i++) {
		wrong += layer_stamp(dir, names[i], &seen[i], NULL) != 0;
		for (size_t k = 0; k < i; k++)
			wrong += digest_eq(seen[i], seen[k]);
	}
	tap_ok(wrong == 0, "type, mode and contents are told apart");
	struct digest none = seen[0];
	tap_ok(layer_stamp(dir, "b.txt/x", &none, NULL) == 0 && digest_eq(none, DIGEST_NULL),
	       "what is not there has none");
}

static void test_faults(const struct folder *f)
{
	int wrong = 0;
	int n = 1;
	for (; fault_walk_on(n); n++) {
		struct err e;
		char hex[DIGEST_HEX];
		const char *found = key(f, "make", texts, env, hex, &e);
		wrong += fault_walk_hit() ? found[0] && e.code : !found[0];
	}
	tap_ok(wrong == 0 && n > 3, "each of %d faults is told", n);
}

int main(void)
{
	struct folder f;
	folder_make(&f);
	folder_put(&f, "a.txt", "a");
	folder_put(&f, "b.txt", "b");
	folder_put(&f, "lock", "l");
	test_key(&f);
	test_refusals(&f);
	test_stamp(&f);
	test_faults(&f);
	folder_done(&f);
	return tap_done();
}
