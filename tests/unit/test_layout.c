#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/text.h"
#include "sandbox/layout.h"
#include "tests/lib/fault_walk.h"
#include "tests/lib/tap.h"

/* A tree in which nothing is mounted but what a test's mountinfo says. */
struct tree {
	char top[PATH_MAX];
	char project[PATH_MAX + 16];
	char home[PATH_MAX + 16];
	char mountinfo[PATH_MAX * 2];
};

static void folder(const struct tree *t, const char *name)
{
	char path[PATH_MAX + 64];
	snprintf(path, sizeof(path), "%s/%s", t->top, name);
	if (mkdir(path, 0755) < 0)
		abort();
}

static void tree_make(struct tree *t)
{
	char top[] = "/tmp/fumehood-layout.XXXXXX";
	if (!mkdtemp(top))
		abort();
	snprintf(t->top, sizeof(t->top), "%s", top);
	snprintf(t->project, sizeof(t->project), "%s/project", top);
	snprintf(t->home, sizeof(t->home), "%s/home", top);
	static const char *const folders[] = { "home",        "project",     "project/a",
					       "project/a/x", "project/a/y", "project/b" };
	for (size_t i = 0; i < countof(folders); i++)
		folder(t, folders[i]);
	t->mountinfo[0] = '\0';
}

static void tree_done(struct tree *t)
{
	char command[PATH_MAX + 16];
	snprintf(command, sizeof(command), "rm -rf %s", t->top);
	if (system(command) != 0) // NOLINT(cert-env33-c)
		abort();
}

/* Say that something is mounted at a name in the tree. */
static void mounted(struct tree *t, const char *name)
{
	size_t len = strlen(t->mountinfo);
	snprintf(t->mountinfo + len, sizeof(t->mountinfo) - len, "1 0 0:1 / %s/%s rw - t s o\n",
		 t->top, name);
}

static struct cell_spec user_of(const struct tree *t)
{
	return (struct cell_spec){ .uid = 1000, .home = t->home, .project = t->project };
}

static const struct layout_place *find(const struct layout *l, const char *path)
{
	for (size_t i = 0; i < l->len; i++)
		if (strcmp(l->places[i].path, path) == 0)
			return &l->places[i];
	return NULL;
}

static const struct layout_place *find_in(const struct layout *l, const struct tree *t,
					  const char *name)
{
	char path[PATH_MAX + 64];
	snprintf(path, sizeof(path), "%s/%s", t->top, name);
	return find(l, path);
}

static size_t index_of(const struct layout *l, const struct layout_place *place)
{
	return (size_t)(place - l->places);
}

static void test_user(void)
{
	cleanup(tree_done) struct tree t;
	tree_make(&t);
	struct cell_spec spec = user_of(&t);
	cleanup(layout_done) struct layout l = LAYOUT_NULL;
	struct err e = ERR_NULL;
	tap_ok(layout_make(&spec, t.mountinfo, NULL, &l, &e) == 0, "a user's layout %s", e.text);
	tap_ok(l.trees_len == 1 && find(&l, t.project) && find(&l, t.project)->project,
	       "the project is the one overlay");
	tap_ok(index_of(&l, find(&l, t.project)) == l.len - 1, "... and the last place");
	const struct layout_place *tmp = find(&l, "/tmp");
	const struct layout_place *home = find(&l, t.home);
	tap_ok(tmp && home && !tmp->overlay && !home->overlay, "tmp and home are private");
	tap_ok(tmp < home, "home, which lies in /tmp here, is mounted after it");
	tap_ok(find_in(&l, &t, "home/.cache") && find(&l, "/dev/shm"), "so are cache and shm");

	spec.home = "/no/such/home";
	cleanup(layout_done) struct layout homeless = LAYOUT_NULL;
	int r = layout_make(&spec, t.mountinfo, NULL, &homeless, &e);
	tap_ok(r == 0 && homeless.len == l.len - 2, "a home that is not there is no place");
	spec.home = "/tmp";
	cleanup(layout_done) struct layout shared = LAYOUT_NULL;
	r = layout_make(&spec, t.mountinfo, NULL, &shared, &e);
	tap_ok(r == 0 && shared.len == l.len - 2, "one place is mounted once");
}

