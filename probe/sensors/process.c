#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "probe/sensors/sensors.h"
#include "probe/sensors/subject.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/json.h"
#include "sandbox/base/text.h"

#define STATUS_LEN_MAX 8192 /* of /proc/PID/status, which is about 1500 */
#define SIGNALS        64
#define UNSEEN         UINT64_MAX
#define DELETED        " (deleted)"

/* What a process has once, however many threads it has (the mask is the first thread's). */
struct traits {
	char cwd[PATH_MAX]; /* as the link reads */
	uint64_t umask;
	uint64_t blocked; /* bit n - 1: signal n */
	uint64_t ignored;
	uint64_t caught;
	uint64_t personality; /* UNSEEN: it is kept from us */
	int nice;
	struct rlimit limits[RLIM_NLIMITS];
};

struct process {
	struct subject subject;
	int dir; /* /proc/PID; -1 as the others while nothing was told */
	int status;
	int personality;
	struct traits last;
};

static int process_open(const struct vantage *v, void **ret, struct err *e)
{
	(void)v;
	struct process *p = calloc(1, sizeof(*p));
	if (!p)
		return err_sys(e, "follow the test process");
	p->subject = SUBJECT_NULL;
	p->dir = p->status = p->personality = -1;
	*ret = p;
	return 0;
}

/* The number behind "\nNAME:\t". -EPROTO when there is none. */
static int status_number(const char *text, const char *label, int base, uint64_t *ret)
{
	const char *at = strstr(text, label);
	if (!at)
		return -EPROTO;
	at += strlen(label);
	char *end;
	*ret = strtoull(at, &end, base);
	return *end == '\n' && end > at ? 0 : -EPROTO;
}

static int read_text(int fd, char *text, size_t len)
{
	ssize_t n = pread(fd, text, len - 1, 0);
	if (n < 0)
		return -errno;
	text[n] = '\0';
	return 0;
}

static int read_status(const struct process *p, struct traits *t)
{
	char text[STATUS_LEN_MAX];
	int r = read_text(p->status, text, sizeof(text));
	const struct {
		const char *label;
		int base;
		uint64_t *number;
	} wanted[] = { /* in the order of the file */
		       { "\nUmask:\t", 8, &t->umask },
		       { "\nSigBlk:\t", 16, &t->blocked },
		       { "\nSigIgn:\t", 16, &t->ignored },
		       { "\nSigCgt:\t", 16, &t->caught }
	};
	for (size_t i = 0; !r && i < countof(wanted); i++)
		r = status_number(text, wanted[i].label, wanted[i].base, wanted[i].number);
	return r;
}

static int read_personality(const struct process *p, struct traits *t)
{
	char text[32];
	int r = read_text(p->personality, text, sizeof(text));
	/* Asks for more than the rest: where Yama forbids all tracing, this is what is lost. */
	if (r == -EPERM || r == -EACCES)
		t->personality = UNSEEN;
	else if (!r)
		t->personality = strtoull(text, NULL, 16);
	return r == -EPERM || r == -EACCES ? 0 : r;
}

static int read_limits(const struct process *p, struct traits *t)
{
	for (int i = 0; i < RLIM_NLIMITS; i++)
		if (prlimit(p->subject.pid, (__rlimit_resource_t)i, NULL, &t->limits[i]))
			return -errno;
	return 0;
}

static int read_nice(const struct process *p, struct traits *t)
{
	errno = 0;
	t->nice = getpriority(PRIO_PROCESS, (id_t)p->subject.pid);
	return -errno;
}

static int read_cwd(const struct process *p, struct traits *t)
{
	ssize_t len = readlinkat(p->dir, "cwd", t->cwd, sizeof(t->cwd) - 1);
	if (len < 0)
		return -errno;
	t->cwd[len] = '\0';
	return 0;
}

static int read_traits(const struct process *p, struct traits *ret)
{
	int r = read_status(p, ret);
	if (!r)
		r = read_personality(p, ret);
	if (!r)
		r = read_limits(p, ret);
	if (!r)
		r = read_nice(p, ret);
	return r ? r : read_cwd(p, ret);
}

/* ---- what of it is told ---- */

