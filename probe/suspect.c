#include "probe/suspect.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "probe/fingerprint.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/fd.h"
#include "sandbox/base/json.h"

#define SURVIVORS_MAX 64 /* looked into at a boundary; all are named as suspects */

struct written {
	uint64_t total; /* bytes, as the kernel counts */
	uint64_t last;  /* since the look before */
};

/* Bytes that a process and the children it waited for have written (proc(5), io: wchar). */
static int bytes_written(const struct vantage *v, pid_t inner, uint64_t *ret)
{
	char path[32];
	snprintf(path, sizeof(path), "%d/io", inner);
	cleanup_free char *text = NULL;
	int r = fd_load(v->proc, path, 4096, &text, NULL, NULL);
	const char *line = r ? NULL : strstr(text, "wchar:");
	if (!line)
		return r ? r : -EPROTO;
	*ret = strtoull(line + strlen("wchar:"), NULL, 10);
	return 0;
}

/* Updates what is known of a process. A process that has gone wrote nothing more. 0 or -ENOMEM. */
static int follow(struct suspects *s, const struct vantage *v, pid_t inner)
{
	char key[16];
	snprintf(key, sizeof(key), "%d", inner);
	struct written *w = map_get(&s->written, key);
	uint64_t total;
	if (bytes_written(v, inner, &total)) {
		if (w)
			w->last = 0;
		return 0;
	}
	if (w) {
		w->last = total > w->total ? total - w->total : 0;
		w->total = total;
		return 0;
	}
	w = malloc(sizeof(*w));
	if (!w)
		return -ENOMEM;
	*w = (struct written){ .total = total };
	return map_put(&s->written, key, w);
}

static uint64_t last_written(const struct suspects *s, pid_t inner)
{
	char key[16];
	snprintf(key, sizeof(key), "%d", inner);
	const struct written *w = map_get(&s->written, key);
	return w ? w->last : 0;
}

static bool fd_writes(int proc, const char *process, const char *fd)
{
	char path[300];
	snprintf(path, sizeof(path), "%s/fdinfo/%s", process, fd);
	cleanup_free char *text = NULL;
	if (fd_load(proc, path, 65536, &text, NULL, NULL))
		return false;
	const char *flags = strstr(text, "flags:");
	return flags && (strtol(flags + strlen("flags:"), NULL, 8) & O_ACCMODE) != O_RDONLY;
}

static bool holds_open(const struct vantage *v, pid_t inner, const char *path)
{
	char process[16];
	char folder[32];
	snprintf(process, sizeof(process), "%d", inner);
	snprintf(folder, sizeof(folder), "%d/fd", inner);
	int fd = openat(v->proc, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		fd_close_at(&fd);
		return false;
	}
	bool found = false;
	for (struct dirent *d; !found && (d = readdir(dir));) {
		char target[PATH_MAX];
		ssize_t n = readlinkat(fd, d->d_name, target, sizeof(target) - 1);
		if (n < 0)
			continue;
		target[n] = '\0';
		found = text_eq(target, path) && fd_writes(v->proc, process, d->d_name);
	}
	closedir(dir);
	return found;
}

static double number_in(const char *json, const char *key)
{
	cleanup_json cJSON *tree = json ? cJSON_Parse(json) : NULL;
	return json_number(tree, key, 0);
}

/* Why a survivor surely wrote it; NULL: it may have, or not. */
static const char *proof(const struct suspects *s, const struct vantage *v, pid_t survivor,
			 const struct delta *d)
{
	if (!d->after)
		return NULL; /* who removed it leaves no trace */
	if (holds_open(v, survivor, d->id))
		return "descriptor";
	uint64_t size = (uint64_t)number_in(d->after, "size");
	return size > 0 && last_written(s, survivor) >= size && last_written(s, v->inner) < size
		       ? "io"
		       : NULL;
}

static int charge(struct fingerprint *f, struct delta *d, const struct delta *survivor,
		  const char *test, const char *how)
{
	cleanup_json cJSON *writer = cJSON_CreateObject();
	json_add_name(writer, "test", test);
	json_add_name(writer, "comm", survivor->key);
	cJSON_AddStringToObject(writer, "how", how);
	d->writer = json_line(writer);
	if (!d->writer)
		return -ENOMEM;
	fingerprint_charge(f, d->domain, d->id, survivor->owner);
	return 0;
}

static int accuse(struct suspects *s, struct fingerprint *f, const struct vantage *v,
		  const struct delta *survivor, const char *test, struct delta *d)
{
	if (!strv_has(&d->suspects, test) && strv_add(&d->suspects, test))
		return -ENOMEM;
	pid_t inner = text_eq(survivor->domain, "processes")
			      ? (pid_t)number_in(survivor->after, "pid")
			      : 0; /* a thread shares the test process's descriptors and counts */
	const char *how = inner && !d->writer ? proof(s, v, inner, d) : NULL;
	return how ? charge(f, d, survivor, test, how) : 0;
}

int suspects_name(struct suspects *s, struct fingerprint *f, const struct vantage *v, int by,
		  const char *(*name)(const void *with, int number), const void *with,
		  struct delta_list *deltas, struct err *e)
{
	cleanup(delta_list_done) struct delta_list alive = DELTA_LIST_NULL;
	int r = fingerprint_survivors(f, &alive, e);
	if (r || !alive.len)
		return r;
	r = follow(s, v, v->inner);
	for (size_t i = 0; !r && i < alive.len && i < SURVIVORS_MAX; i++)
		if (text_eq(alive.at[i].domain, "processes"))
			r = follow(s, v, (pid_t)number_in(alive.at[i].after, "pid"));
	for (size_t i = 0; !r && i < deltas->len; i++) {
		if (!text_eq(deltas->at[i].domain, "files"))
			continue;
		for (size_t k = 0; !r && k < alive.len; k++) {
			const char *test = name(with, alive.at[k].owner);
			if (test && alive.at[k].owner != by)
				r = accuse(s, f, v, &alive.at[k], test, &deltas->at[i]);
		}
	}
	return r ? err_set(e, -r, "name the suspects of a change") : 0;
}

void suspects_done(struct suspects *s)
{
	map_done(&s->written);
}
