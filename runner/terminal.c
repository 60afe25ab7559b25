#include "runner/terminal.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "runner/config.h"
#include "sandbox/base/text.h"

#define WIDTH_MIN     20
#define WIDTH_UNKNOWN 80

static bool is_set(char *(*env)(const char *name), const char *name)
{
	const char *value = env(name);
	return value && *value;
}

static bool is_asked(char *(*env)(const char *name), const char *name)
{
	return is_set(env, name) && !text_eq(env(name), "0");
}

static bool wants_color(bool tty, bool dumb, int color, char *(*env)(const char *name))
{
	if (color != CONFIG_COLOR_AUTO)
		return color == CONFIG_COLOR_ALWAYS;
	if (is_set(env, "NO_COLOR"))
		return false;
	if (is_asked(env, "CLICOLOR_FORCE") || is_asked(env, "FORCE_COLOR"))
		return true;
	return tty && !dumb && !text_eq(env("CLICOLOR"), "0");
}

struct terminal terminal_of(int fd, int color, char *(*env)(const char *name))
{
	bool forced = is_set(env, "FUMEHOOD_FORCE_TTY");
	bool tty = forced || isatty(fd);
	bool dumb = text_eq(env("TERM"), "dumb");
	struct terminal t = { .fd = fd, .live = tty && !dumb };
	t.color = wants_color(tty, dumb, color, env);
	if (forced) {
		long width = strtol(env("FUMEHOOD_FORCE_TTY"), NULL, 10);
		t.width = width >= WIDTH_MIN && width < 10000 ? (int)width : WIDTH_UNKNOWN;
	}
	return t;
}

int terminal_width(const struct terminal *t)
{
	struct winsize size;
	if (t->width)
		return t->width;
	if (ioctl(t->fd, TIOCGWINSZ, &size) < 0 || size.ws_col < WIDTH_MIN)
		return WIDTH_UNKNOWN;
	return size.ws_col;
}

const char *terminal_style(const struct terminal *t, enum style style)
{
	static const char *const sequences[] = {
		[STYLE_PLAIN] = "\033[0m",  [STYLE_BOLD] = "\033[1m",    [STYLE_RED] = "\033[31m",
		[STYLE_GREEN] = "\033[32m", [STYLE_YELLOW] = "\033[33m",
	};
	return t->color ? sequences[style] : "";
}
