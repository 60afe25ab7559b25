#include "runner/earlier.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runner/ledger.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"

static int find(struct earlier *earlier, enum config_command command, int argc,
		const char *const *argv, struct err *e)
{
	const char *run = earlier->words.words.at[0];
	if (strchr(run, '/')) /* it says itself which project it is of */
		return ledger_find(run, "", NULL, &earlier->path, e);
	cleanup(config_done) struct config here = CONFIG_NULL;
	int r = config_load(&here, command, argc, argv, e);
	return r ? r : ledger_find(run, here.project.path, here.home, &earlier->path, e);
}

int earlier_find(struct earlier *ret, enum config_command command, const char *name, int argc,
		 const char *const *argv, struct err *e)
{
	cleanup(ledger_done) struct ledger ledger = LEDGER_NULL;
	int r = config_words(&ret->words, command, argc, argv, e);
	if (r)
		return r;
	if (!ret->words.words.len) {
		err_set(e, EINVAL, "%s needs a run", name);
		err_status(e, STATUS_USAGE);
		return err_hint(e, "the folder of a run, its name, or %s", RUN_LATEST);
	}
	r = find(ret, command, argc, argv, e);
	r = r ? r : ledger_open_own(ret->path, &ledger, e);
	r = r ? r : ledger_load(&ledger, "run.json", &ret->about, e);
	return r ? r : config_load_again(&ret->config, command, ret->about, argc, argv, e);
}

void earlier_done(struct earlier *earlier)
{
	config_done(&earlier->words);
	config_done(&earlier->config);
	free(earlier->path);
	cJSON_Delete(earlier->about);
	*earlier = EARLIER_NULL;
}