/* Does the link end in " (deleted)" because the folder is, or because that is its name? */
static bool is_deleted(const struct process *p, const struct vantage *v, const char *cwd)
{
	if (!text_ends(cwd, DELETED))
		return false;
	struct stat it;
	struct stat named;
	return fstatat(p->dir, "cwd", &it, 0) || fstatat(v->root, cwd + 1, &named, 0) ||
	       it.st_ino != named.st_ino || it.st_dev != named.st_dev;
}

static int tell_cwd(const struct process *p, const struct vantage *v, struct sink *sink,
		    const struct traits *t)
{
	bool deleted = is_deleted(p, v, t->cwd);
	cleanup_free char *path = strndup(t->cwd, strlen(t->cwd) - (deleted ? strlen(DELETED) : 0));
	cleanup_json cJSON *object = cJSON_CreateObject();
	if (!path || !object || json_add_name(object, "path", path) ||
	    !cJSON_AddBoolToObject(object, "deleted", deleted))
		return -ENOMEM;
	cleanup_free char *value = json_line(object);
	if (!value)
		return -ENOMEM;
	return sink_offer(sink, &(struct offer){ .id = "cwd", .value = value });
}

__attribute__((format(printf, 3, 4))) static int tell(struct sink *sink, const char *id,
						      const char *fmt, ...)
{
	char value[128];
	va_list args;
	va_start(args, fmt);
	vsnprintf(value, sizeof(value), fmt, args);
	va_end(args);
	return sink_offer(sink, &(struct offer){ .id = id, .value = value });
}

static int tell_limit(struct sink *sink, int resource, const struct rlimit *limit)
{
	static const char *const names[RLIM_NLIMITS] = {
		[RLIMIT_CPU] = "CPU",           [RLIMIT_FSIZE] = "FSIZE",
		[RLIMIT_DATA] = "DATA",         [RLIMIT_STACK] = "STACK",
		[RLIMIT_CORE] = "CORE",         [RLIMIT_RSS] = "RSS",
		[RLIMIT_NPROC] = "NPROC",       [RLIMIT_NOFILE] = "NOFILE",
		[RLIMIT_MEMLOCK] = "MEMLOCK",   [RLIMIT_AS] = "AS",
		[RLIMIT_LOCKS] = "LOCKS",       [RLIMIT_SIGPENDING] = "SIGPENDING",
		[RLIMIT_MSGQUEUE] = "MSGQUEUE", [RLIMIT_NICE] = "NICE",
		[RLIMIT_RTPRIO] = "RTPRIO",     [RLIMIT_RTTIME] = "RTTIME",
	};
	char id[32];
	char sides[2][24];
	const rlim_t values[2] = { limit->rlim_cur, limit->rlim_max };
	for (int i = 0; i < 2; i++)
		if (values[i] == RLIM_INFINITY)
			snprintf(sides[i], sizeof(sides[i]), "\"unlimited\"");
		else
			snprintf(sides[i], sizeof(sides[i]), "%" PRIuMAX, (uintmax_t)values[i]);
	snprintf(id, sizeof(id), "rlimit %s", names[resource]);
	return tell(sink, id, "{\"soft\":%s,\"hard\":%s}", sides[0], sides[1]);
}

static void signal_name(int number, char name[24])
{
	const char *known = sigabbrev_np(number);
	if (known)
		snprintf(name, 24, "SIG%s", known);
	else
		snprintf(name, 24, "SIGRTMIN+%d", number - SIGRTMIN);
}

static int tell_signal(struct sink *sink, int number, const struct traits *t)
{
	char name[24];
	uint64_t bit = UINT64_C(1) << (number - 1);
	const char *action = t->caught & bit ? "caught" : t->ignored & bit ? "ignored" : "default";
	signal_name(number, name);
	return tell(sink, name, "{\"action\":\"%s\",\"blocked\":%s}", action,
		    t->blocked & bit ? "true" : "false");
}

/* The C library takes the signals between the classic ones and SIGRTMIN for itself, with the first
 * thread for example: no test's doing. */
static bool is_of_libc(int number)
{
	return number >= 32 && number < SIGRTMIN;
}

