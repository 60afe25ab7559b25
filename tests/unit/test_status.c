#include <string.h>

#include "runner/judge/status.h"
#include "sandbox/base/cleanup.h"
#include "tests/lib/tap.h"

static const struct {
	struct status_facts facts;
	int status;
	const char *reasons; /* joined by "; " */
} cases[] = {
	{ { .tests = 2 }, 0, "" },
	{ { .tests = 2, .leaks = 3 }, 0, "" },
	{ { .tests = 2, .leaks = 1, .leaks_fail = true }, 1, "1 thing left behind" },
	{ { .tests = 2, .writes = 1 }, 1, "1 write outside of the state folders" },
	{ { .tests = 2, .damage = 2 }, 1, "2 things that stood before damaged" },
	{ { .tests = 2, .failed = 1, .command = 1 }, 2, "1 test failed" },
	{ { .tests = 2, .command = 3 }, 2, "the command ended with status 3 though no test failed" },
	{ { .tests = 2, .failed = 1, .damage = 1, .command = 1 },
	  1,
	  "1 thing that stood before damaged; 1 test failed" },
	{ { .command = 5 }, 4, "no tests ran" },
	{ { .tests = 2, .reduced = "net" }, 3, "the isolation is reduced: net" },
	{ { .tests = 2, .reduced = "net", .failed = 1 },
	  3,
	  "the isolation is reduced: net; 1 test failed" },
	{ { .tests = 2, .tracker_lost = true }, 3, "the tracker asked for could not be used" },
	{ { .tests = 1, .absent = 4, .failed = 1, .command = 139 },
	  3,
	  "4 tests did not run; 1 test failed" },
	{ { .tests = 1, .protocol_broken = true }, 3, "the adapter broke the protocol" },
	{ { .absent = 2, .protocol_broken = true, .command = 2 },
	  3,
	  "the adapter broke the protocol; 2 tests did not run" },
	{ { .died = true, .command = 1 }, 3, "the test process ended before its session did" },
	{ { .uncollected = true, .command = 137 },
	  3,
	  "the suite was not collected to the end: not all of its tests are known" },
	{ { .tests = 1, .stuck = 2, .command = 137 },
	  3,
	  "in 2 orders the command did not end, and no test was running" },
	{ { .tests = 1, .stuck = 1, .timed_out = true }, 124, "the time limit of the run passed" },
	{ { .tests = 1, .differing = 1 }, 3, "1 order had other tests than the first" },
	{ { .tests = 1, .unfinished = true }, 3, "the run did not come to its end" },
	{ { .tests = 1, .absent = 1, .failed = 1, .timed_out = true, .command = 143 },
	  124,
	  "the time limit of the run passed; 1 test did not run; 1 test failed" },
	{ { .tests = 1, .interrupted = true, .damage = 1, .command = 130 },
	  130,
	  "interrupted; 1 thing that stood before damaged" },
	{ { .interrupted = true }, 130, "interrupted" },

	{ { .tests = 2, .failed = 1, .exit_zero = true }, 0, "1 test failed" },
	{ { .tests = 2, .reduced = "net", .exit_zero = true }, 0, "the isolation is reduced: net" },
	{ { .interrupted = true, .exit_zero = true }, 130, "interrupted" },
	{ { .tests = 2, .reduced = "net", .bisect_exit = true }, 125, "the isolation is reduced: net" },
	{ { .tests = 2, .failed = 1, .bisect_exit = true }, 2, "1 test failed" },
	{ { .bisect_exit = true }, 125, "no tests ran" },
};

static const struct {
	int status, bisect;
} bisect[] = { { 0, 0 },    { 1, 1 },    { 2, 2 },    { 3, 125 },  { 4, 125 },  { 124, 125 },
	       { 69, 125 }, { 64, 128 }, { 65, 128 }, { 70, 128 }, { 130, 130 } };

int main(void)
{
	for (size_t i = 0; i < countof(cases); i++) {
		cleanup(verdict_done) struct verdict v = VERDICT_NULL;
		char joined[512] = "";
		int r = status_judge(&cases[i].facts, &v);
		for (size_t k = 0; k < v.reasons.len; k++)
			snprintf(joined + strlen(joined), sizeof(joined) - strlen(joined), "%s%s",
				 k ? "; " : "", v.reasons.at[k]);
		tap_ok(r == 0 && v.status == cases[i].status && text_eq(joined, cases[i].reasons),
		       "%d: %s", v.status, joined);
	}
	for (size_t i = 0; i < countof(bisect); i++)
		tap_ok(status_for_bisect(bisect[i].status) == bisect[i].bisect, "bisect: %d",
		       bisect[i].status);
	return tap_done();
}
