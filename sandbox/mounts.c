#include "sandbox/mounts.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/fault.h"
#include "sandbox/base/fd.h"
#include "sandbox/base/text.h"
#include "sandbox/cell_spec.h"
#include "sandbox/devices.h"
#include "sandbox/etc.h"
#include "sandbox/mount.h"

#define PLACES_MAX (CELL_TREES_MAX + CELL_PRIVATE_MAX)
#define OWN        "run/fumehood" /* CELL_RUN_DIR, below the scratch */
#define OWN_ETC    OWN "/etc"

_Static_assert(PLACES_MAX <= 64, "struct mounts keeps a bit for each place");

/* Detached mounts between the moment when everything can be seen and the one when it is covered. */
struct pending {
	int places[PLACES_MAX];
	int *binds; /* spec->binds_len */
	int git_dir;
	int proc;
	int devices[DEVICES_N];
	struct etc etc;
};

static void fill_fds(int *fds, size_t n)
{
	for (size_t i = 0; i < n; i++)
		fds[i] = -1;
}

static void close_fds(int *fds, size_t n)
{
	for (size_t i = 0; i < n; i++)
		fd_close_at(&fds[i]);
}

static int pending_init(struct pending *p, const struct cell_spec *spec, struct err *e)
{
	*p = (struct pending){ .git_dir = -1, .proc = -1 };
	fill_fds(p->places, countof(p->places));
	fill_fds(p->devices, countof(p->devices));
	p->binds = calloc(spec->binds_len + 1, sizeof(*p->binds));
	if (!p->binds)
		return err_set(e, ENOMEM, "out of memory");
	fill_fds(p->binds, spec->binds_len);
	return 0;
}

static void pending_done(struct pending *p, const struct cell_spec *spec)
{
	close_fds(p->places, countof(p->places));
	close_fds(p->devices, countof(p->devices));
	fd_close_at(&p->git_dir);
	fd_close_at(&p->proc);
	if (p->binds)
		close_fds(p->binds, spec->binds_len);
	free(p->binds);
	etc_done(&p->etc);
}

void mounts_init(struct mounts *m)
{
	*m = (struct mounts){ .root = -1, .proc = -1, .scratch = -1, .scratch_clone = -1 };
	fill_fds(m->bases, countof(m->bases));
}

/* ---- making things on the scratch ---- */

static int make_folders(int dir_fd, char *path, struct err *e)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		bool failed = mkdirat(dir_fd, path, 0755) < 0 && errno != EEXIST;
		*slash = '/';
		if (failed)
			return err_sys(e, "make the folders of %s", path);
	}
	return 0;
}

/* Write one of our own files, with the folders on the way. */
static int write_at(int dir_fd, const char *name, const void *data, size_t len, struct err *e)
{
	int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
	cleanup_close int fd = openat(dir_fd, name, flags, 0644);
	if (fd < 0 && errno == ENOENT) {
		cleanup_free char *path = strdup(name);
		if (!path)
			return err_sys(e, "make %s", name);
		int r = make_folders(dir_fd, path, e);
		if (r < 0)
			return r;
		fd = openat(dir_fd, name, flags, 0644);
	}
	if (fd < 0)
		return err_sys(e, "make %s", name);
	if (fd_write_full(fd, data, len) < 0)
		return err_sys(e, "write %s", name);
	return 0;
}

static int make_scratch_folders(const struct cell_spec *spec, int scratch, struct err *e)
{
	char runtime[64];
	snprintf(runtime, sizeof(runtime), "run/user/%u", spec->uid);
	const struct {
		const char *path;
		mode_t mode;
	} folders[] = {
		{ "tmp", 01777 },       { "tmp/.X11-unix", 01777 },
		{ "var-tmp", 01777 },   { "shm", 01777 },
		{ "home", 0700 },       { "home/.cache", 0700 },
		{ "cache", 0700 },      { "run", 0755 },
		{ "run/lock", 01777 },  { "run/user", 0755 },
		{ runtime, 0700 },      { OWN, 0755 },
		{ OWN "/drop", 01777 }, { "upper", 0755 },
		{ "work", 0755 },
	};
	for (size_t i = 0; i < countof(folders); i++)
		if (mkdirat(scratch, folders[i].path, folders[i].mode) < 0)
			return err_sys(e, "make %s on the scratch", folders[i].path);
	return 0;
}

