#include "runner/quantity.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sandbox/base/buf.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/text.h"

struct unit {
	const char *name;
	uint64_t factor;
};

struct quantity {
	const char *what;
	const char *examples;
	const struct unit *units;
	size_t units_len;
	uint64_t max;
	const char *max_text;
};

static int refuse(const struct quantity *q, const char *text, const char *why, struct err *e)
{
	return err_set(e, EINVAL, "\"%s\" %s; write %s", text, why, q->examples);
}

static int parse(const struct quantity *q, const char *text, uint64_t *ret, struct err *e)
{
	size_t digits = strspn(text, "0123456789");
	if (!digits) {
		char why[64];
		snprintf(why, sizeof(why), "is no %s", q->what);
		return refuse(q, text, why, e);
	}
	uint64_t number = 0;
	for (size_t i = 0; i < digits; i++)
		if (__builtin_mul_overflow(number, 10, &number) ||
		    __builtin_add_overflow(number, (uint64_t)(text[i] - '0'), &number))
			return refuse(q, text, q->max_text, e);
	if (text_eq(text, "0")) {
		*ret = 0;
		return 0;
	}
	const char *unit = text + digits;
	if (!*unit)
		return refuse(q, text, "has no unit", e);
	for (size_t i = 0; i < q->units_len; i++) {
		if (!text_eq(unit, q->units[i].name))
			continue;
		uint64_t all;
		if (__builtin_mul_overflow(number, q->units[i].factor, &all) || all > q->max)
			return refuse(q, text, q->max_text, e);
		*ret = all;
		return 0;
	}
	return refuse(q, text, "ends in a unit that is not known", e);
}

int duration_parse(const char *text, uint32_t *ret_ms, struct err *e)
{
	static const struct unit units[] = {
		{ "ms", 1 }, { "s", 1000 }, { "m", 60000 }, { "h", 3600000 }
	};
	static const struct quantity duration = {
		.what = "duration",
		.examples = "500ms, 90s, 20m or 2h",
		.units = units,
		.units_len = countof(units),
		.max = DURATION_MS_MAX,
		.max_text = "is over 720h",
	};
	uint64_t ms;
	int r = parse(&duration, text, &ms, e);
	if (!r)
		*ret_ms = (uint32_t)ms;
	return r;
}

int percent_parse(const char *text, double *ret, struct err *e)
{
	char *end = NULL;
	double percent = strtod(text, &end);
	bool plain = text[strspn(text, "0123456789.")] == '%';
	if (!plain || end == text || !text_eq(end, "%") || percent <= 0 || percent >= 100)
		return err_set(e, EINVAL, "\"%s\" is no share of all orders; write 3%% or 0.5%%",
			       text);
	*ret = percent / 100;
	return 0;
}

int size_parse(const char *text, uint64_t *ret_bytes, struct err *e)
{
	static const struct unit units[] = { { "K", 1ULL << 10 },
					     { "M", 1ULL << 20 },
					     { "G", 1ULL << 30 } };
	static const struct quantity size = {
		.what = "size",
		.examples = "512K, 64M or 2G",
		.units = units,
		.units_len = countof(units),
		.max = SIZE_BYTES_MAX,
		.max_text = "is over 1048576G",
	};
	return parse(&size, text, ret_bytes, e);
}
