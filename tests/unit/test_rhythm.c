#include "runner/drive/rhythm.h"
#include "tests/lib/tap.h"

static void hear(struct rhythm *r, int times, int64_t gap_us, enum rhythm_how how)
{
	for (int i = 0; i < times; i++)
		rhythm_heard(r, gap_us, how);
}

static void test_regular(void)
{
	struct rhythm r = RHYTHM_NULL;
	tap_ok(rhythm_nap_us(&r) == 0, "at first, the next packet may come at once");
	hear(&r, 100, 800, RHYTHM_POLLED);
	int64_t nap = rhythm_nap_us(&r);
	tap_ok(nap > 400 && nap < 700, "in a rhythm, it sleeps for most of the gap");
	tap_ok(nap + RHYTHM_POLL_US_MAX > 800, "and polls beyond its end");
	hear(&r, 1, 300, RHYTHM_SLEPT);
	tap_ok(rhythm_nap_us(&r) < 250, "one that comes sooner is believed at once");
	hear(&r, 1, 3000, RHYTHM_SLEPT);
	tap_ok(rhythm_nap_us(&r) < 600, "one that comes later only by and by");
}

static void test_not_worth_it(void)
{
	struct rhythm r = RHYTHM_NULL;
	hear(&r, 100, 2 * RHYTHM_GAP_US_MAX, RHYTHM_SLEPT);
	tap_ok(rhythm_nap_us(&r) < 0, "between long tests it only sleeps");
	hear(&r, 1, 100, RHYTHM_SLEPT);
	tap_ok(rhythm_nap_us(&r) >= 0, "until they are short");

	hear(&r, RHYTHM_MISSES_MAX - 1, 900, RHYTHM_MISSED);
	hear(&r, 1, 900, RHYTHM_POLLED);
	hear(&r, RHYTHM_MISSES_MAX - 1, 900, RHYTHM_MISSED);
	tap_ok(rhythm_nap_us(&r) >= 0, "a few misses are borne");
	hear(&r, 1, 900, RHYTHM_MISSED);
	tap_ok(rhythm_nap_us(&r) < 0, "one more, and it rests");
	hear(&r, RHYTHM_REST - 1, 900, RHYTHM_SLEPT);
	tap_ok(rhythm_nap_us(&r) < 0, "for as many packets as it says");
	hear(&r, 1, 900, RHYTHM_SLEPT);
	tap_ok(rhythm_nap_us(&r) >= 0, "and tries again");
}

int main(void)
{
	test_regular();
	test_not_worth_it();
	return tap_done();
}
