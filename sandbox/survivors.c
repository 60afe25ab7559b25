#include "sandbox/survivors.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sandbox/base/cleanup.h"
#include "sandbox/cell.h"

/* "PID (comm) STATE …": comm may hold anything, also parentheses. */
static bool parse_stat(char *text, struct cell_survivor *ret)
{
	char *open = strchr(text, '(');
	char *close = strrchr(text, ')');
	if (!open || !close || close < open || strlen(close) < 3 || strchr("ZX", close[2]))
		return false;
	*close = '\0';
	ret->pid = (pid_t)strtol(text, NULL, 10);
	snprintf(ret->comm, sizeof(ret->comm), "%s", open + 1);
	return true;
}

/* False: gone meanwhile, or on its way. */
static bool look_at(int proc, const char *pid, struct cell_survivor *ret)
{
	char path[64];
	char text[512];
	snprintf(path, sizeof(path), "%s/stat", pid);
	cleanup_close int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (len <= 0)
		return false;
	text[len] = '\0';
	return parse_stat(text, ret);
}

void survivors_list(int proc, struct cell_event *ret)
{
	ret->survivors_len = 0;
	int fd = openat(proc, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		fd_close_at(&fd);
		return;
	}
	const struct dirent *entry;
	while ((entry = readdir(dir))) {
		struct cell_survivor s;
		if (entry->d_name[0] < '1' || entry->d_name[0] > '9' ||
		    strcmp(entry->d_name, "1") == 0 || !look_at(proc, entry->d_name, &s))
			continue;
		if (ret->survivors_len < CELL_SURVIVORS_MAX)
			ret->survivors[ret->survivors_len] = s;
		ret->survivors_len++;
	}
	closedir(dir);
}
