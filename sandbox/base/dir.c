#include "sandbox/base/dir.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "sandbox/base/text.h"

DIR *dir_open(int dir_fd, const char *path)
{
	cleanup_close int fd = openat(dir_fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	if (dir)
		(void)take_fd(&fd);
	return dir;
}

const struct dirent *dir_next(DIR *dir)
{
	const struct dirent *entry;
	do
		entry = readdir(dir);
	while (entry && (text_eq(entry->d_name, ".") || text_eq(entry->d_name, "..")));
	return entry;
}

bool dir_is_folder(int dir_fd, const char *name)
{
	struct stat st;
	return fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

void dir_close_at(DIR **dir)
{
	if (*dir)
		closedir(*dir);
	*dir = NULL;
}
