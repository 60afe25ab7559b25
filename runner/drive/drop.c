#include "runner/drive/drop.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/base/barrier.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/fd.h"
#include "sandbox/cell_spec.h"

#define FILE_LEN_MAX (60 << 20) /* what it lists has to fit into one line of the ledger */

/* The drop folder on the scratch: "run" is what the cell sees as /run. */
static int open_below(int scratch, const char *name, int flags, mode_t mode)
{
	char path[512];
	int len = snprintf(path, sizeof(path), "%s/%s", &CELL_DROP_DIR[1], name);
	if (len < 0 || (size_t)len >= sizeof(path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	struct open_how how = { .flags = (unsigned int)flags | O_CLOEXEC, .mode = mode };
	if (barrier("drop")) {
		how.flags |= O_NOFOLLOW;
		how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS |
			      RESOLVE_NO_XDEV;
	}
	return (int)syscall(SYS_openat2, scratch, path, &how, sizeof(how));
}

int drop_take(int scratch, const char *name, cJSON **ret, struct err *e)
{
	cleanup_close int fd = open_below(scratch, name, O_RDONLY | O_NONBLOCK, 0);
	if (fd < 0)
		return err_sys(e, "open %s of the drop folder", name);
	struct stat st;
	if (fstat(fd, &st))
		return err_sys(e, "look at %s of the drop folder", name);
	if (!S_ISREG(st.st_mode))
		return err_set(e, EPROTO, "%s of the drop folder is no regular file", name);
	if (st.st_size > FILE_LEN_MAX)
		return err_set(e, EFBIG, "%s of the drop folder has over %d bytes", name,
			       FILE_LEN_MAX);
	cleanup_free char *text = malloc((size_t)st.st_size + 1);
	if (!text)
		return err_sys(e, "read %s of the drop folder", name);
	ssize_t len = fd_read_full(fd, text, (size_t)st.st_size);
	if (len < 0)
		return err_sys(e, "read %s of the drop folder", name);
	text[len] = '\0';
	cleanup_close int dir = open_below(scratch, ".", O_DIRECTORY | O_RDONLY, 0);
	if (dir >= 0)
		unlinkat(dir, name, 0); /* what stays is the suite's own memory */
	return json_parse(name, text, (size_t)len, ret, e);
}

int drop_put(int scratch, const char *name, const char *text, struct err *e)
{
	cleanup_close int fd = open_below(scratch, name, O_WRONLY | O_CREAT | O_EXCL, 0644);
	if (fd < 0)
		return err_sys(e, "make %s in the drop folder", name);
	if (fchmod(fd, 0644) || fd_write_full(fd, text, strlen(text)))
		return err_sys(e, "write %s in the drop folder", name);
	return 0;
}
