#include <fcntl.h>
#include <string.h>

#include "probe/adapter.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/fd.h"
#include "sandbox/base/text.h"
#include "tests/lib/folder.h"
#include "tests/lib/tap.h"

static const struct {
	const char *path, *text;
	const char *adapter; /* NULL: none is meant */
} cases[] = {
	{ "pytest.ini", "", "pytest" },
	{ "pyproject.toml", "[tool.pytest.ini_options]\n", "pytest" },
	{ "pyproject.toml", "[tool.black]\n", NULL },
	{ "setup.cfg", "[metadata]\n[tool:pytest]\n", "pytest" },
	{ "tests/test_a.py", "", "pytest" },
	{ "tests/test_a.pyc", "", NULL },
	{ "tests/a_test.py", "", "pytest" },
	{ "test_a.py", "", "pytest" },
	{ ".test_a.py", "", NULL },
	{ "Makefile", "test:\n", NULL },
};

static void test_detect(void)
{
	for (size_t i = 0; i < countof(cases); i++) {
		cleanup(folder_done) struct folder project;
		folder_make(&project);
		folder_put(&project, cases[i].path, cases[i].text);
		cleanup_close int dir = open(project.path, O_DIRECTORY | O_CLOEXEC);
		const struct adapter *found = adapter_detect(dir);
		tap_ok(text_eq(found ? found->name : NULL, cases[i].adapter), "%s: %s",
		       cases[i].path, found ? found->name : "none");
	}
}

/* The plugin in the binary is the one in the tree, byte for byte. */
static void test_plugin(void)
{
	const struct adapter_file *file = &adapter_pytest.files[0];
	cleanup_free char *text = NULL;
	size_t len = 0;
	bool same = fd_load(AT_FDCWD, PYTEST_PLUGIN, 1 << 20, &text, &len, NULL) == 0 &&
		    len == (size_t)(file->text_end - file->text) &&
		    memcmp(text, file->text, len) == 0;
	tap_ok(same && text_eq(file->name, "fumehood_pytest.py"), "the plugin is brought along");
}

int main(void)
{
	tap_ok(adapter_find("pytest") == &adapter_pytest, "an adapter is found by its name");
	tap_ok(!adapter_find("pytes") && !adapter_find(NULL), "and by no other");
	test_detect();
	test_plugin();
	return tap_done();
}
