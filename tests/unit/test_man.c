#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "runner/command.h"
#include "runner/config.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/fd.h"
#include "tests/lib/tap.h"

/* The manual page is written by hand; every command and every setting must stand in it. */
static bool has(const char *page, const char *macro, const char *word)
{
	char line[128];
	snprintf(line, sizeof(line), "%s %s", macro, word);
	const char *at = strstr(page, line);
	return at && strchr(" \n", at[strlen(line)]);
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
	}
	return tap_done();
}
