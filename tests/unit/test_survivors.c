#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox/base/cleanup.h"
#include "sandbox/base/fd.h"
#include "sandbox/base/text.h"
#include "sandbox/cell.h"
#include "sandbox/survivors.h"
#include "tests/lib/tap.h"

static const struct {
	const char *pid, *stat;
	const char *comm; /* NULL: not told */
} cases[] = {
	{ "1", "1 (warden) S 0 1 1 0", NULL },
	{ "2", "2 (sleep) S 1 2 2 0", "sleep" },
	{ "3", "3 (a) (b) R) D 1 2 2 0", "a) (b) R" },
	{ "4", "4 (zombie) Z 1 2 2 0", NULL },
	{ "5", "5 (dead) X 1 2 2 0", NULL },
	{ "6", "6 (123456789012345) T 1 2 2 0", "123456789012345" },
	{ "7", "7 () R 1 2 2 0", "" },
	{ "8", "", NULL },
	{ "9", "9 sleep R 1", NULL },
	{ "10", "10 (cut", NULL },
	{ "11", "11 (cut)", NULL },
	{ "self", "2 (sleep) S 1 2 2 0", NULL },
	{ "uptime", "2 (sleep) S 1 2 2 0", NULL },
};

static void put(int proc, const char *pid, const char *text)
{
	char path[64];
	snprintf(path, sizeof(path), "%s/stat", pid);
	if (mkdirat(proc, pid, 0755) < 0)
		abort();
	cleanup_close int fd = openat(proc, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || fd_write_full(fd, text, strlen(text)) < 0)
		abort();
}

static const char *find(const struct cell_event *event, const char *pid)
{
	for (size_t i = 0; i < event->survivors_len; i++)
		if (event->survivors[i].pid == strtol(pid, NULL, 10))
			return event->survivors[i].comm;
	return NULL;
}

/* In a /proc that is the host's: whoever comes from 20, through whatever numbers. */
static void test_descendants(int proc)
{
	static const struct {
		const char *pid, *stat;
		bool ours;
	} tree[] = {
		{ "20", "20 (warden) S 1", false },     { "21", "21 (child) S 20", true },
		{ "19", "19 (grandchild) S 21", true }, { "18", "18 (older) S 19", true },
		{ "22", "22 (zombie) Z 20", false },    { "23", "23 (stranger) S 1", false },
		{ "24", "24 (strangers) S 23", false },
	};
	for (size_t i = 0; i < countof(tree); i++)
		put(proc, tree[i].pid, tree[i].stat);
	put(proc, "25", "25 (threads) S 1 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 6 19");
	put(proc, "26", "26 (one) S 1 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 1 19");
	tap_ok(survivors_threads(proc, getuid()) == 7 && survivors_threads(proc, getuid() + 1) == 0,
	       "threads of a user");
	struct cell_event event = { 0 };
	survivors_list(proc, 20, &event);
	size_t wanted = 0;
	for (size_t i = 0; i < countof(tree); i++) {
		wanted += tree[i].ours;
		tap_ok((find(&event, tree[i].pid) != NULL) == tree[i].ours, "%s", tree[i].stat);
	}
	tap_ok(event.survivors_len == wanted, "%u come from it", event.survivors_len);
}

int main(void)
{
	char dir[] = "/tmp/fumehood-survivors.XXXXXX";
	if (!mkdtemp(dir))
		return 1;
	cleanup_close int proc = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	size_t wanted = 0;
	for (size_t i = 0; i < countof(cases); i++) {
		put(proc, cases[i].pid, cases[i].stat);
		wanted += cases[i].comm != NULL;
	}
	struct cell_event event = { 0 };
	survivors_list(proc, 0, &event);
	tap_ok(event.survivors_len == wanted, "%u alive", event.survivors_len);
	for (size_t i = 0; i < countof(cases); i++)
		tap_ok(text_eq(find(&event, cases[i].pid),
			       cases[i].pid[0] > '9' ? NULL : cases[i].comm),
		       "%s/stat: %s", cases[i].pid, cases[i].stat);

	test_descendants(proc);
	for (int i = 0; i < CELL_SURVIVORS_MAX; i++) {
		char pid[16];
		snprintf(pid, sizeof(pid), "%d", 1000 + i);
		put(proc, pid, "1 (many) S 1");
	}
	survivors_list(proc, 0, &event);
	tap_ok(event.survivors_len == wanted + 8 + CELL_SURVIVORS_MAX,
	       "more than are told, all counted");
	survivors_list(-1, 0, &event);
	tap_ok(event.survivors_len == 0, "no /proc, nobody");
	char command[64];
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command) || tap_done(); // NOLINT(cert-env33-c)
}
