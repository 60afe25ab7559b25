#pragma once
/*
 * terminal: whether a stream may be drawn on, and in colour. Decided for each
 * stream on its own.
 *
 * Colour: --color, then NO_COLOR, CLICOLOR_FORCE or FORCE_COLOR, CLICOLOR=0,
 * TERM=dumb, then whether it is a terminal. FUMEHOOD_FORCE_TTY=COLUMNS makes a
 * terminal of that width of anything, for tests and screenshots.
 */
#include <stdbool.h>

struct terminal {
	bool live; /* lines can be drawn over */
	bool color;
	int fd;
	int width; /* columns that were asked for; 0: ask fd */
};

/* `color`: enum config_color. `env`: getenv, or a table of a test. */
struct terminal terminal_of(int fd, int color, char *(*env)(const char *name));
/* Columns right now; 80 when the terminal does not say. */
int terminal_width(const struct terminal *t);

/* The escape sequences of a style, "" without colour. */
enum style { STYLE_PLAIN, STYLE_BOLD, STYLE_RED, STYLE_GREEN, STYLE_YELLOW };
const char *terminal_style(const struct terminal *t, enum style style);
