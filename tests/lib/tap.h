#pragma once
/*
 * tap: Test Anything Protocol in a few lines, for meson's `protocol: 'tap'`.
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

static int tap_count;
static int tap_failed;

static inline __attribute__((format(printf, 2, 3))) bool tap_ok(bool ok, const char *fmt, ...)
{
	char name[512];
	va_list args;
	va_start(args, fmt);
	vsnprintf(name, sizeof(name), fmt, args);
	va_end(args);
	for (char *c = name; *c; c++) /* a name is one line, and '#' would start a directive */
		if (*c == '\n' || *c == '#')
			*c = ' ';
	printf("%sok %d - %s\n", ok ? "" : "not ", ++tap_count, name);
	tap_failed += !ok;
	return ok;
}

static inline void tap_skip(const char *why, const char *what)
{
	printf("ok %d - %s # SKIP %s\n", ++tap_count, what, why);
}

/* The last statement of main. */
static inline int tap_done(void)
{
	printf("1..%d\n", tap_count);
	return tap_failed > 0;
}