static void test_split(void)
{
	cleanup(tree_done) struct tree t;
	tree_make(&t);
	mounted(&t, "project/a/x");
	mounted(&t, "projects");
	struct cell_spec spec = user_of(&t);
	cleanup(layout_done) struct layout l = LAYOUT_NULL;
	struct err e = ERR_NULL;
	tap_ok(layout_make(&spec, t.mountinfo, NULL, &l, &e) == 0,
	       "a project with a mount in it %s", e.text);
	tap_ok(!find(&l, t.project) && !find_in(&l, &t, "project/a"),
	       "what holds the mount gets no overlay");
	tap_ok(find_in(&l, &t, "project/a/x") && find_in(&l, &t, "project/a/y") &&
		       find_in(&l, &t, "project/b"),
	       "the rest and the mount do");
}

static void test_bound(void)
{
	cleanup(tree_done) struct tree t;
	tree_make(&t);
	mounted(&t, "project/a/x");
	for (int i = 0; i < CELL_TREES_MAX; i++) {
		char name[32];
		snprintf(name, sizeof(name), "project/n%d", i);
		folder(&t, name);
	}
	struct cell_spec spec = user_of(&t);
	cleanup(layout_done) struct layout l = LAYOUT_NULL;
	struct err e = ERR_NULL;
	int r = layout_make(&spec, t.mountinfo, NULL, &l, &e);
	tap_ok(r == -E2BIG && strstr(e.text, "more than 48 trees") && l.len == 0,
	       "more trees than the bound: %s", e.text);
	tap_ok(layout_make(&spec, "1 0\n", NULL, &l, &e) == -EPROTO, "a mountinfo that is none");
}

static void test_root(void)
{
	cleanup(tree_done) struct tree t;
	tree_make(&t);
	struct cell_spec spec = user_of(&t);
	spec.uid = 0;
	cleanup(layout_done) struct layout l = LAYOUT_NULL;
	struct err e = ERR_NULL;
	mounted(&t, "");
	tap_ok(layout_make(&spec, t.mountinfo, NULL, &l, &e) == 0, "root's layout %s", e.text);
	tap_ok(find(&l, "/etc") && find(&l, "/etc")->overlay && find(&l, "/usr"),
	       "root can write to the system");
	tap_ok(!find(&l, "/proc") && !find(&l, "/sys") && !find(&l, "/dev") && !find(&l, "/boot"),
	       "... but not to what is the kernel's");
	tap_ok(!find(&l, "/tmp")->overlay && !find(&l, "/run")->overlay, "private stays private");
	struct stat st;
	tap_ok(lstat("/bin", &st) < 0 || S_ISDIR(st.st_mode) || !find(&l, "/bin"),
	       "a link at the top is none");
	tap_ok(find(&l, "/etc") < find(&l, "/tmp") && find(&l, "/tmp") < find(&l, t.project),
	       "system, private, project: the order of mounting");
}

static bool holds_nothing(const char *path)
{
	struct dirent **names;
	int n = scandir(path, &names, NULL, NULL);
	for (int i = 0; i < n; i++)
		free(names[i]);
	if (n >= 0)
		free(names);
	return n == 2;
}

static void test_empty(void)
{
	cleanup(tree_done) struct tree t;
	tree_make(&t);
	mounted(&t, "project/a/x");
	struct cell_spec spec = user_of(&t);
	spec.uid = 0;
	cleanup(layout_done) struct layout l = LAYOUT_NULL;
	int r = layout_make(&spec, t.mountinfo, NULL, &l, NULL);
	size_t empty = 0;
	size_t wrong = 0;
	for (size_t i = 0; i < l.len; i++) {
		const struct layout_place *p = &l.places[i];
		empty += p->empty;
		wrong += p->empty && (p->overlay || p->project || !holds_nothing(p->path));
		wrong += p->overlay && !p->project && holds_nothing(p->path);
	}
	tap_ok(r == 0 && wrong == 0, "root's empty folders, %zu here, get no overlay", empty);
	const struct layout_place *b = find_in(&l, &t, "project/b");
	tap_ok(b && b->overlay, "but those of the project do");
}

