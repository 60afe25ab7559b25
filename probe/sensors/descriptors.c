#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "probe/sensors/roll.h"
#include "probe/sensors/sensors.h"
#include "probe/sensors/subject.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/json.h"
#include "sandbox/base/text.h"

struct descriptors {
	struct subject subject;
	int dir; /* /proc/PID/fd */
	struct roll roll;
};

/* One open file, as it was when its number was new. */
struct opened {
	char *id;           /* "fd 7 TARGET" */
	const char *target; /* as the link reads; lies in id */
	uint64_t inode;
	uint32_t major;
	uint32_t minor;
};

/* A look in progress. */
struct look {
	int dir;
	bool amid;
	struct sink *sink;
};

static void opened_free(void *at)
{
	struct opened *o = at;
	free(o->id);
	free(o);
}

static void opened_free_at(struct opened **o)
{
	if (*o)
		opened_free(*o);
}

static int descriptors_open(const struct vantage *v, void **ret, struct err *e)
{
	(void)v;
	struct descriptors *d = calloc(1, sizeof(*d));
	if (!d)
		return err_sys(e, "follow descriptors");
	d->subject = SUBJECT_NULL;
	d->dir = -1;
	*ret = d;
	return 0;
}

/* Copies the digits of a number that differs from run to run as one N. */
static const char *skip_digits(const char *from, char **to)
{
	if (!isdigit((unsigned char)*from))
		return from;
	while (isdigit((unsigned char)*from))
		from++;
	*(*to)++ = 'N';
	return from;
}

/* The target without what differs from run to run: "pipe:[123]" is "pipe", "/proc/12/maps" is
 * "/proc/N/maps", "/tmp/#34 (deleted)", made by O_TMPFILE, is "/tmp/#N (deleted)". `to` is as long
 * as `target`. */
static void normalise(const char *target, char *to)
{
	static const char *const numbered[] = { "/proc/", "/dev/pts/" };
	const char *inode = strstr(target, ":[");
	if (target[0] != '/' && inode && isdigit((unsigned char)inode[2])) {
		memcpy(to, target, (size_t)(inode - target));
		to[inode - target] = '\0';
		return;
	}
	for (size_t i = 0; i < countof(numbered); i++) {
		size_t prefix = strlen(numbered[i]);
		if (!text_starts(target, numbered[i]))
			continue;
		memcpy(to, target, prefix);
		to += prefix;
		target = skip_digits(target + prefix, &to);
	}
	const char *name = strrchr(target, '/');
	if (name && name[1] == '#' && text_ends(target, " (deleted)")) {
		memcpy(to, target, (size_t)(name - target) + 2);
		to += name - target + 2;
		target = skip_digits(name + 2, &to);
	}
	memcpy(to, target, strlen(target) + 1);
}

static const char *mode_name(mode_t mode)
{
	/* The link's own bits say how the file was opened. */
	switch (mode & (S_IRUSR | S_IWUSR)) {
	case S_IRUSR | S_IWUSR:
		return "rw";
	case S_IRUSR:
		return "r";
	case S_IWUSR:
		return "w";
	default:
		return "path";
	}
}

static char *value_of(int number, const char *target, mode_t mode)
{
	cleanup_json cJSON *value = cJSON_CreateObject();
	if (!value || !cJSON_AddNumberToObject(value, "fd", number) ||
	    json_add_name(value, "target", target) ||
	    !cJSON_AddStringToObject(value, "mode", mode_name(mode)))
		return NULL;
	return json_line(value);
}

/* Which file it is, without asking whatever server it may lie on. */
static int identify(int dir, const char *name, struct opened *ret)
{
	struct statx st;
	if (statx(dir, name, AT_STATX_DONT_SYNC, STATX_INO, &st))
		return -errno;
	ret->inode = st.stx_ino;
	ret->major = st.stx_dev_major;
	ret->minor = st.stx_dev_minor;
	return 0;
}

static int read_target(int dir, const char *name, char target[PATH_MAX])
{
	ssize_t len = readlinkat(dir, name, target, PATH_MAX - 1);
	if (len < 0)
		return -errno;
	target[len] = '\0';
	return 0;
}

static int tell(struct look *look, int number, const struct opened *o, mode_t mode)
{
	char key[PATH_MAX];
	normalise(o->target, key);
	cleanup_free char *value = value_of(number, key, mode);
	if (!value)
		return -ENOMEM;
	return sink_offer(look->sink, &(struct offer){ .id = o->id, .key = key, .value = value });
}

