#include "runner/project.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/text.h"
#include "tests/lib/fault_walk.h"
#include "tests/lib/folder.h"
#include "tests/lib/tap.h"

/* What is found from where; paths are below the fixture folder, "" is the folder itself. */
static const struct {
	const char *cwd, *asked, *home;
	const char *path, *inner_cwd, *config, *git_dir; /* NULL: none */
	const char *error;
} cases[] = {
	{ "plain/deep", NULL, "home", "plain/deep", "plain/deep", NULL, NULL, NULL },
	{ "repo/src/deep", NULL, "home", "repo", "repo/src/deep", NULL, NULL, NULL },
	{ "repo/part/src", NULL, "home", "repo/part", "repo/part/src", "repo/part/fumehood.json",
	  "repo/.git", NULL },
	{ "linked/src", NULL, "home", "linked", "linked/src", NULL, "repo/.git", NULL },
	{ "module/src", NULL, "home", "module", "module/src", NULL, "repo/.git/modules/m", NULL },
	{ "pruned", NULL, "home", "pruned", "pruned", NULL, NULL, NULL },
	{ "plain", "../repo/part", "home", "repo/part", "repo/part", "repo/part/fumehood.json",
	  "repo/.git", NULL },
	{ "repo/part/src", "../..", "home", "repo", "repo/part/src", NULL, NULL, NULL },
	{ "repo/part/src", "../../src", "home", "repo/src", "repo/src", NULL, "repo/.git", NULL },
	{ "home/work", NULL, "home", "home/work", "home/work", NULL, NULL, NULL },
	{ "home", NULL, "home", NULL, NULL, NULL, NULL, "it is your home directory" },
	{ "plain", "..", "home", NULL, NULL, NULL, NULL, "it is a folder above your home directory" },
	{ "plain", "/", NULL, NULL, NULL, NULL, NULL, "it is the root of the file system" },
	{ "plain", "nowhere", "home", NULL, NULL, NULL, NULL, "--project: nowhere: No such file" },
	{ "plain", "../repo/file", "home", NULL, NULL, NULL, NULL, "repo/file is no folder" },
	{ "broken", NULL, "home", NULL, NULL, NULL, NULL, "is no git file" },
};

static void make(const struct folder *f)
{
	static const struct {
		const char *name, *text;
	} entries[] = {
		{ "home/work", NULL },
		{ "plain/deep", NULL },
		{ "repo/.git/worktrees/linked/commondir", "../..\n" },
		{ "repo/.git/modules/m/HEAD", "" },
		{ "repo/src/deep", NULL },
		{ "repo/file", "" },
		{ "repo/part/src", NULL },
		{ "repo/part/fumehood.json", "{}" },
		{ "linked/src", NULL },
		{ "linked/.git", "gitdir: ../repo/.git/worktrees/linked\n" },
		{ "module/src", NULL },
		{ "module/.git", "gitdir: ../repo/.git/modules/m\n" },
		{ "pruned/.git", "gitdir: /nowhere/at/all\n" },
		{ "broken/.git", "something\n" },
	};
	for (size_t i = 0; i < countof(entries); i++)
		folder_put(f, entries[i].name, entries[i].text);
}

static bool is(const struct folder *f, const char *path, const char *expected)
{
	return text_eq(path, expected ? folder_path(f, expected) : NULL);
}

static void test_faults(const struct folder *f)
{
	int wrong = chdir(folder_path(f, "linked/src"));
	int n = 1;
	for (; fault_walk_on(n); n++) {
		cleanup(project_done) struct project p = PROJECT_NULL;
		struct err e = ERR_NULL;
		int r = project_find(NULL, "/nowhere", &p, &e);
		wrong += fault_walk_hit() ? r == 0 || !e.text[0] : r != 0 || !p.git_dir;
	}
	tap_ok(wrong == 0 && n > 5, "each of %d faults is told", n);
}

int main(void)
{
	cleanup(folder_done) struct folder f;
	folder_make(&f);
	make(&f);
	for (size_t i = 0; i < countof(cases); i++) {
		cleanup(project_done) struct project p = PROJECT_NULL;
		struct err e = ERR_NULL;
		const char *home = cases[i].home ? folder_path(&f, cases[i].home) : NULL;
		if (chdir(folder_path(&f, cases[i].cwd)))
			return 1;
		int r = project_find(cases[i].asked, home, &p, &e);
		if (cases[i].error)
			tap_ok(r < 0 && strstr(e.text, cases[i].error) &&
				       (e.status == STATUS_USAGE || e.status == STATUS_DATA),
			       "refused: %s", e.text);
		else
			tap_ok(r == 0 && is(&f, p.path, cases[i].path) &&
				       is(&f, p.cwd, cases[i].inner_cwd) &&
				       is(&f, p.config, cases[i].config) &&
				       is(&f, p.git_dir, cases[i].git_dir),
			       "from %s: %s %s %s %s", cases[i].cwd, p.path, p.cwd, p.config,
			       p.git_dir);
	}
	test_faults(&f);
	return chdir("/") | tap_done();
}
