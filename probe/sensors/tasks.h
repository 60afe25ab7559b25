#pragma once
/*
 * tasks: processes and threads, which /proc shows alike: a folder of numbers,
 * each with a `stat`.
 *
 * A task is told once as come and once as gone. That it goes on meanwhile (runs
 * another program, becomes a zombie, gets another parent) is no test's doing
 * and is learned quietly.
 */
#include <stdbool.h>
#include <stdint.h>

#include "probe/sensors/roll.h"

struct sink;

#define TASK_COMM_LEN 64 /* the kernel gives 15 bytes, or more for its own */

struct task_stat {
	char comm[TASK_COMM_LEN];
	char state; /* R S D T t Z X I */
	int ppid;
	unsigned int flags;
	uint64_t start; /* in clock ticks since boot: tells two bearers of one number apart */
};
/* Parse the text of a `stat`. 0, or -EINVAL. Pure. */
int task_stat_parse(const char *text, struct task_stat *ret);

/* What tells processes from threads. */
struct tasks_kind {
	bool processes;
	/* The JSON of one; freed by the caller. NULL: no memory. */
	char *(*value)(int dir, int number, const struct task_stat *stat);
};

/* What is followed. A task whose number is in `excluded` does not count. */
struct tasks {
	const struct tasks_kind *kind;
	int dir; /* the folder of numbers; -1 */
	struct roll roll;
	int excluded[2];
	int ancestor; /* only what comes from it counts; it is told as process 1. 0: all count */
};

/* Does a process come from that one? False, too, when it is gone. */
bool task_comes_from(int proc, int number, int ancestor);

/* 0, or a negative errno. The list must have been made by roll_list(&t->roll, t->dir). */
int tasks_tell(struct tasks *t, bool full, struct sink *sink);
void tasks_leave(struct tasks *t); /* closes dir, forgets all */
