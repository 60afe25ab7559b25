#include "sandbox/survivors.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox/base/cleanup.h"
#include "sandbox/base/dir.h"
#include "sandbox/base/text.h"
#include "sandbox/cell.h"

struct task {
	struct cell_survivor who;
	pid_t parent;
	unsigned long threads;
	bool ours;
};

struct tasks {
	struct task *at; /* by pid */
	size_t len;
	size_t cap;
};

static void tasks_done(struct tasks *tasks)
{
	free(tasks->at);
}

/* "PID (comm) STATE PPID …": comm may hold anything, also parentheses. */
static bool parse_stat(char *text, struct task *ret)
{
	char *open = strchr(text, '(');
	char *close = strrchr(text, ')');
	if (!open || !close || close < open || strlen(close) < 3 || strchr("ZX", close[2]))
		return false;
	*close = '\0';
	*ret = (struct task){ .who.pid = (pid_t)strtol(text, NULL, 10),
			      .parent = (pid_t)strtol(text_word(close + 1, 1), NULL, 10),
			      .threads = strtoul(text_word(close + 1, 17), NULL, 10) };
	snprintf(ret->who.comm, sizeof(ret->who.comm), "%s", open + 1);
	return true;
}

/* False: gone meanwhile, or on its way. */
static bool look_at(int proc, const char *pid, struct task *ret)
{
	char path[64];
	char text[512];
	snprintf(path, sizeof(path), "%s/stat", pid);
	cleanup_close int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (len <= 0)
		return false;
	text[len] = '\0';
	return parse_stat(text, ret);
}

static bool add(struct tasks *tasks, const struct task *task)
{
	if (tasks->len == tasks->cap) {
		size_t cap = tasks->cap ? tasks->cap * 2 : 256;
		struct task *at = reallocarray(tasks->at, cap, sizeof(*at));
		if (!at)
			return false;
		tasks->at = at;
		tasks->cap = cap;
	}
	tasks->at[tasks->len++] = *task;
	return true;
}

static int by_pid(const void *a, const void *b)
{
	pid_t x = ((const struct task *)a)->who.pid;
	pid_t y = ((const struct task *)b)->who.pid;
	return (x > y) - (x < y);
}

/* Until no more are found: a child may have a smaller number than its parent. */
static void mark(struct tasks *tasks, pid_t top)
{
	for (bool more = true; more;) {
		more = false;
		for (size_t i = 0; i < tasks->len; i++) {
			struct task *t = &tasks->at[i];
			const struct task key = { .who.pid = t->parent };
			const struct task *parent =
				bsearch(&key, tasks->at, tasks->len, sizeof(key), by_pid);
			if (t->ours || !(t->parent == top || (parent && parent->ours)))
				continue;
			t->ours = more = true;
		}
	}
}

/* Without memory there are fewer. A zombie's children have been given to somebody else. */
static void list(int proc, pid_t top, struct tasks *ret)
{
	cleanup_dir DIR *dir = dir_open(proc, ".");
	const struct dirent *entry;
	while (dir && (entry = dir_next(dir))) {
		struct task task;
		if (entry->d_name[0] < '1' || entry->d_name[0] > '9' ||
		    strcmp(entry->d_name, "1") == 0 || !look_at(proc, entry->d_name, &task))
			continue;
		task.ours = !top;
		if (!add(ret, &task))
			break;
	}
	if (top && ret->len) {
		qsort(ret->at, ret->len, sizeof(*ret->at), by_pid);
		mark(ret, top);
	}
}

void survivors_list(int proc, pid_t top, struct cell_event *ret)
{
	cleanup(tasks_done) struct tasks tasks = { 0 };
	list(proc, top, &tasks);
	ret->survivors_len = 0;
	for (size_t i = 0; i < tasks.len; i++) {
		if (!tasks.at[i].ours)
			continue;
		if (ret->survivors_len < CELL_SURVIVORS_MAX)
			ret->survivors[ret->survivors_len] = tasks.at[i].who;
		ret->survivors_len++;
	}
}

/* A number may be another's by now; a child of the same parent is one of ours in any case. */
static void send(int proc, const struct task *task, int signal)
{
	char name[16];
	struct task now;
	snprintf(name, sizeof(name), "%d", task->who.pid);
	cleanup_close int pidfd = pidfd_open(task->who.pid, 0);
	if (pidfd >= 0 && look_at(proc, name, &now) && now.parent == task->parent)
		pidfd_send_signal(pidfd, signal, NULL, 0);
}

void survivors_signal(int proc, pid_t top, int signal)
{
	cleanup(tasks_done) struct tasks tasks = { 0 };
	list(proc, top, &tasks);
	for (size_t i = 0; i < tasks.len; i++)
		if (tasks.at[i].ours)
			send(proc, &tasks.at[i], signal);
}

unsigned long survivors_threads(int proc, uid_t uid)
{
	cleanup(tasks_done) struct tasks tasks = { 0 };
	unsigned long n = 0;
	list(proc, 0, &tasks);
	for (size_t i = 0; i < tasks.len; i++) {
		char name[16];
		struct stat st;
		snprintf(name, sizeof(name), "%d", tasks.at[i].who.pid);
		if (fstatat(proc, name, &st, 0) == 0 && st.st_uid == uid)
			n += tasks.at[i].threads;
	}
	return n;
}
