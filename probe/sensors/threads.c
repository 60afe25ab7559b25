#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "probe/sensors/sensors.h"
#include "probe/sensors/subject.h"
#include "probe/sensors/tasks.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/json.h"

struct threads {
	struct subject subject;
	struct tasks tasks;
};

static char *value(int dir, int number, const struct task_stat *stat)
{
	(void)dir;
	cleanup_json cJSON *object = cJSON_CreateObject();
	if (!object || !cJSON_AddNumberToObject(object, "tid", number) ||
	    json_add_name(object, "comm", stat->comm))
		return NULL;
	return json_line(object);
}

static const struct tasks_kind kind = { .processes = false, .value = value };

static int threads_open(const struct vantage *v, void **ret, struct err *e)
{
	(void)v;
	struct threads *t = calloc(1, sizeof(*t));
	if (!t)
		return err_sys(e, "follow threads");
	t->subject = SUBJECT_NULL;
	t->tasks.kind = &kind;
	t->tasks.dir = -1;
	*ret = t;
	return 0;
}

static void leave(void *memory)
{
	struct threads *t = memory;
	tasks_leave(&t->tasks);
}

static int look_at(void *memory, const struct vantage *v, bool full, struct sink *sink)
{
	struct threads *t = memory;
	if (t->tasks.dir < 0) {
		int dir = subject_open(&t->subject, v, "task", O_RDONLY | O_DIRECTORY);
		if (dir < 0)
			return dir;
		t->tasks.dir = dir;
		t->tasks.excluded[0] = t->subject.inner;
		sink_anew(sink);
	}
	int r = roll_list(&t->tasks.roll, t->tasks.dir);
	if (r)
		return r;
	if (!roll_is_same(&t->tasks.roll) && subject_gone(&t->subject))
		return 0; /* its threads ended with it */
	r = tasks_tell(&t->tasks, full, sink);
	return r ? r : sink_blind(sink, NULL);
}

static int threads_look(void *memory, const struct vantage *v, bool full, struct sink *sink,
			struct err *e)
{
	static const struct subject_ops ops = { "its threads", leave, look_at };
	struct threads *t = memory;
	return subject_look(&t->subject, &ops, t, v, full, sink, e);
}

static void threads_close(void *memory)
{
	struct threads *t = memory;
	leave(t);
	subject_done(&t->subject);
	free(t);
}

/* Threads of the test process but its first. Key: comm. Value: {"tid","comm"}. */
const struct sensor sensor_threads = {
	.domain = "threads",
	.came = "started",
	.went = "ended",
	.lives = true,
	.open = threads_open,
	.close = threads_close,
	.look = threads_look,
};
