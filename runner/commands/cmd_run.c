#include "runner/command.h"
#include "runner/config.h"
#include "runner/ledger.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"

static int run(int argc, const char *const *argv, struct err *e)
{
	cleanup(config_done) struct config c = CONFIG_NULL;
	return config_load(&c, argc, argv, e);
}

const struct command cmd_run = {
	.name = "run",
	.args = "[OPTIONS] -- CMD...",
	.help = "run a test suite in a fresh cell and record what each test leaves behind",
	.options = config_help,
	.more = "",
	.run = run,
};
