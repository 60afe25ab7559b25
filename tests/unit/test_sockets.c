#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/sockets.h"
#include "tests/lib/fault_walk.h"
#include "tests/lib/tap.h"

#define HEAD "Num       RefCount Protocol Flags    Type St Inode Path\n"
#define LINE "000000007f089e6e: 00000002 00000000 00010000 0005 01 "

static const struct {
	const char *what, *text, *paths;
} cases[] = {
	{ "nothing", "", "" },
	{ "the heading alone", HEAD, "" },
	{ "a path", HEAD LINE "1564462 /srv/db.sock\n", "/srv/db.sock " },
	{ "a padded inode", LINE "  136 /a\n", "/a " },
	{ "no path", LINE "1564462\n" LINE "7 /a\n", "/a " },
	{ "an abstract name", LINE "1564462 @/a\n", "" },
	{ "a relative path", LINE "1564462 run/a\n", "" },
	{ "one socket and its connections", LINE "1 /a\n" LINE "2 /a\n" LINE "3 /b\n", "/a /b " },
	{ "a blank in a path", LINE "1 /a b\n", "/a b " },
	{ "a line that is cut", LINE "1 /a\n0000: 0002 00", "/a " },
	{ "no newline at the end", LINE "1 /a", "/a " },
};

static void test_parse(void)
{
	for (size_t i = 0; i < countof(cases); i++) {
		cleanup(strv_done) struct strv paths = STRV_NULL;
		char joined[256] = "";
		size_t len = 0;
		int r = sockets_parse(cases[i].text, &paths);
		for (size_t k = 0; k < paths.len; k++)
			len += (size_t)snprintf(joined + len, sizeof(joined) - len, "%s ",
						paths.at[k]);
		tap_ok(r == 0 && text_eq(joined, cases[i].paths), "%s: %s", cases[i].what, joined);
	}
}

/* Sockets, and what a text may call one. */
static const char found_text[] =
	LINE "1 /open\n" LINE "2 /closed\n" LINE "3 /file\n" LINE "4 /gone\n" LINE "5 /link\n";

static int make(void)
{
	char dir[] = "/tmp/fumehood-sockets.XXXXXX";
	int root = mkdtemp(dir) ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	bool made = root >= 0 && mknodat(root, "open", S_IFSOCK | 0666, 0) == 0 &&
		    mknodat(root, "closed", S_IFSOCK, 0) == 0 &&
		    mknodat(root, "file", S_IFREG | 0666, 0) == 0 &&
		    symlinkat("open", root, "link") == 0;
	tap_ok(made, "a folder of sockets in %s", dir);
	return root;
}

static void unmake(int root)
{
	static const char *const names[] = { "open", "closed", "file", "link" };
	char dir[64] = "";
	char self[32];
	snprintf(self, sizeof(self), "/proc/self/fd/%d", root);
	for (size_t i = 0; i < countof(names); i++)
		unlinkat(root, names[i], 0);
	tap_ok(readlink(self, dir, sizeof(dir) - 1) > 0 && rmdir(dir) == 0, "cleared away");
}

int main(void)
{
	test_parse();
	cleanup_close int root = make();
	cleanup(strv_done) struct strv found = STRV_NULL;
	struct err e = ERR_NULL;
	int r = sockets_find(root, found_text, &found, &e);
	tap_ok(r == 0 && strv_has(&found, "/open") && !strv_has(&found, "/file") &&
		       !strv_has(&found, "/gone") && !strv_has(&found, "/link"),
	       "found: what is a socket");
	tap_ok(strv_has(&found, "/closed") == (geteuid() == 0), "... that the caller can use");

	int wrong = 0;
	for (int n = 1; fault_walk_on(n); n++) {
		cleanup(strv_done) struct strv v = STRV_NULL;
		struct err why = ERR_NULL;
		r = sockets_find(root, found_text, &v, &why);
		bool failed = fault_walk_hit();
		wrong += r < 0 ? !failed || why.code != -r || v.at : !failed && v.len == 0;
	}
	tap_ok(wrong == 0, "each call may fail");
	unmake(root);
	return tap_done();
}
