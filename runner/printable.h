#pragma once
/*
 * printable: names that come from the suite, fit for a terminal.
 *
 * A name may hold anything: a newline, an escape sequence that rewrites the
 * screen, a mark that turns the direction of writing, bytes that are no UTF-8.
 * Whatever is printed for people goes through here. NULL: no memory.
 */

/* Control characters, direction marks and bytes that are no UTF-8 as \n, \x1b, \u202e. */
char *printable(const char *text);

/* One word of a POSIX shell that gives the same bytes, on one line: as it is, in single quotes, or
 * as $'…' when something has to be escaped. */
char *quoted(const char *text);

/* The line of a failure's message that says most, printable: the first that pytest marks with "E",
 * else the last that is not blank. */
char *telling_line(const char *message);

/* Bytes of the longest beginning of a printable text that takes at most columns_max on a terminal. */
int columns_cut(const char *text, int columns_max);
