#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe/fingerprint.h"
#include "probe/sensors/sensors.h"
#include "probe/sensors/tasks.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "tests/lib/deltas.h"
#include "tests/lib/folder.h"
#include "tests/lib/puppet.h"
#include "tests/lib/tap.h"

#define TAIL " 1 1 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 "

static const struct {
	const char *text, *comm;
	unsigned long long start;
	unsigned int flags;
	int ppid;
	int r;
	char state;
} parses[] = {
	{ "12 (sleep) S 1" TAIL "777 1 2 3\n", "sleep", 777, 4194304, 1, 0, 'S' },
	{ "12 (a) b (c) R 99" TAIL "18446744073709551615 1\n", "a) b (c", UINT64_MAX, 4194304, 99,
	  0, 'R' },
	{ "12 () Z 1" TAIL "1\n", "", 1, 4194304, 1, 0, 'Z' },
	{ "12 (S 1 1) Z 5" TAIL "1\n", "S 1 1", 1, 4194304, 5, 0, 'Z' },
	{ "12 (cut) S 1 1 1 0", NULL, 0, 0, 0, -EINVAL, 0 },
	{ "12 (words) S a b c d e f g h i j k l m n o p q r s t", NULL, 0, 0, 0, -EINVAL, 0 },
	{ "12 no brackets", NULL, 0, 0, 0, -EINVAL, 0 },
	{ "12 )(", NULL, 0, 0, 0, -EINVAL, 0 },
	{ "", NULL, 0, 0, 0, -EINVAL, 0 },
};

static void test_parse(void)
{
	for (size_t i = 0; i < countof(parses); i++) {
		struct task_stat stat = { 0 };
		int r = task_stat_parse(parses[i].text, &stat);
		tap_ok(r == parses[i].r && stat.state == parses[i].state &&
			       stat.ppid == parses[i].ppid && stat.flags == parses[i].flags &&
			       stat.start == parses[i].start &&
			       text_eq(stat.comm, parses[i].comm ? parses[i].comm : ""),
		       "stat: %s", parses[i].text);
	}
	char text[512];
	struct task_stat stat;
	memset(text, 'x', sizeof(text));
	memcpy(text, "1 (", 3);
	snprintf(text + 200, sizeof(text) - 200, ") S 1" TAIL "5\n");
	tap_ok(task_stat_parse(text, &stat) == 0 && strlen(stat.comm) == TASK_COMM_LEN - 1,
	       "a name that is too long is cut");
}

/* What a folder that looks like /proc holds at each step: {number, stat behind the number}. */
struct process {
	int number;
	const char *stat;
	const char *cmdline;
};

static const struct step {
	const char *name;
	struct process there[5];
	int inner;
	bool full;
	const char *expect;
	size_t survivors;
} steps[] = {
	{ .name = "what stands is background",
	  .there = { { 1, "(warden) S 0" TAIL "1", "w" }, { 5, "(make) S 1" TAIL "2", "make" } },
	  .expect = "" },
	{ .name = "another comes, between the others",
	  .there = { { 1, "(warden) S 0" TAIL "1", "w" },
		     { 3, "(sleep) S 5" TAIL "3", "sleep" },
		     { 5, "(make) S 1" TAIL "2", "make" } },
	  .expect = "leak started sleep ->{\"pid\":3,\"comm\":\"sleep\",\"ppid\":5,\"state\":\"alive\","
		    "\"cmdline\":\"DIGEST\",\"daemonised\":false} owner=-1\n",
	  .survivors = 1 },
	{ .name = "its parent goes: that is no deed, and what stood and goes is told",
	  .there = { { 1, "(warden) S 0" TAIL "1", "w" }, { 3, "(sleep) S 1" TAIL "3", "sleep" } },
	  .expect = "leak ended make {\"pid\":5,\"comm\":\"make\",\"ppid\":1,\"state\":\"alive\","
		    "\"cmdline\":\"DIGEST\",\"daemonised\":true}>- owner=-1\n",
	  .survivors = 1 },
	{ .name = "it goes: what is told of it is what it was last",
	  .there = { { 1, "(warden) S 0" TAIL "1", "w" } },
	  .expect = "leak ended sleep {\"pid\":3,\"comm\":\"sleep\",\"ppid\":1,\"state\":\"alive\","
		    "\"cmdline\":\"DIGEST\",\"daemonised\":true}>- owner=2 restored\n" },
	{ .name = "a zombie is left",
	  .there = { { 1, "(warden) S 0" TAIL "1", "w" }, { 7, "(child) Z 5" TAIL "4", "" } },
	  .expect = "leak started child ->{\"pid\":7,\"comm\":\"child\",\"ppid\":5,\"state\":\"zombie\","
		    "\"cmdline\":null,\"daemonised\":false} owner=-1\n" },
	{ .name = "one that process 1 will reap is none",
	  .there = { { 1, "(warden) S 0" TAIL "1", "w" },
		     { 7, "(child) Z 5" TAIL "4", "" },
		     { 8, "(orphan) Z 1" TAIL "5", "" } },
	  .expect = "" },
	{ .name = "the number of one that ended is given away",
	  .there = { { 1, "(warden) S 0" TAIL "1", "w" }, { 7, "(other) S 5" TAIL "9", "other" } },
	  .full = true,
	  .expect = "leak ended child {\"pid\":7,\"comm\":\"child\",\"ppid\":5,\"state\":\"zombie\","
		    "\"cmdline\":null,\"daemonised\":false}>- owner=5 restored\n"
		    "leak started other ->{\"pid\":7,\"comm\":\"other\",\"ppid\":5,\"state\":\"alive\","
		    "\"cmdline\":\"DIGEST\",\"daemonised\":false} owner=-1\n",
	  .survivors = 1 },
	{ .name = "one says hello as the test process",
	  .there = { { 1, "(warden) S 0" TAIL "1", "w" }, { 7, "(other) S 5" TAIL "9", "other" } },
	  .inner = 7,
	  .expect = "" },
	{ .name = "and is none of the others when it ends",
	  .there = { { 1, "(warden) S 0" TAIL "1", "w" } },
	  .inner = 7,
	  .expect = "" },
};

