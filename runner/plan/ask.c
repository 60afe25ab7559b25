#include "runner/plan/ask.h"

const char *const plan_profile_names[PLAN_PROFILE_N] = {
	[PLAN_DEFAULT] = "default",   [PLAN_PR] = "pr",
	[PLAN_NIGHTLY] = "nightly",   [PLAN_RELEASE] = "release",
	[PLAN_CRITICAL] = "critical",
};

const char *const plan_shuffle_names[PLAN_SHUFFLE_N] = {
	[PLAN_SHUFFLE_AUTO] = "auto",
	[PLAN_SHUFFLE] = "shuffle",
	[PLAN_SHUFFLE_PYTHON] = "python",
	[PLAN_SHUFFLE_NATIVE] = "native",
	[PLAN_SHUFFLE_MODULES] = "shuffle-modules",
	[PLAN_SHUFFLE_CLASSES] = "shuffle-classes",
	[PLAN_SHUFFLE_PAIRS] = "pairs",
	[PLAN_SHUFFLE_REVERSE] = "reverse",
	[PLAN_SHUFFLE_CANONICAL] = "canonical",
};

const char *const plan_isolated_names[PLAN_ISOLATED_N] = {
	[PLAN_ISOLATED_AUTO] = "auto",
	[PLAN_ISOLATED_ALL] = "all",
	[PLAN_ISOLATED_VARIED] = "varied",
	[PLAN_ISOLATED_NONE] = "none",
};

const char *const plan_vary_names[PLAN_VARY_N] = {
	[PLAN_VARY_HASHSEED] = "hashseed",
	[PLAN_VARY_TZ] = "tz",
	[PLAN_VARY_LOCALE] = "locale",
	[PLAN_VARY_UMASK] = "umask",
};