static int make_canary(int scratch, const char *place, struct err *e)
{
	char path[128];
	snprintf(path, sizeof(path), "%s/" CELL_CANARY, place);
	if (mkdirat(scratch, path, 0755) < 0)
		return err_sys(e, "make %s", path);
	snprintf(path, sizeof(path), "%s/" CELL_CANARY "/keep", place);
	if (mknodat(scratch, path, S_IFREG | 0644, 0) < 0)
		return err_sys(e, "make %s", path);
	return 0;
}

static int make_canaries(const struct cell_spec *spec, int scratch, struct err *e)
{
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

static int make_files(const struct cell_spec *spec, int scratch, struct err *e)
{
	if (!spec->files_len)
		return 0;
	cleanup_close int own = openat(scratch, OWN, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (own < 0)
		return err_sys(e, "open %s on the scratch", OWN);
	for (size_t i = 0; i < spec->files_len; i++) {
		const struct cell_file *f = &spec->files[i];
		int r = write_at(own, f->name, f->data, f->len, e);
		if (r < 0)
			return r;
	}
	return 0;
}

static int make_scratch(const struct cell_spec *spec, struct mounts *m, struct err *e)
{
	char bytes[32];
	char inodes[32];
	snprintf(bytes, sizeof(bytes), "%ju", (uintmax_t)spec->scratch_bytes);
	snprintf(inodes, sizeof(inodes), "%ju", (uintmax_t)spec->scratch_inodes);
	const struct mount_option options[] = {
		{ "size", bytes },
		{ "nr_inodes", inodes },
		{ "mode", "0755" },
	};
	cleanup_close int mount = -1;
	int r = mount_new("tmpfs", options, countof(options), MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
			  &mount, e);
	/* Attached in the old root, where nobody looks again: only what is attached can be cloned and
	 * used as a layer on every kernel, and it goes when the old root goes. */
	if (!r)
		r = mount_at(mount, "/proc", e);
	if (!r)
		r = mount_clone(mount, "", AT_EMPTY_PATH, &m->scratch_clone, e);
	if (r < 0)
		return r;
	m->scratch = openat(mount, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (m->scratch < 0)
		return err_sys(e, "open the scratch");
	r = make_scratch_folders(spec, m->scratch, e);
	if (!r && !spec->no_canary)
		r = make_canaries(spec, m->scratch, e);
	return r < 0 ? r : make_files(spec, m->scratch, e);
}

/* ---- the root ---- */

/* The host's whole tree, detached. */
static int clone_root(int *ret, struct pending *p, struct err *e)
{
	cleanup_close int tree = -1;
	int r = mount_clone(AT_FDCWD, "/", AT_RECURSIVE, &tree, e);
	if (!r)
		r = mount_restrict(tree, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
				   AT_RECURSIVE, e);
	if (!r)
		r = devices_clone(p->devices, e);
	if (!r)
		*ret = take_fd(&tree);
	return r;
}

static int enter_root(int tree, struct mounts *m, struct err *e)
{
	int r = mount_at(tree, "/", e);
	if (r < 0)
		return r;
	fault_point("warden-before-pivot");
	if (fchdir(tree) < 0 || syscall(SYS_pivot_root, ".", ".") < 0)
		return err_sys(e, "make the read-only tree the root");
	fault_point("warden-after-pivot");
	m->root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (m->root < 0)
		return err_sys(e, "open the root");
	return 0;
}

/* ---- overlays ---- */

/* The merged root of an overlay has the mode and owner of its upper folder. */
static int make_layers(int scratch, const struct layout_place *place, int lower, struct err *e)
{
	struct stat st;
	if (fstat(lower, &st) < 0)
		return err_sys(e, "look at %s", place->path);
	char work[LAYOUT_DIR_LEN];
	snprintf(work, sizeof(work), "work%s", strchr(place->dir, '/'));
	if (mkdirat(scratch, place->dir, st.st_mode & 07777) < 0 || mkdirat(scratch, work, 0700) < 0)
		return err_sys(e, "make the layers of %s", place->path);
	if (st.st_uid == geteuid() && st.st_gid == getegid())
		return 0;
	/* EPERM, EINVAL: an id that has no place in this user namespace; it stays the caller's. */
	if (fchownat(scratch, place->dir, st.st_uid, st.st_gid, 0) < 0 && errno != EPERM &&
	    errno != EINVAL)
		return err_sys(e, "give %s its owner", place->dir);
	return 0;
}

/* With /proc/self/fd and the scratch as working directory, because the kernel takes option values
 * of at most 255 bytes. */
static int mount_overlay(const struct layout_place *place, int lower, int *ret, struct err *e)
{
	char lower_path[32];
	char work[LAYOUT_DIR_LEN];
	snprintf(lower_path, sizeof(lower_path), "/proc/self/fd/%d", lower);
	snprintf(work, sizeof(work), "work%s", strchr(place->dir, '/'));
	const struct mount_option options[] = {
		{ "lowerdir", lower_path }, { "upperdir", place->dir }, { "workdir", work },
		{ "userxattr", NULL },      { "index", "off" },         { "xino", "off" },
		{ "volatile", NULL },
	};
	return mount_new("overlay", options, countof(options), MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
			 ret, e);
}

/* Into the upper layer where root has an overlay of /etc, else aside, to be mounted one by one. */
static int write_etc(const struct etc *etc, int scratch, const char *dir, struct err *e)
{
	for (size_t i = 0; i < ETC_N; i++) {
		if (!etc->texts[i].at)
			continue;
		char name[64];
		snprintf(name, sizeof(name), "%s/%s", dir, etc_names[i]);
		int r = write_at(scratch, name, etc->texts[i].at, etc->texts[i].len, e);
		if (r < 0)
			return r;
	}
	return 0;
}

static bool is_etc(const struct layout_place *place)
{
	return place->overlay && strcmp(place->path, "/etc") == 0;
}

static int prepare_overlay(const struct layout_place *place, struct pending *p, int *ret,
			   int *ret_base, int scratch, struct err *e)
{
	cleanup_close int lower = open(place->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (lower < 0)
		return err_sys(e, "open %s", place->path);
	cleanup_close int base = -1;
	int r = mount_clone(lower, "", AT_EMPTY_PATH, &base, e);
	if (!r)
		r = make_layers(scratch, place, lower, e);
	if (!r && is_etc(place))
		r = write_etc(&p->etc, scratch, place->dir, e);
	if (!r)
		r = mount_overlay(place, lower, ret, e);
	if (!r)
		*ret_base = take_fd(&base);
	return r;
}

static int prepare_places(const struct layout *layout, struct pending *p, struct mounts *m,
			  struct err *e)
{
	for (size_t i = 0; i < layout->len; i++) {
		const struct layout_place *place = &layout->places[i];
		int r;
		if (place->overlay)
			r = prepare_overlay(place, p, &p->places[i], &m->bases[i], m->scratch, e);
		else
			r = mount_clone(m->scratch, place->dir, 0, &p->places[i], e);
		/* Some filesystems can be no lower layer. The project must; what else there is stays
		 * read-only then. */
		if (r == -EINVAL && place->overlay && !place->project)
			continue;
		if (r < 0)
			return err_in(e, "place %s", place->path);
	}
	return 0;
}

static int prepare_binds(const struct cell_spec *spec, struct pending *p, struct err *e)
{
	for (size_t i = 0; i < spec->binds_len; i++) {
		int r = mount_clone(AT_FDCWD, spec->binds[i].source,
				    AT_RECURSIVE | AT_SYMLINK_NOFOLLOW, &p->binds[i], e);
		if (r < 0)
			return r;
	}
	return spec->git_dir ? mount_clone(AT_FDCWD, spec->git_dir, AT_RECURSIVE, &p->git_dir, e) : 0;
}

/* Everything that shows the host is cloned before any of it is covered. */
static int prepare(const struct cell_spec *spec, const struct layout *layout, struct pending *p,
		   struct mounts *m, struct err *e)
{
	cleanup_close int etc = open("/etc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (etc < 0)
		return err_sys(e, "open /etc");
	int r = etc_make(spec, etc, &p->etc, e);
	if (r < 0)
		return r;
	if (fchdir(m->scratch) < 0)
		return err_sys(e, "stand in the scratch");
	r = prepare_places(layout, p, m, e);
	return r < 0 ? r : prepare_binds(spec, p, e);
}

/* ---- covering ---- */

/* Mount a read-only clone of what stands at name; nothing when nothing does. */
static int seal_one(int dir_fd, const char *name, const char *path, struct err *e)
{
	cleanup_close int mount = -1;
	struct err why = ERR_NULL;
	int r = mount_clone(dir_fd, name, 0, &mount, &why);
	if (r == -ENOENT)
		return 0;
	if (!r)
		r = mount_restrict(mount, MOUNT_ATTR_RDONLY, 0, &why);
	if (!r)
		r = mount_at(mount, path, &why);
	if (r < 0)
		*e = why;
	return r;
}

/* Where a mount shall stand but nothing does: in a private place, or behind a link into one, as
 * /etc/resolv.conf often is. */
static int make_point(const char *path, bool folder, struct err *e)
{
	char link[PATH_MAX];
	ssize_t len = readlink(path, link, sizeof(link) - 1);
	cleanup_free char *point = NULL;
	int n = -1;
	if (len < 0)
		n = asprintf(&point, "%s", path);
	else if (link[0] == '/')
		n = asprintf(&point, "%.*s", (int)len, link);
	else
		n = asprintf(&point, "%.*s/%.*s", (int)(strrchr(path, '/') - path), path, (int)len,
			     link);
	if (n < 0) {
		point = NULL;
		return err_set(e, ENOMEM, "out of memory");
	}
	int r = make_folders(AT_FDCWD, point, e);
	if (r < 0)
		return r;
	if (folder ? mkdir(point, 0755) < 0 : mknod(point, S_IFREG | 0644, 0) < 0)
		return err_sys(e, "make %s to mount on", point);
	return 0;
}

static int attach(int mount, const char *path, struct err *e)
{
	int r = mount_at(mount, path, e);
	if (r != -ENOENT)
		return r;
	struct stat st;
	if (fstat(mount, &st) < 0)
		return err_sys(e, "look at what %s shall be", path);
	r = make_point(path, S_ISDIR(st.st_mode), e);
	return r < 0 ? r : mount_at(mount, path, e);
}

static int attach_places(const struct layout *layout, bool project, struct pending *p,
			 struct mounts *m, struct err *e)
{
	for (size_t i = 0; i < layout->len; i++) {
		if (layout->places[i].project != project || p->places[i] < 0)
			continue;
		int r = attach(p->places[i], layout->places[i].path, e);
		if (r < 0)
			return r;
		m->made |= UINT64_C(1) << i;
	}
	return 0;
}

static int attach_etc(const struct layout *layout, const struct pending *p, int scratch,
		      struct err *e)
{
	for (size_t i = 0; i < layout->len; i++)
		if (is_etc(&layout->places[i]) && p->places[i] >= 0)
			return 0;
	int r = write_etc(&p->etc, scratch, OWN_ETC, e);
	for (size_t i = 0; !r && i < ETC_N; i++) {
		if (!p->etc.texts[i].at)
			continue;
		char name[64];
		char path[64];
		snprintf(name, sizeof(name), "%s/%s", OWN_ETC, etc_names[i]);
		snprintf(path, sizeof(path), "/etc/%s", etc_names[i]);
		cleanup_close int file = -1;
		r = mount_clone(scratch, name, 0, &file, e);
		if (!r)
			r = mount_restrict(file, MOUNT_ATTR_RDONLY, 0, e);
		if (!r)
			r = attach(file, path, e);
		if (r == -EROFS) /* the host has no such file, and the caller could make none */
			r = 0;
	}
	return r;
}

/* A link cannot be mounted: it is made again. */
static int attach_link(int link, const char *path, struct err *e)
{
	char target[PATH_MAX];
	ssize_t len = readlinkat(link, "", target, sizeof(target) - 1);
	cleanup_free char *point = strdup(path);
	if (len < 0 || !point)
		return err_sys(e, "read the link for %s", path);
	target[len] = '\0';
	int r = make_folders(AT_FDCWD, point, e);
	if (r < 0)
		return r;
	/* EEXIST, EROFS: below another bind, where it stands already. */
	if (symlink(target, path) < 0 && errno != EEXIST && errno != EROFS)
		return err_sys(e, "make the link %s", path);
	return 0;
}

static int attach_binds(const struct cell_spec *spec, const struct pending *p, struct err *e)
{
	for (size_t i = 0; i < spec->binds_len; i++) {
		struct stat st;
		if (fstatat(p->binds[i], "", &st, AT_EMPTY_PATH) < 0)
			return err_sys(e, "look at %s", spec->binds[i].source);
		int r = S_ISLNK(st.st_mode) ? attach_link(p->binds[i], spec->binds[i].target, e)
					    : attach(p->binds[i], spec->binds[i].target, e);
		if (r < 0)
			return r;
	}
	return spec->git_dir ? attach(p->git_dir, spec->git_dir, e) : 0;
}

/* Cover each secret by something empty of its kind. */
static int hide(const struct cell_spec *spec, int scratch, struct err *e)
{
	if (!spec->hidden_len)
		return 0;
	if (mkdirat(scratch, OWN "/empty", 0755) < 0)
		return err_sys(e, "make an empty folder");
	int r = write_at(scratch, OWN "/empty.file", "", 0, e);
	for (size_t i = 0; !r && i < spec->hidden_len; i++) {
		struct stat st;
		if (lstat(spec->hidden[i], &st) < 0) {
			if (errno == ENOENT || errno == ENOTDIR)
				continue;
			return err_sys(e, "look at %s, which shall be hidden", spec->hidden[i]);
		}
		const char *name = S_ISDIR(st.st_mode) ? OWN "/empty" : OWN "/empty.file";
		r = seal_one(scratch, name, spec->hidden[i], e);
	}
	return r;
}

static int cover(const struct cell_spec *spec, const struct layout *layout, struct pending *p,
		 struct mounts *m, struct err *e)
{
	int r = devices_make(spec, m->scratch, p->devices, e);
	if (!r)
		r = mount_at(p->proc, "/proc", e);
	if (!r)
		r = attach_places(layout, false, p, m, e);
	if (!r)
		r = attach_etc(layout, p, m->scratch, e);
	if (!r)
		r = attach_binds(spec, p, e);
	if (!r)
		r = hide(spec, m->scratch, e);
	if (!r)
		r = attach_places(layout, true, p, m, e);
	return r;
}

static int make(const struct cell_spec *spec, const struct layout *layout, struct pending *p,
		struct mounts *m, struct err *e)
{
	cleanup_close int tree = -1;
	int r = clone_root(&tree, p, e); /* before anything of ours is in it */
	if (!r)
		r = make_scratch(spec, m, e);
	if (!r)
		r = mount_new("proc", NULL, 0,
			      MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC, &p->proc, e);
	if (!r)
		r = enter_root(tree, m, e);
	if (!r)
		r = prepare(spec, layout, p, m, e);
	if (!r)
		r = cover(spec, layout, p, m, e);
	if (r < 0)
		return r;
	m->proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return m->proc < 0 ? err_sys(e, "open /proc") : 0;
}

int mounts_make(const struct cell_spec *spec, const struct layout *layout, struct mounts *m,
		struct err *e)
{
	struct pending p;
	int r = pending_init(&p, spec, e);
	if (!r)
		r = make(spec, layout, &p, m, e);
	pending_done(&p, spec);
	return r;
}

/* ---- sealing ---- */

/* Root's id is the host's root for the kernel: without this it could write sysctls that have no
 * namespace, and what is below. To a user's one id these are closed by their modes. */
static int seal_proc(int proc, struct err *e)
{
	static const char *const names[] = { "sys",  "sysrq-trigger", "irq",   "bus",  "fs",
					     "acpi", "scsi",          "kcore", "keys", "timer_list" };
	for (size_t i = 0; i < countof(names); i++) {
		char path[64];
		snprintf(path, sizeof(path), "/proc/%s", names[i]);
		int r = seal_one(proc, names[i], path, e);
		if (r < 0)
			return r;
	}
	return 0;
}

static int seal_own(int scratch, struct err *e)
{
	cleanup_close int drop = -1;
	int r = mount_clone(scratch, OWN "/drop", 0, &drop, e);
	if (!r)
		r = seal_one(scratch, OWN, CELL_RUN_DIR, e);
	return r < 0 ? r : mount_at(drop, CELL_DROP_DIR, e);
}

int mounts_seal(const struct cell_spec *spec, struct mounts *m, struct err *e)
{
	int r = seal_own(m->scratch, e);
	if (!r && spec->uid == 0)
		r = seal_proc(m->proc, e);
	if (r < 0)
		return r;
	/* pivot_root left the old root mounted on the new one. */
	if (fchdir(m->root) < 0 || umount2(".", MNT_DETACH) < 0)
		return err_sys(e, "let go of the old root");
	return 0;
}