static void put_processes(const struct folder *dir, const struct process *there)
{
	for (int number = 1; number < 10; number++) {
		char name[32];
		char text[256];
		snprintf(name, sizeof(name), "%d/stat", number);
		unlink(folder_path(dir, name));
		snprintf(name, sizeof(name), "%d/cmdline", number);
		unlink(folder_path(dir, name));
		snprintf(name, sizeof(name), "%d", number);
		rmdir(folder_path(dir, name));
		for (const struct process *p = there; p->number; p++) {
			if (p->number != number)
				continue;
			snprintf(name, sizeof(name), "%d/stat", number);
			snprintf(text, sizeof(text), "%d %s\n", number, p->stat);
			folder_put(dir, name, text);
			snprintf(name, sizeof(name), "%d/cmdline", number);
			folder_put(dir, name, p->cmdline);
		}
	}
}

/* The digests of command lines are not this test's subject. */
static void blank_digests(char *text)
{
	static const char label[] = "\"cmdline\":\"";
	for (char *at = text; (at = strstr(at, label));) {
		at += strlen(label);
		memcpy(at, "DIGEST", 6);
		memmove(at + 6, at + 32, strlen(at + 32) + 1);
	}
}

static void test_processes(void)
{
	static const struct sensor *const sensors[] = { &sensor_processes, NULL };
	struct folder dir;
	struct fingerprint *f = NULL;
	folder_make(&dir);
	cleanup_close int proc = open(dir.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct vantage v = { .proc = proc };
	if (fingerprint_new(&v, sensors, &f, NULL))
		abort();
	for (size_t i = 0; i < countof(steps); i++) {
		cleanup(delta_list_done) struct delta_list deltas = DELTA_LIST_NULL;
		cleanup(delta_list_done) struct delta_list alive = DELTA_LIST_NULL;
		struct err e = ERR_NULL;
		put_processes(&dir, steps[i].there);
		v.inner = steps[i].inner;
		int r = steps[i].full ? fingerprint_look_full(f, (int)i + 1, &deltas, &e)
				      : fingerprint_look(f, (int)i + 1, &deltas, NULL, &e);
		cleanup_free char *seen = deltas_text(&deltas, true);
		blank_digests(seen);
		fingerprint_survivors(f, &alive, NULL);
		tap_ok(r == 0 && text_eq(seen, steps[i].expect), "%s: %s%s", steps[i].name, seen,
		       e.text);
		tap_ok(alive.len == steps[i].survivors, "%s: %zu survive", steps[i].name, alive.len);
	}
	fingerprint_free(f);
	folder_done(&dir);
}

/* Returns when the child has got its name. */
static void do_fork(const char *arg)
{
	int ends[2];
	char byte;
	if (pipe2(ends, O_CLOEXEC))
		abort();
	pid_t pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, arg);
		close(ends[1]);
		for (;;)
			pause();
	}
	close(ends[1]);
	if (pid < 0 || read(ends[0], &byte, 1) != 0)
		abort();
	close(ends[0]);
}

/* The same on the real /proc, where others come and go too. */
static void test_live(void)
{
	static const struct sensor *const sensors[] = { &sensor_processes, NULL };
	cleanup(delta_list_done) struct delta_list deltas = DELTA_LIST_NULL;
	struct fingerprint *f = NULL;
	struct puppet puppet;
	puppet_start(&puppet);
	cleanup_close int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct vantage v = { .proc = proc, .pid = puppet.pid, .inner = puppet.pid };
	if (fingerprint_new(&v, sensors, &f, NULL))
		abort();
	fingerprint_look(f, DELTA_STOOD, NULL, NULL, NULL);
	puppet_do(&puppet, do_fork, "planted");
	fingerprint_look(f, 1, &deltas, NULL, NULL);
	cleanup_free char *seen = deltas_text(&deltas, false);
	tap_ok(strstr(seen, "leak started planted\n") != NULL, "a child that was left is seen");
	puppet_done(&puppet);
	fingerprint_free(f);
}

int main(void)
{
	test_parse();
	test_processes();
	test_live();
	return tap_done();
}
