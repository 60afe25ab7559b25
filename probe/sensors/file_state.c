#include "probe/sensors/file_state.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "probe/tracker/walk.h"
#include "sandbox/base/buf.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/digest.h"
#include "sandbox/base/err.h"
#include "sandbox/base/json.h"
#include "sandbox/base/text.h"

#define OVERLAY_XATTR "user.overlay." /* the overlay's own, with the mount option userxattr */

/* Most calls refuse a descriptor that only points; all take its name. */
struct link {
	char path[sizeof("/proc/self/fd/") + 11];
};

static struct link link_to(int fd)
{
	struct link link;
	snprintf(link.path, sizeof(link.path), "/proc/self/fd/%d", fd);
	return link;
}

static bool has_xattr(int fd, const char *name, const char *value)
{
	char room[8];
	ssize_t len = getxattr(link_to(fd).path, name, room, sizeof(room));
	return len >= 0 && (!value || ((size_t)len == strlen(value) && !memcmp(room, value, len)));
}

static void look_at_overlay(struct file_state *state)
{
	const struct stat *st = &state->st;
	if (S_ISCHR(st->st_mode))
		state->whiteout = st->st_rdev == makedev(0, 0);
	else if (S_ISREG(st->st_mode) && st->st_size == 0)
		state->whiteout = has_xattr(state->fd, OVERLAY_XATTR "whiteout", NULL);
	else if (S_ISDIR(st->st_mode))
		state->opaque = has_xattr(state->fd, OVERLAY_XATTR "opaque", "y");
}

int file_state_open(int root, const char *path, bool upper, struct file_state *ret, struct err *e)
{
	cleanup(file_state_done) struct file_state state = { .root = root, .path = path };
	state.fd = walk_open(root, path, O_PATH);
	if (state.fd < 0 && !walk_absent(errno))
		return err_sys(e, "look at %s", path);
	if (state.fd >= 0 && fstat(state.fd, &state.st) < 0)
		return err_sys(e, "stat %s", path);
	state.links = S_ISDIR(state.st.st_mode) ? 1 : state.st.st_nlink;
	if (state.fd >= 0 && upper)
		look_at_overlay(&state);
	*ret = take(&state, FILE_STATE_NULL);
	return 0;
}

void file_state_done(struct file_state *state)
{
	fd_close_at(&state->fd);
}

static const char *type_name(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return "file";
	case S_IFDIR:
		return "dir";
	case S_IFLNK:
		return "link";
	case S_IFIFO:
		return "fifo";
	case S_IFSOCK:
		return "socket";
	default:
		return "device";
	}
}

static int add_number(cJSON *value, const char *key, uint64_t number)
{
	return cJSON_AddNumberToObject(value, key, (double)number) ? 0 : -ENOMEM;
}

static int add_digest(cJSON *value, const char *key, struct digest digest)
{
	char hex[DIGEST_HEX];
	return cJSON_AddStringToObject(value, key, digest_hex(digest, hex)) ? 0 : -ENOMEM;
}

static int add_facts(cJSON *value, const struct file_state *state, const struct file_owner *usual)
{
	const struct stat *st = &state->st;
	char mode[8];
	snprintf(mode, sizeof(mode), "%04o", st->st_mode & 07777);
	if (!cJSON_AddStringToObject(value, "type", type_name(st->st_mode)) ||
	    !cJSON_AddStringToObject(value, "mode", mode))
		return -ENOMEM;
	int r = 0;
	if (st->st_uid != usual->uid)
		r = add_number(value, "uid", st->st_uid);
	if (!r && st->st_gid != usual->gid)
		r = add_number(value, "gid", st->st_gid);
	return r || state->links < 2 ? r : add_number(value, "links", state->links);
}

/* By its path again, which is quicker than by link_to(): a regular file stood there a moment ago. */
static int open_content(const struct file_state *state)
{
	int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY;
	int fd = walk_open(state->root, state->path, flags | O_NOATIME);
	if (fd < 0 && errno == EPERM) /* somebody else's */
		fd = walk_open(state->root, state->path, flags);
	struct stat st;
	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_ino == state->st.st_ino &&
	    st.st_dev == state->st.st_dev)
		return fd;
	fd_close_at(&fd);
	return open(link_to(state->fd).path, flags | O_CLOEXEC);
}

/* A file of somebody else that nobody here may read (content is -1) has no digest. */
static int add_content(cJSON *value, const struct file_state *state, int content, struct err *e)
{
	if (content < 0)
		return add_number(value, "size", (uint64_t)state->st.st_size);
	struct digest digest;
	uint64_t len;
	int r = digest_file(content, &digest, &len, e);
	if (!r)
		r = add_number(value, "size", len);
	return r ? r : add_digest(value, "digest", digest);
}

static int add_target(cJSON *value, int fd, struct err *e)
{
	char target[PATH_MAX];
	ssize_t len = readlinkat(fd, "", target, sizeof(target) - 1);
	if (len < 0)
		return err_sys(e, "read a link");
	target[len] = '\0';
	return json_add_name(value, "target", target);
}

/* Only what a test can set counts: labels and capabilities come and go with a copy. */
static bool xattr_counts(const char *name)
{
	if (text_starts(name, OVERLAY_XATTR))
		return false;
	return text_starts(name, "user.") || text_starts(name, "system.posix_acl_");
}

static int digest_xattr(const char *path, const char *name, struct buf *room, struct digest *sum)
{
	buf_clear(room);
	int r = buf_add(room, name, strlen(name) + 1);
	if (!r)
		r = buf_reserve(room, XATTR_SIZE_MAX);
	if (r)
		return r;
	ssize_t len = getxattr(path, name, room->at + room->len, XATTR_SIZE_MAX);
	if (len >= 0) /* else it is gone again */
		*sum = digest_add(*sum, digest_bytes(room->at, room->len + (size_t)len));
	return 0;
}

