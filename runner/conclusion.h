#pragma once
/*
 * conclusion: what a check comes to, from its campaign and its ledger, whether it
 * ran to its end or was cut short. Reads; runs nothing.
 */
#include "runner/campaign.h"
#include "runner/judge/findings.h"
#include "runner/judge/summary.h"
#include "sandbox/base/text.h"

struct conclusion {
	struct summary summary; /* with the verdict */
	struct findings findings;
	struct strv skipped; /* sentences: what was not run, and what that leaves open */
};
#define CONCLUSION_NULL ((struct conclusion){ 0 })

/* Borrows the campaign. */
int conclusion_draw(struct campaign *k, const struct ledger *l, bool interrupted,
		    struct conclusion *ret, struct err *e);
void conclusion_done(struct conclusion *c);
