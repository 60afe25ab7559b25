#include <errno.h>
#include <string.h>

#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/text.h"
#include "sandbox/mountinfo.h"
#include "tests/lib/tap.h"

static const struct {
	const char *text;
	const char *first, *second; /* NULL: there is none */
	int r;
} cases[] = {
	{ "", NULL, NULL, 0 },
	{ "1 0 8:1 / / rw - ext4 /dev/a rw\n", "/", NULL, 0 },
	{ "1 0 8:1 / / rw - ext4 /dev/a rw\n2 1 0:2 / /proc rw shared:3 - proc proc rw\n", "/",
	  "/proc", 0 },
	{ "1 0 8:1 / /a\\040b\\011\\012\\134 rw - x y z\n", "/a b\t\n\\", NULL, 0 },
	{ "1 0 8:1 / /\\377 rw - x y z\n", "/\377", NULL, 0 },
	{ "1 0 8:1 / /a\\04 rw - x y z\n", "/a\\04", NULL, 0 }, /* no escape */
	{ "1 0 8:1 / /a\\089 rw - x y z\n", "/a\\089", NULL, 0 },
	{ "1 0 8:1 / /a rw - x y z", "/a", NULL, 0 }, /* no newline at the end */
	{ "1 0 8:1 /\n", NULL, NULL, -EPROTO },
	{ "1 0 8:1 / /a\n", NULL, NULL, -EPROTO },
	{ "1 0 8:1 / a rw\n", NULL, NULL, -EPROTO },
	{ "\n", NULL, NULL, -EPROTO },
};

int main(void)
{
	for (size_t i = 0; i < countof(cases); i++) {
		cleanup(strv_done) struct strv points = STRV_NULL;
		struct err e = ERR_NULL;
		int r = mountinfo_parse(cases[i].text, &points, &e);
		const char *first = points.len > 0 ? points.at[0] : NULL;
		const char *second = points.len > 1 ? points.at[1] : NULL;
		tap_ok(r == cases[i].r && e.code == -r && text_eq(first, cases[i].first) &&
			       text_eq(second, cases[i].second),
		       "%s", cases[i].text);
	}
	return tap_done();
}
