#pragma once
/*
 * ask: which orders the user wants, as the settings tell it. Plain data.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runner/plan/serial.h"
#include "sandbox/base/text.h"

enum plan_profile { /* how much is worth spending */
		    PLAN_DEFAULT,
		    PLAN_PR,
		    PLAN_NIGHTLY,
		    PLAN_RELEASE,
		    PLAN_CRITICAL,
		    PLAN_PROFILE_N,
};

enum plan_shuffle {                    /* what the orders are made by */
		    PLAN_SHUFFLE_AUTO, /* shuffle; a suite of few tests: pairs, too */
		    PLAN_SHUFFLE,
		    PLAN_SHUFFLE_PYTHON,
		    PLAN_SHUFFLE_NATIVE,
		    PLAN_SHUFFLE_MODULES,
		    PLAN_SHUFFLE_CLASSES,
		    PLAN_SHUFFLE_PAIRS,
		    PLAN_SHUFFLE_REVERSE,   /* no other than reverse */
		    PLAN_SHUFFLE_CANONICAL, /* no other than canonical */
		    PLAN_SHUFFLE_N,
};

enum plan_isolated {
	PLAN_ISOLATED_AUTO, /* all tests of a suite up to PLAN_ISOLATED_MAX, else what varied */
	PLAN_ISOLATED_ALL,
	PLAN_ISOLATED_VARIED,
	PLAN_ISOLATED_NONE,
	PLAN_ISOLATED_N,
};

enum plan_vary { PLAN_VARY_HASHSEED, PLAN_VARY_TZ, PLAN_VARY_LOCALE, PLAN_VARY_UMASK, PLAN_VARY_N };

extern const char *const plan_profile_names[PLAN_PROFILE_N];
extern const char *const plan_shuffle_names[PLAN_SHUFFLE_N];
extern const char *const plan_isolated_names[PLAN_ISOLATED_N];
extern const char *const plan_vary_names[PLAN_VARY_N];

#define PLAN_SEED_MAX  ((UINT64_C(1) << 53) - 1) /* JSON numbers hold no larger one */
#define PLAN_SEEDS_MAX 10000

struct plan_ask {
	int profile;        /* enum plan_profile */
	int shuffle;        /* enum plan_shuffle */
	uint32_t seeds;     /* how many: 1 to this; 0: as the profile says */
	struct strv named;  /* seeds by name, in decimal */
	double bound;       /* take as many as give this; 0: not asked */
	char *order;        /* path of an order file; NULL: none */
	char *select;       /* "touched" or "touched:BASE"; NULL: all tests */
	uint32_t budget_ms; /* 0: none */
	int isolated;       /* enum plan_isolated */
	bool repeated;
	bool parallel;
	struct strv vary; /* of plan_vary_names */
	struct serials serial;
};
#define PLAN_ASK_NULL ((struct plan_ask){ 0 })