static int tell_signals(struct sink *sink, bool all, const struct traits *last,
			const struct traits *now)
{
	uint64_t moved = (last->blocked ^ now->blocked) | (last->ignored ^ now->ignored) |
			 (last->caught ^ now->caught);
	int r = 0;
	for (int i = 1; !r && i <= SIGNALS; i++)
		if ((all || moved >> (i - 1) & 1) && !is_of_libc(i))
			r = tell_signal(sink, i, now);
	return r;
}

static bool is_same(const struct traits *last, const struct traits *now)
{
	return last->umask == now->umask && last->blocked == now->blocked &&
	       last->ignored == now->ignored && last->caught == now->caught &&
	       last->personality == now->personality && last->nice == now->nice &&
	       memcmp(last->limits, now->limits, sizeof(now->limits)) == 0 &&
	       text_eq(last->cwd, now->cwd);
}

static int tell_limits(struct sink *sink, bool all, const struct traits *last,
		       const struct traits *now)
{
	int r = 0;
	for (int i = 0; !r && i < RLIM_NLIMITS; i++)
		if (all || last->limits[i].rlim_cur != now->limits[i].rlim_cur ||
		    last->limits[i].rlim_max != now->limits[i].rlim_max)
			r = tell_limit(sink, i, &now->limits[i]);
	return r;
}

static int tell_numbers(struct sink *sink, bool all, const struct traits *last,
			const struct traits *now)
{
	int r = 0;
	if (all || last->umask != now->umask)
		r = tell(sink, "umask", "{\"umask\":\"%04o\"}", (unsigned int)now->umask);
	if (!r && (all || last->nice != now->nice))
		r = tell(sink, "nice", "{\"nice\":%d}", now->nice);
	if (!r && now->personality != UNSEEN && (all || last->personality != now->personality))
		r = tell(sink, "personality", "{\"personality\":\"%08x\"}",
			 (unsigned int)now->personality);
	return r;
}

/* ---- looking ---- */

static void leave(void *memory)
{
	struct process *p = memory;
	fd_close_at(&p->dir);
	fd_close_at(&p->status);
	fd_close_at(&p->personality);
}

static int enter(struct process *p, const struct vantage *v)
{
	int dir = subject_open(&p->subject, v, "", O_PATH | O_DIRECTORY);
	if (dir < 0)
		return dir;
	p->dir = dir;
	p->status = openat(dir, "status", O_RDONLY | O_CLOEXEC);
	if (p->status < 0)
		return -errno;
	p->personality = openat(dir, "personality", O_RDONLY | O_CLOEXEC);
	return p->personality < 0 ? -errno : 0;
}

static int look_at(void *memory, const struct vantage *v, bool full, struct sink *sink)
{
	(void)full; /* it is all read every time */
	struct process *p = memory;
	struct traits now;
	bool all = p->dir < 0;
	int r = all ? enter(p, v) : 0;
	if (!r)
		r = read_traits(p, &now);
	if (r || (!all && is_same(&p->last, &now)) || subject_gone(&p->subject))
		return r;
	if (all)
		sink_anew(sink);
	r = tell_numbers(sink, all, &p->last, &now);
	if (!r)
		r = tell_signals(sink, all, &p->last, &now);
	if (!r)
		r = tell_limits(sink, all, &p->last, &now);
	if (!r && (all || !text_eq(p->last.cwd, now.cwd)))
		r = tell_cwd(p, v, sink, &now);
	if (r)
		return r;
	p->last = now;
	return sink_blind(sink, now.personality == UNSEEN ? "its personality may not be read" : NULL);
}

static int process_look(void *memory, const struct vantage *v, bool full, struct sink *sink,
			struct err *e)
{
	static const struct subject_ops ops = { "its traits", leave, look_at };
	struct process *p = memory;
	return subject_look(&p->subject, &ops, p, v, full, sink, e);
}

static void process_close(void *memory)
{
	struct process *p = memory;
	leave(p);
	subject_done(&p->subject);
	free(p);
}

/* What the test process has once: keys "cwd" {"path","deleted"}, "umask" {"umask":"0022"}, "nice",
 * "personality", "rlimit NOFILE" {"soft","hard"} and so on, "SIGTERM" {"action":"default", "ignored"
 * or "caught","blocked"} for each signal. */
const struct sensor sensor_process = {
	.domain = "process",
	.came = "changed",
	.went = "changed",
	.open = process_open,
	.close = process_close,
	.look = process_look,
};
