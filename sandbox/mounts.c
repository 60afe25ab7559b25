#include "sandbox/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/base/barrier.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/copy.h"
#include "sandbox/base/err.h"
#include "sandbox/base/fault.h"
#include "sandbox/cause.h"
#include "sandbox/cell_spec.h"
#include "sandbox/etc.h"
#include "sandbox/mount.h"
#include "sandbox/scratch.h"
#include "sandbox/scratch_disk.h"
#include "sandbox/sources.h"

_Static_assert(MOUNTS_PLACES_MAX <= 64, "struct mounts keeps a bit for each place");

static void fill_fds(int *fds, size_t n)
{
	for (size_t i = 0; i < n; i++)
		fds[i] = -1;
}

void mounts_init(struct mounts *m)
{
	*m = (struct mounts){ .root = -1,
			      .proc = -1,
			      .scratch = -1,
			      .scratch_clone = -1,
			      .scratch_mount = -1,
			      .proc_mount = -1,
			      .git_dir = -1,
			      .layer = -1,
			      .project = -1 };
	fill_fds(m->bases, countof(m->bases));
	fill_fds(m->places, countof(m->places));
	fill_fds(m->devices, countof(m->devices));
}

int mounts_begin(const struct cell_spec *spec, const struct scratch_disk *disk, struct mounts *m,
		 struct err *e)
{
	int r = scratch_new(spec, disk->path, &m->scratch_mount, e);
	if (r < 0)
		return cause_explain(CAUSE_AT_SCRATCH, NULL, e);
	m->scratch = openat(m->scratch_mount, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (m->scratch < 0)
		return err_sys(e, "open the scratch");
	if (mkdirat(m->scratch, "upper", 0755) < 0 || mkdirat(m->scratch, "work", 0755) < 0)
		return err_sys(e, "make folders for the layers");
	return 0;
}

int mounts_proc(struct mounts *m, struct err *e)
{
	if (!barrier("proc"))
		return mount_clone(AT_FDCWD, "/proc", AT_RECURSIVE, &m->proc_mount, e);
	int r = mount_new("proc", NULL, 0, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC,
			  &m->proc_mount, e);
	return r < 0 ? cause_explain(CAUSE_AT_PROC, NULL, e) : 0;
}

/* ---- entering ---- */

int mounts_enter(struct mounts *m, struct err *e)
{
	cleanup_close int tree = -1;
	int r = mount_clone(AT_FDCWD, "/", AT_RECURSIVE, &tree, e);
	if (!r)
		r = mount_restrict(tree,
				   mount_tame() | (barrier("read-only") ? MOUNT_ATTR_RDONLY : 0),
				   AT_RECURSIVE, e);
	if (!r)
		r = devices_clone(m->devices, e);
	/* In the old root, where nobody looks again: only what is attached can be cloned and used as
	 * a layer on every kernel, and it goes when the old root goes. */
	if (!r)
		r = mount_at(m->scratch_mount, "/proc", e);
	if (!r)
		r = mount_clone(m->scratch_mount, "", AT_EMPTY_PATH, &m->scratch_clone, e);
	if (!r)
		r = mount_at(tree, "/", e);
	if (r < 0)
		return r;
	fault_point("warden-before-pivot");
	if (fchdir(tree) < 0 || syscall(SYS_pivot_root, ".", ".") < 0)
		return err_sys(e, "make the read-only tree the root");
	fault_point("warden-after-pivot");
	m->root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return m->root < 0 ? err_sys(e, "open the root") : 0;
}

/* ---- preparing ---- */

/* The merged root of an overlay has the mode and owner of its upper folder. */
static int make_upper(int scratch, const struct layout_place *place, int lower, struct err *e)
{
	struct stat st;
	if (fstat(lower, &st) < 0)
		return err_sys(e, "look at %s", place->path);
	if (mkdirat(scratch, place->dir, st.st_mode & 07777) < 0)
		return err_sys(e, "make the upper layer of %s", place->path);
	if (st.st_uid == geteuid() && st.st_gid == getegid())
		return 0;
	/* EPERM, EINVAL: an id that has no place in this user namespace; it stays the caller's. */
	if (fchownat(scratch, place->dir, st.st_uid, st.st_gid, 0) < 0 && errno != EPERM &&
	    errno != EINVAL)
		return err_sys(e, "give %s its owner", place->dir);
	return 0;
}

/* What lies under a place. */
struct lower {
	int tree;        /* of the host, O_PATH */
	bool layered;    /* under the layer of the project */
	char layers[64]; /* as an overlay is told of them */
};

static void lower_done(struct lower *lower)
{
	fd_close_at(&lower->tree);
}

static int open_lower(const struct layout_place *place, const struct mounts *m, struct lower *ret,
		      struct err *e)
{
	ret->tree = open(place->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (ret->tree < 0)
		return err_sys(e, "open %s", place->path);
	ret->layered = place->project && m->layer >= 0;
	if (ret->layered)
		snprintf(ret->layers, sizeof(ret->layers), "/proc/self/fd/%d:/proc/self/fd/%d",
			 m->layer, ret->tree);
	else
		snprintf(ret->layers, sizeof(ret->layers), "/proc/self/fd/%d", ret->tree);
	return 0;
}

/* What stands at a place before anything is written there. */
static int open_base(const struct lower *lower, int *ret, struct err *e)
{
	if (!lower->layered)
		return mount_clone(lower->tree, "", AT_EMPTY_PATH, ret, e);
	const struct mount_option options[] = {
		{ "lowerdir", lower->layers },
		{ "userxattr", NULL },
		{ "xino", "off" },
	};
	return mount_new("overlay", options, countof(options), MOUNT_ATTR_RDONLY | mount_tame(),
			 ret, e);
}

/* Layers are named through /proc/self/fd and from the scratch as working directory, because the
 * kernel takes values of at most 255 bytes. On a disk volatile, since nobody reads it after the cell;
 * nothing syncs a tmpfs, and to say so costs an overlay 20 us of its 140. */
static int new_overlay(const struct layout_place *place, const char *work, const char *layers,
		       const struct mounts *m, int *ret, struct err *e)
{
	const struct mount_option options[] = {
		{ "lowerdir", layers }, { "upperdir", place->dir }, { "workdir", work },
		{ "userxattr", NULL },  { "index", "off" },         { "xino", "off" },
		{ "volatile", NULL },
	};
	size_t n = countof(options) - !m->on_disk;
	return mount_new("overlay", options, n, mount_tame(), ret, e);
}

static bool is_etc(const struct layout_place *place)
{
	return place->overlay && strcmp(place->path, "/etc") == 0;
}

static int move_etc(int scratch, const char *from_dir, const char *to_dir, struct err *e)
{
	for (size_t i = 0; i < ETC_N; i++) {
		char from[64];
		char to[64];
		snprintf(from, sizeof(from), "%s/%s", from_dir, etc_names[i]);
		snprintf(to, sizeof(to), "%s/%s", to_dir, etc_names[i]);
		if (renameat(scratch, from, scratch, to) < 0 && errno != ENOENT)
			return err_sys(e, "put %s into %s", etc_names[i], to_dir);
	}
	return 0;
}

/* In root's own /etc our files become part of its upper layer, where they can be written like the
 * others. */
static int overlay_etc(const struct layout_place *place, const char *work, const char *layers,
		       const struct mounts *m, int *ret, struct err *e)
{
	int r = move_etc(m->scratch, SCRATCH_ETC, place->dir, e);
	if (!r)
		r = new_overlay(place, work, layers, m, ret, e);
	if (r == -EINVAL) /* no overlay: they will be mounted one by one */
		move_etc(m->scratch, place->dir, SCRATCH_ETC, NULL);
	return r;
}

static int prepare_overlay(const struct layout_place *place, const struct mounts *m, int *ret,
			   int *ret_base, struct err *e)
{
	if (!barrier("overlay"))
		return 0;
	cleanup(lower_done) struct lower lower = { .tree = -1 };
	int r = open_lower(place, m, &lower, e);
	if (r < 0)
		return r;
	char work[LAYOUT_DIR_LEN];
	snprintf(work, sizeof(work), "work%s", strchr(place->dir, '/'));
	if (mkdirat(m->scratch, work, 0700) < 0)
		return err_sys(e, "make %s on the scratch", work);
	cleanup_close int base = -1;
	r = open_base(&lower, &base, e);
	if (!r)
		r = make_upper(m->scratch, place, lower.tree, e);
	if (!r)
		r = is_etc(place) ? overlay_etc(place, work, lower.layers, m, ret, e)
				  : new_overlay(place, work, lower.layers, m, ret, e);
	if (!r)
		*ret_base = take_fd(&base);
	/* Some filesystems can be no lower layer. The project must; what else there is stays
	 * read-only then. */
	if (r == -EINVAL && !place->project)
		return 0;
	return r < 0 ? cause_explain(CAUSE_AT_OVERLAY, place->path, e) : 0;
}

/* With what is mounted in it. */
static int prepare_copy(const struct layout_place *place, const struct mounts *m, int *ret_base,
			struct err *e)
{
	cleanup(lower_done) struct lower lower = { .tree = -1 };
	cleanup_close int base = -1;
	int r = open_lower(place, m, &lower, e);
	if (!r)
		r = lower.layered
			    ? open_base(&lower, &base, e)
			    : mount_clone(lower.tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &base, e);
	if (!r)
		r = make_upper(m->scratch, place, lower.tree, e);
	if (r < 0)
		return r;
	cleanup_close int to = openat(m->scratch, place->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (to < 0)
		return err_sys(e, "open the copy");
	r = copy_tree(base, to, &(struct copy_how){ 0 }, NULL, e);
	if (r == -EACCES)
		err_hint(e, "a copy needs all of the project to be readable by you; an overlay does "
			    "not");
	if (r == -ENOSPC)
		err_hint(e, "the scratch holds the copy, too: give it more room (--scratch-size), or "
			    "a disk (--scratch)");
	if (r == -EACCES || r == -ENOSPC)
		err_status(e, STATUS_USAGE);
	if (r < 0)
		return err_in(e, "copy the project");
	*ret_base = take_fd(&base);
	return 0;
}

static int prepare_empty(const struct layout_place *place, int scratch, struct err *e)
{
	cleanup_close int there = open(place->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (there < 0)
		return err_sys(e, "open %s", place->path);
	return make_upper(scratch, place, there, e);
}

/* Who makes it: two processors are done with root's trees in half the time. /etc is the helper's,
 * who has written the files that go into it. */
static bool is_helpers(const struct layout_place *place, size_t i)
{
	return place->overlay && !place->project && (is_etc(place) || i % 2);
}

static int prepare_trees(const struct layout *layout, struct mounts *m, bool helper, struct err *e)
{
	for (size_t i = 0; i < layout->len; i++) {
		const struct layout_place *place = &layout->places[i];
		if (is_helpers(place, i) != helper)
			continue;
		int r = 0;
		if (place->overlay)
			r = prepare_overlay(place, m, &m->places[i], &m->bases[i], e);
		else if (place->copy)
			r = prepare_copy(place, m, &m->bases[i], e);
		else if (place->empty)
			r = prepare_empty(place, m->scratch, e);
		if (r < 0)
			return place->copy ? r : err_in(e, "overlay");
	}
	return 0;
}

static bool is_split(const struct cell_spec *spec, const struct layout *layout)
{
	for (size_t i = 0; i < layout->len; i++)
		if (strcmp(layout->places[i].path, spec->project) == 0)
			return false;
	return true;
}

static int prepare_layer(const struct cell_spec *spec, const struct layout *layout,
			 struct mounts *m, struct err *e)
{
	if (!spec->layer)
		return 0;
	if (is_split(spec, layout))
		return err_set(e, ENOTSUP,
			       "what was prepared cannot lie on %s: there are mounts in it",
			       spec->project);
	m->layer = open(spec->layer, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return m->layer < 0 ? err_sys(e, "open %s", spec->layer) : 0;
}

static int prepare_binds(const struct cell_spec *spec, struct mounts *m, struct err *e)
{
	m->binds = calloc(spec->binds_len + 1, sizeof(*m->binds));
	if (!m->binds)
		return err_sys(e, "prepare what is visible");
	for (size_t i = 0; i < spec->binds_len; i++) {
		int r = mount_clone(AT_FDCWD, spec->binds[i].source,
				    AT_RECURSIVE | AT_SYMLINK_NOFOLLOW, &m->binds[i], e);
		if (r < 0)
			return r;
	}
	return spec->git_dir ? mount_clone(AT_FDCWD, spec->git_dir, AT_RECURSIVE, &m->git_dir, e) : 0;
}

int mounts_prepare(const struct cell_spec *spec, const struct layout *layout, struct mounts *m,
		   struct err *e)
{
	if (fchdir(m->scratch_mount) < 0)
		return err_sys(e, "stand in the scratch");
	int r = prepare_binds(spec, m, e);
	if (!r)
		r = prepare_layer(spec, layout, m, e);
	if (!r && is_split(spec, layout))
		r = mount_clone(AT_FDCWD, spec->project, AT_RECURSIVE, &m->project, e);
	return r < 0 ? r : prepare_trees(layout, m, false, e);
}

int mounts_help(const struct layout *layout, struct mounts *m, struct mounts_help *ret, struct err *e)
{
	if (fchdir(m->scratch_mount) < 0)
		return err_sys(e, "stand in the scratch");
	int r = prepare_trees(layout, m, true, e);
	if (r < 0)
		return r;
	_Static_assert(MOUNTS_PLACES_MAX + 4 <= FD_SEND_MAX, "half of all, and /etc, two for each");
	*ret = (struct mounts_help){ .made = 0 };
	for (size_t i = 0; i < layout->len; i++) {
		if (!is_helpers(&layout->places[i], i) || m->places[i] < 0)
			continue;
		ret->made |= UINT64_C(1) << i;
		ret->fds[ret->fds_len++] = m->places[i];
		ret->fds[ret->fds_len++] = m->bases[i];
	}
	return 0;
}

int mounts_helped(const struct layout *layout, struct mounts *m, const struct mounts_help *help,
		  struct err *e)
{
	size_t used = 0;
	for (size_t i = 0; i < layout->len; i++) {
		if (!(help->made >> i & 1))
			continue;
		if (used + 2 > help->fds_len)
			return err_set(e, EPROTO, "too few descriptors of overlays came");
		m->places[i] = help->fds[used++];
		m->bases[i] = help->fds[used++];
	}
	return 0;
}

/* ---- covering ---- */

static int make_folders_to(char *path, struct err *e)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		int r = 0;
		if (mkdir(path, 0755) < 0 && errno != EEXIST)
			r = err_sys(e, "make %s to mount below", path);
		*slash = '/';
		if (r < 0)
			return r;
	}
	return 0;
}

/* Where a link leads, or the path itself: /etc/resolv.conf often leads into /run, which is ours. */
static char *link_end(const char *path)
{
	char link[PATH_MAX];
	ssize_t len = readlink(path, link, sizeof(link) - 1);
	if (len < 0)
		return strdup(path);
	link[len] = '\0';
	if (link[0] == '/')
		return strdup(link);
	char *end = NULL;
	int folder_len = (int)(strrchr(path, '/') - path);
	return asprintf(&end, "%.*s/%s", folder_len, path, link) < 0 ? NULL : end;
}

/* Make what can be mounted on, where nothing stands yet. */
static int make_point(const char *path, bool folder, struct err *e)
{
	cleanup_free char *point = link_end(path);
	if (!point)
		return err_sys(e, "make %s", path);
	int r = make_folders_to(point, e);
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

/* Mount a read-only clone of what stands at name. */
static int attach_sealed(int dir_fd, const char *name, const char *path, struct err *e)
{
	cleanup_close int mount = -1;
	int r = mount_clone(dir_fd, name, 0, &mount, e);
	if (!r)
		r = mount_restrict(mount, MOUNT_ATTR_RDONLY, 0, e);
	return r < 0 ? r : attach(mount, path, e);
}

static int attach_places(const struct layout *layout, bool project, struct mounts *m, struct err *e)
{
	for (size_t i = 0; i < layout->len; i++) {
		const struct layout_place *place = &layout->places[i];
		if (place->project != project || !barrier(place->dir))
			continue;
		int r = 0;
		if (!place->overlay)
			r = mount_clone(m->scratch_mount, place->dir, 0, &m->places[i], e);
		if (!r && m->places[i] < 0)
			continue;
		if (!r)
			r = attach(m->places[i], place->path, e);
		if (r < 0)
			return r;
		fd_close_at(&m->places[i]);
		m->made |= UINT64_C(1) << i;
	}
	return 0;
}

/* What is not in an overlay. */
static int attach_etc(int scratch, struct err *e)
{
	for (size_t i = 0; i < ETC_N; i++) {
		char name[64];
		char path[64];
		snprintf(name, sizeof(name), SCRATCH_ETC "/%s", etc_names[i]);
		snprintf(path, sizeof(path), "/etc/%s", etc_names[i]);
		struct err why = ERR_NULL;
		int r = attach_sealed(scratch, name, path, &why);
		/* ENOENT: it is not wanted. EROFS: the host has none and the caller could make none. */
		if (r == 0 || r == -ENOENT || r == -EROFS)
			continue;
		*e = why;
		return r;
	}
	return 0;
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
	int r = make_folders_to(point, e);
	if (r < 0)
		return r;
	/* EEXIST, EROFS: below another bind, where it stands already. */
	if (symlink(target, path) < 0 && errno != EEXIST && errno != EROFS)
		return err_sys(e, "make the link %s", path);
	return 0;
}

static int attach_binds(const struct cell_spec *spec, struct mounts *m, struct err *e)
{
	for (size_t i = 0; i < spec->binds_len; i++) {
		const struct cell_bind *bind = &spec->binds[i];
		struct stat st;
		if (fstat(m->binds[i], &st) < 0)
			return err_sys(e, "look at %s", bind->source);
		int r = S_ISLNK(st.st_mode) ? attach_link(m->binds[i], bind->target, e)
					    : attach(m->binds[i], bind->target, e);
		fd_close_at(&m->binds[i]);
		if (r < 0)
			return r;
	}
	return spec->git_dir ? attach(m->git_dir, spec->git_dir, e) : 0;
}

/* Cover a path by something empty of its kind. */
static int hide_path(const char *path, int scratch, struct err *e)
{
	struct stat st;
	if (lstat(path, &st) < 0)
		return errno == ENOENT || errno == ENOTDIR
			       ? 0
			       : err_sys(e, "look at %s, which shall be hidden", path);
	const char *name = S_ISDIR(st.st_mode) ? SCRATCH_EMPTY : SCRATCH_EMPTY_FILE;
	return attach_sealed(scratch, name, path, e);
}

/* Secrets, and the scratches of all cells on that disk. */
static int hide(const struct cell_spec *spec, const struct scratch_disk *disk, int scratch,
		struct err *e)
{
	int r = disk->parent ? hide_path(disk->parent, scratch, e) : 0;
	for (size_t i = 0; i < spec->hidden_len && !r && barrier("hide"); i++)
		r = hide_path(spec->hidden[i], scratch, e);
	return r;
}

int mounts_cover(const struct cell_spec *spec, const struct scratch_disk *disk,
		 const struct layout *layout, struct mounts *m, struct err *e)
{
	int r = barrier("dev") ? devices_mount(m->scratch_mount, m->devices, e) : 0;
	if (!r && barrier("dev") && barrier("ipc"))
		r = sources_mount_queues(e);
	if (!r)
		r = mount_at(m->proc_mount, "/proc", e);
	if (!r)
		r = attach_places(layout, false, m, e);
	if (!r)
		r = attach_etc(m->scratch_mount, e);
	if (!r)
		r = attach_binds(spec, m, e);
	if (!r)
		r = hide(spec, disk, m->scratch_mount, e);
	if (!r && m->project >= 0)
		r = attach(m->project, spec->project, e);
	if (!r)
		r = attach_places(layout, true, m, e);
	if (r < 0)
		return r;
	m->proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return m->proc < 0 ? err_sys(e, "open /proc") : 0;
}

/* ---- sealing ---- */

/* Mount /dev/null where /proc has a name. */
static int hide_entry(const char *path, struct err *e)
{
	cleanup_close int null = -1;
	int r = mount_clone(AT_FDCWD, "/dev/null", 0, &null, e);
	return r < 0 ? r : mount_at(null, path, e);
}

/* Root's id is the host's root for the kernel: without this it could write sysctls that have no
 * namespace, and read what is the kernel's. To a user's one id all that is closed by its modes, but
 * for the names of its keys. Where a suite may make namespaces of its own these stay: the kernel lets
 * nobody mount a /proc who sees only parts of the one around. */
static int seal_proc(const struct cell_spec *spec, int proc, struct err *e)
{
	static const struct {
		const char *name;
		bool hidden; /* otherwise it is read-only */
		bool open_to_users;
	} entries[] = {
		{ "sys", false },
		{ "sysrq-trigger", false },
		{ "irq", false },
		{ "bus", false },
		{ "fs", false },
		{ "acpi", false },
		{ "scsi", false },
		{ "mtrr", false },
		{ "dynamic_debug", false },
		{ "kcore", true },
		{ "keys", true, true },
		{ "timer_list", true },
		{ "sched_debug", true },
		{ "latency_stats", true },
	};
	for (size_t i = 0; i < countof(entries); i++) {
		char path[64];
		snprintf(path, sizeof(path), "/proc/%s", entries[i].name);
		if (spec->uid && (!entries[i].open_to_users || spec->allow_nested))
			continue;
		if (access(path, F_OK) < 0) /* this kernel has none */
			continue;
		int r = entries[i].hidden ? hide_entry(path, e)
					  : attach_sealed(proc, entries[i].name, path, e);
		if (r < 0)
			return r;
	}
	return 0;
}

int mounts_seal(const struct cell_spec *spec, struct mounts *m, struct err *e)
{
	cleanup_close int drop = -1;
	int r = mount_clone(m->scratch_mount, SCRATCH_DROP, 0, &drop, e);
	if (!r)
		r = barrier("run-dir")
			    ? attach_sealed(m->scratch_mount, SCRATCH_OWN, CELL_RUN_DIR, e)
			    : 0;
	if (!r)
		r = mount_at(drop, CELL_DROP_DIR, e);
	return r < 0 || !barrier("proc-seal") ? r : seal_proc(spec, m->proc, e);
}

int mounts_leave(struct mounts *m, struct err *e)
{
	/* pivot_root left the old root mounted on the new one. */
	if (barrier("old-root") && (fchdir(m->root) < 0 || umount2(".", MNT_DETACH) < 0))
		return err_sys(e, "let go of the old root");
	fd_close_at(&m->scratch_mount);
	fd_close_at(&m->proc_mount);
	fd_close_at(&m->git_dir);
	fd_close_at(&m->layer);
	fd_close_at(&m->project);
	for (size_t i = 0; i < DEVICES_N; i++)
		fd_close_at(&m->devices[i]);
	free(m->binds);
	m->binds = NULL;
	return 0;
}
