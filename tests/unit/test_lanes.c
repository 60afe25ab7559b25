#include "runner/drive/lanes.h"
#include "sandbox/base/cleanup.h"
#include "tests/lib/tap.h"

static const struct {
	const char *text;
	unsigned granted;
} groups[] = {
	{ "max 100000\n", 0 },
	{ "200000 100000\n", 2 },
	{ "150000 100000\n", 2 },
	{ "1000 100000\n", 1 },
	{ "0 100000\n", 0 },
	{ "200000 0\n", 0 },
	{ "9999999999 100000\n", 0 },
	{ "", 0 },
	{ "200000", 0 },
};

int main(void)
{
	for (size_t i = 0; i < countof(groups); i++)
		tap_ok(lanes_granted(groups[i].text) == groups[i].granted, "cpu.max %zu grants %u",
		       i, groups[i].granted);
	tap_ok(lanes_default() >= 1 && lanes_default() <= LANES_MAX, "there is at least one lane");
	return tap_done();
}
