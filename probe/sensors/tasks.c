#include "probe/sensors/tasks.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "probe/sensor.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/fd.h"
#include "sandbox/base/text.h"

#define STAT_LEN_MAX 1024

#define PF_EXITING 0x4 /* include/linux/sched.h; shown in stat */

/* A thread that was joined, or a process that was killed by a test that cannot wait for it, may take
 * a moment to be gone (measured: after two of five Thread.join() of CPython 3.11 the thread is still
 * listed); it is not at rest then. What is new and not at rest gets this many steps in one look, all
 * together: most are gone after a step or two, so the first ones are short. */
#define SETTLE_STEPS   60
#define SETTLE_YIELDS  20
#define SETTLE_STEP_US 100

/* A task that counts. */
struct task {
	char id[48];
	uint64_t start;
};

struct look {
	struct tasks *tasks;
	struct sink *sink;
	int steps; /* left to settle in */
};

static bool number_at(const char *text, size_t word, unsigned long long *ret)
{
	const char *at = text_word(text, word);
	char *end;
	*ret = strtoull(at, &end, 10);
	return end > at;
}

int task_stat_parse(const char *text, struct task_stat *ret)
{
	/* The name may hold anything, brackets too: what follows it holds none. */
	const char *open = strchr(text, '(');
	const char *close = strrchr(text, ')');
	if (!open || !close || close < open)
		return -EINVAL;
	const char *rest = close + 1;
	unsigned long long ppid;
	unsigned long long flags;
	unsigned long long start;
	if (!number_at(rest, 1, &ppid) || !number_at(rest, 6, &flags) || !number_at(rest, 19, &start))
		return -EINVAL;
	struct task_stat stat = {
		.state = *text_word(rest, 0),
		.ppid = (int)ppid,
		.flags = (unsigned int)flags,
		.start = start,
	};
	size_t len = (size_t)(close - open) - 1;
	if (len >= sizeof(stat.comm))
		len = sizeof(stat.comm) - 1;
	memcpy(stat.comm, open + 1, len);
	*ret = stat;
	return 0;
}

/* 0, or a negative errno: ENOENT and ESRCH when it is gone. */
static int read_stat(int dir, int number, struct task_stat *ret)
{
	char path[32];
	char text[STAT_LEN_MAX + 1];
	snprintf(path, sizeof(path), "%d/stat", number);
	cleanup_close int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ssize_t len = fd_read_full(fd, text, STAT_LEN_MAX);
	if (len < 0)
		return -errno;
	text[len] = '\0';
	return task_stat_parse(text, ret);
}

static bool is_gone(int r)
{
	return r == -ENOENT || r == -ESRCH;
}

bool task_comes_from(int proc, int number, int ancestor)
{
	struct task_stat stat = { .ppid = number };
	while (stat.ppid > 1 && stat.ppid != ancestor)
		if (read_stat(proc, stat.ppid, &stat))
			return false;
	return stat.ppid == ancestor;
}

/* The warden is process 1 for all who are told of it. */
static int read_task(const struct tasks *t, int number, struct task_stat *ret)
{
	int r = read_stat(t->dir, number, ret);
	if (!r && t->ancestor && ret->ppid == t->ancestor)
		ret->ppid = 1;
	return r;
}

/* What counts as not there: an exiting thread, and a zombie that process 1 is about to reap. */
static bool is_leaving(const struct tasks_kind *kind, const struct task_stat *stat)
{
	if (!kind->processes)
		return stat->flags & PF_EXITING;
	return stat->state == 'Z' && stat->ppid == 1;
}

static bool is_on_its_way(const struct task_stat *stat)
{
	return stat->state == 'R' || stat->state == 'D' ||
	       (stat->flags & PF_EXITING && stat->state != 'Z');
}

static void wait_a_step(int steps_left)
{
	static const struct timespec step = { .tv_nsec = SETTLE_STEP_US * 1000L };
	if (SETTLE_STEPS - steps_left < SETTLE_YIELDS)
		sched_yield();
	else
		nanosleep(&step, NULL);
}

static int read_settled(struct look *look, int number, struct task_stat *ret)
{
	int r = read_task(look->tasks, number, ret);
	for (; !r && look->steps > 0 && is_on_its_way(ret); look->steps--) {
		wait_a_step(look->steps);
		r = read_task(look->tasks, number, ret);
	}
	return r;
}

static int offer(struct look *look, int number, const struct task *task,
		 const struct task_stat *stat, bool quiet)
{
	cleanup_free char *value = look->tasks->kind->value(look->tasks->dir, number, stat);
	if (!value)
		return -ENOMEM;
	return sink_offer(look->sink, &(struct offer){ .id = task->id,
						       .key = stat->comm,
						       .value = value,
						       .quiet = quiet,
						       .inert = stat->state == 'Z' });
}

static bool is_excluded(const struct tasks *t, int number)
{
	return number == t->excluded[0] || number == t->excluded[1];
}

static int came(void *with, int number, void **ret)
{
	struct look *look = with;
	struct task_stat stat = { 0 };
	const struct tasks *t = look->tasks;
	if (is_excluded(t, number) || (t->ancestor && !task_comes_from(t->dir, number, t->ancestor)))
		return 0;
	int r = read_settled(look, number, &stat);
	if (r || is_leaving(look->tasks->kind, &stat))
		return is_gone(r) ? 0 : r;
	struct task *task = malloc(sizeof(*task));
	if (!task)
		return -ENOMEM;
	task->start = stat.start;
	snprintf(task->id, sizeof(task->id), "%d %llu", number, (unsigned long long)stat.start);
	r = offer(look, number, task, &stat, false);
	if (r)
		free(task);
	else
		*ret = task;
	return r;
}

static int went(void *with, int number, void *thing)
{
	(void)number;
	struct look *look = with;
	struct task *task = thing;
	int r = sink_offer(look->sink, &(struct offer){ .id = task->id });
	free(task);
	return r;
}

static int again(void *with, int number, void **thing)
{
	struct look *look = with;
	struct task *task = *thing;
	struct task_stat stat = { 0 };
	if (is_excluded(look->tasks, number)) {
		int forgotten =
			sink_offer(look->sink, &(struct offer){ .id = task->id, .quiet = true });
		free(take_ptr(thing));
		return forgotten;
	}
	int r = read_task(look->tasks, number, &stat);
	if (r)
		return is_gone(r) ? 0 : r; /* the next list will be without it */
	if (stat.start == task->start)
		return offer(look, number, task, &stat, true);
	*thing = NULL;
	r = went(look, number, task);
	return r ? r : came(look, number, thing);
}

/* Whether a process that was left still acts is asked often; of threads only the number counts. */
static const struct roll_ops process_ops = {
	.came = came,
	.went = went,
	.again = again,
	.free_thing = free,
	.early = 1,
	.often = 4,
};
static const struct roll_ops thread_ops = {
	.came = came,
	.went = went,
	.again = again,
	.free_thing = free,
	.early = 1,
	.often = 1,
};

static const struct roll_ops *ops_of(const struct tasks *t)
{
	return t->kind->processes ? &process_ops : &thread_ops;
}

int tasks_tell(struct tasks *t, bool full, struct sink *sink)
{
	struct look look = { t, sink, t->roll.called ? SETTLE_STEPS : 0 };
	return roll_call(&t->roll, full, ops_of(t), &look);
}

void tasks_leave(struct tasks *t)
{
	roll_done(&t->roll, ops_of(t));
	fd_close_at(&t->dir);
}
