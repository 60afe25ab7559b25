#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>

#include "probe/sensors/sensors.h"
#include "probe/sensors/tasks.h"
#include "probe/vantage.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/digest.h"
#include "sandbox/base/err.h"
#include "sandbox/base/fd.h"
#include "sandbox/base/json.h"

#define CMDLINE_LEN_MAX 4096 /* what lies behind it does not count */

static const char *state_name(char state)
{
	switch (state) {
	case 'Z':
	case 'X':
		return "zombie";
	case 'T':
	case 't':
		return "stopped";
	default: /* whether it happens to run or to sleep is no state of the world */
		return "alive";
	}
}

/* NULL is an answer: a zombie has no command line, and what has just gone neither. */
static const char *cmdline_digest(int dir, int number, char hex[DIGEST_HEX])
{
	char path[32];
	char line[CMDLINE_LEN_MAX];
	snprintf(path, sizeof(path), "%d/cmdline", number);
	cleanup_close int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? 0 : fd_read_full(fd, line, sizeof(line));
	return len > 0 ? digest_hex(digest_bytes(line, (size_t)len), hex) : NULL;
}

static char *value(int dir, int number, const struct task_stat *stat)
{
	char hex[DIGEST_HEX];
	cleanup_json cJSON *object = cJSON_CreateObject();
	if (!object || !cJSON_AddNumberToObject(object, "pid", number) ||
	    json_add_name(object, "comm", stat->comm) ||
	    !cJSON_AddNumberToObject(object, "ppid", stat->ppid) ||
	    !cJSON_AddStringToObject(object, "state", state_name(stat->state)) ||
	    json_add_name(object, "cmdline", cmdline_digest(dir, number, hex)) ||
	    !cJSON_AddBoolToObject(object, "daemonised", stat->ppid == 1))
		return NULL;
	return json_line(object);
}

static const struct tasks_kind kind = { .processes = true, .value = value };

static int processes_open(const struct vantage *v, void **ret, struct err *e)
{
	struct tasks *t = calloc(1, sizeof(*t));
	if (!t)
		return err_sys(e, "follow processes");
	t->kind = &kind;
	t->excluded[0] = v->warden ? v->warden : 1;
	t->ancestor = v->warden;
	/* A descriptor of its own, because the place in the list belongs to it. */
	t->dir = openat(v->proc, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (t->dir < 0) {
		int r = err_sys(e, "open the cell's /proc");
		free(t);
		return r;
	}
	struct statfs fs;
	t->roll.numbers_last = fstatfs(t->dir, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC;
	*ret = t;
	return 0;
}

static int processes_look(void *memory, const struct vantage *v, bool full, struct sink *sink,
			  struct err *e)
{
	struct tasks *t = memory;
	bool another = t->excluded[1] != v->inner; /* has said hello: it may be known as any process */
	t->excluded[1] = v->inner;
	int r = roll_list(&t->roll, t->dir);
	if (!r)
		r = tasks_tell(t, full || another, sink);
	return r ? err_set(e, -r, "follow the processes of the cell: %s", strerrordesc_np(-r)) : 0;
}

static void processes_close(void *memory)
{
	struct tasks *t = memory;
	tasks_leave(t);
	free(t);
}

/* All processes of the cell but its first and the test process. Key: comm. Value: {"pid","comm",
 * "ppid","state":"alive", "stopped" or "zombie","cmdline":digest or null,"daemonised"}. */
const struct sensor sensor_processes = {
	.domain = "processes",
	.came = "started",
	.went = "ended",
	.lives = true,
	.open = processes_open,
	.close = processes_close,
	.look = processes_look,
};
