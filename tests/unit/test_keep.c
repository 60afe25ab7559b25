#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runner/drive/keep.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "tests/lib/fault_walk.h"
#include "tests/lib/folder.h"
#include "tests/lib/tap.h"

static const struct {
	const char *target;
	size_t depth;
	bool stays;
} links[] = {
	{ "a", 0, true },         { "a/b/c", 0, true },      { "./a", 0, true },
	{ ".", 0, true },         { "", 0, true },           { "/a", 9, false },
	{ "..", 0, false },       { "..", 1, true },         { "../a", 1, true },
	{ "../../a", 1, false },  { "a/..", 9, false },      { "../a/../b", 9, false },
	{ ".././../a", 2, true }, { "..//../..", 2, false }, { "...", 0, true },
	{ "..a", 0, true },
};

/* Relative ones lie in the fixture folder, which is the working directory. */
static const struct {
	const char *asked;
	const char *path, *to, *rest; /* NULL: it is refused */
	const char *error;
} places[] = {
	{ "file", "file", "file", "file" },
	{ "folder/", "folder", "folder", "folder" },
	{ "folder/none/x", "folder/none/x", "folder/none/x", "none/x" },
	{ "./folder//./none/", "folder/none", "folder/none", "none" },
	{ "file=folder/other", "file", "folder/other", "other" },
	{ "link", "folder", "folder", "folder" },
	{ "link/x=link/y", "folder/x", "folder/y", "y" },
	{ "folder/../file", "file", "file", "file" },
	{ "none/../file", NULL, NULL, NULL, "name a file or folder" },
	{ "/", NULL, NULL, NULL, "name a file or folder" },
	{ "file=/", NULL, NULL, NULL, "name a file or folder" },
	{ "file=", NULL, NULL, NULL, "name a file or folder" },
};

static bool is_at(const struct folder *f, const char *path, const char *expected)
{
	return text_eq(path, folder_path(f, expected));
}

static void test_places(const struct folder *f)
{
	for (size_t i = 0; i < countof(places); i++) {
		const char *const asked[] = { places[i].asked, NULL };
		cleanup(keeps_done) struct keeps keeps = KEEPS_NULL;
		struct err e = ERR_NULL;
		int r = keeps_open(asked, &keeps, &e);
		if (!places[i].path) {
			tap_ok(r < 0 && e.status == STATUS_USAGE && strstr(e.text, places[i].error),
			       "%s: %s", places[i].asked, e.text);
			continue;
		}
		const struct keep *keep = &keeps.at[0];
		tap_ok(r == 0 && keeps.len == 1 && is_at(f, keep->path, places[i].path) &&
			       is_at(f, keep->to, places[i].to) &&
			       text_eq(keep->rest, places[i].rest),
		       "%s: %s to %s %s", places[i].asked, keep->path, keep->to, e.text);
	}
}

static void test_faults(void)
{
	const char *const asked[] = { "file=folder/none/x", "folder", NULL };
	int wrong = 0;
	int n = 1;
	for (; fault_walk_on(n); n++) {
		cleanup(keeps_done) struct keeps keeps = KEEPS_NULL;
		struct err e = ERR_NULL;
		int r = keeps_open(asked, &keeps, &e);
		wrong += fault_walk_hit() ? r == 0 || !e.text[0] : r != 0;
	}
	tap_ok(wrong == 0 && n > 5, "each of %d faults is told", n);
}

int main(void)
{
	cleanup(folder_done) struct folder f;
	folder_make(&f);
	folder_put(&f, "file", "x");
	folder_put(&f, "folder/x", "x");
	if (symlink("folder", folder_path(&f, "link")) || chdir(folder_path(&f, "")))
		return 1;
	for (size_t i = 0; i < countof(links); i++)
		tap_ok(keep_stays_within(links[i].target, links[i].depth) == links[i].stays,
		       "a link to \"%s\" at depth %zu %s", links[i].target, links[i].depth,
		       links[i].stays ? "stays within" : "is left out");
	test_places(&f);
	test_faults();
	return chdir("/") | tap_done();
}
