#include "probe/adapter.h"
#include "sandbox/base/cleanup.h"

static const char plugin[] =
#include "probe/adapters/pytest/fumehood_pytest.inc"
	;

static const struct adapter_file files[] = {
	{ "fumehood_pytest.py", plugin, plugin + sizeof(plugin) - 1 },
};

static const char *const signs[] = {
	"pytest.ini",
	"pyproject.toml:[tool.pytest",
	"setup.cfg:[tool:pytest]",
	"tox.ini:[pytest]",
	"conftest.py",
	"tests/conftest.py",
	"tests/test_*.py",
	"tests/*_test.py",
	"test_*.py",
	"*_test.py",
	NULL,
};
static const char *const command[] = { "python3", "-m", "pytest", NULL };

static const char *const env[] = {
	/* Only the order of the tests varies between two runs. */
	"PYTHONHASHSEED=0",
	"PYTHONNOUSERSITE=1",
	/* The caches that stand are read and none is written. A private PYTHONPYCACHEPREFIX is as
	 * clean, but hides those that stand: 0.75 s of compiling in every cell (measured). */
	"PYTHONDONTWRITEBYTECODE=1",
	/* How the plugin gets in; it takes both out again before any conftest is imported. */
	"PYTHONPATH=${PREPEND}:${ADAPTER}",
	"PYTEST_PLUGINS=${PREPEND},fumehood_pytest",
	NULL,
};
static const char *const state_dirs[] = {
	"*/__pycache__",
	"*/.pytest_cache", /* below each rootdir: a project may hold several */
	"${TMP}/pytest-of-*",
	NULL,
};
static const char *const env_ignored[] = { "PYTEST_CURRENT_TEST", NULL };

const struct adapter adapter_pytest = {
	.name = "pytest",
	.signs = signs,
	.command = command,
	.files = files,
	.files_len = countof(files),
	.env = env,
	.state_dirs = state_dirs,
	.env_ignored = env_ignored,
};
