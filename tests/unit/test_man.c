#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "runner/command.h"
#include "runner/config.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/fd.h"
#include "sandbox/base/text.h"
#include "tests/lib/tap.h"

/* The manual page is written by hand; every command and every setting must stand in it. */
static bool has(const char *page, const char *macro, const char *word)
{
	char line[128];
	snprintf(line, sizeof(line), "%s %s", macro, word);
	const char *at = page;
	while ((at = strstr(at, line)) && !strchr(" \n", at[strlen(line)]))
		at++;
	return at;
}

/* The commands in the line of an option, as "Pq run, exec" has them; "": there are none. */
static const char *only_of(const char *page, const char *flag)
{
	static char line[256];
	char begin[256];
	snprintf(begin, sizeof(begin), "Fl %s", flag + 1);
	const char *at = page;
	for (; (at = strstr(at, begin)); at++) {
		const char *from = at;
		while (from > page && from[-1] != '\n')
			from--;
		if (strchr(" \n", at[strlen(begin)]) && text_starts(from, ".It "))
			break;
	}
	if (!at)
		return "?";
	snprintf(line, sizeof(line), "%.*s", (int)strcspn(at, "\n"), at);
	char *only = strstr(line, "Pq ");
	return only ? only + strlen("Pq ") : "";
}

int main(void)
{
	cleanup_free char *page = NULL;
	if (!tap_ok(fd_load(AT_FDCWD, MAN_PAGE, 1 << 20, &page, NULL, NULL) == 0, "the page is there"))
		return tap_done();
	for (size_t i = 0; commands[i]; i++)
		tap_ok(has(page, ".It Cm", commands[i]->name), "command %s", commands[i]->name);
	struct setting_name row;
	for (size_t i = 0; config_setting(i, &row); i++) {
		tap_ok(has(page, "Fl", row.flag + 1), "option %s", row.flag);
		if (row.key)
			tap_ok(has(page, "Bq", row.key), "key %s", row.key);
		tap_ok(text_eq(only_of(page, row.flag), row.only), "%s is of %s", row.flag,
		       row.only[0] ? row.only : "all");
	}
	return tap_done();
}