static int add_xattrs(cJSON *value, int fd)
{
	struct link link = link_to(fd);
	cleanup_free char *names = malloc(XATTR_LIST_MAX);
	cleanup(buf_done) struct buf room = BUF_NULL;
	if (!names)
		return -ENOMEM;
	ssize_t len = listxattr(link.path, names, XATTR_LIST_MAX);
	struct digest sum = DIGEST_NULL;
	for (const char *name = names; name < names + len; name += strlen(name) + 1) {
		int r = xattr_counts(name) ? digest_xattr(link.path, name, &room, &sum) : 0;
		if (r)
			return r;
	}
	return digest_eq(sum, DIGEST_NULL) ? 0 : add_digest(value, "xattrs", sum);
}

static ssize_t list_xattrs(int fd, char **ret, struct err *e)
{
	cleanup_free char *names = malloc(XATTR_LIST_MAX);
	ssize_t len = !names ? -1 : listxattr(link_to(fd).path, names, XATTR_LIST_MAX);
	if (!names || (len < 0 && errno != ENOTSUP))
		return err_sys(e, "list attributes");
	*ret = take_ptr(&names);
	return len < 0 ? 0 : len;
}

static int remove_xattrs(int fd, struct err *e)
{
	cleanup_free char *names = NULL;
	ssize_t len = list_xattrs(fd, &names, e);
	for (const char *name = names; len > 0 && name < names + len; name += strlen(name) + 1)
		if (xattr_counts(name) && removexattr(link_to(fd).path, name) && errno != ENODATA)
			return err_sys(e, "remove the attribute %s", name);
	return len < 0 ? (int)len : 0;
}

static int copy_xattr(int from, int to, const char *name, char *room, struct err *e)
{
	ssize_t len = getxattr(link_to(from).path, name, room, XATTR_SIZE_MAX);
	if (len < 0 || setxattr(link_to(to).path, name, room, (size_t)len, 0))
		return err_sys(e, "copy the attribute %s", name);
	return 0;
}

int file_state_copy_xattrs(int from, int to, struct err *e)
{
	int r = remove_xattrs(to, e);
	if (r || from < 0)
		return r;
	cleanup_free char *names = NULL;
	cleanup_free char *room = malloc(XATTR_SIZE_MAX);
	if (!room)
		return err_sys(e, "copy attributes");
	ssize_t len = list_xattrs(from, &names, e);
	for (const char *name = names; !r && len > 0 && name < names + len; name += strlen(name) + 1)
		r = xattr_counts(name) ? copy_xattr(from, to, name, room, e) : 0;
	return len < 0 ? (int)len : r;
}

static int add_file(cJSON *value, const struct file_state *state, struct err *e)
{
	cleanup_close int content = open_content(state);
	if (content < 0 && errno != EACCES && errno != EPERM)
		return err_sys(e, "open a file to hash it");
	int r = add_content(value, state, content, e);
	if (r || (content >= 0 && flistxattr(content, NULL, 0) == 0)) /* the quick way to know */
		return r;
	return add_xattrs(value, state->fd);
}

static int add_rest(cJSON *value, const struct file_state *state, struct err *e)
{
	if (S_ISREG(state->st.st_mode))
		return add_file(value, state, e);
	if (S_ISLNK(state->st.st_mode))
		return add_target(value, state->fd, e);
	return add_xattrs(value, state->fd);
}

int file_state_value(const struct file_state *state, const struct file_owner *usual, char **ret,
		     struct err *e)
{
	cleanup_json cJSON *value = cJSON_CreateObject();
	if (!value)
		return -ENOMEM;
	int r = add_facts(value, state, usual);
	if (!r)
		r = add_rest(value, state, e);
	if (r)
		return r;
	*ret = json_line(value);
	return *ret ? 0 : -ENOMEM;
}

/* Where the member `"key":` of a value begins; it goes on to a comma or brace that is in no string.
 * The values are our own, flat and without blanks, so that no parser has to fail for memory; a name
 * in a string cannot be taken for a key, for its quotes are escaped. */
static size_t member(const char *value, const char *key, const char **ret)
{
	bool quoted = false;
	*ret = strstr(value, key);
	if (!*ret)
		return 0;
	const char *at = *ret + strlen(key);
	for (; *at && (quoted || (*at != ',' && *at != '}')); at++) {
		if (quoted && *at == '\\' && at[1])
			at++;
		else if (*at == '"')
			quoted = !quoted;
	}
	return (size_t)(at - *ret);
}

static bool same_member(const char *before, const char *after, const char *key)
{
	const char *a;
	const char *b;
	size_t len = member(before, key, &a);
	return member(after, key, &b) == len && (!len || memcmp(a, b, len) == 0);
}

const char *file_state_change(const char *before, const char *after)
{
	static const struct {
		const char *key, *what;
	} rows[] = {
		{ "\"type\":", "type" },         { "\"size\":", "content" },
		{ "\"digest\":", "content" },    { "\"target\":", "target" },
		{ "\"target_b64\":", "target" }, { "\"mode\":", "mode" },
		{ "\"uid\":", "owner" },         { "\"gid\":", "owner" },
		{ "\"xattrs\":", "xattrs" },     { "\"links\":", "links" },
	};
	for (size_t i = 0; i < countof(rows); i++)
		if (!same_member(before, after, rows[i].key))
			return rows[i].what;
	return "changed";
}
