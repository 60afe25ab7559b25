#include "runner/quantity.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/text.h"
#include "tests/lib/tap.h"

static const struct {
	const char *text;
	uint32_t ms;
	const char *error;
} durations[] = {
	{ "500ms", 500, "" },
	{ "90s", 90000, "" },
	{ "20m", 1200000, "" },
	{ "2h", 7200000, "" },
	{ "0", 0, "" },
	{ "720h", 2592000000, "" },
	{ "90", 0, "\"90\" has no unit; write 500ms, 90s, 20m or 2h" },
	{ "", 0, "\"\" is no duration; write 500ms, 90s, 20m or 2h" },
	{ "-1s", 0, "\"-1s\" is no duration; write 500ms, 90s, 20m or 2h" },
	{ "1.5h", 0, "\"1.5h\" ends in a unit that is not known; write 500ms, 90s, 20m or 2h" },
	{ "3d", 0, "\"3d\" ends in a unit that is not known; write 500ms, 90s, 20m or 2h" },
	{ "721h", 0, "\"721h\" is over 720h; write 500ms, 90s, 20m or 2h" },
	{ "99999999999999999999s", 0,
	  "\"99999999999999999999s\" is over 720h; write 500ms, 90s, 20m or 2h" },
};

static const struct {
	const char *text;
	uint64_t bytes;
	const char *error;
} sizes[] = {
	{ "512K", 512 << 10, "" },
	{ "64M", 64 << 20, "" },
	{ "2G", 2ULL << 30, "" },
	{ "64MB", 0, "\"64MB\" ends in a unit that is not known; write 512K, 64M or 2G" },
	{ "64", 0, "\"64\" has no unit; write 512K, 64M or 2G" },
	{ "18446744073709551615G", 0,
	  "\"18446744073709551615G\" is over 1048576G; write 512K, 64M or 2G" },
};

static const struct {
	const char *text;
	double share; /* 0: it is refused */
} percents[] = {
	{ "3%", 0.03 }, { "0.5%", 0.005 }, { "99.9%", 0.999 }, { "3", 0 },    { "%", 0 },
	{ "0%", 0 },    { "100%", 0 },     { "-1%", 0 },       { "1e1%", 0 }, { "inf%", 0 },
	{ "3%%", 0 },   { "1.2.3%", 0 },   { "", 0 },
};

static void test_percents(void)
{
	for (size_t i = 0; i < countof(percents); i++) {
		struct err e = ERR_NULL;
		double share = 0;
		int r = percent_parse(percents[i].text, &share, &e);
		double off = share - percents[i].share;
		tap_ok((r < 0) == (percents[i].share == 0) && off < 1e-12 && off > -1e-12,
		       "\"%s\" is %g %s", percents[i].text, share, e.text);
	}
}

int main(void)
{
	test_percents();
	for (size_t i = 0; i < countof(durations); i++) {
		struct err e = ERR_NULL;
		uint32_t ms = 0;
		duration_parse(durations[i].text, &ms, &e);
		tap_ok(ms == durations[i].ms && text_eq(e.text, durations[i].error),
		       "duration %s: %s", durations[i].text, e.text);
	}
	for (size_t i = 0; i < countof(sizes); i++) {
		struct err e = ERR_NULL;
		uint64_t bytes = 0;
		size_parse(sizes[i].text, &bytes, &e);
		tap_ok(bytes == sizes[i].bytes && text_eq(e.text, sizes[i].error), "size %s: %s",
		       sizes[i].text, e.text);
	}
	return tap_done();
}