/* A mount in /usr/share, which has more folders than there is room for. */
static void test_crowded(void)
{
	cleanup(tree_done) struct tree t;
	tree_make(&t);
	struct cell_spec spec = user_of(&t);
	spec.uid = 0;
	spec.home = NULL;
	cleanup(layout_done) struct layout l = LAYOUT_NULL;
	struct err e = ERR_NULL;
	snprintf(t.mountinfo, sizeof(t.mountinfo), "1 0 0:1 / /usr/share/doc rw - t s o\n");
	int r = layout_make(&spec, t.mountinfo, NULL, &l, &e);
	size_t below = 0;
	for (size_t i = 0; i < l.len; i++)
		below += path_below(l.places[i].path, "/usr");
	tap_ok(r == 0 && find(&l, "/etc") && (below == 0 || (find(&l, "/usr/bin") && below > 10)),
	       "a split tree is there whole or not at all: %zu %s", below, e.text);
}

static void test_copy(void)
{
	cleanup(tree_done) struct tree t;
	tree_make(&t);
	mounted(&t, "project/a/x");
	struct cell_spec spec = user_of(&t);
	spec.project_copy = true;
	cleanup(layout_done) struct layout l = LAYOUT_NULL;
	int r = layout_make(&spec, t.mountinfo, NULL, &l, NULL);
	const struct layout_place *p = find(&l, t.project);
	tap_ok(r == 0 && p && p->copy && p->project && !p->overlay && !p->empty && l.trees_len == 1,
	       "a project that is copied is one place, whatever is mounted in it");
}

static void test_homes(void)
{
	cleanup(tree_done) struct tree t;
	tree_make(&t);
	char homes[PATH_MAX + 16];
	snprintf(homes, sizeof(homes), "%s/project/a", t.top);
	mounted(&t, "project/a/x");
	struct cell_spec spec = user_of(&t);
	spec.project = "/usr/bin";
	spec.homes = (const char *const[]){ homes, t.home, "/no/such/folder" };
	spec.homes_len = 3;
	cleanup(layout_done) struct layout l = LAYOUT_NULL;
	int r = layout_make(&spec, t.mountinfo, NULL, &l, NULL);
	const struct layout_place *p = find(&l, homes);
	tap_ok(r == 0 && p && p->empty && !p->overlay && !p->project && l.trees_len == 2,
	       "others' homes are empty, whatever is mounted in them");
	tap_ok(find(&l, t.home) && !find(&l, t.home)->empty && find(&l, t.home) > p,
	       "... and one's own stays what it is");
}

static void test_closed(void)
{
	cleanup(tree_done) struct tree t;
	tree_make(&t);
	struct cell_spec spec = user_of(&t);
	spec.uid = 0;
	spec.hidden = (const char *const[]){ "/usr" };
	spec.hidden_len = 1;
	cleanup(layout_done) struct layout l = LAYOUT_NULL;
	int r = layout_make(&spec, t.mountinfo, NULL, &l, NULL);
	tap_ok(r == 0 && find(&l, "/etc") && !find(&l, "/usr"), "what is hidden needs no overlay");
}

/* The layers lie in /usr/share/doc. */
static void test_hidden(void)
{
	cleanup(tree_done) struct tree t;
	tree_make(&t);
	struct cell_spec spec = user_of(&t);
	spec.uid = 0;
	spec.home = NULL;
	spec.project = "/usr/bin";
	cleanup(layout_done) struct layout l = LAYOUT_NULL;
	int r = layout_make(&spec, "", "/usr/share/doc", &l, NULL);
	size_t around = 0;
	size_t projects = 0;
	for (size_t i = 0; i < l.len; i++) {
		around += path_below("/usr/share/doc", l.places[i].path);
		projects += path_below(l.places[i].path, spec.project);
	}
	tap_ok(r == 0 && around == 0 && l.trees_len > 1, "no tree holds its own layers");
	tap_ok(projects == 1 && find(&l, spec.project)->project,
	       "in a split tree the project is no tree of the system");
}

static void test_faults(void)
{
	cleanup(tree_done) struct tree t;
	tree_make(&t);
	mounted(&t, "project/a/x");
	struct cell_spec spec = user_of(&t);
	for (int n = 1; fault_walk_on(n); n++) {
		cleanup(layout_done) struct layout l = LAYOUT_NULL;
		struct err e = ERR_NULL;
		int r = layout_make(&spec, t.mountinfo, NULL, &l, &e);
		bool hit = fault_walk_hit();
		tap_ok(r == 0 || (hit && e.code == -r && l.len == 0), "call %d fails: %s", n, e.text);
	}
}

int main(void)
{
	test_user();
	test_split();
	test_bound();
	test_root();
	test_empty();
	test_crowded();
	test_copy();
	test_homes();
	test_closed();
	test_hidden();
	test_faults();
	return tap_done();
}
