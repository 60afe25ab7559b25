#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runner/campaign.h"
#include "runner/command.h"
#include "runner/judge/diff.h"
#include "runner/ledger.h"
#include "runner/report/differences.h"
#include "runner/report/report.h"
#include "runner/terminal.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/clock.h"
#include "sandbox/base/err.h"

/* One of the two runs, read back. */
struct side {
	struct ledger ledger;
	struct summary summary;
	struct campaign_setup setup;
	struct campaign campaign; /* what it knew at its end: classes */
};
#define SIDE_NULL ((struct side){ .ledger = LEDGER_NULL })

static void side_done(struct side *s)
{
	campaign_done(&s->campaign);
	summary_done(&s->summary);
	ledger_done(&s->ledger);
}

/* In place: the campaign points at its setup. A folder that is there and cannot be read is bad input. */
static int read_side(struct side *s, const struct config *c, const char *path, struct err *e)
{
	s->setup = (struct campaign_setup){ .ask = &c->plan,
					    .facts = { .lanes = 1 },
					    .accepted = &s->summary.accepted,
					    .shrink = true,
					    .now_ms = clock_ms };
	campaign_init(&s->campaign, &s->setup);
	int r = ledger_open(path, &s->ledger, e);
	r = r ? r : summary_read(&s->ledger, &s->summary, e);
	r = r ? r : ledger_each(&s->ledger, campaign_line, &s->campaign, e);
	r = r ? r : campaign_recall(&s->campaign, e);
	if (r && r != -ENOMEM)
		err_status(e, STATUS_DATA);
	return r;
}

static int find_run(const struct config *c, const char *run, char **ret, struct err *e)
{
	if (strchr(run, '/'))
		return ledger_find(run, "", NULL, ret, e);
	cleanup(config_done) struct config here = CONFIG_NULL;
	const char *const argv[] = { "diff", NULL };
	int r = config_load(&here, CONFIG_DIFF, 1, argv, e);
	return r ? r : ledger_find(run, here.project.path, c->home, ret, e);
}

static int compare(const struct config *c, const struct side *before, const struct side *after,
		   struct err *e)
{
	cleanup(diff_done) struct diff d = DIFF_NULL;
	const struct diff_side sides[] = { { &before->summary, &before->campaign.classes },
					   { &after->summary, &after->campaign.classes } };
	if (diff_make(&sides[0], &sides[1], &d))
		return err_set(e, ENOMEM, "compare the runs: no memory");
	const struct differences told = { .diff = &d, .before = &sides[0], .after = &sides[1] };
	const struct terminal terminal = terminal_of(STDOUT_FILENO, c->color, getenv);
	const struct report_look look = { .terminal = &terminal,
					  .quiet = c->quiet,
					  .verbose = c->verbose };
	int r = c->json ? differences_write_json(&told, stdout, e)
			: differences_write_text(&told, &look, stdout, e);
	return r ? r : diff_status(&d);
}

static int check_words(const struct config *c, struct err *e)
{
	if (c->words.len == 2 && !c->command[0])
		return 0;
	err_set(e, EINVAL, "diff compares two runs, and %s",
		c->command[0] ? "runs no command" : "fewer are named");
	err_hint(e, "fumehood diff BEFORE AFTER; a run is a folder, its name, or latest");
	return err_status(e, STATUS_USAGE);
}

static int run(int argc, const char *const *argv, struct err *e)
{
	cleanup(config_done) struct config c = CONFIG_NULL;
	cleanup(side_done) struct side before = SIDE_NULL;
	cleanup(side_done) struct side after = SIDE_NULL;
	cleanup_free char *from = NULL;
	cleanup_free char *to = NULL;
	int r = config_words(&c, CONFIG_DIFF, argc, argv, e);
	r = r ? r : check_words(&c, e);
	r = r ? r : find_run(&c, c.words.at[0], &from, e);
	r = r ? r : find_run(&c, c.words.at[1], &to, e);
	r = r ? r : read_side(&before, &c, from, e);
	r = r ? r : read_side(&after, &c, to, e);
	return r ? r : compare(&c, &before, &after, e);
}

const struct command cmd_diff = {
	.name = "diff",
	.args = "[OPTIONS] RUN RUN",
	.help = "say what is other in the second run than in the first",
	.options = CONFIG_DIFF,
	.more = "A run is a folder, its name, or latest. What was not the same in both, command, settings\n"
		"or environment, is said first; then which tests regressed, are fixed, added, removed\n"
		"or of another class, and what is newly left behind or no longer.\n\n"
		"Exit status: 1 when a test regressed or is gone, a new one does not pass in every\n"
		"order, or something that stood before is newly damaged; else 0. 64 usage, 65 a run\n"
		"folder that cannot be read.\n\n"
		"Example:\n"
		"  fumehood diff 20261130T210000Z-1a2b latest\n",
	.run = run,
};
