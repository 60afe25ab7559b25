#include "sandbox/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/fd.h"
#include "sandbox/cell_spec.h"
#include "sandbox/devices.h"
#include "sandbox/etc.h"
#include "sandbox/mount.h"

static int clone_folder(const char *path, int *ret, struct err *e)
{
	cleanup_close int mount = -1;
	int r = mount_clone(AT_FDCWD, path, 0, &mount, e);
	if (!r)
		r = mount_restrict(mount, mount_tame(), 0, e);
	if (!r)
		*ret = take_fd(&mount);
	return r;
}

int scratch_new(const struct cell_spec *spec, const char *path, int *ret, struct err *e)
{
	if (path)
		return clone_folder(path, ret, e);
	char bytes[32];
	char inodes[32];
	snprintf(bytes, sizeof(bytes), "%ju", (uintmax_t)spec->scratch_bytes);
	snprintf(inodes, sizeof(inodes), "%ju", (uintmax_t)spec->scratch_inodes);
	const struct mount_option options[] = {
		{ "size", bytes },
		{ "nr_inodes", inodes },
		{ "mode", "0755" },
	};
	return mount_new("tmpfs", options, countof(options), mount_tame(), ret, e);
}

static int make_folder(int scratch, const char *path, mode_t mode, struct err *e)
{
	return mkdirat(scratch, path, mode) < 0 ? err_sys(e, "make %s on the scratch", path) : 0;
}

static int make_folders(const struct cell_spec *spec, int scratch, struct err *e)
{
	char runtime[64];
	snprintf(runtime, sizeof(runtime), "run/user/%u", spec->uid);
	const struct {
		const char *path;
		mode_t mode;
	} folders[] = {
		{ "tmp", 01777 },        { "tmp/.X11-unix", 01777 },
		{ "var-tmp", 01777 },    { "shm", 01777 },
		{ "home", 0700 },        { "home/.cache", 0700 },
		{ "cache", 0700 },       { "run", 0755 },
		{ "run/lock", 01777 },   { "run/user", 0755 },
		{ runtime, 0700 },       { SCRATCH_OWN, 0755 },
		{ SCRATCH_DROP, 01777 }, { SCRATCH_ETC, 0755 },
	};
	for (size_t i = 0; i < countof(folders); i++) {
		int r = make_folder(scratch, folders[i].path, folders[i].mode, e);
		if (r < 0)
			return r;
	}
	return 0;
}

/* A folder is what careless tests delete whole, a file what they delete by age or pattern. */
static int make_canary(int scratch, const char *place, struct err *e)
{
	char path[128];
	snprintf(path, sizeof(path), "%s/" CELL_CANARY, place);
	int r = make_folder(scratch, path, 0755, e);
	if (r < 0)
		return r;
	snprintf(path, sizeof(path), "%s/" CELL_CANARY "/keep", place);
	if (mknodat(scratch, path, S_IFREG | 0644, 0) < 0)
		return err_sys(e, "make %s on the scratch", path);
	return 0;
}

static int make_canaries(const struct cell_spec *spec, int scratch, struct err *e)
{
	if (spec->no_canary)
		return 0;
	char runtime[64];
	snprintf(runtime, sizeof(runtime), "run/user/%u", spec->uid);
	const char *const places[] = { "tmp", "var-tmp", "shm", "run", runtime, "home", "cache" };
	for (size_t i = 0; i < countof(places); i++) {
		int r = make_canary(scratch, places[i], e);
		if (r < 0)
			return r;
	}
	return 0;
}

static int write_at(int dir_fd, const char *name, const void *data, size_t len, struct err *e)
{
	cleanup_close int fd =
		openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd < 0)
		return err_sys(e, "make %s on the scratch", name);
	if (fd_write_full(fd, data, len) < 0)
		return err_sys(e, "write %s on the scratch", name);
	return 0;
}

static int write_file(int own, const struct cell_file *file, struct err *e)
{
	cleanup_free char *path = strdup(file->name);
	if (!path)
		return err_sys(e, "make %s", file->name);
	for (char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdirat(own, path, 0755) < 0 && errno != EEXIST)
			return err_sys(e, "make %s on the scratch", path);
		*slash = '/';
	}
	return write_at(own, path, file->data, file->len, e);
}

static int write_files(const struct cell_spec *spec, int scratch, struct err *e)
{
	if (!spec->files_len)
		return 0;
	cleanup_close int own = openat(scratch, SCRATCH_OWN, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (own < 0)
		return err_sys(e, "open %s on the scratch", SCRATCH_OWN);
	for (size_t i = 0; i < spec->files_len; i++) {
		int r = write_file(own, &spec->files[i], e);
		if (r < 0)
			return r;
	}
	return 0;
}

static int write_etc(const struct cell_spec *spec, int scratch, struct err *e)
{
	cleanup_close int host = open("/etc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (host < 0)
		return err_sys(e, "open /etc");
	cleanup(etc_done) struct etc etc = ETC_NULL;
	int r = etc_make(spec, host, &etc, e);
	for (size_t i = 0; !r && i < ETC_N; i++) {
		char name[64];
		snprintf(name, sizeof(name), SCRATCH_ETC "/%s", etc_names[i]);
		if (etc.texts[i].at)
			r = write_at(scratch, name, etc.texts[i].at, etc.texts[i].len, e);
	}
	return r;
}

static int make_empty(const struct cell_spec *spec, int scratch, struct err *e)
{
	if (!spec->hidden_len && !spec->scratch_dir)
		return 0;
	int r = make_folder(scratch, SCRATCH_EMPTY, 0755, e);
	return r < 0 ? r : write_at(scratch, SCRATCH_EMPTY_FILE, "", 0, e);
}

int scratch_lay_out(const struct cell_spec *spec, int scratch, struct err *e)
{
	int r = make_folders(spec, scratch, e);
	if (r < 0 || spec->isolation == CELL_ISOLATION_LANDLOCK)
		return r;
	if (!r)
		r = devices_fill(scratch, e);
	if (!r)
		r = write_etc(spec, scratch, e);
	return r < 0 ? r : make_empty(spec, scratch, e);
}

int scratch_fill(const struct cell_spec *spec, int scratch, struct err *e)
{
	int r = make_canaries(spec, scratch, e);
	return r < 0 ? r : write_files(spec, scratch, e);
}
