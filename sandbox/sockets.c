#include "sandbox/sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"

#define PATH_FIELD 7 /* fields of a line in front of the path */

/* NULL: the line has none that is absolute. */
static const char *path_in(const char *line, size_t len)
{
	const char *end = line + len;
	const char *at = line;
	for (int i = 0; i < PATH_FIELD && at; i++) {
		while (at < end && *at == ' ') /* the inode is padded */
			at++;
		at = memchr(at, ' ', (size_t)(end - at));
		at = at ? at + 1 : NULL;
	}
	return at && at < end && *at == '/' ? at : NULL;
}

int sockets_parse(const char *text, struct strv *ret)
{
	cleanup(strv_done) struct strv paths = STRV_NULL;
	for (const char *line = text; *line;) {
		size_t len = strcspn(line, "\n");
		const char *at = path_in(line, len);
		cleanup_free char *path = at ? strndup(at, (size_t)(line + len - at)) : NULL;
		if (at && !path)
			return -ENOMEM;
		if (path && !strv_has(&paths, path)) {
			int r = strv_adopt(&paths, take_ptr(&path));
			if (r < 0)
				return r;
		}
		line += len + (line[len] == '\n');
	}
	*ret = take(&paths, STRV_NULL);
	return 0;
}

/* The text is no proof: whoever binds a name with a newline in it writes lines of his own. */
static bool can_be_reached(int root, const char *path)
{
	struct stat st;
	return fstatat(root, path + 1, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISSOCK(st.st_mode) &&
	       faccessat(root, path + 1, W_OK, 0) == 0;
}

int sockets_find(int root, const char *text, struct strv *ret, struct err *e)
{
	cleanup(strv_done) struct strv all = STRV_NULL;
	cleanup(strv_done) struct strv found = STRV_NULL;
	int r = sockets_parse(text, &all);
	for (size_t i = 0; i < all.len && r == 0; i++)
		if (can_be_reached(root, all.at[i]))
			r = strv_add(&found, all.at[i]);
	if (r < 0)
		return err_set(e, -r, "look for sockets: %s", strerrordesc_np(-r));
	*ret = take(&found, STRV_NULL);
	return 0;
}
