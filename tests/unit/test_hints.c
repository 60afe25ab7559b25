#include <string.h>

#include "runner/hints.h"
#include "sandbox/base/buf.h"
#include "sandbox/base/cleanup.h"
#include "tests/lib/fault_walk.h"
#include "tests/lib/tap.h"

static const char *const caller[] = { "DATABASE_URL=x", "API_KEY=y", "HOME=/home/u", "PWD=/x",
				      "http_proxy=z",   "A=1",       "edit=vi",      NULL };
static const char *const inside[] = { "HOME=/home/u", "PATH=/bin", NULL };

static bool is_kept_away(const void *with, const char *path)
{
	(void)with;
	return strcmp(path, "/home/u/.aws/config") == 0 || strcmp(path, "/home/u/my data") == 0;
}

#define FACTS .caller = caller, .inside = inside, .home = "/home/u", .is_kept_away = is_kept_away
static const struct hint_facts plain = { FACTS };
static const struct hint_facts wired = { FACTS, .network = true };
static const struct hint_facts roomy = { FACTS, .on_disk = true, .copy = true };
static const struct hint_facts bare = { FACTS, .on_disk = true, .copy = true, .landlock = true };
static const struct hint_facts rooted = { FACTS, .root = true };
static const struct hint_facts freed = { FACTS, .root = true, .setid = true };

static const struct {
	const struct hint_facts *facts;
	const char *text, *hints; /* what each begins with, joined by "|" */
} cases[] = {
	{ &plain, "assert 1 == 2", "" },
	{ &plain, "KeyError: 'DATABASE_URL'",
	  "DATABASE_URL is set outside and is not passed on: --pass-env DATABASE_URL" },
	{ &plain, "DATABASE_URL and DATABASE_URL", "DATABASE_URL is set" },
	{ &plain, "MY_DATABASE_URL, DATABASE_URL2", "" },
	{ &plain, "$API_KEY: unset; DATABASE_URL too", "DATABASE_URL is set|API_KEY is set" },
	{ &plain, "HOME PWD A edit", "" },
	{ &plain, "no http_proxy", "http_proxy is set" },
	{ &plain, "ConnectionRefusedError: [Errno 111] Connection refused", "a connection failed" },
	{ &wired, "ConnectionRefusedError: [Errno 111] Connection refused", "" },
	{ &plain, "curl: (6) Could not resolve host: example.org", "a name could not" },
	{ &plain, "socket.gaierror: [Errno -3] Temporary failure in name resolution",
	  "a name could not" },
	{ &plain, "FileNotFoundError: [Errno 2] No such file or directory: '/home/u/.aws/config'",
	  "/home/u/.aws/config is there outside, and the suite has a home of its own: --expose /home/u/.aws/config" },
	{ &plain, "/home/u/.aws/config was read", "" },
	{ &plain, "/home/u/.aws/credentials does not exist", "" },
	{ &plain, "not found: /home/u/.aws/config. And /home/u", "/home/u/.aws/config is" },
	{ &plain, "not found: /home/u2/.aws/config", "" },
	{ &plain, "OSError: [Errno 30] Read-only file system: '/etc/x'", "something outside of" },
	{ &plain, "OSError: [Errno 28] No space left on device", "what the suite may write is full" },
	{ &roomy, "OSError: [Errno 28] No space left on device",
	  "what the suite may write is full: the disk" },
	{ &plain, "OSError: [Errno 18] Invalid cross-device link: 'a' -> 'b'",
	  "a folder of the project" },
	{ &roomy, "OSError: [Errno 18] Invalid cross-device link: 'a' -> 'b'", "" },
	{ &plain, "OSError: [Errno 75] Value too large for defined data type: 'a'",
	  "something of an owner or a group that is not yours" },
	{ &roomy, "OSError: [Errno 75] Value too large for defined data type: 'a'", "" },
	{ &plain, "PermissionError: [Errno 13] Permission denied: '/etc/shadow'", "" },
	{ &bare, "PermissionError: [Errno 13] Permission denied: '/dev/shm/x'",
	  "with --isolation landlock" },
	{ &plain, "PermissionError: [Errno 13] Permission denied: '/dev/shm/x'", "" },
	{ &rooted, "PermissionError: [Errno 13] Permission denied: '/etc/shadow'",
	  "something was refused" },
	{ &rooted, "os.seteuid(1000)\nPermissionError: [Errno 1] Operation not permitted",
	  "the suite becomes another user: --caps setid|something was refused" },
	{ &rooted, "os.seteuid(1000) failed", "" },
	{ &rooted, "mysetuid: Operation not permitted", "something was refused" },
	{ &freed, "os.seteuid(1000)\nPermissionError: [Errno 1] Operation not permitted",
	  "something was refused" },
	{ &plain, "os.seteuid(1000)\nPermissionError: [Errno 1] Operation not permitted", "" },
	{ &plain, "RuntimeError: can't start new thread", "the suite has as many" },
	{ &plain, "bwrap: No permissions to create new namespace", "the suite makes namespaces" },
};

/* Does each hint begin with its part of expected? */
static bool fit(const struct strv *hints, const char *expected)
{
	const char *at = expected;
	for (size_t i = 0; i < hints->len; i++) {
		size_t len = strcspn(at, "|");
		if (!len || strncmp(hints->at[i], at, len) != 0)
			return false;
		at += len + (at[len] == '|');
	}
	return !*at;
}

static void test_faults(void)
{
	int wrong = 0;
	int n = 1;
	for (; fault_walk_on(n); n++) {
		cleanup(strv_done) struct strv hints = STRV_NULL;
		int r = hints_find(&plain, "DATABASE_URL: /home/u/.aws/config does not exist, ENOSPC",
				   &hints);
		wrong += fault_walk_hit() ? r == 0 : hints.len != 3;
	}
	tap_ok(wrong == 0 && n > 5, "each of %d faults is told", n);
}

int main(void)
{
	for (size_t i = 0; i < countof(cases); i++) {
		cleanup(strv_done) struct strv hints = STRV_NULL;
		int r = hints_find(cases[i].facts, cases[i].text, &hints);
		r = r ? r : hints_find(cases[i].facts, cases[i].text, &hints); /* told once */
		tap_ok(r == 0 && fit(&hints, cases[i].hints), "%s: %s", cases[i].text,
		       hints.len ? hints.at[0] : "-");
	}
	test_faults();
	return tap_done();
}