static struct opened *opened_new(int number, const char *target)
{
	cleanup(opened_free_at) struct opened *o = calloc(1, sizeof(*o));
	if (!o)
		return NULL;
	int prefix = asprintf(&o->id, "fd %d %s", number, target) - (int)strlen(target);
	if (prefix < 0) {
		o->id = NULL;
		return NULL;
	}
	o->target = o->id + prefix;
	return take_ptr(&o);
}

static int came(void *with, int number, void **ret)
{
	struct look *look = with;
	char name[16];
	char target[PATH_MAX];
	struct stat link;
	snprintf(name, sizeof(name), "%d", number);
	int r = read_target(look->dir, name, target);
	if (!r && fstatat(look->dir, name, &link, AT_SYMLINK_NOFOLLOW))
		r = -errno;
	if (r)
		return r == -ENOENT ? 0 : r; /* closed meanwhile */
	cleanup(opened_free_at) struct opened *o = opened_new(number, target);
	if (!o)
		return -ENOMEM;
	identify(look->dir, name, o);
	r = tell(look, number, o, link.st_mode);
	if (!r)
		*ret = take_ptr(&o);
	return r;
}

static int went(void *with, int number, void *thing)
{
	(void)number;
	struct look *look = with;
	struct opened *o = thing;
	int r = sink_offer(look->sink, &(struct offer){ .id = o->id });
	opened_free(o);
	return r;
}

/* A file that was renamed or unlinked is still the same one by its inode, and one that an overlay
 * has copied up is by its name. Anonymous inodes are all one: only the name tells them apart. */
static int again(void *with, int number, void **thing)
{
	struct look *look = with;
	if (look->amid && number <= STDERR_FILENO)
		return 0;
	struct opened *o = *thing;
	struct opened now = { 0 };
	char name[16];
	char target[PATH_MAX];
	snprintf(name, sizeof(name), "%d", number);
	int r = identify(look->dir, name, &now);
	if (!r && now.inode == o->inode && now.major == o->major && now.minor == o->minor &&
	    !text_starts(o->target, "anon_inode:"))
		return 0;
	r = read_target(look->dir, name, target);
	if (r)
		return r == -ENOENT ? 0 : r; /* closed meanwhile */
	if (text_eq(target, o->target))
		return 0;
	*thing = NULL;
	r = went(look, number, o);
	return r ? r : came(look, number, thing);
}

static const struct roll_ops ops = {
	.came = came,
	.went = went,
	.again = again,
	.free_thing = opened_free,
	.often_below = 3, /* what 0, 1 and 2 mean is what a test replaces most */
	.early = 1,
	.often = 8,
};

static void leave(void *memory)
{
	struct descriptors *d = memory;
	roll_done(&d->roll, &ops);
	fd_close_at(&d->dir);
}

static int look_at(void *memory, const struct vantage *v, bool full, struct sink *sink)
{
	struct descriptors *d = memory;
	if (d->dir < 0) {
		int dir = subject_open(&d->subject, v, "fd", O_RDONLY | O_DIRECTORY);
		if (dir < 0)
			return dir;
		d->dir = dir;
		sink_anew(sink);
	}
	int r = roll_list(&d->roll, d->dir);
	if (r)
		return r;
	if (!roll_is_same(&d->roll) && subject_gone(&d->subject))
		return 0; /* a process that has ended has no descriptors */
	struct look look = { d->dir, v->amid, sink };
	r = roll_call(&d->roll, full, &ops, &look);
	return r ? r : sink_blind(sink, NULL);
}

static int descriptors_look(void *memory, const struct vantage *v, bool full, struct sink *sink,
			    struct err *e)
{
	static const struct subject_ops subject_ops = { "its descriptors", leave, look_at };
	struct descriptors *d = memory;
	return subject_look(&d->subject, &subject_ops, d, v, full, sink, e);
}

static void descriptors_close(void *memory)
{
	struct descriptors *d = memory;
	leave(d);
	subject_done(&d->subject);
	free(d);
}

/* Open descriptors of the test process. Key: the normalised target. Value: {"fd":7,"target":…,
 * "mode":"r", "w", "rw" or "path"}. */
const struct sensor sensor_descriptors = {
	.domain = "descriptors",
	.came = "opened",
	.went = "closed",
	.open = descriptors_open,
	.close = descriptors_close,
	.look = descriptors_look,
};
